#!/bin/bash
# Every constant of src/kernel/constant.h has a row with its name and value in docs/choices.md, section "Constants",
# and names a test that exists or the reason why there is none. Every row belongs to a constant.
#   constants.sh SOURCE
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"
header=src/kernel/constant.h page=docs/choices.md
wrong=0 count=0

complain() {
  echo "$1"
  wrong=$((wrong + 1))
}

rows=$(sed -n '/^## Constants/,/^## /p' $page | sed -nE 's/^\| `([A-Z_]+)` \| ([^ ]+) \|.*/\1 \2/p')
while IFS=$'\t' read -r name value comment; do
  count=$((count + 1))
  grep -qxF "$name $value" <<<"$rows" || complain "$header: $name $value: no such row in $page, section Constants"
  case $comment in
    *"No effect found"*|*"An end, never reached"*|*"Cost alone"*) continue ;;
  esac
  test=$(grep -oE 'test_[a-z_]+ \*/$' <<<"$comment" | cut -d' ' -f1 || true)
  [ -n "$test" ] || { complain "$header: $name names no test at the end of its comment"; continue; }
  [ -f "tests/$test.c" ] || complain "$header: $name: tests/$test.c does not exist"
done < <(awk '/^#define [A-Z_]+ [0-9]/ { print $2 "\t" $3 "\t" comment } { comment = $0 }' $header)
while read -r name value; do
  grep -qE "^#define $name $value\$" $header || complain "$page: $name $value is not in $header"
done <<<"$rows"
echo "$count constants, $wrong complaints"
[ "$wrong" -eq 0 ]
