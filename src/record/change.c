/* What comes and goes in the middle of a run: rows of new meshes, bodies and joints, their steps `born` and `died`,
 * events; and undoing that. See run.h. Tested in tests/test_record_change.c. */
#include "record/file.h"
#include "record/world_nodes.h"

#include <stdio.h>
#include <stdlib.h>

bool run_last_id(Run *run, const char *table, uint32_t *id) {
  char sql[96];
  snprintf(sql, sizeof sql, "SELECT ifnull(max(id), 0) FROM %s", table);
  int64_t last;
  if (!run_read_number(run, sql, &last)) return false;
  *id = (uint32_t)last;
  return true;
}

void run_read_life(sqlite3_stmt *s, int column, int64_t *born, int64_t *died) {
  *born = sqlite3_column_int64(s, column);
  *died = sqlite3_column_type(s, column + 1) == SQLITE_NULL ? INT64_MAX : sqlite3_column_int64(s, column + 1);
}

/* Those that were undone are counted in meta. */
bool run_count_changes(Run *run, int64_t *count) {
  *count = 0;
  if (run->version < 5) return true;
  return run_read_number(run,
                         "SELECT (SELECT count(*) + count(died) FROM body)"
                         " + (SELECT count(*) + count(died) FROM joint_def)"
                         " + ifnull((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'undone_changes'), 0)",
                         count);
}

/* ---- Writing ---- */

static void bind_id(sqlite3_stmt *s, int index, uint32_t id) {
  if (id) sqlite3_bind_int64(s, index, id);
  else sqlite3_bind_null(s, index);
}

bool run_write_events(Run *run, const AbdEvent *event, size_t count) {
  sqlite3_stmt *s = run_statement(run, RUN_STATEMENT_EVENT, "INSERT INTO event VALUES(?,?,?,?,?)");
  bool good = s != NULL;
  for (size_t k = 0; good && k < count; k++) {
    sqlite3_bind_int64(s, 1, event[k].step);
    sqlite3_bind_text(s, 2, abd_event_kind_name(event[k].kind), -1, SQLITE_STATIC);
    bind_id(s, 3, event[k].body_a.id);
    bind_id(s, 4, event[k].body_b.id);
    bind_id(s, 5, event[k].joint.id);
    good = run_finish(run, s, "write an event");
  }
  return good;
}

bool run_has_world(const Run *run, const AbdWorld *world) {
  return run->changes == abd_world_changes(world) && run->bodies == world_bodies(world) &&
         run->joints == world_joints(world);
}

void run_keep_world(Run *run, const AbdWorld *world) {
  run->bodies = world_bodies(world), run->joints = world_joints(world), run->changes = abd_world_changes(world);
}

void run_forget_world(Run *run) { run->bodies = run->joints = run->changes = UINT64_MAX; }

typedef bool IsThere(const AbdWorld *world, uint32_t id);

static bool body_is_there(const AbdWorld *world, uint32_t id) {
  AbdBodyView view;
  return abd_body_view(world, (AbdBodyId){id}, &view) == ABD_OK;
}

static bool joint_is_there(const AbdWorld *world, uint32_t id) {
  AbdJointDef def;
  return abd_joint_def(world, (AbdJointId){id}, &def) == ABD_OK;
}

/* Lists the ids that are alive in the file and not in the world; gone has room for all. */
static bool list_gone(Run *run, const char *table, const AbdWorld *world, IsThere *is_there, uint32_t *gone,
                      size_t *count) {
  char sql[96];
  snprintf(sql, sizeof sql, "SELECT id FROM %s WHERE died IS NULL ORDER BY id", table);
  sqlite3_stmt *s = run_prepare(run, sql);
  int code = SQLITE_ERROR;
  while (s && (code = sqlite3_step(s)) == SQLITE_ROW) {
    uint32_t id = (uint32_t)sqlite3_column_int64(s, 0);
    if (!is_there(world, id)) gone[(*count)++] = id;
  }
  bool good = s && (code == SQLITE_DONE || run_fail_sqlite(run, "read what is there"));
  sqlite3_finalize(s);
  return good;
}

static bool write_death(Run *run, const char *table, uint32_t id, int64_t step) {
  char sql[128];
  snprintf(sql, sizeof sql, "UPDATE %s SET died = %lld WHERE id = %u", table, (long long)step, id);
  return run_exec(run, sql, "write that a body or joint is gone");
}

static bool write_deaths(Run *run, const char *table, const AbdWorld *world, IsThere *is_there, int64_t step) {
  uint32_t last;
  size_t count = 0;
  if (!run_last_id(run, table, &last)) return false;
  uint32_t *gone = malloc(((size_t)last + 1) * sizeof *gone);
  if (!gone) return run_fail(run, RUN_DISK, "%s: out of memory", run->path);
  bool good = list_gone(run, table, world, is_there, gone, &count);
  for (size_t k = 0; good && k < count; k++) good = write_death(run, table, gone[k], step);
  free(gone);
  return good;
}

static bool write_colors(Run *run, const RunStep *step, uint32_t after, uint32_t last) {
  bool good = true;
  for (uint32_t id = after + 1; good && step->color && id <= last; id++) {
    const char *color = step->color(step->color_user, id);
    if (color) good = run_write_color(run, id, color);
  }
  return good;
}

/* Those that came and went before the step are in its events alone. */
static uint32_t last_added(const AbdEvent *event, size_t count, AbdEventKind kind, uint32_t last) {
  for (size_t k = 0; k < count; k++) {
    uint32_t id = kind == ABD_EVENT_BODY_ADDED ? event[k].body_a.id : event[k].joint.id;
    if (event[k].kind == kind && id > last) last = id;
  }
  return last;
}

bool run_write_changes(Run *run, const AbdWorld *world, const RunStep *step, const AbdEvent *event, size_t count) {
  uint32_t body = last_added(event, count, ABD_EVENT_BODY_ADDED, (uint32_t)world_bodies(world));
  uint32_t joint = last_added(event, count, ABD_EVENT_JOINT_ADDED, (uint32_t)world_joints(world)), after;
  int64_t now = step->report->step;
  return run_last_id(run, "body", &after) && run_write_new_bodies(run, world, now, body) &&
         write_colors(run, step, after, body) && run_write_joint_defs(run, world, now, joint) &&
         write_deaths(run, "body", world, body_is_there, now) &&
         write_deaths(run, "joint_def", world, joint_is_there, now);
}

/* ---- Deleting ---- */

/* The undoing is a change too: other bodies may come instead, and the count must not be that of before again. */
static bool count_undone(Run *run, int64_t undone) {
  char sql[192];
  snprintf(sql, sizeof sql,
           "INSERT INTO meta VALUES('undone_changes', '%1$lld')"
           " ON CONFLICT(key) DO UPDATE SET value = CAST(value AS INTEGER) + %1$lld",
           (long long)undone + 1);
  return run_exec(run, sql, "forget bodies");
}

/* Meshes stay: the same ones come again. */
static bool forget_bodies(Run *run, int64_t step) {
  char sql[512];
  snprintf(sql, sizeof sql,
           "DELETE FROM attachment WHERE body IN (SELECT id FROM body WHERE born > %1$lld);"
           "DELETE FROM soft WHERE body IN (SELECT id FROM body WHERE born > %1$lld);"
           "DELETE FROM body WHERE born > %1$lld; UPDATE body SET died = NULL WHERE died > %1$lld;"
           "DELETE FROM joint_def WHERE born > %1$lld; UPDATE joint_def SET died = NULL WHERE died > %1$lld",
           (long long)step);
  return run_exec(run, sql, "forget bodies");
}

bool run_rewind_world(Run *run, int64_t step) {
  int64_t before, after;
  if (run->version < 5) return true;
  return run_count_changes(run, &before) && forget_bodies(run, step) && run_count_changes(run, &after) &&
         (before == after || count_undone(run, before - after));
}
