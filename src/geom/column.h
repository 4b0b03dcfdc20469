/* The volume inside of a closed surface that may overlap itself, by columns. The box of the surface is divided into
 * columns along z. The line through the middle of a column crosses the surface; the sum of the crossings' signs below a
 * point is the winding number around it, an integer. The parts of the line with a positive number are inside, and
 * they are integrated exactly. A line through an edge counts as moved by an infinitely small amount, so that the sum
 * is always 0 at the end. Tested in tests/test_winding.c. */
#ifndef ABD_GEOM_COLUMN_H
#define ABD_GEOM_COLUMN_H

#include "geom/build.h"
#include "geom/winding.h"

typedef struct Columns {
  Moments inside; /* about a given centre */
  double overlap; /* [m^3] inside of it with a winding number other than 1, and outside other than 0 */
} Columns;

/* The surface consists of two lists of triangles within the box. sign -1: it is inside out. False if memory runs
 * out. */
bool columns_measure(Columns *columns, const Corners *const list[2], const int count[2], Box box, double sign,
                     Vec3 center);

#endif
