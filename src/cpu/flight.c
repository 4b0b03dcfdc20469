/* Flights of jointed bodies: impulses of the joints at the start of the flight, such that the joints hold at its end;
 * and velocities at the end of the step that satisfy them. See step/flight.h.
 *
 * Both are found by corrections in the metric of kernel/rigid.h. At poses that leave the joints open, the least
 * displacement D that closes them solves (G^T H G) dy = G^T H off, and H D is a generalised force of the joints alone: an
 * impulse of the same size changes the velocities of the flight. The bodies fly again, until nothing is left to close.
 * Tested in tests/test_motion.c. */
#include "cpu/cpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/constant.h"
#include "kernel/rigid.h"
#include "step/flight.h"
#include "step/joint.h"

/* Blocks with joints or attachments. */
static bool is_jointed(const Model *m, int block) {
  return linkage_of(&m->linkage, block) || (!block_is_vertex(m, block) && m->body[block].jointed);
}

bool flight_init(JointedFlight *f, const Model *m) {
  int count = 0;
  memset(f, 0, sizeof *f);
  if (m->def.integrator != ABD_INTEGRATOR_RIGID) return true;
  for (int s = 0; s < m->moving_count; s++) count += is_jointed(m, m->moving[s]);
  f->block = mem_alloc((size_t)count, sizeof(int));
  f->flight = mem_alloc((size_t)count, sizeof(Flight));
  f->from = mem_alloc((size_t)count, sizeof(Affine));
  f->pose = mem_alloc((size_t)count, sizeof(Affine));
  f->move = mem_alloc((size_t)count, sizeof(Affine));
  f->metric_at = mem_alloc((size_t)count, sizeof(Affine));
  f->force = mem_zeroed((size_t)count, sizeof(Affine));
  f->index = mem_alloc((size_t)m->block_count, sizeof(int));
  for (int j = 0; j < m->joint_count; j++) f->row_count += m->joint[j].row_count;
  f->row = mem_zeroed((size_t)f->row_count, sizeof *f->row);
  if (!f->row || !f->block || !f->flight || !f->from || !f->pose || !f->move || !f->metric_at || !f->force || !f->index)
    return false;
  for (int i = 0; i < m->block_count; i++) f->index[i] = -1;
  for (int s = 0; s < m->moving_count; s++) {
    int block = m->moving[s];
    f->index[block] = is_jointed(m, block) ? f->count : -1;
    if (is_jointed(m, block)) f->block[f->count++] = block;
  }
  return true;
}

void flight_destroy(JointedFlight *f) {
  void *array[] = {f->block, f->flight, f->from, f->pose, f->move, f->metric_at, f->force, f->index, f->row};
  for (int k = 0; k < ARRAY_COUNT(array); k++) mem_free(array[k]);
  memset(f, 0, sizeof *f);
}

/* ---- the system ---- */

/* The equations that are not linear, at the given poses of all bodies. */
static void set_rows(Cpu *cpu, const Affine *body) {
  JointedFlight *f = &cpu->flight;
  int count = 0;
  for (int j = 0; j < cpu->model->joint_count && f->row_count; j++) {
    Jet jet[JOINT_ROWS];
    for (int r = 0, n = joint_open_rows(&cpu->work, j, body, jet); r < n; r++)
      f->row[count] = (FlightRow){jet[r], j, r, FLIGHT_STIFFNESS * cpu->model->joint[j].mass, 0, f->row[count].force},
      count++;
  }
}

static bool prepare(Cpu *cpu) {
  JointedFlight *f = &cpu->flight;
  System *s = &cpu->closing;
  system_reset(s);
  for (int k = 0; k < f->count; k++) system_add_body(s, f->block[k]);
  for (int k = 0; k < f->count; k++)
    if (!system_couple(s, f->block[k], f->block[k])) return false;
  for (int r = 0; r < f->row_count; r++)
    for (int x = 0; x < f->row[r].jet.count; x++)
      for (int y = 0; y < x; y++)
        if (!system_couple(s, f->row[r].jet.body[x], f->row[r].jet.body[y])) return false;
  return system_analyze(s);
}

static void outer(const Affine *x, const Affine *y, double factor, double h[144]) {
  const double *a = &x->n[0].x, *b = &y->n[0].x;
  for (int j = 0; j < 12; j++)
    for (int i = 0; i < 12; i++) h[12 * j + i] = factor * a[i] * b[j];
}

static void add_row(Cpu *cpu, const FlightRow *row) {
  double h[144];
  for (int x = 0; x < row->jet.count; x++)
    for (int y = 0; y <= x; y++) {
      outer(&row->jet.gradient[x], &row->jet.gradient[y], row->stiffness, h);
      system_add(&cpu->closing, row->jet.body[x], row->jet.body[y], h);
    }
}

/* The matrix at poses `at`, which it stores, and its factor. */
static Outcome factor_at(Cpu *cpu, const Affine *at, const Affine *body) {
  JointedFlight *f = &cpu->flight;
  double h[144];
  set_rows(cpu, body);
  if (!prepare(cpu)) return stage_from(false);
  memcpy(f->metric_at, at, (size_t)f->count * sizeof *at);
  for (int k = 0; k < f->count; k++) {
    flight_metric(&cpu->work, f->block[k], &at[k], h);
    system_add(&cpu->closing, f->block[k], f->block[k], h);
  }
  for (int r = 0; r < f->row_count; r++) add_row(cpu, &f->row[r]);
  return system_factor(&cpu->closing, cpu->threads) < 0 ? stage_not_finite(-1) : stage_done();
}

/* off: how far the vector of each block is from one that its linkage's unknowns give. With rates, offsets count
 * nothing. */
static void set_off(Cpu *cpu, const Affine *vector, bool rates) {
  JointedFlight *f = &cpu->flight;
  const Linkage *l = &cpu->model->linkage;
  memset(cpu->closing.right, 0, (size_t)cpu->closing.unknown_count * sizeof(double));
  for (int k = 0; k < f->count; k++) {
    const LinkedBody *linked = linkage_of(l, f->block[k]);
    if (linked) linkage_read(linked, &vector[k], cpu->work.unknown + 12 * (linked - l->linked));
  }
  for (int k = 0; k < f->count; k++) {
    const LinkedBody *linked = linkage_of(l, f->block[k]);
    f->move[k] = affine_sub(vector[k], vector[k]);
    if (!linked) continue;
    Affine given = linkage_pose(l, linked, cpu->work.unknown);
    if (rates) given = affine_sub(given, linked->offset);
    f->move[k] = affine_sub(given, vector[k]);
    Affine off = affine_sub(vector[k], given), right = flight_metric_times(&cpu->work, f->block[k], &f->metric_at[k], &off);
    system_add_right(&cpu->closing, f->block[k], &right);
  }
}

/* open: at the vector itself; the unknowns start from the linkage's vector. */
static void add_row_right(Cpu *cpu, const FlightRow *row, double open) {
  const Jet *jet = &row->jet;
  for (int x = 0; x < jet->count; x++)
    open += affine_dot(&jet->gradient[x], &cpu->flight.move[cpu->flight.index[jet->body[x]]]);
  for (int x = 0; x < jet->count; x++) {
    Affine zero = affine_sub(jet->gradient[x], jet->gradient[x]);
    Affine right = affine_add_scaled(zero, -row->stiffness * open, jet->gradient[x]);
    system_add_right(&cpu->closing, jet->body[x], &right);
  }
}

/* move = what closes the joints. Returns its largest length over all blocks, relative to their size. */
static double solve_moves(Cpu *cpu) {
  JointedFlight *f = &cpu->flight;
  double largest = 0;
  system_solve(&cpu->closing);
  for (int k = 0; k < f->count; k++) {
    f->move[k] = affine_add_scaled(f->move[k], 1, system_solution(&cpu->closing, f->block[k]));
    double r = block_mesh(cpu->model, f->block[k])->radius, size = norm_sq(f->move[k].n[0]) / (r * r);
    for (int i = 1; i < 4; i++) size += norm_sq(f->move[k].n[i]);
    largest = most(largest, size);
  }
  return sqrt(largest);
}

/* ---- the flight ---- */

static void put_poses(Cpu *cpu) {
  for (int k = 0; k < cpu->flight.count; k++) node_put(cpu->model, cpu->work.target, cpu->flight.block[k], cpu->flight.pose[k]);
}

static void fly_task(void *context, int k) {
  Cpu *cpu = context;
  JointedFlight *f = &cpu->flight;
  f->pose[k] = flight_pose(&cpu->work, f->block[k], &f->from[k], f->flight[k], f->duration);
}

/* The impulse of an equation that is not linear is `size` times its gradient at the end of the flight. It has to act
 * along the gradient at the start. */
static void turn_row(Cpu *cpu, const FlightRow *row, const Jet *start, double size) {
  JointedFlight *f = &cpu->flight;
  for (int x = 0; x < start->count; x++) {
    int k = f->index[start->body[x]];
    Affine turn = affine_sub(row->jet.gradient[x], start->gradient[x]), zero = affine_sub(turn, turn);
    turn = affine_add_scaled(zero, size, turn);
    flight_push(&cpu->work, f->block[k], &f->from[k], &turn, 1 / f->duration, &f->flight[k]);
  }
}

/* What the last correction pushed along a row; counts it as the row's force, and not as one of linear joints. */
static double row_push(Cpu *cpu, FlightRow *row, double per_time) {
  JointedFlight *f = &cpu->flight;
  double open = row->open;
  for (int x = 0; x < row->jet.count; x++)
    open += affine_dot(&row->jet.gradient[x], &f->move[f->index[row->jet.body[x]]]);
  double push = row->stiffness * open;
  row->force += push * per_time;
  for (int x = 0; x < row->jet.count; x++) {
    Affine *force = &f->force[f->index[row->jet.body[x]]];
    *force = affine_add_scaled(*force, push * per_time, row->jet.gradient[x]);
  }
  return push;
}

static void push_task(void *context, int k) {
  Cpu *cpu = context;
  JointedFlight *f = &cpu->flight;
  Affine force = flight_metric_times(&cpu->work, f->block[k], &f->metric_at[k], &f->move[k]);
  f->force[k] = affine_add_scaled(f->force[k], 1 / (f->duration * cpu->work.h), force);
  flight_push(&cpu->work, f->block[k], &f->from[k], &force, 1 / f->duration, &f->flight[k]);
}

/* One round: fly, close, push. *left: what was open. start: poses of all bodies at the start of the part. */
static Outcome round_of(Cpu *cpu, bool first, const Affine *start, double *left) {
  JointedFlight *f = &cpu->flight;
  Work *w = &cpu->work;
  Jet jet[JOINT_ROWS];
  parallel_for(cpu->threads, f->count, 16, fly_task, cpu);
  put_poses(cpu);
  if (first) {
    Outcome outcome = factor_at(cpu, f->pose, w->target.body);
    if (stage_failed(outcome)) return outcome;
  }
  set_off(cpu, f->pose, false);
  for (int r = 0; r < f->row_count; r++) {
    joint_open_rows(w, f->row[r].joint, w->target.body, jet);
    add_row_right(cpu, &f->row[r], f->row[r].open = jet[f->row[r].index].value);
  }
  *left = solve_moves(cpu);
  for (int r = 0; r < f->row_count; r++) {
    joint_open_rows(w, f->row[r].joint, start, jet);
    turn_row(cpu, &f->row[r], &jet[f->row[r].index], row_push(cpu, &f->row[r], 1 / (f->duration * w->h)));
  }
  parallel_for(cpu->threads, f->count, 32, push_task, cpu);
  return stage_done();
}

/* Kicks of soft springs at poses of all bodies, `at` those of the jointed blocks. */
static void kick_springs(Cpu *cpu, const Affine *body, const Affine *at, double time) {
  JointedFlight *f = &cpu->flight;
  const Model *m = cpu->model;
  Jet s;
  double force;
  for (int j = 0; j < m->joint_count; j++) {
    if (!joint_spring(m, j, body, cpu->work.state->joint[j].angle, &s, &force)) continue;
    for (int x = 0; x < s.count; x++) {
      int k = f->index[s.body[x]];
      Affine zero = affine_sub(s.gradient[x], s.gradient[x]), push = affine_add_scaled(zero, force, s.gradient[x]);
      flight_push(&cpu->work, s.body[x], &at[k], &push, time, &f->flight[k]);
    }
  }
}

/* One part of the flight, from the poses `from`, with springs that act for a time `kick`. closed: its impulses were
 * found. */
static Outcome fly_part(Cpu *cpu, double kick, bool *closed) {
  JointedFlight *f = &cpu->flight;
  Affine *start = cpu->work.direction.body;
  double left = 1, before = INFINITY;
  for (int k = 0; k < f->count; k++)
    if (!block_is_vertex(cpu->model, f->block[k])) start[f->block[k]] = f->from[k];
  kick_springs(cpu, start, f->from, kick);
  for (int round = 0; round < FLIGHT_ROUNDS && left > FLIGHT_OPEN && left < before; round++) {
    before = round > 0 ? left : INFINITY;
    Outcome outcome = round_of(cpu, round == 0, start, &left);
    if (stage_failed(outcome)) return outcome;
    if (getenv("ABD_DEBUG_FLIGHT")) fprintf(stderr, "round %d left %g\n", round, left);
  }
  *closed = left <= FLIGHT_OPEN;
  for (int k = 0; k < f->count; k++) f->pose[k] = affine_add_scaled(f->pose[k], 1, f->move[k]);
  return stage_done();
}

static Outcome fly_parts(Cpu *cpu, int parts, bool *closed) {
  JointedFlight *f = &cpu->flight;
  const Work *w = &cpu->work;
  *closed = true;
  f->duration = w->h / parts;
  memset(f->force, 0, (size_t)f->count * sizeof *f->force);
  for (int r = 0; r < f->row_count; r++) f->row[r].force = 0;
  for (int k = 0; k < f->count; k++) {
    f->from[k] = node_pose(cpu->model, w->state->q, f->block[k]);
    f->flight[k] = flight_begin(w, f->block[k], f->duration);
  }
  for (int part = 0; part < parts && *closed; part++) {
    for (int k = 0; k < f->count && part > 0; k++) {
      f->from[k] = f->pose[k];
      f->flight[k] = flight_continue(w, f->block[k], f->flight[k], f->duration);
    }
    Outcome outcome = fly_part(cpu, part > 0 ? f->duration : 0.5 * f->duration, closed);
    if (stage_failed(outcome)) return outcome;
  }
  return stage_done();
}

/* Scripts are known at the ends of steps alone. */
static bool has_script(const Cpu *cpu) {
  for (int k = 0; k < cpu->flight.count; k++)
    if (block_motion(cpu->model, cpu->flight.block[k]) != ABD_MOTION_DYNAMIC) return true;
  return false;
}

/* A flight whose impulses are not found, because bodies turn too far in it, is made in shorter parts. */
Outcome flight_targets(Cpu *cpu) {
  JointedFlight *f = &cpu->flight;
  Work *w = &cpu->work;
  bool closed = false;
  if (f->count == 0) return stage_done();
  for (int parts = 1, limit = has_script(cpu) ? 1 : FLIGHT_PARTS; parts <= limit && !closed; parts *= 2) {
    Outcome outcome = fly_parts(cpu, parts, &closed);
    if (stage_failed(outcome)) return outcome;
  }
  put_poses(cpu);
  if (f->duration < w->h) kick_springs(cpu, w->target.body, f->pose, 0.5 * (f->duration - w->h));
  for (int k = 0; k < f->count; k++)
    if (!block_is_vertex(cpu->model, f->block[k]))
      w->flight[f->block[k]] = flight_end(w, f->block[k], f->flight[k], f->duration);
  return stage_done();
}

/* ---- velocities at the end ---- */

static void rate_task(void *context, int k) {
  Cpu *cpu = context;
  JointedFlight *f = &cpu->flight;
  f->pose[k] = flight_rate(&cpu->work, f->block[k], &f->from[k], f->flight[k]);
}

static double row_rate(const Cpu *cpu, const Jet *row) {
  double sum = 0;
  for (int x = 0; x < row->count; x++)
    sum += affine_dot(&row->gradient[x], &cpu->flight.pose[cpu->flight.index[row->body[x]]]);
  return sum;
}

static void impulse_task(void *context, int k) {
  Cpu *cpu = context;
  JointedFlight *f = &cpu->flight;
  Affine force = flight_metric_times(&cpu->work, f->block[k], &f->metric_at[k], &f->move[k]);
  f->force[k] = affine_add_scaled(f->force[k], 1 / cpu->work.h, force);
  flight_push(&cpu->work, f->block[k], &f->from[k], &force, 1, &f->flight[k]);
}

static double largest_rate(const Cpu *cpu) {
  double most_sq = 0;
  for (int k = 0; k < cpu->flight.count; k++) {
    double r = block_mesh(cpu->model, cpu->flight.block[k])->radius;
    most_sq = most(most_sq, norm_sq(cpu->flight.pose[k].n[0]) / (r * r));
    for (int i = 1; i < 4; i++) most_sq = most(most_sq, norm_sq(cpu->flight.pose[k].n[i]));
  }
  return sqrt(most_sq);
}

Outcome flight_rates(Cpu *cpu, State *after) {
  JointedFlight *f = &cpu->flight;
  const Model *m = cpu->model;
  Work *w = &cpu->work;
  if (f->count == 0) return stage_done();
  for (int k = 0; k < f->count; k++) {
    int i = f->block[k];
    f->from[k] = node_pose(m, w->q, i);
    f->flight[k] = (Flight){.v = node_vector(m, after->rate, i).n[0]};
    if (!block_is_vertex(m, i))
      f->flight[k].l = spin_momentum(affine_linear(&f->from[k]), affine_linear(&after->rate.body[i]), m->body[i].second);
  }
  kick_springs(cpu, w->q.body, f->from, 0.5 * w->h);
  Outcome outcome = factor_at(cpu, f->from, w->q.body);
  if (stage_failed(outcome)) return outcome;
  for (int round = 0; round < FLIGHT_ROUNDS; round++) {
    parallel_for(cpu->threads, f->count, 32, rate_task, cpu);
    for (int k = 0; k < f->count; k++) /* scripts keep their rates */
      if (block_motion(m, f->block[k]) != ABD_MOTION_DYNAMIC) f->pose[k] = node_vector(m, after->rate, f->block[k]);
    set_off(cpu, f->pose, true);
    for (int r = 0; r < f->row_count; r++)
      add_row_right(cpu, &f->row[r], f->row[r].open = row_rate(cpu, &f->row[r].jet));
    double left = solve_moves(cpu);
    if (getenv("ABD_DEBUG_FLIGHT")) fprintf(stderr, "  rates round %d left %g\n", round, left);
    if (left <= FLIGHT_OPEN * largest_rate(cpu)) break;
    for (int r = 0; r < f->row_count; r++) row_push(cpu, &f->row[r], 1 / w->h);
    parallel_for(cpu->threads, f->count, 32, impulse_task, cpu);
  }
  for (int r = 0; r < f->row_count; r++) w->joint[f->row[r].joint].flight[f->row[r].index] = f->row[r].force;
  for (int k = 0; k < f->count; k++)
    if (block_motion(m, f->block[k]) == ABD_MOTION_DYNAMIC)
      node_put(m, after->rate, f->block[k], flight_rate(w, f->block[k], &f->from[k], f->flight[k]));
  return stage_done();
}
