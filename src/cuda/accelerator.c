/* Distances, step bounds and friction on the GPU. The CPU backend's loops decide which pairs take part; tasks and
 * chunks are written in the order of the pairs. Tested in tests/cuda/. */
#include "cuda/accelerator.h"

#include <float.h>
#include <string.h>

#include "contact/cache.h"
#include "cuda/cuda.h"
#include "kernel/constant.h"

enum { SPIN = 20000 }; /* [us] longer than most waits for the GPU */

/* ---- arrays ---- */

void *twin_extend(Twin *t, int count) {
  size_t bytes = ((size_t)t->count + (size_t)count) * t->size;
  if (bytes > t->here.capacity || !t->here.at) {
    DeviceArray larger = {0};
    if (!host_reserve(&larger, bytes + bytes / 2 + t->size)) return NULL;
    if (t->count) memcpy(larger.at, t->here.at, (size_t)t->count * t->size);
    host_free(&t->here);
    t->here = larger;
  }
  void *at = (char *)t->here.at + (size_t)t->count * t->size;
  t->count += count;
  return at;
}

bool twin_send(Twin *t) {
  size_t bytes = (size_t)t->count * t->size;
  return device_reserve(&t->there, bytes) && device_upload(t->there.at, t->here.at, bytes);
}

bool twin_receive(Twin *t) { return device_download(t->here.at, t->there.at, (size_t)t->count * t->size); }

void twin_free(Twin *t) {
  host_free(&t->here);
  device_free(&t->there);
}

void packet_begin(Packet *p) { p->used = 0; }

size_t packet_add(Packet *p, size_t bytes) {
  size_t at = p->used;
  p->used += (bytes + 15) & ~(size_t)15;
  return at;
}

bool packet_open(Packet *p) { return host_reserve(&p->here, p->used + 16) && device_reserve(&p->there, p->used + 16); }
bool packet_send(Packet *p) { return device_upload(p->there.at, p->here.at, p->used); }
bool packet_receive(Packet *p) { return device_download(p->here.at, p->there.at, p->used); }

void packet_free(Packet *p) {
  host_free(&p->here);
  device_free(&p->there);
}

Outcome cuda_lost(Cuda *c) {
  c->lost = true;
  return stage_from(false);
}

/* ---- meshes ---- */

typedef struct MeshPlace {
  size_t vertex, edge, triangle;
} MeshPlace;

static bool send_meshes(Cuda *c) {
  const Model *m = c->model;
  MeshPlace all = {0};
  for (int k = 0; k < m->mesh_count; k++) {
    all.vertex += (size_t)m->mesh[k].vertex_count;
    all.edge += (size_t)m->mesh[k].edge_count;
    all.triangle += (size_t)m->mesh[k].triangle_count;
  }
  SideShape *shape = mem_alloc((size_t)m->mesh_count, sizeof *shape);
  bool ok = shape && device_reserve(&c->vertex, (all.vertex + 1) * sizeof(Vec3)) &&
            device_reserve(&c->edge, (all.edge + 1) * sizeof(uint32_t[2])) &&
            device_reserve(&c->triangle, (all.triangle + 1) * sizeof(uint32_t[3])) &&
            device_reserve(&c->flat, all.edge + 1) && device_reserve(&c->sharp, (all.vertex + 1) * sizeof(float)) &&
            device_reserve(&c->shape, (size_t)m->mesh_count * sizeof *shape);
  Vec3 *vertex = c->vertex.at;
  uint32_t(*edge)[2] = c->edge.at, (*triangle)[3] = c->triangle.at;
  unsigned char *flat = c->flat.at;
  float *sharp = c->sharp.at;
  for (int k = 0; ok && k < m->mesh_count; k++) {
    const Mesh *mesh = &m->mesh[k];
    shape[k] = (SideShape){vertex, NULL, vertex, edge, triangle, mesh->radius, flat, sharp};
    ok = device_upload(vertex, mesh->vertex, (size_t)mesh->vertex_count * sizeof(Vec3)) &&
         device_upload(edge, mesh->edge, (size_t)mesh->edge_count * sizeof *edge) &&
         device_upload(flat, mesh->flat_edge, (size_t)mesh->edge_count) &&
         device_upload(sharp, mesh->sharp_edge, (size_t)mesh->vertex_count * sizeof *sharp) &&
         device_upload(triangle, mesh->triangle, (size_t)mesh->triangle_count * sizeof *triangle);
    vertex += mesh->vertex_count;
    edge += mesh->edge_count;
    flat += mesh->edge_count;
    sharp += mesh->vertex_count;
    triangle += mesh->triangle_count;
  }
  ok = ok && device_upload(c->shape.at, shape, (size_t)m->mesh_count * sizeof *shape) && device_wait() &&
       search_open(c, shape);
  mem_free(shape);
  return ok;
}

/* ---- records of pairs, lists of candidates ---- */

static bool reserve_records(Cuda *c, const Cpu *cpu) {
  int before = c->record_capacity, last = c->last_capacity, pairs = cpu->pairs.count;
  if (!mem_reserve((void **)&c->record, &c->record_capacity, cpu->pairs.slot_count, sizeof(Record)) ||
      !mem_reserve((void **)&c->plan, &c->plan_capacity, pairs, sizeof(EvalPlan)) ||
      !mem_reserve((void **)&c->bound_plan, &c->bound_plan_capacity, pairs, sizeof(BoundPlan)) ||
      !mem_reserve((void **)&c->pair_task, &c->pair_task_capacity, pairs, sizeof(int)) ||
      !mem_reserve((void **)&c->searched, &c->searched_capacity, pairs, sizeof(int)) ||
      !mem_reserve((void **)&c->before, &c->before_capacity, pairs, sizeof(double)) ||
      !mem_reserve((void **)&c->last, &c->last_capacity, cpu->pairs.slot_count, sizeof(float)) ||
      !mem_reserve((void **)&c->task_chunk, &c->task_chunk_capacity, pairs + 1, sizeof(int)))
    return false;
  if (c->record_capacity > before)
    memset(c->record + before, 0, (size_t)(c->record_capacity - before) * sizeof(Record));
  if (c->last_capacity > last) memset(c->last + last, 0, (size_t)(c->last_capacity - last) * sizeof(float));
  return true;
}

/* A record of another pair, which had the slot before, is emptied. */
static void record_claim(Record *r, const Pair *p) {
  if (r->a != p->a || r->b != p->b) *r = (Record){.a = p->a, .b = p->b};
}

bool device_grow(DeviceArray *array, size_t used, size_t bytes) {
  DeviceArray fresh = {0};
  if (bytes <= array->capacity) return true;
  if (!device_reserve(&fresh, bytes) || !device_move(fresh.at, array->at, used) || !device_wait()) {
    device_free(&fresh);
    return false;
  }
  device_free(array);
  *array = fresh;
  return true;
}

/* Room for candidates up to `count`. The contents stay. */
bool cuda_grow_candidates(Cuda *c, int count) {
  if (count <= c->candidate_capacity) return true;
  int larger = count + count / 2 + 4096;
  DeviceArray *array[] = {&c->candidate, &c->contact, &c->spot, &c->index, &c->feature, &c->crossing, &c->slots};
  const size_t slots = MERGE_SLOTS * sizeof(int), used = (size_t)c->candidate_count;
  const size_t size[] = {sizeof(Candidate),
                         2 * sizeof(Contact),
                         sizeof(int),
                         2 * sizeof(int),
                         MERGE_FEATURES * sizeof(Feature),
                         sizeof(Crossing),
                         slots};
  for (int k = 0; k < ARRAY_COUNT(array); k++)
    if (!device_grow(array[k], used * size[k], (size_t)larger * size[k])) return false;
  c->candidate_capacity = larger;
  return device_clear((char *)c->slots.at + used * slots, ((size_t)larger - used) * slots);
}

/* Queues the pair's list of candidates for sending if the GPU has another one. Lower bounds of single candidates are
 * not kept here: the least possible ones are valid for any evaluation. */
static bool has_list(const Cuda *c, const Cpu *cpu, const Pair *p) {
  const Record *r = &c->record[p->slot];
  return r->a == p->a && r->b == p->b && r->list == pair_cache(p, &cpu->scene)->list; /* no two have the same serial */
}

static bool queue_list(Cuda *c, const Cpu *cpu, const Pair *p) {
  Record *r = &c->record[p->slot];
  const PairCache *cache = pair_cache(p, &cpu->scene);
  if (has_list(c, cpu, p)) return true;
  if (cache->away) return false; /* no copy is left: never so unless the GPU lost it */
  int count = cache->candidate.count;
  Candidate *from = cache_candidates(cache, &cpu->scene), *to = twin_extend(&c->fresh_candidate, count);
  if (!to) return false;
  for (int i = 0; i < count; i++) from[i].near = -FLT_MAX;
  if (count) memcpy(to, from, (size_t)count * sizeof(Candidate));
  record_claim(r, p);
  r->list = cache->list;
  r->first = c->candidate_count;
  r->count = count;
  c->candidate_count += count;
  return true;
}

static bool send_lists(Cuda *c) {
  int count = c->fresh_candidate.count, all = c->candidate_count;
  if (count == 0) return true;
  c->candidate_count = all - count; /* those that are there already */
  if (!cuda_grow_candidates(c, all)) return false;
  c->candidate_count = all;
  c->fresh_candidate.count = 0;
  return device_upload((Candidate *)c->candidate.at + (all - count), c->fresh_candidate.here.at,
                       (size_t)count * sizeof(Candidate));
}

/* Candidates of the lists that some pairs still use. */
static double count_used(void *context, int first, int last) {
  const Cpu *cpu = context;
  const Cuda *c = cpu->accelerator_self;
  int64_t used = 0;
  for (int k = first; k < last; k++) {
    const Pair *p = pairs_at(&cpu->pairs, k);
    if (has_list(c, cpu, p)) used += c->record[p->slot].count;
  }
  return (double)used;
}

/* Is most of the lists' room wasted? */
static bool lists_sparse(const Cuda *c, Cpu *cpu) {
  return 2 * parallel_sum(cpu->threads, cpu->pairs.count, 256, count_used, cpu) + 4096 < c->candidate_count;
}

/* Tasks of the lists that pairs still use: c->task. */
static bool list_used(Cuda *c, const Cpu *cpu) {
  int total = 0;
  c->task = (Twin){c->task.here, c->task.there, sizeof(FetchTask), 0};
  for (int k = 0; k < cpu->pairs.count; k++) {
    const Pair *p = pairs_at(&cpu->pairs, k);
    const Record *r = &c->record[p->slot];
    if (!has_list(c, cpu, p) || r->count == 0) continue;
    FetchTask *task = twin_extend(&c->task, 1);
    if (!task) return false;
    *task = (FetchTask){r->first, r->count, total};
    total += r->count;
  }
  return true;
}

/* New places of the lists. */
static int move_lists(Cuda *c, const Cpu *cpu) {
  int total = 0;
  for (int k = 0; k < cpu->pairs.count; k++) {
    const Pair *p = pairs_at(&cpu->pairs, k);
    Record *r = &c->record[p->slot];
    if (!has_list(c, cpu, p)) continue;
    r->first = total;
    total += r->count;
  }
  return total;
}

/* Closes the gaps between lists if most of their room is wasted. Only if no contact is needed any more. If there is no
 * memory for it, the gaps stay. */
static void pack_lists(Cuda *c, Cpu *cpu) {
  if (cpu->pairs.slot_count > c->record_capacity || !lists_sparse(c, cpu) || !list_used(c, cpu)) return;
  const FetchTask *last = (const FetchTask *)c->task.here.at + c->task.count - 1;
  int total = c->task.count ? last->to + last->count : 0;
  if (!device_reserve(&c->packed, (size_t)c->candidate_capacity * sizeof(Candidate)) || !twin_send(&c->task)) return;
  PackArrays arrays = {c->task.there.at, c->task.count, c->candidate.at, c->packed.at};
  if (!pack_launch(total, &arrays) || !device_wait()) return;
  DeviceArray before = c->candidate;
  c->candidate = c->packed;
  c->packed = before;
  c->candidate_count = move_lists(c, cpu);
}

/* ---- a step begins ---- */

/* The friction points of the last step are gone. Its contacts are in the pairs' arrays. */
static void cuda_begin(void *self, Cpu *cpu) {
  cuda_friction_changed(self);
  pack_lists(self, cpu);
  cpu->scene.list_more = ((Cuda *)self)->list_more;
  ((Cuda *)self)->step++;
  ((Cuda *)self)->tried = -1;
}

/* ---- contacts and energies ---- */

static Cuda *cuda_of(const Cpu *cpu) { return cpu->accelerator_self; }

static int listed_items(const Cuda *c, const Cpu *cpu, const Pair *p) {
  return has_list(c, cpu, p) ? c->record[p->slot].count : ITEMS_UNSENT;
}

/* Returns whether the pair has a task. */
static bool plan_pair(Cpu *cpu, int k, Pair *p, const Affine *q) {
  Cuda *c = cuda_of(cpu);
  Record *r = &c->record[p->slot];
  EvalPlan *plan = &c->plan[k];
  static const EvalResult nothing = {.min_gap = INFINITY, .near = INFINITY, .nearest = -1}; /* of an empty list */
  *plan = pair_plan(p, &cpu->scene, &q[p->a], &q[p->b]);
  record_claim(r, p);
  r->contacts = r->acting = 0;
  r->step = c->step;
  r->newer = true;
  p->energy_trial = 0;
  int items = !plan->wanted ? 0 : plan->search ? ITEMS_SEARCH : listed_items(c, cpu, p);
  bool has_task = items != 0 || cuda_points(c, p) >= 0;
  if (has_task) picks_add(&c->task_of, k, items);
  else if (plan->wanted) pair_take(p, &cpu->scene, plan, &nothing);
  return has_task;
}

static void plan_task(Cpu *cpu, int k, Pair *p) { (void)plan_pair(cpu, k, p, cpu->work.trial.body); }

/* The tasks of a stage: in the order of the pairs, each cut into chunks. */
typedef struct Tasks {
  int count, chunks;
  size_t task, chunk, pose, direction, advance; /* places in the packet */
} Tasks;

static int chunks_of(int items) { return (items + CHUNK_ITEMS - 1) / CHUNK_ITEMS; }

/* directions: of a sweep; else tasks of friction's advance follow, one for each task. */
static bool tasks_open(Cuda *c, Tasks *tasks, size_t size, const Cpu *cpu, bool directions) {
  size_t bytes = (size_t)cpu->model->body_count * sizeof(Affine);
  cuda_packet_begin(c);
  tasks->task = packet_add(&c->packet, (size_t)tasks->count * size);
  tasks->chunk = packet_add(&c->packet, (size_t)tasks->chunks * sizeof(TaskChunk));
  tasks->pose = packet_add(&c->packet, bytes);
  tasks->direction = packet_add(&c->packet, directions ? bytes : 0);
  tasks->advance = packet_add(&c->packet, directions ? 0 : (size_t)tasks->count * sizeof(AdvanceTask));
  return packet_open(&c->packet);
}

static void write_chunks(const Cuda *c, const Tasks *tasks, int t, int items) {
  TaskChunk *chunk = (TaskChunk *)packet_here(&c->packet, tasks->chunk) + c->task_chunk[t];
  for (int first = 0; first < items; first += CHUNK_ITEMS)
    *chunk++ = (TaskChunk){t, first, items - first < CHUNK_ITEMS ? items - first : CHUNK_ITEMS};
}

typedef struct Fill {
  const Cpu *cpu;
  const Tasks *tasks;
  const Affine *pose, *direction; /* by body; NULL = no directions */
} Fill;

static void fill_body(void *context, int i) {
  const Fill *f = context;
  const Packet *packet = &cuda_of(f->cpu)->packet;
  ((Affine *)packet_here(packet, f->tasks->pose))[i] = f->pose[i];
  if (f->direction) ((Affine *)packet_here(packet, f->tasks->direction))[i] = f->direction[i];
}

/* Writes tasks and poses. */
static void fill_tasks(const Fill *f, ParallelBody *task) {
  parallel_both(f->cpu->threads, f->tasks->count, f->cpu->model->body_count, 64, task, fill_body, (void *)f);
}

/* What the pair's friction does if the trial is accepted. */
static AdvanceTask advance_of(const Cpu *cpu, int k, int points) {
  const Island *g = &cpu->islands->island[islands_of_pair(cpu->islands, cpu->pairs.body[k])];
  return (AdvanceTask){points, g->fraction * g->length};
}

static void fill_eval(void *context, int t) {
  const Fill *f = context;
  const Cuda *c = cuda_of(f->cpu);
  const Picked *own = &c->task_of.list[t];
  const Pair *p = pairs_at(&f->cpu->pairs, own->pair);
  const EvalPlan *plan = &c->plan[own->pair];
  const Record *r = &c->record[p->slot];
  EvalTask *task = (EvalTask *)packet_here(&c->packet, f->tasks->task) + t;
  *task = (EvalTask){.a = p->a,
                     .b = p->b,
                     .mesh_a = c->model->body[p->a].mesh,
                     .mesh_b = c->model->body[p->b].mesh,
                     .first = r->first,
                     .count = own->items,
                     .chunk = c->task_chunk[t],
                     .points = cuda_points(c, p),
                     .separation = plan->separation,
                     .stiffness = p->stiffness,
                     .rounding = plan->rounding,
                     .rel = plan->rel,
                     .reach = plan->reach,
                     .t = plan->t};
  ((AdvanceTask *)packet_here(&c->packet, f->tasks->advance))[t] = advance_of(f->cpu, own->pair, task->points);
  write_chunks(c, f->tasks, t, task->count);
}

/* Makes chunks of the tasks and queues the lists that are not there; then items are numbers of candidates. */
static bool cut_tasks(Cuda *c, const Cpu *cpu, Tasks *tasks) {
  *tasks = (Tasks){.count = c->task_of.count};
  for (int t = 0; t < tasks->count; t++) {
    Picked *own = &c->task_of.list[t];
    if (own->items < 0) {
      const Pair *p = pairs_at(&cpu->pairs, own->pair);
      if (!queue_list(c, cpu, p)) return false;
      own->items = c->record[p->slot].count;
    }
    c->task_chunk[t] = tasks->chunks;
    tasks->chunks += chunks_of(own->items);
  }
  return true;
}

static void take_task(void *context, int t) {
  Cpu *cpu = context;
  Cuda *c = cuda_of(cpu);
  int k = c->task_of.list[t].pair;
  Pair *p = pairs_at(&cpu->pairs, k);
  const EvalResult *result = &((const EvalResult *)c->result.here.at)[t];
  Record *r = &c->record[p->slot];
  r->contacts = result->contacts;
  r->acting = result->acting;
  r->contact_first = 2 * r->first;
  pair_take(p, &cpu->scene, &c->plan[k], result);
  if (p->failed) __atomic_store_n(&cpu->failed, k, __ATOMIC_RELAXED);
}

static void count_items(void *context, int t) {
  const Cpu *cpu = context;
  Picked *own = &cuda_of(cpu)->task_of.list[t];
  if (own->items < 0) own->items = listed_items(cuda_of(cpu), cpu, pairs_at(&cpu->pairs, own->pair));
}

/* Makes the lists that the plans ask for. */
static bool search_planned(Cuda *c, Cpu *cpu) {
  int count = 0;
  for (int t = 0; t < c->task_of.count; t++)
    if (c->task_of.list[t].items == ITEMS_SEARCH) c->searched[count++] = c->task_of.list[t].pair;
  if (!cuda_search(c, cpu, count, c->searched)) return false;
  if (count) parallel_for(cpu->threads, c->task_of.count, 64, count_items, cpu);
  return true;
}

static Outcome run_eval(Cuda *c, Cpu *cpu, Nodes pose) {
  Tasks tasks;
  c->tried_count = 0;
  if (!picks_list(&c->task_of, cpu->pairs.count)) return stage_from(false);
  if (!search_planned(c, cpu)) return cuda_lost(c);
  if (!cut_tasks(c, cpu, &tasks)) return stage_from(false);
  c->result = (Twin){c->result.here, c->result.there, sizeof(EvalResult), 0};
  if (tasks.count == 0) return stage_done();
  if (!twin_extend(&c->result, tasks.count) || !tasks_open(c, &tasks, sizeof(EvalTask), cpu, false))
    return stage_from(false);
  fill_tasks(&(Fill){cpu, &tasks, pose.body, NULL}, fill_eval);
  if (!send_lists(c) || !packet_send(&c->packet) ||
      !device_reserve(&c->part, (size_t)tasks.chunks * sizeof(EvalPart)) ||
      !device_reserve(&c->result.there, (size_t)tasks.count * sizeof(EvalResult)))
    return cuda_lost(c);
  EvalArrays arrays = {packet_there(&c->packet, tasks.task),
                       packet_there(&c->packet, tasks.chunk),
                       c->shape.at,
                       packet_there(&c->packet, tasks.pose),
                       c->candidate.at,
                       c->contact.at,
                       c->spot.at,
                       c->index.at,
                       c->feature.at,
                       c->slots.at,
                       c->crossing.at,
                       c->part.at,
                       c->points.there.at,
                       c->friction.there.at,
                       c->result.there.at,
                       cpu->scene.range,
                       cpu->scene.friction_eps};
  if (!eval_launch(tasks.chunks, &arrays) || !eval_cross_launch(tasks.chunks, &arrays) ||
      !eval_sum_launch(tasks.count, &arrays) || !twin_receive(&c->result) || !device_wait())
    return cuda_lost(c);
  c->tried_count = tasks.count;
  c->tried_advance = tasks.advance;
  cpu->failed = -1;
  parallel_for(cpu->threads, tasks.count, 64, take_task, cpu);
  if (!pairs_settle(&cpu->pairs)) return stage_from(false);
  return cpu->failed < 0 ? stage_done() : pair_outcome(cpu, cpu->failed);
}

/* Islands that the loops of a stage are for. */
static int selected_islands(const Cpu *cpu) {
  int count = 0;
  for (int e = 0; e < cpu->islands->listed_count; e++) count += island_listed(cpu->islands, e)->selected;
  return count;
}

static Outcome cuda_eval(void *self, Cpu *cpu) {
  Cuda *c = self;
  if (!reserve_records(c, cpu)) return stage_from(false);
  if (!cuda_send_friction(c, cpu)) return cuda_lost(c);
  picks_clear(&c->task_of);
  Outcome outcome = for_near_pairs(cpu, plan_task, NULL, NULL);
  c->pair_count = cpu->pairs.count;
  if (!stage_failed(outcome)) outcome = run_eval(c, cpu, cpu->work.trial);
  c->tried = stage_failed(outcome) ? -1 : selected_islands(cpu);
  return outcome;
}

static void plan_new_pair(void *context, int k) {
  Cpu *cpu = context;
  const Cuda *c = cuda_of(cpu);
  const int *body = cpu->pairs.body[k];
  const Record *r = &c->record[cpu->pairs.slot[k]];
  if (r->a == body[0] && r->b == body[1] && r->step == c->step) return;
  Pair *p = pairs_at(&cpu->pairs, k);
  if (!plan_pair(cpu, k, p, cpu->work.q.body)) p->energy = p->energy_trial;
  if (p->failed) __atomic_store_n(&cpu->failed, k, __ATOMIC_RELAXED);
}

/* Pairs that came within reach in the middle of a step: their contacts were found on this machine. */
static Outcome eval_new_pairs(Cuda *c, Cpu *cpu) {
  if (c->pair_count == cpu->pairs.count) return stage_done();
  if (!reserve_records(c, cpu)) return stage_from(false);
  picks_clear(&c->task_of);
  cpu->failed = -1;
  parallel_for(cpu->threads, cpu->pairs.count, 256, plan_new_pair, cpu);
  c->pair_count = cpu->pairs.count;
  if (!pairs_settle(&cpu->pairs)) return stage_from(false);
  if (cpu->failed >= 0) return pair_outcome(cpu, cpu->failed);
  Outcome outcome = run_eval(c, cpu, cpu->work.q);
  for (int t = 0; t < c->task_of.count; t++) {
    Pair *p = pairs_at(&cpu->pairs, c->task_of.list[t].pair);
    p->energy = p->energy_trial;
  }
  return outcome;
}

/* ---- step bounds ---- */

static void put_bound(Cpu *cpu, int k, Pair *p, double bound) {
  Cuda *c = cuda_of(cpu);
  pair_bound_take(p, &cpu->scene, &c->bound_plan[k], bound);
  bound_note(cpu, k, p);
  if (p->needs_cover) picks_add(&c->uncovered, k, ITEMS_NONE);
}

static void sweep_plan_task(Cpu *cpu, int k, Pair *p) {
  Cuda *c = cuda_of(cpu);
  const Affine *q = cpu->work.q.body, *d = cpu->work.direction.body;
  PairAhead ahead = pair_clear(p, &cpu->scene);
  cpu->pair_far[k] = ahead == PAIR_FAR;
  if (ahead) return;
  c->bound_plan[k] = pair_bound_plan(p, &cpu->scene, (Affine[2]){q[p->a], q[p->b]}, (Affine[2]){d[p->a], d[p->b]});
  if (c->bound_plan[k].safe) return;
  int items = c->bound_plan[k].contacts ? c->record[p->slot].contacts : listed_items(c, cpu, p);
  if (items != 0) picks_add(&c->task_of, k, items);
  else put_bound(cpu, k, p, 1);
}

SweepTask sweep_task(const Cuda *c, const Pair *p, const BoundPlan *plan) {
  return (SweepTask){.a = p->a,
                     .b = p->b,
                     .mesh_a = c->model->body[p->a].mesh,
                     .mesh_b = c->model->body[p->b].mesh,
                     .contacts = plan->contacts,
                     .half_space = plan->s.half_space,
                     .separation = plan->s.separation,
                     .rate = plan->s.rate,
                     .turn = plan->s.turn,
                     .sigma = plan->s.sigma,
                     .rel = plan->s.rel};
}

static void fill_sweep(void *context, int t) {
  const Fill *f = context;
  const Cuda *c = cuda_of(f->cpu);
  const Picked *own = &c->task_of.list[t];
  const Pair *p = pairs_at(&f->cpu->pairs, own->pair);
  const Record *r = &c->record[p->slot];
  SweepTask *task = (SweepTask *)packet_here(&c->packet, f->tasks->task) + t;
  *task = sweep_task(c, p, &c->bound_plan[own->pair]);
  task->first = task->contacts ? r->contact_first : r->first;
  task->count = own->items;
  write_chunks(c, f->tasks, t, task->count);
}

static void take_bound(void *context, int t) {
  Cpu *cpu = context;
  Cuda *c = cuda_of(cpu);
  const Picked *own = &c->task_of.list[t];
  Pair *p = pairs_at(&cpu->pairs, own->pair);
  p->counts.ccd_calls += own->items;
  put_bound(cpu, own->pair, p, ((const double *)c->result.here.at)[t]);
}

static Outcome run_sweep(Cuda *c, Cpu *cpu, Tasks *tasks, ParallelBody *take) {
  c->result = (Twin){c->result.here, c->result.there, sizeof(double), 0};
  if (!twin_extend(&c->result, tasks->count) || !tasks_open(c, tasks, sizeof(SweepTask), cpu, true))
    return stage_from(false);
  fill_tasks(&(Fill){cpu, tasks, cpu->work.q.body, cpu->work.direction.body}, fill_sweep);
  if (!send_lists(c) || !packet_send(&c->packet) ||
      !device_reserve(&c->sweep, (size_t)tasks->count * sizeof(SweepFull)) ||
      !device_reserve(&c->result.there, (size_t)tasks->count * sizeof(double)))
    return cuda_lost(c);
  SweepArrays arrays = {packet_there(&c->packet, tasks->task),
                        packet_there(&c->packet, tasks->chunk),
                        c->shape.at,
                        packet_there(&c->packet, tasks->pose),
                        packet_there(&c->packet, tasks->direction),
                        c->candidate.at,
                        c->contact.at,
                        c->index.at,
                        c->sweep.at,
                        c->result.there.at,
                        cpu->scene.range};
  if (!sweep_open_launch(tasks->count, &arrays) || !sweep_launch(tasks->chunks, &arrays) || !twin_receive(&c->result) ||
      !device_wait())
    return cuda_lost(c);
  parallel_for(cpu->threads, tasks->count, 64, take, cpu);
  return stage_done();
}

static Outcome cuda_bound(void *self, Cpu *cpu) {
  Cuda *c = self;
  Outcome outcome = eval_new_pairs(c, cpu);
  if (stage_failed(outcome)) return outcome;
  picks_clear(&c->task_of);
  picks_clear(&c->uncovered);
  outcome = for_pairs(cpu, sweep_plan_task);
  if (stage_failed(outcome)) return outcome;
  Tasks tasks;
  if (!picks_list(&c->task_of, cpu->pairs.count) || !cut_tasks(c, cpu, &tasks)) return stage_from(false);
  return tasks.count ? run_sweep(c, cpu, &tasks, take_bound) : stage_done();
}

/* ---- bounds beyond the lists ---- */

static void cover_plan(void *context, int t) {
  Cpu *cpu = context;
  Cuda *c = cuda_of(cpu);
  const Affine *q = cpu->work.q.body, *d = cpu->work.direction.body;
  Picked *own = &c->uncovered.list[t];
  int k = own->pair;
  Pair *p = pairs_at(&cpu->pairs, k);
  c->before[k] = p->bound;
  CoverWay way = pair_cover_plan(p, &cpu->scene, (Affine[2]){q[p->a], q[p->b]}, (Affine[2]){d[p->a], d[p->b]},
                                 bound_wanted(cpu, k), &c->bound_plan[k]);
  own->items = way == COVER_LIST ? ITEMS_SEARCH : way == COVER_WINDOWS ? ITEMS_WINDOWS : ITEMS_NONE;
  if (way == COVER_DONE) bound_covered(cpu, k, p, c->before[k]);
  if (p->failed) __atomic_store_n(&cpu->failed, k, __ATOMIC_RELAXED);
}

/* Lists the pairs whose way is `what` behind the first `count` of the searched ones. */
static int list_uncovered(Cuda *c, int what, int count) {
  for (int t = 0; t < c->uncovered.count; t++)
    if (c->uncovered.list[t].items == what) c->searched[count++] = c->uncovered.list[t].pair;
  return count;
}

static void take_cover(void *context, int t) {
  Cpu *cpu = context;
  Cuda *c = cuda_of(cpu);
  int k = c->searched[t];
  Pair *p = pairs_at(&cpu->pairs, k);
  p->bound = ((const double *)c->result.here.at)[t];
  p->counts.ccd_calls += c->record[p->slot].count;
  bound_covered(cpu, k, p, c->before[k]);
}

/* Tests all of the candidates of the searched pairs. */
static Outcome sweep_searched(Cuda *c, Cpu *cpu, int count) {
  Tasks tasks;
  picks_clear(&c->task_of);
  for (int t = 0; t < count; t++) picks_add(&c->task_of, c->searched[t], ITEMS_UNSENT);
  if (!picks_list(&c->task_of, cpu->pairs.count) || !cut_tasks(c, cpu, &tasks)) return stage_from(false);
  return run_sweep(c, cpu, &tasks, take_cover);
}

/* One search for new lists, whose stencils it tests, and for the windows of long steps. If this machine had to search,
 * the stencils of lists are tested after it. */
static Outcome cover_all(Cuda *c, Cpu *cpu) {
  bool deep;
  int lists = list_uncovered(c, ITEMS_SEARCH, 0), count = list_uncovered(c, ITEMS_WINDOWS, lists);
  if (count == 0) return stage_done();
  Outcome outcome = cuda_beyond(c, cpu, lists, count, c->searched, &deep);
  if (stage_failed(outcome)) return outcome;
  for (int t = lists; t < count; t++) {
    int k = c->searched[t];
    bound_covered(cpu, k, pairs_at(&cpu->pairs, k), c->before[k]);
  }
  if (deep) return lists ? sweep_searched(c, cpu, lists) : stage_done();
  parallel_for(cpu->threads, lists, 64, take_cover, cpu);
  return stage_done();
}

static Outcome cuda_cover(void *self, Cpu *cpu) {
  Cuda *c = self;
  if (!picks_list(&c->uncovered, cpu->pairs.count)) return stage_from(false);
  cpu->failed = -1;
  parallel_for(cpu->threads, c->uncovered.count, 8, cover_plan, cpu);
  if (!pairs_settle(&cpu->pairs)) return stage_from(false);
  return cpu->failed < 0 ? cover_all(c, cpu) : pair_outcome(cpu, cpu->failed);
}

/* ---- friction after a step ---- */

static void pick_advancing(Cpu *cpu, int k, Pair *p) {
  Cuda *c = cuda_of(cpu);
  int points = cuda_points(c, p);
  if (points >= 0) picks_add(&c->task_of, k, points);
}

static void fill_advance(void *context, int t) {
  const Cpu *cpu = context;
  const Cuda *c = cuda_of(cpu);
  const Picked *own = &c->task_of.list[t];
  ((AdvanceTask *)c->advance.here.at)[t] = advance_of(cpu, own->pair, own->items);
}

static Outcome launch_advance(Cuda *c, const Cpu *cpu, int tasks, const AdvanceTask *task) {
  AdvanceArrays arrays = {task, c->points.there.at, c->friction.there.at, cpu->scene.friction_eps};
  return advance_launch(tasks, &arrays) ? stage_done() : cuda_lost(c);
}

/* A task for every pair that has points; those that are far have none. If all islands of the trial before accept it,
 * the GPU has the tasks. It does not wait: no other stage writes to its packet. */
static Outcome cuda_advance(void *self, Cpu *cpu) {
  Cuda *c = self;
  if (!c->friction_known || c->friction.count == 0) return stage_done();
  if (c->tried == selected_islands(cpu))
    return launch_advance(c, cpu, c->tried_count, packet_there(&c->packet, c->tried_advance));
  picks_clear(&c->task_of);
  Outcome outcome = for_near_pairs(cpu, pick_advancing, NULL, NULL);
  if (stage_failed(outcome)) return outcome;
  if (!picks_list(&c->task_of, cpu->pairs.count)) return stage_from(false);
  packet_begin(&c->advance);
  packet_add(&c->advance, (size_t)c->task_of.count * sizeof(AdvanceTask));
  if (!packet_open(&c->advance)) return stage_from(false);
  parallel_for(cpu->threads, c->task_of.count, 256, fill_advance, cpu);
  return packet_send(&c->advance) ? launch_advance(c, cpu, c->task_of.count, c->advance.there.at) : cuda_lost(c);
}

/* ---- back to the pairs ---- */

static void take_friction(void *context, int k) {
  const Cpu *cpu = context;
  Cuda *c = cuda_of(cpu);
  const Pair *p = pairs_at(&cpu->pairs, k);
  const Record *r = &c->record[p->slot];
  if (cuda_points(c, p) >= 0)
    memcpy(pair_friction(p, &cpu->scene), (const FrictionPoint *)c->friction.here.at + r->friction,
           (size_t)p->friction.count * sizeof(FrictionPoint));
}

/* Picks a pair that does not have its contacts yet; items: their number. */
static void want_contacts(void *context, int k) {
  const Cpu *cpu = context;
  Cuda *c = cuda_of(cpu);
  const Pair *p = pairs_at(&cpu->pairs, k);
  Record *r = &c->record[p->slot];
  if (r->newer && r->a == p->a && r->b == p->b && r->contacts) picks_add(&c->task_of, k, r->contacts);
  if (r->newer) r->newer = false;
}

/* Where the contacts of the tasks go; returns their number. */
static int place_contacts(Cuda *c) {
  int total = 0;
  for (int t = 0; t < c->task_of.count; t++) {
    c->task_chunk[t] = total;
    total += c->task_of.list[t].items;
  }
  return total;
}

static void fill_fetch(void *context, int t) {
  const Cpu *cpu = context;
  Cuda *c = cuda_of(cpu);
  const Picked *own = &c->task_of.list[t];
  const Record *r = &c->record[pairs_at(&cpu->pairs, own->pair)->slot];
  ((FetchTask *)c->task.here.at)[t] = (FetchTask){r->contact_first, own->items, c->task_chunk[t]};
}

/* Queues the copies of `total` contacts of the tasks. */
static bool send_fetch(Cuda *c, Cpu *cpu, int tasks, int total) {
  if (!device_reserve(&c->contact_copy.there, (size_t)total * sizeof(Contact))) return false;
  parallel_for(cpu->threads, tasks, 64, fill_fetch, cpu);
  if (!twin_send(&c->task)) return false;
  FetchArrays arrays = {c->task.there.at, tasks, c->contact.at, c->index.at, c->contact_copy.there.at};
  return fetch_launch(total, &arrays) && twin_receive(&c->contact_copy);
}

static void put_task(void *context, int t) {
  Cpu *cpu = context;
  Cuda *c = cuda_of(cpu);
  int k = c->task_of.list[t].pair;
  Pair *p = pairs_at(&cpu->pairs, k);
  const FetchTask *task = &((const FetchTask *)c->task.here.at)[t];
  p->contact.count = 0;
  Contact *to = pool_extend(&cpu->pairs.store.contact, &p->contact, task->count);
  if (to) memcpy(to, (const Contact *)c->contact_copy.here.at + task->to, (size_t)task->count * sizeof(Contact));
  else __atomic_store_n(&cpu->failed, k, __ATOMIC_RELAXED);
}

/* One wait for contacts and friction points. */
static Outcome cuda_fetch(void *self, Cpu *cpu) {
  Cuda *c = self;
  if (!reserve_records(c, cpu)) return stage_from(false);
  picks_clear(&c->task_of);
  parallel_for(cpu->threads, cpu->pairs.count, 64, want_contacts, cpu);
  if (!picks_list(&c->task_of, cpu->pairs.count)) return stage_from(false);
  int tasks = c->task_of.count, total = place_contacts(c);
  bool friction = c->friction_known && c->friction.count > 0;
  c->task = (Twin){c->task.here, c->task.there, sizeof(FetchTask), 0};
  c->contact_copy = (Twin){c->contact_copy.here, c->contact_copy.there, sizeof(Contact), 0};
  if (!twin_extend(&c->task, tasks) || !twin_extend(&c->contact_copy, total)) return stage_from(false);
  if (friction && !twin_receive(&c->friction)) return cuda_lost(c);
  if (tasks && !send_fetch(c, cpu, tasks, total)) return cuda_lost(c);
  if ((tasks || friction) && !device_wait()) return cuda_lost(c);
  if (friction) parallel_for(cpu->threads, cpu->pairs.count, 64, take_friction, cpu);
  cpu->failed = -1;
  parallel_for(cpu->threads, tasks, 16, put_task, cpu);
  return stage_from(pairs_settle(&cpu->pairs) && cpu->failed < 0);
}

/* ---- the backend ---- */

static void cuda_free(void *self) {
  Cuda *c = self;
  if (!c) return;
  DeviceArray *array[] = {&c->packed,  &c->vertex, &c->edge,     &c->triangle, &c->shape, &c->candidate,
                          &c->contact, &c->spot,   &c->index,    &c->sweep,    &c->part,  &c->moments,
                          &c->value,   &c->change, &c->feature,  &c->slots,    &c->flat,  &c->sharp,
                          &c->fresh,   &c->next,   &c->crossing, &c->own};
  for (int k = 0; k < ARRAY_COUNT(array); k++) device_free(array[k]);
  Twin *twin[] = {&c->fresh_candidate, &c->friction, &c->points, &c->task, &c->result, &c->contact_copy};
  for (int k = 0; k < ARRAY_COUNT(twin); k++) twin_free(twin[k]);
  packet_free(&c->packet);
  packet_free(&c->advance);
  packet_free(&c->terms);
  packet_free(&c->solution);
  packet_free(&c->origin);
  packet_free(&c->listing);
  search_close(&c->search);
  pcg_destroy(&c->pcg);
  clusters_close(&c->clusters);
  picks_close(&c->task_of);
  picks_close(&c->uncovered);
  void *own[] = {c->record,   c->plan,     c->bound_plan,   c->pair_task,     c->task_chunk,
                 c->row_of,   c->searched, c->before,       c->setup,         c->listed,
                 c->next_row, c->last,     c->cluster_size, c->component_row, c->cluster};
  for (int k = 0; k < ARRAY_COUNT(own); k++) mem_free(own[k]);
  mem_free(c);
}

static const Accelerator cuda_contacts = {.destroy = cuda_free,
                                          .begin = cuda_begin,
                                          .eval = cuda_eval,
                                          .bound = cuda_bound,
                                          .cover = cuda_cover,
                                          .advance = cuda_advance,
                                          .compare = cuda_compare,
                                          .fetch = cuda_fetch,
                                          .friction_changed = cuda_friction_changed};

static Accelerator table_for(const Model *m) {
  Accelerator table = cuda_contacts;
  if (!cuda_solves_world(m)) return table;
  table.solves = cuda_solves;
  table.newton = cuda_newton_step;
  table.follow = cuda_newton_follow;
  return table;
}

bool cuda_accelerate(Cpu *cpu) {
  const Model *m = cpu->model;
  if (m->soft_count) return cuda_soft_open(cpu); /* the rest stays on the CPU */
  Cuda *c = mem_zeroed(1, sizeof *c);
  if (!c) return false;
  c->model = m;
  c->table = table_for(m);
  c->list_more = cuda_meshes_fine(m) ? 0 : GPU_LIST_MORE;
  c->fresh_candidate.size = sizeof(Candidate);
  c->friction.size = sizeof(FrictionPoint);
  c->points.size = sizeof(PointRange);
  c->row_of = mem_alloc((size_t)m->body_count, sizeof(int));
  c->next_row = mem_alloc((size_t)m->body_count, sizeof(int));
  c->cluster_size = mem_alloc((size_t)m->body_count, sizeof(int));
  c->component_row = mem_alloc((size_t)m->body_count, sizeof(int));
  c->cluster = mem_alloc((size_t)m->body_count, sizeof(PcgStrip));
  if (!c->row_of || !c->next_row || !c->cluster_size || !c->component_row || !c->cluster ||
      !picks_open(&c->task_of, cpu->threads) || !picks_open(&c->uncovered, cpu->threads) ||
      !clusters_open(&c->clusters, m->body_count) || !send_meshes(c)) {
    cuda_free(c);
    return false;
  }
  parallel_spin(SPIN);
  cpu->accelerator_self = c;
  cpu->accelerator = &c->table;
  return true;
}
