/* The pattern of a block Cholesky factor: which blocks L has, where each lies in memory, in which order to visit them.
 *
 * Blocks of the caller become columns of L as a BlockOrder says, one or several to a column; columns are renumbered to a
 * postorder of the elimination tree, so that every subtree is a range of columns. Column c of L is its diagonal block, then
 * those below it by ascending row. Tested in tests/test_block_cholesky.c. */
#ifndef ABD_LINEAR_BLOCK_PATTERN_H
#define ABD_LINEAR_BLOCK_PATTERN_H

#include "base/base.h"
#include "linear/block_graph.h"

typedef struct BlockOrder {
  int count; /* blocks of the caller */
  int column_count;
  int *column_of; /* by block: the column it goes into */
} BlockOrder;

typedef struct BlockPattern {
  int n;           /* columns of L */
  bool fill;       /* L has all its blocks; else only those of the matrix, for an incomplete factor */
  int given_count; /* blocks of the caller */
  int edge_count;
  int unknown_count; /* sum of sizes */
  int block_count;   /* of L, diagonal ones included */
  int64_t value_count;
  double flops; /* of one factorisation */

  /* What the caller gave, to know it again. */
  int *given_size;
  int (*given_edge)[2];

  /* By caller's block or edge. */
  int *column_of;   /* the column of L that block i went into */
  int *offset;      /* its first row there */
  int *caller_at;   /* its first unknown in the caller's vectors */
  int64_t *edge_at; /* where edge k's first value lies; ~at when it lies there transposed */

  /* By column of L. */
  int *size;
  int *unknown_at;       /* first unknown in L's order */
  int *parent;           /* in the elimination tree, -1 for a root */
  int *first_descendant; /* the subtree of c is first_descendant[c]..c */
  double *work;          /* flops to compute this column from the ones before it */
  int *member_at;        /* [n + 1] first entry of the column in member */
  int *column_at;        /* [n + 1] first block of the column */
  int *row_at;           /* [n + 1] first entry of the row in row_column, row_block */
  int *member;           /* the caller's blocks, column by column */

  /* By block of L, in the order of columns. */
  int *block_row;
  int64_t *block_at; /* first value */

  /* By row of L, the columns left of the diagonal ascending. */
  int *row_column;
  int *row_block;

  /* By blocks, columns and edges; by blocks of L; what the caller gave; scratch. Kept from build to build: fresh pages cost
   * as much as a third of a build. */
  struct {
    void *bytes;
    size_t capacity;
  } memory[4];
} BlockPattern;

/* A block of the caller among the values: entry (r, c) lies at values[at + stride c + r]. */
typedef struct BlockPlace {
  int64_t at;
  int stride;
} BlockPlace;

/* Replaces the pattern. False when memory is out or the factor too large to index: the pattern is then the empty one. */
bool block_pattern_build(BlockPattern *pattern, const BlockShape *shape, const BlockOrder *order, bool fill,
                         int threads);
bool block_pattern_matches(const BlockPattern *pattern, const BlockShape *shape);
void block_pattern_free(BlockPattern *pattern); /* leaves the empty pattern */
BlockPlace block_pattern_diagonal(const BlockPattern *pattern, int i);
/* Of an edge: transposed tells that rows are those of its second block. */
BlockPlace block_pattern_edge(const BlockPattern *pattern, int k, bool *transposed);

#endif
