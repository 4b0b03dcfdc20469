/* Dual traversal of the trees of a pair's meshes in b's rest frame: which elements come near each other, at one relative
 * pose or anywhere between two. The order of descent depends on the boxes in rest space alone. */
#ifndef ABD_CONTACT_QUERY_H
#define ABD_CONTACT_QUERY_H

#include "contact/pair.h"

typedef float F4 __attribute__((vector_size(16)));
typedef int I4 __attribute__((vector_size(16)));

/* An element's vertices in b's rest frame and the box around them (of a: around where they pass, inflated by the radius). */
typedef struct Posed {
  const Element *element;
  Vec3 x[3], end[3];
  Box box;
} Posed;

/* A relative pose for boxes in single precision, all doubled: shift, columns, their absolute values. */
typedef struct BoxPose { F4 shift, axis[3], span[3]; } BoxPose;

typedef struct Query Query;
struct Query {
  Pair *pair;
  const Mesh *a, *b;
  bool swept;            /* anywhere between from and to; else at from */
  Affine from, to;       /* a's rest space to b's */
  double radius;
  void (*meet)(Query *, const Posed *a, const Posed *b); /* called for elements whose boxes come within the radius */
  void *context;
  BoxPose box_from, box_to;
  F4 reach;
  F4 entry_a[2], entry_b[2]; /* the i-AABB, lo and hi: what of a's and of b's rest space the other body's box reaches */
  Posed posed[LEAF_MAX];
  int posed_leaf, posed_count;
};

/* Fills the query and visits. to: NULL for a single pose. */
void query_run(Query *query, Pair *pair, const ContactScene *scene, const Affine *from, const Affine *to, double radius);
/* The stencils of two elements within query->radius, which is the pair's too, become candidates. */
void query_list_elements(Query *query, const Posed *a, const Posed *b);
/* A vertex of a at this distance from the plane of a half-space b becomes a candidate if it is within the pair's radius. */
void query_list_vertex(Pair *pair, int vertex, double dist);
static inline Box points_box(const Vec3 *x, int n) {
  Box box = {x[0], x[0]};
  for (int i = 1; i < n; i++) box = box_add(box, x[i]);
  return box;
}

#endif
