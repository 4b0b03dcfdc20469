/* Studies: many runs of one scene that differ in settings and seeds (docs/sweep.md).
 *
 *     AbdStudy *study = abd_study_load("friction.json", &error);
 *     AbdSweep *sweep = abd_sweep_open("friction.db", study, false, &error);
 *     double *value = malloc(abd_study_column_count(study) * sizeof *value);
 *     size_t member;
 *     AbdMemberResult result;
 *     while (abd_sweep_take(sweep, &member) == ABD_OK && member != SIZE_MAX) {
 *       if (abd_study_run(study, member, 1, &result, value, &error) == ABD_OK)
 *         abd_sweep_store(sweep, member, &result, value);
 *       else abd_sweep_fail(sweep, member, error.text, false);
 *     }
 *
 * A study does not change, and different threads or processes may run its members. A member's figures depend on the
 * study and the member alone, not on where or when it runs. A sweep is the table of results in a SQLite file; one
 * process writes it. A process killed at any moment loses only members in progress. */
#ifndef ABD_PUBLIC_SWEEP_H
#define ABD_PUBLIC_SWEEP_H

#include <abd/abd.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Studies ----------------------------------------------------------------------------------------------------- */

typedef struct AbdStudy AbdStudy;

/* NULL after an error; error may be NULL. Relative paths in the file start at its folder. */
ABD_API AbdStudy *abd_study_load(const char *path, AbdError *error);
/* The text of a study file. name is used in messages, and its folder for relative paths. */
ABD_API AbdStudy *abd_study_parse(const char *text, size_t length, const char *name, AbdError *error);
ABD_API void abd_study_destroy(AbdStudy *study); /* NULL is allowed */

ABD_API const char *abd_study_name(const AbdStudy *study); /* its "name", or the file's without folder and ending */
ABD_API size_t abd_study_member_count(const AbdStudy *study);
/* A member's settings by name as a JSON object, the seed as "seed" if the study has seeds. Free it with
 * abd_text_free. NULL if memory is out. */
ABD_API char *abd_study_settings(const AbdStudy *study, size_t member);
/* The figures that a member records: "bodies.ball.position.x". */
ABD_API size_t abd_study_column_count(const AbdStudy *study);
ABD_API const char *abd_study_column(const AbdStudy *study, size_t column);
/* Loads and builds a member's world without a step, and finds the bodies and joints whose figures are recorded. */
ABD_API AbdStatus abd_study_check(const AbdStudy *study, size_t member, AbdError *error);

typedef struct AbdMemberResult {
  int64_t steps, not_converged;
  double seconds; /* of wall-clock time, loading included */
  uint64_t hash;  /* of the final poses and velocities, see abd_world_hash */
} AbdMemberResult;

/* Runs one member from the start to its last step. value: [column_count] figures, NaN for what does not exist, as the
 * time of a touch that never came. threads as in AbdSolverDef. */
ABD_API AbdStatus abd_study_run(const AbdStudy *study, size_t member, int threads, AbdMemberResult *result,
                                double *value, AbdError *error);

/* ---- The table of results ---------------------------------------------------------------------------------------- */

typedef struct AbdSweep AbdSweep;

typedef enum AbdMemberStatus {
  ABD_MEMBER_WAITING = 0,
  ABD_MEMBER_RUNNING, /* taken by the process that writes the table */
  ABD_MEMBER_DONE,
  ABD_MEMBER_FAILED,
  ABD_MEMBER_STATUS_COUNT
} AbdMemberStatus;
ABD_API const char *abd_member_status_name(AbdMemberStatus status); /* "waiting" */

/* Opens the table of a study to go on with it, or creates it. Members that an ended process was running wait again. A
 * table of another study, or of a scene that has changed since, is an error unless replace is true. */
ABD_API AbdSweep *abd_sweep_open(const char *path, const AbdStudy *study, bool replace, AbdError *error);
/* Opens a table for reading, also while a process writes it. */
ABD_API AbdSweep *abd_sweep_read(const char *path, AbdError *error);
ABD_API void abd_sweep_close(AbdSweep *sweep);              /* NULL is allowed */
ABD_API const char *abd_sweep_error(const AbdSweep *sweep); /* the sentence of the last failure; never NULL */

/* Marks the waiting member with the smallest number as running; SIZE_MAX if none waits. */
ABD_API AbdStatus abd_sweep_take(AbdSweep *sweep, size_t *member);
/* value: the figures of abd_study_run. */
ABD_API AbdStatus abd_sweep_store(AbdSweep *sweep, size_t member, const AbdMemberResult *result, const double *value);
/* The member failed with a sentence. again: it waits for another attempt. */
ABD_API AbdStatus abd_sweep_fail(AbdSweep *sweep, size_t member, const char *sentence, bool again);
/* Running members wait again: those that took them have ended. */
ABD_API AbdStatus abd_sweep_release(AbdSweep *sweep);
/* Failed members wait again. */
ABD_API AbdStatus abd_sweep_retry_failed(AbdSweep *sweep);
/* How many members have each status. */
ABD_API AbdStatus abd_sweep_counts(AbdSweep *sweep, int64_t count[ABD_MEMBER_STATUS_COUNT]);
typedef void AbdSweepVisit(void *user, size_t member, int attempts, const char *sentence, const char *settings);
/* Calls visit for every failed member in their order; settings as abd_study_settings. */
ABD_API AbdStatus abd_sweep_failed(AbdSweep *sweep, AbdSweepVisit *visit, void *user);

#ifdef __cplusplus
}
#endif
#endif
