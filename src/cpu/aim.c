/* Directions: Newton's steps retracted to rotations, or flights to the targets; linear joints closed at their end; slopes. */
#include "cpu/cpu.h"

#include "kernel/constant.h"

/* Linked bodies are retracted with all of their island, if the turn makes it worth closing the joints again. */
static void judge_retraction(Cpu *cpu) {
  const Linkage *l = &cpu->model->linkage;
  const Work *w = &cpu->work;
  Islands *s = cpu->islands;
  for (int k = 0; k < s->count; k++)
    if (s->island[k].selected) s->island[k].retracts = false;
  for (int k = 0; k < l->linked_count; k++) {
    int i = l->linked[k].body;
    Island *g = &s->island[s->of[i]];
    if (!g->selected || g->retracts) continue;
    g->retracts = g->fraction * norm(body_turn(&w->q[i], &w->newton[i])) > TURN_SMALL;
  }
}

static void retract_task(Cpu *cpu, int i) {
  Work *w = &cpu->work;
  const Body *b = &cpu->model->body[i];
  const Island *g = &cpu->islands->island[cpu->islands->of[i]];
  bool linked = linkage_of(&cpu->model->linkage, i) != NULL;
  if (!w->active[i]) return;
  Affine zero = affine_sub(w->newton[i], w->newton[i]), d = affine_add_scaled(zero, g->fraction, w->newton[i]);
  if (!linked || g->retracts) d = body_retract(b, &w->q[i], d);
  w->direction[i] = b->fixed && !linked ? freedom_project(b, d) : d;
}

static void flight_task(Cpu *cpu, int i) {
  Work *w = &cpu->work;
  w->direction[i] = affine_sub(w->target[i], w->q[i]);
  if (cpu->islands->island[cpu->islands->of[i]].jointed)
    w->direction[i] = body_turned(&cpu->model->body[i], &w->q[i], &w->direction[i]);
}

static bool any_retracts(const Cpu *cpu) {
  for (int k = 0; cpu->model->linkage.linked_count && k < cpu->islands->count; k++)
    if (cpu->islands->island[k].selected && cpu->islands->island[k].retracts) return true;
  return false;
}

static void slope_task(void *context, int c) {
  Cpu *cpu = context;
  const Work *w = &cpu->work;
  Chunk chunk = cpu->islands->member.chunk[c];
  Partial *sum = &cpu->partial[c];
  *sum = (Partial){0};
  if (!cpu->islands->island[chunk.segment].selected) return;
  for (int e = chunk.first; e < chunk.end; e++) {
    int i = cpu->islands->member.item[e];
    if (!w->active[i]) continue;
    sum->sum[0] += affine_dot(&w->gradient[i], &w->direction[i]);
    sum->sum[1] += affine_dot(&w->gradient[i], &w->newton[i]);
  }
}

static bool sum_slopes(Cpu *cpu) {
  Islands *s = cpu->islands;
  if (!reserve_partials(cpu, s->member.chunk_count)) return false;
  parallel_for(cpu->threads, s->member.chunk_count, segments_grain(&s->member), slope_task, cpu);
  for (int k = 0; k < s->count; k++)
    if (s->island[k].selected) s->island[k].slope = s->island[k].newton_slope = 0;
  for (int c = 0; c < s->member.chunk_count; c++) {
    Island *g = &s->island[s->member.chunk[c].segment];
    if (!g->selected) continue;
    g->slope += cpu->partial[c].sum[0];
    g->newton_slope += cpu->partial[c].sum[1];
  }
  return true;
}

Outcome cpu_aim(void *backend, Islands *islands, Aim aim) {
  Cpu *cpu = backend;
  if (aim == AIM_NEWTON) {
    judge_retraction(cpu);
    for_bodies(cpu, retract_task);
  } else {
    for (int k = 0; k < islands->count; k++) islands->island[k].retracts = islands->island[k].jointed;
    for_bodies(cpu, flight_task);
  }
  if (any_retracts(cpu)) {
    Outcome outcome = close_joints(cpu);
    if (stage_failed(outcome)) return outcome;
  }
  return stage_from(aim == AIM_FLIGHT || sum_slopes(cpu));
}
