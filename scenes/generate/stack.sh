#!/bin/bash
# A tower of COUNT boxes that rest on each other within the range of contact, on standard output.
#   scenes/generate/stack.sh COUNT
set -euo pipefail
count=${1:?how many boxes?}
LC_ALL=C awk -v count="$count" '
BEGIN {
  size = 0.2; range = 1e-3; gap = 0.9 * range
  printf "{\n  \"version\": 1,\n  \"# made by\": \"scenes/generate/stack.sh %d\",\n", count
  printf "  \"dt\": 0.01,\n  \"duration\": 5,\n  \"contact\": { \"range\": %g, \"friction\": 0.5 },\n", range
  printf "  \"bodies\": [\n    { \"name\": \"ground\", \"shape\": \"ground\" }"
  for (k = 0; k < count; k++)
    printf ",\n    { \"name\": \"box %d\", \"shape\": \"box\", \"size\": [%g, %g, %g], \"position\": [0, 0, %.4f] }",
           k + 1, size, size, size, (k + 0.5) * size + (k + 1) * gap
  printf "\n  ]\n}\n"
}'
