/* A world from a scene, and the scene's scripts before each step (scene.h). Tests: tests/test_scene.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scene/json_node.h"
#include "scene/rotation.h"
#include "scene/scene_def.h"
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

/* A mesh is added to the world before its first body, so that ids do not depend on unused meshes. */
static bool add_bodies(const Scene *scene, AbdWorld *world, AbdMeshId *mesh, SceneError *error) {
  for (size_t i = 0; i < scene->body_count; i++) {
    const SceneBody *body = &scene->body[i];
    AbdBodyDef def = body->def;
    AbdBodyId id;
    if (body->soft) {
      if (scene_build_soft(scene, i, world) == ABD_OK) continue;
      return scene_fail(error, "body %zu (%.200s): %s", i + 1, body->name, abd_world_error(world));
    }
    if (!mesh[body->mesh].id) {
      AbdMeshDef mesh_def = world_mesh_def(&scene->mesh[body->mesh]);
      if (abd_world_add_mesh(world, &mesh_def, &mesh[body->mesh]) != ABD_OK) {
        return scene_fail(error, "body %zu (%.200s): %s", i + 1, body->name, abd_world_error(world));
      }
    }
    def.name = body->name;
    def.mesh = mesh[body->mesh];
    if (abd_world_add_body(world, &def, &id) != ABD_OK) {
      return scene_fail(error, "body %zu (%.200s): %s", i + 1, body->name, abd_world_error(world));
    }
  }
  return true;
}

static AbdBodyId body_id(size_t index) { return (AbdBodyId){(uint32_t)index + 1}; }

static bool add_pairs(const Scene *scene, AbdWorld *world, SceneError *error) {
  for (size_t i = 0; i < scene->exclude_count; i++) {
    const ScenePair *pair = &scene->exclude[i];
    if (abd_world_exclude_pair(world, body_id(pair->a), body_id(pair->b)) != ABD_OK) {
      return scene_fail(error, "exclude: %s", abd_world_error(world));
    }
  }
  for (size_t i = 0; i < scene->pair_friction_count; i++) {
    const ScenePair *pair = &scene->pair_friction[i];
    AbdBodyId a = body_id(pair->a), b = body_id(pair->b);
    if ((pair->friction >= 0 && abd_world_set_pair_friction(world, a, b, pair->friction) != ABD_OK) ||
        (pair->restitution >= 0 && abd_world_set_pair_restitution(world, a, b, pair->restitution) != ABD_OK))
      return scene_fail(error, "pair_friction: %s", abd_world_error(world));
  }
  return true;
}

void scene_use_device(Scene *scene, const AbdDevice *device) { scene->device = device; }

AbdWorld *scene_build(const Scene *scene, int threads, SceneError *error) {
  AbdWorldDef def = scene->world;
  AbdError failure;
  def.solver.threads = threads;
  if (scene->device) def.solver.device = *scene->device;
  AbdWorld *world = abd_world_create(&def, &failure);
  if (!world) {
    scene_fail(error, "%.500s", failure.text);
    return NULL;
  }
  AbdMeshId *mesh = calloc(scene->mesh_count + 1, sizeof *mesh);
  bool ok = mesh ? add_bodies(scene, world, mesh, error) && scene_build_attachments(scene, world, error) &&
                       add_pairs(scene, world, error) && scene_build_joints(scene, world, error)
                 : scene_fail(error, "out of memory while building the world");
  free(mesh);
  if (ok) return world;
  abd_world_destroy(world);
  return NULL;
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

/* Before the first key it is reached from the body's pose at time 0. */
static void body_pose(const SceneBody *body, double time, double slack, double position[3], double rotation[4]) {
  PathKey start = {.time = 0};
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

bool scene_apply(const Scene *scene, AbdWorld *world, SceneError *error) {
  for (size_t i = 0; i < scene->body_count; i++) {
    const SceneBody *body = &scene->body[i];
    AbdStatus status = ABD_OK;
    if (body->def.motion == ABD_MOTION_KINEMATIC) status = apply_motion(scene, body, world, body_id(i));
    if (status == ABD_OK && body->forces_count) status = apply_force(scene, i, world);
    if (status != ABD_OK) return scene_fail(error, "body %zu (%.200s): %s", i + 1, body->name, abd_world_error(world));
  }
  return scene_apply_soft(scene, world, error) && scene_apply_drives(scene, world, error);
}
