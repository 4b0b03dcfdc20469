/* See trial.h. */
#define _GNU_SOURCE
#include "trial.h"

#include "overlap.h"
#include "peer_scene.h"
#include "session.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct Trial {
  const TrialDef *def;
  TrialResult *result;
  Session session;
  PeerScene scene;
  void *state;
  double *nodes, *rates; /* of all frames in sequence; the start is the first */
  double cpu;            /* [s] */
} Trial;

static int fail(const Trial *trial, const char *sentence) {
  fprintf(stderr, "abd-peers: %s, %s: %s\n", trial->def->engine->name, trial->def->scene, sentence);
  return EXIT_FAILED;
}

/* ---- Stepping ---- */

/* CPU time of this thread, the only one. The process clock is coarse while its time is limited. */
static double cpu_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double *frame_nodes(const Trial *trial, size_t frame) {
  return trial->nodes + 12 * trial->scene.body_count * frame;
}
static double *frame_rates(const Trial *trial, size_t frame) {
  return trial->rates + 6 * trial->scene.body_count * frame;
}

/* False if the engine returns numbers that are not finite. */
static bool take_frame(Trial *trial, size_t frame) {
  double *nodes = frame_nodes(trial, frame), *rates = frame_rates(trial, frame);
  bool finite = true;
  for (size_t k = 0; k < trial->scene.body_count; k++) {
    const PeerBody *body = &trial->scene.body[k];
    memcpy(nodes + 12 * k, body->node, sizeof body->node);
    if (body->moves && frame) trial->def->engine->pose(trial->state, k, nodes + 12 * k, rates + 6 * k);
    for (int i = 0; i < 12; i++) finite = finite && isfinite(nodes[12 * k + (size_t)i]);
  }
  return finite;
}

static void step_all(Trial *trial) {
  TrialResult *r = trial->result;
  int64_t target = trial->session.target;
  take_frame(trial, 0);
  while (r->steps < target && !*r->trouble) {
    double begin = cpu_seconds();
    trial->def->engine->step(trial->state, r->trouble);
    trial->cpu += cpu_seconds() - begin;
    if (*r->trouble) break;
    r->steps++;
    if (trial->def->limit > 0 && trial->cpu > trial->def->limit && r->steps < target)
      snprintf(r->trouble, sizeof r->trouble, "stopped after %.0f s of processor time", trial->def->limit);
    if (r->steps % trial->def->every) continue;
    if (take_frame(trial, r->frames + 1)) r->frames++;
    else snprintf(r->trouble, sizeof r->trouble, "poses are no numbers any more");
  }
  r->cpu_ms = r->steps ? 1e3 * trial->cpu / (double)r->steps : 0;
}

/* ---- What happened ---- */

static double up_of(const PeerScene *scene, const double *x) {
  const double *g = scene->gravity;
  double size = sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]);
  return size > 0 ? -(g[0] * x[0] + g[1] * x[1] + g[2] * x[2]) / size : x[2];
}

static size_t highest_body(const PeerScene *scene) {
  size_t best = SIZE_MAX;
  for (size_t k = 0; k < scene->body_count; k++)
    if (scene->body[k].moves &&
        (best == SIZE_MAX || up_of(scene, scene->body[k].node) > up_of(scene, scene->body[best].node)))
      best = k;
  return best == SIZE_MAX ? 0 : best;
}

static double lowest(const Trial *trial, size_t frame) {
  double low = INFINITY;
  for (size_t k = 0; k < trial->scene.body_count; k++)
    if (trial->scene.body[k].moves) low = fmin(low, up_of(&trial->scene, frame_nodes(trial, frame) + 12 * k));
  return low;
}

/* The angle about z by which the columns of one pose must turn to come nearest to those of the next. */
static double turn_about_z(const double *before, const double *after) {
  double cosine = 0, sine = 0;
  for (int c = 3; c < 12; c += 3) {
    cosine += before[c] * after[c] + before[c + 1] * after[c + 1];
    sine += before[c] * after[c + 1] - before[c + 1] * after[c];
  }
  return atan2(sine, cosine);
}

static void tell_motion(Trial *trial) {
  TrialResult *r = trial->result;
  size_t top = highest_body(&trial->scene);
  double start = up_of(&trial->scene, trial->scene.body[top].node), seconds = (double)trial->def->every * r->dt;
  r->fall_time = -1;
  for (size_t f = 1; f <= r->frames; f++) {
    const double *node = frame_nodes(trial, f) + 12 * top;
    if (r->fall_time < 0 && up_of(&trial->scene, node) < start - 0.1 * fabs(start)) r->fall_time = (double)f * seconds;
    r->turns += turn_about_z(frame_nodes(trial, f - 1) + 12 * top, node) / (2 * M_PI);
  }
  r->sink = lowest(trial, 0) - lowest(trial, r->frames);
}

static void tell_overlap(Trial *trial) {
  TrialResult *r = trial->result;
  size_t pairs = 0;
  for (size_t f = 1; f <= r->frames; f++) {
    Overlap overlap = overlap_find(&trial->scene, frame_nodes(trial, f));
    pairs += overlap.pairs;
    r->crossing_frames += overlap.pairs > 0;
    r->deep_frames += overlap.depth > trial->scene.range;
    if (overlap.pairs > r->pairs_most) r->pairs_most = overlap.pairs;
    if (overlap.depth > r->depth)
      r->depth = overlap.depth, r->depth_time = (double)f * (double)trial->def->every * r->dt;
  }
  r->pairs_mean = r->frames ? (double)pairs / (double)r->frames : 0;
}

/* ---- From beginning to end ---- */

static bool write_frames(Trial *trial) {
  Run *run = trial->session.run;
  bool good = run_begin(run) && run_write_meta(run, "engine", trial->def->engine->title);
  for (size_t f = 1; good && f <= trial->result->frames; f++) {
    int64_t step = (int64_t)f * trial->def->every;
    good = run_write_poses(run, step, (double)step * trial->result->dt, frame_nodes(trial, f),
                           12 * trial->scene.body_count, frame_rates(trial, f), 6 * trial->scene.body_count);
  }
  return good && run_commit(run);
}

static int open_trial(Trial *trial, const char *path) {
  const TrialDef *def = trial->def;
  char *argument[] = {"peers", (char *)def->engine->name, (char *)def->scene};
  trial->session.options = (RunOptions){.output = path,
                                        .steps = -1,
                                        .threads = 1,
                                        .every = def->every,
                                        .time = def->time,
                                        .dt = def->dt,
                                        .force = true,
                                        .quiet = true,
                                        .set = {.text = (const char **)def->set, .count = def->set_count},
                                        .argc = 3,
                                        .argv = argument};
  const char *text[] = {def->scene};
  int code = session_open(&trial->session, &(TextList){text, 1});
  if (code != EXIT_GOOD) return code;
  char error[PEER_ERROR_SIZE] = "";
  if (!peer_scene_read(trial->session.world, trial->session.scene, &trial->scene, trial->result->trouble))
    return EXIT_BAD_INPUT;
  trial->scene.iterations = (int)def->iterations;
  const PeerMesh *concave = def->engine->meshes ? NULL : peer_scene_concave(&trial->scene);
  if (concave) {
    snprintf(trial->result->trouble, PEER_ERROR_SIZE, "'%s' is concave and in no convex pieces", concave->name);
    return EXIT_BAD_INPUT;
  }
  trial->state = def->engine->create(&trial->scene, def->engine->variant, error);
  return trial->state ? EXIT_GOOD : fail(trial, error);
}

static int work(Trial *trial) {
  TrialResult *r = trial->result;
  size_t frames = (size_t)(trial->session.target / trial->def->every) + 1;
  trial->nodes = peer_alloc(frames * trial->scene.body_count, 12 * sizeof(double));
  trial->rates = peer_alloc(frames * trial->scene.body_count, 6 * sizeof(double));
  r->bodies = trial->scene.body_count, r->dt = trial->scene.dt;
  for (size_t k = 0; k < r->bodies; k++) r->triangles += trial->scene.mesh[trial->scene.body[k].mesh].triangle_count;
  step_all(trial);
  tell_motion(trial);
  if (!trial->def->timing) tell_overlap(trial);
  if (trial->def->output && !write_frames(trial)) return fail(trial, run_error(trial->session.run));
  return EXIT_GOOD;
}

/* The session needs a file; without an output it is a temporary one. */
int trial_run(const TrialDef *def, TrialResult *result) {
  Trial trial = {.def = def, .result = result};
  char *scratch = NULL;
  *result = (TrialResult){.fall_time = -1};
  if (!def->output && asprintf(&scratch, "%s.%ld.abd", def->scene, (long)getpid()) < 0) return EXIT_FAILED;
  int code = open_trial(&trial, scratch ? scratch : def->output);
  if (code == EXIT_GOOD) code = work(&trial);
  def->engine->destroy(trial.state);
  peer_scene_free(&trial.scene);
  session_close(&trial.session);
  if (scratch) unlink(scratch);
  free(scratch), free(trial.nodes), free(trial.rates);
  return code;
}

json_t *trial_json(const TrialDef *def, const TrialResult *r) {
  return json_pack("{s:s, s:I, s:I, s:f, s:I, s:f, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:s}", "engine",
                   def->engine->name, "bodies", (json_int_t)r->bodies, "triangles", (json_int_t)r->triangles, "dt",
                   r->dt, "steps", (json_int_t)r->steps, "cpu_ms", r->cpu_ms, "frames", (json_int_t)r->frames,
                   "crossing_frames", (json_int_t)r->crossing_frames, "deep_frames", (json_int_t)r->deep_frames,
                   "pairs_most", (json_int_t)r->pairs_most, "pairs_mean", r->pairs_mean, "depth", r->depth,
                   "depth_time", r->depth_time, "fall_time", r->fall_time, "sink", r->sink, "turns", r->turns,
                   "trouble", r->trouble);
}
