/* The library's definition of a scene's mesh; points into the scene. */
#ifndef ABD_SCENE_WORLD_MESH_H
#define ABD_SCENE_WORLD_MESH_H

#include "scene/scene_def.h"

AbdMeshDef world_mesh_def(const SceneMesh *mesh);

#endif
