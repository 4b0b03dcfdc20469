/* What is measured of a pair in b's rest frame: how far a moved in it, how far a candidate is in front of its plane. Tested in
 * tests/test_contact.c. */
#include "contact/pair.h"

#include <string.h>

void pair_destroy(Pair *pair) {
  mem_free(pair->candidate);
  mem_free(pair->contact);
  mem_free(pair->friction);
  mem_free(pair->moments);
  memset(pair, 0, sizeof *pair);
}

void pair_order(const Model *model, int *a, int *b) {
  const Mesh *x = &model->mesh[model->body[*a].mesh], *y = &model->mesh[model->body[*b].mesh];
  bool swap = y->half_space != x->half_space ? x->half_space : x->radius > y->radius || (x->radius == y->radius && *a < *b);
  if (swap) {
    int t = *a;
    *a = *b;
    *b = t;
  }
}

double pair_displacement(const Mesh *a, const Affine *t0, const Affine *t1) {
  Affine d = affine_sub(*t1, *t0);
  double largest = 0;
  for (int k = 0; k < 8; k++) {
    Vec3 corner = vec3(k & 1 ? a->box.hi.x : a->box.lo.x, k & 2 ? a->box.hi.y : a->box.lo.y, k & 4 ? a->box.hi.z : a->box.lo.z);
    double m = norm_sq(affine_point(&d, corner));
    if (m > largest) largest = m;
  }
  return sqrt(largest);
}

double least_stretch(const Affine *q) {
  Mat3 a = affine_linear(q), c = mat3_tmul(a, a);
  c.c[0].x -= 1;
  c.c[1].y -= 1;
  c.c[2].z -= 1;
  double s = sqrt(mat3_dot(c, c));
  return s < 0.75 ? sqrt(1 - s) : 0.5 / (1 + 1e3 * s); /* far from rigid: a bound too small to be of use, never too large */
}

double candidate_gap(const Mesh *a, const Affine *t, const Candidate *c) {
  Vec3 n = vec3(c->normal[0], c->normal[1], c->normal[2]);
  Vec3 m = vec3(dot(n, t->n[1]), dot(n, t->n[2]), dot(n, t->n[3]));
  double gap;
  if (c->kind == STENCIL_EDGE_EDGE) {
    const uint32_t *e = a->edge[c->prim_a];
    gap = least(dot(m, a->vertex[e[0]]), dot(m, a->vertex[e[1]]));
  } else if (c->kind == STENCIL_TRIANGLE_VERTEX) {
    const uint32_t *v = a->triangle[c->prim_a];
    gap = least(least(dot(m, a->vertex[v[0]]), dot(m, a->vertex[v[1]])), dot(m, a->vertex[v[2]]));
  } else {
    gap = dot(m, a->vertex[c->prim_a]);
  }
  return gap + dot(n, t->n[0]) - c->offset;
}
