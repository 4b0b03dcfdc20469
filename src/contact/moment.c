/* Gradient and Hessian of a pair's barrier and friction, summed over its contacts as moments. A spring K between the
 * material points ya, yb adds H_aa += K (x) ya ya^T, H_bb += K (x) yb yb^T, H_ab -= K (x) ya yb^T with y = (1, Y). The
 * barrier's K is the Gauss-Newton b'' n n^T, which is positive semidefinite without an eigenvalue problem. Tested in
 * tests/test_contact.c. */
#include "contact/pair.h"

#include <string.h>

#include "kernel/friction.h"

/* Springs are summed in batches, so that the sums stay in registers over a whole batch. */
enum { BATCH = 16 };
typedef struct Batch {
  Moments *sum;
  int count;
  _Alignas(64) Entry stiffness[BATCH];
  double force[BATCH][4];          /* on a; the force on b is its negative */
  double a[BATCH][4], b[BATCH][4]; /* weights of the bodies' nodes */
} Batch;

#define INLINE static inline __attribute__((always_inline))
#if defined __AVX512F__
#define LANE_BYTES 64
#elif defined __AVX__
#define LANE_BYTES 32
#else
#define LANE_BYTES 16
#endif
typedef double Lanes __attribute__((vector_size(LANE_BYTES), aligned(8), may_alias)); /* one register */
typedef double Half
    __attribute__((vector_size(LANE_BYTES < 32 ? LANE_BYTES : 32), aligned(8), may_alias)); /* and not more than four */
enum { LANE_COUNT = LANE_BYTES / 8, HALF_COUNT = sizeof(Half) / 8 };

/* Adds row i of K (x) (a, -b)(a, -b)^T, lanes of K from `first` on. i is a constant after inlining, so the sums fit in
 * 6, 8, 10 or 12 registers. */
INLINE void add_row(const Batch *s, int i, int first) {
  Entry *row_aa = s->sum->aa + i * (i + 1) / 2, *row_bb = s->sum->bb + i * (i + 1) / 2, *row_ab = s->sum->ab + 4 * i;
  Lanes aa[4], bb[4], ab[4];
#pragma GCC unroll 4
  for (int j = 0; j < 4; j++) {
    if (j <= i) aa[j] = *(Lanes *)(row_aa[j] + first), bb[j] = *(Lanes *)(row_bb[j] + first);
    ab[j] = *(Lanes *)(row_ab[j] + first);
  }
  for (int k = 0; k < s->count; k++) {
    const double *a = s->a[k], *b = s->b[k];
    const Lanes stiffness = *(const Lanes *)(s->stiffness[k] + first), ka = stiffness * a[i], kb = stiffness * b[i];
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
      if (j <= i) aa[j] += ka * a[j], bb[j] += kb * b[j];
      ab[j] += ka * b[j];
    }
  }
#pragma GCC unroll 4
  for (int j = 0; j < 4; j++) {
    if (j <= i) *(Lanes *)(row_aa[j] + first) = aa[j], *(Lanes *)(row_bb[j] + first) = bb[j];
    *(Lanes *)(row_ab[j] + first) = ab[j];
  }
}

/* Adds the components of the forces from `first` on. */
static void add_forces(const Batch *s, int first) {
  Half ga[4] = {{0}}, gb[4] = {{0}};
  for (int k = 0; k < s->count; k++) {
    const Half force = *(const Half *)(s->force[k] + first);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
      ga[i] += force * s->a[k][i];
      gb[i] -= force * s->b[k][i];
    }
  }
  for (int i = 0; i < 4; i++)
    for (int c = 0; c < HALF_COUNT && first + c < 3; c++) {
      (&s->sum->ga[i].x)[first + c] += ga[i][c];
      (&s->sum->gb[i].x)[first + c] += gb[i][c];
    }
}

static void flush(Batch *s) {
  for (int first = 0; first < 6; first += LANE_COUNT) {
    add_row(s, 0, first);
    add_row(s, 1, first);
    add_row(s, 2, first);
    add_row(s, 3, first);
  }
  for (int first = 0; first < 3; first += HALF_COUNT) add_forces(s, first);
  s->count = 0;
}

static void put_weights(double w[4], double first, Vec3 y) {
  w[0] = first;
  w[1] = y.x;
  w[2] = y.y;
  w[3] = y.z;
}

/* Adds the spring f K between the points with node weights (first, ya) and (first, yb). */
static void add_spring(Batch *s, Vec3 force, double f, const Sym3 *k, double first, Vec3 ya, Vec3 yb) {
  if (s->count == BATCH) flush(s);
  int i = s->count++;
  double *e = s->stiffness[i];
  e[0] = f * k->xx;
  e[1] = f * k->yy;
  e[2] = f * k->zz;
  e[3] = f * k->xy;
  e[4] = f * k->xz;
  e[5] = f * k->yz;
  e[6] = e[7] = 0;
  vec3_to(s->force[i], force);
  s->force[i][3] = 0;
  put_weights(s->a[i], first, ya);
  put_weights(s->b[i], first, yb);
}

/* Adds the mollifier's spring. c = |w|^2, w = u x v, depends only on the edges' directions u = A_a U, v = A_b V. The
 * Hessian is the Gauss-Newton 2 factor dw^T dw. The edges are nearly parallel here, so with u = |u| e, v = +-|v| e it
 * is a spring 2 factor (I - e e^T) between |v| U and +-|u| V. */
static void add_mollifier(Batch *s, const Mesh *a, const Mesh *b, const Contact *c, const Affine *qa, const Affine *qb,
                          double factor) {
  const uint32_t *ea = a->edge[c->prim_a], *eb = b->edge[c->prim_b];
  Vec3 ur = sub(a->vertex[ea[1]], a->vertex[ea[0]]), vr = sub(b->vertex[eb[1]], b->vertex[eb[0]]);
  Vec3 u = affine_vector(qa, ur), v = affine_vector(qb, vr), w = cross(u, v);
  Vec3 gu = scale(2 * factor, cross(v, w)), gv = scale(2 * factor, cross(w, u));
  for (int i = 0; i < 3; i++) {
    s->sum->ga[i + 1] = add_scaled(s->sum->ga[i + 1], component(ur, i), gu);
    s->sum->gb[i + 1] = add_scaled(s->sum->gb[i + 1], component(vr, i), gv);
  }
  double lu = norm(u), lv = norm(v), sign = dot(u, v) < 0 ? -1 : 1;
  Sym3 k = sym3_add_outer((Sym3){2 * factor, 2 * factor, 2 * factor, 0, 0, 0}, -2 * factor, scale(1 / lu, u));
  add_spring(s, vec3(0, 0, 0), 1, &k, 0, scale(lv, ur), scale(sign * lu, vr));
}

void pair_moments(Pair *pair, const ContactScene *scene, const Affine *qa, const Affine *qb) {
  const Model *model = scene->model;
  const Mesh *a = &model->mesh[model->body[pair->a].mesh], *b = &model->mesh[model->body[pair->b].mesh];
  if (pair->contact.count == 0 && pair->friction.count == 0) return;
  if (pair->moments.count == 0 && !pool_extend(&scene->store->moments, &pair->moments, 1)) {
    pair->failed = true;
    return;
  }
  const Contact *contact = pair_contacts(pair, scene);
  const FrictionPoint *friction = pair_friction(pair, scene);
  const double eps = scene->friction_eps;
  Batch s;
  s.sum = pair_moment_sums(pair, scene);
  s.count = 0;
  memset(s.sum, 0, sizeof *s.sum);
  for (int i = 0; i < pair->contact.count; i++) {
    const Contact *c = &contact[i];
    double k = pair->stiffness * c->mollifier / scene->range;
    Sym3 hessian = sym3_add_outer(sym3_zero(), k * c->curvature / scene->range, c->normal);
    add_spring(&s, scale(k * c->slope, c->normal), 1, &hessian, 1, c->ya, c->yb);
    if (c->mollifier_d1 != 0) add_mollifier(&s, a, b, c, qa, qb, pair->stiffness * c->barrier * c->mollifier_d1);
  }
  for (int i = 0; i < pair->friction_unique; i++) {
    const FrictionPoint *f = &friction[i];
    Vec3 u = f->displacement;
    Sym3 hessian = friction_hessian(u, f->force, f->normal, eps);
    add_spring(&s, scale(f->sum * friction_f1_over_y(norm(u), eps), u), f->sum, &hessian, 1, f->ya, f->yb);
  }
  flush(&s);
}
