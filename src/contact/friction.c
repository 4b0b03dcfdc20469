/* Lagged friction with anchors. The tangential displacement of a contact is counted from where it last stuck: its part in
 * this step plus the slip carried over, an elastic-plastic spring of length at most eps. At rest under load the slip is
 * constant, so nothing creeps. Tested in tests/test_physics_contact.c. */
#include "contact/pair.h"

#include "kernel/friction.h"

static uint64_t contact_key(const Contact *c) {
  return (uint64_t)c->kind << 60 | (uint64_t)(uint32_t)c->prim_a << 30 | (uint64_t)(uint32_t)c->prim_b;
}

/* The anchor of the same stencil, else the nearest one of the pair: stencils change as contacts slide, slips hardly do. */
static const Anchor *find_anchor(const Anchor *anchor, int count, uint64_t key, Vec3 at) {
  const Anchor *best = NULL;
  double best_sq = INFINITY;
  for (int i = 0; i < count; i++) {
    if (anchor[i].key == key) return &anchor[i];
    double d = norm_sq(sub(anchor[i].at, at));
    if (d < best_sq) {
      best_sq = d;
      best = &anchor[i];
    }
  }
  return best;
}

Vec3 friction_displacement(const FrictionPoint *f, const Affine *qa, const Affine *qb) {
  Vec3 r = sub(sub(affine_point(qa, f->ya), affine_point(qb, f->yb)), f->origin);
  return add(add_scaled(r, -dot(f->normal, r), f->normal), f->slip);
}

Vec3 friction_slip_after(const FrictionPoint *f, const ContactScene *scene, const Affine *qa, const Affine *qb) {
  Vec3 u = friction_displacement(f, qa, qb);
  double length = norm(u);
  if (length > scene->friction_eps) u = scale(scene->friction_eps / length, u);
  return mat3_tmul_vec(affine_linear(qb), u);
}

bool pair_lag(Pair *pair, const ContactScene *scene, const Affine q_start[2], const Anchor *anchor, int anchor_count) {
  pair->friction_count = 0;
  if (pair->mu <= 0) return true;
  if (!mem_reserve((void **)&pair->friction, &pair->friction_capacity, pair->contact_count, sizeof(FrictionPoint))) return false;
  for (int i = 0; i < pair->contact_count; i++) {
    const Contact *c = &pair->contact[i];
    double force = -pair->stiffness * c->mollifier * c->slope / scene->range;
    if (!(force > 0)) continue;
    FrictionPoint *f = &pair->friction[pair->friction_count++];
    f->key = contact_key(c);
    f->ya = c->ya;
    f->yb = c->yb;
    f->normal = c->normal;
    f->load = pair->mu * force;
    f->origin = sub(affine_point(&q_start[0], c->ya), affine_point(&q_start[1], c->yb));
    const Anchor *old = find_anchor(anchor, anchor_count, f->key, c->ya);
    Vec3 slip = old ? affine_vector(&q_start[1], old->slip) : vec3(0, 0, 0);
    f->slip = add_scaled(slip, -dot(c->normal, slip), c->normal);
  }
  return true;
}

void pair_friction_start(Pair *pair, const ContactScene *scene, const Affine *qa, const Affine *qb) {
  for (int i = 0; i < pair->friction_count; i++) {
    Vec3 u = friction_displacement(&pair->friction[i], qa, qb);
    pair->friction[i].force = scale(friction_f1_over_y(norm(u), scene->friction_eps), u);
  }
}

void pair_friction_advance(Pair *pair, const ContactScene *scene, const Affine from[2], const Affine to[2], double length) {
  for (int i = 0; i < pair->friction_count; i++) {
    FrictionPoint *f = &pair->friction[i];
    Vec3 u = friction_displacement(f, &from[0], &from[1]), du = sub(friction_displacement(f, &to[0], &to[1]), u);
    f->force = friction_force_after(u, f->force, du, length, scene->friction_eps);
  }
}
