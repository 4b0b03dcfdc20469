/* rigid-IPC's JSON scenes: settings of the whole file. The documented meaning of every key is in docs/scene.md; its
 * degrees, metres and defaults (no gravity, dhat 1e-3 m, 1000 steps) are kept. Tests: tests/test_scene.c. */
#include "scene/rigid_ipc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rigid_ipc_note_dead(const RigidIpc *file, const Node *object, const char *where, const char *const *names) {
  Node child;
  for (; *names; names++) {
    if (node_get(object, *names, &child)) scene_add_note(file->loader->scene, "%s%s has no effect", where, *names);
  }
}

static bool read_steps(Scene *scene, const Node *top) {
  double max_time = -1;
  int64_t max_iterations = -1;
  if (!read_number(top, "max_time", NUMBER_ANY, &max_time)) return false;
  if (!read_integer(top, "max_iterations", -1, INT64_C(1000000000000000), &max_iterations)) return false;
  scene->steps = max_iterations >= 0 ? max_iterations : 1000;
  if (max_time >= 0) scene->steps = -1, scene->duration = max_time;
  return true;
}

static bool read_barrier(const RigidIpc *file, const Node *top) {
  static const char *const known[] = {"initial_barrier_activation_distance",
                                      "minimum_separation_distance",
                                      "trajectory_type",
                                      "detection_method",
                                      "barrier_type",
                                      "use_log_barrier",
                                      "use_distance_hashgrid",
                                      "custom_hashgrid_cellsize",
                                      "extend_collision_set",
                                      NULL};
  AbdContactDef *contact = &file->loader->scene->world.contact;
  Node node;
  contact->range = 1e-3;
  contact->separation = 0;
  if (!node_get(top, "distance_barrier_constraint", &node)) return true;
  rigid_ipc_note_dead(file, &node, "distance_barrier_constraint.", known + 2);
  return node_check_keys(&node, known) &&
         read_number(&node, "initial_barrier_activation_distance", NUMBER_POSITIVE, &contact->range) &&
         read_number(&node, "minimum_separation_distance", NUMBER_NOT_NEGATIVE, &contact->separation);
}

/* One lagged solve misses the friction of the step in which bodies land, and more than two gain nothing: so 1 and -1
 * ("until converged") become abd's two, 0 stays frictionless, larger numbers stay. */
static bool read_friction(const RigidIpc *file, const Node *top) {
  static const char *const known[] = {"static_friction_speed_bound", "iterations", NULL};
  AbdContactDef *contact = &file->loader->scene->world.contact;
  int64_t iterations = 1;
  Node node;
  contact->friction_speed = 1e-3;
  if (node_get(top, "friction_constraints", &node)) {
    if (!node_check_keys(&node, known) ||
        !read_number(&node, "static_friction_speed_bound", NUMBER_POSITIVE, &contact->friction_speed) ||
        !read_integer(&node, "iterations", -1, 1000000, &iterations)) {
      return false;
    }
  }
  contact->friction_iterations = iterations == 0 ? 0 : iterations < 4 ? 4 : (int)iterations;
  return true;
}

/* A tolerance relative to the scene's box is ignored, because it is far looser than abd's own. */
static bool read_solver_block(const RigidIpc *file, const Node *top, const char *name) {
  static const char *const known[] = {"max_iterations",
                                      "velocity_conv_tol",
                                      "is_velocity_conv_tol_abs",
                                      "convergence_criteria",
                                      "energy_conv_tol",
                                      "line_search_lower_bound",
                                      "linear_solver",
                                      "dhat_epsilon",
                                      "min_barrier_stiffness_scale",
                                      NULL};
  AbdSolverDef *solver = &file->loader->scene->world.solver;
  double tolerance = 1e-2;
  bool absolute = false;
  Node node;
  if (!node_get(top, name, &node)) return true;
  if (!node_check_keys(&node, known) || !read_int(&node, "max_iterations", 1, &solver->max_iterations) ||
      !read_number(&node, "velocity_conv_tol", NUMBER_POSITIVE, &tolerance) ||
      !read_bool(&node, "is_velocity_conv_tol_abs", &absolute)) {
    return false;
  }
  if (absolute) solver->tolerance = tolerance;
  else if (json_object_get(node.value, "velocity_conv_tol")) {
    scene_add_note(file->loader->scene,
                   "%s.velocity_conv_tol relative to the scene's box is not used: abd's own tolerance is tighter",
                   name);
  }
  char where[32];
  snprintf(where, sizeof where, "%s.", name);
  rigid_ipc_note_dead(file, &node, where, known + 3);
  return true;
}

static bool read_integrator(const RigidIpc *file, const Node *problem) {
  static const char *const names[] = {"default", "implicit_euler", "implicit_newmark", "stabilized_newmark", NULL};
  Scene *scene = file->loader->scene;
  int choice = 0;
  if (!read_choice(problem, "time_stepper", names, &choice)) return false;
  scene->world.integrator = choice == 1 ? ABD_INTEGRATOR_EULER : ABD_INTEGRATOR_RIGID;
  if (choice >= 2) scene_add_note(scene, "time_stepper \"%s\" is not supported: abd's default is used", names[choice]);
  return true;
}

static bool read_bodies(const RigidIpc *file, const Node *problem) {
  Node list;
  if (!node_get(problem, "rigid_bodies", &list)) return true;
  if (!node_is_array(&list)) return false;
  for (size_t i = 0; i < node_size(&list); i++) {
    Node body = node_item(&list, i);
    if (!rigid_ipc_read_body(file, &body)) return false;
  }
  return true;
}

static bool read_problem(RigidIpc *file, const Node *top) {
  static const char *const known[] = {"rigid_bodies",
                                      "gravity",
                                      "coefficient_friction",
                                      "coefficient_restitution",
                                      "collision_eps",
                                      "time_stepper",
                                      "do_intersection_check",
                                      "linear_constraints",
                                      "orthogonality_stiffness",
                                      NULL};
  static const char *const dead[] = {"collision_eps", "do_intersection_check", NULL};
  Scene *scene = file->loader->scene;
  Node node;
  double friction = 0, restitution = 0;
  if (!node_get(top, "rigid_body_problem", &node)) return node_fail(top, "expected a key \"rigid_body_problem\"");
  if (!node_check_keys(&node, known)) return false;
  memset(scene->world.gravity, 0, sizeof scene->world.gravity);
  if (!read_vector(&node, "gravity", scene->world.gravity, 3) ||
      !read_number(&node, "coefficient_friction", NUMBER_ANY, &friction) ||
      !read_number(&node, "coefficient_restitution", NUMBER_ANY, &restitution) ||
      !read_number(&node, "orthogonality_stiffness", NUMBER_POSITIVE, &file->stiffness) ||
      !read_integrator(file, &node)) {
    return false;
  }
  scene->world.contact.friction = friction > 0 ? friction : 0;
  if (restitution > 0) scene_add_note(scene, "rigid_body_problem.coefficient_restitution has no effect");
  rigid_ipc_note_dead(file, &node, "rigid_body_problem.", dead);
  return read_bodies(file, &node) && rigid_ipc_read_joints(file, &node);
}

/* All bodies that are not dynamic form one group; a dynamic body that names the group of one of them joins it. */
static bool join_static_group(Scene *scene) {
  int32_t common = 0;
  for (size_t i = 0; i < scene->body_count; i++) {
    if (scene->body[i].def.group >= common) common = scene->body[i].def.group + 1;
  }
  bool *is_static = calloc((size_t)common + 1, sizeof *is_static);
  if (!is_static) return false;
  for (size_t i = 0; i < scene->body_count; i++) {
    const AbdBodyDef *def = &scene->body[i].def;
    if (def->motion != ABD_MOTION_DYNAMIC && def->group >= 0) is_static[def->group] = true;
  }
  for (size_t i = 0; i < scene->body_count; i++) {
    AbdBodyDef *def = &scene->body[i].def;
    bool joins = def->group >= 0 && is_static[def->group];
    if (joins || def->motion != ABD_MOTION_DYNAMIC) def->group = common;
  }
  free(is_static);
  return true;
}

bool rigid_ipc_read(Loader *loader, const Node *top) {
  static const char *const known[] = {"scene_type",
                                      "solver",
                                      "timestep",
                                      "max_time",
                                      "max_iterations",
                                      "rigid_body_problem",
                                      "distance_barrier_constraint",
                                      "friction_constraints",
                                      "ipc_solver",
                                      "newton_solver",
                                      "homotopy_solver",
                                      "ncp_solver",
                                      "volume_constraint",
                                      "viewport_bbox",
                                      "distance_barrier_constraints",
                                      NULL};
  static const char *const dead[] = {
      "homotopy_solver", "ncp_solver", "volume_constraint", "viewport_bbox", "distance_barrier_constraints", NULL};
  RigidIpc file = {.loader = loader, .timestep = 0.01, .stiffness = -1};
  Scene *scene = loader->scene;
  if (!node_check_keys(top, known) || !read_number(top, "timestep", NUMBER_POSITIVE, &file.timestep)) return false;
  scene->world.dt = file.timestep;
  rigid_ipc_note_dead(&file, top, "", dead);
  if (!read_steps(scene, top) || !read_barrier(&file, top) || !read_friction(&file, top) ||
      !read_solver_block(&file, top, "newton_solver") || !read_solver_block(&file, top, "ipc_solver") ||
      !read_problem(&file, top)) {
    return false;
  }
  return join_static_group(scene) || loader_out_of_memory(loader);
}
