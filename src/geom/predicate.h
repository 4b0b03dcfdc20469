/* Exact signs in the plane; orient3d_sign is in geom/crossing.h. Tested in tests/test_crossing.c. */
#ifndef ABD_GEOM_PREDICATE_H
#define ABD_GEOM_PREDICATE_H

#include "math/vec.h"

typedef struct Vec2 {
  double x, y;
} Vec2;

/* The point without its coordinate along axis: (y, z), (z, x) or (x, y). */
KERNEL Vec2 drop_axis(Vec3 v, int axis) {
  Vec2 r;
  r.x = axis == 0 ? v.y : axis == 1 ? v.z : v.x;
  r.y = axis == 0 ? v.z : axis == 1 ? v.x : v.y;
  return r;
}

/* > 0 if a, b, c are counter-clockwise. Exact. */
int orient2d_sign(Vec2 a, Vec2 b, Vec2 c);
/* An axis along which a, b, c project to a proper triangle; -1 if they are collinear. Exact. */
int projection_axis(Vec3 a, Vec3 b, Vec3 c);

#endif
