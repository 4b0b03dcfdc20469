/* Equal vertices of a mesh made one, where its triangles show that they were meant to be: some triangle has two corners
 * at one place (an extrusion by nothing), or the surface is open and closes by it (vertices repeated along seams).
 * Meshes that merely touch themselves are left alone. Tests: tests/test_mesh_file.c. */
#ifndef ABD_SCENE_MESH_WELD_H
#define ABD_SCENE_MESH_WELD_H

#include "scene/mesh_file.h"

bool mesh_weld(MeshData *mesh); /* false when out of memory */

#endif
