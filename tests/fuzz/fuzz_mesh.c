/* Any bytes as a mesh file: the first byte chooses the format, the rest is read or refused with a sentence. */
#include <math.h>
#include <stdlib.h>

#include "scene/mesh_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const extension[] = {"obj", "stl", "ply", "off"};
  MeshData mesh;
  SceneError error = {""};
  if (!size) return 0;
  bool ok = mesh_parse((const char *)data + 1, size - 1, extension[data[0] % 4], "mesh", &mesh, &error);
  if (!ok && (!error.text[0] || mesh.vertex)) abort();
  for (size_t i = 0; i < 3 * mesh.vertex_count; i++) {
    if (!isfinite(mesh.vertex[i])) abort();
  }
  for (size_t i = 0; i < 3 * mesh.triangle_count; i++) {
    if (mesh.triangle[i] >= mesh.vertex_count) abort();
  }
  for (size_t i = 0; i < 2 * mesh.edge_count; i++) {
    if (mesh.edge[i] >= mesh.vertex_count) abort();
  }
  mesh_data_free(&mesh);
  return 0;
}
