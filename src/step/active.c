/* Selection of the active set, see step/active.h. */
#include "step/active.h"

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

static void select_body(void *context, int j) {
  const Selection *s = context;
  int body = s->work->model->moving[j];
  const Island *g = &s->islands->island[s->islands->of[body]];
  if (!g->selected) return;
  bool given = body < s->work->model->body_count; /* islands with soft vertices are whole */
  s->work->active[body] = g->whole || is_fast(s->work, body) || (given && has_fast_neighbour(s, body));
}

static void count_active(const Selection *s) {
  Islands *islands = s->islands;
  const Model *m = s->work->model;
  for (int e = 0; e < islands->listed_count; e++)
    if (island_listed(islands, e)->selected) island_listed(islands, e)->active_count = 0;
  for (int j = 0; j < m->moving_count; j++) {
    Island *g = &islands->island[islands->of[m->moving[j]]];
    if (g->selected && s->work->active[m->moving[j]]) g->active_count++;
  }
  for (int e = 0; e < islands->listed_count; e++) {
    Island *g = island_listed(islands, e);
    g->whole |= g->body_count < DOZE_BODIES || g->active_count > DOZE_SHARE * g->body_count;
    if (g->selected && g->whole) g->active_count = g->body_count;
  }
}

static void settle_body(void *context, int j) {
  const Selection *s = context;
  Work *w = s->work;
  int body = w->model->moving[j];
  const Island *g = &s->islands->island[s->islands->of[body]];
  if (!g->selected) return;
  if (g->whole) w->active[body] = true;
  if (w->active[body]) return;
  Affine q = node_pose(w->model, w->q, body);
  node_put(w->model, w->newton, body, affine_sub(q, q));
  node_put(w->model, w->direction, body, affine_sub(q, q));
  node_put(w->model, w->trial, body, q);
}

void active_set_select(Islands *islands, Work *work, int threads, const Neighbours *neighbours) {
  Selection s = {islands, work, neighbours};
  parallel_for(threads, work->model->moving_count, 128, select_body, &s);
  count_active(&s);
  parallel_for(threads, work->model->moving_count, 128, settle_body, &s);
}
