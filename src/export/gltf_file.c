/* glTF 2.0 in one binary file: a JSON part with the structure and a binary part with the numbers. See series.h.
 *
 * In glTF +Y is up, so the top node turns the world. The geometry of a mesh is stored once; bodies of different
 * colour share it through glTF meshes that differ in material only. A body that never moves has no animation. */
#include "export/color.h"
#include "export/crease.h"
#include "export/out_file.h"
#include "export/pose.h"
#include "export/series.h"
#include "export/wire.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  TYPE_FLOAT = 5126,
  TYPE_UINT = 5125,
  TARGET_VERTEX = 34962,
  TARGET_INDEX = 34963,
  MODE_POINTS = 0,
  MODE_LINES = 1,
  MOST_SHAPES = 100 /* of a soft body: each is a morph target, and readers load all of them */
};

typedef struct Glb {
  const ExportSeries *series;
  json_t *views, *accessors, *meshes, *materials, *nodes, *samplers, *channels;
  unsigned char *bytes; /* the binary part */
  size_t size, capacity;
  float *motion; /* [body][frame][7] position, quaternion x y z w */
  float *time;
  double *shape; /* [shape_count][node_count] frames' nodes, for the shapes of soft bodies; NULL without any */
  size_t shape_count, shape_kept;
  bool failed; /* out of memory */
} Glb;

static void *glb_room(Glb *glb, size_t size) {
  size_t need = glb->size + (size + 3) / 4 * 4;
  if (need > glb->capacity) {
    size_t capacity = need + need / 2 + 1024;
    unsigned char *more = realloc(glb->bytes, capacity);
    if (!more) return glb->failed = true, NULL;
    glb->bytes = more, glb->capacity = capacity;
  }
  void *room = glb->bytes + glb->size;
  memset(glb->bytes + need - 4, 0, need > glb->size ? 4 : 0);
  glb->size = need;
  return room;
}

static void push(Glb *glb, json_t *array, json_t *item) {
  if (!item || json_array_append_new(array, item) != 0) glb->failed = true;
}

/* Stores count items of components numbers and describes them; returns the accessor. */
static json_int_t add_accessor(Glb *glb, const void *data, size_t count, int components, int type, int target,
                               bool bounds) {
  static const char *const kind[] = {"", "SCALAR", "VEC2", "VEC3", "VEC4"};
  size_t size = count * (size_t)components * 4, offset = glb->size;
  void *room = glb_room(glb, size);
  if (!room) return 0;
  memcpy(room, data, size);
  json_t *view =
      json_pack("{s:i, s:I, s:I}", "buffer", 0, "byteOffset", (json_int_t)offset, "byteLength", (json_int_t)size);
  if (view && target) json_object_set_new(view, "target", json_integer(target));
  push(glb, glb->views, view);
  json_t *accessor = json_pack("{s:I, s:i, s:I, s:s}", "bufferView", (json_int_t)json_array_size(glb->views) - 1,
                               "componentType", type, "count", (json_int_t)count, "type", kind[components]);
  const float *value = data;
  json_t *least = json_array(), *most = json_array();
  for (int c = 0; bounds && c < components; c++) {
    float lo = value[c], hi = value[c];
    for (size_t k = 1; k < count; k++)
      lo = fminf(lo, value[k * (size_t)components + (size_t)c]),
      hi = fmaxf(hi, value[k * (size_t)components + (size_t)c]);
    json_array_append_new(least, json_real(lo)), json_array_append_new(most, json_real(hi));
  }
  if (accessor && bounds) json_object_set(accessor, "min", least), json_object_set(accessor, "max", most);
  json_decref(least), json_decref(most);
  push(glb, glb->accessors, accessor);
  return (json_int_t)json_array_size(glb->accessors) - 1;
}

/* ---- Geometry ---- */

typedef struct Corner {
  uint32_t vertex;
  float normal[3];
  uint32_t at;
} Corner;

static int compare_corners(const void *a, const void *b) {
  const Corner *x = a, *y = b;
  if (x->vertex != y->vertex) return x->vertex < y->vertex ? -1 : 1;
  int order = memcmp(x->normal, y->normal, sizeof x->normal);
  return order ? order : (x->at > y->at) - (x->at < y->at);
}

/* A vertex on a crease becomes one for each of its normals. Writes [3] positions, normals and the triangles'
 * indices. */
static size_t split_vertices(const RunMesh *mesh, const float *normal, Corner *corner, float *position,
                             float *direction, uint32_t *index) {
  size_t corners = 3 * mesh->triangle_count, count = 0;
  for (size_t c = 0; c < corners; c++) {
    corner[c] = (Corner){.vertex = mesh->triangle[c], .at = (uint32_t)c};
    for (int i = 0; i < 3; i++) corner[c].normal[i] = normal[3 * c + (size_t)i] + 0.0f; /* -0 is 0 */
  }
  qsort(corner, corners, sizeof *corner, compare_corners);
  for (size_t c = 0; c < corners; c++) {
    bool same = c && corner[c].vertex == corner[c - 1].vertex && !memcmp(corner[c].normal, corner[c - 1].normal, 12);
    if (!same) {
      for (int i = 0; i < 3; i++)
        position[3 * count + (size_t)i] = (float)mesh->vertex[3 * corner[c].vertex + (size_t)i];
      memcpy(direction + 3 * count++, corner[c].normal, 12);
    }
    index[corner[c].at] = (uint32_t)count - 1;
  }
  return count;
}

static json_t *surface_primitive(Glb *glb, const RunMesh *mesh) {
  size_t corners = 3 * mesh->triangle_count;
  float *normal = crease_normals(mesh), *position = malloc(12 * corners), *direction = malloc(12 * corners);
  Corner *corner = malloc(corners * sizeof *corner);
  uint32_t *index = malloc(corners * sizeof *index);
  json_t *primitive = NULL;
  if (normal && position && direction && corner && index) {
    size_t count = split_vertices(mesh, normal, corner, position, direction, index);
    json_int_t at = add_accessor(glb, position, count, 3, TYPE_FLOAT, TARGET_VERTEX, true);
    json_int_t normals = add_accessor(glb, direction, count, 3, TYPE_FLOAT, TARGET_VERTEX, false);
    json_int_t indices = add_accessor(glb, index, corners, 1, TYPE_UINT, TARGET_INDEX, false);
    primitive = json_pack("{s:{s:I, s:I}, s:I}", "attributes", "POSITION", at, "NORMAL", normals, "indices", indices);
  }
  free(normal), free(position), free(direction), free(corner), free(index);
  return primitive;
}

/* Edges without triangles (mode lines) or single vertices (mode points). */
static json_t *wire_primitive(Glb *glb, const RunMesh *mesh, const WireList *wires, int mode) {
  float *position = malloc(24 * wires->count + 1);
  size_t count = 0;
  for (size_t k = 0; position && k < wires->count; k++) {
    const uint32_t *edge = wires->edge[k];
    if ((edge[0] == edge[1]) != (mode == MODE_POINTS)) continue;
    for (int end = 0; end < (mode == MODE_POINTS ? 1 : 2); end++, count++)
      for (int i = 0; i < 3; i++) position[3 * count + (size_t)i] = (float)mesh->vertex[3 * edge[end] + (size_t)i];
  }
  json_t *primitive = NULL;
  if (count)
    primitive = json_pack("{s:{s:I}, s:i}", "attributes", "POSITION",
                          add_accessor(glb, position, count, 3, TYPE_FLOAT, TARGET_VERTEX, true), "mode", mode);
  if (!position) glb->failed = true;
  free(position);
  return primitive;
}

/* The primitives of one mesh, without materials; NULL if there is nothing to draw. */
static json_t *mesh_primitives(Glb *glb, const RunMesh *mesh) {
  WireList wires;
  json_t *list = json_array();
  if (mesh->triangle_count) push(glb, list, surface_primitive(glb, mesh));
  if (!wires_find(mesh, &wires)) return glb->failed = true, list;
  for (int mode = MODE_POINTS; mode <= MODE_LINES; mode++) {
    json_t *primitive = wire_primitive(glb, mesh, &wires, mode);
    if (primitive) push(glb, list, primitive);
  }
  wires_free(&wires);
  return list;
}

/* Frames whose soft shapes are stored: at most MOST_SHAPES, evenly spaced, with the first and the last. */
static size_t shape_frame(const Glb *glb, size_t k) {
  return glb->shape_count > 1 ? k * (glb->series->step_count - 1) / (glb->shape_count - 1) : 0;
}

/* A soft body is its mesh in the first frame, with a morph target for every later shape: the displacement of each
 * vertex. Without normals readers shade it flat. */
static json_t *soft_primitives(Glb *glb, size_t b) {
  const RunScene *scene = glb->series->scene;
  const RunMesh *mesh = &scene->mesh[scene->body[b].mesh];
  float *position = malloc(12 * mesh->vertex_count + 1);
  json_t *targets = json_array(), *list = json_array();
  json_int_t at = 0, indices = 0;
  if (!position) glb->failed = true;
  for (size_t s = 0; position && s < glb->shape_count; s++) {
    const double *first = glb->shape + scene->body[b].node, *now = first + s * scene->node_count;
    for (size_t k = 0; k < 3 * mesh->vertex_count; k++) position[k] = (float)(s ? now[k] - first[k] : now[k]);
    json_int_t accessor = add_accessor(glb, position, mesh->vertex_count, 3, TYPE_FLOAT, TARGET_VERTEX, true);
    if (!s) at = accessor;
    else push(glb, targets, json_pack("{s:I}", "POSITION", accessor));
  }
  bool rod = !mesh->triangle_count;
  indices = rod ? add_accessor(glb, mesh->edge, 2 * mesh->edge_count, 1, TYPE_UINT, TARGET_INDEX, false)
                : add_accessor(glb, mesh->triangle, 3 * mesh->triangle_count, 1, TYPE_UINT, TARGET_INDEX, false);
  json_t *primitive = json_pack("{s:{s:I}, s:I}", "attributes", "POSITION", at, "indices", indices);
  if (primitive && rod) json_object_set_new(primitive, "mode", json_integer(MODE_LINES));
  if (primitive && json_array_size(targets)) json_object_set(primitive, "targets", targets);
  json_decref(targets);
  push(glb, list, primitive);
  free(position);
  return list;
}

/* One weight is 1 at each shape's time, the others 0: linear in between. */
static void add_shape_channel(Glb *glb, size_t node, json_int_t *time, json_int_t *weights) {
  size_t count = glb->shape_count;
  float *at = malloc(count * sizeof *at), *weight = calloc(count * (count - 1) + 1, sizeof *weight);
  if (!at || !weight) glb->failed = true;
  for (size_t s = 0; *time < 0 && !glb->failed && s < count; s++) {
    at[s] = glb->time[shape_frame(glb, s)];
    if (s) weight[s * (count - 1) + s - 1] = 1;
  }
  if (*time < 0 && !glb->failed) {
    *time = add_accessor(glb, at, count, 1, TYPE_FLOAT, 0, true);
    *weights = add_accessor(glb, weight, count * (count - 1), 1, TYPE_FLOAT, 0, false);
  }
  push(glb, glb->samplers, json_pack("{s:I, s:I, s:s}", "input", *time, "output", *weights, "interpolation", "LINEAR"));
  push(glb, glb->channels,
       json_pack("{s:I, s:{s:I, s:s}}", "sampler", (json_int_t)json_array_size(glb->samplers) - 1, "target", "node",
                 (json_int_t)node, "path", "weights"));
  free(at), free(weight);
}

/* ---- Bodies ---- */

static json_t *name_or(const char *name, const char *kind, size_t number) {
  json_t *text = json_string(name); /* NULL if it is not UTF-8 */
  return text ? text : json_sprintf("%s %zu", kind, number);
}

/* Index of the material of this colour; closed surfaces are not drawn from behind. */
static json_int_t find_material(Glb *glb, const unsigned char color[3], bool closed) {
  char name[32];
  snprintf(name, sizeof name, "#%02x%02x%02x%s", color[0], color[1], color[2], closed ? "" : " two-sided");
  size_t k;
  json_t *material;
  json_array_foreach(glb->materials, k, material) if (!strcmp(json_string_value(json_object_get(material, "name")),
                                                              name)) return (json_int_t)k;
  push(glb, glb->materials,
       json_pack("{s:s, s:b, s:{s:[f, f, f, f], s:f, s:f}}", "name", name, "doubleSided", !closed,
                 "pbrMetallicRoughness", "baseColorFactor", color_linear(color[0] / 255.0),
                 color_linear(color[1] / 255.0), color_linear(color[2] / 255.0), 1.0, "metallicFactor", 0.0,
                 "roughnessFactor", 0.6));
  return (json_int_t)json_array_size(glb->materials) - 1;
}

typedef struct Shown {
  size_t mesh;
  unsigned char color[3];
} Shown; /* of each glTF mesh */

static json_int_t find_mesh(Glb *glb, json_t *const *primitives, Shown *shown, const RunBody *body) {
  const RunMesh *mesh = &glb->series->scene->mesh[body->mesh];
  size_t count = json_array_size(glb->meshes), k;
  for (k = 0; k < count; k++)
    if (shown[k].mesh == body->mesh && !memcmp(shown[k].color, body->color, 3)) return (json_int_t)k;
  json_t *copy = json_deep_copy(primitives[body->mesh]), *primitive;
  json_int_t material = find_material(glb, body->color, mesh->closed);
  json_array_foreach(copy, k, primitive) json_object_set_new(primitive, "material", json_integer(material));
  push(glb, glb->meshes,
       json_pack("{s:o, s:o}", "name", name_or(mesh->name, "mesh", body->mesh + 1), "primitives", copy));
  shown[count].mesh = body->mesh;
  memcpy(shown[count].color, body->color, 3);
  return (json_int_t)count;
}

static bool moves(const Glb *glb, const float *motion, int from, int to) {
  for (size_t f = 1; f < glb->series->step_count; f++)
    if (memcmp(motion + 7 * f + from, motion + from, (size_t)(to - from) * 4)) return true;
  return false;
}

static void add_channel(Glb *glb, const float *motion, int from, int to, const char *path, size_t node,
                        json_int_t time) {
  size_t count = glb->series->step_count;
  if (!moves(glb, motion, from, to)) return;
  float *value = malloc(count * (size_t)(to - from) * sizeof *value);
  if (!value) {
    glb->failed = true;
    return;
  }
  for (size_t f = 0; f < count; f++)
    memcpy(value + f * (size_t)(to - from), motion + 7 * f + from, (size_t)(to - from) * 4);
  json_int_t output = add_accessor(glb, value, count, to - from, TYPE_FLOAT, 0, false);
  free(value);
  push(glb, glb->samplers, json_pack("{s:I, s:I, s:s}", "input", time, "output", output, "interpolation", "LINEAR"));
  push(glb, glb->channels,
       json_pack("{s:I, s:{s:I, s:s}}", "sampler", (json_int_t)json_array_size(glb->samplers) - 1, "target", "node",
                 (json_int_t)node, "path", path));
}

/* Node 0 turns up to +Y; bodies follow in order. */
static void add_nodes(Glb *glb, json_t *const *primitives, Shown *shown) {
  const RunScene *scene = glb->series->scene;
  double q[4];
  pose_turn(scene->up, (double[3]){0, 1, 0}, q);
  json_t *children = json_array();
  for (size_t b = 0; b < scene->body_count; b++) push(glb, children, json_integer((json_int_t)b + 1));
  push(
      glb, glb->nodes,
      json_pack("{s:s, s:[f, f, f, f], s:o}", "name", "abd", "rotation", q[1], q[2], q[3], q[0], "children", children));
  for (size_t b = 0; b < scene->body_count; b++) {
    const RunBody *body = &scene->body[b];
    const float *m = glb->motion + 7 * b * glb->series->step_count;
    json_t *node = json_pack("{s:o, s:[f, f, f], s:[f, f, f, f], s:{s:i, s:f, s:s}}", "name",
                             name_or(body->name, "body", b + 1), "translation", (double)m[0], (double)m[1],
                             (double)m[2], "rotation", (double)m[3], (double)m[4], (double)m[5], (double)m[6], "extras",
                             "body", (int)b + 1, "mass", body->mass, "motion", abd_motion_name(body->motion));
    if (node && json_array_size(primitives[body->mesh]))
      json_object_set_new(node, "mesh", json_integer(find_mesh(glb, primitives, shown, body)));
    if (node && !run_body_alive(body, glb->series->step[0]))
      json_object_set_new(node, "scale", json_pack("[f, f, f]", 0.0, 0.0, 0.0));
    push(glb, glb->nodes, node);
  }
}

/* A body that is not in a frame is scaled to nothing; keys are the frames in which that changes. */
static void add_presence(Glb *glb, size_t b) {
  const ExportSeries *series = glb->series;
  size_t count = 0;
  float *time = malloc((series->step_count + 1) * sizeof *time), *scale = malloc((series->step_count + 1) * 12);
  if (!time || !scale) glb->failed = true;
  for (size_t f = 0; !glb->failed && f < series->step_count; f++) {
    float size = run_body_alive(&series->scene->body[b], series->step[f]);
    if (count && scale[3 * count - 1] == size) continue;
    time[count] = glb->time[f];
    for (int i = 0; i < 3; i++) scale[3 * count + (size_t)i] = size;
    count++;
  }
  if (!glb->failed && (count > 1 || scale[0] == 0)) {
    json_int_t input = add_accessor(glb, time, count, 1, TYPE_FLOAT, 0, true);
    json_int_t output = add_accessor(glb, scale, count, 3, TYPE_FLOAT, 0, false);
    push(glb, glb->samplers, json_pack("{s:I, s:I, s:s}", "input", input, "output", output, "interpolation", "STEP"));
    push(glb, glb->channels,
         json_pack("{s:I, s:{s:I, s:s}}", "sampler", (json_int_t)json_array_size(glb->samplers) - 1, "target", "node",
                   (json_int_t)b + 1, "path", "scale"));
  }
  free(time), free(scale);
}

static void add_animation(Glb *glb) {
  size_t count = glb->series->step_count;
  if (count < 2) return;
  json_int_t time = -1, shape_time = -1, weights = -1;
  for (size_t b = 0; b < glb->series->scene->body_count; b++) {
    const float *m = glb->motion + 7 * b * count;
    if (glb->series->scene->body[b].soft) add_shape_channel(glb, b + 1, &shape_time, &weights);
    if (time < 0 && moves(glb, m, 0, 7)) time = add_accessor(glb, glb->time, count, 1, TYPE_FLOAT, 0, true);
    add_channel(glb, m, 0, 3, "translation", b + 1, time);
    add_channel(glb, m, 3, 7, "rotation", b + 1, time);
    add_presence(glb, b);
  }
}

/* ---- Frames ---- */

static void put_pose(const double nodes[12], const float *before, float out[7]) {
  double rotation[9], q[4], same = 0;
  memcpy(rotation, nodes + 3, sizeof rotation);
  pose_nearest_rotation(rotation);
  pose_quaternion(rotation, q);
  for (int k = 0; k < 3; k++) out[k] = (float)nodes[k];
  for (int k = 0; k < 4; k++) out[3 + k] = (float)q[(k + 1) % 4];
  for (int k = 3; before && k < 7; k++) same += (double)before[k] * out[k];
  for (int k = 3; same < 0 && k < 7; k++) out[k] = -out[k]; /* the shorter rotation between two frames */
}

/* Frames without a body get its pose of the last frame that has it, or of the first. */
static void hold_motion(float *motion, size_t count) {
  const float none[7] = {[6] = 1}, *last = none;
  for (size_t f = count; f-- > 0;)
    if (!isnan(motion[7 * f])) last = motion + 7 * f;
  for (size_t f = 0; f < count; f++) {
    if (isnan(motion[7 * f])) memcpy(motion + 7 * f, last, sizeof none);
    else last = motion + 7 * f;
  }
}

static void keep_shapes(Glb *glb, size_t f, const double *nodes) {
  size_t count = glb->series->scene->node_count;
  while (glb->shape && glb->shape_kept < glb->shape_count && shape_frame(glb, glb->shape_kept) == f)
    memcpy(glb->shape + count * glb->shape_kept++, nodes, count * sizeof *nodes);
}

static bool read_motion(Glb *glb, ExportError *error) {
  const ExportSeries *series = glb->series;
  size_t bodies = series->scene->body_count, count = series->step_count;
  double start = 0;
  glb->motion = malloc((7 * bodies * count + 1) * sizeof *glb->motion);
  glb->time = malloc(count * sizeof *glb->time);
  glb->shape_count = count < MOST_SHAPES ? count : MOST_SHAPES;
  bool soft = false;
  for (size_t b = 0; b < bodies; b++) soft |= series->scene->body[b].soft != NULL;
  if (soft) glb->shape = malloc((series->scene->node_count * glb->shape_count + 1) * sizeof *glb->shape);
  if (!glb->motion || !glb->time || (soft && !glb->shape)) return glb->failed = true, true;
  for (size_t f = 0; f < count; f++) {
    RunFrame frame;
    if (!series_read(series, f, &frame, error)) return false;
    if (f == 0) start = frame.time;
    glb->time[f] = (float)((frame.time - start) / series->speed);
    for (size_t b = 0; b < bodies; b++) {
      float *out = glb->motion + 7 * (b * count + f);
      if (series->scene->body[b].soft) memcpy(out, (float[7]){[6] = 1}, sizeof(float[7]));
      else put_pose(frame.nodes + series->scene->body[b].node, f ? out - 7 : NULL, out);
    }
    keep_shapes(glb, f, frame.nodes);
    run_frame_destroy(&frame);
    series_tell(series, f + 1);
  }
  for (size_t b = 0; b < bodies; b++) hold_motion(glb->motion + 7 * b * count, count);
  if (glb->shape) series_hold(series->scene, glb->shape, glb->shape_kept);
  return true;
}

/* ---- The file ---- */

static void set_part(json_t *top, const char *key, json_t *array) {
  if (json_array_size(array)) json_object_set(top, key, array);
}

static char *describe(Glb *glb) {
  json_t *top = json_pack("{s:{s:s, s:o}, s:i, s:[{s:s, s:[i]}]}", "asset", "version", "2.0", "generator",
                          json_sprintf("abd %s", abd_version()), "scene", 0, "scenes", "name", "abd", "nodes", 0);
  if (!top) return NULL;
  set_part(top, "nodes", glb->nodes), set_part(top, "meshes", glb->meshes), set_part(top, "materials", glb->materials);
  set_part(top, "accessors", glb->accessors), set_part(top, "bufferViews", glb->views);
  if (glb->size) json_object_set_new(top, "buffers", json_pack("[{s:I}]", "byteLength", (json_int_t)glb->size));
  if (json_array_size(glb->channels))
    json_object_set_new(
        top, "animations",
        json_pack("[{s:s, s:O, s:O}]", "name", "run", "samplers", glb->samplers, "channels", glb->channels));
  char *text = json_dumps(top, JSON_COMPACT | JSON_REAL_PRECISION(9));
  json_decref(top);
  return text;
}

static void put_u32(FILE *file, size_t value) {
  unsigned char byte[4] = {value & 255, value >> 8 & 255, value >> 16 & 255, value >> 24 & 255};
  fwrite(byte, 1, 4, file);
}

static bool write_glb(const Glb *glb, const char *text, const char *path, ExportError *error) {
  OutFile out;
  size_t length = strlen(text), padded = (length + 3) / 4 * 4;
  size_t binary = glb->size ? 8 + glb->size : 0, total = 12 + 8 + padded + binary;
  if (total > UINT32_MAX) {
    snprintf(error->text, sizeof error->text,
             "%s: %zu bytes, a .glb holds at most 4 GB; take fewer frames with --every", path, total);
    return false;
  }
  if (!out_open(&out, path, error)) return false;
  put_u32(out.file, 0x46546c67), put_u32(out.file, 2), put_u32(out.file, total);
  put_u32(out.file, padded), put_u32(out.file, 0x4e4f534a);
  fprintf(out.file, "%s%*s", text, (int)(padded - length), "");
  if (glb->size) {
    put_u32(out.file, glb->size), put_u32(out.file, 0x004e4942);
    fwrite(glb->bytes, 1, glb->size, out.file);
  }
  return out_close(&out, true, error);
}

static void build(Glb *glb) {
  const RunScene *scene = glb->series->scene;
  json_t **primitives = calloc(scene->mesh_count + 1, sizeof *primitives);
  Shown *shown = calloc(scene->body_count + 1, sizeof *shown);
  if (!primitives || !shown) glb->failed = true;
  for (size_t m = 0; !glb->failed && m < scene->mesh_count; m++)
    if (!scene->mesh[m].soft) primitives[m] = mesh_primitives(glb, &scene->mesh[m]);
  for (size_t b = 0; !glb->failed && b < scene->body_count; b++)
    if (scene->body[b].soft) primitives[scene->body[b].mesh] = soft_primitives(glb, b);
  if (!glb->failed) add_nodes(glb, primitives, shown);
  if (!glb->failed) add_animation(glb);
  for (size_t m = 0; primitives && m < scene->mesh_count; m++) json_decref(primitives[m]);
  free(primitives), free(shown);
}

bool export_glb(const ExportSeries *series, const char *path, ExportError *error) {
  Glb glb = {.series = series,
             .views = json_array(),
             .accessors = json_array(),
             .meshes = json_array(),
             .nodes = json_array(),
             .materials = json_array(),
             .samplers = json_array(),
             .channels = json_array()};
  bool good = read_motion(&glb, error);
  if (good && !glb.failed) build(&glb);
  char *text = good && !glb.failed ? describe(&glb) : NULL;
  if (good && !text) {
    snprintf(error->text, sizeof error->text, "%s: out of memory", path);
    good = false;
  }
  good = good && write_glb(&glb, text, path, error);
  json_t *part[] = {glb.views, glb.accessors, glb.meshes, glb.nodes, glb.materials, glb.samplers, glb.channels};
  for (size_t k = 0; k < sizeof part / sizeof part[0]; k++) json_decref(part[k]);
  free(text), free(glb.bytes), free(glb.motion), free(glb.time), free(glb.shape);
  return good;
}
