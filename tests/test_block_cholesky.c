/* The block solver against CHOLMOD and against the matrix itself, on graphs of many shapes and blocks of many sizes.
 * Labels: slow */
#include "block_system.h"

#include <stdio.h>
#ifdef ABD_TEST_CHOLMOD
#include <cholmod.h>
#endif

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
  double *b, *x = check_residual(name, solver, s, &b), *y = grab((size_t)s->total, sizeof *y);
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

/* Unknowns of a block in very different units: no pivot is raised. */
static void keeps_small_units(void **state) {
  (void)state;
  System s = grid(8, 8, NULL, 0);
  fill_definite(&s, 100);
  double *unit = grab((size_t)s.total, sizeof *unit), *b = grab((size_t)s.total, sizeof *b),
         *x = random_vector(s.total);
  for (int i = 0; i < s.total; i++) unit[i] = i % 5 ? 1 : 1e-9;
  for (int k = 0; k < s.n + s.edge_count; k++) {
    double *block = k < s.n ? s.diagonal[k] : s.coupling[k - s.n];
    int row = k < s.n ? k : s.edge[k - s.n][0], column = k < s.n ? k : s.edge[k - s.n][1];
    for (int i = 0; i < 144; i++) block[i] *= unit[12 * row + i % 12] * unit[12 * column + i / 12];
  }
  multiply(&s, x, b);
  BlockCholesky *solver = block_cholesky_create();
  assert_true(analyze(solver, &s));
  load(solver, &s);
  assert_int_equal(block_cholesky_factor(solver, 1), 0);
  block_cholesky_solve(solver, b, b);
  double worst = 0;
  for (int i = 0; i < s.total; i++) worst = fmax(worst, fabs(b[i] - x[i]) * unit[i]);
  printf("  off by %.1e in these units\n", worst);
  assert_true(worst < 1e-9);
  block_cholesky_destroy(solver);
  free(unit);
  free(b);
  free(x);
  system_free(&s);
}

/* A chain that nothing holds: coupled blocks resist their difference alone. All pivots are 1 but the last, which is
 * zero. */
static void solves_singular_but_consistent(void **state) {
  (void)state;
  System s = chain(30, NULL, 0);
  for (int k = 0; k < s.edge_count; k++)
    for (int r = 0; r < 12; r++) {
      for (int end = 0; end < 2; end++) s.diagonal[s.edge[k][end]][13 * r] += 1;
      s.coupling[k][13 * r] = -1;
    }
  double *x = random_vector(s.total), *b = grab((size_t)s.total, sizeof *b);
  multiply(&s, x, b);
  BlockCholesky *solver = block_cholesky_create();
  assert_true(analyze(solver, &s));
  load(solver, &s);
  assert_int_equal(block_cholesky_factor(solver, 1), 12);
  block_cholesky_solve(solver, b, x);
  check_product("singular", &s, x, b);
  block_cholesky_destroy(solver);
  free(x);
  free(b);
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
      cmocka_unit_test(stiff_and_soft_together),
      cmocka_unit_test(iterates_to_the_solution),
      cmocka_unit_test(chooses_by_memory),
      cmocka_unit_test(iterations_report_negative_curvature),
      cmocka_unit_test(works_on_nothing),
      cmocka_unit_test(raises_bad_pivots),
      cmocka_unit_test(keeps_small_units),
      cmocka_unit_test(solves_singular_but_consistent),
      cmocka_unit_test(reports_nan),
      cmocka_unit_test(survives_failed_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
