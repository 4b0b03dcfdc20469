/* The largest safe step of a stencil along straight paths x + t dx (additive CCD with a directional certificate).
 *
 * With m = min(d(0) - separation, range) the motion stops once the distance d(t) is at most separation + 0.1 m. It
 * never falls below separation + 0.09 m. Every advance gains at least the difference of the two levels, so few are
 * needed. A path that stays above the upper level is not stopped; the result is then t_max itself. At each t three
 * bounds limit the advance so that d stays above the lower level; the largest is taken:
 *   - no vertex moves faster than l (relative to the mean), so d falls no faster than l;
 *   - along any fixed direction n the gap between two convex hulls is at least the least vertex-vertex gap, and each of
 *     those is linear in t: with n the current closest direction, sliding and separating pairs need one evaluation;
 *   - for turning parts, the same with a normal that turns with them (used after a few probes, because it costs more).
 * Positions are always computed as x + t dx, so errors do not accumulate. A tenth of a tenth and so on would end at
 * rounding, where a part may be found on either side of the other. So both levels keep twice `rounding`, or half of the
 * gap if that is less. Tested in tests/test_ccd.c. */
#ifndef ABD_KERNEL_CCD_H
#define ABD_KERNEL_CCD_H

#include "kernel/constant.h"
#include "kernel/distance.h"

KERNEL double ccd_distance(int first, const Vec3 x[4], Vec3 *diff) {
  double w[3], s, t;
  return sqrt(first == 1 ? closest_point_triangle(x[0], x[1], x[2], x[3], w, diff)
                         : closest_edge_edge(x[0], x[1], x[2], x[3], &s, &t, diff));
}

/* Advance from positions x along dx until some vertex pair's gap along n falls to level; INFINITY if none closes. */
KERNEL double ccd_directional(int first, const Vec3 x[4], const Vec3 dx[4], Vec3 n, double level) {
  double h[4], r[4], best = INFINITY;
  for (int i = 0; i < 4; i++) {
    h[i] = dot(n, x[i]);
    r[i] = dot(n, dx[i]);
  }
  for (int i = 0; i < first; i++)
    for (int j = first; j < 4; j++) {
      double gap = h[i] - h[j] - level, closing = r[j] - r[i];
      if (gap <= 0.0) return 0.0;
      if (closing > 0.0 && gap < best * closing) best = gap / closing;
    }
  return best;
}

/* The larger advance along two directions: that between the closest points, and, if this is less than `need`, the
 * normal of the triangle or of both edges. At gaps of a few roundings only the latter still has correct digits. */
KERNEL double ccd_certify(int first, const Vec3 x[4], const Vec3 dx[4], Vec3 diff, double d, double level,
                          double need) {
  double advance = ccd_directional(first, x, dx, scale(1.0 / d, diff), level);
  if (advance >= need) return advance;
  Vec3 n = first == 1 ? cross(sub(x[2], x[1]), sub(x[3], x[1])) : cross(sub(x[1], x[0]), sub(x[3], x[2]));
  double size = norm(n);
  if (!(size > DISTANCE_POINT)) return advance;
  double other = ccd_directional(first, x, dx, scale((dot(n, diff) < 0.0 ? -1.0 : 1.0) / size, n), level);
  return other > advance ? other : advance;
}

/* The same with a turning normal, for turning parts: n(t) = e1(t) x e2(t) of the triangle's sides or of the two
 * edges is across both parts at all times, so d >= f / |n| with the cubic f = n . r, r from part to part. In Bernstein
 * form f is at least its least coefficient and |n| at most its largest. Returns the advance found by halving `need`. */
KERNEL double ccd_turning(int first, const Vec3 x[4], const Vec3 dx[4], double level, double need) {
  const int from[2][3] = {{1, 1, 1}, {0, 2, 2}}, to[2][3] = {{2, 3, 0}, {1, 3, 0}}, pairs = first - 1;
  Vec3 e[3], de[3];
  for (int i = 0; i < 3; i++) {
    e[i] = sub(x[to[pairs][i]], x[from[pairs][i]]);
    de[i] = sub(dx[to[pairs][i]], dx[from[pairs][i]]);
  }
  Vec3 n0 = cross(e[0], e[1]), n1 = add(cross(de[0], e[1]), cross(e[0], de[1])), n2 = cross(de[0], de[1]);
  double side = dot(n0, e[2]) < 0.0 ? -1.0 : 1.0, f0 = side * dot(n0, e[2]);
  double f1 = side * (dot(n1, e[2]) + dot(n0, de[2])), f2 = side * (dot(n2, e[2]) + dot(n1, de[2])),
         f3 = side * dot(n2, de[2]);
  double noise = 1e-14; /* rounding of f: a vanishing normal is no proof */
  for (int i = 0; i < 3; i++) noise *= norm(e[i]) + need * norm(de[i]);
  for (int halving = 0; halving < 24; halving++, need *= 0.5) {
    double b1 = f0 + need * f1 / 3.0, b2 = f0 + need * (2.0 * f1 + need * f2) / 3.0;
    double b3 = f0 + need * (f1 + need * (f2 + need * f3)), least = f0 < b1 ? f0 : b1, tail = b2 < b3 ? b2 : b3;
    double c0 = norm_sq(n0), c1 = norm_sq(add_scaled(n0, 0.5 * need, n1)), c2;
    c2 = norm_sq(add_scaled(add_scaled(n0, need, n1), need * need, n2));
    double most = c0 > c1 ? c0 : c1;
    least = least < tail ? least : tail;
    if (least > level * sqrt(most > c2 ? most : c2) + noise) return need;
  }
  return 0.0;
}

/* dx less its mean; returns the fastest approach of the two parts, the first of `first` vertices. */
KERNEL double ccd_relative(int first, const Vec3 dx[4], Vec3 rel[4]) {
  Vec3 mean = scale(0.25, add(add(dx[0], dx[1]), add(dx[2], dx[3])));
  double fast[2] = {0.0, 0.0};
  for (int i = 0; i < 4; i++) {
    rel[i] = sub(dx[i], mean);
    double v = norm_sq(rel[i]);
    int part = i >= first;
    if (!(v <= fast[part])) fast[part] = v;
  }
  return sqrt(fast[0]) + sqrt(fast[1]);
}

KERNEL double ccd_stencil(int first, const Vec3 x[4], const Vec3 dx[4], double separation, double range,
                          double rounding, double t_max) {
  Vec3 rel[4], at[4], diff;
  double l = ccd_relative(first, dx, rel);
  if (l == 0.0) return t_max;
  for (int i = 0; i < 4; i++) at[i] = sub(x[i], x[0]);
  double d = ccd_distance(first, at, &diff), m = d - separation < range ? d - separation : range;
  double half = 0.5 * m, keep = (half < 2.0 * rounding ? half : 2.0 * rounding) / GAP_LEFT;
  if (m < keep) m = keep;
  double stop = separation + GAP_LEFT * m, level = separation + GAP_FLOOR * m, t = 0.0;
  if (!(m > 0.0)) return 0.0;
  for (int probe = 0; probe < CCD_PROBES; probe++) {
    double advance = (d - level) / l;
    if (advance < t_max - t) {
      double along = ccd_certify(first, at, rel, diff, d, level, t_max - t);
      if (probe >= CCD_PATIENCE && along < t_max - t) {
        double turning = ccd_turning(first, at, rel, level, t_max - t);
        along = turning > along ? turning : along;
      }
      advance = along > advance ? along : advance;
    }
    if (advance >= t_max - t) return t_max;
    double next = t + advance;
    if (next <= t) return t;
    for (int i = 0; i < 4; i++) at[i] = add_scaled(sub(x[i], x[0]), next, rel[i]);
    d = ccd_distance(first, at, &diff);
    if (!(d > stop)) return d > separation + 0.5 * GAP_FLOOR * m ? next : t; /* far below: rounding, not motion */
    t = next;
  }
  return t;
}

/* The largest t in [0, t_max] found safe: x[0] against the triangle x[1..3]; the edge x[0], x[1] against the edge x[2],
 * x[3], of which either may have length zero. rounding: see GAP_ROUNDING. */
KERNEL double ccd_point_triangle(const Vec3 x[4], const Vec3 dx[4], double separation, double range, double rounding,
                                 double t_max) {
  return ccd_stencil(1, x, dx, separation, range, rounding, t_max);
}
KERNEL double ccd_edge_edge(const Vec3 x[4], const Vec3 dx[4], double separation, double range, double rounding,
                            double t_max) {
  return ccd_stencil(2, x, dx, separation, range, rounding, t_max);
}

#endif
