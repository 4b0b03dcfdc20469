/* Meshes of tetrahedra (soft solids) and of triangles (sheets): Gmsh .msh 2.2 and 4.1, VTK legacy .vtk unstructured
 * grids, both as text and binary, and Medit .mesh.
 *
 * Readers trust nothing: counts are checked against the file's size before anything is allocated, corners against
 * the vertices, coordinates must be finite. Points and lines are read over; other solids than tetrahedra of four
 * corners are refused by name. Vertices that no element uses are left out. A mesh whose tetrahedra are all inside
 * out has another convention and is turned. Tests: tests/test_tet_mesh.c; fuzzed by tests/fuzz/fuzz_tet.c. */
#ifndef ABD_SCENE_TET_MESH_H
#define ABD_SCENE_TET_MESH_H

#include "scene/mesh_file.h"

typedef AbdTets TetMesh;

/* As mesh_parse; extension "msh", "vtk" or "mesh". */
bool tet_mesh_parse(const char *bytes, size_t length, const char *extension, const char *name, TetMesh *out,
                    SceneError *error);
bool tet_mesh_load(const char *path, TetMesh *out, SceneError *error);
bool tet_extension_known(const char *path);
void tet_mesh_free(TetMesh *mesh);                                                /* leaves it empty */
bool tet_mesh_add(TetMesh *mesh, uint32_t a, uint32_t b, uint32_t c, uint32_t d); /* false when out of memory */

/* Checks what a simulation needs: tetrahedra with a positive volume, none twice, no vertex outside all of them. */
bool tet_mesh_require_sound(const TetMesh *mesh, const char *name, SceneError *error);
double tet_mesh_volume(const TetMesh *mesh, size_t tet); /* signed */
/* Two tetrahedra with the same corners; false when there are none, or memory is out. */
bool tet_mesh_find_twins(const TetMesh *mesh, size_t twins[2]);

/* The faces of exactly one tetrahedron, turned outward, sorted by corners; *shared_count: faces of three tetrahedra
 * or more, or of two on the same side. malloc'ed; false when out of memory. */
bool tet_mesh_surface(const TetMesh *mesh, uint32_t (**triangle)[3], size_t *count, size_t *shared_count);
/* The surface, or a sheet's triangles, as a mesh of its own; node_of (malloc'ed): the mesh's vertex of each of its
 * vertices. False when out of memory. */
bool tet_mesh_skin(const TetMesh *mesh, MeshData *skin, uint32_t **node_of);
/* Triangles of the file that are no face of any tetrahedron; false when out of memory. */
bool tet_mesh_find_stray(const TetMesh *mesh, size_t *stray_count, size_t *first);

/* As Gmsh 2.2 text: tetrahedra and their surface, or the triangles of a sheet. */
bool tet_mesh_write(const TetMesh *mesh, const char *path, SceneError *error);

#endif
