/* Mesh data and the choice of reader by a file's ending (mesh_file.h). Tests: tests/test_mesh_file.c. */
#include "scene/mesh_file.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "scene/file_bytes.h"
#include "scene/json_node.h"
#include "scene/mesh_assimp.h"
#include "scene/mesh_format.h"
#include "scene/mesh_weld.h"
#include "scene/tet_mesh.h"

typedef bool MeshReader(const char *bytes, size_t length, const char *name, MeshData *out, SceneError *error);

static const struct {
  const char *extension;
  MeshReader *read;
} format_list[] = {{"obj", mesh_read_obj}, {"stl", mesh_read_stl}, {"ply", mesh_read_ply}, {"off", mesh_read_off}};

static MeshReader *find_reader(const char *extension) {
  for (size_t i = 0; extension && i < sizeof format_list / sizeof *format_list; i++) {
    if (strcasecmp(extension, format_list[i].extension) == 0) return format_list[i].read;
  }
  return NULL;
}

bool mesh_is_cad(const char *path) {
  static const char *const ending[] = {"step", "stp", "iges", "igs", "sldprt", "catpart", "ipt", "x_t", "fcstd"};
  for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
    if (strcasecmp(file_extension(path), ending[i]) == 0) return true;
  return false;
}

/* Meshes of tets, CAD files and abd's own are not for assimp, even if it claims to read such endings. */
static bool is_for_assimp(const char *path) {
  const char *extension = file_extension(path);
  bool own = tet_extension_known(path) || mesh_is_cad(path) || strcasecmp(extension, "json") == 0 ||
             strcasecmp(extension, "abd") == 0;
  return !find_reader(extension) && !own && assimp_knows(extension);
}

bool mesh_extension_known(const char *path) { return find_reader(file_extension(path)) || is_for_assimp(path); }

static bool finish(const char *name, const double *weld, MeshData *out, SceneError *error) {
  if (!out->vertex_count) return scene_fail(error, "%.500s: the mesh is empty: no vertices found", name);
  /* without triangles the vertices are points */
  return (mesh_weld(out, weld) && (!out->triangle_count || mesh_drop_unused(out))) ||
         scene_fail(error, "%.500s: out of memory", name);
}

static bool parse(const char *bytes, size_t length, const char *extension, const char *name, const double *weld,
                  MeshData *out, SceneError *error) {
  *out = (MeshData){0};
  MeshReader *read = find_reader(extension);
  if (!read)
    return scene_fail(error, "%.500s: unknown mesh format \".%.20s\"; expected .obj, .stl, .ply or .off", name,
                      extension);
  bool ok = read(bytes, length, name, out, error) && finish(name, weld, out, error);
  if (!ok) mesh_data_free(out);
  return ok;
}

bool mesh_parse(const char *bytes, size_t length, const char *extension, const char *name, MeshData *out,
                SceneError *error) {
  return parse(bytes, length, extension, name, NULL, out, error);
}

bool mesh_load(const char *path, MeshData *out, SceneError *error) { return mesh_load_welded(path, NULL, out, error); }

bool mesh_load_welded(const char *path, const double *weld, MeshData *out, SceneError *error) {
  FileBytes file;
  *out = (MeshData){0};
  if (mesh_is_cad(path)) return scene_fail(error, "%.500s: %s", path, MESH_CAD_ADVICE);
  if (!mesh_extension_known(path)) {
    return scene_fail(
        error,
        "%.500s: unknown mesh format; expected .obj, .stl, .ply or .off; .dae, .gltf, .glb, .3mf, .fbx and "
        "others are read by builds with assimp (ABD_ASSIMP)",
        path);
  }
  if (!file_read(path, &file, error)) return false;
  if (is_for_assimp(path)) { /* it may read other files beside this one, so it gets the path */
    free(file.bytes);
    bool ok = mesh_read_assimp(path, out, error) && finish(path, weld, out, error);
    if (!ok) mesh_data_free(out);
    return ok;
  }
  bool ok = parse(file.bytes, file.length, file_extension(path), path, weld, out, error);
  free(file.bytes);
  return ok;
}

void mesh_data_free(MeshData *data) {
  free(data->vertex);
  free(data->triangle);
  free(data->edge);
  *data = (MeshData){0};
}

/* Makes room for one more element in an array that doubles at powers of two. */
static void *grow(void *array, size_t count, size_t element_size) {
  if (count && (count < 16 || (count & (count - 1)))) return array;
  size_t capacity = count < 16 ? 16 : 2 * count;
  return realloc(array, capacity * element_size);
}

bool mesh_add_vertex(MeshData *data, double x, double y, double z) {
  double *vertex = data->vertex_count < UINT32_MAX ? grow(data->vertex, data->vertex_count, 3 * sizeof *vertex) : NULL;
  if (!vertex) return false;
  data->vertex = vertex;
  vertex += 3 * data->vertex_count++;
  vertex[0] = x, vertex[1] = y, vertex[2] = z;
  return true;
}

bool mesh_add_triangle(MeshData *data, uint32_t a, uint32_t b, uint32_t c) {
  if (a == b || b == c || c == a) {
    data->dropped_count++;
    return true;
  }
  uint32_t *triangle = grow(data->triangle, data->triangle_count, 3 * sizeof *triangle);
  if (!triangle) return false;
  data->triangle = triangle;
  triangle += 3 * data->triangle_count++;
  triangle[0] = a, triangle[1] = b, triangle[2] = c;
  return true;
}

bool mesh_add_edge(MeshData *data, uint32_t a, uint32_t b) {
  if (a == b) return true;
  uint32_t *edge = grow(data->edge, data->edge_count, 2 * sizeof *edge);
  if (!edge) return false;
  data->edge = edge;
  edge += 2 * data->edge_count++;
  edge[0] = a, edge[1] = b;
  return true;
}

bool mesh_drop_unused(MeshData *data) {
  uint32_t *number = calloc(data->vertex_count + 1, sizeof *number), kept = 0;
  if (!number) return false;
  for (size_t i = 0; i < 3 * data->triangle_count; i++) number[data->triangle[i]] = 1;
  for (size_t i = 0; i < 2 * data->edge_count; i++) number[data->edge[i]] = 1;
  for (size_t v = 0; v < data->vertex_count; v++) {
    const double *x = data->vertex + 3 * v;
    if (number[v]) {
      memmove(data->vertex + 3 * (size_t)kept, x, 3 * sizeof *x);
      number[v] = kept++;
    } else if (!data->unused_count++) memcpy(data->unused, x, sizeof data->unused);
  }
  for (size_t i = 0; i < 3 * data->triangle_count; i++) data->triangle[i] = number[data->triangle[i]];
  for (size_t i = 0; i < 2 * data->edge_count; i++) data->edge[i] = number[data->edge[i]];
  data->vertex_count = kept;
  free(number);
  return true;
}
