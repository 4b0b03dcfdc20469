/* A world from a scene, and the scene's scripts before each step (scene.h). Tests: tests/test_scene.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scene/json_node.h"
#include "scene/rotation.h"
#include "scene/schedule.h"
#include "scene/world_mesh.h"

AbdMeshDef world_mesh_def(const SceneMesh *mesh) {
  AbdMeshDef def = abd_default_mesh_def();
  def.name = mesh->name;
  def.vertex = mesh->data.vertex, def.vertex_count = mesh->data.vertex_count;
  def.triangle = mesh->data.triangle, def.triangle_count = mesh->data.triangle_count;
  def.edge = mesh->data.edge, def.edge_count = mesh->data.edge_count;
  def.thickness = mesh->thickness;
  def.half_space = mesh->half_space;
  return def;
}

static AbdBodyId body_id(size_t index) { return (AbdBodyId){(uint32_t)index + 1}; }

static bool fail_body(const Scene *scene, size_t index, const AbdWorld *world, SceneError *error) {
  return scene_fail(error, "body %zu (%.200s): %s", index + 1, scene->body[index].name, abd_world_error(world));
}

static bool add_mesh(const Scene *scene, size_t body, AbdWorld *world, AbdMeshId *mesh, SceneError *error) {
  AbdMeshDef def = world_mesh_def(&scene->mesh[scene->body[body].mesh]);
  return mesh->id || abd_world_add_mesh(world, &def, mesh) == ABD_OK || fail_body(scene, body, world, error);
}

bool scene_build_body(const Scene *scene, size_t index, AbdWorld *world, AbdMeshId mesh, SceneError *error) {
  const SceneBody *body = &scene->body[index];
  AbdBodyDef def = body->def;
  def.name = body->name;
  def.mesh = mesh;
  AbdStatus status = body->soft ? scene_build_soft(scene, index, world) : abd_world_add_body(world, &def, NULL);
  return status == ABD_OK || fail_body(scene, index, world, error);
}

/* Meshes of bodies that come later are the first, so that their ids follow from the scene; the others are added before
 * their first body. So ids do not depend on unused meshes. */
static bool add_bodies(const Scene *scene, int64_t step, AbdWorld *world, AbdMeshId *mesh, SceneError *error) {
  bool ok = true;
  for (size_t i = 0; ok && i < scene->body_count; i++)
    if (scene->body[i].born > 0 && !scene->body[i].soft)
      ok = add_mesh(scene, i, world, &mesh[scene->body[i].mesh], error);
  for (size_t i = 0; ok && i < scene->body_count; i++) {
    AbdMeshId *own = &mesh[scene->body[i].mesh];
    if (scene_had_come(scene->body[i].born, step))
      ok = (scene->body[i].soft || add_mesh(scene, i, world, own, error)) &&
           scene_build_body(scene, i, world, *own, error);
  }
  return ok;
}

bool scene_build_pairs(const Scene *scene, AbdWorld *world, SceneWhen *when, int64_t step, SceneError *error) {
  for (size_t i = 0; i < scene->exclude_count; i++) {
    const ScenePair *pair = &scene->exclude[i];
    if (when(scene_pair_born(scene, pair), step) &&
        abd_world_exclude_pair(world, body_id(pair->a), body_id(pair->b)) != ABD_OK)
      return scene_fail(error, "exclude: %s", abd_world_error(world));
  }
  for (size_t i = 0; i < scene->pair_friction_count; i++) {
    const ScenePair *pair = &scene->pair_friction[i];
    AbdBodyId a = body_id(pair->a), b = body_id(pair->b);
    if (!when(scene_pair_born(scene, pair), step)) continue;
    if ((pair->friction >= 0 && abd_world_set_pair_friction(world, a, b, pair->friction) != ABD_OK) ||
        (pair->restitution >= 0 && abd_world_set_pair_restitution(world, a, b, pair->restitution) != ABD_OK))
      return scene_fail(error, "pair_friction: %s", abd_world_error(world));
  }
  return true;
}

bool scene_build_ties(const Scene *scene, AbdWorld *world, SceneWhen *when, int64_t step, SceneError *error) {
  bool ok = true;
  for (size_t i = 0; ok && i < scene->body_count; i++)
    if (scene->body[i].soft && when(scene->body[i].born, step)) ok = scene_build_attachments(scene, i, world, error);
  ok = ok && scene_build_pairs(scene, world, when, step, error);
  for (size_t i = 0; ok && i < scene->joint_count; i++)
    if (when(scene->joint[i].born, step)) ok = scene_build_joint(scene, i, world, error);
  return ok;
}

static AbdWorld *build(const Scene *scene, const AbdWorldDef *def, int64_t step, SceneError *error) {
  AbdError failure;
  AbdWorld *world = abd_world_create(def, &failure);
  if (!world) {
    scene_fail(error, "%.500s", failure.text);
    return NULL;
  }
  AbdMeshId *mesh = calloc(scene->mesh_count + 1, sizeof *mesh);
  bool ok = mesh ? add_bodies(scene, step, world, mesh, error) &&
                       scene_build_ties(scene, world, scene_had_come, step, error) &&
                       scene_remove_gone(scene, world, step, error)
                 : scene_fail(error, "out of memory while building the world");
  free(mesh);
  if (ok) return world;
  abd_world_destroy(world);
  return NULL;
}

/* Automatic settings follow from all bodies of the scene, also from those that come later: those of a world in which
 * all are present and none collide. */
static bool settle(const Scene *scene, AbdWorldDef *def, SceneError *error) {
  bool automatic = def->contact.range <= 0 || def->solver.tolerance <= 0;
  if (!automatic || !scene_changes(scene)) return true;
  Scene all = *scene;
  all.body = malloc((scene->body_count + 1) * sizeof *all.body);
  if (!all.body) return scene_fail(error, "out of memory while building the world");
  memcpy(all.body, scene->body, scene->body_count * sizeof *all.body);
  for (size_t i = 0; i < all.body_count; i++) all.body[i].def.group = 1, all.body[i].died = INT64_MAX;
  AbdWorld *world = build(&all, def, INT64_MAX, error);
  bool ok = world && (abd_world_start(world) == ABD_OK || scene_fail(error, "%.500s", abd_world_error(world)));
  if (ok) def->contact.range = abd_world_settings(world).contact.range;
  if (ok) def->solver.tolerance = abd_world_settings(world).solver.tolerance;
  abd_world_destroy(world);
  free(all.body);
  return ok;
}

AbdWorld *scene_build_at(const Scene *scene, int threads, int64_t step, SceneError *error) {
  AbdWorldDef def = scene->world;
  def.solver.threads = threads;
  return settle(scene, &def, error) ? build(scene, &def, step, error) : NULL;
}

AbdWorld *scene_build(const Scene *scene, int threads, SceneError *error) {
  return scene_build_at(scene, threads, 0, error);
}

void path_pose(const PathKey *start, const PathKey *path, size_t count, double time, double slack, double position[3],
               double rotation[4]) {
  PathKey before = *start, after = path[0];
  for (size_t i = 0; i < count && path[i].time <= time + slack; i++) {
    before = path[i];
    after = path[i + 1 < count ? i + 1 : i];
  }
  double span = after.time - before.time, t = span > 0 ? fmin(1, fmax(0, (time - before.time) / span)) : 0;
  for (int k = 0; k < 3; k++) position[k] = before.position[k] + t * (after.position[k] - before.position[k]);
  if (t <= 0) memcpy(rotation, before.rotation, sizeof before.rotation);
  else quat_slerp(before.rotation, after.rotation, t, rotation);
}

/* Before the first key it is reached from the body's pose when it comes. */
static void body_pose(const SceneBody *body, double time, double slack, double position[3], double rotation[4]) {
  PathKey start = {.time = body->from};
  memcpy(start.position, body->def.position, sizeof start.position);
  memcpy(start.rotation, body->def.rotation, sizeof start.rotation);
  path_pose(&start, body->path, body->path_count, time, slack, position, rotation);
}

static AbdStatus apply_motion(const Scene *scene, const SceneBody *body, AbdWorld *world, AbdBodyId id) {
  static const double zero[3] = {0};
  double time = abd_world_time(world), dt = scene->world.dt, slack = 1e-6 * dt, position[3], rotation[4];
  if (time >= body->motion_end - slack) return abd_body_set_velocity(world, id, zero, zero);
  if (body->path_count && time < body->path[body->path_count - 1].time - slack) {
    body_pose(body, time + dt, slack, position, rotation);
    return abd_body_set_target(world, id, position, rotation);
  }
  return abd_body_set_velocity(world, id, body->def.velocity, body->def.angular_velocity);
}

void force_at(const ForceKey *forces, size_t count, double time, double force[3], double torque[3]) {
  ForceKey before = {0}, after = before;
  if (count) before = after = forces[0];
  for (size_t i = 0; i < count && forces[i].time <= time; i++) {
    before = forces[i];
    after = forces[i + 1 < count ? i + 1 : i];
  }
  double span = after.time - before.time, t = span > 0 ? fmin(1, fmax(0, (time - before.time) / span)) : 0;
  for (int k = 0; k < 3; k++) {
    force[k] = before.force[k] + t * (after.force[k] - before.force[k]);
    torque[k] = before.torque[k] + t * (after.torque[k] - before.torque[k]);
  }
}

void scene_force(const Scene *scene, size_t index, double time, double force[3], double torque[3]) {
  const SceneBody *body = &scene->body[index];
  force_at(body->forces, body->forces_count, time, force, torque);
  for (int k = 0; k < 3; k++) {
    force[k] = body->def.force[k] + force[k];
    torque[k] = body->def.torque[k] + torque[k];
  }
}

static AbdStatus apply_force(const Scene *scene, size_t index, AbdWorld *world) {
  double force[3], torque[3];
  scene_force(scene, index, abd_world_time(world), force, torque);
  return abd_body_set_force(world, body_id(index), force, torque);
}

bool scene_acts(const Scene *scene) {
  bool acts = scene->joint_count > 0 || scene_changes(scene);
  for (size_t i = 0; !acts && i < scene->body_count; i++) {
    const SceneBody *body = &scene->body[i];
    acts = body->soft || body->def.motion == ABD_MOTION_KINEMATIC || body->forces_count > 0;
  }
  return acts;
}

bool scene_apply(const Scene *scene, AbdWorld *world, SceneError *error) {
  if (!scene_change(scene, world, error)) return false;
  for (size_t i = 0; i < scene->body_count; i++) {
    const SceneBody *body = &scene->body[i];
    AbdStatus status = ABD_OK;
    if (!scene_present(body, world)) continue;
    if (body->def.motion == ABD_MOTION_KINEMATIC) status = apply_motion(scene, body, world, body_id(i));
    if (status == ABD_OK && body->forces_count) status = apply_force(scene, i, world);
    if (status != ABD_OK) return scene_fail(error, "body %zu (%.200s): %s", i + 1, body->name, abd_world_error(world));
  }
  return scene_apply_soft(scene, world, error) && scene_apply_drives(scene, world, error);
}
