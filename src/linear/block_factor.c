/* Left-looking block Cholesky: column j = (A_j - sum over k < j of L_k L_jk^T) L_jj^-T, k ascending.
 *
 * One thread computes a column with its updates in a fixed order, so results are the same for any number of threads. A
 * column above the subtrees waits for column k only when its update is due, so that neighbouring columns overlap. Each
 * sum of a solve is in ascending order of columns or rows too. Tested in tests/test_block_cholesky.c. */
#include "linear/block_factor.h"

#include <string.h>

#include "linear/block_kernel.h"

/* One factorisation. */
typedef struct Crew {
  const BlockFactor *factor;
  int *maps; /* n for each thread */
  atomic_int raised, failed;
} Crew;

/* By row of column j; the largest diagonal entry is that of the caller's block that contains the row. */
static void find_scales(const BlockPattern *p, int j, const double *diagonal, PivotScale *scale) {
  int s = p->size[j];
  for (int e = p->member_at[j]; e < p->member_at[j + 1]; e++) {
    int first = p->offset[p->member[e]], end = first + p->given_size[p->member[e]];
    double largest = 0;
    for (int r = first; r < end; r++)
      if (diagonal[s * r + r] > largest) largest = diagonal[s * r + r];
    for (int r = first; r < end; r++) scale[r] = (PivotScale){diagonal[s * r + r], largest};
  }
}

BlockColumn block_column(const BlockPattern *p, int c) {
  return (BlockColumn){p->member + p->member_at[c], p->edge_of + p->edge_start[c],
                       p->member_at[c + 1] - p->member_at[c], p->edge_start[c + 1] - p->edge_start[c]};
}

void block_factor_fill(const BlockFactor *f, int c) {
  const BlockPattern *p = f->pattern;
  int64_t from = p->block_at[p->column_at[c]], to = c + 1 < p->n ? p->block_at[p->column_at[c + 1]] : p->value_count;
  BlockColumn column = block_column(p, c);
  memset(f->values + from, 0, (size_t)(to - from) * sizeof(double));
  f->fill(f->fill_context, &column);
}

/* Is block b the block of column j in that row? */
static bool has_block(const BlockPattern *p, int j, int row, int b) {
  return b >= p->column_at[j] && b < p->column_at[j + 1] && p->block_row[b] == row;
}

/* The caller's right-hand side of column j, and its solution. */
static void take_right(const BlockFactor *f, int j, double *x) {
  const BlockPattern *p = f->pattern;
  for (int e = p->member_at[j]; f->right && e < p->member_at[j + 1]; e++) {
    int block = p->member[e];
    memcpy(x + p->unknown_at[j] + p->offset[block], f->right + p->caller_at[block],
           (size_t)p->given_size[block] * sizeof(double));
  }
}

static void give_solution(const BlockFactor *f, int j, const double *x) {
  const BlockPattern *p = f->pattern;
  for (int e = p->member_at[j]; f->solution && e < p->member_at[j + 1]; e++) {
    int block = p->member[e];
    memcpy(f->solution + p->caller_at[block], x + p->unknown_at[j] + p->offset[block],
           (size_t)p->given_size[block] * sizeof(double));
    if (f->then) f->then(f->then_context, block);
  }
}

/* Subtracts the updates of columns left of j from column j; columns left of first belong to other tasks. map: row ->
 * block of column j, for the rows it has. */
static void update_column(const BlockFactor *f, int j, int first, BlockWorker *worker, int *map) {
  const BlockPattern *p = f->pattern;
  double *values = f->values;
  int s = p->size[j];
  for (int b = p->column_at[j]; b < p->column_at[j + 1]; b++) map[p->block_row[b]] = b;
  for (int e = p->row_at[j]; e < p->row_at[j + 1]; e++) {
    int k = p->row_column[e], b = p->row_block[e], end = p->column_at[k + 1], width = p->size[k];
    if (k < first) block_tasks_wait(worker, k);
    if (interrupted(f->interrupt)) return;
    const double *left = values + p->block_at[b];
    subtract_square(values + p->block_at[p->column_at[j]], left, s, width);
    if (f->right) subtract_times(f->forward + p->unknown_at[j], left, f->forward + p->unknown_at[k], s, width);
    for (b++; b < end; b++) {
      int row = p->block_row[b];
      if (!p->fill && !has_block(p, j, row, map[row])) continue;
      subtract_product(values + p->block_at[map[row]], values + p->block_at[b], left, p->size[row], s, width);
    }
  }
}

/* Returns the number of raised pivots, -1 for a NaN. */
static int factor_column(const BlockFactor *f, int j, int first, BlockWorker *worker, int *map) {
  const BlockPattern *p = f->pattern;
  double *values = f->values, *inverse = f->inverse + p->unknown_at[j];
  double *diagonal = values + p->block_at[p->column_at[j]];
  int s = p->size[j];
  PivotScale scale[BLOCK_MAX];
  if (f->fill) block_factor_fill(f, j);
  take_right(f, j, f->forward);
  find_scales(p, j, diagonal, scale);
  update_column(f, j, first, worker, map);
  if (interrupted(f->interrupt)) return -1;
  int raised = cholesky(diagonal, s, scale, inverse);
  if (raised < 0) return raised;
  if (f->right) solve_lower(f->forward + p->unknown_at[j], diagonal, inverse, s);
  for (int b = p->column_at[j] + 1; b < p->column_at[j + 1]; b++)
    divide_by_transpose(values + p->block_at[b], diagonal, inverse, p->size[p->block_row[b]], s);
  return raised;
}

/* After a failure no further column is computed. */
static void factor_task(void *context, const BlockTask *task, BlockWorker *worker) {
  Crew *crew = context;
  int *map = crew->maps + (size_t)worker->index * (size_t)crew->factor->pattern->n, raised = 0;
  if (atomic_load_explicit(&crew->failed, memory_order_relaxed)) return;
  for (int j = task->first; j <= task->last; j++) {
    int got = factor_column(crew->factor, j, task->first, worker, map);
    if (got < 0) {
      atomic_store(&crew->failed, 1);
      return;
    }
    raised += got;
  }
  if (raised) atomic_fetch_add(&crew->raised, raised);
}

int block_factor_compute(const BlockFactor *factor, int threads, int *maps) {
  Crew crew = {.factor = factor, .maps = maps};
  block_tasks_run(factor->tasks, threads, false, factor_task, &crew);
  return atomic_load(&crew.failed) ? -1 : atomic_load(&crew.raised);
}

typedef struct Solve {
  const BlockFactor *factor;
  double *x;
} Solve;

/* x_j -= L_jk x_k for all columns k. Waits for those before first, which other tasks have. */
static void gather_row(const Solve *solve, int j, int first, BlockWorker *worker) {
  const BlockFactor *f = solve->factor;
  const BlockPattern *p = f->pattern;
  double *x = solve->x + p->unknown_at[j];
  for (int e = p->row_at[j]; e < p->row_at[j + 1]; e++) {
    int k = p->row_column[e];
    if (k < first) block_tasks_wait(worker, k);
    subtract_times(x, f->values + p->block_at[p->row_block[e]], solve->x + p->unknown_at[k], p->size[j], p->size[k]);
  }
}

/* x_j -= L_jc x_c for the rows j of the same task, in memory order. */
static void scatter_column(const Solve *solve, int c, int last) {
  const BlockFactor *f = solve->factor;
  const BlockPattern *p = f->pattern;
  const double *x = solve->x + p->unknown_at[c];
  for (int b = p->column_at[c] + 1; b < p->column_at[c + 1] && p->block_row[b] <= last; b++) {
    int row = p->block_row[b];
    subtract_times(solve->x + p->unknown_at[row], f->values + p->block_at[b], x, p->size[row], p->size[c]);
  }
}

/* x_j = L_jj^-1 x_j, after the columns left of j were subtracted. */
static void divide_lower(const Solve *solve, int j) {
  const BlockFactor *f = solve->factor;
  const BlockPattern *p = f->pattern;
  int at = p->unknown_at[j];
  solve_lower(solve->x + at, f->values + p->block_at[p->column_at[j]], f->inverse + at, p->size[j]);
}

/* x_j = L_jj^-1 (x_j - sum over k < j of L_jk x_k), k ascending. Subtrees scatter, because they need no columns of
 * other tasks. Columns of a path gather. */
static void solve_forward(void *context, const BlockTask *task, BlockWorker *worker) {
  const Solve *solve = context;
  bool closed = solve->factor->pattern->first_descendant[task->last] >= task->first;
  for (int j = task->first; j <= task->last; j++) take_right(solve->factor, j, solve->x);
  for (int j = task->first; j <= task->last && !interrupted(solve->factor->interrupt); j++) {
    if (!closed) gather_row(solve, j, task->first, worker);
    divide_lower(solve, j);
    if (closed) scatter_column(solve, j, task->last);
  }
}

/* x_c -= L_rc^T x_r for all rows r > c of a column of twelve whose rows have twelve too, as those of bodies. Sums stay
 * in registers from block to block. */
static void gather_column12(const Solve *solve, int c) {
  const BlockPattern *p = solve->factor->pattern;
  Lane sum[12][LANES_PER_FOUR] = {{{0}}};
  for (int b = p->column_at[c] + 1; b < p->column_at[c + 1]; b++)
    add_products12(sum, solve->factor->values + p->block_at[b], solve->x + p->unknown_at[p->block_row[b]]);
  subtract_sums12(solve->x + p->unknown_at[c], sum);
}

static void gather_column(const Solve *solve, int c) {
  const BlockPattern *p = solve->factor->pattern;
  bool alike = p->size[c] == 12;
  for (int b = p->column_at[c] + 1; alike && b < p->column_at[c + 1]; b++) alike = p->size[p->block_row[b]] == 12;
  if (alike) {
    gather_column12(solve, c);
    return;
  }
  for (int b = p->column_at[c] + 1; b < p->column_at[c + 1]; b++) {
    int row = p->block_row[b];
    subtract_transpose_times(solve->x + p->unknown_at[c], solve->factor->values + p->block_at[b],
                             solve->x + p->unknown_at[row], p->size[row], p->size[c]);
  }
}

/* x_c = L_cc^-T (x_c - sum over rows r > c of L_rc^T x_r). Waits for the rows after last, which other tasks have. */
static void solve_column_backward(const Solve *solve, int c, int last, BlockWorker *worker) {
  const BlockFactor *f = solve->factor;
  const BlockPattern *p = f->pattern;
  int at = p->unknown_at[c];
  for (int b = p->column_at[c] + 1; b < p->column_at[c + 1]; b++)
    if (p->block_row[b] > last) block_tasks_wait(worker, p->block_row[b]);
  gather_column(solve, c);
  solve_upper(solve->x + at, f->values + p->block_at[p->column_at[c]], f->inverse + at, p->size[c]);
}

static void solve_backward(void *context, const BlockTask *task, BlockWorker *worker) {
  const Solve *solve = context;
  for (int c = task->last; c >= task->first && !interrupted(solve->factor->interrupt); c--) {
    solve_column_backward(solve, c, task->last, worker);
    give_solution(solve->factor, c, solve->x);
  }
}

void block_factor_forward(const BlockFactor *factor, int threads, double *x) {
  block_tasks_run(factor->tasks, threads, false, solve_forward, &(Solve){factor, x});
}

void block_factor_backward(const BlockFactor *factor, int threads, double *x) {
  block_tasks_run(factor->tasks, threads, true, solve_backward, &(Solve){factor, x});
}

typedef struct BranchSolve {
  Solve solve;
  const BlockBranches *branches;
} BranchSolve;

static void forward_branch(void *context, int k) {
  BranchSolve *s = context;
  solve_forward(&s->solve, &s->branches->branch[k], &(BlockWorker){0});
}

/* A branch, and a part of the trunk's solution. */
static void backward_branch(void *context, int k) {
  BranchSolve *s = context;
  const BlockBranches *b = s->branches;
  int first = (int)((int64_t)b->trunk_count * k / b->branch_count),
      end = (int)((int64_t)b->trunk_count * (k + 1) / b->branch_count);
  for (int i = first; i < end; i++) give_solution(s->solve.factor, b->trunk[i], s->solve.x);
  solve_backward(&s->solve, &b->branch[k], &(BlockWorker){0});
}

/* A column of the trunk gathers those of the branches and of the trunk in their order. */
void block_factor_forward_branches(const BlockFactor *factor, const BlockBranches *branches, int threads, double *x) {
  BranchSolve s = {{factor, x}, branches};
  parallel_for(threads, branches->branch_count, 1, forward_branch, &s);
  for (int k = branches->trunk_count - 1; k >= 0; k--)
    solve_forward(&s.solve, &(BlockTask){branches->trunk[k], branches->trunk[k]}, &(BlockWorker){0});
}

void block_factor_backward_branches(const BlockFactor *factor, const BlockBranches *branches, int threads, double *x) {
  BranchSolve s = {{factor, x}, branches};
  for (int k = 0; k < branches->trunk_count && !interrupted(factor->interrupt); k++)
    solve_column_backward(&s.solve, branches->trunk[k], branches->trunk[k], &(BlockWorker){0});
  parallel_for(threads, branches->branch_count, 1, backward_branch, &s);
}

/* The rows of a column are among its ancestors in the elimination tree. */
void block_factor_forward_columns(const BlockFactor *factor, const int *column, int count, double *x) {
  Solve solve = {factor, x};
  for (int k = 0; k < count; k++) {
    divide_lower(&solve, column[k]);
    scatter_column(&solve, column[k], factor->pattern->n);
  }
}

void block_factor_backward_columns(const BlockFactor *factor, const int *column, int count, double *x) {
  Solve solve = {factor, x};
  for (int k = count - 1; k >= 0; k--) solve_column_backward(&solve, column[k], factor->pattern->n, NULL);
}
