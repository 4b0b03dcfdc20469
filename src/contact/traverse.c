/* Dual traversal of two meshes' trees in b's rest frame. Each test compares the box of one node with the eight boxes of
 * a fan of the other mesh. Boxes are in single precision; the reach includes its rounding. Tested in
 * tests/test_contact.c. */
#include "contact/query.h"

#ifdef __aarch64__
#include <arm_neon.h>
#endif

/* One register of lanes. GCC keeps wider vectors in memory and computes them lane by lane. */
#ifdef __AVX__
#define LANE_BYTES 32
#else
#define LANE_BYTES 16
#endif
typedef float Floats __attribute__((vector_size(LANE_BYTES), aligned(4), may_alias));
typedef int Ints __attribute__((vector_size(LANE_BYTES)));
enum { LANES = LANE_BYTES / sizeof(float), PARTS = FAN_WIDTH / LANES };

typedef struct Span {
  float lo[3], hi[3];
} Span;

static Floats part_of(const Float8 *v, int part) { return ((const Floats *)v)[part]; }
static Floats *part_at(Float8 *v, int part) { return (Floats *)v + part; }

/* Bit k: lane k is set. */
static unsigned set_lanes(Ints set) {
#if defined __AVX__
  return (unsigned)__builtin_ia32_movmskps256((Floats)set);
#elif defined __aarch64__
  const Ints weight = {1, 2, 4, 8};
  return (unsigned)vaddvq_s32((int32x4_t)(set & weight));
#else
  unsigned bits = 0;
  for (int k = 0; k < LANES; k++) bits |= (unsigned)(set[k] & 1) << k;
  return bits;
#endif
}

/* Bit k: box k of the first `count` meets the box from lo to hi. */
static unsigned boxes_meet(const Float8 own_lo[3], const Float8 own_hi[3], int count, const float lo[3],
                           const float hi[3]) {
  unsigned bits = 0;
  for (int p = 0; p < PARTS; p++) {
    Ints meets = (part_of(&own_lo[0], p) <= hi[0]) & (part_of(&own_hi[0], p) >= lo[0]);
    for (int k = 1; k < 3; k++) meets &= (part_of(&own_lo[k], p) <= hi[k]) & (part_of(&own_hi[k], p) >= lo[k]);
    bits |= set_lanes(meets) << (p * LANES);
  }
  return bits & ((1u << count) - 1);
}

static unsigned fan_meets(const Fan *fan, const float lo[3], const float hi[3]) {
  return boxes_meet(fan->lo, fan->hi, fan->count, lo, hi);
}

/* Removes the first lane from a set that is not empty and returns it. */
static int next_lane(unsigned *set) {
  int lane = __builtin_ctz(*set);
  *set &= *set - 1;
  return lane;
}

static void pose_part(const Affine *t, const Fan *fan, float reach, int p, Spans *out) {
  Floats c[3], h[3];
  for (int k = 0; k < 3; k++) {
    Floats lo = part_of(&fan->lo[k], p), hi = part_of(&fan->hi[k], p);
    c[k] = 0.5f * (lo + hi);
    h[k] = 0.5f * (hi - lo);
  }
  for (int k = 0; k < 3; k++) {
    float x = (float)component(t->n[1], k), y = (float)component(t->n[2], k), z = (float)component(t->n[3], k);
    Floats center = (float)component(t->n[0], k) + x * c[0] + y * c[1] + z * c[2];
    Floats half = fabsf(x) * h[0] + fabsf(y) * h[1] + fabsf(z) * h[2] + reach;
    *part_at(&out->lo[k], p) = center - half;
    *part_at(&out->hi[k], p) = center + half;
  }
}

static Floats choose(Ints first, Floats x, Floats y) { return (Floats)((first & (Ints)x) | (~first & (Ints)y)); }

static void pose_fan(const Query *query, const Fan *fan, Spans *s) {
  Spans end;
  for (int p = 0; p < PARTS; p++) {
    pose_part(&query->from, fan, query->reach, p, s);
    if (!query->swept) continue;
    pose_part(&query->to, fan, query->reach, p, &end);
    for (int k = 0; k < 3; k++) {
      Floats lo = part_of(&s->lo[k], p), hi = part_of(&s->hi[k], p);
      Floats end_lo = part_of(&end.lo[k], p), end_hi = part_of(&end.hi[k], p);
      *part_at(&s->lo[k], p) = choose(lo < end_lo, lo, end_lo);
      *part_at(&s->hi[k], p) = choose(hi > end_hi, hi, end_hi);
    }
  }
}

static Span span_of(const Spans *s, int lane) {
  Span own;
  for (int k = 0; k < 3; k++) {
    own.lo[k] = ((const float *)&s->lo[k])[lane];
    own.hi[k] = ((const float *)&s->hi[k])[lane];
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

void query_pose_b(const Query *query, int element, Posed *p) {
  p->element = &query->b->element[element];
  for (int k = 0; k < 3; k++) p->x[k] = query->b->vertex[p->element->vertex[k]];
  query_boxes(p);
}

/* Poses the boxes of the elements of a leaf of a. They stay valid until the traversal reaches another leaf of a. */
static void pose_leaf(Query *query, int ia) {
  const TreeNode *na = &query->a->node[ia];
  if (query->posed_leaf == ia) return;
  query->posed_leaf = ia;
  query->posed_count = na->element_count;
  query->posed_set = 0;
  pose_fan(query, &query->a->fan[na->fan], &query->posed_span);
}

/* Element i of the leaf of a. It is posed when its box first meets another. */
static const Posed *posed_a(Query *query, int i) {
  Posed *p = &query->posed[i];
  if (!(query->posed_set >> i & 1)) query_pose(query, query->a->node[query->posed_leaf].first + i, p);
  query->posed_set |= 1u << i;
  return p;
}

static void leaves_query(Query *query, int ia, const TreeNode *nb) {
  const Fan *fan = &query->b->fan[nb->fan];
  unsigned meets[LEAF_MAX], any = 0;
  pose_leaf(query, ia);
  query->pair->counts.box_tests += query->posed_count * fan->count;
  for (int i = 0; i < query->posed_count; i++) {
    Span span = span_of(&query->posed_span, i);
    any |= meets[i] = fan_meets(fan, span.lo, span.hi);
  }
  while (any) {
    Posed b;
    int j = next_lane(&any);
    query_pose_b(query, fan->index[j], &b);
    for (int i = 0; i < query->posed_count; i++) {
      if (!(meets[i] >> j & 1)) continue;
      const Posed *a = posed_a(query, i);
      if (box_overlap(a->box, b.box)) query->meet(query, a, &b);
    }
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
    unsigned meets = fan_meets(fan, span->lo, span->hi);
    while (meets) nodes_query(query, ia, fan->index[next_lane(&meets)], span);
    return;
  }
  Spans below;
  pose_fan(query, fan, &below);
  unsigned meets =
      boxes_meet(below.lo, below.hi, fan->count, nb->lo, nb->hi) & fan_meets(fan, query->entry[0], query->entry[1]);
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
