#!/bin/bash
# A round arch of STONES equal stones without mortar, on standard output.
#   scenes/generate/arch.sh STONES
#
# One stone is a wedge between the radii R and R + D, wide W, whose two side faces are moved inward from the planes through
# the centre line by gap/2, so that all joints are open by the same gap; the centre line lies gap/2 above the ground, so that
# the feet are too. The gap is just inside the range of contact: nothing drops and nothing is pushed. Every stone is that
# mesh, turned about the centre line. Side face at angle b/2 from the middle of the stone, moved by e = gap/2 along its
# normal: its points at radius r have the angle b/2 - asin(e/r).
set -euo pipefail
stones=${1:?how many stones?}
LC_ALL=C awk -v stones="$stones" '
function asin(v) { return atan2(v, sqrt(1 - v * v)) }
function corner(r, sign, y,   a) { # a point of the stone that stands upright: the angle from the z axis is +-a
  a = pi / stones / 2 - asin(gap / 2 / r)
  return sprintf("[%.9f, %g, %.9f]", sign * r * sin(a), y, r * cos(a))
}
BEGIN {
  pi = atan2(0, -1); R = 1; D = 0.25; W = 0.3; range = 1e-3; gap = 0.9 * range
  printf "{\n  \"version\": 1,\n  \"# made by\": \"scenes/generate/arch.sh %d\",\n", stones
  printf "  \"dt\": 0.01,\n  \"duration\": 10,\n  \"contact\": { \"range\": %g, \"friction\": 0.6 },\n", range
  printf "  \"meshes\": {\n    \"stone\": {\n      \"vertices\": [\n"
  for (k = 0; k < 8; k++) {
    r = k < 4 ? R : R + D; sign = (k % 4 == 1 || k % 4 == 2) ? 1 : -1; y = k % 4 < 2 ? -W / 2 : W / 2
    printf "        %s%s\n", corner(r, sign, y), k < 7 ? "," : ""
  }
  printf "      ],\n      \"triangles\": [[0,2,1],[0,3,2],[4,5,6],[4,6,7],[0,1,5],[0,5,4],[1,2,6],[1,6,5],[2,3,7],[2,7,6],[3,0,4],[3,4,7]]\n    }\n  },\n"
  printf "  \"bodies\": [\n    { \"name\": \"ground\", \"shape\": \"ground\" }"
  for (i = 0; i < stones; i++)
    printf ",\n    { \"name\": \"stone %d\", \"mesh\": \"stone\", \"density\": 2400, \"position\": [0, 0, %g], \"euler_degrees\": [0, %.6f, 0] }", i + 1, gap / 2, 180 * ((i + 0.5) / stones - 0.5)
  printf "\n  ]\n}\n"
}'
