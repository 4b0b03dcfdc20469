/* Friction forces after a step, on the GPU. A trial sends the tasks with its own ones, so acceptance by all islands
 * sends nothing. Tested in tests/test_cuda_serial.c and tests/cuda/. */
#include "cuda/accelerator.h"

AdvanceTask cuda_advance_of(const Cpu *cpu, int k, int points) {
  const Island *g = &cpu->islands->island[islands_of_pair(cpu->islands, cpu->pairs.body[k])];
  return (AdvanceTask){points, g->fraction * g->length};
}

int cuda_selected_islands(const Cpu *cpu) {
  int count = 0;
  for (int e = 0; e < cpu->islands->listed_count; e++) count += island_listed(cpu->islands, e)->selected;
  return count;
}

static void pick_advancing(Cpu *cpu, int k, Pair *p) {
  Cuda *c = cuda_of(cpu);
  int points = cuda_points(c, p);
  if (points >= 0) picks_add(&c->task_of, k, points);
}

static void fill_advance(void *context, int t) {
  const Cpu *cpu = context;
  const Cuda *c = cuda_of(cpu);
  const Picked *own = &c->task_of.list[t];
  ((AdvanceTask *)c->advance.here.at)[t] = cuda_advance_of(cpu, own->pair, own->items);
}

static Outcome launch_advance(Cuda *c, const Cpu *cpu, int tasks, const AdvanceTask *task) {
  AdvanceArrays arrays = {task, c->points.there.at, c->friction.there.at, cpu->scene.friction_eps};
  return advance_launch(tasks, &arrays) ? stage_done() : cuda_lost(c);
}

/* A task for every pair that has points; those that are far have none. If all islands of the trial before accept it,
 * the GPU has the tasks. It does not wait: no other stage writes to its packet. */
Outcome cuda_advance(void *self, Cpu *cpu) {
  Cuda *c = self;
  if (!c->friction_known || c->friction.count == 0) return stage_done();
  if (c->tried == cuda_selected_islands(cpu))
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
