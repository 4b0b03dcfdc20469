/* The readers behind mesh_parse, one file per format. Each fills an empty MeshData or fails with a sentence; the
 * caller frees the data of a failed reader. */
#ifndef ABD_SCENE_MESH_FORMAT_H
#define ABD_SCENE_MESH_FORMAT_H

#include "scene/mesh_file.h"

bool mesh_read_obj(const char *bytes, size_t length, const char *name, MeshData *out, SceneError *error);
bool mesh_read_stl(const char *bytes, size_t length, const char *name, MeshData *out, SceneError *error);
bool mesh_read_ply(const char *bytes, size_t length, const char *name, MeshData *out, SceneError *error);
bool mesh_read_off(const char *bytes, size_t length, const char *name, MeshData *out, SceneError *error);

#endif
