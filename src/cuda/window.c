/* Steps that are too long for a list of candidates: all stencils that pass each other are tested in growing windows of
 * the step, for all pairs at once. A pair ends with the window that a bound found so far does not reach beyond. Tested
 * in tests/test_cuda_serial.c. */
#include "cuda/accelerator.h"

#include <string.h>

typedef struct Way {
  Affine q[2], d[2];
  SweepWindow window;
  double wanted; /* how far the pair's island can go */
  bool done;
} Way;

typedef struct Windows {
  Cuda *c;
  Cpu *cpu;
  const int *pair;
  int count;
  Way *way;       /* by pair */
  int *task_pair; /* by task of the search: index of its pair */
  int tasks;
} Windows;

static Pair *pair_of(const Windows *w, int i) { return pairs_at(&w->cpu->pairs, w->pair[i]); }

typedef struct Opening {
  Cuda *c;
  const Cpu *cpu;
  const int *pair;
  bool listed;
  SweepTask *task;
  Affine *pose, *direction;
} Opening;

static void open_task(void *context, int i) {
  const Opening *o = context;
  o->task[i] = sweep_task(o->c, pairs_at(&o->cpu->pairs, o->pair[i]), &o->c->bound_plan[o->pair[i]]);
  o->task[i].contacts = !o->listed; /* then no list is tested */
}

static void open_body(void *context, int body) {
  const Opening *o = context;
  o->pose[body] = o->cpu->work.q.body[body];
  o->direction[body] = o->cpu->work.direction.body[body];
}

bool sweeps_open(Cuda *c, Cpu *cpu, int count, const int *pair, bool listed) {
  size_t bodies = (size_t)c->model->body_count * sizeof(Affine), tasks = (size_t)count;
  packet_begin(&c->packet);
  size_t task = packet_add(&c->packet, tasks * sizeof(SweepTask)), pose = packet_add(&c->packet, bodies),
         direction = packet_add(&c->packet, bodies);
  c->result = (Twin){c->result.here, c->result.there, sizeof(double), 0};
  if (!packet_open(&c->packet) || !twin_extend(&c->result, count) ||
      !device_reserve(&c->sweep, tasks * sizeof(SweepFull)) ||
      !device_reserve(&c->result.there, tasks * sizeof(double)))
    return false;
  Opening opening = {.c = c,
                     .cpu = cpu,
                     .pair = pair,
                     .listed = listed,
                     .task = packet_here(&c->packet, task),
                     .pose = packet_here(&c->packet, pose),
                     .direction = packet_here(&c->packet, direction)};
  parallel_both(cpu->threads, count, c->model->body_count, 64, open_task, open_body, &opening);
  SweepArrays arrays = {.task = packet_there(&c->packet, task),
                        .shape = c->shape.at,
                        .pose = packet_there(&c->packet, pose),
                        .direction = packet_there(&c->packet, direction),
                        .full = c->sweep.at,
                        .bound = c->result.there.at,
                        .range = cpu->scene.range};
  return packet_send(&c->packet) && sweep_open_launch(count, &arrays);
}

static void open_way(Windows *w, int i) {
  const Pair *p = pair_of(w, i);
  const Work *work = &w->cpu->work;
  Sweep *s = &w->c->bound_plan[w->pair[i]].s;
  w->way[i] = (Way){.q = {work->q.body[p->a], work->q.body[p->b]},
                    .d = {work->direction.body[p->a], work->direction.body[p->b]},
                    .wanted = bound_wanted(w->cpu, w->pair[i])};
  s->q = w->way[i].q;
  s->d = w->way[i].d;
}

/* The tasks of the next windows. */
static bool next_windows(Windows *w) {
  SearchTask *task = search_tasks(&w->c->search, w->count);
  if (!task) return false;
  w->tasks = 0;
  for (int i = 0; i < w->count; i++) {
    const Pair *p = pair_of(w, i);
    const Sweep *s = &w->c->bound_plan[w->pair[i]].s;
    Way *way = &w->way[i];
    way->done = way->done || !sweep_window_next(s, least(way->wanted, p->bound), &way->window);
    if (way->done) continue;
    w->task_pair[w->tasks] = i;
    task[w->tasks++] = search_window_task(w->cpu, p, &way->window, i);
  }
  return true;
}

static void take_bounds(Windows *w) {
  const double *bound = w->c->result.here.at;
  const int *tested = (const int *)w->c->search.count.here.at + SEARCH_COUNTS;
  for (int t = 0; t < w->tasks; t++) {
    Pair *p = pair_of(w, w->task_pair[t]);
    p->bound = least(p->bound, bound[w->task_pair[t]]);
    p->counts.ccd_calls += tested[t];
  }
}

/* A tree with too many levels: this machine searches. */
static void windows_here(Windows *w) {
  for (int i = 0; i < w->count; i++)
    pair_cover_windows(pair_of(w, i), &w->cpu->scene, w->way[i].q, w->way[i].d, w->way[i].wanted);
}

static Outcome run(Windows *w) {
  if (!sweeps_open(w->c, w->cpu, w->count, w->pair, false)) return cuda_lost(w->c);
  for (int i = 0; i < w->count; i++) open_way(w, i);
  for (;;) {
    bool deep;
    if (!next_windows(w)) return stage_from(false);
    if (w->tasks == 0) return stage_done();
    if (!search_run(w->c, w->tasks, true, &deep)) return cuda_lost(w->c);
    if (deep) return windows_here(w), stage_done();
    take_bounds(w);
  }
}

Outcome cuda_windows(Cuda *c, Cpu *cpu, int count, const int *pair) {
  if (count == 0) return stage_done();
  Windows w = {.c = c, .cpu = cpu, .pair = pair, .count = count};
  w.way = mem_alloc((size_t)count, sizeof *w.way);
  w.task_pair = mem_alloc((size_t)count, sizeof *w.task_pair);
  Outcome outcome = w.way && w.task_pair ? run(&w) : stage_from(false);
  mem_free(w.way);
  mem_free(w.task_pair);
  return outcome;
}
