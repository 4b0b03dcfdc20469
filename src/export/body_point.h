/* Points of a body, stiff or soft, in a frame. Tested in tests/test_export_soft.c. */
#ifndef ABD_EXPORT_BODY_POINT_H
#define ABD_EXPORT_BODY_POINT_H

#include "export/pose.h"
#include "record/run.h"

#include <string.h>

static inline const RunMesh *body_mesh(const RunScene *scene, size_t body) {
  return &scene->mesh[scene->body[body].mesh];
}

/* Vertex k of the body's mesh in the world; nodes are those of the whole frame. */
static inline void body_point(const RunScene *scene, const double *nodes, size_t body, size_t k, double x[3]) {
  const double *own = nodes + scene->body[body].node;
  if (scene->body[body].soft) memcpy(x, own + 3 * k, 3 * sizeof *x);
  else pose_point(own, body_mesh(scene, body)->vertex + 3 * k, x);
}

/* The mean of count points: of a soft body's vertices, or of their velocities. */
static inline void mean_point(const double *point, size_t count, double mean[3]) {
  mean[0] = mean[1] = mean[2] = 0;
  for (size_t k = 0; k < 3 * count; k++) mean[k % 3] += point[k] / (double)count;
}

/* The centre of mass of a stiff body, the mean of the vertices of a soft one. */
static inline void body_center(const RunScene *scene, const double *nodes, size_t body, double x[3]) {
  const double *own = nodes + scene->body[body].node;
  if (scene->body[body].soft) mean_point(own, body_mesh(scene, body)->vertex_count, x);
  else memcpy(x, own, 3 * sizeof *x);
}

#endif
