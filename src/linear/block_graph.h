/* Graph of coupled blocks: adjacency lists in both directions. Tested in tests/test_block_cholesky.c. */
#ifndef ABD_LINEAR_BLOCK_GRAPH_H
#define ABD_LINEAR_BLOCK_GRAPH_H

#include <stdbool.h>

/* An order of blocks, made without couplings that come and go; see block_plan_guide. */
typedef struct BlockGuide {
  int count, column_count;
  int *column_of; /* by block */
  double *work;   /* by column: flops of a factor */
} BlockGuide;

/* The caller's blocks and their couplings, each coupling once. */
typedef struct BlockShape {
  int count, edge_count;
  const int *size;
  const int (*edge)[2];
  const bool *last; /* by block: eliminated after the others, so that solves with right-hand sides in these blocks alone
                       visit few columns, unless the factor becomes much larger; NULL: none */
  const BlockGuide *guide; /* NULL: none */
  const int *guided;       /* by block: which block of the guide it is */
} BlockShape;

typedef struct BlockGraph {
  int *at;        /* [n + 1] */
  int *neighbour; /* [2 edges] */
} BlockGraph;

/* Builds the graph of n columns that contain the blocks (column_of NULL: one block each). Couplings within a column are
 * dropped; a neighbour may be listed several times. fill: n */
void block_graph_build(BlockGraph *graph, const BlockShape *shape, int n, const int *column_of, int *fill);

#endif
