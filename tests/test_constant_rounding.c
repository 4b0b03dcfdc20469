/* The constants that bound what rounding adds to the energy. With a tolerance far below the usual one, Newton's last
 * steps gain less than rounding adds. Without the bounds the line search rejects them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "mechanism.h"
#include "softlab.h"

static AbdWorldDef tight_world(double tolerance) {
  AbdWorldDef def = world_def(0.01);
  def.contact.range = 1e-3;
  def.solver.tolerance = tolerance;
  def.solver.threads = 1;
  def.solver.max_iterations = 100;
  return def;
}

/* Returns how often the line search rejected a step. */
static int expect_converged(Lab *lab, int steps, double iterations, double share) {
  int halvings = 0;
  for (int i = 0; i < steps; i++) {
    lab_step(lab);
    halvings += lab->report.line_search_steps;
  }
  printf("  %d halvings\n", halvings);
  lab_expect_near("iterations", (double)lab->iterations, iterations, share * iterations);
  lab_close(lab);
  return halvings;
}

/* A stack of blocks a kilometre from the origin, on which one falls: distances lose their last three digits. */
static void test_contact(void **state) {
  (void)state;
  AbdWorldDef def = tight_world(1e-10);
  def.contact.friction = 0.5;
  Lab lab = lab_open(def);
  lab_ground(&lab, vec3(0, 0, 1));
  AbdMeshId box = lab_box(&lab, 0.1, 0.1, 0.1);
  for (int i = 0; i < 5; i++) {
    AbdBodyDef b = lab_at(box, vec3(1000, 0.01 * i, 0.05095 + 0.10095 * i + (i == 4 ? 0.05 : 0)));
    b.stiffness = 1e8;
    if (i == 4) lab_turn(&b, vec3(1, 2, 3), 0.5);
    lab_body_def(&lab, &b);
  }
  expect_converged(&lab, 60, 386, 0.1);
}

/* Boxes that spin by implicit Euler: what is left of the energy of inertia and elasticity. */
static void test_body(void **state) {
  (void)state;
  AbdWorldDef def = tight_world(1e-11);
  def.integrator = ABD_INTEGRATOR_EULER;
  Lab lab = lab_open(def);
  AbdMeshId box = lab_box(&lab, 0.1, 0.03, 0.03);
  for (int i = 0; i < 6; i++) {
    AbdBodyDef b = lab_at(box, vec3(0.2 * i, 0, 0));
    b.stiffness = 1e7;
    vec3_to(b.angular_velocity, vec3(1, 2, 3 * i));
    lab_body_def(&lab, &b);
  }
  expect_converged(&lab, 100, 498, 0.05);
}

/* A rod's equation is no linear one. */
static void test_joint(void **state) {
  (void)state;
  AbdWorldDef def = tight_world(1e-10);
  def.integrator = ABD_INTEGRATOR_EULER; /* a flight would need no iterations */
  Lab lab = lab_open(def);
  AbdBodyId bar = lab_body(&lab, lab_box(&lab, 1, 0.1, 0.1), vec3(0, 0, 0), vec3(0, 0, 0));
  AbdJointDef joint = joint_def(ABD_JOINT_DISTANCE, bar, world_body, vec3(0.5, 0, 0), y_axis);
  vec3_to(joint.point_b, vec3(1, 0, 0.2));
  lab_joint(&lab, &joint);
  expect_converged(&lab, 100, 525, 0.08);
}

/* A soft block that falls and swings; returns the halvings. */
static int swing_block(double young, double tolerance, double iterations) {
  Lab lab = lab_open(tight_world(tolerance));
  SoftMesh mesh = soft_block(2, 2, 2, vec3(0.1, 0.1, 0.1));
  AbdSoftDef def = soft_def(&mesh, vec3(10, 0, 0));
  def.young = young;
  vec3_to(def.angular_velocity, vec3(3, 2, 1));
  lab_soft(&lab, &def);
  soft_mesh_free(&mesh);
  return expect_converged(&lab, 50, iterations, 0.15);
}

/* The bound on the rounding of a soft block's energy lets every last step pass. Some steps of a stiffer block are
 * rejected: the bound is not much larger than it need be. */
static void test_soft(void **state) {
  (void)state;
  assert_int_equal(swing_block(1e4, 3e-12, 152), 0);
  int halvings = swing_block(3e5, 1e-11, 159);
  assert_true(halvings > 0 || getenv("ABD_TEST_SHORT")); /* an unoptimised build rounds otherwise */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_contact), cmocka_unit_test(test_body),
                                     cmocka_unit_test(test_joint), cmocka_unit_test(test_soft)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
