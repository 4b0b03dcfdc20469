/* A grip lifts a soft body by its top and releases it; attached vertices are not gripped. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "softlab.h"
#include "grip.h"

static void test_lift(void **state) {
  (void)state;
  Lab lab = lab_open(abd_default_world_def());
  SoftMesh mesh = soft_block(2, 2, 2, vec3(0.2, 0.2, 0.2));
  AbdSoftDef def = soft_def(&mesh, vec3(0, 0, 0));
  def.young = 5e5, def.damping = 0.02;
  AbdBodyId soft = lab_soft(&lab, &def);
  Grip grip = {0};
  assert_true(grip_take(&grip, lab.world, soft, (double[3]){0, 0, 0.1}));
  assert_int_equal(grip.count, 6);
  for (size_t i = 0; i < grip.count; i++) assert_true(mesh.vertex[3 * grip.vertex[i] + 2] > -0.01);
  for (int i = 0; i < 200; i++) {
    grip_pull(&grip, lab.world, (double[3]){0.3, 0, 0.4});
    lab_step(&lab);
  }
  Vec3 held = lab_middle(&lab, soft);
  printf("  held at %g %g %g\n", held.x, held.y, held.z);
  if (!(fabs(held.x - 0.3) < 0.05 && held.z > 0.1 && held.z < 0.35))
    fail_msg("held at %g %g %g", held.x, held.y, held.z);
  grip_release(&grip, lab.world);
  assert_true(grip.count == 0 && !grip.vertex);
  for (int i = 0; i < 50; i++) lab_step(&lab);
  lab_expect_near("fallen in half a second", held.z - lab_middle(&lab, soft).z, 0.5 * 9.81 * 0.25, 0.05);
  assert_false(grip_take(&grip, lab.world, (AbdBodyId){7}, (double[3]){0}));
  soft_mesh_free(&mesh);
  lab_close(&lab);
}

static void test_attached_is_not_held(void **state) {
  (void)state;
  Lab lab = lab_open(abd_default_world_def());
  SoftMesh mesh = soft_block(1, 1, 1, vec3(0.2, 0.2, 0.2));
  AbdSoftDef def = soft_def(&mesh, vec3(0, 0, 0));
  AbdBodyId soft = lab_soft(&lab, &def);
  for (size_t v = 0; v < 7; v++) lab_expect_ok(&lab, abd_soft_attach(lab.world, soft, v, (AbdBodyId){0}));
  Grip grip = {0};
  assert_true(grip_take(&grip, lab.world, soft, (double[3]){-0.1, -0.1, -0.1}));
  assert_int_equal(grip.count, 1);
  assert_int_equal(grip.vertex[0], 7);
  grip_release(&grip, lab.world);
  soft_mesh_free(&mesh);
  lab_close(&lab);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_lift), cmocka_unit_test(test_attached_is_not_held)};
  return cmocka_run_group_tests_name("grip", tests, NULL, NULL);
}
