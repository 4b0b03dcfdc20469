/* Measures between two joined bodies, with gradients: angle, travel, distance, inner product of two directions.
 *
 * A body's pose is q = (p, c1, c2, c3); a point or a direction fixed to it is w0 p + w1 c1 + w2 c2 + w3 c3. Every
 * measure is bilinear in the two poses, or an angle or a length made of bilinear ones. Along straight motions it is a
 * quadratic polynomial, whose roots are exact bounds for stops. Tested in tests/test_joint.c. */
#ifndef ABD_KERNEL_JOINT_H
#define ABD_KERNEL_JOINT_H

#include "math/vec.h"

/* A value and its gradient with respect to the nodes of two bodies. */
typedef struct Measure {
  double value;
  Affine gradient[2];
} Measure;

KERNEL void measure_add_vector(Affine *g, Vec3 rest, Vec3 d) { /* value depends on A rest with derivative d */
  g->n[1] = add_scaled(g->n[1], rest.x, d);
  g->n[2] = add_scaled(g->n[2], rest.y, d);
  g->n[3] = add_scaled(g->n[3], rest.z, d);
}

KERNEL void measure_add_point(Affine *g, Vec3 rest, Vec3 d) {
  g->n[0] = add(g->n[0], d);
  measure_add_vector(g, rest, d);
}

KERNEL Measure measure_zero(void) {
  Measure m;
  m.value = 0;
  for (int e = 0; e < 2; e++)
    for (int k = 0; k < 4; k++) m.gradient[e].n[k] = vec3(0, 0, 0);
  return m;
}

/* (A_b d) . (x_a - x_b): distance of a's anchor from b's along a direction fixed to b. */
KERNEL Measure measure_travel(const Affine *qa, const Affine *qb, Vec3 ya, Vec3 yb, Vec3 d) {
  Measure m = measure_zero();
  Vec3 e = affine_vector(qb, d), gap = sub(affine_point(qa, ya), affine_point(qb, yb));
  m.value = dot(e, gap);
  measure_add_point(&m.gradient[0], ya, e);
  measure_add_point(&m.gradient[1], yb, neg(e));
  measure_add_vector(&m.gradient[1], d, gap);
  return m;
}

/* (A_a u) . (A_b v) */
KERNEL Measure measure_product(const Affine *qa, const Affine *qb, Vec3 u, Vec3 v) {
  Measure m = measure_zero();
  Vec3 x = affine_vector(qa, u), y = affine_vector(qb, v);
  m.value = dot(x, y);
  measure_add_vector(&m.gradient[0], u, y);
  measure_add_vector(&m.gradient[1], v, x);
  return m;
}

/* |x_a - x_b| */
KERNEL Measure measure_distance(const Affine *qa, const Affine *qb, Vec3 ya, Vec3 yb) {
  Measure m = measure_zero();
  Vec3 gap = sub(affine_point(qa, ya), affine_point(qb, yb));
  m.value = norm(gap);
  Vec3 n = m.value > 0 ? scale(1 / m.value, gap) : vec3(0, 0, 0);
  measure_add_point(&m.gradient[0], ya, n);
  measure_add_point(&m.gradient[1], yb, neg(n));
  return m;
}

/* Cosine and sine, both times the same positive factor, of the angle by which a is turned against b about the third
 * column of the frames; the first two columns are at right angles to it. */
KERNEL void measure_phase(const Affine *qa, const Affine *qb, const Mat3 *fa, const Mat3 *fb, double *c, double *s) {
  Vec3 u = affine_vector(qa, fa->c[0]), v = affine_vector(qa, fa->c[1]);
  Vec3 x = affine_vector(qb, fb->c[0]), y = affine_vector(qb, fb->c[1]);
  *c = 0.5 * (dot(u, x) + dot(v, y));
  *s = 0.5 * (dot(u, y) - dot(v, x));
}

/* The angle; of the values that differ by whole turns the one nearest to near. Between opposite axes there is none, and
 * its gradient grows without bound near them. */
KERNEL Measure measure_angle(const Affine *qa, const Affine *qb, const Mat3 *fa, const Mat3 *fb, double near) {
  Measure m = measure_zero();
  const double turn = 6.283185307179586476925;
  double c, s;
  measure_phase(qa, qb, fa, fb, &c, &s);
  Vec3 u = affine_vector(qa, fa->c[0]), v = affine_vector(qa, fa->c[1]);
  Vec3 x = affine_vector(qb, fb->c[0]), y = affine_vector(qb, fb->c[1]);
  double angle = atan2(s, c), size = c * c + s * s, f = 0.5 / (size > 1e-30 ? size : 1e-30);
  m.value = angle + turn * floor((near - angle) / turn + 0.5);
  Vec3 du = scale(f, add_scaled(scale(c, y), -s, x)), dv = scale(-f, add_scaled(scale(c, x), s, y));
  Vec3 dx = scale(-f, add_scaled(scale(c, v), s, u)), dy = scale(f, add_scaled(scale(c, u), -s, v));
  measure_add_vector(&m.gradient[0], fa->c[0], du);
  measure_add_vector(&m.gradient[0], fa->c[1], dv);
  measure_add_vector(&m.gradient[1], fb->c[0], dx);
  measure_add_vector(&m.gradient[1], fb->c[1], dy);
  return m;
}

/* The first t in (0, 1] at which the quadratic through f(0) > 0, f(1/2), f(1) falls to share f(0); 1 if it does not. */
KERNEL double first_fall(double f0, double f_half, double f1, double share) {
  double a = 2 * f0 - 4 * f_half + 2 * f1, b = -3 * f0 + 4 * f_half - f1, c = (1 - share) * f0; /* a t^2 + b t + c */
  double d = b * b - 4 * a * c;
  if (d < 0) return 1;
  double q = -0.5 * (b + (b < 0 ? -sqrt(d) : sqrt(d))), t = 1;
  if (a != 0 && q / a > 0) t = least(t, q / a);
  if (q != 0 && c / q > 0) t = least(t, c / q);
  return t;
}

/* A spring of stiffness k about zero that yields at a limit force: energy, force against x, stiffness. */
KERNEL double yield_energy(double k, double limit, double x) {
  double e = limit / k; /* infinite if the spring does not yield */
  return fabs(x) <= e ? 0.5 * k * x * x : limit * (fabs(x) - 0.5 * e);
}
KERNEL double yield_force(double k, double limit, double x) { return least(most(k * x, -limit), limit); }
KERNEL double yield_stiffness(double k, double limit, double x) { return fabs(k * x) <= limit ? k : 0; }

#endif
