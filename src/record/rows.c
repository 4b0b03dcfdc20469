/* Reports of a run as numbers, a range at a time, for readers that follow it; and deleting steps. See run.h. Tested in
 * tests/test_view.c. */
#include "record/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool out_of_memory(Run *run) { return run_fail(run, RUN_DISK, "%s: out of memory", run->path); }

/* ---- Reports ---- */

/* Makes room for one more than count items. If memory is out, the old block stays. */
static bool grow(Run *run, void *block, size_t item, size_t count, size_t *capacity) {
  void *old, *more;
  if (count < *capacity) return true;
  memcpy(&old, block, sizeof old);
  size_t wanted = 2 * *capacity + 64;
  if (!(more = realloc(old, wanted * item))) return out_of_memory(run);
  memcpy(block, &more, sizeof more);
  *capacity = wanted;
  return true;
}

static bool read_names(Run *run, sqlite3_stmt *s, RunNumbers *numbers) {
  numbers->column_count = (size_t)sqlite3_column_count(s);
  numbers->name = calloc(numbers->column_count + 1, sizeof *numbers->name);
  if (!numbers->name) return out_of_memory(run);
  for (size_t k = 0; k < numbers->column_count; k++)
    if (!(numbers->name[k] = strdup(sqlite3_column_name(s, (int)k)))) return out_of_memory(run);
  return true;
}

static void read_row(sqlite3_stmt *s, size_t count, double *value) {
  for (size_t k = 0; k < count; k++) {
    int type = sqlite3_column_type(s, (int)k);
    value[k] = type == SQLITE_INTEGER || type == SQLITE_FLOAT ? sqlite3_column_double(s, (int)k) : NAN;
  }
}

bool run_read_reports(Run *run, int64_t after_step, size_t limit, RunNumbers *numbers) {
  *numbers = (RunNumbers){0};
  sqlite3_stmt *s = run_prepare(run, "SELECT * FROM report WHERE step > ? ORDER BY step LIMIT ?");
  if (!s) return false;
  sqlite3_bind_int64(s, 1, after_step), sqlite3_bind_int64(s, 2, (int64_t)limit);
  bool good = read_names(run, s, numbers);
  size_t capacity = 0, count = numbers->column_count;
  int code = SQLITE_DONE;
  while (good && (code = sqlite3_step(s)) == SQLITE_ROW) {
    good = grow(run, &numbers->value, count * sizeof *numbers->value, numbers->row_count, &capacity);
    if (good) read_row(s, count, numbers->value + count * numbers->row_count++);
  }
  if (good && code != SQLITE_DONE) good = run_fail_sqlite(run, "read the reports");
  sqlite3_finalize(s);
  if (!good) run_numbers_destroy(numbers);
  return good;
}

void run_numbers_destroy(RunNumbers *numbers) {
  for (size_t k = 0; numbers->name && k < numbers->column_count; k++) free(numbers->name[k]);
  free(numbers->name), free(numbers->value);
  *numbers = (RunNumbers){0};
}

/* ---- Deleting ---- */

/* All tables with a column `step` except the checkpoint, including tables that later versions add. */
static bool forget_tables(Run *run, int64_t step) {
  sqlite3_stmt *s = run_prepare(run, "SELECT m.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c"
                                     " WHERE m.type = 'table' AND c.name = 'step' AND m.name <> 'checkpoint'");
  bool good = s != NULL;
  while (good && sqlite3_step(s) == SQLITE_ROW) {
    char sql[160];
    sqlite3_snprintf(sizeof sql, sql, "DELETE FROM \"%w\" WHERE step > %lld", sqlite3_column_text(s, 0),
                     (long long)step);
    good = run_exec(run, sql, "forget steps");
  }
  sqlite3_finalize(s);
  return good;
}

static bool forget_steps(Run *run, int64_t step) {
  return forget_tables(run, step) && run_rewind_shards(run, step) && run_rewind_world(run, step);
}

bool run_rewind_later(Run *run, int64_t step) {
  int64_t last;
  run->rewind = step;
  run_forget_world(run);
  return run_count_lost(run, step, &last);
}

bool run_rewind_due(Run *run) { return run->rewind < 0 || forget_steps(run, run->rewind); }

bool run_rewind(Run *run, int64_t step) {
  if (!run_begin(run)) return false;
  run_forget_world(run);
  if (forget_steps(run, step) && run_commit(run)) {
    run->rewind = -1;
    return true;
  }
  run_rollback(run);
  return false;
}

bool run_rewind_now(Run *run) { return run->rewind < 0 || run_rewind(run, run->rewind); }
