/* Quaternion algebra for scene files (rotation.h). Tests: tests/test_shape.c. */
#include "scene/rotation.h"

#include <math.h>
#include <string.h>

static const double radians_per_degree = 0.017453292519943295769;

void quat_identity(double q[4]) { memcpy(q, (double[4]){1, 0, 0, 0}, 4 * sizeof *q); }

void quat_normalize(double q[4]) {
  double norm_sq = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
  if (fabs(norm_sq - 1) < 1e-14) return;
  double norm = sqrt(norm_sq);
  for (int k = 0; k < 4; k++) q[k] /= norm;
}

void quat_multiply(const double a[4], const double b[4], double ab[4]) {
  double q[4] = {
      a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3], a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
      a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1], a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]};
  memcpy(ab, q, sizeof q);
}

void quat_to_matrix(const double q[4], double m[9]) {
  double w = q[0], x = q[1], y = q[2], z = q[3];
  double r[9] = {1 - 2 * (y * y + z * z), 2 * (x * y + w * z),     2 * (x * z - w * y),
                 2 * (x * y - w * z),     1 - 2 * (x * x + z * z), 2 * (y * z + w * x),
                 2 * (x * z + w * y),     2 * (y * z - w * x),     1 - 2 * (x * x + y * y)};
  memcpy(m, r, sizeof r);
}

void quat_rotate(const double q[4], const double x[3], double y[3]) {
  double m[9], r[3];
  quat_to_matrix(q, m);
  for (int k = 0; k < 3; k++) r[k] = m[k] * x[0] + m[3 + k] * x[1] + m[6 + k] * x[2];
  memcpy(y, r, sizeof r);
}

void quat_from_axis(const double axis[3], double radians, double q[4]) {
  double length = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
  double s = length > 0 ? sin(radians / 2) / length : 0;
  q[0] = length > 0 ? cos(radians / 2) : 1;
  for (int k = 0; k < 3; k++) q[1 + k] = s * axis[k];
}

void quat_from_vector(const double v[3], double q[4]) {
  quat_from_axis(v, sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]), q);
}

void quat_from_euler_degrees(const double degrees[3], double q[4]) {
  quat_identity(q);
  for (int k = 0; k < 3; k++) {
    double axis[3] = {k == 0, k == 1, k == 2}, turn[4];
    quat_from_axis(axis, degrees[k] * radians_per_degree, turn);
    quat_multiply(turn, q, q);
  }
}

void quat_from_matrix(const double m[9], double q[4]) {
  double trace = m[0] + m[4] + m[8];
  int i = m[4] > m[0] ? 1 : 0;
  if (m[8] > m[4 * i]) i = 2;
  if (trace > m[4 * i]) { /* w is the largest component */
    double r[4] = {1 + trace, m[5] - m[7], m[6] - m[2], m[1] - m[3]};
    memcpy(q, r, sizeof r);
  } else {
    int j = (i + 1) % 3, k = (i + 2) % 3;
    q[0] = m[3 * j + k] - m[3 * k + j];
    q[1 + i] = 1 + m[4 * i] - m[4 * j] - m[4 * k];
    q[1 + j] = m[3 * i + j] + m[3 * j + i];
    q[1 + k] = m[3 * i + k] + m[3 * k + i];
  }
  quat_normalize(q);
}

void quat_slerp(const double a[4], const double b[4], double t, double q[4]) {
  double dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3], sign = dot < 0 ? -1 : 1;
  double angle = acos(fmin(1, fabs(dot))), s = sin(angle);
  double wa = s > 1e-9 ? sin((1 - t) * angle) / s : 1 - t, wb = s > 1e-9 ? sin(t * angle) / s : t;
  for (int k = 0; k < 4; k++) q[k] = wa * a[k] + sign * wb * b[k];
  quat_normalize(q);
}
