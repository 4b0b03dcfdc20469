/* Eigenvalues of small dense symmetric matrices, for tests of positive semidefinite Hessians. */
#ifndef TESTS_SPECTRUM_H
#define TESTS_SPECTRUM_H

#include <math.h>
#include <stdbool.h>

/* Eigenvalues of a symmetric n x n matrix by cyclic Jacobi; m is destroyed. Returns the least, *most the largest. */
static inline double least_eigenvalue(int n, double *m, double *most) {
  bool turned = true;
  for (int sweep = 0; sweep < 60 && turned; sweep++) {
    turned = false;
    for (int p = 0; p < n; p++)
      for (int q = p + 1; q < n; q++) {
        if (fabs(m[p * n + q]) < 1e-17 * (fabs(m[0]) + fabs(m[n * n - 1])) + 1e-300) continue;
        turned = true;
        double theta = (m[q * n + q] - m[p * n + p]) / (2 * m[p * n + q]);
        double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + hypot(theta, 1)), c = 1 / hypot(t, 1), s = t * c;
        for (int k = 0; k < n; k++) {
          double x = m[k * n + p], y = m[k * n + q];
          m[k * n + p] = c * x - s * y;
          m[k * n + q] = s * x + c * y;
        }
        for (int k = 0; k < n; k++) {
          double x = m[p * n + k], y = m[q * n + k];
          m[p * n + k] = c * x - s * y;
          m[q * n + k] = s * x + c * y;
        }
      }
  }
  double least = m[0];
  *most = m[0];
  for (int i = 1; i < n; i++) {
    least = fmin(least, m[i * n + i]);
    *most = fmax(*most, m[i * n + i]);
  }
  return least;
}

#endif
