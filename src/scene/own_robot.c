/* Robots in scenes: URDF and MJCF files become scenes of abd's own format (robot/robot.h), which are completed here by
 * what only the geometry tells. Links that overlap at the start do not collide with each other. A free robot that
 * reaches into a plane is lifted. A free robot of a URDF file alone gets a ground. Tests: tests/test_robot.c. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "robot/pose.h"
#include "robot/robot.h"
#include "scene/file_bytes.h"
#include "scene/own.h"
#include "scene/rotation.h"

/* ---- options ---- */

static const char *const geometries[] = {"collision", "visual", NULL};
static const char *const bases[] = {"fixed", "free", NULL};

static int index_of(const char *word, const char *const *list) {
  for (int k = 0; list[k]; k++)
    if (strcmp(word, list[k]) == 0) return k;
  return -1;
}

static bool use_options(const Loader *loader, RobotOptions *robot) {
  const SceneOptions *o = loader->options;
  robot->mesh_dir = loader->mesh_dir;
  if (!o) return true;
  int geometry = o->geometry ? index_of(o->geometry, geometries) : 0, base = o->base ? index_of(o->base, bases) : 0;
  if (geometry < 0)
    return scene_fail(loader->error, "geometry: expected collision or visual, got \"%.100s\"", o->geometry);
  if (base < 0) return scene_fail(loader->error, "base: expected fixed or free, got \"%.100s\"", o->base);
  robot->geometry = (RobotGeometry)geometry;
  if (o->base) robot->base = base ? ROBOT_BASE_FREE : ROBOT_BASE_FIXED;
  robot->keyframe = o->keyframe;
  robot->hold = o->hold;
  return true;
}

static bool read_options(const Node *at, RobotOptions *robot) {
  static const char *const known[] = {"urdf",       "mjcf",    "geometry", "base",     "keyframe",
                                      "hold",       "prefix",  "position", "rotation", "euler_degrees",
                                      "quaternion", "comment", NULL};
  int geometry = (int)robot->geometry, base = (int)robot->base - 1;
  bool ok = node_check_keys(at, known) && read_choice(at, "geometry", geometries, &geometry) &&
            read_choice(at, "base", bases, &base) && read_string(at, "keyframe", &robot->keyframe) &&
            read_bool(at, "hold", &robot->hold) && read_string(at, "prefix", &robot->prefix) &&
            read_vector(at, "position", robot->position, 3) && own_read_rotation(at, robot->rotation);
  robot->geometry = (RobotGeometry)geometry;
  robot->base = (RobotBase)(base + 1);
  return ok;
}

/* ---- free robots and planes ---- */

static size_t root_of(const size_t *parent, size_t i) {
  while (parent[i] != i) i = parent[i];
  return i;
}

/* Bodies that joints connect have one root; `held` of a root: the world or a static body carries it. */
static void find_trees(const Scene *scene, size_t *root, bool *held) {
  for (size_t i = 0; i < scene->body_count; i++) root[i] = i;
  for (size_t k = 0; k < scene->joint_count; k++) {
    const AbdJointDef *d = &scene->joint[k].def;
    if (d->body_a.id && d->body_b.id) root[root_of(root, d->body_a.id - 1)] = root_of(root, d->body_b.id - 1);
  }
  for (size_t i = 0; i < scene->body_count; i++) root[i] = root_of(root, i);
  for (size_t i = 0; i < scene->body_count; i++)
    if (scene->body[i].def.motion != ABD_MOTION_DYNAMIC) held[root[i]] = true;
  for (size_t k = 0; k < scene->joint_count; k++) {
    const AbdJointDef *d = &scene->joint[k].def;
    if (d->body_a.id && !d->body_b.id) held[root[d->body_a.id - 1]] = true;
  }
}

static void world_point(const SceneBody *body, const double local[3], double x[3]) {
  quat_rotate(body->def.rotation, local, x);
  for (int k = 0; k < 3; k++) x[k] += body->def.position[k];
}

/* The lowest value of n . x over the vertices of a body. */
static double lowest(const Scene *scene, const SceneBody *body, const double n[3]) {
  const MeshData *mesh = &scene->mesh[body->mesh].data;
  double least = INFINITY, x[3];
  for (size_t v = 0; v < mesh->vertex_count; v++) {
    world_point(body, mesh->vertex + 3 * v, x);
    least = fmin(least, n[0] * x[0] + n[1] * x[1] + n[2] * x[2]);
  }
  return least;
}

static void shift_vector(json_t *object, const char *key, const double by[3]) {
  json_t *old = json_object_get(object, key), *list = json_array();
  if (!old && strcmp(key, "position") != 0) return json_decref(list);
  for (size_t k = 0; k < 3; k++)
    json_array_append_new(list, json_real((old ? json_number_value(json_array_get(old, k)) : 0) + by[k]));
  json_object_set_new(object, key, list);
}

/* Moves the bodies of a tree and their joints, in the JSON and in the scene made from it. */
static void shift_tree(Scene *scene, const size_t *root, size_t tree, const double by[3], json_t *json) {
  for (size_t i = 0; i < scene->body_count; i++) {
    if (root[i] != tree) continue;
    shift_vector(json_array_get(json_object_get(json, "bodies"), i), "position", by);
    for (int k = 0; k < 3; k++) scene->body[i].def.position[k] += by[k];
  }
  for (size_t k = 0; k < scene->joint_count; k++) {
    const AbdJointDef *d = &scene->joint[k].def;
    if (!d->body_a.id || root[d->body_a.id - 1] != tree) continue;
    shift_vector(json_array_get(json_object_get(json, "joints"), k), "point", by);
    for (int m = 0; m < 3; m++) scene->joint[k].def.point[m] += by[m];
  }
}

/* The plane of a half-space: n . x = d, n outwards. */
static double plane_of(const Scene *scene, const SceneBody *body, double n[3]) {
  const MeshData *mesh = &scene->mesh[body->mesh].data;
  double x[3][3], u[3], v[3];
  for (int k = 0; k < 3; k++) world_point(body, mesh->vertex + 3 * mesh->triangle[k], x[k]);
  for (int k = 0; k < 3; k++) u[k] = x[1][k] - x[0][k], v[k] = x[2][k] - x[0][k];
  for (int k = 0; k < 3; k++) n[k] = u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3];
  double length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
  for (int k = 0; k < 3; k++) n[k] /= length;
  return n[0] * x[0][0] + n[1] * x[0][1] + n[2] * x[0][2];
}

static const double ground_gap = 1e-4; /* [m] between a robot and the ground at the start */

static void lift_from_plane(Scene *scene, const size_t *root, const bool *held, size_t plane, json_t *json,
                            json_t *notes) {
  double n[3], d = plane_of(scene, &scene->body[plane], n), by[3];
  for (size_t tree = 0; tree < scene->body_count; tree++) {
    double least = INFINITY;
    if (root[tree] != tree || held[tree]) continue;
    for (size_t i = 0; i < scene->body_count; i++)
      if (root[i] == tree && !scene->body[i].def.no_contact) least = fmin(least, lowest(scene, &scene->body[i], n) - d);
    if (!(least <= 0)) continue;
    for (int k = 0; k < 3; k++) by[k] = (ground_gap - least) * n[k];
    shift_tree(scene, root, tree, by, json);
    json_array_append_new(notes,
                          json_sprintf("\"%.100s\" and what is joined to it is moved by %.3g m out of \"%.100s\"",
                                       scene->body[tree].name, ground_gap - least, scene->body[plane].name));
  }
}

static void add_ground(const Scene *scene, json_t *json) {
  static const double up[3] = {0, 0, 1};
  double least = INFINITY;
  for (size_t i = 0; i < scene->body_count; i++)
    if (!scene->body[i].def.no_contact) least = fmin(least, lowest(scene, &scene->body[i], up));
  if (!isfinite(least)) return;
  json_array_append_new(json_object_get(json, "bodies"), json_pack("{s:s, s:s, s:[f, f, f]}", "name", "ground", "shape",
                                                                   "ground", "position", 0.0, 0.0, least - ground_gap));
}

static bool place_free(Scene *scene, bool ground, json_t *json, json_t *notes, SceneError *error) {
  size_t *root = calloc(scene->body_count + 1, sizeof *root);
  bool *held = calloc(scene->body_count + 1, sizeof *held), any_free = false;
  if (!root || !held) return free(root), free(held), scene_fail(error, "out of memory while reading the robot");
  find_trees(scene, root, held);
  for (size_t i = 0; i < scene->body_count; i++) any_free |= !held[root[i]];
  for (size_t i = 0; i < scene->body_count; i++)
    if (scene->mesh[scene->body[i].mesh].half_space) lift_from_plane(scene, root, held, i, json, notes);
  if (ground && any_free) add_ground(scene, json);
  free(root);
  free(held);
  return true;
}

/* ---- overlaps ---- */

static void exclude_crossings(const Scene *scene, const AbdCrossing *crossing, size_t count, json_t *json,
                              json_t *notes) {
  json_t *list = json_object_get(json, "exclude");
  char text[400] = "";
  size_t named = 0;
  if (!list && count) json_object_set_new(json, "exclude", list = json_array());
  for (size_t k = 0; k < count; k++) {
    const char *a = scene->body[crossing[k].body_a.id - 1].name, *b = scene->body[crossing[k].body_b.id - 1].name;
    json_array_append_new(list, json_pack("[s, s]", a, b));
    size_t used = strlen(text);
    if (used + strlen(a) + strlen(b) + 8 >= sizeof text) continue;
    snprintf(text + used, sizeof text - used, "%s%s - %s", used ? ", " : "", a, b);
    named++;
  }
  if (count)
    json_array_append_new(notes, json_sprintf("links that overlap at the start do not collide, %zu pair%s: %s%s", count,
                                              count == 1 ? "" : "s", text, named < count ? ", ..." : ""));
}

static bool find_overlaps(const Scene *scene, json_t *json, json_t *notes, SceneError *error) {
  size_t n = scene->body_count, room = n * (n - 1) / 2 + 1;
  AbdWorld *world = scene_build(scene, 1, error);
  double *nodes = calloc(12 * n + 1, sizeof *nodes);
  AbdCrossing *crossing = room < 1000000 ? calloc(room, sizeof *crossing) : NULL;
  bool ok = world != NULL;
  if (ok && (!nodes || !crossing)) ok = scene_fail(error, "out of memory while comparing the robot's links");
  for (size_t i = 0; ok && i < n; i++)
    if (abd_body_nodes(world, (AbdBodyId){(uint32_t)i + 1}, nodes + 12 * i) != ABD_OK)
      ok = scene_fail(error, "%.500s", abd_world_error(world));
  size_t count = ok ? abd_world_find_crossings(world, nodes, crossing, room) : 0;
  if (count == SIZE_MAX) ok = scene_fail(error, "out of memory while comparing the robot's links");
  if (ok) exclude_crossings(scene, crossing, count, json, notes);
  abd_world_destroy(world);
  free(nodes);
  free(crossing);
  return ok;
}

/* ---- masses ---- */

static bool read_json(Loader *loader, const char *path, json_t *json, bool settings) {
  JsonFile file = {.name = path, .error = loader->error};
  Node top = node_top(&file, json);
  return settings ? own_read(loader, &top) : own_read_included(loader, &top);
}

typedef struct Mass {
  double mass, center[3], inertia[6];
} Mass;

/* Mass, centre and inertia of a body where it stands. */
static bool body_mass(const AbdWorld *world, const SceneBody *body, uint32_t id, Mass *m) {
  AbdBodyView view;
  AbdMeshView mesh;
  Pose at;
  if (abd_body_view(world, (AbdBodyId){id}, &view) != ABD_OK || abd_mesh_view(world, view.mesh, &mesh) != ABD_OK)
    return false;
  mat_from_quat(body->def.rotation, at.r);
  memcpy(at.p, body->def.position, sizeof at.p);
  double moment[6] = {view.inertia[0], view.inertia[1], view.inertia[2], 0, 0, 0}, axes[9];
  pose_point(&at, mesh.origin, m->center);
  mat_product(at.r, mesh.axes, axes);
  tensor_turn(axes, moment, m->inertia);
  m->mass = view.mass;
  return true;
}

static bool sum_masses(const Scene *scene, const AbdWorld *world, Mass *sum) {
  Mass one;
  double first[3] = {0};
  for (uint32_t id = 1; id <= scene->body_count; id++) {
    if (!body_mass(world, &scene->body[id - 1], id, &one)) return false;
    sum->mass += one.mass;
    for (int k = 0; k < 3; k++) first[k] += one.mass * one.center[k];
  }
  for (int k = 0; k < 3; k++) sum->center[k] = first[k] / sum->mass;
  for (uint32_t id = 1; id <= scene->body_count; id++) {
    if (!body_mass(world, &scene->body[id - 1], id, &one)) return false;
    double d[3];
    for (int k = 0; k < 3; k++) d[k] = one.center[k] - sum->center[k];
    for (int k = 0; k < 6; k++) sum->inertia[k] += one.inertia[k];
    tensor_add_point(sum->inertia, one.mass, d);
  }
  return true;
}

static json_t *list_of(const double *value, size_t count) {
  json_t *list = json_array();
  for (size_t k = 0; k < count; k++) json_array_append_new(list, json_real(value[k]));
  return list;
}

/* The mass of a link whose file gives none is that of the geometry under "#mass", each part a body for trial. */
static bool weigh(Loader *loader, const char *path, json_t *body) {
  json_t *parts = json_object_get(body, "#mass");
  if (!parts) return true;
  Loader trial = *loader;
  trial.options = NULL;
  if (!(trial.scene = scene_create())) return loader_out_of_memory(loader);
  json_t *json = json_pack("{s:i, s:O}", "version", 1, "bodies", parts);
  bool ok = read_json(&trial, path, json, true);
  AbdWorld *world = ok ? scene_build(trial.scene, 1, loader->error) : NULL;
  Mass sum = {0};
  ok = world && (sum_masses(trial.scene, world, &sum) || scene_fail(loader->error, "%.500s", abd_world_error(world)));
  if (ok) {
    json_object_set_new(body, "mass", json_real(sum.mass));
    json_object_set_new(body, "center_of_mass", list_of(sum.center, 3));
    json_object_set_new(body, "inertia", list_of(sum.inertia, 6));
    json_object_del(body, "#mass");
    json_object_del(body, "density");
  }
  abd_world_destroy(world);
  scene_destroy(trial.scene);
  json_decref(json);
  return ok;
}

static bool weigh_all(Loader *loader, const char *path, json_t *json) {
  size_t i;
  json_t *body;
  json_array_foreach(json_object_get(json, "bodies"), i, body) if (!weigh(loader, path, body)) return false;
  return true;
}

/* ---- the robot ---- */

/* Completes the scene by what a scene made from it for trial shows. */
static bool complete(Loader *loader, const char *path, bool ground, json_t *json, json_t *notes) {
  Loader trial = *loader;
  trial.scene = scene_create();
  trial.options = NULL;
  if (!trial.scene) return loader_out_of_memory(loader);
  bool ok = weigh_all(loader, path, json) && read_json(&trial, path, json, true) &&
            place_free(trial.scene, ground, json, notes, loader->error) &&
            (trial.scene->body_count == 0 || find_overlaps(trial.scene, json, notes, loader->error));
  scene_destroy(trial.scene);
  return ok;
}

static json_t *robot_json(Loader *loader, const char *path, RobotFormat format, const RobotOptions *options, bool alone,
                          json_t *notes) {
  RobotError error = {""};
  json_t *json = robot_read(path, format, options, notes, &error);
  if (!json) return scene_fail(loader->error, "%.1000s", error.text), NULL;
  bool ground = alone && options->base == ROBOT_BASE_FREE && format == ROBOT_URDF;
  if (complete(loader, path, ground, json, notes)) return json;
  json_decref(json);
  return NULL;
}

static bool add_robot(Loader *loader, const char *path, RobotFormat format, const RobotOptions *options, bool alone) {
  json_t *notes = json_array(), *json = robot_json(loader, path, format, options, alone, notes);
  bool ok = json && read_json(loader, path, json, alone);
  for (size_t i = 0; ok && i < json_array_size(notes); i++)
    scene_add_note(loader->scene, "%s", json_string_value(json_array_get(notes, i)));
  json_decref(json);
  json_decref(notes);
  return ok;
}

bool scene_is_robot(const char *path) { return robot_knows(path); }

bool robot_file_read(Loader *loader, const char *path) {
  RobotOptions options = robot_default_options();
  return use_options(loader, &options) && add_robot(loader, path, robot_format(path), &options, true);
}

bool own_include_robot(Loader *loader, const Node *at) {
  RobotOptions options = robot_default_options();
  Node urdf, mjcf;
  bool has_urdf = node_get(at, "urdf", &urdf), has_mjcf = node_get(at, "mjcf", &mjcf);
  char path[PATH_MAX];
  if (has_urdf == has_mjcf) return node_fail(at, "expected \"urdf\" or \"mjcf\", the file of a robot");
  const Node *which = has_urdf ? &urdf : &mjcf;
  const char *name = json_string_value(which->value);
  if (!name) return node_expected(which, "a file name");
  int n = name[0] == '/' ? snprintf(path, sizeof path, "%s", name)
                         : snprintf(path, sizeof path, "%s/%s", loader->folder, name);
  if (!(n > 0 && n < PATH_MAX && file_exists(path))) return node_fail(which, "no file \"%.300s\" to include", name);
  options.mesh_dir = loader->mesh_dir;
  return read_options(at, &options) && add_robot(loader, path, has_urdf ? ROBOT_URDF : ROBOT_MJCF, &options, false);
}

/* ---- as text ---- */

/* The path of a file as seen from a folder, both absolute. */
static void relative_path(const char *folder, const char *file, char out[PATH_MAX]) {
  size_t same = 0, used = 0;
  for (size_t i = 0; folder[i] && folder[i] == file[i]; i++)
    if (file[i] == '/') same = i + 1;
  size_t n = strlen(folder);
  if (strncmp(folder, file, n) == 0 && file[n] == '/') same = n + 1;
  out[0] = 0;
  for (const char *at = folder + (same < n ? same : n); *at;
       at = strchr(at, '/') ? strchr(at, '/') + 1 : at + strlen(at))
    used += (size_t)snprintf(out + used, used < PATH_MAX ? PATH_MAX - used : 0, "../");
  snprintf(out + used, used < PATH_MAX ? PATH_MAX - used : 0, "%s", file + same);
}

static void make_relative(json_t *part, const char *folder) {
  const char *file = json_string_value(json_object_get(part, "mesh"));
  char path[PATH_MAX];
  if (!file) return;
  relative_path(folder, file, path);
  json_object_set_new(part, "mesh", json_string(path));
}

static void make_all_relative(json_t *json, const char *folder) {
  size_t i, k;
  json_t *body, *part;
  json_array_foreach(json_object_get(json, "bodies"), i, body) {
    make_relative(body, folder);
    json_array_foreach(json_object_get(body, "parts"), k, part) make_relative(part, folder);
  }
}

char *scene_from_robot(const char *path, const char *folder, const SceneOptions *options,
                       void (*note)(const char *text, void *user), void *user, SceneError *error) {
  MeshStore store = {0};
  Loader loader = {.error = error,
                   .mesh_dir = options ? options->mesh_dir : NULL,
                   .options = options,
                   .folder = ".",
                   .store = &store};
  RobotOptions robot = robot_default_options();
  char real[PATH_MAX], *text = NULL;
  json_t *notes = json_array();
  json_t *json =
      use_options(&loader, &robot) ? robot_json(&loader, path, robot_format(path), &robot, true, notes) : NULL;
  store_free(&store);
  if (json && folder && realpath(folder, real)) make_all_relative(json, real);
  for (size_t i = 0; json && note && i < json_array_size(notes); i++)
    note(json_string_value(json_array_get(notes, i)), user);
  if (json && !(text = json_dumps(json, JSON_INDENT(2) | JSON_REAL_PRECISION(17))))
    scene_fail(error, "out of memory while writing the robot's scene");
  json_decref(json);
  json_decref(notes);
  return text;
}
