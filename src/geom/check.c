/* Checks whether a mesh can be simulated. Every error names the mesh, the index and the value. Triangles without area
 * and edges without length are accepted. Tested in tests/test_mesh.c. */
#include <limits.h>

#include "geom/build.h"

/* Coordinates beyond this would overflow the products of the exact predicates and the float boxes of the tree. */
#define MAX_COORDINATE 1e30

static Vec3 def_vertex(const AbdMeshDef *def, uint32_t i) { return vec3_from(def->vertex + 3 * (size_t)i); }

static AbdStatus check_arrays(const AbdMeshDef *def, const char *name, AbdError *error) {
  const size_t limit = INT_MAX / 16;
  const struct {
    const char *what;
    const void *array;
    size_t count;
  } array[3] = {
      {"vertex", def->vertex, def->vertex_count},
      {"triangle", def->triangle, def->triangle_count},
      {"edge", def->edge, def->edge_count},
  };
  if (def->vertex_count == 0) return fault(error, ABD_ERROR_MESH, "mesh '%s' is empty: it has no vertices", name);
  for (int k = 0; k < 3; k++) {
    if (array[k].count > 0 && !array[k].array)
      return fault(error, ABD_ERROR_ARGUMENT, "mesh '%s': %s_count is %zu but the %s array is NULL", name,
                   array[k].what, array[k].count, array[k].what);
    if (array[k].count > limit)
      return fault(error, ABD_ERROR_ARGUMENT, "mesh '%s': %s_count is %zu, at most %zu is possible", name,
                   array[k].what, array[k].count, limit);
  }
  if (!(def->thickness >= 0) || !isfinite(def->thickness))
    return fault(error, ABD_ERROR_ARGUMENT, "mesh '%s': thickness is %g, expected a finite number >= 0", name,
                 def->thickness);
  if (def->half_space && def->triangle_count == 0)
    return fault(error, ABD_ERROR_MESH, "mesh '%s' is a half-space but has no triangle to give its plane", name);
  return ABD_OK;
}

static AbdStatus check_vertices(const AbdMeshDef *def, const char *name, AbdError *error) {
  for (size_t i = 0; i < def->vertex_count; i++) {
    Vec3 v = def_vertex(def, (uint32_t)i);
    if (!vec3_finite(v) || max_component(vec3_abs(v)) > MAX_COORDINATE)
      return fault(error, ABD_ERROR_ARGUMENT,
                   "mesh '%s': vertex %zu is (%g, %g, %g), expected finite coordinates below %g", name, i, v.x, v.y,
                   v.z, MAX_COORDINATE);
  }
  return ABD_OK;
}

static AbdStatus check_triangle(const AbdMeshDef *def, size_t t, const char *name, AbdError *error) {
  const uint32_t *i = def->triangle + 3 * t;
  for (int k = 0; k < 3; k++)
    if (i[k] >= def->vertex_count)
      return fault(error, ABD_ERROR_MESH,
                   "mesh '%s': triangle %zu (%u, %u, %u) has the vertex %u, but there are only %zu", name, t, i[0],
                   i[1], i[2], i[k], def->vertex_count);
  return ABD_OK;
}

/* The first triangle of a half-space defines its plane. */
static AbdStatus check_plane(const AbdMeshDef *def, const char *name, AbdError *error) {
  const uint32_t *i = def->triangle;
  Vec3 a = def_vertex(def, i[0]), b = def_vertex(def, i[1]), c = def_vertex(def, i[2]);
  double longest_sq = fmax(norm_sq(sub(b, a)), fmax(norm_sq(sub(c, b)), norm_sq(sub(a, c))));
  if (norm(cross(sub(b, a), sub(c, a))) > 1e-15 * longest_sq) return ABD_OK;
  return fault(error, ABD_ERROR_MESH,
               "mesh '%s' is a half-space, but its first triangle (%u, %u, %u) has no area and so no plane: "
               "(%g, %g, %g), (%g, %g, %g), (%g, %g, %g)",
               name, i[0], i[1], i[2], a.x, a.y, a.z, b.x, b.y, b.z, c.x, c.y, c.z);
}

static AbdStatus check_edge(const AbdMeshDef *def, size_t e, const char *name, AbdError *error) {
  const uint32_t *i = def->edge + 2 * e;
  for (int k = 0; k < 2; k++)
    if (i[k] >= def->vertex_count)
      return fault(error, ABD_ERROR_MESH, "mesh '%s': edge %zu (%u, %u) has the vertex %u, but there are only %zu",
                   name, e, i[0], i[1], i[k], def->vertex_count);
  return ABD_OK;
}

AbdStatus mesh_check_def(const AbdMeshDef *def, const char *name, AbdError *error) {
  AbdStatus status = check_arrays(def, name, error);
  if (status == ABD_OK) status = check_vertices(def, name, error);
  for (size_t t = 0; t < def->triangle_count && status == ABD_OK; t++) status = check_triangle(def, t, name, error);
  for (size_t e = 0; e < def->edge_count && status == ABD_OK; e++) status = check_edge(def, e, name, error);
  if (status == ABD_OK && def->half_space) status = check_plane(def, name, error);
  return status;
}
