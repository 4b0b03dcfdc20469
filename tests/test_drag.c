/* Drag and gravity of single bodies, against closed forms: decay, terminal speed, floating bodies, the balance of
 * energy, joints, soft bodies, all integrators. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "kernel/drag.h"
#include "lab.h"

static const double gravity = 9.81;

static AbdWorldDef world_def(AbdIntegrator integrator, double dt) {
  AbdWorldDef def = abd_default_world_def();
  def.integrator = integrator;
  def.dt = dt;
  return def;
}

/* ---- the maps ---- */

static void test_maps(void **state) {
  (void)state;
  for (double x = 1e-9; x < 600; x *= 1.7) {
    Drag d = drag_of(x);
    long double y = x, e = expl(-y), start = -expm1l(-y) / y, kick = (1 - start) / y;
    double end = (double)(e / start);
    assert_true(fabs(d.start - (double)start) < 1e-14);
    if (x > 1e-4) assert_true(fabs(d.start_kick - (double)kick) < 1e-11 && fabs(d.end / end - 1) < 1e-12);
    assert_true(fabs(d.start * d.end - (double)e) < 1e-15);
    /* a step from the terminal velocity a / d stays there, and covers h a / d */
    double v = 1 / x, middle = d.start * v + d.start_kick;
    assert_true(fabs(middle * x - 1) < 1e-12 && fabs((d.end * middle + d.end_kick) * x - 1) < 1e-12);
  }
  Drag none = drag_of(0), small = drag_of(1e-12);
  assert_true(none.start == 1 && none.end == 1 && none.start_kick == 0.5 && none.end_kick == 0.5);
  assert_true(fabs(small.start_kick - 0.5) < 1e-12 && fabs(small.end_kick - 0.5) < 1e-12);
}

/* ---- free bodies ---- */

typedef struct Fall {
  double speed, height, spin; /* errors */
  double balance;             /* [J] most that the works of a step miss of the change of energy */
  double residual;            /* [J] most of it that no term explains */
} Fall;

/* A body thrown up with spin about a principal axis: v' = -g - d v, w' = -c w. */
static Fall fall(AbdIntegrator integrator, double dt, double d, double c, double seconds) {
  const double v0 = 5, w0 = 3;
  Lab lab = lab_open(world_def(integrator, dt));
  AbdBodyDef def = lab_at(lab_box(&lab, 0.3, 0.2, 0.1), vec3(0, 0, 0));
  def.velocity[2] = v0;
  def.angular_velocity[2] = w0;
  def.drag = d;
  def.angular_drag = c;
  AbdBodyId body = lab_body_def(&lab, &def);
  Fall out = {0};
  double before = NAN;
  int count = (int)(seconds / dt + 0.5);
  for (int i = 0; i < count; i++) {
    lab_step(&lab);
    double now = lab.report.energy[ABD_TERM_KINETIC] + lab.report.energy[ABD_TERM_ELASTIC], sum = 0;
    for (int k = 0; k < ABD_WORK_COUNT; k++) sum += lab.report.work[k];
    if (isfinite(before)) out.balance = fmax(out.balance, fabs(now - before - sum));
    out.residual = fmax(out.residual, fabs(lab.report.work[ABD_WORK_RESIDUAL]));
    before = now;
  }
  double e = exp(-d * seconds), end = -gravity / d;
  out.speed = fabs(lab_velocity(&lab, body).z - (end + (v0 - end) * e));
  out.height = fabs(lab_position(&lab, body).z - (end * seconds + (v0 - end) * (1 - e) / d));
  out.spin = fabs(lab_spin(&lab, body).z - w0 * exp(-c * seconds));
  lab_close(&lab);
  return out;
}

static void test_rigid_is_exact(void **state) {
  (void)state;
  const double d[] = {0.1, 2, 30, 500};
  for (int k = 0; k < 4; k++) {
    Fall f = fall(ABD_INTEGRATOR_RIGID, 0.01, d[k], 0.7 * d[k], 1);
    printf("  drag %g /s, angular %g /s\n", d[k], 0.7 * d[k]);
    lab_expect_below("speed off by [m/s]", f.speed, 1e-10);
    lab_expect_below("height off by [m]", f.height, 1e-10);
    lab_expect_below("angular velocity off by [rad/s]", f.spin, 1e-9);
    lab_expect_below("balance off by [J]", f.balance, 1e-8);
    if (d[k] <= 2) lab_expect_below("unexplained in a step [J]", f.residual, 1e-5);
  }
}

/* Halving the step halves or quarters the error. */
static void test_others_converge(void **state) {
  (void)state;
  Fall a = fall(ABD_INTEGRATOR_EULER, 0.01, 2, 1, 1), b = fall(ABD_INTEGRATOR_EULER, 0.005, 2, 1, 1);
  lab_expect_near("euler: ratio of the speed's errors", a.speed / b.speed, 2, 0.2);
  lab_expect_below("euler: speed off by [m/s]", a.speed, 0.05);
  a = fall(ABD_INTEGRATOR_BDF2, 0.01, 2, 1, 1), b = fall(ABD_INTEGRATOR_BDF2, 0.005, 2, 1, 1);
  lab_expect_near("bdf2: ratio of the speed's errors", a.speed / b.speed, 4, 1);
  lab_expect_near("bdf2: ratio of the height's errors", a.height / b.height, 4, 1);
  lab_expect_below("bdf2: speed off by [m/s]", a.speed, 2e-3);
}

static void test_terminal_speed(void **state) {
  (void)state;
  const double d = 4;
  for (int k = 0; k < 3; k++) {
    Lab lab = lab_open(world_def((AbdIntegrator)k, 0.01));
    AbdBodyDef def = lab_at(lab_box(&lab, 0.3, 0.2, 0.1), vec3(0, 0, 0));
    def.drag = d;
    AbdBodyId body = lab_body_def(&lab, &def);
    lab_run(&lab, 6);
    lab_expect_near(abd_integrator_name((AbdIntegrator)k), lab_velocity(&lab, body).z, -gravity / d, 1e-8);
    lab_close(&lab);
  }
}

/* A torque T against the drag c: L = T / c at the end, in any integrator. */
static void test_terminal_spin(void **state) {
  (void)state;
  const double c = 3, torque = 0.5;
  for (int k = 0; k < 3; k++) {
    Lab lab = lab_open(world_def((AbdIntegrator)k, 0.01));
    AbdBodyDef def = lab_at(lab_box(&lab, 0.3, 0.3, 0.3), vec3(0, 0, 0));
    def.angular_drag = c;
    def.gravity_scale = 0;
    def.torque[1] = torque;
    AbdBodyId body = lab_body_def(&lab, &def);
    lab_run(&lab, 6);
    double expected = torque / c / lab_view(&lab, body).inertia[0];
    /* Euler and BDF2 lose spin by the turn of a step, see method.md */
    lab_expect_near(abd_integrator_name((AbdIntegrator)k), lab_spin(&lab, body).y, expected,
                    k == 0 ? 1e-7 : 0.01 * expected);
    lab_close(&lab);
  }
}

/* The direction of an angular momentum about no principal axis stays, its size decays. */
static void test_tumbling(void **state) {
  (void)state;
  Lab lab = lab_open(world_def(ABD_INTEGRATOR_RIGID, 0.01));
  AbdBodyDef def = lab_at(lab_box(&lab, 0.3, 0.2, 0.1), vec3(0, 0, 0));
  def.gravity_scale = 0;
  def.angular_drag = 0.8;
  vec3_to(def.angular_velocity, vec3(3, -2, 5));
  lab_body_def(&lab, &def);
  lab_steps(&lab, 1);
  Vec3 first = vec3_from(lab.report.angular_momentum);
  lab_steps(&lab, 200);
  Vec3 last = vec3_from(lab.report.angular_momentum), off = sub(last, scale(exp(-0.8 * 2), first));
  lab_expect_below("angular momentum off by", norm(off) / norm(first), 1e-12);
  lab_close(&lab);
}

/* ---- gravity ---- */

static void test_gravity_scale(void **state) {
  (void)state;
  const double factor[] = {0, 1, 0.5, -2};
  for (int k = 0; k < 3; k++)
    for (int f = 0; f < 4; f++) {
      Lab lab = lab_open(world_def((AbdIntegrator)k, 0.01));
      AbdBodyDef def = lab_at(lab_box(&lab, 0.3, 0.2, 0.1), vec3(0, 0, 0));
      def.gravity_scale = factor[f];
      AbdBodyId body = lab_body_def(&lab, &def);
      lab_run(&lab, 1);
      assert_true(fabs(lab_velocity(&lab, body).z + factor[f] * gravity) < 1e-9);
      double fell = lab_position(&lab, body).z, energy = lab.report.energy[ABD_TERM_GRAVITY];
      assert_true(fabs(energy - lab_view(&lab, body).mass * factor[f] * gravity * fell) < 1e-9);
      assert_true(fabs(lab.report.work[ABD_WORK_RESIDUAL]) < 0.01 * gravity * gravity);
      lab_close(&lab);
    }
}

/* ---- joints and soft bodies ---- */

/* A pendulum of small swings: phi'' = -2 b phi' - w^2 phi. Drag d acts on the centre of mass, c on the spin, so that
 * 2 b = (d m l^2 + c I) / (m l^2 + I). */
static double swing_ratio(double dt, double d, double c, double seconds, double *expected) {
  Lab lab = lab_open(world_def(ABD_INTEGRATOR_RIGID, dt));
  const double l = 0.5, start = 0.02;
  AbdBodyDef def = lab_at(lab_box(&lab, 0.1, 0.2, 0.1), vec3(l * sin(start), 0, -l * cos(start)));
  lab_turn(&def, vec3(0, 1, 0), -start);
  def.drag = d;
  def.angular_drag = c;
  AbdBodyId body = lab_body_def(&lab, &def);
  AbdJointDef joint = abd_default_joint_def();
  joint.kind = ABD_JOINT_HINGE;
  joint.body_a = body;
  joint.axis[1] = 1;
  lab_expect_ok(&lab, abd_world_add_joint(lab.world, &joint, NULL));
  double m = lab_view(&lab, body).mass, i = m * (0.1 * 0.1 + 0.1 * 0.1) / 12, whole = m * l * l + i;
  double b = 0.5 * (d * m * l * l + c * i) / whole, w = sqrt(m * gravity * l / whole - b * b);
  lab_run(&lab, seconds);
  *expected = start * exp(-b * seconds) * (cos(w * seconds) + b / w * sin(w * seconds));
  double angle = asin(lab_position(&lab, body).x / l);
  lab_close(&lab);
  return angle - *expected;
}

static void test_pendulum(void **state) {
  (void)state;
  double expected, a = swing_ratio(0.02, 0.6, 5, 3, &expected), b = swing_ratio(0.01, 0.6, 5, 3, &expected);
  printf("  errors %.3e and %.3e of %.3e rad\n", a, b, expected);
  lab_expect_near("ratio of the errors", a / b, 4, 1.2);
  lab_expect_below("error over the swing at the start", fabs(b) / 0.02, 2e-3);
}

static void test_soft(void **state) {
  (void)state;
  const double vertex[] = {0, 0, 0, 0.2, 0, 0, 0, 0.2, 0, 0.07, 0.07, 0.15}, d = 3;
  const uint32_t tet[] = {0, 1, 2, 3};
  Lab lab = lab_open(world_def(ABD_INTEGRATOR_RIGID, 0.01));
  AbdSoftDef def = abd_default_soft_def();
  def.vertex = vertex, def.vertex_count = 4;
  def.tet = tet, def.tet_count = 1;
  def.drag = d;
  def.gravity_scale = 0.5;
  def.velocity[0] = 2;
  AbdBodyId soft;
  lab_expect_ok(&lab, abd_world_add_soft(lab.world, &def, &soft));
  lab_run(&lab, 1);
  double v[12], fall_speed = -0.5 * gravity / d * (1 - exp(-d));
  lab_expect_ok(&lab, abd_soft_velocities(lab.world, soft, v));
  for (int k = 0; k < 4; k++) {
    lab_expect_near("speed along [m/s]", v[3 * k], 2 * exp(-d), 1e-3);
    lab_expect_near("speed of the fall [m/s]", v[3 * k + 2], fall_speed, 1e-3);
  }
  lab_close(&lab);
}

/* ---- contact, bits, bad values ---- */

/* A box that slides on ice with drag slows as in the air, and rests as it would. */
static void test_on_ice(void **state) {
  (void)state;
  AbdWorldDef world = world_def(ABD_INTEGRATOR_RIGID, 0.01);
  world.contact.range = 1e-3;
  Lab lab = lab_open(world);
  lab_ground(&lab, vec3(0, 0, 1));
  AbdBodyDef def = lab_at(lab_box(&lab, 0.3, 0.3, 0.1), vec3(0, 0, 0.0509));
  def.velocity[0] = 1;
  def.drag = 1.5;
  AbdBodyId body = lab_body_def(&lab, &def);
  lab_run(&lab, 2);
  lab_expect_near("speed [m/s]", lab_velocity(&lab, body).x, exp(-1.5 * 2), 2e-3);
  lab_expect_below("speed off the ground [m/s]", fabs(lab_velocity(&lab, body).z), 1e-6);
  lab_close(&lab);
}

static void expect_refused(AbdBodyDef def, Lab *lab, const char *words) {
  AbdBodyId id;
  assert_int_equal(abd_world_add_body(lab->world, &def, &id), ABD_ERROR_ARGUMENT);
  if (!strstr(abd_world_error(lab->world), words)) fail_msg("%s", abd_world_error(lab->world));
}

static void test_bad_values(void **state) {
  (void)state;
  Lab lab = lab_open(abd_default_world_def());
  AbdBodyDef good = lab_at(lab_box(&lab, 1, 1, 1), vec3(0, 0, 0)), def;
  def = good, def.drag = -1, expect_refused(def, &lab, "drag is -1");
  def = good, def.angular_drag = NAN, expect_refused(def, &lab, "angular_drag is nan");
  def = good, def.gravity_scale = INFINITY, expect_refused(def, &lab, "gravity_scale is inf");
  lab_close(&lab);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_maps),
                                     cmocka_unit_test(test_rigid_is_exact),
                                     cmocka_unit_test(test_others_converge),
                                     cmocka_unit_test(test_terminal_speed),
                                     cmocka_unit_test(test_terminal_spin),
                                     cmocka_unit_test(test_tumbling),
                                     cmocka_unit_test(test_gravity_scale),
                                     cmocka_unit_test(test_pendulum),
                                     cmocka_unit_test(test_soft),
                                     cmocka_unit_test(test_on_ice),
                                     cmocka_unit_test(test_bad_values)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
