/* Disjoint sets of the numbers 0, 1, ... as trees. parent[i] is another member of the set of i; a root is its own
 * parent. Tested by their users. */
#ifndef ABD_BASE_DISJOINT_H
#define ABD_BASE_DISJOINT_H

static inline int disjoint_root(int *parent, int i) {
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

/* The smaller root becomes the root of both sets, so that a set is represented by its first member. */
static inline void disjoint_join(int *parent, int a, int b) {
  a = disjoint_root(parent, a), b = disjoint_root(parent, b);
  parent[a > b ? a : b] = a > b ? b : a;
}

#endif
