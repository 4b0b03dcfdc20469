/* Finds the points near the surface of a body of the scene at the start. Tests: tests/test_scene_soft.c. */
#ifndef ABD_SCENE_SURFACE_DISTANCE_H
#define ABD_SCENE_SURFACE_DISTANCE_H

#include "scene/scene_def.h"

/* The position of a point of the body's mesh at the start. */
void scene_vertex_to_world(const SceneBody *body, const double x[3], double world[3]);

/* Triangles, wires and points of a body, or the plane of a half-space, sorted into slices along its longest side. */
typedef struct SurfaceIndex {
  const SceneBody *body;
  const SceneMesh *mesh;
  double reach;
  int axis;
  double low, width; /* of the slices along the axis, in the mesh's coordinates */
  size_t *start;     /* [SURFACE_SLICES + 1] into element */
  uint32_t *element;
} SurfaceIndex;
enum { SURFACE_SLICES = 1024 };

/* For points not farther than reach [m]; false when out of memory. */
bool surface_index_create(SurfaceIndex *index, const Scene *scene, size_t body, double reach);
void surface_index_destroy(SurfaceIndex *index);
/* Whether a point of the world is within reach of the surface; inside of a closed body only near it. */
bool surface_index_near(const SurfaceIndex *index, const double point[3]);

#endif
