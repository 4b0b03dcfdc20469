/* Memory of the backend, its table of stages, and the loops that all stages share. */
#include "cpu/cpu.h"

typedef struct Loop {
  Cpu *cpu;
  BodyTask *body;
  PairTask *pair;
  PairTest *skip; /* pairs for which it is true are left out; NULL = none */
  ParallelBody *then, *chunk;
} Loop;

bool list_work(Cpu *cpu) {
  Islands *s = cpu->islands;
  return segments_list(&s->member, s->listed_count, s->listed, NULL) &&
         segments_list(&cpu->island_pairs, s->listed_count, s->listed, cpu->pair_cost) &&
         segments_share(&cpu->island_pairs, cpu->threads);
}

static void body_item(void *context, int body) {
  const Loop *loop = context;
  if (body_selected(loop->cpu->islands, body)) loop->body(loop->cpu, body);
}

static void end_chunk(void *context, int c) {
  const Loop *loop = context;
  loop->chunk(loop->cpu, c);
}

static void halo_item(void *context, int k) {
  const Loop *loop = context;
  body_item(context, loop->cpu->domain->halo[k]);
}

/* Bodies of other processes are no members of the islands. */
static void halo_bodies(Loop *loop) {
  const Domain *d = loop->cpu->domain;
  if (d) parallel_for(loop->cpu->threads, d->halo_count, 32, halo_item, loop);
}

void for_bodies(Cpu *cpu, BodyTask *task, ParallelBody *chunk) {
  Loop loop = {.cpu = cpu, .body = task, .chunk = chunk};
  Segments *s = &cpu->islands->member;
  int grain = claim_size(cpu, s->part_items, 48, 160);
  segments_for(s, cpu->threads, grain, body_item, chunk ? end_chunk : NULL, &loop);
  halo_bodies(&loop);
}

bool pair_selected(const Cpu *cpu, int k) {
  const int *body = cpu->pairs.body[k];
  const Islands *s = cpu->islands;
  return s->island[islands_of_pair(s, body)].selected &&
         ((s->of[body[0]] >= 0 && cpu->work.active[body[0]]) || (s->of[body[1]] >= 0 && cpu->work.active[body[1]]));
}

static void pair_item(void *context, int k) {
  const Loop *loop = context;
  Cpu *cpu = loop->cpu;
  if (pair_selected(cpu, k) && !(loop->skip && loop->skip(cpu, k))) {
    Pair *p = pairs_at(&cpu->pairs, k);
    if (!pair_stops(p, &cpu->scene)) loop->pair(cpu, k, p);
    if (p->failed) __atomic_store_n(&cpu->failed, k, __ATOMIC_RELAXED);
  }
  if (loop->then) loop->then(cpu, k);
}

/* A pair fails if memory is out or a pose is not finite. */
Outcome pair_outcome(const Cpu *cpu, int k) {
  for (int side = 0; side < 2; side++) {
    int body = cpu->pairs.body[k][side];
    for (int i = 0; i < 4; i++)
      if (!vec3_finite(cpu->work.trial.body[body].n[i])) return stage_not_finite(body);
  }
  return stage_from(false);
}

static Outcome pairs_outcome(Cpu *cpu) {
  if (!pairs_settle(&cpu->pairs)) return stage_from(false);
  if (cpu->failed < 0) return stage_done();
  Outcome outcome = stage_poll(cpu->model);
  return stage_failed(outcome) ? outcome : pair_outcome(cpu, cpu->failed);
}

static Outcome run_pairs(Loop loop) {
  Cpu *cpu = loop.cpu;
  cpu->failed = -1;
  segments_for(&cpu->island_pairs, cpu->threads, 1, pair_item, loop.chunk ? end_chunk : NULL, &loop);
  return pairs_outcome(cpu);
}

Outcome for_pairs_unless(Cpu *cpu, PairTest *test, PairTask *task, ParallelBody *then, ParallelBody *chunk) {
  return run_pairs((Loop){.cpu = cpu, .pair = task, .skip = test, .then = then, .chunk = chunk});
}

bool noted_far(Cpu *cpu, int k) { return cpu->pair_far[k] == FAR_AHEAD; }

Outcome for_near_pairs(Cpu *cpu, PairTask *task, ParallelBody *then, ParallelBody *chunk) {
  return for_pairs_unless(cpu, noted_far, task, then, chunk);
}

static bool lacks_terms(Cpu *cpu, int k) { return !cpu->pair_terms[k]; }

Outcome for_acting_pairs(Cpu *cpu, PairTask *task, ParallelBody *then) {
  return for_pairs_unless(cpu, noted_terms(cpu) ? lacks_terms : NULL, task, then, NULL);
}

Outcome for_pairs(Cpu *cpu, PairTask *task) { return run_pairs((Loop){.cpu = cpu, .pair = task}); }

typedef struct PickedPairs {
  Loop loop;
  const Picks *picks;
} PickedPairs;

static void picked_pair(void *context, int e) {
  const PickedPairs *picked = context;
  pair_item((void *)&picked->loop, picked->picks->list[e].pair);
}

Outcome for_picked_pairs(Cpu *cpu, const Picks *picks, PairTask *task) {
  PickedPairs picked = {{.cpu = cpu, .pair = task}, picks};
  cpu->failed = -1;
  picks_for(picks, cpu->threads, 1, picked_pair, &picked);
  return pairs_outcome(cpu);
}

static void bodies_of_part(void *context, int k) {
  const Loop *loop = context;
  const Segments *s = &loop->cpu->islands->member;
  for (int e = s->part[k].first; e < s->part[k].end; e++) body_item(context, s->item[e]);
}

/* Part k of the pairs, and as large a part of the bodies. */
static void part_of_both(void *context, int k) {
  const Loop *loop = context;
  const Segments *bodies = &loop->cpu->islands->member, *pairs = &loop->cpu->island_pairs;
  int first = (int)((int64_t)bodies->part_count * k / pairs->part_count),
      end = (int)((int64_t)bodies->part_count * (k + 1) / pairs->part_count);
  for (int i = first; i < end; i++) bodies_of_part(context, i);
  for (int e = pairs->part[k].first; e < pairs->part[k].end; e++) pair_item(context, pairs->item[e]);
}

static bool is_idle(Cpu *cpu, int k) { return cpu->pair_idle[k]; }

/* Pairs are on the threads of their other loops, which have them in their caches. */
Outcome for_bodies_and_busy_pairs(Cpu *cpu, BodyTask *body, PairTask *pair) {
  const Segments *bodies = &cpu->islands->member, *pairs = &cpu->island_pairs;
  int items = bodies->part_items + pairs->part_items;
  int parts = pairs->part_count ? pairs->part_count : bodies->part_count;
  int grain = items ? 1 + (int)((int64_t)claim_size(cpu, items, 64, 160) * parts / items) : 1;
  Loop loop = {.cpu = cpu, .body = body, .pair = pair, .skip = is_idle};
  cpu->failed = -1;
  if (!pairs->part_count) parallel_for(cpu->threads, parts, grain, bodies_of_part, &loop);
  else if (cpu->threads > 1 && pairs->share_count == cpu->threads)
    parallel_shares(cpu->threads, pairs->share, grain, part_of_both, &loop);
  else parallel_for(cpu->threads, parts, grain, part_of_both, &loop);
  halo_bodies(&loop);
  return pairs_outcome(cpu);
}

typedef struct List {
  Cpu *cpu;
  const int *item;
  ParallelBody *task;
} List;

static void list_item(void *context, int k) {
  const List *list = context;
  list->task(list->cpu, list->item[k]);
}

void for_known(Cpu *cpu, int count, ParallelBody *task) {
  const Domain *d = cpu->domain;
  if (!d) parallel_for(cpu->threads, count, 16, task, cpu);
  else parallel_for(cpu->threads, d->known_count, 16, list_item, &(List){cpu, d->known, task});
}

void for_halo(Cpu *cpu, ParallelBody *task) {
  const Domain *d = cpu->domain;
  if (d) parallel_for(cpu->threads, d->halo_count, 32, list_item, &(List){cpu, d->halo, task});
}

Outcome fetch_contacts(Cpu *cpu) {
  return cpu->accelerator ? cpu->accelerator->fetch(cpu->accelerator_self, cpu) : stage_done();
}

bool reserve_partials(Cpu *cpu, int count) {
  return mem_reserve((void **)&cpu->partial, &cpu->partial_capacity, count, sizeof(Partial));
}

bool reserve_pair_parts(Cpu *cpu) {
  return mem_reserve((void **)&cpu->pair_part, &cpu->pair_part_capacity, cpu->pairs.count, sizeof(Partial));
}

const Work *cpu_view(const void *backend) { return &((const Cpu *)backend)->work; }

const Stages cpu_stages = CPU_STAGES("cpu");

void *cpu_create_with(const Model *model, bool (*accelerate)(Cpu *cpu)) {
  Cpu *cpu = cpu_create(model);
  if (!cpu || accelerate(cpu)) return cpu;
  cpu_destroy(cpu);
  return NULL;
}

Cpu *cpu_create(const Model *model) {
  size_t given = (size_t)model->body_count, stiff = 0;
  for (int s = 0; s < model->moving_count; s++)
    stiff += !block_is_vertex(model, model->moving[s]); /* they come first */
  Cpu *cpu = mem_zeroed(1, sizeof *cpu);
  if (!cpu) return NULL;
  cpu->model = model;
  cpu->threads = model->def.solver.threads;
  cpu->active = mem_alloc((size_t)model->moving_count, sizeof(int));
  cpu->path_length = mem_zeroed(given, sizeof(PathLength));
  cpu->surface = mem_zeroed((size_t)model->soft_count, sizeof(Surface));
  cpu->coupling = mem_zeroed((size_t)model->soft_count, sizeof(SoftCoupling));
  bool ok = cpu->surface && cpu->coupling;
  for (int k = 0; ok && k < model->soft_count; k++)
    ok = soft_side_init(&cpu->surface[k], model, k) && soft_coupling_init(&cpu->coupling[k], model, &model->soft[k]);
  ok = ok && soft_sums_init(cpu);
  cpu->left = mem_zeroed(given, sizeof(bool));
  cpu->pushes = mem_zeroed(1, sizeof(Pushes));
  cpu->diagonal = mem_alloc(stiff * 144, sizeof(double));
  cpu->end_slope = mem_alloc(stiff, sizeof(double));
  cpu->body_part = mem_alloc(given, sizeof *cpu->body_part);
  cpu->move = mem_alloc((size_t)model->linkage.linked_count, sizeof(Affine));
  if (!ok || !pairs_init(&cpu->pairs, cpu->threads) || !work_init(&cpu->work, model) ||
      !broad_init(&cpu->broad, model) || !system_init(&cpu->system, model, false) ||
      !system_init(&cpu->closing, model, true) || !flight_init(cpu) || !cpu->active || !cpu->diagonal ||
      !cpu->end_slope || !cpu->body_part || !cpu->move || !cpu->path_length || !cpu->left || !cpu->pushes ||
      !picks_open(&cpu->limiting, cpu->threads) || !picks_open(&cpu->uncovered, cpu->threads)) {
    cpu_destroy(cpu);
    return NULL;
  }
  return cpu;
}

void cpu_destroy(void *backend) {
  Cpu *cpu = backend;
  if (!cpu) return;
  if (cpu->accelerator) cpu->accelerator->destroy(cpu->accelerator_self);
  if (cpu->soft_machine) cpu->soft_machine->destroy(cpu->soft_machine_self);
  work_destroy(&cpu->work);
  pairs_destroy(&cpu->pairs);
  broad_destroy(&cpu->broad);
  segments_destroy(&cpu->island_pairs);
  segments_destroy(&cpu->body_pairs);
  segments_destroy(&cpu->cluster_blocks);
  system_destroy(&cpu->system);
  system_destroy(&cpu->closing);
  mechanism_destroy(&cpu->flight);
  blows_destroy(&cpu->blows);
  if (cpu->pushes) pushes_destroy(cpu->pushes);
  picks_close(&cpu->limiting);
  picks_close(&cpu->uncovered);
  nodes_destroy(&cpu->q_before);
  nodes_destroy(&cpu->newton_before);
  for (int k = 0; cpu->surface && k < cpu->model->soft_count; k++) surface_destroy(&cpu->surface[k]);
  for (int k = 0; cpu->coupling && k < cpu->model->soft_count; k++) soft_coupling_destroy(&cpu->coupling[k]);
  if (cpu->domain) cpu->domain->destroy(cpu->domain->self); /* the model is its own */
  void *array[] = {
      cpu->coupling,  cpu->active,          cpu->diagonal,     cpu->move,      cpu->path_length, cpu->left,
      cpu->pair_of,   cpu->pair_acts,       cpu->pair_couples, cpu->partial,   cpu->surface,     cpu->sums,
      cpu->cluster,   cpu->cluster_root,    cpu->end_slope,    cpu->pair_part, cpu->pair_cost,   cpu->body_part,
      cpu->pair_far,  cpu->cluster_chunk,   cpu->pair_coupled, cpu->pair_idle, cpu->pair_terms,  cpu->cluster_part,
      cpu->soft_part, cpu->soft_part_share, cpu->pushes};
  for (int k = 0; k < ARRAY_COUNT(array); k++) mem_free(array[k]);
  mem_free(cpu);
}
