/* Orders by AMD and METIS, and joins blocks. */
#include "linear/block_order.h"

#include "kernel/constant.h"

#include <amd.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#ifdef ABD_METIS
#include <metis.h>
#endif

#include "linear/block_kernel.h"

/* ---- the middle of the longest path ---- */

/* A path from the middle of the longest one up to the root is reversed. A column's blocks are in rows of its ancestors,
 * so all blocks of the path's columns are between them. The columns of the factor's graph that are left when the others
 * are eliminated form a chordal graph, and a search that always visits a column with the most visited neighbours ends
 * with one that can be eliminated first without fill (Tarjan and Yannakakis). It starts at the middle, so that this is
 * eliminated last. */
typedef struct Path {
  const BlockPattern *pattern;
  int count;
  int *column; /* from the middle to the root */
  int *place;  /* by column: index in `column`, or -1 */
  int *weight; /* by index: visited neighbours, or -1 if it is visited itself */
  int *head;   /* by weight: first of a list of indices, or -1 */
  int *next, *before;
  int top; /* no list of a higher weight has indices */
} Path;

static const double center_cost = 2e7, center_share = 1.0 / 16; /* [flops] smaller factors and shorter paths stay */
static const double center_column = 3e3;                        /* of a column besides its flops */
static const double center_gain = 0.85; /* of the path's length: a longer tree is not worth a new pattern */

/* Cost of a column on a path: its last update, its factorisation and its division. */
static double path_cost(const BlockPattern *p, int c) {
  double s = p->size[c], below = 0;
  for (int b = p->column_at[c] + 1; b < p->column_at[c + 1]; b++) below += p->size[p->block_row[b]];
  return s * s * s / 3 + 3 * s * s * below + center_column;
}

/* The longest paths of a tree, by column: cost of the longest one below it and its own; of the longest one below it
 * through another child; the next column of the former, or -1. */
typedef struct Lengths {
  double *length, *arm;
  int *child;
} Lengths;

/* Returns the upper end of the longest path. */
static int find_lengths(const BlockPattern *p, Lengths *l) {
  int root = 0;
  for (int c = 0; c < p->n; c++) l->length[c] = l->arm[c] = 0, l->child[c] = -1;
  for (int c = 0; c < p->n; c++) {
    int up = p->parent[c];
    l->length[c] += path_cost(p, c);
    if (l->length[c] > l->length[root]) root = c;
    if (up == -1) continue;
    if (l->length[c] > l->length[up]) l->arm[up] = l->length[up], l->length[up] = l->length[c], l->child[up] = c;
    else if (l->length[c] > l->arm[up]) l->arm[up] = l->length[c];
  }
  return root;
}

/* The column of the longest path that makes the shortest tree as its root, or -1 if that is hardly shorter. The paths
 * that end above it get longer. */
static int find_middle(const BlockPattern *p, Lengths *l) {
  int root = find_lengths(p, l), middle = -1;
  double cost = p->flops + center_column * p->n, above = 0, least = center_gain * l->length[root];
  if (cost < center_cost || l->length[root] < center_share * cost) return -1;
  for (int c = root; c != -1; c = l->child[c]) {
    double own = path_cost(p, c), height = fmax(l->length[c], above + own);
    if (height < least) least = height, middle = c;
    above = own + fmax(above, l->arm[c]);
  }
  return middle;
}

static void put_in_list(Path *path, int i, int weight) {
  path->weight[i] = weight;
  path->before[i] = -1;
  path->next[i] = path->head[weight];
  if (path->next[i] != -1) path->before[path->next[i]] = i;
  path->head[weight] = i;
  if (weight > path->top) path->top = weight;
}

static void take_from_list(Path *path, int i) {
  if (path->before[i] != -1) path->next[path->before[i]] = path->next[i];
  else path->head[path->weight[i]] = path->next[i];
  if (path->next[i] != -1) path->before[path->next[i]] = path->before[i];
}

static void add_weight(Path *path, int column) {
  int i = path->place[column];
  if (i < 0 || path->weight[i] < 0) return;
  take_from_list(path, i);
  put_in_list(path, i, path->weight[i] + 1);
}

/* Visits the next column and returns its index. */
static int visit_next(Path *path) {
  const BlockPattern *p = path->pattern;
  while (path->head[path->top] == -1) path->top--;
  int i = path->head[path->top], c = path->column[i];
  take_from_list(path, i);
  path->weight[i] = -1;
  for (int b = p->column_at[c] + 1; b < p->column_at[c + 1]; b++) add_weight(path, p->block_row[b]);
  for (int e = p->row_at[c]; e < p->row_at[c + 1]; e++) add_weight(path, p->row_column[e]);
  return i;
}

/* number: new number of each column. The others keep their order and come first. */
static void number_columns(Path *path, int *number) {
  int n = path->pattern->n, others = 0;
  for (int c = 0; c < n; c++)
    if (path->place[c] < 0) number[c] = others++;
  for (int i = 0; i <= path->count; i++) path->head[i] = -1;
  for (int i = path->count - 1; i >= 0; i--) put_in_list(path, i, 0);
  for (int k = 0; k < path->count; k++) number[path->column[visit_next(path)]] = n - 1 - k;
}

bool block_order_center(BlockOrder *order, const BlockPattern *p, bool *moved) {
  size_t n = (size_t)p->n;
  double *length = mem_alloc(n + 1, 2 * sizeof(double) + 7 * sizeof(int));
  *moved = false;
  if (!length) return false;
  int *word = (int *)(length + 2 * (n + 1)), *number = word;
  Path path = {p,
               0,
               word + n + 1,
               word + 2 * (n + 1),
               word + 3 * (n + 1),
               word + 4 * (n + 1),
               word + 5 * (n + 1),
               word + 6 * (n + 1),
               0};
  int middle = p->n ? find_middle(p, &(Lengths){length, length + n + 1, number}) : -1;
  for (int c = 0; c < p->n; c++) path.place[c] = -1;
  for (int c = middle; c != -1; c = p->parent[c]) {
    path.place[c] = path.count;
    path.column[path.count++] = c;
  }
  if (path.count > 1) {
    number_columns(&path, number);
    for (int i = 0; i < p->given_count; i++) order->column_of[i] = number[p->column_of[i]];
    *moved = true;
  }
  mem_free(length);
  return true;
}

void block_order_free(BlockOrder *order) {
  mem_free(order->column_of);
  memset(order, 0, sizeof *order);
}

/* Puts blocks without couplings first, in ascending order, and returns their number. The others are numbered in
 * `compact` and listed in `coupled`. */
static int put_lone_first(const BlockGraph *g, int n, int *order, int *compact, int *coupled) {
  int lone = 0, others = 0;
  for (int i = 0; i < n; i++) {
    if (g->at[i] == g->at[i + 1]) {
      order[lone++] = i;
    } else {
      compact[i] = others;
      coupled[others++] = i;
    }
  }
  return lone;
}

/* order[c] = the block eliminated c-th. amd_2 overwrites its input and needs nine arrays of n and elbow room in the
 * lists. It is used instead of amd_order because it allocates nothing. */
static bool order_by_amd(const BlockGraph *g, int n, int *order) {
  int entries = g->at[n];
  int64_t room = (int64_t)entries + entries / 5 + n + 1;
  if (room > INT_MAX) return false;
  int *memory = mem_alloc((size_t)n * 11 + (size_t)room, sizeof(int));
  if (!memory) return false;
  int *a[11];
  for (int i = 0; i < 11; i++) a[i] = memory + (size_t)i * (size_t)n;
  int *list = memory + (size_t)n * 11, *start = a[0], *length = a[1], *compact = a[9], *coupled = a[10];
  int lone = put_lone_first(g, n, order, compact, coupled), others = n - lone;
  for (int i = 0; i < others; i++) {
    start[i] = g->at[coupled[i]];
    length[i] = g->at[coupled[i] + 1] - start[i];
  }
  for (int e = 0; e < entries; e++) list[e] = compact[g->neighbour[e]];
  double info[AMD_INFO], control[AMD_CONTROL];
  amd_defaults(control);
  if (others)
    amd_2(others, start, list, length, (int)room, entries, a[2], a[3], a[4], a[5], a[6], a[7], a[8], control, info);
  for (int c = 0; c < others; c++) order[lone + c] = coupled[a[4][c]];
  mem_free(memory);
  return true;
}

#ifdef ABD_METIS
bool block_order_has_metis(void) { return true; }

_Static_assert(sizeof(idx_t) == sizeof(int), "METIS with 32-bit indices");

/* Nested dissection with a fixed seed, so that equal graphs get equal orders. */
static bool order_by_metis(const BlockGraph *g, int n, const int *size, int *order) {
  idx_t options[METIS_NOPTIONS];
  int *memory = mem_alloc(2 * (size_t)n, sizeof(int));
  if (!memory) return false;
  METIS_SetDefaultOptions(options);
  options[METIS_OPTION_SEED] = 1;
  memcpy(memory, size, (size_t)n * sizeof(int));
  bool done = METIS_NodeND(&n, g->at, g->neighbour, memory, options, order, memory + n) == METIS_OK;
  mem_free(memory);
  return done;
}
#else
bool block_order_has_metis(void) { return false; }

static bool order_by_metis(const BlockGraph *g, int n, const int *size, int *order) {
  return g && n < 0 && size && order;
}
#endif

/* Breadth-first search from a block: appends the blocks without the mark. */
static int spread(const BlockGraph *g, int from, int mark, int *marks, int *order) {
  int count = 0;
  order[count++] = from;
  marks[from] = mark;
  for (int head = 0; head < count; head++)
    for (int e = g->at[order[head]]; e < g->at[order[head] + 1]; e++) {
      int next = g->neighbour[e];
      if (marks[next] == mark) continue;
      marks[next] = mark;
      order[count++] = next;
    }
  return count;
}

/* Cuthill-McKee: level by level, each component from one end. marks: n */
static void order_by_levels(const BlockGraph *g, int n, int *order, int *marks) {
  for (int i = 0; i < n; i++) marks[i] = 0;
  for (int i = 0, count = 0; i < n; i++) {
    if (marks[i]) continue;
    int reached = spread(g, i, 1, marks, order + count);
    count += spread(g, order[count + reached - 1], 2, marks, order + count);
  }
}

static bool coupled(const BlockGraph *g, int a, int b) {
  for (int e = g->at[a]; e < g->at[a + 1]; e++)
    if (g->neighbour[e] == b) return true;
  return false;
}

/* Joins consecutive coupled blocks in one column while there is room. */
static void join_neighbours(BlockOrder *order, const BlockGraph *g, const BlockShape *s, const int *by_rank) {
  int room = 0;
  order->column_count = 0;
  for (int c = 0; c < s->count; c++) {
    int block = by_rank[c];
    if (s->size[block] > room || !coupled(g, block, by_rank[c - 1])) {
      order->column_count++;
      room = BLOCK_MAX;
    }
    order->column_of[block] = order->column_count - 1;
    room -= s->size[block];
  }
}

static size_t count_last_couplings(const BlockShape *s) {
  size_t last = 0;
  for (int i = 0; i < s->count; i++) last += s->last[i];
  return last * (last - (last > 0)) / 2;
}

/* The couplings, and those between all last blocks, which are coupled when the others are eliminated. So a method that
 * chooses blocks of few couplings takes the last ones late and sees what the others are coupled to. */
static int list_with_last(const BlockShape *s, int (*edge)[2]) {
  int count = 0;
  for (int k = 0; k < s->edge_count; k++) {
    if (s->last[s->edge[k][0]] && s->last[s->edge[k][1]]) continue;
    edge[count][0] = s->edge[k][0];
    edge[count++][1] = s->edge[k][1];
  }
  for (int i = 0; i < s->count; i++)
    for (int j = s->last[i] ? i + 1 : s->count; j < s->count; j++)
      if (s->last[j]) edge[count][0] = i, edge[count++][1] = j;
  return count;
}

/* Moves the last blocks to the end; both parts keep their order. scratch: n */
static void put_last(const BlockShape *s, int *by_rank, int *scratch) {
  int inner = 0, last = 0;
  for (int c = 0; c < s->count; c++) {
    if (s->last[by_rank[c]]) scratch[last++] = by_rank[c];
    else by_rank[inner++] = by_rank[c];
  }
  if (last) memcpy(by_rank + inner, scratch, (size_t)last * sizeof(int));
}

bool block_order_find(BlockOrder *order, const BlockShape *shape, OrderMethod method) {
  BlockShape ordered = *shape, *s = &ordered;
  size_t n = (size_t)s->count, edges = (size_t)s->edge_count + (s->last ? count_last_couplings(s) : 0);
  block_order_free(order);
  order->column_of = mem_alloc(n, sizeof(int));
  order->count = order->column_count = s->count;
  int *memory = mem_alloc(2 * n + 1 + (s->last ? 4 : 2) * edges, sizeof(int)), *by_rank = memory;
  bool done = order->column_of && memory && edges < INT_MAX / 3;
  if (done && n) {
    BlockGraph g = {memory + n, memory + 2 * n + 1};
    if (s->last) {
      int(*edge)[2] = (int(*)[2])(g.neighbour + 2 * edges);
      ordered.edge_count = list_with_last(shape, edge);
      ordered.edge = (const int(*)[2])edge;
    }
    block_graph_build(&g, s, s->count, NULL, by_rank);
    if (method == ORDER_LEVELS) order_by_levels(&g, s->count, by_rank, order->column_of);
    else if (method == ORDER_METIS) done = order_by_metis(&g, s->count, s->size, by_rank);
    else done = order_by_amd(&g, s->count, by_rank);
    if (done && s->last) put_last(s, by_rank, order->column_of);
    for (int c = 0; done && c < s->count; c++) order->column_of[by_rank[c]] = c;
    if (method == ORDER_LEVELS) join_neighbours(order, &g, s, by_rank);
  }
  mem_free(memory);
  if (!done) block_order_free(order);
  return done;
}

int block_order_move_last(BlockOrder *order, const BlockShape *s, int at_end) {
  int n = s->count, end = n - at_end, inner = 0, last = 0;
  int *memory = mem_alloc(2 * (size_t)n, sizeof(int)), *by_rank = memory, *moved = memory + n;
  if (!memory) return -1;
  for (int i = 0; i < n; i++) by_rank[order->column_of[i]] = i;
  for (int c = 0; c < n; c++) {
    if (c < end && s->last[by_rank[c]]) moved[last++] = by_rank[c];
    else order->column_of[by_rank[c]] = inner++;
  }
  for (int k = 0; k < last; k++) order->column_of[moved[k]] = inner++;
  mem_free(memory);
  return at_end + last;
}

bool block_order_mergeable(const BlockShape *s) {
  int small = 0;
  for (int i = 0; i < s->count && small < 2; i++) small += s->size[i] <= BLOCK_MAX / 2;
  return small == 2;
}

/* Chain c is columns start[c] .. start[c + 1] - 1 of the plain pattern. */
typedef struct Merge {
  const BlockPattern *plain;
  int *chain_of, *start;
  int chain_count;
} Merge;

typedef struct Member {
  const Merge *merge;
  int column;
} Member;

/* Joins consecutive columns along the tree to a chain while few zeros are added by filling them up to their common
 * rows: at most a quarter up to four columns, a twentieth beyond. */
static void find_chains(Merge *m) {
  const BlockPattern *p = m->plain;
  m->chain_count = 0;
  for (int first = 0, last; first < p->n; first = last + 1) {
    double entries = p->column_at[first + 1] - p->column_at[first];
    last = first;
    while (last + 1 < p->n && p->parent[last] == last + 1) {
      double width = last + 2 - first, rows = p->column_at[last + 2] - p->column_at[last + 1];
      double full = width * rows + 0.5 * width * (width - 1);
      if (full - entries - rows > (width > 4 ? MERGE_ZEROS : MERGE_ZEROS_FEW) * full) break;
      entries += rows;
      last++;
    }
    m->start[m->chain_count] = first;
    for (int c = first; c <= last; c++) m->chain_of[c] = m->chain_count;
    m->chain_count++;
  }
  m->start[m->chain_count] = p->n;
}

/* The next chain below in which a row has blocks, from right to left; -1 after the last. */
static int next_below(const Merge *m, int row, int own, int *e) {
  const BlockPattern *p = m->plain;
  while (*e >= p->row_at[row] && m->chain_of[p->row_column[*e]] == own) --*e;
  return *e >= p->row_at[row] ? m->chain_of[p->row_column[(*e)--]] : -1;
}

/* Makes rows of the same columns neighbours. */
static int compare_members(const void *x, const void *y) {
  const Member *a = x, *b = y;
  const Merge *m = a->merge;
  int own = m->chain_of[a->column], i = m->plain->row_at[a->column + 1] - 1, j = m->plain->row_at[b->column + 1] - 1;
  for (;;) {
    int u = next_below(m, a->column, own, &i), v = next_below(m, b->column, own, &j);
    if (u != v) return u < v ? -1 : 1;
    if (u < 0) return a->column < b->column ? -1 : 1;
  }
}

/* Cuts a chain into pieces of at most BLOCK_MAX unknowns. */
static void cut_chain(const Merge *m, int chain, Member *member, BlockOrder *order) {
  const BlockPattern *p = m->plain;
  int count = m->start[chain + 1] - m->start[chain], room = 0;
  for (int k = 0; k < count; k++) member[k] = (Member){m, m->start[chain] + k};
  qsort(member, (size_t)count, sizeof *member, compare_members);
  for (int k = 0; k < count; k++) {
    int c = member[k].column;
    if (k == 0 || p->size[c] > room) {
      order->column_count++;
      room = BLOCK_MAX;
    }
    order->column_of[p->member[c]] = order->column_count - 1;
    room -= p->size[c];
  }
}

bool block_order_merge(BlockOrder *order, const BlockPattern *plain) {
  size_t n = (size_t)plain->n;
  Member *member = mem_alloc(n, sizeof *member);
  int *memory = mem_alloc(2 * n + 1, sizeof(int)), *column_of = mem_alloc(n, sizeof(int));
  bool done = member && memory && column_of;
  if (done) {
    Merge m = {plain, memory, memory + n, 0};
    block_order_free(order);
    *order = (BlockOrder){plain->n, 0, column_of};
    find_chains(&m);
    for (int c = 0; c < m.chain_count; c++) cut_chain(&m, c, member, order);
  } else {
    mem_free(column_of);
  }
  mem_free(member);
  mem_free(memory);
  return done;
}
