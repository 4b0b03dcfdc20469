/* Motions of and forces on vertices of soft bodies in abd's own format: "scripted" and "vertex_forces" (own.h).
 * Tests: tests/test_scene_soft.c. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scene/own.h"
#include "scene/rotation.h"
#include "scene/surface_distance.h"

/* The mean of the vertices' positions at the start. */
static void mean_place(const Scene *scene, size_t index, const VertexList *list, double mean[3]) {
  const SceneBody *body = &scene->body[index];
  mean[0] = mean[1] = mean[2] = 0;
  for (size_t i = 0; i < list->count; i++) {
    double at[3];
    scene_vertex_to_world(body, scene->mesh[body->mesh].data.vertex + 3 * (size_t)list->vertex[i], at);
    for (int k = 0; k < 3; k++) mean[k] += at[k] / (double)list->count;
  }
}

static bool read_path(OwnFile *file, const Node *entry, const SceneBody *body, SceneScript *script) {
  static const char *const known[] = {"time", "move", "rotation", "euler_degrees", "quaternion", NULL};
  Node list;
  PathKey key = {.time = -1};
  GivenTurn before = {0};
  quat_identity(key.rotation);
  if (!node_get(entry, "path", &list)) return true;
  if (!node_is_array(&list)) return false;
  for (size_t i = 0; i < node_size(&list); i++) {
    Node item = node_item(&list, i);
    if (!node_check_keys(&item, known) || !own_read_time(&item, key.time, &key.time) ||
        !read_vector(&item, "move", key.position, 3) || !own_read_rotation(&item, key.rotation))
      return false;
    GivenTurn now = before;
    own_read_turn(&item, &now);
    if (i || key.time > body->from) own_note_long_turn(file->loader->scene, body->name, i, &before, &now);
    before = now;
    PathKey *slot = array_add(&script->path, &script->path_count, sizeof *slot);
    if (!slot) return loader_out_of_memory(file->loader);
    *slot = key;
  }
  return true;
}

/* No vertex moves two ways. */
static bool check_alone(const Node *entry, const SceneBody *body) {
  const SceneSoft *soft = body->soft;
  const SceneScript *script = &soft->script[soft->script_count - 1];
  for (size_t i = 0; i < script->list.count; i++) {
    uint32_t v = script->list.vertex[i];
    for (size_t k = 0; k < soft->attach_count; k++)
      if (soft->attach[k].vertex == v)
        return node_fail(entry, "vertex %u of \"%.100s\" is attached: it cannot be scripted too", v, body->name);
    for (size_t s = 0; s + 1 < soft->script_count; s++)
      for (size_t k = 0; k < soft->script[s].list.count; k++)
        if (soft->script[s].list.vertex[k] == v)
          return node_fail(entry, "vertex %u of \"%.100s\" is scripted by entry %zu already", v, body->name, s);
  }
  return true;
}

static bool script_entry(OwnFile *file, const Node *entry, size_t index, const double shift[3]) {
  static const char *const known[] = {CHOICE_KEYS,  "velocity", "angular_velocity", "center", "path",
                                      "motion_end", NULL};
  SceneBody *body = &file->loader->scene->body[index];
  SceneScript *script = array_add(&body->soft->script, &body->soft->script_count, sizeof *script);
  Node center;
  if (!script) return loader_out_of_memory(file->loader);
  script->motion_end = INFINITY;
  if (!node_check_keys(entry, known) || !own_choose_vertices(file, entry, index, shift, &script->list, NULL))
    return false;
  mean_place(file->loader->scene, index, &script->list, script->center);
  if (node_get(entry, "center", &center)) {
    if (!node_vector(&center, script->center, 3)) return false;
    for (int k = 0; k < 3; k++) script->center[k] += shift[k];
  }
  return read_vector(entry, "velocity", script->velocity, 3) &&
         read_vector(entry, "angular_velocity", script->angular_velocity, 3) &&
         read_number(entry, "motion_end", NUMBER_NOT_NEGATIVE, &script->motion_end) &&
         read_path(file, entry, body, script) && check_alone(entry, body);
}

static bool load_entry(OwnFile *file, const Node *entry, size_t index, const double shift[3]) {
  static const char *const known[] = {CHOICE_KEYS, "force", "forces", NULL};
  SceneSoft *soft = file->loader->scene->body[index].soft;
  SceneLoad *load = array_add(&soft->load, &soft->load_count, sizeof *load);
  if (!load) return loader_out_of_memory(file->loader);
  return node_check_keys(entry, known) && own_choose_vertices(file, entry, index, shift, &load->list, NULL) &&
         read_vector(entry, "force", load->force, 3) &&
         own_read_forces(file, entry, false, &load->forces, &load->forces_count);
}

static bool each_entry(OwnFile *file, const Node *list, size_t index, const double shift[3],
                       bool (*read)(OwnFile *, const Node *, size_t, const double[3])) {
  for (size_t i = 0; i < node_size(list); i++) {
    Node entry = node_item(list, i);
    if (!read(file, &entry, index, shift)) return false;
  }
  return true;
}

static bool script_body(OwnFile *file, const Node *list, size_t index, const double shift[3]) {
  return each_entry(file, list, index, shift, script_entry);
}

static bool load_body(OwnFile *file, const Node *list, size_t index, const double shift[3]) {
  return each_entry(file, list, index, shift, load_entry);
}

bool own_read_scripts(OwnFile *file) {
  return own_each_list(file, "scripted", script_body) && own_each_list(file, "vertex_forces", load_body);
}
