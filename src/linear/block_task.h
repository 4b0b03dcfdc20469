/* Tasks of a factorisation: ranges of whole subtrees of the elimination tree, then the columns above them one at a
 * time.
 *
 * Threads take tasks in ascending order, or all of them in descending order. A task depends only on tasks before it in
 * that order, so that waiting for one ends. The split depends only on the pattern. Tested in
 * tests/test_block_cholesky.c. */
#ifndef ABD_LINEAR_BLOCK_TASK_H
#define ABD_LINEAR_BLOCK_TASK_H

#include <stdatomic.h>

#include "linear/block_pattern.h"

/* Columns first to last. */
typedef struct BlockTask {
  int first, last;
} BlockTask;

typedef struct BlockTasks {
  BlockTask *task;
  int count; /* 0 = not computed yet */
  int column_count;
  int *task_of;     /* by column */
  atomic_int *done; /* by task: number of the last run that finished it */
  int run;          /* number of the current or last run; 0 = none yet */
  bool several;     /* more than one thread runs */
  double cost;      /* of all columns [flops] */
  double longest;   /* cost of the longest dependent chain [flops] */
  void *memory;
  int capacity;
} BlockTasks;

/* Invalidates the tasks after a change of the pattern. They are computed when several threads need them. */
void block_tasks_forget(BlockTasks *tasks, const BlockPattern *pattern);
void block_tasks_free(BlockTasks *tasks);

/* The number of threads, at most `threads`, that save more than they cost in a run that takes this share of a
 * factorisation's time. 1 if memory is out. */
int block_tasks_threads(BlockTasks *tasks, const BlockPattern *pattern, int threads, double share);

typedef void BlockWork(void *context, const BlockTask *task, int worker);
/* Calls the body for every task, or once for all columns if there is one thread. worker: below threads, unique among
 * bodies that run at the same time. One run at a time. */
void block_tasks_run(BlockTasks *tasks, int threads, bool descending, BlockWork *body, void *context);

/* Inside a body: waits until the task of a column is done. The column must belong to an earlier task. */
static inline void block_tasks_wait(const BlockTasks *tasks, int column) {
  if (!tasks->several) return;
  const atomic_int *done = &tasks->done[tasks->task_of[column]];
  for (int spins = 0; atomic_load_explicit(done, memory_order_acquire) != tasks->run; spins++) parallel_pause(spins);
}

#endif
