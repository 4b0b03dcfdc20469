/* Solves for a subset of the blocks, see linear/block_subset.h. Tested in tests/test_block_cholesky.c. */
#include "linear/block_subset.h"

#include <string.h>

#include "linear/block_solver.h"

void block_subset_free(BlockSubset *subset) {
  mem_free(subset->block), mem_free(subset->column), mem_free(subset->seen), mem_free(subset->full);
  mem_free(subset->forward);
  memset(subset, 0, sizeof *subset);
}

static bool reserve_subset(const BlockCholesky *solver, BlockSubset *s, int count) {
  const BlockPattern *p = &solver->plan.pattern;
  return mem_reserve((void **)&s->block, &s->block_capacity, count, sizeof(int)) &&
         mem_reserve((void **)&s->column, &s->column_capacity, p->n, sizeof(int)) &&
         mem_reserve((void **)&s->seen, &s->seen_capacity, p->n, sizeof(bool)) &&
         mem_reserve((void **)&s->forward, &s->forward_capacity, p->unknown_count, sizeof(double)) &&
         (!whole_vectors(solver) ||
          mem_reserve((void **)&s->full, &s->full_capacity, p->unknown_count, sizeof(double)));
}

bool block_cholesky_select(const BlockCholesky *solver, BlockSubset *s, const int *block, int count) {
  const BlockPattern *p = &solver->plan.pattern;
  if (!reserve_subset(solver, s, count)) return false;
  s->count = count;
  s->column_count = 0;
  if (count) memcpy(s->block, block, (size_t)count * sizeof(int));
  if (p->n) memset(s->seen, 0, (size_t)p->n * sizeof(bool));
  for (int k = 0; k < count; k++)
    for (int c = p->column_of[block[k]]; c >= 0 && !s->seen[c]; c = p->parent[c]) s->seen[c] = true;
  for (int c = 0; c < p->n; c++)
    if (s->seen[c]) s->column[s->column_count++] = c;
  return true;
}

/* Adds vectors of the subset's blocks to those of total size, or takes them from there. */
static void add_to_full(const BlockCholesky *solver, const BlockSubset *s, const double *b) {
  const BlockPattern *p = &solver->plan.pattern;
  for (int k = 0; k < s->count; b += p->given_size[s->block[k++]])
    for (int i = 0; i < p->given_size[s->block[k]]; i++) s->full[p->caller_at[s->block[k]] + i] += b[i];
}

static void take_from_full(const BlockCholesky *solver, const BlockSubset *s, double *x) {
  const BlockPattern *p = &solver->plan.pattern;
  for (int k = 0; k < s->count; x += p->given_size[s->block[k++]])
    memcpy(x, s->full + p->caller_at[s->block[k]], (size_t)p->given_size[s->block[k]] * sizeof(double));
}

/* The same for the work vector, which is zero in the other columns of the subset. */
static void put_subset(BlockCholesky *solver, const BlockSubset *s, const double *b) {
  const BlockPattern *p = &solver->plan.pattern;
  for (int k = 0; k < s->column_count; k++)
    memset(solver->work + p->unknown_at[s->column[k]], 0, (size_t)p->size[s->column[k]] * sizeof(double));
  for (int k = 0; k < s->count; b += p->given_size[s->block[k++]])
    memcpy(work_of(solver, s->block[k]), b, (size_t)p->given_size[s->block[k]] * sizeof(double));
}

static void take_subset(const BlockCholesky *solver, const BlockSubset *s, double *x) {
  const BlockPattern *p = &solver->plan.pattern;
  for (int k = 0; k < s->count; x += p->given_size[s->block[k++]])
    memcpy(x, work_of(solver, s->block[k]), (size_t)p->given_size[s->block[k]] * sizeof(double));
}

void block_cholesky_solve_subset(BlockCholesky *solver, const BlockSubset *s, const double *b, double *x) {
  const BlockPattern *p = &solver->plan.pattern;
  if (whole_vectors(solver)) {
    if (p->unknown_count) memset(s->full, 0, (size_t)p->unknown_count * sizeof(double));
    add_to_full(solver, s, b);
    block_cholesky_solve(solver, s->full, s->full);
    take_from_full(solver, s, x);
    return;
  }
  BlockFactor factor = factor_of(solver);
  solver->forward = false;
  put_subset(solver, s, b);
  block_factor_forward_columns(&factor, s->column, s->column_count, solver->work);
  block_factor_backward_columns(&factor, s->column, s->column_count, solver->work);
  take_subset(solver, s, x);
}

/* ---- a solve in two parts ---- */

static double dot_block(const double *a, const double *b, int size) {
  double sum = 0;
  for (int i = 0; i < size; i++) sum += a[i] * b[i];
  return sum;
}

/* Solves for the subset alone cost no less. */
static void solve_first_whole(BlockCholesky *solver, const BlockSubset *s, const double *b, double *x, double *energy) {
  const BlockPattern *p = &solver->plan.pattern;
  block_cholesky_solve(solver, b, s->full);
  for (int i = 0; i < p->given_count; i++)
    energy[i] = dot_block(b + p->caller_at[i], s->full + p->caller_at[i], p->given_size[i]);
  take_from_full(solver, s, x);
}

/* The subset's columns of the work vector, to `forward`, or added from there. */
static void keep_forward(const BlockCholesky *solver, const BlockSubset *s, bool add) {
  const BlockPattern *p = &solver->plan.pattern;
  double *kept = s->forward;
  for (int k = 0; k < s->column_count; kept += p->size[s->column[k++]]) {
    double *work = solver->work + p->unknown_at[s->column[k]];
    for (int i = 0; i < p->size[s->column[k]]; i++) {
      if (add) work[i] += kept[i];
      else kept[i] = work[i];
    }
  }
}

/* b . A^-1 b = |L^-1 b|^2. The work vector keeps L^-1 b outside of the subset's columns. */
void block_cholesky_solve_first(BlockCholesky *solver, const BlockSubset *s, const double *b, double *x,
                                double *energy) {
  const BlockPattern *p = &solver->plan.pattern;
  if (whole_vectors(solver)) {
    solve_first_whole(solver, s, b, x, energy);
    return;
  }
  BlockFactor factor = factor_of(solver);
  if (!solver->forward && p->n) {
    factor.right = b;
    block_solver_forward(solver, &factor, solver->work);
  }
  solver->forward = false;
  for (int i = 0; i < p->given_count; i++)
    energy[i] = dot_block(work_of(solver, i), work_of(solver, i), p->given_size[i]);
  keep_forward(solver, s, false);
  block_factor_backward_columns(&factor, s->column, s->column_count, solver->work);
  take_subset(solver, s, x);
}

void block_cholesky_solve_last(BlockCholesky *solver, const BlockSubset *s, const double *b, const double *g,
                               double *x) {
  const BlockPattern *p = &solver->plan.pattern;
  if (whole_vectors(solver)) {
    if (p->unknown_count) memcpy(s->full, b, (size_t)p->unknown_count * sizeof(double));
    add_to_full(solver, s, g);
    block_cholesky_solve(solver, s->full, x);
    return;
  }
  if (!p->n) return;
  BlockFactor factor = factor_of(solver);
  put_subset(solver, s, g);
  block_factor_forward_columns(&factor, s->column, s->column_count, solver->work);
  keep_forward(solver, s, true);
  factor.solution = x;
  block_solver_backward(solver, &factor, solver->work);
}
