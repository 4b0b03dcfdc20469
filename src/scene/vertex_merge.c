/* Merging equal vertices by a hash table of indices (vertex_merge.h). Tests: tests/test_mesh_file.c. */
#include "scene/vertex_merge.h"

#include <stdlib.h>
#include <string.h>

static size_t hash_of(const double x[3]) {
  uint64_t hash = 0x9e3779b97f4a7c15u, bits;
  for (int k = 0; k < 3; k++) {
    memcpy(&bits, &x[k], sizeof bits);
    hash = (hash ^ bits) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  return (size_t)hash;
}

static size_t find_slot(const VertexMerge *merge, const MeshData *mesh, const double x[3]) {
  size_t at = hash_of(x) & (merge->capacity - 1);
  while (merge->slot[at] && memcmp(mesh->vertex + 3 * (size_t)(merge->slot[at] - 1), x, 3 * sizeof *x) != 0) {
    at = (at + 1) & (merge->capacity - 1);
  }
  return at;
}

static bool grow_table(VertexMerge *merge, const MeshData *mesh) {
  VertexMerge larger = {.capacity = merge->capacity ? 2 * merge->capacity : 64};
  larger.slot = calloc(larger.capacity, sizeof *larger.slot);
  if (!larger.slot) return false;
  for (size_t i = 0; i < mesh->vertex_count; i++)
    larger.slot[find_slot(&larger, mesh, mesh->vertex + 3 * i)] = (uint32_t)i + 1;
  free(merge->slot);
  *merge = larger;
  return true;
}

bool vertex_merge_add(VertexMerge *merge, MeshData *mesh, const double position[3], uint32_t *index) {
  double x[3] = {position[0] + 0.0, position[1] + 0.0, position[2] + 0.0}; /* -0 + 0 = 0 */
  if (2 * (mesh->vertex_count + 1) > merge->capacity && !grow_table(merge, mesh)) return false;
  size_t at = find_slot(merge, mesh, x);
  if (!merge->slot[at]) {
    if (!mesh_add_vertex(mesh, x[0], x[1], x[2])) return false;
    merge->slot[at] = (uint32_t)mesh->vertex_count;
  }
  *index = merge->slot[at] - 1;
  return true;
}

void vertex_merge_free(VertexMerge *merge) {
  free(merge->slot);
  *merge = (VertexMerge){0};
}
