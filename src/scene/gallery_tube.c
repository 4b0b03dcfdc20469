/* Tubes, rods and parts put together (gallery_vessel.h). Tests: tests/test_gallery.c. */
#include "scene/gallery_vessel.h"
#include "scene/rotation.h"
#include "scene/shape.h"

int cells_of(double resolution, double base, int least) { return (int)fmax(least, round(base * resolution)); }

static void direction(const Tube *tube, double share, double along[3]) {
  double a[3], b[3], length = 0;
  tube->path(tube->form, fmax(0, share - 1e-4), a);
  tube->path(tube->form, fmin(1, share + 1e-4), b);
  for (int k = 0; k < 3; k++) along[k] = b[k] - a[k], length += along[k] * along[k];
  for (int k = 0; k < 3; k++) along[k] /= sqrt(length);
}

typedef struct Tubing {
  const Tube *tube;
  int cap;
} Tubing; /* cap: rings of a round end */

/* Rings of the first end, along the line, of the other end: each a circle about a point before, on or behind the
 * line. */
static void tube_point(const void *form, int ring, int segment, double x[3]) {
  const Tubing *tubing = form;
  const Tube *tube = tubing->tube;
  int line = ring - tubing->cap, behind = line - tube->rings;
  double share = fmin(1, fmax(0, (double)line / tube->rings)), out = pi / 2, along[3], center[3];
  double radius = tube->radius[0] + share * (tube->radius[1] - tube->radius[0]),
         angle = 2 * pi * segment / tube->segments;
  if (line < 0) out = pi / 2 * (ring + 1) / (tubing->cap + 1);
  if (behind > 0) out = pi / 2 * (1 + (double)behind / (tubing->cap + 1));
  direction(tube, share, along);
  tube->path(tube->form, share, center);
  const double *s = tube->side;
  const double across[3] = {along[1] * s[2] - along[2] * s[1], along[2] * s[0] - along[0] * s[2],
                            along[0] * s[1] - along[1] * s[0]};
  for (int k = 0; k < 3; k++)
    x[k] = center[k] + radius * (sin(out) * (cos(angle) * s[k] + sin(angle) * across[k]) - cos(out) * along[k]);
}

bool part_tube(const Tube *tube, MeshData *out) {
  Tubing tubing = {tube, (int)fmax(1, tube->segments / 8)};
  Loft loft = {
      .point = tube_point, .form = &tubing, .ring_count = tube->rings + 1 + 2 * tubing.cap, .segments = tube->segments};
  double along[3];
  tube->path(tube->form, 0, loft.first);
  direction(tube, 0, along);
  for (int k = 0; k < 3; k++) loft.first[k] -= tube->radius[0] * along[k];
  tube->path(tube->form, 1, loft.last);
  direction(tube, 1, along);
  for (int k = 0; k < 3; k++) loft.last[k] += tube->radius[1] * along[k];
  return shape_loft(&loft, out);
}

static void straight(const void *form, double share, double x[3]) {
  const double(*end)[3] = form;
  for (int k = 0; k < 3; k++) x[k] = end[0][k] + share * (end[1][k] - end[0][k]);
}

bool part_rod(const double from[3], const double to[3], double radius_from, double radius_to, double resolution,
              double rings, MeshData *out) {
  const double end[2][3] = {{from[0], from[1], from[2]}, {to[0], to[1], to[2]}};
  Tube tube = {.path = straight,
               .form = end,
               .radius = {radius_from, radius_to},
               .side = {1, 0, 0},
               .rings = cells_of(resolution, rings, 1),
               .segments = cells_of(resolution, 6, 6)};
  return part_tube(&tube, out);
}

bool part_join(MeshData *whole, bool made, MeshData *part, const double quat[4], const double at[3]) {
  if (!made) return false;
  for (size_t i = 0; i < part->vertex_count; i++) quat_rotate(quat, part->vertex + 3 * i, part->vertex + 3 * i);
  return shape_append(whole, part, at);
}
