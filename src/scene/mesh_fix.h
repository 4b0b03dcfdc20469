/* Repairs a surface without moving a vertex: triangles with the same corners become one or, if as many face one side as
 * the other, none; patches of triangles are reversed as long as that leaves fewer directed edges without a reverse; a
 * surface that encloses a negative volume is turned round; vertices that no triangle or edge uses
 * are dropped. Holes stay open. Welding is done before (mesh_weld.h). Tests: tests/test_mesh_fix.c. */
#ifndef ABD_SCENE_MESH_FIX_H
#define ABD_SCENE_MESH_FIX_H

#include "scene/mesh_file.h"

typedef AbdSurfaceFix MeshFix;

/* False when out of memory. */
bool mesh_fix(MeshData *mesh, MeshFix *fix);
/* Writes an OBJ file with 17 digits. */
bool mesh_write_obj(const MeshData *mesh, const char *path, SceneError *error);

#endif
