/* Small meshes by formula, for the tests of meshes and crossings. */
#ifndef ABD_TEST_SHAPE_H
#define ABD_TEST_SHAPE_H

#include <math.h>

#include "geom/mesh.h"

enum { SHAPE_CAPACITY = 8192 };

typedef struct Shape {
  double vertex[3 * SHAPE_CAPACITY];
  uint32_t triangle[3 * SHAPE_CAPACITY];
  size_t vertex_count, triangle_count;
} Shape;

static const double SHAPE_PI = 3.14159265358979323846;

static inline uint32_t shape_vertex(Shape *s, double x, double y, double z) {
  vec3_to(s->vertex + 3 * s->vertex_count, vec3(x, y, z));
  return (uint32_t)s->vertex_count++;
}

static inline void shape_triangle(Shape *s, uint32_t a, uint32_t b, uint32_t c) {
  uint32_t *t = s->triangle + 3 * s->triangle_count++;
  t[0] = a;
  t[1] = b;
  t[2] = c;
}

/* Adds a box of the given sizes around the origin. */
static inline void shape_box(Shape *s, double x, double y, double z) {
  static const uint32_t t[12][3] = {{0, 2, 3}, {0, 3, 1}, {4, 5, 7}, {4, 7, 6}, {0, 1, 5}, {0, 5, 4},
                                    {2, 6, 7}, {2, 7, 3}, {0, 4, 6}, {0, 6, 2}, {1, 3, 7}, {1, 7, 5}};
  uint32_t first = (uint32_t)s->vertex_count;
  for (int i = 0; i < 8; i++)
    shape_vertex(s, (i & 1 ? 0.5 : -0.5) * x, (i & 2 ? 0.5 : -0.5) * y, (i & 4 ? 0.5 : -0.5) * z);
  for (int k = 0; k < 12; k++) shape_triangle(s, first + t[k][0], first + t[k][1], first + t[k][2]);
}

/* A torus about z with n x m quads. */
static inline void shape_torus(Shape *s, double R, double r, uint32_t n, uint32_t m) {
  uint32_t first = (uint32_t)s->vertex_count;
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t j = 0; j < m; j++) {
      double u = 2 * SHAPE_PI * i / n, v = 2 * SHAPE_PI * j / m;
      shape_vertex(s, (R + r * cos(v)) * cos(u), (R + r * cos(v)) * sin(u), r * sin(v));
    }
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t j = 0; j < m; j++) {
      uint32_t i1 = (i + 1) % n, j1 = (j + 1) % m;
      uint32_t a = first + i * m + j, b = first + i1 * m + j, c = first + i1 * m + j1, d = first + i * m + j1;
      shape_triangle(s, a, b, c);
      shape_triangle(s, a, c, d);
    }
}

/* A sphere with n circles of latitude and m meridians. */
static inline void shape_sphere(Shape *s, double radius, uint32_t n, uint32_t m) {
  uint32_t south = shape_vertex(s, 0, 0, -radius), north = shape_vertex(s, 0, 0, radius),
           ring = (uint32_t)s->vertex_count;
  for (uint32_t i = 1; i <= n; i++)
    for (uint32_t j = 0; j < m; j++) {
      double t = SHAPE_PI * i / (n + 1), u = 2 * SHAPE_PI * j / m;
      shape_vertex(s, radius * sin(t) * cos(u), radius * sin(t) * sin(u), -radius * cos(t));
    }
  for (uint32_t j = 0; j < m; j++) {
    uint32_t k = (j + 1) % m, top = ring + (n - 1) * m;
    shape_triangle(s, south, ring + k, ring + j);
    shape_triangle(s, north, top + j, top + k);
    for (uint32_t i = 0; i + 1 < n; i++) {
      uint32_t a = ring + i * m + j, b = ring + i * m + k;
      shape_triangle(s, a, b, b + m);
      shape_triangle(s, a, b + m, a + m);
    }
  }
}

static inline void shape_move(Shape *s, Affine pose) {
  for (size_t i = 0; i < s->vertex_count; i++)
    vec3_to(s->vertex + 3 * i, affine_point(&pose, vec3_from(s->vertex + 3 * i)));
}

static inline void shape_turn_inside_out(Shape *s) {
  for (size_t t = 0; t < s->triangle_count; t++) {
    uint32_t keep = s->triangle[3 * t];
    s->triangle[3 * t] = s->triangle[3 * t + 1];
    s->triangle[3 * t + 1] = keep;
  }
}

static inline AbdMeshDef shape_def(const Shape *s, const char *name) {
  AbdMeshDef def = {.name = name,
                    .vertex = s->vertex,
                    .vertex_count = s->vertex_count,
                    .triangle = s->triangle,
                    .triangle_count = s->triangle_count};
  return def;
}

/* Uniform in [0, 1), the same on every machine. */
static inline double shape_random(uint64_t *seed) {
  *seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
  return (double)(*seed >> 11) / 9007199254740992.0;
}

static inline Vec3 shape_random_vec3(uint64_t *seed, double size) {
  double x = shape_random(seed), y = shape_random(seed), z = shape_random(seed);
  return scale(size, vec3(2 * x - 1, 2 * y - 1, 2 * z - 1));
}

#endif
