/* Soft bodies in the run file: meshes, materials, attachments and vertices are read back bit for bit, a state is
 * resumed with the same bits, errors name another world and damage. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "jelly.h"
#include "record/run.h"
#include "record/world_nodes.h"

#include <math.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <unistd.h>

static const char path[] = ABD_BINARY "/tests/test_record_soft.abd";

#define CHECK(run, call)                                                                                               \
  do {                                                                                                                 \
    if (!(call)) fail_msg("%s", run_error(run));                                                                       \
  } while (0)

/* A floor, a jelly that falls on it, and one that hangs from a pin and from a stiff box of its own size above. */
static AbdWorld *make_world(double young) {
  static const uint32_t triangle[36] = {0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4,
                                        2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5};
  Jelly jelly;
  AbdWorldDef def = abd_default_world_def();
  AbdError error;
  AbdWorld *world = abd_world_create(&def, &error);
  if (!world) fail_msg("%s", error.text);
  double vertex[24];
  for (int k = 0; k < 8; k++)
    vertex[3 * k] = (k & 1) - 0.5, vertex[3 * k + 1] = (k >> 1 & 1) - 0.5, vertex[3 * k + 2] = 0.1 * (k >> 2 & 1);
  AbdMeshDef mesh = abd_default_mesh_def();
  mesh.name = "plate", mesh.vertex = vertex, mesh.vertex_count = 8, mesh.triangle = triangle, mesh.triangle_count = 12;
  AbdMeshId plate;
  AbdBodyDef body = abd_default_body_def();
  AbdBodyId floor, first, top, second;
  AbdSoftDef soft = jelly_def(&jelly);
  jelly_fill(&jelly, 0.4);
  bool good = abd_world_add_mesh(world, &mesh, &plate) == ABD_OK;
  body.name = "floor", body.mesh = plate, body.motion = ABD_MOTION_STATIC, body.position[2] = -0.1;
  good = good && abd_world_add_body(world, &body, &floor) == ABD_OK;
  soft.young = young, soft.position[2] = 0.22, soft.velocity[2] = -1;
  good = good && abd_world_add_soft(world, &soft, &first) == ABD_OK;
  body.name = "top", body.motion = ABD_MOTION_DYNAMIC, body.position[2] = 2;
  good = good && abd_world_add_body(world, &body, &top) == ABD_OK;
  soft.name = "hanging", soft.position[2] = 1.8, soft.model = ABD_SOFT_NEO_HOOKEAN, soft.self_contact = false;
  soft.velocity[2] = 0;
  good = good && abd_world_add_soft(world, &soft, &second) == ABD_OK;
  for (size_t v = 0; good && v < JELLY_VERTICES; v++)
    if (jelly.vertex[3 * v + 2] > 0.19)
      good = abd_soft_attach(world, second, v, v == 2 ? (AbdBodyId){0} : top) == ABD_OK;
  if (!good || abd_world_start(world) != ABD_OK) fail_msg("%s", abd_world_error(world));
  return world;
}

static void record(Run *run, AbdWorld *world) {
  AbdStepReport report;
  if (abd_world_step(world, &report) != ABD_OK) fail_msg("%s", abd_world_error(world));
  CHECK(run, run_begin(run) && run_write_frame(run, world) && run_write_report(run, &report, abd_world_hash(world)) &&
                 run_write_contacts(run, world) && run_write_checkpoint(run, world) && run_commit(run));
}

static Run *make_run(AbdWorld *world, int steps) {
  RunError error;
  unlink(path);
  Run *run = run_create(path, &error);
  if (!run) fail_msg("%s", error.text);
  CHECK(run, run_write_meta(run, "dt", "0.01") && run_write_world(run, world) && run_write_frame(run, world) &&
                 run_write_checkpoint(run, world) && run_publish(run));
  for (int k = 0; k < steps; k++) record(run, world);
  return run;
}

static void test_round_trip(void **state) {
  (void)state;
  AbdWorld *world = make_world(1e5);
  Run *run = make_run(world, 3);
  RunScene scene;
  RunFrame frame;
  CHECK(run, run_read_scene(run, &scene) && run_read_frame(run, &scene, 3, &frame));
  AbdSoftView view;
  assert_int_equal(abd_soft_view(world, (AbdBodyId){2}, &view), ABD_OK);
  const RunMesh *mesh = &scene.mesh[scene.body[1].mesh];
  assert_null(scene.body[0].soft);
  assert_non_null(scene.body[1].soft);
  assert_true(mesh->soft);
  assert_int_equal(mesh->vertex_count, JELLY_VERTICES);
  assert_int_equal(mesh->tet_count, JELLY_TETS);
  assert_int_equal(mesh->triangle_count, 48);
  assert_int_equal(mesh->edge_count, 72);
  assert_memory_equal(mesh->vertex, view.rest, 24 * JELLY_VERTICES);
  assert_memory_equal(mesh->tet, view.tet, 16 * JELLY_TETS);
  for (size_t e = 0; e < mesh->edge_count; e++) { /* every edge is one of a triangle */
    const uint32_t *edge = mesh->edge + 2 * e;
    bool found = false;
    for (size_t k = 0; k < 3 * mesh->triangle_count && !found; k++) {
      uint32_t a = mesh->triangle[k], b = mesh->triangle[k - k % 3 + (k + 1) % 3];
      found = (a == edge[0] && b == edge[1]) || (a == edge[1] && b == edge[0]);
    }
    if (!found) fail_msg("edge %zu from %u to %u is of no triangle", e, edge[0], edge[1]);
  }
  assert_float_equal(scene.body[1].soft->young, 1e5, 0);
  assert_true(scene.body[1].soft->self_contact);
  assert_false(scene.body[3].soft->self_contact);
  assert_int_equal(scene.body[3].soft->attached[2], 0);
  assert_int_equal(scene.body[3].soft->attached[5], 3);
  assert_int_equal(scene.body[3].soft->attached[1], -1);
  assert_int_equal(scene.node_count, 2 * 12 + 6 * JELLY_VERTICES);
  assert_int_equal(scene.body[2].node, 12 + 3 * JELLY_VERTICES);
  double *nodes = world_nodes_new(world), rate[3 * JELLY_VERTICES];
  assert_memory_equal(frame.nodes, nodes, scene.node_count * sizeof *nodes);
  assert_int_equal(abd_soft_velocities(world, (AbdBodyId){4}, rate), ABD_OK);
  assert_memory_equal(frame.velocity + scene.body[3].rate, rate, sizeof rate);
  assert_true(run_same_world(run, world));
  free(nodes);
  run_frame_destroy(&frame);
  run_scene_destroy(&scene);
  run_close(run);
  abd_world_destroy(world);
}

/* A vertex that touches is named by its number in the body, not in its surface. */
static void test_contacts(void **state) {
  (void)state;
  AbdWorld *world = make_world(1e5);
  Run *run = make_run(world, 4);
  RunScene scene;
  RunFrame frame;
  AbdContact *contact = NULL;
  size_t count = 0, vertices = 0;
  CHECK(run, run_read_scene(run, &scene) && run_read_frame(run, &scene, 4, &frame) &&
                 run_read_contacts(run, 4, &contact, &count));
  for (size_t k = 0; k < count; k++) {
    const AbdContact *c = &contact[k];
    uint32_t body = c->kind == 0 ? c->body_a.id : c->body_b.id, vertex = c->kind == 0 ? c->primitive_a : c->primitive_b;
    if (c->kind == 2 || body != 2) continue;
    const double *x = frame.nodes + scene.body[1].node + 3 * (size_t)vertex;
    double d = sqrt(pow(x[0] - c->point[0], 2) + pow(x[1] - c->point[1], 2) + pow(x[2] - c->point[2], 2));
    if (!(d < 0.01)) fail_msg("contact %zu: vertex %u is %g m from the point", k, vertex, d);
    vertices++;
  }
  assert_true(vertices > 3);
  free(contact);
  run_frame_destroy(&frame);
  run_scene_destroy(&scene);
  run_close(run);
  abd_world_destroy(world);
}

static void test_resume(void **state) {
  (void)state;
  AbdWorld *straight = make_world(1e5), *world = make_world(1e5), *other = make_world(2e5), *again = make_world(1e5);
  for (int k = 0; k < 8; k++) abd_world_step(straight, NULL);
  Run *run = make_run(world, 5);
  assert_false(run_same_world(run, other));
  assert_non_null(strstr(run_error(run), "'jelly'"));
  void *bytes;
  size_t size;
  int64_t step;
  CHECK(run, run_read_checkpoint(run, &bytes, &size, &step));
  assert_int_equal(step, 5);
  if (abd_world_restore(again, bytes, size) != ABD_OK) fail_msg("%s", abd_world_error(again));
  for (int k = 0; k < 3; k++) record(run, again);
  if (abd_world_hash(again) != abd_world_hash(straight))
    fail_msg("hash %016llx after resuming, %016llx straight", (unsigned long long)abd_world_hash(again),
             (unsigned long long)abd_world_hash(straight));
  free(bytes);
  run_close(run);
  abd_world_destroy(straight), abd_world_destroy(world), abd_world_destroy(other), abd_world_destroy(again);
}

static void expect_damage(const char *sql, const char *sentence) {
  sqlite3 *db;
  char *message = NULL;
  RunError error;
  RunScene scene;
  AbdWorld *world = make_world(1e5);
  run_close(make_run(world, 0));
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) fail_msg("%s: %s", sql, message);
  sqlite3_close(db);
  Run *run = run_open(path, RUN_READ, &error);
  if (!run) fail_msg("%s", error.text);
  assert_false(run_read_scene(run, &scene));
  if (!strstr(run_error(run), sentence)) fail_msg("%s\nsays: %s\nexpected: %s", sql, run_error(run), sentence);
  run_close(run);
  abd_world_destroy(world);
}

/* Files of earlier versions spell the models with '-'. */
static void test_earlier_names(void **state) {
  (void)state;
  RunError error;
  RunScene scene;
  sqlite3 *db;
  AbdWorld *world = make_world(1e5);
  run_close(make_run(world, 0));
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_exec(db, "UPDATE soft SET model = 'stable-neo-hookean' WHERE body = 4", NULL, NULL, NULL),
                   SQLITE_OK);
  sqlite3_close(db);
  Run *run = run_open(path, RUN_READ, &error);
  if (!run) fail_msg("%s", error.text);
  CHECK(run, run_read_scene(run, &scene));
  assert_int_equal(scene.body[3].soft->model, ABD_SOFT_STABLE_NEO_HOOKEAN);
  run_scene_destroy(&scene);
  run_close(run);
  abd_world_destroy(world);
}

static void test_damage(void **state) {
  (void)state;
  expect_damage("UPDATE soft SET model = 'glass' WHERE body = 4", "soft body 'hanging': model is 'glass'");
  expect_damage("UPDATE soft SET body = 1 WHERE body = 2", "table soft names body 1, which is not a soft one");
  expect_damage("UPDATE attachment SET to_body = 9 WHERE vertex = 5", "fixes vertex 5 of body 4 to body 9 of 4");
  expect_damage("INSERT INTO attachment VALUES(4, 100, 1)", "fixes vertex 100 of body 4");
  expect_damage("UPDATE body SET mesh = 2 WHERE id = 4", "shares mesh 'jelly'");
  expect_damage("UPDATE mesh SET tet = x'ff000000010000000200000003000000' WHERE id = 2",
                "a tet uses vertex 255 of 27");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_round_trip), cmocka_unit_test(test_contacts),
                                     cmocka_unit_test(test_resume), cmocka_unit_test(test_earlier_names),
                                     cmocka_unit_test(test_damage)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
