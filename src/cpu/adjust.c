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
  if (island_at(cpu, k)->stiffen) pair_stiffen(pairs_at(&cpu->pairs, k), cpu->scene.range, cpu->work.state);
}

static bool compared_elsewhere(const Cpu *cpu) { return cpu->accelerator && cpu->accelerator->compare; }

static void compare_item(void *context, int k) {
  Cpu *cpu = context;
  LoadChange own = {0, 0, 0, 0};
  if (compared_elsewhere(cpu)) return; /* the sums are there already */
  if (island_at(cpu, k)->compare && counts_pair(cpu, k)) own = pair_load_error(pairs_at(&cpu->pairs, k), &cpu->scene);
  cpu->pair_part[k] = (Partial){.sum = {own.change, own.load}};
}

static Outcome compare_loads(Cpu *cpu) {
  Islands *s = cpu->islands;
  const Segments *items = &cpu->island_pairs;
  Outcome ready = compared_elsewhere(cpu) ? cpu->accelerator->compare(cpu->accelerator_self, cpu) : fetch_contacts(cpu);
  if (stage_failed(ready)) return ready;
  if (!sum_loads(cpu, noted_terms(cpu), compare_item)) return stage_from(false);
  for (int e = 0; e < s->listed_count; e++)
    if (island_listed(s, e)->compare) island_listed(s, e)->load = island_listed(s, e)->load_error = 0;
  for (int e = 0; e < items->listed_count; e++) {
    Island *g = &s->island[items->chunk[items->listed[e]].segment];
    if (g->compare) add_load_sums(cpu, items->listed[e], g);
  }
  Outcome outcome = share_islands(cpu, SHARE_LOAD, stage_done());
  for (int e = 0; e < s->listed_count && !stage_failed(outcome); e++) {
    Island *g = island_listed(s, e);
    if (g->compare) g->disagrees = !law_loads_agree(g->load_error, g->load);
  }
  return outcome;
}

Outcome cpu_adjust(void *backend, Islands *islands) {
  Cpu *cpu = backend;
  bool stiffens = false, compares = false;
  for (int e = 0; e < islands->listed_count; e++) {
    stiffens |= island_listed(islands, e)->stiffen;
    compares |= island_listed(islands, e)->compare;
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
