/* The start of a step: targets, pairs, contacts and energies at the start, barrier stiffness, friction points. */
#include "cpu/cpu.h"

#include "contact/law.h"
#include "step/joint.h"
#include "step/settle.h"

/* A force or a speed beyond what numbers hold ends the step before it begins. */
static bool target_fits(const Work *w, int i) {
  Affine target = node_pose(w->model, w->target, i);
  for (int k = 0; k < 4; k++)
    if (!(norm_sq(target.n[k]) < 1e200)) return false;
  return true;
}

static void target_task(void *context, int i) {
  Cpu *cpu = context;
  Work *w = &cpu->work;
  Affine q = node_pose(w->model, w->state->q, i);
  node_put(w->model, w->q, i, q);
  node_put(w->model, w->trial, i, q);
  w->active[i] = true;
  if (!block_is_vertex(w->model, i)) w->speed[i] = 0;
  predict_target(w, i);
  if (!target_fits(w, i)) __atomic_store_n(&cpu->failed, i, __ATOMIC_RELAXED);
}

static Outcome set_targets(Cpu *cpu) {
  cpu->failed = -1;
  for (int i = 0; i < cpu->model->body_count; i++) cpu->work.restart[i] = false;
  for_known(cpu, cpu->model->block_count, target_task);
  if (cpu->failed < 0) return flight_targets(cpu);
  if (cpu->domain) return stage_not_finite(cpu->failed);
  int first = 0; /* the same body is blamed for any number of threads */
  while (target_fits(&cpu->work, first)) first++;
  return stage_not_finite(model_whole(cpu->model, first));
}

static void body_task(void *context, int i) {
  Cpu *cpu = context;
  Work *w = &cpu->work;
  path_length_move(cpu->path_length, cpu->model, i, &w->q.body[i]);
  if (!is_halo(cpu, i)) cpu->broad.box[i] = reach_box(cpu, i, w->target, reach_pad(cpu, i, w->target));
  if (cpu->model->body[i].slot >= 0) w->energy[i] = body_energy(w, i, &w->q.body[i]);
}

static void refer_task(void *context, int j) {
  Work *w = &((Cpu *)context)->work;
  joint_refer(w, j, w->state->q.body);
}
static void joint_task(void *context, int j) { joint_begin(&((Cpu *)context)->work, j); }
static void joint_energy_task(void *context, int j) { joint_start(&((Cpu *)context)->work, j); }

/* The body of the pair that has left the region in which the contact range is long enough; -1: neither. Bodies that do
 * not move may be as large as they like. */
static int body_too_far(const Cpu *cpu, int k) {
  for (int side = 0; side < 2; side++) {
    int body = cpu->pairs.body[k][side];
    bool moves = cpu->model->body[body].motion == ABD_MOTION_DYNAMIC;
    if (moves && model_least_range(cpu->broad.box[body]) > cpu->scene.range) return body;
  }
  return -1;
}

static void pair_task(void *context, int k) {
  Cpu *cpu = context;
  pair_begin(pairs_at(&cpu->pairs, k), &cpu->scene, cpu->work.q.body, cpu->work.target.body);
  if (body_too_far(cpu, k) >= 0) __atomic_store_n(&cpu->failed, k, __ATOMIC_RELAXED);
}

static Outcome begin_pairs(Cpu *cpu) {
  cpu->failed = -1;
  parallel_for(cpu->threads, cpu->pairs.count, 32, pair_task, cpu);
  if (cpu->failed < 0) return stage_done();
  int first = 0; /* the same body is blamed for any number of threads */
  while (body_too_far(cpu, first) < 0) first++;
  return stage_too_far(body_too_far(cpu, first));
}

/* ---- no history through impacts ---- */

/* A force gives different impulses by Euler's step and by BDF2's: bodies that a joint or an attachment connects take
 * the same one, or their momentum would change. Whether a mark changed. */
static bool share_restart(Work *w, int a, int b) {
  if (w->restart[a] == w->restart[b]) return false;
  w->restart[a] = w->restart[b] = true;
  return true;
}

static void mark_restarts(Cpu *cpu) {
  const Model *m = cpu->model;
  Work *w = &cpu->work;
  for (int k = 0; k < cpu->pairs.count; k++) {
    const Pair *p = pairs_at(&cpu->pairs, k);
    if (p->a != p->b) w->restart[p->a] = w->restart[p->b] = true;
  }
  for (int j = 0; j < m->joint_count; j++) {
    int body = joint_body(m, j);
    if (body >= 0 && joint_near_stop(w, j)) w->restart[body] = true;
  }
  bool again = true;
  while (again) { /* a mechanism restarts as a whole */
    again = false;
    for (int j = 0; j < m->joint_count; j++) {
      int a = m->joint[j].end[0].body, b = m->joint[j].end[1].body;
      if (m->joint[j].partner[0] >= 0)
        a = joint_body(m, m->joint[j].partner[0]), b = joint_body(m, m->joint[j].partner[1]);
      again |= a >= 0 && b >= 0 && share_restart(w, a, b);
    }
    for (int k = 0; m->def.integrator == ABD_INTEGRATOR_BDF2 && k < m->attachment_count; k++) {
      int body = m->attachment[k].body;
      again |= block_moves(m, body) && share_restart(w, body, m->soft[m->attachment[k].soft].body);
    }
  }
}

static void restart_task(void *context, int i) {
  Work *w = &((Cpu *)context)->work;
  if (!predict_restarts(w, i)) return;
  predict_target(w, i);
  if (!block_is_vertex(w->model, i) && w->model->body[i].slot >= 0) w->energy[i] = body_energy(w, i, &w->q.body[i]);
}

static void restart_near_contact(Cpu *cpu) {
  const Model *m = cpu->model;
  if (m->def.integrator != ABD_INTEGRATOR_BDF2 && m->soft_count == 0) return;
  mark_restarts(cpu);
  for_known(cpu, m->block_count, restart_task);
  for_halo(cpu, restart_task);
}

/* The halo, after its bodies are found. */
static Outcome begin_halo(Cpu *cpu) {
  cpu->failed = -1;
  for_halo(cpu, target_task);
  for_halo(cpu, body_task);
  return cpu->failed < 0 ? stage_done() : stage_not_finite(cpu->failed);
}

static Outcome share_boxes(Cpu *cpu, Outcome own) {
  bool any;
  if (!cpu->domain || stage_failed(own)) return own;
  return cpu->domain->boxes(cpu->domain->self, cpu, true, &any);
}

static Outcome find_pairs(Cpu *cpu) {
  const Model *m = cpu->model;
  Work *w = &cpu->work;
  int added;
  soft_load(cpu, w->q);
  soft_load_start(cpu, w->q);
  for_known(cpu, m->body_count, body_task);
  Outcome outcome = share_boxes(cpu, stage_done());
  if (!stage_failed(outcome)) outcome = reach_pairs(cpu, false, &added);
  if (!stage_failed(outcome)) outcome = begin_halo(cpu);
  if (!stage_failed(outcome)) restart_near_contact(cpu);
  if (!stage_failed(outcome)) outcome = stage_from(soft_energies(cpu, w->q, true, w->soft_energy));
  if (!stage_failed(outcome)) outcome = stage_from(pairs_pack(&cpu->pairs));
  return stage_failed(outcome) ? outcome : begin_pairs(cpu);
}

/* ---- stiffness and friction ---- */

/* The largest excess of a chunk is sum[0], by body `item`. */
static void note_excess(const Work *w, const Pair *p, int body, int other, Partial *out) {
  double excess = predict_excess(w, body, other, p->soft ? 0 : p->approach);
  if (excess <= out->sum[0]) return;
  out->sum[0] = excess;
  out->item = body;
}

static void approach_pair(void *context, int k) {
  Cpu *cpu = context;
  Pair *p = pairs_at(&cpu->pairs, k);
  p->approach = pair_approach(p, &cpu->scene, cpu->work.q, cpu->work.target);
}

static void excess_chunk(void *context, int c) {
  Cpu *cpu = context;
  Chunk chunk = cpu->island_pairs.chunk[c];
  Partial *out = &cpu->partial[c];
  *out = (Partial){.item = -1};
  for (int e = chunk.first; e < chunk.end; e++) {
    const Pair *p = pairs_at(&cpu->pairs, cpu->island_pairs.item[e]);
    note_excess(&cpu->work, p, p->a, p->b, out);
    note_excess(&cpu->work, p, p->b, p->a, out);
  }
}

static bool find_approaches(Cpu *cpu) {
  Segments *items = &cpu->island_pairs;
  if (!reserve_partials(cpu, items->chunk_count)) return false;
  segments_for(items, cpu->threads, 16, approach_pair, excess_chunk, cpu);
  for (int c = 0; c < items->chunk_count; c++) {
    Island *g = &cpu->islands->island[items->chunk[c].segment];
    const Partial *p = &cpu->partial[c];
    if (p->sum[0] > g->excess) g->excess = p->sum[0], g->excess_body = p->item;
  }
  return true;
}

static void find_turns(Cpu *cpu) {
  for (int j = 0; j < cpu->model->joint_count; j++) {
    int body = -1;
    double excess = joint_excess(&cpu->work, j, false, &body);
    if (body < 0) continue;
    Island *g = &cpu->islands->island[cpu->islands->of[body]];
    if (excess > g->excess) g->excess = excess, g->excess_body = body;
  }
}

static void find_strained(Cpu *cpu) {
  const JointedFlight *f = &cpu->flight;
  for (int k = 0; k < f->count; k++) {
    Island *g = island_of_body(cpu->islands, f->block[k]);
    if (g && f->strained[f->mechanism[k]]) g->strained = true;
  }
}

static void force_task(Cpu *cpu, int k, Pair *p) {
  const Work *w = &cpu->work;
  pair_set_stiffness(p, &cpu->scene, w->h2, w->state);
  if (pair_rubs(p) && !pair_renew_friction(p, &cpu->scene, w->state, w->q.body, true)) p->failed = true;
  note_terms(cpu, k, p);
}

static void select_all(Islands *s) {
  for (int k = 0; k < s->count; k++) {
    s->island[k].selected = true;
    s->island[k].length = 0;
  }
}

/* Kinematic bodies are drawn to their targets as the heaviest body that they may push needs. */
static Outcome weigh_scripts(Cpu *cpu) {
  const Model *m = cpu->model;
  Work *w = &cpu->work;
  if (!script_weigh(w, cpu->islands)) return stage_from(false);
  for (int k = 0; k < m->kinematic_count; k++) {
    int i = m->kinematic[k];
    script_begin(w, i);
    if (!block_is_vertex(m, i)) w->energy[i] = body_energy(w, i, &w->q.body[i]);
  }
  return stage_done();
}

Outcome cpu_begin(void *backend, const State *state, Islands *islands, AbdStepReport *report) {
  Cpu *cpu = backend;
  const Model *m = cpu->model;
  Work *w = &cpu->work;
  double t0 = stage_clock(cpu);
  Outcome outcome = stage_done();
  cpu->islands = islands;
  cpu->report = report;
  w->state = state;
  predict_begin(w);
  if (cpu->domain) outcome = cpu->domain->begin(cpu->domain->self, cpu);
  if (stage_failed(outcome)) return outcome;
  cpu->scene = (ContactScene){m,
                              m->def.contact.range,
                              m->def.contact.separation,
                              m->def.contact.friction_speed * w->h,
                              cpu->path_length,
                              cpu->surface,
                              &cpu->pairs.store,
                              w->h,
                              0};
  if (cpu->broken_off) pairs_drop_cache(&cpu->pairs); /* lists may be incomplete */
  cpu->broken_off = true;
  cpu->looked = false;
  system_begin(&cpu->system);
  parallel_for(cpu->threads, m->joint_count, 16, refer_task, cpu);
  outcome = set_targets(cpu);
  if (stage_failed(outcome)) return outcome;
  parallel_for(cpu->threads, m->joint_count, 16, joint_task, cpu);
  parallel_for(cpu->threads, m->joint_count, 16, joint_energy_task, cpu);
  outcome = find_pairs(cpu);
  if (!stage_failed(outcome)) outcome = weigh_scripts(cpu);
  double t1 = stage_clock(cpu);
  report->seconds[ABD_STAGE_CANDIDATES] += t1 - t0;
  if (stage_failed(outcome)) return outcome;
  select_all(islands);
  if (cpu->accelerator) cpu->accelerator->begin(cpu->accelerator_self, cpu);
  outcome = trial_since(cpu, ABD_STAGE_DISTANCES, t1);
  if (!stage_failed(outcome)) outcome = fetch_contacts(cpu);
  if (stage_failed(outcome)) return outcome;
  bool found = find_approaches(cpu);
  find_turns(cpu);
  find_strained(cpu);
  outcome = share_islands(cpu, SHARE_EXCESS, stage_from(found));
  if (!stage_failed(outcome)) outcome = for_pairs(cpu, force_task);
  if (!stage_failed(outcome)) settle_store(w, &cpu->pairs, &cpu->scene);
  if (cpu->accelerator) cpu->accelerator->friction_changed(cpu->accelerator_self);
  return outcome;
}
