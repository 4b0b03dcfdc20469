/* Merges equal vertices of a mesh if its triangles show that they are one: some triangle has two corners at one place
 * (an extrusion of zero length), or the surface is open and merging closes it (vertices repeated along seams). Meshes
 * that merely touch themselves stay unchanged. Tests: tests/test_mesh_file.c. */
#ifndef ABD_SCENE_MESH_WELD_H
#define ABD_SCENE_MESH_WELD_H

#include "scene/mesh_file.h"

bool mesh_weld(MeshData *mesh); /* false when out of memory */

#endif
