/* See session.h. */
#define _GNU_SOURCE
#include "session.h"

#include "scene/setting.h"
#include "slow.h"
#include "trouble.h"
#include "volume.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
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

static int fail_run(const Session *session) {
  return fail(run_error_kind(session->run) == RUN_BAD_FILE ? EXIT_BAD_INPUT : EXIT_FAILED, "%s",
              run_error(session->run));
}

static int code_of(AbdStatus status) {
  switch (status) {
    case ABD_ERROR_ARGUMENT:
    case ABD_ERROR_MESH:
    case ABD_ERROR_CROSSING:
    case ABD_ERROR_JOINT: return EXIT_BAD_INPUT;
    default: return EXIT_FAILED;
  }
}

bool session_is_run_path(const char *path) {
  const char *dot = strrchr(path, '.');
  return dot && !strcasecmp(dot, ".abd");
}

/* ---- Scene and world ---- */

/* --dt S is --set dt=S, after the others so that it wins. */
static Scene *load_scene(const Session *session, const TextList *operand, SceneError *error) {
  const RunOptions *o = &session->options;
  char dt[64];
  const char **set = calloc((size_t)o->set.count + 1, sizeof *set);
  if (!set) return snprintf(error->text, sizeof error->text, "out of memory"), NULL;
  for (int k = 0; k < o->set.count; k++) set[k] = o->set.text[k];
  int count = o->set.count;
  if (o->dt > 0) snprintf(dt, sizeof dt, "dt=%.17g", o->dt), set[count++] = dt;
  SceneOptions options = {.mesh_dir = o->mesh_dir, .set = set, .set_count = count, .mesh_scale = o->mesh_scale};
  Scene *scene = scene_load(operand->text, operand->count, &options, error);
  free(set);
  return scene;
}

static void print_notes(const Session *session) {
  enum { MOST_NOTES = 20 };
  int count = scene_note_count(session->scene);
  for (int k = 0; !session->options.quiet && k < count && k < MOST_NOTES; k++)
    fprintf(stderr, "note: %s\n", scene_note(session->scene, k));
  if (!session->options.quiet && count > MOST_NOTES) fprintf(stderr, "note: and %d more\n", count - MOST_NOTES);
}

/* Which meshes are not clean closed surfaces, and what their bodies weigh. */
static void print_volumes(const AbdWorld *world) {
  for (uint32_t m = 1; m <= abd_world_mesh_count(world); m++) {
    AbdMeshView view;
    char text[VOLUME_TEXT];
    if (abd_mesh_view(world, (AbdMeshId){m}, &view) != ABD_OK || !volume_text(&view, text)) continue;
    if (volume_matters(world, (AbdMeshId){m}, view.volume))
      fprintf(stderr, "note: mesh '%.120s' is %s\n", view.name, text);
  }
}

static void print_warning(void *user, const char *sentence) {
  (void)user;
  fprintf(stderr, "warning: %s\n", sentence);
}

/* --device, else the scene's. */
static int choose_device(Session *session) {
  const char *given = session->options.device, *const *name = abd_enum_names(ABD_ENUM_DEVICE);
  int k = 0;
  if (!given) return EXIT_GOOD;
  while (name[k] && strcmp(name[k], given)) k++;
  if (!name[k]) return fail(EXIT_BAD_INPUT, "--device is '%.100s', expected cpu, cuda or auto", given);
  session->device = (AbdDevice)k;
  scene_use_device(session->scene, &session->device);
  return EXIT_GOOD;
}

static int build_world(Session *session) {
  SceneError error;
  int chosen = choose_device(session);
  if (chosen != EXIT_GOOD) return chosen;
  if (!scene_body_count(session->scene))
    return fail(EXIT_BAD_INPUT, "%s: the scene has no bodies, expected at least one", session->source);
  session->world = scene_build(session->scene, (int)fmin((double)session->options.threads, 4096), &error);
  if (!session->world) return fail(EXIT_BAD_INPUT, "%s: %s", session->source, error.text);
  AbdStatus status = abd_world_start(session->world);
  if (status == ABD_OK) return EXIT_GOOD;
  int code = fail(code_of(status), "%s: %s", session->source, abd_world_error(session->world));
  if (status == ABD_ERROR_CROSSING) trouble_at_start(session);
  return code;
}

static int64_t steps_wanted(const Session *session, int64_t otherwise) {
  if (session->options.steps >= 0) return session->options.steps;
  return session->options.time > 0 ? scene_steps_for(session->scene, session->options.time) : otherwise;
}

/* ---- A new run ---- */

static bool write_number(Run *run, const char *key, int64_t value) {
  char text[32];
  snprintf(text, sizeof text, "%lld", (long long)value);
  return run_write_meta(run, key, text);
}

static bool write_vector(Run *run, const char *key, const double v[3]) {
  char text[96];
  snprintf(text, sizeof text, "%.17g %.17g %.17g", v[0], v[1], v[2]);
  return run_write_meta(run, key, text);
}

static bool write_settings(Run *run, const AbdWorld *world) {
  AbdWorldDef def = abd_world_settings(world);
  char dt[32];
  snprintf(dt, sizeof dt, "%.17g", def.dt);
  double g = sqrt(def.gravity[0] * def.gravity[0] + def.gravity[1] * def.gravity[1] + def.gravity[2] * def.gravity[2]);
  double up[3] = {0, 0, 1};
  for (int k = 0; g > 0 && k < 3; k++) up[k] = def.gravity[k] != 0 ? -def.gravity[k] / g : 0;
  json_t *o = json_object();
  char *text = settings_write(o, ABD_DEF_WORLD, &def) ? json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
  bool good = run_write_meta(run, "dt", dt) && write_vector(run, "gravity", def.gravity) &&
              write_vector(run, "up", up) && run_write_meta(run, "device", abd_world_device(world)) &&
              run_write_meta(run, "settings", text ? text : "{}");
  free(text);
  json_decref(o);
  return good;
}

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

static bool write_origin(Session *session, const TextList *operand) {
  const RunOptions *o = &session->options;
  char *paths = join(operand->text, operand->count, '\n');
  char *line = join((const char *const *)o->argv, o->argc, ' ');
  char created[32];
  time_t now = time(NULL);
  struct tm utc;
  strftime(created, sizeof created, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
  bool good = run_write_meta(session->run, "scene_path", paths ? paths : "") &&
              run_write_meta(session->run, "command", line ? line : "") &&
              run_write_meta(session->run, "created", created);
  free(paths), free(line);
  return good;
}

static bool write_colors(Session *session) {
  bool good = true;
  for (size_t k = 0; good && k < scene_body_count(session->scene); k++) {
    const char *color = scene_body_color(session->scene, k);
    if (color) good = run_write_color(session->run, (uint32_t)k + 1, color);
  }
  return good;
}

static bool write_beginning(Session *session, const TextList *operand, const char *text) {
  Run *run = session->run;
  return run_write_meta(run, "scene_name", scene_name(session->scene)) && run_write_meta(run, "scene", text) &&
         write_origin(session, operand) && write_settings(run, session->world) &&
         write_number(run, "steps", session->target) && write_number(run, "every", session->every) &&
         write_number(run, "contacts", session->contacts) && run_write_world(run, session->world) &&
         write_colors(session) && run_write_frame(run, session->world) && run_write_joints(run, session->world) &&
         run_write_checkpoint(run, session->world) && run_publish(run);
}

bool session_write_start(Session *session, const char *path) {
  RunError error;
  Run *run = run_create(path, &error);
  if (!run) return false;
  Run *own = session->run;
  session->run = run; /* for the colours */
  bool good = run_write_meta(run, "scene_name", scene_name(session->scene)) && write_settings(run, session->world) &&
              write_number(run, "steps", 0) && write_number(run, "every", 1) && run_write_world(run, session->world) &&
              write_colors(session) && run_write_frame(run, session->world) && run_publish(run);
  session->run = own;
  run_close(run);
  return good;
}

static int begin_run(Session *session, const TextList *operand) {
  if (access(session->path, F_OK) == 0 && !session->options.force)
    return fail(EXIT_BAD_INPUT, "%s exists: --resume goes on with it, --force replaces it, -o names another file",
                session->path);
  print_notes(session);
  session->target = steps_wanted(session, scene_steps(session->scene));
  session->every = session->options.every ? session->options.every : 1;
  session->contacts = session->options.contacts;
  int code = build_world(session);
  if (code != EXIT_GOOD) return code;
  if (!session->options.quiet) print_volumes(session->world);
  if (!session->options.quiet) slow_warn(session->world, print_warning, NULL);
  size_t length;
  const char *text = scene_text(session->scene, &length);
  if (!text) return fail(EXIT_FAILED, "out of memory for the scene's text");
  RunError error;
  session->run = run_create(session->path, &error);
  if (!session->run) return fail(error.kind == RUN_BAD_FILE ? EXIT_BAD_INPUT : EXIT_FAILED, "%s", error.text);
  if (write_beginning(session, operand, text)) return EXIT_GOOD;
  code = fail_run(session);
  run_close(session->run), session->run = NULL;
  return code;
}

/* ---- Going on with a run ---- */

static int64_t meta_number(Run *run, const char *key, int64_t fallback) {
  char *text = run_read_meta(run, key);
  int64_t value = text ? strtoll(text, NULL, 10) : fallback;
  free(text);
  return value;
}

/* A scene named beside --resume must be the one the run was made of. */
static int check_same_scene(Session *session, const char *text) {
  size_t length;
  const char *named = scene_text(session->scene, &length);
  if (!named) return fail(EXIT_FAILED, "out of memory for the scene's text");
  if (!strcmp(named, text)) return EXIT_GOOD;
  char word[WORD_SIZE];
  return fail(EXIT_BAD_INPUT,
              "%s was made of another scene or other settings; to go on with it as it was: %s run %s --resume",
              session->path, args_program(), args_word(session->path, word, sizeof word));
}

static int load_recorded_scene(Session *session) {
  char *text = run_read_meta(session->run, "scene");
  if (!text) return fail(EXIT_BAD_INPUT, "%s: the file holds no scene to resume", session->path);
  int code = session->scene ? check_same_scene(session, text) : EXIT_GOOD;
  if (code == EXIT_GOOD && !session->scene) {
    SceneError error;
    session->scene = scene_parse(text, strlen(text), session->path, NULL, &error);
    if (!session->scene) code = fail(EXIT_BAD_INPUT, "%s", error.text);
  }
  free(text);
  return code;
}

static int restore_state(Session *session) {
  void *bytes = NULL;
  size_t size;
  int64_t step;
  if (!run_same_world(session->run, session->world) || !run_read_checkpoint(session->run, &bytes, &size, &step))
    return fail_run(session);
  AbdStatus status = abd_world_restore(session->world, bytes, size);
  free(bytes);
  if (status != ABD_OK)
    return fail(EXIT_BAD_INPUT, "%s: cannot restore step %lld: %s", session->path, (long long)step,
                abd_world_error(session->world));
  return run_rewind(session->run, step) ? EXIT_GOOD : fail_run(session); /* steps after it are made again */
}

static int update_plan(Session *session) {
  Run *run = session->run;
  session->target = steps_wanted(session, meta_number(run, "steps", scene_steps(session->scene)));
  session->every = session->options.every ? session->options.every : meta_number(run, "every", 1);
  session->contacts = session->options.contacts || meta_number(run, "contacts", 0);
  if (session->every < 1) session->every = 1;
  bool good = run_begin(run) && run_write_meta(run, "device", abd_world_device(session->world)) &&
              write_number(run, "steps", session->target) && write_number(run, "every", session->every) &&
              write_number(run, "contacts", session->contacts) && run_commit(run);
  if (!good) return fail_run(session);
  int64_t done = abd_world_step_count(session->world);
  if (session->options.quiet) return EXIT_GOOD;
  if (done >= session->target)
    fprintf(stderr, "%s has %lld of %lld steps already; --steps N with more goes on\n", session->path, (long long)done,
            (long long)session->target);
  else
    fprintf(stderr, "Resuming %s after step %lld of %lld\n", session->path, (long long)done,
            (long long)session->target);
  return EXIT_GOOD;
}

/* abd-peers writes poses alone. */
static int check_engine(Session *session) {
  char *engine = run_read_meta(session->run, "engine");
  int code = engine ? fail(EXIT_BAD_INPUT, "%s was stepped by abd-peers (%s): there is no state to go on from",
                           session->path, engine)
                    : EXIT_GOOD;
  free(engine);
  return code;
}

static int resume_run(Session *session) {
  RunError error;
  session->run = run_open(session->path, RUN_APPEND, &error);
  if (!session->run) return fail(error.kind == RUN_BAD_FILE ? EXIT_BAD_INPUT : EXIT_FAILED, "%s", error.text);
  int code = check_engine(session);
  if (code == EXIT_GOOD) code = load_recorded_scene(session);
  if (code == EXIT_GOOD) code = build_world(session);
  if (code == EXIT_GOOD) code = restore_state(session);
  if (code == EXIT_GOOD) code = update_plan(session);
  if (code == EXIT_GOOD) return code;
  run_close(session->run), session->run = NULL; /* nothing to sum up */
  return code;
}

/* ---- Both ---- */

/* NAME.abd, with what a file name cannot hold replaced. */
static char *default_path(const Scene *scene) {
  char *path = NULL;
  const char *name = scene_name(scene);
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
    SceneError error;
    session->scene = load_scene(session, operand, &error);
    if (!session->scene) return fail(EXIT_BAD_INPUT, "%s", error.text);
  }
  if (o->output) session->path = strdup(o->output);
  else session->path = run_named ? strdup(operand->text[0]) : default_path(session->scene);
  if (!session->path) return fail(EXIT_FAILED, "out of memory");
  session->source = operand->count ? operand->text[0] : session->path;
  if (o->resume && (access(session->path, F_OK) == 0 || !session->scene)) return resume_run(session);
  return begin_run(session, operand);
}

int session_open(Session *session, const TextList *operand) {
  int code = open_file(session, operand);
  if (code != EXIT_GOOD) return code;
  session->recorded = true;
  if (!run_start_writer(session->run)) code = fail_run(session);
  else if (!session_keep_state(session)) code = fail(EXIT_FAILED, "out of memory for the state of the world");
  if (code != EXIT_GOOD) run_close(session->run), session->run = NULL;
  return code;
}

void session_close(Session *session) {
  run_close(session->run);
  abd_world_destroy(session->world);
  scene_destroy(session->scene);
  free(session->path), free(session->start_path), free(session->state[0].bytes), free(session->state[1].bytes);
}
