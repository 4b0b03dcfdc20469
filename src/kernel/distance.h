/* Squared distances of the two contact stencils, with the weights of the closest points and the vector between them.
 * The vector is formed first and D = diff . diff after it, so D keeps its relative accuracy at small gaps. Slivers and
 * nearly parallel edges take a slower path: the normal from a cross product (its error grows with 1/sin, that of a
 * difference of dot products with 1/sin^2), and the minimum with the pieces of lower dimension. Edges at a small angle
 * take both paths if they nearly touch: the error of the closest points lies along them and may be longer than the
 * distance. Tested in tests/test_distance.c. */
#ifndef ABD_KERNEL_DISTANCE_H
#define ABD_KERNEL_DISTANCE_H

#include "math/vec.h"

#define DISTANCE_SLIVER 1e-5  /* sin^2 of the angle (height / side, squared) below which the slower path is taken */
#define DISTANCE_FLAT 1e-26   /* sin^2 below which a normal has no correct digit left */
#define DISTANCE_POINT 1e-290 /* squared length below which an edge is a point */
#define DISTANCE_TINY 1e-22   /* squared distance over sides squared below which both paths are taken */

KERNEL double clamp_unit(double s) { return s < 0.0 ? 0.0 : s > 1.0 ? 1.0 : s; }

/* diff = p - (e0 + t (e1 - e0)); returns its square. */
KERNEL double closest_point_edge(Vec3 p, Vec3 e0, Vec3 e1, double *t, Vec3 *diff) {
  Vec3 u = sub(e1, e0), r = sub(p, e0);
  double u_sq = norm_sq(u);
  double s = u_sq > DISTANCE_POINT ? clamp_unit(dot(u, r) / u_sq) : 0.0;
  *t = s;
  *diff = s < 1.0 ? add_scaled(r, -s, u) : sub(p, e1);
  return norm_sq(*diff);
}

KERNEL double triangle_result(Vec3 diff_in, double b0, double b1, double b2, double bary[3], Vec3 *diff) {
  bary[0] = b0;
  bary[1] = b1;
  bary[2] = b2;
  *diff = diff_in;
  return norm_sq(diff_in);
}

/* The face at weights v, w, which were divided by a small area: their error lies along the longer side of a thin
 * triangle and is corrected there. */
KERNEL double triangle_face(Vec3 ap, Vec3 ab, Vec3 ac, double v, double w, double bary[3], Vec3 *diff) {
  double ab_sq = norm_sq(ab), ac_sq = norm_sq(ac);
  Vec3 d = add_scaled(add_scaled(ap, -v, ab), -w, ac);
  if (ab_sq > ac_sq) v += dot(d, ab) / ab_sq;
  else w += dot(d, ac) / ac_sq;
  v = clamp_unit(v);
  w = w < 0.0 ? 0.0 : w > 1.0 - v ? 1.0 - v : w;
  return triangle_result(add_scaled(add_scaled(ap, -v, ab), -w, ac), 1.0 - v - w, v, w, bary, diff);
}

/* A triangle of nearly no area: the nearest of its edges, or its face if the normal has correct digits. */
KERNEL double closest_point_sliver(Vec3 p, Vec3 t0, Vec3 t1, Vec3 t2, Vec3 n, bool flat, double bary[3], Vec3 *diff) {
  double s, best;
  Vec3 d;
  best = closest_point_edge(p, t0, t1, &s, diff);
  bary[0] = 1.0 - s;
  bary[1] = s;
  bary[2] = 0.0;
  double other = closest_point_edge(p, t1, t2, &s, &d);
  if (other < best) {
    best = other;
    *diff = d;
    bary[0] = 0.0;
    bary[1] = 1.0 - s;
    bary[2] = s;
  }
  other = closest_point_edge(p, t2, t0, &s, &d);
  if (other < best) {
    best = other;
    *diff = d;
    bary[0] = s;
    bary[1] = 0.0;
    bary[2] = 1.0 - s;
  }
  if (flat) return best;
  Vec3 a = sub(p, t0), b = sub(p, t1), c = sub(p, t2), ab = sub(t1, t0), ac = sub(t2, t0);
  double inv = 1.0 / norm_sq(n), v = dot(n, cross(c, a)) * inv, w = dot(n, cross(a, b)) * inv;
  double inside[3];
  other = triangle_face(a, ab, ac, v, w, inside, &d);
  if (!(other < best)) return best;
  return triangle_result(d, inside[0], inside[1], inside[2], bary, diff);
}

/* diff = p - sum bary_i t_i, bary >= 0 summing to 1; returns the squared distance. The regions of the triangle are
 * tested in the order vertex, edge, face. */
KERNEL double closest_point_triangle(Vec3 p, Vec3 t0, Vec3 t1, Vec3 t2, double bary[3], Vec3 *diff) {
  Vec3 ab = sub(t1, t0), ac = sub(t2, t0), n = cross(ab, ac);
  double ab_sq = norm_sq(ab), ac_sq = norm_sq(ac), n_sq = norm_sq(n), longer = ab_sq > ac_sq ? ab_sq : ac_sq;
  if (!(n_sq > DISTANCE_SLIVER * longer * longer))
    return closest_point_sliver(p, t0, t1, t2, n, !(n_sq > DISTANCE_FLAT * longer * longer), bary, diff);
  Vec3 ap = sub(p, t0);
  double d1 = dot(ab, ap), d2 = dot(ac, ap);
  if (d1 <= 0.0 && d2 <= 0.0) return triangle_result(ap, 1.0, 0.0, 0.0, bary, diff);
  Vec3 bp = sub(p, t1);
  double d3 = dot(ab, bp), d4 = dot(ac, bp);
  if (d3 >= 0.0 && d4 <= d3) return triangle_result(bp, 0.0, 1.0, 0.0, bary, diff);
  double vc = d1 * d4 - d3 * d2;
  if (vc <= 0.0 && d1 >= 0.0 && d3 <= 0.0) {
    double s = clamp_unit(d1 / ab_sq);
    return triangle_result(add_scaled(ap, -s, ab), 1.0 - s, s, 0.0, bary, diff);
  }
  Vec3 cp = sub(p, t2);
  double d5 = dot(ab, cp), d6 = dot(ac, cp);
  if (d6 >= 0.0 && d5 <= d6) return triangle_result(cp, 0.0, 0.0, 1.0, bary, diff);
  double vb = d5 * d2 - d1 * d6;
  if (vb <= 0.0 && d2 >= 0.0 && d6 <= 0.0) {
    double s = clamp_unit(d2 / ac_sq);
    return triangle_result(add_scaled(ap, -s, ac), 1.0 - s, 0.0, s, bary, diff);
  }
  double va = d3 * d6 - d5 * d4, e1 = d4 - d3, e2 = d5 - d6;
  if (va <= 0.0 && e1 >= 0.0 && e2 >= 0.0) {
    double s = e1 + e2 > 0.0 ? clamp_unit(e1 / (e1 + e2)) : 0.0;
    return triangle_result(add_scaled(bp, -s, sub(t2, t1)), 0.0, 1.0 - s, s, bary, diff);
  }
  return triangle_face(ap, ab, ac, vb / n_sq, vc / n_sq, bary, diff);
}

/* Nearly parallel edges: the nearest of the four endpoint-edge pairs, or the crossing of the lines. */
KERNEL double closest_edge_edge_parallel(Vec3 a0, Vec3 a1, Vec3 b0, Vec3 b1, double *s, double *t, Vec3 *diff) {
  double w, other, best = closest_point_edge(a0, b0, b1, t, diff);
  Vec3 d;
  *s = 0.0;
  other = closest_point_edge(a1, b0, b1, &w, &d);
  if (other < best) {
    best = other;
    *diff = d;
    *s = 1.0;
    *t = w;
  }
  other = closest_point_edge(b0, a0, a1, &w, &d);
  if (other < best) {
    best = other;
    *diff = neg(d);
    *s = w;
    *t = 0.0;
  }
  other = closest_point_edge(b1, a0, a1, &w, &d);
  if (other < best) {
    best = other;
    *diff = neg(d);
    *s = w;
    *t = 1.0;
  }
  Vec3 u = sub(a1, a0), v = sub(b1, b0), r = sub(a0, b0), n = cross(u, v);
  double n_sq = norm_sq(n), u_sq = norm_sq(u), v_sq = norm_sq(v);
  if (!(n_sq > DISTANCE_FLAT * u_sq * v_sq)) return best;
  double sc = clamp_unit(dot(n, cross(v, r)) / n_sq);
  double tc = clamp_unit(dot(v, add_scaled(r, sc, u)) / v_sq); /* projected again, so that diff is across both edges */
  sc = clamp_unit(sc - dot(u, add_scaled(add_scaled(r, sc, u), -tc, v)) / u_sq);
  d = add_scaled(add_scaled(r, sc, u), -tc, v);
  other = norm_sq(d);
  if (other < best) {
    best = other;
    *diff = d;
    *s = sc;
    *t = tc;
  }
  return best;
}

/* The lesser of the distance d that was found and that of the slower path. */
KERNEL_ONCE double closest_edge_edge_tiny(Vec3 a0, Vec3 a1, Vec3 b0, Vec3 b1, double d, double *s, double *t,
                                          Vec3 *diff) {
  double sc, tc;
  Vec3 other_diff;
  double other = closest_edge_edge_parallel(a0, a1, b0, b1, &sc, &tc, &other_diff);
  if (!(other < d)) return d;
  *s = sc;
  *t = tc;
  *diff = other_diff;
  return other;
}

/* diff = a(s) - b(t) with a(s) = a0 + s (a1 - a0), s and t in [0, 1]; returns the squared distance. An edge of length
 * zero is a point. */
KERNEL double closest_edge_edge(Vec3 a0, Vec3 a1, Vec3 b0, Vec3 b1, double *s, double *t, Vec3 *diff) {
  Vec3 u = sub(a1, a0), v = sub(b1, b0), r = sub(a0, b0);
  double a = norm_sq(u), e = norm_sq(v), b = dot(u, v), det = a * e - b * b;
  if (!(det > DISTANCE_SLIVER * a * e) || a < DISTANCE_POINT || e < DISTANCE_POINT)
    return closest_edge_edge_parallel(a0, a1, b0, b1, s, t, diff);
  double c = dot(u, r), f = dot(v, r);
  double sc = clamp_unit((b * f - c * e) / det), tn = b * sc + f, tc;
  if (tn <= 0.0) {
    tc = 0.0;
    sc = clamp_unit(-c / a);
  } else if (tn >= e) {
    tc = 1.0;
    sc = clamp_unit((b - c) / a);
  } else tc = tn / e;
  *s = sc;
  *t = tc;
  *diff = add_scaled(add_scaled(r, sc, u), -tc, v);
  double d = norm_sq(*diff);
  return d > DISTANCE_TINY * (a > e ? a : e) ? d : closest_edge_edge_tiny(a0, a1, b0, b1, d, s, t, diff);
}

#endif
