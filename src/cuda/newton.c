/* Newton's step on the GPU, in worlds of free stiff bodies: moments of the pairs, the matrix by rows, conjugate
 * gradients. The pattern is written here: rows island by island, the diagonal block first, then the pairs of the body in
 * their order. Tested in tests/cuda/. */
#include <string.h>

#include "cpu/assembly.h"
#include "cuda/accelerator.h"
#include "kernel/constant.h"

enum { PCG_ITERATIONS = 4000 };

/* The active set's bodies, by row. */
typedef struct Rows {
  Cpu *cpu;
  Cuda *c;
  int count;
  int *body; /* in cpu->active, sorted by island */
} Rows;

/* ---- the pattern ---- */

/* Sorts the active bodies by island, each island a component of the matrix, and cuts them into chunks. */
static bool make_rows(Rows *rows) {
  Cpu *cpu = rows->cpu;
  Cuda *c = rows->c;
  const Islands *s = cpu->islands;
  int most_rows = pcg_chunk_rows(cpu->active_count), *added;
  c->chunk_row.count = c->chunk_component.count = c->component_chunk.count = 0;
  rows->count = 0;
  for (int g = 0; g < s->count; g++) {
    int first = rows->count;
    for (int e = s->member.first[g]; s->island[g].selected && e < s->member.first[g + 1]; e++) {
      int body = s->member.item[e];
      if (!cpu->work.active[body]) continue;
      c->row_of[body] = rows->count;
      rows->body[rows->count++] = body;
    }
    if (rows->count == first) continue;
    if (!(added = twin_extend(&c->component_chunk, 1))) return false;
    *added = c->chunk_row.count;
    for (int row = first; row < rows->count; row += most_rows) {
      if (!(added = twin_extend(&c->chunk_row, 1))) return false;
      *added = row;
      if (!(added = twin_extend(&c->chunk_component, 1))) return false;
      *added = c->component_chunk.count - 1;
    }
  }
  if (!(added = twin_extend(&c->component_chunk, 1))) return false;
  *added = c->chunk_row.count;
  if (!(added = twin_extend(&c->chunk_row, 1))) return false;
  *added = rows->count;
  return true;
}

/* One task for each pair with contacts or friction. task_pair: by pair, its task, -1 if none. */
static bool make_moment_tasks(Rows *rows) {
  Cpu *cpu = rows->cpu;
  Cuda *c = rows->c;
  const Body *body = c->model->body;
  c->moment_task.count = 0;
  for (int k = 0; k < cpu->pairs.count; k++) {
    c->task_pair[k] = -1;
    if (!cpu->pair_acts[k] || !pair_selected(cpu, k)) continue;
    const Pair *p = pairs_at(&cpu->pairs, k);
    const Record *r = &c->record[p->slot];
    MomentTask *task = twin_extend(&c->moment_task, 1);
    if (!task) return false;
    *task = (MomentTask){.a = p->a,
                         .b = p->b,
                         .mesh_a = body[p->a].mesh,
                         .mesh_b = body[p->b].mesh,
                         .first = r->contact_first,
                         .count = r->contacts,
                         .friction = r->friction,
                         .friction_count = r->friction_count,
                         .stiffness = p->stiffness};
    c->task_pair[k] = c->moment_task.count - 1;
  }
  return true;
}

static bool add_entry(Cuda *c, int column, int what) {
  int *to = twin_extend(&c->column, 1), *entry = twin_extend(&c->entry, 1);
  if (!to || !entry) return false;
  *to = column;
  *entry = what;
  return true;
}

static bool add_part(Cuda *c, int what) {
  int *to = twin_extend(&c->part, 1);
  if (to) *to = what;
  return to != NULL;
}

static bool add_row(Rows *rows, int row) {
  Cpu *cpu = rows->cpu;
  Cuda *c = rows->c;
  int body = rows->body[row];
  if (!add_entry(c, row, -1 - row)) return false;
  for (int e = cpu->body_pairs.first[body]; e < cpu->body_pairs.first[body + 1]; e++) {
    int pair = cpu->body_pairs.item[e] / 2, side = cpu->body_pairs.item[e] % 2, task = c->task_pair[pair];
    if (task < 0) continue;
    int other = cpu->pairs.body[pair][1 - side];
    if (!add_part(c, 2 * task + side)) return false;
    if (takes_part(cpu, other) && !add_entry(c, c->row_of[other], 2 * task + side)) return false;
  }
  return true;
}

static bool make_entries(Rows *rows) {
  Cuda *c = rows->c;
  c->entry.count = c->column.count = c->part.count = c->first.count = c->part_first.count = 0;
  int *first = twin_extend(&c->first, rows->count + 1), *part_first = twin_extend(&c->part_first, rows->count + 1);
  if (!first || !part_first) return false;
  for (int row = 0; row < rows->count; row++) {
    first[row] = c->column.count;
    part_first[row] = c->part.count;
    if (!add_row(rows, row)) return false;
  }
  first[rows->count] = c->column.count;
  part_first[rows->count] = c->part.count;
  return true;
}

/* ---- bodies by themselves ---- */

static void body_task(void *context, int row) {
  const Rows *rows = context;
  const Work *w = &rows->cpu->work;
  int body = rows->body[row];
  double damping = rows->cpu->islands->island[rows->cpu->islands->of[body]].damping;
  ((Affine *)rows->c->own.here.at)[row] = body_gradient(w, body, &w->q.body[body]);
  body_hessian(w, body, &w->q.body[body], damping, (double *)rows->c->body.here.at + 144 * (size_t)row);
}

static bool make_bodies(Rows *rows) {
  Cuda *c = rows->c;
  c->own.count = c->body.count = c->step.count = c->gradient.count = 0;
  if (!twin_extend(&c->own, rows->count) || !twin_extend(&c->body, rows->count) ||
      !twin_extend(&c->step, rows->count) || !twin_extend(&c->gradient, rows->count))
    return false;
  parallel_for(rows->cpu->threads, rows->count, 16, body_task, rows);
  return true;
}

/* ---- the solve ---- */

static bool send_system(Cuda *c, const Cpu *cpu) {
  Twin *twin[] = {&c->moment_task, &c->entry,     &c->part_first,      &c->part,           &c->body, &c->own, &c->first,
                  &c->column,      &c->chunk_row, &c->chunk_component, &c->component_chunk};
  for (int k = 0; k < ARRAY_COUNT(twin); k++)
    if (!twin_send(twin[k])) return false;
  return cuda_send_poses(c, cpu->work.q.body) && device_reserve(&c->step.there, (size_t)c->step.count * c->step.size) &&
         device_reserve(&c->gradient.there, (size_t)c->gradient.count * c->gradient.size) &&
         device_reserve(&c->moments, (size_t)c->moment_task.count * MOMENT_SUMS * sizeof(double)) &&
         device_reserve(&c->value, (size_t)c->entry.count * 144 * sizeof(double));
}

static bool launch_system(Cuda *c, const Cpu *cpu, PcgStatus *status) {
  const ContactScene *scene = &cpu->scene;
  MomentArrays moments = {c->moment_task.there.at, c->shape.at,  c->pose_here.there.at,
                          c->contact.at,           c->index.at,  c->friction.at,
                          c->moments.at,           scene->range, scene->friction_eps};
  MatrixArrays matrix = {c->moments.at,     c->body.there.at,       c->own.there.at,
                         c->entry.there.at, c->part_first.there.at, c->part.there.at,
                         c->value.at,       c->gradient.there.at,   c->step.there.at};
  PcgMatrix system = {c->own.count,
                      c->chunk_component.count,
                      c->component_chunk.count - 1,
                      c->first.there.at,
                      c->column.there.at,
                      c->value.at,
                      c->chunk_row.there.at,
                      c->chunk_component.there.at,
                      c->component_chunk.there.at,
                      pcg_chunk_rows(c->own.count)};
  return moment_launch(c->moment_task.count, &moments) && matrix_launch(144 * c->entry.count, &matrix) &&
         gradient_launch(12 * c->own.count, &matrix) &&
         pcg_solve(&c->pcg, &system, c->step.there.at, GPU_PCG_TOLERANCE, PCG_ITERATIONS, status) &&
         twin_receive(&c->step) && twin_receive(&c->gradient) && device_wait();
}

static void take_row(void *context, int row) {
  const Rows *rows = context;
  Work *w = &rows->cpu->work;
  int body = rows->body[row];
  w->gradient.body[body] = ((const Affine *)rows->c->gradient.here.at)[row];
  w->newton.body[body] = ((const Affine *)rows->c->step.here.at)[row];
  w->speed[body] = body_speed(w, body, &w->newton.body[body]);
}

Outcome cuda_newton_step(void *self, Cpu *cpu, bool *raised) {
  Cuda *c = self;
  Rows rows = {.cpu = cpu, .c = c, .body = cpu->active};
  PcgStatus status = {0};
  if (!cuda_send_friction(c, cpu)) { /* the tasks say where a pair's friction points are */
    c->lost = true;
    return stage_from(false);
  }
  if (!make_rows(&rows) || !make_moment_tasks(&rows) || !make_entries(&rows) || !make_bodies(&rows))
    return stage_from(false);
  if (rows.count == 0) return stage_done();
  if (!send_system(c, cpu) || !launch_system(c, cpu, &status)) {
    c->lost = true;
    return stage_from(false);
  }
  *raised = status.indefinite > 0;
  cpu->report->linear_iterations += status.iterations;
  if (status.not_finite) return stage_not_finite(-1);
  parallel_for(cpu->threads, rows.count, 64, take_row, &rows);
  return stage_done();
}
