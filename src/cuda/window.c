/* Steps that go beyond the lists of candidates. Short ones get new lists. Of long ones all stencils that pass each
 * other are tested in growing windows of the step. One search serves all pairs and the first windows of each; a pair
 * ends with the window that a bound found so far does not reach beyond. Tested in tests/test_cuda_serial.c. */
#include <string.h>

#include "cuda/task.h"
#include "kernel/constant.h"

typedef struct Way {
  Affine q[2], d[2];
  SweepWindow window;
  double wanted; /* how far the pair's island can go */
  bool done;
  int count; /* of the next windows */
  SearchTask next[GPU_WINDOWS];
} Way;

typedef struct Beyond {
  Cuda *c;
  Cpu *cpu;
  const int *pair;
  int lists, count; /* the first pairs get lists, the others windows */
  Way *way;         /* by pair that has windows */
  int *task_pair;   /* by task of a window: index of its pair */
  int tasks;
} Beyond;

static Pair *pair_of(const Beyond *b, int i) { return pairs_at(&b->cpu->pairs, b->pair[i]); }

/* ---- sweeps ---- */

static void open_task(void *context, int i) {
  const Beyond *b = context;
  SweepTask *task = (SweepTask *)b->c->opening.here.at + i;
  *task = sweep_task(b->c, pair_of(b, i), &b->c->bound_plan[b->pair[i]]);
  task->contacts = i >= b->lists; /* then no list is tested */
}

/* Sends the sweeps of the pairs, by their plans; room for the bounds. */
static bool open_sweeps(const Beyond *b) {
  Cuda *c = b->c;
  size_t tasks = (size_t)b->count;
  packet_begin(&c->opening);
  packet_add(&c->opening, tasks * sizeof(SweepTask));
  c->result = (Twin){c->result.here, c->result.there, sizeof(double), 0};
  if (!tasks_send_motion(c, b->cpu) || !packet_open(&c->opening) || !twin_extend(&c->result, b->count) ||
      !device_reserve(&c->sweep, tasks * sizeof(SweepFull)) ||
      !device_reserve(&c->result.there, tasks * sizeof(double)))
    return false;
  parallel_for(b->cpu->threads, b->count, 64, open_task, (void *)b);
  SweepArrays arrays = {.task = c->opening.there.at,
                        .shape = c->shape.at,
                        .pose = packet_there(&c->packet, c->moving_pose),
                        .direction = packet_there(&c->packet, c->moving_direction),
                        .full = c->sweep.at,
                        .bound = c->result.there.at,
                        .range = b->cpu->scene.range};
  return packet_send(&c->opening) && sweep_open_launch(b->count, &arrays);
}

/* ---- windows ---- */

static void open_way(const Beyond *b, int i) {
  const Pair *p = pair_of(b, i);
  const Work *work = &b->cpu->work;
  Way *way = &b->way[i - b->lists];
  Sweep *s = &b->c->bound_plan[b->pair[i]].s;
  memcpy(way->q, (const Affine[2]){work->q.body[p->a], work->q.body[p->b]}, sizeof way->q);
  memcpy(way->d, (const Affine[2]){work->direction.body[p->a], work->direction.body[p->b]}, sizeof way->d);
  way->window = (SweepWindow){0};
  way->wanted = bound_wanted(b->cpu, b->pair[i]);
  way->done = false;
  s->q = way->q;
  s->d = way->d;
}

/* The tasks of a pair's next windows. */
static void next_item(void *context, int w) {
  const Beyond *b = context;
  int i = b->lists + w;
  const Pair *p = pair_of(b, i);
  Way *way = &b->way[w];
  for (way->count = 0; way->count < GPU_WINDOWS && !way->done;) {
    way->done = !sweep_window_next(&b->c->bound_plan[b->pair[i]].s, least(way->wanted, p->bound), &way->window);
    if (!way->done) way->next[way->count++] = search_window_task(b->cpu, p, &way->window, i);
  }
}

static int next_windows(Beyond *b) {
  int windows = b->count - b->lists, tasks = 0;
  parallel_for(b->cpu->threads, windows, 4, next_item, b);
  for (int w = 0; w < windows; w++) tasks += b->way[w].count;
  return tasks;
}

static void put_windows(Beyond *b, SearchTask *task) {
  b->tasks = 0;
  for (int w = 0; w < b->count - b->lists; w++)
    for (int n = 0; n < b->way[w].count; n++) {
      b->task_pair[b->tasks] = b->lists + w;
      task[b->tasks++] = b->way[w].next[n];
    }
}

/* before: tasks before those of windows. */
static void take_bounds(const Beyond *b, int before) {
  const double *bound = b->c->result.here.at;
  const int *tested = (const int *)b->c->search.count.here.at + SEARCH_COUNTS + before;
  for (int t = 0; t < b->tasks; t++) {
    Pair *p = pair_of(b, b->task_pair[t]);
    p->bound = least(p->bound, bound[b->task_pair[t]]);
    p->counts.ccd_calls += tested[t];
  }
}

/* A tree with too many levels: this machine searches. */
static Outcome search_all_here(const Beyond *b) {
  for (int i = b->lists; i < b->count; i++) {
    const Way *way = &b->way[i - b->lists];
    pair_cover_windows(pair_of(b, i), &b->cpu->scene, way->q, way->d, way->wanted);
  }
  return stage_from(search_here(b->cpu, b->lists, b->pair));
}

/* ---- both ---- */

/* Lists are made with the first windows. */
static Outcome run(Beyond *b, bool *deep) {
  Cuda *c = b->c;
  *deep = false;
  if (!open_sweeps(b)) return cuda_lost(c);
  for (int i = b->lists; i < b->count; i++) open_way(b, i);
  for (int lists = b->lists;; lists = 0) {
    int tasks = lists + next_windows(b);
    if (tasks == 0) return stage_done();
    SearchTask *task = search_tasks(&c->search, tasks);
    if (!task) return stage_from(false);
    search_list_tasks(b->cpu, lists, b->pair, true, task);
    put_windows(b, task + lists);
    if (!search_run(c, tasks, true, deep)) return cuda_lost(c);
    if (*deep) return search_all_here(b);
    take_bounds(b, lists);
    if (lists && !search_collect(c, b->cpu, tasks, lists, b->pair)) return cuda_lost(c);
  }
}

Outcome cuda_beyond(Cuda *c, Cpu *cpu, int lists, int count, const int *pair, bool *deep) {
  Beyond b = {.c = c, .cpu = cpu, .pair = pair, .lists = lists, .count = count};
  size_t windows = (size_t)(count - lists);
  b.way = mem_alloc(windows, sizeof *b.way);
  b.task_pair = mem_alloc(GPU_WINDOWS * windows, sizeof *b.task_pair);
  Outcome outcome = b.way && b.task_pair ? run(&b, deep) : stage_from(false);
  mem_free(b.way);
  mem_free(b.task_pair);
  return outcome;
}
