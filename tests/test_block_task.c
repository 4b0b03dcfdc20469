/* Tasks of a factorisation: their order, paths of cheap columns in one task, the same bits on several threads.
 * Labels: threads */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "linear/block_factor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Strips two blocks wide, and a last one that couples their ends. Eliminated from end to end, each strip is a path of
 * the elimination tree. */
enum { STRIPS = 8, LENGTH = 60, BLOCKS = (STRIPS + 1) * 2 * LENGTH, SIZE = 12, EDGES = 3 * BLOCKS, THREADS = 8 };

static uint64_t random_state = 7;

static double random_unit(void) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return (double)(random_state >> 11) * 0x1p-53;
}

static int strip_edges(int first, int (*edge)[2]) {
  int count = 0;
  for (int i = 0; i < 2 * LENGTH; i++) {
    if (i % 2) edge[count][0] = first + i - 1, edge[count++][1] = first + i;
    if (i >= 2) edge[count][0] = first + i - 2, edge[count++][1] = first + i;
  }
  return count;
}

static int compare_edges(const void *x, const void *y) {
  const int *a = x, *b = y;
  return a[0] != b[0] ? a[0] - b[0] : a[1] - b[1];
}

static BlockPattern make_pattern(void) {
  static int size[BLOCKS], column[BLOCKS], edge[EDGES + STRIPS][2];
  int count = 0;
  for (int i = 0; i < BLOCKS; i++) size[i] = SIZE, column[i] = i;
  for (int s = 0; s <= STRIPS; s++) count += strip_edges(2 * LENGTH * s, edge + count);
  for (int s = 0; s < STRIPS; s++, count++) {
    edge[count][0] = 2 * LENGTH * (s + 1) - 1;
    edge[count][1] = 2 * LENGTH * STRIPS + 2 * s;
  }
  qsort(edge, (size_t)count, sizeof *edge, compare_edges);
  BlockPattern p = {0};
  const BlockOrder order = {BLOCKS, BLOCKS, column};
  const BlockShape shape = {.count = BLOCKS, .edge_count = count, .size = size, .edge = (const int(*)[2])edge};
  assert_true(block_pattern_build(&p, &shape, &order, true, 1));
  return p;
}

static bool is_closed(const BlockPattern *p, BlockTask t) { return p->first_descendant[t.last] >= t.first; }

/* Every column is in one task, after the tasks of its descendants. */
static void check_order(const BlockPattern *p, const BlockTasks *t) {
  int columns = 0;
  for (int k = 0; k < t->count; k++) {
    columns += t->task[k].last - t->task[k].first + 1;
    for (int c = t->task[k].first; c <= t->task[k].last; c++) {
      assert_int_equal(t->task_of[c], k);
      if (p->parent[c] != -1) assert_true(t->task_of[p->parent[c]] >= k);
      if (!is_closed(p, t->task[k]) && c < t->task[k].last) assert_int_equal(p->parent[c], c + 1);
    }
  }
  assert_int_equal(columns, p->n);
}

static void tasks_of_paths(void **state) {
  (void)state;
  BlockPattern p = make_pattern();
  BlockTasks t = {0};
  block_tasks_forget(&t, &p);
  int threads = block_tasks_threads(&t, &p, THREADS, 1), paths = 0, together = 0, apart = 0;
  check_order(&p, &t);
  for (int k = 1; k < t.count; k++) {
    if (is_closed(&p, t.task[k])) continue;
    paths++;
    together += t.task[k].last > t.task[k].first;
    apart += p.parent[t.task[k - 1].last] == -1 || t.task_of[p.parent[t.task[k - 1].last]] != k;
  }
  print_message("%d threads, %d tasks: %d paths, %d of several columns, %d that need not wait for the one before\n",
                threads, t.count, paths, together, apart);
  assert_true(threads > 2);
  assert_true(together > 2 * STRIPS);
  assert_true(2 * together > paths);
  assert_true(2 * apart > paths); /* the strips take turns */
  block_tasks_free(&t);
  block_pattern_free(&p);
}

typedef struct Solution {
  double *values, *inverse, *x;
} Solution;

static void *grab(size_t count) {
  void *memory = aligned_alloc(64, (count * sizeof(double) + 63) / 64 * 64);
  assert_non_null(memory);
  return memory;
}

/* A = L L^T, then x = A^-1 b. */
static Solution solve(const BlockPattern *p, const double *matrix, const double *b, int threads) {
  size_t values = (size_t)p->value_count, unknowns = (size_t)p->unknown_count;
  Solution s = {grab(values), grab(unknowns), grab(unknowns)};
  int *maps = grab((size_t)(THREADS * p->n));
  BlockTasks t = {0};
  block_tasks_forget(&t, p);
  assert_true(block_tasks_threads(&t, p, THREADS, 1) > 1);
  const BlockFactor factor = {.pattern = p, .tasks = &t, .values = s.values, .inverse = s.inverse};
  memcpy(s.values, matrix, values * sizeof *matrix);
  memcpy(s.x, b, unknowns * sizeof *b);
  assert_int_equal(block_factor_compute(&factor, threads, maps), 0);
  block_factor_forward(&factor, threads, s.x);
  block_factor_backward(&factor, threads, s.x);
  block_tasks_free(&t);
  free(maps);
  return s;
}

static void free_solution(Solution s) {
  free(s.values);
  free(s.inverse);
  free(s.x);
}

/* Diagonal blocks dominate. */
static double *random_matrix(const BlockPattern *p) {
  double *matrix = grab((size_t)p->value_count);
  for (int64_t k = 0; k < p->value_count; k++) matrix[k] = random_unit() - 0.5;
  for (int c = 0; c < p->n; c++)
    for (int r = 0; r < SIZE; r++) matrix[p->block_at[p->column_at[c]] + (SIZE + 1) * r] = 100;
  for (int c = 0; c < p->n; c++)
    for (int r = 0; r < SIZE; r++)
      for (int k = 0; k < r; k++) {
        double *block = matrix + p->block_at[p->column_at[c]];
        block[SIZE * r + k] = block[SIZE * k + r];
      }
  return matrix;
}

static void same_bits_for_any_threads(void **state) {
  (void)state;
  BlockPattern p = make_pattern();
  double *matrix = random_matrix(&p), *b = grab((size_t)p.unknown_count);
  for (int k = 0; k < p.unknown_count; k++) b[k] = random_unit();
  Solution one = solve(&p, matrix, b, 1);
  for (int threads = 2; threads <= THREADS; threads += 3) {
    Solution s = solve(&p, matrix, b, threads);
    if (memcmp(s.values, one.values, (size_t)p.value_count * sizeof(double)) != 0)
      fail_msg("%d threads give another factor", threads);
    if (memcmp(s.x, one.x, (size_t)p.unknown_count * sizeof(double)) != 0)
      fail_msg("%d threads give another solution: %.17g instead of %.17g", threads, s.x[0], one.x[0]);
    free_solution(s);
  }
  print_message("x[0] = %.17g\n", one.x[0]);
  free_solution(one);
  free(matrix);
  free(b);
  block_pattern_free(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tasks_of_paths),
      cmocka_unit_test(same_bits_for_any_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
