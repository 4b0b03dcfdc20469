/* Bending of a shell at the edge x_0 x_1 between the triangles (x_0, x_1, x_2) and (x_1, x_0, x_3), both
 * counter-clockwise from the same side: discrete shells (Grinspun et al. 2003), scaled so that a sheet rolled to a
 * cylinder of curvature k has D/2 k^2 per area,
 *   E = weight/2 (theta - rest angle)^2,   weight = D |e|^2 / (A_1 + A_2) at rest,   D = E t^3 / (12 (1 - nu^2)) [J].
 * theta is the angle between the normals, 0 if flat, positive if the normals diverge. The Hessian is the
 * Gauss-Newton weight dtheta dtheta^T: positive semidefinite, exact at rest. Tested in tests/test_shell.c. */
#ifndef ABD_KERNEL_BENDING_H
#define ABD_KERNEL_BENDING_H

#include "math/vec.h"

typedef struct BendingRest {
  double angle, weight;
} BendingRest;

KERNEL double bending_rigidity(double young, double poisson, double thickness) {
  return young * thickness * thickness * thickness / (12.0 * (1.0 - poisson * poisson));
}

/* Normals of the two triangles; their lengths are twice the areas. */
KERNEL void bending_normals(const Vec3 x[4], Vec3 n[2]) {
  Vec3 e = sub(x[1], x[0]);
  n[0] = cross(e, sub(x[2], x[0]));
  n[1] = cross(sub(x[3], x[0]), e);
}

KERNEL double bending_angle(const Vec3 x[4]) {
  Vec3 n[2], e = sub(x[1], x[0]);
  bending_normals(x, n);
  return atan2(dot(cross(n[0], n[1]), e) / norm(e), dot(n[0], n[1]));
}

/* flat: the rest angle is 0 for any rest shape. */
KERNEL BendingRest bending_rest(const Vec3 x[4], double rigidity, bool flat) {
  BendingRest rest;
  Vec3 n[2];
  bending_normals(x, n);
  rest.angle = flat ? 0.0 : bending_angle(x);
  rest.weight = rigidity * norm_sq(sub(x[1], x[0])) / (0.5 * (norm(n[0]) + norm(n[1])));
  return rest;
}

/* Difference from the rest angle, in [-pi, pi]. */
KERNEL double bending_turn(const BendingRest *rest, const Vec3 x[4]) {
  const double pi = 3.14159265358979323846;
  double turn = bending_angle(x) - rest->angle;
  return turn > pi ? turn - 2.0 * pi : turn < -pi ? turn + 2.0 * pi : turn;
}

KERNEL double bending_energy(const BendingRest *rest, const Vec3 x[4]) {
  double turn = bending_turn(rest, x);
  return 0.5 * rest->weight * turn * turn;
}

/* dtheta/dx: an outer vertex turns its triangle about the edge; the opposite is distributed over the edge's ends by
 * levers. */
KERNEL void bending_angle_gradient(const Vec3 x[4], Vec3 g[4]) {
  Vec3 n[2], e = sub(x[1], x[0]);
  double length = norm(e);
  bending_normals(x, n);
  g[0] = g[1] = vec3(0, 0, 0);
  for (int k = 0; k < 2; k++) {
    Vec3 m = scale(1.0 / norm_sq(n[k]), n[k]), outer = x[2 + k];
    g[2 + k] = scale(-length, m);
    g[0] = add_scaled(g[0], dot(sub(x[1], outer), e) / length, m);
    g[1] = add_scaled(g[1], dot(sub(outer, x[0]), e) / length, m);
  }
}

KERNEL void bending_gradient(const BendingRest *rest, const Vec3 x[4], Vec3 g[4]) {
  double k = rest->weight * bending_turn(rest, x);
  bending_angle_gradient(x, g);
  for (int i = 0; i < 4; i++) g[i] = scale(k, g[i]);
}

/* Column-major 12x12. */
KERNEL void bending_hessian(const BendingRest *rest, const Vec3 x[4], double h[144]) {
  Vec3 g[4];
  double m[12];
  bending_angle_gradient(x, g);
  for (int i = 0; i < 4; i++) vec3_to(m + 3 * i, g[i]);
  for (int c = 0; c < 12; c++)
    for (int r = 0; r < 12; r++) h[12 * c + r] = rest->weight * m[r] * m[c];
}

#endif
