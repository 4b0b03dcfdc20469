/* Lagged friction with anchors. The tangential displacement of a contact is its displacement in this step plus the slip
 * carried over: an elastic-plastic spring of length at most eps. At rest under load the slip is constant, so nothing
 * creeps. Tested in tests/test_physics_contact.c. */
#include "contact/pair.h"
#include "contact/term.h"

#include <string.h>

#include "kernel/constant.h"

/* Anchors have the order of the friction points that left them: unique points from the front, duplicates from the back.
 * If no contact has changed, lookups follow that order. */
typedef struct Lookup {
  const Anchor *anchor;
  int count, front, back;
} Lookup;

/* Finds the anchor of the same stencil, else the nearest anchor of the pair: stencils change as contacts slide, slips
 * hardly do. */
static const Anchor *find_anchor(Lookup *l, uint64_t key, Vec3 at) {
  if (l->front < l->count && l->anchor[l->front].key == key) return &l->anchor[l->front++];
  if (l->back >= 0 && l->anchor[l->back].key == key) return &l->anchor[l->back--];
  const Anchor *best = NULL;
  double best_sq = INFINITY;
  for (int i = 0; i < l->count; i++) {
    if (l->anchor[i].key == key) {
      l->front = i + 1;
      return &l->anchor[i];
    }
    double d = norm_sq(sub(l->anchor[i].at, at));
    if (d < best_sq) {
      best_sq = d;
      best = &l->anchor[i];
    }
  }
  return best;
}

/* The position of a side's point: a stiff body's by its pose, a soft body's by its vertices now or at the start of the
 * step. */
static Vec3 side_point(Side side, const Affine *q, Vec3 rest, const int v[3], const double w[3], bool at_start) {
  if (!side.surface) return affine_point(q, rest);
  const Vec3 *x = at_start ? side.surface->start : side.x;
  return add_scaled(add_scaled(scale(w[0], x[v[0]]), w[1], x[v[1]]), w[2], x[v[2]]);
}

static Vec3 point_gap(const Pair *p, const FrictionPoint *f, const ContactScene *scene, const Affine *qa,
                      const Affine *qb, bool at_start) {
  if (!p->soft) return sub(affine_point(qa, f->ya), affine_point(qb, f->yb));
  return sub(side_point(scene_side(scene, p->a), qa, f->ya, f->va, f->wa, at_start),
             side_point(scene_side(scene, p->b), qb, f->yb, f->vb, f->wb, at_start));
}

Vec3 friction_displacement(const Pair *p, const FrictionPoint *f, const ContactScene *scene, const Affine *qa,
                           const Affine *qb) {
  return friction_slip_at(f, point_gap(p, f, scene, qa, qb, false));
}

Vec3 friction_slip_after(const Pair *p, const FrictionPoint *f, const ContactScene *scene, const Affine *qa,
                         const Affine *qb) {
  Vec3 u = friction_displacement(p, f, scene, qa, qb);
  double length = norm(u);
  if (length > scene->friction_eps) u = scale(scene->friction_eps / length, u);
  return mat3_tmul_vec(affine_linear(qb), u);
}

static bool near(Vec3 a, Vec3 b, double tolerance) { return norm_sq(sub(a, b)) <= tolerance * tolerance; }

/* Finds a unique point that coincides with f up to rounding. Corners and edges touch as parts of several triangles and
 * edges. */
static FrictionPoint *find_same(FrictionPoint *point, int n, const FrictionPoint *f, double size) {
  for (FrictionPoint *g = point + (n > FRICTION_NEIGHBOURS ? n - FRICTION_NEIGHBOURS : 0); g < point + n; g++)
    if (near(g->ya, f->ya, 1e-12 * size) && near(g->yb, f->yb, 1e-12 * size) && near(g->normal, f->normal, 1e-9) &&
        near(g->slip, f->slip, 1e-12 * size))
      return g;
  return NULL;
}

static void lag_point(const Pair *pair, const ContactScene *scene, const Affine q_start[2], const Contact *c,
                      Lookup *anchors, FrictionPoint *f) {
  f->key = contact_key(c);
  f->ya = c->ya;
  f->yb = c->yb;
  f->normal = c->normal;
  f->load = f->sum = -pair->mu * pair->stiffness * c->mollifier * c->slope / scene->range;
  if (pair->soft) pair_corners(pair, scene, c, f->va, f->vb);
  memcpy(f->wa, c->wa, sizeof f->wa);
  memcpy(f->wb, c->wb, sizeof f->wb);
  f->origin = point_gap(pair, f, scene, &q_start[0], &q_start[1], true);
  const Anchor *old = find_anchor(anchors, f->key, c->ya);
  Vec3 slip = old ? affine_vector(&q_start[1], old->slip) : vec3(0, 0, 0);
  f->slip = add_scaled(slip, -dot(c->normal, slip), c->normal);
}

/* Unique points are stored from the front, duplicates from the back. */
bool pair_lag(Pair *pair, const ContactScene *scene, const Affine q_start[2], const Anchor *anchor, int anchor_count) {
  pair->friction.count = pair->friction_unique = 0;
  if (pair->mu <= 0 || pair->contact.count == 0) return true;
  FrictionPoint *point = pool_extend(&scene->store->friction, &pair->friction, pair->contact.count);
  if (!point) return false;
  const Contact *contact = pair_contacts(pair, scene);
  double size = scene->model->mesh[scene->model->body[pair->a].mesh].radius; /* of the smaller body */
  Lookup anchors = {anchor, anchor_count, 0, anchor_count - 1};
  int back = pair->contact.count, unique = 0;
  for (int i = 0; i < pair->contact.count; i++) {
    FrictionPoint *f = &point[unique];
    lag_point(pair, scene, q_start, &contact[i], &anchors, f);
    if (!(f->load > 0)) continue;
    FrictionPoint *same = pair->soft ? NULL : find_same(point, unique, f, size);
    if (!same) {
      unique++;
      continue;
    }
    same->sum += f->load;
    point[--back] = *f;
  }
  int rest = pair->contact.count - back;
  memmove(point + unique, point + back, (size_t)rest * sizeof(FrictionPoint));
  pair->friction.count = unique + rest;
  pair->friction_unique = unique;
  return true;
}

double pair_friction_energy(Pair *pair, const ContactScene *scene, const Affine *qa, const Affine *qb) {
  const double eps = scene->friction_eps;
  FrictionPoint *point = pair_friction(pair, scene);
  double e = 0;
  for (int i = 0; i < pair->friction_unique; i++) {
    FrictionPoint *f = &point[i];
    f->trial = friction_displacement(pair, f, scene, qa, qb);
    e += f->sum * friction_f0(norm(f->trial), eps);
  }
  return e;
}

double pair_friction_work(const Pair *pair, const ContactScene *scene) {
  const FrictionPoint *point = pair_friction(pair, scene);
  double work = 0;
  for (int i = 0; i < pair->friction_unique; i++) {
    const FrictionPoint *f = &point[i];
    double force = f->sum * friction_f1_over_y(norm(f->displacement), scene->friction_eps);
    work -= force * dot(f->displacement, sub(f->displacement, f->slip));
  }
  return work;
}

void pair_friction_start(Pair *pair, const ContactScene *scene, const Affine *qa, const Affine *qb) {
  FrictionPoint *point = pair_friction(pair, scene);
  for (int i = 0; i < pair->friction.count; i++) {
    Vec3 u = friction_displacement(pair, &point[i], scene, qa, qb);
    point[i].displacement = point[i].trial = u;
    point[i].force = scale(friction_f1_over_y(norm(u), scene->friction_eps), u);
  }
}

void pair_friction_advance(Pair *pair, const ContactScene *scene, double length) {
  const double eps = scene->friction_eps;
  FrictionPoint *point = pair_friction(pair, scene);
  for (int i = 0; i < pair->friction_unique; i++) {
    FrictionPoint *f = &point[i];
    f->force = friction_force_after(f->displacement, f->force, sub(f->trial, f->displacement), length, eps);
    f->displacement = f->trial;
  }
}
