/* Covers the holes of a surface. The directed edges that the triangles of a surface leave unpaired form loops. A lid on
 * each loop, a fan about its mean point, makes the surface closed in the sense that every directed edge has its
 * reverse. The lid of a missing triangle is that triangle. A repeated triangle gets its reverse, so both vanish, and a
 * flipped one that facing.h cannot turn gets two that face the right way. Tested in tests/test_winding.c. */
#ifndef ABD_GEOM_LID_H
#define ABD_GEOM_LID_H

#include "geom/mesh.h"
#include "geom/winding.h"

typedef struct Lids {
  Corners *triangle;
  int count, small_count; /* the triangles of small loops come first */
} Lids;

/* A loop is small if the diagonal of its box is below LID_SMALL of the mesh's, or if no edge of it belongs to one
 * triangle alone: flipped and repeated triangles leave no opening. Triangles with the sign -1 (geom/facing.h) count as
 * flipped. False if memory runs out. */
bool lids_find(Lids *lids, const Mesh *mesh, const signed char *facing);
void lids_destroy(Lids *lids);

#endif
