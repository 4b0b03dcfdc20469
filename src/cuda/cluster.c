/* See cluster.h. */
#include "cuda/cluster.h"

#include <string.h>

#include "base/base.h"
#include "base/disjoint.h"

bool clusters_open(Clusters *c, int bodies) {
  c->bodies = bodies;
  c->parent = mem_alloc((size_t)bodies, sizeof(int));
  c->size = mem_alloc((size_t)bodies, sizeof(int));
  return c->parent && c->size;
}

void clusters_close(Clusters *c) {
  void *array[] = {c->parent, c->size, c->edge, c->turn};
  for (int k = 0; k < 4; k++) mem_free(array[k]);
}

void clusters_clear(Clusters *c) {
  for (int i = 0; i < c->bodies; i++) clusters_clear_body(c, i);
  clusters_clear_edges(c);
}

bool clusters_add(Clusters *c, int a, int b, float strength) {
  if (!mem_reserve((void **)&c->edge, &c->edge_capacity, c->edge_count + 1, sizeof *c->edge)) return false;
  ClusterEdge *e = &c->edge[c->edge_count++];
  *e = (ClusterEdge){.a = a, .b = b};
  if (strength > 0) memcpy(&e->key, &strength, sizeof e->key);
  return true;
}

int clusters_find(Clusters *c, int body) { return disjoint_root(c->parent, body); }

/* Sorts by one byte of the keys, the largest first; equal ones stay in their order. */
static void sort_by_byte(const ClusterEdge *from, ClusterEdge *to, int count, int shift) {
  int place[256] = {0}, sum = 0;
  for (int k = 0; k < count; k++) place[from[k].key >> shift & 255]++;
  for (int v = 255; v >= 0; v--) {
    int own = place[v];
    place[v] = sum;
    sum += own;
  }
  for (int k = 0; k < count; k++) to[place[from[k].key >> shift & 255]++] = from[k];
}

bool clusters_join(Clusters *c, int most) {
  if (!mem_reserve((void **)&c->turn, &c->turn_capacity, c->edge_count, sizeof *c->turn)) return false;
  sort_by_byte(c->edge, c->turn, c->edge_count, 16);
  sort_by_byte(c->turn, c->edge, c->edge_count, 24);
  for (int k = 0; k < c->edge_count; k++) {
    int a = clusters_find(c, c->edge[k].a), b = clusters_find(c, c->edge[k].b);
    if (a == b || c->size[a] + c->size[b] > most) continue;
    int first = a < b ? a : b, other = a < b ? b : a;
    c->parent[other] = first;
    c->size[first] += c->size[other];
  }
  return true;
}
