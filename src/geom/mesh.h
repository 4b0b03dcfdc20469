/* The solver's mesh: centred rest coordinates, every edge once, mass moments, and a tree of boxes.
 *
 * Rest frame: origin at the centre of mass, axes along the principal axes, so that the mass matrix of a body of density
 * rho is rho diag(volume, second[0], second[1], second[2]) (x) I3, second[k] = integral of X_k^2.
 *
 * The tree's leaves are elements: triangles, wires (edges without a triangle) and points. Each vertex and each edge is
 * owned by exactly one element, so that the pairs (owned vertex, triangle) and (owned edge, owned edge) over all pairs
 * of leaves contain every stencil once. A point is also stored as a degenerate edge (v, v), owned by its element, so
 * that point-wire and point-point are edge-edge stencils. The vertices of wires that are in no triangle are points too
 * (`on_wire`), without mass: parallel wires touch at their vertices. Their edges come last.
 *
 * Triangles may have no area and edges no length: such a triangle has the distance of its edges, such an edge that of a
 * point. A triangle that names a vertex twice is in `triangle` but has no element.
 *
 * A mesh is immutable once it is built. The tree is built once in rest space: the box of a posed node is
 * box_transform(pose, box). Searches of stiff bodies use the fans, eight boxes side by side. The vertices of a soft
 * body move one by one: geom/surface.h holds their positions and the boxes around them. Tested in tests/test_mesh.c. */
#ifndef ABD_GEOM_MESH_H
#define ABD_GEOM_MESH_H

#include "base/base.h"
#include "geom/node.h"

/* What a traversal looks at in one go: the boxes of some nodes below an inner node, up to three generations, which
 * together are all of it; the boxes of a leaf's elements. Searches of soft bodies use the nodes instead. */
typedef float Float8 __attribute__((vector_size(32), aligned(4)));
typedef struct Fan {
  Float8 lo[3], hi[3];  /* lanes beyond count are zero */
  int index[FAN_WIDTH]; /* nodes, or elements */
  int count;
} Fan;

typedef struct Mesh {
  char *name;
  int vertex_count, edge_count, triangle_count, element_count, node_count, fan_count;
  int wire_vertex_count; /* edges (v, v) of vertices of wires, the last ones */
  Vec3 *vertex;
  uint32_t (*edge)[2];
  uint32_t (*triangle)[3];
  Element *element; /* in the order of the leaves */
  TreeNode *node;   /* node[0] is the root */
  Fan *fan;
  unsigned char *flat_edge; /* of each edge: 1 if it lies between two triangles of one plane */
  float *short_edge;        /* [m] of each vertex: its shortest edge */
  float *sharp_edge;        /* the same of edges that are not flat; negative if the vertex lies inside a plane face or a
                               straight edge */
  int *piece;               /* a vertex of each connected piece */
  int piece_count;
  Box box;          /* of all vertices */
  double radius;    /* farthest vertex from the origin */
  double thickness; /* [m] of open surfaces, wires and points, for their mass; 0 if none was given */
  bool closed, half_space;
  AbdVolumeSource source;
  double plain_volume; /* the integral over the triangles as given, about the centre of the box */
  /* Enclosed volume of a closed surface; else of the thickened surface, wires, points; 0 if none has a size. */
  double volume;
  double second[3]; /* integral of X_k^2 over that volume, all > 0 if the volume is */
  Vec3 origin;      /* file coordinates = origin + axes * rest */
  Mat3 axes;
  int base; /* of a copy in another frame: 1 + the index of the mesh that it is a copy of; else 0 */
} Mesh;

/* Fills mesh from the def; on failure the mesh is empty and error says which index, triangle and value. */
AbdStatus mesh_init(Mesh *mesh, const AbdMeshDef *def, AbdError *error);
/* A copy of the mesh with another origin and other axes. */
AbdStatus mesh_reframe(Mesh *mesh, const Mesh *source, Vec3 origin, Mat3 axes, AbdError *error);
/* Of a matrix of second moments: its principal axes, nearest to the identity. */
Mat3 mesh_principal_axes(Mat3 second);
/* The edge, or of a vertex of wires its first wire: programs do not see the former as an edge. */
int mesh_edge_seen(const Mesh *mesh, int edge);
void mesh_destroy(Mesh *mesh); /* also a half-built or zeroed one */

#endif
