/* Runs each repetition of a benchmark's row in a separate process, so that its peak memory can be measured and a
 * failure does not affect other rows. The child sends a BenchRun, or an error, through a pipe. */
#define _GNU_SOURCE
#include "bench.h"

#include <abd/scene.h>

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

typedef struct Answer {
  int code;
  bool one_thread;
  double last; /* step_clock after the last step */
  char error[640];
  BenchRun run;
} Answer;

/* ---- The scene ---- */

/* The text of "NAME:KEY=VALUE,KEY=VALUE". */
char *bench_gallery_text(const char *text, size_t *length, AbdError *error) {
  enum { MOST_KEYS = 32 };
  const char *key[MOST_KEYS];
  char *name = strdup(text), *keys = name ? strchr(name, ':') : NULL;
  size_t count = 0;
  if (!name) return snprintf(error->text, sizeof error->text, "out of memory"), NULL;
  if (keys) *keys++ = 0;
  for (char *word = keys ? strtok(keys, ",") : NULL; word && count < MOST_KEYS; word = strtok(NULL, ","))
    key[count++] = word;
  char *made = abd_gallery_text(name, key, count, length, error);
  free(name);
  return made;
}

static AbdScene *gallery_scene(const char *text, const AbdSceneDef *def, AbdError *error) {
  char name[64];
  size_t length = 0;
  snprintf(name, sizeof name, "%.*s", (int)strcspn(text, ":"), text);
  char *made = bench_gallery_text(text, &length, error);
  AbdScene *loaded = made ? abd_scene_parse(made, length, name, def, error) : NULL;
  abd_text_free(made);
  return loaded;
}

static bool is_file(const char *text) {
  size_t length = strlen(text);
  return length > 5 && !strcmp(text + length - 5, ".json");
}

static AbdScene *load_scene(const BenchRow *row, const BenchOptions *o, AbdError *error) {
  char dt[64], device[64];
  const char **set = calloc((size_t)o->set.count + 3, sizeof *set);
  int count = 0;
  if (!set) return snprintf(error->text, sizeof error->text, "out of memory"), NULL;
  if (row->its.set) set[count++] = row->its.set;
  for (int k = 0; k < o->set.count; k++) set[count++] = o->set.text[k];
  const char *where = row->its.device ? row->its.device : o->device;
  if (where) snprintf(device, sizeof device, "solver.device=%.40s", where), set[count++] = device;
  if (row->dt > 0) snprintf(dt, sizeof dt, "dt=%.17g", row->dt), set[count++] = dt;
  AbdSceneDef options = {.mesh_dir = o->mesh_dir, .set = set, .set_count = (size_t)count};
  char *path = NULL;
  AbdScene *scene = NULL;
  if (!is_file(row->scene)) scene = gallery_scene(row->scene, &options, error);
  else if (asprintf(&path, "%s%s%s", row->its.fixture ? o->fixtures : "", row->its.fixture ? "/" : "", row->scene) < 0)
    snprintf(error->text, sizeof error->text, "out of memory");
  else scene = abd_scene_load((const char *const[]){path}, 1, &options, error), free(path);
  free(set);
  return scene;
}

/* ---- In the child ---- */

static double seconds_of(struct timeval t) { return (double)t.tv_sec + 1e-6 * (double)t.tv_usec; }

static double clock_of(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Resident bytes; 0 if the system does not report them. */
static int64_t resident(void) {
  FILE *file = fopen("/proc/self/statm", "r");
  long long pages = 0;
  if (file && fscanf(file, "%*d %lld", &pages) != 1) pages = 0;
  if (file) fclose(file);
  return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

static void count_geometry(const AbdWorld *world, BenchRun *run) {
  run->bodies = (int64_t)abd_world_body_count(world);
  for (uint32_t id = 1; id <= (uint32_t)run->bodies; id++) {
    AbdBodyView body;
    AbdMeshView mesh;
    if (abd_body_view(world, (AbdBodyId){id}, &body) != ABD_OK || abd_mesh_view(world, body.mesh, &mesh) != ABD_OK)
      continue;
    run->triangles += (int64_t)mesh.triangle_count, run->edges += (int64_t)mesh.edge_count;
  }
}

static void add_report(BenchRun *run, const AbdStepReport *r) {
  run->steps++;
  run->iterations += r->iterations, run->substeps += r->substeps;
  if (r->iterations > run->most_iterations) run->most_iterations = r->iterations;
  run->not_converged += r->outcome != ABD_CONVERGED && r->outcome != ABD_KINEMATIC_BLOCKED;
  if (r->contacts > run->contacts_most) run->contacts_most = r->contacts;
  run->box_tests += r->box_tests, run->candidates += r->candidates;
  run->distances += r->distances, run->ccd_calls += r->ccd_calls;
  run->joint_gap = fmax(run->joint_gap, r->joint_residual);
  for (int k = 0; k < ABD_STAGE_COUNT; k++) run->seconds[k] += r->seconds[k];
}

/* Reports have the gaps of nonlinear joints; those of linear joints are in the readings. */
static void add_joints(BenchRun *run, const AbdWorld *world) {
  for (uint32_t id = 1; id <= abd_world_joint_count(world); id++) {
    AbdJointReading reading;
    if (abd_joint_reading(world, (AbdJointId){id}, &reading) == ABD_OK)
      run->joint_gap = fmax(run->joint_gap, reading.residual);
  }
}

/* One reading per step: the processor's clock is a system call, which takes as long as a tenth of a small step. */
static double step_clock(const Answer *answer) {
  return clock_of(answer->one_thread ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC);
}

static bool step_once(const AbdScene *scene, AbdWorld *world, bool measured, Answer *answer) {
  AbdError error;
  AbdStepReport report;
  if (abd_scene_apply(scene, world, &error) != ABD_OK)
    return snprintf(answer->error, sizeof answer->error, "%.600s", error.text), false;
  if (abd_world_step(world, &report) != ABD_OK)
    return snprintf(answer->error, sizeof answer->error, "step %lld: %.500s",
                    (long long)abd_world_step_count(world) + 1, abd_world_error(world)),
           false;
  if (!measured) return true;
  add_report(&answer->run, &report);
  double now = step_clock(answer);
  answer->run.longest = fmax(answer->run.longest, now - answer->last);
  answer->last = now;
  return true;
}

static void run_steps(const AbdScene *scene, AbdWorld *world, int64_t skip, int64_t steps, Answer *answer) {
  struct rusage before, after;
  BenchRun *run = &answer->run;
  answer->code = EXIT_GOOD;
  for (int64_t k = 0; k < skip && answer->code == EXIT_GOOD; k++)
    if (!step_once(scene, world, false, answer)) answer->code = EXIT_FAILED;
  getrusage(RUSAGE_SELF, &before);
  double wall = clock_of(CLOCK_MONOTONIC), cpu = clock_of(CLOCK_PROCESS_CPUTIME_ID);
  answer->last = step_clock(answer);
  for (int64_t k = 0; k < steps && answer->code == EXIT_GOOD; k++)
    if (!step_once(scene, world, true, answer)) answer->code = EXIT_FAILED;
  run->wall = clock_of(CLOCK_MONOTONIC) - wall;
  double spent = clock_of(CLOCK_PROCESS_CPUTIME_ID) - cpu;
  getrusage(RUSAGE_SELF, &after);
  run->load = seconds_of(before.ru_utime);
  run->system = seconds_of(after.ru_stime) - seconds_of(before.ru_stime);
  run->user = spent > run->system ? spent - run->system : spent; /* finer than ru_utime */
  run->memory = resident();
  run->peak = (int64_t)fmax((double)after.ru_maxrss * 1024, (double)run->memory); /* they are measured differently */
  run->hash = abd_world_hash(world);
  add_joints(run, world);
}

static int64_t steps_of(const BenchRow *row, const AbdScene *scene) {
  if (row->steps > 0) return row->steps;
  if (row->its.seconds > 0) return abd_scene_steps_for(scene, row->its.seconds);
  return row->its.steps > 0 ? row->its.steps : 100;
}

static void run_row(const BenchRow *row, const BenchOptions *options, Answer *answer) {
  AbdError error;
  answer->code = EXIT_BAD_INPUT, answer->one_thread = row->threads == 1;
  AbdScene *scene = load_scene(row, options, &error);
  AbdWorld *world = scene ? abd_scene_build(scene, row->threads, &error) : NULL;
  if (!world) {
    snprintf(answer->error, sizeof answer->error, "%.600s", error.text);
  } else if (abd_world_start(world) != ABD_OK) {
    snprintf(answer->error, sizeof answer->error, "%.600s", abd_world_error(world));
  } else {
    answer->run.dt = abd_world_settings(world).dt;
    count_geometry(world, &answer->run);
    run_steps(scene, world, row->its.skip + options->skip, steps_of(row, scene), answer);
  }
  abd_world_destroy(world);
  abd_scene_destroy(scene);
}

/* ---- In the parent ---- */

static bool read_all(int from, void *to, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t got = read(from, (char *)to + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += (size_t)got;
  }
  return true;
}

static bool write_all(int to, const void *from, size_t size) {
  for (size_t done = 0; done < size;) {
    ssize_t put = write(to, (const char *)from + done, size - done);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    done += (size_t)put;
  }
  return true;
}

static void ask_child(const BenchRow *row, const BenchOptions *options, Answer *answer) {
  int ends[2], status = 0;
  *answer = (Answer){.code = EXIT_FAILED};
  fflush(NULL);
  if (pipe(ends) != 0) {
    snprintf(answer->error, sizeof answer->error, "cannot make a pipe: %s", strerror(errno));
    return;
  }
  pid_t child = fork();
  if (child == 0) {
    signal(SIGINT, SIG_DFL), signal(SIGTERM, SIG_DFL);
    run_row(row, options, answer);
    _exit(write_all(ends[1], answer, sizeof *answer) ? 0 : 1);
  }
  close(ends[1]);
  bool answered = child > 0 && read_all(ends[0], answer, sizeof *answer);
  close(ends[0]);
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (answered) return;
  *answer = (Answer){.code = EXIT_FAILED};
  if (child > 0 && WIFSIGNALED(status))
    snprintf(answer->error, sizeof answer->error, "its process was ended by signal %d", WTERMSIG(status));
  else snprintf(answer->error, sizeof answer->error, "its process sent no result");
}

/* A longer row is not repeated. */
static const double long_row = 10; /* [s] */

/* On one thread user time counts, which other work on the machine hardly changes. Threads that wait use it too. */
static bool is_better(const BenchRow *row, const BenchRun *run) {
  return row->threads == 1 ? run->user < row->best.user : run->wall < row->best.wall;
}

int bench_measure(BenchRow *row, const BenchOptions *options) {
  int wanted = options->repeat < BENCH_MOST_RUNS ? (int)options->repeat : BENCH_MOST_RUNS;
  row->runs = 0;
  for (int k = 0; k < wanted && (k == 0 || row->best.wall < long_row); k++) {
    Answer answer;
    ask_child(row, options, &answer);
    if (answer.code == EXIT_GOOD && k > 0 && answer.run.hash != row->best.hash) {
      answer.code = EXIT_FAILED;
      snprintf(answer.error, sizeof answer.error, "run %d ended in another state than run 1", k + 1);
    }
    if (answer.code != EXIT_GOOD) return fprintf(stderr, "abd bench: %s: %s\n", row->name, answer.error), answer.code;
    row->user[row->runs++] = answer.run.user;
    if (k == 0 || is_better(row, &answer.run)) row->best = answer.run;
  }
  return EXIT_GOOD;
}
