/* The world's settings by their names in abd's own format, for scene files and for --set (loader.h).
 * Tests: tests/test_scene.c. */
#include "scene/loader.h"

static bool read_contact(const Node *top, AbdContactDef *contact) {
  static const char *const known[] = {"range",          "separation",          "stiffness",        "friction",
                                      "friction_speed", "friction_iterations", "friction_anchors", NULL};
  Node node;
  if (!node_get(top, "contact", &node)) return true;
  return node_check_keys(&node, known) && read_number(&node, "range", NUMBER_NOT_NEGATIVE, &contact->range) &&
         read_number(&node, "separation", NUMBER_NOT_NEGATIVE, &contact->separation) &&
         read_number(&node, "stiffness", NUMBER_POSITIVE, &contact->stiffness) &&
         read_number(&node, "friction", NUMBER_NOT_NEGATIVE, &contact->friction) &&
         read_number(&node, "friction_speed", NUMBER_POSITIVE, &contact->friction_speed) &&
         read_int(&node, "friction_iterations", 0, &contact->friction_iterations) &&
         read_bool(&node, "friction_anchors", &contact->friction_anchors);
}

const char *const settings_detections[] = {"trees", "trees-plain", "tree", "i-aabb-1", "i-aabb-3", NULL};

static bool read_solver(const Node *top, AbdSolverDef *solver) {
  static const char *const known[] = {"max_iterations", "tolerance", "linear", "memory", "detection", NULL};
  static const char *const linears[] = {"auto", "cholmod", "cholesky", "pcg", NULL};
  Node node;
  int linear = (int)solver->linear, detection = (int)solver->detection;
  if (!node_get(top, "solver", &node)) return true;
  bool ok = node_check_keys(&node, known) && read_int(&node, "max_iterations", 1, &solver->max_iterations) &&
            read_number(&node, "tolerance", NUMBER_NOT_NEGATIVE, &solver->tolerance) &&
            read_choice(&node, "linear", linears, &linear) &&
            read_number(&node, "memory", NUMBER_NOT_NEGATIVE, &solver->memory) &&
            read_choice(&node, "detection", settings_detections, &detection);
  solver->linear = (AbdLinear)linear, solver->detection = (AbdDetection)detection;
  return ok;
}

bool settings_read(Scene *scene, const Node *top) {
  static const char *const integrators[] = {"rigid", "euler", "bdf2", NULL};
  int integrator = (int)scene->world.integrator;
  double duration = -1;
  int64_t steps = -1;
  bool ok = read_number(top, "dt", NUMBER_POSITIVE, &scene->world.dt) &&
            read_number(top, "duration", NUMBER_NOT_NEGATIVE, &duration) &&
            read_integer(top, "steps", 0, INT64_C(1000000000000000), &steps) &&
            read_vector(top, "gravity", scene->world.gravity, 3) &&
            read_choice(top, "integrator", integrators, &integrator) && read_contact(top, &scene->world.contact) &&
            read_solver(top, &scene->world.solver);
  if (!ok) return false;
  if (duration >= 0 && steps >= 0) return node_fail(top, "\"duration\" and \"steps\" exclude each other: give one");
  scene->world.integrator = (AbdIntegrator)integrator;
  if (duration >= 0) scene->duration = duration, scene->steps = -1;
  if (steps >= 0) scene->steps = steps;
  return true;
}
