/* Readers of a run that is being written. Before every SQL statement of a reader a step is written in which a body
 * comes and, later, one goes, so every order of the writer's transactions and the reader's statements occurs: readers
 * never fail and see in each frame the bodies of its step. After a rewind with other bodies they fail with a sentence
 * or have fewer frames. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <abd/export.h>
#include <abd/record.h>

#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/run.h"
#include "scene/scene.h"
#include "view/data.h"

enum { MOST_STEPS = 150, ALIVE = 5 };

/* In each step a box comes and, after five, one goes, and so do a hinge and a soft box. */
static const char *const text =
    "{ \"version\": 1, \"dt\": 0.01, \"gravity\": [0, 0, 0], \"bodies\": ["
    "{ \"name\": \"plate\", \"shape\": \"box\", \"size\": [1, 1, 0.1], \"position\": [0, 0, -9], \"motion\": "
    "\"static\" },"
    "{ \"name\": \"box\", \"shape\": \"box\", \"size\": [0.2, 0.2, 0.2], \"velocity\": [50, 0, 0], \"until\": 0.045,"
    "  \"copies\": { \"count\": 200, \"every\": 0.01 } },"
    "{ \"name\": \"jelly\", \"shape\": \"box\", \"size\": [0.1, 0.1, 0.1], \"cells\": [1, 1, 1], \"position\": [0, 3, "
    "0],"
    "  \"velocity\": [0, 50, 0], \"until\": 0.045, \"soft\": { \"young\": 1e5 },"
    "  \"copies\": { \"count\": 100, \"every\": 0.02 } },"
    "{ \"name\": \"arm\", \"shape\": \"box\", \"size\": [0.4, 0.1, 0.1], \"position\": [0, -3, 0], \"from\": 0.05, "
    "\"until\": 0.2 }"
    "], \"joints\": [ { \"name\": \"pin\", \"type\": \"hinge\", \"bodies\": [\"arm\"], \"point\": [0, -3, 0], "
    "\"axis\": [0, 1, 0] } ] }";

typedef struct Writer {
  char path[64];
  Scene *scene;
  AbdWorld *world;
  Run *run;
  void *first;
  size_t first_size;
} Writer;

#define GOOD(w, call)                                                                                                  \
  do {                                                                                                                 \
    if (!(call)) fail_msg("%s: %s", #call, run_error((w)->run));                                                       \
  } while (0)
#define FINE(run, call)                                                                                                \
  do {                                                                                                                 \
    if ((call) != ABD_OK) fail_msg("%s: %s", #call, abd_run_error(run));                                               \
  } while (0)

static void write_steps(Writer *w, int count) {
  SceneError error;
  for (int k = 0; k < count; k++) {
    AbdStepReport report;
    if (!scene_apply(w->scene, w->world, &error)) fail_msg("%s", error.text);
    if (abd_world_step(w->world, &report) != ABD_OK) fail_msg("%s", abd_world_error(w->world));
    GOOD(w, run_record_step(w->run, w->world, &(RunStep){.report = &report, .frame = true, .contacts = true}));
  }
}

/* ---- Steps between statements ---- */

static Writer *busy; /* writes a step before each statement of other connections; NULL = none does */
static int statements;

static int before_statement(unsigned kind, void *user, void *statement, void *sql) {
  (void)kind, (void)user, (void)statement, (void)sql;
  Writer *w = busy;
  if (!w || abd_world_step_count(w->world) >= MOST_STEPS) return 0;
  busy = NULL; /* the writer's own statements */
  write_steps(w, 1);
  statements++;
  busy = w;
  return 0;
}

static int watch(sqlite3 *db, const char **error, const struct sqlite3_api_routines *api) {
  (void)error, (void)api;
  return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, before_statement, NULL);
}

/* ---- Life ---- */

static void open_writer(Writer *w) {
  SceneError error;
  RunError failure;
  snprintf(w->path, sizeof w->path, "record_follow_%d.abd", (int)getpid());
  w->scene = scene_parse(text, strlen(text), "test", NULL, &error);
  if (!w->scene) fail_msg("%s", error.text);
  w->world = scene_build(w->scene, 1, &error);
  if (!w->world) fail_msg("%s", error.text);
  assert_int_equal(abd_world_start(w->world), ABD_OK);
  w->first_size = abd_world_snapshot_size(w->world);
  w->first = malloc(w->first_size);
  assert_int_equal(abd_world_save(w->world, w->first, w->first_size), ABD_OK);
  w->run = run_create(w->path, &failure);
  if (!w->run) fail_msg("%s", failure.text);
  GOOD(w, run_write_meta(w->run, "dt", "0.01") && run_write_world(w->run, w->world) &&
              run_write_frame(w->run, w->world) && run_write_joints(w->run, w->world) && run_publish(w->run));
}

static void close_writer(Writer *w) {
  busy = NULL;
  run_close(w->run);
  abd_world_destroy(w->world);
  scene_destroy(w->scene);
  free(w->first);
  unlink(w->path);
}

/* Takes file and world back to the start. */
static void rewind_writer(Writer *w) {
  SceneError error;
  GOOD(w, run_rewind(w->run, 0));
  abd_world_destroy(w->world);
  w->world = scene_build(w->scene, 1, &error);
  assert_int_equal(abd_world_restore(w->world, w->first, w->first_size), ABD_OK);
}

/* A body that is not in the scene. */
static void add_body(Writer *w) {
  AbdBodyDef def = abd_default_body_def();
  AbdBodyId id;
  def.mesh.id = 1;
  def.position[2] = 9;
  assert_int_equal(abd_world_add_body(w->world, &def, &id), ABD_OK);
}

/* ---- The viewer's data ---- */

static void check_view_frames(const ViewData *data, const Bytes *frames) {
  const RunScene *scene = &data->run.scene;
  size_t stride = view_frame_size(scene);
  assert_int_equal(frames->size, data->run.step_count * stride);
  for (size_t k = 0; k < data->run.step_count; k++) {
    double step;
    memcpy(&step, frames->data + k * stride, sizeof step);
    assert_true(step == (double)data->run.step[k]);
    for (size_t b = 0; b < scene->body_count; b++) {
      float axis;
      memcpy(&axis, frames->data + k * stride + 16 + (12 * b + 3) * sizeof axis, sizeof axis);
      assert_true((axis != 0) == run_body_alive(&scene->body[b], data->run.step[k]));
    }
  }
}

static void test_the_viewer_follows(void **state) {
  (void)state;
  Writer w;
  ViewData data;
  open_writer(&w);
  write_steps(&w, 3);
  busy = &w, statements = 0;
  if (!view_data_open(&data, w.path)) fail_msg("%s", data.error.text);
  while (abd_world_step_count(w.world) < MOST_STEPS) {
    Bytes frames = {0}, contacts = {0}, joints = {0};
    if (!view_data_refresh(&data)) fail_msg("%s", data.error.text);
    if (!view_data_frames(&data, 0, 1000, &frames)) fail_msg("%s", data.error.text);
    check_view_frames(&data, &frames);
    if (!view_data_contacts(&data, 0, 1000, &contacts)) fail_msg("%s", data.error.text);
    if (!view_data_joints(&data, 0, 1000, &joints)) fail_msg("%s", data.error.text);
    bytes_free(&frames), bytes_free(&contacts), bytes_free(&joints);
  }
  printf("viewer: %d statements with a step before them, %zu frames, %zu bodies\n", statements, data.run.step_count,
         data.run.scene.body_count);
  assert_int_equal(data.generation, 0);
  view_data_destroy(&data);
  close_writer(&w);
}

/* ---- Runs that are read by abd/record.h ---- */

static void check_frame(AbdRun *run, const AbdRunView *view, int64_t step) {
  AbdRunFrame frame;
  AbdRunBody body;
  const AbdJointReading *reading;
  size_t count;
  FINE(run, abd_run_frame(run, step, &frame));
  FINE(run, abd_run_readings(run, step, &reading, &count));
  assert_int_equal(count, view->joint_count);
  for (uint32_t id = 1; id <= view->body_count; id++) {
    FINE(run, abd_run_body(run, (AbdBodyId){id}, &body));
    assert_true(isnan(frame.node[body.node]) == !(body.born <= step && step < body.died));
  }
}

static void test_runs_follow(void **state) {
  (void)state;
  Writer w;
  AbdError error;
  AbdRunView view = {0};
  AbdRunSummary summary;
  open_writer(&w);
  busy = &w, statements = 0;
  AbdRun *run = abd_run_open(w.path, &error);
  if (!run) fail_msg("%s", error.text);
  while (view.frame_count < MOST_STEPS) {
    FINE(run, abd_run_view(run, &view));
    for (size_t k = view.frame_count > ALIVE ? view.frame_count - ALIVE : 0; k < view.frame_count; k++)
      check_frame(run, &view, view.frame[k]);
    FINE(run, abd_run_summary(run, &summary));
    assert_int_equal(summary.frames, summary.steps + 1);
  }
  printf("runs: %d statements with a step before them, %zu frames, %zu bodies, %zu joints\n", statements,
         view.frame_count, view.body_count, view.joint_count);
  assert_true(view.body_count > MOST_STEPS && view.joint_count == 1);
  abd_run_close(run);
  close_writer(&w);
}

static void test_exports_and_verdicts_follow(void **state) {
  static const char *const name[] = {"follow.csv", "follow.glb", "follow.html"};
  (void)state;
  Writer w;
  AbdError error;
  AbdRunVerdict verdict;
  open_writer(&w);
  for (int k = 0; k < 4; k++) {
    write_steps(&w, 8);
    busy = &w, statements = 0;
    AbdRun *run = abd_run_open(w.path, &error);
    if (!run) fail_msg("%s", error.text);
    if (k == 3) {
      FINE(run, abd_run_verify(run, -1, NULL, NULL, NULL, &verdict));
    } else if (abd_export_check(name[k], NULL, &error) == ABD_OK) {
      if (abd_export(run, name[k], NULL, &error) != ABD_OK && !strstr(error.text, "built without the viewer"))
        fail_msg("%s: %s", name[k], error.text);
      unlink(name[k]);
    }
    printf("%s: %d statements with a step before them\n", k == 3 ? "verify" : name[k], statements);
    busy = NULL;
    abd_run_close(run);
    rewind_writer(&w);
  }
  close_writer(&w);
}

/* A frame is read with the bodies that were listed, or not at all. */
static void test_a_frame_after_the_list(void **state) {
  (void)state;
  Writer w;
  AbdError error;
  AbdRunView view;
  AbdRunFrame frame;
  const AbdJointReading *reading;
  size_t count;
  open_writer(&w);
  write_steps(&w, 3);
  AbdRun *run = abd_run_open(w.path, &error);
  FINE(run, abd_run_view(run, &view));
  int64_t before = view.changes;
  write_steps(&w, 3);
  check_frame(run, &view, 3);
  assert_int_equal(abd_run_frame(run, 6, &frame), ABD_ERROR_STATE);
  assert_non_null(strstr(abd_run_error(run), "bodies or joints came or went"));
  assert_int_equal(abd_run_readings(run, 6, &reading, &count), ABD_ERROR_STATE);
  FINE(run, abd_run_view(run, &view));
  assert_true(view.changes > before);
  check_frame(run, &view, 6);
  abd_run_close(run);
  close_writer(&w);
}

/* If nothing came or went, a frame that was not listed can be read. */
static void test_a_frame_without_changes(void **state) {
  (void)state;
  Writer w;
  AbdError error;
  AbdRunView view;
  AbdRunFrame frame;
  open_writer(&w);
  write_steps(&w, 1);
  while (abd_world_body_count(w.world) > 1)
    assert_int_equal(abd_world_remove_body(w.world, abd_world_body_at(w.world, 1)), ABD_OK);
  AbdStepReport report;
  AbdRun *run = NULL;
  for (int k = 2; k <= 4; k++) {
    assert_int_equal(abd_world_step(w.world, &report), ABD_OK);
    GOOD(&w, run_record_step(w.run, w.world, &(RunStep){.report = &report, .frame = true}));
    if (k > 2) continue;
    run = abd_run_open(w.path, &error);
    FINE(run, abd_run_view(run, &view));
  }
  FINE(run, abd_run_frame(run, 4, &frame));
  assert_int_equal(abd_run_frame(run, 5, &frame), ABD_ERROR_FILE);
  abd_run_close(run);
  close_writer(&w);
}

/* ---- Rewinding ---- */

/* Other bodies come after it. */
static void test_a_rewind_with_other_bodies(void **state) {
  (void)state;
  Writer w;
  AbdError error;
  AbdRunView view;
  AbdRunFrame frame;
  ViewData data;
  Bytes frames = {0};
  int64_t before, after;
  open_writer(&w);
  write_steps(&w, 4);
  AbdRun *run = abd_run_open(w.path, &error);
  FINE(run, abd_run_view(run, &view));
  if (!view_data_open(&data, w.path)) fail_msg("%s", data.error.text);
  GOOD(&w, run_count_changes(w.run, &before));
  rewind_writer(&w);
  write_steps(&w, 1);
  add_body(&w);
  write_steps(&w, 3);
  GOOD(&w, run_count_changes(w.run, &after));
  printf("changes: %lld before, %lld after\n", (long long)before, (long long)after);
  assert_true(after > before);
  assert_int_equal(abd_run_frame(run, 4, &frame), ABD_ERROR_STATE);
  FINE(run, abd_run_view(run, &view));
  check_frame(run, &view, 4);
  if (!view_data_frames(&data, 0, 1000, &frames)) fail_msg("%s", data.error.text);
  assert_int_equal(frames.size, 2 * view_frame_size(&data.run.scene)); /* steps 0 and 1 are as they were */
  bytes_free(&frames);
  if (!view_data_refresh(&data) || !view_data_frames(&data, 0, 1000, &frames)) fail_msg("%s", data.error.text);
  check_view_frames(&data, &frames);
  bytes_free(&frames);
  view_data_destroy(&data);
  abd_run_close(run);
  close_writer(&w);
}

/* ---- Shards ---- */

/* A run gets its shards after its file has appeared. */
static void test_shards_that_come(void **state) {
  (void)state;
  Writer w;
  RunError failure;
  AbdError error;
  AbdRunView view;
  char id[RUN_ID_SIZE], name[80];
  open_writer(&w);
  AbdRun *run = abd_run_open(w.path, &error);
  FINE(run, abd_run_view(run, &view));
  GOOD(&w, run_read_id(w.run, id));
  Run *shard = run_open_shard(w.path, 0, id, 0, &failure);
  if (!shard) fail_msg("%s", failure.text);
  GOOD(&w, run_use_shards(w.run, 0, 1));
  for (int k = 0; k < 6; k++) {
    AbdStepReport report;
    SceneError why;
    uint32_t own[32];
    if (!scene_apply(w.scene, w.world, &why)) fail_msg("%s", why.text);
    assert_int_equal(abd_world_step(w.world, &report), ABD_OK);
    size_t count = abd_world_body_count(w.world);
    assert_true(count <= 32);
    for (size_t b = 0; b < count; b++) own[b] = abd_world_body_at(w.world, b).id;
    RunStep step = {.report = &report, .frame = true, .numbers = RUN_NONE};
    GOOD(&w, run_record_step(w.run, w.world, &step));
    step.numbers = RUN_OWN, step.body = own, step.body_count = count;
    if (!run_record_step(shard, w.world, &step)) fail_msg("%s", run_error(shard));
  }
  FINE(run, abd_run_view(run, &view));
  assert_int_equal(view.frame_count, 7);
  for (int64_t k = 0; k <= 6; k++) check_frame(run, &view, k);
  abd_run_close(run);
  run_close(shard);
  snprintf(name, sizeof name, "%s.0", w.path);
  unlink(name);
  close_writer(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_the_viewer_follows),
      cmocka_unit_test(test_runs_follow),
      cmocka_unit_test(test_exports_and_verdicts_follow),
      cmocka_unit_test(test_a_frame_after_the_list),
      cmocka_unit_test(test_a_frame_without_changes),
      cmocka_unit_test(test_a_rewind_with_other_bodies),
      cmocka_unit_test(test_shards_that_come),
  };
  sqlite3_auto_extension((void (*)(void))watch);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
