/* Generalised winding number of a set of triangles: the sum of their solid angles seen from a point, over 4 pi. It is 1
 * inside of a closed surface with outward triangles and 0 outside; with holes it falls off smoothly across them.
 *
 * A distant group of triangles counts as a dipole, its area vector at its centre, if the point is farther away than
 * WINDING_FAR radii of the group. Triangles are sorted along a Morton curve, and groups are halves of their ranges.
 * Tested in tests/test_winding.c. */
#ifndef ABD_GEOM_WINDING_H
#define ABD_GEOM_WINDING_H

#include "base/base.h"
#include "math/vec.h"

typedef struct Corners {
  Vec3 v[3];
} Corners;

typedef struct WindingGroup {
  Vec3 center, area; /* mean of the triangles by area; sum of area vectors */
  double radius;
  int first, count;
  int left; /* the groups left and left + 1 are its halves; 0: a leaf */
} WindingGroup;

typedef struct Winding {
  int count, group_count;
  Corners *triangle; /* sorted */
  WindingGroup *group;
} Winding;

/* False if memory runs out; the winding is then empty. */
bool winding_init(Winding *winding, const Corners *triangle, int count);
void winding_destroy(Winding *winding);
double winding_at(const Winding *winding, Vec3 p);

#endif
