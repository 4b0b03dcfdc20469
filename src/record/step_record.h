/* A copy of one step's results. The stepping thread fills it, the writer thread binds it to the statements of the run
 * file; neither accesses the other's world or database. Tested in tests/test_record_thread.c. */
#ifndef ABD_RECORD_STEP_RECORD_H
#define ABD_RECORD_STEP_RECORD_H

#include "record/run.h"

typedef struct StepRecord {
  AbdStepReport report;
  uint64_t hash; /* of the poses and velocities */
  bool frame;
  RunNumbersOf numbers;
  double *node, *rate; /* of a frame, in its order */
  size_t node_count, rate_count;
  uint64_t bodies; /* world_bodies of the last count, kept with the record: counting reads every body */
  size_t counted[2];
  AbdContact *contact;
  size_t contact_count;
  AbdJointReading *reading; /* of a frame, by joint */
  size_t reading_count;
  uint32_t *joint; /* ids of the joints */
  AbdEvent *event;
  size_t event_count;
  uint32_t *body; /* RUN_OWN: ids of the bodies of the frame */
  size_t body_count;
  unsigned char *state; /* snapshot to resume from */
  size_t state_size;    /* 0 = none */
  int64_t state_step;
  bool gives_state;     /* the state was given, not copied to the block */
  void *given;          /* its memory */
  unsigned char *block; /* contains all other arrays above */
  size_t size, capacity;
  struct StepRecord *next; /* in a list of the writer */
} StepRecord;

/* Sets the counts, and size to the bytes of the step's arrays. */
void step_record_count(StepRecord *record, const AbdWorld *world, const RunStep *step);
/* Copies the step after step_record_count. The block grows if needed. False if memory is out. */
bool step_record_fill(StepRecord *record, const AbdWorld *world, const RunStep *step);
/* Frees a state that was given. */
void step_record_release(StepRecord *record);
/* Frees that and the block, but not the record. */
void step_record_clear(StepRecord *record);

#endif
