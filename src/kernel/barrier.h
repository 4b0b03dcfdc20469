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

/* The scaled gap at which the barrier pushes with -b'(y) = push. With u = y^-1/2, sqrt(push / 3) is u - 1 times a
 * factor that falls from 2 at the edge of the range to 3^-1/2 in its depth, so two steps of Newton's method from a
 * first guess give it to 1e-5 of y and of 1 - y. */
KERNEL double barrier_gap(double push) {
  double s = most(sqrt(push / 3), 1e-8), u = 1 + s * (1 + 1.7320508075688772 * s) / (2 + s);
  for (int k = 0; k < 2; k++) {
    double b, d1, d2;
    barrier_jet(1 / (u * u), &b, &d1, &d2);
    double at = sqrt(-d1 / 3);
    u -= (at - s) * 3 * at * u * u * u / d2;
  }
  return 1 / (u * u);
}

/* The slope of the chord of -b' from y, at which it is -d1, to where it is `ratio` times as large: what a force that is
 * expected to be so large makes of the curvature. */
KERNEL double barrier_chord(double y, double d1, double ratio) {
  return (ratio - 1) * -d1 / (y - barrier_gap(-ratio * d1));
}

#endif
