/* Adds gradients and Hessians of soft elements, summed by vertex and by coupling, to the matrix. The block of two free
 * vertices has a place of its own there, so threads add these in any order. Blocks of attached ones share the places
 * of their bodies: each thread adds those of some columns of L, in their order. Tested in tests/test_soft.c and
 * tests/test_cuda_soft.c. */
#include "cpu/cpu.h"

/* ---- attached vertices ---- */

static bool is_attached(const Model *m, int block) { return linkage_of(&m->linkage, block) != NULL; }

static bool edge_is_attached(const Model *m, const int edge[2]) {
  return is_attached(m, edge[0]) || is_attached(m, edge[1]);
}

static bool put_part(Cpu *cpu, int *capacity, SoftPart part) {
  if (!mem_reserve((void **)&cpu->soft_part, capacity, cpu->soft_part_count + 1, sizeof part)) return false;
  cpu->soft_part[cpu->soft_part_count++] = part;
  return true;
}

bool soft_sums_init(Cpu *cpu) {
  const Model *m = cpu->model;
  int capacity = 0;
  for (int k = 0; k < m->soft_count; k++) {
    const Soft *s = &m->soft[k];
    const SoftCoupling *c = &cpu->coupling[k];
    for (int v = 0; v < s->vertex_count; v++)
      if (is_attached(m, s->first + v) && !put_part(cpu, &capacity, (SoftPart){k, v, false})) return false;
    for (int e = 0; e < c->count; e++)
      if (edge_is_attached(m, c->edge[e]) && !put_part(cpu, &capacity, (SoftPart){k, e, true})) return false;
  }
  cpu->soft_part_share = mem_alloc((size_t)cpu->soft_part_count, 1);
  return cpu->soft_part_share != NULL;
}

/* ---- the sums ---- */

enum { SHARES = 64, REST = SHARES, NO_SHARE = 255 }; /* one thread has all in one share */

typedef struct Adding {
  Cpu *cpu;
  const SoftSum *sum; /* by soft body */
  int shares;
  const Soft *soft; /* the one whose free vertices are added */
  const SoftCoupling *coupling;
  SoftSum own;
} Adding;

static void vertex_item(void *context, int v) {
  const Adding *a = context;
  int block = a->soft->first + v;
  if (!block_moves(a->cpu->model, block)) return;
  Vec3 *g = &a->cpu->work.gradient.vertex[a->soft->vertex + v];
  *g = add(*g, vec3_from(a->own.vertex[v] + 9));
  if (!is_attached(a->cpu->model, block)) system_add_nodes(&a->cpu->system, block, block, a->own.vertex[v]);
}

static void edge_item(void *context, int e) {
  const Adding *a = context;
  const int *edge = a->coupling->edge[e];
  if (!edge_is_attached(a->cpu->model, edge)) system_add_nodes(&a->cpu->system, edge[0], edge[1], a->own.edge[e]);
}

static void add_free(const Adding *all, int k) {
  Cpu *cpu = all->cpu;
  Adding a = {cpu, all->sum, all->shares, &cpu->model->soft[k], &cpu->coupling[k], all->sum[k]};
  parallel_for(cpu->threads, a.soft->vertex_count, 128, vertex_item, &a);
  parallel_for(cpu->threads, a.coupling->count, 128, edge_item, &a);
}

/* The vertices of a part. */
static void part_blocks(const Cpu *cpu, SoftPart part, int block[2]) {
  const int *edge = part.is_edge ? cpu->coupling[part.soft].edge[part.item] : NULL;
  for (int side = 0; side < 2; side++) block[side] = edge ? edge[side] : cpu->model->soft[part.soft].first + part.item;
}

static int column_of(const Cpu *cpu, int block) {
  return block_moves(cpu->model, block) ? system_column(&cpu->system, block) : -1;
}

/* The share of a part, by the columns of its vertices. */
static void share_item(void *context, int p) {
  const Adding *a = context;
  Cpu *cpu = a->cpu;
  int block[2], share = NO_SHARE;
  if (soft_selected(cpu, cpu->soft_part[p].soft)) {
    part_blocks(cpu, cpu->soft_part[p], block);
    int i = column_of(cpu, block[0]), j = column_of(cpu, block[1]);
    if (i == SYSTEM_SEVERAL || j == SYSTEM_SEVERAL) share = REST;
    else if (i >= 0 && j >= 0) share = (i < j ? i : j) % a->shares;
  }
  cpu->soft_part_share[p] = (unsigned char)share;
}

static void add_share(void *context, int share) {
  const Adding *a = context;
  Cpu *cpu = a->cpu;
  for (int p = 0; p < cpu->soft_part_count; p++) {
    if (cpu->soft_part_share[p] != share) continue;
    SoftPart part = cpu->soft_part[p];
    const SoftSum *sum = &a->sum[part.soft];
    int block[2];
    part_blocks(cpu, part, block);
    system_add_nodes(&cpu->system, block[0], block[1], part.is_edge ? sum->edge[part.item] : sum->vertex[part.item]);
  }
}

bool soft_add(Cpu *cpu) {
  const Model *m = cpu->model;
  if (!m->soft_count) return true;
  SoftSum *sum = mem_alloc((size_t)m->soft_count, sizeof *sum);
  bool done = sum && soft_sum(cpu, sum);
  Adding all = {.cpu = cpu, .sum = sum, .shares = cpu->threads > 1 ? SHARES : 1};
  for (int k = 0; done && k < m->soft_count; k++)
    if (soft_selected(cpu, k)) add_free(&all, k);
  if (done && cpu->soft_part_count) {
    parallel_for(cpu->threads, cpu->soft_part_count, 256, share_item, &all);
    parallel_for(cpu->threads, all.shares, 1, add_share, &all);
    add_share(&all, REST);
  }
  mem_free(sum);
  return done;
}
