/* Gradient and Hessian of a pair's barrier and friction. Every contact, mollifier and friction point is a spring: a
 * force and a stiffness K between two points. A point is a weighted sum of nodes: a stiff body's four with weights
 * (1, Y), or up to three vertices of a soft body. The barrier's K is the Gauss-Newton b'' n n^T, which is positive
 * semidefinite without an eigenvalue problem. All springs of a stiff body act on the same four nodes, so they are
 * summed as moments; a spring on soft vertices is stored by itself. Tested in tests/test_contact.c and
 * tests/test_soft.c. */
#include <string.h>

#include "contact/moment.h"
#include "contact/term.h"

/* Functions with an argument `soft` are inlined for both values: pairs of stiff bodies build no vertex weights. */
#define INLINE static inline __attribute__((always_inline))

/* One end of a spring: node weights of a stiff side, zero if the side is soft; vertices of a soft side. */
typedef struct End {
  double weight[4];
  const int *vertex; /* of the mesh */
  double share[3];
} End;

typedef struct Assembly {
  const ContactScene *scene;
  const Pair *pair;
  Side side[2];      /* of a pair with a soft side */
  bool summed;       /* a side is stiff: the springs are added to the moments */
  MomentBatch batch; /* of the stiff sides */
  Relief relief;
  bool relieved;  /* two stiff bodies and a negative weight */
  Spring *spring; /* the next one */
} Assembly;

/* ---- ends ---- */

static int stiff_body(const Pair *p, const Model *m) {
  return !m->body[p->a].soft ? p->a : !m->body[p->b].soft ? p->b : -1;
}

int pair_stiff_side(const Pair *p, const Model *m) {
  int body = stiff_body(p, m);
  return body >= 0 && m->body[body].slot >= 0 ? body : -1;
}

static void corners(const Mesh *mesh, int prim, int dimension, int v[3]) {
  for (int k = 0; k < 3; k++)
    v[k] = dimension == 0 ? prim : dimension == 1 ? (int)mesh->edge[prim][k < 2 ? k : 0] : (int)mesh->triangle[prim][k];
}

void pair_corners(const Pair *p, const ContactScene *scene, const Contact *c, int va[3], int vb[3]) {
  corners(scene_side(scene, p->a).mesh, c->prim_a, stencil_dimension(c->kind, false), va);
  if (c->kind == STENCIL_VERTEX_PLANE) memset(vb, 0, 3 * sizeof(int));
  else corners(scene_side(scene, p->b).mesh, c->prim_b, stencil_dimension(c->kind, true), vb);
}

/* first: 1 for a point, 0 for a direction. */
INLINE End make_end(bool soft, const Side *side, double first, Vec3 y, const int *vertex, const double share[3]) {
  if (!soft || !side->surface) return (End){.weight = {first, y.x, y.y, y.z}};
  return (End){.vertex = vertex, .share = {share[0], share[1], share[2]}};
}

/* ---- springs on soft vertices ---- */

/* A vertex that belongs to both primitives gets the sum of its weights. */
static void put_vertex(Spring *s, int vertex, double weight) {
  for (int i = 0; i < s->count; i++)
    if (s->vertex[i] == vertex) {
      s->weight[i] += weight;
      return;
    }
  s->vertex[s->count] = vertex;
  s->weight[s->count++] = weight;
}

static void put_end(const Assembly *s, int body, const End *end, double sign) {
  const Model *m = s->scene->model;
  Spring *out = s->spring;
  if (!end->vertex) {
    for (int n = 0; n < 4; n++) out->body[n] = sign * end->weight[n];
    return;
  }
  const Soft *soft = &m->soft[m->body[body].soft - 1];
  for (int k = 0; k < 3; k++) {
    int vertex = soft->first + soft->surface_vertex[end->vertex[k]];
    if (end->share[k] != 0 && block_moves(m, vertex)) put_vertex(out, vertex, sign * end->share[k]);
  }
}

static Sym3 sym3_scale(double f, const Sym3 *k) {
  return (Sym3){f * k->xx, f * k->yy, f * k->zz, f * k->xy, f * k->xz, f * k->yz};
}

/* a or b: NULL = no such end. */
static void put_spring(Assembly *s, const Term *t, const End *a, const End *b) {
  *s->spring = (Spring){.force = t->force, .stiffness = sym3_scale(t->factor, &t->stiffness)};
  if (a) put_end(s, s->pair->a, a, 1);
  if (b) put_end(s, s->pair->b, b, a ? -1 : 1);
  s->spring++;
}

/* ---- terms ---- */

INLINE void add_spring(bool soft, Assembly *s, const Term *t, const End *a, const End *b) {
  if (!soft || s->summed) moments_add(&s->batch, t->force, t->factor, &t->stiffness, a->weight, b->weight);
  if (soft) put_spring(s, t, a, b);
}

/* Adds the gradient by an edge's direction. */
static void add_turn(Assembly *s, int side, Vec3 gradient, const End *end) {
  const Term t = {.force = gradient};
  if (!end->vertex) {
    Vec3 *g = side ? s->batch.sum->gb : s->batch.sum->ga;
    for (int i = 1; i < 4; i++) g[i] = add_scaled(g[i], end->weight[i], gradient);
  } else {
    put_spring(s, &t, side ? NULL : end, side ? end : NULL);
  }
}

static void add_mollifier(Assembly *s, const Contact *c, const Affine *qa, const Affine *qb) {
  const bool soft = s->pair->soft;
  const Side sides[2] = {scene_side(s->scene, s->pair->a), scene_side(s->scene, s->pair->b)}, *a = &sides[0],
             *b = &sides[1];
  const int *ea = (const int *)a->mesh->edge[c->prim_a], *eb = (const int *)b->mesh->edge[c->prim_b];
  const int va[3] = {ea[0], ea[1], ea[0]}, vb[3] = {eb[0], eb[1], eb[0]};
  Vec3 ur = sub(a->x[ea[1]], a->x[ea[0]]), vr = sub(b->x[eb[1]], b->x[eb[0]]);
  const MollifierTerm t = mollifier_term(c, s->pair->stiffness, affine_vector(qa, ur), affine_vector(qb, vr));
  const End end_u = make_end(soft, a, 0, ur, va, (double[3]){-1, 1, 0}),
            end_v = make_end(soft, b, 0, vr, vb, (double[3]){-1, 1, 0});
  add_turn(s, 0, t.by_u, &end_u);
  add_turn(s, 1, t.by_v, &end_v);
  const End long_u = make_end(soft, a, 0, scale(t.long_u, ur), va, (double[3]){-t.long_u, t.long_u, 0}),
            long_v = make_end(soft, b, 0, scale(t.to_v, vr), vb, (double[3]){-t.to_v, t.to_v, 0});
  add_spring(soft, s, &(Term){vec3(0, 0, 0), 1, t.stiffness}, &long_u, &long_v);
}

/* Does friction act on the very points of the contact? It does in the iteration in which its point was made. */
static bool shares_points(const FrictionPoint *f, const Contact *c) {
  return friction_way(f) == FRICTION_SLIDE && norm_sq(sub(f->ya, c->ya)) == 0 && norm_sq(sub(f->yb, c->yb)) == 0;
}

/* Adds a spring between the same points to one whose factor is 1. */
static void join(Term *t, const Term *other) {
  double f = other->factor;
  const Sym3 *k = &other->stiffness;
  t->force = add(t->force, other->force);
  t->stiffness = (Sym3){t->stiffness.xx + f * k->xx, t->stiffness.yy + f * k->yy, t->stiffness.zz + f * k->zz,
                        t->stiffness.xy + f * k->xy, t->stiffness.xz + f * k->xz, t->stiffness.yz + f * k->yz};
}

/* friction: a point on the contact's points, NULL = none. */
INLINE void add_contact(bool soft, Assembly *s, const Contact *c, const FrictionPoint *friction, const Affine *qa,
                        const Affine *qb) {
  int va[3], vb[3];
  if (soft) pair_corners(s->pair, s->scene, c, va, vb);
  const End a = make_end(soft, &s->side[0], 1, c->ya, va, c->wa), b = make_end(soft, &s->side[1], 1, c->yb, vb, c->wb);
  Term t = contact_term(c, s->pair->stiffness, s->scene->range, !soft && s->relieved ? &s->relief : NULL);
  if (friction) {
    const Term rubbing = friction_term(friction, s->scene->friction_eps);
    join(&t, &rubbing);
  }
  add_spring(soft, s, &t, &a, &b);
  if (c->mollifier_d1 != 0) add_mollifier(s, c, qa, qb);
}

INLINE void add_friction(bool soft, Assembly *s, const FrictionPoint *f) {
  const double first = friction_way(f) == FRICTION_SLIDE ? 1 : 0;
  const End a = make_end(soft, &s->side[0], first, f->ya, f->va, f->wa),
            b = make_end(soft, &s->side[1], first, f->yb, f->vb, f->wb);
  const Term t = friction_term(f, s->scene->friction_eps);
  add_spring(soft, s, &t, &a, &b);
}

/* The gradient by a change of a friction point's load. */
static void add_change(Assembly *s, const FrictionPoint *f) {
  const double first = friction_way(f) == FRICTION_SLIDE ? 1 : 0;
  const bool soft = s->pair->soft;
  const End a = make_end(soft, &s->side[0], first, f->ya, f->va, f->wa),
            b = make_end(soft, &s->side[1], first, f->yb, f->vb, f->wb);
  const Term t = {.force = friction_gradient(f, f->change, s->scene->friction_eps)};
  for (int i = 0; s->summed && i < 4; i++) {
    s->batch.sum->ga[i] = add_scaled(s->batch.sum->ga[i], a.weight[i], t.force);
    s->batch.sum->gb[i] = add_scaled(s->batch.sum->gb[i], -b.weight[i], t.force);
  }
  if (soft) put_spring(s, &t, &a, &b);
}

/* ---- a pair ---- */

enum { MOLLIFIER_SPRINGS = 3 }; /* the stiffness, and one gradient per soft edge */

static int spring_count(const Pair *p, const ContactScene *scene) {
  const Contact *contact = pair_contacts(p, scene);
  int count = p->acting + p->friction.count;
  for (int i = 0; i < p->acting; i++) count += contact[i].mollifier_d1 != 0 ? MOLLIFIER_SPRINGS : 0;
  return count;
}

static bool reserve(Assembly *s, Pair *p) {
  PairStore *store = s->scene->store;
  if (s->summed && p->moments.count == 0 && !pool_extend(&store->moments, &p->moments, 1)) return false;
  return !p->soft || (s->spring = pool_extend(&store->spring, &p->spring, spring_count(p, s->scene)));
}

/* Contacts of soft sides act on vertices of their own. */
static void find_relief(Assembly *s, const Contact *contact) {
  int i = 0, count = s->pair->acting;
  while (i < count && contact[i].weight >= 0) i++;
  s->relieved = i < count;
  if (!s->relieved) return;
  s->relief = relief_zero();
  for (i = 0; i < count; i++) relief_add(&s->relief, &contact[i]);
}

INLINE void add_all(bool soft, Assembly *s, const Affine *qa, const Affine *qb) {
  const Contact *contact = pair_contacts(s->pair, s->scene);
  if (!soft) find_relief(s, contact);
  const FrictionPoint *friction = pair_friction(s->pair, s->scene);
  int f = 0, points = s->pair->friction.count; /* in the order of their contacts */
  for (int i = 0; i < s->pair->acting; i++) {
    while (f < points && friction[f].contact < i) add_friction(soft, s, &friction[f++]);
    bool joined = !soft && f < points && friction[f].contact == i && shares_points(&friction[f], &contact[i]);
    add_contact(soft, s, &contact[i], joined ? &friction[f++] : NULL, qa, qb);
  }
  while (f < points) add_friction(soft, s, &friction[f++]);
}

/* False if there is nothing to assemble, or memory is out. */
static bool begin(Assembly *s, Pair *pair, const ContactScene *scene) {
  if (pair->soft) pair->spring.count = 0;
  if (pair->contact.count == 0 && pair->friction.count == 0) return false;
  s->scene = scene;
  s->pair = pair;
  s->summed = !pair->soft || stiff_body(pair, scene->model) >= 0;
  for (int k = 0; pair->soft && k < 2; k++) s->side[k] = scene_side(scene, k ? pair->b : pair->a);
  pair->failed |= !reserve(s, pair);
  if (s->summed && !pair->failed) moments_begin(&s->batch, pair_moment_sums(pair, scene));
  return !pair->failed;
}

void pair_assemble_change(Pair *pair, const ContactScene *scene) {
  Assembly s;
  if (!begin(&s, pair, scene)) return;
  const FrictionPoint *friction = pair_friction(pair, scene);
  const Spring *first = s.spring;
  for (int i = 0; i < pair->friction.count; i++) add_change(&s, &friction[i]);
  if (pair->soft) pair->spring.count = (int)(s.spring - first);
}

void pair_assemble(Pair *pair, const ContactScene *scene, const Affine *qa, const Affine *qb) {
  Assembly s;
  if (!begin(&s, pair, scene)) return;
  pair_set_chords(pair, scene);
  if (pair->soft) {
    const Spring *first = s.spring;
    add_all(true, &s, qa, qb);
    pair->spring.count = (int)(s.spring - first);
  } else {
    add_all(false, &s, qa, qb);
  }
  if (s.summed) moments_flush(&s.batch);
}
