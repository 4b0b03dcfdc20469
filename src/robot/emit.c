/* The scene of a robot in abd's own format (docs/scene.md) from its description (tree.h).
 *
 * Links that no joint moves against each other form a group. A group that the world carries is static. In any other
 * group one link with mass is the host: joints act on it, links of the group with mass are welded to it, and geometry of
 * links without mass is added to it. Tested in tests/test_robot.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "robot/tree.h"

enum { NO_BODY = -1 };

typedef struct Emit {
  Robot *robot;
  int *group;                /* the top link of the group of a link */
  int *host;                 /* of a group's top: its link with mass; NO_BODY for the world's groups */
  int *body;                 /* the link whose body has the geometry of this link; NO_BODY = none */
  bool *still;               /* of a group's top: the world carries it */
  bool *collides;            /* of a body's link */
  unsigned *type, *affinity; /* of a body's link: contact bits */
  double *damping;           /* of a joint: that of its velocity servos */
  char *driven, *pulled;     /* of a joint, of a tendon: 1 = has a drive */
  bool friction_noted;
  json_t *bodies, *joints, *drives, *exclude;
} Emit;

/* ---- JSON ---- */

static json_t *numbers(const double *value, size_t count) {
  json_t *list = json_array();
  for (size_t k = 0; k < count; k++) json_array_append_new(list, json_real(value[k] == 0 ? 0 : value[k]));
  return list;
}

static void put(json_t *object, const char *key, json_t *value) { json_object_set_new(object, key, value); }
static void put_number(json_t *object, const char *key, double value) { put(object, key, json_real(value)); }

static json_t *name_of(const Robot *robot, const char *name) {
  char text[400];
  snprintf(text, sizeof text, "%.100s%.290s", robot->options->prefix ? robot->options->prefix : "", name);
  return json_string(text);
}

static json_t *link_name(const Robot *robot, int link) { return name_of(robot, robot->link[link].name); }

static void put_pose(json_t *object, const Pose *pose) {
  double q[4];
  quat_from_mat(pose->r, q);
  if (pose->p[0] != 0 || pose->p[1] != 0 || pose->p[2] != 0) put(object, "position", numbers(pose->p, 3));
  if (fabs(q[0]) < 1) put(object, "quaternion", numbers(q, 4));
}

/* ---- groups ---- */

static bool allocate(Emit *e) {
  size_t n = e->robot->link_count + 1, m = e->robot->joint_count + 1;
  int **ints[] = {&e->group, &e->host, &e->body};
  for (size_t k = 0; k < 3; k++)
    if (!(*ints[k] = calloc(n, sizeof(int)))) return robot_fail(e->robot->error, "out of memory");
  e->still = calloc(n, sizeof *e->still);
  e->collides = calloc(n, sizeof *e->collides);
  e->type = calloc(n, sizeof *e->type);
  e->affinity = calloc(n, sizeof *e->affinity);
  e->damping = calloc(m, sizeof *e->damping);
  e->driven = calloc(m, 1);
  e->pulled = calloc(e->robot->tendon_count + 1, 1);
  e->bodies = json_array(), e->joints = json_array(), e->drives = json_array(), e->exclude = json_array();
  return (e->still && e->collides && e->type && e->affinity && e->damping && e->driven && e->pulled && e->bodies &&
          e->joints && e->drives && e->exclude) ||
         robot_fail(e->robot->error, "out of memory");
}

static int group_of(const Robot *robot, int link) {
  while (robot->link[link].joint < 0 && robot->link[link].parent >= 0) link = robot->link[link].parent;
  return link;
}

static bool has_mass(const Link *l) { return l->has_mass || l->density > 0; }

/* The link's body: itself if it has geometry and the world carries it, or if it has mass; else its host. */
static int body_of(const Emit *e, int link) {
  const Link *l = &e->robot->link[link];
  int top = e->group[link];
  if (e->still[top]) return l->geom_count ? link : NO_BODY;
  return has_mass(l) ? link : e->host[top];
}

static bool find_groups(Emit *e) {
  Robot *robot = e->robot;
  int count = (int)robot->link_count;
  for (int i = 0; i < count; i++) e->host[i] = NO_BODY;
  for (int i = 0; i < count; i++) e->group[i] = group_of(robot, i);
  for (int i = 0; i < count; i++) e->still[e->group[i]] = robot->link[e->group[i]].joint < 0;
  for (int i = 0; i < count; i++) { /* the top link if it has mass, else the first link with mass */
    int top = e->group[i];
    if (has_mass(&robot->link[i]) && (e->host[top] == NO_BODY || i == top)) e->host[top] = i;
  }
  for (int i = 0; i < count; i++)
    if (e->group[i] == i && !e->still[i] && e->host[i] == NO_BODY)
      return xml_fail(robot->link[i].xml, robot->error,
                      "the link moves, but neither it nor a link that is fixed to it has a mass");
  for (int i = 0; i < count; i++) e->body[i] = body_of(e, i);
  return true;
}

/* ---- bodies ---- */

/* Whether geometry for contact, or pictures, is among that of the links of a body. */
static bool body_has(const Emit *e, int body, bool visual) {
  for (size_t i = 0; i < e->robot->link_count; i++)
    for (size_t k = 0; e->body[i] == body && k < e->robot->link[i].geom_count; k++)
      if (e->robot->link[i].geom[k].visual == visual && e->robot->link[i].geom[k].kind != GEOM_PLANE) return true;
  return false;
}

static json_t *part_json(const Geom *g) {
  static const char *const name[] = {"box", "sphere", "cylinder", "capsule", "ellipsoid"};
  json_t *part = json_object();
  if (g->kind == GEOM_MESH) {
    put(part, "mesh", json_string(g->file));
    bool scaled = g->size[0] != 1 || g->size[1] != 1 || g->size[2] != 1;
    if (scaled) put(part, "scale", numbers(g->size, 3));
    return part;
  }
  put(part, "shape", json_string(name[g->kind]));
  if (g->kind == GEOM_BOX || g->kind == GEOM_ELLIPSOID) put(part, "size", numbers(g->size, 3));
  else put_number(part, "radius", g->size[0]);
  if (g->kind == GEOM_CYLINDER || g->kind == GEOM_CAPSULE) put_number(part, "height", g->size[1]);
  return part;
}

static void put_parts(const Emit *e, int body, bool visual, json_t *parts) {
  const Robot *robot = e->robot;
  Pose back = pose_inverse(&robot->link[body].start);
  for (size_t i = 0; i < robot->link_count; i++) {
    Pose from = pose_times(&back, &robot->link[i].start);
    if ((int)i == body) from = pose_identity();
    for (size_t k = 0; e->body[i] == body && k < robot->link[i].geom_count; k++) {
      const Geom *g = &robot->link[i].geom[k];
      if (g->visual != visual || g->kind == GEOM_PLANE) continue;
      json_t *part = part_json(g);
      Pose at = pose_times(&from, &g->at);
      put_pose(part, &at);
      json_array_append_new(parts, part);
    }
  }
}

/* One part at the link's own place is written without a list. */
static void put_geometry(const Emit *e, int body, bool visual, json_t *object) {
  json_t *parts = json_array(), *only = NULL;
  put_parts(e, body, visual, parts);
  if (json_array_size(parts) == 1) only = json_array_get(parts, 0);
  if (only && (json_object_get(only, "position") || json_object_get(only, "quaternion"))) only = NULL;
  if (only) json_object_update(object, only);
  else put(object, "parts", json_incref(parts));
  json_decref(parts);
}

/* A link without geometry is a small box at its centre of mass, which touches nothing. */
static void put_marker(Emit *e, int body, json_t *object) {
  const Link *l = &e->robot->link[body];
  double edge = fmax(1e-3, l->mass > 0 ? sqrt(2 * (l->inertia[0] + l->inertia[1] + l->inertia[2]) / l->mass) : 0);
  double size[3] = {edge, edge, edge};
  json_t *part =
      json_pack("{s:s, s:o, s:o}", "shape", "box", "size", numbers(size, 3), "position", numbers(l->center, 3));
  put(object, "parts", json_pack("[o]", part));
  put(object, "collide", json_false());
  robot_note(e->robot, "links without geometry are boxes that touch nothing, the first is \"%.80s\"", l->name);
}

/* The geometry that a mass is made of, each with its density or mass. The scene's reader computes the mass from it. */
static json_t *mass_parts(const Link *l) {
  json_t *parts = json_array();
  for (size_t k = 0; k < l->geom_count; k++) {
    const Geom *g = &l->geom[k];
    if (g->kind == GEOM_PLANE || g->mass == 0 || (g->mass < 0 && g->density == 0)) continue;
    json_t *part = part_json(g);
    put_pose(part, &g->at);
    put_number(part, g->mass > 0 ? "mass" : "density", g->mass > 0 ? g->mass : g->density);
    json_array_append_new(parts, part);
  }
  return parts;
}

static void put_mass(Emit *e, Link *l, json_t *object) {
  if (l->has_inertia && robot_mend_inertia(l->inertia))
    robot_note(e->robot, "%.200s:%d: no mass has the inertia of \"%.80s\": the nearest possible one is used",
               l->xml->file, l->xml->line, l->name);
  if (l->density > 0) put_number(object, "density", l->density), put(object, "#mass", mass_parts(l));
  if (!l->has_mass) return;
  put_number(object, "mass", l->mass);
  put(object, "center_of_mass", numbers(l->center, 3));
  if (l->has_inertia) put(object, "inertia", numbers(l->inertia, 6));
}

static const char *color_of(const Emit *e, int body) {
  const char *color = NULL;
  for (int visual = 1; visual >= 0; visual--)
    for (size_t i = 0; i < e->robot->link_count; i++)
      for (size_t k = 0; e->body[i] == body && !color && k < e->robot->link[i].geom_count; k++) {
        const Geom *g = &e->robot->link[i].geom[k];
        if (g->visual == (visual == 1) && g->color[0]) color = g->color;
      }
  return color;
}

/* The largest coefficient of the geometry in contact; differs: whether there are several. */
static double friction_of(const Emit *e, int body, bool *differs) {
  double friction = -1;
  for (size_t i = 0; i < e->robot->link_count; i++)
    for (size_t k = 0; e->body[i] == body && k < e->robot->link[i].geom_count; k++) {
      const Geom *g = &e->robot->link[i].geom[k];
      if (g->visual || g->friction < 0) continue;
      *differs |= friction >= 0 && g->friction != friction;
      friction = fmax(friction, g->friction);
    }
  return friction;
}

static void put_surface(Emit *e, int body, json_t *object) {
  bool differs = false;
  const char *color = color_of(e, body);
  double friction = friction_of(e, body, &differs);
  if (color) put(object, "color", json_string(color));
  if (friction >= 0) put_number(object, "friction", friction);
  if (differs && !e->friction_noted)
    robot_note(e->robot,
               "\"%.80s\": a body has one friction coefficient: if its geometry has several, the largest is used",
               e->robot->link[body].name);
  e->friction_noted |= differs;
}

static bool put_body(Emit *e, int body) {
  Link *l = &e->robot->link[body];
  bool still = e->still[e->group[body]], seen = body_has(e, body, true), touched = body_has(e, body, false);
  bool visual = e->robot->options->geometry == ROBOT_VISUAL ? seen : !touched;
  json_t *object = json_object();
  if (!seen && !touched && still) return json_decref(object), true; /* a plane alone */
  put(object, "name", link_name(e->robot, body));
  if (still) put(object, "motion", json_string("static"));
  put_pose(object, &l->start);
  if (seen || touched) put_geometry(e, body, visual, object);
  e->collides[body] = touched || (seen && e->robot->options->geometry == ROBOT_VISUAL);
  if ((seen || touched) && !e->collides[body]) put(object, "collide", json_false());
  if (!still && !seen && !touched) put_marker(e, body, object);
  if (!still) put_mass(e, l, object);
  put_surface(e, body, object);
  json_array_append_new(e->bodies, object);
  return true;
}

/* Planes are half-spaces of their own. */
static bool put_planes(Emit *e, int link) {
  const Link *l = &e->robot->link[link];
  for (size_t k = 0; k < l->geom_count; k++) {
    const Geom *g = &l->geom[k];
    if (g->kind != GEOM_PLANE || g->visual) continue;
    if (!e->still[e->group[link]])
      return xml_fail(g->xml, e->robot->error, "a plane can only be part of a body that does not move");
    const char *name = xml_text(g->xml, "name");
    json_t *object = json_pack("{s:o, s:s}", "name", name_of(e->robot, name ? name : "plane"), "shape", "ground");
    Pose at = pose_times(&l->start, &g->at);
    put_pose(object, &at);
    if (g->color[0]) put(object, "color", json_string(g->color));
    if (g->friction >= 0) put_number(object, "friction", g->friction);
    json_array_append_new(e->bodies, object);
  }
  return true;
}

static bool put_bodies(Emit *e) {
  for (int i = 0; i < (int)e->robot->link_count; i++) {
    if (e->body[i] == i && !put_body(e, i)) return false;
    if (!put_planes(e, i)) return false;
  }
  return true;
}

/* ---- joints ---- */

/* The body that carries a link: its own, its host's, or for links of the world the static body, if there is one. */
static int carrier(const Emit *e, int link) {
  if (link < 0) return NO_BODY;
  int top = e->group[link];
  if (e->still[top])
    return e->body[link] == link && (body_has(e, link, true) || body_has(e, link, false)) ? link : NO_BODY;
  return e->host[top];
}

static bool is_world(const Emit *e, int link) { return link < 0 || e->still[e->group[link]]; }

static json_t *joint_json(Emit *e, json_t *name, const char *type, int a, int b) {
  json_t *bodies = json_array(), *joint = json_object();
  json_array_append_new(bodies, link_name(e->robot, a));
  if (b != NO_BODY) json_array_append_new(bodies, link_name(e->robot, b));
  put(joint, "name", name);
  put(joint, "type", json_string(type));
  put(joint, "bodies", bodies);
  json_array_append_new(e->joints, joint);
  return joint;
}

static void put_coordinate(const RobotJoint *j, double damping, json_t *joint) {
  double limit[2] = {j->range[0] - j->q, j->range[1] - j->q};
  if (j->limited) put(joint, "limits", numbers(limit, 2));
  if (j->stiffness > 0) {
    put_number(joint, "stiffness", j->stiffness);
    put_number(joint, "rest", j->rest - j->q);
  }
  if (damping > 0) put_number(joint, "damping", damping);
  if (j->friction > 0) put_number(joint, "friction", j->friction);
}

static bool has_coordinate(const RobotJoint *j) { return j->kind == JOINT_HINGE || j->kind == JOINT_SLIDE; }

/* What of the joints is not simulated. */
static void note_lost(Emit *e) {
  const RobotJoint *first = NULL;
  int count = 0;
  for (size_t i = 0; i < e->robot->joint_count; i++) {
    const RobotJoint *j = &e->robot->joint[i];
    bool acts = j->damping > 0 || j->friction > 0 || j->stiffness > 0 || j->armature > 0 || j->limited;
    if (!has_coordinate(j) && acts && count++ == 0) first = j;
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
      joint_json(e, name_of(e->robot, j->name), type[j->kind], e->host[e->group[j->link]], carrier(e, l->parent));
  pose_point(&l->start, j->point, point);
  mat_times(l->start.r, j->axis, axis);
  put(joint, "point", numbers(point, 3));
  if (j->kind != JOINT_BALL) put(joint, "axis", numbers(axis, 3));
  if (has_coordinate(j)) put_coordinate(j, j->damping + e->damping[index], joint);
}

/* Armature is the inertia of a rotor that turns with the joint and is carried by nothing: a body on an axis fixed in the
 * world, which a gear couples to the joint. Its kinetic energy is armature / 2 rate^2. A rotor of a slide joint travels at
 * right angles to gravity. */
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
  json_t *body = json_pack("{s:o, s:s, s:o, s:f, s:o, s:f, s:b, s:o}", "name", name_of(e->robot, name), "shape", "box",
                           "size", numbers(size, 3), "mass", mass, "inertia", numbers(inertia, 3), "stiffness", 1e15,
                           "collide", 0, "position", numbers(point, 3));
  json_array_append_new(e->bodies, body);
  json_array_append_new(e->joints, json_pack("{s:o, s:s, s:[o], s:o, s:o}", "name", name_of(e->robot, turn), "type",
                                             slides ? "slider" : "hinge", "bodies", name_of(e->robot, name), "point",
                                             numbers(point, 3), "axis", numbers(axis, 3)));
  json_array_append_new(e->joints,
                        json_pack("{s:o, s:s, s:[o, o], s:f}", "name", name_of(e->robot, tie), "type", "gear", "joints",
                                  name_of(e->robot, j->name), name_of(e->robot, turn), "ratio", 1.0));
}

static void put_rotors(Emit *e) {
  int count = 0;
  for (int i = 0; i < (int)e->robot->joint_count; i++) {
    if (!(e->robot->joint[i].armature > 0) || !has_coordinate(&e->robot->joint[i])) continue;
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
    joint_json(e, name_of(e->robot, name), "weld", i, e->host[top]);
  }
}

static bool put_coupling(Emit *e, int index) {
  Coupling *c = &e->robot->coupling[index];
  char name[64];
  snprintf(name, sizeof name, "%s %d", c->kind == COUPLE_JOINTS ? "coupling" : "constraint", index + 1);
  json_t *its = name_of(e->robot, c->name ? c->name : name);
  if (c->kind == COUPLE_JOINTS) {
    json_t *pair = json_array();
    for (int k = 1; k >= 0; k--) json_array_append_new(pair, name_of(e->robot, e->robot->joint[c->joint[k]].name));
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
  put(joint, "point", numbers(point, 3));
  return true;
}

/* ---- drives ---- */

static double tendon_length(const Robot *robot, const Tendon *t) {
  double sum = 0;
  for (int k = 0; k < t->count; k++) sum += t->coefficient[k] * robot->joint[t->joint[k]].q;
  return sum;
}

/* A drive on a joint or tendon whose coordinate is s = q - start, or the sum that the scene has for a tendon. `factor`:
 * length of the actuator per s; `start`: length at s = 0. */
static void put_drive(Emit *e, json_t *joint, const Actuator *a, double factor, double start) {
  json_t *drive = json_pack("{s:o}", "joint", joint);
  double force = a->gain * (isnan(a->control) ? 0 : a->control) + a->bias[0];
  if (a->bias[1] < 0) {
    double length = isnan(a->control) ? start : force / -a->bias[1];
    put(drive, "type", json_string("position"));
    put_number(drive, "value", (length - start) / factor);
    put_number(drive, "stiffness", -a->bias[1] * factor * factor);
    if (a->bias[2] < 0) put_number(drive, "damping", -a->bias[2] * factor * factor);
    if (isfinite(a->most)) put_number(drive, "max", a->most * fabs(factor));
  } else {
    put(drive, "type", json_string("torque"));
    put_number(drive, "value", fmin(a->most, fmax(-a->most, force)) * factor);
  }
  json_array_append_new(e->drives, drive);
}

/* Velocity servos and the damping of others without a stiffness act as dampers of the joint. */
static void add_damping(Emit *e) {
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
  for (int k = 0; k < 2; k++) json_array_append_new(pair, name_of(e->robot, e->robot->joint[t->joint[k]].name));
  json_t *sum = json_pack("{s:o, s:s, s:o, s:f}", "name", name_of(e->robot, t->name), "type", "sum", "joints", pair,
                          "ratio", t->coefficient[1] / f);
  double limit[2] = {(t->range[f > 0 ? 0 : 1] - start) / f, (t->range[f > 0 ? 1 : 0] - start) / f};
  double room = fmin(0.01, 0.01 * (limit[1] - limit[0]));
  limit[0] = fmin(limit[0], -room), limit[1] = fmax(limit[1], room);
  if (t->limited) put(sum, "limits", numbers(limit, 2));
  if (t->stiffness > 0) {
    put_number(sum, "stiffness", t->stiffness * f * f);
    put_number(sum, "rest", isnan(t->rest) || t->rest < 0 ? 0 : (t->rest - start) / f);
  }
  if (t->damping > 0) put_number(sum, "damping", t->damping * f * f);
  if (t->friction > 0) put_number(sum, "friction", t->friction * fabs(f));
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
  put_drive(e, name_of(e->robot, name), a, factor, start);
}

static void put_actuator(Emit *e, const Actuator *a) {
  if (a->tendon >= 0) return put_tendon_drive(e, a);
  const RobotJoint *j = &e->robot->joint[a->joint];
  if (e->robot->options->hold && !(a->bias[1] < 0)) return; /* the servo that holds the joint replaces it */
  if (e->driven[a->joint])
    return robot_note(e->robot, "a joint has one drive: further actuators of \"%.80s\" have no effect", j->name);
  e->driven[a->joint] = 1;
  put_drive(e, name_of(e->robot, j->name), a, a->gear, a->gear * j->q);
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
        json_pack("{s:o, s:s, s:f, s:f, s:f}", "joint", name_of(e->robot, j->name), "type", "position", "value", 0.0,
                  "stiffness", inertia * frequency * frequency, "damping", 2 * inertia * frequency);
    if (effort > 0) put_number(drive, "max", effort);
    json_array_append_new(e->drives, drive);
  }
}

/* ---- contact ---- */

/* The bits of all geometry of a body together: bits of two of its geometries meet if and only if these do. */
static void find_bits(Emit *e) {
  for (size_t i = 0; i < e->robot->link_count; i++)
    for (size_t k = 0; e->body[i] >= 0 && k < e->robot->link[i].geom_count; k++) {
      const Geom *g = &e->robot->link[i].geom[k];
      if (g->visual) continue;
      e->type[e->body[i]] |= g->type;
      e->affinity[e->body[i]] |= g->affinity;
    }
}

static bool geoms_meet(const Emit *e, int a, int b) {
  return (e->type[a] & e->affinity[b]) || (e->type[b] & e->affinity[a]);
}

/* The group of the body that carries the group's joint; -1: the world. */
static int parent_group(const Emit *e, int top) {
  int parent = e->robot->link[top].parent;
  return parent < 0 || e->still[e->group[parent]] ? -1 : e->group[parent];
}

static bool excluded(const Emit *e, int a, int b) {
  int x = e->group[a], y = e->group[b];
  if (e->still[x] && e->still[y]) return false; /* never collide */
  if (x == y || (!e->still[x] && parent_group(e, x) == y) || (!e->still[y] && parent_group(e, y) == x)) return true;
  return e->robot->options->geometry == ROBOT_COLLISION && !geoms_meet(e, a, b);
}

static bool listed(const Emit *e, int a, int b) {
  for (size_t k = 0; k < e->robot->exclude_count; k++) {
    LinkPair p = e->robot->exclude[k];
    int x = p.a < 0 ? NO_BODY : e->body[p.a], y = p.b < 0 ? NO_BODY : e->body[p.b];
    if ((x == a && y == b) || (x == b && y == a)) return true;
  }
  return false;
}

static void put_exclusions(Emit *e) {
  int count = (int)e->robot->link_count;
  find_bits(e);
  for (int a = 0; a < count; a++)
    for (int b = 0; b < a && e->body[a] == a; b++) {
      if (e->body[b] != b || !e->collides[a] || !e->collides[b]) continue;
      if (!excluded(e, a, b) && !listed(e, a, b)) continue;
      json_t *pair = json_array();
      json_array_append_new(pair, link_name(e->robot, b));
      json_array_append_new(pair, link_name(e->robot, a));
      json_array_append_new(e->exclude, pair);
    }
}

/* ---- the scene ---- */

static bool put_all(Emit *e) {
  if (!allocate(e) || !find_groups(e) || !put_bodies(e)) return false;
  add_damping(e);
  note_lost(e);
  for (int i = 0; i < (int)e->robot->joint_count; i++) put_joint(e, i);
  put_welds(e);
  put_rotors(e);
  for (int i = 0; i < (int)e->robot->coupling_count; i++)
    if (!put_coupling(e, i)) return false;
  for (size_t i = 0; i < e->robot->tendon_count; i++)
    if (e->robot->tendon[i].count == 2) put_tendon(e, &e->robot->tendon[i]);
  for (size_t i = 0; i < e->robot->actuator_count; i++) put_actuator(e, &e->robot->actuator[i]);
  put_holds(e);
  put_exclusions(e);
  return true;
}

static json_t *scene_json(Emit *e) {
  const Robot *robot = e->robot;
  json_t *scene = json_pack("{s:i}", "version", 1);
  if (robot->name) put(scene, "name", json_string(robot->name));
  if (robot->dt > 0) put_number(scene, "dt", robot->dt);
  if (robot->has_gravity) put(scene, "gravity", numbers(robot->gravity, 3));
  put(scene, "contact", json_pack("{s:f}", "friction", 0.5));
  put(scene, "bodies", json_incref(e->bodies));
  if (json_array_size(e->exclude)) put(scene, "exclude", json_incref(e->exclude));
  put(scene, "joints", json_incref(e->joints));
  if (json_array_size(e->drives)) put(scene, "drives", json_incref(e->drives));
  return scene;
}

json_t *emit_scene(Robot *robot) {
  Emit e = {.robot = robot};
  json_t *scene = put_all(&e) ? scene_json(&e) : NULL;
  json_t *list[] = {e.bodies, e.joints, e.drives, e.exclude};
  void *array[] = {e.group, e.host, e.body, e.still, e.collides, e.type, e.affinity, e.damping, e.driven, e.pulled};
  for (size_t k = 0; k < sizeof list / sizeof *list; k++) json_decref(list[k]);
  for (size_t k = 0; k < sizeof array / sizeof *array; k++) free(array[k]);
  return scene;
}
