/* URDF: <robot> with <link>s and <joint>s. See tree.h. Tested in tests/test_robot.c. */
#include <stdlib.h>
#include <string.h>

#include "robot/tree.h"

void mat_from_rpy(const double rpy[3], double r[9]) {
  static const double x[3] = {1, 0, 0}, y[3] = {0, 1, 0}, z[3] = {0, 0, 1};
  double rx[9], ry[9], rz[9];
  mat_from_axis(x, rpy[0], rx);
  mat_from_axis(y, rpy[1], ry);
  mat_from_axis(z, rpy[2], rz);
  mat_product(ry, rx, r);
  mat_product(rz, r, r);
}

static bool read_origin(Robot *robot, Xml *node, Pose *pose) {
  Xml *origin = xml_child(node, "origin");
  double rpy[3] = {0};
  *pose = pose_identity();
  if (!origin) return true;
  if (!xml_numbers(origin, "xyz", 3, 3, pose->p, NULL, robot->error) ||
      !xml_numbers(origin, "rpy", 3, 3, rpy, NULL, robot->error))
    return false;
  mat_from_rpy(rpy, pose->r);
  return true;
}

/* ---- materials ---- */

/* A material may be defined at the top or in the first visual that uses it. */
static Xml *find_color(Xml *node, const char *name) {
  for (Xml *child = node->first; child; child = child->next) {
    Xml *color = xml_is(child, "material") ? xml_child(child, "color") : NULL;
    const char *own = color ? xml_text(child, "name") : NULL;
    if (own && strcmp(own, name) == 0) return child->used = true, color;
    Xml *below = xml_is(child, "link") || xml_is(child, "visual") ? find_color(child, name) : NULL;
    if (below) return below;
  }
  return NULL;
}

static bool read_material(Robot *robot, Xml *visual, Xml *top, Geom *geom) {
  Xml *material = xml_child(visual, "material"), *color = material ? xml_child(material, "color") : NULL;
  const char *name = material ? xml_text(material, "name") : NULL;
  if (material && !color && name && name[0]) color = find_color(top, name);
  return !color || robot_color(robot, color, "rgba", geom->color);
}

/* ---- geometry ---- */

static bool need_numbers(Robot *robot, Xml *node, const char *attribute, size_t count, double *value) {
  if (!xml_need(node, attribute, robot->error) ||
      !xml_numbers(node, attribute, count, count, value, NULL, robot->error))
    return false;
  for (size_t k = 0; k < count; k++)
    if (!(value[k] > 0)) return xml_fail(node, robot->error, "%s: expected numbers > 0, got %g", attribute, value[k]);
  return true;
}

static bool read_mesh(Robot *robot, Xml *mesh, Geom *geom) {
  const char *name = xml_need(mesh, "filename", robot->error);
  geom->kind = GEOM_MESH;
  for (int k = 0; k < 3; k++) geom->size[k] = 1;
  if (!name || !xml_numbers(mesh, "scale", 3, 3, geom->size, NULL, robot->error)) return false;
  if (geom->size[0] * geom->size[1] * geom->size[2] == 0)
    return xml_fail(mesh, robot->error, "scale: expected factors that are not 0");
  return (geom->file = robot_mesh_file(robot, mesh, name, robot->folder)) != NULL;
}

static bool read_shape(Robot *robot, Xml *geometry, Geom *geom) {
  Xml *shape = xml_child(geometry, NULL);
  if (xml_is(shape, "mesh")) return read_mesh(robot, shape, geom);
  if (xml_is(shape, "box")) return geom->kind = GEOM_BOX, need_numbers(robot, shape, "size", 3, geom->size);
  if (xml_is(shape, "sphere")) return geom->kind = GEOM_SPHERE, need_numbers(robot, shape, "radius", 1, geom->size);
  bool round = xml_is(shape, "cylinder"), capped = xml_is(shape, "capsule");
  if (!round && !capped) return xml_fail(shape, robot->error, "expected box, cylinder, capsule, sphere or mesh");
  geom->kind = round ? GEOM_CYLINDER : GEOM_CAPSULE;
  return need_numbers(robot, shape, "radius", 1, geom->size) && need_numbers(robot, shape, "length", 1, geom->size + 1);
}

static bool read_geom(Robot *robot, Xml *node, Xml *top, int link, bool visual) {
  Xml *geometry = xml_child(node, "geometry");
  if (!geometry || !geometry->first) return xml_fail(node, robot->error, "expected a <geometry> with a shape");
  Link *l = &robot->link[link];
  Geom *geom = robot_add(robot, &l->geom, &l->geom_count, sizeof *geom);
  if (!geom) return false;
  geom->visual = visual;
  geom->type = geom->affinity = 1;
  geom->friction = geom->mass = -1;
  geom->density = 1000;
  geom->xml = node;
  xml_use(node, "name");
  return read_origin(robot, node, &geom->at) && read_shape(robot, geometry, geom) &&
         read_material(robot, node, top, geom);
}

/* ---- links ---- */

static bool read_inertial(Robot *robot, Xml *node, Link *link) {
  static const char *const key[6] = {"ixx", "iyy", "izz", "ixy", "ixz", "iyz"};
  Xml *inertial = xml_child(node, "inertial"), *mass, *inertia;
  Pose at;
  if (!inertial) return true;
  if (!read_origin(robot, inertial, &at)) return false;
  mass = xml_child(inertial, "mass"), inertia = xml_child(inertial, "inertia");
  if (!mass || !xml_need(mass, "value", robot->error))
    return mass ? false : xml_fail(inertial, robot->error, "expected a <mass value=\"...\"/>");
  if (!xml_number(mass, "value", &link->mass, robot->error)) return false;
  if (link->mass < 0) return xml_fail(mass, robot->error, "value: expected a mass >= 0, got %g", link->mass);
  for (int k = 0; inertia && k < 6; k++)
    if (!xml_number(inertia, key[k], &link->inertia[k], robot->error)) return false;
  for (int k = 0; k < 6; k++) link->has_inertia |= link->inertia[k] != 0;
  link->has_mass = link->mass > 0;
  memcpy(link->center, at.p, sizeof link->center);
  tensor_turn(at.r, link->inertia, link->inertia);
  return true;
}

static bool read_link(Robot *robot, Xml *node, Xml *top) {
  const char *name = xml_need(node, "name", robot->error);
  if (!name) return false;
  if (robot_find_link(robot, name) >= 0) return xml_fail(node, robot->error, "there is another link of this name");
  Link *link = robot_add(robot, &robot->link, &robot->link_count, sizeof *link);
  int index = (int)robot->link_count - 1;
  if (!link || !(link->name = robot_copy(robot, name))) return false;
  link->parent = link->joint = -1;
  link->xml = node;
  link->at = pose_identity();
  if (!read_inertial(robot, node, link)) return false;
  for (Xml *v = xml_child(node, "visual"); v; v = xml_next(v, "visual"))
    if (!read_geom(robot, v, top, index, true)) return false;
  for (Xml *c = xml_child(node, "collision"); c; c = xml_next(c, "collision"))
    if (!read_geom(robot, c, top, index, false)) return false;
  return true;
}

/* ---- joints ---- */

static int find_named_link(Robot *robot, Xml *joint, const char *which) {
  Xml *node = xml_child(joint, which);
  if (!node) return xml_fail(joint, robot->error, "expected a <%s link=\"...\"/>", which) - 1;
  const char *name = xml_need(node, "link", robot->error);
  if (!name) return -1;
  int link = robot_find_link(robot, name);
  if (link < 0) xml_fail(node, robot->error, "no link \"%.100s\"", name);
  return link;
}

static bool read_kind(Robot *robot, Xml *node, RobotJointKind *kind, bool *limited) {
  static const struct {
    const char *name;
    RobotJointKind kind;
    bool limited;
  } known[] = {{"revolute", JOINT_HINGE, true}, {"continuous", JOINT_HINGE, false}, {"prismatic", JOINT_SLIDE, true},
               {"fixed", JOINT_FIXED, false},   {"floating", JOINT_FREE, false},    {"planar", JOINT_PLANAR, false}};
  const char *type = xml_need(node, "type", robot->error);
  for (size_t k = 0; type && k < sizeof known / sizeof *known; k++)
    if (strcmp(type, known[k].name) == 0) return *kind = known[k].kind, *limited = known[k].limited, true;
  return type &&
         xml_fail(node, robot->error,
                  "type: expected revolute, continuous, prismatic, fixed, floating or planar, got \"%.60s\"", type);
}

static bool read_dynamics(Robot *robot, Xml *node, RobotJoint *joint) {
  Xml *limit = xml_child(node, "limit"), *dynamics = xml_child(node, "dynamics");
  if (limit && (!xml_number(limit, "lower", &joint->range[0], robot->error) ||
                !xml_number(limit, "upper", &joint->range[1], robot->error) ||
                !xml_number(limit, "effort", &joint->effort, robot->error)))
    return false;
  if (dynamics && (!xml_number(dynamics, "damping", &joint->damping, robot->error) ||
                   !xml_number(dynamics, "friction", &joint->friction, robot->error)))
    return false;
  if (joint->damping < 0 || joint->friction < 0)
    return xml_fail(dynamics, robot->error, "expected damping and friction >= 0");
  if (joint->limited && limit && joint->range[0] > joint->range[1])
    return xml_fail(limit, robot->error, "expected lower <= upper, got %g and %g", joint->range[0], joint->range[1]);
  joint->limited = joint->limited && limit && joint->range[0] < joint->range[1];
  return true;
}

static bool read_joint(Robot *robot, Xml *node) {
  const char *name = xml_need(node, "name", robot->error);
  RobotJointKind kind = JOINT_FIXED;
  bool limited = false;
  Pose at;
  if (!name || !read_kind(robot, node, &kind, &limited) || !read_origin(robot, node, &at)) return false;
  int parent = find_named_link(robot, node, "parent"), child = parent < 0 ? -1 : find_named_link(robot, node, "child");
  if (parent < 0 || child < 0) return false;
  Link *link = &robot->link[child];
  if (link->parent >= 0)
    return xml_fail(node, robot->error, "link \"%.60s\" is the child of two joints; the links must form a tree",
                    link->name);
  link->parent = parent;
  link->at = at;
  if (kind == JOINT_FIXED) return true;
  RobotJoint *joint = robot_add(robot, &robot->joint, &robot->joint_count, sizeof *joint);
  if (!joint || !(joint->name = robot_copy(robot, name))) return false;
  link->joint = (int)robot->joint_count - 1;
  *joint = (RobotJoint){.name = joint->name, .kind = kind, .link = child, .limited = limited, .xml = node};
  memcpy(joint->turn, pose_identity().r, sizeof joint->turn);
  joint->axis[0] = 1;
  Xml *axis = kind == JOINT_FREE ? NULL : xml_child(node, "axis");
  if (axis && !xml_numbers(axis, "xyz", 3, 3, joint->axis, NULL, robot->error)) return false;
  if (!vec_normalize(joint->axis)) return xml_fail(axis, robot->error, "xyz: expected an axis that is not 0");
  return read_dynamics(robot, node, joint);
}

static bool read_mimic(Robot *robot, Xml *node) {
  Xml *mimic = xml_child(node, "mimic");
  if (!mimic) return true;
  const char *own = xml_text(node, "name"), *name = xml_need(mimic, "joint", robot->error);
  int joint = robot_find_joint(robot, own), other = name ? robot_find_joint(robot, name) : -1;
  if (!name) return false;
  if (joint < 0) return xml_fail(mimic, robot->error, "a fixed joint cannot mimic another");
  if (other < 0 || other == joint) return xml_fail(mimic, robot->error, "no movable joint \"%.100s\"", name);
  Coupling *c = robot_add(robot, &robot->coupling, &robot->coupling_count, sizeof *c);
  if (!c) return false;
  *c = (Coupling){.kind = COUPLE_JOINTS, .link = {-1, -1}, .joint = {joint, other}, .ratio = 1, .xml = mimic};
  return xml_number(mimic, "multiplier", &c->ratio, robot->error) &&
         xml_number(mimic, "offset", &c->offset, robot->error);
}

/* ---- the tree ---- */

/* Every link must reach the root. */
static bool check_tree(Robot *robot, int *root) {
  int count = (int)robot->link_count;
  *root = -1;
  for (int i = 0; i < count; i++) {
    int at = i, steps = 0;
    while (at >= 0 && robot->link[at].parent >= 0 && steps++ < count) at = robot->link[at].parent;
    if (steps > count)
      return xml_fail(robot->link[i].xml, robot->error, "the link is its own ancestor: the joints form a loop");
    if (*root >= 0 && at != *root)
      return xml_fail(robot->link[at].xml, robot->error,
                      "no joint has this link as its child, nor link \"%.60s\": a robot has one root",
                      robot->link[*root].name);
    *root = at;
  }
  return true;
}

/* The root is fixed to the world, or has all freedom. */
static bool place_root(Robot *robot, int root) {
  if (robot->options->base != ROBOT_BASE_FREE) return true;
  RobotJoint *joint = robot_add(robot, &robot->joint, &robot->joint_count, sizeof *joint);
  if (!joint || !(joint->name = robot_copy(robot, "base"))) return false;
  robot->link[root].joint = (int)robot->joint_count - 1;
  joint->kind = JOINT_FREE;
  joint->link = root;
  joint->axis[0] = 1;
  joint->xml = robot->link[root].xml;
  return true;
}

bool urdf_read(Robot *robot, Xml *top) {
  int root;
  if (!xml_is(top, "robot")) return xml_fail(top, robot->error, "expected <robot>: this is no URDF file");
  const char *name = xml_text(top, "name");
  top->used = true;
  if (name && !(robot->name = robot_copy(robot, name))) return false;
  for (Xml *node = xml_child(top, "link"); node; node = xml_next(node, "link"))
    if (!read_link(robot, node, top)) return false;
  for (Xml *node = xml_child(top, "joint"); node; node = xml_next(node, "joint"))
    if (!read_joint(robot, node)) return false;
  for (Xml *node = xml_child(top, "joint"); node; node = xml_next(node, "joint"))
    if (!read_mimic(robot, node)) return false;
  for (Xml *node = xml_child(top, "material"); node; node = xml_next(node, "material")) xml_use_all(node);
  if (!robot->link_count) return xml_fail(top, robot->error, "the robot has no links");
  return check_tree(robot, &root) && place_root(robot, root);
}
