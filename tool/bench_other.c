/* Measures a row with another abd program, as an older build, so that two versions are compared in one run. The program
 * gets the scene as a file: it need not have the set nor the scene in its gallery. See bench.h; tested by
 * tests/cli/bench.sh. */
#define _GNU_SOURCE
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

typedef struct OtherFiles {
  char folder[64];
  char *scene, *figures; /* scene: NULL if the row's scene is a file */
} OtherFiles;

static void files_remove(OtherFiles *f) {
  if (f->scene) unlink(f->scene);
  if (f->figures) unlink(f->figures);
  if (f->folder[0]) rmdir(f->folder);
  free(f->scene), free(f->figures);
}

static int other_error(const BenchRow *row, const char *what, const char *more) {
  fprintf(stderr, "abd bench: %s: %s%s\n", row->name, what, more);
  return EXIT_FAILED;
}

static bool write_text(const char *path, const char *text, size_t length) {
  FILE *out = fopen(path, "w");
  bool good = out && fwrite(text, 1, length, out) == length;
  if (out && fclose(out) != 0) good = false;
  return good;
}

static bool is_gallery(const BenchRow *row) {
  size_t length = strlen(row->scene);
  return length < 5 || strcmp(row->scene + length - 5, ".json") != 0;
}

static int files_make(const BenchRow *row, const BenchOptions *o, OtherFiles *f) {
  AbdError error;
  size_t length = 0;
  strcpy(f->folder, "/tmp/abd-bench-XXXXXX");
  if (!mkdtemp(f->folder)) return f->folder[0] = 0, other_error(row, "cannot make a folder: ", strerror(errno));
  if (asprintf(&f->figures, "%s/figures.json", f->folder) < 0) f->figures = NULL;
  int made = is_gallery(row)    ? asprintf(&f->scene, "%s/scene.json", f->folder)
             : row->its.fixture ? asprintf(&f->scene, "%s/%s", o->fixtures, row->scene)
                                : asprintf(&f->scene, "%s", row->scene);
  if (made < 0) f->scene = NULL;
  if (!f->figures || !f->scene) return other_error(row, "out of memory", "");
  if (!is_gallery(row)) return EXIT_GOOD;
  char *text = bench_gallery_text(row->scene, &length, &error);
  if (!text) return other_error(row, error.text, "");
  bool written = write_text(f->scene, text, length);
  abd_text_free(text);
  return written ? EXIT_GOOD : other_error(row, "cannot write ", f->scene);
}

/* The program's words on standard output are its table, which is not wanted. */
static int run_program(const BenchRow *row, char **argv) {
  posix_spawn_file_actions_t actions;
  pid_t child;
  int status = 0;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  int failed = posix_spawnp(&child, argv[0], &actions, NULL, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) return other_error(row, "cannot run the other program: ", strerror(failed));
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return EXIT_GOOD;
  return other_error(row, "not measured by ", argv[0]);
}

static void add_set(char **argv, int *count, const char *set) {
  argv[(*count)++] = "--set", argv[(*count)++] = (char *)set;
}

static int run_other(const BenchRow *row, const BenchOptions *o, const OtherFiles *f) {
  char steps[32], skip[32], repeat[32], threads[32], dt[32];
  char **argv = calloc((size_t)(2 * o->set.count + 32), sizeof *argv);
  int count = 0;
  if (!argv) return other_error(row, "out of memory", "");
  snprintf(steps, sizeof steps, "%lld", (long long)row->best.steps);
  snprintf(skip, sizeof skip, "%lld", (long long)(row->its.skip + o->skip));
  snprintf(repeat, sizeof repeat, "%lld", (long long)o->repeat);
  snprintf(threads, sizeof threads, "%d", row->threads);
  snprintf(dt, sizeof dt, "%.17g", row->dt);
  char *const fixed[] = {(char *)o->against, "bench", f->scene, "--steps",  steps,    "--repeat", repeat,
                         "--threads",        threads, "--json", f->figures, "--quiet"};
  for (size_t k = 0; k < sizeof fixed / sizeof *fixed; k++) argv[count++] = fixed[k];
  if (row->dt > 0) argv[count++] = "--dt", argv[count++] = dt;
  if (row->its.skip + o->skip > 0) argv[count++] = "--skip", argv[count++] = skip; /* unknown to older programs */
  if (o->mesh_dir) argv[count++] = "--mesh-dir", argv[count++] = (char *)o->mesh_dir;
  if (row->its.set) add_set(argv, &count, row->its.set);
  for (int k = 0; k < o->set.count; k++) add_set(argv, &count, o->set.text[k]);
  int code = run_program(row, argv);
  free(argv);
  return code;
}

/* The figures are those of this row: the file has the name of the scene file. */
static int read_figures(const BenchRow *row, const char *path, BenchRows *rows) {
  BenchRows read = {0};
  bool good =
      bench_read_json(path, &read) && read.count == 1 && bench_rows_add(rows, &row->its, read.row[0].dt, row->threads);
  if (good) {
    BenchRow *added = &rows->row[rows->count - 1];
    added->best = read.row[0].best, added->runs = read.row[0].runs;
    memcpy(added->user, read.row[0].user, sizeof added->user);
  }
  bench_rows_free(&read);
  return good ? EXIT_GOOD : other_error(row, "no figures in ", path);
}

int bench_measure_other(const BenchRow *row, const BenchOptions *options, BenchRows *rows) {
  OtherFiles files = {{0}, NULL, NULL};
  int code = files_make(row, options, &files);
  if (code == EXIT_GOOD) code = run_other(row, options, &files);
  if (code == EXIT_GOOD) code = read_figures(row, files.figures, rows);
  if (!is_gallery(row)) free(files.scene), files.scene = NULL; /* the user's file stays */
  files_remove(&files);
  return code;
}
