/* Newton's control: retracted steps, cut by continuous collision detection, searched for lower energy, until every
 * island is done. Tested in tests/test_outcome.c and tests/test_world.c. */
#include "step/step.h"

#include <string.h>

#include "kernel/constant.h"
#include "step/joint.h"

typedef bool Choice(const Island *);
#define TRY(call)                                                                                                      \
  do {                                                                                                                 \
    Outcome outcome_ = (call);                                                                                         \
    if (stage_failed(outcome_)) return outcome_;                                                                       \
  } while (0)

static bool is_active(const Island *g) { return g->progress == ISLAND_ACTIVE; }
static bool is_searching(const Island *g) { return g->searching; }
static bool is_selected(const Island *g) { return g->selected; }
static bool is_joined(const Island *g) { return g->joined; }
static bool is_flying(const Island *g) { return is_active(g) && !g->touching && !g->strained; }

/* Writes a flag only if it changes. All cores read the islands, and an unwritten cache line stays in their caches. */
static bool put(bool *flag, bool value) {
  if (*flag != value) *flag = value;
  return value;
}

/* Whether it is true in any process. */
static bool in_any(const Step *s, bool here) {
  const Together *together = s->backend.stages->together;
  return together ? together->any(s->backend.self, here) : here;
}

static bool any(const Step *s, Choice *choice) {
  bool found = false;
  for (int e = 0; e < s->islands.listed_count && !found; e++) found = choice(island_listed(&s->islands, e));
  return in_any(s, found);
}

/* Selects islands for the next stage; false if there are none here. */
static bool select_islands(Step *s, Choice *choice) {
  bool found = false;
  for (int e = 0; e < s->islands.listed_count; e++) {
    Island *g = island_listed(&s->islands, e);
    found |= put(&g->selected, choice(g));
  }
  return found;
}

static void clear_joined(Step *s) {
  for (int e = 0; e < s->islands.listed_count; e++) put(&island_listed(&s->islands, e)->joined, false);
}

/* A damped step says nothing about the error: a small one ends the damping, not the island. Nor does the island end as
 * long as its loads follow. */
static void judge_last(Island *g, double tolerance) {
  bool small = g->residual < tolerance;
  g->last = small && g->damping == 0 && (g->settled || !g->follows);
  if (small) g->damping = 0;
}

/* The matrix has no term for contacts that turn under load, and for joints not always. If they make the energy more
 * than twice as stiff as the matrix, a whole step overshoots by more than it should move, and below the rounding error
 * of the energy the line search does not notice. Then the slopes at both ends of the last step give the part that ends
 * at the minimum (a secant).
 *
 * The terms that are left out may also be negative, and then the matrix is too stiff: whole steps gain nearly all that
 * their slope promises, and the next is more than half as long. A parabola through the last one gives the longer step
 * that would have ended at its minimum. While loads of friction follow, there is no energy to fit a parabola to; a step
 * that would reverse pulls of joints has another matrix than the last one; an exact matrix lacks nothing.
 *
 * A light body between heavy ones may get a step of many turns. No body has to turn so far, and its path would take
 * minutes to test. */
static void choose_scale(Island *g) {
  double stiffer = g->unseen && g->slope < 0 ? 1 - g->end_slope / (g->length * g->slope) : 1;
  bool slow = g->residual > SCALE_SLOW * g->residual_before && g->damping == 0;
  bool longer = g->longer >= SCALE_LONGER && slow && !g->follows && !g->reverses && !g->exact;
  g->scale = 1;
  if (g->last) return;
  if (stiffer > 1) g->scale = most(g->moved / stiffer, SCALE_LEAST);
  else if (longer) g->scale = least(g->longer, SCALE_MOST);
  if (g->scale * g->turn > NEWTON_TURN) g->scale = NEWTON_TURN / g->turn;
}

/* The loads of friction follow the normal forces from the second iteration on, until they hardly change. With fixed
 * loads the step has an energy, whose minimum Newton's method finds. Loads that do not settle are averaged. The forces
 * that a damped step leads to balance its damping too, so they count less. */
static void order_loads(Step *s) {
  for (int e = 0; e < s->islands.listed_count; e++) {
    Island *g = island_listed(&s->islands, e);
    bool loaded = g->touching || g->disagreed > 0; /* loads of contacts that have opened disagree */
    bool follows = s->model->has_friction && is_active(g) && g->iterations > 0 && !g->settled && loaded;
    if (!put(&g->follows, follows)) continue;
    g->followed++;
    if (g->followed == 1) g->relaxation = 1;
    g->weight = g->relaxation * least(1, (double)LOAD_MEAN / g->followed) / (1 + g->damping);
  }
}

/* Friction changes the normal forces. If a load lowers its normal force by more than it grew, a load that moves all the
 * way swings farther each time. Aitken's relaxation: after a whole step, the distance of the loads from their aims is
 * `ratio` times what it was, so weight / (1 - ratio) would have made it zero. Loads move all of the way at most: many
 * loads have other ratios. Loads that creep (a body that jams needs a load hundreds of times as large, and each one
 * asks for a little more) move farther, see point_move_load. */
static void relax_loads(Island *g) {
  bool whole = g->moved == g->scale && g->cuts == 0 && g->damping == 0 && g->load_square > 0;
  bool known = whole && g->followed > 1;
  double ratio = known ? g->load_product / g->load_square : 1;
  g->creeping = known && ratio > LOAD_CREEPS ? g->creeping + 1 : 0;
  double farthest = g->creeping >= LOAD_CREEPING ? LOAD_FARTHEST : 1;
  g->relaxation = ratio < 1 ? least(g->weight_before / (1 - ratio), farthest) : farthest;
  g->weight_before = g->weight;
}

static void judge_loads(Step *s) {
  for (int e = 0; e < s->islands.listed_count; e++) {
    Island *g = island_listed(&s->islands, e);
    if (!g->follows) continue;
    relax_loads(g);
    bool still = g->damping == 0 && g->load_change <= LOAD_SETTLED;
    if (still || g->followed >= LOAD_ITERATIONS) g->settled = true;
  }
}

/* A damped step is short because of its damping. */
static void note_smallest(Island *g) { g->smallest = least(g->smallest, (1 + g->damping) * g->residual); }

static void judge_residuals(Step *s) {
  for (int e = 0; e < s->islands.listed_count; e++) {
    Island *g = island_listed(&s->islands, e);
    if (!is_active(g)) continue;
    g->iterations++;
    note_smallest(g);
    judge_last(g, s->model->def.solver.tolerance);
    choose_scale(g);
  }
}

/* Retraction bends the step by a term quadratic in the fraction, and so do corrections for joints and contacts. The
 * fraction is halved while the bent step is hardly downhill, or thousands of times steeper than Newton's. */
static Outcome aim(Step *s, Backend b) {
  select_islands(s, is_searching);
  for (bool again = true; again;) {
    TRY(b.stages->aim(b.self, &s->islands, AIM_NEWTON));
    again = false;
    for (int e = 0; e < s->islands.listed_count; e++) {
      Island *g = island_listed(&s->islands, e);
      if (!g->selected) continue;
      double straight = g->fraction * g->newton_slope;
      bool bent = g->slope > STEP_DOWNHILL * straight || g->slope < STEP_STEEP * straight;
      g->selected = bent && !g->last && g->fraction > STEP_LEAST;
      if (g->selected) g->fraction *= 0.5;
      again |= g->selected;
    }
    again = in_any(s, again);
  }
  return stage_done();
}

/* Tight contacts and large free motions share one step length. If the path of the free ones curves into a contact, only
 * short steps lower the energy and the island stalls. Inertia added to the matrix shortens the free motions alone.
 *
 * Elements in compression have directions of negative stiffness. As a rule bending, inertia and tension elsewhere
 * outweigh them. Projecting them away makes Newton's steps short and many, so it is done only after the matrix was
 * not positive definite or a step had to be short, and for CONVEX_ITERATIONS.
 *
 * The stiffness of tension in distances and ropes is one part of the second derivative. If the other parts, which may
 * be negative, are not in the matrix, it helps some islands and hinders others. An island whose step had to be short
 * though nothing was in its way tries the other choice. */
static void adapt_damping(Island *g, double length) {
  if (length < DAMPING_BELOW) {
    g->damping = most(DAMPING_STEP * g->damping, DAMPING_FIRST);
    g->convex = CONVEX_ITERATIONS;
    g->uneven = g->cuts == 0;
    if (g->cuts == 0) g->taut = !g->taut;
  } else if (g->convex > 0) g->convex--;
  if (length > DAMPING_END) g->damping = g->damping > DAMPING_LEAST ? g->damping / DAMPING_STEP : 0;
}

/* Aims, and cuts steps that would cross. A cut step is aimed anew, shorter, because half a retracted step is not the
 * retracted half step. After STEP_CUTS cuts the straight part up to the bound is taken. Selects the islands with a
 * clear path. */
static Outcome clear_paths(Step *s, Backend b) {
  do {
    TRY(stage_poll(s->model));
    clear_joined(s);
    TRY(aim(s, b));
    select_islands(s, is_searching);
    TRY(b.stages->bound(b.self, &s->islands));
  } while (any(s, is_joined));
  for (int e = 0; e < s->islands.listed_count; e++) {
    Island *g = island_listed(&s->islands, e);
    if (!g->searching) continue;
    g->selected = g->bound >= 1 || g->cuts >= STEP_CUTS;
    g->length = g->bound;
    if (g->bound >= 1) continue;
    g->last = false;
    g->cuts++;
    if (!g->selected) g->fraction *= STEP_CUT * g->bound;
  }
  return stage_done();
}

/* A step must gain a share of what the slope promises, less the rounding error. (A tiny share would accept steps that
 * overshoot by as much as they should move, and return for ever.) A last step only has to stay inside the barriers. */
static bool accepts(const Island *g) {
  bool gains = g->last || g->change <= STEP_GAIN * g->length * g->slope + g->noise;
  return gains && g->change < INFINITY; /* an infinite energy has an infinite rounding error */
}

/* Of the tried islands: selects those that accept, shortens the steps of the others. */
static void judge_trials(Step *s) {
  for (int e = 0; e < s->islands.listed_count; e++) {
    Island *g = island_listed(&s->islands, e);
    if (!g->selected) continue;
    g->selected = accepts(g);
    if (g->selected) continue;
    g->fraction *= STEP_HALVING;
    if (!g->counted_elsewhere) s->report->line_search_steps++;
  }
}

/* Steps that nothing cut, shortened or damped. Newton's own counts also if a longer one was tried first and refused. */
static void note_steady(Island *g, double length) {
  bool whole = g->active_count >= g->body_count && length >= least(g->scale, 1);
  g->steady = whole && g->damping == 0 && g->cuts == 0 ? g->steady + 1 : 0;
}

/* The length at which the parabola with the slope and the gain of a whole step is lowest. */
static double lowest_length(const Island *g, double length) {
  bool whole = length == g->scale && g->damping == 0 && g->cuts == 0;
  if (!whole || g->exact || g->slope >= 0 || -g->change <= g->noise) return 1;
  double left = 1 - g->change / (g->length * g->slope); /* of what the slope promised */
  return left > 0 ? length / (2 * left) : INFINITY;
}

static void note_accepted(Step *s) {
  for (int e = 0; e < s->islands.listed_count; e++) {
    Island *g = island_listed(&s->islands, e);
    if (!g->selected) continue;
    double length = g->fraction * g->length;
    g->searching = false;
    if (length < s->report->step_length) s->report->step_length = length;
    note_steady(g, length);
    g->longer = lowest_length(g, length);
    adapt_damping(g, length / least(g->scale, 1));
    g->moved = length;
    put(&g->unseen, g->change > STEP_GAIN * g->length * g->slope);
  }
}

/* *searching: some islands found no lower energy. At the start all active islands search. */
static Outcome line_search(Step *s, Backend b, bool *searching) {
  for (int e = 0; e < s->islands.listed_count; e++) {
    Island *g = island_listed(&s->islands, e);
    put(&g->searching, is_active(g));
    double first = is_active(g) ? g->scale : 1;
    if (g->fraction != first) g->fraction = first;
    put(&g->unseen, false);
    if (g->cuts) g->cuts = 0;
  }
  AbdStage stage = ABD_STAGE_DISTANCES;
  *searching = true;
  for (int trial = 0; trial < STEP_TRIALS && *searching; trial++, stage = ABD_STAGE_LINE_SEARCH) {
    TRY(clear_paths(s, b));
    if (!any(s, is_selected)) continue;
    TRY(b.stages->trial(b.self, &s->islands, stage));
    judge_trials(s);
    if (!any(s, is_selected)) continue;
    TRY(b.stages->accept(b.self, &s->islands));
    note_accepted(s);
    *searching = any(s, is_searching);
  }
  return stage_done();
}

/* Contacts and energies of the selected islands at the poses they have. */
static Outcome stay(Step *s, Backend b) {
  if (!any(s, is_selected)) return stage_done();
  for (int e = 0; e < s->islands.listed_count; e++) island_listed(&s->islands, e)->length = 0;
  TRY(b.stages->trial(b.self, &s->islands, ABD_STAGE_LINE_SEARCH));
  return b.stages->accept(b.self, &s->islands);
}

/* Islands that still search found no lower energy: they keep their poses and report it. */
static Outcome give_up(Step *s, Backend b) {
  for (int e = 0; e < s->islands.listed_count; e++) {
    Island *g = island_listed(&s->islands, e);
    put(&g->selected, g->searching);
    if (!g->searching) continue;
    g->searching = false;
    g->progress = ISLAND_STUCK;
    g->outcome = s->raised ? ABD_STOPPED_BY_FACTORIZATION : ABD_STOPPED_BY_LINE_SEARCH;
  }
  return stay(s, b);
}

/* Whether the smallest gap was halved since it was noted; notes it if so or if it has grown. */
static bool note_gap(Island *g) {
  bool halved = g->min_gap < GUARD_SHRINK * g->gap_before;
  if (halved || g->min_gap > g->gap_before) g->gap_before = g->min_gap;
  return halved;
}

/* A cut step leaves a tenth of a gap, and a logarithm costs little, so a barrier too soft for its load lets the gap
 * shrink until only steps of its own size lower the energy. A gap that is nearly closed and was halved gets a
 * stiffer barrier. */
static bool wants_stiffening(Island *g, double range) {
  bool halved = note_gap(g);
  return is_active(g) && halved && g->min_gap < BARRIER_TIGHT * range;
}

/* Newton's step is as small as the error if the energy is as stiff as the matrix; then it gains half of what the slope
 * promises. A barrier that opens is softer than its curvature, and gains more: a body that leaves the ground at some
 * metres per second may begin with a step below the tolerance. */
static bool is_stiff_enough(const Island *g) { return g->change >= LAST_GAIN * g->slope - g->noise; }

/* [m/s] The sum of all further Newton steps. If the matrix is stiffer than the energy they are a geometric series,
 * whose ratio is that of the last two. INFINITY if the ratio is unknown. */
static double sum_of_rest(const Island *g) {
  double ratio = g->plain ? g->residual / g->residual_before : 1;
  return ratio < 1 ? g->residual * ratio / (1 - ratio) : INFINITY;
}

/* The gap to a stop that is tight and opens doubles with each step, and steps of other bodies hide that. */
static bool is_tight(const Step *s, const Island *g) {
  const Work *w = s->backend.stages->view(s->backend.self);
  for (int j = 0; w->model && j < s->model->joint_count; j++)
    if (island_of_joint(&s->islands, j) == g && joint_is_tight(w, j)) return true;
  return false;
}

/* An island ends with a whole last step of all of its bodies. */
static bool ends(const Step *s, const Island *g) {
  bool whole = is_active(g) && g->last && g->fraction == 1 && g->active_count >= g->body_count;
  if (!whole || is_stiff_enough(g)) return whole;
  return sum_of_rest(g) < s->model->def.solver.tolerance && !is_tight(s, g);
}

/* Loads that disagree with the normal forces follow them again. */
static void follow_again(Island *g) {
  g->settled = false;
  g->followed = 0;
  if (g->disagreed++ == 0) g->disagreed_at = g->iterations;
}

/* Steps of a new energy are not compared with those of the one before. */
static void forget_steps(Island *g) {
  g->steady = 0;
  g->longer = 1;
}

static void forget_smallest(Island *g) {
  g->smallest = g->smallest_before = INFINITY;
  forget_steps(g);
}

/* Loads are compared until they have disagreed so often that no further solve is allowed. */
static bool compares(const Island *g, const Model *m) {
  return g->renew && m->has_friction && g->disagreed + 1 < m->def.contact.friction_iterations;
}

/* Islands that end get renewed joints; they are done if that changes nothing and the loads of friction agree. */
static Outcome conclude(Step *s, Backend b) {
  const AbdWorldDef *def = &s->model->def;
  bool work = false;
  for (int e = 0; e < s->islands.listed_count; e++) {
    Island *g = island_listed(&s->islands, e);
    bool last = is_active(g) && g->last && g->fraction == 1;
    bool again = g->lags > 0 && !g->settled; /* loads of bodies that do not take part would not follow */
    put(&g->whole, last || again || g->jointed || g->soft || g->residual < DOZE_ABOVE * def->solver.tolerance);
    put(&g->stiffen, wants_stiffening(g, def->contact.range));
    put(&g->renew, ends(s, g));
    put(&g->changed, false);
    put(&g->disagrees, false);
    if (g->renew) g->lags++;
    put(&g->compare, compares(g, s->model));
    work |= put(&g->selected, g->stiffen || g->compare || (g->renew && g->jointed));
  }
  if (in_any(s, work)) TRY(b.stages->adjust(b.self, &s->islands));
  for (int e = 0; e < s->islands.listed_count; e++) {
    Island *g = island_listed(&s->islands, e);
    if (g->stiffen) forget_steps(g);
    if (!g->renew) continue;
    if (g->changed) forget_smallest(g);
    if (g->changed && g->disagreed > 0) g->disagreed_at = g->iterations; /* the joints take these iterations */
    if (g->disagrees) follow_again(g);
    else if (!g->changed) g->progress = ISLAND_DONE;
  }
  return stage_done();
}

/* Islands that touch something wait: a merge with a flying one makes them active again. */
static void let_fly(Step *s) {
  for (int k = 0; k < s->islands.count; k++) {
    Island *g = &s->islands.island[k];
    g->progress = g->touching ? ISLAND_DONE : ISLAND_ACTIVE;
    g->fraction = g->length = 1;
    forget_smallest(g);
  }
}

/* Joints act on flights. A body with one held rotation flies to a pose that is no rotation: the step is solved. */
static void mark_acted_on(Step *s, const State *state) {
  for (int j = 0; j < s->model->joint_count; j++) {
    int body = joint_body(s->model, j), island = body < 0 ? -1 : s->islands.of[body];
    if (island >= 0 && joint_acts_on_flight(s->model, state, j)) s->islands.island[island].acted_on = true;
  }
  for (int i = 0; i < s->model->body_count; i++)
    if (s->islands.of[i] >= 0 && s->model->body[i].freedom.rotations == 1)
      s->islands.island[s->islands.of[i]].acted_on = true;
}

/* Selects the islands that landed on their targets; the others that tried go back. */
static void judge_flights(Step *s, const State *state) {
  bool rigid = s->model->def.integrator == ABD_INTEGRATOR_RIGID;
  islands_list_all(&s->islands);
  mark_acted_on(s, state);
  for (int e = 0; e < s->islands.listed_count; e++) {
    Island *g = island_listed(&s->islands, e);
    bool flew = g->selected && g->change <= 0;
    g->progress = flew && !g->touching && rigid && !g->soft && !g->acted_on ? ISLAND_DONE : ISLAND_ACTIVE;
    g->searching = g->selected && !flew;
    g->selected = flew;
  }
}

static void clear_selected(Step *s) {
  for (int e = 0; e < s->islands.listed_count; e++) {
    Island *g = island_listed(&s->islands, e);
    g->selected = g->selected && g->bound >= 1;
  }
}

/* Free flight: islands without contact try to move straight to their targets. With rigid integration that is the
 * solution if nothing is touched on the way. */
static Outcome fly(Step *s, Backend b, const State *state) {
  let_fly(s);
  if (in_any(s, select_islands(s, is_flying))) {
    TRY(b.stages->aim(b.self, &s->islands, AIM_FLIGHT));
    do {
      clear_joined(s);
      select_islands(s, is_flying);
      TRY(b.stages->bound(b.self, &s->islands));
    } while (any(s, is_joined));
    clear_selected(s);
    if (any(s, is_selected)) TRY(b.stages->trial(b.self, &s->islands, ABD_STAGE_DISTANCES));
  }
  judge_flights(s, state);
  if (any(s, is_selected)) {
    TRY(b.stages->accept(b.self, &s->islands));
    note_accepted(s);
  }
  select_islands(s, is_searching);
  for (int e = 0; e < s->islands.listed_count; e++) island_listed(&s->islands, e)->searching = false;
  return stay(s, b);
}

/* What an iteration leaves in islands that take no part in it. */
static void rest(Island *g, bool first) {
  put(&g->selected, false);
  put(&g->searching, false);
  put(&g->unseen, false);
  put(&g->stiffen, false);
  put(&g->follows, false);
  put(&g->compare, false);
  put(&g->renew, false);
  if (g->fraction != 1) g->fraction = 1;
  if (g->cuts) g->cuts = 0;
  if (!first) note_gap(g);
}

/* Records the last iteration before the next one. */
static void note_last(Island *g) {
  g->residual_before = g->residual;
  put(&g->plain, g->steady > 0 && g->moved == 1 && !g->extrapolates);
}

/* Lists and selects the active islands. Only islands that were listed may have ended since the last iteration. */
static void list_active(Step *s, bool first) {
  for (int e = 0; e < s->islands.listed_count; e++) {
    Island *g = island_listed(&s->islands, e);
    if (is_active(g)) note_last(g);
    else rest(g, first);
  }
  islands_keep_active(&s->islands);
  select_islands(s, is_active);
}

static Outcome iterate(Step *s, Backend b, bool first) {
  bool searching;
  list_active(s, first);
  TRY(stage_poll(s->model));
  order_loads(s);
  TRY(b.stages->newton(b.self, &s->islands, &s->raised));
  judge_loads(s);
  judge_residuals(s);
  TRY(line_search(s, b, &searching));
  if (searching) TRY(give_up(s, b));
  return conclude(s, b);
}

/* An island whose Newton steps get no smaller for a while takes many more, if it ends at all: contacts open and close
 * in turn, or its loads do not settle. The halves of such a step take fewer iterations, and their loads agree. Near its
 * end it takes a few more. */
static bool stalls(Island *g, double tolerance) {
  int more = g->residual < STALL_NEAR * tolerance ? STALL_WINDOW : 0;
  if (g->disagreed > 0) return g->iterations - g->disagreed_at >= STALL_AGAIN + more;
  if (g->iterations % STALL_WINDOW) return false;
  bool stalled = g->smallest > STALL_PROGRESS * g->smallest_before;
  g->smallest_before = least(g->smallest, g->smallest_before);
  g->smallest = INFINITY;
  return stalled;
}

static bool any_stalls(Step *s) {
  bool found = false;
  for (int e = 0; e < s->islands.listed_count; e++) {
    Island *g = island_listed(&s->islands, e);
    if (is_active(g) && g->iterations > 0) found |= stalls(g, s->model->def.solver.tolerance);
  }
  return in_any(s, found);
}

/* Iterates until all islands have ended, up to the limit. *stalled: the step is given up, unless it is final. */
static Outcome iterate_all(Step *s, Backend b, int limit, bool final, bool *stalled) {
  *stalled = false;
  for (int i = 0; any(s, is_active) && i < limit && !*stalled; i++) {
    TRY(iterate(s, b, i == 0));
    *stalled = !final && any_stalls(s);
  }
  return stage_done();
}

/* The body with the largest Newton step, and the one that holds it up; or else the pair that cut the step. */
static void blame(const Model *m, const Island *g, AbdBodyId culprit[2]) {
  int a = model_whole(m, g->residual_body), b = -1;
  if (g->limit[0] >= 0 && a != g->limit[0] && a != g->limit[1]) a = g->limit[0];
  if (g->limit[0] >= 0) b = a == g->limit[0] ? g->limit[1] : g->limit[0];
  culprit[0].id = (uint32_t)(a + 1);
  culprit[1].id = (uint32_t)(b + 1);
}

static AbdOutcome outcome_of(const Island *g) {
  if (g->progress == ISLAND_DONE) return ABD_CONVERGED;
  return g->progress == ISLAND_STUCK ? g->outcome : ABD_STOPPED_AT_MAX_ITERATIONS;
}

/* The worst island decides the step's outcome. */
static void report_islands(Step *s) {
  AbdStepReport *r = s->report;
  for (int k = 0; k < s->islands.count; k++) {
    const Island *g = &s->islands.island[k];
    r->islands += !g->counted_elsewhere;
    if (g->iterations > r->iterations) r->iterations = g->iterations;
    if (g->lags > r->friction_iterations) r->friction_iterations = g->lags;
    if (g->residual > r->residual) r->residual = g->residual;
    AbdOutcome outcome = outcome_of(g);
    if (outcome == ABD_CONVERGED || r->outcome != ABD_CONVERGED) continue;
    r->outcome = outcome;
    blame(s->model, g, r->culprit);
  }
}

/* Whether the excess of any process is too large. */
static bool exceeds(Step *s) {
  const Together *together = s->backend.stages->together;
  if (together) together->most(s->backend.self, &s->excess, &s->excess_body);
  return s->excess > 1;
}

static void report_excess(Step *s) {
  s->report->outcome = ABD_MOVED_TOO_FAR;
  s->report->culprit[0].id = (uint32_t)s->excess_body + 1;
}

static void note_excess(Step *s, double excess, int body) {
  if (excess <= s->excess) return;
  s->excess = excess;
  s->excess_body = body;
}

static bool moves_too_far(Step *s) {
  s->excess = 0;
  for (int k = 0; k < s->islands.count; k++)
    note_excess(s, s->islands.island[k].excess, s->islands.island[k].excess_body);
  return exceeds(s);
}

/* The energy of a step may be lowest where a light body was driven out from between heavy ones, because stopping these
 * costs more. Such a body jumped; in sub-steps it is held. A light link that the solve has turned around fulfils the
 * equation of the next turn of its screw. */
static bool drives_too_far(Step *s) {
  const Work *w = s->backend.stages->view(s->backend.self);
  s->excess = 0;
  for (int j = 0; w->model && j < s->model->moving_count; j++) { /* some backends of tests have no bodies */
    int body = s->model->moving[j];
    const Island *g = island_of_body(&s->islands, body);
    bool own = !s->islands.link || s->islands.link->own[body];
    if (own && g && g->touching) note_excess(s, predict_driven(w, body), body);
  }
  for (int j = 0; w->model && j < s->model->joint_count; j++) {
    int body = -1;
    double excess = joint_excess(w, j, true, &body);
    note_excess(s, excess, body);
  }
  return exceeds(s);
}

/* Contacts push along the normals at the end of the step. A body that is led over an edge is then pushed across its
 * motion, which adds energy, and the balance of energy undoes the push: the body would fly on as if nothing had been
 * there. Static bodies add no energy to one that meets them alone if the step is short enough. */
static bool gains_by_contact(Step *s) {
  const Work *w = s->backend.stages->view(s->backend.self);
  const Model *m = s->model;
  s->excess = 0;
  bool looks = w->model && !model_has_drift(m);
  for (int j = 0; j < m->moving_count && looks; j++) {
    int body = m->moving[j];
    const Island *g = island_of_body(&s->islands, body);
    bool alone = g && g->touching && g->body_count == 1 && !g->jointed && !g->shared && body < m->body_count;
    if (alone && m->body[body].motion == ABD_MOTION_DYNAMIC && predict_pushed(w, body)) note_excess(s, 2, body);
  }
  return exceeds(s);
}

Outcome step_run(Step *s, Backend b, const State *state, State *after, int limit, bool final, AbdStepReport *report) {
  s->report = report;
  s->backend = b;
  report->step_length = 1;
  TRY(stage_poll(s->model));
  TRY(b.stages->begin(b.self, state, &s->islands, report));
  islands_list_all(&s->islands);
  bool too_far = moves_too_far(s);
  s->ahead = s->excess;
  if (too_far && !final) {
    report_excess(s);
    return stage_done();
  }
  TRY(fly(s, b, state));
  bool stalled;
  TRY(iterate_all(s, b, limit, final, &stalled));
  report_islands(s);
  if (stalled && report->outcome == ABD_STOPPED_AT_MAX_ITERATIONS) report->outcome = ABD_NO_PROGRESS;
  if (b.stages->together) TRY(b.stages->together->report(b.self, report));
  if (!final && report->outcome == ABD_CONVERGED && (drives_too_far(s) || gains_by_contact(s))) report_excess(s);
  if (!final && report->outcome != ABD_CONVERGED) return stage_done();
  after->step = state->step + 1;
  TRY(b.stages->finish(b.self, &s->islands, after));
  return stage_poll(s->model); /* what an interrupted loop left is not valid */
}

bool step_init(Step *s, const Model *model) {
  memset(s, 0, sizeof *s);
  s->model = model;
  return islands_init(&s->islands, model);
}

void step_destroy(Step *s) {
  islands_destroy(&s->islands);
  memset(s, 0, sizeof *s);
}
