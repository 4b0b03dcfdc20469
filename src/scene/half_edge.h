/* The half-edges of a mesh's triangles, sorted by their ends, so that those of one edge follow each other. Tested in
 * tests/test_mesh_fix.c and tests/cli/usage.sh. */
#ifndef ABD_SCENE_HALF_EDGE_H
#define ABD_SCENE_HALF_EDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct HalfEdge {
  uint32_t low, high, triangle;
  bool forward; /* the triangle runs from low to high */
} HalfEdge;

static inline int half_edge_compare(const void *a, const void *b) {
  const HalfEdge *x = a, *y = b;
  if (x->low != y->low) return x->low < y->low ? -1 : 1;
  if (x->high != y->high) return x->high < y->high ? -1 : 1;
  return (x->triangle > y->triangle) - (x->triangle < y->triangle);
}

/* Fills edge[3 triangle_count]. */
static inline void half_edges_fill(const uint32_t *triangle, size_t triangle_count, HalfEdge *edge) {
  size_t count = 3 * triangle_count;
  for (size_t k = 0; k < count; k++) {
    uint32_t a = triangle[k], b = triangle[k % 3 == 2 ? k - 2 : k + 1];
    edge[k] = (HalfEdge){a < b ? a : b, a < b ? b : a, (uint32_t)(k / 3), a < b};
  }
  qsort(edge, count, sizeof *edge, half_edge_compare);
}

/* The number of half-edges of the first edge, out of count > 0. */
static inline size_t half_edges_of_one(const HalfEdge *edge, size_t count) {
  size_t n = 1;
  while (n < count && edge[n].low == edge->low && edge[n].high == edge->high) n++;
  return n;
}

#endif
