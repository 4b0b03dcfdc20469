/* Newton's step on the GPU, in worlds of free stiff bodies: moments of the pairs, the matrix by rows, conjugate
 * gradients. The pattern is written here: rows island by island, the diagonal block first, then the pairs of the body
 * in their order. Tested in tests/test_cuda_serial.c and tests/cuda/. */
#include <string.h>

#include "cpu/assembly.h"
#include "cuda/accelerator.h"
#include "kernel/constant.h"

enum { PCG_ITERATIONS = 4000 };

int cuda_solve_bodies = GPU_SOLVE_BODIES;

bool cuda_solves(int bodies) { return bodies >= cuda_solve_bodies; }

/* The system of the active set. Places are those in the packet. */
typedef struct Setup {
  Cpu *cpu;
  Cuda *c;
  int rows, blocks, components, chunks, tasks, entries, parts;
  int *body;                                           /* by row: cpu->active, sorted by island */
  size_t task, first, part_first, entry, column, part; /* pattern */
  size_t block_chunk, chunk_row, chunk_component, component_chunk;
  size_t own, own_block, pose;   /* gradients and blocks of the bodies by themselves; poses */
  size_t step, gradient, status; /* places in the solution */
} Setup;

static int *ints(const Setup *s, size_t at) { return packet_here(&s->c->packet, at); }

/* ---- the pattern ---- */

/* Sorts the active bodies by island. */
static void sort_rows(Setup *s) {
  const Islands *islands = s->cpu->islands;
  for (int g = 0; g < islands->count; g++) {
    int before = s->rows;
    for (int e = islands->member.first[g]; islands->island[g].selected && e < islands->member.first[g + 1]; e++) {
      int body = islands->member.item[e];
      if (!s->cpu->work.active[body]) continue;
      s->c->row_of[body] = s->rows;
      s->body[s->rows++] = body;
    }
    s->components += s->rows > before;
  }
  s->blocks = pcg_blocks(s->rows);
}

static void acts_item(void *context, int k) {
  const Setup *s = context;
  s->c->items[k] = s->cpu->pair_acts[k] && pair_selected(s->cpu, k);
}

/* task_pair: by pair, its task, -1 if it has no contact and no friction. */
static void count_tasks(Setup *s) {
  parallel_for(s->cpu->threads, s->cpu->pairs.count, 256, acts_item, s);
  for (int k = 0; k < s->cpu->pairs.count; k++) s->c->task_pair[k] = s->c->items[k] ? s->tasks++ : -1;
}

/* Places for all arrays; numbers that are not known yet at their most. */
static bool open_packet(Setup *s) {
  Packet *p = &s->c->packet, *out = &s->c->solution;
  size_t rows = (size_t)s->rows, tasks = (size_t)s->tasks, number = sizeof(int);
  packet_begin(p);
  s->task = packet_add(p, tasks * sizeof(MomentTask));
  s->first = packet_add(p, (rows + 1) * number);
  s->part_first = packet_add(p, (rows + 1) * number);
  s->entry = packet_add(p, (rows + 2 * tasks) * number);
  s->column = packet_add(p, (rows + 2 * tasks) * number);
  s->part = packet_add(p, 2 * tasks * number);
  size_t chunks = (size_t)(s->blocks + s->components);
  s->block_chunk = packet_add(p, ((size_t)s->blocks + 1) * number);
  s->chunk_row = packet_add(p, (chunks + 1) * number);
  s->chunk_component = packet_add(p, chunks * number);
  s->component_chunk = packet_add(p, ((size_t)s->components + 1) * number);
  s->pose = packet_add(p, (size_t)s->c->model->body_count * sizeof(Affine));
  s->own = packet_add(p, rows * sizeof(Affine));
  s->own_block = packet_add(p, rows * 144 * sizeof(double));
  packet_begin(out);
  s->step = packet_add(out, rows * sizeof(Affine));
  s->gradient = packet_add(out, rows * sizeof(Affine));
  s->status = packet_add(out, sizeof(PcgStatus));
  return packet_open(p) && packet_open(out);
}

/* The first row of a thread block: all have about the same number of entries. */
static int block_row(const Setup *s, const int *first, int block, int row) {
  while (row < s->rows && (int64_t)first[row] * s->blocks < (int64_t)s->entries * block) row++;
  return row;
}

/* Each island is a component of the matrix, cut into chunks where a thread block's rows end. */
static void write_chunks(Setup *s) {
  const int *entry = ints(s, s->first);
  int *block_chunk = ints(s, s->block_chunk), *chunk_row = ints(s, s->chunk_row);
  int *of = ints(s, s->chunk_component), *first = ints(s, s->component_chunk);
  int component = -1, island = -1;
  for (int block = 0, row = 0; block < s->blocks; block++) {
    int end = block_row(s, entry, block + 1, row), begin = row;
    block_chunk[block] = s->chunks;
    for (; row < end; row++) {
      int its = s->cpu->islands->of[s->body[row]];
      if (its != island) first[++component] = s->chunks;
      if (its != island || row == begin) {
        of[s->chunks] = component;
        chunk_row[s->chunks++] = row;
      }
      island = its;
    }
  }
  block_chunk[s->blocks] = first[s->components] = s->chunks;
  chunk_row[s->chunks] = s->rows;
}

static void task_item(void *context, int k) {
  const Setup *s = context;
  int t = s->c->task_pair[k];
  if (t < 0) return;
  const Pair *p = pairs_at(&s->cpu->pairs, k);
  const Record *r = &s->c->record[p->slot];
  const Body *body = s->c->model->body;
  ((MomentTask *)packet_here(&s->c->packet, s->task))[t] = (MomentTask){.a = p->a,
                                                                        .b = p->b,
                                                                        .mesh_a = body[p->a].mesh,
                                                                        .mesh_b = body[p->b].mesh,
                                                                        .first = r->contact_first,
                                                                        .count = r->contacts,
                                                                        .friction = r->friction,
                                                                        .friction_count = r->friction_count,
                                                                        .stiffness = p->stiffness};
}

/* A pair of the row's body that acts; its task, its side and whether its other body has a row. */
typedef struct Part {
  int task, side, other;
  bool couples;
} Part;

static bool part_at(const Setup *s, int e, Part *part) {
  const Cpu *cpu = s->cpu;
  int pair = cpu->body_pairs.item[e] / 2;
  part->side = cpu->body_pairs.item[e] % 2;
  part->task = s->c->task_pair[pair];
  if (part->task < 0) return false;
  part->other = cpu->pairs.body[pair][1 - part->side];
  part->couples = takes_part(cpu, part->other);
  return true;
}

static void count_row(void *context, int row) {
  const Setup *s = context;
  const Segments *pairs = &s->cpu->body_pairs;
  int body = s->body[row], entries = 1, parts = 0;
  Part part;
  for (int e = pairs->first[body]; e < pairs->first[body + 1]; e++) {
    if (!part_at(s, e, &part)) continue;
    parts++;
    entries += part.couples;
  }
  ints(s, s->first)[row] = entries;
  ints(s, s->part_first)[row] = parts;
}

static void write_row(void *context, int row) {
  const Setup *s = context;
  const Segments *pairs = &s->cpu->body_pairs;
  int body = s->body[row], at = ints(s, s->first)[row], part_at_row = ints(s, s->part_first)[row];
  int *entry = ints(s, s->entry), *column = ints(s, s->column), *parts = ints(s, s->part);
  Part part;
  column[at] = row;
  entry[at++] = -1 - row;
  for (int e = pairs->first[body]; e < pairs->first[body + 1]; e++) {
    if (!part_at(s, e, &part)) continue;
    parts[part_at_row++] = 2 * part.task + part.side;
    if (!part.couples) continue;
    column[at] = s->c->row_of[part.other];
    entry[at++] = 2 * part.task + part.side;
  }
}

/* Numbers become places; returns the sum. */
static int to_places(int *number, int count) {
  int sum = 0;
  for (int k = 0; k < count; k++) {
    int own = number[k];
    number[k] = sum;
    sum += own;
  }
  return number[count] = sum;
}

static void write_rows(Setup *s) {
  parallel_for(s->cpu->threads, s->rows, 32, count_row, s);
  s->entries = to_places(ints(s, s->first), s->rows);
  s->parts = to_places(ints(s, s->part_first), s->rows);
  parallel_for(s->cpu->threads, s->rows, 32, write_row, s);
}

/* A body by itself. */
static void body_item(void *context, int row) {
  const Setup *s = context;
  const Work *w = &s->cpu->work;
  int body = s->body[row];
  double damping = s->cpu->islands->island[s->cpu->islands->of[body]].damping;
  ((Affine *)packet_here(&s->c->packet, s->own))[row] = body_gradient(w, body, &w->q.body[body]);
  body_hessian(w, body, &w->q.body[body], damping,
               (double *)packet_here(&s->c->packet, s->own_block) + 144 * (size_t)row);
}

static void pose_item(void *context, int body) {
  const Setup *s = context;
  ((Affine *)packet_here(&s->c->packet, s->pose))[body] = s->cpu->work.q.body[body];
}

static void write_all(Setup *s) {
  const Cpu *cpu = s->cpu;
  write_rows(s);
  write_chunks(s);
  parallel_for(cpu->threads, cpu->model->body_count, 64, pose_item, s);
  parallel_both(cpu->threads, s->rows, cpu->pairs.count, 32, body_item, task_item, s);
}

/* ---- the solve ---- */

/* The step in place of the right-hand side. */
static bool solve(const Setup *s) {
  Cuda *c = s->c;
  const Packet *p = &c->packet;
  PcgMatrix system = {s->rows,
                      s->blocks,
                      s->chunks,
                      s->components,
                      packet_there(p, s->first),
                      packet_there(p, s->column),
                      c->value.at,
                      packet_there(p, s->block_chunk),
                      packet_there(p, s->chunk_row),
                      packet_there(p, s->chunk_component),
                      packet_there(p, s->component_chunk)};
  return pcg_solve(&c->pcg, &system, packet_there(&c->solution, s->step), GPU_PCG_TOLERANCE, PCG_ITERATIONS,
                   packet_there(&c->solution, s->status)) &&
         packet_receive(&c->solution) && device_wait();
}

static bool launch(const Setup *s) {
  Cuda *c = s->c;
  const Packet *p = &c->packet;
  const ContactScene *scene = &s->cpu->scene;
  double *step = packet_there(&c->solution, s->step);
  if (!device_reserve(&c->moments, (size_t)s->tasks * MOMENT_SUMS * sizeof(double)) ||
      !device_reserve(&c->value, (size_t)s->entries * 144 * sizeof(double)))
    return false;
  MomentArrays moments = {packet_there(p, s->task),
                          c->shape.at,
                          packet_there(p, s->pose),
                          c->contact.at,
                          c->index.at,
                          c->friction.there.at,
                          c->moments.at,
                          scene->range,
                          scene->friction_eps};
  MatrixArrays matrix = {c->moments.at,
                         packet_there(p, s->own_block),
                         packet_there(p, s->own),
                         packet_there(p, s->entry),
                         packet_there(p, s->part_first),
                         packet_there(p, s->part),
                         c->value.at,
                         packet_there(&c->solution, s->gradient),
                         step};
  return packet_send(&c->packet) && moment_launch(s->tasks, &moments) && matrix_launch(144 * s->entries, &matrix) &&
         gradient_launch(12 * s->rows, &matrix) && solve(s);
}

static void take_row(void *context, int row) {
  const Setup *s = context;
  Work *w = &s->cpu->work;
  int body = s->body[row];
  w->gradient.body[body] = ((const Affine *)packet_here(&s->c->solution, s->gradient))[row];
  w->newton.body[body] = ((const Affine *)packet_here(&s->c->solution, s->step))[row];
  w->speed[body] = body_speed(w, body, &w->newton.body[body]);
}

static Outcome take_status(const Setup *s, bool *raised) {
  const PcgStatus *status = packet_here(&s->c->solution, s->status);
  *raised |= status->indefinite > 0;
  s->cpu->report->linear_iterations += status->iterations;
  return status->not_finite ? stage_not_finite(-1) : stage_done();
}

Outcome cuda_newton_step(void *self, Cpu *cpu, bool *raised) {
  Cuda *c = self;
  if (!c->setup && !(c->setup = mem_alloc(1, sizeof(Setup)))) return stage_from(false);
  Setup *s = c->setup;
  *s = (Setup){.cpu = cpu, .c = c, .body = cpu->active};
  c->lost = !cuda_send_friction(c, cpu); /* the tasks say where a pair's friction points are */
  if (c->lost) return stage_from(false);
  sort_rows(s);
  count_tasks(s);
  *raised = false;
  if (s->rows == 0) return stage_done();
  if (!open_packet(s)) return stage_from(false);
  write_all(s);
  c->lost = !launch(s);
  if (c->lost) return stage_from(false);
  Outcome outcome = take_status(s, raised);
  if (!stage_failed(outcome)) parallel_for(cpu->threads, s->rows, 64, take_row, s);
  return outcome;
}

/* ---- one more solve ---- */

static void put_change(void *context, int row) {
  const Setup *s = context;
  Affine change = s->cpu->work.direction.body[s->body[row]], zero = affine_sub(change, change);
  ((Affine *)packet_here(&s->c->solution, s->step))[row] = affine_sub(zero, change);
}

static void add_row(void *context, int row) {
  const Setup *s = context;
  Affine *newton = &s->cpu->work.newton.body[s->body[row]];
  *newton = affine_add_scaled(*newton, 1, ((const Affine *)packet_here(&s->c->solution, s->step))[row]);
}

Outcome cuda_newton_correct(void *self, Cpu *cpu) {
  Cuda *c = self;
  Setup *s = c->setup;
  bool raised = false;
  if (s->rows == 0) return stage_done();
  parallel_for(cpu->threads, s->rows, 64, put_change, s);
  c->lost = !device_upload(packet_there(&c->solution, s->step), packet_here(&c->solution, s->step),
                           (size_t)s->rows * sizeof(Affine)) ||
            !solve(s);
  if (c->lost) return stage_from(false);
  Outcome outcome = take_status(s, &raised);
  if (!stage_failed(outcome)) parallel_for(cpu->threads, s->rows, 64, add_row, s);
  return outcome;
}
