/* See session.h. */
#define _GNU_SOURCE
#include "session.h"

#include "mpirun.h"
#include "slow.h"
#include "stop.h"
#include "trouble.h"
#include "volume.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *command_name = "run"; /* the command on whose behalf it speaks */

static int fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int fail(int code, const char *format, ...) {
  va_list list;
  va_start(list, format);
  fprintf(stderr, "abd %s: ", command_name);
  vfprintf(stderr, format, list);
  fputc('\n', stderr);
  va_end(list);
  return code;
}

static int code_of(AbdStatus status) {
  switch (status) {
    case ABD_ERROR_ARGUMENT:
    case ABD_ERROR_MESH:
    case ABD_ERROR_CROSSING:
    case ABD_ERROR_JOINT:
    case ABD_ERROR_SCENE:
    case ABD_ERROR_FILE: return EXIT_BAD_INPUT;
    default: return EXIT_FAILED;
  }
}

bool session_is_run_path(const char *path) {
  const char *dot = strrchr(path, '.');
  return dot && !strcasecmp(dot, ".abd");
}

/* ---- Scene and world ---- */

/* --dt S is --set dt=S, after the others so that it wins. */
static AbdScene *load_scene(const Session *session, const TextList *operand, AbdError *error) {
  const RunOptions *o = &session->options;
  char dt[64], device[64];
  const char **set = calloc((size_t)o->set.count + 2, sizeof *set);
  if (!set) return snprintf(error->text, sizeof error->text, "out of memory"), NULL;
  for (int k = 0; k < o->set.count; k++) set[k] = o->set.text[k];
  int count = o->set.count;
  if (o->dt > 0) snprintf(dt, sizeof dt, "dt=%.17g", o->dt), set[count++] = dt;
  if (o->device) snprintf(device, sizeof device, "solver.device=%.40s", o->device), set[count++] = device;
  AbdSceneDef def = abd_default_scene_def();
  def.mesh_dir = o->mesh_dir, def.set = set, def.set_count = (size_t)count, def.mesh_scale = o->mesh_scale;
  def.geometry = o->robot.geometry, def.base = o->robot.base, def.keyframe = o->robot.keyframe,
  def.hold = o->robot.hold;
  AbdScene *scene = abd_scene_load(operand->text, (size_t)operand->count, &def, error);
  free(set);
  return scene;
}

static void print_notes(const Session *session) {
  enum { MOST_NOTES = 20 };
  size_t count = abd_scene_note_count(session->scene);
  for (size_t k = 0; !session->options.quiet && k < count && k < MOST_NOTES; k++)
    fprintf(stderr, "note: %s\n", abd_scene_note(session->scene, k));
  if (!session->options.quiet && count > MOST_NOTES) fprintf(stderr, "note: and %zu more\n", count - MOST_NOTES);
}

/* Which meshes are not clean closed surfaces, and what their bodies weigh. */
static void print_volumes(const AbdWorld *world) {
  for (uint32_t m = 1; m <= abd_world_mesh_count(world); m++) {
    AbdMeshView view;
    char text[VOLUME_TEXT];
    if (abd_mesh_view(world, (AbdMeshId){m}, &view) != ABD_OK) continue;
    if (!volume_text(&view, text) && !volume_sheet_text(&view, text)) continue;
    if (volume_matters(world, (AbdMeshId){m}, view.volume))
      fprintf(stderr, "note: mesh '%.120s' is %s\n", view.name, text);
  }
}

static void print_warning(void *user, const char *sentence) {
  (void)user;
  fprintf(stderr, "warning: %s\n", sentence);
}

/* A sentence about an end before the first step. */
static void say_stopped(const Session *session) {
  char word[WORD_SIZE];
  if (session->resumable)
    dprintf(STDERR_FILENO, "%s while loading; %s is as it was. Go on with: %s run %s --resume\n", stop_words(),
            session->path, args_program(), args_word(session->path, word, sizeof word));
  else dprintf(STDERR_FILENO, "%s while loading; no run file was written\n", stop_words());
}

static int stopped(const Session *session) {
  say_stopped(session);
  return EXIT_INTERRUPTED;
}

int session_late(void *user) {
  const Session *session = user;
  char word[WORD_SIZE];
  if (!session->path && session->stepping) return EXIT_INTERRUPTED; /* it is over, or rank 0 prints */
  if (session->path && !session->resumable) abd_run_discard(session->path);
  if (!session->resumable || !session->stepping) say_stopped(session);
  else
    dprintf(STDERR_FILENO, "\n%s. Go on with: %s run %s --resume\n", stop_words(), args_program(),
            args_word(session->path, word, sizeof word));
  return EXIT_INTERRUPTED;
}

/* On several ranks the cores are divided by mpirun: a rank has one thread unless more are asked for. */
static int thread_count(const Session *session) {
  bool single = session->options.threads == 0 && abd_mpi_count() > 1;
  return single ? 1 : (int)fmin((double)session->options.threads, 4096);
}

/* A resumed run goes on on the device given by --device. */
static int choose_device(Session *session) {
  const char *given = session->options.device, *const *name = abd_enum_names(ABD_ENUM_DEVICE);
  int k = 0;
  if (!given) return EXIT_GOOD;
  while (name[k] && strcmp(name[k], given)) k++;
  if (!name[k]) return fail(EXIT_BAD_INPUT, "--device is '%.100s', expected cpu, cuda or auto", given);
  AbdStatus status = abd_world_set_device(session->world, (AbdDevice)k);
  return status == ABD_OK ? EXIT_GOOD : fail(code_of(status), "%s", abd_world_error(session->world));
}

/* Which machine goes on, if it is another one than before. */
static int compare_devices(const Session *session) {
  char word[WORD_SIZE];
  const char *now = abd_world_device(session->world), *before = abd_run_meta(session->run, "device");
  if (!*now)
    return fail(EXIT_BAD_INPUT,
                "%s was made with solver.device \"cuda\", but %s. Go on with: %s run %s --resume --device cpu",
                session->path, abd_cuda_missing(), args_program(), args_word(session->path, word, sizeof word));
  size_t length = before ? strlen(before) : 0, end = strlen(now);
  if (!session->options.quiet && length && (length < end || strcmp(before + length - end, now)))
    fprintf(stderr, "note: steps so far were made on %s; %s goes on\n", before, now);
  return EXIT_GOOD;
}

static int build_world(Session *session) {
  AbdError error;
  session->world = abd_scene_build(session->scene, thread_count(session), &error);
  if (!session->world) return fail(EXIT_BAD_INPUT, "%s: %s", session->source, error.text);
  stop_watch(session->world);
  AbdStatus status = abd_world_start(session->world);
  if (status == ABD_OK) return EXIT_GOOD;
  if (status == ABD_INTERRUPTED) return stopped(session);
  int code = fail(code_of(status), "%s: %s", session->source, abd_world_error(session->world));
  if (status == ABD_ERROR_CROSSING) trouble_at_start(session);
  return code;
}

static int64_t steps_wanted(const Session *session, int64_t otherwise) {
  if (session->options.steps >= 0) return session->options.steps;
  return session->options.time > 0 ? abd_scene_steps_for(session->scene, session->options.time) : otherwise;
}

/* ---- A new run ---- */

/* The texts with a separator between them, malloc'ed. */
static char *join(const char *const *text, int count, char separator) {
  size_t size = 1, used = 0;
  for (int k = 0; k < count; k++) size += strlen(text[k]) + 1;
  char *joined = malloc(size);
  if (!joined) return NULL;
  joined[0] = 0;
  for (int k = 0; k < count; k++) {
    if (k) joined[used++] = separator;
    used += (size_t)sprintf(joined + used, "%s", text[k]);
  }
  return joined;
}

static AbdRun *create_run(Session *session, const TextList *operand, AbdError *error) {
  const RunOptions *o = &session->options;
  char *source = join(operand->text, operand->count, '\n');
  char *line = join((const char *const *)o->argv, o->argc, ' ');
  AbdRunDef def = {.replace = true, .steps = session->target, .every = session->every, .contacts = session->contacts};
  def.shards = session->shards;
  def.source = source, def.command = line;
  AbdRun *run = abd_run_create(session->path, &def, session->scene, session->world, error);
  free(source), free(line);
  return run;
}

static int begin_run(Session *session, const TextList *operand) {
  struct stat about;
  bool exists = stat(session->path, &about) == 0;
  if (exists && !S_ISREG(about.st_mode))
    return fail(EXIT_BAD_INPUT, "%s: not a regular file; a run cannot be written there", session->path);
  if (exists && !session->options.force)
    return fail(EXIT_BAD_INPUT, "%s exists: --resume goes on with it, --force replaces it, -o names another file",
                session->path);
  print_notes(session);
  session->target = steps_wanted(session, abd_scene_steps(session->scene));
  session->every = session->options.every ? session->options.every : 1;
  session->contacts = session->options.contacts, session->shards = session->options.shards;
  int code = build_world(session);
  if (code != EXIT_GOOD) return code;
  if (!session->options.quiet) print_volumes(session->world);
  if (!session->options.quiet) slow_warn(session->world, print_warning, NULL);
  if (stop_cause()) return stopped(session);
  AbdError error;
  session->run = create_run(session, operand, &error);
  session->resumable = session->run != NULL;
  return session->run ? EXIT_GOOD : fail(code_of(error.status), "%s", error.text);
}

/* ---- Going on with a run ---- */

/* Applies the options to the plan of the run, and prints what is left of it. Fewer steps than the run has do not
 * change its plan. */
static int update_plan(Session *session) {
  AbdRunDef plan = abd_run_plan(session->run);
  int64_t done = abd_world_step_count(session->world), lost = abd_run_lost_frames(session->run);
  session->target = steps_wanted(session, plan.steps);
  if (session->target >= done) plan.steps = session->target;
  session->every = plan.every = session->options.every ? session->options.every : plan.every;
  session->contacts = plan.contacts |= session->options.contacts;
  session->shards = plan.shards |= session->options.shards;
  AbdStatus status = abd_run_set_plan(session->run, &plan);
  if (status != ABD_OK) return fail(code_of(status), "%s", abd_run_error(session->run));
  if (lost)
    fprintf(stderr, "warning: %lld frames up to step %lld were not written by all ranks and are left out\n",
            (long long)lost, (long long)done);
  if (session->options.quiet) return EXIT_GOOD;
  if (done >= session->target)
    fprintf(stderr, "%s has %lld of %lld steps already; --steps N with more goes on\n", session->path, (long long)done,
            (long long)plan.steps);
  else
    fprintf(stderr, "Resuming %s after step %lld of %lld\n", session->path, (long long)done,
            (long long)session->target);
  return EXIT_GOOD;
}

static int resume_run(Session *session) {
  AbdError error;
  bool named = session->scene != NULL;
  session->resumable = access(session->path, R_OK) == 0;
  session->run = abd_run_resume(session->path, thread_count(session), &session->scene, &session->world, &error);
  if (!session->run) {
    char word[WORD_SIZE];
    int code = fail(code_of(error.status), "%s", error.text);
    if (named && error.status == ABD_ERROR_SCENE)
      fprintf(stderr, "To go on with it as it was: %s run %s --resume\n", args_program(),
              args_word(session->path, word, sizeof word));
    return code;
  }
  stop_watch(session->world);
  int code = choose_device(session);
  if (code == EXIT_GOOD) code = compare_devices(session);
  if (code == EXIT_GOOD) code = update_plan(session);
  if (code != EXIT_GOOD) abd_run_close(session->run), session->run = NULL; /* nothing to sum up */
  return code;
}

/* ---- Both ---- */

/* NAME.abd, with what a file name cannot hold replaced. */
static char *default_path(const AbdScene *scene) {
  char *path = NULL;
  const char *name = abd_scene_name(scene);
  if (asprintf(&path, "%s.abd", name && *name ? name : "run") < 0) return NULL;
  for (char *c = path; *c; c++)
    if (*c == '/' || (unsigned char)*c < 32) *c = '_';
  return path;
}

static int open_file(Session *session, const TextList *operand) {
  const RunOptions *o = &session->options;
  if (o->argc) command_name = o->argv[0];
  bool run_named = operand->count == 1 && session_is_run_path(operand->text[0]);
  if (operand->count && !run_named) {
    AbdError error;
    session->scene = load_scene(session, operand, &error);
    if (!session->scene) return fail(EXIT_BAD_INPUT, "%s", error.text);
    if (stop_cause()) return stopped(session);
  }
  if (o->output) session->path = strdup(o->output);
  else session->path = run_named ? strdup(operand->text[0]) : default_path(session->scene);
  if (!session->path) return fail(EXIT_FAILED, "out of memory");
  session->source = operand->count ? operand->text[0] : session->path;
  if (o->resume && (access(session->path, F_OK) == 0 || !session->scene)) return resume_run(session);
  return begin_run(session, operand);
}

/* ---- Several ranks: rank 0 reads and writes all files ---- */

/* Copies what rank 0 has to the others; size is that of rank 0. */
static bool spread(const void *bytes, size_t *size, void **copy) {
  *copy = (void *)bytes;
  return abd_mpi_spread(copy, size);
}

static int give_world(Session *session) {
  size_t length = 0, size = abd_world_snapshot_size(session->world), step_size = sizeof(int64_t);
  int64_t step = abd_world_step_count(session->world);
  const char *text = abd_scene_text(session->scene, &length);
  void *state = malloc(size + 1), *copy;
  bool good = text && state && abd_world_save(session->world, state, size) == ABD_OK;
  good = abd_mpi_agree(good) && spread(&step, &step_size, &copy) && spread(text, &length, &copy) &&
         spread(state, &size, &copy);
  free(state);
  return good ? EXIT_GOOD : fail(EXIT_FAILED, "out of memory for the state of the world");
}

static AbdStatus make_world(Session *session, const char *text, size_t length, const void *state, size_t size,
                            int64_t step, AbdError *error) {
  session->scene = abd_scene_parse(text, length, session->source, NULL, error);
  if (!session->scene) return error->status;
  session->world = abd_scene_build_at(session->scene, thread_count(session), step, error);
  if (!session->world) return error->status;
  AbdStatus status = abd_world_restore(session->world, state, size);
  if (status == ABD_OK) stop_watch(session->world);
  else snprintf(error->text, sizeof error->text, "%s", abd_world_error(session->world));
  return status;
}

/* builds: this rank makes a world of what it receives. */
static int take_world(Session *session, bool builds) {
  AbdError error = {.text = "out of memory for the state of the world"};
  void *step = NULL, *text = NULL, *state = NULL;
  size_t step_size = 0, length = 0, size = 0;
  AbdStatus status = ABD_ERROR_MEMORY;
  abd_world_destroy(session->world), abd_scene_destroy(session->scene); /* of ranks that could not share it */
  session->world = NULL, session->scene = NULL;
  bool came = abd_mpi_agree(true) && abd_mpi_spread(&step, &step_size) && abd_mpi_spread(&text, &length) &&
              abd_mpi_spread(&state, &size);
  if (came && !builds) status = ABD_OK;
  else if (came) status = make_world(session, text, length, state, size, *(int64_t *)step, &error);
  free(step), free(text), free(state);
  return status == ABD_OK ? EXIT_GOOD : fail(EXIT_FAILED, "%s", error.text);
}

/* From rank 0 to the others. */
static int send_world(Session *session, bool builds) {
  return mpirun_worst_code(abd_mpi_rank() == 0 ? give_world(session) : take_world(session, builds));
}

/* Memory that the reader of scenes has freed goes back to the machine. */
static void free_unused(void) {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

/* The ranks of a machine share one world if the scene does nothing to it. Only the first of each machine reads the
 * scene then. *shared: they do. */
static int share_world(Session *session, bool *shared) {
  AbdError error = {0};
  int code = EXIT_GOOD, rank;
  *shared = abd_mpi_worst(session->scene && abd_scene_acts(session->scene), &rank) == 0;
  if (!*shared) return code;
  if (abd_mpi_machines() > 1) code = send_world(session, abd_mpi_leads());
  if (code != EXIT_GOOD) return code;
  *shared = abd_mpi_share_world(&session->world, session->contacts, &error);
  if (*shared) {
    stop_watch(session->world);
    abd_scene_destroy(session->scene); /* it has no more to do */
    session->scene = NULL;
    free_unused();
  }
  if (error.status == ABD_ERROR_MEMORY) return fail(EXIT_FAILED, "%s", error.text);
  if (error.status != ABD_OK && !session->options.quiet) fprintf(stderr, "note: %s\n", error.text);
  return code;
}

static int spread_plan(Session *session) {
  int64_t own[3] = {session->target, session->contacts, session->shards};
  size_t size = sizeof own;
  void *plan = own;
  if (!abd_mpi_spread(&plan, &size)) return fail(EXIT_FAILED, "out of memory");
  session->target = ((int64_t *)plan)[0], session->contacts = ((int64_t *)plan)[1] != 0;
  session->shards = ((int64_t *)plan)[2] != 0;
  if (plan != own) free(plan);
  return EXIT_GOOD;
}

static int open_on_ranks(Session *session, const TextList *operand) {
  int code = EXIT_GOOD;
  bool shared;
  if (abd_mpi_rank() == 0) code = open_file(session, operand);
  else session->source = operand->count ? operand->text[0] : "the run";
  if ((code = mpirun_worst_code(code)) != EXIT_GOOD) return code;
  if ((code = mpirun_worst_code(spread_plan(session))) != EXIT_GOOD) return code;
  code = mpirun_worst_code(share_world(session, &shared));
  return code != EXIT_GOOD || shared ? code : send_world(session, true);
}

/* Ranks that did not fail themselves have no sentence. */
static int divide(Session *session) {
  AbdError error = {.text = ""};
  session->part = abd_run_divide(session->run, session->world, &error);
  return session->part || !*error.text ? EXIT_GOOD : fail(code_of(error.status), "%s", error.text);
}

int session_open(Session *session, const TextList *operand) {
  int code = abd_mpi_count() > 1 ? open_on_ranks(session, operand) : open_file(session, operand);
  if (code == EXIT_GOOD && session->shards && !session->shown) code = mpirun_worst_code(divide(session));
  session->stepping = code == EXIT_GOOD;
  return code;
}

/* What this rank records its steps in; NULL on ranks that write nothing. */
static AbdRun *writer_of(const Session *session) { return session->part ? session->part : session->run; }

const char *session_failure(const Session *session, int64_t *missing) {
  *missing = abd_run_missing_step(writer_of(session));
  return abd_run_error(writer_of(session));
}

bool session_record(Session *session, const AbdStepReport *report) {
  AbdRun *run = writer_of(session);
  return !run || abd_run_record(run, session->world, report) == ABD_OK;
}

void session_settle(Session *session) {
  if (session->part) abd_run_settle(session->part);
}

bool session_finish(Session *session) {
  AbdRun *run = writer_of(session);
  bool good = !run || abd_run_finish(run, session->world) == ABD_OK;
  if (good && session->part != session->run) abd_run_close(session->part), session->part = NULL; /* rank 0 reads it */
  return good;
}

bool session_restart(Session *session, const void *bytes, size_t size) {
  AbdWorld *world = abd_scene_build(session->scene, thread_count(session), NULL);
  bool good = world && abd_world_restore(world, bytes, size) == ABD_OK;
  if (good) stop_watch(world);
  abd_world_destroy(good ? session->world : world);
  if (good) session->world = world;
  return good;
}

void session_close(Session *session) {
  stop_watch(NULL);
  if (session->part != session->run) abd_run_close(session->part);
  abd_run_close(session->run);
  abd_world_destroy(session->world);
  abd_scene_destroy(session->scene);
  char *path = session->path;
  session->path = NULL; /* of session_late */
  free(path), free(session->start_path);
}
