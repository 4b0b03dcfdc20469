/* See topology.h. */
#include "scene/topology.h"

#include "scene/disjoint.h"
#include "scene/half_edge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void found(Finding *finding, uint32_t triangle, uint32_t a, uint32_t b) {
  if (finding->count++ == 0) *finding = (Finding){1, triangle, {a, b}};
}

static void classify(Topology *topology, const HalfEdge *edge, size_t count) {
  size_t forward = 0;
  for (size_t k = 0; k < count; k++) forward += edge[k].forward;
  if (count == 1) found(&topology->open_edge, edge->triangle, edge->low, edge->high);
  else if (count > 2) found(&topology->many_edge, edge->triangle, edge->low, edge->high);
  else if (forward != 1) found(&topology->against_edge, edge[1].triangle, edge->low, edge->high);
}

static bool find_edges(const MeshShape *mesh, Topology *topology) {
  size_t count = 3 * mesh->triangle_count, n;
  HalfEdge *edge = malloc((count + 1) * sizeof *edge);
  if (!edge) return false;
  half_edges_fill(mesh->triangle, mesh->triangle_count, edge);
  for (size_t k = 0; k < count; k += n) {
    n = half_edges_of_one(edge + k, count - k);
    if (edge[k].low != edge[k].high) classify(topology, edge + k, n);
  }
  free(edge);
  return true;
}

static void corner_difference(const MeshShape *mesh, size_t triangle, int corner, double d[3]) {
  const uint32_t *t = mesh->triangle + 3 * triangle;
  for (int k = 0; k < 3; k++) d[k] = mesh->vertex[3 * t[corner] + (size_t)k] - mesh->vertex[3 * t[0] + (size_t)k];
}

/* Sum of a . (b x c) / 6 about the first vertex, and triangles with zero area beside their longest edge. */
static void measure(const MeshShape *mesh, Topology *topology) {
  for (size_t t = 0; t < mesh->triangle_count; t++) {
    double u[3], v[3], a[3];
    corner_difference(mesh, t, 1, u), corner_difference(mesh, t, 2, v);
    double n[3] = {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]};
    double length_sq = fmax(u[0] * u[0] + u[1] * u[1] + u[2] * u[2], v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    const uint32_t *corner = mesh->triangle + 3 * t;
    if (n[0] * n[0] + n[1] * n[1] + n[2] * n[2] <= 1e-28 * length_sq * length_sq)
      found(&topology->degenerate, (uint32_t)t, corner[0], corner[1]);
    for (int k = 0; k < 3; k++) a[k] = mesh->vertex[3 * corner[0] + (size_t)k] - mesh->vertex[k];
    topology->volume += (a[0] * n[0] + a[1] * n[1] + a[2] * n[2]) / 6;
  }
}

/* ---- Sorting indices by their items ---- */

typedef struct Place {
  double x[3];
  uint32_t vertex;
} Place;

static int compare_places(const void *a, const void *b) {
  const Place *p = a, *q = b;
  for (int k = 0; k < 3; k++)
    if (p->x[k] != q->x[k]) return p->x[k] < q->x[k] ? -1 : 1;
  return (p->vertex > q->vertex) - (p->vertex < q->vertex);
}

static bool find_twins(const MeshShape *mesh, Topology *topology) {
  Place *place = malloc((mesh->vertex_count + 1) * sizeof *place);
  if (!place) return false;
  for (size_t k = 0; k < mesh->vertex_count; k++) {
    memcpy(place[k].x, mesh->vertex + 3 * k, sizeof place[k].x);
    place[k].vertex = (uint32_t)k;
  }
  qsort(place, mesh->vertex_count, sizeof *place, compare_places);
  for (size_t k = 1; k < mesh->vertex_count; k++) {
    const double *p = place[k].x, *q = place[k - 1].x;
    if (p[0] == q[0] && p[1] == q[1] && p[2] == q[2])
      found(&topology->twin_vertex, 0, place[k - 1].vertex, place[k].vertex);
  }
  free(place);
  return true;
}

typedef struct Corners {
  uint32_t corner[3], triangle;
} Corners;

static int compare_corners(const void *a, const void *b) {
  const Corners *p = a, *q = b;
  for (int k = 0; k < 3; k++)
    if (p->corner[k] != q->corner[k]) return p->corner[k] < q->corner[k] ? -1 : 1;
  return (p->triangle > q->triangle) - (p->triangle < q->triangle);
}

static int compare_indices(const void *a, const void *b) {
  uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

static bool find_repeated(const MeshShape *mesh, Topology *topology) {
  Corners *list = malloc((mesh->triangle_count + 1) * sizeof *list);
  if (!list) return false;
  for (size_t t = 0; t < mesh->triangle_count; t++) {
    memcpy(list[t].corner, mesh->triangle + 3 * t, sizeof list[t].corner);
    qsort(list[t].corner, 3, sizeof(uint32_t), compare_indices);
    list[t].triangle = (uint32_t)t;
  }
  qsort(list, mesh->triangle_count, sizeof *list, compare_corners);
  for (size_t t = 1; t < mesh->triangle_count; t++)
    if (!memcmp(list[t].corner, list[t - 1].corner, sizeof list[t].corner))
      found(&topology->repeated, list[t].triangle, list[t].corner[0], list[t].corner[1]);
  free(list);
  return true;
}

/* ---- Pieces ---- */

static bool count_pieces(const MeshShape *mesh, Topology *topology) {
  uint32_t *parent = malloc((mesh->vertex_count + 1) * sizeof *parent);
  unsigned char *used = calloc(mesh->vertex_count + 1, 1);
  bool good = parent && used;
  for (size_t v = 0; good && v < mesh->vertex_count; v++) parent[v] = (uint32_t)v;
  for (size_t k = 0; good && k < 3 * mesh->triangle_count; k++) {
    used[mesh->triangle[k]] = 1;
    disjoint_join(parent, mesh->triangle[k], mesh->triangle[k - k % 3]);
  }
  for (size_t v = 0; good && v < mesh->vertex_count; v++) {
    if (!used[v]) found(&topology->unused_vertex, 0, (uint32_t)v, (uint32_t)v);
    else topology->piece_count += parent[v] == v;
  }
  free(parent), free(used);
  return good;
}

bool topology_analyse(const MeshShape *mesh, Topology *topology) {
  *topology = (Topology){0};
  if (!find_edges(mesh, topology) || !find_twins(mesh, topology) || !find_repeated(mesh, topology) ||
      !count_pieces(mesh, topology))
    return false;
  measure(mesh, topology);
  topology->closed = mesh->triangle_count > 0 && !topology->open_edge.count && !topology->many_edge.count &&
                     !topology->against_edge.count;
  return true;
}
