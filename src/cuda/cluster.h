/* Clusters of bodies that pull at each other strongly. The preconditioner of the GPU's linear solver inverts each as a
 * whole. Edges join clusters in the order of their strength, unless the result would be too large. Tested in
 * tests/test_cuda_cluster.c. */
#ifndef ABD_CUDA_CLUSTER_H
#define ABD_CUDA_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>

/* A strength that is not negative, as an integer in the same order. */
typedef struct ClusterEdge {
  uint32_t key;
  int a, b; /* bodies */
} ClusterEdge;

typedef struct Clusters {
  int bodies;
  int *parent;              /* by body: another one of its cluster, or itself: the cluster's first */
  int *size;                /* by first body */
  ClusterEdge *edge, *turn; /* `turn`: for sorting */
  int edge_count, edge_capacity, turn_capacity;
} Clusters;

bool clusters_open(Clusters *clusters, int bodies); /* a zeroed one; false if memory is out */
void clusters_close(Clusters *clusters);
/* Each body is a cluster; no edges. Or in parts: each body, by any thread, then the edges. */
void clusters_clear(Clusters *clusters);
static inline void clusters_clear_body(Clusters *clusters, int body) {
  clusters->parent[body] = body;
  clusters->size[body] = 1;
}
static inline void clusters_clear_edges(Clusters *clusters) { clusters->edge_count = 0; }
bool clusters_add(Clusters *clusters, int a, int b, float strength); /* false if memory is out */
/* Joins by the strongest edges first, of equal ones by the first that was added. Strengths are compared by the upper
 * half of their bits, 1 in 128. */
bool clusters_join(Clusters *clusters, int most);
int clusters_find(Clusters *clusters, int body); /* the first body of its cluster */

#endif
