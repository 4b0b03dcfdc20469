/* The block solver where it iterates instead of factoring: against its own factor, and when it chooses to. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "block_system.h"

/* By conjugate gradients: the residual in the matrix's own measure falls as asked, the same bits by any threads. */
static void check_iterations(const char *name, const System *s) {
  BlockCholesky *solver = block_cholesky_create(), *whole = block_cholesky_create();
  block_cholesky_choose(solver, BLOCK_ITERATIVE, 0);
  assert_true(analyze(solver, s) && analyze(whole, s));
  assert_true(block_cholesky_iterates(solver) && !block_cholesky_iterates(whole));
  double *b = random_vector(s->total), *y = grab((size_t)s->total, sizeof *y), *x = solution_of(solver, s, b), *exact = solution_of(whole, s, b);
  int iterations = block_cholesky_iterations(solver);
  double off = 0, size = 0;
  for (int i = 0; i < s->total; i++) size += exact[i] * b[i];
  for (int i = 0; i < s->total; i++) exact[i] -= x[i];
  multiply(s, exact, y);
  for (int i = 0; i < s->total; i++) off += exact[i] * y[i];
  if (!(off <= 1e-10 * size)) fail_msg("%s: off by %g of %g in the energy norm after %d iterations", name, sqrt(off), sqrt(size), iterations);
  if (iterations < 1 || iterations > 500) fail_msg("%s: %d iterations", name, iterations);
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
  struct { const char *name; System system; double stiffness; } cases[] = {
      {"one block", chain(1, NULL, 0), 1},
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
  const struct { BlockMethod method; double memory; bool iterates; } cases[] = {
      {BLOCK_AUTO, 0, false}, {BLOCK_AUTO, bytes, false}, {BLOCK_AUTO, bytes - 1, true}, {BLOCK_DIRECT, 1, false}, {BLOCK_ITERATIVE, 1e12, true}};
  for (int k = 0; k < ARRAY_COUNT(cases); k++) {
    solver = block_cholesky_create();
    block_cholesky_choose(solver, cases[k].method, cases[k].memory);
    assert_true(analyze(solver, &s));
    if (block_cholesky_iterates(solver) != cases[k].iterates) fail_msg("case %d: %d, expected %d", k, !cases[k].iterates, cases[k].iterates);
    if (block_cholesky_bytes(solver) != bytes || block_cholesky_flops(solver) != flops) fail_msg("case %d: another prediction", k);
    block_cholesky_destroy(solver);
  }
  system_free(&s);
}

/* An indefinite matrix is told, and the answer goes downhill; one that is no number spoils it. */
static void iterations_meet_negative_curvature(void **state) {
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

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(iterates_to_the_solution), cmocka_unit_test(chooses_by_memory),
                                     cmocka_unit_test(iterations_meet_negative_curvature)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
