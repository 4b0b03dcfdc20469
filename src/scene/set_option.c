/* --set name=value (set_option.h): the name becomes a small JSON object that is read like the top level of a scene.
 * Tests: tests/test_scene.c. */
#include "scene/set_option.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene/loader.h"

/* A value is JSON where it parses as such, otherwise a word. */
static json_t *value_of(const char *text) {
  json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
  return value ? value : json_string(text);
}

/* {"contact": {"friction": value}} from "contact.friction"; takes value over. */
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

static bool apply_one(Scene *scene, const char *text, SceneError *error) {
  static const char *const known[] = {"dt", "duration", "steps", "gravity", "integrator", "contact", "solver", NULL};
  char name[600], label[640];
  const char *equals = strchr(text, '=');
  if (!equals || equals == text || (size_t)(equals - text) >= sizeof name) {
    return scene_fail(error, "--set %.200s: expected NAME=VALUE, such as contact.friction=0.5", text);
  }
  snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
  snprintf(label, sizeof label, "--set %.600s", text);
  json_t *top_value = nest(name, value_of(equals + 1));
  JsonFile file = {.name = label, .error = error};
  Node top = node_top(&file, top_value);
  bool ok = top_value && node_check_keys(&top, known) && settings_read(scene, &top);
  json_decref(top_value);
  return ok;
}

bool set_options_apply(Scene *scene, const SceneOptions *options, SceneError *error) {
  for (int i = 0; i < options->set_count; i++) {
    if (!apply_one(scene, options->set[i], error)) return false;
  }
  return true;
}
