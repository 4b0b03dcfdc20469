/* Reads tables of a run row by row: as texts for CSV, and contacts as AbdContact. See run.h. Tested in
 * tests/test_export.c. */
#include "record/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool run_visit_statement(Run *run, sqlite3_stmt *statement, RunVisit visit, void *user) {
  int count = sqlite3_column_count(statement), code;
  char(*number)[32] = malloc((size_t)count * sizeof *number);
  const char **text = malloc((size_t)count * sizeof *text);
  if (!number || !text) {
    free(number), free(text);
    return run_fail(run, RUN_DISK, "%s: out of memory", run->path);
  }
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
    for (int k = 0; k < count; k++) {
      text[k] = (const char *)sqlite3_column_text(statement, k);
      if (!text[k]) text[k] = "";
      if (sqlite3_column_type(statement, k) != SQLITE_FLOAT) continue;
      snprintf(number[k], sizeof number[k], "%.17g", sqlite3_column_double(statement, k)); /* exact */
      text[k] = number[k];
    }
    visit(user, (size_t)count, text);
  }
  free(number), free(text);
  return code == SQLITE_DONE || run_fail_sqlite(run, "read a table");
}

bool run_has_table(Run *run, const char *name) {
  sqlite3_stmt *s = run_prepare(run, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?");
  if (!s) return false;
  sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
  bool found = sqlite3_step(s) == SQLITE_ROW;
  sqlite3_finalize(s);
  return found;
}

static const char contact_rows[] =
    "SELECT contact.step, time, body_a, a.name AS name_a, body_b, b.name AS name_b, contact.kind, primitive_a, "
    "primitive_b,"
    " x, y, z, normal_x, normal_y, normal_z, distance, normal_force, friction_x, friction_y, friction_z FROM contact"
    " LEFT JOIN frame ON frame.step = contact.step LEFT JOIN body a ON a.id = body_a LEFT JOIN body b ON b.id = body_b"
    " ORDER BY contact.step, body_a, body_b, contact.rowid";
static const char joint_rows[] =
    "SELECT joint.step, time, joint.joint, name, kind, coordinate, position, rate, force, torque, effort, residual, "
    "angle, travel,"
    " passive, force_x, force_y, force_z, torque_x, torque_y, torque_z, x, y, z, axis_x, axis_y, axis_z FROM joint"
    " LEFT JOIN frame ON frame.step = joint.step LEFT JOIN joint_def ON joint_def.id = joint.joint"
    " ORDER BY joint.step, joint.joint";

static const char event_rows[] =
    "SELECT event.step, time, event.kind, event.body_a, a.name AS name_a, event.body_b, b.name AS name_b, event.joint,"
    " joint_def.name AS name_joint FROM event LEFT JOIN report ON report.step = event.step"
    " LEFT JOIN body a ON a.id = event.body_a LEFT JOIN body b ON b.id = event.body_b"
    " LEFT JOIN joint_def ON joint_def.id = event.joint ORDER BY event.step, event.rowid";

bool run_visit_table(Run *run, RunTable table, RunVisit visit, void *user) {
  static const char *const rows[] = {contact_rows, joint_rows, event_rows};
  const char *sql = rows[table];
  if (table == RUN_TABLE_EVENTS && !run_has_table(run, "event"))
    return run_fail(run, RUN_BAD_FILE, "%s: the run has no events", run->path);
  if (table == RUN_TABLE_JOINTS && !run_has_table(run, "joint"))
    return run_fail(run, RUN_BAD_FILE, "%s: the run has no joints", run->path);
  sqlite3_stmt *s = run_prepare(run, sql);
  if (!s) return false;
  size_t count = (size_t)sqlite3_column_count(s);
  const char **name = malloc(count * sizeof *name);
  bool good = name != NULL || run_fail(run, RUN_DISK, "%s: out of memory", run->path);
  for (size_t k = 0; good && k < count; k++) name[k] = sqlite3_column_name(s, (int)k);
  if (good) visit(user, count, name);
  good = good && run_visit_statement(run, s, visit, user);
  free(name);
  sqlite3_finalize(s);
  return good;
}

static void read_contact(sqlite3_stmt *s, AbdContact *c) {
  const char *kind = (const char *)sqlite3_column_text(s, 2);
  *c = (AbdContact){.body_a = {(uint32_t)sqlite3_column_int64(s, 0)},
                    .body_b = {(uint32_t)sqlite3_column_int64(s, 1)},
                    .kind = !kind || !strcmp(kind, "edge-edge") ? 2 : !strcmp(kind, "triangle-vertex"),
                    .primitive_a = (uint32_t)sqlite3_column_int64(s, 3),
                    .primitive_b = (uint32_t)sqlite3_column_int64(s, 4)};
  for (int i = 0; i < 3; i++) {
    c->point[i] = sqlite3_column_double(s, 5 + i), c->normal[i] = sqlite3_column_double(s, 8 + i);
    c->friction_force[i] = sqlite3_column_double(s, 13 + i);
  }
  c->distance = sqlite3_column_double(s, 11), c->normal_force = sqlite3_column_double(s, 12);
}

bool run_read_contacts(Run *run, int64_t step, AbdContact **contact, size_t *count) {
  *contact = NULL, *count = 0;
  sqlite3_stmt *s =
      run_prepare(run, "SELECT body_a, body_b, kind, primitive_a, primitive_b, x, y, z, normal_x, normal_y,"
                       " normal_z, distance, normal_force, friction_x, friction_y, friction_z FROM contact"
                       " WHERE step = ? ORDER BY body_a, body_b, rowid");
  if (!s) return false;
  sqlite3_bind_int64(s, 1, step);
  size_t capacity = 0;
  int code;
  bool good = true;
  while (good && (code = sqlite3_step(s)) == SQLITE_ROW) {
    if (*count == capacity) {
      AbdContact *more = realloc(*contact, (capacity = 2 * capacity + 64) * sizeof *more);
      good = more != NULL || run_fail(run, RUN_DISK, "%s: out of memory", run->path);
      if (more) *contact = more;
    }
    if (good) read_contact(s, &(*contact)[(*count)++]);
  }
  good = good && (code == SQLITE_DONE || run_fail_sqlite(run, "read the contacts"));
  sqlite3_finalize(s);
  if (!good) free(*contact), *contact = NULL, *count = 0;
  return good;
}
