/* See grip.h. */
#include "grip.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Near {
  double distance;
  size_t vertex;
} Near;

static int compare_near(const void *x, const void *y) {
  const Near *a = x, *b = y;
  return a->distance != b->distance ? (a->distance > b->distance) - (a->distance < b->distance)
                                    : (a->vertex > b->vertex) - (a->vertex < b->vertex);
}

static void mean_of(const double *x, const size_t *vertex, size_t count, double mean[3]) {
  mean[0] = mean[1] = mean[2] = 0;
  for (size_t i = 0; i < count; i++)
    for (size_t k = 0; k < 3; k++) mean[k] += x[3 * (vertex ? vertex[i] : i) + k] / (double)count;
}

/* The free vertices sorted by their distance from a point; returns their number. */
static size_t sort_vertices(const AbdWorld *world, AbdBodyId body, const double *x, size_t count, const double at[3],
                            Near *near) {
  size_t found = 0;
  for (size_t v = 0; v < count; v++) {
    const double *p = x + 3 * v;
    if (abd_soft_attached(world, body, v) >= 0 || abd_soft_scripted(world, body, v)) continue;
    near[found++] = (Near){hypot(hypot(p[0] - at[0], p[1] - at[1]), p[2] - at[2]), v};
  }
  qsort(near, found, sizeof *near, compare_near);
  return found;
}

bool grip_take(Grip *grip, AbdWorld *world, AbdBodyId body, const double point[3]) {
  AbdSoftView soft;
  grip_release(grip, world);
  if (abd_soft_view(world, body, &soft) != ABD_OK) return false;
  double *x = malloc(3 * soft.vertex_count * sizeof *x), at[3], mean[3];
  Near *near = malloc(soft.vertex_count * sizeof *near);
  size_t *vertex = malloc(soft.vertex_count * sizeof *vertex);
  bool good = x && near && vertex && abd_soft_vertices(world, body, x) == ABD_OK;
  if (good) {
    mean_of(x, NULL, soft.vertex_count, mean);
    for (int k = 0; k < 3; k++) at[k] = mean[k] + point[k];
    size_t free_count = sort_vertices(world, body, x, soft.vertex_count, at, near), count = (soft.vertex_count + 4) / 5;
    *grip = (Grip){.body = body.id, .vertex = vertex, .count = count < free_count ? count : free_count};
    for (size_t i = 0; i < grip->count; i++) vertex[i] = near[i].vertex;
    mean_of(x, vertex, grip->count, mean);
    memcpy(grip->point, point, sizeof grip->point);
    for (int k = 0; k < 3; k++) grip->offset[k] = at[k] - mean[k];
  } else {
    free(vertex);
  }
  free(x), free(near);
  return good;
}

void grip_pull(const Grip *grip, AbdWorld *world, const double target[3]) {
  AbdWorldDef def = abd_world_settings(world);
  AbdBodyId body = {grip->body};
  AbdSoftView soft;
  if (!grip->count || abd_soft_view(world, body, &soft) != ABD_OK) return;
  double *x = malloc(6 * soft.vertex_count * sizeof *x), *v = x + 3 * soft.vertex_count, at[3], speed[3], force[3];
  if (x && abd_soft_vertices(world, body, x) == ABD_OK && abd_soft_velocities(world, body, v) == ABD_OK) {
    double mass = soft.mass / (double)soft.vertex_count, w = fmin(25, 0.3 / def.dt);
    mean_of(x, grip->vertex, grip->count, at);
    mean_of(v, grip->vertex, grip->count, speed);
    for (int k = 0; k < 3; k++)
      force[k] = mass * (w * w * (target[k] - at[k] - grip->offset[k]) - 2 * w * speed[k] - def.gravity[k]);
    for (size_t i = 0; i < grip->count; i++) abd_soft_set_force(world, body, grip->vertex[i], force);
  }
  free(x);
}

void grip_release(Grip *grip, AbdWorld *world) {
  static const double none[3] = {0};
  for (size_t i = 0; i < grip->count; i++) abd_soft_set_force(world, (AbdBodyId){grip->body}, grip->vertex[i], none);
  free(grip->vertex);
  *grip = (Grip){0};
}
