/* Flights of mechanisms, and their velocities at the end of the step. See step/mechanism.h. */
#include "step/mechanism.h"

#include <string.h>

#include "kernel/constant.h"
#include "kernel/elasticity.h"
#include "kernel/rigid.h"
#include "step/flight.h"

static void fly_task(void *context, int k) {
  JointedFlight *f = context;
  if (!mechanism_lives(f, k)) return;
  f->flight[k] = f->base[k];
  flight_push(f->work, f->block[k], &f->from[k], mechanism_impulse(f, k), 1, &f->flight[k]);
  f->pose[k] = flight_pose(f->work, f->block[k], &f->from[k], f->flight[k], f->duration);
}

static void open_rows(JointedFlight *f) {
  Jet jet[JOINT_ROWS];
  for (int r = 0; r < f->row_count; r++) {
    if (!mechanism_row_lives(f, &f->row[r])) continue;
    joint_open_rows(f->work, f->row[r].joint, f->work->target.body, jet);
    mechanism_add_row(f, &f->row[r], jet[f->row[r].index].value);
  }
}

/* One round: fly, close, push. Impulses of equations that are not linear act along their gradients at the start. */
static void round_of(JointedFlight *f) {
  parallel_for(f->threads, f->count, 16, fly_task, f);
  mechanism_put_poses(f);
  mechanism_set_right(f, f->pose, false);
  open_rows(f);
  mechanism_solve(f);
  mechanism_set_changes(f);
}

/* Kicks of soft springs at poses of all bodies, `at` those of the jointed blocks. */
static void kick_springs(JointedFlight *f, const Affine *body, const Affine *at, double time, Flight *flight) {
  const Model *m = f->work->model;
  Jet s;
  double force;
  for (int j = 0; j < m->joint_count; j++) {
    if (!joint_spring(m, j, body, f->work->state->joint[j].angle, &s, &force)) continue;
    for (int x = 0; x < s.count; x++) {
      int k = f->index[s.body[x]];
      if (!mechanism_lives(f, k)) continue;
      Affine zero = affine_sub(s.gradient[x], s.gradient[x]), push = affine_add_scaled(zero, force, s.gradient[x]);
      flight_push(f->work, s.body[x], &at[k], &push, time, &flight[k]);
    }
  }
}

/* The last correction displaces the blocks, with its impulse: they move as if they flew again, to second order. It
 * is rigid at the poses of the metric. At the end its turn alone is taken, so that no strain accumulates. */
static void take_last_move(JointedFlight *f) {
  for (int k = 0; k < f->count; k++) {
    if (!mechanism_lives(f, k)) continue;
    f->pose[k] = affine_add_scaled(f->pose[k], 1, body_turned(f->work->model, f->block[k], &f->pose[k], &f->move[k]));
    flight_push(f->work, f->block[k], &f->from[k], mechanism_change(f, k), 1, &f->flight[k]);
  }
  for (int i = 0; i < f->anderson.size; i++) f->x[i] += f->change[i];
}

static void drop_open(JointedFlight *f) {
  for (int k = 0; k < f->count; k++) f->live[k] = f->live[k] && f->left[k] <= FLIGHT_OPEN;
}

static bool any_lives(const JointedFlight *f) {
  bool any = false;
  for (int k = 0; k < f->count && !any; k++) any = f->live[k];
  return any;
}

/* Whether live mechanisms have to fly again. Those that hardly close any more live no longer: Anderson's acceleration
 * mixes the numbers of all. */
static bool flies_again(JointedFlight *f, int round) {
  bool again = false, dropped = false;
  for (int k = 0; k < f->count; k++) {
    if (!f->live[k]) continue;
    if (round == 0) f->first_left[k] = f->left[k];
    if (f->left[k] <= FLIGHT_OPEN) continue;
    bool slow = round >= FLIGHT_TRIAL && !(f->left[k] < FLIGHT_PROGRESS * f->first_left[k]);
    f->live[k] = isfinite(f->left[k]) && !slow;
    dropped |= !f->live[k];
    again |= f->live[k];
  }
  if (dropped) anderson_begin(&f->anderson);
  return again;
}

/* One part of the flight from the poses `from`. Mechanisms whose impulses are not found live no longer. */
static Outcome fly_part(JointedFlight *f, double kick) {
  Affine *start = f->work->direction.body;
  for (int k = 0; k < f->count; k++)
    if (!block_is_vertex(f->work->model, f->block[k])) start[f->block[k]] = f->from[k];
  kick_springs(f, start, f->from, kick, f->base);
  memset(f->x, 0, (size_t)f->anderson.size * sizeof(double));
  anderson_begin(&f->anderson);
  Outcome outcome = mechanism_factor(f, f->from, start);
  if (stage_failed(outcome)) return outcome;
  for (int round = 0; round < FLIGHT_ROUNDS && !interrupted(f->work->model->interrupt); round++) {
    round_of(f);
    if (!flies_again(f, round)) break;
    anderson_step(&f->anderson, f->x, f->change);
  }
  drop_open(f);
  take_last_move(f);
  mechanism_push(f, 1);
  return stage_done();
}

static void begin_flight(JointedFlight *f) {
  for (int k = 0; k < f->count; k++) {
    if (!mechanism_lives(f, k)) continue;
    f->force[k] = affine_sub(f->force[k], f->force[k]);
    f->from[k] = node_pose(f->work->model, f->work->state->q, f->block[k]);
    f->base[k] = flight_begin(f->work, f->block[k], f->duration);
  }
  for (int r = 0; r < f->row_count; r++)
    if (mechanism_row_lives(f, &f->row[r])) f->row_force[r] = 0;
}

static Outcome fly_parts(JointedFlight *f, int parts) {
  const Work *w = f->work;
  f->duration = w->h / parts;
  begin_flight(f);
  for (int part = 0; part < parts; part++) {
    for (int k = 0; k < f->count && part > 0; k++) {
      if (!mechanism_lives(f, k)) continue;
      f->from[k] = f->pose[k];
      f->base[k] = flight_continue(w, f->block[k], f->flight[k], f->duration);
    }
    Outcome outcome = fly_part(f, part > 0 ? f->duration : 0.5 * f->duration);
    if (!stage_failed(outcome)) outcome = stage_poll(f->work->model);
    if (stage_failed(outcome)) return outcome;
    if (!any_lives(f)) break;
  }
  mechanism_put_poses(f);
  if (parts > 1) kick_springs(f, w->target.body, f->pose, 0.5 * (f->duration - w->h), f->flight);
  return stage_done();
}

/* The mechanisms that are done keep their flights. */
static void keep_flights(JointedFlight *f) {
  for (int k = 0; k < f->count; k++) {
    int block = f->block[k];
    if (!mechanism_lives(f, k)) continue;
    f->open[f->mechanism[k]] = false;
    if (!block_is_vertex(f->work->model, block))
      f->work->flight[block] = flight_end(f->work, block, f->flight[k], f->duration);
  }
}

static bool affords(const JointedFlight *f, int k, int parts) {
  return parts <= FLIGHT_PARTS && parts * f->size[k] <= FLIGHT_PARTS;
}

/* [rad] by which the block turns in the step about axes that may turn too. */
static double free_turn(const JointedFlight *f, int block) {
  const Work *w = f->work;
  if (block_is_vertex(w->model, block) || w->model->body[block].freedom.rotations == 1) return 0;
  return w->h * norm(body_turn(&w->state->q.body[block], &w->state->rate.body[block]));
}

/* The least number of parts such that no block turns by more than FLIGHT_TURN in one; scripts are known at the ends of
 * steps alone. All mechanisms are open. */
static void begin_parts(JointedFlight *f) {
  for (int k = 0; k < f->count; k++) f->least[k] = 1, f->open[k] = f->mechanism[k] == k, f->scripted[k] = false;
  for (int k = 0; k < f->count; k++) {
    int first = f->mechanism[k], *parts = &f->least[first];
    double turn = free_turn(f, f->block[k]);
    while (turn > FLIGHT_TURN * *parts && affords(f, first, *parts)) *parts *= 2;
    f->scripted[first] |= block_motion(f->work->model, f->block[k]) != ABD_MOTION_DYNAMIC;
  }
  for (int k = 0; k < f->count; k++)
    if (f->scripted[k] || !affords(f, k, f->least[k])) f->least[k] = 1;
}

/* The open mechanisms that fly in so many parts live. False if none does, now or with more parts. */
static bool choose_live(JointedFlight *f, int parts) {
  bool any = false;
  for (int k = 0; k < f->count; k++) {
    bool flies = parts == f->least[k] || (parts > f->least[k] && !f->scripted[k] && affords(f, k, parts));
    f->live[k] = f->open[k] && flies;
    any |= f->live[k] || (f->open[k] && parts < f->least[k]);
  }
  return any;
}

/* Whether a block's pose is strained. */
static bool is_strained(const JointedFlight *f, int k) {
  if (block_is_vertex(f->work->model, f->block[k])) return false;
  return !(elastic_strain_square(affine_linear(&f->pose[k])) <= FLIGHT_STRAIN * FLIGHT_STRAIN);
}

/* Turns alone are taken, so that no strain accumulates; the last move is small and closes the joints. After
 * FLIGHT_ROUNDS rounds it need not be small, and then strains the bodies. */
static Outcome close_rounds(JointedFlight *f) {
  for (int round = 1;; round++) {
    Outcome outcome = mechanism_factor(f, f->pose, f->work->target.body);
    if (!stage_failed(outcome)) outcome = stage_poll(f->work->model);
    if (stage_failed(outcome)) return outcome;
    mechanism_set_right(f, f->pose, false);
    open_rows(f);
    mechanism_solve(f);
    bool again = mechanism_open(f) > TURN_SMALL && round < FLIGHT_ROUNDS;
    for (int k = 0; k < f->count; k++) {
      if (!mechanism_lives(f, k)) continue;
      Affine move = again ? body_turned(f->work->model, f->block[k], &f->pose[k], &f->move[k]) : f->move[k];
      f->pose[k] = affine_add_scaled(f->pose[k], 1, move);
    }
    mechanism_put_poses(f);
    if (again) continue;
    for (int k = 0; k < f->count; k++)
      if (mechanism_lives(f, k) && is_strained(f, k)) f->strained[f->mechanism[k]] = true;
    return stage_done();
  }
}

/* The others are closed at the end of a free flight, as contacts are: stable, and with a loss of energy. */
static Outcome close_open(JointedFlight *f, const bool *open) {
  Work *w = f->work;
  bool any = false;
  for (int k = 0; k < f->count; k++) any |= f->live[k] = open[k];
  if (!any) return stage_done();
  f->duration = w->h;
  begin_flight(f);
  memset(f->x, 0, (size_t)f->anderson.size * sizeof(double));
  kick_springs(f, w->state->q.body, f->from, 0.5 * w->h, f->base);
  parallel_for(f->threads, f->count, 16, fly_task, f);
  mechanism_put_poses(f);
  for (int k = 0; k < f->count; k++) f->from[k] = f->pose[k];
  f->closing = true;
  Outcome outcome = close_rounds(f);
  f->closing = false;
  return stage_failed(outcome) ? outcome : mechanism_take_closed(f);
}

/* A flight whose impulses are not found, because blocks turn too far in it, is made in shorter parts. */
Outcome mechanism_targets(JointedFlight *f) {
  if (f->count == 0) return stage_done();
  memset(f->strained, 0, (size_t)f->count * sizeof *f->strained);
  begin_parts(f);
  for (int parts = 1; choose_live(f, parts); parts *= 2) {
    Outcome outcome = fly_parts(f, parts);
    if (stage_failed(outcome)) return outcome;
    keep_flights(f);
  }
  return close_open(f, f->open);
}

/* ---- velocities at the end ---- */

/* The rate of a block after the impulses of its joints; scripts keep theirs. */
static void rate_task(void *context, int k) {
  JointedFlight *f = context;
  if (block_motion(f->work->model, f->block[k]) != ABD_MOTION_DYNAMIC) return;
  f->flight[k] = f->base[k];
  flight_push(f->work, f->block[k], &f->from[k], mechanism_impulse(f, k), 1, &f->flight[k]);
  f->pose[k] = flight_rate(f->work, f->block[k], &f->from[k], f->flight[k]);
}

static double row_rate(const JointedFlight *f, const Jet *row) {
  double sum = 0;
  for (int x = 0; x < row->count; x++) sum += affine_dot(&row->gradient[x], &f->pose[f->index[row->body[x]]]);
  return sum;
}

/* One round; returns what the rates violate. */
static double rate_round(JointedFlight *f) {
  parallel_for(f->threads, f->count, 32, rate_task, f);
  mechanism_set_right(f, f->pose, true);
  for (int r = 0; r < f->row_count; r++) mechanism_add_row(f, &f->row[r], row_rate(f, &f->row[r].jet));
  mechanism_solve(f);
  mechanism_set_changes(f);
  return mechanism_open(f);
}

static double largest_rate(const JointedFlight *f) {
  double largest = 0;
  for (int k = 0; k < f->count; k++) largest = most(largest, mechanism_size(f, f->block[k], &f->pose[k]));
  return largest;
}

/* Impulses whose rates violate the joints least. They are not always found to FLIGHT_OPEN: heavy and light blocks cost
 * digits. After some rounds one that does not halve what is open is the last. */
static Outcome find_rates(JointedFlight *f) {
  size_t bytes = (size_t)f->anderson.size * sizeof(double);
  double least_open = INFINITY, enough = FLIGHT_OPEN * largest_rate(f);
  memset(f->x, 0, bytes);
  memset(f->best, 0, bytes);
  anderson_begin(&f->anderson);
  for (int round = 0; round < FLIGHT_ROUNDS; round++) {
    double open = rate_round(f);
    bool slow = round >= FLIGHT_TRIAL && !(open < 0.5 * least_open);
    Outcome outcome = stage_poll(f->work->model);
    if (stage_failed(outcome)) return outcome;
    if (open < least_open) memcpy(f->best, f->x, bytes), least_open = open;
    if (open <= enough || slow) break;
    anderson_step(&f->anderson, f->x, f->change);
  }
  memcpy(f->x, f->best, bytes);
  parallel_for(f->threads, f->count, 32, rate_task, f);
  return stage_done();
}

/* The half kicks of a mechanism at the end of the step: of gravity and given forces, and of its springs. */
static void last_kicks(JointedFlight *f) {
  const Model *m = f->work->model;
  for (int k = 0; k < f->count; k++) {
    f->live[k] = true;
    f->from[k] = node_pose(m, f->work->q, f->block[k]);
    f->base[k] = (Flight){0};
    if (mechanism_flies(f, k)) f->base[k] = flight_last_kick(f->work, f->block[k]);
  }
  kick_springs(f, f->work->q.body, f->from, 0.5 * f->work->h, f->base);
}

void mechanism_take(JointedFlight *f, State *after) {
  const Work *w = f->work;
  if (f->count == 0) return;
  last_kicks(f);
  for (int k = 0; k < f->count; k++) f->against[k] = f->pushed[k] = 0;
  for (int k = 0; k < f->count; k++) {
    if (!mechanism_flies(f, k)) continue;
    f->flight[k] = flight_pushed(w, f->block[k]);
    f->against[f->mechanism[k]] -= flight_product(w, f->block[k], f->base[k], f->flight[k]);
    f->pushed[f->mechanism[k]] += flight_product(w, f->block[k], f->flight[k], f->flight[k]);
  }
  for (int k = 0; k < f->count; k++) {
    if (!mechanism_flies(f, k)) continue;
    int i = f->block[k], first = f->mechanism[k];
    Flight taken = flight_part_taken(w, i, f->flight[k], f->against[first], f->pushed[first]);
    after->taken[i] = taken;
    after->rate.body[i] = affine_sub(after->rate.body[i], flight_rate(w, i, &w->q.body[i], taken));
  }
}

static void read_rates(JointedFlight *f, const State *after, double kick) {
  const Model *m = f->work->model;
  for (int k = 0; k < f->count; k++) {
    int i = f->block[k];
    f->live[k] = true;
    f->from[k] = node_pose(m, f->work->q, i);
    f->pose[k] = node_vector(m, after->rate, i);
    f->base[k] = (Flight){.v = f->pose[k].n[0]};
    if (!block_is_vertex(m, i))
      f->base[k].l = spin_momentum(affine_linear(&f->from[k]), affine_linear(&f->pose[k]), m->body[i].second);
  }
  if (kick > 0) kick_springs(f, f->work->q.body, f->from, kick, f->base);
}

static Outcome project(JointedFlight *f, State *after, double kick) {
  Work *w = f->work;
  if (f->count == 0) return stage_done();
  read_rates(f, after, kick);
  Outcome outcome = mechanism_factor(f, f->from, w->q.body);
  if (stage_failed(outcome)) return outcome;
  f->duration = 1;
  outcome = find_rates(f);
  if (stage_failed(outcome)) return outcome;
  for (int k = 0; k < f->count; k++)
    if (block_motion(f->work->model, f->block[k]) == ABD_MOTION_DYNAMIC)
      node_put(f->work->model, after->rate, f->block[k], f->pose[k]);
  return stage_done();
}

Outcome mechanism_rates(JointedFlight *f, State *after) {
  Outcome outcome = project(f, after, 0.5 * f->work->h);
  if (f->count == 0 || stage_failed(outcome)) return outcome;
  mechanism_push(f, 1);
  for (int r = 0; r < f->row_count; r++) f->work->joint[f->row[r].joint].flight[f->row[r].index] = f->row_force[r];
  return outcome;
}

Outcome mechanism_project(JointedFlight *f, State *after) { return project(f, after, 0); }
