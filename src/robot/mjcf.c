/* MJCF: <mujoco> with its sections; includes, settings, keyframes (mjcf.h, tree.h). Tested in
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

static bool read_sections(Mjcf *m) {
  return read_settings(m) && each(m, "worldbody", mjcf_read_world) && (mjcf_find_masses(m), true) &&
         each(m, "equality", mjcf_read_equality) && each(m, "contact", mjcf_read_contact) &&
         each(m, "tendon", mjcf_read_tendons) && each(m, "actuator", mjcf_read_actuators) && read_keyframes(m) &&
         use_base(m) && (find_damping(m), true);
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
