/* Mechanisms against closed forms: pendulums, linkages, a gyroscope; motors, servos, stops; forces in joints.
 * Labels: slow */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "lab.h"

static const double pi = 3.14159265358979323846;
static const double gravity = 9.81;

static AbdWorldDef world_def(double dt) {
  AbdWorldDef def = abd_default_world_def();
  def.dt = dt;
  return def;
}

static AbdJointDef joint_def(AbdJointKind kind, AbdBodyId a, AbdBodyId b, Vec3 point, Vec3 axis) {
  AbdJointDef def = abd_default_joint_def();
  def.kind = kind;
  def.body_a = a;
  def.body_b = b;
  vec3_to(def.point, point);
  vec3_to(def.axis, axis);
  return def;
}

static AbdJointId lab_joint(Lab *lab, const AbdJointDef *def) {
  AbdJointId id;
  lab_expect_ok(lab, abd_world_add_joint(lab->world, def, &id));
  return id;
}

static AbdJointId lab_join(Lab *lab, AbdJointKind kind, AbdBodyId a, AbdBodyId b, Vec3 point, Vec3 axis) {
  AbdJointDef def = joint_def(kind, a, b, point, axis);
  return lab_joint(lab, &def);
}

static AbdJointReading lab_read(const Lab *lab, AbdJointId joint) {
  AbdJointReading reading;
  lab_expect_ok(lab, abd_joint_reading(lab->world, joint, &reading));
  return reading;
}

static const AbdBodyId world_body = {0};
static const Vec3 y_axis = {0, 1, 0};

/* A bar of length l in the x-z plane whose first end is at start, at an angle to the downward vertical. */
static AbdBodyId add_bar(Lab *lab, AbdMeshId mesh, double l, Vec3 start, double angle) {
  Vec3 along = vec3(sin(angle), 0, -cos(angle));
  AbdBodyDef def = lab_at(mesh, add_scaled(start, 0.5 * l, along));
  lab_turn(&def, y_axis, -angle); /* the mesh's long side is z */
  return lab_body_def(lab, &def);
}

/* Largest residual of any joint. */
static double worst_gap(const Lab *lab) {
  double worst = 0;
  for (uint32_t j = 1; j <= abd_world_joint_count(lab->world); j++) worst = fmax(worst, lab_read(lab, (AbdJointId){j}).residual);
  return worst;
}

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
  double inertia = (l * l + t * t) / 12 + 0.25 * l * l, expected = 4 * sqrt(inertia / (gravity * 0.5 * l)) * elliptic_k(sin(0.5 * start));
  /* From rest at the start to the second crossing of the vertical: three quarters of a period. */
  double before = start, time = -1;
  int crossings = 0;
  for (int i = 0; i < 20000 && crossings < 2; i++) {
    lab_step(&lab);
    double angle = start + lab_read(&lab, hinge).position;
    if (before * angle < 0 && ++crossings == 2) time = lab.report.time - lab.def.dt * fabs(angle) / fabs(angle - before);
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
typedef struct Double { double a, b, da, db; } Double;

static Double double_rate(Double s, double l, double m, double i) {
  double h = 0.5 * l, c = cos(s.a - s.b), d = sin(s.a - s.b);
  double m11 = i + m * h * h + m * l * l, m22 = i + m * h * h, m12 = m * l * h * c;
  double f1 = -m * l * h * d * s.db * s.db - (m * h + m * l) * gravity * sin(s.a), f2 = m * l * h * d * s.da * s.da - m * h * gravity * sin(s.b);
  double det = m11 * m22 - m12 * m12;
  return (Double){s.da, s.db, (m22 * f1 - m12 * f2) / det, (m11 * f2 - m12 * f1) / det};
}

static Double double_add(Double s, double f, Double r) { return (Double){s.a + f * r.a, s.b + f * r.b, s.da + f * r.da, s.db + f * r.db}; }

static Double double_reference(Double s, double l, double m, double i, double time) {
  int n = 200000;
  double h = time / n;
  for (int k = 0; k < n; k++) {
    Double a = double_rate(s, l, m, i), b = double_rate(double_add(s, 0.5 * h, a), l, m, i), c = double_rate(double_add(s, 0.5 * h, b), l, m, i),
           d = double_rate(double_add(s, h, c), l, m, i);
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

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_pendulum_period),
    cmocka_unit_test(test_double_pendulum),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
