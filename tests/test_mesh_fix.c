/* Repair of surfaces: repeated and flipped triangles, unused vertices; written and read again. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "mesh_copy.h"
#include "scene/mesh_fix.h"
#include "scene/mesh_weld.h"
#include "scene/shape.h"

static void reverse(uint32_t *v) {
  uint32_t keep = v[1];
  v[1] = v[2], v[2] = keep;
}

static void test_flipped_and_repeated(void **state) {
  (void)state;
  MeshData clean, m;
  MeshFix fix;
  Draw d = {9};
  assert_true(shape_sphere(0.5, 3, &clean));
  m = copy_mesh(&clean);
  size_t flipped = 0, repeated = 0, count = m.triangle_count;
  for (size_t t = 0; t < count; t++) {
    uint32_t v[3];
    if (draw(&d, 0, 1) < 0.2) reverse(m.triangle + 3 * t), flipped++;
    memcpy(v, clean.triangle + 3 * t, sizeof v);
    if (t % 7 == 3 && memcmp(v, m.triangle + 3 * t, sizeof v) == 0) {
      assert_true(mesh_add_triangle(&m, v[1], v[2], v[0]));
      repeated++;
    }
  }
  assert_true(mesh_add_vertex(&m, 9, 9, 9));
  assert_true(mesh_fix(&m, &fix));
  assert_int_equal(fix.repeated, repeated);
  assert_int_equal(fix.flipped, flipped);
  assert_int_equal(fix.unused, 1);
  assert_false(fix.turned);
  assert_int_equal(m.triangle_count, clean.triangle_count);
  assert_memory_equal(m.triangle, clean.triangle, 3 * count * sizeof *m.triangle);
  mesh_data_free(&m);
  mesh_data_free(&clean);
}

static void test_inside_out(void **state) {
  (void)state;
  MeshData m;
  MeshFix fix;
  assert_true(shape_box((double[3]){1, 2, 3}, &m));
  MeshData clean = copy_mesh(&m);
  for (size_t t = 0; t < m.triangle_count; t++) reverse(m.triangle + 3 * t);
  reverse(m.triangle);
  assert_true(mesh_fix(&m, &fix));
  assert_true(fix.turned);
  assert_int_equal(fix.flipped, 1);
  assert_memory_equal(m.triangle, clean.triangle, 36 * sizeof *m.triangle);
  mesh_data_free(&m);
  mesh_data_free(&clean);
}

/* Two boxes with a wall between them, once for each: the walls vanish, and one box is left. */
static void test_wall(void **state) {
  (void)state;
  MeshData m, other;
  MeshFix fix;
  double weld = 1e-9;
  assert_true(shape_box((double[3]){1, 1, 1}, &m));
  other = copy_mesh(&m);
  for (size_t i = 0; i < other.vertex_count; i++)
    other.vertex[3 * i] *= -1; /* mirrored: the walls have equal corners */
  for (size_t t = 0; t < other.triangle_count; t++) reverse(other.triangle + 3 * t);
  assert_true(shape_append(&m, &other, (double[3]){1, 0, 0}) && mesh_weld(&m, &weld));
  assert_int_equal(m.vertex_count, 12);
  assert_true(mesh_fix(&m, &fix));
  assert_int_equal(fix.repeated, 4);
  assert_int_equal(fix.flipped, 0);
  assert_int_equal(m.triangle_count, 20);
  mesh_data_free(&m);
}

/* Digits are kept. */
static void test_written(void **state) {
  (void)state;
  MeshData m, again;
  SceneError error;
  char path[] = "/tmp/abd-fix-XXXXXX.obj";
  int file = mkstemps(path, 4);
  assert_true(file >= 0);
  assert_true(shape_sphere(1.0 / 3, 2, &m) && mesh_add_edge(&m, 0, 1));
  if (!mesh_write_obj(&m, path, &error) || !mesh_load(path, &again, &error)) fail_msg("%s", error.text);
  assert_int_equal(again.vertex_count, m.vertex_count);
  assert_int_equal(again.edge_count, 1);
  assert_memory_equal(again.vertex, m.vertex, 3 * m.vertex_count * sizeof *m.vertex);
  assert_memory_equal(again.triangle, m.triangle, 3 * m.triangle_count * sizeof *m.triangle);
  remove(path);
  assert_false(mesh_write_obj(&m, "/nowhere/at/all.obj", &error));
  assert_non_null(strstr(error.text, "/nowhere/at/all.obj: No such file"));
  mesh_data_free(&m);
  mesh_data_free(&again);
}

/* A triangle soup whose corners differ in the last digits. */
static MeshData soup(const MeshData *m, double digit, bool single) {
  MeshData out = {0};
  Draw d = {4};
  for (size_t t = 0; t < m->triangle_count; t++) {
    for (int k = 0; k < 3; k++) {
      double x[3];
      for (int i = 0; i < 3; i++) {
        double y = m->vertex[3 * m->triangle[3 * t + (size_t)k] + (size_t)i] + draw(&d, -digit, digit);
        x[i] = single ? (double)(float)y : rint(y / digit) * digit;
      }
      assert_true(mesh_add_vertex(&out, x[0], x[1], x[2]));
    }
    uint32_t first = (uint32_t)(3 * t);
    assert_true(mesh_add_triangle(&out, first, first + 1, first + 2));
  }
  return out;
}

static void test_weld(void **state) {
  (void)state;
  const double none = 0, wide = 1e-3, narrow = 1e-12;
  MeshData clean, m;
  assert_true(shape_sphere(0.5, 3, &clean));
  for (int single = 0; single < 2; single++) {
    double digit = single ? 3e-8 : 1e-6;
    m = soup(&clean, digit, single);
    double precision = mesh_precision(&m);
    assert_true(precision > 0.9 * (single ? 5e-8 : 1e-6) && precision < 1.1 * (single ? 6e-8 : 1e-6));
    assert_true(mesh_weld(&m, NULL));
    assert_int_equal(m.vertex_count, clean.vertex_count);
    assert_int_equal(m.triangle_count, clean.triangle_count);
    assert_true(m.weld_tolerance > 3.9 * precision && m.weld_tolerance < 4.1 * precision);
    mesh_data_free(&m);
    const struct {
      const double *tolerance;
      size_t vertices;
    } given[] = {{&none, 3 * clean.triangle_count}, {&narrow, 0}, {&wide, clean.vertex_count}};
    for (int k = 0; k < 3; k++) {
      m = soup(&clean, digit, single);
      assert_true(mesh_weld(&m, given[k].tolerance));
      if (given[k].vertices) assert_int_equal(m.vertex_count, given[k].vertices);
      else assert_true(m.vertex_count > 2 * clean.vertex_count);
      mesh_data_free(&m);
    }
  }
  m = copy_mesh(&clean); /* a clean mesh is not touched, whatever its digits */
  assert_true(mesh_weld(&m, NULL));
  assert_int_equal(m.welded_count, 0);
  mesh_data_free(&m);
  mesh_data_free(&clean);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_flipped_and_repeated), cmocka_unit_test(test_inside_out),
                                     cmocka_unit_test(test_wall), cmocka_unit_test(test_written),
                                     cmocka_unit_test(test_weld)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
