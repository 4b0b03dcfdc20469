/* Restitution over all pairs, see step/bounce.h. */
#include "step/bounce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/disjoint.h"
#include "contact/describe.h"
#include "kernel/constant.h"
#include "step/impact.h"

/* The contacts between two mechanisms, which are resolved together. A body without joints is its own mechanism; all
 * that does not give way is one, and its meeting with a mechanism has the contacts of that with itself. */
typedef struct Meeting {
  int side[2];
  int pair;          /* index */
  int first, count;  /* impacts, of the first of the meetings with the same sides */
  Coupling coupling; /* of bodies on joints */
  int seen;          /* changes of velocities before it was resolved last; -1: never resolved */
  bool ready;        /* its coupling and the mobilities of its impacts are known */
  bool held;         /* no impulse parts the surfaces */
  bool failed;       /* there are no impulses for it */
  bool blow;         /* it had impulses in this step */
} Meeting;

typedef struct Bounce {
  const Work *work;
  const Pairs *pairs;
  const ContactScene *scene;
  JointedFlight *flight;
  LoneMechanism lone; /* the mechanism whose velocities are projected */
  State *after;
  Blows *blows;
  Affine *solved; /* per body: its rate after the solve */
  Twist *twist;   /* per body */
  Twist *before;  /* scratch: per body */
  bool *shocked;  /* per body */
  bool *struck;   /* per jointed block: whether a body of the mechanism that it represents is shocked */
  bool *freed;    /* likewise: it got back the velocities without contact, which need not satisfy the joints yet */
  int *changed;   /* per body that represents a mechanism: the last change of the mechanism's velocities */
  int changes;    /* of velocities so far */
  bool failed;    /* a meeting has */
  int *root;      /* per body, see base/disjoint.h: mechanisms that blows connect */
  bool *jammed;   /* per body that is a root; until the end scratch, false */
  Affine *rate;   /* per jointed block: kept */
  Affine *joined; /* per jointed block: its rate after the solve */
  Affine *force;  /* JointedFlight.force before the first round; row_force likewise */
  double *row_force;
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
    int x = side_of(b, p->a), y = side_of(b, p->b), less = x < y ? x : y;
    b->meeting[count++] = (Meeting){.side = {x == y ? -1 : less, x < y ? y : x}, .pair = k, .seen = -1};
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

/* ---- joints ----
 *
 * Projected rates satisfy the joints. That of the sum of two velocities is the sum of theirs: what joints make of the
 * changes by impulses is found without the velocities themselves, whose rounding may be larger. */

static bool is_free_body(const Bounce *b, int block) {
  const Model *m = b->work->model;
  return !block_is_vertex(m, block) && m->body[block].motion == ABD_MOTION_DYNAMIC;
}

/* The place of the first block of the mechanism that a side of a meeting is; -1 if it has no joint. */
static int first_place(const Bounce *b, int block) {
  return block >= 0 && mechanism_has(b->flight, block) ? b->flight->mechanism[b->flight->index[block]] : -1;
}

/* The rates of its bodies are those of their twists. */
static void put_rates(Bounce *b, int first) {
  const JointedFlight *f = b->flight;
  for (int k = first; k >= 0; k = f->next[k])
    if (is_free_body(b, f->block[k]))
      b->after->rate.body[f->block[k]] = impact_rate(b->work, f->block[k], &b->twist[f->block[k]]);
}

static void take_twists(Bounce *b, int first) {
  const JointedFlight *f = b->flight;
  for (int k = first; k >= 0; k = f->next[k]) {
    int i = f->block[k];
    if (!is_free_body(b, i)) continue;
    b->twist[i].v = b->after->rate.body[i].n[0];
    b->twist[i].w = body_turn(&b->work->q.body[i], &b->after->rate.body[i]);
  }
}

static Outcome satisfy_mechanism(Bounce *b, int first) {
  put_rates(b, first);
  lone_choose(&b->lone, first);
  Outcome outcome = mechanism_project(&b->lone.flight, b->after);
  if (stage_failed(outcome)) return outcome;
  lone_push(&b->lone, 1);
  take_twists(b, first);
  return outcome;
}

/* Free flights end at other poses, at which the joints may demand other velocities. */
static Outcome satisfy_joints(Bounce *b) {
  Outcome outcome = stage_done();
  for (int k = 0; k < b->flight->count && !stage_failed(outcome); k++) {
    if (!b->freed[k]) continue;
    b->freed[k] = false;
    outcome = satisfy_mechanism(b, k);
  }
  return outcome;
}

/* What the joints make of changes of twists of a mechanism, or of a body without joints. The rates before are kept. */
static Outcome answer(Bounce *b, int side) {
  const JointedFlight *f = b->flight;
  int first = first_place(b, side);
  if (first < 0) return stage_done();
  for (int k = first; k >= 0; k = f->next[k]) {
    b->rate[k] = node_vector(b->work->model, b->after->rate, f->block[k]);
    node_put(b->work->model, b->after->rate, f->block[k], affine(vec3(0, 0, 0), mat3_zero()));
  }
  put_rates(b, first);
  lone_choose(&b->lone, first);
  Outcome outcome = mechanism_project(&b->lone.flight, b->after);
  take_twists(b, first);
  return outcome;
}

/* The body itself if it is dynamic, or else the next one of its mechanism that is; -1: none. */
static int body_from(const Bounce *b, int block) {
  const JointedFlight *f = b->flight;
  if (block < 0 || is_free_body(b, block)) return block;
  int k = f->next[f->index[block]];
  while (k >= 0 && !is_free_body(b, f->block[k])) k = f->next[k];
  return k < 0 ? -1 : f->block[k];
}

static int next_body(const Bounce *b, int body) {
  int k = mechanism_has(b->flight, body) ? b->flight->next[b->flight->index[body]] : -1;
  return k < 0 ? -1 : body_from(b, b->flight->block[k]);
}

/* Adds the changes that were answered, or none, to the twists of before. */
static void add_answer(Bounce *b, int side, double part) {
  const JointedFlight *f = b->flight;
  int first = first_place(b, side);
  for (int i = body_from(b, side); i >= 0; i = next_body(b, i)) {
    b->twist[i].v = add_scaled(b->before[i].v, part, b->twist[i].v);
    b->twist[i].w = add_scaled(b->before[i].w, part, b->twist[i].w);
  }
  for (int k = first; k >= 0; k = f->next[k]) {
    int i = f->block[k];
    Affine change = node_vector(b->work->model, b->after->rate, i);
    double moved = block_is_vertex(b->work->model, i) ? part : 0;
    node_put(b->work->model, b->after->rate, i, affine_add_scaled(b->rate[k], moved, change));
  }
  if (first >= 0) lone_push(&b->lone, part);
}

/* ---- meetings of mechanisms ----
 *
 * With joints, impulses change more velocities than those of their own bodies, linearly. What one on each body of a
 * meeting does to those of its mechanism is found once. */

static bool list_bodies(Bounce *b, Meeting *m) {
  Coupling *c = &m->coupling;
  c->body = mem_alloc(2 * (size_t)m->count, sizeof *c->body);
  for (int k = 0; c->body && k < m->count; k++)
    for (int side = 0; side < 2; side++) {
      Impact *i = &b->impact[m->first + k];
      int place = 0;
      while (place < c->count && c->body[place] != i->body[side]) place++;
      bool gives_way = impact_gives_way(b->work->model, i->body[side]);
      if (gives_way && place == c->count) c->body[c->count++] = i->body[side];
      i->place[side] = gives_way ? place : -1;
    }
  c->response = mem_zeroed((size_t)c->count * (size_t)c->count + 1, sizeof *c->response);
  return c->body && c->response;
}

/* Of a mechanism, or of a body without joints. */
static void keep_twists(Bounce *b, int side) {
  for (int i = body_from(b, side); i >= 0; i = next_body(b, i)) b->before[i] = b->twist[i];
}

/* From here on its twists are changes. */
static void begin_changes(Bounce *b, int side) {
  for (int i = body_from(b, side); i >= 0; i = next_body(b, i)) b->twist[i].v = b->twist[i].w = vec3(0, 0, 0);
}

/* What a unit impulse along an axis on a body of the meeting does to those of its mechanism, or one that turns it. */
static Outcome find_response(Bounce *b, Meeting *m, int from, int axis, bool turns) {
  const Coupling *c = &m->coupling;
  Vec3 impulse = vec3(axis == 0, axis == 1, axis == 2);
  int side = mechanism_of(b->flight, c->body[from]);
  keep_twists(b, side);
  begin_changes(b, side);
  Twist *t = &b->twist[c->body[from]];
  if (turns) t->w = mat3_mul_vec(t->inverse_inertia, impulse);
  else t->v = vec3(t->inverse_mass.x * impulse.x, t->inverse_mass.y * impulse.y, t->inverse_mass.z * impulse.z);
  Outcome outcome = answer(b, side);
  for (int to = 0; to < c->count; to++) {
    if (mechanism_of(b->flight, c->body[to]) != side) continue;
    Response *r = &c->response[from * c->count + to];
    r->v[turns].c[axis] = b->twist[c->body[to]].v;
    r->w[turns].c[axis] = b->twist[c->body[to]].w;
  }
  add_answer(b, side, 0);
  return outcome;
}

static Outcome find_responses(Bounce *b, Meeting *m, int from) {
  Outcome outcome = stage_done();
  for (int k = 0; k < 6 && !stage_failed(outcome); k++) {
    outcome = stage_poll(b->work->model);
    if (!stage_failed(outcome)) outcome = find_response(b, m, from, k % 3, k >= 3);
  }
  return outcome;
}

/* One mechanism after the other, as each has a factor of its own. */
static Outcome couple(Bounce *b, Meeting *m) {
  Outcome outcome = stage_from(list_bodies(b, m));
  for (int side = 0; side < 2; side++)
    for (int from = 0; from < m->coupling.count && !stage_failed(outcome); from++)
      if (mechanism_of(b->flight, m->coupling.body[from]) == m->side[side]) outcome = find_responses(b, m, from);
  return outcome;
}

/* [m/s] Changes of speed at which impulses end. What remains of approaches that do not bounce waits for the next sweep,
 * or is too slow to be resolved. */
static double enough(const Bounce *b, double fastest) {
  return (fastest > b->threshold ? IMPACT_SMALL : IMPACT_SLOW) * fastest;
}

/* Before the first impulses. */
static Outcome prepare(Bounce *b, Meeting *m, bool joints) {
  Outcome outcome = joints ? couple(b, m) : stage_done();
  m->ready = m->held = true;
  for (int k = m->first; k < m->first + m->count && !stage_failed(outcome); k++) {
    impact_set_mobility(&b->impact[k], joints ? &m->coupling : NULL, b->twist);
    m->held &= !(b->impact[k].normal_mobility > 0);
  }
  return outcome;
}

static Outcome resolve_jointed(Bounce *b, Meeting *m, double fastest) {
  Impact *impact = &b->impact[m->first];
  Outcome outcome = stage_done();
  for (int side = 0; side < 2; side++) keep_twists(b, m->side[side]);
  m->failed = !impact_resolve(impact, m->count, &m->coupling, b->twist, fastest, enough(b, fastest));
  for (int side = 0; side < 2; side++) begin_changes(b, m->side[side]);
  for (int k = 0; k < m->count && !m->failed; k++) {
    const Impact *i = &impact[k];
    impact_push(i, b->twist, add_scaled(i->friction_impulse, i->normal_impulse, i->normal));
  }
  for (int side = 0; side < 2 && !stage_failed(outcome); side++) {
    outcome = answer(b, m->side[side]);
    add_answer(b, m->side[side], 1);
  }
  return outcome;
}

static void resolve_free(Bounce *b, Meeting *m, double fastest) {
  Impact *impact = &b->impact[m->first];
  for (int k = 0; k < 2 * m->count; k++) b->before[impact[k / 2].body[k % 2]] = b->twist[impact[k / 2].body[k % 2]];
  m->failed = !impact_resolve(impact, m->count, NULL, b->twist, fastest, enough(b, fastest));
  for (int k = 0; m->failed && k < 2 * m->count; k++)
    b->twist[impact[k / 2].body[k % 2]] = b->before[impact[k / 2].body[k % 2]];
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

/* [m/s] by which blows changed the velocity that the solve gave to a body. */
static double blown(const Bounce *b, int i) {
  Twist solved = impact_twist(b->work, i, &b->solved[i]);
  return norm(sub(b->twist[i].v, solved.v)) +
         block_mesh(b->work->model, i)->radius * norm(sub(b->twist[i].w, solved.w));
}

/* The solve passed a blow on to the body, and blows pass it on again: the body loses the former. */
static void take_back(Bounce *b, int i) {
  Twist solved = impact_twist(b->work, i, &b->solved[i]), free = impact_free_twist(b->work, i);
  b->twist[i].v = add(b->twist[i].v, sub(free.v, solved.v));
  b->twist[i].w = add(b->twist[i].w, sub(free.w, solved.w));
  b->shocked[i] = b->work->bounced[i] = true;
  b->changed[mechanism_of(b->flight, i)] = ++b->changes;
}

/* reached: per body that represents a mechanism; false afterwards. */
static void take_back_all(Bounce *b, bool *reached) {
  const JointedFlight *f = b->flight;
  const Model *m = b->work->model;
  for (int i = 0; i < m->body_count; i++)
    if (reached[mechanism_of(f, i)] && impact_gives_way(m, i) && !b->work->bounced[i]) take_back(b, i);
  for (int k = 0; k < f->count; k++)
    if (!block_is_vertex(m, f->block[k]) && reached[f->block[k]]) b->struck[k] = b->freed[k] = true;
  memset(reached, 0, (size_t)m->body_count * sizeof *reached);
}

/* Would a blow between two bodies at this speed change the one that kept the velocity of the solve? */
static bool passes_on(const Bounce *b, const Impact *i, int side, double speed) {
  const Model *m = b->work->model;
  int body = i->body[side], other = i->body[1 - side];
  if (b->work->bounced[body] || !impact_gives_way(m, body)) return false;
  double mass = m->body[body].mass, hit = m->body[other].mass;
  double share = impact_gives_way(m, other) ? hit / (hit + mass) : 1;
  return (1 + i->restitution) * share * speed > IMPACT_LEAST * b->threshold;
}

/* Bodies that kept the velocities of the solve lose what it did before a blow of the meeting reaches them, with their
 * mechanisms: else they would have the momentum of the blow twice. Returns whether there were any. */
static bool free_sides(Bounce *b, const Meeting *m, double speed) {
  bool any = false, *reached = b->jammed;
  for (int c = m->first; c < m->first + m->count; c++)
    for (int side = 0; side < 2; side++)
      if (passes_on(b, &b->impact[c], side, speed))
        any = reached[mechanism_of(b->flight, b->impact[c].body[side])] = true;
  if (any) take_back_all(b, reached);
  return any;
}

/* The same of bodies that blows have changed. */
static bool free_blown(Bounce *b) {
  bool any = false, *reached = b->jammed;
  for (int i = 0; i < b->work->model->body_count; i++) {
    if (!b->shocked[i] || b->work->bounced[i] || !(blown(b, i) > IMPACT_LEAST * b->threshold)) continue;
    any = reached[mechanism_of(b->flight, i)] = true;
  }
  if (any) take_back_all(b, reached);
  return any;
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
  if (!shocked || m->failed || m->held) return stage_done();
  double fastest = impact_aim(impact, m->count, b->twist, b->threshold);
  if (!(fastest > IMPACT_SLOW * b->threshold)) return stage_done();
  Outcome outcome = stage_done();
  if (free_sides(b, m, fastest)) {
    outcome = satisfy_joints(b);
    if (stage_failed(outcome)) return outcome;
    fastest = impact_aim(impact, m->count, b->twist, b->threshold);
    if (!(fastest > IMPACT_SLOW * b->threshold)) return outcome;
  }
  if (!m->ready) outcome = prepare(b, m, joints);
  if (stage_failed(outcome) || m->held) return outcome;
  if (joints) outcome = resolve_jointed(b, m, fastest);
  else resolve_free(b, m, fastest);
  b->failed |= m->failed;
  if (m->failed || stage_failed(outcome)) return outcome;
  for (int c = 0; c < m->count; c++) impact[c].late = 0; /* the next approach is due to other impacts */
  note_blow(b, m);
  *any = true;
  return outcome;
}

static Outcome sweep(Bounce *b, bool *any) {
  *any = false;
  for (int k = 0; k < b->meeting_count; k++) {
    if (!is_due(b, &b->meeting[k])) continue;
    Outcome outcome = stage_poll(b->work->model);
    if (!stage_failed(outcome)) outcome = resolve(b, &b->meeting[k], any);
    if (stage_failed(outcome)) return outcome;
  }
  return stage_done();
}

/* jams: blows still passed in the last sweep. */
static Outcome resolve_all(Bounce *b, bool *jams) {
  Outcome outcome = stage_done();
  *jams = true;
  for (int k = 0; *jams && k < IMPACT_SWEEPS && !stage_failed(outcome); k++) {
    outcome = sweep(b, jams);
    if (stage_failed(outcome) || !free_blown(b)) continue;
    *jams = true;
    outcome = satisfy_joints(b);
  }
  return outcome;
}

static bool is_jammed(Bounce *b, int side) { return b->jammed[disjoint_root(b->root, side)]; }

/* Is jointed block k one of a jammed mechanism? Vertices that are attached to the world alone are none of a body. */
static bool block_jams(Bounce *b, int k) {
  int first = mechanism_of(b->flight, b->flight->block[k]);
  return !block_is_vertex(b->work->model, first) && is_jammed(b, first);
}

/* Blows, forces of joints and velocities of attached vertices without those of jammed bodies. */
static void drop_blows(Bounce *b) {
  JointedFlight *f = b->flight;
  for (int k = 0; k < b->meeting_count; k++) {
    const Meeting *m = &b->meeting[k];
    for (int c = m->first; m->blow && is_jammed(b, m->side[1]) && c < m->first + m->count; c++)
      b->blows->blow[b->impact[c].blow] = (Blow){0};
  }
  for (int k = 0; k < f->count; k++) {
    if (!block_jams(b, k)) continue;
    f->force[k] = b->force[k];
    if (block_is_vertex(b->work->model, f->block[k]))
      node_put(b->work->model, b->after->rate, f->block[k], b->joined[k]);
  }
  for (int r = 0; r < f->row_count; r++)
    if (f->row[r].jet.count > 0 && is_jammed(b, mechanism_of(f, f->row[r].jet.body[0])))
      f->row_force[r] = b->row_force[r];
}

/* Blows passed, and the surfaces approach all the same. */
static bool still_meets(const Bounce *b, const Meeting *m) {
  return m->blow && impact_aim(&b->impact[m->first], m->count, b->twist, b->threshold) > b->threshold;
}

/* Did the solve change the velocity of a body of the pair by more than the threshold through their contacts, and did
 * both lose this? */
static bool solve_passes(const Bounce *b, const Pair *p) {
  const Work *w = b->work;
  Vec3 force = vec3(0, 0, 0);
  if (!takes_part(p) || !w->bounced[p->a] || !w->bounced[p->b]) return false;
  for (int c = 0; c < p->acting; c++) {
    AbdContact solve = contact_describe(p, c, b->scene, &w->q.body[p->a], &w->q.body[p->b], w->h2);
    force = add_scaled(add(force, vec3_from(solve.friction_force)), solve.normal_force, vec3_from(solve.normal));
  }
  return w->h * norm(force) > b->threshold * least(w->model->body[p->a].mass, w->model->body[p->b].mass);
}

/* Mechanisms are connected by blows, also by those of the solve: if only one of two kept the velocities of the solve,
 * the momentum that passed between them would be lost. */
static void connect_blown(Bounce *b) {
  for (int k = 0; k < b->meeting_count; k++) {
    const Meeting *m = &b->meeting[k];
    if ((m->blow || m->failed) && m->side[0] >= 0) disjoint_join(b->root, m->side[0], m->side[1]);
  }
  for (int k = 0; k < b->pairs->count; k++) {
    const Pair *p = pairs_at(b->pairs, k);
    if (solve_passes(b, p)) disjoint_join(b->root, side_of(b, p->a), side_of(b, p->b));
  }
}

/* Light bodies between heavy ones take blows to and fro, without end if restitution is below 1; others have no impulses
 * (impact_resolve). Then all bodies that blows connect to them keep what the solve gave and do not bounce. */
static void settle_jammed(Bounce *b) {
  int bodies = b->work->model->body_count;
  for (int i = 0; i < bodies; i++) b->root[i] = i;
  connect_blown(b);
  for (int k = 0; k < b->meeting_count; k++) {
    const Meeting *m = &b->meeting[k];
    if (m->failed || still_meets(b, m)) b->jammed[disjoint_root(b->root, m->side[1])] = true;
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
    if (w->bounced[i]) b->after->taken[i] = (Flight){0};
  }
}

static bool allocate(Bounce *b) {
  size_t bodies = (size_t)b->work->model->body_count, blocks = (size_t)b->flight->count + 1,
         rows = (size_t)b->flight->row_count + 1;
  b->solved = mem_alloc(bodies, sizeof(Affine));
  b->changed = mem_zeroed(bodies, sizeof(int));
  b->root = mem_alloc(bodies, sizeof(int));
  b->jammed = mem_zeroed(bodies, sizeof(bool));
  b->twist = mem_zeroed(bodies, sizeof(Twist));
  b->before = mem_zeroed(bodies, sizeof(Twist));
  b->shocked = mem_zeroed(bodies, sizeof(bool));
  b->meeting = mem_alloc((size_t)b->pairs->count, sizeof(Meeting));
  b->struck = mem_zeroed(blocks, sizeof(bool));
  b->freed = mem_zeroed(blocks, sizeof(bool));
  b->rate = mem_alloc(blocks, sizeof(Affine));
  b->joined = mem_alloc(blocks, sizeof(Affine));
  b->force = mem_alloc(blocks, sizeof(Affine));
  b->row_force = mem_alloc(rows, sizeof(double));
  bool good =
      b->rate && b->force && b->row_force && b->solved && b->changed && b->root && b->jammed && b->twist && b->before;
  return good && b->joined && b->shocked && b->meeting && b->struck && b->freed && add_blows(b) && find_meetings(b);
}

static Outcome bounce_shocked(Bounce *b) {
  bool jams;
  memcpy(b->solved, b->after->rate.body, (size_t)b->work->model->body_count * sizeof(Affine));
  for (int k = 0; k < b->flight->count; k++) b->force[k] = b->flight->force[k];
  for (int k = 0; k < b->flight->count; k++)
    b->joined[k] = node_vector(b->work->model, b->after->rate, b->flight->block[k]);
  for (int r = 0; r < b->flight->row_count; r++) b->row_force[r] = b->flight->row_force[r];
  b->blows->any = true;
  spread_shocks(b);
  set_twists(b);
  for (int k = 0; k < b->flight->count; k++) b->freed[k] = b->struck[k];
  Outcome outcome = stage_from(b->flight->count == 0 || lone_init(&b->lone, b->flight));
  if (!stage_failed(outcome)) outcome = satisfy_joints(b);
  if (!stage_failed(outcome)) outcome = resolve_all(b, &jams);
  if (stage_failed(outcome)) return outcome;
  shock_mechanisms(b);
  if (jams || b->failed) settle_jammed(b);
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
  for (int k = 0; k < b.meeting_count; k++) {
    mem_free(b.meeting[k].coupling.body);
    mem_free(b.meeting[k].coupling.response);
  }
  lone_destroy(&b.lone);
  void *array[] = {b.solved, b.changed, b.root,  b.jammed,    b.twist,  b.before, b.shocked, b.meeting,
                   b.struck, b.rate,    b.force, b.row_force, b.impact, b.joined, b.freed};
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
