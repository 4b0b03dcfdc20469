/* What contact code stores many of: candidates, contacts, friction points, moments; and a side's geometry. Plain
 * structs for both compilers. contact/pair.h and contact/cache.h explain them. */
#ifndef ABD_CONTACT_ITEM_H
#define ABD_CONTACT_ITEM_H

#include <stdint.h>

#include "math/vec.h"

enum { STENCIL_VERTEX_TRIANGLE = 0, STENCIL_TRIANGLE_VERTEX = 1, STENCIL_EDGE_EDGE = 2, STENCIL_VERTEX_PLANE = 3 };

/* Dimension of a stencil's side: 0 for a vertex, 1 for an edge, 2 for a triangle. */
KERNEL int stencil_dimension(int kind, bool of_b) {
  return kind == STENCIL_EDGE_EDGE ? 1 : kind == (of_b ? STENCIL_VERTEX_TRIANGLE : STENCIL_TRIANGLE_VERTEX) ? 2 : 0;
}

/* The geometry of one side of a pair. */
typedef struct SideShape {
  const Vec3 *x;       /* rest coordinates of a stiff body, world coordinates of a soft one */
  const Vec3 *dx;      /* motions of a soft body's vertices along the search direction; NULL = stiff */
  const Vec3 *rest;    /* rest coordinates */
  uint32_t (*edge)[2]; /* vertices */
  uint32_t (*triangle)[3];
  double radius;                  /* farthest vertex from the origin, at rest [m] */
  const unsigned char *flat_edge; /* see Mesh; NULL = soft */
  const float *short_edge;        /* by vertex: Mesh.sharp_edge of a stiff body, Mesh.short_edge of a soft one */
} SideShape;

typedef struct Candidate {
  float dist;               /* lower bound at the reference */
  float near;               /* lower bound at the last full evaluation; both in b's rest metric */
  float normal[3], offset;  /* in b's rest frame: b's primitive lies in normal . x <= offset, |normal| <= 1 */
  int kind, prim_a, prim_b; /* vertex, triangle or edge of a's and b's mesh */
} Candidate;

typedef struct Contact {
  int kind, prim_a, prim_b;
  int extra;                        /* the points are not the closest of the stencil, but of parts of it */
  uint64_t feature;                 /* of merged stencils: identifies the features; 0 = the stencil does */
  double gap;                       /* distance less the separation [m] */
  double barrier, slope, curvature; /* of the barrier at y = gap / range, before stiffness and mollifier */
  double weight;                    /* factor of the barrier, see contact/merge.h; contains the mollifier */
  double distance;                  /* of a negative weight */
  Vec3 along;                       /* of a negative weight: direction of the edge, zero between vertices */
  double mollifier;                 /* 1, or less for nearly parallel edges */
  double mollifier_d1;              /* derivative of the weight by |u x v|^2 */
  Vec3 normal;                      /* unit, from b to a */
  Vec3 ya, yb;                      /* closest points, rest coordinates */
  double wa[3], wb[3];              /* ya, yb as weights of the primitives' vertices */
} Contact;

/* Identifies a contact's stencil within its pair. The two highest bits are a FrictionWay in keys of friction. */
KERNEL uint64_t contact_key(const Contact *c) {
  if (c->feature) return c->feature;
  return (uint64_t)c->kind << 60 | (uint64_t)(uint32_t)c->prim_a << 30 | (uint64_t)(uint32_t)c->prim_b;
}

/* What friction acts against. Rolling and spinning are slips of directions instead of points, at an arm R: with the
 * relative rotation t of the step, R n slips by R t x n, and R e, e in the tangent plane, by R (t.n) n x e across. */
typedef enum FrictionWay { FRICTION_SLIDE = 0, FRICTION_ROLL, FRICTION_SPIN, FRICTION_WAYS } FrictionWay;

/* A contact with a normal force that is fixed during an iteration: u = (I - n n^T)(x_a(ya) - x_b(yb) - origin) + slip.
 * Of FRICTION_ROLL ya and yb are directions. Of FRICTION_SPIN too, and u is along the normal: u = n across . (x_a(ya) -
 * x_b(yb) - origin) + slip. */
typedef struct FrictionPoint {
  uint64_t key;
  Vec3 ya, yb, normal;
  Vec3 origin;              /* x_a(ya) - x_b(yb) at the start of the step, less the surfaces' own way */
  Vec3 slip;                /* carried over from earlier steps */
  Vec3 trial, displacement; /* u at the poses of the last pair_eval and at the accepted poses */
  Vec3 force;    /* divided by the load; an unknown of Newton's method besides the slip, f1 u / |u| at the solution */
  double load;   /* mu times normal force, in the units of the incremental potential; over the arm if not sliding */
  double ahead;  /* the load that Newton's step leads to */
  double change; /* of the load since the assembly */
  double miss;   /* how far the load was from the one that Newton's step led to, in the last iteration */
  Vec3 at;       /* where on body a, rest coordinates */
  double claim;  /* if its contact is gone: the sum of the normal forces of contacts that share its load */
  int successor; /* the contact that has its key now, or that gets its load; -1 = several share it */
  int contact;   /* index of the contact it was made from */
  int late;      /* made within the step, from a contact near its end; 0 = from one at its start */
  int anchor;    /* index of the pair's anchor that gave the slip, -1 if none */
  int va[3], vb[3]; /* soft side: the vertices whose weighted sum is the point */
  union {
    double wa[3];
    Vec3 across; /* of FRICTION_SPIN, which has no soft side: unit, in the tangent plane */
  };
  double wb[3];
} FrictionPoint;

/* Loads of some points: how much they changed, or differ from the normal forces, and their sum. Only if they changed:
 * the products of how far they were from their aims in this iteration and in the one before, and the squares of the
 * latter. */
typedef struct LoadChange {
  double change, load;
  double product, square;
} LoadChange;

enum { FRICTION_WAY_SHIFT = 62 };
KERNEL FrictionWay friction_way(const FrictionPoint *f) { return (FrictionWay)(f->key >> FRICTION_WAY_SHIFT); }

/* Moments of all contacts of a pair: gradient 3x4 per body, Hessian K (x) y y^T per 4x4 entry: 10 on the diagonal
 * blocks, 16 between the bodies, the latter with a minus sign. Parts of a soft side are zero. */
typedef double Entry[8]; /* a symmetric 3x3: xx yy zz xy xz yz, the last two unused */
typedef struct Moments {
  Vec3 ga[4], gb[4];
  Entry aa[10], bb[10], ab[16];
} Moments;

/* What the candidates of a pair of stiff bodies give at one pose; of another machine that evaluates them. */
typedef struct EvalResult {
  double barrier, friction; /* energies; the first is infinite if a gap is closed */
  double noise;             /* rounding error of the barriers */
  double min_gap;           /* [m] */
  double near;              /* lower bound of all listed distances, in b's rest metric */
  int nearest;              /* candidate of the smallest gap, counted from the pair's first; -1 = none */
  int kind, prim_a, prim_b; /* its stencil */
  int contacts, acting;     /* numbers */
  int distances;
  int failed; /* a distance was not a number */
} EvalResult;

#endif
