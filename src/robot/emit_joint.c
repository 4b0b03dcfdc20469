/* Joints of a robot's scene: coordinates, welds, constraints, rotors of armature (emit.h). Tested in
 * tests/test_robot.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "robot/emit.h"

/* The body that carries a link: its own, its host's, or for links of the world the static body, if there is one. */
static int carrier(const Emit *e, int link) {
  if (link < 0) return NO_BODY;
  int top = e->group[link];
  if (e->still[top])
    return e->body[link] == link && (emit_body_has(e, link, true) || emit_body_has(e, link, false)) ? link : NO_BODY;
  return e->host[top];
}

static bool is_world(const Emit *e, int link) { return link < 0 || e->still[e->group[link]]; }

static json_t *joint_json(Emit *e, json_t *name, const char *type, int a, int b) {
  json_t *bodies = json_array(), *joint = json_object();
  json_array_append_new(bodies, emit_link_name(e->robot, a));
  if (b != NO_BODY) json_array_append_new(bodies, emit_link_name(e->robot, b));
  emit_put(joint, "name", name);
  emit_put(joint, "type", json_string(type));
  emit_put(joint, "bodies", bodies);
  json_array_append_new(e->joints, joint);
  return joint;
}

static void put_coordinate(const RobotJoint *j, double damping, json_t *joint) {
  double limit[2] = {j->range[0] - j->q, j->range[1] - j->q};
  if (j->limited) emit_put(joint, "limits", emit_numbers(limit, 2));
  if (j->stiffness > 0) {
    emit_put_number(joint, "stiffness", j->stiffness);
    emit_put_number(joint, "rest", j->rest - j->q);
  }
  if (damping > 0) emit_put_number(joint, "damping", damping);
  if (j->friction > 0) emit_put_number(joint, "friction", j->friction);
}

bool emit_has_coordinate(const RobotJoint *j) { return j->kind == JOINT_HINGE || j->kind == JOINT_SLIDE; }

/* What of the joints is not simulated. */
static void note_lost(Emit *e) {
  const RobotJoint *first = NULL;
  int count = 0;
  for (size_t i = 0; i < e->robot->joint_count; i++) {
    const RobotJoint *j = &e->robot->joint[i];
    bool acts = j->damping > 0 || j->friction > 0 || j->stiffness > 0 || j->armature > 0 || j->limited;
    if (!emit_has_coordinate(j) && acts && count++ == 0) first = j;
  }
  if (first)
    robot_note(e->robot,
               "%.200s:%d: limits, stiffness, damping, friction and armature of ball, planar and free joints are not "
               "simulated, %d time%s",
               first->xml->file, first->xml->line, count, count == 1 ? "" : "s");
}

static void put_joint(Emit *e, int index) {
  static const char *const type[] = {"weld", "hinge", "slider", "ball", "planar", ""};
  const RobotJoint *j = &e->robot->joint[index];
  const Link *l = &e->robot->link[j->link];
  double point[3], axis[3];
  if (j->kind == JOINT_FREE) return;
  json_t *joint =
      joint_json(e, emit_name(e->robot, j->name), type[j->kind], e->host[e->group[j->link]], carrier(e, l->parent));
  pose_point(&l->start, j->point, point);
  mat_times(l->start.r, j->axis, axis);
  emit_put(joint, "point", emit_numbers(point, 3));
  if (j->kind != JOINT_BALL) emit_put(joint, "axis", emit_numbers(axis, 3));
  if (emit_has_coordinate(j)) put_coordinate(j, j->damping + e->damping[index], joint);
}

/* Armature is the inertia of a rotor that turns with the joint and is carried by nothing: a body on an axis fixed in
 * the world, which a gear couples to the joint. Its kinetic energy is armature / 2 rate^2. A rotor of a slide joint
 * travels at right angles to gravity. */
static void put_rotor(Emit *e, int index) {
  const RobotJoint *j = &e->robot->joint[index];
  const Link *l = &e->robot->link[j->link];
  const double *g = e->robot->gravity, size[3] = {0.002, 0.002, 0.002};
  double point[3], axis[3], inertia[3], mass = j->armature,
                                        helper[3] = {fabs(g[0]) < fabs(g[2]), fabs(g[0]) >= fabs(g[2]), 0};
  char name[400], turn[400], tie[400];
  bool slides = j->kind == JOINT_SLIDE;
  snprintf(name, sizeof name, "%.300s rotor", j->name);
  snprintf(turn, sizeof turn, "%.300s rotor axis", j->name);
  snprintf(tie, sizeof tie, "%.300s armature", j->name);
  pose_point(&l->start, j->point, point);
  mat_times(l->start.r, j->axis, axis);
  if (slides) vec_cross(g, helper, axis);
  if (slides && !vec_normalize(axis)) axis[0] = 1, axis[1] = axis[2] = 0;
  if (!slides) mass = fmax(1e-3, e->robot->link[e->host[e->group[j->link]]].mass);
  for (int k = 0; k < 3; k++) inertia[k] = slides ? mass * 1e-6 : j->armature;
  json_t *body = json_pack("{s:o, s:s, s:o, s:f, s:o, s:f, s:b, s:o}", "name", emit_name(e->robot, name), "shape",
                           "box", "size", emit_numbers(size, 3), "mass", mass, "inertia", emit_numbers(inertia, 3),
                           "stiffness", 1e15, "collide", 0, "position", emit_numbers(point, 3));
  json_array_append_new(e->bodies, body);
  json_array_append_new(e->joints, json_pack("{s:o, s:s, s:[o], s:o, s:o}", "name", emit_name(e->robot, turn), "type",
                                             slides ? "slider" : "hinge", "bodies", emit_name(e->robot, name), "point",
                                             emit_numbers(point, 3), "axis", emit_numbers(axis, 3)));
  json_array_append_new(e->joints,
                        json_pack("{s:o, s:s, s:[o, o], s:f}", "name", emit_name(e->robot, tie), "type", "gear",
                                  "joints", emit_name(e->robot, j->name), emit_name(e->robot, turn), "ratio", 1.0));
}

static void put_rotors(Emit *e) {
  int count = 0;
  for (int i = 0; i < (int)e->robot->joint_count; i++) {
    if (!(e->robot->joint[i].armature > 0) || !emit_has_coordinate(&e->robot->joint[i])) continue;
    put_rotor(e, i);
    count++;
  }
  if (count) robot_note(e->robot, "armature: %d rotors, small bodies that touch nothing, turn with the joints", count);
}

static void put_welds(Emit *e) {
  for (int i = 0; i < (int)e->robot->link_count; i++) {
    int top = e->group[i];
    if (e->still[top] || e->body[i] != i || e->host[top] == i) continue;
    char name[300];
    snprintf(name, sizeof name, "%.280s weld", e->robot->link[i].name);
    joint_json(e, emit_name(e->robot, name), "weld", i, e->host[top]);
  }
}

static bool put_coupling(Emit *e, int index) {
  Coupling *c = &e->robot->coupling[index];
  char name[64];
  snprintf(name, sizeof name, "%s %d", c->kind == COUPLE_JOINTS ? "coupling" : "constraint", index + 1);
  json_t *its = emit_name(e->robot, c->name ? c->name : name);
  if (c->kind == COUPLE_JOINTS) {
    json_t *pair = json_array();
    for (int k = 1; k >= 0; k--) json_array_append_new(pair, emit_name(e->robot, e->robot->joint[c->joint[k]].name));
    json_array_append_new(
        e->joints, json_pack("{s:o, s:s, s:o, s:f}", "name", its, "type", "gear", "joints", pair, "ratio", c->ratio));
    return true;
  }
  int a = is_world(e, c->link[0]) ? 1 : 0, b = 1 - a;
  if (is_world(e, c->link[a])) {
    json_decref(its);
    return xml_fail(c->xml, e->robot->error, "both bodies are fixed to the world");
  }
  int host = e->host[e->group[c->link[a]]], other = carrier(e, c->link[b]);
  if (host == other) {
    json_decref(its);
    return xml_fail(c->xml, e->robot->error, "both bodies are one: they are fixed to each other");
  }
  json_t *joint = joint_json(e, its, c->kind == COUPLE_WELD ? "weld" : "ball", host, other);
  double point[3];
  pose_point(&e->robot->link[c->link[a]].start, c->anchor[a], point);
  emit_put(joint, "point", emit_numbers(point, 3));
  return true;
}

bool emit_joints(Emit *e) {
  note_lost(e);
  for (int i = 0; i < (int)e->robot->joint_count; i++) put_joint(e, i);
  put_welds(e);
  put_rotors(e);
  for (int i = 0; i < (int)e->robot->coupling_count; i++)
    if (!put_coupling(e, i)) return false;
  return true;
}
