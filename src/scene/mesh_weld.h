/* Merges vertices of a mesh that are one. Without a given tolerance this is done only if the triangles show it: some
 * triangle has two corners at one place (an extrusion of zero length), or merging closes an open surface or leaves it
 * less than half of its open edges (vertices repeated along seams, triangle soups). First vertices at the very same
 * place are merged; if the surface is still open, those within four units in the last place of its coordinates, as the
 * file's digits show it. Meshes that merely touch themselves stay unchanged. Tests: tests/test_mesh_file.c. */
#ifndef ABD_SCENE_MESH_WELD_H
#define ABD_SCENE_MESH_WELD_H

#include "scene/mesh_file.h"

/* tolerance: vertices at most this far apart are merged with the first of them, in the units of the file; NULL:
 * automatic. False when out of memory. */
bool mesh_weld(MeshData *mesh, const double *tolerance);
/* The unit in the last place of the coordinates: a decimal place, or that of single or double precision. */
double mesh_precision(const MeshData *mesh);

#endif
