/* Wires of a mesh: edges with an end that no triangle uses. Points are edges whose ends are one vertex. */
#ifndef ABD_EXPORT_WIRE_H
#define ABD_EXPORT_WIRE_H

#include "record/run.h"

typedef struct WireList {
  uint32_t (*edge)[2];
  size_t count;
} WireList;

/* False if memory runs out. A mesh of triangles alone has none. */
bool wires_find(const RunMesh *mesh, WireList *wires);
void wires_free(WireList *wires);

#endif
