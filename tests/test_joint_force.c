/* Forces in joints against statics and closed forms; the same bits for any number of threads and after a restore;
 * errors of impossible joints.
 * Labels: slow */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "mechanism.h"

static void expect_vector(const char *what, const double value[3], Vec3 expected, double tolerance) {
  double off = norm(sub(vec3_from(value), expected));
  printf("  %s: (%.6g, %.6g, %.6g), off by %.2e of %.1e allowed\n", what, value[0], value[1], value[2], off, tolerance);
  if (!(off <= tolerance))
    fail_msg("%s: (%g, %g, %g), expected (%g, %g, %g)", what, value[0], value[1], value[2], expected.x, expected.y,
             expected.z);
}

/* ---- forces ----------------------------------------------------------------------------------------------------- */

/* Five bars hang in a row, by joints of every linear kind: each joint carries what hangs below it. */
static void test_hanging_chain(void **state) {
  (void)state;
  enum { BARS = 5 };
  const double l = 0.3;
  const AbdJointKind kind[BARS] = {ABD_JOINT_BALL, ABD_JOINT_HINGE, ABD_JOINT_WELD, ABD_JOINT_BALL,
                                   ABD_JOINT_UNIVERSAL};
  Lab lab = lab_open(world_def(0.01));
  AbdBodyId above = world_body;
  AbdJointId joint[BARS];
  double weight[BARS];
  for (int i = 0; i < BARS; i++) {
    AbdMeshId mesh = lab_box(&lab, 0.05 + 0.02 * i, 0.05, l);
    AbdBodyId bar = lab_body(&lab, mesh, vec3(0, 0, -l * (i + 0.5)), vec3(0, 0, 0));
    AbdJointDef def = joint_def(kind[i], bar, above, vec3(0, 0, -l * i), vec3(0, 1, 0));
    vec3_to(def.axis_b, vec3(1, 0, 0));
    joint[i] = lab_joint(&lab, &def);
    weight[i] = lab_view(&lab, bar).mass * gravity;
    above = bar;
  }
  lab_run(&lab, lab_seconds(0.5, 0.1));
  double carried = 0;
  for (int i = BARS - 1; i >= 0; i--) {
    char what[64];
    carried += weight[i];
    AbdJointReading r = lab_read(&lab, joint[i]);
    snprintf(what, sizeof what, "force of %s %d [N], expected %.6g", abd_joint_kind_name(kind[i]), i + 1, carried);
    expect_vector(what, r.force, vec3(0, 0, carried), 1e-4 * carried);
    assert_true(norm(vec3_from(r.torque)) < 1e-4 * carried * l);
  }
  lab_close(&lab);
}

/* A level bar held at its end, against gravity, by a weld and by a hinge whose axis is upright. */
static void test_cantilever(void **state) {
  (void)state;
  const AbdJointKind kind[] = {ABD_JOINT_WELD, ABD_JOINT_HINGE, ABD_JOINT_SLIDER};
  for (int k = 0; k < 3; k++) {
    const double l = 0.8;
    Lab lab = lab_open(world_def(0.01));
    AbdBodyId wall = lab_static(&lab, lab_box(&lab, 0.1, 1, 1), vec3(-0.5, 0, 0));
    AbdBodyId bar = lab_body(&lab, lab_box(&lab, l, 0.1, 0.05), vec3(0.5 * l, 0, 0), vec3(0, 0, 0));
    AbdJointId joint =
        lab_join(&lab, kind[k], bar, k == 1 ? world_body : wall, vec3(0, 0, 0), k == 2 ? vec3(1, 0, 0) : vec3(0, 0, 1));
    double weight = lab_view(&lab, bar).mass * gravity;
    lab_run(&lab, 0.1);
    AbdJointReading r = lab_read(&lab, joint);
    expect_vector("force at the wall [N]", r.force, vec3(0, 0, weight), 1e-5 * weight);
    expect_vector("torque at the wall [N m]", r.torque, vec3(0, -weight * 0.5 * l, 0), 1e-5 * weight * l);
    lab_close(&lab);
  }
}

/* A beam on two supports, one of them too many: half the weight each. */
static void test_beam(void **state) {
  (void)state;
  const double l = 1;
  Lab lab = lab_open(world_def(0.01));
  AbdBodyId bar = lab_body(&lab, lab_box(&lab, l, 0.1, 0.1), vec3(0, 0, 0), vec3(0, 0, 0));
  AbdJointId joint[2];
  for (int k = 0; k < 2; k++)
    joint[k] = lab_join(&lab, ABD_JOINT_BALL, bar, world_body, vec3((k - 0.5) * l, 0, 0), vec3(0, 0, 0));
  double weight = lab_view(&lab, bar).mass * gravity;
  lab_run(&lab, 0.1);
  for (int k = 0; k < 2; k++)
    expect_vector("force at a support [N]", lab_read(&lab, joint[k]).force, vec3(0, 0, 0.5 * weight), 1e-4 * weight);
  lab_close(&lab);
}

/* A rod let go level: at the bottom it pulls with 5/2 of its weight. */
static void test_pendulum_force(void **state) {
  (void)state;
  const double l = 1, t = 0.02;
  Lab lab = lab_open(world_def(0.001));
  AbdBodyId bar = add_bar(&lab, lab_box(&lab, t, t, l), l, vec3(0, 0, 0), 0.5 * pi);
  AbdJointId hinge = lab_join(&lab, ABD_JOINT_HINGE, bar, world_body, vec3(0, 0, 0), y_axis);
  double weight = lab_view(&lab, bar).mass * gravity, most_force = 0;
  for (int i = 0; i < 500; i++) {
    lab_step(&lab);
    most_force = fmax(most_force, norm(vec3_from(lab_read(&lab, hinge).force)));
  }
  lab_expect_near("largest force / weight", most_force / weight, 2.5, 0.01);
  lab_close(&lab);
}

/* What holds a stack up is read at its joint and at its contact alike. */
static void test_force_and_contact(void **state) {
  (void)state;
  Lab lab = lab_open(world_def(0.01));
  lab_ground(&lab, vec3(0, 0, 1));
  AbdMeshId box = lab_box(&lab, 0.2, 0.2, 0.2);
  AbdBodyId lower = lab_body(&lab, box, vec3(0, 0, 0.1005), vec3(0, 0, 0)),
            upper = lab_body(&lab, box, vec3(0, 0, 0.35), vec3(0, 0, 0));
  AbdJointId weld = lab_join(&lab, ABD_JOINT_WELD, upper, lower, vec3(0, 0, 0.225), vec3(0, 0, 0));
  lab_run(&lab, lab_seconds(2, 0.5));
  double weight = lab_view(&lab, upper).mass * gravity;
  Vec3 friction;
  expect_vector("force of the weld [N]", lab_read(&lab, weld).force, vec3(0, 0, weight), 0.01 * weight);
  lab_expect_near("force of the ground [N]", lab_contact_force(&lab, lower, &friction).z, 2 * weight, 0.01 * weight);
  lab_close(&lab);
}

/* ---- the same bits ---------------------------------------------------------------------------------------------- */

/* Everything at once: chains on the ground, a motor with a maximum, a servo, stops, a rope, a screw, gears. */
static Lab open_workshop(int threads) {
  AbdWorldDef world = world_def(0.01);
  world.solver.threads = threads;
  world.contact.friction = 0.3;
  Lab lab = lab_open(world);
  lab_ground(&lab, vec3(0, 0, 1));
  AbdMeshId link = lab_box(&lab, 0.2, 0.06, 0.06), block = lab_box(&lab, 0.2, 0.2, 0.2);
  for (int chain = 0; chain < 3; chain++) {
    AbdBodyId before = world_body;
    for (int i = 0; i < 8; i++) {
      Vec3 end = vec3(0.21 * i, 0.5 * chain, 0.15 + 0.05 * i);
      AbdBodyId body = lab_body(&lab, link, add(end, vec3(0.105, 0, 0)), vec3(0, 0, 0));
      AbdJointDef def = joint_def(chain == 1 ? ABD_JOINT_HINGE : ABD_JOINT_BALL, body, before, end, y_axis);
      if (chain == 1) def.limit[0] = -0.6, def.limit[1] = 0.6, def.damping = 0.01;
      if (i || chain == 1) lab_joint(&lab, &def);
      before = body;
    }
  }
  AbdBodyId wheel = lab_body(&lab, block, vec3(0, -1, 0.5), vec3(0, 0, 0)),
            other = lab_body(&lab, block, vec3(0.5, -1, 0.5), vec3(0, 0, 0));
  AbdJointDef motor = joint_def(ABD_JOINT_HINGE, wheel, world_body, vec3(0, -1, 0.5), y_axis);
  motor.drive = (AbdDrive){.kind = ABD_DRIVE_SPEED, .target = 3, .max_effort = 2};
  AbdJointDef gear = joint_def(ABD_JOINT_GEAR, world_body, world_body, vec3(0, 0, 0), vec3(0, 0, 0));
  gear.joint_a = lab_joint(&lab, &motor);
  gear.joint_b = lab_join(&lab, ABD_JOINT_HINGE, other, world_body, vec3(0.5, -1, 0.5), y_axis);
  gear.ratio = -0.5;
  lab_joint(&lab, &gear);
  AbdBodyId nut = lab_body(&lab, block, vec3(0, -1, 1), vec3(0, 0, 0));
  AbdJointDef screw = joint_def(ABD_JOINT_SCREW, nut, other, vec3(0, -1, 1), vec3(0, 0, 1));
  screw.pitch = 0.4;
  screw.friction = 0.1;
  lab_joint(&lab, &screw);
  AbdBodyId bob = lab_body(&lab, block, vec3(1, -1, 1), vec3(0, 0, 0));
  AbdJointDef rope = joint_def(ABD_JOINT_ROPE, bob, nut, vec3(0.9, -1, 1), vec3(0, 0, 0));
  vec3_to(rope.point_b, vec3(0.1, -1, 1));
  rope.length = 0.81;
  lab_joint(&lab, &rope);
  AbdBodyId arm = lab_body(&lab, link, vec3(1.5, -1, 1), vec3(0, 0, 0));
  AbdJointDef servo = joint_def(ABD_JOINT_HINGE, arm, world_body, vec3(1.4, -1, 1), y_axis);
  servo.drive = (AbdDrive){.kind = ABD_DRIVE_POSITION, .target = 0.5, .stiffness = 20, .damping = 1, .max_effort = 5};
  lab_joint(&lab, &servo);
  return lab;
}

static void test_threads(void **state) {
  (void)state;
  const int threads[] = {1, 2, 3, 8};
  uint64_t hash[4];
  double force[4];
  for (int k = 0; k < 4; k++) {
    Lab lab = open_workshop(threads[k]);
    lab_run(&lab, lab_seconds(0.25, 0.1));
    hash[k] = abd_world_hash(lab.world);
    force[k] = 0;
    for (uint32_t j = 1; j <= abd_world_joint_count(lab.world); j++)
      force[k] += norm(vec3_from(lab_read(&lab, (AbdJointId){j}).force));
    printf("  %d threads: %016llx, %.1f iterations a step\n", threads[k], (unsigned long long)hash[k],
           (double)lab.iterations / (double)lab.report.step);
    lab_close(&lab);
    assert_true(hash[k] == hash[0]);
    assert_true(force[k] == force[0]);
  }
}

static void test_restore(void **state) {
  (void)state;
  double before = lab_seconds(0.3, 0.05), after = lab_seconds(0.3, 0.05);
  Lab lab = open_workshop(1), other = open_workshop(1);
  AbdDrive stronger = {
      .kind = ABD_DRIVE_SPEED, .target = 6, .max_effort = 3}; /* changed on the way: part of the state */
  lab_run(&lab, before);
  lab_expect_ok(&lab, abd_joint_set_drive(lab.world, (AbdJointId){23}, &stronger));
  size_t size = abd_world_snapshot_size(lab.world);
  void *bytes = malloc(size);
  assert_non_null(bytes);
  lab_expect_ok(&lab, abd_world_save(lab.world, bytes, size));
  lab_run(&lab, after);
  lab_expect_ok(&other, abd_world_restore(other.world, bytes, size));
  lab_run(&other, after);
  assert_true(abd_world_hash(lab.world) == abd_world_hash(other.world));
  for (uint32_t j = 1; j <= abd_world_joint_count(lab.world); j++) {
    AbdJointReading a = lab_read(&lab, (AbdJointId){j}), b = lab_read(&other, (AbdJointId){j});
    if (memcmp(&a, &b, sizeof a) != 0) fail_msg("joint %u reads %.17g and %.17g", j, a.position, b.position);
  }
  free(bytes);
  lab_close(&lab);
  lab_close(&other);
}

/* ---- what a joint cannot be ------------------------------------------------------------------------------------- */

static void refuse(Lab *lab, const AbdJointDef *def, AbdStatus status, const char *sentence) {
  AbdJointId id = {77};
  size_t count = abd_world_joint_count(lab->world);
  AbdStatus got = abd_world_add_joint(lab->world, def, &id);
  const char *text = abd_world_error(lab->world);
  if (got != status || !strstr(text, sentence))
    fail_msg("%s \"%s\", expected %s with \"%s\"", abd_status_name(got), text, abd_status_name(status), sentence);
  assert_true(id.id == 77 && abd_world_joint_count(lab->world) == count);
}

static void test_refused(void **state) {
  (void)state;
  Lab lab = lab_open(world_def(0.01));
  AbdMeshId box = lab_box(&lab, 0.1, 0.1, 0.1);
  AbdBodyId a = lab_body(&lab, box, vec3(0, 0, 0), vec3(0, 0, 0)),
            b = lab_body(&lab, box, vec3(0.5, 0, 0), vec3(0, 0, 0));
  AbdBodyId wall = lab_static(&lab, box, vec3(1, 0, 0));
  AbdJointId ball = lab_join(&lab, ABD_JOINT_BALL, b, world_body, vec3(0.5, 0, 0), vec3(0, 0, 0));
  AbdJointDef good = joint_def(ABD_JOINT_HINGE, a, b, vec3(0.2, 0, 0), vec3(0, 0, 1)), d;
  good.name = "elbow";
#define REFUSED(change, status, sentence) (d = good, (change), refuse(&lab, &d, status, sentence))
  REFUSED(d.kind = ABD_JOINT_KIND_COUNT, ABD_ERROR_ARGUMENT, "is unknown");
  REFUSED(d.kind = (AbdJointKind)-1, ABD_ERROR_ARGUMENT, "is unknown");
  REFUSED(d.body_a.id = 0, ABD_ERROR_ARGUMENT, "joint \"elbow\": expected a body as its first");
  REFUSED(d.body_b.id = 9, ABD_ERROR_ARGUMENT, "bodies 1 and 9, but there are 3");
  REFUSED(d.body_b = a, ABD_ERROR_JOINT, "to itself");
  REFUSED((d.body_a = wall, d.body_b = world_body), ABD_ERROR_JOINT, "neither of its bodies moves freely");
  REFUSED(d.axis[2] = 0, ABD_ERROR_JOINT, "a hinge needs an axis, got (0, 0, 0)");
  REFUSED(d.axis[2] = NAN, ABD_ERROR_ARGUMENT, "axis[2] is not finite");
  REFUSED(d.point[1] = INFINITY, ABD_ERROR_ARGUMENT, "point[1] is inf");
  REFUSED(vec3_to(d.point_b, vec3(0.2, 0.1, 0)), ABD_ERROR_JOINT, "its anchors are 0.1 m apart at the start");
  REFUSED((d.limit[0] = 1, d.limit[1] = -1), ABD_ERROR_JOINT, "its limits are 1 and -1, expected the lower one first");
  REFUSED(d.limit[0] = NAN, ABD_ERROR_JOINT, "its limits are nan");
  REFUSED(d.limit[0] = 0.5, ABD_ERROR_JOINT, "exclude the start, which is at 0");
  REFUSED(d.limit[1] = 0, ABD_ERROR_JOINT, "exclude the start");
  REFUSED((d.kind = ABD_JOINT_BALL, d.limit[1] = 1), ABD_ERROR_JOINT, "a ball has no coordinate to limit");
  REFUSED((d.kind = ABD_JOINT_SLIDER, d.angle_limit[1] = 1), ABD_ERROR_JOINT, "a slider has no angle to limit");
  REFUSED(d.stiffness = -1, ABD_ERROR_ARGUMENT, "stiffness is -1, expected a number >= 0");
  REFUSED(d.damping = NAN, ABD_ERROR_ARGUMENT, "damping is nan");
  REFUSED(d.friction = INFINITY, ABD_ERROR_ARGUMENT, "friction is inf");
  REFUSED(d.rest = NAN, ABD_ERROR_ARGUMENT, "rest is nan, expected a finite number");
  REFUSED((d.kind = ABD_JOINT_WELD, d.damping = 1), ABD_ERROR_JOINT, "a weld has no coordinate for a spring");
  REFUSED(d.kind = ABD_JOINT_SCREW, ABD_ERROR_JOINT, "its pitch is 0");
  REFUSED(d.kind = ABD_JOINT_UNIVERSAL, ABD_ERROR_JOINT, "a universal needs axis_b");
  REFUSED((d.kind = ABD_JOINT_UNIVERSAL, vec3_to(d.axis_b, vec3(0, 1, 1))), ABD_ERROR_JOINT,
          "make an angle of 45 degrees, expected 90");
  REFUSED(d.kind = ABD_JOINT_DISTANCE, ABD_ERROR_JOINT, "its two points coincide");
  REFUSED((d.kind = ABD_JOINT_DISTANCE, vec3_to(d.point_b, vec3(0.5, 0, 0)), d.length = 0.4), ABD_ERROR_JOINT,
          "0.3 m apart at the start, expected the length 0.4");
  REFUSED((d.kind = ABD_JOINT_ROPE, vec3_to(d.point_b, vec3(0.5, 0, 0)), d.length = 0.2), ABD_ERROR_JOINT,
          "the rope is 0.2 m long");
  REFUSED((d.kind = ABD_JOINT_ROPE, vec3_to(d.point_b, vec3(0.5, NAN, 0))), ABD_ERROR_ARGUMENT, "point_b[1] is nan");
  REFUSED(d.point_b[2] = 1, ABD_ERROR_ARGUMENT, "point_b[2] is 1, expected three finite numbers");
  REFUSED((d.kind = ABD_JOINT_GEAR, d.joint_a.id = 5, d.joint_b = ball), ABD_ERROR_ARGUMENT,
          "couples joint 5, but there are 1 before it");
  REFUSED((d.kind = ABD_JOINT_GEAR, d.joint_a = ball, d.joint_b = ball), ABD_ERROR_JOINT,
          "has no coordinate to couple");
  REFUSED((d.kind = ABD_JOINT_GEAR, d.ratio = 0), ABD_ERROR_JOINT, "its ratio is 0");
  REFUSED(d.drive.kind = (AbdDriveKind)9, ABD_ERROR_ARGUMENT, "drive kind 9 is unknown");
  REFUSED((d.drive.kind = ABD_DRIVE_SPEED, d.drive.target = NAN), ABD_ERROR_ARGUMENT, "the drive's target is nan");
  REFUSED((d.drive.kind = ABD_DRIVE_SPEED, d.drive.max_effort = -1), ABD_ERROR_ARGUMENT,
          "the drive's max effort is -1");
  REFUSED(d.drive.kind = ABD_DRIVE_POSITION, ABD_ERROR_ARGUMENT, "a position drive needs stiffness and damping >= 0");
  REFUSED((d.kind = ABD_JOINT_BALL, d.drive.kind = ABD_DRIVE_EFFORT), ABD_ERROR_ARGUMENT,
          "a ball has no coordinate that a drive could move");
  AbdJointId hinge = lab_joint(&lab, &good);
  REFUSED((d.kind = ABD_JOINT_GEAR, d.joint_a = hinge, d.joint_b = hinge), ABD_ERROR_JOINT,
          "couples a joint to itself");
  AbdDrive bad = {.kind = ABD_DRIVE_EFFORT, .target = INFINITY};
  AbdJointReading reading;
  AbdJointDef read_back;
  assert_int_equal(abd_joint_set_drive(lab.world, hinge, &bad), ABD_ERROR_ARGUMENT);
  assert_int_equal(abd_joint_set_drive(lab.world, (AbdJointId){9}, &bad), ABD_ERROR_ARGUMENT);
  assert_non_null(strstr(abd_world_error(lab.world), "joint 9 does not exist"));
  assert_int_equal(abd_joint_reading(lab.world, hinge, &reading), ABD_ERROR_STATE);
  lab_step(&lab);
  assert_int_equal(abd_joint_reading(lab.world, (AbdJointId){0}, &reading), ABD_ERROR_ARGUMENT);
  assert_int_equal(abd_joint_reading(lab.world, (AbdJointId){3}, &reading), ABD_ERROR_ARGUMENT);
  assert_int_equal(abd_joint_def(lab.world, (AbdJointId){3}, &read_back), ABD_ERROR_ARGUMENT);
  lab_expect_ok(&lab, abd_joint_def(lab.world, hinge, &read_back));
  assert_string_equal(read_back.name, "elbow");
  lab_close(&lab);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_hanging_chain),  cmocka_unit_test(test_cantilever),        cmocka_unit_test(test_beam),
      cmocka_unit_test(test_pendulum_force), cmocka_unit_test(test_force_and_contact), cmocka_unit_test(test_threads),
      cmocka_unit_test(test_restore),        cmocka_unit_test(test_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
