/* --set name=value (set_option.h): the name becomes a small JSON object that is read like a part of a scene: its top
 * level, one of its materials, one of its bodies. Tests: tests/test_scene.c. */
#include "scene/set_option.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene/own.h"

/* A value is JSON if it parses as JSON, otherwise a word. */
static json_t *value_of(const char *text) {
  json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
  return value ? value : json_string(text);
}

/* {"contact": {"friction": value}} from "contact.friction"; takes over value. */
static json_t *nest(char *name, json_t *value) {
  char *dot;
  while (value && (dot = strrchr(name, '.'))) {
    json_t *object = json_object();
    json_object_set_new(object, dot + 1, value);
    *dot = 0;
    value = object;
  }
  json_t *top = json_object();
  json_object_set_new(top, name, value);
  return top;
}

/* ---- PART.NAME.KEY=VALUE; a name may hold dots itself ---- */

typedef struct Target {
  char name[600], key[64], label[640];
  json_t *object;
} Target; /* object: {key: value} */

static bool begins(const char *text, const char *part) { return strncmp(text, part, strlen(part)) == 0; }

/* False after an error; destroy the object in any case. */
static bool split(const char *text, const char *part, Target *target, SceneError *error) {
  const char *name = text + strlen(part), *equals = strchr(name, '='), *dot = equals;
  target->object = NULL;
  while (dot && dot > name && *dot != '.') dot--;
  if (!dot || dot == name || equals == dot + 1 || (size_t)(dot - name) >= sizeof target->name ||
      (size_t)(equals - dot) > sizeof target->key) {
    return scene_fail(error, "--set %.200s: expected %sNAME.KEY=VALUE, such as %s", text, part,
                      begins(part, "m") ? "materials.steel.density=7800" : "bodies.ball.friction=0.3");
  }
  snprintf(target->name, sizeof target->name, "%.*s", (int)(dot - name), name);
  snprintf(target->key, sizeof target->key, "%.*s", (int)(equals - dot - 1), dot + 1);
  snprintf(target->label, sizeof target->label, "--set %.600s", text);
  json_t *value = value_of(equals + 1);
  target->object = value ? json_pack("{s:o}", target->key, value) : NULL;
  return target->object || scene_fail(error, "--set %.200s: expected text in UTF-8", text);
}

/* "no body 'bal'; did you mean 'ball'?" */
static bool unknown_name(const Target *target, const char *what, const char *const *names, SceneError *error) {
  const char *nearest = nearest_name(target->name, names);
  return scene_fail(error, "%.300s: the scene has no %s '%.100s'%s%.100s%s", target->label, what, target->name,
                    nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

/* ---- Materials ---- */

static bool material_value_good(const Target *target, SceneError *error) {
  KeyList keys = {0};
  JsonFile file = {.name = target->label, .error = error};
  Node node = node_top(&file, target->object);
  AbdBodyDef def = abd_default_body_def();
  char color[8];
  own_add_material_keys(&keys);
  return node_check_keys(&node, keys.name) && own_read_material(&node, &def, color);
}

bool set_options_patch_materials(const SceneOptions *options, json_t *materials, SceneError *error) {
  bool ok = true;
  for (int i = 0; ok && options && i < options->set_count; i++) {
    Target target;
    if (!begins(options->set[i], "materials.")) continue;
    ok = split(options->set[i], "materials.", &target, error) && material_value_good(&target, error);
    json_t *material = ok ? json_object_get(materials, target.name) : NULL;
    if (json_is_object(material)) json_object_update(material, target.object);
    json_decref(target.object);
  }
  return ok;
}

static bool check_material(const Scene *scene, const char *text, SceneError *error) {
  Target target;
  bool ok = split(text, "materials.", &target, error) && material_value_good(&target, error), found = false;
  for (size_t k = 0; ok && k < scene->material_count; k++) found |= !strcmp(scene->material[k], target.name);
  if (ok && !found) {
    const char **names = calloc(scene->material_count + 1, sizeof *names);
    for (size_t k = 0; names && k < scene->material_count; k++) names[k] = scene->material[k];
    ok = names ? unknown_name(&target, "material", names, error) : scene_fail(error, "out of memory");
    free(names);
  }
  json_decref(target.object);
  return ok;
}

/* ---- Bodies ---- */

/* The body itself, or one of the copies NAME-1, NAME-2, ... */
static bool is_meant(const SceneBody *body, const char *name) {
  size_t length = strlen(name);
  if (!strcmp(body->name, name)) return true;
  const char *rest = body->name + length;
  return body->copy && begins(body->name, name) && rest[0] == '-' && rest[1] &&
         strspn(rest + 1, "0123456789") == strlen(rest + 1);
}

static bool read_body_values(const Node *node, SceneBody *body) {
  AbdBodyDef *def = &body->def;
  int64_t group = def->group;
  bool ok = own_read_material(node, def, body->color) && read_vector(node, "velocity", def->velocity, 3) &&
            read_vector(node, "angular_velocity", def->angular_velocity, 3) &&
            read_vector(node, "force", def->force, 3) && read_vector(node, "torque", def->torque, 3) &&
            read_integer(node, "group", -1, 1000000000, &group);
  def->group = (int32_t)group;
  return ok;
}

static bool apply_body(Scene *scene, const char *text, SceneError *error) {
  static const char *const known[] = {"velocity", "angular_velocity", "force", "torque", "group", NULL};
  KeyList keys = {0};
  Target target;
  bool ok = split(text, "bodies.", &target, error), found = false;
  JsonFile file = {.name = target.label, .error = error};
  Node node = node_top(&file, target.object);
  own_add_material_keys(&keys);
  keys_add_all(&keys, known);
  ok = ok && node_check_keys(&node, keys.name);
  for (size_t b = 0; ok && b < scene->body_count; b++) {
    if (!is_meant(&scene->body[b], target.name)) continue;
    found = true;
    ok = read_body_values(&node, &scene->body[b]);
  }
  if (ok && !found) {
    const char **names = calloc(scene->body_count + 1, sizeof *names);
    for (size_t b = 0; names && b < scene->body_count; b++) names[b] = scene->body[b].name;
    ok = names ? unknown_name(&target, "body", names, error) : scene_fail(error, "out of memory");
    free(names);
  }
  json_decref(target.object);
  return ok;
}

/* ---- All ---- */

static bool apply_one(Scene *scene, const char *text, SceneError *error) {
  KeyList keys = {0};
  char name[600], label[640];
  const char *equals = strchr(text, '=');
  if (begins(text, "materials.")) return check_material(scene, text, error);
  if (begins(text, "bodies.")) return apply_body(scene, text, error);
  if (!equals || equals == text || (size_t)(equals - text) >= sizeof name) {
    return scene_fail(error, "--set %.200s: expected NAME=VALUE, such as contact.friction=0.5", text);
  }
  snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
  snprintf(label, sizeof label, "--set %.600s", text);
  if (!strcmp(name, "materials") || !strcmp(name, "bodies"))
    return scene_fail(error, "%.300s: expected %s.NAME.KEY=VALUE", label, name);
  json_t *top_value = nest(name, value_of(equals + 1));
  JsonFile file = {.name = label, .error = error};
  Node top = node_top(&file, top_value);
  own_add_setting_keys(&keys);
  keys_add(&keys, "materials");
  keys_add(&keys, "bodies");
  bool ok = top_value && node_check_keys(&top, keys.name) && own_read_settings(scene, &top);
  json_decref(top_value);
  return ok;
}

bool set_options_apply(Scene *scene, const SceneOptions *options, SceneError *error) {
  for (int i = 0; i < options->set_count; i++) {
    if (!apply_one(scene, options->set[i], error)) return false;
  }
  return true;
}
