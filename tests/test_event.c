/* Events: touches that begin and end, bodies and joints that come and go, in the step they belong to. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "api/world.h"
#include "lab.h"

enum { MOST = 16 };

/* One step and its events. */
static int step(Lab *lab, AbdEvent event[MOST]) {
  AbdStepReport report;
  lab_expect_ok(lab, abd_world_step(lab->world, &report));
  size_t count = abd_world_events(lab->world, event, MOST);
  assert_true(count <= MOST && (int)count == report.events);
  for (size_t k = 0; k < count; k++) assert_true(event[k].step == report.step);
  return (int)count;
}

static void is(AbdEvent e, AbdEventKind kind, uint32_t a, uint32_t b) {
  if (e.kind != kind || e.body_a.id != a || e.body_b.id != b)
    fail_msg("%s of %u and %u, expected %s of %u and %u", abd_event_kind_name(e.kind), e.body_a.id, e.body_b.id,
             abd_event_kind_name(kind), a, b);
}

/* A cube falls, bounces, and lies. */
static void test_touches(void **state) {
  AbdWorldDef def = abd_default_world_def();
  def.contact.restitution = 0.8;
  Lab lab = lab_open(def);
  AbdMeshId mesh = lab_box(&lab, 0.1, 0.1, 0.1);
  lab_ground(&lab, vec3(0, 0, 1));
  lab_body(&lab, mesh, vec3(0, 0, 0.5), vec3(0, 0, 0));
  AbdEvent event[MOST];
  bool touching = false;
  int began = 0, ended = 0;
  (void)state;
  for (int i = 0; i < 150; i++) {
    int count = step(&lab, event);
    for (int k = 0; k < count; k++) {
      is(event[k], touching ? ABD_EVENT_TOUCH_ENDED : ABD_EVENT_TOUCH_BEGAN, 1, 2);
      *(touching ? &ended : &began) += 1;
      touching = !touching;
    }
    assert_true(touching == (abd_world_contacts(lab.world, NULL, 0) > 0));
  }
  print_message("%d touches began, %d ended\n", began, ended);
  assert_true(began >= 3 && ended >= 2);
  lab_close(&lab);
}

/* A fast ball strikes a block and is back out of range within one step, which is taken in sub-steps. */
static void test_brief_touch(void **state) {
  AbdWorldDef def = abd_default_world_def();
  def.contact.restitution = 1;
  def.gravity[2] = 0;
  def.dt = 0.02;
  Lab lab = lab_open(def);
  MeshData mesh = {0};
  (void)state;
  assert_true(shape_sphere(0.02, 2, &mesh));
  lab_static(&lab, lab_box(&lab, 0.5, 0.5, 0.5), vec3(0, 0, 0));
  lab_body(&lab, lab_mesh(&lab, &mesh, 0, false), vec3(-0.45, 0, 0), vec3(30, 0, 0));
  AbdEvent event[MOST];
  int count = step(&lab, event);
  assert_int_equal(count, 2);
  is(event[0], ABD_EVENT_TOUCH_BEGAN, 1, 2);
  is(event[1], ABD_EVENT_TOUCH_ENDED, 1, 2);
  assert_int_equal(step(&lab, event), 0);
  lab_close(&lab);
}

static void test_changes(void **state) {
  Lab lab = lab_open(abd_default_world_def());
  AbdMeshId mesh = lab_box(&lab, 0.1, 0.1, 0.1);
  lab_ground(&lab, vec3(0, 0, 1));
  lab_body(&lab, mesh, vec3(0, 0, 0.5), vec3(0, 0, 0));
  AbdEvent event[MOST];
  (void)state;
  lab_expect_ok(&lab, abd_world_start(lab.world));
  AbdBodyId early = lab_body(&lab, mesh, vec3(1, 0, 0.5), vec3(0, 0, 0));
  assert_int_equal(step(&lab, event), 1); /* none of the bodies of the start */
  is(event[0], ABD_EVENT_BODY_ADDED, early.id, 0);
  AbdBodyId late = lab_body(&lab, mesh, vec3(2, 0, 0.5), vec3(0, 0, 0));
  AbdJointDef joint = abd_default_joint_def();
  AbdJointId id;
  joint.kind = ABD_JOINT_BALL;
  joint.body_a = late;
  vec3_to(joint.point, vec3(2, 0, 0.6));
  lab_expect_ok(&lab, abd_world_add_joint(lab.world, &joint, &id));
  assert_int_equal(abd_world_events(lab.world, event, MOST), 1); /* they belong to the next step */
  assert_int_equal(step(&lab, event), 2);
  is(event[0], ABD_EVENT_BODY_ADDED, late.id, 0);
  is(event[1], ABD_EVENT_JOINT_ADDED, late.id, 0);
  assert_int_equal(event[1].joint.id, id.id);
  assert_int_equal(step(&lab, event), 0);
  lab_expect_ok(&lab, abd_world_remove_body(lab.world, late));
  lab_expect_ok(&lab, abd_world_remove_body(lab.world, early));
  AbdBodyDef bad = lab_at(mesh, vec3(0, 0, 0));
  assert_int_equal(abd_world_add_body(lab.world, &bad, NULL), ABD_ERROR_CROSSING); /* raises nothing */
  assert_int_equal(step(&lab, event), 3);
  is(event[0], ABD_EVENT_JOINT_REMOVED, late.id, 0);
  is(event[1], ABD_EVENT_BODY_REMOVED, late.id, 0);
  is(event[2], ABD_EVENT_BODY_REMOVED, early.id, 0);
  assert_true(world_raise(lab.world, ABD_EVENT_JOINT_BROKE, late, early, id));
  assert_int_equal(step(&lab, event), 1);
  is(event[0], ABD_EVENT_JOINT_BROKE, late.id, early.id);
  lab_close(&lab);
}

/* Of pairs whose bodies were there before; a friction, a body that goes and a joint that goes change no exclusion. */
static void test_exclusions(void **state) {
  Lab lab = lab_open(abd_default_world_def());
  AbdMeshId mesh = lab_box(&lab, 0.1, 0.1, 0.1);
  lab_ground(&lab, vec3(0, 0, 1));
  for (int k = 0; k < 4; k++) lab_body(&lab, mesh, vec3(k, 0, 5), vec3(0, 0, 0));
  AbdWorld *w = lab.world;
  AbdBodyId ground = {1}, a = {2}, b = {3}, c = {4}, d = {5};
  AbdEvent event[MOST];
  (void)state;
  lab_expect_ok(&lab, abd_world_exclude_pair(w, ground, b));
  assert_int_equal(step(&lab, event), 0);
  lab_expect_ok(&lab, abd_world_exclude_pair(w, b, a));
  lab_expect_ok(&lab, abd_world_exclude_pair(w, a, b));
  lab_expect_ok(&lab, abd_world_set_pair_friction(w, a, c, 0.3));
  lab_expect_ok(&lab, abd_world_include_pair(w, ground, b));
  assert_int_equal(step(&lab, event), 2);
  is(event[0], ABD_EVENT_PAIR_EXCLUDED, a.id, b.id);
  is(event[1], ABD_EVENT_PAIR_INCLUDED, ground.id, b.id);
  AbdJointDef joint = abd_default_joint_def();
  AbdJointId id;
  joint.kind = ABD_JOINT_BALL;
  joint.body_a = c, joint.body_b = d;
  lab_expect_ok(&lab, abd_world_add_joint(w, &joint, &id));
  assert_int_equal(step(&lab, event), 2);
  is(event[0], ABD_EVENT_JOINT_ADDED, c.id, d.id);
  is(event[1], ABD_EVENT_PAIR_EXCLUDED, c.id, d.id);
  lab_expect_ok(&lab, abd_world_remove_joint(w, id));
  lab_expect_ok(&lab, abd_world_remove_body(w, a));
  assert_int_equal(step(&lab, event), 2);
  is(event[0], ABD_EVENT_JOINT_REMOVED, c.id, d.id);
  is(event[1], ABD_EVENT_BODY_REMOVED, a.id, 0);
  lab_expect_ok(&lab, abd_world_include_pair(w, c, d));
  assert_int_equal(step(&lab, event), 1);
  is(event[0], ABD_EVENT_PAIR_INCLUDED, c.id, d.id);
  lab_close(&lab);
}

/* A restored world has the touches of the snapshot, so that none begins twice. */
static void test_touches_in_snapshots(void **state) {
  Lab lab = lab_open(abd_default_world_def());
  AbdMeshId mesh = lab_box(&lab, 0.1, 0.1, 0.1);
  lab_ground(&lab, vec3(0, 0, 1));
  lab_body(&lab, mesh, vec3(0, 0, 0.0502), vec3(0, 0, 0));
  AbdEvent event[MOST];
  (void)state;
  int began = 0;
  for (int i = 0; i < 20; i++) began += step(&lab, event);
  assert_int_equal(began, 1);
  size_t size = abd_world_snapshot_size(lab.world);
  void *bytes = malloc(size);
  lab_expect_ok(&lab, abd_world_save(lab.world, bytes, size));
  AbdBodyState far = {.position = {0, 0, 2}, .rotation = {1, 0, 0, 0}};
  lab_expect_ok(&lab, abd_body_set_state(lab.world, (AbdBodyId){2}, &far));
  assert_int_equal(step(&lab, event), 1);
  is(event[0], ABD_EVENT_TOUCH_ENDED, 1, 2);
  lab_expect_ok(&lab, abd_world_restore(lab.world, bytes, size));
  assert_int_equal(abd_world_events(lab.world, event, MOST), 0);
  assert_int_equal(step(&lab, event), 0);
  free(bytes);
  lab_close(&lab);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_touches),    cmocka_unit_test(test_brief_touch),          cmocka_unit_test(test_changes),
      cmocka_unit_test(test_exclusions), cmocka_unit_test(test_touches_in_snapshots),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
