/* Lists of candidates made by the GPU, for all pairs of a stage at once. They stay there. Tested in
 * tests/test_cuda_serial.c. */
#include <string.h>

#include "contact/query.h"
#include "cuda/accelerator.h"
#include "cuda/search_item.h"
#include "kernel/constant.h"

_Static_assert(sizeof(Fan) == sizeof(FanData), "fans are copied as they are");

/* ---- trees ---- */

int cuda_ranked = GPU_RANKED;

typedef struct Sizes {
  size_t node, fan, element;
} Sizes;

bool search_open(Cuda *c, const SideShape *shape) {
  const Model *m = c->model;
  Search *s = &c->search;
  Sizes all = {1, 1, 1};
  for (int k = 0; k < m->mesh_count; k++) {
    all.node += (size_t)m->mesh[k].node_count;
    all.fan += (size_t)m->mesh[k].fan_count;
    all.element += (size_t)m->mesh[k].element_count;
  }
  Tree *tree = mem_alloc((size_t)m->mesh_count, sizeof *tree);
  bool ok = tree && device_reserve(&s->node, all.node * sizeof(TreeNode)) &&
            device_reserve(&s->fan, all.fan * sizeof(FanData)) &&
            device_reserve(&s->element, all.element * sizeof(Element)) &&
            device_reserve(&s->tree, (size_t)m->mesh_count * sizeof *tree);
  TreeNode *node = s->node.at;
  FanData *fan = s->fan.at;
  Element *element = s->element.at;
  for (int k = 0; ok && k < m->mesh_count; k++) {
    const Mesh *mesh = &m->mesh[k];
    tree[k] = (Tree){node, fan, element, shape[k].x};
    ok = device_upload(node, mesh->node, (size_t)mesh->node_count * sizeof *node) &&
         device_upload(fan, mesh->fan, (size_t)mesh->fan_count * sizeof *fan) &&
         device_upload(element, mesh->element, (size_t)mesh->element_count * sizeof *element);
    node += mesh->node_count;
    fan += mesh->fan_count;
    element += mesh->element_count;
  }
  ok = ok && device_upload(s->tree.at, tree, (size_t)m->mesh_count * sizeof *tree) && device_wait();
  mem_free(tree);
  s->queue_room = s->leaf_room = s->meeting_room = s->found_room = 1 << 16;
  s->count.size = sizeof(int);
  return ok;
}

void search_close(Search *s) {
  DeviceArray *array[] = {&s->node,     &s->fan,          &s->element, &s->tree,   &s->queue[0], &s->queue[1],
                          &s->leaf,     &s->meeting,      &s->found,   &s->key,    &s->owner,    &s->place,
                          &s->gathered, &s->gathered_key, &s->order,   &s->scratch};
  for (int k = 0; k < ARRAY_COUNT(array); k++) device_free(array[k]);
  twin_free(&s->count);
  packet_free(&s->packet);
}

/* ---- tasks ---- */

static void put_box(float lo[3], float hi[3], Box box) {
  for (int k = 0; k < 3; k++) {
    lo[k] = (float)component(box.lo, k);
    hi[k] = (float)component(box.hi, k);
  }
}

static SearchTask task_open(const Model *m, const Pair *p, const Affine *from, const Affine *to, double radius) {
  const Mesh *a = &m->mesh[m->body[p->a].mesh], *b = &m->mesh[m->body[p->b].mesh];
  return (SearchTask){.mesh_a = m->body[p->a].mesh,
                      .mesh_b = m->body[p->b].mesh,
                      .sweep = -1,
                      .listed = -1,
                      .t = *from,
                      .to = *to,
                      .radius = radius,
                      .reach = query_reach(from, to, a, b, radius)};
}

static SearchTask list_task(const Cpu *cpu, const Pair *p) {
  const PairCache *cache = pair_cache(p, &cpu->scene);
  const Mesh *b = &cpu->model->mesh[cpu->model->body[p->b].mesh];
  SearchTask t = task_open(cpu->model, p, &cache->ref, &cache->ref, cache->radius);
  Mat3 inverse = mat3_inverse(affine_linear(&t.t));
  Affine back = affine(neg(mat3_mul_vec(inverse, t.t.n[0])), inverse);
  put_box(t.entry[0], t.entry[1], box_inflate(box_transform(&back, box_inflate(b->box, t.reach)), t.reach));
  return t;
}

/* Nothing is pruned before the descent: any part of a may pass b. */
SearchTask search_window_task(const Cpu *cpu, const Pair *p, const SweepWindow *w, int sweep) {
  SearchTask t = task_open(cpu->model, p, &w->from, &w->to, w->radius);
  t.sweep = sweep;
  put_box(t.entry[0], t.entry[1], box_inflate(cpu->model->mesh[t.mesh_a].box, t.reach));
  return t;
}

/* ---- the search ---- */

static bool reserve(Search *s) {
  for (int k = 0; k < 2; k++)
    if (!device_reserve(&s->queue[k], (size_t)s->queue_room * sizeof(SearchItem))) return false;
  return device_reserve(&s->leaf, (size_t)s->leaf_room * sizeof(SearchItem)) &&
         device_reserve(&s->meeting, (size_t)s->meeting_room * sizeof(Meeting)) &&
         device_reserve(&s->found, (size_t)s->found_room * sizeof(Candidate)) &&
         device_reserve(&s->key, (size_t)s->found_room * sizeof(uint64_t)) &&
         device_reserve(&s->owner, (size_t)s->found_room * sizeof(int)) &&
         device_reserve(&s->place, (size_t)s->found_room * sizeof(int)) &&
         device_reserve(&s->gathered, (size_t)s->found_room * sizeof(int)) &&
         device_reserve(&s->gathered_key, (size_t)s->found_room * sizeof(uint64_t));
}

/* Short lists are put behind the candidates that are there. swept: bounds come back with the counters. */
static bool descend(Cuda *c, int tasks, bool swept) {
  Search *s = &c->search;
  size_t bytes = (size_t)s->count.count * sizeof(int);
  if (!reserve(s) || !device_reserve(&s->count.there, bytes) ||
      !cuda_grow_candidates(c, c->candidate_count + s->found_room))
    return false;
  int *count = s->count.there.at;
  SearchArrays arrays = {.task = packet_there(&s->packet, 0),
                         .tree = s->tree.at,
                         .queue = {s->queue[0].at, s->queue[1].at},
                         .leaf = s->leaf.at,
                         .meeting = s->meeting.at,
                         .found = s->found.at,
                         .key = s->key.at,
                         .owner = s->owner.at,
                         .place = s->place.at,
                         .count = count,
                         .task_count = count + SEARCH_COUNTS,
                         .task_first = count + SEARCH_COUNTS + tasks,
                         .gathered_key = s->gathered_key.at,
                         .gathered = s->gathered.at,
                         .ordered = (Candidate *)c->candidate.at + c->candidate_count,
                         .sweep = c->sweep.at,
                         .bound = c->result.there.at,
                         .queue_room = s->queue_room,
                         .leaf_room = s->leaf_room,
                         .meeting_room = s->meeting_room,
                         .found_room = s->found_room,
                         .ranked = cuda_ranked};
  return search_descend_launch(tasks, &arrays) && twin_receive(&s->count, swept ? &c->result : NULL, &c->arrival) &&
         device_arrive(&c->arrival);
}

static bool has_room(int count, int *room) {
  bool fits = count <= *room;
  if (!fits) *room = count + count / 2;
  return fits;
}

/* Whether all found their room; else it is made larger. */
static bool fits(Search *s) {
  const int *count = s->count.here.at;
  int widest = 0;
  for (int k = 0; k <= SEARCH_LEVELS; k++) widest = count[k] > widest ? count[k] : widest;
  bool all = has_room(widest, &s->queue_room);
  all &= has_room(count[SEARCH_LEAVES], &s->leaf_room);
  all &= has_room(count[SEARCH_MEETINGS], &s->meeting_room);
  return has_room(count[SEARCH_FOUND], &s->found_room) && all;
}

typedef struct Handing {
  Cpu *cpu;
  Cuda *c;
  const int *pair;
  const int *count, *first; /* by task: its candidates; the first */
  int base;                 /* of the candidates there */
} Handing;

static void hand_task(void *context, int t) {
  const Handing *h = context;
  Pair *p = pairs_at(&h->cpu->pairs, h->pair[t]);
  Record *r = &h->c->record[p->slot];
  int first = h->first[t], count = h->count[t];
  pair_query_put(p, &h->cpu->scene, count);
  if (r->a != p->a || r->b != p->b) *r = (Record){.a = p->a, .b = p->b};
  r->list = pair_cache(p, &h->cpu->scene)->list;
  r->first = h->base + first;
  r->count = count;
}

/* Long lists are sorted, all together, by task. first: where each begins. */
static bool sort_lists(Search *s, int lists, int *first, int found, Candidate *to) {
  const int *count = (const int *)s->count.here.at + SEARCH_COUNTS;
  for (int t = 0, at = 0; t < lists; at += count[t++]) first[t] = at;
  if (!device_reserve(&s->order, (size_t)found * sizeof(int))) return false;
  OrderArrays order = {s->found.at, s->order.at, to};
  return search_sort(found, s->key.at, s->owner.at, s->order.at, &s->scratch) && search_order_launch(found, &order);
}

bool search_collect(Cuda *c, Cpu *cpu, int tasks, int lists, const int *pair) {
  Search *s = &c->search;
  int *count = s->count.here.at, *first = count + SEARCH_COUNTS + tasks;
  int found = count[SEARCH_FOUND], base = c->candidate_count;
  if (count[SEARCH_LONG] && !sort_lists(s, lists, first, found, (Candidate *)c->candidate.at + base)) return false;
  c->candidate_count = base + found;
  Handing handing = {cpu, c, pair, count + SEARCH_COUNTS, first, base};
  parallel_for(cpu->threads, lists, 64, hand_task, &handing);
  return true;
}

bool search_here(Cpu *cpu, int lists, const int *pair) {
  for (int t = 0; t < lists; t++) pair_query_here(pairs_at(&cpu->pairs, pair[t]), &cpu->scene);
  return pairs_settle(&cpu->pairs);
}

SearchTask *search_tasks(Search *s, int tasks) {
  packet_begin(&s->packet);
  packet_add(&s->packet, (size_t)tasks * sizeof(SearchTask));
  s->count.count = 0;
  bool ok = packet_open(&s->packet) && twin_extend(&s->count, SEARCH_COUNTS + 2 * tasks);
  return ok ? s->packet.here.at : NULL;
}

bool search_run(Cuda *c, int tasks, bool swept, bool *deep) {
  if (!packet_send(&c->search.packet)) return false;
  do
    if (!descend(c, tasks, swept)) return false;
  while (!fits(&c->search));
  const int *count = c->search.count.here.at;
  *deep = count[SEARCH_DEEP] || count[SEARCH_LEVELS] > 0;
  return true;
}

typedef struct Listing {
  const Cpu *cpu;
  const int *pair;
  SearchTask *task;
  bool swept;
} Listing;

static void list_item(void *context, int t) {
  const Listing *l = context;
  l->task[t] = list_task(l->cpu, pairs_at(&l->cpu->pairs, l->pair[t]));
  if (l->swept) l->task[t].listed = t;
}

void search_list_tasks(const Cpu *cpu, int lists, const int *pair, bool swept, SearchTask *task) {
  Listing listing = {cpu, pair, task, swept};
  parallel_for(cpu->threads, lists, 16, list_item, &listing);
}

bool cuda_search(Cuda *c, Cpu *cpu, int lists, const int *pair) {
  bool deep;
  if (lists == 0) return true;
  SearchTask *task = search_tasks(&c->search, lists);
  if (!task) return false;
  search_list_tasks(cpu, lists, pair, false, task);
  if (!search_run(c, lists, false, &deep)) return false;
  return deep ? search_here(cpu, lists, pair) : search_collect(c, cpu, lists, lists, pair);
}
