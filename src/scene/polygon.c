/* See polygon.h. */
#include "scene/polygon.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Plane {
  const double *vertex; /* of the mesh */
  int u, v;             /* the axes; a polygon that faces its side is counter-clockwise in them */
  double least;         /* twice the area of a triangle that has one */
} Plane;

bool polygon_add(Polygon *p, uint32_t corner) {
  if (p->count == p->capacity) {
    size_t capacity = p->capacity ? 2 * p->capacity : 16;
    uint32_t *grown = realloc(p->corner, capacity * sizeof *grown);
    if (!grown) return false;
    p->corner = grown, p->capacity = capacity;
  }
  p->corner[p->count++] = corner;
  return true;
}

void polygon_free(Polygon *p) {
  free(p->corner);
  *p = (Polygon){0};
}

/* Twice the signed area of a triangle in the plane. */
static double area(const Plane *plane, uint32_t a, uint32_t b, uint32_t c) {
  const double *x = plane->vertex + 3 * (size_t)a, *y = plane->vertex + 3 * (size_t)b,
               *z = plane->vertex + 3 * (size_t)c;
  int u = plane->u, v = plane->v;
  return (y[u] - x[u]) * (z[v] - x[v]) - (y[v] - x[v]) * (z[u] - x[u]);
}

/* The plane without the axis in which the normal, the sum of the fan's, is largest. */
static Plane find_plane(const Polygon *p, const double *vertex) {
  double normal[3], largest = 0;
  Plane plane = {.vertex = vertex, .u = 0, .v = 1};
  for (int axis = 0; axis < 3; axis++) {
    Plane trial = {.vertex = vertex, .u = (axis + 1) % 3, .v = (axis + 2) % 3};
    normal[axis] = 0;
    for (size_t k = 2; k < p->count; k++) normal[axis] += area(&trial, p->corner[0], p->corner[k - 1], p->corner[k]);
    if (!(fabs(normal[axis]) > largest)) continue;
    largest = fabs(normal[axis]);
    plane = trial;
    if (normal[axis] < 0) plane.u = trial.v, plane.v = trial.u;
  }
  plane.least = 1e-12 * largest;
  return plane;
}

static bool is_fan(const Polygon *p, const Plane *plane) {
  for (size_t k = 2; k < p->count; k++)
    if (!(area(plane, p->corner[0], p->corner[k - 1], p->corner[k]) > plane->least)) return false;
  return true;
}

static bool same_place(const Plane *plane, uint32_t a, uint32_t b) {
  return memcmp(plane->vertex + 3 * (size_t)a, plane->vertex + 3 * (size_t)b, 3 * sizeof(double)) == 0;
}

/* Whether a corner is inside the triangle or on its edges. Corners at the place of one of the triangle's are not: the
 * edges that connect a hole with the outline have such corners. */
static bool contains(const Plane *plane, const uint32_t t[3], uint32_t corner) {
  for (int k = 0; k < 3; k++)
    if (t[k] == corner || same_place(plane, t[k], corner)) return false;
  for (int k = 0; k < 3; k++)
    if (area(plane, t[k], t[(k + 1) % 3], corner) < -plane->least) return false;
  return true;
}

static bool is_ear(const Polygon *p, const Plane *plane, size_t at) {
  size_t n = p->count;
  const uint32_t t[3] = {p->corner[(at + n - 1) % n], p->corner[at], p->corner[(at + 1) % n]};
  if (!(area(plane, t[0], t[1], t[2]) > plane->least)) return false;
  for (size_t k = 0; k < n; k++)
    if (contains(plane, t, p->corner[k])) return false;
  return true;
}

static bool add_fan(const Polygon *p, MeshData *mesh) {
  for (size_t k = 2; k < p->count; k++)
    if (!mesh_add_triangle(mesh, p->corner[0], p->corner[k - 1], p->corner[k])) return false;
  return true;
}

/* If no ear is left, the rest crosses itself or has no area. */
static bool clip(Polygon *p, const Plane *plane, MeshData *mesh) {
  for (size_t at = 0, failed = 0; p->count > 3 && failed < p->count;) {
    size_t n = p->count;
    at %= n;
    if (!is_ear(p, plane, at)) {
      at++, failed++;
      continue;
    }
    if (!mesh_add_triangle(mesh, p->corner[(at + n - 1) % n], p->corner[at], p->corner[(at + 1) % n])) return false;
    memmove(p->corner + at, p->corner + at + 1, (n - at - 1) * sizeof *p->corner);
    p->count--, failed = 0; /* the next ear is sought at the corner after it, so that triangles do not become a fan */
  }
  return add_fan(p, mesh);
}

bool polygon_cut(Polygon *p, MeshData *mesh, bool *too_long) {
  Plane plane = find_plane(p, mesh->vertex);
  bool fan = p->count <= 3 || is_fan(p, &plane);
  *too_long = !fan && p->count > POLYGON_LIMIT;
  bool ok = !*too_long && (fan ? add_fan(p, mesh) : clip(p, &plane, mesh));
  p->count = 0;
  return ok;
}
