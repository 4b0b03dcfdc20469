/* Joints from the start of a step to its end, and the springs of flights. Tested in tests/test_joint.c. */
#include "step/joint.h"

#include "contact/law.h"
#include "kernel/constant.h"
#include "kernel/rigid.h"
#include "step/flight.h"
#include "step/joint_part.h"

/* The smallest gap to a stop, relative to its range; s: the coordinate. */
static double stop_gap(const Work *work, int joint, const Affine *q, double s) {
  const Joint *j = &work->model->joint[joint];
  double limit[2], y = INFINITY;
  joint_limits(j, limit);
  if (j->coordinate != ABD_COORDINATE_NONE && (isfinite(limit[0]) || isfinite(limit[1])))
    y = least(s - limit[0], limit[1] - s) * joint_reach(j) / joint_stop_range(work, limit[0], limit[1], joint_reach(j));
  if (joint_limits_angle(j)) {
    double a = joint_angle(work->model, joint, q, work->joint[joint].angle).value;
    const double *l = j->def.angle_limit;
    y = least(y, least(a - l[0], l[1] - a) * j->arm / joint_stop_range(work, l[0], l[1], j->arm));
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

bool joint_is_tight(const Work *work, int joint) {
  return work->joint[joint].active && work->model->joint[joint].def.kind != ABD_JOINT_GEAR &&
         stop_gap_at(work, joint, work->q.body) < BARRIER_TIGHT;
}

static void set_pulls(const Work *work, const Joint *j, JointTerm *t, const JointState *s) {
  const AbdJointDef *d = &j->def;
  double h = work->h, inertia = j->mass * joint_reach(j) * joint_reach(j),
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

/* The part of a spring's energy that a flight counts double. */
static double double_counted(const Work *work, int joint, const Affine *q, double near) {
  const Joint *j = &work->model->joint[joint];
  Jet coordinate;
  double force;
  if (!joint_spring(work->model, joint, q, near, &coordinate, &force)) return 0;
  double part = 0.25 * work->h * work->h * j->def.stiffness * mobility(work->model, q, &coordinate);
  return part * spring_energy(j, coordinate.value);
}

double joint_spring_error(const Work *work, int joint) {
  return double_counted(work, joint, work->q.body, work->joint[joint].angle) -
         double_counted(work, joint, work->state->q.body, work->state->joint[joint].angle);
}

bool joint_is_loaded(const Model *m, const State *state, int joint) {
  for (int k = 0; k < m->joint[joint].row_count; k++)
    if (state->joint[joint].force[k] != 0) return true;
  return false;
}

bool joint_takes_energy(const Model *m, const State *state, int joint) {
  const Joint *j = &m->joint[joint];
  const JointState *s = &state->joint[joint];
  const AbdJointDef *d = &j->def;
  Jet coordinate;
  double force;
  return d->kind == ABD_JOINT_ROPE || isfinite(d->limit[0]) || isfinite(d->limit[1]) || joint_limits_angle(j) ||
         d->damping > 0 || d->friction > 0 || s->drive.kind != ABD_DRIVE_NONE ||
         (d->stiffness > 0 && !joint_spring(m, joint, state->q.body, s->angle, &coordinate, &force));
}

bool joint_acts_on_flight(const Model *m, const State *state, int joint) {
  return joint_is_loaded(m, state, joint) || joint_takes_energy(m, state, joint);
}

bool joint_guides(const Work *work, int joint) {
  const AbdJointDef *d = &work->model->joint[joint].def;
  return d->kind == ABD_JOINT_ROPE && !(d->damping > 0) && !(d->friction > 0) && !(d->stiffness > 0) &&
         stop_gap_at(work, joint, work->state->q.body) < 1 && stop_gap_at(work, joint, work->q.body) < 1;
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
  double approach = fabs(joint_reach(j) * (t->ahead - t->position));
  t->stiffening = law_relaxed(s->stiffening.factor, y);
  t->stop = law_stiffness(m, (LawStep){work->h, work->h2}, t->stiffening, j->mass, approach);
  t->gap = y;
}

void joint_start(Work *work, int joint) { work->joint[joint].energy = joint_energy(work, joint, work->q.body, NULL); }

/* The twist of strained bodies depends on the poses that it refers to. If these followed every iteration, its energy
 * would change with them, and Newton's method would have no function to minimise. */
static bool has_turned(Quat now, Quat then) {
  double both = quat_dot(now, then);
  return both * both < TWIST_NEAR * TWIST_NEAR * quat_dot(now, now) * quat_dot(then, then);
}

void joint_accept(Work *work, int joint) {
  JointTerm *t = &work->joint[joint];
  const Joint *j = &work->model->joint[joint];
  if (j->has_angle) t->angle = joint_angle(work->model, joint, work->q.body, t->angle).value;
  t->energy = t->energy_trial;
  t->fresh = false;
  if (joint_has_twist(j) && has_turned(joint_twist(j, work->q.body), t->twist)) {
    joint_follow(work, joint, work->q.body);
    t->energy = joint_energy(work, joint, work->q.body, NULL);
  }
  if (!t->active || j->def.kind == ABD_JOINT_GEAR) return;
  double y = stop_gap_at(work, joint, work->q.body);
  bool halved = y < GUARD_SHRINK * t->gap;
  double factor = law_raise(t->stiffening);
  if (halved && y < BARRIER_TIGHT && factor > 1) {
    t->stop *= factor;
    t->stiffening *= factor;
    t->energy = joint_energy(work, joint, work->q.body, NULL);
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
  for (int k = 0; k < j->row_count; k++) t->lambda[k] += t->stiffness * joint_row(work, joint, k, work->q.body).value;
  if (t->renewals > 0 && worst > JOINT_PROGRESS * t->worst && t->stiffness < JOINT_INERTIAS_MAX * j->mass)
    t->stiffness *= JOINT_STEP;
  t->worst = worst;
  t->renewals++;
  t->energy = joint_energy(work, joint, work->q.body, NULL);
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
  return spring - joint_act_coordinate(work, joint, position).slope / work->h2 - joint_effort(work, joint, position);
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
  double force = -yield_force(p->stiffness, p->limit, position - p->centre),
         inertia = j->mass * joint_reach(j) * joint_reach(j);
  double slowness = most(1, DRIVE_SLOWNESS * inertia / (p->stiffness * work->h * work->h));
  double hold = least(most(s->hold, -p->limit), p->limit);
  if (fabs(force) < p->limit) hold += p->stiffness / (1 + slowness) * (start + s->drive.target * work->h - position);
  return least(most(hold, -p->limit), p->limit);
}

static bool has_landed(const Work *work, int joint, int k) {
  Jet row = joint_row(work, joint, k, work->q.body);
  bool all = true;
  for (int x = 0; x < row.count; x++) all &= flight_landed(work, row.body[x]);
  return all;
}

/* A force that moves a body by less than a flight leaves open is none. Nor is what the penalty makes of that, if the
 * bodies flew: the next step would be solved, and would lose energy as an impact does. */
static void forget_small(const Work *work, int joint, JointState *s) {
  const Joint *j = &work->model->joint[joint];
  for (int k = 0; k < j->row_count; k++) {
    bool small = fabs(s->force[k]) * work->h2 < FLIGHT_OPEN * j->arm * j->mass;
    if (small || has_landed(work, joint, k)) s->force[k] = 0;
  }
}

void joint_finish(const Work *work, int i, State *after) {
  const Joint *j = &work->model->joint[i];
  const JointTerm *t = &work->joint[i];
  JointState *s = &after->joint[i];
  s->angle = t->angle;
  if (!t->active) return;
  for (int k = 0; k < j->row_count; k++)
    s->force[k] = joint_act_row(t, k, joint_row(work, i, k, work->q.body).value).slope / work->h2;
  if (joint_has_twist(j) && quat_dot(joint_twist(j, work->q.body), t->twist) < 0) s->force[j->row_count - 1] *= -1;
  if (predict_flies(work, joint_body(work->model, i))) forget_small(work, i, s);
  if (j->coordinate == ABD_COORDINATE_NONE) return;
  double position = joint_coordinate_at(work, i, work->q.body).value;
  const Pull *friction = &t->pull[PULL_FRICTION], *drive = &t->pull[PULL_DRIVE];
  bool has_hold = s->drive.kind == ABD_DRIVE_SPEED && drive->stiffness > 0;
  s->stick = friction->stiffness > 0 ? elastic_offset(friction, position) : 0;
  s->hold = has_hold ? updated_hold(work, j, drive, t->position, s, position) : 0;
  s->stiffening =
      law_stiffening(t->stiffening, work->state->joint[i].stiffening.gap, stop_gap(work, i, work->q.body, position));
}
