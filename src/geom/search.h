/* Searches on posed surfaces by their trees: nearest points, casts of rays and balls, overlap with boxes, containment.
 *
 * A search descends the tree with the world's boxes of the nodes and computes each element in world coordinates, so
 * that results do not depend on the tree. Ties are decided by the order of descent, which depends on the boxes alone.
 * Tested in tests/test_query.c. */
#ifndef ABD_GEOM_SEARCH_H
#define ABD_GEOM_SEARCH_H

#include "geom/surface.h"

/* A surface at a pose; that of a soft side is the identity. */
typedef struct Placed {
  Side side;
  Affine q;
} Placed;

/* Nearest points of two surfaces, or of a surface and a point. */
typedef struct Nearest {
  double distance_sq; /* in: nothing farther is searched */
  int element[2];     /* -1 if nothing was found */
  Vec3 point[2];
} Nearest;

/* The nearest point of a surface to x, if it is nearer than found; true then. */
bool search_point(const Placed *p, Vec3 x, Nearest *found);
/* The nearest points of two surfaces, 0 apart if they cross. Of a half-space the plane of its first triangle, solid
 * behind it. */
bool search_pair(const Placed *a, const Placed *b, Nearest *found);

/* A ball, or a ray if the radius is 0, that moves along a unit direction. */
typedef struct Cast {
  Vec3 origin, direction;
  double radius;
} Cast;

typedef struct CastHit {
  double way; /* in: the longest way */
  int element;
  Vec3 point, normal; /* on the surface; unit, towards the ball */
} CastHit;

/* The first touch on a way shorter than hit->way; true then. A ball that touches at the start has the way 0. Rays hit
 * triangles alone. */
bool search_cast(const Placed *p, const Cast *cast, CastHit *hit);

/* Does the surface, or what it encloses, meet the box |frame^-1 x| <= half? */
bool search_box(const Placed *p, const Affine *frame, Vec3 half);
/* Is x inside a closed surface or a half-space? */
bool search_contains(const Placed *p, Vec3 x);
/* Unit normal and offset of a half-space's plane. */
double search_plane(const Placed *p, Vec3 *normal);

#endif
