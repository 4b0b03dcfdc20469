/* Defects of a triangle mesh: edges, orientation, degenerate triangles, duplicate vertices.
 * Positions matter only for area, volume and duplicates. Tested by tests/test_topology.c. */
#ifndef ABD_SCENE_TOPOLOGY_H
#define ABD_SCENE_TOPOLOGY_H

#include <abd/mesh.h>

typedef struct MeshShape {
  const double *vertex;
  size_t vertex_count;
  const uint32_t *triangle;
  size_t triangle_count;
} MeshShape;

typedef AbdFinding Finding;
typedef AbdFindings Topology;

/* False if memory runs out. Indices must be in range. */
bool topology_analyse(const MeshShape *mesh, Topology *topology);

#endif
