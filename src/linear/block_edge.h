/* Couplings of blocks as block_cholesky_analyze takes them: sorted and unique. Tested in tests/test_linkage.c. */
#ifndef ABD_LINEAR_BLOCK_EDGE_H
#define ABD_LINEAR_BLOCK_EDGE_H

/* Sorts couplings by their first block, then their second, and removes duplicates. Returns their number. */
int block_edges_sort(int (*edge)[2], int count);
/* In a sorted list: the number of couplings before the given one. */
int block_edges_before(const int (*edge)[2], int count, const int end[2]);
/* Removes couplings that another sorted list has. Returns the number of those left. */
int block_edges_drop(int (*edge)[2], int count, const int (*other)[2], int others);
/* Computes the index of each first block's first coupling in a sorted list: first[blocks + 1]. */
void block_edges_index(const int (*edge)[2], int count, int blocks, int *first);
/* The index of a coupling in a sorted list that contains it. */
int block_edges_find(const int (*edge)[2], const int *first, int a, int b);

#endif
