/* See batch.h. Tested by python/tests/test_batch.py. */
#include "batch.h"

#include <math.h>

static int count_failed(const Batch *batch) {
  int failed = 0;
  for (int k = 0; k < batch->count; k++) failed += batch->status[k] != ABD_OK;
  return failed;
}

static void write_poses(const Batch *batch, int item) {
  const AbdWorld *world = batch->world[item]->world;
  double *pose = batch->pose + 12 * batch->pose_count * (size_t)item;
  if (!batch->pose) return;
  if (abd_world_body_count(world) == batch->pose_count) glue_poses(world, batch->soft, pose);
  else
    for (size_t i = 0; i < 12 * batch->pose_count; i++) pose[i] = NAN;
}

void batch_poses(Batch *batch) {
  for (int k = 0; k < batch->count; k++) write_poses(batch, k);
}

/* ---- Steps ---- */

typedef struct Steps {
  Batch *batch;
  int64_t count;
  bool catching; /* Ctrl-C */
} Steps;

/* One step at a time, so that Ctrl-C ends it soon. */
static void step_one(void *context, int item) {
  const Steps *steps = context;
  Glue *glue = steps->batch->world[item];
  int64_t done = 0, not_converged = 0;
  AbdStatus status = ABD_OK;
  while (status == ABD_OK && done < steps->count) {
    bool stop = steps->catching && glue_interrupted();
    status = stop ? glue_fail(glue, ABD_INTERRUPTED, "interrupted after a step") : glue_step(glue, 1);
    done += status == ABD_OK;
    not_converged += status == ABD_OK && glue->not_converged;
  }
  glue->done = done;
  glue->not_converged = not_converged;
  steps->batch->status[item] = status;
  write_poses(steps->batch, item);
}

static void start_one(void *context, int item) {
  Batch *batch = context;
  batch->status[item] = glue_start(batch->world[item]);
}

int batch_step(Batch *batch, int64_t steps) {
  Steps all = {batch, steps, batch->count && glue_catch_interrupt(batch->world[0])};
  abd_parallel(batch->count, batch->threads, step_one, &all);
  if (all.catching) glue_release_interrupt(batch->world[0]);
  return count_failed(batch);
}

int batch_start(Batch *batch) {
  abd_parallel(batch->count, batch->threads, start_one, batch);
  return count_failed(batch);
}

/* ---- Snapshots ---- */

typedef struct Restores {
  Batch *batch;
  const int *index;
  const void *const *bytes;
  const size_t *size;
} Restores;

static void restore_one(void *context, int item) {
  const Restores *all = context;
  int k = all->index[item];
  Glue *glue = all->batch->world[k];
  AbdStatus status = abd_world_restore(glue->world, all->bytes[item], all->size[item]);
  if (status == ABD_OK) glue_update_poses(glue);
  else glue_fail(glue, status, abd_world_error(glue->world));
  all->batch->status[k] = status;
  write_poses(all->batch, k);
}

int batch_restore(Batch *batch, const int *index, int count, const void *const *bytes, const size_t *size) {
  Restores all = {batch, index, bytes, size};
  for (int k = 0; k < batch->count; k++) batch->status[k] = ABD_OK;
  abd_parallel(count, batch->threads, restore_one, &all);
  return count_failed(batch);
}

/* ---- Arrays ---- */

int batch_set_targets(Batch *batch, const uint32_t *joint, size_t count, const double *target, bool named) {
  for (int k = 0; k < batch->count; k++)
    batch->status[k] = glue_set_targets(batch->world[k], joint, count, target + (size_t)k * count, named);
  return count_failed(batch);
}

int batch_readings(Batch *batch, size_t count, AbdJointReading *reading) {
  for (int k = 0; k < batch->count; k++)
    batch->status[k] = glue_readings(batch->world[k]->world, reading + (size_t)k * count);
  return count_failed(batch);
}

int batch_loads(Batch *batch, size_t count, AbdContactLoad *load) {
  for (int k = 0; k < batch->count; k++)
    batch->status[k] = glue_loads(batch->world[k]->world, load + (size_t)k * count);
  return count_failed(batch);
}

void batch_velocities(Batch *batch, size_t count, double *velocity) {
  for (int k = 0; k < batch->count; k++) glue_velocities(batch->world[k]->world, velocity + 6 * (size_t)k * count);
}

void batch_reports(Batch *batch, AbdStepReport *report, int64_t *done, int64_t *not_converged) {
  for (int k = 0; k < batch->count; k++) {
    report[k] = batch->world[k]->report;
    done[k] = batch->world[k]->done;
    not_converged[k] = batch->world[k]->not_converged;
  }
}
