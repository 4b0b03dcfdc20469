/* Tasks of a factorisation: ranges of whole subtrees of the elimination tree, then the columns above them, one at a
 * time or a few cheap ones that follow each other on a path of the tree.
 *
 * Threads take tasks in ascending order, or all of them in descending order. A task depends only on tasks before it in
 * that order, so that waiting for one ends. The split depends only on the pattern and the number of threads. Tested in
 * tests/test_block_task.c. */
#ifndef ABD_LINEAR_BLOCK_TASK_H
#define ABD_LINEAR_BLOCK_TASK_H

#include <stdatomic.h>

#include "linear/block_pattern.h"

/* Columns first to last: all descendants of all of them, or a path of the tree, each column the parent of the one
 * before. */
typedef struct BlockTask {
  int first, last;
} BlockTask;

typedef struct BlockTasks {
  BlockTask *task;
  int count; /* 0 = not computed yet */
  int column_count;
  int shares;       /* into how many parts of the cost the subtrees were cut */
  int *task_of;     /* by column */
  atomic_int *done; /* by task: number of the last run that finished it */
  int run;          /* number of the current or last run; 0 = none yet */
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

/* One thread of a run. Other threads write the flags of tasks, and each read of a written flag takes as long as a
 * dozen products. So a thread remembers up to which task all are done. */
typedef struct BlockWorker {
  const BlockTasks *tasks; /* NULL = there is one thread */
  int index;               /* below threads, unique among bodies that run at the same time */
  bool descending;
  int done; /* the first so many tasks in the order of the run are done */
} BlockWorker;

typedef void BlockWork(void *context, const BlockTask *task, BlockWorker *worker);
/* Calls the body for every task, or once for all columns if there is one thread. One run at a time. */
void block_tasks_run(BlockTasks *tasks, int threads, bool descending, BlockWork *body, void *context);

/* Inside a body: waits until the task of a column is done. The column must belong to an earlier task. */
void block_tasks_await(BlockWorker *worker, int column);
static inline void block_tasks_wait(BlockWorker *worker, int column) {
  if (worker->tasks) block_tasks_await(worker, column);
}

#endif
