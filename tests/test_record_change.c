/* Run files of worlds that change: rows of what comes and goes, frames of the bodies that are there, events, rewinding;
 * files of the format before. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/run.h"
#include "scene/scene.h"

static const char *const text =
    "{ \"version\": 1, \"dt\": 0.01, \"bodies\": ["
    "{ \"name\": \"plate\", \"shape\": \"box\", \"size\": [8, 8, 0.1], \"motion\": \"static\" },"
    "{ \"name\": \"box\", \"shape\": \"box\", \"size\": [0.2, 0.2, 0.2], \"position\": [0, 0, 0.5], \"velocity\": [3, "
    "0, -2],"
    "  \"until\": 0.3, \"copies\": { \"count\": 5, \"every\": 0.1 } },"
    "{ \"name\": \"jelly\", \"shape\": \"box\", \"size\": [0.2, 0.2, 0.2], \"cells\": [1, 1, 1], \"position\": [0, 2, "
    "0.4],"
    "  \"from\": 0.1, \"until\": 0.25, \"soft\": { \"young\": 1e5 } },"
    "{ \"name\": \"arm\", \"shape\": \"box\", \"size\": [0.4, 0.1, 0.1], \"position\": [0, -2, 0.5], \"from\": 0.15, "
    "\"until\": 0.35 }"
    "], \"joints\": [ { \"name\": \"pin\", \"type\": \"hinge\", \"bodies\": [\"arm\"], \"point\": [0, -2, 0.5], "
    "\"axis\": [0, 1, 0] } ] }";

typedef struct Trial {
  char path[64];
  Scene *scene;
  AbdWorld *world;
  Run *run;
} Trial;

#define GOOD(t, call)                                                                                                  \
  do {                                                                                                                 \
    if (!(call)) fail_msg("%s: %s", #call, run_error((t)->run));                                                       \
  } while (0)

static const char *orange(const void *user, uint32_t body) { return user && body == 4 ? "#ff8800" : NULL; }

static void step(Trial *t, int count) {
  SceneError error;
  for (int i = 0; i < count; i++) {
    AbdStepReport report;
    if (!scene_apply(t->scene, t->world, &error)) fail_msg("%s", error.text);
    if (abd_world_step(t->world, &report) != ABD_OK) fail_msg("%s", abd_world_error(t->world));
    RunStep now = {.report = &report, .frame = true, .contacts = true, .color = orange, .color_user = "yes"};
    GOOD(t, run_record_step(t->run, t->world, &now));
  }
}

static void open_trial(Trial *t, bool thread) {
  SceneError error;
  RunError failure;
  snprintf(t->path, sizeof t->path, "record_change_%d.abd", (int)getpid());
  t->scene = scene_parse(text, strlen(text), "test", NULL, &error);
  if (!t->scene) fail_msg("%s", error.text);
  t->world = scene_build(t->scene, 1, &error);
  assert_int_equal(abd_world_start(t->world), ABD_OK);
  t->run = run_create(t->path, &failure);
  if (!t->run) fail_msg("%s", failure.text);
  GOOD(t, run_write_meta(t->run, "dt", "0.01") && run_write_world(t->run, t->world) &&
              run_write_frame(t->run, t->world) && run_write_joints(t->run, t->world) && run_publish(t->run));
  if (thread) GOOD(t, run_start_writer(t->run));
}

static void close_trial(Trial *t) {
  run_close(t->run);
  abd_world_destroy(t->world);
  scene_destroy(t->scene);
  unlink(t->path);
}

static void check_lives(const RunScene *scene) {
  static const struct {
    const char *name;
    int64_t born, died;
  } life[] = {{"plate", 0, INT64_MAX}, {"box-1", 0, 31},         {"box-2", 11, 41},        {"jelly", 11, 26},
              {"arm", 16, 36},         {"box-3", 21, INT64_MAX}, {"box-4", 31, INT64_MAX}, {"box-5", 41, INT64_MAX}};
  assert_int_equal(scene->body_count, 8);
  for (size_t k = 0; k < 8; k++) {
    assert_string_equal(scene->body[k].name, life[k].name);
    assert_true(scene->body[k].born == life[k].born && scene->body[k].died == life[k].died);
  }
  assert_int_equal(scene->body[3].color[1], 0x88);
}

static void test_lives_and_frames(void **state) {
  (void)state;
  for (int thread = 0; thread < 2; thread++) {
    Trial t;
    RunScene scene;
    open_trial(&t, thread);
    step(&t, 45);
    GOOD(&t, run_drain(t.run));
    GOOD(&t, run_read_scene(t.run, &scene));
    check_lives(&scene);
    RunJoints joints;
    GOOD(&t, run_read_joints(t.run, &scene, &joints));
    assert_int_equal(joints.count, 1);
    assert_true(joints.joint[0].born == 16 && joints.joint[0].died == 36);
    for (int64_t k = 0; k <= 45; k++) {
      RunFrame frame;
      AbdJointReading reading;
      GOOD(&t, run_read_frame(t.run, &scene, k, &frame));
      GOOD(&t, run_read_joint_readings(t.run, &joints, k, &reading));
      assert_true((reading.axis[1] != 0) == (k >= 16 && k < 36));
      for (size_t b = 0; b < scene.body_count; b++) {
        bool alive = run_body_alive(&scene.body[b], k);
        assert_true(isnan(frame.nodes[scene.body[b].node]) == !alive);
        assert_true(isnan(frame.velocity[scene.body[b].rate]) == !alive);
      }
      run_frame_destroy(&frame);
    }
    double nodes[12];
    RunFrame last;
    GOOD(&t, run_read_frame(t.run, &scene, 45, &last));
    assert_int_equal(abd_body_nodes(t.world, (AbdBodyId){7}, nodes), ABD_OK);
    assert_memory_equal(nodes, last.nodes + scene.body[6].node, sizeof nodes);
    run_frame_destroy(&last);
    run_joints_destroy(&joints);
    run_scene_destroy(&scene);
    close_trial(&t);
  }
}

static int64_t number(const char *path, const char *sql) {
  sqlite3 *db;
  sqlite3_stmt *s;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
  assert_int_equal(sqlite3_step(s), SQLITE_ROW);
  int64_t value = sqlite3_column_int64(s, 0);
  sqlite3_finalize(s);
  sqlite3_close(db);
  return value;
}

static void test_rewinding(void **state) {
  Trial t;
  RunScene scene;
  int64_t changes, after;
  (void)state;
  open_trial(&t, false);
  step(&t, 20);
  size_t size = abd_world_snapshot_size(t.world);
  void *bytes = malloc(size);
  assert_int_equal(abd_world_save(t.world, bytes, size), ABD_OK);
  GOOD(&t, run_count_changes(t.run, &changes));
  int64_t events = number(t.path, "SELECT count(*) FROM event");
  step(&t, 25);
  int64_t all = number(t.path, "SELECT count(*) FROM event");
  GOOD(&t, run_rewind(t.run, 20));
  GOOD(&t, run_count_changes(t.run, &after));
  assert_true(after > changes); /* the scene that was read is not up to date */
  assert_int_equal(number(t.path, "SELECT count(*) FROM event"), events);
  SceneError error;
  abd_world_destroy(t.world);
  t.world = scene_build_at(t.scene, 1, 20, &error);
  GOOD(&t, run_same_world(t.run, t.world));
  assert_int_equal(abd_world_restore(t.world, bytes, size), ABD_OK);
  step(&t, 25);
  assert_int_equal(number(t.path, "SELECT count(*) FROM event"), all);
  GOOD(&t, run_read_scene(t.run, &scene));
  check_lives(&scene);
  run_scene_destroy(&scene);
  free(bytes);
  close_trial(&t);
}

/* Ids of bodies that came and went between two steps stay without a gap. */
static void test_a_body_that_no_step_saw(void **state) {
  Trial t;
  RunScene scene;
  (void)state;
  open_trial(&t, false);
  step(&t, 2);
  AbdBodyDef def = abd_default_body_def();
  AbdBodyId id;
  def.mesh.id = 1;
  def.position[2] = 3;
  assert_int_equal(abd_world_add_body(t.world, &def, &id), ABD_OK);
  assert_int_equal(abd_world_remove_body(t.world, id), ABD_OK);
  assert_int_equal(abd_world_add_body(t.world, &def, &id), ABD_OK);
  step(&t, 2);
  GOOD(&t, run_read_scene(t.run, &scene));
  assert_int_equal(scene.body_count, id.id);
  assert_false(run_body_alive(&scene.body[id.id - 2], 3));
  assert_true(run_body_alive(&scene.body[id.id - 1], 3));
  RunFrame frame;
  GOOD(&t, run_read_frame(t.run, &scene, 4, &frame));
  run_frame_destroy(&frame);
  run_scene_destroy(&scene);
  close_trial(&t);
}

/* A world changes after its run began and before its first step. Then it is restored, which raises no events. */
static AbdBodyId change_the_start(Trial *t, void **bytes, size_t *size) {
  AbdBodyDef def = abd_default_body_def();
  AbdJointDef pin = abd_default_joint_def();
  AbdBodyId late;
  def.mesh.id = 1, def.position[2] = 3, def.group = -1;
  assert_int_equal(abd_world_exclude_pair(t->world, (AbdBodyId){1}, (AbdBodyId){2}), ABD_OK);
  assert_int_equal(abd_world_remove_body(t->world, (AbdBodyId){2}), ABD_OK);
  assert_int_equal(abd_world_add_body(t->world, &def, &late), ABD_OK);
  pin.kind = ABD_JOINT_BALL, pin.body_a = late, pin.point[2] = 3;
  assert_int_equal(abd_world_add_joint(t->world, &pin, NULL), ABD_OK);
  *size = abd_world_snapshot_size(t->world), *bytes = malloc(*size);
  assert_int_equal(abd_world_save(t->world, *bytes, *size), ABD_OK);
  return late;
}

static void check_changed_start(Trial *t, AbdBodyId late, int64_t last) {
  RunScene scene;
  RunJoints joints;
  AbdJointReading reading;
  double nodes[12];
  GOOD(t, run_drain(t->run));
  GOOD(t, run_read_scene(t->run, &scene));
  GOOD(t, run_read_joints(t->run, &scene, &joints));
  assert_int_equal(scene.body_count, late.id);
  assert_int_equal(joints.count, 1);
  assert_true(scene.body[0].born == 0 && scene.body[0].died == INT64_MAX);
  assert_true(scene.body[1].born == 0 && scene.body[1].died == 1);
  assert_true(scene.body[late.id - 1].born == 1 && scene.body[late.id - 1].died == INT64_MAX);
  assert_true(joints.joint[0].born == 1 && joints.joint[0].died == INT64_MAX);
  for (int64_t k = 0; k <= last; k++) {
    RunFrame frame;
    GOOD(t, run_read_frame(t->run, &scene, k, &frame));
    GOOD(t, run_read_joint_readings(t->run, &joints, k, &reading));
    assert_true(isnan(frame.nodes[scene.body[1].node]) == (k > 0));
    if (k == last) {
      assert_int_equal(abd_body_nodes(t->world, late, nodes), ABD_OK);
      assert_memory_equal(nodes, frame.nodes + scene.body[late.id - 1].node, sizeof nodes);
    }
    run_frame_destroy(&frame);
  }
  run_joints_destroy(&joints);
  run_scene_destroy(&scene);
}

static void test_changes_before_the_first_step(void **state) {
  (void)state;
  for (int kind = 0; kind < 4; kind++) { /* with a thread; restored */
    Trial t;
    void *bytes;
    size_t size;
    open_trial(&t, kind & 1);
    AbdBodyId late = change_the_start(&t, &bytes, &size);
    if (kind & 2) assert_int_equal(abd_world_restore(t.world, bytes, size), ABD_OK);
    step(&t, 3);
    check_changed_start(&t, late, 3);
    RunExclusion *exclusion;
    size_t exclusions;
    GOOD(&t, run_read_exclusions(t.run, &exclusion, &exclusions));
    assert_int_equal(exclusions, kind & 2 ? 0 : 1);
    assert_true(exclusions == 0 || (exclusion->step == 1 && exclusion->excluded));
    free(exclusion);
    GOOD(&t, run_rewind(t.run, 0));
    assert_int_equal(abd_world_restore(t.world, bytes, size), ABD_OK);
    step(&t, 2);
    check_changed_start(&t, late, 2);
    free(bytes);
    close_trial(&t);
  }
}

/* Which of the first bodies the file excludes from the ground after all its steps; they are pairs of the world too. */
static int excluded(Trial *t) {
  RunScene scene;
  RunExclusion *change;
  size_t changes;
  AbdBodyView view;
  int set = 0, world = 0;
  GOOD(t, run_drain(t->run));
  GOOD(t, run_read_scene(t->run, &scene));
  GOOD(t, run_read_exclusions(t->run, &change, &changes));
  for (size_t k = 0; k < scene.body[0].exclude_count; k++) set |= 1 << scene.body[0].exclude[k];
  for (size_t k = 0; k < changes; k++)
    if (change[k].a == 1) set = (set & ~(1 << change[k].b)) | change[k].excluded << change[k].b;
  for (uint32_t b = 2; b < 4; b++)
    if (abd_body_view(t->world, (AbdBodyId){b}, &view) == ABD_OK)
      world |= !abd_world_pair_collides(t->world, (AbdBodyId){1}, (AbdBodyId){b}) << b;
  assert_int_equal(set, world);
  free(change);
  run_scene_destroy(&scene);
  return set;
}

static int64_t excluding_events(const Trial *t) {
  return number(t->path, "SELECT count(*) FROM event WHERE kind IN ('pair excluded', 'pair included')");
}

/* A restore changes excluded pairs without an event, and so does a step that is not recorded. A run that is rewound and
 * continued has the same events. */
static void test_excluded_pairs(void **state) {
  (void)state;
  for (int thread = 0; thread < 2; thread++) {
    const AbdBodyId ground = {1}, first = {2}, second = {3};
    Trial t;
    open_trial(&t, thread);
    step(&t, 11); /* the second box comes with the last of these */
    assert_int_equal(abd_world_exclude_pair(t.world, ground, first), ABD_OK);
    step(&t, 1);
    assert_int_equal(excluded(&t), 1 << 2);
    size_t size = abd_world_snapshot_size(t.world);
    void *bytes = malloc(size);
    assert_int_equal(abd_world_save(t.world, bytes, size), ABD_OK);
    assert_int_equal(abd_world_include_pair(t.world, ground, first), ABD_OK);
    assert_int_equal(abd_world_exclude_pair(t.world, ground, second), ABD_OK);
    assert_int_equal(abd_world_step(t.world, NULL), ABD_OK);
    step(&t, 1);
    assert_int_equal(excluded(&t), 1 << 3);
    assert_int_equal(excluding_events(&t), 3);
    GOOD(&t, run_rewind(t.run, 12));
    assert_int_equal(abd_world_restore(t.world, bytes, size), ABD_OK);
    step(&t, 3);
    assert_int_equal(excluded(&t), 1 << 2);
    assert_int_equal(excluding_events(&t), 1);
    assert_int_equal(abd_world_restore(t.world, bytes, size), ABD_OK);
    GOOD(&t, run_rewind(t.run, 11)); /* the file loses the step that has the exclusion, the world is after it */
    step(&t, 1);
    assert_int_equal(excluded(&t), 1 << 2);
    assert_int_equal(excluding_events(&t), 1);
    free(bytes);
    close_trial(&t);
  }
}

/* The world is restored to before an exclusion, and the file goes on without being rewound. */
static void test_restored_pairs(void **state) {
  Trial t;
  (void)state;
  open_trial(&t, true);
  size_t size = abd_world_snapshot_size(t.world);
  void *bytes = malloc(size);
  assert_int_equal(abd_world_save(t.world, bytes, size), ABD_OK);
  assert_int_equal(abd_world_exclude_pair(t.world, (AbdBodyId){1}, (AbdBodyId){2}), ABD_OK);
  assert_int_equal(abd_world_restore(t.world, bytes, size), ABD_OK);
  step(&t, 1);
  assert_int_equal(excluded(&t), 0);
  assert_int_equal(abd_world_exclude_pair(t.world, (AbdBodyId){1}, (AbdBodyId){2}), ABD_OK);
  free(bytes);
  size = abd_world_snapshot_size(t.world), bytes = malloc(size);
  assert_int_equal(abd_world_save(t.world, bytes, size), ABD_OK);
  assert_int_equal(abd_world_restore(t.world, bytes, size), ABD_OK);
  step(&t, 1);
  assert_int_equal(excluded(&t), 1 << 2);
  assert_int_equal(excluding_events(&t), 1);
  free(bytes);
  close_trial(&t);
}

/* A step that is not recorded has the events of the changes before it. */
static void test_changes_before_an_attempt(void **state) {
  Trial t;
  void *bytes;
  RunScene scene;
  (void)state;
  open_trial(&t, true);
  step(&t, 2);
  AbdBodyDef def = abd_default_body_def();
  AbdBodyId id;
  def.mesh.id = 1, def.position[2] = 3;
  assert_int_equal(abd_world_add_body(t.world, &def, &id), ABD_OK);
  assert_int_equal(abd_world_remove_body(t.world, (AbdBodyId){2}), ABD_OK);
  size_t size = abd_world_snapshot_size(t.world);
  bytes = malloc(size);
  assert_int_equal(abd_world_save(t.world, bytes, size), ABD_OK);
  assert_int_equal(abd_world_step(t.world, NULL), ABD_OK);
  assert_int_equal(abd_world_restore(t.world, bytes, size), ABD_OK);
  step(&t, 2);
  GOOD(&t, run_drain(t.run));
  GOOD(&t, run_read_scene(t.run, &scene));
  assert_int_equal(scene.body_count, id.id);
  assert_true(scene.body[1].died == 3 && scene.body[id.id - 1].born == 3);
  for (int64_t k = 0; k <= 4; k++) {
    RunFrame frame;
    GOOD(&t, run_read_frame(t.run, &scene, k, &frame));
    run_frame_destroy(&frame);
  }
  run_scene_destroy(&scene);
  free(bytes);
  close_trial(&t);
}

/* Bodies that came before the file began are in it once. */
static void test_changes_before_the_file(void **state) {
  Trial t;
  RunScene scene;
  RunError failure;
  (void)state;
  open_trial(&t, false);
  AbdBodyDef def = abd_default_body_def();
  AbdBodyId id;
  def.mesh.id = 1, def.position[2] = 3;
  assert_int_equal(abd_world_add_body(t.world, &def, &id), ABD_OK);
  assert_int_equal(abd_world_remove_body(t.world, (AbdBodyId){2}), ABD_OK);
  run_close(t.run);
  t.run = run_create(t.path, &failure);
  if (!t.run) fail_msg("%s", failure.text);
  GOOD(&t, run_write_meta(t.run, "dt", "0.01") && run_write_world(t.run, t.world) && run_write_frame(t.run, t.world) &&
               run_publish(t.run));
  step(&t, 2);
  GOOD(&t, run_read_scene(t.run, &scene));
  assert_int_equal(scene.body_count, id.id);
  assert_true(scene.body[1].born == 0 && scene.body[1].died == 0);
  assert_true(scene.body[id.id - 1].born == 0 && scene.body[id.id - 1].died == INT64_MAX);
  for (int64_t k = 0; k <= 2; k++) {
    RunFrame frame;
    GOOD(&t, run_read_frame(t.run, &scene, k, &frame));
    run_frame_destroy(&frame);
  }
  run_scene_destroy(&scene);
  close_trial(&t);
}

/* A joint that breaks is gone in the frame of that step. */
static void test_a_joint_that_breaks(void **state) {
  Trial t;
  RunScene scene;
  RunJoints joints;
  AbdJointReading reading[2];
  (void)state;
  open_trial(&t, false);
  step(&t, 2);
  AbdBodyDef def = abd_default_body_def();
  AbdJointDef pin = abd_default_joint_def();
  def.mesh.id = 1;
  def.position[2] = 3;
  assert_int_equal(abd_world_add_body(t.world, &def, &pin.body_a), ABD_OK);
  pin.kind = ABD_JOINT_BALL;
  pin.point[2] = 3;
  pin.break_force = 1e-6;
  assert_int_equal(abd_world_add_joint(t.world, &pin, NULL), ABD_OK);
  step(&t, 3);
  GOOD(&t, run_read_scene(t.run, &scene));
  GOOD(&t, run_read_joints(t.run, &scene, &joints));
  assert_int_equal(joints.count, 1);
  assert_true(joints.joint[0].born == 3 && joints.joint[0].died == 3);
  for (int64_t k = 1; k <= 5; k++) GOOD(&t, run_read_joint_readings(t.run, &joints, k, reading));
  run_joints_destroy(&joints);
  run_scene_destroy(&scene);
  close_trial(&t);
}

/* Format 4 had neither lives nor events. */
static void test_the_format_before(void **state) {
  static const char *const back =
      "ALTER TABLE body DROP COLUMN born; ALTER TABLE body DROP COLUMN died; ALTER TABLE joint_def DROP COLUMN born;"
      "ALTER TABLE joint_def DROP COLUMN died; DROP TABLE event; PRAGMA user_version = 4";
  Trial t;
  RunScene scene;
  RunError error;
  sqlite3 *db;
  (void)state;
  open_trial(&t, false);
  step(&t, 5);
  run_close(t.run);
  assert_int_equal(sqlite3_open(t.path, &db), SQLITE_OK);
  if (sqlite3_exec(db, back, NULL, NULL, NULL) != SQLITE_OK) fail_msg("%s", sqlite3_errmsg(db));
  sqlite3_close(db);
  t.run = run_open(t.path, RUN_READ, &error);
  if (!t.run) fail_msg("%s", error.text);
  GOOD(&t, run_read_scene(t.run, &scene));
  assert_true(scene.body[1].born == 0 && scene.body[1].died == INT64_MAX);
  RunFrame frame;
  RunJoints joints;
  GOOD(&t, run_read_frame(t.run, &scene, 5, &frame));
  GOOD(&t, run_read_joints(t.run, &scene, &joints));
  run_joints_destroy(&joints);
  run_frame_destroy(&frame);
  run_scene_destroy(&scene);
  close_trial(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lives_and_frames),
      cmocka_unit_test(test_rewinding),
      cmocka_unit_test(test_a_body_that_no_step_saw),
      cmocka_unit_test(test_a_joint_that_breaks),
      cmocka_unit_test(test_the_format_before),
      cmocka_unit_test(test_changes_before_the_first_step),
      cmocka_unit_test(test_changes_before_an_attempt),
      cmocka_unit_test(test_changes_before_the_file),
      cmocka_unit_test(test_excluded_pairs),
      cmocka_unit_test(test_restored_pairs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
