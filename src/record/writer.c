/* Writing of steps to the run file: run_record_step and the writer thread.
 *
 * The stepping thread copies a step into a StepRecord and appends it to a list. The writer thread takes the whole list,
 * writes it in one transaction and returns the records for reuse. Of several snapshots in one transaction only the last
 * is written. The lock protects the lists and counts below. A record outside the lists belongs to the thread that took
 * it. The database belongs to the writer until the lists are empty.
 *
 * After a failure the writer rolls back and drops every record up to the next call of the stepping thread, which
 * returns the failure. Tested in tests/test_record_thread.c and tests/cli/run.sh. */
#define _GNU_SOURCE /* SCHED_BATCH */
#include "record/file.h"
#include "record/step_record.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct Writer {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t filled, emptied;
  StepRecord *first, *last; /* queued */
  StepRecord *spare;        /* for reuse */
  int count;                /* of uncommitted records */
  size_t bytes;             /* of uncommitted records */
  size_t held;              /* bytes of all blocks, including spare ones */
  int64_t oldest;           /* step of the first uncommitted record */
  double state_seconds;     /* processor time of the last transaction with a snapshot */
  bool stop, failed;
};

/* ---- Writing ---- */

static bool write_frame(Run *run, const StepRecord *r) {
  int64_t step = r->report.step;
  switch (r->numbers) {
    case RUN_NONE: return run_write_poses(run, step, r->report.time, NULL, 0, NULL, 0);
    case RUN_OWN:
      return run_write_part(run, step, r->body, r->body_count, r->node, r->node_count, r->rate, r->rate_count);
    default: return run_write_poses(run, step, r->report.time, r->node, r->node_count, r->rate, r->rate_count);
  }
}

static bool write_record(Run *run, const StepRecord *r, bool state) {
  int64_t step = r->report.step;
  if (r->frame && !write_frame(run, r)) return false;
  return run->is_shard ||
         (run_write_report(run, &r->report, r->hash) &&
          (!r->contact_count || run_write_step_contacts(run, step, r->contact, r->contact_count)) &&
          (!r->reading_count || run_write_readings(run, step, r->reading, r->joint, r->reading_count)) &&
          (!r->event_count || run_write_events(run, r->event, r->event_count)) &&
          (!state || run_write_state(run, r->state_step, r->state, r->state_size)));
}

/* What came or went with the only step of a list. */
typedef struct Change {
  const AbdWorld *world;
  const RunStep *step;
} Change;

static bool has_state(const StepRecord *list) {
  while (list && !list->state_size) list = list->next;
  return list != NULL;
}

/* Of this thread [s]. */
static double processor_time(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Writes all records of a list in one transaction. */
static bool write_list(Run *run, const StepRecord *list, const Change *change) {
  const StepRecord *newest = NULL; /* snapshot to resume from */
  for (const StepRecord *r = list; r; r = r->next)
    if (r->state_size) newest = r;
  bool good = run_begin_now(run) && run_rewind_due(run);
  if (good && change) good = run_write_changes(run, change->world, change->step, list->event, list->event_count);
  for (const StepRecord *r = list; good && r; r = r->next) good = write_record(run, r, r == newest);
  if (good && change) good = run_write_exclusions(run, change->world, list->report.step);
  if (good && run_commit(run)) {
    run->rewind = -1;
    if (change) run_keep_world(run, change->world);
    return true;
  }
  RunError error = run->error; /* the rollback may fail too, e.g. without a transaction */
  run_rollback(run);
  run->error = error;
  run->missing_step = list->report.step;
  return false;
}

/* ---- The writer's thread; it has the lock unless noted ---- */

static void reuse(Writer *w, StepRecord *r) {
  step_record_release(r);
  if (w->held > RUN_QUEUE_BYTES) {
    w->held -= r->capacity;
    step_record_clear(r);
  }
  r->next = w->spare, w->spare = r;
}

static void reuse_list(Writer *w, StepRecord *list) {
  while (list) {
    StepRecord *next = list->next;
    w->count--, w->bytes -= list->size;
    reuse(w, list);
    list = next;
  }
  if (w->first) w->oldest = w->first->report.step;
  pthread_cond_signal(&w->emptied);
}

/* If all processors are busy, waking this thread must not interrupt the thread that appended the record. */
static void yield_to_steps(void) {
#ifdef SCHED_BATCH
  pthread_setschedparam(pthread_self(), SCHED_BATCH, &(struct sched_param){0});
#endif
}

static void *write_all(void *user) {
  Run *run = user;
  Writer *w = run->writer;
  yield_to_steps();
  pthread_mutex_lock(&w->lock);
  while (true) {
    while (!w->first && !w->stop) pthread_cond_wait(&w->filled, &w->lock);
    if (!w->first) break;
    StepRecord *list = w->first;
    bool drop = w->failed;
    w->first = w->last = NULL;
    pthread_mutex_unlock(&w->lock);
    double begun = processor_time();
    bool good = drop || write_list(run, list, NULL);
    double taken = processor_time() - begun;
    pthread_mutex_lock(&w->lock);
    if (has_state(list)) w->state_seconds = taken;
    if (!good) w->failed = true;
    reuse_list(w, list);
  }
  pthread_mutex_unlock(&w->lock);
  return NULL;
}

/* The stepping thread handles signals. */
static int start_thread(Run *run) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int code = pthread_create(&run->writer->thread, NULL, write_all, run);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return code;
}

static void free_writer(Writer *w) {
  while (w->spare) {
    StepRecord *r = w->spare;
    w->spare = r->next;
    step_record_clear(r);
    free(r);
  }
  pthread_cond_destroy(&w->filled), pthread_cond_destroy(&w->emptied);
  pthread_mutex_destroy(&w->lock);
  free(w);
}

bool run_start_writer(Run *run) {
  if (run->writer) return true;
  Writer *w = run->writer = calloc(1, sizeof *w);
  if (!w) return run_fail(run, RUN_DISK, "%s: out of memory", run->path);
  pthread_mutex_init(&w->lock, NULL);
  pthread_cond_init(&w->filled, NULL), pthread_cond_init(&w->emptied, NULL);
  int code = start_thread(run);
  if (code == 0) return true;
  free_writer(w), run->writer = NULL;
  return run_fail(run, RUN_DISK, "%s: cannot start the thread that writes the file: %s", run->path, strerror(code));
}

void run_stop_writer(Run *run) {
  Writer *w = run->writer;
  if (!w) return;
  pthread_mutex_lock(&w->lock);
  w->stop = true;
  pthread_cond_signal(&w->filled);
  pthread_mutex_unlock(&w->lock);
  pthread_join(w->thread, NULL);
  run->writer = NULL;
  free_writer(w);
}

/* ---- The stepping thread ---- */

bool run_drain(Run *run) {
  Writer *w = run->writer;
  if (!w) return true;
  pthread_mutex_lock(&w->lock);
  while (w->count) pthread_cond_wait(&w->emptied, &w->lock);
  bool good = !w->failed;
  w->failed = false; /* returned once */
  pthread_mutex_unlock(&w->lock);
  return good;
}

int64_t run_missing_step(const Run *run) { return run->missing_step; }

static StepRecord *take_spare(Writer *w) {
  pthread_mutex_lock(&w->lock);
  StepRecord *r = w->spare;
  if (r) w->spare = r->next;
  pthread_mutex_unlock(&w->lock);
  return r ? r : calloc(1, sizeof *r);
}

/* Waits until a record of this size fits the queue; false if the writer failed. */
static bool wait_for_room(Writer *w, size_t size) {
  pthread_mutex_lock(&w->lock);
  while (!w->failed && w->count && (w->count >= RUN_QUEUE_STEPS || w->bytes + size > RUN_QUEUE_BYTES))
    pthread_cond_wait(&w->emptied, &w->lock);
  bool good = !w->failed;
  pthread_mutex_unlock(&w->lock);
  return good;
}

static void append(Writer *w, StepRecord *r, size_t grown) {
  r->next = NULL;
  pthread_mutex_lock(&w->lock);
  if (w->last) w->last->next = r;
  else w->first = r;
  if (!w->count) w->oldest = r->report.step;
  w->last = r;
  w->count++, w->bytes += r->size, w->held += grown;
  pthread_cond_signal(&w->filled);
  pthread_mutex_unlock(&w->lock);
}

int64_t run_first_queued(Run *run) {
  Writer *w = run->writer;
  if (!w) return INT64_MAX;
  pthread_mutex_lock(&w->lock);
  int64_t step = w->failed ? -1 : w->count ? w->oldest : INT64_MAX;
  pthread_mutex_unlock(&w->lock);
  return step;
}

double run_state_seconds(Run *run) {
  Writer *w = run->writer;
  if (!w) return 0;
  pthread_mutex_lock(&w->lock);
  double seconds = w->state_seconds;
  pthread_mutex_unlock(&w->lock);
  return seconds;
}

/* Returns the record to the spare list. The failure is the writer's, or else memory's. */
static bool give_up(Run *run, StepRecord *r, size_t capacity, int64_t step) {
  Writer *w = run->writer;
  bool good = run_drain(run);
  if (r) {
    pthread_mutex_lock(&w->lock);
    w->held -= capacity - r->capacity;
    r->next = w->spare, w->spare = r;
    pthread_mutex_unlock(&w->lock);
  }
  if (!good) return false;
  run->missing_step = step;
  return run_fail(run, RUN_DISK, "%s: out of memory for %zu bytes of step %lld", run->path, r ? r->size : sizeof *r,
                  (long long)step);
}

/* Did bodies or joints come or go, or excluded pairs change? */
static bool has_changes(const Run *run, const StepRecord *r, const AbdWorld *world) {
  if (!run->is_shard && !run_has_world(run, world)) return true;
  for (size_t k = 0; k < r->event_count; k++) {
    AbdEventKind kind = r->event[k].kind;
    if (kind == ABD_EVENT_BODY_ADDED || kind == ABD_EVENT_BODY_REMOVED || kind == ABD_EVENT_JOINT_ADDED ||
        kind == ABD_EVENT_JOINT_REMOVED || kind == ABD_EVENT_JOINT_BROKE)
      return true;
  }
  return false;
}

/* The rows of what came are read from the world, so the step is not queued. */
static bool write_change(Run *run, StepRecord *r, size_t grown, const AbdWorld *world, const RunStep *step) {
  Writer *w = run->writer;
  r->next = NULL;
  bool good = run_drain(run) && write_list(run, r, &(Change){world, step});
  pthread_mutex_lock(&w->lock);
  w->held += grown;
  reuse(w, r);
  pthread_mutex_unlock(&w->lock);
  return good;
}

static bool hand_over(Run *run, const AbdWorld *world, const RunStep *step) {
  StepRecord *r = take_spare(run->writer);
  size_t capacity = r ? r->capacity : 0;
  if (r) step_record_count(r, world, step);
  if (!r || !wait_for_room(run->writer, r->size) || !step_record_fill(r, world, step)) {
    if (step->gives_state) free((void *)step->state);
    return give_up(run, r, capacity, step->report->step);
  }
  if (has_changes(run, r, world)) return write_change(run, r, r->capacity - capacity, world, step);
  append(run->writer, r, r->capacity - capacity);
  return true;
}

static bool write_now(Run *run, const AbdWorld *world, const RunStep *step) {
  StepRecord record = {.size = 0};
  step_record_count(&record, world, step);
  run->missing_step = step->report->step;
  bool filled = step_record_fill(&record, world, step);
  if (!filled && step->gives_state) free((void *)step->state);
  bool good = filled || run_fail(run, RUN_DISK, "%s: out of memory for %zu bytes of step %lld", run->path, record.size,
                                 (long long)step->report->step);
  const Change change = {world, step};
  good = good && write_list(run, &record, has_changes(run, &record, world) ? &change : NULL);
  step_record_clear(&record);
  return good;
}

bool run_record_step(Run *run, const AbdWorld *world, const RunStep *step) {
  return run->writer ? hand_over(run, world, step) : write_now(run, world, step);
}
