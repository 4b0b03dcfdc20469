/* Gradient and Hessian of a pair's barrier and friction, summed over its contacts as moments: for a spring K between
 * material points ya, yb, H_aa += K (x) ya ya^T, H_bb += K (x) yb yb^T, H_ab -= K (x) ya yb^T with y = (1, Y). The barrier's
 * K is the Gauss-Newton b'' n n^T: positive semidefinite without any eigenvalue problem. Tested in tests/test_contact.c. */
#include "contact/pair.h"

#include <string.h>

#include "kernel/friction.h"

static Entry entry(double f, const Sym3 *k) {
  return (Entry){f * k->xx, f * k->yy, f * k->zz, f * k->xy, f * k->xz, f * k->yz, 0, 0};
}

/* K (x) (a, -b)(a, -b)^T, a and b the weights of the bodies' nodes. */
static void add_stiffness(Moments *m, Entry k, const double a[4], const double b[4]) {
  for (int i = 0, e = 0; i < 4; i++) {
    for (int j = 0; j <= i; j++, e++) {
      m->aa[e] += a[i] * a[j] * k;
      m->bb[e] += b[i] * b[j] * k;
    }
    for (int j = 0; j < 4; j++) m->ab[4 * i + j] += a[i] * b[j] * k;
  }
}

static void add_spring(Moments *m, Vec3 force, Entry k, Vec3 ya, Vec3 yb) {
  const double a[4] = {1, ya.x, ya.y, ya.z}, b[4] = {1, yb.x, yb.y, yb.z};
  for (int i = 0; i < 4; i++) {
    m->ga[i] = add_scaled(m->ga[i], a[i], force);
    m->gb[i] = add_scaled(m->gb[i], -b[i], force);
  }
  add_stiffness(m, k, a, b);
}

/* The mollifier's part: c = |w|^2, w = u x v, depends on the edges' directions u = A_a U, v = A_b V alone. The Hessian is
 * the Gauss-Newton 2 factor dw^T dw; the edges are nearly parallel here, so with u = |u| e, v = +-|v| e it is a spring
 * 2 factor (I - e e^T) between |v| U and +-|u| V. */
static void add_mollifier(Moments *m, const Mesh *a, const Mesh *b, const Contact *c, const Affine *qa, const Affine *qb, double factor) {
  const uint32_t *ea = a->edge[c->prim_a], *eb = b->edge[c->prim_b];
  Vec3 ur = sub(a->vertex[ea[1]], a->vertex[ea[0]]), vr = sub(b->vertex[eb[1]], b->vertex[eb[0]]);
  Vec3 u = affine_vector(qa, ur), v = affine_vector(qb, vr), w = cross(u, v);
  Vec3 gu = scale(2 * factor, cross(v, w)), gv = scale(2 * factor, cross(w, u));
  for (int i = 0; i < 3; i++) {
    m->ga[i + 1] = add_scaled(m->ga[i + 1], component(ur, i), gu);
    m->gb[i + 1] = add_scaled(m->gb[i + 1], component(vr, i), gv);
  }
  double lu = norm(u), lv = norm(v), sign = dot(u, v) < 0 ? -1 : 1;
  Vec3 wa = scale(lv, ur), wb = scale(sign * lu, vr);
  Sym3 k = sym3_add_outer((Sym3){2 * factor, 2 * factor, 2 * factor, 0, 0, 0}, -2 * factor, scale(1 / lu, u));
  add_stiffness(m, entry(1, &k), (double[4]){0, wa.x, wa.y, wa.z}, (double[4]){0, wb.x, wb.y, wb.z});
}

void pair_moments(Pair *pair, const ContactScene *scene, const Affine *qa, const Affine *qb) {
  const Model *model = scene->model;
  const Mesh *a = &model->mesh[model->body[pair->a].mesh], *b = &model->mesh[model->body[pair->b].mesh];
  if (pair->contact_count == 0 && pair->friction_count == 0) return;
  if (!pair->moments && !(pair->moments = mem_alloc(1, sizeof(Moments)))) {
    pair->failed = true;
    return;
  }
  Moments *m = pair->moments;
  memset(m, 0, sizeof *m);
  for (int i = 0; i < pair->contact_count; i++) {
    const Contact *c = &pair->contact[i];
    double k = pair->stiffness * c->mollifier / scene->range;
    Sym3 hessian = sym3_add_outer(sym3_zero(), k * c->curvature / scene->range, c->normal);
    add_spring(m, scale(k * c->slope, c->normal), entry(1, &hessian), c->ya, c->yb);
    if (c->mollifier_d1 != 0) add_mollifier(m, a, b, c, qa, qb, pair->stiffness * c->barrier * c->mollifier_d1);
  }
  for (int i = 0; i < pair->friction_count; i++) {
    const FrictionPoint *f = &pair->friction[i];
    Vec3 u = friction_displacement(pair, f, scene, qa, qb);
    Sym3 hessian = friction_hessian(u, f->force, f->normal, scene->friction_eps);
    add_spring(m, scale(f->load * friction_f1_over_y(norm(u), scene->friction_eps), u), entry(f->load, &hessian), f->ya, f->yb);
  }
}
