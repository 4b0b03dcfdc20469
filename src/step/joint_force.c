/* Energies of joints, their forces and what resists turning across a distance. Tested in tests/test_joint.c. */
#include "step/joint_part.h"

#include "kernel/barrier.h"
#include "kernel/constant.h"

static bool yields(const Pull *p, double x) { return fabs(p->stiffness * x) > p->limit; }

/* At the start of a step a drive pulls with all its force if its body has still to move by the step's motion. Newton's
 * step would overshoot by far: if the target is where the pull does not yield, it has its stiffness there. */
static void act_pull(JointAct *act, const Pull *p, const JointTerm *t, double s, double h2) {
  double x = s - p->centre, ahead = t->fresh ? t->ahead - p->centre : x;
  double chord = p->turns && yields(p, x) ? p->limit / fabs(x) : 0; /* see joint_foresee */
  double stiffness = yield_stiffness(p->stiffness, p->limit, x);
  act->energy += h2 * yield_energy(p->stiffness, p->limit, x);
  act->slope += h2 * yield_force(p->stiffness, p->limit, x);
  act->curvature += h2 * most(most(stiffness, chord), yield_stiffness(p->stiffness, p->limit, ahead));
}

/* A stop is a barrier in gap > 0. sense: derivative of the gap by the coordinate, +1 or -1. */
static void act_stop(JointAct *act, double stiffness, double gap, double sense, double unit_length, double range) {
  double y = gap * unit_length / range, f = unit_length / range;
  if (y >= 1) return;
  act->energy += stiffness * barrier(y);
  if (!(y > 0)) return;
  act->slope += stiffness * sense * f * barrier_d1(y);
  act->curvature += stiffness * f * f * barrier_d2(y);
}

double joint_stop_range(const Work *work, double lo, double hi, double unit_length) {
  return least(work->model->def.contact.range, STOP_RANGE * unit_length * (hi - lo));
}

static void act_stops(JointAct *act, const Work *work, const JointTerm *t, const double limit[2], double s,
                      double unit_length) {
  double range = joint_stop_range(work, limit[0], limit[1], unit_length);
  if (isfinite(limit[0])) act_stop(act, t->stop, s - limit[0], 1, unit_length, range);
  if (isfinite(limit[1])) act_stop(act, t->stop, limit[1] - s, -1, unit_length, range);
}

void joint_limits(const Joint *j, double limit[2]) {
  limit[0] = j->def.limit[0];
  limit[1] = j->def.kind == ABD_JOINT_ROPE ? least(j->length, j->def.limit[1]) : j->def.limit[1];
}

JointAct joint_act_coordinate(const Work *work, int joint, double s) {
  const Joint *j = &work->model->joint[joint];
  const JointTerm *t = &work->joint[joint];
  JointAct act = {-work->h2 * t->push * s, -work->h2 * t->push, 0};
  double limit[2];
  joint_limits(j, limit);
  for (int k = 0; k < PULL_COUNT; k++)
    if (t->pull[k].stiffness > 0) act_pull(&act, &t->pull[k], t, s, work->h2);
  act_stops(&act, work, t, limit, s, joint_reach(j));
  return act;
}

static JointAct act_angle(const Work *work, int joint, double angle) {
  const Joint *j = &work->model->joint[joint];
  JointAct act = {0, 0, 0};
  act_stops(&act, work, &work->joint[joint], j->def.angle_limit, angle, j->arm);
  return act;
}

static double row_force(const JointTerm *t, int row, double open) { return t->lambda[row] + t->stiffness * open; }

JointAct joint_act_row(const JointTerm *t, int k, double c) {
  JointAct act = {t->lambda[k] * c + 0.5 * t->stiffness * c * c, row_force(t, k, c), t->stiffness};
  return act;
}

bool joint_acts_on_coordinate(const Joint *j, const JointTerm *t) {
  return j->coordinate != ABD_COORDINATE_NONE && t->active;
}

/* What rounding of the poses adds to a scalar. */
static double jet_rounding(const Jet *jet, const Affine *q) {
  double sum = 0;
  for (int i = 0; i < jet->count; i++)
    for (int k = 0; k < 4; k++) sum += norm(jet->gradient[i].n[k]) * norm(q[jet->body[i]].n[k]);
  return ROUNDING_DISTANCE * sum;
}

/* noise: grows by the rounding of the energy; may be NULL. */
static double energy_of(JointAct act, const Jet *jet, const Affine *q, double *noise) {
  if (noise) *noise += ROUNDING_ENERGY * fabs(act.energy) + fabs(act.slope) * jet_rounding(jet, q);
  return act.energy;
}

double joint_energy(const Work *work, int joint, const Affine *q, double *noise) {
  const Joint *j = &work->model->joint[joint];
  const JointTerm *t = &work->joint[joint];
  double e = 0;
  if (!t->active) return 0;
  for (int k = 0; k < j->row_count; k++) {
    Jet row = joint_row(work, joint, k, q);
    e += energy_of(joint_act_row(t, k, row.value), &row, q, noise);
  }
  if (joint_acts_on_coordinate(j, t)) {
    Jet s = joint_coordinate_at(work, joint, q);
    e += energy_of(joint_act_coordinate(work, joint, s.value), &s, q, noise);
  }
  if (joint_limits_angle(j)) {
    Jet a = joint_angle(work->model, joint, q, t->angle);
    e += energy_of(act_angle(work, joint, a.value), &a, q, noise);
  }
  return e;
}

static int put_force(JointForce *force, int count, Jet jet, JointAct act) {
  force[count] = (JointForce){jet, act.slope, act.curvature};
  return count + 1;
}

int joint_forces(const Work *work, int joint, const Affine *q, JointForce force[JOINT_FORCES]) {
  const Joint *j = &work->model->joint[joint];
  const JointTerm *t = &work->joint[joint];
  int count = 0;
  if (!t->active) return 0;
  for (int k = 0; k < j->row_count; k++) {
    Jet row = joint_row(work, joint, k, q);
    count = put_force(force, count, row, joint_act_row(t, k, row.value));
  }
  if (joint_acts_on_coordinate(j, t)) {
    Jet s = joint_coordinate_at(work, joint, q);
    count = put_force(force, count, s, joint_act_coordinate(work, joint, s.value));
  }
  if (joint_limits_angle(j)) {
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
  if (!joint_acts_on_coordinate(&work->model->joint[joint], t)) return false;
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
  double sum = 0, d = joint_distance(j, q).value;
  if (j->def.kind == ABD_JOINT_DISTANCE) sum += joint_act_row(t, 0, d - j->length).slope;
  if (joint_acts_on_coordinate(j, t)) sum += joint_act_coordinate(work, joint, d).slope;
  return sum;
}

int joint_tension(const Work *work, int joint, const Affine *q, JointForce force[2]) {
  const Joint *j = &work->model->joint[joint];
  if (!work->joint[joint].active || j->coordinate != ABD_COORDINATE_DISTANCE || j->partner[0] >= 0) return 0;
  Jet along = joint_distance(j, q);
  double tension = tension_of(work, joint, q);
  if (!(tension > 0) || !(along.value > 0)) return 0;
  Vec3 n = along.gradient[0].n[0], across[2];
  across[0] = unit(cross(n, fabs(n.x) < 0.6 ? vec3(1, 0, 0) : vec3(0, 1, 0)));
  across[1] = cross(n, across[0]);
  for (int k = 0; k < 2; k++) {
    Measure m = measure_zero();
    measure_add_point(&m.gradient[0], j->end[0].anchor, across[k]);
    measure_add_point(&m.gradient[1], j->end[1].anchor, neg(across[k]));
    force[k] = (JointForce){joint_jet(j, m, 0), 0, tension / along.value};
  }
  return 2;
}
