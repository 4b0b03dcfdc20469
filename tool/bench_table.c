/* The tables of `abd bench`: the paper's columns with its figures below each row, or other programs and targets beside
 * it. */
#include "bench.h"

#include <math.h>
#include <string.h>

#include "text_table.h"

static const char *dt_text(double dt, char text[32]) {
  double per_second = 1 / dt;
  if (fabs(per_second - round(per_second)) < 1e-6 * per_second) snprintf(text, 32, "1/%.0f", per_second);
  else snprintf(text, 32, "%.4g", dt);
  return text;
}

static void count_cell(TextTable *table, int64_t count) {
  if (count >= 999500) table_cell(table, "%.3gM", 1e-6 * (double)count);
  else if (count >= 10000) table_cell(table, "%.3gK", 1e-3 * (double)count);
  else table_cell(table, "%lld", (long long)count);
}

/* The first columns of both kinds of table. */
static void lead_cells(TextTable *table, const BenchRow *row) {
  char dt[32];
  table_cell(table, "%s%s", row->name, row->best.not_converged ? " (NOT all converged)" : "");
  count_cell(table, row->best.bodies);
  count_cell(table, row->best.triangles);
  count_cell(table, row->best.edges);
  table_cell(table, "%s", dt_text(row->best.dt, dt));
  table_cell(table, "%lld", (long long)row->best.steps);
  table_cell(table, "%d", row->threads);
}

static void lead_titles(TextTable *table) {
  static const char *const title[] = {"scene", "bodies", "triangles", "edges", "dt", "steps", "threads"};
  for (int k = 0; k < 7; k++) table_cell(table, "%s", title[k]);
}

/* ---- The paper's columns ---- */

static void figure_cells(TextTable *table, const PaperFigures *f) {
  const double value[] = {f->iterations, f->assembly, f->solve, f->ccd, f->candidates, f->rest, f->total};
  for (int k = 0; k < 7; k++) table_number(table, value[k]);
}

static void paper_row(TextTable *table, const BenchRow *row) {
  PaperFigures ours = bench_figures(row);
  const PaperFigures *theirs = paper_figures(row->name, row->best.dt);
  lead_cells(table, row);
  figure_cells(table, &ours);
  table_number(table, bench_user_ms(row)), table_number(table, bench_wall_ms(row));
  table_number(table, 1e-6 * (double)row->best.peak);
  if (!theirs) return;
  table_cell(table, "  the paper");
  for (int k = 0; k < 6; k++) table_cell(table, "%s", "");
  figure_cells(table, theirs);
  for (int k = 0; k < 3; k++) table_cell(table, "%s", "");
}

static void paper_table(TextTable *table, const BenchRows *rows) {
  static const char *const title[] = {"iterations", "assembly", "solve", "CCD",  "candidates",
                                      "rest",       "total",    "CPU",   "wall", "peak MB"};
  table->columns = 17;
  lead_titles(table);
  for (int k = 0; k < 10; k++) table_cell(table, "%s", title[k]);
  for (int k = 0; k < rows->count; k++)
    if (rows->row[k].runs) paper_row(table, &rows->row[k]);
}

/* ---- Marks ---- */

static double mark_of(const BenchRow *row, int mark) {
  const MarkFigures *figures = mark_figures(row->name, row->best.dt);
  return figures ? figures->ms[mark] : NAN;
}

/* The table of the README. */
static void brief_table(TextTable *table, const BenchRows *rows) {
  static const char *const title[] = {"scene",      "bodies",    "triangles",      "abd, ms per step",
                                      "iterations", "rigid-IPC", "Autodesk's ABD", "the paper's ABD (8 cores)"};
  table->columns = 8;
  for (int k = 0; k < 8; k++) table_cell(table, "%s", title[k]);
  for (int k = 0; k < rows->count; k++) {
    const BenchRow *row = &rows->row[k];
    if (!row->runs) continue;
    table_cell(table, "%s", row->name);
    count_cell(table, row->best.bodies), count_cell(table, row->best.triangles);
    table_number(table, bench_user_ms(row)), table_number(table, bench_figures(row).iterations);
    for (int m = MARK_RIGID_IPC; m <= MARK_PAPER; m++) table_number(table, mark_of(row, m));
  }
}

static bool has_mark(const BenchRows *rows, int mark) {
  for (int k = 0; k < rows->count; k++)
    if (rows->row[k].runs && isfinite(mark_of(&rows->row[k], mark))) return true;
  return false;
}

static void marks_table(TextTable *table, const BenchRows *rows) {
  lead_titles(table);
  table_cell(table, "iterations"), table_cell(table, "abd, user CPU");
  for (int m = 0; m < MARK_COUNT; m++)
    if (has_mark(rows, m)) table_cell(table, "%s", mark_title(m));
  table_cell(table, "abd / target");
  table->columns = table->count;
  for (int k = 0; k < rows->count; k++) {
    const BenchRow *row = &rows->row[k];
    if (!row->runs) continue;
    lead_cells(table, row);
    table_number(table, bench_figures(row).iterations), table_number(table, bench_user_ms(row));
    for (int m = 0; m < MARK_COUNT; m++)
      if (has_mark(rows, m)) table_number(table, mark_of(row, m));
    table_number(table, bench_user_ms(row) / mark_of(row, MARK_TARGET));
  }
}

/* ---- Impacts ---- */

static void impacts_row(TextTable *table, const BenchRow *row) {
  const BenchRun *b = &row->best;
  double target = mark_of(row, MARK_TARGET);
  char dt[32];
  table_cell(table, "%s", row->name);
  count_cell(table, b->bodies);
  table_cell(table, "%s", dt_text(b->dt, dt));
  table_cell(table, "%lld", (long long)b->steps);
  table_cell(table, "%d", row->threads);
  table_number(table, bench_figures(row).iterations);
  table_cell(table, "%lld", (long long)b->most_iterations);
  table_number(table, (double)b->substeps / (double)b->steps);
  table_cell(table, "%lld", (long long)b->not_converged);
  table_number(table, bench_user_ms(row)), table_number(table, bench_wall_ms(row));
  table_number(table, 1e3 * b->longest), table_number(table, b->user);
  table_number(table, target), table_number(table, bench_user_ms(row) / target);
}

static void impacts_table(TextTable *table, const BenchRows *rows) {
  static const char *const title[] = {"scene",      "bodies",  "dt",        "steps",         "threads",
                                      "iterations", "most",    "sub-steps", "not converged", "CPU",
                                      "wall",       "longest", "total s",   "target",        "CPU / target"};
  table->columns = sizeof title / sizeof *title;
  for (int k = 0; k < table->columns; k++) table_cell(table, "%s", title[k]);
  for (int k = 0; k < rows->count; k++)
    if (rows->row[k].runs) impacts_row(table, &rows->row[k]);
}

/* ---- Growth ---- */

static void growth_table(TextTable *table, const BenchRows *rows, const BenchSet *set) {
  static const char *const title[] = {"iterations",   "contacts",  "wall ms", "user ms",
                                      "ms/iteration", "memory MB", "start s"};
  table->columns = 14;
  lead_titles(table);
  for (int k = 0; k < 7; k++) table_cell(table, "%s", title[k]);
  for (int k = 0; k < rows->count; k++) {
    const BenchRow *row = &rows->row[k];
    if (!row->runs) continue;
    double iterations = bench_figures(row).iterations;
    lead_cells(table, row);
    table_number(table, iterations);
    count_cell(table, row->best.contacts_most);
    table_number(table, bench_wall_ms(row)), table_number(table, bench_user_ms(row));
    table_number(table, iterations > 0
                            ? (set->axis == BENCH_THREADS ? bench_wall_ms(row) : bench_user_ms(row)) / iterations
                            : NAN);
    table_number(table, 1e-6 * (double)row->best.memory), table_number(table, row->best.load);
  }
}

bool bench_print(FILE *out, const BenchRows *rows, const BenchSet *set, BenchStyle style) {
  TextTable table = {0};
  if (set && set->form == BENCH_MARKS) marks_table(&table, rows);
  else if (set && set->form == BENCH_BRIEF) brief_table(&table, rows);
  else if (set && set->form == BENCH_IMPACTS) impacts_table(&table, rows);
  else if (set && set->axis) growth_table(&table, rows, set);
  else paper_table(&table, rows);
  fprintf(out, "Milliseconds per step.\n\n");
  bool good = table_print(&table, out, style == BENCH_MARKDOWN);
  table_free(&table);
  fputc('\n', out);
  bench_machine_print(out, rows->machine);
  return good;
}
