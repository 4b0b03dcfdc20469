/* Mechanisms against closed forms: pendulums, linkages in closed loops, a universal joint, a gyroscope.
 * Labels: slow */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "mechanism.h"

/* ---- pendulums -------------------------------------------------------------------------------------------------- */

/* Complete elliptic integral of the first kind by the arithmetic-geometric mean. */
static double elliptic_k(double k) {
  double a = 1, g = sqrt(1 - k * k);
  while (fabs(a - g) > 1e-15) {
    double mean = 0.5 * (a + g);
    g = sqrt(a * g);
    a = mean;
  }
  return 0.5 * pi / a;
}

static void check_period(double degrees) {
  const double l = 1, t = 0.05, start = degrees * pi / 180;
  Lab lab = lab_open(world_def(0.001));
  AbdBodyId bar = add_bar(&lab, lab_box(&lab, t, t, l), l, vec3(0, 0, 0), start);
  AbdJointId hinge = lab_join(&lab, ABD_JOINT_HINGE, bar, world_body, vec3(0, 0, 0), vec3(0, -1, 0));
  double inertia = (l * l + t * t) / 12 + 0.25 * l * l,
         expected = 4 * sqrt(inertia / (gravity * 0.5 * l)) * elliptic_k(sin(0.5 * start));
  /* From rest at the start to the second crossing of the vertical: three quarters of a period. */
  double before = start, time = -1;
  int crossings = 0;
  for (int i = 0; i < 20000 && crossings < 2; i++) {
    lab_step(&lab);
    double angle = start + lab_read(&lab, hinge).position;
    if (before * angle < 0 && ++crossings == 2)
      time = lab.report.time - lab.def.dt * fabs(angle) / fabs(angle - before);
    before = angle;
  }
  lab_expect_near("period [s]", time / 0.75, expected, 0.002 * expected);
  lab_expect_below("largest gap [m]", worst_gap(&lab), 1e-10);
  printf("  iterations a step %.2f\n", (double)lab.iterations / (double)lab.report.step);
  lab_close(&lab);
}

static void test_pendulum_period(void **state) {
  (void)state;
  const double degrees[] = {10, 90, 170};
  for (int k = 0; k < 3; k++) check_period(degrees[k]);
}

/* Two bars of mass m, length l, moments about their centres i: angles to the vertical a, b. Lagrange's equations. */
typedef struct Double {
  double a, b, da, db;
} Double;

static Double double_rate(Double s, double l, double m, double i) {
  double h = 0.5 * l, c = cos(s.a - s.b), d = sin(s.a - s.b);
  double m11 = i + m * h * h + m * l * l, m22 = i + m * h * h, m12 = m * l * h * c;
  double f1 = -m * l * h * d * s.db * s.db - (m * h + m * l) * gravity * sin(s.a),
         f2 = m * l * h * d * s.da * s.da - m * h * gravity * sin(s.b);
  double det = m11 * m22 - m12 * m12;
  return (Double){s.da, s.db, (m22 * f1 - m12 * f2) / det, (m11 * f2 - m12 * f1) / det};
}

static Double double_add(Double s, double f, Double r) {
  return (Double){s.a + f * r.a, s.b + f * r.b, s.da + f * r.da, s.db + f * r.db};
}

static Double double_reference(Double s, double l, double m, double i, double time) {
  int n = 200000;
  double h = time / n;
  for (int k = 0; k < n; k++) {
    Double a = double_rate(s, l, m, i), b = double_rate(double_add(s, 0.5 * h, a), l, m, i),
           c = double_rate(double_add(s, 0.5 * h, b), l, m, i), d = double_rate(double_add(s, h, c), l, m, i);
    s = double_add(double_add(double_add(double_add(s, h / 6, a), h / 3, b), h / 3, c), h / 6, d);
  }
  return s;
}

static void test_double_pendulum(void **state) {
  (void)state;
  const double l = 0.5, t = 0.04, a = 1.2, b = 2.0;
  Lab lab = lab_open(world_def(0.001));
  AbdMeshId mesh = lab_box(&lab, t, t, l);
  Vec3 elbow = vec3(l * sin(a), 0, -l * cos(a));
  AbdBodyId upper = add_bar(&lab, mesh, l, vec3(0, 0, 0), a), lower = add_bar(&lab, mesh, l, elbow, b);
  lab_join(&lab, ABD_JOINT_HINGE, upper, world_body, vec3(0, 0, 0), y_axis);
  lab_join(&lab, ABD_JOINT_HINGE, lower, upper, elbow, y_axis);
  double m = lab_view(&lab, upper).mass, i = m * (l * l + t * t) / 12, time = lab_seconds(2, 0.3);
  lab_run(&lab, time);
  Double end = double_reference((Double){a, b, 0, 0}, l, m, i, time);
  Vec3 tip = affine_point(&(Affine){{vec3(0, 0, 0), vec3(1, 0, 0), vec3(0, 1, 0), vec3(0, 0, 1)}},
                          vec3(l * sin(end.a) + 0.5 * l * sin(end.b), 0, -l * cos(end.a) - 0.5 * l * cos(end.b)));
  lab_expect_below("lower bar's centre off the reference [m]", norm(sub(lab_position(&lab, lower), tip)), 0.01 * 2 * l);
  lab_expect_below("largest gap [m]", worst_gap(&lab), 1e-10);
  printf("  iterations a step %.2f\n", (double)lab.iterations / (double)lab.report.step);
  lab_close(&lab);
}

/* ---- closed loops ----------------------------------------------------------------------------------------------- */

/* A bar of the mesh whose long side is x, between two points of the x-z plane. */
static AbdBodyId add_link(Lab *lab, double thickness, Vec3 from, Vec3 to) {
  Vec3 along = sub(to, from);
  AbdBodyDef def = lab_at(lab_box(lab, norm(along), thickness, thickness), scale(0.5, add(from, to)));
  lab_turn(&def, y_axis, -atan2(along.z, along.x));
  return lab_body_def(lab, &def);
}

/* Angles here grow from x to z: about -y. */
static const Vec3 back = {0, -1, 0};

static Vec3 ahead(Vec3 from, double length, double angle) {
  return add_scaled(from, length, vec3(cos(angle), 0, sin(angle)));
}

/* The angle of the rocker that a coupler of length b ties to the crank's end. */
static double rocker_angle(Vec3 crank_end, Vec3 ground, double coupler, double rocker) {
  Vec3 d = sub(crank_end, ground);
  double far = norm(d);
  return atan2(d.z, d.x) - acos((far * far + rocker * rocker - coupler * coupler) / (2 * far * rocker));
}

static void test_four_bar(void **state) {
  (void)state;
  const double crank = 0.3, coupler = 0.9, rocker = 0.7, start = 1.0, size = 2;
  const Vec3 ground = vec3(1, 0, 0);
  Lab lab = lab_open(world_def(0.01));
  Vec3 pin = ahead(vec3(0, 0, 0), crank, start);
  double rocker_start = rocker_angle(pin, ground, coupler, rocker), worst = 0, gap = 0;
  Vec3 top = ahead(ground, rocker, rocker_start);
  AbdBodyId a = add_link(&lab, 0.04, vec3(0, 0, 0), pin), b = add_link(&lab, 0.04, pin, top),
            c = add_link(&lab, 0.04, ground, top);
  lab_expect_ok(&lab, abd_world_exclude_pair(lab.world, a, c));
  AbdJointDef motor = joint_def(ABD_JOINT_HINGE, a, world_body, vec3(0, 0, 0), back);
  motor.drive = (AbdDrive){.kind = ABD_DRIVE_SPEED, .target = 4, .max_effort = INFINITY};
  AbdJointId shaft = lab_joint(&lab, &motor), pivot;
  lab_join(&lab, ABD_JOINT_HINGE, b, a, pin, back);
  lab_join(&lab, ABD_JOINT_HINGE, c, b, top, back);
  pivot = lab_join(&lab, ABD_JOINT_HINGE, c, world_body, ground, back);
  for (int i = 0, count = (int)lab_seconds(1000, 100); i < count; i++) {
    lab_step(&lab);
    double turned = lab_read(&lab, shaft).position, swung = lab_read(&lab, pivot).position;
    double expected = rocker_angle(ahead(vec3(0, 0, 0), crank, start + turned), ground, coupler, rocker);
    worst = fmax(worst, fabs(remainder(rocker_start + swung - expected, 2 * pi)));
    gap = fmax(gap, worst_gap(&lab));
  }
  lab_expect_below("rocker off the closed form [rad]", worst, 1e-6);
  lab_expect_below("largest gap / size", gap / size, 1e-10);
  lab_expect_near("crank's angle [rad]", lab_read(&lab, shaft).position, 4 * lab.report.time, 0.05);
  AbdJointSummary s = abd_world_joint_summary(lab.world);
  printf("  %d equations, %d follow from others; %d unknowns; iterations a step %.2f\n", s.linear_rows,
         s.redundant_rows, s.unknowns, (double)lab.iterations / (double)lab.report.step);
  lab_close(&lab);
}

/* Left to gravity: the piston is where the crank puts it, and no energy comes or goes but by the integrator's own
 * loss. */
static void test_slider_crank(void **state) {
  (void)state;
  const double crank = 0.25, rod = 0.8, start = 1.2, size = 1.2;
  Lab lab = lab_open(world_def(0.01));
  Vec3 pin = ahead(vec3(0, 0, 0), crank, start), end = vec3(pin.x + sqrt(rod * rod - pin.z * pin.z), 0, 0);
  AbdBodyId a = add_link(&lab, 0.04, vec3(0, 0, 0), pin), b = add_link(&lab, 0.04, pin, end);
  AbdBodyId piston = lab_body(&lab, lab_box(&lab, 0.1, 0.1, 0.1), end, vec3(0, 0, 0));
  AbdJointId shaft = lab_join(&lab, ABD_JOINT_HINGE, a, world_body, vec3(0, 0, 0), back), rail;
  lab_join(&lab, ABD_JOINT_HINGE, b, a, pin, back);
  lab_join(&lab, ABD_JOINT_HINGE, piston, b, end, back);
  rail = lab_join(&lab, ABD_JOINT_SLIDER, piston, world_body, end, vec3(1, 0, 0));
  lab_expect_ok(&lab, abd_world_exclude_pair(lab.world, a, piston));
  double worst = 0, gap = 0, turned = 0, most_rate = 0;
  for (int i = 0, count = (int)lab_seconds(1000, 100); i < count; i++) {
    lab_step(&lab);
    turned = start + lab_read(&lab, shaft).position;
    double z = crank * sin(turned), x = crank * cos(turned) + sqrt(rod * rod - z * z);
    worst = fmax(worst, fabs(end.x + lab_read(&lab, rail).position - x));
    gap = fmax(gap, worst_gap(&lab));
    most_rate = fmax(most_rate, fabs(lab_read(&lab, shaft).rate));
  }
  lab_expect_below("piston off the closed form / size", worst / size, 1e-6);
  lab_expect_below("largest gap / size", gap / size, 1e-10);
  printf("  largest speed %.3g rad/s; iterations a step %.2f\n", most_rate,
         (double)lab.iterations / (double)lab.report.step);
  assert_true(most_rate > 3);
  lab_close(&lab);
}

static void test_double_pendulum_gap(void **state) {
  (void)state;
  const double l = 0.5;
  Lab lab = lab_open(world_def(0.01));
  AbdMeshId mesh = lab_box(&lab, 0.04, 0.04, l);
  Vec3 elbow = vec3(l * sin(2.0), 0, -l * cos(2.0));
  AbdBodyId upper = add_bar(&lab, mesh, l, vec3(0, 0, 0), 2.0), lower = add_bar(&lab, mesh, l, elbow, 2.6);
  lab_join(&lab, ABD_JOINT_HINGE, upper, world_body, vec3(0, 0, 0), y_axis);
  lab_join(&lab, ABD_JOINT_HINGE, lower, upper, elbow, y_axis);
  double gap = 0;
  for (int i = 0, count = (int)lab_seconds(1000, 100); i < count; i++) {
    lab_step(&lab);
    gap = fmax(gap, worst_gap(&lab));
  }
  lab_expect_below("largest gap / size", gap / (2 * l), 1e-10);
  lab_close(&lab);
}

/* ---- rotation --------------------------------------------------------------------------------------------------- */

/* Two shafts at an angle bend, input arms at right angles to their plane at the start: tan(out) = cos(bend) tan(in). */
static void test_universal(void **state) {
  (void)state;
  const double bend = 0.6, speed = 5, dt = 0.01, size = 1;
  Lab lab = lab_open(world_def(dt));
  Vec3 in = vec3(1, 0, 0), out = vec3(cos(bend), 0, sin(bend));
  AbdMeshId mesh = lab_box(&lab, 0.4, 0.06, 0.08);
  AbdBodyDef def = lab_at(mesh, scale(-0.25, in));
  AbdBodyId a = lab_body_def(&lab, &def);
  def = lab_at(mesh, scale(0.25, out));
  lab_turn(&def, y_axis, -bend);
  AbdBodyId b = lab_body_def(&lab, &def);
  AbdJointDef motor = joint_def(ABD_JOINT_HINGE, a, world_body, scale(-0.25, in), in);
  motor.drive = (AbdDrive){.kind = ABD_DRIVE_SPEED, .target = speed, .max_effort = INFINITY};
  AbdJointId first = lab_joint(&lab, &motor),
             second = lab_join(&lab, ABD_JOINT_HINGE, b, world_body, scale(0.25, out), out);
  AbdJointDef cross_def = joint_def(ABD_JOINT_UNIVERSAL, a, b, vec3(0, 0, 0), vec3(0, 1, 0));
  vec3_to(cross_def.axis_b, vec3(-sin(bend), 0, cos(bend)));
  lab_joint(&lab, &cross_def);
  double worst = 0, worst_ratio = 0, least_ratio = 10, most_ratio = 0, before = 0, gap = 0;
  for (int i = 0, count = (int)lab_seconds(500, 60); i < count; i++) {
    lab_step(&lab);
    gap = fmax(gap, worst_gap(&lab));
    AbdJointReading x = lab_read(&lab, first), y = lab_read(&lab, second);
    double expected = atan2(cos(bend) * sin(x.position), cos(x.position));
    worst = fmax(worst, fabs(remainder(y.position - expected, 2 * pi)));
    double ratio = y.rate / x.rate,
           closed = cos(bend) / (1 - sin(bend) * sin(bend) * sin(x.position) * sin(x.position));
    if (i > 5)
      worst_ratio = fmax(worst_ratio, fabs(ratio - closed)), least_ratio = fmin(least_ratio, ratio),
      most_ratio = fmax(most_ratio, ratio);
    if (fabs(y.position - before) > 0.2) fail_msg("step %d: the angle jumps from %g to %g", i, before, y.position);
    before = y.position;
  }
  lab_expect_below("output off the closed form [rad]", worst, 1e-6);
  lab_expect_below("speed ratio off the closed form", worst_ratio, 0.005);
  lab_expect_near("smallest ratio", least_ratio, cos(bend), 0.005);
  lab_expect_near("largest ratio", most_ratio, 1 / cos(bend), 0.005);
  lab_expect_below("largest gap / size", gap / size, 1e-6);
  lab_close(&lab);
}

/* A disk on a level axle of length arm held by a ball joint at its end: it goes round at m g arm / (I spin). */
static void test_gyroscope(void **state) {
  (void)state;
  const double radius = 0.2, arm = 0.15, spin = 50, width = 0.02;
  Lab lab = lab_open(world_def(0.001));
  MeshData mesh = {0};
  assert_true(shape_cylinder(radius, width, 24, &mesh));
  AbdBodyDef def = lab_at(lab_mesh(&lab, &mesh, 0, false), vec3(arm, 0, 0));
  lab_turn(&def, y_axis, 0.5 * pi); /* from z to x */
  AbdBodyId disk = lab_body_def(&lab, &def);
  AbdBodyView view = lab_view(&lab, disk);
  double along = fmax(view.inertia[0], fmax(view.inertia[1], view.inertia[2]));
  double rate = view.mass * gravity * arm / (along * spin);
  lab_close(&lab);
  lab = lab_open(world_def(0.001));
  assert_true(shape_cylinder(radius, width, 24, &mesh));
  def.mesh = lab_mesh(&lab, &mesh, 0, false);
  vec3_to(def.angular_velocity, vec3(spin, 0, rate));
  vec3_to(def.velocity, vec3(0, rate * arm, 0));
  disk = lab_body_def(&lab, &def);
  lab_join(&lab, ABD_JOINT_BALL, disk, world_body, vec3(0, 0, 0), vec3(0, 0, 0));
  double time = lab_seconds(1, 0.1), gap = 0, low = 0;
  for (int i = 0, count = (int)(time / lab.def.dt + 0.5); i < count; i++) {
    lab_step(&lab);
    Vec3 p = lab_position(&lab, disk);
    low = fmax(low, fabs(p.z));
    gap = fmax(gap, worst_gap(&lab));
  }
  Vec3 p = lab_position(&lab, disk);
  lab_expect_near("precession [rad/s]", atan2(p.y, p.x) / time, rate, 0.01 * rate);
  lab_expect_below("axle off level / arm", low / arm, 0.02);
  lab_expect_below("largest gap / size", gap / radius, 1e-10);
  lab_close(&lab);
}

/* A guide that stands still is as good in the first place as in the second: the joint is linear, and holds to
 * rounding. */
static void test_static_guide_first(void **state) {
  (void)state;
  const AbdJointKind kind[] = {ABD_JOINT_SLIDER, ABD_JOINT_CYLINDRICAL, ABD_JOINT_PLANAR};
  for (int k = 0; k < 3; k++) {
    Lab lab = lab_open(world_def(0.01));
    AbdMeshId mesh = lab_box(&lab, 0.2, 0.3, 0.4);
    AbdBodyId rail = lab_static(&lab, mesh, vec3(0, 0, 0)),
              block = lab_body(&lab, mesh, vec3(0, 0, 1), vec3(0.3, 0.2, 0));
    lab_join(&lab, kind[k], rail, block, vec3(0.1, 0, 1), vec3(1, 0, 1));
    lab_run(&lab, 1);
    /* down the rail; in the plane at right angles to it */
    Vec3 along = unit(vec3(1, 0, 1)), p = sub(lab_position(&lab, block), vec3(0, 0, 1));
    double free_part = kind[k] == ABD_JOINT_PLANAR ? norm(add_scaled(p, -dot(p, along), along)) : fabs(dot(p, along));
    lab_expect_below("1 m less the way it went [m]", 1 - free_part, 0);
    lab_expect_below("largest gap [m]", worst_gap(&lab), 1e-13);
    lab_close(&lab);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_static_guide_first), cmocka_unit_test(test_pendulum_period),
      cmocka_unit_test(test_double_pendulum),    cmocka_unit_test(test_double_pendulum_gap),
      cmocka_unit_test(test_four_bar),           cmocka_unit_test(test_slider_crank),
      cmocka_unit_test(test_universal),          cmocka_unit_test(test_gyroscope),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
