/* The loads of friction are the normal forces of the same step, see cpu/load.c. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "contact/point.h"
#include "lab.h"

/* An impulse n - mu t on a rod's end at r stops the end: n . K (n - mu t) J = -n . v, K = 1/m - [r] I^-1 [r]. Friction
 * turns the rod, and the turn changes the normal impulse: loads of another solve give another one. */
typedef struct Rod {
  double mass, mu;
  Vec3 r, inertia; /* of the lower end from the centre; moments about the axes of the rod */
  Mat3 axes;
} Rod;

static Vec3 turn_of(const Rod *rod, Vec3 torque) {
  Vec3 own = mat3_tmul_vec(rod->axes, torque);
  own = vec3(own.x / rod->inertia.x, own.y / rod->inertia.y, own.z / rod->inertia.z);
  return mat3_mul_vec(rod->axes, own);
}

static Vec3 velocity_at_end(const Rod *rod, Vec3 impulse) {
  return add(scale(1 / rod->mass, impulse), cross(turn_of(rod, cross(rod->r, impulse)), rod->r));
}

/* The velocity of its centre after it hits the ground with the end, sliding along x. */
static Vec3 after_impact(const Rod *rod, Vec3 v) {
  Vec3 impulse = vec3(-rod->mu, 0, 1);
  double size = -v.z / velocity_at_end(rod, impulse).z;
  return add_scaled(v, size / rod->mass, impulse);
}

static void check_rod(double degrees, double mu) {
  const Vec3 v = {6, 0, -2};
  const double angle = degrees * acos(-1.0) / 180, length = 1, width = 0.05;
  AbdWorldDef def = abd_default_world_def();
  memset(def.gravity, 0, sizeof def.gravity);
  def.contact.friction = mu;
  def.contact.range = 1e-5;
  def.dt = 1e-4;
  Lab lab = lab_open(def);
  lab_ground(&lab, vec3(0, 0, 1));
  Vec3 end = vec3(0.5 * length * cos(angle) - 0.5 * width * sin(fabs(angle)), 0,
                  -0.5 * length * sin(fabs(angle)) - 0.5 * width * cos(angle)); /* the lower one, +-x */
  AbdBodyDef body = lab_at(lab_box(&lab, length, width, width), vec3(0, 0, 2e-5 - end.z));
  lab_turn(&body, vec3(0, 1, 0), angle);
  for (int k = 0; k < 3; k++) body.velocity[k] = component(v, k);
  AbdBodyId id = lab_body_def(&lab, &body);
  Affine pose = lab_pose(&lab, id);
  Rod rod = {.mass = lab_view(&lab, id).mass, .mu = mu, .axes = affine_linear(&pose)};
  rod.r = vec3(angle > 0 ? end.x : -end.x, 0, end.z);
  double across = rod.mass * 2 * width * width / 12, along = rod.mass * (length * length + width * width) / 12;
  rod.inertia = vec3(across, along, along);
  Vec3 expected = after_impact(&rod, v);
  double error = 0;
  for (int i = 0; i < 3; i++) {
    lab_step(&lab);
    error = fmax(error, lab.report.friction_error);
  }
  Vec3 got = lab_velocity(&lab, id);
  printf("  %g degrees, mu %g: %.4f %.4f m/s, expected %.4f %.4f\n", degrees, mu, got.x, got.z, expected.x, expected.z);
  lab_expect_below("off by [m/s]", norm(sub(got, expected)), 0.02 * norm(sub(expected, v)));
  lab_expect_below("loads differ from normal forces by [loads]", error, 0.03);
  lab_close(&lab);
}

static void test_rod(void **state) {
  (void)state;
  check_rod(20, 0.3);
  check_rod(45, 0.6);
  check_rod(-45, 0.3);
  check_rod(60, 0.2);
}

/* The steps of potatoes that fall on each other; some impacts have no solution that Newton's method finds with equal
 * loads. */
static void test_heap(void **state) {
  (void)state;
  AbdWorldDef def = abd_default_world_def();
  def.contact.friction = 0.5;
  Lab lab = lab_open(def);
  lab_ground(&lab, vec3(0, 0, 1));
  AbdMeshId mesh[2] = {lab_potato(&lab, 0.1, 0.3), lab_potato(&lab, 0.07, 1.7)};
  for (int i = 0; i < 12; i++)
    lab_body(&lab, mesh[i % 2], vec3(0.06 * (i % 3), 0.04 * (i % 2), 0.2 + 0.3 * i), vec3(0.5 - 0.1 * i, 0, -2));
  int above = 0, steps = 80;
  double mean = 0;
  for (int i = 0; i < steps; i++) {
    lab_step(&lab);
    above += lab.report.friction_error > 0.05;
    mean += lab.report.friction_error / steps;
  }
  printf("  loads differ from normal forces by %.4f on the mean, in %d of %d steps by more than 0.05\n", mean, above,
         steps);
  assert_true(mean < 0.03 && above <= 6);
  lab_close(&lab);
}

/* A block that slides is lifted off the ground within a step: friction has no normal force left at its end. */
static void test_lifted(void **state) {
  (void)state;
  AbdWorldDef def = abd_default_world_def();
  def.contact.friction = 0.5;
  Lab lab = lab_open(def);
  lab_ground(&lab, vec3(0, 0, 1));
  AbdBodyId id = lab_body(&lab, lab_box(&lab, 0.1, 0.1, 0.1), vec3(0, 0, 0.0501), vec3(3, 0, 0));
  lab_steps(&lab, 20);
  Vec3 before = lab_velocity(&lab, id);
  double mass = lab_view(&lab, id).mass, force[3] = {0, 0, 20 * 9.81 * mass}, torque[3] = {0};
  assert_int_equal(abd_body_set_force(lab.world, id, force, torque), ABD_OK);
  lab_step(&lab);
  printf("  %.6f m/s before, %.6f after\n", before.x, lab_velocity(&lab, id).x);
  lab_expect_below("slowed by [m/s]", before.x - lab_velocity(&lab, id).x, 1e-6);
  lab_expect_below("loads left", lab.report.friction_error, 1e-12);
  lab_close(&lab);
}

/* A load that creeps to a smaller one goes beyond it, but stays positive: a negative one pulls, and its matrix is
 * indefinite. A load moves no farther than its aim unless it creeps, and not beyond twice itself. */
static void test_creeping(void **state) {
  (void)state;
  LoadChange sum = {0, 0, 0, 0};
  FrictionPoint down = {.load = 10, .miss = -1}, up = {.load = 10, .miss = 1}, other = {.load = 10, .miss = 1};
  FrictionPoint gone = {.load = 10, .miss = -10};
  point_move_load(&down, 9, 16, &sum);
  point_move_load(&up, 11, 16, &sum);
  point_move_load(&other, 9, 16, &sum);
  point_move_load(&gone, 0, 16, &sum);
  assert_float_equal(down.load, 5, 1e-12); /* not 10 - 16 */
  assert_float_equal(up.load, 20, 1e-12);
  assert_float_equal(other.load, 9, 1e-12);
  assert_true(gone.load == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rod), cmocka_unit_test(test_creeping),
                                     cmocka_unit_test(test_heap), cmocka_unit_test(test_lifted)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
