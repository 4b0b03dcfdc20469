/* Solves with the factor of a BlockCholesky, see linear/block_cholesky.h. Tested in tests/test_block_cholesky.c. */
#include <string.h>

#include "kernel/constant.h"
#include "linear/block_pcg.h"
#include "linear/block_solver.h"

/* A solve is worth several threads if a factorisation of this part of its cost is, above the second number [flops]. A
 * solve takes half as long for sparse factors, but it uses each number once, and most numbers come from other cores'
 * caches. */
static const double solve_share = 0.05, least_solve = 4e7;
static const double short_trunk = 0.2; /* of the values */
enum { PCG_ITERATIONS = 2000, BLOCKS_AT_ONCE = 256, CALLS_AT_ONCE = 64 };

static int solve_threads(BlockCholesky *solver) {
  if (solver->plan.pattern.flops < least_solve) return 1;
  return block_tasks_threads(&solver->tasks, &solver->plan.pattern, solver->threads, solve_share);
}

/* Threads that solve branches of the tree, if that is faster than the tasks of a factorisation: these are not worth
 * several threads, or the trunk is short. In the tasks, columns of the trunk wait for each other. */
static int branch_threads(BlockCholesky *solver, int threads) {
  int by_branch = block_branches_threads(&solver->branches, &solver->plan.pattern, solver->threads);
  return threads > 1 && solver->branches.trunk_share > short_trunk ? 1 : by_branch;
}

void block_solver_backward(BlockCholesky *solver, const BlockFactor *factor, double *x) {
  int threads = solve_threads(solver), by_branch = branch_threads(solver, threads);
  if (by_branch > 1) block_factor_backward_branches(factor, &solver->branches, by_branch, x);
  else block_factor_backward(factor, threads, x);
}

void block_solver_forward(BlockCholesky *solver, const BlockFactor *factor, double *x) {
  int threads = solve_threads(solver), by_branch = branch_threads(solver, threads);
  if (by_branch > 1) block_factor_forward_branches(factor, &solver->branches, by_branch, x);
  else block_factor_forward(factor, threads, x);
}

static void apply_factor(void *context, double *x) {
  BlockCholesky *solver = context;
  BlockFactor factor = factor_of(solver);
  block_solver_forward(solver, &factor, x);
  block_solver_backward(solver, &factor, x);
}

/* The caller's vectors, and the work vector in L's order. */
typedef struct Transfer {
  const BlockCholesky *solver;
  const double *from;
  double *to;
} Transfer;

static void copy_in(void *context, int first, int last, int index) {
  const Transfer *t = context;
  const BlockPattern *p = &t->solver->plan.pattern;
  (void)index;
  for (int i = first; i < last; i++)
    memcpy(work_of(t->solver, i), t->from + p->caller_at[i], (size_t)p->given_size[i] * sizeof(double));
}

static void copy_out(void *context, int first, int last, int index) {
  const Transfer *t = context;
  const BlockPattern *p = &t->solver->plan.pattern;
  (void)index;
  for (int i = first; i < last; i++)
    memcpy(t->to + p->caller_at[i], work_of(t->solver, i), (size_t)p->given_size[i] * sizeof(double));
}

/* False if the matrix is not positive definite. A NaN in the matrix makes all of x NaN. */
static bool solve_by_iterations(BlockCholesky *solver, const double *b, double *x) {
  const BlockPattern *p = &solver->plan.pattern;
  Transfer transfer = {solver, b, x};
  BlockPcg pcg = {.pattern = p,
                  .values = solver->matrix,
                  .precondition = apply_factor,
                  .context = solver,
                  .work = solver->work + p->unknown_count,
                  .tolerance = PCG_TOLERANCE,
                  .max_iterations = PCG_ITERATIONS,
                  .threads = solver->threads,
                  .interrupt = solver->interrupt};
  parallel_chunks(solver->threads, p->given_count, BLOCKS_AT_ONCE, copy_in, &transfer);
  PcgResult result = block_pcg_solve(&pcg, solver->work);
  parallel_chunks(solver->threads, p->given_count, BLOCKS_AT_ONCE, copy_out, &transfer);
  solver->iterations = result.iterations;
  return !result.indefinite;
}

/* By a method that needs whole vectors. False if there is none. *good: the result. */
static bool solve_whole(BlockCholesky *solver, const double *b, double *x, bool *good) {
  *good = true;
  if (solver->cholmod && cholmod_factor_ready(solver->cholmod))
    cholmod_factor_solve(solver->cholmod, solver->plan.pattern.unknown_count, b, x);
  else if (solver->matrix) *good = solve_by_iterations(solver, b, x);
  else return false;
  return true;
}

bool block_cholesky_solve_then(BlockCholesky *solver, const double *b, double *x, ParallelBody *then, void *context) {
  const BlockPattern *p = &solver->plan.pattern;
  bool good;
  solver->iterations = 0;
  solver->forward = false;
  if (!p->n) return true;
  if (solve_whole(solver, b, x, &good)) {
    if (then) parallel_for(solver->threads, p->given_count, CALLS_AT_ONCE, then, context);
    return good;
  }
  BlockFactor factor = factor_of(solver);
  factor.right = b;
  factor.solution = x;
  factor.then = then;
  factor.then_context = context;
  block_solver_forward(solver, &factor, solver->work);
  block_solver_backward(solver, &factor, solver->work);
  return true;
}

bool block_cholesky_finish_then(BlockCholesky *solver, const double *b, double *x, ParallelBody *then, void *context) {
  if (!solver->forward) return block_cholesky_solve_then(solver, b, x, then, context);
  BlockFactor factor = factor_of(solver);
  factor.solution = x;
  factor.then = then;
  factor.then_context = context;
  solver->iterations = 0;
  solver->forward = false;
  block_solver_backward(solver, &factor, solver->work);
  return true;
}

bool block_cholesky_solve(BlockCholesky *solver, const double *b, double *x) {
  return block_cholesky_solve_then(solver, b, x, NULL, NULL);
}

bool block_cholesky_finish(BlockCholesky *solver, const double *b, double *x) {
  return block_cholesky_finish_then(solver, b, x, NULL, NULL);
}
