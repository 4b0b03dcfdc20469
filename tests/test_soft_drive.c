/* External motion of soft bodies: forces on the body and on vertices; scripted vertices that follow their targets,
 * cross nothing and are blocked by obstacles. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "softlab.h"

static Lab empty_space(double dt) {
  AbdWorldDef def = abd_default_world_def();
  def.dt = dt;
  def.gravity[2] = 0;
  return lab_open(def);
}

/* A force on the whole accelerates it without any strain; one set later takes the place of the def's. */
static void test_body_force(void **state) {
  (void)state;
  Lab lab = empty_space(0.01);
  SoftMesh mesh = soft_block(2, 2, 2, vec3(0.2, 0.2, 0.2));
  AbdSoftDef def = soft_def(&mesh, vec3(0, 0, 0));
  vec3_to(def.force, vec3(0, 0, 16));
  AbdBodyId soft = lab_soft(&lab, &def);
  const double mass = lab_soft_view(&lab, soft).mass, push[3] = {8, 0, 0}, none[3] = {0, 0, 0}, turn[3] = {0, 0, 1};
  lab_expect_near("mass", mass, 8, 1e-12);
  lab_steps(&lab, 100);
  lab_expect_near("way under a constant force", lab_middle(&lab, soft).z, 0.5 * 16 / mass, 1e-3);
  lab_expect_below("energy of strain", lab.report.energy[ABD_TERM_SOFT], 1e-10);
  lab_expect_ok(&lab, abd_body_set_force(lab.world, soft, push, none));
  lab_steps(&lab, 100);
  lab_expect_near("way across", lab_middle(&lab, soft).x, 0.5 * 8 / mass, 0.01);
  lab_expect_near("way along", lab_middle(&lab, soft).z, 0.5 * 16 / mass + 16 / mass, 0.01);
  assert_int_equal(abd_body_set_force(lab.world, soft, push, turn), ABD_ERROR_ARGUMENT);
  soft_mesh_free(&mesh);
  lab_close(&lab);
}

/* A bar of Poisson's ratio 0, pulled at its end: F L / (E A). */
static void test_pulled_bar(void **state) {
  (void)state;
  const double young = 1e6, force = 2, length = 1, width = 0.1;
  AbdWorldDef world = abd_default_world_def();
  world.dt = 10;
  world.integrator = ABD_INTEGRATOR_EULER;
  world.gravity[2] = 0;
  world.solver.tolerance = 1e-12;
  Lab lab = lab_open(world);
  SoftMesh mesh = soft_block(10, 1, 1, vec3(length, width, width));
  AbdSoftDef def = soft_def(&mesh, vec3(0, 0, 0));
  def.young = young, def.poisson = 0;
  AbdBodyId soft = lab_soft(&lab, &def);
  for (size_t v = 0; v < 4; v++) lab_expect_ok(&lab, abd_soft_attach(lab.world, soft, v, (AbdBodyId){0}));
  for (size_t v = 40; v < 44; v++)
    lab_expect_ok(&lab, abd_soft_set_force(lab.world, soft, v, (double[3]){force / 4, 0, 0}));
  lab_steps(&lab, 4);
  double longer = 0;
  for (size_t v = 40; v < 44; v++) longer += 0.25 * (lab_vertex(&lab, soft, v).x - 0.5 * length);
  double expected = force * length / (young * width * width);
  lab_expect_near("elongation", longer, expected, 0.02 * expected);
  soft_mesh_free(&mesh);
  lab_close(&lab);
}

/* One end held, the other brought away by targets, then by a velocity. */
static void test_scripted(void **state) {
  (void)state;
  Lab lab = empty_space(0.01);
  SoftMesh mesh = soft_block(4, 1, 1, vec3(0.4, 0.1, 0.1));
  AbdSoftDef def = soft_def(&mesh, vec3(0, 0, 0));
  def.young = 1e7;
  AbdBodyId soft = lab_soft(&lab, &def);
  for (size_t v = 0; v < 4; v++) lab_expect_ok(&lab, abd_soft_attach(lab.world, soft, v, (AbdBodyId){0}));
  for (size_t v = 16; v < 20; v++) lab_expect_ok(&lab, abd_soft_script(lab.world, soft, v));
  assert_int_equal(abd_soft_script(lab.world, soft, 16), ABD_ERROR_ARGUMENT);
  assert_int_equal(abd_soft_attach(lab.world, soft, 17, (AbdBodyId){0}), ABD_ERROR_ARGUMENT);
  assert_true(abd_soft_scripted(lab.world, soft, 19) && !abd_soft_scripted(lab.world, soft, 15));
  assert_int_equal(abd_soft_attached(lab.world, soft, 16), -1);
  assert_int_equal(abd_soft_set_target(lab.world, soft, 0, (double[3]){0, 0, 0}), ABD_ERROR_ARGUMENT);
  Vec3 start[4];
  for (size_t k = 0; k < 4; k++) start[k] = lab_vertex(&lab, soft, 16 + k);
  double worst = 0;
  for (int step = 1; step <= 20; step++) {
    Vec3 move = vec3(0.002 * step, 0, 0.001 * step);
    for (size_t k = 0; k < 4; k++) {
      double at[3];
      vec3_to(at, add(start[k], move));
      lab_expect_ok(&lab, abd_soft_set_target(lab.world, soft, 16 + k, at));
    }
    lab_step(&lab);
    worst = fmax(worst, lab.report.target_error);
  }
  lab_expect_below("target error [m]", worst, 1e-5);
  for (size_t k = 0; k < 4; k++)
    lab_expect_ok(&lab, abd_soft_set_velocity(lab.world, soft, 16 + k, (double[3]){0, 0.3, 0}));
  lab_steps(&lab, 20);
  Vec3 way = sub(lab_vertex(&lab, soft, 17), start[1]);
  lab_expect_near("x", way.x, 0.04, 5e-4);
  lab_expect_near("y", way.y, 0.06, 5e-4);
  lab_expect_near("z", way.z, 0.02, 5e-4);
  soft_mesh_free(&mesh);
  lab_close(&lab);
}

/* A sheet lowered by its corners onto the ground and on: it stops above it, and the report says so. */
static void test_blocked(void **state) {
  (void)state;
  AbdWorldDef world = abd_default_world_def();
  world.contact.range = 1e-3;
  Lab lab = lab_open(world);
  lab_ground(&lab, vec3(0, 0, 1));
  SoftMesh mesh = soft_sheet(4, 4, 0.4, 0.4);
  AbdSoftDef def = soft_def(&mesh, vec3(0, 0, 0.02));
  AbdBodyId soft = lab_soft(&lab, &def);
  const size_t corner[4] = {0, 4, 20, 24};
  for (int k = 0; k < 4; k++) lab_expect_ok(&lab, abd_soft_script(lab.world, soft, corner[k]));
  for (int k = 0; k < 4; k++)
    lab_expect_ok(&lab, abd_soft_set_velocity(lab.world, soft, corner[k], (double[3]){0, 0, -0.5}));
  int blocked = 0;
  for (int step = 0; step < 20; step++) {
    lab_expect_ok(&lab, abd_world_step(lab.world, &lab.report));
    assert_true(lab.report.outcome == ABD_CONVERGED || lab.report.outcome == ABD_KINEMATIC_BLOCKED);
    blocked += lab.report.outcome == ABD_KINEMATIC_BLOCKED;
    if (blocked) assert_int_equal(lab.report.culprit[0].id, soft.id);
    lab_expect_no_crossing(&lab);
  }
  Vec3 at = lab_vertex(&lab, soft, 0);
  if (!(blocked > 10 && at.z > 0 && at.z < 1e-3)) fail_msg("blocked in %d steps, corner at %g", blocked, at.z);
  soft_mesh_free(&mesh);
  lab_close(&lab);
}

/* A plate welded to the world bears a soft block that lies on it and one that hangs from it: the weld feels the
 * weight of all, and where it acts. */
static void test_joint_bears_soft(void **state) {
  (void)state;
  AbdWorldDef world = abd_default_world_def();
  world.integrator = ABD_INTEGRATOR_EULER; /* comes to rest soonest */
  Lab lab = lab_open(world);
  SoftMesh mesh = soft_block(2, 2, 2, vec3(0.2, 0.2, 0.2));
  AbdBodyId plate = lab_body(&lab, lab_box(&lab, 1, 1, 0.1), vec3(0, 0, 0), vec3(0, 0, 0));
  AbdSoftDef def = soft_def(&mesh, vec3(0.3, 0, 0.151));
  def.damping = 0.05;
  AbdBodyId lies = lab_soft(&lab, &def);
  vec3_to(def.position, vec3(0.3, 0, -0.15));
  AbdBodyId hangs = lab_soft(&lab, &def);
  for (size_t v = 0; v < mesh.vertex_count; v++)
    if (mesh.vertex[3 * v + 2] > 0.09) lab_expect_ok(&lab, abd_soft_attach(lab.world, hangs, v, plate));
  AbdJointDef joint = abd_default_joint_def();
  AbdJointId weld;
  joint.kind = ABD_JOINT_WELD;
  joint.body_a = plate;
  lab_expect_ok(&lab, abd_world_add_joint(lab.world, &joint, &weld));
  lab_run(&lab, 1.5);
  AbdJointReading reading;
  lab_expect_ok(&lab, abd_joint_reading(lab.world, weld, &reading));
  double soft = 9.81 * (lab_soft_view(&lab, lies).mass + lab_soft_view(&lab, hangs).mass),
         all = soft + 9.81 * lab_view(&lab, plate).mass;
  lab_expect_near("force in the weld [N]", reading.force[2], all, 0.01 * soft);
  lab_expect_near("torque in the weld [N m]", reading.torque[1], -0.3 * soft, 0.02 * soft);
  soft_mesh_free(&mesh);
  lab_close(&lab);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_body_force), cmocka_unit_test(test_pulled_bar),
                                     cmocka_unit_test(test_scripted), cmocka_unit_test(test_blocked),
                                     cmocka_unit_test(test_joint_bears_soft)};
  return cmocka_run_group_tests_name("soft_drive", tests, NULL, NULL);
}
