/* A box of tets for tests: cells of a grid, each cut into six around its diagonal. */
#ifndef ABD_TESTS_JELLY_H
#define ABD_TESTS_JELLY_H

#include <abd/abd.h>

#include <string.h>

enum {
  JELLY_CELLS = 2,
  JELLY_SIDE = JELLY_CELLS + 1,
  JELLY_VERTICES = JELLY_SIDE * JELLY_SIDE * JELLY_SIDE,
  JELLY_TETS = 6 * JELLY_CELLS * JELLY_CELLS * JELLY_CELLS
};

typedef struct Jelly {
  double vertex[3 * JELLY_VERTICES];
  uint32_t tet[4 * JELLY_TETS];
} Jelly;

static inline uint32_t jelly_vertex(const int p[3]) {
  return (uint32_t)((p[0] * JELLY_SIDE + p[1]) * JELLY_SIDE + p[2]);
}

/* A cube of the given size about the origin. */
static inline void jelly_fill(Jelly *jelly, double size) {
  static const int order[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
  uint32_t *tet = jelly->tet;
  int p[3];
  for (p[0] = 0; p[0] < JELLY_SIDE; p[0]++)
    for (p[1] = 0; p[1] < JELLY_SIDE; p[1]++)
      for (p[2] = 0; p[2] < JELLY_SIDE; p[2]++) {
        for (int k = 0; k < 3; k++)
          jelly->vertex[3 * jelly_vertex(p) + (uint32_t)k] = size * ((double)p[k] / JELLY_CELLS - 0.5);
        for (int o = 0; o < 6 && p[0] < JELLY_CELLS && p[1] < JELLY_CELLS && p[2] < JELLY_CELLS; o++, tet += 4) {
          int at[3] = {p[0], p[1], p[2]};
          tet[0] = jelly_vertex(at);
          for (int k = 0; k < 3; k++) at[order[o][k]]++, tet[k + 1] = jelly_vertex(at);
          if (o >= 3) {
            uint32_t swap = tet[2];
            tet[2] = tet[3], tet[3] = swap;
          }
        }
      }
}

static inline AbdSoftDef jelly_def(const Jelly *jelly) {
  AbdSoftDef def = abd_default_soft_def();
  def.name = "jelly", def.vertex = jelly->vertex, def.vertex_count = JELLY_VERTICES;
  def.tet = jelly->tet, def.tet_count = JELLY_TETS;
  return def;
}

#endif
