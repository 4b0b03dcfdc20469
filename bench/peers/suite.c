/* See suite.h. */
#define _GNU_SOURCE
#include "suite.h"

#include "scene/gallery.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define BALL(stack, rate, time)                                                                                        \
  { "ball-" stack, "ball", {"stack"}, {stack}, "contact.friction=0.5", rate, time, 0.2, STORY_IMPACT }

/* The full stack runs half as long as the others: abd takes a minute for it. */
const Case *suite_cases(void) {
  static const Case list[] = {
      BALL("light", 100, 1),
      BALL("light", 240, 1),
      BALL("light", 1000, 1),
      BALL("medium", 100, 1),
      BALL("medium", 240, 1),
      BALL("medium", 1000, 1),
      BALL("full", 100, 0.5),
      BALL("full", 240, 0.5),
      BALL("full", 1000, 0.5),
      {"net-8", "net", {0}, {0}, NULL, 100, 2, 0.5, STORY_HANG},
      {"arch-101", "arch", {"stones"}, {"101"}, NULL, 100, 3, 0.5, STORY_STAND},
      {"arch-25", "arch", {0}, {0}, NULL, 1000, 3, 0.5, STORY_STAND},
      {"cards-10", "cards", {"boxes"}, {"0"}, NULL, 100, 3, 0.5, STORY_STAND},
      {"cards-3", "cards", {"boxes", "levels"}, {"0", "3"}, NULL, 1000, 3, 0.5, STORY_STAND},
      {"screw", "screw", {0}, {0}, NULL, 100, 1, 0.2, STORY_TURN},
      {0},
  };
  return list;
}

/* ---- The scene as a file ---- */

static bool set_keys(const Case *one, const GalleryScene *scene, double *value, SceneError *error) {
  gallery_defaults(scene, value);
  for (int k = 0; k < 2 && one->key[k]; k++)
    for (int i = 0; scene->key[i].name; i++)
      if (!strcmp(scene->key[i].name, one->key[k]) && !gallery_read(&scene->key[i], one->value[k], &value[i], error))
        return false;
  return true;
}

/* A new file in the temporary folder; NULL and a printed sentence on failure. */
static char *scene_file(const Case *one) {
  const GalleryScene *scene = gallery_find(one->gallery);
  double value[GALLERY_KEY_LIMIT];
  SceneError error = {"no such scene"};
  size_t length = 0;
  char *text = scene && set_keys(one, scene, value, &error) ? gallery_text(scene, value, &length, &error) : NULL;
  char *path = NULL;
  const char *folder = getenv("TMPDIR");
  if (!text || asprintf(&path, "%s/abd-peers-XXXXXX.json", folder ? folder : P_tmpdir) < 0) {
    fprintf(stderr, "abd-peers: %s: %s\n", one->gallery, error.text);
    return free(text), NULL;
  }
  int file = mkstemps(path, 5);
  bool good = file >= 0 && write(file, text, length) == (ssize_t)length;
  if (file >= 0) close(file);
  free(text);
  if (good) return path;
  fprintf(stderr, "abd-peers: cannot write %s\n", path);
  return free(path), NULL;
}

/* ---- What happened ---- */

static void describe_result(const Case *one, const TrialResult *r, char *text, size_t size) {
  double seconds = (double)r->steps * r->dt;
  int used = 0;
  if (one->story == STORY_STAND && r->fall_time < 0) used = snprintf(text, size, "stands");
  if (one->story == STORY_STAND && r->fall_time >= 0) used = snprintf(text, size, "falls: %.2g s", r->fall_time);
  if (one->story == STORY_HANG)
    used = snprintf(text, size, r->sink > 8 ? "torn: rings %.3g m below" : "sags by %.3g m", r->sink);
  if (one->story == STORY_TURN)
    used = snprintf(text, size, "%.2g turns, %.0f mm down", r->turns < 0 ? -r->turns : r->turns, 1e3 * r->sink);
  if (*r->trouble)
    snprintf(text + used, size - (size_t)used, "%sends at %.2g s: %s", used ? "; " : "", seconds, r->trouble);
}

/* ---- One process for each ---- */

static int frames_apart(int rate) { return rate > 100 ? rate / 100 : 1; }

/* Never returns. */
static void child(const Case *one, const Engine *engine, bool quick, bool timing, const char *scene, int out) {
  double time = quick ? one->quick_time : one->time, limit = quick ? 20 : 60;
  struct rlimit cpu = {(rlim_t)(3 * limit), (rlim_t)(3 * limit)};
  TrialDef def = {.scene = scene,
                  .engine = engine,
                  .dt = 1.0 / one->rate,
                  .time = time,
                  .every = frames_apart(one->rate),
                  .limit = limit,
                  .timing = timing,
                  .set = &one->set,
                  .set_count = one->set != NULL};
  TrialResult result;
  char story[PEER_ERROR_SIZE + 128] = "";
  setrlimit(RLIMIT_CPU, &cpu);
  int code = trial_run(&def, &result);
  if (code == 0) describe_result(one, &result, story, sizeof story);
  json_t *object = trial_json(&def, &result);
  json_object_set_new(object, "story", json_string(code == 0 ? story : result.trouble));
  FILE *stream = fdopen(out, "w");
  bool good =
      (code == 0 || *result.trouble) && object && stream && json_dumpf(object, stream, 0) == 0 && fclose(stream) == 0;
  _exit(good ? 0 : 4);
}

static json_t *outcome(pid_t pid, int in) {
  int status = 0;
  FILE *stream = fdopen(in, "r");
  json_t *object = stream ? json_loadf(stream, 0, NULL) : NULL;
  if (stream) fclose(stream);
  waitpid(pid, &status, 0);
  if (object) return object;
  const char *why = WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU ? "never comes back from a step" : "crashes";
  return json_pack("{s:s, s:s}", "trouble", why, "story", why);
}

json_t *suite_run(const Case *one, const Engine *engine, bool quick, bool timing) {
  int pipes[2];
  char *scene = scene_file(one);
  if (!scene || pipe(pipes) != 0) return free(scene), NULL;
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) close(pipes[0]), child(one, engine, quick, timing, scene, pipes[1]);
  close(pipes[1]);
  json_t *object = pid > 0 ? outcome(pid, pipes[0]) : NULL;
  if (object) {
    json_object_set_new(object, "engine", json_string(engine->name));
    json_object_set_new(object, "scene", json_string(one->name));
    json_object_set_new(object, "rate", json_integer(one->rate));
  }
  unlink(scene);
  return free(scene), object;
}
