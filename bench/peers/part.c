/* See part.h. */
#include "part.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double length_of(const double v[3]) { return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

/* ---- Recognising parts ---- */

/* Centre and half extents of the box around it. */
static double measure(Part *part) {
  double lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY};
  for (size_t v = 0; v < 3 * part->vertex_count; v++) {
    lo[v % 3] = fmin(lo[v % 3], part->vertex[v]);
    hi[v % 3] = fmax(hi[v % 3], part->vertex[v]);
  }
  for (int k = 0; k < 3; k++) part->center[k] = 0.5 * (lo[k] + hi[k]), part->half[k] = 0.5 * (hi[k] - lo[k]);
  return length_of(part->half);
}

/* Eight vertices, one in each corner of the bounding box: with twelve triangles this is a box. */
static bool is_box(const Part *part, double tolerance) {
  unsigned seen = 0;
  if (part->vertex_count != 8 || part->triangle_count != 12) return false;
  for (int v = 0; v < 8; v++) {
    unsigned corner = 0;
    for (int k = 0; k < 3; k++) {
      double x = part->vertex[3 * v + k] - part->center[k];
      if (fabs(fabs(x) - part->half[k]) > tolerance) return false;
      corner |= (unsigned)(x > 0) << k;
    }
    seen |= 1u << corner;
  }
  return seen == 0xff;
}

/* A fine mesh whose vertices lie on a sphere around the centre. */
static bool is_ball(const Part *part, double tolerance) {
  if (part->vertex_count < 42) return false;
  for (size_t v = 0; v < part->vertex_count; v++) {
    double x[3];
    for (int k = 0; k < 3; k++) x[k] = part->vertex[3 * v + (size_t)k] - part->center[k];
    if (fabs(length_of(x) - part->half[0]) > tolerance) return false;
  }
  return true;
}

static bool is_convex(const Part *part, double tolerance) {
  for (size_t t = 0; t < part->triangle_count; t++) {
    const double *a = part->vertex + 3 * (size_t)part->triangle[3 * t],
                 *b = part->vertex + 3 * (size_t)part->triangle[3 * t + 1];
    const double *c = part->vertex + 3 * (size_t)part->triangle[3 * t + 2];
    double u[3], w[3], n[3];
    for (int k = 0; k < 3; k++) u[k] = b[k] - a[k], w[k] = c[k] - a[k];
    for (int k = 0; k < 3; k++) n[k] = u[(k + 1) % 3] * w[(k + 2) % 3] - u[(k + 2) % 3] * w[(k + 1) % 3];
    double size = length_of(n);
    for (size_t v = 0; v < part->vertex_count; v++) {
      const double *x = part->vertex + 3 * v;
      if (n[0] * (x[0] - a[0]) + n[1] * (x[1] - a[1]) + n[2] * (x[2] - a[2]) > tolerance * size) return false;
    }
  }
  return true;
}

/* The number of sides of a tube whose vertices are stored ring by ring: the least for which every triangle is within
 * two neighbouring rings. 0: no tube. V - E + F = 0 of a closed tube means F = 2 V. */
static size_t tube_sides(const Part *part) {
  if (part->triangle_count != 2 * part->vertex_count) return 0;
  for (size_t sides = 3; sides <= part->vertex_count / 3; sides++) {
    size_t rings = part->vertex_count / sides;
    bool fits = part->vertex_count % sides == 0;
    for (size_t t = 0; fits && t < 3 * part->triangle_count; t++) {
      size_t a = part->triangle[t] / sides, b = part->triangle[t - t % 3 + (t + 1) % 3] / sides;
      size_t apart = (a + rings - b) % rings;
      fits = apart <= 1 || apart == rings - 1;
    }
    if (fits) return sides;
  }
  return 0;
}

static void add_hulls(Part *part, size_t count) {
  part->hull = peer_alloc(count, sizeof *part->hull);
  part->hull_count = count;
}

static void whole_hull(Part *part) {
  add_hulls(part, 1);
  size_t size = 3 * part->vertex_count * sizeof(double);
  part->hull[0].vertex = peer_alloc(1, size), part->hull[0].vertex_count = part->vertex_count;
  memcpy(part->hull[0].vertex, part->vertex, size);
}

/* One hull between each ring of vertices and the next. */
static void tube_hulls(Part *part, size_t sides) {
  size_t rings = part->vertex_count / sides, size = 3 * sides * sizeof(double);
  add_hulls(part, rings);
  for (size_t r = 0; r < rings; r++) {
    Hull *hull = &part->hull[r];
    hull->vertex = peer_alloc(2, size), hull->vertex_count = 2 * sides;
    memcpy(hull->vertex, part->vertex + 3 * sides * r, size);
    memcpy(hull->vertex + 3 * sides, part->vertex + 3 * sides * ((r + 1) % rings), size);
  }
}

/* An open surface has no inside and so no hull. */
static void recognize(Part *part, bool closed) {
  double size = measure(part), tolerance = 1e-9 * size;
  size_t sides = 0;
  if (!closed) part->kind = PART_CONCAVE;
  else if (is_box(part, tolerance)) part->kind = PART_BOX;
  else if (is_ball(part, 1e-6 * size)) part->kind = PART_BALL;
  else if (is_convex(part, 1e-7 * size)) part->kind = PART_CONVEX;
  else if ((sides = tube_sides(part))) part->kind = PART_RING;
  else part->kind = PART_CONCAVE;
  if (part->kind == PART_RING) tube_hulls(part, sides);
  else if (part->kind != PART_CONCAVE) whole_hull(part);
}

/* ---- Connected components ---- */

static uint32_t root_of(uint32_t *parent, uint32_t v) {
  while (parent[v] != v) v = parent[v] = parent[parent[v]];
  return v;
}

static void join(uint32_t *parent, uint32_t a, uint32_t b) {
  a = root_of(parent, a), b = root_of(parent, b);
  if (a < b) parent[b] = a;
  else parent[a] = b;
}

/* The part of the vertices whose root is first; number[v] becomes a vertex's number in its part. */
static void take_part(const PeerMesh *mesh, uint32_t *parent, uint32_t first, uint32_t *number, Part *part) {
  *part = (Part){.vertex = peer_alloc(mesh->vertex_count, 3 * sizeof(double)),
                 .triangle = peer_alloc(mesh->triangle_count, 3 * sizeof(uint32_t))};
  for (uint32_t v = 0; v < mesh->vertex_count; v++)
    if (root_of(parent, v) == first) {
      memcpy(part->vertex + 3 * part->vertex_count, mesh->vertex + 3 * (size_t)v, 3 * sizeof(double));
      number[v] = (uint32_t)part->vertex_count++;
    }
  for (size_t t = 0; t < mesh->triangle_count; t++)
    if (root_of(parent, mesh->triangle[3 * t]) == first) {
      for (size_t k = 0; k < 3; k++) part->triangle[3 * part->triangle_count + k] = number[mesh->triangle[3 * t + k]];
      part->triangle_count++;
    }
  recognize(part, mesh->closed);
}

void parts_find(PeerMesh *mesh) {
  uint32_t *parent = peer_alloc(mesh->vertex_count, sizeof *parent),
           *number = peer_alloc(mesh->vertex_count, sizeof *number);
  for (uint32_t v = 0; v < mesh->vertex_count; v++) parent[v] = v;
  for (size_t t = 0; t < mesh->triangle_count; t++)
    for (size_t k = 0; k < 2; k++) join(parent, mesh->triangle[3 * t + k], mesh->triangle[3 * t + k + 1]);
  size_t count = 0;
  for (uint32_t v = 0; v < mesh->vertex_count; v++) count += root_of(parent, v) == v;
  mesh->part = peer_alloc(count, sizeof *mesh->part);
  for (uint32_t v = 0; v < mesh->vertex_count; v++)
    if (root_of(parent, v) == v) take_part(mesh, parent, v, number, &mesh->part[mesh->part_count++]);
  free(parent), free(number);
}

void parts_free(PeerMesh *mesh) {
  for (size_t p = 0; p < mesh->part_count; p++) {
    Part *part = &mesh->part[p];
    for (size_t h = 0; h < part->hull_count; h++) free(part->hull[h].vertex);
    free(part->hull), free(part->vertex), free(part->triangle);
  }
  free(mesh->part);
}
