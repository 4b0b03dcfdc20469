/* The step bound of a pair: never larger than exact distances along the path permit, not needlessly small, and the same
 * bits with every list. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "contact/cache.h"
#include "posed.h"

typedef struct Path {
  Pair pair;
  ContactScene scene;
  Affine q[2], d[2];
} Path;

/* Towards another pose, a fraction of it or far beyond; sometimes only one body moves, sometimes both move alike. */
static void draw_directions(Draw *draw_from, Path *p) {
  int style = draw_int(draw_from, 5);
  double far = draw_decades(draw_from, -4, 0.7), turn = draw_decades(draw_from, -4, 0.5);
  for (int k = 0; k < 2; k++) {
    Mat3 a = affine_linear(&p->q[k]), r = mat3_exp(draw_vec3(draw_from, turn));
    p->d[k] = affine(draw_vec3(draw_from, far), mat3_sub(mat3_mul(r, a), a));
    if (style == 0) p->d[k] = affine(p->d[k].n[0], mat3_zero());
    if (style == 1) p->d[k] = affine(p->d[k].n[0], draw_mat3(draw_from, turn));
  }
  if (style == 2) p->d[1] = affine(vec3(0, 0, 0), mat3_zero());
  if (style == 3) p->d[0].n[0] = add(p->d[1].n[0], draw_vec3(draw_from, 0.01 * far));
  if (style == 4) p->d[0].n[0] = scale(far, unit(sub(p->q[1].n[0], p->q[0].n[0])));
}

static bool draw_path(Draw *d, int round, Path *p) {
  static const double place[] = {0, 0, 0, 100};
  p->pair = draw_pair(d, &cast.model);
  p->scene = (ContactScene){&cast.model, draw_decades(d, -4, -1), round % 4 ? 0 : 0.02, 1, NULL, NULL, &shelf, 0.01, 0};
  double gap = p->scene.separation + p->scene.range * draw_decades(d, -3, 1.5);
  if (!draw_near(d, &cast.model, &p->pair, gap, round % 3 ? 1e-6 : 0.05, p->q)) return false;
  for (int k = 0; k < 2; k++) p->q[k].n[0] = add(p->q[k].n[0], vec3(place[round % 4], 0, place[round % 4]));
  draw_directions(d, p);
  return true;
}

static void pose_at(const Path *p, double t, Posed *a, Posed *b) {
  *a = (Posed){body_mesh(&cast.model, p->pair.a), affine_add_scaled(p->q[0], t, p->d[0]), NULL};
  *b = (Posed){body_mesh(&cast.model, p->pair.b), affine_add_scaled(p->q[1], t, p->d[1]), NULL};
}

static double path_distance(const Path *p, double t) {
  Posed a, b;
  pose_at(p, t, &a, &b);
  return brute_distance(&a, &b);
}

/* No distance between the two changes faster than this. */
static double path_speed(const Path *p) {
  double sum = 0;
  for (int k = 0; k < 2; k++) {
    const Mesh *m = body_mesh(&cast.model, k ? p->pair.b : p->pair.a);
    double most = 0;
    for (int i = 0; i < m->vertex_count; i++) most = fmax(most, norm(affine_point(&p->d[k], m->vertex[i])));
    sum += most;
  }
  return sum;
}

/* The bound with a list made at the poses with this margin and lengthened where it does not reach. */
static double bound_with_margin(const Path *path, double margin) {
  Path p = *path;
  p.pair.margin = margin;
  pair_eval(&p.pair, &p.scene, &p.q[0], &p.q[1]);
  pair_bound(&p.pair, &p.scene, p.q, p.d);
  pair_bound_cover(&p.pair, &p.scene, p.q, p.d, 1);
  assert_false(p.pair.failed || p.pair.needs_cover);
  double bound = p.pair.bound;
  shelf_remove(&p.pair);
  return bound;
}

/* With a list made at poses a little off. */
static double bound_with_old_list(Draw *d, const Path *path) {
  Path p = *path;
  double off = p.scene.range * draw_decades(d, -3, 0.5);
  Affine before =
      affine(add(p.q[0].n[0], draw_vec3(d, off)), mat3_mul(mat3_exp(draw_vec3(d, off)), affine_linear(&p.q[0])));
  p.pair.margin = 10 * off;
  pair_eval(&p.pair, &p.scene, &before, &p.q[1]);
  pair_eval(&p.pair, &p.scene, &p.q[0], &p.q[1]);
  pair_bound(&p.pair, &p.scene, p.q, p.d);
  pair_bound_cover(&p.pair, &p.scene, p.q, p.d, 1);
  double bound = p.pair.bound;
  shelf_remove(&p.pair);
  return bound;
}

static void name_path(const Path *p) {
  print_message("%s and %s, range %g, separation %g, gap %g, speed %g\n", body_mesh(&cast.model, p->pair.a)->name,
                body_mesh(&cast.model, p->pair.b)->name, p->scene.range, p->scene.separation,
                path_distance(p, 0) - p->scene.separation, path_speed(p));
}

typedef struct Stencil {
  int kind, i, j;
} Stencil;

/* Walks along the path by steps that no approach of this stencil can hide in, as far as patience goes. */
static void walk(const Path *p, Stencil s, double distance, double speed, double level, double bound) {
  for (double t = 0, d = distance; t < bound;) {
    Posed a, b;
    t = fmin(bound, t + fmax((d - level) / speed, bound / 200));
    pose_at(p, t, &a, &b);
    d = stencil_distance(&a, &b, s.kind, s.i, s.j);
    if (d >= level) continue;
    name_path(p);
    fail_msg("bound %.17g, but at t = %.17g stencil %d (%d, %d) is at %.17g, below %.17g", bound, t, s.kind, s.i, s.j,
             d, level);
  }
}

static void check_safe(const Path *p, double bound) {
  double gap = path_distance(p, 0) - p->scene.separation, speed = path_speed(p);
  double level = p->scene.separation + 0.085 * fmin(gap, p->scene.range) - 1e-13;
  Posed a, b;
  pose_at(p, 0, &a, &b);
  for (int kind = 0; kind < 4; kind++) {
    int na, nb;
    stencil_counts(a.mesh, b.mesh, kind, &na, &nb);
    for (int i = 0; i < na; i++)
      for (int j = 0; j < nb; j++) {
        double d = stencil_distance(&a, &b, kind, i, j);
        if (d - level < bound * speed || b.mesh->half_space) walk(p, (Stencil){kind, i, j}, d, speed, level, bound);
      }
  }
}

static void test_bound_is_safe_and_not_early(void **state) {
  Draw d = {1};
  int cut = 0, early = 0, paths = 0;
  (void)state;
  for (int k = 0; k < rounds(3000); k++) {
    Path p;
    if (!draw_path(&d, k, &p)) continue;
    double bound = bound_with_margin(&p, draw_decades(&d, -5, -1));
    assert_true(bound >= 0 && bound <= 1);
    check_safe(&p, bound);
    paths++;
    if (bound == 1) continue;
    cut++;
    early += path_distance(&p, bound) > p.scene.separation + 0.101 * p.scene.range &&
             !body_mesh(&cast.model, p.pair.b)->half_space;
  }
  print_message("%d paths, %d cut short, %d of them too early\n", paths, cut, early);
  assert_true(cut > paths / 5);
  assert_true(early <= cut / 100);
}

static void test_bound_does_not_depend_on_the_list(void **state) {
  Draw d = {2};
  int wrong = 0, paths = 0, cut = 0;
  (void)state;
  for (int k = 0; k < rounds(8000); k++) {
    Path p;
    if (!draw_path(&d, k, &p)) continue;
    double whole = bound_with_margin(&p, 1e3), shortest = bound_with_margin(&p, 1e-3 * p.scene.range);
    double some = bound_with_margin(&p, draw_decades(&d, -4, 0)), old = bound_with_old_list(&d, &p);
    paths++;
    cut += whole < 1;
    if (whole == shortest && whole == some && whole == old) continue;
    if (wrong++ > 5) continue;
    name_path(&p);
    print_message(
        "  bound %.17g with all stencils, %.17g with the shortest list, %.17g with another, %.17g with an old one\n",
        whole, shortest, some, old);
  }
  print_message("%d paths, %d cut short, %d differ\n", paths, cut, wrong);
  assert_int_equal(wrong, 0);
}

/* ---- path lengths
 * ------------------------------------------------------------------------------------------------------ */

static Affine strayed(Draw *d, const Affine *q, double far) {
  return affine(add(q->n[0], draw_vec3(d, far)), mat3_mul(mat3_exp(draw_vec3(d, far)), affine_linear(q)));
}

static void move_both(const Path *p, PathLength *length, const Affine q[2]) {
  for (int k = 0; k < 2; k++) path_length_move(length, &cast.model, k ? p->pair.b : p->pair.a, &q[k]);
}

/* Evaluates a pair with path lengths and one without. */
static void check_eval(Path *p, PathLength *length, const Affine q[2]) {
  Pair fresh = {.a = p->pair.a, .b = p->pair.b, .slot = 1, .stiffness = p->pair.stiffness, .margin = p->pair.margin};
  ContactScene scene = p->scene;
  scene.path_length = NULL;
  move_both(p, length, q);
  pair_eval(&p->pair, &p->scene, &q[0], &q[1]);
  pair_eval(&fresh, &scene, &q[0], &q[1]);
  if (p->pair.contact.count != fresh.contact.count || memcmp(&p->pair.min_gap, &fresh.min_gap, sizeof(double)) != 0 ||
      memcmp(&p->pair.energy_trial, &fresh.energy_trial, sizeof(double)) != 0) {
    name_path(p);
    fail_msg("%d contacts, gap %.17g by path lengths, %d contacts, gap %.17g without", p->pair.contact.count,
             p->pair.min_gap, fresh.contact.count, fresh.min_gap);
  }
  shelf_remove(&fresh);
}

/* Measures the pair at poses at which it has not been evaluated. */
static void measure(Path *p, PathLength *length, const Affine q[2]) {
  move_both(p, length, q);
  pair_bound(&p->pair, &p->scene, q, p->d);
}

/* Wanders by small steps, sometimes by one large one of both, and ends at the path's start, looked at there or not. */
static void stroll(Draw *d, Path *p, PathLength *length) {
  double small = p->scene.range * draw_decades(d, -4, 0.7);
  Affine at[2];
  p->pair.margin = p->scene.range * draw_decades(d, -2, 1.5);
  for (int step = draw_int(d, 6); step > 0; step--) {
    Vec3 both = draw_vec3(d, step % 3 == 2 ? draw_decades(d, -3, 3) : 0); /* a way that they go together */
    for (int k = 0; k < 2; k++) {
      at[k] = strayed(d, &p->q[k], step == 4 ? 0.1 : k && step % 2 ? 0 : small);
      at[k].n[0] = add(at[k].n[0], both);
    }
    if (draw_int(d, 2)) measure(p, length, at);
    check_eval(p, length, at);
    p->pair.stiffness = draw(d, 1, 2);
    if (draw_int(d, 2)) check_eval(p, length, at); /* once more, stiffer */
  }
  if (draw_int(d, 3) > 0) check_eval(p, length, p->q);
  else if (draw_int(d, 2))
    pair_eval(&p->pair, &p->scene, &p->q[0], &p->q[1]); /* at poses that the path lengths do not have */
  for (int k = 0; k < 2; k++) {
    int body = k ? p->pair.b : p->pair.a;
    path_length_move(length, &cast.model, body, &p->q[k]);
    path_length_aim(length, &cast.model, body, &p->d[k]);
  }
}

static void test_path_lengths_clear_only_what_is_clear(void **state) {
  Draw d = {3};
  int wrong = 0, paths = 0, cut = 0, clear = 0;
  (void)state;
  for (int k = 0; k < rounds(12000); k++) {
    Path p;
    PathLength length[2 * KIND_COUNT] = {0};
    if (!draw_path(&d, k, &p)) continue;
    double shorter = draw_decades(&d, -3, 0);
    for (int side = 0; side < 2; side++)
      p.d[side] = affine_add_scaled(affine_sub(p.d[side], p.d[side]), shorter, p.d[side]);
    double bound = bound_with_margin(&p, 1e-2);
    p.scene.path_length = length;
    stroll(&d, &p, length);
    bool told = pair_cache(&p.pair, &p.scene)->listed && pair_clear(&p.pair, &p.scene);
    if (!told) pair_bound(&p.pair, &p.scene, p.q, p.d);
    double wanted = draw_int(&d, 2) ? 1 : draw(&d, 0, 1); /* all that others let the step be */
    if (p.pair.needs_cover) pair_bound_cover(&p.pair, &p.scene, p.q, p.d, least(p.pair.bound, wanted));
    paths++;
    cut += bound < 1;
    clear += told;
    if (least(p.pair.bound, wanted) != least(bound, wanted) && wrong++ < 5) {
      name_path(&p);
      print_message("  bound %.17g by path lengths (%s) up to %g, %.17g without\n", p.pair.bound,
                    told ? "clear" : "asked", wanted, bound);
    }
    shelf_remove(&p.pair);
  }
  print_message("%d paths, %d cut short, %d cleared by path lengths, %d differ\n", paths, cut, clear, wrong);
  assert_true(clear > paths / 10 && cut > paths / 20);
  assert_int_equal(wrong, 0);
}

/* Between any two poses the corners of a's box move by no more than the records of a full evaluation and of a later
 * measurement say. Steps of all sizes, of one body or of both, also far away together. */
static void test_motions_are_no_longer_than_told(void **state) {
  Draw d = {5};
  double tightest = INFINITY;
  int records = 0;
  (void)state;
  for (int k = 0; k < rounds(12000); k++) {
    Path p;
    PathLength length[2 * KIND_COUNT] = {0};
    if (!draw_path(&d, k, &p)) continue;
    const Mesh *mesh = &cast.model.mesh[cast.model.body[p.pair.a].mesh];
    PairCache *cache = pair_cache(&p.pair, &p.scene);
    Affine at[2] = {p.q[0], p.q[1]}, then[2] = {p.q[0], p.q[0]};
    p.scene.path_length = length;
    pair_query_begin(&p.pair, &p.scene, &at[0], &at[1], 1);
    cache->listed = true;
    for (int step = 0; step < 4; step++) {
      double far = draw_decades(&d, -6, 0.5);
      for (int i = 0; i < 2; i++)
        if (draw_int(&d, 3)) at[i] = strayed(&d, &at[i], far);
      Vec3 both = draw_vec3(&d, draw_int(&d, 2) ? draw_decades(&d, -3, 3) : 0);
      for (int i = 0; i < 2; i++) at[i].n[0] = add(at[i].n[0], both);
      move_both(&p, length, at);
      Affine t = affine_relative(&at[0], &at[1]);
      double rel = pair_displacement(mesh, &cache->ref, &t);
      if (step == 0) cache_set_full(cache, &p.pair, &p.scene, rel, 1);
      if (step == 1) cache_set_mark(cache, &p.pair, &p.scene, rel, 2);
      if (step < 2) then[step] = t;
      const Mark *mark = pair_mark(&p.pair, &p.scene);
      double told[2] = {cache_motion(cache, &p.pair, &p.scene),
                        mark_motion(mark, &length[p.pair.a], &length[p.pair.b])};
      for (int r = 0; r < 2 && step > r; r++, records++) {
        double moved = pair_displacement(mesh, &then[r], &t), lost = 1e-13 * (norm(at[0].n[0]) + norm(at[1].n[0]));
        if (moved > lost) tightest = least(tightest, told[r] / (moved - lost));
      }
    }
    shelf_remove(&p.pair);
  }
  print_message("%d motions, told %.6g of themselves at least\n", records, tightest);
  assert_true(records > 1000 && tightest >= 1 && tightest < 1.5);
}

/* The farthest motion of a corner of a box, corner by corner. */
static double corner_motion(Box box, const Affine *t0, const Affine *t1) {
  double far = 0;
  for (int k = 0; k < 8; k++) {
    Vec3 y = vec3(k & 1 ? box.hi.x : box.lo.x, k & 2 ? box.hi.y : box.lo.y, k & 4 ? box.hi.z : box.lo.z);
    far = most(far, norm(sub(affine_point(t1, y), affine_point(t0, y))));
  }
  return far;
}

/* Shifts, turns and strains of all decades, of boxes far from the origin, flat ones and points. */
static void test_displacement_is_that_of_the_farthest_corner(void **state) {
  Draw d = {4};
  double worst = 0, farthest = 0;
  (void)state;
  for (int k = 0; k < rounds(20000); k++) {
    Mesh mesh = {0};
    Vec3 middle = draw_vec3(&d, draw_decades(&d, -3, 1)), half = vec3_abs(draw_vec3(&d, draw_decades(&d, -3, 1)));
    if (k % 4 == 1) half.z = 0;
    if (k % 4 == 2) half = vec3(0, 0, 0);
    mesh.box = (Box){sub(middle, half), add(middle, half)};
    const Affine zero = {{{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}}};
    Affine t = affine(draw_vec3(&d, draw_decades(&d, -6, 1)), draw_mat3(&d, draw_decades(&d, -6, 0)));
    double exact = corner_motion(mesh.box, &zero, &t), got = pair_displacement(&mesh, &zero, &t);
    worst = most(worst, fabs(got - exact) / exact);
    farthest = most(farthest, exact);
  }
  print_message("displacements up to %.3g m, off by %.2g of themselves at most\n", farthest, worst);
  assert_true(farthest > 1 && worst < 1e-14);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bound_is_safe_and_not_early),
      cmocka_unit_test(test_bound_does_not_depend_on_the_list),
      cmocka_unit_test(test_path_lengths_clear_only_what_is_clear),
      cmocka_unit_test(test_motions_are_no_longer_than_told),
      cmocka_unit_test(test_displacement_is_that_of_the_farthest_corner),
  };
  return cmocka_run_group_tests(tests, start, stop);
}
