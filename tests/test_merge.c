/* Weights of contacts: one for each pair of features, the same energy and force for every division of plane faces and
 * straight edges, no jump when a vertex slides over edges, diagonals and corners, a barrier that stays positive. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "contact/pair.h"
#include "draw.h"
#include "gridbox.h"
#include "kernel/barrier.h"
#include "kernel/constant.h"

enum { BOX_1, BOX_4, BOX_16, TIP, SMALL_TIP, SHORT_TIP, GROOVE, BLOCK, BODIES }; /* BLOCK: as BOX_4 */

static const double RANGE = 0.02;

static Model model;
static PairStore shelf;

static AbdStatus add_mesh(AbdMeshDef def, AbdError *error) {
  def.keep_frame = true;
  return model_add_mesh(&model, &def, error);
}

/* A pyramid with four sides, its tip down at the origin. */
static AbdStatus add_tip(double size, AbdError *error) {
  const double x[] = {0, 0, 0, size, 0, size, 0, size, size, -size, 0, size, 0, -size, size};
  const uint32_t t[] = {0, 2, 1, 0, 3, 2, 0, 4, 3, 0, 1, 4, 1, 2, 3, 1, 3, 4};
  return add_mesh((AbdMeshDef){.name = "tip", .vertex = x, .vertex_count = 5, .triangle = t, .triangle_count = 6},
                  error);
}

/* A block with a groove of 90 degrees along y: concave. */
static AbdStatus add_groove(AbdError *error) {
  static const double across[5][2] = {{-1, -1}, {1, -1}, {1, 1}, {0, 0}, {-1, 1}};
  double x[30];
  uint32_t t[48];
  int n = 0;
  for (int i = 0; i < 10; i++) {
    x[3 * i] = across[i % 5][0];
    x[3 * i + 1] = i < 5 ? -1 : 1;
    x[3 * i + 2] = across[i % 5][1];
  }
  for (uint32_t i = 0; i < 5; i++) {
    uint32_t j = (i + 1) % 5, side[6] = {i, j, j + 5, i, j + 5, i + 5};
    for (int k = 0; k < 6; k++) t[n++] = side[k];
  }
  static const uint32_t cap[9] = {0, 3, 1, 1, 3, 2, 0, 4, 3};
  for (int k = 0; k < 9; k++) t[n++] = cap[k];
  for (int k = 0; k < 9; k++) t[n++] = cap[8 - k] + 5;
  AbdMeshDef def = {.name = "groove", .vertex = x, .vertex_count = 10, .triangle = t, .triangle_count = 16};
  return add_mesh(def, error);
}

static int start(void **state) {
  static Grid grid;
  AbdError error = {ABD_OK, ""};
  (void)state;
  model.def = abd_default_world_def();
  bool good = store_init(&shelf, 1) && store_reserve(&shelf, 2);
  for (int n = 1; n <= 16; n *= 4) good = good && !add_mesh(grid_box(&grid, n, vec3(2, 1.8, 1.6), 0), &error);
  good = good && !add_tip(1, &error) && !add_tip(RANGE, &error) && !add_tip(2 * RANGE, &error) && !add_groove(&error);
  for (int i = 0; good && i < BODIES; i++) {
    AbdBodyDef def = abd_default_body_def();
    def.mesh.id = (uint32_t)(i == BLOCK ? BOX_4 : i) + 1;
    good = !model_add_body(&model, &def, &error);
  }
  if (good && model_start(&model, &error) == ABD_OK) return 0;
  printf("%s\n", error.text);
  return -1;
}

static int stop(void **state) {
  (void)state;
  model_destroy(&model);
  store_destroy(&shelf);
  return 0;
}

static ContactScene scene_of(void) {
  return (ContactScene){&model, RANGE, 0, 0.1 * RANGE, NULL, NULL, &shelf, 0.01, 0};
}

/* What a pair of bodies gives with body `moving` at pose q and the other one at rest at the origin. */
typedef struct Outcome {
  double energy, least, gap; /* least: the smallest weight */
  Vec3 force;                /* gradient by the moving body's position */
  int acting, stencils;
  double weight; /* sum */
} Outcome;

static Outcome outcome_of(int moving, int still, Affine q) {
  ContactScene scene = scene_of();
  const Affine rest = affine(vec3(0, 0, 0), mat3_identity());
  Pair p = {.a = moving, .b = still, .stiffness = 1, .expected = -1};
  pair_order(&model, &p.a, &p.b);
  const Affine *qa = p.a == moving ? &q : &rest, *qb = p.a == moving ? &rest : &q;
  pair_eval(&p, &scene, qa, qb);
  Outcome out = {p.energy_trial, INFINITY, p.min_gap, vec3(0, 0, 0), p.acting, p.contact.count, 0};
  for (int i = 0; i < p.acting; i++) {
    out.weight += pair_contacts(&p, &scene)[i].weight;
    out.least = least(out.least, pair_contacts(&p, &scene)[i].weight);
  }
  if (p.acting) {
    pair_assemble(&p, &scene, qa, qb);
    const Moments *m = pair_moment_sums(&p, &scene);
    out.force = p.a == moving ? m->ga[0] : m->gb[0];
  }
  pair_destroy(&p, &shelf);
  store_settle(&shelf);
  return out;
}

static Outcome tip_at(int tip, int still, double x, double y, double z) {
  return outcome_of(tip, still, affine(vec3(x, y, z), mat3_exp(vec3(0, 0, 0.3))));
}

/* ---- weights ---- */

static void expect_weight(const char *what, Outcome o, double weight) {
  printf("  %-28s weight %.3f in %d contacts of %d stencils\n", what, o.weight, o.acting, o.stencils);
  if (fabs(o.weight - weight) > 1e-6) fail_msg("%s: weight %.9f, expected %g", what, o.weight, weight);
}

/* The top of the box is at z = 0.8, its corner at (1, 0.9). */
static void test_a_corner_counts_once(void **state) {
  double z = 0.8 + 0.5 * RANGE;
  (void)state;
  for (int box = BOX_1; box <= BOX_16; box++) {
    expect_weight("corner on a face", tip_at(TIP, box, 0.31, 0.17, z), 1);
    expect_weight("corner on a face's middle", tip_at(TIP, box, 0, 0, z), 1);
    expect_weight("corner on an edge", tip_at(TIP, box, 1 + 0.1 * RANGE, 0.17, z), 2);
    expect_weight("corner on a corner", tip_at(TIP, box, 1 + 0.1 * RANGE, 0.9 + 0.1 * RANGE, z), 3);
  }
}

/* A box on its edge lies across the edge of another one; its other end is over the face. */
static void test_crossing_edges_count_once(void **state) {
  (void)state;
  double half = 0.5 * sqrt(1.8 * 1.8 + 1.6 * 1.6), angle = atan2(1.8, 1.6);
  for (int box = BOX_1; box <= BOX_16; box++) {
    Mat3 lying = mat3_exp(vec3(angle, 0, 0)), r = mat3_mul(mat3_exp(vec3(0, 0, 0.9)), lying);
    Affine q = affine(vec3(0.99, 0.05, 0.8 + half + 0.5 * RANGE), r);
    expect_weight("edge across an edge", outcome_of(box, BLOCK, q), 2);
  }
}

/* Edges shorter than SHARE_LENGTH ranges are all counted: four of the tip on one of the box, and the tip. */
static void test_short_edges_all_count(void **state) {
  (void)state;
  Outcome o = tip_at(SMALL_TIP, BOX_1, 1 + 0.1 * RANGE, 0.17, 0.8 + 0.9 * RANGE);
  expect_weight("tip with short edges", o, 5);
  expect_weight("tip with longer edges", tip_at(SHORT_TIP, BOX_1, 1 + 0.1 * RANGE, 0.17, 0.8 + 0.9 * RANGE), 2);
}

/* ---- division ---- */

static double difference(Outcome x, Outcome y) {
  return fabs(x.energy - y.energy) / x.energy + norm(sub(x.force, y.force)) / norm(x.force);
}

/* The same box, divided: random poses of a tip and of another box on it. */
static void test_division_changes_nothing(void **state) {
  Draw d = {5};
  int checked = 0;
  double worst = 0;
  (void)state;
  for (int k = 0; k < 60; k++) {
    Mat3 r = mat3_exp(draw_vec3(&d, k % 2 ? 1 : 0.02));
    int other = k % 4 < 2 ? TIP : BLOCK;
    double x = k % 3 ? draw(&d, -1, 1) : 1 + draw(&d, -0.5, 0.5) * RANGE;
    Vec3 at = vec3(x, draw(&d, -0.9, 0.9), 0.8 + (other == TIP ? 0 : 0.8));
    for (double up = 1.5; up > 0; up -= 0.05 * RANGE) { /* from above until they nearly touch */
      Outcome one = outcome_of(other, BOX_1, affine(add(at, vec3(0, 0, up)), r));
      if (!(one.gap < 0.9 * RANGE)) continue;
      if (one.gap < 0.1 * RANGE) break;
      for (int box = BOX_4; box <= BOX_16; box++)
        worst = most(worst, difference(one, outcome_of(other, box, affine(add(at, vec3(0, 0, up)), r))));
      checked++;
    }
  }
  printf("  %d poses, largest relative difference %.2e\n", checked, worst);
  assert_true(checked > 200);
  assert_true(worst < 1e-9);
}

/* ---- smoothness ---- */

/* Slides a tip along a line in small steps: the change of energy is that of the forces, and forces do not jump. */
static void slide(const char *what, int still, Vec3 from, Vec3 to) {
  enum { STEPS = 4000 };
  Vec3 step = scale(1.0 / STEPS, sub(to, from));
  Outcome before = tip_at(TIP, still, from.x, from.y, from.z);
  double worst = 0, jump = 0, size = 0;
  for (int i = 1; i <= STEPS; i++) {
    Vec3 at = add_scaled(from, i, step);
    Outcome o = tip_at(TIP, still, at.x, at.y, at.z);
    double work = 0.5 * dot(add(before.force, o.force), step);
    worst = most(worst, fabs(o.energy - before.energy - work));
    jump = most(jump, norm(sub(o.force, before.force)));
    size = most(size, norm(o.force));
    assert_true(o.energy >= 0);
    before = o;
  }
  printf("  %-24s energy off by %.1e of force times step, forces change by %.1e of the largest\n", what,
         worst / (size * norm(step)), jump / size);
  assert_true(size > 0);
  assert_true(worst < 1e-3 * size * norm(step));
  assert_true(jump < 0.02 * size);
}

static void test_sliding_is_smooth(void **state) {
  double z = 0.8 + 0.4 * RANGE, r = 1.2 * RANGE;
  (void)state;
  slide("over a diagonal", BOX_1, vec3(-r, 0.3 * r, z), vec3(r, 0.3 * r, z));
  slide("over many triangles", BOX_16, vec3(-0.2, 0.03, z), vec3(0.2, 0.11, z));
  slide("over an edge", BOX_4, vec3(1 - r, 0.17, z), vec3(1 + r, 0.17, z));
  slide("over a corner", BOX_4, vec3(1 - r, 0.9 - 0.9 * r, z), vec3(1 + r, 0.9 + r, z));
  slide("along an edge", BOX_4, vec3(1 + 0.1 * RANGE, -0.3, z), vec3(1 + 0.1 * RANGE, 0.3, z));
  slide("in a groove", GROOVE, vec3(-r, 0.3, 1.3 * r), vec3(r, 0.31, 1.3 * r));
  slide("into a groove", GROOVE, vec3(0.1 * RANGE, 0.3, 1.6 * RANGE), vec3(0, 0.3, 0.3 * RANGE));
}

/* In a groove two faces count; their edge is taken off by the triangles and added by the edges. */
static void test_groove(void **state) {
  (void)state;
  Outcome o = tip_at(TIP, GROOVE, 0.05 * RANGE, 0.3, 0.7 * RANGE);
  printf("  %d contacts, least weight %g, energy %g\n", o.acting, o.least, o.energy);
  assert_int_equal(o.acting, 2);
  assert_true(fabs(o.weight - 2) < 1e-9);
}

/* Boxes on each other exactly: rounding decides what is closest, and yet there are four contacts, each of a corner as
 * part of triangles (twice) and of edges. */
static void test_rounding(void **state) {
  Draw d = {6};
  ContactScene scene = scene_of();
  (void)state;
  for (int k = 0; k < 50; k++) {
    Mat3 r = mat3_exp(draw_vec3(&d, 2));
    Affine q[2] = {affine(vec3(3, 4, 5), r), affine(add(vec3(3, 4, 5), mat3_mul_vec(r, vec3(0, 0, 1.6 + 0.01))), r)};
    Pair p = {.a = BOX_1, .b = BOX_4, .stiffness = 1, .expected = -1};
    pair_eval(&p, &scene, &q[0], &q[1]);
    int heavy = 0;
    for (int i = 0; i < p.acting; i++) {
      double weight = pair_contacts(&p, &scene)[i].weight;
      if (fabs(weight) < 1e-9) continue; /* turned by the mollifier alone */
      if (fabs(weight - 3) > 1e-6) fail_msg("turn %d: a weight of %g", k, weight);
      heavy++;
    }
    assert_int_equal(heavy, 4);
    pair_destroy(&p, &shelf);
    store_settle(&shelf);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_corner_counts_once),
      cmocka_unit_test(test_crossing_edges_count_once),
      cmocka_unit_test(test_short_edges_all_count),
      cmocka_unit_test(test_division_changes_nothing),
      cmocka_unit_test(test_sliding_is_smooth),
      cmocka_unit_test(test_groove),
      cmocka_unit_test(test_rounding),
  };
  return cmocka_run_group_tests(tests, start, stop);
}
