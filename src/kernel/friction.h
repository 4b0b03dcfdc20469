/* Smoothed Coulomb friction of a sliding distance y = |u|: potential f0 with force f1 = f0' rising from 0 to 1 over
 * [0, eps] and staying there,
 *   f0 = y^2 / eps (1 - y / (3 eps)) + eps / 3,  f1 = (2 - y / eps) y / eps,  f2 = 2 (1 - y / eps) / eps   (y < eps)
 *   f0 = y,                                      f1 = 1,                      f2 = 0                       (y >= eps).
 * The caller multiplies by mu times the lagged normal force; eps > 0 is friction_speed dt, or the anchors' tolerance.
 * Tested in tests/test_barrier.c. */
#ifndef ABD_KERNEL_FRICTION_H
#define ABD_KERNEL_FRICTION_H

#include "math/vec.h"

KERNEL double friction_f0(double y, double eps) {
  if (y >= eps) return y;
  double x = y / eps;
  return eps * (x * x * (1.0 - x / 3.0) + 1.0 / 3.0);
}

/* The gradient of f0(|u|) is this times u. */
KERNEL double friction_f1_over_y(double y, double eps) { return y >= eps ? 1.0 / y : (2.0 - y / eps) / eps; }

/* Hessian of f0(|u|) in the plane of unit normal n, u in that plane: f2 along u, f1 / y across it, so it is positive
 * semidefinite as it stands. Written as f2 (I - n n^T) + ((f1 / y - f2) / y^2) (n x u)(n x u)^T, which has no 0/0 at u = 0:
 * below eps the second factor is 1 / (eps^2 y). */
KERNEL Sym3 friction_hessian(Vec3 u, Vec3 n, double eps) {
  double y = norm(u);
  Sym3 h = sym3_zero();
  if (y >= eps) return sym3_add_outer(h, 1.0 / (y * y * y), cross(n, u));
  double f2 = 2.0 * (1.0 - y / eps) / eps;
  h.xx = h.yy = h.zz = f2;
  h = sym3_add_outer(h, -f2, n);
  return y > 0.0 ? sym3_add_outer(h, 1.0 / (eps * y) / eps, cross(n, u)) : h;
}

#endif
