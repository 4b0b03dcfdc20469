/* Couplings of blocks, as block_cholesky_analyze takes them: sorted, each once. Tested in tests/test_linkage.c. */
#ifndef ABD_LINEAR_BLOCK_EDGE_H
#define ABD_LINEAR_BLOCK_EDGE_H

/* Sorts couplings by their first block, then their second, and leaves out what is there twice; returns how many are left. */
int block_edges_sort(int (*edge)[2], int count);
/* Where each first block's couplings begin among sorted ones: first[blocks + 1]. */
void block_edges_index(const int (*edge)[2], int count, int blocks, int *first);
/* Where a coupling is among sorted ones, which have it. */
int block_edges_find(const int (*edge)[2], const int *first, int a, int b);

#endif
