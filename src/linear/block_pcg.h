/* Preconditioned conjugate gradients, for systems whose factor would not fit in memory. Sums run over fixed chunks, so
 * results do not depend on the number of threads. Tested in tests/test_block_cholesky.c. */
#ifndef ABD_LINEAR_BLOCK_PCG_H
#define ABD_LINEAR_BLOCK_PCG_H

#include "linear/block_pattern.h"

typedef struct BlockPcg {
  const BlockPattern *pattern;
  const double *values;                           /* of the matrix, in the pattern's layout */
  void (*precondition)(void *context, double *x); /* x = M^-1 x */
  void *context;
  double *work;     /* 4 x unknown_count */
  double tolerance; /* norm of the preconditioned residual, relative to the first */
  int max_iterations;
  int threads;
  Interrupt *interrupt;
} BlockPcg;

typedef struct PcgResult {
  int iterations;
  bool converged;
  bool indefinite; /* a direction has negative curvature: the matrix is not positive definite */
} PcgResult;

/* x: the right-hand side, then the solution, both in L's order. Without convergence x is still a descent direction. */
PcgResult block_pcg_solve(const BlockPcg *pcg, double *x);

#endif
