/* Adjacency lists by a counting sort. */
#include "linear/block_graph.h"

#include <string.h>

static void ends(const BlockShape *s, int k, const int *column_of, int c[2]) {
  for (int i = 0; i < 2; i++) c[i] = column_of ? column_of[s->edge[k][i]] : s->edge[k][i];
}

void block_graph_build(BlockGraph *g, const BlockShape *s, int n, const int *column_of, int *fill) {
  int c[2];
  memset(g->at, 0, ((size_t)n + 1) * sizeof(int));
  for (int k = 0; k < s->edge_count; k++) {
    ends(s, k, column_of, c);
    for (int i = 0; c[0] != c[1] && i < 2; i++) g->at[c[i] + 1]++;
  }
  for (int i = 0; i < n; i++) {
    g->at[i + 1] += g->at[i];
    fill[i] = g->at[i];
  }
  for (int k = 0; k < s->edge_count; k++) {
    ends(s, k, column_of, c);
    for (int i = 0; c[0] != c[1] && i < 2; i++) g->neighbour[fill[c[i]]++] = c[1 - i];
  }
}
