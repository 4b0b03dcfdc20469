#!/bin/bash
# A wrecking ball on a chain and a wall of bricks, on standard output.
#   scenes/generate/demo.sh
#
# The chain hangs from a fixed link and is held out, taut, at an angle from the vertical. Links are tori of radius R and tube
# r, every second one turned by a quarter about the chain: neighbours touch when their centres are 2 (R - r) apart. The
# eye of the ball, meshes/wrecking-ball.obj, is one more such link. The wall stands where the ball comes by at its lowest,
# bricks in running bond with open joints; courses rest on each other within the range of contact.
set -euo pipefail
LC_ALL=C awk '
function link(name, k, rest,   d) {
  d = k * (2 * (R - r) - gap)
  printf ",\n    { \"name\": \"%s\", \"material\": \"steel\", %s", name, rest
  printf ", \"position\": [%.6f, 0, %.6f]", -d * sin(a), H - d * cos(a)
}
function brick(course, y, length_y) {
  n++
  printf ",\n    { \"name\": \"brick %d\", \"material\": \"brick\", \"shape\": \"box\", \"size\": [%g, %g, %g],", n, depth, length_y - joint, height
  printf " \"position\": [%g, %g, %.6f] }", wall, y, (course + 0.5) * height + (course + 1) * gap
}
BEGIN {
  pi = atan2(0, -1); R = 0.12; r = 0.03; range = 1e-3; gap = 0.9 * range; degrees = 65; a = degrees * pi / 180
  links = 10; H = 2.9; B = 0.35
  depth = 0.25; height = 0.2; brick_length = 0.5; joint = 0.004; courses = 9; columns = 5; wall = 0.6
  printf "{\n  \"version\": 1,\n  \"# made by\": \"scenes/generate/demo.sh\",\n"
  printf "  \"dt\": 0.01,\n  \"duration\": 3,\n  \"contact\": { \"range\": %g, \"friction\": 0.4 },\n", range
  printf "  \"materials\": {\n    \"steel\": { \"density\": 7800, \"color\": \"#5b6b7a\" },\n"
  printf "    \"brick\": { \"density\": 1800, \"color\": \"#b5563a\" }\n  },\n"
  printf "  \"bodies\": [\n    { \"name\": \"ground\", \"shape\": \"ground\" }"
  torus = sprintf("\"shape\": \"torus\", \"radius\": %g, \"tube\": %g, \"segments\": 24, \"sides\": 12", R, r)
  for (k = 0; k < links; k++) {
    link(k ? "link " k : "hook", k, torus)
    if (k % 2) printf ", \"euler_degrees\": [0, %g, 0]", 90 + degrees
    else printf ", \"euler_degrees\": [90, %g, 0]", degrees
    printf "%s }", k ? "" : ", \"motion\": \"static\""
  }
  if (links % 2) { print "demo.sh: the eye needs an even number of links before it" > "/dev/stderr"; exit 1 }
  link("ball", links, "\"mesh\": \"meshes/wrecking-ball.obj\"")
  printf ", \"euler_degrees\": [0, %g, 0] }", degrees
  for (course = 0; course < courses; course++)
    for (i = 0; i < columns + course % 2; i++) {
      y = (i - (columns - 1) / 2) * brick_length
      if (course % 2 == 0) brick(course, y, brick_length)
      else if (i == 0) brick(course, y - brick_length / 4, brick_length / 2)
      else if (i == columns) brick(course, y - 3 * brick_length / 4, brick_length / 2)
      else brick(course, y - brick_length / 2, brick_length)
    }
  printf "\n  ]\n}\n"
}'
