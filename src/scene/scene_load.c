/* Loading: choice of the format, --set, and mesh files without a scene file (scene.h). Tests: tests/test_scene.c. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "robot/robot.h"
#include "scene/file_bytes.h"
#include "scene/loader.h"
#include "scene/mesh_file.h"
#include "scene/mesh_scene.h"
#include "scene/schedule.h"
#include "scene/set_option.h"
#include "scene/tet_mesh.h"

/* The folder of a path, "." when it names none. */
static void folder_of(const char *path, char out[PATH_MAX]) {
  const char *slash = strrchr(path, '/');
  size_t length = slash ? (size_t)(slash - path) : 0;
  if (!slash || length >= PATH_MAX) snprintf(out, PATH_MAX, ".");
  else snprintf(out, PATH_MAX, "%.*s", length ? (int)length : 1, path);
}

static bool is_rigid_ipc(json_t *value) {
  return json_object_get(value, "rigid_body_problem") || json_object_get(value, "args");
}

/* A saved simulation keeps its scene under "args". */
static bool read_rigid_ipc(Loader *loader, const Node *top) {
  Node args;
  if (!node_get(top, "args", &args)) return rigid_ipc_read(loader, top);
  scene_add_note(loader->scene, "a saved simulation: its scene is run from the start, its history is not used");
  return node_is_object(&args) && rigid_ipc_read(loader, &args);
}

static bool read_text(Loader *loader, JsonFile *file) {
  json_t *value = json_file_parse(file, 0);
  if (!value) return false;
  file->null_is_absent = is_rigid_ipc(value);
  if (!file->null_is_absent) { /* abd's own format refuses a repeated key */
    json_decref(value);
    value = json_file_parse(file, JSON_REJECT_DUPLICATES);
    if (!value) return false;
  }
  Node top = node_top(file, value);
  bool ok = node_is_object(&top) && (file->null_is_absent ? read_rigid_ipc(loader, &top) : own_read(loader, &top));
  json_decref(value);
  return ok;
}

/* Without a name of its own a scene is called after its file. */
static bool name_after(Scene *scene, const char *path) {
  if (scene->name) return true;
  const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
  scene->name = strndup(base, dot && dot > base ? (size_t)(dot - base) : strlen(base));
  return scene->name != NULL;
}

static bool all_finite(const double *value, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (!isfinite(value[i])) return false;
  }
  return true;
}

/* Numbers of the file are finite, but scaling, copying and moving them may overflow. */
static bool check_finite(const Scene *scene, SceneError *error) {
  for (size_t i = 0; i < scene->mesh_count; i++) {
    const SceneMesh *mesh = &scene->mesh[i];
    if (!all_finite(mesh->data.vertex, 3 * mesh->data.vertex_count)) {
      return scene_fail(error, "mesh %.300s: coordinates overflow after scaling", mesh->name);
    }
  }
  for (size_t i = 0; i < scene->body_count; i++) {
    const SceneBody *body = &scene->body[i];
    bool ok = all_finite(body->def.position, 3) && all_finite(body->def.rotation, 4);
    for (size_t k = 0; ok && k < body->path_count; k++) {
      ok = all_finite(body->path[k].position, 3) && all_finite(body->path[k].rotation, 4);
    }
    if (!ok) return scene_fail(error, "body %.300s: its position overflows", body->name);
  }
  return true;
}

/* ---- Units ---- */

static double diagonal(const MeshData *mesh) {
  double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, sum = 0;
  for (size_t i = 0; i < 3 * mesh->vertex_count; i++) {
    low[i % 3] = fmin(low[i % 3], mesh->vertex[i]);
    high[i % 3] = fmax(high[i % 3], mesh->vertex[i]);
  }
  for (int k = 0; k < 3 && mesh->vertex_count; k++) sum += (high[k] - low[k]) * (high[k] - low[k]);
  return sqrt(sum);
}

/* Scenes in millimetres have a gravity of 9810. Bodies in a centrifuge, which may have as much, are not that large. */
static void note_units(Scene *scene) {
  const double strong = 1000, large = 1; /* [m/s^2], [m] */
  const double *g = scene->world.gravity, gravity = hypot(hypot(g[0], g[1]), g[2]);
  bool any = false;
  if (!(gravity > strong)) return;
  for (size_t i = 0; i < scene->body_count; i++) {
    if (scene->body[i].def.motion != ABD_MOTION_DYNAMIC) continue;
    if (!(diagonal(&scene->mesh[scene->body[i].mesh].data) > large)) return;
    any = true;
  }
  if (any)
    scene_add_note(scene,
                   "gravity is %.6g m/s^2 and every dynamic body is more than %g m across, as if lengths were in "
                   "millimetres; abd computes in metres, so multiply lengths, speeds and gravity by 0.001 (mesh files: "
                   "\"scale\": 0.001)",
                   gravity, large);
}

/* Puts the file before a sentence that has no place in it; always false. */
static bool name_file(const char *path, SceneError *error) {
  if (!error) return false;
  SceneError sentence = *error;
  return scene_fail(error, "%.500s: %.500s", path, sentence.text);
}

static Scene *finish(Loader *loader, const char *path, const SceneOptions *options, bool ok) {
  Scene *scene = loader->scene;
  store_free(loader->store);
  free(loader->real_path);
  if (ok && options) ok = set_options_apply(scene, options, loader->error);
  if (ok && !(check_finite(scene, loader->error) && scene_schedule(scene, loader->error)))
    ok = name_file(path, loader->error);
  if (ok && !name_after(scene, path)) ok = loader_out_of_memory(loader);
  if (ok) note_units(scene);
  if (ok) return scene;
  scene_destroy(scene);
  return NULL;
}

/* A loader of a file with an empty scene; false if memory is out. */
static bool loader_start(Loader *loader, const char *name, const SceneOptions *options, char folder[PATH_MAX],
                         MeshStore *store, SceneError *error) {
  *loader = (Loader){.scene = scene_create(),
                     .error = error,
                     .mesh_dir = options ? options->mesh_dir : NULL,
                     .options = options,
                     .folder = folder,
                     .store = store};
  folder_of(name, folder);
  return loader->scene || loader_out_of_memory(loader);
}

/* Options of robots would have no effect. A scene that includes robots has keys for them. */
static bool check_no_robot_options(const char *path, const SceneOptions *o, SceneError *error) {
  const char *given = !o ? NULL : o->geometry ? "--geometry" : o->base ? "--base" : o->keyframe ? "--keyframe" : NULL;
  if (!given && o && o->hold) given = "--hold";
  return !given || scene_fail(error, "%.500s: %s is for robots (.urdf, .xml) given alone", path, given);
}

/* The same of the factor on mesh files. */
static bool check_no_scale(const char *path, const SceneOptions *o, SceneError *error) {
  return !o || !(o->mesh_scale > 0) ||
         scene_fail(error, "%.500s: --scale is for mesh files given alone; in a scene a body has the key \"scale\"",
                    path);
}

Scene *scene_parse(const char *text, size_t length, const char *name, const SceneOptions *options, SceneError *error) {
  char folder[PATH_MAX];
  MeshStore store = {0};
  JsonFile file = {.name = name, .text = text, .length = length, .error = error};
  Loader loader;
  if (!check_no_robot_options(name, options, error) || !check_no_scale(name, options, error)) return NULL;
  if (!loader_start(&loader, name, options, folder, &store, error)) return NULL;
  loader.real_path = realpath(name, NULL);
  return finish(&loader, name, options, read_text(&loader, &file));
}

static Scene *load_robot(const char *path, const SceneOptions *options, SceneError *error) {
  char folder[PATH_MAX];
  MeshStore store = {0};
  Loader loader;
  if (!loader_start(&loader, path, options, folder, &store, error)) return NULL;
  return finish(&loader, path, options, robot_file_read(&loader, path));
}

static Scene *load_meshes(const char *const *path, int path_count, const SceneOptions *options, SceneError *error) {
  MeshStore store = {0};
  Loader loader = {.scene = scene_create(), .error = error, .folder = ".", .store = &store};
  double scale = options ? options->mesh_scale : 0;
  if (!loader.scene) {
    loader_out_of_memory(&loader);
    return NULL;
  }
  return finish(&loader, path[0], options, mesh_scene_fill(loader.scene, path, path_count, scale, error));
}

/* Whether a text that is no scene by the ending of its name is none by its first character either. */
static bool is_no_scene(const char *path, const FileBytes *file) {
  if (strcasecmp(file_extension(path), "json") == 0) return false;
  size_t at = byte_order_mark(file->bytes, file->length);
  while (at < file->length && strchr(" \t\r\n", file->bytes[at]) && file->bytes[at]) at++;
  return at == file->length || file->bytes[at] != '{';
}

static bool fail_no_scene(const char *path, SceneError *error) {
  const char *why = tet_extension_known(path) ? "it is a mesh of tetrahedra, for soft bodies: name it in a scene, as "
                                                "\"mesh\" of a body with the key \"soft\""
                    : mesh_is_cad(path)       ? MESH_CAD_ADVICE
                                              : "see docs/scene.md";
  return scene_fail(error,
                    "%.500s: expected a scene (.json), a robot (.urdf, .xml) or meshes (.obj, .stl, .ply, .off); %s",
                    path, why);
}

Scene *scene_load(const char *const *path, int path_count, const SceneOptions *options, SceneError *error) {
  FileBytes file;
  if (path_count < 1) {
    scene_fail(error, "no scene given");
    return NULL;
  }
  if (path_count == 1 && robot_knows(path[0])) return load_robot(path[0], options, error);
  if (!check_no_robot_options(path[0], options, error)) return NULL;
  for (int i = 0; i < path_count; i++) {
    if (path_count > 1 && !mesh_extension_known(path[i])) {
      scene_fail(error, "%.500s: expected a mesh file (.obj, .stl, .ply, .off): several files are taken as meshes",
                 path[i]);
      return NULL;
    }
  }
  if (mesh_extension_known(path[0])) return load_meshes(path, path_count, options, error);
  if (!file_read(path[0], &file, error)) return NULL;
  bool none = is_no_scene(path[0], &file);
  Scene *scene = none ? NULL : scene_parse(file.bytes, file.length, path[0], options, error);
  free(file.bytes);
  if (none) fail_no_scene(path[0], error);
  return scene;
}
