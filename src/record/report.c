/* The report table: one row per step, one column per field of AbdStepReport. Only the table below has the columns'
 * names; they are part of the file format. */
#include "record/file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum FieldKind { FIELD_INT, FIELD_INT64, FIELD_REAL, FIELD_ID, FIELD_OUTCOME } FieldKind;

typedef struct Field {
  const char *name;
  FieldKind kind;
  size_t offset;
} Field;

#define INT_FIELD(name)                                                                                                \
  { #name, FIELD_INT, offsetof(AbdStepReport, name) }
#define INT64_FIELD(name)                                                                                              \
  { #name, FIELD_INT64, offsetof(AbdStepReport, name) }
#define REAL_FIELD(name)                                                                                               \
  { #name, FIELD_REAL, offsetof(AbdStepReport, name) }
#define REAL_AT(name, where)                                                                                           \
  { name, FIELD_REAL, offsetof(AbdStepReport, where) }
#define ID_AT(name, where)                                                                                             \
  { name, FIELD_ID, offsetof(AbdStepReport, where) }

#define OUTCOME_FIELD(name)                                                                                            \
  { #name, FIELD_OUTCOME, offsetof(AbdStepReport, name) }

static const Field field[] = {
    INT64_FIELD(step),
    REAL_FIELD(time),
    INT_FIELD(iterations),
    INT_FIELD(substeps),
    INT_FIELD(given_up),
    OUTCOME_FIELD(given_up_by),
    ID_AT("given_up_a", given_up_culprit[0]),
    ID_AT("given_up_b", given_up_culprit[1]),
    INT_FIELD(line_search_steps),
    INT_FIELD(friction_iterations),
    REAL_FIELD(friction_error),
    REAL_FIELD(residual),
    REAL_FIELD(step_length),
    ID_AT("culprit_a", culprit[0]),
    ID_AT("culprit_b", culprit[1]),
    ID_AT("limit_a", limit[0]),
    ID_AT("limit_b", limit[1]),
    INT_FIELD(islands),
    INT_FIELD(linear_iterations),
    REAL_FIELD(factor_memory),
    REAL_FIELD(factor_flops),
    INT64_FIELD(body_pairs),
    INT64_FIELD(box_tests),
    INT64_FIELD(candidates),
    INT64_FIELD(distances),
    INT64_FIELD(contacts),
    INT64_FIELD(ccd_calls),
    REAL_FIELD(min_distance),
    ID_AT("nearest_a", nearest[0]),
    ID_AT("nearest_b", nearest[1]),
    REAL_FIELD(max_strain),
    ID_AT("most_strained", most_strained),
    REAL_FIELD(max_soft_strain),
    ID_AT("most_strained_soft", most_strained_soft),
    REAL_FIELD(target_error),
    REAL_FIELD(joint_residual),
    ID_AT("worst_joint", worst_joint),
    REAL_AT("kinetic", energy[ABD_TERM_KINETIC]),
    REAL_AT("gravity", energy[ABD_TERM_GRAVITY]),
    REAL_AT("elastic", energy[ABD_TERM_ELASTIC]),
    REAL_AT("contact", energy[ABD_TERM_CONTACT]),
    REAL_AT("friction", energy[ABD_TERM_FRICTION]),
    REAL_AT("joint", energy[ABD_TERM_JOINT]),
    REAL_AT("soft", energy[ABD_TERM_SOFT]),
    REAL_AT("work_gravity", work[ABD_WORK_GRAVITY]),
    REAL_AT("work_forces", work[ABD_WORK_FORCES]),
    REAL_AT("work_drives", work[ABD_WORK_DRIVES]),
    REAL_AT("work_scripts", work[ABD_WORK_SCRIPTS]),
    REAL_AT("work_damping", work[ABD_WORK_DAMPING]),
    REAL_AT("work_friction", work[ABD_WORK_FRICTION]),
    REAL_AT("work_impacts", work[ABD_WORK_IMPACTS]),
    REAL_AT("work_residual", work[ABD_WORK_RESIDUAL]),
    REAL_AT("momentum_x", momentum[0]),
    REAL_AT("momentum_y", momentum[1]),
    REAL_AT("momentum_z", momentum[2]),
    REAL_AT("angular_momentum_x", angular_momentum[0]),
    REAL_AT("angular_momentum_y", angular_momentum[1]),
    REAL_AT("angular_momentum_z", angular_momentum[2]),
    REAL_AT("seconds_candidates", seconds[ABD_STAGE_CANDIDATES]),
    REAL_AT("seconds_distances", seconds[ABD_STAGE_DISTANCES]),
    REAL_AT("seconds_assembly", seconds[ABD_STAGE_ASSEMBLY]),
    REAL_AT("seconds_solve", seconds[ABD_STAGE_SOLVE]),
    REAL_AT("seconds_ccd", seconds[ABD_STAGE_CCD]),
    REAL_AT("seconds_line_search", seconds[ABD_STAGE_LINE_SEARCH]),
    REAL_AT("seconds_rest", seconds[ABD_STAGE_REST]),
};
enum { FIELD_COUNT = sizeof field / sizeof field[0] };
/* Columns after the fields: derived from several of them, or from the world. */
static const char *const extra[] = {"outcome", "converged", "seconds", "hash"};
static const char *const extra_type[] = {"TEXT", "INTEGER", "REAL", "INTEGER"};
enum { EXTRA_COUNT = sizeof extra / sizeof extra[0], COLUMN_COUNT = FIELD_COUNT + EXTRA_COUNT };
enum { SQL_LENGTH = 4096 };

_Static_assert(ABD_STAGE_COUNT == 7 && ABD_TERM_COUNT == 7 && ABD_WORK_COUNT == 8,
               "a new stage, term or work needs its column");

const char *run_report_column(size_t index) {
  if (index < FIELD_COUNT) return field[index].name;
  return index < COLUMN_COUNT ? extra[index - FIELD_COUNT] : NULL;
}

static const char *column_type(size_t index) {
  static const char *const type[] = {"INTEGER", "INTEGER", "REAL", "INTEGER", "TEXT"};
  return index < FIELD_COUNT ? type[field[index].kind] : extra_type[index - FIELD_COUNT];
}

bool run_report_number(const AbdStepReport *report, size_t index, double *value) {
  if (index >= FIELD_COUNT) return false;
  const char *at = (const char *)report + field[index].offset;
  int64_t long_value;
  int int_value;
  switch (field[index].kind) {
    case FIELD_INT: memcpy(&int_value, at, sizeof int_value), *value = int_value; break;
    case FIELD_INT64: memcpy(&long_value, at, sizeof long_value), *value = (double)long_value; break;
    case FIELD_REAL: memcpy(value, at, sizeof *value); break;
    default: return false;
  }
  if (!isfinite(*value)) *value = NAN;
  return true;
}

bool run_create_report_table(Run *run) {
  char sql[SQL_LENGTH] = "CREATE TABLE report(step INTEGER PRIMARY KEY";
  size_t used = strlen(sql);
  for (size_t k = 1; k < COLUMN_COUNT; k++)
    used += (size_t)snprintf(sql + used, sizeof sql - used, ", %s %s", run_report_column(k), column_type(k));
  snprintf(sql + used, sizeof sql - used, ")");
  return run_exec(run, sql, "create the file");
}

static bool find_column(Run *run, const char *name, int64_t *found) {
  char sql[128];
  snprintf(sql, sizeof sql, "SELECT count(*) FROM pragma_table_info('report') WHERE name = '%s'", name);
  return run_read_number(run, sql, found);
}

static bool has_column(Run *run, const char *name) {
  int64_t found;
  return find_column(run, name, &found) && found;
}

bool run_add_report_columns(Run *run) {
  for (size_t k = 0; k < COLUMN_COUNT; k++) {
    char sql[128];
    int64_t found;
    if (!find_column(run, run_report_column(k), &found)) return false;
    if (found) continue;
    snprintf(sql, sizeof sql, "ALTER TABLE report ADD COLUMN %s %s", run_report_column(k), column_type(k));
    if (!run_exec(run, sql, "add a column")) return false;
  }
  return true;
}

/* Part of the file format. */
static const char *outcome_name(AbdOutcome outcome) {
  static const char *const name[] = {"converged",         "max iterations", "line search",   "factorization",
                                     "kinematic blocked", "joint open",     "moved too far", "no progress"};
  return name[outcome];
}

static void bind_field(sqlite3_stmt *statement, int index, const Field *f, const AbdStepReport *report) {
  const char *at = (const char *)report + f->offset;
  int64_t long_value;
  int int_value;
  double real;
  AbdBodyId body;
  AbdOutcome outcome;
  switch (f->kind) {
    case FIELD_INT: memcpy(&int_value, at, sizeof int_value), sqlite3_bind_int(statement, index, int_value); break;
    case FIELD_INT64:
      memcpy(&long_value, at, sizeof long_value), sqlite3_bind_int64(statement, index, long_value);
      break;
    case FIELD_ID:
      memcpy(&body, at, sizeof body);
      if (body.id) sqlite3_bind_int64(statement, index, body.id);
      else sqlite3_bind_null(statement, index);
      break;
    case FIELD_OUTCOME:
      memcpy(&outcome, at, sizeof outcome);
      sqlite3_bind_text(statement, index, outcome_name(outcome), -1, SQLITE_STATIC);
      break;
    case FIELD_REAL: /* an infinite distance becomes NULL */
      memcpy(&real, at, sizeof real);
      if (isfinite(real)) sqlite3_bind_double(statement, index, real);
      else sqlite3_bind_null(statement, index);
      break;
  }
}

static sqlite3_stmt *report_statement(Run *run) {
  if (run->statement[RUN_STATEMENT_REPORT]) return run->statement[RUN_STATEMENT_REPORT];
  char sql[SQL_LENGTH] = "INSERT OR REPLACE INTO report(step";
  size_t used = strlen(sql);
  for (size_t k = 1; k < COLUMN_COUNT; k++)
    used += (size_t)snprintf(sql + used, sizeof sql - used, ", %s", run_report_column(k));
  used += (size_t)snprintf(sql + used, sizeof sql - used, ") VALUES(?");
  for (size_t k = 1; k < COLUMN_COUNT; k++) used += (size_t)snprintf(sql + used, sizeof sql - used, ",?");
  snprintf(sql + used, sizeof sql - used, ")");
  return run_statement(run, RUN_STATEMENT_REPORT, sql);
}

bool run_write_report(Run *run, const AbdStepReport *report, uint64_t hash) {
  sqlite3_stmt *statement = report_statement(run);
  if (!statement) return false;
  for (int k = 0; k < FIELD_COUNT; k++) bind_field(statement, k + 1, &field[k], report);
  double seconds = 0;
  for (int k = 0; k < ABD_STAGE_COUNT; k++) seconds += report->seconds[k];
  bool converged = report->outcome == ABD_CONVERGED || report->outcome == ABD_KINEMATIC_BLOCKED;
  sqlite3_bind_text(statement, FIELD_COUNT + 1, outcome_name(report->outcome), -1, SQLITE_STATIC);
  sqlite3_bind_int(statement, FIELD_COUNT + 2, converged);
  sqlite3_bind_double(statement, FIELD_COUNT + 3, seconds);
  sqlite3_bind_int64(statement, FIELD_COUNT + 4, (sqlite3_int64)hash);
  return run_finish(run, statement, "write a report");
}

/* Columns that an older file does not have are read as NULL. */
bool run_visit_reports(Run *run, RunVisit visit, void *user) {
  char sql[SQL_LENGTH] = "SELECT ";
  size_t used = strlen(sql);
  for (size_t k = 0; k < COLUMN_COUNT; k++) {
    const char *name = run_report_column(k), *null = has_column(run, name) ? "" : "NULL AS ";
    used += (size_t)snprintf(sql + used, sizeof sql - used, "%s%s%s", k ? ", " : "", null, name);
  }
  snprintf(sql + used, sizeof sql - used, " FROM report ORDER BY step");
  sqlite3_stmt *statement = run_prepare(run, sql);
  if (!statement) return false;
  bool good = run_visit_statement(run, statement, visit, user);
  sqlite3_finalize(statement);
  return good;
}

/* ---- Summary ---- */

static void read_totals(sqlite3_stmt *s, RunSummary *summary) {
  summary->steps = sqlite3_column_int64(s, 0);
  summary->not_converged = sqlite3_column_int64(s, 1);
  summary->first_not_converged = sqlite3_column_int64(s, 2);
  summary->kinematic_blocked = sqlite3_column_int64(s, 3);
  summary->iterations_mean = sqlite3_column_double(s, 4);
  summary->iterations_max = sqlite3_column_int64(s, 5);
  summary->contacts_mean = sqlite3_column_double(s, 6);
  summary->contacts_max = sqlite3_column_int64(s, 7);
  summary->max_strain = sqlite3_column_double(s, 8);
  summary->max_soft_strain = sqlite3_column_double(s, 9);
  summary->residual_max = sqlite3_column_double(s, 10);
  summary->seconds_total = sqlite3_column_double(s, 11);
  for (int k = 0; k < ABD_STAGE_COUNT; k++) summary->seconds[k] = sqlite3_column_double(s, 12 + k);
}

/* The largest of a figure, its step and what it is of. */
static void read_largest(sqlite3_stmt *s, double *value, int64_t *step, uint32_t *id) {
  *value = sqlite3_column_double(s, 0);
  *step = sqlite3_column_int64(s, 1);
  *id = (uint32_t)sqlite3_column_int64(s, 2);
}

static void read_held_back(sqlite3_stmt *s, RunSummary *summary) {
  read_largest(s, &summary->held_back, &summary->held_back_step, &summary->held_back_body);
}

static void read_strained(sqlite3_stmt *s, RunSummary *summary) {
  summary->max_strain_step = sqlite3_column_int64(s, 0);
  summary->most_strained = (uint32_t)sqlite3_column_int64(s, 1);
}

static void read_nearest(sqlite3_stmt *s, RunSummary *summary) {
  summary->min_distance = sqlite3_column_double(s, 0);
  summary->min_distance_step = sqlite3_column_int64(s, 1);
  summary->nearest[0] = (uint32_t)sqlite3_column_int64(s, 2);
  summary->nearest[1] = (uint32_t)sqlite3_column_int64(s, 3);
}

static void read_worst_joint(sqlite3_stmt *s, RunSummary *summary) {
  read_largest(s, &summary->joint_residual, &summary->joint_residual_step, &summary->worst_joint);
}

static void read_linear(sqlite3_stmt *s, RunSummary *summary) {
  summary->linear_iterations = sqlite3_column_int64(s, 0);
  summary->factor_memory = sqlite3_column_double(s, 1);
  summary->factor_flops = sqlite3_column_double(s, 2);
}

static void read_substeps(sqlite3_stmt *s, RunSummary *summary) {
  summary->split_steps = sqlite3_column_int64(s, 0);
  summary->first_split = sqlite3_column_int64(s, 1);
  summary->substeps = sqlite3_column_int64(s, 2);
  summary->substeps_max = sqlite3_column_int64(s, 3);
  summary->given_up = sqlite3_column_int64(s, 4);
}

static void read_worst_split(sqlite3_stmt *s, RunSummary *summary) {
  summary->worst_split = sqlite3_column_int64(s, 0);
  summary->split_culprit[0] = (uint32_t)sqlite3_column_int64(s, 1);
  summary->split_culprit[1] = (uint32_t)sqlite3_column_int64(s, 2);
  const unsigned char *why = sqlite3_column_text(s, 3);
  snprintf(summary->split_by, sizeof summary->split_by, "%s", why ? (const char *)why : "");
}

static void read_friction(sqlite3_stmt *s, RunSummary *summary) {
  summary->friction_error_mean = sqlite3_column_double(s, 0);
  summary->friction_error_max = sqlite3_column_double(s, 1);
  summary->friction_error_step = sqlite3_column_int64(s, 2);
}

static void read_last(sqlite3_stmt *s, RunSummary *summary) {
  summary->time = sqlite3_column_double(s, 0);
  summary->last_hash = (uint64_t)sqlite3_column_int64(s, 1);
}

static void read_frames(sqlite3_stmt *s, RunSummary *summary) { summary->frames = sqlite3_column_int64(s, 0); }

static void read_bytes(sqlite3_stmt *s, RunSummary *summary) { summary->bytes = sqlite3_column_int64(s, 0); }

/* Frames that all shards have, and the bytes of these. */
static bool add_shards(Run *run, RunSummary *summary) {
  int64_t *step;
  size_t count;
  if (!run_read_frame_steps(run, &step, &count)) return false;
  free(step);
  summary->frames = (int64_t)count;
  summary->bytes += run_shard_bytes(run);
  return true;
}

bool run_read_summary(Run *run, RunSummary *summary) {
  static const struct {
    const char *sql;
    void (*read)(sqlite3_stmt *, RunSummary *);
    const char *needs; /* a column that older files do not have */
  } query[] = {
      {"SELECT count(*), total(NOT converged), min(CASE WHEN converged THEN NULL ELSE step END),"
       " total(outcome = 'kinematic blocked'), avg(iterations), max(iterations), avg(contacts), max(contacts),"
       " max(max_strain), max(max_soft_strain), max(residual), total(seconds), total(seconds_candidates), "
       "total(seconds_distances),"
       " total(seconds_assembly), total(seconds_solve), total(seconds_ccd), total(seconds_line_search),"
       " total(seconds_rest) FROM report",
       read_totals, NULL},
      {"SELECT target_error, step, culprit_a FROM report WHERE outcome = 'kinematic blocked'"
       " ORDER BY target_error DESC, step LIMIT 1",
       read_held_back, NULL},
      {"SELECT min_distance, step, nearest_a, nearest_b FROM report WHERE min_distance IS NOT NULL"
       " ORDER BY min_distance, step LIMIT 1",
       read_nearest, NULL},
      {"SELECT step, most_strained FROM report WHERE most_strained IS NOT NULL ORDER BY max_strain DESC, step LIMIT 1",
       read_strained, NULL},
      {"SELECT joint_residual, step, worst_joint FROM report WHERE worst_joint IS NOT NULL"
       " ORDER BY joint_residual DESC, step LIMIT 1",
       read_worst_joint, NULL},
      {"SELECT total(linear_iterations), max(factor_memory), max(factor_flops) FROM report", read_linear, NULL},
      {"SELECT count(*), min(step), total(substeps), max(substeps), total(given_up) FROM report WHERE substeps > 1",
       read_substeps, "substeps"},
      {"SELECT step, given_up_a, given_up_b, given_up_by FROM report WHERE given_up > 0"
       " ORDER BY substeps DESC, step LIMIT 1",
       read_worst_split, "given_up_by"},
      {"SELECT avg(friction_error), max(friction_error), step FROM report WHERE friction_error > 0", read_friction,
       "friction_error"},
      {"SELECT time, hash FROM report ORDER BY step DESC LIMIT 1", read_last, NULL},
      {"SELECT count(*) FROM frame", read_frames, NULL},
      {"SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", read_bytes, NULL},
  };
  *summary = (RunSummary){.min_distance = INFINITY};
  for (size_t k = 0; k < sizeof query / sizeof query[0]; k++) {
    if (query[k].needs && !has_column(run, query[k].needs)) continue;
    sqlite3_stmt *statement = run_prepare(run, query[k].sql);
    if (!statement) return false;
    int code = sqlite3_step(statement);
    if (code == SQLITE_ROW) query[k].read(statement, summary);
    if (code != SQLITE_ROW && code != SQLITE_DONE) run_fail_sqlite(run, "read the reports");
    sqlite3_finalize(statement);
    if (code != SQLITE_ROW && code != SQLITE_DONE) return false;
  }
  return !run->shards || add_shards(run, summary);
}
