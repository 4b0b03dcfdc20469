/* The pattern of a block Cholesky factor: its blocks, their positions in memory and the order of visits.
 *
 * A BlockOrder assigns the caller's blocks to columns of L, one or several to a column. Columns are renumbered to a
 * postorder of the elimination tree, so that every subtree is a range of columns. Column c of L is its diagonal block,
 * then the blocks below it by ascending row. Tested in tests/test_block_cholesky.c. */
#ifndef ABD_LINEAR_BLOCK_PATTERN_H
#define ABD_LINEAR_BLOCK_PATTERN_H

#include "base/base.h"
#include "linear/block_graph.h"

enum { BLOCK_KEPT_BYTES = 16 << 20 }; /* memory up to this size is kept, because fresh pages cost time */

/* A body has 12 unknowns, or 6; nodes and most linked bodies have fewer. */
static inline bool block_is_wide(int size) { return size >= 6; }

typedef struct BlockOrder {
  int count; /* blocks of the caller */
  int column_count;
  int *column_of; /* by block */
} BlockOrder;

typedef struct BlockPattern {
  int n;           /* columns of L */
  bool fill;       /* L has fill; else it has only the blocks of the matrix, for an incomplete factor */
  int given_count; /* blocks of the caller */
  int edge_count;
  int unknown_count; /* sum of sizes */
  int block_count;   /* of L, including diagonal blocks */
  int64_t value_count;
  double flops; /* of one factorisation */

  /* The caller's input, for comparison with the next one. */
  int *given_size;
  int (*given_edge)[2];
  bool *given_last;

  /* By the caller's block or edge. */
  int *column_of;   /* column of L */
  int *offset;      /* first row in its column */
  int *caller_at;   /* first unknown in the caller's vectors */
  int64_t *edge_at; /* position of edge k's first value; ~at if it is stored transposed */

  /* By column of L. */
  int *size;
  int *unknown_at;       /* first unknown in L's order */
  int *parent;           /* in the elimination tree, -1 for a root */
  int *first_descendant; /* the subtree of c is first_descendant[c]..c */
  double *work;          /* flops to compute this column from the columns before it */
  int *member_at;        /* [n + 1] first entry of the column in member */
  int *column_at;        /* [n + 1] first block of the column */
  int *row_at;           /* [n + 1] first entry of the row in row_column, row_block */
  int *edge_start;       /* [n + 1] first entry of the column in edge_of */
  int *member;           /* the caller's blocks, column by column */
  int *edge_of;          /* the caller's edges between wide blocks by the column that has their values, ascending */

  /* By block of L, in the order of columns. */
  int *block_row;
  int64_t *block_at; /* first value */

  /* By row of L, the columns left of the diagonal in ascending order. */
  int *row_column;
  int *row_block;

  /* By blocks, columns and edges; by blocks of L; the caller's input; scratch. Reused from build to build, because
   * fresh pages cost as much as a third of a build. */
  struct {
    void *bytes;
    size_t capacity;
  } memory[4];
} BlockPattern;

/* Position of a caller's block: entry (r, c) is values[at + stride c + r]. */
typedef struct BlockPlace {
  int64_t at;
  int stride;
} BlockPlace;

/* Replaces the pattern. False if memory is out or the factor is too large to index; the pattern is then empty. */
bool block_pattern_build(BlockPattern *pattern, const BlockShape *shape, const BlockOrder *order, bool fill,
                         int threads);
bool block_pattern_matches(const BlockPattern *pattern, const BlockShape *shape);
/* Whether the same blocks are last, of a shape that matches. */
bool block_pattern_ends_alike(const BlockPattern *pattern, const BlockShape *shape);
void block_pattern_free(BlockPattern *pattern); /* leaves the empty pattern */
BlockPlace block_pattern_diagonal(const BlockPattern *pattern, int i);
/* Position of an edge's block. transposed: its rows are the rows of the edge's second block. */
BlockPlace block_pattern_edge(const BlockPattern *pattern, int k, bool *transposed);

#endif
