/* The search for candidates: both trees of each pair are descended together, one level at a time for all pairs, then
 * the elements of the leaves that meet are tested. The order in which items are found changes from run to run; keys
 * give every candidate its place in the order of contact/traverse.c. A swept task finds the stencils that pass each
 * other in a window of the step and bounds the step by them. Compiles as C and as CUDA. */
#ifndef ABD_CUDA_SEARCH_ITEM_H
#define ABD_CUDA_SEARCH_ITEM_H

#include <float.h>

#include "cuda/contact_item.h"
#include "cuda/device.h"
#include "geom/node.h"

/* Fan of geom/mesh.h as plain arrays. */
typedef struct FanData {
  float lo[3][FAN_WIDTH], hi[3][FAN_WIDTH];
  int index[FAN_WIDTH];
  int count;
} FanData;

typedef struct Tree {
  const TreeNode *node;
  const FanData *fan;
  const Element *element;
  const Vec3 *x;
} Tree;

/* All stencils of two meshes within a radius, at relative pose t; or on the straight path from t to `to`. */
typedef struct SearchTask {
  int mesh_a, mesh_b;
  int sweep;  /* the sweep of a path; -1 = none */
  int listed; /* the sweep that tests the listed stencils; -1 = none */
  Affine t, to;
  double radius;
  float reach;       /* the radius plus the rounding of boxes */
  float entry[2][3]; /* lo and hi of the i-AABB in a's rest frame */
} SearchTask;

/* Two nodes that meet. key: the branches on the way to them, from the highest bits down; bit: the lowest one in use. */
typedef struct SearchItem {
  uint64_t key;
  int task, ia, ib, bit;
} SearchItem;

/* Two elements of a pair of leaves whose boxes meet. */
typedef struct Meeting {
  int leaf, elements; /* LEAF_MAX * element of b + element of a */
} Meeting;

enum {
  SEARCH_LEVELS = 18,
  SEARCH_LEAVES,
  SEARCH_MEETINGS,
  SEARCH_FOUND,
  SEARCH_PLACED,
  SEARCH_LONG,
  SEARCH_DEEP,
  SEARCH_COUNTS
};
enum { ELEMENT_STENCILS = 15 }; /* of two elements: vertices of a, vertices of b, edges */

typedef struct SearchArrays {
  const SearchTask *task;
  const Tree *tree; /* by mesh */
  SearchItem *queue[2], *leaf;
  Meeting *meeting;
  Candidate *found;
  uint64_t *key;   /* of each found one */
  int *owner;      /* its task */
  int *place;      /* its number among those of the task, in the order in which they were found */
  int *count;      /* [SEARCH_COUNTS] items by level; leaves; meetings; candidates; candidates that have a place in
                    * `ordered`; whether a list is too long to be ranked, trees were too deep */
  int *task_count; /* candidates, or stencils that pass each other, by task */
  int *task_first; /* by task: its first candidate in `ordered` */
  uint64_t *gathered_key; /* by task, then in any order: keys, and found ones that they belong to */
  int *gathered;
  Candidate *ordered; /* by task, then in the order of keys */
  const SweepFull *sweep;
  uint64_t *bound; /* by sweep, as in SweepArrays */
  int queue_room, leaf_room, meeting_room, found_room;
  int ranked; /* the longest list that is ranked */
  int level;
} SearchArrays;

/* The first level; no counter has a value yet. */
KERNEL void search_root(const SearchArrays *s, int task) {
  SearchItem item = {0, task, 0, 0, 64};
  if (task < s->queue_room) s->queue[0][task] = item;
  s->task_count[task] = s->task_first[task] = 0;
}

KERNEL void search_clear(const SearchArrays *s, int which, int tasks) { s->count[which] = which == 0 ? tasks : 0; }

/* Adds the side d of a's box at pose t to the span. */
KERNEL void span_add(const Affine *t, const float lo[3], const float hi[3], int d, float reach, float span[2]) {
  float center = (float)component(t->n[0], d), half = reach;
  for (int i = 0; i < 3; i++) {
    float f = (float)component(t->n[i + 1], d);
    center += f * 0.5f * (lo[i] + hi[i]);
    half += fabsf(f) * 0.5f * (hi[i] - lo[i]);
  }
  if (center - half < span[0]) span[0] = center - half;
  if (center + half > span[1]) span[1] = center + half;
}

/* A box of a in b's rest frame, inflated by the reach. */
KERNEL bool posed_meets(const SearchTask *k, const float lo[3], const float hi[3], const TreeNode *b) {
  for (int d = 0; d < 3; d++) {
    float span[2] = {FLT_MAX, -FLT_MAX};
    span_add(&k->t, lo, hi, d, k->reach, span);
    if (k->sweep >= 0) span_add(&k->to, lo, hi, d, k->reach, span);
    if (span[0] > b->hi[d] || span[1] < b->lo[d]) return false;
  }
  return true;
}

KERNEL TreeNode fan_node(const FanData *fan, int lane) {
  TreeNode n = {{0}, {0}, 0, 0, 0, 0};
  for (int d = 0; d < 3; d++) {
    n.lo[d] = fan->lo[d][lane];
    n.hi[d] = fan->hi[d][lane];
  }
  return n;
}

KERNEL bool enters(const SearchTask *k, const TreeNode *a) {
  for (int d = 0; d < 3; d++)
    if (a->lo[d] > k->entry[1][d] || a->hi[d] < k->entry[0][d]) return false;
  return true;
}

/* Item `i / FAN_WIDTH` of the level, child `i % FAN_WIDTH` of its larger node. */
KERNEL void search_expand(const SearchArrays *s, int i) {
  int lane = i % FAN_WIDTH;
  SearchItem item = s->queue[s->level % 2][i / FAN_WIDTH];
  const SearchTask *k = &s->task[item.task];
  const Tree *a = &s->tree[k->mesh_a], *b = &s->tree[k->mesh_b];
  const TreeNode *na = &a->node[item.ia], *nb = &b->node[item.ib];
  if (na->element_count > 0 && nb->element_count > 0) {
    int at = lane ? s->leaf_room : count_up(&s->count[SEARCH_LEAVES]);
    if (at < s->leaf_room) s->leaf[at] = item;
    return;
  }
  bool into_a = tree_splits_a(na, nb);
  const FanData *fan = into_a ? &a->fan[na->fan] : &b->fan[nb->fan];
  if (lane >= fan->count) return;
  TreeNode child = fan_node(fan, lane);
  if (into_a ? !enters(k, &child) || !posed_meets(k, child.lo, child.hi, nb) : !posed_meets(k, na->lo, na->hi, &child))
    return;
  *(into_a ? &item.ia : &item.ib) = fan->index[lane];
  if (k->sweep < 0 && item.bit >= 3) {
    item.bit -= 3;
    item.key |= (uint64_t)lane << item.bit;
  } else item.bit = 0; /* paths have no order */
  int at = count_up(&s->count[s->level + 1]);
  if (at < s->queue_room) s->queue[(s->level + 1) % 2][at] = item;
}

KERNEL Box corners_box(const Vec3 *x, int first, int count, double radius) {
  Box box = {x[first], x[first]};
  for (int i = 1; i < count; i++) box = box_add(box, x[(first + i) % 3]);
  return box_inflate(box, radius);
}

KERNEL void search_put(const SearchArrays *s, const SearchItem *item, int elements, int stencil, double dist_sq,
                       Vec3 diff, const Vec3 *y, int y_count, Candidate c) {
  double radius = s->task[item->task].radius;
  if (dist_sq > radius * radius) return;
  int at = count_up(&s->count[SEARCH_FOUND]), place = count_up(&s->task_count[item->task]);
  if (at >= s->found_room) return;
  candidate_set(&c, dist_sq, diff, y, y_count);
  s->found[at] = c;
  s->owner[at] = item->task;
  s->place[at] = place;
  s->key[at] = item->key | (uint64_t)elements << (item->bit - 6) | (uint64_t)stencil << (item->bit - 10);
}

KERNEL Candidate stencil_of(int kind, int prim_a, int prim_b) {
  Candidate c = {0, -FLT_MAX, {0, 0, 0}, 0, kind, prim_a, prim_b};
  return c;
}

/* Two elements with their corners in b's rest frame; end: those of a at the end of a path. */
typedef struct Elements {
  const SearchTask *task;
  const Element *a, *b;
  Vec3 x[3], end[3], y[3];
} Elements;

KERNEL bool elements_open(const SearchArrays *s, const SearchItem *item, int elements, Elements *out) {
  const SearchTask *k = &s->task[item->task];
  const Tree *a = &s->tree[k->mesh_a], *b = &s->tree[k->mesh_b];
  const TreeNode *na = &a->node[item->ia], *nb = &b->node[item->ib];
  int of_a = elements % LEAF_MAX, of_b = elements / LEAF_MAX;
  if (of_a >= na->element_count || of_b >= nb->element_count) return false;
  out->task = k;
  out->a = &a->element[na->first + of_a];
  out->b = &b->element[nb->first + of_b];
  for (int n = 0; n < 3; n++) {
    Vec3 rest = a->x[out->a->vertex[n]];
    out->x[n] = affine_point(&k->t, rest);
    out->end[n] = k->sweep >= 0 ? affine_point(&k->to, rest) : out->x[n];
    out->y[n] = b->x[out->b->vertex[n]];
  }
  return true;
}

/* The box of some corners of a on their way, inflated by the radius. */
KERNEL Box path_box(const Elements *e, int first, int count) {
  double radius = e->task->radius;
  Box box = corners_box(e->x, first, count, radius);
  return e->task->sweep >= 0 ? box_union(box, corners_box(e->end, first, count, radius)) : box;
}

/* Leaf pair i / 64, its elements i % 8 of a and i / 8 % 8 of b. */
KERNEL void search_meet(const SearchArrays *s, int i) {
  int leaf = i / (LEAF_MAX * LEAF_MAX), elements = i % (LEAF_MAX * LEAF_MAX);
  const SearchItem *item = &s->leaf[leaf];
  Elements e;
  if (!elements_open(s, item, elements, &e) || !box_overlap(path_box(&e, 0, 3), corners_box(e.y, 0, 3, 0))) return;
  if (e.task->sweep < 0 && item->bit < 10) {
    s->count[SEARCH_DEEP] = 1;
    return;
  }
  int at = count_up(&s->count[SEARCH_MEETINGS]);
  if (at >= s->meeting_room) return;
  s->meeting[at].leaf = leaf;
  s->meeting[at].elements = elements;
}

/* ---- stencils of two elements that meet ---- */

/* As contact/query.c lists those of stiff bodies. */
KERNEL void list_stencil(const SearchArrays *s, const SearchItem *item, int elements, int n, const Elements *e) {
  const Vec3 *x = e->x, *y = e->y;
  double bary[3], u, v;
  Vec3 diff;
  if (n < 3) {
    if (!box_has(box_inflate(corners_box(y, 0, 3, 0), e->task->radius), x[n])) return;
    double d = closest_point_triangle(x[n], y[0], y[1], y[2], bary, &diff);
    search_put(s, item, elements, n, d, diff, y, 3,
               stencil_of(STENCIL_VERTEX_TRIANGLE, e->a->vertex[n], e->b->triangle));
  } else if (n < 6) {
    int k = n - 3;
    if (!box_has(path_box(e, 0, 3), y[k])) return;
    double d = closest_point_triangle(y[k], x[0], x[1], x[2], bary, &diff);
    search_put(s, item, elements, n, d, neg(diff), &y[k], 1,
               stencil_of(STENCIL_TRIANGLE_VERTEX, e->a->triangle, e->b->vertex[k]));
  } else {
    int i = (n - 6) / 3, j = (n - 6) % 3;
    Vec3 edge[2] = {y[j], y[(j + 1) % 3]};
    if (!box_overlap(path_box(e, i, 2), corners_box(y, j, 2, 0))) return;
    double d = closest_edge_edge(x[i], x[(i + 1) % 3], edge[0], edge[1], &u, &v, &diff);
    search_put(s, item, elements, n, d, diff, edge, 2, stencil_of(STENCIL_EDGE_EDGE, e->a->edge[i], e->b->edge[j]));
  }
}

KERNEL void stencil_passes(const SearchArrays *s, int task, const Elements *e, int kind, int prim_a, int prim_b) {
  const Sweep *sweep = &s->sweep[e->task->sweep].s;
  double bound = sweep_stencil(sweep, kind, prim_a, prim_b, sweep->separation, 1);
  count_up(&s->task_count[task]);
  if (bound < 1) least_bits(&s->bound[e->task->sweep], bound > 0 ? bound : 0);
}

/* As contact/bound.c tests those on a path. */
KERNEL void pass_stencil(const SearchArrays *s, int task, int n, const Elements *e) {
  if (n < 3) {
    if (box_overlap(path_box(e, n, 1), corners_box(e->y, 0, 3, 0)))
      stencil_passes(s, task, e, STENCIL_VERTEX_TRIANGLE, e->a->vertex[n], e->b->triangle);
  } else if (n < 6) {
    if (box_has(path_box(e, 0, 3), e->y[n - 3]))
      stencil_passes(s, task, e, STENCIL_TRIANGLE_VERTEX, e->a->triangle, e->b->vertex[n - 3]);
  } else {
    int i = (n - 6) / 3, j = (n - 6) % 3;
    if (box_overlap(path_box(e, i, 2), corners_box(e->y, j, 2, 0)))
      stencil_passes(s, task, e, STENCIL_EDGE_EDGE, e->a->edge[i], e->b->edge[j]);
  }
}

/* Does stencil n of two elements exist, and do they own it? */
KERNEL bool stencil_owned(const Element *a, const Element *b, int n) {
  if (n < 3) return b->triangle >= 0 && n < a->vertex_count && (a->owned_vertices >> n & 1);
  if (n < 6) return a->triangle >= 0 && n - 3 < b->vertex_count && (b->owned_vertices >> (n - 3) & 1);
  return edges_meet(a, b) && (a->sharp_edges >> (n - 6) / 3 & 1) && (b->sharp_edges >> (n - 6) % 3 & 1);
}

/* Meeting i / 15, its stencil i % 15. */
KERNEL void search_stencil(const SearchArrays *s, int i) {
  const Meeting *m = &s->meeting[i / ELEMENT_STENCILS];
  const SearchItem *item = &s->leaf[m->leaf];
  int n = i % ELEMENT_STENCILS;
  Elements e;
  if (!elements_open(s, item, m->elements, &e) || !stencil_owned(e.a, e.b, n)) return;
  if (e.task->sweep >= 0) pass_stencil(s, item->task, n, &e);
  else list_stencil(s, item, m->elements, n, &e);
}

/* Tests found candidate i on the path. Few stencils are listed, so threads that find them do not test them. */
KERNEL void search_passes(const SearchArrays *s, int i) {
  int sweep = s->task[s->owner[i]].listed;
  if (sweep < 0) return;
  double bound = sweep_listed(&s->sweep[sweep].s, &s->found[i]);
  if (bound < 1) least_bits(&s->bound[sweep], bound > 0 ? bound : 0);
}

/* ---- short lists in order ---- */

/* Which list comes first changes from run to run; the lists do not. */
KERNEL void search_place(const SearchArrays *s, int task) {
  int count = s->task_count[task];
  if (s->task[task].sweep >= 0) return; /* lists nothing */
  s->task_first[task] = count_up_by(&s->count[SEARCH_PLACED], count);
  if (count > s->ranked) s->count[SEARCH_LONG] = 1;
}

KERNEL void search_gather(const SearchArrays *s, int i) {
  int at = s->task_first[s->owner[i]] + s->place[i];
  s->gathered_key[at] = s->key[i];
  s->gathered[at] = i;
}

/* Keys of a task differ. The number of smaller ones is a candidate's place. */
KERNEL void search_rank(const SearchArrays *s, int at) {
  int i = s->gathered[at], task = s->owner[i], first = s->task_first[task], rank = 0;
  uint64_t key = s->gathered_key[at];
  for (int k = 0; k < s->task_count[task]; k++) rank += s->gathered_key[first + k] < key;
  s->ordered[first + rank] = s->found[i];
}

/* ---- long ones ---- */

/* Candidates in order. */
typedef struct OrderArrays {
  const Candidate *found;
  const int *order;
  Candidate *out;
} OrderArrays;

KERNEL void search_order(const OrderArrays *s, int i) { s->out[i] = s->found[s->order[i]]; }

#ifdef __cplusplus
extern "C" {
#endif
bool search_descend_launch(int tasks, const SearchArrays *arrays); /* roots, all levels, leaves, short lists */
bool search_order_launch(int count, const OrderArrays *arrays);
/* The order of the found ones by owner, then key. scratch: memory that it needs. */
bool search_sort(int count, const uint64_t *key, const int *owner, int *order, DeviceArray *scratch);
#ifdef __cplusplus
}
#endif

#endif
