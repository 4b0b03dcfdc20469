/* The start of a robot: poses of links at given joint positions; couplings closed by Gauss-Newton steps of least norm;
 * room between every joint and its limits. See tree.h. Tested in tests/test_robot.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "robot/tree.h"

/* Room between a joint and its limit at the start: a part of the range, at most [rad or m]. */
static const double room_share = 0.01, room_most = 0.01;

/* ---- poses ---- */

/* How the joint moves its link, in the link's frame. */
static Pose motion(const RobotJoint *j, bool reference) {
  Pose m = pose_identity();
  double q = reference ? 0 : j->q - j->reference;
  if (j->kind == JOINT_SLIDE)
    for (int k = 0; k < 3; k++) m.p[k] = q * j->axis[k];
  if (j->kind == JOINT_HINGE) mat_from_axis(j->axis, q, m.r);
  if (j->kind == JOINT_BALL && !reference) memcpy(m.r, j->turn, sizeof m.r);
  if (j->kind != JOINT_HINGE && j->kind != JOINT_BALL) return m;
  double turned[3];
  mat_times(m.r, j->point, turned);
  for (int k = 0; k < 3; k++) m.p[k] = j->point[k] - turned[k];
  return m;
}

Pose start_pose(const Robot *robot, int link, bool reference) {
  Pose pose = pose_identity(), world = pose_identity();
  for (; link >= 0; link = robot->link[link].parent) {
    const Link *l = &robot->link[link];
    const RobotJoint *j = l->joint >= 0 ? &robot->joint[l->joint] : NULL;
    if (j) {
      Pose moved = motion(j, reference);
      pose = pose_times(&moved, &pose);
    }
    pose = pose_times(j && j->has_base && !reference ? &j->base : &l->at, &pose);
    if (j && j->has_base && !reference) break; /* a free link's pose is that in the world */
  }
  memcpy(world.p, robot->options->position, sizeof world.p);
  mat_from_quat(robot->options->rotation, world.r);
  return pose_times(&world, &pose);
}

/* ---- closing couplings ---- */

enum { ROWS_MOST = 6, FREEDOMS_MOST = 256, SYSTEM_MOST = 400 };

/* The open equations of a coupling at the present q. Returns how many it has. */
static int open_rows(const Robot *robot, const Coupling *c, double row[ROWS_MOST]) {
  if (c->kind == COUPLE_JOINTS) {
    const RobotJoint *a = &robot->joint[c->joint[0]], *b = &robot->joint[c->joint[1]];
    row[0] = a->q - c->offset - c->ratio * b->q;
    return 1;
  }
  Pose a = start_pose(robot, c->link[0], false), b = start_pose(robot, c->link[1], false);
  double x[3], y[3];
  pose_point(&a, c->anchor[0], x);
  pose_point(&b, c->anchor[1], y);
  for (int k = 0; k < 3; k++) row[k] = x[k] - y[k];
  if (c->kind == COUPLE_CONNECT) return 3;
  Pose wanted = pose_times(&a, &c->pose);
  for (int k = 0; k < 3; k++) row[3 + k] = 0;
  for (int k = 0; k < 3; k++) { /* half the sum of the cross products of axes is the small rotation between them */
    double turn[3];
    vec_cross(wanted.r + 3 * k, b.r + 3 * k, turn);
    for (int i = 0; i < 3; i++) row[3 + i] -= turn[i] / 2;
  }
  return 6;
}

typedef struct Freedom {
  int joint, axis; /* axis: of a ball, else 0 */
} Freedom;

typedef struct System {
  Freedom freedom[FREEDOMS_MOST];
  int freedoms, rows;
  double *jacobian, *open, *matrix; /* [rows * freedoms], [rows], [rows * rows] */
} System;

static void move(Robot *robot, Freedom f, double d) {
  RobotJoint *j = &robot->joint[f.joint];
  if (j->kind != JOINT_BALL) {
    j->q += d;
    return;
  }
  double axis[3] = {f.axis == 0, f.axis == 1, f.axis == 2}, r[9];
  mat_from_axis(axis, d, r);
  mat_product(j->turn, r, j->turn);
}

static void add_freedom(System *s, int joint, int axis) {
  for (int k = 0; k < s->freedoms; k++)
    if (s->freedom[k].joint == joint && s->freedom[k].axis == axis) return;
  if (s->freedoms < FREEDOMS_MOST) s->freedom[s->freedoms++] = (Freedom){joint, axis};
}

/* The joints that move the link against the world. */
static void add_chain(const Robot *robot, System *s, int link) {
  for (; link >= 0; link = robot->link[link].parent) {
    int joint = robot->link[link].joint;
    RobotJointKind kind = joint < 0 ? JOINT_FIXED : robot->joint[joint].kind;
    if (kind == JOINT_FREE) return;
    for (int k = 0; k < (kind == JOINT_BALL ? 3 : kind == JOINT_HINGE || kind == JOINT_SLIDE); k++)
      add_freedom(s, joint, k);
  }
}

static bool set_up(const Robot *robot, System *s) {
  double row[ROWS_MOST];
  for (size_t i = 0; i < robot->coupling_count; i++) {
    const Coupling *c = &robot->coupling[i];
    s->rows += open_rows(robot, c, row);
    for (int e = 0; e < 2; e++) {
      if (c->kind == COUPLE_JOINTS) add_freedom(s, c->joint[e], 0);
      else add_chain(robot, s, c->link[e]);
    }
  }
  if (s->rows > SYSTEM_MOST || s->freedoms == FREEDOMS_MOST)
    return robot_fail(robot->error, "%.500s: more equality constraints than this reader closes", robot->path);
  s->jacobian = calloc((size_t)s->rows * (size_t)s->freedoms + 1, sizeof(double));
  s->open = calloc((size_t)s->rows + 1, sizeof(double));
  s->matrix = calloc((size_t)s->rows * (size_t)s->rows + 1, sizeof(double));
  return (s->jacobian && s->open && s->matrix) || robot_fail(robot->error, "out of memory while reading the robot");
}

static void all_rows(const Robot *robot, double *open) {
  for (size_t i = 0; i < robot->coupling_count; i++) open += open_rows(robot, &robot->coupling[i], open);
}

static double largest(const double *x, int count) {
  double most = 0;
  for (int i = 0; i < count; i++) most = fmax(most, fabs(x[i]));
  return most;
}

/* Central differences; each column moves one freedom. */
static void differentiate(Robot *robot, System *s, double *plus, double *minus) {
  const double d = 1e-6;
  for (int k = 0; k < s->freedoms; k++) {
    move(robot, s->freedom[k], d);
    all_rows(robot, plus);
    move(robot, s->freedom[k], -2 * d);
    all_rows(robot, minus);
    move(robot, s->freedom[k], d);
    for (int r = 0; r < s->rows; r++) s->jacobian[r * s->freedoms + k] = (plus[r] - minus[r]) / (2 * d);
  }
}

/* Solves (J J^T + small) y = open by Cholesky in place; y replaces open. Redundant rows make the matrix singular. */
static void solve(System *s) {
  int n = s->rows, m = s->freedoms;
  double *a = s->matrix, *y = s->open, trace = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) {
      double sum = 0;
      for (int k = 0; k < m; k++) sum += s->jacobian[i * m + k] * s->jacobian[j * m + k];
      a[i * n + j] = sum;
      if (i == j) trace += sum;
    }
  double small = 1e-10 * trace / n + 1e-300;
  for (int i = 0; i < n; i++) {
    for (int j = 0; j <= i; j++) {
      double sum = a[i * n + j] + (i == j ? small : 0);
      for (int k = 0; k < j; k++) sum -= a[i * n + k] * a[j * n + k];
      a[i * n + j] = i == j ? sqrt(fmax(sum, small * 1e-6)) : sum / a[j * n + j];
    }
    for (int k = 0; k < i; k++) y[i] -= a[i * n + k] * y[k];
    y[i] /= a[i * n + i];
  }
  for (int i = n - 1; i >= 0; i--) {
    for (int k = i + 1; k < n; k++) y[i] -= a[k * n + i] * y[k];
    y[i] /= a[i * n + i];
  }
}

static void step(Robot *robot, System *s) {
  double move_by[FREEDOMS_MOST], longest = 0;
  solve(s);
  for (int k = 0; k < s->freedoms; k++) {
    move_by[k] = 0;
    for (int r = 0; r < s->rows; r++) move_by[k] -= s->jacobian[r * s->freedoms + k] * s->open[r];
    longest = fmax(longest, fabs(move_by[k]));
  }
  double f = longest > 0.3 ? 0.3 / longest : 1; /* the equations are far from linear beyond */
  for (int k = 0; k < s->freedoms; k++) move(robot, s->freedom[k], f * move_by[k]);
}

/* The coupling that is farthest from closed. */
static const Coupling *worst_coupling(const Robot *robot) {
  const Coupling *worst = &robot->coupling[0];
  double most = -1, row[ROWS_MOST];
  for (size_t i = 0; i < robot->coupling_count; i++) {
    double open = largest(row, open_rows(robot, &robot->coupling[i], row));
    if (open > most) most = open, worst = &robot->coupling[i];
  }
  return worst;
}

/* Joints that follow others are set by them; chains of such joints take several rounds. */
static void follow(Robot *robot) {
  bool moved = true;
  for (size_t round = 0; moved && round < robot->coupling_count; round++) {
    moved = false;
    for (size_t i = 0; i < robot->coupling_count; i++) {
      const Coupling *c = &robot->coupling[i];
      if (c->kind != COUPLE_JOINTS) continue;
      double q = c->offset + c->ratio * robot->joint[c->joint[1]].q;
      moved |= robot->joint[c->joint[0]].q != q;
      robot->joint[c->joint[0]].q = q;
    }
  }
}

static bool close_couplings(Robot *robot) {
  const double closed = 1e-11, enough = 1e-8; /* [m, rad] */
  System s = {0};
  bool ok = !robot->coupling_count || set_up(robot, &s);
  double *work = ok ? calloc(2 * (size_t)s.rows + 1, sizeof *work) : NULL, open = 0;
  if (ok && !work) ok = robot_fail(robot->error, "out of memory while reading the robot");
  for (int i = 0; ok && i < 60; i++) {
    all_rows(robot, s.open);
    open = largest(s.open, s.rows);
    if (open < closed || !isfinite(open)) break;
    differentiate(robot, &s, work, work + s.rows);
    step(robot, &s);
  }
  if (ok && !(open < enough))
    ok = xml_fail(worst_coupling(robot)->xml, robot->error,
                  "the constraint cannot be met at the start: %g m or rad stay open", open);
  free(work), free(s.jacobian), free(s.open), free(s.matrix);
  return ok;
}

/* ---- limits ---- */

static double room_of(const RobotJoint *j) { return fmin(room_most, room_share * (j->range[1] - j->range[0])); }

static bool has_limits(const RobotJoint *j) { return j->limited && (j->kind == JOINT_HINGE || j->kind == JOINT_SLIDE); }

/* Joints that start far outside are moved inside. */
static void enter_limits(Robot *robot) {
  for (size_t i = 0; i < robot->joint_count; i++) {
    RobotJoint *j = &robot->joint[i];
    if (!has_limits(j)) continue;
    double room = room_of(j), before = j->q;
    if (j->q < j->range[0] - room) j->q = j->range[0] + room;
    if (j->q > j->range[1] + room) j->q = j->range[1] - room;
    if (j->q != before)
      robot_note(robot, "joint \"%.80s\" starts at %.4g: its limits %.4g and %.4g exclude %.4g", j->name, j->q,
                 j->range[0], j->range[1], before);
  }
}

/* Joints that start at a limit get room: the limit moves, because couplings may determine the start. */
static void widen_limits(Robot *robot) {
  char text[500] = "";
  for (size_t i = 0; i < robot->joint_count; i++) {
    RobotJoint *j = &robot->joint[i];
    if (!has_limits(j)) continue;
    double room = room_of(j), low = fmin(j->range[0], j->q - room), high = fmax(j->range[1], j->q + room);
    if (low == j->range[0] && high == j->range[1]) continue;
    size_t used = strlen(text);
    if (used < sizeof text - 130)
      snprintf(text + used, sizeof text - used, "%s%.60s (%.4g to %.4g)", used ? ", " : "", j->name, low, high);
    j->range[0] = low, j->range[1] = high;
  }
  if (text[0]) robot_note(robot, "limits that leave no room at the start are widened: %s", text);
}

bool start_find(Robot *robot) {
  enter_limits(robot);
  follow(robot);
  if (!close_couplings(robot)) return false;
  widen_limits(robot);
  for (size_t i = 0; i < robot->link_count; i++) {
    robot->link[i].start = start_pose(robot, (int)i, false);
    robot->link[i].reference = start_pose(robot, (int)i, true);
  }
  return true;
}

/* ---- inertia of a joint ---- */

static bool is_below(const Robot *robot, int link, int top) {
  for (; link >= 0; link = robot->link[link].parent)
    if (link == top) return true;
  return false;
}

/* About the line through point along the unit axis, or along it. */
static double link_inertia(const Link *l, const double point[3], const double axis[3], bool slides) {
  double center[3], d[3], own[3], tensor[6];
  if (slides) return l->mass;
  pose_point(&l->reference, l->center, center);
  for (int k = 0; k < 3; k++) d[k] = center[k] - point[k];
  tensor_turn(l->reference.r, l->inertia, tensor);
  double row[3][3] = {
      {tensor[0], tensor[3], tensor[4]}, {tensor[3], tensor[1], tensor[5]}, {tensor[4], tensor[5], tensor[2]}};
  for (int k = 0; k < 3; k++) own[k] = vec_dot(row[k], axis);
  double along = vec_dot(d, axis);
  return vec_dot(own, axis) + l->mass * (vec_dot(d, d) - along * along);
}

double start_inertia(const Robot *robot, int joint) {
  const RobotJoint *j = &robot->joint[joint];
  const Pose *at = &robot->link[j->link].reference;
  double point[3], axis[3], sum = j->armature;
  pose_point(at, j->point, point);
  mat_times(at->r, j->axis, axis);
  for (size_t i = 0; i < robot->link_count; i++)
    if (is_below(robot, (int)i, j->link)) sum += link_inertia(&robot->link[i], point, axis, j->kind == JOINT_SLIDE);
  return sum;
}
