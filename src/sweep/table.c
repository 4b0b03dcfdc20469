/* The table of a sweep (abd/sweep.h, docs/sweep.md): one row for each member with its settings, progress and figures.
 *
 * Each change is one transaction of SQLite with a write-ahead log, so a killed process leaves whole rows. A lock on
 * the file excludes a second writer. Tests: tests/test_sweep.c, tests/cli/sweep.sh. */
#define _GNU_SOURCE
#include <abd/scene.h>
#include <abd/sweep.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#include <unistd.h>

#include "sweep/study.h"

enum { TABLE_VERSION = 1 };

struct AbdSweep {
  sqlite3 *db;
  int lock; /* -1 for readers */
  char *path;
  const AbdStudy *study; /* NULL for readers */
  AbdError error;
  sqlite3_stmt *store;
  bool fresh; /* the file was empty and has no table yet */
};

static const char *const status_name[] = {"waiting", "running", "done", "failed"};
/* Columns before the settings. */
static const struct {
  const char *name, *type;
} fixed_column[] = {{"member", "INTEGER PRIMARY KEY"},
                    {"status", "TEXT NOT NULL"},
                    {"attempts", "INTEGER NOT NULL"},
                    {"error", "TEXT"},
                    {"seconds", "REAL"},
                    {"steps", "INTEGER"},
                    {"not_converged", "INTEGER"},
                    {"hash", "TEXT"},
                    {"settings", "TEXT NOT NULL"}};
enum { FIXED_COLUMNS = sizeof fixed_column / sizeof *fixed_column };

const char *abd_member_status_name(AbdMemberStatus status) {
  return status < ABD_MEMBER_STATUS_COUNT ? status_name[status] : "unknown";
}

const char *abd_sweep_error(const AbdSweep *sweep) { return sweep->error.text; }

/* ---- Statements ---- */

static AbdStatus fail_sqlite(AbdSweep *sweep, const char *doing) {
  int code = sqlite3_errcode(sweep->db);
  bool disk = code == SQLITE_FULL || code == SQLITE_IOERR || code == SQLITE_READONLY || code == SQLITE_CANTOPEN;
  return fail_with(&sweep->error, disk ? ABD_ERROR_DISK : ABD_ERROR_FILE, "%s: cannot %s: %s", sweep->path, doing,
                   sqlite3_errmsg(sweep->db));
}

static AbdStatus execute(AbdSweep *sweep, const char *sql, const char *doing) {
  return sqlite3_exec(sweep->db, sql, NULL, NULL, NULL) == SQLITE_OK ? ABD_OK : fail_sqlite(sweep, doing);
}

static sqlite3_stmt *prepare(AbdSweep *sweep, const char *sql) {
  sqlite3_stmt *statement = NULL;
  if (sqlite3_prepare_v2(sweep->db, sql, -1, &statement, NULL) != SQLITE_OK) fail_sqlite(sweep, "read the table");
  return statement;
}

/* Executes a statement without rows and finalizes it. NULL is a failure that has its sentence. */
static AbdStatus finish(AbdSweep *sweep, sqlite3_stmt *statement, const char *doing) {
  if (!statement) return sweep->error.status;
  AbdStatus status = sqlite3_step(statement) == SQLITE_DONE ? ABD_OK : fail_sqlite(sweep, doing);
  sqlite3_finalize(statement);
  return status;
}

static AbdStatus out_of_memory(AbdSweep *sweep) {
  return fail_with(&sweep->error, ABD_ERROR_MEMORY, "out of memory for the table of results");
}

/* ---- Creation ---- */

/* SQLite's names of columns have no case. */
static bool column_taken(const AbdStudy *study, json_t *names, const char *column) {
  const char *name;
  json_t *value;
  for (size_t k = 0; k < FIXED_COLUMNS; k++)
    if (!strcasecmp(fixed_column[k].name, column)) return true;
  for (size_t k = 0; k < study->column_count; k++)
    if (!strcasecmp(study->column[k], column)) return true;
  json_object_foreach(names, name,
                      value) if (json_is_string(value) && !strcasecmp(json_string_value(value), column)) return true;
  return false;
}

/* Replaces each value by the name of the setting's column: its own, after "set." as often as that name is taken. */
static bool name_columns(const AbdStudy *study, json_t *names) {
  const char *name;
  json_t *value;
  json_object_foreach(names, name, value) json_object_set_new(names, name, json_null());
  json_object_foreach(names, name, value) {
    char *column = strdup(name), *longer;
    while (column && column_taken(study, names, column)) {
      if (asprintf(&longer, "set.%s", column) < 0) longer = NULL;
      free(column);
      column = longer;
    }
    bool ok = column && json_object_set_new(names, name, json_string(column)) == 0;
    free(column);
    if (!ok) return false;
  }
  return true;
}

/* All names of settings of all members with the names of their columns: those of the first list entry, then others as
 * they come. */
static json_t *setting_names(const AbdStudy *study) {
  json_t *names = json_object();
  size_t stride = study->seed_count * study->grid_count;
  for (size_t entry = 0; names && entry < study->list_count; entry++) {
    json_t *settings = study_settings(study, entry * stride);
    json_object_update_missing(names, settings);
    json_decref(settings);
  }
  if (names && !name_columns(study, names)) json_decref(names), names = NULL;
  return names;
}

static void write_column(FILE *out, const char *name, const char *type) {
  fputs(", \"", out);
  for (; *name; name++) fprintf(out, *name == '"' ? "\"\"" : "%c", *name);
  fprintf(out, "\"%s", type);
}

static void write_columns(FILE *out, const AbdStudy *study, json_t *names, const char *type, const char *figure_type) {
  const char *name;
  json_t *value;
  json_object_foreach(names, name, value) write_column(out, json_string_value(value), type);
  for (size_t k = 0; figure_type && k < study->column_count; k++) write_column(out, study->column[k], figure_type);
}

static AbdStatus create_tables(AbdSweep *sweep, json_t *names) {
  char *sql = NULL;
  size_t size;
  FILE *out = open_memstream(&sql, &size);
  if (!out) return out_of_memory(sweep);
  fputs("CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT); CREATE TABLE member(", out);
  for (size_t k = 0; k < FIXED_COLUMNS; k++)
    fprintf(out, "%s%s %s", k ? ", " : "", fixed_column[k].name, fixed_column[k].type);
  write_columns(out, sweep->study, names, "", " REAL");
  fputs("); CREATE INDEX member_status ON member(status)", out);
  AbdStatus status = fclose(out) == 0 ? execute(sweep, sql, "create the table") : out_of_memory(sweep);
  free(sql);
  return status;
}

static AbdStatus write_meta(AbdSweep *sweep, const char *key, const char *value) {
  sqlite3_stmt *statement = prepare(sweep, "INSERT OR REPLACE INTO meta VALUES(?, ?)");
  sqlite3_bind_text(statement, 1, key, -1, SQLITE_TRANSIENT);
  sqlite3_bind_text(statement, 2, value, -1, SQLITE_TRANSIENT);
  return finish(sweep, statement, "write the study");
}

static void bind_value(sqlite3_stmt *statement, int index, const json_t *value) {
  char *text;
  switch (value ? json_typeof(value) : JSON_NULL) {
    case JSON_INTEGER: sqlite3_bind_int64(statement, index, json_integer_value(value)); break;
    case JSON_REAL: sqlite3_bind_double(statement, index, json_real_value(value)); break;
    case JSON_STRING: sqlite3_bind_text(statement, index, json_string_value(value), -1, SQLITE_TRANSIENT); break;
    case JSON_TRUE: sqlite3_bind_int(statement, index, 1); break;
    case JSON_FALSE: sqlite3_bind_int(statement, index, 0); break;
    case JSON_NULL: sqlite3_bind_null(statement, index); break;
    default:
      text = json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(17));
      sqlite3_bind_text(statement, index, text, -1, free);
  }
}

static sqlite3_stmt *insert_statement(AbdSweep *sweep, json_t *names) {
  char *sql = NULL;
  size_t size;
  FILE *out = open_memstream(&sql, &size);
  if (!out) return out_of_memory(sweep), NULL;
  fputs("INSERT INTO member(member, status, attempts, settings", out);
  write_columns(out, sweep->study, names, "", NULL);
  fputs(") VALUES(?, 'waiting', 0, ?", out);
  for (size_t k = 0; k < json_object_size(names); k++) fputs(", ?", out);
  fputc(')', out);
  sqlite3_stmt *statement = fclose(out) == 0 ? prepare(sweep, sql) : (out_of_memory(sweep), NULL);
  free(sql);
  return statement;
}

static AbdStatus insert_member(AbdSweep *sweep, sqlite3_stmt *statement, json_t *names, size_t member) {
  const char *name;
  json_t *value, *settings = study_settings(sweep->study, member);
  char *text = settings ? json_dumps(settings, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
  int index = 3;
  if (!text) return json_decref(settings), out_of_memory(sweep);
  sqlite3_bind_int64(statement, 1, (sqlite3_int64)member);
  sqlite3_bind_text(statement, 2, text, -1, free);
  json_object_foreach(names, name, value) bind_value(statement, index++, json_object_get(settings, name));
  json_decref(settings);
  AbdStatus status = sqlite3_step(statement) == SQLITE_DONE ? ABD_OK : fail_sqlite(sweep, "write the members");
  sqlite3_reset(statement);
  return status;
}

static AbdStatus insert_members(AbdSweep *sweep, json_t *names) {
  sqlite3_stmt *statement = insert_statement(sweep, names);
  if (!statement) return sweep->error.status;
  AbdStatus status = ABD_OK;
  for (size_t member = 0; status == ABD_OK && member < abd_study_member_count(sweep->study); member++)
    status = insert_member(sweep, statement, names, member);
  sqlite3_finalize(statement);
  return status;
}

static AbdStatus write_all(AbdSweep *sweep, const char *scene, json_t *names) {
  char version[16];
  snprintf(version, sizeof version, "%d", TABLE_VERSION);
  AbdStatus status = create_tables(sweep, names);
  if (status == ABD_OK) status = write_meta(sweep, "version", version);
  if (status == ABD_OK) status = write_meta(sweep, "study", sweep->study->text);
  if (status == ABD_OK) status = write_meta(sweep, "scene", scene);
  return status == ABD_OK ? insert_members(sweep, names) : status;
}

static AbdStatus create(AbdSweep *sweep, const char *scene) {
  json_t *names = setting_names(sweep->study);
  AbdStatus status = names ? execute(sweep, "BEGIN IMMEDIATE", "create the table") : out_of_memory(sweep);
  if (status == ABD_OK) status = write_all(sweep, scene, names);
  json_decref(names);
  if (status == ABD_OK) return execute(sweep, "COMMIT", "create the table");
  sqlite3_exec(sweep->db, "ROLLBACK", NULL, NULL, NULL);
  return status;
}

/* ---- Opening ---- */

static char *read_meta(AbdSweep *sweep, const char *key) {
  sqlite3_stmt *statement = NULL;
  char *value = NULL;
  if (sqlite3_prepare_v2(sweep->db, "SELECT value FROM meta WHERE key = ?", -1, &statement, NULL) != SQLITE_OK)
    return NULL;
  sqlite3_bind_text(statement, 1, key, -1, SQLITE_TRANSIENT);
  if (sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0))
    value = strdup((const char *)sqlite3_column_text(statement, 0));
  sqlite3_finalize(statement);
  return value;
}

static bool has_table(AbdSweep *sweep, const char *name) {
  sqlite3_stmt *statement = NULL;
  if (sqlite3_prepare_v2(sweep->db, "SELECT 1 FROM sqlite_master WHERE name = ?", -1, &statement, NULL) != SQLITE_OK)
    return false;
  sqlite3_bind_text(statement, 1, name, -1, SQLITE_TRANSIENT);
  bool found = sqlite3_step(statement) == SQLITE_ROW;
  sqlite3_finalize(statement);
  return found;
}

static AbdStatus check_version(AbdSweep *sweep) {
  char *version = read_meta(sweep, "version");
  AbdStatus status = ABD_OK;
  if (!version || !has_table(sweep, "member"))
    status = fail_with(&sweep->error, ABD_ERROR_FILE, "%s: not a table of a study", sweep->path);
  else if (atoi(version) != TABLE_VERSION)
    status = fail_with(&sweep->error, ABD_ERROR_FILE,
                       "%s: this abd reads version %d of the table, the file is version %.20s", sweep->path,
                       TABLE_VERSION, version);
  free(version);
  return status;
}

static AbdStatus check_same(AbdSweep *sweep, const char *key, const char *now, const char *sentence) {
  char *before = read_meta(sweep, key);
  bool same = before && !strcmp(before, now);
  free(before);
  return same ? ABD_OK : fail_with(&sweep->error, ABD_ERROR_FILE, "%s: %s", sweep->path, sentence);
}

static AbdStatus go_on(AbdSweep *sweep, const char *scene) {
  AbdStatus status = check_version(sweep);
  if (status == ABD_OK)
    status =
        check_same(sweep, "study", sweep->study->text, "the table is of another study, or the study has changed since");
  if (status == ABD_OK)
    status = check_same(sweep, "scene", scene, "the study's scene has changed since the table was made");
  if (status != ABD_OK) return status;
  return abd_sweep_release(sweep);
}

static AbdStatus lock_file(AbdSweep *sweep) {
  sweep->lock = open(sweep->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (sweep->lock < 0)
    return fail_with(&sweep->error, ABD_ERROR_DISK, "%s: cannot open the file for writing: %s", sweep->path,
                     strerror(errno));
  if (flock(sweep->lock, LOCK_EX | LOCK_NB) == 0) return ABD_OK;
  return fail_with(&sweep->error, ABD_ERROR_FILE, "%s: another abd sweep is writing this file", sweep->path);
}

static AbdStatus open_database(AbdSweep *sweep, int flags) {
  if (sqlite3_open_v2(sweep->path, &sweep->db, flags, NULL) != SQLITE_OK) return fail_sqlite(sweep, "open the file");
  sqlite3_busy_timeout(sweep->db, 10000);
  return ABD_OK;
}

static void remove_logs(const AbdSweep *sweep) {
  char log[4096];
  const char *const ending[] = {"-wal", "-shm", "-journal"};
  for (size_t k = 0; k < 3; k++) {
    snprintf(log, sizeof log, "%s%s", sweep->path, ending[k]);
    unlink(log);
  }
}

/* Removes all that the file contains, if it is a database. */
static AbdStatus empty_file(AbdSweep *sweep) {
  char head[16];
  ssize_t size = pread(sweep->lock, head, sizeof head, 0);
  if (size != 0 && (size != sizeof head || memcmp(head, "SQLite format 3", sizeof head) != 0))
    return fail_with(&sweep->error, ABD_ERROR_FILE, "%s: not a table of a study; it is not replaced", sweep->path);
  remove_logs(sweep);
  if (ftruncate(sweep->lock, 0) == 0) return ABD_OK;
  return fail_with(&sweep->error, ABD_ERROR_DISK, "%s: cannot empty the file: %s", sweep->path, strerror(errno));
}

static AbdStatus open_table(AbdSweep *sweep, const char *scene, bool replace) {
  AbdStatus status = lock_file(sweep);
  if (status == ABD_OK && replace) status = empty_file(sweep);
  sweep->fresh = status == ABD_OK && lseek(sweep->lock, 0, SEEK_END) == 0;
  if (status == ABD_OK) status = open_database(sweep, SQLITE_OPEN_READWRITE);
  if (status == ABD_OK)
    status = execute(sweep, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL", "open the file");
  if (status != ABD_OK) return status;
  /* a process killed before its first transaction left an empty database */
  status = sweep->fresh || !has_table(sweep, "meta") ? create(sweep, scene) : go_on(sweep, scene);
  if (status == ABD_OK) sweep->fresh = false;
  return status;
}

static AbdSweep *new_sweep(const char *path, AbdError *error) {
  AbdSweep *sweep = calloc(1, sizeof *sweep);
  if (sweep) sweep->lock = -1, sweep->path = strdup(path);
  if (sweep && sweep->path) return sweep;
  abd_sweep_close(sweep);
  return fail_with(error, ABD_ERROR_MEMORY, "out of memory for the table of results"), NULL;
}

static AbdSweep *give_up(AbdSweep *sweep, AbdError *error) {
  if (error) *error = sweep->error;
  abd_sweep_close(sweep);
  return NULL;
}

AbdSweep *abd_sweep_open(const char *path, const AbdStudy *study, bool replace, AbdError *error) {
  char scene[32];
  uint64_t hash;
  if (study_scene_hash(study, &hash, error) != ABD_OK) return NULL;
  AbdSweep *sweep = new_sweep(path, error);
  if (!sweep) return NULL;
  snprintf(scene, sizeof scene, "%016llx", (unsigned long long)hash);
  sweep->study = study;
  return open_table(sweep, scene, replace) == ABD_OK ? sweep : give_up(sweep, error);
}

AbdSweep *abd_sweep_read(const char *path, AbdError *error) {
  AbdSweep *sweep = new_sweep(path, error);
  if (!sweep) return NULL;
  AbdStatus status = ABD_OK;
  if (access(path, R_OK) != 0)
    status = fail_with(&sweep->error, ABD_ERROR_FILE, "%s: cannot read: %s", path, strerror(errno));
  if (status == ABD_OK) status = open_database(sweep, SQLITE_OPEN_READWRITE);
  if (status == ABD_OK) status = check_version(sweep);
  return status == ABD_OK ? sweep : give_up(sweep, error);
}

void abd_sweep_close(AbdSweep *sweep) {
  if (!sweep) return;
  sqlite3_finalize(sweep->store);
  sqlite3_close(sweep->db);
  if (sweep->fresh) { /* still locked, so it is nobody else's */
    remove_logs(sweep);
    unlink(sweep->path);
  }
  if (sweep->lock >= 0) close(sweep->lock); /* after the database: closing drops SQLite's own locks */
  free(sweep->path);
  free(sweep);
}

/* ---- Progress ---- */

AbdStatus abd_sweep_take(AbdSweep *sweep, size_t *member) {
  *member = SIZE_MAX;
  sqlite3_stmt *statement =
      prepare(sweep, "UPDATE member SET status = 'running', attempts = attempts + 1 WHERE member = (SELECT "
                     "min(member) FROM member WHERE status = 'waiting') RETURNING member");
  if (!statement) return sweep->error.status;
  int code = sqlite3_step(statement);
  if (code == SQLITE_ROW) *member = (size_t)sqlite3_column_int64(statement, 0), code = sqlite3_step(statement);
  AbdStatus status = code == SQLITE_DONE ? ABD_OK : fail_sqlite(sweep, "take a member");
  sqlite3_finalize(statement);
  return status;
}

static sqlite3_stmt *store_statement(AbdSweep *sweep) {
  char *sql = NULL;
  size_t size;
  if (sweep->store) return sweep->store;
  FILE *out = open_memstream(&sql, &size);
  if (!out) return out_of_memory(sweep), NULL;
  fputs("UPDATE member SET status = 'done', error = NULL, seconds = ?1, steps = ?2, not_converged = ?3, hash = ?4",
        out);
  for (size_t k = 0; k < sweep->study->column_count; k++) {
    write_column(out, sweep->study->column[k], "");
    fprintf(out, " = ?%zu", k + 6);
  }
  fputs(" WHERE member = ?5", out);
  sweep->store = fclose(out) == 0 ? prepare(sweep, sql) : (out_of_memory(sweep), NULL);
  free(sql);
  return sweep->store;
}

AbdStatus abd_sweep_store(AbdSweep *sweep, size_t member, const AbdMemberResult *result, const double *value) {
  char hash[32];
  sqlite3_stmt *statement = store_statement(sweep);
  if (!statement) return sweep->error.status;
  snprintf(hash, sizeof hash, "%016llx", (unsigned long long)result->hash);
  sqlite3_bind_double(statement, 1, result->seconds);
  sqlite3_bind_int64(statement, 2, result->steps);
  sqlite3_bind_int64(statement, 3, result->not_converged);
  sqlite3_bind_text(statement, 4, hash, -1, SQLITE_TRANSIENT);
  sqlite3_bind_int64(statement, 5, (sqlite3_int64)member);
  for (size_t k = 0; k < sweep->study->column_count; k++)
    if (isfinite(value[k])) sqlite3_bind_double(statement, (int)k + 6, value[k]);
    else sqlite3_bind_null(statement, (int)k + 6);
  AbdStatus status = sqlite3_step(statement) == SQLITE_DONE ? ABD_OK : fail_sqlite(sweep, "store a result");
  sqlite3_reset(statement);
  return status;
}

AbdStatus abd_sweep_fail(AbdSweep *sweep, size_t member, const char *sentence, bool again) {
  sqlite3_stmt *statement = prepare(sweep, "UPDATE member SET status = ?, error = ? WHERE member = ?");
  sqlite3_bind_text(statement, 1, status_name[again ? ABD_MEMBER_WAITING : ABD_MEMBER_FAILED], -1, SQLITE_STATIC);
  sqlite3_bind_text(statement, 2, sentence, -1, SQLITE_TRANSIENT);
  sqlite3_bind_int64(statement, 3, (sqlite3_int64)member);
  return finish(sweep, statement, "store a failure");
}

AbdStatus abd_sweep_release(AbdSweep *sweep) {
  return execute(sweep, "UPDATE member SET status = 'waiting' WHERE status = 'running'", "write the table");
}

AbdStatus abd_sweep_retry_failed(AbdSweep *sweep) {
  return execute(sweep, "UPDATE member SET status = 'waiting' WHERE status = 'failed'", "write the table");
}

AbdStatus abd_sweep_counts(AbdSweep *sweep, int64_t count[ABD_MEMBER_STATUS_COUNT]) {
  memset(count, 0, ABD_MEMBER_STATUS_COUNT * sizeof *count);
  sqlite3_stmt *statement = prepare(sweep, "SELECT status, count(*) FROM member GROUP BY status");
  if (!statement) return sweep->error.status;
  int code;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW)
    for (int k = 0; k < ABD_MEMBER_STATUS_COUNT; k++)
      if (!strcmp((const char *)sqlite3_column_text(statement, 0), status_name[k]))
        count[k] = sqlite3_column_int64(statement, 1);
  AbdStatus status = code == SQLITE_DONE ? ABD_OK : fail_sqlite(sweep, "read the table");
  sqlite3_finalize(statement);
  return status;
}

AbdStatus abd_sweep_failed(AbdSweep *sweep, AbdSweepVisit *visit, void *user) {
  sqlite3_stmt *statement = prepare(
      sweep,
      "SELECT member, attempts, ifnull(error, ''), settings FROM member WHERE status = 'failed' ORDER BY member");
  if (!statement) return sweep->error.status;
  int code;
  while ((code = sqlite3_step(statement)) == SQLITE_ROW)
    visit(user, (size_t)sqlite3_column_int64(statement, 0), sqlite3_column_int(statement, 1),
          (const char *)sqlite3_column_text(statement, 2), (const char *)sqlite3_column_text(statement, 3));
  AbdStatus status = code == SQLITE_DONE ? ABD_OK : fail_sqlite(sweep, "read the table");
  sqlite3_finalize(statement);
  return status;
}
