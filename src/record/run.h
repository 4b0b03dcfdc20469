/* The run file: one SQLite database with everything a simulation produced. docs/run-file.md describes its tables.
 *
 * Writing: run_create makes the file under a temporary name; run_write_... write meta, world and frame 0; run_publish
 * commits, gives the file its name and leaves it open in WAL mode. Then run_record_step writes one step after the
 * other. A process killed at any moment leaves a file with all committed steps, and run_read_checkpoint returns the
 * state to resume from. Reading: run_open, run_list, run_read_frame; a reader may follow a run while it is written.
 *
 * After run_start_writer, run_record_step only copies the step. A thread of the Run writes it, and commits all queued
 * steps in one transaction. Every other function that writes first waits until the thread is idle, so the calls below
 * mean the same with and without the thread. A Run is used by one thread at a time.
 *
 * Every function that returns bool returns false on failure with a sentence in run_error(run). Tested in
 * tests/test_record.c, tests/test_record_thread.c. */
#ifndef ABD_RECORD_RUN_H
#define ABD_RECORD_RUN_H

#include <abd/abd.h>
#include <abd/record.h>

#define RUN_FORMAT_VERSION 5
#define RUN_OLDEST_VERSION 2 /* oldest readable version */
#define RUN_SHARDS_VERSION 6 /* of a run whose frames are in shards */

typedef struct Run Run;

typedef enum RunErrorKind {
  RUN_OK = 0,
  RUN_BAD_FILE, /* missing, not a run file, of another version, damaged, in use by another run */
  RUN_DISK,     /* not writable: full disk, no permission, no memory */
} RunErrorKind;

typedef struct RunError {
  RunErrorKind kind;
  char text[640];
} RunError;

typedef enum RunMode { RUN_READ, RUN_APPEND } RunMode;

/* ---- Lifetime ---- */
/* Makes a new file that replaces path when it is published. NULL on failure. */
Run *run_create(const char *path, RunError *error);
bool run_publish(Run *run);
/* Removes the file that run_create of this process has not published, before the process ends by _exit. */
void run_discard_draft(const char *path);
Run *run_open(const char *path, RunMode mode, RunError *error);
/* Closes the file; removes it if it was never published. run may be NULL. */
void run_close(Run *run);
const char *run_error(const Run *run);
RunErrorKind run_error_kind(const Run *run);
const char *run_path(const Run *run);

/* ---- Writing ---- */
bool run_begin(Run *run);
bool run_commit(Run *run);
void run_rollback(Run *run); /* discards everything since run_begin */
bool run_write_meta(Run *run, const char *key, const char *value);
bool run_write_world(Run *run, const AbdWorld *world);            /* meshes, bodies and joints of the start */
bool run_write_color(Run *run, uint32_t body, const char *color); /* "#rrggbb" instead of the automatic colour */
bool run_write_frame(Run *run, const AbdWorld *world);            /* current poses and velocities */
/* The same from another program's numbers: as many as the file's world has, in a frame's order. NULL: shards have
 * them. */
bool run_write_poses(Run *run, int64_t step, double time, const double *node, size_t node_count, const double *rate,
                     size_t rate_count);
bool run_write_report(Run *run, const AbdStepReport *report, uint64_t hash);
bool run_write_contacts(Run *run, const AbdWorld *world); /* of the last step */
bool run_write_joints(Run *run, const AbdWorld *world);   /* current readings; nothing if there are no joints */
bool run_write_checkpoint(Run *run, const AbdWorld *world);
/* Deletes every step after this one and what came in them, in its own transaction. */
bool run_rewind(Run *run, int64_t step);
/* The same in the transaction of the next step that is recorded: if that one cannot be written, all steps remain.
 * run_rewind_now does not wait for it. */
bool run_rewind_later(Run *run, int64_t step);
bool run_rewind_now(Run *run);

/* ---- Writing steps ---- */
/* Whose poses and velocities a frame has: all bodies'; none, because shards have them; of a shard, those of its
 * rank. */
typedef enum RunNumbersOf { RUN_ALL, RUN_NONE, RUN_OWN } RunNumbersOf;

typedef struct RunStep {
  const AbdStepReport *report;
  bool frame, contacts; /* frame: poses, velocities and joint readings; contacts need a frame */
  RunNumbersOf numbers; /* of a frame */
  const uint32_t *body; /* RUN_OWN: ids, ascending */
  size_t body_count;
  const void *state; /* a snapshot of the world, to resume from; NULL = none */
  size_t state_size;
  int64_t state_step; /* of the snapshot; 0 = this one */
  bool gives_state;   /* the snapshot is from malloc, and run_record_step frees it when it is written or cannot be */
  /* "#rrggbb" of a body that came with this step, NULL for the automatic one; may be NULL */
  const char *(*color)(const void *user, uint32_t body);
  const void *color_user;
} RunStep;

/* Limits of the queue of uncommitted steps; one step may exceed the bytes. kill -9 loses this queue and the step in
 * progress. */
enum { RUN_QUEUE_STEPS = 16, RUN_QUEUE_BYTES = 64 << 20 };

/* Records the last step of the world: in its own transaction, or by the thread. With the thread, it waits while the
 * queue is full, and returns false if an earlier step could not be written. That step and all later ones up to this one
 * are then missing. The failure is returned once. If bodies or joints came or went since the step before, or since
 * run_write_world, the step is written at once, with them. */
bool run_record_step(Run *run, const AbdWorld *world, const RunStep *step);
/* The first step that is missing after run_record_step or run_drain returned false. */
int64_t run_missing_step(const Run *run);
bool run_start_writer(Run *run);
/* Waits until every queued step is committed. False if one could not be written. */
bool run_drain(Run *run);

/* ---- Shards: the frames of a run in one file of each rank, see record/shard.c ---- */
enum { RUN_ID_SIZE = 33 };
/* The id that a run shares with its shards, made at the first call. */
bool run_read_id(Run *run, char id[RUN_ID_SIZE]);
/* Opens the shard of a rank to append the frames after a step to it, whose later frames are deleted; makes it if there
 * is none of this run. path: of the run. run_record_step then writes frames alone. */
Run *run_open_shard(const char *path, int rank, const char *id, int64_t step, RunError *error);
/* The frames after a step are in the shards of as many ranks. */
bool run_use_shards(Run *run, int64_t step, int ranks);
/* The steps before this one are committed; INT64_MAX if none waits, -1 if one could not be written. */
int64_t run_first_queued(Run *run);
/* Processor time that the writer's thread took for the last snapshot, and what it wrote with it [s]; 0 before. */
double run_state_seconds(Run *run);
/* Frames before the step of the last rewind that a shard does not have: they are deleted. */
int64_t run_lost_frames(const Run *run);
/* Makes an ordinary run file of a run with shards. out may be path: the shards are then removed. *end: the first step
 * whose frame not all shards have, with which and after which the new file has nothing; -1 if they have all. */
bool run_merge(const char *path, const char *out, int64_t *end, RunError *error);

/* ---- Reading ---- */
typedef struct RunMesh {
  char *name;
  double *vertex;
  uint32_t *edge, *triangle;
  uint32_t *tet; /* of a soft body; its triangles are its surface */
  size_t vertex_count, edge_count, triangle_count, tet_count;
  double origin[3], axes[9]; /* file coordinates = origin + axes * rest, column-major */
  bool closed, half_space;
  bool soft; /* the mesh of one soft body */
} RunMesh;

typedef struct RunSoft {
  AbdSoftModel model;
  double young, poisson, thickness;
  bool self_contact;
  int64_t *attached; /* [vertex_count] id of the body that a vertex is fixed to; 0 = the world, -1 = none */
} RunSoft;

typedef struct RunBody {
  char *name;
  RunSoft *soft;     /* NULL for a stiff body */
  size_t node, rate; /* offsets of its numbers in a frame's nodes and velocity */
  size_t mesh;       /* index into RunScene.mesh */
  AbdMotion motion;
  double density, mass;
  unsigned char color[3];
  int32_t group;     /* bodies of one group >= 0 do not collide */
  uint32_t *exclude; /* ids (1-based) of the bodies that it does not collide with */
  size_t exclude_count;
  bool sensor;        /* it collides with none */
  int64_t born, died; /* the first step that has it, and the first that has it no more; INT64_MAX = never */
} RunBody;

/* Is the body in the frame of a step? */
static inline bool run_body_alive(const RunBody *body, int64_t step) { return body->born <= step && step < body->died; }

typedef struct RunScene {
  RunMesh *mesh;
  RunBody *body;
  size_t mesh_count, body_count;
  size_t node_count, rate_count; /* numbers in a frame of all bodies */
  double up[3];
  double dt;
} RunScene;

typedef struct RunFrame {
  int64_t step;
  double time;
  double *nodes;    /* [node_count] positions: 12 numbers per stiff body, 3 per vertex of a soft body; NaN for a body
                       that is not in the frame */
  double *velocity; /* [rate_count] linear and angular, or 3 per vertex of a soft body; NULL if the file has none */
} RunFrame;

/* Two bodies that do not collide from a step on, or that collide again. */
typedef struct RunExclusion {
  int64_t step; /* the first that has it */
  uint32_t a, b;
  bool excluded;
} RunExclusion;
/* The changes after the start, in their order, malloc'ed; RunBody has the exclusions of its body's first step. */
bool run_read_exclusions(Run *run, RunExclusion **list, size_t *count);

/* Up to run_end_read everything that is read is of one moment, also of a run that another process writes. Nested pairs
 * are allowed. Between them the writer's log cannot shrink. */
bool run_begin_read(Run *run);
void run_end_read(Run *run);
/* How often bodies and joints have come or gone so far, or that was undone. It never falls. A scene that was read is up
 * to date while it stays. */
bool run_count_changes(Run *run, int64_t *count);
/* Value of a key, malloc'ed; NULL if there is none, which is no error. */
char *run_read_meta(Run *run, const char *key);
bool run_read_scene(Run *run, RunScene *scene);
void run_scene_destroy(RunScene *scene); /* accepts a zeroed or half-read one */
/* Steps that have a frame, ascending, malloc'ed. */
bool run_read_frame_steps(Run *run, int64_t **steps, size_t *count);
bool run_read_frame(Run *run, const RunScene *scene, int64_t step, RunFrame *frame);
void run_frame_destroy(RunFrame *frame);
/* ---- Joints ---- */
typedef struct RunJoint {
  char *name;
  AbdJointKind kind;
  uint32_t body_a, body_b;   /* ids; body_b 0 = the world; both 0 for gears */
  uint32_t joint_a, joint_b; /* ids, for gears */
  double limit[2];           /* of the coordinate, infinite if there is none */
  int64_t born, died;        /* as of RunBody */
} RunJoint;

typedef struct RunJoints {
  RunJoint *joint;
  size_t count;
} RunJoints;

/* scene: of the same moment. None is no error. */
bool run_read_joints(Run *run, const RunScene *scene, RunJoints *joints);
void run_joints_destroy(RunJoints *joints);
/* The frames, with the bodies and joints that they have: all of one moment. Only with these can each of the frames be
 * read, as a frame has the numbers of the bodies that are there at its step. */
typedef struct RunListing {
  int64_t changes; /* see run_count_changes; -1 = scene and joints were not read yet */
  RunScene scene;
  RunJoints joints;
  int64_t *step; /* as run_read_frame_steps gives them */
  size_t step_count;
} RunListing;
/* Lists the frames again; reads scene and joints again if some came or went. After a failure the old ones remain. */
bool run_list(Run *run, RunListing *listing);
void run_listing_destroy(RunListing *listing); /* leaves it as one that was not read yet */
/* The readings of all joints at a step that has a frame: reading[joints->count]; zero for one that is not there. */
bool run_read_joint_readings(Run *run, const RunJoints *joints, int64_t step, AbdJointReading *reading);

/* The largest residual of all readings, its step and joint; 0 if there is none. */
bool run_read_worst_reading(Run *run, double *residual, int64_t *step, uint32_t *joint);

/* The state after the last committed step, malloc'ed, and that step. */
bool run_read_checkpoint(Run *run, void **bytes, size_t *size, int64_t *step);
/* Does the world have the meshes and bodies of the file, bit for bit? The error names the first difference. */
bool run_same_world(Run *run, const AbdWorld *world);
/* Whether nothing was done to the bodies and joints of the world since its last step was recorded. */
bool run_has_world(const Run *run, const AbdWorld *world);

/* ---- Summary of all reports ---- */
typedef AbdRunSummary RunSummary;
bool run_read_summary(Run *run, RunSummary *summary);

/* Columns of the report table in order; NULL after the last. */
const char *run_report_column(size_t index);
/* The value of a column in a report, NaN if it is infinite. False for columns that are not in it or no number. */
bool run_report_number(const AbdStepReport *report, size_t index, double *value);
/* One row's texts, "" for NULL. */
typedef void (*RunVisit)(void *user, size_t count, const char *const *text);
/* Calls visit for each row of the report table. */
bool run_visit_reports(Run *run, RunVisit visit, void *user);

/* ---- Other tables ---- */
typedef enum RunTable { RUN_TABLE_CONTACTS, RUN_TABLE_JOINTS, RUN_TABLE_EVENTS } RunTable;
/* The names of the columns first, then the rows; the first column is the step. */
bool run_visit_table(Run *run, RunTable table, RunVisit visit, void *user);
/* The contacts recorded with the frame of a step, malloc'ed. */
bool run_read_contacts(Run *run, int64_t step, AbdContact **contact, size_t *count);
/* Reports as numbers, NaN for NULL and for texts: at most limit rows after a step, with the columns of this file. value
 * and name are malloc'ed: value[row * column_count + column]; name is one text per column, NULL-terminated. */
typedef struct RunNumbers {
  char **name;
  double *value;
  size_t row_count, column_count;
} RunNumbers;
bool run_read_reports(Run *run, int64_t after_step, size_t limit, RunNumbers *numbers);
void run_numbers_destroy(RunNumbers *numbers);

#endif
