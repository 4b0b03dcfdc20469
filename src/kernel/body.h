/* Inertia and elasticity of an affine body: 1/2 |q - target|^2_M + f psi(A). Gradient and Hessian by its twelve
 * unknowns. Tested in tests/test_body.c. */
#ifndef ABD_KERNEL_BODY_H
#define ABD_KERNEL_BODY_H

#include "kernel/elasticity.h"

typedef struct BodyTerm {
  Affine target;
  double inertia[4]; /* by node */
  double factor;     /* f, of the elasticity */
  double stiffness;
  int elasticity; /* the model of psi */
  bool turns;     /* else there is no elasticity */
} BodyTerm;

KERNEL Affine body_term_gradient(const BodyTerm *b, const Affine *q) {
  Affine g;
  for (int k = 0; k < 4; k++) g.n[k] = scale(b->inertia[k], sub(q->n[k], b->target.n[k]));
  if (b->turns) {
    Mat3 s = elastic_gradient(b->elasticity, b->stiffness, affine_linear(q));
    for (int k = 0; k < 3; k++) g.n[k + 1] = add_scaled(g.n[k + 1], b->factor, s.c[k]);
  }
  return g;
}

/* Column-major 12x12, with 1 + damping inertias. project: positive semidefinite; a compressed body is softer against
 * turning than that. */
KERNEL void body_term_hessian(const BodyTerm *b, const Affine *q, double damping, bool project, double h[144]) {
  for (int i = 0; i < 144; i++) h[i] = 0;
  if (b->turns) {
    double s[81];
    elastic_hessian(b->elasticity, b->stiffness, affine_linear(q), project, s);
    for (int j = 0; j < 9; j++)
      for (int i = 0; i < 9; i++) h[12 * (j + 3) + i + 3] = b->factor * s[9 * j + i];
  }
  for (int i = 0; i < 12; i++) h[13 * i] += (1 + damping) * b->inertia[i / 3];
}

#endif
