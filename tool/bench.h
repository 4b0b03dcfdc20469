/* Data of `abd bench`: sets of cases, a row of figures for each case and time step, published figures, the machine.
 * Tested by tests/cli/bench.sh. */
#ifndef ABD_TOOL_BENCH_H
#define ABD_TOOL_BENCH_H

#include "args.h"

#include <abd/abd.h>
#include <abd/scene.h>
#include <jansson.h>
#include <stdio.h>

/* ---- Sets: bench_set.c ---- */

typedef struct BenchCase {
  const char *name;  /* name in tables; in growth sets the name of the curve */
  const char *scene; /* NAME or NAME:KEY=VALUE,... of the gallery, or a scene file */
  bool fixture;      /* the file is in the folder of --fixtures */
  double seconds;    /* of simulated time; 0: steps counts */
  int64_t steps;
  const char *set;    /* a setting KEY=VALUE, or NULL */
  int threads;        /* 0: as given to the command */
  const char *device; /* cpu or cuda, or NULL: as given to the command */
  double dt;          /* [s] 0: of the set or the scene */
  int64_t skip;       /* steps before those that are measured */
} BenchCase;

typedef enum BenchAxis { BENCH_NO_AXIS, BENCH_BODIES, BENCH_TRIANGLES, BENCH_DT, BENCH_THREADS } BenchAxis;

typedef enum BenchForm {
  BENCH_STAGES, /* the paper's columns, its figures below each row */
  BENCH_MARKS,  /* other programs and targets beside abd */
  BENCH_BRIEF,  /* other programs only, for the README */
  BENCH_IMPACTS /* iterations, sub-steps and the longest step */
} BenchForm;

typedef struct BenchSet {
  const char *name, *about;
  const BenchCase *cases; /* ends with a NULL name */
  const double *dt;       /* ends with 0; NULL: as in the scenes */
  BenchAxis axis;         /* the growing quantity, for plots */
  BenchForm form;         /* of its table */
} BenchSet;

const BenchSet *bench_sets(void); /* ends with a NULL name */
const BenchSet *bench_set_find(const char *name);

/* ---- Published figures: bench_figures.c ---- */

/* The paper's statistics table, milliseconds per step on eight cores; NAN: not given. */
typedef struct PaperFigures {
  const char *name; /* of the case */
  double dt, iterations, assembly, solve, ccd, candidates, rest, total;
} PaperFigures;
const PaperFigures *paper_figures(const char *name, double dt); /* NULL: none */

/* Other programs and targets of abd, milliseconds per step on one thread (the paper's: eight cores, for free balls
 * one). */
enum {
  MARK_RIGID_IPC,
  MARK_AUTODESK,
  MARK_PAPER,
  MARK_BULLET_BOXES,
  MARK_BULLET_MESHES,
  MARK_FIRST,
  MARK_TARGET,
  MARK_COUNT
};
typedef struct MarkFigures {
  const char *name;
  double dt, ms[MARK_COUNT];
} MarkFigures;
const MarkFigures *mark_figures(const char *name, double dt);
const char *mark_title(int mark);

/* ---- Rows: bench_row.c, bench_measure.c ---- */

enum { BENCH_MOST_RUNS = 9 };

/* One run of a case: sums over its steps. */
typedef struct BenchRun {
  int64_t bodies, triangles, edges, steps, iterations, not_converged;
  int64_t contacts_most, box_tests, candidates, distances, ccd_calls;
  int64_t most_iterations, substeps; /* of any step; of all steps. 0 in files of older versions */
  double longest;                    /* [s] of the longest step: CPU time on one thread, else wall clock */
  double dt;                         /* [s] of a step */
  double seconds[ABD_STAGE_COUNT];   /* wall clock, by stage */
  double wall, user, system;         /* [s] of all steps */
  double load;                       /* [s] of user time from the scene to the first step */
  double joint_gap;                  /* [m] the largest of any joint and step */
  int64_t memory, peak;              /* [bytes] resident after the last step; the most at any time, loading included */
  uint64_t hash;
} BenchRun;

typedef struct BenchRow {
  BenchCase its;
  char *name, *scene, *set; /* of its, owned */
  double dt;                /* requested; 0: as in the scene */
  int64_t steps;            /* requested; 0: as in the case */
  int threads;
  BenchRun best;                /* the run with the least user time, on several threads the least wall clock */
  double user[BENCH_MOST_RUNS]; /* [s] of every run */
  int runs;                     /* 0: not measured */
} BenchRow;

typedef struct BenchRows {
  BenchRow *row;
  int count, capacity;
  json_t *machine; /* on which they were measured */
} BenchRows;

typedef struct BenchOptions {
  const char *json, *markdown, *plot, *compare, *against, *with, *fixtures, *mesh_dir, *dt, *device;
  int64_t steps, skip, threads, repeat;
  TextList set;
  bool list, quiet;
} BenchOptions;

bool bench_rows_add(BenchRows *rows, const BenchCase *its, double dt, int threads);
void bench_rows_free(BenchRows *rows);
double bench_user_ms(const BenchRow *row); /* per step */
double bench_wall_ms(const BenchRow *row);
/* The paper's columns, milliseconds per step: CPU time on one thread, else wall-clock time. */
PaperFigures bench_figures(const BenchRow *row);

/* Runs a row in a separate process, so that its memory can be measured; prints errors and returns an exit code. */
int bench_measure(BenchRow *row, const BenchOptions *options);
/* The text of "NAME:KEY=VALUE,...", to be freed; NULL and a sentence on an error. */
char *bench_gallery_text(const char *scene, size_t *length, AbdError *error);
/* Runs a measured row with another abd program (options->against) and adds its figures to rows; prints errors. */
int bench_measure_other(const BenchRow *row, const BenchOptions *options, BenchRows *rows); /* bench_other.c */

/* ---- Results: bench_table.c, bench_json.c, bench_compare.c, bench_plot.c, bench_machine.c ---- */

json_t *bench_machine_json(void); /* NULL if memory runs out */
void bench_machine_print(FILE *out, const json_t *machine);

typedef enum BenchStyle { BENCH_TEXT, BENCH_MARKDOWN } BenchStyle;
bool bench_print(FILE *out, const BenchRows *rows, const BenchSet *set,
                 BenchStyle style); /* false if memory runs out */

bool bench_write_json(const char *path, const BenchRows *rows, const char *set_name);
/* Prints differences from an older file beyond noise; EXIT_FOUND if a row got slower or takes other iterations. */
/* Whether the file can be read; prints why not. */
bool bench_comparable(const char *path);
int bench_compare(const char *path, const BenchRows *rows);
int bench_compare_rows(const char *name, const BenchRows *old, const BenchRows *rows);
/* Reads rows of a file that bench_write_json wrote; prints errors. */
bool bench_read_json(const char *path, BenchRows *rows);

/* Charts of time and memory against the growing quantity, as SVG. */
bool bench_plot(const char *path, const BenchRows *rows, const BenchSet *set);

#endif
