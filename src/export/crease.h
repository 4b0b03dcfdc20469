/* Normals for shading: smooth over a surface, sharp at its creases. A corner's normal is the mean of those triangles
 * around its vertex that face within CREASE_DEGREES of its own, weighted by their angle at the vertex: a ball looks round
 * and a box keeps its edges. Tested in tests/test_export.c. */
#ifndef ABD_EXPORT_CREASE_H
#define ABD_EXPORT_CREASE_H

#include "record/run.h"

enum { CREASE_DEGREES = 35 };

/* Unit normals of every triangle's three corners in rest coordinates, [9 triangle_count] malloc'ed, the triangle's own
 * where it is flat; 0 0 1 where a triangle has no area. NULL when out of memory. */
float *crease_normals(const RunMesh *mesh);

#endif
