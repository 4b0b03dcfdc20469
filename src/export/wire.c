/* See wire.h. Tested in tests/test_export.c. */
#include "export/wire.h"

#include <stdlib.h>
#include <string.h>

/* Vertices that neither a triangle nor an edge uses are points. */
bool wires_find(const RunMesh *mesh, WireList *wires) {
  *wires = (WireList){0};
  unsigned char *used = calloc(mesh->vertex_count + 1, 1);
  wires->edge = malloc((mesh->edge_count + mesh->vertex_count + 1) * sizeof *wires->edge);
  if (!used || !wires->edge) {
    free(used);
    wires_free(wires);
    return false;
  }
  enum { BY_TRIANGLE = 1, BY_EDGE = 2 };
  for (size_t k = 0; k < 3 * mesh->triangle_count; k++) used[mesh->triangle[k]] = BY_TRIANGLE;
  for (size_t k = 0; k < 4 * mesh->tet_count; k++) used[mesh->tet[k]] = BY_TRIANGLE; /* vertices inside a soft body */
  for (size_t k = 0; k < mesh->edge_count; k++) {
    const uint32_t *edge = mesh->edge + 2 * k;
    if (used[edge[0]] & used[edge[1]] & BY_TRIANGLE) continue;
    memcpy(wires->edge[wires->count++], edge, sizeof *wires->edge);
    for (int i = 0; i < 2; i++) used[edge[i]] |= BY_EDGE;
  }
  for (uint32_t v = 0; v < mesh->vertex_count; v++)
    if (!used[v]) wires->edge[wires->count][0] = v, wires->edge[wires->count++][1] = v;
  free(used);
  return true;
}

void wires_free(WireList *wires) {
  free(wires->edge);
  *wires = (WireList){0};
}
