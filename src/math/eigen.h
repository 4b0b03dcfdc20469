/* Eigenvalues and vectors of a symmetric 3x3 matrix by cyclic Jacobi rotations, the positive part of a symmetric
 * matrix, and the polar rotation of a near-rigid matrix. Tested in tests/test_math.c. */
#ifndef ABD_MATH_EIGEN_H
#define ABD_MATH_EIGEN_H

#include "math/vec.h"

/* a is symmetric (its lower triangle is read); columns of v are unit eigenvectors, w ascending. */
KERNEL void eigen3(Mat3 a, double w[3], Mat3 *v) {
  double m[3][3] = {{a.c[0].x, a.c[0].y, a.c[0].z}, {a.c[0].y, a.c[1].y, a.c[1].z}, {a.c[0].z, a.c[1].z, a.c[2].z}};
  double u[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  for (int sweep = 0; sweep < 30; sweep++) {
    double off = m[0][1] * m[0][1] + m[0][2] * m[0][2] + m[1][2] * m[1][2];
    double diag = m[0][0] * m[0][0] + m[1][1] * m[1][1] + m[2][2] * m[2][2];
    if (off <= 1e-34 * diag || off == 0.0) break;
    for (int p = 0; p < 2; p++)
      for (int q = p + 1; q < 3; q++) {
        if (m[p][q] == 0.0) continue;
        double theta = (m[q][q] - m[p][p]) / (2.0 * m[p][q]);
        double t = (theta >= 0 ? 1.0 : -1.0) / (fabs(theta) + sqrt(theta * theta + 1.0));
        double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
        for (int k = 0; k < 3; k++) {
          double x = m[k][p], y = m[k][q];
          m[k][p] = c * x - s * y;
          m[k][q] = s * x + c * y;
        }
        for (int k = 0; k < 3; k++) {
          double x = m[p][k], y = m[q][k];
          m[p][k] = c * x - s * y;
          m[q][k] = s * x + c * y;
          x = u[k][p];
          y = u[k][q];
          u[k][p] = c * x - s * y;
          u[k][q] = s * x + c * y;
        }
      }
  }
  int o[3] = {0, 1, 2};
  for (int i = 0; i < 2; i++)
    for (int j = i + 1; j < 3; j++)
      if (m[o[j]][o[j]] < m[o[i]][o[i]]) {
        int t = o[i];
        o[i] = o[j];
        o[j] = t;
      }
  for (int i = 0; i < 3; i++) {
    w[i] = m[o[i]][o[i]];
    v->c[i] = vec3(u[0][o[i]], u[1][o[i]], u[2][o[i]]);
  }
}

/* The nearest positive semidefinite matrix to a symmetric one. */
KERNEL Mat3 mat3_positive_part(Mat3 a) {
  double w[3];
  Mat3 v, r = mat3_zero();
  eigen3(a, w, &v);
  for (int i = 0; i < 3; i++)
    if (w[i] > 0) r = mat3_add(r, mat3_scale(w[i], mat3_outer(v.c[i], v.c[i])));
  return r;
}

/* The least singular value. */
KERNEL double mat3_least_singular(Mat3 a) {
  double w[3];
  Mat3 v;
  eigen3(mat3_tmul(a, a), w, &v);
  return sqrt(most(w[0], 0.0));
}

/* The rotation of the polar decomposition a = r s, det(a) > 0, by Newton's iteration r <- (r + r^-T) / 2. */
KERNEL Mat3 mat3_polar(Mat3 a) {
  for (int i = 0; i < 40; i++) {
    Mat3 it = mat3_scale(1.0 / mat3_det(a), mat3_cofactor(a));
    Mat3 next = mat3_scale(0.5, mat3_add(a, it)), change = mat3_sub(next, a);
    a = next;
    if (mat3_dot(change, change) < 1e-31) break;
  }
  return a;
}

#endif
