/* Contacts, mollifiers and friction points as springs: a force and a stiffness K between two points. Compiles as C and
 * as CUDA. Tested in tests/test_contact.c. */
#ifndef ABD_CONTACT_TERM_H
#define ABD_CONTACT_TERM_H

#include "contact/item.h"
#include "kernel/barrier.h"
#include "kernel/constant.h"
#include "kernel/friction.h"

/* The force of a contact that presses, before stiffness over range. */
KERNEL double contact_push(const Contact *c) { return c->weight > 0 ? -c->weight * c->slope : 0; }

/* By which factor the forces of a pair's contacts are expected to change; 1 if that is not known (expected < 0). */
KERNEL double expected_ratio(double expected, double now) {
  if (!(expected >= 0 && now > 0)) return 1;
  double ratio = expected < EXPECT_MOST * now ? expected / now : EXPECT_MOST;
  return fabs(ratio - 1) < EXPECT_NEAR ? 1 : ratio;
}

/* The curvature of a barrier whose force is expected to change by the ratio. */
KERNEL double barrier_expected(double y, double ratio) {
  double b, d1, d2;
  barrier_jet(y, &b, &d1, &d2);
  return ratio == 1 ? d2 : barrier_chord(y, d1, ratio);
}

/* A spring's force on a, and its stiffness times a factor. */
typedef struct Term {
  Vec3 force;
  double factor;
  Sym3 stiffness;
} Term;

/* Sums of |weight| b'' n n^T over a pair's contacts of positive and of negative weights. */
typedef struct Relief {
  Sym3 positive, negative;
} Relief;

KERNEL Relief relief_zero(void) {
  Relief r;
  r.positive = r.negative = sym3_zero();
  return r;
}

KERNEL void relief_add(Relief *r, const Contact *c) {
  double k = c->weight * c->curvature;
  if (k < 0) r->negative = sym3_add_outer(r->negative, -k, c->normal);
  else r->positive = sym3_add_outer(r->positive, k, c->normal);
}

/* What negative weights leave of the stiffness along a normal of a positive one. */
KERNEL double relief_part(const Relief *r, Vec3 n) {
  double all = dot(n, sym3_mul_vec(r->positive, n)), part = 1 - dot(n, sym3_mul_vec(r->negative, n)) / all;
  return part > RELIEF_LEAST ? part : RELIEF_LEAST;
}

/* The barrier's K is the Gauss-Newton b'' n n^T. Of a negative weight it is the other part of the Hessian, which is
 * positive then: the turning normal. What it would take off along its own normal is taken off the K of the pair's
 * contacts of positive weight with normals like it. stiffness: the pair's. relief: NULL = no weight is negative. */
KERNEL Term contact_term(const Contact *c, double stiffness, double range, const Relief *relief) {
  double k = stiffness * c->weight / range;
  Term t;
  t.force = scale(k * c->slope, c->normal);
  t.factor = 1;
  if (k >= 0) {
    double part = relief && k > 0 ? relief_part(relief, c->normal) : 1;
    t.stiffness = sym3_add_outer(sym3_zero(), part * k * c->curvature / range, c->normal);
    return t;
  }
  double f = k * c->slope / c->distance;
  Sym3 all = {f, f, f, 0, 0, 0};
  t.stiffness = sym3_add_outer(sym3_add_outer(all, -f, c->normal), -f, c->along);
  return t;
}

/* Gradient of friction of a given load by the difference of its ends. */
KERNEL Vec3 friction_gradient(const FrictionPoint *f, double load, double eps) {
  Vec3 force = scale(load * friction_f1_over_y(norm(f->displacement), eps), f->displacement);
  return friction_way(f) == FRICTION_SPIN ? scale(dot(f->normal, force), f->across) : force;
}

/* Gradient and stiffness of friction by the difference of its ends. */
KERNEL Term friction_term(const FrictionPoint *f, double eps) {
  Vec3 u = f->displacement;
  Term t;
  t.force = friction_gradient(f, f->load, eps);
  t.factor = f->load;
  if (friction_way(f) != FRICTION_SPIN) {
    t.stiffness = friction_hessian(u, f->force, f->normal, eps);
    return t;
  }
  Sym3 h = friction_hessian(u, f->force, vec3(0, 0, 0), eps);
  double k = dot(f->normal, sym3_mul_vec(h, f->normal));
  t.stiffness = sym3_add_outer(sym3_zero(), k > 0 ? k : 0, f->across); /* at most its rounding is negative */
  return t;
}

/* x_a(ya) - x_b(yb) of two stiff bodies. */
KERNEL Vec3 friction_apart(const FrictionPoint *f, const Affine *qa, const Affine *qb) {
  if (friction_way(f) != FRICTION_SLIDE) return sub(affine_vector(qa, f->ya), affine_vector(qb, f->yb));
  return sub(affine_point(qa, f->ya), affine_point(qb, f->yb));
}

/* The mollifier's spring. c = |w|^2, w = u x v, depends only on the edges' directions u = A_a U, v = A_b V. The
 * Hessian is the Gauss-Newton 2 factor dw^T dw. The edges are nearly parallel here, so with u = |u| e, v = +-|v| e it
 * is a spring 2 factor (I - e e^T) between |v| U and +-|u| V. The gradients by u and v are not opposite, so each edge
 * has its own. */
typedef struct MollifierTerm {
  Vec3 by_u, by_v;     /* gradients */
  double long_u, to_v; /* factors of U and V at the spring's ends */
  Sym3 stiffness;
} MollifierTerm;

/* u, v: the edges' directions in the world. */
KERNEL MollifierTerm mollifier_term(const Contact *c, double stiffness, Vec3 u, Vec3 v) {
  double factor = stiffness * c->barrier * c->mollifier_d1, lu = norm(u), lv = norm(v);
  double hard = 2 * most(factor, 0);
  Sym3 all = {hard, hard, hard, 0, 0, 0};
  Vec3 w = cross(u, v);
  MollifierTerm t;
  t.by_u = scale(2 * factor, cross(v, w));
  t.by_v = scale(2 * factor, cross(w, u));
  t.long_u = lv;
  t.to_v = dot(u, v) < 0 ? -lu : lu;
  t.stiffness = sym3_add_outer(all, -hard, scale(1 / lu, u));
  return t;
}

/* The tangential displacement of a friction point, from x_a(ya) - x_b(yb). */
KERNEL Vec3 friction_slip_at(const FrictionPoint *f, Vec3 apart) {
  Vec3 r = sub(apart, f->origin);
  if (friction_way(f) == FRICTION_SPIN) return add(scale(dot(f->across, r), f->normal), f->slip);
  return add(add_scaled(r, -dot(f->normal, r), f->normal), f->slip);
}

#endif
