/* Contacts and energies at trial poses, and their acceptance. Tested in tests/test_determinism.c. */
#include "cpu/cpu.h"

#include "cpu/validate.h"
#include "kernel/constant.h"
#include "step/joint.h"
#include "step/soft.h"

static const Island *island_at(const Cpu *cpu, int body) { return &cpu->islands->island[cpu->islands->of[body]]; }

static void place_task(Cpu *cpu, int i) {
  Work *w = &cpu->work;
  double length = island_at(cpu, i)->length;
  Affine q = node_pose(w->model, w->q, i);
  if (length != 0) q = affine_add_scaled(q, length, node_vector(w->model, w->direction, i));
  node_put(w->model, w->trial, i, q);
}

static bool snaps(const Cpu *cpu, int k) {
  const Island *g = island_at(cpu, cpu->model->linkage.linked[k].body);
  return g->selected && g->length != 0;
}

static void read_task(void *context, int k) {
  Cpu *cpu = context;
  const LinkedBody *linked = &cpu->model->linkage.linked[k];
  if (!snaps(cpu, k)) return;
  Affine q = node_pose(cpu->model, cpu->work.trial, linked->body);
  linkage_read(linked, &q, cpu->work.unknown + 12 * k);
}

static void snap_task(void *context, int k) {
  Cpu *cpu = context;
  const Linkage *l = &cpu->model->linkage;
  if (!snaps(cpu, k)) return;
  node_put(cpu->model, cpu->work.trial, l->linked[k].body, linkage_pose(l, &l->linked[k], cpu->work.unknown));
}

/* The energy of a vertex is not stored, that of a body of another process not needed. */
static void go_task(Cpu *cpu, int i) {
  Work *w = &cpu->work;
  if (i >= cpu->model->body_count) return;
  path_length_move(cpu->path_length, cpu->model, i, &w->trial.body[i]);
  if (!w->active[i] || !is_own(cpu, i)) return;
  double e = w->energy_trial[i] = body_energy(w, i, &w->trial.body[i]);
  cpu->body_part[i][0] = e - block_energy(w, i);
  cpu->body_part[i][1] = body_noise(w, i, e);
}

static void place_and_go_task(Cpu *cpu, int i) {
  place_task(cpu, i);
  go_task(cpu, i);
}

/* ---- energies ---- */

/* The change of the energy of a vertex, and its rounding error. */
static void vertex_part(const Work *w, int i, double part[2]) {
  Affine q = node_pose(w->model, w->trial, i);
  double e = body_energy(w, i, &q);
  part[0] = e - block_energy(w, i);
  part[1] = body_noise(w, i, e);
}

/* Sums a chunk of bodies at their trial poses. */
static void body_chunk(void *context, int c) {
  Cpu *cpu = context;
  const Work *w = &cpu->work;
  Chunk chunk = cpu->islands->member.chunk[c];
  Partial *sum = &cpu->partial[c];
  *sum = (Partial){0};
  if (!cpu->islands->island[chunk.segment].selected) return;
  for (int k = chunk.first; k < chunk.end; k++) {
    int i = cpu->islands->member.item[k];
    if (!w->active[i]) continue;
    double part[2];
    if (block_is_vertex(w->model, i)) vertex_part(w, i, part);
    sum->sum[0] += block_is_vertex(w->model, i) ? part[0] : cpu->body_part[i][0];
    sum->sum[1] += block_is_vertex(w->model, i) ? part[1] : cpu->body_part[i][1];
  }
}

static void pair_chunk(void *context, int c) {
  Cpu *cpu = context;
  Chunk chunk = cpu->island_pairs.chunk[c];
  Partial *sum = &cpu->partial[cpu->islands->member.chunk_count + c];
  *sum = (Partial){.extreme = INFINITY};
  if (!cpu->islands->island[chunk.segment].selected) return;
  for (int e = chunk.first; e < chunk.end; e++) {
    if (cpu->pair_idle[cpu->island_pairs.item[e]]) continue;
    const Partial *part = &cpu->pair_part[cpu->island_pairs.item[e]];
    sum->any |= part->any;
    sum->extreme = least(sum->extreme, part->extreme);
    if (part->item < 0) continue;
    sum->sum[0] += part->sum[0];
    sum->sum[1] += part->sum[1];
  }
}

/* A gap of a few roundings may be a crossing of as many. Poses at which a pair comes nearer than that have no energy;
 * those of a scene that starts so may part. */
static bool meets_within_rounding(const Cpu *cpu, const Pair *p) {
  return p->min_gap < p->gap && p->min_gap <= pair_rounding(p, &cpu->scene, &cpu->work.trial.body[p->a]);
}

/* What pair k adds to its chunk, unless it is idle, as all far ones are; item: -1 if no side of it is in the active
 * set, or another process counts it. */
static void note_pair(void *context, int k) {
  Cpu *cpu = context;
  if (cpu->pair_far[k]) {
    cpu->pair_idle[k] = true;
    return;
  }
  const Pair *p = pairs_at(&cpu->pairs, k);
  cpu->pair_cost[k] = pair_cost(p);
  note_terms(cpu, k, p);
  cpu->pair_idle[k] &= !cpu->accelerator;
  if (cpu->pair_idle[k]) return;
  double change = meets_within_rounding(cpu, p) ? INFINITY : p->energy_trial - p->energy;
  cpu->pair_part[k] = (Partial){.sum = {change, p->noise},
                                .extreme = p->min_gap,
                                .item = pair_selected(cpu, k) && counts_pair(cpu, k) ? k : -1,
                                .any = p->contact.count > 0};
}

static void add_partials(Cpu *cpu, const Segments *items, const Partial *partial, bool pairs) {
  for (int e = 0; e < items->listed_count; e++) {
    const Partial *p = &partial[items->listed[e]];
    Island *g = &cpu->islands->island[items->chunk[items->listed[e]].segment];
    if (!g->selected) continue;
    g->change += p->sum[0];
    g->noise += p->sum[1];
    if (!pairs) continue;
    g->touching |= p->any;
    g->min_gap = least(g->min_gap, p->extreme);
  }
}

/* ---- trial poses ---- */

/* The poses of linked bodies are computed from their unknowns: joints hold to rounding, however many steps are
 * taken. The last loop over the bodies sums their energies. */
static void place_trial(Cpu *cpu) {
  int linked = cpu->model->linkage.linked_count;
  for_bodies(cpu, linked ? place_task : place_and_go_task, linked ? NULL : body_chunk);
  parallel_for(cpu->threads, linked, 32, read_task, cpu);
  parallel_for(cpu->threads, linked, 32, snap_task, cpu);
  soft_load(cpu, cpu->work.trial);
  if (linked) for_bodies(cpu, go_task, body_chunk);
}

void eval_task(Cpu *cpu, int k, Pair *p) {
  (void)k;
  pair_eval(p, &cpu->scene, &cpu->work.trial.body[p->a], &cpu->work.trial.body[p->b]);
}

/* The poses of all bodies are those in path_length. */
static bool is_far(Cpu *cpu, int k) {
  if (noted_far(cpu, k)) return true;
  bool far = cpu->pair_idle[k] && noted_terms(cpu) && pair_is_far(&cpu->scene, cpu->pairs.slot[k], cpu->pairs.body[k]);
  cpu->pair_far[k] = far ? FAR_NOW : 0;
  return far;
}

/* Long lists of soft surfaces, each on all threads. */
static void mark_large_pairs(Cpu *cpu) {
  const Affine *q = cpu->work.trial.body;
  for (int k = 0; cpu->threads > 1 && cpu->model->soft_count && k < cpu->pairs.count; k++) {
    Pair *p = pairs_at(&cpu->pairs, k);
    if (p->soft && !cpu->pair_far[k] && pair_selected(cpu, k))
      pair_mark_ahead(p, &cpu->scene, &q[p->a], &q[p->b], cpu->threads);
  }
}

/* Contacts at the trial poses, and the sums of their energies. */
static Outcome eval_pairs(Cpu *cpu) {
  const Accelerator *other = cpu->accelerator;
  if (!reserve_pair_parts(cpu)) return stage_from(false);
  if (!other) {
    mark_large_pairs(cpu);
    return for_pairs_unless(cpu, is_far, eval_task, note_pair, pair_chunk);
  }
  Outcome outcome = other->eval(cpu->accelerator_self, cpu);
  if (!stage_failed(outcome)) segments_for(&cpu->island_pairs, cpu->threads, 64, note_pair, pair_chunk, cpu);
  return outcome;
}

static void add_joints(Cpu *cpu) {
  Work *w = &cpu->work;
  for (int j = 0; j < cpu->model->joint_count; j++) {
    Island *g = island_of_joint(cpu->islands, j);
    JointTerm *t = &w->joint[j];
    if (!g || !g->selected || !t->active) continue;
    t->energy_trial = joint_energy(w, j, w->trial.body, &g->noise);
    g->change += t->energy_trial - t->energy;
  }
}

static bool add_soft(Cpu *cpu) {
  Work *w = &cpu->work;
  if (!soft_energies(cpu, w->trial, false, w->soft_energy_trial)) return false;
  for (int k = 0; k < cpu->model->soft_count; k++) {
    Island *g = island_of_soft(cpu->islands, k);
    if (!g || !g->selected) continue;
    double e = w->soft_energy_trial[k];
    g->change += e - w->soft_energy[k];
    g->noise += ROUNDING_ENERGY * fabs(e);
  }
  return true;
}

/* False if memory is out. */
static bool sum_energies(Cpu *cpu) {
  Islands *s = cpu->islands;
  for (int e = 0; e < s->listed_count; e++) {
    Island *g = island_listed(s, e);
    if (!g->selected) continue;
    g->change = g->noise = 0;
    g->min_gap = INFINITY;
    g->touching = false;
  }
  add_partials(cpu, &s->member, cpu->partial, false);
  add_partials(cpu, &cpu->island_pairs, cpu->partial + s->member.chunk_count, true);
  add_joints(cpu);
  return !cpu->model->soft_count || add_soft(cpu);
}

/* An energy that is infinite or NaN is never accepted: its rounding error, a part of it, does not count. */
static void judge_changes(Islands *s) {
  for (int e = 0; e < s->listed_count; e++) {
    Island *g = island_listed(s, e);
    if (g->selected && !(g->change < INFINITY)) g->change = INFINITY, g->noise = 0;
  }
}

Outcome trial_since(Cpu *cpu, AbdStage stage, double t0) {
  int chunks = cpu->islands->member.chunk_count + cpu->island_pairs.chunk_count;
  Outcome outcome = stage_from(reserve_partials(cpu, chunks));
  if (!stage_failed(outcome)) {
    place_trial(cpu);
    outcome = eval_pairs(cpu);
  }
  if (!stage_failed(outcome)) {
    if (!cpu->accelerator) validate_contacts(cpu);
    outcome = stage_from(sum_energies(cpu));
  }
  outcome = share_islands(cpu, SHARE_TRIAL, outcome);
  if (!stage_failed(outcome)) judge_changes(cpu->islands);
  cpu->report->seconds[stage] += stage_clock(cpu) - t0;
  return outcome;
}

Outcome cpu_trial(void *backend, Islands *islands, AbdStage stage) {
  Cpu *cpu = backend;
  cpu->islands = islands;
  return trial_since(cpu, stage, stage_clock(cpu));
}

/* ---- acceptance ---- */

static void accept_body(Cpu *cpu, int i) {
  Work *w = &cpu->work;
  if (!w->active[i]) return;
  node_put(w->model, w->q, i, node_pose(w->model, w->trial, i));
  if (!block_is_vertex(w->model, i)) w->energy[i] = w->energy_trial[i];
}

static void accept_pair(Cpu *cpu, int k, Pair *p) {
  const Island *g = &cpu->islands->island[islands_of_pair(cpu->islands, cpu->pairs.body[k])];
  p->energy = p->energy_trial;
  p->gap = p->min_gap;
  if (!cpu->accelerator) pair_friction_advance(p, &cpu->scene, g->fraction * g->length);
}

Outcome cpu_accept(void *backend, Islands *islands) {
  Cpu *cpu = backend;
  Work *w = &cpu->work;
  for (int k = 0; k < cpu->model->soft_count; k++) {
    const Island *g = island_of_soft(islands, k);
    if (g && g->selected) w->soft_energy[k] = w->soft_energy_trial[k];
  }
  Outcome outcome = for_bodies_and_busy_pairs(cpu, accept_body, accept_pair);
  if (cpu->accelerator && !stage_failed(outcome)) outcome = cpu->accelerator->advance(cpu->accelerator_self, cpu);
  forget_far(cpu);
  for (int j = 0; j < cpu->model->joint_count; j++) {
    const Island *g = island_of_joint(islands, j);
    if (g && g->selected) joint_accept(w, j);
  }
  validate_energies(cpu);
  return outcome;
}
