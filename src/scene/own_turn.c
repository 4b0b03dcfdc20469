/* Angles of paths as the file gives them (own.h). The keys of a path are rotations, between which it turns the short
 * way: angles that differ by 180 degrees or more cannot be meant so. Tests: tests/test_scene.c. */
#include <math.h>
#include <stdio.h>

#include "scene/own.h"

static const double degrees_per_radian = 57.295779513082320877;

void own_read_turn(const Node *object, GivenTurn *turn) {
  Node child;
  if (node_get(object, "quaternion", &child)) turn->kind = TURN_UNKNOWN;
  if (node_get(object, "euler_degrees", &child))
    turn->kind = node_vector(&child, turn->degrees, 3) ? TURN_EULER : TURN_UNKNOWN;
  if (!node_get(object, "rotation", &child)) return;
  double axis[3] = {0}, degrees = 0, radians = 0, length_sq = 0;
  bool ok = read_vector(&child, "axis", axis, 3) && read_number(&child, "degrees", NUMBER_ANY, &degrees) &&
            read_number(&child, "radians", NUMBER_ANY, &radians);
  for (int k = 0; k < 3; k++) length_sq += axis[k] * axis[k];
  for (int k = 0; k < 3; k++) turn->degrees[k] = (degrees + radians * degrees_per_radian) * axis[k] / sqrt(length_sq);
  turn->kind = ok ? TURN_AXIS : TURN_UNKNOWN;
}

/* The angle between two keys as they are given: the largest of the euler angles, or the one about a common axis. */
static double given_angle(const GivenTurn *a, const GivenTurn *b) {
  double most = 0, sum_sq = 0, cross_sq = 0, size_sq[2] = {0};
  bool same = a->kind == b->kind || a->kind == TURN_NONE || b->kind == TURN_NONE;
  if (!same || a->kind == TURN_UNKNOWN || b->kind == TURN_UNKNOWN) return 0;
  for (int k = 0; k < 3; k++) {
    int i = (k + 1) % 3, j = (k + 2) % 3;
    double gap = b->degrees[k] - a->degrees[k], cross = a->degrees[i] * b->degrees[j] - a->degrees[j] * b->degrees[i];
    most = fmax(most, fabs(gap)), sum_sq += gap * gap, cross_sq += cross * cross;
    size_sq[0] += a->degrees[k] * a->degrees[k], size_sq[1] += b->degrees[k] * b->degrees[k];
  }
  if (a->kind != TURN_AXIS && b->kind != TURN_AXIS) return most;
  return cross_sq <= 1e-12 * size_sq[0] * size_sq[1] ? sqrt(sum_sq) : 0;
}

void own_note_long_turn(Scene *scene, const char *body, size_t key, const GivenTurn *from, const GivenTurn *to) {
  double angle = given_angle(from, to);
  char before[40];
  if (!(angle > 180 - 1e-9)) return;
  if (key) snprintf(before, sizeof before, "path[%zu]", key - 1);
  else snprintf(before, sizeof before, "the start");
  scene_add_note(scene,
                 "body \"%.200s\": from %s to path[%zu] its angles change by %g degrees; a path turns the short way "
                 "between keys, by at most 180: give keys in between",
                 body, before, key, angle);
}
