/* The constants that decide how far ahead pairs of bodies are looked at, by the counts of single steps. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "mechanism.h"
#include "softlab.h"

static const Vec3 zero = {0, 0, 0};
static const double range = 1e-3, dt = 0.01;

static AbdWorldDef path_world(void) {
  AbdWorldDef def = world_def(dt);
  def.contact.range = range;
  def.solver.threads = 1;
  def.solver.substeps = ABD_SUBSTEPS_OFF; /* long steps are what is counted */
  vec3_to(def.gravity, zero);
  return def;
}

/* A box flies past a wall by a step of 0.2 m. The broad phase pads its box by the range and a tenth of the motion,
 * that of the wall by the range. */
static int64_t pairs_past_wall(double gap) {
  const double speed = 20;
  Lab lab = lab_open(path_world());
  AbdMeshId box = lab_box(&lab, 0.1, 0.1, 0.1);
  lab_static(&lab, box, zero);
  lab_body(&lab, box, vec3(-0.1, 0.1 + gap, 0), vec3(speed, 0, 0));
  lab_steps(&lab, 1);
  int64_t pairs = lab.report.body_pairs;
  lab_close(&lab);
  return pairs;
}

static void test_reach(void **state) {
  (void)state;
  assert_int_equal(pairs_past_wall(0.1 * 0.2 + 1.9 * range), 1);
  assert_int_equal(pairs_past_wall(0.1 * 0.2 + 2.1 * range), 0);
}

/* The first step of a ball that meets another one after a part of its way. The other one stays in place and may
 * turn. */
static AbdStepReport shoot(double speed, double part, double spin) {
  Lab lab = lab_open(path_world());
  MeshData mesh = {0};
  assert_true(shape_sphere(0.1, 3, &mesh));
  AbdMeshId ball = lab_mesh(&lab, &mesh, 0, false);
  AbdBodyDef target = lab_at(ball, zero);
  vec3_to(target.angular_velocity, vec3(0, 0, spin));
  lab_body_def(&lab, &target);
  lab_body(&lab, ball, vec3(-0.2 - part * speed * dt, 0.01, 0.02), vec3(speed, 0, 0));
  lab_steps(&lab, 1);
  AbdStepReport r = lab.report;
  lab_close(&lab);
  return r;
}

/* A step that is longer than the lists reach is swept in windows, the first of which is a tenth of it and each next
 * one three times longer; one that is shorter than a fifth of the smaller body in one go. A body that turns by more
 * than 0.4 in a window has shorter ones. Motions of less than eight ranges get a list. */
static void test_windows(void **state) {
  (void)state;
  const struct {
    double speed, part, spin, boxes, ccd, candidates;
  } shot[] = {
      {100, 0.05, 0, 133982, 43528, 1500}, {100, 0.6, 0, 443323, 58365, 8468}, {10, 0.5, 30, 101421, 29718, 3103}};
  for (int i = 0; i < 3; i++) {
    AbdStepReport r = shoot(shot[i].speed, shot[i].part, shot[i].spin);
    lab_expect_near("box tests", (double)r.box_tests, shot[i].boxes, 0.06 * shot[i].boxes);
    lab_expect_near("continuous tests", (double)r.ccd_calls, shot[i].ccd, 0.06 * shot[i].ccd);
    lab_expect_near("candidates", (double)r.candidates, shot[i].candidates, 0.06 * shot[i].candidates);
  }
}

/* Two balls in contact turn about each other as one. The planes of their candidates turn with them and spare the
 * continuous tests. */
static int64_t ccd_of_waltz(double turn) {
  const double spin = turn / dt / sqrt(2), radius = 0.1 + 0.4 * range;
  Lab lab = lab_open(path_world());
  MeshData mesh = {0};
  assert_true(shape_sphere(0.1, 3, &mesh));
  AbdMeshId ball = lab_mesh(&lab, &mesh, 0, false);
  for (int i = 0; i < 2; i++) {
    double side = i ? 1 : -1;
    AbdBodyDef def = lab_at(ball, vec3(side * radius, 0, 0));
    vec3_to(def.angular_velocity, vec3(0, 0, spin));
    vec3_to(def.velocity, vec3(0, side * spin * radius, 0));
    lab_body_def(&lab, &def);
  }
  lab_steps(&lab, 1);
  int64_t count = lab.report.ccd_calls;
  lab_close(&lab);
  return count;
}

static void test_waltz(void **state) {
  (void)state;
  assert_int_equal(ccd_of_waltz(0.25), 0);
}

/* How many contacts a cube has that lies a gap above the ground; large: a second body of 1 m, far away. */
static int64_t contacts_above(double edge, double gap, bool large) {
  AbdWorldDef def = path_world();
  def.contact.range = 0;
  Lab lab = lab_open(def);
  lab_ground(&lab, vec3(0, 0, 1));
  if (large) lab_body(&lab, lab_box(&lab, 1, 1, 1), vec3(10, 0, 1), zero);
  lab_body(&lab, lab_box(&lab, edge, edge, edge), vec3(0, 0, 0.5 * edge + gap), zero);
  lab_step(&lab);
  int64_t contacts = lab.report.contacts;
  lab_close(&lab);
  return contacts;
}

/* The automatic range is a thousandth of a body's diagonal. */
static void test_automatic_range(void **state) {
  (void)state;
  assert_int_equal(contacts_above(0.1, 0.999e-4 * sqrt(3), false), 4);
  assert_int_equal(contacts_above(0.1, 1.001e-4 * sqrt(3), false), 0);
}

/* It is a tenth of the diagonal of the smallest body if that is less. */
static void test_range_of_smallest(void **state) {
  (void)state;
  assert_int_equal(contacts_above(1e-3, 0.999e-4 * sqrt(3), true), 4);
  assert_int_equal(contacts_above(1e-3, 1.001e-4 * sqrt(3), true), 0);
}

/* A scripted wall meets a block at rest. It is drawn to its target as by ten thousand times the block's mass, so that
 * it stays behind by about a ten thousandth of its way. */
static void test_scripted_wall(void **state) {
  (void)state;
  const double speed = 1;
  Lab lab = lab_open(path_world());
  AbdMeshId box = lab_box(&lab, 0.1, 0.1, 0.1);
  lab_body(&lab, box, vec3(0.1 + 0.9 * range, 0, 0), zero);
  AbdBodyDef wall = lab_at(box, zero);
  wall.motion = ABD_MOTION_KINEMATIC;
  vec3_to(wall.velocity, vec3(speed, 0, 0));
  lab_body_def(&lab, &wall);
  lab_step(&lab);
  lab_expect_near("ten thousandths of the way missed", 1e4 * lab.report.target_error / (speed * dt), 0.994, 0.1);
  lab_close(&lab);
}

/* A soft block thrown at the ground. A step leaves each tet a tenth of its volume. */
static void test_squashed(void **state) {
  (void)state;
  Lab lab = lab_open(path_world());
  lab_ground(&lab, vec3(0, 0, 1));
  SoftMesh mesh = soft_block(2, 2, 2, vec3(0.1, 0.1, 0.1));
  AbdSoftDef def = soft_def(&mesh, vec3(0, 0, 0.06));
  def.young = 1e4;
  vec3_to(def.velocity, vec3(1, 0, -10));
  lab_soft(&lab, &def);
  for (int k = 0; k < 10; k++) lab_step(&lab);
  lab_expect_near("iterations", (double)lab.iterations, 45, 3);
  soft_mesh_free(&mesh);
  lab_close(&lab);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_reach),
                                     cmocka_unit_test(test_windows),
                                     cmocka_unit_test(test_scripted_wall),
                                     cmocka_unit_test(test_squashed),
                                     cmocka_unit_test(test_waltz),
                                     cmocka_unit_test(test_automatic_range),
                                     cmocka_unit_test(test_range_of_smallest)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
