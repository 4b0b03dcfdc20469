/* Energies, forces, step bounds and states of joints. Tested in tests/test_joint.c. */
#include "step/joint.h"

#include "contact/law.h"
#include "kernel/barrier.h"
#include "model/joint_kind.h"
#include "kernel/constant.h"
#include "kernel/rigid.h"

Affine joint_pose(const Affine *q, int body) { return body < 0 ? affine(vec3(0, 0, 0), mat3_identity()) : q[body]; }

static Jet jet_of(const Joint *j, Measure m, double value) {
  Jet jet = {.value = value};
  for (int e = 0; e < 2; e++) {
    if (j->end[e].body < 0) continue;
    jet.body[jet.count] = j->end[e].body;
    jet.gradient[jet.count++] = m.gradient[e];
  }
  return jet;
}

static void jet_scale(Jet *jet, double f) {
  jet->value *= f;
  for (int i = 0; i < jet->count; i++)
    for (int k = 0; k < 4; k++) jet->gradient[i].n[k] = scale(f, jet->gradient[i].n[k]);
}

/* a + f b */
static Jet jet_add(Jet a, double f, const Jet *b) {
  a.value += f * b->value;
  for (int i = 0; i < b->count; i++) {
    int at = 0;
    while (at < a.count && a.body[at] != b->body[i]) at++;
    Affine zero = affine_sub(b->gradient[i], b->gradient[i]);
    if (at == a.count) {
      a.body[a.count] = b->body[i];
      a.gradient[a.count++] = zero;
    }
    a.gradient[at] = affine_add_scaled(a.gradient[at], f, b->gradient[i]);
  }
  return a;
}

Jet joint_angle(const Model *model, int joint, const Affine *q, double near) {
  const Joint *j = &model->joint[joint];
  Affine a = joint_pose(q, j->end[0].body), b = joint_pose(q, j->end[1].body);
  Measure m = measure_angle(&a, &b, &j->end[0].frame, &j->end[1].frame, near);
  return jet_of(j, m, m.value);
}

/* ---- twist of an `angle` joint ---- */

static Quat twist_at(const Joint *j, const Affine *q) {
  Affine a = joint_pose(q, j->end[0].body), b = joint_pose(q, j->end[1].body);
  return quat_of(measure_rotation(&a, &b, &j->end[0].frame, &j->end[1].frame));
}

static Quat nearer(Quat q, Quat near) {
  if (quat_dot(q, near) >= 0) return q;
  return (Quat){-q.w, neg(q.v)};
}

static Jet twist(const Joint *j, const Affine *q, Quat near) {
  Affine a = joint_pose(q, j->end[0].body), b = joint_pose(q, j->end[1].body);
  Measure m = measure_twist(&a, &b, &j->end[0].frame, &j->end[1].frame, near);
  return jet_of(j, m, m.value);
}

static bool has_twist(const Joint *j) { return j->def.kind == ABD_JOINT_ANGLE && j->row_count > 0; }

void joint_refer(Work *work, int joint, const Affine *q) {
  const Joint *j = &work->model->joint[joint];
  work->joint[joint].angle = work->state->joint[joint].angle;
  if (has_twist(j)) work->joint[joint].twist = twist_at(j, q);
}

void joint_follow(Work *work, int joint, const Affine *q) {
  const Joint *j = &work->model->joint[joint];
  JointTerm *t = &work->joint[joint];
  if (has_twist(j)) t->twist = nearer(twist_at(j, q), t->twist);
}

/* The travel along column k of b's frame. */
static Jet travel(const Joint *j, const Affine *q, int k) {
  Affine a = joint_pose(q, j->end[0].body), b = joint_pose(q, j->end[1].body);
  Measure m = measure_travel(&a, &b, j->end[0].anchor, j->end[1].anchor, j->end[1].frame.c[k]);
  return jet_of(j, m, m.value);
}

double joint_travel(const Model *model, int joint, const Affine *q) { return travel(&model->joint[joint], q, 2).value; }

static Jet distance(const Joint *j, const Affine *q) {
  Affine a = joint_pose(q, j->end[0].body), b = joint_pose(q, j->end[1].body);
  Measure m = measure_distance(&a, &b, j->end[0].anchor, j->end[1].anchor);
  return jet_of(j, m, m.value);
}

/* The value of a coordinate at the poses of a and b. */
static double coordinate_between(const Joint *j, const Affine *a, const Affine *b, double near) {
  const JointEnd *x = &j->end[0], *y = &j->end[1];
  if (j->coordinate == ABD_COORDINATE_ANGLE) return measure_angle(a, b, &x->frame, &y->frame, near).value;
  if (j->coordinate == ABD_COORDINATE_TRAVEL) return measure_travel(a, b, x->anchor, y->anchor, y->frame.c[2]).value;
  return measure_distance(a, b, x->anchor, y->anchor).value;
}

Jet joint_coordinate(const Model *model, int joint, const Affine *q, double near) {
  const Joint *j = &model->joint[joint];
  if (j->coordinate == ABD_COORDINATE_ANGLE) return joint_angle(model, joint, q, near);
  return j->coordinate == ABD_COORDINATE_TRAVEL ? travel(j, q, 2) : distance(j, q);
}

/* first + ratio second, from their starts; near: the angles of both. */
static Jet joint_sum(const Model *m, const Joint *j, const Affine *q, const double near[2]) {
  Jet part[2];
  for (int k = 0; k < 2; k++) {
    part[k] = joint_coordinate(m, j->partner[k], q, near[k]);
    part[k].value -= m->joint[j->partner[k]].start;
  }
  return jet_add(part[0], j->def.ratio, &part[1]);
}

Jet joint_coordinate_in(const Model *m, const State *state, int joint, const Affine *q) {
  const Joint *j = &m->joint[joint];
  if (j->def.kind != ABD_JOINT_SUM) return joint_coordinate(m, joint, q, state->joint[joint].angle);
  return joint_sum(m, j, q, (double[2]){state->joint[j->partner[0]].angle, state->joint[j->partner[1]].angle});
}

Jet joint_coordinate_at(const Work *work, int joint, const Affine *q) {
  const Joint *j = &work->model->joint[joint];
  if (j->def.kind != ABD_JOINT_SUM) return joint_coordinate(work->model, joint, q, work->joint[joint].angle);
  return joint_sum(work->model, j, q, (double[2]){work->joint[j->partner[0]].angle, work->joint[j->partner[1]].angle});
}

/* [rad] by which the ends of a joint turn against each other in the step, at the velocities of the state. */
static double relative_turn(const Work *w, const Joint *j) {
  Vec3 spin[2] = {vec3(0, 0, 0), vec3(0, 0, 0)};
  for (int e = 0; e < 2; e++) {
    int body = j->end[e].body;
    if (body >= 0) spin[e] = body_turn(&w->state->q.body[body], &w->state->rate.body[body]);
  }
  return w->h * norm(sub(spin[0], spin[1]));
}

/* The joints whose angles are in the equations of a joint; returns how many. */
static int find_angles(const Model *m, int joint, int part[2]) {
  const Joint *j = &m->joint[joint];
  int count = 0;
  if (j->row_count == 0) return 0;
  if (j->def.kind == ABD_JOINT_SCREW) part[count++] = joint;
  for (int k = 0; k < 2; k++)
    if (j->partner[k] >= 0 && m->joint[j->partner[k]].coordinate == ABD_COORDINATE_ANGLE) part[count++] = j->partner[k];
  return count;
}

double joint_excess(const Work *work, int joint, int *body) {
  const Model *m = work->model;
  int part[2], count = find_angles(m, joint, part);
  double most_turn = 0;
  for (int k = 0; k < count; k++) {
    double turn = relative_turn(work, &m->joint[part[k]]);
    if (turn > most_turn) most_turn = turn, *body = joint_body(m, part[k]);
  }
  return most_turn / SUBSTEP_ANGLE;
}

/* [m] per unit of the coordinate. */
static double reach(const Joint *j) { return j->coordinate == ABD_COORDINATE_ANGLE ? j->arm : 1; }

static Jet gear_row(const Work *work, const Joint *j, const Affine *q) {
  const Model *m = work->model;
  int a = j->partner[0], b = j->partner[1];
  Jet first = joint_coordinate(m, a, q, work->joint[a].angle), second = joint_coordinate(m, b, q, work->joint[b].angle);
  first.value -= m->joint[a].start;
  second.value -= m->joint[b].start;
  Jet row = jet_add(second, -j->def.ratio, &first);
  jet_scale(&row, reach(&m->joint[b]));
  return row;
}

/* The equation of a joint besides those of a line or plane, in metres. NaN for a kind that has none. */
static Jet further_row(const Work *work, int joint, const Affine *q) {
  const Model *m = work->model;
  const Joint *j = &m->joint[joint];
  const double turn = 6.283185307179586476925;
  Affine a, b;
  Measure product;
  Jet row, angle;
  switch (j->def.kind) {
    case ABD_JOINT_GEAR: return gear_row(work, j, q);
    case ABD_JOINT_ANGLE: row = twist(j, q, work->joint[joint].twist), jet_scale(&row, j->arm); return row;
    case ABD_JOINT_DISTANCE: row = distance(j, q), row.value -= j->length; return row;
    case ABD_JOINT_UNIVERSAL:
      a = joint_pose(q, j->end[0].body), b = joint_pose(q, j->end[1].body);
      product = measure_product(&a, &b, j->end[0].frame.c[2], j->end[1].frame.c[2]);
      row = jet_of(j, product, product.value);
      jet_scale(&row, j->arm);
      return row;
    case ABD_JOINT_SCREW:
      angle = joint_angle(m, joint, q, work->joint[joint].angle);
      return jet_add(travel(j, q, 2), -j->def.pitch / turn, &angle);
    default: row = travel(j, q, 2), row.value = NAN; return row; /* a kind without a case ends the step as not finite */
  }
}

/* Equation k of a joint, in metres: first those of a line or plane between moving bodies, then the other one. */
static Jet row_jet(const Work *work, int joint, int k, const Affine *q) {
  const Joint *j = &work->model->joint[joint];
  const JointKind *kind = joint_kind(j->def.kind);
  if (k >= j->row_count - kind->rows) return further_row(work, joint, q);
  return travel(j, q, kind->keeps & KEEPS_LINE ? k : 2);
}

int joint_open_rows(const Work *work, int joint, const Affine *q, Jet row[JOINT_ROWS]) {
  int count = work->model->joint[joint].row_count;
  for (int k = 0; k < count; k++) row[k] = row_jet(work, joint, k, q);
  return count;
}

int joint_body(const Model *m, int joint) {
  const Joint *j = &m->joint[joint];
  if (j->partner[0] >= 0) {
    int a = joint_body(m, j->partner[0]);
    return a >= 0 ? a : joint_body(m, j->partner[1]);
  }
  return j->end[0].body >= 0 ? j->end[0].body : j->end[1].body;
}

/* ---- Energy, slope and curvature of a scalar ---- */

typedef struct Act {
  double energy, slope, curvature;
} Act;

static bool yields(const Pull *p, double x) { return fabs(p->stiffness * x) > p->limit; }

/* At the start of a step a drive pulls with all its force if its body has still to move by the step's motion. Newton's
 * step would overshoot by far: if the target is where the pull does not yield, it has its stiffness there. */
static void act_pull(Act *act, const Pull *p, const JointTerm *t, double s, double h2) {
  double x = s - p->centre, ahead = t->fresh ? t->ahead - p->centre : x;
  double chord = p->turns && yields(p, x) ? p->limit / fabs(x) : 0; /* see joint_foresee */
  double stiffness = yield_stiffness(p->stiffness, p->limit, x);
  act->energy += h2 * yield_energy(p->stiffness, p->limit, x);
  act->slope += h2 * yield_force(p->stiffness, p->limit, x);
  act->curvature += h2 * most(most(stiffness, chord), yield_stiffness(p->stiffness, p->limit, ahead));
}

/* A stop is a barrier in gap > 0. sense: derivative of the gap by the coordinate, +1 or -1. */
static void act_stop(Act *act, double stiffness, double gap, double sense, double unit_length, double range) {
  double y = gap * unit_length / range, f = unit_length / range;
  if (y >= 1) return;
  act->energy += stiffness * barrier(y);
  if (!(y > 0)) return;
  act->slope += stiffness * sense * f * barrier_d1(y);
  act->curvature += stiffness * f * f * barrier_d2(y);
}

static double stop_range(const Work *work, double lo, double hi, double unit_length) {
  return least(work->model->def.contact.range, STOP_RANGE * unit_length * (hi - lo));
}

static void act_stops(Act *act, const Work *work, const JointTerm *t, const double limit[2], double s,
                      double unit_length) {
  double range = stop_range(work, limit[0], limit[1], unit_length);
  if (isfinite(limit[0])) act_stop(act, t->stop, s - limit[0], 1, unit_length, range);
  if (isfinite(limit[1])) act_stop(act, t->stop, limit[1] - s, -1, unit_length, range);
}

/* A rope is a distance with an upper stop. */
static void coordinate_limits(const Joint *j, double limit[2]) {
  limit[0] = j->def.limit[0];
  limit[1] = j->def.kind == ABD_JOINT_ROPE ? least(j->length, j->def.limit[1]) : j->def.limit[1];
}

static Act act_coordinate(const Work *work, int joint, double s) {
  const Joint *j = &work->model->joint[joint];
  const JointTerm *t = &work->joint[joint];
  Act act = {-work->h2 * t->push * s, -work->h2 * t->push, 0};
  double limit[2];
  coordinate_limits(j, limit);
  for (int k = 0; k < PULL_COUNT; k++)
    if (t->pull[k].stiffness > 0) act_pull(&act, &t->pull[k], t, s, work->h2);
  act_stops(&act, work, t, limit, s, reach(j));
  return act;
}

static bool limits_angle(const Joint *j) { return isfinite(j->def.angle_limit[0]) || isfinite(j->def.angle_limit[1]); }

static Act act_angle(const Work *work, int joint, double angle) {
  const Joint *j = &work->model->joint[joint];
  Act act = {0, 0, 0};
  act_stops(&act, work, &work->joint[joint], j->def.angle_limit, angle, j->arm);
  return act;
}

static double row_force(const JointTerm *t, int row, double open) { return t->lambda[row] + t->stiffness * open; }

static Act act_row(const JointTerm *t, int k, double c) {
  Act act = {t->lambda[k] * c + 0.5 * t->stiffness * c * c, row_force(t, k, c), t->stiffness};
  return act;
}

static bool acts_on_coordinate(const Joint *j, const JointTerm *t) {
  return j->coordinate != ABD_COORDINATE_NONE && t->active;
}

double joint_energy(const Work *work, int joint, const Affine *q) {
  const Joint *j = &work->model->joint[joint];
  const JointTerm *t = &work->joint[joint];
  double e = 0;
  if (!t->active) return 0;
  for (int k = 0; k < j->row_count; k++) e += act_row(t, k, row_jet(work, joint, k, q).value).energy;
  if (acts_on_coordinate(j, t)) e += act_coordinate(work, joint, joint_coordinate_at(work, joint, q).value).energy;
  if (limits_angle(j)) e += act_angle(work, joint, joint_angle(work->model, joint, q, t->angle).value).energy;
  return e;
}

static int put_force(JointForce *force, int count, Jet jet, Act act) {
  force[count] = (JointForce){jet, act.slope, act.curvature};
  return count + 1;
}

int joint_forces(const Work *work, int joint, const Affine *q, JointForce force[JOINT_FORCES]) {
  const Joint *j = &work->model->joint[joint];
  const JointTerm *t = &work->joint[joint];
  int count = 0;
  if (!t->active) return 0;
  for (int k = 0; k < j->row_count; k++) {
    Jet row = row_jet(work, joint, k, q);
    count = put_force(force, count, row, act_row(t, k, row.value));
  }
  if (acts_on_coordinate(j, t)) {
    Jet s = joint_coordinate_at(work, joint, q);
    count = put_force(force, count, s, act_coordinate(work, joint, s.value));
  }
  if (limits_angle(j)) {
    Jet a = joint_angle(work->model, joint, q, t->angle);
    count = put_force(force, count, a, act_angle(work, joint, a.value));
  }
  return count;
}

/* x, end: from its centre, before and after Newton's step. */
static bool foresee_pull(Pull *p, double x, double end) {
  if (!(p->stiffness > 0) || !yields(p, x)) return false;
  p->turns = !p->turns && x * end < 0;
  return p->turns;
}

bool joint_foresee(Work *work, int joint) {
  JointTerm *t = &work->joint[joint];
  if (!acts_on_coordinate(&work->model->joint[joint], t)) return false;
  Jet s = joint_coordinate_at(work, joint, work->q.body);
  double way = 0;
  bool any = false;
  for (int k = 0; k < s.count; k++) way += affine_dot(&s.gradient[k], &work->newton.body[s.body[k]]);
  for (int k = 0; k < PULL_COUNT; k++) {
    double x = s.value - t->pull[k].centre;
    any |= foresee_pull(&t->pull[k], x, x + way);
  }
  return any;
}

/* The slope of a joint's energy by its distance. */
static double tension_of(const Work *work, int joint, const Affine *q) {
  const Joint *j = &work->model->joint[joint];
  const JointTerm *t = &work->joint[joint];
  double sum = 0, d = distance(j, q).value;
  if (j->def.kind == ABD_JOINT_DISTANCE) sum += act_row(t, 0, d - j->length).slope;
  if (acts_on_coordinate(j, t)) sum += act_coordinate(work, joint, d).slope;
  return sum;
}

int joint_tension(const Work *work, int joint, const Affine *q, JointForce force[2]) {
  const Joint *j = &work->model->joint[joint];
  if (!work->joint[joint].active || j->coordinate != ABD_COORDINATE_DISTANCE || j->partner[0] >= 0) return 0;
  Jet along = distance(j, q);
  double tension = tension_of(work, joint, q);
  if (!(tension > 0) || !(along.value > 0)) return 0;
  Vec3 n = along.gradient[0].n[0], across[2];
  across[0] = unit(cross(n, fabs(n.x) < 0.6 ? vec3(1, 0, 0) : vec3(0, 1, 0)));
  across[1] = cross(n, across[0]);
  for (int k = 0; k < 2; k++) {
    Measure m = measure_zero();
    measure_add_point(&m.gradient[0], j->end[0].anchor, across[k]);
    measure_add_point(&m.gradient[1], j->end[1].anchor, neg(across[k]));
    force[k] = (JointForce){jet_of(j, m, 0), 0, tension / along.value};
  }
  return 2;
}

/* ---- Hessians of the scalars times the forces on them ---- */

static JointTurn turn_of(const Joint *j) {
  JointTurn t = {.body = {j->end[0].body, j->end[1].body}};
  return t;
}

static void turn_angle(JointTurn *t, const Joint *j, const Affine *q, double force) {
  Affine a = joint_pose(q, j->end[0].body), b = joint_pose(q, j->end[1].body);
  hessian_add_angle(&t->hessian, force, &a, &b, &j->end[0].frame, &j->end[1].frame);
}

static void turn_travel(JointTurn *t, const Joint *j, int k, double force) {
  hessian_add_travel(&t->hessian, force, j->end[0].anchor, j->end[1].anchor, j->end[1].frame.c[k]);
}

static void turn_distance(JointTurn *t, const Joint *j, const Affine *q, double force) {
  Affine a = joint_pose(q, j->end[0].body), b = joint_pose(q, j->end[1].body);
  hessian_add_distance(&t->hessian, force, &a, &b, j->end[0].anchor, j->end[1].anchor);
}

static void turn_twist(JointTurn *t, const Joint *j, const Affine *q, Quat near, double force) {
  Affine a = joint_pose(q, j->end[0].body), b = joint_pose(q, j->end[1].body);
  hessian_add_twist(&t->hessian, force, &a, &b, &j->end[0].frame, &j->end[1].frame, near);
}

static void turn_coordinate(JointTurn *t, const Joint *j, const Affine *q, double force) {
  if (j->coordinate == ABD_COORDINATE_ANGLE) turn_angle(t, j, q, force);
  else if (j->coordinate == ABD_COORDINATE_TRAVEL) turn_travel(t, j, 2, force);
  else turn_distance(t, j, q, force);
}

/* Equation k of a joint that has ends of its own, see row_jet. */
static void turn_row(JointTurn *t, const Work *work, int joint, int k, const Affine *q, double force) {
  const Joint *j = &work->model->joint[joint];
  const JointKind *kind = joint_kind(j->def.kind);
  const double turn = 6.283185307179586476925;
  if (k < j->row_count - kind->rows) turn_travel(t, j, kind->keeps & KEEPS_LINE ? k : 2, force);
  else if (j->def.kind == ABD_JOINT_ANGLE) turn_twist(t, j, q, work->joint[joint].twist, j->arm * force);
  else if (j->def.kind == ABD_JOINT_DISTANCE) turn_distance(t, j, q, force);
  else if (j->def.kind == ABD_JOINT_UNIVERSAL)
    hessian_add_inner(&t->hessian, j->arm * force, j->end[0].frame.c[2], j->end[1].frame.c[2]);
  else if (j->def.kind == ABD_JOINT_SCREW) {
    turn_travel(t, j, 2, force);
    turn_angle(t, j, q, -j->def.pitch / turn * force);
  }
}

/* The coordinates of both partners, with the forces on them. */
static int turn_partners(const Work *work, const Joint *j, const Affine *q, const double force[2], JointTurn turn[2]) {
  for (int k = 0; k < 2; k++) {
    const Joint *part = &work->model->joint[j->partner[k]];
    turn[k] = turn_of(part);
    turn_coordinate(&turn[k], part, q, force[k]);
  }
  return 2;
}

int joint_turning(const Work *work, int joint, const Affine *q, JointTurn turn[2]) {
  const Joint *j = &work->model->joint[joint];
  const JointTerm *t = &work->joint[joint];
  if (!t->active) return 0;
  JointForce force[JOINT_FORCES];
  int count = joint_forces(work, joint, q, force), k = 0;
  if (j->def.kind == ABD_JOINT_GEAR) {
    double f = reach(&work->model->joint[j->partner[1]]) * force[0].slope;
    return turn_partners(work, j, q, (double[2]){-j->def.ratio * f, f}, turn);
  }
  if (j->def.kind == ABD_JOINT_SUM)
    return count ? turn_partners(work, j, q, (double[2]){force[0].slope, j->def.ratio * force[0].slope}, turn) : 0;
  turn[0] = turn_of(j);
  for (; k < j->row_count; k++) turn_row(&turn[0], work, joint, k, q, force[k].slope);
  if (acts_on_coordinate(j, t)) turn_coordinate(&turn[0], j, q, force[k++].slope);
  if (limits_angle(j)) turn_angle(&turn[0], j, q, force[k].slope);
  return count > 0;
}

double joint_gap(const Work *work, int joint, const Affine *q) {
  double worst = 0;
  for (int k = 0; k < work->model->joint[joint].row_count; k++)
    worst = most(worst, fabs(row_jet(work, joint, k, q).value));
  return worst;
}

/* ---- Bounds ---- */

/* Three poses on the straight path of a joint's ends. */
typedef struct Path {
  Affine a[3], b[3];
} Path;

static Path path_of(const Work *work, const Joint *j) {
  Path p;
  for (int k = 0; k < 3; k++) {
    int a = j->end[0].body, b = j->end[1].body;
    p.a[k] = joint_pose(work->q.body, a);
    p.b[k] = joint_pose(work->q.body, b);
    if (a >= 0) p.a[k] = affine_add_scaled(p.a[k], 0.5 * k, work->direction.body[a]);
    if (b >= 0) p.b[k] = affine_add_scaled(p.b[k], 0.5 * k, work->direction.body[b]);
  }
  return p;
}

/* sin(hi - angle) times a positive factor is quadratic along the path. Below a quarter turn it decreases with the gap.
 * A step turns by at most a quarter, so it cannot reach farther stops. */
static double bound_angle(const Work *work, int joint, const double limit[2]) {
  const Joint *j = &work->model->joint[joint];
  Path p = path_of(work, j);
  double c[3], s[3], now = work->joint[joint].angle, bound;
  for (int k = 0; k < 3; k++) measure_phase(&p.a[k], &p.b[k], &j->end[0].frame, &j->end[1].frame, &c[k], &s[k]);
  double f[3];
  for (int k = 0; k < 3; k++) f[k] = cos(now) * c[k] + sin(now) * s[k];
  bound = first_fall(f[0], f[1], f[2], TURN_LEFT);
  for (int side = 0; side < 2; side++) {
    double gap = side ? limit[1] - now : now - limit[0], sense = side ? 1 : -1;
    if (!(gap < STOP_NEAR)) continue;
    for (int k = 0; k < 3; k++) f[k] = sense * (sin(limit[side]) * c[k] - cos(limit[side]) * s[k]);
    bound = least(bound, first_fall(f[0], f[1], f[2], GAP_LEFT));
  }
  return bound;
}

/* Travel and the square of a distance are quadratic along the path. */
static double bound_length(const Work *work, const Joint *j, const double limit[2]) {
  Path p = path_of(work, j);
  bool squared = j->coordinate == ABD_COORDINATE_DISTANCE;
  double s[3], bound = 1;
  for (int k = 0; k < 3; k++) {
    Vec3 gap = sub(affine_point(&p.a[k], j->end[0].anchor), affine_point(&p.b[k], j->end[1].anchor));
    s[k] = squared ? norm_sq(gap) : dot(gap, affine_vector(&p.b[k], j->end[1].frame.c[2]));
  }
  for (int side = 0; side < 2; side++) {
    double at = squared ? limit[side] * fabs(limit[side]) : limit[side], sense = side ? 1 : -1;
    if (!isfinite(at)) continue;
    bound = least(bound, first_fall(sense * (at - s[0]), sense * (at - s[1]), sense * (at - s[2]), GAP_LEFT));
  }
  return bound;
}

/* A sum of travels is quadratic along the path, a sum with angles nearly so. If the quadratic misses the stop, the
 * energy at the end of the step is infinite, and the line search shortens the step. */
static double bound_sum(const Work *work, int joint, const double limit[2]) {
  const Joint *j = &work->model->joint[joint];
  double s[3], bound = 1;
  Path p[2] = {path_of(work, &work->model->joint[j->partner[0]]), path_of(work, &work->model->joint[j->partner[1]])};
  for (int k = 0; k < 3; k++) {
    s[k] = 0;
    for (int e = 0; e < 2; e++) {
      const Joint *part = &work->model->joint[j->partner[e]];
      double value = coordinate_between(part, &p[e].a[k], &p[e].b[k], work->joint[j->partner[e]].angle) - part->start;
      s[k] += (e ? j->def.ratio : 1) * value;
    }
  }
  for (int side = 0; side < 2; side++) {
    double sense = side ? 1 : -1;
    if (isfinite(limit[side]))
      bound = least(bound, first_fall(sense * (limit[side] - s[0]), sense * (limit[side] - s[1]),
                                      sense * (limit[side] - s[2]), GAP_LEFT));
  }
  return bound;
}

double joint_bound(const Work *work, int joint) {
  const Joint *j = &work->model->joint[joint];
  double limit[2], bound = 1;
  if (!work->joint[joint].active || j->def.kind == ABD_JOINT_GEAR) return 1;
  coordinate_limits(j, limit);
  bool limited = isfinite(limit[0]) || isfinite(limit[1]);
  if (j->def.kind == ABD_JOINT_SUM) return limited ? bound_sum(work, joint, limit) : 1;
  if (limited && j->coordinate == ABD_COORDINATE_ANGLE) bound = bound_angle(work, joint, limit);
  else if (limited) bound = bound_length(work, j, limit);
  if (limits_angle(j)) bound = least(bound, bound_angle(work, joint, j->def.angle_limit));
  return bound;
}

/* ---- Stages of a step ---- */

/* The smallest gap to a stop, relative to its range; s: the coordinate. */
static double stop_gap(const Work *work, int joint, const Affine *q, double s) {
  const Joint *j = &work->model->joint[joint];
  double limit[2], y = INFINITY;
  coordinate_limits(j, limit);
  if (j->coordinate != ABD_COORDINATE_NONE && (isfinite(limit[0]) || isfinite(limit[1])))
    y = least(s - limit[0], limit[1] - s) * reach(j) / stop_range(work, limit[0], limit[1], reach(j));
  if (limits_angle(j)) {
    double a = joint_angle(work->model, joint, q, work->joint[joint].angle).value;
    const double *l = j->def.angle_limit;
    y = least(y, least(a - l[0], l[1] - a) * j->arm / stop_range(work, l[0], l[1], j->arm));
  }
  return y;
}

/* The same at poses q. */
static double stop_gap_at(const Work *work, int joint, const Affine *q) {
  bool moves = work->model->joint[joint].coordinate != ABD_COORDINATE_NONE;
  return stop_gap(work, joint, q, moves ? joint_coordinate_at(work, joint, q).value : 0);
}

bool joint_near_stop(const Work *work, int joint) {
  return work->joint[joint].active && work->model->joint[joint].def.kind != ABD_JOINT_GEAR &&
         (stop_gap_at(work, joint, work->q.body) < 1 || stop_gap_at(work, joint, work->target.body) < 1);
}

static void set_pulls(const Work *work, const Joint *j, JointTerm *t, const JointState *s) {
  const AbdJointDef *d = &j->def;
  double h = work->h, inertia = j->mass * reach(j) * reach(j),
         small = JOINT_STICK * (j->coordinate == ABD_COORDINATE_ANGLE ? 1 : j->arm);
  t->pull[PULL_SPRING] = (Pull){d->stiffness, INFINITY, d->rest, false};
  t->pull[PULL_DAMPER] = (Pull){d->damping / h, INFINITY, t->position, false};
  t->pull[PULL_FRICTION] = (Pull){d->friction / small, d->friction, t->position + s->stick, false};
  t->pull[PULL_DRIVE] = (Pull){0, INFINITY, 0, false};
  t->push = 0;
  const AbdDrive *v = &s->drive;
  if (v->kind == ABD_DRIVE_EFFORT) t->push = least(most(v->target, -v->max_effort), v->max_effort);
  if (v->kind == ABD_DRIVE_SPEED && v->max_effort > 0) { /* it yields within a tenth of a step's motion */
    double stiffness = least(DRIVE_INERTIAS * inertia / work->h2, v->max_effort / (DRIVE_GIVE * fabs(v->target) * h));
    double hold = least(most(s->hold, -v->max_effort), v->max_effort);
    t->pull[PULL_DRIVE] = (Pull){stiffness, v->max_effort, t->position + hold / stiffness + v->target * h, false};
  }
  if (v->kind == ABD_DRIVE_POSITION) {
    double k = v->stiffness + v->damping / h;
    t->pull[PULL_DRIVE] =
        (Pull){k, v->max_effort, (v->stiffness * v->target + v->damping / h * t->position) / k, false};
  }
}

/* ---- springs in flight ---- */

/* The inverse of the inertia that a coordinate has, if no other joint held its bodies. */
static double mobility(const Model *m, const Affine *q, const Jet *jet) {
  double sum = 0;
  for (int x = 0; x < jet->count; x++) {
    const Body *b = &m->body[jet->body[x]];
    const Affine *at = &q[jet->body[x]], *g = &jet->gradient[x];
    if (b->motion != ABD_MOTION_DYNAMIC) continue;
    Vec3 torque = vec3(0, 0, 0);
    for (int k = 1; k < 4; k++) torque = add(torque, cross(at->n[k], g->n[k]));
    sum += norm_sq(g->n[0]) / b->mass + dot(torque, spin_from_momentum(affine_linear(at), b->second, torque));
  }
  return sum;
}

bool joint_spring(const Model *m, int joint, const Affine *q, double near, Jet *coordinate, double *force) {
  const Joint *j = &m->joint[joint];
  double h = m->def.dt, k = j->def.stiffness;
  if (m->def.integrator != ABD_INTEGRATOR_RIGID || !(k > 0) || j->coordinate == ABD_COORDINATE_NONE) return false;
  if (j->def.kind == ABD_JOINT_SUM) return false; /* always solved with the step */
  *coordinate = joint_coordinate(m, joint, q, near);
  *force = -k * (coordinate->value - j->def.rest);
  return h * h * k * mobility(m, q, coordinate) < SPRING_FLIES;
}

static double spring_energy(const Joint *j, double position) {
  double x = position - j->def.rest;
  return 0.5 * j->def.stiffness * x * x;
}

double joint_spring_gain(const Work *work, int joint) {
  const Joint *j = &work->model->joint[joint];
  if (!(j->def.stiffness > 0) || j->coordinate == ABD_COORDINATE_NONE) return 0;
  return spring_energy(j, joint_coordinate_at(work, joint, work->q.body).value) -
         spring_energy(j, joint_coordinate_in(work->model, work->state, joint, work->state->q.body).value);
}

bool joint_acts_on_flight(const Model *m, const State *state, int joint) {
  const Joint *j = &m->joint[joint];
  const JointState *s = &state->joint[joint];
  const AbdJointDef *d = &j->def;
  Jet coordinate;
  double force;
  for (int k = 0; k < j->row_count; k++)
    if (s->force[k] != 0) return true;
  return d->kind == ABD_JOINT_ROPE || isfinite(d->limit[0]) || isfinite(d->limit[1]) || isfinite(d->angle_limit[0]) ||
         isfinite(d->angle_limit[1]) || d->damping > 0 || d->friction > 0 || s->drive.kind != ABD_DRIVE_NONE ||
         (d->stiffness > 0 && !joint_spring(m, joint, state->q.body, s->angle, &coordinate, &force));
}

void joint_begin(Work *work, int joint) {
  const Model *m = work->model;
  const Joint *j = &m->joint[joint];
  const JointState *s = &work->state->joint[joint];
  JointTerm *t = &work->joint[joint];
  *t = (JointTerm){.active = joint_acts(j, s), .stiffness = JOINT_INERTIAS * j->mass};
  joint_refer(work, joint, work->q.body);
  if (j->coordinate != ABD_COORDINATE_NONE)
    t->position = joint_coordinate_in(m, work->state, joint, work->q.body).value;
  if (!t->active) return;
  for (int k = 0; k < j->row_count; k++) t->lambda[k] = s->force[k] * work->h2;
  if (j->coordinate == ABD_COORDINATE_NONE) return;
  set_pulls(work, j, t, s);
  Jet coordinate;
  double force;
  if (joint_spring(m, joint, work->state->q.body, t->angle, &coordinate, &force))
    t->spring = t->pull[PULL_SPRING].stiffness, t->pull[PULL_SPRING].stiffness = 0;
  double y = stop_gap(work, joint, work->q.body, t->position);
  t->fresh = true;
  t->ahead = joint_coordinate_in(m, work->state, joint, work->target.body).value;
  double approach = reach(j) * (t->ahead - t->position);
  t->stiffening = law_stiffening(s->stiffening, y);
  t->stop = t->stiffening * law_stiffness(m, work->h2, j->mass, approach, 0);
  t->gap = y;
}

void joint_start(Work *work, int joint) { work->joint[joint].energy = joint_energy(work, joint, work->q.body); }

void joint_accept(Work *work, int joint) {
  JointTerm *t = &work->joint[joint];
  const Joint *j = &work->model->joint[joint];
  if (j->has_angle) t->angle = joint_angle(work->model, joint, work->q.body, t->angle).value;
  t->energy = t->energy_trial;
  t->fresh = false;
  if (has_twist(j)) {
    joint_follow(work, joint, work->q.body);
    t->energy = joint_energy(work, joint, work->q.body);
  }
  if (!t->active || j->def.kind == ABD_JOINT_GEAR) return;
  double y = stop_gap_at(work, joint, work->q.body);
  bool halved = y < GUARD_SHRINK * t->gap;
  double factor = law_raise(t->stiffening);
  if (halved && y < BARRIER_TIGHT && factor > 1) {
    t->stop *= factor;
    t->stiffening *= factor;
    t->energy = joint_energy(work, joint, work->q.body);
  }
  if (halved || y > t->gap) t->gap = y;
}

bool joint_renew(Work *work, int joint) {
  JointTerm *t = &work->joint[joint];
  const Joint *j = &work->model->joint[joint];
  if (!t->active || j->row_count == 0) return false;
  double worst = joint_gap(work, joint, work->q.body);
  t->open = worst > work->model->joint_tolerance;
  if (!t->open || t->renewals >= JOINT_RENEWALS) return false;
  for (int k = 0; k < j->row_count; k++) t->lambda[k] += t->stiffness * row_jet(work, joint, k, work->q.body).value;
  if (t->renewals > 0 && worst > JOINT_PROGRESS * t->worst && t->stiffness < JOINT_INERTIAS_MAX * j->mass)
    t->stiffness *= JOINT_STEP;
  t->worst = worst;
  t->renewals++;
  t->energy = joint_energy(work, joint, work->q.body);
  return true;
}

double joint_stored(const Work *work, int joint) {
  const JointTerm *t = &work->joint[joint];
  if (!(t->spring > 0)) return t->energy / work->h2;
  double x = joint_coordinate_at(work, joint, work->q.body).value - work->model->joint[joint].def.rest;
  return t->energy / work->h2 + 0.5 * t->spring * x * x;
}

double joint_effort(const Work *work, int joint, double position) {
  const JointTerm *t = &work->joint[joint];
  const Pull *p = &t->pull[PULL_DRIVE];
  return t->push - (p->stiffness > 0 ? yield_force(p->stiffness, p->limit, position - p->centre) : 0);
}

double joint_passive(const Work *work, int joint, double position) {
  if (!work->joint[joint].active || work->model->joint[joint].coordinate == ABD_COORDINATE_NONE) return 0;
  double spring = -work->joint[joint].spring * (position - work->model->joint[joint].def.rest);
  return spring - act_coordinate(work, joint, position).slope / work->h2 - joint_effort(work, joint, position);
}

double joint_rate(const Jet *jet, const Affine *rate) {
  double sum = 0;
  for (int i = 0; i < jet->count; i++) sum += affine_dot(&jet->gradient[i], &rate[jet->body[i]]);
  return sum;
}

static double pull_force(const Pull *p, double position) {
  return p->stiffness > 0 ? -yield_force(p->stiffness, p->limit, position - p->centre) : 0;
}

void joint_work(const Work *work, int joint, const State *after, double *drive, double *damping) {
  const Model *m = work->model;
  const JointTerm *t = &work->joint[joint];
  *drive = *damping = 0;
  if (!t->active || m->joint[joint].coordinate == ABD_COORDINATE_NONE) return;
  Jet start = joint_coordinate_in(m, work->state, joint, work->state->q.body);
  Jet end = joint_coordinate_at(work, joint, work->q.body);
  double way = 0.5 * work->h * (joint_rate(&start, work->state->rate.body) + joint_rate(&end, after->rate.body));
  *drive = joint_effort(work, joint, end.value) * way;
  *damping = (pull_force(&t->pull[PULL_DAMPER], end.value) + pull_force(&t->pull[PULL_FRICTION], end.value)) * way;
}

/* The elastic offset of a pull from its centre; less than the displacement if the pull has yielded. */
static double elastic_offset(const Pull *p, double position) {
  return -yield_force(p->stiffness, p->limit, position - p->centre) / p->stiffness;
}

/* A speed drive is a damper about its speed plus an integrator, `hold`, that removes the speed's error. The softer the
 * drive relative to its inertia, the slower the integrator, so that it does not oscillate. It stops at the maximum
 * effort. */
static double updated_hold(const Work *work, const Joint *j, const Pull *p, double start, const JointState *s,
                           double position) {
  double force = -yield_force(p->stiffness, p->limit, position - p->centre), inertia = j->mass * reach(j) * reach(j);
  double slowness = most(1, DRIVE_SLOWNESS * inertia / (p->stiffness * work->h * work->h));
  double hold = least(most(s->hold, -p->limit), p->limit);
  if (fabs(force) < p->limit) hold += p->stiffness / (1 + slowness) * (start + s->drive.target * work->h - position);
  return least(most(hold, -p->limit), p->limit);
}

/* A force that moves a body by less than a flight leaves open is none. */
static void forget_small(const Work *work, const Joint *j, JointState *s) {
  for (int k = 0; k < j->row_count; k++)
    if (fabs(s->force[k]) * work->h2 < FLIGHT_OPEN * j->arm * j->mass) s->force[k] = 0;
}

void joint_finish(const Work *work, int i, State *after) {
  const Joint *j = &work->model->joint[i];
  const JointTerm *t = &work->joint[i];
  JointState *s = &after->joint[i];
  s->angle = t->angle;
  if (!t->active) return;
  for (int k = 0; k < j->row_count; k++)
    s->force[k] = act_row(t, k, row_jet(work, i, k, work->q.body).value).slope / work->h2;
  if (has_twist(j) && quat_dot(twist_at(j, work->q.body), t->twist) < 0) s->force[j->row_count - 1] *= -1;
  if (predict_flies(work, joint_body(work->model, i))) forget_small(work, j, s);
  if (j->coordinate == ABD_COORDINATE_NONE) return;
  double position = joint_coordinate_at(work, i, work->q.body).value;
  const Pull *friction = &t->pull[PULL_FRICTION], *drive = &t->pull[PULL_DRIVE];
  bool has_hold = s->drive.kind == ABD_DRIVE_SPEED && drive->stiffness > 0;
  s->stick = friction->stiffness > 0 ? elastic_offset(friction, position) : 0;
  s->hold = has_hold ? updated_hold(work, j, drive, t->position, s, position) : 0;
  s->stiffening = t->stiffening;
}
