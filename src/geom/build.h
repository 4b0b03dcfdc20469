/* The stages of mesh_init, in the order in which it calls them. Each fills its part of a Mesh; only memory can fail after
 * the check. Tested in tests/test_mesh.c. */
#ifndef ABD_GEOM_BUILD_H
#define ABD_GEOM_BUILD_H

#include "geom/mesh.h"

/* Integrals of 1, x - reference and (x - reference)(x - reference)^T. */
typedef struct Moments {
  double volume;
  Vec3 first;
  Mat3 second;
} Moments;

/* Every array, index and coordinate of the def. */
AbdStatus mesh_check_def(const AbdMeshDef *def, const char *name, AbdError *error);

/* From mesh->triangle and the def's edges: mesh->edge, sorted by vertices, and mesh->element, triangles before wires and
 * points. *watertight: every edge of a triangle has exactly two, which run along it in opposite directions. False when
 * memory is out. */
bool mesh_build_elements(Mesh *mesh, const AbdMeshDef *def, bool *watertight);
/* Sets mesh->closed; a closed surface that is inside out is turned. */
void mesh_orient(Mesh *mesh, bool watertight);

Moments mesh_moments(const Mesh *mesh, double thickness, Vec3 reference);
/* Sets mesh->volume and mesh->second from the vertices as they are, about the origin. */
void mesh_set_mass(Mesh *mesh, double thickness);

/* Reorders mesh->element into leaves, builds mesh->node and names the owners of vertices and edges. */
bool mesh_build_tree(Mesh *mesh);
/* New boxes for moved vertices; who is with whom stays. */
void mesh_refit_tree(Mesh *mesh);

#endif
