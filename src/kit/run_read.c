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
  run_listing_destroy(&run->list);
  run_frame_destroy(&run->frame);
  run_numbers_destroy(&run->numbers);
  free(run->contact), free(run->reading), free(run->meta);
}

/* Lists the frames again, and reads bodies and joints again if some came or went. */
static bool list_again(AbdRun *run) {
  IN_C_LOCALE;
  if (!run->listed) run->list.changes = -1;
  int64_t before = run->list.changes;
  if (!run_list(run->run, &run->list)) return run_failed(run), false;
  run->listed = true;
  if (run->list.changes != before) free(run->reading), run->reading = NULL;
  return true;
}

/* A failed attempt is made again at the next call. */
bool run_know_list(AbdRun *run) { return run->listed || list_again(run); }

const char *abd_run_meta(AbdRun *run, const char *key) {
  free(run->meta);
  return run->meta = run_read_meta(run->run, key);
}

AbdStatus abd_run_view(AbdRun *run, AbdRunView *view) {
  *view = (AbdRunView){0};
  if (!list_again(run)) return run->error.status;
  const RunScene *s = &run->list.scene;
  view->frame = run->list.step, view->frame_count = run->list.step_count;
  view->changes = run->list.changes;
  view->body_count = s->body_count, view->mesh_count = s->mesh_count, view->joint_count = run->list.joints.count;
  view->node_count = s->node_count, view->rate_count = s->rate_count;
  view->dt = s->dt;
  memcpy(view->up, s->up, sizeof view->up);
  return ABD_OK;
}

static AbdStatus no_such(AbdRun *run, const char *what, uint32_t id) {
  return fail_with(&run->error, ABD_ERROR_ARGUMENT, "%s has no %s %u", run_path(run->run), what, id);
}

AbdStatus abd_run_body(AbdRun *run, AbdBodyId id, AbdRunBody *body) {
  if (!run_know_list(run)) return run->error.status;
  if (id.id < 1 || id.id > run->list.scene.body_count) return no_such(run, "body", id.id);
  const RunBody *b = &run->list.scene.body[id.id - 1];
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
  if (!run_know_list(run)) return run->error.status;
  if (id.id < 1 || id.id > run->list.scene.mesh_count) return no_such(run, "mesh", id.id);
  const RunMesh *m = &run->list.scene.mesh[id.id - 1];
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
  if (!run_know_list(run)) return run->error.status;
  if (id.id < 1 || id.id > run->list.joints.count) return no_such(run, "joint", id.id);
  const RunJoint *j = &run->list.joints.joint[id.id - 1];
  *joint = (AbdRunJoint){.name = j->name,
                         .kind = j->kind,
                         .body_a = {j->body_a},
                         .body_b = {j->body_b},
                         .joint_a = {j->joint_a},
                         .joint_b = {j->joint_b},
                         .limit = {j->limit[0], j->limit[1]}};
  return ABD_OK;
}

typedef bool ReadStep(AbdRun *run, int64_t step);

static bool read_frame(AbdRun *run, int64_t step) {
  return run_read_frame(run->run, &run->list.scene, step, &run->frame);
}

static bool read_readings(AbdRun *run, int64_t step) {
  return run_read_joint_readings(run->run, &run->list.joints, step, run->reading);
}

/* Are bodies and joints still those that were listed? */
static AbdStatus check_unchanged(AbdRun *run, int64_t step) {
  int64_t changes;
  if (!run_count_changes(run->run, &changes)) return run_failed(run);
  if (changes == run->list.changes) return ABD_OK;
  return fail_with(&run->error, ABD_ERROR_STATE,
                   "%s: bodies or joints came or went since its frames were listed: list them again before step %lld "
                   "is read",
                   run_path(run->run), (long long)step);
}

static AbdStatus read_later(AbdRun *run, int64_t step, ReadStep *read) {
  if (!run_begin_read(run->run)) return run_failed(run);
  AbdStatus status = check_unchanged(run, step);
  if (status == ABD_OK && !read(run, step)) status = run_failed(run);
  run_end_read(run->run);
  return status;
}

/* A listed step has the bodies and joints that were listed, unless the run was rewound meanwhile. A later one may have
 * others. */
static AbdStatus read_step(AbdRun *run, int64_t step, ReadStep *read) {
  const RunListing *list = &run->list;
  if (!list->step_count || step > list->step[list->step_count - 1]) return read_later(run, step, read);
  if (read(run, step)) return ABD_OK;
  AbdStatus status = run_failed(run), changed = check_unchanged(run, step);
  return changed == ABD_OK ? status : changed;
}

AbdStatus abd_run_frame(AbdRun *run, int64_t step, AbdRunFrame *frame) {
  if (!run_know_list(run)) return run->error.status;
  run_frame_destroy(&run->frame);
  AbdStatus status = read_step(run, step, read_frame);
  if (status != ABD_OK) return status;
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
  if (!run_know_list(run)) return run->error.status;
  if (!run->reading) run->reading = calloc(run->list.joints.count + 1, sizeof *run->reading);
  if (!run->reading) return fail_with(&run->error, ABD_ERROR_MEMORY, "out of memory for readings");
  AbdStatus status = read_step(run, step, read_readings);
  if (status != ABD_OK) return status;
  *reading = run->reading;
  *count = run->list.joints.count;
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
  if (!run_begin_read(run->run)) return run_failed(run);
  bool good = run_read_summary(run->run, summary);
  run_end_read(run->run);
  return good ? ABD_OK : run_failed(run);
}

AbdStatus abd_run_worst_reading(AbdRun *run, double *residual, int64_t *step, AbdJointId *joint) {
  return run_read_worst_reading(run->run, residual, step, &joint->id) ? ABD_OK : run_failed(run);
}

/* ---- A world's poses ---- */

size_t abd_world_node_count(const AbdWorld *world) { return world_node_count(world); }
double *abd_world_nodes_new(const AbdWorld *world) { return world_nodes_new(world); }
void abd_nodes_free(double *nodes) { free(nodes); }
