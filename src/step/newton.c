/* The step: targets, then Newton with retraction, continuous collision bound and line search until every island is done. */
#include "step/joint.h"

#include <string.h>

enum { MAX_TRIALS = 60, MAX_CUTS = 6 };
static const double nearly = 10; /* tolerances: islands that near their end go on as a whole */
static const double worthwhile =
    0.1; /* of what the slope promises, the least a step must gain; Newton's gains half of it */

static bool moves(const Step *s, int body) { return s->island[body] >= 0 && !s->dozes[body]; }
static Island *island_of(const Step *s, int body) { return &s->islands[s->island[body]]; }

/* The step of a body by itself: free ones bend. Linked ones bend with all of their island, where that is worth closing the
 * joints again. */
static Affine bent_step(const Step *s, int body, const Affine *straight) {
  const Body *b = &s->model->body[body];
  bool linked = linkage_of(&s->model->linkage, body) != NULL;
  if (linked && !island_of(s, body)->bends) return *straight;
  Affine d = body_retract(b, &s->q[body], *straight);
  return b->fixed && !linked ? freedom_project(b, d) : d;
}

static bool is_active(const Island *g) { return g->progress == ISLAND_ACTIVE; }

static bool any_joined(const Step *s) {
  for (int k = 0; k < s->island_count; k++)
    if (s->islands[k].joined) return true;
  return false;
}

static bool any_searching(const Step *s) {
  for (int k = 0; k < s->island_count; k++)
    if (s->islands[k].searching) return true;
  return false;
}

/* Linked bodies that turn by no more than this are stretched by less than elasticity notices: 5e-9. */
static const double small_turn = 1e-4;

static void judge_bends(Step *s) {
  const Linkage *l = &s->model->linkage;
  for (int k = 0; k < s->island_count; k++)
    if (s->islands[k].aiming) s->islands[k].bends = false;
  for (int k = 0; k < l->linked_count; k++) {
    int i = l->linked[k].body;
    Island *g = island_of(s, i);
    if (g->aiming && g->fraction * norm(body_turn(&s->q[i], &s->newton[i])) > small_turn) g->bends = true;
  }
}

static bool any_bends(const Step *s) {
  for (int k = 0; s->model->linkage.linked_count && k < s->island_count; k++)
    if (s->islands[k].aiming && s->islands[k].bends) return true;
  return false;
}

/* direction = bent step of fraction * newton for the islands still aiming, and its slope. The retraction bends the step by a
 * term quadratic in the fraction, so where the bent step is hardly downhill a shorter one is: halve until it is. */
static bool aim_once(Step *s, Backend *backend) {
  judge_bends(s);
  for (int j = 0; j < s->model->moving_count; j++) {
    int i = s->model->moving[j];
    const Island *g = island_of(s, i);
    if (!g->aiming || s->dozes[i]) continue;
    Affine zero = affine_sub(s->newton[i], s->newton[i]), straight = affine_add_scaled(zero, g->fraction, s->newton[i]);
    s->direction[i] = bent_step(s, i, &straight);
  }
  if (any_bends(s) && !backend->close(backend, s)) return false;
  for (int k = 0; k < s->island_count; k++)
    if (s->islands[k].aiming) s->islands[k].slope = s->islands[k].newton_slope = 0;
  for (int j = 0; j < s->model->moving_count; j++) {
    int i = s->model->moving[j];
    Island *g = island_of(s, i);
    if (!g->aiming || s->dozes[i]) continue;
    g->slope += affine_dot(&s->gradient[i], &s->direction[i]);
    g->newton_slope += affine_dot(&s->gradient[i], &s->newton[i]);
  }
  return true;
}

static bool aim(Step *s, Backend *backend) {
  for (int k = 0; k < s->island_count; k++) s->islands[k].aiming = s->islands[k].searching;
  for (bool any = true; any;) {
    if (!aim_once(s, backend)) return false;
    any = false;
    for (int k = 0; k < s->island_count; k++) {
      Island *g = &s->islands[k];
      if (!g->aiming) continue;
      bool uphill = g->slope > 0.3 * g->fraction * g->newton_slope;
      g->aiming = uphill && !g->last && g->fraction > 1e-12;
      if (g->aiming) g->fraction *= 0.5;
      any |= g->aiming;
    }
  }
  return true;
}

/* A damped step says nothing about what is left: small ones end the damping, not the island. */
static void judge_last(Island *g, double tolerance) {
  bool small = g->residual < tolerance;
  g->last = small && g->damping == 0;
  if (small) g->damping = 0;
}

/* How large the Newton step is: the last one of an island is below the tolerance. */
static void judge_residual(Step *s) {
  for (int k = 0; k < s->island_count; k++) {
    Island *g = &s->islands[k];
    if (!is_active(g)) continue;
    g->residual = 0;
    g->residual_body = -1;
    g->iterations++;
  }
  for (int i = 0; i < s->model->body_count; i++) {
    if (!moves(s, i) || !is_active(island_of(s, i))) continue;
    Island *g = island_of(s, i);
    double speed = s->speed[i] = body_speed(s, i, &s->newton[i]);
    if (!(speed <= g->residual)) {
      g->residual = speed;
      g->residual_body = i;
    }
  }
  for (int k = 0; k < s->island_count; k++)
    if (is_active(&s->islands[k])) judge_last(&s->islands[k], s->model->def.solver.tolerance);
}

/* The linked bodies' trial poses made anew from their unknowns: joints hold to rounding, however many steps are taken. */
static void snap_trial(Step *s) {
  const Linkage *l = &s->model->linkage;
  for (int k = 0; k < l->linked_count; k++)
    if (island_of(s, l->linked[k].body)->trying)
      linkage_read(&l->linked[k], &s->trial[l->linked[k].body], s->unknown + 12 * k);
  for (int k = 0; k < l->linked_count; k++)
    if (island_of(s, l->linked[k].body)->trying)
      s->trial[l->linked[k].body] = linkage_pose(l, &l->linked[k], s->unknown);
}

static void place_trial(Step *s) {
  for (int j = 0; j < s->model->moving_count; j++) {
    int i = s->model->moving[j];
    const Island *g = island_of(s, i);
    if (g->trying) s->trial[i] = affine_add_scaled(s->q[i], g->length, s->direction[i]);
  }
  snap_trial(s);
}

/* Tight contacts and large free motions share one step length: where the path of the free ones curves into a contact, only
 * short steps go down and nothing gets anywhere. Inertia added to the matrix shortens the free motions alone. */
static void adapt_damping(Island *g, double length) {
  if (length < 0.3) g->damping = most(8 * g->damping, 1), g->convex = CONVEX_ITERATIONS;
  else if (g->convex > 0) g->convex--;
  if (length > 0.5) g->damping = g->damping > 0.2 ? g->damping / 8 : 0;
}

static int joint_island(const Step *s, int joint) {
  int body = joint_body(s->model, joint);
  return body < 0 ? -1 : s->island[body];
}

static void accept(Step *s, Backend *backend, int k) {
  Island *g = &s->islands[k];
  backend->accept(backend, s, k);
  for (int j = g->first; j < g->first + g->body_count; j++) {
    int i = s->member[j];
    if (s->dozes[i]) continue;
    s->q[i] = s->trial[i];
    s->energy[i] = s->energy_trial[i];
  }
  if (g->jointed)
    for (int j = 0; j < s->model->joint_count; j++)
      if (joint_island(s, j) == k) joint_accept(s, j);
  g->searching = g->trying = false;
  double length = g->fraction * g->length;
  if (length < s->report->step_length) s->report->step_length = length;
  adapt_damping(g, length);
}

/* Aims, and cuts what would cross: a cut step is aimed anew, shorter, because half a bent step is not the bent half step.
 * After some cuts the straight part up to the bound is taken. False when memory is out. */
static bool clear_paths(Step *s, Backend *backend) {
  do {
    for (int k = 0; k < s->island_count; k++) s->islands[k].joined = false;
    if (!aim(s, backend)) return false;
    if (!backend->reach(backend, s)) return false;
  } while (any_joined(s));
  if (!backend->bound(backend, s)) return false;
  for (int k = 0; k < s->island_count; k++) {
    Island *g = &s->islands[k];
    if (!g->searching) continue;
    g->trying = g->bound >= 1 || g->cuts >= MAX_CUTS;
    g->length = g->bound;
    if (g->bound >= 1) continue;
    g->last = false;
    g->cuts++;
    if (!g->trying) g->fraction *= 0.9 * g->bound;
  }
  return true;
}

/* Shortens the step of each searching island until its energy falls by a share of what the slope promises, rounding allowed
 * for (a tiny share would let steps pass that overshoot by as much as they should go, and come back for ever); a last step only has to stay inside the barriers. */
static bool line_search(Step *s, Backend *backend) {
  for (int k = 0; k < s->island_count; k++) {
    Island *g = &s->islands[k];
    g->searching = is_active(g);
    g->fraction = 1;
    g->cuts = g->halvings = 0;
  }
  s->trial_stage = ABD_STAGE_DISTANCES;
  for (int trial = 0; trial < MAX_TRIALS && any_searching(s); trial++) {
    if (!clear_paths(s, backend)) return false;
    place_trial(s);
    if (!backend->trial(backend, s)) return false;
    for (int k = 0; k < s->island_count; k++) {
      Island *g = &s->islands[k];
      if (!g->trying) continue;
      bool fine = g->last ? g->change < INFINITY : g->change <= worthwhile * g->length * g->slope + g->noise;
      if (fine) {
        accept(s, backend, k);
      } else {
        g->trying = false;
        g->fraction *= 0.5;
        g->halvings++;
        s->report->line_search_steps++;
      }
    }
    s->trial_stage = ABD_STAGE_LINE_SEARCH;
  }
  return true;
}

/* Contacts and energies of the trying islands at the poses they have. */
static bool stay(Step *s, Backend *backend) {
  bool any = false;
  for (int k = 0; k < s->island_count; k++) {
    s->islands[k].length = 0;
    any |= s->islands[k].trying;
  }
  if (!any) return true;
  place_trial(s);
  if (!backend->trial(backend, s)) return false;
  for (int k = 0; k < s->island_count; k++) {
    if (s->islands[k].trying) backend->accept(backend, s, k);
    s->islands[k].trying = false;
  }
  return true;
}

/* Islands still searching found no lower energy: they stay where they are and say so. */
static bool give_up(Step *s, Backend *backend) {
  for (int k = 0; k < s->island_count; k++) {
    Island *g = &s->islands[k];
    if (!g->searching) continue;
    g->trying = true;
    g->searching = false;
    g->progress = ISLAND_STUCK;
    g->outcome = backend->raised ? ABD_STOPPED_BY_FACTORIZATION : ABD_STOPPED_BY_LINE_SEARCH;
  }
  return stay(s, backend);
}

/* A gap that is nearly closed and shrinks fast: each cut step leaves a tenth of it and a logarithm costs little, so a
 * barrier too soft for the load would let it shrink until only steps of its own size go down. Make it stiffer while there
 * is room. */
static void guard_gaps(Step *s, Backend *backend) {
  double small = 0.1 * s->model->def.contact.range;
  for (int k = 0; k < s->island_count; k++) {
    Island *g = &s->islands[k];
    bool halved = g->min_gap < 0.5 * g->gap_before;
    if (is_active(g) && halved && g->min_gap < small) backend->stiffen(backend, s, k, small);
    if (halved || g->min_gap > g->gap_before) g->gap_before = g->min_gap;
  }
}

/* Islands whose last step was whole are done, or go on with renewed friction and joints that are closed better; where some bodies
 * dozed, these are asked first. */
static bool conclude(Step *s, Backend *backend) {
  for (int k = 0; k < s->island_count; k++) {
    Island *g = &s->islands[k];
    bool ended = is_active(g) && g->last && g->fraction == 1, dozed = g->awake < g->body_count;
    g->whole = ended || g->jointed || g->soft || g->residual < nearly * s->model->def.solver.tolerance;
    if (!ended || dozed) continue;
    bool changed = false;
    g->lags++;
    if (g->lags < s->model->def.contact.friction_iterations && !backend->renew_friction(backend, s, k, &changed))
      return false;
    for (int j = 0; g->jointed && j < s->model->joint_count; j++)
      if (joint_island(s, j) == k) changed |= joint_renew(s, j);
    if (!changed) g->progress = ISLAND_DONE;
  }
  return true;
}

/* Free flight: islands without contact try to go straight to their targets. With rigid integration that is the solution
 * if nothing is touched on the way. */
static bool fly(Step *s, Backend *backend) {
  bool any = false;
  for (int k = 0; k < s->island_count; k++) {
    Island *g = &s->islands[k];
    g->progress = g->touching ? ISLAND_DONE : ISLAND_ACTIVE; /* those that touch wait */
    any |= !g->touching;
  }
  for (int j = 0; j < s->model->moving_count; j++) {
    int i = s->model->moving[j];
    const Island *g = island_of(s, i);
    s->direction[i] = affine_sub(g->touching ? s->q[i] : s->target[i], s->q[i]);
    if (g->jointed && !g->touching) s->direction[i] = body_turned(&s->model->body[i], &s->q[i], &s->direction[i]);
  }
  for (int k = 0; k < s->island_count; k++)
    s->islands[k].aiming = s->islands[k].bends = !s->islands[k].touching && s->islands[k].jointed;
  if (any_bends(s) && !backend->close(backend, s)) return false;
  if (any && !backend->reach(backend, s)) return false;
  for (int k = 0; k < s->island_count; k++) {
    Island *g = &s->islands[k];
    g->searching = is_active(g) && !g->touching;
    g->bound = 0;
  }
  if (any && !backend->bound(backend, s)) return false;
  for (int k = 0; k < s->island_count; k++) {
    Island *g = &s->islands[k];
    g->trying = g->searching && g->bound >= 1;
    g->fraction = g->length = 1;
  }
  place_trial(s);
  if (any && !backend->trial(backend, s)) return false;
  for (int k = 0; k < s->island_count; k++) {
    Island *g = &s->islands[k];
    bool flew = g->trying && g->change <= 0;
    if (flew) accept(s, backend, k);
    bool rigid = s->model->def.integrator == ABD_INTEGRATOR_RIGID && !g->jointed;
    g->progress = flew && !g->touching && rigid ? ISLAND_DONE : ISLAND_ACTIVE;
    g->searching = false;
  }
  return stay(s, backend);
}

static bool any_active(const Step *s) {
  for (int k = 0; k < s->island_count; k++)
    if (is_active(&s->islands[k])) return true;
  return false;
}

static bool iterate(Step *s, Backend *backend) {
  backend->doze(backend, s);
  if (!backend->direction(backend, s)) return false;
  judge_residual(s);
  if (!line_search(s, backend) || !give_up(s, backend)) return false;
  guard_gaps(s, backend);
  return conclude(s, backend);
}

/* The body that moved most in the last Newton step, and the one that holds it up; or else the pair that cut the step. */
static void blame(const Model *m, const Island *g, AbdBodyId culprit[2]) {
  int a = model_whole(m, g->residual_body), b = -1;
  if (g->limit[0] >= 0 && a != g->limit[0] && a != g->limit[1]) a = g->limit[0];
  if (g->limit[0] >= 0) b = a == g->limit[0] ? g->limit[1] : g->limit[0];
  culprit[0].id = (uint32_t)(a + 1);
  culprit[1].id = (uint32_t)(b + 1);
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
    AbdOutcome outcome = g->progress == ISLAND_DONE    ? ABD_CONVERGED
                         : g->progress == ISLAND_STUCK ? g->outcome
                                                       : ABD_STOPPED_AT_MAX_ITERATIONS;
    if (outcome == ABD_CONVERGED || r->outcome != ABD_CONVERGED) continue;
    r->outcome = outcome;
    blame(s->model, g, r->culprit);
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
      r->culprit[0].id = (uint32_t)model_whole(s->model, i) + 1;
    }
  }
}

static void report_joints(Step *s) {
  AbdStepReport *r = s->report;
  for (int j = 0; j < s->model->joint_count; j++) {
    double gap = joint_gap(s, j, s->q);
    r->energy[ABD_TERM_JOINT] += s->joint[j].energy / s->h2;
    if (!(gap > r->joint_residual)) continue;
    r->joint_residual = gap;
    r->worst_joint.id = (uint32_t)j + 1;
  }
  if (r->joint_residual <= s->model->joint_tolerance || r->outcome != ABD_CONVERGED) return;
  r->outcome = ABD_JOINT_OPEN;
  r->culprit[0].id = (uint32_t)joint_body(s->model, (int)r->worst_joint.id - 1) + 1;
}

/* NaN never spreads: a force or a speed beyond what numbers hold ends the step before it begins. */
static bool targets_finite(const Step *s, Backend *backend) {
  for (int i = 0; i < s->model->body_count; i++)
    for (int k = 0; k < 4; k++) {
      double far = norm_sq(s->target[i].n[k]);
      if (far < 1e200) continue;
      backend->numeric = true;
      backend->blame.id = (uint32_t)model_whole(s->model, i) + 1;
      return false;
    }
  return true;
}

bool step_run(Step *s, Backend *backend, const State *state, State *after, AbdStepReport *report) {
  const Model *m = s->model;
  s->state = state;
  s->report = report;
  s->trial_stage = ABD_STAGE_DISTANCES;
  report->step_length = 1;
  memcpy(s->q, state->q, (size_t)m->body_count * sizeof(Affine));
  memset(s->dozes, 0, (size_t)m->body_count * sizeof(bool));
  predict_targets(s);
  if (!targets_finite(s, backend)) return false;
  joints_begin(s);
  if (!backend->begin(backend, s) || !fly(s, backend)) return false;
  for (int i = 0; any_active(s) && i < m->def.solver.max_iterations; i++)
    if (!iterate(s, backend)) return false;
  report_islands(s);
  report_targets(s);
  report_joints(s);
  predict_finish(s, after);
  joints_finish(s, after);
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
  s->speed = mem_zeroed(n, sizeof(double));
  s->dozes = mem_zeroed(n, sizeof(bool));
  s->inertia = mem_zeroed(n, sizeof(double));
  for (size_t i = 0; s->inertia && i < n; i++) s->inertia[i] = 1;
  s->joint = mem_zeroed((size_t)model->joint_count, sizeof(JointTerm));
  s->soft_energy = mem_zeroed((size_t)model->soft_count, sizeof(double));
  s->soft_energy_trial = mem_zeroed((size_t)model->soft_count, sizeof(double));
  s->unknown = mem_zeroed((size_t)model->linkage.linked_count * 12, sizeof(double));
  return s->speed && s->dozes && s->soft_energy && s->soft_energy_trial && s->inertia && s->joint && s->unknown &&
         s->energy && s->energy_trial && s->island && s->islands && s->member;
}

void step_destroy(Step *s) {
  void *array[] = {s->q,      s->trial,        s->target, s->gradient, s->newton,      s->direction,
                   s->energy, s->energy_trial, s->island, s->islands,  s->member,      s->speed,
                   s->dozes,  s->inertia,      s->joint,  s->unknown,  s->soft_energy, s->soft_energy_trial};
  for (int k = 0; k < ARRAY_COUNT(array); k++) mem_free(array[k]);
  memset(s, 0, sizeof *s);
}
