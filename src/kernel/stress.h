/* Stress in soft elements from the forces of their nodes: dE/dx_i = vol P b_i and sum b_i x_i^T = F^T, so that
 *   sigma = P F^T / J = sum (dE/dx_i) x_i^T / (J vol),
 * J vol is the present volume; of a triangle its present area times the thickness at rest. Cauchy's stress, without
 * damping and bending. Von Mises' stress is sqrt(3/2) |dev sigma|: the uniaxial stress with the same distortion. Tested
 * in tests/test_stress.c. */
#ifndef ABD_KERNEL_STRESS_H
#define ABD_KERNEL_STRESS_H

#include "kernel/membrane.h"
#include "kernel/tet.h"

KERNEL double von_mises(Mat3 sigma) {
  Mat3 dev = mat3_sub(sigma, mat3_scale(mat3_trace(sigma) / 3.0, mat3_identity()));
  return sqrt(1.5 * mat3_dot(dev, dev));
}

KERNEL Mat3 virial_stress(int count, const Vec3 *g, const Vec3 *x, double volume) {
  Mat3 sum = mat3_zero();
  for (int i = 1; i < count; i++) sum = mat3_add(sum, mat3_outer(g[i], sub(x[i], x[0])));
  return mat3_scale(1.0 / volume, sum);
}

KERNEL double tet_von_mises(int material, double mu, double lambda, const TetRest *rest, const Vec3 x[4]) {
  Vec3 g[4];
  tet_gradient(material, mu, lambda, rest, x, g);
  return von_mises(virial_stress(4, g, x, fabs(tet_volume6(x)) / 6.0));
}

KERNEL double membrane_von_mises(double mu, double lambda, const MembraneRest *rest, const Vec3 x[3]) {
  Vec3 g[3];
  Map2 f = membrane_map(rest, x);
  membrane_gradient(mu, lambda, rest, x, g);
  return von_mises(virial_stress(3, g, x, rest->volume * norm(cross(f.c[0], f.c[1]))));
}

#endif
