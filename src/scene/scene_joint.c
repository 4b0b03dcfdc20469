/* A scene's joints in the world: added when it is built, keyed drives set before each step (scene_def.h).
 * Tests: tests/test_scene_joint.c. */
#include <math.h>

#include "scene/json_node.h"
#include "scene/rotation.h"
#include "scene/scene_def.h"

bool joint_moves(const AbdJointDef *def) {
  uint32_t takes = abd_joint_kind_view(def->kind)->takes;
  return takes & ABD_JOINT_TAKES_COORDINATE && (def->free || !(takes & ABD_JOINT_TAKES_FREE));
}

void scene_body_to_world(const Scene *scene, size_t body, double offset, const double from[3], double to[3]) {
  const SceneBody *b = &scene->body[body];
  const double *scale = scene->mesh[b->mesh].scale;
  double scaled[3] = {scale[0] * from[0], scale[1] * from[1], scale[2] * from[2]};
  quat_rotate(b->def.rotation, scaled, to);
  for (int k = 0; k < 3; k++) to[k] += offset * b->def.position[k];
}

static bool fail_joint(const Scene *scene, size_t index, const AbdWorld *world, SceneError *error) {
  return scene_fail(error, "joint %zu (%.200s): %s", index + 1, scene->joint[index].name, abd_world_error(world));
}

bool scene_build_joint(const Scene *scene, size_t index, AbdWorld *world, SceneError *error) {
  AbdJointDef def = scene->joint[index].def;
  def.name = scene->joint[index].name;
  return abd_world_add_joint(world, &def, NULL) == ABD_OK || fail_joint(scene, index, world, error);
}

static double drive_value(const SceneJoint *joint, double time) {
  DriveKey before = joint->drive[0], after = before;
  for (size_t i = 0; i < joint->drive_count && joint->drive[i].time <= time; i++) {
    before = joint->drive[i];
    after = joint->drive[i + 1 < joint->drive_count ? i + 1 : i];
  }
  double span = after.time - before.time, t = span > 0 ? fmin(1, (time - before.time) / span) : 0;
  return before.value + t * (after.value - before.value);
}

/* Steps are implicit: a drive's target is the value of its keys at the step's end. */
bool scene_apply_drives(const Scene *scene, AbdWorld *world, SceneError *error) {
  double time = abd_world_time(world) + scene->world.dt;
  for (size_t i = 0; i < scene->joint_count; i++) {
    const SceneJoint *joint = &scene->joint[i];
    AbdDrive drive = joint->def.drive;
    AbdJointDef present;
    if (!joint->drive_count || abd_joint_def(world, (AbdJointId){(uint32_t)i + 1}, &present) != ABD_OK) continue;
    drive.target = drive_value(joint, time);
    if (abd_joint_set_drive(world, (AbdJointId){(uint32_t)i + 1}, &drive) != ABD_OK)
      return fail_joint(scene, i, world, error);
  }
  return true;
}
