/* Symbolic factorisation on the graph of columns. Memory and time grow with the number of blocks of L.
 *
 * Row i of L has a block in column k exactly if k is on a path of the elimination tree from some neighbour of i up to i
 * (Liu). Following those paths for i = 0, 1, ... appends i to its columns in ascending order, so nothing is sorted.
 * Tested in tests/test_block_cholesky.c. */
#include "linear/block_pattern.h"

#include <limits.h>
#include <string.h>

#include "linear/block_kernel.h"

/* PARTS_APART: least number of columns for which parts run on several threads. EDGES_AT_ONCE: couplings per task. */
enum { PARTS_APART = 500, EDGES_AT_ONCE = 256 };

void block_pattern_free(BlockPattern *pattern) {
  for (int i = 0; i < ARRAY_COUNT(pattern->memory); i++) mem_free(pattern->memory[i].bytes);
  memset(pattern, 0, sizeof *pattern);
}

/* Kept memory is returned if it is this many times the need and above BLOCK_KEPT_BYTES. The pattern of single soft
 * vertices, from which columns are merged, is several times that of the merged columns. */
enum { KEPT_TIMES = 3 };

/* Reserves `bytes` in one of the pattern's memories. NULL if memory is out. */
static void *reserve(BlockPattern *p, int which, size_t bytes) {
  size_t kept = p->memory[which].capacity;
  bool wasteful = kept > BLOCK_KEPT_BYTES && kept > KEPT_TIMES * bytes;
  if (!p->memory[which].bytes || bytes > kept || wasteful) {
    mem_free(p->memory[which].bytes);
    p->memory[which].capacity = bytes + bytes / 4;
    p->memory[which].bytes = mem_alloc(p->memory[which].capacity, 1);
  }
  return p->memory[which].bytes;
}

bool block_pattern_matches(const BlockPattern *p, const BlockShape *s) {
  if (!p->given_size || s->count != p->given_count || s->edge_count != p->edge_count) return false;
  if (s->count && memcmp(s->size, p->given_size, (size_t)s->count * sizeof *s->size) != 0) return false;
  return !s->edge_count || memcmp(s->edge, p->given_edge, (size_t)s->edge_count * sizeof *s->edge) == 0;
}

bool block_pattern_ends_alike(const BlockPattern *p, const BlockShape *s) {
  for (int i = 0; i < s->count; i++)
    if (p->given_last[i] != (s->last && s->last[i])) return false;
  return true;
}

static bool remember_given(BlockPattern *p, const BlockShape *s) {
  size_t n = (size_t)s->count, edges = (size_t)s->edge_count;
  int *word = reserve(p, 2, (n + 2 * edges) * sizeof(int) + n * sizeof(bool));
  if (!word) return false;
  p->given_edge = (int(*)[2])word;
  p->given_size = word + 2 * edges;
  p->given_last = (bool *)(p->given_size + n);
  if (edges) memcpy(p->given_edge, s->edge, edges * sizeof *s->edge);
  if (n) memcpy(p->given_size, s->size, n * sizeof *s->size);
  for (size_t i = 0; i < n; i++) p->given_last[i] = s->last && s->last[i];
  return true;
}

/* Couples edge k two blocks of bodies? */
static bool is_wide(const BlockPattern *p, int k) {
  return block_is_wide(p->given_size[p->given_edge[k][0]]) && block_is_wide(p->given_size[p->given_edge[k][1]]);
}

/* 8-byte arrays come first, so that all are aligned. */
static bool reserve_by_column(BlockPattern *p) {
  size_t n = (size_t)p->n, given = (size_t)p->given_count, edges = (size_t)p->edge_count, wide = 0;
  for (int k = 0; k < p->edge_count; k++) wide += is_wide(p, k);
  char *byte = reserve(p, 0, 8 * (edges + n) + sizeof(int) * (4 * given + wide + 8 * n + 4));
  if (!byte) return false;
  p->edge_at = (int64_t *)byte;
  p->work = (double *)(p->edge_at + edges);
  int *word = (int *)(p->work + n);
  int **by_block[] = {&p->column_of, &p->offset, &p->caller_at, &p->member};
  for (int i = 0; i < ARRAY_COUNT(by_block); i++, word += given) *by_block[i] = word;
  int **by_column[] = {&p->size, &p->unknown_at, &p->parent, &p->first_descendant};
  for (int i = 0; i < ARRAY_COUNT(by_column); i++, word += n) *by_column[i] = word;
  p->member_at = word;
  p->column_at = word + n + 1;
  p->row_at = word + 2 * (n + 1);
  p->edge_start = word + 3 * (n + 1);
  p->edge_of = word + 4 * (n + 1);
  return true;
}

static bool reserve_by_block(BlockPattern *p) {
  size_t blocks = (size_t)p->block_count;
  char *byte = reserve(p, 1, (8 + 3 * sizeof(int)) * blocks);
  if (!byte) return false;
  p->block_at = (int64_t *)byte;
  p->block_row = (int *)(p->block_at + blocks);
  p->row_column = p->block_row + blocks;
  p->row_block = p->row_column + blocks;
  return true;
}

/* Liu's algorithm with path compression. */
static void eliminate_tree(const BlockGraph *g, int n, int *parent, int *ancestor) {
  for (int i = 0; i < n; i++) {
    parent[i] = ancestor[i] = -1;
    for (int e = g->at[i]; e < g->at[i + 1]; e++) {
      for (int k = g->neighbour[e], next; k != -1 && k < i; k = next) {
        next = ancestor[k];
        ancestor[k] = i;
        if (next == -1) parent[k] = i;
      }
    }
  }
}

/* Renumbers the tree to a postorder: rank[i] is the new number of i, order[rank[i]] = i. scratch: 2 n. */
static void renumber_by_postorder(int n, int *parent, int *order, int *rank, int *scratch) {
  int *child = scratch, *sibling = child + n;
  int root = -1, count = 0;
  for (int i = 0; i < n; i++) child[i] = -1;
  for (int i = n - 1; i >= 0; i--) {
    int *head = parent[i] == -1 ? &root : &child[parent[i]];
    sibling[i] = *head;
    *head = i;
  }
  for (int i = root; i != -1;) {
    while (child[i] != -1) i = child[i];
    for (;;) {
      rank[i] = count++;
      int up = parent[i], next = sibling[i];
      if (next != -1) {
        i = next;
        break;
      }
      i = up;
      if (up == -1) break;
    }
  }
  memcpy(sibling, parent, (size_t)n * sizeof(int));
  for (int i = 0; i < n; i++) {
    order[rank[i]] = i;
    parent[rank[i]] = sibling[i] == -1 ? -1 : rank[sibling[i]];
  }
}

/* Visits the columns k < i of row i of L and counts (block_row NULL) or appends. node: the graph's node of row i.
 * next[k]: the column's next slot. */
static void visit_row(const BlockGraph *g, const BlockPattern *p, int i, int node, const int *rank, int *mark,
                      int64_t *next, int *block_row) {
  mark[i] = i;
  for (int e = g->at[node]; e < g->at[node + 1]; e++) {
    for (int k = rank[g->neighbour[e]]; k < i && mark[k] != i; k = p->parent[k]) {
      mark[k] = i;
      if (block_row) block_row[next[k]] = i;
      next[k]++;
      if (!p->fill) break;
    }
  }
}

static bool find_columns(BlockPattern *p, const BlockGraph *g, const int *order, const int *rank, int *mark,
                         int64_t *next) {
  int n = p->n;
  for (int i = 0; i < n; i++) {
    mark[i] = -1;
    next[i] = 1;
  }
  for (int i = 0; i < n; i++) visit_row(g, p, i, order[i], rank, mark, next, NULL);
  int64_t total = 0;
  for (int i = 0; i < n; i++) {
    if (total > INT_MAX) return false;
    p->column_at[i] = (int)total;
    total += next[i];
    next[i] = p->column_at[i] + 1;
    mark[i] = -1;
  }
  if (total > INT_MAX) return false;
  p->column_at[n] = p->block_count = (int)total;
  if (!reserve_by_block(p)) return false;
  for (int i = 0; i < n; i++) {
    p->block_row[p->column_at[i]] = i;
    visit_row(g, p, i, order[i], rank, mark, next, p->block_row);
  }
  return true;
}

/* Rows are the transposed columns. Visiting columns in order makes each row ascending. */
static void find_rows(BlockPattern *p, int *next) {
  int n = p->n;
  memset(p->row_at, 0, ((size_t)n + 1) * sizeof(int));
  for (int c = 0; c < n; c++)
    for (int b = p->column_at[c] + 1; b < p->column_at[c + 1]; b++) p->row_at[p->block_row[b] + 1]++;
  for (int i = 0; i < n; i++) {
    p->row_at[i + 1] += p->row_at[i];
    next[i] = p->row_at[i];
  }
  for (int c = 0; c < n; c++)
    for (int b = p->column_at[c] + 1; b < p->column_at[c + 1]; b++) {
      int slot = next[p->block_row[b]]++;
      p->row_column[slot] = c;
      p->row_block[slot] = b;
    }
}

/* Computes the positions of values and the cost of each column. An update of column i by column c takes 2 s_i s_c flops
 * for each row of c from i on (the diagonal block counts half). */
static void place_values(BlockPattern *p) {
  for (int c = 0; c < p->n; c++) p->work[c] = 0;
  for (int c = 0; c < p->n; c++) {
    double s = p->size[c], below = 0;
    for (int b = p->column_at[c]; b < p->column_at[c + 1]; b++) {
      p->block_at[b] = p->value_count;
      p->value_count += p->size[c] * p->size[p->block_row[b]];
    }
    for (int b = p->column_at[c + 1] - 1; b > p->column_at[c]; b--) {
      int row = p->block_row[b];
      double r = p->size[row];
      p->work[row] += s * r * (2 * below + r);
      below += r;
    }
    p->work[c] += s * s * s / 3 + s * s * below;
  }
  for (int c = 0; c < p->n; c++) p->flops += p->work[c];
}

static int find_block(const BlockPattern *p, int row, int column) {
  int low = p->column_at[column], high = p->column_at[column + 1] - 1;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (p->block_row[middle] < row) low = middle + 1;
    else high = middle;
  }
  return low;
}

static void place_edge(void *context, int k) {
  BlockPattern *p = context;
  const int *e = p->given_edge[k];
  int a = p->column_of[e[0]], b = p->column_of[e[1]];
  bool upright = a > b || (a == b && p->offset[e[0]] > p->offset[e[1]]);
  int row = upright ? e[0] : e[1], column = upright ? e[1] : e[0];
  int stride = p->size[p->column_of[row]];
  int64_t at = p->block_at[find_block(p, p->column_of[row], p->column_of[column])];
  at += (int64_t)stride * p->offset[column] + p->offset[row];
  p->edge_at[k] = upright ? at : ~at;
}

BlockPlace block_pattern_diagonal(const BlockPattern *p, int i) {
  int column = p->column_of[i], stride = p->size[column];
  return (BlockPlace){p->block_at[p->column_at[column]] + (int64_t)(stride + 1) * p->offset[i], stride};
}

BlockPlace block_pattern_edge(const BlockPattern *p, int k, bool *transposed) {
  int a = p->column_of[p->given_edge[k][0]], b = p->column_of[p->given_edge[k][1]];
  int64_t at = p->edge_at[k];
  *transposed = at < 0;
  return (BlockPlace){at < 0 ? ~at : at, p->size[a > b ? a : b]};
}

/* Assigns the caller's blocks to their columns, by ascending number. */
static bool number_unknowns(BlockPattern *p, const int *column_of, const int *rank) {
  int64_t at = 0;
  memset(p->size, 0, (size_t)p->n * sizeof(int));
  memset(p->member_at, 0, ((size_t)p->n + 1) * sizeof(int));
  for (int i = 0; i < p->given_count; i++) {
    int c = p->column_of[i] = rank[column_of[i]];
    p->offset[i] = p->size[c];
    p->size[c] += p->given_size[i];
    p->member_at[c + 1]++;
    p->caller_at[i] = (int)at;
    at += p->given_size[i];
    if (at > INT_MAX) return false;
  }
  p->unknown_count = (int)at;
  at = 0;
  for (int c = 0; c < p->n; c++) {
    p->unknown_at[c] = (int)at;
    at += p->size[c];
    p->member_at[c + 1] += p->member_at[c];
  }
  return true;
}

/* next: n */
static void list_members(BlockPattern *p, int *next) {
  for (int c = 0; c < p->n; c++) {
    next[c] = p->member_at[c];
    p->first_descendant[c] = c;
  }
  for (int i = 0; i < p->given_count; i++) p->member[next[p->column_of[i]]++] = i;
  for (int c = 0; c < p->n; c++) {
    int up = p->parent[c];
    if (up != -1 && p->first_descendant[c] < p->first_descendant[up]) p->first_descendant[up] = p->first_descendant[c];
  }
}

static int edge_column(const BlockPattern *p, int k) {
  int a = p->column_of[p->given_edge[k][0]], b = p->column_of[p->given_edge[k][1]];
  return a < b ? a : b;
}

/* next: n */
static void list_edges(BlockPattern *p, int *next) {
  memset(p->edge_start, 0, ((size_t)p->n + 1) * sizeof(int));
  for (int k = 0; k < p->edge_count; k++)
    if (is_wide(p, k)) p->edge_start[edge_column(p, k) + 1]++;
  for (int c = 0; c < p->n; c++) {
    p->edge_start[c + 1] += p->edge_start[c];
    next[c] = p->edge_start[c];
  }
  for (int k = 0; k < p->edge_count; k++)
    if (is_wide(p, k)) p->edge_of[next[edge_column(p, k)]++] = k;
}

/* Data derived from the columns, independently for each part. */
typedef struct Parts {
  BlockPattern *pattern;
  int *scratch; /* 2 n */
} Parts;

static void find_part(void *context, int part) {
  const Parts *parts = context;
  if (part == 0) find_rows(parts->pattern, parts->scratch);
  if (part == 1) place_values(parts->pattern);
  if (part != 2) return;
  list_members(parts->pattern, parts->scratch + parts->pattern->n);
  list_edges(parts->pattern, parts->scratch + parts->pattern->n);
}

/* scratch: 5 n + 1 + 2 edges words; wide: n of 8 bytes. */
static bool find_pattern(BlockPattern *p, const BlockShape *shape, const int *column_of, int threads, int *scratch,
                         void *wide) {
  size_t n = (size_t)p->n;
  int *order = scratch, *rank = order + n, *work = rank + n;
  BlockGraph g = {work + 2 * n, work + 3 * n + 1};
  block_graph_build(&g, shape, p->n, column_of, work);
  eliminate_tree(&g, p->n, p->parent, work);
  renumber_by_postorder(p->n, p->parent, order, rank, work);
  if (!number_unknowns(p, column_of, rank) || !find_columns(p, &g, order, rank, work, wide)) return false;
  Parts parts = {p, work};
  parallel_for(p->n < PARTS_APART ? 1 : threads, 3, 1, find_part, &parts);
  parallel_for(threads, p->edge_count, EDGES_AT_ONCE, place_edge, p);
  return true;
}

bool block_pattern_build(BlockPattern *p, const BlockShape *shape, const BlockOrder *order, bool fill, int threads) {
  p->fill = fill;
  p->n = order->column_count;
  p->given_count = shape->count;
  p->edge_count = shape->edge_count;
  p->unknown_count = p->block_count = 0;
  p->value_count = 0;
  p->flops = 0;
  size_t words = 5 * (size_t)p->n + 1 + 2 * (size_t)p->edge_count;
  char *scratch = reserve(p, 3, 8 * (size_t)p->n + words * sizeof(int));
  bool done = scratch && p->edge_count < INT_MAX / 3 && remember_given(p, shape) && reserve_by_column(p);
  if (done && p->n)
    done = find_pattern(p, shape, order->column_of, threads, (int *)(scratch + 8 * (size_t)p->n), scratch);
  if (done && !p->n) p->column_at[0] = p->row_at[0] = p->member_at[0] = p->edge_start[0] = 0;
  if (!done) block_pattern_free(p);
  return done;
}
