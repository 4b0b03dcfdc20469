/* A soft body's surface at one pose, and the side of a pair that contact code works on.
 *
 * A Mesh is immutable. The vertices of a soft body move one by one, so its positions, its motions and the tree boxes
 * around both are a Surface. The owner (a backend, or a query) writes x, dx and start, calls the refit functions,
 * and passes the surface on as a constant value. A Side holds what stiff and soft bodies have in common: a stiff
 * side has rest coordinates and a pose, a soft side has world coordinates and the identity as its pose. Tested in
 * tests/test_soft_contact.c and tests/test_mesh.c. */
#ifndef ABD_GEOM_SURFACE_H
#define ABD_GEOM_SURFACE_H

#include "geom/mesh.h"

/* lo and hi of a box, rounded outward. */
typedef float FloatBox[6];

typedef struct Surface {
  const Mesh *mesh;
  Vec3 *x;                          /* positions of the vertices [m] */
  Vec3 *dx;                         /* their motions along the search direction [m] */
  Vec3 *start;                      /* their positions at the start of the step [m] */
  int *fixed;                       /* the body that a vertex is attached to; < 0 = none */
  FloatBox *node_box, *element_box; /* of the positions, by tree node and by element */
  FloatBox *node_dx, *element_dx;   /* of the motions */
  Box box;                          /* of all positions */
  double radius;                    /* of the farthest position from the origin [m] */
} Surface;

/* A surface at the mesh's own coordinates, at rest, attached to no body. False if memory runs out; the surface is
 * then empty. */
bool surface_init(Surface *surface, const Mesh *mesh);
void surface_destroy(Surface *surface);      /* takes a zeroed one */
void surface_refit(Surface *surface);        /* call after x has changed */
void surface_refit_motion(Surface *surface); /* call after dx has changed */

typedef struct Side {
  const Mesh *mesh;
  const Surface *surface; /* NULL = stiff */
  const Vec3 *x;          /* rest coordinates of a stiff body, world coordinates of a soft one */
} Side;

static inline Side side_stiff(const Mesh *mesh) { return (Side){mesh, NULL, mesh->vertex}; }
static inline Side side_soft(const Surface *surface) { return (Side){surface->mesh, surface, surface->x}; }
static inline const Box *side_box(const Side *s) { return s->surface ? &s->surface->box : &s->mesh->box; }
static inline double side_radius(const Side *s) { return s->surface ? s->surface->radius : s->mesh->radius; }
/* lo and hi of a node's box in the coordinates of x. */
static inline const float *side_node_box(const Side *s, int node) {
  return s->surface ? s->surface->node_box[node] : s->mesh->node[node].lo;
}
/* The motion of a vertex: along a step d of a stiff body, or the vertex's own motion. */
static inline Vec3 side_motion(const Side *s, const Affine *d, int v) {
  return s->surface ? s->surface->dx[v] : affine_point(d, s->x[v]);
}
/* Is the vertex attached to this body? */
static inline bool side_fixed(const Side *s, int vertex, int body) {
  return s->surface && s->surface->fixed[vertex] == body;
}

#endif
