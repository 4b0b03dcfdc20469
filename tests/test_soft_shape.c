/* Built-in soft shapes: volumes, closed outward surfaces, well-shaped tetrahedra, counts. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>

#include "math/vec.h"
#include "scene/soft_shape.h"

static const double pi = 3.14159265358979323846;

static Vec3 corner(const TetMesh *m, uint32_t v) { return vec3_from(m->mesh.vertex + 3 * v); }

/* 1 for a regular tetrahedron: 6 sqrt2 volume over the cube of the root mean square edge. */
static double shape_quality(const TetMesh *m, size_t t) {
  double sum = 0;
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < i; j++) sum += norm_sq(sub(corner(m, m->tet[4 * t + i]), corner(m, m->tet[4 * t + j])));
  return 6 * sqrt(2) * tet_mesh_volume(m, t) / pow(sum / 6, 1.5);
}

/* Sound, closed, sphere-like, outward: the surface encloses what the tetrahedra fill. Returns the volume. */
static double check_solid(const char *name, const TetMesh *m, double quality) {
  uint32_t(*surface)[3];
  size_t count, shared, used_count = 0;
  SceneError error = {""};
  double filled = 0, enclosed = 0, worst = 1;
  if (!tet_mesh_require_sound(m, name, &error)) fail_msg("%s", error.text);
  for (size_t t = 0; t < m->tet_count; t++) filled += tet_mesh_volume(m, t), worst = fmin(worst, shape_quality(m, t));
  if (!(worst > quality)) fail_msg("%s: quality %g, expected above %g", name, worst, quality);
  assert_true(tet_mesh_surface(m, &surface, &count, &shared));
  assert_int_equal(shared, 0);
  unsigned char *used = calloc(m->mesh.vertex_count, 1);
  for (size_t k = 0; k < count; k++) {
    enclosed += dot(corner(m, surface[k][0]), cross(corner(m, surface[k][1]), corner(m, surface[k][2]))) / 6;
    for (int i = 0; i < 3; i++) used_count += !used[surface[k][i]], used[surface[k][i]] = 1;
  }
  if (2 * used_count != count + 4) fail_msg("%s: %zu triangles on %zu vertices are no sphere", name, count, used_count);
  if (!(fabs(filled - enclosed) < 1e-12 * filled)) fail_msg("%s: %g filled, %g enclosed", name, filled, enclosed);
  free(used);
  free(surface);
  return filled;
}

static void test_box(void **state) {
  (void)state;
  TetMesh m;
  for (int n = 1; n <= 4; n++) {
    const int cells[3] = {n, n + 1, 2 * n};
    const double size[3] = {1, 1.5, 2};
    assert_true(soft_shape_box(size, cells, &m));
    assert_int_equal(m.tet_count, 6 * n * (n + 1) * 2 * n);
    assert_float_equal(check_solid("box", &m, 0.3), 3, 1e-12);
    tet_mesh_free(&m);
  }
  assert_true(soft_shape_beam((const double[3]){1, 0.1, 0.2}, 2, &m));
  assert_int_equal(m.tet_count, 6 * 20 * 2 * 4);
  assert_float_equal(check_solid("beam", &m, 0.6), 0.02, 1e-14);
  tet_mesh_free(&m);
}

static void test_sphere(void **state) {
  (void)state;
  double before = 1;
  for (int n = 1; n <= 8; n *= 2) {
    TetMesh m;
    assert_true(soft_shape_sphere(0.5, n, &m));
    assert_int_equal(m.tet_count, 20 * n * n * n);
    double missing = 1 - check_solid("sphere", &m, 0.5) / (4.0 / 3 * pi * 0.125);
    if (!(missing > 0 && missing < before))
      fail_msg("%d shells: %g of the volume is missing, before %g", n, missing, before);
    before = missing / 3;
    tet_mesh_free(&m);
  }
}

static void test_cylinder(void **state) {
  (void)state;
  for (int n = 1; n <= 6; n++) {
    TetMesh m;
    double missing;
    assert_true(soft_shape_cylinder(0.5, 1, n, 2 * n, &m));
    assert_int_equal(m.tet_count, 18 * n * n * 2 * n);
    missing = 1 - check_solid("cylinder", &m, 0.4) / (pi * 0.25);
    double angle = 2 * pi / (6 * n);
    assert_float_equal(missing, 1 - sin(angle) / angle, 1e-12);
    tet_mesh_free(&m);
  }
}

static void test_sheet(void **state) {
  (void)state;
  TetMesh m;
  assert_true(soft_shape_sheet((const double[2]){2, 1}, (const int[2]){4, 3}, &m));
  assert_int_equal(m.mesh.triangle_count, 24);
  assert_int_equal(m.tet_count, 0);
  tet_mesh_free(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_box), cmocka_unit_test(test_sphere),
                                     cmocka_unit_test(test_cylinder), cmocka_unit_test(test_sheet)};
  return cmocka_run_group_tests_name("soft_shape", tests, NULL, NULL);
}
