/* Exact crossing tests on the frames of a run, see abd/record.h. The world is built from the run file, its meshes bit
 * for bit, so the verdict needs neither the scene nor the solver. Tested by tests/cli/look.sh. */
#include "kit/kit.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_CROSSINGS = 100 };

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

static AbdWorld *build_world(const RunScene *scene, AbdError *error) {
  AbdWorldDef def = abd_default_world_def();
  AbdWorld *world = abd_world_create(&def, error);
  if (!world || add_bodies(world, scene)) return world;
  fail_with(error, ABD_ERROR_FILE, "%s", abd_world_error(world));
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

typedef struct Check {
  AbdRun *run;
  AbdWorld *world;
  const RunExclusion *exclusion; /* the changes of excluded pairs, and how many there are and are made */
  size_t exclusion_count, excluded;
  AbdRunCrossing *visit;
  void *user;
  AbdRunVerdict *verdict;
} Check;

/* Makes the changes of excluded pairs up to a step. Steps come in ascending order. */
static AbdStatus exclude_until(Check *c, int64_t step) {
  for (; c->excluded < c->exclusion_count && c->exclusion[c->excluded].step <= step; c->excluded++) {
    const RunExclusion *e = &c->exclusion[c->excluded];
    AbdBodyId a = {e->a}, b = {e->b};
    AbdStatus status = e->excluded ? abd_world_exclude_pair(c->world, a, b) : abd_world_include_pair(c->world, a, b);
    if (status != ABD_OK)
      return fail_with(&c->run->error, ABD_ERROR_FILE, "%s: event of step %lld: %s", run_path(c->run->run),
                       (long long)e->step, abd_world_error(c->world));
  }
  return ABD_OK;
}

static AbdStatus check_frame(Check *c, int64_t step) {
  AbdCrossing crossing[MOST_CROSSINGS];
  AbdRunFrame frame;
  AbdStatus status = exclude_until(c, step);
  if (status == ABD_OK) status = abd_run_frame(c->run, step, &frame);
  if (status != ABD_OK) return status;
  size_t count = abd_world_find_crossings(c->world, frame.node, crossing, MOST_CROSSINGS);
  if (count == SIZE_MAX) return fail_with(&c->run->error, ABD_ERROR_MEMORY, "out of memory");
  for (size_t k = 0; c->visit && k < count && k < MOST_CROSSINGS; k++) c->visit(c->user, &frame, &crossing[k]);
  c->verdict->crossings += (int64_t)count;
  c->verdict->frames++;
  return ABD_OK;
}

AbdStatus abd_run_verify(AbdRun *run, int64_t step, AbdRunCrossing *visit,
                         void (*progress)(void *user, size_t done, size_t total), void *user, AbdRunVerdict *verdict) {
  AbdStatus status = ABD_OK;
  *verdict = (AbdRunVerdict){0};
  if (!run_know_list(run)) return run->error.status;
  AbdWorld *world = build_world(&run->list.scene, &run->error);
  if (!world) return run->error.status;
  RunExclusion *exclusion;
  size_t exclusions;
  if (!run_read_exclusions(run->run, &exclusion, &exclusions)) status = run_failed(run);
  Check check = {.run = run,
                 .world = world,
                 .exclusion = exclusion,
                 .exclusion_count = exclusions,
                 .visit = visit,
                 .user = user,
                 .verdict = verdict};
  verdict->pairs = count_pairs(world, &run->list.scene);
  if (status == ABD_OK && verdict->pairs < 0) status = fail_with(&run->error, ABD_ERROR_MEMORY, "out of memory");
  if (status == ABD_OK && step >= 0) status = check_frame(&check, step);
  const RunListing *list = &run->list;
  for (size_t k = 0; step < 0 && k < list->step_count && status == ABD_OK; k++) {
    status = check_frame(&check, list->step[k]);
    if (progress) progress(user, k + 1, list->step_count);
  }
  free(exclusion);
  abd_world_destroy(world);
  return status;
}

void abd_run_store_verdict(const char *path, const AbdRunVerdict *verdict) {
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
