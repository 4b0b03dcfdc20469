/* Newton's step on the GPU, in worlds of free stiff bodies: moments of the pairs, the matrix by rows, conjugate
 * gradients. The pattern is written here: rows island by island, the diagonal block first, then the pairs of the body
 * in their order. Tested in tests/test_cuda_serial.c and tests/cuda/. */
#include <string.h>

#include "cpu/assembly.h"
#include "cuda/accelerator.h"
#include "kernel/constant.h"
#include "step/active.h"

enum { PCG_ITERATIONS = 4000 };

int cuda_solve_bodies = GPU_SOLVE_BODIES, cuda_cluster = GPU_CLUSTER;

bool cuda_solves(int bodies) { return bodies >= cuda_solve_bodies; }

/* The system of the active set. Places are those in the packet, of task and pose those in the terms. */
typedef struct Setup {
  Cpu *cpu;
  Cuda *c;
  int rows, clusters, blocks, components, chunks, tasks, entries, parts, inverse;
  int *body;                                     /* by row: cpu->active, sorted by island */
  int *size;                                     /* by row that begins a cluster: its rows */
  PcgStrip *cluster;                             /* [clusters] the strip of its first row */
  int *component_row;                            /* [components] first rows */
  size_t task, pose;                             /* MomentTask by task; poses by body */
  size_t first, part_first, entry, column, part; /* pattern */
  size_t block_chunk, chunk_row, chunk_component, component_chunk, strip, first_strip;
  size_t own, row; /* OwnTask by row; rows by body */
  bool follows;    /* loads follow the normal forces: points are renewed, the step is corrected */
  size_t step, gradient, status, strength, expected; /* places in the solution; status: of both solves */
  size_t change, correction, loads;                  /* the same of the correction; loads: LoadResult by task */
} Setup;

static int *ints(const Setup *s, size_t at) { return packet_here(&s->c->packet, at); }

/* ---- terms of the pairs ---- */

/* Picks the pairs that act, and those whose loads follow. */
static void acts_item(void *context, int k) {
  const Setup *s = context;
  s->c->pair_task[k] = -1;
  if (s->follows) cuda_pick_loads(s->c, s->cpu, k);
  if (s->cpu->pair_acts[k] && pair_selected(s->cpu, k)) picks_add(&s->c->task_of, k, 0);
}

/* The tasks: pairs that act, in their order. False if memory is out. */
static bool list_tasks(Setup *s) {
  Picks *tasks = &s->c->task_of;
  picks_clear(tasks);
  picks_clear(&s->c->loaded);
  parallel_for(s->cpu->threads, s->cpu->pairs.count, 64, acts_item, s);
  bool listed = picks_list(tasks, s->cpu->pairs.count);
  s->tasks = tasks->count;
  return listed;
}

static void task_item(void *context, int t) {
  const Setup *s = context;
  int k = s->c->task_of.list[t].pair;
  Pair *p = pairs_at(&s->cpu->pairs, k);
  expect_nothing(s->cpu, k, p);
  const Record *r = &s->c->record[p->slot];
  const Body *body = s->c->model->body;
  MomentTask *task = (MomentTask *)packet_here(&s->c->terms, s->task) + t;
  s->c->pair_task[k] = t;
  *task = (MomentTask){.a = p->a,
                       .b = p->b,
                       .mesh_a = body[p->a].mesh,
                       .mesh_b = body[p->b].mesh,
                       .first = r->contact_first,
                       .count = r->acting,
                       .points = cuda_points(s->c, p),
                       .stiffness = p->stiffness,
                       .expected = p->expected};
  if (!s->follows || !pair_follows(s->cpu, k, p)) return;
  task->weight = s->cpu->islands->island[islands_of_pair(s->cpu->islands, s->cpu->pairs.body[k])].weight;
  pair_load_factors(p, s->c->model, task->factor);
}

/* Its pose; it is a cluster by itself and has no row yet. */
static void pose_item(void *context, int body) {
  const Setup *s = context;
  ((Affine *)packet_here(&s->c->terms, s->pose))[body] = s->cpu->work.q.body[body];
  clusters_clear_body(&s->c->clusters, body);
  s->c->next_row[body] = -1;
}

static bool open_terms(Setup *s) {
  Packet *p = &s->c->terms;
  packet_begin(p);
  s->task = packet_add(p, (size_t)s->tasks * sizeof(MomentTask));
  s->pose = packet_add(p, (size_t)s->c->model->body_count * sizeof(Affine));
  return packet_open(p);
}

/* Friction points if loads follow, and moments: the GPU finds them while this machine writes the pattern. */
static bool launch_terms(const Setup *s) {
  Cuda *c = s->c;
  const ContactScene *scene = &s->cpu->scene;
  const Affine *pose = packet_there(&c->terms, s->pose);
  if (!device_reserve(&c->moments, (size_t)s->tasks * MOMENT_SUMS * sizeof(double)) || !packet_send(&c->terms) ||
      (s->follows && !cuda_list_run(c, s->cpu, pose)))
    return false;
  MomentArrays moments = {packet_there(&c->terms, s->task),
                          c->shape.at,
                          pose,
                          c->contact.at,
                          c->index.at,
                          c->points.there.at,
                          c->friction.there.at,
                          c->moments.at,
                          scene->range,
                          scene->friction_eps};
  return moment_launch(s->tasks, &moments);
}

/* ---- the pattern ---- */

/* The next row of a body's cluster. next: by first body of a cluster, -1 if it has no rows yet. */
static int place_in_cluster(Setup *s, int *next, int body) {
  int first = clusters_find(&s->c->clusters, body);
  if (next[first] < 0) {
    int size = s->c->clusters.size[first];
    s->cluster[s->clusters++] = (PcgStrip){s->inverse, s->rows, size};
    s->inverse += size * size;
    next[first] = s->rows;
    s->size[s->rows] = size;
    s->rows += size;
  }
  return next[first]++;
}

/* Sorts the active bodies by island, then by cluster. */
static void sort_rows(Setup *s) {
  const Islands *islands = s->cpu->islands;
  int *next = s->c->next_row; /* -1 so far */
  for (int g = 0; g < islands->count; g++) {
    int before = s->rows;
    for (int e = islands->member.first[g]; islands->island[g].selected && e < islands->member.first[g + 1]; e++) {
      int body = islands->member.item[e];
      if (!s->cpu->work.active[body]) continue;
      int row = s->c->row_of[body] = place_in_cluster(s, next, body);
      s->body[row] = body;
    }
    if (s->rows > before) s->component_row[s->components++] = before;
  }
  s->blocks = pcg_blocks(s->rows);
}

/* The strips of a cluster. */
static void strip_item(void *context, int k) {
  const Setup *s = context;
  PcgStrip own = s->cluster[k], *strip = (PcgStrip *)packet_here(&s->c->packet, s->strip) + own.row;
  ((PcgStrip *)packet_here(&s->c->packet, s->first_strip))[k] = own;
  for (int i = 0; i < own.count; i++, own.first += own.count) strip[i] = own;
}

/* No strength is known when a step begins, nor of pairs that come later. */
static void forget_strengths(Cuda *c, const Cpu *cpu) {
  if (c->measured == c->step) return;
  memset(c->last, 0, (size_t)cpu->pairs.slot_count * sizeof(float));
  c->measured = c->step;
}

/* Joins the bodies of pairs that act, by the strengths of the last solve in this step. */
static bool find_clusters(Setup *s) {
  const Cpu *cpu = s->cpu;
  Clusters *clusters = &s->c->clusters;
  clusters_clear_edges(clusters);
  for (int t = 0; t < s->tasks; t++) {
    int k = s->c->task_of.list[t].pair;
    const int *body = cpu->pairs.body[k];
    if (takes_part(cpu, body[0]) && takes_part(cpu, body[1]) &&
        !clusters_add(clusters, body[0], body[1], s->c->last[cpu->pairs.slot[k]]))
      return false;
  }
  return clusters_join(clusters, cuda_cluster);
}

/* Places for all arrays; numbers that are not known yet at their most. */
static bool open_packet(Setup *s) {
  Packet *p = &s->c->packet, *out = &s->c->solution;
  size_t rows = (size_t)s->rows, tasks = (size_t)s->tasks, number = sizeof(int);
  cuda_packet_begin(s->c);
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
  s->strip = packet_add(p, rows * sizeof(PcgStrip));
  s->first_strip = packet_add(p, (size_t)s->clusters * sizeof(PcgStrip));
  s->row = packet_add(p, (size_t)s->c->model->body_count * number);
  s->own = packet_add(p, rows * sizeof(OwnTask));
  packet_begin(out);
  s->step = packet_add(out, rows * sizeof(Affine));
  s->gradient = packet_add(out, rows * sizeof(Affine));
  s->status = packet_add(out, 2 * sizeof(PcgStatus));
  s->strength = packet_add(out, tasks * sizeof(float));
  s->expected = packet_add(out, tasks * sizeof(double));
  s->change = packet_add(out, s->follows ? rows * sizeof(Affine) : 0);
  s->correction = packet_add(out, s->follows ? rows * sizeof(Affine) : 0);
  s->loads = packet_add(out, s->follows ? tasks * sizeof(LoadResult) : 0);
  return packet_open(p) && packet_open(out);
}

/* The first row of a thread block: all have about the same number of entries, and whole clusters. */
static int block_row(const Setup *s, const int *first, int block, int row) {
  while (row < s->rows && (int64_t)first[row] * s->blocks < (int64_t)s->entries * block) row += s->size[row];
  return row;
}

/* Each island is a component of the matrix, cut into chunks where a thread block's rows end. */
static void write_chunks(Setup *s) {
  const int *entry = ints(s, s->first);
  int *block_chunk = ints(s, s->block_chunk), *chunk_row = ints(s, s->chunk_row);
  int *of = ints(s, s->chunk_component), *first = ints(s, s->component_chunk);
  for (int block = 0, row = 0, component = -1; block < s->blocks; block++) {
    int end = block_row(s, entry, block + 1, row);
    block_chunk[block] = s->chunks;
    while (row < end) {
      int next = component + 1 < s->components ? s->component_row[component + 1] : s->rows;
      if (row == next) {
        first[++component] = s->chunks;
        next = component + 1 < s->components ? s->component_row[component + 1] : s->rows;
      }
      of[s->chunks] = component;
      chunk_row[s->chunks++] = row;
      row = next < end ? next : end;
    }
  }
  block_chunk[s->blocks] = first[s->components] = s->chunks;
  chunk_row[s->chunks] = s->rows;
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
  part->task = s->c->pair_task[pair];
  if (part->task < 0) return false;
  part->other = cpu->pairs.body[pair][1 - part->side];
  part->couples = takes_part(cpu, part->other);
  return true;
}

static void count_row(const Setup *s, int row) {
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

/* Counts the entries of a row; its body by itself. */
static void open_row(void *context, int row) {
  const Setup *s = context;
  const Work *w = &s->cpu->work;
  int body = s->body[row];
  count_row(s, row);
  double damping = active_damping(s->cpu->islands, w, body);
  ((OwnTask *)packet_here(&s->c->packet, s->own))[row] = (OwnTask){body_term(w, body), damping, body};
}

static void row_item(void *context, int body) {
  const Setup *s = context;
  ints(s, s->row)[body] = takes_part(s->cpu, body) ? s->c->row_of[body] : -1;
}

static void write_all(Setup *s) {
  const Cpu *cpu = s->cpu;
  parallel_both(cpu->threads, s->rows, cpu->model->body_count, 32, open_row, row_item, s);
  s->entries = to_places(ints(s, s->first), s->rows);
  s->parts = to_places(ints(s, s->part_first), s->rows);
  parallel_both(cpu->threads, s->rows, s->clusters, 32, write_row, strip_item, s);
  write_chunks(s);
}

/* ---- the solve ---- */

static PcgMatrix matrix_of(const Setup *s) {
  const Packet *p = &s->c->packet;
  return (PcgMatrix){s->rows,
                     s->blocks,
                     s->chunks,
                     s->components,
                     s->inverse,
                     packet_there(p, s->first),
                     packet_there(p, s->column),
                     s->c->value.at,
                     packet_there(p, s->entry),
                     (const double *)s->c->moments.at + MOMENT_AB,
                     MOMENT_SUMS,
                     packet_there(p, s->block_chunk),
                     packet_there(p, s->chunk_row),
                     packet_there(p, s->chunk_component),
                     packet_there(p, s->component_chunk),
                     packet_there(p, s->strip),
                     s->clusters,
                     packet_there(p, s->first_strip)};
}

static void *solution(const Setup *s, size_t at) { return packet_there(&s->c->solution, at); }

/* Matrix and gradient; the step in place of the right-hand side. */
static bool solve(const Setup *s) {
  Cuda *c = s->c;
  const Packet *p = &c->packet;
  Affine *own = c->own.at;
  OwnArrays bodies = {packet_there(p, s->own), packet_there(&c->terms, s->pose), own, (double *)(own + s->rows)};
  MatrixArrays matrix = {
      c->moments.at, bodies.block, packet_there(p, s->entry), packet_there(p, s->part_first), packet_there(p, s->part),
      c->value.at};
  GradientArrays gradient = {c->moments.at,
                             MOMENT_SUMS,
                             (const double *)own,
                             packet_there(p, s->part_first),
                             packet_there(p, s->part),
                             solution(s, s->gradient),
                             solution(s, s->step)};
  StrengthArrays strength = {
      packet_there(&c->terms, s->task), packet_there(p, s->row), c->moments.at, packet_there(p, s->first), c->value.at,
      solution(s, s->strength)};
  PcgMatrix system = matrix_of(s);
  return own_launch(s->rows, &bodies) && matrix_launch(144 * s->entries, &matrix) &&
         pcg_prepare(&c->pcg, &system, solution(s, s->status)) && strength_launch(s->tasks, &strength) &&
         gradient_launch(12 * s->rows, &gradient) &&
         pcg_solve(&c->pcg, &system, solution(s, s->step), GPU_PCG_TOLERANCE, PCG_ITERATIONS, false,
                   solution(s, s->status));
}

static PredictArrays predict_arrays(const Setup *s) {
  Cuda *c = s->c;
  return (PredictArrays){packet_there(&c->terms, s->task),
                         packet_there(&c->packet, s->row),
                         c->contact.at,
                         c->index.at,
                         c->points.there.at,
                         c->friction.there.at,
                         solution(s, s->step),
                         solution(s, s->expected),
                         c->change.at,
                         solution(s, s->loads),
                         s->cpu->scene.range,
                         s->cpu->scene.friction_eps};
}

/* The forces that the step leads to. */
static bool expect(const Setup *s) {
  PredictArrays forces = predict_arrays(s);
  return expect_launch(s->tasks, &forces);
}

/* The loads that the step leads to, and one more solve for the change of the gradient. */
static bool correct(const Setup *s) {
  Cuda *c = s->c;
  const Packet *p = &c->packet;
  PredictArrays loads = predict_arrays(s);
  GradientArrays change = {c->change.at,
                           MOMENT_AA,
                           NULL,
                           packet_there(p, s->part_first),
                           packet_there(p, s->part),
                           solution(s, s->change),
                           solution(s, s->correction)};
  PcgMatrix system = matrix_of(s);
  return predict_launch(s->tasks, &loads) && gradient_launch(12 * s->rows, &change) &&
         pcg_solve(&c->pcg, &system, solution(s, s->correction), GPU_PCG_TOLERANCE, PCG_ITERATIONS, true,
                   solution(s, s->status));
}

/* All of it without a wait in between. */
static bool launch(const Setup *s) {
  Cuda *c = s->c;
  size_t tasks = (size_t)s->tasks, number = sizeof(double);
  if (!device_reserve(&c->own, (size_t)s->rows * (12 + 144) * number) ||
      !device_reserve(&c->value, (size_t)s->entries * 144 * number) ||
      !device_reserve(&c->change, s->follows ? tasks * MOMENT_AA * number : 0) || !packet_send(&c->packet))
    return false;
  return solve(s) && expect(s) && (!s->follows || correct(s)) && packet_receive(&c->solution, &c->arrival) &&
         device_arrive(&c->arrival);
}

static Affine solution_row(const Setup *s, size_t at, int row) {
  return ((const Affine *)packet_here(&s->c->solution, at))[row];
}

static void take_row(void *context, int row) {
  const Setup *s = context;
  Work *w = &s->cpu->work;
  int body = s->body[row];
  Affine step = solution_row(s, s->step, row);
  if (s->follows) step = affine_add_scaled(step, 1, solution_row(s, s->correction, row));
  w->gradient.body[body] = solution_row(s, s->gradient, row);
  w->newton.body[body] = step;
  w->speed[body] = body_speed(w, body, &step);
}

static void take_pair(void *context, int t) {
  const Setup *s = context;
  int k = s->c->task_of.list[t].pair, slot = s->cpu->pairs.slot[k];
  pairs_at(&s->cpu->pairs, k)->expected = ((const double *)packet_here(&s->c->solution, s->expected))[t];
  s->c->last[slot] = ((const float *)packet_here(&s->c->solution, s->strength))[t];
}

static void take_solution(Setup *s) {
  memset(s->c->last, 0, (size_t)s->cpu->pairs.slot_count * sizeof(float)); /* of pairs that do not act any more */
  parallel_both(s->cpu->threads, s->rows, s->tasks, 64, take_row, take_pair, s);
}

static Outcome take_status(const Setup *s, bool again, bool *raised) {
  const PcgStatus *status = (const PcgStatus *)packet_here(&s->c->solution, s->status) + again;
  *raised |= status->indefinite > 0;
  s->cpu->report->linear_iterations += status->iterations;
  return status->not_finite ? stage_not_finite(-1) : stage_done();
}

Outcome cuda_newton_step(void *self, Cpu *cpu, bool *raised) {
  Cuda *c = self;
  if (!c->setup && !(c->setup = mem_alloc(1, sizeof(Setup)))) return stage_from(false);
  Setup *s = c->setup;
  *s = (Setup){.cpu = cpu,
               .c = c,
               .body = cpu->active,
               .size = c->cluster_size,
               .cluster = c->cluster,
               .component_row = c->component_row,
               .follows = loads_follow(cpu)};
  *raised = false;
  if (cpu->active_count == 0) return stage_done();
  /* The tasks say where a pair's friction points are. */
  c->lost = !cuda_send_friction(c, cpu);
  if (c->lost || !list_tasks(s)) return stage_from(false);
  c->lost = s->follows && !cuda_list_begin(c, cpu);
  if (c->lost || !open_terms(s)) return stage_from(false);
  forget_strengths(c, cpu);
  parallel_both(cpu->threads, s->tasks, c->model->body_count, 32, task_item, pose_item, s);
  c->lost = !launch_terms(s);
  if (c->lost || !find_clusters(s)) return stage_from(false);
  sort_rows(s);
  if (!open_packet(s)) return stage_from(false);
  write_all(s);
  c->lost = !launch(s);
  if (c->lost) return stage_from(false);
  bool corrected = false; /* that matrix is the same */
  Outcome outcome = take_status(s, false, raised);
  if (s->follows && !stage_failed(outcome)) outcome = take_status(s, true, &corrected);
  if (!stage_failed(outcome)) take_solution(s);
  return outcome;
}

/* ---- loads that have followed ---- */

static void follow_pair(void *context, int k) {
  const Setup *s = context;
  int t = s->rows ? s->c->pair_task[k] : -1;
  s->cpu->pair_part[k] = (Partial){.item = -1};
  if (t >= 0 && pair_follows(s->cpu, k, pairs_at(&s->cpu->pairs, k)))
    cuda_take_loads(s->c, s->cpu, k, (const LoadResult *)packet_here(&s->c->solution, s->loads) + t);
}

static void follow_row(void *context, int row) {
  const Setup *s = context;
  Affine *gradient = &s->cpu->work.gradient.body[s->body[row]];
  *gradient = affine_add_scaled(*gradient, 1, solution_row(s, s->change, row));
}

Outcome cuda_newton_follow(void *self, Cpu *cpu) {
  Setup *s = ((Cuda *)self)->setup;
  if (!reserve_pair_parts(cpu)) return stage_from(false);
  cpu->failed = -1;
  parallel_both(cpu->threads, s->rows, cpu->pairs.count, 64, follow_row, follow_pair, s);
  return stage_from(pairs_settle(&cpu->pairs) && cpu->failed < 0);
}
