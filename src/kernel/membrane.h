/* A triangle of a membrane (canvas, skin): resists stretch and shear in its plane, not bending. Nodes x_0..x_2; the
 * rest triangle has two coordinates in its own plane.
 *
 * F = [x_1 - x_0, x_2 - x_0] Dm^-1, 3x2, = sum x_i b_i^T; C = F^T F - I (2x2), J = sqrt det(F^T F) the stretch of area,
 * s_1, s_2 the stretches. Per rest volume, with mu and lambda' = 2 mu lambda / (lambda + 2 mu) (plane stress: the
 * thickness adapts),
 *   psi = mu/2 tr C - mu ln J + lambda'/2 ln^2 J;   infinite if the triangle has no area.
 * The Hessian's eigenvectors are closed as for solids (isotropic.h): two stretches that couple, one shear and one twist
 * in the plane, and n v_i^T out of it, with psi_i / s_i: tension, the only stiffness out of the plane. Under
 * compression it is negative, and the projection omits it. Tested in tests/test_shell.c. */
#ifndef ABD_KERNEL_MEMBRANE_H
#define ABD_KERNEL_MEMBRANE_H

#include "kernel/material.h"
#include "kernel/node_blocks.h"

typedef struct Vec2 {
  double x, y;
} Vec2;
typedef struct MembraneRest {
  Vec2 b[3];     /* F = sum x_i b_i^T */
  double volume; /* area times thickness */
} MembraneRest;
typedef struct Map2 {
  Vec3 c[2];
} Map2; /* 3x2 by columns */

KERNEL double membrane_lambda(double mu, double lambda) { return 2.0 * mu * lambda / (lambda + 2.0 * mu); }

/* False if the rest triangle has no area. */
KERNEL bool membrane_rest(const Vec3 x[3], double thickness, MembraneRest *rest) {
  Vec3 u = sub(x[1], x[0]), v = sub(x[2], x[0]);
  double length = norm(u), area2 = norm(cross(u, v));
  if (!(length > 0.0) || !(area2 > 0.0)) return false;
  double along = dot(u, v) / length, across = area2 / length; /* corners (0, 0), (length, 0), (along, across) */
  rest->b[1].x = 1.0 / length;
  rest->b[1].y = -along / (length * across);
  rest->b[2].x = 0.0;
  rest->b[2].y = 1.0 / across;
  rest->b[0].x = -rest->b[1].x;
  rest->b[0].y = -rest->b[1].y - rest->b[2].y;
  rest->volume = 0.5 * area2 * thickness;
  return true;
}

KERNEL Map2 membrane_map(const MembraneRest *rest, const Vec3 x[3]) {
  Map2 f;
  Vec3 u = sub(x[1], x[0]), v = sub(x[2], x[0]);
  f.c[0] = add_scaled(scale(rest->b[1].x, u), rest->b[2].x, v);
  f.c[1] = add_scaled(scale(rest->b[1].y, u), rest->b[2].y, v);
  return f;
}

/* ln J from C = F^T F - I if that is small, else from the area. */
KERNEL double membrane_log_area(const Map2 *f, double xx, double yy, double xy) {
  if (xx * xx + yy * yy + xy * xy < 0.25) return 0.5 * log1p(xx + yy + xx * yy - xy * xy);
  return 0.5 * log(norm_sq(cross(f->c[0], f->c[1])));
}

KERNEL double membrane_energy(double mu, double lambda, const MembraneRest *rest, const Vec3 x[3]) {
  Map2 f = membrane_map(rest, x);
  double xx = norm_sq(f.c[0]) - 1.0, yy = norm_sq(f.c[1]) - 1.0, xy = dot(f.c[0], f.c[1]);
  if (!(norm_sq(cross(f.c[0], f.c[1])) > 0.0)) return INFINITY;
  double log_j = membrane_log_area(&f, xx, yy, xy), l = membrane_lambda(mu, lambda);
  return rest->volume * (mu * (0.5 * (xx + yy) - log_j) + 0.5 * l * log_j * log_j);
}

/* P = mu F + (lambda' ln J - mu) F (F^T F)^-1. */
KERNEL void membrane_gradient(double mu, double lambda, const MembraneRest *rest, const Vec3 x[3], Vec3 g[3]) {
  Map2 f = membrane_map(rest, x);
  double a = norm_sq(f.c[0]), b = norm_sq(f.c[1]), c = dot(f.c[0], f.c[1]), j_sq = norm_sq(cross(f.c[0], f.c[1]));
  double p = (membrane_lambda(mu, lambda) * membrane_log_area(&f, a - 1.0, b - 1.0, c) - mu) / j_sq;
  Vec3 px = add_scaled(scale(mu + p * b, f.c[0]), -p * c, f.c[1]),
       py = add_scaled(scale(mu + p * a, f.c[1]), -p * c, f.c[0]);
  for (int i = 1; i < 3; i++) g[i] = scale(rest->volume, add_scaled(scale(rest->b[i].x, px), rest->b[i].y, py));
  g[0] = neg(add(g[1], g[2]));
}

/* The eigenvectors of the Hessian in nodes: += k m m^T, m_i = d (v . b_i), summed over two such pairs (d, v). */
KERNEL void membrane_add_mode(const MembraneRest *rest, double k, Vec3 d0, Vec2 v0, Vec3 d1, Vec2 v1, NodeBlocks *h) {
  Vec3 m[3];
  for (int j = 1; j < 3; j++) {
    Vec2 b = rest->b[j];
    m[j] = add_scaled(scale(v0.x * b.x + v0.y * b.y, d0), v1.x * b.x + v1.y * b.y, d1);
    for (int i = 1; i <= j; i++) {
      Mat3 *block = &h->of[node_block(i, j)];
      *block = mat3_add(*block, mat3_outer(scale(k, m[i]), m[j]));
    }
  }
}

/* F = s_0 u_0 v_0^T + s_1 u_1 v_1^T, n across both u. */
typedef struct MembraneSvd {
  Vec3 u[2], n;
  Vec2 v[2];
  double s[2];
} MembraneSvd;

KERNEL MembraneSvd membrane_svd(const Map2 *f) {
  MembraneSvd r;
  double a = norm_sq(f->c[0]), b = norm_sq(f->c[1]), c = dot(f->c[0], f->c[1]);
  double angle = 0.5 * atan2(2.0 * c, a - b);
  r.v[0].x = cos(angle);
  r.v[0].y = sin(angle); /* the larger stretch */
  r.v[1].x = -r.v[0].y;
  r.v[1].y = r.v[0].x;
  Vec3 p = add_scaled(scale(r.v[0].x, f->c[0]), r.v[0].y, f->c[1]),
       q = add_scaled(scale(r.v[1].x, f->c[0]), r.v[1].y, f->c[1]);
  r.u[0] = unit(p);
  q = add_scaled(q, -dot(r.u[0], q), r.u[0]);
  r.u[1] = unit(q);
  r.n = cross(r.u[0], r.u[1]);
  r.s[0] = norm(p);
  r.s[1] = norm(q);
  return r;
}

/* The stretches' 2x2 block [d0 c; c d1] as eigenvalues and the first one's direction; d0 <= d1 as s0 >= s1. */
KERNEL void membrane_add_stretches(const MembraneRest *rest, const MembraneSvd *f, const double d[2], double c,
                                   bool project, NodeBlocks *h) {
  double half = 0.5 * (d[0] - d[1]), root = sqrt(half * half + c * c), mean = 0.5 * (d[0] + d[1]),
         angle = 0.5 * atan2(c, half);
  for (int k = 0; k < 2; k++) {
    double w = k == 0 ? mean + root : mean - root, x = k == 0 ? cos(angle) : -sin(angle),
           y = k == 0 ? sin(angle) : cos(angle);
    if (project && !(w > 0.0)) continue;
    membrane_add_mode(rest, w, scale(x, f->u[0]), f->v[0], scale(y, f->u[1]), f->v[1], h);
  }
}

/* Per rest volume; exact, or its nearest positive semidefinite matrix in F. */
KERNEL void membrane_blocks(double mu, double lambda, const MembraneRest *rest, const Vec3 x[3], bool project,
                            NodeBlocks *h) {
  Map2 map = membrane_map(rest, x);
  MembraneSvd f = membrane_svd(&map);
  const Vec2 none = {0.0, 0.0};
  double l = membrane_lambda(mu, lambda);
  double log_j = membrane_log_area(&map, norm_sq(map.c[0]) - 1.0, norm_sq(map.c[1]) - 1.0, dot(map.c[0], map.c[1]));
  double p = mu - l * log_j, across = p / (f.s[0] * f.s[1]), d[2];
  for (int i = 0; i < 3; i++) h->of[i] = mat3_zero();
  for (int i = 0; i < 2; i++) {
    double s_sq = f.s[i] * f.s[i], out = mu - p / s_sq;
    d[i] = mu + (p + l) / s_sq;
    if (!project || out > 0.0) membrane_add_mode(rest, out, f.n, f.v[i], f.n, none, h);
  }
  membrane_add_stretches(rest, &f, d, l / (f.s[0] * f.s[1]), project, h);
  if (!project || mu + across > 0.0) membrane_add_mode(rest, 0.5 * (mu + across), f.u[0], f.v[1], f.u[1], f.v[0], h);
  if (!project || mu - across > 0.0)
    membrane_add_mode(rest, 0.5 * (mu - across), f.u[0], f.v[1], neg(f.u[1]), f.v[0], h);
}

/* Gradient and, per rest volume, Hessian. */
KERNEL void membrane_term(double mu, double lambda, const MembraneRest *rest, const Vec3 x[3], bool project, Vec3 g[3],
                          NodeBlocks *blocks) {
  membrane_gradient(mu, lambda, rest, x, g);
  membrane_blocks(mu, lambda, rest, x, project, blocks);
}

/* Column-major 9x9. */
KERNEL void membrane_hessian(double mu, double lambda, const MembraneRest *rest, const Vec3 x[3], bool project,
                             double h[81]) {
  NodeBlocks blocks;
  double packed[54];
  membrane_blocks(mu, lambda, rest, x, project, &blocks);
  node_blocks_pack(&blocks, 3, rest->volume, packed);
  node_blocks_unpack(packed, 3, h);
}

#endif
