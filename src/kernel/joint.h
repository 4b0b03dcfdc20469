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

/* A unit quaternion: cosine of half the angle, axis times the sine. q and -q are the same rotation. */
typedef struct Quat {
  double w;
  Vec3 v;
} Quat;

/* Entry (i, j): column i of b's frame times column j of a's. */
KERNEL Mat3 measure_rotation(const Affine *qa, const Affine *qb, const Mat3 *fa, const Mat3 *fb) {
  Mat3 a = mat3_mul(affine_linear(qa), *fa), b = mat3_mul(affine_linear(qb), *fb);
  return mat3_mul(mat3_transpose(b), a);
}

/* The quaternion of a rotation whose largest component is positive. Four times the product of two components is linear
 * in the matrix; the other components come from the products with the largest. */
KERNEL Quat quat_of(Mat3 r) {
  Vec3 x = r.c[0], y = r.c[1], z = r.c[2];
  double product[4][4] = {{1 + x.x + y.y + z.z, y.z - z.y, z.x - x.z, x.y - y.x},
                          {y.z - z.y, 1 + x.x - y.y - z.z, y.x + x.y, z.x + x.z},
                          {z.x - x.z, y.x + x.y, 1 - x.x + y.y - z.z, z.y + y.z},
                          {x.y - y.x, z.x + x.z, z.y + y.z, 1 - x.x - y.y + z.z}};
  int p = 0;
  for (int k = 1; k < 4; k++)
    if (product[k][k] > product[p][p]) p = k;
  double f = 0.5 / sqrt(product[p][p]);
  Quat q;
  q.w = f * product[p][0];
  q.v = vec3(f * product[p][1], f * product[p][2], f * product[p][3]);
  return q;
}

KERNEL double quat_dot(Quat a, Quat b) { return a.w * b.w + dot(a.v, b.v); }

KERNEL Mat3 quat_rotation(Quat q) {
  double w = q.w, x = q.v.x, y = q.v.y, z = q.v.z;
  Mat3 r;
  r.c[0] = vec3(w * w + x * x - y * y - z * z, 2 * (x * y + w * z), 2 * (x * z - w * y));
  r.c[1] = vec3(2 * (x * y - w * z), w * w - x * x + y * y - z * z, 2 * (y * z + w * x));
  r.c[2] = vec3(2 * (x * z + w * y), 2 * (y * z - w * x), w * w - x * x - y * y + z * z);
  return r;
}

/* Twice the third component of the quaternion q of a against b: 2 sin(angle / 2) cos(tilt / 2), if the axes are tilted
 * against each other. It is zero if the angle is, and its gradient has length 1 there for every tilt; between opposite
 * axes the angle itself has no value. Of q and -q the one nearer to `near` counts. With n the products of q and its
 * third component, d = q . near, both linear in the rotation: 2 (n . near) / d. */
KERNEL Measure measure_twist(const Affine *qa, const Affine *qb, const Mat3 *fa, const Mat3 *fb, Quat near) {
  Measure m = measure_zero();
  Mat3 r = measure_rotation(qa, qb, fa, fb), by_d = quat_rotation(near), by_n;
  Vec3 v = near.v;
  by_n.c[0] = vec3(-v.z, near.w, v.x);
  by_n.c[1] = vec3(-near.w, -v.z, v.y);
  by_n.c[2] = vec3(v.x, v.y, v.z);
  double n = 0.25 * (v.z + mat3_dot(by_n, r)), square = 0.25 * (quat_dot(near, near) + mat3_dot(by_d, r));
  double d = sqrt(square > 1e-12 ? square : 1e-12);
  m.value = 2 * n / d;
  Mat3 by_r = mat3_add(mat3_scale(0.5 / d, by_n), mat3_scale(-0.25 * n / (d * d * d), by_d));
  Mat3 a = mat3_mul(affine_linear(qa), *fa), b = mat3_mul(affine_linear(qb), *fb);
  Mat3 by_a = mat3_mul(b, by_r), by_b = mat3_mul(a, mat3_transpose(by_r));
  for (int k = 0; k < 3; k++) {
    measure_add_vector(&m.gradient[0], fa->c[k], by_a.c[k]);
    measure_add_vector(&m.gradient[1], fb->c[k], by_b.c[k]);
  }
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
