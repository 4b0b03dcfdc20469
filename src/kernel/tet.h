/* A linear tetrahedron of soft material: nodes x_0..x_3, rest positions X_0..X_3.
 *
 * Dm = [X_1 - X_0, X_2 - X_0, X_3 - X_0], B = Dm^-1, F = [x_1 - x_0, ...] B = sum over nodes of x_i b_i^T, where
 * b_1..b_3 are the rows of B and b_0 = -(b_1 + b_2 + b_3). With psi(F) per rest volume,
 *   E = vol psi(F),   dE/dx_i = vol P b_i,   d2E/dx_i dx_j = vol sum_kl b_i[k] b_j[l] (d2psi/df_k df_l),   f_k columns of F.
 * Tested in tests/test_tet.c. */
#ifndef ABD_KERNEL_TET_H
#define ABD_KERNEL_TET_H

#include "kernel/material.h"
#include "kernel/node_blocks.h"

typedef struct TetRest {
  Vec3 b[4];     /* F = sum x_i b_i^T */
  double volume; /* at rest */
} TetRest;

/* Six times the signed volume: positive if x_1, x_2, x_3 are counter-clockwise as seen from the side opposite to
 * x_0. */
KERNEL double tet_volume6(const Vec3 x[4]) { return dot(sub(x[1], x[0]), cross(sub(x[2], x[0]), sub(x[3], x[0]))); }

/* False if the rest volume is not positive. */
KERNEL bool tet_rest(const Vec3 x[4], TetRest *rest) {
  double volume6 = tet_volume6(x);
  if (!(volume6 > 0.0)) return false;
  Mat3 c = mat3_cofactor(mat3(sub(x[1], x[0]), sub(x[2], x[0]), sub(x[3], x[0]))); /* det times Dm^-T */
  for (int i = 0; i < 3; i++) rest->b[i + 1] = scale(1.0 / volume6, c.c[i]);
  rest->b[0] = neg(add(rest->b[1], add(rest->b[2], rest->b[3])));
  rest->volume = volume6 / 6.0;
  return true;
}

KERNEL Mat3 tet_map(const TetRest *rest, const Vec3 x[4]) {
  Mat3 f = mat3_outer(sub(x[1], x[0]), rest->b[1]);
  f = mat3_add(f, mat3_outer(sub(x[2], x[0]), rest->b[2]));
  return mat3_add(f, mat3_outer(sub(x[3], x[0]), rest->b[3]));
}

KERNEL double tet_energy(int material, double mu, double lambda, const TetRest *rest, const Vec3 x[4]) {
  return rest->volume * material_energy(material, mu, lambda, tet_map(rest, x));
}

KERNEL void tet_forces(const TetRest *rest, Mat3 stress, Vec3 g[4]) {
  Mat3 p = mat3_scale(rest->volume, stress);
  for (int i = 1; i < 4; i++) g[i] = mat3_mul_vec(p, rest->b[i]);
  g[0] = neg(add(g[1], add(g[2], g[3])));
}

KERNEL void tet_gradient(int material, double mu, double lambda, const TetRest *rest, const Vec3 x[4], Vec3 g[4]) {
  tet_forces(rest, material_gradient(material, mu, lambda, tet_map(rest, x)), g);
}

/* Per rest volume, as tet_blocks. */
KERNEL void tet_blocks_of_modes(int material, double mu, MaterialSlopes slopes, const TetRest *rest, Mat3 f,
                                bool project, NodeBlocks *out) {
  Mat3 u, v;
  Vec3 b[4]; /* V^T b_i */
  ElasticModes e = material_decompose(material, mu, slopes, f, project, &u, &v);
  for (int j = 1; j < 4; j++) {
    b[j] = mat3_tmul_vec(v, rest->b[j]);
    for (int i = 1; i <= j; i++) out->of[node_block(i, j)] = elastic_modes_block(&e, u, b[i], b[j]);
  }
}

/* Per rest volume; positive semidefinite if project. */
KERNEL void tet_blocks(int material, double mu, MaterialPoint *at, const TetRest *rest, bool project, NodeBlocks *out) {
  MaterialNode node[4];
  if (project || !material_turning(mu, at)) {
    tet_blocks_of_modes(material, mu, at->slopes, rest, at->f, project, out);
    return;
  }
  for (int j = 1; j < 4; j++) {
    node[j] = material_node(at, rest->b[j]);
    for (int i = 1; i <= j; i++) out->of[node_block(i, j)] = material_block(at, &node[i], &node[j]);
  }
}

/* Gradient and, per rest volume, Hessian. */
KERNEL void tet_term(int material, double mu, double lambda, const TetRest *rest, const Vec3 x[4], bool project,
                     Vec3 g[4], NodeBlocks *blocks) {
  MaterialPoint at = material_at(material, mu, lambda, tet_map(rest, x));
  tet_forces(rest, material_stress(&at, mu), g);
  tet_blocks(material, mu, &at, rest, project, blocks);
}

/* Column-major 12x12, block (i, j) at rows 3 i, columns 3 j. */
KERNEL void tet_hessian(int material, double mu, double lambda, const TetRest *rest, const Vec3 x[4], bool project,
                        double out[144]) {
  Vec3 g[4];
  NodeBlocks blocks;
  double packed[90];
  tet_term(material, mu, lambda, rest, x, project, g, &blocks);
  node_blocks_pack(&blocks, 4, rest->volume, packed);
  node_blocks_unpack(packed, 4, out);
}

/* ---- The largest step that does not invert the tetrahedron ---- */

typedef struct TetCubic {
  double c[4];
} TetCubic; /* c0 + c1 t + c2 t^2 + c3 t^3 */

KERNEL double tet_cubic_at(TetCubic p, double t) { return ((p.c[3] * t + p.c[2]) * t + p.c[1]) * t + p.c[0]; }

/* The cubic is positive at lo and not at hi: returns a point next to its root at which it is positive. */
KERNEL double tet_cubic_root(TetCubic p, double lo, double hi) {
  for (int i = 0; i < 100 && hi - lo > 1e-12 * hi; i++) {
    double middle = 0.5 * (lo + hi);
    if (tet_cubic_at(p, middle) > 0.0) lo = middle;
    else hi = middle;
  }
  return lo;
}

/* A lower bound of the first t in (0, end] at which the cubic, positive at 0, is not positive; end if there is none. It
 * is monotone between the zeros of its slope. */
KERNEL double tet_cubic_first(TetCubic p, double end) {
  double a = 3.0 * p.c[3], half_b = p.c[2], c = p.c[1], disc = half_b * half_b - a * c, turn[3] = {end, end, end};
  if (disc > 0.0) { /* q has the sign without cancellation: zeros q / a and c / q */
    double q = half_b > 0.0 ? -(half_b + sqrt(disc)) : -half_b + sqrt(disc), x = a != 0.0 ? q / a : end,
           y = q != 0.0 ? c / q : end;
    turn[0] = least(x, y);
    turn[1] = most(x, y);
  }
  double lo = 0.0;
  for (int i = 0; i < 3; i++) {
    double hi = turn[i] > 0.0 && turn[i] < end ? turn[i] : i == 2 ? end : lo;
    if (!(tet_cubic_at(p, hi) > 0.0)) return tet_cubic_root(p, lo, hi);
    lo = hi;
  }
  return end;
}

/* A t <= 1, near the largest, for which the volume along x + t d stays above `keep` (0 to 1) times the volume at t = 0.
 * The rounding error of the volume is subtracted; if the volume is no larger than that, the result is 0. */
KERNEL double tet_step_bound(const Vec3 x[4], const Vec3 d[4], double keep) {
  Mat3 e = mat3(sub(x[1], x[0]), sub(x[2], x[0]), sub(x[3], x[0])),
       de = mat3(sub(d[1], d[0]), sub(d[2], d[0]), sub(d[3], d[0]));
  Mat3 ce = mat3_cofactor(e), cd = mat3_cofactor(de);
  double length = sqrt(mat3_dot(e, e)) + sqrt(mat3_dot(de, de)), far = 0.0;
  for (int i = 0; i < 4; i++) far = most(far, norm(x[i]) + norm(d[i]));
  double noise = 32.0 * DBL_EPSILON * (length + far) * length * length;
  TetCubic p;
  p.c[0] = (1.0 - keep) * mat3_det(e) - noise;
  p.c[1] = mat3_dot(ce, de);
  p.c[2] = mat3_dot(cd, e);
  p.c[3] = mat3_det(de);
  return p.c[0] > 0.0 ? tet_cubic_first(p, 1.0) : 0.0;
}

#endif
