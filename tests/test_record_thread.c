/* The thread that writes a run file: the same file as without it, a queue that is bounded, failures that reach the
 * stepping thread, a process that is killed at any moment; and what threads copy and hash.
 * Labels: threads */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/bytes.h"
#include "boxrun.h"
#include "record/run.h"
#include "record/world_nodes.h"

#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define FOLDER ABD_BINARY "/tests"
static const char path[] = FOLDER "/test_record_thread.abd", other_path[] = FOLDER "/test_record_thread_2.abd";

/* ---- Allocations of this thread that fail; the linker sends malloc and calloc here ---- */

static _Thread_local int fail_at; /* 1: the next one, 0: none */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);

static bool fails(void) { return fail_at > 0 && --fail_at == 0; }
void *__wrap_malloc(size_t size) { return fails() ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) { return fails() ? NULL : __real_calloc(count, size); }

/* ---- Tools ---- */

static bool step_and_record(Run *run, AbdWorld *world, bool with_state) {
  AbdStepReport report;
  void *state = NULL;
  size_t size = 0;
  if (abd_world_step(world, &report) != ABD_OK) fail_msg("%s", abd_world_error(world));
  if (with_state) {
    size = abd_world_snapshot_size(world), state = malloc(size);
    assert_int_equal(abd_world_save(world, state, size), ABD_OK);
  }
  RunStep step = {.report = &report, .frame = true, .contacts = true, .state = state, .state_size = size};
  step.gives_state = state && report.step % 2; /* or it is copied */
  bool good = run_record_step(run, world, &step);
  if (!step.gives_state) free(state);
  return good;
}

static Run *begin_writer(AbdWorld *world) {
  Run *run = begin_run(path, world);
  CHECK(run, run_start_writer(run));
  return run;
}

/* What a statement gives, as one text. */
static char *ask(const char *file, const char *sql) {
  sqlite3 *db;
  sqlite3_stmt *s;
  char *all = strdup("");
  assert_int_equal(sqlite3_open_v2(file, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
  sqlite3_busy_timeout(db, 10000);
  if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK) fail_msg("%s: %s", sql, sqlite3_errmsg(db));
  while (sqlite3_step(s) == SQLITE_ROW)
    for (int k = 0; k < sqlite3_column_count(s); k++) {
      const char *text = (const char *)sqlite3_column_text(s, k);
      size_t length = strlen(all);
      all = realloc(all, length + strlen(text ? text : "-") + 2);
      sprintf(all + length, "%s ", text ? text : "-");
    }
  sqlite3_finalize(s);
  sqlite3_close(db);
  return all;
}

static long ask_number(const char *sql) {
  char *text = ask(path, sql);
  long value = strtol(text, NULL, 10);
  free(text);
  return value;
}

static void expect_same_rows(const char *sql) {
  char *a = ask(path, sql), *b = ask(other_path, sql);
  if (strcmp(a, b)) fail_msg("%s:\n%.300s\n%.300s", sql, a, b);
  free(a), free(b);
}

/* Holds the database's lock for writing, so that the writer waits. */
static sqlite3 *hold(void) {
  sqlite3 *db;
  assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
  sqlite3_busy_timeout(db, 10000);
  assert_int_equal(sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
  return db;
}

static void let_go(sqlite3 *db) {
  assert_int_equal(sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(db);
}

/* ---- Tests ---- */

/* Killed while its queue is full, and at other moments: all but the queue is in the file, and going on from its state
 * leads to the bits of the run that never stopped. */
static void record_until_killed(int pipe_end) {
  AbdWorld *world = make_linked_world(true);
  Run *run = begin_writer(world);
  for (int64_t step = 1;; step++) {
    if (!step_and_record(run, world, true)) _exit(1);
    if (write(pipe_end, &step, sizeof step) != sizeof step) _exit(1);
  }
}

static void expect_resumable(int64_t handed_over) {
  RunError error;
  Run *run = run_open(path, RUN_APPEND, &error);
  if (!run) fail_msg("%s", error.text);
  RunSummary summary;
  void *bytes = NULL;
  size_t size = 0;
  int64_t step = 0;
  CHECK(run, run_read_summary(run, &summary) && run_read_checkpoint(run, &bytes, &size, &step));
  if (handed_over - summary.steps > RUN_QUEUE_STEPS || summary.frames != summary.steps + 1)
    fail_msg("%lld steps handed over, %lld reports, %lld frames", (long long)handed_over, (long long)summary.steps,
             (long long)summary.frames);
  assert_int_equal(step, summary.steps);
  AbdWorld *world = make_linked_world(true), *straight = make_linked_world(true);
  assert_int_equal(abd_world_restore(world, bytes, size), ABD_OK);
  for (int64_t k = 0; k < step; k++) abd_world_step(straight, NULL);
  assert_true(summary.last_hash == abd_world_hash(straight) || step == 0);
  abd_world_step(straight, NULL);
  CHECK(run, step_and_record(run, world, true));
  assert_true(abd_world_hash(world) == abd_world_hash(straight));
  free(bytes);
  run_close(run);
  abd_world_destroy(world), abd_world_destroy(straight);
}

static void kill_after(int64_t steps, bool full) {
  int end[2];
  int64_t step = 0;
  assert_int_equal(pipe(end), 0);
  unlink(path);
  pid_t child = fork();
  if (child == 0) record_until_killed(end[1]);
  close(end[1]);
  while (step < steps) assert_int_equal(read(end[0], &step, sizeof step), sizeof step);
  sqlite3 *db = full ? hold() : NULL;
  long committed = full ? ask_number("SELECT max(step) FROM report") : 0;
  while (full && step < committed + RUN_QUEUE_STEPS) assert_int_equal(read(end[0], &step, sizeof step), sizeof step);
  if (full) usleep(20000); /* it waits, and hands no more over */
  kill(child, SIGKILL);
  assert_int_equal(waitpid(child, NULL, 0), child);
  if (db) let_go(db);
  while (read(end[0], &step, sizeof step) == sizeof step) continue; /* to the last one handed over */
  close(end[0]);
  if (full && step != committed + RUN_QUEUE_STEPS)
    fail_msg("%ld steps committed, %lld handed over", committed, (long long)step);
  expect_resumable(step);
}

static void test_killed(void **state) {
  (void)state;
  for (int64_t steps = 1; steps < 30; steps += 4) kill_after(steps, false), kill_after(steps, true);
}

/* A reader sees whole steps in order, and at the end the file is the one that is written without the thread. */
static void test_same_file(void **state) {
  (void)state;
  AbdWorld *world = make_linked_world(true), *other = make_linked_world(true);
  Run *run = begin_writer(world), *plain = begin_run(other_path, other);
  long seen = 0;
  for (int k = 0; k < 40; k++) {
    CHECK(run, step_and_record(run, world, k % 3 == 0));
    CHECK(plain, step_and_record(plain, other, k % 3 == 0));
    if (k % 8) continue;
    long steps = ask_number("SELECT count(*) FROM report");
    assert_true(steps >= seen && steps <= k + 1);
    assert_int_equal(ask_number("SELECT (SELECT max(step) FROM report) - (SELECT max(step) FROM frame)"), 0);
    seen = steps;
  }
  run_close(run), run_close(plain); /* writes what still waits */
  expect_same_rows("SELECT step, time, hex(node), hex(velocity) FROM frame ORDER BY step");
  expect_same_rows("SELECT step, iterations, contacts, kinetic, residual, outcome, hash FROM report ORDER BY step");
  expect_same_rows("SELECT * FROM contact ORDER BY rowid");
  expect_same_rows("SELECT * FROM joint ORDER BY step, joint");
  expect_same_rows("SELECT step, hex(state) FROM checkpoint");
  assert_int_equal(ask_number("SELECT step FROM checkpoint"), 40);
  assert_int_equal(ask_number("SELECT count(*) FROM report"), 40);
  assert_true(ask_number("SELECT count(*) FROM contact") > 0);
  abd_world_destroy(world), abd_world_destroy(other);
}

typedef struct Release {
  sqlite3 *db;
  atomic_bool done;
} Release;

static void *release_later(void *user) {
  Release *release = user;
  usleep(200000);
  atomic_store(&release->done, true);
  let_go(release->db);
  return NULL;
}

/* While nothing can be written, so many steps are taken over at once; the next one waits until the writer goes on. */
static void test_bounded(void **state) {
  (void)state;
  AbdWorld *world = make_world();
  Run *run = begin_writer(world);
  Release release = {.db = hold()};
  for (int k = 0; k < RUN_QUEUE_STEPS; k++) CHECK(run, step_and_record(run, world, k == 5 || k == 9));
  assert_int_equal(ask_number("SELECT count(*) FROM report"), 0);
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, release_later, &release), 0);
  CHECK(run, step_and_record(run, world, false));
  assert_true(atomic_load(&release.done));
  CHECK(run, run_drain(run));
  pthread_join(thread, NULL);
  assert_int_equal(ask_number("SELECT count(*) FROM report"), RUN_QUEUE_STEPS + 1);
  assert_int_equal(ask_number("SELECT step FROM checkpoint"), 10); /* the last that was handed over */
  run_close(run);
  abd_world_destroy(world);
}

/* Other calls that write come after what waits. */
static void test_order(void **state) {
  (void)state;
  AbdWorld *world = make_world();
  Run *run = begin_writer(world);
  for (int k = 0; k < 12; k++) CHECK(run, step_and_record(run, world, false));
  CHECK(run, run_rewind(run, 7));
  assert_int_equal(ask_number("SELECT max(step) FROM report"), 7);
  assert_int_equal(ask_number("SELECT count(*) FROM contact WHERE step > 7"), 0);
  CHECK(run, run_begin(run) && run_write_checkpoint(run, world) && run_commit(run));
  assert_int_equal(ask_number("SELECT step FROM checkpoint"), 12);
  run_close(run);
  abd_world_destroy(world);
}

/* The processor time of writing a snapshot is known after it, and is not that of steps without one. */
static void test_state_seconds(void **state) {
  (void)state;
  AbdWorld *world = make_world();
  Run *run = begin_writer(world);
  CHECK(run, step_and_record(run, world, false) && run_drain(run));
  assert_true(run_state_seconds(run) == 0);
  CHECK(run, step_and_record(run, world, true) && run_drain(run));
  double seconds = run_state_seconds(run);
  assert_true(seconds > 0 && seconds < 10);
  CHECK(run, step_and_record(run, world, false) && run_drain(run));
  assert_true(run_state_seconds(run) == seconds);
  run_close(run);
  abd_world_destroy(world);
}

/* A disk that is full, here a limit on the size of files: one of the next calls returns it, once. */
static void test_disk(void **state) {
  (void)state;
  AbdWorld *world = make_world();
  Run *run = begin_writer(world);
  struct rlimit before, tight;
  CHECK(run, step_and_record(run, world, true) && run_drain(run));
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, SIG_IGN);
  tight = before, tight.rlim_cur = 400000;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
  int steps = 1;
  while (steps < 1000 && step_and_record(run, world, true)) steps++;
  bool drained = run_drain(run);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  assert_true(steps < 1000 && drained);
  if (!strstr(run_error(run), "cannot") || run_error_kind(run) != RUN_DISK) fail_msg("'%s'", run_error(run));
  long committed = ask_number("SELECT max(step) FROM report");
  assert_int_equal(run_missing_step(run), committed + 1);
  assert_int_equal(ask_number("SELECT step FROM checkpoint"), committed);
  CHECK(run, step_and_record(run, world, true) && run_drain(run));
  run_close(run);
  abd_world_destroy(world);
}

/* Steps are deleted in the transaction of the next one: if that cannot be written, they stay. */
static void test_rewind_later(void **state) {
  (void)state;
  AbdWorld *world = make_world();
  Run *run = begin_writer(world);
  struct rlimit before, tight;
  for (int k = 0; k < 12; k++) CHECK(run, step_and_record(run, world, false));
  CHECK(run, run_drain(run) && run_rewind_later(run, 7));
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, SIG_IGN);
  tight = before, tight.rlim_cur = 1;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
  bool written = step_and_record(run, world, true) && run_drain(run);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  assert_false(written);
  assert_int_equal(ask_number("SELECT max(step) FROM report"), 12);
  CHECK(run, step_and_record(run, world, true) && run_drain(run));
  assert_int_equal(ask_number("SELECT count(*) FROM report"), 8);
  CHECK(run, step_and_record(run, world, true) && run_drain(run)); /* once */
  assert_int_equal(ask_number("SELECT count(*) FROM report"), 9);
  run_close(run);
  abd_world_destroy(world);
}

/* Without memory for a copy the step is not written and everything else stays good, with and without the thread. */
static void test_memory(void **state) {
  (void)state;
  for (int threaded = 0; threaded < 2; threaded++) {
    AbdWorld *world = make_world();
    Run *run = begin_run(path, world);
    AbdStepReport report;
    int failures = 0;
    fail_at = threaded;
    if (threaded) assert_false(run_start_writer(run));
    fail_at = 0;
    if (threaded) CHECK(run, run_start_writer(run));
    for (int k = 0; k < 6; k++) {
      if (abd_world_step(world, &report) != ABD_OK) fail_msg("%s", abd_world_error(world));
      RunStep step = {.report = &report, .frame = true, .contacts = true};
      fail_at = 1 + k / 2;
      bool good = run_record_step(run, world, &step);
      bool failed = fail_at == 0;
      fail_at = 0;
      assert_int_equal(good, !failed);
      if (good) continue;
      failures++;
      assert_int_equal(run_missing_step(run), report.step);
      if (!strstr(run_error(run), "out of memory for")) fail_msg("'%s'", run_error(run));
    }
    CHECK(run, run_drain(run));
    assert_true(failures >= 2);
    run_close(run);
    assert_int_equal(ask_number("SELECT count(*) FROM report"), 6 - failures);
    abd_world_destroy(world);
  }
}

/* Bytes of many chunks, and a number of them that ends within one: no thread changes a hash or a copy. */
static void test_many_bytes(void **state) {
  (void)state;
  size_t size = (5 << 20) + 12345;
  unsigned char *from = malloc(size), *to = malloc(size);
  for (size_t k = 0; k < size; k++) from[k] = (unsigned char)(k * k >> 7);
  for (size_t part = 0; part <= size; part += size / 3) {
    uint64_t one = hash_many(1, 7, from, part), four = hash_many(4, 7, from, part);
    assert_true(one == four && one != hash_many(4, 8, from, part));
    memset(to, 0, size);
    copy_many(4, to, from, part);
    assert_memory_equal(to, from, part);
    assert_true(part == size || to[part] == 0);
    if (!part) continue;
    from[part - 1] ^= 1;
    assert_true(hash_many(4, 7, from, part) != one);
    from[part - 1] ^= 1;
  }
  free(from), free(to);
}

/* More bodies than one thread copies: every number is where the body's id puts it. */
static void test_many_bodies(void **state) {
  (void)state;
  enum { BODIES = 2500 };
  AbdWorldDef def = abd_default_world_def();
  AbdError error;
  def.solver.threads = 4;
  AbdWorld *world = abd_world_create(&def, &error);
  AbdMeshId box = add_box(world, 0.1, 0.1, 0.1);
  for (int k = 0; k < BODIES; k++) add_body(world, "box", box, ABD_MOTION_DYNAMIC, k);
  assert_int_equal(abd_world_start(world), ABD_OK);
  size_t nodes = world_node_count(world), rates = world_rate_count(world);
  assert_int_equal(nodes, 12 * BODIES);
  assert_int_equal(rates, 6 * BODIES);
  double *number = malloc((nodes + rates) * sizeof *number), pose[12], rate[6];
  abd_world_poses(world, number, number + nodes);
  for (uint32_t id = 1; id <= BODIES; id++) {
    abd_body_nodes(world, (AbdBodyId){id}, pose);
    abd_body_velocity(world, (AbdBodyId){id}, rate, rate + 3);
    assert_memory_equal(number + 12 * (id - 1), pose, sizeof pose);
    assert_memory_equal(number + nodes + 6 * (id - 1), rate, sizeof rate);
  }
  free(number);
  abd_world_destroy(world);
}

static int clean(void **state) {
  (void)state;
  unlink(path), unlink(other_path);
  return 0;
}

int main(void) {
  const struct CMUnitTest test[] = {
      cmocka_unit_test(test_killed), /* first: it forks, so there are no threads yet */
      cmocka_unit_test(test_same_file),  cmocka_unit_test(test_bounded),      cmocka_unit_test(test_order),
      cmocka_unit_test(test_disk),       cmocka_unit_test(test_rewind_later), cmocka_unit_test(test_memory),
      cmocka_unit_test(test_many_bytes), cmocka_unit_test(test_many_bodies),  cmocka_unit_test(test_state_seconds),
  };
  return cmocka_run_group_tests(test, NULL, clean);
}
