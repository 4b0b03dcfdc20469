/* Dual traversal of two meshes' trees in b's rest frame. Each test compares the box of one node with the eight boxes of
 * a fan of the other mesh. Boxes are in single precision; the reach includes its rounding. Tested in
 * tests/test_contact.c. */
#include <string.h>

#include "contact/query.h"

typedef int Int8 __attribute__((vector_size(32), aligned(4)));
typedef signed char Char8 __attribute__((vector_size(8)));

typedef struct Span {
  float lo[3], hi[3];
} Span;

/* The set lanes, as bytes of a word. */
static uint64_t lanes(Int8 set, int count) {
  Char8 bytes = __builtin_convertvector(set, Char8);
  uint64_t word;
  memcpy(&word, &bytes, sizeof word);
  return count < FAN_WIDTH ? word & (((uint64_t)1 << (8 * count)) - 1) : word;
}

/* Removes the first set lane from a word that is not zero and returns it. */
static int next_lane(uint64_t *word) {
  int lane = __builtin_ctzll(*word) / 8;
  *word &= ~((uint64_t)0xff << (8 * lane));
  return lane;
}

static uint64_t fan_meets(const Fan *fan, const float lo[3], const float hi[3]) {
  Int8 meets = (fan->lo[0] <= hi[0]) & (fan->hi[0] >= lo[0]);
  for (int k = 1; k < 3; k++) meets &= (fan->lo[k] <= hi[k]) & (fan->hi[k] >= lo[k]);
  return lanes(meets, fan->count);
}

static uint64_t spans_meet(const Spans *s, int count, const TreeNode *n) {
  Int8 meets = (s->lo[0] <= n->hi[0]) & (s->hi[0] >= n->lo[0]);
  for (int k = 1; k < 3; k++) meets &= (s->lo[k] <= n->hi[k]) & (s->hi[k] >= n->lo[k]);
  return lanes(meets, count);
}

static Float8 choose(Int8 first, Float8 x, Float8 y) { return (Float8)((first & (Int8)x) | (~first & (Int8)y)); }

static void pose_once(const Affine *t, const Fan *fan, float reach, Spans *out) {
  Float8 c[3], h[3];
  for (int k = 0; k < 3; k++) {
    c[k] = 0.5f * (fan->lo[k] + fan->hi[k]);
    h[k] = 0.5f * (fan->hi[k] - fan->lo[k]);
  }
  for (int k = 0; k < 3; k++) {
    float x = (float)component(t->n[1], k), y = (float)component(t->n[2], k), z = (float)component(t->n[3], k);
    Float8 center = (float)component(t->n[0], k) + x * c[0] + y * c[1] + z * c[2];
    Float8 half = fabsf(x) * h[0] + fabsf(y) * h[1] + fabsf(z) * h[2] + reach;
    out->lo[k] = center - half;
    out->hi[k] = center + half;
  }
}

static Spans pose_fan(const Query *query, const Fan *fan) {
  Spans s, end;
  pose_once(&query->from, fan, query->reach, &s);
  if (!query->swept) return s;
  pose_once(&query->to, fan, query->reach, &end);
  for (int k = 0; k < 3; k++) {
    s.lo[k] = choose(s.lo[k] < end.lo[k], s.lo[k], end.lo[k]);
    s.hi[k] = choose(s.hi[k] > end.hi[k], s.hi[k], end.hi[k]);
  }
  return s;
}

static Span span_of(const Spans *s, int lane) {
  Span own;
  for (int k = 0; k < 3; k++) {
    own.lo[k] = s->lo[k][lane];
    own.hi[k] = s->hi[k][lane];
  }
  return own;
}

void query_boxes(Posed *p) {
  for (int k = 0; k < 3; k++) p->edge[k] = box_add((Box){p->x[k], p->x[k]}, p->x[(k + 1) % 3]);
  p->box = box_union(p->edge[0], p->edge[1]);
}

void query_inflate(Posed *p, double radius) {
  for (int k = 0; k < 3; k++) p->edge[k] = box_inflate(p->edge[k], radius);
  p->box = box_inflate(p->box, radius);
}

void query_pose(const Query *query, int element, Posed *p) {
  p->element = &query->a->element[element];
  for (int k = 0; k < 3; k++) {
    Vec3 rest = query->a->vertex[p->element->vertex[k]];
    p->x[k] = affine_point(&query->from, rest);
    if (query->swept) p->end[k] = affine_point(&query->to, rest);
  }
  query_boxes(p);
  for (int k = 0; query->swept && k < 3; k++) {
    p->edge[k] = box_add(box_add(p->edge[k], p->end[k]), p->end[(k + 1) % 3]);
    p->box = box_add(p->box, p->end[k]);
  }
  query_inflate(p, query->radius);
}

Posed query_posed_b(const Query *query, int element) {
  Posed p = {.element = &query->b->element[element]};
  for (int k = 0; k < 3; k++) p.x[k] = query->b->vertex[p.element->vertex[k]];
  query_boxes(&p);
  return p;
}

/* Poses the elements of a leaf of a. They stay valid until the traversal reaches another leaf of a. */
static void pose_leaf(Query *query, int ia) {
  const TreeNode *na = &query->a->node[ia];
  if (query->posed_leaf == ia) return;
  query->posed_leaf = ia;
  query->posed_count = na->element_count;
  query->posed_span = pose_fan(query, &query->a->fan[na->fan]);
  for (int i = 0; i < na->element_count; i++) query_pose(query, na->first + i, &query->posed[i]);
}

static void leaves_query(Query *query, int ia, const TreeNode *nb) {
  const Fan *fan = &query->b->fan[nb->fan];
  uint64_t meets[LEAF_MAX], any = 0;
  pose_leaf(query, ia);
  query->pair->counts.box_tests += query->posed_count * fan->count;
  for (int i = 0; i < query->posed_count; i++) {
    Span span = span_of(&query->posed_span, i);
    any |= meets[i] = fan_meets(fan, span.lo, span.hi);
  }
  while (any) {
    int j = next_lane(&any);
    Posed b = query_posed_b(query, fan->index[j]);
    for (int i = 0; i < query->posed_count; i++)
      if (meets[i] >> (8 * j) & 1) query->meet(query, &query->posed[i], &b);
  }
}

/* Tests the children of the larger of two overlapping nodes against the other node. */
static void nodes_query(Query *query, int ia, int ib, const Span *span) {
  const TreeNode *na = &query->a->node[ia], *nb = &query->b->node[ib];
  if (pair_stops(query->pair, query->scene)) return;
  if (na->element_count > 0 && nb->element_count > 0) {
    leaves_query(query, ia, nb);
    return;
  }
  bool into_a = tree_splits_a(na, nb);
  const Fan *fan = into_a ? &query->a->fan[na->fan] : &query->b->fan[nb->fan];
  query->pair->counts.box_tests += fan->count;
  if (!into_a) {
    uint64_t meets = fan_meets(fan, span->lo, span->hi);
    while (meets) nodes_query(query, ia, fan->index[next_lane(&meets)], span);
    return;
  }
  Spans below = pose_fan(query, fan);
  uint64_t meets = spans_meet(&below, fan->count, nb) & fan_meets(fan, query->entry[0], query->entry[1]);
  while (meets) {
    int lane = next_lane(&meets);
    Span own = span_of(&below, lane);
    nodes_query(query, fan->index[lane], ib, &own);
  }
}

static void put_box(float lo[3], float hi[3], Box box) {
  for (int k = 0; k < 3; k++) {
    lo[k] = (float)component(box.lo, k);
    hi[k] = (float)component(box.hi, k);
  }
}

/* Computes the i-AABB in a's rest frame: the intersection of the two bodies' boxes, inflated by the radius. Nodes
 * outside it are pruned before any pair of nodes is formed. open: nothing is pruned, as any part of a moving a may pass
 * b. */
static void set_entry(Query *query, bool open) {
  Mat3 inverse = mat3_inverse(affine_linear(&query->from));
  Affine back = affine(neg(mat3_mul_vec(inverse, query->from.n[0])), inverse);
  Box of_b = box_transform(&back, box_inflate(query->b->box, query->reach));
  put_box(query->entry[0], query->entry[1], box_inflate(open ? query->a->box : of_b, query->reach));
}

static void roots_query(Query *query) {
  const TreeNode *root = &query->b->node[0];
  Box whole = box_transform(&query->from, query->a->box);
  Span span;
  if (query->swept) whole = box_union(whole, box_transform(&query->to, query->a->box));
  put_box(span.lo, span.hi, box_inflate(whole, query->reach));
  query->pair->counts.box_tests++;
  for (int k = 0; k < 3; k++)
    if (span.lo[k] > root->hi[k] || span.hi[k] < root->lo[k]) return;
  nodes_query(query, 0, 0, &span);
}

void query_open(Query *query, Pair *pair, const ContactScene *scene) {
  query->pair = pair;
  query->cache = pair_cache(pair, scene);
  query->scene = scene;
  query->side[0] = scene_side(scene, pair->a);
  query->side[1] = scene_side(scene, pair->b);
  query->a = query->side[0].mesh;
  query->b = query->side[1].mesh;
}

float query_reach(const Affine *from, const Affine *to, const Mesh *a, const Mesh *b, double radius) {
  double size = most(norm(from->n[0]), norm(to->n[0])) + a->radius + b->radius;
  return nextafterf((float)(radius + 1e-5 * size), INFINITY);
}

void query_run(Query *query, const Affine *from, const Affine *to, double radius) {
  query->swept = to != NULL;
  query->from = *from;
  query->to = to ? *to : *from;
  query->radius = radius;
  query->posed_leaf = -1;
  query->posed_count = 0;
  query->reach = query_reach(&query->from, &query->to, query->a, query->b, radius);
  AbdDetection detection = query->scene->model->def.solver.detection;
  set_entry(query, query->swept || detection == ABD_DETECTION_TREES_PLAIN);
  if (detection <= ABD_DETECTION_TREES_PLAIN) roots_query(query);
  else query_otherwise(query, detection);
}
