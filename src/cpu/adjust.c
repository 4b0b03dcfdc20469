/* Forces that change between iterations: stiffer barriers, friction lagged anew, multipliers of joints. */
#include "cpu/cpu.h"

#include "contact/describe.h"
#include "contact/law.h"
#include "kernel/constant.h"
#include "step/joint.h"

static Island *island_at(const Cpu *cpu, int k) {
  return &cpu->islands->island[islands_of_pair(cpu->islands, cpu->pairs.body[k])];
}

static void stiffen_task(void *context, int k) {
  Cpu *cpu = context;
  if (island_at(cpu, k)->stiffen) pair_stiffen(pairs_at(&cpu->pairs, k), BARRIER_TIGHT * cpu->scene.range);
}

/* Loads before and after into the chunk: the sum after, the largest change of a pair. */
static void relag_chunk(void *context, int c) {
  Cpu *cpu = context;
  const Work *w = &cpu->work;
  Chunk chunk = cpu->island_pairs.chunk[c];
  Partial *sum = &cpu->partial[c];
  *sum = (Partial){0};
  if (!cpu->islands->island[chunk.segment].relag) return;
  for (int e = chunk.first; e < chunk.end; e++) {
    int k = cpu->island_pairs.item[e];
    Pair *p = pairs_at(&cpu->pairs, k);
    if (!pair_rubs(p)) continue;
    double before = pair_load(p, &cpu->scene);
    bool noted = pair_note_friction(p, &cpu->scene, &w->q.body[p->a], &w->q.body[p->b], w->h2);
    if (!noted || !pair_lag_friction(p, &cpu->scene, w->state, w->q.body))
      __atomic_store_n(&cpu->failed, k, __ATOMIC_RELAXED);
    double after = pair_load(p, &cpu->scene);
    if (counts_pair(cpu, k)) sum->sum[0] += after;
    sum->extreme = most(sum->extreme, fabs(after - before));
  }
}

static Outcome relag(Cpu *cpu) {
  Islands *s = cpu->islands;
  const Segments *items = &cpu->island_pairs;
  if (!reserve_partials(cpu, items->chunk_count)) return stage_from(false);
  soft_load(cpu, cpu->work.q); /* trials of other islands may have moved the surfaces */
  Outcome fetched = fetch_contacts(cpu);
  if (stage_failed(fetched)) return fetched;
  cpu->failed = -1;
  parallel_for(cpu->threads, items->chunk_count, 1, relag_chunk, cpu);
  if (cpu->accelerator) cpu->accelerator->friction_changed(cpu->accelerator_self);
  Outcome outcome = stage_from(pairs_settle(&cpu->pairs) && cpu->failed < 0);
  for (int k = 0; k < s->count; k++)
    if (s->island[k].relag) s->island[k].load = s->island[k].load_change = 0;
  for (int c = 0; c < items->chunk_count; c++) {
    Island *g = &s->island[items->chunk[c].segment];
    if (!g->relag) continue;
    g->load += cpu->partial[c].sum[0];
    g->load_change = most(g->load_change, cpu->partial[c].extreme);
  }
  outcome = share_islands(cpu, SHARE_LOAD, outcome);
  for (int k = 0; k < s->count && !stage_failed(outcome); k++) {
    Island *g = &s->island[k];
    if (g->relag) g->changed |= law_friction_changed(g->load_change, g->load);
  }
  return outcome;
}

Outcome cpu_adjust(void *backend, Islands *islands) {
  Cpu *cpu = backend;
  bool stiffens = false, relags = false;
  for (int k = 0; k < islands->count; k++) {
    stiffens |= islands->island[k].stiffen;
    relags |= islands->island[k].relag;
  }
  if (stiffens) parallel_for(cpu->threads, cpu->pairs.count, 256, stiffen_task, cpu);
  if (cpu->domain) relags = cpu->domain->any(cpu->domain->self, relags);
  if (relags) {
    Outcome outcome = relag(cpu);
    if (stage_failed(outcome)) return outcome;
  }
  for (int j = 0; j < cpu->model->joint_count; j++) {
    Island *g = island_of_joint(islands, j);
    if (g && g->renew) g->changed |= joint_renew(&cpu->work, j);
  }
  return stage_done();
}
