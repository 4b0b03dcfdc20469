/* Zeroed memory: zero wherever it comes from, and its pages are not touched. */
#define _GNU_SOURCE /* mincore */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/mman.h>
#include <unistd.h>
#endif
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "base/base.h"

enum { SIZE = (16 << 20) + 777, SMALL = 1000 };

static size_t nonzero(const char *p, size_t size) {
  size_t count = 0;
  for (size_t i = 0; i < size; i++) count += p[i] != 0;
  return count;
}

/* Memory that was written and freed, and is likely to be given again. */
static void leave_traces(size_t size) {
  char *p = malloc(size);
  assert_non_null(p);
  memset(p, 0xa5, size);
  free(p);
}

static void is_zero(void **state) {
  (void)state;
  static const size_t size[] = {0, 1, SMALL, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, SIZE};
  for (int k = 0; k < ARRAY_COUNT(size); k++) {
    if (size[k]) leave_traces(size[k]);
    char *p = mem_zeroed(size[k], 1);
    assert_non_null(p);
    assert_int_equal(nonzero(p, size[k]), 0);
    memset(p, 1, size[k]);
    mem_free(p);
  }
}

static void refuses_overflow(void **state) {
  (void)state;
  assert_null(mem_zeroed(SIZE_MAX / 2, 3));
}

#if defined __linux__ && defined __GLIBC__ && !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
static size_t resident(const char *p, size_t size) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE), first = ((uintptr_t)p + page - 1) / page, count = size / page - 1;
  unsigned char *in = malloc(count);
  assert_non_null(in);
  assert_int_equal(mincore((char *)(first * page), count * page, in), 0);
  size_t sum = 0;
  for (size_t k = 0; k < count; k++) sum += in[k] & 1;
  free(in);
  return sum;
}

/* Freed memory in the middle of the heap. */
static void touches_no_page(void **state) {
  (void)state;
  mallopt(M_MMAP_THRESHOLD, 4 * SIZE);
  mallopt(M_TRIM_THRESHOLD, 4 * SIZE);
  char *before = malloc(SIZE), *guard = malloc(SMALL);
  assert_true(before && guard);
  memset(before, 0xa5, SIZE);
  assert_true(resident(before, SIZE) > 1000);
  free(before);
  char *p = mem_zeroed(SIZE, 1);
  assert_ptr_equal(p, before);
  assert_true(resident(p, SIZE) < 10);
  assert_int_equal(nonzero(p, SIZE), 0);
  mem_free(p);
  free(guard);
}
#else
static void touches_no_page(void **state) {
  (void)state;
  skip();
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(is_zero),
      cmocka_unit_test(refuses_overflow),
      cmocka_unit_test(touches_no_page),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
