/* See surface_distance.h. */
#include "scene/surface_distance.h"

#include <math.h>

#include "scene/rotation.h"

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }
static void sub(const double a[3], const double b[3], double c[3]) {
  for (int k = 0; k < 3; k++) c[k] = a[k] - b[k];
}

void scene_vertex_to_world(const SceneBody *body, const double x[3], double world[3]) {
  quat_rotate(body->def.rotation, x, world);
  for (int k = 0; k < 3; k++) world[k] += body->def.position[k];
}

/* Squared. */
static double segment_distance(const double p[3], const double a[3], const double b[3]) {
  double edge[3], from[3], length, t;
  sub(b, a, edge), sub(p, a, from);
  length = dot(edge, edge);
  t = length > 0 ? fmin(1, fmax(0, dot(from, edge) / length)) : 0;
  for (int k = 0; k < 3; k++) from[k] -= t * edge[k];
  return dot(from, from);
}

/* Squared. From the plane where the foot lies inside, else from the nearest side. */
static double triangle_distance(const double p[3], const double *const corner[3]) {
  double u[3], v[3], w[3];
  sub(corner[1], corner[0], u), sub(corner[2], corner[0], v), sub(p, corner[0], w);
  double uu = dot(u, u), uv = dot(u, v), vv = dot(v, v), wu = dot(w, u), wv = dot(w, v), area = uu * vv - uv * uv;
  double s = wu * vv - wv * uv, t = wv * uu - wu * uv;
  if (area > 0 && s >= 0 && t >= 0 && s + t <= area) {
    for (int k = 0; k < 3; k++) w[k] -= (s * u[k] + t * v[k]) / area;
    return dot(w, w);
  }
  double best = INFINITY;
  for (int k = 0; k < 3; k++) best = fmin(best, segment_distance(p, corner[k], corner[(k + 1) % 3]));
  return best;
}

static double plane_distance(const double p[3], const double *const corner[3]) {
  double u[3], v[3], w[3], n[3];
  sub(corner[1], corner[0], u), sub(corner[2], corner[0], v), sub(p, corner[0], w);
  for (int k = 0; k < 3; k++) n[k] = u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3];
  return fabs(dot(n, w)) / sqrt(dot(n, n));
}

double scene_surface_distance(const Scene *scene, size_t index, const double point[3]) {
  const SceneBody *body = &scene->body[index];
  const SceneMesh *mesh = &scene->mesh[body->mesh];
  const MeshData *data = &mesh->data;
  const double *q = body->def.rotation, back[4] = {q[0], -q[1], -q[2], -q[3]};
  double from[3], p[3], best = INFINITY;
  sub(point, body->def.position, from);
  quat_rotate(back, from, p);
  for (size_t t = 0; t < data->triangle_count; t++) {
    const double *corner[3];
    for (size_t k = 0; k < 3; k++) corner[k] = data->vertex + 3 * (size_t)data->triangle[3 * t + k];
    if (mesh->half_space) return plane_distance(p, corner);
    best = fmin(best, triangle_distance(p, corner));
  }
  for (size_t e = 0; e < data->edge_count; e++)
    best = fmin(best, segment_distance(p, data->vertex + 3 * (size_t)data->edge[2 * e], data->vertex + 3 * (size_t)data->edge[2 * e + 1]));
  for (size_t v = 0; !data->triangle_count && !data->edge_count && v < data->vertex_count; v++)
    best = fmin(best, segment_distance(p, data->vertex + 3 * v, data->vertex + 3 * v));
  return sqrt(best);
}
