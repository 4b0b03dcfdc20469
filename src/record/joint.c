/* Joints in the run file: the table joint_def has their names, the table joint their readings with each frame. See
 * run.h, docs/run-file.md. Tested in tests/test_record.c. */
#include "record/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The columns of joint after step and joint, in the order of write_reading and read_reading. */
#define READING_COLUMNS                                                                                                \
  "position, rate, force, torque, effort, residual, angle, travel, passive, force_x, force_y, force_z, torque_x,"      \
  " torque_y, torque_z, x, y, z, axis_x, axis_y, axis_z"
enum { READING_COLUMN_COUNT = 21 };

bool run_create_joint_tables(Run *run) {
  return run_exec(
      run,
      "CREATE TABLE joint_def(id INTEGER PRIMARY KEY, name TEXT, kind TEXT, coordinate TEXT, body_a INTEGER,"
      " body_b INTEGER, joint_a INTEGER, joint_b INTEGER, ratio REAL, pitch REAL, length REAL, limit_low REAL,"
      " limit_high REAL, angle_low REAL, angle_high REAL, collide INTEGER, born INTEGER, died INTEGER);"
      "CREATE TABLE joint(step INTEGER, joint INTEGER, position REAL, rate REAL, force REAL, torque REAL,"
      " effort REAL, residual REAL, angle REAL, travel REAL, passive REAL, force_x REAL, force_y REAL,"
      " force_z REAL, torque_x REAL, torque_y REAL, torque_z REAL, x REAL, y REAL, z REAL, axis_x REAL,"
      " axis_y REAL, axis_z REAL, PRIMARY KEY(step, joint)) WITHOUT ROWID",
      "create the file");
}

/* ---- Writing ---- */

static void bind_id(sqlite3_stmt *s, int index, uint32_t id) {
  if (id) sqlite3_bind_int64(s, index, id);
  else sqlite3_bind_null(s, index);
}

/* NULL if the kind has no such number or it is infinite. */
static void bind_real(sqlite3_stmt *s, int index, double value, bool has) {
  if (has && isfinite(value)) sqlite3_bind_double(s, index, value);
  else sqlite3_bind_null(s, index);
}

/* The row of an id whose joint came and went between two steps, so that ids have no gap. */
static bool write_absent_def(Run *run, sqlite3_stmt *s, uint32_t id, int64_t born) {
  sqlite3_clear_bindings(s);
  sqlite3_bind_int64(s, 1, id);
  sqlite3_bind_text(s, 3, abd_joint_kind_name(ABD_JOINT_BALL), -1, SQLITE_STATIC);
  sqlite3_bind_int64(s, 17, born);
  sqlite3_bind_int64(s, 18, born);
  return run_finish(run, s, "write a joint");
}

static bool write_def(Run *run, sqlite3_stmt *s, uint32_t id, const AbdJointDef *def, int64_t born) {
  const AbdJointKindView *kind = abd_joint_kind_view(def->kind);
  bool gear = kind->takes & ABD_JOINT_TAKES_JOINTS;
  sqlite3_bind_int64(s, 1, id);
  sqlite3_bind_text(s, 2, def->name ? def->name : "", -1, SQLITE_STATIC);
  sqlite3_bind_text(s, 3, kind->name, -1, SQLITE_STATIC);
  if (kind->coordinate) sqlite3_bind_text(s, 4, abd_coordinate_name(kind->coordinate), -1, SQLITE_STATIC);
  else sqlite3_bind_null(s, 4);
  bind_id(s, 5, def->body_a.id), bind_id(s, 6, def->body_b.id);
  bind_id(s, 7, def->joint_a.id), bind_id(s, 8, def->joint_b.id);
  bind_real(s, 9, def->ratio, gear);
  bind_real(s, 10, def->pitch, kind->takes & ABD_JOINT_TAKES_PITCH);
  bind_real(s, 11, def->length, def->length >= 0 && kind->takes & ABD_JOINT_TAKES_LENGTH);
  for (int k = 0; k < 2; k++)
    bind_real(s, 12 + k, def->limit[k], !gear), bind_real(s, 14 + k, def->angle_limit[k], !gear);
  sqlite3_bind_int(s, 16, def->collide);
  sqlite3_bind_int64(s, 17, born);
  sqlite3_bind_null(s, 18);
  return run_finish(run, s, "write a joint");
}

bool run_write_joint_defs(Run *run, const AbdWorld *world, int64_t born, uint32_t last) {
  uint32_t after;
  if (!run_last_id(run, "joint_def", &after)) return false;
  if (after >= last) return true;
  sqlite3_stmt *s = run_prepare(run, "INSERT INTO joint_def VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  bool good = s != NULL;
  for (uint32_t id = after + 1; good && id <= last; id++) {
    AbdJointDef def;
    good = abd_joint_def(world, (AbdJointId){id}, &def) == ABD_OK ? write_def(run, s, id, &def, born)
                                                                  : write_absent_def(run, s, id, born);
  }
  sqlite3_finalize(s);
  return good;
}

static double length_of(const double v[3]) { return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

static bool write_reading(Run *run, sqlite3_stmt *s, int64_t step, uint32_t id, const AbdJointReading *r) {
  const double value[READING_COLUMN_COUNT] = {
      r->position,  r->rate,     length_of(r->force), length_of(r->torque), r->effort,   r->residual,  r->angle,
      r->travel,    r->passive,  r->force[0],         r->force[1],          r->force[2], r->torque[0], r->torque[1],
      r->torque[2], r->point[0], r->point[1],         r->point[2],          r->axis[0],  r->axis[1],   r->axis[2]};
  sqlite3_bind_int64(s, 1, step);
  sqlite3_bind_int64(s, 2, id);
  for (int k = 0; k < READING_COLUMN_COUNT; k++) bind_real(s, 3 + k, value[k], true);
  return run_finish(run, s, "write a joint's reading");
}

bool run_write_readings(Run *run, int64_t step, const AbdJointReading *reading, const uint32_t *joint, size_t count) {
  sqlite3_stmt *s = run_statement(run, RUN_STATEMENT_JOINT,
                                  "INSERT OR REPLACE INTO joint(step, joint, " READING_COLUMNS
                                  ") VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)");
  bool good = s != NULL;
  for (size_t k = 0; good && k < count; k++) good = write_reading(run, s, step, joint[k], &reading[k]);
  return good;
}

bool run_write_joints(Run *run, const AbdWorld *world) {
  size_t count = abd_world_joint_count(world);
  AbdJointReading *reading = run_bytes(run, count * (sizeof *reading + sizeof(uint32_t)));
  uint32_t *joint = reading ? (uint32_t *)(reading + count) : NULL;
  bool good = reading != NULL;
  for (size_t k = 0; good && k < count; k++) {
    AbdJointId id = abd_world_joint_at(world, k);
    joint[k] = id.id;
    good = abd_joint_reading(world, id, &reading[k]) == ABD_OK ||
           run_fail(run, RUN_DISK, "%s: joint %u: %s", run->path, id.id, abd_world_error(world));
  }
  return good && run_write_readings(run, abd_world_step_count(world), reading, joint, count);
}

/* ---- Reading ---- */

/* Runs without joints may lack their tables. */
static bool has_table(Run *run, bool *has) {
  sqlite3_stmt *s = run_prepare(run, "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'joint_def'");
  if (!s) return false;
  bool good = sqlite3_step(s) == SQLITE_ROW || run_fail_sqlite(run, "read the joints");
  *has = good && sqlite3_column_int(s, 0) > 0;
  sqlite3_finalize(s);
  return good;
}

static double column_or(sqlite3_stmt *s, int column, double missing) {
  return sqlite3_column_type(s, column) == SQLITE_NULL ? missing : sqlite3_column_double(s, column);
}

static bool read_kind(Run *run, const char *text, int64_t id, AbdJointKind *kind) {
  for (int k = 0; text && k < ABD_JOINT_KIND_COUNT; k++) {
    if (strcmp(text, abd_joint_kind_name((AbdJointKind)k))) continue;
    *kind = (AbdJointKind)k;
    return true;
  }
  return run_fail(run, RUN_BAD_FILE, "%s: joint %lld is of kind '%.40s', which this abd %s does not know", run->path,
                  (long long)id, text ? text : "", abd_version());
}

static bool read_def(Run *run, sqlite3_stmt *s, const RunScene *scene, size_t index, RunJoint *joint) {
  const char *name = (const char *)sqlite3_column_text(s, 1);
  int64_t id = sqlite3_column_int64(s, 0), a = sqlite3_column_int64(s, 3), b = sqlite3_column_int64(s, 4);
  if (id != (int64_t)index + 1) return run_fail(run, RUN_BAD_FILE, "%s: ids of joints must be 1, 2, 3, ...", run->path);
  if (a < 0 || b < 0 || (size_t)a > scene->body_count || (size_t)b > scene->body_count)
    return run_fail(run, RUN_BAD_FILE, "%s: joint %lld joins bodies %lld and %lld of %zu", run->path, (long long)id,
                    (long long)a, (long long)b, scene->body_count);
  joint->body_a = (uint32_t)a, joint->body_b = (uint32_t)b;
  joint->joint_a = (uint32_t)sqlite3_column_int64(s, 5), joint->joint_b = (uint32_t)sqlite3_column_int64(s, 6);
  run_read_life(s, 9, &joint->born, &joint->died);
  joint->limit[0] = column_or(s, 7, -INFINITY), joint->limit[1] = column_or(s, 8, INFINITY);
  joint->name = strdup(name ? name : "");
  if (!joint->name) return run_fail(run, RUN_DISK, "%s: out of memory", run->path);
  return read_kind(run, (const char *)sqlite3_column_text(s, 2), id, &joint->kind);
}

static bool read_defs(Run *run, const RunScene *scene, RunJoints *joints) {
  sqlite3_stmt *s = run_prepare(
      run, run->version < 5
               ? "SELECT id, name, kind, body_a, body_b, joint_a, joint_b, limit_low, limit_high, 0, NULL"
                 " FROM joint_def ORDER BY id"
               : "SELECT id, name, kind, body_a, body_b, joint_a, joint_b, limit_low, limit_high, born, died"
                 " FROM joint_def ORDER BY id");
  size_t capacity = 0;
  int code = SQLITE_ERROR;
  bool good = s != NULL;
  while (good && (code = sqlite3_step(s)) == SQLITE_ROW) {
    if (joints->count == capacity) {
      capacity = 2 * capacity + 16;
      RunJoint *more = realloc(joints->joint, capacity * sizeof *more);
      if (!more) good = run_fail(run, RUN_DISK, "%s: out of memory", run->path);
      else joints->joint = more;
    }
    if (!good) break;
    RunJoint *joint = &joints->joint[joints->count++];
    *joint = (RunJoint){0};
    good = read_def(run, s, scene, joints->count - 1, joint);
  }
  if (good && code != SQLITE_DONE) good = run_fail_sqlite(run, "read the joints");
  sqlite3_finalize(s);
  return good;
}

bool run_read_joints(Run *run, const RunScene *scene, RunJoints *joints) {
  bool has;
  *joints = (RunJoints){0};
  if (!has_table(run, &has)) return false;
  if (!has || read_defs(run, scene, joints)) return true;
  run_joints_destroy(joints);
  return false;
}

void run_joints_destroy(RunJoints *joints) {
  for (size_t k = 0; k < joints->count; k++) free(joints->joint[k].name);
  free(joints->joint);
  *joints = (RunJoints){0};
}

static void read_reading(sqlite3_stmt *s, AbdJointReading *r) {
  double *const scalar[] = {&r->position, &r->rate,  NULL,       NULL,       &r->effort,
                            &r->residual, &r->angle, &r->travel, &r->passive};
  double *const vector[] = {r->force, r->torque, r->point, r->axis};
  for (int k = 0; k < 9; k++)
    if (scalar[k]) *scalar[k] = sqlite3_column_double(s, 1 + k);
  for (int k = 0; k < 12; k++) vector[k / 3][k % 3] = sqlite3_column_double(s, 10 + k);
}

bool run_read_joint_readings(Run *run, const RunJoints *joints, int64_t step, AbdJointReading *reading) {
  memset(reading, 0, joints->count * sizeof *reading);
  if (!joints->count) return true;
  sqlite3_stmt *s = run_prepare(run, "SELECT joint, " READING_COLUMNS " FROM joint WHERE step = ? ORDER BY joint");
  if (!s) return false;
  size_t rows = 0, alive = 0, leaving = 0; /* leaving: gears on a joint that broke in this step */
  int code;
  for (size_t k = 0; k < joints->count; k++) {
    const RunJoint *joint = &joints->joint[k];
    alive += joint->born <= step && step < joint->died;
    leaving += joint->born <= step && joint->died == step + 1;
  }
  sqlite3_bind_int64(s, 1, step);
  while ((code = sqlite3_step(s)) == SQLITE_ROW) {
    int64_t id = sqlite3_column_int64(s, 0);
    if (id < 1 || (size_t)id > joints->count) continue;
    read_reading(s, &reading[id - 1]);
    rows++;
  }
  bool good = code == SQLITE_DONE || run_fail_sqlite(run, "read the joints");
  sqlite3_finalize(s);
  return good && ((rows <= alive && rows + leaving >= alive) ||
                  run_fail(run, RUN_BAD_FILE, "%s: step %lld has readings of %zu joints of %zu", run->path,
                           (long long)step, rows, alive));
}

bool run_read_worst_reading(Run *run, double *residual, int64_t *step, uint32_t *joint) {
  *residual = 0, *step = 0, *joint = 0;
  sqlite3_stmt *s =
      run_prepare(run, "SELECT residual, step, joint FROM joint ORDER BY residual DESC, step, joint LIMIT 1");
  if (!s) return false;
  int code = sqlite3_step(s);
  if (code == SQLITE_ROW) {
    *residual = sqlite3_column_double(s, 0);
    *step = sqlite3_column_int64(s, 1);
    *joint = (uint32_t)sqlite3_column_int64(s, 2);
  }
  bool good = code == SQLITE_ROW || code == SQLITE_DONE || run_fail_sqlite(run, "read the joints");
  sqlite3_finalize(s);
  return good;
}
