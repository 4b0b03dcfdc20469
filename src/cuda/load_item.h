/* The items of the loops over friction points: points from contacts, loads that follow the normal forces, and their
 * difference. The formulas are those of contact/point.h. Compiles as C and as CUDA; tests/test_cuda_serial.c runs them
 * on this machine's cores. */
#ifndef ABD_CUDA_LOAD_ITEM_H
#define ABD_CUDA_LOAD_ITEM_H

#include "contact/point.h"
#include "cuda/contact_item.h"

/* ---- points from contacts ---- */

/* A pair whose points are made anew, copied, or compared with its contacts. */
typedef struct ListTask {
  int a, b, slot;
  bool known;                   /* it has points already */
  bool copied;                  /* its points stay as they are */
  int first, contacts;          /* of the index: those that act */
  int ways, way[FRICTION_WAYS]; /* in which it has friction */
  int to, room;                 /* place of the new points */
  int anchor, anchors;          /* from the start of the step */
  double arm, stiffness;
  double factor[FRICTION_WAYS]; /* load over the normal force, if no weight is negative */
} ListTask;

typedef struct ListArrays {
  const ListTask *task;
  const TaskChunk *chunk;
  const Affine *start, *pose; /* by body: at the start of the step, now */
  const Contact *contact;
  const int *index;
  const Anchor *anchor;
  PointRange *points;      /* by slot */
  FrictionPoint *before;   /* the points so far */
  FrictionPoint *fresh;    /* by contact and way; contact -1 = none */
  FrictionPoint *friction; /* without gaps */
  double range, eps;
} ListArrays;

/* The point with a key, -1 if there is none. Most are where they were, at `hint`. */
KERNEL int point_find(const FrictionPoint *point, int count, uint64_t key, int hint) {
  for (int i = 0, at = hint < count ? hint : 0; i < count; i++) {
    if (point[at].key == key) return at;
    if (++at == count) at = 0;
  }
  return -1;
}

KERNEL int anchor_find(const Anchor *anchor, int count, uint64_t key, Vec3 at) {
  for (int i = 0; i < count; i++)
    if (anchor[i].key == key) return i;
  return anchor_nearest(anchor, count, key, at);
}

/* The pair's points so far. */
KERNEL PointRange list_before(const PointRange *points, const ListTask *k) {
  return points_of(points, k->known ? k->slot : -1);
}

/* ---- loads of contacts whose features change ---- */

KERNEL Passing passing_of(const ListTask *k, const Contact *contact, const int *index, FrictionPoint *point,
                          PointRange points, double range) {
  Passing s;
  s.point = point + points.first;
  s.count = points.count;
  s.lost = points.lost;
  s.contact = contact;
  s.index = index + k->first;
  s.contacts = k->contacts;
  s.stiffness = k->stiffness;
  s.range = range;
  for (int way = 0; way < FRICTION_WAYS; way++) s.factor[way] = points.part * k->factor[way];
  return s;
}

/* The point of a contact's key. item: contact and way. */
KERNEL FrictionPoint *passing_own(const Passing *s, const ListTask *k, int item) {
  const Contact *c = passing_contact(s, item / k->ways);
  int at = point_find(s->point, s->count, point_key(c, k->way[item % k->ways]), item);
  return at < 0 ? NULL : &s->point[at];
}

/* The nearest point without a contact, if the item rubs and has no point; else -1. */
KERNEL int passing_lost(const Passing *s, const ListTask *k, int item) {
  int contact = item / k->ways, way = k->way[item % k->ways];
  if (!contact_rubs(s, contact, way) || passing_own(s, k, item)) return -1;
  return nearest_lost(s, way, passing_contact(s, contact)->ya);
}

KERNEL double pass_part(const Passing *s, int lane) {
  double sum = 0, positive = 0;
  for (int i = lane; i < s->contacts; i += LANES) {
    double push = passing_force(s, i);
    sum += push;
    positive += most(push, 0);
  }
  return part_rubbing(lane_sum(sum), lane_sum(positive));
}

/* Contacts without a point claim loads of points without a contact, one after the other; the rest goes to the nearest
 * contacts. */
KERNEL void pass_claims(const Passing *s, const ListTask *k, int lane, double *scratch) {
  int items = k->contacts * k->ways;
  for (int base = 0; base < items; base += LANES) {
    int left = items - base < LANES ? items - base : LANES;
    if (lane < left) scratch[lane] = passing_lost(s, k, base + lane);
    lane_sync();
    for (int i = 0; lane == 0 && i < left; i++)
      if (scratch[i] >= 0) claim_load(s, (base + i) / k->ways, (int)scratch[i]);
    lane_sync();
  }
  for (int i = lane; i < s->count; i += LANES)
    if (s->point[i].successor == SUCCESSOR_NONE) s->point[i].successor = nearest_contact(s, &s->point[i]);
  lane_sync();
}

/* Finds where the loads of a task's points go, and the part of its normal forces that rubs. */
KERNEL void pass_all(Passing *s, PointRange *points, const ListTask *k, int lane, double *scratch) {
  double found = 0;
  points->part = pass_part(s, lane);
  for (int way = 0; way < FRICTION_WAYS; way++) s->factor[way] = points->part * k->factor[way];
  for (int i = lane; i < s->count; i += LANES) {
    s->point[i].successor = SUCCESSOR_NONE;
    s->point[i].claim = 0;
  }
  lane_sync();
  for (int item = lane; item < k->contacts * k->ways; item += LANES) {
    FrictionPoint *own = contact_rubs(s, item / k->ways, k->way[item % k->ways]) ? passing_own(s, k, item) : NULL;
    if (!own) continue;
    own->successor = item / k->ways;
    found++;
  }
  s->lost = points->lost = s->count - (int)lane_sum(found);
  lane_sync();
  if (s->lost > 0) pass_claims(s, k, lane, scratch);
}

KERNEL void list_pass(const ListArrays *s, int task, int lane, double *scratch) {
  const ListTask *k = &s->task[task];
  PointRange points = list_before(s->points, k);
  if (k->copied) return;
  Passing pass = passing_of(k, s->contact, s->index, s->before, points, s->range);
  pass_all(&pass, &points, k, lane, scratch);
  lane_sync();
  if (lane == 0) s->points[k->slot] = points;
}

/* ---- the new points ---- */

KERNEL void list_contact(const ListArrays *s, int task, int item) {
  const ListTask *k = &s->task[task];
  const Anchor *anchor = s->anchor + k->anchor;
  FrictionPoint *f = &s->fresh[k->to + item];
  int contact = item / k->ways, way = k->way[item % k->ways];
  Passing pass = passing_of(k, s->contact, s->index, s->before, s->points[k->slot], s->range);
  Affine start[2];
  start[0] = s->start[k->a];
  start[1] = s->start[k->b];
  f->contact = -1;
  if (!contact_rubs(&pass, contact, way)) return;
  f->contact = contact;
  f->late = 1;
  f->change = 0;
  point_open(f, passing_contact(&pass, contact), (FrictionWay)way, start, k->arm);
  f->origin = friction_apart(f, &start[0], &start[1]);
  const FrictionPoint *own = passing_own(&pass, k, item);
  int lost = own ? -1 : nearest_lost(&pass, way, f->at);
  const FrictionPoint *before = lost >= 0 ? &pass.point[lost] : own;
  double load = passed_load(&pass, contact, way, own, lost, true);
  point_set_slip(f, anchor, before ? before->anchor : anchor_find(anchor, k->anchors, f->key, f->ya), &start[1]);
  point_set_load(f, before, friction_slip_at(f, friction_apart(f, &s->pose[k->a], &s->pose[k->b])), load, s->eps);
}

/* Writes the new points of a task without gaps, in the order of its contacts; returns their number. */
KERNEL int list_close(const ListArrays *s, const ListTask *k, int lane) {
  int count = 0;
  for (int base = 0; base < k->room; base += LANES) {
    const FrictionPoint *f = base + lane < k->room ? &s->fresh[k->to + base + lane] : NULL;
    bool used = f && f->contact >= 0;
    int added, rank = lane_rank(used, lane, &added);
    if (used) s->friction[k->to + count + rank] = *f;
    count += added;
  }
  return count;
}

KERNEL void list_gather(const ListArrays *s, int task, int lane, double *scratch) {
  const ListTask *k = &s->task[task];
  PointRange out = s->points[k->slot];
  (void)scratch;
  for (int i = lane; k->copied && i < out.count; i += LANES) s->friction[k->to + i] = s->before[out.first + i];
  if (!k->copied) out.count = list_close(s, k, lane);
  out.first = k->to;
  lane_sync();
  if (lane == 0) s->points[k->slot] = out;
}

/* ---- loads after Newton's step ---- */

/* What happened to the loads of a pair; the energy of friction; how many points it has. */
typedef struct LoadResult {
  LoadChange sum;
  double energy;
  int count;
} LoadResult;

KERNEL LoadResult load_result(int points) {
  LoadResult out = {{0, 0, 0, 0}, 0, points};
  return out;
}

/* The sums of all lanes. */
KERNEL LoadResult load_result_sum(LoadResult own) {
  own.sum.change = lane_sum(own.sum.change);
  own.sum.load = lane_sum(own.sum.load);
  own.sum.product = lane_sum(own.sum.product);
  own.sum.square = lane_sum(own.sum.square);
  own.energy = lane_sum(own.energy);
  return own;
}

typedef struct PredictArrays {
  const MomentTask *task;
  const int *row; /* by body, -1 if it has none */
  const Contact *contact;
  const int *index;
  const PointRange *points;
  FrictionPoint *friction;
  const Affine *step; /* by row */
  double *expected;   /* by task: the sum of its contacts' forces after the step */
  double *change;     /* MOMENT_AA by task: gradients of a and b by the change of the loads */
  LoadResult *result; /* by task */
  double range, eps;
} PredictArrays;

KERNEL Vec3 step_way(const PredictArrays *s, int row, Vec3 rest) {
  return row < 0 ? vec3(0, 0, 0) : affine_point(&s->step[row], rest);
}

/* The force of contact i of a task after the step. */
KERNEL double predict_force(const PredictArrays *s, const MomentTask *k, int i) {
  const Contact *c = &s->contact[s->index[k->first + i]];
  double apart = dot(c->normal, sub(step_way(s, s->row[k->a], c->ya), step_way(s, s->row[k->b], c->yb)));
  return contact_force_ahead(c, k->stiffness, s->range, apart);
}

/* As pair_expect. */
KERNEL void expect_task(const PredictArrays *s, int task, int lane, double *scratch) {
  const MomentTask *k = &s->task[task];
  double sum = 0;
  (void)scratch;
  for (int i = lane; i < k->count; i += LANES)
    if (s->contact[s->index[k->first + i]].weight > 0) sum += predict_force(s, k, i);
  sum = lane_sum(sum);
  if (lane == 0) s->expected[task] = k->count ? sum : k->expected;
}

/* Moves the loads. */
KERNEL void predict_loads(const PredictArrays *s, const MomentTask *k, PointRange points, int lane, LoadResult *out) {
  FrictionPoint *f = s->friction + points.first;
  for (int i = lane; i < points.count; i += LANES) {
    double ahead = points.part * k->factor[friction_way(&f[i])] * predict_force(s, k, f[i].contact);
    point_move_load(&f[i], ahead, k->weight, &out->sum);
    out->energy += f[i].load * friction_f0(norm(f[i].displacement), s->eps);
  }
  lane_sync();
}

KERNEL void predict_task(const PredictArrays *s, int task, int lane, double *scratch) {
  const MomentTask *k = &s->task[task];
  PointRange points = points_of(s->points, k->points);
  double sum[(MOMENT_AA + LANES - 1) / LANES], *own = scratch + SPRING_NUMBERS * lane;
  LoadResult out = load_result(points.count);
  Sym3 none = sym3_zero();
  for (int m = 0; m < (MOMENT_AA + LANES - 1) / LANES; m++) sum[m] = 0;
  if (k->weight > 0) predict_loads(s, k, points, lane, &out);
  for (int base = 0; base < points.count && k->weight > 0; base += LANES) {
    int left = points.count - base;
    const FrictionPoint *f = &s->friction[points.first + base + (lane < left ? lane : 0)];
    if (lane < left) spring_put_friction(own, f, friction_gradient(f, f->change, s->eps), 0, &none);
    moments_gather(scratch, left < LANES ? left : LANES, MOMENT_AA, lane, sum);
  }
  for (int n = lane, m = 0; n < MOMENT_AA; n += LANES, m++) s->change[(size_t)MOMENT_AA * task + n] = sum[m];
  out = load_result_sum(out);
  if (lane == 0) s->result[task] = out;
}

/* ---- loads and normal forces ---- */

typedef struct CompareArrays {
  const ListTask *task;
  const Contact *contact;
  const int *index;
  const PointRange *points;
  FrictionPoint *friction;
  LoadResult *result; /* by task */
  double range;
} CompareArrays;

KERNEL void compare_task(const CompareArrays *s, int task, int lane, double *scratch) {
  const ListTask *k = &s->task[task];
  PointRange points = list_before(s->points, k);
  Passing pass = passing_of(k, s->contact, s->index, s->friction, points, s->range);
  LoadResult out = load_result(points.count);
  pass_all(&pass, &points, k, lane, scratch);
  lane_sync();
  for (int i = lane; i < pass.count; i += LANES)
    if (pass.point[i].successor == SUCCESSOR_NONE) out.sum.change += pass.point[i].load;
  for (int item = lane; item < k->contacts * k->ways; item += LANES) {
    int contact = item / k->ways, way = k->way[item % k->ways];
    if (!contact_rubs(&pass, contact, way)) continue;
    const FrictionPoint *own = passing_own(&pass, k, item);
    int lost = own ? -1 : nearest_lost(&pass, way, passing_contact(&pass, contact)->ya);
    double now = pass.factor[way] * passing_force(&pass, contact);
    out.sum.change += fabs(now - passed_load(&pass, contact, way, own, lost, false));
    out.sum.load += now;
  }
  out = load_result_sum(out);
  if (lane == 0) s->result[task] = out;
}

/* ---- launches ---- */

#ifdef __cplusplus
extern "C" {
#endif
bool list_pass_launch(int tasks, const ListArrays *arrays);
bool list_launch(int chunks, const ListArrays *arrays);
bool list_gather_launch(int tasks, const ListArrays *arrays);
bool expect_launch(int tasks, const PredictArrays *arrays);
bool predict_launch(int tasks, const PredictArrays *arrays);
bool compare_launch(int tasks, const CompareArrays *arrays);
#ifdef __cplusplus
}
#endif

/* Defines them: in load.cu for the GPU, in a test for this machine's cores. */
#define LOAD_LAUNCHES                                                                                                  \
  LAUNCH_LANES(list_pass, ListArrays, list_pass)                                                                       \
  LAUNCH_CHUNKS(list, ListArrays, list_contact)                                                                        \
  LAUNCH_LANES(list_gather, ListArrays, list_gather)                                                                   \
  LAUNCH_LANES(expect, PredictArrays, expect_task)                                                                     \
  LAUNCH_LANES(predict, PredictArrays, predict_task)                                                                   \
  LAUNCH_LANES(compare, CompareArrays, compare_task)

#endif
