/* The contact barrier of the scaled gap y = (d - separation) / range: b(y) = -(y - 1)^2 ln y. It is zero for y >= 1,
 * with two continuous derivatives there, and infinite at y = 0. Derivatives are with respect to y; divide by range for
 * those in d. Tested in tests/test_barrier.c. */
#ifndef ABD_KERNEL_BARRIER_H
#define ABD_KERNEL_BARRIER_H

#include "math/log.h"

KERNEL double barrier(double y) {
  if (y >= 1.0) return 0.0;
  return y > 0.0 ? -(y - 1.0) * (y - 1.0) * log(y) : INFINITY;
}

KERNEL double barrier_d1(double y) {
  if (y >= 1.0) return 0.0;
  return y > 0.0 ? (1.0 - y) * (2.0 * log(y) - (1.0 - y) / y) : -INFINITY;
}

KERNEL double barrier_d2(double y) {
  if (y >= 1.0) return 0.0;
  if (!(y > 0.0)) return INFINITY;
  double z = (1.0 - y) / y;
  return z * (z + 4.0) - 2.0 * log(y);
}

/* Value and both derivatives for 0 < y <= 1 with one logarithm and one division, without a branch, so that loops over
 * it are vectorised. */
KERNEL void barrier_jet(double y, double *b, double *d1, double *d2) {
  double l = log_normal(y), z = y - 1.0, x = z / y;
  *b = -z * z * l;
  *d1 = -z * (2.0 * l + x);
  *d2 = x * (x - 4.0) - 2.0 * l;
}

#endif
