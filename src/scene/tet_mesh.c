/* Tetrahedral meshes: choice of reader, repair of orientation, checks, writing (tet_mesh.h). Tests:
 * tests/test_tet_mesh.c. */
#include "scene/tet_mesh.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "scene/file_bytes.h"
#include "scene/json_node.h"
#include "scene/tet_format.h"

typedef bool TetReader(const char *bytes, size_t length, const char *name, TetMesh *out, SceneError *error);

static TetReader *find_reader(const char *extension) {
  static const struct {
    const char *extension;
    TetReader *read;
  } list[] = {{"msh", tet_read_gmsh}, {"vtk", tet_read_vtk}, {"mesh", tet_read_medit}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    if (strcasecmp(extension, list[i].extension) == 0) return list[i].read;
  return NULL;
}

bool tet_extension_known(const char *path) { return find_reader(file_extension(path)) != NULL; }

bool tet_mesh_add(TetMesh *mesh, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  size_t n = mesh->tet_count;
  if (n == 0 || (n >= 16 && !(n & (n - 1)))) { /* room doubles at powers of two */
    uint32_t *tet = realloc(mesh->tet, (n < 16 ? 16 : 2 * n) * 4 * sizeof *tet);
    if (!tet) return false;
    mesh->tet = tet;
  }
  const uint32_t corner[4] = {a, b, c, d};
  memcpy(mesh->tet + 4 * mesh->tet_count++, corner, sizeof corner);
  return true;
}

double tet_mesh_volume(const TetMesh *mesh, size_t tet) {
  const uint32_t *t = mesh->tet + 4 * tet;
  double e[3][3];
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < 3; i++)
      e[k][i] = mesh->mesh.vertex[3 * t[k + 1] + (size_t)i] - mesh->mesh.vertex[3 * t[0] + (size_t)i];
  return (e[0][0] * (e[1][1] * e[2][2] - e[1][2] * e[2][1]) + e[0][1] * (e[1][2] * e[2][0] - e[1][0] * e[2][2]) +
          e[0][2] * (e[1][0] * e[2][1] - e[1][1] * e[2][0])) /
         6;
}

static void turn_if_inside_out(TetMesh *mesh) {
  for (size_t t = 0; t < mesh->tet_count; t++)
    if (tet_mesh_volume(mesh, t) > 0) return;
  for (size_t t = 0; t < mesh->tet_count; t++) {
    uint32_t *corner = mesh->tet + 4 * t, swap = corner[2];
    corner[2] = corner[3];
    corner[3] = swap;
  }
  mesh->turned = mesh->tet_count > 0;
}

/* Keeps the vertices that elements use, in their order. */
static bool drop_unused(TetMesh *mesh) {
  MeshData *m = &mesh->mesh;
  uint32_t *place = malloc((m->vertex_count + 1) * sizeof *place), kept = 0;
  if (!place) return false;
  memset(place, 0xff, m->vertex_count * sizeof *place);
  for (size_t k = 0; k < 4 * mesh->tet_count; k++) place[mesh->tet[k]] = 0;
  for (size_t k = 0; k < 3 * m->triangle_count; k++) place[m->triangle[k]] = 0;
  for (size_t v = 0; v < m->vertex_count; v++) {
    if (place[v]) continue;
    memmove(m->vertex + 3 * (size_t)kept, m->vertex + 3 * v, 3 * sizeof(double));
    place[v] = kept++;
  }
  for (size_t k = 0; k < 4 * mesh->tet_count; k++) mesh->tet[k] = place[mesh->tet[k]];
  for (size_t k = 0; k < 3 * m->triangle_count; k++) m->triangle[k] = place[m->triangle[k]];
  mesh->unused_count = m->vertex_count - kept;
  m->vertex_count = kept;
  free(place);
  return true;
}

bool tet_mesh_parse(const char *bytes, size_t length, const char *extension, const char *name, TetMesh *out,
                    SceneError *error) {
  *out = (TetMesh){0};
  TetReader *read = find_reader(extension);
  if (!read)
    return scene_fail(error, "%.500s: unknown format of a tetrahedral mesh \".%.20s\"; expected .msh, .vtk or .mesh",
                      name, extension);
  bool ok = read(bytes, length, name, out, error);
  if (ok && !out->tet_count && !out->mesh.triangle_count)
    ok = scene_fail(error, "%.500s: the mesh is empty: no tetrahedra and no triangles found", name);
  if (ok && !drop_unused(out)) ok = scene_fail(error, "%.500s: out of memory", name);
  if (ok) turn_if_inside_out(out);
  else tet_mesh_free(out);
  return ok;
}

bool tet_mesh_load(const char *path, TetMesh *out, SceneError *error) {
  FileBytes file;
  *out = (TetMesh){0};
  if (!file_read(path, &file, error)) return false;
  bool ok = tet_mesh_parse(file.bytes, file.length, file_extension(path), path, out, error);
  free(file.bytes);
  return ok;
}

void tet_mesh_free(TetMesh *mesh) {
  mesh_data_free(&mesh->mesh);
  free(mesh->tet);
  *mesh = (TetMesh){0};
}

typedef struct Corners {
  uint32_t corner[4], tet;
} Corners;

static int compare_corners(const void *a, const void *b) {
  const Corners *p = a, *q = b;
  for (int k = 0; k < 4; k++)
    if (p->corner[k] != q->corner[k]) return p->corner[k] < q->corner[k] ? -1 : 1;
  return (p->tet > q->tet) - (p->tet < q->tet);
}

static void sort_corners(uint32_t *corner, int count) {
  for (int i = 1; i < count; i++)
    for (int j = i; j > 0 && corner[j] < corner[j - 1]; j--) {
      uint32_t swap = corner[j];
      corner[j] = corner[j - 1];
      corner[j - 1] = swap;
    }
}

bool tet_mesh_find_twins(const TetMesh *mesh, size_t twins[2]) {
  Corners *list = malloc((mesh->tet_count + 1) * sizeof *list);
  bool found = false;
  for (size_t t = 0; list && t < mesh->tet_count; t++) {
    memcpy(list[t].corner, mesh->tet + 4 * t, sizeof list[t].corner);
    sort_corners(list[t].corner, 4);
    list[t].tet = (uint32_t)t;
  }
  if (list) qsort(list, mesh->tet_count, sizeof *list, compare_corners);
  for (size_t t = 1; list && t < mesh->tet_count && !found; t++) {
    found = !memcmp(list[t].corner, list[t - 1].corner, sizeof list[t].corner);
    if (found) twins[0] = list[t - 1].tet, twins[1] = list[t].tet;
  }
  free(list);
  return found;
}

bool tet_mesh_require_sound(const TetMesh *mesh, const char *name, SceneError *error) {
  size_t twins[2];
  for (size_t t = 0; t < mesh->tet_count; t++) {
    double volume = tet_mesh_volume(mesh, t);
    const uint32_t *c = mesh->tet + 4 * t;
    if (!(volume > 0))
      return scene_fail(
          error, "%.500s: tetrahedron %zu (corners %u %u %u %u, from 0) %s: its volume is %.6g, expected one > 0", name,
          t, c[0], c[1], c[2], c[3], volume < 0 ? "is inside out" : "is flat", volume);
  }
  if (tet_mesh_find_twins(mesh, twins))
    return scene_fail(error, "%.500s: tetrahedra %zu and %zu have the same corners; remove one", name, twins[0],
                      twins[1]);
  unsigned char *used = mesh->tet_count ? calloc(mesh->mesh.vertex_count, 1) : NULL;
  for (size_t k = 0; used && k < 4 * mesh->tet_count; k++) used[mesh->tet[k]] = 1;
  bool ok = true;
  for (size_t v = 0; used && ok && v < mesh->mesh.vertex_count; v++)
    if (!used[v]) ok = scene_fail(error, "%.500s: vertex %zu belongs to a triangle but to no tetrahedron", name, v);
  free(used);
  return ok;
}

static void write_elements(FILE *out, const TetMesh *mesh, const uint32_t *triangle, size_t triangle_count) {
  fprintf(out, "$Elements\n%zu\n", mesh->tet_count + triangle_count);
  for (size_t k = 0; k < triangle_count; k++)
    fprintf(out, "%zu 2 2 1 1 %u %u %u\n", k + 1, triangle[3 * k] + 1, triangle[3 * k + 1] + 1,
            triangle[3 * k + 2] + 1);
  for (size_t k = 0; k < mesh->tet_count; k++) {
    const uint32_t *t = mesh->tet + 4 * k;
    fprintf(out, "%zu 4 2 2 1 %u %u %u %u\n", triangle_count + k + 1, t[0] + 1, t[1] + 1, t[2] + 1, t[3] + 1);
  }
  fprintf(out, "$EndElements\n");
}

bool tet_mesh_write(const TetMesh *mesh, const char *path, SceneError *error) {
  uint32_t(*surface)[3];
  size_t surface_count, shared;
  if (!tet_mesh_surface(mesh, &surface, &surface_count, &shared))
    return scene_fail(error, "%.500s: out of memory", path);
  FILE *out = fopen(path, "w");
  if (!out) return free(surface), scene_fail(error, "%.500s: cannot write: %s", path, strerror(errno));
  fprintf(out, "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n%zu\n", mesh->mesh.vertex_count);
  for (size_t v = 0; v < mesh->mesh.vertex_count; v++) {
    const double *x = mesh->mesh.vertex + 3 * v;
    fprintf(out, "%zu %.17g %.17g %.17g\n", v + 1, x[0], x[1], x[2]);
  }
  fprintf(out, "$EndNodes\n");
  if (mesh->tet_count) write_elements(out, mesh, (const uint32_t *)surface, surface_count);
  else write_elements(out, mesh, mesh->mesh.triangle, mesh->mesh.triangle_count);
  free(surface);
  bool failed = ferror(out);
  if (fclose(out) != 0 || failed) return scene_fail(error, "%.500s: cannot write: %s", path, strerror(errno));
  return true;
}
