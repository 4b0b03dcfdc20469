/* Friction points of contacts, and the loads that follow the normal forces. Compiles as C and as CUDA. Tested in
 * tests/test_load.c and tests/test_cuda_serial.c. */
#ifndef ABD_CONTACT_POINT_H
#define ABD_CONTACT_POINT_H

#include "contact/term.h"
#include "kernel/constant.h"
#include "model/anchor.h"

/* Of a negative weight it is negative. stiffness: the pair's. */
KERNEL double contact_force(const Contact *c, double stiffness, double range) {
  return -stiffness * c->weight * c->slope / range;
}

/* The normal force at the end of Newton's step, as its equations have it. apart: how far the step parts the contact's
 * points along the normal. */
KERNEL double contact_force_ahead(const Contact *c, double stiffness, double range, double apart) {
  double k = stiffness * c->weight / range;
  return most(0, -k * (c->slope + c->curvature / range * apart));
}

/* The part of a slip that the point resists. */
KERNEL Vec3 point_resisted(const FrictionPoint *f, Vec3 u) {
  double along = dot(f->normal, u);
  return friction_way(f) == FRICTION_SPIN ? scale(along, f->normal) : add_scaled(u, -along, f->normal);
}

KERNEL uint64_t point_key(const Contact *c, int way) { return contact_key(c) | (uint64_t)way << FRICTION_WAY_SHIFT; }

KERNEL Vec3 any_across(Vec3 n) {
  Vec3 a = vec3_abs(n), e = a.x <= a.y && a.x <= a.z ? vec3(1, 0, 0) : a.y <= a.z ? vec3(0, 1, 0) : vec3(0, 0, 1);
  return unit(cross(n, e));
}

/* The point of a contact that resists in one way. start: poses of a and b at the start of the step. The directions of
 * rolling and spinning have the length of the arm and are the same for both bodies at the start. */
KERNEL void point_open(FrictionPoint *f, const Contact *c, FrictionWay way, const Affine start[2], double arm) {
  f->key = point_key(c, (int)way);
  f->ya = f->at = c->ya;
  f->yb = c->yb;
  f->normal = c->normal;
  for (int i = 0; i < 3; i++) {
    f->wa[i] = c->wa[i];
    f->wb[i] = c->wb[i];
  }
  if (way == FRICTION_SLIDE) return;
  Vec3 e = way == FRICTION_ROLL ? c->normal : any_across(c->normal);
  f->across = cross(c->normal, e);
  f->ya = mat3_tmul_vec(affine_linear(&start[0]), scale(arm, e));
  f->yb = mat3_tmul_vec(affine_linear(&start[1]), scale(arm, e));
}

/* The nearest anchor to a point of a, of those with the way of the key; -1 if there is none. */
KERNEL int anchor_nearest(const Anchor *anchor, int count, uint64_t key, Vec3 at) {
  int best = -1;
  double best_sq = INFINITY;
  for (int i = 0; i < count; i++) {
    double d = norm_sq(sub(anchor[i].at, at));
    if (d < best_sq && anchor[i].key >> FRICTION_WAY_SHIFT == key >> FRICTION_WAY_SHIFT) {
      best_sq = d;
      best = i;
    }
  }
  return best;
}

/* The slip that the point carries over. index: of its anchor, -1 if it has none. start: pose of b at the start of the
 * step. */
KERNEL void point_set_slip(FrictionPoint *f, const Anchor *anchor, int index, const Affine *start) {
  f->anchor = index;
  f->slip = point_resisted(f, index < 0 ? vec3(0, 0, 0) : affine_vector(start, anchor[index].slip));
}

/* The force of a point is that of the one before, NULL = that of its slip u. */
KERNEL void point_set_load(FrictionPoint *f, const FrictionPoint *before, Vec3 u, double load, double eps) {
  f->displacement = f->trial = u;
  f->force = before ? point_resisted(f, before->force) : scale(friction_f1_over_y(norm(u), eps), u);
  f->load = f->ahead = load;
  f->miss = before ? before->miss : 0;
}

/* Moves a load by `weight` towards `ahead`; beyond it only if the load creeps there itself. A load that falls beyond it
 * falls by a factor at most: it is never negative. The matrix has the stiffness of the loads so far. A load far above
 * would push without resistance, so it grows by a factor at most; the rest waits for the next matrix. */
KERNEL void point_move_load(FrictionPoint *f, double ahead, double weight, LoadChange *sum) {
  double before = f->load, miss = ahead - before;
  if (weight > 1 && !(miss * f->miss > LOAD_CREEPS * f->miss * f->miss)) weight = 1;
  f->ahead = most(before + weight * miss, least(ahead, before / LOAD_GROWTH));
  f->load = least(f->ahead, LOAD_GROWTH * before);
  f->change = f->load - before;
  sum->change += fabs(weight * miss);
  sum->load += f->ahead;
  sum->product += miss * f->miss;
  sum->square += f->miss * f->miss;
  f->miss = miss;
}

/* ---- loads of contacts whose features change ---- */

/* A corner that slides from a face over an edge becomes another contact, with another key. Points whose contact is gone
 * pass their load on. The contacts without a point get that of the nearest such point, and share it by their normal
 * forces; what no contact claims goes to the nearest contact. So the sum of the loads stays. */

enum { SUCCESSOR_NONE = -2, SUCCESSOR_SHARED = -1 };

typedef struct Passing {
  FrictionPoint *point; /* the points so far */
  int count;
  int lost;               /* how many of them no contact has the key of */
  const Contact *contact; /* the contacts now, in the order of index; NULL = as they are */
  const int *index;
  int contacts;
  double stiffness, range;
  double factor[FRICTION_WAYS]; /* load over the normal force */
} Passing;

KERNEL const Contact *passing_contact(const Passing *s, int i) { return &s->contact[s->index ? s->index[i] : i]; }

KERNEL double passing_force(const Passing *s, int i) {
  return contact_force(passing_contact(s, i), s->stiffness, s->range);
}

/* Has the contact a friction point of this way? Never if a force is not finite. */
KERNEL bool contact_rubs(const Passing *s, int contact, int way) {
  return s->factor[way] > 0 && passing_force(s, contact) > 0;
}

/* Contacts of negative weight have no friction of their own: they reduce that of the others. The part that is left.
 * sum: of the normal forces; positive: of those that are. */
KERNEL double part_rubbing(double sum, double positive) { return positive > 0 ? most(sum, 0) / positive : 1; }

/* The nearest point without a contact, -1 if there is none. */
KERNEL int nearest_lost(const Passing *s, int way, Vec3 at) {
  int best = -1;
  double best_sq = INFINITY;
  for (int i = 0; s->lost > 0 && i < s->count; i++) {
    const FrictionPoint *f = &s->point[i];
    double d = norm_sq(sub(f->at, at));
    if (f->successor >= 0 || (int)friction_way(f) != way || !(d < best_sq)) continue;
    best_sq = d;
    best = i;
  }
  return best;
}

/* The nearest contact with a friction point of this way, SUCCESSOR_NONE if there is none. */
KERNEL int nearest_contact(const Passing *s, const FrictionPoint *f) {
  int best = SUCCESSOR_NONE;
  double best_sq = INFINITY;
  for (int i = 0; i < s->contacts; i++) {
    double d = norm_sq(sub(passing_contact(s, i)->ya, f->at));
    if (!contact_rubs(s, i, (int)friction_way(f)) || !(d < best_sq)) continue;
    best_sq = d;
    best = i;
  }
  return best;
}

/* A contact without a point claims a part of the load of the point `lost`. */
KERNEL void claim_load(const Passing *s, int contact, int lost) {
  s->point[lost].claim += passing_force(s, contact);
  s->point[lost].successor = SUCCESSOR_SHARED;
}

KERNEL double load_of(const FrictionPoint *f, bool ahead) { return ahead ? f->ahead : f->load; }

/* The load that a contact gets of the points so far, their present one or the one ahead. own: the point with its key;
 * lost: else the nearest one without a contact, -1 = none. */
KERNEL double passed_load(const Passing *s, int contact, int way, const FrictionPoint *own, int lost, bool ahead) {
  double load = own ? load_of(own, ahead) : 0;
  if (!own && lost >= 0) load = load_of(&s->point[lost], ahead) * passing_force(s, contact) / s->point[lost].claim;
  for (int i = 0; s->lost > 0 && i < s->count; i++) {
    const FrictionPoint *f = &s->point[i];
    if (f != own && f->successor == contact && (int)friction_way(f) == way) load += load_of(f, ahead);
  }
  return load;
}

#endif
