/* A copy of a mesh, for tests that change one. */
#ifndef TESTS_MESH_COPY_H
#define TESTS_MESH_COPY_H

#include "scene/mesh_file.h"

/* Vertices and triangles; mesh_data_free frees it. */
static inline MeshData copy_mesh(const MeshData *m) {
  MeshData out = {0};
  for (size_t i = 0; i < m->vertex_count; i++)
    assert_true(mesh_add_vertex(&out, m->vertex[3 * i], m->vertex[3 * i + 1], m->vertex[3 * i + 2]));
  for (size_t t = 0; t < m->triangle_count; t++)
    assert_true(mesh_add_triangle(&out, m->triangle[3 * t], m->triangle[3 * t + 1], m->triangle[3 * t + 2]));
  return out;
}

#endif
