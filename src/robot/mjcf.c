/* MJCF: <mujoco> with its sections; constraints, tendons, actuators, keyframes (mjcf.h, tree.h). Tested in
 * tests/test_robot.c. */
#include "robot/mjcf.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- includes ---- */

enum { INCLUDES_MOST = 100 };

static Xml *load_include(Robot *robot, Xml *node) {
  const char *file = xml_need(node, "file", robot->error);
  char path[PATH_MAX];
  RobotError inner = {""};
  if (!file) return NULL;
  int n = file[0] == '/' ? snprintf(path, sizeof path, "%s", file)
                         : snprintf(path, sizeof path, "%s/%s", robot->folder, file);
  Xml *tree = n > 0 && n < PATH_MAX ? xml_load(path, &inner) : NULL;
  if (!tree) xml_fail(node, robot->error, "%.500s", inner.text[0] ? inner.text : "the file's name is too long");
  return tree;
}

/* Replaces every <include> by the children of the file's top element. */
static bool expand(Robot *robot, Xml *node, int *count) {
  for (Xml *child = node->first, *next; child; child = next) {
    next = child->next;
    if (child->used) continue; /* replaced already */
    if (!xml_is(child, "include")) {
      if (!expand(robot, child, count)) return false;
      continue;
    }
    if (++*count > INCLUDES_MOST)
      return xml_fail(child, robot->error, "more than %d files are included: does one include itself?", INCLUDES_MOST);
    Xml *tree = load_include(robot, child);
    if (!tree) return false;
    Xml *before = node->first == child ? NULL : node->first;
    while (before && before->next != child) before = before->next;
    xml_splice(child, tree);
    next = before ? before->next : node->first;
  }
  return true;
}

/* ---- settings ---- */

static bool read_compiler(Mjcf *m, Xml *node) {
  const char *angle = xml_text(node, "angle"), *sequence = xml_text(node, "eulerseq"), *from = NULL;
  const char *folder = xml_text(node, "meshdir") ? xml_text(node, "meshdir") : xml_text(node, "assetdir");
  if (angle && strcmp(angle, "radian") != 0 && strcmp(angle, "degree") != 0)
    return xml_fail(node, m->robot->error, "angle: expected radian or degree, got \"%.40s\"", angle);
  if (angle) m->angle = angle[0] == 'r' ? 1 : 0.017453292519943295769;
  if (sequence && (strlen(sequence) != 3 || strspn(sequence, "xyzXYZ") != 3))
    return xml_fail(node, m->robot->error, "eulerseq: expected three of xyzXYZ, got \"%.40s\"", sequence);
  if (sequence) memcpy(m->sequence, sequence, 4);
  if ((from = xml_text(node, "inertiafromgeom")) != NULL)
    m->from_geoms = strcmp(from, "true") == 0, m->never_from_geoms = strcmp(from, "false") == 0;
  xml_use(node, "texturedir");
  if (folder) {
    char path[PATH_MAX];
    int n = folder[0] == '/' ? snprintf(path, sizeof path, "%s", folder)
                             : snprintf(path, sizeof path, "%s/%s", m->robot->folder, folder);
    if (n < 0 || n >= PATH_MAX) return xml_fail(node, m->robot->error, "meshdir: the path is too long");
    free(m->mesh_folder);
    if (!(m->mesh_folder = robot_copy(m->robot, path))) return false;
  }
  return xml_bool(node, "autolimits", &m->autolimits, m->robot->error);
}

static bool read_settings(Mjcf *m) {
  Robot *robot = m->robot;
  for (Xml *node = xml_child(m->top, "compiler"); node; node = xml_next(node, "compiler"))
    if (!read_compiler(m, node)) return false;
  robot->dt = 0.002; /* MuJoCo's default */
  robot->gravity[2] = -9.81;
  robot->has_gravity = true;
  for (Xml *node = xml_child(m->top, "option"); node; node = xml_next(node, "option")) {
    if (!xml_number(node, "timestep", &robot->dt, robot->error) ||
        !xml_numbers(node, "gravity", 3, 3, robot->gravity, NULL, robot->error))
      return false;
    if (!(robot->dt > 0)) return xml_fail(node, robot->error, "timestep: expected a number > 0, got %g", robot->dt);
  }
  return true;
}

/* ---- constraints ---- */

static bool find_joint(Mjcf *m, Xml *node, const char *attribute, int *joint) {
  const char *name = xml_need(node, attribute, m->robot->error);
  if (!name) return false;
  *joint = robot_find_joint(m->robot, name);
  RobotJointKind kind = *joint < 0 ? JOINT_FIXED : m->robot->joint[*joint].kind;
  return kind == JOINT_HINGE || kind == JOINT_SLIDE ||
         xml_fail(node, m->robot->error, "%s: no hinge or slide joint \"%.100s\"", attribute, name);
}

static bool read_joint_equality(Mjcf *m, Xml *node, Coupling *c) {
  double poly[5] = {0, 1, 0, 0, 0};
  const Robot *robot = m->robot;
  if (!find_joint(m, node, "joint1", &c->joint[0]) || !find_joint(m, node, "joint2", &c->joint[1]) ||
      !mjcf_numbers(m, node, NULL, "polycoef", 1, 5, poly, NULL))
    return false;
  if (c->joint[0] == c->joint[1]) return xml_fail(node, m->robot->error, "expected two different joints");
  c->kind = COUPLE_JOINTS;
  c->ratio = poly[1];
  c->offset = robot->joint[c->joint[0]].reference + poly[0] - poly[1] * robot->joint[c->joint[1]].reference;
  return true;
}

static bool find_site(Mjcf *m, Xml *node, const char *attribute, int *link, double point[3]) {
  const char *name = xml_need(node, attribute, m->robot->error);
  if (!name) return false;
  for (size_t i = 0; i < m->site_count; i++) {
    const char *own = xml_text(m->site[i].xml, "name");
    if (!own || strcmp(own, name) != 0) continue;
    m->site[i].xml->used = true;
    *link = m->site[i].link;
    memcpy(point, m->site[i].at.p, sizeof m->site[i].at.p);
    return true;
  }
  return xml_fail(node, m->robot->error, "%s: no site \"%.100s\"", attribute, name);
}

/* The anchor is given in the first body; the second has the point at the same place at the reference. Or two sites. */
static bool read_connect(Mjcf *m, Xml *node, Coupling *c) {
  c->kind = COUPLE_CONNECT;
  if (xml_text(node, "site1"))
    return find_site(m, node, "site1", &c->link[0], c->anchor[0]) &&
           find_site(m, node, "site2", &c->link[1], c->anchor[1]);
  size_t given;
  double x[3];
  if (!xml_need(node, "body1", m->robot->error) || !mjcf_find_body(m, node, "body1", &c->link[0]) ||
      !mjcf_find_body(m, node, "body2", &c->link[1]) ||
      !xml_numbers(node, "anchor", 3, 3, c->anchor[0], &given, m->robot->error))
    return false;
  if (!given) return xml_fail(node, m->robot->error, "expected \"anchor\", or \"site1\" and \"site2\"");
  Pose a = start_pose(m->robot, c->link[0], true), b = start_pose(m->robot, c->link[1], true);
  pose_point(&a, c->anchor[0], x);
  pose_back(&b, x, c->anchor[1]);
  return true;
}

/* relpose: of the second body in the first; a quaternion of zeros means as at the reference. */
static bool read_weld(Mjcf *m, Xml *node, Coupling *c) {
  double relative[7] = {0};
  if (!xml_need(node, "body1", m->robot->error) || !mjcf_find_body(m, node, "body1", &c->link[0]) ||
      !mjcf_find_body(m, node, "body2", &c->link[1]) ||
      !xml_numbers(node, "relpose", 7, 7, relative, NULL, m->robot->error))
    return false;
  double l = sqrt(relative[3] * relative[3] + relative[4] * relative[4] + relative[5] * relative[5] +
                  relative[6] * relative[6]);
  Pose a = start_pose(m->robot, c->link[0], true), b = start_pose(m->robot, c->link[1], true), back = pose_inverse(&a);
  c->pose = pose_times(&back, &b);
  if (l > 0) {
    for (int k = 3; k < 7; k++) relative[k] /= l;
    mat_from_quat(relative + 3, c->pose.r);
    memcpy(c->pose.p, relative, 3 * sizeof *relative);
  }
  memcpy(c->anchor[0], c->pose.p, sizeof c->anchor[0]); /* the second body's origin */
  c->kind = COUPLE_WELD;
  return true;
}

static bool is_supported(Mjcf *m, Xml *node) {
  double poly[5] = {0, 1, 0, 0, 0};
  const char *text = mjcf_text(m, node, NULL, "polycoef");
  if (xml_is(node, "weld")) return xml_text(node, "body1") != NULL;
  if (!xml_is(node, "joint")) return true;
  if (text && numbers_read(text, poly, 5) > 5) return true; /* refused later, with a sentence */
  return xml_text(node, "joint2") && poly[1] != 0 && poly[2] == 0 && poly[3] == 0 && poly[4] == 0;
}

static bool read_equality(Mjcf *m, Xml *list) {
  for (Xml *node = list->first; node; node = node->next) {
    bool (*read)(Mjcf *, Xml *, Coupling *) = xml_is(node, "connect") ? read_connect
                                              : xml_is(node, "weld")  ? read_weld
                                              : xml_is(node, "joint") ? read_joint_equality
                                                                      : NULL;
    if (!read) continue;
    bool active = true, ok = mjcf_check_class(m, node, "class") && xml_bool(node, "active", &active, m->robot->error);
    const char *name = xml_text(node, "name");
    if (!ok) return false;
    if (!active) continue;
    if (!is_supported(m, node)) {
      robot_note(m->robot,
                 "%.200s:%d: this equality is not supported: only connect, weld by bodies, and joints with a "
                 "constant and a factor",
                 node->file, node->line);
      xml_use_all(node);
      continue;
    }
    node->used = true;
    Coupling *c = robot_add(m->robot, &m->robot->coupling, &m->robot->coupling_count, sizeof *c);
    if (!c || (name && !(c->name = robot_copy(m->robot, name)))) return false;
    c->link[0] = c->link[1] = -1;
    c->xml = node;
    if (!read(m, node, c)) return false;
  }
  return true;
}

static bool read_contact(Mjcf *m, Xml *list) {
  for (Xml *node = xml_child(list, "exclude"); node; node = xml_next(node, "exclude")) {
    LinkPair *pair = robot_add(m->robot, &m->robot->exclude, &m->robot->exclude_count, sizeof *pair);
    xml_use(node, "name");
    if (!pair || !mjcf_find_body(m, node, "body1", &pair->a) || !mjcf_find_body(m, node, "body2", &pair->b))
      return false;
  }
  return true;
}

/* ---- tendons ---- */

static bool read_terms(Mjcf *m, Xml *node, Tendon *t) {
  for (Xml *term = xml_child(node, "joint"); term; term = xml_next(term, "joint")) {
    if (!find_joint(m, term, "joint", &t->joint[t->count]) || !xml_need(term, "coef", m->robot->error) ||
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
  size_t has_range, springs;
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

/* ---- actuators ---- */

static bool read_transmission(Mjcf *m, Xml *node, Actuator *a) {
  double gear[6] = {1};
  const char *tendon = xml_text(node, "tendon");
  a->joint = a->tendon = -1;
  if (!mjcf_numbers(m, node, NULL, "gear", 1, 6, gear, NULL)) return false;
  a->gear = gear[0];
  if (a->gear == 0) return xml_fail(node, m->robot->error, "gear: expected a number that is not 0");
  if (!tendon) return find_joint(m, node, "joint", &a->joint);
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

static bool read_ranges(Mjcf *m, Xml *node, Actuator *a) {
  double force[2] = {0}, control[2] = {0};
  size_t has_force, has_control;
  bool limited;
  a->most = INFINITY;
  if (!mjcf_numbers(m, node, NULL, "forcerange", 2, 2, force, &has_force) ||
      !mjcf_limited(m, node, NULL, "forcelimited", has_force > 0, &limited) ||
      !mjcf_numbers(m, node, NULL, "ctrlrange", 2, 2, control, &has_control))
    return false;
  mjcf_text(m, node, NULL, "ctrllimited"); /* controls are constant here; a keyframe's are used as they are */
  mjcf_text(m, node, NULL, "inheritrange");
  if (!limited) return true;
  if (!(force[0] < force[1]))
    return xml_fail(node, m->robot->error, "forcerange: expected the lower force below the upper");
  if (force[0] != -force[1])
    robot_note(m->robot, "%.200s:%d: the forces of a drive have one limit for both directions: the larger one is used",
               node->file, node->line);
  a->most = fmax(fabs(force[0]), fabs(force[1]));
  return true;
}

/* Motors without a force range push with what the controls allow; servos that hold joints need it. */
static bool use_control_range(Mjcf *m, Xml *node, Actuator *a) {
  double control[2] = {0};
  size_t given;
  if (!mjcf_numbers(m, node, NULL, "ctrlrange", 2, 2, control, &given)) return false;
  bool motor = a->bias[1] == 0 && a->joint >= 0;
  if (motor && given)
    m->robot->joint[a->joint].effort = fabs(a->gear * a->gain) * fmax(fabs(control[0]), fabs(control[1]));
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

static bool read_actuators(Mjcf *m, Xml *list) {
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
        !read_ranges(m, node, a) || !use_control_range(m, node, a))
      return false;
  }
  return true;
}

/* ---- keyframes ---- */

static void use_qpos(Mjcf *m, const double *qpos) {
  for (size_t i = 0; i < m->robot->joint_count; i++) {
    RobotJoint *j = &m->robot->joint[i];
    const double *q = qpos + j->qpos, *turn = j->kind == JOINT_FREE ? q + 3 : q;
    if (j->kind == JOINT_HINGE || j->kind == JOINT_SLIDE) j->q = q[0];
    if (j->kind != JOINT_BALL && j->kind != JOINT_FREE) continue;
    double l = sqrt(turn[0] * turn[0] + turn[1] * turn[1] + turn[2] * turn[2] + turn[3] * turn[3]), unit[4];
    for (int k = 0; k < 4; k++) unit[k] = l > 0 ? turn[k] / l : k == 0;
    mat_from_quat(unit, j->kind == JOINT_BALL ? j->turn : j->base.r);
    if (j->kind == JOINT_FREE) memcpy(j->base.p, q, sizeof j->base.p), j->has_base = true;
  }
}

static bool use_key(Mjcf *m, Xml *key) {
  Robot *robot = m->robot;
  size_t room = (size_t)m->qpos + (size_t)m->actuators + 8;
  double *value = calloc(room, sizeof *value);
  const char *qpos = xml_text(key, "qpos"), *control = xml_text(key, "ctrl");
  if (!value) return robot_fail(robot->error, "out of memory while reading the robot");
  int count = qpos ? numbers_read(qpos, value, room) : m->qpos;
  bool ok = count == m->qpos || xml_fail(key, robot->error, "qpos: expected %d finite numbers, got %d", m->qpos, count);
  if (ok && qpos) use_qpos(m, value);
  count = control && ok ? numbers_read(control, value, room) : 0;
  if (ok && control && count != m->actuators)
    ok = xml_fail(key, robot->error, "ctrl: expected %d finite numbers, got %d", m->actuators, count);
  for (size_t i = 0; ok && control && i < robot->actuator_count; i++)
    robot->actuator[i].control = value[robot->actuator[i].place];
  free(value);
  return ok;
}

static bool read_keyframes(Mjcf *m) {
  const char *wanted = m->robot->options->keyframe;
  char known[300] = "";
  for (Xml *list = xml_child(m->top, "keyframe"); list; list = xml_next(list, "keyframe"))
    for (Xml *key = xml_child(list, "key"); key; key = xml_next(key, "key")) {
      const char *name = xml_text(key, "name");
      if (wanted && name && strcmp(name, wanted) == 0) return use_key(m, key);
      xml_use_all(key);
      size_t used = strlen(known);
      snprintf(known + used, sizeof known - used, "%s%.50s", used ? ", " : "", name ? name : "");
    }
  if (!wanted) {
    if (known[0])
      robot_note(m->robot, "the robot starts in the pose of its file; --keyframe starts it in another: %s", known);
    return true;
  }
  return robot_fail(m->robot->error, "%.500s: no keyframe \"%.100s\"; there are: %s", m->robot->path, wanted,
                    known[0] ? known : "none");
}

/* ---- the file ---- */

/* MuJoCo's damping ratio uses the inertia that the joint moves at the reference. */
static void find_damping(Mjcf *m) {
  Robot *robot = m->robot;
  for (size_t i = 0; i < robot->link_count; i++) robot->link[i].reference = start_pose(robot, (int)i, true);
  for (size_t i = 0; i < robot->actuator_count; i++) {
    Actuator *a = &robot->actuator[i];
    if (!(a->damping_ratio > 0)) continue;
    double inertia = a->joint >= 0 ? start_inertia(robot, a->joint) / (a->gear * a->gear) : 0;
    a->bias[2] -= 2 * a->damping_ratio * sqrt(a->gain * inertia);
    if (a->joint < 0)
      robot_note(robot, "%.200s:%d: dampratio of a tendon's actuator has no effect", a->xml->file, a->xml->line);
  }
}

/* The base option: free joints are left out, or added to bodies that the world carries. */
static bool use_base(Mjcf *m) {
  Robot *robot = m->robot;
  for (size_t i = 0; i < robot->link_count && robot->options->base == ROBOT_BASE_FIXED; i++) {
    Link *l = &robot->link[i];
    RobotJoint *j = l->joint >= 0 ? &robot->joint[l->joint] : NULL;
    if (!j || j->kind != JOINT_FREE) continue;
    if (j->has_base) l->at = j->base, j->has_base = false;
    l->joint = -1;
  }
  for (size_t i = 1; i < robot->link_count && robot->options->base == ROBOT_BASE_FREE; i++) {
    if (robot->link[i].joint >= 0 || robot->link[i].parent != 0) continue;
    RobotJoint *j = robot_add(robot, &robot->joint, &robot->joint_count, sizeof *j);
    char name[400];
    snprintf(name, sizeof name, "%.300s base", robot->link[i].name);
    if (!j || !(j->name = robot_copy(robot, name))) return false;
    j->kind = JOINT_FREE, j->link = (int)i, j->axis[2] = 1, j->xml = robot->link[i].xml;
    robot->link[i].joint = (int)robot->joint_count - 1;
  }
  return true;
}

/* Calls read for each section of a name. */
static bool each(Mjcf *m, const char *section, bool (*read)(Mjcf *, Xml *)) {
  for (Xml *node = xml_child(m->top, section); node; node = xml_next(node, section))
    if (!read(m, node)) return false;
  return true;
}

static bool read_tendons(Mjcf *m, Xml *list) {
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

static bool read_sections(Mjcf *m) {
  return read_settings(m) && each(m, "worldbody", mjcf_read_world) && (mjcf_find_masses(m), true) &&
         each(m, "equality", read_equality) && each(m, "contact", read_contact) && each(m, "tendon", read_tendons) &&
         each(m, "actuator", read_actuators) && read_keyframes(m) && use_base(m) && (find_damping(m), true);
}

bool mjcf_read(Robot *robot, Xml *top) {
  int includes = 0;
  Mjcf m = {.robot = robot, .top = top, .angle = 0.017453292519943295769, .sequence = "xyz", .autolimits = true};
  if (!xml_is(top, "mujoco")) return xml_fail(top, robot->error, "expected <mujoco>: this is no MJCF file");
  top->used = true;
  if (!expand(robot, top, &includes)) return false;
  const char *name = xml_text(top, "model");
  bool ok = (!name || (robot->name = robot_copy(robot, name))) && (m.mesh_folder = robot_copy(robot, robot->folder)) &&
            (m.known = json_object()) && read_sections(&m);
  if (ok) mjcf_use_defaults(&m, top);
  json_decref(m.known);
  if (ok && robot->link_count < 2 && !(robot->link_count && robot->link[0].geom_count))
    ok = xml_fail(top, robot->error, "the robot has no bodies");
  free(m.mesh_folder);
  free(m.site);
  return ok;
}
