/* Who is coupled with whom: adjacency lists, both directions. Tested in tests/test_block_cholesky.c. */
#ifndef ABD_LINEAR_BLOCK_GRAPH_H
#define ABD_LINEAR_BLOCK_GRAPH_H

/* The caller's blocks, and which of them are coupled, each coupling once. */
typedef struct BlockShape {
  int count, edge_count;
  const int *size;
  const int (*edge)[2];
} BlockShape;

typedef struct BlockGraph {
  int *at;        /* [n + 1] */
  int *neighbour; /* [2 edges] */
} BlockGraph;

/* Of n columns that the blocks were put into (NULL: each into its own); couplings within a column are left out, a neighbour may
 * be named several times. fill: n */
void block_graph_build(BlockGraph *graph, const BlockShape *shape, int n, const int *column_of, int *fill);

#endif
