/* A pair of bodies within reach of each other: candidates -> contacts -> moments and springs.
 *
 * Body b is the larger one. Distances of two stiff bodies are bounded in b's rest frame, in which only the motion of a
 * relative to b matters: T(q) = b^-1 o a maps a's rest frame to b's.
 *
 * Candidates are the stencils (vertex-triangle, edge-edge) that may come into contact; contact/cache.h describes their
 * cache. A lower bound replaces the distance of most of them. The others are first tested along their normal at the
 * reference: b's primitive lies behind a plane that is fixed in b's rest frame, so the distance of a's vertices from
 * that plane is a lower bound. Sliding does not weaken it. A pair with a soft side has no such frame, see
 * contact/path.h.
 *
 * Contacts are the stencils nearer than separation + range, with their closest points ya, yb in rest coordinates. A
 * contact acts as a spring between these two material points: gradient f n (x) (1, y), Hessian K (x) (1, y)(1, y)^T.
 * Tested in tests/test_contact.c. */
#ifndef ABD_CONTACT_PAIR_H
#define ABD_CONTACT_PAIR_H

#include "contact/item.h"
#include "contact/path_length.h"
#include "contact/store.h"
#include "geom/surface.h"

/* A contact, mollifier or friction point with a soft side in the matrix: a force and a stiffness on a weighted sum of
 * nodes. Vertices that do not move are left out. */
typedef struct Spring {
  int count, vertex[6]; /* blocks */
  double weight[6];
  double body[4]; /* weights of the nodes of the stiff side, zero if there is none */
  Vec3 force;     /* gradient by the weighted sum */
  Sym3 stiffness;
} Spring;

typedef struct PairCounts {
  int64_t box_tests, candidates, distances, ccd_calls;
} PairCounts;

/* The part of a pair that the backend reads and writes in every iteration. Items of varying number are ranges of the
 * PairStore. The first two cache lines have all that loops over pairs without contact need. */
typedef struct Pair {
  int a, b;         /* bodies; b has the larger mesh */
  int slot;         /* index of its cache */
  bool soft;        /* at least one side is a soft body */
  bool needs_cover; /* the candidates did not cover the last step bound */
  bool coupled;     /* had contacts in this step: part of the matrix pattern */
  bool failed;      /* memory ran out, a value was not finite, or the step was interrupted */
  Range contact;    /* Contact */
  Range friction;   /* FrictionPoint */
  double mu;        /* coefficient of friction */
  int acting;       /* number of contacts with energy or force; they come first. The others are stencils within
                          range that coincide with them or are inside faces: continuous tests need them. */
  int nearest_kind; /* the stencil of the smallest gap */

  double barrier;              /* energy of the contacts at the trial poses */
  double energy, energy_trial; /* of barrier and friction at the accepted and at the trial poses */
  double noise;                /* rounding error of energy_trial */
  double min_gap;              /* [m] smallest distance less the separation */
  double min_distance;         /* [m] of the same stencil */
  double gap;                  /* [m] min_gap at the accepted poses */
  double bound;                /* largest safe step */
  double rolling;              /* [m] coefficient of friction against rolling */

  double torsion;           /* [m] ... and spinning */
  double stiffness;         /* of the barrier [J as dt^2 energy] */
  double expected;          /* sum of the contacts' forces to which Newton's step led; < 0 = not known */
  double stiffening;        /* factor of the stiffness that the load of earlier steps required, >= 1 */
  Range moments;            /* Moments, at most one; none if both sides are soft */
  Range spring;             /* Spring; none if both sides are stiff */
  double approach;          /* [m] of their surfaces towards each other, expected in this step; from pair_begin to
                               pair_approach the motion of a relative to b */
  double margin;            /* [m] that a new list covers beyond the range */
  int nearest_a, nearest_b; /* primitives of the stencil of the smallest gap */
  PairCounts counts;
} Pair;

_Static_assert(sizeof(Pair) <= 256, "a pair fits in four cache lines");

/* Inputs of all contact functions besides the poses. */
typedef struct ContactScene {
  const Model *model;
  double range, separation, friction_eps;
  const PathLength
      *path_length;       /* per body; NULL = not recorded, so that nothing is reused from one pose for another */
  const Surface *surface; /* per soft body, at the poses in question */
  PairStore *store;       /* contacts, friction points, moments and caches of the pairs */
  double dt;              /* [s] of the step, for the motion of surfaces against their bodies */
  double list_more;       /* lists that another machine makes reach so many margins further */
} ContactScene;

/* A body's mesh, at its surface's pose if the body is soft. */
static inline Side scene_side(const ContactScene *scene, int body) {
  const Body *b = &scene->model->body[body];
  return b->soft ? side_soft(&scene->surface[b->soft - 1]) : side_stiff(&scene->model->mesh[b->mesh]);
}

/* Should a loop over the pair's items end? If the step is interrupted, the pair fails. */
static inline bool pair_stops(Pair *pair, const ContactScene *scene) {
  if (interrupted(scene->model->interrupt)) pair->failed = true;
  return pair->failed;
}

/* The geometry that distances and step bounds need. */
static inline SideShape side_shape(const Side *s) {
  const Mesh *m = s->mesh;
  return (SideShape){s->x,
                     s->surface ? s->surface->dx : NULL,
                     m->vertex,
                     m->edge,
                     m->triangle,
                     m->radius,
                     s->surface ? NULL : m->flat_edge,
                     s->surface ? m->short_edge : m->sharp_edge};
}

static inline Contact *pair_contacts(const Pair *pair, const ContactScene *scene) {
  return pool_items(&scene->store->contact, &pair->contact);
}
static inline FrictionPoint *pair_friction(const Pair *pair, const ContactScene *scene) {
  return pool_items(&scene->store->friction, &pair->friction);
}
static inline Moments *pair_moment_sums(const Pair *pair, const ContactScene *scene) {
  return pool_items(&scene->store->moments, &pair->moments);
}
static inline Spring *pair_springs(const Pair *pair, const ContactScene *scene) {
  return pool_items(&scene->store->spring, &pair->spring);
}

static inline bool pair_rubs(const Pair *pair) { return pair->mu > 0 || pair->rolling > 0 || pair->torsion > 0; }

/* Has the pair no contacts and no friction, as pair_eval leaves it if nothing is within range, also at the accepted
 * poses? */
static inline bool pair_is_idle(const Pair *p) {
  return p->contact.count == 0 && p->friction.count == 0 && p->energy == 0 && p->energy_trial == 0 &&
         p->min_gap == INFINITY && p->gap == INFINITY;
}

/* Releases all ranges of the pair. */
void pair_destroy(Pair *pair, PairStore *store);
/* Drops the candidates and invalidates the contacts. It changes no bit of any later result. */
void pair_drop_cache(Pair *pair, PairStore *store);
/* The separation of two surfaces [m]: the world's separation plus half of both thicknesses. For two primitives of one
 * soft body it is at most the separation plus half of their distance at rest: stencil_separation <= pair_separation. */
double pair_separation(const Pair *pair, const ContactScene *scene);
double stencil_separation(const Pair *pair, const ContactScene *scene, int kind, int prim_a, int prim_b);
/* [m] What the rounding of coordinates may add to a distance or take off it, at a's pose. */
double pair_rounding(const Pair *pair, const ContactScene *scene, const Affine *qa);
/* The stiff side of a pair with a soft side if it moves, else -1. */
int pair_stiff_side(const Pair *pair, const Model *model);
/* The vertices of a contact's primitives in the two meshes. Unused entries repeat the primitive's first vertex. */
void pair_corners(const Pair *pair, const ContactScene *scene, const Contact *contact, int va[3], int vb[3]);
/* Orders two bodies. a is the one whose motion is bounded. */
void pair_order(const Model *model, int *a, int *b);
/* Largest displacement of a's box between two relative poses, in b's rest frame. */
double pair_displacement(const Mesh *a, const Affine *t0, const Affine *t1);
/* Largest motion of a corner of a's box against its centre, along d. */
double pair_spread(const Mesh *a, const Affine *d);
double least_stretch(const Affine *q); /* lower bound of the singular values of the linear part */

/* Finds contacts and energy at given poses, from the cached candidates or from a new list that covers pair->margin
 * more. Stores the energy in pair->energy_trial. */
void pair_eval(Pair *pair, const ContactScene *scene, const Affine *qa, const Affine *qb);
/* Sets the weights of the stencils in pair_contacts, see contact/merge.h, and pair->acting. */
void pair_merge(Pair *pair, const ContactScene *scene, const Affine *qa, const Affine *qb);
/* The same for two stiff bodies in two parts, if another machine evaluates the candidates. pair_plan asks for a
 * new list if the cached one does not cover the poses. pair_take stores the results; the contacts themselves remain
 * there until they are copied into pair_contacts. */
typedef struct EvalPlan {
  bool wanted;  /* candidates may be within reach; else there is no contact */
  bool at_pose; /* the poses are those in scene->path_length */
  bool search;  /* the pair needs a new list: at cache->ref, up to cache->radius; pair_query_put stores it */
  Affine t;     /* relative pose */
  double rel, reach, covered; /* motion since the list was made; distance of a contact at most, and of stencils that are
                                 not listed at least, in b's rest metric */
  double separation, rounding; /* of the pair; of a distance, over the range */
} EvalPlan;
EvalPlan pair_plan(Pair *pair, const ContactScene *scene, const Affine *qa, const Affine *qb);
void pair_take(Pair *pair, const ContactScene *scene, const EvalPlan *plan, const EvalResult *result);
/* Work of friction in the step, in the units of the incremental potential. */
double pair_friction_work(const Pair *pair, const ContactScene *scene);
/* Work of the drives that move the surfaces of the pair against their bodies, with the poses at the start of the
 * step. */
double pair_drift_work(const Pair *pair, const ContactScene *scene, const Affine q_start[2]);
double pair_friction_energy(Pair *pair, const ContactScene *scene, const Affine *qa, const Affine *qb);
/* Computes the largest step t <= 1 along the directions d that is safe for the listed candidates. Sets needs_cover if
 * other stencils may come into contact before. */
void pair_bound(Pair *pair, const ContactScene *scene, const Affine q[2], const Affine d[2]);
/* Tests the stencils of a pair with a soft side and a long list on several threads: the next pair_bound or pair_eval,
 * which must have the same arguments and surfaces, takes the results. Call pair_bound_ahead after path_list_ahead, and
 * both outside of loops. */
void pair_bound_ahead(Pair *pair, const ContactScene *scene, const Affine q[2], const Affine d[2], int threads);
void pair_mark_ahead(Pair *pair, const ContactScene *scene, const Affine *qa, const Affine *qb, int threads);
/* The same for two stiff bodies in two parts, if another machine tests the stencils. pair_bound_take stores the least
 * bound of those that the plan names. */
struct BoundPlan; /* contact/sweep.h */
struct BoundPlan pair_bound_plan(Pair *pair, const ContactScene *scene, const Affine q[2], const Affine d[2]);
void pair_bound_take(Pair *pair, const ContactScene *scene, const struct BoundPlan *plan, double bound);
/* What the path lengths prove of the whole step along the directions in scene->path_length. If it is safe, the bound is
 * 1; if it is not clear, call pair_bound. PAIR_FAR: the pair has no contacts and no friction, and gets no contact
 * anywhere on the step either, so that pair_eval would change nothing. */
typedef enum PairAhead { PAIR_UNCLEAR = 0, PAIR_CLEAR, PAIR_FAR } PairAhead;
PairAhead pair_clear(Pair *pair, const ContactScene *scene);
/* Of a pair that is idle, without reading it: is it PAIR_FAR on the whole step; has it no contact at the poses in
 * scene->path_length? body: a and b. */
bool pair_far_ahead(const ContactScene *scene, int slot, const int body[2]);
bool pair_is_far(const ContactScene *scene, int slot, const int body[2]);
/* As pair_bound for all stencils, listed or not, for steps up to t_wanted. */
void pair_bound_cover(Pair *pair, const ContactScene *scene, const Affine q[2], const Affine d[2], double t_wanted);
/* The same for two stiff bodies, if another machine searches and tests the stencils. COVER_LIST: the pair needs a new
 * list, at cache->ref up to cache->radius; then the plan's candidates are tested, and their least bound is pair->bound.
 * COVER_WINDOWS: all stencils that pass each other in the windows of sweep_window_next are tested; pair_cover_windows
 * does it on this machine. */
typedef enum CoverWay { COVER_DONE, COVER_LIST, COVER_WINDOWS } CoverWay;
CoverWay pair_cover_plan(Pair *pair, const ContactScene *scene, const Affine q[2], const Affine d[2], double t_wanted,
                         struct BoundPlan *plan);
void pair_cover_windows(Pair *pair, const ContactScene *scene, const Affine q[2], const Affine d[2], double t_wanted);
/* Newton's linear model of a barrier knows its force at the accepted poses and not that at the end of the step. As soon
 * as a step has been solved for, its equations tell that force, and the next model has the slope of the chord to it
 * instead of the barrier's curvature: contacts that are too soft for their load do not let Newton's step through, and
 * deep ones open at once. (An interior-point method calls it primal-dual.) All contacts of a pair are expected to
 * change by one ratio. It is done while steps are cut, shortened or damped. */
/* Sets the curvatures of the contacts by what is expected. The same again if it is called again. */
void pair_set_chords(Pair *pair, const ContactScene *scene);
/* Sets what is expected, with the curvatures of the assembly. moves: which sides take part in the step. */
void pair_expect(Pair *pair, const ContactScene *scene, Nodes step, const bool moves[2]);
/* How far a step parts a contact's points along the normal. */
double contact_apart(const Pair *pair, const ContactScene *scene, const Contact *contact, Nodes step,
                     const bool moves[2]);
/* Sets the chords, then computes gradient and Gauss-Newton Hessian of barrier and friction at the accepted poses, into
 * pair_moment_sums for stiff sides and into pair_springs for soft ones. Inputs are the contacts of the last pair_eval
 * and the friction forces of pair_list_friction or pair_friction_advance after it. */
void pair_assemble(Pair *pair, const ContactScene *scene, const Affine *qa, const Affine *qb);

/* Where friction starts from: poses of a and b at the start of the step and now, the pair's anchors. */
typedef struct FrictionStart {
  const Affine *pose, *now;
  const Anchor *anchor;
  int anchor_count;
} FrictionStart;
/* Makes the friction points from the contacts. When a step begins, loads are those of the contacts and forces those of
 * the slips; later both are kept of points that exist already. False if memory is out. */
bool pair_list_friction(Pair *pair, const ContactScene *scene, const FrictionStart *start, bool begins);
/* Loads over the normal force, by way. Returns the arm [m] at which rolling and spinning are slips. */
double pair_load_factors(const Pair *pair, const Model *model, double factor[FRICTION_WAYS]);
/* Moves the loads by `weight` towards those of the normal forces that Newton's step leads to by its own equations.
 * Contacts and points are those of the assembly. */
LoadChange pair_predict_loads(Pair *pair, const ContactScene *scene, Nodes step, double weight);
/* The difference between the loads and those of the contacts now, and the sum of the latter. A contact whose features
 * have changed is compared with the load that it would get. */
LoadChange pair_load_error(const Pair *pair, const ContactScene *scene);
/* Gradients by the changes of the loads alone, into ga and gb of pair_moment_sums for stiff sides and into the forces
 * of pair_springs for soft ones. */
void pair_assemble_change(Pair *pair, const ContactScene *scene);
/* Energy of friction at the accepted poses. */
double pair_energy_of_loads(const Pair *pair, const ContactScene *scene);
/* Sets the forces of the friction points after a step of `length` times Newton's to the poses of the last pair_eval. */
void pair_friction_advance(Pair *pair, const ContactScene *scene, double length);
Vec3 friction_displacement(const Pair *pair, const FrictionPoint *point, const ContactScene *scene, const Affine *qa,
                           const Affine *qb);
/* The slip that remains after the step, in b's rest frame, of length at most friction_eps. */
Vec3 friction_slip_after(const Pair *pair, const FrictionPoint *point, const ContactScene *scene, const Affine *qa,
                         const Affine *qb);

#endif
