/* Pairs of bodies: candidates against a loop over all stencils, contacts that do not depend on the age of their list,
 * gradient and Hessian of barrier and friction, body boxes against all pairs. The step bound: tests/test_bound.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "contact/broad.h"
#include "contact/cache.h"
#include "contact/term.h"
#include "contact/turning.h"
#include "kernel/barrier.h"
#include "kernel/friction.h"
#include "posed.h"

static ContactScene scene_of(double range, double separation) {
  return (ContactScene){&cast.model, range, separation, 0.1 * range, NULL, NULL, &shelf, 0.01, 0};
}

/* ---- candidates -------------------------------------------------------------------------------------------------- */

/* How often each stencil of a kind is in the list, row by row. */
static int *count_listed(const PairCache *cache, const Candidate *c, int kind, int na, int nb) {
  int *count = calloc((size_t)na * (size_t)nb + 1, sizeof(int));
  assert_non_null(count);
  for (int i = 0; i < cache->candidate.count; i++)
    if (c[i].kind == kind) count[c[i].prim_a * nb + c[i].prim_b]++;
  return count;
}

static void check_list(const Pair *p, const ContactScene *scene, const Posed *a, const Posed *b, double radius) {
  const PairCache *cache = pair_cache(p, scene);
  int near = 0;
  for (int kind = 0; kind < 4; kind++) {
    int na, nb;
    stencil_counts(a->mesh, b->mesh, kind, &na, &nb);
    int *count = count_listed(cache, cache_candidates(cache, scene), kind, na, nb);
    for (int i = 0; i < na; i++)
      for (int j = 0; j < nb; j++) {
        double d = stencil_distance(a, b, kind, i, j);
        int listed = count[i * nb + j];
        near += listed;
        if (fabs(d - radius) < 1e-12) continue;
        if (listed != (d < radius && stencil_exists(a->mesh, b->mesh, kind, i, j)))
          fail_msg("%s, %s: stencil kind %d (%d, %d) at %.17g is listed %d times, radius %g", a->mesh->name,
                   b->mesh->name, kind, i, j, d, listed, radius);
      }
    free(count);
  }
  assert_int_equal(near, cache->candidate.count);
}

static void check_listed_distances(const Pair *p, const ContactScene *scene, const Posed *a, const Posed *b) {
  const PairCache *cache = pair_cache(p, scene);
  for (int i = 0; i < cache->candidate.count; i++) {
    const Candidate *c = &cache_candidates(cache, scene)[i];
    double d = stencil_distance(a, b, c->kind, c->prim_a, c->prim_b);
    if (c->dist > d || c->dist < d * (1 - 2e-6) - 1e-12) fail_msg("candidate at %.17g says %.17g", d, c->dist);
  }
}

static void test_query_equals_a_double_loop(void **state) {
  Draw d = {1};
  long found = 0;
  (void)state;
  for (int k = 0; k < rounds(1600); k++) {
    Pair p = draw_pair(&d, &cast.model);
    Affine q[2];
    ContactScene scene = scene_of(1e-3, 0);
    if (draw_near(&d, &cast.model, &p, draw_decades(&d, -4, -0.5), k % 3 ? 1e-3 : 0.1, q)) {
      double radius = draw_decades(&d, -4, 0.5);
      pair_query(&p, &scene, &q[0], &q[1], radius);
      assert_true(pair_cache(&p, &scene)->listed && !p.failed);
      Posed a = {body_mesh(&cast.model, p.a), affine_relative(&q[0], &q[1]), NULL},
            b = {body_mesh(&cast.model, p.b), affine(vec3(0, 0, 0), mat3_identity()), NULL};
      check_list(&p, &scene, &a, &b, radius);
      check_listed_distances(&p, &scene, &a, &b);
      found += pair_cache(&p, &scene)->candidate.count;
    }
    shelf_remove(&p);
  }
  assert_true(found > rounds(1600) * 10L);
}

/* ---- contacts ---------------------------------------------------------------------------------------------------- */

static bool same(double x, double y) { return memcmp(&x, &y, sizeof x) == 0; }
static bool same_vec3(Vec3 x, Vec3 y) { return same(x.x, y.x) && same(x.y, y.y) && same(x.z, y.z); }

static bool same_contact(const Contact *x, const Contact *y) {
  return x->kind == y->kind && x->prim_a == y->prim_a && x->prim_b == y->prim_b && same(x->gap, y->gap) &&
         same(x->weight, y->weight) && same(x->mollifier, y->mollifier) && same(x->mollifier_d1, y->mollifier_d1) &&
         same_vec3(x->normal, y->normal) && same_vec3(x->ya, y->ya) && same_vec3(x->yb, y->yb);
}

static void check_same(const Pair *x, const Pair *y, const ContactScene *scene) {
  const Contact *cx = pair_contacts(x, scene), *cy = pair_contacts(y, scene);
  if (x->contact.count != y->contact.count)
    fail_msg("%d contacts with the old list, %d with a new one", x->contact.count, y->contact.count);
  for (int i = 0; i < x->contact.count; i++)
    if (!same_contact(&cx[i], &cy[i])) fail_msg("contact %d of %d differs", i, x->contact.count);
  if (!same(x->energy_trial, y->energy_trial) || !same(x->noise, y->noise) || !same(x->min_gap, y->min_gap))
    fail_msg("energy %.17g and %.17g, noise %g and %g", x->energy_trial, y->energy_trial, x->noise, y->noise);
}

static Affine moved(const Affine *q, Vec3 shift, Vec3 turn, Vec3 about) {
  Mat3 r = mat3_exp(turn);
  return affine(add(add(about, shift), mat3_mul_vec(r, sub(q->n[0], about))), mat3_mul(r, affine_linear(q)));
}

static Pair fresh_like(const Pair *p, double margin) {
  return (Pair){.a = p->a, .b = p->b, .slot = 1, .stiffness = p->stiffness, .expected = -1, .margin = margin};
}

/* Both bodies wander together, a little against each other; the list is renewed when the pair sees fit. */
static void wander(Draw *d, Pair *p, const ContactScene *scene, Affine q[2], double place, long *contacts, int *kept) {
  double small = draw_decades(d, -6, -2);
  p->margin = draw_decades(d, -5, -1);
  for (int k = 0; k < 2; k++) q[k].n[0] = add(q[k].n[0], vec3(place, -place, place));
  for (int step = 0; step < 12; step++) {
    Vec3 shift = draw_vec3(d, 0.3), turn = draw_vec3(d, 0.5), about = q[1].n[0], at = q[0].n[0];
    for (int k = 0; k < 2; k++) q[k] = moved(&q[k], shift, turn, about);
    q[0] = moved(&q[0], draw_vec3(d, small), draw_vec3(d, small), at);
    Affine ref = pair_cache(p, scene)->ref;
    pair_eval(p, scene, &q[0], &q[1]);
    *kept += step > 0 && memcmp(&ref, &pair_cache(p, scene)->ref, sizeof ref) == 0;
    Pair fresh = fresh_like(p, draw_decades(d, -6, 0));
    pair_eval(&fresh, scene, &q[0], &q[1]);
    check_same(p, &fresh, scene);
    *contacts += p->contact.count;
    shelf_remove(&fresh);
  }
}

static void test_contacts_do_not_depend_on_the_list(void **state) {
  static const double place[] = {0, 0, 10, 1000};
  Draw d = {2};
  long contacts = 0;
  int kept = 0;
  (void)state;
  for (int k = 0; k < rounds(800); k++) {
    Pair p = draw_pair(&d, &cast.model);
    Affine q[2];
    ContactScene scene = scene_of(draw_decades(&d, -3, -1), k % 4 ? 0 : 0.02);
    if (draw_near(&d, &cast.model, &p, scene.separation + scene.range * draw(&d, 0.1, 1), k % 3 ? 1e-6 : 0.05, q))
      wander(&d, &p, &scene, q, place[k % 4], &contacts, &kept);
    shelf_remove(&p);
  }
  assert_true(contacts > rounds(800) * 6L);
  assert_true(kept > rounds(800) * 3);
}

static void test_contacts_are_the_near_stencils(void **state) {
  Draw d = {3};
  long contacts = 0;
  (void)state;
  for (int k = 0; k < rounds(800); k++) {
    Pair p = draw_pair(&d, &cast.model);
    Affine q[2];
    ContactScene scene = scene_of(draw_decades(&d, -3, -0.5), k % 2 ? 0 : 0.02);
    double reach = scene.range + scene.separation, least = INFINITY, energy = 0;
    if (draw_near(&d, &cast.model, &p, scene.separation + scene.range * draw(&d, 0.1, 1), 0.02, q)) {
      Posed a = {body_mesh(&cast.model, p.a), q[0], NULL}, b = {body_mesh(&cast.model, p.b), q[1], NULL};
      int near = 0, na, nb;
      pair_eval(&p, &scene, &q[0], &q[1]);
      for (int kind = 0; kind < 4; kind++) {
        stencil_counts(a.mesh, b.mesh, kind, &na, &nb);
        for (int i = 0; i < na; i++)
          for (int j = 0; j < nb; j++) {
            double dist = stencil_distance(&a, &b, kind, i, j);
            near += dist < reach && stencil_exists(a.mesh, b.mesh, kind, i, j);
            least = fmin(least, dist);
          }
      }
      int stencils = 0;
      for (int i = 0; i < p.contact.count; i++) {
        const Contact *c = &pair_contacts(&p, &scene)[i];
        stencils += !c->extra;
        if (i < p.acting) energy += p.stiffness * c->weight * barrier(c->gap / scene.range);
        assert_true((i < p.acting) == (c->weight != 0 || c->mollifier_d1 != 0));
        if (c->extra) continue;
        Vec3 between = sub(affine_point(&q[0], c->ya), affine_point(&q[1], c->yb));
        double gap = stencil_distance(&a, &b, c->kind, c->prim_a, c->prim_b) - scene.separation;
        assert_true(fabs(gap - c->gap) < 1e-12);
        assert_true(norm(sub(between, scale(c->gap + scene.separation, c->normal))) < 1e-12);
      }
      if (near != stencils) fail_msg("%d contacts, %d stencils within %g", stencils, near, reach);
      if (near) assert_true(fabs(p.min_gap + scene.separation - least) < 1e-12);
      assert_true(fabs(p.barrier - energy) <= 1e-12 * fabs(energy));
      contacts += near;
    }
    shelf_remove(&p);
  }
  assert_true(contacts > rounds(800) * 2L);
}

/* ---- gradient and Hessian ---------------------------------------------------------------------------------------- */

static double *unknown(Affine q[2], int i) { return &q[i / 12].n[i % 12 / 3].x + i % 3; }

/* Central differences of the energy by the 24 unknowns. */
static void differences(Pair *p, const ContactScene *scene, const Affine q[2], double step, double g[24]) {
  for (int i = 0; i < 24; i++) {
    double e[2];
    for (int side = 0; side < 2; side++) {
      Affine x[2] = {q[0], q[1]};
      *unknown(x, i) += side ? step : -step;
      pair_eval(p, scene, &x[0], &x[1]);
      e[side] = p->energy_trial;
    }
    g[i] = (e[1] - e[0]) / (2 * step);
  }
}

static void gradient_of(const Moments *m, double g[24]) {
  for (int k = 0; k < 4; k++) {
    vec3_to(g + 3 * k, m->ga[k]);
    vec3_to(g + 12 + 3 * k, m->gb[k]);
  }
}

static void put_block(double h[24][24], int row, int column, double w, const Sym3 *s) {
  const double k[3][3] = {{s->xx, s->xy, s->xz}, {s->xy, s->yy, s->yz}, {s->xz, s->yz, s->zz}};
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) h[3 * row + i][3 * column + j] += w * k[i][j];
}

static void put_entry(double h[24][24], int row, int column, double w, const Entry *entry) {
  Sym3 s = {(*entry)[0], (*entry)[1], (*entry)[2], (*entry)[3], (*entry)[4], (*entry)[5]};
  put_block(h, row, column, w, &s);
}

static void hessian_of(const Moments *m, double h[24][24]) {
  memset(h, 0, 24 * sizeof *h);
  for (int i = 0, e = 0; i < 4; i++) {
    for (int j = 0; j <= i; j++, e++) {
      put_entry(h, i, j, 1, &m->aa[e]);
      put_entry(h, 4 + i, 4 + j, 1, &m->bb[e]);
      if (j == i) continue;
      put_entry(h, j, i, 1, &m->aa[e]);
      put_entry(h, 4 + j, 4 + i, 1, &m->bb[e]);
    }
    for (int j = 0; j < 4; j++) {
      put_entry(h, i, 4 + j, -1, &m->ab[4 * i + j]);
      put_entry(h, 4 + j, i, -1, &m->ab[4 * i + j]);
    }
  }
}

static void add_spring(double h[24][24], const Sym3 *k, double w, Vec3 ya, Vec3 yb) {
  const double y[8] = {1, ya.x, ya.y, ya.z, -1, -yb.x, -yb.y, -yb.z};
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 8; j++) put_block(h, i, j, w * y[i] * y[j], k);
}

/* The mollifier's Gauss-Newton part 2 factor (I - e e^T) between |v| U and +-|u| V, edges u = A U and v = B V along
 * e. */
static void add_fading(double h[24][24], const Pair *p, const Contact *c, const Affine q[2], double factor) {
  const Mesh *a = body_mesh(&cast.model, p->a), *b = body_mesh(&cast.model, p->b);
  Vec3 ur = sub(a->vertex[a->edge[c->prim_a][1]], a->vertex[a->edge[c->prim_a][0]]);
  Vec3 vr = sub(b->vertex[b->edge[c->prim_b][1]], b->vertex[b->edge[c->prim_b][0]]);
  Vec3 u = affine_vector(&q[0], ur), v = affine_vector(&q[1], vr);
  double from = norm(v), to = dot(u, v) < 0 ? norm(u) : -norm(u);
  const double y[8] = {0, from * ur.x, from * ur.y, from * ur.z, 0, to * vr.x, to * vr.y, to * vr.z};
  Sym3 k = sym3_add_outer((Sym3){1, 1, 1, 0, 0, 0}, -1, unit(u));
  for (int i = 0; i < 8; i++)
    for (int j = 0; j < 8; j++) put_block(h, i, j, 2 * factor * y[i] * y[j], &k);
}

/* What contacts of negative weight leave of the stiffness along n: weighted by the squared cosines of normals. */
static double relief_along(const Pair *p, const ContactScene *scene, Vec3 n) {
  double positive = 0, negative = 0;
  for (int i = 0; i < p->acting; i++) {
    const Contact *c = &pair_contacts(p, scene)[i];
    double cosine = dot(c->normal, n), k = c->weight * barrier_d2(c->gap / scene->range) * cosine * cosine;
    *(k < 0 ? &negative : &positive) += fabs(k);
  }
  return fmax(1 - negative / positive, 0.1);
}

/* Sum of the contacts' and friction points' springs, each by itself. */
static void springs(const Pair *p, const ContactScene *scene, const Affine q[2], double h[24][24]) {
  memset(h, 0, 24 * sizeof *h);
  for (int i = 0; i < p->acting; i++) {
    const Contact *c = &pair_contacts(p, scene)[i];
    Sym3 k = sym3_add_outer(sym3_zero(), 1, c->normal);
    double y = c->gap / scene->range, factor = p->stiffness * c->weight / scene->range;
    if (c->weight < 0) { /* the turning normal, across the edge */
      k = sym3_add_outer(sym3_add_outer((Sym3){1, 1, 1, 0, 0, 0}, -1, c->normal), -1, c->along);
      add_spring(h, &k, factor * barrier_d1(y) / c->distance, c->ya, c->yb);
    } else {
      double part = c->weight > 0 ? relief_along(p, scene, c->normal) : 1;
      add_spring(h, &k, part * factor * barrier_d2(y) / scene->range, c->ya, c->yb);
    }
    if (c->mollifier_d1 > 0) add_fading(h, p, c, q, p->stiffness * barrier(c->gap / scene->range) * c->mollifier_d1);
  }
  for (int i = 0; i < p->friction.count; i++) {
    const FrictionPoint *f = &pair_friction(p, scene)[i];
    Vec3 u = friction_displacement(p, f, scene, &q[0], &q[1]);
    Sym3 k = friction_hessian(u, f->force, f->normal, scene->friction_eps);
    add_spring(h, &k, f->load, f->ya, f->yb);
  }
}

/* ---- expected forces --------------------------------------------------------------------------------------------- */

/* Forces that are not known leave the curvature of the barrier, and setting it again changes nothing. A contact that is
 * expected to push s times as much has a chord: a step along its normal to where the barrier has that force leads to it
 * by the model's own equations, which pair_expect finds. A side that takes no part does not move. */
static void test_expected_forces(void **state) {
  Draw d = {9};
  int tested = 0;
  (void)state;
  for (int k = 0; k < rounds(4000); k++) {
    Pair p = draw_pair(&d, &cast.model);
    Affine q[2], step[2 * KIND_COUNT] = {0};
    ContactScene scene = scene_of(1e-2, 0);
    if (draw_near(&d, &cast.model, &p, draw_decades(&d, -4, -2.05), 1e-3, q)) {
      pair_eval(&p, &scene, &q[0], &q[1]);
      Contact *c = pair_contacts(&p, &scene);
      if (p.acting == 1 && c->weight > 0) {
        const bool both[2] = {true, true}, none[2] = {false, false};
        double y = c->gap / scene.range, now = contact_push(c) * p.stiffness / scene.range, s = draw_decades(&d, -2, 2);
        pair_set_chords(&p, &scene);
        assert_float_equal(c->curvature, barrier_d2(y), 1e-9 * barrier_d2(y));
        p.expected = s * now;
        pair_set_chords(&p, &scene);
        pair_set_chords(&p, &scene);
        double way = (barrier_gap(-s * barrier_d1(y)) - y) * scene.range;
        step[p.a].n[0] = scale(0.25 * way, c->normal);
        step[p.b].n[0] = scale(-0.75 * way, c->normal);
        pair_expect(&p, &scene, (Nodes){step, NULL}, none);
        assert_float_equal(p.expected, now, 1e-9 * now);
        pair_expect(&p, &scene, (Nodes){step, NULL}, both);
        if (fabs(s - 1) > 0.01 && fabs(p.expected / (s * now) - 1) > 1e-6)
          fail_msg("y %g: %g times the force was expected, the step leads to %g times", y, s, p.expected / now);
        tested++;
      }
    }
    shelf_remove(&p);
  }
  print_message("%d contacts\n", tested);
  assert_true(tested > rounds(4000) / 20);
}

static double largest(const double *x, int n) {
  double most = 0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
  return most;
}

/* Cholesky of h + shift: false where a pivot is negative. */
static bool positive(double h[24][24], double shift) {
  double l[24][24] = {{0}};
  for (int j = 0; j < 24; j++) {
    double s = h[j][j] + shift;
    for (int k = 0; k < j; k++) s -= l[j][k] * l[j][k];
    if (!(s > 0)) return false;
    l[j][j] = sqrt(s);
    for (int i = j + 1; i < 24; i++) {
      s = h[i][j];
      for (int k = 0; k < j; k++) s -= l[i][k] * l[j][k];
      l[i][j] = s / l[j][j];
    }
  }
  return true;
}

static void check_hessian(const Pair *p, const ContactScene *scene, const Affine q[2]) {
  double h[24][24], sum[24][24];
  hessian_of(pair_moment_sums(p, scene), h);
  springs(p, scene, q, sum);
  double size = largest(&h[0][0], 576);
  for (int i = 0; i < 24; i++)
    for (int j = 0; j < 24; j++) {
      if (fabs(h[i][j] - h[j][i]) > 1e-14 * size)
        fail_msg("H[%d][%d] = %g but H[%d][%d] = %g", i, j, h[i][j], j, i, h[j][i]);
      if (fabs(h[i][j] - sum[i][j]) > 1e-12 * size)
        fail_msg("H[%d][%d] = %.17g, the springs' sum is %.17g", i, j, h[i][j], sum[i][j]);
    }
  if (!positive(h, 1e-11 * size))
    fail_msg("the Hessian has a negative eigenvalue, %d contacts, size %g", p->contact.count, size);
}

static void check_gradient(Pair *p, const ContactScene *scene, const Affine q[2], double tolerance) {
  double g[24], numeric[24];
  pair_eval(p, scene, &q[0], &q[1]);
  pair_assemble(p, scene, &q[0], &q[1]);
  gradient_of(pair_moment_sums(p, scene), g);
  check_hessian(p, scene, q);
  differences(p, scene, q, 1e-5 * scene->range, numeric);
  double size = largest(g, 24);
  for (int i = 0; i < 24; i++)
    if (fabs(g[i] - numeric[i]) > tolerance * size)
      fail_msg("%s, %s: gradient[%d] = %.12g, differences give %.12g (largest %g, %d contacts, %d with friction)",
               body_mesh(&cast.model, p->a)->name, body_mesh(&cast.model, p->b)->name, i, g[i], numeric[i], size,
               p->contact.count, p->friction.count);
}

/* Makes friction points as at the start of a step. */
static bool list_friction(Pair *p, const ContactScene *scene, const Affine before[2], const Affine now[2]) {
  const FrictionStart start = {before, now, NULL, 0};
  return pair_list_friction(p, scene, &start, true);
}

/* Forces of the friction points at their solution at given poses. */
static void set_forces(Pair *p, const ContactScene *scene, const Affine q[2]) {
  FrictionPoint *f = pair_friction(p, scene);
  for (int i = 0; i < p->friction.count; i++) {
    Vec3 u = friction_displacement(p, &f[i], scene, &q[0], &q[1]);
    f[i].displacement = f[i].trial = u;
    f[i].force = scale(friction_f1_over_y(norm(u), scene->friction_eps), u);
  }
}

static void test_gradient_of_barrier_and_friction(void **state) {
  Draw d = {4};
  int checked = 0, rubbing = 0;
  (void)state;
  for (int k = 0; k < rounds(1200); k++) {
    Pair p = draw_pair(&d, &cast.model);
    Affine q[2];
    ContactScene scene = scene_of(0.1, k % 4 ? 0 : 0.05);
    p.stiffness = draw_decades(&d, -3, 3);
    p.mu = k % 2 ? 0.5 : 0;
    if (draw_near(&d, &cast.model, &p, scene.separation + scene.range * draw(&d, 0.05, 0.8), 0.05, q)) {
      pair_eval(&p, &scene, &q[0], &q[1]);
      Affine before[2] = {moved(&q[0], draw_vec3(&d, 0.02), draw_vec3(&d, 0.02), q[0].n[0]), q[1]};
      assert_true(list_friction(&p, &scene, before, q));
      Vec3 any = draw_vec3(&d, 1);
      for (int i = 0; k % 3 && i < p.friction.count;
           i++) { /* a force of its own, in the disc; the same for the same point */
        FrictionPoint *f = &pair_friction(&p, &scene)[i];
        Vec3 w = add_scaled(any, sin(7 * norm(f->ya)), f->yb);
        w = add_scaled(w, -dot(w, f->normal), f->normal);
        f->force = scale(1 / most(1, norm(w)), w);
      }
      rubbing += p.friction.count > 0;
      if (p.contact.count) check_gradient(&p, &scene, q, 1e-6);
      checked += p.contact.count > 0;
    }
    shelf_remove(&p);
  }
  assert_true(checked > rounds(1200) / 3 && rubbing > rounds(1200) / 8);
}

/* Faces and crossing edges alone, none of which fades: their Hessian has no part that is left out. */
static bool turns_fully(const Pair *p, const ContactScene *scene, const Affine q[2]) {
  const Contact *c = pair_contacts(p, scene);
  bool fully = p->acting > 0;
  for (int i = 0; i < p->acting; i++)
    fully = fully && c[i].mollifier_d1 == 0 && contact_turning(p, scene, &c[i], &q[0], &q[1]).count == 2;
  return fully;
}

static void add_turning(const Pair *p, const ContactScene *scene, const Affine q[2], double h[24][24]) {
  for (int i = 0; i < p->acting; i++) {
    const Turning t = contact_turning(p, scene, &pair_contacts(p, scene)[i], &q[0], &q[1]);
    for (int x = 0; x < TURNING_NODES; x++)
      for (int y = 0; y < TURNING_NODES; y++) turning_add(&t, x, y, &h[3 * y][3 * x], 24); /* by columns: symmetric */
  }
}

static void gradient_at(Pair *p, const ContactScene *scene, Affine q[2], double g[24]) {
  pair_eval(p, scene, &q[0], &q[1]);
  pair_assemble(p, scene, &q[0], &q[1]);
  gradient_of(pair_moment_sums(p, scene), g);
}

/* The largest errors of the Hessian with and without turning terms against differences of the gradient, relative to its
 * largest entry. */
static void find_errors(Pair *p, const ContactScene *scene, const Affine q[2], double error[2]) {
  double without[24][24], with[24][24], g[2][24], step = 1e-6 * scene->range, size = 0;
  hessian_of(pair_moment_sums(p, scene), without);
  memcpy(with, without, sizeof with);
  add_turning(p, scene, q, with);
  error[0] = error[1] = 0;
  for (int i = 0; i < 24; i++) {
    for (int side = 0; side < 2; side++) {
      Affine x[2] = {q[0], q[1]};
      *unknown(x, i) += side ? step : -step;
      gradient_at(p, scene, x, g[side]);
    }
    for (int j = 0; j < 24; j++) {
      double numeric = (g[1][j] - g[0][j]) / (2 * step);
      size = most(size, fabs(numeric));
      error[0] = most(error[0], fabs(without[i][j] - numeric));
      error[1] = most(error[1], fabs(with[i][j] - numeric));
    }
  }
  for (int k = 0; k < 2; k++) error[k] /= size;
}

static void test_turning_completes_the_hessian(void **state) {
  Draw d = {11};
  int checked = 0;
  double worst = 0, least_without = 1;
  (void)state;
  for (int k = 0; k < rounds(1200); k++) {
    Pair p = draw_pair(&d, &cast.model);
    Affine q[2];
    ContactScene scene = scene_of(0.1, k % 4 ? 0 : 0.05);
    p.stiffness = draw_decades(&d, -3, 3);
    if (draw_near(&d, &cast.model, &p, scene.separation + scene.range * draw(&d, 0.3, 0.6), 0.05, q)) {
      double g[24], error[2];
      gradient_at(&p, &scene, q, g);
      if (p.contact.count && turns_fully(&p, &scene, q)) {
        find_errors(&p, &scene, q, error);
        worst = most(worst, error[1]);
        least_without = least(least_without, error[0]);
        checked++;
        if (error[1] > 1e-4)
          fail_msg("%s, %s: Hessian off by %g, without turning terms by %g, %d contacts",
                   body_mesh(&cast.model, p.a)->name, body_mesh(&cast.model, p.b)->name, error[1], error[0], p.acting);
      }
    }
    shelf_remove(&p);
  }
  printf("%d Hessians off by at most %.1e with turning terms, by at least %.1e without\n", checked, worst,
         least_without);
  assert_true(checked > rounds(1200) / 50 && least_without > 100 * worst);
}

/* Energy, gradient and Hessian of friction alone, at poses with its forces at their solution. */
static double friction_at(Pair *p, const ContactScene *scene, const Affine q[2], double g[24], double h[24][24]) {
  set_forces(p, scene, q);
  pair_assemble(p, scene, &q[0], &q[1]);
  gradient_of(pair_moment_sums(p, scene), g);
  hessian_of(pair_moment_sums(p, scene), h);
  return pair_friction_energy(p, scene, &q[0], &q[1]);
}

static void check_differences(Pair *p, const ContactScene *scene, const Affine q[2]) {
  double g[24], h[24][24], side[2][24], unused[24][24], e[2], step = 1e-6 * scene->friction_eps;
  friction_at(p, scene, q, g, h);
  double size = largest(g, 24), stiff = fmax(largest(&h[0][0], 576), size / scene->friction_eps);
  if (!positive(h, 1e-11 * stiff)) fail_msg("the Hessian of friction has a negative eigenvalue");
  for (int i = 0; i < 24; i++) {
    for (int k = 0; k < 2; k++) {
      Affine x[2] = {q[0], q[1]};
      (&x[0].n[0].x)[i] += k ? step : -step; /* the poses lie one after the other */
      e[k] = friction_at(p, scene, x, side[k], unused);
    }
    double slope = (e[1] - e[0]) / (2 * step);
    if (fabs(slope - g[i]) > 1e-6 * size) fail_msg("gradient[%d] = %.12g, differences give %.12g", i, g[i], slope);
    for (int j = 0; j < 24; j++) {
      double d = (side[1][j] - side[0][j]) / (2 * step);
      if (fabs(d - h[j][i]) > 1e-5 * stiff) fail_msg("H[%d][%d] = %.12g, differences give %.12g", j, i, h[j][i], d);
    }
  }
}

/* Sticking and slipping; the forces of a point that rolls or spins have no sum, and the torques are opposite. */
static void test_rolling_and_spinning(void **state) {
  Draw d = {11};
  int checked = 0, slipping = 0;
  (void)state;
  for (int k = 0; k < rounds(600); k++) {
    Pair p = draw_pair(&d, &cast.model);
    Affine q[2];
    ContactScene scene = scene_of(0.1, 0);
    p.stiffness = draw_decades(&d, -3, 3);
    p.rolling = k % 3 != 1 ? draw(&d, 0.001, 0.1) : 0;
    p.torsion = k % 3 != 2 ? draw(&d, 0.001, 0.1) : 0;
    if (draw_near(&d, &cast.model, &p, scene.range * draw(&d, 0.05, 0.8), 0.05, q)) {
      pair_eval(&p, &scene, &q[0], &q[1]);
      double turn = k % 2 ? 0.05 : 0.003;
      Affine before[2] = {moved(&q[0], draw_vec3(&d, 0.02), draw_vec3(&d, turn), q[0].n[0]), q[1]};
      assert_true(list_friction(&p, &scene, before, q));
      p.contact.count = p.acting = 0; /* friction alone */
      if (p.friction.count) check_differences(&p, &scene, q);
      double g[24], h[24][24];
      if (p.friction.count) friction_at(&p, &scene, q, g, h);
      for (int i = 0; p.friction.count && i < 3; i++) assert_true(g[i] == 0 && g[12 + i] == 0);
      for (int i = 0; i < p.friction.count; i++)
        slipping += norm(pair_friction(&p, &scene)[i].displacement) > scene.friction_eps;
      checked += p.friction.count > 0;
    }
    shelf_remove(&p);
  }
  printf("  %d pairs, %d points slip\n", checked, slipping);
  assert_true(checked > rounds(600) / 4 && slipping > checked / 4);
}

/* A card over a box, edges nearly along each other: the mollifier is at work. */
static void test_gradient_of_nearly_parallel_edges(void **state) {
  Draw d = {5};
  int faded = 0;
  (void)state;
  for (int k = 0; k < rounds(400); k++) {
    Pair p = {.a = KIND_CARD, .b = KIND_COUNT + KIND_BOX, .stiffness = 1, .expected = -1};
    ContactScene scene = scene_of(0.1, 0);
    pair_order(&cast.model, &p.a, &p.b);
    const Mesh *a = body_mesh(&cast.model, p.a), *b = body_mesh(&cast.model, p.b);
    double apart = b->box.hi.x - a->box.lo.x + 0.1 * draw(&d, 0.2, 0.9);
    Affine q[2] = {affine(vec3(apart, 0, -a->box.lo.z), mat3_exp(draw_vec3(&d, 0.02))),
                   affine(vec3(0, 0, 0), mat3_identity())};
    pair_eval(&p, &scene, &q[0], &q[1]);
    int before = faded;
    for (int i = 0; i < p.contact.count; i++) faded += pair_contacts(&p, &scene)[i].mollifier_d1 != 0;
    if (faded > before) check_gradient(&p, &scene, q, 1e-4);
    shelf_remove(&p);
  }
  assert_true(faded > rounds(400) / 4);
}

/* ---- boxes of bodies --------------------------------------------------------------------------------------------- */

enum { BODIES = 120 };

static void crowd(Model *m, Draw *d) {
  static Shape shape;
  uint32_t edge[16][2];
  AbdError error = {ABD_OK, ""};
  AbdMeshDef mesh = kind_def(KIND_BOX, &shape, edge);
  m->def = abd_default_world_def();
  assert_int_equal(model_add_mesh(m, &mesh, &error), ABD_OK);
  for (int i = 0; i < BODIES; i++) {
    AbdBodyDef def = {
        .mesh = {1}, .density = 1000, .stiffness = 1e9, .rotation = {1, 0, 0, 0}, .group = draw_int(d, 8) - 4};
    def.motion = draw_int(d, 4) ? ABD_MOTION_DYNAMIC : (AbdMotion)(1 + draw_int(d, 2));
    assert_int_equal(model_add_body(m, &def, &error), ABD_OK);
  }
  for (int i = 0; i < 500; i++) {
    int a = draw_int(d, BODIES), b = draw_int(d, BODIES);
    if (a != b) assert_int_equal(model_add_rule(m, a, b, draw(d, -1, 1), &error), ABD_OK);
  }
  assert_int_equal(model_start(m, &error), ABD_OK);
}

static void check_pairs(const Broad *broad, const Model *m) {
  int k = 0;
  for (int a = 0; a < BODIES; a++)
    for (int b = a + 1; b < BODIES; b++) {
      if (!model_collides(m, a, b) || !box_overlap(broad->box[a], broad->box[b])) continue;
      if (broad->own && !broad->own[a] && !broad->own[b]) continue;
      if (k >= broad->pair_count || broad->pair[k] != pair_key(a, b))
        fail_msg("pair %d should be of bodies %d and %d", k, a, b);
      k++;
    }
  assert_int_equal(k, broad->pair_count);
}

/* Grows some boxes, few or many, a little or a lot. */
static void check_growth(Broad *broad, const Model *m, Draw *d, int k) {
  bool grown[BODIES] = {0};
  int count = k % 3 == 0 ? BODIES : 1 + draw_int(d, 20), before = broad->pair_count, added = -1;
  for (int j = 0; j < count; j++) {
    int i = draw_int(d, BODIES);
    grown[i] = true;
    broad->box[i] = box_inflate(broad->box[i], draw_decades(d, -3, k % 2 ? 0 : 1.5));
  }
  assert_true(broad_grow(broad, m, grown, &added));
  check_pairs(broad, m);
  assert_int_equal(added, broad->pair_count - before);
}

/* All boxes shrink. No pair is dropped by a new search in a step, whether all bodies are tested again or one. */
static long check_kept(Broad *broad, const Model *m, int grown_count) {
  bool grown[BODIES] = {0};
  int before = broad->pair_count, added = -1;
  uint64_t *old = malloc(((size_t)before + 1) * sizeof *old);
  assert_non_null(old);
  memcpy(old, broad->pair, (size_t)before * sizeof *old);
  for (int i = 0; i < grown_count; i++) grown[i] = true;
  for (int i = 0; i < BODIES; i++) {
    Vec3 center = box_center(broad->box[i]);
    broad->box[i].lo = scale(0.5, add(center, broad->box[i].lo));
    broad->box[i].hi = scale(0.5, add(center, broad->box[i].hi));
  }
  assert_true(broad_grow(broad, m, grown, &added));
  assert_int_equal(added, 0);
  assert_int_equal(broad->pair_count, before);
  assert_memory_equal(broad->pair, old, (size_t)before * sizeof *old);
  free(old);
  return before;
}

/* Own bodies are those on one side of a plane. */
static void choose_own(Broad *broad, Draw *d, unsigned char *own, int *own_body) {
  Vec3 normal = draw_vec3(d, 1);
  broad->own = own, broad->own_body = own_body, broad->own_count = 0;
  for (int i = 0; i < BODIES; i++) {
    own[i] = dot(normal, box_center(broad->box[i])) > 0.2;
    if (own[i]) own_body[broad->own_count++] = i;
  }
}

static void test_broad_phase_equals_all_pairs(void **state) {
  Draw d = {6};
  Model m = {0};
  Broad broad;
  long pairs = 0, columns = 0, grown = 0, kept = 0;
  unsigned char own[BODIES];
  int own_body[BODIES];
  const int count = 30 + rounds(50);
  (void)state;
  crowd(&m, &d);
  assert_true(broad_init(&broad, &m));
  for (int k = 0; k < count; k++) {
    Vec3 spread = vec3(draw_decades(&d, -1, 1.5), draw_decades(&d, -1, 1.5), draw_decades(&d, -1, 1.5));
    for (int i = 0; i < BODIES; i++) {
      Vec3 u = draw_vec3(&d, 1);
      Affine q = affine(vec3(u.x * spread.x, u.y * spread.y, u.z * spread.z), draw_rotation(&d));
      broad.box[i] = body_box(&m, i, &q);
      if (i % 10 == 3) broad.box[i] = broad.box[draw_int(&d, i)]; /* equal corners */
    }
    broad.own = NULL;
    if (k % 2) choose_own(&broad, &d, own, own_body);
    assert_true(broad_find(&broad, &m));
    check_pairs(&broad, &m);
    pairs += broad.pair_count;
    columns += broad.columns;
    for (int g = 0; g < 4; g++) check_growth(&broad, &m, &d, k + g);
    grown += broad.columns && broad.late_count > 0;
    kept += check_kept(&broad, &m, k % 2 ? 1 : BODIES);
  }
  assert_true(pairs > 1000 && kept > 1000);
  assert_true(grown > 2);                 /* without a sweep */
  assert_in_range(columns, 1, count - 1); /* both ways */
  broad_destroy(&broad);
  model_destroy(&m);
}

static void test_body_box_holds_the_body(void **state) {
  Draw d = {7};
  (void)state;
  for (int k = 0; k < 400; k++) {
    int body = k % KIND_COUNT;
    Posed p = {body_mesh(&cast.model, body), draw_pose(&d, 100, 0.3), NULL};
    Box box = box_inflate(body_box(&cast.model, body, &p.q), 1e-12);
    for (int i = 0; i < p.mesh->vertex_count; i++) {
      Vec3 x = posed_vertex(&p, (uint32_t)i);
      assert_true(box_contains(box, (Box){x, x}));
    }
    if (p.mesh->half_space) assert_true(box.lo.x < -1e100 && box.hi.z > 1e100);
  }
}

static void test_least_stretch_is_a_lower_bound(void **state) {
  Draw d = {8};
  (void)state;
  for (int k = 0; k < 20000; k++) {
    Affine q = draw_pose(&d, 0, draw_decades(&d, -6, 0.3));
    double least = least_stretch(&q);
    for (int i = 0; i < 20; i++) {
      Vec3 u = unit(draw_vec3(&d, 1));
      if (norm(affine_vector(&q, u)) < least * (1 - 1e-12))
        fail_msg("|A u| = %g, below the least stretch %g", norm(affine_vector(&q, u)), least);
    }
  }
}

/* A body that turns fast by a straight path is stretched across its axis, not along it: lists need not reach farther.
 * One that is nearly flat has a small one, however far from rigid it is. */
static void test_least_stretch_of_turns(void **state) {
  (void)state;
  for (double angle = 0.1; angle < 3; angle += 0.1) {
    Mat3 turn = mat3_add(mat3_identity(), mat3_scale(angle, mat3_skew(vec3(0, 0.6, 0.8))));
    Affine q = affine(vec3(0, 0, 0), turn);
    assert_true(least_stretch(&q) <= 1 && least_stretch(&q) > (angle < 0.75 ? 0.5 : 1 - 1e-9));
    for (double flat = 0.1; flat > 1e-5; flat *= 0.5) {
      Mat3 flattened = {{vec3(1, 0, 0), vec3(0, flat, 0), vec3(0, 0, 1)}};
      q = affine(vec3(0, 0, 0), mat3_mul(turn, flattened));
      double least = norm(affine_vector(&q, vec3(0, 1, 0)));
      assert_true(least_stretch(&q) <= least && least_stretch(&q) > 0);
    }
  }
}

/* A contact of weight 1 and one of a negative weight, whose normals have the given cosine: what is left of the
 * stiffness of the first one along its normal. */
static double stiffness_left(double weight, double cosine) {
  Contact c[2] = {{.weight = 1, .slope = -1, .curvature = 4, .normal = {1, 0, 0}},
                  {.weight = weight, .slope = -1, .curvature = 4, .normal = {cosine, sqrt(1 - cosine * cosine), 0}}};
  Relief relief = relief_zero();
  for (int i = 0; i < 2; i++) relief_add(&relief, &c[i]);
  Term with = contact_term(&c[0], 3, 0.5, &relief), without = contact_term(&c[0], 3, 0.5, NULL);
  assert_true(norm(sub(with.force, without.force)) == 0);
  return with.stiffness.xx / without.stiffness.xx;
}

static void test_negative_weights_relieve_the_others(void **state) {
  (void)state;
  assert_true(fabs(stiffness_left(-0.5, 1) - 0.5) < 1e-15);
  assert_true(fabs(stiffness_left(-0.5, 0.5) - 0.875) < 1e-15);
  assert_true(stiffness_left(-0.5, 0) == 1);
  assert_true(fabs(stiffness_left(-0.95, 1) - 0.1) < 1e-15); /* the matrix stays positive */
  assert_true(fabs(stiffness_left(-2, 1) - 0.1) < 1e-15);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_query_equals_a_double_loop),
      cmocka_unit_test(test_contacts_are_the_near_stencils),
      cmocka_unit_test(test_contacts_do_not_depend_on_the_list),
      cmocka_unit_test(test_gradient_of_barrier_and_friction),
      cmocka_unit_test(test_expected_forces),
      cmocka_unit_test(test_turning_completes_the_hessian),
      cmocka_unit_test(test_rolling_and_spinning),
      cmocka_unit_test(test_gradient_of_nearly_parallel_edges),
      cmocka_unit_test(test_negative_weights_relieve_the_others),
      cmocka_unit_test(test_broad_phase_equals_all_pairs),
      cmocka_unit_test(test_body_box_holds_the_body),
      cmocka_unit_test(test_least_stretch_is_a_lower_bound),
      cmocka_unit_test(test_least_stretch_of_turns),
  };
  return cmocka_run_group_tests(tests, start, stop);
}
