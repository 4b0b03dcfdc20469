/* Dual traversal of the trees of a pair's meshes in b's rest frame. It finds the elements whose boxes come within a
 * radius at one relative pose or on the path between two. The order of traversal depends only on the boxes at rest. */
#ifndef ABD_CONTACT_QUERY_H
#define ABD_CONTACT_QUERY_H

#include "contact/cache.h"

/* An element's vertices in b's rest frame, its box and its edges' boxes. Boxes of a contain the path and are inflated
 * by the radius. */
typedef struct Posed {
  const Element *element;
  Vec3 x[3], end[3];
  Box box, edge[3];
} Posed;

/* Boxes of a's nodes or elements in b's rest frame, in single precision, inflated by the reach. */
typedef struct Spans {
  Float8 lo[3], hi[3];
} Spans;

typedef struct Query Query;
struct Query {
  Pair *pair;
  PairCache *cache; /* the pair's */
  const ContactScene *scene;
  Side side[2];      /* of a and b */
  const Mesh *a, *b; /* their meshes */
  bool swept;        /* the path between from and to; else only from */
  Affine from, to;   /* map a's rest frame to b's */
  double radius;
  void (*meet)(Query *, const Posed *a, const Posed *b); /* called for elements with boxes within the radius */
  void *context;
  float reach;       /* the radius plus the rounding of boxes */
  float entry[2][3]; /* lo and hi of the i-AABB in a's rest frame */
  Posed posed[LEAF_MAX];
  Spans posed_span;
  int posed_leaf, posed_count;
  unsigned posed_set; /* bit k: posed[k] is valid */
};

/* Poses an element of a. Its box contains its path and is inflated by the radius. */
void query_pose(const Query *query, int element, Posed *posed);
/* The same of b, whose boxes are not inflated. */
void query_pose_b(const Query *query, int element, Posed *posed);
/* Computes the boxes of an element's vertices and edges and inflates them by the radius. */
void query_boxes(Posed *posed);
void query_inflate(Posed *posed, double radius);
/* detection.c: visits the same elements in the same order with another search. */
void query_otherwise(Query *query, AbdDetection detection);
/* Fills pair, cache, scene, sides and meshes. */
void query_open(Query *query, Pair *pair, const ContactScene *scene);
/* How far boxes in single precision are inflated, so that none within the radius is missed. */
float query_reach(const Affine *from, const Affine *to, const Mesh *a, const Mesh *b, double radius);
/* Fills all of an open query except meet and context, and runs it. to: NULL for a single pose. */
void query_run(Query *query, const Affine *from, const Affine *to, double radius);
/* Lists the stencils of two elements within query->radius as candidates. */
void query_list_elements(Query *query, const Posed *a, const Posed *b);
/* The same of one soft body with itself, each stencil once, except those whose primitives share a vertex. */
void query_list_within(Query *query, const Posed *a, const Posed *b);
/* Lists a vertex of a at this distance from the plane of a half-space b, if it is within query->radius. */
void query_list_vertex(Query *query, int vertex, double dist);
/* The edges of an element with edge-edge stencils, as bits. */
static inline unsigned query_edges(const Side *side, const Element *element) {
  return side->surface ? element->owned_edges : element->sharp_edges;
}
static inline Box points_box(const Vec3 *x, int n) {
  Box box = {x[0], x[0]};
  for (int i = 1; i < n; i++) box = box_add(box, x[i]);
  return box;
}

#endif
