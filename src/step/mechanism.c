/* Mechanisms: memory, and corrections by the joints. See step/mechanism.h. */
#include "step/mechanism.h"

#include <string.h>

#include "base/disjoint.h"
#include "kernel/constant.h"
#include "kernel/rigid.h"
#include "step/flight.h"

int mechanism_of(const JointedFlight *f, int block) {
  return mechanism_has(f, block) ? f->block[f->mechanism[f->index[block]]] : block;
}

Affine mechanism_force(const JointedFlight *f, int block) { return f->force[f->index[block]]; }

void mechanism_put_poses(JointedFlight *f) {
  for (int k = 0; k < f->count; k++)
    if (mechanism_lives(f, k)) node_put(f->work->model, f->work->target, f->block[k], f->pose[k]);
}

bool mechanism_flies(const JointedFlight *f, int k) {
  const Model *m = f->work->model;
  return !block_is_vertex(m, f->block[k]) && block_motion(m, f->block[k]) == ABD_MOTION_DYNAMIC;
}

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

/* Of each block the next one of its mechanism, from the last one on. */
static void chain_blocks(JointedFlight *f) {
  int *later = f->least; /* by first block: the last one so far */
  for (int k = 0; k < f->count; k++) later[k] = -1;
  for (int k = f->count - 1; k >= 0; k--) {
    f->next[k] = later[f->mechanism[k]];
    later[f->mechanism[k]] = k;
  }
}

/* Joints load a block with the inertia of what they connect it to. */
static void set_loads(JointedFlight *f, const Model *m) {
  double *heaviest = f->left;
  for (int k = 0; k < f->count; k++) {
    double *mass = &heaviest[f->mechanism[k]];
    *mass = most(*mass, block_mass(m, f->block[k]));
  }
  for (int k = 0; k < f->count; k++) {
    if (block_is_vertex(m, f->block[k])) continue;
    double r = block_mesh(m, f->block[k])->radius, inertia = max_component(m->body[f->block[k]].weight);
    f->load[k] = heaviest[f->mechanism[k]] * r * r / inertia;
  }
}

/* [kg m^2] A light block would strain instead of moving a heavy one, so it resists by what loads it. Impulses need
 * digits; what is closed by displacements needs fewer. */
static double strain_resistance(const JointedFlight *f, int k) {
  if (block_is_vertex(f->work->model, f->block[k])) return 0;
  double inertia = max_component(f->work->model->body[f->block[k]].weight), load = FLIGHT_LOAD * f->load[k];
  return FLIGHT_STIFFNESS * inertia * most(1, f->closing ? load : least(load, FLIGHT_LOAD_MOST));
}

bool mechanism_allocate(JointedFlight *f, const Model *m, int count) {
  size_t n = (size_t)count, rows = (size_t)f->row_count, numbers = FLIGHT_NUMBERS * n + rows;
  Affine **affine_array[] = {&f->from, &f->pose, &f->move, &f->metric_at, &f->force};
  int **int_array[] = {&f->block, &f->mechanism, &f->next, &f->size, &f->least};
  bool **bool_array[] = {&f->live, &f->open, &f->scripted, &f->strained, &f->factored};
  bool good = anderson_init(&f->anderson, (int)numbers);
  for (int k = 0; k < ARRAY_COUNT(affine_array); k++)
    good = (*affine_array[k] = mem_zeroed(n, sizeof(Affine))) != NULL && good;
  for (int k = 0; k < ARRAY_COUNT(int_array); k++) good = (*int_array[k] = mem_zeroed(n, sizeof(int))) != NULL && good;
  for (int k = 0; k < ARRAY_COUNT(bool_array); k++)
    good = (*bool_array[k] = mem_zeroed(n, sizeof(bool))) != NULL && good;
  f->index = mem_alloc((size_t)m->block_count, sizeof(int));
  f->joint = mem_zeroed(rows, sizeof(int));
  f->base = mem_zeroed(n, sizeof(Flight));
  f->flight = mem_zeroed(n, sizeof(Flight));
  f->load = mem_zeroed(n, sizeof(double));
  f->left = mem_zeroed(n, sizeof(double));
  f->first_left = mem_zeroed(n, sizeof(double));
  f->against = mem_zeroed(n, sizeof(double));
  f->pushed = mem_zeroed(n, sizeof(double));
  f->row = mem_zeroed(rows, sizeof *f->row);
  f->row_force = mem_zeroed(rows, sizeof(double));
  f->x = mem_zeroed(numbers, sizeof(double));
  f->change = mem_zeroed(numbers, sizeof(double));
  f->best = mem_zeroed(numbers, sizeof(double));
  good = good && f->index && f->joint && f->base && f->flight && f->load && f->left && f->first_left && f->against &&
         f->pushed;
  return good && f->row && f->row_force && f->x && f->change && f->best;
}

bool mechanism_init(JointedFlight *f, Work *work, int threads, const ClosingSystem *system, void *system_self) {
  const Model *m = work->model;
  int count = 0;
  *f = (JointedFlight){.work = work, .threads = threads, .system = system, .system_self = system_self};
  if (m->def.integrator != ABD_INTEGRATOR_RIGID) return true;
  for (int s = 0; s < m->moving_count; s++) count += block_is_jointed(m, m->moving[s]);
  for (int j = 0; j < m->joint_count; j++) f->row_count += m->joint[j].row_count;
  if (!mechanism_allocate(f, m, count)) return false;
  for (int i = 0; i < m->block_count; i++) f->index[i] = -1;
  for (int s = 0; s < m->moving_count; s++) {
    int block = m->moving[s];
    if (!block_is_jointed(m, block)) continue;
    f->index[block] = f->count;
    f->block[f->count++] = block;
  }
  for (int j = 0; j < m->joint_count; j++)
    if (m->joint[j].row_count > 0) f->joint[f->joint_count++] = j;
  find_mechanisms(f, m);
  chain_blocks(f);
  set_weights(f, m);
  set_loads(f, m);
  return true;
}

void mechanism_destroy(JointedFlight *f) {
  void *array[] = {f->block,      f->index,  f->mechanism, f->size,   f->live,     f->factored, f->open,   f->left,
                   f->x,          f->change, f->base,      f->flight, f->from,     f->pose,     f->move,   f->metric_at,
                   f->force,      f->row,    f->row_force, f->least,  f->scripted, f->against,  f->pushed, f->load,
                   f->first_left, f->best,   f->strained,  f->next,   f->joint};
  for (int k = 0; k < ARRAY_COUNT(array); k++) mem_free(array[k]);
  anderson_destroy(&f->anderson);
  memset(f, 0, sizeof *f);
}

/* ---- the system of the live mechanisms ---- */

/* The equations that are not linear, at the given poses of all bodies. */
static void set_rows(JointedFlight *f, const Affine *body) {
  int count = 0;
  for (int i = 0; i < f->joint_count; i++) {
    Jet jet[JOINT_ROWS];
    int j = f->joint[i];
    joint_follow(f->work, j, body);
    for (int r = 0, n = joint_open_rows(f->work, j, body, jet); r < n; r++)
      f->row[count++] = (FlightRow){jet[r], j, r, FLIGHT_STIFFNESS * f->work->model->joint[j].mass, 0};
  }
}

/* Does the system still have the factor at these poses, of the live blocks and no others? With others the order of
 * elimination may differ, and with it the bits: a world that was restored has no factor of the step before. */
static bool is_factored(const JointedFlight *f, const Affine *at) {
  if (!f->system->is_valid(f->system_self, f) || f->factored_closing != f->closing) return false;
  for (int k = 0; k < f->count; k++) {
    bool lives = mechanism_lives(f, k);
    if (lives != f->factored[k] || (lives && memcmp(&f->metric_at[k], &at[k], sizeof *at) != 0)) return false;
  }
  return true;
}

Outcome mechanism_factor(JointedFlight *f, const Affine *at, const Affine *body) {
  if (is_factored(f, at)) return stage_done();
  set_rows(f, body);
  f->factored_closing = f->closing;
  for (int k = 0; k < f->count; k++) {
    f->factored[k] = mechanism_lives(f, k);
    if (f->factored[k]) f->metric_at[k] = at[k];
  }
  return f->system->factor(f->system_self, f);
}

void mechanism_metric(const JointedFlight *f, int k, double h[144]) {
  flight_metric(f->work, f->block[k], strain_resistance(f, k), &f->metric_at[k], h);
}

void mechanism_row_matrix(const FlightRow *row, int x, int y, double h[144]) {
  const double *a = &row->jet.gradient[x].n[0].x, *b = &row->jet.gradient[y].n[0].x;
  for (int j = 0; j < 12; j++)
    for (int i = 0; i < 12; i++) h[12 * j + i] = row->stiffness * a[i] * b[j];
}

void mechanism_set_right(JointedFlight *f, const Affine *vector, bool rates) {
  const Linkage *l = &f->work->model->linkage;
  f->system->clear_right(f->system_self);
  for (int k = 0; k < f->count; k++) {
    const LinkedBody *linked = mechanism_lives(f, k) ? linkage_of(l, f->block[k]) : NULL;
    if (linked) linkage_read(linked, &vector[k], f->work->unknown + 12 * (linked - l->linked));
  }
  for (int k = 0; k < f->count; k++) {
    if (!mechanism_lives(f, k)) continue;
    const LinkedBody *linked = linkage_of(l, f->block[k]);
    f->move[k] = affine_sub(vector[k], vector[k]);
    if (!linked) continue;
    Affine given = linkage_pose(l, linked, f->work->unknown);
    if (rates) given = affine_sub(given, linked->offset);
    Affine off = affine_sub(vector[k], given);
    Affine right = flight_metric_times(f->work, f->block[k], strain_resistance(f, k), &f->metric_at[k], &off);
    f->move[k] = affine_sub(given, vector[k]);
    f->system->add_right(f->system_self, f->block[k], &right);
  }
}

/* open: of the vector itself, while the unknowns start from the linkage's vector. */
void mechanism_add_row(JointedFlight *f, FlightRow *row, double open) {
  const Jet *jet = &row->jet;
  row->open = open;
  for (int x = 0; x < jet->count; x++) open += affine_dot(&jet->gradient[x], &f->move[f->index[jet->body[x]]]);
  for (int x = 0; x < jet->count; x++) {
    Affine zero = affine_sub(jet->gradient[x], jet->gradient[x]);
    Affine right = affine_add_scaled(zero, -row->stiffness * open, jet->gradient[x]);
    f->system->add_right(f->system_self, jet->body[x], &right);
  }
}

double mechanism_size(const JointedFlight *f, int block, const Affine *d) {
  double r = block_mesh(f->work->model, block)->radius, sum = norm_sq(d->n[0]) / (r * r);
  for (int i = 1; i < 4; i++) sum += norm_sq(d->n[i]);
  return sqrt(sum);
}

void mechanism_solve(JointedFlight *f) {
  f->system->solve(f->system_self);
  for (int k = 0; k < f->count; k++) f->left[k] = 0;
  for (int k = 0; k < f->count; k++) {
    if (!mechanism_lives(f, k)) continue;
    f->move[k] = affine_add_scaled(f->move[k], 1, f->system->solution(f->system_self, f->block[k]));
    double size = mechanism_size(f, f->block[k], &f->move[k]), *left = &f->left[f->mechanism[k]];
    if (!(size <= *left) && !isnan(*left)) *left = size; /* also if it is not a number */
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
  JointedFlight *f = context;
  if (!mechanism_lives(f, k)) return;
  Affine force = flight_metric_times(f->work, f->block[k], strain_resistance(f, k), &f->metric_at[k], &f->move[k]);
  *mechanism_change(f, k) = affine_add_scaled(*mechanism_change(f, k), 1 / f->duration, force);
}

void mechanism_set_changes(JointedFlight *f) {
  memset(f->change, 0, (size_t)f->anderson.size * sizeof(double));
  for (int r = 0; r < f->row_count; r++)
    if (mechanism_row_lives(f, &f->row[r])) *mechanism_row_impulse(f, f->change, r) = row_push(f, r) / f->duration;
  parallel_for(f->threads, f->count, 32, change_task, f);
}

/* Those along rows are not forces of linear joints. */
void mechanism_push(JointedFlight *f, double part) {
  double rate = part / f->work->h;
  for (int k = 0; k < f->count; k++)
    if (mechanism_lives(f, k)) f->force[k] = affine_add_scaled(f->force[k], rate, *mechanism_impulse(f, k));
  for (int r = 0; r < f->row_count; r++) {
    if (!mechanism_row_lives(f, &f->row[r])) continue;
    double force = rate * *mechanism_row_impulse(f, f->x, r);
    f->row_force[r] += force;
    for (int x = 0; x < f->row[r].jet.count; x++) {
      Affine *sum = &f->force[f->index[f->row[r].jet.body[x]]];
      *sum = affine_add_scaled(*sum, force, f->row[r].jet.gradient[x]);
    }
  }
}

double mechanism_open(const JointedFlight *f) {
  double most_left = 0;
  for (int k = 0; k < f->count; k++)
    if (mechanism_lives(f, k) && !(f->left[k] <= most_left)) most_left = isfinite(f->left[k]) ? f->left[k] : INFINITY;
  return most_left;
}
