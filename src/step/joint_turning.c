/* Hessians of the scalars of joints, times the forces on them. Tested in tests/test_joint.c. */
#include "step/joint_part.h"

#include "model/joint_kind.h"

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

/* Equation k of a joint that has ends of its own, see joint_row. */
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
    double f = joint_reach(&work->model->joint[j->partner[1]]) * force[0].slope;
    return turn_partners(work, j, q, (double[2]){-j->def.ratio * f, f}, turn);
  }
  if (j->def.kind == ABD_JOINT_SUM)
    return count ? turn_partners(work, j, q, (double[2]){force[0].slope, j->def.ratio * force[0].slope}, turn) : 0;
  turn[0] = turn_of(j);
  for (; k < j->row_count; k++) turn_row(&turn[0], work, joint, k, q, force[k].slope);
  if (joint_acts_on_coordinate(j, t)) turn_coordinate(&turn[0], j, q, force[k++].slope);
  if (joint_limits_angle(j)) turn_angle(&turn[0], j, q, force[k].slope);
  return count > 0;
}
