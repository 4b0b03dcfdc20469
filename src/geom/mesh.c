/* Makes the solver's mesh from a def: check, copy, find edges, orient outward, centre, compute the mass, build the
 * tree. Volume and moments are computed from the final rest coordinates alone, so that a mesh created again with
 * keep_frame has the same mass to the last bit. Tested in tests/test_mesh.c. */
#include "geom/mesh.h"

#include <string.h>

#include "geom/build.h"
#include "geom/inside.h"
#include "math/eigen.h"

void points_bounds(const Vec3 *x, int count, Box *box, double *radius) {
  double farthest_sq = 0;
  *box = box_empty();
  for (int i = 0; i < count; i++) {
    *box = box_add(*box, x[i]);
    farthest_sq = fmax(farthest_sq, norm_sq(x[i]));
  }
  *radius = sqrt(farthest_sq);
}

static void set_bounds(Mesh *mesh) { points_bounds(mesh->vertex, mesh->vertex_count, &mesh->box, &mesh->radius); }

static bool copy_arrays(Mesh *mesh, const AbdMeshDef *def) {
  mesh->vertex_count = (int)def->vertex_count;
  mesh->triangle_count = (int)def->triangle_count;
  mesh->half_space = def->half_space;
  mesh->vertex = mem_alloc(def->vertex_count, sizeof *mesh->vertex);
  mesh->triangle = mem_alloc(def->triangle_count, sizeof *mesh->triangle);
  mesh->name = mem_string(def->name);
  if (!mesh->vertex || !mesh->triangle || !mesh->name) return false;
  for (int i = 0; i < mesh->vertex_count; i++) mesh->vertex[i] = vec3_from(def->vertex + 3 * (size_t)i);
  if (def->triangle_count) memcpy(mesh->triangle, def->triangle, def->triangle_count * sizeof *mesh->triangle);
  set_bounds(mesh);
  return true;
}

/* The columns of v, ordered and signed so that the right-handed rotation is nearest to the identity. */
static Mat3 nearest_to_identity(Mat3 v) {
  static const int order[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {2, 1, 0}, {1, 0, 2}};
  Mat3 best = v;
  double best_trace = -1;
  for (int o = 0; o < 6; o++) {
    Mat3 m;
    double trace = 0, smallest = 2;
    int weakest = 0;
    for (int k = 0; k < 3; k++) {
      double diagonal = component(v.c[order[o][k]], k);
      m.c[k] = diagonal < 0 ? neg(v.c[order[o][k]]) : v.c[order[o][k]];
      trace += fabs(diagonal);
      if (fabs(diagonal) < smallest) {
        smallest = fabs(diagonal);
        weakest = k;
      }
    }
    if (mat3_det(m) < 0) {
      m.c[weakest] = neg(m.c[weakest]);
      trace -= 2 * smallest;
    }
    if (trace > best_trace) {
      best_trace = trace;
      best = m;
    }
  }
  return best;
}

/* Principal axes; the file's own axes if they are principal to the six digits of a text file. Otherwise the last digit
 * would turn a round or square body by an arbitrary angle, and its boxes would no longer be aligned. This neglects
 * products of inertia of at most 1e-7 of the moments. */
Mat3 mesh_principal_axes(Mat3 second) {
  double trace = second.c[0].x + second.c[1].y + second.c[2].z, value[3];
  double mixed = max_component(vec3_abs(vec3(second.c[0].y, second.c[0].z, second.c[1].z)));
  Mat3 v;
  if (mixed <= 1e-7 * trace) return mat3_identity();
  eigen3(second, value, &v);
  return nearest_to_identity(v);
}

/* The centre of mass is computed twice, the second time about the first result, because far from the file's origin the
 * first one has rounding errors. */
static void center_mesh(Mesh *mesh, const Inside *inside, double thickness) {
  Vec3 center = box_center(mesh->box);
  Moments m;
  for (int pass = 0; pass < 2; pass++) {
    m = inside_moments(inside, mesh, thickness, center);
    if (m.volume > 0) center = add_scaled(center, 1.0 / m.volume, m.first);
  }
  mesh->origin = center;
  mesh->axes = mesh_principal_axes(inside_moments(inside, mesh, thickness, center).second);
  for (int i = 0; i < mesh->vertex_count; i++)
    mesh->vertex[i] = mat3_tmul_vec(mesh->axes, sub(mesh->vertex[i], center));
  set_bounds(mesh);
}

/* Moves the mesh to its centre of mass and principal axes. False if memory runs out. */
static bool find_frame(Mesh *mesh, double thickness) {
  Inside inside;
  bool ok = inside_find(&inside, mesh, thickness);
  if (ok) center_mesh(mesh, &inside, thickness);
  inside_destroy(&inside);
  return ok;
}

/* The mass from the present coordinates alone. False if memory runs out. */
static bool find_mass(Mesh *mesh, double thickness) {
  Inside inside;
  bool ok = inside_find(&inside, mesh, thickness);
  mesh->source = inside.source;
  mesh->plain_volume = inside.plain_volume;
  if (ok) mesh_set_mass(mesh, thickness, inside_moments(&inside, mesh, thickness, vec3(0, 0, 0)));
  inside_destroy(&inside);
  return ok;
}

AbdStatus mesh_init(Mesh *mesh, const AbdMeshDef *def, AbdError *error) {
  const char *name = def->name ? def->name : "";
  bool watertight = false;
  memset(mesh, 0, sizeof *mesh);
  AbdStatus status = mesh_check_def(def, name, error);
  if (status != ABD_OK) return status;
  if (!copy_arrays(mesh, def) || !mesh_build_elements(mesh, def, &watertight)) goto out_of_memory;
  mesh->axes = mat3_identity();
  mesh_orient(mesh, watertight);
  bool hollow = watertight && mesh->triangle_count >= 4 && !mesh->closed && !def->half_space;
  if (hollow && def->thickness == 0 && !def->keep_frame) {
    mesh_destroy(mesh);
    return fault(error, ABD_ERROR_MESH,
                 "mesh '%s': its %zu triangles close on themselves but enclose no volume; give it a thickness, "
                 "or remove one of the sheets that lie on each other",
                 name, def->triangle_count);
  }
  if (!def->keep_frame && !def->half_space && !find_frame(mesh, def->thickness)) goto out_of_memory;
  if (!find_mass(mesh, def->thickness) || !mesh_build_tree(mesh) || !mesh_find_pieces(mesh) || !mesh_find_sharp(mesh))
    goto out_of_memory;
  return ABD_OK;
out_of_memory:
  mesh_destroy(mesh);
  return fault(error, ABD_ERROR_MEMORY, "mesh '%s': out of memory for %zu vertices and %zu triangles", name,
               def->vertex_count, def->triangle_count);
}

AbdStatus mesh_reframe(Mesh *mesh, const Mesh *source, Vec3 origin, Mat3 axes, AbdError *error) {
  Vec3 *vertex = mem_alloc((size_t)source->vertex_count, sizeof *vertex);
  if (!vertex)
    return fault(error, ABD_ERROR_MEMORY, "mesh '%s': out of memory for %d vertices", source->name,
                 source->vertex_count);
  for (int i = 0; i < source->vertex_count; i++) {
    Vec3 file = add(source->origin, mat3_mul_vec(source->axes, source->vertex[i]));
    vertex[i] = mat3_tmul_vec(axes, sub(file, origin));
  }
  AbdMeshDef def = {.name = source->name,
                    .vertex = &vertex[0].x,
                    .vertex_count = (size_t)source->vertex_count,
                    .triangle = source->triangle_count ? &source->triangle[0][0] : NULL,
                    .triangle_count = (size_t)source->triangle_count,
                    .edge = source->edge_count ? &source->edge[0][0] : NULL,
                    .edge_count = (size_t)source->edge_count,
                    .thickness = source->thickness,
                    .half_space = source->half_space,
                    .keep_frame = true};
  AbdStatus status = mesh_init(mesh, &def, error);
  mem_free(vertex);
  if (status != ABD_OK) return status;
  mesh->origin = origin;
  mesh->axes = axes;
  return ABD_OK;
}

int mesh_edge_seen(const Mesh *mesh, int edge) {
  if (edge < mesh->edge_count - mesh->wire_vertex_count) return edge;
  uint32_t v = mesh->edge[edge][0];
  int first = 0;
  while (mesh->edge[first][0] != v && mesh->edge[first][1] != v) first++;
  return first;
}

void mesh_destroy(Mesh *mesh) {
  mem_free(mesh->name);
  mem_free(mesh->vertex);
  mem_free(mesh->edge);
  mem_free(mesh->triangle);
  mem_free(mesh->element);
  mem_free(mesh->node);
  mem_free(mesh->fan);
  mem_free(mesh->piece);
  mem_free(mesh->flat_edge);
  mem_free(mesh->short_edge);
  mem_free(mesh->sharp_edge);
  memset(mesh, 0, sizeof *mesh);
}
