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
  RUN_STATEMENT_COUNT
};

typedef struct Writer Writer; /* writer.c */

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
};

/* Store run->error and return false. */
bool run_fail(Run *run, RunErrorKind kind, const char *format, ...) __attribute__((format(printf, 3, 4)));
bool run_fail_sqlite(Run *run, const char *doing);
bool run_exec(Run *run, const char *sql, const char *doing);
sqlite3_stmt *run_prepare(Run *run, const char *sql);
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
/* change.c: the rows of what came or went with the step of the events. */
bool run_write_changes(Run *run, const AbdWorld *world, const RunStep *step, const AbdEvent *event, size_t count);
bool run_rewind_world(Run *run, int64_t step);
/* Reads the columns born and died. */
void run_read_life(sqlite3_stmt *statement, int column, int64_t *born, int64_t *died);
/* The largest id of a table, 0 if it is empty. */
bool run_last_id(Run *run, const char *table, uint32_t *id);
/* write.c: meshes, bodies and soft bodies of ids that the file does not have yet; events name bodies that may be gone
 * already. */
bool run_write_new_bodies(Run *run, const AbdWorld *world, int64_t born, uint32_t last);
/* Calls visit for every row of a statement's result. */
bool run_visit_statement(Run *run, sqlite3_stmt *statement, RunVisit visit, void *user);

/* A sensor's text instead of the list of bodies that a body does not collide with: it collides with none. */
#define RUN_SENSOR "\"all\""

#endif
