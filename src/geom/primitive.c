/* Tests whether two segments, a segment and a triangle, or two triangles share a point, by exact signs alone. Coplanar
 * points are projected along an axis that is not parallel to their plane, which keeps every incidence. Tested in
 * tests/test_crossing.c. */
#include "geom/crossing.h"
#include "geom/predicate.h"

static bool intervals_overlap(double a, double b, double c, double d) {
  return fmin(a, b) <= fmax(c, d) && fmin(c, d) <= fmax(a, b);
}

/* If all four signs are zero (collinear segments, points), the box test decides. */
static bool segments_cross_2d(Vec2 p, Vec2 q, Vec2 a, Vec2 b) {
  return intervals_overlap(p.x, q.x, a.x, b.x) && intervals_overlap(p.y, q.y, a.y, b.y) &&
         orient2d_sign(p, q, a) * orient2d_sign(p, q, b) <= 0 && orient2d_sign(a, b, p) * orient2d_sign(a, b, q) <= 0;
}

static bool segments_cross_along(int axis, Vec3 p, Vec3 q, Vec3 a, Vec3 b) {
  return segments_cross_2d(drop_axis(p, axis), drop_axis(q, axis), drop_axis(a, axis), drop_axis(b, axis));
}

bool segment_crosses_segment(Vec3 p, Vec3 q, Vec3 a, Vec3 b) {
  if (!intervals_overlap(p.x, q.x, a.x, b.x) || !intervals_overlap(p.y, q.y, a.y, b.y) ||
      !intervals_overlap(p.z, q.z, a.z, b.z) || orient3d_sign(p, q, a, b) != 0)
    return false;
  int axis = projection_axis(p, q, a);
  if (axis < 0) axis = projection_axis(p, q, b);
  if (axis < 0) axis = projection_axis(a, b, p);
  if (axis < 0) axis = projection_axis(a, b, q);
  return axis < 0 /* collinear: the boxes, which overlap, decide */ || segments_cross_along(axis, p, q, a, b);
}

static bool inside_triangle_2d(Vec2 p, const Vec2 v[3]) {
  int s0 = orient2d_sign(v[0], v[1], p), s1 = orient2d_sign(v[1], v[2], p), s2 = orient2d_sign(v[2], v[0], p);
  return (s0 >= 0 && s1 >= 0 && s2 >= 0) || (s0 <= 0 && s1 <= 0 && s2 <= 0);
}

static bool coplanar_segment_crosses_triangle(Vec3 p, Vec3 q, Vec3 a, Vec3 b, Vec3 c) {
  int axis = projection_axis(a, b, c);
  if (axis < 0) /* a degenerate triangle: only its edges */
    return segment_crosses_segment(p, q, a, b) || segment_crosses_segment(p, q, b, c) ||
           segment_crosses_segment(p, q, c, a);
  Vec2 s = drop_axis(p, axis), t = drop_axis(q, axis);
  Vec2 v[3] = {drop_axis(a, axis), drop_axis(b, axis), drop_axis(c, axis)};
  return inside_triangle_2d(s, v) || inside_triangle_2d(t, v) || segments_cross_2d(s, t, v[0], v[1]) ||
         segments_cross_2d(s, t, v[1], v[2]) || segments_cross_2d(s, t, v[2], v[0]);
}

bool segment_crosses_triangle(Vec3 p, Vec3 q, Vec3 a, Vec3 b, Vec3 c) {
  int sp = orient3d_sign(a, b, c, p), sq = orient3d_sign(a, b, c, q);
  if (sp * sq > 0) return false;
  if (sp == 0 && sq == 0) return coplanar_segment_crosses_triangle(p, q, a, b, c);
  int s0 = orient3d_sign(p, q, a, b), s1 = orient3d_sign(p, q, b, c), s2 = orient3d_sign(p, q, c, a);
  return (s0 >= 0 && s1 >= 0 && s2 >= 0) || (s0 <= 0 && s1 <= 0 && s2 <= 0);
}

/* All vertices of b strictly on one side of the plane of a. */
static bool plane_separates(const Vec3 a[3], const Vec3 b[3]) {
  int s0 = orient3d_sign(a[0], a[1], a[2], b[0]);
  return s0 != 0 && s0 == orient3d_sign(a[0], a[1], a[2], b[1]) && s0 == orient3d_sign(a[0], a[1], a[2], b[2]);
}

bool triangle_crosses_triangle(const Vec3 a[3], const Vec3 b[3]) {
  if (plane_separates(a, b) || plane_separates(b, a)) return false;
  for (int k = 0; k < 3; k++)
    if (segment_crosses_triangle(a[k], a[(k + 1) % 3], b[0], b[1], b[2]) ||
        segment_crosses_triangle(b[k], b[(k + 1) % 3], a[0], a[1], a[2]))
      return true;
  return false;
}
