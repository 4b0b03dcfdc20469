/* The twelve unknowns of an affine body as six of a rigid motion and six strains, about its linear map A = (a_1 a_2
 * a_3): translation t and turning w move the nodes by d_0 = t, d_k = w x a_k; strain E, symmetric, by d_0 = 0, D = A E.
 *
 * A body much stiffer than what it touches hardly strains: couplings of its strains are dropped, both to its own rigid
 * motion and to other bodies. What is left is its rigid block, and a block of strains that is solved by itself. It is
 * the matrix on the rigid motions and on each body's strains: positive definite if the matrix is. Tested in
 * tests/test_condense.c. */
#ifndef ABD_KERNEL_CONDENSE_H
#define ABD_KERNEL_CONDENSE_H

#include "math/vec.h"

/* The curvature of a body's energy by a strain |E| = 1 at rest: f the factor of its density, see elasticity.h. */
KERNEL double strain_curvature(double kappa, double f) { return 8.0 * kappa * f; }

/* out = R^T v: what a vector of forces does to a rigid motion. */
KERNEL void rigid_part(const Affine *q, const double v[12], double out[6]) {
  Vec3 torque = vec3(0, 0, 0);
  for (int k = 1; k < 4; k++) torque = add(torque, cross(q->n[k], vec3_from(v + 3 * k)));
  for (int i = 0; i < 3; i++) out[i] = v[i];
  vec3_to(out + 3, torque);
}

/* out = S^T v: the same for the strains xx yy zz xy xz yz, of which each has |E| = 1. */
KERNEL void strain_part(const Affine *q, const double v[12], double out[6]) {
  Vec3 c[3]; /* A^T V */
  Mat3 a = affine_linear(q);
  for (int k = 0; k < 3; k++) c[k] = mat3_tmul_vec(a, vec3_from(v + 3 * k + 3));
  out[0] = c[0].x;
  out[1] = c[1].y;
  out[2] = c[2].z;
  out[3] = 0.70710678118654752440 * (c[0].y + c[1].x);
  out[4] = 0.70710678118654752440 * (c[0].z + c[2].x);
  out[5] = 0.70710678118654752440 * (c[1].z + c[2].y);
}

/* The motion of the nodes, R rigid + S strain. */
KERNEL Affine motion_of_parts(const Affine *q, const double rigid[6], const double strain[6]) {
  const double h = 0.70710678118654752440;
  Vec3 w = vec3_from(rigid + 3);
  Mat3 a = affine_linear(q);
  Mat3 e = mat3(vec3(strain[0], h * strain[3], h * strain[4]), vec3(h * strain[3], strain[1], h * strain[5]),
                vec3(h * strain[4], h * strain[5], strain[2]));
  Affine d;
  d.n[0] = vec3_from(rigid);
  for (int k = 0; k < 3; k++) d.n[k + 1] = add(cross(w, a.c[k]), mat3_mul_vec(a, e.c[k]));
  return d;
}

/* out (6 x 6, column-major) = R^T H R of a column-major 12 x 12 block, rows of body a, columns of b. */
KERNEL void rigid_block(const Affine *a, const Affine *b, const double h[144], double out[36]) {
  double part[6][12], row[6];
  for (int j = 0; j < 12; j++) {
    rigid_part(a, h + 12 * j, row);
    for (int i = 0; i < 6; i++) part[i][j] = row[i];
  }
  for (int i = 0; i < 6; i++) {
    rigid_part(b, part[i], row);
    for (int j = 0; j < 6; j++) out[6 * j + i] = row[j];
  }
}

/* out (6 x 12) = R^T H: body a alone has six unknowns. */
KERNEL void rigid_rows(const Affine *a, const double h[144], double out[72]) {
  for (int j = 0; j < 12; j++) rigid_part(a, h + 12 * j, out + 6 * j);
}

/* out (12 x 6) = H R: body b alone. */
KERNEL void rigid_columns(const Affine *b, const double h[144], double out[72]) {
  for (int i = 0; i < 12; i++) {
    double from[12], row[6];
    for (int j = 0; j < 12; j++) from[j] = h[12 * j + i];
    rigid_part(b, from, row);
    for (int j = 0; j < 6; j++) out[12 * j + i] = row[j];
  }
}

/* out = S^T H S of a body's own block, which is symmetric. */
KERNEL void strain_block(const Affine *q, const double h[144], double out[36]) {
  double part[6][12], row[6];
  for (int j = 3; j < 12; j++) {
    strain_part(q, h + 12 * j, row);
    for (int i = 0; i < 6; i++) part[i][j] = row[i];
  }
  for (int i = 0; i < 6; i++) {
    for (int j = 0; j < 3; j++) part[i][j] = 0;
    strain_part(q, part[i], out + 6 * i);
  }
}

#endif
