/* Built-in shapes: closed, oriented outward, with the right volume; and the rotations of scenes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "scene/rotation.h"
#include "scene/shape.h"

static const double pi = 3.14159265358979323846;

static double signed_volume(const MeshData *m) {
  double volume = 0;
  for (size_t t = 0; t < m->triangle_count; t++) {
    const double *a = m->vertex + 3 * m->triangle[3 * t], *b = m->vertex + 3 * m->triangle[3 * t + 1];
    const double *c = m->vertex + 3 * m->triangle[3 * t + 2];
    volume +=
        (a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) + a[2] * (b[0] * c[1] - b[1] * c[0])) /
        6;
  }
  return volume;
}

static int compare_u64(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* Every directed edge appears once, and its reverse too. */
static bool is_closed(const MeshData *m) {
  size_t n = 3 * m->triangle_count;
  uint64_t *edge = malloc(n * sizeof *edge), *reverse = malloc(n * sizeof *reverse);
  for (size_t i = 0; i < n; i++) {
    uint64_t a = m->triangle[i], b = m->triangle[i % 3 == 2 ? i - 2 : i + 1];
    edge[i] = a << 32 | b;
    reverse[i] = b << 32 | a;
  }
  qsort(edge, n, sizeof *edge, compare_u64);
  qsort(reverse, n, sizeof *reverse, compare_u64);
  bool closed = n > 0;
  for (size_t i = 0; i < n; i++) closed = closed && edge[i] == reverse[i] && (i == 0 || edge[i] != edge[i - 1]);
  free(edge);
  free(reverse);
  return closed;
}

static void check_closed(const char *name, MeshData *m, double volume, double tolerance) {
  double got = signed_volume(m);
  if (!is_closed(m)) fail_msg("%s is not closed", name);
  if (fabs(got - volume) > tolerance * volume) fail_msg("%s: volume %.6g, expected %.6g", name, got, volume);
  for (size_t i = 0; i < m->vertex_count; i++) {
    bool used = false;
    for (size_t k = 0; k < 3 * m->triangle_count && !used; k++) used = m->triangle[k] == i;
    if (!used) fail_msg("%s: vertex %zu is in no triangle", name, i);
  }
  mesh_data_free(m);
}

static void box_is_exact(void **state) {
  (void)state;
  MeshData m;
  assert_true(shape_box((double[3]){1, 2, 3}, &m));
  assert_int_equal(m.vertex_count, 8);
  assert_int_equal(m.triangle_count, 12);
  check_closed("box", &m, 6, 1e-15);
}

static void round_shapes(void **state) {
  (void)state;
  MeshData m;
  assert_true(shape_sphere(0.5, 0, &m));
  assert_int_equal(m.triangle_count, 20);
  check_closed("icosahedron", &m, 2.536150710 * 0.125, 1e-6);
  assert_true(shape_sphere(0.5, 4, &m));
  assert_int_equal(m.triangle_count, 20 * 256);
  for (size_t i = 0; i < m.vertex_count; i++) {
    const double *x = m.vertex + 3 * i;
    assert_float_equal(sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]), 0.5, 1e-7);
  }
  check_closed("sphere", &m, pi / 6, 0.005);
  double polygon = 64 * sin(2 * pi / 64) / (2 * pi); /* area of the 64-gon in the unit circle, over pi */
  assert_true(shape_cylinder(0.3, 2, 64, &m));
  check_closed("cylinder", &m, pi * 0.09 * 2 * polygon, 1e-12);
  assert_true(shape_cone(0.3, 2, 64, &m));
  check_closed("cone", &m, pi * 0.09 * 2 / 3 * polygon, 1e-12);
  assert_true(shape_capsule(0.3, 2, 128, &m));
  check_closed("capsule", &m, pi * 0.09 * 2 + 4 * pi / 3 * 0.027, 0.005);
  assert_true(shape_capsule(0.3, 2, 3, &m)); /* the coarsest */
  check_closed("coarse capsule", &m, 0.3, 1);
}

static void torus_and_link(void **state) {
  (void)state;
  MeshData m;
  assert_true(shape_torus(0.5, 0.1, 0, 128, 64, &m));
  check_closed("torus", &m, 2 * pi * pi * 0.5 * 0.01, 0.005);
  assert_true(shape_torus(0.5, 0.1, 0.8, 128, 64, &m));
  check_closed("link", &m, 2 * pi * pi * 0.5 * 0.01 + 2 * 0.8 * pi * 0.01, 0.005);
  assert_true(shape_torus(0.5, 0.1, 0, 3, 3, &m));
  check_closed("coarse torus", &m, 0.05, 1);
}

static void sheets_are_open(void **state) {
  (void)state;
  MeshData m;
  assert_true(shape_grid((double[2]){2, 3}, (int[2]){4, 5}, &m));
  assert_int_equal(m.vertex_count, 30);
  assert_int_equal(m.triangle_count, 40);
  assert_false(is_closed(&m));
  assert_float_equal(m.vertex[0], -1, 0);
  mesh_data_free(&m);
}

static void half_space_faces_its_normal(void **state) {
  (void)state;
  const double normals[][3] = {{0, 0, 1}, {0, 0, -1}, {1, 0, 0}, {0, -2, 0}, {1, 2, 3}, {1e-9, 0, -1}};
  for (size_t i = 0; i < sizeof normals / sizeof *normals; i++) {
    const double *n = normals[i];
    MeshData m;
    assert_true(shape_half_space(n, 10, &m));
    const double *a = m.vertex + 3 * m.triangle[0], *b = m.vertex + 3 * m.triangle[1],
                 *c = m.vertex + 3 * m.triangle[2];
    double u[3], v[3], cross[3], length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    for (int k = 0; k < 3; k++) u[k] = b[k] - a[k], v[k] = c[k] - a[k];
    for (int k = 0; k < 3; k++) cross[k] = u[(k + 1) % 3] * v[(k + 2) % 3] - u[(k + 2) % 3] * v[(k + 1) % 3];
    for (int k = 0; k < 3; k++) {
      if (fabs(cross[k] / 100 - n[k] / length) > 1e-7) fail_msg("normal %zu: component %d is %g", i, k, cross[k] / 100);
    }
    mesh_data_free(&m);
  }
}

static void assert_vector(const double got[3], double x, double y, double z) {
  if (fabs(got[0] - x) + fabs(got[1] - y) + fabs(got[2] - z) > 1e-14) {
    fail_msg("got %g %g %g, expected %g %g %g", got[0], got[1], got[2], x, y, z);
  }
}

static void rotations(void **state) {
  (void)state;
  double q[4], r[4], m[9], y[3];
  quat_from_axis((double[3]){0, 0, 7}, pi / 2, q);
  quat_rotate(q, (double[3]){1, 0, 0}, y);
  assert_vector(y, 0, 1, 0);
  quat_from_euler_degrees((double[3]){90, 0, 90}, q); /* x first: y -> z stays z; z -> -y -> x */
  quat_rotate(q, (double[3]){0, 1, 0}, y);
  assert_vector(y, 0, 0, 1);
  quat_rotate(q, (double[3]){0, 0, 1}, y);
  assert_vector(y, 1, 0, 0);
  quat_from_vector((double[3]){0, pi, 0}, q);
  quat_rotate(q, (double[3]){1, 2, 3}, y);
  assert_vector(y, -1, 2, -3);
  for (int i = 0; i < 200; i++) { /* matrix and back, every branch */
    double v[3] = {sin(i * 1.7) * 3.1, sin(i * 2.3) * 3.1, sin(i * 3.9) * 3.1};
    quat_from_vector(v, q);
    quat_to_matrix(q, m);
    quat_from_matrix(m, r);
    double dot = fabs(q[0] * r[0] + q[1] * r[1] + q[2] * r[2] + q[3] * r[3]);
    if (fabs(dot - 1) > 1e-14) fail_msg("rotation %d: |q.r| = %.17g", i, dot);
  }
  quat_identity(q);
  quat_from_axis((double[3]){1, 0, 0}, 1.0, r);
  quat_slerp(q, r, 0.25, q);
  assert_float_equal(q[1], sin(0.125), 1e-15);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(box_is_exact),
      cmocka_unit_test(round_shapes),
      cmocka_unit_test(torus_and_link),
      cmocka_unit_test(sheets_are_open),
      cmocka_unit_test(half_space_faces_its_normal),
      cmocka_unit_test(rotations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
