/* Items grouped by segment and cut into chunks; loops over the items of listed segments (base/segment.h). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/segment.h"
#include "draw.h"

/* Every item is in its segment once, in ascending order; the chunks of a segment cover it without gaps. */
static void check(const Segments *s, int item_count, const int *of) {
  int seen = 0, chunk = 0;
  for (int k = 0; k < s->count; k++) {
    for (int e = s->first[k]; e < s->first[k + 1]; e++, seen++) {
      assert_int_equal(of[s->item[e]], k);
      assert_true(e == s->first[k] || s->item[e] > s->item[e - 1]);
    }
    for (int at = s->first[k]; at < s->first[k + 1]; at = s->chunk[chunk++].end) {
      assert_true(chunk < s->chunk_count);
      assert_int_equal(s->chunk[chunk].segment, k);
      assert_int_equal(s->chunk[chunk].first, at);
      assert_true(s->chunk[chunk].end > at && s->chunk[chunk].end <= at + SEGMENT_CHUNK);
    }
  }
  int expected = 0;
  for (int i = 0; i < item_count; i++) expected += of[i] >= 0;
  assert_int_equal(seen, expected);
  assert_int_equal(chunk, s->chunk_count);
}

static void test_random_groups(void **state) {
  (void)state;
  Draw d = {3};
  Segments s = {0};
  static int of[3000];
  for (int round = 0; round < 200; round++) {
    int items = draw_int(&d, 3000), count = 1 + draw_int(&d, round % 2 ? 3 : 500);
    for (int i = 0; i < items; i++) of[i] = draw_int(&d, count + 1) - 1;
    assert_true(segments_build(&s, count, items, of));
    check(&s, items, of);
  }
  segments_destroy(&s);
}

/* Some segments alone, the others untouched. */
static void test_some_segments(void **state) {
  (void)state;
  Draw d = {4};
  Segments s = {0}, all = {0};
  static int of[3000], some[500];
  for (int round = 0; round < 200; round++) {
    int items = draw_int(&d, 3000), count = 1 + draw_int(&d, 499), listed = 0;
    for (int k = 0; k < count; k++)
      if (draw_int(&d, 3)) some[listed++] = k;
    for (int i = 0; i < items; i++) of[i] = listed && draw_int(&d, 4) ? some[draw_int(&d, listed)] : -1;
    assert_true(segments_build(&all, count, items, of));
    assert_true(segments_build_some(&s, count, listed, some, items, of));
    for (int k = 0; k < listed; k++) {
      int c = some[k], size = all.first[c + 1] - all.first[c];
      assert_int_equal(s.first[c + 1] - s.first[c], size);
      if (size) assert_memory_equal(s.item + s.first[c], all.item + all.first[c], (size_t)size * sizeof(int));
    }
  }
  segments_destroy(&s);
  segments_destroy(&all);
}

/* Listed items alone are grouped as if the others had no segment. */
static void test_listed_items(void **state) {
  (void)state;
  Draw d = {5};
  Segments s = {0}, all = {0};
  static int of[3000], only[3000], item[3000];
  for (int round = 0; round < 100; round++) {
    int items = draw_int(&d, 3000), count = 1 + draw_int(&d, 40), listed = 0;
    for (int i = 0; i < items; i++) {
      of[i] = draw_int(&d, 4) ? draw_int(&d, count) : -1, only[i] = -1;
      if (draw_int(&d, 3)) item[listed++] = i, only[i] = of[i];
    }
    assert_true(segments_build(&all, count, items, only));
    assert_true(segments_build_listed(&s, count, listed, item, of));
    assert_memory_equal(s.first, all.first, (size_t)(count + 1) * sizeof(int));
    assert_int_equal(s.chunk_count, all.chunk_count);
    if (s.first[count]) assert_memory_equal(s.item, all.item, (size_t)s.first[count] * sizeof(int));
    if (s.chunk_count) assert_memory_equal(s.chunk, all.chunk, (size_t)s.chunk_count * sizeof(Chunk));
  }
  segments_destroy(&s);
  segments_destroy(&all);
}

/* Visits of a loop: each item once, each chunk once and after all of its items. */
typedef struct Visits {
  const Segments *segments;
  atomic_int item[3000], chunk[3000], early;
} Visits;

static void visit_item(void *context, int i) { atomic_fetch_add(&((Visits *)context)->item[i], 1); }

static void visit_chunk(void *context, int c) {
  Visits *v = context;
  const Segments *s = v->segments;
  atomic_fetch_add(&v->chunk[c], 1);
  for (int e = s->chunk[c].first; e < s->chunk[c].end; e++)
    if (atomic_load(&v->item[s->item[e]]) != 1) atomic_fetch_add(&v->early, 1);
}

static void check_visits(const Segments *s, const Visits *v, int items, const int *of, const bool *wanted) {
  assert_int_equal(v->early, 0);
  for (int i = 0; i < items; i++) assert_int_equal(v->item[i], of[i] >= 0 && wanted[of[i]]);
  for (int c = 0; c < s->chunk_count; c++) assert_int_equal(v->chunk[c], wanted[s->chunk[c].segment]);
}

static void test_loops_over_listed(void **state) {
  (void)state;
  Draw d = {5};
  Segments s = {0};
  static int of[3000], list[500];
  static Visits v;
  static unsigned char weight[3000];
  for (int round = 0; round < 60; round++) {
    int items = draw_int(&d, 3000), count = 1 + draw_int(&d, round % 2 ? 3 : 500), listed = 0;
    bool wanted[500];
    for (int i = 0; i < items; i++) {
      of[i] = draw_int(&d, count + 1) - 1;
      weight[i] = (unsigned char)(1 + (i < 100 ? 254 : draw_int(&d, 10)));
    }
    for (int k = 0; k < count; k++) wanted[k] = draw_int(&d, 3) > 0;
    for (int k = 0; k < count; k++)
      if (wanted[k]) list[listed++] = k;
    assert_true(segments_build(&s, count, items, of));
    assert_true(segments_list(&s, listed, list, round % 3 ? NULL : weight));
    for (int threads = 1; threads <= 4; threads += 3) {
      memset(&v, 0, sizeof v);
      v.segments = &s;
      if (round % 3 == 0) assert_true(segments_share(&s, threads));
      segments_for(&s, threads, 1 + draw_int(&d, 40), visit_item, visit_chunk, &v);
      check_visits(&s, &v, items, of, wanted);
    }
  }
  segments_destroy(&s);
}

/* Shares of unequal items have about the same weight. */
static void test_shares(void **state) {
  (void)state;
  static int of[1600];
  static unsigned char weight[1600];
  Segments s = {0};
  for (int i = 0; i < 1600; i++) weight[i] = i < 160 ? 91 : 1; /* the first tenth: ten elevenths */
  assert_true(segments_build(&s, 1, 1600, of) && segments_list(&s, 1, (int[]){0}, weight));
  assert_true(segments_share(&s, 4));
  assert_int_equal(s.share[0], 0);
  assert_int_equal(s.share[4], s.part_count);
  for (int t = 0; t < 4; t++) {
    int sum = 0;
    for (int k = s.share[t]; k < s.share[t + 1]; k++) {
      int own = 0;
      for (int e = s.part[k].first; e < s.part[k].end; e++) own += weight[s.item[e]];
      assert_int_equal(own, s.part[k].weight);
      assert_true(s.part[k].end - s.part[k].first == (own >= SEGMENT_WEIGHT ? 1 : SEGMENT_PART));
      sum += own;
    }
    assert_true(abs(sum - 4000) <= 91);
  }
  segments_destroy(&s);
}

static void test_out_of_memory(void **state) {
  (void)state;
  const int of[4] = {1, 0, 1, -1};
  for (long n = 1; n <= 3; n++) {
    Segments s = {0};
    mem_fail_after(n);
    assert_false(segments_build(&s, 2, 4, of));
    mem_fail_after(0);
    assert_true(segments_build(&s, 2, 4, of));
    mem_fail_after(n);
    assert_false(segments_list(&s, 1, (int[]){1}, NULL));
    mem_fail_after(0);
    segments_destroy(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_groups), cmocka_unit_test(test_some_segments),
                                     cmocka_unit_test(test_listed_items),  cmocka_unit_test(test_loops_over_listed),
                                     cmocka_unit_test(test_shares),        cmocka_unit_test(test_out_of_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
