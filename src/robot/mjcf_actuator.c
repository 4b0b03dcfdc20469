/* <tendon> and <actuator> of MJCF (mjcf.h). Tested in tests/test_robot.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "robot/mjcf.h"

/* ---- tendons ---- */

static bool read_terms(Mjcf *m, Xml *node, Tendon *t) {
  for (Xml *term = xml_child(node, "joint"); term; term = xml_next(term, "joint")) {
    if (!mjcf_find_joint(m, term, "joint", &t->joint[t->count]) || !xml_need(term, "coef", m->robot->error) ||
        !xml_number(term, "coef", &t->coefficient[t->count], m->robot->error))
      return false;
    if (t->coefficient[t->count] == 0) return xml_fail(term, m->robot->error, "coef: expected a number that is not 0");
    t->count++;
  }
  if (!t->count) return xml_fail(node, m->robot->error, "expected a <joint>");
  return t->count == 1 || t->joint[0] != t->joint[1] || xml_fail(node, m->robot->error, "expected different joints");
}

static bool read_tendon(Mjcf *m, Xml *node) {
  Robot *robot = m->robot;
  const char *name = xml_text(node, "name");
  char made[40];
  snprintf(made, sizeof made, "tendon %zu", robot->tendon_count + 1);
  Tendon *t = robot_add(robot, &robot->tendon, &robot->tendon_count, sizeof *t);
  size_t has_range, springs = 0;
  double spring[2] = {-1, -1};
  if (!t || !(t->name = robot_copy(robot, name ? name : made)) || !mjcf_check_class(m, node, "class")) return false;
  t->xml = node;
  bool ok = read_terms(m, node, t) && mjcf_numbers(m, node, NULL, "range", 2, 2, t->range, &has_range) &&
            mjcf_limited(m, node, NULL, "limited", has_range > 0, &t->limited) &&
            mjcf_number(m, node, NULL, "stiffness", &t->stiffness) &&
            mjcf_number(m, node, NULL, "damping", &t->damping) &&
            mjcf_number(m, node, NULL, "frictionloss", &t->friction) &&
            mjcf_numbers(m, node, NULL, "springlength", 1, 2, spring, &springs);
  t->rest = springs ? spring[0] : NAN;
  return ok;
}

static int find_tendon(const Robot *robot, const char *name) {
  for (size_t i = 0; i < robot->tendon_count; i++)
    if (strcmp(robot->tendon[i].name, name) == 0) return (int)i;
  return -1;
}

bool mjcf_read_tendons(Mjcf *m, Xml *list) {
  for (Xml *node = xml_child(list, "fixed"); node; node = xml_next(node, "fixed")) {
    int terms = 0;
    for (Xml *term = node->first; term; term = term->next) terms += xml_is(term, "joint");
    if (terms > 2) {
      robot_note(m->robot, "%.200s:%d: a fixed tendon of more than two joints is not supported", node->file,
                 node->line);
      xml_use_all(node);
    } else if (!read_tendon(m, node)) return false;
  }
  return true;
}

/* ---- actuators ---- */

static bool read_transmission(Mjcf *m, Xml *node, Actuator *a) {
  double gear[6] = {1};
  const char *tendon = xml_text(node, "tendon");
  a->joint = a->tendon = -1;
  if (!mjcf_numbers(m, node, NULL, "gear", 1, 6, gear, NULL)) return false;
  a->gear = gear[0];
  if (a->gear == 0) return xml_fail(node, m->robot->error, "gear: expected a number that is not 0");
  if (!tendon) return mjcf_find_joint(m, node, "joint", &a->joint);
  a->tendon = find_tendon(m->robot, tendon);
  return a->tendon >= 0 || xml_fail(node, m->robot->error, "tendon: no fixed tendon \"%.100s\"", tendon);
}

static bool read_servo(Mjcf *m, Xml *node, Actuator *a) {
  double kp = 1, kv = 0;
  if (!mjcf_number(m, node, NULL, "kp", &kp) || !mjcf_number(m, node, NULL, "kv", &kv) ||
      !mjcf_number(m, node, NULL, "dampratio", &a->damping_ratio))
    return false;
  if (!(kp > 0) || kv < 0 || a->damping_ratio < 0)
    return xml_fail(node, m->robot->error, "expected kp > 0, kv >= 0 and dampratio >= 0");
  a->gain = kp, a->bias[1] = -kp, a->bias[2] = -kv;
  return true;
}

static bool read_general(Mjcf *m, Xml *node, Actuator *a) {
  double gain[10] = {1}, bias[10] = {0};
  const char *type = mjcf_text(m, node, NULL, "biastype");
  if (!mjcf_numbers(m, node, NULL, "gainprm", 1, 10, gain, NULL) ||
      !mjcf_numbers(m, node, NULL, "biasprm", 1, 10, bias, NULL))
    return false;
  a->gain = gain[0];
  for (int k = 0; type && type[0] == 'a' && k < 3; k++) a->bias[k] = bias[k];
  return true;
}

static bool read_law(Mjcf *m, Xml *node, Actuator *a) {
  double kv = 1;
  if (xml_is(node, "position")) return read_servo(m, node, a);
  if (xml_is(node, "general")) return read_general(m, node, a);
  a->gain = 1;
  if (xml_is(node, "motor")) return true;
  if (!mjcf_number(m, node, NULL, "kv", &kv)) return false;
  if (!(kv > 0)) return xml_fail(node, m->robot->error, "kv: expected a number > 0, got %g", kv);
  a->gain = kv, a->bias[2] = -kv;
  return true;
}

static bool read_force_range(Mjcf *m, Xml *node, Actuator *a) {
  double force[2] = {0};
  size_t given;
  bool limited;
  a->most = INFINITY;
  if (!mjcf_numbers(m, node, NULL, "forcerange", 2, 2, force, &given) ||
      !mjcf_limited(m, node, NULL, "forcelimited", given > 0, &limited))
    return false;
  if (!limited) return true;
  if (!(force[0] < force[1]))
    return xml_fail(node, m->robot->error, "forcerange: expected the lower force below the upper");
  if (force[0] != -force[1])
    robot_note(m->robot, "%.200s:%d: the forces of a drive have one limit for both directions: the larger one is used",
               node->file, node->line);
  a->most = fmax(fabs(force[0]), fabs(force[1]));
  return true;
}

/* inheritrange: the middle of the joint's range and this factor times its extent. */
static bool inherit_range(Mjcf *m, Xml *node, const Actuator *a, double range[2], size_t *given) {
  double factor = 0;
  if (!mjcf_number(m, node, NULL, "inheritrange", &factor)) return false;
  if (!(factor > 0) || *given || a->joint < 0) return true;
  const double *of = m->robot->joint[a->joint].range;
  for (int k = 0; k < 2; k++) range[k] = (of[0] + of[1]) / 2 + factor * (of[k] - of[1 - k]) / 2;
  *given = 2;
  return true;
}

/* Motors without a force range push with what the controls allow; servos that hold joints need it. */
static bool read_control_range(Mjcf *m, Xml *node, Actuator *a) {
  double range[2] = {0};
  size_t given;
  bool limited;
  a->control_range[0] = -INFINITY, a->control_range[1] = INFINITY;
  if (!mjcf_numbers(m, node, NULL, "ctrlrange", 2, 2, range, &given) || !inherit_range(m, node, a, range, &given) ||
      !mjcf_limited(m, node, NULL, "ctrllimited", given > 0, &limited))
    return false;
  if (limited && !(range[0] < range[1]))
    return xml_fail(node, m->robot->error, "ctrlrange: expected the lower control below the upper");
  if (limited) memcpy(a->control_range, range, sizeof range);
  bool motor = a->bias[1] == 0 && a->joint >= 0;
  if (motor && given) m->robot->joint[a->joint].effort = fabs(a->gear * a->gain) * fmax(fabs(range[0]), fabs(range[1]));
  return true;
}

static bool is_word(const char *text, const char *a, const char *b) {
  return !text || strcmp(text, a) == 0 || strcmp(text, b) == 0;
}

static bool can_act(Mjcf *m, Xml *node) {
  const char *tendon = xml_text(node, "tendon");
  bool general = xml_is(node, "general");
  if (general && !(is_word(mjcf_text(m, node, NULL, "gaintype"), "fixed", "fixed") &&
                   is_word(mjcf_text(m, node, NULL, "biastype"), "none", "affine") &&
                   is_word(mjcf_text(m, node, NULL, "dyntype"), "none", "none")))
    return false;
  if (tendon) return find_tendon(m->robot, tendon) >= 0;
  return xml_text(node, "joint") != NULL;
}

bool mjcf_read_actuators(Mjcf *m, Xml *list) {
  for (Xml *node = list->first; node; node = node->next) {
    int place = m->actuators++;
    static const char *const known[] = {"motor", "position", "velocity", "general"};
    bool is_known = false;
    for (int k = 0; k < 4; k++) is_known |= xml_is(node, known[k]);
    if (!is_known) continue;
    node->used = true;
    if (!can_act(m, node)) {
      robot_note(m->robot,
                 "%.200s:%d: this actuator is not supported: only those of joints and of fixed tendons of two joints, "
                 "with gaintype fixed, biastype none or affine, dyntype none",
                 node->file, node->line);
      xml_use_all(node);
      continue;
    }
    Actuator *a = robot_add(m->robot, &m->robot->actuator, &m->robot->actuator_count, sizeof *a);
    const char *name = xml_text(node, "name");
    if (!a || (name && !(a->name = robot_copy(m->robot, name)))) return false;
    a->xml = node;
    a->control = NAN;
    a->place = place;
    if (!mjcf_check_class(m, node, "class") || !read_transmission(m, node, a) || !read_law(m, node, a) ||
        !read_force_range(m, node, a) || !read_control_range(m, node, a))
      return false;
  }
  return true;
}
