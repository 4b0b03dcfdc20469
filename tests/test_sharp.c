/* Which edges and vertices of a mesh belong to its shape: those of a divided box, of a sheet, of wires, and how flat a
 * plane has to be. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "geom/mesh.h"
#include "gridbox.h"

static Mesh build(const AbdMeshDef *def) {
  Mesh mesh;
  AbdError error = {ABD_OK, ""};
  if (mesh_init(&mesh, def, &error)) fail_msg("%s", error.text);
  return mesh;
}

static int sharp_edges(const Mesh *m) {
  int count = 0;
  for (int e = 0; e < m->edge_count; e++) count += !m->flat_edge[e];
  return count;
}

static int sharp_vertices(const Mesh *m) {
  int count = 0;
  for (int v = 0; v < m->vertex_count; v++) count += m->sharp_edge[v] > 0;
  return count;
}

static int listed_edges(const Mesh *m) {
  int count = 0;
  for (int i = 0; i < m->element_count; i++)
    for (int k = 0; k < 3; k++) count += m->element[i].sharp_edges >> k & 1;
  return count;
}

static void test_divided_boxes_have_eight_corners(void **state) {
  static Grid grid;
  (void)state;
  for (int n = 1; n <= 8; n *= 2) {
    AbdMeshDef def = grid_box(&grid, n, vec3(1, 0.8, 0.6), 0);
    Mesh m = build(&def);
    assert_int_equal(sharp_edges(&m), 12 * n);
    assert_int_equal(sharp_vertices(&m), 8);
    assert_int_equal(listed_edges(&m), 12 * n);
    mesh_destroy(&m);
  }
}

/* Edges that are flat but leave the plane by more than rounding keep their stencils. */
static void test_diagonals_are_exact(void **state) {
  static Grid grid;
  (void)state;
  for (int k = 0; k < 2; k++) {
    AbdMeshDef def = grid_box(&grid, 2, vec3(1, 1, 1), k ? 1e-14 : 2e-15);
    Mesh m = build(&def);
    assert_int_equal(sharp_edges(&m), 24);
    assert_int_equal(listed_edges(&m) > 24, k);
    mesh_destroy(&m);
  }
}

static void test_sheets_and_wires(void **state) {
  static const double square[] = {0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 1, 0, 2, 0, 0, 3, 0, 0};
  static const uint32_t triangle[] = {0, 1, 2, 0, 2, 3}, wire[] = {1, 4, 4, 5};
  (void)state;
  AbdMeshDef def = {.name = "sheet", .vertex = square, .vertex_count = 6, .triangle = triangle, .triangle_count = 2};
  def.edge = wire;
  def.edge_count = 2;
  def.thickness = 0.01;
  def.keep_frame = true;
  Mesh m = build(&def);
  assert_int_equal(sharp_edges(&m), 6 + 2); /* all but the diagonal; two vertices of the wire are points */
  assert_int_equal(sharp_vertices(&m), 5);  /* all but the one inside the wire */
  mesh_destroy(&m);
}

/* A vertex inside a face, raised so that the triangles around it turn by less and by more than the tolerance. */
static void test_tolerance(void **state) {
  static Grid grid;
  (void)state;
  for (int k = 0; k < 2; k++) {
    AbdMeshDef def = grid_box(&grid, 2, vec3(1, 1, 1), k ? 4e-9 : 1.5e-9);
    Mesh m = build(&def);
    assert_int_equal(sharp_vertices(&m) > 8, k);
    mesh_destroy(&m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_divided_boxes_have_eight_corners),
                                     cmocka_unit_test(test_sheets_and_wires), cmocka_unit_test(test_tolerance),
                                     cmocka_unit_test(test_diagonals_are_exact)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
