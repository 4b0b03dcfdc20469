/* Solves for a subset of the blocks of a BlockCholesky, such as the border of a rank. Tested in
 * tests/test_block_cholesky.c. */
#ifndef ABD_LINEAR_BLOCK_SUBSET_H
#define ABD_LINEAR_BLOCK_SUBSET_H

#include "linear/block_cholesky.h"

/* A subset of the caller's blocks, in which right-hand sides are not zero and solutions are wanted. Valid for one
 * pattern; zeros are the empty subset. */
typedef struct BlockSubset {
  int count, column_count;
  int *block;  /* count of the caller's */
  int *column; /* of L: those of the blocks and their ancestors, ascending */
  bool *seen;  /* by column of L */
  int block_capacity, column_capacity, seen_capacity;
  double *full; /* a vector of total size, for methods that have no columns */
  int full_capacity;
  double *forward; /* of block_cholesky_solve_first: L^-1 b in the subset's columns */
  int forward_capacity;
} BlockSubset;

/* Sets the subset for the analyzed pattern. False if memory is out. */
bool block_cholesky_select(const BlockCholesky *solver, BlockSubset *subset, const int *block, int count);
void block_subset_free(BlockSubset *subset);
/* As block_cholesky_solve on one thread, for vectors of the subset's blocks one after another. It visits the subset's
 * columns of L alone. x may be b. */
void block_cholesky_solve_subset(BlockCholesky *solver, const BlockSubset *subset, const double *b, double *x);
/* A solve in two parts, between which block_cholesky_solve_subset may be called. The first gives x of the subset's
 * blocks for a right-hand side b of total size; and by block an energy, whose sum over all blocks that are coupled,
 * directly or not, is b . x. After block_cholesky_begin with this b it visits the subset's columns of L alone. The last
 * gives x of total size for b plus g, which has the subset's blocks; x may be b. */
void block_cholesky_solve_first(BlockCholesky *solver, const BlockSubset *subset, const double *b, double *x,
                                double *energy);
void block_cholesky_solve_last(BlockCholesky *solver, const BlockSubset *subset, const double *b, const double *g,
                               double *x);

#endif
