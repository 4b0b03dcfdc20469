/* Runs whose frames are in shards: the numbers of a run in one file, frames that not all shards have, resuming,
 * merging, files that miss or are damaged. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "boxrun.h"

enum { RANKS = 2, STEPS = 6 };
static const uint32_t own[RANKS][2] = {{1, 3}, {2, 0}}; /* ids of the bodies of a rank */
static const size_t own_count[RANKS] = {2, 1};

typedef struct Trial {
  char path[64], whole[64];
  AbdWorld *world;
  Run *run, *one, *shard[RANKS]; /* one: the same run in one file */
} Trial;

static void open_shards(Trial *t, int64_t step, int ranks) {
  char id[RUN_ID_SIZE];
  RunError error;
  CHECK(t->run, run_read_id(t->run, id));
  for (int r = 0; r < ranks; r++) {
    t->shard[r] = run_open_shard(t->path, r, id, step, &error);
    if (!t->shard[r]) fail_msg("%s", error.text);
    CHECK(t->shard[r], run_start_writer(t->shard[r]));
  }
  CHECK(t->run, run_use_shards(t->run, step, ranks));
}

static void begin(Trial *t) {
  snprintf(t->path, sizeof t->path, "shard-%ld.abd", (long)getpid());
  snprintf(t->whole, sizeof t->whole, "whole-%ld.abd", (long)getpid());
  t->world = make_world();
  t->run = begin_run(t->path, t->world);
  t->one = begin_run(t->whole, t->world);
  open_shards(t, 0, RANKS);
}

/* missing: the rank that loses the frame, -1 for none. */
static void step(Trial *t, int missing) {
  AbdStepReport report;
  if (abd_world_step(t->world, &report) != ABD_OK) fail_msg("%s", abd_world_error(t->world));
  RunStep now = {.report = &report, .frame = true};
  CHECK(t->one, run_record_step(t->one, t->world, &now));
  now.numbers = RUN_NONE;
  CHECK(t->run, run_record_step(t->run, t->world, &now));
  now.numbers = RUN_OWN;
  for (int r = 0; r < RANKS; r++) {
    now.body = own[r], now.body_count = own_count[r];
    if (r != missing) CHECK(t->shard[r], run_record_step(t->shard[r], t->world, &now));
  }
}

static void close_files(Trial *t) {
  run_close(t->run), run_close(t->one);
  for (int r = 0; r < RANKS; r++) run_close(t->shard[r]);
  t->run = t->one = t->shard[0] = t->shard[1] = NULL;
}

static void end(Trial *t) {
  char name[80];
  close_files(t);
  abd_world_destroy(t->world);
  unlink(t->path), unlink(t->whole);
  for (int r = 0; r < RANKS; r++) {
    snprintf(name, sizeof name, "%s.%d", t->path, r);
    unlink(name);
  }
}

/* The frames of a run with shards are those of the other up to a step, and there are no more. */
static void expect_frames(const char *path, const char *whole, int64_t last) {
  RunError error;
  RunScene scene;
  RunFrame a, b;
  int64_t *steps;
  size_t count;
  Run *run = run_open(path, RUN_READ, &error), *one = run_open(whole, RUN_READ, &error);
  if (!run || !one) fail_msg("%s", error.text);
  CHECK(run, run_read_scene(run, &scene) && run_read_frame_steps(run, &steps, &count));
  assert_int_equal(steps[count - 1], last);
  for (size_t k = 0; k < count; k++) {
    CHECK(run, run_read_frame(run, &scene, steps[k], &a));
    CHECK(one, run_read_frame(one, &scene, steps[k], &b));
    assert_true(a.time == b.time);
    assert_memory_equal(a.nodes, b.nodes, scene.node_count * sizeof(double));
    assert_memory_equal(a.velocity, b.velocity, scene.rate_count * sizeof(double));
    run_frame_destroy(&a), run_frame_destroy(&b);
  }
  free(steps);
  run_scene_destroy(&scene);
  run_close(run), run_close(one);
}

static void merge(Trial *t, const char *out, int64_t expected_end) {
  RunError error;
  int64_t end;
  if (!run_merge(t->path, out, &end, &error)) fail_msg("%s", error.text);
  assert_int_equal(end, expected_end);
}

static void reads_and_merges(void **state) {
  Trial t;
  char out[80];
  (void)state;
  begin(&t);
  for (int k = 0; k < STEPS; k++) step(&t, -1);
  for (int r = 0; r < RANKS; r++) CHECK(t.shard[r], run_drain(t.shard[r]));
  assert_true(run_first_queued(t.shard[0]) == INT64_MAX);
  expect_frames(t.path, t.whole, STEPS); /* while it is written */
  close_files(&t);
  expect_frames(t.path, t.whole, STEPS);
  snprintf(out, sizeof out, "merged-%s", t.path);
  merge(&t, out, -1);
  expect_frames(out, t.whole, STEPS);
  unlink(out);
  merge(&t, t.path, -1);
  expect_frames(t.path, t.whole, STEPS);
  snprintf(out, sizeof out, "%s.0", t.path);
  assert_int_equal(access(out, F_OK), -1);
  end(&t);
}

/* A rank is killed before it has written its last frames. */
static void ends_with_the_last_complete_frame(void **state) {
  Trial t;
  RunError error;
  char out[80];
  (void)state;
  begin(&t);
  for (int k = 0; k < STEPS; k++) step(&t, k < 4 ? -1 : 1);
  close_files(&t);
  expect_frames(t.path, t.whole, 4);
  snprintf(out, sizeof out, "merged-%s", t.path);
  merge(&t, out, 5);
  expect_frames(out, t.whole, 4);
  unlink(out);
  t.run = run_open(t.path, RUN_APPEND, &error);
  if (!t.run) fail_msg("%s", error.text);
  CHECK(t.run, run_rewind(t.run, 3));
  assert_int_equal(run_lost_frames(t.run), 0);
  expect_frames(t.path, t.whole, 3);
  open_shards(&t, 3, 1); /* the one shard of what follows loses its frames after step 3 */
  close_files(&t);
  expect_frames(t.path, t.whole, 3);
  end(&t);
}

/* After a power cut the state may be newer than a shard. */
static void counts_lost_frames(void **state) {
  Trial t;
  RunError error;
  (void)state;
  begin(&t);
  for (int k = 0; k < STEPS; k++) step(&t, k < 4 ? -1 : 0);
  close_files(&t);
  t.run = run_open(t.path, RUN_APPEND, &error);
  if (!t.run) fail_msg("%s", error.text);
  CHECK(t.run, run_rewind(t.run, STEPS));
  assert_int_equal(run_lost_frames(t.run), 2);
  close_files(&t);
  expect_frames(t.path, t.whole, 4);
  end(&t);
}

static void damage(const Trial *t, int rank, const char *sql) {
  char name[80];
  sqlite3 *db;
  snprintf(name, sizeof name, "%s.%d", t->path, rank);
  assert_int_equal(sqlite3_open(name, &db), SQLITE_OK);
  sqlite3_exec(db, "PRAGMA synchronous=OFF", NULL, NULL, NULL);
  assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(db);
}

static void expect_failure(const Trial *t, const char *words) {
  RunError error = {RUN_OK, ""};
  RunScene scene;
  RunFrame frame;
  int64_t *steps;
  size_t count;
  Run *run = run_open(t->path, RUN_READ, &error);
  if (!run) fail_msg("%s", error.text);
  CHECK(run, run_read_scene(run, &scene));
  bool good = run_read_frame_steps(run, &steps, &count);
  if (good) free(steps);
  good = good && run_read_frame(run, &scene, 2, &frame);
  assert_false(good);
  if (!strstr(run_error(run), words)) fail_msg("'%s' is not in: %s", words, run_error(run));
  run_scene_destroy(&scene);
  run_close(run);
}

static void copy(const char *from, const char *to) {
  static char bytes[1 << 20];
  FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
  assert_true(in && out);
  size_t size = fread(bytes, 1, sizeof bytes, in);
  assert_true(size < sizeof bytes);
  assert_int_equal(fwrite(bytes, 1, size, out), size);
  fclose(in), fclose(out);
}

static void tells_damage(void **state) {
  static const struct {
    const char *sql, *words;
  } trial[] = {
      {"UPDATE part SET node = zeroblob(8) WHERE step = 2", "1 numbers of poses and 12 of velocities for 2 bodies"},
      {"UPDATE part SET body = x'01000000' WHERE step = 2", "24 numbers of poses"},
      {"UPDATE part SET body = x'0100000001000000' WHERE step = 2", "body 1 is not there, or in two shards"},
      {"UPDATE part SET body = x'0100000009000000' WHERE step = 2", "body 9 is not there"},
      {"UPDATE part SET body = x'01000000', node = zeroblob(96), velocity = zeroblob(48) WHERE step = 2",
       "1 bodies are in no shard"},
      {"DELETE FROM part WHERE step = 2", "there is no frame of step 2"},
      {"DROP TABLE part", "no such table"},
      {"UPDATE meta SET value = '1' WHERE key = 'rank'", "another run or rank"},
      {"UPDATE meta SET value = 'x' WHERE key = 'run_id'", "another run or rank"},
      {"PRAGMA application_id = 1", "not a shard of abd"},
  };
  Trial t;
  char name[80], kept[80];
  (void)state;
  begin(&t);
  for (int i = 0; i < 3; i++) step(&t, -1);
  close_files(&t);
  snprintf(name, sizeof name, "%s.0", t.path), snprintf(kept, sizeof kept, "%s.kept", t.path);
  copy(name, kept);
  for (size_t k = 0; k < sizeof trial / sizeof trial[0]; k++) {
    copy(kept, name);
    damage(&t, 0, trial[k].sql);
    expect_failure(&t, trial[k].words);
  }
  unlink(kept);
  end(&t);
}

int main(void) {
  const struct CMUnitTest test[] = {
      cmocka_unit_test(reads_and_merges),
      cmocka_unit_test(ends_with_the_last_complete_frame),
      cmocka_unit_test(counts_lost_frames),
      cmocka_unit_test(tells_damage),
  };
  return cmocka_run_group_tests(test, NULL, NULL);
}
