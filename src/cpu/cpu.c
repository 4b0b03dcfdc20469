#include "cpu/cpu.h"

#include <string.h>

const Pair *cpu_pairs(const Cpu *cpu, int *count) {
  *count = cpu->pair_count;
  return cpu->pair;
}

bool cpu_collect(Cpu *cpu, const Step *step, bool (*wanted)(const Island *)) {
  if (!mem_reserve((void **)&cpu->todo, &cpu->todo_capacity, cpu->pair_count, sizeof(int))) return false;
  cpu->todo_count = 0;
  for (int k = 0; k < cpu->pair_count; k++)
    if (wanted(&step->islands[pair_island(step, &cpu->pair[k])])) cpu->todo[cpu->todo_count++] = k;
  return true;
}

static bool is_searching(const Island *g) { return g->searching; }
static bool is_trying(const Island *g) { return g->trying; }

/* The heavier of a pair's dynamic bodies. */
static double pair_mass(const Model *m, const Pair *p) {
  const Body *a = &m->body[p->a], *b = &m->body[p->b];
  return most(a->motion == ABD_MOTION_DYNAMIC ? a->mass : 0, b->motion == ABD_MOTION_DYNAMIC ? b->mass : 0);
}

static Box swept_box(const Model *m, int i, const Affine *from, const Affine *to) {
  return box_union(body_box(m, i, from), body_box(m, i, to));
}

/* How far the surfaces of a pair would move into each other if nothing held them: along the normals where they touch, else
 * all of their relative motion if their boxes meet on the way. */
static double pair_approach(const Cpu *cpu, const Pair *p, const Step *step) {
  if (p->contact_count == 0) {
    Box a = swept_box(cpu->model, p->a, &step->q[p->a], &step->target[p->a]), b = swept_box(cpu->model, p->b, &step->q[p->b], &step->target[p->b]);
    return box_overlap(a, b) ? p->motion : 0;
  }
  double closest = 0;
  Affine da = affine_sub(step->target[p->a], step->q[p->a]), db = affine_sub(step->target[p->b], step->q[p->b]);
  for (int i = 0; i < p->contact_count; i++) {
    const Contact *c = &p->contact[i];
    closest = most(closest, -dot(c->normal, sub(affine_point(&da, c->ya), affine_point(&db, c->yb))));
  }
  return closest;
}

static const PairMemory *find_memory(const State *state, int a, int b) {
  int lo = 0, hi = state->memory_count;
  uint64_t key = pair_key(a, b);
  while (lo < hi) {
    int mid = lo + (hi - lo) / 2;
    const PairMemory *m = &state->memory[mid];
    uint64_t k = pair_key(m->a, m->b);
    if (k == key) return m->a == a ? m : NULL;
    if (k < key) lo = mid + 1;
    else hi = mid;
  }
  return NULL;
}

/* Stiffness of a pair's barrier [J as dt^2 energy]: enough that at half the range a contact resists as 40 inertias over
 * dt^2, carries thirty times the weight, and takes up the energy of its own approach and a share of the strongest impact
 * in the island, which may reach it through others. A pair pressed below a tenth of the range was too soft for its load:
 * it doubles, and relaxes again when it has room. */
static void set_stiffness(const Cpu *cpu, const Step *step, Pair *p) {
  const Model *m = cpu->model;
  const PairMemory *memory = find_memory(step->state, p->a, p->b);
  double y = p->min_gap / cpu->scene.range, g = norm(vec3_from(m->def.gravity)), r = cpu->scene.range, mass = pair_mass(m, p);
  p->stiffening = memory ? memory->stiffening : 1;
  if (y < 0.1 && p->stiffening < 1e6) p->stiffening *= 2;
  if (y > 0.5) p->stiffening = most(1, 0.9 * p->stiffening);
  double rest = mass * most(40.0 / 6.386 * r * r, 30 * g * step->h2 * r);
  double impact = most(0.05 * mass * p->approach * p->approach, 0.0005 * step->islands[pair_island(step, p)].impact);
  p->stiffness = m->def.contact.stiffness * p->stiffening * most(rest, impact);
  p->energy = p->barrier *= p->stiffness;
}

/* Approaches of all pairs and the strongest impact of each island [J as dt^2 energy]. */
static void set_impacts(Cpu *cpu, Step *step) {
  for (int k = 0; k < step->island_count; k++) step->islands[k].impact = 0;
  for (int k = 0; k < cpu->pair_count; k++) {
    Pair *p = &cpu->pair[k];
    Island *g = &step->islands[pair_island(step, p)];
    p->approach = pair_approach(cpu, p, step);
    g->impact = most(g->impact, pair_mass(cpu->model, p) * p->approach * p->approach);
  }
}

static void pair_begin(Cpu *cpu, const Step *step, Pair *p) {
  const Model *m = cpu->model;
  const Mesh *mesh = &m->mesh[m->body[p->a].mesh];
  Affine now = affine_relative(&step->q[p->a], &step->q[p->b]), then = affine_relative(&step->target[p->a], &step->target[p->b]);
  double motion = 1.1 * pair_displacement(mesh, &now, &then), most = 0.05 * mesh->radius;
  p->motion = motion;
  if (most < 4 * cpu->scene.range) most = 4 * cpu->scene.range;
  p->margin = 0.5 * cpu->scene.range + (motion < most ? motion : most);
  p->mu = m->has_friction ? model_friction(m, p->a, p->b) : 0;
  p->failed = false;
  p->stiffness = 1;
  p->friction_count = 0;
  p->coupled = false;
}

/* Makes cpu->pair follow broad->pair; both are sorted. Pairs that stay keep their lists. */
static bool sync_pairs(Cpu *cpu) {
  const Broad *broad = &cpu->broad;
  Pair *fresh = mem_zeroed((size_t)broad->pair_count, sizeof(Pair));
  if (!fresh) return false;
  int old = 0;
  for (int k = 0; k < broad->pair_count; k++) {
    uint64_t key = broad->pair[k];
    for (; old < cpu->pair_count && pair_key(cpu->pair[old].a, cpu->pair[old].b) < key; old++) pair_destroy(&cpu->pair[old]);
    if (old < cpu->pair_count && pair_key(cpu->pair[old].a, cpu->pair[old].b) == key) {
      fresh[k] = cpu->pair[old++];
      continue;
    }
    fresh[k].a = (int)(key >> 32);
    fresh[k].b = (int)(key & 0xffffffffu);
    pair_order(cpu->model, &fresh[k].a, &fresh[k].b);
  }
  for (; old < cpu->pair_count; old++) pair_destroy(&cpu->pair[old]);
  mem_free(cpu->pair);
  cpu->pair = fresh;
  cpu->pair_count = broad->pair_count;
  return true;
}

static double box_pad(const Cpu *cpu, const Affine *d, const Mesh *mesh) {
  double motion = mesh->half_space ? 0 : norm(d->n[0]) + mesh->radius * (norm(d->n[1]) + norm(d->n[2]) + norm(d->n[3]));
  return cpu->scene.range + 0.5 * cpu->scene.separation + 0.1 * motion;
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

/* Contacts and energies at step->trial of the trying islands. */
static bool cpu_trial(Backend *base, Step *step) {
  Cpu *cpu = (Cpu *)base;
  const Model *m = cpu->model;
  double t0 = clock_now();
  cpu->step = step;
  if (!cpu_collect(cpu, step, is_trying)) return false;
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
    g->touching |= p->contact_count > 0;
    if (p->min_gap < g->min_gap) g->min_gap = p->min_gap;
  }
  for (int k = 0; k < step->island_count; k++)
    if (step->islands[k].trying && !(step->islands[k].change < INFINITY)) step->islands[k].change = INFINITY; /* a NaN is no progress */
  step->report->seconds[step->trial_stage] += clock_now() - t0;
  return true;
}

static void cpu_accept(Backend *base, Step *step, int island) {
  Cpu *cpu = (Cpu *)base;
  for (int k = 0; k < cpu->todo_count; k++) {
    Pair *p = &cpu->pair[cpu->todo[k]];
    if (pair_island(step, p) == island) p->energy = p->energy_trial;
  }
}

static void cpu_stiffen(Backend *base, Step *step, int island, double gap) {
  Cpu *cpu = (Cpu *)base;
  const double factor = 16;
  for (int k = 0; k < cpu->pair_count; k++) {
    Pair *p = &cpu->pair[k];
    if (p->min_gap > gap || pair_island(step, p) != island || p->stiffening > 1e6) continue;
    p->energy += (factor - 1) * p->barrier;
    p->barrier *= factor;
    p->stiffness *= factor;
    p->stiffening *= factor;
  }
}

static bool lag_pair(Cpu *cpu, const Step *step, Pair *p) {
  const State *state = step->state;
  Affine start[2] = {state->q[p->a], state->q[p->b]};
  const PairMemory *memory = find_memory(state, p->a, p->b);
  if (!pair_lag(p, &cpu->scene, start, memory ? state->anchor + memory->first_anchor : NULL, memory ? memory->anchor_count : 0)) return false;
  p->energy = p->barrier + pair_friction_energy(p, &cpu->scene, &step->q[p->a], &step->q[p->b]);
  return true;
}

static double pair_load(const Pair *p) {
  double sum = 0;
  for (int i = 0; i < p->friction_count; i++) sum += p->friction[i].load;
  return sum;
}

/* Renews the lagged forces of an island; changed when some pair's total moved by more than 2 % of the island's. */
static bool cpu_renew_friction(Backend *base, Step *step, int island, bool *changed) {
  Cpu *cpu = (Cpu *)base;
  double most = 0, total = 0;
  for (int k = 0; k < cpu->pair_count; k++) {
    Pair *p = &cpu->pair[k];
    if (p->mu <= 0 || pair_island(step, p) != island) continue;
    double before = pair_load(p);
    if (!lag_pair(cpu, step, p)) return false;
    double after = pair_load(p);
    total += after;
    if (fabs(after - before) > most) most = fabs(after - before);
  }
  *changed = most > 0.02 * total;
  return true;
}

static bool cpu_begin(Backend *base, Step *step) {
  Cpu *cpu = (Cpu *)base;
  const Model *m = cpu->model;
  double t0 = clock_now();
  cpu->scene = (ContactScene){m, m->def.contact.range, m->def.contact.separation, m->def.contact.friction_speed * step->h};
  for (int i = 0; i < m->body_count; i++) {
    Affine d = affine_sub(step->target[i], step->q[i]);
    step->trial[i] = step->q[i];
    cpu->broad.box[i] = box_inflate(swept_box(m, i, &step->q[i], &step->target[i]), box_pad(cpu, &d, &m->mesh[m->body[i].mesh]));
    if (m->body[i].slot >= 0) step->energy[i] = body_energy(step, i, &step->q[i]);
  }
  if (!broad_find(&cpu->broad, m) || !sync_pairs(cpu)) return false;
  for (int k = 0; k < cpu->pair_count; k++) {
    Pair *p = &cpu->pair[k];
    pair_begin(cpu, step, p);
    memset(&p->counts, 0, sizeof p->counts);
  }
  islands_build(cpu, step, false);
  for (int k = 0; k < step->island_count; k++) step->islands[k].trying = true;
  step->report->seconds[ABD_STAGE_CANDIDATES] += clock_now() - t0;
  if (!cpu_trial(base, step)) return false;
  for (int k = 0; k < step->island_count; k++) step->islands[k].trying = false;
  set_impacts(cpu, step);
  for (int k = 0; k < cpu->pair_count; k++) {
    Pair *p = &cpu->pair[k];
    set_stiffness(cpu, step, p);
    if (p->mu > 0 && !lag_pair(cpu, step, p)) return false;
  }
  return true;
}

/* Widens the boxes of bodies whose direction leaves them, finds the new pairs, joins their islands. */
static bool cpu_reach(Backend *base, Step *step) {
  Cpu *cpu = (Cpu *)base;
  const Model *m = cpu->model;
  bool left = false;
  double t0 = clock_now(), half = 0.5 * (cpu->scene.range + cpu->scene.separation);
  for (int j = 0; j < m->moving_count; j++) {
    int i = m->moving[j];
    if (step->islands[step->island[i]].progress != ISLAND_ACTIVE) continue;
    Affine end = affine_add_scaled(step->q[i], 1, step->direction[i]);
    Box swept = swept_box(m, i, &step->q[i], &end);
    if (box_contains(cpu->broad.box[i], box_inflate(swept, half))) continue;
    cpu->broad.box[i] = box_union(cpu->broad.box[i], box_inflate(swept, box_pad(cpu, &step->direction[i], &m->mesh[m->body[i].mesh])));
    left = true;
  }
  if (!left) return true;
  int before = cpu->pair_count;
  if (!broad_find(&cpu->broad, m) || !sync_pairs(cpu)) return false;
  if (cpu->pair_count > before) {
    for (int k = 0; k < cpu->pair_count; k++) {
      Pair *p = &cpu->pair[k];
      if (p->listed) continue;
      pair_begin(cpu, step, p);
      pair_eval(p, &cpu->scene, &step->q[p->a], &step->q[p->b]);
      p->approach = pair_approach(cpu, p, step);
      set_stiffness(cpu, step, p);
      if (p->failed) return false;
    }
    islands_build(cpu, step, true);
  }
  step->report->seconds[ABD_STAGE_CANDIDATES] += clock_now() - t0;
  return true;
}

static void bound_task(void *context, int k) {
  Cpu *cpu = context;
  Pair *p = &cpu->pair[cpu->todo[k]];
  const Step *s = cpu->step;
  pair_bound(p, &cpu->scene, (Affine[2]){s->q[p->a], s->q[p->b]}, (Affine[2]){s->direction[p->a], s->direction[p->b]});
}

static void cover_task(void *context, int k) {
  Cpu *cpu = context;
  Pair *p = &cpu->pair[cpu->todo[k]];
  const Step *s = cpu->step;
  if (!p->needs_cover) return;
  pair_bound_cover(p, &cpu->scene, (Affine[2]){s->q[p->a], s->q[p->b]}, (Affine[2]){s->direction[p->a], s->direction[p->b]},
                   s->islands[pair_island(s, p)].bound);
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
}

/* First with the lists as they are, then lists lengthened only as far as the bounds found so far ask for. */
static bool cpu_bound(Backend *base, Step *step) {
  Cpu *cpu = (Cpu *)base;
  double t0 = clock_now();
  cpu->step = step;
  if (!cpu_collect(cpu, step, is_searching)) return false;
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
  size_t n = (size_t)model->body_count, moving = (size_t)model->moving_count;
  Cpu *cpu = mem_zeroed(1, sizeof *cpu);
  if (!cpu) return NULL;
  cpu->base = (Backend){cpu_begin, cpu_direction, cpu_reach, cpu_bound, cpu_trial, cpu_accept, cpu_stiffen, cpu_renew_friction, cpu_finish, false, false, {0}};
  cpu->model = model;
  cpu->threads = model->def.solver.threads;
  cpu->solver = block_cholesky_create();
  cpu->column = mem_alloc(n, sizeof(int));
  cpu->parent = mem_alloc(n, sizeof(int));
  cpu->merged = mem_alloc(n, sizeof(Island));
  cpu->column_body = mem_alloc(moving, sizeof(int));
  cpu->column_size = mem_alloc(moving, sizeof(int));
  cpu->right = mem_alloc(moving * 12, sizeof(double));
  cpu->diagonal = mem_alloc(moving * 144, sizeof(double));
  if (!broad_init(&cpu->broad, model) || !cpu->solver || !cpu->column || !cpu->parent || !cpu->merged || !cpu->column_body ||
      !cpu->column_size || !cpu->right || !cpu->diagonal) {
    cpu_destroy(cpu);
    return NULL;
  }
  for (int i = 0; i < model->body_count; i++) cpu->column[i] = -1;
  return cpu;
}

void cpu_destroy(Cpu *cpu) {
  if (!cpu) return;
  for (int k = 0; k < cpu->pair_count; k++) pair_destroy(&cpu->pair[k]);
  broad_destroy(&cpu->broad);
  if (cpu->solver) block_cholesky_destroy(cpu->solver);
  void *array[] = {cpu->pair, cpu->todo, cpu->column, cpu->column_body, cpu->column_size, cpu->edge, cpu->edge_pair, cpu->right,
                   cpu->diagonal, cpu->parent, cpu->merged};
  for (int k = 0; k < ARRAY_COUNT(array); k++) mem_free(array[k]);
  mem_free(cpu);
}
