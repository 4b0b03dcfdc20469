#!/bin/bash
# Divides and multiplies each constant of src/kernel/constant.h by three and runs the test that the header names for it.
# Prints a table: constant, value, killed or survived. Fails if a constant with a test survives both changes.
#   mutate.sh SOURCE [NAME...]
# One build serves all: in a copy of the source the constants become variables, which are read from the environment.
set -euo pipefail
cd "$1"
shift
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z | xargs -0 cp --parents -t "$copy"
header=$copy/src/kernel/constant.h

# Name, value and test of each constant that names one.
defines() {
  awk '/^#define [A-Z_]+ [0-9]/ && match(comment, /test_[a-z_]+ /) { print $2, $3, substr(comment, RSTART, RLENGTH) }
       { comment = $0 }' src/kernel/constant.h
}

# Variables in the place of the constants, and a constructor that reads them.
names=$(sed -nE 's/^#define ([A-Z_]+) [0-9].*/\1/p' "$header")
sed -i -E 's|^#define ([A-Z_]+) [0-9]+$|extern int mutated_\1;\n#define \1 mutated_\1|
           s|^#define ([A-Z_]+) [0-9.e+-]+$|extern double mutated_\1;\n#define \1 mutated_\1|' "$header"
{
  echo '#include <stdlib.h>'
  sed -nE 's|^#define ([A-Z_]+) ([0-9]+)$|int mutated_\1 = \2;|p; t
           s|^#define ([A-Z_]+) ([0-9.e+-]+)$|double mutated_\1 = \2;|p' src/kernel/constant.h
  echo '__attribute__((constructor(200))) static void read_constants(void) {'
  for name in $names; do
    echo "  if (getenv(\"ABD_$name\")) mutated_$name = strtod(getenv(\"ABD_$name\"), NULL);"
  done
  echo '}'
} > "$copy/src/base/mutated.c"

# A variable that starts as a constant gets its value after that.
sed -i -E 's|^int ([a-z_]+) = ([A-Z_]+);$|int \1;\n__attribute__((constructor(300))) static void set_\1(void) { \1 = \2; }|' \
  "$copy"/src/cuda/*.c

chosen() { [ $# -eq 0 ] && cat || grep -E "^($(IFS='|'; echo "$*")) "; }
constants=$(defines | chosen "$@")
mapfile -t targets < <(cut -d' ' -f3 <<< "$constants" | sort -u)
cmake -S "$copy" -B "$copy/build" -DABD_TESTS=ON -DABD_VIEWER=OFF -DABD_CUDA=OFF -DCMAKE_BUILD_TYPE=Release > "$copy/build.log"
if ! cmake --build "$copy/build" -j"$(nproc)" --target "${targets[@]}" >> "$copy/build.log" 2>&1; then
  grep -m5 -A5 "rror" "$copy/build.log" || tail -20 "$copy/build.log"
  exit 1
fi
cd "$copy/build"
passes() { timeout 300 "tests/$1" > "$copy/log" 2>&1; }
for target in "${targets[@]}"; do
  passes "$target" || { echo "$target fails before any change"; tail -5 "$copy/log"; exit 1; }
done

# Bounds of rounding need not be sharp.
factor_of() {
  case $1 in
    ROUNDING_*) echo 1000 ;;
    DOZE_ABOVE) echo 10 ;;
    *) echo 3 ;;
  esac
}

survivors=0
while read -r name value test; do
  killed=0
  for factor in "1/$(factor_of "$name")" "$(factor_of "$name")"; do
    changed=$(awk "BEGIN { print $value * $factor }")
    result=survived
    export "ABD_$name=$changed"
    passes "$test" || { result=killed; killed=1; }
    unset "ABD_$name"
    printf '%-22s %-8s -> %-10s %-9s %s\n' "$name" "$value" "$changed" $result "$test"
  done
  [ $killed -eq 1 ] || survivors=$((survivors + 1))
done <<< "$constants"
echo "$survivors constants survive both changes"
[ $survivors -eq 0 ]
