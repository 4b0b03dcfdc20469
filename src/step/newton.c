/* The step: targets, then Newton with retraction, continuous collision bound and line search until every island is done. */
#include "step/step.h"

#include <string.h>

enum { MAX_HALVINGS = 40 };

static bool moves(const Step *s, int body) { return s->island[body] >= 0; }
static Island *island_of(const Step *s, int body) { return &s->islands[s->island[body]]; }

/* From Newton's straight step dA to one that lands on rotations: with dA = [w] A + rest, A -> exp([w]) (A + rest). The
 * path to it is still a straight line in q. */
static Affine retract(const Body *b, const Affine *q, Affine d) {
  if (b->motion != ABD_MOTION_DYNAMIC || b->freedom.rotations == 3) return d;
  Mat3 a = affine_linear(q), da = affine_linear(&d);
  Vec3 w = mat3_axial(mat3_mul(da, mat3_transpose(a)));
  Mat3 rest = mat3_sub(mat3_add(a, da), mat3_mul(mat3_skew(w), a));
  Affine r = affine(d.n[0], mat3_sub(mat3_mul(mat3_exp(w), rest), a));
  return b->fixed ? freedom_project(b, r) : r;
}

static double body_slope(const Step *s, int body, const Affine *d) { return affine_dot(&s->gradient[body], d); }

/* direction = retracted `fraction` of Newton's step, or the straight one where the retracted one is hardly downhill. */
static void set_direction(Step *s, bool (*wanted)(const Island *)) {
  const Model *m = s->model;
  for (int k = 0; k < s->island_count; k++)
    if (wanted(&s->islands[k])) s->islands[k].slope = s->islands[k].newton_slope = 0;
  for (int i = 0; i < m->body_count; i++) {
    if (!moves(s, i) || !wanted(island_of(s, i))) continue;
    Island *g = island_of(s, i);
    Affine zero = affine_sub(s->newton[i], s->newton[i]), part = affine_add_scaled(zero, g->length, s->newton[i]);
    s->direction[i] = retract(&m->body[i], &s->q[i], part);
    g->slope += body_slope(s, i, &s->direction[i]);
    g->newton_slope += body_slope(s, i, &part);
  }
  for (int k = 0; k < s->island_count; k++) {
    Island *g = &s->islands[k];
    if (wanted(g)) g->retracted = g->slope <= 0.3 * g->newton_slope;
  }
  for (int i = 0; i < m->body_count; i++) {
    if (!moves(s, i) || !wanted(island_of(s, i)) || island_of(s, i)->retracted) continue;
    Island *g = island_of(s, i);
    Affine zero = affine_sub(s->newton[i], s->newton[i]);
    s->direction[i] = affine_add_scaled(zero, g->length, s->newton[i]);
    g->slope = g->newton_slope;
  }
}

static bool is_active(const Island *g) { return g->progress == ISLAND_ACTIVE; }
static bool is_cut(const Island *g) { return g->progress == ISLAND_ACTIVE && g->retracted && g->length < 0.9; }

/* How large the Newton step is: the last one of an island is below the tolerance. */
static void judge_residual(Step *s) {
  for (int k = 0; k < s->island_count; k++) {
    Island *g = &s->islands[k];
    if (!is_active(g)) continue;
    g->length = 1;
    g->residual = 0;
    g->residual_body = -1;
    g->iterations++;
  }
  for (int i = 0; i < s->model->body_count; i++) {
    if (!moves(s, i) || !is_active(island_of(s, i))) continue;
    Island *g = island_of(s, i);
    double speed = body_speed(s, i, &s->newton[i]);
    if (!(speed <= g->residual)) {
      g->residual = speed;
      g->residual_body = i;
    }
  }
  for (int k = 0; k < s->island_count; k++)
    if (is_active(&s->islands[k])) s->islands[k].last = s->islands[k].residual < s->model->def.solver.tolerance;
}

/* Step lengths that cross nothing. A direction that was cut short is retracted anew for the part that is left, since its
 * correction is quadratic in the length. */
static bool bound_steps(Step *s, Backend *backend) {
  if (!backend->reach(backend, s)) return false;
  for (int k = 0; k < s->island_count; k++) s->islands[k].searching = is_active(&s->islands[k]);
  if (!backend->bound(backend, s)) return false;
  bool any = false;
  for (int k = 0; k < s->island_count; k++) {
    Island *g = &s->islands[k];
    if (!is_active(g)) continue;
    g->length = g->bound;
    if (g->bound < 1) g->last = false;
    g->searching = is_cut(g);
    g->joined = false;
    any |= g->searching;
  }
  if (!any) return true;
  set_direction(s, is_cut);
  if (!backend->reach(backend, s)) return false;
  for (int k = 0; k < s->island_count; k++) s->islands[k].searching |= s->islands[k].joined;
  if (!backend->bound(backend, s)) return false;
  for (int k = 0; k < s->island_count; k++)
    if (s->islands[k].searching) s->islands[k].length = s->islands[k].bound;
  return true;
}

static void place_trial(Step *s) {
  for (int i = 0; i < s->model->body_count; i++)
    if (moves(s, i) && island_of(s, i)->searching)
      s->trial[i] = affine_add_scaled(s->q[i], island_of(s, i)->length, s->direction[i]);
}

static void accept(Step *s, Backend *backend, int k) {
  const Island *g = &s->islands[k];
  for (int j = g->first; j < g->first + g->body_count; j++) {
    int i = s->member[j];
    s->q[i] = s->trial[i];
    s->energy[i] = s->energy_trial[i];
  }
  backend->accept(backend, s, k);
  s->islands[k].searching = false;
  s->islands[k].rough = g->length < 0.3 * g->bound;
  AbdStepReport *r = s->report;
  if (s->islands[k].length < r->step_length) r->step_length = s->islands[k].length;
}

/* Halves the step of each searching island until its energy falls by 1e-4 of what the slope promises, rounding allowed
 * for; a last step only has to stay inside the barriers. */
static bool line_search(Step *s, Backend *backend) {
  for (int k = 0; k < s->island_count; k++) s->islands[k].searching = is_active(&s->islands[k]);
  for (int halving = 0; halving <= MAX_HALVINGS; halving++) {
    bool left = false;
    place_trial(s);
    if (!backend->trial(backend, s)) return false;
    for (int k = 0; k < s->island_count; k++) {
      Island *g = &s->islands[k];
      if (!g->searching) continue;
      bool fine = g->last ? g->change < INFINITY : g->change <= 1e-4 * g->length * g->slope + g->noise;
      if (fine) {
        accept(s, backend, k);
      } else {
        g->length *= 0.5;
        s->report->line_search_steps++;
        left = true;
      }
    }
    if (!left) return true;
  }
  return true;
}

/* Islands still searching found no lower energy: their poses stay, their contacts are made anew for these. */
static bool give_up(Step *s, Backend *backend) {
  bool any = false;
  for (int k = 0; k < s->island_count; k++) {
    Island *g = &s->islands[k];
    if (!g->searching) continue;
    g->length = 0;
    any = true;
  }
  if (!any) return true;
  place_trial(s);
  if (!backend->trial(backend, s)) return false;
  for (int k = 0; k < s->island_count; k++)
    if (s->islands[k].searching) {
      backend->accept(backend, s, k);
      s->islands[k].searching = false;
      s->islands[k].progress = ISLAND_STUCK;
      s->islands[k].outcome = ABD_STOPPED_BY_LINE_SEARCH;
    }
  return true;
}

/* A gap that is nearly closed and still shrinks: each cut step leaves a tenth of it and a logarithm costs little, so a
 * barrier too soft for the load would let it shrink into rounding. Make it stiffer while there is room. */
static void guard_gaps(Step *s, Backend *backend) {
  for (int k = 0; k < s->island_count; k++) {
    Island *g = &s->islands[k];
    double small = 0.1 * s->model->def.contact.range;
    if (is_active(g) && g->min_gap < small && g->min_gap < 0.5 * g->gap_before) backend->stiffen(backend, s, k, small);
    g->gap_before = g->min_gap;
  }
}

/* Islands whose last step was whole are done, or go on with renewed friction. */
static bool conclude(Step *s, Backend *backend) {
  for (int k = 0; k < s->island_count; k++) {
    Island *g = &s->islands[k];
    if (!is_active(g) || !g->last || g->length < 1) continue;
    bool changed = false;
    g->lags++;
    if (g->lags < s->model->def.contact.friction_iterations && !backend->renew_friction(backend, s, k, &changed)) return false;
    if (!changed) g->progress = ISLAND_DONE;
  }
  return true;
}

/* Free flight: islands without contact try to go straight to their targets. */
static bool fly(Step *s, Backend *backend) {
  bool any = false;
  for (int k = 0; k < s->island_count; k++) {
    Island *g = &s->islands[k];
    g->searching = !g->touching;
    g->progress = g->touching ? ISLAND_DONE : ISLAND_ACTIVE; /* those that touch wait */
    any |= !g->touching;
  }
  if (any) {
    for (int i = 0; i < s->model->body_count; i++)
      if (moves(s, i)) s->direction[i] = island_of(s, i)->touching ? affine_sub(s->q[i], s->q[i]) : affine_sub(s->target[i], s->q[i]);
    if (!backend->reach(backend, s)) return false;
    for (int k = 0; k < s->island_count; k++) s->islands[k].searching = is_active(&s->islands[k]) && !s->islands[k].touching;
    if (!backend->bound(backend, s)) return false;
    for (int k = 0; k < s->island_count; k++) {
      Island *g = &s->islands[k];
      g->searching = is_active(g) && !g->touching && g->bound >= 1;
      g->length = 1;
    }
    place_trial(s);
    if (!backend->trial(backend, s)) return false;
  }
  for (int k = 0; k < s->island_count; k++) {
    Island *g = &s->islands[k];
    bool flew = g->searching && g->change <= 0;
    if (flew) accept(s, backend, k);
    bool free_end = flew && !g->touching && s->model->def.integrator == ABD_INTEGRATOR_RIGID;
    g->progress = free_end ? ISLAND_DONE : ISLAND_ACTIVE;
    if (g->searching && !flew) { /* back to the start */
      g->length = 0;
      any = true;
    } else {
      g->searching = false;
    }
  }
  place_trial(s);
  if (any && !backend->trial(backend, s)) return false;
  for (int k = 0; k < s->island_count; k++)
    if (s->islands[k].searching) {
      backend->accept(backend, s, k);
      s->islands[k].searching = false;
    }
  return true;
}

static bool any_active(const Step *s) {
  for (int k = 0; k < s->island_count; k++)
    if (is_active(&s->islands[k])) return true;
  return false;
}

static bool iterate(Step *s, Backend *backend) {
  if (!backend->direction(backend, s)) return false;
  judge_residual(s);
  set_direction(s, is_active);
  if (!bound_steps(s, backend) || !line_search(s, backend) || !give_up(s, backend)) return false;
  guard_gaps(s, backend);
  return conclude(s, backend);
}

/* The worst island speaks for the step. */
static void report_islands(Step *s) {
  AbdStepReport *r = s->report;
  r->islands = s->island_count;
  for (int k = 0; k < s->island_count; k++) {
    const Island *g = &s->islands[k];
    if (g->iterations > r->iterations) r->iterations = g->iterations;
    if (g->lags > r->friction_iterations) r->friction_iterations = g->lags;
    if (g->residual > r->residual) r->residual = g->residual;
    AbdOutcome outcome = g->progress == ISLAND_DONE ? ABD_CONVERGED : g->progress == ISLAND_STUCK ? g->outcome : ABD_STOPPED_AT_MAX_ITERATIONS;
    if (outcome == ABD_CONVERGED || r->outcome != ABD_CONVERGED) continue;
    r->outcome = outcome;
    if (g->residual_body >= 0) r->culprit[0].id = (uint32_t)g->residual_body + 1;
  }
}

static void report_targets(Step *s) {
  AbdStepReport *r = s->report;
  for (int i = 0; i < s->model->body_count; i++) {
    if (s->model->body[i].motion != ABD_MOTION_KINEMATIC) continue;
    Affine d = affine_sub(s->q[i], s->target[i]);
    double off = body_speed(s, i, &d) * s->h;
    if (off <= r->target_error) continue;
    r->target_error = off;
    if (off > 0.1 * s->model->def.contact.range && r->outcome == ABD_CONVERGED) {
      r->outcome = ABD_KINEMATIC_BLOCKED;
      r->culprit[0].id = (uint32_t)i + 1;
    }
  }
}

/* NaN never spreads: a force or a speed beyond what numbers hold ends the step before it begins. */
static bool targets_finite(const Step *s, Backend *backend) {
  for (int i = 0; i < s->model->body_count; i++)
    for (int k = 0; k < 4; k++) {
      double far = norm_sq(s->target[i].n[k]);
      if (far < 1e200) continue;
      backend->numeric = true;
      backend->blame.id = (uint32_t)i + 1;
      return false;
    }
  return true;
}

bool step_run(Step *s, Backend *backend, const State *state, State *after, AbdStepReport *report) {
  const Model *m = s->model;
  s->state = state;
  s->report = report;
  report->step_length = 1;
  memcpy(s->q, state->q, (size_t)m->body_count * sizeof(Affine));
  predict_targets(s);
  if (!targets_finite(s, backend) || !backend->begin(backend, s) || !fly(s, backend)) return false;
  for (int i = 0; any_active(s) && i < m->def.solver.max_iterations; i++)
    if (!iterate(s, backend)) return false;
  report_islands(s);
  report_targets(s);
  predict_finish(s, after);
  after->step = state->step + 1;
  return backend->finish(backend, s, after);
}

bool step_init(Step *s, const Model *model) {
  size_t n = (size_t)model->body_count;
  memset(s, 0, sizeof *s);
  s->model = model;
  Affine **array[] = {&s->q, &s->trial, &s->target, &s->gradient, &s->newton, &s->direction};
  for (int k = 0; k < ARRAY_COUNT(array); k++)
    if (!(*array[k] = mem_zeroed(n, sizeof(Affine)))) return false;
  s->energy = mem_zeroed(n, sizeof(double));
  s->energy_trial = mem_zeroed(n, sizeof(double));
  s->island = mem_zeroed(n, sizeof(int));
  s->islands = mem_zeroed(n, sizeof(Island));
  s->member = mem_zeroed(n, sizeof(int));
  return s->energy && s->energy_trial && s->island && s->islands && s->member;
}

void step_destroy(Step *s) {
  void *array[] = {s->q, s->trial, s->target, s->gradient, s->newton, s->direction, s->energy, s->energy_trial, s->island, s->islands, s->member};
  for (int k = 0; k < ARRAY_COUNT(array); k++) mem_free(array[k]);
  memset(s, 0, sizeof *s);
}
