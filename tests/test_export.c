/* Internals of exports: normals at creases, wires, rotations of the up axis, watertight edges of the rasteriser, places
 * of contacts and crossings, contacts read back. tests/cli/export.sh reads whole files back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants those first */
#include <cmocka.h>

#include "export/crease.h"
#include "export/place.h"
#include "export/pose.h"
#include "export/raster.h"
#include "export/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double box_vertex[24];
static uint32_t box_triangle[36] = {0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6, 0, 1, 5, 0, 5, 4,
                                    2, 6, 7, 2, 7, 3, 0, 4, 6, 0, 6, 2, 1, 3, 7, 1, 7, 5};

static RunMesh box_mesh(void) {
  for (int v = 0; v < 8; v++)
    for (int i = 0; i < 3; i++) box_vertex[3 * v + i] = (v >> i & 1) - 0.5;
  return (RunMesh){
      .vertex = box_vertex, .vertex_count = 8, .triangle = box_triangle, .triangle_count = 12, .closed = true};
}

/* A box keeps its edges: every corner has the normal of its face, along one axis and outward. */
static void test_crease_box(void **state) {
  (void)state;
  RunMesh mesh = box_mesh();
  float *n = crease_normals(&mesh);
  assert_non_null(n);
  for (int c = 0; c < 36; c++) {
    const double *x = box_vertex + 3 * box_triangle[c];
    double out = n[3 * c] * x[0] + n[3 * c + 1] * x[1] + n[3 * c + 2] * x[2], size = 0;
    for (int i = 0; i < 3; i++) size += fabs(n[3 * c + i]);
    if (fabs(out - 0.5) > 1e-6 || fabs(size - 1) > 1e-6)
      fail_msg("corner %d: (%g, %g, %g)", c, n[3 * c], n[3 * c + 1], n[3 * c + 2]);
  }
  free(n);
}

/* A roof of two squares: smooth where it is flat enough, sharp where it is steep. */
static void test_crease_angle(void **state) {
  (void)state;
  const double degrees[] = {20, 50};
  for (int k = 0; k < 2; k++) {
    double a = degrees[k] * M_PI / 180;
    double vertex[12] = {0, 0, 0, 0, 1, 0, -1, 0.5, 0, cos(a), 0.5, -sin(a)};
    uint32_t triangle[6] = {0, 1, 2, 1, 0, 3};
    RunMesh mesh = {.vertex = vertex, .vertex_count = 4, .triangle = triangle, .triangle_count = 2};
    float *n = crease_normals(&mesh);
    assert_non_null(n);
    double same = 0; /* vertex 0 is corner 0 of the first and corner 1 of the second */
    for (int i = 0; i < 3; i++) same += n[i] * n[9 + 3 + i];
    double expected = k ? cos(a) : 1;
    if (fabs(same - expected) > 1e-6)
      fail_msg("bent by %g degrees: normals at %g, expected %g", degrees[k], same, expected);
    free(n);
  }
}

static void test_wires(void **state) {
  (void)state;
  double vertex[18] = {0};
  uint32_t triangle[3] = {0, 1, 2}, edge[12] = {0, 1, 1, 2, 2, 0, 2, 3, 3, 4, 4, 4};
  RunMesh mesh = {
      .vertex = vertex, .vertex_count = 6, .triangle = triangle, .triangle_count = 1, .edge = edge, .edge_count = 5};
  WireList wires;
  assert_true(wires_find(&mesh, &wires));
  const uint32_t expected[3][2] = {{2, 3}, {3, 4}, {5, 5}}; /* vertex 5 is a point */
  assert_int_equal(wires.count, 3);
  assert_memory_equal(wires.edge, expected, sizeof expected);
  wires_free(&wires);
}

static void test_turn(void **state) {
  (void)state;
  const double from[4][3] = {{0, 0, 1}, {0, 1, 0}, {0, -1, 0}, {0.6, 0, -0.8}}, to[3] = {0, 1, 0};
  for (int k = 0; k < 4; k++) {
    double q[4], t[3], x[3];
    pose_turn(from[k], to, q);
    for (int i = 0; i < 3; i++)
      t[i] = 2 * (q[1 + (i + 1) % 3] * from[k][(i + 2) % 3] - q[1 + (i + 2) % 3] * from[k][(i + 1) % 3]);
    for (int i = 0; i < 3; i++) {
      x[i] = from[k][i] + q[0] * t[i] + q[1 + (i + 1) % 3] * t[(i + 2) % 3] - q[1 + (i + 2) % 3] * t[(i + 1) % 3];
      if (fabs(x[i] - to[i]) > 1e-12) fail_msg("case %d: coordinate %d is %g, expected %g", k, i, x[i], to[i]);
    }
  }
}

/* A fan of many thin triangles around a point off the grid covers every sample of a square exactly once: none is
 * left out at a shared edge, and with equal depth the first triangle that reaches a sample keeps it. */
static void test_watertight(void **state) {
  (void)state;
  enum { AROUND = 40 };
  double vertex[3 * (AROUND + 1)] = {0.0137, 0, 0.0071};
  uint32_t triangle[3 * AROUND];
  for (uint32_t k = 0; k < AROUND; k++) {
    double angle = 2 * M_PI * k / AROUND + 0.1;
    vertex[3 * k + 3] = 3 * cos(angle), vertex[3 * k + 4] = 0, vertex[3 * k + 5] = 3 * sin(angle);
    triangle[3 * k] = 0, triangle[3 * k + 1] = k + 1, triangle[3 * k + 2] = (k + 1) % AROUND + 1;
  }
  Solid solid = {
      .vertex = vertex, .triangle = triangle, .vertex_count = AROUND + 1, .triangle_count = AROUND, .shades = true};
  V3 world[AROUND + 1];
  ScreenPoint point[AROUND + 1];
  float rows[1][2];
  Raster raster = {&solid, 1, world, point, rows};
  Camera camera = camera_look_at((V3){0, -5, 0}, (V3){0, 0, 0}, (V3){0, 0, 1});
  camera.scale = 200, camera.cx = camera.cy = 40, camera.near_z = 0.1;
  Buffer buffer;
  assert_true(buffer_create(&buffer, 80, 80, MOST_SAMPLES, true));
  raster_place(&raster);
  raster_draw(&raster, &camera, &buffer);
  size_t missing = 0, wrong_depth = 0;
  for (size_t k = 0; k < (size_t)80 * 80 * MOST_SAMPLES; k++) {
    missing += buffer.face[k] == FACE_NONE;
    wrong_depth += !(fabs(buffer.depth[k] - 0.2) < 1e-6);
  }
  buffer_destroy(&buffer);
  if (missing || wrong_depth) fail_msg("%zu samples without a triangle, %zu at a wrong depth", missing, wrong_depth);
}

/* ---- Places ---- */

static AbdWorld *two_boxes(double gap) {
  AbdWorldDef def = abd_default_world_def();
  AbdMeshDef mesh_def = abd_default_mesh_def();
  AbdError error;
  AbdMeshId mesh;
  AbdBodyId body;
  RunMesh box = box_mesh();
  def.contact.range = 0.01;
  AbdWorld *world = abd_world_create(&def, &error);
  if (!world) fail_msg("%s", error.text);
  mesh_def.vertex = box.vertex, mesh_def.vertex_count = 8, mesh_def.triangle = box.triangle,
  mesh_def.triangle_count = 12;
  assert_int_equal(abd_world_add_mesh(world, &mesh_def, &mesh), ABD_OK);
  for (int k = 0; k < 2; k++) {
    AbdBodyDef body_def = abd_default_body_def();
    body_def.name = k ? "upper" : "lower", body_def.mesh = mesh,
    body_def.motion = k ? ABD_MOTION_DYNAMIC : ABD_MOTION_STATIC;
    body_def.position[0] = 0.3 * k, body_def.position[2] = k * (1 + gap);
    assert_int_equal(abd_world_add_body(world, &body_def, &body), ABD_OK);
  }
  return world;
}

static void test_place_of_contact(void **state) {
  (void)state;
  AbdWorld *world = two_boxes(0.004);
  Place place;
  for (int k = 0; k < 30; k++) assert_int_equal(abd_world_step(world, NULL), ABD_OK);
  assert_false(place_of_pair(world, (AbdBodyId){0}, (AbdBodyId){1}, &place));
  assert_true(place_of_pair(world, (AbdBodyId){2}, (AbdBodyId){0}, &place)); /* with any other */
  AbdBodyView body;
  assert_int_equal(abd_body_view(world, (AbdBodyId){2}, &body), ABD_OK);
  double weight = 9.81 * body.mass;
  if (fabs(place.force - weight) > 0.1 * weight) fail_msg("force %g N on a weight of %g N", place.force, weight);
  if (!(place.distance > 0 && place.distance < 0.01)) fail_msg("distance %g m", place.distance);
  if (fabs(place.point[2] - 0.5) > 0.01) fail_msg("at height %g", place.point[2]);
  assert_true(place.triangle[0] < 12 && place.triangle[1] < 12);
  char path[] = "test_export_place.obj";
  ExportError error;
  if (!export_place_obj(world, &place, "a test", path, &error)) fail_msg("%s", error.text);
  char line[200];
  int objects = 0, faces = 0;
  FILE *file = fopen(path, "r");
  while (fgets(line, sizeof line, file)) objects += line[0] == 'o', faces += line[0] == 'f';
  fclose(file);
  unlink(path);
  assert_int_equal(objects, 2);
  assert_int_equal(faces, 24);
  assert_false(export_place_obj(world, &place, "a test", "no/such/folder/x.obj", &error));
  abd_world_destroy(world);
}

static void test_place_of_crossing(void **state) {
  (void)state;
  AbdWorld *world = two_boxes(-0.1);
  assert_int_equal(abd_world_start(world), ABD_ERROR_CROSSING);
  double nodes[24];
  AbdCrossing crossing;
  for (uint32_t b = 0; b < 2; b++) abd_body_nodes(world, (AbdBodyId){b + 1}, nodes + 12 * b);
  assert_int_equal(abd_world_find_crossings(world, nodes, &crossing, 1), 1);
  Place place;
  place_of_crossing(world, &crossing, &place);
  assert_int_equal(place.body[0].id + place.body[1].id, 3);
  assert_true(place.distance < 0 && place.radius > 0.1 && place.radius < 5);
  abd_world_destroy(world);
}

/* ---- Contacts through the run file ---- */

static void test_contacts_read_back(void **state) {
  (void)state;
  static const char path[] = "test_export.abd";
  AbdWorld *world = two_boxes(0.004);
  RunError error;
  unlink(path);
  Run *run = run_create(path, &error);
  if (!run) fail_msg("%s", error.text);
  assert_true(run_write_world(run, world) && run_write_frame(run, world) && run_publish(run));
  AbdContact expected[64], *contact;
  for (int k = 0; k < 5; k++) assert_int_equal(abd_world_step(world, NULL), ABD_OK);
  size_t count = abd_world_contacts(world, expected, 64), got;
  assert_true(count > 0 && count <= 64);
  assert_true(run_begin(run) && run_write_contacts(run, world) && run_commit(run));
  if (!run_read_contacts(run, 5, &contact, &got)) fail_msg("%s", run_error(run));
  assert_int_equal(got, count);
  for (size_t k = 0; k < count; k++) {
    const AbdContact *a = &contact[k], *b = &expected[k];
    if (a->body_a.id != b->body_a.id || a->kind != b->kind || a->primitive_b != b->primitive_b ||
        a->distance != b->distance || memcmp(a->point, b->point, sizeof a->point) ||
        memcmp(a->friction_force, b->friction_force, sizeof a->point))
      fail_msg("contact %zu of %zu differs", k, count);
  }
  free(contact);
  assert_true(run_read_contacts(run, 4, &contact, &got));
  assert_int_equal(got, 0);
  free(contact);
  run_close(run);
  unlink(path);
  abd_world_destroy(world);
}

int main(void) {
  const struct CMUnitTest test[] = {
      cmocka_unit_test(test_crease_box),
      cmocka_unit_test(test_crease_angle),
      cmocka_unit_test(test_wires),
      cmocka_unit_test(test_turn),
      cmocka_unit_test(test_watertight),
      cmocka_unit_test(test_place_of_contact),
      cmocka_unit_test(test_place_of_crossing),
      cmocka_unit_test(test_contacts_read_back),
  };
  return cmocka_run_group_tests(test, NULL, NULL);
}
