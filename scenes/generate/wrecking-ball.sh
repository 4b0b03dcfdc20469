#!/bin/bash
# The mesh of a wrecking ball, OBJ on standard output: an eye to hang it by, a torus in the x-z plane around the origin, and
# below it, a hair apart, the ball.
#   scenes/generate/wrecking-ball.sh EYE_RADIUS EYE_TUBE BALL_RADIUS
set -euo pipefail
LC_ALL=C awk -v R="${1:?radius of the eye}" -v r="${2:?its tube}" -v B="${3:?radius of the ball}" '
function vertex(x, y, z) { printf "v %.9f %.9f %.9f\n", x, y, z; count++ }
function face(a, b, c) { faces[++face_count] = a " " b " " c }
BEGIN {
  pi = atan2(0, -1); major = 24; minor = 12; rings = 16; around = 32
  print "# made by scenes/generate/wrecking-ball.sh " R " " r " " B
  for (i = 0; i < major; i++)
    for (j = 0; j < minor; j++) {
      a = 2 * pi * i / major; b = 2 * pi * j / minor
      vertex((R + r * cos(b)) * cos(a), r * sin(b), (R + r * cos(b)) * sin(a))
    }
  for (i = 0; i < major; i++)
    for (j = 0; j < minor; j++) {
      p = i * minor + j + 1; q = i * minor + (j + 1) % minor + 1
      s = (i + 1) % major * minor + j + 1; t = (i + 1) % major * minor + (j + 1) % minor + 1
      face(p, q, t); face(p, t, s)
    }
  z = -(R + r + B) - 0.001
  vertex(0, 0, z + B); top = count
  for (k = 1; k < rings; k++)
    for (i = 0; i < around; i++) {
      a = pi * k / rings; b = 2 * pi * i / around
      vertex(B * sin(a) * cos(b), B * sin(a) * sin(b), z + B * cos(a))
    }
  vertex(0, 0, z - B); bottom = count
  for (i = 0; i < around; i++) {
    n = (i + 1) % around
    face(top, top + 1 + i, top + 1 + n)
    for (k = 0; k < rings - 2; k++) {
      p = top + 1 + k * around
      face(p + i, p + around + i, p + around + n); face(p + i, p + around + n, p + n)
    }
    face(bottom, bottom - around + n, bottom - around + i)
  }
  for (k = 1; k <= face_count; k++) print "f " faces[k]
}'
