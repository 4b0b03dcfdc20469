/* Geometry written into a scene as JSON lists (inline_mesh.h). Tests: tests/test_scene.c. */
#include "scene/inline_mesh.h"

#include <stdlib.h>

static bool read_vertices(const Node *object, MeshData *out) {
  Node list;
  double x[3];
  if (!node_get(object, "vertices", &list)) return node_fail(object, "expected a key \"vertices\"");
  if (!node_is_array(&list)) return false;
  if (!node_size(&list)) return node_expected(&list, "at least one vertex");
  for (size_t i = 0; i < node_size(&list); i++) {
    Node item = node_item(&list, i);
    if (!node_vector(&item, x, 3)) return false;
    if (!mesh_add_vertex(out, x[0], x[1], x[2])) return node_fail(&item, "out of memory");
  }
  return true;
}

/* size = 3: triangles, 2: edges. */
static bool read_elements(const Node *object, const char *key, size_t size, MeshData *out) {
  Node list;
  if (!node_get(object, key, &list)) return true;
  if (!node_is_array(&list)) return false;
  for (size_t i = 0; i < node_size(&list); i++) {
    Node item = node_item(&list, i);
    uint32_t v[3];
    if (!json_is_array(item.value) || node_size(&item) != size) {
      return node_expected(&item, size == 3 ? "a list of 3 vertex indices" : "a list of 2 vertex indices");
    }
    for (size_t k = 0; k < size; k++) {
      Node corner = node_item(&item, k);
      int64_t index;
      if (!node_integer(&corner, 0, (int64_t)out->vertex_count - 1, &index)) return false;
      v[k] = (uint32_t)index;
    }
    bool ok = size == 3 ? mesh_add_triangle(out, v[0], v[1], v[2]) : mesh_add_edge(out, v[0], v[1]);
    if (!ok) return node_fail(&item, "out of memory");
  }
  return true;
}

bool inline_mesh_read(const Node *object, const char *triangle_key, MeshData *out) {
  *out = (MeshData){0};
  if (read_vertices(object, out) && read_elements(object, triangle_key, 3, out) &&
      read_elements(object, "edges", 2, out)) {
    return true;
  }
  mesh_data_free(out);
  return false;
}

bool inline_tets_read(const Node *object, size_t vertex_count, uint32_t **tet, size_t *count) {
  Node list;
  *tet = NULL, *count = 0;
  if (!node_get(object, "tets", &list)) return true;
  if (!node_is_array(&list)) return false;
  bool ok = (*tet = malloc((4 * node_size(&list) + 1) * sizeof **tet)) || node_fail(&list, "out of memory");
  for (size_t i = 0; ok && i < node_size(&list); i++, ++*count) {
    Node item = node_item(&list, i);
    ok = (json_is_array(item.value) && node_size(&item) == 4) || node_expected(&item, "a list of 4 vertex indices");
    for (size_t k = 0; ok && k < 4; k++) {
      Node corner = node_item(&item, k);
      int64_t index = 0;
      ok = node_integer(&corner, 0, (int64_t)vertex_count - 1, &index);
      (*tet)[4 * i + k] = (uint32_t)index;
    }
  }
  if (!ok) free(*tet), *tet = NULL;
  return ok;
}
