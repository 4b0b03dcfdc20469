/* Meshes: moments against closed forms, frames, closed surfaces, errors, the tree and its owners, memory failures. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "geom/build.h"
#include "shape.h"

static Shape shape;

static Shape *new_shape(void) {
  shape.vertex_count = shape.triangle_count = 0;
  return &shape;
}

static void assert_near(const char *what, double value, double expected, double tolerance) {
  if (!(fabs(value - expected) <= tolerance))
    fail_msg("%s is %.17g, expected %.17g within %g", what, value, expected, tolerance);
}

static void init_mesh(Mesh *mesh, const AbdMeshDef *def) {
  AbdError error = {0};
  if (mesh_init(mesh, def, &error) != ABD_OK) fail_msg("mesh_init: %s", error.text);
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void assert_second(const Mesh *mesh, double x, double y, double z, double tolerance) {
  double expected[3] = {x, y, z}, second[3] = {mesh->second[0], mesh->second[1], mesh->second[2]};
  qsort(expected, 3, sizeof(double), compare_doubles);
  qsort(second, 3, sizeof(double), compare_doubles);
  for (int k = 0; k < 3; k++) assert_near("second moment", second[k], expected[k], tolerance * expected[2]);
}

/* file = origin + axes rest, axes a rotation, and the rest frame is centred and principal. */
static void assert_frame(const Mesh *mesh, const AbdMeshDef *def) {
  double size = 0;
  for (size_t i = 0; i < def->vertex_count; i++) size = fmax(size, norm(vec3_from(def->vertex + 3 * i)));
  for (size_t i = 0; i < def->vertex_count; i++) {
    Vec3 back = add(mesh->origin, mat3_mul_vec(mesh->axes, mesh->vertex[i]));
    assert_near("distance of a vertex carried back", norm(sub(back, vec3_from(def->vertex + 3 * i))), 0, 1e-14 * size);
  }
  Mat3 should_be_identity = mat3_sub(mat3_tmul(mesh->axes, mesh->axes), mat3_identity());
  assert_near("axes", sqrt(mat3_dot(should_be_identity, should_be_identity)), 0, 1e-14);
  assert_near("det(axes)", mat3_det(mesh->axes), 1, 1e-14);
  Moments m = mesh_moments(mesh, def->thickness, vec3(0, 0, 0));
  double trace = m.second.c[0].x + m.second.c[1].y + m.second.c[2].z;
  assert_near("centre", norm(m.first), 0, 1e-12 * m.volume * (mesh->radius + 1e-300) + 1e-15 * size * m.volume);
  assert_near("xy", m.second.c[0].y, 0, 2e-10 * trace);
  assert_near("xz", m.second.c[0].z, 0, 2e-10 * trace);
  assert_near("yz", m.second.c[1].z, 0, 2e-10 * trace);
}

static bool node_contains(const TreeNode *n, Vec3 v) {
  for (int k = 0; k < 3; k++)
    if (component(v, k) < n->lo[k] || component(v, k) > n->hi[k]) return false;
  return true;
}

static int assert_subtree(const Mesh *mesh, int node, int *seen) {
  const TreeNode *n = &mesh->node[node];
  assert_in_range(node, 0, mesh->node_count - 1);
  if (n->element_count == 0) {
    for (int c = n->left; c < n->left + 2; c++)
      for (int k = 0; k < 3; k++) assert_true(n->lo[k] <= mesh->node[c].lo[k] && mesh->node[c].hi[k] <= n->hi[k]);
    int a = assert_subtree(mesh, n->left, seen), b = assert_subtree(mesh, n->left + 1, seen);
    return 1 + (a > b ? a : b);
  }
  assert_in_range(n->element_count, 1, LEAF_MAX);
  for (int i = n->first; i < n->first + n->element_count; i++) {
    seen[i]++;
    for (int k = 0; k < mesh->element[i].vertex_count; k++)
      assert_true(node_contains(n, mesh->vertex[mesh->element[i].vertex[k]]));
  }
  return 1;
}

/* Every element is met once through the fans, and each lane has the box of what it names. */
static void assert_fans(const Mesh *mesh, int node, int *seen) {
  const TreeNode *n = &mesh->node[node];
  assert_in_range(n->fan, 0, mesh->fan_count - 1);
  const Fan *fan = &mesh->fan[n->fan];
  assert_in_range(fan->count, n->element_count > 0 ? 1 : 2, FAN_WIDTH);
  for (int lane = 0; lane < fan->count; lane++) {
    TreeNode box = {.element_count = 0};
    for (int k = 0; k < 3; k++) {
      box.lo[k] = fan->lo[k][lane];
      box.hi[k] = fan->hi[k][lane];
    }
    if (n->element_count == 0) {
      const TreeNode *below = &mesh->node[fan->index[lane]];
      assert_memory_equal(box.lo, below->lo, sizeof box.lo);
      assert_memory_equal(box.hi, below->hi, sizeof box.hi);
      assert_fans(mesh, fan->index[lane], seen);
      continue;
    }
    const Element *e = &mesh->element[fan->index[lane]];
    seen[fan->index[lane]]++;
    for (int k = 0; k < e->vertex_count; k++) assert_true(node_contains(&box, mesh->vertex[e->vertex[k]]));
  }
}

static void assert_edges_of_element(const Mesh *mesh, const Element *e) {
  for (int k = 0; k < (e->vertex_count == 3 ? 3 : 1); k++) {
    uint32_t a = (uint32_t)e->vertex[k], b = (uint32_t)e->vertex[(k + 1) % (e->vertex_count == 1 ? 1 : 3)];
    const uint32_t *edge = mesh->edge[e->edge[k]];
    if (!((edge[0] == a && edge[1] == b) || (edge[0] == b && edge[1] == a)))
      fail_msg("edge %d is (%u, %u), expected (%u, %u)", e->edge[k], edge[0], edge[1], a, b);
  }
  if (e->vertex_count == 3)
    for (int k = 0; k < 3; k++) assert_int_equal(e->vertex[k], mesh->triangle[e->triangle][k]);
  else assert_int_equal(e->triangle, -1);
}

static void assert_tree(const Mesh *mesh) {
  int *seen = calloc((size_t)mesh->element_count, sizeof(int)),
      *vertex = calloc((size_t)mesh->vertex_count, sizeof(int));
  int *edge = calloc((size_t)mesh->edge_count, sizeof(int)),
      *triangle = calloc((size_t)mesh->triangle_count + 1, sizeof(int));
  int depth = assert_subtree(mesh, 0, seen);
  assert_fans(mesh, 0, seen);
  assert_true(depth <= 2 + log2(mesh->element_count));
  for (int i = 0; i < mesh->element_count; i++) {
    const Element *e = &mesh->element[i];
    assert_edges_of_element(mesh, e);
    for (int k = 0; k < 3; k++) {
      if (e->owned_vertices >> k & 1) vertex[e->vertex[k]]++;
      if (e->owned_edges >> k & 1) edge[e->edge[k]]++;
    }
    if (e->triangle >= 0) triangle[e->triangle]++;
  }
  for (int i = 0; i < mesh->element_count; i++) assert_int_equal(seen[i], 2);
  for (int i = 0; i < mesh->vertex_count; i++) assert_int_equal(vertex[i], 1);
  for (int i = 0; i < mesh->edge_count; i++) assert_int_equal(edge[i], 1);
  for (int i = 0; i < mesh->triangle_count; i++) assert_int_equal(triangle[i], 1);
  free(seen);
  free(vertex);
  free(edge);
  free(triangle);
}

static Affine some_pose(void) { return affine(vec3(300, -200, 55), mat3_exp(vec3(0.7, -1.1, 0.4))); }

static void test_box(void **state) {
  (void)state;
  for (int moved = 0; moved < 2; moved++) {
    Shape *s = new_shape();
    shape_box(s, 1, 2, 3);
    if (moved) shape_move(s, some_pose());
    AbdMeshDef def = shape_def(s, "box");
    Mesh mesh;
    init_mesh(&mesh, &def);
    assert_true(mesh.closed);
    assert_near("volume", mesh.volume, 6, moved ? 1e-11 : 1e-15);
    assert_second(&mesh, 0.5, 2, 4.5, moved ? 1e-11 : 1e-15);
    assert_near("radius", mesh.radius, sqrt(14) / 2, 1e-11);
    assert_int_equal(mesh.edge_count, 18);
    assert_int_equal(mesh.element_count, 12);
    if (!moved)
      for (int i = 0; i < 8; i++) assert_memory_equal(&mesh.vertex[i], def.vertex + 3 * i, sizeof(Vec3));
    assert_frame(&mesh, &def);
    assert_tree(&mesh);
    mesh_destroy(&mesh);
  }
}

static void test_tetrahedron(void **state) {
  (void)state;
  Shape *s = new_shape();
  for (int i = 0; i < 4; i++) shape_vertex(s, i == 1, i == 2, i == 3);
  shape_triangle(s, 0, 2, 1);
  shape_triangle(s, 0, 1, 3);
  shape_triangle(s, 0, 3, 2);
  shape_triangle(s, 1, 2, 3);
  AbdMeshDef def = shape_def(s, "tetrahedron");
  Mesh mesh;
  init_mesh(&mesh, &def);
  assert_true(mesh.closed);
  assert_near("volume", mesh.volume, 1.0 / 6, 1e-16);
  assert_near("centre", norm(sub(mesh.origin, vec3(0.25, 0.25, 0.25))), 0, 1e-15);
  /* Integral of x x' is 1/60 on and 1/120 off the diagonal; minus V c c' = 1/96: on 1/160, off -1/480. */
  double d = 1.0 / 160;
  assert_second(&mesh, d - 2.0 / 480, d + 1.0 / 480, d + 1.0 / 480, 1e-13);
  assert_frame(&mesh, &def);
  assert_tree(&mesh);
  mesh_destroy(&mesh);
}

static void test_sphere_and_torus(void **state) {
  (void)state;
  double r = 0.3, R = 2, v = 4.0 / 3 * SHAPE_PI * 8;
  AbdMeshDef def;
  Mesh mesh;
  Shape *s = new_shape();
  shape_sphere(s, 2, 40, 80);
  shape_move(s, some_pose());
  def = shape_def(s, "sphere");
  init_mesh(&mesh, &def);
  assert_true(mesh.closed);
  assert_near("volume", mesh.volume, v, 0.005 * v);
  assert_second(&mesh, v * 4 / 5, v * 4 / 5, v * 4 / 5, 0.01);
  assert_frame(&mesh, &def);
  assert_tree(&mesh);
  mesh_destroy(&mesh);

  s = new_shape();
  shape_torus(s, R, r, 96, 32);
  shape_move(s, some_pose());
  def = shape_def(s, "torus");
  init_mesh(&mesh, &def);
  v = 2 * SHAPE_PI * SHAPE_PI * R * r * r;
  assert_true(mesh.closed);
  assert_near("volume", mesh.volume, v, 0.01 * v);
  assert_second(&mesh, v * r * r / 4, v * (R * R / 2 + 3 * r * r / 8), v * (R * R / 2 + 3 * r * r / 8), 0.02);
  assert_int_equal(mesh.edge_count, 3 * 96 * 32);
  assert_frame(&mesh, &def);
  assert_tree(&mesh);
  mesh_destroy(&mesh);
}

static void test_inside_out_is_turned(void **state) {
  (void)state;
  Shape *s = new_shape();
  shape_torus(s, 1, 0.4, 12, 8);
  AbdMeshDef def = shape_def(s, "torus");
  Mesh outward, turned;
  init_mesh(&outward, &def);
  shape_turn_inside_out(s);
  init_mesh(&turned, &def);
  assert_true(turned.closed);
  assert_near("volume", turned.volume, outward.volume, 1e-14);
  double signed_volume = 0;
  for (int t = 0; t < turned.triangle_count; t++) {
    const uint32_t *v = turned.triangle[t];
    signed_volume += dot(turned.vertex[v[0]], cross(turned.vertex[v[1]], turned.vertex[v[2]])) / 6;
  }
  assert_near("signed volume", signed_volume, turned.volume, 1e-12);
  assert_tree(&turned);
  mesh_destroy(&outward);
  mesh_destroy(&turned);
}

static void test_cavity_and_components(void **state) {
  (void)state;
  Shape *s = new_shape();
  Mesh mesh;
  shape_box(s, 1, 1, 1);
  shape_turn_inside_out(s);
  shape_box(s, 2, 2, 2);
  AbdMeshDef def = shape_def(s, "hollow box");
  init_mesh(&mesh, &def);
  assert_true(mesh.closed);
  assert_near("volume", mesh.volume, 7, 1e-14);
  assert_second(&mesh, 31.0 / 12, 31.0 / 12, 31.0 / 12, 1e-14);
  mesh_destroy(&mesh);
}

static void test_open_card(void **state) {
  (void)state;
  double t = 0.02;
  for (int thick = 0; thick < 2; thick++) {
    Shape *s = new_shape();
    for (int i = 0; i < 4; i++) shape_vertex(s, i & 1 ? 2 : 0, i & 2 ? 1 : 0, 0);
    shape_triangle(s, 0, 1, 3);
    shape_triangle(s, 0, 3, 2);
    shape_move(s, some_pose());
    AbdMeshDef def = shape_def(s, "card");
    def.thickness = thick ? t : 0;
    Mesh mesh;
    init_mesh(&mesh, &def);
    assert_false(mesh.closed);
    double volume = thick ? 2 * t : 2;
    assert_near("volume", mesh.volume, volume, 1e-11);
    assert_second(&mesh, volume / 3, volume / 12, thick ? volume * t * t / 12 : 1e-6 * volume / 3, 1e-11);
    assert_frame(&mesh, &def);
    assert_tree(&mesh);
    mesh_destroy(&mesh);
  }
}

static void test_ring_of_wire(void **state) {
  (void)state;
  enum { N = 256 };
  uint32_t edge[2 * N];
  Shape *s = new_shape();
  for (uint32_t i = 0; i < N; i++) {
    shape_vertex(s, cos(2 * SHAPE_PI * i / N), sin(2 * SHAPE_PI * i / N), 5);
    edge[2 * i] = (i + 1) % N;
    edge[2 * i + 1] = i;
  }
  AbdMeshDef def = shape_def(s, "ring");
  def.edge = edge;
  def.edge_count = N;
  def.thickness = 0.1;
  Mesh mesh;
  init_mesh(&mesh, &def);
  /* Wires of section Q, radius r: L Q (1/2 + r^2/8) across, L Q r^2/4 along the axis of the ring. */
  double q = SHAPE_PI * 0.0025, v = 2 * SHAPE_PI * q;
  assert_false(mesh.closed);
  assert_near("volume", mesh.volume, v, 1e-3 * v);
  assert_second(&mesh, v * (0.5 + 0.0025 / 8), v * (0.5 + 0.0025 / 8), v * 0.0025 / 4, 1e-3);
  assert_near("origin", norm(sub(mesh.origin, vec3(0, 0, 5))), 0, 1e-14);
  assert_int_equal(mesh.edge_count, 2 * N);
  assert_int_equal(mesh.wire_vertex_count, N);
  int points = 0;
  for (int i = 0; i < 2 * N; i++) {
    assert_int_equal(mesh.element[i].vertex_count, mesh.element[i].on_wire ? 1 : 2);
    points += mesh.element[i].on_wire;
  }
  assert_int_equal(points, N);
  assert_tree(&mesh);
  def.thickness = 0;
  Mesh thin;
  init_mesh(&thin, &def);
  assert_near("length", thin.volume, 2 * SHAPE_PI, 1e-3);
  assert_second(&thin, thin.volume / 2, thin.volume / 2, 1e-6 * thin.volume / 2, 1e-3);
  mesh_destroy(&thin);
  mesh_destroy(&mesh);
}

static void test_points(void **state) {
  (void)state;
  Shape *s = new_shape();
  for (int i = 0; i < 20; i++) shape_vertex(s, i, 0, 0);
  AbdMeshDef def = shape_def(s, "points");
  def.thickness = 0.2;
  double ball = 4.0 / 3 * SHAPE_PI * 1e-3;
  Mesh mesh;
  init_mesh(&mesh, &def);
  assert_near("volume", mesh.volume, 20 * ball, 1e-14);
  assert_second(&mesh, 20 * ball * (33.25 + 0.002), 20 * ball * 0.002, 20 * ball * 0.002, 1e-14);
  assert_int_equal(mesh.edge_count, 20);
  assert_int_equal(mesh.element_count, 20);
  for (int i = 0; i < 20; i++) assert_int_equal(mesh.edge[i][0], mesh.edge[i][1]);
  assert_tree(&mesh);
  mesh_destroy(&mesh);
  def.vertex_count = 1;
  def.thickness = 0;
  init_mesh(&mesh, &def);
  assert_near("mass of a point", mesh.volume, 1, 0);
  for (int k = 0; k < 3; k++) assert_true(mesh.second[k] > 0);
  assert_int_equal(mesh.node_count, 1);
  mesh_destroy(&mesh);
}

static void test_mixed(void **state) {
  (void)state;
  /* A triangle, its edge repeated and a wire from its corner, given twice; a vertex alone. */
  static const uint32_t edge[] = {1, 0, 2, 3, 3, 2};
  Shape *s = new_shape();
  for (int i = 0; i < 5; i++) shape_vertex(s, i, i % 2, i == 4);
  shape_triangle(s, 0, 1, 2);
  AbdMeshDef def = shape_def(s, "mixed");
  def.edge = edge;
  def.edge_count = 3;
  Mesh mesh;
  init_mesh(&mesh, &def);
  assert_int_equal(mesh.edge_count, 6); /* the vertex of the wire that is in no triangle comes last */
  assert_int_equal(mesh.wire_vertex_count, 1);
  assert_true(mesh.edge[5][0] == 3 && mesh.edge[5][1] == 3);
  assert_int_equal(mesh.element_count, 4);
  assert_near("volume", mesh.volume, 1 + sqrt(2) + 1, 1e-14);
  assert_frame(&mesh, &def);
  assert_tree(&mesh);
  mesh_destroy(&mesh);
  /* A stray vertex beside a closed surface collides but weighs nothing. */
  s = new_shape();
  shape_box(s, 1, 1, 1);
  shape_vertex(s, 3, 3, 3);
  def = shape_def(s, "box and point");
  init_mesh(&mesh, &def);
  assert_true(mesh.closed);
  assert_int_equal(mesh.element_count, 13);
  assert_near("volume", mesh.volume, 1, 1e-15);
  assert_near("origin", norm(mesh.origin), 0, 1e-15);
  mesh_destroy(&mesh);
}

static void test_not_closed(void **state) {
  (void)state;
  Mesh mesh;
  Shape *s = new_shape();
  shape_box(s, 1, 1, 1);
  AbdMeshDef def = shape_def(s, "open box");
  def.triangle_count = 11;
  init_mesh(&mesh, &def);
  assert_false(mesh.closed);
  assert_near("volume under a missing triangle", mesh.volume, 1, 1e-14);
  mesh_destroy(&mesh);
  def.triangle_count = 10; /* without one side */
  init_mesh(&mesh, &def);
  assert_near("area", mesh.volume, 5, 1e-14);
  mesh_destroy(&mesh);
  def.triangle_count = 12; /* one triangle turned round: not orientable as given */
  uint32_t keep = s->triangle[0];
  s->triangle[0] = s->triangle[1];
  s->triangle[1] = keep;
  init_mesh(&mesh, &def);
  assert_false(mesh.closed);
  assert_near("volume with a flipped triangle", mesh.volume, 1, 1e-14);
  mesh_destroy(&mesh);
  s = new_shape(); /* two sheets back to back are watertight but enclose nothing */
  for (int i = 0; i < 4; i++) shape_vertex(s, i & 1, i >> 1, 0);
  shape_triangle(s, 0, 1, 3);
  shape_triangle(s, 0, 3, 2);
  shape_triangle(s, 0, 3, 1);
  shape_triangle(s, 0, 2, 3);
  def = shape_def(s, "double sheet");
  init_mesh(&mesh, &def);
  assert_false(mesh.closed);
  mesh_destroy(&mesh);
}

static void test_half_space(void **state) {
  (void)state;
  Mesh mesh;
  Shape *s = new_shape();
  shape_box(s, 4, 4, 2);
  shape_move(s, affine(vec3(1, 2, 3), mat3_identity()));
  AbdMeshDef def = shape_def(s, "ground");
  def.half_space = true;
  init_mesh(&mesh, &def);
  assert_true(mesh.half_space && !mesh.closed);
  assert_near("origin", norm(mesh.origin), 0, 0);
  for (int i = 0; i < 8; i++) assert_memory_equal(&mesh.vertex[i], def.vertex + 3 * i, sizeof(Vec3));
  mesh_destroy(&mesh);
}

/* What a view gives back makes the same mesh, bit for bit. */
static void test_keep_frame(void **state) {
  (void)state;
  Shape *s = new_shape();
  shape_torus(s, 1, 0.3, 24, 10);
  shape_turn_inside_out(s);
  shape_vertex(s, 0, 0, 0);
  shape_move(s, some_pose());
  AbdMeshDef def = shape_def(s, "torus");
  Mesh first, again;
  init_mesh(&first, &def);
  def.vertex = &first.vertex[0].x;
  def.triangle = &first.triangle[0][0];
  def.edge = &first.edge[0][0];
  def.edge_count = (size_t)first.edge_count;
  def.keep_frame = true;
  init_mesh(&again, &def);
  assert_int_equal(again.edge_count, first.edge_count);
  assert_int_equal(again.node_count, first.node_count);
  assert_memory_equal(again.vertex, first.vertex, (size_t)first.vertex_count * sizeof *first.vertex);
  assert_memory_equal(again.triangle, first.triangle, (size_t)first.triangle_count * sizeof *first.triangle);
  assert_memory_equal(again.edge, first.edge, (size_t)first.edge_count * sizeof *first.edge);
  assert_memory_equal(again.node, first.node, (size_t)first.node_count * sizeof *first.node);
  for (int i = 0; i < first.element_count; i++) assert_int_equal(again.element[i].triangle, first.element[i].triangle);
  assert_memory_equal(again.second, first.second, sizeof first.second);
  assert_memory_equal(&again.volume, &first.volume, sizeof first.volume);
  assert_near("origin", norm(again.origin), 0, 0);
  Mat3 identity = mat3_identity();
  assert_memory_equal(&again.axes, &identity, sizeof identity);
  mesh_destroy(&first);
  mesh_destroy(&again);
}

static void assert_refused(const AbdMeshDef *def, AbdStatus status, const char *part_a, const char *part_b) {
  AbdError error = {0};
  Mesh mesh;
  AbdStatus got = mesh_init(&mesh, def, &error);
  if (got != status || error.status != status || !strstr(error.text, part_a) || !strstr(error.text, part_b))
    fail_msg("status %d, text \"%s\"; expected status %d and \"%s\", \"%s\"", got, error.text, status, part_a, part_b);
  assert_true(strstr(error.text, "bad mesh") != NULL);
  assert_null(mesh.vertex);
  mesh_destroy(&mesh);
}

static void test_refused(void **state) {
  (void)state;
  Shape *s = new_shape();
  shape_box(s, 1, 1, 1);
  const AbdMeshDef good = shape_def(s, "bad mesh");
  AbdMeshDef def = good;
  def.vertex_count = 0;
  assert_refused(&def, ABD_ERROR_MESH, "empty", "no vertices");
  def = good;
  def.vertex = NULL;
  assert_refused(&def, ABD_ERROR_ARGUMENT, "vertex", "NULL");
  def = good;
  def.triangle = NULL;
  assert_refused(&def, ABD_ERROR_ARGUMENT, "triangle_count is 12", "NULL");
  def = good;
  def.edge_count = 3;
  assert_refused(&def, ABD_ERROR_ARGUMENT, "edge_count is 3", "NULL");
  def = good;
  def.vertex_count = (size_t)1 << 40;
  assert_refused(&def, ABD_ERROR_ARGUMENT, "vertex_count", "1099511627776");
  def = good;
  def.thickness = -0.5;
  assert_refused(&def, ABD_ERROR_ARGUMENT, "thickness", "-0.5");
  def = good;
  def.thickness = NAN;
  assert_refused(&def, ABD_ERROR_ARGUMENT, "thickness", "nan");
  def = good;
  def.half_space = true;
  def.triangle_count = 0;
  assert_refused(&def, ABD_ERROR_MESH, "half-space", "no triangle");
  s->vertex[3 * 5 + 1] = NAN;
  assert_refused(&good, ABD_ERROR_ARGUMENT, "vertex 5", "nan");
  s->vertex[3 * 5 + 1] = INFINITY;
  assert_refused(&good, ABD_ERROR_ARGUMENT, "vertex 5", "inf");
  s->vertex[3 * 5 + 1] = -0.5;
  s->triangle[3 * 7 + 2] = 8;
  assert_refused(&good, ABD_ERROR_MESH, "triangle 7", "vertex 8");
}

/* Triangles and edges without a size are accepted; only indices and the plane of a half-space are checked. */
static void test_degenerate(void **state) {
  (void)state;
  static const uint32_t edge[] = {0, 1, 2, 2}, far[] = {0, 1, 1, 77}, same[] = {0, 4, 3, 0};
  Mesh mesh;
  Shape *s = new_shape();
  for (int i = 0; i < 3; i++) shape_vertex(s, 0.1 * (i + 1), 0.3 * (i + 1), 0.7 * (i + 1));
  shape_vertex(s, 5, 5, 5);
  shape_vertex(s, 0.1, 0.3, 0.7);
  shape_triangle(s, 0, 1, 3);
  shape_triangle(s, 0, 1, 2);
  AbdMeshDef def = shape_def(s, "bad mesh");
  init_mesh(&mesh, &def);
  double area = norm(cross(vec3(0.1, 0.3, 0.7), vec3(4.9, 4.7, 4.3))) / 2, ball = SHAPE_PI * 1e-6 / 6;
  assert_near("area and a point", mesh.volume, area + 1, 1e-14);
  mesh_destroy(&mesh);
  def.thickness = 0.01;
  init_mesh(&mesh, &def);
  assert_near("thick area and a ball", mesh.volume, 0.01 * area + ball, 1e-14);
  mesh_destroy(&mesh);
  def.thickness = 0;
  def.triangle_count = 0;
  def.edge_count = 2;
  def.edge = edge;
  init_mesh(&mesh, &def);
  assert_int_equal(mesh.element_count - mesh.wire_vertex_count, 4);
  mesh_destroy(&mesh);
  def.edge = far;
  assert_refused(&def, ABD_ERROR_MESH, "edge 1 (1, 77)", "only 5");
  def.edge = same;
  def.thickness = 0.01;
  init_mesh(&mesh, &def);
  assert_true(isfinite(mesh.volume) && isfinite(mesh.second[0] + mesh.second[1] + mesh.second[2]));
  mesh_destroy(&mesh);
  def = shape_def(s, "bad mesh");
  def.half_space = true;
  def.triangle = s->triangle + 3;
  def.triangle_count = 1;
  assert_refused(&def, ABD_ERROR_MESH, "first triangle (0, 1, 2)", "no plane");
}

/* A cube in which one triangle is replaced by two that name a vertex twice, and some loose ones. */
static void test_repeated_corner(void **state) {
  (void)state;
  Mesh clean, mesh;
  Shape *s = new_shape();
  shape_box(s, 1, 1, 1);
  AbdMeshDef def = shape_def(s, "cube");
  init_mesh(&clean, &def);
  shape_triangle(s, s->triangle[0], s->triangle[1], s->triangle[0]);
  shape_triangle(s, s->triangle[1], s->triangle[1], s->triangle[1]);
  def = shape_def(s, "cube");
  init_mesh(&mesh, &def);
  assert_true(mesh.closed);
  assert_int_equal(mesh.triangle_count, 14);
  assert_int_equal(mesh.element_count, 12);
  assert_int_equal(mesh.edge_count, clean.edge_count);
  assert_true(mesh.volume == clean.volume);
  mesh_destroy(&clean);
  mesh_destroy(&mesh);
  s = new_shape();
  shape_vertex(s, 0, 0, 0);
  shape_vertex(s, 2, 0, 0);
  shape_triangle(s, 0, 1, 1);
  def = shape_def(s, "wire");
  init_mesh(&mesh, &def);
  assert_int_equal(mesh.element_count, 3); /* the wire and its two vertices */
  assert_near("length", mesh.volume, 2, 1e-15);
  mesh_destroy(&mesh);
}

/* A tetrahedron pressed flat: closed, and nothing in it. With a thickness it is a plate. */
static void test_refused_flat(void **state) {
  (void)state;
  Mesh mesh;
  Shape *s = new_shape();
  for (int i = 0; i < 4; i++) shape_vertex(s, i & 1, i >> 1, 0);
  shape_triangle(s, 0, 2, 1);
  shape_triangle(s, 0, 1, 3);
  shape_triangle(s, 1, 2, 3);
  shape_triangle(s, 0, 3, 2);
  AbdMeshDef def = shape_def(s, "bad mesh");
  assert_refused(&def, ABD_ERROR_MESH, "4 triangles", "enclose no volume");
  def.thickness = 0.01;
  init_mesh(&mesh, &def);
  assert_false(mesh.closed);
  mesh_destroy(&mesh);
}

/* Every allocation fails once. Returns how many there are. */
static long fail_allocations(const AbdMeshDef *def) {
  for (long n = 1;; n++) {
    AbdError error = {0};
    Mesh mesh;
    assert_true(n < 100);
    mem_fail_after(n);
    AbdStatus status = mesh_init(&mesh, def, &error);
    mem_fail_after(0);
    if (status == ABD_OK) {
      mesh_destroy(&mesh);
      return n;
    }
    assert_int_equal(status, ABD_ERROR_MEMORY);
    assert_null(mesh.vertex);
    assert_null(mesh.element);
  }
}

static void test_memory_failures(void **state) {
  (void)state;
  Shape *s = new_shape();
  shape_torus(s, 1, 0.3, 8, 5);
  AbdMeshDef def = shape_def(s, "torus");
  long clean = fail_allocations(&def);
  assert_true(clean > 5);
  def.triangle_count -= 2; /* with a hole, which is covered */
  assert_true(fail_allocations(&def) > clean);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_box),
      cmocka_unit_test(test_tetrahedron),
      cmocka_unit_test(test_sphere_and_torus),
      cmocka_unit_test(test_inside_out_is_turned),
      cmocka_unit_test(test_cavity_and_components),
      cmocka_unit_test(test_open_card),
      cmocka_unit_test(test_ring_of_wire),
      cmocka_unit_test(test_points),
      cmocka_unit_test(test_mixed),
      cmocka_unit_test(test_not_closed),
      cmocka_unit_test(test_half_space),
      cmocka_unit_test(test_keep_frame),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_degenerate),
      cmocka_unit_test(test_repeated_corner),
      cmocka_unit_test(test_refused_flat),
      cmocka_unit_test(test_memory_failures),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
