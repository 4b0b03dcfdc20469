/* Selection of the active set, see step/active.h. */
#include "step/active.h"

#include <math.h>

#include "kernel/constant.h"

typedef struct Selection {
  Islands *islands;
  Work *work;
  const Neighbours *neighbours;
} Selection;

static bool is_fast(const Work *w, int block) { return block_speed(w, block) > w->model->def.solver.tolerance; }

static bool has_fast_neighbour(const Selection *s, int body) {
  const Segments *of_body = s->neighbours->of_body;
  for (int e = of_body->first[body]; e < of_body->first[body + 1]; e++) {
    int k = of_body->item[e] / 2, other = s->neighbours->body[k][1 - of_body->item[e] % 2];
    if (s->neighbours->acts[k] && s->islands->of[other] >= 0 && is_fast(s->work, other)) return true;
  }
  return false;
}

static void select_body(void *context, int body) {
  const Selection *s = context;
  const Island *g = &s->islands->island[s->islands->of[body]];
  if (!g->selected || (s->neighbours->own && !s->neighbours->own[body])) return;
  bool given = body < s->work->model->body_count; /* islands with soft vertices are whole */
  s->work->active[body] = g->whole || is_fast(s->work, body) || (given && has_fast_neighbour(s, body));
}

static void count_chunk(void *context, int c) {
  const Selection *s = context;
  const Segments *member = &s->islands->member;
  Chunk chunk = member->chunk[c];
  int count = 0;
  for (int e = chunk.first; e < chunk.end; e++) count += s->work->active[member->item[e]];
  __atomic_fetch_add(&s->islands->island[chunk.segment].active_count, count, __ATOMIC_RELAXED);
}

static void begin_counts(Islands *islands) {
  for (int e = 0; e < islands->listed_count; e++) {
    Island *g = island_listed(islands, e);
    if (g->selected) g->active_count = 0;
  }
}

/* False if all selected islands were whole before: their bodies are active already. */
static bool judge_counts(Islands *islands) {
  bool partial = false;
  for (int e = 0; e < islands->listed_count; e++) {
    Island *g = island_listed(islands, e);
    partial |= g->selected && !g->whole;
    g->whole |= g->body_count < DOZE_BODIES || g->active_count > DOZE_SHARE * g->body_count;
    if (g->selected && g->whole) g->active_count = g->body_count;
  }
  return partial;
}

static void settle_body(void *context, int body) {
  const Selection *s = context;
  Work *w = s->work;
  const Island *g = &s->islands->island[s->islands->of[body]];
  if (!g->selected) return;
  if (g->whole) w->active[body] = true;
  if (w->active[body]) return;
  Affine q = node_pose(w->model, w->q, body);
  node_put(w->model, w->newton, body, affine_sub(q, q));
  node_put(w->model, w->direction, body, affine_sub(q, q));
  node_put(w->model, w->trial, body, q);
}

/* Bodies of other processes are no members. */
static void settle_other(void *context, int j) {
  const Selection *s = context;
  int body = s->work->model->moving[j];
  if (!s->islands->link->own[body]) settle_body(context, body);
}

void active_set_mark(Islands *islands, Work *work, int threads, const Neighbours *neighbours) {
  Selection s = {islands, work, neighbours};
  begin_counts(islands);
  segments_for(&islands->member, threads, 256, select_body, count_chunk, &s);
}

void active_set_settle(Islands *islands, Work *work, int threads) {
  Selection s = {islands, work, NULL};
  bool partial = judge_counts(islands);
  if (partial || islands->link) segments_for(&islands->member, threads, 512, settle_body, NULL, &s);
  if (islands->link) parallel_for(threads, work->model->moving_count, 512, settle_other, &s);
}

void active_set_select(Islands *islands, Work *work, int threads, const Neighbours *neighbours) {
  active_set_mark(islands, work, threads, neighbours);
  active_set_settle(islands, work, threads);
}

double active_damping(const Islands *islands, const Work *work, int block) {
  const Island *g = &islands->island[islands->of[block]];
  if (g->damping == 0 || g->residual == 0 || !g->uneven) return g->damping;
  return g->damping * sqrt(least(1, block_speed(work, block) / g->residual));
}
