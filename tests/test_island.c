/* Islands by union-find (step/island.h): the same as a plain search of the graph, for any number of threads; islands
 * that meet merge once.
 * Labels: threads */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/world.h"
#include "draw.h"
#include "lab.h"

enum { BODIES = 600 };

static Lab many_boxes(void) {
  Lab lab = lab_open(abd_default_world_def());
  AbdMeshId cube = lab_box(&lab, 0.1, 0.1, 0.1);
  for (int i = 0; i < BODIES; i++) {
    AbdBodyDef def = abd_default_body_def();
    def.mesh = cube;
    def.position[0] = i;
    def.motion = i % 7 == 3 ? ABD_MOTION_STATIC : ABD_MOTION_DYNAMIC;
    AbdBodyId id;
    lab_expect_ok(&lab, abd_world_add_body(lab.world, &def, &id));
  }
  lab_expect_ok(&lab, abd_world_start(lab.world));
  return lab;
}

/* The smallest body that is connected to each, by repeated sweeps. */
static void sweep(const Model *m, int pair_count, const int (*pair)[2], int *smallest) {
  for (int i = 0; i < m->block_count; i++) smallest[i] = i;
  for (bool changed = true; changed;) {
    changed = false;
    for (int k = 0; k < pair_count; k++) {
      int a = pair[k][0], b = pair[k][1];
      if (m->body[a].slot < 0 || m->body[b].slot < 0 || smallest[a] == smallest[b]) continue;
      smallest[a] = smallest[b] = smallest[a] < smallest[b] ? smallest[a] : smallest[b];
      changed = true;
    }
  }
}

static void draw_pairs(Draw *d, int count, int (*pair)[2]) {
  for (int k = 0; k < count; k++) {
    pair[k][0] = draw_int(d, BODIES);
    pair[k][1] = draw_int(d, BODIES);
  }
}

static void test_components(void **state) {
  (void)state;
  Lab lab = many_boxes();
  const Model *m = &lab.world->model;
  Draw d = {11};
  static int pair[2 * BODIES][2], smallest[BODIES];
  Islands islands;
  assert_true(islands_init(&islands, m));
  for (int round = 0; round < 60; round++) {
    int count = draw_int(&d, 2 * BODIES);
    draw_pairs(&d, count, pair);
    sweep(m, count, (const int(*)[2])pair, smallest);
    assert_true(islands_build(&islands, 1 + round % 8, count, (const int(*)[2])pair, false));
    int expected = 0;
    for (int i = 0; i < BODIES; i++) {
      if (m->body[i].slot < 0) assert_int_equal(islands.of[i], -1);
      else if (smallest[i] == i) assert_int_equal(islands.of[i], expected++); /* numbered by their smallest bodies */
      else assert_int_equal(islands.of[i], islands.of[smallest[i]]);
    }
    assert_int_equal(islands.count, expected);
  }
  islands_destroy(&islands);
  lab_close(&lab);
}

/* Three islands of two, three and one bodies meet: the counts of active bodies and the slopes add up once, and the next
 * iteration has all bodies. */
static void test_merges_once(void **state) {
  (void)state;
  Lab lab = many_boxes();
  Islands s;
  const int before[][2] = {{0, 1}, {4, 5}, {5, 6}}, after[][2] = {{0, 1}, {4, 5}, {5, 6}, {6, 1}, {2, 4}};
  assert_true(islands_init(&s, &lab.world->model));
  assert_true(islands_build(&s, 2, 3, before, false));
  const int first = s.of[0], second = s.of[4], third = s.of[2], bystander = s.of[8];
  const int index[] = {first, second, third, bystander}, active[] = {1, 3, 1, 1};
  for (int k = 0; k < 4; k++) {
    Island *g = &s.island[index[k]];
    g->active_count = active[k];
    g->slope = -1 - k;
    g->newton_slope = -10 * (1 + k);
    g->fraction = 1.0 / (1 + k);
    g->last = true;
    g->whole = false;
    g->iterations = k;
  }
  s.island[third].progress = ISLAND_DONE; /* its slope does not count, and the merged island is not in its last step */
  assert_true(islands_build(&s, 2, 5, after, true));
  const Island *g = &s.island[s.of[0]];
  assert_int_equal(s.of[0], s.of[6]);
  assert_int_equal(s.of[0], s.of[2]);
  assert_int_equal(g->body_count, 6);
  assert_int_equal(g->active_count, 5); /* one of the first island's two bodies was not active */
  assert_true(g->slope == -1 - 2 && g->newton_slope == -10 - 20);
  assert_true(g->fraction == 0.5);
  assert_true(g->joined && g->whole && !g->last && g->progress == ISLAND_ACTIVE);
  assert_int_equal(g->iterations, 2);
  const Island *other = &s.island[s.of[8]];
  assert_true(!other->joined && other->last && other->active_count == 1 && other->slope == -4);
  islands_destroy(&s);
  lab_close(&lab);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_components), cmocka_unit_test(test_merges_once)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
