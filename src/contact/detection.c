/* Alternative searches for overlapping elements of two bodies, for comparison: each element of one body against the
 * other's tree, or the paper's i-AABB with all pairs of elements inside it, whole or cut into a tree of three levels.
 * Each search finds the same elements and visits them in the order of the dual traversal in traverse.c, so candidates,
 * sums and bits are the same. Tested in tests/test_contact.c. */
#include "contact/query.h"

#include <stdlib.h>
#include <string.h>

typedef struct Meeting {
  uint64_t key; /* position in the order of the dual traversal */
  int a, b;     /* elements */
} Meeting;

typedef struct Finder {
  Query *query;
  Meeting *meeting;
  int count, capacity;
  bool starved;
} Finder;

/* Elements of one body with their boxes in b's rest frame. */
typedef struct Part {
  int *element;
  Box *box;
  int count, capacity, box_capacity;
} Part;

static void part_free(Part *part) {
  mem_free(part->element);
  mem_free(part->box);
}

static void part_add(Finder *f, Part *part, int element, Box box) {
  if (!mem_reserve((void **)&part->element, &part->capacity, part->count + 1, sizeof(int)) ||
      !mem_reserve((void **)&part->box, &part->box_capacity, part->count + 1, sizeof(Box))) {
    f->starved = true;
    return;
  }
  part->element[part->count] = element;
  part->box[part->count++] = box;
}

static Box node_box(const TreeNode *n) {
  return (Box){vec3(n->lo[0], n->lo[1], n->lo[2]), vec3(n->hi[0], n->hi[1], n->hi[2])};
}

/* The box of a's node at its pose or on its path, inflated by the radius and the rounding of single precision. */
static Box posed_node_box(const Query *q, const TreeNode *n) {
  Box box = box_transform(&q->from, node_box(n));
  if (q->swept) box = box_union(box, box_transform(&q->to, node_box(n)));
  return box_inflate(box, q->reach);
}

/* Finds the node of a fan that contains an element: the last one that begins at or before it. */
static int lane_of(const Mesh *mesh, const Fan *fan, int element) {
  int lane = 0, first = -1;
  for (int k = 0; k < fan->count; k++) {
    int begins = mesh->node[fan->index[k]].first;
    if (begins > element || begins <= first) continue;
    lane = k;
    first = begins;
  }
  return lane;
}

/* The branches of the dual traversal on its path to two elements, from the highest bits down, then their positions in
 * the leaves. */
static uint64_t descent_key(const Query *q, int a, int b) {
  const TreeNode *na = q->a->node, *nb = q->b->node;
  uint64_t key = 0;
  int bit = 64;
  while (na->element_count == 0 || nb->element_count == 0) {
    bool split_a = tree_splits_a(na, nb);
    const Fan *fan = split_a ? &q->a->fan[na->fan] : &q->b->fan[nb->fan];
    int lane = lane_of(split_a ? q->a : q->b, fan, split_a ? a : b);
    if (split_a) na = &q->a->node[fan->index[lane]];
    else nb = &q->b->node[fan->index[lane]];
    key |= (uint64_t)lane << (bit -= 3);
  }
  return key | (uint64_t)(LEAF_MAX * (b - nb->first) + a - na->first) << (bit - 6);
}

static int compare_meetings(const void *x, const void *y) {
  uint64_t a = ((const Meeting *)x)->key, b = ((const Meeting *)y)->key;
  return (a > b) - (a < b);
}

static void add_meeting(Finder *f, int a, int b) {
  if (!mem_reserve((void **)&f->meeting, &f->capacity, f->count + 1, sizeof(Meeting))) f->starved = true;
  else f->meeting[f->count++] = (Meeting){descent_key(f->query, a, b), a, b};
}

/* ---- One tree ---- */

/* Tests one element of a against b's tree. */
static void descend(Finder *f, int a, Box box, int ib) {
  Query *q = f->query;
  const TreeNode *nb = &q->b->node[ib];
  q->pair->counts.box_tests++;
  if (!box_overlap(box, node_box(nb))) return;
  for (int k = 0; nb->element_count == 0 && k < 2; k++) descend(f, a, box, nb->left + k);
  q->pair->counts.box_tests += nb->element_count;
  for (int j = nb->first; j < nb->first + nb->element_count; j++) {
    Posed b;
    query_pose_b(q, j, &b);
    if (box_overlap(box, b.box)) add_meeting(f, a, j);
  }
}

static void find_by_tree(Finder *f) {
  Query *q = f->query;
  for (int i = 0; i < q->a->element_count && !f->starved && !pair_stops(q->pair, q->scene); i++) {
    Posed a;
    query_pose(q, i, &a);
    descend(f, i, a.box, 0);
  }
}

/* ---- The intersection of boxes ---- */

/* Collect the elements of a and of b inside the intersection through each body's own tree. */
static void gather_a(Finder *f, Box volume, int ia, Part *part) {
  Query *q = f->query;
  const TreeNode *na = &q->a->node[ia];
  q->pair->counts.box_tests++;
  if (!box_overlap(volume, posed_node_box(q, na))) return;
  for (int k = 0; na->element_count == 0 && k < 2; k++) gather_a(f, volume, na->left + k, part);
  q->pair->counts.box_tests += na->element_count;
  for (int i = na->first; i < na->first + na->element_count; i++) {
    Posed a;
    query_pose(q, i, &a);
    if (box_overlap(volume, a.box)) part_add(f, part, i, a.box);
  }
}

static void gather_b(Finder *f, Box volume, int ib, Part *part) {
  Query *q = f->query;
  const TreeNode *nb = &q->b->node[ib];
  q->pair->counts.box_tests++;
  if (!box_overlap(volume, node_box(nb))) return;
  for (int k = 0; nb->element_count == 0 && k < 2; k++) gather_b(f, volume, nb->left + k, part);
  q->pair->counts.box_tests += nb->element_count;
  for (int j = nb->first; j < nb->first + nb->element_count; j++) {
    Posed b;
    query_pose_b(q, j, &b);
    if (box_overlap(volume, b.box)) part_add(f, part, j, b.box);
  }
}

/* A pair belongs to the cell that contains the lower corner of its boxes' overlap. So it is visited once, even if its
 * elements are in several cells. */
static bool in_cell(Box cell, Box a, Box b) {
  Vec3 low = vec3_max(a.lo, b.lo);
  for (int k = 0; k < 3; k++)
    if (component(low, k) < component(cell.lo, k) || component(low, k) >= component(cell.hi, k)) return false;
  return true;
}

static void try_all(Finder *f, Box cell, const Part *a, const Part *b) {
  f->query->pair->counts.box_tests += (int64_t)a->count * b->count;
  for (int i = 0; i < a->count && !pair_stops(f->query->pair, f->query->scene); i++)
    for (int j = 0; j < b->count; j++)
      if (box_overlap(a->box[i], b->box[j]) && in_cell(cell, a->box[i], b->box[j]))
        add_meeting(f, a->element[i], b->element[j]);
}

static void part_cut(Finder *f, const Part *whole, int axis, double at, Part half[2]) {
  f->query->pair->counts.box_tests += 2 * whole->count;
  for (int i = 0; i < whole->count; i++) {
    if (component(whole->box[i].lo, axis) < at) part_add(f, &half[0], whole->element[i], whole->box[i]);
    if (component(whole->box[i].hi, axis) >= at) part_add(f, &half[1], whole->element[i], whole->box[i]);
  }
}

static void set_component(Vec3 *v, int axis, double value) { *(axis == 0 ? &v->x : axis == 1 ? &v->y : &v->z) = value; }

/* Cuts the volume in the middle. cell: the volume, unbounded on sides on which the intersection ends. */
static void cut(Finder *f, Box volume, Box cell, const Part *a, const Part *b, int levels) {
  if (levels == 1 || a->count == 0 || b->count == 0) {
    try_all(f, cell, a, b);
    return;
  }
  Vec3 h = box_half(volume);
  int axis = h.x >= h.y && h.x >= h.z ? 0 : h.y >= h.z ? 1 : 2;
  double at = component(box_center(volume), axis);
  Part half_a[2] = {{0}}, half_b[2] = {{0}};
  part_cut(f, a, axis, at, half_a);
  part_cut(f, b, axis, at, half_b);
  for (int k = 0; k < 2; k++) {
    Box in = volume, its = cell;
    set_component(k ? &in.lo : &in.hi, axis, at);
    set_component(k ? &its.lo : &its.hi, axis, at);
    if (!f->starved) cut(f, in, its, &half_a[k], &half_b[k], levels - 1);
    part_free(&half_a[k]);
    part_free(&half_b[k]);
  }
}

static void find_by_overlap(Finder *f, int levels) {
  Query *q = f->query;
  Part a = {0}, b = {0};
  Box of_a = posed_node_box(q, q->a->node), of_b = node_box(q->b->node);
  Box volume = {vec3_max(of_a.lo, of_b.lo), vec3_min(of_a.hi, of_b.hi)};
  Box all = {vec3(-INFINITY, -INFINITY, -INFINITY), vec3(INFINITY, INFINITY, INFINITY)};
  q->pair->counts.box_tests++;
  if (!box_overlap(of_a, of_b)) return;
  gather_a(f, volume, 0, &a);
  gather_b(f, volume, 0, &b);
  if (!f->starved) cut(f, volume, all, &a, &b, levels);
  part_free(&a);
  part_free(&b);
}

void query_otherwise(Query *query, AbdDetection detection) {
  Finder f = {.query = query};
  if (detection == ABD_DETECTION_TREE) find_by_tree(&f);
  else find_by_overlap(&f, detection == ABD_DETECTION_IAABB_3 ? 3 : 1);
  if (f.count > 1) qsort(f.meeting, (size_t)f.count, sizeof *f.meeting, compare_meetings);
  for (int k = 0; k < f.count && !pair_stops(query->pair, query->scene); k++) {
    Posed a, b;
    query_pose(query, f.meeting[k].a, &a);
    query_pose_b(query, f.meeting[k].b, &b);
    query->meet(query, &a, &b);
  }
  if (f.starved) query->pair->failed = true;
  mem_free(f.meeting);
}
