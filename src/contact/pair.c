/* What is measured of a pair in b's rest frame: how far a moved in it, how far a candidate is in front of its plane. Tested in
 * tests/test_contact.c. */
#include "contact/pair.h"

#include <string.h>

void pair_destroy(Pair *pair) {
  mem_free(pair->candidate);
  mem_free(pair->contact);
  mem_free(pair->friction);
  mem_free(pair->moments);
  mem_free(pair->ref_vertex[0]);
  mem_free(pair->ref_vertex[1]);
  memset(pair, 0, sizeof *pair);
}

void pair_order(const Model *model, int *a, int *b) {
  const Mesh *x = &model->mesh[model->body[*a].mesh], *y = &model->mesh[model->body[*b].mesh];
  bool larger = x->radius > y->radius || (x->radius == y->radius && *a < *b);
  bool soft_a = model->body[*a].soft, soft_b = model->body[*b].soft;
  bool swap = y->half_space != x->half_space ? x->half_space : soft_a != soft_b ? soft_b : soft_a ? *a < *b : larger;
  if (swap) {
    int t = *a;
    *a = *b;
    *b = t;
  }
}

/* All corners of the box at once: every pair asks for this in every iteration, most of them for nothing else. */
double pair_displacement(const Mesh *a, const Affine *t0, const Affine *t1) {
  typedef double Lanes __attribute__((vector_size(64)));
  const Affine d = affine_sub(*t1, *t0);
  const Vec3 lo = a->box.lo, hi = a->box.hi;
  const Lanes x = {lo.x, hi.x, lo.x, hi.x, lo.x, hi.x, lo.x, hi.x},
              y = {lo.y, lo.y, hi.y, hi.y, lo.y, lo.y, hi.y, hi.y};
  const Lanes z = {lo.z, lo.z, lo.z, lo.z, hi.z, hi.z, hi.z, hi.z};
  Lanes u = d.n[0].x + x * d.n[1].x + y * d.n[2].x + z * d.n[3].x;
  Lanes v = d.n[0].y + x * d.n[1].y + y * d.n[2].y + z * d.n[3].y;
  Lanes w = d.n[0].z + x * d.n[1].z + y * d.n[2].z + z * d.n[3].z;
  Lanes m = u * u + v * v + w * w;
  double p = most(m[0], m[1]), q = most(m[2], m[3]), r = most(m[4], m[5]), s = most(m[6], m[7]);
  return sqrt(most(most(p, q), most(r, s)));
}

bool pair_stands(const Pair *pair, const ContactScene *scene, const Affine *qa, const Affine *qb) {
  const Travel *t = scene->travel;
  return t && memcmp(&t[pair->a].at, qa, sizeof *qa) == 0 && memcmp(&t[pair->b].at, qb, sizeof *qb) == 0;
}

bool pair_found_here(const Pair *pair, const ContactScene *scene) {
  const Travel *t = scene->travel;
  return t && pair->met[0] > 0 && pair->met[0] == t[pair->a].stops && pair->met[1] == t[pair->b].stops &&
         pair->barrier < INFINITY;
}

void pair_note(Pair *pair, const ContactScene *scene, double rel, double near) {
  const Travel *a = &scene->travel[pair->a], *b = &scene->travel[pair->b];
  pair->watch = (Watch){{a->stops, b->stops}, {a->gone.corner, b->gone.shift, b->gone.turn}, rel, near};
}

double pair_way(const Pair *pair, const ContactScene *scene) {
  const Watch *w = &pair->watch;
  if (!pair->listed || w->stops[0] == 0) return INFINITY;
  const Travel *a = &scene->travel[pair->a], *b = &scene->travel[pair->b];
  if (w->stops[0] == a->stops && w->stops[1] == b->stops) return 0;
  double way = a->gone.corner - w->gone.corner + b->gone.shift - w->gone.shift +
               (b->gone.turn - w->gone.turn) * (pair->extent + w->rel);
  return way / b->stretch * (1 + 1e-9);
}

double least_stretch(const Affine *q) {
  Mat3 a = affine_linear(q), c = mat3_tmul(a, a);
  c.c[0].x -= 1;
  c.c[1].y -= 1;
  c.c[2].z -= 1;
  double s = sqrt(mat3_dot(c, c));
  return s < 0.75 ? sqrt(1 - s)
                  : 0.5 / (1 + 1e3 * s); /* far from rigid: a bound too small to be of use, never too large */
}

double side_least(const Side *side, int dimension, int prim, Vec3 g) {
  if (dimension == 0) return dot(g, side->x[prim]);
  const uint32_t *v = dimension == 1 ? side->mesh->edge[prim] : side->mesh->triangle[prim];
  double along = least(dot(g, side->x[v[0]]), dot(g, side->x[v[1]]));
  return dimension == 1 ? along : least(along, dot(g, side->x[v[2]]));
}

double candidate_gap(const Side *a, const Affine *t, const Candidate *c) {
  Vec3 n = vec3(c->normal[0], c->normal[1], c->normal[2]);
  Vec3 m = vec3(dot(n, t->n[1]), dot(n, t->n[2]), dot(n, t->n[3]));
  return side_least(a, stencil_dimension(c->kind, false), c->prim_a, m) + dot(n, t->n[0]) - c->offset;
}
