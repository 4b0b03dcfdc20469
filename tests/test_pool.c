/* Ranges of a shared array: contents after parallel growth, spilling, settling and packing are what their owners
 * wrote; the layout does not depend on the number of threads; memory that runs out leaves every range readable.
 * Labels: threads */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "contact/pool.h"

enum { OWNERS = 200 };

typedef struct Group {
  Pool pool;
  Range range[OWNERS];
  int size[OWNERS];
} Group;

static int item_of(int owner, int i) { return 1000 * owner + i; }

static void fill(void *context, int k) {
  Group *g = context;
  g->range[k].count = 0;
  for (int i = 0; i < g->size[k]; i++) {
    int *item = pool_extend(&g->pool, &g->range[k], 1);
    if (item) *item = item_of(k, i);
  }
}

static void settle(Group *g) {
  assert_true(pool_settle(&g->pool));
  assert_false(g->pool.spilled);
}

static void check(const Group *g) {
  for (int k = 0; k < OWNERS; k++) {
    const int *item = pool_items(&g->pool, &g->range[k]);
    assert_int_equal(g->range[k].count, g->size[k]);
    for (int i = 0; i < g->size[k]; i++) assert_int_equal(item[i], item_of(k, i));
  }
}

/* Owners grow and shrink in three loops. */
static void grow(Group *g, int threads) {
  memset(g, 0, sizeof *g);
  assert_true(pool_init(&g->pool, sizeof(int), 4));
  for (int round = 0; round < 3; round++) {
    for (int k = 0; k < OWNERS; k++) g->size[k] = (k * 7 + round * 13) % 29;
    parallel_for(threads, OWNERS, 4, fill, g);
    settle(g);
    check(g);
  }
}

static void test_same_for_any_number_of_threads(void **state) {
  static Group one, many;
  (void)state;
  grow(&one, 1);
  for (int threads = 2; threads <= 4; threads++) {
    grow(&many, threads);
    assert_int_equal(one.pool.count, many.pool.count);
    assert_int_equal(one.pool.wasted, many.pool.wasted);
    assert_memory_equal(one.range, many.range, sizeof one.range);
    pool_destroy(&many.pool);
  }
  pool_destroy(&one.pool);
}

static void test_grows_in_place_within_its_room(void **state) {
  static Group g;
  (void)state;
  grow(&g, 1);
  for (int k = 0; k < OWNERS; k++) g.size[k] = g.range[k].capacity;
  parallel_for(1, OWNERS, 4, fill, &g);
  assert_false(g.pool.spilled);
  check(&g);
  pool_destroy(&g.pool);
}

static void test_packs_what_is_left(void **state) {
  static Group g;
  Pool packed;
  (void)state;
  grow(&g, 1);
  for (int k = 0; k < OWNERS; k++)
    if (k % 4) pool_release(&g.pool, &g.range[k]), g.size[k] = 0;
  assert_true(pool_sparse(&g.pool));
  int live = g.pool.count - g.pool.wasted;
  assert_true(pool_pack_begin(&g.pool, &packed));
  for (int k = 0; k < OWNERS; k++) pool_pack(&g.pool, &packed, &g.range[k]);
  pool_pack_end(&g.pool, &packed);
  check(&g);
  assert_int_equal(g.pool.count, live);
  assert_false(pool_sparse(&g.pool));
  pool_destroy(&g.pool);
}

static void test_out_of_memory_loses_nothing(void **state) {
  static Group g;
  (void)state;
  grow(&g, 1);
  int before = g.size[5];
  mem_fail_after(1);
  assert_null(pool_extend(&g.pool, &g.range[5], 100000));
  mem_fail_after(0);
  assert_int_equal(g.range[5].count, before);
  check(&g);
  assert_non_null(pool_extend(&g.pool, &g.range[5], 100000)); /* beyond what the shared array has room for */
  mem_fail_after(1);
  assert_false(pool_settle(&g.pool));
  mem_fail_after(0);
  assert_int_equal(((int *)pool_items(&g.pool, &g.range[5]))[0], item_of(5, 0));
  pool_destroy(&g.pool);
}

/* Scratch lies behind a thread's spill: it takes no room of the pool, and spilled ranges stay as they are. */
static void test_scratch_takes_no_room(void **state) {
  static Group g;
  (void)state;
  grow(&g, 1);
  int count = g.pool.count, spilled = g.pool.spill[0].count;
  int *scratch = pool_scratch(&g.pool, 1000);
  assert_non_null(scratch);
  for (int i = 0; i < 1000; i++) scratch[i] = -1;
  check(&g);
  assert_int_equal(g.pool.count, count);
  assert_int_equal(g.pool.spill[0].count, spilled);
  mem_fail_after(1);
  assert_null(pool_scratch(&g.pool, 1000000));
  mem_fail_after(0);
  pool_destroy(&g.pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same_for_any_number_of_threads), cmocka_unit_test(test_grows_in_place_within_its_room),
      cmocka_unit_test(test_packs_what_is_left), cmocka_unit_test(test_out_of_memory_loses_nothing),
      cmocka_unit_test(test_scratch_takes_no_room)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
