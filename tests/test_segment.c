/* Items grouped by segment and cut into chunks (base/segment.h). */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

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

static void test_out_of_memory(void **state) {
  (void)state;
  const int of[4] = {1, 0, 1, -1};
  for (long n = 1; n <= 3; n++) {
    Segments s = {0};
    mem_fail_after(n);
    assert_false(segments_build(&s, 2, 4, of));
    mem_fail_after(0);
    segments_destroy(&s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_groups), cmocka_unit_test(test_out_of_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
