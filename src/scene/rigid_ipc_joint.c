/* "linear_constraints" of rigid-IPC's dialect with joints: points pinned to the world or shared by two bodies (see
 * docs/scene.md). The name of a body is the name of its mesh file. If several bodies have one name, the first is
 * used, with a note. Tests: tests/test_scene_joint.c. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene/rigid_ipc.h"

/* The name without the number that rigid_ipc_body.c puts behind it. */
static size_t stem_length(const SceneBody *body) {
  const char *dash = strrchr(body->name, '-');
  return dash ? (size_t)(dash - body->name) : strlen(body->name);
}

static bool fail_unknown(const RigidIpc *file, const Node *node, const char *name) {
  const Scene *scene = file->loader->scene;
  char(*stem)[204] = calloc(scene->body_count + 1, sizeof *stem);
  const char **names = calloc(scene->body_count + 1, sizeof *names);
  if (!stem || !names) {
    free(stem), free(names);
    return loader_out_of_memory(file->loader);
  }
  for (size_t i = 0; i < scene->body_count; i++) {
    snprintf(stem[i], sizeof stem[i], "%.*s", (int)fmin(200, (double)stem_length(&scene->body[i])),
             scene->body[i].name);
    names[i] = stem[i];
  }
  const char *nearest = nearest_name(name, names);
  if (nearest) node_fail(node, "no body has the mesh \"%.100s\"; did you mean \"%.100s\"?", name, nearest);
  else
    node_fail(node, "no body has the mesh \"%.100s\": expected a mesh file's name without folder and extension", name);
  free(stem), free(names);
  return false;
}

static bool find_body(const RigidIpc *file, const Node *object, const char *key, size_t *index) {
  Scene *scene = file->loader->scene;
  const char *name = NULL;
  Node node;
  size_t matches = 0, second = 0;
  if (!node_get(object, key, &node)) return node_fail(object, "expected a key \"%s\"", key);
  if (!read_string(object, key, &name)) return false;
  for (size_t i = 0; i < scene->body_count; i++) {
    if (strlen(name) != stem_length(&scene->body[i]) || strncmp(scene->body[i].name, name, strlen(name)) != 0) continue;
    if (matches == 0) *index = i;
    if (matches++ == 1) second = i;
  }
  if (!matches) return fail_unknown(file, &node, name);
  if (matches > 1)
    scene_add_note(
        scene, "linear_constraints: %zu bodies have the mesh \"%.100s\"; the first, body %zu, is used, not body %zu",
        matches, name, *index + 1, second + 1);
  return true;
}

static bool read_point(const RigidIpc *file, const Node *object, const char *key, size_t body, double point[3]) {
  Node node;
  double x[3];
  if (!node_get(object, key, &node)) return node_fail(object, "expected a key \"%s\"", key);
  if (!node_vector(&node, x, 3)) return false;
  scene_body_to_world(file->loader->scene, body, 1, x, point);
  return (isfinite(point[0]) && isfinite(point[1]) && isfinite(point[2])) ||
         node_fail(&node, "the coordinates overflow");
}

/* A common point of a and b, or of a and the world. Between bodies that do not give way it has no effect. */
static bool add_pin(const RigidIpc *file, const Node *object, const char *key, size_t a, const size_t *b) {
  Scene *scene = file->loader->scene;
  double point[3];
  char name[64];
  if (!read_point(file, object, key, a, point)) return false;
  if (scene->body[a].def.motion != ABD_MOTION_DYNAMIC && (!b || scene->body[*b].def.motion != ABD_MOTION_DYNAMIC)) {
    scene_add_note(scene, "linear_constraints[%zu] has no effect: none of its bodies is dynamic", object->index);
    return true;
  }
  snprintf(name, sizeof name, "pin-%zu", scene->joint_count + 1);
  SceneJoint *joint = scene_add_joint(scene, name, ABD_JOINT_BALL);
  if (!joint) return loader_out_of_memory(file->loader);
  memcpy(joint->def.point, point, sizeof point);
  joint->def.body_a.id = (uint32_t)a + 1;
  joint->def.body_b.id = b ? (uint32_t)*b + 1 : 0;
  return true;
}

static bool read_constraint(const RigidIpc *file, const Node *node) {
  static const char *const types[] = {"pin_world", "pin_joint", NULL};
  static const char *const world_keys[] = {"type", "body_name", "body_point", NULL};
  static const char *const joint_keys[] = {"type", "bodyA_name", "bodyA_point", "bodyB_name", NULL};
  int type = 0;
  size_t a, b;
  Node child;
  if (!node_is_object(node)) return false;
  if (!node_get(node, "type", &child))
    return node_fail(node, "expected a key \"type\": \"pin_world\" or \"pin_joint\"");
  if (!read_choice(node, "type", types, &type) || !node_check_keys(node, type ? joint_keys : world_keys)) return false;
  if (type == 0) return find_body(file, node, "body_name", &a) && add_pin(file, node, "body_point", a, NULL);
  if (!find_body(file, node, "bodyA_name", &a) || !find_body(file, node, "bodyB_name", &b)) return false;
  if (a == b) return node_fail(node, "a joint needs two different bodies");
  return add_pin(file, node, "bodyA_point", a, &b);
}

bool rigid_ipc_read_joints(const RigidIpc *file, const Node *problem) {
  Node list;
  if (!node_get(problem, "linear_constraints", &list)) return true;
  if (!node_is_array(&list)) return false;
  for (size_t i = 0; i < node_size(&list); i++) {
    Node item = node_item(&list, i);
    if (!read_constraint(file, &item)) return false;
  }
  return true;
}
