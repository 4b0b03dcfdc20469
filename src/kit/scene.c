/* See abd/scene.h. */
#include "kit/kit.h"
#include "scene/c_locale.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene/gallery.h"

AbdScene *kit_scene(Scene *scene) {
  AbdScene *own = malloc(sizeof *own);
  if (own) own->scene = scene;
  else scene_destroy(scene);
  return own;
}

static AbdScene *given(Scene *scene, const SceneError *why, AbdError *error) {
  if (!scene) return fail_with(error, ABD_ERROR_SCENE, "%s", why->text), NULL;
  AbdScene *own = kit_scene(scene);
  if (!own) fail_with(error, ABD_ERROR_MEMORY, "out of memory for a scene");
  return own;
}

AbdSceneDef abd_default_scene_def(void) { return (AbdSceneDef){0}; }

static SceneOptions options_of(const AbdSceneDef *def) {
  if (!def) return (SceneOptions){0};
  return (SceneOptions){.mesh_dir = def->mesh_dir,
                        .set = def->set,
                        .set_count = (int)def->set_count,
                        .geometry = def->geometry,
                        .base = def->base,
                        .keyframe = def->keyframe,
                        .hold = def->hold,
                        .mesh_scale = def->mesh_scale};
}

AbdScene *abd_scene_load(const char *const *path, size_t path_count, const AbdSceneDef *def, AbdError *error) {
  IN_C_LOCALE;
  SceneError why = {.text = "expected a scene file or mesh files"};
  SceneOptions options = options_of(def);
  return given(path_count ? scene_load(path, (int)path_count, &options, &why) : NULL, &why, error);
}

AbdScene *abd_scene_parse(const char *text, size_t length, const char *name, const AbdSceneDef *def, AbdError *error) {
  IN_C_LOCALE;
  SceneError why;
  SceneOptions options = options_of(def);
  return given(scene_parse(text, length, name ? name : "scene", &options, &why), &why, error);
}

void abd_scene_destroy(AbdScene *scene) {
  if (!scene) return;
  scene_destroy(scene->scene);
  free(scene);
}

AbdWorld *abd_scene_build_at(const AbdScene *scene, int threads, int64_t step, AbdError *error) {
  SceneError why;
  if (!scene_body_count(scene->scene))
    return fail_with(error, ABD_ERROR_SCENE, "the scene has no bodies, expected at least one"), NULL;
  AbdWorld *world = scene_build_at(scene->scene, threads, step, &why);
  if (!world) fail_with(error, ABD_ERROR_SCENE, "%s", why.text);
  return world;
}

AbdWorld *abd_scene_build(const AbdScene *scene, int threads, AbdError *error) {
  return abd_scene_build_at(scene, threads, 0, error);
}

AbdStatus abd_scene_apply(const AbdScene *scene, AbdWorld *world, AbdError *error) {
  SceneError why;
  return scene_apply(scene->scene, world, &why) ? ABD_OK : fail_with(error, ABD_ERROR_SCENE, "%s", why.text);
}

static bool has_body(const AbdScene *scene, AbdBodyId body) {
  return body.id >= 1 && body.id <= scene_body_count(scene->scene);
}

void abd_scene_force(const AbdScene *scene, AbdBodyId body, double time, double force[3], double torque[3]) {
  if (has_body(scene, body)) {
    scene_force(scene->scene, body.id - 1, time, force, torque);
    return;
  }
  for (int k = 0; k < 3; k++) force[k] = torque[k] = 0;
}

const char *abd_scene_name(const AbdScene *scene) { return scene_name(scene->scene); }
double abd_scene_dt(const AbdScene *scene) { return scene_dt(scene->scene); }
int64_t abd_scene_steps(const AbdScene *scene) { return scene_steps(scene->scene); }
int64_t abd_scene_steps_for(const AbdScene *scene, double seconds) { return scene_steps_for(scene->scene, seconds); }
bool abd_scene_acts(const AbdScene *scene) { return scene_acts(scene->scene); }
size_t abd_scene_body_count(const AbdScene *scene) { return scene_body_count(scene->scene); }

const char *abd_scene_body_color(const AbdScene *scene, AbdBodyId body) {
  return has_body(scene, body) ? scene_body_color(scene->scene, body.id - 1) : NULL;
}

size_t abd_scene_note_count(const AbdScene *scene) { return (size_t)scene_note_count(scene->scene); }

const char *abd_scene_note(const AbdScene *scene, size_t index) {
  return index < abd_scene_note_count(scene) ? scene_note(scene->scene, (int)index) : "";
}

const char *abd_scene_text(AbdScene *scene, size_t *length) {
  IN_C_LOCALE;
  size_t unused;
  return scene_text(scene->scene, length ? length : &unused);
}

/* ---- Robots ---- */

bool abd_scene_is_robot(const char *path) { return scene_is_robot(path); }

char *abd_robot_text(const char *path, const char *folder, const AbdSceneDef *def,
                     void (*note)(const char *text, void *user), void *user, AbdError *error) {
  IN_C_LOCALE;
  SceneError why;
  SceneOptions options = options_of(def);
  char *text = scene_from_robot(path, folder, &options, note, user, &why);
  if (!text) fail_with(error, ABD_ERROR_SCENE, "%s", why.text);
  return text;
}

/* ---- The gallery ---- */

const char *abd_gallery_about(const char *name) {
  const GalleryScene *scene = gallery_find(name);
  return scene ? scene->about : NULL;
}

const AbdGalleryKey *abd_gallery_keys(const char *name) {
  const GalleryScene *scene = gallery_find(name);
  return scene ? scene->key : NULL;
}

void abd_gallery_value_text(const AbdGalleryKey *key, double value, char text[32]) {
  IN_C_LOCALE;
  gallery_write_value(key, value, text);
}

const char *const *abd_gallery_names(void) {
  enum { MOST = 128 };
  static const char *name[MOST];
  const GalleryScene *const *list = gallery_list();
  for (int k = 0; k < MOST - 1 && list[k]; k++) name[k] = list[k]->name;
  return name;
}

/* "levels=5" into the values. */
static bool read_key(const GalleryScene *scene, const char *text, double *value, AbdError *error) {
  const char *equal = strchr(text, '=');
  size_t length = equal ? (size_t)(equal - text) : strlen(text);
  SceneError why;
  for (int k = 0; equal && k < gallery_key_count(scene); k++) {
    const GalleryKey *key = &scene->key[k];
    if (strlen(key->name) != length || strncmp(key->name, text, length) != 0) continue;
    if (gallery_read(key, equal + 1, &value[k], &why)) return true;
    return fail_with(error, ABD_ERROR_SCENE, "%s: %s", scene->name, why.text), false;
  }
  return fail_with(error, ABD_ERROR_SCENE, "%s: expected KEY=VALUE with a key of this scene, got '%s'", scene->name,
                   text),
         false;
}

char *abd_gallery_text(const char *name, const char *const *key, size_t key_count, size_t *length, AbdError *error) {
  IN_C_LOCALE;
  const GalleryScene *scene = gallery_find(name);
  double value[GALLERY_KEY_LIMIT];
  SceneError why;
  size_t size;
  if (!scene) return fail_with(error, ABD_ERROR_SCENE, "the gallery has no scene '%s'", name), NULL;
  gallery_defaults(scene, value);
  for (size_t k = 0; k < key_count; k++)
    if (!read_key(scene, key[k], value, error)) return NULL;
  char *text = gallery_text(scene, value, length ? length : &size, &why);
  if (!text) fail_with(error, ABD_ERROR_SCENE, "%s: %s", name, why.text);
  return text;
}

void abd_text_free(char *text) { free(text); }
