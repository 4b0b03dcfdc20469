/* The solver: memory for a plan's values, adding blocks to them, and factoring with the method that was chosen.
 * block_solve.c solves with the factor, block_subset.c for a subset of the blocks. Tested in
 * tests/test_block_cholesky.c. */
#include <stdint.h>
#include <string.h>

#include "linear/block_kernel.h"
#include "linear/block_solver.h"

enum { SHIFTS = 6, COLUMNS_AT_ONCE = 64, FILLED_AT_ONCE = 8 };

BlockCholesky *block_cholesky_create(void) {
  BlockCholesky *solver = mem_zeroed(1, sizeof *solver);
  if (solver) solver->threads = 1;
  return solver;
}

void block_cholesky_use_threads(BlockCholesky *solver, int threads) {
  solver->threads = solver->plan.threads = threads;
}

void block_cholesky_poll(BlockCholesky *solver, Interrupt *interrupt) { solver->interrupt = interrupt; }

bool block_cholesky_use_cholmod(BlockCholesky *solver) {
  if (!solver->cholmod) solver->cholmod = cholmod_factor_create();
  return solver->cholmod;
}

void block_cholesky_destroy(BlockCholesky *solver) {
  if (!solver) return;
  cholmod_factor_destroy(solver->cholmod);
  block_plan_free(&solver->plan);
  for (int k = 0; k < KEPT_PLANS; k++) block_plan_free(&solver->kept[k]);
  block_guide_free(&solver->guide);
  block_tasks_free(&solver->tasks);
  block_branches_free(&solver->branches);
  mem_free(solver->value_memory);
  mem_free(solver->map_memory);
  mem_free(solver);
}

/* Releases large values before a new plan of soft bodies is made: the patterns of single vertices, which it merges,
 * take a fifth of a factor's memory. */
static void release_values(BlockCholesky *solver, const BlockShape *shape) {
  if (solver->value_capacity * (int64_t)sizeof(double) <= BLOCK_KEPT_BYTES || !block_order_mergeable(shape)) return;
  mem_free(solver->value_memory);
  solver->value_memory = NULL;
  solver->value_capacity = 0;
}

/* The values, the inverse pivots and the work vector share one allocation, which is reused while it is large enough. */
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

/* An incomplete factor looks up rows that a column does not have, so its maps start as zeros. */
static bool reserve_maps(BlockCholesky *solver, int count) {
  if (!mem_reserve(&solver->map_memory, &solver->map_capacity, count, sizeof(int))) return false;
  if (!solver->plan.pattern.fill && count) memset(solver->map_memory, 0, (size_t)count * sizeof(int));
  return true;
}

/* Plans of another choice are dropped. */
void block_cholesky_choose(BlockCholesky *solver, BlockMethod method, double memory) {
  for (int k = 0; k < KEPT_PLANS; k++) block_plan_free(&solver->kept[k]);
  solver->plan.wanted = method;
  solver->plan.memory = memory;
}

/* Moves the plan to the front of the kept ones, in place of the one at `at`. */
static void keep_plan(BlockCholesky *solver, int at) {
  BlockPlan *plan = &solver->plan, *kept = solver->kept;
  if (!plan->own || plan->pattern.block_count > KEPT_BLOCKS) return;
  block_plan_free(&kept[at]);
  for (; at > 0; at--) kept[at] = kept[at - 1];
  kept[0] = *plan;
  *plan = block_plan_empty(plan);
}

/* Islands end one after the other, and all of them begin in the next step, so patterns return. A kept plan is the one
 * that block_plan_make would make for its pattern. */
static bool take_kept(BlockCholesky *solver, const BlockShape *shape) {
  int k = 0;
  while (k < KEPT_PLANS &&
         !(block_pattern_matches(&solver->kept[k].pattern, shape) && block_plan_named_alike(&solver->kept[k], shape) &&
           block_pattern_ends_alike(&solver->kept[k].pattern, shape) && solver->kept[k].placed == solver->plan.place))
    k++;
  if (k == KEPT_PLANS) {
    keep_plan(solver, KEPT_PLANS - 1);
    return false;
  }
  BlockPlan found = solver->kept[k];
  found.place = solver->plan.place;
  solver->kept[k] = (BlockPlan){0};
  keep_plan(solver, k);
  block_plan_free(&solver->plan);
  solver->plan = found;
  return true;
}

static bool plan(BlockCholesky *solver, const BlockShape *shape, bool *changed) {
  BlockReuse reuse = block_plan_reuse(&solver->plan, shape);
  *changed = reuse != PLAN_SAME;
  if (reuse != PLAN_OUTDATED || take_kept(solver, shape)) return true;
  release_values(solver, shape);
  return block_plan_make(&solver->plan, shape);
}

bool block_cholesky_analyze(BlockCholesky *solver, int n, const int *size, int edge_count, const int (*edge)[2],
                            const bool *last) {
  const BlockShape shape = {n, edge_count, size, edge, last, solver->guided ? &solver->guide : NULL, solver->guided};
  bool changed, done = plan(solver, &shape, &changed);
  solver->guided = NULL;
  if (done && !changed) return true;
  if (solver->cholmod) cholmod_factor_forget(solver->cholmod);
  const BlockPattern *p = &solver->plan.pattern;
  block_tasks_forget(&solver->tasks, p);
  solver->branches.found = false;
  if (done && reserve_values(solver) && reserve_maps(solver, p->n)) return true;
  block_plan_free(&solver->plan);
  return false;
}

bool block_cholesky_guide(BlockCholesky *solver, int n, const int *size, int edge_count, const int (*edge)[2]) {
  const BlockShape shape = {.count = n, .edge_count = edge_count, .size = size, .edge = edge};
  return block_plan_guide(&solver->guide, &shape, solver->threads);
}

void block_cholesky_name(BlockCholesky *solver, const int *guided) { solver->guided = guided; }

void block_cholesky_refresh(BlockCholesky *solver) { block_plan_refresh(&solver->plan); }

static void clear_columns(void *context, int first, int last, int index) {
  BlockCholesky *solver = context;
  const BlockPattern *p = &solver->plan.pattern;
  int64_t from = p->block_at[p->column_at[first]];
  int64_t to = last < p->n ? p->block_at[p->column_at[last]] : p->value_count;
  (void)index;
  memset(solver->values + from, 0, (size_t)(to - from) * sizeof(double));
}

void block_cholesky_clear(BlockCholesky *solver) {
  parallel_chunks(solver->threads, solver->plan.pattern.n, COLUMNS_AT_ONCE, clear_columns, solver);
}

int block_cholesky_column(const BlockCholesky *solver, int i) { return solver->plan.pattern.column_of[i]; }

/* to += block, column by column, or row by row if it is stored transposed. */
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

double *block_cholesky_edge(BlockCholesky *solver, int k, int *stride, bool *transposed) {
  BlockPlace place = block_pattern_edge(&solver->plan.pattern, k, transposed);
  *stride = place.stride;
  return solver->values + place.at;
}

typedef struct Columns {
  BlockFactor factor;
  bool clear;
} Columns;

static void fill_column(void *context, int c) {
  const Columns *columns = context;
  BlockColumn column = block_column(columns->factor.pattern, c);
  if (columns->clear) block_factor_fill(&columns->factor, c);
  else columns->factor.fill(columns->factor.fill_context, &column);
}

static void fill_columns(BlockCholesky *solver, BlockFill *fill, void *context, bool clear) {
  Columns columns = {factor_of(solver), clear};
  columns.factor.fill = fill;
  columns.factor.fill_context = context;
  parallel_for(solver->threads, solver->plan.pattern.n, FILLED_AT_ONCE, fill_column, &columns);
}

void block_cholesky_add_columns(BlockCholesky *solver, BlockFill *fill, void *context) {
  fill_columns(solver, fill, context, false);
}

/* As many threads as save time; one if memory is out. */
static int factor_threads(BlockCholesky *solver, int threads) {
  int64_t n = solver->plan.pattern.n;
  threads = block_tasks_threads(&solver->tasks, &solver->plan.pattern, threads, 1);
  if (threads > 1 && (n * threads > INT32_MAX || !reserve_maps(solver, (int)n * threads))) threads = 1;
  return threads;
}

/* After factor_threads, which may move the maps. */
static int compute(BlockCholesky *solver, int threads, const BlockFactor *factor) {
  solver->forward = factor->right != NULL;
  return block_factor_compute(factor, threads, solver->map_memory);
}

static int factor_values(BlockCholesky *solver, int threads) {
  BlockFactor factor = factor_of(solver);
  return compute(solver, factor_threads(solver, threads), &factor);
}

static void stretch_diagonal(BlockCholesky *solver, double factor) {
  const BlockPattern *p = &solver->plan.pattern;
  for (int c = 0; c < p->n; c++)
    for (int r = 0; r < p->size[c]; r++) solver->values[p->block_at[p->column_at[c]] + (p->size[c] + 1) * r] *= factor;
}

/* Dropped fill can make a positive definite matrix indefinite. A larger diagonal prevents it (Manteuffel). */
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

/* Factors that need the matrix as a whole; false if there is none. *raised: the result. */
static bool factor_whole(BlockCholesky *solver, int threads, int *raised) {
  *raised = 0;
  if (solver->matrix) *raised = factor_incompletely(solver, threads);
  else if (!solver->cholmod || !cholmod_factor_compute(solver->cholmod, &solver->plan.pattern, solver->values))
    return false;
  return true;
}

int block_cholesky_factor(BlockCholesky *solver, int threads) {
  int raised;
  solver->forward = false;
  if (!solver->plan.pattern.n || factor_whole(solver, threads, &raised)) return solver->plan.pattern.n ? raised : 0;
  return factor_values(solver, threads);
}

/* If one thread factors, several fill before. */
int block_cholesky_begin(BlockCholesky *solver, int threads, BlockFill *fill, void *context, const double *b) {
  bool whole = solver->matrix || solver->cholmod;
  int raised, used = whole || !solver->plan.pattern.n ? threads : factor_threads(solver, threads);
  bool before = fill && (whole || (used == 1 && threads > 1));
  solver->forward = false;
  if (!solver->plan.pattern.n) return 0;
  if (before) fill_columns(solver, fill, context, true);
  if (whole && factor_whole(solver, threads, &raised)) return raised;
  BlockFactor factor = factor_of(solver);
  factor.fill = before ? NULL : fill;
  factor.fill_context = context;
  factor.right = b;
  factor.forward = solver->work;
  return compute(solver, whole ? factor_threads(solver, threads) : used, &factor);
}

int64_t block_cholesky_factor_blocks(const BlockCholesky *solver) { return solver->plan.pattern.block_count; }
double block_cholesky_flops(const BlockCholesky *solver) { return solver->plan.flops; }
double block_cholesky_bytes(const BlockCholesky *solver) { return solver->plan.bytes; }
void block_cholesky_costs(const BlockCholesky *solver, BlockCost cost[2]) {
  memcpy(cost, solver->plan.cost, 2 * sizeof *cost);
}

bool block_cholesky_place_last(BlockCholesky *solver, LastPlace place) {
  return block_plan_place(&solver->plan, place);
}

bool block_cholesky_iterates(const BlockCholesky *solver) { return block_plan_iterative(&solver->plan); }
int block_cholesky_iterations(const BlockCholesky *solver) { return solver->iterations; }
