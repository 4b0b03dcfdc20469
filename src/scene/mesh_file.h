/* Mesh files: OBJ, STL (ascii and binary), PLY (ascii, little and big endian), OFF, as vertices, triangles and edges.
 *
 * Readers work on bytes in memory and trust nothing: counts are checked against the file's size before anything is
 * allocated, indices against the vertices, coordinates must be finite. Polygons become triangles (polygon.h). Triangles
 * that name a vertex twice are dropped and counted; so are vertices that no triangle and no edge uses, if the file has
 * triangles: such a vertex would be invisible and collide. Tests: tests/test_mesh_file.c; fuzzed by
 * tests/fuzz/fuzz_mesh.c. */
#ifndef ABD_SCENE_MESH_FILE_H
#define ABD_SCENE_MESH_FILE_H

#include <abd/mesh.h>

#include "scene/scene.h"

typedef AbdSurface MeshData;

/* Parses a whole file. extension ("obj", "stl", "ply", "off", any case) chooses the format; name is for messages.
 * On failure *out is empty. */
bool mesh_parse(const char *bytes, size_t length, const char *extension, const char *name, MeshData *out,
                SceneError *error);
bool mesh_load(const char *path, MeshData *out, SceneError *error);
/* With the tolerance of mesh_weld.h. */
bool mesh_load_welded(const char *path, const double *weld, MeshData *out, SceneError *error);
bool mesh_extension_known(const char *path);
/* Whether the ending is that of a CAD program, whose files describe faces by formulas. */
bool mesh_is_cad(const char *path);
#define MESH_CAD_ADVICE "a CAD file has no triangles: export it as STL or OBJ"
void mesh_data_free(MeshData *data); /* leaves it empty */

/* Growing a mesh; false when out of memory. */
bool mesh_add_vertex(MeshData *data, double x, double y, double z);
bool mesh_add_triangle(MeshData *data, uint32_t a, uint32_t b, uint32_t c); /* drops and counts degenerate ones */
bool mesh_add_edge(MeshData *data, uint32_t a, uint32_t b);
/* Drops and counts vertices that no triangle and no edge uses; the others keep their order. */
bool mesh_drop_unused(MeshData *data);

#endif
