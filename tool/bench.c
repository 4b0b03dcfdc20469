/* `abd bench`: measures sets of scenes and prints times beside the paper's, other programs' or an older file's.
 * Tested by tests/cli/bench.sh. */
#define _GNU_SOURCE
#include "bench.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <abd/scene.h>

static const Command command = {
    "bench",
    "bench [SET|SCENE[:KEY=VALUE,...]|FILE.json]... [options]",
    "Measures scenes: a named set ('abd bench --list'), scenes of the gallery, scene files. Prints bodies,\n"
    "triangles, iterations and milliseconds per step by stage, beside the paper's figures.",
    "Each row runs in a separate process, three times unless it is long; the run with the least time counts.\n"
    "Exit codes: 0 good; 1 with --compare, a row got slower or takes other iterations; 2 bad usage or input;\n"
    "4 a step or a file failed; 130 interrupted: finished rows are printed and written.",
};

static int list_sets(void) {
  printf("Sets of 'abd bench':\n\n");
  for (const BenchSet *set = bench_sets(); set->name; set++) printf("  %-17s %s\n", set->name, set->about);
  printf("\nA scene of the gallery ('abd scene'), with keys if wanted, is a row too: abd bench net:size=16,ball=6\n");
  return EXIT_GOOD;
}

/* ---- Rows to run ---- */

enum { MOST_DT = 16 };

/* Fills dt, ended by 0. */
static int read_dt_list(const char *text, double dt[MOST_DT + 1]) {
  int count = 0;
  for (const char *at = text; at && *at; at += *at == ',') {
    const char *end = at;
    double value = args_ratio(at, &end);
    if (value == 0 || (*end && *end != ',') || count == MOST_DT)
      return args_usage_error(&command, "--dt: expected up to %d time steps such as 1/100,1/50 or 0.01, got '%s'",
                              MOST_DT, text);
    dt[count++] = value, at = end;
  }
  dt[count] = 0;
  return ARGS_GO_ON;
}

static bool add_case(BenchRows *rows, const BenchCase *its, const double *dt, const BenchOptions *o) {
  const double own[] = {o->dt ? 0 : its->dt, 0};
  for (const double *d = dt && dt[0] > 0 ? dt : own; d == own || *d > 0; d++) {
    if (!bench_rows_add(rows, its, *d, (int)o->threads)) return false;
    rows->row[rows->count - 1].steps = o->steps;
    if (d == own) break;
  }
  return true;
}

/* Why the GPU cannot be used, "" if it can. A process of its own asks: rows run in children, and a process that has
 * used the driver cannot share it with its children. */
static const char *gpu_missing(void) {
  static char text[256] = "?";
  int end[2];
  if (text[0] != '?') return text;
  if (pipe(end)) return "no process can be started";
  pid_t child = fork();
  if (child == 0) {
    const char *why = abd_cuda_missing() ? abd_cuda_missing() : "";
    _exit(write(end[1], why, strlen(why)) < 0);
  }
  close(end[1]);
  ssize_t length = child > 0 ? read(end[0], text, sizeof text - 1) : 0;
  text[length > 0 ? length : 0] = 0;
  close(end[0]);
  if (child > 0) waitpid(child, NULL, 0);
  return text;
}

static bool left_out(const BenchCase *its, const BenchOptions *o) {
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  if (its->fixture && !o->fixtures) {
    fprintf(stderr, "abd bench: left out: %s (--fixtures DIR names the folder of rigid-IPC's scenes)\n", its->name);
    return true;
  }
  if (its->device && o->device && strcmp(its->device, o->device)) return true; /* another row measures it */
  if (its->device && !strcmp(its->device, "cuda") && *gpu_missing()) {
    fprintf(stderr, "abd bench: left out: %s (%s)\n", its->name, gpu_missing());
    return true;
  }
  if (its->threads <= processors) return false;
  fprintf(stderr, "abd bench: left out: %s on %d threads (there are %ld processors)\n", its->name, its->threads,
          processors);
  return true;
}

/* Rows of a set are measured on the CPU if nothing else is said: a GPU that `auto` finds would take some of them. */
static bool add_set(BenchRows *rows, const BenchSet *set, const double *dt, const BenchOptions *o) {
  bool good = true;
  for (int k = 0; good && set->cases[k].name; k++) {
    BenchCase its = set->cases[k];
    if (left_out(&its, o)) continue;
    if (!its.device && !o->device) its.device = "cpu";
    good = add_case(rows, &its, dt[0] > 0 ? dt : set->dt, o);
  }
  return good;
}

static bool is_scene(const char *text) {
  char name[64];
  size_t length = strlen(text);
  snprintf(name, sizeof name, "%.*s", (int)strcspn(text, ":"), text);
  return abd_gallery_keys(name) || (length > 5 && !strcmp(text + length - 5, ".json"));
}

static int unknown_operand(const char *text) {
  const char *name[128] = {NULL};
  int count = 0;
  for (const BenchSet *set = bench_sets(); set->name && count < 127; set++) name[count++] = set->name;
  for (const char *const *scene = abd_gallery_names(); *scene && count < 127; scene++) name[count++] = *scene;
  const char *nearest = args_nearest(text, name);
  if (nearest) return args_usage_error(&command, "no set or scene '%s'; did you mean '%s'?", text, nearest);
  return args_usage_error(&command, "no set or scene '%s'; 'abd bench --list' and 'abd scene' list them", text);
}

/* The name of a file without folder and ending. */
static void base_name(const char *path, char name[128]) {
  const char *slash = strrchr(path, '/');
  size_t length = strlen(slash ? slash + 1 : path);
  bool file = length > 5 && !strcmp(path + strlen(path) - 5, ".json");
  snprintf(name, 128, "%.*s", (int)(file ? length - 5 : length), slash ? slash + 1 : path);
}

/* The first set determines the form of the table; rows of several sets share one table. */
static int choose_rows(BenchRows *rows, const TextList *operand, const BenchOptions *o, const BenchSet **set) {
  double dt[MOST_DT + 1] = {0};
  int code = o->dt ? read_dt_list(o->dt, dt) : ARGS_GO_ON;
  for (int k = 0; code == ARGS_GO_ON && k < operand->count; k++) {
    const BenchSet *one = bench_set_find(operand->text[k]);
    char name[128];
    base_name(operand->text[k], name);
    BenchCase its = {.name = name, .scene = operand->text[k]};
    if (!one && !is_scene(operand->text[k])) code = unknown_operand(operand->text[k]);
    else if (!(one ? add_set(rows, one, dt, o) : add_case(rows, &its, dt, o)))
      code = args_usage_error(&command, "out of memory");
    if (one && !*set) *set = one;
  }
  if (code == ARGS_GO_ON && !rows->count) code = args_usage_error(&command, "nothing is left to run");
  return code;
}

/* ---- Running and printing ---- */

static volatile sig_atomic_t interrupted;
static void on_signal(int signal_number) {
  (void)signal_number;
  interrupted = 1;
}

/* After an interruption the finished rows are printed and written. */
static int measure_all(BenchRows *rows, const BenchOptions *o, BenchRows *other) {
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND};
  sigaction(SIGINT, &action, NULL), sigaction(SIGTERM, &action, NULL);
  int worst = EXIT_GOOD;
  rows->machine = bench_machine_json();
  if (!rows->machine) return fprintf(stderr, "abd bench: out of memory\n"), EXIT_FAILED;
  for (int k = 0; k < rows->count; k++) {
    BenchRow *row = &rows->row[k];
    int code = bench_measure(row, o);
    if (interrupted)
      return row->runs = 0, fprintf(stderr, "abd bench: interrupted after %d of %d rows\n", k, rows->count),
             EXIT_INTERRUPTED;
    if (code == EXIT_GOOD && o->against) code = bench_measure_other(row, o, other);
    if (code > worst) worst = code;
    if (row->runs && !o->quiet)
      fprintf(stderr, "%d/%d %s, dt %.4g, %d thread%s: %.4g ms per step, %.2f iterations, %d run%s\n", k + 1,
              rows->count, row->name, row->best.dt, row->threads, row->threads == 1 ? "" : "s",
              bench_figures(row).total, bench_figures(row).iterations, row->runs, row->runs == 1 ? "" : "s");
  }
  return worst;
}

static bool write_markdown(const char *path, const BenchRows *rows, const BenchSet *set) {
  FILE *out = fopen(path, "w");
  bool good = out && bench_print(out, rows, set, BENCH_MARKDOWN) && !ferror(out);
  if (out && fclose(out) != 0) good = false;
  if (!good) fprintf(stderr, "abd bench: cannot write %s: %s\n", path, strerror(errno));
  return good;
}

static int print_results(const BenchRows *rows, const BenchRows *other, const BenchSet *set, const BenchOptions *o) {
  bool good = bench_print(stdout, rows, set, BENCH_TEXT);
  if (o->json) good &= bench_write_json(o->json, rows, set ? set->name : "");
  if (o->markdown) good &= write_markdown(o->markdown, rows, set);
  if (o->plot) good &= bench_plot(o->plot, rows, set);
  int code = good ? EXIT_GOOD : EXIT_FAILED;
  if (o->compare || o->against) {
    printf("\n");
    int compared = o->compare ? bench_compare(o->compare, rows) : bench_compare_rows(o->against, other, rows);
    if (compared > code) code = compared;
  }
  return code;
}

static int check_options(const BenchOptions *o, const TextList *operand) {
  const BenchSet *set = operand->count ? bench_set_find(operand->text[0]) : NULL;
  if (o->with && operand->count > 1)
    return args_usage_error(&command, "--with takes one set at most, for the form of its table");
  if (!o->with && operand->count == 0)
    return args_usage_error(&command, "expected a set or a scene; 'abd bench --list' lists sets");
  if (o->against && (o->with || o->compare))
    return args_usage_error(&command, "--against runs both programs: it takes neither --with nor --compare");
  if (o->plot && !(set && set->axis))
    return args_usage_error(&command, "--plot: expected a growth set, such as growth-bodies");
  return ARGS_GO_ON;
}

static int run_bench(const BenchOptions *o, const TextList *operand) {
  BenchRows rows = {0}, other = {0};
  const BenchSet *set = NULL;
  int code = ARGS_GO_ON, worst = EXIT_GOOD;
  if (o->with) {
    set = operand->count ? bench_set_find(operand->text[0]) : NULL;
    if (!bench_read_json(o->with, &rows)) code = EXIT_BAD_INPUT;
  } else {
    code = o->compare && !bench_comparable(o->compare) ? EXIT_BAD_INPUT : choose_rows(&rows, operand, o, &set);
    if (code == ARGS_GO_ON) worst = measure_all(&rows, o, &other);
  }
  int measured = 0;
  for (int k = 0; k < rows.count; k++) measured += rows.row[k].runs > 0;
  if (code == ARGS_GO_ON) code = measured ? print_results(&rows, &other, set, o) : worst;
  bench_rows_free(&rows), bench_rows_free(&other);
  return code > worst ? code : worst;
}

int command_bench(int argc, char **argv) {
  BenchOptions o = {.threads = 1, .repeat = 3};
  TextList operand;
  const Option option[] = {
      {"list", 'l', OPTION_FLAG, &o.list, NULL, "list the sets"},
      {"steps", 'n', OPTION_ATLEAST1, &o.steps, "N", "steps of each row; by default as in the set, 100 of a scene"},
      {"skip", 0, OPTION_COUNT, &o.skip, "N", "steps before those that are measured (0)"},
      {"dt", 0, OPTION_TEXT, &o.dt, "S,...",
       "time steps, such as 1/100,1/50; by default those of the set or the scene"},
      {"threads", 'j', OPTION_ATLEAST1, &o.threads, "N", "threads (1)"},
      {"device", 0, OPTION_TEXT, &o.device, "NAME",
       "cpu, cuda or auto, the same as --set solver.device=NAME (sets: cpu); of the set gpu those rows only"},
      {"repeat", 0, OPTION_ATLEAST1, &o.repeat, "N", "runs of a row, at most 9 (3); one if it takes over 10 s"},
      {"set", 's', OPTION_LIST, &o.set, "KEY=VALUE", "a setting of all scenes: --set contact.friction=0.5"},
      {"fixtures", 0, OPTION_TEXT, &o.fixtures, "DIR", "rigid-IPC's scenes, for the sets marks, readme and gpu"},
      {"mesh-dir", 0, OPTION_TEXT, &o.mesh_dir, "DIR", "folder in which meshes are searched last"},
      {"json", 0, OPTION_TEXT, &o.json, "FILE", "write all figures, with machine and commit"},
      {"markdown", 0, OPTION_TEXT, &o.markdown, "FILE", "write the table as Markdown"},
      {"plot", 0, OPTION_TEXT, &o.plot, "FILE.svg", "write charts of a growth set"},
      {"compare", 0, OPTION_TEXT, &o.compare, "OLD.json", "print changes beyond noise since an older file"},
      {"against", 0, OPTION_TEXT, &o.against, "PROGRAM",
       "run each row with another abd program too and print the changes"},
      {"with", 0, OPTION_TEXT, &o.with, "NEW.json", "do not run, take the figures from this file"},
      {"quiet", 'q', OPTION_FLAG, &o.quiet, NULL, "no line for each row while it runs"},
      {0},
  };
  int code = args_parse(&command, option, argc, argv, &operand);
  if (code == ARGS_GO_ON && o.list) code = list_sets();
  if (code == ARGS_GO_ON) code = check_options(&o, &operand);
  if (code == ARGS_GO_ON) code = run_bench(&o, &operand);
  args_free(&operand);
  args_free(&o.set);
  return code;
}
