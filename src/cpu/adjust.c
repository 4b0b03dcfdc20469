/* Forces that change between iterations: stiffer barriers, multipliers of joints. Loads of friction are compared with
 * the normal forces. */
#include "cpu/cpu.h"

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

static void compare_chunk(void *context, int c) {
  Cpu *cpu = context;
  Chunk chunk = cpu->island_pairs.chunk[c];
  Partial *sum = &cpu->partial[c];
  *sum = (Partial){0};
  if (!cpu->islands->island[chunk.segment].compare) return;
  for (int e = chunk.first; e < chunk.end; e++) {
    int k = cpu->island_pairs.item[e];
    if (!counts_pair(cpu, k)) continue;
    LoadChange own = pair_load_error(pairs_at(&cpu->pairs, k), &cpu->scene);
    sum->sum[0] += own.change;
    sum->sum[1] += own.load;
  }
}

static Outcome compare_loads(Cpu *cpu) {
  Islands *s = cpu->islands;
  const Segments *items = &cpu->island_pairs;
  if (!reserve_partials(cpu, items->chunk_count)) return stage_from(false);
  Outcome fetched = fetch_contacts(cpu);
  if (stage_failed(fetched)) return fetched;
  parallel_for(cpu->threads, items->chunk_count, 1, compare_chunk, cpu);
  for (int k = 0; k < s->count; k++)
    if (s->island[k].compare) s->island[k].load = s->island[k].load_error = 0;
  for (int c = 0; c < items->chunk_count; c++) {
    Island *g = &s->island[items->chunk[c].segment];
    if (!g->compare) continue;
    g->load_error += cpu->partial[c].sum[0];
    g->load += cpu->partial[c].sum[1];
  }
  Outcome outcome = share_islands(cpu, SHARE_LOAD, stage_done());
  for (int k = 0; k < s->count && !stage_failed(outcome); k++) {
    Island *g = &s->island[k];
    if (g->compare) g->disagrees = !law_loads_agree(g->load_error, g->load);
  }
  return outcome;
}

Outcome cpu_adjust(void *backend, Islands *islands) {
  Cpu *cpu = backend;
  bool stiffens = false, compares = false;
  for (int k = 0; k < islands->count; k++) {
    stiffens |= islands->island[k].stiffen;
    compares |= islands->island[k].compare;
  }
  if (stiffens) parallel_for(cpu->threads, cpu->pairs.count, 256, stiffen_task, cpu);
  if (cpu->domain) compares = cpu->domain->any(cpu->domain->self, compares);
  if (compares) {
    Outcome outcome = compare_loads(cpu);
    if (stage_failed(outcome)) return outcome;
  }
  for (int j = 0; j < cpu->model->joint_count; j++) {
    Island *g = island_of_joint(islands, j);
    if (g && g->renew) g->changed |= joint_renew(&cpu->work, j);
  }
  return stage_done();
}
