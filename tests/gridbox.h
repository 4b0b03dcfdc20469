/* A box whose faces are divided unevenly into n x n squares of two triangles each, for the tests of contact. */
#ifndef TESTS_GRIDBOX_H
#define TESTS_GRIDBOX_H

#include "abd/abd.h"
#include "math/vec.h"

enum { GRID_MAX = 16, GRID_VERTICES = 6 * (GRID_MAX + 1) * (GRID_MAX + 1), GRID_TRIANGLES = 12 * GRID_MAX * GRID_MAX };

typedef struct Grid {
  double vertex[3 * GRID_VERTICES];
  uint32_t triangle[3 * GRID_TRIANGLES];
  size_t vertices, triangles;
} Grid;

static inline uint32_t grid_vertex(Grid *g, const double x[3]) {
  for (uint32_t i = 0; i < g->vertices; i++)
    if (g->vertex[3 * i] == x[0] && g->vertex[3 * i + 1] == x[1] && g->vertex[3 * i + 2] == x[2]) return i;
  for (int k = 0; k < 3; k++) g->vertex[3 * g->vertices + k] = x[k];
  return (uint32_t)g->vertices++;
}

static inline void grid_triangle(Grid *g, uint32_t a, uint32_t b, uint32_t c) {
  uint32_t *t = g->triangle + 3 * g->triangles++;
  t[0] = a;
  t[1] = b;
  t[2] = c;
}

/* Point i of n along an edge of length 1 about the origin. */
static inline double grid_at(int i, int n) {
  double s = (double)i / n;
  return i == 0 ? -0.5 : i == n ? 0.5 : s - 0.5 + 0.04 * (1 - s) * s * n / 4;
}

/* raise: how far a vertex inside the face z = max is raised. */
static inline AbdMeshDef grid_box(Grid *g, int n, Vec3 size, double raise) {
  double length[3] = {size.x, size.y, size.z};
  g->vertices = g->triangles = 0;
  for (int face = 0; face < 6; face++)
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) {
        int axis = face / 2, u = (axis + 1) % 3, v = (axis + 2) % 3;
        uint32_t c[4];
        for (int k = 0; k < 4; k++) {
          double x[3];
          x[axis] = (face % 2 ? 0.5 : -0.5) * length[axis];
          x[u] = grid_at(i + (k & 1), n) * length[u];
          x[v] = grid_at(j + (k >> 1), n) * length[v];
          if (face == 5 && i == 0 && j == 0 && k == 3) x[axis] += raise;
          if (face == 5 && raise > 0 && (i || j) && i + (k & 1) == 1 && j + (k >> 1) == 1) x[axis] += raise;
          c[k] = grid_vertex(g, x);
        }
        bool turned = (i + j) % 2, out = face % 2;
        uint32_t a = c[out ? 1 : 2], b = c[out ? 2 : 1];
        if (turned) {
          grid_triangle(g, c[0], a, c[3]);
          grid_triangle(g, c[0], c[3], b);
        } else {
          grid_triangle(g, c[0], a, b);
          grid_triangle(g, a, c[3], b);
        }
      }
  AbdMeshDef def = {.name = "divided box", .vertex = g->vertex, .vertex_count = g->vertices};
  def.triangle = g->triangle;
  def.triangle_count = g->triangles;
  def.keep_frame = true;
  return def;
}

#endif
