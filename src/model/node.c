/* Arrays over nodes, see model/node.h. */
#include "model/node.h"

#include "model/model.h"

bool nodes_init(Nodes *n, const Model *m) {
  n->body = mem_zeroed((size_t)m->body_count, sizeof(Affine));
  n->vertex = mem_zeroed((size_t)model_vertex_count(m), sizeof(Vec3));
  return n->body && n->vertex;
}

void nodes_destroy(Nodes *n) {
  mem_free(n->body);
  mem_free(n->vertex);
  *n = (Nodes){NULL, NULL};
}
