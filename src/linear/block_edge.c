/* Sorting and finding couplings. */
#include "linear/block_edge.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int compare_edges(const void *x, const void *y) {
  const int *a = x, *b = y;
  return a[0] != b[0] ? a[0] - b[0] : a[1] - b[1];
}

int block_edges_sort(int (*edge)[2], int count) {
  int kept = 0;
  bool sorted = true;
  for (int e = 1; sorted && e < count; e++) sorted = compare_edges(edge[e - 1], edge[e]) < 0;
  if (sorted) return count;
  qsort(edge, (size_t)count, sizeof *edge, compare_edges);
  for (int e = 0; e < count; e++)
    if (kept == 0 || compare_edges(edge[kept - 1], edge[e]) != 0) memmove(edge[kept++], edge[e], sizeof *edge);
  return kept;
}

int block_edges_find(const int (*edge)[2], int count, int first, int second) {
  const int wanted[2] = {first, second};
  const int(*found)[2] = bsearch(wanted, edge, (size_t)count, sizeof *edge, compare_edges);
  return (int)(found - edge);
}
