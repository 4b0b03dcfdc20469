/* Drives of a robot's scene: actuators, tendons, servos that hold joints (emit.h). Tested in tests/test_robot.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "robot/emit.h"

static double tendon_length(const Robot *robot, const Tendon *t) {
  double sum = 0;
  for (int k = 0; k < t->count; k++) sum += t->coefficient[k] * robot->joint[t->joint[k]].q;
  return sum;
}

/* The control within its range. NAN stays for a servo that is at rest at the start with a control in the range. */
static double clamped_control(Emit *e, const Actuator *a, double start) {
  bool servo = a->bias[1] < 0;
  double at_rest = servo && a->gain != 0 ? (-a->bias[1] * start - a->bias[0]) / a->gain : 0;
  double control = isnan(a->control) ? at_rest : a->control;
  double clamped = fmin(a->control_range[1], fmax(a->control_range[0], control));
  if (clamped == control) return a->control;
  robot_note(e->robot, "%.200s:%d: the control %g is outside of ctrlrange; %g is used", a->xml->file, a->xml->line,
             control, clamped);
  return clamped;
}

/* A drive on a joint or tendon whose coordinate is s = q - start, or the sum that the scene has for a tendon. `factor`:
 * length of the actuator per s; `start`: length at s = 0. */
static void put_drive(Emit *e, json_t *joint, const Actuator *a, double factor, double start) {
  json_t *drive = json_pack("{s:o}", "joint", joint);
  double control = clamped_control(e, a, start), force = a->gain * (isnan(control) ? 0 : control) + a->bias[0];
  if (a->bias[1] < 0) {
    double length = isnan(control) ? start : force / -a->bias[1];
    emit_put(drive, "type", json_string("position"));
    emit_put_number(drive, "value", (length - start) / factor);
    emit_put_number(drive, "stiffness", -a->bias[1] * factor * factor);
    if (a->bias[2] < 0) emit_put_number(drive, "damping", -a->bias[2] * factor * factor);
    if (isfinite(a->most)) emit_put_number(drive, "max", a->most * fabs(factor));
  } else {
    emit_put(drive, "type", json_string("torque"));
    emit_put_number(drive, "value", fmin(a->most, fmax(-a->most, force)) * factor);
  }
  json_array_append_new(e->drives, drive);
}

/* Velocity servos and the damping of others without a stiffness act as dampers of the joint. */
void emit_add_damping(Emit *e) {
  for (size_t i = 0; i < e->robot->actuator_count; i++) {
    const Actuator *a = &e->robot->actuator[i];
    if (a->bias[1] < 0 || !(a->bias[2] < 0)) continue;
    if (a->joint >= 0) e->damping[a->joint] -= a->bias[2] * a->gear * a->gear;
    else e->robot->tendon[a->tendon].damping -= a->bias[2] * a->gear * a->gear;
  }
}

/* A fixed tendon of two joints is a sum; its length is that at the start plus its first coefficient times the sum. */
static void put_tendon(Emit *e, const Tendon *t) {
  json_t *pair = json_array();
  double f = t->coefficient[0], start = tendon_length(e->robot, t);
  for (int k = 0; k < 2; k++) json_array_append_new(pair, emit_name(e->robot, e->robot->joint[t->joint[k]].name));
  json_t *sum = json_pack("{s:o, s:s, s:o, s:f}", "name", emit_name(e->robot, t->name), "type", "sum", "joints", pair,
                          "ratio", t->coefficient[1] / f);
  double limit[2] = {(t->range[f > 0 ? 0 : 1] - start) / f, (t->range[f > 0 ? 1 : 0] - start) / f};
  double room = fmin(0.01, 0.01 * (limit[1] - limit[0]));
  limit[0] = fmin(limit[0], -room), limit[1] = fmax(limit[1], room);
  if (t->limited) emit_put(sum, "limits", emit_numbers(limit, 2));
  if (t->stiffness > 0) {
    emit_put_number(sum, "stiffness", t->stiffness * f * f);
    emit_put_number(sum, "rest", isnan(t->rest) || t->rest < 0 ? 0 : (t->rest - start) / f);
  }
  if (t->damping > 0) emit_put_number(sum, "damping", t->damping * f * f);
  if (t->friction > 0) emit_put_number(sum, "friction", t->friction * fabs(f));
  json_array_append_new(e->joints, sum);
}

static void put_tendon_drive(Emit *e, const Actuator *a) {
  const Tendon *t = &e->robot->tendon[a->tendon];
  double start = a->gear * tendon_length(e->robot, t), factor = a->gear * t->coefficient[0];
  const char *name = t->count == 2 ? t->name : e->robot->joint[t->joint[0]].name;
  char *driven = t->count == 2 ? &e->pulled[a->tendon] : &e->driven[t->joint[0]];
  if (*driven)
    return robot_note(e->robot, "a joint has one drive: further actuators of \"%.80s\" have no effect", name);
  *driven = 1;
  put_drive(e, emit_name(e->robot, name), a, factor, start);
}

static void put_actuator(Emit *e, const Actuator *a) {
  if (a->tendon >= 0) return put_tendon_drive(e, a);
  const RobotJoint *j = &e->robot->joint[a->joint];
  if (e->robot->options->hold && !(a->bias[1] < 0)) return; /* the servo that holds the joint replaces it */
  if (e->driven[a->joint])
    return robot_note(e->robot, "a joint has one drive: further actuators of \"%.80s\" have no effect", j->name);
  e->driven[a->joint] = 1;
  put_drive(e, emit_name(e->robot, j->name), a, a->gear, a->gear * j->q);
}

/* Whether the mass of a link below the joint is known only to the scene. */
static bool weighs_meshes(const Robot *robot, int joint) {
  for (size_t i = 0; i < robot->link_count; i++)
    for (int at = robot->link[i].density > 0 ? (int)i : -1; at >= 0; at = robot->link[at].parent)
      if (at == robot->joint[joint].link) return true;
  return false;
}

/* A critically damped servo at this frequency [rad/s] holds the start. */
static void put_holds(Emit *e) {
  const double frequency = 2 * 3.141592653589793 * 10;
  for (int i = 0; e->robot->options->hold && i < (int)e->robot->joint_count; i++) {
    const RobotJoint *j = &e->robot->joint[i];
    double inertia = start_inertia(e->robot, i), effort = j->effort;
    if (e->driven[i] || (j->kind != JOINT_HINGE && j->kind != JOINT_SLIDE) || !(inertia > 0)) continue;
    if (weighs_meshes(e->robot, i)) {
      robot_note(e->robot, "joint \"%.80s\" is not held: the mass that it moves comes from meshes", j->name);
      continue;
    }
    json_t *drive =
        json_pack("{s:o, s:s, s:f, s:f, s:f}", "joint", emit_name(e->robot, j->name), "type", "position", "value", 0.0,
                  "stiffness", inertia * frequency * frequency, "damping", 2 * inertia * frequency);
    if (effort > 0) emit_put_number(drive, "max", effort);
    json_array_append_new(e->drives, drive);
  }
}

void emit_tendons(Emit *e) {
  for (size_t i = 0; i < e->robot->tendon_count; i++)
    if (e->robot->tendon[i].count == 2) put_tendon(e, &e->robot->tendon[i]);
}

void emit_drives(Emit *e) {
  for (size_t i = 0; i < e->robot->actuator_count; i++) put_actuator(e, &e->robot->actuator[i]);
  put_holds(e);
}
