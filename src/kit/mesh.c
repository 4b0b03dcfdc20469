/* See abd/mesh.h. Tested in tests/test_kit.c, tests/cli/look.sh, tests/cli/soft.sh. */
#include <abd/mesh.h>

#include <stdlib.h>

#include "kit/kit.h"
#include "scene/c_locale.h"
#include "scene/mesh_file.h"
#include "scene/mesh_fix.h"
#include "scene/tet_mesh.h"
#include "scene/topology.h"

static AbdStatus outcome(bool good, const SceneError *why, AbdError *error) {
  return good ? ABD_OK : fail_with(error, ABD_ERROR_SCENE, "%s", why->text);
}

bool abd_surface_known(const char *path) { return mesh_extension_known(path); }

AbdStatus abd_surface_load(const char *path, AbdSurface *surface, AbdError *error) {
  IN_C_LOCALE;
  SceneError why;
  return outcome(mesh_load(path, surface, &why), &why, error);
}

void abd_surface_free(AbdSurface *surface) { mesh_data_free(surface); }

AbdMeshDef abd_surface_def(const AbdSurface *surface, const char *name) {
  AbdMeshDef def = abd_default_mesh_def();
  def.name = name;
  def.vertex = surface->vertex, def.vertex_count = surface->vertex_count;
  def.triangle = surface->triangle, def.triangle_count = surface->triangle_count;
  def.edge = surface->edge, def.edge_count = surface->edge_count;
  return def;
}

AbdStatus abd_mesh_check(const AbdMeshDef *def, AbdFindings *findings) {
  MeshShape shape = {def->vertex, def->vertex_count, def->triangle, def->triangle_count};
  return topology_analyse(&shape, findings) ? ABD_OK : ABD_ERROR_MEMORY;
}

AbdStatus abd_surface_fix(AbdSurface *surface, AbdSurfaceFix *fix) {
  return mesh_fix(surface, fix) ? ABD_OK : ABD_ERROR_MEMORY;
}

AbdStatus abd_surface_write(const AbdSurface *surface, const char *path, AbdError *error) {
  IN_C_LOCALE;
  SceneError why;
  return mesh_write_obj(surface, path, &why) ? ABD_OK : fail_with(error, ABD_ERROR_DISK, "%s", why.text);
}

/* ---- Tetrahedra ---- */

bool abd_tets_known(const char *path) { return tet_extension_known(path); }

AbdStatus abd_tets_load(const char *path, AbdTets *tets, AbdError *error) {
  IN_C_LOCALE;
  SceneError why;
  return outcome(tet_mesh_load(path, tets, &why), &why, error);
}

void abd_tets_free(AbdTets *tets) { tet_mesh_free(tets); }
double abd_tets_volume(const AbdTets *tets, size_t tet) { return tet_mesh_volume(tets, tet); }

AbdStatus abd_tets_check(const AbdTets *tets, AbdTetFindings *findings) {
  uint32_t(*surface)[3];
  size_t count;
  *findings = (AbdTetFindings){.has_twins = false};
  findings->has_twins = tet_mesh_find_twins(tets, findings->twin);
  if (!tet_mesh_find_stray(tets, &findings->stray, &findings->first_stray) ||
      !tet_mesh_surface(tets, &surface, &count, &findings->shared))
    return ABD_ERROR_MEMORY;
  free(surface);
  return ABD_OK;
}

AbdStatus abd_tets_require_sound(const AbdTets *tets, const char *name, AbdError *error) {
  SceneError why;
  return outcome(tet_mesh_require_sound(tets, name, &why), &why, error);
}

AbdStatus abd_tets_skin(const AbdTets *tets, AbdSurface *skin) {
  uint32_t *node_of = NULL;
  bool good = tet_mesh_skin(tets, skin, &node_of);
  free(node_of);
  return good ? ABD_OK : ABD_ERROR_MEMORY;
}

AbdStatus abd_tets_write(const AbdTets *tets, const char *path, AbdError *error) {
  IN_C_LOCALE;
  SceneError why;
  return tet_mesh_write(tets, path, &why) ? ABD_OK : fail_with(error, ABD_ERROR_DISK, "%s", why.text);
}
