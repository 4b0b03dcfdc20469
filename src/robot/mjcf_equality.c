/* <equality> and <contact> of MJCF (mjcf.h). Tested in tests/test_robot.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "robot/mjcf.h"

bool mjcf_find_joint(Mjcf *m, Xml *node, const char *attribute, int *joint) {
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
  if (!mjcf_find_joint(m, node, "joint1", &c->joint[0]) || !mjcf_find_joint(m, node, "joint2", &c->joint[1]) ||
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

bool mjcf_read_equality(Mjcf *m, Xml *list) {
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

bool mjcf_read_contact(Mjcf *m, Xml *list) {
  for (Xml *node = xml_child(list, "exclude"); node; node = xml_next(node, "exclude")) {
    LinkPair *pair = robot_add(m->robot, &m->robot->exclude, &m->robot->exclude_count, sizeof *pair);
    xml_use(node, "name");
    if (!pair || !mjcf_find_body(m, node, "body1", &pair->a) || !mjcf_find_body(m, node, "body2", &pair->b))
      return false;
  }
  return true;
}
