/* Triangles without area: every built-in shape and ten meshes of fixtures with 1 %, 10 % and 50 % of their edges split,
 * so that each split leaves a triangle whose corners are on a line. They weigh what the clean mesh weighs, fly as it
 * flies and come to rest where it does. Piles of such bodies, of bodies with edges without length, and of part meshes
 * as tessellators write them run without a crossing.
 * Labels: slow */
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
#include "math/vec.h"
#include "mesh_copy.h"
#include "scene/shape.h"

/* ---- Splitting edges ---- */

/* The triangle that traverses the edge from a to b; triangle_count if there is none. */
static size_t triangle_along(const MeshData *m, uint32_t a, uint32_t b) {
  size_t t = 0;
  for (; t < m->triangle_count; t++)
    for (int k = 0; k < 3; k++)
      if (m->triangle[3 * t + (size_t)k] == a && m->triangle[3 * t + (size_t)(k + 1) % 3] == b) return t;
  return t;
}

static uint32_t opposite(const uint32_t *t, uint32_t a, uint32_t b) {
  for (int k = 0; k < 3; k++)
    if (t[k] != a && t[k] != b) return t[k];
  return a;
}

/* Puts a vertex on the edge from a to b. The triangle behind the edge is cut in two, the one before it is not; a
 * triangle without area joins them. */
static void split_edge(MeshData *m, uint32_t a, uint32_t b, double share) {
  size_t behind = triangle_along(m, b, a);
  const double *x = m->vertex + 3 * a, *y = m->vertex + 3 * b;
  if (behind == m->triangle_count) return;
  uint32_t v = (uint32_t)m->vertex_count, d = opposite(m->triangle + 3 * behind, a, b);
  double at[3];
  for (int k = 0; k < 3; k++) at[k] = (1 - share) * x[k] + share * y[k];
  assert_true(mesh_add_vertex(m, at[0], at[1], at[2]));
  uint32_t *t = m->triangle + 3 * behind;
  t[0] = b, t[1] = v, t[2] = d;
  assert_true(mesh_add_triangle(m, v, a, d));
  assert_true(mesh_add_triangle(m, b, a, v));
}

/* Some splits hit the edges of triangles without area that earlier ones left. */
static MeshData split_mesh(const MeshData *clean, double part) {
  MeshData m = copy_mesh(clean);
  Draw d = {7};
  size_t edges = 3 * clean->triangle_count / 2, count = (size_t)ceil(part * (double)edges);
  for (size_t i = 0; i < count; i++) {
    size_t corner = (size_t)draw(&d, 0, 3 * (double)m.triangle_count - 0.5);
    uint32_t a = m.triangle[corner], b = m.triangle[corner % 3 == 2 ? corner - 2 : corner + 1];
    split_edge(&m, a, b, i % 2 ? 0.5 : draw(&d, 0.1, 0.9));
  }
  return m;
}

/* ---- Worlds of one body ---- */

typedef struct Fall {
  AbdWorld *world;
  AbdBodyId body;
} Fall;

static void expect_ok(const AbdWorld *world, AbdStatus status) {
  if (status != ABD_OK) fail_msg("%s", abd_world_error(world));
}

static AbdMeshId add_mesh(AbdWorld *world, const MeshData *m) {
  AbdMeshDef def = abd_default_mesh_def();
  AbdMeshId id;
  def.name = "part";
  def.vertex = m->vertex, def.vertex_count = m->vertex_count;
  def.triangle = m->triangle, def.triangle_count = m->triangle_count;
  expect_ok(world, abd_world_add_mesh(world, &def, &id));
  return id;
}

static AbdWorld *new_world(bool ground) {
  AbdError error;
  AbdWorldDef def = abd_default_world_def();
  def.dt = 0.01;
  def.solver.threads = 1;
  def.contact.friction = 0.5;
  if (!ground) def.gravity[2] = -1;
  AbdWorld *world = abd_world_create(&def, &error);
  if (!world) fail_msg("%s", error.text);
  return world;
}

static Fall new_fall(const MeshData *m, const MeshData *ground, const double position[3], const double rotation[4]) {
  Fall f = {.world = new_world(ground != NULL)};
  AbdBodyDef def = abd_default_body_def();
  def.mesh = add_mesh(f.world, m);
  memcpy(def.position, position, sizeof def.position);
  memcpy(def.rotation, rotation, sizeof def.rotation);
  if (!ground) def.angular_velocity[0] = 1, def.angular_velocity[1] = 2, def.velocity[0] = 0.5;
  expect_ok(f.world, abd_world_add_body(f.world, &def, &f.body));
  if (ground) {
    AbdBodyDef base = abd_default_body_def();
    base.mesh = add_mesh(f.world, ground);
    base.motion = ABD_MOTION_STATIC;
    expect_ok(f.world, abd_world_add_body(f.world, &base, NULL));
  }
  expect_ok(f.world, abd_world_start(f.world));
  return f;
}

static void run_steps(const Fall *f, int steps) {
  for (int i = 0; i < steps; i++) {
    AbdStepReport report;
    expect_ok(f->world, abd_world_step(f->world, &report));
    if (report.outcome != ABD_CONVERGED) fail_msg("step %d: %s", i, abd_outcome_name(report.outcome));
  }
}

/* The pose in the coordinates of the mesh file. */
static Affine file_pose(const Fall *f) {
  AbdMeshView view;
  Affine q;
  double nodes[12];
  expect_ok(f->world, abd_mesh_view(f->world, (AbdMeshId){1}, &view));
  expect_ok(f->world, abd_body_nodes(f->world, f->body, nodes));
  memcpy(&q, nodes, sizeof q);
  Mat3 axes = mat3(vec3_from(view.axes), vec3_from(view.axes + 3), vec3_from(view.axes + 6));
  Mat3 a = mat3_mul(affine_linear(&q), mat3_transpose(axes));
  return affine(sub(q.n[0], mat3_mul_vec(a, vec3_from(view.origin))), a);
}

static double size_of(const MeshData *m) {
  Box box = box_empty();
  for (size_t i = 0; i < m->vertex_count; i++) box = box_add(box, vec3_from(m->vertex + 3 * i));
  return norm(sub(box.hi, box.lo));
}

/* The farthest that two poses put a vertex of the mesh apart. */
static double apart(const MeshData *m, Affine p, Affine q) {
  double most = 0;
  for (size_t i = 0; i < m->vertex_count; i++) {
    Vec3 x = vec3_from(m->vertex + 3 * i);
    most = fmax(most, norm(sub(affine_point(&p, x), affine_point(&q, x))));
  }
  return most;
}

/* ---- Comparisons ---- */

static void sort3(double x[3]) {
  for (int i = 0; i < 3; i++)
    for (int j = i + 1; j < 3; j++) {
      double low = fmin(x[i], x[j]), high = fmax(x[i], x[j]);
      x[i] = low, x[j] = high;
    }
}

/* The order of equal axes depends on rounding. */
static void check_mass(const char *name, const Fall *clean, const Fall *split) {
  AbdBodyView a, b;
  AbdMeshView u, v;
  expect_ok(clean->world, abd_body_view(clean->world, clean->body, &a));
  expect_ok(split->world, abd_body_view(split->world, split->body, &b));
  expect_ok(clean->world, abd_mesh_view(clean->world, (AbdMeshId){1}, &u));
  expect_ok(split->world, abd_mesh_view(split->world, (AbdMeshId){1}, &v));
  sort3(a.inertia);
  sort3(b.inertia);
  double most = fmax(a.inertia[0], fmax(a.inertia[1], a.inertia[2]));
  assert_int_equal(u.closed, v.closed);
  if (!(fabs(a.mass - b.mass) <= 1e-12 * a.mass)) fail_msg("%s: mass %.17g, split %.17g", name, a.mass, b.mass);
  for (int k = 0; k < 3; k++)
    if (!(fabs(a.inertia[k] - b.inertia[k]) <= 1e-12 * most))
      fail_msg("%s: inertia %d is %.17g, split %.17g", name, k, a.inertia[k], b.inertia[k]);
}

static const double origin[3] = {0, 0, 0}, upright[4] = {1, 0, 0, 0};

static void check_flight(const char *name, const MeshData *clean, const MeshData *split) {
  Fall a = new_fall(clean, NULL, origin, upright), b = new_fall(split, NULL, origin, upright);
  check_mass(name, &a, &b);
  run_steps(&a, 30);
  run_steps(&b, 30);
  double way = apart(clean, file_pose(&a), file_pose(&b)) / size_of(clean);
  if (!(way <= 1e-11)) fail_msg("%s: after a flight the split mesh is %g of its size elsewhere", name, way);
  abd_world_destroy(a.world);
  abd_world_destroy(b.world);
}

static MeshData ground_below(double size) {
  MeshData m;
  assert_true(shape_box((double[3]){6 * size, 6 * size, size}, &m));
  for (size_t i = 0; i < m.vertex_count; i++) m.vertex[3 * i + 2] -= size / 2;
  return m;
}

static double lowest(const MeshData *m, Affine q) {
  double low = INFINITY;
  for (size_t i = 0; i < m->vertex_count; i++) low = fmin(low, affine_point(&q, vec3_from(m->vertex + 3 * i)).z);
  return low;
}

static void to_quaternion(Mat3 a, double q[4]) {
  q[0] = 1 + a.c[0].x + a.c[1].y + a.c[2].z;
  q[1] = a.c[1].z - a.c[2].y;
  q[2] = a.c[2].x - a.c[0].z;
  q[3] = a.c[0].y - a.c[1].x;
}

/* The clean mesh falls until it is at rest. From a little above that place both fall, the split one on a ground that is
 * split too. */
static void check_rest(const char *name, const MeshData *clean, const MeshData *split, double part) {
  double size = size_of(clean), q[4], gap = 0.004 * size;
  MeshData ground = ground_below(size), ground_split = split_mesh(&ground, part);
  double start[3] = {0, 0, gap - lowest(clean, affine(vec3(0, 0, 0), mat3_identity()))};
  Fall first = new_fall(clean, &ground, start, upright);
  run_steps(&first, 150);
  Affine rest = file_pose(&first);
  abd_world_destroy(first.world);
  to_quaternion(affine_linear(&rest), q);
  double place[3] = {rest.n[0].x, rest.n[0].y, rest.n[0].z + gap};
  Fall a = new_fall(clean, &ground, place, q), b = new_fall(split, &ground_split, place, q);
  run_steps(&a, 60);
  run_steps(&b, 60);
  double way = apart(clean, file_pose(&a), file_pose(&b)), range = abd_world_settings(a.world).contact.range;
  if (!(way <= range)) fail_msg("%s: comes to rest %g ranges from the clean mesh", name, way / range);
  printf("  %s: %zu -> %zu triangles, at rest %.2g ranges apart\n", name, clean->triangle_count, split->triangle_count,
         way / range);
  abd_world_destroy(a.world);
  abd_world_destroy(b.world);
  mesh_data_free(&ground);
  mesh_data_free(&ground_split);
}

static void check_shape(const char *name, MeshData *clean) {
  static const double part[] = {0.01, 0.1, 0.5};
  for (int k = 0; k < 3; k++) {
    MeshData split = split_mesh(clean, part[k]);
    check_flight(name, clean, &split);
    check_rest(name, clean, &split, part[k]);
    mesh_data_free(&split);
  }
  mesh_data_free(clean);
}

/* ---- Tests ---- */

static void test_shapes(void **state) {
  (void)state;
  MeshData m;
  assert_true(shape_box((double[3]){1, 0.6, 0.4}, &m));
  check_shape("box", &m);
  assert_true(shape_sphere(0.5, 2, &m));
  check_shape("sphere", &m);
  assert_true(shape_cylinder(0.4, 0.5, 24, &m));
  check_shape("cylinder", &m);
  assert_true(shape_cone(0.5, 0.6, 24, &m));
  check_shape("cone", &m);
  assert_true(shape_capsule(0.2, 0.6, 16, &m));
  check_shape("capsule", &m);
  assert_true(shape_torus(0.4, 0.1, 0, 24, 12, &m));
  check_shape("torus", &m);
  assert_true(shape_grid((double[2]){1, 0.7}, (int[2]){6, 5}, &m));
  check_shape("sheet", &m);
}

static void test_fixtures(void **state) {
  (void)state;
  static const char *const file[] = {
      "cube",       "L",           "pot",          "cylinder", "torus", "gears/pin", "wrecking-ball/link",
      "gears/gear", "tet-pyramid", "erleben/wedge"};
  for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
    char path[512];
    MeshData m;
    SceneError error;
    snprintf(path, sizeof path, "%s/fixtures/rigid-ipc/meshes/%s.obj", ABD_SHARED, file[i]);
    FILE *f = fopen(path, "r");
    if (!f) {
      printf("skipped: no shared fixtures\n");
      return;
    }
    fclose(f);
    if (!mesh_load(path, &m, &error)) fail_msg("%s", error.text);
    check_shape(file[i], &m);
  }
}

/* Bodies above each other on the ground; no frame crosses. */
static void run_pile(const MeshData *part, size_t count, int steps) {
  Fall f = {.world = new_world(true)};
  double size = 0, top = 0;
  for (size_t i = 0; i < count; i++) size = fmax(size, size_of(&part[i]));
  for (size_t i = 0; i < count; i++) {
    AbdBodyDef def = abd_default_body_def();
    def.mesh = add_mesh(f.world, &part[i]);
    def.angular_velocity[0] = (double)i;
    def.position[0] = 0.05 * size * (double)(i % 2);
    top += 0.02 * size;
    def.position[2] = top - lowest(&part[i], affine(vec3(0, 0, 0), mat3_identity()));
    top += size_of(&part[i]);
    expect_ok(f.world, abd_world_add_body(f.world, &def, &f.body));
  }
  MeshData ground = ground_below(size), split = split_mesh(&ground, 0.5);
  AbdBodyDef base = abd_default_body_def();
  base.mesh = add_mesh(f.world, &split);
  base.motion = ABD_MOTION_STATIC;
  expect_ok(f.world, abd_world_add_body(f.world, &base, NULL));
  expect_ok(f.world, abd_world_start(f.world));
  for (int i = 0; i < steps; i++) {
    double nodes[12 * 16];
    AbdCrossing crossing;
    run_steps(&f, 1);
    for (uint32_t b = 0; b <= count; b++)
      expect_ok(f.world, abd_body_nodes(f.world, (AbdBodyId){b + 1}, nodes + 12 * b));
    assert_int_equal(abd_world_find_crossings(f.world, nodes, &crossing, 1), 0);
  }
  abd_world_destroy(f.world);
  mesh_data_free(&ground);
  mesh_data_free(&split);
}

static void free_parts(MeshData *part, size_t count) {
  for (size_t i = 0; i < count; i++) mesh_data_free(&part[i]);
}

static void test_pile(void **state) {
  (void)state;
  MeshData clean[5], part[5];
  assert_true(shape_box((double[3]){1, 0.6, 0.4}, &clean[0]) && shape_torus(0.4, 0.1, 0, 12, 6, &clean[1]) &&
              shape_cone(0.5, 0.6, 12, &clean[2]) && shape_sphere(0.3, 1, &clean[3]) &&
              shape_cylinder(0.4, 0.5, 12, &clean[4]));
  for (int i = 0; i < 5; i++) part[i] = split_mesh(&clean[i], 0.5);
  run_pile(part, 5, 100);
  free_parts(part, 5);
  free_parts(clean, 5);
}

/* Moves one end of some edges onto the other: two triangles at each have no area, and the edge has no length; `apart`
 * leaves a length of a few rounding errors. */
static void collapse_edges(MeshData *m, double part, double apart_by) {
  Draw d = {11};
  for (size_t i = 0; i < (size_t)(part * (double)m->vertex_count); i++) {
    size_t corner = (size_t)draw(&d, 0, 3 * (double)m->triangle_count - 0.5);
    uint32_t a = m->triangle[corner], b = m->triangle[corner % 3 == 2 ? corner - 2 : corner + 1];
    for (int k = 0; k < 3; k++) m->vertex[3 * b + (size_t)k] = m->vertex[3 * a + (size_t)k] + apart_by * (k - 1);
  }
}

static void test_collapsed_edges(void **state) {
  (void)state;
  const double apart_by[] = {0, 1e-170, 1e-17, 1e-16, 1e-15, 1e-13};
  for (int k = 0; k < 6; k++) {
    MeshData part[4];
    assert_true(shape_sphere(0.4, 2, &part[0]) && shape_torus(0.4, 0.1, 0, 16, 8, &part[1]) &&
                shape_sphere(0.3, 1, &part[2]) && shape_capsule(0.2, 0.6, 12, &part[3]));
    for (int i = 0; i < 4; i++) collapse_edges(&part[i], 0.3, apart_by[k]);
    run_pile(part, 4, 60);
    free_parts(part, 4);
  }
}

/* A triangle without area is closed to touching: a needle that reaches its edge crosses it. */
static void test_touching(void **state) {
  (void)state;
  MeshData flat = {0}, needle;
  AbdWorld *world = new_world(false);
  AbdCrossing crossing;
  for (int i = 0; i < 3; i++) assert_true(mesh_add_vertex(&flat, i, 0, 0));
  assert_true(mesh_add_triangle(&flat, 0, 1, 2));
  assert_true(shape_box((double[3]){0.5, 0.5, 0.5}, &needle));
  AbdBodyDef def = abd_default_body_def();
  AbdBodyId a, b;
  def.mesh = add_mesh(world, &flat);
  assert_int_equal(abd_world_add_body(world, &def, &a), ABD_ERROR_MESH);
  assert_non_null(strstr(abd_world_error(world), "no volume, area or length"));
  def.motion = ABD_MOTION_STATIC;
  expect_ok(world, abd_world_add_body(world, &def, &a));
  def.motion = ABD_MOTION_DYNAMIC;
  def.mesh = add_mesh(world, &needle);
  def.position[2] = 0.25;
  expect_ok(world, abd_world_add_body(world, &def, &b));
  double nodes_a[12], nodes_b[12];
  expect_ok(world, abd_body_nodes(world, a, nodes_a));
  expect_ok(world, abd_body_nodes(world, b, nodes_b));
  assert_true(abd_world_find_crossing(world, a, nodes_a, b, nodes_b, &crossing));
  nodes_b[2] = nextafter(0.25, 1);
  assert_false(abd_world_find_crossing(world, a, nodes_a, b, nodes_b, &crossing));
  abd_world_destroy(world);
  mesh_data_free(&flat);
  mesh_data_free(&needle);
}

/* Surfaces that touch only at triangles without area do not cross themselves. */
static void test_self_crossing(void **state) {
  (void)state;
  MeshData clean, split;
  assert_true(shape_sphere(0.5, 2, &clean));
  split = split_mesh(&clean, 0.5);
  AbdWorld *world = new_world(false);
  AbdMeshId id = add_mesh(world, &split);
  assert_int_equal(abd_mesh_self_crossings(world, id, NULL, 0), 0);
  abd_world_destroy(world);
  mesh_data_free(&clean);
  mesh_data_free(&split);
}

static void test_parts(void **state) {
  (void)state;
  static const char *const file[] = {"aloha_assets_vx300s_7_gripper_bar.stl",
                                     "boston_dynamics_spot_assets_arm_link_hr0.obj",
                                     "pal_talos_assets_gripper_inner_single.stl"};
  MeshData part[3];
  for (size_t i = 0; i < 3; i++) {
    char path[512];
    SceneError error;
    snprintf(path, sizeof path, "%s/fixtures/meshes/%s", ABD_SHARED, file[i]);
    FILE *f = fopen(path, "r");
    if (!f) {
      printf("skipped: no shared fixtures\n");
      return;
    }
    fclose(f);
    if (!mesh_load(path, &part[i], &error)) fail_msg("%s", error.text);
  }
  run_pile(part, 3, 40);
  free_parts(part, 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_shapes),   cmocka_unit_test(test_fixtures),
                                     cmocka_unit_test(test_pile),     cmocka_unit_test(test_collapsed_edges),
                                     cmocka_unit_test(test_touching), cmocka_unit_test(test_self_crossing),
                                     cmocka_unit_test(test_parts)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
