/* Bars, pendulums and bowls (gallery_part.h). Tests: tests/test_gallery.c. */
#include "scene/gallery_part.h"

#include "scene/shape.h"

enum { BAR_END = 12, BAR_SEGMENTS = 2 * (BAR_END + 1), BOB_RINGS = 18 };

typedef struct Bar {
  double length, radius, thickness;
} Bar;

/* Rings: the lower face's edge, the side's lower and upper edge, the upper face's edge. */
static void bar_point(const void *form, int ring, int segment, double x[3]) {
  const Bar *bar = form;
  double bevel = 0.15 * fmin(bar->radius, bar->thickness);
  double r = ring == 0 || ring == 3 ? bar->radius - bevel : bar->radius, half = bar->thickness / 2;
  int side = segment / (BAR_END + 1);
  double angle = -pi / 2 + pi * side + pi * (segment % (BAR_END + 1)) / BAR_END;
  x[0] = (side ? 0 : bar->length) + r * cos(angle);
  x[1] = r * sin(angle);
  x[2] = ring == 0 ? -half : ring == 1 ? bevel - half : ring == 2 ? half - bevel : half;
}

bool part_bar(double length, double radius, double thickness, MeshData *out) {
  Bar bar = {length, radius, thickness};
  Loft loft = {.point = bar_point,
               .form = &bar,
               .ring_count = 4,
               .segments = BAR_SEGMENTS,
               .first = {length / 2, 0, -thickness / 2},
               .last = {length / 2, 0, thickness / 2}};
  return shape_loft(&loft, out);
}

bool part_bob(double length, double rod, double ball, MeshData *out) {
  double profile[BOB_RINGS + 1][2],
      top = pi - asin(rod / ball); /* angle at which the rod enters the ball, from below */
  for (int i = 0; i < BOB_RINGS; i++) {
    double angle = top * (i + 1) / BOB_RINGS;
    profile[i][0] = ball * sin(angle);
    profile[i][1] = -length - ball * cos(angle);
  }
  profile[BOB_RINGS][0] = rod;
  profile[BOB_RINGS][1] = rod;
  return shape_revolve(-length - ball, (const double(*)[2])profile, BOB_RINGS + 1, rod, 32, out);
}

/* A thick bowl: outside up, over the rim, inside down. */
bool part_bowl(double radius, double height, MeshData *out) {
  const double wall = 0.06;
  enum { STEPS = 8 };
  double profile[2 * STEPS + 2][2];
  for (int k = 0; k <= STEPS; k++) { /* the wall leans out, steeper and steeper */
    double t = (double)k / STEPS, r = radius * (0.62 + 0.38 * sqrt(t)), z = height * t;
    profile[k][0] = r + wall, profile[k][1] = z;
    profile[2 * STEPS + 1 - k][0] = r, profile[2 * STEPS + 1 - k][1] = wall + (height - wall) * t;
  }
  return shape_revolve(0, (const double(*)[2])profile, 2 * STEPS + 2, wall, 48, out);
}
