/* Poses of affine bodies: points, the rotation nearest to a pose, and rotations between directions.
 *
 * A body's columns are a rotation up to its strain, 1e-5 and less for stiff bodies. Formats that store only rotations
 * get that of the polar decomposition A = R S. Tested in tests/test_record.c and tests/test_export.c. */
#ifndef ABD_EXPORT_POSE_H
#define ABD_EXPORT_POSE_H

/* x = p + X c1 + Y c2 + Z c3 of the 12 numbers p, c1, c2, c3. */
static inline void pose_point(const double nodes[12], const double rest[3], double x[3]) {
  for (int k = 0; k < 3; k++)
    x[k] = nodes[k] + nodes[3 + k] * rest[0] + nodes[6 + k] * rest[1] + nodes[9 + k] * rest[2];
}

/* The rotation of A = R S, in place; column-major. */
void pose_nearest_rotation(double a[9]);
/* Of a rotation, column-major, as w x y z with w >= 0. */
void pose_quaternion(const double rotation[9], double q[4]);
/* m = A axes^T, column-major: from the mesh file's axes to the world. */
void pose_file_axes(const double nodes[12], const double axes[9], double m[9]);
/* Rotation nearest to the 3x3 part of nodes times axes^T, as a quaternion w x y z with w >= 0. */
void export_quaternion(const double nodes[12], const double axes[9], double q[4]);
/* The shortest rotation that brings the unit vector from onto the unit vector to, as w x y z. */
void pose_turn(const double from[3], const double to[3], double q[4]);

#endif
