/* See pose.h. */
#include "export/pose.h"

#include <math.h>

/* A <- (A + A^-T) / 2 converges to the rotation of the polar decomposition; A is close to it. */
void pose_nearest_rotation(double a[9]) {
  for (int round = 0; round < 20; round++) {
    double c[9]; /* cofactors: A^-T = c / det */
    for (int j = 0; j < 3; j++) {
      const double *u = a + 3 * ((j + 1) % 3), *v = a + 3 * ((j + 2) % 3);
      c[3 * j] = u[1] * v[2] - u[2] * v[1], c[3 * j + 1] = u[2] * v[0] - u[0] * v[2],
            c[3 * j + 2] = u[0] * v[1] - u[1] * v[0];
    }
    double det = a[0] * c[0] + a[1] * c[1] + a[2] * c[2], change = 0;
    if (det == 0) return;
    for (int k = 0; k < 9; k++) {
      double next = 0.5 * (a[k] + c[k] / det);
      change = fmax(change, fabs(next - a[k]));
      a[k] = next;
    }
    if (change < 1e-16) return;
  }
}

void pose_quaternion(const double m[9], double q[4]) {
  double r[4] = {1 + m[0] + m[4] + m[8], 1 + m[0] - m[4] - m[8], 1 - m[0] + m[4] - m[8], 1 - m[0] - m[4] + m[8]};
  int big = 0; /* 4 q_big^2 is the largest: no cancellation */
  for (int k = 1; k < 4; k++) big = r[k] > r[big] ? k : big;
  double x = m[5] - m[7], y = m[6] - m[2], z = m[1] - m[3], xy = m[1] + m[3], xz = m[2] + m[6], yz = m[5] + m[7];
  double column[4][4] = {{r[0], x, y, z}, {x, r[1], xy, xz}, {y, xy, r[2], yz}, {z, xz, yz, r[3]}};
  double length = 0;
  for (int k = 0; k < 4; k++) length += column[big][k] * column[big][k];
  length = copysign(sqrt(length), column[big][0]);
  for (int k = 0; k < 4; k++) q[k] = column[big][k] / length;
}

void pose_file_axes(const double nodes[12], const double axes[9], double m[9]) {
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      m[3 * j + i] = 0;
      for (int k = 0; k < 3; k++) m[3 * j + i] += nodes[3 + 3 * k + i] * axes[3 * k + j];
    }
}

void export_quaternion(const double nodes[12], const double axes[9], double q[4]) {
  double m[9];
  pose_file_axes(nodes, axes, m);
  pose_nearest_rotation(m);
  pose_quaternion(m, q);
}

void pose_turn(const double from[3], const double to[3], double q[4]) {
  double w = 1 + from[0] * to[0] + from[1] * to[1] + from[2] * to[2];
  double v[3] = {from[1] * to[2] - from[2] * to[1], from[2] * to[0] - from[0] * to[2],
                 from[0] * to[1] - from[1] * to[0]};
  if (w < 1e-12) { /* opposite: half a turn about any axis at right angles */
    double pick[3] = {fabs(from[0]) < 0.5, fabs(from[0]) >= 0.5, 0};
    v[0] = from[1] * pick[2] - from[2] * pick[1], v[1] = from[2] * pick[0] - from[0] * pick[2];
    v[2] = from[0] * pick[1] - from[1] * pick[0], w = 0;
  }
  double length = sqrt(w * w + v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
  q[0] = w / length;
  for (int k = 0; k < 3; k++) q[1 + k] = v[k] / length;
}
