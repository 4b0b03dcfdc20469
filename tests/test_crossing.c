/* Crossings: exact signs against integers of 128 bits, primitives against a separating axis search in integers, meshes
 * against all pairs of elements. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "geom/crossing.h"
#include "geom/predicate.h"
#include "shape.h"

__extension__ typedef __int128 Wide;

static Shape shape;

static Shape *new_shape(void) {
  shape.vertex_count = shape.triangle_count = 0;
  return &shape;
}

static void init_mesh(Mesh *mesh, const AbdMeshDef *def) {
  AbdError error = {0};
  if (mesh_init(mesh, def, &error) != ABD_OK) fail_msg("mesh_init: %s", error.text);
}

static int wide_sign(Wide x) { return (x > 0) - (x < 0); }

static int64_t random_integer(uint64_t *seed, int64_t limit) {
  return (int64_t)((2 * shape_random(seed) - 1) * (double)limit);
}

/* Coordinates are integers, x and y below 2^30, z below 2^53: the determinant fits in 128 bits. */
static int orient3d_integers(Vec3 a, Vec3 b, Vec3 c, Vec3 d) {
  Wide m[3][3];
  const Vec3 v[3] = {a, b, c};
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < 3; k++) m[i][k] = (Wide)(int64_t)component(v[i], k) - (Wide)(int64_t)component(d, k);
  return wide_sign(m[0][2] * (m[1][0] * m[2][1] - m[2][0] * m[1][1]) +
                   m[1][2] * (m[2][0] * m[0][1] - m[0][0] * m[2][1]) +
                   m[2][2] * (m[0][0] * m[1][1] - m[1][0] * m[0][1]));
}

static int orient3d_naive(Vec3 a, Vec3 b, Vec3 c, Vec3 d) {
  double det = dot(sub(a, d), cross(sub(b, d), sub(c, d)));
  return (det > 0) - (det < 0);
}

static void test_orient3d_convention(void **state) {
  (void)state;
  Vec3 a = vec3(0, 0, 0), b = vec3(1, 0, 0), c = vec3(0, 1, 0);
  assert_int_equal(orient3d_sign(a, b, c, vec3(0.2, 0.2, -1)), 1);
  assert_int_equal(orient3d_sign(a, b, c, vec3(0.2, 0.2, 1)), -1);
  assert_int_equal(orient3d_sign(a, b, c, vec3(7, -3, 0)), 0);
  assert_int_equal(orient3d_sign(a, b, c, vec3(0.3, 0.4, 1e-60)), -1);
  assert_int_equal(orient3d_sign(a, a, c, vec3(0.3, 0.4, 1)), 0);
}

/* d is put on the plane through a, b, c as near as a double can: the sign hangs on the last bits. */
static void test_orient3d_near_coplanar(void **state) {
  (void)state;
  uint64_t seed = 1;
  int zero = 0, naive_wrong = 0;
  for (int trial = 0; trial < 20000; trial++) {
    Vec3 v[4];
    int64_t slope_x = random_integer(&seed, 1 << 21), slope_y = random_integer(&seed, 1 << 21);
    for (int i = 0; i < 4; i++) {
      int64_t x = random_integer(&seed, 1 << 30), y = random_integer(&seed, 1 << 30);
      int64_t off = trial % 4 == 0 ? 0 : random_integer(&seed, 3);
      v[i] = vec3((double)x, (double)y, (double)(slope_x * x + slope_y * y + off));
    }
    int expected = orient3d_integers(v[0], v[1], v[2], v[3]), sign = orient3d_sign(v[0], v[1], v[2], v[3]);
    if (sign != expected) fail_msg("trial %d: sign %d, expected %d", trial, sign, expected);
    assert_int_equal(orient3d_sign(v[1], v[0], v[2], v[3]), -expected);
    zero += expected == 0;
    naive_wrong += orient3d_naive(v[0], v[1], v[2], v[3]) != expected;
  }
  if (zero < 5000 || naive_wrong < 1000) fail_msg("only %d coplanar, %d hard cases", zero, naive_wrong);
}

static void test_orient3d_grid(void **state) {
  (void)state;
  uint64_t seed = 2;
  for (int trial = 0; trial < 20000; trial++) {
    Vec3 v[4], w[4];
    for (int i = 0; i < 4; i++) {
      for (int k = 0; k < 3; k++) (&v[i].x)[k] = (double)random_integer(&seed, 3);
      w[i] = scale(0x1p-40, add(v[i], vec3(0x1p30, -0x1p31, 0x1p29))); /* exact; shifting and scaling keep the sign */
    }
    int expected = orient3d_integers(v[0], v[1], v[2], v[3]);
    assert_int_equal(orient3d_sign(v[0], v[1], v[2], v[3]), expected);
    assert_int_equal(orient3d_sign(w[0], w[1], w[2], w[3]), expected);
  }
}

static void test_orient2d(void **state) {
  (void)state;
  uint64_t seed = 3;
  int zero = 0;
  for (int trial = 0; trial < 20000; trial++) {
    int64_t dx = random_integer(&seed, 1 << 25), dy = random_integer(&seed, 1 << 25), x[3], y[3];
    for (int i = 0; i < 3; i++) {
      int64_t s = random_integer(&seed, 1 << 26);
      x[i] = s * dx;
      y[i] = s * dy + (trial % 4 == 0 ? 0 : random_integer(&seed, 3));
    }
    int expected = wide_sign((Wide)(x[0] - x[2]) * (y[1] - y[2]) - (Wide)(y[0] - y[2]) * (x[1] - x[2]));
    Vec2 a = {(double)x[0], (double)y[0]}, b = {(double)x[1], (double)y[1]}, c = {(double)x[2], (double)y[2]};
    int sign = orient2d_sign(a, b, c);
    if (sign != expected) fail_msg("trial %d: sign %d, expected %d", trial, sign, expected);
    zero += expected == 0;
  }
  if (zero < 5000) fail_msg("only %d collinear", zero);
}

/* Two convex hulls of small integer points are apart if some axis separates them strictly; all differences of points,
 * their cross products, and the cross products of these with differences hold one if there is one. */
static bool axis_separates(Vec3 axis, const Vec3 *a, int na, const Vec3 *b, int nb) {
  double a_lo = INFINITY, a_hi = -INFINITY, b_lo = INFINITY, b_hi = -INFINITY;
  for (int i = 0; i < na; i++) {
    a_lo = fmin(a_lo, dot(axis, a[i]));
    a_hi = fmax(a_hi, dot(axis, a[i]));
  }
  for (int i = 0; i < nb; i++) {
    b_lo = fmin(b_lo, dot(axis, b[i]));
    b_hi = fmax(b_hi, dot(axis, b[i]));
  }
  return a_hi < b_lo || b_hi < a_lo;
}

static bool hulls_share_point(const Vec3 *a, int na, const Vec3 *b, int nb) {
  Vec3 point[6], direction[15];
  int n = 0, count = 0;
  for (int i = 0; i < na; i++) point[n++] = a[i];
  for (int i = 0; i < nb; i++) point[n++] = b[i];
  for (int i = 0; i < n; i++)
    for (int j = i + 1; j < n; j++) direction[count++] = sub(point[j], point[i]);
  for (int i = 0; i < count; i++) {
    if (axis_separates(direction[i], a, na, b, nb)) return false;
    for (int j = i + 1; j < count; j++) {
      Vec3 normal = cross(direction[i], direction[j]);
      if (axis_separates(normal, a, na, b, nb)) return false;
      for (int k = 0; k < count; k++)
        if (axis_separates(cross(normal, direction[k]), a, na, b, nb)) return false;
    }
  }
  return true;
}

static bool primitives_cross(const Vec3 *a, int na, const Vec3 *b, int nb) {
  if (na == 3 && nb == 3) return triangle_crosses_triangle(a, b);
  if (na == 3) return segment_crosses_triangle(b[0], b[nb - 1], a[0], a[1], a[2]);
  if (nb == 3) return segment_crosses_triangle(a[0], a[na - 1], b[0], b[1], b[2]);
  return segment_crosses_segment(a[0], a[na - 1], b[0], b[nb - 1]);
}

/* On a tiny grid shared corners, touching edges, coplanar and degenerate cases are frequent. */
static void test_primitives_on_a_grid(void **state) {
  (void)state;
  uint64_t seed = 4;
  int crossing = 0, apart = 0;
  for (int trial = 0; trial < 6000; trial++) {
    int na = 1 + trial % 3, nb = 1 + trial / 3 % 3, size = 2 + trial / 9 % 3;
    bool flat = trial / 27 % 2;
    Vec3 v[6];
    for (int i = 0; i < 6; i++) {
      for (int k = 0; k < 3; k++) (&v[i].x)[k] = (double)random_integer(&seed, size);
      if (flat) v[i].z = v[i].x + v[i].y;
    }
    bool expected = hulls_share_point(v, na, v + 3, nb), cross_ab = primitives_cross(v, na, v + 3, nb);
    if (cross_ab != expected || primitives_cross(v + 3, nb, v, na) != expected) {
      for (int i = 0; i < 6; i++) print_message("(%g, %g, %g)\n", v[i].x, v[i].y, v[i].z);
      fail_msg("trial %d, %d against %d vertices: crossing %d, expected %d", trial, na, nb, cross_ab, expected);
    }
    crossing += expected;
    apart += !expected;
  }
  if (crossing < 500 || apart < 500) fail_msg("%d crossing, %d apart", crossing, apart);
}

static void test_known_triangles(void **state) {
  (void)state;
  Vec3 a[3] = {vec3(0, 0, 0), vec3(1, 0, 0), vec3(0, 1, 0)};
  Vec3 corner[3] = {vec3(0, 0, 0), vec3(-1, 0, 1), vec3(0, -1, 1)};
  Vec3 overlapping[3] = {vec3(0.2, 0.2, 0), vec3(3, 0, 0), vec3(0, 3, 0)};
  Vec3 inside[3] = {vec3(0.2, 0.2, 0), vec3(0.3, 0.2, 0), vec3(0.2, 0.3, 0)};
  Vec3 beside[3] = {vec3(1, 1, 0), vec3(2, 1, 0), vec3(1, 2, 0)};
  Vec3 piercing[3] = {vec3(0.2, 0.2, -1), vec3(0.2, 0.2, 1), vec3(5, 5, 1)};
  assert_true(triangle_crosses_triangle(a, corner));
  assert_true(triangle_crosses_triangle(a, overlapping));
  assert_true(triangle_crosses_triangle(a, inside));
  assert_true(triangle_crosses_triangle(inside, a));
  assert_false(triangle_crosses_triangle(a, beside));
  assert_true(triangle_crosses_triangle(a, piercing));
  assert_true(triangle_crosses_triangle(a, a));
  for (int k = 0; k < 3; k++) corner[k].z = nextafter(corner[k].z, 1); /* one ulp up is apart */
  assert_false(triangle_crosses_triangle(a, corner));
  for (int k = 0; k < 3; k++) overlapping[k].z = 0x1p-300;
  assert_false(triangle_crosses_triangle(a, overlapping));
  /* A point on the slanted edge x + y = 1, exactly and one ulp beyond. */
  Vec3 on = vec3(0.25, 0.75, 0), beyond = vec3(0.25, nextafter(0.75, 1), 0);
  assert_true(segment_crosses_triangle(on, on, a[0], a[1], a[2]));
  assert_false(segment_crosses_triangle(beyond, beyond, a[0], a[1], a[2]));
}

static bool meshes_cross_brute(const Mesh *a, const Affine *pa, const Mesh *b, const Affine *pb) {
  for (int i = 0; i < a->element_count; i++)
    for (int j = 0; j < b->element_count; j++) {
      Vec3 u[3], v[3];
      for (int k = 0; k < 3; k++) u[k] = affine_point(pa, a->vertex[a->element[i].vertex[k]]);
      for (int k = 0; k < 3; k++) v[k] = affine_point(pb, b->vertex[b->element[j].vertex[k]]);
      if (primitives_cross(u, a->element[i].vertex_count, v, b->element[j].vertex_count)) return true;
    }
  return false;
}

static void assert_crossing_names_a_crossing(const Mesh *a, const Affine *pa, const Mesh *b, const Affine *pb,
                                             Crossing c) {
  const Element *ea = &a->element[c.element_a], *eb = &b->element[c.element_b];
  Box box_a = box_empty(), box_b = box_empty();
  Vec3 u[3], v[3];
  for (int k = 0; k < 3; k++) box_a = box_add(box_a, u[k] = affine_point(pa, a->vertex[ea->vertex[k]]));
  for (int k = 0; k < 3; k++) box_b = box_add(box_b, v[k] = affine_point(pb, b->vertex[eb->vertex[k]]));
  assert_true(primitives_cross(u, ea->vertex_count, v, eb->vertex_count));
  Box point = {c.point, c.point};
  assert_true(box_contains(box_inflate(box_a, 1e-9), point) && box_contains(box_inflate(box_b, 1e-9), point));
}

/* Poses near touching, a mesh against itself (two bodies that share one) and against one with wires and points. */
static void test_meshes_against_all_pairs(void **state) {
  (void)state;
  static const uint32_t edge[] = {0, 32, 32, 33, 33, 34};
  uint64_t seed = 5;
  Mesh torus, mixed;
  Shape *s = new_shape();
  shape_torus(s, 1, 0.35, 14, 8);
  AbdMeshDef def = shape_def(s, "torus");
  init_mesh(&torus, &def);
  s = new_shape();
  shape_torus(s, 0.7, 0.2, 8, 4);
  for (int i = 0; i < 4; i++) shape_vertex(s, 0.1 * i, 0, 0.8 + 0.2 * i);
  for (int i = 0; i < 4; i++) shape_vertex(s, 1 + 0.3 * i, 1, 0.5);
  def = shape_def(s, "torus with wires and points");
  def.edge = edge;
  def.edge_count = 3;
  init_mesh(&mixed, &def);
  int crossing = 0, apart = 0;
  for (int trial = 0; trial < 400; trial++) {
    const Mesh *b = trial % 2 ? &mixed : &torus;
    Vec3 center = shape_random_vec3(&seed, 50);
    Affine pa = affine(center, mat3_exp(shape_random_vec3(&seed, 2)));
    Affine pb = affine(add(center, scale(1.0 + shape_random(&seed), unit(shape_random_vec3(&seed, 1)))),
                       mat3_exp(shape_random_vec3(&seed, 2)));
    Crossing c;
    bool found = mesh_find_crossing(&torus, &pa, b, &pb, &c), expected = meshes_cross_brute(&torus, &pa, b, &pb);
    if (found != expected) fail_msg("trial %d: found %d, expected %d", trial, found, expected);
    assert_int_equal(mesh_find_crossing(b, &pb, &torus, &pa, NULL), expected);
    if (found) assert_crossing_names_a_crossing(&torus, &pa, b, &pb, c);
    crossing += expected;
    apart += !expected;
  }
  if (crossing < 50 || apart < 50) fail_msg("%d crossing, %d apart", crossing, apart);
  mesh_destroy(&torus);
  mesh_destroy(&mixed);
}

static void test_touching_boxes(void **state) {
  (void)state;
  Mesh box;
  Shape *s = new_shape();
  shape_box(s, 1, 1, 1);
  AbdMeshDef def = shape_def(s, "box");
  init_mesh(&box, &def);
  Affine at = affine(vec3(0, 0, 0), mat3_identity()), above = affine(vec3(0.25, 0.125, 1), mat3_identity());
  assert_true(mesh_find_crossing(&box, &at, &box, &above, NULL));
  above.n[0].z = nextafter(1, 2);
  assert_false(mesh_find_crossing(&box, &at, &box, &above, NULL));
  above.n[0] = vec3(1, 1, 1); /* corner to corner */
  assert_true(mesh_find_crossing(&box, &at, &box, &above, NULL));
  above.n[0] = vec3(1, 1, nextafter(1, 2));
  assert_false(mesh_find_crossing(&box, &at, &box, &above, NULL));
  assert_true(mesh_find_crossing(&box, &at, &box, &at, NULL));
  Affine inner = affine(vec3(0, 0, 0), mat3_scale(0.5, mat3_identity())); /* inside, surfaces apart */
  assert_false(mesh_find_crossing(&box, &at, &box, &inner, NULL));
  mesh_destroy(&box);
}

static void test_half_space(void **state) {
  (void)state;
  Mesh box, ground;
  Shape *s = new_shape();
  shape_box(s, 1, 1, 1);
  AbdMeshDef def = shape_def(s, "box");
  init_mesh(&box, &def);
  s = new_shape();
  for (int i = 0; i < 4; i++) shape_vertex(s, i & 1, i >> 1, 0);
  shape_triangle(s, 0, 1, 3);
  shape_triangle(s, 0, 3, 2);
  def = shape_def(s, "ground");
  def.half_space = true;
  init_mesh(&ground, &def);
  Affine at = affine(vec3(0, 0, 0), mat3_identity()), pose = affine(vec3(40, 30, 0.5), mat3_identity());
  Crossing c = {0};
  assert_true(mesh_find_crossing(&ground, &at, &box, &pose, &c));
  assert_int_equal(ground.element[c.element_a].triangle, 0);
  assert_true(c.point.z == 0 && fabs(c.point.x - 40) == 0.5);
  pose.n[0].z = nextafter(0.5, 1);
  assert_false(mesh_find_crossing(&ground, &at, &box, &pose, &c));
  assert_false(mesh_find_crossing(&box, &pose, &ground, &at, &c));
  pose.n[0].z = -9; /* wholly behind the plane */
  assert_true(mesh_find_crossing(&box, &pose, &ground, &at, &c));
  assert_int_equal(ground.element[c.element_b].triangle, 0);
  mesh_destroy(&box);
  mesh_destroy(&ground);
}

static void test_self_crossings(void **state) {
  (void)state;
  Mesh mesh;
  int pair[4][2];
  Shape *s = new_shape();
  shape_torus(s, 1, 0.35, 14, 8);
  AbdMeshDef def = shape_def(s, "torus");
  init_mesh(&mesh, &def);
  assert_int_equal(side_find_self_crossings(side_stiff(&mesh), pair, 4), 0);
  mesh_destroy(&mesh);
  s->vertex_count = s->triangle_count = 0;
  shape_box(s, 1, 1, 1);
  shape_move(s, affine(vec3(0.3, 0.4, 0.2), mat3_exp(vec3(0.1, 0.2, 0.3))));
  shape_box(s, 1, 1, 1);
  def = shape_def(s, "two boxes");
  init_mesh(&mesh, &def);
  int count = side_find_self_crossings(side_stiff(&mesh), pair, 4), brute = 0;
  for (int i = 0; i < mesh.element_count; i++)
    for (int j = 0; j < mesh.element_count; j++) {
      const int *a = mesh.element[i].vertex, *b = mesh.element[j].vertex;
      Vec3 u[3] = {mesh.vertex[a[0]], mesh.vertex[a[1]], mesh.vertex[a[2]]};
      Vec3 v[3] = {mesh.vertex[b[0]], mesh.vertex[b[1]], mesh.vertex[b[2]]};
      brute += a[0] < 8 && b[0] >= 8 && triangle_crosses_triangle(u, v);
    }
  assert_true(brute > 4);
  assert_int_equal(count, brute);
  for (int k = 0; k < 4; k++)
    assert_true((mesh.element[pair[k][0]].vertex[0] < 8) != (mesh.element[pair[k][1]].vertex[0] < 8));
  mesh_destroy(&mesh);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_orient3d_convention),
      cmocka_unit_test(test_orient3d_near_coplanar),
      cmocka_unit_test(test_orient3d_grid),
      cmocka_unit_test(test_orient2d),
      cmocka_unit_test(test_primitives_on_a_grid),
      cmocka_unit_test(test_known_triangles),
      cmocka_unit_test(test_meshes_against_all_pairs),
      cmocka_unit_test(test_touching_boxes),
      cmocka_unit_test(test_half_space),
      cmocka_unit_test(test_self_crossings),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
