/* The choice of the machine that steps a world. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lab.h"

static Lab open_box(AbdDevice device) {
  AbdWorldDef def = abd_default_world_def();
  def.solver.device = device;
  Lab lab = lab_open(def);
  lab_ground(&lab, vec3(0, 0, 1));
  lab_body(&lab, lab_box(&lab, 0.1, 0.1, 0.1), vec3(0, 0, 0.1), vec3(0, 0, 0));
  return lab;
}

static void test_cpu(void **state) {
  (void)state;
  Lab lab = open_box(ABD_DEVICE_CPU);
  assert_string_equal(abd_world_device(lab.world), "");
  lab_step(&lab);
  assert_string_equal(abd_world_device(lab.world), "cpu");
  lab_close(&lab);
}

/* A small world is stepped by the CPU, whatever the machine has. */
static void test_auto(void **state) {
  (void)state;
  Lab lab = open_box(ABD_DEVICE_AUTO);
  lab_step(&lab);
  assert_string_equal(abd_world_device(lab.world), "cpu");
  lab_close(&lab);
}

/* A GPU that is asked for is used, or a sentence says why not. */
static void test_cuda(void **state) {
  (void)state;
  Lab lab = open_box(ABD_DEVICE_CUDA);
  AbdStatus status = abd_world_start(lab.world);
  if (abd_cuda_missing()) {
    assert_int_equal(status, ABD_ERROR_ARGUMENT);
    assert_non_null(strstr(abd_world_error(lab.world), "solver.device is \"cuda\", but "));
    assert_non_null(strstr(abd_world_error(lab.world), abd_cuda_missing()));
  } else {
    lab_expect_ok(&lab, status);
    assert_ptr_equal(strstr(abd_world_device(lab.world), "cuda: "), abd_world_device(lab.world));
    lab_steps(&lab, 30);
  }
  lab_close(&lab);
}

/* A snapshot of a world of the GPU can be restored without one. The next step says so, until another device is
 * chosen. */
static void test_restore_without_gpu(void **state) {
  (void)state;
  if (!abd_cuda_missing()) skip();
  Lab from = open_box(ABD_DEVICE_CPU), to = open_box(ABD_DEVICE_CUDA);
  lab_steps(&from, 3);
  lab_copy_state(&to, &from);
  assert_string_equal(abd_world_device(to.world), "");
  assert_int_equal(abd_world_step(to.world, NULL), ABD_ERROR_ARGUMENT);
  assert_non_null(strstr(abd_world_error(to.world), abd_cuda_missing()));
  lab_expect_ok(&to, abd_world_set_device(to.world, ABD_DEVICE_CPU));
  assert_string_equal(abd_world_device(to.world), "cpu");
  lab_steps(&to, 2);
  lab_steps(&from, 2);
  assert_true(abd_world_hash(from.world) == abd_world_hash(to.world));
  lab_close(&from);
  lab_close(&to);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_cpu), cmocka_unit_test(test_auto),
                                     cmocka_unit_test(test_cuda), cmocka_unit_test(test_restore_without_gpu)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
