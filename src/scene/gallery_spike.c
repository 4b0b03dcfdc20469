/* Spiky, concave bodies rain on a field of spikes. Tests: tests/cli/gallery.sh. */
#include "scene/gallery_part.h"
#include "scene/rotation.h"
#include "scene/shape.h"

enum { BODIES, RESOLUTION, SEED };
static const GalleryKey spikes_key[] = {
    {"bodies", "that rain", 28, 1, 2000, true, NULL},
    {"resolution", "each more has four times the triangles; 5 gives 28 bodies and the field 1.2 million", 3, 2, 6, true,
     NULL},
    {"seed", "of the random poses", 1, 0, 1e9, true, NULL},
    {0},
};

static const double core = 0.14, tip = 0.3, field_size = 2.4, field_spike = 0.16;

/* A ball with a spike at each corner of the icosahedron it is divided from: 0.14 m, 0.3 m at the tips. */
static bool urchin_mesh(int subdivisions, MeshData *out) {
  MeshData corner;
  if (!shape_sphere(1, 0, &corner)) return false;
  bool ok = shape_sphere(1, subdivisions, out);
  for (size_t i = 0; ok && i < out->vertex_count; i++) {
    double *x = out->vertex + 3 * i, nearest = 2;
    for (size_t c = 0; c < corner.vertex_count; c++) {
      const double *y = corner.vertex + 3 * c;
      nearest = fmin(nearest, hypot(hypot(x[0] - y[0], x[1] - y[1]), x[2] - y[2]));
    }
    double rise = fmax(0, 1 - nearest / 0.5), r = core + (tip - core) * rise * rise;
    for (int c = 0; c < 3; c++) x[c] *= r;
  }
  mesh_data_free(&corner);
  return ok;
}

/* Height of the field: a shallow bowl with spikes, one to each cell of a lattice of 12 x 12. */
static double field_height(double x, double y) {
  double cell = field_size / 12, px = x / cell - floor(x / cell) - 0.5, py = y / cell - floor(y / cell) - 0.5;
  double rise = fmax(0, 1 - hypot(px, py) / 0.5), out = hypot(x, y) / (field_size / 2);
  return field_spike * rise * rise + 0.18 * out * out;
}

/* The vertex of a grid of cells x cells at place k of its rim, counter-clockwise from above. */
static uint32_t rim_vertex(uint32_t cells, uint32_t k) {
  uint32_t side = k / cells % 4, i = k % cells, row = cells + 1;
  const uint32_t vertex[4] = {i, i * row + cells, cells * row + cells - i, (cells - i) * row};
  return vertex[side];
}

/* A closed block: the field on a grid on top, straight sides, flat below. */
static bool field_mesh(int cells, MeshData *out) {
  const double size[2] = {field_size, field_size};
  const int n[2] = {cells, cells};
  const uint32_t side = (uint32_t)cells, rim = 4 * side;
  if (!shape_grid(size, n, out)) return false;
  bool ok = true;
  uint32_t base = (uint32_t)out->vertex_count;
  for (uint32_t i = 0; i < base; i++) out->vertex[3 * i + 2] = field_height(out->vertex[3 * i], out->vertex[3 * i + 1]);
  for (uint32_t k = 0; ok && k < rim; k++) {
    const double *above = out->vertex + 3 * rim_vertex(side, k);
    ok = mesh_add_vertex(out, above[0], above[1], -0.2);
  }
  ok = ok && mesh_add_vertex(out, 0, 0, -0.2);
  for (uint32_t k = 0; ok && k < rim; k++) {
    uint32_t top = rim_vertex(side, k), low = base + k, low_next = base + (k + 1) % rim;
    ok = mesh_add_triangle(out, top, low, low_next) && mesh_add_triangle(out, top, low_next, rim_vertex(side, k + 1)) &&
         mesh_add_triangle(out, base + rim, low_next, low);
  }
  return ok;
}

static void make_spikes(GalleryWriter *w, const double *v) {
  int resolution = (int)v[RESOLUTION], count = (int)v[BODIES];
  Dice d = {(uint64_t)v[SEED] + 12345};
  MeshData mesh;
  writer_settings(w, 0.01, 3, 1e-3, 0.3);
  writer_section(w, "meshes");
  bool made = urchin_mesh(resolution, &mesh);
  writer_mesh(w, "urchin", made, &mesh);
  made = field_mesh((int)(17.5 * (1 << resolution)) / 4 * 4, &mesh);
  writer_mesh(w, "field", made, &mesh);
  writer_section(w, "bodies");
  writer_item(w, "{ \"name\": \"field\", \"mesh\": \"field\", \"motion\": \"static\", \"color\": \"#6b705c\" }");
  for (int k = 0; k < count; k++) { /* 3 x 3 to a layer, each in a cell that holds it however it is turned */
    double cell = 2 * tip + 0.02, x = (k % 3 - 1) * cell, y = (k / 3 % 3 - 1) * cell, z = 0.75 + tip + k / 9 * cell,
           q[4];
    double euler[3] = {360 * dice(&d), 360 * dice(&d), 360 * dice(&d)};
    char color[8];
    gallery_gradient(dice(&d), color);
    quat_from_euler_degrees(euler, q);
    writer_item(w,
                "{ \"name\": \"urchin %d\", \"mesh\": \"urchin\", \"color\": \"%s\", \"position\": [%.9g, %.9g, %.9g], "
                "\"quaternion\": [%.12g, %.12g, %.12g, %.12g] }",
                k + 1, color, x, y, z, q[0], q[1], q[2], q[3]);
  }
}

const GalleryScene gallery_spikes = {"spikes", "spiky concave bodies rain on a field of spikes", spikes_key,
                                     make_spikes};
