/* Worlds: creation, start, step, snapshots. */
#include "api/world.h"

#include <abd/mpi.h>
#include <stdio.h>
#include <string.h>

#include "api/setting.h"
#include "base/parallel.h"
#include "geom/crossing.h"
#include "kernel/constant.h"

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

void world_drop_backend(AbdWorld *world) {
  if (world->backend.stages) world->backend.stages->destroy(world->backend.self);
  world->backend = (Backend){0};
  world->device[0] = 0;
  step_destroy(&world->step);
}

AbdStatus world_need_backend(AbdWorld *world, AbdError *error) {
  const Model *m = &world->model;
  if (world->backend.self) return ABD_OK;
  if (world_create_backend(world, error)) return error->status;
  if (step_init(&world->step, m) && world->backend.self) return ABD_OK;
  world_drop_backend(world);
  return fault(error, ABD_ERROR_MEMORY, "out of memory while starting a world of %d bodies", m->body_count);
}

/* A run that was made on a GPU can be restored without one: abd_world_set_device then chooses another machine. Until
 * then the world can be read, and no step is made. */
static AbdStatus world_restored_backend(AbdWorld *world, AbdError *error) {
  if (world->model.def.solver.device != ABD_DEVICE_CUDA || !abd_cuda_missing()) return world_need_backend(world, error);
  world->backend = (Backend){&cpu_stages, cpu_create(&world->model)};
  if (step_init(&world->step, &world->model) && world->backend.self) return ABD_OK;
  world_drop_backend(world);
  return fault(error, ABD_ERROR_MEMORY, "out of memory while starting a world of %d bodies", world->model.body_count);
}

const Work *world_view(const AbdWorld *world) { return world->backend.stages->view(world->backend.self); }

void abd_world_destroy(AbdWorld *world) {
  if (!world) return;
  abd_world_cancel_change(world);
  world_drop_backend(world);
  state_destroy(&world->state);
  state_destroy(&world->next);
  state_destroy(&world->substeps.start);
  model_destroy(&world->model);
  world_unmap(world);
  kept_destroy(&world->kept);
  mean_destroy(&world->mean);
  events_destroy(&world->pending);
  events_destroy(&world->event);
  mem_free(world->broken.item);
  searched_destroy(&world->searched);
  mem_free(world->reaction);
  mem_free(world);
}

const char *abd_world_error(const AbdWorld *world) { return world->error.text; }

AbdError *world_fresh_error(AbdWorld *world) {
  world->error = (AbdError){ABD_OK, ""};
  return &world->error;
}

/* The mesh of a removed soft body has no vertices. */
const Mesh *world_mesh(const AbdWorld *world, AbdMeshId mesh) {
  const Mesh *m = world->model.mesh + mesh.id - 1;
  return mesh.id >= 1 && mesh.id <= (uint32_t)world->model.mesh_count && m->vertex ? m : NULL;
}

const Body *world_body(const AbdWorld *world, AbdBodyId body) {
  int index = model_body_index(&world->model, body.id);
  return index < 0 ? NULL : &world->model.body[index];
}

const Joint *world_joint(const AbdWorld *world, AbdJointId joint) {
  int index = model_joint_index(&world->model, joint.id);
  return index < 0 ? NULL : &world->model.joint[index];
}

AbdBodyId abd_world_body_at(const AbdWorld *world, size_t index) {
  return world_body_id(world, index < (size_t)world->model.body_count ? (int)index : -1);
}

AbdJointId abd_world_joint_at(const AbdWorld *world, size_t index) {
  return world_joint_id(world, index < (size_t)world->model.joint_count ? (int)index : -1);
}

size_t abd_world_body_count(const AbdWorld *world) { return (size_t)world->model.body_count; }
size_t abd_world_mesh_count(const AbdWorld *world) { return (size_t)world->model.mesh_count; }
double abd_world_time(const AbdWorld *world) { return (double)world->state.step * world->model.def.dt; }
int64_t abd_world_step_count(const AbdWorld *world) { return world->state.step; }
AbdWorldDef abd_world_settings(const AbdWorld *world) { return world->model.def; }
const char *abd_world_device(const AbdWorld *world) { return world->device; }

AbdStatus abd_world_set_device(AbdWorld *world, AbdDevice device) {
  AbdError *error = world_fresh_error(world);
  if ((unsigned)device > ABD_DEVICE_CUDA)
    return fault(error, ABD_ERROR_ARGUMENT, "device is %d, expected a value of AbdDevice", (int)device);
  if (device == ABD_DEVICE_CUDA && abd_cuda_missing())
    return fault(error, ABD_ERROR_ARGUMENT, "the device is \"cuda\", but %s", abd_cuda_missing());
  if (world->backend.self) world_drop_backend(world);
  world->contacts_known = world->reactions_known = false;
  world->model.def.solver.device = device;
  return world->started ? world_need_backend(world, error) : ABD_OK;
}

const char *world_part_text(uint32_t triangle, char text[24]) {
  if (triangle == UINT32_MAX) snprintf(text, 24, "an edge");
  else snprintf(text, 24, "triangle %u", triangle);
  return text;
}

static AbdStatus fail_crossing(const AbdWorld *world, const AbdCrossing *c, bool others, AbdError *error) {
  const Body *a = world_body(world, c->body_a), *b = world_body(world, c->body_b);
  char place[120], part[2][24];
  snprintf(place, sizeof place, "near (%g, %g, %g)%s", c->point[0], c->point[1], c->point[2],
           others ? "; other pairs do too" : "");
  world_part_text(c->triangle_a, part[0]), world_part_text(c->triangle_b, part[1]);
  if (a == b)
    return fault(error, ABD_ERROR_CROSSING, "body \"%s\" touches or crosses itself at the start: %s and %s, %s",
                 a->name, part[0], part[1], place);
  return fault(error, ABD_ERROR_CROSSING,
               "bodies \"%s\" and \"%s\" touch or cross at the start: %s of the one and %s of the other, %s", a->name,
               b->name, part[0], part[1], place);
}

static AbdStatus check_start(AbdWorld *world, AbdError *error) {
  const Model *m = &world->model;
  size_t numbers = 12 * (size_t)m->body_count + 3 * (size_t)model_vertex_count(m);
  if (abd_mpi_rank() > 0) return ABD_OK; /* rank 0 checks the same world */
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
  size_t count = world_find_crossings(world, nodes, &c, 1, m->interrupt);
  mem_free(nodes);
  if (count == SIZE_MAX) return fault(error, ABD_ERROR_MEMORY, "out of memory while checking the start");
  return count == 0 ? ABD_OK : fail_crossing(world, &c, count > 1, error);
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

void abd_world_interrupt(AbdWorld *world) { interrupt_set(&world->interrupt, 1); }

/* Ends the polling. Returns whether an interruption made the call fail, which uses the request up. */
static bool world_stopped(AbdWorld *world, bool failed) {
  bool stopped = failed && interrupted(&world->interrupt);
  world->model.interrupt = NULL;
  if (stopped) interrupt_set(&world->interrupt, 0);
  return stopped;
}

/* Builds all data of a started world. */
static AbdStatus build(AbdWorld *world, bool check, AbdError *error) {
  Model *m = &world->model;
  if (model_start(m, error)) return error->status;
  if (state_init(&world->state, m, error) || state_next_init(&world->next, m, error)) return error->status;
  if (check ? world_need_backend(world, error) : world_restored_backend(world, error)) return error->status;
  if (check && (check_start(world, error) || check_near(world, error))) return error->status;
  return interrupted(m->interrupt) ? fault(error, ABD_INTERRUPTED, "interrupted") : ABD_OK;
}

/* Undoes build, also one that failed. */
static void undo_build(AbdWorld *world) {
  world_drop_backend(world);
  state_destroy(&world->state);
  state_destroy(&world->next);
  state_destroy(&world->substeps.start);
  model_stop(&world->model);
  world->model.def = world->given;
  world->started = false;
}

static AbdStatus start(AbdWorld *world, bool check, AbdError *error) {
  world->given = world->model.def;
  world->model.interrupt = &world->interrupt;
  AbdStatus status = build(world, check, error);
  if (world_stopped(world, status != ABD_OK)) {
    error = world_fresh_error(world);
    status = fault(error, ABD_INTERRUPTED, "interrupted while starting");
  }
  world->started = status == ABD_OK;
  if (status != ABD_OK) undo_build(world);
  return status;
}

AbdStatus abd_world_start(AbdWorld *world) {
  AbdError *error = world_fresh_error(world);
  if (world->started) return ABD_OK;
  if (world->changing)
    return fault(error, ABD_ERROR_STATE, "a change of the world is open: abd_world_end_change comes before the start");
  return start(world, true, error);
}

static AbdStatus step_fault(AbdWorld *world, Outcome outcome, AbdError *error) {
  long long step = (long long)world->state.step + 1;
  if (outcome.kind == STAGE_OUT_OF_MEMORY && abd_mpi_count() > 1) return world_rank_fault(world, error);
  if (outcome.kind == STAGE_OUT_OF_MEMORY && world->backend.stages != &cpu_stages)
    return fault(error, ABD_ERROR_MEMORY,
                 "out of memory on the GPU or on this machine in step %lld; device \"cpu\" or \"auto\" can go on from "
                 "step %lld",
                 step, step - 1);
  if (outcome.kind == STAGE_OUT_OF_MEMORY) return fault(error, ABD_ERROR_MEMORY, "out of memory in step %lld", step);
  const Body *body = outcome.body < 0 ? NULL : &world->model.body[outcome.body];
  double range = world->model.def.contact.range;
  if (outcome.kind == STAGE_TOO_FAR)
    return fault(error, ABD_ERROR_NUMERIC,
                 "contact.range is %g m, but in step %lld body %s is near another so far from the origin that its "
                 "coordinates are rounded by more than %.3g m",
                 range, step, body->name, range / RANGE_ROUNDING);
  return fault(error, ABD_ERROR_NUMERIC, "a value that is not finite appeared in step %lld%s%s", step,
               body ? " at body " : "", body ? body->name : "");
}

/* Stages write index + 1 instead of ids. */
static void report_ids(const AbdWorld *world, AbdStepReport *r) {
  AbdBodyId *body[] = {&r->culprit[0],          &r->culprit[1],          &r->limit[0],   &r->limit[1],
                       &r->given_up_culprit[0], &r->given_up_culprit[1], &r->nearest[0], &r->nearest[1],
                       &r->most_strained,       &r->most_strained_soft};
  for (int k = 0; k < ARRAY_COUNT(body); k++) *body[k] = world_body_id(world, (int)body[k]->id - 1);
  r->worst_joint = world_joint_id(world, (int)r->worst_joint.id - 1);
}

/* Prepares a step. */
static AbdStatus step_ready(AbdWorld *world, AbdError *error) {
  if (world->changing)
    return fault(error, ABD_ERROR_STATE, "a change of the world is open: abd_world_end_change comes before a step");
  if (!world->started && abd_world_start(world) != ABD_OK) return world->error.status;
  if (world_need_backend(world, error)) return error->status;
  if (world->model.def.solver.device == ABD_DEVICE_CUDA && world->backend.stages == &cpu_stages)
    return fault(error, ABD_ERROR_ARGUMENT, "solver.device is \"cuda\", but %s", abd_cuda_missing());
  world->contacts_known = world->reactions_known = false;
  kept_destroy(&world->kept);
  mean_begin(world);
  return ABD_OK;
}

/* The step up to where its state becomes that of the world. */
static AbdStatus solve_step(AbdWorld *world, AbdStepReport *report, AbdError *error) {
  world->model.interrupt = &world->interrupt;
  Outcome outcome = substeps_run(&world->step, world->backend, &world->state, &world->next, &world->substeps, report);
  if (outcome.kind == STAGE_OUT_OF_MEMORY && world_leave_gpu(world)) {
    memset(report, 0, sizeof *report);
    mean_begin(world);
    outcome = substeps_run(&world->step, world->backend, &world->state, &world->next, &world->substeps, report);
  }
  bool stopped = world_stopped(world, stage_failed(outcome)); /* or another rank was */
  if (stopped || outcome.kind == STAGE_INTERRUPTED)
    return fault(error, ABD_INTERRUPTED, "interrupted in step %lld", (long long)world->state.step + 1);
  if (stage_failed(outcome) && outcome.body >= 0) report->culprit[0].id = (uint32_t)outcome.body + 1;
  report_ids(world, report);
  if (stage_failed(outcome)) return step_fault(world, outcome, error);
  if (!mean_finish(world)) return fault(error, ABD_ERROR_MEMORY, "out of memory for the contacts of sub-steps");
  if (world_sense(world, error) == ABD_OK) world_raise_touches(world, error);
  return error->status;
}

/* The step is taken by all ranks or by none. A rank whose memory is out leaves the others in an exchange; that fails, and
 * they come here too. */
static AbdStatus step_together(AbdWorld *world, AbdStepReport *report, AbdError *error) {
  AbdStatus status = step_ready(world, error);
  int pending = world->pending.count;
  if (status == ABD_OK) status = solve_step(world, report, error);
  bool all = abd_mpi_agree(status == ABD_OK);
  if (all) return ABD_OK;
  world->pending.count = pending;
  substeps_undo(&world->substeps, &world->state);
  if (status != ABD_OK) return status;
  return fault(error, ABD_INTERRUPTED, "another rank failed in step %lld", (long long)world->state.step + 1);
}

AbdStatus abd_world_step(AbdWorld *world, AbdStepReport *report) {
  AbdStepReport local;
  AbdError *error = world_fresh_error(world);
  double t0 = clock_now();
  if (!report) report = &local;
  memset(report, 0, sizeof *report);
  if (step_together(world, report, error)) return error->status;
  substeps_finish(&world->substeps, &world->state, &world->next, &world->model);
  world->contacts_known = true;
  AbdStatus status = world_break_joints(world, error);
  report->step = world->state.step;
  report->time = abd_world_time(world);
  report->events = world->event.count;
  report->broken_joints = world->broken.count;
  double rest = clock_now() - t0;
  for (int i = 0; i < ABD_STAGE_REST; i++) rest -= report->seconds[i];
  report->seconds[ABD_STAGE_REST] = rest;
  return status;
}

void abd_parallel(int count, int threads, AbdTask *task, void *context) {
  parallel_separate(threads > 0 ? threads : parallel_max_threads(), count, task, context);
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
  bool fresh = !world->started;
  if (world->changing)
    return fault(error, ABD_ERROR_STATE, "a change of the world is open: abd_world_end_change comes before a restore");
  if (fresh && start(world, false, error)) return error->status; /* the poses of the snapshot count */
  AbdStatus status = world_restore(world, bytes, size, error);
  if (status != ABD_OK) {
    if (fresh) undo_build(world);
    return status;
  }
  world->changes++;
  world->contacts_known = world->reactions_known = false;
  kept_destroy(&world->kept);
  world->pending.count = world->event.count = world->broken.count = 0;
  return ABD_OK;
}

uint64_t abd_world_hash(const AbdWorld *world) { return world->started ? state_hash(&world->state, &world->model) : 0; }

const char *abd_version(void) { return "0.1.0"; }
