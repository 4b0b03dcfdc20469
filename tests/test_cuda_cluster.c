/* Clusters of bodies for the GPU's preconditioner. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cuda/cluster.h"

static Clusters opened(int bodies) {
  Clusters c = {0};
  assert_true(clusters_open(&c, bodies));
  clusters_clear(&c);
  return c;
}

static void add(Clusters *c, int a, int b, float strength) { assert_true(clusters_add(c, a, b, strength)); }

static bool together(Clusters *c, int a, int b) { return clusters_find(c, a) == clusters_find(c, b); }

/* A chain of six: the strongest edges join, until a cluster would have more than three bodies. */
static void test_strongest_first(void **state) {
  (void)state;
  Clusters c = opened(6);
  add(&c, 0, 1, 0.1f);
  add(&c, 2, 1, 0.9f);
  add(&c, 2, 3, 0.5f);
  add(&c, 3, 4, 0.8f);
  add(&c, 4, 5, 0.2f);
  assert_true(clusters_join(&c, 3));
  assert_true(together(&c, 1, 2) && together(&c, 3, 4)); /* 0.9 and 0.8; 0.5 would make four */
  assert_false(together(&c, 2, 3));
  assert_true(together(&c, 4, 5) && together(&c, 0, 1));
  assert_int_equal(c.size[clusters_find(&c, 4)], 3);
  assert_int_equal(clusters_find(&c, 2), 0); /* the first body */
  clusters_close(&c);
}

/* Of equal edges the first that was added joins; strengths that are zero or unknown come last. */
static void test_ties(void **state) {
  (void)state;
  Clusters c = opened(4);
  add(&c, 2, 3, 0.0f);
  add(&c, 0, 2, 0.25f);
  add(&c, 0, 1, 0.25f);
  assert_true(clusters_join(&c, 2));
  assert_true(together(&c, 0, 2));
  assert_false(together(&c, 0, 1) || together(&c, 2, 3));
  clusters_clear(&c);
  add(&c, 2, 3, 0.0f);
  add(&c, 0, 1, -1.0f);
  assert_true(clusters_join(&c, 2));
  assert_true(together(&c, 0, 1) && together(&c, 2, 3));
  clusters_close(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_strongest_first), cmocka_unit_test(test_ties)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
