/* Finds mesh files, loads each once, scales and splits them (loader.h). A file is searched beside the scene, then in
 * a folder "meshes" beside the scene or any of its parent folders, then in the mesh folder of the options. Tests:
 * tests/test_scene.c. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene/disjoint.h"
#include "scene/file_bytes.h"
#include "scene/loader.h"
#include "scene/tet_mesh.h"

bool loader_out_of_memory(Loader *loader) { return scene_fail(loader->error, "out of memory while reading the scene"); }

bool loader_check_density(const Node *node, const AbdBodyDef *def) {
  Node density;
  bool fixed = def->motion == ABD_MOTION_DYNAMIC && def->fixed == 63;
  if (def->density > 0 || def->motion == ABD_MOTION_STATIC || fixed) return true;
  return node_fail(node_get(node, "density", &density) ? &density : node,
                   "density 0 is only for static bodies, expected a number > 0");
}

static bool try_path(char out[PATH_MAX], const char *folder, const char *middle, const char *file) {
  int n = snprintf(out, PATH_MAX, "%s%s%s", folder, middle, file);
  return n > 0 && n < PATH_MAX && file_exists(out);
}

static bool find_in_parents(char out[PATH_MAX], const char *folder, const char *file) {
  char real[PATH_MAX];
  if (!realpath(folder, real)) return false;
  for (char *slash = real + strlen(real); slash; slash = strrchr(real, '/')) {
    *slash = 0;
    if (try_path(out, real, "/meshes/", file)) return true;
  }
  return false;
}

static bool find_file(const Loader *loader, const char *file, char out[PATH_MAX]) {
  if (file[0] == '/') return try_path(out, "", "", file);
  return try_path(out, loader->folder, "/", file) || find_in_parents(out, loader->folder, file) ||
         (loader->mesh_dir && try_path(out, loader->mesh_dir, "/", file));
}

static bool require_file(const Loader *loader, const Node *at, const char *file, char path[PATH_MAX]) {
  return find_file(loader, file, path) ||
         node_fail(
             at,
             "mesh \"%.200s\" not found beside the scene, in a folder \"meshes\" beside it or a parent folder%s%.200s",
             file, loader->mesh_dir ? ", or in " : "; --mesh-dir names another folder",
             loader->mesh_dir ? loader->mesh_dir : "");
}

const RawMesh *store_get(Loader *loader, const Node *at, const char *file, const double *weld) {
  char key[PATH_MAX + 300], path[PATH_MAX];
  MeshStore *store = loader->store;
  if (strlen(file) > 1000) {
    node_fail(at, "a file name of %zu characters is too long", strlen(file));
    return NULL;
  }
  snprintf(key, sizeof key, "%s\n%s\n%a", loader->folder, file, weld ? *weld : -1);
  for (size_t i = 0; i < store->count; i++) {
    if (strcmp(store->raw[i].key, key) == 0) return &store->raw[i];
  }
  if (!require_file(loader, at, file, path)) return NULL;
  MeshData data;
  if (!mesh_load_welded(path, weld, &data, loader->error)) return NULL;
  scene_note_mesh(loader->scene, path, &data);
  RawMesh *raw = array_add(&store->raw, &store->count, sizeof *raw);
  if (raw) *raw = (RawMesh){.key = strdup(key), .path = strdup(path), .data = data};
  if (raw && raw->key && raw->path) return raw;
  if (!raw) mesh_data_free(&data);
  loader_out_of_memory(loader);
  return NULL;
}

void store_free(MeshStore *store) {
  for (size_t i = 0; i < store->count; i++) {
    free(store->raw[i].key);
    free(store->raw[i].path);
    mesh_data_free(&store->raw[i].data);
  }
  free(store->raw);
  *store = (MeshStore){0};
}

/* An extent of zero stays zero: a flat mesh cannot be stretched across. */
void mesh_scale_factors(const MeshData *mesh, const MeshUse *use, double factor[3]) {
  memcpy(factor, use->scale, 3 * sizeof *factor);
  for (int k = 0; use->dimensions && k < 3; k++) {
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < mesh->vertex_count; i++) {
      low = fmin(low, mesh->vertex[3 * i + k]);
      high = fmax(high, mesh->vertex[3 * i + k]);
    }
    factor[k] = use->dimensions[k] / (high > low ? high - low : 1);
  }
}

static void *copy_of(const void *source, size_t size) {
  void *copy = malloc(size ? size : 1);
  return copy && size ? memcpy(copy, source, size) : copy;
}

bool mesh_scaled(const MeshData *mesh, const MeshUse *use, MeshData *out) {
  double factor[3];
  mesh_scale_factors(mesh, use, factor);
  *out = *mesh;
  out->vertex = copy_of(mesh->vertex, 3 * mesh->vertex_count * sizeof *out->vertex);
  out->triangle = copy_of(mesh->triangle, 3 * mesh->triangle_count * sizeof *out->triangle);
  out->edge = copy_of(mesh->edge, 2 * mesh->edge_count * sizeof *out->edge);
  if (!out->vertex || !out->triangle || !out->edge) {
    mesh_data_free(out);
    return false;
  }
  for (size_t i = 0; i < 3 * mesh->vertex_count; i++) out->vertex[i] *= factor[i % 3];
  for (size_t i = 0; factor[0] * factor[1] * factor[2] < 0 && i < mesh->triangle_count; i++) {
    uint32_t *t = out->triangle + 3 * i, swap = t[1];
    t[1] = t[2], t[2] = swap;
  }
  return true;
}

int store_mesh(Loader *loader, const Node *at, const char *file, const MeshUse *use) {
  char key[PATH_MAX + 200];
  const RawMesh *raw = store_get(loader, at, file, use->weld);
  if (!raw) return -1;
  const double *size = use->dimensions ? use->dimensions : use->scale;
  snprintf(key, sizeof key, "%s|%s %a %a %a|%a|%a", raw->path, use->dimensions ? "dimensions" : "scale", size[0],
           size[1], size[2], use->thickness, use->weld ? *use->weld : -1);
  int index = scene_find_mesh(loader->scene, key);
  if (index >= 0) return index;
  MeshData data;
  const char *slash = strrchr(raw->path, '/');
  if (mesh_scaled(&raw->data, use, &data)) {
    index = scene_add_mesh(loader->scene, key, slash ? slash + 1 : raw->path, &data);
  }
  if (index < 0) {
    loader_out_of_memory(loader);
    return -1;
  }
  loader->scene->mesh[index].thickness = use->thickness;
  mesh_scale_factors(&raw->data, use, loader->scene->mesh[index].scale);
  return index;
}

/* A scale that mirrors turns the tets and triangles round. */
static void scale_tets(TetMesh *mesh, const double scale[3]) {
  bool mirrors = scale[0] * scale[1] * scale[2] < 0;
  for (size_t i = 0; i < 3 * mesh->mesh.vertex_count; i++) mesh->mesh.vertex[i] *= scale[i % 3];
  for (size_t i = 0; mirrors && i < mesh->tet_count; i++) {
    uint32_t *t = mesh->tet + 4 * i, swap = t[2];
    t[2] = t[3], t[3] = swap;
  }
  for (size_t i = 0; mirrors && i < mesh->mesh.triangle_count; i++) {
    uint32_t *t = mesh->mesh.triangle + 3 * i, swap = t[1];
    t[1] = t[2], t[2] = swap;
  }
}

int store_tets(Loader *loader, const Node *at, const char *file, const MeshUse *use) {
  char path[PATH_MAX], key[PATH_MAX + 200];
  TetMesh mesh;
  if (strlen(file) > 1000) return node_fail(at, "a file name of %zu characters is too long", strlen(file)) - 1;
  if (!require_file(loader, at, file, path)) return -1;
  snprintf(key, sizeof key, "%s|tets %a %a %a|%a", path, use->scale[0], use->scale[1], use->scale[2], use->thickness);
  int index = scene_find_mesh(loader->scene, key);
  if (index >= 0) return index;
  if (!tet_mesh_load(path, &mesh, loader->error)) return -1;
  if (mesh.tet_count && !tet_mesh_require_sound(&mesh, path, loader->error)) return tet_mesh_free(&mesh), -1;
  if (mesh.turned) scene_add_note(loader->scene, "%.300s: every tet was inside out and is turned", path);
  if (mesh.unused_count)
    scene_add_note(loader->scene, "%.300s: left out %zu %s that no element uses", path, mesh.unused_count,
                   mesh.unused_count == 1 ? "vertex" : "vertices");
  scale_tets(&mesh, use->scale);
  const char *slash = strrchr(path, '/');
  index = scene_add_tets(loader->scene, key, slash ? slash + 1 : path, &mesh);
  if (index < 0) return loader_out_of_memory(loader) - 1;
  loader->scene->mesh[index].thickness = use->thickness;
  memcpy(loader->scene->mesh[index].scale, use->scale, sizeof use->scale);
  return index;
}

int mesh_components(const MeshData *mesh, uint32_t *component) {
  uint32_t *parent = malloc((mesh->vertex_count + 1) * sizeof *parent), count = 0;
  if (!parent) return -1;
  for (uint32_t i = 0; i < mesh->vertex_count; i++) parent[i] = i, component[i] = UINT32_MAX;
  for (size_t t = 0; t < mesh->triangle_count; t++) {
    const uint32_t *v = mesh->triangle + 3 * t;
    for (int k = 1; k < 3; k++) disjoint_join(parent, v[k], v[0]);
  }
  for (size_t c = 0; c < 3 * mesh->triangle_count; c++) { /* components in the order of their first triangles */
    uint32_t v = mesh->triangle[c], root = disjoint_root(parent, v);
    if (component[root] == UINT32_MAX) component[root] = count++;
    component[v] = component[root];
  }
  free(parent);
  return (int)count;
}

bool mesh_extract(const MeshData *mesh, const uint32_t *component, uint32_t which, MeshData *out) {
  uint32_t *renamed = malloc((mesh->vertex_count + 1) * sizeof *renamed);
  bool ok = renamed != NULL;
  *out = (MeshData){0};
  for (size_t i = 0; ok && i < mesh->vertex_count; i++) {
    const double *x = mesh->vertex + 3 * i;
    renamed[i] = (uint32_t)out->vertex_count;
    if (component[i] == which) ok = mesh_add_vertex(out, x[0], x[1], x[2]);
  }
  for (size_t t = 0; ok && t < mesh->triangle_count; t++) {
    const uint32_t *v = mesh->triangle + 3 * t;
    if (component[v[0]] == which) ok = mesh_add_triangle(out, renamed[v[0]], renamed[v[1]], renamed[v[2]]);
  }
  free(renamed);
  if (!ok) mesh_data_free(out);
  return ok;
}
