/* Step bounds: pairs that the directions newly reach, then continuous collision detection, stops of joints,
 * inversion of tets. Tested in tests/test_determinism.c. */
#include "cpu/cpu.h"

#include <string.h>

#include "contact/law.h"
#include "contact/path.h"
#include "cpu/validate.h"
#include "step/joint.h"
#include "step/soft.h"

/* ---- new pairs ---- */

static void ahead_task(Cpu *cpu, int i) {
  Work *w = &cpu->work;
  const Model *m = cpu->model;
  node_put(m, w->trial, i, affine_add_scaled(node_pose(m, w->q, i), 1, node_vector(m, w->direction, i)));
}

/* Widens the box of a body whose direction leaves it. */
static void widen_task(void *context, int i) {
  Cpu *cpu = context;
  Work *w = &cpu->work;
  Box *box = &cpu->broad.box[i];
  if (!body_selected(cpu->islands, i) || !w->active[i] || is_halo(cpu, i)) return; /* its process widens it */
  Box swept = reach_box(cpu, i, w->trial, 0.5 * cpu->scene.range + half_separation(cpu, i));
  if (box_contains(*box, swept)) return;
  *box = box_union(*box, reach_box(cpu, i, w->trial, reach_pad(cpu, i, w->trial)));
  cpu->left[i] = true;
}

static void aim_task(Cpu *cpu, int i) {
  if (i >= cpu->model->body_count) return;
  path_length_move(cpu->path_length, cpu->model, i, &cpu->work.q.body[i]);
  path_length_aim(cpu->path_length, cpu->model, i, &cpu->work.direction.body[i]);
}

/* All three in one pass, if no body is soft: a soft body's box needs all of its vertices. */
void look_task(Cpu *cpu, int i) {
  ahead_task(cpu, i);
  aim_task(cpu, i);
  widen_task(cpu, i);
}

/* Of the own bodies of a process alone. */
void look_begin(Cpu *cpu) {
  const Broad *b = &cpu->broad;
  if (!cpu->domain) memset(cpu->left, 0, (size_t)cpu->model->body_count * sizeof *cpu->left);
  for (int k = 0; cpu->domain && k < b->own_count; k++) cpu->left[b->own_body[k]] = false;
}

static void look_ahead(Cpu *cpu) {
  const Model *m = cpu->model;
  look_begin(cpu);
  if (m->soft_count == 0) {
    for_bodies(cpu, look_task, NULL);
  } else {
    for_bodies(cpu, ahead_task, NULL);
    for_bodies(cpu, aim_task, NULL);
    parallel_for(cpu->threads, m->body_count, 8, widen_task, cpu);
  }
}

static Outcome any_left(Cpu *cpu, bool *any) {
  *any = false;
  if (cpu->domain) return cpu->domain->boxes(cpu->domain->self, cpu, false, any);
  *any = memchr(cpu->left, true, (size_t)cpu->model->body_count * sizeof *cpu->left) != NULL;
  return stage_done();
}

/* A pair that comes within reach in the middle of a step gets contacts and stiffness; its friction begins when
 * friction is lagged anew. */
static void join_task(void *context, int k) {
  Cpu *cpu = context;
  const Work *w = &cpu->work;
  Pair *p = pairs_at(&cpu->pairs, k);
  if (p->stiffness > 0) return; /* pair_begin sets it */
  pair_begin(p, &cpu->scene, w->q.body, w->target.body);
  pair_eval(p, &cpu->scene, &w->q.body[p->a], &w->q.body[p->b]);
  p->approach = pair_approach(p, &cpu->scene, w->q, w->target);
  pair_set_stiffness(p, &cpu->scene, w->h2, w->state);
  note_terms(cpu, k, p);
  if (p->failed) __atomic_store_n(&cpu->failed, k, __ATOMIC_RELAXED);
}

static void aim_halo(void *context, int i) { aim_task(context, i); }

static Outcome find_new_pairs(Cpu *cpu, int *added) {
  bool any;
  *added = 0;
  if (!cpu->looked) look_ahead(cpu);
  cpu->looked = false;
  Outcome outcome = any_left(cpu, &any);
  if (stage_failed(outcome) || !any) return outcome;
  outcome = reach_pairs(cpu, true, added);
  if (cpu->domain && *added) outcome = cpu->domain->halo_state(cpu->domain->self, cpu, outcome);
  if (stage_failed(outcome) || *added == 0) return outcome;
  for_halo(cpu, aim_halo);
  soft_load(cpu, cpu->work.q); /* a trial may have moved the surfaces */
  cpu->failed = -1;
  parallel_for(cpu->threads, cpu->pairs.count, 32, join_task, cpu);
  return stage_from(pairs_settle(&cpu->pairs) && cpu->failed < 0);
}

/* ---- bounds ---- */

/* Picks a pair that bounds the step: most do not. */
static void pick_limit(Cpu *cpu, int k, const Pair *p) {
  if (p->bound < 1) picks_add(&cpu->limiting, k, 0);
}

void bound_note(Cpu *cpu, int k, const Pair *p) {
  if (p->needs_cover) picks_add(&cpu->uncovered, k, 0);
  pick_limit(cpu, k, p);
}

void bound_task(Cpu *cpu, int k, Pair *p) {
  const Work *w = &cpu->work;
  PairAhead ahead = pair_clear(p, &cpu->scene);
  cpu->pair_far[k] = ahead == PAIR_FAR ? FAR_AHEAD : 0;
  if (ahead) return;
  const Affine *q = w->q.body, *d = w->direction.body;
  pair_bound(p, &cpu->scene, (Affine[2]){q[p->a], q[p->b]}, (Affine[2]){d[p->a], d[p->b]});
  bound_note(cpu, k, p);
}

/* Idle pairs that are far on the whole step. */
static bool is_far_ahead(Cpu *cpu, int k) {
  bool far = cpu->pair_idle[k] && pair_far_ahead(&cpu->scene, cpu->pairs.slot[k], cpu->pairs.body[k]);
  if (far) cpu->pair_far[k] = FAR_AHEAD;
  return far;
}

static Outcome bound_near_pairs(Cpu *cpu) {
  return noted_terms(cpu) ? for_pairs_unless(cpu, is_far_ahead, bound_task, NULL, NULL) : for_pairs(cpu, bound_task);
}

double bound_wanted(const Cpu *cpu, int k) {
  return cpu->islands->island[islands_of_pair(cpu->islands, cpu->pairs.body[k])].bound;
}

void bound_covered(Cpu *cpu, int k, const Pair *p, double before) {
  if (before >= 1) pick_limit(cpu, k, p);
}

void cover_task(Cpu *cpu, int k, Pair *p) {
  const Work *w = &cpu->work;
  if (!p->needs_cover) return;
  double was = p->bound;
  const Affine *q = w->q.body, *d = w->direction.body;
  pair_bound_cover(p, &cpu->scene, (Affine[2]){q[p->a], q[p->b]}, (Affine[2]){d[p->a], d[p->b]}, bound_wanted(cpu, k));
  bound_covered(cpu, k, p, was);
}

static void limit_island(Island *g, double bound, int a, int b) {
  if (bound >= g->bound) return;
  g->bound = bound;
  g->limit[0] = a;
  g->limit[1] = b;
}

static void bound_soft(Cpu *cpu) {
  for (int k = 0; k < cpu->model->soft_count; k++) {
    const Soft *s = &cpu->model->soft[k];
    Island *g = island_of_soft(cpu->islands, k);
    if (g && g->selected) limit_island(g, soft_least_bound(cpu, s), s->body, s->body);
  }
}

static void bound_joints(Cpu *cpu) {
  for (int j = 0; j < cpu->model->joint_count; j++) {
    Island *g = island_of_joint(cpu->islands, j);
    const JointEnd *end = cpu->model->joint[j].end;
    if (g && g->selected) limit_island(g, joint_bound(&cpu->work, j), end[0].body, end[1].body);
  }
}

/* The least bound of each selected island; of equal ones the first pair's. False if memory is out. */
static bool reduce_bounds(Cpu *cpu) {
  Islands *s = cpu->islands;
  bool listed = picks_list(&cpu->limiting, cpu->pairs.count);
  for (int e = 0; e < s->listed_count; e++) {
    Island *g = island_listed(s, e);
    if (!g->selected) continue;
    g->bound = 1;
    g->limit[0] = g->limit[1] = -1;
  }
  for (int c = 0; c < cpu->limiting.count; c++) {
    int k = cpu->limiting.list[c].pair;
    const int *body = cpu->pairs.body[k];
    limit_island(&s->island[islands_of_pair(s, body)], pairs_at(&cpu->pairs, k)->bound, body[0], body[1]);
  }
  bound_soft(cpu);
  bound_joints(cpu);
  return listed;
}

static void report_limit(const Cpu *cpu) {
  AbdStepReport *r = cpu->report;
  for (int e = 0; e < cpu->islands->listed_count; e++) {
    const Island *g = island_listed(cpu->islands, e);
    if (!g->selected || g->limit[0] < 0 || g->bound >= r->step_length) continue;
    r->limit[0].id = (uint32_t)g->limit[0] + 1;
    r->limit[1].id = (uint32_t)g->limit[1] + 1;
  }
}

static void find_ahead(void *context, int k) {
  Cpu *cpu = context;
  const Affine *q = cpu->work.q.body, *d = cpu->work.direction.body;
  Pair *p = pairs_at(&cpu->pairs, k);
  if (p->soft && pair_selected(cpu, k))
    path_find_ahead(p, &cpu->scene, (Affine[2]){q[p->a], q[p->b]}, (Affine[2]){d[p->a], d[p->b]});
}

/* The search for stencils of large soft surfaces, each on all threads, unless their lists suffice. */
static Outcome list_large_pairs(Cpu *cpu) {
  const Affine *q = cpu->work.q.body, *d = cpu->work.direction.body;
  if (cpu->threads <= 1 || !cpu->model->soft_count) return stage_done();
  parallel_for(cpu->threads, cpu->pairs.count, 1, find_ahead, cpu);
  for (int k = 0; k < cpu->pairs.count; k++) {
    Pair *p = pairs_at(&cpu->pairs, k);
    if (!p->soft || !pair_selected(cpu, k)) continue;
    path_list_ahead(p, &cpu->scene, (Affine[2]){q[p->a], q[p->b]}, (Affine[2]){d[p->a], d[p->b]}, cpu->threads);
    if (p->failed) return stage_from(false);
  }
  if (!pairs_settle(&cpu->pairs)) return stage_from(false);
  for (int k = 0; k < cpu->pairs.count; k++) {
    Pair *p = pairs_at(&cpu->pairs, k);
    if (p->soft && pair_selected(cpu, k))
      pair_bound_ahead(p, &cpu->scene, (Affine[2]){q[p->a], q[p->b]}, (Affine[2]){d[p->a], d[p->b]}, cpu->threads);
  }
  return stage_done();
}

static Outcome cover_pairs(Cpu *cpu) {
  if (cpu->accelerator) return cpu->accelerator->cover(cpu->accelerator_self, cpu);
  return for_picked_pairs(cpu, &cpu->uncovered, cover_task);
}

/* First with the lists as they are. Then pairs whose list does not reach that far search all of their stencils, only
 * as far as the bounds found so far require. t0: the time now. */
static Outcome bound_pairs(Cpu *cpu, double t0) {
  picks_clear(&cpu->limiting);
  picks_clear(&cpu->uncovered);
  soft_load(cpu, cpu->work.q);
  soft_load_motion(cpu, cpu->work.direction);
  Outcome outcome = list_large_pairs(cpu);
  const Accelerator *other = cpu->accelerator;
  if (!stage_failed(outcome)) outcome = other ? other->bound(cpu->accelerator_self, cpu) : bound_near_pairs(cpu);
  if (stage_failed(outcome) && !cpu->domain) return outcome;
  if (!reduce_bounds(cpu) || !picks_join(&cpu->uncovered)) outcome = stage_from(false);
  outcome = share_islands(cpu, SHARE_BOUND, outcome);
  if (stage_failed(outcome)) return outcome;
  double t1 = stage_clock(cpu);
  cpu->report->seconds[ABD_STAGE_CCD] += t1 - t0;
  if (cpu->uncovered.count || cpu->domain) {
    if (cpu->uncovered.count) outcome = cover_pairs(cpu);
    if (!reduce_bounds(cpu)) outcome = stage_from(false);
    outcome = share_islands(cpu, SHARE_BOUND, outcome);
    cpu->report->seconds[ABD_STAGE_CANDIDATES] += stage_clock(cpu) - t1;
  }
  report_limit(cpu);
  if (!stage_failed(outcome)) validate_bounds(cpu);
  return outcome;
}

static bool any_joined(const Cpu *cpu, int added) {
  const Islands *s = cpu->islands;
  bool joined = false;
  for (int e = 0; e < s->listed_count && !joined; e++) joined = island_listed(s, e)->joined;
  return cpu->domain && added ? cpu->domain->any(cpu->domain->self, joined) : joined;
}

Outcome cpu_bound(void *backend, Islands *islands) {
  Cpu *cpu = backend;
  double t0 = stage_clock(cpu);
  int added;
  Outcome outcome = find_new_pairs(cpu, &added);
  double t1 = stage_clock(cpu);
  cpu->report->seconds[ABD_STAGE_CANDIDATES] += t1 - t0;
  (void)islands;
  if (stage_failed(outcome) || any_joined(cpu, added)) return outcome;
  return bound_pairs(cpu, t1);
}
