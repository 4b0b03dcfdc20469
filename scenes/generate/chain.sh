#!/bin/bash
# A chain of LINKS round links held out level by its first one, on standard output; it will swing down.
#   scenes/generate/chain.sh LINKS
# Links are tori of radius R and tube r along the x axis, every second one turned by a quarter about it: neighbours touch
# when their centres are 2 (R - r) apart, and start nearer by a gap just inside the range of contact.
set -euo pipefail
links=${1:?how many links?}
LC_ALL=C awk -v links="$links" '
BEGIN {
  R = 0.12; r = 0.03; range = 1e-3; gap = 0.9 * range
  printf "{\n  \"version\": 1,\n  \"# made by\": \"scenes/generate/chain.sh %d\",\n", links
  printf "  \"dt\": 0.01,\n  \"duration\": 3,\n  \"contact\": { \"range\": %g, \"friction\": 0.2 },\n", range
  printf "  \"materials\": { \"steel\": { \"density\": 7800 } },\n  \"bodies\": [\n"
  for (k = 0; k < links; k++) {
    printf "    { \"name\": \"link %d\", \"material\": \"steel\", \"shape\": \"torus\", \"radius\": %g, \"tube\": %g,", k, R, r
    printf " \"position\": [%.4f, 0, 0], \"rotation\": [%d, 0, 0]%s }%s\n", k * (2 * (R - r) - gap), k % 2 ? 90 : 0,
           k ? "" : ", \"motion\": \"static\"", k < links - 1 ? "," : ""
  }
  printf "  ]\n}\n"
}'
