/* Run files: one SQLite database with everything that a simulation produced (docs/run-file.md): write, resume, read,
 * verify.
 *
 *     AbdRun *run = abd_run_create("pile.abd", NULL, scene, world, &error);
 *     while (...) {
 *       abd_scene_apply(scene, world, &error);
 *       if (abd_world_step(world, &report) != ABD_OK || abd_run_record(run, world, &report) != ABD_OK) break;
 *     }
 *     abd_run_finish(run, world);
 *     abd_run_close(run);
 *
 * A process killed at any moment leaves a file that abd_run_resume continues with the same bits. A thread of the run
 * writes; abd_run_record only copies the step. Readers may follow a run while it is written.
 *
 * A function that returns a status returns ABD_OK or a failure with a sentence in abd_run_error. Views and pointers
 * that a run returns are valid until the next call of the same function, or until it is closed. One thread at a time
 * uses a run. */
#ifndef ABD_PUBLIC_RECORD_H
#define ABD_PUBLIC_RECORD_H

#include <abd/abd.h>
#include <abd/scene.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct AbdRun AbdRun;

/* NULL is allowed. A run that was created and closed without abd_run_finish resumes from its last checkpoint. */
ABD_API void abd_run_close(AbdRun *run);
ABD_API const char *abd_run_error(const AbdRun *run); /* never NULL */
ABD_API const char *abd_run_path(const AbdRun *run);

/* ---- Writing ---------------------------------------------------------------------------------------------------- */

typedef struct AbdRunDef {
  bool replace;        /* an existing file; false: it is an error */
  int64_t steps;       /* planned in total; negative = as the scene says */
  int64_t every;       /* a frame every so many steps, 1; reports are written for every step */
  bool contacts;       /* every contact with each frame */
  bool shards;         /* the numbers of frames in one file of each rank of an MPI job; then call abd_run_divide */
  const char *source;  /* file names of the scene, for information; may be NULL */
  const char *command; /* what made the run, for information; may be NULL */
} AbdRunDef;

ABD_API AbdRunDef abd_default_run_def(void);
/* Begins a run of a started world: scene, meshes, frame 0 and a state to resume from. The file appears under its name
 * when all of that is written. NULL on failure, with a sentence in error, which may be NULL. */
ABD_API AbdRun *abd_run_create(const char *path, const AbdRunDef *def, AbdScene *scene, const AbdWorld *world,
                               AbdError *error);
/* Removes the unfinished file of an abd_run_create in another thread, before the process ends. */
ABD_API void abd_run_discard(const char *path);
/* A file of the world as it stands, started or not, with one frame: for looking at a start that crosses. */
ABD_API AbdStatus abd_run_write_start(const char *path, const AbdScene *scene, const AbdWorld *world, AbdError *error);
/* Hands over the last step of the world, with the bodies and joints that came or went since the one before or since
 * abd_run_create. A failure means that this step and perhaps earlier ones are missing. */
ABD_API AbdStatus abd_run_record(AbdRun *run, const AbdWorld *world, const AbdStepReport *report);
/* The first step that a failed abd_run_record or abd_run_finish did not write. */
ABD_API int64_t abd_run_missing_step(const AbdRun *run);
/* After the last step: waits until every step is written, and writes the present state to resume from. */
ABD_API AbdStatus abd_run_finish(AbdRun *run, const AbdWorld *world);
/* Deletes all steps; the world is at its start again. */
ABD_API AbdStatus abd_run_rewind(AbdRun *run, const AbdWorld *world);
/* Restores the world to the newest of the two states kept in memory that lies before a step. ABD_ERROR_STATE if there
 * is none, or if bodies came or went since. */
ABD_API AbdStatus abd_run_restore_before(AbdRun *run, AbdWorld *world, int64_t step);

/* ---- Resuming --------------------------------------------------------------------------------------------------- */

/* Opens a run to go on with it. Gives its scene and its world after the last state in the file. Steps after that are
 * made again to the same bits; the first one that is written deletes the old ones. *scene: NULL, or a scene that must
 * be the run's. The caller destroys *scene and *world, which may be NULL after a failure. */
ABD_API AbdRun *abd_run_resume(const char *path, int threads, AbdScene **scene, AbdWorld **world, AbdError *error);
/* What is planned: steps, every, contacts, shards. */
ABD_API AbdRunDef abd_run_plan(const AbdRun *run);
ABD_API AbdStatus abd_run_set_plan(AbdRun *run, const AbdRunDef *def);

/* ---- Shards ----------------------------------------------------------------------------------------------------- */

/* From now on the poses of a run go to one file of each rank, PATH.0, PATH.1, ..., and every function that reads a run
 * reads them there. All ranks of a job call it: rank 0 with its run, which it has begun or resumed, the others with
 * NULL. Each then records its steps in the run that is returned, on rank 0 the one it gave, and calls abd_run_settle
 * after each. Without MPI one process makes one shard. NULL if a rank failed; error is empty on the others. */
ABD_API AbdRun *abd_run_divide(AbdRun *run, const AbdWorld *world, AbdError *error);
/* After a step that all ranks have recorded: tells rank 0 what they have written. Without abd_run_divide it does
 * nothing. */
ABD_API void abd_run_settle(AbdRun *run);
/* How many frames up to the state that abd_run_resume restored were deleted because not all shards had them: after a
 * power cut. */
ABD_API int64_t abd_run_lost_frames(const AbdRun *run);
/* Makes one ordinary run file of a run with shards. out may be path: its shards are then removed. *end: the first step
 * whose frame is not in all shards because processes were killed, from which on the new file has nothing; -1 if they
 * have all. */
ABD_API AbdStatus abd_run_merge(const char *path, const char *out, int64_t *end, AbdError *error);

/* ---- Reading ---------------------------------------------------------------------------------------------------- */

/* Bodies may come and go while the run is written. So frames are listed together with their bodies, by abd_run_view or
 * by the first call that needs them. Frames that were listed can be read, verified and exported until the run is
 * rewound. A later one can be read before it is listed only if no body or joint came or went since; else reading it is
 * ABD_ERROR_STATE. */
ABD_API AbdRun *abd_run_open(const char *path, AbdError *error);
/* Text of a key of the table `meta`, such as "scene" or "created"; NULL if there is none. */
ABD_API const char *abd_run_meta(AbdRun *run, const char *key);

typedef struct AbdRunView {
  size_t body_count, mesh_count, joint_count;
  size_t node_count, rate_count; /* numbers in a frame */
  const int64_t *frame;          /* steps that have a frame, ascending */
  size_t frame_count;            /* more with each call while the run is written */
  double dt, up[3];
  int64_t changes; /* how often bodies and joints came or went */
} AbdRunView;
/* Lists the frames again. If changes is another number than before, what abd_run_body, abd_run_mesh and abd_run_joint
 * gave is no longer valid. */
ABD_API AbdStatus abd_run_view(AbdRun *run, AbdRunView *view);

typedef struct AbdRunBody {
  const char *name;
  AbdMeshId mesh;
  AbdMotion motion;
  bool soft;
  double density, mass; /* [kg/m^3] [kg] */
  int32_t group;
  unsigned char color[3];
  size_t node, rate;  /* offsets of its numbers in a frame */
  int64_t born, died; /* the first step that has it, and the first that has it no more; INT64_MAX = never */
} AbdRunBody;
ABD_API AbdStatus abd_run_body(AbdRun *run, AbdBodyId id, AbdRunBody *body);

/* A mesh in rest coordinates, as AbdMeshView; of a soft body with its tets. */
typedef struct AbdRunMesh {
  const char *name;
  const double *vertex;
  const uint32_t *triangle, *edge, *tet;
  size_t vertex_count, triangle_count, edge_count, tet_count;
  double origin[3], axes[9];
  bool closed, half_space, soft;
} AbdRunMesh;
ABD_API AbdStatus abd_run_mesh(AbdRun *run, AbdMeshId id, AbdRunMesh *mesh);

typedef struct AbdRunJoint {
  const char *name;
  AbdJointKind kind;
  AbdBodyId body_a, body_b;    /* body_b null = the world */
  AbdJointId joint_a, joint_b; /* of gears */
  double limit[2];
} AbdRunJoint;
ABD_API AbdStatus abd_run_joint(AbdRun *run, AbdJointId id, AbdRunJoint *joint);

typedef struct AbdRunFrame {
  int64_t step;
  double time;
  const double *node; /* [node_count] 12 numbers per stiff body, 3 per vertex of a soft one; NaN if it is not there */
  const double *rate; /* [rate_count] linear and angular velocity, or 3 per vertex; NULL if the file has none */
} AbdRunFrame;
/* The frame of a step that has one. */
ABD_API AbdStatus abd_run_frame(AbdRun *run, int64_t step, AbdRunFrame *frame);
/* The contacts recorded with a frame; the readings of all joints then, by joint. */
ABD_API AbdStatus abd_run_contacts(AbdRun *run, int64_t step, const AbdContact **contact, size_t *count);
ABD_API AbdStatus abd_run_readings(AbdRun *run, int64_t step, const AbdJointReading **reading, size_t *count);

/* Reports as numbers, NaN for what is no number: at most limit rows after a step. */
typedef struct AbdRunReports {
  const char *const *column; /* [column_count] names */
  const double *value;       /* [row_count][column_count] */
  size_t row_count, column_count;
} AbdRunReports;
ABD_API AbdStatus abd_run_reports(AbdRun *run, int64_t after_step, size_t limit, AbdRunReports *reports);

typedef struct AbdRunSummary {
  int64_t bytes; /* of the file after its log is merged */
  int64_t steps, frames, not_converged, first_not_converged, kinematic_blocked;
  double held_back; /* [m] of the steps in which a kinematic body was blocked: the farthest from its target */
  int64_t held_back_step;
  uint32_t held_back_body; /* 0 = the report names none */
  double time;
  double iterations_mean;
  int64_t iterations_max;
  int64_t split_steps, first_split;   /* steps that were taken in sub-steps */
  int64_t substeps, substeps_max;     /* of those steps: in total, of one */
  int64_t given_up;                   /* tries */
  int64_t worst_split;                /* the step with given up tries that has the most sub-steps, 0 = none */
  uint32_t split_culprit[2];          /* the bodies to blame in it */
  char split_by[24];                  /* how the first of its tries ended: "max iterations", "moved too far"... */
  int64_t linear_iterations;          /* conjugate gradient iterations in total; 0 if Cholesky solved all */
  double factor_memory, factor_flops; /* [bytes], [flops] predicted for the largest factor of all steps */
  double contacts_mean;
  int64_t contacts_max;
  double friction_error_mean, friction_error_max; /* of the steps with friction; 0 = none */
  int64_t friction_error_step;                    /* of the largest */
  double min_distance;                            /* infinity if there were no contacts */
  int64_t min_distance_step;
  uint32_t nearest[2];
  double max_strain, max_soft_strain, residual_max;
  int64_t max_strain_step; /* of stiff bodies */
  uint32_t most_strained;  /* 0 = no report names one */
  double joint_residual;   /* [m] the largest reported gap of a joint */
  int64_t joint_residual_step;
  uint32_t worst_joint;                           /* 0 = no report names one */
  double seconds[ABD_STAGE_COUNT], seconds_total; /* sums over all steps */
  uint64_t last_hash;
} AbdRunSummary;
ABD_API AbdStatus abd_run_summary(AbdRun *run, AbdRunSummary *summary);

/* The largest gap of a joint in all readings, its step and joint; joint null if there is none. */
ABD_API AbdStatus abd_run_worst_reading(AbdRun *run, double *residual, int64_t *step, AbdJointId *joint);

/* The poses of all bodies of a world, as abd_world_poses writes them and abd_world_find_crossings takes them; how many
 * numbers they are. Free them with abd_nodes_free. NULL if memory is out. */
ABD_API size_t abd_world_node_count(const AbdWorld *world);
ABD_API double *abd_world_nodes_new(const AbdWorld *world);
ABD_API void abd_nodes_free(double *nodes); /* NULL is allowed */

/* ---- Verifying -------------------------------------------------------------------------------------------------- */

typedef struct AbdRunVerdict {
  int64_t frames, crossings;
  int64_t pairs; /* of bodies that may collide, in one frame */
} AbdRunVerdict;
typedef void AbdRunCrossing(void *user, const AbdRunFrame *frame, const AbdCrossing *crossing);
/* Tests with exact arithmetic, in the frame of a step or in all (-1), that no two surfaces that may collide share a
 * point. The world is built from the meshes in the file, bit for bit. visit is called for the first crossing of each
 * pair, at most 100 a frame; progress after each frame. Both may be NULL. */
ABD_API AbdStatus abd_run_verify(AbdRun *run, int64_t step, AbdRunCrossing *visit,
                                 void (*progress)(void *user, size_t done, size_t total), void *user,
                                 AbdRunVerdict *verdict);
/* Stores a verdict on all frames in the file, if it is writable and no run writes it. */
ABD_API void abd_run_store_verdict(const char *path, const AbdRunVerdict *verdict);

#ifdef __cplusplus
}
#endif
#endif
