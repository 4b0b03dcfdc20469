/* Many worlds at once, on the library's threads, one thread each. cdef.py reads these declarations. */
#ifndef ABD_PYTHON_BATCH_H
#define ABD_PYTHON_BATCH_H

#include "glue.h"

/* Worlds of the same bodies and joints. In arrays, the values of one world follow those of the one before. */
typedef struct Batch {
  Glue **world; /* [count] */
  int count;
  int threads;       /* 0 = all processors */
  AbdStatus *status; /* [count] of each world in the last call; its sentence is in its Glue */
  double *pose;      /* [count x 12 pose_count] written after steps and restores; NULL = none */
  size_t pose_count; /* bodies of each world; the poses of a world that has another number are NaN */
  bool soft;         /* some bodies are */
} Batch;

/* Takes steps in every world, until they are done or one fails there. A world that fails does not stop the others;
 * Ctrl-C stops all. Returns the number of worlds that failed. */
int batch_step(Batch *batch, int64_t steps);
int batch_start(Batch *batch);
void batch_poses(Batch *batch); /* writes pose */
/* Restores snapshots in the worlds [count] of an index. */
int batch_restore(Batch *batch, const int *index, int count, const void *const *bytes, const size_t *size);
/* target: [worlds x count] of the joints' drives; their kinds and gains stay. */
int batch_set_targets(Batch *batch, const uint32_t *joint, size_t count, const double *target, bool named);
int batch_readings(Batch *batch, size_t count, AbdJointReading *reading); /* [worlds x count] */
int batch_loads(Batch *batch, size_t count, AbdContactLoad *load);        /* [worlds x count] */
void batch_velocities(Batch *batch, size_t count, double *velocity);      /* [worlds x count x 6] */
void batch_reports(Batch *batch, AbdStepReport *report, int64_t *done, int64_t *not_converged);

#endif
