/* Changes between steps: bodies, soft bodies, joints and exclusions added and removed, poses set. What crosses is
 * refused with the names; a change that is undone leaves no trace; a changed world takes the steps of one that was made
 * without what was removed. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/base.h"
#include "draw.h"
#include "lab.h"
#include "softlab.h"

static AbdWorldDef rough(void) {
  AbdWorldDef def = abd_default_world_def();
  def.contact.friction = 0.4;
  return def;
}

static void steps(Lab *lab, int count) {
  for (int i = 0; i < count; i++) lab_expect_ok(lab, abd_world_step(lab->world, NULL));
}

/* The next steps of two worlds have the same bits. */
static void same_steps(Lab *a, Lab *b, int count) {
  for (int i = 0; i < count; i++) {
    steps(a, 1);
    steps(b, 1);
    if (abd_world_hash(a->world) != abd_world_hash(b->world)) fail_msg("step %d differs", i + 1);
  }
}

static void refused(const Lab *lab, AbdStatus status, AbdStatus expected, const char *a, const char *b) {
  const char *text = abd_world_error(lab->world);
  if (status != expected) fail_msg("%s, expected %s: %s", abd_status_name(status), abd_status_name(expected), text);
  if (!strstr(text, a) || !strstr(text, b)) fail_msg("'%s' names neither '%s' nor '%s'", text, a, b);
}

static AbdBodyDef named(AbdMeshId mesh, const char *name, double x, double y, double z) {
  AbdBodyDef def = lab_at(mesh, vec3(x, y, z));
  def.name = name;
  return def;
}

/* A tilted stack that slides and topples. */
static void add_stack(Lab *lab, AbdMeshId mesh, int first, int end) {
  for (int i = first; i < end; i++) {
    AbdBodyDef def = named(mesh, NULL, 0.15 * i, 0.02 * i, 0.55 + 1.1 * i);
    lab_turn(&def, vec3(0.1, 0.2, 1), 0.3 * i);
    def.angular_velocity[1] = 0.5;
    lab_body_def(lab, &def);
  }
}

static Lab open_stack(int count, bool start_between) {
  Lab lab = lab_open(rough());
  AbdMeshId mesh = lab_box(&lab, 1, 1, 1);
  lab_ground(&lab, vec3(0, 0, 1));
  for (int i = 0; i < count; i++) {
    if (start_between) lab_expect_ok(&lab, abd_world_start(lab.world));
    add_stack(&lab, mesh, i, i + 1);
  }
  return lab;
}

static void test_added_at_once_or_one_by_one(void **state) {
  Lab a = open_stack(6, false), b = open_stack(6, true);
  (void)state;
  lab_expect_ok(&a, abd_world_start(a.world));
  assert_true(abd_world_settings(a.world).contact.range == abd_world_settings(b.world).contact.range);
  same_steps(&a, &b, 40);
  assert_true(abd_world_contacts(a.world, NULL, 0) > 0);
  lab_close(&a);
  lab_close(&b);
}

static void test_added_and_removed_leaves_no_trace(void **state) {
  Lab a = open_stack(5, false), b = open_stack(5, false);
  (void)state;
  steps(&a, 25);
  steps(&b, 25);
  AbdMeshId mesh = lab_box(&b, 0.3, 0.2, 0.1);
  AbdBodyDef def = named(mesh, "guest", 3, 3, 3);
  AbdBodyId guest = lab_body_def(&b, &def);
  assert_int_equal(guest.id, 7);
  assert_int_equal(abd_world_body_count(b.world), 7);
  lab_expect_ok(&b, abd_world_remove_body(b.world, guest));
  assert_true(abd_world_hash(a.world) == abd_world_hash(b.world));
  same_steps(&a, &b, 40);
  def = named(mesh, "guest", 3, 3, 3);
  assert_int_equal(lab_body_def(&b, &def).id, 8); /* ids are not reused */
  lab_close(&a);
  lab_close(&b);
}

static void test_what_crosses_is_refused(void **state) {
  AbdWorldDef world_def = rough();
  (void)state;
  for (int k = 0; k < 2; k++) {
    world_def.contact.separation = k ? 0.01 : 0;
    Lab a = lab_open(world_def), b = lab_open(world_def);
    for (Lab *lab = &a; lab; lab = lab == &a ? &b : NULL) {
      AbdMeshId mesh = lab_box(lab, 1, 1, 1);
      lab_ground(lab, vec3(0, 0, 1));
      AbdBodyDef def = named(mesh, "low", 0, 0, 0.6);
      lab_body_def(lab, &def);
      def = named(mesh, "high", 0, 0, 1.8);
      lab_body_def(lab, &def);
      steps(lab, 10);
    }
    AbdContact contact[64];
    size_t contacts = abd_world_contacts(b.world, contact, 64);
    double at[12];
    lab_expect_ok(&b, abd_body_nodes(b.world, (AbdBodyId){3}, at));
    AbdBodyDef def = named((AbdMeshId){1}, "late", 0.2, 0.1, k ? at[2] + 1.005 : at[2] + 0.9);
    AbdBodyId id = {77};
    refused(&b, abd_world_add_body(b.world, &def, &id), ABD_ERROR_CROSSING, "high", "late");
    assert_non_null(strstr(abd_world_error(b.world), k ? "apart" : "cross"));
    assert_int_equal(id.id, 77);
    assert_int_equal(abd_world_body_count(b.world), 3);
    AbdBodyState s;
    lab_expect_ok(&b, abd_body_state(b.world, (AbdBodyId){2}, &s));
    s.position[2] += 1.19;
    refused(&b, abd_body_set_state(b.world, (AbdBodyId){2}, &s), ABD_ERROR_CROSSING, "high", "low");
    assert_int_equal(abd_world_contacts(b.world, contact, 64), contacts);
    same_steps(&a, &b, 20);
    lab_close(&a);
    lab_close(&b);
  }
}

/* A world that never had the body, brought to the same state. */
static void test_removed_body_is_gone(void **state) {
  Lab a = open_stack(6, false);
  (void)state;
  steps(&a, 30);
  AbdBodyView view;
  double nodes[12];
  lab_expect_ok(&a, abd_world_remove_body(a.world, (AbdBodyId){3}));
  refused(&a, abd_world_remove_body(a.world, (AbdBodyId){3}), ABD_ERROR_ARGUMENT, "3", "any more");
  refused(&a, abd_world_remove_body(a.world, (AbdBodyId){9}), ABD_ERROR_ARGUMENT, "9", "does not exist");
  assert_int_equal(abd_body_view(a.world, (AbdBodyId){3}, &view), ABD_ERROR_ARGUMENT);
  assert_int_equal(abd_body_nodes(a.world, (AbdBodyId){3}, nodes), ABD_ERROR_ARGUMENT);
  lab_expect_ok(&a, abd_body_view(a.world, (AbdBodyId){4}, &view));
  assert_string_equal(view.name, "body 4");
  assert_int_equal(abd_world_body_count(a.world), 6);
  assert_int_equal(abd_world_body_at(a.world, 2).id, 4);
  assert_int_equal(abd_world_body_at(a.world, 6).id, 0);
  Lab b = lab_open(rough());
  AbdMeshId mesh = lab_box(&b, 1, 1, 1);
  lab_ground(&b, vec3(0, 0, 1));
  add_stack(&b, mesh, 0, 2);
  lab_expect_ok(&b, abd_world_remove_body(b.world, (AbdBodyId){3}));
  add_stack(&b, mesh, 2, 6);
  size_t size = abd_world_snapshot_size(a.world);
  void *bytes = malloc(size);
  lab_expect_ok(&a, abd_world_save(a.world, bytes, size));
  lab_expect_ok(&b, abd_world_restore(b.world, bytes, size));
  assert_true(abd_world_hash(a.world) == abd_world_hash(b.world));
  same_steps(&a, &b, 30);
  AbdContact contact[256];
  size_t count = abd_world_contacts(a.world, contact, 256);
  assert_true(count > 0);
  for (size_t k = 0; k < count; k++) assert_true(contact[k].body_a.id != 3 && contact[k].body_b.id != 3);
  AbdStepReport report;
  lab_expect_ok(&a, abd_world_step(a.world, &report));
  assert_true(report.nearest[0].id && report.nearest[0].id != 3 && report.nearest[0].id <= 7);
  free(bytes);
  lab_close(&a);
  lab_close(&b);
}

/* The rules of pairs are those of the snapshot, in a world that never had them and in one that has others. */
static void test_restore_has_the_rules_of_pairs(void **state) {
  Lab a = open_stack(4, false), b = open_stack(4, false);
  (void)state;
  for (int k = 0; k < 3; k++) {
    steps(&a, 5);
    if (k == 0) lab_expect_ok(&a, abd_world_set_pair_friction(a.world, (AbdBodyId){1}, (AbdBodyId){2}, 0.01));
    if (k == 1) lab_expect_ok(&a, abd_world_exclude_pair(a.world, (AbdBodyId){3}, (AbdBodyId){4}));
    if (k == 1) lab_expect_ok(&a, abd_world_set_pair_restitution(a.world, (AbdBodyId){1}, (AbdBodyId){5}, 0.5));
    if (k == 2) lab_expect_ok(&a, abd_world_remove_body(a.world, (AbdBodyId){2}));
    size_t size = abd_world_snapshot_size(a.world);
    void *bytes = malloc(size);
    lab_expect_ok(&a, abd_world_save(a.world, bytes, size));
    lab_expect_ok(&b, abd_world_restore(b.world, bytes, size));
    same_steps(&a, &b, 20);
    assert_true(abd_world_pair_collides(b.world, (AbdBodyId){3}, (AbdBodyId){4}) == (k < 1));
    lab_expect_ok(&b, abd_world_exclude_pair(b.world, (AbdBodyId){1}, (AbdBodyId){3}));
    steps(&b, 2);
    lab_expect_ok(&a, abd_world_restore(a.world, bytes, size));
    free(bytes);
  }
  lab_close(&a);
  lab_close(&b);
}

/* A snapshot has fewer bodies and joints than the world that restores it. */
static void test_restore_removes_what_the_snapshot_has_not(void **state) {
  Lab a = open_stack(4, false), b = open_stack(4, false);
  (void)state;
  steps(&a, 10);
  lab_expect_ok(&a, abd_world_remove_body(a.world, (AbdBodyId){4}));
  size_t size = abd_world_snapshot_size(a.world);
  void *bytes = malloc(size);
  lab_expect_ok(&a, abd_world_save(a.world, bytes, size));
  steps(&b, 3);
  lab_expect_ok(&b, abd_world_restore(b.world, bytes, size));
  assert_int_equal(abd_world_body_count(b.world), 4);
  same_steps(&a, &b, 20);
  lab_expect_ok(&a, abd_world_remove_body(a.world, (AbdBodyId){5}));
  refused(&a, abd_world_restore(a.world, bytes, size), ABD_ERROR_STATE, "body 5", "does not have");
  steps(&a, 1);
  free(bytes);
  lab_close(&a);
  lab_close(&b);
}

/* A body that is put somewhere goes on as one that begins there. */
static void test_a_state_that_is_set(void **state) {
  (void)state;
  for (int integrator = 0; integrator < 3; integrator++) {
    AbdWorldDef def = rough();
    def.integrator = (AbdIntegrator)integrator;
    def.contact.range = 1e-3;
    Lab a = lab_open(def), b = lab_open(def);
    AbdMeshId mesh[2] = {lab_potato(&a, 0.5, 0.3), lab_potato(&b, 0.5, 0.3)};
    AbdBodyDef body = named(mesh[0], "p", 0, 0, 2);
    lab_turn(&body, vec3(1, 2, 3), 0.4);
    vec3_to(body.velocity, vec3(1, 0, 2));
    vec3_to(body.angular_velocity, vec3(0.1, 3, 1));
    lab_ground(&a, vec3(0, 0, 1));
    lab_ground(&b, vec3(0, 0, 1));
    AbdBodyId p = lab_body_def(&a, &body);
    body.mesh = mesh[1];
    body.position[2] = 9;
    AbdBodyId q = lab_body_def(&b, &body);
    AbdBodyState s;
    lab_expect_ok(&a, abd_body_state(a.world, p, &s));
    for (int k = 0; k < 3; k++) assert_true(fabs(s.position[k] - (k == 2 ? 2 : 0)) < 1e-12);
    for (int k = 0; k < 4; k++) assert_true(fabs(s.rotation[k] - body.rotation[k]) < 1e-12);
    steps(&b, 20);
    s = (AbdBodyState){.position = {0, 0, 2}, .velocity = {1, 0, 2}, .angular_velocity = {0.1, 3, 1}};
    memcpy(s.rotation, body.rotation, sizeof s.rotation);
    lab_expect_ok(&b, abd_body_set_state(b.world, q, &s));
    for (int i = 0; i < 60; i++) {
      double x[12], y[12];
      steps(&a, 1);
      steps(&b, 1);
      lab_expect_ok(&a, abd_body_nodes(a.world, p, x));
      lab_expect_ok(&b, abd_body_nodes(b.world, q, y));
      if (memcmp(x, y, sizeof x) != 0) fail_msg("integrator %d: step %d differs", integrator, i + 1);
    }
    s.rotation[0] = NAN;
    refused(&b, abd_body_set_state(b.world, q, &s), ABD_ERROR_ARGUMENT, "\"p\"", "rotation");
    refused(&b, abd_body_set_state(b.world, (AbdBodyId){1}, &s), ABD_ERROR_ARGUMENT, "static", "");
    refused(&b, abd_body_set_state(b.world, (AbdBodyId){5}, &s), ABD_ERROR_ARGUMENT, "5", "does not exist");
    lab_close(&a);
    lab_close(&b);
  }
}

static void test_held_rotations_stay(void **state) {
  Lab lab = lab_open(rough());
  AbdMeshId mesh = lab_box(&lab, 1, 1, 1);
  AbdBodyDef def = named(mesh, "rail", 0, 0, 0);
  def.fixed = ABD_FIX_ROTATION_X | ABD_FIX_ROTATION_Y;
  AbdBodyId body = lab_body_def(&lab, &def);
  AbdBodyState s = {.position = {1, 2, 3}, .rotation = {cos(0.2), 0, 0, sin(0.2)}};
  (void)state;
  lab_expect_ok(&lab, abd_body_set_state(lab.world, body, &s));
  s = (AbdBodyState){.rotation = {cos(0.2), sin(0.2), 0, 0}};
  refused(&lab, abd_body_set_state(lab.world, body, &s), ABD_ERROR_ARGUMENT, "rail", "held");
  steps(&lab, 5);
  lab_close(&lab);
}

static AbdJointDef hinge_of(AbdBodyId a, AbdBodyId b, Vec3 point) {
  AbdJointDef def = abd_default_joint_def();
  def.kind = ABD_JOINT_HINGE;
  def.body_a = a;
  def.body_b = b;
  vec3_to(def.point, point);
  vec3_to(def.axis, vec3(0, 1, 0));
  return def;
}

/* A bar falls, is caught by a hinge, swings, is let go and falls again. */
static void test_joints_come_and_go(void **state) {
  AbdWorldDef world_def = rough();
  Lab lab = lab_open(world_def);
  AbdMeshId mesh = lab_box(&lab, 2, 0.2, 0.2);
  AbdBodyDef def = named(mesh, "bar", 0, 0, 0);
  def.angular_velocity[1] = 1;
  AbdBodyId bar = lab_body_def(&lab, &def);
  double x[12];
  (void)state;
  steps(&lab, 20);
  lab_expect_ok(&lab, abd_body_nodes(lab.world, bar, x));
  AbdBodyState s;
  lab_expect_ok(&lab, abd_body_state(lab.world, bar, &s));
  Vec3 p = vec3_from(x), tip = add_scaled(p, -1, vec3(cos(0.2), 0, -sin(0.2)));
  AbdJointDef hinge = hinge_of(bar, (AbdBodyId){0}, tip);
  AbdJointId joint;
  lab_expect_ok(&lab, abd_world_add_joint(lab.world, &hinge, &joint));
  for (int i = 0; i < 50; i++) {
    steps(&lab, 1);
    AbdJointReading r;
    lab_expect_ok(&lab, abd_joint_reading(lab.world, joint, &r));
    if (!(norm(sub(vec3_from(r.point), tip)) < 1e-6))
      fail_msg("the hinge is off by %g m", norm(sub(vec3_from(r.point), tip)));
  }
  refused(&lab, abd_body_set_state(lab.world, bar, &s), ABD_ERROR_STATE, "bar", "joint 1");
  AbdJointReading before, after;
  AbdMeshId other = lab_box(&lab, 0.1, 0.1, 0.1);
  lab_expect_ok(&lab, abd_joint_reading(lab.world, joint, &before));
  assert_true(fabs(before.force[2]) > 10);
  AbdBodyDef far = named(other, "far", 9, 9, 9);
  lab_body_def(&lab, &far);
  lab_expect_ok(&lab, abd_joint_reading(lab.world, joint, &after)); /* a change keeps what the last step read */
  assert_true(before.force[2] == after.force[2] && before.torque[0] == after.torque[0]);
  double v[3], w[3], u[3];
  lab_expect_ok(&lab, abd_body_velocity(lab.world, bar, v, w));
  lab_expect_ok(&lab, abd_world_remove_joint(lab.world, joint));
  assert_int_equal(abd_joint_reading(lab.world, joint, &after), ABD_ERROR_ARGUMENT);
  assert_int_equal(abd_world_joint_count(lab.world), 0);
  steps(&lab, 1);
  lab_expect_ok(&lab, abd_body_velocity(lab.world, bar, u, w));
  assert_true(fabs(u[0] - v[0]) < 1e-9 && fabs(u[2] - v[2] + 0.0981) < 1e-9);
  lab_close(&lab);
}

static void test_a_gear_leaves_with_its_joint(void **state) {
  Lab lab = lab_open(rough());
  AbdMeshId mesh = lab_box(&lab, 1, 0.2, 0.2);
  AbdBodyId body[3];
  AbdJointId joint[4];
  (void)state;
  for (int i = 0; i < 3; i++) {
    AbdBodyDef def = named(mesh, NULL, 2 * i, 0, 0);
    def.angular_velocity[1] = i == 0 ? 1 : i == 1 ? -1 : 0;
    body[i] = lab_body_def(&lab, &def);
    AbdJointDef hinge = hinge_of(body[i], (AbdBodyId){0}, vec3(2 * i, 0, 0));
    lab_expect_ok(&lab, abd_world_add_joint(lab.world, &hinge, &joint[i]));
  }
  AbdJointDef gear = abd_default_joint_def();
  gear.kind = ABD_JOINT_GEAR;
  gear.joint_a = joint[0];
  gear.joint_b = joint[1];
  gear.ratio = -1;
  lab_expect_ok(&lab, abd_world_add_joint(lab.world, &gear, &joint[3]));
  steps(&lab, 10);
  lab_expect_ok(&lab, abd_world_remove_body(lab.world, body[0]));
  assert_int_equal(abd_world_joint_count(lab.world), 2);
  assert_int_equal(abd_world_joint_at(lab.world, 0).id, joint[1].id);
  assert_int_equal(abd_world_joint_at(lab.world, 1).id, joint[2].id);
  AbdJointDef def;
  lab_expect_ok(&lab, abd_joint_def(lab.world, joint[2], &def));
  assert_int_equal(def.body_a.id, body[2].id);
  steps(&lab, 10);
  lab_close(&lab);
}

/* Bodies that overlap come with what keeps them from colliding. */
static void test_one_change_of_several_calls(void **state) {
  Lab lab = open_stack(2, false);
  (void)state;
  steps(&lab, 10);
  AbdMeshId mesh = lab_box(&lab, 1, 0.2, 0.2);
  AbdBodyDef def = named(mesh, "arm", 5, 0, 5), second = named(mesh, "forearm", 5.8, 0, 5);
  AbdBodyId arm, forearm;
  AbdJointId elbow;
  lab_expect_ok(&lab, abd_world_begin_change(lab.world));
  refused(&lab, abd_world_begin_change(lab.world), ABD_ERROR_STATE, "open", "");
  lab_expect_ok(&lab, abd_world_add_body(lab.world, &def, &arm));
  lab_expect_ok(&lab, abd_world_add_body(lab.world, &second, &forearm));
  refused(&lab, abd_world_step(lab.world, NULL), ABD_ERROR_STATE, "abd_world_end_change", "");
  assert_int_equal(abd_world_body_count(lab.world), 3);
  refused(&lab, abd_world_end_change(lab.world), ABD_ERROR_CROSSING, "arm", "forearm");
  assert_int_equal(abd_world_body_count(lab.world), 3);
  lab_expect_ok(&lab, abd_world_begin_change(lab.world));
  lab_expect_ok(&lab, abd_world_add_body(lab.world, &def, &arm));
  lab_expect_ok(&lab, abd_world_add_body(lab.world, &second, &forearm));
  AbdJointDef hinge = hinge_of(arm, forearm, vec3(5.4, 0, 5));
  lab_expect_ok(&lab, abd_world_add_joint(lab.world, &hinge, &elbow));
  lab_expect_ok(&lab, abd_world_end_change(lab.world));
  assert_int_equal(abd_world_body_count(lab.world), 5);
  steps(&lab, 10);
  lab_expect_ok(&lab, abd_world_remove_joint(lab.world, elbow)); /* the pair stays excluded */
  steps(&lab, 1);
  refused(&lab, abd_world_include_pair(lab.world, arm, forearm), ABD_ERROR_CROSSING, "arm", "forearm");
  lab_expect_ok(&lab, abd_world_begin_change(lab.world));
  AbdBodyId extra;
  AbdBodyDef gone = named(mesh, "gone", 9, 0, 9);
  lab_expect_ok(&lab, abd_world_add_body(lab.world, &gone, &extra));
  lab_expect_ok(&lab, abd_world_remove_body(lab.world, extra)); /* of the same change */
  lab_expect_ok(&lab, abd_world_add_body(lab.world, &gone, &extra));
  lab_expect_ok(&lab, abd_world_remove_body(lab.world, arm));
  abd_world_cancel_change(lab.world);
  assert_int_equal(abd_world_body_count(lab.world), 5);
  steps(&lab, 1);
  lab_expect_ok(&lab, abd_world_begin_change(lab.world));
  lab_expect_ok(&lab, abd_world_add_body(lab.world, &gone, &extra)); /* a world is destroyed with an open change */
  lab_close(&lab);
}

static AbdSoftDef jelly_def(const SoftMesh *s, const char *name, Vec3 position) {
  AbdSoftDef def = abd_default_soft_def();
  def.name = name;
  def.vertex = s->vertex;
  def.vertex_count = s->vertex_count;
  def.tet = s->tet;
  def.tet_count = s->tet_count;
  def.young = 1e5;
  vec3_to(def.position, position);
  return def;
}

/* Before the start a change is taken back in the same way: the world then steps as one that never had it. */
static void test_a_change_before_the_start(void **state) {
  Lab a = open_stack(2, false), b = open_stack(2, false);
  SoftMesh block = soft_block(2, 2, 2, vec3(0.4, 0.4, 0.4));
  AbdBodyId arm, jelly;
  AbdJointId elbow;
  (void)state;
  lab_expect_ok(&b, abd_world_begin_change(b.world));
  refused(&b, abd_world_begin_change(b.world), ABD_ERROR_STATE, "open", "");
  AbdMeshId mesh = lab_box(&b, 1, 0.2, 0.2);
  AbdBodyDef def = named(mesh, "arm", 5, 0, 5);
  AbdSoftDef soft = jelly_def(&block, "jelly", vec3(8, 0, 2));
  lab_expect_ok(&b, abd_world_add_body(b.world, &def, &arm));
  lab_expect_ok(&b, abd_world_add_soft(b.world, &soft, &jelly));
  lab_expect_ok(&b, abd_soft_attach(b.world, jelly, 0, arm));
  AbdJointDef hinge = hinge_of(arm, (AbdBodyId){0}, vec3(5, 0, 5));
  lab_expect_ok(&b, abd_world_add_joint(b.world, &hinge, &elbow));
  lab_expect_ok(&b, abd_world_remove_body(b.world, (AbdBodyId){2}));
  assert_int_equal(abd_world_body_count(b.world), 3);
  assert_int_equal(abd_world_joint_count(b.world), 0);
  refused(&b, abd_world_step(b.world, NULL), ABD_ERROR_STATE, "abd_world_end_change", "");
  refused(&b, abd_world_start(b.world), ABD_ERROR_STATE, "abd_world_end_change", "");
  abd_world_cancel_change(b.world);
  assert_int_equal(abd_world_body_count(b.world), 3);
  same_steps(&a, &b, 20);
  lab_close(&b);
  b = open_stack(2, false);
  lab_expect_ok(&b, abd_world_begin_change(b.world));
  def.mesh = lab_box(&b, 1, 0.2, 0.2);
  lab_expect_ok(&b, abd_world_add_body(b.world, &def, &arm));
  lab_expect_ok(&b, abd_world_add_soft(b.world, &soft, &jelly));
  hinge.body_a = arm;
  lab_expect_ok(&b, abd_world_add_joint(b.world, &hinge, &elbow));
  lab_expect_ok(&b, abd_world_remove_body(b.world, (AbdBodyId){2}));
  lab_expect_ok(&b, abd_world_end_change(b.world));
  assert_int_equal(abd_world_body_count(b.world), 4);
  assert_int_equal(abd_world_joint_count(b.world), 1);
  steps(&b, 5);
  soft_mesh_free(&block);
  lab_close(&a);
  lab_close(&b);
}

static void test_soft_bodies_come_and_go(void **state) {
  Lab a = open_stack(3, false), b = open_stack(3, false);
  SoftMesh block = soft_block(2, 2, 2, vec3(0.4, 0.4, 0.4));
  (void)state;
  for (Lab *lab = &a; lab; lab = lab == &a ? &b : NULL) {
    AbdSoftDef def = jelly_def(&block, "jelly", vec3(4, 0, 0.5));
    AbdBodyId id;
    lab_expect_ok(lab, abd_world_add_soft(lab->world, &def, &id));
    steps(lab, 20);
  }
  AbdSoftDef def = jelly_def(&block, "guest", vec3(4.1, 0, 2));
  AbdBodyId guest;
  AbdMeshView view;
  AbdBodyView body;
  lab_expect_ok(&b, abd_world_begin_change(b.world));
  lab_expect_ok(&b, abd_world_add_soft(b.world, &def, &guest));
  lab_expect_ok(&b, abd_soft_attach(b.world, guest, 0, (AbdBodyId){0}));
  lab_expect_ok(&b, abd_soft_script(b.world, guest, 1));
  lab_expect_ok(&b, abd_world_end_change(b.world));
  lab_expect_ok(&b, abd_body_view(b.world, guest, &body));
  lab_expect_ok(&b, abd_mesh_view(b.world, body.mesh, &view));
  lab_expect_ok(&b, abd_world_remove_body(b.world, guest));
  assert_int_equal(abd_mesh_view(b.world, body.mesh, &view), ABD_ERROR_ARGUMENT);
  same_steps(&a, &b, 20);
  lab_expect_ok(&b, abd_world_add_soft(b.world, &def, &guest));
  steps(&b, 60);
  AbdContact contact[512];
  size_t count = abd_world_contacts(b.world, contact, 512), own = 0;
  for (size_t k = 0; k < count && k < 512; k++)
    own += contact[k].body_a.id == guest.id || contact[k].body_b.id == guest.id;
  assert_true(own > 0);
  def = jelly_def(&block, "late", vec3(4.1, 0, 0.5));
  refused(&b, abd_world_add_soft(b.world, &def, NULL), ABD_ERROR_CROSSING, "late", "jelly");
  soft_mesh_free(&block);
  lab_close(&a);
  lab_close(&b);
}

static void test_a_soft_body_on_a_moving_one(void **state) {
  Lab lab = open_stack(3, false);
  SoftMesh block = soft_block(2, 2, 2, vec3(0.2, 0.2, 0.2));
  double x[12], v[3 * 64];
  (void)state;
  steps(&lab, 15);
  lab_expect_ok(&lab, abd_body_nodes(lab.world, (AbdBodyId){4}, x));
  AbdSoftDef def = jelly_def(&block, "flag", vec3(x[0], x[1], x[2] + 1.2));
  AbdBodyId flag;
  lab_expect_ok(&lab, abd_world_begin_change(lab.world));
  lab_expect_ok(&lab, abd_world_add_soft(lab.world, &def, &flag));
  lab_expect_ok(&lab, abd_soft_attach(lab.world, flag, 0, (AbdBodyId){4}));
  lab_expect_ok(&lab, abd_soft_attach(lab.world, flag, 1, (AbdBodyId){4}));
  lab_expect_ok(&lab, abd_world_end_change(lab.world));
  assert_int_equal(abd_soft_attached(lab.world, flag, 1), 4);
  lab_expect_ok(&lab, abd_soft_vertices(lab.world, flag, v));
  Mat3 inverse = mat3_inverse(mat3(vec3_from(x + 3), vec3_from(x + 6), vec3_from(x + 9)));
  Vec3 rest = mat3_mul_vec(inverse, sub(vec3_from(v), vec3_from(x)));
  steps(&lab, 15);
  lab_expect_ok(&lab, abd_body_nodes(lab.world, (AbdBodyId){4}, x));
  lab_expect_ok(&lab, abd_soft_vertices(lab.world, flag, v));
  inverse = mat3_inverse(mat3(vec3_from(x + 3), vec3_from(x + 6), vec3_from(x + 9)));
  assert_true(norm(sub(rest, mat3_mul_vec(inverse, sub(vec3_from(v), vec3_from(x))))) < 1e-9);
  refused(&lab, abd_world_remove_body(lab.world, (AbdBodyId){4}), ABD_ERROR_STATE, "body 4", "flag");
  AbdJointDef hinge = hinge_of((AbdBodyId){4}, (AbdBodyId){0}, vec3_from(x));
  hinge.name = "pin";
  refused(&lab, abd_world_add_joint(lab.world, &hinge, NULL), ABD_ERROR_STATE, "pin", "body 4");
  lab_expect_ok(&lab, abd_world_remove_body(lab.world, (AbdBodyId){2})); /* indices move */
  assert_int_equal(abd_soft_attached(lab.world, flag, 1), 4);
  steps(&lab, 5);
  lab_expect_ok(&lab, abd_world_remove_body(lab.world, flag));
  lab_expect_ok(&lab, abd_world_remove_body(lab.world, (AbdBodyId){4}));
  steps(&lab, 5);
  soft_mesh_free(&block);
  lab_close(&lab);
}

static void test_exclusions_between_steps(void **state) {
  Lab lab = lab_open(rough());
  AbdMeshId mesh = lab_box(&lab, 1, 1, 1);
  AbdBodyId ground = lab_ground(&lab, vec3(0, 0, 1));
  AbdBodyDef def = named(mesh, "box", 0, 0, 0.52);
  AbdBodyId box = lab_body_def(&lab, &def);
  double x[12];
  (void)state;
  steps(&lab, 30);
  lab_expect_ok(&lab, abd_world_exclude_pair(lab.world, ground, box));
  steps(&lab, 40);
  lab_expect_ok(&lab, abd_body_nodes(lab.world, box, x));
  assert_true(x[2] < 0.2);
  refused(&lab, abd_world_include_pair(lab.world, ground, box), ABD_ERROR_CROSSING, "box", "body 1");
  AbdBodyState s;
  lab_expect_ok(&lab, abd_body_state(lab.world, box, &s));
  s = (AbdBodyState){.position = {0, 0, 3}, .rotation = {1, 0, 0, 0}};
  lab_expect_ok(&lab, abd_body_set_state(lab.world, box, &s));
  lab_expect_ok(&lab, abd_world_include_pair(lab.world, ground, box));
  steps(&lab, 150);
  lab_expect_ok(&lab, abd_body_nodes(lab.world, box, x));
  assert_true(x[2] > 0.5 && x[2] < 0.51);
  lab_close(&lab);
}

/* The automatic range is that of the first step. */
static void test_automatic_settings_stay(void **state) {
  Lab lab = open_stack(2, false);
  (void)state;
  steps(&lab, 1);
  double range = abd_world_settings(lab.world).contact.range;
  AbdMeshId mesh = lab_box(&lab, 0.01, 0.01, 0.01);
  AbdBodyDef def = named(mesh, "small", 4, 4, 4);
  lab_body_def(&lab, &def);
  assert_true(abd_world_settings(lab.world).contact.range == range);
  Lab empty = lab_open(rough());
  lab_ground(&empty, vec3(0, 0, 1));
  steps(&empty, 3);
  AbdMeshId box = lab_box(&empty, 10, 10, 10);
  def = named(box, "first", 0, 0, 9);
  lab_body_def(&empty, &def);
  assert_true(abd_world_settings(empty.world).contact.range > 0.01);
  lab_close(&lab);
  lab_close(&empty);
}

/* Whatever allocation fails, the world is as before and the repeated call succeeds. */
static void test_changes_without_memory(void **state) {
  (void)state;
  Lab whole = open_stack(3, false);
  steps(&whole, 12);
  lab_expect_ok(&whole, abd_world_remove_body(whole.world, (AbdBodyId){3}));
  AbdBodyDef def = named((AbdMeshId){1}, "late", 3, 0, 3);
  lab_body_def(&whole, &def);
  steps(&whole, 3);
  for (long n = 1;; n++) {
    Lab lab = open_stack(3, false);
    steps(&lab, 12);
    mem_fail_after(n);
    AbdStatus status = abd_world_remove_body(lab.world, (AbdBodyId){3});
    bool removed = status == ABD_OK;
    if (removed) status = abd_world_add_body(lab.world, &def, NULL);
    bool added = status == ABD_OK;
    if (added) status = abd_world_step(lab.world, NULL);
    mem_fail_after(0);
    if (status != ABD_OK && status != ABD_ERROR_MEMORY) fail_msg("allocation %ld: %s", n, abd_status_name(status));
    if (!removed) lab_expect_ok(&lab, abd_world_remove_body(lab.world, (AbdBodyId){3}));
    if (!added) lab_body_def(&lab, &def);
    steps(&lab, status == ABD_OK ? 2 : 3);
    if (abd_world_hash(lab.world) != abd_world_hash(whole.world)) fail_msg("allocation %ld failed: other bits", n);
    lab_close(&lab);
    if (status == ABD_OK) break;
  }
  lab_close(&whole);
}

/* ---- Random changes ---------------------------------------------------------------------------------------------- */

enum { MOST_BODIES = 64 };

/* What was added, to make the same world afresh. */
typedef struct Record {
  AbdMeshId mesh[3];
  SoftMesh soft;
  AbdBodyDef def[MOST_BODIES];
  AbdJointDef joint[MOST_BODIES]; /* of the body of the same index */
  bool has_joint[MOST_BODIES], is_soft[MOST_BODIES], alive[MOST_BODIES];
  int count;
} Record;

static void add_shapes(Lab *lab, AbdMeshId mesh[3]) {
  mesh[0] = lab_box(lab, 0.4, 0.3, 0.2);
  mesh[1] = lab_potato(lab, 0.2, 0.7);
  mesh[2] = lab_box(lab, 8, 8, 0.1);
}

static AbdStatus add_recorded(Lab *lab, Record *r, int i) {
  AbdWorld *w = lab->world;
  if (r->is_soft[i]) {
    AbdSoftDef def = jelly_def(&r->soft, NULL, vec3_from(r->def[i].position));
    return abd_world_add_soft(w, &def, NULL);
  }
  AbdBodyId id;
  AbdStatus status = abd_world_add_body(w, &r->def[i], &id);
  if (status != ABD_OK || !r->has_joint[i]) return status;
  r->joint[i].body_a = id;
  return abd_world_add_joint(w, &r->joint[i], NULL);
}

/* A body at a random place, some with a hinge to the world through it. */
static void invent(Record *r, Draw *d, int i) {
  AbdBodyDef *def = &r->def[i];
  *def = lab_at(r->mesh[draw_int(d, 2)], vec3(draw(d, -1, 1), draw(d, -1, 1), draw(d, 0.4, 2.5)));
  lab_turn(def, unit(draw_vec3(d, 1)), draw(d, 0, 3));
  vec3_to(def->velocity, draw_vec3(d, 2));
  int kind = draw_int(d, 8);
  r->has_joint[i] = kind == 0;
  r->is_soft[i] = kind == 1;
  if (kind == 2) def->motion = ABD_MOTION_KINEMATIC;
  if (kind == 3) def->group = 1;
  if (r->has_joint[i])
    r->joint[i] = hinge_of((AbdBodyId){0}, (AbdBodyId){0}, add(vec3_from(def->position), draw_vec3(d, 0.1)));
}

static void random_add(Lab *lab, Record *r, Draw *d, int *refusals) {
  int i = r->count;
  if (i == MOST_BODIES) return;
  invent(r, d, i);
  lab_expect_ok(lab, abd_world_begin_change(lab->world));
  lab_expect_ok(lab, add_recorded(lab, r, i));
  AbdStatus status = abd_world_end_change(lab->world);
  if (status == ABD_ERROR_CROSSING) {
    ++*refusals;
    return;
  }
  lab_expect_ok(lab, status);
  r->alive[i] = true;
  r->count++;
}

static void random_remove(Lab *lab, Record *r, Draw *d) {
  int i = draw_int(d, r->count ? r->count : 1);
  if (i == 0 || !r->alive[i]) return;
  lab_expect_ok(lab, abd_world_remove_body(lab->world, (AbdBodyId){(uint32_t)i + 1}));
  r->alive[i] = false;
}

static void random_move(Lab *lab, const Record *r, Draw *d, int *refusals) {
  int i = draw_int(d, r->count ? r->count : 1);
  AbdBodyState s = {.rotation = {1, 0.2, 0, 0}};
  if (i == 0 || !r->alive[i] || r->is_soft[i] || r->has_joint[i]) return;
  vec3_to(s.position, vec3(draw(d, -1, 1), draw(d, -1, 1), draw(d, 0.4, 2.5)));
  AbdStatus status = abd_body_set_state(lab->world, (AbdBodyId){(uint32_t)i + 1}, &s);
  if (status == ABD_ERROR_CROSSING) ++*refusals;
  else lab_expect_ok(lab, status);
}

/* A world of the bodies that are left, in the state of the changed one. */
static Lab afresh(const Lab *lab, Record *r) {
  Lab fresh = lab_open(lab->def);
  AbdMeshId mesh[3];
  add_shapes(&fresh, mesh);
  for (int i = 0; i < r->count; i++) {
    lab_expect_ok(&fresh, add_recorded(&fresh, r, i));
    if (!r->alive[i]) lab_expect_ok(&fresh, abd_world_remove_body(fresh.world, (AbdBodyId){(uint32_t)i + 1}));
  }
  size_t size = abd_world_snapshot_size(lab->world);
  void *bytes = malloc(size);
  lab_expect_ok(lab, abd_world_save(lab->world, bytes, size));
  lab_expect_ok(&fresh, abd_world_restore(fresh.world, bytes, size));
  free(bytes);
  return fresh;
}

static void test_random_changes(void **state) {
  int seeds = getenv("ABD_TEST_SHORT") ? 3 : 16, refusals = 0, bodies = 0;
  (void)state;
  for (int seed = 1; seed <= seeds; seed++) {
    Draw d = {(uint64_t)seed};
    Record r = {.soft = soft_block(1, 1, 1, vec3(0.3, 0.3, 0.3))};
    AbdWorldDef def = rough();
    def.integrator = (AbdIntegrator)draw_int(&d, 3);
    def.solver.threads = 1 + draw_int(&d, 2);
    Lab lab = lab_open(def);
    add_shapes(&lab, r.mesh);
    r.def[0] = named(r.mesh[2], "floor", 0, 0, 0);
    r.def[0].motion = ABD_MOTION_STATIC;
    lab_expect_ok(&lab, add_recorded(&lab, &r, 0));
    r.alive[0] = true;
    r.count = 1;
    random_add(&lab, &r, &d, &refusals);
    steps(&lab, 1);
    for (int k = 0; k < 40; k++) {
      int what = draw_int(&d, 10);
      if (what < 4) random_add(&lab, &r, &d, &refusals);
      else if (what < 5) random_remove(&lab, &r, &d);
      else if (what < 6) random_move(&lab, &r, &d, &refusals);
      else steps(&lab, 3);
      if (k % 10 != 9) continue;
      Lab fresh = afresh(&lab, &r);
      same_steps(&lab, &fresh, 4);
      lab_close(&fresh);
    }
    bodies += r.count;
    soft_mesh_free(&r.soft);
    lab_close(&lab);
  }
  print_message("%d bodies added, %d changes refused\n", bodies, refusals);
  assert_true(refusals > seeds && bodies > 5 * seeds);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_added_at_once_or_one_by_one),
      cmocka_unit_test(test_added_and_removed_leaves_no_trace),
      cmocka_unit_test(test_what_crosses_is_refused),
      cmocka_unit_test(test_removed_body_is_gone),
      cmocka_unit_test(test_restore_has_the_rules_of_pairs),
      cmocka_unit_test(test_restore_removes_what_the_snapshot_has_not),
      cmocka_unit_test(test_a_state_that_is_set),
      cmocka_unit_test(test_held_rotations_stay),
      cmocka_unit_test(test_joints_come_and_go),
      cmocka_unit_test(test_a_gear_leaves_with_its_joint),
      cmocka_unit_test(test_one_change_of_several_calls),
      cmocka_unit_test(test_a_change_before_the_start),
      cmocka_unit_test(test_soft_bodies_come_and_go),
      cmocka_unit_test(test_a_soft_body_on_a_moving_one),
      cmocka_unit_test(test_exclusions_between_steps),
      cmocka_unit_test(test_automatic_settings_stay),
      cmocka_unit_test(test_changes_without_memory),
      cmocka_unit_test(test_random_changes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
