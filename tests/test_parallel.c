/* Parallel loops, sums, scans and sorts: complete, the same for any number of threads, nested, side by side, after
 * sleep.
 * Labels: threads */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/base.h"
#include "thread_sanitizer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const int thread_counts[] = {1, 2, 3, 8};
enum { MOST = 100000, THREADS = 8 };

static uint64_t random_state = 1;

static uint64_t random_bits(void) {
  random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
  return random_state ^ random_state >> 29;
}

/* Which items were visited, and whether two threads had the same index at once. */
typedef struct Visits {
  int threads;
  atomic_int *item;
  atomic_int inside[THREADS], bad_index, shared_index;
} Visits;

static Visits visits_new(int threads) {
  Visits v = {.threads = threads, .item = calloc(MOST, sizeof *v.item)};
  assert_non_null(v.item);
  return v;
}

static void visit(void *context, int item) {
  Visits *v = context;
  int t = parallel_thread();
  if (t < 0 || t >= v->threads) {
    atomic_fetch_add(&v->bad_index, 1);
    return;
  }
  if (atomic_fetch_add(&v->inside[t], 1) != 0) atomic_fetch_add(&v->shared_index, 1);
  atomic_fetch_add_explicit(&v->item[item], 1, memory_order_relaxed);
  atomic_fetch_sub(&v->inside[t], 1);
}

static void check_visits(Visits *v, int count, int times, const char *what) {
  for (int i = 0; i < MOST; i++) {
    int expected = i < count ? times : 0, got = atomic_load(&v->item[i]);
    if (got != expected)
      fail_msg("%s, %d threads, %d items: item %d visited %d times, expected %d", what, v->threads, count, i, got,
               expected);
  }
  if (atomic_load(&v->bad_index)) fail_msg("%s, %d threads: an index out of range", what, v->threads);
  if (atomic_load(&v->shared_index)) fail_msg("%s, %d threads: two threads with one index", what, v->threads);
  free(v->item);
}

static void visits_each_item_once(void **state) {
  (void)state;
  const int counts[] = {-1, 0, 1, 2, 3, 7, 64, 1000, MOST}, grains[] = {0, 1, 5, 64};
  for (int t = 0; t < ARRAY_COUNT(thread_counts); t++)
    for (int c = 0; c < ARRAY_COUNT(counts); c++)
      for (int g = 0; g < ARRAY_COUNT(grains); g++) {
        Visits v = visits_new(thread_counts[t]);
        parallel_for(v.threads, counts[c], grains[g], visit, &v);
        check_visits(&v, counts[c], 1, "plain");
      }
  assert_int_equal(parallel_thread(), 0);
}

/* Many short loops one after the other, some after threads have gone to sleep. */
static void loops_follow_each_other(void **state) {
  (void)state;
  for (int t = 0; t < ARRAY_COUNT(thread_counts); t++) {
    Visits v = visits_new(thread_counts[t]);
    for (int k = 0; k < 3000; k++) {
      if (k % 1000 == 0) usleep(3000);
      parallel_for(v.threads, 20, 1, visit, &v);
    }
    check_visits(&v, 20, 3000, "repeated");
  }
}

typedef struct Nested {
  Visits *visits;
  int outer[THREADS]; /* by thread: the outer item */
  atomic_int moved;
} Nested;

static void visit_column(void *context, int column) {
  Nested *n = context;
  visit(n->visits, 100 * n->outer[parallel_thread()] + column);
}

static void visit_columns(void *context, int item) {
  Nested *n = context;
  int before = parallel_thread();
  n->outer[before] = item;
  parallel_for(THREADS, 100, 1, visit_column, n);
  if (parallel_thread() != before) atomic_fetch_add(&n->moved, 1);
}

/* A loop inside a loop runs on its caller, which keeps its index. */
static void loops_inside_loops(void **state) {
  (void)state;
  for (int t = 1; t < ARRAY_COUNT(thread_counts); t++) {
    Visits v = visits_new(thread_counts[t]);
    Nested n = {.visits = &v};
    parallel_for(v.threads, 50, 1, visit_columns, &n);
    assert_int_equal(atomic_load(&n.moved), 0);
    check_visits(&v, 5000, 1, "nested");
  }
}

static void visit_separately(void *context, int item) {
  Nested *n = context;
  if (parallel_thread() != 0) atomic_fetch_add(&n->moved, 1);
  atomic_fetch_add(&n->visits->item[item], 1);
}

static void index_is_zero(void *context, int item) {
  Nested *n = context;
  (void)item;
  int before = parallel_thread();
  parallel_separate(1, 3, visit_separately, n);
  if (parallel_thread() != before) atomic_fetch_add(&n->moved, 1);
}

/* Separate bodies have the index of a thread outside of loops; the loop around them keeps its own. */
static void separate_bodies(void **state) {
  (void)state;
  for (int t = 0; t < ARRAY_COUNT(thread_counts); t++) {
    Visits v = visits_new(thread_counts[t]);
    Nested n = {.visits = &v};
    parallel_separate(v.threads, 50, visit_separately, &n);
    for (int i = 0; i < 50; i++) assert_int_equal(atomic_load(&v.item[i]), 1);
    parallel_for(v.threads, 50, 1, index_is_zero, &n);
    assert_int_equal(atomic_load(&n.moved), 0);
    free(v.item);
  }
}

static void *loop_in_a_thread(void *none) {
  (void)none;
  for (int k = 0; k < 200; k++) {
    Visits v = visits_new(4);
    parallel_for(v.threads, 100, 1, visit, &v);
    int missing = 0;
    for (int i = 0; i < 100; i++) missing += atomic_load(&v.item[i]) != 1;
    missing += atomic_load(&v.bad_index) + atomic_load(&v.shared_index);
    free(v.item);
    if (missing) return "wrong";
  }
  return NULL;
}

static void loops_side_by_side(void **state) {
  (void)state;
  pthread_t thread[3];
  for (int i = 0; i < 3; i++) assert_int_equal(pthread_create(&thread[i], NULL, loop_in_a_thread, NULL), 0);
  for (int i = 0; i < 3; i++) {
    void *result;
    pthread_join(thread[i], &result);
    if (result) fail_msg("thread %d: a loop was not complete", i);
  }
}

typedef struct Meeting {
  atomic_int arrived;
  atomic_int alone;
} Meeting;

/* Each item waits for the others: only as many threads as items come through. */
static void meet(void *context, int item) {
  Meeting *m = context;
  (void)item;
  atomic_fetch_add(&m->arrived, 1);
  double give_up = clock_now() + 20;
  while (atomic_load(&m->arrived) < 3)
    if (clock_now() > give_up) {
      atomic_fetch_add(&m->alone, 1);
      return;
    }
}

static void threads_run_at_once(void **state) {
  (void)state;
  for (int k = 0; k < 20; k++) {
    Meeting m = {0};
    if (k % 5 == 4) usleep(3000);
    parallel_for(3, 3, 1, meet, &m);
    if (atomic_load(&m.alone)) fail_msg("round %d: three items were not run by three threads", k);
  }
}

/* The child of a fork has no threads of the pool; its loops start new ones. ThreadSanitizer ends it when it does. */
static void works_after_fork(void **state) {
  (void)state;
  if (THREAD_SANITIZER) skip();
  pid_t child = fork();
  assert_true(child >= 0);
  if (child == 0) _exit(loop_in_a_thread(NULL) ? 1 : 0);
  int status;
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static double term(void *context, int first, int last) {
  double sum = 0;
  for (int i = first; i < last; i++) sum += ((const double *)context)[i];
  return sum;
}

static void sums_have_the_same_bits(void **state) {
  (void)state;
  double *value = malloc(MOST * sizeof *value);
  for (int i = 0; i < MOST; i++) value[i] = (double)(random_bits() >> 11) / (double)(1 + (random_bits() >> 40));
  const int counts[] = {0, 1, 63, 64, 65, 1000, MOST}, chunks[] = {0, 1, 64, 1000};
  for (int c = 0; c < ARRAY_COUNT(counts); c++)
    for (int k = 0; k < ARRAY_COUNT(chunks); k++) {
      double one = parallel_sum(1, counts[c], chunks[k], term, value), plain = term(value, 0, counts[c]);
      if (!(one >= plain * (1 - 1e-12) && one <= plain * (1 + 1e-12)))
        fail_msg("%d items, chunks of %d: sum %.17g, expected %.17g", counts[c], chunks[k], one, plain);
      for (int t = 1; t < ARRAY_COUNT(thread_counts); t++) {
        double sum = parallel_sum(thread_counts[t], counts[c], chunks[k], term, value);
        if (memcmp(&sum, &one, sizeof sum) != 0)
          fail_msg("%d items, %d threads: %.17g, one thread %.17g", counts[c], thread_counts[t], sum, one);
      }
    }
  free(value);
}

typedef struct Range {
  int count, chunk;
  atomic_int covered, wrong;
} Range;

static void check_range(void *context, int first, int last, int index) {
  Range *r = context;
  int end = first + r->chunk < r->count ? first + r->chunk : r->count;
  if (first != index * r->chunk || last != end) atomic_fetch_add(&r->wrong, 1);
  atomic_fetch_add(&r->covered, last - first);
}

static void chunks_are_fixed(void **state) {
  (void)state;
  const int counts[] = {0, 1, 9, 10, 11, 12345};
  for (int t = 0; t < ARRAY_COUNT(thread_counts); t++)
    for (int c = 0; c < ARRAY_COUNT(counts); c++) {
      Range r = {.count = counts[c], .chunk = 10};
      parallel_chunks(thread_counts[t], r.count, r.chunk, check_range, &r);
      assert_int_equal(atomic_load(&r.covered), r.count);
      assert_int_equal(atomic_load(&r.wrong), 0);
    }
  assert_int_equal(parallel_chunk_count(0, 10), 0);
  assert_int_equal(parallel_chunk_count(20, 10), 2);
  assert_int_equal(parallel_chunk_count(21, 10), 3);
  assert_int_equal(parallel_chunk_count(3, 0), 3);
}

static void scans(void **state) {
  (void)state;
  int *value = malloc(MOST * sizeof *value), *given = malloc(MOST * sizeof *given);
  const int counts[] = {0, 1, 2, 8192, 8193, MOST};
  for (int i = 0; i < MOST; i++) given[i] = (int)(random_bits() >> 48) % 100 - 20;
  for (int t = 0; t < ARRAY_COUNT(thread_counts); t++)
    for (int c = 0; c < ARRAY_COUNT(counts); c++) {
      memcpy(value, given, MOST * sizeof *value);
      int64_t total = parallel_scan(thread_counts[t], counts[c], value), expected = 0;
      for (int i = 0; i < counts[c]; expected += given[i++])
        if (value[i] != expected)
          fail_msg("%d threads: value %d of %d is %d, expected %ld", thread_counts[t], i, counts[c], value[i],
                   (long)expected);
      assert_int_equal(total, expected);
    }
  free(value);
  free(given);
}

static int compare_keys(const void *x, const void *y) {
  uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
  return a < b ? -1 : a > b;
}

static void sorts(void **state) {
  (void)state;
  uint64_t *given = malloc(MOST * sizeof *given), *sorted = malloc(MOST * sizeof *given);
  uint64_t *key = malloc(MOST * sizeof *given), *scratch = malloc(MOST * sizeof *given);
  const int counts[] = {0, 1, 2, 64, 65, 5000, MOST};
  const uint64_t masks[] = {~0ull, 0, 255, 0xff00, 0x3fff00003fffull, 0xff00000000000000ull};
  for (int c = 0; c < ARRAY_COUNT(counts); c++)
    for (int m = 0; m < ARRAY_COUNT(masks); m++) {
      size_t bytes = (size_t)counts[c] * sizeof *key;
      for (int i = 0; i < counts[c]; i++) given[i] = random_bits() & masks[m];
      memcpy(sorted, given, bytes);
      qsort(sorted, (size_t)counts[c], sizeof *sorted, compare_keys);
      for (int t = 0; t < ARRAY_COUNT(thread_counts); t++) {
        memcpy(key, given, bytes);
        parallel_sort(thread_counts[t], counts[c], key, scratch);
        if (memcmp(key, sorted, bytes) != 0)
          fail_msg("%d keys of mask %lx, %d threads: not sorted", counts[c], (unsigned long)masks[m], thread_counts[t]);
      }
    }
  void *array[] = {given, sorted, key, scratch};
  for (int i = 0; i < ARRAY_COUNT(array); i++) free(array[i]);
}

static void counts_processors(void **state) {
  (void)state;
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  assert_in_range(parallel_max_threads(), 1, online);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(visits_each_item_once),
      cmocka_unit_test(works_after_fork),
      cmocka_unit_test(loops_follow_each_other),
      cmocka_unit_test(loops_inside_loops),
      cmocka_unit_test(separate_bodies),
      cmocka_unit_test(loops_side_by_side),
      cmocka_unit_test(threads_run_at_once),
      cmocka_unit_test(sums_have_the_same_bits),
      cmocka_unit_test(chunks_are_fixed),
      cmocka_unit_test(scans),
      cmocka_unit_test(sorts),
      cmocka_unit_test(counts_processors),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
