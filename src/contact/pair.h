/* A pair of bodies within reach of each other: candidates -> contacts -> moments.
 *
 * Body b is the larger one; everything about nearness is measured in its rest frame, where only the motion of a relative
 * to b counts: T(q) = b^-1 o a maps a's rest space to b's.
 *
 * Candidates: every stencil (vertex-triangle, edge-edge) whose distance at the reference T_ref was at most `radius`, each
 * with that distance, rounded down. With rel = max over the corners y of a's box of |T(q) y - T_ref y|, a stencil's
 * distance in the world at q is at least sigma (d_ref - rel), sigma the least stretch of b; so one list serves until
 * sigma (radius - rel) falls to the range of contact, and most of its entries need no distance at all. Those that are left
 * are first tried along their normal at the reference: b's primitive lies behind a plane that never moves in b's rest
 * frame, so how far a's vertices are in front of it bounds the distance from below; sliding does not wear it out.
 * The list is in the order of the trees' traversal, which depends on the meshes alone: sums over contacts do not depend
 * on when a list was made.
 *
 * With a soft side there is no such frame: see contact/path.h.
 *
 * Contacts: stencils nearer than separation + range, with their closest points ya, yb in rest coordinates. The stencil
 * acts as a spring between these two material points: gradient f n (x) (1, y), Hessian K (x) (1, y)(1, y)^T.
 * Tested in tests/test_contact.c. */
#ifndef ABD_CONTACT_PAIR_H
#define ABD_CONTACT_PAIR_H

#include "contact/travel.h"
#include "geom/surface.h"

enum { STENCIL_VERTEX_TRIANGLE = 0, STENCIL_TRIANGLE_VERTEX = 1, STENCIL_EDGE_EDGE = 2, STENCIL_VERTEX_PLANE = 3 };

typedef struct Candidate {
  float dist;               /* at the reference, rounded down */
  float near;               /* a lower bound where the pair was last looked at closely, in b's rest metric */
  float normal[3], offset;  /* in b's rest frame: b's primitive lies in normal . x <= offset, |normal| <= 1 */
  int kind, prim_a, prim_b; /* vertex, triangle or edge of a's and b's mesh */
} Candidate;

typedef struct Contact {
  int kind, prim_a, prim_b;
  double gap;                       /* distance less the separation [m] */
  double barrier, slope, curvature; /* of the barrier at y = gap / range, before stiffness and mollifier */
  double mollifier;                 /* 1, or less for nearly parallel edges */
  double mollifier_d1;              /* its derivative by |u x v|^2 */
  Vec3 normal;                      /* unit, from b to a */
  Vec3 ya, yb;                      /* closest points, rest coordinates */
  double wa[3], wb[3];              /* the same as weights of the primitives' vertices */
} Contact;

/* Identifies a contact's stencil within its pair. */
static inline uint64_t contact_key(const Contact *c) {
  return (uint64_t)c->kind << 60 | (uint64_t)(uint32_t)c->prim_a << 30 | (uint64_t)(uint32_t)c->prim_b;
}

/* A contact whose normal force was lagged: u = (I - n n^T)(x_a(ya) - x_b(yb) - origin) + slip. */
typedef struct FrictionPoint {
  uint64_t key;
  Vec3 ya, yb, normal;
  Vec3 origin;              /* x_a(ya) - x_b(yb) at the start of the step */
  Vec3 slip;                /* carried over from earlier steps */
  Vec3 trial, displacement; /* u at the poses of the last pair_eval, at the accepted ones */
  Vec3 force;       /* over the load, an unknown of Newton's method beside the slip: at the solution f1 u / |u| */
  double load;      /* mu times normal force, in the units of the incremental potential */
  double sum;       /* where the point counts: the loads of all that are the same point seen from other stencils too */
  int va[3], vb[3]; /* where a side is soft: the vertices whose weighted sum the point is */
  double wa[3], wb[3];
} FrictionPoint;

/* What a contact with a soft side is to the matrix: a spring between points that are weighted sums of nodes. */
typedef struct Spring {
  int count, body[6];
  double weight[6][4]; /* of the body's nodes */
  Vec3 force;          /* gradient by the weighted sum of all */
  Sym3 stiffness;
} Spring;

typedef struct PairCounts {
  int64_t box_tests, candidates, distances, ccd_calls;
} PairCounts;

/* Moments of all contacts of a pair: gradient 3x4 per body, Hessian K (x) y y^T per 4x4 entry (10 on the diagonal
 * blocks, 16 between the bodies; sign of the latter is minus). */
typedef double Entry[8]; /* a symmetric 3x3: xx yy zz xy xz yz, the last two unused */
typedef struct Moments {
  Vec3 ga[4], gb[4];
  Entry aa[10], bb[10], ab[16];
} Moments;

/* When the pair was last looked at closely: all candidates tried at their poses. */
typedef struct Watch {
  uint64_t stops[2]; /* of a and b; 0: never */
  Motion gone;       /* corner of a, shift and turn of b */
  double rel;        /* motion since the list was made */
  double near;       /* a lower bound of all distances, listed or not, in b's rest metric */
} Watch;

typedef struct Pair {
  int a, b;          /* bodies; b has the larger mesh */
  int next;          /* the next pair of their island, -1 after the last */
  bool listed;       /* candidates exist */
  bool needs_cover;  /* the list was too short for the last step bound */
  bool coupled;      /* had contacts in this step: part of the matrix pattern */
  double stiffness;  /* of the barrier [J as dt^2 energy] */
  double stiffening; /* what the load of earlier steps multiplied it by, >= 1 */
  double mu;
  Affine ref; /* T at which the list was made */
  double radius;
  double extent; /* how far from b's origin a's box reached there */
  Watch watch;
  uint64_t met[2]; /* stops of a and b at which the contacts were found; 0: nobody knows */
  Candidate *candidate;
  Contact *contact;
  FrictionPoint *friction;
  int candidate_count, candidate_capacity, contact_count, contact_capacity, friction_count, friction_capacity;
  int friction_counted; /* the first so many friction points count in sums, also for those after them that coincide with one */
  double barrier;                     /* energy of the contacts at the trial poses */
  double energy, energy_trial, noise; /* of barrier and friction at the accepted and the trial poses; rounding of it */
  double motion, approach; /* [m] expected of a relative to b in this step; of their surfaces towards each other */
  double margin;           /* [m] what a new list shall cover beyond the range of contact */
  double min_gap;
  double min_distance; /* [m] of its stencil, which is this one */
  int nearest_kind, nearest_a, nearest_b;
  double bound; /* largest safe step */
  bool failed;  /* memory was out, or a value was not finite */
  PairCounts counts;
  Moments *moments;
  bool soft;                   /* one side, or both, is a soft body */
  Affine path_q[2], path_d[2]; /* with a soft side: the path that the list was made for, see contact/path.h */
  Vec3 *ref_vertex[2];         /* a soft side's vertices at its start, then their motions; in a pair with itself once */
} Pair;

/* Inputs of all contact functions besides the poses. */
typedef struct ContactScene {
  const Model *model;
  double range, separation, friction_eps;
  const Travel *travel;   /* per body; NULL = not recorded */
  const Surface *surface; /* per soft body, at the poses in question */
} ContactScene;

/* A body's mesh, at its surface's pose if the body is soft. */
static inline Side scene_side(const ContactScene *scene, int body) {
  const Body *b = &scene->model->body[body];
  return b->soft ? side_soft(&scene->surface[b->soft - 1]) : side_stiff(&scene->model->mesh[b->mesh]);
}

void pair_destroy(Pair *pair);
/* What is kept between two surfaces [m]: the world's separation and half of both thicknesses. Parts of one soft body that are
 * neighbours at rest are kept apart by no more than half of how far they are then; the first answer bounds those. */
double pair_separation(const Pair *pair, const ContactScene *scene);
double stencil_separation(const Pair *pair, const ContactScene *scene, int kind, int prim_a, int prim_b);
/* Contacts and friction of a pair with a soft side, one spring after the other; some are empty. */
int pair_spring_count(const Pair *pair);
void pair_spring(const Pair *pair, const ContactScene *scene, const Affine *qa, const Affine *qb, int index,
                 Spring *spring);
/* The vertices of a contact's primitives in the two meshes; those that a primitive has not repeat its first. */
void pair_corners(const Pair *pair, const ContactScene *scene, const Contact *contact, int va[3], int vb[3]);
/* Which of two bodies is a: the one whose motion is bounded. */
void pair_order(const Model *model, int *a, int *b);
/* Largest displacement of a's box between two relative poses, in b's rest frame. */
double pair_displacement(const Mesh *a, const Affine *t0, const Affine *t1);
/* Of a stencil's side: 0 for a vertex, 1 for an edge, 2 for a triangle. */
static inline int stencil_dimension(int kind, bool of_b) {
  return kind == STENCIL_EDGE_EDGE ? 1 : kind == (of_b ? STENCIL_VERTEX_TRIANGLE : STENCIL_TRIANGLE_VERTEX) ? 2 : 0;
}
/* The least of g . y over a primitive's vertices. */
double side_least(const Side *side, int dimension, int prim, Vec3 g);
/* A lower bound of a candidate's distance at relative pose t, in b's rest metric. */
double candidate_gap(const Side *a, const Affine *t, const Candidate *c);
/* Do both bodies stand at these poses as far as scene->travel knows? */
bool pair_stands(const Pair *pair, const ContactScene *scene, const Affine *qa, const Affine *qb);
/* Were the contacts found at the very poses where the bodies stand? */
bool pair_found_here(const Pair *pair, const ContactScene *scene);
/* Notes that the pair was looked at closely at the poses where they stand. */
void pair_note(Pair *pair, const ContactScene *scene, double rel, double near);
/* A bound of the motion since then, from the bodies' travels alone; INFINITY where nothing was noted. */
double pair_way(const Pair *pair, const ContactScene *scene);
double least_stretch(const Affine *q); /* lower bound of the singular values of the linear part */

/* Makes the list of candidates within `radius` (b's rest metric) at poses qa, qb. */
void pair_query(Pair *pair, const ContactScene *scene, const Affine *qa, const Affine *qb, double radius);
/* Contacts and energy at given poses; makes a new list first when the old one no longer serves, with pair->margin to
 * spare. Energy into pair->energy_trial. */
void pair_eval(Pair *pair, const ContactScene *scene, const Affine *qa, const Affine *qb);
double pair_friction_energy(Pair *pair, const ContactScene *scene, const Affine *qa, const Affine *qb);
/* The largest step t <= 1 along directions da, db that is safe as far as the list reaches; sets needs_cover when the list
 * does not reach that far. */
void pair_bound(Pair *pair, const ContactScene *scene, const Affine q[2], const Affine d[2]);
/* Does the whole step along the directions that scene->travel knows keep the pair apart, as far as the travels alone can tell? If so
 * this is the bound; if not, pair_bound has to be asked. */
bool pair_clear(Pair *pair, const ContactScene *scene);
/* The same for all stencils, in or out of the list, as far as steps up to t_wanted need it. */
void pair_bound_cover(Pair *pair, const ContactScene *scene, const Affine q[2], const Affine d[2], double t_wanted);
/* Gradient and Gauss-Newton Hessian of barrier and friction, at the accepted poses: from the contacts of the last pair_eval, and
 * what pair_friction_start or pair_friction_advance left after it. */
void pair_moments(Pair *pair, const ContactScene *scene, const Affine *qa, const Affine *qb);

/* Friction: lagged points from the contacts, with slips from the anchors of this pair; tangential displacement of one. */
bool pair_lag(Pair *pair, const ContactScene *scene, const Affine q_start[2], const Anchor *anchor, int anchor_count);
/* Forces of the friction points: as their slips at given poses have them; after a step of `length` times Newton's to
 * the poses of the last pair_eval. */
void pair_friction_start(Pair *pair, const ContactScene *scene, const Affine *qa, const Affine *qb);
void pair_friction_advance(Pair *pair, const ContactScene *scene, double length);
Vec3 friction_displacement(const Pair *pair, const FrictionPoint *point, const ContactScene *scene, const Affine *qa,
                           const Affine *qb);
/* What is left of the slip after the step, in b's rest frame: at most friction_eps long. */
Vec3 friction_slip_after(const Pair *pair, const FrictionPoint *point, const ContactScene *scene, const Affine *qa,
                         const Affine *qb);

#endif
