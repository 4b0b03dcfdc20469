/* Energy density psi(F) [J/m3] of the materials of soft solids, its gradient P = dpsi/dF and Hessian, F the deformation
 * and mu, lambda Lame's moduli [Pa]. C = F^T F - I, J = det F, s the stretches of F:
 *   0 neo-Hookean         mu/2 tr C - mu ln J + lambda/2 ln^2 J;   infinite for J <= 0
 *   1 stable neo-Hookean  m/2 tr C - m/2 ln(1 + tr C / 4) - 3/4 m (J - 1) + l/2 (J - 1)^2,   m = 4/3 mu, l = lambda + 5/6 mu
 *                         (Smith, de Goes, Kim 2018, less its value at rest); finite for every F
 *   2 fixed corotated     mu sum (s_i - 1)^2 + lambda/2 (J - 1)^2;   finite for every F
 * All are mu |e|^2 + lambda/2 (tr e)^2 for small strains e, and zero at rest. Differences that are small near
 * rest are computed from C, without cancellation. Tested in tests/test_material.c. */
#ifndef ABD_KERNEL_MATERIAL_H
#define ABD_KERNEL_MATERIAL_H

#include "kernel/isotropic.h"

enum { MATERIAL_NEO_HOOKEAN = 0, MATERIAL_STABLE_NEO_HOOKEAN = 1, MATERIAL_FIXED_COROTATED = 2, MATERIAL_COUNT = 3 };

/* Lame's moduli from Young's modulus and Poisson's ratio. */
KERNEL double lame_mu(double young, double poisson) { return young / (2.0 * (1.0 + poisson)); }
KERNEL double lame_lambda(double young, double poisson) {
  return young * poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson));
}

/* The constants of the stable neo-Hookean energy that has mu and lambda at small strain. */
KERNEL double stable_mu(double mu) { return 4.0 / 3.0 * mu; }
KERNEL double stable_lambda(double mu, double lambda) { return lambda + 5.0 / 6.0 * mu; }

KERNEL double material_energy(int material, double mu, double lambda, Mat3 f) {
  Mat3 c = elastic_strain(f);
  double trace = mat3_trace(c);
  if (material == MATERIAL_NEO_HOOKEAN) {
    if (!(mat3_det(f) > 0.0)) return INFINITY;
    double log_j = elastic_log_volume(f, c);
    return mu * (0.5 * trace - log_j) + 0.5 * lambda * log_j * log_j;
  }
  double growth = elastic_growth(f, c);
  if (material == MATERIAL_STABLE_NEO_HOOKEAN) {
    double m = stable_mu(mu), l = stable_lambda(mu, lambda);
    return 0.5 * m * (trace - log1p(0.25 * trace)) - 0.75 * m * growth + 0.5 * l * growth * growth;
  }
  double s[3], sum = 0.0;
  Mat3 u, v;
  elastic_svd(f, &u, s, &v);
  for (int i = 0; i < 3; i++) sum += (s[i] - 1.0) * (s[i] - 1.0);
  return mu * sum + 0.5 * lambda * growth * growth;
}

/* P, the first Piola-Kirchhoff stress. */
KERNEL Mat3 material_gradient(int material, double mu, double lambda, Mat3 f) {
  Mat3 c = elastic_strain(f), cofactor = mat3_cofactor(f);
  if (material == MATERIAL_NEO_HOOKEAN) {
    double p = lambda * elastic_log_volume(f, c) - mu;
    return mat3_add(mat3_scale(mu, f), mat3_scale(p / mat3_det(f), cofactor));
  }
  double growth = elastic_growth(f, c);
  if (material == MATERIAL_STABLE_NEO_HOOKEAN) {
    double m = stable_mu(mu), p = stable_lambda(mu, lambda) * growth - 0.75 * m;
    return mat3_add(mat3_scale(m * (1.0 - 1.0 / (mat3_trace(c) + 4.0)), f), mat3_scale(p, cofactor));
  }
  double s[3];
  Mat3 u, v;
  elastic_svd(f, &u, s, &v);
  Mat3 turned = mat3_sub(f, mat3_mul(u, mat3_transpose(v)));
  return mat3_add(mat3_scale(2.0 * mu, turned), mat3_scale(lambda * growth, cofactor));
}

KERNEL ElasticModes material_modes_neo_hookean(double mu, double lambda, double log_j, const double s[3]) {
  ElasticModes e;
  double d[3][3];
  for (int k = 0; k < 3; k++) {
    int i = (k + 1) % 3, j = (k + 2) % 3;
    double p = (mu - lambda * log_j) / (s[i] * s[j]);
    e.shear[k] = mu + p;
    e.twist[k] = mu - p;
    d[k][k] = mu + (mu + lambda * (1.0 - log_j)) / (s[k] * s[k]);
    d[i][j] = d[j][i] = lambda / (s[i] * s[j]);
  }
  e.stretch = mat3(vec3_from(d[0]), vec3_from(d[1]), vec3_from(d[2]));
  return e;
}

/* Of an energy g(s) + w(J): p = w'(J), l = w''(J). first: dg/ds_i over s_i if that is the same for all three; coupling:
 * the coefficient that couples the stretches in g. */
KERNEL ElasticModes material_modes_volume(double first, double coupling, double p, double l, const double s[3]) {
  ElasticModes e;
  double d[3][3];
  for (int k = 0; k < 3; k++) {
    int i = (k + 1) % 3, j = (k + 2) % 3;
    e.shear[k] = first - p * s[k];
    e.twist[k] = first + p * s[k];
    d[k][k] = first + coupling * s[k] * s[k] + l * (s[i] * s[j]) * (s[i] * s[j]);
    d[i][j] = d[j][i] = coupling * s[i] * s[j] + l * (s[j] * s[k]) * (s[i] * s[k]) + p * s[k];
  }
  e.stretch = mat3(vec3_from(d[0]), vec3_from(d[1]), vec3_from(d[2]));
  return e;
}

KERNEL ElasticModes material_modes(int material, double mu, double lambda, Mat3 f, const double s[3]) {
  Mat3 c = elastic_strain(f);
  if (material == MATERIAL_NEO_HOOKEAN) return material_modes_neo_hookean(mu, lambda, elastic_log_volume(f, c), s);
  double growth = elastic_growth(f, c);
  if (material == MATERIAL_STABLE_NEO_HOOKEAN) {
    double m = stable_mu(mu), l = stable_lambda(mu, lambda), inverse = 1.0 / (mat3_trace(c) + 4.0);
    return material_modes_volume(m * (1.0 - inverse), 2.0 * m * inverse * inverse, l * growth - 0.75 * m, l, s);
  }
  ElasticModes e = material_modes_volume(2.0 * mu, 0.0, lambda * growth, lambda, s);
  for (int k = 0; k < 3; k++) { /* the rotation follows a twist */
    double sum = s[(k + 1) % 3] + s[(k + 2) % 3];
    e.twist[k] -= 4.0 * mu / (fabs(sum) > 1e-12 ? sum : 1e-12);
  }
  return e;
}

/* F = U diag V^T, and the modes of the exact Hessian or of the nearest positive semidefinite one. */
KERNEL ElasticModes material_decompose(int material, double mu, double lambda, Mat3 f, bool project, Mat3 *u, Mat3 *v) {
  double s[3];
  elastic_svd(f, u, s, v);
  ElasticModes e = material_modes(material, mu, lambda, f, s);
  return project ? elastic_modes_positive(e) : e;
}

/* h[9 c + r], indices 3 column + row of F. */
KERNEL void material_hessian(int material, double mu, double lambda, Mat3 f, bool project, double h[81]) {
  Mat3 u, v;
  ElasticModes e = material_decompose(material, mu, lambda, f, project, &u, &v);
  elastic_modes_hessian(&e, u, v, h);
}

#endif
