/* The constants of the linear solver: how large a factor is predicted to be, and how many conjugate gradients a step
 * takes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "mechanism.h"
#include "softlab.h"

/* The last of five steps of a soft bar, held at one end, under its weight; the conjugate gradients of all of them. */
static AbdStepReport bend_bar(AbdLinear linear, int *gradients) {
  const int cells = 3;
  AbdWorldDef def = world_def(0.01);
  def.solver.threads = 1;
  def.solver.linear = linear;
  Lab lab = lab_open(def);
  SoftMesh mesh = soft_block(4 * cells, cells, cells, vec3(0.4, 0.1, 0.1));
  AbdSoftDef bar = soft_def(&mesh, vec3(0, 0, 0));
  bar.young = 1e5;
  AbdBodyId wall = lab_static(&lab, lab_box(&lab, 0.1, 0.3, 0.3), vec3(-0.25, 0, 0));
  AbdBodyId soft = lab_soft(&lab, &bar);
  for (size_t v = 0; v < (size_t)((cells + 1) * (cells + 1)); v++)
    lab_expect_ok(&lab, abd_soft_attach(lab.world, soft, v, wall));
  *gradients = 0;
  for (int i = 0; i < 5; i++) {
    lab_step(&lab);
    *gradients += lab.report.linear_iterations;
  }
  AbdStepReport r = lab.report;
  soft_mesh_free(&mesh);
  lab_close(&lab);
  return r;
}

/* Nodes joined to blocks let in a quarter of zeros up to four, a twentieth beyond. Fewer zeros mean fewer flops in
 * smaller blocks. */
static void test_factor(void **state) {
  (void)state;
  int gradients;
  AbdStepReport r = bend_bar(ABD_LINEAR_CHOLESKY, &gradients);
  assert_int_equal(gradients, 0);
  lab_expect_near("flops", r.factor_flops, 2.051e6, 0.015 * 2.051e6);
  lab_expect_near("bytes", r.factor_memory, 282024, 0.015 * 282024);
}

/* Conjugate gradients end at 1e-7 of the first residual: Newton then takes the iterations it takes with Cholesky. */
static void test_gradients(void **state) {
  (void)state;
  int gradients;
  AbdStepReport r = bend_bar(ABD_LINEAR_PCG, &gradients);
  assert_int_equal(r.iterations, 2);
  lab_expect_near("conjugate gradients", gradients, 224, 6);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_factor), cmocka_unit_test(test_gradients)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
