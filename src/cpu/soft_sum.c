/* Adds gradients and Hessians of soft elements that another machine has summed by vertex and by coupling. Each sum of
 * free vertices has a place of its own in the matrix, so threads add them in any order. Those of attached vertices share
 * the places of their bodies and are added by one thread. Tested in tests/test_cuda_soft.c. */
#include "cpu/cpu.h"

typedef struct Adding {
  Cpu *cpu;
  const Soft *soft;
  const SoftCoupling *coupling;
  SoftSum sum;
} Adding;

static bool is_attached(const Cpu *cpu, int block) { return linkage_of(&cpu->model->linkage, block) != NULL; }

static void add_vertex_block(const Adding *a, int v) {
  int block = a->soft->first + v;
  system_add_nodes(&a->cpu->system, block, block, a->sum.vertex[v]);
}

static void add_edge_block(const Adding *a, int e) {
  const int *end = a->coupling->edge[e];
  system_add_nodes(&a->cpu->system, end[0], end[1], a->sum.edge[e]);
}

static void vertex_item(void *context, int v) {
  const Adding *a = context;
  int block = a->soft->first + v;
  if (!block_moves(a->cpu->model, block)) return;
  Vec3 *g = &a->cpu->work.gradient.vertex[a->soft->vertex + v];
  *g = add(*g, vec3_from(a->sum.vertex[v] + 9));
  if (!is_attached(a->cpu, block)) add_vertex_block(a, v);
}

static bool edge_is_attached(const Adding *a, int e) {
  const int *end = a->coupling->edge[e];
  return is_attached(a->cpu, end[0]) || is_attached(a->cpu, end[1]);
}

static void edge_item(void *context, int e) {
  const Adding *a = context;
  if (!edge_is_attached(a, e)) add_edge_block(a, e);
}

static void add_attached(const Adding *a) {
  for (int v = 0; v < a->soft->vertex_count; v++) {
    int block = a->soft->first + v;
    if (block_moves(a->cpu->model, block) && is_attached(a->cpu, block)) add_vertex_block(a, v);
  }
  for (int e = 0; e < a->coupling->count; e++)
    if (edge_is_attached(a, e)) add_edge_block(a, e);
}

bool soft_add_sums(Cpu *cpu) {
  const Model *m = cpu->model;
  SoftSum *sum = mem_alloc((size_t)m->soft_count, sizeof *sum);
  bool done = sum && cpu->soft_machine->terms(cpu->soft_machine_self, cpu, sum);
  for (int k = 0; done && k < m->soft_count; k++) {
    if (!soft_selected(cpu, k)) continue;
    Adding adding = {cpu, &m->soft[k], &cpu->coupling[k], sum[k]};
    parallel_for(cpu->threads, m->soft[k].vertex_count, 128, vertex_item, &adding);
    parallel_for(cpu->threads, cpu->coupling[k].count, 128, edge_item, &adding);
    if (m->linkage.linked_count) add_attached(&adding);
  }
  mem_free(sum);
  return done;
}
