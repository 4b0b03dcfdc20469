/* Frames of a run in one file of each rank, see abd/record.h and record/shard.c. On rank 0 an AbdRun has the run file
 * and its shard; on the others its shard alone.
 *
 * A state to resume from is written only after all ranks have written their frames up to it, so that a resumed run
 * lacks none. It waits in memory meanwhile. Tested by tests/cli/shards.sh. */
#include "kit/kit.h"

#include <abd/mpi.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* What rank 0 tells the others. */
typedef struct Division {
  char id[RUN_ID_SIZE];
  int64_t step, steps, every;
} Division;

/* ---- Beginning ---- */

static bool spread_division(const AbdRun *run, Division *division, char **path) {
  void *bytes = division, *name = run ? (void *)run_path(run->run) : NULL;
  size_t size = sizeof *division, length = run ? strlen(name) : 0;
  bool good = abd_mpi_spread(&bytes, &size);
  if (good && bytes != division) memcpy(division, bytes, sizeof *division), free(bytes);
  good = good && abd_mpi_spread(&name, &length);
  if (!run) *path = good ? name : NULL;
  else *path = good ? strdup(name) : NULL;
  return *path != NULL;
}

static AbdRun *new_part(const Division *division) {
  AbdRun *run = calloc(1, sizeof *run);
  if (run) run->steps = division->steps, run->every = division->every;
  return run;
}

static AbdStatus open_shard(AbdRun *run, const char *path, const Division *division) {
  RunError why;
  run->shard = run_open_shard(path, abd_mpi_rank(), division->id, division->step, &why);
  if (!run->shard) return fail_with(&run->error, kit_status(why.kind), "%s", why.text);
  if (!run->run) run->run = run->shard;
  run->recorded = true, run->waiting = -1, run->settled = division->step;
  if (run_start_writer(run->shard)) return ABD_OK;
  return fail_with(&run->error, kit_status(run_error_kind(run->shard)), "%s", run_error(run->shard));
}

static AbdStatus describe(AbdRun *run, const AbdWorld *world, Division *division) {
  division->step = abd_world_step_count(world), division->steps = run->steps, division->every = run->every;
  /* ranks commit one by one: steps that shards are to have again are deleted before */
  return run_rewind_now(run->run) && run_read_id(run->run, division->id) ? ABD_OK : run_failed(run);
}

static AbdRun *give_up(AbdRun *own, const AbdRun *given, AbdError *error, const AbdError *why) {
  if (error) *error = *why;
  if (own != given) abd_run_close(own);
  return NULL;
}

AbdRun *abd_run_divide(AbdRun *run, const AbdWorld *world, AbdError *error) {
  Division division = {.step = 0};
  AbdError none = {.status = ABD_OK};
  char *path;
  AbdStatus status = run ? describe(run, world, &division) : ABD_OK;
  if (!abd_mpi_agree(status == ABD_OK)) return give_up(run, run, error, run ? &run->error : &none);
  if (!abd_mpi_agree(spread_division(run, &division, &path)))
    return fail_with(error, ABD_ERROR_MEMORY, "out of memory for the name of the run"), NULL;
  AbdRun *own = run ? run : new_part(&division);
  status = own ? open_shard(own, path, &division) : fail_with(&none, ABD_ERROR_MEMORY, "out of memory for a run");
  free(path);
  bool all = abd_mpi_agree(status == ABD_OK);
  if (all && run && !run_use_shards(run->run, division.step, abd_mpi_count())) status = run_failed(run);
  all = abd_mpi_agree(all && status == ABD_OK);
  return all ? own : give_up(own, run, error, own ? &own->error : &none);
}

int64_t abd_run_lost_frames(const AbdRun *run) { return run_lost_frames(run->run); }

/* ---- Steps ---- */

static bool list_own(AbdRun *run, const AbdWorld *world, RunStep *step) {
  size_t bodies = abd_world_body_count(world);
  if (run->own_capacity < bodies + 1) {
    uint32_t *more = realloc(run->own, (bodies + 1) * sizeof *more);
    if (!more) return false;
    run->own = more, run->own_capacity = bodies + 1;
  }
  step->numbers = RUN_OWN, step->body = run->own, step->body_count = 0;
  for (size_t k = 0; k < bodies; k++)
    if (abd_mpi_owner(world, k) == abd_mpi_rank()) run->own[step->body_count++] = abd_world_body_at(world, k).id;
  return true;
}

static AbdStatus record_own(AbdRun *run, const AbdWorld *world, RunStep step) {
  if (!step.frame) return ABD_OK;
  if (!list_own(run, world, &step))
    return fail_with(&run->error, ABD_ERROR_MEMORY, "out of memory for the bodies of a frame");
  if (run_record_step(run->shard, world, &step)) return ABD_OK;
  return fail_with(&run->error, kit_status(run_error_kind(run->shard)), "%s", run_error(run->shard));
}

/* The state that has waited for the frames of all ranks is written, then a new one may begin to wait. */
static AbdStatus record_rest(AbdRun *run, const AbdWorld *world, RunStep step) {
  step.numbers = RUN_NONE;
  bool ready = run->waiting >= 0 && run->waiting <= run->settled;
  if (ready) run_give_state(run, &step);
  if (!run_record_step(run->run, world, &step)) return run_failed(run);
  if (ready) run->waiting = -1, run_drop_states(run);
  if (run->waiting < 0 && run_checkpoint_is_due(run) && run_keep_state(run, world)) run->waiting = run->state[1].step;
  return ABD_OK;
}

AbdStatus run_record_divided(AbdRun *run, const AbdWorld *world, RunStep *step) {
  AbdStatus status = record_own(run, world, *step);
  if (status == ABD_OK && run->run != run->shard) status = record_rest(run, world, *step);
  run->recorded = status == ABD_OK;
  if (run->recorded) run->last = step->report->step;
  return status;
}

/* Steps that this rank has not yet written. */
static int behind(const AbdRun *run) {
  int64_t first = run->recorded ? run_first_queued(run->shard) : -1;
  if (first < 0) return INT_MAX;
  return first > run->last ? 0 : (int)(run->last - first + 1);
}

void abd_run_settle(AbdRun *run) {
  int rank;
  if (!run->shard) return;
  int most = abd_mpi_worst(behind(run), &rank);
  if (most < INT_MAX) run->settled = run->last - most;
}

/* ---- The end ---- */

AbdStatus run_drain_divided(AbdRun *run, bool *all) {
  AbdStatus status = ABD_OK;
  if (run->recorded && !run_drain(run->shard))
    status = fail_with(&run->error, kit_status(run_error_kind(run->shard)), "%s", run_error(run->shard));
  if (run->recorded && status == ABD_OK && run->run != run->shard && !run_drain(run->run)) status = run_failed(run);
  run->recorded = run->recorded && status == ABD_OK;
  *all = abd_mpi_agree(run->recorded);
  return status;
}

AbdStatus abd_run_merge(const char *path, const char *out, int64_t *end, AbdError *error) {
  RunError why = {RUN_OK, ""};
  return run_merge(path, out, end, &why) ? ABD_OK : fail_with(error, kit_status(why.kind), "%s", why.text);
}
