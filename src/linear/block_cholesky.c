/* Left-looking block Cholesky: column j = (A_j - sum over k < j of L_k L_jk^T) L_jj^-T, k ascending.
 *
 * Every column is computed by one thread with its updates in one fixed order, which makes results the same for any
 * number of threads. Threads first share out whole subtrees of the elimination tree, then take the columns above them
 * one at a time and in order; such a column waits for each k only when it comes to it, so that neighbouring columns
 * overlap.
 * Tested in tests/test_block_cholesky.c. */
#include "linear/block_cholesky.h"

#include "linear/block_kernel.h"
#include "linear/block_pcg.h"
#include "linear/cholmod_factor.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#define FLOPS_PER_THREAD 1.5e6 /* below this a thread costs more than it saves */
#define TASKS_PER_THREAD 8

static const double pcg_tolerance = 1e-7;
enum { PCG_ITERATIONS = 2000, SHIFTS = 6 };

struct BlockCholesky {
  BlockPlan plan;
  double *values;  /* blocks of A, then of L; on a cache line */
  double *inverse; /* 1 / diagonal of L */
  double *work;    /* vectors for solve: one, or five */
  double *matrix;  /* blocks of A, where L is incomplete */
  int iterations;  /* of the last solve */
  void *value_memory;
  int64_t value_capacity;
  void *map_memory;
  int map_capacity;
  CholmodFactor *cholmod; /* does the work where it can; NULL: never */
};

/* Columns first..last, done one after the other. */
typedef struct Task {
  int first, last;
} Task;

/* One factorisation by several threads. */
typedef struct Crew {
  const BlockCholesky *solver;
  int *maps; /* n for each thread */
  Task *task;
  int task_count;
  atomic_int next_task, raised, failed;
  atomic_int *done; /* by column; NULL when one thread does all */
} Crew;

BlockCholesky *block_cholesky_create(void) { return mem_zeroed(1, sizeof(BlockCholesky)); }

bool block_cholesky_use_cholmod(BlockCholesky *solver) {
  if (!solver->cholmod) solver->cholmod = cholmod_factor_create();
  return solver->cholmod;
}

void block_cholesky_destroy(BlockCholesky *solver) {
  if (!solver) return;
  cholmod_factor_destroy(solver->cholmod);
  block_plan_free(&solver->plan);
  mem_free(solver->value_memory);
  mem_free(solver->map_memory);
  mem_free(solver);
}

/* The values, the inverse pivots and the work vector share one piece of memory, kept when it is large enough. */
static bool reserve_values(BlockCholesky *solver) {
  const BlockPattern *p = &solver->plan.pattern;
  int64_t vectors = p->fill ? 2 : 6, count = (p->fill ? 1 : 2) * p->value_count + vectors * p->unknown_count + 8;
  if (count > solver->value_capacity) {
    mem_free(solver->value_memory);
    solver->value_capacity = 0;
    solver->value_memory = mem_alloc((size_t)count + (size_t)count / 4, sizeof(double));
    if (!solver->value_memory) return false;
    solver->value_capacity = count + count / 4;
  }
  solver->values = (double *)(((uintptr_t)solver->value_memory + 63) & ~(uintptr_t)63);
  solver->inverse = solver->values + p->value_count;
  solver->work = solver->inverse + p->unknown_count;
  solver->matrix = p->fill ? NULL : solver->work + 5 * (int64_t)p->unknown_count;
  return true;
}

/* An incomplete factor asks a map for rows that are not there. */
static bool reserve_maps(BlockCholesky *solver, int count) {
  if (!mem_reserve(&solver->map_memory, &solver->map_capacity, count, sizeof(int))) return false;
  if (!solver->plan.pattern.fill && count) memset(solver->map_memory, 0, (size_t)count * sizeof(int));
  return true;
}

void block_cholesky_choose(BlockCholesky *solver, BlockMethod method, double memory) {
  solver->plan.wanted = method;
  solver->plan.memory = memory;
}

bool block_cholesky_analyze(BlockCholesky *solver, int n, const int *size, int edge_count, const int (*edge)[2]) {
  bool changed;
  const BlockShape shape = {n, edge_count, size, edge};
  bool done = block_plan_update(&solver->plan, &shape, &changed);
  if (done && !changed) return true;
  if (solver->cholmod) cholmod_factor_forget(solver->cholmod);
  if (done && reserve_values(solver) && reserve_maps(solver, solver->plan.pattern.n)) return true;
  block_plan_free(&solver->plan);
  return false;
}

void block_cholesky_refresh(BlockCholesky *solver) { block_plan_refresh(&solver->plan); }

void block_cholesky_clear(BlockCholesky *solver) {
  if (solver->plan.pattern.value_count)
    memset(solver->values, 0, (size_t)solver->plan.pattern.value_count * sizeof(double));
}

/* to += block, column by column, or row by row where it lies there transposed. */
KERNEL_INLINE void add_to_place(double *restrict to, int stride, const double *restrict block, int rows, int columns,
                                bool transposed) {
  if (transposed) {
    for (int r = 0; r < rows; r++)
      for (int c = 0; c < columns; c++) to[stride * r + c] += block[rows * c + r];
    return;
  }
  for (int c = 0; c < columns; c++)
    for (int r = 0; r < rows; r++) to[stride * c + r] += block[rows * c + r];
}

void block_cholesky_add_diagonal(BlockCholesky *solver, int i, const double *block) {
  BlockPlace place = block_pattern_diagonal(&solver->plan.pattern, i);
  double *to = solver->values + place.at;
  int size = solver->plan.pattern.given_size[i];
  if (size == 3) add_to_place(to, place.stride, block, 3, 3, false);
  else if (size == 12) add_to_place(to, 12, block, 12, 12, false);
  else add_to_place(to, place.stride, block, size, size, false);
}

void block_cholesky_add_edge(BlockCholesky *solver, int k, const double *block) {
  const BlockPattern *p = &solver->plan.pattern;
  int rows = p->given_size[p->given_edge[k][0]], columns = p->given_size[p->given_edge[k][1]];
  bool transposed;
  BlockPlace place = block_pattern_edge(p, k, &transposed);
  double *to = solver->values + place.at;
  if (rows == 3 && columns == 3) add_to_place(to, place.stride, block, 3, 3, transposed);
  else if (rows == 12 && columns == 12) add_to_place(to, 12, block, 12, 12, transposed);
  else add_to_place(to, place.stride, block, rows, columns, transposed);
}

/* By row of column j: the largest diagonal entry of the caller's block that the row comes from. */
static void find_scales(const BlockPattern *p, int j, const double *diagonal, double *scale) {
  int s = p->size[j];
  for (int e = p->member_at[j]; e < p->member_at[j + 1]; e++) {
    int first = p->offset[p->member[e]], end = first + p->given_size[p->member[e]];
    double largest = 0;
    for (int r = first; r < end; r++)
      if (diagonal[s * r + r] > largest) largest = diagonal[s * r + r];
    for (int r = first; r < end; r++) scale[r] = largest;
  }
}

static void wait_for(const atomic_int *done) {
  for (int spins = 0; !atomic_load_explicit(done, memory_order_acquire); spins++)
    if (spins > 1000) sched_yield();
}

/* Is block b the one of column j in that row? */
static bool has_block(const BlockPattern *p, int j, int row, int b) {
  return b >= p->column_at[j] && b < p->column_at[j + 1] && p->block_row[b] == row;
}

/* Takes the columns left of j off column j. map: row -> block of column j, for the rows it has. */
static void update_column(const Crew *crew, int j, int *map) {
  const BlockPattern *p = &crew->solver->plan.pattern;
  double *values = crew->solver->values;
  int s = p->size[j];
  for (int b = p->column_at[j]; b < p->column_at[j + 1]; b++) map[p->block_row[b]] = b;
  for (int e = p->row_at[j]; e < p->row_at[j + 1]; e++) {
    int k = p->row_column[e], b = p->row_block[e], end = p->column_at[k + 1], width = p->size[k];
    if (crew->done) wait_for(&crew->done[k]);
    const double *left = values + p->block_at[b];
    subtract_square(values + p->block_at[p->column_at[j]], left, s, width);
    for (b++; b < end; b++) {
      int row = p->block_row[b];
      if (!p->fill && !has_block(p, j, row, map[row])) continue;
      subtract_product(values + p->block_at[map[row]], values + p->block_at[b], left, p->size[row], s, width);
    }
  }
}

/* The pivots raised, -1 for a NaN. */
static int factor_column(const Crew *crew, int j, int *map) {
  const BlockPattern *p = &crew->solver->plan.pattern;
  double *values = crew->solver->values, *inverse = crew->solver->inverse + p->unknown_at[j];
  double *diagonal = values + p->block_at[p->column_at[j]];
  int s = p->size[j];
  double scale[BLOCK_MAX];
  find_scales(p, j, diagonal, scale);
  update_column(crew, j, map);
  int raised = cholesky(diagonal, s, scale, inverse);
  if (raised < 0) return raised;
  for (int b = p->column_at[j] + 1; b < p->column_at[j + 1]; b++)
    divide_by_transpose(values + p->block_at[b], diagonal, inverse, p->size[p->block_row[b]], s);
  return raised;
}

/* Takes tasks until none is left. After a failure columns are only marked as done, so that nobody waits for ever. */
static void work_off_tasks(void *context, int worker) {
  Crew *crew = context;
  int *map = crew->maps + (size_t)worker * (size_t)crew->solver->plan.pattern.n;
  int t, raised = 0;
  while ((t = atomic_fetch_add(&crew->next_task, 1)) < crew->task_count) {
    for (int j = crew->task[t].first; j <= crew->task[t].last; j++) {
      int got = atomic_load_explicit(&crew->failed, memory_order_relaxed) ? 0 : factor_column(crew, j, map);
      if (got < 0) atomic_store(&crew->failed, 1);
      if (got > 0) raised += got;
      if (crew->done) atomic_store_explicit(&crew->done[j], 1, memory_order_release);
    }
  }
  atomic_fetch_add(&crew->raised, raised);
}

/* Subtrees of at most a share of the work, neighbouring ones joined, then the columns above them in ascending order.
 * Whoever takes a task finds all it needs in tasks taken before it, so that waiting ends. task, subtree: n each. */
static int split_tasks(const BlockPattern *p, double share, Task *task, double *subtree) {
  for (int c = 0; c < p->n; c++) subtree[c] = p->work[c];
  for (int c = 0; c < p->n; c++)
    if (p->parent[c] != -1) subtree[p->parent[c]] += subtree[c];
  int low = 0, high = p->n;
  double sum = 0;
  for (int c = p->n - 1; c >= 0;) {
    if (subtree[c] > share) {
      task[--high] = (Task){c, c};
      c--;
      continue;
    }
    Task whole = {p->first_descendant[c], c};
    if (low && task[low - 1].first == c + 1 && sum + subtree[c] <= share) {
      task[low - 1].first = whole.first;
      sum += subtree[c];
    } else {
      task[low++] = whole;
      sum = subtree[c];
    }
    c = whole.first - 1;
  }
  memmove(task + low, task + high, (size_t)(p->n - high) * sizeof *task);
  return low + p->n - high;
}

/* Lays out what several threads need; false when memory is out. */
static bool prepare_crew(BlockCholesky *solver, Crew *crew, int threads) {
  const BlockPattern *p = &solver->plan.pattern;
  size_t n = (size_t)p->n;
  if (n * (size_t)threads > INT32_MAX || !reserve_maps(solver, p->n * threads)) return false;
  double *subtree = mem_alloc(n, sizeof(double) + sizeof(Task) + sizeof(atomic_int));
  if (!subtree) return false;
  crew->maps = solver->map_memory;
  crew->task = (Task *)(subtree + n);
  crew->done = (atomic_int *)(crew->task + n);
  for (size_t c = 0; c < n; c++) atomic_init(&crew->done[c], 0);
  crew->task_count = split_tasks(p, p->flops / (threads * TASKS_PER_THREAD), crew->task, subtree);
  return true;
}

/* A chain is not worth a second thread, however long. */
static int useful_threads(const BlockPattern *p, int threads) {
  double most = fmin(p->flops / FLOPS_PER_THREAD, 1.5 * p->flops / p->longest_path);
  return most < 2 ? 1 : threads > most ? (int)most : threads;
}

/* By as many threads as are of use. */
static int factor_values(BlockCholesky *solver, int threads) {
  threads = useful_threads(&solver->plan.pattern, threads);
  Task all = {0, solver->plan.pattern.n - 1};
  Crew crew = {.solver = solver, .maps = solver->map_memory, .task = &all, .task_count = 1};
  bool several = threads > 1 && prepare_crew(solver, &crew, threads);
  if (several) {
    parallel_for(threads, threads, 1, work_off_tasks, &crew);
    mem_free((double *)crew.task - solver->plan.pattern.n);
  } else {
    crew.maps = solver->map_memory;
    work_off_tasks(&crew, 0);
  }
  return atomic_load(&crew.failed) ? -1 : atomic_load(&crew.raised);
}

static void stretch_diagonal(BlockCholesky *solver, double factor) {
  const BlockPattern *p = &solver->plan.pattern;
  for (int c = 0; c < p->n; c++)
    for (int r = 0; r < p->size[c]; r++) solver->values[p->block_at[p->column_at[c]] + (p->size[c] + 1) * r] *= factor;
}

/* What is left out can make a positive definite matrix indefinite; a larger diagonal helps (Manteuffel). */
static int factor_incompletely(BlockCholesky *solver, int threads) {
  size_t bytes = (size_t)solver->plan.pattern.value_count * sizeof(double);
  memcpy(solver->matrix, solver->values, bytes);
  int raised = factor_values(solver, threads);
  double shift = 1e-3;
  for (int k = 0; raised > 0 && k < SHIFTS; k++, shift *= 4) {
    memcpy(solver->values, solver->matrix, bytes);
    stretch_diagonal(solver, 1 + shift);
    raised = factor_values(solver, threads);
  }
  return raised < 0 ? raised : 0;
}

int block_cholesky_factor(BlockCholesky *solver, int threads) {
  if (!solver->plan.pattern.n) return 0;
  if (solver->matrix) return factor_incompletely(solver, threads);
  if (solver->cholmod && cholmod_factor_compute(solver->cholmod, &solver->plan.pattern, solver->values)) return 0;
  return factor_values(solver, threads);
}

static void solve_forward(const BlockCholesky *solver, double *y) {
  const BlockPattern *p = &solver->plan.pattern;
  for (int c = 0; c < p->n; c++) {
    const double *diagonal = solver->values + p->block_at[p->column_at[c]];
    int s = p->size[c], at = p->unknown_at[c];
    solve_lower(y + at, diagonal, solver->inverse + at, s);
    for (int b = p->column_at[c] + 1; b < p->column_at[c + 1]; b++) {
      int row = p->block_row[b];
      subtract_times(y + p->unknown_at[row], solver->values + p->block_at[b], y + at, p->size[row], s);
    }
  }
}

static void solve_backward(const BlockCholesky *solver, double *y) {
  const BlockPattern *p = &solver->plan.pattern;
  for (int c = p->n - 1; c >= 0; c--) {
    const double *diagonal = solver->values + p->block_at[p->column_at[c]];
    int s = p->size[c], at = p->unknown_at[c];
    for (int b = p->column_at[c] + 1; b < p->column_at[c + 1]; b++) {
      int row = p->block_row[b];
      subtract_transpose_times(y + at, solver->values + p->block_at[b], y + p->unknown_at[row], p->size[row], s);
    }
    solve_upper(y + at, diagonal, solver->inverse + at, s);
  }
}

static void apply_factor(void *context, double *x) {
  solve_forward(context, x);
  solve_backward(context, x);
}

/* False when the matrix is not positive definite. A value that is not a number spoils all of x. */
static bool solve_by_iterations(BlockCholesky *solver, double *x) {
  const BlockPattern *p = &solver->plan.pattern;
  BlockPcg pcg = {.pattern = p,
                  .values = solver->matrix,
                  .precondition = apply_factor,
                  .context = solver,
                  .work = x + p->unknown_count,
                  .tolerance = pcg_tolerance,
                  .max_iterations = PCG_ITERATIONS};
  PcgResult result = block_pcg_solve(&pcg, x);
  solver->iterations = result.iterations;
  return !result.indefinite;
}

bool block_cholesky_solve(BlockCholesky *solver, const double *b, double *x) {
  const BlockPattern *p = &solver->plan.pattern;
  bool definite = true;
  if (solver->cholmod && cholmod_factor_ready(solver->cholmod)) {
    cholmod_factor_solve(solver->cholmod, p->unknown_count, b, x);
    return true;
  }
  for (int i = 0; i < p->given_count; i++) {
    double *to = solver->work + p->unknown_at[p->column_of[i]] + p->offset[i];
    memcpy(to, b + p->caller_at[i], (size_t)p->given_size[i] * sizeof(double));
  }
  solver->iterations = 0;
  if (solver->matrix) definite = solve_by_iterations(solver, solver->work);
  else apply_factor(solver, solver->work);
  for (int i = 0; i < p->given_count; i++) {
    const double *from = solver->work + p->unknown_at[p->column_of[i]] + p->offset[i];
    memcpy(x + p->caller_at[i], from, (size_t)p->given_size[i] * sizeof(double));
  }
  return definite;
}

int64_t block_cholesky_factor_blocks(const BlockCholesky *solver) { return solver->plan.pattern.block_count; }
double block_cholesky_flops(const BlockCholesky *solver) { return solver->plan.flops; }
double block_cholesky_bytes(const BlockCholesky *solver) { return solver->plan.bytes; }
bool block_cholesky_iterates(const BlockCholesky *solver) { return block_plan_iterative(&solver->plan); }
int block_cholesky_iterations(const BlockCholesky *solver) { return solver->iterations; }
