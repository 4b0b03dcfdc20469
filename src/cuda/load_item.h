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
  int first, contacts;          /* of the index */
  int ways, way[FRICTION_WAYS]; /* in which it has friction */
  int to, room;                 /* place of the new points */
  int anchor, anchors;          /* from the start of the step */
  double arm, stiffness;
  double factor[FRICTION_WAYS]; /* load over the normal force */
} ListTask;

typedef struct ListArrays {
  const ListTask *task;
  const TaskChunk *chunk;
  const Affine *start, *pose; /* by body: at the start of the step, now */
  const Contact *contact;
  const int *index;
  const Anchor *anchor;
  PointRange *points;          /* by slot */
  const FrictionPoint *before; /* the points so far */
  FrictionPoint *fresh;        /* by contact and way */
  FrictionPoint *friction;     /* without gaps, unique ones first */
  int *order;                  /* unique points of `fresh` from the front, others from the back */
  double range, eps;
} ListArrays;

enum { POINT_UNIQUE = -1, POINT_NONE = -2 }; /* FrictionPoint.unique in `fresh` */

/* The point with a key. Most are where they were, at `hint`. */
KERNEL const FrictionPoint *point_find(const FrictionPoint *point, int count, uint64_t key, int hint) {
  for (int i = 0, at = hint < count ? hint : 0; i < count; i++) {
    if (point[at].key == key) return &point[at];
    if (++at == count) at = 0;
  }
  return NULL;
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

KERNEL void list_contact(const ListArrays *s, int task, int item) {
  const ListTask *k = &s->task[task];
  const Contact *c = &s->contact[s->index[k->first + item / k->ways]];
  const Anchor *anchor = s->anchor + k->anchor;
  FrictionPoint *f = &s->fresh[k->to + item];
  PointRange old = list_before(s->points, k);
  Affine start[2];
  start[0] = s->start[k->a];
  start[1] = s->start[k->b];
  f->unique = POINT_NONE;
  if (!(contact_force(c, k->stiffness, s->range) > 0)) return;
  f->unique = POINT_UNIQUE;
  f->contact = item / k->ways;
  f->late = 1;
  f->change = 0;
  point_open(f, c, (FrictionWay)k->way[item % k->ways], start, k->arm);
  f->origin = friction_apart(f, &start[0], &start[1]);
  const FrictionPoint *before = point_find(s->before + old.first, old.count, f->key, item);
  point_set_slip(f, anchor, before ? before->anchor : anchor_find(anchor, k->anchors, f->key, f->ya), &start[1]);
  point_set_load(f, before, friction_slip_at(f, friction_apart(f, &s->pose[k->a], &s->pose[k->b])), 0, s->eps);
}

/* The first of the last unique points that coincides with f, -1 if there is none. */
KERNEL int list_same(const FrictionPoint *fresh, const int *order, int unique, const FrictionPoint *f, double arm,
                     int lane) {
  int from = unique > FRICTION_NEIGHBOURS ? unique - FRICTION_NEIGHBOURS : 0, best = unique;
  for (int r = from + lane; r < unique && best == unique; r += LANES)
    if (points_coincide(f, &fresh[order[r]], arm)) best = r;
  int which = best;
  best = (int)lane_least(best, &which);
  return best < unique ? best : -1;
}

/* Finds the unique points of a task, in the order of its contacts. */
KERNEL PointRange list_order(const ListArrays *s, const ListTask *k, int lane) {
  FrictionPoint *fresh = s->fresh + k->to;
  int *order = s->order + k->to;
  PointRange out = {k->to, 0, 0};
  for (int i = 0; i < k->room; i++) {
    FrictionPoint *f = &fresh[i];
    if (f->unique == POINT_NONE) continue;
    int same = list_same(fresh, order, out.unique, f, k->arm, lane);
    lane_sync();
    if (lane == 0) {
      order[same < 0 ? out.unique : k->room - 1 - (out.count - out.unique)] = i;
      f->unique = same;
      if (same >= 0) fresh[order[same]].sum += f->load;
    }
    lane_sync();
    out.unique += same < 0;
    out.count++;
  }
  return out;
}

/* Writes the points of a task without gaps. */
KERNEL void list_gather(const ListArrays *s, int task, int lane, double *scratch) {
  const ListTask *k = &s->task[task];
  PointRange old = list_before(s->points, k), out = {k->to, old.unique, old.count};
  (void)scratch;
  if (!k->copied) out = list_order(s, k, lane);
  int gap = k->room - out.count; /* between the unique ones and the others */
  for (int i = lane; i < out.count; i += LANES)
    s->friction[k->to + i] =
        k->copied ? s->before[old.first + i] : s->fresh[k->to + s->order[k->to + i + (i < out.unique ? 0 : gap)]];
  if (lane == 0) s->points[k->slot] = out;
}

/* ---- loads after Newton's step ---- */

/* What happened to the loads of a pair: how much they changed or differ, their sum, the energy of friction; how many
 * points it has. */
typedef struct LoadResult {
  double change, load, energy;
  int unique, count;
} LoadResult;

typedef struct PredictArrays {
  const MomentTask *task;
  const Contact *contact;
  const int *index;
  const PointRange *points;
  FrictionPoint *friction;
  const Affine *step; /* by row */
  double *change;     /* MOMENT_AA by task: gradients of a and b by the change of the loads */
  LoadResult *result; /* by task */
  double range, eps;
} PredictArrays;

KERNEL Vec3 step_way(const PredictArrays *s, int row, Vec3 rest) {
  return row < 0 ? vec3(0, 0, 0) : affine_point(&s->step[row], rest);
}

KERNEL double predict_force(const PredictArrays *s, const MomentTask *k, const FrictionPoint *f) {
  const Contact *c = &s->contact[s->index[k->first + f->contact]];
  double apart = dot(c->normal, sub(step_way(s, k->row[0], c->ya), step_way(s, k->row[1], c->yb)));
  return contact_force_ahead(c, k->stiffness, s->range, apart);
}

/* Moves the loads; the sums of unique points are those of their own and of their duplicates. */
KERNEL void predict_loads(const PredictArrays *s, const MomentTask *k, PointRange points, int lane, LoadResult *out) {
  FrictionPoint *f = s->friction + points.first;
  for (int i = lane; i < points.count; i += LANES) {
    if (i < points.unique) f[i].change = -f[i].sum;
    double ahead = k->factor[friction_way(&f[i])] * predict_force(s, k, &f[i]);
    out->change += fabs(point_move_load(&f[i], ahead, k->weight));
    out->load += f[i].ahead;
    if (i < points.unique) f[i].sum = f[i].load;
  }
  lane_sync();
  for (int i = points.unique; i < points.count && lane == 0; i++) f[f[i].unique].sum += f[i].load;
  lane_sync();
  for (int i = lane; i < points.unique; i += LANES) {
    f[i].change += f[i].sum;
    out->energy += f[i].sum * friction_f0(norm(f[i].displacement), s->eps);
  }
}

KERNEL void predict_task(const PredictArrays *s, int task, int lane, double *scratch) {
  const MomentTask *k = &s->task[task];
  PointRange points = points_of(s->points, k->points);
  double sum[(MOMENT_AA + LANES - 1) / LANES], *own = scratch + SPRING_NUMBERS * lane;
  LoadResult out = {0, 0, 0, points.unique, points.count};
  Sym3 none = sym3_zero();
  for (int m = 0; m < (MOMENT_AA + LANES - 1) / LANES; m++) sum[m] = 0;
  if (k->weight > 0) predict_loads(s, k, points, lane, &out);
  for (int base = 0; base < points.unique && k->weight > 0; base += LANES) {
    int left = points.unique - base;
    const FrictionPoint *f = &s->friction[points.first + base + (lane < left ? lane : 0)];
    if (lane < left) spring_put_friction(own, f, friction_gradient(f, f->change, s->eps), 0, &none);
    moments_gather(scratch, left < LANES ? left : LANES, MOMENT_AA, lane, sum);
  }
  for (int n = lane, m = 0; n < MOMENT_AA; n += LANES, m++) s->change[(size_t)MOMENT_AA * task + n] = sum[m];
  out.change = lane_sum(out.change);
  out.load = lane_sum(out.load);
  out.energy = lane_sum(out.energy);
  if (lane == 0) s->result[task] = out;
}

/* ---- loads and normal forces ---- */

typedef struct CompareArrays {
  const ListTask *task;
  const Contact *contact;
  const int *index;
  const PointRange *points;
  const FrictionPoint *friction;
  LoadResult *result; /* by task */
  double range;
} CompareArrays;

KERNEL void compare_task(const CompareArrays *s, int task, int lane, double *scratch) {
  const ListTask *k = &s->task[task];
  PointRange points = list_before(s->points, k);
  const FrictionPoint *point = s->friction + points.first;
  LoadResult out = {0, 0, 0, points.unique, points.count};
  (void)scratch;
  for (int i = lane; i < points.count; i += LANES) out.change += point[i].load;
  for (int item = lane; item < k->contacts * k->ways; item += LANES) {
    const Contact *c = &s->contact[s->index[k->first + item / k->ways]];
    int way = k->way[item % k->ways];
    const FrictionPoint *f =
        point_find(point, points.count, contact_key(c) | (uint64_t)way << FRICTION_WAY_SHIFT, item);
    double now = k->factor[way] * contact_force(c, k->stiffness, s->range);
    out.change += load_difference(now, f ? f->load : 0);
    out.load += now;
  }
  out.change = lane_sum(out.change);
  out.load = lane_sum(out.load);
  if (lane == 0) s->result[task] = out;
}

/* ---- launches ---- */

#ifdef __cplusplus
extern "C" {
#endif
bool list_launch(int chunks, const ListArrays *arrays);
bool list_gather_launch(int tasks, const ListArrays *arrays);
bool predict_launch(int tasks, const PredictArrays *arrays);
bool compare_launch(int tasks, const CompareArrays *arrays);
#ifdef __cplusplus
}
#endif

/* Defines them: in load.cu for the GPU, in a test for this machine's cores. */
#define LOAD_LAUNCHES                                                                                                  \
  LAUNCH_CHUNKS(list, ListArrays, list_contact)                                                                        \
  LAUNCH_LANES(list_gather, ListArrays, list_gather)                                                                   \
  LAUNCH_LANES(predict, PredictArrays, predict_task)                                                                   \
  LAUNCH_LANES(compare, CompareArrays, compare_task)

#endif
