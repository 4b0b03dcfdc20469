/* The block solver against CHOLMOD and against the matrix itself, on graphs of many shapes and blocks of many sizes.
 * Labels: slow */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "linear/block_cholesky.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef ABD_TEST_CHOLMOD
#include <cholmod.h>
#endif

typedef struct System {
  int n, edge_count, total;
  int *size, *at;
  int (*edge)[2];
  double (*diagonal)[144], (*coupling)[144];
} System;

static uint64_t random_state = 1;

static double random_unit(void) {
  random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
  return (double)(random_state >> 11) / 9007199254740992.0;
}

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

#ifdef ABD_TEST_CHOLMOD
static void add_entry(cholmod_triplet *t, int row, int column, double value) {
  size_t k = t->nnz++;
  ((int *)t->i)[k] = row > column ? row : column;
  ((int *)t->j)[k] = row > column ? column : row;
  ((double *)t->x)[k] = value;
}

static cholmod_sparse *sparse_of(const System *s, cholmod_common *common) {
  size_t entries = 144 * ((size_t)s->n + (size_t)s->edge_count), total = (size_t)s->total;
  cholmod_triplet *t = cholmod_allocate_triplet(total, total, entries, -1, CHOLMOD_REAL, common);
  for (int i = 0; i < s->n; i++)
    for (int c = 0; c < s->size[i]; c++)
      for (int r = c; r < s->size[i]; r++) add_entry(t, s->at[i] + r, s->at[i] + c, s->diagonal[i][s->size[i] * c + r]);
  for (int k = 0; k < s->edge_count; k++) {
    int a = s->edge[k][0], b = s->edge[k][1];
    for (int c = 0; c < s->size[b]; c++)
      for (int r = 0; r < s->size[a]; r++) add_entry(t, s->at[a] + r, s->at[b] + c, s->coupling[k][s->size[a] * c + r]);
  }
  cholmod_sparse *sparse = cholmod_triplet_to_sparse(t, 0, common);
  cholmod_free_triplet(&t, common);
  return sparse;
}

/* CHOLMOD's solution, and from its estimate of the condition how far apart two solutions may be. */
static double *solve_by_cholmod(const System *s, const double *b, double *reciprocal_condition) {
  cholmod_common common;
  cholmod_start(&common);
  common.supernodal = CHOLMOD_SIMPLICIAL; /* without BLAS, whose threads are none of this test's business */
  cholmod_sparse *a = sparse_of(s, &common);
  cholmod_factor *factor = cholmod_analyze(a, &common);
  cholmod_factorize(a, factor, &common);
  *reciprocal_condition = cholmod_rcond(factor, &common);
  cholmod_dense *right = cholmod_zeros((size_t)s->total, 1, CHOLMOD_REAL, &common);
  memcpy(right->x, b, (size_t)s->total * sizeof *b);
  cholmod_dense *solution = cholmod_solve(CHOLMOD_A, factor, right, &common);
  double *x = grab((size_t)s->total, sizeof *x);
  memcpy(x, solution->x, (size_t)s->total * sizeof *x);
  cholmod_free_dense(&solution, &common);
  cholmod_free_dense(&right, &common);
  cholmod_free_factor(&factor, &common);
  cholmod_free_sparse(&a, &common);
  cholmod_finish(&common);
  return x;
}

static void check_against_cholmod(const char *name, const System *s, const double *b, const double *x) {
  double reciprocal;
  double *reference = solve_by_cholmod(s, b, &reciprocal);
  double worst = 0, scale = largest_entry(reference, s->total);
  for (int i = 0; i < s->total; i++) worst = fmax(worst, fabs(x[i] - reference[i]));
  double bound = 1e-15 * s->total / reciprocal;
  if (!(worst <= bound * scale))
    fail_msg("%s: solution off CHOLMOD's by %g of %g, bound %g", name, worst, scale, bound * scale);
  if (bound > 1e-3) fail_msg("%s: condition 1/%g makes the comparison worthless", name, reciprocal);
  free(reference);
}
#else
static void check_against_cholmod(const char *name, const System *s, const double *b, const double *x) {
  (void)s, (void)b, (void)x;
  print_message("%s: no CHOLMOD to compare with\n", name);
}
#endif

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

/* The first part is a solve for b, the last one for b + g; a solve for the subset between them changes nothing. */
static void check_parts(const char *name, BlockCholesky *solver, const System *s) {
  BlockSubset subset = {0};
  int block[2] = {s->n / 3, s->n - 1}, count = s->n > 1 ? 2 : 1, few = 0;
  size_t total = (size_t)s->total;
  double *b = grab(total, sizeof *b), *x = grab(total, sizeof *x), *y = grab(total, sizeof *y), first[24], g[24], z[24];
  double *energy = grab((size_t)s->n, sizeof *energy), sum = 0, worst = 0;
  for (int i = 0; i < s->total; i++) b[i] = cos(3.0 * i);
  block_cholesky_solve(solver, b, x);
  assert_true(block_cholesky_select(solver, &subset, block, count));
  block_cholesky_solve_first(solver, &subset, b, first, energy);
  for (int i = 0; i < s->n; i++) sum += energy[i];
  for (int i = 0; i < s->total; i++) sum -= b[i] * x[i];
  if (!(fabs(sum) <= 1e-9 * s->total * largest_entry(x, s->total))) fail_msg("%s: energy off by %g", name, sum);
  for (int k = 0; k < count; k++)
    for (int r = 0; r < s->size[block[k]]; r++, few++) {
      assert_true(first[few] == x[s->at[block[k]] + r]);
      g[few] = sin(few + 1.0);
    }
  block_cholesky_solve_subset(solver, &subset, g, z);
  memcpy(y, b, total * sizeof *y);
  block_cholesky_solve_last(solver, &subset, y, g, y);
  for (int k = 0, at = 0; k < count; k++)
    for (int r = 0; r < s->size[block[k]]; r++) b[s->at[block[k]] + r] += g[at++];
  block_cholesky_solve(solver, b, x);
  for (int i = 0; i < s->total; i++) worst = fmax(worst, fabs(x[i] - y[i]));
  double bound = 1e-9 * largest_entry(x, s->total);
  if (!(worst <= bound)) fail_msg("%s: solution in two parts off by %g, bound %g", name, worst, bound);
  block_subset_free(&subset);
  free(b), free(x), free(y), free(energy);
}

static void check_solution(const char *name, BlockCholesky *solver, const System *s) {
  assert_true(analyze(solver, s));
  load(solver, s);
  int raised = block_cholesky_factor(solver, 2);
  if (raised != 0) fail_msg("%s: %d pivots raised, 0 expected", name, raised);
  double *b = random_vector(s->total), *x = grab((size_t)s->total, sizeof *x), *y = grab((size_t)s->total, sizeof *y);
  block_cholesky_solve(solver, b, x);
  double norm = multiply(s, x, y), worst = 0;
  for (int i = 0; i < s->total; i++) worst = fmax(worst, fabs(y[i] - b[i]));
  double bound = 1e-15 * s->total * (norm * largest_entry(x, s->total) + largest_entry(b, s->total));
  if (!(worst <= bound)) fail_msg("%s: residual %g, bound %g", name, worst, bound);
  check_against_cholmod(name, s, b, x);
  memcpy(y, b, (size_t)s->total * sizeof *y);
  block_cholesky_solve(solver, y, y);
  assert_memory_equal(x, y, (size_t)s->total * sizeof *x);
  check_subset(name, solver, s);
  check_parts(name, solver, s);
  free(b);
  free(x);
  free(y);
}

static const int mixed[] = {12, 3, 6, 1, 12, 3, 5, 11}, nodes[] = {3}, bodies_and_nodes[] = {12, 3};

/* One solver for all, so that growing and shrinking is tested too. */
static void solves_like_cholmod(void **state) {
  (void)state;
  struct {
    const char *name;
    System system;
    double stiffness;
  } cases[] = {{"one block", chain(1, NULL, 0), 1},
               {"one unknown", chain(1, (int[]){1}, 1), 1},
               {"pair", chain(2, NULL, 0), 1e3},
               {"chain", chain(200, NULL, 0), 1e4},
               {"mixed chain", chain(150, mixed, 8), 1e4},
               {"grid", grid(16, 16, NULL, 0), 1e4},
               {"mixed grid", grid(14, 10, mixed, 8), 1e3},
               {"grid of nodes", grid(20, 20, nodes, 1), 1e3},
               {"sheet of nodes", lattice(40, 30, 1, 0, nodes, 1), 1e3},
               {"sheet that touches itself", lattice(30, 30, 1, 200, nodes, 1), 1e3},
               {"solid of nodes", lattice(12, 12, 12, 0, nodes, 1), 1e2},
               {"solid of bodies and nodes", lattice(6, 6, 6, 20, bodies_and_nodes, 2), 1e3},
               {"pile", lattice(9, 9, 9, 0, NULL, 0), 1e2},
               {"bodies and nodes", grid(12, 12, bodies_and_nodes, 2), 1e5},
               {"star", star(300), 1e3},
               {"random", random_graph(60, 60, 0.1, NULL, 0), 1e4},
               {"mixed random", random_graph(80, 80, 0.08, mixed, 8), 1e4},
               {"dense", random_graph(25, 25, 2, NULL, 0), 1e2},
               {"islands", islands(30), 1e4},
               {"half connected", random_graph(120, 40, 0.1, mixed, 8), 1e3},
               {"all apart", random_graph(200, 0, 0, mixed, 8), 1}};
  BlockCholesky *solver = block_cholesky_create();
  assert_non_null(solver);
  for (int i = 0; i < ARRAY_COUNT(cases); i++) {
    fill_definite(&cases[i].system, cases[i].stiffness);
    check_solution(cases[i].name, solver, &cases[i].system);
    system_free(&cases[i].system);
  }
  block_cholesky_destroy(solver);
}

static void same_bits_for_any_threads(void **state) {
  (void)state;
  System systems[] = {grid(24, 24, NULL, 0),
                      grid(40, 30, mixed, 8),
                      islands(200),
                      star(2000),
                      random_graph(300, 200, 0.03, mixed, 8),
                      lattice(7, 7, 7, 0, NULL, 0)};
  for (int k = 0; k < ARRAY_COUNT(systems); k++) {
    System *s = &systems[k];
    fill_definite(s, 1e4);
    double *b = random_vector(s->total);
    double *first = grab((size_t)s->total, sizeof *b), *x = grab((size_t)s->total, sizeof *b);
    BlockCholesky *solver = block_cholesky_create();
    assert_true(analyze(solver, s));
    const int threads[] = {1, 2, 3, 8, 2};
    for (int t = 0; t < ARRAY_COUNT(threads); t++) {
      block_cholesky_use_threads(solver, threads[t]);
      block_cholesky_refresh(solver);
      assert_true(analyze(solver, s));
      load(solver, s);
      assert_int_equal(block_cholesky_factor(solver, threads[t]), 0);
      block_cholesky_solve(solver, b, t ? x : first);
      if (t && memcmp(x, first, (size_t)s->total * sizeof *x) != 0)
        fail_msg("system %d, %g flops: %d threads give other bits", k, block_cholesky_flops(solver), threads[t]);
    }
    block_cholesky_destroy(solver);
    free(b);
    free(first);
    free(x);
    system_free(s);
  }
}

/* Columns of nodes are joined to such of twelve: fewer and larger blocks than the caller's. */
static void joins_nodes(void **state) {
  (void)state;
  BlockCholesky *solver = block_cholesky_create();
  System s = lattice(40, 40, 1, 0, nodes, 1);
  assert_true(analyze(solver, &s));
  int64_t blocks = block_cholesky_factor_blocks(solver);
  if (blocks > 8 * s.n) fail_msg("%ld blocks of L for %d nodes, which have 25 each by themselves", (long)blocks, s.n);
  system_free(&s);
  block_cholesky_destroy(solver);
}

static double *solution_of(BlockCholesky *solver, const System *s, const double *b) {
  double *x = grab((size_t)s->total, sizeof *x);
  load(solver, s);
  assert_int_equal(block_cholesky_factor(solver, 1), 0);
  block_cholesky_solve(solver, b, x);
  return x;
}

static int columns_of(BlockCholesky *solver, const int *block, int count) {
  BlockSubset subset = {0};
  assert_true(block_cholesky_select(solver, &subset, block, count));
  int columns = subset.column_count;
  block_subset_free(&subset);
  return columns;
}

static void analyze_with_last(BlockCholesky *solver, const System *s, const int *block, int count) {
  bool *last = grab((size_t)s->n, sizeof *last);
  for (int k = 0; k < count; k++) last[block[k]] = true;
  assert_true(block_cholesky_analyze(solver, s->n, s->size, s->edge_count, (const int(*)[2])s->edge, last));
  free(last);
}

/* Chains of so many blocks, one of whose ends is coupled to that of the next chain. */
static System comb(int chains, int length, int end) {
  System s = system_new(chains * length, 2 * chains * length, NULL, 0);
  for (int i = 0; i < s.n; i++) {
    if (i % length) connect(&s, i - 1, i);
    if (i >= length && i % length == end) connect(&s, i - length, i);
  }
  return s;
}

/* The order of the other blocks takes into account that they are coupled to the last ones: chains are eliminated from
 * their loose ends, whichever it is, so that no block is added but between last ones. */
static void orders_for_last_blocks(void **state) {
  (void)state;
  enum { CHAINS = 20, LENGTH = 40 };
  for (int end = 0; end < LENGTH; end += LENGTH - 1) {
    System s = comb(CHAINS, LENGTH, end);
    int last[CHAINS];
    BlockCholesky *solver = block_cholesky_create();
    for (int k = 0; k < CHAINS; k++) last[k] = LENGTH * k + end;
    analyze_with_last(solver, &s, last, CHAINS);
    int blocks = (int)block_cholesky_factor_blocks(solver), between = CHAINS * (CHAINS - 1) / 2 - (CHAINS - 1);
    print_message("%d blocks of L, %d blocks and %d couplings, %d last\n", blocks, s.n, s.edge_count, CHAINS);
    assert_int_equal(columns_of(solver, last, CHAINS), CHAINS);
    assert_true(blocks <= s.n + s.edge_count + between);
    block_cholesky_destroy(solver);
    system_free(&s);
  }
}

/* A caller may choose where last blocks are put, by what both cost; up to the next refresh. */
static void places_last_blocks(void **state) {
  (void)state;
  enum { WIDTH = 16, COUNT = 10 };
  System s = grid(WIDTH, WIDTH, NULL, 0);
  BlockCholesky *solver = block_cholesky_create();
  BlockCost cost[2];
  int left[COUNT], more[COUNT + 1];
  for (int k = 0; k < COUNT; k++) left[k] = more[k] = WIDTH * k;
  more[COUNT] = WIDTH * WIDTH / 2 + 1;
  fill_definite(&s, 1e3);
  analyze_with_last(solver, &s, left, COUNT);
  block_cholesky_costs(solver, cost);
  print_message("factor and solves: %g and %g, at the end %g and %g\n", cost[0].factor, cost[0].solves, cost[1].factor,
                cost[1].solves);
  assert_true(cost[0].factor < cost[1].factor && cost[0].solves > 2 * cost[1].solves);
  assert_int_equal(columns_of(solver, left, COUNT), COUNT); /* judged by the sums */
  assert_true(block_cholesky_place_last(solver, LAST_AT_END));
  assert_false(block_cholesky_place_last(solver, LAST_AMONG));
  for (int k = 0; k < 2; k++) {
    analyze_with_last(solver, &s, k ? more : left, COUNT + k);
    assert_true(columns_of(solver, left, COUNT) > 2 * COUNT);
    load(solver, &s);
    assert_int_equal(block_cholesky_factor(solver, 1), 0);
    check_subset("last blocks among the others", solver, &s);
  }
  block_cholesky_refresh(solver);
  analyze_with_last(solver, &s, left, COUNT);
  assert_int_equal(columns_of(solver, left, COUNT), COUNT);
  block_cholesky_refresh(solver);
  assert_true(analyze(solver, &s)); /* without last blocks both are the same, up to those that come */
  block_cholesky_costs(solver, cost);
  assert_true(cost[0].factor == cost[1].factor && cost[0].solves == 0 && cost[1].solves == 0);
  assert_true(block_cholesky_place_last(solver, LAST_AMONG));
  analyze_with_last(solver, &s, left, COUNT);
  assert_true(columns_of(solver, left, COUNT) > 2 * COUNT);
  block_cholesky_destroy(solver);
  system_free(&s);
}

/* Blocks that are eliminated last have no other columns above them. In an order that is kept they are moved to its end,
 * behind those that are there; others get an order of their own on request. So many that the factor would be dense keep
 * the usual order. */
static void puts_blocks_last(void **state) {
  (void)state;
  enum { WIDTH = 16, COUNT = 10 };
  System s = grid(WIDTH, WIDTH, NULL, 0);
  BlockCholesky *solver = block_cholesky_create();
  int left[COUNT], top[COUNT], more[COUNT + 2];
  for (int k = 0; k < COUNT; k++) left[k] = more[k] = WIDTH * k, top[k] = k;
  more[COUNT] = WIDTH * WIDTH / 2 + 1, more[COUNT + 1] = WIDTH * COUNT + 2;
  fill_definite(&s, 1e3);
  assert_true(analyze(solver, &s));
  int without = columns_of(solver, left, COUNT);
  analyze_with_last(solver, &s, left, COUNT);
  int moved = columns_of(solver, left, COUNT);
  load(solver, &s);
  assert_int_equal(block_cholesky_factor(solver, 1), 0);
  check_subset("blocks moved", solver, &s);
  analyze_with_last(solver, &s, more, COUNT + 2);
  int twice = columns_of(solver, more, COUNT + 2);
  analyze_with_last(solver, &s, left, COUNT);
  int fewer = columns_of(solver, more, COUNT + 2);
  block_cholesky_refresh(solver);
  analyze_with_last(solver, &s, left, COUNT);
  int with = columns_of(solver, left, COUNT);
  block_cholesky_refresh(solver);
  analyze_with_last(solver, &s, top, COUNT);
  int other = columns_of(solver, top, COUNT);
  block_cholesky_refresh(solver);
  analyze_with_last(solver, &s, left, COUNT);
  int again = columns_of(solver, left, COUNT);
  print_message("columns of %d blocks: %d, moved: %d, of two more: %d, %d, last: %d, %d, %d\n", COUNT, without, moved,
                twice, fewer, with, other, again);
  assert_true(without > 2 * COUNT);
  assert_int_equal(moved, COUNT);
  assert_int_equal(twice, COUNT + 2);
  assert_int_equal(fewer, COUNT + 2); /* the pattern is the same, and its order is kept */
  assert_int_equal(with, COUNT);
  assert_int_equal(other, COUNT);
  assert_int_equal(again, COUNT);
  load(solver, &s);
  assert_int_equal(block_cholesky_factor(solver, 1), 0);
  check_subset("blocks last", solver, &s);
  block_cholesky_refresh(solver);
  assert_true(analyze(solver, &s));
  double usual = block_cholesky_flops(solver);
  int all[WIDTH * WIDTH];
  for (int i = 0; i < WIDTH * WIDTH; i++) all[i] = i;
  block_cholesky_refresh(solver);
  analyze_with_last(solver, &s, all, WIDTH * WIDTH / 2);
  print_message("flops %g, half of the blocks last %g\n", usual, block_cholesky_flops(solver));
  assert_true(block_cholesky_flops(solver) == usual);
  block_cholesky_destroy(solver);
  system_free(&s);
}

/* A solver whose guide is s, and the solution with couplings of `other`. reversed: block i is block n - 1 - i of the
 * guide. */
static BlockCholesky *guided_by(const System *s) {
  BlockCholesky *solver = block_cholesky_create();
  assert_true(block_cholesky_guide(solver, s->n, s->size, s->edge_count, (const int(*)[2])s->edge));
  return solver;
}

static double *guided_solution(BlockCholesky *solver, const System *other, const double *b, bool reversed) {
  int *guided = grab((size_t)other->n, sizeof *guided);
  for (int i = 0; i < other->n; i++) guided[i] = reversed ? other->n - 1 - i : i;
  block_cholesky_refresh(solver);
  block_cholesky_name(solver, guided);
  assert_true(analyze(solver, other));
  free(guided);
  return solution_of(solver, other, b);
}

/* Patterns with few other couplings have the order of the guide, whatever came before. Many others get their own. */
static void takes_orders_from_a_guide(void **state) {
  (void)state;
  System base = lattice(24, 20, 1, 0, NULL, 0), few = lattice(24, 20, 1, 3, NULL, 0);
  System many = random_graph(base.n, base.n, 0.05, NULL, 0);
  System *all[] = {&base, &few, &many};
  for (int k = 0; k < 3; k++) fill_definite(all[k], 100);
  BlockCholesky *used = guided_by(&base), *fresh = guided_by(&base), *alone = block_cholesky_create();
  double *b = random_vector(base.total), *first = guided_solution(used, &base, b, false), flops[2];
  flops[0] = block_cholesky_flops(used);
  double *x = guided_solution(used, &few, b, false), *y = guided_solution(fresh, &few, b, false);
  flops[1] = block_cholesky_flops(used);
  assert_true(analyze(alone, &few));
  double *z = solution_of(alone, &few, b);
  print_message("flops %g, with few couplings %g, in an order of their own %g\n", flops[0], flops[1],
                block_cholesky_flops(alone));
  assert_memory_equal(x, y, (size_t)base.total * sizeof(double));
  assert_true(flops[1] > flops[0] && flops[1] < 1.5 * flops[0]);
  for (int i = 0; i < base.total; i++) x[i] -= z[i];
  assert_true(largest_entry(x, base.total) < 1e-9 * largest_entry(z, base.total));
  double *u = guided_solution(used, &base, b, true), *v = guided_solution(fresh, &base, b, true);
  assert_memory_equal(u, v, (size_t)base.total * sizeof(double));
  assert_memory_not_equal(u, first, (size_t)base.total * sizeof(double)); /* another order */
  assert_true(analyze(alone, &many));
  double *w = guided_solution(used, &many, b, false);
  assert_true(block_cholesky_flops(used) == block_cholesky_flops(alone));
  double *vector[] = {b, first, x, y, z, u, v, w};
  for (int k = 0; k < 8; k++) free(vector[k]);
  BlockCholesky *solver[] = {used, fresh, alone};
  for (int k = 0; k < 3; k++) {
    block_cholesky_destroy(solver[k]);
    system_free(all[k]);
  }
}

/* An order serves other couplings of the same blocks; after a refresh nothing is left of it. */
static void drops_its_order_on_request(void **state) {
  (void)state;
  System first = lattice(24, 20, 1, 0, bodies_and_nodes, 2), second = lattice(24, 20, 1, 3, bodies_and_nodes, 2);
  memcpy(second.size, first.size, (size_t)first.n * sizeof(int));
  memcpy(second.at, first.at, ((size_t)first.n + 1) * sizeof(int));
  second.total = first.total;
  fill_definite(&first, 100);
  fill_definite(&second, 100);
  BlockCholesky *used = block_cholesky_create(), *other = block_cholesky_create();
  check_solution("first", used, &first);
  check_solution("second, in the order of the first", used, &second);
  double *b = random_vector(first.total), *kept = solution_of(used, &second, b);
  block_cholesky_refresh(used);
  assert_true(analyze(used, &second));
  assert_true(analyze(other, &second));
  double *x = solution_of(used, &second, b), *y = solution_of(other, &second, b);
  assert_memory_equal(x, y, (size_t)first.total * sizeof *x);
  if (memcmp(kept, x, (size_t)first.total * sizeof *x) == 0)
    fail_msg("the order of the first was not kept for the second");
  void *array[] = {b, kept, x, y};
  for (int i = 0; i < ARRAY_COUNT(array); i++) free(array[i]);
  block_cholesky_destroy(used);
  block_cholesky_destroy(other);
  system_free(&first);
  system_free(&second);
}

/* Four patterns in turn, each analysed in every step: the second time nothing is allocated, and the solution has the
 * bits of a new solver. A fifth one replaces the oldest. */
static void keeps_plans_of_patterns_that_return(void **state) {
  (void)state;
  enum { PATTERNS = 5 };
  BlockCholesky *solver = block_cholesky_create();
  System s[PATTERNS];
  for (int k = 0; k < PATTERNS; k++) {
    s[k] = grid(12 - k, 10, NULL, 0);
    fill_definite(&s[k], 10);
  }
  for (int turn = 0; turn < 3; turn++)
    for (int k = 0; k < PATTERNS - 1; k++) {
      block_cholesky_refresh(solver);
      mem_fail_after(turn > 0);
      bool done = analyze(solver, &s[k]);
      mem_fail_after(0);
      if (!done) fail_msg("turn %d analysed pattern %d anew", turn, k);
      BlockCholesky *other = block_cholesky_create();
      assert_true(analyze(other, &s[k]));
      double *b = random_vector(s[k].total), *x = solution_of(solver, &s[k], b), *y = solution_of(other, &s[k], b);
      assert_memory_equal(x, y, (size_t)s[k].total * sizeof *x);
      free(b), free(x), free(y);
      block_cholesky_destroy(other);
    }
  check_solution("a fifth pattern", solver, &s[PATTERNS - 1]);
  mem_fail_after(1);
  bool kept = analyze(solver, &s[1]), dropped = analyze(solver, &s[0]);
  mem_fail_after(0);
  assert_true(kept);
  assert_false(dropped);
  for (int k = 0; k < PATTERNS; k++) system_free(&s[k]);
  block_cholesky_destroy(solver);
}

/* Bodies of 1e11 Pa among nodes of 1e4 Pa, masses alike: the residual of every row is within rounding of that row's
 * own terms, so no scaling could do better. */
static void stiff_and_soft_together(void **state) {
  (void)state;
  System s = lattice(7, 7, 7, 30, bodies_and_nodes, 2);
  fill_definite(&s, 1e4);
  for (int i = 0; i < s.n; i++)
    for (int k = 0; s.size[i] == 12 && k < 40; k++) add_rank_one(&s, i, -1, -1, 1e11);
  BlockCholesky *solver = block_cholesky_create();
  assert_true(analyze(solver, &s));
  double *b = random_vector(s.total), *x = solution_of(solver, &s, b), *y = grab((size_t)s.total, sizeof *y);
  multiply(&s, x, y);
  double worst = 0;
  for (int i = 0; i < s.n; i++)
    for (int r = 0; r < s.size[i]; r++) {
      int u = s.at[i] + r;
      double scale = fabs(b[u]) + sqrt(fabs(s.diagonal[i][(s.size[i] + 1) * r])) * 1e2;
      for (int c = 0; c < s.size[i]; c++)
        scale += fabs(s.diagonal[i][r >= c ? s.size[i] * c + r : s.size[i] * r + c] * x[s.at[i] + c]);
      worst = fmax(worst, fabs(y[u] - b[u]) / scale);
    }
  if (!(worst < 1e-13)) fail_msg("residual of a row %g of its terms, 1e-13 allowed", worst);
  free(b);
  free(x);
  free(y);
  system_free(&s);
  block_cholesky_destroy(solver);
}

/* Analyse the same, then the same graph with other sizes, then with one other edge, then none. */
static void recognises_its_pattern(void **state) {
  (void)state;
  BlockCholesky *solver = block_cholesky_create();
  System s = grid(6, 6, NULL, 0);
  fill_definite(&s, 10);
  check_solution("first", solver, &s);
  mem_fail_after(1);
  bool again = analyze(solver, &s);
  mem_fail_after(0);
  assert_true(again);
  check_solution("again", solver, &s);
  mem_fail_after(1);
  s.size[7] = 6;
  bool other_size = analyze(solver, &s);
  s.size[7] = 12;
  mem_fail_after(0);
  assert_false(other_size);
  check_solution("after a failure", solver, &s);
  s.edge[3][0] = s.edge[3][0] == 35 ? 34 : 35;
  memset(s.diagonal, 0, (size_t)s.n * sizeof *s.diagonal);
  memset(s.coupling, 0, (size_t)s.edge_count * sizeof *s.coupling);
  fill_definite(&s, 10);
  check_solution("other edge", solver, &s);
  system_free(&s);
  block_cholesky_destroy(solver);
}

static void counts_blocks_and_flops(void **state) {
  (void)state;
  BlockCholesky *solver = block_cholesky_create();
  System s = chain(10, NULL, 0);
  assert_true(analyze(solver, &s));
  assert_int_equal(block_cholesky_factor_blocks(solver), 19);
  double expected = 10 * 12 * 12 * 12 / 3. + 9 * 2 * 12 * 12 * 12;
  if (fabs(block_cholesky_flops(solver) - expected) > 1)
    fail_msg("flops %g, expected %g", block_cholesky_flops(solver), expected);
  system_free(&s);
  s = star(50);
  assert_true(analyze(solver, &s));
  assert_int_equal(block_cholesky_factor_blocks(solver), 99);
  system_free(&s);
  block_cholesky_destroy(solver);
}

/* By conjugate gradients: the residual in the matrix's own measure falls as asked, the same bits by any threads. */
static void check_iterations(const char *name, const System *s) {
  BlockCholesky *solver = block_cholesky_create(), *whole = block_cholesky_create();
  block_cholesky_choose(solver, BLOCK_ITERATIVE, 0);
  assert_true(analyze(solver, s) && analyze(whole, s));
  assert_true(block_cholesky_iterates(solver) && !block_cholesky_iterates(whole));
  double *b = random_vector(s->total), *y = grab((size_t)s->total, sizeof *y), *x = solution_of(solver, s, b),
         *exact = solution_of(whole, s, b);
  int iterations = block_cholesky_iterations(solver);
  double off = 0, size = 0;
  for (int i = 0; i < s->total; i++) size += exact[i] * b[i];
  for (int i = 0; i < s->total; i++) exact[i] -= x[i];
  multiply(s, exact, y);
  for (int i = 0; i < s->total; i++) off += exact[i] * y[i];
  if (!(off <= 1e-10 * size))
    fail_msg("%s: off by %g of %g in the energy norm after %d iterations", name, sqrt(off), sqrt(size), iterations);
  if (iterations < 1 || iterations > 500) fail_msg("%s: %d iterations", name, iterations);
  block_cholesky_use_threads(solver, 3);
  load(solver, s);
  assert_int_equal(block_cholesky_factor(solver, 3), 0);
  assert_true(block_cholesky_solve(solver, b, y));
  if (memcmp(x, y, (size_t)s->total * sizeof *x) != 0) fail_msg("%s: three threads give other bits", name);
  void *array[] = {b, y, x, exact};
  for (int i = 0; i < ARRAY_COUNT(array); i++) free(array[i]);
  block_cholesky_destroy(solver);
  block_cholesky_destroy(whole);
}

static void iterates_to_the_solution(void **state) {
  (void)state;
  struct {
    const char *name;
    System system;
    double stiffness;
  } cases[] = {{"one block", chain(1, NULL, 0), 1},
               {"chain", chain(100, NULL, 0), 1e3},
               {"grid", grid(16, 16, NULL, 0), 1e2},
               {"sheet of nodes", lattice(30, 30, 1, 40, nodes, 1), 1e2},
               {"solid of bodies and nodes", lattice(8, 8, 8, 20, bodies_and_nodes, 2), 1e2},
               {"mixed random", random_graph(80, 80, 0.08, mixed, 8), 1e2},
               {"islands", islands(30), 1e3}};
  for (int i = 0; i < ARRAY_COUNT(cases); i++) {
    fill_definite(&cases[i].system, cases[i].stiffness);
    check_iterations(cases[i].name, &cases[i].system);
    system_free(&cases[i].system);
  }
}

/* Left to itself the solver iterates exactly where the factor would take more than it may. */
static void chooses_by_memory(void **state) {
  (void)state;
  System s = lattice(20, 20, 1, 0, nodes, 1);
  BlockCholesky *solver = block_cholesky_create();
  assert_true(analyze(solver, &s));
  double bytes = block_cholesky_bytes(solver), flops = block_cholesky_flops(solver);
  block_cholesky_destroy(solver);
  const struct {
    BlockMethod method;
    double memory;
    bool iterates;
  } cases[] = {{BLOCK_AUTO, 0, false},
               {BLOCK_AUTO, bytes, false},
               {BLOCK_AUTO, bytes - 1, true},
               {BLOCK_DIRECT, 1, false},
               {BLOCK_ITERATIVE, 1e12, true}};
  for (int k = 0; k < ARRAY_COUNT(cases); k++) {
    solver = block_cholesky_create();
    block_cholesky_choose(solver, cases[k].method, cases[k].memory);
    assert_true(analyze(solver, &s));
    if (block_cholesky_iterates(solver) != cases[k].iterates)
      fail_msg("case %d: %d, expected %d", k, !cases[k].iterates, cases[k].iterates);
    if (block_cholesky_bytes(solver) != bytes || block_cholesky_flops(solver) != flops)
      fail_msg("case %d: another prediction", k);
    block_cholesky_destroy(solver);
  }
  system_free(&s);
}

/* An indefinite matrix is told, and the answer goes downhill; one that is no number spoils it. */
static void iterations_report_negative_curvature(void **state) {
  (void)state;
  System s = lattice(12, 12, 1, 0, nodes, 1);
  fill_definite(&s, 10);
  for (int r = 0; r < 3; r++) s.diagonal[50][4 * r] -= 1e3;
  BlockCholesky *solver = block_cholesky_create();
  block_cholesky_choose(solver, BLOCK_ITERATIVE, 0);
  assert_true(analyze(solver, &s));
  double *b = random_vector(s.total), *x = grab((size_t)s.total, sizeof *x), slope = 0;
  load(solver, &s);
  assert_int_equal(block_cholesky_factor(solver, 1), 0);
  assert_false(block_cholesky_solve(solver, b, x));
  for (int i = 0; i < s.total; i++) slope += b[i] * x[i];
  if (!(slope > 0)) fail_msg("b.x = %g", slope);
  s.coupling[7][3] = NAN;
  load(solver, &s);
  bool told = block_cholesky_factor(solver, 1) < 0 || (block_cholesky_solve(solver, b, x), isnan(x[0]));
  assert_true(told);
  free(b);
  free(x);
  block_cholesky_destroy(solver);
  system_free(&s);
}

static void works_on_nothing(void **state) {
  (void)state;
  BlockCholesky *solver = block_cholesky_create();
  double nothing = 7;
  assert_int_equal(block_cholesky_factor(solver, 2), 0);
  assert_true(block_cholesky_analyze(solver, 0, NULL, 0, NULL, NULL));
  assert_true(block_cholesky_analyze(solver, 0, NULL, 0, NULL, NULL));
  block_cholesky_clear(solver);
  assert_int_equal(block_cholesky_factor(solver, 2), 0);
  block_cholesky_solve(solver, &nothing, &nothing);
  assert_true(nothing == 7);
  assert_int_equal(block_cholesky_factor_blocks(solver), 0);
  block_cholesky_destroy(solver);
  block_cholesky_destroy(NULL);
}

/* The same raised pivots and bits by one thread and by three; b.x > 0. */
static void check_descent(const char *name, const System *s) {
  BlockCholesky *solver = block_cholesky_create();
  double *b = random_vector(s->total), *x = grab((size_t)s->total, sizeof *b), *y = grab((size_t)s->total, sizeof *b);
  assert_true(analyze(solver, s));
  load(solver, s);
  int raised = block_cholesky_factor(solver, 1);
  block_cholesky_solve(solver, b, x);
  load(solver, s);
  block_cholesky_use_threads(solver, 3);
  assert_int_equal(block_cholesky_factor(solver, 3), raised);
  block_cholesky_solve(solver, b, y);
  double slope = 0, xx = 0, bb = 0;
  for (int i = 0; i < s->total; i++) {
    slope += b[i] * x[i];
    xx += x[i] * x[i];
    bb += b[i] * b[i];
  }
  if (raised <= 0) fail_msg("%s: %d pivots raised, some expected", name, raised);
  if (!(slope > 1e-12 * sqrt(xx * bb))) fail_msg("%s: b.x = %g with |x| %g, |b| %g", name, slope, sqrt(xx), sqrt(bb));
  assert_memory_equal(x, y, (size_t)s->total * sizeof *x);
  block_cholesky_destroy(solver);
  free(b);
  free(x);
  free(y);
}

static void raises_bad_pivots(void **state) {
  (void)state;
  System s = grid(16, 16, mixed, 8);
  fill_definite(&s, 100);
  for (int i = 0; i < s.n; i += 5)
    for (int r = 0; r < s.size[i]; r++) s.diagonal[i][s.size[i] * r + r] -= 150;
  check_descent("indefinite", &s);
  memset(s.diagonal, 0, (size_t)s.n * sizeof *s.diagonal);
  memset(s.coupling, 0, (size_t)s.edge_count * sizeof *s.coupling);
  check_descent("zero", &s);
  for (int k = 0; k < s.edge_count; k++) add_rank_one(&s, s.edge[k][0], s.edge[k][1], k, 1e6);
  check_descent("semidefinite", &s);
  system_free(&s);
}

/* A semidefinite system that b lies in the range of is solved in spite of the raised pivots. */
static void solves_singular_but_consistent(void **state) {
  (void)state;
  System s = chain(30, NULL, 0);
  for (int k = 0; k < s.edge_count; k++) add_rank_one(&s, s.edge[k][0], s.edge[k][1], k, 1);
  double *x = random_vector(s.total), *b = grab((size_t)s.total, sizeof *b), *y = grab((size_t)s.total, sizeof *b);
  multiply(&s, x, b);
  BlockCholesky *solver = block_cholesky_create();
  assert_true(analyze(solver, &s));
  load(solver, &s);
  int raised = block_cholesky_factor(solver, 1);
  if (raised < 1) fail_msg("%d pivots raised, some expected", raised);
  block_cholesky_solve(solver, b, x);
  multiply(&s, x, y);
  for (int i = 0; i < s.total; i++)
    if (!(fabs(y[i] - b[i]) < 1e-9)) fail_msg("unknown %d: A x = %.17g, b = %.17g", i, y[i], b[i]);
  block_cholesky_destroy(solver);
  free(x);
  free(b);
  free(y);
  system_free(&s);
}

static void reports_nan(void **state) {
  (void)state;
  System s = grid(20, 20, NULL, 0);
  fill_definite(&s, 10);
  BlockCholesky *solver = block_cholesky_create();
  assert_true(analyze(solver, &s));
  double *place[] = {&s.diagonal[0][0], &s.diagonal[200][5], &s.coupling[100][17], &s.coupling[s.edge_count - 1][143]};
  double bad[] = {NAN, INFINITY, -INFINITY};
  for (int k = 0; k < ARRAY_COUNT(place) * ARRAY_COUNT(bad); k++) {
    double was = *place[k / 3];
    *place[k / 3] = bad[k % 3];
    for (int threads = 1; threads < 4; threads += 2) {
      load(solver, &s);
      int got = block_cholesky_factor(solver, threads);
      if (got != -1) fail_msg("place %d, value %g, %d threads: got %d, expected -1", k / 3, bad[k % 3], threads, got);
    }
    *place[k / 3] = was;
  }
  s.diagonal[3][12] = NAN; /* above the diagonal: does not count */
  load(solver, &s);
  assert_int_equal(block_cholesky_factor(solver, 1), 0);
  block_cholesky_destroy(solver);
  system_free(&s);
}

static void survive_failed_allocations(System s) {
  fill_definite(&s, 10);
  mem_fail_after(1);
  BlockCholesky *none = block_cholesky_create();
  mem_fail_after(0);
  assert_null(none);
  int failures = 0;
  for (long k = 1; k < 100; k++) {
    BlockCholesky *solver = block_cholesky_create();
    mem_fail_after(k);
    bool ok = analyze(solver, &s);
    if (!ok) {
      failures++;
      assert_int_equal(block_cholesky_factor(solver, 2), 0);
      assert_int_equal(block_cholesky_factor_blocks(solver), 0);
    } else {
      load(solver, &s);
      assert_int_equal(block_cholesky_factor(solver, 2), 0);
    }
    mem_fail_after(0);
    check_solution("after failed allocations", solver, &s);
    block_cholesky_destroy(solver);
    if (ok && k > failures + 4) break;
  }
  if (failures < 4) fail_msg("only %d allocations failed", failures);
  system_free(&s);
}

static void survives_failed_allocations(void **state) {
  (void)state;
  survive_failed_allocations(grid(20, 20, NULL, 0));
  survive_failed_allocations(lattice(9, 9, 1, 5, nodes, 1));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(solves_like_cholmod),
      cmocka_unit_test(same_bits_for_any_threads),
      cmocka_unit_test(joins_nodes),
      cmocka_unit_test(drops_its_order_on_request),
      cmocka_unit_test(keeps_plans_of_patterns_that_return),
      cmocka_unit_test(stiff_and_soft_together),
      cmocka_unit_test(iterates_to_the_solution),
      cmocka_unit_test(chooses_by_memory),
      cmocka_unit_test(iterations_report_negative_curvature),
      cmocka_unit_test(recognises_its_pattern),
      cmocka_unit_test(counts_blocks_and_flops),
      cmocka_unit_test(works_on_nothing),
      cmocka_unit_test(raises_bad_pivots),
      cmocka_unit_test(solves_singular_but_consistent),
      cmocka_unit_test(reports_nan),
      cmocka_unit_test(survives_failed_allocations),
      cmocka_unit_test(puts_blocks_last),
      cmocka_unit_test(takes_orders_from_a_guide),
      cmocka_unit_test(orders_for_last_blocks),
      cmocka_unit_test(places_last_blocks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
