/* Smoothed Coulomb friction of a sliding distance y = |u|: potential f0 with force f1 = f0' rising from 0 to 1 over
 * [0, eps] and constant beyond,
 *   f0 = y^2 / eps (1 - y / (3 eps)) + eps / 3,  f1 = (2 - y / eps) y / eps,  f2 = 2 (1 - y / eps) / eps   (y < eps)
 *   f0 = y,                                      f1 = 1,                      f2 = 0                       (y >= eps).
 * The caller multiplies by mu times the lagged normal force; eps > 0 is friction_speed dt, or the anchors' tolerance.
 * The code multiplies by 1 / eps, so that a loop over points divides once. Tested in tests/test_barrier.c. */
#ifndef ABD_KERNEL_FRICTION_H
#define ABD_KERNEL_FRICTION_H

#include "math/vec.h"

KERNEL double friction_f0(double y, double eps) {
  if (y >= eps) return y;
  double x = y * (1.0 / eps);
  return eps * (x * x * (1.0 - x * (1.0 / 3.0)) + 1.0 / 3.0);
}

/* The gradient of f0(|u|) is this times u. */
KERNEL double friction_f1_over_y(double y, double eps) {
  double steepness = 1.0 / eps;
  return y >= eps ? 1.0 / y : (2.0 - y * steepness) * steepness;
}

/* d/dy of y / f1: how much the force's direction lags behind a growing slip; 1 when sliding. */
KERNEL double friction_lag(double y, double eps) {
  double z = 2.0 - y * (1.0 / eps);
  return y >= eps ? 1.0 : 1.0 / (z * z);
}

/* Curvature of f0(|u|) in the plane of unit normal n for Newton's method on u and the unit force w together, u and w in
 * that plane: with c = f1 / y the force satisfies w / c = u, and its linearisation gives c (I - n n^T - lag u w^T / y),
 * here made symmetric. With |w| <= 1 it is positive semidefinite; with w = c u it is the second derivative, f2 along u
 * and c across. */
KERNEL Sym3 friction_hessian(Vec3 u, Vec3 w, Vec3 n, double eps) {
  double y = norm(u), c = friction_f1_over_y(y, eps);
  Sym3 h = {c, c, c, 0.0, 0.0, 0.0};
  h = sym3_add_outer(h, -c, n);
  if (!(y > 0.0)) return h;
  Vec3 e = scale(1.0 / y, u);
  double k = 0.25 * c * friction_lag(y, eps); /* e w^T + w e^T = ((e + w)(e + w)^T - (e - w)(e - w)^T) / 2 */
  return sym3_add_outer(sym3_add_outer(h, -k, add(e, w)), k, sub(e, w));
}

/* The unit force after a step of `length` times Newton's that changed the slip by du: from the same linearisation, cut
 * back to the unit disc. */
KERNEL Vec3 friction_force_after(Vec3 u, Vec3 w, Vec3 du, double length, double eps) {
  double y = norm(u), c = friction_f1_over_y(y, eps);
  Vec3 next = add_scaled(add_scaled(scale(1.0 - length, w), length * c, u), c, du);
  if (y > 0.0) next = add_scaled(next, -c * friction_lag(y, eps) * dot(u, du) / y, w);
  double size = norm(next);
  return size > 1.0 ? scale(1.0 / size, next) : next;
}

#endif
