/* Worlds: creation, start, step, snapshots. */
#include "api/world.h"

#include <string.h>

#include "api/setting.h"
#include "geom/crossing.h"

AbdWorld *abd_world_create(const AbdWorldDef *def, AbdError *error) {
  AbdError local = {ABD_OK, ""};
  AbdWorldDef standard = abd_default_world_def();
  if (!def) def = &standard;
  AbdWorld *world = NULL;
  if (settings_check_world(def, &local) == ABD_OK) {
    world = mem_zeroed(1, sizeof *world);
    if (world) world->model.def = *def;
    else fault(&local, ABD_ERROR_MEMORY, "out of memory while creating a world");
  }
  if (error) *error = local;
  return world;
}

static void world_drop_backend(AbdWorld *world) {
  if (world->backend.stages) world->backend.stages->destroy(world->backend.self);
  world->backend = (Backend){0};
  world->device[0] = 0;
}

const Work *world_view(const AbdWorld *world) { return world->backend.stages->view(world->backend.self); }

void abd_world_destroy(AbdWorld *world) {
  if (!world) return;
  world_drop_backend(world);
  step_destroy(&world->step);
  state_destroy(&world->state);
  state_destroy(&world->next);
  state_destroy(&world->start);
  model_destroy(&world->model);
  mem_free(world->reaction);
  mem_free(world);
}

const char *abd_world_error(const AbdWorld *world) { return world->error.text; }

AbdError *world_fresh_error(AbdWorld *world) {
  world->error = (AbdError){ABD_OK, ""};
  return &world->error;
}

const Mesh *world_mesh(const AbdWorld *world, AbdMeshId mesh) {
  return mesh.id >= 1 && mesh.id <= (uint32_t)world->model.mesh_count ? &world->model.mesh[mesh.id - 1] : NULL;
}

const Body *world_body(const AbdWorld *world, AbdBodyId body) {
  return body.id >= 1 && body.id <= (uint32_t)abd_world_body_count(world) ? &world->model.body[body.id - 1] : NULL;
}

size_t abd_world_body_count(const AbdWorld *world) { return (size_t)world->model.body_count; }
size_t abd_world_mesh_count(const AbdWorld *world) { return (size_t)world->model.mesh_count; }
double abd_world_time(const AbdWorld *world) { return (double)world->state.step * world->model.def.dt; }
int64_t abd_world_step_count(const AbdWorld *world) { return world->state.step; }
AbdWorldDef abd_world_settings(const AbdWorld *world) { return world->model.def; }
const char *abd_world_device(const AbdWorld *world) { return world->device; }

static AbdStatus check_start(AbdWorld *world, AbdError *error) {
  const Model *m = &world->model;
  size_t numbers = 12 * (size_t)m->body_count + 3 * (size_t)model_vertex_count(m);
  double *nodes = mem_alloc(numbers, sizeof(double)), *at = nodes;
  if (!nodes) return fault(error, ABD_ERROR_MEMORY, "out of memory while checking the start");
  for (int i = 0; i < m->body_count; i++) {
    const Body *b = &m->body[i];
    const Soft *s = b->soft ? &m->soft[b->soft - 1] : NULL;
    for (int v = 0; s && v < s->vertex_count; v++, at += 3) vec3_to(at, soft_place(s, v));
    if (s) continue;
    memcpy(at, &b->start, sizeof b->start);
    at += 12;
  }
  AbdCrossing c;
  size_t count = abd_world_find_crossings(world, nodes, &c, 1);
  mem_free(nodes);
  if (count == SIZE_MAX) return fault(error, ABD_ERROR_MEMORY, "out of memory while checking the start");
  if (count == 0) return ABD_OK;
  const Body *a = world_body(world, c.body_a), *b = world_body(world, c.body_b);
  return fault(error, ABD_ERROR_CROSSING,
               "bodies \"%s\" and \"%s\" touch or cross at the start: triangle %d of the one and triangle %d of the "
               "other, near (%g, %g, %g)%s",
               a->name, b->name, (int)c.triangle_a, (int)c.triangle_b, c.point[0], c.point[1], c.point[2],
               count > 1 ? "; other pairs do too" : "");
}

static const char *part_name(int kind, int side) {
  return kind == STENCIL_EDGE_EDGE ? "edge" : (kind == STENCIL_TRIANGLE_VERTEX) == (side == 0) ? "triangle" : "vertex";
}

/* Fails if surfaces are nearer than the separation. */
static AbdStatus check_near(AbdWorld *world, AbdError *error) {
  const Model *m = &world->model;
  NearPair p;
  if (stage_failed(world->backend.stages->find_near(world->backend.self, world->state.q, &p)))
    return fault(error, ABD_ERROR_MEMORY, "out of memory while checking the start");
  if (p.a < 0) return ABD_OK;
  return fault(
      error, ABD_ERROR_CROSSING,
      "bodies \"%s\" and \"%s\" are %g m apart at the start, but contact keeps them %g m apart: %s %d of the one "
      "and %s %d of the other",
      m->body[p.a].name, m->body[p.b].name, p.distance, p.least, part_name(p.kind, 0), p.prim_a, part_name(p.kind, 1),
      p.prim_b);
}

/* Builds all data of a started world; a failure undoes all of it. */
static AbdStatus build(AbdWorld *world, AbdError *error) {
  Model *m = &world->model;
  if (model_start(m, error)) return error->status;
  if (state_init(&world->state, m, error) || state_next_init(&world->next, m, error)) return error->status;
  if (world_create_backend(world, error)) return error->status;
  if (!step_init(&world->step, m) || !world->backend.self)
    return fault(error, ABD_ERROR_MEMORY, "out of memory while starting a world of %d bodies", m->body_count);
  return check_start(world, error) ? error->status : check_near(world, error);
}

AbdStatus abd_world_start(AbdWorld *world) {
  AbdError *error = world_fresh_error(world);
  if (world->started) return ABD_OK;
  AbdWorldDef given = world->model.def;
  AbdStatus status = build(world, error);
  if (status == ABD_OK) {
    world->started = true;
    return ABD_OK;
  }
  world_drop_backend(world);
  step_destroy(&world->step);
  state_destroy(&world->state);
  state_destroy(&world->next);
  state_destroy(&world->start);
  model_stop(&world->model);
  world->model.def = given;
  return status;
}

static AbdStatus step_fault(AbdWorld *world, Outcome outcome, AbdError *error) {
  long long step = (long long)world->state.step + 1;
  if (outcome.kind == STAGE_OUT_OF_MEMORY) return fault(error, ABD_ERROR_MEMORY, "out of memory in step %lld", step);
  const Body *body = outcome.body < 0 ? NULL : &world->model.body[outcome.body];
  return fault(error, ABD_ERROR_NUMERIC, "a value that is not finite appeared in step %lld%s%s", step,
               body ? " at body " : "", body ? body->name : "");
}

AbdStatus abd_world_step(AbdWorld *world, AbdStepReport *report) {
  AbdStepReport local;
  AbdError *error = world_fresh_error(world);
  if (!world->started && abd_world_start(world) != ABD_OK) return world->error.status;
  if (!report) report = &local;
  memset(report, 0, sizeof *report);
  double t0 = clock_now();
  world->contacts_known = world->reactions_known = false;
  Outcome outcome = substeps_run(&world->step, world->backend, &world->state, &world->next, &world->start, report);
  if (outcome.kind == STAGE_OUT_OF_MEMORY && world_leave_gpu(world)) {
    memset(report, 0, sizeof *report);
    outcome = substeps_run(&world->step, world->backend, &world->state, &world->next, &world->start, report);
  }
  if (stage_failed(outcome)) {
    if (outcome.body >= 0) report->culprit[0].id = (uint32_t)outcome.body + 1;
    return step_fault(world, outcome, error);
  }
  world->contacts_known = true;
  report->step = world->state.step;
  report->time = abd_world_time(world);
  double rest = clock_now() - t0;
  for (int i = 0; i < ABD_STAGE_REST; i++) rest -= report->seconds[i];
  report->seconds[ABD_STAGE_REST] = rest;
  return ABD_OK;
}

size_t abd_world_snapshot_size(const AbdWorld *world) {
  return world->started ? state_size(&world->state, &world->model) : 0;
}

AbdStatus abd_world_save(const AbdWorld *world, void *bytes, size_t size) {
  if (!world->started || size < abd_world_snapshot_size(world)) return ABD_ERROR_STATE;
  state_save(&world->state, &world->model, bytes);
  return ABD_OK;
}

AbdStatus abd_world_restore(AbdWorld *world, const void *bytes, size_t size) {
  AbdError *error = world_fresh_error(world);
  if (!world->started && abd_world_start(world) != ABD_OK) return world->error.status;
  world->contacts_known = world->reactions_known = false;
  return state_restore(&world->state, &world->model, bytes, size, error);
}

uint64_t abd_world_hash(const AbdWorld *world) { return world->started ? state_hash(&world->state, &world->model) : 0; }

const char *abd_version(void) { return "0.1.0"; }
