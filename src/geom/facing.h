/* Which triangles of a surface face the other way than their neighbours.
 *
 * Two triangles that alone share an edge face the same side if they traverse it in opposite directions. Such edges join
 * triangles to patches. Within a patch the sign of each triangle follows from that of the first one; the larger area of
 * a patch keeps its side. A patch with one side only (Moebius) is left as it is. CAD programs write each face of a part
 * with an orientation of its own, so that half of a closed surface can be flipped. Tested in tests/test_winding.c. */
#ifndef ABD_GEOM_FACING_H
#define ABD_GEOM_FACING_H

#include "geom/mesh.h"

/* [element_count] 1 or -1, by mem_alloc; NULL if memory runs out. */
signed char *facing_find(const Mesh *mesh);

#endif
