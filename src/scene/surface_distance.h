/* How far a point is from a body of the scene as it stands at the start. Tests: tests/test_scene_soft.c. */
#ifndef ABD_SCENE_SURFACE_DISTANCE_H
#define ABD_SCENE_SURFACE_DISTANCE_H

#include "scene/scene_def.h"

/* Where a point of the body's mesh is at the start. */
void scene_vertex_to_world(const SceneBody *body, const double x[3], double world[3]);
/* From its triangles, wires and points, or the plane of a half-space; 0 only on them, not inside. */
double scene_surface_distance(const Scene *scene, size_t body, const double point[3]);

#endif
