/* Velocities that keep the balance of energy: memory, the loop over pairs, other processes. See step/settle.h. */
#include "step/settle.h"

#include <string.h>

#include "contact/law.h"
#include "cpu/cpu.h"

typedef struct PairTasks {
  Cpu *cpu;
  const Settle *settle;
} PairTasks;

/* The loops on one thread that follow read these bytes instead of the pairs. */
static void pair_task(void *context, int k) {
  const PairTasks *t = context;
  Cpu *cpu = t->cpu;
  const Pair *p = pairs_at(&cpu->pairs, k);
  cpu->pair_couples[k] = settle_acts(p);
  cpu->pair_acts[k] =
      (unsigned char)((pair_remembers(p, cpu->model) ? PAIR_REMEMBERS : 0) | (p->contact.count > 0 ? PAIR_TOUCHES : 0));
  cpu->pair_of[k] = pair_anchor_count(p, cpu->model);
  if (cpu->pair_couples[k]) settle_pair_work(t->settle, k, cpu->pair_part[k].sum);
}

static bool find_clusters(Cpu *cpu, Settle *s) {
  const Domain *d = cpu->domain;
  int blocks = cpu->model->block_count;
  if (!mem_reserve((void **)&cpu->cluster_root, &cpu->cluster_root_capacity, 3 * blocks, sizeof(int))) return false;
  s->root = cpu->cluster_root;
  s->label = s->root + blocks;
  s->of = s->label + blocks;
  settle_unite(s);
  if (d && !d->unite(d->self, s->root)) return false;
  settle_number(s);
  s->members = &cpu->cluster_blocks;
  if (!mem_reserve((void **)&cpu->cluster, &cpu->cluster_capacity, s->count, sizeof(Cluster)) ||
      !segments_build_listed(s->members, s->count, cpu->model->moving_count, cpu->model->moving, s->of) ||
      !mem_reserve((void **)&cpu->cluster_chunk, &cpu->cluster_chunk_capacity, s->members->chunk_count,
                   sizeof(SettleChunk)))
    return false;
  s->cluster = cpu->cluster;
  s->chunk = cpu->cluster_chunk;
  if (!mem_reserve((void **)&cpu->cluster_part, &cpu->cluster_part_capacity, settle_number_parts(s), sizeof(Cluster)))
    return false;
  s->part = cpu->cluster_part;
  if (s->count) memset(s->cluster, 0, (size_t)s->count * sizeof *s->cluster);
  return true;
}

static void add_chunk(void *context, int k) { settle_add_chunk(context, k); }
static void close_chunk(void *context, int k) { settle_close_chunk(context, k); }

enum { BLOCKS_PER_THREAD = 8 }; /* at least; they take about 5 us */

/* Chunks have one block or many: each thread gets those of about as many blocks. */
static void for_chunks(const Cpu *cpu, Settle *s, ParallelBody *task) {
  const Segments *m = s->members;
  int blocks = m->count ? m->first[m->count] : 0, bound[PARALLEL_MAX + 1];
  int threads = cpu->threads < PARALLEL_MAX ? cpu->threads : PARALLEL_MAX;
  if (threads > blocks / BLOCKS_PER_THREAD) threads = blocks / BLOCKS_PER_THREAD;
  if (threads < 1) threads = 1;
  for (int t = 0, c = 0; t <= threads; t++) {
    while (c < m->chunk_count && (int64_t)m->chunk[c].first * threads < (int64_t)blocks * t) c++;
    bound[t] = c;
  }
  parallel_shares(threads, bound, 1, task, s);
}

bool settle_velocities(Cpu *cpu, State *after) {
  Settle s = {.work = &cpu->work,
              .pairs = &cpu->pairs,
              .scene = &cpu->scene,
              .blows = &cpu->blows,
              .report = cpu->report,
              .after = after};
  s.own = cpu->domain ? cpu->domain->own : NULL;
  s.acts = cpu->pair_couples;
  if (!reserve_pair_parts(cpu)) return false;
  parallel_for(cpu->threads, cpu->pairs.count, 32, pair_task, &(PairTasks){cpu, &s});
  if (!find_clusters(cpu, &s)) return false;
  settle_add_joints(&s);
  for (int k = 0; k < cpu->pairs.count; k++)
    if (s.acts[k]) settle_add_pair(&s, k, cpu->pair_part[k].sum, counts_pair(cpu, k));
  settle_add_soft(&s);
  for (int k = 0; k < cpu->model->soft_count; k++) {
    double *gain = settle_soft_gain(&s, k);
    if (gain) soft_add_gain(cpu, &cpu->model->soft[k], gain);
  }
  for_chunks(cpu, &s, add_chunk);
  settle_join_chunks(&s);
  if (cpu->domain && !cpu->domain->clusters(cpu->domain->self, s.root, s.label, s.cluster)) return false;
  settle_close_large(&s);
  for_chunks(cpu, &s, close_chunk);
  settle_share_owed(&s);
  settle_add_rests(&s);
  return true;
}
