/* The block solver by several threads: blocks added side by side, factors and solves with the bits of one thread.
 * Labels: threads */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "linear/block_cholesky.h"

#include <stdlib.h>
#include <string.h>

/* A lattice of bodies and nodes, every diagonal block heavier than its couplings. */
typedef struct Lattice {
  int n, edge_count, total;
  int size[1000], edge[3000][2];
  BlockCholesky *solver;
} Lattice;

static double value_at(int block, int i) { return ((block * 37 + i * 101) % 199 - 99) / 99.0; }

static void add_diagonal(void *context, int i) {
  const Lattice *l = context;
  int s = l->size[i];
  double block[144];
  for (int k = 0; k < s * s; k++) block[k] = k / s == k % s ? 60 : 0.1 * value_at(i, k < s ? k : 0);
  block_cholesky_add_diagonal(l->solver, i, block);
}

static void add_edge(void *context, int k) {
  const Lattice *l = context;
  double block[144];
  for (int i = 0; i < l->size[l->edge[k][0]] * l->size[l->edge[k][1]]; i++) block[i] = value_at(k, i);
  block_cholesky_add_edge(l->solver, k, block);
}

static Lattice *lattice_new(int width, int height, int depth, const int *sizes, int sizes_count) {
  Lattice *l = calloc(1, sizeof *l);
  assert_non_null(l);
  l->n = width * height * depth;
  for (int i = 0; i < l->n; i++) {
    int before[3] = {i % width ? 1 : 0, i / width % height ? width : 0, i / width / height ? width * height : 0};
    l->size[i] = sizes[i % sizes_count];
    l->total += l->size[i];
    for (int k = 0; k < 3; k++) {
      if (!before[k]) continue;
      l->edge[l->edge_count][0] = i - before[k];
      l->edge[l->edge_count++][1] = i;
    }
  }
  return l;
}

/* One solution by a new solver: everything by so many threads. A solve after the factorisation has the same bits as one
 * that begins with it. */
static double *solve(Lattice *l, BlockMethod method, int threads) {
  double *x = malloc((size_t)l->total * sizeof *x), *first = malloc((size_t)l->total * sizeof *x);
  l->solver = block_cholesky_create();
  block_cholesky_choose(l->solver, method, 0);
  block_cholesky_use_threads(l->solver, threads);
  assert_true(block_cholesky_analyze(l->solver, l->n, l->size, l->edge_count, (const int(*)[2])l->edge, NULL));
  for (int round = 0; round < 2; round++) {
    block_cholesky_clear(l->solver);
    parallel_for(threads, l->n, 8, add_diagonal, l);
    parallel_for(threads, l->edge_count, 8, add_edge, l);
    for (int i = 0; i < l->total; i++) x[i] = value_at(i, 7);
    assert_int_equal(
        round ? block_cholesky_begin(l->solver, threads, NULL, NULL, x) : block_cholesky_factor(l->solver, threads), 0);
    assert_true((round ? block_cholesky_finish : block_cholesky_solve)(l->solver, x, x));
    if (round == 0) memcpy(first, x, (size_t)l->total * sizeof *x);
  }
  assert_memory_equal(first, x, (size_t)l->total * sizeof *x);
  free(first);
  block_cholesky_destroy(l->solver);
  return x;
}

static void check_bits(const char *name, Lattice *l, BlockMethod method) {
  double *one = solve(l, method, 1);
  for (int threads = 2; threads < 9; threads += threads == 3 ? 5 : 1) {
    double *x = solve(l, method, threads);
    if (memcmp(x, one, (size_t)l->total * sizeof *x) != 0) fail_msg("%s: %d threads give other bits", name, threads);
    free(x);
  }
  free(one);
}

static void same_bits(void **state) {
  (void)state;
  const int bodies[] = {12}, mixed[] = {12, 3, 5, 3, 9};
  Lattice *solid = lattice_new(5, 5, 4, bodies, 1), *net = lattice_new(20, 15, 1, bodies, 1),
          *parts = lattice_new(7, 7, 4, mixed, 5);
  check_bits("solid", solid, BLOCK_DIRECT);
  check_bits("net", net, BLOCK_DIRECT);
  check_bits("bodies and nodes", parts, BLOCK_DIRECT);
  check_bits("net by conjugate gradients", net, BLOCK_ITERATIVE);
  check_bits("bodies and nodes by conjugate gradients", parts, BLOCK_ITERATIVE);
  free(solid);
  free(net);
  free(parts);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(same_bits)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
