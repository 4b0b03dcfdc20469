/* Rows of a benchmark: a case, a time step, a number of threads and their figures. See bench.h. */
#include "bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool bench_rows_add(BenchRows *rows, const BenchCase *its, double dt, int threads) {
  if (rows->count == rows->capacity) {
    int capacity = 2 * rows->capacity + 16;
    BenchRow *more = realloc(rows->row, (size_t)capacity * sizeof *more);
    if (!more) return false;
    rows->row = more, rows->capacity = capacity;
  }
  BenchRow row = {.its = *its,
                  .dt = dt,
                  .threads = its->threads ? its->threads : threads,
                  .name = strdup(its->name),
                  .scene = strdup(its->scene),
                  .set = its->set ? strdup(its->set) : NULL};
  row.its.name = row.name, row.its.scene = row.scene, row.its.set = row.set;
  rows->row[rows->count++] = row;
  return row.name && row.scene && (!its->set || row.set);
}

void bench_rows_free(BenchRows *rows) {
  for (int k = 0; k < rows->count; k++) free(rows->row[k].name), free(rows->row[k].scene), free(rows->row[k].set);
  free(rows->row);
  json_decref(rows->machine);
  *rows = (BenchRows){0};
}

static double per_step(const BenchRow *row, double seconds) {
  return row->best.steps ? 1e3 * seconds / (double)row->best.steps : NAN;
}

double bench_user_ms(const BenchRow *row) { return per_step(row, row->best.user); }
double bench_wall_ms(const BenchRow *row) { return per_step(row, row->best.wall); }

/* The paper's "Cons." builds the pairs and their distances, its "Misc." is the rest. On one thread the CPU time is
 * divided in proportion to the stages' wall-clock times, because the wall clock also measures other work on the
 * machine. */
PaperFigures bench_figures(const BenchRow *row) {
  const double *s = row->best.seconds;
  double counted = row->threads == 1 && row->best.wall > 0 ? fmin(1, row->best.user / row->best.wall) : 1;
  return (PaperFigures){.name = row->name,
                        .dt = row->best.dt,
                        .iterations = row->best.steps ? (double)row->best.iterations / (double)row->best.steps : NAN,
                        .assembly = per_step(row, counted * s[ABD_STAGE_ASSEMBLY]),
                        .solve = per_step(row, counted * s[ABD_STAGE_SOLVE]),
                        .ccd = per_step(row, counted * s[ABD_STAGE_CCD]),
                        .candidates = per_step(row, counted * (s[ABD_STAGE_CANDIDATES] + s[ABD_STAGE_DISTANCES])),
                        .rest = per_step(row, counted * (s[ABD_STAGE_LINE_SEARCH] + s[ABD_STAGE_REST])),
                        .total = per_step(row, counted * row->best.wall)};
}
