/* Cuts the elimination tree into branches and a trunk, see linear/block_branch.h. */
#include "linear/block_branch.h"

#include <string.h>

/* A branch has at most one of as many parts of the values as there are threads, or of these. More parts make an even
 * load, but the trunk above smaller branches is longer. */
enum { LEAST_PARTS = 4 };
/* Fewer values are read by one thread in the time that others need to start. */
static const double least_values = 4e4, values_per_thread = 1e4;
static const double largest_trunk = 0.6; /* of the values: one thread reads it */

void block_branches_free(BlockBranches *b) {
  mem_free(b->branch);
  mem_free(b->trunk);
  memset(b, 0, sizeof *b);
}

static double column_values(const BlockPattern *p, int c) {
  int64_t end = c + 1 < p->n ? p->block_at[p->column_at[c + 1]] : p->value_count;
  return (double)(end - p->block_at[p->column_at[c]]);
}

/* subtree: values of the subtree of each column. */
static void cut(BlockBranches *b, const BlockPattern *p, const double *subtree) {
  double share = (double)p->value_count / b->parts, trunk = 0, sum = 0;
  b->branch_count = b->trunk_count = 0;
  for (int c = p->n - 1; c >= 0;) {
    if (subtree[c] > share) {
      b->trunk[b->trunk_count++] = c;
      trunk += column_values(p, c--);
      continue;
    }
    BlockTask whole = {p->first_descendant[c], c}, *last = &b->branch[b->branch_count - 1];
    if (b->branch_count && last->first == c + 1 && sum + subtree[c] <= share) {
      last->first = whole.first;
      sum += subtree[c];
    } else {
      b->branch[b->branch_count++] = whole;
      sum = subtree[c];
    }
    c = whole.first - 1;
  }
  b->trunk_share = trunk / (double)p->value_count;
}

static bool find(BlockBranches *b, const BlockPattern *p, int parts) {
  double *subtree = mem_alloc((size_t)p->n, sizeof(double));
  bool done = subtree && mem_reserve((void **)&b->branch, &b->branch_capacity, p->n, sizeof *b->branch) &&
              mem_reserve((void **)&b->trunk, &b->trunk_capacity, p->n, sizeof(int));
  if (done) {
    for (int c = 0; c < p->n; c++) subtree[c] = column_values(p, c);
    for (int c = 0; c < p->n; c++)
      if (p->parent[c] != -1) subtree[p->parent[c]] += subtree[c];
    b->parts = parts;
    cut(b, p, subtree);
  }
  mem_free(subtree);
  return b->found = done;
}

int block_branches_threads(BlockBranches *b, const BlockPattern *p, int threads) {
  if (threads <= 1 || (double)p->value_count < least_values) return 1;
  int parts = threads < LEAST_PARTS ? LEAST_PARTS : threads;
  if (!(b->found && b->parts == parts) && !find(b, p, parts)) return 1;
  if (b->trunk_share > largest_trunk) return 1;
  double most = (1 - b->trunk_share) * (double)p->value_count / values_per_thread;
  return !(most >= 2) ? 1 : threads > most ? (int)most : threads;
}
