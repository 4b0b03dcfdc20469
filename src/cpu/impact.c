/* Restitution over all pairs, see step/impact.h. */
#include "step/impact.h"

#include <string.h>

#include "cpu/cpu.h"
#include "kernel/constant.h"

typedef struct Bounce {
  Cpu *cpu;
  State *after;
  Twist *twist;  /* per body */
  bool *shocked; /* per body */
  Impact *impact;
  int *first; /* per pair: its first impact; -1 if it has none */
  int impact_count, impact_capacity;
  double threshold;
} Bounce;

static bool takes_part(const Bounce *b, const Pair *p) { return p->contact.count > 0 && !p->soft && b->first; }

static bool add_impacts(Bounce *b, int k) {
  Cpu *cpu = b->cpu;
  const Pair *p = pairs_at(&cpu->pairs, k);
  const Contact *contact = pair_contacts(p, &cpu->scene);
  b->first[k] = b->impact_count;
  if (!mem_reserve((void **)&b->impact, &b->impact_capacity, b->impact_count + p->contact.count, sizeof(Impact)))
    return false;
  for (int c = 0; c < p->contact.count; c++) b->impact[b->impact_count++] = impact_of(&cpu->work, p, &contact[c]);
  return true;
}

static Twist free_twist(const Bounce *b, int body) {
  const Work *w = &b->cpu->work;
  bool flies = b->cpu->model->body[body].motion == ABD_MOTION_DYNAMIC;
  return flies ? impact_free_twist(w, body) : impact_twist(w, body, &b->after->rate.body[body]);
}

/* Would the surfaces of pair k approach faster than the threshold without contact? */
static bool hits(Bounce *b, int k) {
  const Pair *p = pairs_at(&b->cpu->pairs, k);
  Twist x = free_twist(b, p->a), y = free_twist(b, p->b);
  for (int c = 0; c < p->contact.count; c++) {
    const Impact *i = &b->impact[b->first[k] + c];
    if (impact_approach(i, &x, &y) - i->late > b->threshold) return true;
  }
  return false;
}

/* Bodies of pairs that bounce. */
static bool find_shocked(Bounce *b, bool *any) {
  const Model *m = b->cpu->model;
  for (int k = 0; k < b->cpu->pairs.count; k++) {
    const Pair *p = pairs_at(&b->cpu->pairs, k);
    if (!takes_part(b, p) || !(model_restitution(m, p->a, p->b) > 0)) continue;
    if (!add_impacts(b, k)) return false;
    if (!hits(b, k)) continue;
    *any = true;
    b->shocked[p->a] = impact_gives_way(m, p->a);
    b->shocked[p->b] = impact_gives_way(m, p->b);
  }
  return true;
}

/* Bodies that a blow reached through others are shocked, too. */
static void spread_shocks(Bounce *b) {
  const Work *w = &b->cpu->work;
  for (bool again = true; again;) {
    again = false;
    for (int k = 0; k < b->cpu->pairs.count; k++) {
      const Pair *p = pairs_at(&b->cpu->pairs, k);
      if (!takes_part(b, p) || b->shocked[p->a] == b->shocked[p->b]) continue;
      int other = b->shocked[p->a] ? p->b : p->a;
      if (impact_shocked(w, other, b->threshold)) again = b->shocked[other] = true;
    }
  }
}

static void set_twists(Bounce *b) {
  const Model *m = b->cpu->model;
  for (int i = 0; i < m->body_count; i++) {
    if (m->body[i].soft) continue;
    b->twist[i] =
        b->shocked[i] ? impact_free_twist(&b->cpu->work, i) : impact_twist(&b->cpu->work, i, &b->after->rate.body[i]);
  }
}

static bool jointed(const Bounce *b, int body) { return b->cpu->flight.count && b->cpu->flight.index[body] >= 0; }

/* Velocities of jointed bodies after their joints' impulses. */
static Outcome project(Bounce *b) {
  const JointedFlight *f = &b->cpu->flight;
  const Model *m = b->cpu->model;
  const Work *w = &b->cpu->work;
  for (int k = 0; k < f->count; k++)
    if (!block_is_vertex(m, f->block[k]) && m->body[f->block[k]].motion == ABD_MOTION_DYNAMIC)
      b->after->rate.body[f->block[k]] = impact_rate(w, f->block[k], &b->twist[f->block[k]]);
  Outcome outcome = flight_project(b->cpu, b->after);
  for (int k = 0; k < f->count && !stage_failed(outcome); k++) {
    int i = f->block[k];
    if (block_is_vertex(m, i) || m->body[i].motion != ABD_MOTION_DYNAMIC) continue;
    b->twist[i].v = b->after->rate.body[i].n[0];
    b->twist[i].w = body_turn(&w->q.body[i], &b->after->rate.body[i]);
  }
  return outcome;
}

/* With joints the impulses of a pair change more than its two bodies, and the change is linear in them: it is scaled
 * such that the contact of the largest impulse reaches its target. */
static Outcome resolve_jointed(Bounce *b, const Pair *p, Impact *impact, const Twist *before) {
  const JointedFlight *f = &b->cpu->flight;
  const Impact *main = impact;
  for (int c = 1; c < p->contact.count; c++)
    if (impact[c].normal_impulse > main->normal_impulse) main = &impact[c];
  double start = impact_approach(main, &before[p->a], &before[p->b]);
  Outcome outcome = project(b);
  if (stage_failed(outcome)) return outcome;
  double change = start - impact_approach(main, &b->twist[p->a], &b->twist[p->b]);
  double factor = change > 0 ? (start + main->target) / change : 1;
  for (int k = 0; k < f->count + 2; k++) {
    int i = k < f->count ? f->block[k] : k == f->count ? p->a : p->b;
    if (block_is_vertex(b->cpu->model, i) || (k >= f->count && jointed(b, i))) continue;
    b->twist[i].v = add_scaled(before[i].v, factor, sub(b->twist[i].v, before[i].v));
    b->twist[i].w = add_scaled(before[i].w, factor, sub(b->twist[i].w, before[i].w));
  }
  return stage_done();
}

static Outcome resolve(Bounce *b, int k, Twist *before, bool *any) {
  const Model *m = b->cpu->model;
  const Pair *p = pairs_at(&b->cpu->pairs, k);
  Impact *impact = b->impact + b->first[k];
  bool joints = jointed(b, p->a) || jointed(b, p->b);
  if (joints) memcpy(before, b->twist, (size_t)m->body_count * sizeof *before);
  if (!impact_resolve(impact, p->contact.count, &b->twist[p->a], &b->twist[p->b], model_restitution(m, p->a, p->b),
                      p->mu, b->threshold, IMPACT_LEAST * b->threshold))
    return stage_done();
  *any = b->shocked[p->a] = b->shocked[p->b] = true;
  return joints ? resolve_jointed(b, p, impact, before) : stage_done();
}

static Outcome resolve_all(Bounce *b, Twist *before) {
  bool any = true;
  for (int sweep = 0; any && sweep < IMPACT_SWEEPS; sweep++) {
    any = false;
    for (int k = 0; k < b->cpu->pairs.count; k++) {
      const Pair *p = pairs_at(&b->cpu->pairs, k);
      if (!takes_part(b, p) || (!b->shocked[p->a] && !b->shocked[p->b])) continue;
      Outcome outcome = b->first[k] >= 0 || add_impacts(b, k) ? resolve(b, k, before, &any) : stage_from(false);
      if (stage_failed(outcome)) return outcome;
    }
  }
  return stage_done();
}

/* Bodies that bounced fly: the half step of forces at the end is theirs. */
static void put_velocities(Bounce *b) {
  const Model *m = b->cpu->model;
  const Work *w = &b->cpu->work;
  for (int i = 0; i < m->body_count; i++) {
    if (!b->shocked[i] || m->body[i].motion != ABD_MOTION_DYNAMIC || !(b->twist[i].inverse_mass > 0)) continue;
    b->after->rate.body[i] = impact_rate(w, i, &b->twist[i]);
    b->after->taken[i] = vec3(0, 0, 0);
  }
}

Outcome bounce(Cpu *cpu, State *after) {
  const Model *m = cpu->model;
  size_t bodies = (size_t)m->body_count;
  Bounce b = {.cpu = cpu, .after = after, .threshold = impact_threshold(m)};
  if (!m->has_restitution || m->def.integrator != ABD_INTEGRATOR_RIGID) return stage_done();
  b.twist = mem_alloc(bodies, sizeof(Twist));
  b.shocked = mem_zeroed(bodies, sizeof(bool));
  b.first = mem_alloc((size_t)cpu->pairs.count, sizeof(int));
  Twist *before = mem_alloc(bodies, sizeof(Twist));
  Outcome outcome = stage_from(b.twist && b.shocked && b.first && before);
  for (int k = 0; b.first && k < cpu->pairs.count; k++) b.first[k] = -1;
  bool any = false;
  if (!stage_failed(outcome)) outcome = stage_from(find_shocked(&b, &any));
  if (!stage_failed(outcome) && any) {
    spread_shocks(&b);
    set_twists(&b);
    outcome = resolve_all(&b, before);
    if (!stage_failed(outcome)) put_velocities(&b);
  }
  void *array[] = {b.twist, b.shocked, b.first, before, b.impact};
  for (int k = 0; k < ARRAY_COUNT(array); k++) mem_free(array[k]);
  return outcome;
}
