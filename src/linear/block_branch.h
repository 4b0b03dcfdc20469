/* Branches of the elimination tree: disjoint subtrees, each with a small part of the factor's values. The columns above
 * them are the trunk.
 *
 * A forward solve computes the branches side by side, then the trunk; a backward solve the other way round. It reads
 * each value once, and most values come from other cores' caches, so it takes as long as it waits for them.
 * Several threads wait at the same time. Tested in tests/test_block_cholesky.c. */
#ifndef ABD_LINEAR_BLOCK_BRANCH_H
#define ABD_LINEAR_BLOCK_BRANCH_H

#include "linear/block_task.h"

typedef struct BlockBranches {
  BlockTask *branch; /* neighbouring small ones are joined */
  int *trunk;        /* columns, descending */
  int branch_count, trunk_count;
  bool found;         /* they belong to the pattern, */
  int parts;          /* cut into branches of at most one of so many parts of the values */
  double trunk_share; /* of the values */
  int branch_capacity, trunk_capacity;
} BlockBranches;

void block_branches_free(BlockBranches *branches);
/* The number of threads, at most `threads`, that save time in a backward solve. 1 if memory is out. */
int block_branches_threads(BlockBranches *branches, const BlockPattern *pattern, int threads);

#endif
