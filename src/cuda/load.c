/* Friction points on the GPU: they are sent when a step begins, made anew from the contacts there when loads follow the
 * normal forces, and compared with the contacts. Points of all pairs lie in one array without gaps; a PointRange by
 * slot tells where. See cpu/load.c for what it replaces. */
#include <string.h>

#include "contact/law.h"
#include "cuda/accelerator.h"

/* ---- from this machine ---- */

int cuda_points(const Cuda *c, const Pair *p) {
  const Record *r = &c->record[p->slot];
  return r->room && r->placed == c->step && r->a == p->a && r->b == p->b ? p->slot : -1;
}

/* searched: where the points of each pair begin. */
static void put_points(void *context, int k) {
  const Cpu *cpu = context;
  Cuda *c = cpu->accelerator_self;
  const Pair *p = pairs_at(&cpu->pairs, k);
  Record *r = &c->record[p->slot];
  record_claim(r, p);
  r->friction = c->searched[k];
  r->room = p->friction.count;
  r->placed = c->step;
  ((PointRange *)c->points.here.at)[p->slot] = (PointRange){r->friction, r->room, 0, 1};
  if (r->room)
    memcpy((FrictionPoint *)c->friction.here.at + r->friction, pair_friction(p, &cpu->scene),
           (size_t)r->room * sizeof(FrictionPoint));
}

static void count_points(void *context, int k) {
  const Cpu *cpu = context;
  const Cuda *c = cpu->accelerator_self;
  c->searched[k] = pairs_at(&cpu->pairs, k)->friction.count;
}

bool cuda_send_friction(Cuda *c, Cpu *cpu) {
  if (c->friction_known) return true;
  parallel_for(cpu->threads, cpu->pairs.count, 256, count_points, cpu);
  int count = (int)parallel_scan(cpu->threads, cpu->pairs.count, c->searched);
  c->friction.count = c->points.count = 0;
  if (!twin_extend(&c->friction, count) || !twin_extend(&c->points, cpu->pairs.slot_count)) return false;
  parallel_for(cpu->threads, cpu->pairs.count, 64, put_points, cpu);
  c->friction_known = twin_send(&c->friction) && twin_send(&c->points) && device_wait();
  return c->friction_known;
}

void cuda_friction_changed(void *self) { ((Cuda *)self)->friction_known = false; }

/* ---- made there ---- */

/* Poses and anchors at the start of the step. */
static bool send_start(Cuda *c, const Cpu *cpu) {
  const State *state = cpu->work.state;
  size_t poses = (size_t)c->model->body_count * sizeof(Affine), anchors = (size_t)state->anchor_count * sizeof(Anchor);
  if (c->started == c->step) return true;
  packet_begin(&c->origin);
  c->start = packet_add(&c->origin, poses);
  c->anchor = packet_add(&c->origin, anchors);
  if (!packet_open(&c->origin)) return false;
  memcpy(packet_here(&c->origin, c->start), state->q.body, poses);
  if (anchors) memcpy(packet_here(&c->origin, c->anchor), state->anchor, anchors);
  c->started = c->step;
  return packet_send(&c->origin);
}

static int ways_of(const double factor[FRICTION_WAYS], int way[FRICTION_WAYS]) {
  int count = 0;
  for (int w = 0; w < FRICTION_WAYS; w++)
    if (factor[w] != 0) way[count++] = w;
  return count;
}

/* items: how many the contacts of a pair that follows may have, or -1 - those that another one keeps. */
void cuda_pick_loads(Cuda *c, Cpu *cpu, int k) {
  Pair *p = pairs_at(&cpu->pairs, k);
  if (!pair_has_terms(p)) return; /* most pairs */
  Record *r = &c->record[p->slot];
  if (!pair_follows(cpu, k, p)) {
    if (cuda_points(c, p) >= 0) picks_add(&c->loaded, k, -1 - r->room);
    return;
  }
  int items = r->acting * ((p->mu > 0) + (p->rolling > 0) + (p->torsion > 0));
  cpu->pair_acts[k] = r->contacts > 0;
  if (items) {
    picks_add(&c->loaded, k, items);
    return;
  }
  r->room = p->friction.count = 0;
  p->energy = p->barrier;
}

/* Lists the pairs that have points and where these go. */
static bool choose_places(Cuda *c) {
  c->listed_count = c->listed_chunks = c->listed_points = 0;
  for (int t = 0; t < c->loaded.count; t++) {
    int items = c->loaded.list[t].items, points = items < 0 ? -1 - items : items;
    c->listed[c->listed_count++] = (Listed){c->loaded.list[t].pair, items, c->listed_chunks, c->listed_points};
    if (items > 0) c->listed_chunks += (items + CHUNK_ITEMS - 1) / CHUNK_ITEMS;
    c->listed_points += points;
  }
  packet_begin(&c->listing);
  c->list_task = packet_add(&c->listing, (size_t)c->listed_count * sizeof(ListTask));
  c->list_chunk = packet_add(&c->listing, (size_t)c->listed_chunks * sizeof(TaskChunk));
  return packet_open(&c->listing);
}

static ListTask task_for(const Cuda *c, const Pair *p) {
  const Record *r = &c->record[p->slot];
  ListTask task = {.a = p->a,
                   .b = p->b,
                   .slot = p->slot,
                   .known = cuda_points(c, p) >= 0,
                   .first = r->contact_first,
                   .contacts = r->acting,
                   .stiffness = p->stiffness};
  task.arm = pair_load_factors(p, c->model, task.factor);
  task.ways = ways_of(task.factor, task.way);
  return task;
}

static void put_task(void *context, int t) {
  const Cpu *cpu = context;
  Cuda *c = cpu->accelerator_self;
  const Listed *l = &c->listed[t];
  const Pair *p = pairs_at(&cpu->pairs, l->pair);
  Record *r = &c->record[p->slot];
  const PairMemory *memory = pair_memory(cpu->work.state, p->a, p->b);
  ListTask task = task_for(c, p);
  task.copied = l->items < 0;
  task.to = l->to;
  task.room = task.copied ? -1 - l->items : l->items;
  task.anchor = memory ? memory->first_anchor : 0;
  task.anchors = memory ? memory->anchor_count : 0;
  ((ListTask *)packet_here(&c->listing, c->list_task))[t] = task;
  TaskChunk *chunk = (TaskChunk *)packet_here(&c->listing, c->list_chunk) + l->chunk;
  for (int first = 0; !task.copied && first < task.room; first += CHUNK_ITEMS)
    *chunk++ = (TaskChunk){t, first, task.room - first < CHUNK_ITEMS ? task.room - first : CHUNK_ITEMS};
  r->friction = task.to;
  r->room = task.room;
  r->placed = c->step;
}

static bool reserve_lists(Cuda *c, const Cpu *cpu) {
  size_t points = (size_t)c->listed_points, range = sizeof(PointRange);
  return device_reserve(&c->fresh, points * sizeof(FrictionPoint)) &&
         device_reserve(&c->next, points * sizeof(FrictionPoint)) &&
         device_grow(&c->points.there, c->points.there.capacity, (size_t)cpu->pairs.slot_count * range);
}

bool cuda_list_begin(Cuda *c, Cpu *cpu) {
  if (!mem_reserve((void **)&c->listed, &c->listed_capacity, cpu->pairs.count, sizeof(Listed))) return false;
  if (!picks_list(&c->loaded, cpu->pairs.count) || !send_start(c, cpu) || !choose_places(c) || !reserve_lists(c, cpu))
    return false;
  parallel_for(cpu->threads, c->listed_count, 32, put_task, cpu);
  return packet_send(&c->listing);
}

bool cuda_list_run(Cuda *c, const Cpu *cpu, const Affine *pose) {
  ListArrays arrays = {packet_there(&c->listing, c->list_task),
                       packet_there(&c->listing, c->list_chunk),
                       packet_there(&c->origin, c->start),
                       pose,
                       c->contact.at,
                       c->index.at,
                       packet_there(&c->origin, c->anchor),
                       c->points.there.at,
                       c->friction.there.at,
                       c->fresh.at,
                       c->next.at,
                       cpu->scene.range,
                       cpu->scene.friction_eps};
  if (!list_pass_launch(c->listed_count, &arrays) || !list_launch(c->listed_chunks, &arrays) ||
      !list_gather_launch(c->listed_count, &arrays))
    return false;
  DeviceArray before = c->friction.there;
  c->friction.there = c->next;
  c->next = before;
  c->friction.count = 0;
  return twin_extend(&c->friction, c->listed_points) != NULL;
}

void cuda_take_loads(Cuda *c, Cpu *cpu, int k, const LoadResult *result) {
  Pair *p = pairs_at(&cpu->pairs, k);
  p->friction.count = 0;
  if (result->count && !pool_extend(&cpu->pairs.store.friction, &p->friction, result->count))
    __atomic_store_n(&cpu->failed, k, __ATOMIC_RELAXED);
  p->energy = p->barrier + result->energy;
  c->record[p->slot].room = result->count;
  const LoadChange *sum = &result->sum;
  cpu->pair_part[k] = (Partial){.sum = {sum->change, sum->load, sum->product, sum->square}, .item = -1};
}

/* ---- compared with the contacts ---- */

static void choose_compared(void *context, int k) {
  Cpu *cpu = context;
  Cuda *c = cpu->accelerator_self;
  const Pair *p = pairs_at(&cpu->pairs, k);
  bool compares = cpu->islands->island[islands_of_pair(cpu->islands, cpu->pairs.body[k])].compare && pair_rubs(p);
  if (compares && (c->record[p->slot].acting || cuda_points(c, p) >= 0)) picks_add(&c->task_of, k, 0);
  cpu->pair_part[k] = (Partial){.item = -1};
}

static void put_compared(void *context, int t) {
  const Cpu *cpu = context;
  Cuda *c = cpu->accelerator_self;
  ((ListTask *)packet_here(&c->listing, c->list_task))[t] = task_for(c, pairs_at(&cpu->pairs, c->task_of.list[t].pair));
}

static void take_compared(void *context, int t) {
  Cpu *cpu = context;
  const Cuda *c = cpu->accelerator_self;
  const LoadResult *result = &((const LoadResult *)c->result.here.at)[t];
  cpu->pair_part[c->task_of.list[t].pair].sum[0] = result->sum.change;
  cpu->pair_part[c->task_of.list[t].pair].sum[1] = result->sum.load;
}

static bool run_compare(Cuda *c, Cpu *cpu, int tasks) {
  packet_begin(&c->listing);
  c->list_task = packet_add(&c->listing, (size_t)tasks * sizeof(ListTask));
  c->result = (Twin){c->result.here, c->result.there, sizeof(LoadResult), 0};
  if (!packet_open(&c->listing) || !twin_extend(&c->result, tasks) ||
      !device_reserve(&c->result.there, (size_t)tasks * sizeof(LoadResult)))
    return false;
  parallel_for(cpu->threads, tasks, 64, put_compared, cpu);
  CompareArrays arrays = {packet_there(&c->listing, c->list_task),
                          c->contact.at,
                          c->index.at,
                          c->points.there.at,
                          c->friction.there.at,
                          c->result.there.at,
                          cpu->scene.range};
  return packet_send(&c->listing) && compare_launch(tasks, &arrays) && twin_receive(&c->result, NULL, &c->arrival) &&
         device_arrive(&c->arrival);
}

Outcome cuda_compare(void *self, Cpu *cpu) {
  Cuda *c = self;
  if (!cuda_send_friction(c, cpu)) return cuda_lost(c);
  if (!reserve_pair_parts(cpu)) return stage_from(false);
  picks_clear(&c->task_of);
  parallel_for(cpu->threads, cpu->pairs.count, 256, choose_compared, cpu);
  if (!picks_list(&c->task_of, cpu->pairs.count)) return stage_from(false);
  int tasks = c->task_of.count;
  if (tasks && !run_compare(c, cpu, tasks)) return cuda_lost(c);
  parallel_for(cpu->threads, tasks, 64, take_compared, cpu);
  return stage_done();
}
