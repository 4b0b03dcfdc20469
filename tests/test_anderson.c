/* Anderson's acceleration: linear problems, dependent differences, entries without weight, more steps than it
 * stores, rounding errors. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "draw.h"
#include "linear/anderson.h"

enum { SIZE = 6 };

typedef struct Problem {
  int size;
  double a[SIZE][SIZE], b[SIZE]; /* r(x) = b - a x */
} Problem;

/* Far from the identity: without acceleration the iteration diverges. */
static Problem random_problem(Draw *d, int size) {
  Problem p = {.size = size};
  for (int i = 0; i < size; i++) {
    p.b[i] = draw(d, -1, 1);
    for (int j = 0; j < size; j++) p.a[i][j] = (i == j ? 3 : 0) + draw(d, -1, 1);
  }
  return p;
}

static double residual(const Problem *p, const double *x, double *r) {
  double worst = 0;
  for (int i = 0; i < p->size; i++) {
    r[i] = p->b[i];
    for (int j = 0; j < p->size; j++) r[i] -= p->a[i][j] * x[j];
    worst = fmax(worst, fabs(r[i]));
  }
  return worst;
}

/* n unknowns need n differences: the residual vanishes after n + 1 steps. */
static void test_linear(void **state) {
  (void)state;
  Draw d = {3};
  for (int n = 1; n <= ANDERSON_DEPTH; n++)
    for (int round = 0; round < 20; round++) {
      Problem p = random_problem(&d, n);
      Anderson a;
      double x[SIZE] = {0}, r[SIZE], left = residual(&p, x, r);
      assert_true(anderson_init(&a, n));
      for (int i = 0; i < n; i++) a.weight[i] = draw(&d, 0.5, 2);
      anderson_begin(&a);
      for (int step = 0; step <= n; step++) {
        anderson_step(&a, x, r);
        left = residual(&p, x, r);
      }
      if (!(left < 1e-6)) fail_msg("%d unknowns: %g left after %d steps", n, left, n + 1);
      anderson_destroy(&a);
    }
}

/* All differences are parallel, then zero: the extra ones are left out, and nothing is divided by zero. */
static void test_dependent(void **state) {
  (void)state;
  Problem p = {.size = 3, .b = {1, -2, 3}};
  for (int i = 0; i < 3; i++) p.a[i][i] = 0.1;
  Anderson a;
  double x[SIZE] = {0}, r[SIZE];
  assert_true(anderson_init(&a, 3));
  anderson_begin(&a);
  for (int step = 0; step < 12; step++) {
    double left = residual(&p, x, r);
    if (step >= 2 && !(left < 1e-13)) fail_msg("step %d: %g left", step, left);
    anderson_step(&a, x, r);
  }
  for (int i = 0; i < 3; i++) assert_true(fabs(x[i] - 10 * p.b[i]) < 1e-11);
  anderson_destroy(&a);
}

/* Entries of weight 0 are combined as the others are: what is linear in them stays so. */
static void test_followers(void **state) {
  (void)state;
  Draw d = {5};
  Problem p = random_problem(&d, 3);
  Anderson a;
  double x[4] = {0}, r[4];
  assert_true(anderson_init(&a, 4));
  a.weight[3] = 0;
  anderson_begin(&a);
  for (int step = 0; step < 4; step++) {
    residual(&p, x, r);
    r[3] = 2 * r[0] - 5 * r[1] + r[2];
    anderson_step(&a, x, r);
    assert_true(fabs(x[3] - (2 * x[0] - 5 * x[1] + x[2])) < 1e-9 * (1 + fabs(x[3])));
  }
  assert_true(residual(&p, x, r) < 1e-9);
  anderson_destroy(&a);
}

/* The iteration begins anew: the first step is the plain one, whatever came before. */
static void test_begin(void **state) {
  (void)state;
  Draw d = {7};
  Problem p = random_problem(&d, 4);
  Anderson a;
  double x[SIZE] = {0}, r[SIZE];
  assert_true(anderson_init(&a, 4));
  for (int round = 0; round < 2; round++) {
    anderson_begin(&a);
    for (int i = 0; i < 4; i++) x[i] = 0;
    residual(&p, x, r);
    anderson_step(&a, x, r);
    for (int i = 0; i < 4; i++) assert_true(x[i] == r[i]);
    residual(&p, x, r);
    anderson_step(&a, x, r);
  }
  anderson_destroy(&a);
}

/* The residual of a diagonal problem with factors from 0.05 to 1.95. */
static double spread_residual(const double *x, double *r, int n) {
  double worst = 0;
  for (int i = 0; i < n; i++) r[i] = 1 - (0.05 + 1.9 * i / n) * x[i];
  for (int i = 0; i < n; i++)
    if (fabs(r[i]) > worst) worst = fabs(r[i]);
  return worst;
}

/* More unknowns than stored differences: the oldest are replaced, and the residual still falls. */
static void test_ring(void **state) {
  (void)state;
  enum { MANY = 40 };
  Anderson a;
  double x[MANY] = {0}, r[MANY], left = 1;
  assert_true(anderson_init(&a, MANY));
  anderson_begin(&a);
  for (int step = 0; step < 60; step++) {
    left = spread_residual(x, r, MANY);
    anderson_step(&a, x, r);
  }
  printf("  left after 60 steps: %.2e\n", left);
  assert_true(left < 1e-3);
  anderson_destroy(&a);
}

/* A part of the residual that nothing changes, and rounding errors: they are not extrapolated. */
static void test_noise(void **state) {
  (void)state;
  Draw d = {7};
  Anderson a;
  double x[2] = {0}, worst = 0;
  assert_true(anderson_init(&a, 2));
  anderson_begin(&a);
  for (int step = 0; step < 12; step++) {
    double r[2] = {1 - x[0] + draw(&d, -1e-13, 1e-13), 5e-9 + draw(&d, -1e-13, 1e-13)};
    anderson_step(&a, x, r);
    worst = fmax(worst, fmax(fabs(x[0] - 1), fabs(x[1])));
  }
  if (!(worst < 1e-7)) /* twelve steps of 5e-9 */
    fail_msg("off by %g", worst);
  anderson_destroy(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_linear),    cmocka_unit_test(test_dependent),
                                     cmocka_unit_test(test_followers), cmocka_unit_test(test_begin),
                                     cmocka_unit_test(test_ring),      cmocka_unit_test(test_noise)};
  return cmocka_run_group_tests_name("anderson", tests, NULL, NULL);
}
