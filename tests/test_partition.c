/* The division of bodies among ranks (mpi/partition.h), compiled here without MPI, and its constants. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "kernel/constant.h"
#include "mpi/partition.c"

enum { SIDE = 24, COUNT = SIDE * SIDE, PARTS = 6 };

static double share(const int *owner, const double *weight, int part) {
  double sum = 0, total = 0;
  for (int k = 0; k < COUNT; k++) total += weight[k], sum += owner[k] == part ? weight[k] : 0;
  return sum * PARTS / total;
}

/* Points of a square grid; those of the left half weigh three times as much. */
static void make_points(Vec3 *point, double *weight) {
  for (int k = 0; k < COUNT; k++) {
    point[k] = vec3(k % SIDE, k / SIDE, 0);
    weight[k] = k % SIDE < SIDE / 2 ? 3 : 1;
  }
}

static void test_space(void **state) {
  static Vec3 point[COUNT];
  static double weight[COUNT];
  static int owner[COUNT], again[COUNT];
  (void)state;
  make_points(point, weight);
  assert_true(partition_space(COUNT, point, weight, PARTS, owner));
  assert_true(partition_space(COUNT, point, weight, PARTS, again));
  assert_memory_equal(owner, again, sizeof owner);
  for (int p = 0; p < PARTS; p++) assert_in_range((int)(100 * share(owner, weight, p)), 85, 115);
  assert_true(partition_space(3, point, weight, PARTS, owner)); /* more parts than points */
  for (int k = 0; k < 3; k++) assert_in_range(owner[k], 0, PARTS - 1);
}

/* The grid's graph. */
static void make_graph(BodyGraph *g, const double *weight) {
  int edges = 0;
  for (int k = 0; k < COUNT; k++) {
    g->first[k] = edges;
    g->weight[k] = (int)weight[k];
    if (k % SIDE) g->neighbour[edges++] = k - 1;
    if (k % SIDE < SIDE - 1) g->neighbour[edges++] = k + 1;
    if (k >= SIDE) g->neighbour[edges++] = k - SIDE;
    if (k < COUNT - SIDE) g->neighbour[edges++] = k + SIDE;
  }
  g->first[COUNT] = edges;
}

static void test_graph(void **state) {
  static Vec3 point[COUNT];
  static double weight[COUNT];
  static int first[COUNT + 1], neighbour[4 * COUNT], whole[COUNT], before[COUNT], owner[COUNT];
  BodyGraph g = {COUNT, 1, first, neighbour, whole, NULL};
  int kept = 0, cut_edges = 0;
  (void)state;
  make_points(point, weight);
  make_graph(&g, weight);
  assert_true(partition_space(COUNT, point, weight, PARTS, before));
  if (!partition_graph(&g, PARTS, 1, before, owner)) {
    print_message("skipped: a build without METIS\n");
    return;
  }
  for (int p = 0; p < PARTS; p++) assert_in_range((int)(100 * share(owner, weight, p)), 90, 110);
  for (int k = 0; k < COUNT; k++) {
    kept += owner[k] == before[k];
    for (int e = first[k]; e < first[k + 1]; e++) cut_edges += owner[k] != owner[neighbour[e]];
  }
  assert_true(kept > COUNT / 3); /* parts keep the names of those they share most with */
  assert_true(cut_edges / 2 < 5 * SIDE);
}

/* Halves of the grid, cut in the middle: the left one weighs three times as much as the right one. Strong edges are
 * those of the rows 0 to 9. */
static void test_judge(void **state) {
  static Vec3 point[COUNT];
  static double weight[COUNT];
  static int first[COUNT + 1], neighbour[4 * COUNT], whole[COUNT], owner[COUNT], strength[4 * COUNT];
  BodyGraph g = {COUNT, 1, first, neighbour, whole, strength};
  PartitionQuality q;
  (void)state;
  make_points(point, weight);
  make_graph(&g, weight);
  for (int k = 0; k < COUNT; k++) {
    owner[k] = k % SIDE >= SIDE / 2;
    for (int e = first[k]; e < first[k + 1]; e++) strength[e] = k / SIDE < 10 && neighbour[e] / SIDE < 10 ? 7 : 6;
  }
  assert_true(partition_judge(&g, 2, 7, owner, &q));
  assert_float_equal(q.uneven[0], 1.5, 1e-12);
  assert_float_equal(q.uneven[1], 1, 0);
  assert_int_equal(q.border, 10);
  assert_true(partition_judge(&g, 2, 6, owner, &q));
  assert_int_equal(q.border, SIDE);
  for (int k = 0; k < COUNT; k++) owner[k] = 1; /* one part has nothing */
  assert_true(partition_judge(&g, 2, 6, owner, &q));
  assert_float_equal(q.uneven[0], 2, 1e-12);
  assert_int_equal(q.border, 0);
}

/* Rows of the grid's points are its edges, each once. */
static void test_rows(void **state) {
  static Vec3 point[COUNT];
  static double weight[COUNT];
  static int edge[3 * COUNT][2];
  (void)state;
  make_points(point, weight);
  for (int k = 0; k < COUNT; k++) point[k].z = 0.5 * SIDE * (k % 2); /* two layers of a chessboard */
  int count = partition_rows(COUNT, point, edge);
  assert_true(count > COUNT && count <= 3 * COUNT);
  for (int k = 0; k < count; k++) {
    Vec3 apart = sub(point[edge[k][0]], point[edge[k][1]]);
    assert_true(edge[k][0] != edge[k][1] && fabs(apart.x) + fabs(apart.y) < 8);
    for (int j = 0; j < k; j++)
      assert_false((edge[j][0] == edge[k][0] && edge[j][1] == edge[k][1]) ||
                   (edge[j][0] == edge[k][1] && edge[j][1] == edge[k][0]));
  }
  for (int k = 0; k < COUNT; k++) point[k] = vec3(1, 2, 3); /* no extent: one row */
  assert_int_equal(partition_rows(COUNT, point, edge), COUNT - 1);
}

/* Groups are small in number of points and in space; points that are alone share none. */
static void test_groups(void **state) {
  enum { SIZE = 9 };
  static Vec3 point[COUNT];
  static double weight[COUNT];
  static bool alone[COUNT];
  static int group[COUNT], members[COUNT];
  (void)state;
  make_points(point, weight);
  for (int k = 0; k < COUNT; k++) alone[k] = k % SIDE == 5;
  int count = partition_groups(COUNT, point, alone, SIZE, group);
  print_message("%d groups of %d points\n", count, COUNT);
  assert_in_range(count, SIDE + (COUNT - SIDE) / (2 * SIZE), SIDE + 2 * (COUNT - SIDE) / SIZE);
  for (int k = 0; k < COUNT; k++) {
    assert_in_range(group[k], 0, count - 1);
    members[group[k]]++;
    for (int j = 0; j < k; j++) {
      if (group[j] != group[k]) continue;
      assert_false(alone[j] || alone[k]);
      assert_true(norm(sub(point[j], point[k])) < 6);
    }
  }
  for (int g = 0; g < count; g++) assert_in_range(members[g], 1, 2 * SIZE);
  for (int k = 0; k < COUNT; k++) point[k] = vec3(1, 2, 3), alone[k] = false; /* no extent: full groups */
  assert_int_equal(partition_groups(COUNT, point, alone, SIZE, group), COUNT / (2 * SIZE));
  for (int k = 0; k < COUNT; k++) alone[k] = true;
  assert_int_equal(partition_groups(COUNT, point, alone, SIZE, group), COUNT);
}

/* tests/cli/ranks.sh runs with them; docs/scale.md has what other values do. */
static void test_constants(void **state) {
  (void)state;
  assert_true(RANKS_TOLERANCE == 1e-3);
  assert_true(RANKS_UNEVEN == 1.15);
  assert_int_equal(RANKS_PATIENCE, 5);
  assert_int_equal(RANKS_BODIES, 100);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_space), cmocka_unit_test(test_graph),  cmocka_unit_test(test_judge),
      cmocka_unit_test(test_rows),  cmocka_unit_test(test_groups), cmocka_unit_test(test_constants),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
