/* The GPU's table of loops, see cpu/accelerator.h, and the life of its state. Tested in tests/test_cuda_serial.c and
 * tests/cuda/. */
#include "cuda/accelerator.h"

#include "cuda/cuda.h"
#include "kernel/constant.h"

enum { SPIN = 20000 }; /* [us] longer than most waits for the GPU */

Outcome cuda_lost(Cuda *c) {
  c->lost = true;
  return stage_from(false);
}

/* The friction points of the last step are gone. Its contacts are in the pairs' arrays. */
static void cuda_begin(void *self, Cpu *cpu) {
  cuda_friction_changed(self);
  cuda_pack_lists(self, cpu);
  cpu->scene.list_more = ((Cuda *)self)->list_more;
  ((Cuda *)self)->step++;
  ((Cuda *)self)->tried = -1;
}

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
  packet_free(&c->opening);
  packet_free(&c->terms);
  packet_free(&c->solution);
  packet_free(&c->origin);
  packet_free(&c->listing);
  arrival_close(&c->arrival);
  search_close(&c->search);
  pcg_destroy(&c->pcg);
  clusters_close(&c->clusters);
  picks_close(&c->task_of);
  picks_close(&c->loaded);
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
      !picks_open(&c->task_of, cpu->threads) || !picks_open(&c->loaded, cpu->threads) ||
      !clusters_open(&c->clusters, m->body_count) || !cuda_send_meshes(c)) {
    cuda_free(c);
    return false;
  }
  parallel_spin(SPIN);
  cpu->accelerator_self = c;
  cpu->accelerator = &c->table;
  return true;
}
