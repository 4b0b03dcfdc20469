/* Ordering and symbolic factorisation on the graph of blocks. Memory and time grow with the blocks of L.
 *
 * Row i of L has a block in column k exactly when k lies on a path of the elimination tree from some neighbour of i up
 * to i (Liu). Walking those paths for i = 0, 1, ... appends i to its columns in ascending order: nothing is sorted.
 * Tested in tests/test_block_cholesky.c. */
#include "linear/block_pattern.h"

#include <amd.h>
#include <limits.h>
#include <string.h>

/* Adjacency of all blocks, both directions, in the caller's numbers. */
typedef struct Graph {
  int *at;        /* [n + 1] */
  int *neighbour; /* [2 * edge_count] */
} Graph;

void block_pattern_free(BlockPattern *pattern) {
  for (int i = 0; i < ARRAY_COUNT(pattern->memory); i++) mem_free(pattern->memory[i]);
  memset(pattern, 0, sizeof *pattern);
}

bool block_pattern_matches(const BlockPattern *pattern, int n, const int *size, int edge_count, const int (*edge)[2]) {
  if (!pattern->given_size || n != pattern->n || edge_count != pattern->edge_count) return false;
  if (n && memcmp(size, pattern->given_size, (size_t)n * sizeof *size) != 0) return false;
  return !edge_count || memcmp(edge, pattern->given_edge, (size_t)edge_count * sizeof *edge) == 0;
}

static bool remember_given(BlockPattern *p, int n, const int *size, int edge_count, const int (*edge)[2]) {
  size_t words = (size_t)n + 2 * (size_t)edge_count;
  int *word = p->memory[2] = mem_alloc(words, sizeof(int));
  if (!word) return false;
  p->given_edge = (int(*)[2])word;
  p->given_size = word + 2 * (size_t)edge_count;
  if (edge_count) memcpy(p->given_edge, edge, (size_t)edge_count * sizeof *edge);
  if (n) memcpy(p->given_size, size, (size_t)n * sizeof *size);
  return true;
}

/* 8-byte arrays first, so that all are aligned. */
static bool reserve_by_column(BlockPattern *p) {
  size_t n = (size_t)p->n, edges = (size_t)p->edge_count;
  char *byte = p->memory[0] = mem_alloc(8 * (edges + n) + sizeof(int) * (8 * n + 2), 1);
  if (!byte) return false;
  p->edge_at = (int64_t *)byte;
  p->work = (double *)(p->edge_at + edges);
  int **array[] = {&p->column_of, &p->size, &p->caller_at, &p->unknown_at, &p->parent, &p->first_descendant};
  int *word = (int *)(p->work + n);
  for (int i = 0; i < ARRAY_COUNT(array); i++, word += n) *array[i] = word;
  p->column_at = word;
  p->row_at = word + n + 1;
  return true;
}

static bool reserve_by_block(BlockPattern *p) {
  size_t blocks = (size_t)p->block_count;
  char *byte = p->memory[1] = mem_alloc(8 * blocks + sizeof(int) * 3 * blocks, 1);
  if (!byte) return false;
  p->block_at = (int64_t *)byte;
  p->block_row = (int *)(p->block_at + blocks);
  p->row_column = p->block_row + blocks;
  p->row_block = p->row_column + blocks;
  return true;
}

static void build_graph(Graph *g, const BlockPattern *p, int *fill) {
  memset(g->at, 0, ((size_t)p->n + 1) * sizeof(int));
  for (int k = 0; k < p->edge_count; k++)
    for (int s = 0; s < 2; s++) g->at[p->given_edge[k][s] + 1]++;
  for (int i = 0; i < p->n; i++) {
    g->at[i + 1] += g->at[i];
    fill[i] = g->at[i];
  }
  for (int k = 0; k < p->edge_count; k++)
    for (int s = 0; s < 2; s++) g->neighbour[fill[p->given_edge[k][s]]++] = p->given_edge[k][1 - s];
}

/* order[c] = the block eliminated c-th. amd_2 eats its input and needs nine arrays of n and elbow room in the lists; it
 * is used instead of amd_order because it allocates nothing. */
static bool order_by_amd(const Graph *g, int n, int *order) {
  int entries = g->at[n];
  int64_t room = (int64_t)entries + entries / 5 + n + 1;
  if (room > INT_MAX) return false;
  int *memory = mem_alloc((size_t)n * 9 + (size_t)room, sizeof(int));
  if (!memory) return false;
  int *a[9];
  for (int i = 0; i < 9; i++) a[i] = memory + (size_t)i * (size_t)n;
  int *list = memory + (size_t)n * 9, *start = a[0], *length = a[1];
  for (int i = 0; i < n; i++) {
    start[i] = g->at[i];
    length[i] = g->at[i + 1] - g->at[i];
  }
  if (entries) memcpy(list, g->neighbour, (size_t)entries * sizeof(int));
  double info[AMD_INFO], control[AMD_CONTROL];
  amd_defaults(control);
  amd_2(n, start, list, length, (int)room, entries, a[2], a[3], a[4], a[5], a[6], a[7], a[8], control, info);
  memcpy(order, a[4], (size_t)n * sizeof(int));
  mem_free(memory);
  return true;
}

/* Liu's algorithm with path compression; column_of and order are each other's inverse. */
static void eliminate_tree(const Graph *g, int n, const int *order, const int *column_of, int *parent, int *ancestor) {
  for (int i = 0; i < n; i++) {
    parent[i] = ancestor[i] = -1;
    for (int e = g->at[order[i]]; e < g->at[order[i] + 1]; e++) {
      for (int k = column_of[g->neighbour[e]], next; k != -1 && k < i; k = next) {
        next = ancestor[k];
        ancestor[k] = i;
        if (next == -1) parent[k] = i;
      }
    }
  }
}

/* Renumbers order, and with it parent, to a postorder. scratch: 4 n. */
static void renumber_by_postorder(int n, int *order, int *parent, int *scratch) {
  int *child = scratch, *sibling = child + n, *rank = sibling + n, *was = rank + n;
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
  memcpy(was, order, (size_t)n * sizeof(int));
  memcpy(sibling, parent, (size_t)n * sizeof(int));
  for (int i = 0; i < n; i++) {
    order[rank[i]] = was[i];
    parent[rank[i]] = sibling[i] == -1 ? -1 : rank[sibling[i]];
  }
}

/* Visits the columns k < i of row i of L and counts (block_row NULL) or appends; next[k] is the column's next slot. */
static void visit_row(const Graph *g, const BlockPattern *p, int i, int caller_block, int *mark, int64_t *next,
                      int *block_row) {
  mark[i] = i;
  for (int e = g->at[caller_block]; e < g->at[caller_block + 1]; e++) {
    for (int k = p->column_of[g->neighbour[e]]; k < i && mark[k] != i; k = p->parent[k]) {
      mark[k] = i;
      if (block_row) block_row[next[k]] = i;
      next[k]++;
    }
  }
}

static bool find_columns(BlockPattern *p, const Graph *g, const int *order, int *mark, int64_t *next) {
  int n = p->n;
  for (int i = 0; i < n; i++) {
    mark[i] = -1;
    next[i] = 1;
  }
  for (int i = 0; i < n; i++) visit_row(g, p, i, order[i], mark, next, NULL);
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
    visit_row(g, p, i, order[i], mark, next, p->block_row);
  }
  return true;
}

/* Rows are the columns transposed: going through columns in order makes each row ascending. */
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

/* Where values lie, and what each column costs. An update of column i by column c takes 2 s_i s_c flops for each row of
 * c from i's on (the diagonal block counts half). */
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

/* What no number of threads can overlap: along the longest path of the tree, each column's last update, its factor and
 * its division, and the way of a cache line from core to core (as so many flops). path: n. */
static void measure_longest_path(BlockPattern *p, double *path) {
  const double handover = 2e4;
  for (int c = 0; c < p->n; c++) path[c] = 0;
  for (int c = 0; c < p->n; c++) {
    int end = p->column_at[c + 1] - 1;
    double s = p->size[c], below = (double)(p->block_at[end] - p->block_at[p->column_at[c]]);
    below += s * p->size[p->block_row[end]] - s * s;
    path[c] += s * s * s / 3 + 3 * s * below + handover;
    if (path[c] > p->longest_path) p->longest_path = path[c];
    if (p->parent[c] != -1 && path[c] > path[p->parent[c]]) path[p->parent[c]] = path[c];
  }
}

static int find_block(const BlockPattern *p, int row, int column) {
  int low = p->column_at[column], high = p->column_at[column + 1] - 1;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (p->block_row[middle] < row)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void place_edges(BlockPattern *p) {
  for (int k = 0; k < p->edge_count; k++) {
    int row = p->column_of[p->given_edge[k][0]], column = p->column_of[p->given_edge[k][1]];
    p->edge_at[k] = row > column ? p->block_at[find_block(p, row, column)] : ~p->block_at[find_block(p, column, row)];
  }
}

static bool number_unknowns(BlockPattern *p, const int *order) {
  int64_t at = 0;
  for (int i = 0; i < p->n; i++) {
    p->caller_at[p->column_of[i]] = (int)at;
    at += p->given_size[i];
    if (at > INT_MAX) return false;
  }
  p->unknown_count = (int)at;
  at = 0;
  for (int c = 0; c < p->n; c++) {
    p->size[c] = p->given_size[order[c]];
    p->unknown_at[c] = (int)at;
    at += p->size[c];
    p->first_descendant[c] = c;
  }
  for (int c = 0; c < p->n; c++) {
    int up = p->parent[c];
    if (up != -1 && p->first_descendant[c] < p->first_descendant[up]) p->first_descendant[up] = p->first_descendant[c];
  }
  return true;
}

/* scratch: 6 n + 1 + 2 edges words; wide: n of 8 bytes. */
static bool find_pattern(BlockPattern *p, int *scratch, void *wide) {
  size_t n = (size_t)p->n;
  int *order = scratch, *work = order + n;
  Graph g = {work + 4 * n, work + 5 * n + 1};
  build_graph(&g, p, work);
  if (!order_by_amd(&g, p->n, order)) return false;
  for (int c = 0; c < p->n; c++) p->column_of[order[c]] = c;
  eliminate_tree(&g, p->n, order, p->column_of, p->parent, work);
  renumber_by_postorder(p->n, order, p->parent, work);
  for (int c = 0; c < p->n; c++) p->column_of[order[c]] = c;
  if (!number_unknowns(p, order) || !find_columns(p, &g, order, work, wide)) return false;
  find_rows(p, work);
  place_values(p);
  measure_longest_path(p, wide);
  place_edges(p);
  return true;
}

bool block_pattern_build(BlockPattern *p, int n, const int *size, int edge_count, const int (*edge)[2]) {
  block_pattern_free(p);
  p->n = n;
  p->edge_count = edge_count;
  size_t words = 6 * (size_t)n + 1 + 2 * (size_t)edge_count;
  char *scratch = mem_alloc(8 * (size_t)n + words * sizeof(int), 1);
  bool done = scratch && edge_count < INT_MAX / 3;
  done = done && remember_given(p, n, size, edge_count, edge) && reserve_by_column(p);
  if (done && n) done = find_pattern(p, (int *)(scratch + 8 * (size_t)n), scratch);
  if (done && !n) p->column_at[0] = p->row_at[0] = 0;
  mem_free(scratch);
  if (!done) block_pattern_free(p);
  return done;
}
