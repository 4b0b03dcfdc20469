/* Plans of the block solver: orders, columns that come last, guides, patterns that return.
 * Labels: slow */
#include "block_system.h"

static const int nodes[] = {3}, bodies_and_nodes[] = {12, 3};

static void check_solution(const char *name, BlockCholesky *solver, const System *s) {
  double *b, *x = check_residual(name, solver, s, &b);
  free(b), free(x);
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(joins_nodes),
      cmocka_unit_test(drops_its_order_on_request),
      cmocka_unit_test(keeps_plans_of_patterns_that_return),
      cmocka_unit_test(recognises_its_pattern),
      cmocka_unit_test(counts_blocks_and_flops),
      cmocka_unit_test(puts_blocks_last),
      cmocka_unit_test(takes_orders_from_a_guide),
      cmocka_unit_test(orders_for_last_blocks),
      cmocka_unit_test(places_last_blocks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
