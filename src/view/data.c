/* See data.h. */
#define _GNU_SOURCE
#include "view/data.h"

#include "export/body_point.h"
#include "export/strain.h"
#include "export/wire.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool out_of_memory(ViewData *data) {
  data->error.kind = RUN_DISK;
  snprintf(data->error.text, sizeof data->error.text, "%s: out of memory", data->path ? data->path : "view");
  return false;
}

/* Copies the run's error before the run is closed. */
static bool close_run(ViewData *data, Run *run, bool good) {
  if (!good && run_error_kind(run) != RUN_OK) {
    data->error.kind = run_error_kind(run);
    snprintf(data->error.text, sizeof data->error.text, "%s", run_error(run));
  }
  run_close(run);
  return good;
}

/* ---- Life ---- */

typedef struct FileId {
  dev_t device;
  ino_t inode;
} FileId;

static FileId file_id(const char *path) {
  struct stat file;
  return stat(path, &file) == 0 ? (FileId){file.st_dev, file.st_ino} : (FileId){0};
}

static bool same_file(FileId a, FileId b) { return a.device == b.device && a.inode == b.inode; }

/* Opens the run and finds which file it is: another one may get its name at any time. */
static Run *open_run(ViewData *data, FileId *id) {
  enum { MOST_TRIES = 100 };
  Run *run = NULL;
  bool same = false;
  for (int k = 0; k < MOST_TRIES && !same; k++) {
    run_close(run);
    *id = file_id(data->path);
    if (!(run = run_open(data->path, RUN_READ, &data->error))) return NULL;
    same = same_file(*id, file_id(data->path));
  }
  return run;
}

bool view_data_refresh(ViewData *data) {
  FileId id;
  Run *run = open_run(data, &id);
  if (!run) return false;
  if (same_file(id, (FileId){data->device, data->inode})) return close_run(data, run, run_list(run, &data->run));
  RunListing other = {.changes = -1};
  bool good = run_list(run, &other);
  if (good) {
    run_listing_destroy(&data->run);
    data->run = other, data->device = id.device, data->inode = id.inode;
    data->generation++;
  }
  return close_run(data, run, good);
}

bool view_data_open(ViewData *data, const char *path) {
  *data = (ViewData){.path = strdup(path), .run.changes = -1, .generation = -1};
  return data->path ? view_data_refresh(data) : out_of_memory(data);
}

void view_data_destroy(ViewData *data) {
  run_listing_destroy(&data->run);
  free(data->path);
  *data = (ViewData){0};
}

/* ---- Meta ---- */

static size_t wire_count(const RunMesh *mesh) {
  WireList wires;
  size_t count = wires_find(mesh, &wires) ? wires.count : 0;
  wires_free(&wires);
  return count;
}

static json_t *text_json(const char *text) {
  json_t *string = json_string(text);
  return string ? string : json_string("(name that is not UTF-8)");
}

static json_t *meshes_json(const RunScene *scene) {
  json_t *list = json_array();
  for (size_t k = 0; k < scene->mesh_count; k++) {
    const RunMesh *mesh = &scene->mesh[k];
    json_t *o = json_pack("{s:I, s:I, s:I, s:b, s:b}", "vertices", (json_int_t)mesh->vertex_count, "triangles",
                          (json_int_t)mesh->triangle_count, "wires", (json_int_t)wire_count(mesh), "closed",
                          mesh->closed, "half_space", mesh->half_space);
    if (mesh->soft) json_object_set_new(o, "soft", json_true());
    json_object_set_new(o, "name", text_json(mesh->name));
    json_array_append_new(list, o);
  }
  return list;
}

/* One list for each property, which is shorter than a list of objects. */
static json_t *bodies_json(const RunScene *scene) {
  json_t *name = json_array(), *mesh = json_array(), *motion = json_array(), *mass = json_array(),
         *color = json_array(), *born = json_array(), *died = json_array();
  bool changes = false;
  for (size_t k = 0; k < scene->body_count; k++) {
    const RunBody *body = &scene->body[k];
    char text[8];
    snprintf(text, sizeof text, "#%02x%02x%02x", body->color[0], body->color[1], body->color[2]);
    json_array_append_new(name, text_json(body->name));
    json_array_append_new(mesh, json_integer((json_int_t)body->mesh));
    json_array_append_new(motion, json_integer(body->motion));
    json_array_append_new(mass, isfinite(body->mass) ? json_real(body->mass) : json_null());
    json_array_append_new(color, json_string(text));
    json_array_append_new(born, json_integer(body->born));
    json_array_append_new(died, body->died < INT64_MAX ? json_integer(body->died) : json_null());
    changes |= body->born > 0 || body->died < INT64_MAX;
  }
  json_t *o = json_pack("{s:o, s:o, s:o, s:o, s:o}", "name", name, "mesh", mesh, "motion", motion, "mass", mass,
                        "color", color);
  if (changes) json_object_set(o, "born", born), json_object_set(o, "died", died);
  json_decref(born), json_decref(died);
  return o;
}

/* 0-based indices of one or two bodies; of a gear those of the joints it couples. */
static json_t *joint_bodies(const RunJoints *joints, const RunJoint *joint) {
  json_t *list = json_array();
  const uint32_t coupled[2] = {joint->joint_a, joint->joint_b}, body[2] = {joint->body_a, joint->body_b};
  for (int k = 0; k < 2; k++) {
    if (body[k]) json_array_append_new(list, json_integer(body[k] - 1));
    if (coupled[k] < 1 || coupled[k] > joints->count) continue;
    const RunJoint *other = &joints->joint[coupled[k] - 1];
    if (other->body_a) json_array_append_new(list, json_integer(other->body_a - 1));
  }
  return list;
}

static json_t *joints_json(const RunJoints *joints) {
  json_t *list = json_array();
  for (size_t k = 0; k < joints->count; k++) {
    const RunJoint *joint = &joints->joint[k];
    AbdCoordinate coordinate = abd_joint_kind_view(joint->kind)->coordinate;
    json_t *o =
        json_pack("{s:s, s:o, s:s?}", "type", abd_joint_kind_name(joint->kind), "bodies", joint_bodies(joints, joint),
                  "coordinate", coordinate ? abd_coordinate_name(coordinate) : NULL);
    json_object_set_new(o, "name", text_json(joint->name));
    if (joint->died < INT64_MAX) json_object_set_new(o, "died", json_integer(joint->died));
    json_array_append_new(list, o);
  }
  return list;
}

static void add_text(Run *run, json_t *object, const char *key) {
  char *text = run_read_meta(run, key);
  if (text) json_object_set_new(object, key, text_json(text));
  free(text);
}

static bool write_meta(ViewData *data, Run *run, bool live, Bytes *out) {
  static const char *const key[] = {"scene_name",      "steps",   "every",    "contacts",        "gravity",
                                    "program_version", "created", "settings", "verified_frames", "verified_crossings"};
  const RunScene *scene = &data->run.scene;
  json_t *o =
      json_pack("{s:i, s:b, s:I, s:f, s:[f, f, f], s:o, s:o, s:o}", "format", 1, "live", live, "changes",
                (json_int_t)data->run.changes, "dt", scene->dt, "up", scene->up[0], scene->up[1], scene->up[2],
                "meshes", meshes_json(scene), "bodies", bodies_json(scene), "joints", joints_json(&data->run.joints));
  for (size_t k = 0; o && k < sizeof key / sizeof key[0]; k++) add_text(run, o, key[k]);
  char *text = o ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(9)) : NULL;
  bool good = text && bytes_add_text(out, text);
  free(text);
  json_decref(o);
  return good ? true : out_of_memory(data);
}

bool view_data_meta(ViewData *data, bool live, Bytes *out) {
  Run *run = run_open(data->path, RUN_READ, &data->error);
  return run && close_run(data, run, write_meta(data, run, live, out));
}

/* ---- Meshes ---- */

static bool add_floats(Bytes *out, const double *value, size_t count) {
  float *at = bytes_extend(out, count * sizeof *at);
  for (size_t k = 0; at && k < count; k++) at[k] = (float)value[k];
  return at != NULL;
}

/* Vertices of a soft mesh are relative to their mean, as in frames. */
static bool add_vertices(const RunMesh *mesh, Bytes *out) {
  double center[3];
  if (!mesh->soft) return add_floats(out, mesh->vertex, 3 * mesh->vertex_count);
  float *at = bytes_extend(out, 3 * mesh->vertex_count * sizeof *at);
  mean_point(mesh->vertex, mesh->vertex_count, center);
  for (size_t k = 0; at && k < 3 * mesh->vertex_count; k++) at[k] = (float)(mesh->vertex[k] - center[k % 3]);
  return at != NULL;
}

static bool add_mesh(const RunMesh *mesh, Bytes *out) {
  WireList wires;
  bool good = wires_find(mesh, &wires) && add_vertices(mesh, out) &&
              bytes_add(out, mesh->triangle, 3 * mesh->triangle_count * sizeof *mesh->triangle) &&
              bytes_add(out, wires.edge, wires.count * sizeof *wires.edge);
  wires_free(&wires);
  return good;
}

bool view_data_meshes(ViewData *data, size_t first, size_t count, Bytes *out) {
  const RunScene *scene = &data->run.scene;
  for (size_t k = first; k < scene->mesh_count && k - first < count; k++)
    if (!add_mesh(&scene->mesh[k], out)) return out_of_memory(data);
  return true;
}

/* ---- Items: what the run has of each step ---- */

typedef bool AddItem(ViewData *data, Run *run, int64_t step, Bytes *out);

/* A run that was taken back to its start after its steps were listed may no longer have an item, or other bodies in it.
 * The next refresh lists what is there. */
static bool is_gone(ViewData *data, Run *run, size_t k) {
  RunListing now = {.changes = -1};
  bool listed = run_list(run, &now), found = false;
  for (size_t j = 0; j < now.step_count && !found; j++) found = now.step[j] == data->run.step[k];
  bool gone = listed && (!found || now.changes != data->run.changes);
  run_listing_destroy(&now);
  return gone;
}

static bool add_items(ViewData *data, Run *run, size_t first, size_t count, AddItem *add, Bytes *out) {
  for (size_t k = first; k < data->run.step_count && k - first < count && out->size < VIEW_MOST_BYTES; k++) {
    size_t size = out->size;
    if (add(data, run, data->run.step[k], out)) continue;
    out->size = size;
    return is_gone(data, run, k);
  }
  return true;
}

static bool add_items_at_once(ViewData *data, Run *run, size_t first, size_t count, AddItem *add, Bytes *out) {
  if (!run_begin_read(run)) return false;
  bool good = add_items(data, run, first, count, add, out);
  run_end_read(run);
  return good;
}

/* Fewer items than requested if the run has no more, or if they would be too many bytes. */
static bool write_items(ViewData *data, size_t first, size_t count, AddItem *add, Bytes *out) {
  FileId id;
  Run *run = open_run(data, &id);
  if (!run) return false;
  bool replaced = !same_file(id, (FileId){data->device, data->inode});
  return close_run(data, run, replaced || add_items_at_once(data, run, first, count, add, out));
}

/* ---- Frames ---- */

bool view_data_steps(ViewData *data, size_t first, Bytes *out) {
  size_t count = first < data->run.step_count ? data->run.step_count - first : 0;
  double *at = bytes_extend(out, count * sizeof *at);
  if (!at) return out_of_memory(data);
  for (size_t k = 0; k < count; k++) at[k] = (double)data->run.step[first + k];
  return true;
}

static size_t soft_vertices(const RunScene *scene) {
  size_t count = 0;
  for (size_t b = 0; b < scene->body_count; b++)
    if (scene->body[b].soft) count += body_mesh(scene, b)->vertex_count;
  return count;
}

size_t view_frame_size(const RunScene *scene) {
  return 16 + ((scene->body_count * 19 + 4 * soft_vertices(scene)) * sizeof(float) + 7) / 8 * 8;
}

/* The pose of a soft body is the mean of its vertices without rotation; its vertices are relative to it. Returns the
 * end of the data written. */
static float *add_soft(const RunScene *scene, const RunFrame *frame, size_t b, float *pose, float *velocity,
                       float *vertex) {
  const double *x = frame->nodes + scene->body[b].node;
  size_t count = body_mesh(scene, b)->vertex_count;
  double center[3], speed[3] = {0};
  mean_point(x, count, center);
  if (frame->velocity) mean_point(frame->velocity + scene->body[b].rate, count, speed);
  for (int k = 0; k < 3; k++) pose[k] = (float)center[k], pose[3 + 4 * k] = 1, velocity[k] = (float)speed[k];
  for (size_t k = 0; k < 3 * count; k++) *vertex++ = (float)(x[k] - center[k % 3]);
  return vertex;
}

/* Von Mises' stress at every vertex of the soft bodies. */
static bool add_stress(const RunScene *scene, const RunFrame *frame, float *at) {
  double *stress = malloc((soft_vertices(scene) + 1) * sizeof *stress);
  bool good = stress != NULL;
  for (size_t b = 0; good && b < scene->body_count; b++) {
    size_t count = body_mesh(scene, b)->vertex_count;
    if (!scene->body[b].soft) continue;
    if (!run_body_alive(&scene->body[b], frame->step)) {
      at += count;
      continue;
    }
    good = soft_stress(body_mesh(scene, b), scene->body[b].soft, frame->nodes + scene->body[b].node, stress);
    for (size_t k = 0; k < count; k++) *at++ = (float)stress[k];
  }
  free(stress);
  return good;
}

static bool add_frame(const RunScene *scene, const RunFrame *frame, Bytes *out) {
  size_t n = scene->body_count;
  unsigned char *at = bytes_extend(out, view_frame_size(scene));
  if (!at) return false;
  memset(at, 0, view_frame_size(scene));
  memcpy(at, &(double[2]){(double)frame->step, frame->time}, 16);
  float *pose = (float *)(void *)(at + 16), *velocity = pose + 12 * n, *strain = velocity + 6 * n, *soft = strain + n;
  for (size_t b = 0; b < n; b++, pose += 12, velocity += 6) {
    const double *nodes = frame->nodes + scene->body[b].node;
    if (!run_body_alive(&scene->body[b], frame->step)) { /* all numbers stay 0 */
      if (scene->body[b].soft) soft += 3 * body_mesh(scene, b)->vertex_count;
      continue;
    }
    /* in double, because it is far below float's rounding */
    strain[b] = (float)(scene->body[b].soft ? soft_strain(body_mesh(scene, b), nodes, NULL, NULL) : pose_strain(nodes));
    if (scene->body[b].soft) {
      soft = add_soft(scene, frame, b, pose, velocity, soft);
      continue;
    }
    for (size_t k = 0; k < 12; k++) pose[k] = (float)nodes[k];
    for (size_t k = 0; frame->velocity && k < 6; k++) velocity[k] = (float)frame->velocity[scene->body[b].rate + k];
  }
  return soft_vertices(scene) == 0 || add_stress(scene, frame, soft);
}

static bool add_frame_of(ViewData *data, Run *run, int64_t step, Bytes *out) {
  RunFrame frame;
  if (!run_read_frame(run, &data->run.scene, step, &frame)) return false;
  bool good = add_frame(&data->run.scene, &frame, out);
  run_frame_destroy(&frame);
  return good || out_of_memory(data);
}

bool view_data_frames(ViewData *data, size_t first, size_t count, Bytes *out) {
  return write_items(data, first, count, add_frame_of, out);
}

/* ---- Contacts ---- */

static bool add_contacts(const AbdContact *contact, size_t count, Bytes *out) {
  uint32_t *at = bytes_extend(out, (1 + 14 * count) * sizeof *at);
  if (!at) return false;
  *at++ = (uint32_t)count;
  for (size_t k = 0; k < count; k++, at += 14) {
    const AbdContact *c = &contact[k];
    float number[11] = {(float)c->point[0],          (float)c->point[1],         (float)c->point[2],
                        (float)c->normal[0],         (float)c->normal[1],        (float)c->normal[2],
                        (float)c->distance,          (float)c->normal_force,     (float)c->friction_force[0],
                        (float)c->friction_force[1], (float)c->friction_force[2]};
    at[0] = c->body_a.id, at[1] = c->body_b.id, at[2] = (uint32_t)c->kind;
    memcpy(at + 3, number, sizeof number);
  }
  return true;
}

static bool add_contacts_of(ViewData *data, Run *run, int64_t step, Bytes *out) {
  AbdContact *contact;
  size_t found;
  if (!run_read_contacts(run, step, &contact, &found)) return false;
  bool good = add_contacts(contact, found, out);
  free(contact);
  return good || out_of_memory(data);
}

bool view_data_contacts(ViewData *data, size_t first, size_t count, Bytes *out) {
  return write_items(data, first, count, add_contacts_of, out);
}

/* ---- Joints ---- */

static bool add_readings(const AbdJointReading *reading, size_t count, Bytes *out) {
  uint32_t *at = bytes_extend(out, (1 + 17 * count) * sizeof *at);
  if (!at) return false;
  *at++ = (uint32_t)count;
  for (size_t k = 0; k < count; k++, at += 17) {
    const AbdJointReading *r = &reading[k];
    const double number[16] = {r->position,  r->rate,      r->force[0], r->force[1], r->force[2], r->torque[0],
                               r->torque[1], r->torque[2], r->effort,   r->residual, r->point[0], r->point[1],
                               r->point[2],  r->axis[0],   r->axis[1],  r->axis[2]};
    at[0] = (uint32_t)k + 1;
    for (int i = 0; i < 16; i++) memcpy(at + 1 + i, &(float){(float)number[i]}, sizeof(float));
  }
  return true;
}

static bool add_readings_of(ViewData *data, Run *run, int64_t step, Bytes *out) {
  AbdJointReading *reading = malloc(data->run.joints.count * sizeof *reading);
  if (!reading) return out_of_memory(data);
  bool read = run_read_joint_readings(run, &data->run.joints, step, reading);
  bool good = read && (add_readings(reading, data->run.joints.count, out) || out_of_memory(data));
  free(reading);
  return good;
}

bool view_data_joints(ViewData *data, size_t first, size_t count, Bytes *out) {
  return !data->run.joints.count || write_items(data, first, count, add_readings_of, out);
}

/* ---- Reports ---- */

static bool add_numbers(const RunNumbers *numbers, Bytes *out) {
  json_t *name = json_array();
  for (size_t k = 0; k < numbers->column_count; k++) json_array_append_new(name, text_json(numbers->name[k]));
  json_t *o = json_pack("{s:o}", "columns", name);
  char *text = o ? json_dumps(o, JSON_COMPACT) : NULL;
  json_decref(o);
  if (!text) return false;
  uint32_t length = (uint32_t)((strlen(text) + 4 + 7) / 8 * 8 - 4);
  char *at = bytes_extend(out, length + 4);
  if (at) {
    memcpy(at, &length, 4);
    memset(at + 4, ' ', length);
    memcpy(at + 4, text, strlen(text));
  }
  free(text);
  return at && bytes_add(out, numbers->value, numbers->row_count * numbers->column_count * sizeof *numbers->value);
}

bool view_data_reports(ViewData *data, int64_t after_step, size_t limit, Bytes *out) {
  RunNumbers numbers;
  Run *run = run_open(data->path, RUN_READ, &data->error);
  if (!run) return false;
  bool read = run_read_reports(run, after_step, limit, &numbers);
  if (!close_run(data, run, read)) return false;
  bool good = add_numbers(&numbers, out);
  run_numbers_destroy(&numbers);
  return good ? true : out_of_memory(data);
}
