/* How far a stencil may move along straight paths x + t dx before its parts come too near (additive CCD, with a
 * directional certificate).
 *
 * With m = min(d(0) - separation, range) the motion is stopped once the distance d(t) is at most separation + 0.1 m, and
 * never reaches below separation + 0.09 m. The tenth between the two levels is what every advance gains at least, so few
 * are needed, and a path that stays above the upper level is never stopped: the answer is then t_max itself.
 * At each t two bounds say how far one may advance without falling below the lower level; the larger is taken:
 *   - no vertex moves faster than l (relative to the mean), so d falls no faster than l;
 *   - along any fixed direction n the gap between two convex hulls is at least the least vertex-vertex gap, and each of
 *     those is linear in t: with n the current closest direction, sliding and separating pairs finish in one look.
 * Positions are always x + t dx, so nothing drifts. Tested in tests/test_ccd.c. */
#ifndef ABD_KERNEL_CCD_H
#define ABD_KERNEL_CCD_H

#include "kernel/distance.h"

#define CCD_STOP 0.10   /* of m: stop here */
#define CCD_FLOOR 0.09  /* of m: never go below */
#define CCD_PROBES 4096

KERNEL double ccd_distance(int first, const Vec3 x[4], Vec3 *diff) {
  double w[3], s, t;
  return sqrt(first == 1 ? closest_point_triangle(x[0], x[1], x[2], x[3], w, diff)
                         : closest_edge_edge(x[0], x[1], x[2], x[3], &s, &t, diff));
}

/* Advance from positions x along dx until some vertex pair's gap along n is down to level; INFINITY if none closes. */
KERNEL double ccd_directional(int first, const Vec3 x[4], const Vec3 dx[4], Vec3 n, double level) {
  double h[4], r[4], best = INFINITY;
  for (int i = 0; i < 4; i++) { h[i] = dot(n, x[i]); r[i] = dot(n, dx[i]); }
  for (int i = 0; i < first; i++)
    for (int j = first; j < 4; j++) {
      double gap = h[i] - h[j] - level, closing = r[j] - r[i];
      if (gap <= 0.0) return 0.0;
      if (closing > 0.0 && gap < best * closing) best = gap / closing;
    }
  return best;
}

/* The better advance along two directions: that between the closest points, and, where it does not reach, the normal of
 * the triangle or of both edges. At gaps of a few roundings the former has lost its digits and the latter has not. */
KERNEL double ccd_certify(int first, const Vec3 x[4], const Vec3 dx[4], Vec3 diff, double d, double level, double need) {
  double advance = ccd_directional(first, x, dx, scale(1.0 / d, diff), level);
  if (advance >= need) return advance;
  Vec3 n = first == 1 ? cross(sub(x[2], x[1]), sub(x[3], x[1])) : cross(sub(x[1], x[0]), sub(x[3], x[2]));
  double size = norm(n);
  if (!(size > 0.0)) return advance;
  double other = ccd_directional(first, x, dx, scale((dot(n, diff) < 0.0 ? -1.0 : 1.0) / size, n), level);
  return other > advance ? other : advance;
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

KERNEL double ccd_stencil(int first, const Vec3 x[4], const Vec3 dx[4], double separation, double range, double t_max) {
  Vec3 rel[4], at[4], diff;
  double l = ccd_relative(first, dx, rel);
  if (l == 0.0) return t_max;
  for (int i = 0; i < 4; i++) at[i] = sub(x[i], x[0]);
  double d = ccd_distance(first, at, &diff), m = d - separation < range ? d - separation : range;
  double stop = separation + CCD_STOP * m, level = separation + CCD_FLOOR * m, t = 0.0;
  if (!(m > 0.0)) return 0.0;
  for (int probe = 0; probe < CCD_PROBES; probe++) {
    double advance = (d - level) / l;
    if (advance < t_max - t) {
      double along = ccd_certify(first, at, rel, diff, d, level, t_max - t);
      advance = along > advance ? along : advance;
    }
    if (advance >= t_max - t) return t_max;
    double next = t + advance;
    for (int i = 0; i < 4; i++) at[i] = add_scaled(sub(x[i], x[0]), next, rel[i]);
    d = ccd_distance(first, at, &diff);
    if (!(d > stop)) return d > separation + 0.5 * CCD_FLOOR * m ? next : t; /* far below: rounding, not motion */
    t = next;
  }
  return t;
}

/* The largest t in [0, t_max] found safe: x[0] against the triangle x[1..3]; the edge x[0], x[1] against the edge x[2],
 * x[3], of which either may have length zero. */
KERNEL double ccd_point_triangle(const Vec3 x[4], const Vec3 dx[4], double separation, double range, double t_max) {
  return ccd_stencil(1, x, dx, separation, range, t_max);
}
KERNEL double ccd_edge_edge(const Vec3 x[4], const Vec3 dx[4], double separation, double range, double t_max) {
  return ccd_stencil(2, x, dx, separation, range, t_max);
}

#endif
