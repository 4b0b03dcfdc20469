/* Islands: bodies connected by pairs within reach, found by union-find in the order of the bodies. Bodies that do not move
 * connect nothing. Islands that come to be connected in the middle of a step go on as one. Tested in tests/test_determinism.c. */
#include "cpu/cpu.h"

#include <string.h>

#include "step/joint.h"
#include "step/soft.h"

int pair_island(const Step *step, const Pair *pair) {
  return step->island[pair->a] >= 0 ? step->island[pair->a] : step->island[pair->b];
}

static int find_root(int *parent, int i) {
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

static void unite_bodies(const Cpu *cpu, int a, int b) {
  const Model *m = cpu->model;
  if (a < 0 || b < 0 || m->body[a].slot < 0 || m->body[b].slot < 0) return;
  int ra = find_root(cpu->parent, a), rb = find_root(cpu->parent, b);
  cpu->parent[ra > rb ? ra : rb] = ra > rb ? rb : ra;
}

/* A soft body is as many as it has vertices; one of them stands for it. */
static int stand_in(const Model *m, int body) {
  return m->body[body].soft ? soft_representative(m, &m->soft[m->body[body].soft - 1]) : body;
}

static void unite(const Cpu *cpu) {
  const Model *m = cpu->model;
  for (int i = 0; i < m->body_count; i++) cpu->parent[i] = i;
  for (int k = 0; k < cpu->pair_count; k++) unite_bodies(cpu, stand_in(m, cpu->pair[k].a), stand_in(m, cpu->pair[k].b));
  for (int k = 0; k < m->soft_count; k++)
    for (int v = 0, first = soft_representative(m, &m->soft[k]); v < m->soft[k].vertex_count; v++)
      unite_bodies(cpu, first, m->soft[k].first + v);
  for (int k = 0; k < m->attachment_count; k++)
    unite_bodies(cpu, m->attachment[k].body, m->soft[m->attachment[k].soft].first + m->attachment[k].vertex);
  for (int j = 0; j < m->joint_count; j++) {
    const Joint *joint = &m->joint[j];
    unite_bodies(cpu, joint->end[0].body, joint->end[1].body);
    if (joint->partner[0] >= 0) unite_bodies(cpu, joint_body(m, joint->partner[0]), joint_body(m, joint->partner[1]));
  }
}

/* Two islands become one: it goes on where either has work left, and meeting is work. */
static void merge_island(Island *to, const Island *from) {
  bool to_active = to->progress == ISLAND_ACTIVE, from_active = from->progress == ISLAND_ACTIVE;
  to->slope = (to_active ? to->slope : 0) + (from_active ? from->slope : 0);
  to->newton_slope = (to_active ? to->newton_slope : 0) + (from_active ? from->newton_slope : 0);
  to->progress = ISLAND_ACTIVE;
  to->joined = to->whole = true;
  to->awake += from->awake;
  to->last = to->last && from->last && to_active && from_active;
  to->fraction = least(to_active ? to->fraction : 1, from_active ? from->fraction : 1);
  to->searching |= from->searching;
  to->touching |= from->touching;
  to->damping = most(to->damping, from->damping);
  if (from->convex > to->convex) to->convex = from->convex;
  to->impact = most(to->impact, from->impact);
  if (from->lags < to->lags) to->lags = from->lags;
  if (from->iterations > to->iterations) to->iterations = from->iterations;
  if (from->residual > to->residual) {
    to->residual = from->residual;
    to->residual_body = from->residual_body;
  }
}

/* In the order of the pairs: whoever sums over an island's does so in that order. */
static void string_pairs(Cpu *cpu, Step *step) {
  for (int k = 0; k < step->island_count; k++) step->islands[k].pair = -1;
  for (int k = cpu->pair_count - 1; k >= 0; k--) {
    Island *g = &step->islands[pair_island(step, &cpu->pair[k])];
    cpu->pair[k].next = g->pair;
    g->pair = k;
  }
}

void islands_build(Cpu *cpu, Step *step, bool keep) {
  const Model *m = cpu->model;
  int count = 0;
  unite(cpu);
  for (int i = 0; i < m->body_count; i++) {
    int old = step->island[i];
    if (m->body[i].slot < 0) {
      step->island[i] = -1;
      continue;
    }
    int root = find_root(cpu->parent, i);
    if (root == i) {
      step->island[i] = count;
      memset(&cpu->merged[count], 0, sizeof(Island));
      cpu->merged[count].whole = true;
      if (keep) cpu->merged[count] = step->islands[old];
      cpu->merged[count].first = keep ? old : 0; /* for now: which old island it began with */
      cpu->merged[count].body_count = 0;
      cpu->merged[count].limit[0] = cpu->merged[count].limit[1] = -1;
      count++;
    } else {
      Island *g = &cpu->merged[step->island[i] = step->island[root]];
      if (keep && old != g->first) merge_island(g, &step->islands[old]);
    }
    if (keep && step->islands[old].progress != ISLAND_ACTIVE) {
      Affine zero = affine_sub(step->q[i], step->q[i]);
      step->direction[i] = step->newton[i] = step->gradient[i] = zero;
    }
    cpu->merged[step->island[i]].body_count++;
  }
  for (int k = 0; k < m->soft_count; k++) {
    int body = soft_representative(m, &m->soft[k]);
    step->island[m->soft[k].body] = body < 0 ? -1 : step->island[body];
    if (body >= 0) cpu->merged[step->island[body]].body_count++;
  }
  memcpy(step->islands, cpu->merged, (size_t)count * sizeof(Island));
  step->island_count = count;
  for (int k = 0, first = 0; k < count; k++) {
    step->islands[k].first = first;
    first += step->islands[k].body_count;
    step->islands[k].body_count = 0;
  }
  for (int i = 0; i < m->body_count; i++)
    if (step->island[i] >= 0) {
      Island *g = &step->islands[step->island[i]];
      step->member[g->first + g->body_count++] = i;
      g->jointed |= m->body[i].jointed;
      g->soft |= m->body[i].vertex_of;
    }
  string_pairs(cpu, step);
}
