/* Sub-steps, see step/substep.h. */
#include "step/substep.h"

#include <string.h>

#include "kernel/constant.h"
#include "kernel/rigid.h"
#include "step/report.h"

#define WHOLE (1 << SUBSTEP_LEVELS) /* times within a step are counted in the shortest sub-steps */

typedef struct Course {
  Step *step;
  Backend backend;
  State *state, *next;
  Substeps *substeps;
  AbdStepReport *report;
  int level, time;
  int wait, easy; /* easy sub-steps before the next longer one; those since the last */
  bool longer;    /* the next sub-step is the first of its length */
  int failures;   /* shortest sub-steps that did not converge; after some the rest of the step is not split */
} Course;

/* ---- kinematic bodies ---- */

/* The pose `at`, moved by a part of the way between two poses. */
static Affine pose_further(const Affine *at, const Affine *from, const Affine *to, double part) {
  Mat3 turn = mat3_mul(affine_linear(to), mat3_transpose(affine_linear(from)));
  Vec3 p = add_scaled(at->n[0], part, sub(to->n[0], from->n[0]));
  return affine(p, mat3_mul(mat3_exp(scale(part, mat3_log(turn))), affine_linear(at)));
}

/* [m] How far a kinematic block is from a pose, at most. */
static double lag_of(const Model *m, int block, const Affine *q, const Affine *pose) {
  double off = norm(sub(q->n[0], pose->n[0]));
  if (block_is_vertex(m, block)) return off;
  Mat3 turned = mat3_sub(affine_linear(q), affine_linear(pose));
  return off + m->mesh[m->body[block].mesh].radius * sqrt(mat3_dot(turned, turned));
}

static bool is_blocked(const Model *m, double lag) { return lag > KINEMATIC_BLOCKED * m->def.contact.range; }

/* Where a sub-step that ends at `end` leads kinematic block k. One that contact holds back goes on from where it is: if
 * its distance from the path added up over the sub-steps, its pull would be a spring that throws back what hits it. The
 * next step starts with the whole distance. */
static Affine target_at(const Course *c, int k, int end) {
  const Model *m = c->step->model;
  const State *start = &c->substeps->start;
  int block = m->kinematic[k];
  Affine from = node_pose(m, start->q, block), now = node_pose(m, c->state->q, block);
  Affine due = pose_further(&from, &from, &start->target[k], (double)c->time / WHOLE);
  if (c->time > 0 && is_blocked(m, lag_of(m, block, &now, &due))) {
    now = affine(now.n[0], mat3_polar(affine_linear(&now)));
    return pose_further(&now, &from, &start->target[k], (double)(end - c->time) / WHOLE);
  }
  return end == WHOLE ? start->target[k] : pose_further(&from, &from, &start->target[k], (double)end / WHOLE);
}

static void set_targets(Course *c, int end) {
  const Model *m = c->step->model;
  const State *start = &c->substeps->start;
  if (m->kinematic_count) memcpy(c->state->has_target, start->has_target, (size_t)m->kinematic_count);
  for (int k = 0; k < m->kinematic_count; k++)
    if (start->has_target[k]) c->state->target[k] = target_at(c, k, end);
}

/* How far they are from their own targets after the last sub-step. */
static void report_lags(const Course *c) {
  const Model *m = c->step->model;
  const State *start = &c->substeps->start;
  for (int k = 0; c->substeps->split && k < m->kinematic_count; k++) {
    Affine end = node_pose(m, c->next->q, m->kinematic[k]);
    double lag = start->has_target[k] ? lag_of(m, m->kinematic[k], &end, &start->target[k]) : 0;
    if (is_blocked(m, lag)) c->report->target_error = most(c->report->target_error, lag);
  }
}

/* ---- tries ---- */

static bool splits(const AbdSolverDef *solver) {
  return solver->substeps == ABD_SUBSTEPS_AUTO && solver->max_iterations > SUBSTEP_ITERATIONS;
}

static bool may_shorten(const Course *c) { return splits(&c->step->model->def.solver) && c->level < SUBSTEP_LEVELS; }

static bool gives_up(const Course *c) { return c->failures >= SUBSTEP_FAILURES; }

static bool may_split(const Course *c) { return may_shorten(c) && !gives_up(c); }

/* One try of one sub-step. The report says whether it ended and was written to `next`. */
static Outcome try_substep(Course *c, AbdStepReport *report) {
  const Model *m = c->step->model;
  int length = WHOLE >> c->level, limit = splits(&m->def.solver) ? SUBSTEP_ITERATIONS : m->def.solver.max_iterations;
  *report = (AbdStepReport){0};
  c->state->duration = m->def.dt * length / WHOLE;
  if (c->substeps->split) set_targets(c, c->time + length);
  state_next_copy(c->next, c->state, m);
  return step_run(c->step, c->backend, c->state, c->next, limit, !may_split(c), report);
}

static bool is_hard(const AbdStepReport *r) {
  return r->outcome != ABD_CONVERGED && r->outcome != ABD_KINEMATIC_BLOCKED;
}

/* Enough easy sub-steps have passed, and one twice as long would not move too far at velocities like the last ones. */
static bool may_lengthen(const Course *c) { return c->easy >= c->wait && 2 * c->step->ahead <= 1; }

/* The next sub-step is twice as long if it ends at a multiple of its length. */
static void lengthen(Course *c) {
  c->longer = c->time % (WHOLE >> (c->level - 1)) == 0;
  if (!c->longer) return;
  c->level--;
  c->easy = 0;
}

/* A longer sub-step that is given up would be tried again after two short ones. So each time twice as many of these are
 * awaited, until a longer one ends. */
static void note_longer(Course *c, AbdOutcome outcome) {
  bool ended = outcome == ABD_CONVERGED || outcome == ABD_KINEMATIC_BLOCKED;
  if (c->longer && ended) c->wait = 1;
  else if (c->longer && outcome != ABD_MOVED_TOO_FAR && c->wait < SUBSTEP_WAIT) c->wait *= 2;
  c->longer = false;
}

static Outcome advance(Course *c, const AbdStepReport *part) {
  const Substeps *s = c->substeps;
  int64_t step = c->state->step;
  double length = (double)(WHOLE >> c->level) / WHOLE;
  bool kept = true;
  c->time += WHOLE >> c->level;
  if (c->time < WHOLE) {
    state_advance(c->state, c->next, c->step->model);
    kept = !s->taken || s->taken(s->taken_context, length);
  }
  c->substeps->last = length;
  c->state->step = step;
  c->report->substeps++;
  c->failures += is_hard(part);
  note_longer(c, part->outcome);
  c->easy = part->iterations <= SUBSTEP_EASY ? c->easy + 1 : 0;
  if (c->level > 0 && (may_lengthen(c) || gives_up(c))) lengthen(c);
  return stage_from(kept);
}

static Outcome split(Course *c) {
  c->substeps->split = state_copy(&c->substeps->start, c->state, c->step->model);
  return stage_from(c->substeps->split);
}

/* The level of the next try. */
static void shorten(Course *c, const AbdStepReport *part) {
  note_longer(c, part->outcome);
  c->easy = 0;
  c->level++;
  if (part->outcome != ABD_MOVED_TOO_FAR) return;
  for (double rest = 0.5 * c->step->excess; rest > 1 && c->level < SUBSTEP_LEVELS; rest *= 0.5) c->level++;
}

static Outcome take_all(Course *c) {
  while (c->time < WHOLE) {
    AbdStepReport part;
    Outcome outcome = c->level > 0 && !c->substeps->split ? split(c) : stage_done();
    if (!stage_failed(outcome)) outcome = try_substep(c, &part);
    bool lost = outcome.kind == STAGE_NOT_FINITE && may_shorten(c); /* there are no poses to go on from */
    if (lost) {
      part.outcome = ABD_STOPPED_BY_FACTORIZATION;
      part.culprit[0].id = (uint32_t)outcome.body + 1;
      outcome = stage_done();
    }
    if (stage_failed(outcome)) return outcome;
    bool again = lost || (is_hard(&part) && may_split(c));
    report_add(c->report, &part, again);
    if (again) shorten(c, &part);
    else outcome = advance(c, &part);
    if (stage_failed(outcome)) return outcome;
  }
  report_lags(c);
  return stage_done();
}

Outcome substeps_run(Step *step, Backend backend, State *state, State *next, Substeps *substeps,
                     AbdStepReport *report) {
  Course c = {.step = step,
              .backend = backend,
              .state = state,
              .next = next,
              .substeps = substeps,
              .report = report,
              .wait = 1};
  substeps->split = false;
  if (may_split(&c)) c.level = state->level;
  Outcome outcome = take_all(&c);
  if (stage_failed(outcome)) substeps_undo(substeps, state);
  substeps->level = c.level;
  return outcome;
}

void substeps_undo(Substeps *substeps, State *state) {
  if (substeps->split) {
    State last = *state;
    *state = substeps->start;
    substeps->start = last;
  }
  substeps->split = false;
}

void substeps_finish(Substeps *substeps, State *state, State *next, const Model *model) {
  state_advance(state, next, model);
  state->level = substeps->level;
  state->duration = model->def.dt;
  substeps->split = false;
}
