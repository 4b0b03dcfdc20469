/* The constants of joints, measured through the public header: the barriers of stops (the law is that of contacts,
 * docs/method.md section 4), dry friction, drives by speed, and how joints that are not linear are closed. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "kernel/barrier.h"
#include "mechanism.h"

static const Vec3 zero = {0, 0, 0};
static const double range = 1e-3, dt = 0.01;

/* A box on a vertical slider, a gap above its lower stop. */
typedef struct Slide {
  Lab lab;
  AbdBodyId body;
  AbdJointId joint;
  double mass, gap, stop_range;
} Slide;

static Slide slide_open(double contact_range, double gap, double room, Vec3 velocity, Vec3 pull) {
  AbdWorldDef def = world_def(dt);
  def.contact.range = contact_range;
  def.solver.tolerance = 1e-7;
  vec3_to(def.gravity, pull);
  Slide s = {.lab = lab_open(def), .gap = gap, .stop_range = fmin(contact_range, 0.25 * room)};
  s.body = lab_body(&s.lab, lab_box(&s.lab, 0.1, 0.1, 0.1), zero, velocity);
  s.mass = lab_view(&s.lab, s.body).mass;
  AbdJointDef joint = joint_def(ABD_JOINT_SLIDER, s.body, world_body, zero, vec3(0, 0, 1));
  joint.limit[0] = -gap;
  joint.limit[1] = room - gap;
  s.joint = lab_joint(&s.lab, &joint);
  return s;
}

static void slide_push(Slide *s, double effort) {
  AbdDrive drive = {.kind = ABD_DRIVE_EFFORT, .target = effort, .max_effort = INFINITY};
  lab_expect_ok(&s->lab, abd_joint_set_drive(s->lab.world, s->joint, &drive));
}

static double slide_y(const Slide *s) { return (lab_read(&s->lab, s->joint).position + s->gap) / s->stop_range; }

/* [J] of the stop's barrier. */
static double slide_stiffness(const Slide *s) {
  return lab_read(&s->lab, s->joint).passive * s->stop_range / -barrier_d1(slide_y(s));
}

/* A stop carries thirty times the weight. The range of two stops near each other is a quarter of the room between
 * them. */
static void test_weight(void **state) {
  (void)state;
  const double room[] = {INFINITY, 2 * range};
  for (int i = 0; i < 2; i++) {
    Slide s = slide_open(range, 0.5 * fmin(room[i], 2 * range), room[i], zero, vec3(0, 0, -gravity));
    for (int k = 0; k < 200; k++) lab_step(&s.lab);
    lab_expect_near("stiffness / weight times the range", slide_stiffness(&s) / (s.mass * gravity * range), 30, 0.03);
    lab_expect_near("gap at rest / range", slide_y(&s), i ? 0.933 : 0.898, 0.01);
    lab_close(&s.lab);
  }
}

static void test_inertia(void **state) {
  (void)state;
  const double long_range = 0.02;
  Slide s = slide_open(long_range, 0.99 * long_range, INFINITY, zero, vec3(0, 0, -gravity));
  for (int k = 0; k < 3; k++) lab_step(&s.lab);
  double at_half = slide_stiffness(&s) * barrier_d2(0.5) / (long_range * long_range);
  lab_expect_near("inertias at half the range", at_half * dt * dt / s.mass, 40, 0.01);
  lab_close(&s.lab);
}

static void test_impact(void **state) {
  (void)state;
  const double speed = 5, way = speed * dt;
  Slide s = slide_open(range, 0.9 * range, INFINITY, vec3(0, 0, -speed), zero);
  lab_step(&s.lab);
  lab_expect_near("stiffness / m way range", slide_stiffness(&s) * dt * dt / (s.mass * way * range), 1, 1e-5);
  lab_close(&s.lab);
}

/* A drive pushes by a tenth more in each step, then by a tenth less. The stop's stiffness doubles if a step begins
 * below a tenth of the range, up to a million times. Above half of the range it falls to what carries the same force
 * there, to a quarter at least. */
static void test_stiffening(void **state) {
  (void)state;
  Slide s = slide_open(range, 0.999 * range, INFINITY, zero, zero);
  double first = 40 / barrier_d2(0.5) * s.mass * range * range / (dt * dt), factor = 1, y = 1, load = 1, largest = 1;
  for (int i = 0; i < 400; i++) {
    slide_push(&s, -load * first / range);
    lab_step(&s.lab);
    if (y < 0.1 && factor < 1e6) factor *= 2;
    else if (y > 0.5) factor = fmax(1, fmax(0.25, barrier_d1(y) / barrier_d1(0.5)) * factor);
    y = slide_y(&s);
    double found = slide_stiffness(&s) / first;
    if (y > 0.95) break;
    if (fabs(found / factor - 1) > 1e-3)
      fail_msg("step %d: %.6g times the first stiffness, expected %.6g; gap %g", i, found, factor, y);
    largest = fmax(largest, factor);
    load *= i < 200 ? 1.1 : 0.9;
  }
  lab_expect_near("log2 of the largest factor", log2(largest), 20, 1e-9);
  lab_close(&s.lab);
}

/* The drive pushes at once. A gap that is halved below a tenth of the range makes the stop eight times stiffer
 * within the step. */
static void test_guard(void **state) {
  (void)state;
  const struct {
    double load, factor, y;
  } expected[] = {{12, 1, 0.103}, {30, 8, 0.2774}, {100, 8, 0.09809}, {1000, 64, 0.0779}, {1e4, 64, 0.006743}};
  for (int i = 0; i < 5; i++) {
    Slide s = slide_open(range, 0.999 * range, INFINITY, zero, zero);
    double first = 40 / barrier_d2(0.5) * s.mass * range * range / (dt * dt);
    slide_push(&s, -expected[i].load * first / range);
    lab_step(&s.lab);
    lab_expect_near("times stiffer", slide_stiffness(&s) / first, expected[i].factor, 1e-3 * expected[i].factor);
    lab_expect_near("gap / range", slide_y(&s), expected[i].y, 0.02 * expected[i].y);
    lab_close(&s.lab);
  }
}

/* A hinge through the middle of a long bar. */
typedef struct Wheel {
  Lab lab;
  AbdBodyId body;
  AbdJointId joint;
} Wheel;

static Wheel wheel_with(AbdIntegrator integrator, double friction, AbdDrive drive, double stop, double spin) {
  AbdWorldDef def = world_def(dt);
  def.integrator = integrator;
  vec3_to(def.gravity, zero);
  def.solver.tolerance = 1e-9;
  Wheel w = {.lab = lab_open(def)};
  AbdBodyDef bar = lab_at(lab_box(&w.lab, 1, 0.1, 0.1), zero);
  vec3_to(bar.angular_velocity, vec3(0, spin, 0));
  w.body = lab_body_def(&w.lab, &bar);
  AbdJointDef joint = joint_def(ABD_JOINT_HINGE, w.body, world_body, zero, y_axis);
  joint.limit[0] = -stop;
  joint.limit[1] = stop;
  joint.friction = friction;
  joint.drive = drive;
  w.joint = lab_joint(&w.lab, &joint);
  return w;
}

static Wheel wheel_open(double friction, AbdDrive drive, double stop, double spin) {
  return wheel_with(ABD_INTEGRATOR_RIGID, friction, drive, stop, spin);
}

/* Dry friction under half of its limit lets a hinge turn by half of 1e-5. */
static void test_dry_friction(void **state) {
  (void)state;
  Wheel w = wheel_open(10, (AbdDrive){.kind = ABD_DRIVE_EFFORT, .target = 5, .max_effort = INFINITY}, INFINITY, 0);
  for (int k = 0; k < 50; k++) lab_step(&w.lab);
  lab_expect_near("angle under half the friction", lab_read(&w.lab, w.joint).position / 1e-5, 0.5, 0.01);
  lab_close(&w.lab);
}

/* A drive by speed without a maximum is a damper of a thousand inertias: the first step is short of the speed by so
 * much. */
static void test_drive_stiffness(void **state) {
  (void)state;
  Wheel w = wheel_open(0, (AbdDrive){.kind = ABD_DRIVE_SPEED, .target = 1, .max_effort = INFINITY}, INFINITY, 0);
  lab_step(&w.lab);
  lab_expect_near("speed missing in the first step", 1 - lab_read(&w.lab, w.joint).rate, 3.466e-4, 1e-5);
  lab_close(&w.lab);
}

/* A drive with a maximum gives way within a tenth of a step's motion. Half of its maximum slows it by about a
 * twenty-fifth. It learns the load in some twenty steps and overshoots by a twentieth. */
static void test_drive_load(void **state) {
  (void)state;
  Wheel w = wheel_open(0, (AbdDrive){.kind = ABD_DRIVE_SPEED, .target = 1, .max_effort = 10}, INFINITY, 0);
  for (int k = 0; k < 40; k++) lab_step(&w.lab);
  lab_expect_ok(&w.lab, abd_body_set_force(w.lab.world, w.body, (double[3]){0}, (double[3]){0, -5, 0}));
  double slowest = 1, effort = 0;
  for (int k = 0; k < 20; k++) {
    lab_step(&w.lab);
    AbdJointReading r = lab_read(&w.lab, w.joint);
    slowest = fmin(slowest, r.rate);
    effort = fmax(effort, r.effort);
  }
  lab_expect_near("speed lost", 1 - slowest, 0.041, 0.0025);
  lab_expect_near("largest effort", effort, 5.254, 0.07);
  lab_expect_near("speed lost after twenty steps", 1 - lab_read(&w.lab, w.joint).rate, 0.008, 0.002);
  lab_close(&w.lab);
}

/* A bar spins on a hinge with far stops. An iteration turns it by less than a quarter, so that its turns can be
 * counted. The first iteration of implicit Euler would turn it farther. The bar does not pass a stop that it reaches
 * in the step. */
static void test_turns(void **state) {
  (void)state;
  Wheel euler = wheel_with(ABD_INTEGRATOR_EULER, 0, (AbdDrive){.kind = ABD_DRIVE_NONE}, 1000, 1.6 / dt);
  lab_step(&euler.lab);
  lab_expect_near("length of the step", euler.lab.report.step_length, 0.8657, 0.003);
  lab_close(&euler.lab);
  Wheel free = wheel_open(0, (AbdDrive){.kind = ABD_DRIVE_NONE}, 1000, 1.6 / dt);
  for (int k = 0; k < 10; k++) lab_step(&free.lab);
  lab_expect_near("angle after ten steps", lab_read(&free.lab, free.joint).position, 16, 1e-6);
  lab_close(&free.lab);
  const AbdIntegrator both[] = {ABD_INTEGRATOR_EULER, ABD_INTEGRATOR_RIGID};
  for (int i = 0; i < 2; i++) {
    Wheel stopped = wheel_with(both[i], 0, (AbdDrive){.kind = ABD_DRIVE_NONE}, 1, 2 / dt);
    lab_step(&stopped.lab);
    lab_expect_near("angle", lab_read(&stopped.lab, stopped.joint).position, 0.998, 0.001);
    lab_close(&stopped.lab);
  }
}

/* A chain of four bars turns as one, by bdf2: a flight would need no iterations. Newton bends a step only if it turns a
 * bar by more than 1e-4, and the last steps turn less. */
static void test_chain(void **state) {
  (void)state;
  const double spin = 0.1 / dt, l = 0.1;
  AbdWorldDef def = world_def(dt);
  def.integrator = ABD_INTEGRATOR_BDF2;
  vec3_to(def.gravity, zero);
  def.solver.tolerance = 1e-6;
  Lab lab = lab_open(def);
  AbdMeshId box = lab_box(&lab, l, 0.03, 0.03);
  AbdBodyId before = world_body;
  for (int i = 0; i < 4; i++) {
    AbdBodyDef bar = lab_at(box, vec3(l * (i + 0.5), 0, 0));
    bar.group = 1;
    vec3_to(bar.angular_velocity, vec3(0, spin, 0));
    vec3_to(bar.velocity, vec3(0, 0, -spin * l * (i + 0.5)));
    AbdBodyId link = lab_body_def(&lab, &bar);
    lab_join(&lab, ABD_JOINT_BALL, link, before, vec3(l * i, 0, 0), y_axis);
    before = link;
  }
  for (int k = 0; k < 30; k++) lab_step(&lab);
  lab_expect_near("iterations", (double)lab.iterations, 118, 8);
  lab_close(&lab);
}

/* How many iterations the steps of a load on a rod took, and the largest gap that they left. */
typedef struct Rod {
  int64_t iterations;
  double gap;
} Rod;

/* A bar swings by its end on a rod, by implicit Euler: a flight would need no iterations. A block so many times heavier
 * hangs on a ball joint at its other end. */
static Rod swing_rod(double heavier, int steps, double contact_range) {
  AbdWorldDef def = world_def(dt);
  def.integrator = ABD_INTEGRATOR_EULER;
  def.contact.range = contact_range;
  Lab lab = lab_open(def);
  AbdBodyId bar = lab_body(&lab, lab_box(&lab, 1, 0.1, 0.1), zero, zero);
  AbdJointDef joint = joint_def(ABD_JOINT_DISTANCE, bar, world_body, vec3(0.5, 0, 0), y_axis);
  vec3_to(joint.point_b, vec3(1, 0, 0.2));
  lab_joint(&lab, &joint);
  if (heavier > 0) {
    AbdBodyDef block = lab_at(lab_box(&lab, 0.1, 0.1, 1), vec3(-0.5, 0, -0.6));
    block.density = 1e3 * heavier;
    lab_join(&lab, ABD_JOINT_BALL, lab_body_def(&lab, &block), bar, vec3(-0.5, 0, 0), y_axis);
  }
  Rod rod = {0};
  for (int k = 0; k < steps; k++) {
    lab_step(&lab);
    rod.gap = fmax(rod.gap, lab.report.joint_residual);
  }
  rod.iterations = lab.iterations;
  lab_close(&lab);
  return rod;
}

/* The penalty of a joint that is not linear is a thousand inertias of its own bodies, and ten times more after each
 * renewal of the multipliers that closes it by less than nine tenths. It ends closed to 1e-7 of the scene's size, or a
 * thousandth of the range. */
static void test_rod(void **state) {
  (void)state;
  Rod alone = swing_rod(0, 100, range), loaded = swing_rod(1e4, 50, range), fine = swing_rod(0, 20, 2e-5);
  lab_expect_near("iterations", (double)alone.iterations, 393, 15);
  lab_expect_near("iterations, loaded", (double)loaded.iterations, 566, 35);
  lab_expect_below("gap", alone.gap, 1.03e-7);
  lab_expect_below("gap, range of 2e-5", fine.gap, 2.01e-8);
}

/* A light bar, whose turns about an axis the world stops, carries a block 10^8 times as heavy on a hinge with a spring.
 * The block's torque strains the bar, and the twist of a strained body depends on the poses that it refers to. If they
 * followed every iteration, the energy would change with them: 4,268 iterations. */
static void test_twist(void **state) {
  (void)state;
  AbdWorldDef def = world_def(0.4 * dt);
  def.integrator = ABD_INTEGRATOR_EULER;
  Lab lab = lab_open(def);
  Vec3 at = vec3(-0.2, 0.2, 0.15);
  AbdBodyDef bar = lab_at(lab_box(&lab, 0.05, 0.0025, 0.0025), zero),
             block = lab_at(lab_box(&lab, 0.5, 0.45, 0.35), at);
  bar.density = 30;
  bar.stiffness = 1e10;
  block.density = 7e3;
  bar.group = block.group = 1;
  vec3_to(block.angular_velocity, vec3(5, 1, -8));
  AbdBodyId light = lab_body_def(&lab, &bar), heavy = lab_body_def(&lab, &block);
  lab_join(&lab, ABD_JOINT_ANGLE, light, world_body, zero, unit(vec3(0.7, -0.4, 0.5)));
  AbdJointDef hinge = joint_def(ABD_JOINT_HINGE, heavy, light, at, unit(vec3(-0.56, -0.66, 0.49)));
  hinge.stiffness = 12;
  lab_joint(&lab, &hinge);
  for (int k = 0; k < 20; k++) lab_step(&lab);
  lab_expect_near("iterations", (double)lab.iterations, 2114, 400);
  lab_close(&lab);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_weight),          cmocka_unit_test(test_inertia),    cmocka_unit_test(test_impact),
      cmocka_unit_test(test_stiffening),      cmocka_unit_test(test_guard),      cmocka_unit_test(test_dry_friction),
      cmocka_unit_test(test_drive_stiffness), cmocka_unit_test(test_drive_load), cmocka_unit_test(test_rod),
      cmocka_unit_test(test_chain),           cmocka_unit_test(test_turns),      cmocka_unit_test(test_twist)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
