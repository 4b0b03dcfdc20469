/* Built-in soft shapes (soft_shape.h). Boxes are lattices (tet_lattice.h); a ball's sectors use the same division,
 * along paths from corner to corner. Tests: tests/test_soft_shape.c. */
#include "scene/soft_shape.h"

#include <math.h>

#include "scene/shape.h"
#include "scene/tet_lattice.h"
#include "scene/vertex_merge.h"

static bool finish(bool ok, TetMesh *out) {
  if (!ok) tet_mesh_free(out);
  return ok;
}

typedef struct Box {
  double size[3];
  int cells[3];
} Box;

static void box_point(const void *form, const int at[3], double x[3]) {
  const Box *box = form;
  for (int k = 0; k < 3; k++) x[k] = box->size[k] * ((double)at[k] / box->cells[k] - 0.5);
}

bool soft_shape_box(const double size[3], const int cells[3], TetMesh *out) {
  Box box = {{size[0], size[1], size[2]}, {cells[0], cells[1], cells[2]}};
  TetLattice lattice = {.cells = {cells[0], cells[1], cells[2]}, .point = box_point, .form = &box};
  *out = (TetMesh){0};
  return finish(tet_lattice_add(&lattice, out), out);
}

bool soft_shape_beam(const double size[3], int across, TetMesh *out) {
  double edge = fmin(size[0], fmin(size[1], size[2])) / across;
  int cells[3];
  for (int k = 0; k < 3; k++) cells[k] = (int)fmax(1, round(size[k] / edge));
  return soft_shape_box(size, cells, out);
}

/* Point (x >= y >= z) of a sector: corners weighted by x - y, y - z, z, projected to the sphere of shell x.
 * Neighbouring sectors compute the same bits for equal points, because corners are sorted by number and every
 * rounding is explicit. */
static bool sphere_point(double radius, int shells, const double *corner[3], const int p[3], VertexMerge *merge,
                         TetMesh *out, uint32_t *index) {
  double x[3], length = 0;
  for (int k = 0; k < 3; k++) {
    x[k] = fma(p[2], corner[2][k], fma(p[1] - p[2], corner[1][k], (p[0] - p[1]) * corner[0][k]));
    length = fma(x[k], x[k], length);
  }
  double scale = p[0] ? radius * p[0] / shells / sqrt(length) : 0;
  for (int k = 0; k < 3; k++) x[k] *= scale;
  return vertex_merge_add(merge, &out->mesh, x, index);
}

/* The cell at (i, j, k) of a sector: the tetrahedra of its six that lie in x >= y >= z. */
static bool add_sector_cell(double radius, int shells, const double *corner[3], const int cell[3], VertexMerge *merge,
                            TetMesh *out) {
  for (int p = 0; p < 6; p++) {
    int at[4][3] = {{cell[0], cell[1], cell[2]}};
    bool inside = true, ok = true;
    for (int s = 0; s < 3; s++) {
      for (int k = 0; k < 3; k++) at[s + 1][k] = at[s][k] + (k == tet_path[p][s]);
      inside &= at[s + 1][0] >= at[s + 1][1] && at[s + 1][1] >= at[s + 1][2];
    }
    if (!inside) continue;
    uint32_t index[4] = {0};
    for (int s = 0; ok && s < 4; s++) ok = sphere_point(radius, shells, corner, at[s], merge, out, &index[s]);
    if (!ok || !tet_lattice_turned(out, index)) return false;
  }
  return true;
}

static void sort_three(uint32_t c[3]) {
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 2; j++)
      if (c[j] > c[j + 1]) {
        uint32_t swap = c[j];
        c[j] = c[j + 1];
        c[j + 1] = swap;
      }
}

bool soft_shape_sphere(double radius, int shells, TetMesh *out) {
  MeshData ico;
  VertexMerge merge = {0};
  *out = (TetMesh){0};
  bool ok = shape_sphere(1, 0, &ico);
  for (size_t t = 0; ok && t < ico.triangle_count; t++) {
    uint32_t c[3] = {ico.triangle[3 * t], ico.triangle[3 * t + 1], ico.triangle[3 * t + 2]};
    sort_three(c);
    const double *corner[3] = {ico.vertex + 3 * c[0], ico.vertex + 3 * c[1], ico.vertex + 3 * c[2]};
    for (int i = 0; ok && i < shells; i++)
      for (int j = 0; ok && j <= i; j++)
        for (int k = 0; ok && k <= j; k++)
          ok = add_sector_cell(radius, shells, corner, (const int[3]){i, j, k}, &merge, out);
  }
  vertex_merge_free(&merge);
  mesh_data_free(&ico);
  return finish(ok, out);
}

/* A prism between two layers as three tetrahedra, its corners sorted by number. Quads are cut from their lower
 * corner, so that both sides of a quad agree. */
static bool add_prism(TetMesh *m, uint32_t a, uint32_t b, uint32_t c, uint32_t up) {
  uint32_t s[3] = {a, b, c};
  sort_three(s);
  const uint32_t first[4] = {s[0], s[1], s[2], s[2] + up}, second[4] = {s[0], s[1], s[1] + up, s[2] + up},
                 third[4] = {s[0], s[0] + up, s[1] + up, s[2] + up};
  return tet_lattice_turned(m, first) && tet_lattice_turned(m, second) && tet_lattice_turned(m, third);
}

static uint32_t ring_point(uint32_t ring, uint32_t place) {
  return ring ? 1 + 3 * ring * (ring - 1) + place % (6 * ring) : 0;
}

/* The triangles between ring k - 1 and ring k, six sectors of them, each carried up through one layer. */
static bool add_ring(TetMesh *m, uint32_t ring, uint32_t first, uint32_t up) {
  bool ok = true;
  for (uint32_t s = 0; ok && s < 6; s++)
    for (uint32_t i = 0; ok && i < ring; i++) {
      uint32_t outer = first + ring_point(ring, s * ring + i), next = first + ring_point(ring, s * ring + i + 1);
      uint32_t inner = first + ring_point(ring - 1, s * (ring - 1) + i);
      ok = add_prism(m, outer, next, inner, up);
      if (ok && i + 1 < ring) ok = add_prism(m, inner, next, first + ring_point(ring - 1, s * (ring - 1) + i + 1), up);
    }
  return ok;
}

bool soft_shape_cylinder(double radius, double height, int rings, int layers, TetMesh *out) {
  const double pi = 3.14159265358979323846;
  uint32_t up = 1 + 3 * (uint32_t)rings * ((uint32_t)rings + 1);
  bool ok = true;
  *out = (TetMesh){0};
  for (int l = 0; ok && l <= layers; l++) {
    double z = height * ((double)l / layers - 0.5);
    ok = mesh_add_vertex(&out->mesh, 0, 0, z);
    for (int k = 1; ok && k <= rings; k++)
      for (int j = 0; ok && j < 6 * k; j++) {
        double angle = 2 * pi * j / (6 * k), r = radius * k / rings;
        ok = mesh_add_vertex(&out->mesh, r * cos(angle), r * sin(angle), z);
      }
  }
  for (uint32_t l = 0; ok && l < (uint32_t)layers; l++)
    for (uint32_t k = 1; ok && k <= (uint32_t)rings; k++) ok = add_ring(out, k, l * up, up);
  return finish(ok, out);
}

bool soft_shape_sheet(const double size[2], const int cells[2], TetMesh *out) {
  *out = (TetMesh){0};
  return shape_grid(size, cells, &out->mesh);
}

bool soft_shape_rod(double height, int pieces, TetMesh *out) {
  bool ok = true;
  *out = (TetMesh){0};
  for (int k = 0; ok && k <= pieces; k++) ok = mesh_add_vertex(&out->mesh, 0, 0, height * ((double)k / pieces - 0.5));
  for (int k = 0; ok && k < pieces; k++) ok = mesh_add_edge(&out->mesh, (uint32_t)k, (uint32_t)k + 1);
  return finish(ok, out);
}
