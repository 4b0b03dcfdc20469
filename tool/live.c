/* See live.h.
 *
 * Dragging pulls a point of a body towards the mouse with a spring and a damper: with the effective mass at the point,
 * 1/m = 1/mass + r^2/inertia, k = m w^2 and c = 2 m w. The pull is constant over a step and stable for w dt < 0.3. A
 * soft body is held by some of its vertices (grip.h). */
#define _GNU_SOURCE
#include "grip.h"
#include "live.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_HISTORY 4e9 /* bytes of poses at which it pauses */

typedef struct Drag {
  uint32_t body;    /* 0: none */
  double point[3];  /* in rest coordinates of its mesh */
  double target[3]; /* in the world */
} Drag;

struct Live {
  Session *session;
  void *first; /* the state at step 0 */
  size_t first_size;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t wake;
  /* Protected by the lock. */
  bool paused, quit, reset;
  int single;   /* steps requested while paused */
  double speed; /* largest simulated time over wall-clock time */
  Drag drag;
  int64_t epoch; /* counts resets */
  double step_seconds;
  char error[400];
  /* Used by the simulation thread alone. */
  uint32_t pulled; /* body whose force was changed, 0: none */
  Grip grip;       /* on a soft body */
};

/* ---- Stepping ---- */

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void cross(const double a[3], const double b[3], double c[3]) {
  for (int k = 0; k < 3; k++) c[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
}

static void add_pull(const AbdWorld *world, const Drag *drag, double force[3], double torque[3]) {
  AbdWorldDef def = abd_world_settings(world);
  AbdBodyId id = {drag->body};
  AbdBodyView body;
  double pose[12], velocity[3], spin[3], arm[3], turning[3], pull[3], twist[3];
  if (abd_body_view(world, id, &body) != ABD_OK || body.motion != ABD_MOTION_DYNAMIC) return;
  if (abd_body_nodes(world, id, pose) != ABD_OK) return; /* a soft body is pulled by its grip */
  abd_body_velocity(world, id, velocity, spin);
  for (int k = 0; k < 3; k++)
    arm[k] = pose[3 + k] * drag->point[0] + pose[6 + k] * drag->point[1] + pose[9 + k] * drag->point[2];
  cross(spin, arm, turning);
  double inertia = fmin(body.inertia[0], fmin(body.inertia[1], body.inertia[2]));
  double mass = 1 / (1 / body.mass + (inertia > 0 ? dot(arm, arm) / inertia : 0)), w = fmin(25, 0.3 / def.dt);
  for (int k = 0; k < 3; k++)
    pull[k] =
        mass * (w * w * (drag->target[k] - pose[k] - arm[k]) - 2 * w * (velocity[k] + turning[k]) - def.gravity[k]);
  cross(arm, pull, twist);
  for (int k = 0; k < 3; k++) force[k] += pull[k], torque[k] += twist[k];
}

static void pull_soft(Live *live, const Drag *drag) {
  AbdWorld *world = live->session->world;
  Grip *grip = &live->grip;
  bool soft = drag->body && abd_body_is_soft(world, (AbdBodyId){drag->body});
  if (grip->body && (!soft || grip->body != drag->body || memcmp(grip->point, drag->point, sizeof grip->point) != 0))
    grip_release(grip, world);
  if (!soft || (!grip->body && !grip_take(grip, world, (AbdBodyId){drag->body}, drag->point))) return;
  grip_pull(grip, world, drag->target);
}

/* The scene's forces plus the pull of the mouse. */
static void set_forces(Live *live, const Drag *drag) {
  AbdWorld *world = live->session->world;
  const uint32_t body[2] = {live->pulled, drag->body};
  for (int k = 0; k < 2; k++) {
    double force[3], torque[3];
    if (!body[k]) continue;
    abd_scene_force(live->session->scene, (AbdBodyId){body[k]}, abd_world_time(world), force, torque);
    if (k == 1) add_pull(world, drag, force, torque);
    abd_body_set_force(world, (AbdBodyId){body[k]}, force, torque);
  }
  live->pulled = drag->body;
  pull_soft(live, drag);
}

static void stop_with(Live *live, const char *sentence) {
  pthread_mutex_lock(&live->lock);
  live->paused = true, live->single = 0;
  snprintf(live->error, sizeof live->error, "%.*s", (int)sizeof live->error - 1, sentence);
  pthread_mutex_unlock(&live->lock);
}

static void step_once(Live *live, const Drag *drag) {
  Session *session = live->session;
  AbdError error;
  AbdStepReport report;
  double begun = clock_seconds();
  if (abd_scene_apply(session->scene, session->world, &error) != ABD_OK) return stop_with(live, error.text);
  set_forces(live, drag);
  if (abd_world_step(session->world, &report) != ABD_OK) return stop_with(live, abd_world_error(session->world));
  if (!session_record(session, &report)) return stop_with(live, abd_run_error(session->run));
  double seconds = clock_seconds() - begun;
  pthread_mutex_lock(&live->lock);
  live->step_seconds = live->step_seconds > 0 ? 0.9 * live->step_seconds + 0.1 * seconds : seconds;
  pthread_mutex_unlock(&live->lock);
  double history = 144.0 * (double)abd_world_body_count(session->world) * (double)report.step;
  if (history > MOST_HISTORY) stop_with(live, "the history is full: reset, or use abd run for long runs");
}

static void go_back(Live *live) {
  Session *session = live->session;
  set_forces(live, &(Drag){0}); /* the file is reset too: its steps and its checkpoint */
  if (!session_restart(session, live->first, live->first_size))
    stop_with(live, "the world cannot be taken back to its start");
  else if (abd_run_rewind(session->run, session->world) != ABD_OK) stop_with(live, abd_run_error(session->run));
  pthread_mutex_lock(&live->lock);
  live->epoch++;
  pthread_mutex_unlock(&live->lock);
}

static void sleep_until(double clock) {
  double left = clock - clock_seconds();
  if (left <= 0) return;
  struct timespec t = {(time_t)left, (long)(1e9 * (left - floor(left)))};
  nanosleep(&t, NULL);
}

/* Waits for the next step or command. */
static bool next_task(Live *live, bool *reset, Drag *drag, double *speed) {
  pthread_mutex_lock(&live->lock);
  while (!live->quit && !live->reset && live->paused && !live->single) pthread_cond_wait(&live->wake, &live->lock);
  *reset = live->reset, *drag = live->drag, *speed = live->speed;
  live->reset = false;
  if (live->paused && live->single && !*reset) live->single--;
  bool quit = live->quit;
  pthread_mutex_unlock(&live->lock);
  return !quit;
}

static void *simulate(void *user) {
  Live *live = user;
  double dt = abd_world_settings(live->session->world).dt, due = clock_seconds(), speed;
  bool reset;
  Drag drag;
  while (next_task(live, &reset, &drag, &speed)) {
    if (reset) {
      go_back(live);
      continue;
    }
    step_once(live, &drag);
    due = fmax(due + dt / speed, clock_seconds() - 0.1); /* delays are not caught up */
    sleep_until(due);
  }
  return NULL;
}

/* ---- Commands ---- */

static bool read_vector(const json_t *object, const char *key, double out[3]) {
  const json_t *list = json_object_get(object, key);
  for (size_t k = 0; k < 3; k++) {
    const json_t *number = json_array_get(list, k);
    if (!json_is_number(number) || !isfinite(json_number_value(number))) return false;
    out[k] = json_number_value(number);
  }
  return true;
}

static bool read_drag(const Live *live, const json_t *object, Drag *drag) {
  json_int_t body = json_integer_value(json_object_get(object, "body"));
  if (body < 1 || (size_t)body > abd_scene_body_count(live->session->scene)) return false;
  drag->body = (uint32_t)body;
  return read_vector(object, "point", drag->point) && read_vector(object, "target", drag->target);
}

/* The lock is held. */
static bool obey(Live *live, const char *what, const json_t *object) {
  Drag drag;
  double speed = json_number_value(json_object_get(object, "value"));
  if (!strcmp(what, "play")) live->paused = false, live->error[0] = 0;
  else if (!strcmp(what, "pause")) live->paused = true, live->single = 0;
  else if (!strcmp(what, "step")) live->paused = true, live->single = live->single < 100 ? live->single + 1 : 100;
  else if (!strcmp(what, "reset")) live->reset = true, live->drag.body = 0, live->error[0] = 0;
  else if (!strcmp(what, "release")) live->drag.body = 0;
  else if (!strcmp(what, "speed") && speed >= 0.001 && speed <= 1000) live->speed = speed;
  else if (!strcmp(what, "drag") && read_drag(live, object, &drag)) live->drag = drag;
  else return false;
  pthread_cond_signal(&live->wake);
  return true;
}

static bool on_command(void *user, const char *text, size_t length, char *error, size_t error_size) {
  Live *live = user;
  json_t *object = json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL);
  const char *what = json_string_value(json_object_get(object, "do"));
  bool good = false;
  if (what) {
    pthread_mutex_lock(&live->lock);
    good = obey(live, what, object);
    pthread_mutex_unlock(&live->lock);
  }
  if (!good)
    snprintf(error, error_size,
             "expected {\"do\": \"play\" | \"pause\" | \"step\" | \"reset\" | \"release\"}, "
             "{\"do\": \"speed\", \"value\": x}, or {\"do\": \"drag\", \"body\": id, \"point\": [3], \"target\": [3]}");
  json_decref(object);
  return good;
}

static void write_status(void *user, char *text, size_t size) {
  Live *live = user;
  pthread_mutex_lock(&live->lock);
  json_t *sentence = json_string(live->error);
  char *error = sentence ? json_dumps(sentence, JSON_ENCODE_ANY) : NULL;
  snprintf(text, size, "\"epoch\": %lld, \"paused\": %s, \"step_seconds\": %.6g, \"speed\": %.6g, \"error\": %s",
           (long long)live->epoch, live->paused ? "true" : "false", live->step_seconds, live->speed,
           error ? error : "\"\"");
  pthread_mutex_unlock(&live->lock);
  free(error);
  json_decref(sentence);
}

AbdViewerControl live_control(Live *live) { return (AbdViewerControl){live, on_command, write_status}; }

/* ---- Life ---- */

Live *live_start(Session *session, bool paused) {
  Live *live = calloc(1, sizeof *live);
  if (!live) return NULL;
  live->session = session, live->paused = paused, live->speed = 1;
  live->first_size = abd_world_snapshot_size(session->world);
  live->first = malloc(live->first_size + 1);
  pthread_mutex_init(&live->lock, NULL);
  pthread_cond_init(&live->wake, NULL);
  bool good = live->first && abd_world_save(session->world, live->first, live->first_size) == ABD_OK &&
              pthread_create(&live->thread, NULL, simulate, live) == 0;
  if (good) return live;
  pthread_cond_destroy(&live->wake);
  pthread_mutex_destroy(&live->lock);
  free(live->first), free(live);
  return NULL;
}

void live_stop(Live *live) {
  if (!live) return;
  pthread_mutex_lock(&live->lock);
  live->quit = true;
  pthread_cond_signal(&live->wake);
  pthread_mutex_unlock(&live->lock);
  pthread_join(live->thread, NULL);
  pthread_cond_destroy(&live->wake);
  pthread_mutex_destroy(&live->lock);
  free(live->grip.vertex), free(live->first), free(live);
}
