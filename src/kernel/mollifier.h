/* A factor that fades out the barrier of two edges as they become parallel, because their closest points jump there:
 * m(c) = (c / eps)(2 - c / eps) below eps and 1 above, c = |u x v|^2 of the two edge vectors, eps from their rest
 * lengths. An edge of length zero, or of the length of its ends' rounding errors, is a point and has no direction:
 * m = 1. Tested in tests/test_barrier.c. */
#ifndef ABD_KERNEL_MOLLIFIER_H
#define ABD_KERNEL_MOLLIFIER_H

#include "kernel/constant.h"
#include "math/vec.h"

/* The squared rest length of an edge of a mesh with this radius; 0 if the edge has no direction. */
KERNEL double mollifier_length_sq(double length_sq, double radius) {
  double least = EDGE_POINT * radius;
  return length_sq > least * least ? length_sq : 0.0;
}

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
