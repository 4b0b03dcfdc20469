/* src/mpi/owner.c: every pair of stiff bodies has one owner, the loads are even, and few uneven steps move pairs. The
 * ranks themselves are tested by tests/cli/ranks.sh. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "mpi/owner.h"

enum { COUNT = 1000, RANKS = 7 };

/* Pairs of a ground, body 0, with all, and of neighbours; by key. */
static void fill(Pairs *pairs, int64_t (*distances)(int k)) {
  assert_true(pairs_init(pairs, 1));
  pairs->count = pairs->slot_count = COUNT;
  pairs->slot = mem_zeroed(COUNT, sizeof(int));
  pairs->body = mem_zeroed(COUNT, sizeof *pairs->body);
  pairs->pair = mem_zeroed(COUNT, sizeof(Pair));
  assert_true(store_reserve(&pairs->store, COUNT));
  for (int k = 0; k < COUNT; k++) {
    bool ground = k < COUNT / 2;
    pairs->slot[k] = k;
    pairs->body[k][0] = ground ? 0 : k, pairs->body[k][1] = k + 1;
    pairs->pair[k] = (Pair){.a = pairs->body[k][0], .b = pairs->body[k][1], .slot = k};
    pairs->pair[k].counts.distances = distances(k);
  }
}

static int64_t even(int k) { return (void)k, 10; }
static int64_t steep(int k) { return k; }

static double load_of(const Owners *o, const Pairs *pairs, int *owned) {
  double load = 0;
  for (int k = 0; k < COUNT; k++) {
    if (!owners_own(o, pair_key(pairs->body[k][0], pairs->body[k][1]))) continue;
    load += owners_load(&pairs->pair[k]);
    owned[k]++;
  }
  return load;
}

static void check(int64_t (*distances)(int k)) {
  Pairs pairs;
  int owned[COUNT] = {0};
  double total = 0, most = 0;
  fill(&pairs, distances);
  for (int rank = 0; rank < RANKS; rank++) {
    Owners o;
    assert_true(owners_init(&o, rank, RANKS));
    owners_begin(&o, &pairs);
    owners_balance(&o, &pairs);
    double load = load_of(&o, &pairs, owned);
    total += load;
    if (load > most) most = load;
    owners_destroy(&o);
  }
  for (int k = 0; k < COUNT; k++) assert_int_equal(owned[k], 1);
  assert_true(most < 1.03 * total / RANKS);
  pairs_destroy(&pairs);
}

static void test_every_pair_has_one_owner(void **state) {
  (void)state;
  check(even);
  check(steep);
}

/* A division that is even enough is kept, so that lists of candidates stay with their owners. */
static void test_small_changes_move_nothing(void **state) {
  (void)state;
  Pairs pairs;
  Owners o;
  fill(&pairs, even);
  assert_true(owners_init(&o, 2, RANKS));
  owners_begin(&o, &pairs);
  uint64_t before = o.cut[2];
  for (int k = 0; k < COUNT; k++) pairs.pair[k].counts.distances += k % 3;
  owners_balance(&o, &pairs);
  assert_true(o.cut[2] == before && o.imbalance < 1.15);
  for (int k = 0; k < COUNT; k++) pairs.pair[k].counts.distances = steep(k);
  owners_balance(&o, &pairs);
  assert_true(o.cut[2] > before && o.imbalance > 1.15);
  owners_destroy(&o);
  pairs_destroy(&pairs);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_pair_has_one_owner),
      cmocka_unit_test(test_small_changes_move_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
