/* The Hessian of an isotropic energy psi(F). With F = U diag(s) V^T it has closed eigenvectors: the stretches
 * u_i v_i^T couple among themselves in the 3x3 matrix d2psi/ds_i ds_j, and each pair i < j gives
 *   a shear (u_i v_j^T + u_j v_i^T)/sqrt2 of eigenvalue (psi_i - psi_j)/(s_i - s_j),
 *   a twist (u_i v_j^T - u_j v_i^T)/sqrt2 of eigenvalue (psi_i + psi_j)/(s_i + s_j),     psi_i = dpsi/ds_i.
 * So a positive semidefinite Hessian costs at most one 3x3 eigenproblem. Tested in
 * tests/test_elasticity.c and tests/test_material.c. */
#ifndef ABD_KERNEL_ISOTROPIC_H
#define ABD_KERNEL_ISOTROPIC_H

#include "math/eigen.h"

/* C = A^T A - I, and |C|^2. */
KERNEL Mat3 elastic_strain(Mat3 a) { return mat3_sub(mat3_tmul(a, a), mat3_identity()); }
KERNEL double elastic_strain_square(Mat3 a) {
  Mat3 c = elastic_strain(a);
  return mat3_dot(c, c);
}

KERNEL double mat3_trace(Mat3 c) { return c.c[0].x + c.c[1].y + c.c[2].z; }

/* J^2 - 1 = det(I + C) - 1, expanded so that the 1 cancels exactly. */
KERNEL double elastic_square_growth(Mat3 c) {
  double trace = mat3_trace(c);
  return trace + 0.5 * (trace * trace - mat3_dot(c, c)) + mat3_det(c);
}

/* ln J, J > 0: near rest from C, which is accurate for small strains; else from J itself, which is accurate for small
 * volumes. */
KERNEL double elastic_log_volume(Mat3 a, Mat3 c) {
  return mat3_dot(c, c) < 0.25 ? 0.5 * log1p(elastic_square_growth(c)) : log(mat3_det(a));
}

/* J - 1, of either sign of J. */
KERNEL double elastic_growth(Mat3 a, Mat3 c) {
  double j = mat3_det(a);
  return j > 0.5 && mat3_dot(c, c) < 0.25 ? elastic_square_growth(c) / (j + 1.0) : j - 1.0;
}

/* A unit vector at right angles to unit a. */
KERNEL Vec3 vec3_across(Vec3 a) {
  Vec3 e = fabs(a.x) < 0.6 ? vec3(1, 0, 0) : vec3(0, 1, 0);
  return unit(cross(a, e));
}

/* A = U diag(s) V^T with rotations U and V: s ascending in size, s[0] negative if A inverts space. */
KERNEL void elastic_svd(Mat3 a, Mat3 *u, double s[3], Mat3 *v) {
  double w[3];
  eigen3(mat3_tmul(a, a), w, v);
  if (mat3_det(*v) < 0.0) v->c[0] = neg(v->c[0]);
  Vec3 y = mat3_mul_vec(a, v->c[2]), z = mat3_mul_vec(a, v->c[1]);
  double y_norm = norm(y);
  y = y_norm > 0.0 ? scale(1.0 / y_norm, y) : vec3(0, 0, 1);
  z = add_scaled(z, -dot(y, z), y);
  double z_norm = norm(z);
  z = z_norm > 1e-15 * y_norm && z_norm > 0.0 ? scale(1.0 / z_norm, z) : vec3_across(y);
  *u = mat3(cross(z, y), z, y);
  for (int i = 0; i < 3; i++) s[i] = dot(u->c[i], mat3_mul_vec(a, v->c[i]));
}

/* Neither nearly flat nor inverted: three similar stretches make the ratio 0.19. */
KERNEL bool elastic_is_solid(Mat3 f) {
  double square = mat3_dot(f, f);
  return mat3_det(f) > 1e-3 * square * sqrt(square);
}

/* The rotation R of F = R S, S symmetric; if F inverts space, the stretch of least size is negative. */
KERNEL Mat3 elastic_rotation(Mat3 f) {
  if (elastic_is_solid(f)) return mat3_polar(f);
  double s[3];
  Mat3 u, v;
  elastic_svd(f, &u, s, &v);
  return mat3_mul(u, mat3_transpose(v));
}

/* The positive eigenvalue of a matrix whose other two are negative, by Newton's method on the characteristic polynomial
 * from an upper bound. */
KERNEL double elastic_lone_eigenvalue(Mat3 d) {
  double trace = d.c[0].x + d.c[1].y + d.c[2].z, size = mat3_dot(d, d), minors = 0.5 * (trace * trace - size),
         det = mat3_det(d);
  double spread = (size - trace * trace / 3.0) / 6.0, x = trace / 3.0 + 2.0 * sqrt(spread > 0.0 ? spread : 0.0);
  for (int i = 0; i < 60; i++) {
    double f = ((x - trace) * x + minors) * x - det, slope = (3.0 * x - 2.0 * trace) * x + minors;
    double next = slope > 0.0 ? x - f / slope : x;
    if (!(next < x) || next <= 0.0) break;
    x = next;
  }
  return x;
}

/* A unit vector that d - x I takes to nearly zero: the longest cross product of its columns. */
KERNEL Vec3 elastic_lone_vector(Mat3 d, double x) {
  d.c[0].x -= x;
  d.c[1].y -= x;
  d.c[2].z -= x;
  Vec3 a = cross(d.c[0], d.c[1]), b = cross(d.c[1], d.c[2]), c = cross(d.c[2], d.c[0]);
  a = norm_sq(b) > norm_sq(a) ? b : a;
  a = norm_sq(c) > norm_sq(a) ? c : a;
  return unit(a);
}

/* C+, the positive part: C itself or zero if the leading minors show that C is definite. Otherwise one eigenvalue has a
 * sign of its own (that of the determinant), and only its vector is needed. */
KERNEL Mat3 elastic_positive_part(Mat3 c) {
  double p = c.c[0].x, q = p * c.c[1].y - c.c[0].y * c.c[0].y, r = mat3_det(c), size = mat3_dot(c, c);
  if (p > 0.0 && q > 0.0 && r > 0.0) return c;
  if (p < 0.0 && q > 0.0 && r < 0.0) return mat3_zero();
  if (!(r * r > 1e-16 * size * size * size)) return mat3_positive_part(c); /* the sign of r is not reliable */
  Mat3 d = r > 0.0 ? c : mat3_scale(-1.0, c);
  Vec3 v = elastic_lone_vector(d, elastic_lone_eigenvalue(d));
  Mat3 lone = mat3_scale(dot(v, mat3_mul_vec(d, v)), mat3_outer(v, v));
  return r > 0.0 ? lone : mat3_add(c, lone);
}

/* Eigenvalues of the shears and twists, and the 3x3 matrix of the stretches; pair k is the one without index k. */
typedef struct ElasticModes {
  double shear[3], twist[3];
  Mat3 stretch;
} ElasticModes;

/* Omits negative eigenvalues: the nearest positive semidefinite Hessian. */
KERNEL ElasticModes elastic_modes_positive(ElasticModes e) {
  e.stretch = elastic_positive_part(e.stretch);
  for (int k = 0; k < 3; k++) {
    e.shear[k] = most(e.shear[k], 0.0);
    e.twist[k] = most(e.twist[k], 0.0);
  }
  return e;
}

/* The 3x3 block d2psi/dx dy of F = ... + x b^T + y c^T + ..., given V^T b and V^T c. In the axes of U and V only S_ab
 * (stretches), the mean of shear and twist (the same entry of F twice) and half their difference (an entry and its
 * mirror image) are not zero. */
KERNEL Mat3 elastic_modes_block(const ElasticModes *e, Mat3 u, Vec3 b, Vec3 c) {
  double bs[3] = {b.x, b.y, b.z}, cs[3] = {c.x, c.y, c.z}, t[3][3]; /* t[column][row] */
  for (int k = 0; k < 3; k++) t[k][k] = component(e->stretch.c[k], k) * bs[k] * cs[k];
  for (int k = 0; k < 3; k++) {
    int i = (k + 1) % 3, j = (k + 2) % 3;
    double same = 0.5 * (e->shear[k] + e->twist[k]), mirror = 0.5 * (e->shear[k] - e->twist[k]);
    double s = component(e->stretch.c[i], j);
    t[i][i] += same * bs[j] * cs[j];
    t[j][j] += same * bs[i] * cs[i];
    t[j][i] = s * bs[i] * cs[j] + mirror * bs[j] * cs[i];
    t[i][j] = s * bs[j] * cs[i] + mirror * bs[i] * cs[j];
  }
  Mat3 turned = mat3_mul(u, mat3(vec3_from(t[0]), vec3_from(t[1]), vec3_from(t[2])));
  return mat3_mul(turned, mat3_transpose(u));
}

/* h[9 c + r], indices 3 column + row of F: the blocks of its columns. */
KERNEL void elastic_modes_hessian(const ElasticModes *e, Mat3 u, Mat3 v, double h[81]) {
  Mat3 vt = mat3_transpose(v);
  for (int k = 0; k < 3; k++)
    for (int l = 0; l < 3; l++) {
      Mat3 block = elastic_modes_block(e, u, vt.c[k], vt.c[l]);
      for (int c = 0; c < 3; c++) vec3_to(h + 9 * (3 * l + c) + 3 * k, block.c[c]);
    }
}

#endif
