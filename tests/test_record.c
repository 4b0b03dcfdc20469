/* The run file: data is read back bit for bit, a state is resumed with the same bits, errors name damage.
 * Exports of a frame: OBJ, PLY, CSV, pictures. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/bytes.h"
#include "boxrun.h"
#include "export/picture.h"
#include "export/pose.h"
#include "export/shape_file.h"
#include "record/run.h"

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOLDER ABD_BINARY "/tests" /* what the tests write stays in the build */
static const char path[] = FOLDER "/test_record.abd";

static Run *begin(AbdWorld *world) { return begin_run(path, world); }

static void make_run(int steps) {
  AbdWorld *world = make_world();
  Run *run = begin(world);
  for (int k = 0; k < steps; k++) record(run, world);
  run_close(run);
  abd_world_destroy(world);
}

static Run *open_run(RunMode mode) {
  RunError error;
  Run *run = run_open(path, mode, &error);
  if (!run) fail_msg("%s", error.text);
  return run;
}

static void change(const char *sql) {
  sqlite3 *db;
  char *message = NULL;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) fail_msg("%s: %s", sql, message);
  sqlite3_close(db);
}

/* ---- Tests ---- */

/* Hashes are part of the file: they are XXH3's, of 64 bits, on every processor. The long one takes the path of
 * vectors. */
static void test_hash(void **state) {
  (void)state;
  unsigned char byte[4096];
  for (size_t k = 0; k < sizeof byte; k++) byte[k] = (unsigned char)(k * 7);
  assert_true(hash_bytes(0, "abc", 3) == 0x78af5f94892f3950ull);
  uint64_t hash = hash_bytes(HASH_SEED, byte, sizeof byte);
  if (hash != 0x8fb047a89e810965ull) fail_msg("%016llx", (unsigned long long)hash);
  byte[4095] ^= 1;
  assert_true(hash_bytes(HASH_SEED, byte, sizeof byte) != hash);
  assert_true(hash_bytes(1, byte, sizeof byte) != hash_bytes(0, byte, sizeof byte));
}

static void test_round_trip(void **state) {
  (void)state;
  AbdWorld *world = make_world();
  Run *run = begin(world);
  for (int k = 0; k < 3; k++) record(run, world);
  RunScene scene;
  RunFrame frame;
  Run *reader = open_run(RUN_READ); /* while the writer is open */
  CHECK(reader, run_read_scene(reader, &scene));
  assert_int_equal(scene.mesh_count, 2);
  assert_int_equal(scene.body_count, 3);
  assert_string_equal(scene.body[1].name, "first, \"quoted\"");
  assert_int_equal(scene.body[0].motion, ABD_MOTION_STATIC);
  assert_int_equal(scene.body[0].exclude_count, 0);
  assert_int_equal(scene.body[0].group, -1);
  assert_int_equal(scene.body[1].exclude_count, 1);
  assert_int_equal(scene.body[1].exclude[0], 3);
  AbdMeshView view;
  assert_int_equal(abd_mesh_view(world, (AbdMeshId){2}, &view), ABD_OK);
  assert_memory_equal(scene.mesh[1].vertex, view.vertex, 24 * view.vertex_count);
  assert_memory_equal(scene.mesh[1].axes, view.axes, sizeof view.axes);
  assert_int_equal(scene.mesh[1].edge_count, view.edge_count);
  CHECK(reader, run_read_frame(reader, &scene, 3, &frame));
  for (uint32_t b = 1; b <= 3; b++) {
    double nodes[12], velocity[6];
    abd_body_nodes(world, (AbdBodyId){b}, nodes);
    abd_body_velocity(world, (AbdBodyId){b}, velocity, velocity + 3);
    assert_memory_equal(frame.nodes + 12 * (b - 1), nodes, sizeof nodes);
    assert_memory_equal(frame.velocity + 6 * (b - 1), velocity, sizeof velocity);
  }
  assert_true(run_same_world(reader, world));
  run_frame_destroy(&frame);
  run_scene_destroy(&scene);
  run_close(reader);
  run_close(run);
  abd_world_destroy(world);
}

static void test_resume(void **state) {
  (void)state;
  AbdWorld *straight = make_world();
  for (int k = 0; k < 12; k++) abd_world_step(straight, NULL);
  make_run(7);
  AbdWorld *world = make_world();
  Run *run = open_run(RUN_APPEND);
  void *bytes;
  size_t size;
  int64_t step;
  CHECK(run, run_read_checkpoint(run, &bytes, &size, &step));
  assert_int_equal(step, 7);
  assert_int_equal(abd_world_restore(world, bytes, size), ABD_OK);
  free(bytes);
  for (int k = 0; k < 5; k++) record(run, world);
  RunSummary summary;
  CHECK(run, run_read_summary(run, &summary));
  assert_int_equal(summary.steps, 12);
  assert_int_equal(summary.frames, 13);
  if (summary.last_hash != abd_world_hash(straight))
    fail_msg("hash %016llx after resuming, %016llx straight", (unsigned long long)summary.last_hash,
             (unsigned long long)abd_world_hash(straight));
  run_close(run);
  abd_world_destroy(world);
  abd_world_destroy(straight);
}

/* A group is a number for each body: what the file says of a thousand bodies of one group does not grow with their
 * pairs. */
static void test_group(void **state) {
  (void)state;
  enum { BODIES = 1000 };
  AbdWorldDef def = abd_default_world_def();
  AbdError error;
  AbdWorld *world = abd_world_create(&def, &error);
  AbdMeshId box = add_box(world, 1, 1, 1);
  for (uint32_t k = 0; k < BODIES; k++) {
    AbdBodyDef body = abd_default_body_def();
    AbdBodyId id;
    body.mesh = box, body.group = 7; /* all in one place */
    assert_int_equal(abd_world_add_body(world, &body, &id), ABD_OK);
  }
  assert_int_equal(abd_world_exclude_pair(world, (AbdBodyId){1}, (AbdBodyId){2}), ABD_OK);
  assert_int_equal(abd_world_start(world), ABD_OK);
  Run *run = begin(world);
  RunScene scene;
  CHECK(run, run_read_scene(run, &scene));
  for (uint32_t k = 0; k < BODIES; k++)
    if (scene.body[k].group != 7 || scene.body[k].exclude_count)
      fail_msg("body %u: group %d, %zu others", k + 1, scene.body[k].group, scene.body[k].exclude_count);
  run_scene_destroy(&scene);
  run_close(run);
  abd_world_destroy(world);
}

/* Names and readings come back as they were, with every frame; a run without joints has none and is no error. */
static void test_joints(void **state) {
  (void)state;
  AbdWorld *world = make_linked_world(true);
  Run *run = begin(world);
  for (int k = 0; k < 3; k++) record(run, world);
  RunScene scene;
  RunJoints joints;
  CHECK(run, run_read_scene(run, &scene) && run_read_joints(run, &scene, &joints));
  assert_int_equal(joints.count, 2);
  assert_string_equal(joints.joint[0].name, "axle, \"quoted\"");
  assert_int_equal(joints.joint[0].kind, ABD_JOINT_HINGE);
  assert_int_equal(joints.joint[0].body_a, 3);
  assert_int_equal(joints.joint[0].body_b, 0);
  assert_float_equal(joints.joint[0].limit[0], -0.5, 0);
  assert_true(isinf(joints.joint[0].limit[1]));
  assert_int_equal(joints.joint[1].kind, ABD_JOINT_BALL);
  assert_int_equal(joints.joint[1].body_b, 3);
  AbdJointReading start[2], last[2], now[2];
  CHECK(run, run_read_joint_readings(run, &joints, 0, start) && run_read_joint_readings(run, &joints, 3, last));
  assert_float_equal(start[0].position, 0, 1e-12);
  for (uint32_t j = 0; j < 2; j++) {
    assert_int_equal(abd_joint_reading(world, (AbdJointId){j + 1}, &now[j]), ABD_OK);
    double a[sizeof now[j] / sizeof(double)], b[sizeof now[j] / sizeof(double)]; /* it has nothing but numbers */
    memcpy(a, &now[j], sizeof a), memcpy(b, &last[j], sizeof b);
    for (size_t k = 0; k < sizeof a / sizeof a[0]; k++)
      if (a[k] != b[k]) fail_msg("joint %u: number %zu is %.17g in the file, %.17g in the world", j + 1, k, b[k], a[k]);
  }
  assert_false(run_read_joint_readings(run, &joints, 4, last));
  assert_non_null(strstr(run_error(run), "step 4 has readings of 0 joints of 2"));
  double residual, worst = 0;
  int64_t step;
  uint32_t joint;
  CHECK(run, run_read_worst_reading(run, &residual, &step, &joint));
  for (int64_t k = 0; k <= 3; k++) {
    CHECK(run, run_read_joint_readings(run, &joints, k, now));
    for (int j = 0; j < 2; j++) worst = fmax(worst, now[j].residual);
  }
  assert_float_equal(residual, worst, 0);
  assert_in_range(joint, 1, 2);
  run_joints_destroy(&joints);
  run_close(run);
  abd_world_destroy(world);
  change("UPDATE joint_def SET kind = 'rubber' WHERE id = 2");
  run = open_run(RUN_READ);
  assert_false(run_read_joints(run, &scene, &joints));
  assert_non_null(strstr(run_error(run), "joint 2 is of kind 'rubber'"));
  run_close(run);
  change("UPDATE joint_def SET kind = 'ball', body_a = 9 WHERE id = 2");
  run = open_run(RUN_READ);
  assert_false(run_read_joints(run, &scene, &joints));
  assert_non_null(strstr(run_error(run), "joint 2 joins bodies 9 and 3 of 3"));
  run_close(run);
  change("DROP TABLE joint_def");
  run = open_run(RUN_READ);
  CHECK(run, run_read_joints(run, &scene, &joints));
  assert_int_equal(joints.count, 0);
  run_close(run);
  run_scene_destroy(&scene);
}

static void test_summary(void **state) {
  (void)state;
  AbdWorld *world = make_world();
  Run *run = begin(world);
  AbdStepReport a = {.step = 1,
                     .time = 0.01,
                     .iterations = 3,
                     .contacts = 10,
                     .min_distance = INFINITY,
                     .max_strain = 1e-5,
                     .most_strained = {1}};
  AbdStepReport b = {.step = 2,
                     .time = 0.02,
                     .iterations = 5,
                     .contacts = 30,
                     .min_distance = 2e-3,
                     .nearest = {{1}, {2}},
                     .outcome = ABD_STOPPED_AT_MAX_ITERATIONS,
                     .culprit = {{3}, {0}},
                     .joint_residual = 2e-9,
                     .worst_joint = {2}};
  AbdStepReport c = {.step = 3, .time = 0.03, .iterations = 1, .min_distance = 3e-3, .outcome = ABD_KINEMATIC_BLOCKED};
  AbdStepReport d = c, e = c;
  d.step = 4, e.step = 5;
  c.target_error = 0.2, c.culprit[0].id = 1;
  d.max_strain = 2e-5, d.most_strained.id = 3;
  d.target_error = 0.5, d.culprit[0].id = 2;
  e.target_error = 0.7, e.outcome = ABD_STOPPED_BY_LINE_SEARCH; /* it did not converge: it may be anywhere */
  a.seconds[ABD_STAGE_SOLVE] = 0.5, b.seconds[ABD_STAGE_SOLVE] = 0.25, c.seconds[ABD_STAGE_CCD] = 1;
  CHECK(run, run_begin(run) && run_write_report(run, &a, 1) && run_write_report(run, &b, 2) &&
                 run_write_report(run, &c, UINT64_MAX) && run_commit(run));
  RunSummary s;
  CHECK(run, run_read_summary(run, &s));
  assert_int_equal(s.steps, 3);
  assert_int_equal(s.not_converged, 1);
  assert_int_equal(s.first_not_converged, 2);
  assert_int_equal(s.kinematic_blocked, 1);
  assert_float_equal(s.iterations_mean, 3, 1e-12);
  assert_int_equal(s.contacts_max, 30);
  assert_float_equal(s.min_distance, 2e-3, 0);
  assert_int_equal(s.min_distance_step, 2);
  assert_int_equal(s.nearest[1], 2);
  assert_float_equal(s.joint_residual, 2e-9, 0);
  assert_int_equal(s.joint_residual_step, 2);
  assert_int_equal(s.worst_joint, 2);
  assert_float_equal(s.seconds[ABD_STAGE_SOLVE], 0.75, 1e-12);
  assert_float_equal(s.seconds_total, 1.75, 1e-12);
  assert_true(s.last_hash == UINT64_MAX);
  assert_float_equal(s.held_back, 0.2, 0);
  assert_int_equal(s.max_strain_step, 1);
  assert_int_equal(s.most_strained, 1);
  CHECK(run, run_begin(run) && run_write_report(run, &d, 4) && run_write_report(run, &e, 5) && run_commit(run));
  CHECK(run, run_read_summary(run, &s));
  assert_int_equal(s.kinematic_blocked, 2);
  assert_float_equal(s.held_back, 0.5, 0);
  assert_int_equal(s.held_back_step, 4);
  assert_int_equal(s.held_back_body, 2);
  assert_float_equal(s.max_strain, 2e-5, 0);
  assert_int_equal(s.max_strain_step, 4);
  assert_int_equal(s.most_strained, 3);
  run_close(run);
  abd_world_destroy(world);
}

static void test_draft_is_removed(void **state) {
  (void)state;
  RunError error;
  unlink(path);
  Run *run = run_create(path, &error);
  assert_non_null(run);
  run_close(run);
  assert_int_equal(access(path, F_OK), -1);
  char draft[sizeof path + 32];
  snprintf(draft, sizeof draft, "%s.part-%ld", path, (long)getpid());
  assert_int_equal(access(draft, F_OK), -1);
  assert_null(run_create("no/such/folder/x.abd", &error));
  assert_int_equal(error.kind, RUN_BAD_FILE);
  assert_non_null(strstr(error.text, "no/such/folder/x.abd"));
}

static void test_second_writer(void **state) {
  (void)state;
  AbdWorld *world = make_world();
  Run *run = begin(world);
  RunError error;
  assert_null(run_open(path, RUN_APPEND, &error));
  assert_non_null(strstr(error.text, "another abd run"));
  run_close(run);
  run = run_open(path, RUN_APPEND, &error);
  assert_non_null(run);
  run_close(run);
  abd_world_destroy(world);
}

static void expect_damage(const char *sql, const char *words) {
  RunError error = {0};
  RunScene scene = {0};
  RunFrame frame = {0};
  make_run(1);
  change(sql);
  Run *run = run_open(path, RUN_READ, &error);
  bool good = run && run_read_scene(run, &scene) && run_read_frame(run, &scene, 1, &frame);
  const char *text = run ? run_error(run) : error.text;
  if (good) fail_msg("no complaint after: %s", sql);
  if (!strstr(text, words)) fail_msg("'%s' does not say '%s'", text, words);
  run_frame_destroy(&frame);
  run_scene_destroy(&scene);
  run_close(run);
}

static void test_damage(void **state) {
  (void)state;
  expect_damage("PRAGMA user_version=99", "format 99");
  expect_damage("PRAGMA application_id=7", "not a run file");
  expect_damage("UPDATE frame SET node = substr(node, 1, 100)", "100 bytes, expected 288 for 3 bodies");
  expect_damage("UPDATE frame SET node = NULL", "0 bytes");
  expect_damage("DELETE FROM frame WHERE step = 1", "no frame of step 1");
  expect_damage("UPDATE body SET mesh = 9 WHERE id = 2", "mesh 9 of 2");
  expect_damage("UPDATE body SET kind = 'fluid' WHERE id = 2", "kind 'fluid'");
  expect_damage("UPDATE body SET kind = NULL WHERE id = 2", "no kind");
  expect_damage("UPDATE body SET motion = 'flying' WHERE id = 2", "motion is 'flying'");
  expect_damage("UPDATE body SET collide = '[7]' WHERE id = 2", "collide is '[7]'");
  expect_damage("DELETE FROM body WHERE id = 2", "1, 2, 3");
  expect_damage("UPDATE mesh SET vertex = substr(vertex, 1, 48)", "vertex 2 of 2");
  expect_damage("UPDATE mesh SET triangle = substr(triangle, 1, 7)", "multiple of 12");
  expect_damage("UPDATE mesh SET axes = NULL", "axes");
  expect_damage("UPDATE mesh SET vertex = x'000000000000f07f' || substr(vertex, 9)", "inf");
}

static void test_not_a_run(void **state) {
  (void)state;
  RunError error;
  FILE *file = fopen(path, "wb");
  fputs("this is no database, but it is long enough to be looked at", file);
  fclose(file);
  assert_null(run_open(path, RUN_READ, &error));
  assert_int_equal(error.kind, RUN_BAD_FILE);
  unlink(path);
  assert_null(run_open(path, RUN_READ, &error));
  assert_non_null(strstr(error.text, "No such file"));
}

static size_t count_lines(const char *name, const char *prefix) {
  char line[4096];
  size_t count = 0;
  FILE *file = fopen(name, "r");
  assert_non_null(file);
  while (fgets(line, sizeof line, file)) count += strncmp(line, prefix, strlen(prefix)) == 0;
  fclose(file);
  return count;
}

static void test_shapes_and_tables(void **state) {
  (void)state;
  make_run(4);
  Run *run = open_run(RUN_READ);
  RunScene scene;
  RunFrame frame;
  ExportError error;
  CHECK(run, run_read_scene(run, &scene) && run_read_frame(run, &scene, 4, &frame));
  assert_true(export_obj(&scene, &frame, FOLDER "/test_record.obj", &error));
  assert_int_equal(count_lines(FOLDER "/test_record.obj", "v "), 24);
  assert_int_equal(count_lines(FOLDER "/test_record.obj", "f "), 36);
  assert_int_equal(count_lines(FOLDER "/test_record.obj", "o "), 3);
  assert_true(export_ply(&scene, &frame, FOLDER "/test_record.ply", &error));
  FILE *ply = fopen(FOLDER "/test_record.ply", "rb");
  fseek(ply, 0, SEEK_END);
  long size = ftell(ply), header = size - 24 * (24 + 3 + 4) - 36 * 13;
  fseek(ply, header - 11, SEEK_SET);
  char end[12] = "";
  assert_int_equal(fread(end, 1, 11, ply), 11);
  assert_string_equal(end, "end_header\n");
  fclose(ply);
  int64_t *steps;
  size_t count;
  CHECK(run, run_read_frame_steps(run, &steps, &count));
  assert_int_equal(count, 5);
  assert_true(export_poses_csv(run, &scene, steps, count, FOLDER "/test_record.csv", &error));
  assert_int_equal(count_lines(FOLDER "/test_record.csv", ""), 16);
  assert_int_equal(count_lines(FOLDER "/test_record.csv", "0,0,2,\"first, \"\"quoted\"\"\","), 1);
  assert_true(export_reports_csv(run, FOLDER "/test_record.csv", &error));
  assert_int_equal(count_lines(FOLDER "/test_record.csv", ""), 5);
  assert_false(export_obj(&scene, &frame, "no/such/folder/x.obj", &error));
  assert_non_null(strstr(error.text, "no/such/folder/x.obj"));
  free(steps);
  run_frame_destroy(&frame);
  run_scene_destroy(&scene);
  run_close(run);
  unlink(FOLDER "/test_record.obj"), unlink(FOLDER "/test_record.ply"), unlink(FOLDER "/test_record.csv");
}

/* The start's poses come back as position and rotation of the scene, whatever the principal axes are. */
static void test_quaternion(void **state) {
  (void)state;
  make_run(0);
  Run *run = open_run(RUN_READ);
  RunScene scene;
  RunFrame frame;
  CHECK(run, run_read_scene(run, &scene) && run_read_frame(run, &scene, 0, &frame));
  double q[4], expected[4] = {cos(0.3), 0, 0, sin(0.3)};
  export_quaternion(frame.nodes + 12, scene.mesh[1].axes, q);
  for (int k = 0; k < 4; k++)
    if (fabs(q[k] - expected[k]) > 1e-12) fail_msg("q[%d] = %.17g, expected %.17g", k, q[k], expected[k]);
  run_frame_destroy(&frame);
  run_scene_destroy(&scene);
  run_close(run);
}

static void test_picture(void **state) {
  (void)state;
  make_run(0);
  Run *run = open_run(RUN_READ);
  RunScene scene;
  RunFrame frame;
  CHECK(run, run_read_scene(run, &scene) && run_read_frame(run, &scene, 0, &frame));
  scene.body[1].color[0] = 255, scene.body[1].color[1] = scene.body[1].color[2] = 0; /* red below */
  scene.body[2].color[2] = 255, scene.body[2].color[0] = scene.body[2].color[1] = 0; /* blue above */
  PictureView view = picture_default_view();
  view.width = 160, view.height = 120;
  const double *nodes = frame.nodes;
  assert_true(picture_frame(&view, &scene, &nodes, 1, NULL, NULL));
  Picture picture = {0};
  PictureModel *model = picture_model_create(&scene);
  assert_non_null(model);
  assert_true(picture_draw(&picture, &view, model, frame.nodes));
  picture_model_destroy(model);
  double red = 0, blue = 0, red_row = 0, blue_row = 0;
  for (int y = 0; y < 120; y++)
    for (int x = 0; x < 160; x++) {
      const unsigned char *p = picture.rgb + 3 * (160 * y + x);
      if (p[0] > 80 && p[1] < 60 && p[2] < 60) red++, red_row += y;
      if (p[2] > 80 && p[0] < 60 && p[1] < 60) blue++, blue_row += y;
    }
  if (red < 200 || blue < 200) fail_msg("%g red and %g blue pixels", red, blue);
  if (red_row / red <= blue_row / blue)
    fail_msg("red at row %g, blue at %g: upside down", red_row / red, blue_row / blue);
  char error[200] = "";
  const char *file = picture_has_png() ? FOLDER "/test_record.png" : FOLDER "/test_record.ppm";
  assert_true(picture_save(&picture, file, error, sizeof error));
  assert_false(picture_save(&picture, "no/such/folder/x.ppm", error, sizeof error));
  unlink(file);
  picture_destroy(&picture);
  run_frame_destroy(&frame);
  run_scene_destroy(&scene);
  run_close(run);
}

static int clean(void **state) {
  (void)state;
  unlink(path);
  return 0;
}

int main(void) {
  const struct CMUnitTest test[] = {
      cmocka_unit_test(test_hash),
      cmocka_unit_test(test_round_trip),
      cmocka_unit_test(test_resume),
      cmocka_unit_test(test_joints),
      cmocka_unit_test(test_group),
      cmocka_unit_test(test_summary),
      cmocka_unit_test(test_draft_is_removed),
      cmocka_unit_test(test_second_writer),
      cmocka_unit_test(test_damage),
      cmocka_unit_test(test_not_a_run),
      cmocka_unit_test(test_shapes_and_tables),
      cmocka_unit_test(test_quaternion),
      cmocka_unit_test(test_picture),
  };
  return cmocka_run_group_tests(test, NULL, clean);
}
