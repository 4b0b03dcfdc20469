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
  bool contacts;
  char (*color)[8]; /* of the scene's bodies, "" if it has none; for those that come later */
  size_t color_count;
  SavedState state[2];          /* the last two states to resume from, the newer one last */
  double kept_at, keep_seconds; /* [s] clock at which the newer one was saved, and how long that took */
  bool recorded;                /* every step so far was handed over, and none of them is known to be missing */
  double output_seconds;        /* [s] the stepping thread spent handing over steps and waiting for the writer */
  /* reading */
  bool scene_read;
  RunScene scene;
  RunJoints joints;
  int64_t *frame_step;
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
/* Copies the colours of the scene's bodies. False if memory is out. */
bool run_take_colors(AbdRun *run, const Scene *scene);
/* Writes steps, every and contacts. */
bool run_write_plan(AbdRun *run);
/* Starts the thread that writes, and keeps the first state. */
AbdStatus run_begin_recording(AbdRun *run, const AbdWorld *world);
/* run_read.c: reads meshes, bodies and joints once. */
bool run_know_scene(AbdRun *run);
void run_forget(AbdRun *run); /* frees what reading allocated */

#endif
