/* Compares two benchmarks of the same rows. Times are the least user time of a row's runs; the spread of the runs is
 * the noise. Iterations do not depend on other work on the machine and are compared exactly. */
#include "bench.h"

#include <math.h>
#include <string.h>

#include "text_table.h"

/* The noise of a row that ran once, on a machine with other work; and the least noise assumed. */
static const double unknown_noise = 0.15, least_noise = 0.03;

static const BenchRow *find_row(const BenchRows *rows, const BenchRow *like) {
  for (int k = 0; k < rows->count; k++) {
    const BenchRow *r = &rows->row[k];
    bool same_scene = r->runs && !strcmp(r->name, like->name) && !strcmp(r->scene, like->scene);
    if (same_scene && r->threads == like->threads && r->best.steps == like->best.steps &&
        fabs(r->best.dt - like->best.dt) <= 1e-6 * like->best.dt)
      return r;
  }
  return NULL;
}

/* The relative difference of the slowest and the fastest run. */
static double noise_of(const BenchRow *row) {
  double most = 0, least = INFINITY;
  for (int k = 0; k < row->runs; k++) most = fmax(most, row->user[k]), least = fmin(least, row->user[k]);
  if (row->runs < 2 || !(least > 0)) return unknown_noise;
  return most / least - 1;
}

typedef struct Verdicts {
  int slower, faster, same, other_iterations, missing;
} Verdicts;

/* The most iterations of a step; files of older versions do not have it. */
static void most_cell(TextTable *table, const BenchRow *row) {
  table_number(table, row->best.most_iterations > 0 ? (double)row->best.most_iterations : NAN);
}

static void compare_row(TextTable *table, const BenchRow *old, const BenchRow *now, Verdicts *verdicts) {
  double ratio = now->best.user / old->best.user, noise = fmax(least_noise, noise_of(old) + noise_of(now));
  bool slower = ratio > 1 + noise, faster = ratio < 1 / (1 + noise),
       other = old->best.iterations != now->best.iterations;
  verdicts->slower += slower, verdicts->faster += faster, verdicts->other_iterations += other;
  verdicts->same += !slower && !faster && !other;
  table_cell(table, "%s", now->name);
  table_cell(table, "%.4g", now->best.dt);
  table_cell(table, "%d", now->threads);
  table_number(table, bench_user_ms(old)), table_number(table, bench_user_ms(now));
  table_cell(table, "%.3f", ratio);
  table_cell(table, "%.2f", noise);
  table_cell(table, "%lld", (long long)old->best.iterations);
  table_cell(table, "%lld", (long long)now->best.iterations);
  most_cell(table, old), most_cell(table, now);
  table_cell(table, "%lld", (long long)old->best.not_converged);
  table_cell(table, "%lld", (long long)now->best.not_converged);
  table_cell(table, "%s%s%s",
             slower   ? "SLOWER"
             : faster ? "faster"
                      : "same",
             other ? ", " : "",
             !other                                        ? ""
             : now->best.iterations > old->best.iterations ? "MORE ITERATIONS"
                                                           : "fewer iterations");
}

int bench_compare_rows(const char *name, const BenchRows *old, const BenchRows *rows) {
  static const char *const title[] = {"scene",          "dt",  "threads",  "old ms", "new ms",   "ratio", "noise",
                                      "old iterations", "new", "old most", "new",    "old open", "new",   "verdict"};
  enum { COLUMNS = sizeof title / sizeof *title };
  TextTable table = {.columns = COLUMNS};
  Verdicts verdicts = {0};
  for (int k = 0; k < COLUMNS; k++) table_cell(&table, "%s", title[k]);
  for (int k = 0; k < rows->count; k++) {
    if (!rows->row[k].runs) continue;
    const BenchRow *before = find_row(old, &rows->row[k]);
    if (before) compare_row(&table, before, &rows->row[k], &verdicts);
    else verdicts.missing++;
  }
  printf("Compared with %s, user CPU time per step:\n\n", name);
  bool good = table_print(&table, stdout, false);
  printf("\n%d slower, %d faster, %d with other iterations, %d unchanged", verdicts.slower, verdicts.faster,
         verdicts.other_iterations, verdicts.same);
  if (verdicts.missing) printf("; %d rows not in the older file", verdicts.missing);
  printf("\n");
  table_free(&table);
  if (!good) return fprintf(stderr, "abd bench: out of memory\n"), EXIT_FAILED;
  return verdicts.slower || verdicts.other_iterations ? EXIT_FOUND : EXIT_GOOD;
}

bool bench_comparable(const char *path) {
  BenchRows old = {0};
  bool good = bench_read_json(path, &old);
  bench_rows_free(&old);
  return good;
}

int bench_compare(const char *path, const BenchRows *rows) {
  BenchRows old = {0};
  int code = bench_read_json(path, &old) ? bench_compare_rows(path, &old, rows) : EXIT_BAD_INPUT;
  bench_rows_free(&old);
  return code;
}
