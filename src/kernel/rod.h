/* A round rod: segments that stretch and bend at their common vertices; straight at rest, without twist.
 *   stretch of a segment (x_0, x_1) of rest length l:    E = EA/(2 l) (|x_1 - x_0| - l)^2
 *   bending at x_1 of segments e_0 = x_1 - x_0, e_1 = x_2 - x_1:
 *                                     E = B/(l_0 + l_1) |k|^2,   k = 2 e_0 x e_1 / (|e_0| |e_1| + e_0 . e_1),
 * k the curvature binormal of Bergou et al. 2008 with the present lengths, |k| = 2 tan(angle/2) for every stretch;
 * B = E pi r^4 / 4. A rod bent to a circle of curvature c has B/2 c^2 per length. The energy of a full fold is
 * infinite. The projected bending Hessian is the Gauss-Newton one. Tested in tests/test_shell.c. */
#ifndef ABD_KERNEL_ROD_H
#define ABD_KERNEL_ROD_H

#include "math/vec.h"

KERNEL double rod_stretch_stiffness(double young, double radius) {
  return young * 3.14159265358979323846 * radius * radius;
}
KERNEL double rod_bending_stiffness(double young, double radius) {
  return 0.25 * rod_stretch_stiffness(young, radius) * radius * radius;
}

KERNEL double rod_stretch_energy(double stiffness, double length, const Vec3 x[2]) {
  double longer = norm(sub(x[1], x[0])) - length;
  return 0.5 * stiffness / length * longer * longer;
}

KERNEL void rod_stretch_gradient(double stiffness, double length, const Vec3 x[2], Vec3 g[2]) {
  Vec3 e = sub(x[1], x[0]);
  g[1] = scale(stiffness / length * (1.0 - length / norm(e)), e);
  g[0] = neg(g[1]);
}

/* Column-major 6x6: the stiffness along the segment, the tension across it; project omits compression. */
KERNEL void rod_stretch_hessian(double stiffness, double length, const Vec3 x[2], bool project, double h[36]) {
  Vec3 e = sub(x[1], x[0]), u = unit(e);
  double k = stiffness / length, across = k * (1.0 - length / norm(e));
  if (project && across < 0.0) across = 0.0;
  for (int c = 0; c < 6; c++)
    for (int r = 0; r < 6; r++) {
      double block = (k - across) * component(u, r % 3) * component(u, c % 3) + (r % 3 == c % 3 ? across : 0.0);
      h[6 * c + r] = r / 3 == c / 3 ? block : -block;
    }
}

typedef struct RodRest {
  double l[2];
} RodRest; /* of the two segments */

/* k and its denominator, which is zero if the rod folds back; near a fold the sum would cancel. */
KERNEL Vec3 rod_curvature(const Vec3 x[3], double *denominator) {
  Vec3 e = sub(x[1], x[0]), f = sub(x[2], x[1]), across = cross(e, f);
  double product = norm(e) * norm(f), along = dot(e, f);
  *denominator = along < 0.0 ? norm_sq(across) / (product - along) : product + along;
  return scale(2.0 / *denominator, across);
}

KERNEL double rod_bending_energy(double stiffness, const RodRest *rest, const Vec3 x[3]) {
  double denominator;
  Vec3 k = rod_curvature(x, &denominator);
  return denominator > 0.0 ? stiffness / (rest->l[0] + rest->l[1]) * norm_sq(k) : INFINITY;
}

/* dk/dx_i, from dk = (2 (de x f + e x df) - k (de . (f + |f| e/|e|) + df . (e + |e| f/|f|))) / denominator. */
KERNEL void rod_curvature_gradient(const Vec3 x[3], Vec3 *k, Mat3 jacobian[3]) {
  double denominator;
  Vec3 e = sub(x[1], x[0]), f = sub(x[2], x[1]);
  *k = rod_curvature(x, &denominator);
  double ratio = norm(f) / norm(e);
  Mat3 by_e = mat3_sub(mat3_scale(-2.0, mat3_skew(f)), mat3_outer(*k, add_scaled(f, ratio, e))),
       by_f = mat3_sub(mat3_scale(2.0, mat3_skew(e)), mat3_outer(*k, add_scaled(e, 1.0 / ratio, f)));
  jacobian[0] = mat3_scale(-1.0 / denominator, by_e);
  jacobian[1] = mat3_scale(1.0 / denominator, mat3_sub(by_e, by_f));
  jacobian[2] = mat3_scale(1.0 / denominator, by_f);
}

KERNEL void rod_bending_gradient(double stiffness, const RodRest *rest, const Vec3 x[3], Vec3 g[3]) {
  Vec3 k;
  Mat3 jacobian[3];
  rod_curvature_gradient(x, &k, jacobian);
  for (int i = 0; i < 3; i++) g[i] = scale(2.0 * stiffness / (rest->l[0] + rest->l[1]), mat3_tmul_vec(jacobian[i], k));
}

/* The Hessian by the edges e and f, in blocks ee, ef, ff. The energy is w |k|^2 = 4 w (1 - c) / (1 + c) with the cosine
 * c of the angle between the edges. */
KERNEL void rod_bending_by_edges(double w, const Vec3 x[3], Mat3 by[3]) {
  double denominator;
  rod_curvature(x, &denominator);
  Vec3 e = sub(x[1], x[0]), f = sub(x[2], x[1]);
  double l = norm(e), m = norm(f), sum = denominator / (l * m), c = sum - 1.0;
  Vec3 s = scale(1.0 / l, e), t = scale(1.0 / m, f), dc[2] = {add_scaled(t, -c, s), add_scaled(s, -c, t)};
  double slope = -8.0 * w / (sum * sum), curvature = 16.0 * w / (sum * sum * sum);
  Mat3 one = mat3_identity(), st = mat3_outer(s, t), both = mat3_add(st, mat3_outer(t, s));
  Mat3 ss = mat3_outer(s, s), tt = mat3_outer(t, t);
  Mat3 ee = mat3_sub(mat3_scale(c, mat3_sub(mat3_scale(3.0, ss), one)), both);
  Mat3 ff = mat3_sub(mat3_scale(c, mat3_sub(mat3_scale(3.0, tt), one)), both);
  Mat3 ef = mat3_add(mat3_sub(mat3_sub(one, ss), tt), mat3_scale(c, st));
  by[0] = mat3_add(mat3_scale(curvature, mat3_outer(dc[0], dc[0])), mat3_scale(slope, ee));
  by[1] = mat3_add(mat3_scale(curvature, mat3_outer(dc[0], dc[1])), mat3_scale(slope, ef));
  by[2] = mat3_add(mat3_scale(curvature, mat3_outer(dc[1], dc[1])), mat3_scale(slope, ff));
  by[0] = mat3_scale(1.0 / (l * l), by[0]);
  by[1] = mat3_scale(1.0 / (l * m), by[1]);
  by[2] = mat3_scale(1.0 / (m * m), by[2]);
}

/* Column-major 9x9; project: the Gauss-Newton one, which is positive semidefinite. */
KERNEL void rod_bending_hessian(double stiffness, const RodRest *rest, const Vec3 x[3], bool project, double h[81]) {
  double w = stiffness / (rest->l[0] + rest->l[1]);
  Vec3 k;
  Mat3 jacobian[3], by[3], block[3][3];
  if (project) {
    rod_curvature_gradient(x, &k, jacobian);
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) block[i][j] = mat3_scale(2.0 * w, mat3_tmul(jacobian[i], jacobian[j]));
  } else {
    rod_bending_by_edges(w, x, by);
    block[0][0] = by[0];
    block[0][1] = mat3_sub(by[1], by[0]);
    block[0][2] = mat3_scale(-1.0, by[1]);
    block[2][2] = by[2];
    block[1][2] = mat3_sub(by[1], by[2]);
    block[1][1] = mat3_sub(mat3_add(by[0], by[2]), mat3_add(by[1], mat3_transpose(by[1])));
    block[1][0] = mat3_transpose(block[0][1]);
    block[2][0] = mat3_transpose(block[0][2]);
    block[2][1] = mat3_transpose(block[1][2]);
  }
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      for (int c = 0; c < 3; c++) vec3_to(h + 9 * (3 * j + c) + 3 * i, block[i][j].c[c]);
}

#endif
