/* The meshes of all bodies on the GPU, in arrays of all of them. Tested in tests/test_cuda_serial.c. */
#include "cuda/accelerator.h"

typedef struct MeshPlace {
  size_t vertex, edge, triangle;
} MeshPlace;

bool cuda_send_meshes(Cuda *c) {
  const Model *m = c->model;
  MeshPlace all = {0};
  for (int k = 0; k < m->mesh_count; k++) {
    all.vertex += (size_t)m->mesh[k].vertex_count;
    all.edge += (size_t)m->mesh[k].edge_count;
    all.triangle += (size_t)m->mesh[k].triangle_count;
  }
  SideShape *shape = mem_alloc((size_t)m->mesh_count, sizeof *shape);
  bool ok = shape && device_reserve(&c->vertex, (all.vertex + 1) * sizeof(Vec3)) &&
            device_reserve(&c->edge, (all.edge + 1) * sizeof(uint32_t[2])) &&
            device_reserve(&c->triangle, (all.triangle + 1) * sizeof(uint32_t[3])) &&
            device_reserve(&c->flat, all.edge + 1) && device_reserve(&c->sharp, (all.vertex + 1) * sizeof(float)) &&
            device_reserve(&c->shape, (size_t)m->mesh_count * sizeof *shape);
  Vec3 *vertex = c->vertex.at;
  uint32_t(*edge)[2] = c->edge.at, (*triangle)[3] = c->triangle.at;
  unsigned char *flat = c->flat.at;
  float *sharp = c->sharp.at;
  for (int k = 0; ok && k < m->mesh_count; k++) {
    const Mesh *mesh = &m->mesh[k];
    shape[k] = (SideShape){vertex, NULL, vertex, edge, triangle, mesh->radius, flat, sharp};
    ok = device_upload(vertex, mesh->vertex, (size_t)mesh->vertex_count * sizeof(Vec3)) &&
         device_upload(edge, mesh->edge, (size_t)mesh->edge_count * sizeof *edge) &&
         device_upload(flat, mesh->flat_edge, (size_t)mesh->edge_count) &&
         device_upload(sharp, mesh->sharp_edge, (size_t)mesh->vertex_count * sizeof *sharp) &&
         device_upload(triangle, mesh->triangle, (size_t)mesh->triangle_count * sizeof *triangle);
    vertex += mesh->vertex_count;
    edge += mesh->edge_count;
    flat += mesh->edge_count;
    sharp += mesh->vertex_count;
    triangle += mesh->triangle_count;
  }
  ok = ok && device_upload(c->shape.at, shape, (size_t)m->mesh_count * sizeof *shape) && device_wait() &&
       search_open(c, shape);
  mem_free(shape);
  return ok;
}
