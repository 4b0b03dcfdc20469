/* Splits a factor's columns into tasks; threads execute them. */
#include "linear/block_task.h"

#include <math.h>
#include <string.h>

/* All in flops; a core does about 15 per ns. */
static const double column_cost = 3e3;       /* of a column besides its flops */
static const double least_parallel = 1e6;    /* 70 us; one thread is as fast below */
static const double cost_per_thread = 2.5e5; /* below this a thread costs more than it saves */
static const double handover = 3e3;          /* latency of a result from core to core */
static const double least_share = 4e4;       /* smallest cost of a task */
/* A thread computes a column of this cost in the time that it needs to get the blocks of the column before it from
 * another core, so it computes both; up to the second cost in one task. */
static const double chain_column = 3e4, chain_cost = 2e5;
enum { SHARES = 5 }; /* of the cost for each thread; more balance better and wait more often */

void block_tasks_free(BlockTasks *t) {
  mem_free(t->memory);
  memset(t, 0, sizeof *t);
}

static bool reserve(BlockTasks *t, int n) {
  if (n > t->capacity) {
    int capacity = n + n / 4, columns = t->column_count;
    block_tasks_free(t);
    t->column_count = columns;
    char *byte = t->memory = mem_alloc((size_t)capacity, sizeof(BlockTask) + sizeof(int) + sizeof(atomic_int));
    if (!byte) return false;
    t->capacity = capacity;
  }
  t->task = t->memory;
  t->task_of = (int *)(t->task + t->capacity);
  t->done = (atomic_int *)(t->task_of + t->capacity);
  return true;
}

typedef struct Split {
  const BlockPattern *pattern;
  double share;          /* most of a subtree's cost */
  const double *subtree; /* cost of the subtree of each column */
  BlockTask *task;
  int low, high;       /* tasks of subtrees are below, those of the columns above them from high on */
  double joined, path; /* cost of the last task of each kind */
} Split;

/* A column above the subtrees. It joins the task of its parent if both are cheap and no other column is between. */
static void add_column(Split *s, int c) {
  const BlockPattern *p = s->pattern;
  double cost = p->work[c] + column_cost;
  bool cheap = cost <= chain_column && s->path + cost <= chain_cost;
  if (cheap && s->high < p->n && p->parent[c] == c + 1 && s->task[s->high].first == c + 1) {
    s->task[s->high].first = c;
    s->path += cost;
    return;
  }
  s->task[--s->high] = (BlockTask){c, c};
  s->path = cost <= chain_column ? cost : chain_cost;
}

/* The subtree of c. It joins its neighbour if both are small. */
static void add_subtree(Split *s, int c) {
  int first = s->pattern->first_descendant[c];
  if (s->low && s->task[s->low - 1].first == c + 1 && s->joined + s->subtree[c] <= s->share) {
    s->task[s->low - 1].first = first;
    s->joined += s->subtree[c];
  } else {
    s->task[s->low++] = (BlockTask){first, c};
    s->joined = s->subtree[c];
  }
}

/* Makes tasks of subtrees of at most a share of the cost, joining neighbouring ones, then of the columns above them in
 * ascending order. Returns their number; *subtrees: those of the first kind. */
static int split(const BlockPattern *p, double share, const double *subtree, BlockTask *task, int *subtrees) {
  Split s = {p, share, subtree, task, 0, p->n, 0, 0};
  for (int c = p->n - 1; c >= 0;) {
    if (subtree[c] > share) {
      add_column(&s, c--);
    } else {
      add_subtree(&s, c);
      c = p->first_descendant[c] - 1;
    }
  }
  memmove(task + s.low, task + s.high, (size_t)(p->n - s.high) * sizeof *task);
  *subtrees = s.low;
  return s.low + p->n - s.high;
}

static void number_tasks(BlockTasks *t, int first) {
  for (int k = first; k < t->count; k++)
    for (int c = t->task[k].first; c <= t->task[k].last; c++) t->task_of[c] = k;
}

/* Orders the tasks above the subtrees by their height in the tree of tasks. Threads take them in this order, and those
 * of the same height do not wait for each other; columns of one path follow each other. level, place: n + 1 each. */
static void sort_by_height(BlockTasks *t, const BlockPattern *p, int subtrees, int *level, int *place,
                           BlockTask *sorted) {
  int top = t->count - subtrees, highest = 0;
  number_tasks(t, subtrees);
  memset(level, 0, (size_t)top * sizeof *level);
  for (int k = 0; k < top; k++) {
    int parent = p->parent[t->task[subtrees + k].last];
    if (++level[k] > highest) highest = level[k];
    int *above = parent == -1 ? NULL : &level[t->task_of[parent] - subtrees];
    if (above && *above < level[k]) *above = level[k];
  }
  memset(place, 0, (size_t)(highest + 1) * sizeof *place);
  for (int k = 0; k < top; k++) place[level[k]]++;
  for (int h = 1; h <= highest; h++) place[h] += place[h - 1];
  for (int k = top - 1; k >= 0; k--) sorted[--place[level[k]]] = t->task[subtrees + k];
  memcpy(t->task + subtrees, sorted, (size_t)top * sizeof *sorted);
}

/* The longest path of the tree: each column's last update, its factorisation and its division, and the handovers
 * between tasks. */
static double longest_path(const BlockTasks *t, const BlockPattern *p, double *path) {
  double longest = 0;
  for (int c = 0; c < p->n; c++) path[c] = 0;
  for (int c = 0; c < p->n; c++) {
    int end = p->column_at[c + 1] - 1, parent = p->parent[c];
    double s = p->size[c], below = (double)(p->block_at[end] - p->block_at[p->column_at[c]]);
    below += s * p->size[p->block_row[end]] - s * s;
    path[c] += s * s * s / 3 + 3 * s * below + column_cost;
    if (path[c] > longest) longest = path[c];
    if (parent == -1) continue;
    double after = path[c] + (t->task_of[parent] != t->task_of[c] ? handover : 0);
    if (after > path[parent]) path[parent] = after;
  }
  return longest;
}

void block_tasks_forget(BlockTasks *t, const BlockPattern *p) {
  t->count = 0;
  t->column_count = p->n;
}

/* False if memory is out. */
static bool find_tasks(BlockTasks *t, const BlockPattern *p, int shares) {
  size_t n = (size_t)p->n;
  double *subtree = mem_alloc(n + 1, sizeof(double) + sizeof(BlockTask) + 2 * sizeof(int));
  if (!subtree || !reserve(t, p->n)) {
    mem_free(subtree);
    return false;
  }
  BlockTask *sorted = (BlockTask *)(subtree + n + 1);
  int *level = (int *)(sorted + n + 1), subtrees;
  t->cost = p->flops + column_cost * p->n;
  for (int c = 0; c < p->n; c++) subtree[c] = p->work[c] + column_cost;
  for (int c = 0; c < p->n; c++)
    if (p->parent[c] != -1) subtree[p->parent[c]] += subtree[c];
  t->count = split(p, fmax(t->cost / shares, least_share), subtree, t->task, &subtrees);
  sort_by_height(t, p, subtrees, level, level + n + 1, sorted);
  number_tasks(t, 0);
  for (int k = 0; k < t->count; k++) atomic_init(&t->done[k], 0);
  t->longest = longest_path(t, p, subtree);
  t->run = 0;
  t->shares = shares;
  mem_free(subtree);
  return true;
}

/* A chain is not worth a second thread, however long it is. */
int block_tasks_threads(BlockTasks *t, const BlockPattern *p, int threads, double share) {
  if (threads <= 1 || share * (p->flops + column_cost * p->n) < least_parallel) return 1;
  int shares = SHARES * (int)fmin(threads, 1 + (p->flops + column_cost * p->n) / cost_per_thread);
  if ((!t->count || t->shares != shares) && !find_tasks(t, p, shares)) return 1;
  double most = fmin(share * t->cost / cost_per_thread, 1.5 * t->cost / t->longest);
  return !(most >= 2) ? 1 : threads > most ? (int)most : threads;
}

typedef struct Run {
  BlockTasks *tasks;
  bool descending;
  BlockWork *body;
  void *context;
  atomic_int next;
} Run;

static int place_in_run(const BlockTasks *t, bool descending, int k) { return descending ? t->count - 1 - k : k; }

static bool is_done(const BlockTasks *t, int task) {
  return atomic_load_explicit(&t->done[task], memory_order_acquire) == t->run;
}

void block_tasks_await(BlockWorker *worker, int column) {
  const BlockTasks *t = worker->tasks;
  int task = t->task_of[column], place = place_in_run(t, worker->descending, task);
  if (place < worker->done) return;
  while (worker->done < t->count && is_done(t, place_in_run(t, worker->descending, worker->done))) worker->done++;
  if (place < worker->done) return;
  for (int spins = 0; !is_done(t, task); spins++) parallel_pause(spins);
}

static void take_tasks(void *context, int index) {
  Run *run = context;
  BlockTasks *t = run->tasks;
  BlockWorker worker = {.tasks = t, .index = index, .descending = run->descending};
  int k;
  while ((k = atomic_fetch_add_explicit(&run->next, 1, memory_order_relaxed)) < t->count) {
    int task = place_in_run(t, run->descending, k);
    run->body(run->context, &t->task[task], &worker);
    atomic_store_explicit(&t->done[task], t->run, memory_order_release);
  }
}

void block_tasks_run(BlockTasks *t, int threads, bool descending, BlockWork *body, void *context) {
  Run run = {.tasks = t, .descending = descending, .body = body, .context = context};
  if (threads <= 1) {
    body(context, &(BlockTask){0, t->column_count - 1}, &(BlockWorker){0});
    return;
  }
  t->run++;
  parallel_for(threads, threads, 1, take_tasks, &run);
}
