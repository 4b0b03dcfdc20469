/* Bodies of MJCF: geometry, inertia, joints, nested frames (mjcf.h). Tested in tests/test_robot.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "robot/mjcf.h"

/* ---- geometry ---- */

/* A mesh is called by its name, or by its file's without folder and ending. */
static bool is_mesh(Xml *mesh, const char *name) {
  const char *own = xml_text(mesh, "name"), *file = xml_text(mesh, "file");
  if (own) return strcmp(own, name) == 0;
  if (!file) return false;
  const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file, *dot = strrchr(base, '.');
  size_t length = dot ? (size_t)(dot - base) : strlen(base);
  return strlen(name) == length && strncmp(base, name, length) == 0;
}

static Xml *find_asset(Mjcf *m, const char *kind, const char *name) {
  for (Xml *list = xml_child(m->top, "asset"); list; list = xml_next(list, "asset"))
    for (Xml *item = list->first; item; item = item->next) {
      if (!xml_is(item, kind)) continue;
      const char *own = xml_text(item, "name");
      if (strcmp(kind, "mesh") == 0 ? !is_mesh(item, name) : !own || strcmp(own, name) != 0) continue;
      return item->used = true, item;
    }
  return NULL;
}

static bool read_mesh(Mjcf *m, Xml *node, const char *class, Geom *geom) {
  const char *name = mjcf_text(m, node, class, "mesh");
  if (!name) return xml_fail(node, m->robot->error, "expected an attribute \"mesh\"");
  Xml *mesh = find_asset(m, "mesh", name);
  if (!mesh) return xml_fail(node, m->robot->error, "mesh: no <mesh> \"%.100s\" among the assets", name);
  const char *file = mjcf_text(m, mesh, NULL, "file");
  if (!file)
    return xml_fail(mesh, m->robot->error, "expected an attribute \"file\": meshes in the text are not supported");
  geom->kind = GEOM_MESH;
  for (int k = 0; k < 3; k++) geom->size[k] = 1;
  if (!mjcf_check_class(m, mesh, "class") || !mjcf_numbers(m, mesh, NULL, "scale", 3, 3, geom->size, NULL))
    return false;
  if (geom->size[0] * geom->size[1] * geom->size[2] == 0)
    return xml_fail(mesh, m->robot->error, "scale: expected factors that are not 0");
  return (geom->file = robot_mesh_file(m->robot, mesh, file, m->mesh_folder)) != NULL;
}

/* fromto: the ends of the axis. */
static bool read_ends(Mjcf *m, Xml *node, const char *class, Geom *geom, double *half) {
  double end[6], d[3];
  size_t given;
  if (!mjcf_numbers(m, node, class, "fromto", 6, 6, end, &given)) return false;
  if (!given) return true;
  for (int k = 0; k < 3; k++) d[k] = end[3 + k] - end[k], geom->at.p[k] = (end[k] + end[3 + k]) / 2;
  *half = vec_length(d) / 2;
  if (!vec_normalize(d)) return xml_fail(node, m->robot->error, "fromto: expected two different points");
  double helper[3] = {fabs(d[0]) < 0.9, fabs(d[0]) >= 0.9, 0};
  vec_cross(helper, d, geom->at.r);
  vec_normalize(geom->at.r);
  vec_cross(d, geom->at.r, geom->at.r + 3);
  memcpy(geom->at.r + 6, d, sizeof d);
  return true;
}

static bool read_size(Mjcf *m, Xml *node, const char *class, Geom *geom) {
  static const size_t needed[] = {3, 1, 2, 2, 3, 0, 0};
  double size[3] = {0}, half = 0;
  size_t given;
  if (!mjcf_numbers(m, node, class, "size", 1, 3, size, &given) || !read_ends(m, node, class, geom, &half))
    return false;
  if (geom->kind == GEOM_PLANE) return true;
  bool round = geom->kind == GEOM_CYLINDER || geom->kind == GEOM_CAPSULE;
  if (half > 0 && round) size[1] = half, given = given ? 2 : 0;
  if (half > 0 && !round) size[2] = half, size[1] = given > 1 ? size[1] : size[0], given = given ? 3 : 0;
  if (given < needed[geom->kind])
    return xml_fail(node, m->robot->error, "size: expected %zu numbers", needed[geom->kind]);
  for (size_t k = 0; k < needed[geom->kind]; k++)
    if (!(size[k] > 0)) return xml_fail(node, m->robot->error, "size: expected numbers > 0, got %g", size[k]);
  for (int k = 0; k < 3; k++)
    geom->size[k] = geom->kind == GEOM_BOX || geom->kind == GEOM_ELLIPSOID ? 2 * size[k] : size[k];
  if (round) geom->size[1] = 2 * size[1];
  return true;
}

static bool read_kind(Mjcf *m, Xml *node, const char *class, Geom *geom) {
  static const char *const name[] = {"box", "sphere", "cylinder", "capsule", "ellipsoid", "mesh", "plane"};
  const char *type = mjcf_text(m, node, class, "type"), *mesh = mjcf_text(m, node, class, "mesh");
  if (!type) type = mesh && !mjcf_text(m, node, class, "size") ? "mesh" : "sphere";
  for (int k = 0; k < 7; k++) {
    if (strcmp(type, name[k]) != 0) continue;
    geom->kind = (GeomKind)k;
    if (k == GEOM_MESH) return read_mesh(m, node, class, geom);
    if (!mesh) return read_size(m, node, class, geom);
    robot_note(m->robot, "%.200s:%d: a shape that is fitted to a mesh is that mesh", node->file, node->line);
    return read_mesh(m, node, class, geom);
  }
  return xml_fail(node, m->robot->error,
                  "type: expected plane, sphere, capsule, ellipsoid, cylinder, box or mesh, got \"%.60s\"", type);
}

static bool read_look(Mjcf *m, Xml *node, const char *class, Geom *geom) {
  const char *material = mjcf_text(m, node, class, "material");
  Xml *asset = material ? find_asset(m, "material", material) : NULL;
  if (asset && !robot_color(m->robot, asset, "rgba", geom->color)) return false;
  return robot_color(m->robot, mjcf_owner(m, node, class, "rgba"), "rgba", geom->color);
}

static bool read_contact(Mjcf *m, Xml *node, const char *class, Geom *geom) {
  double type = 1, affinity = 1, friction[3] = {1, 0, 0};
  if (!mjcf_number(m, node, class, "contype", &type) || !mjcf_number(m, node, class, "conaffinity", &affinity) ||
      !mjcf_numbers(m, node, class, "friction", 1, 3, friction, NULL) ||
      !mjcf_number(m, node, class, "density", &geom->density) || !mjcf_number(m, node, class, "mass", &geom->mass))
    return false;
  if (friction[0] < 0 || geom->density < 0 || type < 0 || affinity < 0 || type > 4e9 || affinity > 4e9)
    return xml_fail(node, m->robot->error, "expected friction, density, contype and conaffinity >= 0");
  geom->type = (unsigned)type, geom->affinity = (unsigned)affinity;
  geom->visual = !geom->type && !geom->affinity;
  geom->friction = friction[0];
  return true;
}

static bool is_supported(Mjcf *m, Xml *node, const char *class) {
  const char *type = mjcf_text(m, node, class, "type");
  if (!type || (strcmp(type, "hfield") != 0 && strcmp(type, "sdf") != 0)) return true;
  robot_note(m->robot, "%.200s:%d: geometry of type %s is not supported", node->file, node->line, type);
  xml_use_all(node);
  return false;
}

static bool read_geom(Mjcf *m, Xml *node, int link, const Pose *frame, const char *class) {
  if (!is_supported(m, node, class)) return true;
  Geom geom = {.friction = -1, .mass = -1, .density = 1000, .xml = node};
  Link *l = &m->robot->link[link];
  Geom *slot = robot_add(m->robot, &l->geom, &l->geom_count, sizeof *slot);
  xml_use(node, "name");
  mjcf_text(m, node, class, "group");
  bool ok = slot && mjcf_check_class(m, node, "class") && mjcf_pose(m, node, class, &geom.at) &&
            read_kind(m, node, class, &geom) && read_look(m, node, class, &geom) && read_contact(m, node, class, &geom);
  geom.at = pose_times(frame, &geom.at);
  if (slot) *slot = geom;
  return ok;
}

/* ---- mass ---- */

static bool read_inertial(Mjcf *m, Xml *node, int link) {
  Link *l = &m->robot->link[link];
  double diagonal[3] = {0}, full[6] = {0};
  size_t has_diagonal, has_full;
  Pose at;
  if (!xml_need(node, "mass", m->robot->error) || !xml_number(node, "mass", &l->mass, m->robot->error) ||
      !mjcf_pose(m, node, NULL, &at) ||
      !xml_numbers(node, "diaginertia", 3, 3, diagonal, &has_diagonal, m->robot->error) ||
      !xml_numbers(node, "fullinertia", 6, 6, full, &has_full, m->robot->error))
    return false;
  if (l->mass < 0) return xml_fail(node, m->robot->error, "mass: expected a number >= 0, got %g", l->mass);
  if (!has_full) memcpy(full, diagonal, sizeof diagonal);
  memcpy(l->center, at.p, sizeof l->center);
  tensor_turn(at.r, full, l->inertia);
  l->has_mass = l->mass > 0;
  for (int k = 0; k < 6; k++) l->has_inertia |= full[k] != 0;
  return true;
}

/* A body without <inertial> has the mass of its geometry: exact for shapes, by density in the scene for meshes. */
static void mass_from_geoms(Mjcf *m, int link) {
  Link *l = &m->robot->link[link];
  double mass, center[3], inertia[6];
  if ((l->has_mass && !m->from_geoms) || m->never_from_geoms) return;
  if (robot_mass_of_geoms(l, &mass, center, inertia)) {
    l->mass = mass, l->has_mass = l->has_inertia = true;
    memcpy(l->center, center, sizeof center);
    memcpy(l->inertia, inertia, sizeof inertia);
    return;
  }
  double given = 0, density = 0;
  for (size_t k = 0; k < l->geom_count; k++) {
    const Geom *g = &l->geom[k];
    if (g->kind == GEOM_PLANE) continue;
    if (g->mass > 0) given += g->mass;
    else if (g->mass < 0) density = fmax(density, g->density);
  }
  if (given > 0 || density > 0) l->density = density > 0 ? density : 1000;
}

/* ---- joints ---- */

static bool is_joint(const Xml *node) { return xml_is(node, "joint") || xml_is(node, "freejoint"); }

static bool joint_kind(Mjcf *m, Xml *node, const char *class, RobotJointKind *kind) {
  static const char *const name[] = {"", "hinge", "slide", "ball", "", "free"};
  const char *type = xml_is(node, "freejoint") ? "free" : mjcf_text(m, node, class, "type");
  if (!type) type = "hinge";
  for (int k = 1; k < 6; k++)
    if (name[k][0] && strcmp(type, name[k]) == 0) return *kind = (RobotJointKind)k, true;
  return xml_fail(node, m->robot->error, "type: expected hinge, slide, ball or free, got \"%.60s\"", type);
}

static bool read_coordinate(Mjcf *m, Xml *node, const char *class, RobotJoint *j) {
  double unit = j->kind == JOINT_HINGE ? m->angle : 1;
  size_t has_range;
  if (!mjcf_numbers(m, node, class, "range", 2, 2, j->range, &has_range) ||
      !mjcf_limited(m, node, class, "limited", has_range > 0, &j->limited) ||
      !mjcf_number(m, node, class, "ref", &j->reference) || !mjcf_number(m, node, class, "springref", &j->rest) ||
      !mjcf_number(m, node, class, "stiffness", &j->stiffness) ||
      !mjcf_number(m, node, class, "damping", &j->damping) ||
      !mjcf_number(m, node, class, "frictionloss", &j->friction) ||
      !mjcf_number(m, node, class, "armature", &j->armature))
    return false;
  j->range[0] *= unit, j->range[1] *= unit, j->reference *= unit, j->rest *= unit;
  j->q = j->reference;
  if (j->stiffness < 0 || j->damping < 0 || j->friction < 0 || j->armature < 0)
    return xml_fail(node, m->robot->error, "expected stiffness, damping, frictionloss and armature >= 0");
  if (j->limited && j->kind != JOINT_BALL && !(j->range[0] < j->range[1]))
    return xml_fail(node, m->robot->error, "range: expected the lower limit below the upper, got %g and %g",
                    j->range[0], j->range[1]);
  return true;
}

static bool read_joint(Mjcf *m, Xml *node, int link, const char *class) {
  Robot *robot = m->robot;
  RobotJoint j = {.link = link, .axis = {0, 0, 1}, .xml = node};
  char made[40];
  if (!mjcf_check_class(m, node, "class") || !joint_kind(m, node, class, &j.kind)) return false;
  const char *name = xml_text(node, "name");
  snprintf(made, sizeof made, "joint %zu", robot->joint_count + 1);
  if (name && robot_find_joint(robot, name) >= 0)
    return xml_fail(node, robot->error, "there is another joint of this name");
  memcpy(j.turn, pose_identity().r, sizeof j.turn);
  j.qpos = m->qpos;
  m->qpos += j.kind == JOINT_FREE ? 7 : j.kind == JOINT_BALL ? 4 : 1;
  mjcf_text(m, node, class, "group");
  if (j.kind == JOINT_FREE) j.axis[2] = 1;
  else if (!mjcf_numbers(m, node, class, "pos", 3, 3, j.point, NULL) ||
           !mjcf_numbers(m, node, class, "axis", 3, 3, j.axis, NULL) || !read_coordinate(m, node, class, &j))
    return false;
  if (!vec_normalize(j.axis)) return xml_fail(node, robot->error, "axis: expected an axis that is not 0");
  RobotJoint *slot = robot_add(robot, &robot->joint, &robot->joint_count, sizeof *slot);
  if (!slot || !(j.name = robot_copy(robot, name ? name : made))) return false;
  *slot = j;
  robot->link[link].joint = (int)robot->joint_count - 1;
  return true;
}

/* ---- bodies ---- */

static int add_link(Mjcf *m, Xml *node, const char *name, int parent, const Pose *at) {
  Robot *robot = m->robot;
  Link *l = robot_add(robot, &robot->link, &robot->link_count, sizeof *l);
  if (!l || !(l->name = robot_copy(robot, name))) return -1;
  l->parent = parent, l->joint = -1, l->at = *at, l->xml = node;
  return (int)robot->link_count - 1;
}

/* A body with several joints hangs on a chain of light links, one for each joint but the last. */
static int add_chain(Mjcf *m, Xml *node, const char *name, int parent, const Pose *at, const char *class) {
  Pose here = *at, none = pose_identity();
  Xml *next = NULL;
  char made[400];
  for (Xml *j = node->first; j; j = j->next) {
    if (!is_joint(j)) continue;
    j->used = true;
    for (next = j->next; next && !is_joint(next);) next = next->next;
    if (!next) {
      int link = add_link(m, node, name, parent, &here);
      return link < 0 || !read_joint(m, j, link, class) ? -1 : link;
    }
    snprintf(made, sizeof made, "%.300s carrier %zu", name, m->robot->link_count);
    parent = add_link(m, node, made, parent, &here);
    if (parent < 0 || !read_joint(m, j, parent, class)) return -1;
    m->robot->link[parent].carries = true;
    here = none;
  }
  return add_link(m, node, name, parent, &here);
}

/* A thousandth of what they carry. */
static void weigh_carriers(Mjcf *m, int link) {
  const Link *l = &m->robot->link[link];
  for (int at = l->parent; at >= 0 && m->robot->link[at].carries && m->robot->link[at].xml == l->xml;
       at = m->robot->link[at].parent) {
    Link *c = &m->robot->link[at];
    c->has_mass = c->has_inertia = true;
    c->mass = 1e-3 * (l->mass > 0 ? l->mass : 1);
    memcpy(c->center, l->center, sizeof c->center);
    for (int k = 0; k < 3; k++) c->inertia[k] = l->has_inertia ? 1e-3 * l->inertia[k] : 1e-4 * c->mass;
    for (int k = 3; k < 6; k++) c->inertia[k] = 1e-3 * l->inertia[k];
    robot_note(m->robot, "%.200s:%d: a body with several joints hangs on links of a thousandth of its mass",
               l->xml->file, l->xml->line);
  }
}

static bool read_items(Mjcf *m, Xml *node, int link, const Pose *frame, const char *class);

static const char *child_class(Mjcf *m, Xml *node, const char *class, bool *ok) {
  const char *own = xml_text(node, "childclass");
  *ok = mjcf_check_class(m, node, "childclass");
  return own ? own : class;
}

static bool read_body(Mjcf *m, Xml *node, int parent, const Pose *frame, const char *class) {
  const char *name = xml_text(node, "name");
  char made[40];
  Pose at;
  bool ok;
  class = child_class(m, node, class, &ok);
  if (!ok || !mjcf_pose(m, node, NULL, &at)) return false;
  snprintf(made, sizeof made, "body %zu", m->robot->link_count);
  if (name && robot_find_link(m->robot, name) >= 0)
    return xml_fail(node, m->robot->error, "there is another body of this name");
  at = pose_times(frame, &at);
  int link = add_chain(m, node, name ? name : made, parent, &at, class);
  Pose here = pose_identity();
  if (link < 0) return false;
  Xml *inertial = xml_child(node, "inertial");
  if (inertial && !read_inertial(m, inertial, link)) return false;
  return read_items(m, node, link, &here, class);
}

static bool read_frame(Mjcf *m, Xml *node, int link, const Pose *frame, const char *class) {
  Pose at;
  bool ok;
  class = child_class(m, node, class, &ok);
  if (!ok || !mjcf_pose(m, node, NULL, &at)) return false;
  at = pose_times(frame, &at);
  xml_use(node, "name");
  return read_items(m, node, link, &at, class);
}

/* Sites are used if a constraint names them. */
static bool add_site(Mjcf *m, Xml *node, int link, const Pose *frame) {
  Site *site = robot_add(m->robot, &m->site, &m->site_count, sizeof *site);
  if (!site || !xml_numbers(node, "pos", 3, 3, site->at.p, NULL, m->robot->error)) return false;
  memcpy(site->at.r, pose_identity().r, sizeof site->at.r);
  pose_point(frame, site->at.p, site->at.p);
  site->xml = node;
  site->link = link;
  return true;
}

/* Geometry, bodies and frames inside a body or frame. */
static bool read_items(Mjcf *m, Xml *node, int link, const Pose *frame, const char *class) {
  for (Xml *child = node->first; child; child = child->next) {
    bool body = xml_is(child, "body"), inner = xml_is(child, "frame"), geom = xml_is(child, "geom");
    if (xml_is(child, "site") && !add_site(m, child, link, frame)) return false;
    if (!body && !inner && !geom) continue;
    child->used = true;
    if (geom   ? !read_geom(m, child, link, frame, class)
        : body ? !read_body(m, child, link, frame, class)
               : !read_frame(m, child, link, frame, class))
      return false;
  }
  return true;
}

bool mjcf_read_world(Mjcf *m, Xml *world) {
  Pose here = pose_identity();
  bool ok;
  int link = robot_find_link(m->robot, "world");
  if (link < 0) link = add_link(m, world, "world", -1, &here);
  const char *class = child_class(m, world, NULL, &ok);
  return link >= 0 && ok && read_frame(m, world, link, &here, class);
}

void mjcf_find_masses(Mjcf *m) {
  int count = (int)m->robot->link_count;
  for (int i = 0; i < count; i++)
    if (!m->robot->link[i].carries) mass_from_geoms(m, i);
  for (int i = 0; i < count; i++)
    if (!m->robot->link[i].carries) weigh_carriers(m, i);
}

bool mjcf_find_body(Mjcf *m, Xml *node, const char *attribute, int *link) {
  const char *name = xml_text(node, attribute);
  *link = -1;
  if (!name || strcmp(name, "world") == 0) return true;
  *link = robot_find_link(m->robot, name);
  return *link >= 0 || xml_fail(node, m->robot->error, "%s: no body \"%.100s\"", attribute, name);
}
