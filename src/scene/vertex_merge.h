/* Merging vertices with bitwise equal positions (-0 counts as 0): triangle soups such as STL become connected meshes.
 * Tests: tests/test_mesh_file.c. */
#ifndef ABD_SCENE_VERTEX_MERGE_H
#define ABD_SCENE_VERTEX_MERGE_H

#include "scene/mesh_file.h"

typedef struct VertexMerge {
  uint32_t *slot;
  size_t capacity;
} VertexMerge; /* zeroed to start; open addressing */

/* The index of the vertex at x, added if it is new; false when out of memory. */
bool vertex_merge_add(VertexMerge *merge, MeshData *mesh, const double x[3], uint32_t *index);
void vertex_merge_free(VertexMerge *merge);

#endif
