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
KERNEL Mat3 twist_by_rotation(Quat near) {
  Vec3 v = near.v;
  Mat3 by_n;
  by_n.c[0] = vec3(-v.z, near.w, v.x);
  by_n.c[1] = vec3(-near.w, -v.z, v.y);
  by_n.c[2] = vec3(v.x, v.y, v.z);
  return by_n;
}

/* Adds the gradient of the inner product of `by_r` and the rotation of a against b. */
KERNEL void measure_add_rotation(Measure *m, const Affine *qa, const Affine *qb, const Mat3 *fa, const Mat3 *fb,
                                 Mat3 by_r) {
  Mat3 a = mat3_mul(affine_linear(qa), *fa), b = mat3_mul(affine_linear(qb), *fb);
  Mat3 by_a = mat3_mul(b, by_r), by_b = mat3_mul(a, mat3_transpose(by_r));
  for (int k = 0; k < 3; k++) {
    measure_add_vector(&m->gradient[0], fa->c[k], by_a.c[k]);
    measure_add_vector(&m->gradient[1], fb->c[k], by_b.c[k]);
  }
}

KERNEL Measure measure_twist(const Affine *qa, const Affine *qb, const Mat3 *fa, const Mat3 *fb, Quat near) {
  Measure m = measure_zero();
  Mat3 r = measure_rotation(qa, qb, fa, fb), by_d = quat_rotation(near), by_n = twist_by_rotation(near);
  Vec3 v = near.v;
  double n = 0.25 * (v.z + mat3_dot(by_n, r)), square = 0.25 * (quat_dot(near, near) + mat3_dot(by_d, r));
  double d = sqrt(square > 1e-12 ? square : 1e-12);
  m.value = 2 * n / d;
  Mat3 by_r = mat3_add(mat3_scale(0.5 / d, by_n), mat3_scale(-0.25 * n / (d * d * d), by_d));
  measure_add_rotation(&m, qa, qb, fa, fb, by_r);
  return m;
}

/* ---- second derivatives ---- */

enum { HESSIAN_PRODUCTS = 12 };
/* The Hessian of a sum of measures: S x I3 over the nodes of both bodies, which inner products of vectors fixed to them
 * have, and products of gradients. */
typedef struct MeasureHessian {
  double s[2][2][16]; /* between the nodes of bodies e and f; entry 4 k + i: node i of e with node k of f */
  int count;
  double factor[HESSIAN_PRODUCTS]; /* of either sign */
  Measure product[HESSIAN_PRODUCTS];
} MeasureHessian;

/* A point (w = 1) or a direction (w = 0) fixed to body e. */
typedef struct Attached {
  int e;
  double w;
  Vec3 rest;
} Attached;

/* The Hessian of f times the inner product of x and y. */
KERNEL void hessian_add_dot(MeasureHessian *h, double f, Attached x, Attached y) {
  const double u[4] = {x.w, x.rest.x, x.rest.y, x.rest.z}, v[4] = {y.w, y.rest.x, y.rest.y, y.rest.z};
  for (int k = 0; k < 4; k++)
    for (int i = 0; i < 4; i++) {
      h->s[x.e][y.e][4 * k + i] += f * u[i] * v[k];
      h->s[y.e][x.e][4 * i + k] += f * u[i] * v[k];
    }
}

KERNEL void hessian_add_product(MeasureHessian *h, double f, Measure gradient) {
  h->factor[h->count] = f;
  h->product[h->count++] = gradient;
}

/* a f + b g of two measures. */
KERNEL Measure measure_sum(double a, const Measure *f, double b, const Measure *g) {
  Measure m;
  m.value = a * f->value + b * g->value;
  for (int e = 0; e < 2; e++)
    for (int k = 0; k < 4; k++) m.gradient[e].n[k] = add_scaled(scale(a, f->gradient[e].n[k]), b, g->gradient[e].n[k]);
  return m;
}

/* f times the Hessian of each measure, with the arguments of the measure. */
KERNEL void hessian_add_travel(MeasureHessian *h, double f, Vec3 ya, Vec3 yb, Vec3 d) {
  const Attached a = {0, 1, ya}, b = {1, 1, yb}, e = {1, 0, d};
  hessian_add_dot(h, f, e, a);
  hessian_add_dot(h, -f, e, b);
}

KERNEL void hessian_add_inner(MeasureHessian *h, double f, Vec3 u, Vec3 v) {
  const Attached a = {0, 0, u}, b = {1, 0, v};
  hessian_add_dot(h, f, a, b);
}

/* |gap|: (I - n n^T) / |gap| */
KERNEL void hessian_add_distance(MeasureHessian *h, double f, const Affine *qa, const Affine *qb, Vec3 ya, Vec3 yb) {
  const Attached a = {0, 1, ya}, b = {1, 1, yb};
  Measure m = measure_distance(qa, qb, ya, yb);
  if (!(m.value > 0)) return;
  f /= m.value;
  hessian_add_dot(h, 0.5 * f, a, a);
  hessian_add_dot(h, 0.5 * f, b, b);
  hessian_add_dot(h, -f, a, b);
  hessian_add_product(h, -f, m);
}

/* With c and s = r (cos, sin) the Hessian of the angle by (c, s) is -(n t^T + t n^T) / r^2, n along the radius and t
 * across it; c and s are sums of inner products. */
KERNEL void hessian_add_angle(MeasureHessian *h, double f, const Affine *qa, const Affine *qb, const Mat3 *fa,
                              const Mat3 *fb) {
  const Attached u = {0, 0, fa->c[0]}, v = {0, 0, fa->c[1]}, x = {1, 0, fb->c[0]}, y = {1, 0, fb->c[1]};
  Measure ux = measure_product(qa, qb, u.rest, x.rest), vy = measure_product(qa, qb, v.rest, y.rest);
  Measure uy = measure_product(qa, qb, u.rest, y.rest), vx = measure_product(qa, qb, v.rest, x.rest);
  Measure c = measure_sum(0.5, &ux, 0.5, &vy), s = measure_sum(0.5, &uy, -0.5, &vx);
  double size = c.value * c.value + s.value * s.value;
  if (!(size > 1e-30)) return;
  double by_c = -0.5 * f * s.value / size, by_s = 0.5 * f * c.value / size, r = sqrt(size);
  hessian_add_dot(h, by_c, u, x);
  hessian_add_dot(h, by_c, v, y);
  hessian_add_dot(h, by_s, u, y);
  hessian_add_dot(h, -by_s, v, x);
  Measure radial = measure_sum(c.value / r, &c, s.value / r, &s),
          across = measure_sum(-s.value / r, &c, c.value / r, &s);
  hessian_add_product(h, -0.5 * f / size, measure_sum(1, &radial, 1, &across));
  hessian_add_product(h, 0.5 * f / size, measure_sum(1, &radial, -1, &across));
}

/* 2 n D^(-1/2) with n and D = d^2 linear in the rotation, whose entries are inner products. The Hessian by (n, D) is
 * [0, -D^(-3/2); ., 3/2 n D^(-5/2)]. */
KERNEL void hessian_add_twist(MeasureHessian *h, double f, const Affine *qa, const Affine *qb, const Mat3 *fa,
                              const Mat3 *fb, Quat near) {
  Mat3 r = measure_rotation(qa, qb, fa, fb), by_d = mat3_scale(0.25, quat_rotation(near)),
       by_n = mat3_scale(0.25, twist_by_rotation(near));
  double n = 0.25 * near.v.z + mat3_dot(by_n, r), square = 0.25 * quat_dot(near, near) + mat3_dot(by_d, r);
  if (!(square > 1e-12)) return;
  double d = sqrt(square), cross = -f / (d * square);
  Mat3 by_r = mat3_add(mat3_scale(2 * f / d, by_n), mat3_scale(-n * f / (d * square), by_d));
  for (int j = 0; j < 3; j++)
    for (int i = 0; i < 3; i++) {
      const Attached a = {0, 0, fa->c[j]}, b = {1, 0, fb->c[i]};
      hessian_add_dot(h, component(by_r.c[j], i), b, a);
    }
  Measure of_n = measure_zero(), of_d = measure_zero();
  measure_add_rotation(&of_n, qa, qb, fa, fb, by_n);
  measure_add_rotation(&of_d, qa, qb, fa, fb, by_d);
  hessian_add_product(h, 0.5 * cross, measure_sum(1, &of_n, 1, &of_d));
  hessian_add_product(h, -0.5 * cross, measure_sum(1, &of_n, -1, &of_d));
  hessian_add_product(h, 1.5 * f * n / (d * square * square), of_d);
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
