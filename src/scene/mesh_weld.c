/* Welding equal vertices (mesh_weld.h). Tests: tests/test_mesh_file.c. */
#include "scene/mesh_weld.h"

#include <stdlib.h>

#include "scene/vertex_merge.h"

/* The number of each vertex among the different positions, which are stored in merged->vertex; NULL when out of
 * memory. */
static uint32_t *number_positions(const MeshData *mesh, MeshData *merged) {
  VertexMerge table = {0};
  uint32_t *number = malloc((mesh->vertex_count + 1) * sizeof *number);
  bool ok = number != NULL;
  for (size_t i = 0; ok && i < mesh->vertex_count; i++)
    ok = vertex_merge_add(&table, merged, mesh->vertex + 3 * i, &number[i]);
  vertex_merge_free(&table);
  if (ok) return number;
  free(number);
  return NULL;
}

static bool has_point_triangle(const MeshData *mesh, const uint32_t *number) {
  for (size_t t = 0; t < mesh->triangle_count; t++) {
    uint32_t a = number[mesh->triangle[3 * t]], b = number[mesh->triangle[3 * t + 1]],
             c = number[mesh->triangle[3 * t + 2]];
    if (a == b || b == c || c == a) return true;
  }
  return false;
}

static int compare(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* Every directed edge has its reverse: the sorted lists of both are the same. number NULL: vertices as they are. */
static bool is_closed(const MeshData *mesh, const uint32_t *number, bool *ok) {
  size_t count = 3 * mesh->triangle_count;
  uint64_t *edge = malloc((2 * count + 1) * sizeof *edge), *reverse = edge + count;
  if (!edge) {
    *ok = false;
    return false;
  }
  for (size_t i = 0; i < count; i++) {
    uint64_t a = mesh->triangle[i], b = mesh->triangle[i % 3 == 2 ? i - 2 : i + 1];
    if (number) a = number[a], b = number[b];
    edge[i] = a << 32 | b;
    reverse[i] = b << 32 | a;
  }
  qsort(edge, count, sizeof *edge, compare);
  qsort(reverse, count, sizeof *reverse, compare);
  bool closed = count > 0;
  for (size_t i = 0; closed && i < count; i++) closed = edge[i] == reverse[i];
  free(edge);
  return closed;
}

/* Takes over the merged vertices and renumbers all corners; drops triangles that became lines. */
static void rename_vertices(MeshData *mesh, const uint32_t *number, MeshData *merged) {
  size_t kept = 0, edges = 0;
  for (size_t t = 0; t < mesh->triangle_count; t++) {
    uint32_t a = number[mesh->triangle[3 * t]], b = number[mesh->triangle[3 * t + 1]],
             c = number[mesh->triangle[3 * t + 2]];
    if (a == b || b == c || c == a) continue;
    uint32_t *out = mesh->triangle + 3 * kept++;
    out[0] = a, out[1] = b, out[2] = c;
  }
  for (size_t e = 0; e < mesh->edge_count; e++) {
    uint32_t a = number[mesh->edge[2 * e]], b = number[mesh->edge[2 * e + 1]];
    if (a != b) mesh->edge[2 * edges] = a, mesh->edge[2 * edges++ + 1] = b;
  }
  mesh->dropped_count += mesh->triangle_count - kept;
  mesh->welded_count += mesh->vertex_count - merged->vertex_count;
  mesh->triangle_count = kept;
  mesh->edge_count = edges;
  free(mesh->vertex);
  mesh->vertex = merged->vertex;
  mesh->vertex_count = merged->vertex_count;
  *merged = (MeshData){0};
}

bool mesh_weld(MeshData *mesh) {
  MeshData merged = {0};
  uint32_t *number = number_positions(mesh, &merged);
  bool ok = number != NULL;
  if (ok && merged.vertex_count < mesh->vertex_count &&
      (has_point_triangle(mesh, number) || (!is_closed(mesh, NULL, &ok) && is_closed(mesh, number, &ok))) && ok) {
    rename_vertices(mesh, number, &merged);
  }
  free(number);
  mesh_data_free(&merged);
  return ok;
}
