/* The items of the contact loops: candidates to contacts, contacts to energies, step bounds, friction, moments. The
 * formulas are those of src/contact and src/kernel. Compiles as C and as CUDA; tests/test_cuda_item.c runs them on this
 * machine's cores. */
#ifndef ABD_CUDA_CONTACT_ITEM_H
#define ABD_CUDA_CONTACT_ITEM_H

#include "contact/merge.h"
#include "contact/sweep.h"
#include "contact/term.h"
#include "cuda/launch.h"
#include "kernel/barrier.h"
#include "kernel/body.h"

/* ---- contacts and energies of a pair at one pose ---- */

/* The friction points of a pair, in one array of all pairs. */
typedef struct PointRange {
  int first, count;
  int lost;    /* how many of them no contact has the key of */
  double part; /* of the normal forces of positive weights, that rubs */
} PointRange;

/* slot: of the pair, -1 if it has none. */
KERNEL PointRange points_of(const PointRange *points, int slot) {
  PointRange none = {0, 0, 0, 1};
  return slot < 0 ? none : points[slot];
}

/* A pair's work. There is room for two contacts at the place of each candidate: its own, and one of a feature without a
 * stencil (contact/merge.h). `index` lists them in order, from place 2 first on. */
typedef struct EvalTask {
  int a, b, mesh_a, mesh_b;
  int first, count; /* candidates */
  int chunk;        /* the first of their chunks */
  int points;       /* slot of its friction points, -1 if it has none */
  int features;     /* of its contacts so far; sent as 0 */
  double separation, stiffness, rounding, rel, reach;
  Affine t;
} EvalTask;

/* What a chunk of candidates adds to its task. */
typedef struct EvalPart {
  double near, min_gap; /* lower bound of all distances; least gap and its candidate */
  int nearest, contacts, distances;
  bool failed, closed;
} EvalPart;

typedef struct EvalArrays {
  EvalTask *task;
  const TaskChunk *chunk;
  const SideShape *shape; /* by mesh */
  const Affine *pose;     /* by body */
  const Candidate *candidate;
  Contact *contact;         /* two by candidate */
  int *spot;                /* of a chunk's contacts, from its first candidate on: contacts */
  int *index;               /* the same of a task's contacts, two by candidate */
  Feature *feature;         /* MERGE_FEATURES by candidate */
  int *table;               /* MERGE_SLOTS by candidate; all 0 between two evaluations */
  Crossing *crossing;       /* by candidate */
  EvalPart *part;           /* by chunk */
  const PointRange *points; /* by slot */
  FrictionPoint *friction;
  EvalResult *result; /* by task */
  double range, eps;
} EvalArrays;

enum { CANDIDATE_FAR = 0, CANDIDATE_OUT, CANDIDATE_CONTACT, CANDIDATE_CLOSED, CANDIDATE_BAD };

KERNEL int contact_make(const EvalArrays *s, const EvalTask *k, const Candidate *c, Contact *out) {
  double reach = s->range + k->separation;
  Vec3 diff;
  double dist_sq = stencil_distance_sq(&s->shape[k->mesh_a], &s->pose[k->a], &s->shape[k->mesh_b], &s->pose[k->b],
                                       c->kind, c->prim_a, c->prim_b, reach, out, &diff);
  if (!(dist_sq < reach * reach)) return dist_sq >= 0 ? CANDIDATE_OUT : CANDIDATE_BAD;
  double d = sqrt(dist_sq);
  out->kind = c->kind;
  out->prim_a = c->prim_a;
  out->prim_b = c->prim_b;
  out->gap = d - k->separation;
  out->normal = scale(1 / d, diff);
  out->weight = out->extra = 0;
  out->feature = 0;
  if (out->gap <= 0) return CANDIDATE_CLOSED;
  barrier_jet(out->gap / s->range, &out->barrier, &out->slope, &out->curvature);
  return CANDIDATE_CONTACT;
}

KERNEL int eval_candidate(const EvalArrays *s, const EvalTask *k, int i, double *near) {
  const Candidate *c = &s->candidate[i];
  double low = candidate_low(&s->shape[k->mesh_a], &k->t, c, k->rel, k->reach);
  *near = least(*near, low - 1e-6 * fabs(low));
  return low <= k->reach ? contact_make(s, k, c, &s->contact[2 * i]) : CANDIDATE_FAR;
}

/* Weights of a task's contacts. They are numbered from the task's first on. */
KERNEL Merge merge_of_task(const EvalArrays *s, int task) {
  EvalTask *k = &s->task[task];
  Merge m;
  m.shape[0] = s->shape[k->mesh_a];
  m.shape[1] = s->shape[k->mesh_b];
  m.q[0] = &s->pose[k->a];
  m.q[1] = &s->pose[k->b];
  m.separation = k->separation;
  m.range = s->range;
  m.self = false;
  m.any_order = true;
  m.contact = s->contact + 2 * (size_t)k->first;
  m.first = 2 * k->first;
  m.count = 0;
  m.feature = s->feature + (size_t)MERGE_FEATURES * (size_t)k->first;
  m.feature_count = &k->features;
  m.table = s->table + (size_t)MERGE_SLOTS * (size_t)k->first;
  m.slots = (uint32_t)(MERGE_SLOTS * k->count);
  m.crossing = s->crossing + k->first;
  m.shift = 1; /* two places by candidate */
  m.room = NULL;
  return m;
}

/* Evaluates the candidates of a chunk, lists its contacts and finds their features. */
KERNEL void eval_chunk(const EvalArrays *s, int chunk, int lane, double *scratch) {
  TaskChunk own = s->chunk[chunk];
  const EvalTask *k = &s->task[own.task];
  double near = INFINITY, min_gap = INFINITY;
  int contacts = 0, distances = 0, nearest = 2147483647, nowhere = 0;
  bool failed = false, closed = false;
  (void)scratch;
  for (int base = 0; base < own.count; base += LANES) {
    int item = own.first + base + lane, i = k->first + item, added;
    int state = base + lane < own.count ? eval_candidate(s, k, i, &near) : CANDIDATE_FAR;
    int rank = lane_rank(state == CANDIDATE_CONTACT, lane, &added);
    distances += state != CANDIDATE_FAR;
    failed = failed || state == CANDIDATE_BAD;
    closed = closed || state == CANDIDATE_CLOSED;
    if ((state == CANDIDATE_CONTACT || state == CANDIDATE_CLOSED) && s->contact[2 * i].gap < min_gap) {
      min_gap = s->contact[2 * i].gap;
      nearest = item;
    }
    if (state == CANDIDATE_CONTACT) s->spot[k->first + own.first + contacts + rank] = 2 * i;
    contacts += added;
  }
  near = lane_least(near, &nowhere);
  min_gap = lane_least(min_gap, &nearest);
  double count = lane_sum(distances), failures = lane_sum(failed), closures = lane_sum(closed);
  Merge m = merge_of_task(s, own.task);
  lane_sync();
  for (int i = lane; i < contacts; i += LANES) merge_open(&m, s->spot[k->first + own.first + i] - m.first);
  if (lane != 0) return;
  EvalPart part = {near, min_gap, nearest, contacts, (int)count, failures > 0, closures > 0};
  s->part[chunk] = part;
}

KERNEL double friction_item(const EvalArrays *s, const EvalTask *k, FrictionPoint *f) {
  f->trial = friction_slip_at(f, friction_apart(f, &s->pose[k->a], &s->pose[k->b]));
  return f->load * friction_f0(norm(f->trial), s->eps);
}

/* Opens the crossings of the chunk's contacts, when all features of the task are found. */
KERNEL void cross_chunk(const EvalArrays *s, int chunk, int lane, double *scratch) {
  TaskChunk own = s->chunk[chunk];
  Merge m = merge_of_task(s, own.task);
  const int *spot = s->spot + m.first / 2 + own.first;
  (void)scratch;
  for (int i = lane; i < s->part[chunk].contacts; i += LANES)
    s->crossing[spot[i] / 2] = crossing_open(&m, &s->contact[spot[i]]);
}

/* Moves contacts that do not act to the end of the index; both parts keep their order. */
KERNEL int acting_first(const Contact *contact, int *index, int count, int *rest, int lane) {
  int acting = 0, idle = 0;
  for (int base = 0; base < count; base += LANES) {
    bool own = base + lane < count;
    int at = own ? index[base + lane] : 0, acts, rests;
    bool active = own && contact_acts(&contact[at]);
    int before = lane_rank(active, lane, &acts), idle_before = lane_rank(own && !active, lane, &rests);
    if (active) index[acting + before] = at;
    else if (own) rest[idle + idle_before] = at;
    acting += acts;
    idle += rests;
    lane_sync();
  }
  for (int i = lane; i < idle; i += LANES) index[acting + i] = rest[i];
  lane_sync();
  return acting;
}

/* Lists the places of the task's contacts that have crossings with features, in order. */
KERNEL int list_crossings(const EvalArrays *s, const Merge *m, int *list, int lane) {
  int listed = 0;
  for (int base = 0; base < m->count; base += LANES) {
    bool own = base + lane < m->count;
    int at = own ? s->index[m->first + base + lane] : 0, added;
    bool has = own && crossing_has_features(&s->crossing[at / 2]);
    int before = lane_rank(has, lane, &added);
    if (has) list[listed + before] = at - m->first;
    listed += added;
  }
  lane_sync();
  return listed;
}

/* Lists the features without a stencil, in any order. Returns their number, which may be larger than the room. */
KERNEL int list_extras(const Merge *m, int *list, int room, int lane) {
  int features = *m->feature_count, extras = 0;
  for (int base = 0; base < features; base += LANES) {
    bool extra = base + lane < features && merge_extra(m, base + lane);
    int added, at = extras + lane_rank(extra, lane, &added);
    if (extra && at < room) list[at] = base + lane;
    extras += added;
  }
  lane_sync();
  return extras;
}

/* Makes the contacts of the listed features, in the order of their sources. They have the second places of the
 * candidates. */
KERNEL void add_extras(const EvalArrays *s, const Merge *m, const int *list, int extras, int lane) {
  for (int i = lane; i < extras; i += LANES) {
    int rank = 0, at = 0;
    for (int k = 0; k < extras; k++) rank += m->feature[list[k]].source < m->feature[list[i]].source;
    at = m->first + 2 * rank + 1;
    Contact *c = &s->contact[at];
    *c = merge_extra_contact(m, list[i]);
    barrier_jet(c->gap / s->range, &c->barrier, &c->slope, &c->curvature);
    s->index[m->first + m->count + rank] = at;
  }
  lane_sync();
}

/* Weighs the contacts of a task. `spot` lists crossings, then features, then idle contacts: it has room for the
 * stencils among them, and an extra contact acts. Returns the number of contacts that act; -1 if extra contacts have no
 * room. */
KERNEL int eval_merge(const EvalArrays *s, Merge *m, int room, int lane, int *contacts) {
  int *spot = s->spot + m->first / 2;
  m->count = *contacts;
  merge_close(m, spot, list_crossings(s, m, spot, lane), lane);
  lane_sync();
  int extras = list_extras(m, spot, room, lane);
  if (extras > room) return -1;
  add_extras(s, m, spot, extras, lane);
  *contacts += extras;
  return acting_first(s->contact, s->index + m->first, *contacts, spot, lane);
}

/* Empties the table. */
KERNEL void merge_clear(const Merge *m, int lane) {
  for (int i = lane; i < *m->feature_count; i += LANES)
    if (m->feature[i].closest >= 0) m->table[m->feature[i].slot] = 0;
}

/* Lists the contacts of a task and sums its energies. Sums run over the contacts alone, so they do not depend on what
 * else is listed. */
KERNEL void eval_sum(const EvalArrays *s, int task, int lane, double *scratch) {
  const EvalTask *k = &s->task[task];
  double barrier = 0, noise = 0, friction = 0, min_gap = INFINITY, near = INFINITY;
  int contacts = 0, distances = 0, nearest = 2147483647, nowhere = 0;
  int chunks = (k->count + CHUNK_ITEMS - 1) / CHUNK_ITEMS;
  PointRange points = points_of(s->points, k->points);
  bool failed = false, closed = false;
  for (int base = 0; base < chunks; base += LANES) {
    const EvalPart *part = base + lane < chunks ? &s->part[k->chunk + base + lane] : NULL;
    int own = part ? part->contacts : 0, added, before = lane_before(own, lane, &added);
    const int *spot = s->spot + k->first + CHUNK_ITEMS * (base + lane);
    for (int i = 0; i < own; i++) s->index[2 * k->first + contacts + before + i] = spot[i];
    contacts += added;
    if (!part) continue;
    near = least(near, part->near);
    distances += part->distances;
    failed = failed || part->failed;
    closed = closed || part->closed;
    if (part->min_gap < min_gap) {
      min_gap = part->min_gap;
      nearest = part->nearest;
    }
  }
  closed = lane_sum(closed) > 0;
  Merge m = merge_of_task(s, task);
  int acting = 0;
  m.room = scratch;
  lane_sync();
  if (contacts > 0 && !closed) acting = eval_merge(s, &m, k->count, lane, &contacts);
  merge_clear(&m, lane);
  failed = failed || acting < 0;
  for (int i = lane; i < acting; i += LANES) {
    const Contact *c = &s->contact[s->index[2 * k->first + i]];
    barrier += k->stiffness * c->weight * c->barrier;
    noise -= k->stiffness * fabs(c->weight) * c->slope * k->rounding;
  }
  for (int i = lane; i < points.count; i += LANES) friction += friction_item(s, k, &s->friction[points.first + i]);
  barrier = lane_sum(closed ? INFINITY : barrier);
  noise = lane_sum(noise);
  friction = lane_sum(friction);
  near = lane_least(near, &nowhere);
  min_gap = lane_least(min_gap, &nearest);
  double count = lane_sum(distances), failures = lane_sum(failed);
  if (lane != 0) return;
  EvalResult *out = &s->result[task];
  out->barrier = barrier;
  out->friction = friction;
  out->noise = noise;
  out->min_gap = min_gap;
  out->near = near;
  out->nearest = min_gap < INFINITY ? nearest : -1;
  const Candidate *c = &s->candidate[k->first + (min_gap < INFINITY ? nearest : 0)];
  if (out->nearest >= 0) {
    out->kind = c->kind;
    out->prim_a = c->prim_a;
    out->prim_b = c->prim_b;
  }
  out->contacts = contacts;
  out->acting = acting;
  out->distances = (int)count;
  out->failed = failures > 0;
}

/* ---- step bounds ---- */

typedef struct SweepTask {
  int a, b, mesh_a, mesh_b;
  int first, count; /* candidates, or contacts of the index */
  bool contacts;
  bool half_space; /* b is one */
  double separation, rounding, rate, turn, sigma, rel;
} SweepTask;

/* The same with all that its stencils read. */
typedef struct SweepFull {
  Affine q[2], d[2];
  Sweep s;
} SweepFull;

typedef struct SweepArrays {
  const SweepTask *task;
  const TaskChunk *chunk;
  const SideShape *shape;
  const Affine *pose, *direction; /* by body */
  const Candidate *candidate;
  const Contact *contact;
  const int *index;
  SweepFull *full; /* by task */
  uint64_t *bound; /* by task: the bits of a number between 0 and 1, which have the numbers' order */
  double range;
} SweepArrays;

KERNEL void sweep_open(const SweepArrays *arrays, int task) {
  const SweepTask *k = &arrays->task[task];
  SweepFull *full = &arrays->full[task];
  Sweep *s = &full->s;
  full->q[0] = arrays->pose[k->a];
  full->q[1] = arrays->pose[k->b];
  full->d[0] = arrays->direction[k->a];
  full->d[1] = arrays->direction[k->b];
  s->a = arrays->shape[k->mesh_a];
  s->b = arrays->shape[k->mesh_b];
  s->q = full->q;
  s->d = full->d;
  s->soft = false;
  s->half_space = k->half_space;
  s->separation = k->separation;
  s->range = arrays->range;
  s->floor = sweep_floor(k->separation, arrays->range);
  s->rounding = k->rounding;
  s->rate = k->rate;
  s->turn = k->turn;
  s->sigma = k->sigma;
  s->rel = k->rel;
  s->moved = INFINITY;
  s->clear = 0;
  if (!k->contacts) {
    s->from = affine_relative(&full->q[0], &full->q[1]);
    sweep_end(s);
  }
  arrays->bound[task] = double_bits(1.0);
}

KERNEL double sweep_listed(const Sweep *s, const Candidate *c) {
  if (sweep_stays(s, s->sigma * (c->dist - s->rel), 1) || sweep_passes(s, c)) return 1;
  return sweep_stencil(s, c->kind, c->prim_a, c->prim_b, s->separation, 1);
}

KERNEL double sweep_touching(const SweepFull *k, const Contact *c) {
  Affine end[2];
  if (c->extra) return 1;
  for (int i = 0; i < 2; i++) end[i] = affine_add_scaled(k->q[i], 1, k->d[i]);
  if (sweep_contact_passes(&k->s, c, end)) return 1;
  return sweep_stencil(&k->s, c->kind, c->prim_a, c->prim_b, k->s.separation, 1);
}

KERNEL void least_bits(uint64_t *at, double x) {
#ifdef __CUDA_ARCH__
  atomicMin((unsigned long long *)at, (unsigned long long)double_bits(x));
#else
  if (double_bits(x) < *at) *at = double_bits(x);
#endif
}

KERNEL void sweep_item(const SweepArrays *s, int task, int item) {
  const SweepTask *k = &s->task[task];
  const SweepFull *full = &s->full[task];
  double bound = k->contacts ? sweep_touching(full, &s->contact[s->index[k->first + item]])
                             : sweep_listed(&full->s, &s->candidate[k->first + item]);
  if (bound < 1) least_bits(&s->bound[task], bound > 0 ? bound : 0);
}

/* ---- friction after a step ---- */

typedef struct AdvanceTask {
  int points;    /* slot of the friction points, -1 if there are none */
  double length; /* part of Newton's step that was taken */
} AdvanceTask;

typedef struct AdvanceArrays {
  const AdvanceTask *task;
  const PointRange *points;
  FrictionPoint *friction;
  double eps;
} AdvanceArrays;

KERNEL void friction_step(FrictionPoint *f, double length, double eps) {
  f->force = friction_force_after(f->displacement, f->force, sub(f->trial, f->displacement), length, eps);
  f->displacement = f->trial;
}

KERNEL void advance_task(const AdvanceArrays *s, int task, int lane, double *scratch) {
  const AdvanceTask *k = &s->task[task];
  PointRange points = points_of(s->points, k->points);
  (void)scratch;
  for (int i = lane; i < points.count; i += LANES) friction_step(&s->friction[points.first + i], k->length, s->eps);
}

/* ---- contacts in one piece ---- */

typedef struct FetchTask {
  int first, count, to;
} FetchTask;

typedef struct FetchArrays {
  const FetchTask *task;
  int tasks;
  const Contact *contact;
  const int *index;
  Contact *out;
} FetchArrays;

/* The last task that begins at or before the item. */
KERNEL int task_at(const FetchTask *task, int tasks, int item) {
  int low = 0, high = tasks - 1;
  while (low < high) {
    int middle = (low + high + 1) / 2;
    if (task[middle].to <= item) low = middle;
    else high = middle - 1;
  }
  return low;
}

KERNEL void fetch_item(const FetchArrays *s, int item) {
  const FetchTask *k = &s->task[task_at(s->task, s->tasks, item)];
  s->out[item] = s->contact[s->index[k->first + item - k->to]];
}

/* ---- lists without gaps between them ---- */

typedef struct PackArrays {
  const FetchTask *task;
  int tasks;
  const Candidate *candidate;
  Candidate *out;
} PackArrays;

KERNEL void pack_item(const PackArrays *s, int item) {
  const FetchTask *k = &s->task[task_at(s->task, s->tasks, item)];
  s->out[item] = s->candidate[k->first + item - k->to];
}

/* ---- moments of a pair ---- */

typedef struct MomentTask {
  int a, b, mesh_a, mesh_b;
  int first, count;             /* contacts of the index */
  int points;                   /* slot of the friction points, -1 if there are none */
  double stiffness, expected;   /* of the Pair */
  double weight;                /* by which the loads follow the normal forces; 0 = they do not */
  double factor[FRICTION_WAYS]; /* load over the normal force */
} MomentTask;

/* Sums of a pair's springs: gradients of both bodies, then the entries aa and bb of Moments, six numbers each, then
 * those of ab, MOMENT_NODES of each of the six numbers: conjugate gradients read them as they are (PcgMatrix). */
enum { MOMENT_SUMS = 24 + 36 * 6, MOMENT_GB = 12, MOMENT_AA = 24, MOMENT_BB = 24 + 60, MOMENT_AB = 24 + 120 };
enum { MOMENT_NODES = 16 };

typedef struct MomentArrays {
  const MomentTask *task;
  const SideShape *shape;
  const Affine *pose;
  Contact *contact;
  const int *index;
  const PointRange *points;
  const FrictionPoint *friction;
  double *sum; /* MOMENT_SUMS by task */
  double range, eps;
} MomentArrays;

/* A spring as numbers: forces on a and b, stiffness, weights of the nodes of a and b, and 1. Every sum is a sum of
 * products of three of them. */
enum { SPRING_FA = 0, SPRING_FB = 3, SPRING_K = 6, SPRING_A = 12, SPRING_B = 16, SPRING_ONE = 20, SPRING_NUMBERS };

/* Which three numbers sum n consists of. */
KERNEL void moment_factors(int n, int factor[3]) {
  if (n < MOMENT_AA) {
    int side = n / 12, node = n % 12 / 3;
    factor[0] = (side ? SPRING_FB : SPRING_FA) + n % 3;
    factor[1] = (side ? SPRING_B : SPRING_A) + node;
    factor[2] = SPRING_ONE;
    return;
  }
  if (n >= MOMENT_AB) {
    int nodes = (n - MOMENT_AB) % MOMENT_NODES;
    factor[0] = SPRING_K + (n - MOMENT_AB) / MOMENT_NODES;
    factor[1] = SPRING_A + nodes / 4;
    factor[2] = SPRING_B + nodes % 4;
    return;
  }
  int entry = (n - MOMENT_AA) / 6, i = 0, j = 0;
  factor[0] = SPRING_K + (n - MOMENT_AA) % 6;
  int at = entry % 10, weight = entry < 10 ? SPRING_A : SPRING_B;
  while ((i + 1) * (i + 2) / 2 <= at) i++;
  j = at - i * (i + 1) / 2;
  factor[1] = weight + i;
  factor[2] = weight + j;
}

KERNEL void spring_put(double *s, Vec3 fa, Vec3 fb, double f, const Sym3 *k, double first, Vec3 ya, Vec3 yb) {
  vec3_to(s + SPRING_FA, fa);
  vec3_to(s + SPRING_FB, fb);
  s[SPRING_K] = f * k->xx;
  s[SPRING_K + 1] = f * k->yy;
  s[SPRING_K + 2] = f * k->zz;
  s[SPRING_K + 3] = f * k->xy;
  s[SPRING_K + 4] = f * k->xz;
  s[SPRING_K + 5] = f * k->yz;
  s[SPRING_A] = s[SPRING_B] = first;
  vec3_to(s + SPRING_A + 1, ya);
  vec3_to(s + SPRING_B + 1, yb);
  s[SPRING_ONE] = 1;
}

KERNEL void spring_put_friction(double *s, const FrictionPoint *f, Vec3 force, double factor, const Sym3 *stiffness) {
  spring_put(s, force, neg(force), factor, stiffness, friction_way(f) == FRICTION_SLIDE ? 1 : 0, f->ya, f->yb);
}

/* The mollifier's spring: both gradients are written as forces at the spring's ends. */
KERNEL void spring_put_mollifier(double *out, const MomentArrays *s, const MomentTask *k, const Contact *c) {
  const SideShape *a = &s->shape[k->mesh_a], *b = &s->shape[k->mesh_b];
  const uint32_t *ea = a->edge[c->prim_a], *eb = b->edge[c->prim_b];
  Vec3 u = sub(a->x[ea[1]], a->x[ea[0]]), v = sub(b->x[eb[1]], b->x[eb[0]]);
  MollifierTerm t = mollifier_term(c, k->stiffness, affine_vector(&s->pose[k->a], u), affine_vector(&s->pose[k->b], v));
  spring_put(out, scale(1 / t.long_u, t.by_u), scale(1 / t.to_v, t.by_v), 1, &t.stiffness, 0, scale(t.long_u, u),
             scale(t.to_v, v));
}

/* Adds the springs that the lanes have written to this lane's part of the first `sums` sums. */
KERNEL void moments_gather(const double *spring, int count, int sums, int lane, double *sum) {
  lane_sync();
  for (int n = lane, m = 0; n < sums; n += LANES, m++) {
    int f[3];
    moment_factors(n, f);
    double add_to = sum[m];
    for (int i = 0; i < count; i++) {
      const double *s = spring + SPRING_NUMBERS * i;
      add_to += s[f[0]] * s[f[1]] * s[f[2]];
    }
    sum[m] = add_to;
  }
  lane_sync();
}

/* As pair_set_chords. */
KERNEL void moment_chords(const MomentArrays *s, const MomentTask *k, int lane) {
  double now = 0;
  for (int i = lane; i < k->count; i += LANES) now += contact_push(&s->contact[s->index[k->first + i]]);
  double ratio = expected_ratio(k->expected, k->stiffness / s->range * lane_sum(now));
  for (int i = lane; i < k->count; i += LANES) {
    Contact *c = &s->contact[s->index[k->first + i]];
    c->curvature = barrier_expected(c->gap / s->range, ratio);
  }
  lane_sync();
}

/* The relief of a pair's contacts; false if no weight is negative. */
KERNEL bool moment_relief(const MomentArrays *s, const MomentTask *k, int lane, Relief *relief) {
  bool negative = false;
  *relief = relief_zero();
  for (int i = lane; i < k->count; i += LANES) {
    const Contact *c = &s->contact[s->index[k->first + i]];
    negative |= c->weight < 0;
    relief_add(relief, c);
  }
  int count;
  lane_rank(negative, lane, &count);
  if (count == 0) return false;
  Sym3 *sums[2] = {&relief->positive, &relief->negative};
  for (int i = 0; i < 2; i++) {
    Sym3 *m = sums[i];
    m->xx = lane_sum(m->xx);
    m->yy = lane_sum(m->yy);
    m->zz = lane_sum(m->zz);
    m->xy = lane_sum(m->xy);
    m->xz = lane_sum(m->xz);
    m->yz = lane_sum(m->yz);
  }
  return true;
}

KERNEL void moment_task(const MomentArrays *s, int task, int lane, double *scratch) {
  const MomentTask *k = &s->task[task];
  Relief relief;
  moment_chords(s, k, lane);
  bool relieved = moment_relief(s, k, lane, &relief);
  double sum[(MOMENT_SUMS + LANES - 1) / LANES], *own = scratch + SPRING_NUMBERS * lane;
  PointRange points = points_of(s->points, k->points);
  for (int m = 0; m < (MOMENT_SUMS + LANES - 1) / LANES; m++) sum[m] = 0;
  for (int base = 0; base < k->count; base += LANES) {
    int left = k->count - base, rounds = left < LANES ? left : LANES, softened, rank;
    const Contact *c = lane < left ? &s->contact[s->index[k->first + base + lane]] : NULL;
    if (c) {
      Term t = contact_term(c, k->stiffness, s->range, relieved ? &relief : NULL);
      spring_put(own, t.force, neg(t.force), 1, &t.stiffness, 1, c->ya, c->yb);
    }
    moments_gather(scratch, rounds, MOMENT_SUMS, lane, sum);
    rank = lane_rank(c && c->mollifier_d1 != 0, lane, &softened);
    if (softened == 0) continue;
    if (c && c->mollifier_d1 != 0) spring_put_mollifier(scratch + SPRING_NUMBERS * rank, s, k, c);
    moments_gather(scratch, softened, MOMENT_SUMS, lane, sum);
  }
  for (int base = 0; base < points.count; base += LANES) {
    int left = points.count - base;
    if (lane < left) {
      const FrictionPoint *f = &s->friction[points.first + base + lane];
      Term t = friction_term(f, s->eps);
      spring_put_friction(own, f, t.force, t.factor, &t.stiffness);
    }
    moments_gather(scratch, left < LANES ? left : LANES, MOMENT_SUMS, lane, sum);
  }
  for (int n = lane, m = 0; n < MOMENT_SUMS; n += LANES, m++) s->sum[(size_t)MOMENT_SUMS * task + n] = sum[m];
}

/* ---- the matrix ---- */

typedef struct MatrixArrays {
  const double *moments; /* MOMENT_SUMS by task of moments */
  const double *body;    /* 144 per row: blocks of the bodies by themselves */
  const int *entry;      /* per entry: 2 task + (rows are b's), or -1 - row on the diagonal */
  const int *part_first; /* [rows + 1] */
  const int *part;       /* 2 task + side of the pairs of each row's body */
  double *value;         /* 144 per entry */
} MatrixArrays;

/* Number (r, c) of the block that a symmetric 3x3 per two nodes fills. entry: of nodes (i, j). */
KERNEL int moment_place(int r, int c) { return r == c ? r : r + c + 2; } /* xx yy zz xy xz yz */
KERNEL double moment_number(const double *sum, int entry, int r, int c) {
  return sum[MOMENT_AA + 6 * entry + moment_place(r, c)];
}
/* The same between the bodies, for node i of a and j of b. */
KERNEL double moment_between(const double *sum, int i, int j, int r, int c) {
  return sum[MOMENT_AB + MOMENT_NODES * moment_place(r, c) + 4 * i + j];
}

KERNEL int moment_triangle(int i, int j) { return i >= j ? i * (i + 1) / 2 + j : j * (j + 1) / 2 + i; }

KERNEL void matrix_item(const MatrixArrays *s, int item) {
  int entry = item / 144, k = item % 144, row = k % 12, column = k / 12, what = s->entry[entry];
  int i = row / 3, r = row % 3, j = column / 3, c = column % 3;
  if (what >= 0) {
    const double *sum = s->moments + (size_t)MOMENT_SUMS * (what / 2);
    s->value[item] = -(what % 2 ? moment_between(sum, j, i, r, c) : moment_between(sum, i, j, r, c));
    return;
  }
  int own = -1 - what;
  double value = s->body[(size_t)144 * own + k];
  for (int e = s->part_first[own]; e < s->part_first[own + 1]; e++)
    value += moment_number(s->moments + (size_t)MOMENT_SUMS * (s->part[e] / 2),
                           (s->part[e] % 2 ? 10 : 0) + moment_triangle(i, j), r, c);
  s->value[item] = value;
}

/* Gradients and Hessians of the bodies by themselves. */
typedef struct OwnTask {
  BodyTerm term;
  double damping;
  int body;
} OwnTask;

typedef struct OwnArrays {
  const OwnTask *task; /* by row */
  const Affine *pose;  /* by body */
  Affine *gradient;
  double *block; /* 144 by row */
} OwnArrays;

KERNEL void own_item(const OwnArrays *s, int row) {
  const OwnTask *k = &s->task[row];
  s->gradient[row] = body_term_gradient(&k->term, &s->pose[k->body]);
  body_term_hessian(&k->term, &s->pose[k->body], k->damping, true, s->block + (size_t)144 * row);
}

/* How strongly pairs couple their bodies: the norm of the block between them, scaled to a unit diagonal. */
typedef struct StrengthArrays {
  const MomentTask *task;
  const int *row;        /* by body, -1 if it has none */
  const double *moments; /* MOMENT_SUMS by task */
  const int *first;      /* per row: its first entry, the diagonal block */
  const double *value;   /* 144 per entry */
  float *strength;       /* by task; 0 if a body has no row */
} StrengthArrays;

KERNEL void strength_task(const StrengthArrays *s, int t, int lane, double *scratch) {
  const int row[2] = {s->row[s->task[t].a], s->row[s->task[t].b]};
  const double *sum = s->moments + (size_t)MOMENT_SUMS * t;
  double part = 0;
  (void)scratch;
  for (int k = lane; k < 144 && row[0] >= 0 && row[1] >= 0; k += LANES) {
    int i = k % 12, j = k / 12;
    double x = moment_between(sum, i / 3, j / 3, i % 3, j % 3);
    part +=
        x * x / (s->value[(size_t)144 * s->first[row[0]] + 13 * i] * s->value[(size_t)144 * s->first[row[1]] + 13 * j]);
  }
  part = lane_sum(part);
  if (lane == 0) s->strength[t] = (float)sqrt(part);
}

/* Gradients by row from those of the pairs. */
typedef struct GradientArrays {
  const double *pair; /* `size` numbers by task; the first are the gradients of a, then of b */
  int size;
  const double *own;            /* 12 per row: gradients of the bodies by themselves; NULL = none */
  const int *part_first, *part; /* as in MatrixArrays */
  double *gradient, *right;     /* right = -gradient */
} GradientArrays;

KERNEL void gradient_item(const GradientArrays *s, int item) {
  int row = item / 12, k = item % 12;
  double sum = s->own ? s->own[item] : 0;
  for (int e = s->part_first[row]; e < s->part_first[row + 1]; e++)
    sum += s->pair[(size_t)s->size * (s->part[e] / 2) + (s->part[e] % 2 ? MOMENT_GB : 0) + k];
  s->gradient[item] = sum;
  s->right[item] = -sum;
}

/* ---- launches ---- */

#ifdef __cplusplus
extern "C" {
#endif
bool eval_launch(int chunks, const EvalArrays *arrays);
bool eval_cross_launch(int chunks, const EvalArrays *arrays);
bool eval_sum_launch(int tasks, const EvalArrays *arrays);
bool sweep_open_launch(int tasks, const SweepArrays *arrays);
bool sweep_launch(int chunks, const SweepArrays *arrays);
bool advance_launch(int tasks, const AdvanceArrays *arrays);
bool fetch_launch(int contacts, const FetchArrays *arrays);
bool pack_launch(int candidates, const PackArrays *arrays);
bool moment_launch(int tasks, const MomentArrays *arrays);
bool own_launch(int rows, const OwnArrays *arrays);
bool matrix_launch(int numbers, const MatrixArrays *arrays);
bool strength_launch(int tasks, const StrengthArrays *arrays);
bool gradient_launch(int numbers, const GradientArrays *arrays);
#ifdef __cplusplus
}
#endif

/* Defines them: in contact.cu for the GPU, in a test for this machine's cores. */
#define CONTACT_LAUNCHES                                                                                               \
  LAUNCH_LANES(eval, EvalArrays, eval_chunk)                                                                           \
  LAUNCH_LANES(eval_cross, EvalArrays, cross_chunk)                                                                    \
  LAUNCH_LANES(eval_sum, EvalArrays, eval_sum)                                                                         \
  LAUNCH(sweep_open, SweepArrays, sweep_open)                                                                          \
  LAUNCH_CHUNKS(sweep, SweepArrays, sweep_item)                                                                        \
  LAUNCH_LANES(advance, AdvanceArrays, advance_task)                                                                   \
  LAUNCH(fetch, FetchArrays, fetch_item)                                                                               \
  LAUNCH(pack, PackArrays, pack_item)                                                                                  \
  LAUNCH_LANES(moment, MomentArrays, moment_task)                                                                      \
  LAUNCH(own, OwnArrays, own_item)                                                                                     \
  LAUNCH(matrix, MatrixArrays, matrix_item)                                                                            \
  LAUNCH_LANES(strength, StrengthArrays, strength_task)                                                                \
  LAUNCH(gradient, GradientArrays, gradient_item)

#endif
