/* Writing runs, see abd/record.h.
 *
 * A state to resume from is handed over with a step if CHECKPOINT_SECONDS have passed since the last one and copying
 * the last one took less than 1/CHECKPOINT_SHARE of that time; of an MPI job copying and writing it, because its ranks
 * take all processors, and all of them wait for the one that the writer interrupts. Resuming computes at most so much
 * again. */
#define _GNU_SOURCE
#include "kit/kit.h"
#include "scene/c_locale.h"

#include <abd/mpi.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "record/world_nodes.h"
#include "scene/setting.h"

#define CHECKPOINT_SECONDS 0.2
#define CHECKPOINT_SHARE 100

static double clock_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

AbdStatus kit_status(RunErrorKind kind) { return kind == RUN_BAD_FILE ? ABD_ERROR_FILE : ABD_ERROR_DISK; }

AbdStatus run_failed(AbdRun *run) {
  return fail_with(&run->error, kit_status(run_error_kind(run->run)), "%s", run_error(run->run));
}

void abd_run_close(AbdRun *run) {
  if (!run) return;
  Run *shard = run->shard != run->run ? run->shard : NULL;
  run_close(run->run); /* it may read the shard, which is one file without a log only if it is closed last */
  run_close(shard);
  run_forget(run);
  free(run->state[0].bytes), free(run->state[1].bytes), free(run->color), free(run->own);
  free(run);
}

const char *abd_run_error(const AbdRun *run) { return run->error.text; }
const char *abd_run_path(const AbdRun *run) { return run_path(run->run); }

/* ---- The beginning ---- */

AbdRunDef abd_default_run_def(void) { return (AbdRunDef){.steps = -1, .every = 1}; }

static bool write_number(Run *run, const char *key, int64_t value) {
  char text[32];
  snprintf(text, sizeof text, "%lld", (long long)value);
  return run_write_meta(run, key, text);
}

static bool write_vector(Run *run, const char *key, const double v[3]) {
  char text[96];
  snprintf(text, sizeof text, "%.17g %.17g %.17g", v[0], v[1], v[2]);
  return run_write_meta(run, key, text);
}

static bool write_settings(Run *run, const AbdWorld *world) {
  AbdWorldDef def = abd_world_settings(world);
  char dt[32];
  snprintf(dt, sizeof dt, "%.17g", def.dt);
  double g = sqrt(def.gravity[0] * def.gravity[0] + def.gravity[1] * def.gravity[1] + def.gravity[2] * def.gravity[2]);
  double up[3] = {0, 0, 1};
  for (int k = 0; g > 0 && k < 3; k++) up[k] = def.gravity[k] != 0 ? -def.gravity[k] / g : 0;
  json_t *o = json_object();
  char *text = settings_write(o, ABD_DEF_WORLD, &def) ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
  bool good = run_write_meta(run, "dt", dt) && write_vector(run, "gravity", def.gravity) &&
              write_vector(run, "up", up) && run_write_meta(run, "device", abd_world_device(world)) &&
              run_write_meta(run, "settings", text ? text : "{}");
  free(text);
  json_decref(o);
  return good;
}

static bool write_origin(Run *run, const AbdRunDef *def) {
  char created[32];
  time_t now = time(NULL);
  struct tm utc;
  strftime(created, sizeof created, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
  return run_write_meta(run, "scene_path", def->source ? def->source : "") &&
         run_write_meta(run, "command", def->command ? def->command : "") && run_write_meta(run, "created", created);
}

static bool write_colors(Run *run, const Scene *scene, const AbdWorld *world) {
  bool good = true;
  for (size_t k = 0; good && k < abd_world_body_count(world); k++) {
    uint32_t id = abd_world_body_at(world, k).id;
    const char *color = id <= scene_body_count(scene) ? scene_body_color(scene, id - 1) : NULL;
    if (color) good = run_write_color(run, id, color);
  }
  return good;
}

bool run_take_colors(AbdRun *run, const Scene *scene) {
  run->color_count = scene_body_count(scene);
  run->color = calloc(run->color_count + 1, sizeof *run->color);
  for (size_t k = 0; run->color && k < run->color_count; k++) {
    const char *color = scene_body_color(scene, k);
    if (color) snprintf(run->color[k], sizeof run->color[k], "%s", color);
  }
  return run->color != NULL;
}

static const char *color_of(const void *user, uint32_t body) {
  const AbdRun *run = user;
  return body <= run->color_count && run->color[body - 1][0] ? run->color[body - 1] : NULL;
}

bool run_write_plan(AbdRun *run) {
  return write_number(run->run, "steps", run->steps) && write_number(run->run, "every", run->every) &&
         write_number(run->run, "contacts", run->contacts) && (!run->shards || run_write_meta(run->run, "shards", "1"));
}

static bool write_beginning(AbdRun *run, const AbdRunDef *def, Scene *scene, const char *text, const AbdWorld *world) {
  Run *file = run->run;
  return run_write_meta(file, "scene_name", scene_name(scene)) && run_write_meta(file, "scene", text) &&
         write_origin(file, def) && write_settings(file, world) && run_write_plan(run) &&
         run_write_world(file, world) && write_colors(file, scene, world) && run_write_frame(file, world) &&
         run_write_joints(file, world) && run_write_checkpoint(file, world) && run_publish(file);
}

void run_drop_states(AbdRun *run) {
  if (abd_mpi_count() == 1) return;
  free(run->state[0].bytes), free(run->state[1].bytes);
  memset(run->state, 0, sizeof run->state);
}

void run_give_state(AbdRun *run, RunStep *step) {
  SavedState *newest = &run->state[1];
  step->state = newest->bytes, step->state_size = newest->size, step->state_step = newest->step;
  step->gives_state = abd_mpi_count() > 1;
  if (step->gives_state) *newest = (SavedState){0};
}

AbdStatus run_begin_recording(AbdRun *run, const AbdWorld *world) {
  run->recorded = true;
  if (!run_start_writer(run->run)) return run_failed(run);
  bool kept = run_keep_state(run, world);
  run_drop_states(run);
  if (kept) return ABD_OK;
  return fail_with(&run->error, ABD_ERROR_MEMORY, "out of memory for the state of the world");
}

static AbdStatus create(AbdRun *run, const char *path, const AbdRunDef *def, Scene *scene, const AbdWorld *world) {
  RunError why;
  size_t length;
  if (!def->replace && access(path, F_OK) == 0)
    return fail_with(&run->error, ABD_ERROR_FILE, "%s exists already", path);
  const char *text = scene_text(scene, &length);
  if (!text || !run_take_colors(run, scene))
    return fail_with(&run->error, ABD_ERROR_MEMORY, "out of memory for the scene's text");
  run->run = run_create(path, &why);
  if (!run->run) return fail_with(&run->error, kit_status(why.kind), "%s", why.text);
  if (!write_beginning(run, def, scene, text, world)) return run_failed(run);
  return run_begin_recording(run, world);
}

AbdRun *abd_run_create(const char *path, const AbdRunDef *def, AbdScene *scene, const AbdWorld *world,
                       AbdError *error) {
  IN_C_LOCALE;
  AbdRunDef standard = abd_default_run_def();
  AbdRun *run = calloc(1, sizeof *run);
  if (!run) return fail_with(error, ABD_ERROR_MEMORY, "out of memory for a run"), NULL;
  if (!def) def = &standard;
  run->steps = def->steps >= 0 ? def->steps : scene_steps(scene->scene);
  run->every = def->every > 1 ? def->every : 1;
  run->contacts = def->contacts, run->shards = def->shards;
  if (create(run, path, def, scene->scene, world) == ABD_OK) return run;
  if (error) *error = run->error;
  abd_run_close(run);
  return NULL;
}

void abd_run_discard(const char *path) { run_discard_draft(path); }

AbdStatus abd_run_write_start(const char *path, const AbdScene *scene, const AbdWorld *world, AbdError *error) {
  IN_C_LOCALE;
  RunError why;
  Run *run = run_create(path, &why);
  if (!run) return fail_with(error, kit_status(why.kind), "%s", why.text);
  bool good = run_write_meta(run, "scene_name", scene_name(scene->scene)) && write_settings(run, world) &&
              write_number(run, "steps", 0) && write_number(run, "every", 1) && run_write_world(run, world) &&
              write_colors(run, scene->scene, world) && run_write_frame(run, world) && run_publish(run);
  if (!good) fail_with(error, kit_status(run_error_kind(run)), "%s", run_error(run));
  run_close(run);
  return good ? ABD_OK : ABD_ERROR_DISK;
}

/* ---- Steps ---- */

bool run_keep_state(AbdRun *run, const AbdWorld *world) {
  SavedState older = run->state[0], now;
  double begun = clock_seconds();
  size_t size = abd_world_snapshot_size(world); /* grows with what is remembered of contacts */
  if (size > older.capacity) {
    size_t capacity = size + size / 8;
    void *room = realloc(older.bytes, capacity);
    if (!room) return false;
    run->state[0].bytes = older.bytes = room, run->state[0].capacity = older.capacity = capacity;
  }
  now = older;
  now.size = size, now.step = abd_world_step_count(world), now.bodies = world_bodies(world);
  if (abd_world_save(world, now.bytes, size) != ABD_OK) return false;
  run->state[0] = run->state[1];
  run->state[1] = now;
  run->kept_at = clock_seconds(), run->keep_seconds = run->kept_at - begun;
  return true;
}

bool run_checkpoint_is_due(const AbdRun *run) {
  double writing = abd_mpi_count() > 1 ? run_state_seconds(run->run) : 0;
  return clock_seconds() - run->kept_at >= fmax(CHECKPOINT_SECONDS, CHECKPOINT_SHARE * (run->keep_seconds + writing));
}

static AbdStatus not_writable(AbdRun *run) {
  return fail_with(&run->error, ABD_ERROR_STATE, "%s was opened for reading", run_path(run->run));
}

static AbdStatus record_whole(AbdRun *run, const AbdWorld *world, RunStep *step) {
  /* without memory for a new state, the one before remains the one to resume from */
  if (run_checkpoint_is_due(run) && run_keep_state(run, world)) run_give_state(run, step);
  run->recorded = run_record_step(run->run, world, step);
  run_drop_states(run);
  return run->recorded ? ABD_OK : run_failed(run);
}

AbdStatus abd_run_record(AbdRun *run, const AbdWorld *world, const AbdStepReport *report) {
  if (run->every < 1) return not_writable(run);
  double begun = clock_seconds();
  RunStep step = {.report = report, .contacts = run->contacts, .color = color_of, .color_user = run};
  step.frame = report->step % run->every == 0 || report->step == run->steps;
  AbdStatus status = run->shard ? run_record_divided(run, world, &step) : record_whole(run, world, &step);
  run->output_seconds += clock_seconds() - begun;
  return status;
}

int64_t abd_run_missing_step(const AbdRun *run) {
  int64_t step = run_missing_step(run->run), other = run->shard ? run_missing_step(run->shard) : 0;
  return other && (!step || other < step) ? other : step;
}

static bool write_output_seconds(AbdRun *run) {
  char text[32], *before = run_read_meta(run->run, "output_seconds");
  snprintf(text, sizeof text, "%.6g", run->output_seconds + (before ? strtod(before, NULL) : 0));
  free(before);
  return run_write_meta(run->run, "output_seconds", text);
}

/* How the ranks of an MPI job shared the steps since the world was made, if their bodies were divided. */
static bool write_ranks(Run *run) {
  AbdMpiReport r = abd_mpi_report();
  char text[1024];
  if (abd_mpi_count() == 1 || r.steps == 0) return true;
  double per = 1 / (double)r.steps;
  int at = snprintf(text, sizeof text,
                    "{\"ranks\": %d, \"steps\": %" PRId64 ", \"imbalance\": %.4g, \"exchanges\": %.4g, \"bytes\": %.6g,"
                    " \"halo_bytes\": %.6g, \"wait_seconds\": %.4g, \"seconds\": {",
                    abd_mpi_count(), r.steps, per * r.imbalance, per * (double)r.exchanges, per * r.bytes,
                    per * r.halo_bytes, per * r.step_wait_seconds);
  for (int k = 0; k < ABD_STAGE_REST; k++)
    at += snprintf(text + at, sizeof text - (size_t)at, "%s\"%s\": [%.4g, %.4g]", k ? ", " : "",
                   abd_stage_name((AbdStage)k), per * r.stage_mean[k], per * r.stage_most[k]);
  snprintf(text + at, sizeof text - (size_t)at, "}}");
  return run_write_meta(run, "ranks", text);
}

/* Adds the device that steps the world now to those before. */
static bool write_device(Run *run, const AbdWorld *world) {
  const char *now = abd_world_device(world);
  char *before = run_read_meta(run, "device"), *all = NULL;
  size_t length = before ? strlen(before) : 0, end = strlen(now);
  bool good = true;
  if (end && (length < end || strcmp(before + length - end, now)))
    good = asprintf(&all, "%s%s%s", length ? before : "", length ? ", then " : "", now) >= 0 &&
           run_write_meta(run, "device", all);
  free(before);
  free(all);
  return good;
}

static AbdStatus drain(AbdRun *run) {
  if (!run->recorded) return ABD_OK;
  run->recorded = run_drain(run->run);
  return run->recorded ? ABD_OK : run_failed(run);
}

AbdStatus abd_run_finish(AbdRun *run, const AbdWorld *world) {
  IN_C_LOCALE;
  if (run->every < 1) return not_writable(run);
  double begun = clock_seconds();
  bool all = run->recorded;
  AbdStatus status = run->shard ? run_drain_divided(run, &all) : drain(run);
  run->output_seconds += clock_seconds() - begun;
  /* a failure was returned, and a step is missing before the present state; or rank 0 writes the rest */
  if (status != ABD_OK || !all || run->shard == run->run) return status;
  run_drop_states(run), run->waiting = -1; /* the present one is written */
  /* a step that was given up may have begun with bodies that came or went: the last state in the file stays */
  bool same = run_has_world(run->run, world);
  if (run_begin(run->run) && (!same || run_write_checkpoint(run->run, world)) && write_device(run->run, world) &&
      write_output_seconds(run) && write_ranks(run->run) && run_commit(run->run)) {
    run->output_seconds = 0;
    return ABD_OK;
  }
  run_failed(run);
  run_rollback(run->run);
  return run->error.status;
}

AbdStatus abd_run_rewind(AbdRun *run, const AbdWorld *world) {
  Run *file = run->run;
  if (run_rewind(file, 0) && run_begin(file) && run_write_checkpoint(file, world) && run_commit(file)) return ABD_OK;
  run_failed(run);
  run_rollback(file);
  return run->error.status;
}

AbdStatus abd_run_restore_before(AbdRun *run, AbdWorld *world, int64_t step) {
  const SavedState *before = &run->state[run->state[1].step < step];
  if (!before->size || before->step >= step)
    return fail_with(&run->error, ABD_ERROR_STATE, "no state before step %lld is kept", (long long)step);
  if (before->bodies != world_bodies(world))
    return fail_with(&run->error, ABD_ERROR_STATE, "bodies came or went since the state before step %lld",
                     (long long)step);
  AbdStatus status = abd_world_restore(world, before->bytes, before->size);
  return status == ABD_OK ? status : fail_with(&run->error, status, "%s", abd_world_error(world));
}
