#!/bin/bash
# A house of cards, on standard output: LEVELS storeys of tents, each storey roofed by flat cards that carry the next.
#   scenes/generate/card-house.sh LEVELS
#
# The cards are boxes of length L and thickness t. Leaning at the angle a, c = cos a, s = sin a, a card's lowest and highest
# corners are (L s + t c)/2 below and above its centre, its outermost ones (L c + t s)/2 to the sides. So a tent with its
# ridge at x, standing on the height z, has its centres at x -+ (gap + L c + t s)/2 and z + gap + (L s + t c)/2, and its top
# at z + gap + L s + t c. Whatever touches starts apart by the gap, just inside the range of contact, so that nothing
# drops and nothing is pushed; flat cards of one storey are three ranges apart from each other and do not feel each other.
#
# Why it stands: a card that carries P on its edge pushes outward with (P + W/2) cot a at its foot, on which P + W rest;
# friction must be at least cot 65 degrees = 0.466.
set -euo pipefail
levels=${1:?how many levels?}
LC_ALL=C awk -v levels="$levels" '
function body(name, x, z, degrees) {
  printf ",\n    { \"name\": \"%s\", \"material\": \"card\", \"shape\": \"box\", \"size\": [%g, %g, %g],", name, L, w, t
  printf " \"position\": [%.7f, 0, %.7f]", x, z
  if (degrees) printf ", \"euler_degrees\": [0, %g, 0]", degrees
  printf " }"
}
BEGIN {
  L = 0.088; w = 0.063; t = 0.0005; range = 1e-4; gap = 0.9 * range; angle = 65
  a = angle * atan2(0, -1) / 180; c = cos(a); s = sin(a)
  printf "{\n  \"version\": 1,\n  \"# made by\": \"scenes/generate/card-house.sh %d\",\n", levels
  printf "  \"dt\": 0.01,\n  \"duration\": 10,\n  \"contact\": { \"range\": %g, \"friction\": 0.6 },\n", range
  printf "  \"materials\": { \"card\": { \"density\": 1200 } },\n"
  printf "  \"bodies\": [\n    { \"name\": \"table\", \"shape\": \"ground\" }"
  pitch = L + 3 * range
  z = 0
  for (level = 1; level <= levels; level++) {
    tents = levels - level + 1
    for (i = 0; i < tents; i++) {
      ridge = (i - (tents - 1) / 2) * pitch
      side = (gap + L * c + t * s) / 2; up = z + gap + (L * s + t * c) / 2
      body(sprintf("left %d.%d", level, i + 1), ridge - side, up, -angle)
      body(sprintf("right %d.%d", level, i + 1), ridge + side, up, angle)
    }
    z += gap + L * s + t * c
    for (i = 0; i < tents - 1; i++) body(sprintf("flat %d.%d", level, i + 1), (i - (tents - 2) / 2) * pitch, z + gap + t / 2, 0)
    z += gap + t
  }
  printf "\n  ]\n}\n"
}'
