/* Soft bodies at the sizes of the documented claims: a beam's first frequency within 3 % of theory, mats of one and of
 * ten thousand triangles twisted four turns.
 * Labels: long */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "softscene.h"

static void test_bending_frequency(void **state) {
  (void)state;
  check_beam_frequency(16, 0.03);
}

static void test_twisted_small_mat(void **state) {
  (void)state;
  twist(32, 4, 2, 200);
}

static void test_twisted_mat(void **state) {
  (void)state;
  twist(100, 4, 2, 200);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bending_frequency), cmocka_unit_test(test_twisted_small_mat),
                                     cmocka_unit_test(test_twisted_mat)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
