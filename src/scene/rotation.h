/* Rotations as quaternions w x y z: the forms scene files write them in. Tests: tests/test_shape.c. */
#ifndef ABD_SCENE_ROTATION_H
#define ABD_SCENE_ROTATION_H

void quat_identity(double q[4]);
/* Leaves a quaternion of unit length within rounding unchanged, so that writing and reading keep its bits. */
void quat_normalize(double q[4]);
void quat_multiply(const double a[4], const double b[4], double ab[4]);
void quat_rotate(const double q[4], const double x[3], double y[3]);
void quat_from_axis(const double axis[3], double radians, double q[4]); /* the axis need not be a unit vector */
void quat_from_vector(const double v[3], double q[4]);                  /* axis times angle */
void quat_from_euler_degrees(const double degrees[3], double q[4]);     /* Rz Ry Rx: x first, about fixed axes */
void quat_from_matrix(const double column[9], double q[4]);             /* column-major rotation matrix */
void quat_to_matrix(const double q[4], double column[9]);
void quat_slerp(const double a[4], const double b[4], double t, double q[4]); /* the short way round */

#endif
