/* Friction points of contacts, and the loads that follow the normal forces. Compiles as C and as CUDA. Tested in
 * tests/test_load.c and tests/test_cuda_serial.c. */
#ifndef ABD_CONTACT_POINT_H
#define ABD_CONTACT_POINT_H

#include "contact/term.h"
#include "kernel/constant.h"
#include "model/anchor.h"

/* stiffness: the pair's. */
KERNEL double contact_force(const Contact *c, double stiffness, double range) {
  return -stiffness * c->mollifier * c->slope / range;
}

/* The normal force at the end of Newton's step, as its equations have it. apart: how far the step parts the contact's
 * points along the normal. */
KERNEL double contact_force_ahead(const Contact *c, double stiffness, double range, double apart) {
  double k = stiffness * c->mollifier / range;
  return most(0, -k * (c->slope + c->curvature / range * apart));
}

/* The part of a slip that the point resists. */
KERNEL Vec3 point_resisted(const FrictionPoint *f, Vec3 u) {
  double along = dot(f->normal, u);
  return friction_way(f) == FRICTION_SPIN ? scale(along, f->normal) : add_scaled(u, -along, f->normal);
}

KERNEL Vec3 any_across(Vec3 n) {
  Vec3 a = vec3_abs(n), e = a.x <= a.y && a.x <= a.z ? vec3(1, 0, 0) : a.y <= a.z ? vec3(0, 1, 0) : vec3(0, 0, 1);
  return unit(cross(n, e));
}

/* The point of a contact that resists in one way. start: poses of a and b at the start of the step. The directions of
 * rolling and spinning have the length of the arm and are the same for both bodies at the start. */
KERNEL void point_open(FrictionPoint *f, const Contact *c, FrictionWay way, const Affine start[2], double arm) {
  f->key = contact_key(c) | (uint64_t)way << FRICTION_WAY_SHIFT;
  f->ya = c->ya;
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

/* Load and force of a point are those it had before. Without such a point the force is that of its slip u, and the load
 * is given. */
KERNEL void point_set_load(FrictionPoint *f, const FrictionPoint *before, Vec3 u, double load, double eps) {
  f->displacement = f->trial = u;
  f->force = before ? point_resisted(f, before->force) : scale(friction_f1_over_y(norm(u), eps), u);
  f->load = before ? before->ahead : load;
  f->sum = f->ahead = f->load;
}

KERNEL bool points_near(Vec3 a, Vec3 b, double tolerance) { return norm_sq(sub(a, b)) <= tolerance * tolerance; }

/* Whether two points coincide up to rounding. size: of the smaller body [m]. */
KERNEL bool points_coincide(const FrictionPoint *f, const FrictionPoint *g, double size) {
  return points_near(g->ya, f->ya, 1e-12 * size) && points_near(g->yb, f->yb, 1e-12 * size) &&
         points_near(g->normal, f->normal, 1e-9) && points_near(g->slip, f->slip, 1e-12 * size) &&
         friction_way(g) == friction_way(f);
}

/* Moves a load by `weight` towards `ahead` and returns how far it is to move. The matrix has the stiffness of the loads
 * so far. A load far above would push without resistance, so it grows by a factor at most; the rest waits for the next
 * matrix. */
KERNEL double point_move_load(FrictionPoint *f, double ahead, double weight) {
  double change = weight * (ahead - f->load);
  f->ahead = f->load + change;
  f->load = least(f->ahead, LOAD_GROWTH * f->load);
  return change;
}

/* What a contact adds to the difference between loads and normal forces, after the loads of all points were added. now:
 * the load that its normal force gives; load: that of its point, 0 if it has none. */
KERNEL double load_difference(double now, double load) { return fabs(now - load) - load; }

#endif
