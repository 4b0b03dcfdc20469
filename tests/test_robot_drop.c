/* A robot that falls: a trunk on four legs of two hinges each. Without restitution it never gains energy, its centre of
 * mass does not rise after the feet have touched, and it comes to rest at the same height for every time step. With all
 * joints welded it is one rigid body that lands on four feet at once: it rebounds to e^2 h.
 * Labels: slow */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "balance.h"
#include "mechanism.h"

static const double DROP = 0.5, UPPER = 0.2, LOWER = 0.2; /* [m] height of the fall, lengths of the legs' parts */
static const double WIDTH = 0.04, TRUNK = 0.12;

typedef struct Robot {
  Lab lab;
  double mass, touch; /* touch: of the centre of mass, when the feet are at the ground */
} Robot;

static AbdBodyId add_part(Robot *r, AbdMeshId mesh, double density, Vec3 at) {
  AbdBodyDef def = lab_at(mesh, at);
  def.density = density;
  AbdBodyId id = lab_body_def(&r->lab, &def);
  double mass = lab_view(&r->lab, id).mass;
  r->touch += mass * (at.z - DROP), r->mass += mass;
  return id;
}

/* Knees bend forward, hips back: the legs fold under the weight. */
static void add_leg(Robot *r, AbdBodyId trunk, AbdMeshId mesh, double x, double y, AbdJointKind kind) {
  double low = DROP + 0.5 * LOWER, knee = DROP + LOWER + 0.01, high = knee + 0.01 + 0.5 * UPPER;
  AbdBodyId lower = add_part(r, mesh, 800, vec3(x, y, low));
  AbdBodyId upper = add_part(r, mesh, 800, vec3(x + 0.03, y, high));
  lab_join(&r->lab, kind, lower, upper, vec3(x + 0.015, y, knee), y_axis);
  lab_join(&r->lab, kind, upper, trunk, vec3(x + 0.03, y, high + 0.5 * UPPER + 0.01), y_axis);
}

static Robot open_robot(double dt, AbdJointKind kind, double restitution) {
  AbdWorldDef def = world_def(dt);
  def.contact.friction = 0.6;
  def.contact.restitution = restitution;
  Robot r = {.lab = lab_open(def)};
  AbdMeshId trunk = lab_box(&r.lab, 0.6, 0.24, TRUNK), leg = lab_box(&r.lab, WIDTH, WIDTH, UPPER);
  AbdBodyId body = add_part(&r, trunk, 600, vec3(0.03, 0, DROP + LOWER + UPPER + 0.04 + 0.5 * TRUNK));
  for (int k = 0; k < 4; k++) add_leg(&r, body, leg, k % 2 ? 0.24 : -0.24, k / 2 ? 0.15 : -0.15, kind);
  lab_ground(&r.lab, vec3(0, 0, 1));
  lab_expect_ok(&r.lab, abd_world_start(r.lab.world));
  r.touch /= r.mass;
  return r;
}

static double height_of(const Robot *r, const Balance *b) { return b->gravity / (r->mass * gravity); }

typedef struct Fall {
  double worst_gain; /* of a step, over the kinetic energy before it */
  double rise;       /* [m] of the centre of mass above its height at the touch, after it */
  double rest;       /* [m] height of the centre of mass at the end */
  double speed;      /* [m/s] sqrt(2 E / m) at the end */
  double residual;   /* [J] the largest residual of the report's balance */
} Fall;

static Fall fall_of(Robot *r, double seconds) {
  double position[16] = {0}, stored = 0, dt = r->lab.def.dt, peak = 0, lost = 0;
  Balance last = balance_of(r->lab.world, NULL, false, position);
  Fall f = {0};
  bool touched = false;
  for (int k = 0; k < seconds / dt; k++) {
    lab_step(&r->lab);
    Balance b = balance_of(r->lab.world, &r->lab.report, false, position);
    double gain = b.mechanical - last.mechanical - stored;
    stored = balance_stored(stored, &last, &b);
    peak = fmax(peak, b.kinetic);
    f.worst_gain = fmax(f.worst_gain, gain / fmax(last.kinetic, 1e-3 * peak));
    if (touched) f.rise = fmax(f.rise, height_of(r, &b) - r->touch);
    touched |= r->lab.report.contacts > 0;
    f.residual = fmax(f.residual, fabs(r->lab.report.work[ABD_WORK_RESIDUAL]));
    lost += r->lab.report.work[ABD_WORK_IMPACTS] + r->lab.report.work[ABD_WORK_FRICTION];
    last = b;
  }
  lab_expect_no_crossing(&r->lab);
  f.rest = height_of(r, &last);
  f.speed = sqrt(2 * last.kinetic / r->mass);
  printf("  dt 1/%-5.0f gain %.1e, rise %.4f m, rest %.4f m, speed %.1e m/s, residual %.1e J, lost %.2f J, %d "
         "iterations\n",
         1 / dt, f.worst_gain, f.rise, f.rest, f.speed, f.residual, -lost, r->lab.most_iterations);
  return f;
}

static const double rates[] = {50, 100, 200, 1000};
enum { RATES = sizeof rates / sizeof *rates };

/* Fewer steps, not shorter falls: the robot needs the time to come to rest. */
static int rate_count(void) { return getenv("ABD_TEST_SHORT") ? 2 : RATES; }

static void test_hinged(void **state) {
  (void)state;
  double least = INFINITY, most = 0;
  for (int k = 0; k < rate_count(); k++) {
    Robot r = open_robot(1 / rates[k], ABD_JOINT_HINGE, 0);
    Fall f = fall_of(&r, 1.2);
    assert_true(f.worst_gain < 1e-3);
    assert_true(f.rise < 1e-3);
    least = fmin(least, f.rest), most = fmax(most, f.rest);
    lab_close(&r.lab);
  }
  assert_true(most - least < 0.03);
}

static void test_welded(void **state) {
  (void)state;
  static const double restitution[] = {0, 0.5};
  for (int k = 0; k < 2 * rate_count(); k++) {
    double e = restitution[k % 2], rebound = e * e * DROP;
    Robot r = open_robot(1 / rates[k / 2], ABD_JOINT_WELD, e);
    Fall f = fall_of(&r, 0.6);
    assert_true(f.worst_gain < 1e-3);
    assert_true(fabs(f.rise - rebound) < 0.002 * DROP);
    lab_close(&r.lab);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_hinged), cmocka_unit_test(test_welded)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
