/* Lifetime of a run file: create it under a draft name, publish, open, lock, close; its tables; errors. See run.h. */
#define _GNU_SOURCE
#include "record/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "blobs are written as they lie in memory");

static const char schema[] =
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;"
    "CREATE TABLE mesh(id INTEGER PRIMARY KEY, name TEXT, vertex BLOB, edge BLOB, triangle BLOB, tet BLOB,"
    " origin BLOB, axes BLOB, closed INTEGER, half_space INTEGER, volume REAL);"
    "CREATE TABLE body(id INTEGER PRIMARY KEY, name TEXT, mesh INTEGER REFERENCES mesh(id), kind TEXT, motion TEXT,"
    " collide TEXT, density REAL, mass REAL, inertia BLOB, stiffness REAL, elasticity TEXT, friction REAL,"
    " fixed INTEGER, grp INTEGER, color TEXT, born INTEGER, died INTEGER);"
    "CREATE TABLE frame(step INTEGER PRIMARY KEY, time REAL, node BLOB, velocity BLOB);"
    "CREATE TABLE contact(step INTEGER, body_a INTEGER, body_b INTEGER, kind TEXT, primitive_a INTEGER,"
    " primitive_b INTEGER, x REAL, y REAL, z REAL, normal_x REAL, normal_y REAL, normal_z REAL, distance REAL,"
    " normal_force REAL, friction_x REAL, friction_y REAL, friction_z REAL);"
    "CREATE INDEX contact_step ON contact(step, body_a, body_b);"
    "CREATE TABLE event(step INTEGER, kind TEXT, body_a INTEGER, body_b INTEGER, joint INTEGER);"
    "CREATE INDEX event_step ON event(step);"
    "CREATE TABLE checkpoint(id INTEGER PRIMARY KEY CHECK(id = 1), step INTEGER, state BLOB);";

/* ---- Errors ---- */

bool run_fail(Run *run, RunErrorKind kind, const char *format, ...) {
  va_list list;
  va_start(list, format);
  run->error.kind = kind;
  vsnprintf(run->error.text, sizeof run->error.text, format, list);
  va_end(list);
  return false;
}

static RunErrorKind kind_of(int code) {
  switch (code & 0xff) {
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
    case SQLITE_CANTOPEN:
    case SQLITE_BUSY:
    case SQLITE_ERROR: return RUN_BAD_FILE;
    default: return RUN_DISK;
  }
}

bool run_fail_sqlite(Run *run, const char *doing) {
  int code = run->db ? sqlite3_extended_errcode(run->db) : SQLITE_NOMEM;
  int system = run->db ? sqlite3_system_errno(run->db) : 0;
  bool full = (code & 0xff) == SQLITE_FULL;
  if ((code & 0xff) == SQLITE_NOTADB)
    return run_fail(run, RUN_BAD_FILE, "%s: not a run file of abd ('abd run' makes one of a scene), or damaged",
                    run->path);
  bool io = (code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_CANTOPEN;
  const char *reason = full ? "the disk is full" : run->db ? sqlite3_errmsg(run->db) : "out of memory";
  return run_fail(run, kind_of(code), "%s: cannot %s: %s%s%s", run->path, doing, reason, io && system ? ": " : "",
                  io && system ? strerror(system) : "");
}

const char *run_error(const Run *run) { return run->error.text; }
RunErrorKind run_error_kind(const Run *run) { return run->error.kind; }
const char *run_path(const Run *run) { return run->path; }

/* ---- Statements ---- */

bool run_exec(Run *run, const char *sql, const char *doing) {
  return sqlite3_exec(run->db, sql, NULL, NULL, NULL) == SQLITE_OK || run_fail_sqlite(run, doing);
}

sqlite3_stmt *run_prepare(Run *run, const char *sql) {
  sqlite3_stmt *statement = NULL;
  if (sqlite3_prepare_v2(run->db, sql, -1, &statement, NULL) != SQLITE_OK) run_fail_sqlite(run, "read the file");
  return statement;
}

bool run_read_number(Run *run, const char *sql, int64_t *value) {
  sqlite3_stmt *statement = run_prepare(run, sql);
  if (!statement) return false;
  bool row = sqlite3_step(statement) == SQLITE_ROW || run_fail_sqlite(run, "read the file");
  if (row) *value = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  return row;
}

sqlite3_stmt *run_statement(Run *run, int which, const char *sql) {
  if (!run->statement[which]) run->statement[which] = run_prepare(run, sql);
  return run->statement[which];
}

bool run_finish(Run *run, sqlite3_stmt *statement, const char *doing) {
  bool done = sqlite3_step(statement) == SQLITE_DONE;
  if (!done) run_fail_sqlite(run, doing);
  sqlite3_reset(statement);
  return done;
}

void *run_bytes(Run *run, size_t size) {
  if (size <= run->byte_capacity && run->bytes) return run->bytes;
  size_t capacity = size + size / 2 + 64;
  void *bytes = realloc(run->bytes, capacity);
  if (!bytes) return run_fail(run, RUN_DISK, "%s: out of memory for %zu bytes", run->path, size), NULL;
  run->bytes = bytes, run->byte_capacity = capacity;
  return bytes;
}

void run_free_bytes(Run *run) {
  free(run->bytes);
  run->bytes = NULL, run->byte_capacity = 0;
}

bool run_begin_now(Run *run) { return run_exec(run, "BEGIN IMMEDIATE", "begin a step"); }
bool run_begin(Run *run) { return run_drain(run) && run_begin_now(run); }
bool run_commit(Run *run) { return run_exec(run, "COMMIT", "commit a step"); }

void run_rollback(Run *run) {
  sqlite3_exec(run->db, "ROLLBACK", NULL, NULL, NULL);
  if (run->shards) run_find_shards(run); /* as they are again */
}

/* ---- Lifetime ---- */

/* SQLite drops its own locks when any descriptor of the file is closed. So the lock is taken before the database is
 * opened and released after it is closed. */
static bool lock_file(Run *run, const char *path, bool create) {
  run->lock = open(path, O_RDWR | O_CLOEXEC | (create ? O_CREAT | O_EXCL : 0), 0666);
  bool disk = errno == ENOSPC || errno == EDQUOT || errno == EFBIG || errno == EIO;
  if (run->lock < 0)
    return run_fail(run, disk ? RUN_DISK : RUN_BAD_FILE, "%s: cannot %s: %s", run->path,
                    create ? "create the file" : "open the run for writing", strerror(errno));
  if (flock(run->lock, LOCK_EX | LOCK_NB) != 0)
    return run_fail(run, RUN_BAD_FILE, "%s: another abd run is writing this file", run->path);
  return true;
}

static Run *run_new(const char *path, RunMode mode) {
  Run *run = calloc(1, sizeof *run);
  if (!run) return NULL;
  run->lock = -1, run->mode = mode, run->version = RUN_FORMAT_VERSION, run->rewind = -1;
  run_forget_world(run);
  run->path = strdup(path);
  if (run->path) return run;
  free(run);
  return NULL;
}

static Run *give_up(Run *run, RunError *error) {
  if (error && run) *error = run->error;
  else if (error) *error = (RunError){RUN_DISK, "out of memory"};
  run_close(run);
  return NULL;
}

static bool connect(Run *run, const char *path, int flags) {
  bool good = sqlite3_open_v2(path, &run->db, flags, NULL) == SQLITE_OK;
  if (!good) return run_fail_sqlite(run, "open the file");
  sqlite3_extended_result_codes(run->db, 1);
  sqlite3_busy_timeout(run->db, 10000);
  return true;
}

static bool begin_file(Run *run, int application, int version) {
  char pragma[96];
  snprintf(pragma, sizeof pragma, "PRAGMA application_id=%d; PRAGMA user_version=%d", application, version);
  const char *doing = "create the file";
  return run_exec(run, "PRAGMA page_size=8192; PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF", doing) &&
         run_exec(run, "BEGIN", doing) && run_exec(run, pragma, doing);
}

static bool make_tables(Run *run) {
  char version[16];
  snprintf(version, sizeof version, "%d", RUN_FORMAT_VERSION);
  return run_exec(run, schema, "create the file") && run_create_report_table(run) && run_create_joint_tables(run) &&
         run_create_soft_tables(run) && run_write_meta(run, "format", "abd run") &&
         run_write_meta(run, "format_version", version) && run_write_meta(run, "program_version", abd_version());
}

static char *draft_path(const char *path) {
  char *draft = NULL;
  return asprintf(&draft, "%s.part-%ld", path, (long)getpid()) < 0 ? NULL : draft;
}

/* The application id in the header of an SQLite file; -1 if it is none. */
static int64_t application_of(const char *path) {
  unsigned char head[72];
  FILE *file = fopen(path, "rb");
  bool database = file && fread(head, sizeof head, 1, file) == 1 && memcmp(head, "SQLite format 3", 16) == 0;
  if (file) fclose(file);
  if (!database) return -1;
  return (int64_t)head[68] << 24 | head[69] << 16 | head[70] << 8 | head[71];
}

/* A new file replaces an empty one or one of its own kind, so that a slip of the name costs no scene, mesh or device. */
static bool check_replaced(Run *run, int application) {
  struct stat info;
  if (stat(run->path, &info) != 0) return true;
  if (!S_ISREG(info.st_mode))
    return run_fail(run, RUN_BAD_FILE, "%s: not a regular file; a run cannot be written there", run->path);
  return info.st_size == 0 || application_of(run->path) == application ||
         run_fail(run, RUN_BAD_FILE, "%s: not a run file of abd; it is not replaced", run->path);
}

Run *run_new_file(const char *path, int application, int version, RunError *error) {
  Run *run = run_new(path, RUN_APPEND);
  if (run && !check_replaced(run, application)) return give_up(run, error);
  if (!run || !(run->draft = draft_path(path))) return give_up(run, error);
  if (!lock_file(run, run->draft, true)) {
    free(run->draft), run->draft = NULL;
    return give_up(run, error);
  }
  if (!connect(run, run->draft, SQLITE_OPEN_READWRITE)) return give_up(run, error);
  return begin_file(run, application, version) ? run : give_up(run, error);
}

Run *run_create(const char *path, RunError *error) {
  Run *run = run_new_file(path, RUN_APPLICATION_ID, RUN_FORMAT_VERSION, error);
  return !run || make_tables(run) ? run : give_up(run, error);
}

/* A replaced file may have left a log of committed pages, which SQLite would play back into the new file. */
static void remove_log(const char *path) {
  const char *suffix[] = {"-wal", "-shm", "-journal"};
  for (int k = 0; k < 3; k++) {
    char *name = NULL;
    if (asprintf(&name, "%s%s", path, suffix[k]) < 0) continue;
    unlink(name);
    free(name);
  }
}

void run_remove_file(const char *path) {
  unlink(path);
  remove_log(path);
}

void run_discard_draft(const char *path) {
  char *draft = draft_path(path);
  if (draft) run_remove_file(draft);
  free(draft);
}

/* Fails if a run is writing the file that is about to be replaced. */
static bool check_unused(Run *run) {
  int file = open(run->path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return true;
  bool free_ = flock(file, LOCK_EX | LOCK_NB) == 0;
  close(file);
  return free_ || run_fail(run, RUN_BAD_FILE, "%s: another abd run is writing this file", run->path);
}

static void finalize_all(Run *run) {
  for (int k = 0; k < RUN_STATEMENT_COUNT; k++) {
    sqlite3_finalize(run->statement[k]);
    run->statement[k] = NULL;
  }
}

/* The log is merged into the file every 32 MB, so that each page of the checkpoint is copied once for many
 * checkpoints. */
static bool use_log(Run *run) {
  return run_exec(run, "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=4096",
                  "open the run for writing");
}

bool run_publish(Run *run) {
  if (!run_commit(run) || !check_unused(run)) return false;
  finalize_all(run);
  if (sqlite3_close(run->db) != SQLITE_OK) return run_fail_sqlite(run, "close the draft");
  run->db = NULL;
  if (fsync(run->lock) != 0)
    return run_fail(run, RUN_DISK, "%s: cannot write the file: %s", run->path, strerror(errno));
  remove_log(run->path);
  if (rename(run->draft, run->path) != 0)
    return run_fail(run, RUN_DISK, "%s: cannot give the file its name: %s", run->path, strerror(errno));
  free(run->draft), run->draft = NULL;
  if (!run->is_shard) run_remove_shards(run->path);
  return connect(run, run->path, SQLITE_OPEN_READWRITE) && use_log(run);
}

static bool read_pragma(Run *run, const char *sql, int *value) {
  int64_t number;
  if (!run_read_number(run, sql, &number)) return false;
  *value = (int)number;
  return true;
}

static bool check_format(Run *run, int application) {
  int id = 0, version = 0;
  if (!read_pragma(run, "PRAGMA application_id", &id) || !read_pragma(run, "PRAGMA user_version", &version))
    return false;
  if (id == SHARD_APPLICATION_ID && application != id)
    return run_fail(run, RUN_BAD_FILE, "%s: the frames of one rank of a run; name the run, the file without the number",
                    run->path);
  if (id != application)
    return run_fail(run, RUN_BAD_FILE, "%s: not a %s of abd", run->path,
                    application == SHARD_APPLICATION_ID ? "shard" : "run file");
  run->version = version;
  if (version >= RUN_OLDEST_VERSION && version <= RUN_SHARDS_VERSION) return true;
  return run_fail(run, RUN_BAD_FILE, "%s: run file of format %d, this abd %s reads formats %d to %d", run->path,
                  version, abd_version(), RUN_OLDEST_VERSION, RUN_SHARDS_VERSION);
}

/* Opening a pipe would wait for a writer. */
static bool can_read(Run *run) {
  struct stat info;
  if (access(run->path, R_OK) != 0 || stat(run->path, &info) != 0)
    return run_fail(run, RUN_BAD_FILE, "%s: %s", run->path, strerror(errno));
  return S_ISREG(info.st_mode) || run_fail(run, RUN_BAD_FILE, "%s: not a regular file", run->path);
}

static bool has_log(const Run *run) {
  char *name = NULL;
  if (asprintf(&name, "%s-wal", run->path) < 0) return true;
  bool there = access(name, F_OK) == 0;
  free(name);
  return there;
}

/* SQLite reads a last page that is cut off as if its end were zeros. The header has the pages' size and number, see
 * https://www.sqlite.org/fileformat.html; while there is a log, the file may be shorter. SQLite's own descriptor is
 * used: closing another one would drop its locks. */
static bool check_length(Run *run) {
  unsigned char h[100];
  sqlite3_file *file = NULL;
  sqlite3_int64 size = 0;
  bool log = has_log(run);
  if (log || sqlite3_file_control(run->db, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || !file->pMethods ||
      file->pMethods->xFileSize(file, &size) != SQLITE_OK || size < (sqlite3_int64)sizeof h ||
      file->pMethods->xRead(file, h, sizeof h, 0) != SQLITE_OK || memcmp(h, "SQLite format 3", 16) != 0)
    return true; /* check_format finds what it is */
  int64_t page = h[16] << 8 | h[17], count = (int64_t)h[28] << 24 | h[29] << 16 | h[30] << 8 | h[31];
  int64_t whole = count * (page == 1 ? 65536 : page);
  return size >= whole || memcmp(h + 24, h + 92, 4) != 0 || has_log(run) ||
         run_fail(run, RUN_BAD_FILE, "%s: the file is cut off: it has %lld of %lld bytes", run->path, (long long)size,
                  (long long)whole);
}

Run *run_open_file(const char *path, RunMode mode, int application, RunError *error) {
  Run *run = run_new(path, mode);
  if (!run) return give_up(run, error);
  if (!can_read(run)) return give_up(run, error);
  if (mode == RUN_APPEND && !lock_file(run, path, false)) return give_up(run, error);
  if (!connect(run, path, mode == RUN_APPEND ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY))
    return give_up(run, error);
  if (!check_length(run) || !check_format(run, application)) return give_up(run, error);
  return mode == RUN_READ || use_log(run) ? run : give_up(run, error);
}

Run *run_open(const char *path, RunMode mode, RunError *error) {
  Run *run = run_open_file(path, mode, RUN_APPLICATION_ID, error);
  if (!run) return NULL;
  bool good = run_find_shards(run) && (mode == RUN_READ || run_add_report_columns(run));
  return good ? run : give_up(run, error);
}

void run_close(Run *run) {
  if (!run) return;
  run_stop_writer(run);
  run_forget_shards(run);
  finalize_all(run);
  if (run->db && run->mode == RUN_APPEND && !run->draft) { /* leave a finished run as one file without a log */
    if (!sqlite3_get_autocommit(run->db)) run_rollback(run);
    sqlite3_busy_timeout(run->db, 0);
    sqlite3_exec(run->db, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL);
  }
  sqlite3_close(run->db);
  if (run->draft) {
    unlink(run->draft);
    remove_log(run->draft);
  }
  if (run->lock >= 0) close(run->lock);
  free(run->bytes);
  free(run->draft);
  free(run->path);
  free(run);
}
