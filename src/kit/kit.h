/* The objects behind abd/scene.h, abd/record.h and abd/export.h. Tested in tests/test_kit.c and examples/simulate.c. */
#ifndef ABD_KIT_H
#define ABD_KIT_H

#include <abd/record.h>

#include "record/run.h"
#include "scene/failure.h"
#include "scene/scene.h"

struct AbdScene {
  Scene *scene;
};

typedef struct SavedState {
  void *bytes;
  size_t size, capacity; /* size 0: none */
  int64_t step;
  uint64_t bodies; /* number of bodies and the last id then */
} SavedState;

struct AbdRun {
  Run *run;
  AbdError error;
  /* writing */
  int64_t steps, every; /* planned in total; between two frames */
  bool contacts, shards;
  char (*color)[8]; /* of the scene's bodies, "" if it has none; for those that come later */
  size_t color_count;
  SavedState state[2];          /* the last two states to resume from, the newer one last */
  double kept_at, keep_seconds; /* [s] clock at which the newer one was saved, and how long that took */
  bool recorded;                /* every step so far was handed over, and none of them is known to be missing */
  double output_seconds;        /* [s] the stepping thread spent handing over steps and waiting for the writer */
  Run *shard;                   /* of this rank; on ranks above 0 it is `run` too. NULL: frames are not divided */
  uint32_t *own;                /* ids of the bodies that this rank writes */
  size_t own_capacity;
  int64_t last;             /* step that was recorded */
  int64_t settled, waiting; /* all ranks have written the frames up to this step; step of the newer state if it waits
                               for that, -1 if none does */
  /* reading */
  bool listed;
  RunListing list; /* of the last abd_run_view, or of the first call that needed it */
  RunFrame frame;
  AbdContact *contact;
  AbdJointReading *reading;
  RunNumbers numbers;
  char *meta;
};

/* Stores the failure of run->run in run->error. */
AbdStatus run_failed(AbdRun *run);
AbdStatus kit_status(RunErrorKind kind);
AbdScene *kit_scene(Scene *scene); /* takes it over; NULL if memory is out */

/* run_state.c: saves the state of the world as the newer one of state[]. False if memory is out. */
bool run_keep_state(AbdRun *run, const AbdWorld *world);
/* Frees the saved states if there are several ranks: rank 0 cannot make a step again without the others. */
void run_drop_states(AbdRun *run);
/* The newer state goes to the file with this step; with its memory if there are several ranks. */
void run_give_state(AbdRun *run, RunStep *step);
/* Copies the colours of the scene's bodies. False if memory is out. */
bool run_take_colors(AbdRun *run, const Scene *scene);
/* Writes steps, every and contacts. */
bool run_write_plan(AbdRun *run);
/* Starts the thread that writes, and keeps the first state. */
AbdStatus run_begin_recording(AbdRun *run, const AbdWorld *world);
/* run_shard.c: abd_run_record and the drain of abd_run_finish for a divided run. */
AbdStatus run_record_divided(AbdRun *run, const AbdWorld *world, RunStep *step);
AbdStatus run_drain_divided(AbdRun *run, bool *all);
/* Is a state to resume from due? */
bool run_checkpoint_is_due(const AbdRun *run);
/* run_read.c: lists frames and reads meshes, bodies and joints if that was not done yet. */
bool run_know_list(AbdRun *run);
void run_forget(AbdRun *run); /* frees what reading allocated */

#endif
