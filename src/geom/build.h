/* The stages of mesh_init, in the order of its calls. Each fills its part of a Mesh. After the check only allocations
 * can fail. Tested in tests/test_mesh.c. */
#ifndef ABD_GEOM_BUILD_H
#define ABD_GEOM_BUILD_H

#include "geom/mesh.h"

/* Integrals of 1, x - reference and (x - reference)(x - reference)^T. */
typedef struct Moments {
  double volume;
  Vec3 first;
  Mat3 second;
} Moments;

/* Checks every array, index and coordinate of the def. */
AbdStatus mesh_check_def(const AbdMeshDef *def, const char *name, AbdError *error);

/* From mesh->triangle and the def's edges: mesh->edge, sorted by vertices, and mesh->element, triangles before wires
 * and points. *watertight: every edge of a triangle has exactly two triangles, which traverse it in opposite
 * directions. Returns false if memory runs out. */
bool mesh_build_elements(Mesh *mesh, const AbdMeshDef *def, bool *watertight);
/* Sets mesh->closed. If a closed surface is inside out, its triangles are reversed. */
void mesh_orient(Mesh *mesh, bool watertight);

void moments_add_tetrahedron(Moments *m, Vec3 a, Vec3 b, Vec3 c); /* with the origin as its fourth corner */
/* Of a clean closed surface, or of a sheet, wires and points. */
Moments mesh_moments(const Mesh *mesh, double thickness, Vec3 reference);
/* Sets mesh->volume and mesh->second from moments about the origin. */
void mesh_set_mass(Mesh *mesh, double thickness, Moments moments);

/* Reorders mesh->element into leaves, builds mesh->node and assigns the owners of vertices and edges. */
bool mesh_build_tree(Mesh *mesh);
/* Sets mesh->piece; false if memory runs out. */
bool mesh_find_pieces(Mesh *mesh);
/* Sets mesh->flat_edge, mesh->short_edge, mesh->sharp_edge and the sharp edges of elements; false if memory is out. */
bool mesh_find_sharp(Mesh *mesh);
/* lo and hi of a box in single precision, rounded outward. */
void box_round(Box box, float *lo, float *hi);
/* The box of some points, and the distance of the farthest one from the origin. */
void points_bounds(const Vec3 *x, int count, Box *box, double *radius);

#endif
