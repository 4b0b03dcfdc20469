/* Reading runs, see abd/record.h. */
#include "kit/kit.h"
#include "record/world_nodes.h"
#include "scene/c_locale.h"

#include <stdlib.h>
#include <string.h>

AbdRun *abd_run_open(const char *path, AbdError *error) {
  RunError why;
  AbdRun *run = calloc(1, sizeof *run);
  if (!run) return fail_with(error, ABD_ERROR_MEMORY, "out of memory for a run"), NULL;
  run->run = run_open(path, RUN_READ, &why);
  if (run->run) return run;
  fail_with(error, kit_status(why.kind), "%s", why.text);
  free(run);
  return NULL;
}

void run_forget(AbdRun *run) {
  run_scene_destroy(&run->scene);
  run_joints_destroy(&run->joints);
  run_frame_destroy(&run->frame);
  run_numbers_destroy(&run->numbers);
  free(run->frame_step), free(run->contact), free(run->reading), free(run->meta);
}

/* A failed attempt is made again at the next call. */
bool run_know_scene(AbdRun *run) {
  IN_C_LOCALE;
  if (run->scene_read) return true;
  run_scene_destroy(&run->scene);
  run_joints_destroy(&run->joints);
  run->scene_read = run_read_scene(run->run, &run->scene) && run_read_joints(run->run, &run->scene, &run->joints);
  if (!run->scene_read) run_failed(run);
  return run->scene_read;
}

const char *abd_run_meta(AbdRun *run, const char *key) {
  free(run->meta);
  return run->meta = run_read_meta(run->run, key);
}

AbdStatus abd_run_view(AbdRun *run, AbdRunView *view) {
  *view = (AbdRunView){0};
  if (!run_know_scene(run)) return run->error.status;
  const RunScene *s = &run->scene;
  free(run->frame_step);
  run->frame_step = NULL;
  if (!run_read_frame_steps(run->run, &run->frame_step, &view->frame_count)) return run_failed(run);
  view->frame = run->frame_step;
  view->body_count = s->body_count, view->mesh_count = s->mesh_count, view->joint_count = run->joints.count;
  view->node_count = s->node_count, view->rate_count = s->rate_count;
  view->dt = s->dt;
  memcpy(view->up, s->up, sizeof view->up);
  return ABD_OK;
}

static AbdStatus no_such(AbdRun *run, const char *what, uint32_t id) {
  return fail_with(&run->error, ABD_ERROR_ARGUMENT, "%s has no %s %u", run_path(run->run), what, id);
}

AbdStatus abd_run_body(AbdRun *run, AbdBodyId id, AbdRunBody *body) {
  if (!run_know_scene(run)) return run->error.status;
  if (id.id < 1 || id.id > run->scene.body_count) return no_such(run, "body", id.id);
  const RunBody *b = &run->scene.body[id.id - 1];
  *body = (AbdRunBody){.name = b->name,
                       .mesh = {(uint32_t)b->mesh + 1},
                       .motion = b->motion,
                       .soft = b->soft != NULL,
                       .density = b->density,
                       .mass = b->mass,
                       .group = b->group,
                       .color = {b->color[0], b->color[1], b->color[2]},
                       .node = b->node,
                       .rate = b->rate,
                       .born = b->born,
                       .died = b->died};
  return ABD_OK;
}

AbdStatus abd_run_mesh(AbdRun *run, AbdMeshId id, AbdRunMesh *mesh) {
  if (!run_know_scene(run)) return run->error.status;
  if (id.id < 1 || id.id > run->scene.mesh_count) return no_such(run, "mesh", id.id);
  const RunMesh *m = &run->scene.mesh[id.id - 1];
  *mesh = (AbdRunMesh){.name = m->name,
                       .vertex = m->vertex,
                       .triangle = m->triangle,
                       .edge = m->edge,
                       .tet = m->tet,
                       .vertex_count = m->vertex_count,
                       .triangle_count = m->triangle_count,
                       .edge_count = m->edge_count,
                       .tet_count = m->tet_count,
                       .closed = m->closed,
                       .half_space = m->half_space,
                       .soft = m->soft};
  memcpy(mesh->origin, m->origin, sizeof mesh->origin);
  memcpy(mesh->axes, m->axes, sizeof mesh->axes);
  return ABD_OK;
}

AbdStatus abd_run_joint(AbdRun *run, AbdJointId id, AbdRunJoint *joint) {
  if (!run_know_scene(run)) return run->error.status;
  if (id.id < 1 || id.id > run->joints.count) return no_such(run, "joint", id.id);
  const RunJoint *j = &run->joints.joint[id.id - 1];
  *joint = (AbdRunJoint){.name = j->name,
                         .kind = j->kind,
                         .body_a = {j->body_a},
                         .body_b = {j->body_b},
                         .joint_a = {j->joint_a},
                         .joint_b = {j->joint_b},
                         .limit = {j->limit[0], j->limit[1]}};
  return ABD_OK;
}

AbdStatus abd_run_frame(AbdRun *run, int64_t step, AbdRunFrame *frame) {
  if (!run_know_scene(run)) return run->error.status;
  run_frame_destroy(&run->frame);
  if (!run_read_frame(run->run, &run->scene, step, &run->frame)) return run_failed(run);
  *frame = (AbdRunFrame){run->frame.step, run->frame.time, run->frame.nodes, run->frame.velocity};
  return ABD_OK;
}

AbdStatus abd_run_contacts(AbdRun *run, int64_t step, const AbdContact **contact, size_t *count) {
  free(run->contact);
  run->contact = NULL;
  if (!run_read_contacts(run->run, step, &run->contact, count)) return run_failed(run);
  *contact = run->contact;
  return ABD_OK;
}

AbdStatus abd_run_readings(AbdRun *run, int64_t step, const AbdJointReading **reading, size_t *count) {
  if (!run_know_scene(run)) return run->error.status;
  if (!run->reading) run->reading = calloc(run->joints.count + 1, sizeof *run->reading);
  if (!run->reading) return fail_with(&run->error, ABD_ERROR_MEMORY, "out of memory for readings");
  if (!run_read_joint_readings(run->run, &run->joints, step, run->reading)) return run_failed(run);
  *reading = run->reading;
  *count = run->joints.count;
  return ABD_OK;
}

AbdStatus abd_run_reports(AbdRun *run, int64_t after_step, size_t limit, AbdRunReports *reports) {
  run_numbers_destroy(&run->numbers);
  if (!run_read_reports(run->run, after_step, limit, &run->numbers)) return run_failed(run);
  const RunNumbers *n = &run->numbers;
  *reports = (AbdRunReports){(const char *const *)n->name, n->value, n->row_count, n->column_count};
  return ABD_OK;
}

AbdStatus abd_run_summary(AbdRun *run, AbdRunSummary *summary) {
  return run_read_summary(run->run, summary) ? ABD_OK : run_failed(run);
}

AbdStatus abd_run_worst_reading(AbdRun *run, double *residual, int64_t *step, AbdJointId *joint) {
  return run_read_worst_reading(run->run, residual, step, &joint->id) ? ABD_OK : run_failed(run);
}

/* ---- A world's poses ---- */

size_t abd_world_node_count(const AbdWorld *world) { return world_node_count(world); }
double *abd_world_nodes_new(const AbdWorld *world) { return world_nodes_new(world); }
void abd_nodes_free(double *nodes) { free(nodes); }
