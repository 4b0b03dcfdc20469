/* Motors, servos, springs, friction and stops on a joint's coordinate.
 * Labels: slow */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "mechanism.h"

static AbdDrive speed_drive(double target, double max_effort) {
  return (AbdDrive){.kind = ABD_DRIVE_SPEED, .target = target, .max_effort = max_effort};
}

/* A wheel on a level shaft along y. */
static AbdBodyId add_wheel(Lab *lab, double radius, double width) {
  MeshData mesh = {0};
  assert_true(shape_cylinder(radius, width, 24, &mesh));
  AbdBodyDef def = lab_at(lab_mesh(lab, &mesh, 0, false), vec3(0, 0, 0));
  lab_turn(&def, vec3(1, 0, 0), 0.5 * pi);
  return lab_body_def(lab, &def);
}

/* The wheel's moment about its shaft: the only one that differs from the other two. */
static double wheel_inertia(const Lab *lab, AbdBodyId wheel) {
  AbdBodyView v = lab_view(lab, wheel);
  return fmax(v.inertia[0], fmax(v.inertia[1], v.inertia[2]));
}

/* ---- motors ----------------------------------------------------------------------------------------------------- */

static void test_torque(void **state) {
  (void)state;
  Lab lab = lab_open(world_def(0.01));
  AbdBodyId wheel = add_wheel(&lab, 0.2, 0.05);
  AbdJointId shaft = lab_join(&lab, ABD_JOINT_HINGE, wheel, world_body, vec3(0, 0, 0), y_axis);
  AbdDrive drive = {.kind = ABD_DRIVE_EFFORT, .target = 9, .max_effort = 2};
  lab_expect_ok(&lab, abd_joint_set_drive(lab.world, shaft, &drive));
  AbdDrive present = {0};
  assert_int_equal(abd_joint_drive(lab.world, shaft, &present), ABD_OK);
  assert_true(present.kind == drive.kind && present.target == 9 && present.max_effort == 2);
  assert_int_equal(abd_joint_drive(lab.world, (AbdJointId){99}, &present), ABD_ERROR_ARGUMENT);
  lab_run(&lab, 0.5);
  AbdJointReading r = lab_read(&lab, shaft);
  double alpha = 2 / wheel_inertia(&lab, wheel);
  lab_expect_near("effort, cut to its maximum [N m]", r.effort, 2, 1e-12);
  lab_expect_near("speed [rad/s]", r.rate, alpha * 0.5, 0.015 * alpha * 0.5); /* at 0.08 rad a step */
  lab_expect_near("angle [rad]", r.position, 0.5 * alpha * 0.25, 0.03 * 0.5 * alpha * 0.25);
  drive = (AbdDrive){.kind = ABD_DRIVE_NONE};
  lab_expect_ok(&lab, abd_joint_set_drive(lab.world, shaft, &drive));
  lab_run(&lab, 0.1);
  AbdJointReading after = lab_read(&lab, shaft);
  lab_expect_near("speed without a drive [rad/s]", after.rate, r.rate, 0.015 * r.rate);
  assert_true(after.effort == 0);
  lab_close(&lab);
}

/* Against a damper: at most max on the way, then the speed, with what the damper takes. */
static void check_speed(double dt, double max_effort) {
  const double target = 10, damping = 0.1;
  Lab lab = lab_open(world_def(dt));
  AbdBodyId wheel = add_wheel(&lab, 0.2, 0.05);
  AbdJointDef def = joint_def(ABD_JOINT_HINGE, wheel, world_body, vec3(0, 0, 0), y_axis);
  def.drive = speed_drive(target, max_effort);
  def.damping = damping;
  AbdJointId shaft = lab_joint(&lab, &def);
  double fastest = 0, position = 0, swing[2] = {INFINITY, -INFINITY};
  int count = (int)(1.2 / dt + 0.5);
  for (int i = 0; i < count; i++) {
    lab_step(&lab);
    AbdJointReading r = lab_read(&lab, shaft);
    if (!(fabs(r.effort) <= max_effort)) fail_msg("effort %g above its maximum %g", r.effort, max_effort);
    fastest = fmax(fastest, (r.position - position) / dt);
    position = r.position;
    if (i > count / 2) swing[0] = fmin(swing[0], r.effort), swing[1] = fmax(swing[1], r.effort);
  }
  AbdJointReading r = lab_read(&lab, shaft);
  double before = r.position;
  lab_run(&lab, 10 * dt);
  printf("  dt %g, at most %g N m:\n", dt, max_effort);
  lab_expect_near("speed over ten steps [rad/s]", (lab_read(&lab, shaft).position - before) / (10 * dt), target,
                  1e-3 * target);
  lab_expect_near("rate [rad/s]", r.rate, target,
                  target * (1e-3 + target * target * dt * dt / 3)); /* chords are shorter than arcs */
  lab_expect_near("effort [N m]", r.effort, damping * target, 0.02 * damping * target);
  lab_expect_below("fastest / target", fastest / target, 1.05);
  lab_expect_below("effort's swing in the second half [N m]", swing[1] - swing[0], 0.05);
  lab_close(&lab);
}

static void test_speed(void **state) {
  (void)state;
  check_speed(0.01, 5);
  check_speed(0.01, 20);
  check_speed(0.001, 5);
  check_speed(0.01, INFINITY);
}

static void test_stall(void **state) {
  (void)state;
  const double l = 0.5, stop = 0.3, max_effort = 7;
  Lab lab = lab_open(world_def(0.01));
  AbdBodyId bar = lab_body(&lab, lab_box(&lab, l, 0.05, 0.05), vec3(0.5 * l, 0, 0), vec3(0, 0, 0));
  AbdJointDef def = joint_def(ABD_JOINT_HINGE, bar, world_body, vec3(0, 0, 0), vec3(0, 0, 1));
  def.limit[1] = stop;
  def.drive = speed_drive(5, max_effort);
  AbdJointId shaft = lab_joint(&lab, &def);
  for (int i = 0; i < 100; i++) {
    lab_step(&lab);
    double at = lab_read(&lab, shaft).position;
    if (!(at < stop)) fail_msg("step %d: %.17g, beyond the stop at %g", i, at, stop);
  }
  AbdJointReading r = lab_read(&lab, shaft);
  lab_expect_near("effort at the stop [N m]", r.effort, max_effort, 1e-9);
  lab_expect_near("what the stop gives [N m]", r.passive, -max_effort, 0.01 * max_effort);
  lab_expect_near("position [rad]", r.position, stop, 0.01);
  lab_expect_below("rate [rad/s]", fabs(r.rate), 1e-3);
  AbdDrive back_off = speed_drive(-5, max_effort);
  lab_expect_ok(&lab, abd_joint_set_drive(lab.world, shaft, &back_off));
  lab_run(&lab, 0.1);
  lab_expect_below("after turning round [rad]", lab_read(&lab, shaft).position, stop - 0.05);
  lab_close(&lab);
}

/* A level bar held by a servo: stiffness times sag = weight times arm. */
static void test_servo(void **state) {
  (void)state;
  const double l = 0.6, stiffness = 300, damping = 30;
  for (int k = 0; k < 2; k++) {
    Lab lab = lab_open(world_def(0.01));
    AbdBodyId bar = lab_body(&lab, lab_box(&lab, l, 0.05, 0.05), vec3(0.5 * l, 0, 0), vec3(0, 0, 0));
    AbdJointDef def = joint_def(ABD_JOINT_HINGE, bar, world_body, vec3(0, 0, 0), y_axis);
    def.drive = (AbdDrive){.kind = ABD_DRIVE_POSITION,
                           .target = 0.2,
                           .stiffness = stiffness,
                           .damping = damping,
                           .max_effort = k ? 3 : INFINITY};
    AbdJointId shaft = lab_joint(&lab, &def);
    double load = lab_view(&lab, bar).mass * gravity * 0.5 * l, sag = 0.2;
    for (int i = 0; i < 60; i++) sag = 0.2 + load * cos(sag) / stiffness; /* positive about y is downward */
    lab_run(&lab, lab_seconds(3, 1));
    AbdJointReading r = lab_read(&lab, shaft);
    if (k == 0) {
      lab_expect_below("speed at rest [m/s]", norm(lab_velocity(&lab, bar)), 1e-4);
      lab_expect_near("where it settles [rad]", r.position, sag, 1e-4 * fabs(sag));
      lab_expect_near("effort [N m]", r.effort, -load * cos(sag), 1e-3 * load);
    } else { /* too weak: it hangs, pushing with all it has */
      lab_expect_near("effort of a weak servo [N m]", r.effort, -3, 1e-9);
      assert_true(r.position > 0.25);
    }
    lab_close(&lab);
  }
}

/* An arm of two links, and a counterweight that gravity would lift: held by servos, nothing has a velocity. */
static void test_held_arm(void **state) {
  (void)state;
  Lab lab = lab_open(world_def(0.01));
  AbdBodyId upper = lab_body(&lab, lab_box(&lab, 0.5, 0.05, 0.05), vec3(0.25, 0, 0), vec3(0, 0, 0));
  AbdBodyId fore = lab_body(&lab, lab_box(&lab, 0.4, 0.05, 0.05), vec3(0.7, 0, 0), vec3(0, 0, 0));
  AbdBodyId weight = lab_body(&lab, lab_box(&lab, 0.2, 0.05, 0.05), vec3(-0.1, 0, 0), vec3(0, 0, 0));
  AbdJointDef def = joint_def(ABD_JOINT_HINGE, upper, world_body, vec3(0, 0, 0), y_axis);
  def.drive = (AbdDrive){.kind = ABD_DRIVE_POSITION, .target = 0.2, .stiffness = 300, .damping = 30};
  def.drive.max_effort = INFINITY;
  lab_joint(&lab, &def);
  def.body_a = fore, def.body_b = upper, def.point[0] = 0.5, def.drive.target = -0.3;
  lab_joint(&lab, &def);
  def.body_a = weight, def.point[0] = 0, def.drive.target = 0;
  lab_joint(&lab, &def);
  lab_run(&lab, 3);
  AbdBodyId body[] = {upper, fore, weight};
  for (int k = 0; k < 3; k++) lab_expect_below("speed at rest [m/s]", norm(lab_velocity(&lab, body[k])), 1e-5);
  lab_close(&lab);
}

/* A capsule on a damped, tilted shaft turns and slides down until it leans on the ground. What the contact carries
 * of the weight turns it, too: if only the velocity of its centre counted, it would not come to rest. */
static void test_leaning(void **state) {
  (void)state;
  Lab lab = lab_open(world_def(0.04));
  lab_ground(&lab, vec3(0, 0, 1));
  MeshData mesh = {0};
  assert_true(shape_capsule(0.0677, 0.0468, 16, &mesh));
  AbdBodyDef body = lab_at(lab_mesh(&lab, &mesh, 0, false), vec3(-0.1, 0.18, 0.326));
  lab_turn(&body, vec3(-0.11, -0.34, -0.64), 1.65);
  body.density = 8700;
  AbdBodyId capsule = lab_body_def(&lab, &body);
  AbdJointDef def =
      joint_def(ABD_JOINT_CYLINDRICAL, capsule, world_body, vec3(-0.15, 0.23, 0.4), vec3(0.3, -0.63, -0.72));
  def.damping = 160;
  lab_joint(&lab, &def);
  lab_run(&lab, 3);
  lab_expect_below("speed at rest [m/s]", norm(lab_velocity(&lab, capsule)), 1e-3);
  assert_true(lab.report.contacts > 0);
  lab_close(&lab);
}

/* ---- work ------------------------------------------------------------------------------------------------------- */

/* A crank, a rod and a piston on a rail, driven at its maximum torque, with a damper on the shaft: what the motor
 * did is the energy gained and what the damper took. Work is effort times the mean of the rates at both ends of the
 * step times dt: the sum that the integrator itself balances. */
static void check_work(double dt, double max_effort, double damping) {
  const double r = 0.15, l = 0.6;
  Lab lab = lab_open(world_def(dt));
  AbdBodyId wheel = add_wheel(&lab, 0.2, 0.05);
  AbdBodyId rod = lab_body(&lab, lab_box(&lab, l, 0.04, 0.04), vec3(r + 0.5 * l, 0.1, 0), vec3(0, 0, 0));
  AbdBodyId piston = lab_body(&lab, lab_box(&lab, 0.1, 0.1, 0.1), vec3(r + l, 0.1, 0), vec3(0, 0, 0));
  AbdJointDef def = joint_def(ABD_JOINT_HINGE, wheel, world_body, vec3(0, 0, 0), y_axis);
  def.drive = speed_drive(10, max_effort);
  def.damping = damping;
  AbdJointId shaft = lab_joint(&lab, &def);
  lab_join(&lab, ABD_JOINT_HINGE, rod, wheel, vec3(r, 0.1, 0), y_axis);
  lab_join(&lab, ABD_JOINT_HINGE, piston, rod, vec3(r + l, 0.1, 0), y_axis);
  lab_join(&lab, ABD_JOINT_SLIDER, piston, world_body, vec3(r + l, 0.1, 0), vec3(1, 0, 0));
  double work = 0, damped = 0, before = 0;
  int saturated = 0, count = (int)(2 / dt + 0.5);
  for (int i = 0; i < count; i++) {
    lab_step(&lab);
    AbdJointReading reading = lab_read(&lab, shaft);
    work += reading.effort * 0.5 * (before + reading.rate) * dt;
    damped -= reading.passive * 0.5 * (before + reading.rate) * dt;
    before = reading.rate;
    saturated += fabs(reading.effort) == max_effort;
  }
  double gained = lab.report.energy[ABD_TERM_KINETIC] + lab.report.energy[ABD_TERM_GRAVITY] +
                  lab.report.energy[ABD_TERM_ELASTIC]; /* from rest at height zero */
  printf("  dt %g: %d of %d steps at the maximum; gained %.4g J, damped %.4g J\n", dt, saturated, count, gained,
         damped);
  assert_true(saturated > count / 25);
  lab_expect_near("work of the motor [J]", work, gained + damped, 0.01 * work);
  lab_close(&lab);
}

static void test_work(void **state) {
  (void)state;
  check_work(0.005, 4, 0.05);
  check_work(0.002, 4, 0.05);
  check_work(0.002, 12, 0);
}

/* ---- stops ------------------------------------------------------------------------------------------------------ */

static void expect_inside(int step, double at, double lo, double hi) {
  if (!(lo < at && at < hi)) fail_msg("step %d: %.17g is not inside %.17g and %.17g", step, at, lo, hi);
}

/* A bar at 100 rad/s between two stops, without anything that would slow it. */
static void slam_angle(double dt, double lo, double hi, bool chained) {
  const double l = 0.5, speed = 100;
  AbdWorldDef world = world_def(dt);
  world.gravity[2] = 0;
  Lab lab = lab_open(world);
  AbdMeshId mesh = lab_box(&lab, l, 0.05, 0.05);
  AbdBodyDef body = lab_at(mesh, vec3(0.5 * l, 0, 0));
  vec3_to(body.angular_velocity, vec3(0, 0, speed));
  vec3_to(body.velocity, vec3(0, 0.5 * l * speed, 0));
  AbdBodyId bar = lab_body_def(&lab, &body);
  AbdJointDef def = joint_def(ABD_JOINT_HINGE, bar, world_body, vec3(0, 0, 0), vec3(0, 0, 1));
  def.limit[0] = lo;
  def.limit[1] = hi;
  AbdJointId shaft = lab_joint(&lab, &def), elbow = {0};
  if (chained) { /* a second bar on the first, with stops of its own */
    body = lab_at(mesh, vec3(1.5 * l, 0, 0));
    vec3_to(body.angular_velocity, vec3(0, 0, speed));
    vec3_to(body.velocity, vec3(0, 1.5 * l * speed, 0));
    def = joint_def(ABD_JOINT_HINGE, lab_body_def(&lab, &body), bar, vec3(l, 0, 0), vec3(0, 0, 1));
    def.limit[0] = -0.5;
    def.limit[1] = 0.7;
    elbow = lab_joint(&lab, &def);
  }
  double nearest = INFINITY;
  for (int i = 0, count = (int)lab_seconds(200, 120); i < count; i++) {
    lab_step(&lab);
    double at = lab_read(&lab, shaft).position;
    expect_inside(i, at, lo, hi);
    if (chained) expect_inside(i, lab_read(&lab, elbow).position, -0.5, 0.7);
    nearest = fmin(nearest, fmin(at - lo, hi - at));
  }
  printf("  dt %g, stops at %g and %g%s: nearest %.2e rad, %.1f iterations a step, at most %d\n", dt, lo, hi,
         chained ? ", two bars" : "", nearest, (double)lab.iterations / (double)lab.report.step, lab.most_iterations);
  assert_true(nearest < 0.05);
  lab_close(&lab);
}

static void test_slammed_bar(void **state) {
  (void)state;
  slam_angle(0.01, -0.5, 1.2, false);
  slam_angle(0.001, -0.5, 1.2, false);
  slam_angle(0.01, -9, 20, false);
  slam_angle(0.01, -0.001, 0.002, false);
  slam_angle(0.01, -0.5, 1.2, true);
}

static void slam_travel(AbdJointKind kind, bool two_bodies) {
  const double speed = 100, lo = -0.3, hi = 0.4;
  AbdWorldDef world = world_def(0.01);
  world.gravity[2] = 0;
  Lab lab = lab_open(world);
  AbdMeshId mesh = lab_box(&lab, 0.1, 0.1, 0.1);
  AbdBodyId box = lab_body(&lab, mesh, vec3(0, 0, 0), vec3(speed, 0, 0)), other = world_body;
  if (two_bodies) other = lab_body(&lab, mesh, vec3(0, 0.3, 0), vec3(0, 0, 0));
  AbdJointDef def = joint_def(kind, box, other, vec3(0, 0, 0), vec3(1, 0, 0));
  def.limit[0] = lo;
  def.limit[1] = hi;
  AbdJointId rail = lab_joint(&lab, &def);
  double nearest = INFINITY;
  for (int i = 0, count = (int)lab_seconds(200, 120); i < count; i++) {
    lab_step(&lab);
    double at = lab_read(&lab, rail).position;
    expect_inside(i, at, lo, hi);
    nearest = fmin(nearest, fmin(at - lo, hi - at));
  }
  printf("  %s%s: nearest %.2e m, %.1f iterations a step, at most %d\n", abd_joint_kind_name(kind),
         two_bodies ? " of two" : "", nearest, (double)lab.iterations / (double)lab.report.step, lab.most_iterations);
  assert_true(nearest < 0.01);
  lab_close(&lab);
}

static void test_slammed_travel(void **state) {
  (void)state;
  for (int two = 0; two < 2; two++) {
    slam_travel(ABD_JOINT_SLIDER, two);
    slam_travel(ABD_JOINT_LINE, two);
    slam_travel(ABD_JOINT_CYLINDRICAL, two);
  }
}

/* Thrown away at 100 m/s on a rope; and a rope as a pendulum, whose bob is never farther than its length. */
static void test_rope(void **state) {
  (void)state;
  const double length = 1;
  for (int k = 0; k < 2; k++) {
    Lab lab = lab_open(world_def(0.01));
    AbdBodyId box = lab_body(&lab, lab_box(&lab, 0.1, 0.1, 0.1), k ? vec3(0.95, 0, 0) : vec3(0.5, 0, 0),
                             k ? vec3(0, 0, 0) : vec3(100, 30, 0));
    AbdJointDef def = joint_def(ABD_JOINT_ROPE, box, world_body, k ? vec3(0.95, 0, 0) : vec3(0.5, 0, 0), vec3(0, 0, 0));
    vec3_to(def.point_b, vec3(0, 0, 0));
    def.length = length;
    AbdJointId rope = lab_joint(&lab, &def);
    double farthest = 0;
    for (int i = 0, count = (int)lab_seconds(300, 120); i < count; i++) {
      lab_step(&lab);
      double at = lab_read(&lab, rope).position;
      expect_inside(i, at, 0, length);
      farthest = fmax(farthest, at);
    }
    printf("  farthest %.6f m of %g, %.1f iterations a step, at most %d\n", farthest, length,
           (double)lab.iterations / (double)lab.report.step, lab.most_iterations);
    assert_true(farthest > 0.99 * length);
    lab_close(&lab);
  }
}

/* ---- passive ---------------------------------------------------------------------------------------------------- */

/* A block on a level rail: with a spring it swings, with dry friction it stops and stays. */
static void test_spring(void **state) {
  (void)state;
  const double stiffness = 200;
  Lab lab = lab_open(world_def(0.001));
  AbdBodyId box = lab_body(&lab, lab_box(&lab, 0.1, 0.1, 0.1), vec3(0, 0, 0), vec3(0, 0, 0));
  AbdJointDef def = joint_def(ABD_JOINT_SLIDER, box, world_body, vec3(0, 0, 0), vec3(1, 0, 0));
  def.stiffness = stiffness;
  def.rest = 0.2;
  AbdJointId rail = lab_joint(&lab, &def);
  double period = 2 * pi * sqrt(lab_view(&lab, box).mass / stiffness), time = 0, before = 0, far = 0;
  for (int i = 0; i < 2000 && time == 0; i++) {
    lab_step(&lab);
    AbdJointReading r = lab_read(&lab, rail);
    if (i > 300 && before < 0 && r.rate >= 0) time = lab.report.time;
    before = r.rate;
    far = fmax(far, r.position);
  }
  lab_expect_near("period [s]", time, period, 0.005 * period);
  lab_expect_near("farthest [m]", far, 0.4, 0.002);
  lab_close(&lab);
}

static void test_friction(void **state) {
  (void)state;
  const double speed = 2, force = 8;
  Lab lab = lab_open(world_def(0.002));
  AbdBodyId box = lab_body(&lab, lab_box(&lab, 0.1, 0.1, 0.1), vec3(0, 0, 0), vec3(speed, 0, 0));
  AbdJointDef def = joint_def(ABD_JOINT_SLIDER, box, world_body, vec3(0, 0, 0), vec3(1, 0, 0));
  def.friction = force;
  AbdJointId rail = lab_joint(&lab, &def);
  double slowing = force / lab_view(&lab, box).mass, path = 0.5 * speed * speed / slowing;
  lab_run(&lab, speed / slowing + 0.1);
  double stopped = lab_read(&lab, rail).position;
  lab_expect_near("slid [m]", stopped, path, 0.01 * path);
  AbdDrive push = {.kind = ABD_DRIVE_EFFORT, .target = 0.9 * force, .max_effort = INFINITY};
  lab_expect_ok(&lab, abd_joint_set_drive(lab.world, rail, &push));
  lab_run(&lab, 0.2);
  double held = lab_read(&lab, rail).position;
  lab_run(&lab, lab_seconds(1, 0.2));
  lab_expect_near("held against 0.9 of it [m]", lab_read(&lab, rail).position, held, 1e-7);
  lab_expect_near("friction [N]", lab_read(&lab, rail).passive, -0.9 * force, 1e-3 * force);
  push.target = 1.5 * force;
  lab_expect_ok(&lab, abd_joint_set_drive(lab.world, rail, &push));
  double t = 0.2;
  lab_run(&lab, t);
  lab_expect_near("pushed by 1.5 of it [m]", lab_read(&lab, rail).position - held, 0.25 * slowing * t * t,
                  0.03 * 0.25 * slowing * t * t);
  lab_close(&lab);
}

/* ---- more than half a turn in a step ---------------------------------------------------------------------------- */

/* A wheel that starts at `spin`, under a damper, dry friction, a brake or between stops. */
static Lab fast_wheel(double spin, const AbdJointDef *form, AbdJointId *shaft, AbdBodyId *wheel) {
  Lab lab = lab_open(world_def(0.01));
  MeshData mesh = {0};
  assert_true(shape_cylinder(0.2, 0.05, 24, &mesh));
  AbdBodyDef body = lab_at(lab_mesh(&lab, &mesh, 0, false), vec3(0, 0, 0));
  body.angular_velocity[2] = spin;
  *wheel = lab_body_def(&lab, &body);
  AbdJointDef def = joint_def(ABD_JOINT_HINGE, *wheel, world_body, vec3(0, 0, 0), vec3(0, 0, 1));
  def.damping = form->damping;
  def.friction = form->friction;
  def.drive = form->drive;
  memcpy(def.limit, form->limit, sizeof def.limit);
  *shaft = lab_joint(&lab, &def);
  return lab;
}

/* Before, such a wheel passed its stops, and a brake sped it up. */
static void test_fast_wheel(void **state) {
  (void)state;
  const double spin[] = {330, 640, 2000}, torque = 2, damping = 1e-3, time = 0.2;
  AbdJointDef form = abd_default_joint_def();
  for (int k = 0; k < 3; k++) {
    AbdJointId shaft;
    AbdBodyId wheel;
    printf("  %g rad/s:\n", spin[k]);
    AbdJointDef stops = form, brake = form, rubbed = form, damped = form;
    stops.limit[0] = -1, stops.limit[1] = 1;
    brake.drive = speed_drive(0, torque);
    rubbed.friction = torque;
    damped.damping = damping;
    Lab lab = fast_wheel(spin[k], &stops, &shaft, &wheel);
    lab_run(&lab, time);
    AbdJointReading r = lab_read(&lab, shaft);
    lab_expect_near("at its stop [rad]", r.position, 1, 0.02);
    lab_expect_near("rate there [rad/s]", r.rate, 0, 0.1);
    lab_close(&lab);
    for (int kind = 0; kind < 3; kind++) {
      lab = fast_wheel(spin[k], kind == 0 ? &brake : kind == 1 ? &rubbed : &damped, &shaft, &wheel);
      double inertia = wheel_inertia(&lab, wheel);
      double slower = kind == 2 ? spin[k] * (1 - exp(-damping * time / inertia)) : torque * time / inertia;
      lab_run(&lab, time);
      lab_expect_near(kind == 0   ? "braked by [rad/s]"
                      : kind == 1 ? "rubbed"
                                  : "damped",
                      spin[k] - lab_read(&lab, shaft).rate, slower, 0.01 * slower);
      lab_close(&lab);
    }
  }
}

/* A ball is whirled by a rope from an arm that turns with a script. The first steps drive the rope into its stop, and
 * ended there, at 1e11 N, since what was left of Newton's steps moved little. */
static void test_whirled(void **state) {
  (void)state;
  const double spin = 5, radius = 2, mass = 2, dt[] = {0.02, 0.01, 0.005};
  for (int k = 0; k < 3; k++) {
    AbdWorldDef world = world_def(dt[k]);
    world.gravity[2] = 0;
    Lab lab = lab_open(world);
    AbdBodyDef arm = lab_at(lab_box(&lab, 0.2, 0.2, 0.2), vec3(0, 0, 0)), ball = lab_at(arm.mesh, vec3(radius, 0, 0));
    arm.motion = ABD_MOTION_KINEMATIC;
    arm.angular_velocity[2] = spin;
    ball.mass = mass;
    ball.velocity[1] = spin * radius;
    AbdBodyId hub = lab_body_def(&lab, &arm), load = lab_body_def(&lab, &ball);
    AbdJointDef def = joint_def(ABD_JOINT_ROPE, load, hub, vec3(radius, 0, 0), vec3(0, 0, 1));
    vec3_to(def.point_b, vec3(0.5 * radius, 0, 0));
    AbdJointId rope = lab_joint(&lab, &def);
    double most = 0;
    for (int i = 0; i < (int)(1 / dt[k]); i++) {
      lab_step(&lab);
      most = fmax(most, fabs(lab_read(&lab, rope).passive));
    }
    printf("  dt %g:\n", dt[k]);
    lab_expect_below("most tension, in centrifugal forces", most / (mass * spin * spin * radius), 3);
    lab_expect_near("radius [m]", norm(lab_position(&lab, load)), radius, 0.02 * radius);
    lab_close(&lab);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_torque),     cmocka_unit_test(test_speed),       cmocka_unit_test(test_stall),
      cmocka_unit_test(test_servo),      cmocka_unit_test(test_held_arm),    cmocka_unit_test(test_leaning),
      cmocka_unit_test(test_work),       cmocka_unit_test(test_slammed_bar), cmocka_unit_test(test_slammed_travel),
      cmocka_unit_test(test_rope),       cmocka_unit_test(test_spring),      cmocka_unit_test(test_friction),
      cmocka_unit_test(test_fast_wheel), cmocka_unit_test(test_whirled),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
