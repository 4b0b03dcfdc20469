/* Joints of abd's own format (own.h, docs/scene.md). Checks the keys of each type, converts anchors and axes to the
 * world, and checks everything that needs no world: anchors apart, zero axes, limits that exclude the start, ropes
 * that are too short. Tests: tests/test_scene_joint.c. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scene/own.h"

/* A type of joint in a scene: every kind of abd.h, and "rack", a gear with a radius. */
typedef struct JointType {
  const char *name;
  AbdJointKind kind;
  uint32_t takes; /* ABD_JOINT_TAKES_* and ABD_JOINT_NEEDS_* bits, TAKES_RADIUS */
} JointType;
enum { TYPE_COUNT = ABD_JOINT_KIND_COUNT + 1, TAKES_RADIUS = 1 << 30 };

static JointType joint_type(int index) {
  if (index == ABD_JOINT_KIND_COUNT) return (JointType){"rack", ABD_JOINT_GEAR, ABD_JOINT_TAKES_JOINTS | TAKES_RADIUS};
  const AbdJointKindView *view = abd_joint_kind_view((AbdJointKind)index);
  return (JointType){view->name, (AbdJointKind)index, view->takes};
}

/* The keys of joints beside "name", "type" and "comment", and the types that take them. */
static const struct {
  const char *key;
  uint32_t takes;
} keys[] = {
    {"bodies", ABD_JOINT_TAKES_BODIES},       {"frame", ABD_JOINT_TAKES_BODIES},
    {"point", ABD_JOINT_TAKES_BODIES},        {"point_a", ABD_JOINT_TAKES_BODIES},
    {"point_b", ABD_JOINT_TAKES_BODIES},      {"collide", ABD_JOINT_TAKES_BODIES},
    {"axis", ABD_JOINT_TAKES_AXIS},           {"axis_b", ABD_JOINT_TAKES_AXIS_B},
    {"limits", ABD_JOINT_TAKES_COORDINATE},   {"stiffness", ABD_JOINT_TAKES_COORDINATE},
    {"rest", ABD_JOINT_TAKES_COORDINATE},     {"damping", ABD_JOINT_TAKES_COORDINATE},
    {"friction", ABD_JOINT_TAKES_COORDINATE}, {"angle_limits", ABD_JOINT_TAKES_ANGLE_LIMIT},
    {"length", ABD_JOINT_TAKES_LENGTH},       {"pitch", ABD_JOINT_TAKES_PITCH},
    {"free", ABD_JOINT_TAKES_FREE},           {"joints", ABD_JOINT_TAKES_JOINTS},
    {"ratio", ABD_JOINT_TAKES_RATIO},         {"radius", TAKES_RADIUS},
    {"break_force", ABD_JOINT_TAKES_BODIES},  {"break_torque", ABD_JOINT_TAKES_BODIES},
};
enum { KEY_COUNT = sizeof keys / sizeof keys[0] };

/* ---- Type and keys ---- */

static const char *article(const char *word) { return strchr("aeiou", word[0]) ? "an" : "a"; }

static bool read_type(const Node *node, JointType *type) {
  const char *names[TYPE_COUNT + 1] = {0};
  int choice = 0;
  Node child;
  for (int i = 0; i < TYPE_COUNT; i++) names[i] = joint_type(i).name;
  if (!node_get(node, "type", &child)) return node_fail(node, "expected a key \"type\", such as \"hinge\"");
  const char *word = json_string_value(child.value), *nearest = word ? nearest_name(word, names) : NULL;
  if (nearest && strcmp(nearest, word) != 0)
    return node_fail(&child, "no joint is of type \"%.60s\"; did you mean \"%s\"?", word, nearest);
  if (!read_choice(node, "type", names, &choice)) return false;
  *type = joint_type(choice);
  return true;
}

static bool check_keys(const Node *node, const JointType *type) {
  for (int i = 0; i < KEY_COUNT; i++) {
    Node child;
    if ((keys[i].takes & type->takes) || !node_get(node, keys[i].key, &child)) continue;
    return node_fail(&child, "%s %s has no such key", article(type->name), type->name);
  }
  return true;
}

static bool check_known(const Node *node) {
  const char *known[KEY_COUNT + 4] = {"name", "comment", "type"};
  for (int i = 0; i < KEY_COUNT; i++) known[3 + i] = keys[i].key;
  return node_check_keys(node, known);
}

/* ---- Bodies ---- */

typedef struct JointBodies {
  size_t a, b;
  bool has_b;
} JointBodies;

static bool read_bodies(OwnFile *file, const Node *node, AbdJointDef *def, JointBodies *bodies) {
  const Scene *scene = file->loader->scene;
  Node list;
  if (!node_get(node, "bodies", &list))
    return node_fail(node, "expected a key \"bodies\": two bodies, or one that is joined to the world");
  if (!json_is_array(list.value) || node_size(&list) < 1 || node_size(&list) > 2)
    return node_expected(&list, "a list of 2 bodies, or of one that is joined to the world");
  bodies->has_b = node_size(&list) == 2;
  Node a = node_item(&list, 0), b = node_item(&list, 1);
  if (!own_find_body(file, &a, &bodies->a) || (bodies->has_b && !own_find_body(file, &b, &bodies->b))) return false;
  if (bodies->has_b && bodies->a == bodies->b) return node_fail(&list, "a joint needs two different bodies");
  bool moves = scene->body[bodies->a].def.motion == ABD_MOTION_DYNAMIC ||
               (bodies->has_b && scene->body[bodies->b].def.motion == ABD_MOTION_DYNAMIC);
  if (!moves) return node_fail(&list, "a joint needs at least one body with \"motion\": \"dynamic\"");
  def->body_a.id = (uint32_t)bodies->a + 1;
  def->body_b.id = bodies->has_b ? (uint32_t)bodies->b + 1 : 0;
  return true;
}

/* ---- Anchors and axes ---- */

static bool read_frame(const Node *node, bool *in_body) {
  static const char *const frames[] = {"world", "body", NULL};
  int frame = 0;
  Node child;
  if (!read_choice(node, "frame", frames, &frame)) return false;
  *in_body = frame == 1;
  if (*in_body && node_get(node, "point", &child))
    return node_fail(&child, "\"point\" is a point of the world; with \"frame\": \"body\" give \"point_a\"");
  if (!*in_body && node_get(node, "point_a", &child))
    return node_fail(&child,
                     "\"point_a\" is a point of the body and needs \"frame\": \"body\"; in the world give \"point\"");
  return true;
}

/* Reads a point (offset = 1) or direction (offset = 0) of the world; it is in the body's coordinates if body is not
 * NULL. */
static bool read_placed(OwnFile *file, const Node *child, const size_t *body, double offset, double out[3]) {
  double x[3];
  if (!node_vector(child, x, 3)) return false;
  if (body) scene_body_to_world(file->loader->scene, *body, offset, x, out);
  else memcpy(out, x, sizeof x);
  return (isfinite(out[0]) && isfinite(out[1]) && isfinite(out[2])) || node_fail(child, "the coordinates overflow");
}

static double gap_of(const double a[3], const double b[3]) {
  return hypot(hypot(a[0] - b[0], a[1] - b[1]), a[2] - b[2]);
}

/* The largest extent of a body's mesh; gaps are compared with it. */
static double body_size(const Scene *scene, size_t body) {
  const MeshData *mesh = &scene->mesh[scene->body[body].mesh].data;
  double size = 0;
  for (int k = 0; k < 3; k++) {
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < mesh->vertex_count; i++) {
      low = fmin(low, mesh->vertex[3 * i + k]);
      high = fmax(high, mesh->vertex[3 * i + k]);
    }
    size = fmax(size, high - low);
  }
  return size;
}

static double tolerance(const Scene *scene, const JointBodies *bodies) {
  double size = body_size(scene, bodies->a);
  if (bodies->has_b) size = fmin(size, body_size(scene, bodies->b));
  return 1e-6 * size;
}

/* If the type has only one anchor, point_b is checked and left out; the world then uses a's anchor for both. */
static bool read_points(OwnFile *file, const Node *node, const JointType *type, const JointBodies *bodies, bool in_body,
                        AbdJointDef *def) {
  const Scene *scene = file->loader->scene;
  const char *key = in_body ? "point_a" : "point";
  Node point, point_b;
  double x[3];
  memcpy(def->point, scene->body[bodies->a].def.position, sizeof def->point); /* for types that need no point */
  if (node_get(node, key, &point)) {
    if (!read_placed(file, &point, in_body ? &bodies->a : NULL, 1, def->point)) return false;
  } else if (type->takes & ABD_JOINT_NEEDS_POINT) {
    return node_fail(node, "expected a key \"%s\"", key);
  }
  if (!node_get(node, "point_b", &point_b)) {
    return !(type->takes & ABD_JOINT_NEEDS_POINT_B) || node_fail(node, "expected a key \"point_b\": the other end");
  }
  if (!read_placed(file, &point_b, in_body && bodies->has_b ? &bodies->b : NULL, 1, x)) return false;
  double gap = gap_of(def->point, x);
  if (type->takes & ABD_JOINT_NEEDS_POINT_B) memcpy(def->point_b, x, sizeof x);
  else if (gap > 0 && !(gap <= tolerance(scene, bodies)))
    return node_fail(&point_b,
                     "the anchors are %.6g m apart: (%.6g, %.6g, %.6g) of the first body and (%.6g, %.6g, %.6g) "
                     "of the second must be one place at the start",
                     gap, def->point[0], def->point[1], def->point[2], x[0], x[1], x[2]);
  return true;
}

static bool read_axis(OwnFile *file, const Node *node, const char *key, const size_t *body, double axis[3]) {
  Node child;
  if (!node_get(node, key, &child)) return node_fail(node, "expected a key \"%s\"", key);
  if (!read_placed(file, &child, body, 0, axis)) return false;
  double length_sq = axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2];
  return (length_sq > 1e-200 && length_sq < 1e200) || node_expected(&child, "an axis that is not 0");
}

static bool read_axes(OwnFile *file, const Node *node, const JointType *type, const JointBodies *bodies, bool in_body,
                      AbdJointDef *def) {
  Node child;
  double dot = 0, product = 1;
  if ((type->takes & ABD_JOINT_TAKES_AXIS) && !read_axis(file, node, "axis", in_body ? &bodies->a : NULL, def->axis))
    return false;
  if (!(type->takes & ABD_JOINT_TAKES_AXIS_B)) return true;
  if (!read_axis(file, node, "axis_b", in_body && bodies->has_b ? &bodies->b : NULL, def->axis_b)) return false;
  for (int k = 0; k < 3; k++) dot += def->axis[k] * def->axis_b[k];
  product = gap_of(def->axis, (double[3]){0}) * gap_of(def->axis_b, (double[3]){0});
  if (fabs(dot) <= 1e-6 * product) return true;
  node_get(node, "axis_b", &child);
  return node_fail(&child, "expected an axis at right angles to \"axis\", got one at %.6g degrees",
                   acos(fmax(-1, fmin(1, dot / product))) * 57.29577951308232);
}

/* ---- Coordinate ---- */

static bool read_limits(const Node *node, const char *key, double start, double limit[2]) {
  Node list;
  if (!node_get(node, key, &list)) return true;
  if (!json_is_array(list.value) || node_size(&list) != 2)
    return node_expected(&list, "a list of 2 numbers, the lowest and the highest, null for none");
  for (size_t i = 0; i < 2; i++) {
    Node item = node_item(&list, i);
    if (!json_is_null(item.value) && !node_number(&item, NUMBER_ANY, &limit[i])) return false;
  }
  if (!(limit[0] < limit[1]))
    return node_fail(&list, "expected the lower limit below the upper, got %g and %g", limit[0], limit[1]);
  return (limit[0] < start && start < limit[1]) ||
         node_fail(&list, "the limits %g to %g exclude the start, which is at %g; there must be room on both sides",
                   limit[0], limit[1], start);
}

/* Of distance and rope; returns the distance at the start through start. */
static bool read_length(OwnFile *file, const Node *node, const JointBodies *bodies, AbdJointDef *def, double *start) {
  Node child;
  double slack = tolerance(file->loader->scene, bodies);
  *start = gap_of(def->point, def->point_b);
  if (!isfinite(*start)) return node_fail(node, "the distance of the points overflows");
  bool given = node_get(node, "length", &child);
  if (given && !node_number(&child, NUMBER_POSITIVE, &def->length)) return false;
  if (!(*start > slack)) return node_fail(node, "the two points are at one place; a \"ball\" keeps them there");
  if (def->kind == ABD_JOINT_DISTANCE && given && fabs(*start - def->length) > slack)
    return node_fail(&child, "the points are %.9g m apart at the start, expected the length %.9g", *start, def->length);
  if (def->kind == ABD_JOINT_ROPE && given && !(*start < def->length))
    return node_fail(&child, "the rope is too short: its ends are %.9g m apart at the start, it is %.9g m long", *start,
                     def->length);
  return true;
}

static bool read_coordinate(const Node *node, AbdJointDef *def, double start) {
  Node child;
  static const char *const own_keys[] = {"limits", "stiffness", "rest", "damping", "friction"};
  for (int i = 0; i < 5 && !joint_moves(def); i++) {
    if (node_get(node, own_keys[i], &child))
      return node_fail(&child, "the angle is held; only with \"free\": true it can be limited or sprung");
  }
  if (node_get(node, "rest", &child) && !json_object_get(node->value, "stiffness"))
    return node_fail(&child, "without a \"stiffness\" there is no spring that rests");
  def->rest = start; /* the default: the spring has no force at the start */
  return read_limits(node, "limits", start, def->limit) && read_limits(node, "angle_limits", 0, def->angle_limit) &&
         read_number(node, "stiffness", NUMBER_NOT_NEGATIVE, &def->stiffness) &&
         read_number(node, "rest", NUMBER_ANY, &def->rest) &&
         read_number(node, "damping", NUMBER_NOT_NEGATIVE, &def->damping) &&
         read_number(node, "friction", NUMBER_NOT_NEGATIVE, &def->friction);
}

static bool read_not_zero(const Node *node, const char *key, const char *unit, double *value) {
  Node child;
  if (!node_get(node, key, &child)) return node_fail(node, "expected a key \"%s\" %s", key, unit);
  return node_number(&child, NUMBER_ANY, value) && (*value != 0 || node_expected(&child, "a number that is not 0"));
}

/* ---- Gears ---- */

static bool check_rack(const Scene *scene, const Node *list, const size_t index[2]) {
  static const AbdCoordinate wanted[2] = {ABD_COORDINATE_ANGLE, ABD_COORDINATE_TRAVEL};
  static const char *const what[2] = {"a joint that turns first, such as a hinge",
                                      "a joint that travels second, such as a slider"};
  for (size_t i = 0; i < 2; i++) {
    Node item = node_item(list, i);
    if (abd_joint_kind_view(scene->joint[index[i]].def.kind)->coordinate != wanted[i])
      return node_expected(&item, what[i]);
  }
  return true;
}

static bool read_gear(OwnFile *file, const Node *node, const JointType *type, size_t own_index) {
  Scene *scene = file->loader->scene;
  AbdJointDef *def = &scene->joint[own_index].def;
  Node list;
  size_t index[2];
  if (!node_get(node, "joints", &list)) return node_fail(node, "expected a key \"joints\": the two joints it couples");
  if (!json_is_array(list.value) || node_size(&list) != 2) return node_expected(&list, "a list of 2 joints");
  for (size_t i = 0; i < 2; i++) {
    Node item = node_item(&list, i);
    if (!own_find_joint(file, &item, own_index, &index[i])) return false;
    if (scene->joint[index[i]].def.kind == ABD_JOINT_SUM)
      return node_fail(&item, "\"%.100s\" is a sum, expected a joint between bodies", scene->joint[index[i]].name);
    if (!joint_moves(&scene->joint[index[i]].def))
      return node_fail(&item, "joint \"%.100s\" neither turns nor travels", scene->joint[index[i]].name);
  }
  if (index[0] == index[1])
    return node_fail(&list, "%s %s needs two different joints", article(type->name), type->name);
  if ((type->takes & TAKES_RADIUS) && !check_rack(scene, &list, index)) return false;
  def->joint_a.id = (uint32_t)index[0] + 1, def->joint_b.id = (uint32_t)index[1] + 1;
  if (type->takes & TAKES_RADIUS) return read_not_zero(node, "radius", "[m]", &def->ratio);
  if (def->kind == ABD_JOINT_SUM)
    return read_not_zero(node, "ratio", "of the second joint", &def->ratio) && read_coordinate(node, def, 0);
  return read_not_zero(node, "ratio", "of the second joint's motion to the first's", &def->ratio);
}

/* ---- The list ---- */

static bool read_between(OwnFile *file, const Node *node, const JointType *type, AbdJointDef *def) {
  JointBodies bodies = {0};
  bool in_body = false;
  double start = 0;
  return read_bodies(file, node, def, &bodies) && read_frame(node, &in_body) &&
         read_points(file, node, type, &bodies, in_body, def) && read_axes(file, node, type, &bodies, in_body, def) &&
         (!(type->takes & ABD_JOINT_TAKES_LENGTH) || read_length(file, node, &bodies, def, &start)) &&
         (!(type->takes & ABD_JOINT_TAKES_PITCH) ||
          read_not_zero(node, "pitch", "[m] of travel a turn", &def->pitch)) &&
         read_bool(node, "free", &def->free) && read_bool(node, "collide", &def->collide) &&
         read_number(node, "break_force", NUMBER_POSITIVE, &def->break_force) &&
         read_number(node, "break_torque", NUMBER_POSITIVE, &def->break_torque) && read_coordinate(node, def, start);
}

static bool read_joint(OwnFile *file, const Node *node) {
  Scene *scene = file->loader->scene;
  const char *name = NULL;
  char default_name[64];
  if (!node_is_object(node) || !check_known(node) || !read_string(node, "name", &name)) return false;
  JointType type = {0};
  if (!read_type(node, &type) || !check_keys(node, &type)) return false;
  size_t index = scene->joint_count;
  snprintf(default_name, sizeof default_name, "%s %zu", type.name, index + 1);
  SceneJoint *joint = scene_add_joint(scene, name ? name : default_name, type.kind);
  if (!joint) return loader_out_of_memory(file->loader);
  return (type.takes & ABD_JOINT_TAKES_JOINTS ? read_gear(file, node, &type, index)
                                              : read_between(file, node, &type, &joint->def)) &&
         own_index_joint(file, index);
}

bool own_read_joints(OwnFile *file) {
  Node list;
  if (!node_get(file->top, "joints", &list)) return true;
  if (!node_is_array(&list)) return false;
  for (size_t i = 0; i < node_size(&list); i++) {
    Node joint = node_item(&list, i);
    if (!read_joint(file, &joint)) return false;
  }
  return true;
}
