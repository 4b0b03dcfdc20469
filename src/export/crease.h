/* Normals for shading: smooth over a surface, sharp at its creases. A corner's normal is the mean of the normals of
 * the triangles around its vertex that differ from its own by less than CREASE_DEGREES, weighted by their angle at the
 * vertex. So a ball looks round and a box has sharp edges. Tested in tests/test_export.c. */
#ifndef ABD_EXPORT_CREASE_H
#define ABD_EXPORT_CREASE_H

#include "record/run.h"

enum { CREASE_DEGREES = 35 };

/* Unit normals of every triangle's three corners in rest coordinates, [9 triangle_count] malloc'ed: the triangle's own
 * if the surface is flat there. A triangle without area has the normal of a neighbour, 0 0 1 if it has none. NULL if
 * memory runs out. */
float *crease_normals(const RunMesh *mesh);

#endif
