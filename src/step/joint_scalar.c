/* Scalars of joints with their gradients: angles, twists, travels, distances, coordinates and equations. Tested in
 * tests/test_joint.c. */
#include "step/joint_part.h"

#include "kernel/constant.h"
#include "model/joint_kind.h"

Affine joint_pose(const Affine *q, int body) { return body < 0 ? affine(vec3(0, 0, 0), mat3_identity()) : q[body]; }

Jet joint_jet(const Joint *j, Measure m, double value) {
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
  return joint_jet(j, m, m.value);
}

/* ---- twist of an `angle` joint ---- */

Quat joint_twist(const Joint *j, const Affine *q) {
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
  return joint_jet(j, m, m.value);
}

bool joint_has_twist(const Joint *j) { return j->def.kind == ABD_JOINT_ANGLE && j->row_count > 0; }

void joint_refer(Work *work, int joint, const Affine *q) {
  const Joint *j = &work->model->joint[joint];
  work->joint[joint].angle = work->state->joint[joint].angle;
  if (joint_has_twist(j)) work->joint[joint].twist = joint_twist(j, q);
}

void joint_follow(Work *work, int joint, const Affine *q) {
  const Joint *j = &work->model->joint[joint];
  JointTerm *t = &work->joint[joint];
  if (joint_has_twist(j)) t->twist = nearer(joint_twist(j, q), t->twist);
}

/* The travel along column k of b's frame. */
static Jet travel(const Joint *j, const Affine *q, int k) {
  Affine a = joint_pose(q, j->end[0].body), b = joint_pose(q, j->end[1].body);
  Measure m = measure_travel(&a, &b, j->end[0].anchor, j->end[1].anchor, j->end[1].frame.c[k]);
  return joint_jet(j, m, m.value);
}

double joint_travel(const Model *model, int joint, const Affine *q) { return travel(&model->joint[joint], q, 2).value; }

Jet joint_distance(const Joint *j, const Affine *q) {
  Affine a = joint_pose(q, j->end[0].body), b = joint_pose(q, j->end[1].body);
  Measure m = measure_distance(&a, &b, j->end[0].anchor, j->end[1].anchor);
  return joint_jet(j, m, m.value);
}

double joint_coordinate_between(const Joint *j, const Affine *a, const Affine *b, double near) {
  const JointEnd *x = &j->end[0], *y = &j->end[1];
  if (j->coordinate == ABD_COORDINATE_ANGLE) return measure_angle(a, b, &x->frame, &y->frame, near).value;
  if (j->coordinate == ABD_COORDINATE_TRAVEL) return measure_travel(a, b, x->anchor, y->anchor, y->frame.c[2]).value;
  return measure_distance(a, b, x->anchor, y->anchor).value;
}

Jet joint_coordinate(const Model *model, int joint, const Affine *q, double near) {
  const Joint *j = &model->joint[joint];
  if (j->coordinate == ABD_COORDINATE_ANGLE) return joint_angle(model, joint, q, near);
  return j->coordinate == ABD_COORDINATE_TRAVEL ? travel(j, q, 2) : joint_distance(j, q);
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

/* The joints whose angles decide the equations and forces of a joint; returns how many. */
static int find_angles(const Work *work, int joint, int part[2]) {
  const Model *m = work->model;
  const Joint *j = &m->joint[joint];
  int count = 0;
  bool minds = joint_minds_position(j, &work->state->joint[joint]);
  bool turns = j->has_angle && j->coordinate == ABD_COORDINATE_ANGLE;
  if (j->def.kind == ABD_JOINT_SCREW || joint_limits_angle(j) || (turns && minds)) part[count++] = joint;
  for (int k = 0; k < 2 && count < 2 && (j->row_count > 0 || minds); k++)
    if (j->partner[k] >= 0 && m->joint[j->partner[k]].coordinate == ABD_COORDINATE_ANGLE) part[count++] = j->partner[k];
  return count;
}

static double turned(const Work *work, int joint) {
  return fabs(work->joint[joint].angle - work->state->joint[joint].angle);
}

double joint_excess(const Work *work, int joint, bool after, int *body) {
  const Model *m = work->model;
  int part[2], count = find_angles(work, joint, part);
  double most_turn = 0;
  for (int k = 0; k < count; k++) {
    double turn = after ? turned(work, part[k]) : relative_turn(work, &m->joint[part[k]]);
    if (turn > most_turn) most_turn = turn, *body = joint_body(m, part[k]);
  }
  return most_turn / SUBSTEP_ANGLE;
}

double joint_reach(const Joint *j) { return j->coordinate == ABD_COORDINATE_ANGLE ? j->arm : 1; }

static Jet gear_row(const Work *work, const Joint *j, const Affine *q) {
  const Model *m = work->model;
  int a = j->partner[0], b = j->partner[1];
  Jet first = joint_coordinate(m, a, q, work->joint[a].angle), second = joint_coordinate(m, b, q, work->joint[b].angle);
  first.value -= m->joint[a].start;
  second.value -= m->joint[b].start;
  Jet row = jet_add(second, -j->def.ratio, &first);
  jet_scale(&row, joint_reach(&m->joint[b]));
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
    case ABD_JOINT_DISTANCE: row = joint_distance(j, q), row.value -= j->length; return row;
    case ABD_JOINT_UNIVERSAL:
      a = joint_pose(q, j->end[0].body), b = joint_pose(q, j->end[1].body);
      product = measure_product(&a, &b, j->end[0].frame.c[2], j->end[1].frame.c[2]);
      row = joint_jet(j, product, product.value);
      jet_scale(&row, j->arm);
      return row;
    case ABD_JOINT_SCREW:
      angle = joint_angle(m, joint, q, work->joint[joint].angle);
      return jet_add(travel(j, q, 2), -j->def.pitch / turn, &angle);
    default: row = travel(j, q, 2), row.value = NAN; return row; /* a kind without a case ends the step as not finite */
  }
}

Jet joint_row(const Work *work, int joint, int k, const Affine *q) {
  const Joint *j = &work->model->joint[joint];
  const JointKind *kind = joint_kind(j->def.kind);
  if (k >= j->row_count - kind->rows) return further_row(work, joint, q);
  return travel(j, q, kind->keeps & KEEPS_LINE ? k : 2);
}

int joint_open_rows(const Work *work, int joint, const Affine *q, Jet row[JOINT_ROWS]) {
  int count = work->model->joint[joint].row_count;
  for (int k = 0; k < count; k++) row[k] = joint_row(work, joint, k, q);
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

double joint_gap(const Work *work, int joint, const Affine *q) {
  double worst = 0;
  for (int k = 0; k < work->model->joint[joint].row_count; k++)
    worst = most(worst, fabs(joint_row(work, joint, k, q).value));
  return worst;
}

double joint_rate(const Jet *jet, const Affine *rate) {
  double sum = 0;
  for (int i = 0; i < jet->count; i++) sum += affine_dot(&jet->gradient[i], &rate[jet->body[i]]);
  return sum;
}
