/* An elimination tree that is one long path is turned to one with its root in the middle, without fill. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "linear/block_plan.h"

/* A strip three blocks wide, eliminated from end to end. Diagonals at random. */
enum { WIDTH = 3, LENGTH = 1000, BLOCKS = WIDTH * LENGTH };

static int size[BLOCKS], column[BLOCKS], edge[3 * BLOCKS][2], edge_count;

static void couple(int a, int b) {
  edge[edge_count][0] = a;
  edge[edge_count++][1] = b;
}

static BlockShape strip(void) {
  unsigned state = 5;
  edge_count = 0;
  for (int i = 0; i < BLOCKS; i++) {
    size[i] = 12;
    column[i] = i;
    if (i % WIDTH + 1 < WIDTH) couple(i, i + 1);
    if (i + WIDTH < BLOCKS) couple(i, i + WIDTH);
    state = state * 1664525 + 1013904223;
    if (state >> 31 && i % WIDTH + 1 < WIDTH && i + WIDTH + 1 < BLOCKS) couple(i, i + WIDTH + 1);
  }
  return (BlockShape){.count = BLOCKS, .edge_count = edge_count, .size = size, .edge = (const int(*)[2])edge};
}

static int height(const BlockPattern *p) {
  static int high[BLOCKS];
  int most = 0;
  for (int c = 0; c < p->n; c++) high[c] = 0;
  for (int c = 0; c < p->n; c++) {
    if (++high[c] > most) most = high[c];
    if (p->parent[c] != -1 && high[p->parent[c]] < high[c]) high[p->parent[c]] = high[c];
  }
  return most;
}

static void root_in_the_middle(void **state) {
  (void)state;
  BlockShape shape = strip();
  BlockOrder order = {BLOCKS, BLOCKS, column};
  BlockPattern p = {0};
  bool moved;
  assert_true(block_pattern_build(&p, &shape, &order, true, 1));
  int blocks = p.block_count, high = height(&p);
  assert_true(block_order_center(&order, &p, &moved));
  assert_true(moved);
  assert_true(block_pattern_build(&p, &shape, &order, true, 1));
  print_message("height %d -> %d, %d -> %d blocks\n", high, height(&p), blocks, p.block_count);
  assert_int_equal(high, BLOCKS);
  assert_true(p.block_count <= blocks);
  assert_in_range(height(&p), BLOCKS / 2, BLOCKS / 2 + 10);
  assert_true(block_order_center(&order, &p, &moved)); /* both arms are as long now */
  assert_false(moved);
  block_pattern_free(&p);
}

/* A tree whose paths are short stays. */
static void wide_trees_stay(void **state) {
  (void)state;
  BlockShape shape = strip();
  BlockOrder order = {BLOCKS, BLOCKS, column};
  BlockPattern p = {0};
  bool moved = true;
  shape.edge_count = 0;
  assert_true(block_pattern_build(&p, &shape, &order, true, 1));
  assert_true(block_order_center(&order, &p, &moved));
  assert_false(moved);
  block_pattern_free(&p);
}

/* A chain, which AMD eliminates from end to end. */
static void plans_are_not_one_path(void **state) {
  (void)state;
  BlockPlan plan = {.threads = 1};
  BlockShape shape = strip();
  shape.edge_count = 0;
  for (int i = 0; i + 1 < BLOCKS; i++) edge[shape.edge_count][0] = i, edge[shape.edge_count++][1] = i + 1;
  assert_true(block_plan_make(&plan, &shape));
  print_message("height %d of a chain of %d\n", height(&plan.pattern), BLOCKS);
  assert_int_equal(plan.pattern.block_count, 2 * BLOCKS - 1);
  assert_in_range(height(&plan.pattern), 2, BLOCKS / 2 + 1);
  block_plan_free(&plan);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(root_in_the_middle),
      cmocka_unit_test(wide_trees_stay),
      cmocka_unit_test(plans_are_not_one_path),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
