/* Defects of a triangle mesh: edges, orientation, degenerate triangles, duplicate vertices.
 * Positions matter only for area, volume and duplicates. Tested by tests/test_topology.c. */
#ifndef ABD_TOOL_TOPOLOGY_H
#define ABD_TOOL_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct MeshShape {
  const double *vertex;
  size_t vertex_count;
  const uint32_t *triangle;
  size_t triangle_count;
} MeshShape;

/* A count and the first example. */
typedef struct Finding {
  size_t count;
  uint32_t triangle;  /* the first triangle concerned */
  uint32_t vertex[2]; /* the first edge or pair concerned */
} Finding;

typedef struct Topology {
  Finding open_edge;     /* edges of one triangle */
  Finding many_edge;     /* edges of more than two triangles */
  Finding against_edge;  /* edges that two triangles traverse in the same direction: one of them is flipped */
  Finding degenerate;    /* triangles without area */
  Finding repeated;      /* triangles with the three corners of an earlier one */
  Finding twin_vertex;   /* vertices with exactly the coordinates of another */
  Finding unused_vertex; /* vertices without a triangle */
  size_t piece_count;    /* connected pieces */
  double volume;         /* signed; meaningful when closed */
  bool closed;           /* every edge has two triangles that traverse it in opposite directions */
} Topology;

/* False if memory runs out. Indices must be in range. */
bool topology_analyse(const MeshShape *mesh, Topology *topology);

#endif
