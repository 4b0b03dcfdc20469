/* For tests of run files: a small world with boxes, exclusions and joints, and a run of it. Include cmocka.h first. */
#ifndef ABD_TESTS_BOXRUN_H
#define ABD_TESTS_BOXRUN_H

#include "record/run.h"

#include <math.h>
#include <unistd.h>

static const uint32_t box_triangle[36] = {0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4,
                                          2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5};

static AbdMeshId add_box(AbdWorld *world, double x, double y, double z) {
  double vertex[24];
  for (int k = 0; k < 8; k++) {
    vertex[3 * k] = (k & 1) * x, vertex[3 * k + 1] = (k >> 1 & 1) * y, vertex[3 * k + 2] = (k >> 2 & 1) * z;
  }
  AbdMeshDef def = abd_default_mesh_def();
  AbdMeshId id = {0};
  def.name = "box", def.vertex = vertex, def.vertex_count = 8, def.triangle = box_triangle, def.triangle_count = 12;
  if (abd_world_add_mesh(world, &def, &id) != ABD_OK) fail_msg("%s", abd_world_error(world));
  return id;
}

static void add_body(AbdWorld *world, const char *name, AbdMeshId mesh, AbdMotion motion, double z) {
  AbdBodyDef def = abd_default_body_def();
  AbdBodyId id;
  def.name = name, def.mesh = mesh, def.motion = motion, def.position[2] = z;
  def.rotation[0] = cos(0.3), def.rotation[3] = motion == ABD_MOTION_DYNAMIC ? sin(0.3) : 0;
  if (motion != ABD_MOTION_DYNAMIC) def.rotation[0] = 1;
  def.angular_velocity[0] = motion == ABD_MOTION_DYNAMIC ? 1 : 0;
  if (abd_world_add_body(world, &def, &id) != ABD_OK) fail_msg("%s", abd_world_error(world));
}

static void add_joint(AbdWorld *world, const char *name, AbdJointKind kind, uint32_t a, uint32_t b) {
  AbdJointDef def = abd_default_joint_def();
  AbdJointId id;
  def.name = name, def.kind = kind, def.body_a.id = a, def.body_b.id = b;
  def.point[0] = 0.3, def.point[1] = 0.4, def.point[2] = 0.41, def.axis[1] = 2;
  if (kind == ABD_JOINT_HINGE) def.limit[0] = -0.5, def.stiffness = 3;
  if (abd_world_add_joint(world, &def, &id) != ABD_OK) fail_msg("%s", abd_world_error(world));
}

/* A floor and two boxes that do not see each other; with joints, one turns about an axis of the world, the other
 * hangs on it. */
static AbdWorld *make_linked_world(bool joints) {
  AbdWorldDef def = abd_default_world_def();
  AbdError error;
  def.solver.threads = 1;
  AbdWorld *world = abd_world_create(&def, &error);
  if (!world) fail_msg("%s", error.text);
  AbdMeshId floor = add_box(world, 10, 10, 1), box = add_box(world, 1, 0.6, 0.3);
  add_body(world, "floor", floor, ABD_MOTION_STATIC, -1.01);
  add_body(world, "first, \"quoted\"", box, ABD_MOTION_DYNAMIC, 0.02);
  add_body(world, "second", box, ABD_MOTION_DYNAMIC, 0.5);
  assert_int_equal(abd_world_exclude_pair(world, (AbdBodyId){2}, (AbdBodyId){3}), ABD_OK);
  if (joints) {
    add_joint(world, "axle, \"quoted\"", ABD_JOINT_HINGE, 3, 0);
    add_joint(world, NULL, ABD_JOINT_BALL, 2, 3);
  }
  if (abd_world_start(world) != ABD_OK) fail_msg("%s", abd_world_error(world));
  return world;
}

static inline AbdWorld *make_world(void) { return make_linked_world(false); }

#define CHECK(run, call)                                                                                               \
  do {                                                                                                                 \
    if (!(call)) fail_msg("%s", run_error(run));                                                                       \
  } while (0)

/* A new run with frame 0. */
static Run *begin_run(const char *path, AbdWorld *world) {
  RunError error;
  unlink(path);
  Run *run = run_create(path, &error);
  if (!run) fail_msg("%s", error.text);
  CHECK(run, run_write_meta(run, "up", "0 0 1") && run_write_meta(run, "dt", "0.01") && run_write_world(run, world) &&
                 run_write_frame(run, world) && run_write_joints(run, world) && run_write_checkpoint(run, world) &&
                 run_publish(run));
  return run;
}

static inline void record(Run *run, AbdWorld *world) {
  AbdStepReport report;
  if (abd_world_step(world, &report) != ABD_OK) fail_msg("%s", abd_world_error(world));
  CHECK(run, run_begin(run) && run_write_frame(run, world) && run_write_report(run, &report, abd_world_hash(world)) &&
                 run_write_contacts(run, world) && run_write_joints(run, world) && run_write_checkpoint(run, world) &&
                 run_commit(run));
}

#endif
