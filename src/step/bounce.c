/* Restitution over all pairs, see step/bounce.h. */
#include "step/bounce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/disjoint.h"
#include "kernel/constant.h"
#include "step/impact.h"

/* The contacts between two mechanisms, which are resolved together. A body without joints is its own mechanism; all
 * that does not give way is one. */
typedef struct Meeting {
  int side[2];
  int pair;         /* index */
  int first, count; /* impacts, of the first of the meetings with the same sides */
  int seen;         /* changes of velocities before it was resolved last; -1: never resolved */
  bool blow;        /* it had impulses in this step */
} Meeting;

typedef struct Bounce {
  const Work *work;
  const Pairs *pairs;
  const ContactScene *scene;
  JointedFlight *flight;
  State *after;
  Affine *solved; /* per body: its rate after the solve */
  Twist *twist;   /* per body */
  bool *shocked;  /* per body */
  bool *struck;   /* per jointed block: whether a body of the mechanism that it represents is shocked */
  int *changed;   /* per body that represents a mechanism: the last change of the mechanism's velocities */
  int changes;    /* of velocities so far */
  int *root;      /* per body, see base/disjoint.h: mechanisms that blows connect */
  bool *jammed;   /* per body that is a root */
  Impact *impact;
  Meeting *meeting; /* one per pair in contact; after joining, one per two mechanisms */
  int meeting_count, impact_count, impact_capacity;
  double threshold;
} Bounce;

static int side_of(const Bounce *b, int body) {
  return b->work->model->body[body].motion == ABD_MOTION_DYNAMIC ? mechanism_of(b->flight, body) : -1;
}

static int compare_meetings(const void *x, const void *y) {
  const Meeting *a = x, *b = y;
  for (int k = 0; k < 2; k++)
    if (a->side[k] != b->side[k]) return a->side[k] < b->side[k] ? -1 : 1;
  return a->pair < b->pair ? -1 : a->pair > b->pair;
}

static bool takes_part(const Pair *p) { return p->acting > 0 && !p->soft; }

static bool bounces(const Bounce *b) {
  for (int k = 0; k < b->pairs->count; k++) {
    const Pair *p = pairs_at(b->pairs, k);
    if (takes_part(p) && model_restitution(b->work->model, p->a, p->b) > 0) return true;
  }
  return false;
}

static bool add_impacts(Bounce *b, Meeting *m) {
  const Pair *p = pairs_at(b->pairs, m->pair);
  const Contact *contact = pair_contacts(p, b->scene);
  m->first = b->impact_count;
  if (!mem_reserve((void **)&b->impact, &b->impact_capacity, b->impact_count + p->acting, sizeof(Impact))) return false;
  for (int c = 0; c < p->acting; c++)
    if (contact[c].weight > 0) b->impact[b->impact_count++] = impact_of(b->work, p, &contact[c]);
  m->count = b->impact_count - m->first;
  return true;
}

static bool find_meetings(Bounce *b) {
  int count = 0;
  for (int k = 0; k < b->pairs->count; k++) {
    const Pair *p = pairs_at(b->pairs, k);
    if (!takes_part(p)) continue;
    int x = side_of(b, p->a), y = side_of(b, p->b);
    b->meeting[count++] = (Meeting){.side = {x < y ? x : y, x < y ? y : x}, .pair = k, .seen = -1};
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
  for (int side = 0; side < 2; side++) b->shocked[i->body[side]] |= impact_gives_way(b->work->model, i->body[side]);
}

/* Bodies whose surfaces would approach faster than the threshold without contact, and bounce. */
static bool find_shocked(Bounce *b) {
  const Model *m = b->work->model;
  bool any = false;
  for (int i = 0; i < m->body_count; i++) {
    if (m->body[i].soft) continue;
    b->twist[i] = m->body[i].motion == ABD_MOTION_DYNAMIC ? impact_free_twist(b->work, i)
                                                          : impact_twist(b->work, i, &b->after->rate.body[i]);
  }
  for (int k = 0; k < b->impact_count; k++) {
    const Impact *i = &b->impact[k];
    if (!(i->restitution > 0) || !(impact_approach(i, b->twist) - i->late > b->threshold)) continue;
    shock(b, i);
    any = true;
  }
  return any;
}

/* Joints pass a blow on at once: all bodies of a mechanism are shocked if one is. Returns whether others were. */
static bool shock_mechanisms(Bounce *b) {
  const JointedFlight *f = b->flight;
  const Model *m = b->work->model;
  bool any = false;
  for (int k = 0; k < f->count; k++)
    if (!block_is_vertex(m, f->block[k]) && b->shocked[f->block[k]]) b->struck[f->mechanism[k]] = true;
  for (int k = 0; k < f->count; k++) {
    int i = f->block[k];
    if (block_is_vertex(m, i) || b->shocked[i] || !b->struck[f->mechanism[k]] || !impact_gives_way(m, i)) continue;
    any = b->shocked[i] = true;
  }
  return any;
}

/* Bodies that a blow reached through others are shocked, too. */
static void spread_shocks(Bounce *b) {
  const Work *w = b->work;
  for (bool again = true; again;) {
    again = shock_mechanisms(b);
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
  const Model *m = b->work->model;
  for (int i = 0; i < m->body_count; i++)
    if (!m->body[i].soft && !b->shocked[i]) b->twist[i] = impact_twist(b->work, i, &b->after->rate.body[i]);
}

/* Velocities of jointed bodies after their joints' impulses. */
static Outcome project(Bounce *b) {
  const JointedFlight *f = b->flight;
  const Model *m = b->work->model;
  const Work *w = b->work;
  for (int k = 0; k < f->count; k++)
    if (!block_is_vertex(m, f->block[k]) && m->body[f->block[k]].motion == ABD_MOTION_DYNAMIC)
      b->after->rate.body[f->block[k]] = impact_rate(w, f->block[k], &b->twist[f->block[k]]);
  Outcome outcome = mechanism_project(b->flight, b->after);
  for (int k = 0; k < f->count && !stage_failed(outcome); k++) {
    int i = f->block[k];
    if (block_is_vertex(m, i) || m->body[i].motion != ABD_MOTION_DYNAMIC) continue;
    b->twist[i].v = b->after->rate.body[i].n[0];
    b->twist[i].w = body_turn(&w->q.body[i], &b->after->rate.body[i]);
  }
  return outcome;
}

/* ---- meetings of mechanisms ----
 *
 * With joints, impulses change more velocities than those of their own bodies, linearly. The impulses minimise
 * 1/2 J W J - J b with J >= 0, where b - W J is what the separation of each contact lacks, and its slip. A round takes
 * the impulses that would do if bodies were not joined as a direction, lets the joints answer, and goes along it to the
 * minimum. */

static double gap_of(const Impact *i, const Twist *twist) { return i->target + impact_approach(i, twist); }

/* The largest part of the fastest approach that a contact lacks, or has too much of while it pushes. */
static double miss(const Impact *impact, int count, const Twist *twist) {
  double worst = 0;
  for (int c = 0; c < count; c++) {
    double gap = gap_of(&impact[c], twist);
    worst = most(worst, impact[c].normal_impulse > 0 ? fabs(gap) : gap);
  }
  return worst;
}

/* The length of the step from `last` to `now` at which the energy is least and no impulse is negative. */
static double length_of(const Impact *last, const Impact *now, int count, const Twist *before, const Twist *after) {
  double slope = 0, curvature = 0, longest = INFINITY;
  for (int c = 0; c < count; c++) {
    double d = now[c].normal_impulse - last[c].normal_impulse;
    Vec3 t = sub(now[c].friction_impulse, last[c].friction_impulse), slip = impact_slip(&now[c], before);
    slope += d * gap_of(&now[c], before) - dot(t, slip);
    curvature += d * (impact_approach(&now[c], before) - impact_approach(&now[c], after)) +
                 dot(t, sub(impact_slip(&now[c], after), slip));
    if (d < 0) longest = least(longest, last[c].normal_impulse / -d);
  }
  return least(curvature > 0 ? slope / curvature : 1, longest);
}

static void go(Bounce *b, Impact *impact, int count, const Impact *last, const Twist *before, double length) {
  for (int c = 0; c < count; c++) {
    Impact *i = &impact[c];
    i->normal_impulse = last[c].normal_impulse + length * (i->normal_impulse - last[c].normal_impulse);
    i->friction_impulse =
        add_scaled(last[c].friction_impulse, length, sub(i->friction_impulse, last[c].friction_impulse));
  }
  for (int i = 0; i < b->work->model->body_count; i++) {
    if (b->work->model->body[i].soft) continue;
    b->twist[i].v = add_scaled(before[i].v, length, sub(b->twist[i].v, before[i].v));
    b->twist[i].w = add_scaled(before[i].w, length, sub(b->twist[i].w, before[i].w));
  }
}

static Outcome resolve_jointed(Bounce *b, Impact *impact, int count, Twist *before, double fastest) {
  Impact *last = mem_alloc((size_t)count, sizeof *last);
  Outcome outcome = stage_from(last != NULL);
  for (int round = 0; !stage_failed(outcome) && round < IMPACT_ROUNDS; round++) {
    if (round > 0 && miss(impact, count, b->twist) < IMPACT_JOINTED * fastest) break;
    memcpy(before, b->twist, (size_t)b->work->model->body_count * sizeof *before);
    memcpy(last, impact, (size_t)count * sizeof *last);
    impact_resolve(impact, count, b->twist, fastest);
    outcome = project(b);
    double length = length_of(last, impact, count, before, b->twist);
    go(b, impact, count, last, before, length);
    if (!(length > 0)) break;
  }
  mem_free(last);
  return outcome;
}

/* Velocities have changed since the meeting was resolved. */
static bool is_due(const Bounce *b, const Meeting *m) {
  for (int k = 0; k < 2; k++)
    if (m->side[k] >= 0 && b->changed[m->side[k]] > m->seen) return true;
  return false;
}

static void note_blow(Bounce *b, Meeting *m) {
  b->changes++;
  for (int k = 0; k < 2; k++)
    if (m->side[k] >= 0) b->changed[m->side[k]] = b->changes;
  for (int c = 0; c < m->count; c++) shock(b, &b->impact[m->first + c]);
  m->blow = true;
}

static Outcome resolve(Bounce *b, Meeting *m, Twist *before, bool *any) {
  Impact *impact = &b->impact[m->first];
  bool shocked = false, joints = false;
  for (int c = 0; c < m->count; c++)
    for (int side = 0; side < 2; side++) {
      shocked |= b->shocked[impact[c].body[side]];
      joints |= mechanism_has(b->flight, impact[c].body[side]);
    }
  m->seen = b->changes;
  if (!shocked) return stage_done();
  double fastest = impact_aim(impact, m->count, b->twist, b->threshold);
  if (!(fastest > IMPACT_LEAST * b->threshold)) return stage_done();
  Outcome outcome = stage_done();
  if (joints) outcome = resolve_jointed(b, impact, m->count, before, fastest);
  else impact_resolve(impact, m->count, b->twist, fastest);
  note_blow(b, m);
  *any = true;
  return outcome;
}

/* jams: blows still passed in the last sweep. */
static Outcome resolve_all(Bounce *b, Twist *before, bool *jams) {
  *jams = true;
  for (int sweep = 0; *jams && sweep < IMPACT_SWEEPS; sweep++) {
    *jams = false;
    for (int k = 0; k < b->meeting_count; k++) {
      if (!is_due(b, &b->meeting[k])) continue;
      Outcome outcome = stage_poll(b->work->model);
      if (!stage_failed(outcome)) outcome = resolve(b, &b->meeting[k], before, jams);
      if (stage_failed(outcome)) return outcome;
    }
  }
  return stage_done();
}

/* Light bodies between heavy ones take blows to and fro, without end if restitution is below 1. Then all bodies that
 * blows connect to them keep what the solve gave: together they do not bounce. */
static void settle_jammed(Bounce *b) {
  int bodies = b->work->model->body_count;
  for (int i = 0; i < bodies; i++) b->root[i] = i;
  for (int k = 0; k < b->meeting_count; k++) {
    const Meeting *m = &b->meeting[k];
    if (m->blow && m->side[0] >= 0) disjoint_join(b->root, m->side[0], m->side[1]);
  }
  for (int k = 0; k < b->meeting_count; k++) {
    const Meeting *m = &b->meeting[k];
    if (m->blow && impact_aim(&b->impact[m->first], m->count, b->twist, b->threshold) > b->threshold)
      b->jammed[disjoint_root(b->root, m->side[1])] = true;
  }
  for (int i = 0; i < bodies; i++) {
    if (!b->shocked[i] || !b->jammed[disjoint_root(b->root, mechanism_of(b->flight, i))]) continue;
    b->shocked[i] = false;
    b->after->rate.body[i] = b->solved[i];
  }
}

/* Bodies that bounced fly: the half step of forces at the end is theirs. */
static void put_velocities(Bounce *b) {
  const Model *m = b->work->model;
  const Work *w = b->work;
  for (int i = 0; i < m->body_count; i++) {
    if (!b->shocked[i] || !impact_gives_way(m, i)) continue;
    b->after->rate.body[i] = impact_rate(w, i, &b->twist[i]);
    b->after->taken[i] = (Flight){0};
  }
}

Outcome bounce(const Work *work, const Pairs *pairs, const ContactScene *scene, JointedFlight *flight, State *after) {
  const Model *m = work->model;
  size_t bodies = (size_t)m->body_count;
  Bounce b = {.work = work, .pairs = pairs, .scene = scene, .flight = flight, .after = after};
  b.threshold = impact_threshold(m);
  if (!m->has_restitution || !bounces(&b)) return stage_done();
  b.solved = mem_alloc(bodies, sizeof(Affine));
  b.changed = mem_zeroed(bodies, sizeof(int));
  b.root = mem_alloc(bodies, sizeof(int));
  b.jammed = mem_zeroed(bodies, sizeof(bool));
  b.twist = mem_zeroed(bodies, sizeof(Twist));
  b.shocked = mem_zeroed(bodies, sizeof(bool));
  b.meeting = mem_alloc((size_t)pairs->count, sizeof(Meeting));
  b.struck = mem_zeroed((size_t)flight->count + 1, sizeof(bool));
  Twist *before = mem_zeroed(bodies, sizeof(Twist));
  bool good = b.solved && b.changed && b.root && b.jammed && b.twist && b.shocked && b.struck && b.meeting && before;
  Outcome outcome = stage_from(good && find_meetings(&b));
  if (!stage_failed(outcome) && find_shocked(&b)) {
    bool jams;
    memcpy(b.solved, after->rate.body, bodies * sizeof(Affine));
    spread_shocks(&b);
    set_twists(&b);
    outcome = resolve_all(&b, before, &jams);
    shock_mechanisms(&b);
    if (!stage_failed(outcome) && jams) settle_jammed(&b);
    if (!stage_failed(outcome)) put_velocities(&b);
  }
  void *array[] = {b.solved, b.changed, b.root, b.jammed, b.twist, b.shocked, b.struck, b.meeting, before, b.impact};
  for (int k = 0; k < ARRAY_COUNT(array); k++) mem_free(array[k]);
  return outcome;
}
