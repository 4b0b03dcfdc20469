/* Surfaces that move against their bodies: conveyor belts, turntables, treadmills. Against closed forms. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "lab.h"

static const double gravity = 9.81;
static const double range = 1e-3, gap = 0.9e-3; /* at which a box rests about */

static AbdWorldDef world_def(AbdIntegrator integrator, double friction) {
  AbdWorldDef def = abd_default_world_def();
  def.integrator = integrator;
  def.contact.friction = friction;
  def.contact.range = range;
  return def;
}

/* A static box whose upper face is at z = 0. */
static AbdBodyId add_belt(Lab *lab, Vec3 velocity, double slope) {
  Vec3 below = scale(-0.1, vec3(sin(slope), 0, cos(slope)));
  AbdBodyDef def = lab_at(lab_box(lab, 6, 2, 0.2), below);
  lab_turn(&def, vec3(0, 1, 0), slope);
  def.motion = ABD_MOTION_STATIC;
  vec3_to(def.surface_velocity, velocity);
  return lab_body_def(lab, &def);
}

static double change(const AbdStepReport *r, const AbdStepReport *before) {
  double sum = 0;
  const AbdTerm stored[] = {ABD_TERM_KINETIC, ABD_TERM_ELASTIC};
  for (int k = 0; k < 2; k++) sum += r->energy[stored[k]] - before->energy[stored[k]];
  return sum;
}

/* A box on a belt of speed v slides for v / (mu g) at the acceleration mu g, then moves with the belt. */
static void check_belt(AbdIntegrator integrator) {
  const double mu = 0.3, v = 1.2, slides = v / (mu * gravity);
  Lab lab = lab_open(world_def(integrator, mu));
  add_belt(&lab, vec3(v, 0, 0), 0);
  AbdBodyId box = lab_body(&lab, lab_box(&lab, 0.2, 0.2, 0.1), vec3(-2, 0, 0.05 + gap), vec3(0, 0, 0));
  printf("  %s\n", abd_integrator_name(integrator));
  lab_run(&lab, 0.2);
  lab_expect_near("speed while it slides [m/s]", lab_velocity(&lab, box).x, mu * gravity * 0.2, 0.02 * v);
  double off = 0, taken = 0, put_in = 0;
  for (int i = 20; i < 100; i++) {
    AbdStepReport before = lab.report;
    lab_step(&lab);
    double sum = 0;
    for (int k = 0; k < ABD_WORK_COUNT; k++) sum += lab.report.work[k];
    off = fmax(off, fabs(sum - change(&lab.report, &before)));
    taken += lab.report.work[ABD_WORK_FRICTION];
    put_in += lab.report.work[ABD_WORK_SCRIPTS];
  }
  double mass = lab_view(&lab, box).mass, at = v * (1 - slides / 2);
  lab_expect_near("speed with the belt [m/s]", lab_velocity(&lab, box).x, v, 2e-3);
  lab_expect_near("way in a second [m]", lab_position(&lab, box).x + 2, at, 0.01);
  lab_expect_below("turns [rad/s]", norm(lab_spin(&lab, box)), 1e-2);
  lab_expect_below("the balance of a step is off by [J]", off, 1e-9);
  double rest = slides - 0.2, lost = mass * mu * gravity * 0.5 * mu * gravity * rest * rest;
  lab_expect_near("friction takes [J]", taken, -lost, 0.06 * lost);
  lab_expect_near("the belt gives [J]", put_in, mass * mu * gravity * v * rest, 0.06 * mass * mu * gravity * v * rest);
  lab_close(&lab);
}

static void test_belt(void **state) {
  (void)state;
  check_belt(ABD_INTEGRATOR_RIGID);
  check_belt(ABD_INTEGRATOR_EULER);
  check_belt(ABD_INTEGRATOR_BDF2);
}

/* The velocity turns with the body: a belt of slope a carries up at its own speed if mu > tan a; from rest the box
 * accelerates at g (mu cos a - sin a). */
static void test_belt_uphill(void **state) {
  (void)state;
  const double slope = 0.3, mu = 0.6, v = 0.8, gain = gravity * (mu * cos(slope) - sin(slope));
  Lab lab = lab_open(world_def(ABD_INTEGRATOR_RIGID, mu));
  add_belt(&lab, vec3(-v, 0, 0), slope);
  AbdBodyDef def = lab_at(lab_box(&lab, 0.2, 0.2, 0.1), scale(0.05 + gap, vec3(sin(slope), 0, cos(slope))));
  lab_turn(&def, vec3(0, 1, 0), slope);
  AbdBodyId box = lab_body_def(&lab, &def);
  Vec3 up = vec3(-cos(slope), 0, sin(slope));
  lab_run(&lab, 0.06);
  double before = dot(up, lab_velocity(&lab, box));
  lab_run(&lab, 0.1);
  double gained = dot(up, lab_velocity(&lab, box)) - before;
  lab_expect_near("acceleration uphill while it slides [m/s^2]", gained / 0.1, gain, 0.02 * gain);
  lab_run(&lab, 1);
  lab_expect_near("speed uphill with the belt [m/s]", dot(up, lab_velocity(&lab, box)), v, 2e-3);
  lab_close(&lab);
}

/* A box on a turntable of speed w moves on a circle while w^2 r < mu g, and turns with it. */
static void test_turntable(void **state) {
  (void)state;
  const double w = 2, r = 0.5, seconds = 2;
  Lab lab = lab_open(world_def(ABD_INTEGRATOR_RIGID, 0.8));
  AbdBodyDef table = lab_at(lab_box(&lab, 3, 3, 0.2), vec3(1, 2, -0.1));
  lab_turn(&table, vec3(0, 0, 1), 0.4);
  table.motion = ABD_MOTION_STATIC;
  table.surface_angular_velocity[2] = w;
  lab_body_def(&lab, &table);
  AbdBodyDef def = lab_at(lab_box(&lab, 0.1, 0.1, 0.1), vec3(1 + r, 2, 0.05 + gap));
  def.velocity[1] = w * r;
  def.angular_velocity[2] = w;
  AbdBodyId box = lab_body_def(&lab, &def);
  lab_run(&lab, seconds);
  Vec3 x = sub(lab_position(&lab, box), vec3(1, 2, 0)), v = lab_velocity(&lab, box);
  lab_expect_near("radius [m]", hypot(x.x, x.y), r, 5e-3);
  lab_expect_near("speed [m/s]", hypot(v.x, v.y), w * r, 5e-3);
  lab_expect_near("angular velocity [rad/s]", lab_spin(&lab, box).z, w, 5e-3);
  double turned = atan2(x.y, x.x), expected = remainder(w * seconds, 2 * 3.14159265358979);
  lab_expect_near("angle [rad]", remainder(turned - expected, 6.28318530717959), 0, 0.02);
  lab_close(&lab);
}

/* A dynamic treadmill on ice: the box on it is pushed one way, the treadmill the other, and the sum stays. At the end
 * the relative velocity is the surface's. */
static void test_treadmill(void **state) {
  (void)state;
  const double v = 1;
  AbdWorldDef world = world_def(ABD_INTEGRATOR_RIGID, 0);
  Lab lab = lab_open(world);
  lab_ground(&lab, vec3(0, 0, 1));
  AbdBodyDef def = lab_at(lab_box(&lab, 4, 1, 0.2), vec3(0, 0, 0.1 + gap));
  def.surface_velocity[0] = v;
  def.friction = 0;
  AbdBodyId mill = lab_body_def(&lab, &def);
  AbdBodyId box = lab_body(&lab, lab_box(&lab, 0.5, 0.5, 0.5), vec3(-1, 0, 0.45 + 2 * gap), vec3(0, 0, 0));
  lab_expect_ok(&lab, abd_world_set_pair_friction(lab.world, mill, box, 0.5));
  lab_run(&lab, 0.6);
  double m = lab_view(&lab, mill).mass, n = lab_view(&lab, box).mass;
  double a = lab_velocity(&lab, mill).x, b = lab_velocity(&lab, box).x;
  lab_expect_near("relative velocity [m/s]", b - a, v, 2e-3);
  lab_expect_near("momentum over mass [m/s]", (m * a + n * b) / (m + n), 0, 1e-9);
  lab_expect_near("speed of the box [m/s]", b, v * m / (m + n), 2e-3);
  lab_close(&lab);
}

/* A soft box is carried, too. */
static void test_soft_on_belt(void **state) {
  (void)state;
  const double v = 0.5;
  Lab lab = lab_open(world_def(ABD_INTEGRATOR_RIGID, 0.5));
  add_belt(&lab, vec3(0, v, 0), 0);
  const double vertex[] = {0, 0, 0, 0.2, 0, 0, 0, 0.2, 0, 0.07, 0.07, 0.15};
  const uint32_t tet[] = {0, 1, 2, 3};
  AbdSoftDef def = abd_default_soft_def();
  def.vertex = vertex, def.vertex_count = 4;
  def.tet = tet, def.tet_count = 1;
  def.young = 1e6, def.damping = 0.01;
  def.position[2] = 2e-4;
  AbdBodyId soft;
  lab_expect_ok(&lab, abd_world_add_soft(lab.world, &def, &soft));
  lab_run(&lab, 0.6);
  double velocity[12];
  lab_expect_ok(&lab, abd_soft_velocities(lab.world, soft, velocity));
  for (int k = 0; k < 4; k++) lab_expect_near("speed of a vertex [m/s]", velocity[3 * k + 1], v, 5e-3);
  lab_close(&lab);
}

/* A ball that bounces off a belt gets mu (1 + e) of its normal speed along it while its surface slips. */
static void test_bounce_off_belt(void **state) {
  (void)state;
  const double e = 0.5, mu = 0.2, fall = 0.5;
  AbdWorldDef world = world_def(ABD_INTEGRATOR_RIGID, mu);
  world.contact.restitution = e;
  Lab lab = lab_open(world);
  add_belt(&lab, vec3(5, 0, 0), 0);
  MeshData mesh = {0};
  assert_true(shape_sphere(0.1, 3, &mesh));
  AbdBodyId ball = lab_body(&lab, lab_mesh(&lab, &mesh, 0, false), vec3(0, 0, 0.1 + fall), vec3(0, 0, 0));
  lab_run(&lab, 0.4);
  double speed = sqrt(2 * gravity * fall);
  lab_expect_near("speed along the belt [m/s]", lab_velocity(&lab, ball).x, mu * (1 + e) * speed,
                  0.05 * mu * (1 + e) * speed);
  lab_close(&lab);
}

static void test_bad_value(void **state) {
  (void)state;
  Lab lab = lab_open(abd_default_world_def());
  AbdBodyDef def = lab_at(lab_box(&lab, 1, 1, 1), vec3(0, 0, 0));
  AbdBodyId id;
  def.name = "belt";
  def.surface_velocity[1] = NAN;
  assert_int_equal(abd_world_add_body(lab.world, &def, &id), ABD_ERROR_ARGUMENT);
  assert_non_null(strstr(abd_world_error(lab.world), "\"belt\": surface velocity[1] is nan"));
  lab_close(&lab);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_belt),         cmocka_unit_test(test_belt_uphill),
                                     cmocka_unit_test(test_turntable),    cmocka_unit_test(test_treadmill),
                                     cmocka_unit_test(test_soft_on_belt), cmocka_unit_test(test_bounce_off_belt),
                                     cmocka_unit_test(test_bad_value)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
