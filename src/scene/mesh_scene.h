/* A scene from mesh files alone: bodies at the coordinates of their files, a ground below. scale is a factor on all
 * of them. 0 is a factor of 1, with a note if the sizes look like millimetres. Tests: tests/test_scene.c. */
#ifndef ABD_SCENE_MESH_SCENE_H
#define ABD_SCENE_MESH_SCENE_H

#include "scene/scene_def.h"

bool mesh_scene_fill(Scene *scene, const char *const *path, int path_count, double scale, SceneError *error);

#endif
