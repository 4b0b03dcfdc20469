/* Runs TetGen or Gmsh in a scratch folder (mesher.h). Tested by tests/cli/soft.sh. */
#define _GNU_SOURCE
#include "mesher.h"

#include <errno.h>
#include <math.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

extern char **environ;

typedef struct Scratch {
  char folder[200], path[4][256];
} Scratch; /* path: the last few files requested */

static bool fail(AbdError *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool fail(AbdError *error, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(error->text, sizeof error->text, format, list);
  va_end(list);
  return false;
}

static bool scratch_open(Scratch *s, AbdError *error) {
  const char *base = getenv("TMPDIR");
  snprintf(s->folder, sizeof s->folder, "%.180s/abd-XXXXXX", base && *base ? base : "/tmp");
  return mkdtemp(s->folder) || fail(error, "cannot make a scratch folder %s: %s", s->folder, strerror(errno));
}

static const char *scratch_file(Scratch *s, int slot, const char *name) {
  snprintf(s->path[slot], sizeof s->path[slot], "%s/%s", s->folder, name);
  return s->path[slot];
}

static void scratch_close(Scratch *s) {
  static const char *const name[] = {"in.smesh",   "in.1.node", "in.1.ele", "in.1.face", "in.1.edge", "in.1.mesh",
                                     "in.1.smesh", "in.msh",    "in.geo",   "out.msh",   "log"};
  for (size_t k = 0; k < sizeof name / sizeof *name; k++) unlink(scratch_file(s, 0, name[k]));
  rmdir(s->folder);
}

/* Whether the program is in a folder of PATH. */
static bool on_path(const char *program) {
  const char *at = getenv("PATH");
  while (at && *at) {
    size_t length = strcspn(at, ":");
    char path[500];
    snprintf(path, sizeof path, "%.*s/%s", length < 400 ? (int)length : 400, at, program);
    if (length && access(path, X_OK) == 0) return true;
    at += length + (at[length] == ':');
  }
  return false;
}

/* The last line that is not blank, for messages. */
static void last_line(const char *path, char text[300]) {
  char line[300];
  FILE *in = fopen(path, "r");
  snprintf(text, 300, "it printed nothing");
  while (in && fgets(line, sizeof line, in)) {
    line[strcspn(line, "\r\n")] = 0;
    if (line[strspn(line, " \t")]) memcpy(text, line, sizeof line);
  }
  if (in) fclose(in);
}

/* Runs a program to its end; the log receives its output. */
static bool run(Scratch *s, char *const *argv, AbdError *error) {
  posix_spawn_file_actions_t actions;
  const char *log = scratch_file(s, 3, "log");
  char said[300];
  pid_t child;
  int status = 0;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  int code = posix_spawnp(&child, argv[0], &actions, NULL, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (code) return fail(error, "cannot run %s: %s", argv[0], strerror(code));
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return fail(error, "%s was lost: %s", argv[0], strerror(errno));
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
  last_line(log, said);
  if (WIFSIGNALED(status))
    return fail(error, "%s was ended by signal %d; its last line: %s", argv[0], WTERMSIG(status), said);
  return fail(error, "%s failed (exit code %d); its last line: %s. 'abd check' may name the problem of the surface",
              argv[0], WEXITSTATUS(status), said);
}

/* TetGen's .smesh: points, facets, no holes, no regions. */
static bool write_smesh(const char *path, const AbdSurface *m, AbdError *error) {
  FILE *out = fopen(path, "w");
  if (!out) return fail(error, "cannot write %s: %s", path, strerror(errno));
  fprintf(out, "%zu 3 0 0\n", m->vertex_count);
  for (size_t v = 0; v < m->vertex_count; v++)
    fprintf(out, "%zu %.17g %.17g %.17g\n", v, m->vertex[3 * v], m->vertex[3 * v + 1], m->vertex[3 * v + 2]);
  fprintf(out, "%zu 0\n", m->triangle_count);
  for (size_t t = 0; t < m->triangle_count; t++)
    fprintf(out, "3 %u %u %u\n", m->triangle[3 * t], m->triangle[3 * t + 1], m->triangle[3 * t + 2]);
  fprintf(out, "0\n0\n");
  bool failed = ferror(out);
  return (fclose(out) == 0 && !failed) || fail(error, "cannot write %s: %s", path, strerror(errno));
}

static bool run_tetgen(Scratch *s, const AbdSurface *surface, const MesherOptions *options, AbdTets *out,
                       AbdError *error) {
  char switches[100], volume[60] = "";
  const char *in = scratch_file(s, 0, "in.smesh");
  if (options->edge > 0)
    snprintf(volume, sizeof volume, "a%.17g", pow(options->edge, 3) / (6 * sqrt(2))); /* of a regular one */
  snprintf(switches, sizeof switches, "-pq%.6g%s%sgQ", options->quality, volume, options->keep_surface ? "Y" : "");
  char *const argv[] = {"tetgen", switches, (char *)in, NULL};
  return write_smesh(in, surface, error) && run(s, argv, error) &&
         abd_tets_load(scratch_file(s, 1, "in.1.mesh"), out, error) == ABD_OK;
}

static bool write_geo(const char *path, const char *mesh, double edge, AbdError *error) {
  FILE *out = fopen(path, "w");
  if (!out) return fail(error, "cannot write %s: %s", path, strerror(errno));
  fprintf(out, "Merge \"%s\";\nSurface Loop(1) = {1};\nVolume(1) = {1};\nMesh.SaveAll = 1;\nMesh.Optimize = 1;\n",
          mesh);
  if (edge > 0) fprintf(out, "Mesh.CharacteristicLengthMax = %.17g;\n", edge);
  bool failed = ferror(out);
  return (fclose(out) == 0 && !failed) || fail(error, "cannot write %s: %s", path, strerror(errno));
}

/* Gmsh does not change a surface given as triangles. */
static bool run_gmsh(Scratch *s, const AbdSurface *surface, const MesherOptions *options, AbdTets *out,
                     AbdError *error) {
  const char *in = scratch_file(s, 0, "in.msh"), *geo = scratch_file(s, 1, "in.geo"),
             *made = scratch_file(s, 2, "out.msh");
  AbdTets sheet = {.mesh = *surface};
  char *const argv[] = {"gmsh", (char *)geo, "-3", "-format", "msh22", "-o", (char *)made, NULL};
  return abd_tets_write(&sheet, in, error) == ABD_OK && write_geo(geo, in, options->edge, error) &&
         run(s, argv, error) && abd_tets_load(made, out, error) == ABD_OK;
}

bool mesher_run(const AbdSurface *surface, const MesherOptions *options, AbdTets *out, bool *missing, AbdError *error) {
  const char *program = options->program;
  Scratch scratch;
  *out = (AbdTets){0};
  if (!program) program = on_path("tetgen") ? "tetgen" : "gmsh";
  *missing = !on_path(program);
  if (*missing)
    return fail(
        error, "%s: no such program on PATH. Install one that fills surfaces with tetrahedra (Debian: apt install %s)",
        options->program ? program : "tetgen, gmsh", options->program ? program : "tetgen, or apt install gmsh");
  if (!scratch_open(&scratch, error)) return false;
  bool ok = strcmp(program, "gmsh") == 0 ? run_gmsh(&scratch, surface, options, out, error)
                                         : run_tetgen(&scratch, surface, options, out, error);
  scratch_close(&scratch);
  if (ok && !out->tet_count)
    ok = fail(error, "%s made no tetrahedra; 'abd check' may name the problem of the surface", program);
  if (!ok) abd_tets_free(out);
  else out->mesh.triangle_count = 0; /* the surface is computed from the tetrahedra */
  return ok;
}
