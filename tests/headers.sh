#!/bin/bash
# Every header stands on its own: each compiles alone as C. The public one, and those of src/math and src/kernel, compile
# as C++ too: the first is for its users, the others for CUDA, which the test kernel_cuda tries where nvcc is present.
#   headers.sh SOURCE
set -euo pipefail
cd "$1"
flags=(-Iinclude -Isrc -Itool -I/usr/include/suitesparse)
wrong=0 count=0

# try LANGUAGE HEADER COMMAND...: compiles a file that includes the header twice.
try() {
  local language=$1 header=$2 log
  shift 2
  count=$((count + 1))
  if ! log=$(printf '#include "%s"\n#include "%s"\n' "$PWD/$header" "$PWD/$header" | "$@" 2>&1); then
    printf '%s does not stand on its own as %s:\n%s\n' "$header" "$language" "$log"
    wrong=$((wrong + 1))
  fi
}

while read -r header; do
  try C "$header" cc -std=gnu17 -Wall -Wextra -Werror -Wno-unused-function "${flags[@]}" -x c -fsyntax-only -
  case $header in include/*|src/math/*|src/kernel/*)
    try C++ "$header" c++ -std=c++17 -Wall -Wextra -Werror -Wno-unused-function "${flags[@]}" -x c++ -fsyntax-only - ;;
  esac
done < <(find include src tool -name '*.h' | sort)
echo "$count compilations, $wrong failed"
[ "$wrong" -eq 0 ]
