/* How threads share the columns of a factor: ranges of whole subtrees of the elimination tree, then the columns above them one
 * at a time.
 *
 * Threads take tasks in ascending order, or all of them in descending order. A task needs only tasks before it in that order,
 * so that waiting for one ends. The split depends on the pattern alone. Tested in tests/test_block_cholesky.c. */
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
  int count; /* 0: not found yet */
  int column_count;
  int *task_of;     /* by column */
  atomic_int *done; /* by task: the number of the last run that has done it */
  int run;          /* number of the run in progress or the last one; 0: none yet */
  bool several;     /* more than one thread runs */
  double cost;      /* of all columns [flops] */
  double longest;   /* of that, what must follow one upon the other */
  void *memory;
  int capacity;
} BlockTasks;

/* The pattern has changed; its tasks are found when several threads are to run them. */
void block_tasks_forget(BlockTasks *tasks, const BlockPattern *pattern);
void block_tasks_free(BlockTasks *tasks);

/* Of so many threads, those that save more than they cost in a run that takes this share of a factorisation's time; 1 when
 * memory is out. */
int block_tasks_threads(BlockTasks *tasks, const BlockPattern *pattern, int threads, double share);

typedef void BlockWork(void *context, const BlockTask *task, int worker);
/* Calls the body for every task, or once for all columns if there is one thread. worker: below threads, different for bodies that run at once. One run at a time. */
void block_tasks_run(BlockTasks *tasks, int threads, bool descending, BlockWork *body, void *context);

/* Inside a body: waits until the task of a column is done. The column must belong to an earlier task. */
static inline void block_tasks_wait(const BlockTasks *tasks, int column) {
  if (!tasks->several) return;
  const atomic_int *done = &tasks->done[tasks->task_of[column]];
  for (int spins = 0; atomic_load_explicit(done, memory_order_acquire) != tasks->run; spins++) parallel_pause(spins);
}

#endif
