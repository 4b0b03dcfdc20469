/* Sparse symmetric positive definite systems by blocks: L L^T of a matrix whose rows and columns come in blocks of up
 * to 12 (12 or 6 for an affine body, 3 for a free node). AMD or METIS orders the graph of blocks; small blocks are
 * joined to larger ones.
 *
 * Use: analyze (cheap if the pattern is unchanged), clear, add blocks, factor, solve. All block data is column-major.
 * Results do not depend on the number of threads. Tested in tests/test_block_cholesky.c against CHOLMOD. */
#ifndef ABD_LINEAR_BLOCK_CHOLESKY_H
#define ABD_LINEAR_BLOCK_CHOLESKY_H

#include "base/base.h"
#include "linear/block_factor.h"
#include "linear/block_plan.h"

typedef struct BlockCholesky BlockCholesky;

BlockCholesky *block_cholesky_create(void); /* NULL if memory is out */
void block_cholesky_destroy(BlockCholesky *solver);
/* Sets the number of threads of analyze, clear and solve; initially 1. */
void block_cholesky_use_threads(BlockCholesky *solver, int threads);
/* Factor and solve poll it from now on; NULL = none. After an interruption their results are not to be used. */
void block_cholesky_poll(BlockCholesky *solver, Interrupt *interrupt);
/* From now on CHOLMOD factors and solves, except matrices that are not positive definite. False if memory is out or
 * this build has no CHOLMOD (cholmod_factor_built). */
bool block_cholesky_use_cholmod(BlockCholesky *solver);

/* Selects conjugate gradients, preconditioned by an incomplete factor without fill: always for BLOCK_ITERATIVE; for
 * BLOCK_AUTO if a factor's values would take more than `memory` bytes (0 = never). Call it before the first analyze. */
void block_cholesky_choose(BlockCholesky *solver, BlockMethod method, double memory);

/* n blocks of size[i]; edge k couples blocks edge[k][0] != edge[k][1]; no edge twice. last: see BlockShape. False if
 * memory is out. */
bool block_cholesky_analyze(BlockCholesky *solver, int n, const int *size, int edge_count, const int (*edge)[2],
                            const bool *last);
/* Orders these blocks once for all patterns that follow: their blocks are some of these, with at least these couplings
 * between them. block_cholesky_name says which they are, for the next analyze; `guided` is not copied. False if memory
 * is out. */
bool block_cholesky_guide(BlockCholesky *solver, int n, const int *size, int edge_count, const int (*edge)[2]);
void block_cholesky_name(BlockCholesky *solver, const int *guided);
/* Makes later results independent of earlier patterns. Without it an order is kept while its predicted cost is low. */
void block_cholesky_refresh(BlockCholesky *solver);
void block_cholesky_clear(BlockCholesky *solver);              /* sets all values to zero */
int block_cholesky_column(const BlockCholesky *solver, int i); /* the column of L that block i is in */
/* Adds to diagonal block i (size[i] x size[i]; only the lower triangle is used). Threads may add to different blocks
 * and edges at the same time. */
void block_cholesky_add_diagonal(BlockCholesky *solver, int i, const double *block);
/* Adds to the block of edge k: rows of edge[k][0], columns of edge[k][1]. */
void block_cholesky_add_edge(BlockCholesky *solver, int k, const double *block);
/* Where that block is stored: by columns, which are *stride apart; transposed: rows of edge[k][1]. */
double *block_cholesky_edge(BlockCholesky *solver, int k, int *stride, bool *transposed);

/* Calls fill for all columns of L, on several threads. */
void block_cholesky_add_columns(BlockCholesky *solver, BlockFill *fill, void *context);

/* Factors in place. A pivot below 1e-14 of its diagonal entry is raised to the largest one of the caller's block, so
 * that the factored matrix is positive definite and the solution is a descent direction. Returns the number of raised
 * pivots, usually 0; -1 if there is a NaN. */
int block_cholesky_factor(BlockCholesky *solver, int threads);
/* The same for a system with one right-hand side b, of which the factorisation computes L^-1 b. block_cholesky_finish
 * then solves with the same b. fill: clears and adds each column just before it is factored, while its values are in
 * the cache, and sets the rows of b that belong to it; NULL = all are set. */
int block_cholesky_begin(BlockCholesky *solver, int threads, BlockFill *fill, void *context, const double *b);
bool block_cholesky_finish(BlockCholesky *solver, const double *b, double *x);
/* x = A^-1 b, both of total size, blocks in the caller's order; x may be b. One solve at a time per solver. False if
 * the iterations find that A is not positive definite; x is a descent direction even then. */
bool block_cholesky_solve(BlockCholesky *solver, const double *b, double *x);
/* Both also call then(context, block) for each block whose part of x is computed, on the thread that computed it. */
bool block_cholesky_finish_then(BlockCholesky *solver, const double *b, double *x, ParallelBody *then, void *context);
bool block_cholesky_solve_then(BlockCholesky *solver, const double *b, double *x, ParallelBody *then, void *context);

int64_t block_cholesky_factor_blocks(const BlockCholesky *solver); /* blocks of L */
double block_cholesky_flops(const BlockCholesky *solver);          /* predicted for one complete factorisation */
double block_cholesky_bytes(const BlockCholesky *solver);          /* predicted for a complete factor's values */
/* Of the pattern of the first analyze after a refresh: with last blocks among the others, and at the end. */
void block_cholesky_costs(const BlockCholesky *solver, BlockCost cost[2]);
/* After these, up to the next refresh: where last blocks are put. False if the pattern has to be analyzed again. */
bool block_cholesky_place_last(BlockCholesky *solver, LastPlace place);
bool block_cholesky_iterates(const BlockCholesky *solver);  /* conjugate gradients solve this pattern */
int block_cholesky_iterations(const BlockCholesky *solver); /* of the last solve */

#endif
