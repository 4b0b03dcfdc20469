/* Symmetric systems by blocks, for tests of the block solver: graphs of many shapes, blocks of many sizes. */
#ifndef ABD_TESTS_BLOCK_SYSTEM_H
#define ABD_TESTS_BLOCK_SYSTEM_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "linear/block_subset.h"

typedef struct System {
  int n, edge_count, total;
  int *size, *at;
  int (*edge)[2];
  double (*diagonal)[144], (*coupling)[144];
} System;

static Draw random_state = {1};

static double random_unit(void) { return draw(&random_state, 0, 1); }

static int random_below(int n) { return (int)(random_unit() * n); }

static void *grab(size_t count, size_t size) {
  void *p = calloc(count ? count : 1, size);
  assert_non_null(p);
  return p;
}

/* sizes: how large the blocks are, repeated; NULL: all 12. */
static System system_new(int n, int edge_room, const int *sizes, int sizes_count) {
  System s = {.n = n};
  s.size = grab((size_t)n, sizeof(int));
  s.at = grab((size_t)n + 1, sizeof(int));
  s.edge = grab((size_t)edge_room, sizeof *s.edge);
  s.diagonal = grab((size_t)n, sizeof *s.diagonal);
  s.coupling = grab((size_t)edge_room, sizeof *s.coupling);
  for (int i = 0; i < n; i++) {
    s.size[i] = sizes ? sizes[random_below(sizes_count)] : 12;
    s.at[i + 1] = s.at[i] + s.size[i];
  }
  s.total = s.at[n];
  return s;
}

static void system_free(System *s) {
  free(s->size);
  free(s->at);
  free(s->edge);
  free(s->diagonal);
  free(s->coupling);
}

static void connect(System *s, int a, int b) {
  bool swap = random_below(2);
  s->edge[s->edge_count][0] = swap ? b : a;
  s->edge[s->edge_count++][1] = swap ? a : b;
}

/* Adds v v^T over the unknowns of blocks a and b (b == -1: a alone); edge: the one between them. */
static void add_rank_one(System *s, int a, int b, int edge, double weight) {
  double v[2][12];
  int block[2] = {a, b};
  for (int k = 0; k < (b < 0 ? 1 : 2); k++) {
    int m = s->size[block[k]];
    for (int r = 0; r < m; r++) v[k][r] = 2 * random_unit() - 1;
    for (int c = 0; c < m; c++)
      for (int r = 0; r < m; r++) s->diagonal[block[k]][m * c + r] += weight * v[k][r] * v[k][c];
  }
  if (b < 0) return;
  int m = s->size[a], n = s->size[b];
  for (int c = 0; c < n; c++)
    for (int r = 0; r < m; r++) s->coupling[edge][m * c + r] += weight * v[0][r] * v[1][c];
}

/* Positive definite, of contacts much stiffer than the inertia, as in a stack. */
static void fill_definite(System *s, double stiffness) {
  for (int i = 0; i < s->n; i++)
    for (int r = 0; r < s->size[i]; r++) s->diagonal[i][s->size[i] * r + r] += 0.5 + random_unit();
  for (int i = 0; i < s->n; i++) add_rank_one(s, i, -1, -1, 1);
  for (int k = 0; k < s->edge_count; k++)
    for (int contact = 0; contact < 3; contact++) add_rank_one(s, s->edge[k][0], s->edge[k][1], k, stiffness);
}

static System chain(int n, const int *sizes, int sizes_count) {
  System s = system_new(n, n, sizes, sizes_count);
  for (int i = 1; i < n; i++) connect(&s, i - 1, i);
  return s;
}

static System grid(int width, int height, const int *sizes, int sizes_count) {
  System s = system_new(width * height, 2 * width * height, sizes, sizes_count);
  for (int i = 0; i < s.n; i++) {
    if (i % width) connect(&s, i - 1, i);
    if (i >= width) connect(&s, i - width, i);
  }
  return s;
}

/* Three dimensions; in a sheet (depth 1) couplings reach two cells far, as hinges make them. */
static System lattice(int width, int height, int depth, int contacts, const int *sizes, int sizes_count) {
  System s = system_new(width * height * depth, 5 * width * height * depth + contacts, sizes, sizes_count);
  for (int i = 0; i < s.n; i++) {
    int x = i % width, y = i / width % height, z = i / width / height;
    if (x) connect(&s, i - 1, i);
    if (y) connect(&s, i - width, i);
    if (z) connect(&s, i - width * height, i);
    if (depth == 1 && x > 1) connect(&s, i - 2, i);
    if (depth == 1 && y > 1) connect(&s, i - 2 * width, i);
  }
  for (int k = 0; k < contacts; k++) connect(&s, k, s.n - 1 - 2 * k);
  return s;
}

static System star(int n) {
  System s = system_new(n, n, NULL, 0);
  for (int i = 0; i < n; i++)
    if (i != n / 2) connect(&s, n / 2, i);
  return s;
}

/* Each pair with the same probability; blocks from connected on have no neighbour at all. */
static System random_graph(int n, int connected, double probability, const int *sizes, int sizes_count) {
  System s = system_new(n, n * n / 2 + 1, sizes, sizes_count);
  for (int a = 0; a < connected; a++)
    for (int b = 0; b < a; b++)
      if (random_unit() < probability) connect(&s, a, b);
  return s;
}

/* Islands of five, each a ring, and as many lone blocks between them. */
static System islands(int count) {
  System s = system_new(10 * count, 5 * count, NULL, 0);
  for (int i = 0; i < count; i++)
    for (int k = 0; k < 5; k++) connect(&s, 10 * i + 2 * k, 10 * i + (2 * k + 2) % 10);
  return s;
}

static bool analyze(BlockCholesky *solver, const System *s) {
  return block_cholesky_analyze(solver, s->n, s->size, s->edge_count, (const int(*)[2])s->edge, NULL);
}

static void load(BlockCholesky *solver, const System *s) {
  block_cholesky_clear(solver);
  for (int i = 0; i < s->n; i++) block_cholesky_add_diagonal(solver, i, s->diagonal[i]);
  for (int k = 0; k < s->edge_count; k++) block_cholesky_add_edge(solver, k, s->coupling[k]);
}

/* y = A x, and the largest row sum of |A| */
static double multiply(const System *s, const double *x, double *y) {
  double *sum = grab((size_t)s->total, sizeof *sum), largest = 0;
  memset(y, 0, (size_t)s->total * sizeof *y);
  for (int i = 0; i < s->n; i++)
    for (int c = 0, m = s->size[i], at = s->at[i]; c < m; c++)
      for (int r = 0; r < m; r++) {
        double value = s->diagonal[i][r >= c ? m * c + r : m * r + c];
        y[at + r] += value * x[at + c];
        sum[at + r] += fabs(value);
      }
  for (int k = 0; k < s->edge_count; k++) {
    int a = s->edge[k][0], b = s->edge[k][1], m = s->size[a];
    for (int c = 0; c < s->size[b]; c++)
      for (int r = 0; r < m; r++) {
        double value = s->coupling[k][m * c + r];
        y[s->at[a] + r] += value * x[s->at[b] + c];
        y[s->at[b] + c] += value * x[s->at[a] + r];
        sum[s->at[a] + r] += fabs(value);
        sum[s->at[b] + c] += fabs(value);
      }
  }
  for (int i = 0; i < s->total; i++) largest = fmax(largest, sum[i]);
  free(sum);
  return largest;
}

static double largest_entry(const double *x, int n) {
  double largest = 0;
  for (int i = 0; i < n; i++) largest = fmax(largest, fabs(x[i]));
  return largest;
}

static double *random_vector(int n) {
  double *v = grab((size_t)n, sizeof *v);
  for (int i = 0; i < n; i++) v[i] = 2 * random_unit() - 1;
  return v;
}

static double *solution_of(BlockCholesky *solver, const System *s, const double *b) {
  double *x = grab((size_t)s->total, sizeof *x);
  load(solver, s);
  assert_int_equal(block_cholesky_factor(solver, 1), 0);
  block_cholesky_solve(solver, b, x);
  return x;
}

/* Is A x = b up to rounding? */
static void check_product(const char *name, const System *s, const double *x, const double *b) {
  double *y = grab((size_t)s->total, sizeof *y), norm = multiply(s, x, y), worst = 0;
  for (int i = 0; i < s->total; i++) worst = fmax(worst, fabs(y[i] - b[i]));
  double bound = 1e-15 * s->total * (norm * largest_entry(x, s->total) + largest_entry(b, s->total));
  if (!(worst <= bound)) fail_msg("%s: residual %g, bound %g", name, worst, bound);
  free(y);
}

/* Factors and solves for a random right-hand side. Returns the solution; free it and *b. */
static double *check_residual(const char *name, BlockCholesky *solver, const System *s, double **b) {
  assert_true(analyze(solver, s));
  load(solver, s);
  int raised = block_cholesky_factor(solver, 2);
  if (raised != 0) fail_msg("%s: %d pivots raised, 0 expected", name, raised);
  double *x = grab((size_t)s->total, sizeof *x);
  *b = random_vector(s->total);
  block_cholesky_solve(solver, *b, x);
  check_product(name, s, x, *b);
  return x;
}

/* A solve for a few blocks alone has the bits of a solve for all of them. */
static void check_subset(const char *name, BlockCholesky *solver, const System *s) {
  BlockSubset subset = {0};
  int *block = grab((size_t)s->n, sizeof *block), count = 0, total = 0;
  double *few = random_vector(s->total), *all = grab((size_t)s->total, sizeof *all);
  for (int i = s->n / 3; i < s->n; total += s->size[i], i += 7) {
    block[count++] = i;
    memcpy(all + s->at[i], few + total, (size_t)s->size[i] * sizeof *all);
  }
  assert_true(block_cholesky_select(solver, &subset, block, count));
  block_cholesky_solve_subset(solver, &subset, few, few);
  block_cholesky_solve(solver, all, all);
  for (int k = 0, at = 0; k < count; at += s->size[block[k++]])
    for (int r = 0; r < s->size[block[k]]; r++)
      if (few[at + r] != all[s->at[block[k]] + r]) fail_msg("%s: other bits in block %d", name, block[k]);
  block_subset_free(&subset);
  free(block);
  free(few);
  free(all);
}

#endif
