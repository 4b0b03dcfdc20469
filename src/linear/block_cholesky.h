/* Sparse symmetric positive definite systems by blocks: L L^T of a matrix whose rows and columns come in blocks of any
 * size up to 12 (12 for an affine body, 3 for a free node), on the graph of blocks, ordered by AMD or METIS; small blocks are
 * joined to larger ones.
 *
 * Use: analyze (cheap when the pattern is the one of the last call), clear, add blocks, factor, solve. All block data is
 * column-major. Results do not depend on the number of threads. Tested in tests/test_block_cholesky.c against CHOLMOD. */
#ifndef ABD_LINEAR_BLOCK_CHOLESKY_H
#define ABD_LINEAR_BLOCK_CHOLESKY_H

#include "base/base.h"
#include "linear/block_plan.h"

typedef struct BlockCholesky BlockCholesky;

BlockCholesky *block_cholesky_create(void); /* NULL when memory is out */
void block_cholesky_destroy(BlockCholesky *solver);
/* How many threads analyze, clear and solve use from now on; 1 at first. */
void block_cholesky_use_threads(BlockCholesky *solver, int threads);
/* From now on CHOLMOD factors and solves, but for matrices that are not positive definite. False when memory is out or this
 * build has none (cholmod_factor_built). */
bool block_cholesky_use_cholmod(BlockCholesky *solver);

/* BLOCK_ITERATIVE, or BLOCK_AUTO where a factor's values would take more than so many bytes (0: never): conjugate gradients,
 * preconditioned by an incomplete factor with the blocks of the matrix alone. To be said before anything is analyzed. */
void block_cholesky_choose(BlockCholesky *solver, BlockMethod method, double memory);

/* n blocks of size[i]; edge k couples blocks edge[k][0] != edge[k][1]; no edge twice. False when memory is out. */
bool block_cholesky_analyze(BlockCholesky *solver, int n, const int *size, int edge_count, const int (*edge)[2]);
/* Results from here on do not depend on what was analyzed before; until then an order is kept while it serves. */
void block_cholesky_refresh(BlockCholesky *solver);
void block_cholesky_clear(BlockCholesky *solver); /* all values zero */
/* Adds to diagonal block i (size[i] x size[i]; the lower triangle is what counts). Different blocks and edges may be
 * added by different threads at once. */
void block_cholesky_add_diagonal(BlockCholesky *solver, int i, const double *block);
/* Adds to the block of edge k: rows of edge[k][0], columns of edge[k][1]. */
void block_cholesky_add_edge(BlockCholesky *solver, int k, const double *block);

/* Factors in place. A pivot that is not positive enough (below 1e-14 of the largest diagonal entry of the caller's block) is raised so
 * that the factored matrix is positive definite and the solution still a descent direction. Returns how many pivots were
 * raised, 0 as a rule; -1 if a NaN was met. */
int block_cholesky_factor(BlockCholesky *solver, int threads);
/* x = A^-1 b, both of total size, blocks in the caller's order; x may be b. One solve at a time per solver. False when the
 * iterations found that A is not positive definite: x is then a descent direction all the same. */
bool block_cholesky_solve(BlockCholesky *solver, const double *b, double *x);

int64_t block_cholesky_factor_blocks(const BlockCholesky *solver); /* blocks of L */
double block_cholesky_flops(const BlockCholesky *solver);          /* predicted for one whole factorisation */
double block_cholesky_bytes(const BlockCholesky *solver);          /* predicted of a whole factor's values */
bool block_cholesky_iterates(const BlockCholesky *solver);         /* the pattern is solved by conjugate gradients */
int block_cholesky_iterations(const BlockCholesky *solver);        /* of the last solve */

#endif
