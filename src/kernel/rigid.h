/* Rigid rotation of a body whose pose A is near a rotation: inertia, angular momentum, and torque-free flight.
 *
 * second = integral of rho X_k^2 along the principal axes of the rest frame, J = A diag(second) A^T, I = tr(J) - J.
 * Torque-free flight keeps L = I w and 1/2 w.L. With body axes b_k, moments i_k and pi_k = b_k.L the energy splits into
 *   |L|^2 / (2 i_mid)  +  (1/i_min - 1/i_mid) pi_min^2 / 2  +  (1/i_max - 1/i_mid) pi_max^2 / 2,
 * each of which has an exact solution: a turn about L, and turns about one body axis at constant pi. The first commutes
 * with the others and is applied once; the others alternate in a symmetric composition of fourth order. L is fixed in
 * space throughout, so it is kept to rounding. Tops with two equal moments move exactly; otherwise the energy error
 * stays bounded for all time. There is no iteration. Tested in tests/test_math.c. */
#ifndef ABD_KERNEL_RIGID_H
#define ABD_KERNEL_RIGID_H

#include "math/eigen.h"

#define RIGID_THINNEST                                                                                                 \
  1e-8 /* second moments are at least this part of the largest, so that a rod has inertia about its axis */
#define RIGID_TURN 0.2 /* [rad] of one composition */
#define RIGID_COMPOSITIONS 1000

KERNEL Mat3 second_world(Mat3 a, Vec3 second) {
  double least = RIGID_THINNEST * max_component(second);
  Mat3 j = mat3_zero();
  for (int k = 0; k < 3; k++) {
    double s = component(second, k);
    j = mat3_add(j, mat3_scale(s > least ? s : least, mat3_outer(a.c[k], a.c[k])));
  }
  return j;
}

KERNEL Mat3 inertia_world(Mat3 a, Vec3 second) {
  Mat3 j = second_world(a, second);
  return mat3_sub(mat3_scale(j.c[0].x + j.c[1].y + j.c[2].z, mat3_identity()), j);
}

/* Sum of r x m v over the body, r = A X, v = A' X. */
KERNEL Vec3 spin_momentum(Mat3 a, Mat3 a_dot, Vec3 second) {
  Vec3 l = scale(second.x, cross(a.c[0], a_dot.c[0]));
  l = add_scaled(l, second.y, cross(a.c[1], a_dot.c[1]));
  return add_scaled(l, second.z, cross(a.c[2], a_dot.c[2]));
}

/* Principal axes (right-handed columns) and moments, ascending. In the frame of a, J is nearly diagonal, so the
 * eigenvalue iteration takes a sweep or two. */
KERNEL void inertia_axes(Mat3 a, Vec3 second, double moment[3], Mat3 *axes) {
  double j[3];
  Vec3 x = unit(a.c[0]), y = unit(add_scaled(a.c[1], -dot(x, a.c[1]), x));
  Mat3 v, frame = mat3(x, y, cross(x, y));
  eigen3(mat3_tmul(frame, mat3_mul(second_world(a, second), frame)), j, &v);
  v = mat3_mul(frame, v);
  *axes = mat3(v.c[2], v.c[1], v.c[0]);
  if (mat3_det(*axes) < 0.0) axes->c[0] = neg(axes->c[0]);
  moment[0] = j[0] + j[1];
  moment[1] = j[0] + j[2];
  moment[2] = j[1] + j[2];
}

KERNEL Vec3 spin_along_axes(const double moment[3], Mat3 axes, Vec3 l) {
  Vec3 w = vec3(0, 0, 0);
  for (int k = 0; k < 3; k++) w = add_scaled(w, dot(axes.c[k], l) / moment[k], axes.c[k]);
  return w;
}

/* w = I^-1 l; zero for a body without extent. */
KERNEL Vec3 spin_from_momentum(Mat3 a, Vec3 second, Vec3 l) {
  double moment[3];
  Mat3 axes;
  if (!(max_component(second) > 0.0)) return vec3(0, 0, 0);
  inertia_axes(a, second, moment, &axes);
  return spin_along_axes(moment, axes, l);
}

/* Turn the axes about axis k. */
KERNEL void axes_turn(Mat3 *axes, int k, double angle) {
  double c = cos(angle), s = sin(angle);
  int i = k == 2 ? 0 : k + 1, j = k == 0 ? 2 : k - 1;
  Vec3 p = axes->c[i], q = axes->c[j];
  axes->c[i] = add_scaled(scale(c, p), s, q);
  axes->c[j] = add_scaled(scale(c, q), -s, p);
}

/* One composition over time h: five symmetric steps of sizes p, p, 1 - 4p, p, p, neighbouring half turns merged. */
KERNEL void axes_fly(Mat3 *axes, Vec3 l, double thin, double thick, double h) {
  const double p = 0.41449077179437573714, q = 1.0 - 4.0 * p;
  const double half[6] = {0.5 * p, p, 0.5 * (p + q), 0.5 * (p + q), p, 0.5 * p}, whole[5] = {p, p, q, p, p};
  for (int i = 0; i < 6; i++) {
    axes_turn(axes, 0, half[i] * h * thin * dot(axes->c[0], l));
    if (i < 5) axes_turn(axes, 2, whole[i] * h * thick * dot(axes->c[2], l));
  }
}

/* The pose after torque-free flight from pose a with angular momentum l for time dt. */
KERNEL Mat3 rigid_flight(Mat3 a, Vec3 second, Vec3 l, double dt) {
  double moment[3];
  Mat3 start, axes;
  if (!(max_component(second) > 0.0) || norm_sq(l) == 0.0) return a;
  inertia_axes(a, second, moment, &start);
  double thin = 1.0 / moment[0] - 1.0 / moment[1], thick = 1.0 / moment[2] - 1.0 / moment[1];
  double turn = fabs(dt) * (norm(spin_along_axes(moment, start, l)) + norm(l) * sqrt(fabs(thin * thick)));
  int count = turn < RIGID_TURN * RIGID_COMPOSITIONS ? 1 + (int)(turn / RIGID_TURN) : RIGID_COMPOSITIONS;
  axes = start;
  for (int i = 0; i < count; i++) axes_fly(&axes, l, thin, thick, dt / count);
  return mat3_mul(mat3_exp(scale(dt / moment[1], l)), mat3_mul(axes, mat3_tmul(start, a)));
}

/* ---- The metric in which joints are closed: inertia, and a resistance c to strain, so that corrections are nearly
 * rigid. energy = 1/2 m |d_0|^2 + 1/2 sum s_k |d_k|^2 + c/4 |A^T D + D^T A|^2, D = (d_1, d_2, d_3). ---- */

KERNEL Affine rigid_metric_times(double mass, Vec3 second, double c, Mat3 a, const Affine *d) {
  Affine f;
  Mat3 product = mat3_tmul(a, affine_linear(d)), strain = mat3_add(product, mat3_transpose(product));
  f.n[0] = scale(mass, d->n[0]);
  for (int k = 0; k < 3; k++)
    f.n[k + 1] = add_scaled(scale(component(second, k), d->n[k + 1]), c, mat3_mul_vec(a, strain.c[k]));
  return f;
}

/* The same as a column-major 12x12 matrix: between d_k and d_l it has the block c a_l a_k^T, and s_k + c A A^T if k =
 * l. */
KERNEL void rigid_metric(double mass, Vec3 second, double c, Mat3 a, double h[144]) {
  Mat3 square = mat3_mul(a, mat3_transpose(a));
  for (int i = 0; i < 144; i++) h[i] = 0.0;
  for (int i = 0; i < 3; i++) h[13 * i] = mass;
  for (int l = 0; l < 3; l++)
    for (int k = 0; k < 3; k++)
      for (int j = 0; j < 3; j++) {
        Vec3 column = scale(c * component(a.c[k], j), a.c[l]);
        if (k == l) column = add_scaled(column, c, square.c[j]);
        double *out = &h[12 * (3 * l + 3 + j) + 3 * k + 3];
        out[0] = column.x, out[1] = column.y, out[2] = column.z;
        if (k == l) out[j] += component(second, k);
      }
}

#endif
