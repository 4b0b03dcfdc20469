/* Forces of contacts and joints in steps that are taken in sub-steps: means over the step (api/mean.c). A fast ball
 * hits a block; most of the sub-steps have no contact. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "abd/query.h"
#include "base/base.h"
#include "mechanism.h"

typedef struct Shot {
  Lab lab;
  AbdBodyId block, ball;
} Shot;

static Shot shoot(double speed, double off, bool welded, double break_force) {
  AbdWorldDef world = abd_default_world_def();
  world.dt = 0.01;
  world.gravity[2] = 0;
  world.contact.range = 1e-3;
  Shot s = {.lab = lab_open(world)};
  MeshData mesh = {0};
  assert_true(shape_sphere(0.02, 2, &mesh));
  AbdBodyDef ball = lab_at(lab_mesh(&s.lab, &mesh, 0, false), vec3(-0.2 - off * speed, 0, 0));
  ball.mass = 1;
  ball.velocity[0] = speed;
  s.block = lab_body(&s.lab, lab_box(&s.lab, 0.1, 0.1, 0.1), vec3(0, 0, 0), vec3(0, 0, 0));
  s.ball = lab_body_def(&s.lab, &ball);
  AbdJointDef weld = joint_def(ABD_JOINT_WELD, s.block, world_body, vec3(0, 0, 0), vec3(0, 0, 1));
  weld.break_force = break_force;
  if (welded) lab_joint(&s.lab, &weld);
  return s;
}

/* [N] on the ball in the last step. */
static Vec3 push_on(const Shot *s, AbdBodyId body) {
  AbdContactLoad load;
  lab_expect_ok(&s->lab, abd_body_contact_load(s->lab.world, body, &load));
  return add(vec3_from(load.normal), vec3_from(load.friction));
}

/* Forces times dt are the change of momentum, those of a weld too. A relaxing barrier pushes the bodies apart a little
 * more, which the balance of energy takes. */
static void check_shot(double speed, double off, bool welded) {
  Shot s = shoot(speed, off, welded, INFINITY);
  double contact = 0, weld = 0;
  int substeps = 0;
  for (int i = 0; i < 8; i++) {
    lab_step(&s.lab);
    double push = push_on(&s, s.ball).x;
    contact -= s.lab.def.dt * push;
    if (push != 0) { /* of some sub-step, and so are these */
      assert_true(s.lab.report.contacts > 0 && s.lab.report.min_distance < s.lab.def.contact.range);
      assert_int_equal(s.lab.report.nearest[0].id + s.lab.report.nearest[1].id, s.block.id + s.ball.id);
    }
    if (welded) weld += s.lab.def.dt * lab_read(&s.lab, (AbdJointId){1}).force[0];
    substeps = s.lab.report.substeps > substeps ? s.lab.report.substeps : substeps;
  }
  double given = speed - lab_velocity(&s.lab, s.ball).x;
  printf("  %g m/s, %d sub-steps at most:\n", speed, substeps);
  assert_true(substeps > 2 && given > 0.3 * speed);
  lab_expect_near("impulse of contacts [N s]", contact, given, 0.03 * given);
  if (welded) lab_expect_near("impulse of the weld [N s]", -weld, given, 0.03 * given);
  lab_close(&s.lab);
}

static void test_forces(void **state) {
  (void)state;
  const double speed[] = {20, 50, 100}, off[] = {0, 0.003, 0.006};
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 3; k++)
      for (int welded = 0; welded < 2; welded++) check_shot(speed[i], off[k], welded);
}

/* The mean force of the impact is up to m v / dt; whichever sub-step it is in, half of that breaks the weld. */
static void test_breaks(void **state) {
  (void)state;
  const double speed[] = {20, 50, 100}, off[] = {0, 0.003, 0.006, 0.009};
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 4; k++)
      for (int strong = 0; strong < 2; strong++) {
        Shot s = shoot(speed[i], off[k], true, (strong ? 1.1 : 0.4) * speed[i] / 0.01);
        size_t broken = 0;
        for (int step = 0; step < 8; step++) {
          lab_step(&s.lab);
          broken += s.lab.report.broken_joints;
        }
        assert_int_equal(broken, !strong);
        lab_close(&s.lab);
      }
}

static AbdContactLoad load_of(const Shot *s, AbdBodyId body) {
  AbdContactLoad load;
  lab_expect_ok(&s->lab, abd_body_contact_load(s->lab.world, body, &load));
  return load;
}

/* A fast ball hits the block obliquely and flies on in the same step. Without friction contacts hardly turn it, since
 * its facets are nearly round: torques are those about its centre at the time of the contact. A change of the world
 * keeps the loads. */
static void check_torques(double speed) {
  const double off = 0.03;
  Shot s = shoot(speed, 0, false, INFINITY);
  AbdBodyState start;
  lab_expect_ok(&s.lab, abd_body_state(s.lab.world, s.ball, &start));
  start.position[1] = off, start.velocity[1] = 0.5 * speed;
  start.position[1] -= 0.5 * (-0.07 - start.position[0]);
  lab_expect_ok(&s.lab, abd_body_set_state(s.lab.world, s.ball, &start));
  double force = 0, torque = 0;
  for (int i = 0; i < 4; i++) {
    lab_step(&s.lab);
    AbdContactLoad ball = load_of(&s, s.ball);
    force -= ball.normal[0], torque += ball.torque[2];
    AbdMeshId mesh = lab_box(&s.lab, 0.1, 0.1, 0.1);
    lab_body(&s.lab, mesh, vec3(0, 5 + i, 0), vec3(0, 0, 0));
    AbdContactLoad kept = load_of(&s, s.ball);
    assert_int_equal(kept.contacts, ball.contacts);
    assert_memory_equal(kept.torque, ball.torque, sizeof kept.torque);
  }
  printf("  %g m/s, %g N:\n", speed, force);
  assert_true(force > 0);
  lab_expect_below("torque on the ball, over its radius and the force", fabs(torque) / (0.02 * force), 0.2);
  lab_close(&s.lab);
}

static void test_torques(void **state) {
  (void)state;
  check_torques(20);
  check_torques(50);
  check_torques(100);
}

/* The force of the weld in a step. fail: the allocation that fails in it, with all later ones; 0 = none. The step is
 * then repeated. */
static Vec3 weld_force(int step, long fail, bool *failed) {
  Shot s = shoot(50, 0.003, true, INFINITY);
  for (int i = 0; i < step; i++) lab_step(&s.lab);
  mem_fail_after(fail);
  AbdStatus status = abd_world_step(s.lab.world, &s.lab.report);
  mem_fail_after(0);
  *failed = status != ABD_OK;
  if (*failed) {
    assert_int_equal(status, ABD_ERROR_MEMORY);
    assert_int_equal(abd_world_contacts(s.lab.world, NULL, 0), 0);
    lab_step(&s.lab);
  }
  Vec3 force = vec3_from(lab_read(&s.lab, (AbdJointId){1}).force);
  lab_close(&s.lab);
  return force;
}

/* A step that has no memory for the forces of a sub-step fails; none is left out of the means. */
static void test_memory(void **state) {
  (void)state;
  for (int step = 0; step < 4; step++) {
    bool failed = true;
    Vec3 whole = weld_force(step, 0, &failed);
    long n = 1;
    for (failed = true; failed || n < 30; n++) {
      Vec3 force = weld_force(step, n, &failed);
      if (!(norm(sub(force, whole)) == 0))
        fail_msg("step %d without allocation %ld: the weld has %g N instead of %g N", step + 1, n, norm(force),
                 norm(whole));
    }
    printf("  step %d: %g N, %ld allocations\n", step + 1, norm(whole), n - 2);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_forces), cmocka_unit_test(test_breaks),
                                     cmocka_unit_test(test_memory), cmocka_unit_test(test_torques)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
