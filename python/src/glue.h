/* What the Python module does in C beyond the public headers: steps in a row, Ctrl-C, values of all bodies or joints at
 * once. cdef.py reads these declarations. */
#ifndef ABD_PYTHON_GLUE_H
#define ABD_PYTHON_GLUE_H

#include <abd/export.h>
#include <abd/query.h>
#include <abd/sweep.h>

/* A drive that Python set: it is set again after each abd_scene_apply, which would replace it by the scene's. */
typedef struct GlueDrive {
  AbdJointId joint;
  AbdDrive drive;
} GlueDrive;

/* A world and what happens around each of its steps. */
typedef struct Glue {
  AbdStepReport report;  /* of the last step */
  int64_t done;          /* steps of the last call */
  int64_t not_converged; /* of them */
  AbdWorld *world;
  const AbdScene *scene; /* its scripts are applied before each step; NULL = none */
  AbdRun *run;           /* records each step; NULL = none */
  double *pose;          /* [12 pose_count] written after each call; NULL = none */
  size_t pose_count;     /* bodies, */
  uint32_t pose_last;    /* and the last one's id; if the world has others, pose is not written */
  bool pose_soft;        /* some of them are soft */
  GlueDrive *drive;
  size_t drive_count;
  size_t drive_next; /* where the next one is searched first */
  bool late;         /* a Ctrl-C came after the step it was meant for: the next interruption is stale */
  AbdError error;
} Glue;

/* Takes steps until count are done or one fails. Ctrl-C ends it with ABD_INTERRUPTED, also within a step, if it is
 * called by the main thread. */
AbdStatus glue_step(Glue *glue, int64_t count);
AbdStatus glue_start(Glue *glue);
AbdStatus glue_set_drive(Glue *glue, AbdJointId joint, const AbdDrive *drive);
/* New targets of the drives of joints; their kinds and gains stay. Joints that were named need a drive. */
AbdStatus glue_set_targets(Glue *glue, const uint32_t *joint, size_t count, const double *target, bool named);
void glue_release(Glue *glue); /* frees what Glue owns: the drives */

/* Values of all bodies or joints in the order of their ids. A soft body has a pose of NaN. */
void glue_poses(const AbdWorld *world, bool soft, double *pose); /* soft: some bodies are */
void glue_velocities(const AbdWorld *world, double *velocity);
void glue_body_ids(const AbdWorld *world, uint32_t *id);
void glue_joint_ids(const AbdWorld *world, uint32_t *id);
AbdStatus glue_readings(const AbdWorld *world, AbdJointReading *reading);
AbdStatus glue_loads(const AbdWorld *world, AbdContactLoad *load);

/* For several worlds in one call (batch.h): Ctrl-C is caught from catch, if it returns true, to release. */
bool glue_catch_interrupt(Glue *glue);
bool glue_interrupted(void); /* since catch */
void glue_release_interrupt(Glue *glue);
AbdStatus glue_fail(Glue *glue, AbdStatus status, const char *sentence); /* returns the status */
void glue_update_poses(Glue *glue);

#endif
