/* Poses of links: a rotation matrix and an origin, and the ways in which robot files write rotations.
 *
 * A matrix is column-major: r[3 * column + row]. A pose maps y = r x + p. Tested in tests/test_robot.c. */
#ifndef ABD_ROBOT_POSE_H
#define ABD_ROBOT_POSE_H

#include <math.h>
#include <stdbool.h>

typedef struct Pose {
  double r[9], p[3];
} Pose;

static inline Pose pose_identity(void) { return (Pose){{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}}; }

static inline bool pose_is_identity(const Pose *a) {
  Pose one = pose_identity();
  for (int k = 0; k < 9; k++)
    if (a->r[k] != one.r[k]) return false;
  return a->p[0] == 0 && a->p[1] == 0 && a->p[2] == 0;
}

static inline void mat_times(const double r[9], const double x[3], double y[3]) {
  double out[3];
  for (int i = 0; i < 3; i++) out[i] = r[i] * x[0] + r[3 + i] * x[1] + r[6 + i] * x[2];
  for (int i = 0; i < 3; i++) y[i] = out[i];
}

/* The transpose times x. */
static inline void mat_back(const double r[9], const double x[3], double y[3]) {
  double out[3];
  for (int i = 0; i < 3; i++) out[i] = r[3 * i] * x[0] + r[3 * i + 1] * x[1] + r[3 * i + 2] * x[2];
  for (int i = 0; i < 3; i++) y[i] = out[i];
}

static inline void mat_product(const double a[9], const double b[9], double ab[9]) {
  double out[9];
  for (int c = 0; c < 3; c++) mat_times(a, b + 3 * c, out + 3 * c);
  for (int k = 0; k < 9; k++) ab[k] = out[k];
}

static inline void pose_point(const Pose *a, const double x[3], double y[3]) {
  mat_times(a->r, x, y);
  for (int k = 0; k < 3; k++) y[k] += a->p[k];
}

/* x in the coordinates of the pose. */
static inline void pose_back(const Pose *a, const double x[3], double y[3]) {
  double d[3] = {x[0] - a->p[0], x[1] - a->p[1], x[2] - a->p[2]};
  mat_back(a->r, d, y);
}

static inline Pose pose_times(const Pose *a, const Pose *b) {
  Pose c;
  mat_product(a->r, b->r, c.r);
  pose_point(a, b->p, c.p);
  return c;
}

static inline Pose pose_inverse(const Pose *a) {
  Pose c;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) c.r[3 * i + j] = a->r[3 * j + i];
  mat_times(c.r, a->p, c.p);
  for (int k = 0; k < 3; k++) c.p[k] = -c.p[k];
  return c;
}

static inline double vec_dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
static inline double vec_length(const double a[3]) { return sqrt(vec_dot(a, a)); }
static inline void vec_cross(const double a[3], const double b[3], double c[3]) {
  double out[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
  for (int k = 0; k < 3; k++) c[k] = out[k];
}
/* False for a vector of length 0. */
static inline bool vec_normalize(double a[3]) {
  double l = vec_length(a);
  if (!(l > 1e-100)) return false;
  for (int k = 0; k < 3; k++) a[k] /= l;
  return true;
}

/* w x y z of unit length. */
static inline void mat_from_quat(const double q[4], double r[9]) {
  double w = q[0], x = q[1], y = q[2], z = q[3];
  double m[9] = {1 - 2 * (y * y + z * z), 2 * (x * y + w * z),     2 * (x * z - w * y),
                 2 * (x * y - w * z),     1 - 2 * (x * x + z * z), 2 * (y * z + w * x),
                 2 * (x * z + w * y),     2 * (y * z - w * x),     1 - 2 * (x * x + y * y)};
  for (int k = 0; k < 9; k++) r[k] = m[k];
}

static inline void mat_from_axis(const double axis[3], double angle, double r[9]) {
  double s = sin(angle / 2), q[4] = {cos(angle / 2), s * axis[0], s * axis[1], s * axis[2]};
  mat_from_quat(q, r);
}

/* The largest component first, so that no difference of nearly equal numbers is divided by. */
static inline void quat_from_mat(const double r[9], double q[4]) {
  double square[4] = {1 + r[0] + r[4] + r[8], 1 + r[0] - r[4] - r[8], 1 - r[0] + r[4] - r[8], 1 - r[0] - r[4] + r[8]};
  int best = 0;
  for (int k = 1; k < 4; k++)
    if (square[k] > square[best]) best = k;
  double d = sqrt(square[best]) / 2, f = 0.25 / d;
  double wx = r[5] - r[7], wy = r[6] - r[2], wz = r[1] - r[3], xy = r[1] + r[3], xz = r[6] + r[2], yz = r[5] + r[7];
  double row[4][4] = {{d, f * wx, f * wy, f * wz},
                      {f * wx, d, f * xy, f * xz},
                      {f * wy, f * xy, d, f * yz},
                      {f * wz, f * xz, f * yz, d}};
  double sign = row[best][0] < 0 ? -1 : 1;
  for (int k = 0; k < 4; k++) q[k] = sign * row[best][k];
}

/* r s r^T of a symmetric tensor xx, yy, zz, xy, xz, yz. */
static inline void tensor_turn(const double r[9], const double s[6], double out[6]) {
  double m[9] = {s[0], s[3], s[4], s[3], s[1], s[5], s[4], s[5], s[2]}, t[9], full[9];
  mat_product(r, m, t);
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) full[3 * j + i] = t[i] * r[j] + t[3 + i] * r[3 + j] + t[6 + i] * r[6 + j];
  double six[6] = {full[0], full[4], full[8], full[3], full[6], full[7]};
  for (int k = 0; k < 6; k++) out[k] = six[k];
}

/* Adds the inertia of a point mass at d. */
static inline void tensor_add_point(double s[6], double mass, const double d[3]) {
  double l = vec_dot(d, d);
  for (int k = 0; k < 3; k++) s[k] += mass * (l - d[k] * d[k]);
  s[3] -= mass * d[0] * d[1];
  s[4] -= mass * d[0] * d[2];
  s[5] -= mass * d[1] * d[2];
}

#endif
