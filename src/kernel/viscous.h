/* Viscous stress of soft elements (Kelvin-Voigt): proportional to the rate of Green's strain G = F^T F / 2, so that
 * rotations are not damped. The rate is c (G - G*) with G* an earlier strain (of a multistep rule a combination of
 * earlier strains) and c one over the time since. With beta [s] the time constant and the material's mu and lambda,
 *   E = vol beta c (mu |G - G*|^2 + lambda/2 tr^2(G - G*)),
 * which at small strain is Rayleigh's beta K x': a mode of angular frequency w has the damping ratio beta w / 2.
 *   S = beta c (2 mu (G - G*) + lambda tr(G - G*) I),  P = F S,  dE/dx_i = vol P b_i,
 *   d2E/dx_i dx_j = vol (beta c (mu (b_i . b_j F F^T + F b_j (F b_i)^T) + lambda F b_i (F b_j)^T) + (b_i . S b_j) I);
 * the last term can be negative; the projection omits it. In a triangle F and b have no component along the third axis,
 * and lambda is the membrane's. Tested in tests/test_viscous.c. */
#ifndef ABD_KERNEL_VISCOUS_H
#define ABD_KERNEL_VISCOUS_H

#include "kernel/membrane.h"
#include "kernel/tet.h"

typedef struct Viscous {
  int count; /* of nodes */
  Vec3 b[4]; /* F = sum x_i b_i^T */
  double volume;
  double mu, lambda; /* times beta c [Pa] */
  Mat3 strain;       /* G* */
} Viscous;

KERNEL Viscous viscous_tet(const TetRest *rest, double mu, double lambda) {
  Viscous e = {4, {rest->b[0], rest->b[1], rest->b[2], rest->b[3]}, rest->volume, mu, lambda, mat3_zero()};
  return e;
}

KERNEL Viscous viscous_triangle(const MembraneRest *rest, double mu, double lambda) {
  Viscous e = {3,          {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}}, rest->volume, mu, membrane_lambda(mu, lambda),
               mat3_zero()};
  for (int i = 0; i < 3; i++) e.b[i] = vec3(rest->b[i].x, rest->b[i].y, 0.0);
  return e;
}

KERNEL Mat3 viscous_map(const Viscous *e, const Vec3 *x) {
  Mat3 f = mat3_zero();
  for (int i = 1; i < e->count; i++) f = mat3_add(f, mat3_outer(sub(x[i], x[0]), e->b[i]));
  return f;
}

KERNEL Mat3 viscous_strain(const Viscous *e, const Vec3 *x) {
  Mat3 f = viscous_map(e, x);
  return mat3_scale(0.5, mat3_tmul(f, f));
}

KERNEL double viscous_energy(const Viscous *e, const Vec3 *x) {
  Mat3 d = mat3_sub(viscous_strain(e, x), e->strain);
  return e->volume * (e->mu * mat3_dot(d, d) + 0.5 * e->lambda * mat3_trace(d) * mat3_trace(d));
}

KERNEL Mat3 viscous_stress(const Viscous *e, const Vec3 *x) {
  Mat3 d = mat3_sub(viscous_strain(e, x), e->strain);
  return mat3_add(mat3_scale(2.0 * e->mu, d), mat3_scale(e->lambda * mat3_trace(d), mat3_identity()));
}

/* Added to g. */
KERNEL void viscous_add_gradient(const Viscous *e, const Vec3 *x, Vec3 *g) {
  Mat3 p = mat3_mul(viscous_map(e, x), viscous_stress(e, x));
  for (int i = 0; i < e->count; i++) g[i] = add_scaled(g[i], e->volume, mat3_mul_vec(p, e->b[i]));
}

/* Added to the column-major matrix of 3 count rows. */
KERNEL void viscous_add_hessian(const Viscous *e, const Vec3 *x, bool project, double *h) {
  Mat3 f = viscous_map(e, x), ff = mat3_mul(f, mat3_transpose(f)), s = viscous_stress(e, x);
  int rows = 3 * e->count;
  for (int i = 0; i < e->count; i++)
    for (int j = 0; j < e->count; j++) {
      Vec3 fi = mat3_mul_vec(f, e->b[i]), fj = mat3_mul_vec(f, e->b[j]);
      double along = project ? 0.0 : dot(e->b[i], mat3_mul_vec(s, e->b[j]));
      Mat3 block = mat3_scale(e->mu * dot(e->b[i], e->b[j]), ff);
      block =
          mat3_add(block, mat3_add(mat3_scale(e->mu, mat3_outer(fj, fi)), mat3_scale(e->lambda, mat3_outer(fi, fj))));
      for (int c = 0; c < 3; c++)
        for (int r = 0; r < 3; r++)
          h[rows * (3 * j + c) + 3 * i + r] += e->volume * (component(block.c[c], r) + (r == c ? along : 0.0));
    }
}

#endif
