/* Dual traversal with boxes of positions and of motions, in the world. Tested in tests/test_soft_contact.c. */
#include "contact/path.h"

#include <string.h>

#include "contact/query.h"
#include "kernel/constant.h"

typedef float F4 __attribute__((vector_size(16)));
typedef int I4 __attribute__((vector_size(16)));

/* Boxes of vertices' positions at the start and of their motions. */
typedef struct Span {
  F4 lo, hi, slowest, fastest;
} Span;

typedef struct Moved {
  Posed posed;
  Vec3 motion[3];
} Moved;

/* The elements of a leaf. They stay until the traversal reaches another leaf on this side. */
typedef struct PathLeaf {
  const TreeNode *node; /* NULL = none */
  Span span[LEAF_MAX];
  Moved element[LEAF_MAX];
  unsigned placed; /* bit k: element[k] is valid */
} PathLeaf;

typedef struct Path {
  Query query;         /* its sides are the path's */
  const Affine *q, *d; /* d NULL: nothing moves */
  bool within;         /* one soft body with itself */
  double reach;
  F4 slack; /* the reach plus the rounding of single precision */
  PathLeaf leaf[2];
} Path;

static Vec3 zero(void) { return vec3(0, 0, 0); }

static Vec3 vertex_motion(const Side *s, const Affine *d, int v) { return d ? side_motion(s, d, v) : zero(); }

static F4 f4(Vec3 v) { return (F4){(float)v.x, (float)v.y, (float)v.z, 0}; }
static F4 f4_load(const float *x) { return (F4){x[0], x[1], x[2], 0}; }

/* From boxes lo, hi in single precision. */
static Span soft_span(const Path *path, const float *box, const float *motion) {
  const F4 none = {0, 0, 0, 0};
  return (Span){f4_load(box), f4_load(box + 3), path->d ? f4_load(motion) : none, path->d ? f4_load(motion + 3) : none};
}

/* From a stiff body's box in its rest frame. */
static Span stiff_span(const Path *path, int side, Box rest) {
  Box box = box_transform(&path->q[side], rest), way = {zero(), zero()};
  if (path->d) way = box_transform(&path->d[side], rest);
  return (Span){f4(box.lo), f4(box.hi), f4(way.lo), f4(way.hi)};
}

static Span node_span(const Path *path, int side, int index) {
  const Surface *surface = path->query.side[side].surface;
  const TreeNode *n = &path->query.side[side].mesh->node[index];
  if (surface) return soft_span(path, surface->node_box[index], surface->node_dx[index]);
  return stiff_span(path, side, (Box){vec3(n->lo[0], n->lo[1], n->lo[2]), vec3(n->hi[0], n->hi[1], n->hi[2])});
}

static bool spans_meet(const Path *path, const Span *a, const Span *b) {
  const F4 none = {0, 0, 0, 0};
  F4 back = a->slowest - b->fastest, ahead = a->fastest - b->slowest; /* of a relative to b */
  back = (F4)((I4)back & (back < none));
  ahead = (F4)((I4)ahead & (ahead > none));
  I4 apart = (a->lo + back - path->slack > b->hi) | (a->hi + ahead + path->slack < b->lo);
  return !(apart[0] | apart[1] | apart[2]);
}

static void place_element(const Path *path, int side, int index, Moved *out) {
  const Side *s = &path->query.side[side];
  const Element *e = out->posed.element = &s->mesh->element[index];
  for (int k = 0; k < 3; k++) {
    Vec3 x = s->x[e->vertex[k]];
    out->posed.x[k] = s->surface ? x : affine_point(&path->q[side], x);
    out->motion[k] = vertex_motion(s, path->d ? &path->d[side] : NULL, e->vertex[k]);
  }
  query_boxes(&out->posed);
}

/* Element k of the leaf, placed when it is first needed. */
static const Moved *placed_element(Path *path, int side, int k) {
  PathLeaf *leaf = &path->leaf[side];
  if (!(leaf->placed >> k & 1)) place_element(path, side, leaf->node->first + k, &leaf->element[k]);
  leaf->placed |= 1u << k;
  return &leaf->element[k];
}

/* Of a stiff body's element: of its vertices, whose box is smaller than that of its box at rest. */
static Span element_span(Path *path, int side, int k) {
  const Surface *surface = path->query.side[side].surface;
  int index = path->leaf[side].node->first + k;
  if (surface) return soft_span(path, surface->element_box[index], surface->element_dx[index]);
  const Moved *m = placed_element(path, side, k);
  Box way = points_box(m->motion, 3);
  return (Span){f4(m->posed.box.lo), f4(m->posed.box.hi), f4(way.lo), f4(way.hi)};
}

static const PathLeaf *open_leaf(Path *path, int side, const TreeNode *node) {
  PathLeaf *leaf = &path->leaf[side];
  if (leaf->node == node) return leaf;
  leaf->node = node;
  leaf->placed = 0;
  for (int k = 0; k < node->element_count; k++) leaf->span[k] = element_span(path, side, k);
  return leaf;
}

/* An upper bound of the decrease of the distance between two sets of points. */
static double closing_of(const Vec3 *v, int n, const Vec3 *w, int m) {
  double most_sq = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) most_sq = most(most_sq, norm_sq(sub(v[i], w[j])));
  return sqrt(most_sq) * (1 + 1e-9);
}

/* Lists the stencils of elements i and j of the leaves; for one soft body with itself, in both directions. */
static void elements_meet(Path *path, int i, int j) {
  Query *query = &path->query;
  const Moved *a = placed_element(path, 0, i), *b = placed_element(path, 1, j);
  Posed wide = a->posed;
  query->radius = path->reach + (path->d ? closing_of(a->motion, 3, b->motion, 3) : 0);
  query_inflate(&wide, query->radius);
  if (path->within) query_list_within(query, &wide, &b->posed);
  else query_list_elements(query, &wide, &b->posed);
}

static void leaves_meet(Path *path, const TreeNode *na, const TreeNode *nb) {
  const PathLeaf *a = open_leaf(path, 0, na), *b = open_leaf(path, 1, nb);
  path->query.pair->counts.box_tests += na->element_count * nb->element_count;
  for (int i = 0; i < na->element_count; i++)
    for (int j = na == nb && path->within ? i + 1 : 0; j < nb->element_count; j++)
      if (spans_meet(path, &a->span[i], &b->span[j])) elements_meet(path, i, j);
}

static void nodes_meet(Path *path, int ia, const Span *a, int ib, const Span *b) {
  const TreeNode *na = &path->query.a->node[ia], *nb = &path->query.b->node[ib];
  path->query.pair->counts.box_tests++;
  if (!spans_meet(path, a, b) || pair_stops(path->query.pair, path->query.scene)) return;
  bool leaf_a = na->element_count > 0, leaf_b = nb->element_count > 0;
  if (leaf_a && leaf_b) {
    leaves_meet(path, na, nb);
    return;
  }
  /* by the boxes at rest, so that the order of the list does not depend on the path */
  bool split_a = tree_splits_a(na, nb);
  for (int k = 0; k < 2; k++) {
    Span child = node_span(path, !split_a, (split_a ? na->left : nb->left) + k);
    if (split_a) nodes_meet(path, na->left + k, &child, ib, b);
    else nodes_meet(path, ia, a, nb->left + k, &child);
  }
}

/* Visits every two elements below a node of one soft body once. */
static void node_meets_itself(Path *path, int index) {
  const TreeNode *n = &path->query.a->node[index];
  if (n->element_count > 0) {
    leaves_meet(path, n, n);
    return;
  }
  Span left = node_span(path, 0, n->left), right = node_span(path, 0, n->left + 1);
  node_meets_itself(path, n->left);
  node_meets_itself(path, n->left + 1);
  nodes_meet(path, n->left, &left, n->left + 1, &right);
}

/* ---- a list in parts ---- */

/* Two nodes whose elements one task compares, b -1: those of a with each other; and what it finds. */
typedef struct PathTask {
  int a, b;
  Pair pair; /* for its counts */
  PairCache cache;
} PathTask;

/* The traversal is cut at this depth. There are at most 256 parts then. LARGE: least number of elements of both sides
 * for which parts save time. */
enum { PARTS_DEPTH = 6, PARTS_MOST = 256, LARGE = 2000 };

typedef struct Parts {
  const Path *path;
  PathTask *task;
  int count;
} Parts;

static void add_part(Parts *parts, int a, int b) {
  PathTask *t = &parts->task[parts->count++];
  *t = (PathTask){.a = a, .b = b, .pair = *parts->path->query.pair};
  t->pair.counts = (PairCounts){0};
}

/* As nodes_meet, down to a depth. */
static void cut_pair(Parts *parts, int ia, int ib, int depth) {
  const Path *path = parts->path;
  const TreeNode *na = &path->query.a->node[ia], *nb = &path->query.b->node[ib];
  if (depth == 0 || (na->element_count > 0 && nb->element_count > 0)) {
    add_part(parts, ia, ib);
    return;
  }
  Span a = node_span(path, 0, ia), b = node_span(path, 1, ib);
  path->query.pair->counts.box_tests++;
  if (!spans_meet(path, &a, &b)) return;
  bool split_a = tree_splits_a(na, nb);
  for (int k = 0; k < 2; k++) cut_pair(parts, split_a ? na->left + k : ia, split_a ? ib : nb->left + k, depth - 1);
}

/* As node_meets_itself, down to a depth. */
static void cut_itself(Parts *parts, int index, int depth) {
  const TreeNode *n = &parts->path->query.a->node[index];
  if (depth == 0 || n->element_count > 0) {
    add_part(parts, index, -1);
    return;
  }
  cut_itself(parts, n->left, depth - 1);
  cut_itself(parts, n->left + 1, depth - 1);
  cut_pair(parts, n->left, n->left + 1, depth - 1);
}

static void part_task(void *context, int k) {
  const Parts *parts = context;
  PathTask *t = &parts->task[k];
  Path path = *parts->path;
  path.query.pair = &t->pair;
  path.query.cache = &t->cache;
  if (t->b < 0) {
    node_meets_itself(&path, t->a);
    return;
  }
  Span a = node_span(&path, 0, t->a), b = node_span(&path, 1, t->b);
  nodes_meet(&path, t->a, &a, t->b, &b);
}

/* Appends the parts' candidates in the order of the traversal. */
static bool join_parts(Parts *parts, PairCache *cache) {
  Pool *pool = &parts->path->query.scene->store->cache->candidate;
  Pair *pair = parts->path->query.pair;
  int total = 0;
  for (int k = 0; k < parts->count; k++) {
    const Pair *part = &parts->task[k].pair;
    total += parts->task[k].cache.candidate.count;
    pair->counts.box_tests += part->counts.box_tests;
    pair->failed |= part->failed;
  }
  Candidate *to = total ? pool_extend(pool, &cache->candidate, total) : NULL;
  for (int k = 0; k < parts->count; k++) {
    Range *part = &parts->task[k].cache.candidate;
    if (to && part->count) memcpy(to, pool_items(pool, part), (size_t)part->count * sizeof *to);
    if (to) to += part->count;
    pool_release(pool, part);
  }
  return pool_settle(pool) && (to || !total);
}

static void list_in_parts(Path *path, int threads) {
  CacheStore *store = path->query.scene->store->cache;
  if (!store->task && !(store->task = mem_alloc(PARTS_MOST, sizeof *store->task))) {
    path->query.pair->failed = true;
    return;
  }
  Parts parts = {path, store->task, 0};
  if (path->within) cut_itself(&parts, 0, PARTS_DEPTH);
  else cut_pair(&parts, 0, 0, PARTS_DEPTH);
  parallel_for(threads, parts.count, 1, part_task, &parts);
  if (!join_parts(&parts, path->query.cache)) path->query.pair->failed = true;
}

static bool is_still(const Affine *d) {
  for (int k = 0; k < 4; k++)
    if (norm_sq(d->n[k]) > 0) return false;
  return true;
}

/* Lists the vertices of a that come within reach of a half-space b; all of them if b moves. */
static void plane_meet(Path *path) {
  const Side *a = &path->query.side[0];
  const Mesh *b = path->query.b;
  int body = path->query.pair->b;
  Vec3 corner[3];
  for (int k = 0; k < 3; k++) corner[k] = affine_point(&path->q[1], b->vertex[b->triangle[0][k]]);
  Vec3 n = unit(cross(sub(corner[1], corner[0]), sub(corner[2], corner[0])));
  bool still = !path->d || is_still(&path->d[1]);
  for (int v = 0; v < a->mesh->vertex_count; v++) {
    if (side_fixed(a, v, body)) continue;
    double dist = dot(n, sub(a->x[v], corner[0])), closing = norm(vertex_motion(a, path->d, v));
    path->query.radius = still ? path->reach + closing : INFINITY;
    query_list_vertex(&path->query, v, still && dist > 0 ? dist : 0);
  }
}

static bool resize(Pool *pool, Range *range, int count) {
  if (range->count == count) return true;
  range->count = 0;
  return pool_extend(pool, range, count) != NULL;
}

/* Stores the path, so that path_covers can compare poses with it. */
static bool store_path(Path *path) {
  const Pair *pair = path->query.pair;
  CacheStore *store = path->query.scene->store->cache;
  PairCache *cache = path->query.cache;
  if (!resize(&store->path, &cache->path, 1)) return false;
  PathRecord *record = pool_items(&store->path, &cache->path);
  for (int side = 0; side < 2; side++) {
    const Surface *surface = path->query.side[side].surface;
    record->q[side] = path->q[side];
    record->d[side] = path->d ? path->d[side] : affine_sub(path->q[side], path->q[side]);
    if (!surface || (side && pair->a == pair->b)) continue;
    int n = surface->mesh->vertex_count;
    if (!resize(&store->vertex, &cache->vertex[side], 2 * n)) return false;
    Vec3 *vertex = pool_items(&store->vertex, &cache->vertex[side]);
    memcpy(vertex, surface->x, (size_t)n * sizeof(Vec3));
    if (path->d) memcpy(vertex + n, surface->dx, (size_t)n * sizeof(Vec3));
    else memset(vertex + n, 0, (size_t)n * sizeof(Vec3));
  }
  return true;
}

/* How far a vertex may be from its place on the path [m]. The list reaches twice as far beyond need: both parts of a
 * stencil may be off. */
static double allowed_off(const ContactScene *scene) { return PATH_SPARE * scene->range; }

static void list(Pair *pair, const ContactScene *scene, const Affine q[2], const Affine *d, int threads) {
  Path path = {.q = q, .d = d, .within = pair->a == pair->b};
  query_open(&path.query, pair, scene);
  PairCache *cache = path.query.cache;
  path.reach = (scene->range + pair_separation(pair, scene) + 2 * allowed_off(scene)) * (1 + 1e-9);
  cache->candidate.count = 0;
  cache->listed = cache->ahead = cache->left = false;
  if (!store_path(&path)) {
    pair->failed = true;
    return;
  }
  if (path.query.b->half_space) {
    plane_meet(&path);
  } else {
    Span root[2] = {node_span(&path, 0, 0), node_span(&path, 1, 0)};
    F4 far = root[0].hi - root[0].lo + root[1].hi - root[1].lo;
    for (int k = 0; k < 3; k++) far[k] += fabsf(root[0].lo[k]) + fabsf(root[1].lo[k]);
    path.slack = far * 1e-5f + (float)path.reach;
    if (threads > 1) list_in_parts(&path, threads);
    else if (path.within) node_meets_itself(&path, 0);
    else nodes_meet(&path, 0, &root[0], 0, &root[1]);
  }
  cache->listed = !pair->failed; /* if memory ran out, the list is incomplete */
  pair->counts.candidates += cache->candidate.count;
}

void path_list(Pair *pair, const ContactScene *scene, const Affine q[2], const Affine *d) {
  list(pair, scene, q, d, 1);
}

/* The stored path of a pair. A stiff side and the second side of one body with itself have no vertices. */
typedef struct StoredPath {
  const PathRecord *record;
  const Vec3 *vertex[2];
} StoredPath;

static StoredPath stored_path(const Pair *pair, const ContactScene *scene) {
  const PairCache *cache = pair_cache(pair, scene);
  const CacheStore *store = scene->store->cache;
  StoredPath p = {pool_items(&store->path, &cache->path), {NULL, NULL}};
  for (int side = 0; side < 2; side++)
    if (cache->vertex[side].count > 0) p.vertex[side] = pool_items(&store->vertex, &cache->vertex[side]);
  return p;
}

/* Where sides are: at the poses q and the surfaces' x; after the motions d and dx if d is not NULL. */
typedef struct Place {
  const Side *side;
  const Affine *q, *d;
} Place;

static Vec3 vertex_at(const Place *at, int side, int v) {
  const Side *s = &at->side[side];
  return at->d ? add(s->x[v], s->surface->dx[v]) : s->x[v];
}

static Affine pose_at(const Place *at, int side) {
  return at->d ? affine_add_scaled(at->q[side], 1, at->d[side]) : at->q[side];
}

/* The path parameter of a place, 0 to 1, measured on the part that moves most. */
static double path_advance(const StoredPath *path, const Place *at) {
  double longest = 0, t = 0;
  for (int side = 0; side < 2; side++) {
    const Vec3 *ref = path->vertex[side];
    const Mesh *mesh = at->side[side].mesh;
    for (int v = 0; ref && v < mesh->vertex_count; v++) {
      Vec3 motion = ref[mesh->vertex_count + v];
      double length = norm_sq(motion);
      if (length <= longest) continue;
      longest = length;
      t = dot(motion, sub(vertex_at(at, side, v), ref[v])) / length;
    }
    if (at->side[side].surface) continue;
    Affine off = affine_sub(pose_at(at, side), path->record->q[side]);
    for (int k = 0; k < 4; k++) {
      Vec3 motion = path->record->d[side].n[k];
      double length = norm_sq(motion) * (k ? mesh->radius * mesh->radius : 1);
      if (length <= longest) continue;
      longest = length;
      t = dot(motion, off.n[k]) / norm_sq(motion);
    }
  }
  return t < 0 ? 0 : t > 1 ? 1 : t;
}

/* A half-space has no end, so a small turn moves its distant points farther than those of its mesh. */
#define HALF_SPACE_OFF 1e-6

/* Is every vertex of a side near its place on the path at t? */
static bool side_near_path(const StoredPath *path, const Place *at, int side, double t, double allowed) {
  const Vec3 *ref = path->vertex[side];
  const Side *own = &at->side[side];
  int n = own->mesh->vertex_count;
  for (int v = 0; ref && v < n; v++)
    if (!(norm_sq(sub(vertex_at(at, side, v), add_scaled(ref[v], t, ref[n + v]))) <= allowed * allowed)) return false;
  if (own->surface) return true;
  Affine off = affine_sub(pose_at(at, side), affine_add_scaled(path->record->q[side], t, path->record->d[side]));
  double sum = norm(off.n[0]);
  for (int k = 1; k < 4; k++) sum += own->mesh->radius * norm(off.n[k]);
  return sum <= (own->mesh->half_space ? HALF_SPACE_OFF : 1) * allowed;
}

static bool near_path(const Pair *pair, const ContactScene *scene, const Affine q[2], const Affine *d) {
  const Side own[2] = {scene_side(scene, pair->a), scene_side(scene, pair->b)};
  const Place at = {own, q, d};
  if (!pair_cache(pair, scene)->listed) return false;
  StoredPath path = stored_path(pair, scene);
  double t = path_advance(&path, &at), allowed = allowed_off(scene);
  return side_near_path(&path, &at, 0, t, allowed) && side_near_path(&path, &at, 1, t, allowed);
}

bool path_covers(const Pair *pair, const ContactScene *scene, const Affine q[2]) {
  return near_path(pair, scene, q, NULL);
}

/* If both ends of a straight path are near the stored one, so is all of it: at a share s of the way it is as near to
 * the point of the stored path at the same share between those of the ends. */
bool path_suffices(const Pair *pair, const ContactScene *scene, const Affine q[2], const Affine d[2]) {
  const Mesh *b = scene_side(scene, pair->b).mesh;
  return !b->half_space && near_path(pair, scene, q, NULL) && near_path(pair, scene, q, d);
}

void path_find_ahead(Pair *pair, const ContactScene *scene, const Affine q[2], const Affine d[2]) {
  PairCache *cache = pair_cache(pair, scene);
  cache->ahead = path_suffices(pair, scene, q, d);
  cache->left |= cache->ahead;
}

void path_list_ahead(Pair *pair, const ContactScene *scene, const Affine q[2], const Affine d[2], int threads) {
  const Side a = scene_side(scene, pair->a), b = scene_side(scene, pair->b);
  if (pair_cache(pair, scene)->ahead) return;
  if (threads <= 1 || !pair->soft || b.mesh->half_space || a.mesh->element_count + b.mesh->element_count < LARGE)
    return;
  list(pair, scene, q, d, threads);
  pair_cache(pair, scene)->ahead = !pair->failed;
}

double path_closing(const Pair *pair, const ContactScene *scene, const Affine d[2], const Candidate *c) {
  const Side own[2] = {scene_side(scene, pair->a), scene_side(scene, pair->b)};
  const Contact parts = {.kind = c->kind, .prim_a = c->prim_a, .prim_b = c->prim_b};
  int corner[2][3];
  Vec3 motion[2][3];
  if (c->kind == STENCIL_VERTEX_PLANE) return INFINITY;
  pair_corners(pair, scene, &parts, corner[0], corner[1]);
  for (int side = 0; side < 2; side++)
    for (int k = 0; k < 3; k++) motion[side][k] = vertex_motion(&own[side], &d[side], corner[side][k]);
  return closing_of(motion[0], 3, motion[1], 3);
}

/* The same on the stored path, and to a place near it. */
static double stored_closing(const Pair *pair, const ContactScene *scene, const Candidate *c) {
  const Side own[2] = {scene_side(scene, pair->a), scene_side(scene, pair->b)};
  const Contact parts = {.kind = c->kind, .prim_a = c->prim_a, .prim_b = c->prim_b};
  const StoredPath path = stored_path(pair, scene);
  int corner[2][3];
  Vec3 motion[2][3];
  pair_corners(pair, scene, &parts, corner[0], corner[1]);
  for (int side = 0; side < 2; side++) {
    const Vec3 *ref = path.vertex[pair->a == pair->b ? 0 : side];
    for (int k = 0; k < 3; k++)
      motion[side][k] = ref ? ref[own[side].mesh->vertex_count + corner[side][k]]
                            : side_motion(&own[side], &path.record->d[side], corner[side][k]);
  }
  return closing_of(motion[0], 3, motion[1], 3) + 2 * allowed_off(scene);
}

double path_distance(const Pair *pair, const ContactScene *scene, const Candidate *c) {
  return pair_cache(pair, scene)->left ? c->dist - stored_closing(pair, scene, c) : c->dist;
}
