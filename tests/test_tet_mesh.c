/* Readers of tetrahedral meshes: the same cube in every format, surfaces, conventions, writing and reading, and bad
 * files, whose errors name the place. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene/file_bytes.h"
#include "scene/soft_shape.h"

static const char *const extension[] = {"msh", "vtk", "mesh"};

/* A seed of the fuzzer: the first byte is the format. */
static FileBytes read_seed(const char *name) {
  char path[500];
  FileBytes file;
  SceneError error;
  snprintf(path, sizeof path, "%s/tests/fuzz/corpus/tet/%s", ABD_SOURCE, name);
  if (!file_read(path, &file, &error)) fail_msg("%s", error.text);
  return file;
}

static double filled(const TetMesh *m) {
  double sum = 0;
  for (size_t t = 0; t < m->tet_count; t++) sum += tet_mesh_volume(m, t);
  return sum;
}

static void test_formats(void **state) {
  (void)state;
  static const char *const seed[] = {"gmsh-22-text", "gmsh-22-binary", "gmsh-41-text", "gmsh-41-binary",
                                     "vtk-text",     "vtk-binary",     "medit"};
  for (size_t k = 0; k < sizeof seed / sizeof *seed; k++) {
    FileBytes file = read_seed(seed[k]);
    TetMesh m;
    SceneError error = {""};
    uint32_t(*surface)[3];
    size_t count, shared;
    if (!tet_mesh_parse(file.bytes + 1, file.length - 1, extension[(int)file.bytes[0]], seed[k], &m, &error))
      fail_msg("%s", error.text);
    if (!tet_mesh_require_sound(&m, seed[k], &error)) fail_msg("%s", error.text);
    if (m.mesh.vertex_count != 14 || m.tet_count != 24 || m.mesh.triangle_count != 24 ||
        !(fabs(filled(&m) - 1) < 1e-12))
      fail_msg("%s: %zu vertices, %zu tetrahedra, %zu triangles, volume %g", seed[k], m.mesh.vertex_count, m.tet_count,
               m.mesh.triangle_count, filled(&m));
    assert_true(tet_mesh_surface(&m, &surface, &count, &shared));
    assert_int_equal(count, 24);
    assert_int_equal(shared, 0);
    free(surface);
    tet_mesh_free(&m);
    /* cut off anywhere: refused with a sentence, or complete as far as elements go */
    for (size_t length = 1; length < file.length; length += 13) {
      error.text[0] = 0;
      char *part = malloc(length); /* of its own, so that reading past its end is seen */
      memcpy(part, file.bytes + 1, length - 1);
      bool ok = tet_mesh_parse(part, length - 1, extension[(int)file.bytes[0]], seed[k], &m, &error);
      if (!ok && !error.text[0]) fail_msg("%s cut to %zu bytes: no sentence", seed[k], length);
      tet_mesh_free(&m);
      free(part);
    }
    free(file.bytes);
  }
}

static bool parse(const char *format, const char *text, TetMesh *m, SceneError *error) {
  error->text[0] = 0;
  return tet_mesh_parse(text, strlen(text), format, "bad", m, error);
}

static void expect_refused(const char *format, const char *text, const char *words) {
  TetMesh m;
  SceneError error;
  bool ok = parse(format, text, &m, &error);
  if (ok || !strstr(error.text, words))
    fail_msg("expected \"%s\", got \"%s\" for:\n%s", words, ok ? "no error" : error.text, text);
}

#define NODES                                                                                                          \
  "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n5\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n9 5 5 5\n$EndNodes\n"

static void test_bad_gmsh(void **state) {
  (void)state;
  expect_refused("msh", "", "no $Nodes found");
  expect_refused("msh", "hello", "expected a section");
  expect_refused("msh", "$Nodes\n1\n", "$MeshFormat first");
  expect_refused("msh", "$MeshFormat\n4.0 0 8\n$EndMeshFormat\n", "Gmsh format 4, expected 2.2 or 4.1");
  expect_refused("msh", "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n999999999\n1 0 0 0\n",
                 "bad:5: the file claims 999999999 nodes");
  expect_refused("msh", "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n1\n1 0 nan 0\n$EndNodes\n",
                 "bad:6: node 1: coordinate 2 is nan");
  expect_refused("msh", "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n2\n1 0 0 0\n1 0 0 1\n$EndNodes\n",
                 "node 1 is given twice");
  expect_refused("msh", NODES "$Elements\n1\n7 4 0 1 2 3 8\n$EndElements\n",
                 "bad:14: element 7: node 8 is not in the file");
  expect_refused("msh", NODES "$Elements\n1\n7 5 0 1 2 3 4 1 2 3 4\n$EndElements\n",
                 "element 7: a solid of 8 nodes (type 5)");
  expect_refused("msh", NODES "$Elements\n1\n7 4 0 1 2 3 x\n$EndElements\n",
                 "element 7: expected a whole number, got \"x\"");
  expect_refused("msh", NODES "$Elements\n2\n7 4 0 1 2 3 4\n", "the file ends before it is complete");
  expect_refused("msh", NODES, "the mesh is empty");
}

static void test_bad_vtk_and_medit(void **state) {
  (void)state;
#define VTK "# vtk DataFile Version 3.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 4 float\n0 0 0 1 0 0 0 1 0 0 0 1\n"
  expect_refused("vtk", "vtk", "expected \"# vtk DataFile Version\"");
  expect_refused("vtk", "# vtk DataFile Version 3.0\nt\nASCII\nDATASET POLYDATA\n",
                 "bad:4: expected UNSTRUCTURED_GRID");
  expect_refused("vtk", VTK "CELLS 1 5\n4 0 1 2 4\nCELL_TYPES 1\n10\n", "cell 0: point 4 is out of range 0..3");
  expect_refused("vtk", VTK "CELLS 1 5\n4 0 1 2 3\nCELL_TYPES 1\n12\n", "cell 0: a solid of type 12");
  expect_refused("vtk", VTK "CELLS 1 5\n9 0 1 2 3\nCELL_TYPES 1\n10\n", "cell 0: its corners lie outside the 5 given");
  expect_refused("vtk", VTK "CELLS 2 5\n4 0 1 2 3\nCELL_TYPES 1\n10\n", "1 cell types for 2 cells");
  expect_refused("vtk", VTK "CELLS 1 500000000\n4 0 1 2 3\n", "the file claims 500000000 corner of cells");
  expect_refused("vtk", VTK, "no CELL_TYPES found");
#define MEDIT "MeshVersionFormatted 2\nDimension 3\nVertices 4\n0 0 0 1\n1 0 0 1\n0 1 0 1\n0 0 1 1\n"
  expect_refused("mesh", "solid", "MeshVersionFormatted");
  expect_refused("mesh", "MeshVersionFormatted 2\nDimension 2\n", "Dimension 2, expected 3");
  expect_refused("mesh", MEDIT "Tetrahedra 1\n1 2 3 0 1\n", "bad:9: tetrahedron 1: vertex 0 is out of range 1..4");
  expect_refused("mesh", MEDIT "Hexahedra 1\n1 2 3 4 1 2 3 4 1\n", "1 Hexahedra, expected tetrahedra");
  expect_refused("mesh", "MeshVersionFormatted 2\nDimension 3\nVertices -4\n", "the file claims -4");
  expect_refused("xyz", "", "expected .msh, .vtk or .mesh");
}

static void test_soundness(void **state) {
  (void)state;
  TetMesh m;
  SceneError error;
  assert_true(parse("mesh", MEDIT "Tetrahedra 2\n1 2 3 4 1\n1 2 4 3 1\n", &m,
                    &error)); /* one each way round: not a convention */
  assert_false(m.turned);
  assert_false(tet_mesh_require_sound(&m, "bad", &error));
  if (!strstr(error.text, "tetrahedron 1 (corners 0 1 3 2, from 0) is inside out")) fail_msg("%s", error.text);
  tet_mesh_free(&m);
  assert_true(parse("mesh", MEDIT "Tetrahedra 1\n1 2 4 3 1\n", &m, &error)); /* all inside out: turned */
  assert_true(m.turned && tet_mesh_volume(&m, 0) > 0);
  assert_true(tet_mesh_require_sound(&m, "good", &error));
  tet_mesh_free(&m);
  assert_true(parse("mesh", MEDIT "Tetrahedra 2\n1 2 3 4 1\n2 3 1 4 1\n", &m, &error));
  assert_false(tet_mesh_require_sound(&m, "bad", &error));
  if (!strstr(error.text, "tetrahedra 0 and 1 have the same corners")) fail_msg("%s", error.text);
  tet_mesh_free(&m);
  assert_true(parse("msh", NODES "$Elements\n2\n1 15 0 9\n7 4 0 1 2 3 4\n$EndElements\n", &m,
                    &error)); /* node 9 is of a point only */
  assert_int_equal(m.unused_count, 1);
  assert_int_equal(m.mesh.vertex_count, 4);
  tet_mesh_free(&m);
}

static void test_write(void **state) {
  (void)state;
  TetMesh m, again;
  SceneError error;
  char path[500];
  snprintf(path, sizeof path, "%s/test_tet_mesh.msh", ABD_BINARY);
  assert_true(soft_shape_sphere(0.3, 3, &m));
  if (!tet_mesh_write(&m, path, &error) || !tet_mesh_load(path, &again, &error)) fail_msg("%s", error.text);
  assert_int_equal(again.tet_count, m.tet_count);
  assert_memory_equal(again.tet, m.tet, 4 * m.tet_count * sizeof(uint32_t));
  assert_memory_equal(again.mesh.vertex, m.mesh.vertex, 3 * m.mesh.vertex_count * sizeof(double));
  assert_int_equal(again.mesh.triangle_count, 20 * 9);
  tet_mesh_free(&m);
  tet_mesh_free(&again);
  assert_false(tet_mesh_write(&m, "no/such/folder/x.msh", &error));
  assert_non_null(strstr(error.text, "cannot write"));
  remove(path);
}

/* VTK's offsets and connectivity, as text. */
static void test_split_cells(void **state) {
  (void)state;
  FileBytes file = read_seed("vtk-split");
  TetMesh m;
  SceneError error;
  if (!tet_mesh_parse(file.bytes + 1, file.length - 1, "vtk", "split", &m, &error)) fail_msg("%s", error.text);
  assert_int_equal(m.tet_count, 2);
  assert_int_equal(m.mesh.triangle_count, 1);
  tet_mesh_free(&m);
  free(file.bytes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_formats),   cmocka_unit_test(test_bad_gmsh), cmocka_unit_test(test_bad_vtk_and_medit),
      cmocka_unit_test(test_soundness), cmocka_unit_test(test_write),    cmocka_unit_test(test_split_cells)};
  return cmocka_run_group_tests_name("tet_mesh", tests, NULL, NULL);
}
