/* Tests whether two surfaces share a point. The test is exact: it uses the signs of orient3d, evaluated with adaptive
 * precision on the double coordinates of the posed vertices, and has no tolerance. Touching counts as crossing. Tested
 * in tests/test_crossing.c. */
#ifndef ABD_GEOM_CROSSING_H
#define ABD_GEOM_CROSSING_H

#include "geom/surface.h"

typedef struct Crossing {
  int element_a, element_b; /* indices into mesh->element */
  Vec3 point;
} Crossing;

/* The sign of the volume of tetrahedron abcd: > 0 if d is below the plane in which a, b, c are counter-clockwise as
 * seen from above. Exact. */
int orient3d_sign(Vec3 a, Vec3 b, Vec3 c, Vec3 d);
/* Whether the two primitives share a point. Exact, also for degenerate ones; triangles are closed. */
bool segment_crosses_triangle(Vec3 p, Vec3 q, Vec3 a, Vec3 b, Vec3 c);
bool triangle_crosses_triangle(const Vec3 a[3], const Vec3 b[3]);
bool segment_crosses_segment(Vec3 p, Vec3 q, Vec3 a, Vec3 b);

/* The first crossing of two posed meshes in tree order. A half-space crosses every mesh with a vertex on or behind the
 * plane of its first triangle. */
bool mesh_find_crossing(const Mesh *a, const Affine *pose_a, const Mesh *b, const Affine *pose_b, Crossing *crossing);
/* The same for the sides of two bodies, given with their numbers. Elements of a soft side with a vertex attached to
 * the other body are left out. */
bool body_find_crossing(Side a, const Affine *pose_a, int body_a, Side b, const Affine *pose_b, int body_b,
                        Crossing *crossing);
/* Pairs of elements of one side that cross without sharing a vertex; writes at most capacity pairs of element indices,
 * returns how many there are, -1 if memory runs out, which is possible only for a stiff side. On a stiff side, elements
 * at the corners of one triangle without area, or of a chain of them, count as sharing a vertex. */
int side_find_self_crossings(Side side, int (*pair)[2], int capacity);
/* A point of both elements of such a pair. */
Vec3 side_crossing_point(Side side, const int pair[2]);

#endif
