/* The connected pieces of a mesh. Tested in tests/test_query.c. */
#include "geom/build.h"

static int root_of(int *parent, int v) {
  while (parent[v] != v) v = parent[v] = parent[parent[v]];
  return v;
}

/* The smaller vertex is the root, so that a piece is represented by its first vertex. */
bool mesh_find_pieces(Mesh *mesh) {
  int *parent = mem_alloc((size_t)mesh->vertex_count, sizeof *parent), count = 0;
  if (!parent) return false;
  for (int v = 0; v < mesh->vertex_count; v++) parent[v] = v;
  for (int e = 0; e < mesh->edge_count; e++) {
    int a = root_of(parent, (int)mesh->edge[e][0]), b = root_of(parent, (int)mesh->edge[e][1]);
    parent[a > b ? a : b] = a > b ? b : a;
  }
  for (int v = 0; v < mesh->vertex_count; v++) count += parent[v] == v;
  mesh->piece = mem_alloc((size_t)count, sizeof *mesh->piece);
  for (int v = 0; mesh->piece && v < mesh->vertex_count; v++)
    if (parent[v] == v) mesh->piece[mesh->piece_count++] = v;
  mem_free(parent);
  return mesh->piece != NULL;
}
