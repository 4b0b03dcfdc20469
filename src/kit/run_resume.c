/* Going on with runs, see abd/record.h. */
#include "kit/kit.h"
#include "scene/c_locale.h"

#include <stdlib.h>
#include <string.h>

static int64_t meta_number(Run *run, const char *key, int64_t fallback) {
  char *text = run_read_meta(run, key);
  int64_t value = text ? strtoll(text, NULL, 10) : fallback;
  free(text);
  return value;
}

/* bench/peers writes poses alone. */
static AbdStatus check_engine(AbdRun *run) {
  char *engine = run_read_meta(run->run, "engine");
  AbdStatus status = engine ? fail_with(&run->error, ABD_ERROR_FILE,
                                        "%s was stepped by abd-peers (%s): there is no state to go on from",
                                        run_path(run->run), engine)
                            : ABD_OK;
  free(engine);
  return status;
}

static AbdStatus check_same_scene(AbdRun *run, Scene *scene, const char *text) {
  size_t length;
  const char *named = scene_text(scene, &length);
  if (!named) return fail_with(&run->error, ABD_ERROR_MEMORY, "out of memory for the scene's text");
  if (!strcmp(named, text)) return ABD_OK;
  return fail_with(&run->error, ABD_ERROR_SCENE, "%s was made of another scene or other settings", run_path(run->run));
}

static AbdStatus load_scene(AbdRun *run, AbdScene **scene) {
  SceneError why;
  char *text = run_read_meta(run->run, "scene");
  if (!text) return fail_with(&run->error, ABD_ERROR_FILE, "%s: the file holds no scene to resume", run_path(run->run));
  AbdStatus status = *scene ? check_same_scene(run, (*scene)->scene, text) : ABD_OK;
  if (!*scene) {
    Scene *read = scene_parse(text, strlen(text), run_path(run->run), NULL, &why);
    if (read) *scene = kit_scene(read);
    if (!*scene) status = fail_with(&run->error, ABD_ERROR_SCENE, "%s", read ? "out of memory for a scene" : why.text);
  }
  free(text);
  return status;
}

static const char *added_hint(const char *why) {
  return strstr(why, "which this world does not have") ? ": a program added it between steps, and it alone can go on"
                                                       : "";
}

static AbdStatus restore(AbdRun *run, AbdWorld *world, const void *bytes, size_t size, int64_t step) {
  if (!run_same_world(run->run, world)) return run_failed(run);
  if (abd_world_restore(world, bytes, size) != ABD_OK)
    return fail_with(&run->error, ABD_ERROR_FILE, "%s: cannot restore step %lld: %s%s", run_path(run->run),
                     (long long)step, abd_world_error(world), added_hint(abd_world_error(world)));
  return run_rewind_later(run->run, step) ? ABD_OK : run_failed(run); /* steps after it are made again */
}

static AbdStatus make_world(AbdRun *run, int threads, const AbdScene *scene, AbdWorld **world) {
  void *bytes = NULL;
  size_t size;
  int64_t step;
  if (!run_read_checkpoint(run->run, &bytes, &size, &step)) return run_failed(run);
  *world = abd_scene_build_at(scene, threads, step, &run->error);
  AbdStatus status = *world ? restore(run, *world, bytes, size, step) : run->error.status;
  if (status == ABD_OK && !run_take_colors(run, scene->scene))
    status = fail_with(&run->error, ABD_ERROR_MEMORY, "out of memory for the colours of the scene");
  free(bytes);
  return status;
}

static void read_plan(AbdRun *run, const Scene *scene) {
  run->steps = meta_number(run->run, "steps", scene_steps(scene));
  run->every = meta_number(run->run, "every", 1);
  run->contacts = meta_number(run->run, "contacts", 0);
  run->shards = meta_number(run->run, "shards", 0);
  if (run->every < 1) run->every = 1;
}

static AbdStatus resume(AbdRun *run, const char *path, int threads, AbdScene **scene, AbdWorld **world) {
  RunError why;
  run->run = run_open(path, RUN_APPEND, &why);
  if (!run->run) return fail_with(&run->error, kit_status(why.kind), "%s", why.text);
  AbdStatus status = check_engine(run);
  if (status == ABD_OK) status = load_scene(run, scene);
  if (status == ABD_OK) status = make_world(run, threads, *scene, world);
  if (status != ABD_OK) return status;
  read_plan(run, (*scene)->scene);
  return run_begin_recording(run, *world);
}

AbdRun *abd_run_resume(const char *path, int threads, AbdScene **scene, AbdWorld **world, AbdError *error) {
  IN_C_LOCALE;
  AbdRun *run = calloc(1, sizeof *run);
  *world = NULL;
  if (!run) return fail_with(error, ABD_ERROR_MEMORY, "out of memory for a run"), NULL;
  if (resume(run, path, threads, scene, world) == ABD_OK) return run;
  if (error) *error = run->error;
  abd_run_close(run);
  return NULL;
}

AbdRunDef abd_run_plan(const AbdRun *run) {
  return (AbdRunDef){.steps = run->steps, .every = run->every, .contacts = run->contacts, .shards = run->shards};
}

AbdStatus abd_run_set_plan(AbdRun *run, const AbdRunDef *def) {
  IN_C_LOCALE;
  run->steps = def->steps >= 0 ? def->steps : run->steps;
  run->every = def->every > 1 ? def->every : 1;
  run->contacts = def->contacts, run->shards = def->shards;
  if (run_begin(run->run) && run_write_plan(run) && run_commit(run->run)) return ABD_OK;
  run_failed(run);
  run_rollback(run->run);
  return run->error.status;
}
