/* Distances, contacts and their energy at given poses. Tested in tests/test_contact.c. */
#include "contact/path.h"
#include "contact/cache.h"

#include "contact/stencil.h"
#include "kernel/barrier.h"

typedef struct Narrow {
  Pair *pair;
  PairCache *cache;
  const ContactScene *scene;
  Side a, b;
  SideShape shape_a, shape_b;
  const Affine *qa, *qb;
  double separation, range;
  double rounding; /* of a distance, over the range */
} Narrow;

/* Adds the candidate as a contact without its barrier if its gap is below the range. */
static void candidate_eval(Narrow *n, const Candidate *c) {
  Pair *p = n->pair;
  Contact contact, *out = &contact;
  Vec3 diff;
  double reach = n->range + n->separation;
  double dist_sq =
      stencil_distance_sq(&n->shape_a, n->qa, &n->shape_b, n->qb, c->kind, c->prim_a, c->prim_b, reach, out, &diff);
  p->counts.distances++;
  if (!(dist_sq < reach * reach)) {
    if (!(dist_sq >= 0)) p->failed = true;
    return;
  }
  double d = sqrt(dist_sq), separation = n->separation;
  if (p->a == p->b) separation = stencil_separation(p, n->scene, c->kind, c->prim_a, c->prim_b);
  out->gap = d - separation;
  if (separation < n->separation && out->gap >= n->range) return;
  if (out->gap < p->min_gap) {
    p->min_gap = out->gap;
    p->min_distance = d;
    p->nearest_kind = c->kind;
    p->nearest_a = c->prim_a;
    p->nearest_b = c->prim_b;
  }
  if (out->gap <= 0) { /* outside the barrier's domain; the caller shortens the step */
    p->barrier = INFINITY;
    return;
  }
  out->kind = c->kind;
  out->prim_a = c->prim_a;
  out->prim_b = c->prim_b;
  out->normal = scale(1 / d, diff);
  out->weight = out->extra = 0;
  out->feature = 0;
  Contact *stored = pool_extend(&n->scene->store->contact, &p->contact, 1);
  if (stored) *stored = contact;
  else p->failed = true;
}

/* Evaluates the contacts' barriers in batches. Adds their energy and its rounding error to the pair's. */
static void add_barriers(const Narrow *n) {
  enum { BATCH = 8 };
  Pair *p = n->pair;
  Contact *contact = pair_contacts(p, n->scene);
  for (int first = 0; first < p->acting; first += BATCH) {
    int count = p->acting - first < BATCH ? p->acting - first : BATCH;
    Contact *c = &contact[first];
    double y[BATCH], b[BATCH], slope[BATCH], curvature[BATCH];
    for (int k = 0; k < BATCH; k++) y[k] = k < count ? c[k].gap / n->range : 1;
    for (int k = 0; k < BATCH; k++) barrier_jet(y[k], &b[k], &slope[k], &curvature[k]);
    for (int k = 0; k < count; k++) {
      c[k].barrier = b[k];
      c[k].slope = slope[k];
      c[k].curvature = curvature[k];
      p->barrier += p->stiffness * c[k].weight * b[k];
      p->noise -= p->stiffness * fabs(c[k].weight) * slope[k] * n->rounding;
    }
  }
}

/* Finds the contacts of a pair with a soft side in the list of the path that contains the poses. */
static void eval_on_path(Narrow *n) {
  const Affine q[2] = {*n->qa, *n->qb};
  bool marked = n->cache->marked;
  n->cache->marked = false;
  if (!marked && !path_covers(n->pair, n->scene, q)) path_list(n->pair, n->scene, q, NULL);
  const Candidate *c = cache_candidates(n->cache, n->scene);
  for (int i = 0; i < n->cache->candidate.count; i++) {
    if (marked && c[i].near > 0) n->pair->counts.distances++;
    else candidate_eval(n, &c[i]);
  }
}

/* If the bodies barely moved since the last full evaluation, re-tests only the candidates that were near then. Returns
 * false if a full evaluation is needed. motion: an upper bound of the motion since then. */
static bool eval_near(Narrow *n, double reach, double motion) {
  const PairCache *cache = n->cache;
  if (!(motion < RECHECK_WITHIN * reach) || !(cache->radius - cache->full.rel - motion > reach)) return false;
  double limit = reach + motion;
  const Candidate *c = cache_candidates(cache, n->scene);
  for (int i = 0; i < cache->candidate.count; i++)
    if (c[i].near <= limit) candidate_eval(n, &c[i]);
  return true;
}

/* The motion since the list was made, at relative pose t. */
static double list_motion(const Narrow *n, const Affine *t) {
  return n->cache->listed ? pair_displacement(n->a.mesh, &n->cache->ref, t) : 0;
}

/* Makes a new list of candidates if the cached one does not cover the reach at the given motion since it was made.
 * Returns the motion since the list was made. search: another machine makes it; whether it has to. */
static double cover_reach(Narrow *n, double rel, double reach, bool *search) {
  const PairCache *cache = n->cache;
  bool covers = cache->listed && cache->radius - rel > reach, elsewhere = search && !n->b.mesh->half_space;
  if (search) *search = !covers && elsewhere;
  if (covers) return rel;
  if (elsewhere) pair_query_begin(n->pair, n->scene, n->qa, n->qb, reach + (1 + n->scene->list_more) * n->pair->margin);
  else pair_query(n->pair, n->scene, n->qa, n->qb, reach + n->pair->margin);
  return 0;
}

/* A full evaluation: tests all candidates. */
static void eval_full(Narrow *n, double reach, bool at_pose) {
  PairCache *cache = n->cache;
  Affine t = affine_relative(n->qa, n->qb);
  double rel = cover_reach(n, list_motion(n, &t), reach, NULL);
  double nearest = cache->radius - rel;
  Candidate *candidate = cache_candidates(cache, n->scene);
  for (int i = 0; i < cache->candidate.count; i++) {
    Candidate *c = &candidate[i];
    double low = candidate_low(&n->shape_a, &t, c, rel, reach);
    c->near = (float)(low - 1e-6 * fabs(low));
    nearest = least(nearest, c->near);
    if (low <= reach) candidate_eval(n, c);
  }
  if (at_pose) cache_set_full(cache, n->pair, n->scene, rel, nearest);
}

/* The motion since the last full evaluation, and how far a stencil within range is, in b's rest metric. Returns false
 * if no stencil is within reach: the path lengths of the bodies prove it for most pairs. */
static bool may_touch(Narrow *n, bool at_pose, double *reach, double *motion) {
  const Pair *pair = n->pair;
  const PathLength *length = n->scene->path_length;
  PairCache *cache = n->cache;
  double stretch = at_pose ? length[pair->b].stretch : least_stretch(n->qb);
  *motion = at_pose ? cache_motion(cache, pair, n->scene) : INFINITY;
  *reach = (n->range + n->separation) / stretch * (1 + 1e-9);
  cache->valid[0] = at_pose ? length[pair->a].serial : 0;
  cache->valid[1] = at_pose ? length[pair->b].serial : 0;
  return !(at_pose && mark_near(pair_mark(pair, n->scene), &length[pair->a], &length[pair->b]) > *reach);
}

static void eval_by_list(Narrow *n) {
  bool at_pose = pair_at_pose(n->pair, n->scene, n->qa, n->qb);
  double reach, motion;
  if (may_touch(n, at_pose, &reach, &motion) && !eval_near(n, reach, motion)) eval_full(n, reach, at_pose);
}

/* A step begins at the poses at which the last one ended. The contacts are valid there; only the stiffness may have
 * changed. */
static void find_contacts(Narrow *n) {
  Pair *pair = n->pair;
  bool valid = pair_contacts_valid(pair, n->scene) && pair_at_pose(pair, n->scene, n->qa, n->qb);
  pair->barrier = pair->noise = 0;
  if (valid) return;
  pair->contact.count = pair->acting = 0;
  pair->min_gap = pair->min_distance = INFINITY;
  if (pair->soft) eval_on_path(n);
  else eval_by_list(n);
  pair_merge(pair, n->scene, n->qa, n->qb);
  if (pair->failed) n->cache->valid[0] = 0;
}

/* Most pairs: the path lengths prove that they do not touch, and they have no friction. Returns false if all has to be
 * computed. */
static bool eval_far(Pair *pair, const ContactScene *scene, const Affine *qa, const Affine *qb) {
  if (pair->soft || pair->failed || pair->friction.count > 0 || !pair_at_pose(pair, scene, qa, qb)) return false;
  const PathLength *length = scene->path_length;
  PairCache *cache = pair_cache(pair, scene);
  if (!pair_is_far(scene, pair->slot, (int[2]){pair->a, pair->b})) return false;
  cache->valid[0] = length[pair->a].serial;
  cache->valid[1] = length[pair->b].serial;
  pair->contact.count = pair->acting = 0;
  pair->min_gap = pair->min_distance = INFINITY;
  pair->barrier = pair->noise = pair->energy_trial = 0;
  return true;
}

static Narrow narrow_of(Pair *pair, const ContactScene *scene, const Affine *qa, const Affine *qb) {
  Narrow n = {.pair = pair,
              .cache = pair_cache(pair, scene),
              .scene = scene,
              .a = scene_side(scene, pair->a),
              .b = scene_side(scene, pair->b),
              .qa = qa,
              .qb = qb,
              .separation = pair_separation(pair, scene),
              .range = scene->range};
  n.shape_a = side_shape(&n.a);
  n.shape_b = side_shape(&n.b);
  n.rounding = ROUNDING_DISTANCE * (max_component(vec3_abs(qa->n[0])) + side_radius(&n.a)) / n.range;
  return n;
}

typedef struct Marks {
  const Narrow *narrow;
  Candidate *candidate;
} Marks;

static void mark_chunk(void *context, int first, int last, int index) {
  const Marks *marks = context;
  const Narrow *n = marks->narrow;
  double reach = n->range + n->separation;
  (void)index;
  for (int i = first; i < last; i++) {
    Candidate *c = &marks->candidate[i];
    Contact contact;
    Vec3 diff;
    double dist_sq = stencil_distance_sq(&n->shape_a, n->qa, &n->shape_b, n->qb, c->kind, c->prim_a, c->prim_b, reach,
                                         &contact, &diff);
    c->near = dist_sq >= reach * reach ? 1 : 0; /* also of one that is not a number */
  }
}

void pair_mark_ahead(Pair *pair, const ContactScene *scene, const Affine *qa, const Affine *qb, int threads) {
  PairCache *cache = pair_cache(pair, scene);
  cache->marked = false;
  if (threads <= 1 || !pair->soft || cache->candidate.count < PATH_LARGE) return;
  if (!path_covers(pair, scene, (Affine[2]){*qa, *qb})) return;
  const Narrow n = narrow_of(pair, scene, qa, qb);
  Marks marks = {&n, cache_candidates(cache, scene)};
  parallel_chunks(threads, cache->candidate.count, PATH_LARGE / 8, mark_chunk, &marks);
  cache->marked = true;
}

void pair_eval(Pair *pair, const ContactScene *scene, const Affine *qa, const Affine *qb) {
  if (eval_far(pair, scene, qa, qb)) return;
  Narrow n = narrow_of(pair, scene, qa, qb);
  find_contacts(&n);
  add_barriers(&n);
  pair->energy_trial = pair->barrier + pair_friction_energy(pair, scene, qa, qb);
}

EvalPlan pair_plan(Pair *pair, const ContactScene *scene, const Affine *qa, const Affine *qb) {
  Narrow n = narrow_of(pair, scene, qa, qb);
  EvalPlan plan = {.at_pose = pair_at_pose(pair, scene, qa, qb), .separation = n.separation, .rounding = n.rounding};
  double motion;
  pair->barrier = pair->noise = 0;
  pair->contact.count = pair->acting = 0;
  pair->min_gap = pair->min_distance = INFINITY;
  plan.wanted = may_touch(&n, plan.at_pose, &plan.reach, &motion);
  if (!plan.wanted) return plan;
  plan.t = affine_relative(qa, qb);
  plan.rel = list_motion(&n, &plan.t);
  double near = cache_near(n.cache, motion, plan.rel);
  if (plan.at_pose && n.cache->listed) cache_set_mark(n.cache, pair, scene, plan.rel, near);
  plan.wanted = !(near > plan.reach);
  if (!plan.wanted) return plan;
  plan.rel = cover_reach(&n, plan.rel, plan.reach, &plan.search);
  plan.covered = n.cache->radius - plan.rel;
  if (pair->failed) n.cache->valid[0] = 0;
  return plan;
}

void pair_take(Pair *pair, const ContactScene *scene, const EvalPlan *plan, const EvalResult *result) {
  PairCache *cache = pair_cache(pair, scene);
  pair->barrier = result->barrier;
  pair->noise = result->noise;
  pair->energy_trial = result->barrier + result->friction;
  pair->acting = result->acting;
  pair->counts.distances += result->distances;
  if (result->failed) {
    pair->failed = true;
    cache->valid[0] = 0;
  }
  if (result->nearest >= 0) {
    pair->min_gap = result->min_gap;
    pair->min_distance = result->min_gap + plan->separation;
    pair->nearest_kind = result->kind;
    pair->nearest_a = result->prim_a;
    pair->nearest_b = result->prim_b;
  }
  if (result->contacts > 0 && !pool_extend(&scene->store->contact, &pair->contact, result->contacts))
    pair->failed = true;
  if (plan->wanted && plan->at_pose) cache_set_full(cache, pair, scene, plan->rel, least(plan->covered, result->near));
}
