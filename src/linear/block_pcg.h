/* Conjugate gradients with a preconditioner, for systems whose factor outgrows memory. Sums run over fixed chunks, so that
 * results do not depend on threads. Tested in tests/test_block_cholesky.c. */
#ifndef ABD_LINEAR_BLOCK_PCG_H
#define ABD_LINEAR_BLOCK_PCG_H

#include "linear/block_pattern.h"

typedef struct BlockPcg {
  const BlockPattern *pattern;
  const double *values;                           /* of the matrix, laid out as the pattern says */
  void (*precondition)(void *context, double *x); /* x = M^-1 x */
  void *context;
  double *work;     /* 4 unknown counts */
  double tolerance; /* on the preconditioned residual's norm, relative to the first */
  int max_iterations;
  int threads;
} BlockPcg;

typedef struct PcgResult {
  int iterations;
  bool converged;
  bool indefinite; /* a direction of negative curvature was met: the matrix is not positive definite */
} PcgResult;

/* x: the right-hand side, then the solution, both in L's order. Where it does not converge x is still a descent direction. */
PcgResult block_pcg_solve(const BlockPcg *pcg, double *x);

#endif
