/* The fields of a Run, shared by the files of src/record. */
#ifndef ABD_RECORD_FILE_H
#define ABD_RECORD_FILE_H

#include "record/run.h"

#include <sqlite3.h>

/* Statements of every step, prepared at first use. */
enum {
  RUN_STATEMENT_FRAME,
  RUN_STATEMENT_REPORT,
  RUN_STATEMENT_CONTACT,
  RUN_STATEMENT_JOINT,
  RUN_STATEMENT_CHECKPOINT,
  RUN_STATEMENT_COLOR,
  RUN_STATEMENT_EVENT,
  RUN_STATEMENT_PART,
  RUN_STATEMENT_COUNT
};

typedef struct Writer Writer; /* writer.c */
typedef struct Shards Shards; /* shard.c */

struct Run {
  sqlite3 *db;
  char *path, *draft; /* draft: the temporary name until published, else NULL */
  int lock;           /* descriptor whose lock excludes a second writer; -1 for readers */
  RunMode mode;
  int version; /* of the file's format */
  RunError error;
  sqlite3_stmt *statement[RUN_STATEMENT_COUNT];
  void *bytes; /* reused for blobs */
  size_t byte_capacity;
  Writer *writer;       /* NULL = every call writes by itself */
  int64_t missing_step; /* see run_missing_step */
  bool is_shard;
  Shards *shards; /* of a run that has some; else NULL */
  int64_t lost_frames;
  int64_t rewind; /* the next step that is written deletes all after this one; -1 = none */
  /* world_bodies, world_joints and abd_world_changes of the world that the file has now; UINT64_MAX = not known */
  uint64_t bodies, joints, changes;
  int reads; /* of run_begin_read without its run_end_read */
  bool read_began;
};

/* Store run->error and return false. */
bool run_fail(Run *run, RunErrorKind kind, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool run_fail_sqlite(Run *run, const char *doing);
bool run_exec(Run *run, const char *sql, const char *doing);
sqlite3_stmt *run_prepare(Run *run, const char *sql);
/* The first number of the first row that a query gives. */
bool run_read_number(Run *run, const char *sql, int64_t *value);
sqlite3_stmt *run_statement(Run *run, int which, const char *sql);
/* Executes a statement that returns no row and resets it. */
bool run_finish(Run *run, sqlite3_stmt *statement, const char *doing);
/* At least size bytes, valid until the next call. NULL and an error if memory is out. */
void *run_bytes(Run *run, size_t size);
void run_free_bytes(Run *run);
/* BEGIN without waiting for the writer thread. */
bool run_begin_now(Run *run);
/* Writes the queued steps, ends the writer's thread and frees it. */
void run_stop_writer(Run *run);
bool run_write_step_contacts(Run *run, int64_t step, const AbdContact *contact, size_t count);
/* joint: their ids. */
bool run_write_readings(Run *run, int64_t step, const AbdJointReading *reading, const uint32_t *joint, size_t count);
bool run_write_events(Run *run, const AbdEvent *event, size_t count);
bool run_write_state(Run *run, int64_t step, const void *bytes, size_t size);
/* Creates the report table. */
bool run_create_report_table(Run *run);
bool run_add_report_columns(Run *run); /* those that a file of an older version does not have */
bool run_has_table(Run *run, const char *name);
bool run_create_joint_tables(Run *run);
bool run_create_soft_tables(Run *run);
/* The rows of ids that the file does not have yet: they came with a step. */
bool run_write_soft_defs(Run *run, const AbdWorld *world, uint32_t after);
/* Reads materials and attachments of soft bodies. The bodies must have been read; it allocates `attached`. */
bool run_read_soft_defs(Run *run, RunScene *scene);
bool run_write_soft_mesh(Run *run, sqlite3_stmt *statement, const AbdWorld *world, AbdBodyId body);
void run_bind_blob(sqlite3_stmt *statement, int index, const void *bytes, size_t size);
/* last: the largest id so far, also of joints that are gone already. */
bool run_write_joint_defs(Run *run, const AbdWorld *world, int64_t born, uint32_t last);
/* change.c: the rows of what came or went since the step before. The world is compared with the file, because a restore
 * or a step that was not recorded leaves changes without an event. */
bool run_write_changes(Run *run, const AbdWorld *world, const RunStep *step, const AbdEvent *event, size_t count);
/* exclusion.c: events of pairs that the file excludes and the world does not, and of the reverse. After the step's own
 * events, in a transaction. */
bool run_write_exclusions(Run *run, const AbdWorld *world, int64_t step);
bool run_rewind_world(Run *run, int64_t step);        /* in a transaction */
void run_keep_world(Run *run, const AbdWorld *world); /* the file has its bodies and joints now, see run_has_world */
void run_forget_world(Run *run);                      /* what the file has is not known */
/* rows.c, in a transaction: the deletion that run_rewind_later has asked for. */
bool run_rewind_due(Run *run);
/* Reads the columns born and died. */
void run_read_life(sqlite3_stmt *statement, int column, int64_t *born, int64_t *died);
/* The largest id of a table, 0 if it is empty. */
bool run_last_id(Run *run, const char *table, uint32_t *id);
/* write.c: meshes, bodies and soft bodies of ids that the file does not have yet; events name bodies that may be gone
 * already. */
bool run_write_new_bodies(Run *run, const AbdWorld *world, int64_t born, uint32_t last);
/* file.c: opens a file of an application id under a draft name, in a transaction. */
Run *run_new_file(const char *path, int application, int version, RunError *error);
void run_remove_file(const char *path); /* and its log */
/* Opens an existing file and checks its id and version. */
Run *run_open_file(const char *path, RunMode mode, int application, RunError *error);
enum { RUN_APPLICATION_ID = 0x61626472, SHARD_APPLICATION_ID = 0x61626473 }; /* 'abdr', 'abds', for file(1) too */
/* shard.c */
bool run_find_shards(Run *run);           /* reads which steps are in shards */
bool run_refresh_shards(Run *run);        /* the same if that is no longer what was read */
void run_remove_shards(const char *path); /* of a run that was replaced */
void run_forget_shards(Run *run);
/* The last step up to which all shards have their part of each frame; INT64_MAX if none misses. */
bool run_last_complete(Run *run, int64_t *step);
/* Drops the frames up to a step that a shard does not have, and what shards have after it. */
bool run_rewind_shards(Run *run, int64_t step);
bool run_count_lost(Run *run, int64_t step, int64_t *last); /* such frames; last: see run_last_complete */
int64_t run_shard_bytes(Run *run);                          /* of all files */
/* The numbers of a frame that shards have, in a frame's order, malloc'ed. */
bool run_read_parts(Run *run, const RunScene *scene, int64_t step, double **node, double **rate);
bool run_write_part(Run *run, int64_t step, const uint32_t *body, size_t count, const double *node, size_t node_count,
                    const double *rate, size_t rate_count);
/* read.c: how many numbers a body has in a frame; of stiff ones 12 for poses, 6 for velocities. */
size_t run_body_numbers(const RunScene *scene, const RunBody *body, size_t stiff);
size_t run_frame_numbers(const RunScene *scene, int64_t step, size_t stiff);
/* Calls visit for every row of a statement's result. */
bool run_visit_statement(Run *run, sqlite3_stmt *statement, RunVisit visit, void *user);

/* A sensor's text instead of the list of bodies that a body does not collide with: it collides with none. */
#define RUN_SENSOR "\"all\""

#endif
