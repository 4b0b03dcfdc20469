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
  Mat3 strain = mat3_sub(f, elastic_rotation(f)); /* R (S - I) */
  return mu * mat3_dot(strain, strain) + 0.5 * lambda * growth * growth;
}

/* Slopes of psi = g(|F|^2) + w(J), without the term -2 mu sum s_i of fixed corotated: dg/dF = first F, d2g has also
 * coupling F F^T, p = w'(J), l = w''(J). */
typedef struct MaterialSlopes {
  double first, coupling, p, l;
} MaterialSlopes;

KERNEL MaterialSlopes material_slopes(int material, double mu, double lambda, Mat3 f) {
  Mat3 c = elastic_strain(f);
  if (material == MATERIAL_NEO_HOOKEAN) {
    double j = mat3_det(f), log_j = elastic_log_volume(f, c);
    MaterialSlopes slopes = {mu, 0.0, (lambda * log_j - mu) / j, (mu + lambda * (1.0 - log_j)) / (j * j)};
    return slopes;
  }
  double growth = elastic_growth(f, c);
  if (material == MATERIAL_STABLE_NEO_HOOKEAN) {
    double m = stable_mu(mu), l = stable_lambda(mu, lambda), inverse = 1.0 / (mat3_trace(c) + 4.0);
    MaterialSlopes slopes = {m * (1.0 - inverse), 2.0 * m * inverse * inverse, l * growth - 0.75 * m, l};
    return slopes;
  }
  MaterialSlopes slopes = {2.0 * mu, 0.0, lambda * growth, lambda};
  return slopes;
}

/* ---- The stress and the exact Hessian ---- */

/* d2psi of F = ... + x b^T + y c^T + ... is the 3x3 matrix
 *   first (b.c) I + coupling Fb Fc^T + l Kb Kc^T + p [F (c x b)]x,     K the cofactor matrix of F,
 * and of fixed corotated also [Rb]x T [Rc]x, T = 2 mu R (tr S I - S)^-1 R^T, F = R S: a rotation that turns by w takes
 * (tr S I - S) w = the skew part of R^T dF. */
typedef struct MaterialPoint {
  MaterialSlopes slopes;
  Mat3 f, cofactor;
  bool turns; /* of fixed corotated */
  Mat3 rotation, turning;
} MaterialPoint;

/* All but `turning`. */
KERNEL MaterialPoint material_at(int material, double mu, double lambda, Mat3 f) {
  bool turns = material == MATERIAL_FIXED_COROTATED;
  MaterialPoint at = {material_slopes(material, mu, lambda, f), f, mat3_cofactor(f), turns, mat3_zero(), mat3_zero()};
  if (turns) at.rotation = elastic_rotation(f);
  return at;
}

/* P, the first Piola-Kirchhoff stress. */
KERNEL Mat3 material_stress(const MaterialPoint *at, double mu) {
  Mat3 p = mat3_add(mat3_scale(at->slopes.first, at->f), mat3_scale(at->slopes.p, at->cofactor));
  return at->turns ? mat3_sub(p, mat3_scale(2.0 * mu, at->rotation)) : p;
}

KERNEL Mat3 material_gradient(int material, double mu, double lambda, Mat3 f) {
  MaterialPoint at = material_at(material, mu, lambda, f);
  return material_stress(&at, mu);
}

/* False if F is that of fixed corotated and nearly flat or inverted: its modes have the Hessian. */
KERNEL bool material_turning(double mu, MaterialPoint *at) {
  if (!at->turns) return true;
  if (!elastic_is_solid(at->f)) return false;
  Mat3 stretch = mat3_mul(at->f, mat3_transpose(at->rotation)); /* R S R^T */
  Mat3 sums = mat3_sub(mat3_scale(mat3_trace(stretch), mat3_identity()), stretch);
  at->turning = mat3_scale(2.0 * mu / mat3_det(sums), mat3_cofactor(sums));
  return true;
}

/* What a node of gradient b has in all of its blocks. */
typedef struct MaterialNode {
  Vec3 b, moved, face, turned; /* b, F b, K b, R b */
} MaterialNode;

KERNEL MaterialNode material_node(const MaterialPoint *at, Vec3 b) {
  MaterialNode n = {b, mat3_mul_vec(at->f, b), mat3_mul_vec(at->cofactor, b), vec3(0, 0, 0)};
  if (at->turns) n.turned = mat3_mul_vec(at->rotation, b);
  return n;
}

/* Of two nodes: rows of b, columns of c. */
KERNEL Mat3 material_block(const MaterialPoint *at, const MaterialNode *b, const MaterialNode *c) {
  const MaterialSlopes *e = &at->slopes;
  Mat3 h = mat3_skew(scale(e->p, mat3_mul_vec(at->f, cross(c->b, b->b))));
  h = mat3_add(h, mat3_scale(e->l, mat3_outer(b->face, c->face)));
  h = mat3_add(h, mat3_scale(e->coupling, mat3_outer(b->moved, c->moved)));
  h = mat3_add(h, mat3_scale(e->first * dot(b->b, c->b), mat3_identity()));
  if (!at->turns) return h;
  return mat3_add(h, mat3_mul(mat3_skew(b->turned), mat3_mul(at->turning, mat3_skew(c->turned))));
}

/* ---- The nearest positive semidefinite Hessian ---- */

KERNEL ElasticModes material_modes(int material, double mu, MaterialSlopes slopes, const double s[3]) {
  ElasticModes e;
  double d[3][3];
  for (int k = 0; k < 3; k++) {
    int i = (k + 1) % 3, j = (k + 2) % 3;
    e.shear[k] = slopes.first - slopes.p * s[k];
    e.twist[k] = slopes.first + slopes.p * s[k];
    d[k][k] = slopes.first + slopes.coupling * s[k] * s[k] + slopes.l * (s[i] * s[j]) * (s[i] * s[j]);
    d[i][j] = d[j][i] = slopes.coupling * s[i] * s[j] + slopes.l * (s[j] * s[k]) * (s[i] * s[k]) + slopes.p * s[k];
  }
  e.stretch = mat3(vec3_from(d[0]), vec3_from(d[1]), vec3_from(d[2]));
  for (int k = 0; k < 3 && material == MATERIAL_FIXED_COROTATED; k++) { /* the rotation follows a twist */
    double sum = s[(k + 1) % 3] + s[(k + 2) % 3];
    e.twist[k] -= 4.0 * mu / (fabs(sum) > 1e-12 ? sum : 1e-12);
  }
  return e;
}

/* F = U diag V^T, and the modes of the exact Hessian or of the nearest positive semidefinite one. */
KERNEL ElasticModes material_decompose(int material, double mu, MaterialSlopes slopes, Mat3 f, bool project, Mat3 *u,
                                       Mat3 *v) {
  double s[3];
  elastic_svd(f, u, s, v);
  ElasticModes e = material_modes(material, mu, slopes, s);
  return project ? elastic_modes_positive(e) : e;
}

/* h[9 c + r], indices 3 column + row of F. */
KERNEL void material_hessian(int material, double mu, double lambda, Mat3 f, bool project, double h[81]) {
  Mat3 u, v;
  ElasticModes e = material_decompose(material, mu, material_slopes(material, mu, lambda, f), f, project, &u, &v);
  elastic_modes_hessian(&e, u, v, h);
}

#endif
