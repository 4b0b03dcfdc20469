/* The stages of a step on pairs and islands: reach, bounds, trials. Their pairs are kept by pairs.c, the matrix by assemble.c.
 * Tested in tests/test_world.c and tests/test_determinism.c. */
#include "cpu/cpu.h"

#include "step/joint.h"
#include "step/soft.h"

const Pair *cpu_pairs(const Cpu *cpu, int *count) {
  *count = cpu->pair_count;
  return cpu->pair;
}

static bool is_awake(const Step *step, int body) { return step->island[body] >= 0 && !step->dozes[body]; }

bool cpu_collect(Cpu *cpu, const Step *step, bool (*wanted)(const Island *)) {
  if (!mem_reserve((void **)&cpu->todo, &cpu->todo_capacity, cpu->pair_count, sizeof(int))) return false;
  cpu->todo_count = 0;
  for (int k = 0; k < cpu->pair_count; k++) {
    const Pair *p = &cpu->pair[k];
    if (wanted(&step->islands[pair_island(step, p)]) && (is_awake(step, p->a) || is_awake(step, p->b)))
      cpu->todo[cpu->todo_count++] = k;
  }
  return true;
}

static bool is_searching(const Island *g) { return g->searching; }
static bool is_trying(const Island *g) { return g->trying; }

/* Half of what contact keeps between a body and others, not counting their own thickness. */
static double half_separation(const Cpu *cpu, int body) {
  return 0.5 * (cpu->scene.separation + cpu->model->body[body].thickness);
}

/* Tells the bodies' travels where those of the islands at work stand. */
static void stand_at(Cpu *cpu, const Step *step, const Affine *q, bool (*wanted)(const Island *)) {
  for (int j = 0; j < step->model->moving_count; j++) {
    int i = step->model->moving[j];
    if (i < cpu->model->given_count && wanted(&step->islands[step->island[i]]))
      travel_go(cpu->travel, cpu->model, i, &q[i]);
  }
}

static void eval_task(void *context, int k) {
  Cpu *cpu = context;
  Pair *p = &cpu->pair[cpu->todo[k]];
  pair_eval(p, &cpu->scene, &cpu->step->trial[p->a], &cpu->step->trial[p->b]);
}

/* A pair that failed: memory, or a value that is not finite (which is then blamed on its body). */
static bool pairs_fine(Cpu *cpu, const Step *step) {
  for (int k = 0; k < cpu->todo_count; k++) {
    const Pair *p = &cpu->pair[cpu->todo[k]];
    if (!p->failed) continue;
    for (int side = 0; side < 2; side++) {
      int body = side ? p->b : p->a;
      for (int i = 0; i < 4; i++)
        if (!vec3_finite(step->trial[body].n[i])) {
          cpu->base.numeric = true;
          cpu->base.blame.id = (uint32_t)body + 1;
        }
    }
    return false;
  }
  return true;
}

static Island *joint_island(const Step *step, int joint) {
  int body = joint_body(step->model, joint);
  return body < 0 ? NULL : &step->islands[step->island[body]];
}

static void try_joints(Step *step) {
  for (int j = 0; j < step->model->joint_count; j++) {
    Island *g = joint_island(step, j);
    JointTerm *t = &step->joint[j];
    if (!g || !g->trying || !t->active) continue;
    t->energy_trial = joint_energy(step, j, step->trial);
    g->change += t->energy_trial - t->energy;
    g->noise += 1e-14 * fabs(t->energy_trial);
  }
}

static void try_soft(const Cpu *cpu, Step *step) {
  for (int k = 0; k < step->model->soft_count; k++) {
    Island *g = soft_island(step, &step->model->soft[k]);
    if (!g || !g->trying) continue;
    double e = step->soft_energy_trial[k] = soft_total(cpu, step, &step->model->soft[k], step->trial);
    g->change += e - step->soft_energy[k];
    g->noise += 1e-14 * fabs(e);
  }
}

/* Contacts and energies at step->trial of the trying islands. */
static bool cpu_trial(Backend *base, Step *step) {
  Cpu *cpu = (Cpu *)base;
  const Model *m = cpu->model;
  double t0 = clock_now();
  cpu->step = step;
  if (!cpu_collect(cpu, step, is_trying)) return false;
  soft_load(cpu, step->trial);
  stand_at(cpu, step, step->trial, is_trying);
  parallel_for(cpu->threads, cpu->todo_count, 8, eval_task, cpu);
  if (!pairs_fine(cpu, step)) return false;
  for (int k = 0; k < step->island_count; k++) {
    Island *g = &step->islands[k];
    if (!g->trying) continue;
    g->change = g->noise = 0;
    g->min_gap = INFINITY;
    g->touching = false;
    for (int j = g->first; j < g->first + g->body_count; j++) {
      int i = step->member[j];
      if (step->dozes[i]) continue;
      double e = step->energy_trial[i] = body_energy(step, i, &step->trial[i]);
      g->change += e - step->energy[i];
      g->noise += 1e-14 * fabs(e) + 1e-15 * sqrt(fabs(e) * step->h2 * m->body[i].stiffness * m->body[i].volume);
    }
  }
  for (int k = 0; k < cpu->todo_count; k++) {
    const Pair *p = &cpu->pair[cpu->todo[k]];
    Island *g = &step->islands[pair_island(step, p)];
    g->change += p->energy_trial - p->energy;
    g->noise += p->noise;
  }
  for (int k = 0; k < cpu->pair_count; k++) {
    const Pair *p = &cpu->pair[k];
    Island *g = &step->islands[pair_island(step, p)];
    if (!g->trying) continue;
    g->touching |= p->contact_count > 0;
    if (p->min_gap < g->min_gap) g->min_gap = p->min_gap;
  }
  try_joints(step);
  try_soft(cpu, step);
  for (int k = 0; k < step->island_count; k++)
    if (step->islands[k].trying && !(step->islands[k].change < INFINITY))
      step->islands[k].change = INFINITY; /* a NaN is no progress */
  step->report->seconds[step->trial_stage] += clock_now() - t0;
  return true;
}

static void cpu_accept(Backend *base, Step *step, int island) {
  Cpu *cpu = (Cpu *)base;
  for (int k = 0; k < step->model->soft_count; k++)
    if (soft_island(step, &step->model->soft[k]) == &step->islands[island])
      step->soft_energy[k] = step->soft_energy_trial[k];
  double length = step->islands[island].fraction * step->islands[island].length;
  for (int k = step->islands[island].pair; k >= 0; k = cpu->pair[k].next) {
    Pair *p = &cpu->pair[k];
    if (!is_awake(step, p->a) && !is_awake(step, p->b)) continue;
    p->energy = p->energy_trial;
    pair_friction_advance(p, &cpu->scene, length);
  }
}

static bool is_fast(const Step *step, int body) { return step->speed[body] > step->model->def.solver.tolerance; }

/* Small islands stay whole, and those of which more than half would take part. */
static void cpu_doze(Backend *base, Step *step) {
  const Cpu *cpu = (Cpu *)base;
  for (int k = 0; k < step->island_count; k++) step->islands[k].awake = 0;
  for (int i = 0; i < cpu->model->body_count; i++)
    step->dozes[i] = step->island[i] >= 0 && !step->islands[step->island[i]].whole && !is_fast(step, i);
  for (int k = 0; k < cpu->pair_count; k++) {
    const Pair *p = &cpu->pair[k];
    bool acts = p->contact_count + p->friction_count > 0 && step->island[p->a] >= 0 && step->island[p->b] >= 0;
    if (acts && (is_fast(step, p->a) || is_fast(step, p->b))) step->dozes[p->a] = step->dozes[p->b] = false;
  }
  for (int i = 0; i < cpu->model->body_count; i++)
    if (is_awake(step, i)) step->islands[step->island[i]].awake++;
  for (int k = 0; k < step->island_count; k++) {
    Island *g = &step->islands[k];
    bool whole = g->whole || g->body_count < 8 || g->awake > 0.5 * g->body_count;
    if (whole) g->awake = g->body_count;
    for (int j = g->first; j < g->first + g->body_count; j++) {
      int i = step->member[j];
      if (whole) step->dozes[i] = false;
      if (step->dozes[i]) step->direction[i] = affine_sub(step->q[i], step->q[i]), step->trial[i] = step->q[i];
    }
  }
}

/* Where a body may be while it moves from q to the end of a step. */
static Box reach_box(const Cpu *cpu, const Step *step, int body, const Affine *end, double pad) {
  const Model *m = cpu->model;
  const Body *b = &m->body[body];
  if (b->soft) return box_inflate(soft_box(m, &m->soft[b->soft - 1], step->q, end), pad);
  return box_inflate(swept_box(m, body, &step->q[body], &end[body]), pad);
}

static double reach_pad(const Cpu *cpu, const Step *step, int body, const Affine *end) {
  const Mesh *mesh = &cpu->model->mesh[cpu->model->body[body].mesh];
  Affine d = affine_sub(end[body], step->q[body]);
  double motion = mesh->half_space ? 0 : norm(d.n[0]) + mesh->radius * (norm(d.n[1]) + norm(d.n[2]) + norm(d.n[3]));
  return cpu->scene.range + half_separation(cpu, body) + 0.1 * motion;
}

static bool cpu_begin(Backend *base, Step *step) {
  Cpu *cpu = (Cpu *)base;
  const Model *m = cpu->model;
  double t0 = clock_now();
  cpu->scene = (ContactScene){m, m->def.contact.range, m->def.contact.separation,
                              m->def.contact.friction_speed * step->h, cpu->travel};
  system_begin(&cpu->system);
  system_begin(&cpu->closing);
  soft_load(cpu, step->q);
  soft_load_start(cpu, step->q);
  for (int i = 0; i < m->body_count; i++) {
    step->trial[i] = step->q[i];
    if (i < m->given_count) travel_go(cpu->travel, m, i, &step->q[i]);
    if (i < m->given_count)
      cpu->broad.box[i] = reach_box(cpu, step, i, step->target, reach_pad(cpu, step, i, step->target));
    if (m->body[i].slot >= 0) step->energy[i] = body_energy(step, i, &step->q[i]);
  }
  for (int k = 0; k < m->soft_count; k++) step->soft_energy[k] = soft_total(cpu, step, &m->soft[k], step->q);
  if (!broad_find(&cpu->broad, m) || !pairs_sync(cpu)) return false;
  for (int k = 0; k < cpu->pair_count; k++) pair_begin(cpu, step, &cpu->pair[k]);
  islands_build(cpu, step, false);
  for (int k = 0; k < step->island_count; k++) step->islands[k].trying = true;
  step->report->seconds[ABD_STAGE_CANDIDATES] += clock_now() - t0;
  if (!cpu_trial(base, step)) return false;
  for (int k = 0; k < step->island_count; k++) step->islands[k].trying = false;
  return pairs_set_forces(cpu, step);
}

/* Widens the boxes of bodies whose direction leaves them, finds the new pairs, joins their islands. */
static bool cpu_reach(Backend *base, Step *step) {
  Cpu *cpu = (Cpu *)base;
  const Model *m = cpu->model;
  bool left = false;
  double t0 = clock_now();
  for (int j = 0; j < m->moving_count; j++) {
    int i = m->moving[j];
    step->trial[i] = affine_add_scaled(step->q[i], 1, step->direction[i]);
  }
  for (int i = 0; i < m->given_count; i++) {
    if (!is_awake(step, i) || step->islands[step->island[i]].progress != ISLAND_ACTIVE) continue;
    Box swept = reach_box(cpu, step, i, step->trial, 0.5 * cpu->scene.range + half_separation(cpu, i));
    if (box_contains(cpu->broad.box[i], swept)) continue;
    cpu->broad.box[i] =
        box_union(cpu->broad.box[i], reach_box(cpu, step, i, step->trial, reach_pad(cpu, step, i, step->trial)));
    left = true;
  }
  if (!left) return true;
  int before = cpu->pair_count;
  if (!broad_find(&cpu->broad, m) || !pairs_sync(cpu)) return false;
  if (cpu->pair_count > before) {
    soft_load(cpu, step->q); /* a trial may have left the surfaces elsewhere */
    for (int k = 0; k < cpu->pair_count; k++)
      if (!cpu->pair[k].listed && !pair_join(cpu, step, &cpu->pair[k])) return false;
    islands_build(cpu, step, true);
  }
  step->report->seconds[ABD_STAGE_CANDIDATES] += clock_now() - t0;
  return true;
}

static void aim_along(Cpu *cpu, const Step *step) {
  for (int j = 0; j < step->model->moving_count; j++) {
    int i = step->model->moving[j];
    if (i < cpu->model->given_count && is_searching(&step->islands[step->island[i]]))
      travel_aim(cpu->travel, cpu->model, i, &step->direction[i]);
  }
}

static void bound_task(void *context, int k) {
  Cpu *cpu = context;
  Pair *p = &cpu->pair[cpu->todo[k]];
  const Step *s = cpu->step;
  if (pair_clear(p, &cpu->scene)) return;
  pair_bound(p, &cpu->scene, (Affine[2]){s->q[p->a], s->q[p->b]}, (Affine[2]){s->direction[p->a], s->direction[p->b]});
}

static void cover_task(void *context, int k) {
  Cpu *cpu = context;
  Pair *p = &cpu->pair[cpu->todo[k]];
  const Step *s = cpu->step;
  if (!p->needs_cover) return;
  pair_bound_cover(p, &cpu->scene, (Affine[2]){s->q[p->a], s->q[p->b]},
                   (Affine[2]){s->direction[p->a], s->direction[p->b]}, s->islands[pair_island(s, p)].bound);
}

static void bound_soft(Step *step) {
  for (int k = 0; k < step->model->soft_count; k++) {
    const Soft *s = &step->model->soft[k];
    Island *g = soft_island(step, s);
    for (int e = 0; g && g->searching && e < s->tet_count; e++) {
      double bound = soft_bound(step, s, e);
      if (bound >= g->bound) continue;
      g->bound = bound;
      g->limit[0] = g->limit[1] = s->body;
    }
  }
}

static void reduce_bounds(Cpu *cpu, Step *step) {
  for (int k = 0; k < step->island_count; k++)
    if (step->islands[k].searching) {
      step->islands[k].bound = 1;
      step->islands[k].limit[0] = step->islands[k].limit[1] = -1;
    }
  for (int k = 0; k < cpu->todo_count; k++) {
    const Pair *p = &cpu->pair[cpu->todo[k]];
    Island *g = &step->islands[pair_island(step, p)];
    if (p->bound >= g->bound) continue;
    g->bound = p->bound;
    g->limit[0] = p->a;
    g->limit[1] = p->b;
  }
  bound_soft(step);
  for (int j = 0; j < step->model->joint_count; j++) {
    Island *g = joint_island(step, j);
    if (!g || !g->searching) continue;
    double bound = joint_bound(step, j);
    if (bound >= g->bound) continue;
    g->bound = bound;
    g->limit[0] = step->model->joint[j].end[0].body;
    g->limit[1] = step->model->joint[j].end[1].body;
  }
}

/* First with the lists as they are; then pairs whose list does not reach that far look at all of their stencils, only as far
 * as the bounds found so far ask for. */
static bool cpu_bound(Backend *base, Step *step) {
  Cpu *cpu = (Cpu *)base;
  double t0 = clock_now();
  cpu->step = step;
  if (!cpu_collect(cpu, step, is_searching)) return false;
  soft_load(cpu, step->q);
  soft_load_motion(cpu, step->direction);
  stand_at(cpu, step, step->q, is_searching);
  aim_along(cpu, step);
  parallel_for(cpu->threads, cpu->todo_count, 8, bound_task, cpu);
  reduce_bounds(cpu, step);
  double t1 = clock_now();
  parallel_for(cpu->threads, cpu->todo_count, 4, cover_task, cpu);
  reduce_bounds(cpu, step);
  double t2 = clock_now();
  step->report->seconds[ABD_STAGE_CCD] += t1 - t0;
  step->report->seconds[ABD_STAGE_CANDIDATES] += t2 - t1;
  for (int k = 0; k < cpu->todo_count; k++)
    if (cpu->pair[cpu->todo[k]].failed) return false;
  AbdStepReport *r = step->report;
  for (int k = 0; k < step->island_count; k++) {
    const Island *g = &step->islands[k];
    if (!g->searching || g->limit[0] < 0 || g->bound >= r->step_length) continue;
    r->limit[0].id = (uint32_t)g->limit[0] + 1;
    r->limit[1].id = (uint32_t)g->limit[1] + 1;
  }
  return true;
}

Cpu *cpu_create(const Model *model) {
  size_t n = (size_t)model->body_count, moving = (size_t)model->moving_count, stiff = 0;
  for (int s = 0; s < model->moving_count; s++)
    stiff += !model->body[model->moving[s]].vertex_of; /* they stand first */
  Cpu *cpu = mem_zeroed(1, sizeof *cpu);
  if (!cpu) return NULL;
  cpu->base = (Backend){.begin = cpu_begin,
                        .doze = cpu_doze,
                        .direction = cpu_direction,
                        .reach = cpu_reach,
                        .bound = cpu_bound,
                        .close = cpu_close,
                        .trial = cpu_trial,
                        .accept = cpu_accept,
                        .stiffen = cpu_stiffen,
                        .renew_friction = cpu_renew_friction,
                        .finish = cpu_finish};
  cpu->model = model;
  cpu->threads = model->def.solver.threads;
  cpu->parent = mem_alloc(n, sizeof(int));
  cpu->merged = mem_alloc(n, sizeof(Island));
  cpu->active = mem_alloc(moving, sizeof(int));
  cpu->travel = mem_zeroed((size_t)model->given_count, sizeof(Travel));
  cpu->diagonal = mem_alloc(stiff * 144, sizeof(double));
  cpu->move = mem_alloc(model->linkage.linked_count ? n : 0, sizeof(Affine));
  if (!broad_init(&cpu->broad, model) || !system_init(&cpu->system, model) || !system_init(&cpu->closing, model) ||
      !cpu->parent || !cpu->merged || !cpu->active || !cpu->diagonal || !cpu->move || !cpu->travel) {
    cpu_destroy(cpu);
    return NULL;
  }
  return cpu;
}

void cpu_destroy(Cpu *cpu) {
  if (!cpu) return;
  for (int k = 0; k < cpu->pair_count; k++) pair_destroy(&cpu->pair[k]);
  broad_destroy(&cpu->broad);
  system_destroy(&cpu->system);
  system_destroy(&cpu->closing);
  void *array[] = {cpu->pair, cpu->todo, cpu->active, cpu->diagonal, cpu->move, cpu->parent, cpu->merged, cpu->travel};
  for (int k = 0; k < ARRAY_COUNT(array); k++) mem_free(array[k]);
  mem_free(cpu);
}
