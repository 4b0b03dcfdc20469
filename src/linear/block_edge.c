/* Counting sort, because there are many edges and many duplicates; a comparison sort if memory is out. */
#include "linear/block_edge.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"

static int compare_edges(const void *x, const void *y) {
  const int *a = x, *b = y;
  return a[0] != b[0] ? a[0] - b[0] : a[1] - b[1];
}

/* Stable counting sort by one end. place: blocks + 1 zeros. */
static void sort_by_end(int (*from)[2], int (*to)[2], int count, int end, int *place, int blocks) {
  for (int e = 0; e < count; e++) place[from[e][end] + 1]++;
  for (int i = 0; i < blocks; i++) place[i + 1] += place[i];
  for (int e = 0; e < count; e++) memcpy(to[place[from[e][end]]++], from[e], sizeof *to);
}

static bool sort_by_counting(int (*edge)[2], int count) {
  int last = 0;
  for (int e = 0; e < count; e++)
    for (int s = 0; s < 2; s++)
      if (edge[e][s] > last) last = edge[e][s];
  int(*other)[2] = mem_alloc((size_t)count, sizeof *other), *place = mem_zeroed(2 * (size_t)last + 4, sizeof(int));
  bool done = other && place;
  if (done) {
    sort_by_end(edge, other, count, 1, place, last + 1);
    sort_by_end(other, edge, count, 0, place + last + 2, last + 1);
  }
  mem_free(other);
  mem_free(place);
  return done;
}

int block_edges_sort(int (*edge)[2], int count) {
  int kept = 0;
  bool sorted = true;
  for (int e = 1; sorted && e < count; e++) sorted = compare_edges(edge[e - 1], edge[e]) < 0;
  if (sorted) return count;
  if (!sort_by_counting(edge, count)) qsort(edge, (size_t)count, sizeof *edge, compare_edges);
  for (int e = 0; e < count; e++)
    if (kept == 0 || compare_edges(edge[kept - 1], edge[e]) != 0) memmove(edge[kept++], edge[e], sizeof *edge);
  return kept;
}

int block_edges_before(const int (*edge)[2], int count, const int end[2]) {
  int low = 0, high = count;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (compare_edges(edge[middle], end) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

int block_edges_drop(int (*edge)[2], int count, const int (*other)[2], int others) {
  int kept = 0;
  for (int e = 0; e < count; e++) {
    int at = block_edges_before(other, others, edge[e]);
    if (at == others || compare_edges(other[at], edge[e]) != 0) memmove(edge[kept++], edge[e], sizeof *edge);
  }
  return kept;
}

void block_edges_index(const int (*edge)[2], int count, int blocks, int *first) {
  memset(first, 0, ((size_t)blocks + 1) * sizeof(int));
  for (int e = 0; e < count; e++) first[edge[e][0] + 1]++;
  for (int i = 0; i < blocks; i++) first[i + 1] += first[i];
}

int block_edges_find(const int (*edge)[2], const int *first, int a, int b) {
  int low = first[a], high = first[a + 1] - 1;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (edge[middle][1] < b) low = middle + 1;
    else high = middle;
  }
  return low;
}
