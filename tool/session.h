/* What `abd run` works on: the scene, its world and the run file, either new or resumed. */
#ifndef ABD_TOOL_SESSION_H
#define ABD_TOOL_SESSION_H

#include "args.h"
#include "progress.h"

#include <abd/mpi.h>
#include <abd/record.h>

typedef struct RunOptions {
  const char *output, *mesh_dir, *device;
  int64_t steps, threads, every; /* -1, 0, 0: not given */
  double time, dt, mesh_scale;   /* 0: not given */
  double time_limit;             /* [s] of wall-clock time; 0: none */
  bool resume, force, contacts, shards, strict, quiet, json;
  TextList set;
  AbdSceneDef robot; /* its options of robots alone */
  int argc;
  char **argv;
} RunOptions;

typedef struct Session {
  RunOptions options;
  AbdScene *scene;
  AbdWorld *world;
  AbdRun *run;  /* of rank 0 */
  AbdRun *part; /* with shards: what this rank records its steps in, on rank 0 `run`; else NULL */
  char *path;
  bool resumable;     /* path has a run to resume */
  bool stepping;      /* it is loaded */
  const char *source; /* the file the scene comes from, for messages */
  int64_t target, every;
  bool contacts, shards;
  int64_t not_converged, blocked; /* steps of this process */
  int64_t slow_steps;             /* in a row, up to now */
  bool crawl_said, strain_said;
  char *start_path;     /* a run of the start alone, where surfaces cross there; else NULL */
  char start_look[128]; /* and where in it, as --look-at wants it */
  bool shown;           /* by abd view, which shows such a start itself */
  Progress progress;
} Session;

bool session_is_run_path(const char *path);
/* Prints how the run goes on after an early end, or that there is none: for stop_catch, with a Session. */
int session_late(void *session);
/* Loads or resumes, and publishes a new run with frame 0. Prints what is wrong and returns an exit code. */
int session_open(Session *session, const TextList *operand);
/* Hands the step that was just made over to the run file. False if it or an earlier step could not be written. */
bool session_record(Session *session, const AbdStepReport *report);
/* The sentence about a failure of session_record or session_finish, and the first step that is missing. */
const char *session_failure(const Session *session, int64_t *missing);
/* After a step that all ranks have recorded. */
void session_settle(Session *session);
/* Takes the world back to its start, whose state was saved. It is another world then, in which bodies that come again
 * have the same ids. */
bool session_restart(Session *session, const void *bytes, size_t size);
/* After the last step: waits until every step is written, and writes the state of now to resume from. */
bool session_finish(Session *session);
void session_close(Session *session); /* takes a half-open one */

#endif
