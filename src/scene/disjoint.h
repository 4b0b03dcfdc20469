/* Disjoint sets of vertices or triangles, as base/disjoint.h has them for the solver. */
#ifndef ABD_SCENE_DISJOINT_H
#define ABD_SCENE_DISJOINT_H

#include <stdint.h>

static inline uint32_t disjoint_root(uint32_t *parent, uint32_t i) {
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

/* The smaller root becomes the root of both sets. */
static inline void disjoint_join(uint32_t *parent, uint32_t a, uint32_t b) {
  a = disjoint_root(parent, a), b = disjoint_root(parent, b);
  parent[a > b ? a : b] = a > b ? b : a;
}

#endif
