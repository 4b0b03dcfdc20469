/* Cells are divided after Kuhn: the corners of a tetrahedron lie on a path from one corner of a cube to the opposite
 * one, along the axes in some order. The division is mirrored along each axis in cells of odd number, so that
 * neighbours share the diagonals of their faces (tet_lattice.h). Tests: tests/test_soft_shape.c. */
#include "scene/tet_lattice.h"

#include <stdlib.h>

const int tet_path[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

bool tet_lattice_turned(TetMesh *m, const uint32_t c[4]) {
  if (!tet_mesh_add(m, c[0], c[1], c[2], c[3])) return false;
  if (tet_mesh_volume(m, m->tet_count - 1) > 0) return true;
  m->tet[4 * m->tet_count - 2] = c[3];
  m->tet[4 * m->tet_count - 1] = c[2];
  return true;
}

typedef struct Layout {
  const TetLattice *lattice;
  int points[3];
  uint32_t *number;
} Layout; /* number: 1 + vertex, 0 none */

static size_t place_of(const Layout *y, const int at[3]) {
  size_t i = (size_t)(at[0] % y->points[0]), j = (size_t)at[1], k = (size_t)at[2];
  return i + (size_t)y->points[0] * (j + (size_t)y->points[1] * k);
}

static bool has_cell(const TetLattice *l, const int cell[3]) { return !l->has || l->has(l->form, cell); }

static void mark_corners(const Layout *y, const int cell[3]) {
  for (int c = 0; c < 8; c++) {
    const int at[3] = {cell[0] + (c & 1), cell[1] + (c >> 1 & 1), cell[2] + (c >> 2)};
    y->number[place_of(y, at)] = 1;
  }
}

static bool add_cell(const Layout *y, const int cell[3], TetMesh *out) {
  bool ok = true;
  for (int p = 0; ok && p < 6; p++) {
    int at[3];
    uint32_t corner[4];
    for (int k = 0; k < 3; k++) at[k] = cell[k] + cell[k] % 2;
    corner[0] = y->number[place_of(y, at)] - 1;
    for (int s = 0; s < 3; s++) {
      int axis = tet_path[p][s];
      at[axis] += cell[axis] % 2 ? -1 : 1;
      corner[s + 1] = y->number[place_of(y, at)] - 1;
    }
    ok = tet_lattice_turned(out, corner);
  }
  return ok;
}

/* Corners of the existing cells, numbered in the order of the lattice. */
static bool add_points(const Layout *y, TetMesh *out) {
  const TetLattice *l = y->lattice;
  for (int k = 0; k < y->points[2]; k++)
    for (int j = 0; j < y->points[1]; j++)
      for (int i = 0; i < y->points[0]; i++) {
        const int at[3] = {i, j, k};
        uint32_t *number = &y->number[place_of(y, at)];
        double x[3];
        if (!*number) continue;
        l->point(l->form, at, x);
        if (!mesh_add_vertex(&out->mesh, x[0], x[1], x[2])) return false;
        *number = (uint32_t)out->mesh.vertex_count;
      }
  return true;
}

/* Marks the corners of every existing cell, or, in a second pass, adds its tetrahedra. */
static bool visit_cells(const Layout *y, TetMesh *out) {
  const TetLattice *l = y->lattice;
  bool ok = true;
  for (int k = 0; ok && k < l->cells[2]; k++)
    for (int j = 0; ok && j < l->cells[1]; j++)
      for (int i = 0; ok && i < l->cells[0]; i++) {
        const int cell[3] = {i, j, k};
        if (!has_cell(l, cell)) continue;
        if (out) ok = add_cell(y, cell, out);
        else mark_corners(y, cell);
      }
  return ok;
}

bool tet_lattice_add(const TetLattice *l, TetMesh *out) {
  Layout y = {.lattice = l, .points = {l->cells[0] + !l->around, l->cells[1] + 1, l->cells[2] + 1}};
  y.number = calloc((size_t)y.points[0] * (size_t)y.points[1] * (size_t)y.points[2], sizeof *y.number);
  if (!y.number) return false;
  bool ok = visit_cells(&y, NULL) && add_points(&y, out) && visit_cells(&y, out);
  free(y.number);
  return ok;
}
