#!/bin/bash
# A house of cards, on standard output: LEVELS storeys of tents, each storey roofed by cards that carry the next.
#   scenes/generate/card-house.sh LEVELS
#
# The cards are boxes of length L and thickness t, the tents lean at 65 degrees, c and s their cosine and sine. In the frame
# of what it stands on, a tent with its ridge at 0 has its centres at -+(gap + L c + t s)/2 and gap + (L s + t c)/2, its
# feet inside L c + t s + gap/2, and its top at gap + L s + t c.
#
# Roof cards are longer than the tents are apart. They overlap like shingles, each resting on its left neighbour's end and on
# the ridge to its right, so that every ridge carries its load on both of its cards; a roof laid end to end would load the
# inner cards of the outer tents alone and push the outer ones over. All roof cards of a storey are one, moved by the pitch:
# tilted down to the right by sin a = (t + gap)/pitch they lie on each other with the same gap everywhere. Under the first
# one's left end a strip of card stands in for a neighbour. The next storey stands on the tilted roof and is tilted with it.
#
# Whatever touches starts apart by the gap, just inside the range of contact: nothing drops and nothing is pushed.
# Why it stands: a card with P on its edge and its weight W pushes its foot outward by (P + W/2) cot 65, and P + W press the
# foot down; friction of 0.6 is more than cot 65 = 0.466.
set -euo pipefail
levels=${1:?how many levels?}
LC_ALL=C awk -v levels="$levels" '
# A box of the given length with its centre at the place (u, v) of a frame at (x, z) that is tilted by the angle a.
function card(name, length_x, x, z, a, u, v, degrees) {
  printf ",\n    { \"name\": \"%s\", \"material\": \"card\", \"shape\": \"box\", \"size\": [%g, %g, %g],", name, length_x, w, t
  printf " \"position\": [%.8f, 0, %.8f]", x + u * cos(a) + v * sin(a), z - u * sin(a) + v * cos(a)
  degrees += a * 180 / pi
  if (degrees) printf ", \"euler_degrees\": [0, %.7f, 0]", degrees
  printf " }"
}
function tent(name, x, z, a) {
  card("left " name, L, x, z, a, -(gap + L * c + t * s) / 2, gap + (L * s + t * c) / 2, -65)
  card("right " name, L, x, z, a, (gap + L * c + t * s) / 2, gap + (L * s + t * c) / 2, 65)
}
function asin(v) { return atan2(v, sqrt(1 - v * v)) }
BEGIN {
  pi = atan2(0, -1); L = 0.088; w = 0.063; t = 0.0003; pitch = 0.084; range = 1e-4; gap = 0.9 * range
  c = cos(65 * pi / 180); s = sin(65 * pi / 180); top = gap + L * s + t * c; roof = asin((t + gap) / pitch)
  printf "{\n  \"version\": 1,\n  \"# made by\": \"scenes/generate/card-house.sh %d\",\n", levels
  printf "  \"dt\": 0.01,\n  \"duration\": 10,\n  \"contact\": { \"range\": %g, \"friction\": 0.6 },\n", range
  printf "  \"materials\": { \"card\": { \"density\": 1200, \"color\": \"#e8e2d0\" } },\n"
  printf "  \"bodies\": [\n    { \"name\": \"table\", \"shape\": \"ground\", \"size\": 2 }"
  x = -(levels - 1) / 2 * pitch; z = 0; a = 0 # the frame the first tent of a storey stands in
  for (level = 1; level <= levels; level++) {
    tents = levels - level + 1
    for (i = 0; i < tents; i++) tent(level "." i + 1, x + i * pitch, z, a)
    x += top * sin(a); z += top * cos(a); a = roof # the ridge of the first tent, and the roof
    if (tents > 1) card("strip " level, L - pitch, x, z, a, 0, gap + t / 2, 0)
    for (i = 1; i < tents; i++) card("roof " level "." i, L, x + i * pitch, z, a, -pitch / 2, gap + t / 2, 0)
    x += pitch - pitch / 2 * cos(a) + (gap + t) * sin(a); z += pitch / 2 * sin(a) + (gap + t) * cos(a)
  }
  printf "\n  ]\n}\n"
}'
