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

KERNEL Mat3 viscous_stress(const Viscous *e, Mat3 f) {
  Mat3 d = mat3_sub(mat3_scale(0.5, mat3_tmul(f, f)), e->strain);
  return mat3_add(mat3_scale(2.0 * e->mu, d), mat3_scale(e->lambda * mat3_trace(d), mat3_identity()));
}

/* Added to the gradient and, per rest volume, to the blocks of the Hessian. */
KERNEL void viscous_add_term(const Viscous *e, const Vec3 *x, bool project, Vec3 *g, NodeBlocks *blocks) {
  Mat3 f = viscous_map(e, x), ff = mat3_mul(f, mat3_transpose(f)), s = viscous_stress(e, f), p = mat3_mul(f, s);
  Vec3 moved[4], sum = vec3(0, 0, 0);
  for (int j = 1; j < e->count; j++) {
    Vec3 force = scale(e->volume, mat3_mul_vec(p, e->b[j]));
    g[j] = add(g[j], force);
    sum = add(sum, force);
    moved[j] = mat3_mul_vec(f, e->b[j]);
    for (int i = 1; i <= j; i++) {
      double along = project ? 0.0 : dot(e->b[i], mat3_mul_vec(s, e->b[j]));
      Mat3 *to = &blocks->of[node_block(i, j)];
      Mat3 block = mat3_add(mat3_scale(e->mu * dot(e->b[i], e->b[j]), ff), mat3_scale(along, mat3_identity()));
      block = mat3_add(block, mat3_outer(scale(e->mu, moved[j]), moved[i]));
      *to = mat3_add(*to, mat3_add(block, mat3_outer(scale(e->lambda, moved[i]), moved[j])));
    }
  }
  g[0] = sub(g[0], sum);
}

#endif
