/* See surface_distance.h. */
#include "scene/surface_distance.h"

#include <math.h>
#include <stdlib.h>

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

/* Squared distance from the plane if the foot is inside the triangle, else from the nearest side. */
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

/* ---- Elements ---- */

/* Triangles first, then wires; the vertices if there are neither. */
static size_t element_count(const MeshData *m) {
  return m->triangle_count + m->edge_count ? m->triangle_count + m->edge_count : m->vertex_count;
}

static int element_corners(const MeshData *m, size_t e, const double *corner[3]) {
  if (!(m->triangle_count + m->edge_count)) return corner[0] = m->vertex + 3 * e, 1;
  bool triangle = e < m->triangle_count;
  const uint32_t *index = triangle ? m->triangle + 3 * e : m->edge + 2 * (e - m->triangle_count);
  for (int k = 0; k < (triangle ? 3 : 2); k++) corner[k] = m->vertex + 3 * (size_t)index[k];
  return triangle ? 3 : 2;
}

/* Whether the element's box, wider by the reach, holds the point, and the element is within reach. */
static bool element_near(const SurfaceIndex *s, size_t e, const double p[3]) {
  const double *corner[3];
  int n = element_corners(&s->mesh->data, e, corner);
  for (int k = 0; k < 3; k++) {
    double lo = corner[0][k], hi = lo;
    for (int c = 1; c < n; c++) lo = fmin(lo, corner[c][k]), hi = fmax(hi, corner[c][k]);
    if (p[k] < lo - s->reach || p[k] > hi + s->reach) return false;
  }
  double squared = n == 3 ? triangle_distance(p, corner) : segment_distance(p, corner[0], corner[n - 1]);
  return sqrt(squared) <= s->reach;
}

/* ---- Slices ---- */

static size_t slice_of(const SurfaceIndex *s, double x) {
  double slice = s->width > 0 ? floor((x - s->low) / s->width) : 0;
  return (size_t)fmin(fmax(slice, 0), SURFACE_SLICES - 1);
}

static void choose_axis(SurfaceIndex *s) {
  const MeshData *m = &s->mesh->data;
  double best = -1;
  for (int k = 0; k < 3; k++) {
    double lo = INFINITY, hi = -INFINITY;
    for (size_t v = 0; v < m->vertex_count; v++)
      lo = fmin(lo, m->vertex[3 * v + (size_t)k]), hi = fmax(hi, m->vertex[3 * v + (size_t)k]);
    if (!(hi - lo > best)) continue;
    best = hi - lo, s->axis = k, s->low = lo, s->width = best / SURFACE_SLICES;
  }
}

/* The first walk counts, the second fills: start then is moved on to each slice's end, and moved back. */
static void fill_slices(SurfaceIndex *s, bool fill) {
  for (size_t e = 0; e < element_count(&s->mesh->data); e++) {
    const double *corner[3];
    int n = element_corners(&s->mesh->data, e, corner);
    double lo = corner[0][s->axis], hi = lo;
    for (int c = 1; c < n; c++) lo = fmin(lo, corner[c][s->axis]), hi = fmax(hi, corner[c][s->axis]);
    for (size_t k = slice_of(s, lo - s->reach), last = slice_of(s, hi + s->reach); k <= last; k++) {
      if (fill) s->element[s->start[k]] = (uint32_t)e;
      s->start[fill ? k : k + 1]++;
    }
  }
  for (size_t k = 1; !fill && k <= SURFACE_SLICES; k++) s->start[k] += s->start[k - 1];
  for (size_t k = SURFACE_SLICES; fill && k > 0; k--) s->start[k] = s->start[k - 1];
  if (fill) s->start[0] = 0;
}

bool surface_index_create(SurfaceIndex *s, const Scene *scene, size_t body, double reach) {
  *s = (SurfaceIndex){.body = &scene->body[body], .mesh = &scene->mesh[scene->body[body].mesh], .reach = reach};
  if (s->mesh->half_space) return true;
  choose_axis(s);
  s->start = calloc(SURFACE_SLICES + 1, sizeof *s->start);
  if (!s->start) return false;
  fill_slices(s, false);
  s->element = malloc((s->start[SURFACE_SLICES] + 1) * sizeof *s->element);
  if (s->element) fill_slices(s, true);
  else surface_index_destroy(s);
  return s->element != NULL;
}

void surface_index_destroy(SurfaceIndex *s) {
  free(s->start);
  free(s->element);
  s->start = NULL, s->element = NULL;
}

bool surface_index_near(const SurfaceIndex *s, const double point[3]) {
  const double *q = s->body->def.rotation, back[4] = {q[0], -q[1], -q[2], -q[3]};
  double from[3], p[3];
  sub(point, s->body->def.position, from);
  quat_rotate(back, from, p);
  if (s->mesh->half_space) {
    const double *corner[3];
    element_corners(&s->mesh->data, 0, corner);
    return plane_distance(p, corner) <= s->reach;
  }
  size_t slice = slice_of(s, p[s->axis]);
  for (size_t k = s->start[slice]; k < s->start[slice + 1]; k++)
    if (element_near(s, s->element[k], p)) return true;
  return false;
}
