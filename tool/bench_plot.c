/* Charts of growth: time and memory, or speed, against the growing quantity of a set. Rows of one name form a curve. */
#include "bench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "chart.h"

typedef double Value(const BenchRow *row, const BenchRow *first); /* first: of the same curve */

static double bodies_of(const BenchRow *row, const BenchRow *first) { return (void)first, (double)row->best.bodies; }
static double triangles_of(const BenchRow *row, const BenchRow *first) {
  return (void)first, (double)row->best.triangles / (double)row->best.bodies;
}
static double dt_of(const BenchRow *row, const BenchRow *first) { return (void)first, 1e3 * row->best.dt; }
static double threads_of(const BenchRow *row, const BenchRow *first) { return (void)first, row->threads; }
static double user_of(const BenchRow *row, const BenchRow *first) { return (void)first, bench_user_ms(row); }
static double wall_of(const BenchRow *row, const BenchRow *first) { return (void)first, bench_wall_ms(row); }
static double memory_of(const BenchRow *row, const BenchRow *first) {
  return (void)first, 1e-6 * (double)row->best.memory;
}
static double speedup_of(const BenchRow *row, const BenchRow *first) {
  return bench_wall_ms(first) / bench_wall_ms(row);
}
static double effort_of(const BenchRow *row, const BenchRow *first) {
  return (void)first, 1e-3 * bench_user_ms(row) / row->best.dt;
}

/* Two charts for each axis. */
typedef struct Plan {
  const char *title[2], *x_label, *y_label[2], *guide[2];
  double power[2];
  Value *x, *y[2];
} Plan;

static const Plan plan[] = {
    [BENCH_BODIES] = {{"Time", "Memory"},
                      "bodies",
                      {"ms of CPU per step", "MB"},
                      {"proportional", "proportional"},
                      {1, 1},
                      bodies_of,
                      {user_of, memory_of}},
    [BENCH_TRIANGLES] = {{"Time", "Memory"},
                         "triangles per body",
                         {"ms of CPU per step", "MB"},
                         {"proportional", "proportional"},
                         {1, 1},
                         triangles_of,
                         {user_of, memory_of}},
    [BENCH_DT] = {{"A step", "A second"},
                  "dt, ms",
                  {"ms of CPU per step", "s of CPU per s"},
                  {NULL, NULL},
                  {0, 0},
                  dt_of,
                  {user_of, effort_of}},
    [BENCH_THREADS] = {{"Time", "Speed"},
                       "threads",
                       {"ms per step", "times as fast"},
                       {NULL, "ideal"},
                       {0, 1},
                       threads_of,
                       {wall_of, speedup_of}},
};

static void add_point(Chart *chart, const BenchRow *row, const BenchRows *rows, const Plan *p, int which) {
  int c = 0;
  while (c < chart->count && strcmp(chart->curve[c].name, row->name)) c++;
  if (c == CHART_MOST_CURVES) return;
  if (c == chart->count) chart->curve[chart->count++].name = row->name;
  ChartCurve *curve = &chart->curve[c];
  const BenchRow *first = rows->row;
  while (!first->runs || strcmp(first->name, row->name)) first++;
  double x = p->x(row, first), y = p->y[which](row, first);
  if (curve->count < CHART_MOST_POINTS && x > 0 && y > 0) curve->x[curve->count] = x, curve->y[curve->count++] = y;
}

bool bench_plot(const char *path, const BenchRows *rows, const BenchSet *set) {
  const Plan *p = &plan[set->axis];
  Chart *chart = calloc(2, sizeof *chart);
  bool good = chart != NULL;
  for (int which = 0; good && which < 2; which++) {
    chart[which] = (Chart){.title = p->title[which],
                           .x_label = p->x_label,
                           .y_label = p->y_label[which],
                           .guide = p->guide[which],
                           .guide_power = p->power[which],
                           .guide_last = p->y[which] == memory_of};
    for (int k = 0; k < rows->count; k++)
      if (rows->row[k].runs) add_point(&chart[which], &rows->row[k], rows, p, which);
  }
  good = good && chart_write(path, chart, 2);
  if (!good) fprintf(stderr, "abd bench: cannot write %s: %s\n", path, strerror(errno));
  free(chart);
  return good;
}
