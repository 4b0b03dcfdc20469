/* The run file: one SQLite database that holds everything a simulation produced. docs/run-file.md describes its tables.
 *
 * Writing: run_create makes the file under a temporary name; run_write_... write meta, world and frame 0; run_publish
 * commits, gives the file its name and leaves it open in WAL mode. Then run_record_step writes one step after the other.
 * A process killed at any moment leaves a file with all committed steps, and run_read_checkpoint returns the state to go
 * on from. Reading: run_open, run_read_scene, run_read_frame; a reader may follow a run while it is written.
 *
 * After run_start_writer, run_record_step only copies the step; a thread of the Run writes it, and commits all steps that
 * wait in one transaction. Every other function that writes waits first until the thread is idle, so the calls below mean
 * the same with and without the thread. A Run is used by one thread at a time.
 *
 * Every function that returns bool returns false on failure with a sentence in run_error(run).
 * Tested in tests/test_record.c, tests/test_record_thread.c. */
#ifndef ABD_RECORD_RUN_H
#define ABD_RECORD_RUN_H

#include <abd/abd.h>

#define RUN_FORMAT_VERSION 3
#define RUN_OLDEST_VERSION 2 /* that is read */

typedef struct Run Run;

typedef enum RunErrorKind {
  RUN_OK = 0,
  RUN_BAD_FILE, /* not there, not a run file, of another version, damaged, in use by another run */
  RUN_DISK,     /* could not be written: full disk, no permission, no memory */
} RunErrorKind;

typedef struct RunError {
  RunErrorKind kind;
  char text[640];
} RunError;

typedef enum RunMode { RUN_READ, RUN_APPEND } RunMode;

/* ---- Life ---- */
/* A new file that replaces path when it is published; NULL on failure. */
Run *run_create(const char *path, RunError *error);
bool run_publish(Run *run);
Run *run_open(const char *path, RunMode mode, RunError *error);
/* Closes it; a file that was never published is removed. NULL is fine. */
void run_close(Run *run);
const char *run_error(const Run *run);
RunErrorKind run_error_kind(const Run *run);
const char *run_path(const Run *run);

/* ---- Writing ---- */
bool run_begin(Run *run);
bool run_commit(Run *run);
void run_rollback(Run *run); /* what was written since run_begin */
bool run_write_meta(Run *run, const char *key, const char *value);
bool run_write_world(Run *run, const AbdWorld *world);            /* meshes, bodies and joints */
bool run_write_color(Run *run, uint32_t body, const char *color); /* "#rrggbb" in place of the automatic one */
bool run_write_frame(Run *run, const AbdWorld *world);            /* poses and velocities as they are now */
/* The same from numbers that another program made: as many as the world of the file has, in a frame's order. */
bool run_write_poses(Run *run, int64_t step, double time, const double *node, size_t node_count, const double *rate,
                     size_t rate_count);
bool run_write_report(Run *run, const AbdStepReport *report, uint64_t hash);
bool run_write_contacts(Run *run, const AbdWorld *world); /* of the last step */
bool run_write_joints(Run *run,
                      const AbdWorld *world); /* readings as they are now; nothing where there are no joints */
bool run_write_checkpoint(Run *run, const AbdWorld *world);
bool run_rewind(Run *run, int64_t step); /* deletes every step after this one, in a transaction of its own */

/* ---- Writing steps ---- */
typedef struct RunStep {
  const AbdStepReport *report;
  bool frame, contacts; /* frame: poses, velocities and readings of joints; contacts are written only with a frame */
  const void *state;    /* a snapshot of the world now, to resume from; NULL: none with this step */
  size_t state_size;
} RunStep;

/* At most so many steps, and so many bytes if they are more than one step, are handed over and not yet committed: what
 * kill -9 loses beside the step in progress. */
enum { RUN_QUEUE_STEPS = 16, RUN_QUEUE_BYTES = 64 << 20 };

/* Records the step that the world just made: in a transaction of its own, or by the thread. With the thread, it waits
 * while the queue is full, and returns false if an earlier step could not be written: that step and all after it up to
 * this one are missing. The failure is returned once. */
bool run_record_step(Run *run, const AbdWorld *world, const RunStep *step);
/* The first step that is missing after run_record_step or run_drain returned false. */
int64_t run_missing_step(const Run *run);
bool run_start_writer(Run *run);
/* Waits until every step handed over is committed; false if one could not be written. */
bool run_drain(Run *run);

/* ---- Reading ---- */
typedef struct RunMesh {
  char *name;
  double *vertex;
  uint32_t *edge, *triangle;
  uint32_t *tet; /* of a soft body's; its triangles are its surface */
  size_t vertex_count, edge_count, triangle_count, tet_count;
  double origin[3], axes[9]; /* file coordinates = origin + axes * rest, column-major */
  bool closed, half_space;
  bool soft; /* of a soft body, which has it alone */
} RunMesh;

typedef struct RunSoft {
  AbdSoftModel model;
  double young, poisson, thickness;
  bool self_contact;
  int64_t *attached; /* [vertex_count] id of the body a vertex is fixed to, 0 the world, -1 nothing */
} RunSoft;

typedef struct RunBody {
  char *name;
  RunSoft *soft;     /* NULL for a stiff body */
  size_t node, rate; /* where its numbers begin in a frame's nodes and velocity */
  size_t mesh;       /* index into RunScene.mesh */
  AbdMotion motion;
  double density, mass;
  unsigned char color[3];
  int32_t group;     /* bodies of one group >= 0 do not collide */
  uint32_t *exclude; /* ids (1-based) of the bodies it is told not to touch */
  size_t exclude_count;
} RunBody;

typedef struct RunScene {
  RunMesh *mesh;
  RunBody *body;
  size_t mesh_count, body_count;
  size_t node_count, rate_count; /* numbers in a frame */
  double up[3];
  double dt;
} RunScene;

typedef struct RunFrame {
  int64_t step;
  double time;
  double *nodes;    /* [node_count] of each body 12, of a soft one 3 for each vertex: where it is */
  double *velocity; /* [rate_count] linear, angular, of a soft one 3 for each vertex; NULL where the file has none */
} RunFrame;

/* Value of a key, malloc'ed; NULL where there is none (no error). */
char *run_read_meta(Run *run, const char *key);
bool run_read_scene(Run *run, RunScene *scene);
void run_scene_destroy(RunScene *scene); /* takes a zeroed or half-read one */
/* Steps that have a frame, ascending, malloc'ed. */
bool run_read_frame_steps(Run *run, int64_t **steps, size_t *count);
bool run_read_frame(Run *run, const RunScene *scene, int64_t step, RunFrame *frame);
void run_frame_destroy(RunFrame *frame);
/* ---- Joints ---- */
typedef struct RunJoint {
  char *name;
  AbdJointKind kind;
  uint32_t body_a, body_b;   /* ids; body_b 0: the world; both 0 for gears */
  uint32_t joint_a, joint_b; /* ids, of gears */
  double limit[2];           /* of the coordinate, infinite where there is none */
} RunJoint;

typedef struct RunJoints {
  RunJoint *joint;
  size_t count;
} RunJoints;

bool run_read_joints(Run *run, const RunScene *scene, RunJoints *joints); /* none is no error */
void run_joints_destroy(RunJoints *joints);
/* The readings of all joints at a step that has a frame: reading[joints->count]. */
bool run_read_joint_readings(Run *run, const RunJoints *joints, int64_t step, AbdJointReading *reading);

/* The largest residual of all readings, its step and joint; 0 where there is none. */
bool run_read_worst_reading(Run *run, double *residual, int64_t *step, uint32_t *joint);

/* The state after the last committed step, malloc'ed, and that step. */
bool run_read_checkpoint(Run *run, void **bytes, size_t *size, int64_t *step);
/* Whether the world has the meshes and bodies of the file, bit for bit; the error names the first that differs. */
bool run_same_world(Run *run, const AbdWorld *world);

/* ---- Reports as a whole ---- */
typedef struct RunSummary {
  int64_t bytes; /* of the file, once its log is worked into it */
  int64_t steps, frames, not_converged, first_not_converged, kinematic_blocked;
  double time;
  double iterations_mean;
  int64_t iterations_max;
  int64_t linear_iterations;          /* conjugate gradients in all; 0 where Cholesky solved all */
  double factor_memory, factor_flops; /* [bytes], [flops] predicted for the largest factor of all steps */
  double contacts_mean;
  int64_t contacts_max;
  double min_distance; /* infinity where nothing came near */
  int64_t min_distance_step;
  uint32_t nearest[2];
  double max_strain, max_soft_strain, residual_max;
  double joint_residual; /* [m] the largest gap left in a joint as reported, and where */
  int64_t joint_residual_step;
  uint32_t worst_joint;                           /* 0: no report names one */
  double seconds[ABD_STAGE_COUNT], seconds_total; /* sums over all steps */
  uint64_t last_hash;
} RunSummary;
bool run_read_summary(Run *run, RunSummary *summary);

/* Columns of the report table in order; NULL after the last. */
const char *run_report_column(size_t index);
/* One row's texts, "" for NULL. */
typedef void (*RunVisit)(void *user, size_t count, const char *const *text);
/* Calls visit for one row of the report table after the other. */
bool run_visit_reports(Run *run, RunVisit visit, void *user);

/* ---- Other tables ---- */
typedef enum RunTable { RUN_TABLE_CONTACTS, RUN_TABLE_JOINTS } RunTable;
/* The names of the columns first, then the rows; the first column is the step. */
bool run_visit_table(Run *run, RunTable table, RunVisit visit, void *user);
/* The contacts recorded with the frame of a step, malloc'ed. */
bool run_read_contacts(Run *run, int64_t step, AbdContact **contact, size_t *count);
/* Reports as numbers, NaN for NULL and for texts: at most limit rows after a step, with the columns this file has.
 * value and name are malloc'ed: value[row * column_count + column]; name is one text per column, NULL-ended. */
typedef struct RunNumbers {
  char **name;
  double *value;
  size_t row_count, column_count;
} RunNumbers;
bool run_read_reports(Run *run, int64_t after_step, size_t limit, RunNumbers *numbers);
void run_numbers_destroy(RunNumbers *numbers);

#endif
