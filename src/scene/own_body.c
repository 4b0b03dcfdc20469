/* Bodies and materials of abd's own format (own.h). Tests: tests/test_scene.c. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene/own.h"
#include "scene/rotation.h"
#include "scene/setting.h"

static const double radians_per_degree = 0.017453292519943295769;

static bool read_color(const Node *object, char color[8]) {
  const char *text = NULL;
  Node child;
  if (!read_string(object, "color", &text)) return false;
  if (!text) return true;
  if (text[0] != '#' || strlen(text) != 7 || strspn(text + 1, "0123456789abcdefABCDEF") != 6) {
    node_get(object, "color", &child);
    return node_expected(&child, "a colour \"#rrggbb\"");
  }
  memcpy(color, text, 8);
  return true;
}

bool own_read_material(const Node *object, AbdBodyDef *def, char color[8]) {
  return settings_read(object, ABD_DEF_BODY, def) && read_color(object, color);
}

void own_add_material_keys(KeyList *list) {
  settings_add_keys(list, ABD_DEF_BODY);
  keys_add(list, "color");
}

static bool use_material(OwnFile *file, const Node *body, AbdBodyDef *def, char color[8]) {
  const char *name = NULL;
  Node materials, material, use;
  if (!read_string(body, "material", &name)) return false;
  if (!name) return true;
  if (node_get(file->top, "materials", &materials) && node_get(&materials, name, &material)) {
    return own_read_material(&material, def, color);
  }
  node_get(body, "material", &use);
  return node_fail(&use, "no material \"%.100s\" in \"materials\"", name);
}

/* One of three forms: rotation {axis, degrees or radians}, euler_degrees [x, y, z], quaternion [w, x, y, z]. */
static bool read_axis_rotation(const Node *rotation, double q[4]) {
  static const char *const known[] = {"axis", "degrees", "radians", NULL};
  double axis[3] = {0}, degrees = 0, radians = 0;
  Node child;
  if (json_is_array(rotation->value)) {
    return node_fail(
        rotation,
        "expected {\"axis\": [x, y, z], \"degrees\": angle}; three angles are written \"euler_degrees\": [x, y, z]");
  }
  if (!node_check_keys(rotation, known) || !read_vector(rotation, "axis", axis, 3) ||
      !read_number(rotation, "degrees", NUMBER_ANY, &degrees) ||
      !read_number(rotation, "radians", NUMBER_ANY, &radians)) {
    return false;
  }
  if (json_object_get(rotation->value, "degrees") && json_object_get(rotation->value, "radians"))
    return node_fail(rotation, "\"degrees\" and \"radians\" exclude each other: give one");
  double length_sq = axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2];
  if (!(length_sq > 1e-200 && length_sq < 1e200)) {
    return node_fail(node_get(rotation, "axis", &child) ? &child : rotation, "expected an axis that is not 0");
  }
  quat_from_axis(axis, degrees * radians_per_degree + radians, q);
  return true;
}

bool own_read_rotation(const Node *object, double q[4]) {
  Node axis, euler, quaternion;
  bool has_axis = node_get(object, "rotation", &axis), has_euler = node_get(object, "euler_degrees", &euler);
  bool has_quaternion = node_get(object, "quaternion", &quaternion);
  double degrees[3], length_sq = 0;
  if (has_axis + has_euler + has_quaternion > 1) {
    return node_fail(object, "\"rotation\", \"euler_degrees\" and \"quaternion\" exclude each other: give one");
  }
  if (has_axis) return read_axis_rotation(&axis, q);
  if (has_euler) {
    if (!node_vector(&euler, degrees, 3)) return false;
    quat_from_euler_degrees(degrees, q);
  }
  if (!has_quaternion) return true;
  if (!node_vector(&quaternion, q, 4)) return false;
  for (int k = 0; k < 4; k++) length_sq += q[k] * q[k];
  if (!(length_sq > 1e-200 && length_sq < 1e200))
    return node_expected(&quaternion, "4 numbers w, x, y, z that are not all 0");
  quat_normalize(q);
  return true;
}

static bool read_fixed(const Node *object, uint32_t *fixed) {
  const char *const *names = abd_enum_names(ABD_ENUM_FIX);
  Node list;
  if (!node_get(object, "fixed", &list)) return true;
  if (!node_is_array(&list)) return false;
  for (size_t i = 0; i < node_size(&list); i++) {
    Node item = node_item(&list, i);
    const char *word = json_string_value(item.value);
    int k = 0;
    while (word && names[k] && strcmp(word, names[k]) != 0) k++;
    if (!word || !names[k])
      return node_expected(&item, "one of \"x\", \"y\", \"z\", \"rotation_x\", \"rotation_y\", \"rotation_z\"");
    *fixed |= 1u << k;
  }
  return true;
}

/* The time of key i: later than that of the key before. */
bool own_read_time(const Node *item, double previous, double *time) {
  Node child;
  if (!node_get(item, "time", &child)) return node_fail(item, "expected a key \"time\"");
  if (!node_number(&child, NUMBER_NOT_NEGATIVE, time)) return false;
  return *time > previous ||
         node_fail(&child, "expected a time later than the key before (%g s), got %g", previous, *time);
}

/* A value that a key omits is that of the key before; for the first key it is that of the body. */
static bool read_path(OwnFile *file, const Node *object, SceneBody *body) {
  static const char *const known[] = {"time", "position", "rotation", "euler_degrees", "quaternion", NULL};
  Node list;
  PathKey key = {.time = -1};
  GivenTurn before = {0};
  if (!node_get(object, "path", &list)) return true;
  if (!node_is_array(&list)) return false;
  if (body->def.motion != ABD_MOTION_KINEMATIC)
    return node_fail(&list, "only a body with \"motion\": \"kinematic\" has a path");
  memcpy(key.position, body->def.position, sizeof key.position);
  memcpy(key.rotation, body->def.rotation, sizeof key.rotation);
  own_read_turn(object, &before);
  for (size_t i = 0; i < node_size(&list); i++) {
    Node item = node_item(&list, i);
    if (!node_check_keys(&item, known) || !own_read_time(&item, key.time, &key.time) ||
        !read_vector(&item, "position", key.position, 3) || !own_read_rotation(&item, key.rotation)) {
      return false;
    }
    GivenTurn now = before;
    own_read_turn(&item, &now);
    if (i || key.time > body->from) own_note_long_turn(file->loader->scene, body->name, i, &before, &now);
    before = now;
    PathKey *slot = array_add(&body->path, &body->path_count, sizeof *slot);
    if (!slot) return loader_out_of_memory(file->loader);
    *slot = key;
  }
  return true;
}

bool own_read_forces(OwnFile *file, const Node *object, bool torques, ForceKey **forces, size_t *count) {
  static const char *const known[] = {"time", "force", "torque", NULL}, *const forces_alone[] = {"time", "force", NULL};
  Node list;
  double previous = -1;
  if (!node_get(object, "forces", &list)) return true;
  if (!node_is_array(&list)) return false;
  for (size_t i = 0; i < node_size(&list); i++) {
    Node item = node_item(&list, i);
    ForceKey key = {0};
    if (!node_check_keys(&item, torques ? known : forces_alone) || !own_read_time(&item, previous, &key.time) ||
        !read_vector(&item, "force", key.force, 3) || !read_vector(&item, "torque", key.torque, 3)) {
      return false;
    }
    ForceKey *slot = array_add(forces, count, sizeof *slot);
    if (!slot) return loader_out_of_memory(file->loader);
    *slot = key;
    previous = key.time;
  }
  return true;
}

/* "center_of_mass": [x, y, z]; "inertia": [xx, yy, zz] or [xx, yy, zz, xy, xz, yz]. */
static bool read_own_mass(const Node *node, AbdBodyDef *def) {
  Node inertia;
  Node center;
  def->has_center_of_mass = node_get(node, "center_of_mass", &center);
  if (!read_vector(node, "center_of_mass", def->center_of_mass, 3)) return false;
  if (!node_get(node, "inertia", &inertia)) return true;
  size_t count = json_is_array(inertia.value) ? node_size(&inertia) : 0;
  if (count != 3 && count != 6)
    return node_expected(&inertia, "a list of 3 numbers xx, yy, zz or 6 numbers xx, yy, zz, xy, xz, yz");
  if (!node_vector(&inertia, def->inertia, (int)count)) return false;
  double most = 0;
  for (int k = 0; k < 3; k++) most = fmax(most, def->inertia[k]);
  return most > 0 || node_expected(&inertia, "moments of inertia > 0");
}

static bool read_collide(const Node *node, SceneBody *body) {
  Node child;
  bool collide = true;
  if (body->soft && node_get(node, "collide", &child)) return node_fail(&child, "a soft body always collides");
  if (!read_bool(node, "collide", &collide)) return false;
  body->def.no_contact = !collide;
  return true;
}

static bool any_not_zero(const double x[3]) { return x[0] != 0 || x[1] != 0 || x[2] != 0; }

/* Keys that do nothing with this motion are no errors: a body is often made static for a trial. */
static void note_idle_keys(Scene *scene, const SceneBody *body) {
  const AbdBodyDef *d = &body->def;
  bool fixed = d->motion == ABD_MOTION_STATIC, dynamic = d->motion == ABD_MOTION_DYNAMIC;
  const struct {
    const char *key;
    bool idle;
  } row[] = {{"velocity", fixed && any_not_zero(d->velocity)},
             {"angular_velocity", fixed && any_not_zero(d->angular_velocity)},
             {"force", !dynamic && any_not_zero(d->force)},
             {"torque", !dynamic && any_not_zero(d->torque)},
             {"forces", !dynamic && body->forces_count},
             {"fixed", !dynamic && d->fixed},
             {"gravity_scale", !dynamic && d->gravity_scale != 1},
             {"drag", !dynamic && d->drag != 0},
             {"angular_drag", !dynamic && d->angular_drag != 0},
             {"motion_end", d->motion != ABD_MOTION_KINEMATIC && body->motion_end < INFINITY}};
  for (size_t k = 0; k < sizeof row / sizeof *row; k++)
    if (row[k].idle)
      scene_add_note(scene, "body \"%.200s\" is %s: its key \"%s\" has no effect", body->name,
                     abd_enum_names(ABD_ENUM_MOTION)[d->motion], row[k].key);
}

/* Run files may have them, so they are no errors either. */
static void note_idle_soft_keys(Scene *scene, const Node *node, const SceneBody *body) {
  static const char *const key[] = {"mass", "center_of_mass", "inertia", "restitution"};
  for (size_t k = 0; k < sizeof key / sizeof *key; k++)
    if (json_object_get(node->value, key[k]) && (k > 0 || body->def.mass > 0))
      scene_add_note(scene, "body \"%.200s\" is soft: its key \"%s\" has no effect%s", body->name, key[k],
                     k < 3 ? "; its mass is that of its density" : "");
}

static bool read_motion(OwnFile *file, const Node *node, const SceneMesh *mesh, SceneBody *body) {
  AbdBodyDef *def = &body->def;
  int motion = mesh->half_space ? ABD_MOTION_STATIC : ABD_MOTION_DYNAMIC;
  int64_t group = -1;
  Node child;
  if (!read_choice(node, "motion", abd_enum_names(ABD_ENUM_MOTION), &motion)) return false;
  if (mesh->half_space && motion != ABD_MOTION_STATIC) {
    node_get(node, "motion", &child);
    return node_fail(&child, "a half-space can only be static");
  }
  def->motion = (AbdMotion)motion;
  bool ok = read_vector(node, "position", def->position, 3) && own_read_rotation(node, def->rotation) &&
            read_vector(node, "velocity", def->velocity, 3) &&
            read_vector(node, "angular_velocity", def->angular_velocity, 3) &&
            read_vector(node, "force", def->force, 3) && read_vector(node, "torque", def->torque, 3) &&
            read_fixed(node, &def->fixed) && read_integer(node, "group", -1, 1000000000, &group) &&
            read_number(node, "contact_thickness", NUMBER_NOT_NEGATIVE, &def->contact_thickness) &&
            read_collide(node, body) && read_number(node, "motion_end", NUMBER_NOT_NEGATIVE, &body->motion_end) &&
            read_number(node, "from", NUMBER_NOT_NEGATIVE, &body->from) &&
            read_number(node, "until", NUMBER_NOT_NEGATIVE, &body->until) && read_path(file, node, body) &&
            own_read_forces(file, node, !body->soft, &body->forces, &body->forces_count) && read_own_mass(node, def) &&
            (body->soft || loader_check_density(node, def));
  def->group = (int32_t)group;
  if (ok && body->soft) note_idle_soft_keys(file->loader->scene, node, body);
  else if (ok) note_idle_keys(file->loader->scene, body);
  return ok;
}

static void *copy_keys(const void *keys, size_t count, size_t size, bool *ok) {
  if (!count) return NULL;
  size_t room = 1; /* array_add's powers of two */
  while (room < count) room *= 2;
  void *copy = malloc(room * size);
  if (!copy) *ok = false;
  return copy ? memcpy(copy, keys, count * size) : NULL;
}

/* All of its times. */
static void delay(SceneBody *body, double seconds) {
  body->from += seconds;
  body->until += seconds;
  body->motion_end += seconds;
  for (size_t k = 0; k < body->path_count; k++) body->path[k].time += seconds;
  for (size_t k = 0; k < body->forces_count; k++) body->forces[k].time += seconds;
}

/* Copy number i of the scene's body, moved by i offsets, its path too, and i times as much later. */
static bool add_copy(Scene *scene, size_t original, const char *name, int64_t i, const double offset[3], double every) {
  char numbered[400];
  bool ok = true;
  snprintf(numbered, sizeof numbered, "%.350s-%lld", name, (long long)i + 1);
  SceneBody *body = scene_add_body(scene, numbered, scene->body[original].mesh);
  if (!body) return false;
  char *own_name = body->name;
  const SceneBody *source = &scene->body[original];
  *body = *source;
  body->name = own_name;
  body->path = copy_keys(source->path, source->path_count, sizeof *body->path, &ok);
  body->soft = copy_keys(source->soft, source->soft ? 1 : 0, sizeof *body->soft, &ok); /* not attached yet */
  body->forces = copy_keys(source->forces, source->forces_count, sizeof *body->forces, &ok);
  if (!body->path) body->path_count = 0;
  if (!body->forces) body->forces_count = 0;
  for (int k = 0; k < 3; k++) {
    body->def.position[k] += (double)i * offset[k];
    for (size_t p = 0; p < body->path_count; p++) body->path[p].position[k] += (double)i * offset[k];
  }
  if (every > 0) delay(body, (double)i * every);
  return ok;
}

static bool read_copies(OwnFile *file, const Node *node, size_t original) {
  static const char *const known[] = {"count", "offset", "every", NULL};
  Scene *scene = file->loader->scene;
  int64_t count = 1;
  double offset[3] = {0}, every = 0;
  Node copies;
  if (!node_get(node, "copies", &copies)) return true;
  if (!node_check_keys(&copies, known) || !read_integer(&copies, "count", 1, 100000, &count) ||
      !read_vector(&copies, "offset", offset, 3) || !read_number(&copies, "every", NUMBER_NOT_NEGATIVE, &every)) {
    return false;
  }
  Node scripted;
  if (every > 0 && (node_get(node, "scripted", &scripted) || node_get(node, "vertex_forces", &scripted)))
    return node_fail(&copies, "copies that come one after the other have no \"scripted\" and no \"vertex_forces\"");
  if (scene->body_count + (size_t)count > SCENE_COPY_LIMIT)
    return node_fail(&copies, "more than %d bodies", SCENE_COPY_LIMIT);
  char name[400], *first_name;
  snprintf(name, sizeof name, "%.390s", scene->body[original].name);
  scene->body[original].copy = true;
  for (int64_t i = 1; i < count; i++) {
    if (!add_copy(scene, original, name, i, offset, every)) return loader_out_of_memory(file->loader);
  }
  first_name = malloc(strlen(name) + 3);
  if (!first_name) return loader_out_of_memory(file->loader);
  sprintf(first_name, "%s-1", name);
  free(scene->body[original].name);
  scene->body[original].name = first_name;
  return true;
}

static bool read_body(OwnFile *file, const Node *node) {
  static const char *const known[] = {"name",
                                      "comment",
                                      "motion",
                                      "material",
                                      "position",
                                      "rotation",
                                      "euler_degrees",
                                      "quaternion",
                                      "velocity",
                                      "angular_velocity",
                                      "force",
                                      "torque",
                                      "fixed",
                                      "group",
                                      "collide",
                                      "copies",
                                      "path",
                                      "forces",
                                      "motion_end",
                                      "from",
                                      "until",
                                      GEOMETRY_KEYS,
                                      "contact_thickness",
                                      "soft",
                                      "attach",
                                      "scripted",
                                      "vertex_forces",
                                      "center_of_mass",
                                      "inertia",
                                      NULL};
  Scene *scene = file->loader->scene;
  KeyList keys = {0};
  const char *name = NULL;
  char default_name[64];
  keys_add_all(&keys, known);
  own_add_material_keys(&keys);
  if (!node_check_keys(node, keys.name) || !read_string(node, "name", &name)) return false;
  Node soft;
  bool is_soft = node_get(node, "soft", &soft);
  int mesh = is_soft ? own_read_soft_geometry(file, node) : own_read_geometry(file, node, "mesh");
  if (mesh < 0) return false;
  if (!is_soft && scene->mesh[mesh].tet_count)
    return node_fail(node, "mesh \"%.100s\" has tets: only a body with \"soft\" can use it", scene->mesh[mesh].name);
  snprintf(default_name, sizeof default_name, "%.40s %zu", scene->mesh[mesh].name, scene->body_count + 1);
  if (scene->body_count >= SCENE_BODY_LIMIT) return node_fail(node, "more than %d bodies", SCENE_BODY_LIMIT);
  SceneBody *body = scene_add_body(scene, name ? name : default_name, mesh);
  if (!body) return loader_out_of_memory(file->loader);
  return use_material(file, node, &body->def, body->color) && own_read_material(node, &body->def, body->color) &&
         own_read_soft(file, node, body) && read_motion(file, node, &scene->mesh[mesh], body) &&
         read_copies(file, node, scene->body_count - 1);
}

bool own_read_bodies(OwnFile *file) {
  Node list;
  if (!node_get(file->top, "bodies", &list)) return true;
  if (!node_is_array(&list)) return false;
  for (size_t i = 0; i < node_size(&list); i++) {
    Node body = node_item(&list, i);
    if (!read_body(file, &body)) return false;
  }
  return true;
}
