/* Mass of surfaces that are not clean closed ones: holes, flipped and repeated triangles, overlapping shells; sheets
 * stay sheets. The winding number against its definition. */
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
#include "geom/lid.h"
#include "geom/mesh.h"
#include "geom/winding.h"
#include "scene/shape.h"

static Mesh build(const MeshData *m) {
  AbdMeshDef def = abd_default_mesh_def();
  AbdError error;
  Mesh mesh;
  def.name = "dirty";
  def.vertex = m->vertex, def.vertex_count = m->vertex_count;
  def.triangle = m->triangle, def.triangle_count = m->triangle_count;
  if (mesh_init(&mesh, &def, &error) != ABD_OK) fail_msg("%s", error.text);
  return mesh;
}

/* A ball with ears and bumps, as bumpy as a scanned toy. */
static double toy_radius(double x, double y, double z) {
  double ear = exp(-20 * ((x - 0.5) * (x - 0.5) + (y - 0.3) * (y - 0.3))) * (z > 0);
  return 0.4 + 0.05 * sin(5 * x) * cos(4 * y) + 0.03 * sin(9 * z) + 0.35 * ear;
}

static MeshData toy(void) {
  MeshData m;
  assert_true(shape_sphere(1, 4, &m));
  for (size_t i = 0; i < m.vertex_count; i++) {
    double *x = m.vertex + 3 * i, r = toy_radius(x[0], x[1], x[2]);
    for (int k = 0; k < 3; k++) x[k] *= r;
  }
  return m;
}

typedef enum Dirt { FLIPPED, REMOVED, DOUBLED, ALL_THREE } Dirt;
static const char *const dirt_name[] = {"flipped", "removed", "doubled", "all three"};

static MeshData make_dirty(const MeshData *m, Dirt dirt, double part) {
  MeshData out = {0};
  Draw d = {5};
  for (size_t i = 0; i < m->vertex_count; i++)
    assert_true(mesh_add_vertex(&out, m->vertex[3 * i], m->vertex[3 * i + 1], m->vertex[3 * i + 2]));
  for (size_t t = 0; t < m->triangle_count; t++) {
    const uint32_t *v = m->triangle + 3 * t;
    bool hit = draw(&d, 0, 1) < part;
    Dirt now = dirt == ALL_THREE ? (Dirt)(t % 3) : dirt;
    if (hit && now == REMOVED) continue;
    bool turn = hit && now == FLIPPED;
    assert_true(mesh_add_triangle(&out, v[0], turn ? v[2] : v[1], turn ? v[1] : v[2]));
    if (hit && now == DOUBLED) assert_true(mesh_add_triangle(&out, v[0], v[1], v[2]));
  }
  return out;
}

static double worst(double a, double b, double scale) { return fabs(a - b) / scale; }

static void check_dirty(const char *name, const MeshData *clean, double part, double tolerance) {
  Mesh good = build(clean);
  double size = good.radius, most = fmax(good.second[0], fmax(good.second[1], good.second[2]));
  for (Dirt dirt = FLIPPED; dirt <= ALL_THREE; dirt++) {
    MeshData m = make_dirty(clean, dirt, part);
    Mesh mesh = build(&m);
    double mass = worst(mesh.volume, good.volume, good.volume), center = norm(sub(mesh.origin, good.origin)) / size;
    double trace = good.second[0] + good.second[1] + good.second[2];
    double inertia = worst(mesh.second[0] + mesh.second[1] + mesh.second[2], trace, most);
    printf("  %s, %g %% %s: mass off by %.2g, plain integral by %.2g; centre %.2g, inertia %.2g\n", name, 100 * part,
           dirt_name[dirt], mass, worst(mesh.plain_volume, good.volume, good.volume), center, inertia);
    assert_true(mesh.source == ABD_VOLUME_COVERED || (part > 0.1 && mesh.source == ABD_VOLUME_SAMPLED));
    if (!(mass <= tolerance && center <= tolerance && inertia <= 3 * tolerance))
      fail_msg("%s, %s: mass %g, centre %g, inertia %g", name, dirt_name[dirt], mass, center, inertia);
    mesh_destroy(&mesh);
    mesh_data_free(&m);
  }
  mesh_destroy(&good);
}

static void test_dirty(void **state) {
  (void)state;
  MeshData sphere, torus, rabbit = toy();
  assert_true(shape_sphere(0.5, 3, &sphere) && shape_torus(0.4, 0.1, 0, 48, 24, &torus));
  const double part[] = {0.1, 0.2};
  for (int k = 0; k < 2; k++) {
    double tolerance = 0.01 * fmax(1, part[k] / 0.1);
    check_dirty("sphere", &sphere, part[k], tolerance);
    check_dirty("torus", &torus, part[k], tolerance);
    check_dirty("toy", &rabbit, part[k], tolerance);
  }
  mesh_data_free(&sphere);
  mesh_data_free(&torus);
  mesh_data_free(&rabbit);
}

/* The triangles whose centres are between two heights, without unused vertices. Frees the mesh. */
static MeshData cut(MeshData *m, double low, double high) {
  MeshData out = {0};
  uint32_t *number = calloc(m->vertex_count, sizeof *number);
  assert_non_null(number);
  for (size_t t = 0; t < m->triangle_count; t++) {
    const uint32_t *v = m->triangle + 3 * t;
    uint32_t w[3];
    double z = 0;
    for (int k = 0; k < 3; k++) z += m->vertex[3 * v[k] + 2] / 3;
    if (z < low || z > high) continue;
    for (int k = 0; k < 3; k++) {
      const double *x = m->vertex + 3 * v[k];
      if (!number[v[k]]) {
        assert_true(mesh_add_vertex(&out, x[0], x[1], x[2]));
        number[v[k]] = (uint32_t)out.vertex_count;
      }
      w[k] = number[v[k]] - 1;
    }
    assert_true(mesh_add_triangle(&out, w[0], w[1], w[2]));
  }
  free(number);
  mesh_data_free(m);
  return out;
}

static void expect_volume(const char *name, MeshData m, AbdVolumeSource source, double volume, double tolerance) {
  Mesh mesh = build(&m);
  printf("  %s: %g, expected %g, off by %.2g\n", name, mesh.volume, volume, fabs(mesh.volume / volume - 1));
  if (mesh.source != source) fail_msg("%s: source %d, expected %d", name, (int)mesh.source, (int)source);
  if (!(fabs(mesh.volume - volume) <= tolerance * volume)) fail_msg("%s: %.9g", name, mesh.volume);
  mesh_destroy(&mesh);
  mesh_data_free(&m);
}

static MeshData ball(void) {
  MeshData m;
  assert_true(shape_sphere(0.5, 4, &m));
  return m;
}

static MeshData tube(double length) {
  MeshData m;
  assert_true(shape_cylinder(0.5, length, 64, &m));
  return cut(&m, -0.4 * length, 0.4 * length);
}

static MeshData box(double x, double y, double z) {
  MeshData m;
  assert_true(shape_box((double[3]){x, y, z}, &m));
  return m;
}

/* Large openings make a sheet, which is as large as its area. */
static void test_sheets(void **state) {
  (void)state;
  const double pi = 3.14159265358979323846;
  MeshData m = ball(), grid;
  expect_volume("bowl", cut(&m, -1, 0.2), ABD_VOLUME_SHEET, 2 * pi * 0.5 * 0.7, 0.02);
  m = ball();
  expect_volume("ball with a small hole", cut(&m, -1, 0.45), ABD_VOLUME_COVERED, 0.5187, 0.001);
  expect_volume("short tube", tube(2), ABD_VOLUME_SHEET, 2 * pi, 0.002);
  expect_volume("long tube", tube(4), ABD_VOLUME_COVERED, pi, 0.003);
  m = box(1, 1, 1);
  expect_volume("box without its top", cut(&m, -1, 0.4), ABD_VOLUME_SHEET, 5, 1e-12);
  assert_true(shape_grid((double[2]){1, 1}, (int[2]){8, 8}, &grid));
  expect_volume("flat sheet", grid, ABD_VOLUME_SHEET, 1, 1e-12);
}

static MeshData both(MeshData a, MeshData b, double x, double y, double z) {
  assert_true(shape_append(&a, &b, (double[3]){x, y, z}));
  return a;
}

static void flip(MeshData *m, size_t t) {
  uint32_t *c = m->triangle + 3 * t, keep = c[1];
  c[1] = c[2], c[2] = keep;
}

/* Shells that overlap count once; shells apart and an inner shell that is turned inward as they are. */
static void test_shells(void **state) {
  (void)state;
  const double pi = 3.14159265358979323846;
  Mesh one;
  MeshData m = ball();
  one = build(&m);
  double v = one.volume, lens = pi / 12 * (4 * 0.5 + 0.5) * (2 * 0.5 - 0.5) * (2 * 0.5 - 0.5);
  mesh_destroy(&one);
  mesh_data_free(&m);
  expect_volume("two balls that overlap", both(ball(), ball(), 0.5, 0, 0), ABD_VOLUME_SAMPLED, 2 * v - lens, 0.002);
  expect_volume("two balls apart", both(ball(), ball(), 2, 0, 0), ABD_VOLUME_ENCLOSED, 2 * v, 1e-12);
  expect_volume("small overlap", both(box(1, 1, 1), box(1, 1, 1), 0.84, 0.84, 0.84), ABD_VOLUME_SAMPLED, 2 - 0.004096,
                1e-4);
  expect_volume("smaller overlap", both(box(1, 1, 1), box(1, 1, 1), 0.9, 0.9, 0.9), ABD_VOLUME_ENCLOSED, 2, 1e-12);
  MeshData small = ball();
  for (size_t i = 0; i < 3 * small.vertex_count; i++) small.vertex[i] *= 0.7;
  expect_volume("ball in a ball", both(ball(), small, 0.01, 0.02, 0.03), ABD_VOLUME_SAMPLED, v, 2e-4);
  MeshData inner = box(0.5, 0.5, 0.5);
  for (size_t t = 0; t < inner.triangle_count; t++) flip(&inner, t);
  expect_volume("hollow box", both(box(1, 1, 1), inner, 0, 0, 0), ABD_VOLUME_ENCLOSED, 0.875, 1e-12);
  m = ball();
  for (size_t t = 0; t < m.triangle_count; t++) flip(&m, t);
  m.triangle_count--;
  expect_volume("inside out with a hole", m, ABD_VOLUME_COVERED, v, 1e-12);
}

/* Turns the triangles whose centres are above a height, or each second one. */
static MeshData flipped(MeshData m, double above, bool second) {
  for (size_t t = 0; t < m.triangle_count; t++) {
    double z = 0;
    for (int k = 0; k < 3; k++) z += m.vertex[3 * m.triangle[3 * t + (size_t)k] + 2] / 3;
    if (second ? t % 2 == 0 : z > above) flip(&m, t);
  }
  return m;
}

/* A band of n squares, turned over by half a turn if it is twisted. */
static MeshData band(int n, bool twisted) {
  MeshData m = {0};
  for (int i = 0; i < n; i++) {
    double a = 2 * 3.14159265358979323846 * i / n, b = twisted ? a / 2 : 0;
    for (int side = -1; side <= 1; side += 2)
      assert_true(mesh_add_vertex(&m, cos(a) * (1 + 0.05 * side * cos(b)), sin(a) * (1 + 0.05 * side * cos(b)),
                                  0.05 * side * sin(b)));
  }
  for (int i = 0; i < n; i++) {
    uint32_t a = 2 * (uint32_t)i, b = a + 1, c = (a + 2) % (2 * (uint32_t)n), d = c + 1;
    if (twisted && i == n - 1) c = 1, d = 0;
    assert_true(mesh_add_triangle(&m, a, c, b) && mesh_add_triangle(&m, b, c, d));
  }
  return m;
}

/* Faces of any orientation, as CAD programs write them: the volume is exact, a sheet stays a sheet. */
static void test_flipped_faces(void **state) {
  (void)state;
  MeshData m = ball(), rod;
  Mesh one = build(&m);
  double v = one.volume;
  mesh_destroy(&one);
  mesh_data_free(&m);
  expect_volume("ball, a half flipped", flipped(ball(), 0, false), ABD_VOLUME_COVERED, v, 1e-12);
  expect_volume("ball, a cap flipped", flipped(ball(), 0.3, false), ABD_VOLUME_COVERED, v, 1e-12);
  expect_volume("ball, each second triangle flipped", flipped(ball(), 0, true), ABD_VOLUME_COVERED, v, 1e-12);
  expect_volume("box, each second triangle flipped", flipped(box(1, 2, 3), 0, true), ABD_VOLUME_COVERED, 6, 1e-12);
  assert_true(shape_cylinder(0.5, 2, 64, &rod));
  one = build(&rod);
  v = one.volume;
  mesh_destroy(&one);
  for (size_t t = 0; t < rod.triangle_count; t++) {
    const uint32_t *c = rod.triangle + 3 * t;
    const double *x = rod.vertex;
    if (x[3 * c[0] + 2] == x[3 * c[1] + 2] && x[3 * c[0] + 2] == x[3 * c[2] + 2]) flip(&rod, t); /* of the two ends */
  }
  expect_volume("cylinder, its ends flipped", rod, ABD_VOLUME_COVERED, v, 1e-12);
  m = ball();
  expect_volume("bowl, a half flipped", flipped(cut(&m, -1, 0.2), -0.2, false), ABD_VOLUME_SHEET,
                2 * 3.14159265358979323846 * 0.5 * 0.7, 0.02);
  expect_volume("band", band(60, false), ABD_VOLUME_SHEET, 0.1 * 2 * 3.14159265358979323846, 0.01);
  expect_volume("Moebius band", band(60, true), ABD_VOLUME_SHEET, 0.1 * 2 * 3.14159265358979323846, 0.01);
}

static double direct_winding(const MeshData *m, Vec3 p) {
  double sum = 0;
  for (size_t t = 0; t < m->triangle_count; t++) {
    Vec3 x[3];
    for (int k = 0; k < 3; k++) x[k] = sub(vec3_from(m->vertex + 3 * m->triangle[3 * t + (size_t)k]), p);
    double a = norm(x[0]), b = norm(x[1]), c = norm(x[2]);
    sum += 2 * atan2(dot(x[0], cross(x[1], x[2])),
                     a * b * c + dot(x[0], x[1]) * c + dot(x[1], x[2]) * a + dot(x[2], x[0]) * b);
  }
  return sum / (4 * 3.14159265358979323846);
}

static void test_winding_number(void **state) {
  (void)state;
  MeshData whole = toy(), m = make_dirty(&whole, ALL_THREE, 0.1);
  Corners *t = malloc(m.triangle_count * sizeof *t);
  Winding w;
  Draw d = {3};
  double most = 0;
  assert_non_null(t);
  for (size_t i = 0; i < 3 * m.triangle_count; i++) t[i / 3].v[i % 3] = vec3_from(m.vertex + 3 * m.triangle[i]);
  assert_true(winding_init(&w, t, (int)m.triangle_count));
  for (int i = 0; i < 300; i++) {
    Vec3 p = draw_vec3(&d, 0.6);
    most = fmax(most, fabs(winding_at(&w, p) - direct_winding(&m, p)));
  }
  printf("  winding number off by at most %g\n", most);
  assert_true(most < 0.06 && most > 0);
  winding_destroy(&w);
  free(t);
  mesh_data_free(&m);
  mesh_data_free(&whole);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_winding_number), cmocka_unit_test(test_dirty),
                                     cmocka_unit_test(test_sheets), cmocka_unit_test(test_shells),
                                     cmocka_unit_test(test_flipped_faces)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
