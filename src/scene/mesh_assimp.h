/* Mesh files of formats that abd does not read by itself, through assimp: DAE, glTF and GLB, 3MF, FBX, 3DS and others.
 * All meshes of the file become one, in the poses of its nodes. abd's z axis is the file's up axis, and coordinates
 * are in metres, as far as the format states them:
 *   .dae           its unit and up axis
 *   .gltf .glb     metres, y up
 *   .fbx           its unit and axes
 *   .3mf           millimetres, its default, or its unit; z up
 *   .3ds           z up
 * All others are taken as they are. Without assimp no extension is known. Tests: tests/test_mesh_assimp.c. */
#ifndef ABD_SCENE_MESH_ASSIMP_H
#define ABD_SCENE_MESH_ASSIMP_H

#include "scene/mesh_file.h"

bool assimp_knows(const char *extension);
/* out is empty; the caller frees it after an error. */
bool mesh_read_assimp(const char *path, MeshData *out, SceneError *error);

#endif
