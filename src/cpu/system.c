/* Maps bodies to unknowns and back. A free body's unknowns are its pose; a linked body depends on the unknowns of its
 * columns' owners. */
#include "cpu/system.h"

#include <string.h>

#include "kernel/condense.h"
#include "linear/block_edge.h"
#include "linear/block_kernel.h"

enum { BODIES_AT_ONCE = 64, RIGID = 6 };

static int unknowns_of(const Model *m, int block) {
  const LinkedBody *linked = linkage_of(&m->linkage, block);
  return linked ? linked->size : block_is_vertex(m, block) ? 3 : 12;
}

bool system_init(System *s, const Model *model, bool jointed) {
  bool none = jointed && !model->linkage.linked_count && !model->joint_count;
  size_t n = none ? 0 : (size_t)model->block_count, columns = 0, unknowns = 0;
  for (int k = 0; k < model->moving_count; k++) {
    if (jointed && !block_is_jointed(model, model->moving[k])) continue;
    columns++;
    unknowns += (size_t)unknowns_of(model, model->moving[k]);
  }
  memset(s, 0, sizeof *s);
  s->model = model;
  s->solver = block_cholesky_create();
  s->column = mem_alloc(n, sizeof(int));
  s->body = mem_alloc(columns, sizeof(int));
  s->column_size = mem_alloc(columns, sizeof(int));
  s->column_at = mem_alloc(columns, sizeof(int));
  s->last = mem_alloc(columns, sizeof(bool));
  s->edge_first = mem_alloc(columns + 1, sizeof(int));
  s->right = mem_alloc(unknowns, sizeof(double));
  if (!s->solver || !s->column || !s->body || !s->column_size || !s->column_at || !s->last || !s->edge_first ||
      !s->right)
    return false;
  const AbdSolverDef *def = &model->def.solver;
  block_cholesky_use_threads(s->solver, def->threads);
  if (def->linear == ABD_LINEAR_CHOLMOD && !block_cholesky_use_cholmod(s->solver)) return false;
  block_cholesky_choose(s->solver,
                        def->linear == ABD_LINEAR_PCG    ? BLOCK_ITERATIVE
                        : def->linear == ABD_LINEAR_AUTO ? BLOCK_AUTO
                                                         : BLOCK_DIRECT,
                        def->memory);
  for (size_t i = 0; i < n; i++) s->column[i] = -1;
  return true;
}

void system_destroy(System *s) {
  if (s->solver) block_cholesky_destroy(s->solver);
  void *array[] = {s->column, s->body, s->column_size, s->column_at,    s->last,   s->edge_first, s->edge,
                   s->right,  s->kept, s->kept_body,   s->guide_column, s->guided, s->condensed,  s->strained};
  for (int k = 0; k < ARRAY_COUNT(array); k++) mem_free(array[k]);
  memset(s, 0, sizeof *s);
}

void system_begin(System *s) {
  block_cholesky_refresh(s->solver);
  s->unguided = false;
  s->cost = INFINITY;
  if (s->strained) memset(s->strained, 0, (size_t)s->model->moving_count * sizeof(bool));
}

void system_reset(System *s) {
  for (int i = 0; i < s->model->moving_count; i++) s->column[s->model->moving[i]] = -1;
  s->column_count = s->unknown_count = s->edge_count = 0;
  s->lasts = s->keeps = s->condenses = false;
}

void system_add_body(System *s, int body) {
  int size = unknowns_of(s->model, body);
  if (size == 0) return;
  s->column[body] = s->column_count;
  s->body[s->column_count] = body;
  s->column_size[s->column_count] = size;
  s->last[s->column_count] = false;
  s->column_at[s->column_count++] = s->unknown_count;
  memset(s->right + s->unknown_count, 0, (size_t)size * sizeof(double));
  s->unknown_count += size;
}

typedef struct Listed {
  System *system;
  const int *body;
} Listed;

static void set_free_body(void *context, int k) {
  const Listed *listed = context;
  System *s = listed->system;
  s->column[listed->body[k]] = k;
  s->body[k] = listed->body[k];
  s->column_size[k] = 12;
  s->column_at[k] = 12 * k;
  s->last[k] = false;
}

void system_set_bodies(System *s, int threads, const int *body, int count) {
  system_reset(s);
  if (model_is_free(s->model)) {
    s->column_count = count;
    s->unknown_count = 12 * count;
    parallel_for(threads, count, 1024, set_free_body, &(Listed){s, body});
  } else {
    for (int k = 0; k < count; k++) system_add_body(s, body[k]);
  }
}

/* ---- condensed bodies ---- */

/* A factor has eight times the flops if blocks are twice as large. */
void system_note_cost(System *s, int bodies) {
  s->cost = block_cholesky_flops(s->solver) * (s->condenses ? 8 : 1) / bodies;
}

bool system_begin_condensed(System *s) {
  s->condenses = true;
  size_t count = (size_t)s->model->moving_count;
  if (!s->condensed) s->condensed = mem_alloc(count, sizeof *s->condensed);
  if (!s->strained) s->strained = mem_zeroed(count, sizeof *s->strained);
  return s->condensed && s->strained;
}

void system_condense_body(System *s, int k, bool strained, const Affine *q) {
  bool *kept = &s->strained[s->model->body[s->body[k]].slot];
  *kept |= strained;
  if (*kept) return;
  s->column_size[k] = RIGID;
  s->condensed[k].q = *q;
}

void system_end_condensed(System *s) {
  s->unknown_count = 0;
  for (int k = 0; k < s->column_count; k++) {
    s->column_at[k] = s->unknown_count;
    s->unknown_count += s->column_size[k];
  }
}

/* Of a body in the system. NULL: it is not condensed. */
static Condensed *condensed_of(const System *s, int body) {
  int k = s->column[body];
  return s->condensed && s->column_size[k] == RIGID ? &s->condensed[k] : NULL;
}

bool system_is_condensed(const System *s, int body) { return condensed_of(s, body) != NULL; }

/* Strains have the pivots of a stiff body, so that none is raised; a NaN spreads to the rigid block too. */
void system_add_own(System *s, int body, const double block[144]) {
  Condensed *c = condensed_of(s, body);
  double rigid[RIGID * RIGID];
  PivotScale scale[RIGID];
  strain_block(&c->q, block, c->strain);
  for (int k = 0; k < RIGID; k++) scale[k].own = scale[k].largest = c->strain[(RIGID + 1) * k];
  cholesky_any(c->strain, RIGID, scale, c->inverse);
  rigid_block(&c->q, &c->q, block, rigid);
  block_cholesky_add_diagonal(s->solver, s->column[body], rigid);
}

static void put_condensed(Condensed *c, const double v[12], double *right) {
  rigid_part(&c->q, v, right);
  strain_part(&c->q, v, c->answer);
  solve_lower(c->answer, c->strain, c->inverse, RIGID);
  solve_upper(c->answer, c->strain, c->inverse, RIGID);
}

/* ---- linked bodies ---- */

/* Consecutive columns of a linked body with one owner. */
typedef struct Run {
  const LinkColumn *column;
  int count, owner;
} Run;

/* Finds the next run; false after the last. owner: its column in the system. A free body is one run without columns. */
static bool next_run(const System *s, int body, const LinkedBody *linked, int *at, Run *run) {
  const Linkage *l = &s->model->linkage;
  if (!linked) {
    *run = (Run){NULL, unknowns_of(s->model, body), s->column[body]};
    return (*at)++ == 0;
  }
  if (*at >= linked->count) return false;
  const LinkColumn *first = &l->column[linked->first + *at];
  int count = 1;
  while (*at + count < linked->count && first[count].owner == first->owner) count++;
  *at += count;
  *run = (Run){first, count, s->column[l->linked[first->owner].body]};
  return true;
}

static bool reserve_edges(System *s, int more) {
  return mem_reserve((void **)&s->edge, &s->edge_capacity, s->edge_count + more, sizeof *s->edge);
}

static void add_edge(System *s, int i, int j) {
  s->edge[s->edge_count][0] = i < j ? i : j;
  s->edge[s->edge_count++][1] = i < j ? j : i;
}

static bool couple_columns(System *s, int i, int j) {
  if (i == j || i < 0 || j < 0) return true;
  if (!reserve_edges(s, 1)) return false;
  add_edge(s, i, j);
  return true;
}

bool system_couple_pairs(System *s, const int (*pair)[2], const bool *couples, int count) {
  int most = 0;
  for (int k = 0; k < count; k++) most += couples[k];
  if (!reserve_edges(s, most)) return false;
  for (int k = 0; k < count; k++) {
    if (!couples[k]) continue;
    int i = s->column[pair[k][0]], j = s->column[pair[k][1]];
    if (i >= 0 && j >= 0) add_edge(s, i, j);
  }
  return true;
}

bool system_couple(System *s, int a, int b) {
  const LinkedBody *la = linkage_of(&s->model->linkage, a), *lb = linkage_of(&s->model->linkage, b);
  Run x, y;
  for (int i = 0; next_run(s, a, la, &i, &x);)
    for (int j = 0; next_run(s, b, lb, &j, &y);)
      if (!couple_columns(s, x.owner, y.owner)) return false;
  return true;
}

void system_put_last(System *s, int body) {
  if (s->column[body] >= 0) s->last[s->column[body]] = s->lasts = true;
}

bool system_has_couplings(System *s) {
  s->keeps = s->kept_body && s->kept_columns == s->column_count &&
             (!s->column_count || !memcmp(s->kept_body, s->body, (size_t)s->column_count * sizeof(int)));
  return s->keeps;
}

bool system_keep_couplings(System *s) {
  s->edge_count = block_edges_sort(s->edge, s->edge_count);
  if (!s->kept_body) s->kept_body = mem_alloc((size_t)s->model->moving_count, sizeof(int));
  if (!s->kept_body || !mem_reserve((void **)&s->kept, &s->kept_capacity, s->edge_count, sizeof *s->kept)) return false;
  if (s->edge_count) memcpy(s->kept, s->edge, (size_t)s->edge_count * sizeof *s->kept);
  if (s->column_count) memcpy(s->kept_body, s->body, (size_t)s->column_count * sizeof(int));
  s->kept_count = s->edge_count;
  s->kept_columns = s->column_count;
  s->edge_count = 0;
  return s->keeps = true;
}

bool system_guide(System *s) {
  size_t columns = (size_t)s->column_count, blocks = (size_t)s->model->block_count;
  s->edge_count = block_edges_sort(s->edge, s->edge_count);
  if (!s->guided) s->guided = mem_alloc(columns, sizeof(int));
  int *guide_column = mem_alloc(blocks, sizeof(int));
  if (!s->guided || !guide_column ||
      !block_cholesky_guide(s->solver, s->column_count, s->column_size, s->edge_count, (const int(*)[2])s->edge)) {
    mem_free(guide_column);
    return false;
  }
  memcpy(guide_column, s->column, blocks * sizeof(int));
  s->guide_column = guide_column;
  return true;
}

/* Puts the sorted edges, which are few, among the kept ones. */
static bool add_kept(System *s) {
  int more = block_edges_drop(s->edge, s->edge_count, (const int(*)[2])s->kept, s->kept_count), end = s->kept_count;
  if (!mem_reserve((void **)&s->edge, &s->edge_capacity, more + end, sizeof *s->edge)) return false;
  int(*own)[2] = mem_alloc((size_t)more, sizeof *own);
  if (!own) return false;
  if (more) memcpy(own, s->edge, (size_t)more * sizeof *own);
  s->edge_count = more + end;
  for (; more >= 0; more--) { /* the kept edges behind own edge more - 1, then that edge */
    int first = more ? block_edges_before((const int(*)[2])s->kept, s->kept_count, own[more - 1]) : 0;
    if (end > first) memcpy(s->edge[more + first], s->kept[first], (size_t)(end - first) * sizeof *s->edge);
    if (more) memcpy(s->edge[more - 1 + first], own[more - 1], sizeof *s->edge);
    end = first;
  }
  mem_free(own);
  return true;
}

bool system_analyze(System *s) {
  s->serial++;
  s->edge_count = block_edges_sort(s->edge, s->edge_count);
  if (s->keeps && !add_kept(s)) return false;
  for (int c = 0; s->guide_column && c < s->column_count; c++) s->guided[c] = s->guide_column[s->body[c]];
  block_cholesky_name(s->solver, s->guide_column ? s->guided : NULL);
  if (!block_cholesky_analyze(s->solver, s->column_count, s->column_size, s->edge_count, (const int(*)[2])s->edge,
                              s->lasts ? s->last : NULL))
    return false;
  block_edges_index((const int(*)[2])s->edge, s->edge_count, s->column_count, s->edge_first);
  return true;
}

int system_column(const System *s, int body) {
  int column = -1;
  Run run;
  const LinkedBody *linked = linkage_of(&s->model->linkage, body);
  for (int i = 0; next_run(s, body, linked, &i, &run);) {
    if (run.owner < 0) continue;
    if (column >= 0) return SYSTEM_SEVERAL;
    column = run.owner;
  }
  return column < 0 ? -1 : block_cholesky_column(s->solver, column);
}

void system_clear(System *s) { block_cholesky_clear(s->solver); }

static void transpose(const double *in, int rows, int columns, double *out) {
  for (int j = 0; j < columns; j++)
    for (int i = 0; i < rows; i++) out[columns * i + j] = in[rows * j + i];
}

/* Adds a block between the two columns of an edge, rows of i. */
static void add_to_edge(System *s, int edge, int i, int j, const double *block) {
  double turned[144];
  if (i > j) transpose(block, s->column_size[i], s->column_size[j], turned);
  block_cholesky_add_edge(s->solver, edge, i < j ? block : turned);
}

static void add_block(System *s, int i, int j, const double *block) {
  int edge = block_edges_find((const int(*)[2])s->edge, s->edge_first, i < j ? i : j, i < j ? j : i);
  add_to_edge(s, edge, i, j, block);
}

void system_add_edge(System *s, int edge, int a, const double block[144]) {
  const int *end = s->edge[edge];
  int i = s->column[a], j = i == end[0] ? end[1] : end[0];
  const Condensed *x = condensed_of(s, a), *y = condensed_of(s, s->body[j]);
  double out[144];
  if (x && y) rigid_block(&x->q, &y->q, block, out);
  else if (x) rigid_rows(&x->q, block, out);
  else if (y) rigid_columns(&y->q, block, out);
  add_to_edge(s, edge, i, j, x || y ? out : block);
}

double *system_edge(System *s, int edge, int a, int *stride, bool *rows) {
  bool transposed;
  double *to = block_cholesky_edge(s->solver, edge, stride, &transposed);
  *rows = (s->column[a] == s->edge[edge][0]) != transposed;
  return to;
}

/* Adds a pose vector, transformed to the unknowns of the run's owner, to out. A free body's vector is not changed. */
static void gather(const Run *run, const double v[12], double *out) {
  for (int c = 0; c < run->count; c++) {
    if (!run->column) {
      out[c] += v[c];
      continue;
    }
    const LinkColumn *column = &run->column[c];
    double sum = 0;
    for (int k = 0; k < column->count; k++) sum += column->g[column->at[k]] * v[column->at[k]];
    out[column->index] += sum;
  }
}

static int run_index(const Run *run, int c) { return run->column ? run->column[c].index : c; }

/* The block times column c of a run. */
static void times_column(const double block[144], const Run *run, int c, double out[12]) {
  if (!run->column) {
    memcpy(out, block + 12 * c, 12 * sizeof(double));
    return;
  }
  const LinkColumn *column = &run->column[c];
  for (int k = 0; k < 12; k++) out[k] = 0;
  for (int e = 0; e < column->count; e++) {
    const double *from = block + 12 * column->at[e];
    double factor = column->g[column->at[e]];
    for (int k = 0; k < 12; k++) out[k] += from[k] * factor;
  }
}

static void add_runs(System *s, const Run *x, const Run *y, const double block[144], bool same_body) {
  double out[144] = {0}, turned[144];
  int rows = s->column_size[x->owner], columns = s->column_size[y->owner];
  for (int c = 0; c < y->count; c++) {
    double image[12];
    times_column(block, y, c, image);
    gather(x, image, out + rows * run_index(y, c));
  }
  if (x->owner != y->owner) {
    add_block(s, x->owner, y->owner, out);
    return;
  }
  block_cholesky_add_diagonal(s->solver, x->owner, out);
  if (same_body) return;
  transpose(out, rows, columns, turned);
  block_cholesky_add_diagonal(s->solver, x->owner, turned);
}

void system_add(System *s, int a, int b, const double block[144]) {
  const LinkedBody *la = linkage_of(&s->model->linkage, a), *lb = linkage_of(&s->model->linkage, b);
  Run x, y;
  for (int i = 0; next_run(s, a, la, &i, &x);)
    for (int j = 0; next_run(s, b, lb, &j, &y);) {
      if (x.owner < 0 || y.owner < 0 || (a == b && x.owner > y.owner)) continue; /* a body's own blocks once */
      if (x.column || y.column || x.count < 12 || y.count < 12) add_runs(s, &x, &y, block, a == b);
      else if (a == b) block_cholesky_add_diagonal(s->solver, x.owner, block);
      else add_block(s, x.owner, y.owner, block);
    }
}

/* The derivatives of a vertex by the unknowns of a run, axis by axis. */
typedef struct NodeRun {
  double g[3][12];
} NodeRun;

static NodeRun node_run(const Run *run) {
  NodeRun n = {0};
  for (int c = 0; c < run->count; c++)
    for (int axis = 0; axis < 3; axis++) n.g[axis][c] = run->column ? run->column[c].g[axis] : axis == c;
  return n;
}

/* As add_runs, for two vertices. */
static void add_node_runs(System *s, const Run *x, const Run *y, const double block[9], bool same) {
  NodeRun left = node_run(x), right = node_run(y);
  double out[144] = {0}, turned[144];
  int rows = s->column_size[x->owner], columns = s->column_size[y->owner];
  for (int c = 0; c < y->count; c++) {
    double image[3] = {0}, column[12];
    for (int e = 0; e < 3; e++)
      for (int r = 0; r < 3; r++) image[r] += block[3 * e + r] * right.g[e][c];
    for (int d = 0; d < 12; d++)
      column[d] = left.g[0][d] * image[0] + left.g[1][d] * image[1] + left.g[2][d] * image[2];
    for (int d = 0; d < x->count; d++) out[rows * run_index(y, c) + run_index(x, d)] = column[d];
  }
  if (x->owner != y->owner) {
    add_block(s, x->owner, y->owner, out);
    return;
  }
  block_cholesky_add_diagonal(s->solver, x->owner, out);
  if (same) return;
  transpose(out, rows, columns, turned);
  block_cholesky_add_diagonal(s->solver, x->owner, turned);
}

/* One of them is linked. */
static void add_linked_nodes(System *s, int a, int b, const double block[9]) {
  const LinkedBody *la = linkage_of(&s->model->linkage, a), *lb = linkage_of(&s->model->linkage, b);
  Run x, y;
  for (int i = 0; next_run(s, a, la, &i, &x);)
    for (int j = 0; next_run(s, b, lb, &j, &y);) {
      if (x.owner < 0 || y.owner < 0 || (a == b && x.owner > y.owner)) continue;
      add_node_runs(s, &x, &y, block, a == b);
    }
}

void system_add_nodes(System *s, int a, int b, const double block[9]) {
  const Linkage *l = &s->model->linkage;
  if (linkage_of(l, a) || linkage_of(l, b)) {
    add_linked_nodes(s, a, b, block);
  } else if (s->column[a] >= 0 && s->column[b] >= 0) {
    if (a == b) block_cholesky_add_diagonal(s->solver, s->column[a], block);
    else add_block(s, s->column[a], s->column[b], block);
  }
}

void system_add_strip(System *s, int body, int vertex, const double block[36]) {
  const Linkage *l = &s->model->linkage;
  if (linkage_of(l, body) || linkage_of(l, vertex)) {
    double wide[144] = {0};
    memcpy(wide, block, 36 * sizeof(double));
    system_add(s, body, vertex, wide);
  } else if (s->column[body] >= 0 && s->column[vertex] >= 0) {
    add_block(s, s->column[body], s->column[vertex], block);
  }
}

void system_clear_right(System *s) { memset(s->right, 0, (size_t)s->unknown_count * sizeof(double)); }

void system_add_right(System *s, int body, const Affine *f) {
  double v[12];
  Run run;
  memcpy(v, f, sizeof v);
  const LinkedBody *linked = linkage_of(&s->model->linkage, body);
  for (int i = 0; next_run(s, body, linked, &i, &run);)
    if (run.owner >= 0) gather(&run, v, s->right + s->column_at[run.owner]);
}

/* 0 + v: a negative zero would be another bit than the sum of a cleared right-hand side. */
void system_put_right(System *s, int body, const Affine *f) {
  double v[12], *right = s->right + s->column_at[s->column[body]];
  Condensed *condensed = condensed_of(s, body);
  memcpy(v, f, sizeof v);
  if (condensed) {
    put_condensed(condensed, v, right);
    return;
  }
  for (int c = 0; c < unknowns_of(s->model, body); c++) right[c] = 0 + v[c];
}

int system_factor(System *s, int threads) {
  block_cholesky_poll(s->solver, s->model->interrupt);
  return block_cholesky_factor(s->solver, threads);
}

int system_begin_solve(System *s, int threads, BlockFill *fill, void *context) {
  block_cholesky_poll(s->solver, s->model->interrupt);
  return block_cholesky_begin(s->solver, threads, fill, context, s->right);
}

/* Blocks of the solver are bodies if these are all free. */
typedef bool SolveThen(BlockCholesky *solver, const double *b, double *x, ParallelBody *then, void *context);
static bool solve_then(System *s, SolveThen *solve, int threads, int count, ParallelBody *then, void *context) {
  bool whole = model_is_free(s->model), good = solve(s->solver, s->right, s->right, whole ? then : NULL, context);
  if (!whole) parallel_for(threads, count, BODIES_AT_ONCE, then, context);
  return good;
}

bool system_finish_solve(System *s, int threads, int count, ParallelBody *then, void *context) {
  return solve_then(s, block_cholesky_finish_then, threads, count, then, context);
}

bool system_solve_then(System *s, int threads, int count, ParallelBody *then, void *context) {
  block_cholesky_poll(s->solver, s->model->interrupt);
  return solve_then(s, block_cholesky_solve_then, threads, count, then, context);
}

bool system_solve(System *s) {
  block_cholesky_poll(s->solver, s->model->interrupt);
  return block_cholesky_solve(s->solver, s->right, s->right);
}

Affine system_solution(const System *s, int body) {
  const Condensed *condensed = s->condensed ? condensed_of(s, body) : NULL;
  if (condensed) return motion_of_parts(&condensed->q, s->right + s->column_at[s->column[body]], condensed->answer);
  double q[12] = {0};
  Run run;
  Affine out;
  const LinkedBody *linked = linkage_of(&s->model->linkage, body);
  for (int i = 0; next_run(s, body, linked, &i, &run);) {
    if (run.owner < 0) continue;
    const double *y = s->right + s->column_at[run.owner];
    if (!run.column) memcpy(q, y, (size_t)run.count * sizeof(double));
    for (int c = 0; run.column && c < run.count; c++) {
      const LinkColumn *column = &run.column[c];
      for (int k = 0; k < column->count; k++) q[column->at[k]] += column->g[column->at[k]] * y[column->index];
    }
  }
  memcpy(&out, q, sizeof out);
  return out;
}
