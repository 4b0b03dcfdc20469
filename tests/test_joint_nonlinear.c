/* Joints that are not linear in the poses, between moving bodies: gaps stay below a millionth of the scene's size, and
 * motions follow closed forms if there are any.
 * Labels: slow */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "mechanism.h"

static void report_iterations(const Lab *lab, const char *what) {
  printf("  %s: %.1f iterations a step, at most %d\n", what, (double)lab->iterations / (double)lab->report.step,
         lab->most_iterations);
}

/* ---- a block on a wedge that slides itself ---- */

/* Block m on a slope fixed to M, which slides freely on a level rail: M moves at m g sin cos / (M + m sin^2),
 * against the block. */
static void slide_down(AbdJointKind kind) {
  const double slope = 0.5, size = 1;
  Lab lab = lab_open(world_def(0.005));
  AbdBodyId wedge = lab_body(&lab, lab_box(&lab, 0.4, 0.3, 0.2), vec3(0, 0, 0), vec3(0, 0, 0));
  Vec3 downhill = vec3(cos(slope), 0, -sin(slope)), normal = vec3(sin(slope), 0, cos(slope)), at = vec3(0, 0, 0.4);
  AbdBodyId block = lab_body(&lab, lab_box(&lab, 0.2, 0.2, 0.2), at, vec3(0, 0, 0));
  lab_join(&lab, ABD_JOINT_SLIDER, wedge, world_body, vec3(0, 0, 0), vec3(1, 0, 0));
  bool plane = kind == ABD_JOINT_PLANE || kind == ABD_JOINT_PLANAR;
  AbdJointId joint = lab_join(&lab, kind, block, wedge, at, plane ? normal : downhill);
  double big = lab_view(&lab, wedge).mass, small = lab_view(&lab, block).mass, gap = 0, time = lab_seconds(0.5, 0.1);
  for (int i = 0, count = (int)(time / lab.def.dt + 0.5); i < count; i++) {
    lab_step(&lab);
    gap = fmax(gap, worst_gap(&lab));
  }
  double a = small * gravity * sin(slope) * cos(slope) / (big + small * sin(slope) * sin(slope)),
         moved = 0.5 * a * time * time;
  double down = 0.5 * (big + small) * gravity * sin(slope) / (big + small * sin(slope) * sin(slope)) * time *
                time; /* relative to the wedge */
  Vec3 p = lab_position(&lab, wedge), q = sub(sub(lab_position(&lab, block), at), p);
  lab_expect_near("wedge moved [m]", p.x, -moved, 0.01 * moved + 2e-3 * time * time);
  lab_expect_near("block moved downhill [m]", dot(q, downhill), down, 0.01 * down);
  if (!plane) lab_expect_near("travel read [m]", lab_read(&lab, joint).travel, dot(q, downhill), 1e-6);
  lab_expect_below("off the slope / size", fabs(dot(q, normal)) / size, 1e-6);
  lab_expect_below("largest gap / size", gap / size, 1e-6);
  report_iterations(&lab, abd_joint_kind_name(kind));
  lab_close(&lab);
}

static void test_wedge(void **state) {
  (void)state;
  const AbdJointKind kind[] = {ABD_JOINT_LINE, ABD_JOINT_PLANE, ABD_JOINT_SLIDER, ABD_JOINT_CYLINDRICAL,
                               ABD_JOINT_PLANAR};
  for (int k = 0; k < 5; k++) slide_down(kind[k]);
}

/* ---- long levers ---- */

/* A body touches the plane of another one at a distance of a hundred times its size; both tumble. Steps that turn the
 * plane's body are whole: without the correction of src/cpu/bend.c they take 315 iterations and 212 halvings. */
static void test_lever(void **state) {
  (void)state;
  AbdWorldDef def = world_def(0.04);
  def.integrator = ABD_INTEGRATOR_EULER;
  def.gravity[2] = 0;
  Lab lab = lab_open(def);
  AbdBodyId plane = lab_body(&lab, lab_box(&lab, 0.1, 0.1, 0.1), vec3(0, 0, 0), vec3(0, 0, 0));
  AbdBodyId other = lab_body(&lab, lab_box(&lab, 0.1, 0.1, 0.1), vec3(10, 0, 0), vec3(3, -2, 1));
  lab_join(&lab, ABD_JOINT_PLANE, other, plane, vec3(10, 0, 0), vec3(0, 1, 0));
  abd_body_set_velocity(lab.world, plane, (double[3]){0, 0, 0}, (double[3]){8, -8, 16});
  abd_body_set_velocity(lab.world, other, (double[3]){3, -2, 1}, (double[3]){5, 7, -3});
  int halvings = 0;
  for (int i = 0; i < 20; i++) {
    lab_step(&lab);
    halvings += lab.report.line_search_steps;
  }
  report_iterations(&lab, "lever");
  lab_expect_below("iterations of 20 steps", (double)lab.iterations, 120);
  lab_expect_below("halvings", halvings, 20);
  lab_expect_below("gap [m]", worst_gap(&lab), 1e-5);
  lab_close(&lab);
}

/* ---- steps that are far too long ---- */

/* A body on a cylindrical joint is hurled at the ground at `factor` times 42 km/s, and spins. Newton's step turns it by
 * thousands of radians. Corrections that close the joint at the end of such a step would grow beyond all numbers: they
 * stop, and the step is halved. */
static void hurl(double factor) {
  AbdWorldDef def = world_def(0.05);
  def.gravity[2] = 0;
  Lab lab = lab_open(def);
  lab_ground(&lab, vec3(0, 0, 1));
  AbdBodyId guide = lab_body(&lab, lab_box(&lab, 0.3, 0.2, 0.1), vec3(0, 0, 0.5), vec3(0, 0, 0));
  AbdBodyId body = lab_body(&lab, lab_box(&lab, 0.1, 0.2, 0.1), vec3(0.5, 0, 0.5), vec3(0, 0, 0));
  lab_join(&lab, ABD_JOINT_CYLINDRICAL, body, guide, vec3(0.35, -0.2, 0.4), vec3(0.6, 0.8, 1));
  Vec3 v = scale(factor, vec3(7e3, 1e4, -4e4)), w = scale(factor, vec3(-7e4, 2e4, -3e4));
  abd_body_set_velocity(lab.world, guide, (double[3]){0, 0, 0}, (double[3]){5, -8, -2});
  abd_body_set_velocity(lab.world, body, (double[3]){v.x, v.y, v.z}, (double[3]){w.x, w.y, w.z});
  for (int i = 0; i < 3; i++) {
    lab_step(&lab);
    printf("  %g times, step %d: %d iterations, gap of the joint %g m\n", factor, i + 1, lab.report.iterations,
           worst_gap(&lab));
  }
  lab_close(&lab);
}

static void test_hurled(void **state) {
  (void)state;
  hurl(1);
  hurl(100);
}

/* ---- every kind on a body that swings ---- */

/* b hangs from a ball joint and is thrown about; a hangs on b by the kind in question. */
static void swing(AbdJointKind kind, bool turned_round) {
  const double size = 1;
  Lab lab = lab_open(world_def(0.01));
  AbdBodyDef def = lab_at(lab_box(&lab, 0.1, 0.15, 0.5), vec3(0.25, 0, 0));
  lab_turn(&def, y_axis, 0.5 * pi);
  vec3_to(def.angular_velocity, vec3(0, 0, 2));
  vec3_to(def.velocity, vec3(0, 0.5, 0));
  AbdBodyId carrier = lab_body_def(&lab, &def);
  AbdBodyId rider = lab_body(&lab, lab_box(&lab, 0.2, 0.2, 0.3), vec3(0.7, 0.05, 0.1), vec3(0, 0.5, 0));
  lab_join(&lab, ABD_JOINT_BALL, carrier, world_body, vec3(0, 0, 0), vec3(0, 0, 0));
  AbdJointDef joint =
      joint_def(kind, turned_round ? carrier : rider, turned_round ? rider : carrier, vec3(0.5, 0, 0), vec3(1, 1, 0.3));
  vec3_to(joint.axis_b, cross(vec3(1, 1, 0.3), vec3(0, 0, 1)));
  joint.pitch = 0.1;
  if (kind == ABD_JOINT_DISTANCE) vec3_to(joint.point_b, vec3(0.6, 0.05, 0.1));
  AbdJointId id = lab_joint(&lab, &joint);
  double worst = 0, turn = 0;
  for (int i = 0, count = (int)lab_seconds(200, 40); i < count; i++) {
    lab_step(&lab);
    worst = fmax(worst, fmax(worst_gap(&lab), lab.report.joint_residual));
    AbdJointReading r = lab_read(&lab, id);
    if (kind == ABD_JOINT_SCREW && fabs(r.travel - 0.1 / (2 * pi) * r.angle) > 1e-6)
      fail_msg("step %d: travel %g at angle %g", i, r.travel, r.angle);
    turn = fmax(turn, norm(lab_spin(&lab, rider)));
  }
  char what[64];
  snprintf(what, sizeof what, "%s%s, gap / size", abd_joint_kind_name(kind), turned_round ? " turned round" : "");
  lab_expect_below(what, worst / size, 1e-6);
  report_iterations(&lab, abd_joint_kind_name(kind));
  assert_true(turn > 1);
  lab_close(&lab);
}

static void test_swinging(void **state) {
  (void)state;
  const AbdJointKind kind[] = {ABD_JOINT_LINE,        ABD_JOINT_PLANE,  ABD_JOINT_SLIDER,
                               ABD_JOINT_CYLINDRICAL, ABD_JOINT_PLANAR, ABD_JOINT_UNIVERSAL,
                               ABD_JOINT_DISTANCE,    ABD_JOINT_SCREW,  ABD_JOINT_ANGLE};
  for (int k = 0; k < 9; k++)
    for (int round = 0; round < 2; round++) swing(kind[k], round);
}

/* ---- closed forms ---- */

/* A bob held at its centre: the simple pendulum. */
static void test_distance_pendulum(void **state) {
  (void)state;
  const double length = 1, start = 10 * pi / 180;
  Lab lab = lab_open(world_def(0.002));
  Vec3 bob_at = vec3(length * sin(start), 0, -length * cos(start));
  AbdBodyId bob = lab_body(&lab, lab_box(&lab, 0.1, 0.1, 0.1), bob_at, vec3(0, 0, 0));
  AbdJointDef def = joint_def(ABD_JOINT_DISTANCE, bob, world_body, bob_at, vec3(0, 0, 0));
  vec3_to(def.point_b, vec3(0, 0, 0));
  AbdJointId rod = lab_joint(&lab, &def);
  double before = bob_at.x, time = 0, expected = 2 * pi * sqrt(length / gravity) * (1 + start * start / 16),
         tension = 0, gap = 0;
  int crossings = 0;
  for (int i = 0; i < 2000 && crossings < 2; i++) {
    lab_step(&lab);
    double x = lab_position(&lab, bob).x;
    if (x * before < 0 && ++crossings == 2) time = lab.report.time - lab.def.dt * fabs(x) / fabs(x - before);
    if (x * before < 0) tension = norm(vec3_from(lab_read(&lab, rod).force));
    before = x;
    gap = fmax(gap, lab.report.joint_residual);
  }
  double m = lab_view(&lab, bob).mass, lowest = m * gravity * (1 + 2 * (1 - cos(start)));
  lab_expect_near("period [s]", time / 0.75, expected, 0.002 * expected);
  lab_expect_near("force at the lowest point [N]", tension, lowest, 0.01 * lowest);
  lab_expect_below("largest gap / size", gap / length, 1e-6);
  report_iterations(&lab, "distance");
  lab_close(&lab);
}

static AbdJointId add_nut(Lab *lab, double pitch, AbdBodyId *nut) {
  MeshData mesh = {0};
  assert_true(shape_cylinder(0.1, 0.05, 24, &mesh));
  *nut = lab_body(lab, lab_mesh(lab, &mesh, 0, false), vec3(0, 0, 0), vec3(0, 0, 0));
  AbdJointDef def = joint_def(ABD_JOINT_SCREW, *nut, world_body, vec3(0, 0, 0), vec3(0, 0, -1));
  def.pitch = pitch;
  return lab_joint(lab, &def);
}

/* A nut that its weight winds down a fixed screw: m g = (m + I (2 pi / pitch)^2) a. */
static void test_screw(void **state) {
  (void)state;
  const double pitch = 0.5;
  Lab lab = lab_open(world_def(0.005));
  AbdBodyId nut;
  AbdJointId screw = add_nut(&lab, pitch, &nut);
  AbdBodyView v = lab_view(&lab, nut);
  double inertia = fmax(v.inertia[0], fmax(v.inertia[1], v.inertia[2])), per_turn = 2 * pi / pitch,
         time = lab_seconds(0.6, 0.2), gap = 0;
  double a = gravity / (1 + inertia / v.mass * per_turn * per_turn);
  for (int i = 0, count = (int)(time / lab.def.dt + 0.5); i < count; i++) {
    lab_step(&lab);
    AbdJointReading r = lab_read(&lab, screw);
    gap = fmax(gap, fabs(r.travel - pitch * r.angle / (2 * pi)));
  }
  lab_expect_near("travel [m]", lab_read(&lab, screw).travel, 0.5 * a * time * time, 0.02 * 0.5 * a * time * time);
  lab_expect_below("travel - pitch x turns [m]", gap, 1e-6);
  report_iterations(&lab, "screw");
  lab_close(&lab);
}

/* A new world goes on from a snapshot with the same bits, also after several turns. */
static void test_turns_resume(void **state) {
  (void)state;
  Lab lab[2] = {lab_open(world_def(0.005)), lab_open(world_def(0.005))};
  AbdBodyId nut;
  AbdJointId screw = {0};
  for (int k = 0; k < 2; k++) {
    screw = add_nut(&lab[k], 0.5, &nut);
    lab_expect_ok(&lab[k], abd_world_start(lab[k].world));
  }
  for (int k = 0; k < 300 && fabs(lab_read(&lab[0], screw).angle) < 10; k++) lab_step(&lab[0]);
  assert_true(fabs(lab_read(&lab[0], screw).angle) >= 10);
  size_t size = abd_world_snapshot_size(lab[0].world);
  void *bytes = malloc(size);
  lab_expect_ok(&lab[0], abd_world_save(lab[0].world, bytes, size));
  lab_expect_ok(&lab[1], abd_world_restore(lab[1].world, bytes, size));
  free(bytes);
  for (int k = 0; k < 2; k++) lab_step(&lab[k]);
  assert_true(abd_world_hash(lab[0].world) == abd_world_hash(lab[1].world));
  for (int k = 0; k < 2; k++) lab_close(&lab[k]);
}

static AbdBodyId add_wheel(Lab *lab, double radius, Vec3 at) {
  MeshData mesh = {0};
  assert_true(shape_cylinder(radius, 0.05, 24, &mesh));
  return lab_body(lab, lab_mesh(lab, &mesh, 0, false), at, vec3(0, 0, 0));
}

static double wheel_inertia(const Lab *lab, AbdBodyId wheel) {
  AbdBodyView v = lab_view(lab, wheel);
  return fmax(v.inertia[0], fmax(v.inertia[1], v.inertia[2]));
}

/* Two wheels tied by a gear, a torque on the first: (I + ratio^2 I') a = torque. Turns are many: angles are
 * unwrapped. */
static void test_gear(void **state) {
  (void)state;
  const double ratio = -2.5, torque = 0.5;
  const Vec3 up = vec3(0, 0, 1);
  Lab lab = lab_open(world_def(0.005));
  AbdBodyId first = add_wheel(&lab, 0.2, vec3(0, 0, 0)), second = add_wheel(&lab, 0.1, vec3(0.5, 0, 0));
  AbdJointDef def = joint_def(ABD_JOINT_HINGE, first, world_body, vec3(0, 0, 0), up);
  def.drive = (AbdDrive){.kind = ABD_DRIVE_EFFORT, .target = torque, .max_effort = INFINITY};
  AbdJointId a = lab_joint(&lab, &def), b = lab_join(&lab, ABD_JOINT_HINGE, second, world_body, vec3(0.5, 0, 0), up);
  AbdJointDef gear = joint_def(ABD_JOINT_GEAR, world_body, world_body, vec3(0, 0, 0), vec3(0, 0, 0));
  gear.joint_a = a;
  gear.joint_b = b;
  gear.ratio = ratio;
  lab_joint(&lab, &gear);
  double alpha = torque / (wheel_inertia(&lab, first) + ratio * ratio * wheel_inertia(&lab, second)),
         time = lab_seconds(2, 0.3), gap = 0;
  for (int i = 0, count = (int)(time / lab.def.dt + 0.5); i < count; i++) {
    lab_step(&lab);
    gap = fmax(gap, fabs(lab_read(&lab, b).position - ratio * lab_read(&lab, a).position));
  }
  lab_expect_near("angle [rad]", lab_read(&lab, a).position, 0.5 * alpha * time * time,
                  0.02 * 0.5 * alpha * time * time);
  lab_expect_below("angle' - ratio x angle [rad]", gap, 1e-6);
  assert_true(fabs(lab_read(&lab, b).position) > (time > 1 ? 2 * pi : 0));
  report_iterations(&lab, "gear");
  lab_close(&lab);
}

/* A rack falls and turns its pinion: (m + I / r^2) a = m g. */
static void test_rack(void **state) {
  (void)state;
  const double radius = 0.1;
  Lab lab = lab_open(world_def(0.005));
  AbdBodyId pinion = add_wheel(&lab, radius, vec3(0, 0, 0)),
            rack = lab_body(&lab, lab_box(&lab, 0.02, 0.05, 0.5), vec3(0.3, 0, 0), vec3(0, 0, 0));
  AbdJointId shaft = lab_join(&lab, ABD_JOINT_HINGE, pinion, world_body, vec3(0, 0, 0), vec3(0, 0, 1));
  AbdJointId rail = lab_join(&lab, ABD_JOINT_SLIDER, rack, world_body, vec3(0.3, 0, 0), vec3(0, 0, 1));
  AbdJointDef gear = joint_def(ABD_JOINT_GEAR, world_body, world_body, vec3(0, 0, 0), vec3(0, 0, 0));
  gear.joint_a = shaft;
  gear.joint_b = rail;
  gear.ratio = radius;
  lab_joint(&lab, &gear);
  double m = lab_view(&lab, rack).mass, time = lab_seconds(0.4, 0.1), gap = 0;
  double a = m * gravity / (m + wheel_inertia(&lab, pinion) / (radius * radius));
  for (int i = 0, count = (int)(time / lab.def.dt + 0.5); i < count; i++) {
    lab_step(&lab);
    gap = fmax(gap, fabs(lab_read(&lab, rail).position - radius * lab_read(&lab, shaft).position));
  }
  double fallen = -0.5 * a * time * time;
  lab_expect_near("travel [m]", lab_read(&lab, rail).position, fallen, 0.025 * fabs(fallen));
  lab_expect_below("travel - radius x angle [m]", gap, 1e-6);
  report_iterations(&lab, "rack");
  lab_close(&lab);
}

/* A hinge whose angle is kept is a weld. */
static void test_angle_is_weld(void **state) {
  (void)state;
  Vec3 end[2];
  for (int k = 0; k < 2; k++) {
    const double l = 0.5;
    Lab lab = lab_open(world_def(0.005));
    AbdMeshId mesh = lab_box(&lab, 0.05, 0.05, l);
    Vec3 elbow = vec3(l * sin(1.2), 0, -l * cos(1.2));
    AbdBodyId upper = add_bar(&lab, mesh, l, vec3(0, 0, 0), 1.2), lower = add_bar(&lab, mesh, l, elbow, 2.2);
    lab_join(&lab, ABD_JOINT_HINGE, upper, world_body, vec3(0, 0, 0), y_axis);
    lab_join(&lab, k ? ABD_JOINT_HINGE : ABD_JOINT_WELD, lower, upper, elbow, y_axis);
    if (k) lab_join(&lab, ABD_JOINT_ANGLE, lower, upper, elbow, y_axis);
    lab_run(&lab, lab_seconds(1, 0.2));
    lab_expect_below("gap / size", worst_gap(&lab), 1e-6);
    end[k] = lab_position(&lab, lower);
    if (k) report_iterations(&lab, "angle");
    lab_close(&lab);
  }
  lab_expect_below("hinge and angle off the weld [m]", norm(sub(end[0], end[1])), 1e-5);
}

/* A body whose angle about an axis is kept tumbles through the pose with the opposite axis, near which the angle jumps.
 * The equation is smooth there: the energy is kept. */
static void test_angle_of_opposite_axes(void **state) {
  (void)state;
  AbdWorldDef world = world_def(0.01);
  for (int k = 0; k < 3; k++) world.gravity[k] = 0;
  Lab lab = lab_open(world);
  AbdBodyDef def = lab_at(lab_box(&lab, 0.3, 0.31, 0.28), vec3(0, 0, 0));
  vec3_to(def.angular_velocity, vec3(5, 0.05, 0));
  AbdBodyId body = lab_body_def(&lab, &def);
  lab_join(&lab, ABD_JOINT_ANGLE, body, world_body, vec3(0, 0, 0), vec3(0, 0, 1));
  double most_up = -1, least_up = 1, gap = 0, energy[2] = {INFINITY, 0};
  for (int k = 0; k < 400; k++) {
    lab_step(&lab);
    double up = lab_pose(&lab, body).n[3].z, kinetic = lab.report.energy[ABD_TERM_KINETIC];
    most_up = fmax(most_up, up), least_up = fmin(least_up, up);
    energy[0] = fmin(energy[0], kinetic), energy[1] = fmax(energy[1], kinetic);
    gap = fmax(gap, lab.report.joint_residual);
  }
  lab_expect_below("gap [m]", gap, 1e-6);
  lab_expect_below("axis from the opposite one", least_up + 1, 1e-2);
  lab_expect_below("axis from its start", 1 - most_up, 1e-2);
  lab_expect_below("energy lost or gained", (energy[1] - energy[0]) / energy[1], 1e-3);
  report_iterations(&lab, "angle of opposite axes");
  lab_close(&lab);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_wedge),
      cmocka_unit_test(test_lever),
      cmocka_unit_test(test_hurled),
      cmocka_unit_test(test_swinging),
      cmocka_unit_test(test_distance_pendulum),
      cmocka_unit_test(test_screw),
      cmocka_unit_test(test_gear),
      cmocka_unit_test(test_rack),
      cmocka_unit_test(test_angle_is_weld),
      cmocka_unit_test(test_angle_of_opposite_axes),
      cmocka_unit_test(test_turns_resume),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
