/* The robots of the fixtures: each loads, stands or hangs for 2 s with its drives at rest, all steps converge, nothing
 * crosses. Gears and closed loops hold. The hanging arm of Kinova swings as in MuJoCo.
 * Labels: slow */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scene/scene_def.h"

#define ROBOTS ABD_SHARED "/fixtures/robots/"

static bool absent(void) {
  if (access(ROBOTS "mjcf/kinova_gen3/gen3.xml", R_OK) == 0) return false;
  print_message("skipped: no robots in " ROBOTS "\n");
  return true;
}

static Scene *load(const char *file, const SceneOptions *options) {
  char path[500];
  const char *name = path;
  SceneError error = {""};
  snprintf(path, sizeof path, "%s%s", ROBOTS, file);
  Scene *scene = scene_load(&name, 1, options, &error);
  if (!scene) fail_msg("%s", error.text);
  return scene;
}

static AbdWorld *build(const Scene *scene) {
  SceneError error = {""};
  AbdWorld *world = scene_build(scene, 0, &error);
  if (!world) fail_msg("%s", error.text);
  if (abd_world_start(world) != ABD_OK) fail_msg("%s", abd_world_error(world));
  return world;
}

static void step(const char *file, AbdWorld *world, int count) {
  AbdStepReport report;
  for (int k = 0; k < count; k++) {
    if (abd_world_step(world, &report) != ABD_OK) fail_msg("%s: %s", file, abd_world_error(world));
    if (report.outcome != ABD_CONVERGED)
      fail_msg("%s: step %d ended as %s", file, k + 1, abd_outcome_name(report.outcome));
  }
}

static void nothing_crosses(const char *file, const AbdWorld *world) {
  size_t n = abd_world_body_count(world);
  double *nodes = calloc(12 * n, sizeof *nodes);
  AbdCrossing crossing;
  for (size_t i = 0; i < n; i++) abd_body_nodes(world, (AbdBodyId){(uint32_t)i + 1}, nodes + 12 * i);
  if (abd_world_find_crossings(world, nodes, &crossing, 1) != 0) fail_msg("%s: two links cross", file);
  free(nodes);
}

static AbdJointReading read_joint(const Scene *scene, const AbdWorld *world, const char *name) {
  AbdJointReading reading = {0};
  for (size_t i = 0; i < scene->joint_count; i++)
    if (strcmp(scene->joint[i].name, name) == 0) {
      assert_int_equal(abd_joint_reading(world, (AbdJointId){(uint32_t)i + 1}, &reading), ABD_OK);
      return reading;
    }
  fail_msg("no joint %s", name);
  return reading;
}

/* The largest gap that a joint leaves open. */
static double worst_gap(const Scene *scene, const AbdWorld *world) {
  double worst = 0;
  for (size_t i = 0; i < scene->joint_count; i++)
    worst = fmax(worst, read_joint(scene, world, scene->joint[i].name).residual);
  return worst;
}

typedef struct Robot {
  const char *file, *keyframe, *base;
  bool hold;
  double fall; /* [m] how far the highest body may sink */
} Robot;

static void test_robots_stand(void **state) {
  static const Robot robot[] = {
      {"mjcf/kinova_gen3/scene.xml", "home", NULL, false, 0.05},
      {"mjcf/robotiq_2f85/2f85.xml", NULL, NULL, false, 0.01},
      {"mjcf/shadow_hand/left_hand.xml", NULL, NULL, false, 0.05},
      {"mjcf/shadow_hand/right_hand.xml", NULL, NULL, false, 0.05},
      {"mjcf/wonik_allegro/left_hand.xml", NULL, NULL, false, 0.05},
      {"mjcf/trs_so_arm100/scene.xml", "home", NULL, false, 0.05},
      {"mjcf/agility_cassie/scene.xml", "home", NULL, true, 0.1},
      {"urdf/panda_description/urdf/panda.urdf", NULL, NULL, true, 0.05},
      {"urdf/double_pendulum_description/urdf/double_pendulum.urdf", NULL, NULL, true, 0.05},
      {"urdf/finger_edu_description/robots/finger_edu.urdf", NULL, NULL, true, 0.05},
      {"urdf/solo_description/robots/solo12.urdf", NULL, "free", true, 0.1},
      {"urdf/hyq_description/robots/hyq_no_sensors.urdf", NULL, "free", true, 0.1},
      {"urdf/go2_description/urdf/go2.urdf", NULL, "free", true, 0.2},
  };
  (void)state;
  if (absent()) return;
  int steps = getenv("ABD_TEST_SHORT") ? 20 : 400;
  for (size_t k = 0; k < sizeof robot / sizeof *robot; k++) {
    static const char *const set[] = {"dt=0.005"};
    SceneOptions options = {
        .keyframe = robot[k].keyframe, .base = robot[k].base, .hold = robot[k].hold, .set = set, .set_count = 1};
    Scene *scene = load(robot[k].file, &options);
    AbdWorld *world = build(scene);
    double top[2] = {-INFINITY, -INFINITY}, nodes[12];
    for (int after = 0; after < 2; after++) {
      for (size_t i = 0; i < scene->body_count; i++)
        if (abd_body_nodes(world, (AbdBodyId){(uint32_t)i + 1}, nodes) == ABD_OK)
          top[after] = fmax(top[after], nodes[2]);
      if (!after) step(robot[k].file, world, steps);
    }
    nothing_crosses(robot[k].file, world);
    printf("  %s: %zu bodies, %zu joints, sinks by %.4f m, joints open by %.1e m\n", strrchr(robot[k].file, '/') + 1,
           scene->body_count, scene->joint_count, top[0] - top[1], worst_gap(scene, world));
    assert_true(top[0] - top[1] < robot[k].fall);
    abd_world_destroy(world);
    scene_destroy(scene);
  }
}

/* The gripper closes: both drivers turn alike, and the loops of its fingers hold. */
static void test_gripper_loops(void **state) {
  (void)state;
  static const char *const set[] = {"dt=0.005"};
  if (absent()) return;
  Scene *scene = load("mjcf/robotiq_2f85/2f85.xml", &(SceneOptions){.set = set, .set_count = 1});
  AbdWorld *world = build(scene);
  AbdDrive drive = {0};
  AbdJointId split = {0};
  for (size_t i = 0; i < scene->joint_count; i++)
    if (strcmp(scene->joint[i].name, "split") == 0) split.id = (uint32_t)i + 1, drive = scene->joint[i].def.drive;
  assert_int_equal(drive.kind, ABD_DRIVE_POSITION);
  drive.target = 2 * 0.4; /* the sum of the two drivers */
  assert_int_equal(abd_joint_set_drive(world, split, &drive), ABD_OK);
  step("2f85", world, 200);
  double right = read_joint(scene, world, "right_driver_joint").position,
         left = read_joint(scene, world, "left_driver_joint").position;
  printf("  drivers at %.6f and %.6f rad, gears and loops open by %.1e m\n", right, left, worst_gap(scene, world));
  assert_true(fabs(right - left) < 1e-5);
  assert_true(fabs(right - 0.4) < 0.05);
  assert_true(worst_gap(scene, world) < 1e-6);
  nothing_crosses("2f85", world);
  abd_world_destroy(world);
  scene_destroy(scene);
}

/* Joint angles of the arm under gravity that points along it, without drives and contact, at 0.5, 1, 1.5 and 2 s:
 * MuJoCo 4.0.0 with its Runge-Kutta integrator and dt 1/10000, to which it has converged. */
static void test_arm_swings_as_in_mujoco(void **state) {
  static const double start[7] = {0, 0.15, 0, 0.1, 0, 0.1, 0}, range[7] = {4.33, 0.23, 6.91, 0.45, 4.25, 0.56, 5.38};
  static const double reference[4][7] = {
      {-1.590697, -0.023716, 1.747581, -0.191101, -0.689890, 0.136685, 0.654504},
      {-1.704810, 0.038861, 0.469821, -0.013824, 0.941946, 0.240719, 1.153100},
      {-2.785740, 0.055583, 2.769045, 0.104483, -2.082932, -0.460224, 4.579576},
      {-4.330120, 0.066522, 6.913871, -0.021706, -4.249113, -0.046519, 4.776979},
  };
  (void)state;
  if (absent()) return;
  char path[200], text[600];
  const char *name = path;
  SceneError error = {""};
  snprintf(path, sizeof path, "%s/swing-%d.xml", ABD_BINARY, (int)getpid());
  snprintf(text, sizeof text,
           "<mujoco><include file='%smjcf/kinova_gen3/gen3.xml'/><compiler meshdir='%smjcf/kinova_gen3/assets'/>"
           "<option gravity='0 0 9.81' timestep='0.001'/>"
           "<keyframe><key name='bent' qpos='0 0.15 0 0.1 0 0.1 0'/></keyframe></mujoco>",
           ROBOTS, ROBOTS);
  FILE *out = fopen(path, "wb");
  assert_non_null(out);
  fputs(text, out);
  fclose(out);
  Scene *scene = scene_load(&name, 1, &(SceneOptions){.keyframe = "bent"}, &error);
  unlink(path);
  if (!scene) fail_msg("%s", error.text);
  for (size_t i = 0; i < scene->body_count; i++) scene->body[i].def.no_contact = true;
  for (size_t i = 0; i < scene->joint_count; i++) scene->joint[i].def.drive.kind = ABD_DRIVE_NONE;
  AbdWorld *world = build(scene);
  double worst = 0;
  int count = getenv("ABD_TEST_SHORT") ? 1 : 4;
  for (int k = 0; k < count; k++) {
    step("gen3", world, 500);
    for (int j = 0; j < 7; j++) {
      char joint[20];
      snprintf(joint, sizeof joint, "joint_%d", j + 1);
      double off = start[j] + read_joint(scene, world, joint).position - reference[k][j];
      worst = fmax(worst, fabs(off) / range[j]);
    }
    printf("  after %.1f s the angles are off by at most %.4f of their range\n", 0.5 * (k + 1), worst);
  }
  assert_true(worst < 0.01);
  abd_world_destroy(world);
  scene_destroy(scene);
}

int main(void) {
#ifndef ABD_HAVE_EXPAT
  print_message("skipped: this build has no expat\n");
  return 0;
#endif
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_robots_stand),
      cmocka_unit_test(test_gripper_loops),
      cmocka_unit_test(test_arm_swings_as_in_mujoco),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
