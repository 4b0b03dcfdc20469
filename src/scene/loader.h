/* The state that scene readers share while one scene is loaded: the scene that they fill, the current file, the
 * folders of meshes, the mesh files in memory. */
#ifndef ABD_SCENE_LOADER_H
#define ABD_SCENE_LOADER_H

#include "scene/json_node.h"
#include "scene/scene_def.h"

typedef struct RawMesh {
  char *key;  /* folder of the scene and the file's name as written in it */
  char *path; /* the file that was found */
  MeshData data;
} RawMesh;

typedef struct MeshStore {
  RawMesh *raw;
  size_t count;
} MeshStore;

typedef struct Loader {
  Scene *scene;
  SceneError *error;
  const char *mesh_dir;        /* may be NULL */
  const SceneOptions *options; /* may be NULL */
  const char *folder;          /* of the file being read */
  MeshStore *store;
  const struct Loader *includer; /* the file that includes this one; NULL at the top */
  char *real_path;               /* of the file being read, to find cycles; NULL for plain text */
} Loader;

/* How a body uses a mesh file. */
typedef struct MeshUse {
  double scale[3];
  const double *dimensions; /* wanted extents; override scale; NULL = none */
  double thickness;
  const double *weld; /* tolerance in the units of the file; NULL = automatic */
} MeshUse;

/* The file as it is, loaded once; NULL after an error at the node. */
const RawMesh *store_get(Loader *loader, const Node *at, const char *file, const double *weld);
/* The scene's mesh for this use, shared by equal uses; -1 after an error. */
int store_mesh(Loader *loader, const Node *at, const char *file, const MeshUse *use);
/* The same of a mesh of tets (.msh .vtk .mesh). */
int store_tets(Loader *loader, const Node *at, const char *file, const MeshUse *use);
void store_free(MeshStore *store);

/* The factors on the three coordinates of a mesh. */
void mesh_scale_factors(const MeshData *mesh, const MeshUse *use, double factor[3]);
/* A copy, scaled; a scale that mirrors turns the triangles round. */
bool mesh_scaled(const MeshData *mesh, const MeshUse *use, MeshData *out);
/* Connected component number of every vertex, by triangles. Returns the number of components that have triangles, or
 * -1 without memory. component: [vertex_count], UINT32_MAX for a vertex without a triangle. */
int mesh_components(const MeshData *mesh, uint32_t *component);
bool mesh_extract(const MeshData *mesh, const uint32_t *component, uint32_t which, MeshData *out);

bool loader_out_of_memory(Loader *loader); /* always false */
/* Only static bodies may have no density. */
bool loader_check_density(const Node *node, const AbdBodyDef *def);

/* The two formats. The top node is the whole file. */
bool own_read(Loader *loader, const Node *top);
bool rigid_ipc_read(Loader *loader, const Node *top);
/* A robot alone: URDF or MJCF. */
bool robot_file_read(Loader *loader, const char *path);
/* The settings of the world, "duration" and "steps" of an object in abd's own format. */
bool own_read_settings(Scene *scene, const Node *top);
void own_add_setting_keys(KeyList *list); /* their keys */

#endif
