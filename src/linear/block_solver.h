/* The state of a BlockCholesky: PRIVATE to block_cholesky.c, block_solve.c and block_subset.c. */
#ifndef ABD_LINEAR_BLOCK_SOLVER_H
#define ABD_LINEAR_BLOCK_SOLVER_H

#include "linear/block_cholesky.h"
#include "linear/block_factor.h"
#include "linear/cholmod_factor.h"

/* Plans kept for patterns that return, and the largest number of blocks of L of such a plan: it takes 20 bytes each. */
enum { KEPT_PLANS = 3, KEPT_BLOCKS = 1 << 20 };

struct BlockCholesky {
  BlockPlan plan;
  BlockPlan kept[KEPT_PLANS]; /* plans of other patterns, each with its own order; the newest one first */
  BlockGuide guide;
  const int *guided; /* of the next pattern; NULL: it has no guide */
  BlockTasks tasks;
  BlockBranches branches;
  int threads; /* of functions without a threads argument */
  Interrupt *interrupt;
  double *values;  /* blocks of A, then of L; aligned to a cache line */
  double *inverse; /* 1 / diagonal of L */
  double *work;    /* vectors for solve: one, or five if it iterates */
  double *matrix;  /* blocks of A if L is incomplete */
  int iterations;  /* of the last solve */
  bool forward;    /* work is L^-1 of the right-hand side of block_cholesky_begin */
  void *value_memory;
  int64_t value_capacity;
  void *map_memory;
  int map_capacity;
  CholmodFactor *cholmod; /* factors and solves if it can; NULL = not used */
};

static inline BlockFactor factor_of(BlockCholesky *solver) {
  return (BlockFactor){
      .pattern = &solver->plan.pattern,
      .tasks = &solver->tasks,
      .values = solver->values,
      .inverse = solver->inverse,
      .interrupt = solver->interrupt,
  };
}

/* A block of the caller in the work vector, which has the order of L. */
static inline double *work_of(const BlockCholesky *solver, int block) {
  const BlockPattern *p = &solver->plan.pattern;
  return solver->work + p->unknown_at[p->column_of[block]] + p->offset[block];
}

/* Does the method need whole vectors? */
static inline bool whole_vectors(const BlockCholesky *solver) { return solver->matrix || solver->cholmod; }

/* Both halves of a solve on as many threads as save time; x in the order of L. */
void block_solver_forward(BlockCholesky *solver, const BlockFactor *factor, double *x);
void block_solver_backward(BlockCholesky *solver, const BlockFactor *factor, double *x);

#endif
