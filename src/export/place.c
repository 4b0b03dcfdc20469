/* See place.h. */
#include "export/place.h"

#include "export/out_file.h"
#include "export/pose.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- From primitives to triangles ---- */

static bool has_corner(const uint32_t *t, uint32_t v) { return t[0] == v || t[1] == v || t[2] == v; }

static uint32_t triangle_with(const AbdMeshView *mesh, uint32_t u, uint32_t v) {
  for (size_t t = 0; t < mesh->triangle_count; t++)
    if (has_corner(mesh->triangle + 3 * t, u) && has_corner(mesh->triangle + 3 * t, v)) return (uint32_t)t;
  return UINT32_MAX;
}

static bool body_mesh(const AbdWorld *world, AbdBodyId id, AbdMeshView *mesh) {
  AbdBodyView body;
  return abd_body_view(world, id, &body) == ABD_OK && abd_mesh_view(world, body.mesh, mesh) == ABD_OK;
}

/* The vertices of a soft body's mesh are world coordinates. */
static bool body_pose(const AbdWorld *world, AbdBodyId id, double nodes[12]) {
  static const double identity[12] = {[3] = 1, [7] = 1, [11] = 1};
  if (!abd_body_is_soft(world, id)) return abd_body_nodes(world, id, nodes) == ABD_OK;
  memcpy(nodes, identity, sizeof identity);
  return true;
}

/* side 0 is a: a vertex if kind is 0, a triangle if it is 1, an edge if it is 2. */
static uint32_t contact_triangle(const AbdWorld *world, const AbdContact *c, int side) {
  AbdMeshView mesh;
  uint32_t primitive = side ? c->primitive_b : c->primitive_a;
  if (!body_mesh(world, side ? c->body_b : c->body_a, &mesh)) return UINT32_MAX;
  if (c->kind == 2 && primitive < mesh.edge_count)
    return triangle_with(&mesh, mesh.edge[2 * primitive], mesh.edge[2 * primitive + 1]);
  bool vertex = c->kind == side;
  AbdSoftView soft;
  if (vertex && abd_soft_view(world, side ? c->body_b : c->body_a, &soft) ==
                    ABD_OK) /* its vertices are those of the whole body */
    mesh.triangle = soft.triangle, mesh.triangle_count = soft.triangle_count;
  return vertex ? triangle_with(&mesh, primitive, primitive) : primitive;
}

/* A ball around the place, a few times as large as the triangles. */
static double place_radius(const AbdWorld *world, const Place *place) {
  double radius = 0;
  for (int side = 0; side < 2; side++) {
    AbdMeshView mesh;
    double nodes[12], size = 0;
    if (!place->body[side].id || !body_mesh(world, place->body[side], &mesh) || mesh.half_space) continue;
    if (!body_pose(world, place->body[side], nodes)) continue;
    uint32_t t = place->triangle[side];
    for (size_t k = 0; k < (t == UINT32_MAX ? mesh.vertex_count : 3); k++) {
      double x[3];
      pose_point(nodes, mesh.vertex + 3 * (t == UINT32_MAX ? k : mesh.triangle[3 * t + k]), x);
      size = fmax(
          size, sqrt(pow(x[0] - place->point[0], 2) + pow(x[1] - place->point[1], 2) + pow(x[2] - place->point[2], 2)));
    }
    radius = radius == 0 ? size : fmin(radius, size);
  }
  return radius > 0 ? 1.5 * radius : 1;
}

/* ---- Finding it ---- */

static bool joins(const AbdContact *c, AbdBodyId a, AbdBodyId b) {
  return (c->body_a.id == a.id && (!b.id || c->body_b.id == b.id)) ||
         (c->body_b.id == a.id && (!b.id || c->body_a.id == b.id));
}

/* The nearest contact; the force of all contacts of its two bodies. */
static bool nearest_contact(const AbdWorld *world, AbdBodyId a, AbdBodyId b, Place *place) {
  size_t count = abd_world_contacts(world, NULL, 0), best = SIZE_MAX;
  AbdContact *contact = malloc((count + 1) * sizeof *contact);
  if (!contact) return false;
  count = abd_world_contacts(world, contact, count);
  for (size_t k = 0; k < count; k++)
    if (joins(&contact[k], a, b) && (best == SIZE_MAX || contact[k].distance < contact[best].distance)) best = k;
  if (best != SIZE_MAX) {
    const AbdContact *c = &contact[best];
    double force[3] = {0, 0, 0};
    for (size_t k = 0; k < count; k++)
      for (int i = 0; i < 3 && contact[k].body_a.id == c->body_a.id && contact[k].body_b.id == c->body_b.id; i++)
        force[i] += contact[k].normal_force * contact[k].normal[i] + contact[k].friction_force[i];
    *place = (Place){.body = {c->body_a, c->body_b},
                     .triangle = {contact_triangle(world, c, 0), contact_triangle(world, c, 1)},
                     .distance = c->distance,
                     .force = sqrt(force[0] * force[0] + force[1] * force[1] + force[2] * force[2])};
    memcpy(place->point, c->point, sizeof place->point);
  }
  free(contact);
  return best != SIZE_MAX;
}

bool place_of_pair(const AbdWorld *world, AbdBodyId a, AbdBodyId b, Place *place) {
  double nodes[12];
  AbdMeshView mesh;
  if (!a.id || !body_pose(world, a, nodes)) return false;
  if (abd_body_is_soft(world, a) && body_mesh(world, a, &mesh)) memcpy(nodes, mesh.vertex, sizeof place->point);
  if (!nearest_contact(world, a, b, place)) {
    *place = (Place){.body = {a, b}, .triangle = {UINT32_MAX, UINT32_MAX}, .distance = NAN, .force = NAN};
    memcpy(place->point, nodes, sizeof place->point);
  }
  place->radius = place_radius(world, place);
  return true;
}

void place_of_crossing(const AbdWorld *world, const AbdCrossing *c, Place *place) {
  *place =
      (Place){.body = {c->body_a, c->body_b}, .triangle = {c->triangle_a, c->triangle_b}, .distance = -1, .force = NAN};
  memcpy(place->point, c->point, sizeof place->point);
  place->radius = place_radius(world, place);
}

/* ---- The mesh ---- */

typedef struct Near {
  double distance;
  uint32_t triangle;
} Near;

static int compare_near(const void *a, const void *b) {
  const Near *x = a, *y = b;
  if (x->distance != y->distance) return x->distance < y->distance ? -1 : 1;
  return (x->triangle > y->triangle) - (x->triangle < y->triangle);
}

/* Distance from the point to the triangle's box: 0 inside. */
static double box_distance(const AbdMeshView *mesh, const double nodes[12], size_t t, const double point[3]) {
  double lo[3] = {INFINITY, INFINITY, INFINITY}, hi[3] = {-INFINITY, -INFINITY, -INFINITY}, sum = 0;
  for (size_t k = 0; k < 3; k++) {
    double x[3];
    pose_point(nodes, mesh->vertex + 3 * mesh->triangle[3 * t + k], x);
    for (int i = 0; i < 3; i++) lo[i] = fmin(lo[i], x[i]), hi[i] = fmax(hi[i], x[i]);
  }
  for (int i = 0; i < 3; i++) {
    double out = fmax(fmax(lo[i] - point[i], point[i] - hi[i]), 0);
    sum += out * out;
  }
  return sum;
}

static bool write_body(FILE *file, const AbdWorld *world, const Place *place, int side, size_t *base) {
  enum { MOST_TRIANGLES = 200 };
  AbdMeshView mesh;
  AbdBodyView body;
  double nodes[12];
  if (!place->body[side].id || !body_mesh(world, place->body[side], &mesh) ||
      abd_body_view(world, place->body[side], &body) != ABD_OK || !body_pose(world, place->body[side], nodes))
    return true;
  Near *near = malloc((mesh.triangle_count + 1) * sizeof *near);
  if (!near) return false;
  for (size_t t = 0; t < mesh.triangle_count; t++)
    near[t] = (Near){box_distance(&mesh, nodes, t, place->point), (uint32_t)t};
  qsort(near, mesh.triangle_count, sizeof *near, compare_near);
  size_t count = mesh.triangle_count < MOST_TRIANGLES ? mesh.triangle_count : MOST_TRIANGLES;
  out_obj_name(file, body.name ? body.name : "?");
  for (size_t k = 0; k < count; k++) {
    const uint32_t *t = mesh.triangle + 3 * near[k].triangle;
    fprintf(file, "# triangle %u\n", near[k].triangle);
    for (int i = 0; i < 3; i++) {
      double x[3];
      pose_point(nodes, mesh.vertex + 3 * t[i], x);
      fprintf(file, "v %.17g %.17g %.17g\n", x[0], x[1], x[2]);
    }
    fprintf(file, "f %zu %zu %zu\n", *base, *base + 1, *base + 2);
    *base += 3;
  }
  free(near);
  return true;
}

bool export_place_obj(const AbdWorld *world, const Place *place, const char *about, const char *path,
                      ExportError *error) {
  OutFile out;
  size_t base = 1;
  if (!out_open(&out, path, error)) return false;
  fprintf(out.file, "# %s\n# the place: %.17g %.17g %.17g\n", about, place->point[0], place->point[1], place->point[2]);
  bool good = write_body(out.file, world, place, 0, &base) && write_body(out.file, world, place, 1, &base);
  return out_close(&out, good, error);
}
