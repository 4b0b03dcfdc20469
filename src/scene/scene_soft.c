/* A scene's soft bodies in the world, and the motions of their vertices (scene_def.h). Tests:
 * tests/test_scene_soft.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scene/json_node.h"
#include "scene/rotation.h"
#include "scene/schedule.h"
#include "scene/surface_distance.h"

AbdStatus scene_build_soft(const Scene *scene, size_t index, AbdWorld *world) {
  const SceneBody *body = &scene->body[index];
  const SceneMesh *mesh = &scene->mesh[body->mesh];
  AbdSoftDef def = body->soft->def;
  AbdBodyId id;
  def.name = body->name;
  def.vertex = mesh->data.vertex, def.vertex_count = mesh->data.vertex_count;
  def.tet = mesh->tet, def.tet_count = mesh->tet_count;
  if (!mesh->tet_count) def.triangle = mesh->data.triangle, def.triangle_count = mesh->data.triangle_count;
  if (!mesh->tet_count && !def.triangle_count) def.edge = mesh->data.edge, def.edge_count = mesh->data.edge_count;
  def.density = body->def.density, def.friction = body->def.friction, def.group = body->def.group;
  def.contact_thickness = body->def.contact_thickness;
  def.gravity_scale = body->def.gravity_scale, def.drag = body->def.drag;
  memcpy(def.position, body->def.position, sizeof def.position);
  memcpy(def.rotation, body->def.rotation, sizeof def.rotation);
  memcpy(def.velocity, body->def.velocity, sizeof def.velocity);
  memcpy(def.angular_velocity, body->def.angular_velocity, sizeof def.angular_velocity);
  memcpy(def.force, body->def.force, sizeof def.force);
  return abd_world_add_soft(world, &def, &id);
}

bool scene_build_attachments(const Scene *scene, size_t index, AbdWorld *world, SceneError *error) {
  const SceneBody *body = &scene->body[index];
  const SceneSoft *soft = body->soft;
  AbdBodyId id = {(uint32_t)index + 1};
  for (size_t k = 0; soft && k < soft->attach_count; k++) {
    const SceneAttachment *a = &soft->attach[k];
    AbdBodyId to = {a->body == SCENE_WORLD ? 0 : a->body + 1};
    if (abd_soft_attach(world, id, a->vertex, to) != ABD_OK)
      return scene_fail(error, "body %zu (%.200s): attach: %s", index + 1, body->name, abd_world_error(world));
  }
  for (size_t k = 0; soft && k < soft->script_count; k++)
    for (size_t v = 0; v < soft->script[k].list.count; v++)
      if (abd_soft_script(world, id, soft->script[k].list.vertex[v]) != ABD_OK)
        return scene_fail(error, "body %zu (%.200s): scripted: %s", index + 1, body->name, abd_world_error(world));
  return true;
}

void scene_soft_free(SceneSoft *soft) {
  if (!soft) return;
  for (size_t i = 0; i < soft->script_count; i++) free(soft->script[i].list.vertex), free(soft->script[i].path);
  for (size_t i = 0; i < soft->load_count; i++) free(soft->load[i].list.vertex), free(soft->load[i].forces);
  free(soft->attach);
  free(soft->script);
  free(soft->load);
  free(soft);
}

/* Translation and rotation of scripted vertices at a time. */
static void script_pose(const SceneScript *s, double from, double time, double slack, double move[3],
                        double rotation[4]) {
  PathKey start = {.time = from};
  double end = s->path_count ? s->path[s->path_count - 1].time : from, turned[4], turn[3], path[4];
  time = fmin(time, s->motion_end);
  quat_identity(start.rotation);
  memcpy(move, start.position, sizeof start.position);
  memcpy(path, start.rotation, sizeof path);
  if (s->path_count) path_pose(&start, s->path, s->path_count, time, slack, move, path);
  double after = fmax(0, time - end);
  for (int k = 0; k < 3; k++) move[k] += after * s->velocity[k], turn[k] = after * s->angular_velocity[k];
  quat_from_vector(turn, turned);
  quat_multiply(turned, path, rotation);
}

static AbdStatus apply_script(const Scene *scene, size_t index, const SceneScript *s, AbdWorld *world) {
  const SceneBody *body = &scene->body[index];
  double dt = scene->world.dt, move[3], rotation[4];
  AbdStatus status = ABD_OK;
  script_pose(s, body->from, abd_world_time(world) + dt, 1e-6 * dt, move, rotation);
  for (size_t i = 0; status == ABD_OK && i < s->list.count; i++) {
    double at[3], arm[3], turned[3];
    scene_vertex_to_world(body, scene->mesh[body->mesh].data.vertex + 3 * (size_t)s->list.vertex[i], at);
    for (int k = 0; k < 3; k++) arm[k] = at[k] - s->center[k];
    quat_rotate(rotation, arm, turned);
    for (int k = 0; k < 3; k++) at[k] = s->center[k] + move[k] + turned[k];
    status = abd_soft_set_target(world, (AbdBodyId){(uint32_t)index + 1}, s->list.vertex[i], at);
  }
  return status;
}

/* Forces of several entries on one vertex add up. */
static AbdStatus apply_loads(const Scene *scene, size_t index, AbdWorld *world, double *sum) {
  const SceneSoft *soft = scene->body[index].soft;
  AbdStatus status = ABD_OK;
  for (size_t l = 0; l < soft->load_count; l++) {
    const SceneLoad *load = &soft->load[l];
    double force[3], torque[3];
    force_at(load->forces, load->forces_count, abd_world_time(world), force, torque);
    for (size_t i = 0; i < load->list.count; i++)
      for (int k = 0; k < 3; k++)
        sum[3 * load->list.vertex[i] + (uint32_t)k] += (load->force[k] + force[k]) / (double)load->list.count;
  }
  for (size_t l = 0; l < soft->load_count; l++)
    for (size_t i = 0; status == ABD_OK && i < soft->load[l].list.count; i++) {
      uint32_t vertex = soft->load[l].list.vertex[i];
      status = abd_soft_set_force(world, (AbdBodyId){(uint32_t)index + 1}, vertex, sum + 3 * vertex);
    }
  return status;
}

bool scene_apply_soft(const Scene *scene, AbdWorld *world, SceneError *error) {
  for (size_t b = 0; b < scene->body_count; b++) {
    const SceneSoft *soft = scene_present(&scene->body[b], world) ? scene->body[b].soft : NULL;
    AbdStatus status = ABD_OK;
    for (size_t i = 0; soft && status == ABD_OK && i < soft->script_count; i++)
      status = apply_script(scene, b, &soft->script[i], world);
    if (soft && soft->load_count && status == ABD_OK) {
      double *sum = calloc(3 * scene->mesh[scene->body[b].mesh].data.vertex_count + 1, sizeof *sum);
      if (!sum) return scene_fail(error, "body %zu (%.200s): out of memory for its forces", b + 1, scene->body[b].name);
      status = apply_loads(scene, b, world, sum);
      free(sum);
    }
    if (status != ABD_OK)
      return scene_fail(error, "body %zu (%.200s): %s", b + 1, scene->body[b].name, abd_world_error(world));
  }
  return true;
}
