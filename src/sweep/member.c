/* Runs one member of a study: loads its scene with its settings, steps, measures (abd/sweep.h).
 * Tests: tests/test_sweep.c. */
#define _GNU_SOURCE
#include <abd/record.h>
#include <abd/scene.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "scene/c_locale.h"
#include "sweep/study.h"

typedef struct Texts {
  char **text;
  size_t count;
} Texts; /* "name=value" */

typedef struct Member {
  AbdScene *scene;
  AbdWorld *world;
  AbdRun *run; /* NULL if the study keeps no runs */
} Member;

static double clock_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- Settings as texts ---- */

static void texts_destroy(Texts *list) {
  for (size_t k = 0; k < list->count; k++) free(list->text[k]);
  free(list->text);
}

static bool texts_add(Texts *list, const char *name, const json_t *value) {
  char *word = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(17));
  bool good = word && asprintf(&list->text[list->count], "%s=%s", name, word) >= 0;
  list->count += good;
  free(word);
  return good;
}

/* Adds the entries whose names begin with the prefix, without it, or if `others`, all that do not. */
static bool texts_take(Texts *list, json_t *settings, const char *prefix, bool others) {
  const char *name;
  json_t *value;
  size_t length = strlen(prefix);
  char **grown = realloc(list->text, (list->count + json_object_size(settings) + 1) * sizeof *grown);
  if (!grown) return false;
  list->text = grown;
  json_object_foreach(settings, name, value) {
    bool begins = strncmp(name, prefix, length) == 0;
    if (begins == others || !strcmp(name, "seed")) continue;
    if (!texts_add(list, others ? name : name + length, value)) return false;
  }
  return true;
}

/* ---- The scene ---- */

static AbdStatus out_of_memory(AbdError *error) {
  return fail_with(error, ABD_ERROR_MEMORY, "out of memory for a member");
}

static bool gallery_keys(const AbdStudy *study, json_t *settings, Texts *keys) {
  const char *name;
  json_t *value;
  keys->text = calloc(json_object_size(study->keys) + 1, sizeof *keys->text);
  if (!keys->text) return false;
  json_object_foreach(study->keys, name, value) {
    if (name[0] != '#' && !texts_add(keys, name, value)) return false;
  }
  return texts_take(keys, settings, "gallery.", false);
}

static AbdScene *gallery_scene(const AbdStudy *study, json_t *settings, const AbdSceneDef *def, AbdError *error) {
  Texts keys = {0};
  size_t length;
  char *text = NULL;
  if (!gallery_keys(study, settings, &keys)) out_of_memory(error);
  else text = abd_gallery_text(study->gallery, (const char *const *)keys.text, keys.count, &length, error);
  AbdScene *scene = text ? abd_scene_parse(text, length, study->gallery, def, error) : NULL;
  abd_text_free(text);
  texts_destroy(&keys);
  return scene;
}

static AbdScene *load_scene(const AbdStudy *study, size_t number, AbdError *error) {
  Texts set = {0};
  AbdScene *scene = NULL;
  AbdSceneDef def = abd_default_scene_def();
  json_t *settings = study_settings(study, number);
  if (settings && texts_take(&set, settings, "gallery.", true)) {
    const char *path = study->scene;
    def.set = (const char *const *)set.text, def.set_count = set.count;
    scene = study->gallery ? gallery_scene(study, settings, &def, error) : abd_scene_load(&path, 1, &def, error);
  } else out_of_memory(error);
  json_decref(settings);
  texts_destroy(&set);
  return scene;
}

/* FNV-1a. */
static uint64_t hash_text(const char *text, size_t length) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t k = 0; k < length; k++) hash = (hash ^ (unsigned char)text[k]) * 0x100000001b3u;
  return hash;
}

AbdStatus study_scene_hash(const AbdStudy *study, uint64_t *hash, AbdError *error) {
  AbdError own;
  size_t length;
  AbdScene *scene = load_scene(study, 0, &own);
  if (!scene) return fail_with(error, own.status, "%s", own.text);
  const char *text = abd_scene_text(scene, &length);
  if (text) *hash = hash_text(text, length);
  abd_scene_destroy(scene);
  return text ? ABD_OK : out_of_memory(error);
}

/* ---- The world ---- */

static AbdStatus member_open(Member *member, const AbdStudy *study, size_t number, int threads, AbdError *error) {
  *member = (Member){0};
  member->scene = load_scene(study, number, error);
  if (!member->scene) return error->status;
  member->world = abd_scene_build(member->scene, threads, error);
  if (!member->world) return error->status;
  /* a name that is not there may be of a body that comes later */
  bool all = abd_world_body_count(member->world) == abd_scene_body_count(member->scene);
  for (size_t k = 0; all && k < study->figure_count; k++)
    if (!figure_find(&study->figure[k], member->world, error)) return error->status;
  return ABD_OK;
}

static void member_close(Member *member) {
  abd_run_close(member->run);
  abd_world_destroy(member->world);
  abd_scene_destroy(member->scene);
}

static AbdStatus world_failed(const Member *member, AbdStatus status, AbdError *error) {
  return fail_with(error, status, "step %lld: %s", (long long)abd_world_step_count(member->world) + 1,
                   abd_world_error(member->world));
}

static int64_t step_count(const AbdStudy *study, const AbdScene *scene) {
  if (study->steps >= 0) return study->steps;
  return study->time > 0 ? abd_scene_steps_for(scene, study->time) : abd_scene_steps(scene);
}

static AbdStatus begin_run(Member *member, const AbdStudy *study, size_t number, AbdError *error) {
  char path[4096];
  if (!study->runs) return ABD_OK;
  if (mkdir(study->runs, 0777) != 0 && errno != EEXIST)
    return fail_with(error, ABD_ERROR_DISK, "%s: cannot make the folder: %s", study->runs, strerror(errno));
  snprintf(path, sizeof path, "%s/%06zu.abd", study->runs, number);
  AbdRunDef def = abd_default_run_def();
  def.replace = true, def.steps = step_count(study, member->scene), def.source = study->file;
  member->run = abd_run_create(path, &def, member->scene, member->world, error);
  return member->run ? ABD_OK : error->status;
}

static AbdStatus take_step(Member *member, const AbdStudy *study, AbdMemberResult *result, double *value,
                           AbdError *error) {
  AbdStepReport report;
  AbdStatus status = abd_scene_apply(member->scene, member->world, error);
  if (status != ABD_OK) return status;
  status = abd_world_step(member->world, &report);
  if (status != ABD_OK) return world_failed(member, status, error);
  result->not_converged += report.outcome != ABD_CONVERGED && report.outcome != ABD_KINEMATIC_BLOCKED;
  for (size_t k = 0; k < study->figure_count; k++) figure_step(&study->figure[k], member->world, &report, value);
  if (!member->run || abd_run_record(member->run, member->world, &report) == ABD_OK) return ABD_OK;
  return fail_with(error, ABD_ERROR_DISK, "%s", abd_run_error(member->run));
}

static AbdStatus run_steps(Member *member, const AbdStudy *study, AbdMemberResult *result, double *value,
                           AbdError *error) {
  int64_t steps = step_count(study, member->scene);
  AbdStatus status = ABD_OK;
  for (size_t k = 0; k < study->figure_count; k++) figure_begin(&study->figure[k], value);
  while (status == ABD_OK && abd_world_step_count(member->world) < steps)
    status = take_step(member, study, result, value, error);
  if (status != ABD_OK) return status;
  for (size_t k = 0; k < study->figure_count; k++) figure_end(&study->figure[k], member->world, steps, value);
  result->steps = steps, result->hash = abd_world_hash(member->world);
  if (!member->run || abd_run_finish(member->run, member->world) == ABD_OK) return ABD_OK;
  return fail_with(error, ABD_ERROR_DISK, "%s", abd_run_error(member->run));
}

AbdStatus abd_study_check(const AbdStudy *study, size_t number, AbdError *error) {
  IN_C_LOCALE;
  AbdError own;
  Member member;
  AbdStatus status = member_open(&member, study, number, 1, &own);
  member_close(&member);
  return status == ABD_OK ? status : fail_with(error, status, "%s", own.text);
}

AbdStatus abd_study_run(const AbdStudy *study, size_t number, int threads, AbdMemberResult *result, double *value,
                        AbdError *error) {
  IN_C_LOCALE;
  AbdError own;
  Member member;
  double begun = clock_seconds();
  *result = (AbdMemberResult){0};
  AbdStatus status = member_open(&member, study, number, threads, &own);
  if (status == ABD_OK && (status = abd_world_start(member.world)) != ABD_OK)
    fail_with(&own, status, "%s", abd_world_error(member.world));
  if (status == ABD_OK) status = begin_run(&member, study, number, &own);
  if (status == ABD_OK) status = run_steps(&member, study, result, value, &own);
  member_close(&member);
  result->seconds = clock_seconds() - begun;
  return status == ABD_OK ? status : fail_with(error, status, "%s", own.text);
}
