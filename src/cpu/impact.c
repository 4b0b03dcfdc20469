/* Restitution over all pairs, see step/impact.h. */
#include "step/impact.h"

#include <stdlib.h>
#include <string.h>

#include "cpu/cpu.h"
#include "kernel/constant.h"

/* The contacts between two mechanisms, which are resolved together. A body without joints is its own mechanism; all
 * that does not give way is one. */
typedef struct Meeting {
  int side[2];
  int pair;         /* index */
  int first, count; /* impacts, of the first of the meetings with the same sides */
} Meeting;

typedef struct Bounce {
  Cpu *cpu;
  State *after;
  Twist *twist;  /* per body */
  bool *shocked; /* per body */
  Impact *impact;
  Meeting *meeting; /* one per pair in contact; after joining, one per two mechanisms */
  int meeting_count, impact_count, impact_capacity;
  double threshold;
} Bounce;

static int side_of(const Bounce *b, int body) {
  const JointedFlight *f = &b->cpu->flight;
  if (b->cpu->model->body[body].motion != ABD_MOTION_DYNAMIC) return -1;
  return f->count && f->index[body] >= 0 ? f->block[f->mechanism[f->index[body]]] : body;
}

static int compare_meetings(const void *x, const void *y) {
  const Meeting *a = x, *b = y;
  for (int k = 0; k < 2; k++)
    if (a->side[k] != b->side[k]) return a->side[k] < b->side[k] ? -1 : 1;
  return a->pair < b->pair ? -1 : a->pair > b->pair;
}

static bool takes_part(const Pair *p) { return p->contact.count > 0 && !p->soft; }

static bool bounces(const Bounce *b) {
  for (int k = 0; k < b->cpu->pairs.count; k++) {
    const Pair *p = pairs_at(&b->cpu->pairs, k);
    if (takes_part(p) && model_restitution(b->cpu->model, p->a, p->b) > 0) return true;
  }
  return false;
}

static bool add_impacts(Bounce *b, Meeting *m) {
  Cpu *cpu = b->cpu;
  const Pair *p = pairs_at(&cpu->pairs, m->pair);
  const Contact *contact = pair_contacts(p, &cpu->scene);
  m->first = b->impact_count;
  m->count = p->contact.count;
  if (!mem_reserve((void **)&b->impact, &b->impact_capacity, b->impact_count + m->count, sizeof(Impact))) return false;
  for (int c = 0; c < m->count; c++) b->impact[b->impact_count++] = impact_of(&cpu->work, p, &contact[c]);
  return true;
}

static bool find_meetings(Bounce *b) {
  int count = 0;
  for (int k = 0; k < b->cpu->pairs.count; k++) {
    const Pair *p = pairs_at(&b->cpu->pairs, k);
    if (!takes_part(p)) continue;
    int x = side_of(b, p->a), y = side_of(b, p->b);
    b->meeting[count++] = (Meeting){.side = {x < y ? x : y, x < y ? y : x}, .pair = k};
  }
  if (count > 1) qsort(b->meeting, (size_t)count, sizeof *b->meeting, compare_meetings);
  for (int k = 0; k < count; k++) {
    Meeting m = b->meeting[k], *last = b->meeting_count ? &b->meeting[b->meeting_count - 1] : NULL;
    if (!add_impacts(b, &m)) return false;
    if (last && last->side[0] == m.side[0] && last->side[1] == m.side[1]) last->count += m.count;
    else b->meeting[b->meeting_count++] = m;
  }
  return true;
}

static void shock(Bounce *b, const Impact *i) {
  for (int side = 0; side < 2; side++) b->shocked[i->body[side]] |= impact_gives_way(b->cpu->model, i->body[side]);
}

/* Bodies whose surfaces would approach faster than the threshold without contact, and bounce. */
static bool find_shocked(Bounce *b) {
  const Model *m = b->cpu->model;
  bool any = false;
  for (int i = 0; i < m->body_count; i++) {
    if (m->body[i].soft) continue;
    b->twist[i] = m->body[i].motion == ABD_MOTION_DYNAMIC ? impact_free_twist(&b->cpu->work, i)
                                                          : impact_twist(&b->cpu->work, i, &b->after->rate.body[i]);
  }
  for (int k = 0; k < b->impact_count; k++) {
    const Impact *i = &b->impact[k];
    if (!(i->restitution > 0) || !(impact_approach(i, b->twist) - i->late > b->threshold)) continue;
    shock(b, i);
    any = true;
  }
  return any;
}

/* Bodies that a blow reached through others are shocked, too. */
static void spread_shocks(Bounce *b) {
  const Work *w = &b->cpu->work;
  for (bool again = true; again;) {
    again = false;
    for (int k = 0; k < b->impact_count; k++) {
      const int *body = b->impact[k].body;
      if (b->shocked[body[0]] == b->shocked[body[1]]) continue;
      int other = b->shocked[body[0]] ? body[1] : body[0];
      if (impact_shocked(w, other, b->threshold)) again = b->shocked[other] = true;
    }
  }
}

/* The others keep the velocities that the solve gave. */
static void set_twists(Bounce *b) {
  const Model *m = b->cpu->model;
  for (int i = 0; i < m->body_count; i++)
    if (!m->body[i].soft && !b->shocked[i]) b->twist[i] = impact_twist(&b->cpu->work, i, &b->after->rate.body[i]);
}

static bool is_jointed(const Bounce *b, int body) { return b->cpu->flight.count && b->cpu->flight.index[body] >= 0; }

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

/* With joints the impulses of a meeting change more than its own bodies, and the change is linear in them: it is scaled
 * such that the contact of the largest impulse reaches its target. */
static Outcome pass_on(Bounce *b, const Meeting *m, const Twist *before) {
  const Impact *main = &b->impact[m->first];
  for (int c = 1; c < m->count; c++)
    if (b->impact[m->first + c].normal_impulse > main->normal_impulse) main = &b->impact[m->first + c];
  double start = impact_approach(main, before);
  Outcome outcome = project(b);
  if (stage_failed(outcome)) return outcome;
  double change = start - impact_approach(main, b->twist);
  double factor = change > 0 ? (start + main->target) / change : 1;
  for (int i = 0; i < b->cpu->model->body_count; i++) {
    if (b->cpu->model->body[i].soft) continue;
    b->twist[i].v = add_scaled(before[i].v, factor, sub(b->twist[i].v, before[i].v));
    b->twist[i].w = add_scaled(before[i].w, factor, sub(b->twist[i].w, before[i].w));
  }
  return stage_done();
}

static Outcome resolve(Bounce *b, const Meeting *m, Twist *before, bool *any) {
  Impact *impact = &b->impact[m->first];
  bool shocked = false, joints = false;
  for (int c = 0; c < m->count; c++)
    for (int side = 0; side < 2; side++) {
      shocked |= b->shocked[impact[c].body[side]];
      joints |= is_jointed(b, impact[c].body[side]);
    }
  if (!shocked) return stage_done();
  if (joints) memcpy(before, b->twist, (size_t)b->cpu->model->body_count * sizeof *before);
  if (!impact_resolve(impact, m->count, b->twist, b->threshold, IMPACT_LEAST * b->threshold)) return stage_done();
  for (int c = 0; c < m->count; c++) shock(b, &impact[c]);
  *any = true;
  return joints ? pass_on(b, m, before) : stage_done();
}

static Outcome resolve_all(Bounce *b, Twist *before) {
  bool any = true;
  for (int sweep = 0; any && sweep < IMPACT_SWEEPS; sweep++) {
    any = false;
    for (int k = 0; k < b->meeting_count; k++) {
      Outcome outcome = stage_poll(b->cpu->model);
      if (!stage_failed(outcome)) outcome = resolve(b, &b->meeting[k], before, &any);
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
  if (!m->has_restitution || !bounces(&b)) return stage_done();
  b.twist = mem_zeroed(bodies, sizeof(Twist));
  b.shocked = mem_zeroed(bodies, sizeof(bool));
  b.meeting = mem_alloc((size_t)cpu->pairs.count, sizeof(Meeting));
  Twist *before = mem_zeroed(bodies, sizeof(Twist));
  Outcome outcome = stage_from(b.twist && b.shocked && b.meeting && before && find_meetings(&b));
  if (!stage_failed(outcome) && find_shocked(&b)) {
    spread_shocks(&b);
    set_twists(&b);
    outcome = resolve_all(&b, before);
    if (!stage_failed(outcome)) put_velocities(&b);
  }
  void *array[] = {b.twist, b.shocked, b.meeting, before, b.impact};
  for (int k = 0; k < ARRAY_COUNT(array); k++) mem_free(array[k]);
  return outcome;
}
