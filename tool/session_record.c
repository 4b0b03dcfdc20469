/* What a session writes while it steps: session_record, session_finish. The file is written by a thread of the Run.
 *
 * A state to resume from is handed over with a step if CHECKPOINT_SECONDS have passed since the last one and copying
 * the last one took less than 1/CHECKPOINT_SHARE of that time. Resuming computes at most so much again. Two of these
 * states are kept: after a step that failed, the step before it is made again from one of them (trouble.c). Tested
 * by tests/cli/run.sh, tests/cli/trouble.sh. */
#include "session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECKPOINT_SECONDS 0.2
#define CHECKPOINT_SHARE 100

bool session_keep_state(Session *session) {
  SavedState older = session->state[0], now;
  double begun = clock_seconds();
  size_t size = abd_world_snapshot_size(session->world); /* grows with what is remembered of contacts */
  if (size > older.capacity) {
    size_t capacity = size + size / 8;
    void *room = realloc(older.bytes, capacity);
    if (!room) return false;
    session->state[0].bytes = older.bytes = room, session->state[0].capacity = older.capacity = capacity;
  }
  now = older;
  now.size = size, now.step = abd_world_step_count(session->world);
  if (abd_world_save(session->world, now.bytes, size) != ABD_OK) return false;
  session->state[0] = session->state[1];
  session->state[1] = now;
  session->kept_at = clock_seconds(), session->keep_seconds = session->kept_at - begun;
  return true;
}

static bool checkpoint_is_due(const Session *session) {
  return clock_seconds() - session->kept_at >= fmax(CHECKPOINT_SECONDS, CHECKPOINT_SHARE * session->keep_seconds);
}

static const char *color_of(const void *scene, uint32_t body) { return scene_body_color(scene, body - 1); }

bool session_record(Session *session, const AbdStepReport *report) {
  double begun = clock_seconds();
  RunStep step = {.report = report, .contacts = session->contacts, .color = color_of, .color_user = session->scene};
  step.frame = report->step % session->every == 0 || report->step == session->target;
  /* without memory for a new state, the one before remains the one to resume from */
  if (checkpoint_is_due(session) && session_keep_state(session))
    step.state = session->state[1].bytes, step.state_size = session->state[1].size;
  session->recorded = run_record_step(session->run, session->world, &step);
  session->output_seconds += clock_seconds() - begun;
  return session->recorded;
}

static bool write_output_seconds(Session *session) {
  char text[32], *before = run_read_meta(session->run, "output_seconds");
  snprintf(text, sizeof text, "%.6g", session->output_seconds + (before ? strtod(before, NULL) : 0));
  free(before);
  return run_write_meta(session->run, "output_seconds", text);
}

bool session_finish(Session *session) {
  Run *run = session->run;
  double begun = clock_seconds();
  if (!session->recorded) return true; /* the failure was returned, and a step is missing before the state of now */
  session->recorded = run_drain(run);
  session->output_seconds += clock_seconds() - begun;
  if (!session->recorded) return false;
  if (run_begin(run) && run_write_checkpoint(run, session->world) && write_output_seconds(session) && run_commit(run))
    return true;
  run_rollback(run);
  return false;
}
