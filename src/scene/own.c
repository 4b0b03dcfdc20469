/* abd's own scene format: the file's top level, materials, named meshes and includes (own.h, docs/scene.md).
 * Tests: tests/test_scene.c. */
#include "scene/own.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene/file_bytes.h"
#include "scene/set_option.h"
#include "scene/setting.h"

static bool check_version(const Node *top) {
  Node node;
  if (!node_get(top, "version", &node) && !node_get(top, "abd", &node)) {
    return node_fail(top, "expected \"version\": 1 (abd's own format) or \"rigid_body_problem\" (rigid-IPC's)");
  }
  int64_t version;
  if (!node_integer(&node, 1, 1000, &version)) return false;
  return version == 1 ||
         node_fail(&node, "this abd reads version 1 of the scene format, the file is version %lld", (long long)version);
}

/* Unused materials are checked too; their names stay with the scene for --set. */
static bool check_materials(Loader *loader, const Node *top) {
  KeyList keys = {0};
  Node list;
  const char *name;
  json_t *value;
  own_add_material_keys(&keys);
  if (!node_get(top, "materials", &list)) return true;
  if (!node_is_object(&list)) return false;
  json_object_foreach(list.value, name, value) {
    Node material = {.file = list.file, .value = value, .parent = &list, .key = name};
    AbdBodyDef def = abd_default_body_def();
    char color[8];
    if (name[0] == '#') continue;
    if (!node_check_keys(&material, keys.name) || !own_read_material(&material, &def, color)) return false;
    char **slot = array_add(&loader->scene->material, &loader->scene->material_count, sizeof *slot);
    if (!slot || !(*slot = strdup(name))) return loader_out_of_memory(loader);
  }
  return set_options_patch_materials(loader->options, list.value, loader->error);
}

static bool read_meshes(OwnFile *file) {
  static const char *const known[] = {GEOMETRY_KEYS, NULL};
  Node list;
  const char *name;
  json_t *value;
  if (!node_get(file->top, "meshes", &list)) return true;
  if (!node_is_object(&list)) return false;
  json_object_foreach(list.value, name, value) {
    Node entry = {.file = list.file, .value = value, .parent = &list, .key = name};
    if (name[0] == '#') continue;
    if (!node_check_keys(&entry, known)) return false;
    int mesh = own_read_geometry(file, &entry, "file");
    if (mesh < 0) return false;
    NamedMesh *named = array_add(&file->named, &file->named_count, sizeof *named);
    if (!named) return loader_out_of_memory(file->loader);
    *named = (NamedMesh){name, mesh};
  }
  return true;
}

static bool read_file(Loader *loader, const Node *top, bool settings);

/* Writes "a.json -> b.json -> a.json". */
static size_t write_chain(const Loader *loader, char *out, size_t size) {
  size_t used = loader->includer ? write_chain(loader->includer, out, size) : 0;
  const char *path = loader->real_path ? loader->real_path : "scene", *slash = strrchr(path, '/');
  int n = snprintf(out + used, size - used, "%.60s -> ", slash ? slash + 1 : path);
  used += n > 0 ? (size_t)n : 0;
  return used < size ? used : size - 1;
}

static bool check_cycle(const Loader *loader, const Node *at, const char *real) {
  int depth = 0;
  for (const Loader *l = loader; l; l = l->includer, depth++) {
    if (!l->real_path || strcmp(l->real_path, real) != 0) continue;
    char chain[400];
    const char *slash = strrchr(real, '/');
    write_chain(loader, chain, sizeof chain);
    return node_fail(at, "the file includes itself: %.300s%.60s", chain, slash ? slash + 1 : real);
  }
  return depth < 16 || node_fail(at, "includes are nested more than 16 deep");
}

static bool read_included(const Loader *includer, const char *path, Loader *loader) {
  FileBytes bytes;
  if (!file_read(path, &bytes, includer->error)) return false;
  JsonFile file = {.name = path, .text = bytes.bytes, .length = bytes.length, .error = includer->error};
  json_t *value = json_file_parse(&file, JSON_REJECT_DUPLICATES);
  bool ok = value != NULL;
  if (ok) {
    Node top = node_top(&file, value);
    ok = node_is_object(&top) && read_file(loader, &top, false);
  }
  json_decref(value);
  free(bytes.bytes);
  return ok;
}

/* A file relative to this one; its bodies join the scene, its settings do not. */
static bool read_include(Loader *loader, const Node *at) {
  char path[PATH_MAX];
  const char *name = json_string_value(at->value);
  if (json_is_object(at->value)) return own_include_robot(loader, at);
  if (!name) return node_expected(at, "a file name, or a robot {\"urdf\": FILE}");
  int n = name[0] == '/' ? snprintf(path, sizeof path, "%s", name)
                         : snprintf(path, sizeof path, "%s/%s", loader->folder, name);
  char *real = n > 0 && n < PATH_MAX && file_exists(path) ? realpath(path, NULL) : NULL;
  if (!real) return node_fail(at, "no file \"%.300s\" to include", name);
  Loader inner = *loader;
  char folder[PATH_MAX];
  inner.includer = loader;
  inner.real_path = real;
  snprintf(folder, sizeof folder, "%s", path);
  *strrchr(folder, '/') = 0;
  inner.folder = folder[0] ? folder : "/";
  bool ok = check_cycle(loader, at, real) && read_included(loader, path, &inner);
  free(real);
  return ok;
}

static bool read_includes(OwnFile *file) {
  Node list;
  if (!node_get(file->top, "include", &list)) return true;
  if (!json_is_array(list.value)) return read_include(file->loader, &list);
  for (size_t i = 0; i < node_size(&list); i++) {
    Node item = node_item(&list, i);
    if (!read_include(file->loader, &item)) return false;
  }
  return true;
}

static bool read_name(Scene *scene, const Node *top) {
  const char *name = NULL;
  if (!read_string(top, "name", &name)) return false;
  if (name) scene->name = strdup(name);
  return true;
}

static bool read_file(Loader *loader, const Node *top, bool settings) {
  static const char *const known[] = {"version",   "abd",    "$schema", "name",    "comment",
                                      "materials", "meshes", "bodies",  "exclude", "pair_friction",
                                      "include",   "joints", "drives",  NULL};
  KeyList keys = {0};
  OwnFile file = {.loader = loader, .top = top, .first_body = loader->scene->body_count};
  Scene ignored = *loader->scene; /* an included file's settings are checked and not used */
  keys_add_all(&keys, known);
  own_add_setting_keys(&keys);
  bool ok = check_version(top) && node_check_keys(top, keys.name) && (!settings || read_name(loader->scene, top)) &&
            own_read_settings(settings ? loader->scene : &ignored, top) && check_materials(loader, top) &&
            read_meshes(&file) && own_read_bodies(&file);
  file.body_end = loader->scene->body_count;
  ok = ok && read_includes(&file) && own_read_attachments(&file) && own_read_scripts(&file) && own_read_pairs(&file);
  file.first_joint = loader->scene->joint_count; /* after the joints of included files */
  ok = ok && own_read_joints(&file) && own_read_drives(&file);
  json_decref(file.body_index);
  json_decref(file.joint_index);
  free(file.named);
  return ok;
}

void own_add_setting_keys(KeyList *list) {
  settings_add_keys(list, ABD_DEF_WORLD);
  keys_add(list, "duration");
  keys_add(list, "steps");
}

bool own_read_settings(Scene *scene, const Node *top) {
  double duration = -1;
  int64_t steps = -1;
  if (!settings_read(top, ABD_DEF_WORLD, &scene->world) ||
      !read_number(top, "duration", NUMBER_NOT_NEGATIVE, &duration) ||
      !read_integer(top, "steps", 0, INT64_C(1000000000000000), &steps))
    return false;
  if (duration >= 0 && steps >= 0) return node_fail(top, "\"duration\" and \"steps\" exclude each other: give one");
  if (duration >= 0) scene->duration = duration, scene->steps = -1;
  if (steps >= 0) scene->steps = steps;
  return true;
}

bool own_read_included(Loader *loader, const Node *top) { return read_file(loader, top, false); }

bool own_read(Loader *loader, const Node *top) {
  if (!read_file(loader, top, true)) return false;
  own_note_coefficients(loader->scene);
  return true;
}
