#!/bin/bash
# format.sh SOURCE: every C, C++ and CUDA source is laid out as .clang-format says. Exit 77 (skipped) without clang-format 14.
set -euo pipefail
cd "$1"
tool=$(command -v clang-format-14 || command -v clang-format || true)
if [ -z "$tool" ] || ! "$tool" --version | grep -q 'version 14\.'; then
  echo "skipped: clang-format 14 is not installed: apt-get install clang-format-14"
  exit 77
fi
find src include tool tests bench examples python/src \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.cu' -o -name '*.cuh' \) -print0 |
  xargs -0 "$tool" --dry-run -Werror --style=file
