/* Settings of bodies that change between steps: friction, gravity, drag, velocities of surfaces. Against closed forms,
 * and in snapshots. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "lab.h"

static const double gravity = 9.81;
static const Vec3 zero = {0, 0, 0};

static AbdWorldDef world_def(double friction) {
  AbdWorldDef def = abd_default_world_def();
  def.contact.friction = friction;
  def.contact.range = 1e-3;
  return def;
}

/* A floating body stays, then falls, then stops falling faster: v' = g - d v. */
static void test_gravity_and_drag(void **state) {
  (void)state;
  Lab lab = lab_open(world_def(0));
  AbdBodyDef def = lab_at(lab_box(&lab, 0.1, 0.2, 0.3), zero);
  def.gravity_scale = 0;
  def.angular_velocity[2] = 3;
  AbdBodyId body = lab_body_def(&lab, &def);
  lab_steps(&lab, 10);
  lab_expect_below("speed without gravity [m/s]", norm(lab_velocity(&lab, body)), 1e-15);
  lab_expect_ok(&lab, abd_body_set_gravity_scale(lab.world, body, 0.5));
  lab_steps(&lab, 50);
  lab_expect_near("speed with half of gravity [m/s]", lab_velocity(&lab, body).z, -0.25 * gravity, 1e-12);
  lab_expect_ok(&lab, abd_body_set_drag(lab.world, body, 4, 2));
  lab_steps(&lab, 100);
  double limit = 0.5 * gravity / 4, v = limit + (0.25 * gravity - limit) * exp(-4);
  lab_expect_near("speed with drag after a second [m/s]", lab_velocity(&lab, body).z, -v, 1e-3 * v);
  lab_expect_near("spin with drag after a second [rad/s]", lab_spin(&lab, body).z, 3 * exp(-2), 3e-3);
  lab_close(&lab);
}

/* A belt that starts, and one that loses its friction. */
static void test_surface_velocity_and_friction(void **state) {
  (void)state;
  Lab lab = lab_open(world_def(0.5));
  AbdBodyId belt = lab_static(&lab, lab_box(&lab, 6, 2, 0.2), vec3(0, 0, -0.1));
  AbdBodyId box = lab_body(&lab, lab_box(&lab, 0.2, 0.2, 0.1), vec3(0, 0, 0.0509), zero);
  const double velocity[3] = {0.4, 0, 0}, none[3] = {0, 0, 0};
  lab_steps(&lab, 30);
  lab_expect_below("speed on a belt that stands [m/s]", norm(lab_velocity(&lab, box)), 1e-6);
  lab_expect_ok(&lab, abd_body_set_surface_velocity(lab.world, belt, velocity, none));
  lab_steps(&lab, 50);
  lab_expect_near("speed on the belt [m/s]", lab_velocity(&lab, box).x, 0.4, 2e-3);
  lab_expect_ok(&lab, abd_body_set_surface_velocity(lab.world, belt, none, none));
  lab_expect_ok(&lab, abd_body_set_friction(lab.world, belt, 0));
  lab_steps(&lab, 50);
  lab_expect_near("speed without friction [m/s]", lab_velocity(&lab, box).x, 0.4, 2e-3);
  lab_expect_near("friction that the view has", lab_view(&lab, belt).friction, 0, 0);
  lab_expect_ok(&lab, abd_body_set_friction(lab.world, belt, -1));
  lab_steps(&lab, 30);
  lab_expect_below("speed with the world's friction [m/s]", norm(lab_velocity(&lab, box)), 1e-3);
  lab_close(&lab);
}

/* A world without any friction gets some. */
static void test_first_friction(void **state) {
  (void)state;
  Lab lab = lab_open(world_def(0));
  AbdBodyId ground = lab_ground(&lab, vec3(0, 0, 1));
  AbdBodyId box = lab_body(&lab, lab_box(&lab, 0.2, 0.2, 0.1), vec3(0, 0, 0.0509), vec3(1, 0, 0));
  lab_steps(&lab, 10);
  lab_expect_near("speed on ice [m/s]", lab_velocity(&lab, box).x, 1, 2e-3);
  lab_expect_ok(&lab, abd_body_set_friction(lab.world, ground, 0.4));
  lab_expect_ok(&lab, abd_body_set_friction(lab.world, box, 0.4));
  lab_steps(&lab, 5); /* the first step has a larger force */
  double before = lab_velocity(&lab, box).x;
  lab_steps(&lab, 5);
  double slower = before - lab_velocity(&lab, box).x;
  lab_expect_near("speed lost in 0.05 seconds [m/s]", slower, 0.4 * gravity * 0.05, 1e-4);
  lab_close(&lab);
}

static Lab open_pair(AbdBodyId *box) {
  Lab lab = lab_open(world_def(0.3));
  lab_ground(&lab, vec3(0, 0, 1));
  *box = lab_body(&lab, lab_box(&lab, 0.2, 0.2, 0.1), vec3(0, 0, 0.3), vec3(1, 0, 0));
  return lab;
}

static void change_all(Lab *lab, AbdBodyId box) {
  const double velocity[3] = {0.1, 0.2, 0}, turn[3] = {0, 0, 1};
  lab_expect_ok(lab, abd_body_set_drag(lab->world, box, 0.7, 0.2));
  lab_expect_ok(lab, abd_body_set_gravity_scale(lab->world, box, 0.8));
  lab_expect_ok(lab, abd_body_set_friction(lab->world, box, 0.6));
  lab_expect_ok(lab, abd_body_set_surface_velocity(lab->world, box, velocity, turn));
}

/* A world of the same defs goes on with the same bits; a snapshot from before the settings takes them back; a change of
 * the world keeps them. */
static void test_snapshots(void **state) {
  (void)state;
  AbdBodyId box, twin_box, third;
  Lab lab = open_pair(&box), twin = open_pair(&twin_box);
  lab_steps(&lab, 5);
  size_t size = abd_world_snapshot_size(lab.world);
  void *before = malloc(size), *after = malloc(size);
  assert_true(before && after);
  lab_expect_ok(&lab, abd_world_save(lab.world, before, size));
  change_all(&lab, box);
  lab_expect_ok(&lab, abd_world_save(lab.world, after, size));
  lab_steps(&lab, 60);
  lab_expect_ok(&twin, abd_world_restore(twin.world, after, size));
  lab_steps(&twin, 60);
  assert_true(abd_world_hash(twin.world) == abd_world_hash(lab.world));
  lab_expect_ok(&twin, abd_world_restore(twin.world, before, size));
  lab_steps(&twin, 60);
  assert_true(abd_world_hash(twin.world) != abd_world_hash(lab.world));
  lab_expect_ok(&twin, abd_world_restore(twin.world, before, size));
  change_all(&twin, box);
  lab_steps(&twin, 60);
  assert_true(abd_world_hash(twin.world) == abd_world_hash(lab.world));
  third = lab_body(&lab, lab_box(&lab, 0.1, 0.1, 0.1), vec3(5, 0, 5), zero);
  lab_expect_ok(&lab, abd_world_remove_body(lab.world, third));
  assert_true(lab_view(&lab, box).friction == 0.6);
  lab_steps(&lab, 20);
  lab_steps(&twin, 20);
  assert_true(abd_world_hash(twin.world) == abd_world_hash(lab.world));
  free(before), free(after);
  lab_close(&lab);
  lab_close(&twin);
}

#define REFUSE(call, words)                                                                                            \
  do {                                                                                                                 \
    assert_int_equal(call, ABD_ERROR_ARGUMENT);                                                                        \
    if (!strstr(abd_world_error(lab.world), words)) fail_msg("%s", abd_world_error(lab.world));                        \
  } while (0)

static void test_refusals(void **state) {
  (void)state;
  AbdBodyId box;
  Lab lab = open_pair(&box);
  const double bad[3] = {0, NAN, 0}, none[3] = {0, 0, 0};
  REFUSE(abd_body_set_friction(lab.world, box, INFINITY), "friction is inf");
  REFUSE(abd_body_set_gravity_scale(lab.world, box, 1e31), "gravity_scale is 1e+31");
  REFUSE(abd_body_set_drag(lab.world, box, -1, 0), "drag is -1");
  REFUSE(abd_body_set_drag(lab.world, box, 1, NAN), "angular_drag is nan");
  REFUSE(abd_body_set_surface_velocity(lab.world, box, bad, none), "surface velocity");
  REFUSE(abd_body_set_surface_velocity(lab.world, box, none, bad), "surface angular velocity");
  REFUSE(abd_body_set_friction(lab.world, (AbdBodyId){9}, 1), "body 9 does not exist");
  lab_close(&lab);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gravity_and_drag), cmocka_unit_test(test_surface_velocity_and_friction),
      cmocka_unit_test(test_first_friction),   cmocka_unit_test(test_snapshots),
      cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
