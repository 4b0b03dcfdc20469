/* A factor that fades out the barrier of two edges as they become parallel, because their closest points jump there:
 * m(c) = (c / eps)(2 - c / eps) below eps and 1 above, c = |u x v|^2 of the two edge vectors, eps from their rest
 * lengths. An edge of length zero is a point and has no direction: m = 1. Tested in tests/test_barrier.c. */
#ifndef ABD_KERNEL_MOLLIFIER_H
#define ABD_KERNEL_MOLLIFIER_H

#include "math/vec.h"

/* From the squared rest lengths. */
KERNEL double mollifier_eps(double u_sq, double v_sq) { return 1e-3 * u_sq * v_sq; }

KERNEL double mollifier(double cross_sq, double eps) {
  if (eps <= 0.0 || cross_sq >= eps) return 1.0;
  double x = cross_sq / eps;
  return x * (2.0 - x);
}

/* dm / dc */
KERNEL double mollifier_d1(double cross_sq, double eps) {
  if (eps <= 0.0 || cross_sq >= eps) return 0.0;
  return 2.0 * (1.0 - cross_sq / eps) / eps;
}

#endif
