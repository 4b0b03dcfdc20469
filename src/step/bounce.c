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
  Blows *blows;
  Affine *solved;   /* per body: its rate after the solve */
  Twist *twist;     /* per body */
  Twist *before;    /* scratch: per body */
  bool *shocked;    /* per body */
  bool *struck;     /* per jointed block: whether a body of the mechanism that it represents is shocked */
  int *changed;     /* per body that represents a mechanism: the last change of the mechanism's velocities */
  int changes;      /* of velocities so far */
  int *root;        /* per body, see base/disjoint.h: mechanisms that blows connect */
  bool *jammed;     /* per body that is a root */
  Affine *force[2]; /* JointedFlight.force before a round, and before all of them; row_force likewise */
  double *row_force[2];
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

/* A place for the blow of each contact. */
static bool add_blows(Bounce *b) {
  Blows *blows = b->blows;
  int count = 0;
  if (!mem_reserve((void **)&blows->first, &blows->first_capacity, b->pairs->count, sizeof(int))) return false;
  for (int k = 0; k < b->pairs->count; k++) {
    const Pair *p = pairs_at(b->pairs, k);
    blows->first[k] = count;
    count += takes_part(p) ? p->acting : 0;
  }
  if (!mem_reserve((void **)&blows->blow, &blows->blow_capacity, count, sizeof(Blow))) return false;
  memset(blows->blow, 0, (size_t)count * sizeof(Blow));
  return true;
}

static bool add_impacts(Bounce *b, Meeting *m) {
  const Pair *p = pairs_at(b->pairs, m->pair);
  const Contact *contact = pair_contacts(p, b->scene);
  m->first = b->impact_count;
  if (!mem_reserve((void **)&b->impact, &b->impact_capacity, b->impact_count + p->acting, sizeof(Impact))) return false;
  for (int c = 0; c < p->acting; c++) {
    if (!(contact[c].weight > 0)) continue;
    b->impact[b->impact_count] = impact_of(b->work, p, &contact[c]);
    b->impact[b->impact_count++].blow = b->blows->first[m->pair] + c;
  }
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
  for (int i = 0; i < m->body_count; i++) b->work->bounced[i] = b->shocked[i];
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

/* Arrays of the forces of joints: per jointed block, then per row. */
static void copy_forces(Bounce *b, int to) {
  const JointedFlight *f = b->flight;
  for (int k = 0; k < f->count; k++) b->force[to][k] = f->force[k];
  for (int r = 0; r < f->row_count; r++) b->row_force[to][r] = f->row_force[r];
}

/* The joints answer to impulses of that length, too. */
static void go_forces(Bounce *b, double length) {
  JointedFlight *f = b->flight;
  for (int k = 0; k < f->count; k++)
    f->force[k] = affine_add_scaled(b->force[0][k], length, affine_sub(f->force[k], b->force[0][k]));
  for (int r = 0; r < f->row_count; r++)
    f->row_force[r] = b->row_force[0][r] + length * (f->row_force[r] - b->row_force[0][r]);
}

static Outcome resolve_jointed(Bounce *b, Impact *impact, int count, double fastest) {
  Twist *before = b->before;
  Impact *last = mem_alloc((size_t)count, sizeof *last);
  Outcome outcome = stage_from(last != NULL);
  for (int round = 0; !stage_failed(outcome) && round < IMPACT_ROUNDS; round++) {
    if (round > 0 && miss(impact, count, b->twist) < IMPACT_JOINTED * fastest) break;
    memcpy(before, b->twist, (size_t)b->work->model->body_count * sizeof *before);
    memcpy(last, impact, (size_t)count * sizeof *last);
    copy_forces(b, 0);
    impact_resolve(impact, count, b->twist, fastest);
    outcome = project(b);
    double length = length_of(last, impact, count, before, b->twist);
    go(b, impact, count, last, before, length);
    go_forces(b, length);
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
  for (int c = m->first; c < m->first + m->count; c++) {
    Blow *blow = &b->blows->blow[b->impact[c].blow];
    blow->normal += b->impact[c].normal_impulse;
    blow->friction = add(blow->friction, b->impact[c].friction_impulse);
  }
  b->changes++;
  for (int k = 0; k < 2; k++)
    if (m->side[k] >= 0) b->changed[m->side[k]] = b->changes;
  for (int c = 0; c < m->count; c++) shock(b, &b->impact[m->first + c]);
  m->blow = true;
}

static Outcome resolve(Bounce *b, Meeting *m, bool *any) {
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
  if (joints) outcome = resolve_jointed(b, impact, m->count, fastest);
  else impact_resolve(impact, m->count, b->twist, fastest);
  note_blow(b, m);
  *any = true;
  return outcome;
}

/* jams: blows still passed in the last sweep. */
static Outcome resolve_all(Bounce *b, bool *jams) {
  *jams = true;
  for (int sweep = 0; *jams && sweep < IMPACT_SWEEPS; sweep++) {
    *jams = false;
    for (int k = 0; k < b->meeting_count; k++) {
      if (!is_due(b, &b->meeting[k])) continue;
      Outcome outcome = stage_poll(b->work->model);
      if (!stage_failed(outcome)) outcome = resolve(b, &b->meeting[k], jams);
      if (stage_failed(outcome)) return outcome;
    }
  }
  return stage_done();
}

static bool is_jammed(Bounce *b, int side) { return b->jammed[disjoint_root(b->root, side)]; }

/* Blows and forces of joints without those of jammed bodies. */
static void drop_blows(Bounce *b) {
  JointedFlight *f = b->flight;
  for (int k = 0; k < b->meeting_count; k++) {
    const Meeting *m = &b->meeting[k];
    for (int c = m->first; m->blow && is_jammed(b, m->side[1]) && c < m->first + m->count; c++)
      b->blows->blow[b->impact[c].blow] = (Blow){0};
  }
  for (int k = 0; k < f->count; k++)
    if (!block_is_vertex(b->work->model, f->block[k]) && is_jammed(b, mechanism_of(f, f->block[k])))
      f->force[k] = b->force[1][k];
  for (int r = 0; r < f->row_count; r++)
    if (f->row[r].jet.count > 0 && is_jammed(b, mechanism_of(f, f->row[r].jet.body[0])))
      f->row_force[r] = b->row_force[1][r];
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
    if (!b->shocked[i] || !is_jammed(b, mechanism_of(b->flight, i))) continue;
    b->shocked[i] = b->work->bounced[i] = false;
    b->after->rate.body[i] = b->solved[i];
  }
  drop_blows(b);
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

static bool allocate(Bounce *b) {
  size_t bodies = (size_t)b->work->model->body_count, blocks = (size_t)b->flight->count + 1,
         rows = (size_t)b->flight->row_count + 1;
  bool good = true;
  b->solved = mem_alloc(bodies, sizeof(Affine));
  b->changed = mem_zeroed(bodies, sizeof(int));
  b->root = mem_alloc(bodies, sizeof(int));
  b->jammed = mem_zeroed(bodies, sizeof(bool));
  b->twist = mem_zeroed(bodies, sizeof(Twist));
  b->before = mem_zeroed(bodies, sizeof(Twist));
  b->shocked = mem_zeroed(bodies, sizeof(bool));
  b->meeting = mem_alloc((size_t)b->pairs->count, sizeof(Meeting));
  b->struck = mem_zeroed(blocks, sizeof(bool));
  for (int k = 0; k < 2; k++) {
    b->force[k] = mem_alloc(blocks, sizeof(Affine));
    b->row_force[k] = mem_alloc(rows, sizeof(double));
    good &= b->force[k] && b->row_force[k];
  }
  good &= b->solved && b->changed && b->root && b->jammed && b->twist && b->before;
  return good && b->shocked && b->meeting && b->struck && add_blows(b) && find_meetings(b);
}

static Outcome bounce_shocked(Bounce *b) {
  bool jams;
  memcpy(b->solved, b->after->rate.body, (size_t)b->work->model->body_count * sizeof(Affine));
  copy_forces(b, 1);
  b->blows->any = true;
  spread_shocks(b);
  set_twists(b);
  Outcome outcome = resolve_all(b, &jams);
  if (stage_failed(outcome)) return outcome;
  shock_mechanisms(b);
  if (jams) settle_jammed(b);
  put_velocities(b);
  return outcome;
}

Outcome bounce(const Work *work, const Pairs *pairs, const ContactScene *scene, JointedFlight *flight, State *after,
               Blows *blows) {
  const Model *m = work->model;
  Bounce b = {.work = work, .pairs = pairs, .scene = scene, .flight = flight, .after = after, .blows = blows};
  if (blows->any) memset(work->bounced, 0, (size_t)m->body_count * sizeof(bool));
  blows->any = false;
  b.threshold = impact_threshold(m);
  if (!m->has_restitution || !bounces(&b)) return stage_done();
  Outcome outcome = stage_from(allocate(&b));
  if (!stage_failed(outcome) && find_shocked(&b)) outcome = bounce_shocked(&b);
  void *array[] = {b.solved,  b.changed, b.root,     b.jammed,   b.twist,        b.before,       b.shocked,
                   b.meeting, b.struck,  b.force[0], b.force[1], b.row_force[0], b.row_force[1], b.impact};
  for (int k = 0; k < ARRAY_COUNT(array); k++) mem_free(array[k]);
  return outcome;
}

void blows_describe(const Blows *blows, const Work *work, const Pairs *pairs, int k, int index, AbdContact *contact) {
  const Pair *p = pairs_at(pairs, k);
  if (!blows->any || !takes_part(p)) return;
  const Blow *blow = &blows->blow[blows->first[k] + index];
  if (work->bounced[p->a] || work->bounced[p->b]) {
    contact->normal_force = 0;
    for (int i = 0; i < 3; i++) contact->friction_force[i] = contact->torque[i] = 0;
  }
  contact->normal_force += blow->normal / work->h;
  vec3_to(contact->friction_force, add_scaled(vec3_from(contact->friction_force), 1 / work->h, blow->friction));
}

void blows_destroy(Blows *blows) {
  mem_free(blows->first);
  mem_free(blows->blow);
  *blows = (Blows){0};
}
