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
    LoadChange own = pair_load_error(pairs_at(&cpu->pairs, cpu->island_pairs.item[e]), &cpu->scene);
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
  for (int c = 0; c < items->chunk_count;) {
    Island *g = &s->island[items->chunk[c].segment];
    double change = 0, load = 0;
    for (int segment = items->chunk[c].segment; c < items->chunk_count && items->chunk[c].segment == segment; c++) {
      change += cpu->partial[c].sum[0];
      load += cpu->partial[c].sum[1];
    }
    if (g->compare) g->disagrees = !law_loads_agree(change, load);
  }
  return stage_done();
}

Outcome cpu_adjust(void *backend, Islands *islands) {
  Cpu *cpu = backend;
  bool stiffens = false, compares = false;
  for (int k = 0; k < islands->count; k++) {
    stiffens |= islands->island[k].stiffen;
    compares |= islands->island[k].compare;
  }
  if (stiffens) parallel_for(cpu->threads, cpu->pairs.count, 256, stiffen_task, cpu);
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
