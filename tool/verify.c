/* `abd verify`: exact predicates on every frame of a run. The world is built from the run file, its meshes bit for bit,
 * so the verdict needs neither the scene nor the solver. Tested by tests/cli/look.sh. */
#include "args.h"
#include "progress.h"
#include "record/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const Command command = {
    "verify",
    "verify RUN... [--frame K] [--quiet]",
    "Tests with exact arithmetic that in no frame any two surfaces that may collide share a point, and\n"
    "that no soft body's surface crosses itself. Prints which bodies and triangles cross, and where. The\n"
    "result is stored in the run file for 'abd info'.",
    "Exit codes: 0 nothing crosses; 1 something crosses; 2 bad usage or input; 4 memory or internal failure.",
};

enum { MOST_CROSSINGS = 100 };

typedef struct Verdict {
  int64_t frames, crossings, pairs; /* pairs: body pairs that may collide, in one frame */
  bool out_of_memory;               /* memory ran out: no verdict */
} Verdict;

static int fail(int code, const char *sentence) {
  fprintf(stderr, "abd verify: %s\n", sentence);
  return code;
}

/* ---- The world of a run ---- */

static bool add_mesh(AbdWorld *world, const RunMesh *mesh, AbdMeshId *id) {
  AbdMeshDef def = abd_default_mesh_def();
  def.name = mesh->name, def.vertex = mesh->vertex, def.vertex_count = mesh->vertex_count;
  def.triangle = mesh->triangle, def.triangle_count = mesh->triangle_count;
  def.edge = mesh->edge, def.edge_count = mesh->edge_count;
  def.half_space = mesh->half_space, def.keep_frame = true;
  return abd_world_add_mesh(world, &def, id) == ABD_OK;
}

static bool add_soft(AbdWorld *world, const RunBody *body, const RunMesh *mesh) {
  AbdSoftDef def = abd_default_soft_def();
  AbdBodyId id;
  def.name = body->name, def.vertex = mesh->vertex, def.vertex_count = mesh->vertex_count;
  def.tet = mesh->tet, def.tet_count = mesh->tet_count;
  if (!mesh->tet_count) def.triangle = mesh->triangle, def.triangle_count = mesh->triangle_count;
  if (!mesh->tet_count && !mesh->triangle_count) def.edge = mesh->edge, def.edge_count = mesh->edge_count;
  if (body->soft->thickness > 0) def.thickness = body->soft->thickness;
  def.self_contact = body->soft->self_contact, def.group = body->group;
  return abd_world_add_soft(world, &def, &id) == ABD_OK;
}

static bool add_body(AbdWorld *world, const RunBody *body, AbdMeshId mesh) {
  AbdBodyDef def = abd_default_body_def();
  AbdBodyId id;
  def.name = body->name, def.motion = body->motion, def.mesh = mesh, def.group = body->group;
  def.sensor = body->sensor;
  return abd_world_add_body(world, &def, &id) == ABD_OK;
}

/* A vertex fixed to a body lies on it, which is no crossing. */
static bool attach(AbdWorld *world, const RunScene *scene) {
  for (size_t k = 0; k < scene->body_count; k++) {
    const RunBody *body = &scene->body[k];
    for (size_t v = 0; body->soft && v < scene->mesh[body->mesh].vertex_count; v++) {
      AbdBodyId soft = {(uint32_t)k + 1}, to = {(uint32_t)body->soft->attached[v]};
      if (body->soft->attached[v] >= 0 && abd_soft_attach(world, soft, v, to) != ABD_OK) return false;
    }
  }
  return true;
}

static bool add_bodies(AbdWorld *world, const RunScene *scene) {
  AbdMeshId *mesh = calloc(scene->mesh_count + 1, sizeof *mesh);
  bool good = mesh != NULL;
  for (size_t k = 0; good && k < scene->body_count; k++) {
    const RunBody *body = &scene->body[k];
    const RunMesh *own = &scene->mesh[body->mesh];
    if (body->soft) good = add_soft(world, body, own);
    else
      good =
          (mesh[body->mesh].id || add_mesh(world, own, &mesh[body->mesh])) && add_body(world, body, mesh[body->mesh]);
  }
  free(mesh);
  if (!good || !attach(world, scene)) return false;
  for (size_t k = 0; k < scene->body_count; k++)
    for (size_t e = 0; e < scene->body[k].exclude_count; e++) {
      AbdBodyId a = {(uint32_t)k + 1}, b = {scene->body[k].exclude[e]};
      bool once = a.id < b.id || scene->body[k].born > 0; /* a later body is not in the lists of those before it */
      if (once && abd_world_exclude_pair(world, a, b) != ABD_OK) return false;
    }
  return true;
}

static AbdWorld *build_world(const RunScene *scene) {
  AbdWorldDef def = abd_default_world_def();
  AbdError error;
  AbdWorld *world = abd_world_create(&def, &error);
  if (!world) return fail(0, error.text), NULL;
  if (add_bodies(world, scene)) return world;
  fail(0, abd_world_error(world));
  abd_world_destroy(world);
  return NULL;
}

/* Pairs of which one body at least gives way. */
static int64_t moving_pairs(int64_t bodies, int64_t still) { return (bodies * (bodies - 1) - still * (still - 1)) / 2; }

static int compare_groups(const void *x, const void *y) {
  const RunBody *const *a = x, *const *b = y;
  return ((*a)->group > (*b)->group) - ((*a)->group < (*b)->group);
}

/* Pairs of bodies of the same group; -1 when memory is out. */
static int64_t count_grouped_pairs(const RunScene *scene) {
  const RunBody **body = malloc((scene->body_count + 1) * sizeof *body);
  int64_t sum = 0;
  size_t count = 0;
  if (!body) return -1;
  for (size_t k = 0; k < scene->body_count; k++)
    if (!scene->body[k].sensor) body[count++] = &scene->body[k];
  qsort(body, count, sizeof *body, compare_groups);
  for (size_t first = 0, end; first < count; first = end) {
    int64_t still = 0;
    for (end = first; end < count && body[end]->group == body[first]->group; end++)
      still += body[end]->motion != ABD_MOTION_DYNAMIC;
    if (body[first]->group >= 0) sum += moving_pairs((int64_t)(end - first), still);
  }
  free(body);
  return sum;
}

/* Pairs that may collide: all with a body that gives way, less those that were told not to; soft bodies with
 * themselves; none with a sensor.
 * -1 when memory is out. */
static int64_t count_pairs(const AbdWorld *world, const RunScene *scene) {
  int64_t bodies = (int64_t)abd_world_body_count(world), still = 0, alone = 0, sensors = 0;
  int64_t grouped = count_grouped_pairs(scene);
  if (grouped < 0) return -1;
  for (uint32_t id = 1; id <= bodies; id++) {
    AbdBodyView body;
    if (abd_body_view(world, (AbdBodyId){id}, &body) != ABD_OK) continue;
    if (body.sensor) {
      sensors++;
      continue;
    }
    still += body.motion != ABD_MOTION_DYNAMIC;
    alone += abd_world_pair_collides(world, (AbdBodyId){id}, (AbdBodyId){id});
  }
  return moving_pairs(bodies - sensors, still) + alone - grouped - (int64_t)abd_world_excluded_pairs(world, NULL, 0);
}

/* ---- Frames ---- */

static void print_crossing(const RunScene *scene, const RunFrame *frame, const AbdCrossing *c) {
  char a[32] = "an edge", b[32] = "an edge";
  if (c->triangle_a != UINT32_MAX) snprintf(a, sizeof a, "triangle %u", c->triangle_a);
  if (c->triangle_b != UINT32_MAX) snprintf(b, sizeof b, "triangle %u", c->triangle_b);
  printf("step %lld, time %.6g s: '%s' (body %u, %s) crosses '%s' (body %u, %s) near (%.6g, %.6g, %.6g)\n",
         (long long)frame->step, frame->time, scene->body[c->body_a.id - 1].name, c->body_a.id, a,
         scene->body[c->body_b.id - 1].name, c->body_b.id, b, c->point[0], c->point[1], c->point[2]);
}

static bool verify_frame(Run *run, const RunScene *scene, const AbdWorld *world, int64_t step, Verdict *verdict) {
  AbdCrossing crossing[MOST_CROSSINGS];
  RunFrame frame;
  if (!run_read_frame(run, scene, step, &frame)) return false;
  size_t count = abd_world_find_crossings(world, frame.nodes, crossing, MOST_CROSSINGS);
  verdict->out_of_memory |= count == SIZE_MAX;
  if (verdict->out_of_memory) count = 0;
  for (size_t k = 0; k < count && k < MOST_CROSSINGS; k++) {
    if (verdict->crossings + (int64_t)k < MOST_CROSSINGS) print_crossing(scene, &frame, &crossing[k]);
    if (verdict->crossings + (int64_t)k == MOST_CROSSINGS) printf("further crossings are counted only\n");
  }
  verdict->crossings += (int64_t)count;
  verdict->frames++;
  run_frame_destroy(&frame);
  return true;
}

static int verify_frames(Run *run, const RunScene *scene, const AbdWorld *world, int64_t frame, Verdict *verdict) {
  int64_t *steps = NULL;
  size_t count = 0;
  verdict->pairs = count_pairs(world, scene);
  if (verdict->pairs < 0) return fail(EXIT_FAILED, "out of memory");
  if (!run_read_frame_steps(run, &steps, &count)) return fail(EXIT_BAD_INPUT, run_error(run));
  bool good = true, bar = isatty(STDERR_FILENO);
  double shown = clock_seconds();
  if (frame >= 0) good = verify_frame(run, scene, world, frame, verdict);
  for (size_t k = 0; frame < 0 && k < count && good; k++) {
    good = verify_frame(run, scene, world, steps[k], verdict);
    if (!bar || clock_seconds() - shown < 0.2) continue;
    shown = clock_seconds();
    fprintf(stderr, "\r\033[Kframe %zu of %zu", k + 1, count);
  }
  if (bar) fprintf(stderr, "\r\033[K");
  free(steps);
  if (verdict->out_of_memory) return fail(EXIT_FAILED, "out of memory");
  return good ? EXIT_GOOD : fail(EXIT_BAD_INPUT, run_error(run));
}

/* Stored for `abd info`; a file that is read-only or being written stays unchanged. */
static void keep_verdict(const char *path, const Verdict *verdict) {
  RunError error;
  char frames[32], crossings[32];
  Run *run = run_open(path, RUN_APPEND, &error);
  if (!run) return;
  snprintf(frames, sizeof frames, "%lld", (long long)verdict->frames);
  snprintf(crossings, sizeof crossings, "%lld", (long long)verdict->crossings);
  if (run_begin(run) && run_write_meta(run, "verified_frames", frames) &&
      run_write_meta(run, "verified_crossings", crossings))
    run_commit(run);
  run_close(run);
}

static int verify_run(const char *path, int64_t frame, bool quiet) {
  RunError error;
  RunScene scene = {0};
  Verdict verdict = {0};
  Run *run = run_open(path, RUN_READ, &error);
  if (!run) return fail(EXIT_BAD_INPUT, error.text);
  int code = run_read_scene(run, &scene) ? EXIT_GOOD : fail(EXIT_BAD_INPUT, run_error(run));
  AbdWorld *world = code == EXIT_GOOD ? build_world(&scene) : NULL;
  if (code == EXIT_GOOD) code = world ? verify_frames(run, &scene, world, frame, &verdict) : EXIT_FAILED;
  abd_world_destroy(world);
  run_scene_destroy(&scene);
  run_close(run);
  if (code != EXIT_GOOD) return code;
  if (frame < 0) keep_verdict(path, &verdict);
  if (!quiet || verdict.crossings)
    printf("%s: %lld frames, %lld pairs of bodies in each: ", path, (long long)verdict.frames,
           (long long)verdict.pairs);
  if (verdict.crossings) printf("%lld crossings\n", (long long)verdict.crossings);
  else if (!quiet) printf("no two surfaces cross\n");
  return verdict.crossings ? EXIT_FOUND : EXIT_GOOD;
}

int command_verify(int argc, char **argv) {
  int64_t frame = -1;
  bool quiet = false;
  TextList path;
  const Option option[] = {
      {"frame", 0, OPTION_COUNT, &frame, "K", "only the frame of step K"},
      {"quiet", 'q', OPTION_FLAG, &quiet, NULL, "print crossings and errors only"},
      {0},
  };
  int code = args_parse(&command, option, argc, argv, &path);
  if (code == ARGS_GO_ON && path.count == 0) code = args_usage_error(&command, "expected a run file (.abd)");
  if (code == ARGS_GO_ON) {
    code = EXIT_GOOD;
    for (int k = 0; k < path.count; k++) {
      int one = verify_run(path.text[k], frame, quiet);
      if (one > code) code = one;
    }
  }
  args_free(&path);
  return code;
}
