/* Energy density of a body's linear map A, its gradient and Hessian with respect to the columns of A: the stiffness that
 * keeps an affine body all but rigid. Multiply by the volume. The models agree at small strain, Young's modulus 8 kappa:
 *   0 ortho        kappa |C|^2, C = A^T A - I                (Poisson's ratio 0)
 *   1 ARAP         4 kappa |A - R|^2, R the rotation of A    (Poisson's ratio 0)
 *   2 neo-Hookean  mu/2 (|A|^2 - 3) - mu ln J + lambda/2 ln^2 J, J = det A, Poisson's ratio 0.3; infinite for J <= 0
 * Energies are written in C, or in stretches less one, so that they keep digits near rest. The Hessian of an isotropic
 * energy has closed eigenvectors: with A = U diag(s) V^T the stretches u_i v_i^T couple among themselves, and each pair
 * i < j gives a shear (u_i v_j^T + u_j v_i^T)/sqrt2 and a twist (u_i v_j^T - u_j v_i^T)/sqrt2. Tested in
 * tests/test_elasticity.c. */
#ifndef ABD_KERNEL_ELASTICITY_H
#define ABD_KERNEL_ELASTICITY_H

#include "math/eigen.h"

#define ELASTIC_POISSON 0.3

KERNEL double elastic_mu(double kappa) { return 8.0 * kappa / (2.0 * (1.0 + ELASTIC_POISSON)); }
KERNEL double elastic_lambda(double kappa) {
  return 8.0 * kappa * ELASTIC_POISSON / ((1.0 + ELASTIC_POISSON) * (1.0 - 2.0 * ELASTIC_POISSON));
}

KERNEL Mat3 elastic_strain(Mat3 a) { return mat3_sub(mat3_tmul(a, a), mat3_identity()); } /* C = A^T A - I */

/* ln J, J > 0, from det(I + C) - 1 summed without the 1. */
KERNEL double elastic_log_volume(Mat3 c) {
  double trace = c.c[0].x + c.c[1].y + c.c[2].z;
  return 0.5 * log1p(trace + 0.5 * (trace * trace - mat3_dot(c, c)) + mat3_det(c));
}

/* A unit vector across unit a. */
KERNEL Vec3 vec3_across(Vec3 a) {
  Vec3 e = fabs(a.x) < 0.6 ? vec3(1, 0, 0) : vec3(0, 1, 0);
  return unit(cross(a, e));
}

/* A = U diag(s) V^T with rotations U and V: s ascending in size, s[0] negative where A turns space inside out. */
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

KERNEL double elastic_energy(int model, double kappa, Mat3 a) {
  if (model == 1) {
    double s[3], sum = 0.0;
    Mat3 u, v;
    elastic_svd(a, &u, s, &v);
    for (int i = 0; i < 3; i++) sum += (s[i] - 1.0) * (s[i] - 1.0);
    return 4.0 * kappa * sum;
  }
  Mat3 c = elastic_strain(a);
  if (model == 0) return kappa * mat3_dot(c, c);
  if (!(mat3_det(a) > 0.0)) return INFINITY;
  double log_j = elastic_log_volume(c), trace = c.c[0].x + c.c[1].y + c.c[2].z;
  return elastic_mu(kappa) * (0.5 * trace - log_j) + 0.5 * elastic_lambda(kappa) * log_j * log_j;
}

KERNEL Mat3 elastic_gradient(int model, double kappa, Mat3 a) {
  if (model == 1) {
    double s[3];
    Mat3 u, v;
    elastic_svd(a, &u, s, &v);
    return mat3_scale(8.0 * kappa, mat3_sub(a, mat3_mul(u, mat3_transpose(v))));
  }
  Mat3 c = elastic_strain(a);
  if (model == 0) return mat3_scale(4.0 * kappa, mat3_mul(a, c));
  double mu = elastic_mu(kappa), p = elastic_lambda(kappa) * elastic_log_volume(c) - mu;
  return mat3_add(mat3_scale(mu, a), mat3_scale(p / mat3_det(a), mat3_cofactor(a)));
}

/* The positive eigenvalue of a matrix whose other two are negative: Newton's method on the characteristic polynomial
 * falls to it from a bound above. */
KERNEL double elastic_lone_eigenvalue(Mat3 d) {
  double trace = d.c[0].x + d.c[1].y + d.c[2].z, size = mat3_dot(d, d), minors = 0.5 * (trace * trace - size), det = mat3_det(d);
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
  d.c[0].x -= x; d.c[1].y -= x; d.c[2].z -= x;
  Vec3 a = cross(d.c[0], d.c[1]), b = cross(d.c[1], d.c[2]), c = cross(d.c[2], d.c[0]);
  a = norm_sq(b) > norm_sq(a) ? b : a;
  a = norm_sq(c) > norm_sq(a) ? c : a;
  return unit(a);
}

/* C+, the positive part: C itself or zero where the leading minors say that C is definite. Otherwise one eigenvalue stands
 * alone in its sign (that of the determinant), and only its vector is needed. */
KERNEL Mat3 elastic_positive_part(Mat3 c) {
  double p = c.c[0].x, q = p * c.c[1].y - c.c[0].y * c.c[0].y, r = mat3_det(c), size = mat3_dot(c, c);
  if (p > 0.0 && q > 0.0 && r > 0.0) return c;
  if (p < 0.0 && q > 0.0 && r < 0.0) return mat3_zero();
  if (!(r * r > 1e-16 * size * size * size)) return mat3_positive_part(c); /* the sign of r is not to be trusted */
  Mat3 d = r > 0.0 ? c : mat3_scale(-1.0, c);
  Vec3 v = elastic_lone_vector(d, elastic_lone_eigenvalue(d));
  Mat3 lone = mat3_scale(dot(v, mat3_mul_vec(d, v)), mat3_outer(v, v));
  return r > 0.0 ? lone : mat3_add(c, lone);
}

/* Block (k, l) = 4 kappa (c_l c_k^T + delta_kl A A^T + C_kl I): the first two are the Gauss-Newton part, positive
 * semidefinite always; the last is made so by taking C+ for C. */
KERNEL void elastic_hessian_ortho(double kappa, Mat3 a, bool project, double h[81]) {
  Mat3 c = elastic_strain(a), at = mat3_transpose(a), aat = mat3_mul(a, at);
  if (project) c = elastic_positive_part(c);
  for (int k = 0; k < 3; k++)
    for (int l = 0; l < 3; l++) {
      double ckl = component(c.c[l], k);
      for (int j = 0; j < 3; j++) {
        Vec3 column = scale(component(a.c[k], j), a.c[l]);
        if (k == l) column = add(column, aat.c[j]);
        double *out = h + 9 * (3 * l + j) + 3 * k;
        vec3_to(out, scale(4.0 * kappa, column));
        out[j] += 4.0 * kappa * ckl;
      }
    }
}

/* Eigenvalues of the shears and twists, and the 3x3 matrix of the stretches; pair k is the one without index k. */
typedef struct ElasticModes { double shear[3], twist[3]; Mat3 stretch; } ElasticModes;

KERNEL ElasticModes elastic_modes(int model, double kappa, Mat3 a, const double s[3]) {
  ElasticModes e;
  double mu = elastic_mu(kappa), lambda = elastic_lambda(kappa), log_j = model == 2 ? elastic_log_volume(elastic_strain(a)) : 0.0;
  double d[3][3];
  for (int k = 0; k < 3; k++) {
    int i = (k + 1) % 3, j = (k + 2) % 3;
    if (model == 1) {
      double sum = s[i] + s[j];
      e.shear[k] = 8.0 * kappa;
      e.twist[k] = 8.0 * kappa * (1.0 - 2.0 / (fabs(sum) > 1e-12 ? sum : 1e-12));
      d[k][k] = 8.0 * kappa;
      d[i][j] = d[j][i] = 0.0;
    } else {
      double p = (mu - lambda * log_j) / (s[i] * s[j]);
      e.shear[k] = mu + p;
      e.twist[k] = mu - p;
      d[k][k] = mu + (mu + lambda * (1.0 - log_j)) / (s[k] * s[k]);
      d[i][j] = d[j][i] = lambda / (s[i] * s[j]);
    }
  }
  e.stretch = mat3(vec3_from(d[0]), vec3_from(d[1]), vec3_from(d[2]));
  return e;
}

KERNEL void elastic_add_outer(double h[81], double k, Mat3 p, Mat3 q) { /* h += k vec(p) vec(q)^T */
  for (int c = 0; c < 9; c++) {
    double w = k * component(q.c[c / 3], c % 3);
    for (int r = 0; r < 9; r++) h[9 * c + r] += w * component(p.c[r / 3], r % 3);
  }
}

KERNEL void elastic_hessian_modes(int model, double kappa, Mat3 a, bool project, double h[81]) {
  double s[3];
  Mat3 u, v;
  elastic_svd(a, &u, s, &v);
  ElasticModes e = elastic_modes(model, kappa, a, s);
  if (project) e.stretch = elastic_positive_part(e.stretch);
  for (int i = 0; i < 81; i++) h[i] = 0.0;
  for (int k = 0; k < 3; k++) {
    int i = (k + 1) % 3, j = (k + 2) % 3;
    Mat3 ij = mat3_outer(u.c[i], v.c[j]), ji = mat3_outer(u.c[j], v.c[i]);
    Mat3 shear = mat3_add(ij, ji), twist = mat3_sub(ij, ji);
    if (!project || e.shear[k] > 0.0) elastic_add_outer(h, 0.5 * e.shear[k], shear, shear);
    if (!project || e.twist[k] > 0.0) elastic_add_outer(h, 0.5 * e.twist[k], twist, twist);
    for (int l = 0; l < 3; l++) {
      double d = component(e.stretch.c[l], k);
      if (d != 0.0) elastic_add_outer(h, d, mat3_outer(u.c[k], v.c[k]), mat3_outer(u.c[l], v.c[l]));
    }
  }
}

/* h[9 c + r], indices 3 column + row of A. project: the nearest, or a close, positive semidefinite matrix. */
KERNEL void elastic_hessian(int model, double kappa, Mat3 a, bool project, double h[81]) {
  if (model == 0) elastic_hessian_ortho(kappa, a, project, h);
  else elastic_hessian_modes(model, kappa, a, project, h);
}

#endif
