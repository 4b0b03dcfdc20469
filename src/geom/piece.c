/* The connected pieces of a mesh. Tested in tests/test_query.c. */
#include "base/disjoint.h"
#include "geom/build.h"

/* A piece is represented by its first vertex. */
bool mesh_find_pieces(Mesh *mesh) {
  int *parent = mem_alloc((size_t)mesh->vertex_count, sizeof *parent), count = 0;
  if (!parent) return false;
  for (int v = 0; v < mesh->vertex_count; v++) parent[v] = v;
  for (int e = 0; e < mesh->edge_count; e++) disjoint_join(parent, (int)mesh->edge[e][0], (int)mesh->edge[e][1]);
  for (int v = 0; v < mesh->vertex_count; v++) count += parent[v] == v;
  mesh->piece = mem_alloc((size_t)count, sizeof *mesh->piece);
  for (int v = 0; mesh->piece && v < mesh->vertex_count; v++)
    if (parent[v] == v) mesh->piece[mesh->piece_count++] = v;
  mem_free(parent);
  return mesh->piece != NULL;
}
