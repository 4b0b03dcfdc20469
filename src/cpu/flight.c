/* Flights of jointed blocks: impulses of the joints at the start of the flight, such that the joints hold at its end;
 * and velocities at the end of the step that satisfy them. See step/flight.h.
 *
 * Both are found by corrections in the metric of kernel/rigid.h. At poses that leave the joints open, the least
 * displacement D that closes them solves (G^T H G) dy = G^T H off, and H D is a generalised force of the joints alone:
 * an impulse of this size changes the velocities of the flight. The blocks fly again, until nothing is left to close.
 * Anderson's acceleration (linear/anderson.h) makes the corrections few. H is the metric at the start of the flight, as
 * impulses act there: the corrections are fewer than with that of the end, and the last step has left its factor.
 * Tested in tests/test_motion.c. */
#include "cpu/cpu.h"

#include <string.h>

#include "base/disjoint.h"
#include "kernel/constant.h"
#include "kernel/rigid.h"
#include "step/flight.h"

/* The impulse of the joints on a block, as a generalised force on its nodes; and its last correction. */
static Affine *impulse_of(const JointedFlight *f, int k) { return (Affine *)(void *)f->x + k; }
static Affine *change_of(const JointedFlight *f, int k) { return (Affine *)(void *)f->change + k; }
/* The same of row r along itself. */
static double *row_impulse(const JointedFlight *f, double *vector, int r) {
  return vector + (size_t)f->count * FLIGHT_NUMBERS + r;
}

Affine flight_force(const JointedFlight *f, int block) { return f->force[f->index[block]]; }

/* ---- memory ---- */

/* Impulses are compared in the metric of inertia. */
static void set_weights(JointedFlight *f, const Model *m) {
  for (int i = 0; i < f->anderson.size; i++) f->anderson.weight[i] = 0;
  for (int k = 0; k < f->count; k++) {
    double mass = block_mass(m, f->block[k]), r = block_mesh(m, f->block[k])->radius;
    for (int i = 0; i < FLIGHT_NUMBERS; i++)
      f->anderson.weight[FLIGHT_NUMBERS * k + i] = i < 3 ? 1 / mass : 1 / (mass * r * r);
  }
}

static void unite(JointedFlight *f, int a, int b) {
  if (a < 0 || b < 0 || f->index[a] < 0 || f->index[b] < 0) return;
  disjoint_join(f->mechanism, f->index[a], f->index[b]);
}

/* Blocks that joints or attachments connect form a mechanism; `mechanism` of each is its first block. */
static void find_mechanisms(JointedFlight *f, const Model *m) {
  for (int k = 0; k < f->count; k++) f->mechanism[k] = k;
  for (int j = 0; j < m->joint_count; j++) {
    const Joint *joint = &m->joint[j];
    unite(f, joint->end[0].body, joint->end[1].body);
    if (joint->partner[0] < 0) continue;
    const Joint *a = &m->joint[joint->partner[0]], *b = &m->joint[joint->partner[1]];
    for (int x = 0; x < 2; x++)
      for (int y = 0; y < 2; y++) unite(f, a->end[x].body, b->end[y].body);
  }
  for (int k = 0; k < m->attachment_count; k++)
    unite(f, m->attachment[k].body, m->soft[m->attachment[k].soft].first + m->attachment[k].vertex);
  for (int k = 0; k < f->count; k++) f->mechanism[k] = disjoint_root(f->mechanism, k);
  for (int k = 0; k < f->count; k++) f->size[f->mechanism[k]]++;
}

static bool allocate(JointedFlight *f, const Model *m, int count) {
  size_t n = (size_t)count, rows = (size_t)f->row_count, numbers = FLIGHT_NUMBERS * n + rows;
  Affine **affine_array[] = {&f->from, &f->pose, &f->move, &f->metric_at, &f->force};
  int **int_array[] = {&f->block, &f->mechanism, &f->size};
  bool good = anderson_init(&f->anderson, (int)numbers);
  for (int k = 0; k < ARRAY_COUNT(affine_array); k++)
    good = (*affine_array[k] = mem_zeroed(n, sizeof(Affine))) != NULL && good;
  for (int k = 0; k < ARRAY_COUNT(int_array); k++) good = (*int_array[k] = mem_zeroed(n, sizeof(int))) != NULL && good;
  f->index = mem_alloc((size_t)m->block_count, sizeof(int));
  f->base = mem_zeroed(n, sizeof(Flight));
  f->flight = mem_zeroed(n, sizeof(Flight));
  f->live = mem_zeroed(n, sizeof(bool));
  f->factored = mem_zeroed(n, sizeof(bool));
  f->open = mem_zeroed(n, sizeof(bool));
  f->left = mem_zeroed(n, sizeof(double));
  f->row = mem_zeroed(rows, sizeof *f->row);
  f->row_force = mem_zeroed(rows, sizeof(double));
  f->x = mem_zeroed(numbers, sizeof(double));
  f->change = mem_zeroed(numbers, sizeof(double));
  return good && f->index && f->base && f->flight && f->open && f->live && f->factored && f->left && f->row &&
         f->row_force && f->x && f->change;
}

bool flight_init(JointedFlight *f, const Model *m) {
  int count = 0;
  memset(f, 0, sizeof *f);
  if (m->def.integrator != ABD_INTEGRATOR_RIGID) return true;
  for (int s = 0; s < m->moving_count; s++) count += block_is_jointed(m, m->moving[s]);
  for (int j = 0; j < m->joint_count; j++) f->row_count += m->joint[j].row_count;
  if (!allocate(f, m, count)) return false;
  for (int i = 0; i < m->block_count; i++) f->index[i] = -1;
  for (int s = 0; s < m->moving_count; s++) {
    int block = m->moving[s];
    if (!block_is_jointed(m, block)) continue;
    f->index[block] = f->count;
    f->block[f->count++] = block;
  }
  find_mechanisms(f, m);
  set_weights(f, m);
  return true;
}

void flight_destroy(JointedFlight *f) {
  void *array[] = {f->block, f->index,     f->mechanism, f->size, f->live,     f->factored, f->open,
                   f->left,  f->x,         f->change,    f->base, f->flight,   f->from,     f->pose,
                   f->move,  f->metric_at, f->force,     f->row,  f->row_force};
  for (int k = 0; k < ARRAY_COUNT(array); k++) mem_free(array[k]);
  anderson_destroy(&f->anderson);
  memset(f, 0, sizeof *f);
}

/* ---- the system of the live mechanisms ---- */

/* Before the first flight rows have no bodies. */
static bool row_lives(const JointedFlight *f, const FlightRow *row) {
  return row->jet.count > 0 && f->live[f->mechanism[f->index[row->jet.body[0]]]];
}
static bool lives(const JointedFlight *f, int k) { return f->live[f->mechanism[k]]; }

/* The equations that are not linear, at the given poses of all bodies. */
static void set_rows(Cpu *cpu, const Affine *body) {
  JointedFlight *f = &cpu->flight;
  int count = 0;
  for (int j = 0; j < cpu->model->joint_count && f->row_count; j++) {
    Jet jet[JOINT_ROWS];
    joint_follow(&cpu->work, j, body);
    for (int r = 0, n = joint_open_rows(&cpu->work, j, body, jet); r < n; r++)
      f->row[count++] = (FlightRow){jet[r], j, r, FLIGHT_STIFFNESS * cpu->model->joint[j].mass, 0};
  }
}

/* The order of elimination is made anew for each pattern, so that a factor depends on the live blocks and poses
 * alone. */
static bool prepare(Cpu *cpu) {
  JointedFlight *f = &cpu->flight;
  System *s = &cpu->closing;
  system_begin(s);
  system_reset(s);
  for (int k = 0; k < f->count; k++)
    if (lives(f, k)) system_add_body(s, f->block[k]);
  for (int k = 0; k < f->count; k++)
    if (lives(f, k) && !system_couple(s, f->block[k], f->block[k])) return false;
  for (int r = 0; r < f->row_count; r++)
    for (int x = 0; row_lives(f, &f->row[r]) && x < f->row[r].jet.count; x++)
      for (int y = 0; y < x; y++)
        if (!system_couple(s, f->row[r].jet.body[x], f->row[r].jet.body[y])) return false;
  if (!system_analyze(s)) return false;
  system_clear(s);
  return true;
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

/* Does the system still have the factor at these poses, of all live blocks? */
static bool is_factored(const Cpu *cpu, const Affine *at) {
  const JointedFlight *f = &cpu->flight;
  if (f->factor != cpu->closing.serial) return false;
  for (int k = 0; k < f->count; k++)
    if (lives(f, k) && !(f->factored[k] && memcmp(&f->metric_at[k], &at[k], sizeof *at) == 0)) return false;
  return true;
}

/* The factor of the matrix at poses `at` of the jointed blocks; body: those of all bodies. */
static Outcome factor_at(Cpu *cpu, const Affine *at, const Affine *body) {
  JointedFlight *f = &cpu->flight;
  double h[144];
  if (is_factored(cpu, at)) return stage_done();
  set_rows(cpu, body);
  if (!prepare(cpu)) return stage_from(false);
  for (int k = 0; k < f->count; k++) {
    f->factored[k] = lives(f, k);
    if (!lives(f, k)) continue;
    f->metric_at[k] = at[k];
    flight_metric(&cpu->work, f->block[k], &at[k], h);
    system_add(&cpu->closing, f->block[k], f->block[k], h);
  }
  for (int r = 0; r < f->row_count; r++)
    if (row_lives(f, &f->row[r])) add_row(cpu, &f->row[r]);
  if (system_factor(&cpu->closing, cpu->threads) < 0) return stage_not_finite(-1);
  f->factor = cpu->closing.serial;
  return stage_done();
}

/* The right-hand side for vectors that the joints should admit: poses, or rates, of which offsets are no part. move:
 * from each vector to the one that its linkage's unknowns give. */
static void set_off(Cpu *cpu, const Affine *vector, bool rates) {
  JointedFlight *f = &cpu->flight;
  const Linkage *l = &cpu->model->linkage;
  memset(cpu->closing.right, 0, (size_t)cpu->closing.unknown_count * sizeof(double));
  for (int k = 0; k < f->count; k++) {
    const LinkedBody *linked = lives(f, k) ? linkage_of(l, f->block[k]) : NULL;
    if (linked) linkage_read(linked, &vector[k], cpu->work.unknown + 12 * (linked - l->linked));
  }
  for (int k = 0; k < f->count; k++) {
    if (!lives(f, k)) continue;
    const LinkedBody *linked = linkage_of(l, f->block[k]);
    f->move[k] = affine_sub(vector[k], vector[k]);
    if (!linked) continue;
    Affine given = linkage_pose(l, linked, cpu->work.unknown);
    if (rates) given = affine_sub(given, linked->offset);
    Affine off = affine_sub(vector[k], given);
    Affine right = flight_metric_times(&cpu->work, f->block[k], &f->metric_at[k], &off);
    f->move[k] = affine_sub(given, vector[k]);
    system_add_right(&cpu->closing, f->block[k], &right);
  }
}

/* open: of the vector itself, while the unknowns start from the linkage's vector. */
static void add_row_right(Cpu *cpu, FlightRow *row, double open) {
  const Jet *jet = &row->jet;
  row->open = open;
  for (int x = 0; x < jet->count; x++)
    open += affine_dot(&jet->gradient[x], &cpu->flight.move[cpu->flight.index[jet->body[x]]]);
  for (int x = 0; x < jet->count; x++) {
    Affine zero = affine_sub(jet->gradient[x], jet->gradient[x]);
    Affine right = affine_add_scaled(zero, -row->stiffness * open, jet->gradient[x]);
    system_add_right(&cpu->closing, jet->body[x], &right);
  }
}

/* A displacement or a rate, relative to the block's size. */
static double size_of(const Cpu *cpu, int block, const Affine *d) {
  double r = block_mesh(cpu->model, block)->radius, sum = norm_sq(d->n[0]) / (r * r);
  for (int i = 1; i < 4; i++) sum += norm_sq(d->n[i]);
  return sqrt(sum);
}

/* move = what closes the joints; left = the largest in each mechanism. */
static void solve_moves(Cpu *cpu) {
  JointedFlight *f = &cpu->flight;
  system_solve(&cpu->closing);
  for (int k = 0; k < f->count; k++) f->left[k] = 0;
  for (int k = 0; k < f->count; k++) {
    if (!lives(f, k)) continue;
    f->move[k] = affine_add_scaled(f->move[k], 1, system_solution(&cpu->closing, f->block[k]));
    double size = size_of(cpu, f->block[k], &f->move[k]), *left = &f->left[f->mechanism[k]];
    if (!(size <= *left)) *left = size; /* also if it is not a number */
  }
}

/* What the last correction pushed along row r. */
static double row_push(const JointedFlight *f, int r) {
  const Jet *jet = &f->row[r].jet;
  double open = f->row[r].open;
  for (int x = 0; x < jet->count; x++) open += affine_dot(&jet->gradient[x], &f->move[f->index[jet->body[x]]]);
  return f->row[r].stiffness * open;
}

static void change_task(void *context, int k) {
  Cpu *cpu = context;
  JointedFlight *f = &cpu->flight;
  if (!lives(f, k)) return;
  Affine force = flight_metric_times(&cpu->work, f->block[k], &f->metric_at[k], &f->move[k]);
  *change_of(f, k) = affine_add_scaled(*change_of(f, k), 1 / f->duration, force);
}

/* Adds the impulses to the forces of the step; those along rows are not forces of linear joints. */
static void add_forces(Cpu *cpu) {
  JointedFlight *f = &cpu->flight;
  for (int k = 0; k < f->count; k++)
    if (lives(f, k)) f->force[k] = affine_add_scaled(f->force[k], 1 / cpu->work.h, *impulse_of(f, k));
  for (int r = 0; r < f->row_count; r++) {
    if (!row_lives(f, &f->row[r])) continue;
    double force = *row_impulse(f, f->x, r) / cpu->work.h;
    f->row_force[r] += force;
    for (int x = 0; x < f->row[r].jet.count; x++) {
      Affine *sum = &f->force[f->index[f->row[r].jet.body[x]]];
      *sum = affine_add_scaled(*sum, force, f->row[r].jet.gradient[x]);
    }
  }
}

/* ---- the flight ---- */

static void fly_task(void *context, int k) {
  Cpu *cpu = context;
  JointedFlight *f = &cpu->flight;
  if (!lives(f, k)) return;
  f->flight[k] = f->base[k];
  flight_push(&cpu->work, f->block[k], &f->from[k], impulse_of(f, k), 1, &f->flight[k]);
  f->pose[k] = flight_pose(&cpu->work, f->block[k], &f->from[k], f->flight[k], f->duration);
}

static void put_poses(Cpu *cpu) {
  JointedFlight *f = &cpu->flight;
  for (int k = 0; k < f->count; k++)
    if (lives(f, k)) node_put(cpu->model, cpu->work.target, f->block[k], f->pose[k]);
}

static void open_rows(Cpu *cpu) {
  JointedFlight *f = &cpu->flight;
  Jet jet[JOINT_ROWS];
  for (int r = 0; r < f->row_count; r++) {
    if (!row_lives(f, &f->row[r])) continue;
    joint_open_rows(&cpu->work, f->row[r].joint, cpu->work.target.body, jet);
    add_row_right(cpu, &f->row[r], jet[f->row[r].index].value);
  }
}

/* One round: fly, close, push. Impulses of equations that are not linear act along their gradients at the start. */
static void round_of(Cpu *cpu) {
  JointedFlight *f = &cpu->flight;
  parallel_for(cpu->threads, f->count, 16, fly_task, cpu);
  put_poses(cpu);
  set_off(cpu, f->pose, false);
  open_rows(cpu);
  solve_moves(cpu);
  memset(f->change, 0, (size_t)f->anderson.size * sizeof(double));
  for (int r = 0; r < f->row_count; r++)
    if (row_lives(f, &f->row[r])) *row_impulse(f, f->change, r) = row_push(f, r) / f->duration;
  parallel_for(cpu->threads, f->count, 32, change_task, cpu);
}

/* Kicks of soft springs at poses of all bodies, `at` those of the jointed blocks. */
static void kick_springs(Cpu *cpu, const Affine *body, const Affine *at, double time, Flight *flight) {
  JointedFlight *f = &cpu->flight;
  const Model *m = cpu->model;
  Jet s;
  double force;
  for (int j = 0; j < m->joint_count; j++) {
    if (!joint_spring(m, j, body, cpu->work.state->joint[j].angle, &s, &force)) continue;
    for (int x = 0; x < s.count; x++) {
      int k = f->index[s.body[x]];
      if (!lives(f, k)) continue;
      Affine zero = affine_sub(s.gradient[x], s.gradient[x]), push = affine_add_scaled(zero, force, s.gradient[x]);
      flight_push(&cpu->work, s.body[x], &at[k], &push, time, &flight[k]);
    }
  }
}

/* The largest opening among the live mechanisms; a value that is not finite counts as the largest. */
static double most_open(const JointedFlight *f) {
  double most_left = 0;
  for (int k = 0; k < f->count; k++)
    if (lives(f, k) && !(f->left[k] <= most_left)) most_left = isfinite(f->left[k]) ? f->left[k] : INFINITY;
  return most_left;
}

/* The last correction displaces the blocks, with its impulse: they move as if they flew again, to second order. It
 * is rigid at the poses of the metric. At the end its turn alone is taken, so that no strain accumulates. */
static void take_last_move(Cpu *cpu) {
  JointedFlight *f = &cpu->flight;
  for (int k = 0; k < f->count; k++) {
    if (!lives(f, k)) continue;
    f->pose[k] = affine_add_scaled(f->pose[k], 1, body_turned(cpu->model, f->block[k], &f->pose[k], &f->move[k]));
    flight_push(&cpu->work, f->block[k], &f->from[k], change_of(f, k), 1, &f->flight[k]);
  }
  for (int i = 0; i < f->anderson.size; i++) f->x[i] += f->change[i];
}

/* One part of the flight from the poses `from`. Mechanisms whose impulses are not found have left > FLIGHT_OPEN. */
static Outcome fly_part(Cpu *cpu, double kick) {
  JointedFlight *f = &cpu->flight;
  Affine *start = cpu->work.direction.body;
  for (int k = 0; k < f->count; k++)
    if (!block_is_vertex(cpu->model, f->block[k])) start[f->block[k]] = f->from[k];
  kick_springs(cpu, start, f->from, kick, f->base);
  memset(f->x, 0, (size_t)f->anderson.size * sizeof(double));
  anderson_begin(&f->anderson);
  double first = 0, open = 0;
  Outcome outcome = factor_at(cpu, f->from, start);
  if (stage_failed(outcome)) return outcome;
  for (int round = 0; round < FLIGHT_ROUNDS && !interrupted(cpu->model->interrupt); round++) {
    round_of(cpu);
    open = most_open(f);
    if (round == 0) first = open;
    if (open <= FLIGHT_OPEN || (round >= FLIGHT_TRIAL && !(open < FLIGHT_PROGRESS * first))) break;
    anderson_step(&f->anderson, f->x, f->change);
  }
  take_last_move(cpu);
  add_forces(cpu);
  return stage_done();
}

static void begin_flight(Cpu *cpu) {
  JointedFlight *f = &cpu->flight;
  for (int k = 0; k < f->count; k++) {
    if (!lives(f, k)) continue;
    f->force[k] = affine_sub(f->force[k], f->force[k]);
    f->from[k] = node_pose(cpu->model, cpu->work.state->q, f->block[k]);
    f->base[k] = flight_begin(&cpu->work, f->block[k], f->duration);
  }
  for (int r = 0; r < f->row_count; r++)
    if (row_lives(f, &f->row[r])) f->row_force[r] = 0;
}

static Outcome fly_parts(Cpu *cpu, int parts) {
  JointedFlight *f = &cpu->flight;
  const Work *w = &cpu->work;
  f->duration = w->h / parts;
  begin_flight(cpu);
  for (int part = 0; part < parts; part++) {
    for (int k = 0; k < f->count && part > 0; k++) {
      if (!lives(f, k)) continue;
      f->from[k] = f->pose[k];
      f->base[k] = flight_continue(w, f->block[k], f->flight[k], f->duration);
    }
    Outcome outcome = fly_part(cpu, part > 0 ? f->duration : 0.5 * f->duration);
    if (!stage_failed(outcome)) outcome = stage_poll(cpu->model);
    if (stage_failed(outcome)) return outcome;
    if (!(most_open(f) <= FLIGHT_OPEN)) break;
  }
  put_poses(cpu);
  if (parts > 1) kick_springs(cpu, w->target.body, f->pose, 0.5 * (f->duration - w->h), f->flight);
  return stage_done();
}

/* The mechanisms that are done keep their flights. */
static void keep_flights(Cpu *cpu) {
  JointedFlight *f = &cpu->flight;
  for (int k = 0; k < f->count; k++) {
    int block = f->block[k];
    if (!lives(f, k) || !(f->left[f->mechanism[k]] <= FLIGHT_OPEN) || block_is_vertex(cpu->model, block)) continue;
    cpu->work.flight[block] = flight_end(&cpu->work, block, f->flight[k], f->duration);
  }
}

/* Live mechanisms that are open and may fly in so many parts; scripts are known at the ends of steps alone. */
static bool choose_open(Cpu *cpu, int parts) {
  JointedFlight *f = &cpu->flight;
  bool any = false;
  for (int k = 0; k < f->count; k++) {
    if (f->mechanism[k] != k || !f->live[k]) continue;
    f->live[k] = !(f->left[k] <= FLIGHT_OPEN) && parts * f->size[k] <= FLIGHT_PARTS && parts <= FLIGHT_PARTS;
  }
  for (int k = 0; k < f->count; k++)
    if (block_motion(cpu->model, f->block[k]) != ABD_MOTION_DYNAMIC) f->live[f->mechanism[k]] = false;
  for (int k = 0; k < f->count; k++) any |= f->mechanism[k] == k && f->live[k];
  return any;
}

/* The others are closed at the end of a free flight, as contacts are: stable, and with a loss of energy. */
static Outcome close_open(Cpu *cpu, const bool *open) {
  JointedFlight *f = &cpu->flight;
  Work *w = &cpu->work;
  bool any = false;
  for (int k = 0; k < f->count; k++) any |= f->live[k] = open[k];
  if (!any) return stage_done();
  f->duration = w->h;
  begin_flight(cpu);
  memset(f->x, 0, (size_t)f->anderson.size * sizeof(double));
  kick_springs(cpu, w->state->q.body, f->from, 0.5 * w->h, f->base);
  parallel_for(cpu->threads, f->count, 16, fly_task, cpu);
  put_poses(cpu);
  for (int k = 0; k < f->count; k++) f->from[k] = f->pose[k];
  for (int round = 1;; round++) {
    Outcome outcome = factor_at(cpu, f->pose, w->target.body);
    if (!stage_failed(outcome)) outcome = stage_poll(cpu->model);
    if (stage_failed(outcome)) return outcome;
    set_off(cpu, f->pose, false);
    open_rows(cpu);
    solve_moves(cpu);
    bool again = most_open(f) > TURN_SMALL && round < FLIGHT_ROUNDS;
    for (int k = 0; k < f->count; k++) {
      if (!lives(f, k)) continue;
      Affine move = again ? body_retract(cpu->model, f->block[k], &f->pose[k], f->move[k]) : f->move[k];
      f->pose[k] = affine_add_scaled(f->pose[k], 1, move);
    }
    put_poses(cpu);
    if (!again) break;
  }
  for (int k = 0; k < f->count; k++)
    if (lives(f, k) && !block_is_vertex(cpu->model, f->block[k]))
      w->flight[f->block[k]] = flight_closed(w, f->block[k], f->flight[k], &f->from[k], &f->pose[k]);
  return stage_done();
}

/* A flight whose impulses are not found, because blocks turn too far in it, is made in shorter parts. */
Outcome flight_targets(Cpu *cpu) {
  JointedFlight *f = &cpu->flight;
  if (f->count == 0) {
    system_begin(&cpu->closing);
    return stage_done();
  }
  for (int k = 0; k < f->count; k++) f->live[k] = true, f->open[k] = false;
  for (int parts = 1;; parts *= 2) {
    Outcome outcome = fly_parts(cpu, parts);
    if (stage_failed(outcome)) return outcome;
    keep_flights(cpu);
    for (int k = 0; k < f->count; k++)
      if (f->live[k]) f->open[k] = f->mechanism[k] == k && !(f->left[k] <= FLIGHT_OPEN);
    if (!choose_open(cpu, 2 * parts)) break;
  }
  return close_open(cpu, f->open);
}

/* ---- velocities at the end ---- */

/* The rate of a block after the impulses of its joints; scripts keep theirs. */
static void rate_task(void *context, int k) {
  Cpu *cpu = context;
  JointedFlight *f = &cpu->flight;
  if (block_motion(cpu->model, f->block[k]) != ABD_MOTION_DYNAMIC) return;
  f->flight[k] = f->base[k];
  flight_push(&cpu->work, f->block[k], &f->from[k], impulse_of(f, k), 1, &f->flight[k]);
  f->pose[k] = flight_rate(&cpu->work, f->block[k], &f->from[k], f->flight[k]);
}

static double row_rate(const JointedFlight *f, const Jet *row) {
  double sum = 0;
  for (int x = 0; x < row->count; x++) sum += affine_dot(&row->gradient[x], &f->pose[f->index[row->body[x]]]);
  return sum;
}

/* One round; returns what the rates violate, relative to the largest rate. */
static double rate_round(Cpu *cpu) {
  JointedFlight *f = &cpu->flight;
  double largest = 0;
  parallel_for(cpu->threads, f->count, 32, rate_task, cpu);
  for (int k = 0; k < f->count; k++) largest = most(largest, size_of(cpu, f->block[k], &f->pose[k]));
  set_off(cpu, f->pose, true);
  for (int r = 0; r < f->row_count; r++) add_row_right(cpu, &f->row[r], row_rate(f, &f->row[r].jet));
  solve_moves(cpu);
  memset(f->change, 0, (size_t)f->anderson.size * sizeof(double));
  for (int r = 0; r < f->row_count; r++) *row_impulse(f, f->change, r) = row_push(f, r);
  parallel_for(cpu->threads, f->count, 32, change_task, cpu);
  return largest > 0 ? most_open(f) / largest : 0;
}

static void read_rates(Cpu *cpu, const State *after, double kick) {
  JointedFlight *f = &cpu->flight;
  const Model *m = cpu->model;
  for (int k = 0; k < f->count; k++) {
    int i = f->block[k];
    f->live[k] = true;
    f->from[k] = node_pose(m, cpu->work.q, i);
    f->pose[k] = node_vector(m, after->rate, i);
    f->base[k] = (Flight){.v = f->pose[k].n[0]};
    if (!block_is_vertex(m, i))
      f->base[k].l = spin_momentum(affine_linear(&f->from[k]), affine_linear(&f->pose[k]), m->body[i].second);
  }
  if (kick > 0) kick_springs(cpu, cpu->work.q.body, f->from, kick, f->base);
}

static Outcome project(Cpu *cpu, State *after, double kick) {
  JointedFlight *f = &cpu->flight;
  Work *w = &cpu->work;
  if (f->count == 0) return stage_done();
  read_rates(cpu, after, kick);
  Outcome outcome = factor_at(cpu, f->from, w->q.body);
  if (stage_failed(outcome)) return outcome;
  f->duration = 1;
  memset(f->x, 0, (size_t)f->anderson.size * sizeof(double));
  anderson_begin(&f->anderson);
  for (int round = 0; round < FLIGHT_ROUNDS; round++) {
    double left = rate_round(cpu);
    outcome = stage_poll(cpu->model);
    if (stage_failed(outcome)) return outcome;
    if (left <= FLIGHT_OPEN) break;
    anderson_step(&f->anderson, f->x, f->change);
  }
  add_forces(cpu);
  for (int k = 0; k < f->count; k++)
    if (block_motion(cpu->model, f->block[k]) == ABD_MOTION_DYNAMIC)
      node_put(cpu->model, after->rate, f->block[k], f->pose[k]);
  for (int r = 0; r < f->row_count; r++) w->joint[f->row[r].joint].flight[f->row[r].index] = f->row_force[r];
  return stage_done();
}

Outcome flight_rates(Cpu *cpu, State *after) { return project(cpu, after, 0.5 * cpu->work.h); }
Outcome flight_project(Cpu *cpu, State *after) { return project(cpu, after, 0); }
