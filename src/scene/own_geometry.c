/* Geometry in abd's own format: built-in shapes, mesh files, inline lists and packed numbers. Equal descriptions share
 * one mesh. Tests: tests/test_scene.c. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene/inline_mesh.h"
#include "scene/own.h"
#include "scene/packed.h"
#include "scene/rotation.h"
#include "scene/shape.h"
#include "scene/tet_mesh.h"

/* Every parameter a shape can have, with its default. */
typedef struct ShapeDef {
  double size[3], sheet[2], radius, height, tube, stretch, normal[3], ground;
  int segments, sides, subdivisions, cells[2];
} ShapeDef;

typedef struct ShapeKind {
  const char *name;
  const char *key[6]; /* its parameters, NULL at the end */
  bool half_space;
  bool (*make)(const ShapeDef *def, MeshData *out);
} ShapeKind;

static bool make_box(const ShapeDef *d, MeshData *out) { return shape_box(d->size, out); }
static bool make_sphere(const ShapeDef *d, MeshData *out) { return shape_sphere(d->radius, d->subdivisions, out); }
/* The unit sphere, stretched. */
static bool make_ellipsoid(const ShapeDef *d, MeshData *out) {
  if (!shape_sphere(0.5, d->subdivisions, out)) return false;
  for (size_t i = 0; i < 3 * out->vertex_count; i++) out->vertex[i] *= d->size[i % 3];
  return true;
}
static bool make_cylinder(const ShapeDef *d, MeshData *out) {
  return shape_cylinder(d->radius, d->height, d->segments, out);
}
static bool make_cone(const ShapeDef *d, MeshData *out) { return shape_cone(d->radius, d->height, d->segments, out); }
static bool make_capsule(const ShapeDef *d, MeshData *out) {
  return shape_capsule(d->radius, d->height, d->segments, out);
}
static bool make_torus(const ShapeDef *d, MeshData *out) {
  return shape_torus(d->radius, d->tube, d->stretch, d->segments, d->sides, out);
}
static bool make_plane(const ShapeDef *d, MeshData *out) { return shape_grid(d->sheet, (const int[2]){1, 1}, out); }
static bool make_grid(const ShapeDef *d, MeshData *out) { return shape_grid(d->sheet, d->cells, out); }
static bool make_ground(const ShapeDef *d, MeshData *out) { return shape_half_space(d->normal, d->ground, out); }

static const ShapeKind kinds[] = {
    {"box", {"size"}, false, make_box},
    {"sphere", {"radius", "subdivisions"}, false, make_sphere},
    {"ellipsoid", {"size", "subdivisions"}, false, make_ellipsoid},
    {"cylinder", {"radius", "height", "segments"}, false, make_cylinder},
    {"cone", {"radius", "height", "segments"}, false, make_cone},
    {"capsule", {"radius", "height", "segments"}, false, make_capsule},
    {"torus", {"radius", "tube", "stretch", "segments", "sides"}, false, make_torus},
    {"plane", {"size"}, false, make_plane},
    {"grid", {"size", "cells"}, false, make_grid},
    {"ground", {"size", "normal"}, true, make_ground},
    {"half_space", {"size", "normal"}, true, make_ground},
};
enum { KIND_COUNT = sizeof kinds / sizeof *kinds };

static bool in_list(const char *word, const char *const *list) {
  for (; *list; list++) {
    if (strcmp(word, *list) == 0) return true;
  }
  return false;
}

/* Checks that the object has only the geometry keys of this kind. */
bool own_check_geometry_keys(const Node *object, const char *what, const char *const *allowed) {
  static const char *const all[] = {GEOMETRY_KEYS, NULL};
  for (const char *const *key = all; *key; key++) {
    Node child;
    if (!node_get(object, *key, &child) || in_list(*key, allowed)) continue;
    char list[200] = "";
    for (const char *const *a = allowed; *a; a++) {
      size_t used = strlen(list);
      snprintf(list + used, sizeof list - used, "%s\"%s\"", used ? ", " : "", *a);
    }
    return node_fail(&child, "%s has no such key; it has %s", what, list);
  }
  return true;
}

static bool check_kind_keys(const Node *object, const ShapeKind *kind) {
  const char *allowed[10] = {"shape", "thickness"};
  for (int i = 0; i < 6; i++) allowed[2 + i] = kind->key[i];
  return own_check_geometry_keys(object, kind->name, allowed);
}

/* A list of sizes that are all positive; with count 1 also a plain number. */
bool own_read_sizes(const Node *object, const char *key, size_t count, double *value) {
  Node child;
  if (!node_get(object, key, &child)) return true;
  if (count == 1) return node_number(&child, NUMBER_POSITIVE, value);
  if (!node_vector(&child, value, count)) return false;
  for (size_t i = 0; i < count; i++) {
    Node item = node_item(&child, i);
    if (!(value[i] > 0)) return node_expected(&item, "a number > 0");
  }
  return true;
}

static bool read_count(const Node *object, const char *key, int min, int max, int *value) {
  int64_t wide = *value;
  if (!read_integer(object, key, min, max, &wide)) return false;
  *value = (int)wide;
  return true;
}

bool own_read_cells(const Node *object, int *cells, size_t count) {
  Node child;
  int64_t value;
  char what[64];
  if (!node_get(object, "cells", &child)) return true;
  bool list = json_is_array(child.value);
  snprintf(what, sizeof what, count == 1 ? "a whole number" : "a list of %zu whole numbers", count);
  if (list ? node_size(&child) != count : count == 2) return node_expected(&child, what);
  for (size_t i = 0; i < count; i++) {
    Node item = list ? node_item(&child, i) : child;
    if (!node_integer(&item, 1, 1000, &value)) return false;
    cells[i] = (int)value;
  }
  return true;
}

static bool read_normal(const Node *object, double normal[3]) {
  Node child;
  if (!node_get(object, "normal", &child)) return true;
  if (!node_vector(&child, normal, 3)) return false;
  double length_sq = normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2];
  return (length_sq > 1e-200 && length_sq < 1e200) || node_expected(&child, "a vector that is not 0");
}

static bool read_parameters(const Node *object, const ShapeKind *kind, ShapeDef *def) {
  size_t size_count = kind->make == make_box || kind->make == make_ellipsoid ? 3 : kind->half_space ? 1 : 2;
  double *size = size_count == 3 ? def->size : size_count == 2 ? def->sheet : &def->ground;
  Node child;
  bool ok = own_read_sizes(object, "size", size_count, size) &&
            read_number(object, "radius", NUMBER_POSITIVE, &def->radius) &&
            read_number(object, "height", NUMBER_POSITIVE, &def->height) &&
            read_number(object, "tube", NUMBER_POSITIVE, &def->tube) &&
            read_number(object, "stretch", NUMBER_NOT_NEGATIVE, &def->stretch) &&
            read_count(object, "segments", 3, 1024, &def->segments) &&
            read_count(object, "sides", 3, 1024, &def->sides) &&
            read_count(object, "subdivisions", 0, 6, &def->subdivisions) && own_read_cells(object, def->cells, 2) &&
            read_normal(object, def->normal);
  if (ok && kind->make == make_torus && def->tube >= def->radius) {
    node_get(object, "tube", &child);
    return node_fail(json_object_get(object->value, "tube") ? &child : object,
                     "expected a tube thinner than the ring's radius %g, got %g", def->radius, def->tube);
  }
  return ok;
}

bool own_check_shape_room(Loader *loader) {
  size_t vertex_count = 0;
  for (size_t i = 0; i < loader->scene->mesh_count; i++) vertex_count += loader->scene->mesh[i].data.vertex_count;
  return vertex_count <= SCENE_SHAPE_VERTEX_LIMIT ||
         scene_fail(loader->error, "the scene's shapes have more than %d vertices", SCENE_SHAPE_VERTEX_LIMIT);
}

/* Makes the shape unless the scene has the same one already. */
static int add_shape(Loader *loader, const ShapeKind *kind, const ShapeDef *d, double thickness) {
  char key[800];
  MeshData data;
  snprintf(key, sizeof key, "%s|%a %a %a|%a %a|%a %a %a %a|%a %a %a|%a|%d %d %d|%d %d|%a", kind->name, d->size[0],
           d->size[1], d->size[2], d->sheet[0], d->sheet[1], d->radius, d->height, d->tube, d->stretch, d->normal[0],
           d->normal[1], d->normal[2], d->ground, d->segments, d->sides, d->subdivisions, d->cells[0], d->cells[1],
           thickness);
  int mesh = scene_find_mesh(loader->scene, key);
  if (mesh >= 0) return mesh;
  if (!own_check_shape_room(loader)) return -1;
  if (kind->make(d, &data)) mesh = scene_add_mesh(loader->scene, key, kind->name, &data);
  if (mesh < 0) {
    loader_out_of_memory(loader);
    return -1;
  }
  loader->scene->mesh[mesh].thickness = thickness;
  loader->scene->mesh[mesh].half_space = kind->half_space;
  return mesh;
}

static int read_shape(OwnFile *file, const Node *object, double thickness) {
  ShapeDef def = {.size = {1, 1, 1},
                  .sheet = {1, 1},
                  .radius = 0.5,
                  .height = 1,
                  .tube = 0.1,
                  .normal = {0, 0, 1},
                  .ground = 10,
                  .segments = 32,
                  .sides = 16,
                  .subdivisions = 3,
                  .cells = {10, 10}};
  const char *names[KIND_COUNT + 1] = {0};
  int choice = 0;
  for (int i = 0; i < KIND_COUNT; i++) names[i] = kinds[i].name;
  if (!read_choice(object, "shape", names, &choice)) return -1;
  const ShapeKind *kind = &kinds[choice];
  if (!check_kind_keys(object, kind) || !read_parameters(object, kind, &def)) return -1;
  return add_shape(file->loader, kind, &def, thickness);
}

/* Their product decides whether they mirror, and must not be rounded to 0. */
static bool read_scale(const Node *scale, double factor[3]) {
  const double least = 1e-60;
  bool list = json_is_array(scale->value), zero = false, tiny = false;
  if (list ? !node_vector(scale, factor, 3) : !node_number(scale, NUMBER_ANY, &factor[0])) return false;
  if (!list) factor[1] = factor[2] = factor[0];
  for (int k = 0; k < 3; k++) zero |= factor[k] == 0, tiny |= fabs(factor[k]) < least;
  if (zero) return node_expected(scale, "factors that are not 0");
  return !tiny || node_expected(scale, "factors of 1e-60 and more, or negative ones of as much");
}

static int read_file(OwnFile *file, const Node *object, const Node *name, double thickness) {
  const char *const allowed[] = {name->key, "scale", "thickness", "weld", NULL};
  MeshUse use = {.scale = {1, 1, 1}, .thickness = thickness};
  Node scale;
  if (!own_check_geometry_keys(object, "a mesh file", allowed)) return -1;
  if (node_get(object, "scale", &scale) && !read_scale(&scale, use.scale)) return -1;
  double weld;
  Node tolerance;
  if (node_get(object, "weld", &tolerance)) {
    if (!node_number(&tolerance, NUMBER_NOT_NEGATIVE, &weld)) return -1;
    use.weld = &weld;
  }
  return (tet_extension_known(json_string_value(name->value)) ? store_tets : store_mesh)(
      file->loader, name, json_string_value(name->value), &use);
}

/* "mesh" in a body: a name from "meshes", or a file. */
static int find_mesh(OwnFile *file, const Node *object, const Node *name, double thickness) {
  const char *const allowed[] = {name->key, NULL};
  if (!json_is_string(name->value)) {
    node_expected(name, strcmp(name->key, "mesh") == 0 ? "a name from \"meshes\" or a file" : "a file name");
    return -1;
  }
  for (size_t i = 0; strcmp(name->key, "mesh") == 0 && i < file->named_count; i++) {
    if (strcmp(file->named[i].name, json_string_value(name->value)) != 0) continue;
    return own_check_geometry_keys(object, "a body that uses one of \"meshes\"", allowed) ? file->named[i].mesh : -1;
  }
  return read_file(file, object, name, thickness);
}

/* Takes over data and tets. */
static int add_new_mesh(OwnFile *file, MeshData *data, uint32_t *tet, size_t tet_count, double thickness,
                        bool half_space) {
  char key[64];
  Scene *scene = file->loader->scene;
  snprintf(key, sizeof key, "inline|%zu", scene->mesh_count);
  int mesh = scene_add_mesh(scene, key, "inline mesh", data);
  if (mesh < 0) {
    free(tet);
    loader_out_of_memory(file->loader);
    return -1;
  }
  scene->mesh[mesh].thickness = thickness;
  scene->mesh[mesh].tet = tet, scene->mesh[mesh].tet_count = tet_count;
  scene->mesh[mesh].half_space = half_space;
  return mesh;
}

/* A name of NULL, and one for which there is no memory, leaves the old one. */
static void rename_mesh(OwnFile *file, int mesh, const char *name) {
  char *own_name = name ? strdup(name) : NULL;
  if (!own_name) return;
  free(file->loader->scene->mesh[mesh].name);
  file->loader->scene->mesh[mesh].name = own_name;
}

static int read_inline(OwnFile *file, const Node *object, double thickness) {
  static const char *const allowed[] = {"vertices", "triangles", "tets", "edges", "thickness", NULL};
  MeshData data;
  uint32_t *tet = NULL;
  size_t tet_count = 0;
  if (!own_check_geometry_keys(object, "inline geometry", allowed) || !inline_mesh_read(object, "triangles", &data))
    return -1;
  if (!inline_tets_read(object, data.vertex_count, &tet, &tet_count)) {
    mesh_data_free(&data);
    return -1;
  }
  /* elements and attachments of a soft body name vertices by number; without triangles the vertices are points */
  bool numbered = tet_count || json_object_get(object->value, "soft");
  if (!numbered && data.triangle_count && !mesh_drop_unused(&data)) {
    mesh_data_free(&data);
    free(tet);
    loader_out_of_memory(file->loader);
    return -1;
  }
  scene_note_mesh(file->loader->scene, "inline mesh", &data);
  return add_new_mesh(file, &data, tet, tet_count, thickness, false);
}

static bool unpack_indices(const Node *packed, const char *key, size_t per, size_t vertex_count, uint32_t **index,
                           size_t *count) {
  Node node;
  if (!node_get(packed, key, &node)) return true;
  if (!json_is_string(node.value) ||
      !packed_to_u32(json_string_value(node.value), json_string_length(node.value), index, count) || *count % per) {
    return node_fail(&node, "expected base64 of little-endian u32, %zu for each element", per);
  }
  for (size_t i = 0; i < *count; i++) {
    if ((*index)[i] >= vertex_count) {
      return node_fail(&node, "vertex index %u is out of range 0..%lld", (*index)[i], (long long)vertex_count - 1);
    }
  }
  *count /= per;
  return true;
}

static bool unpack(const Node *packed, MeshData *data) {
  Node node;
  if (!node_get(packed, "vertices", &node)) return node_fail(packed, "expected a key \"vertices\"");
  if (!json_is_string(node.value) ||
      !packed_to_f64(json_string_value(node.value), json_string_length(node.value), &data->vertex,
                     &data->vertex_count) ||
      data->vertex_count % 3 || !data->vertex_count) {
    return node_fail(&node, "expected base64 of little-endian f64, 3 for each vertex");
  }
  for (size_t i = 0; i < data->vertex_count; i++) {
    if (!isfinite(data->vertex[i])) return node_fail(&node, "vertex %zu: expected finite coordinates", i / 3);
  }
  data->vertex_count /= 3;
  return unpack_indices(packed, "triangles", 3, data->vertex_count, &data->triangle, &data->triangle_count) &&
         unpack_indices(packed, "edges", 2, data->vertex_count, &data->edge, &data->edge_count);
}

static int read_packed(OwnFile *file, const Node *object, const Node *packed, double thickness) {
  static const char *const allowed[] = {"packed", "thickness", NULL};
  static const char *const known[] = {"vertices", "triangles", "tets", "edges", "half_space", "name", NULL};
  MeshData data = {0};
  uint32_t *tet = NULL;
  size_t tet_count = 0;
  bool half_space = false;
  const char *name = NULL;
  bool ok = own_check_geometry_keys(object, "packed geometry", allowed) && node_check_keys(packed, known) &&
            read_bool(packed, "half_space", &half_space) && read_string(packed, "name", &name) &&
            unpack(packed, &data) && unpack_indices(packed, "tets", 4, data.vertex_count, &tet, &tet_count);
  if (!ok) {
    free(tet);
    mesh_data_free(&data);
    return -1;
  }
  int mesh = add_new_mesh(file, &data, tet, tet_count, thickness, half_space);
  if (mesh >= 0) rename_mesh(file, mesh, name);
  return mesh;
}

/* ---- Parts ---- */

/* Appends a mesh, turned and moved. */
static bool append_part(MeshData *whole, const MeshData *part, const double position[3], const double rotation[4]) {
  uint32_t first = (uint32_t)whole->vertex_count;
  bool ok = true;
  for (size_t i = 0; ok && i < part->vertex_count; i++) {
    double x[3];
    quat_rotate(rotation, part->vertex + 3 * i, x);
    ok = mesh_add_vertex(whole, x[0] + position[0], x[1] + position[1], x[2] + position[2]);
  }
  for (size_t i = 0; ok && i < part->triangle_count; i++) {
    const uint32_t *t = part->triangle + 3 * i;
    ok = mesh_add_triangle(whole, first + t[0], first + t[1], first + t[2]);
  }
  for (size_t i = 0; ok && i < part->edge_count; i++)
    ok = mesh_add_edge(whole, first + part->edge[2 * i], first + part->edge[2 * i + 1]);
  return ok;
}

static bool read_part(OwnFile *file, const Node *part, MeshData *whole) {
  static const char *const known[] = {GEOMETRY_KEYS, "position", "rotation", "euler_degrees", "quaternion", NULL};
  double position[3] = {0}, rotation[4] = {1, 0, 0, 0};
  Node child;
  if (!node_check_keys(part, known)) return false;
  if (node_get(part, "parts", &child)) return node_fail(&child, "a part has no parts of its own");
  if (!read_vector(part, "position", position, 3) || !own_read_rotation(part, rotation)) return false;
  int index = own_read_geometry(file, part, "mesh");
  if (index < 0) return false;
  const SceneMesh *mesh = &file->loader->scene->mesh[index];
  if (mesh->half_space || mesh->tet_count) return node_fail(part, "a part is a surface: no half-space and no tets");
  return append_part(whole, &mesh->data, position, rotation) || loader_out_of_memory(file->loader);
}

/* A list of geometries with places of their own, which together are one mesh. */
static int read_parts(OwnFile *file, const Node *object, const Node *list, double thickness) {
  static const char *const allowed[] = {"parts", "thickness", NULL};
  MeshData whole = {0};
  if (!own_check_geometry_keys(object, "a body of parts", allowed) || !node_is_array(list)) return -1;
  bool ok = node_size(list) > 0 || node_expected(list, "a list of one part or more");
  for (size_t i = 0; ok && i < node_size(list); i++) {
    Node part = node_item(list, i);
    ok = read_part(file, &part, &whole);
  }
  if (!ok) return mesh_data_free(&whole), -1;
  int mesh = add_new_mesh(file, &whole, NULL, 0, thickness, false);
  if (mesh >= 0) rename_mesh(file, mesh, json_string_value(json_object_get(object->value, "name")));
  return mesh;
}

int own_read_geometry(OwnFile *file, const Node *object, const char *file_key) {
  Node child;
  double thickness = 0;
  if (!read_number(object, "thickness", NUMBER_NOT_NEGATIVE, &thickness)) return -1;
  if (node_get(object, "shape", &child)) return read_shape(file, object, thickness);
  if (node_get(object, file_key, &child)) return find_mesh(file, object, &child, thickness);
  if (node_get(object, "vertices", &child)) return read_inline(file, object, thickness);
  if (node_get(object, "packed", &child)) return read_packed(file, object, &child, thickness);
  if (node_get(object, "parts", &child)) return read_parts(file, object, &child, thickness);
  node_fail(object, "expected \"shape\", \"%s\" or \"vertices\"", file_key);
  return -1;
}
