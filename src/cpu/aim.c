/* Directions: Newton's steps retracted to rotations, or flights to the targets; joints closed at their end; slopes. */
#include "cpu/cpu.h"

#include "kernel/constant.h"

/* The rotation vector of Newton's step; a vertex does not turn. */
static Vec3 block_turn(const Work *w, int i) {
  return block_is_vertex(w->model, i) ? vec3(0, 0, 0) : body_turn(&w->q.body[i], &w->newton.body[i]);
}

/* Linked bodies are retracted with all of their island, if the turn makes it worth closing the joints again. */
static void judge_retraction(Cpu *cpu) {
  const Linkage *l = &cpu->model->linkage;
  const Work *w = &cpu->work;
  Islands *s = cpu->islands;
  for (int e = 0; e < s->listed_count; e++)
    if (island_listed(s, e)->selected) island_listed(s, e)->retracts = false;
  for (int k = 0; k < l->linked_count; k++) {
    int i = l->linked[k].body;
    Island *g = &s->island[s->of[i]];
    if (!g->selected || g->retracts) continue;
    g->retracts = g->fraction * norm(block_turn(w, i)) > TURN_SMALL;
  }
}

/* Gradient times direction, and times Newton's step. */
static void find_slopes(const Work *w, int i, double slope[2]) {
  slope[0] = node_dot(w->model, w->gradient, w->direction, i);
  slope[1] = node_dot(w->model, w->gradient, w->newton, i);
}

/* The direction of a body from a straight step. */
static void retract(Cpu *cpu, int i, Affine step) {
  Work *w = &cpu->work;
  const Model *m = cpu->model;
  bool linked = linkage_of(&m->linkage, i) != NULL;
  if (!linked || cpu->islands->island[cpu->islands->of[i]].retracts) step = body_retract(w, i, &w->q.body[i], step);
  w->direction.body[i] = m->body[i].fixed && !linked ? freedom_project(&m->body[i], step) : step;
}

static void retract_task(Cpu *cpu, int i) {
  Work *w = &cpu->work;
  const Model *m = cpu->model;
  const Island *g = &cpu->islands->island[cpu->islands->of[i]];
  if (!is_own(cpu, i)) return; /* its direction is copied */
  if (!w->active[i]) {
    Affine q = node_pose(m, w->q, i);
    node_put(m, w->direction, i, affine_sub(q, q));
    return;
  }
  if (block_is_vertex(m, i)) {
    Vec3 step = w->newton.vertex[i - m->body_count];
    w->direction.vertex[i - m->body_count] = add_scaled(sub(step, step), g->fraction, step);
    return;
  }
  const Affine *newton = &w->newton.body[i];
  Affine zero = affine_sub(*newton, *newton);
  retract(cpu, i, affine_add_scaled(zero, g->fraction, *newton));
  find_slopes(w, i, cpu->body_part[i]);
}

static void retract_and_look(Cpu *cpu, int i) {
  retract_task(cpu, i);
  look_task(cpu, i);
}

/* Are directions final when they are retracted? Joints are closed later, and a process gets some from others. */
static bool looks_at_once(const Cpu *cpu) {
  const Model *m = cpu->model;
  return model_is_free(m) && !m->joint_count && !cpu->domain;
}

/* The same with the solution of bend_solve. */
static void bend_task(Cpu *cpu, int i) {
  Work *w = &cpu->work;
  const Model *m = cpu->model;
  const Island *g = &cpu->islands->island[cpu->islands->of[i]];
  if (!g->bends || !w->active[i]) return;
  Affine step = system_solution(&cpu->system, i);
  if (!block_is_vertex(m, i)) retract(cpu, i, affine_add_scaled(step, g->fraction, w->newton.body[i]));
  else w->direction.vertex[i - m->body_count] = add(w->direction.vertex[i - m->body_count], step.n[0]);
}

static void flight_task(Cpu *cpu, int i) {
  Work *w = &cpu->work;
  const Model *m = cpu->model;
  Affine q = node_pose(m, w->q, i), d = affine_sub(node_pose(m, w->target, i), q);
  if (!predict_flies(w, i) && cpu->islands->island[cpu->islands->of[i]].jointed) d = body_turned(m, i, &q, &d);
  node_put(m, w->direction, i, d);
}

static bool any_retracts(const Cpu *cpu) {
  const Islands *s = cpu->islands;
  for (int e = 0; cpu->model->linkage.linked_count && e < s->listed_count; e++)
    if (island_listed(s, e)->selected && island_listed(s, e)->retracts) return true;
  return false;
}

static void slope_chunk(void *context, int c) {
  Cpu *cpu = context;
  const Work *w = &cpu->work;
  Chunk chunk = cpu->islands->member.chunk[c];
  Partial *sum = &cpu->partial[c];
  *sum = (Partial){0};
  if (!cpu->islands->island[chunk.segment].selected) return;
  for (int e = chunk.first; e < chunk.end; e++) {
    int i = cpu->islands->member.item[e];
    if (!w->active[i]) continue;
    double part[2];
    if (block_is_vertex(w->model, i)) find_slopes(w, i, part);
    sum->sum[0] += block_is_vertex(w->model, i) ? part[0] : cpu->body_part[i][0];
    sum->sum[1] += block_is_vertex(w->model, i) ? part[1] : cpu->body_part[i][1];
  }
}

static void slope_task(void *context, int i) {
  Cpu *cpu = context;
  if (!block_is_vertex(cpu->model, i)) find_slopes(&cpu->work, i, cpu->body_part[i]);
}

static void add_slopes(Cpu *cpu) {
  Islands *s = cpu->islands;
  for (int e = 0; e < s->listed_count; e++)
    if (island_listed(s, e)->selected) island_listed(s, e)->slope = island_listed(s, e)->newton_slope = 0;
  for (int e = 0; e < s->member.listed_count; e++) {
    int c = s->member.listed[e];
    Island *g = &s->island[s->member.chunk[c].segment];
    if (!g->selected) continue;
    g->slope += cpu->partial[c].sum[0];
    g->newton_slope += cpu->partial[c].sum[1];
  }
}

/* Closes linear joints at the end of the directions. changed: the directions are newer than their slopes. */
static Outcome close_and_sum(Cpu *cpu, bool changed) {
  if (any_retracts(cpu)) {
    Outcome outcome = close_joints(cpu);
    if (stage_failed(outcome)) return outcome;
    changed = true;
  }
  if (changed) segments_for(&cpu->islands->member, cpu->threads, 512, slope_task, slope_chunk, cpu);
  add_slopes(cpu);
  return stage_done();
}

static Outcome aim_along_newton(Cpu *cpu) {
  if (!reserve_partials(cpu, cpu->islands->member.chunk_count)) return stage_from(false);
  judge_retraction(cpu);
  bool looks = looks_at_once(cpu);
  if (looks && !cpu->looked) look_begin(cpu);
  for_bodies(cpu, looks ? retract_and_look : retract_task, slope_chunk);
  cpu->looked = looks;
  bool bent = false;
  Outcome outcome = close_and_sum(cpu, false);
  if (!stage_failed(outcome)) outcome = bend_solve(cpu, &bent);
  if (stage_failed(outcome) || !bent) return outcome;
  for_bodies(cpu, bend_task, NULL);
  return close_and_sum(cpu, true);
}

static Outcome aim_at_targets(Cpu *cpu) {
  Islands *s = cpu->islands;
  for (int k = 0; k < s->count; k++) s->island[k].retracts = s->island[k].jointed && cpu->flight.count == 0;
  for_bodies(cpu, flight_task, NULL);
  return any_retracts(cpu) ? close_joints(cpu) : stage_done();
}

Outcome cpu_aim(void *backend, Islands *islands, Aim aim) {
  Cpu *cpu = backend;
  (void)islands;
  if (aim == AIM_FLIGHT) return aim_at_targets(cpu);
  Outcome outcome = share_islands(cpu, SHARE_SLOPE, aim_along_newton(cpu));
  if (cpu->domain && !stage_failed(outcome)) cpu->domain->halo_directions(cpu->domain->self, cpu);
  return outcome;
}
