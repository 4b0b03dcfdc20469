/* Friction against rolling and spinning at points of contact, against closed forms. A solid ball of radius R on the
 * ground with coefficients r (rolling) and t (torsional) slows as
 *   v' = -5/7 r g / R  while it rolls,   w' = -5/2 t g / R^2  while it spins about the vertical.
 * Labels: slow */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "lab.h"

static const double gravity = 9.81, radius = 0.1;

static AbdWorldDef world_def(double friction) {
  AbdWorldDef def = abd_default_world_def();
  def.contact.friction = friction;
  def.contact.range = 1e-3;
  return def;
}

static AbdMeshId ball_mesh(Lab *lab) {
  MeshData mesh = {0};
  assert_true(shape_sphere(radius, 4, &mesh));
  return lab_mesh(lab, &mesh, 0, false);
}

/* A ball at rest on the ground is higher by about this. */
static const double gap = 0.8e-3;

static double mass_factor(const Lab *lab, AbdBodyId body) { /* I / m R^2, of the facetted ball */
  AbdBodyView view = lab_view(lab, body);
  return view.inertia[0] / (view.mass * radius * radius);
}

static void test_spinning_ball_stops(void **state) {
  (void)state;
  const double t = 0.002, w = 12;
  Lab lab = lab_open(world_def(0));
  lab_ground(&lab, vec3(0, 0, 1));
  AbdBodyDef def = lab_at(ball_mesh(&lab), vec3(0, 0, radius + gap));
  def.torsional_friction = t;
  def.angular_velocity[2] = w;
  AbdBodyId ball = lab_body_def(&lab, &def);
  double slows = t * gravity / (mass_factor(&lab, ball) * radius * radius), stops = w / slows;
  printf("  5/2 t g / R^2 = %g, with the facets' inertia %g rad/s^2\n", 2.5 * t * gravity / (radius * radius), slows);
  lab_run(&lab, 0.3 * stops);
  double first = lab_spin(&lab, ball).z;
  int steps = (int)(0.5 * stops / lab.def.dt);
  lab_steps(&lab, steps);
  lab_expect_near("deceleration [rad/s^2]", (first - lab_spin(&lab, ball).z) / (steps * lab.def.dt), slows,
                  0.02 * slows);
  double time = 0;
  while (lab_spin(&lab, ball).z > 1e-3 * w && time < 2 * stops) {
    lab_step(&lab);
    time = abd_world_time(lab.world);
  }
  lab_expect_near("stops after [s]", time, stops, 0.03 * stops);
  lab_run(&lab, 0.5);
  lab_expect_below("then spins at [rad/s]", fabs(lab_spin(&lab, ball).z), 1e-4);
  lab_close(&lab);
}

typedef struct Rolling {
  Lab lab;
  AbdBodyId ball;
  double slows;             /* [m/s^2] by theory */
  double first, last, work; /* [m/s] after 0.5 and 2.5 s; what friction did meanwhile [J] */
} Rolling;

static Rolling roll(double v) {
  const double r = 0.01;
  Rolling s = {.lab = lab_open(world_def(0.8))};
  lab_ground(&s.lab, vec3(0, 0, 1));
  AbdBodyDef def = lab_at(ball_mesh(&s.lab), vec3(0, 0, radius + gap));
  def.rolling_friction = r;
  def.velocity[0] = v;
  def.angular_velocity[1] = v / radius;
  s.ball = lab_body_def(&s.lab, &def);
  s.slows = r * gravity / radius / (1 + mass_factor(&s.lab, s.ball));
  lab_run(&s.lab, 0.5);
  s.first = lab_velocity(&s.lab, s.ball).x;
  for (int i = 0; i < 200; i++) {
    lab_step(&s.lab);
    s.work += s.lab.report.work[ABD_WORK_FRICTION];
  }
  s.last = lab_velocity(&s.lab, s.ball).x;
  return s;
}

static void test_rolling_ball_slows(void **state) {
  (void)state;
  Rolling s = roll(3);
  double mass = lab_view(&s.lab, s.ball).mass, factor = 1 + mass_factor(&s.lab, s.ball);
  lab_expect_near("rolls at [m/s]", lab_spin(&s.lab, s.ball).y * radius, s.last, 0.02);
  double lost = 0.5 * mass * factor * (s.first * s.first - s.last * s.last);
  lab_expect_near("friction takes [J]", s.work, -lost, 0.08 * lost);
  lab_run(&s.lab, s.last / s.slows + 0.5);
  lab_expect_below("stands [m/s]", norm(lab_velocity(&s.lab, s.ball)), 1e-3);
  lab_close(&s.lab);
}

/* The deceleration of single runs differs from theory by up to 5 %: the mean of five speeds. */
static void test_rolling_decelerates(void **state) {
  (void)state;
  double mean = 0;
  for (int i = 0; i < 5; i++) {
    Rolling s = roll(2.6 + 0.2 * i);
    mean += (s.first - s.last) / 2 / s.slows / 5;
    lab_close(&s.lab);
  }
  lab_expect_near("deceleration over 5/7 r g / R", mean, 1, 0.04);
}

/* On a slope a ball stays at rest below tan a = r / R and rolls above it with g (sin a - r / R cos a) / (1 + I / m
 * R^2). */
static double slope_speed(double slope, double r, double seconds, double *factor) {
  AbdWorldDef world = world_def(0.8);
  world.gravity[0] = gravity * sin(slope);
  world.gravity[2] = -gravity * cos(slope);
  Lab lab = lab_open(world);
  lab_ground(&lab, vec3(0, 0, 1));
  AbdBodyDef def = lab_at(ball_mesh(&lab), vec3(0, 0, radius + gap));
  def.rolling_friction = r;
  AbdBodyId ball = lab_body_def(&lab, &def);
  *factor = 1 + mass_factor(&lab, ball);
  lab_run(&lab, seconds);
  double v = lab_velocity(&lab, ball).x;
  lab_close(&lab);
  return v;
}

static void test_ball_on_a_slope(void **state) {
  (void)state;
  const double r = 0.01, least_slope = atan(r / radius);
  double factor, rests = slope_speed(0.6 * least_slope, r, 2, &factor);
  lab_expect_below("speed on a slope below r / R [m/s]", fabs(rests), 1e-6);
  double rolls = slope_speed(2 * least_slope, r, 1, &factor);
  double expected = gravity * (sin(2 * least_slope) - r / radius * cos(2 * least_slope)) / factor;
  lab_expect_near("speed after a second on a steeper one [m/s]", rolls, expected, 0.05 * expected);
}

/* Two bodies: the coefficients add up; a box that lies flat and spins is slowed by both kinds of friction. */
static void test_coefficients_add(void **state) {
  (void)state;
  const double w = 6;
  Lab lab = lab_open(world_def(0));
  AbdBodyDef ground = lab_at(lab_box(&lab, 2, 2, 0.2), vec3(0, 0, -0.1));
  ground.motion = ABD_MOTION_STATIC;
  ground.torsional_friction = 0.01;
  lab_body_def(&lab, &ground);
  AbdBodyDef def = lab_at(lab_box(&lab, 0.2, 0.2, 0.1), vec3(0, 0, 0.05 + gap));
  def.torsional_friction = 0.005;
  def.angular_velocity[2] = w;
  AbdBodyId box = lab_body_def(&lab, &def);
  lab_run(&lab, 0.1);
  double first = lab_spin(&lab, box).z;
  lab_run(&lab, 0.1);
  double inertia = (0.2 * 0.2 + 0.2 * 0.2) / 12, slows = 0.015 * gravity / inertia;
  lab_expect_near("deceleration [rad/s^2]", (first - lab_spin(&lab, box).z) / 0.1, slows, 0.02 * slows);
  lab_close(&lab);
}

/* On a turntable a ball is spun up by torsional friction, to the table's angular velocity. */
static void test_turntable_spins_a_ball_up(void **state) {
  (void)state;
  const double t = 0.004, w = 5;
  Lab lab = lab_open(world_def(0.5));
  AbdBodyDef table = lab_at(lab_box(&lab, 2, 2, 0.2), vec3(0, 0, -0.1));
  table.motion = ABD_MOTION_STATIC;
  table.surface_angular_velocity[2] = w;
  lab_body_def(&lab, &table);
  AbdBodyDef def = lab_at(ball_mesh(&lab), vec3(0, 0, radius + gap));
  def.torsional_friction = t;
  AbdBodyId ball = lab_body_def(&lab, &def);
  double gains = t * gravity / (mass_factor(&lab, ball) * radius * radius);
  lab_run(&lab, 0.2);
  lab_expect_near("angular velocity after 0.2 s [rad/s]", lab_spin(&lab, ball).z, gains * 0.2, 0.06 * gains * 0.2);
  lab_run(&lab, 1);
  lab_expect_near("at the end [rad/s]", lab_spin(&lab, ball).z, w, 0.05);
  lab_close(&lab);
}

/* A snapshot keeps the anchors of rolling: the same bits after it. */
static void test_snapshot(void **state) {
  (void)state;
  uint64_t hash[2];
  unsigned char *bytes = NULL;
  size_t size = 0;
  for (int k = 0; k < 2; k++) {
    AbdWorldDef world = world_def(0.8);
    world.gravity[0] = 0.3;
    Lab lab = lab_open(world);
    lab_ground(&lab, vec3(0, 0, 1));
    AbdBodyDef def = lab_at(ball_mesh(&lab), vec3(0, 0, radius + gap));
    def.rolling_friction = def.torsional_friction = 0.005;
    def.angular_velocity[2] = 1;
    lab_body_def(&lab, &def);
    if (k) lab_expect_ok(&lab, abd_world_restore(lab.world, bytes, size));
    else lab_steps(&lab, 60);
    if (!k) {
      size = abd_world_snapshot_size(lab.world);
      bytes = malloc(size);
      lab_expect_ok(&lab, abd_world_save(lab.world, bytes, size));
    }
    lab_steps(&lab, 40);
    hash[k] = abd_world_hash(lab.world);
    lab_close(&lab);
  }
  free(bytes);
  assert_true(hash[0] == hash[1]);
}

/* Balls and boxes with all of it on a belt. */
static Lab crowd(int threads) {
  AbdWorldDef def = world_def(0.5);
  def.solver.threads = threads;
  Lab lab = lab_open(def);
  AbdBodyDef belt = lab_at(lab_box(&lab, 4, 4, 0.2), vec3(0, 0, -0.1));
  belt.motion = ABD_MOTION_STATIC;
  belt.surface_velocity[0] = 0.5, belt.surface_angular_velocity[2] = 1;
  lab_body_def(&lab, &belt);
  AbdMeshId mesh[2] = {ball_mesh(&lab), lab_box(&lab, 0.2, 0.15, 0.1)};
  for (int i = 0; i < 24; i++) {
    AbdBodyDef body = lab_at(mesh[i % 2], vec3(0.25 * (i % 4), 0.25 * (i / 4 % 3), 0.12 + 0.25 * (i / 12)));
    body.rolling_friction = 0.002, body.torsional_friction = 0.003;
    body.drag = 0.3, body.angular_drag = 0.2, body.gravity_scale = 1 - 0.02 * i;
    lab_body_def(&lab, &body);
  }
  return lab;
}

static void test_same_bits(void **state) {
  (void)state;
  lab_same_bits(crowd, 40, 20);
}

static void test_bad_values(void **state) {
  (void)state;
  Lab lab = lab_open(abd_default_world_def());
  AbdBodyDef def = lab_at(lab_box(&lab, 1, 1, 1), vec3(0, 0, 0));
  AbdBodyId id;
  def.rolling_friction = -1;
  assert_int_equal(abd_world_add_body(lab.world, &def, &id), ABD_ERROR_ARGUMENT);
  assert_non_null(strstr(abd_world_error(lab.world), "rolling friction is -1"));
  lab_close(&lab);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_spinning_ball_stops),
                                     cmocka_unit_test(test_rolling_ball_slows),
                                     cmocka_unit_test(test_rolling_decelerates),
                                     cmocka_unit_test(test_ball_on_a_slope),
                                     cmocka_unit_test(test_coefficients_add),
                                     cmocka_unit_test(test_turntable_spins_a_ball_up),
                                     cmocka_unit_test(test_snapshot),
                                     cmocka_unit_test(test_same_bits),
                                     cmocka_unit_test(test_bad_values)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
