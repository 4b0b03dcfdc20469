/* Distance of one stencil at given poses, and the contact that it makes. Compiles as C and as CUDA. Tested in
 * tests/test_contact.c. */
#ifndef ABD_CONTACT_STENCIL_H
#define ABD_CONTACT_STENCIL_H

#include "contact/item.h"
#include "kernel/distance.h"
#include "kernel/mollifier.h"

KERNEL Vec3 triangle_point(const Vec3 *x, const uint32_t *t, const double w[3]) {
  return add(add(scale(w[0], x[t[0]]), scale(w[1], x[t[1]])), scale(w[2], x[t[2]]));
}

/* Distance of a vertex of mv to a triangle of mt; diff = vertex - triangle. */
KERNEL double vertex_triangle(const SideShape *mv, const Affine *qv, int v, const SideShape *mt, const Affine *qt,
                              int tri, double w[3], Vec3 *yt, Vec3 *diff) {
  const uint32_t *t = mt->triangle[tri];
  double d = closest_point_triangle(affine_point(qv, mv->x[v]), affine_point(qt, mt->x[t[0]]),
                                    affine_point(qt, mt->x[t[1]]), affine_point(qt, mt->x[t[2]]), w, diff);
  *yt = triangle_point(mt->x, t, w);
  return d;
}

/* Squared rest length of an edge; 0 if it has no direction. */
KERNEL double shape_edge_length_sq(const SideShape *m, int edge) {
  const uint32_t *e = m->edge[edge];
  return mollifier_length_sq(norm_sq(sub(m->rest[e[1]], m->rest[e[0]])), m->radius);
}

KERNEL void stencil_weights(double w[3], double x, double y) {
  w[0] = x;
  w[1] = y;
  w[2] = 0;
}

KERNEL double edge_edge(const SideShape *a, const Affine *qa, int prim_a, const SideShape *b, const Affine *qb,
                        int prim_b, double reach, Contact *out, Vec3 *diff) {
  const uint32_t *ea = a->edge[prim_a], *eb = b->edge[prim_b];
  Vec3 a0 = a->x[ea[0]], a1 = a->x[ea[1]], b0 = b->x[eb[0]], b1 = b->x[eb[1]];
  Vec3 x0 = affine_point(qa, a0), x1 = affine_point(qa, a1), y0 = affine_point(qb, b0), y1 = affine_point(qb, b1);
  double s, t, d = closest_edge_edge(x0, x1, y0, y1, &s, &t, diff);
  if (d >= reach * reach) return d;
  double c_sq = norm_sq(cross(sub(x1, x0), sub(y1, y0))),
         eps = mollifier_eps(shape_edge_length_sq(a, prim_a), shape_edge_length_sq(b, prim_b));
  stencil_weights(out->wa, 1 - s, s);
  stencil_weights(out->wb, 1 - t, t);
  out->ya = add(scale(1 - s, a0), scale(s, a1));
  out->yb = add(scale(1 - t, b0), scale(t, b1));
  out->mollifier = mollifier(c_sq, eps);
  out->mollifier_d1 = mollifier_d1(c_sq, eps);
  return d;
}

/* Distance from the plane of a half-space: diff = n (n . (x - o)). Negative distances become zero. */
KERNEL double vertex_plane(const SideShape *a, const Affine *qa, int prim_a, const SideShape *b, const Affine *qb,
                           Contact *out, Vec3 *diff) {
  const uint32_t *t = b->triangle[0];
  Vec3 o = affine_point(qb, b->x[t[0]]), e1 = affine_vector(qb, sub(b->x[t[1]], b->x[t[0]])),
       e2 = affine_vector(qb, sub(b->x[t[2]], b->x[t[0]]));
  Vec3 normal = unit(cross(e1, e2)), x = affine_point(qa, a->x[prim_a]);
  double d = dot(normal, sub(x, o));
  out->ya = a->x[prim_a];
  stencil_weights(out->wa, 1, 0);
  *diff = scale(d, normal);
  Affine inverse = affine(vec3(0, 0, 0), mat3_inverse(affine_linear(qb)));
  out->yb = affine_vector(&inverse, sub(sub(x, *diff), qb->n[0]));
  return d > 0 ? d * d : 0;
}

/* The squared distance. Closest points, weights and mollifier are set if it is below reach squared; diff is the
 * distance vector from b to a. */
KERNEL double stencil_distance_sq(const SideShape *a, const Affine *qa, const SideShape *b, const Affine *qb, int kind,
                                  int prim_a, int prim_b, double reach, Contact *out, Vec3 *diff) {
  out->mollifier = 1;
  out->mollifier_d1 = 0;
  if (kind == STENCIL_VERTEX_TRIANGLE) {
    out->ya = a->x[prim_a];
    stencil_weights(out->wa, 1, 0);
    return vertex_triangle(a, qa, prim_a, b, qb, prim_b, out->wb, &out->yb, diff);
  }
  if (kind == STENCIL_TRIANGLE_VERTEX) {
    out->yb = b->x[prim_b];
    stencil_weights(out->wb, 1, 0);
    double d = vertex_triangle(b, qb, prim_b, a, qa, prim_a, out->wa, &out->ya, diff);
    *diff = neg(*diff);
    return d;
  }
  return kind == STENCIL_EDGE_EDGE ? edge_edge(a, qa, prim_a, b, qb, prim_b, reach, out, diff)
                                   : vertex_plane(a, qa, prim_a, b, qb, out, diff);
}

/* ---- candidates ---- */

/* Fills the bounds of a candidate at the reference. diff: from b's closest point to a's; y: the stencil's vertices on
 * b, all in b's rest frame. */
KERNEL void candidate_set(Candidate *c, double dist_sq, Vec3 diff, const Vec3 *y, int y_count) {
  double d = sqrt(dist_sq), shrink = d > 0 ? (1 - 1e-6) / d : 0, offset = -INFINITY;
  c->dist = (float)(d * (1 - 1e-6));
  c->normal[0] = (float)(diff.x * shrink);
  c->normal[1] = (float)(diff.y * shrink);
  c->normal[2] = (float)(diff.z * shrink);
  for (int i = 0; i < y_count; i++)
    offset = most(offset, c->normal[0] * y[i].x + c->normal[1] * y[i].y + c->normal[2] * y[i].z);
  c->offset = nextafterf((float)offset, INFINITY);
}

/* ---- lower bounds ---- */

/* The least of g . y over a primitive's vertices. */
KERNEL double shape_least(const SideShape *s, int dimension, int prim, Vec3 g) {
  if (dimension == 0) return dot(g, s->x[prim]);
  const uint32_t *v = dimension == 1 ? s->edge[prim] : s->triangle[prim];
  double along = least(dot(g, s->x[v[0]]), dot(g, s->x[v[1]]));
  return dimension == 1 ? along : least(along, dot(g, s->x[v[2]]));
}

/* A lower bound of a candidate's distance at relative pose t, in b's rest metric. */
KERNEL double candidate_gap(const SideShape *a, const Affine *t, const Candidate *c) {
  Vec3 n = vec3(c->normal[0], c->normal[1], c->normal[2]);
  Vec3 m = vec3(dot(n, t->n[1]), dot(n, t->n[2]), dot(n, t->n[3]));
  return shape_least(a, stencil_dimension(c->kind, false), c->prim_a, m) + dot(n, t->n[0]) - c->offset;
}

/* A lower bound at relative pose t, from the one at the reference and, if that is near, along the candidate's normal.
 * rel: motion since the reference. */
KERNEL double candidate_low(const SideShape *a, const Affine *t, const Candidate *c, double rel, double reach) {
  double low = c->dist - rel;
  return low <= PLANE_WITHIN * reach ? most(low, candidate_gap(a, t, c)) : low;
}

#endif
