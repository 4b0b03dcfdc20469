/* The end of a step: velocities, what pairs remember, the report's sums. Tested in tests/test_world.c. */
#include "cpu/cpu.h"

#include "contact/describe.h"
#include "contact/law.h"
#include "step/joint.h"
#include "step/reaction.h"
#include "step/report.h"
#include "step/soft.h"

typedef struct Finish {
  Cpu *cpu;
  State *after;
  Sums *sums;
  const Soft *soft; /* whose elements are summed */
  LoadChange load;
  int count;
} Finish;

/* NaN never spreads: a body whose pose or velocity is not finite ends the step. */
static bool is_finite(const Model *m, const State *after, int i) {
  Affine q = node_pose(m, after->q, i), rate = node_vector(m, after->rate, i);
  for (int k = 0; k < 4; k++)
    if (!vec3_finite(q.n[k]) || !vec3_finite(rate.n[k])) return false;
  return true;
}

static void state_task(void *context, int j) {
  const Finish *f = context;
  int i = f->cpu->model->moving[j];
  if (!is_own(f->cpu, i)) return;
  predict_finish(&f->cpu->work, i, f->after);
  if (!is_finite(f->cpu->model, f->after, i)) __atomic_store_n(&f->cpu->failed, i, __ATOMIC_RELAXED);
}

static Outcome finish_bodies(Finish *f) {
  const Model *m = f->cpu->model;
  f->cpu->failed = -1;
  parallel_for(f->cpu->threads, m->moving_count, 8, state_task, f);
  if (f->cpu->failed < 0) return stage_done();
  if (f->cpu->domain) return stage_not_finite(f->cpu->failed);
  int first = 0; /* the same body is blamed for any number of threads */
  while (is_finite(m, f->after, m->moving[first])) first++;
  return stage_not_finite(model_whole(m, m->moving[first]));
}

static void anchor_task(void *context, int k) {
  const Finish *f = context;
  PairMemory *memory = &f->after->memory[k];
  const Pair *p = pairs_at(&f->cpu->pairs, f->cpu->pair_of[k]);
  memory->stiffening = pair_stiffening(p, &f->cpu->scene, f->cpu->work.state);
  pair_save_anchors(p, &f->cpu->scene, f->cpu->work.q.body, f->after->anchor + memory->first_anchor);
}

/* pair_of: numbers of anchors by pair; then the pairs that remember something, one per entry of the state's memory. */
static bool save_memory(Finish *f) {
  Cpu *cpu = f->cpu;
  State *after = f->after;
  int anchors = 0, count = 0;
  if (!mem_reserve((void **)&after->memory, &after->memory_capacity, cpu->pairs.count, sizeof(PairMemory)))
    return false;
  for (int k = 0; k < cpu->pairs.count; k++) {
    if (!(cpu->pair_acts[k] & PAIR_REMEMBERS)) continue;
    const int *body = cpu->pairs.body[k];
    int own = cpu->pair_of[k];
    cpu->pair_of[count] = k;
    after->memory[count++] = (PairMemory){body[0], body[1], anchors, own, {1, 1, 1}};
    anchors += own;
  }
  if (!mem_reserve((void **)&after->anchor, &after->anchor_capacity, anchors, sizeof(Anchor))) return false;
  after->memory_count = count;
  after->anchor_count = anchors;
  parallel_for(cpu->threads, count, 16, anchor_task, f);
  return true;
}

/* The pairs are in the order of their keys. */
static bool save_touches(Finish *f) {
  const Pairs *pairs = &f->cpu->pairs;
  State *after = f->after;
  if (!mem_reserve((void **)&after->touch, &after->touch_capacity, pairs->count, sizeof *after->touch)) return false;
  after->touch_count = 0;
  for (int k = 0; k < pairs->count; k++)
    if ((f->cpu->pair_acts[k] & PAIR_TOUCHES) && counts_pair(f->cpu, k))
      after->touch[after->touch_count++] = pair_key(pairs->body[k][0], pairs->body[k][1]);
  return true;
}

/* ---- sums, in chunks of a fixed size ---- */

enum { SUM_CHUNK = 64 };

static void body_sums(void *context, int c) {
  const Finish *f = context;
  sums_init(&f->sums[c]);
  for (int k = SUM_CHUNK * c; k < SUM_CHUNK * (c + 1) && k < f->count; k++)
    sums_add_body(&f->sums[c], f->cpu->model, f->cpu->domain ? f->cpu->broad.own_body[k] : k, f->after);
}

static void pair_sums(void *context, int c) {
  const Finish *f = context;
  sums_init(&f->sums[c]);
  for (int k = SUM_CHUNK * c; k < SUM_CHUNK * (c + 1) && k < f->count; k++)
    if (counts_pair(f->cpu, k))
      sums_add_pair(&f->sums[c], pairs_at(&f->cpu->pairs, k), &f->cpu->scene, f->cpu->work.h2);
}

static void element_sums(void *context, int c) {
  const Finish *f = context;
  sums_init(&f->sums[c]);
  for (int e = SUM_CHUNK * c; e < SUM_CHUNK * (c + 1) && e < f->count; e++)
    sums_add_element(&f->sums[c], &f->cpu->work, f->soft, e);
}

static bool add_sums(Finish *f, ParallelBody *task, int count) {
  int chunks = (count + SUM_CHUNK - 1) / SUM_CHUNK;
  f->count = count;
  if (!mem_reserve((void **)&f->cpu->sums, &f->cpu->sums_capacity, chunks, sizeof(Sums))) return false;
  f->sums = f->cpu->sums;
  parallel_for(f->cpu->threads, chunks, 1, task, f);
  for (int c = 0; c < chunks; c++) sums_merge(&f->sums[c], f->cpu->report, &f->load);
  return true;
}

static bool sum_all(Finish *f) {
  const Model *m = f->cpu->model;
  AbdStepReport *r = f->cpu->report;
  r->min_distance = INFINITY;
  r->body_pairs = f->cpu->domain ? 0 : f->cpu->pairs.count;
  for (int k = 0; f->cpu->domain && k < f->cpu->pairs.count; k++) r->body_pairs += counts_pair(f->cpu, k);
  int bodies = f->cpu->domain ? f->cpu->broad.own_count : m->block_count;
  if (!add_sums(f, pair_sums, f->cpu->pairs.count) || !add_sums(f, body_sums, bodies)) return false;
  for (int k = 0; k < m->soft_count; k++) {
    f->soft = &m->soft[k];
    if (!add_sums(f, element_sums, soft_element_count(f->soft))) return false;
  }
  r->friction_error = f->load.load > 0 ? f->load.change / f->load.load : 0;
  report_targets(&f->cpu->work, f->cpu->domain ? f->cpu->domain->own : NULL, r);
  report_joints(&f->cpu->work, r);
  return true;
}

static bool reserve_pushes(Cpu *cpu) {
  cpu->pushes->known = false;
  return cpu->domain || pushes_reserve(cpu->pushes, cpu->model->body_count, cpu->report->contacts);
}

Outcome cpu_finish(void *backend, const Islands *islands, State *after) {
  Cpu *cpu = backend;
  const Model *m = cpu->model;
  Finish f = {.cpu = cpu, .after = after};
  (void)islands;
  for (int k = 0; cpu->domain && k < cpu->broad.own_count; k++)
    after->restart[cpu->broad.own_body[k]] = cpu->work.restart[cpu->broad.own_body[k]];
  for (int i = 0; !cpu->domain && i < m->body_count; i++) after->restart[i] = cpu->work.restart[i];
  soft_load(cpu, cpu->work.q);
  Outcome outcome = fetch_contacts(cpu);
  if (cpu->accelerator && cpu->accelerator->finish && !stage_failed(outcome))
    outcome = cpu->accelerator->finish(cpu->accelerator_self, cpu);
  if (!stage_failed(outcome)) outcome = finish_bodies(&f);
  if (!stage_failed(outcome)) mechanism_take(&cpu->flight, after);
  if (!stage_failed(outcome)) outcome = bounce(&cpu->work, &cpu->pairs, &cpu->scene, &cpu->flight, after, &cpu->blows);
  if (!stage_failed(outcome)) outcome = mechanism_rates(&cpu->flight, after);
  if (!stage_failed(outcome)) outcome = stage_from(settle_velocities(cpu, after));
  for (int j = 0; j < m->joint_count; j++) joint_finish(&cpu->work, j, after);
  if (!stage_failed(outcome))
    outcome = stage_from(save_memory(&f) && save_touches(&f) && sum_all(&f) && reserve_pushes(cpu));
  if (cpu->domain) outcome = cpu->domain->finish(cpu->domain->self, cpu, after, outcome);
  if (!stage_failed(outcome)) cpu->broken_off = false;
  return outcome;
}

Outcome cpu_reactions(void *backend, Affine *force) {
  Cpu *cpu = backend;
  return stage_from(reactions_find(&cpu->work, &cpu->pairs, &cpu->scene, &cpu->flight, cpu->threads, force));
}

static AbdContact describe(const Cpu *cpu, const Pair *p, int index) {
  return contact_describe(p, index, &cpu->scene, &cpu->work.q.body[p->a], &cpu->work.q.body[p->b], cpu->work.h2);
}

/* There is room for all of them since the end of the step. */
static void find_pushes(const Cpu *cpu) {
  int count = 0;
  for (int i = 0; i < cpu->model->body_count; i++) cpu->pushes->body[i] = push_of_body(&cpu->work, i);
  for (int k = 0; k < cpu->pairs.count; k++) {
    const Pair *p = pairs_at(&cpu->pairs, k);
    for (int i = 0; i < p->acting; i++, count++) {
      AbdContact contact = describe(cpu, p, i);
      cpu->pushes->contact[count] = push_of_contact(&contact);
    }
  }
  pushes_balance(cpu->pushes, count);
}

size_t cpu_contacts(const void *backend, AbdContact *contact, size_t capacity) {
  const Cpu *cpu = backend;
  const Work *w = &cpu->work;
  size_t count = 0;
  if (capacity > 0 && !cpu->pushes->known) find_pushes(cpu);
  for (int k = 0; k < cpu->pairs.count; k++) {
    const Pair *p = pairs_at(&cpu->pairs, k);
    for (int i = 0; i < p->acting; i++, count++) {
      if (count >= capacity) continue;
      contact[count] = describe(cpu, p, i);
      contact_scale(&contact[count], cpu->pushes->contact[count].factor);
      blows_describe(&cpu->blows, w, &cpu->pairs, k, i, &contact[count]);
    }
  }
  return count;
}
