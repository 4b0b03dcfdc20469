/* One rigid body of a rigid-IPC scene: geometry, placement, motion (see docs/scene.md). Degrees become radians here.
 * Tests: tests/test_scene.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene/inline_mesh.h"
#include "scene/principal_frame.h"
#include "scene/rigid_ipc.h"
#include "scene/rotation.h"

static const double radians_per_degree = 0.017453292519943295769;

static bool read_use(const Node *node, MeshUse *use, double dimensions[3]) {
  Node child;
  if (node_get(node, "scale", &child)) {
    double factor;
    if (json_is_array(child.value)) {
      if (!node_vector(&child, use->scale, 3)) return false;
    } else {
      if (!node_number(&child, NUMBER_ANY, &factor)) return false;
      use->scale[0] = use->scale[1] = use->scale[2] = factor;
    }
    if (use->scale[0] * use->scale[1] * use->scale[2] == 0) return node_expected(&child, "factors that are not 0");
  }
  if (!node_get(node, "dimensions", &child)) return true;
  use->dimensions = dimensions;
  return node_vector(&child, dimensions, 3);
}

/* Inline geometry is a mesh of its own, scaled like a file. */
static int add_inline(const RigidIpc *file, const Node *node, const MeshUse *use) {
  MeshData data, scaled;
  char key[64];
  if (!inline_mesh_read(node, "faces", &data)) return -1;
  bool ok = (!data.triangle_count || mesh_drop_unused(&data)) && mesh_scaled(&data, use, &scaled);
  if (ok) scene_note_mesh(file->loader->scene, "inline mesh", &data);
  snprintf(key, sizeof key, "inline|%zu", file->loader->scene->mesh_count);
  double scale[3];
  mesh_scale_factors(&data, use, scale);
  mesh_data_free(&data);
  int index = ok ? scene_add_mesh(file->loader->scene, key, "inline mesh", &scaled) : -1;
  if (index < 0) loader_out_of_memory(file->loader);
  else memcpy(file->loader->scene->mesh[index].scale, scale, sizeof scale);
  return index;
}

/* path: the mesh's file, in which back-slashes are separators too. */
static int read_mesh(const RigidIpc *file, const Node *node, char path[1200]) {
  double dimensions[3];
  MeshUse use = {.scale = {1, 1, 1}};
  Node mesh;
  snprintf(path, 1200, "inline mesh");
  if (!read_use(node, &use, dimensions)) return -1;
  if (!node_get(node, "mesh", &mesh) || (json_is_string(mesh.value) && !json_string_value(mesh.value)[0])) {
    if (json_object_get(node->value, "vertices")) return add_inline(file, node, &use);
    node_fail(node, "expected \"mesh\" or \"vertices\"");
    return -1;
  }
  if (!json_is_string(mesh.value)) {
    node_expected(&mesh, "a file name");
    return -1;
  }
  snprintf(path, 1200, "%s", json_string_value(mesh.value));
  for (char *c = path; *c; c++)
    if (*c == '\\') *c = '/';
  return store_mesh(file->loader, &mesh, path, &use);
}

/* A flag or a vector of up to 6 flags; if all are true, the body is static, with any type. */
static bool read_fixed(const Node *node, AbdBodyDef *def) {
  Node child;
  if (!node_get(node, "is_dof_fixed", &child)) return true;
  if (json_is_boolean(child.value)) {
    if (json_is_true(child.value)) def->motion = ABD_MOTION_STATIC;
    return true;
  }
  if (!json_is_array(child.value) || node_size(&child) < 6)
    return node_expected(&child, "true, false or a list of 6 of them");
  uint32_t fixed = 0;
  for (size_t i = 0; i < 6; i++) {
    Node item = node_item(&child, i);
    if (!json_is_boolean(item.value)) return node_expected(&item, "true or false");
    if (json_is_true(item.value)) fixed |= 1u << i;
  }
  if (fixed == 63) def->motion = ABD_MOTION_STATIC;
  else def->fixed = fixed;
  return true;
}

static bool read_motion(const Node *node, AbdBodyDef *def) {
  int type = 0;
  double degrees[3] = {0}, spin[3] = {0}, torque[3] = {0};
  int64_t group = -1;
  if (!read_choice(node, "type", abd_enum_names(ABD_ENUM_MOTION), &type)) return false;
  def->motion = (AbdMotion)type;
  bool ok = read_number(node, "density", NUMBER_NOT_NEGATIVE, &def->density) &&
            read_vector(node, "position", def->position, 3) && read_vector(node, "rotation", degrees, 3) &&
            read_vector(node, "linear_velocity", def->velocity, 3) && read_vector(node, "angular_velocity", spin, 3) &&
            read_vector(node, "force", def->force, 3) && read_vector(node, "torque", torque, 3) &&
            read_integer(node, "group_id", -1, 1000000, &group) && read_fixed(node, def);
  if (!ok || !loader_check_density(node, def)) return false;
  quat_from_euler_degrees(degrees, def->rotation);
  for (int k = 0; k < 3; k++) {
    def->angular_velocity[k] = spin[k] * radians_per_degree;
    def->torque[k] = torque[k] * radians_per_degree; /* the format's own habit, kept because scenes rely on it */
  }
  def->group = (int32_t)group;
  return true;
}

/* A static body keeps no velocity; a fixed coordinate none along itself. */
static void clear_fixed_motion(AbdBodyDef *def) {
  for (int k = 0; k < 3; k++) {
    bool still = def->motion == ABD_MOTION_STATIC;
    if (still || (def->fixed & (ABD_FIX_X << k))) def->velocity[k] = def->force[k] = 0;
    if (still || (def->fixed & (ABD_FIX_ROTATION_X << k))) def->angular_velocity[k] = def->torque[k] = 0;
  }
}

/* Pose i is reached at the end of step i + 1. Positions are of the centre of mass and rotations are rotation vectors
 * [rad] of the principal frame; a missing one is zero, as in rigid-IPC. */
static bool read_poses(const RigidIpc *file, const Node *node, SceneBody *body) {
  static const char *const known[] = {"position", "rotation", NULL};
  Node list;
  PrincipalFrame frame;
  double max_time = -1;
  if (!read_number(node, "kinematic_max_time", NUMBER_ANY, &max_time)) return false;
  if (max_time >= 0) body->motion_end = max_time;
  if (!node_get(node, "kinematic_poses", &list)) return true;
  if (!node_is_array(&list)) return false;
  if (body->def.motion != ABD_MOTION_KINEMATIC || !node_size(&list)) return true;
  const SceneMesh *mesh = &file->loader->scene->mesh[body->mesh];
  if (!principal_frame_of(mesh, body->def.rotation, &frame, file->loader->error)) return false;
  for (size_t i = 0; i < node_size(&list); i++) {
    Node item = node_item(&list, i);
    double centre[3] = {0}, vector[3] = {0}, rotation[4];
    if (!node_check_keys(&item, known) || !read_vector(&item, "position", centre, 3) ||
        !read_vector(&item, "rotation", vector, 3)) {
      return false;
    }
    PathKey *key = array_add(&body->path, &body->path_count, sizeof *key);
    if (!key) return loader_out_of_memory(file->loader);
    key->time = (double)(i + 1) * file->timestep;
    quat_from_vector(vector, rotation);
    principal_frame_to_origin(&frame, centre, rotation, key->position, key->rotation);
  }
  return true;
}

static bool add_body(const RigidIpc *file, const Node *node, const char *name, int mesh, const AbdBodyDef *def) {
  char numbered[300];
  const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
  const char *dot = strrchr(base, '.');
  int length = dot && dot > base ? (int)(dot - base) : (int)strnlen(base, 200);
  snprintf(numbered, sizeof numbered, "%.*s-%zu", length < 200 ? length : 200, base,
           file->loader->scene->body_count + 1);
  SceneBody *body = scene_add_body(file->loader->scene, numbered, mesh);
  if (!body) return loader_out_of_memory(file->loader);
  body->def = *def;
  return read_poses(file, node, body);
}

static bool add_components(const RigidIpc *file, const Node *node, const char *name, int mesh, const AbdBodyDef *def) {
  Scene *scene = file->loader->scene;
  uint32_t *component = malloc((scene->mesh[mesh].data.vertex_count + 1) * sizeof *component);
  int count = component ? mesh_components(&scene->mesh[mesh].data, component) : -1;
  bool ok = count >= 0 || loader_out_of_memory(file->loader);
  for (int i = 0; ok && i < count; i++) {
    MeshData part;
    char key[5000];
    snprintf(key, sizeof key, "%s|part %d", scene->mesh[mesh].key, i);
    int index = scene_find_mesh(scene, key);
    if (index < 0 && mesh_extract(&scene->mesh[mesh].data, component, (uint32_t)i, &part)) {
      index = scene_add_mesh(scene, key, scene->mesh[mesh].name, &part);
      if (index >= 0) memcpy(scene->mesh[index].scale, scene->mesh[mesh].scale, sizeof scene->mesh[index].scale);
    }
    ok = index >= 0 ? add_body(file, node, name, index, def) : loader_out_of_memory(file->loader);
  }
  free(component);
  return ok;
}

bool rigid_ipc_read_body(const RigidIpc *file, const Node *node) {
  static const char *const known[] = {"enabled",
                                      "mesh",
                                      "vertices",
                                      "edges",
                                      "faces",
                                      "scale",
                                      "dimensions",
                                      "rotation",
                                      "position",
                                      "density",
                                      "type",
                                      "is_dof_fixed",
                                      "linear_velocity",
                                      "angular_velocity",
                                      "force",
                                      "torque",
                                      "group_id",
                                      "split_components",
                                      "oriented",
                                      "is_oriented",
                                      "kinematic_max_time",
                                      "kinematic_poses",
                                      "polygons",
                                      "masses",
                                      "time_stepper",
                                      "ipc_comparison_enabled",
                                      NULL};
  static const char *const dead[] = {
      "oriented", "is_oriented", "polygons", "masses", "time_stepper", "ipc_comparison_enabled", NULL};
  AbdBodyDef def = abd_default_body_def();
  bool enabled = true, split = false;
  char path[1200];
  if (!node_check_keys(node, known) || !read_bool(node, "enabled", &enabled)) return false;
  rigid_ipc_note_dead(file, node, "rigid_bodies[]: ", dead);
  if (!enabled) return true;
  if (file->stiffness > 0) def.stiffness = file->stiffness;
  if (!read_motion(node, &def) || !read_bool(node, "split_components", &split)) return false;
  clear_fixed_motion(&def);
  int mesh = read_mesh(file, node, path);
  if (mesh < 0) return false;
  return split ? add_components(file, node, path, mesh, &def) : add_body(file, node, path, mesh, &def);
}
