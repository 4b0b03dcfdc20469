/* The largest step along a direction on which a pair stays apart.
 *
 * On straight paths of both bodies the displacement of a's point y relative to b's material at the same place is
 *     W(y) = (dp_a - dp_b - G (p_a - p_b)) + (dA_a - G A_a) y with G = dA_b A_b^-1.
 * It is affine in y, so its norm over a's box is largest at a corner. The distance d of a stencil decreases by at most
 * t (max |W| + |G| d). If it stays above the floor, the stencil is safe without CCD. The path lengths of the bodies
 * prove this for most pairs. If the contacts at the poses are valid, all other stencils are beyond the range, and only
 * the contacts are tested unless the step is long.
 *
 * In b's rest frame a's points move along T(t) y. If b turns, this path differs from a straight line by at most
 * |G| max |W| / (4 (1 - |G|)). So a candidate whose a-side is far enough in front of its plane at both ends of the step
 * stays so in between. Tested in tests/test_bound.c. */
#include "contact/path.h"
#include "contact/query.h"

#include "contact/sweep.h"

/* The sweep of a pair. */
typedef struct PairSweep {
  Sweep s;
  Pair *pair;
  PairCache *cache;
  const Mesh *mesh_a;
  const ContactScene *scene;
  bool at_pose; /* the bodies have these poses */
} PairSweep;

static PairSweep sweep_of(Pair *pair, const ContactScene *scene, const Affine q[2], const Affine d[2]) {
  double separation = pair_separation(pair, scene);
  Side a = scene_side(scene, pair->a), b = scene_side(scene, pair->b);
  return (PairSweep){.pair = pair,
                     .cache = pair_cache(pair, scene),
                     .mesh_a = a.mesh,
                     .scene = scene,
                     .at_pose = pair_at_pose(pair, scene, &q[0], &q[1]),
                     .s = {.a = side_shape(&a),
                           .b = side_shape(&b),
                           .q = q,
                           .d = d,
                           .soft = pair->soft,
                           .half_space = b.mesh->half_space,
                           .separation = separation,
                           .range = scene->range,
                           .floor = sweep_floor(separation, scene->range),
                           .rounding = pair_rounding(pair, scene, &q[0])}};
}

/* Measures the motion since the list was made and since the last full evaluation. */
static void sweep_motion(PairSweep *p) {
  PairCache *c = p->cache;
  Sweep *s = &p->s;
  s->moved = p->at_pose ? cache_motion(c, p->pair, p->scene) : INFINITY;
  if (!c->listed) return;
  s->rel = s->moved == 0 ? c->full.rel : pair_displacement(p->mesh_a, &c->ref, &s->from);
  if (p->at_pose) cache_set_mark(c, p->pair, p->scene, s->rel, cache_near(c, s->moved, s->rel));
}

static void sweep_measure(PairSweep *p) {
  Sweep *s = &p->s;
  const Affine zero = {{{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}}}, *q = s->q, *d = s->d;
  Mat3 inverse = mat3_inverse(affine_linear(&q[1])), g = mat3_mul(affine_linear(&d[1]), inverse);
  Vec3 apart = sub(q[0].n[0], q[1].n[0]);
  Affine w = affine(sub(sub(d[0].n[0], d[1].n[0]), mat3_mul_vec(g, apart)),
                    mat3_sub(affine_linear(&d[0]), mat3_mul(g, affine_linear(&q[0]))));
  s->rate = pair_displacement(p->mesh_a, &zero, &w) * (1 + 1e-9);
  s->turn = sqrt(mat3_dot(g, g));
  s->sigma = p->at_pose ? p->scene->path_length[p->pair->b].stretch : least_stretch(&q[1]);
  s->from = affine(mat3_mul_vec(inverse, apart), mat3_mul(inverse, affine_linear(&q[0])));
  sweep_motion(p);
}

/* Upper bounds of rate and turn from the motions of both bodies, see contact/path_length.h. They prove most pairs safe.
 * size: how far a's box reaches from b's origin. */
static void bound_rates(const PathLength *a, const PathLength *b, double size, double *rate, double *turn) {
  double spread = b->ahead.turn > 0 ? b->ahead.turn * size : 0;
  *rate = (norm(sub(a->ahead.mid, b->ahead.origin)) + a->ahead.spread + spread) * (1 + 1e-9);
  *turn = b->ahead.turn / b->stretch;
}

/* What a mark proves of the step along the directions. dist: a lower bound of all distances at its start. */
typedef struct Ahead {
  double dist, rate, turn;
} Ahead;

static Ahead mark_ahead(const Mark *w, const PathLength *a, const PathLength *b) {
  double moved = mark_motion(w, a, b);
  Ahead s = {.dist = b->stretch * (w->near - moved)};
  bound_rates(a, b, w->size + moved, &s.rate, &s.turn);
  return s;
}

/* Is there no contact on the whole step? False if the mark is no measurement. */
static bool ahead_far(const Ahead *s, double reach) {
  return s->dist - (s->rate + s->turn * s->dist) > reach * (1 + 1e-6);
}

bool pair_far_ahead(const ContactScene *scene, int slot, const int body[2]) {
  const Mark *w = &scene->store->cache->mark[slot];
  const Ahead s = mark_ahead(w, &scene->path_length[body[0]], &scene->path_length[body[1]]);
  return ahead_far(&s, w->reach);
}

PairAhead pair_clear(Pair *pair, const ContactScene *scene) {
  const PathLength *length = scene->path_length;
  const Mark *w = pair_mark(pair, scene);
  if (pair->soft || w->size == 0) return PAIR_UNCLEAR;
  const Ahead s = mark_ahead(w, &length[pair->a], &length[pair->b]);
  double separation = pair_separation(pair, scene), d = s.dist;
  bool far = ahead_far(&s, separation + scene->range);
  if (!far && pair->contact.count == 0 && pair_contacts_valid(pair, scene)) d = most(d, separation + scene->range);
  if (!(d - sweep_floor(separation, scene->range) >= s.rate + s.turn * d)) return PAIR_UNCLEAR;
  if (pair->bound != 1) pair->bound = 1; /* not written: it stays in all caches */
  if (pair->needs_cover) pair->needs_cover = false;
  return far && pair_is_idle(pair) ? PAIR_FAR : PAIR_CLEAR;
}

static double stencil_bound(const PairSweep *p, int kind, int prim_a, int prim_b) {
  p->pair->counts.ccd_calls += kind != STENCIL_VERTEX_PLANE;
  return sweep_stencil(&p->s, kind, prim_a, prim_b, stencil_separation(p->pair, p->scene, kind, prim_a, prim_b), 1);
}

/* Tests every stencil for the whole step, so that the bound does not depend on the order of the tests. */
static void list_bound(PairSweep *p) {
  Sweep *s = &p->s;
  Pair *pair = p->pair;
  const Candidate *candidate = cache_candidates(p->cache, p->scene);
  pair->bound = 1;
  for (int i = 0; i < p->cache->candidate.count; i++) {
    const Candidate *c = &candidate[i];
    if (sweep_stays(s, s->sigma * most(c->dist - s->rel, c->near - s->moved), pair->bound)) continue;
    if (s->clear == 0) sweep_end(s);
    if (sweep_passes(s, c)) continue;
    if (pair_stops(pair, p->scene)) return;
    pair->bound = least(pair->bound, stencil_bound(p, c->kind, c->prim_a, c->prim_b));
  }
}

/* With a soft side: may a listed stencil come below the floor on the path? */
static bool path_meets(const PairSweep *p, const Candidate *c) {
  return !(path_distance(p->pair, p->scene, c) - path_closing(p->pair, p->scene, p->s.d, c) > p->s.floor);
}

enum { BOUND_CHUNKS = 256 };
typedef struct PathBounds {
  const PairSweep *sweep;
  const Candidate *candidate;
  double least[BOUND_CHUNKS];
  int calls[BOUND_CHUNKS];
} PathBounds;

static void bound_chunk(void *context, int first, int last, int index) {
  PathBounds *b = context;
  const PairSweep *p = b->sweep;
  b->least[index] = 1;
  b->calls[index] = 0;
  for (int i = first; i < last && !interrupted(p->scene->model->interrupt); i++) {
    const Candidate *c = &b->candidate[i];
    if (!path_meets(p, c)) continue;
    double separation = stencil_separation(p->pair, p->scene, c->kind, c->prim_a, c->prim_b);
    b->calls[index]++;
    b->least[index] = least(b->least[index], sweep_stencil(&p->s, c->kind, c->prim_a, c->prim_b, separation, 1));
  }
}

void pair_bound_ahead(Pair *pair, const ContactScene *scene, const Affine q[2], const Affine d[2], int threads) {
  PairCache *cache = pair_cache(pair, scene);
  int count = cache->candidate.count, chunk = PATH_LARGE / 8 + count / BOUND_CHUNKS;
  cache->bounded = false;
  if (threads <= 1 || !pair->soft || !cache->ahead || count < PATH_LARGE) return;
  PairSweep p = sweep_of(pair, scene, q, d);
  sweep_measure(&p);
  PathBounds b = {.sweep = &p, .candidate = cache_candidates(cache, scene)};
  parallel_chunks(threads, count, chunk, bound_chunk, &b);
  pair->bound = 1;
  for (int k = 0; k < parallel_chunk_count(count, chunk); k++) {
    pair->bound = least(pair->bound, b.least[k]);
    pair->counts.ccd_calls += b.calls[k];
  }
  cache->bounded = true;
}

/* With a soft side: the list contains all stencils that may come into contact on this path. */
static void path_bound(Pair *pair, const ContactScene *scene, const Affine q[2], const Affine d[2]) {
  PairCache *cache = pair_cache(pair, scene);
  pair->needs_cover = false;
  if (cache->bounded) {
    cache->bounded = cache->ahead = false;
    return;
  }
  PairSweep p = sweep_of(pair, scene, q, d);
  sweep_measure(&p);
  if (!p.cache->ahead) path_find_ahead(pair, scene, q, d);
  if (!p.cache->ahead) path_list(pair, scene, q, d);
  p.cache->ahead = false;
  pair->bound = 1;
  const Candidate *candidate = cache_candidates(p.cache, scene);
  for (int i = 0; i < p.cache->candidate.count; i++) {
    const Candidate *c = &candidate[i];
    if (!path_meets(&p, c)) continue;
    if (pair_stops(pair, scene)) return;
    pair->bound = least(pair->bound, stencil_bound(&p, c->kind, c->prim_a, c->prim_b));
  }
}

/* The bound if no stencil except the contacts can reach the floor. Distances and normals of contacts are stored. */
static void contacts_bound(const PairSweep *p) {
  const Sweep *s = &p->s;
  Pair *pair = p->pair;
  const Affine end[2] = {affine_add_scaled(s->q[0], 1, s->d[0]), affine_add_scaled(s->q[1], 1, s->d[1])};
  pair->bound = 1;
  pair->needs_cover = false;
  const Contact *contact = pair_contacts(pair, p->scene);
  for (int i = 0; i < pair->contact.count; i++) {
    const Contact *c = &contact[i];
    if (c->extra || sweep_contact_passes(s, c, end)) continue;
    pair->bound = least(pair->bound, stencil_bound(p, c->kind, c->prim_a, c->prim_b));
  }
}

/* If the contacts are valid, all other stencils are beyond the range. Do the path lengths prove that they stay above
 * the floor? Points of a turning half-space are at any distance, so its motion must be measured. */
static bool others_stay(PairSweep *p) {
  Sweep *s = &p->s;
  const PathLength *a = &p->scene->path_length[p->pair->a], *b = &p->scene->path_length[p->pair->b];
  const Mark *w = pair_mark(p->pair, p->scene);
  bound_rates(a, b, w->size + mark_motion(w, a, b), &s->rate, &s->turn);
  return !(s->half_space && s->turn > 0) && sweep_stays(s, s->separation + s->range, 1);
}

/* Measures the motion. Returns whether only the contacts have to be tested. */
static bool contacts_suffice(PairSweep *p) {
  Sweep *s = &p->s;
  bool known = p->at_pose && pair_contacts_valid(p->pair, p->scene);
  if (known && others_stay(p)) return true;
  sweep_measure(p);
  return known && sweep_stays(s, s->separation + s->range, 1);
}

static bool list_suffices(const PairSweep *p) {
  return sweep_stays(&p->s, p->s.sigma * (p->cache->radius - p->s.rel), p->pair->bound);
}

void pair_bound(Pair *pair, const ContactScene *scene, const Affine q[2], const Affine d[2]) {
  if (pair->soft) {
    path_bound(pair, scene, q, d);
    return;
  }
  PairSweep p = sweep_of(pair, scene, q, d);
  if (contacts_suffice(&p)) {
    contacts_bound(&p);
    return;
  }
  list_bound(&p);
  pair->needs_cover = !list_suffices(&p);
}

struct BoundPlan pair_bound_plan(Pair *pair, const ContactScene *scene, const Affine q[2], const Affine d[2]) {
  PairSweep p = sweep_of(pair, scene, q, d);
  bool contacts = contacts_suffice(&p);
  bool safe = !contacts && sweep_stays(&p.s, p.s.sigma * cache_near(p.cache, p.s.moved, p.s.rel), 1);
  p.s.moved = INFINITY;
  if (!contacts && !safe) sweep_end(&p.s);
  pair->bound = 1;
  pair->needs_cover = false;
  return (BoundPlan){contacts, safe, p.s};
}

void pair_bound_take(Pair *pair, const ContactScene *scene, const BoundPlan *plan, double bound) {
  const PairSweep p = {.s = plan->s, .pair = pair, .cache = pair_cache(pair, scene), .scene = scene};
  pair->bound = bound;
  if (!plan->contacts) pair->needs_cover = !list_suffices(&p);
}

static void meet_stencil(Query *query, int kind, int prim_a, int prim_b) {
  const PairSweep *p = query->context;
  p->pair->bound = least(p->pair->bound, stencil_bound(p, kind, prim_a, prim_b));
}

/* Bounds the step by the stencils of two elements that pass near each other. */
static void sweep_elements(Query *query, const Posed *a, const Posed *b) {
  const Element *ea = a->element, *eb = b->element;
  for (int k = 0; eb->triangle >= 0 && k < ea->vertex_count; k++)
    if ((ea->owned_vertices >> k & 1) &&
        box_overlap(box_inflate(box_add((Box){a->x[k], a->x[k]}, a->end[k]), query->radius), b->box))
      meet_stencil(query, STENCIL_VERTEX_TRIANGLE, ea->vertex[k], eb->triangle);
  for (int k = 0; ea->triangle >= 0 && k < eb->vertex_count; k++)
    if ((eb->owned_vertices >> k & 1) && box_has(a->box, b->x[k]))
      meet_stencil(query, STENCIL_TRIANGLE_VERTEX, ea->triangle, eb->vertex[k]);
  for (int i = 0; i < 3 && edges_meet(ea, eb); i++)
    for (int j = 0; j < 3; j++)
      if ((ea->sharp_edges >> i & 1) && (eb->sharp_edges >> j & 1) && box_overlap(a->edge[i], b->edge[j]))
        meet_stencil(query, STENCIL_EDGE_EDGE, ea->edge[i], eb->edge[j]);
}

static Affine relative_at(const Sweep *s, double t) {
  Affine end[2] = {affine_add_scaled(s->q[0], t, s->d[0]), affine_add_scaled(s->q[1], t, s->d[1])};
  return affine_relative(&end[0], &end[1]);
}

/* The least singular value of m, but not 0: half a turn passes through a flat b. */
static double least_singular(Mat3 m) { return most(mat3_least_singular(m), 1e-3) * (1 - 1e-9); }

/* Rate, turn and stretch at a time of the step. With M(t) = A_b(t) A_b(0)^-1 = I + t G they are W(t) = M^-1 W(0) and
 * G(t) = G M^-1. A turn by a right angle has |G| = 2, but M shrinks to 0.7 at the least. */
static void motion_at(const Sweep *s, double t, double *rate, double *turn, double *stretch) {
  Mat3 start = affine_linear(&s->q[1]), d = affine_linear(&s->d[1]), at = mat3_add(start, mat3_scale(t, d));
  double kept = least_singular(mat3_mul(at, mat3_inverse(start)));
  *rate = s->rate / kept;
  *turn = s->turn / kept;
  *stretch = least_singular(at);
}

/* Sets the length of a window that begins at t0, and its radius. b turns little in it, and paths in b's rest frame
 * leave their chords by little, both compared with the size of a: a wide window meets most stencils. If b turns too far
 * for some hundred windows, because it is nearly flat, one window has all stencils. */
static void window_size(const Sweep *s, double limit, SweepWindow *w) {
  const double shortest = SWEEP_FIRST * SWEEP_FIRST;
  double rate = s->rate, turn = s->turn, stretch = s->sigma;
  if (w->t0 > 0 && s->turn > 0) motion_at(s, w->t0, &rate, &turn, &stretch);
  double straight = turn * rate > 0 ? sqrt(4 * SWEEP_LONG * s->a.radius / (turn * rate)) : 1;
  double longest = least(straight, 2 * s->a.radius / s->rate), most_turn = turn > 0 ? SWEEP_TURN / turn : 1;
  w->length = least(least(w->length, most(longest, shortest)), limit - w->t0);
  bool flat = most_turn < shortest && most_turn < w->length;
  w->length = flat ? limit - w->t0 : least(w->length, most_turn);
  turn *= w->length;
  double bend = 0.25 * turn * rate * w->length / (1 - turn);
  w->radius = flat ? INFINITY : (s->floor + bend) / (stretch * (1 - turn));
}

/* Growing windows of the step: an early hit then needs only a short sweep. limit: how far they are needed. */
bool sweep_window_next(const Sweep *s, double limit, SweepWindow *w) {
  if (w->count++) {
    if (w->t0 + w->length == w->t0) return false;
    w->t0 += w->length;
    w->length *= SWEEP_STEP;
    w->from = w->to;
  } else {
    w->length = s->rate > SWEEP_LONG * s->a.radius ? SWEEP_FIRST : 1;
    w->from = s->from;
  }
  if (!(w->t0 < limit)) return false;
  window_size(s, limit, w);
  w->to = relative_at(s, w->t0 + w->length);
  return true;
}

/* Advances in windows until a stencil stops the step. */
static void cover_in_windows(PairSweep *p, double t_wanted) {
  SweepWindow w = {0};
  while (sweep_window_next(&p->s, least(t_wanted, p->pair->bound), &w)) {
    Query query;
    query.meet = sweep_elements;
    query.context = p;
    query_open(&query, p->pair, p->scene);
    query_run(&query, &w.from, &w.to, w.radius);
  }
}

/* How far a list must reach for a step of t_wanted; 0 if it already does: other pairs have shortened the step since.
 * Negative: a list would be too long, the step is searched in windows. */
static double cover_radius(const PairSweep *p, double t_wanted) {
  const Sweep *s = &p->s;
  if (p->cache->listed && sweep_stays(s, s->sigma * (p->cache->radius - s->rel), t_wanted)) return 0;
  double reach = (s->floor + t_wanted * s->rate) / ((1 - least(s->turn, 0.5)) * s->sigma) * (1 + 1e-6);
  return s->half_space || (s->turn < 0.5 && reach < LIST_AGAIN * s->range) ? reach + s->range : -1;
}

/* Goes on with a new list. */
static void cover_by_list(PairSweep *p, double radius) {
  pair_query(p->pair, p->scene, &p->s.q[0], &p->s.q[1], radius);
  p->s.rel = 0;
  p->s.moved = INFINITY;
  list_bound(p);
}

void pair_bound_cover(Pair *pair, const ContactScene *scene, const Affine q[2], const Affine d[2], double t_wanted) {
  PairSweep p = sweep_of(pair, scene, q, d);
  sweep_measure(&p);
  double radius = cover_radius(&p, t_wanted);
  pair->needs_cover = false;
  if (radius > 0) cover_by_list(&p, radius);
  else if (radius < 0) cover_in_windows(&p, t_wanted);
}

CoverWay pair_cover_plan(Pair *pair, const ContactScene *scene, const Affine q[2], const Affine d[2], double t_wanted,
                         BoundPlan *plan) {
  PairSweep p = sweep_of(pair, scene, q, d);
  sweep_measure(&p);
  double radius = cover_radius(&p, t_wanted);
  pair->needs_cover = false;
  if (radius > 0 && p.s.half_space) {
    cover_by_list(&p, radius);
    return COVER_DONE;
  }
  if (radius > 0) {
    pair_query_begin(pair, scene, &q[0], &q[1], radius + scene->list_more * pair->margin);
    p.s.rel = 0;
  }
  p.s.moved = INFINITY;
  *plan = (BoundPlan){false, false, p.s};
  return radius > 0 ? COVER_LIST : radius < 0 ? COVER_WINDOWS : COVER_DONE;
}

void pair_cover_windows(Pair *pair, const ContactScene *scene, const Affine q[2], const Affine d[2], double t_wanted) {
  PairSweep p = sweep_of(pair, scene, q, d);
  sweep_measure(&p);
  cover_in_windows(&p, t_wanted);
}
