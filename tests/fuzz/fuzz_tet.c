/* Any bytes as a tetrahedral mesh file: the first byte chooses the format, the rest is read or refused with a sentence;
 * what was read has a surface. */
#include <math.h>
#include <stdlib.h>

#include "scene/tet_mesh.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const extension[] = {"msh", "vtk", "mesh"};
  TetMesh mesh;
  SceneError error = {""};
  uint32_t(*surface)[3];
  size_t count, shared;
  if (!size) return 0;
  bool ok = tet_mesh_parse((const char *)data + 1, size - 1, extension[data[0] % 3], "mesh", &mesh, &error);
  if (!ok && (!error.text[0] || mesh.mesh.vertex || mesh.tet)) abort();
  for (size_t i = 0; i < 3 * mesh.mesh.vertex_count; i++)
    if (!isfinite(mesh.mesh.vertex[i])) abort();
  for (size_t i = 0; i < 3 * mesh.mesh.triangle_count; i++)
    if (mesh.mesh.triangle[i] >= mesh.mesh.vertex_count) abort();
  for (size_t i = 0; i < 4 * mesh.tet_count; i++)
    if (mesh.tet[i] >= mesh.mesh.vertex_count) abort();
  if (tet_mesh_surface(&mesh, &surface, &count, &shared)) free(surface);
  error.text[0] = 0;
  if (!tet_mesh_require_sound(&mesh, "mesh", &error) && !error.text[0]) abort();
  tet_mesh_free(&mesh);
  return 0;
}
