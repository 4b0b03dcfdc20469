/* The candidate cache of a pair: PRIVATE to src/contact. All of it may be dropped at any time (pair_drop_cache); the
 * next evaluation fills it again and gives the same bits. It saves time and decides nothing.
 *
 * Contents and validity:
 *
 * 1. Contacts of the pair (stored in Pair, not here) are valid at the pose serials `valid` of a and b: an evaluation at
 *    these poses keeps them. 0 = not valid. path_length_move changes the serials with the poses, so nothing has to be
 *    invalidated. Soft sides have no serials; every evaluation finds their contacts anew.
 *
 * 2. Candidates of two stiff bodies, if `listed`: every stencil whose distance at the reference T_ref, in b's rest
 *    metric, was at most `radius`, each with a lower bound `dist` of that distance. With rel = max over the corners y
 *    of a's box of |T(q) y - T_ref y|, the distance at q is at least dist - rel for a listed stencil and at least
 *    radius - rel for any other, in b's rest metric. The list covers a reach r at q if radius - rel > r; else a new one
 *    is made.
 *
 * 3. The last full evaluation, if full.serial is not 0: its pose serials, path lengths of both bodies and rel, and
 *    lower bounds at its poses: `near` for each candidate, full.near for all stencils, listed or not. The path length m
 *    since then (cache_motion) bounds the motion of a in b's rest frame, so at the current poses every distance is at
 *    least near - m. A new list invalidates it.
 *
 * 4. The last measurement, the pair's mark: as a full evaluation, but for the single candidates. Whenever rel is
 *    computed at the current poses, it gives a lower bound of all distances there (cache_near), which is stored with the
 *    path lengths. So a pair that falls or rides with its neighbours is measured once, not as often as it is asked for.
 *    Marks are an array of their own, one cache line each: they alone settle most pairs.
 *
 * 5. Candidates with a soft side, if `listed`: every stencil that comes within reach on or near the straight path that
 *    is stored in `path` and `vertex`, each with its distance `dist` at the start of that path. They are valid for
 *    poses near that path (path_covers), and for straight paths near it (path_suffices).
 *
 * The order of candidates depends only on the meshes, not on the pose or the time at which the list was made. So sums
 * over contacts do not depend on the list either. Tested in tests/test_cache.c, tests/test_contact.c and
 * tests/test_bound.c. */
#ifndef ABD_CONTACT_CACHE_H
#define ABD_CONTACT_CACHE_H

#include "contact/pair.h"

/* The last evaluation that tested all candidates, or measurement. */
typedef struct FullEval {
  uint64_t serial[2]; /* pose serials of a and b; 0 = none */
  Vec3 apart;         /* a's centre less b's origin */
  double spread;      /* path lengths: of a */
  double turn;        /* of b */
  double rel;         /* motion since the list was made */
  double near;        /* lower bound of all distances, in b's rest metric */
} FullEval;

/* The last measurement. `apart`, `spread` and `turn` are those of a FullEval. */
typedef struct Mark {
  Vec3 apart;
  double spread, turn;
  double size;  /* how far from b's origin a's box reached; 0 = no measurement */
  double near;  /* lower bound of all distances, in b's rest metric */
  double reach; /* [m] of a contact: range and separation */
} Mark;

/* A straight path: poses and directions of stiff sides. */
typedef struct PathRecord {
  Affine q[2], d[2];
} PathRecord;

typedef struct PairCache {
  uint64_t list;   /* serial of the list of candidates: no two lists have the same; 0 = none */
  bool listed;     /* the candidates are complete */
  bool away;       /* another machine has them, `candidate` is empty */
  bool ahead;      /* with a soft side: they suffice for the path that pair_bound is called for next */
  bool left;       /* with a soft side: a path other than the list's was bounded with them */
  bool marked;     /* with a soft side: `near` is 0 of those within reach at the poses of the next pair_eval, else 1 */
  bool bounded;    /* with a soft side: the bound of the next pair_bound is known */
  Range candidate; /* Candidate */
  double radius;   /* of the list */
  double extent;   /* how far from b's origin a's box reached at T_ref */
  FullEval full;
  uint64_t valid[2]; /* pose serials of a and b for which the pair's contacts are valid; 0 = not valid */
  Affine ref;        /* T_ref */
  Range path;        /* PathRecord, with a soft side */
  /* Vec3: positions of a soft side's vertices at the start of the path, then their motions. A pair of one body with
   * itself uses only the first. */
  Range vertex[2];
} PairCache;

typedef struct CacheStore {
  PairCache *slot; /* by Pair.slot */
  Mark *mark;      /* by Pair.slot */
  int slot_count, mark_count;
  Pool candidate, path, vertex;
  uint64_t list_count;   /* lists made so far */
  struct PathTask *task; /* parts of a list under construction, see contact/path.c */
} CacheStore;

static inline PairCache *pair_cache(const Pair *pair, const ContactScene *scene) {
  return &scene->store->cache->slot[pair->slot];
}
static inline Mark *pair_mark(const Pair *pair, const ContactScene *scene) {
  return &scene->store->cache->mark[pair->slot];
}
static inline Candidate *cache_candidates(const PairCache *cache, const ContactScene *scene) {
  return pool_items(&scene->store->cache->candidate, &cache->candidate);
}
/* Are these the poses of both bodies in scene->path_length? */
bool pair_at_pose(const Pair *pair, const ContactScene *scene, const Affine *qa, const Affine *qb);
/* Are the contacts valid at the poses of both bodies in scene->path_length? */
bool pair_contacts_valid(const Pair *pair, const ContactScene *scene);
/* Records a full evaluation at the poses in scene->path_length. */
void cache_set_full(PairCache *cache, const Pair *pair, const ContactScene *scene, double rel, double near);
/* An upper bound of the motion since the last full evaluation, in b's rest frame; INFINITY if there is none. */
double cache_motion(const PairCache *cache, const Pair *pair, const ContactScene *scene);
/* The same since the last measurement. */
double mark_motion(const Mark *mark, const PathLength *a, const PathLength *b);
/* A lower bound of all distances, in b's rest metric; -INFINITY if there is no measurement. */
double mark_near(const Mark *mark, const PathLength *a, const PathLength *b);
/* Records a measurement at the poses in scene->path_length, if it tells more than the last one: rel, the motion since
 * the list was made, and the lower bound of all distances. */
void cache_set_mark(const PairCache *cache, const Pair *pair, const ContactScene *scene, double rel, double near);
/* A lower bound of all distances in b's rest metric, from the last full evaluation; -INFINITY if there is none. moved:
 * an upper bound of the motion since then; rel: the motion since the list was made, which bounds it too. Bodies that
 * move together have long paths, but rel is small. */
static inline double cache_near(const PairCache *cache, double moved, double rel) {
  if (!cache->listed || cache->full.serial[0] == 0) return -INFINITY;
  return cache->full.near - least(moved, (cache->full.rel + rel) * (1 + 1e-9));
}
/* Lists the candidates within `radius` (b's rest metric) at poses qa, qb. */
void pair_query_begin(Pair *pair, const ContactScene *scene, const Affine *qa, const Affine *qb, double radius);
/* ... in two parts, if another machine searches: between them the pair has no list. */
void pair_query_here(Pair *pair, const ContactScene *scene);           /* the second part, on this machine */
void pair_query_put(Pair *pair, const ContactScene *scene, int count); /* the list stays there */
void pair_query(Pair *pair, const ContactScene *scene, const Affine *qa, const Affine *qb, double radius);

#endif
