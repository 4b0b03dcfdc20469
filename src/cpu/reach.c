/* Pairs within reach of a step: boxes, broad phase, and the groups of pairs by island and by body. Tested in
 * tests/test_determinism.c. */
#include "cpu/cpu.h"

#include "kernel/constant.h"

/* Half of what contact keeps between a body and others, not counting their own thickness. */
double half_separation(const Cpu *cpu, int body) {
  return 0.5 * (cpu->scene.separation + cpu->model->body[body].thickness);
}

Box reach_box(const Cpu *cpu, int body, Nodes end, double pad) {
  const Model *m = cpu->model;
  const Body *b = &m->body[body];
  Nodes q = cpu->work.q;
  if (b->soft) return box_inflate(soft_box(m, &m->soft[b->soft - 1], q, end), pad);
  return box_inflate(swept_box(m, body, &q.body[body], &end.body[body]), pad);
}

double reach_pad(const Cpu *cpu, int body, Nodes end) {
  const Mesh *mesh = &cpu->model->mesh[cpu->model->body[body].mesh];
  Affine d = affine_sub(end.body[body], cpu->work.q.body[body]);
  double motion = mesh->half_space ? 0 : norm(d.n[0]) + mesh->radius * (norm(d.n[1]) + norm(d.n[2]) + norm(d.n[3]));
  return cpu->scene.range + half_separation(cpu, body) + REACH_MOTION * motion;
}

static void find_island(void *context, int k) {
  Cpu *cpu = context;
  cpu->pair_of[k] = islands_of_pair(cpu->islands, cpu->pairs.body[k]);
  cpu->pair_cost[k] = pair_cost(pairs_at(&cpu->pairs, k));
  note_terms(cpu, k, pairs_at(&cpu->pairs, k));
}

static void find_sides(void *context, int k) {
  Cpu *cpu = context;
  for (int side = 0; side < 2; side++) {
    int body = cpu->pairs.body[k][side];
    cpu->pair_of[2 * k + side] = cpu->islands->of[body] >= 0 ? body : -1;
  }
}

/* Pairs by island and by body, in the order of the pairs: sums over them run in that order. */
static bool group_pairs(Cpu *cpu) {
  int count = cpu->pairs.count;
  if (!mem_reserve((void **)&cpu->pair_of, &cpu->pair_of_capacity, 2 * count, sizeof(int)) ||
      !mem_reserve((void **)&cpu->pair_acts, &cpu->pair_acts_capacity, count, 1) ||
      !mem_reserve((void **)&cpu->pair_cost, &cpu->pair_cost_capacity, count, 1) ||
      !mem_reserve((void **)&cpu->pair_far, &cpu->pair_far_capacity, count, sizeof(bool)) ||
      !mem_reserve((void **)&cpu->pair_terms, &cpu->pair_terms_capacity, count, sizeof(bool)) ||
      !mem_reserve((void **)&cpu->pair_coupled, &cpu->pair_coupled_capacity, count, sizeof(bool)) ||
      !mem_reserve((void **)&cpu->pair_idle, &cpu->pair_idle_capacity, count, sizeof(bool)) ||
      !mem_reserve((void **)&cpu->pair_couples, &cpu->pair_couples_capacity, count, sizeof(bool)))
    return false;
  forget_far(cpu);
  parallel_for(cpu->threads, count, 256, find_island, cpu);
  if (!segments_build(&cpu->island_pairs, cpu->islands->count, count, cpu->pair_of)) return false;
  parallel_for(cpu->threads, count, 256, find_sides, cpu);
  const Model *m = cpu->model;
  if (!cpu->domain) return segments_build(&cpu->body_pairs, m->body_count, 2 * count, cpu->pair_of);
  return segments_build_some(&cpu->body_pairs, m->body_count, m->moving_count, m->moving, 2 * count, cpu->pair_of);
}

/* An island that waited or was done has no direction: if it is merged now, it starts from rest. */
static void clear_inactive(void *context, int j) {
  Cpu *cpu = context;
  Work *w = &cpu->work;
  int i = cpu->model->moving[j];
  int k = cpu->islands->of[i]; /* -1: a new body of the halo, whose state is copied */
  if (k < 0 || cpu->islands->island[k].progress == ISLAND_ACTIVE) return;
  Affine q = node_pose(cpu->model, w->q, i), zero = affine_sub(q, q);
  node_put(cpu->model, w->direction, i, zero);
  node_put(cpu->model, w->newton, i, zero);
  node_put(cpu->model, w->gradient, i, zero);
}

Outcome reach_pairs(Cpu *cpu, bool keep, int *added) {
  const Model *m = cpu->model;
  const bool *grown = cpu->domain ? cpu->domain->grown : cpu->left;
  bool found = keep ? broad_grow(&cpu->broad, m, grown, added) : broad_find(&cpu->broad, m);
  bool same = found && keep && *added == 0;
  if (same && !cpu->domain) return stage_done();
  if (!same) found = found && pairs_sync(&cpu->pairs, m, cpu->broad.pair, cpu->broad.pair_count, added);
  Outcome outcome = stage_from(found);
  if (cpu->domain) outcome = cpu->domain->reach(cpu->domain->self, cpu, outcome, added);
  if (stage_failed(outcome)) return outcome;
  if (keep && *added == 0) return stage_done();
  cpu->regrouped = true;
  if (keep) parallel_for(cpu->threads, m->moving_count, 128, clear_inactive, cpu);
  return stage_from(
      islands_build(cpu->islands, cpu->threads, cpu->pairs.count, (const int(*)[2])cpu->pairs.body, keep) &&
      group_pairs(cpu) && list_work(cpu));
}
