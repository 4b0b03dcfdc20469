/* Geometry written into a scene as JSON lists: vertices, triangles and edges. Tests: tests/test_scene.c. */
#ifndef ABD_SCENE_INLINE_MESH_H
#define ABD_SCENE_INLINE_MESH_H

#include "scene/json_node.h"
#include "scene/mesh_file.h"

/* Reads "vertices" [[x,y,z],...], triangle_key [[a,b,c],...] (optional) and "edges" [[a,b],...] (optional), 0-based. */
bool inline_mesh_read(const Node *object, const char *triangle_key, MeshData *out);
/* Reads "tets" [[a,b,c,d],...] (optional), malloc'ed. */
bool inline_tets_read(const Node *object, size_t vertex_count, uint32_t **tet, size_t *count);

#endif
