/* Linear systems of worlds with soft bodies: stiff and soft parts in one matrix, Cholesky and conjugate gradients, and
 * their fields in reports. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "softscene.h"

/* What is left of a run. */
typedef struct Outcome {
  Vec3 body, tip;
  AbdStepReport last;
  int linear_iterations, iterations;
} Outcome;

/* A stiff box with a soft block on its back drops on the ground. stiffness: of the box [Pa]. */
static Outcome drop(double stiffness, double young, AbdLinear linear, double memory) {
  AbdWorldDef def = world_def(0.01, 9.81);
  def.solver.linear = linear;
  def.solver.memory = memory;
  def.solver.tolerance = 1e-6;
  Lab lab = lab_open(def);
  lab_ground(&lab, vec3(0, 0, 1));
  AbdBodyDef box = lab_at(lab_box(&lab, 0.2, 0.2, 0.1), vec3(0, 0, 0.055));
  box.stiffness = stiffness;
  AbdBodyId body = lab_body_def(&lab, &box);
  const int n[3] = {3, 3, 4};
  SoftMesh mesh = soft_block(n[0], n[1], n[2], vec3(0.15, 0.15, 0.2));
  AbdSoftDef soft = soft_def(&mesh, vec3(0, 0, 0.055 + 0.05 + 0.1));
  soft.young = young;
  AbdBodyId block = lab_soft(&lab, &soft);
  for (int i = 0; i <= n[0]; i++)
    for (int j = 0; j <= n[1]; j++)
      lab_expect_ok(&lab, abd_soft_attach(lab.world, block, block_vertex(n, i, j, 0), body));
  Outcome out = {0};
  for (int k = 0; k < 25; k++) {
    lab_step(&lab);
    out.linear_iterations += lab.report.linear_iterations;
    out.iterations += lab.report.iterations;
  }
  lab_expect_no_crossing(&lab);
  out.body = lab_position(&lab, body);
  out.tip = lab_vertex(&lab, block, block_vertex(n, 0, 1, n[2]));
  out.last = lab.report;
  soft_mesh_free(&mesh);
  lab_close(&lab);
  return out;
}

static void expect_same(const char *what, const Outcome *a, const Outcome *b, double tolerance) {
  double off = most(norm(sub(a->body, b->body)), norm(sub(a->tip, b->tip)));
  if (!(off < tolerance)) fail_msg("%s: %g m apart, %g allowed", what, off, tolerance);
}

/* Seven decades of stiffness in one matrix: every step converges, in as many iterations as with a hundred times
 * less, to the same motion. */
static void test_stiff_body_on_soft_part(void **state) {
  (void)state;
  Outcome mild = drop(1e9, 1e4, ABD_LINEAR_AUTO, 0), hard = drop(1e11, 1e4, ABD_LINEAR_AUTO, 0);
  printf("  1e9 Pa: %d iterations, 1e11 Pa: %d\n", mild.iterations, hard.iterations);
  expect_same("1e11 Pa and 1e9 Pa", &hard, &mild, 1e-4);
  if (hard.iterations > 2 * mild.iterations + 10)
    fail_msg("%d iterations, %d with 1e9 Pa", hard.iterations, mild.iterations);
}

static void test_conjugate_gradients_do_the_same(void **state) {
  (void)state;
  Outcome direct = drop(1e9, 1e5, ABD_LINEAR_CHOLESKY, 1), other = drop(1e9, 1e5, ABD_LINEAR_PCG, 0);
  printf("  %d and %d Newton iterations; conjugate gradients: %d\n", direct.iterations, other.iterations,
         other.linear_iterations);
  expect_same("Cholesky and PCG", &direct, &other, 1e-5);
  assert_int_equal(direct.linear_iterations, 0);
  assert_true(other.linear_iterations > other.iterations);
  assert_true(direct.last.factor_memory > 1e4 && direct.last.factor_flops > 1e4);
}

/* By predicted memory, and the same motion bit for bit as when asked for by name. */
static void test_memory_decides(void **state) {
  (void)state;
  Outcome fits = drop(1e8, 1e5, ABD_LINEAR_AUTO, 1e9), small = drop(1e8, 1e5, ABD_LINEAR_AUTO, 1e3),
          asked = drop(1e8, 1e5, ABD_LINEAR_PCG, 1e9);
  assert_int_equal(fits.linear_iterations, 0);
  assert_true(small.linear_iterations > 0);
  assert_int_equal(small.linear_iterations, asked.linear_iterations);
  assert_memory_equal(&small.tip, &asked.tip, sizeof small.tip);
}

static void test_bad_settings(void **state) {
  (void)state;
  AbdError error;
  AbdWorldDef def = abd_default_world_def();
  def.solver.memory = -1;
  assert_null(abd_world_create(&def, &error));
  if (!strstr(error.text, "solver.memory is -1")) fail_msg("'%s'", error.text);
  def.solver.memory = NAN;
  assert_null(abd_world_create(&def, &error));
  assert_string_equal(abd_linear_name(ABD_LINEAR_PCG), "pcg");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_stiff_body_on_soft_part),
                                     cmocka_unit_test(test_conjugate_gradients_do_the_same),
                                     cmocka_unit_test(test_memory_decides), cmocka_unit_test(test_bad_settings)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
