/* Drives of abd's own format (own.h, docs/scene.md): a motor for a joint, with a constant value or keys.
 * Tests: tests/test_scene_joint.c. */
#include "scene/own.h"

/* [[time, value], ...], times ascending. */
static bool read_keys(OwnFile *file, const Node *list, SceneJoint *joint) {
  double previous = -1;
  if (!node_size(list)) return node_expected(list, "a number, or keys [[time, value], ...]");
  for (size_t i = 0; i < node_size(list); i++) {
    Node item = node_item(list, i);
    double key[2];
    if (!node_vector(&item, key, 2)) return false;
    if (!(key[0] >= 0)) return node_fail(&item, "expected a time >= 0, got %g", key[0]);
    if (!(key[0] > previous))
      return node_fail(&item, "expected a time later than the key before (%g s), got %g", previous, key[0]);
    previous = key[0];
    DriveKey *slot = array_add(&joint->drive, &joint->drive_count, sizeof *slot);
    if (!slot) return loader_out_of_memory(file->loader);
    *slot = (DriveKey){key[0], key[1]};
  }
  joint->def.drive.target = joint->drive[0].value;
  return true;
}

static bool read_value(OwnFile *file, const Node *node, SceneJoint *joint) {
  Node value;
  if (!node_get(node, "value", &value))
    return node_fail(node, "expected a key \"value\": a number, or keys [[time, value], ...]");
  if (json_is_array(value.value)) return read_keys(file, &value, joint);
  return json_is_number(value.value) ? node_number(&value, NUMBER_ANY, &joint->def.drive.target)
                                     : node_expected(&value, "a number, or keys [[time, value], ...]");
}

static bool read_servo(const Node *node, AbdDrive *drive) {
  static const char *const own_keys[] = {"max", "stiffness", "damping"};
  Node child;
  for (int i = 0; i < 3; i++) {
    bool takes = i == 0 ? drive->kind != ABD_DRIVE_EFFORT : drive->kind == ABD_DRIVE_POSITION;
    if (!takes && node_get(node, own_keys[i], &child)) return node_fail(&child, "a drive of this type has no such key");
  }
  if (drive->kind == ABD_DRIVE_POSITION && !(drive->stiffness > 0) && !node_get(node, "stiffness", &child))
    return node_fail(node, "expected a key \"stiffness\" of the servo");
  return read_number(node, "max", NUMBER_POSITIVE, &drive->max_effort) &&
         read_number(node, "stiffness", NUMBER_POSITIVE, &drive->stiffness) &&
         read_number(node, "damping", NUMBER_NOT_NEGATIVE, &drive->damping);
}

/* The types of drives in scenes. The unit of an effort depends on the joint: a torque or a force. */
static const struct {
  const char *name;
  AbdDriveKind kind;
} types[] = {{"torque", ABD_DRIVE_EFFORT},
             {"force", ABD_DRIVE_EFFORT},
             {"speed", ABD_DRIVE_SPEED},
             {"position", ABD_DRIVE_POSITION}};
enum { TYPE_COUNT = sizeof types / sizeof *types };

const char *own_drive_type(AbdDriveKind kind) {
  int k = 0;
  while (k < TYPE_COUNT - 1 && types[k].kind != kind) k++;
  return types[k].name;
}

static bool read_kind(const Node *node, AbdDrive *drive) {
  const char *names[TYPE_COUNT + 1] = {0};
  int type = 0;
  for (int k = 0; k < TYPE_COUNT; k++) names[k] = types[k].name;
  if (!json_object_get(node->value, "type"))
    return node_fail(node, "expected a key \"type\": \"torque\", \"force\", \"speed\" or \"position\"");
  if (!read_choice(node, "type", names, &type)) return false;
  drive->kind = types[type].kind;
  return true;
}

/* A joint of an included file keeps its drive, if the type is left out: keys of this file change single values. */
static bool read_changed(OwnFile *file, const Node *node, SceneJoint *joint) {
  Node child;
  free(joint->drive);
  joint->drive = NULL;
  joint->drive_count = 0;
  if (!node_get(node, "type", &child)) return read_servo(node, &joint->def.drive) && read_value(file, node, joint);
  joint->def.drive = (AbdDrive){0};
  return read_kind(node, &joint->def.drive) && read_servo(node, &joint->def.drive) && read_value(file, node, joint);
}

/* given: [joint_count] joints that have a drive of this file. */
static bool read_drive(OwnFile *file, const Node *node, bool *given) {
  static const char *const known[] = {"joint", "type", "value", "max", "stiffness", "damping", "comment", NULL};
  Scene *scene = file->loader->scene;
  Node which;
  size_t index;
  if (!node_check_keys(node, known)) return false;
  if (!node_get(node, "joint", &which)) return node_fail(node, "expected a key \"joint\"");
  if (!own_find_joint(file, &which, scene->joint_count, &index)) return false;
  SceneJoint *joint = &scene->joint[index];
  if (!joint_moves(&joint->def))
    return node_fail(&which, "joint \"%.100s\" (%s) has no motion to drive", joint->name,
                     abd_joint_kind_name(joint->def.kind));
  if (given[index]) return node_fail(&which, "joint \"%.100s\" has a drive already; only one is possible", joint->name);
  given[index] = true;
  if (joint->def.drive.kind != ABD_DRIVE_NONE) return read_changed(file, node, joint);
  return read_kind(node, &joint->def.drive) && read_servo(node, &joint->def.drive) && read_value(file, node, joint);
}

bool own_read_drives(OwnFile *file) {
  Node list;
  if (!node_get(file->top, "drives", &list)) return true;
  if (!node_is_array(&list)) return false;
  bool *given = calloc(file->loader->scene->joint_count + 1, sizeof *given), ok = given;
  if (!given) loader_out_of_memory(file->loader);
  for (size_t i = 0; ok && i < node_size(&list); i++) {
    Node drive = node_item(&list, i);
    ok = read_drive(file, &drive, given);
  }
  free(given);
  return ok;
}
