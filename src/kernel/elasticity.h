/* Energy density of a body's linear map A, its gradient and Hessian with respect to the columns of A. It keeps an
 * affine body nearly rigid. Multiply by the volume. The models agree at small strain, Young's modulus 8 kappa:
 *   0 ortho        kappa |C|^2, C = A^T A - I                (Poisson's ratio 0)
 *   1 ARAP         4 kappa |A - R|^2, R the rotation of A    (Poisson's ratio 0)
 *   2 neo-Hookean  mu/2 (|A|^2 - 3) - mu ln J + lambda/2 ln^2 J, J = det A, Poisson's ratio 0.3; infinite for J <= 0
 * Models 0 and 1 are finite at J = 0: a body that is crushed could come to rest there, flat, or pass through it. A
 * barrier of its volume below ELASTIC_VOLUME, kappa b(J / ELASTIC_VOLUME), keeps J > 0 in all models.
 * Energies are written in C, or in stretches less one, so that they keep digits near rest. The last two are
 * materials of soft parts (material.h): ARAP is fixed corotated without lambda. Tested in tests/test_elasticity.c. */
#ifndef ABD_KERNEL_ELASTICITY_H
#define ABD_KERNEL_ELASTICITY_H

#include "kernel/barrier.h"
#include "kernel/constant.h"
#include "kernel/material.h"

#define ELASTIC_POISSON 0.3

/* The material of models 1 and 2, and its moduli. */
KERNEL int elastic_material(int model) { return model == 1 ? MATERIAL_FIXED_COROTATED : MATERIAL_NEO_HOOKEAN; }
KERNEL double elastic_mu(int model, double kappa) {
  return model == 1 ? 4.0 * kappa : lame_mu(8.0 * kappa, ELASTIC_POISSON);
}
KERNEL double elastic_lambda(int model, double kappa) {
  return model == 1 ? 0.0 : lame_lambda(8.0 * kappa, ELASTIC_POISSON);
}

/* J over the volume at which the barrier begins. */
KERNEL double elastic_volume(Mat3 a) { return mat3_det(a) / ELASTIC_VOLUME; }

KERNEL double elastic_energy(int model, double kappa, Mat3 a) {
  double held = kappa * barrier(elastic_volume(a));
  if (model != 0)
    return held + material_energy(elastic_material(model), elastic_mu(model, kappa), elastic_lambda(model, kappa), a);
  return held + kappa * elastic_strain_square(a);
}

KERNEL Mat3 elastic_gradient(int model, double kappa, Mat3 a) {
  double push = kappa / ELASTIC_VOLUME * barrier_d1(elastic_volume(a));
  Mat3 g = model != 0
               ? material_gradient(elastic_material(model), elastic_mu(model, kappa), elastic_lambda(model, kappa), a)
               : mat3_scale(4.0 * kappa, mat3_mul(a, elastic_strain(a)));
  return push < 0 ? mat3_add(g, mat3_scale(push, mat3_cofactor(a))) : g;
}

/* Adds d2J, whose blocks of columns k, k + 1 are -[a_l]x and their transposes, l the third one. */
KERNEL void elastic_add_turns(double factor, Mat3 a, double h[81]) {
  for (int k = 0; k < 3; k++) {
    int next = (k + 1) % 3;
    Mat3 x = mat3_scale(factor, mat3_skew(a.c[(k + 2) % 3]));
    for (int j = 0; j < 3; j++)
      for (int i = 0; i < 3; i++) {
        h[9 * (3 * next + j) + 3 * k + i] -= component(x.c[j], i);
        h[9 * (3 * k + i) + 3 * next + j] -= component(x.c[j], i);
      }
  }
}

/* Adds the barrier's Hessian; without the part of d2J, which has no sign, if it is to be positive semidefinite. A step
 * that is too long may have an end inside out, where there is none; it is not accepted. */
KERNEL void elastic_add_held(double kappa, Mat3 a, bool project, double h[81]) {
  double y = elastic_volume(a);
  if (!(y > 0.0 && y < 1.0)) return;
  Mat3 cofactor = mat3_cofactor(a);
  const double *g = &cofactor.c[0].x, stiff = kappa / (ELASTIC_VOLUME * ELASTIC_VOLUME) * barrier_d2(y);
  for (int j = 0; j < 9; j++)
    for (int i = 0; i < 9; i++) h[9 * j + i] += stiff * g[i] * g[j];
  if (!project) elastic_add_turns(kappa / ELASTIC_VOLUME * barrier_d1(y), a, h);
}

/* Block (k, l) = 4 kappa (c_l c_k^T + delta_kl A A^T + C_kl I): the first two are the Gauss-Newton part, positive
 * semidefinite always; the last is so with C+ instead of C. */
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

/* h[9 c + r], indices 3 column + row of A. project: the nearest positive semidefinite matrix, or one close to it. */
KERNEL void elastic_hessian(int model, double kappa, Mat3 a, bool project, double h[81]) {
  if (model == 0) elastic_hessian_ortho(kappa, a, project, h);
  else material_hessian(elastic_material(model), elastic_mu(model, kappa), elastic_lambda(model, kappa), a, project, h);
  elastic_add_held(kappa, a, project, h);
}

#endif
