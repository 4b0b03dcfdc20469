/* Joints that break above a force or a torque, against statics: chains, cantilevers, ropes, gears, snapshots,
 * scenes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "lab.h"
#include "scene/scene.h"

static const double gravity = 9.81;
enum { LINKS = 8 };

typedef struct Chain {
  Lab lab;
  AbdBodyId link[LINKS];
  AbdJointId joint[LINKS]; /* above each link */
  double weight;           /* [N] of a link */
} Chain;

/* Boxes that hang below each other on balls; joint `weak` breaks above the force. */
static Chain hang(AbdIntegrator integrator, int weak, double limit) {
  AbdWorldDef def = abd_default_world_def();
  def.integrator = integrator;
  Chain c = {.lab = lab_open(def)};
  AbdMeshId mesh = lab_box(&c.lab, 0.05, 0.05, 0.1);
  for (int i = 0; i < LINKS; i++) {
    c.link[i] = lab_body(&c.lab, mesh, vec3(0, 0, -0.06 - 0.12 * i), vec3(0, 0, 0));
    AbdJointDef joint = abd_default_joint_def();
    joint.kind = ABD_JOINT_BALL;
    joint.body_a = c.link[i];
    if (i) joint.body_b = c.link[i - 1];
    joint.point[2] = -0.12 * i;
    if (i == weak) joint.break_force = limit;
    lab_expect_ok(&c.lab, abd_world_add_joint(c.lab.world, &joint, &c.joint[i]));
  }
  c.weight = lab_view(&c.lab, c.link[0]).mass * gravity;
  return c;
}

static void pull(Chain *c, double force) {
  lab_expect_ok(&c->lab,
                abd_body_set_force(c->lab.world, c->link[LINKS - 1], (double[3]){0, 0, -force}, (double[3]){0}));
}

/* Joint k carries the links below it and the load: it breaks when load + (LINKS - k) weights reach its limit. */
static void check_chain(AbdIntegrator integrator, int weak) {
  const double rate = 40; /* [N/s] */
  Chain c = hang(integrator, weak, 50);
  double broke = -1;
  AbdBrokenJoint found;
  memset(&found, 0, sizeof found);
  AbdEvent event[8];
  for (int i = 1; i <= 150 && broke < 0; i++) {
    pull(&c, rate * i * c.lab.def.dt);
    lab_step(&c.lab);
    if (!c.lab.report.broken_joints) continue;
    broke = rate * i * c.lab.def.dt;
    assert_int_equal(abd_world_broken_joints(c.lab.world, &found, 1), 1);
    assert_int_equal(abd_world_events(c.lab.world, event, 8), 1);
  }
  printf("  %s, joint %d\n", abd_integrator_name(integrator), weak + 1);
  lab_expect_near("load at which it breaks [N]", broke, 50 - (LINKS - weak) * c.weight, rate * c.lab.def.dt + 0.01);
  assert_int_equal(found.joint.id, c.joint[weak].id);
  assert_int_equal(found.body_a.id, c.link[weak].id);
  assert_int_equal(found.body_b.id, weak ? c.link[weak - 1].id : 0);
  lab_expect_near("its force [N]", found.force, 50, rate * c.lab.def.dt + 0.01);
  assert_int_equal(event[0].kind, ABD_EVENT_JOINT_BROKE);
  assert_int_equal(event[0].joint.id, c.joint[weak].id);
  assert_int_equal(event[0].step, c.lab.report.step);
  assert_int_equal(abd_world_joint_count(c.lab.world), LINKS - 1);
  AbdJointReading r;
  assert_int_equal(abd_joint_reading(c.lab.world, c.joint[weak], &r), ABD_ERROR_ARGUMENT);
  pull(&c, 0);
  Vec3 before = lab_velocity(&c.lab, c.link[weak]);
  lab_steps(&c.lab, 20);
  assert_int_equal(c.lab.report.broken_joints, 0);
  assert_int_equal(abd_world_broken_joints(c.lab.world, &found, 1), 0);
  lab_expect_near("the part below falls [m/s]", lab_velocity(&c.lab, c.link[weak]).z - before.z, -gravity * 0.2, 0.02);
  if (weak) lab_expect_below("the part above hangs [m/s]", norm(lab_velocity(&c.lab, c.link[0])), 1e-6);
  lab_close(&c.lab);
}

static void test_chain(void **state) {
  (void)state;
  check_chain(ABD_INTEGRATOR_RIGID, 3);
  check_chain(ABD_INTEGRATOR_RIGID, 0);
  check_chain(ABD_INTEGRATOR_EULER, 5);
  check_chain(ABD_INTEGRATOR_BDF2, 7);
}

/* A beam welded to the world at its end bears F l + m g l / 2 there. */
static void test_torque(void **state) {
  (void)state;
  const double l = 0.5, limit = 12, rate = 20;
  Lab lab = lab_open(abd_default_world_def());
  AbdBodyId beam = lab_body(&lab, lab_box(&lab, l, 0.05, 0.05), vec3(l / 2, 0, 0), vec3(0, 0, 0));
  AbdJointDef joint = abd_default_joint_def();
  joint.kind = ABD_JOINT_WELD;
  joint.body_a = beam;
  joint.break_torque = limit;
  lab_expect_ok(&lab, abd_world_add_joint(lab.world, &joint, NULL));
  double weight = lab_view(&lab, beam).mass * gravity, broke = -1;
  for (int i = 1; i <= 200 && broke < 0; i++) {
    double f = rate * i * lab.def.dt; /* at the beam's end */
    lab_expect_ok(&lab, abd_body_set_force(lab.world, beam, (double[3]){0, 0, -f}, (double[3]){0, f * l / 2, 0}));
    lab_step(&lab);
    if (lab.report.broken_joints) broke = f;
  }
  lab_expect_near("load at which the weld breaks [N]", broke, limit / l - weight / 2, rate * lab.def.dt + 0.01);
  lab_close(&lab);
}

/* A rope with a weight that is pulled down breaks at its tension. */
static void test_rope(void **state) {
  (void)state;
  Lab lab = lab_open(abd_default_world_def());
  AbdBodyId weight = lab_body(&lab, lab_box(&lab, 0.1, 0.1, 0.1), vec3(0, 0, -1), vec3(0, 0, 0));
  AbdJointDef joint = abd_default_joint_def();
  joint.kind = ABD_JOINT_ROPE;
  joint.body_a = weight;
  vec3_to(joint.point, vec3(0, 0, -0.95));
  vec3_to(joint.point_b, vec3(0, 0, 0));
  joint.length = 0.951;
  joint.break_force = 30;
  lab_expect_ok(&lab, abd_world_add_joint(lab.world, &joint, NULL));
  double broke = -1, own = lab_view(&lab, weight).mass * gravity;
  lab_run(&lab, 0.5);
  assert_int_equal(abd_world_joint_count(lab.world), 1);
  for (int i = 1; i <= 300 && broke < 0; i++) {
    double f = 10 * i * lab.def.dt;
    lab_expect_ok(&lab, abd_body_set_force(lab.world, weight, (double[3]){0, 0, -f}, (double[3]){0}));
    lab_step(&lab);
    if (lab.report.broken_joints) broke = f;
  }
  lab_expect_near("load at which the rope breaks [N]", broke, 30 - own, 0.3);
  lab_close(&lab);
}

/* A run that is resumed from a snapshot before or after the break has the same bits. */
static void test_snapshot(void **state) {
  (void)state;
  enum { STEPS = 120 };
  uint64_t hash = 0;
  int broke = 0;
  unsigned char *bytes[2] = {NULL, NULL};
  size_t size[2];
  const int at[2] = {20, 110};
  Chain c = hang(ABD_INTEGRATOR_RIGID, 3, 30);
  for (int i = 1; i <= STEPS; i++) {
    pull(&c, 0.4 * i);
    lab_step(&c.lab);
    if (c.lab.report.broken_joints) broke = i;
    for (int k = 0; k < 2; k++)
      if (i == at[k]) {
        bytes[k] = malloc(size[k] = abd_world_snapshot_size(c.lab.world));
        lab_expect_ok(&c.lab, abd_world_save(c.lab.world, bytes[k], size[k]));
      }
  }
  hash = abd_world_hash(c.lab.world);
  lab_close(&c.lab);
  printf("  breaks in step %d\n", broke);
  assert_true(broke > at[0] && broke < at[1]);
  for (int k = 0; k < 2; k++) {
    c = hang(ABD_INTEGRATOR_RIGID, 3, 30);
    lab_expect_ok(&c.lab, abd_world_restore(c.lab.world, bytes[k], size[k]));
    assert_int_equal(abd_world_joint_count(c.lab.world), k ? LINKS - 1 : LINKS);
    for (int i = at[k] + 1; i <= STEPS; i++) {
      pull(&c, 0.4 * i);
      lab_step(&c.lab);
    }
    assert_true(abd_world_hash(c.lab.world) == hash);
    lab_close(&c.lab);
    free(bytes[k]);
  }
}

/* Two hinges with a gear between them: the gear goes with the joint that breaks. */
static void test_gear(void **state) {
  (void)state;
  Lab lab = lab_open(abd_default_world_def());
  AbdMeshId mesh = lab_box(&lab, 0.1, 0.1, 0.1);
  AbdJointId hinge[2], gear;
  AbdBodyId body[2];
  for (int k = 0; k < 2; k++) {
    body[k] = lab_body(&lab, mesh, vec3(0.5 * k, 0, 0), vec3(0, 0, 0));
    AbdJointDef joint = abd_default_joint_def();
    joint.kind = ABD_JOINT_HINGE;
    joint.body_a = body[k];
    vec3_to(joint.point, vec3(0.5 * k, 0, 0));
    joint.axis[1] = 1;
    if (k) joint.break_force = 20;
    lab_expect_ok(&lab, abd_world_add_joint(lab.world, &joint, &hinge[k]));
  }
  AbdJointDef def = abd_default_joint_def();
  def.kind = ABD_JOINT_GEAR;
  def.joint_a = hinge[0], def.joint_b = hinge[1];
  lab_expect_ok(&lab, abd_world_add_joint(lab.world, &def, &gear));
  lab_steps(&lab, 5);
  assert_int_equal(abd_world_joint_count(lab.world), 3);
  lab_expect_ok(&lab, abd_body_set_force(lab.world, body[1], (double[3]){0, 0, -40}, (double[3]){0}));
  lab_steps(&lab, 1);
  assert_int_equal(lab.report.broken_joints, 1);
  assert_int_equal(abd_world_joint_count(lab.world), 1);
  AbdEvent event[4];
  assert_int_equal(lab.report.events, 2);
  assert_int_equal(abd_world_events(lab.world, event, 4), 2);
  assert_int_equal(event[0].kind, ABD_EVENT_JOINT_BROKE);
  assert_int_equal(event[1].kind, ABD_EVENT_JOINT_REMOVED);
  assert_int_equal(event[1].joint.id, gear.id);
  assert_int_equal(event[1].step, lab.report.step);
  lab_steps(&lab, 1);
  assert_int_equal(abd_world_events(lab.world, event, 4), 0);
  lab_close(&lab);
}

static void test_bad_values(void **state) {
  (void)state;
  Lab lab = lab_open(abd_default_world_def());
  AbdJointDef joint = abd_default_joint_def();
  joint.kind = ABD_JOINT_BALL;
  joint.body_a = lab_body(&lab, lab_box(&lab, 1, 1, 1), vec3(0, 0, 0), vec3(0, 0, 0));
  joint.break_force = 0;
  assert_int_equal(abd_world_add_joint(lab.world, &joint, NULL), ABD_ERROR_ARGUMENT);
  assert_non_null(strstr(abd_world_error(lab.world), "break force is 0, expected a number > 0"));
  joint.break_force = 1, joint.break_torque = NAN;
  assert_int_equal(abd_world_add_joint(lab.world, &joint, NULL), ABD_ERROR_ARGUMENT);
  assert_non_null(strstr(abd_world_error(lab.world), "break torque is nan"));
  lab_close(&lab);
}

/* The keys are read, written and read again. */
static void test_scene(void **state) {
  (void)state;
  const char *text = "{\"version\": 1, \"bodies\": [{\"name\": \"a\", \"shape\": \"box\"}], \"joints\": "
                     "[{\"type\": \"ball\", \"bodies\": [\"a\"], \"point\": [0, 0, 0], \"break_force\": 12.5, "
                     "\"break_torque\": 3}]}";
  SceneError error;
  Scene *scene = scene_parse(text, strlen(text), "s.json", NULL, &error);
  for (int round = 0; round < 2; round++) {
    if (!scene) fail_msg("%s", error.text);
    AbdWorld *world = scene_build(scene, 1, &error);
    if (!world) fail_msg("%s", error.text);
    AbdJointDef def;
    assert_int_equal(abd_joint_def(world, (AbdJointId){1}, &def), ABD_OK);
    assert_true(def.break_force == 12.5 && def.break_torque == 3);
    abd_world_destroy(world);
    size_t length;
    const char *again = scene_text(scene, &length);
    Scene *next = scene_parse(again, length, "s.json", NULL, &error);
    scene_destroy(scene);
    scene = next;
  }
  scene_destroy(scene);
}

/* A box at the end of a joint to a static hook, one second after it was let go. */
static AbdJointReading hook_reading(AbdJointKind kind, bool hook_first, double limit, int *broken) {
  Lab lab = lab_open(abd_default_world_def());
  AbdMeshId mesh = lab_box(&lab, 0.2, 0.1, 0.1);
  AbdBodyId hook = lab_static(&lab, mesh, vec3(0, 0, 0)), box = lab_body(&lab, mesh, vec3(0.4, 0, 0), vec3(0, 0, 0));
  AbdJointDef def = abd_default_joint_def();
  def.kind = kind;
  def.body_a = hook_first ? hook : box;
  def.body_b = hook_first ? box : hook;
  vec3_to(def.point, vec3(0.2, 0, 0));
  vec3_to(def.axis, vec3(0, 1, 0));
  if (kind == ABD_JOINT_UNIVERSAL) vec3_to(def.axis_b, vec3(0, 0, 1));
  def.break_force = limit;
  AbdJointId joint;
  lab_expect_ok(&lab, abd_world_add_joint(lab.world, &def, &joint));
  AbdJointReading r;
  memset(&r, 0, sizeof r);
  for (int i = *broken = 0; i < 100 && !*broken; i++) {
    lab_step(&lab);
    *broken = lab.report.broken_joints;
    if (!*broken) lab_expect_ok(&lab, abd_joint_reading(lab.world, joint, &r));
  }
  lab_close(&lab);
  return r;
}

/* A joint whose first body is static has the same load, with the opposite sign, and breaks at it. */
static void test_static_first(void **state) {
  (void)state;
  const AbdJointKind kind[] = {ABD_JOINT_BALL, ABD_JOINT_HINGE, ABD_JOINT_WELD, ABD_JOINT_SLIDER, ABD_JOINT_UNIVERSAL};
  for (int k = 0; k < 5; k++) {
    int broken;
    AbdJointReading a = hook_reading(kind[k], false, INFINITY, &broken),
                    b = hook_reading(kind[k], true, INFINITY, &broken);
    Vec3 force = vec3_from(a.force), torque = vec3_from(a.torque);
    printf("  %s: %g N, %g N m\n", abd_joint_kind_name(kind[k]), norm(force), norm(torque));
    lab_expect_below("forces differ, over it", norm(add(force, vec3_from(b.force))) / norm(force), 1e-5);
    lab_expect_below("torques differ, over that of the force",
                     norm(add(torque, vec3_from(b.torque))) / (0.2 * norm(force)), 1e-5);
    hook_reading(kind[k], true, 0.5 * norm(force), &broken);
    assert_int_equal(broken, 1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_static_first), cmocka_unit_test(test_chain),
                                     cmocka_unit_test(test_torque),       cmocka_unit_test(test_rope),
                                     cmocka_unit_test(test_snapshot),     cmocka_unit_test(test_gear),
                                     cmocka_unit_test(test_bad_values),   cmocka_unit_test(test_scene)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
