/* Writes the scene as self-contained text in abd's own format (scene.h). The run file stores this text, and resuming
 * builds the same world from it. Numbers have 17 digits and geometry is packed, so that no bit is lost. Tests:
 * tests/test_scene.c. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "scene/own.h"
#include "scene/packed.h"
#include "scene/scene_def.h"
#include "scene/setting.h"

/* jansson's setters accept NULL as object or value and return an error, so a failed allocation shows in their
 * result. */
static bool put(json_t *object, const char *key, json_t *value) { return json_object_set_new(object, key, value) == 0; }

/* A new empty value inside the object; NULL on failure. */
static json_t *put_new(json_t *object, const char *key, json_t *value) {
  return put(object, key, value) ? value : NULL;
}

static json_t *append_object(json_t *list) {
  json_t *object = json_object();
  return json_array_append_new(list, object) == 0 ? object : NULL;
}

/* A name that is not UTF-8 (from a file system) loses its foreign bytes. */
static json_t *text_value(const char *text) {
  json_t *value = json_string(text);
  char *plain = value ? NULL : strdup(text);
  for (char *c = plain; c && *c; c++) {
    if ((unsigned char)*c >= 128) *c = '_';
  }
  if (plain) value = json_string(plain);
  free(plain);
  return value;
}

static bool put_vector(json_t *object, const char *key, const double *value, size_t count) {
  json_t *list = json_array();
  for (size_t i = 0; i < count; i++) json_array_append_new(list, json_real(value[i]));
  return json_array_size(list) == count && put(object, key, list);
}

static bool put_vector_unless_zero(json_t *object, const char *key, const double value[3]) {
  static const double zero[3] = {0};
  return memcmp(value, zero, sizeof zero) == 0 || put_vector(object, key, value, 3);
}

static bool put_packed(json_t *object, const char *key, char *text) {
  bool ok = text && put(object, key, json_string_nocheck(text));
  free(text);
  return ok;
}

static bool put_settings(json_t *top, const Scene *scene) {
  return put(top, "version", json_integer(1)) && put(top, "name", text_value(scene_name(scene))) &&
         put(top, "steps", json_integer(scene_steps(scene))) && settings_write(top, ABD_DEF_WORLD, &scene->world);
}

static void mesh_label(char out[32], size_t number) { snprintf(out, 32, "mesh %zu", number); }

static bool put_mesh(json_t *meshes, const SceneMesh *mesh, size_t number) {
  char label[32];
  const MeshData *data = &mesh->data;
  mesh_label(label, number);
  json_t *entry = put_new(meshes, label, json_object()), *packed = put_new(entry, "packed", json_object());
  return put(packed, "name", text_value(mesh->name)) &&
         put_packed(packed, "vertices", packed_from_f64(data->vertex, 3 * data->vertex_count)) &&
         put_packed(packed, "triangles", packed_from_u32(data->triangle, 3 * data->triangle_count)) &&
         (!mesh->tet_count || put_packed(packed, "tets", packed_from_u32(mesh->tet, 4 * mesh->tet_count))) &&
         put_packed(packed, "edges", packed_from_u32(data->edge, 2 * data->edge_count)) &&
         (!mesh->half_space || put(packed, "half_space", json_true())) &&
         (mesh->thickness == 0 || put(entry, "thickness", json_real(mesh->thickness)));
}

/* Meshes are numbered in the order of their first bodies, as in a world, so that unused meshes do not change the
 * text. */
static bool put_meshes(json_t *top, const Scene *scene, size_t *number) {
  json_t *meshes = put_new(top, "meshes", json_object());
  size_t count = 0;
  bool ok = meshes != NULL;
  for (size_t i = 0; ok && i < scene->body_count; i++) {
    int mesh = scene->body[i].mesh;
    if (number[mesh]) continue;
    number[mesh] = ++count;
    ok = put_mesh(meshes, &scene->mesh[mesh], count);
  }
  return ok;
}

static bool put_inertia(json_t *object, const AbdBodyDef *def) {
  static const double zero[6] = {0};
  return memcmp(def->inertia, zero, sizeof zero) == 0 || put_vector(object, "inertia", def->inertia, 6);
}

static bool put_fixed(json_t *object, uint32_t fixed) {
  const char *const *names = abd_enum_names(ABD_ENUM_FIX);
  json_t *list = put_new(object, "fixed", json_array());
  bool ok = list != NULL;
  for (int k = 0; names[k]; k++) {
    if (fixed >> k & 1) ok = json_array_append_new(list, json_string(names[k])) == 0 && ok;
  }
  return ok;
}

static bool put_path(json_t *object, const char *place, const PathKey *path, size_t count) {
  json_t *list = put_new(object, "path", json_array());
  bool ok = list != NULL;
  for (size_t i = 0; ok && i < count; i++) {
    json_t *key = append_object(list);
    ok = put(key, "time", json_real(path[i].time)) && put_vector(key, place, path[i].position, 3) &&
         put_vector(key, "quaternion", path[i].rotation, 4);
  }
  return ok;
}

static bool put_forces(json_t *object, const ForceKey *forces, size_t count, bool torques) {
  json_t *list = put_new(object, "forces", json_array());
  bool ok = list != NULL;
  for (size_t i = 0; ok && i < count; i++) {
    json_t *key = append_object(list);
    ok = put(key, "time", json_real(forces[i].time)) && put_vector(key, "force", forces[i].force, 3) &&
         (!torques || put_vector(key, "torque", forces[i].torque, 3));
  }
  return ok;
}

/* A soft body has stiffness and elasticity in "soft", and its surface does not move against it. */
static bool put_material(json_t *object, const SceneBody *body) {
  static const char *const none[] = {
      "stiffness",    "elasticity",       "surface_velocity",   "surface_angular_velocity",
      "angular_drag", "rolling_friction", "torsional_friction", "sensor"};
  bool ok = settings_write(object, ABD_DEF_BODY, &body->def);
  for (size_t k = 0; body->soft && k < sizeof none / sizeof *none; k++) json_object_del(object, none[k]);
  return ok && (!body->color[0] || put(object, "color", json_string(body->color)));
}

/* Successive attachments to one body become one entry. */
static bool put_attachments(json_t *object, const SceneSoft *soft) {
  json_t *list = put_new(object, "attach", json_array()), *vertices = NULL;
  bool ok = list != NULL;
  for (size_t k = 0; ok && k < soft->attach_count; k++) {
    uint32_t to = soft->attach[k].body;
    if (!k || to != soft->attach[k - 1].body) {
      json_t *entry = append_object(list);
      ok = put(entry, "body", to == SCENE_WORLD ? json_null() : json_integer((json_int_t)to));
      vertices = put_new(entry, "vertices", json_array());
    }
    ok = ok && json_array_append_new(vertices, json_integer((json_int_t)soft->attach[k].vertex)) == 0;
  }
  return ok;
}

static bool put_vertices(json_t *object, const VertexList *list) {
  json_t *vertices = put_new(object, "vertices", json_array());
  bool ok = vertices != NULL;
  for (size_t i = 0; ok && i < list->count; i++)
    ok = json_array_append_new(vertices, json_integer((json_int_t)list->vertex[i])) == 0;
  return ok;
}

static bool put_script(json_t *entry, const SceneScript *s) {
  return put_vertices(entry, &s->list) && put_vector(entry, "center", s->center, 3) &&
         put_vector_unless_zero(entry, "velocity", s->velocity) &&
         put_vector_unless_zero(entry, "angular_velocity", s->angular_velocity) &&
         (!isfinite(s->motion_end) || put(entry, "motion_end", json_real(s->motion_end))) &&
         (!s->path_count || put_path(entry, "move", s->path, s->path_count));
}

static bool put_moved_vertices(json_t *object, const SceneSoft *soft) {
  json_t *scripts = soft->script_count ? put_new(object, "scripted", json_array()) : NULL;
  json_t *loads = soft->load_count ? put_new(object, "vertex_forces", json_array()) : NULL;
  bool ok = (scripts || !soft->script_count) && (loads || !soft->load_count);
  for (size_t i = 0; ok && i < soft->script_count; i++) ok = put_script(append_object(scripts), &soft->script[i]);
  for (size_t i = 0; ok && i < soft->load_count; i++) {
    const SceneLoad *load = &soft->load[i];
    json_t *entry = append_object(loads);
    ok = put_vertices(entry, &load->list) && put_vector_unless_zero(entry, "force", load->force) &&
         (!load->forces_count || put_forces(entry, load->forces, load->forces_count, false));
  }
  return ok;
}

/* Only shells and rods have a thickness and a resistance to bending. */
static bool put_soft(json_t *object, const Scene *scene, const SceneBody *body) {
  json_t *soft = put_new(object, "soft", json_object());
  bool ok = soft && settings_write(soft, ABD_DEF_SOFT, &body->soft->def);
  if (scene->mesh[body->mesh].tet_count) json_object_del(soft, "thickness"), json_object_del(soft, "bending");
  return ok && (!body->soft->attach_count || put_attachments(object, body->soft)) &&
         put_moved_vertices(object, body->soft);
}

static bool put_body(json_t *bodies, const Scene *scene, const SceneBody *body, size_t mesh_number) {
  const AbdBodyDef *def = &body->def;
  json_t *object = append_object(bodies);
  char label[32];
  mesh_label(label, mesh_number);
  return put(object, "name", text_value(body->name)) && put(object, "mesh", json_string(label)) &&
         (body->soft ? put_soft(object, scene, body)
                     : put(object, "motion", json_string(abd_motion_name(def->motion)))) &&
         put_material(object, body) && put_vector(object, "position", def->position, 3) &&
         put_vector(object, "quaternion", def->rotation, 4) &&
         put_vector_unless_zero(object, "velocity", def->velocity) &&
         put_vector_unless_zero(object, "angular_velocity", def->angular_velocity) &&
         put_vector_unless_zero(object, "force", def->force) && put_vector_unless_zero(object, "torque", def->torque) &&
         (!def->fixed || put_fixed(object, def->fixed)) &&
         (def->contact_thickness == 0 || put(object, "contact_thickness", json_real(def->contact_thickness))) &&
         (!def->has_center_of_mass || put_vector(object, "center_of_mass", def->center_of_mass, 3)) &&
         put_inertia(object, def) && (def->group < 0 || put(object, "group", json_integer(def->group))) &&
         (!def->no_contact || put(object, "collide", json_false())) &&
         (!isfinite(body->motion_end) || put(object, "motion_end", json_real(body->motion_end))) &&
         (body->from == 0 || put(object, "from", json_real(body->from))) &&
         (!isfinite(body->until) || put(object, "until", json_real(body->until))) &&
         (!body->path_count || put_path(object, "position", body->path, body->path_count)) &&
         (!body->forces_count || put_forces(object, body->forces, body->forces_count, !body->soft));
}

static json_t *pair_value(const ScenePair *pair) {
  json_t *list = json_array();
  json_array_append_new(list, json_integer((json_int_t)pair->a));
  json_array_append_new(list, json_integer((json_int_t)pair->b));
  return list;
}

static bool put_pairs(json_t *top, const Scene *scene) {
  json_t *exclude = put_new(top, "exclude", json_array()), *friction = put_new(top, "pair_friction", json_array());
  bool ok = exclude && friction;
  for (size_t i = 0; ok && i < scene->exclude_count; i++)
    ok = json_array_append_new(exclude, pair_value(&scene->exclude[i])) == 0;
  for (size_t i = 0; ok && i < scene->pair_friction_count; i++) {
    const ScenePair *pair = &scene->pair_friction[i];
    json_t *item = append_object(friction);
    ok = put(item, "bodies", pair_value(pair)) &&
         (pair->friction < 0 || put(item, "friction", json_real(pair->friction))) &&
         (pair->restitution < 0 || put(item, "restitution", json_real(pair->restitution)));
  }
  return ok;
}

static json_t *id_list(uint32_t a, uint32_t b) {
  json_t *list = json_array();
  json_array_append_new(list, json_integer((json_int_t)a - 1));
  if (b) json_array_append_new(list, json_integer((json_int_t)b - 1));
  return list;
}

static bool put_limits(json_t *object, const char *key, const double limit[2]) {
  if (!isfinite(limit[0]) && !isfinite(limit[1])) return true;
  json_t *list = put_new(object, key, json_array());
  bool ok = list != NULL;
  for (int i = 0; i < 2; i++)
    ok = json_array_append_new(list, isfinite(limit[i]) ? json_real(limit[i]) : json_null()) == 0 && ok;
  return ok;
}

static bool put_coordinate(json_t *object, const AbdJointDef *def) {
  return put_limits(object, "limits", def->limit) && put_limits(object, "angle_limits", def->angle_limit) &&
         put(object, "stiffness", json_real(def->stiffness)) && put(object, "rest", json_real(def->rest)) &&
         put(object, "damping", json_real(def->damping)) && put(object, "friction", json_real(def->friction));
}

static bool put_joint(json_t *joints, const SceneJoint *joint) {
  const AbdJointDef *def = &joint->def;
  uint32_t takes = abd_joint_kind_view(def->kind)->takes;
  json_t *object = append_object(joints);
  bool ok =
      put(object, "name", text_value(joint->name)) && put(object, "type", json_string(abd_joint_kind_name(def->kind)));
  if (takes & ABD_JOINT_TAKES_JOINTS)
    return ok && put(object, "joints", id_list(def->joint_a.id, def->joint_b.id)) &&
           put(object, "ratio", json_real(def->ratio)) && (!joint_moves(def) || put_coordinate(object, def));
  return ok && put(object, "bodies", id_list(def->body_a.id, def->body_b.id)) &&
         put_vector(object, "point", def->point, 3) &&
         (isnan(def->point_b[0]) || put_vector(object, "point_b", def->point_b, 3)) &&
         put_vector_unless_zero(object, "axis", def->axis) && put_vector_unless_zero(object, "axis_b", def->axis_b) &&
         (!(takes & ABD_JOINT_TAKES_PITCH) || put(object, "pitch", json_real(def->pitch))) &&
         (def->length < 0 || put(object, "length", json_real(def->length))) &&
         (!def->free || put(object, "free", json_true())) && (!def->collide || put(object, "collide", json_true())) &&
         (!isfinite(def->break_force) || put(object, "break_force", json_real(def->break_force))) &&
         (!isfinite(def->break_torque) || put(object, "break_torque", json_real(def->break_torque))) &&
         (!joint_moves(def) || put_coordinate(object, def));
}

static json_t *drive_value(const SceneJoint *joint) {
  if (!joint->drive_count) return json_real(joint->def.drive.target);
  json_t *keys = json_array();
  for (size_t i = 0; i < joint->drive_count; i++) {
    json_t *key = json_array();
    json_array_append_new(key, json_real(joint->drive[i].time));
    json_array_append_new(key, json_real(joint->drive[i].value));
    if (json_array_size(key) == 2) json_array_append_new(keys, key);
    else json_decref(key);
  }
  if (json_array_size(keys) == joint->drive_count) return keys;
  json_decref(keys);
  return NULL;
}

static bool put_drive(json_t *drives, const SceneJoint *joint, size_t index) {
  const AbdDrive *drive = &joint->def.drive;
  json_t *object = append_object(drives);
  return put(object, "joint", json_integer((json_int_t)index)) &&
         put(object, "type", json_string(own_drive_type(drive->kind))) && put(object, "value", drive_value(joint)) &&
         (!isfinite(drive->max_effort) || put(object, "max", json_real(drive->max_effort))) &&
         (drive->kind != ABD_DRIVE_POSITION ||
          (put(object, "stiffness", json_real(drive->stiffness)) && put(object, "damping", json_real(drive->damping))));
}

static bool put_joints(json_t *top, const Scene *scene) {
  if (!scene->joint_count) return true;
  json_t *joints = put_new(top, "joints", json_array()), *drives = put_new(top, "drives", json_array());
  bool ok = joints && drives;
  for (size_t i = 0; ok && i < scene->joint_count; i++)
    ok = put_joint(joints, &scene->joint[i]) &&
         (scene->joint[i].def.drive.kind == ABD_DRIVE_NONE || put_drive(drives, &scene->joint[i], i));
  return ok;
}

static char *write_text(const Scene *scene) {
  json_t *top = json_object();
  size_t *number = calloc(scene->mesh_count + 1, sizeof *number);
  bool ok = number && put_settings(top, scene) && put_meshes(top, scene, number);
  json_t *bodies = put_new(top, "bodies", json_array());
  for (size_t i = 0; ok && i < scene->body_count; i++)
    ok = put_body(bodies, scene, &scene->body[i], number[scene->body[i].mesh]);
  ok = ok && put_pairs(top, scene) && put_joints(top, scene);
  char *text = ok ? json_dumps(top, JSON_INDENT(1) | JSON_REAL_PRECISION(17)) : NULL;
  json_decref(top);
  free(number);
  return text;
}

const char *scene_text(Scene *scene, size_t *length) {
  if (!scene->text) {
    scene->text = write_text(scene);
    scene->text_length = scene->text ? strlen(scene->text) : 0;
  }
  if (length) *length = scene->text_length;
  return scene->text;
}
