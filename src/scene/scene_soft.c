/* A scene's soft bodies in the world (scene_def.h). Tests: tests/test_scene_soft.c. */
#include <string.h>

#include "scene/json_node.h"
#include "scene/scene_def.h"

AbdStatus scene_build_soft(const Scene *scene, size_t index, AbdWorld *world) {
  const SceneBody *body = &scene->body[index];
  const SceneMesh *mesh = &scene->mesh[body->mesh];
  AbdSoftDef def = body->soft->def;
  AbdBodyId id;
  def.name = body->name;
  def.vertex = mesh->data.vertex, def.vertex_count = mesh->data.vertex_count;
  def.tet = mesh->tet, def.tet_count = mesh->tet_count;
  if (!mesh->tet_count) def.triangle = mesh->data.triangle, def.triangle_count = mesh->data.triangle_count;
  def.density = body->def.density, def.friction = body->def.friction, def.group = body->def.group;
  memcpy(def.position, body->def.position, sizeof def.position);
  memcpy(def.rotation, body->def.rotation, sizeof def.rotation);
  memcpy(def.velocity, body->def.velocity, sizeof def.velocity);
  memcpy(def.angular_velocity, body->def.angular_velocity, sizeof def.angular_velocity);
  return abd_world_add_soft(world, &def, &id);
}

bool scene_build_attachments(const Scene *scene, AbdWorld *world, SceneError *error) {
  for (size_t i = 0; i < scene->body_count; i++) {
    const SceneSoft *soft = scene->body[i].soft;
    for (size_t k = 0; soft && k < soft->attach_count; k++) {
      const SceneAttachment *a = &soft->attach[k];
      AbdBodyId to = {a->body == SCENE_WORLD ? 0 : a->body + 1};
      if (abd_soft_attach(world, (AbdBodyId){(uint32_t)i + 1}, a->vertex, to) != ABD_OK)
        return scene_fail(error, "body %zu (%.200s): attach: %s", i + 1, scene->body[i].name, abd_world_error(world));
    }
  }
  return true;
}
