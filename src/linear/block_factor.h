/* Numerical block Cholesky: computes L in place of A and solves with it. Bits do not depend on the number of threads.
 * Tested in tests/test_block_cholesky.c. */
#ifndef ABD_LINEAR_BLOCK_FACTOR_H
#define ABD_LINEAR_BLOCK_FACTOR_H

#include "linear/block_branch.h"
#include "linear/block_task.h"

/* The caller's blocks, and its edges between wide blocks, whose values are in one column of L. */
typedef struct BlockColumn {
  const int *block, *edge;
  int block_count, edge_count;
} BlockColumn;
typedef void BlockFill(void *context, const BlockColumn *column); /* adds the values of a column that is zero */

typedef struct BlockFactor {
  const BlockPattern *pattern;
  BlockTasks *tasks;
  double *values;  /* blocks of A, then of L; aligned to a cache line */
  double *inverse; /* 1 / diagonal of L */
  Interrupt *interrupt;
  BlockFill *fill; /* sets the values of each column of A just before it is factored; NULL = they are set */
  void *fill_context;
  const double *right; /* in the caller's order; NULL: none, or x has it */
  double *forward;     /* L^-1 right, computed with L: each block of L is used while it is in the cache */
  double *solution;    /* in the caller's order, may be `right`; NULL: none */
  ParallelBody *then;  /* called for each of the caller's blocks when its solution is there; NULL: none */
  void *then_context;
} BlockFactor;

BlockColumn block_column(const BlockPattern *pattern, int column);
/* Sets a column to zero and fills it. */
void block_factor_fill(const BlockFactor *factor, int column);

/* maps: n numbers for each thread, zero if the pattern is an incomplete factor's. Returns the number of raised pivots,
 * -1 if there is a NaN or it was interrupted. */
int block_factor_compute(const BlockFactor *factor, int threads, int *maps);
/* x = L^-1 x, or L^-1 right, then x = L^-T x, in L's order, and also in `solution`: a column is copied by the thread
 * that computes it. No solution if it was interrupted. */
void block_factor_forward(const BlockFactor *factor, int threads, double *x);
void block_factor_backward(const BlockFactor *factor, int threads, double *x);
/* The same, of which threads share the branches. */
void block_factor_forward_branches(const BlockFactor *factor, const BlockBranches *branches, int threads, double *x);
void block_factor_backward_branches(const BlockFactor *factor, const BlockBranches *branches, int threads, double *x);
/* The same of the given columns alone, ascending, which contain the parents of each. Only these columns of x are read
 * and written; so the first is L^-1 x if x is zero elsewhere. */
void block_factor_forward_columns(const BlockFactor *factor, const int *column, int count, double *x);
void block_factor_backward_columns(const BlockFactor *factor, const int *column, int count, double *x);

#endif
