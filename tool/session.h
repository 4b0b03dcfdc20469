/* What `abd run` works on: the scene, its world and the run file, either new or resumed. */
#ifndef ABD_TOOL_SESSION_H
#define ABD_TOOL_SESSION_H

#include "args.h"
#include "progress.h"
#include "record/run.h"
#include "scene/scene.h"

typedef struct RunOptions {
  const char *output, *mesh_dir, *device;
  int64_t steps, threads, every; /* -1, 0, 0: not given */
  double time, dt, mesh_scale;   /* 0: not given */
  bool resume, force, contacts, strict, quiet, json;
  TextList set;
  int argc;
  char **argv;
} RunOptions;

typedef struct SavedState {
  void *bytes;
  size_t size, capacity; /* size 0: none */
  int64_t step;
} SavedState;

typedef struct Session {
  RunOptions options;
  Scene *scene;
  AbdWorld *world;
  Run *run;
  char *path;
  AbdDevice device;   /* given by --device */
  const char *source; /* the file the scene comes from, for messages */
  int64_t target, every;
  bool contacts;
  int64_t not_converged, blocked; /* steps of this process */
  int64_t slow_steps;             /* in a row, up to now */
  bool crawl_said;
  SavedState state[2];          /* the last two states to resume from, the newer one last */
  double kept_at, keep_seconds; /* [s] clock at which the newer one was saved, and how long that took */
  bool recorded;                /* every step so far was handed over, and none of them is known to be missing */
  double output_seconds;        /* [s] the stepping thread spent handing over steps and waiting for the writer */
  char *start_path;             /* a run of the start alone, where surfaces cross there; else NULL */
  char start_look[128];         /* and where in it, as --look-at wants it */
  bool shown;                   /* by abd view, which shows such a start itself */
  Progress progress;
} Session;

bool session_is_run_path(const char *path);
/* Loads or resumes, and publishes a new run with frame 0. Prints what is wrong and returns an exit code. */
int session_open(Session *session, const TextList *operand);
/* A run of nothing but the world as it stands, which need not have started: for looking at. */
bool session_write_start(Session *session, const char *path);
/* Saves the state of the world as the newer one of state[]. */
bool session_keep_state(Session *session);
/* Hands the step that was just made over to the run file. False if it or an earlier step could not be written. */
bool session_record(Session *session, const AbdStepReport *report);
/* After the last step: waits until every step is written, and writes the state of now to resume from. */
bool session_finish(Session *session);
void session_close(Session *session); /* takes a half-open one */

#endif
