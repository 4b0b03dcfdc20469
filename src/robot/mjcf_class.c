/* Classes of defaults and poses of MJCF (mjcf.h). Tested in tests/test_robot.c. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "robot/mjcf.h"

/* ---- classes ---- */

static bool has(const Xml *node, const char *attribute) {
  for (size_t i = 0; i < node->attribute_count; i++)
    if (strcmp(node->attribute[i].name, attribute) == 0) return true;
  return false;
}

static Xml *find_class(Xml *node, const char *name) {
  for (Xml *child = node->first; child; child = child->next) {
    if (!xml_is(child, "default")) continue;
    child->used = true;
    const char *own = xml_text(child, "class");
    if (!own && xml_is(node, "mujoco")) own = "main";
    if (own && strcmp(own, name) == 0) return child;
    Xml *below = find_class(child, name);
    if (below) return below;
  }
  return NULL;
}

static bool is_actuator(const Xml *node) { return node->parent && xml_is(node->parent, "actuator"); }

static bool is_actuator_default(const Xml *node) {
  return xml_is(node, "general") || xml_is(node, "motor") || xml_is(node, "position") || xml_is(node, "velocity");
}

/* In one class: the element of the same kind that has the attribute; of actuators also one of another kind. */
static Xml *in_class(Xml *list, const Xml *node, const char *attribute) {
  Xml *found = NULL;
  for (Xml *child = list->first; child; child = child->next) {
    bool same = xml_is(child, node->name), shared = is_actuator(node) && is_actuator_default(child);
    if ((same || (shared && !found)) && has(child, attribute)) found = child;
    if (same || shared) child->used = true;
  }
  return found;
}

/* The top class may be given in several pieces, as by included files. */
static Xml *in_main(Mjcf *m, const Xml *node, const char *attribute) {
  for (Xml *list = m->top->first; list; list = list->next) {
    Xml *found = xml_is(list, "default") ? in_class(list, node, attribute) : NULL;
    if (found) return found;
  }
  return NULL;
}

Xml *mjcf_owner(Mjcf *m, Xml *node, const char *inherited, const char *attribute) {
  char key[100];
  snprintf(key, sizeof key, "%.40s %.40s", node->name, attribute);
  json_object_set_new(m->known, key, json_true());
  if (has(node, attribute)) return node;
  const char *name = xml_text(node, "class");
  Xml *list = name || inherited ? find_class(m->top, name ? name : inherited) : NULL;
  for (; list && xml_is(list, "default") && list->parent && xml_is(list->parent, "default"); list = list->parent) {
    Xml *found = in_class(list, node, attribute);
    if (found) return found;
  }
  Xml *found = in_main(m, node, attribute);
  return found ? found : node;
}

void mjcf_use_defaults(Mjcf *m, Xml *node) {
  char key[100];
  for (Xml *child = node->first; child; child = child->next) {
    if (!xml_is(child, "default")) continue;
    mjcf_use_defaults(m, child);
    for (Xml *item = child->first; item; item = item->next)
      for (size_t k = 0; k < item->attribute_count; k++) {
        snprintf(key, sizeof key, "%.40s %.40s", item->name, item->attribute[k].name);
        if (json_object_get(m->known, key)) item->attribute[k].used = true;
      }
  }
}

bool mjcf_check_class(Mjcf *m, Xml *node, const char *attribute) {
  const char *name = xml_text(node, attribute);
  if (!name || find_class(m->top, name) || strcmp(name, "main") == 0) return true;
  return xml_fail(node, m->robot->error, "%s: no <default class=\"%.100s\">", attribute, name);
}

const char *mjcf_text(Mjcf *m, Xml *node, const char *inherited, const char *attribute) {
  return xml_text(mjcf_owner(m, node, inherited, attribute), attribute);
}

bool mjcf_numbers(Mjcf *m, Xml *node, const char *inherited, const char *attribute, size_t least, size_t most,
                  double *value, size_t *given) {
  return xml_numbers(mjcf_owner(m, node, inherited, attribute), attribute, least, most, value, given, m->robot->error);
}

bool mjcf_number(Mjcf *m, Xml *node, const char *inherited, const char *attribute, double *value) {
  return mjcf_numbers(m, node, inherited, attribute, 1, 1, value, NULL);
}

bool mjcf_limited(Mjcf *m, Xml *node, const char *inherited, const char *attribute, bool has_range, bool *limited) {
  const char *word = mjcf_text(m, node, inherited, attribute);
  if (!word || strcmp(word, "auto") == 0) return *limited = has_range && m->autolimits, true;
  Xml *owner = mjcf_owner(m, node, inherited, attribute);
  return xml_bool(owner, attribute, limited, m->robot->error);
}

/* ---- poses ---- */

static bool from_euler(const Mjcf *m, const double angle[3], double r[9]) {
  memcpy(r, pose_identity().r, sizeof(double[9]));
  for (int k = 0; k < 3; k++) {
    int lower = tolower((unsigned char)m->sequence[k]);
    double axis[3] = {lower == 'x', lower == 'y', lower == 'z'}, turn[9];
    mat_from_axis(axis, angle[k] * m->angle, turn);
    if (islower((unsigned char)m->sequence[k])) mat_product(r, turn, r); /* about the axes that turn along */
    else mat_product(turn, r, r);
  }
  return true;
}

static bool from_axes(double axes[6], double r[9]) {
  if (!vec_normalize(axes)) return false;
  double along = vec_dot(axes, axes + 3);
  for (int k = 0; k < 3; k++) r[k] = axes[k], r[3 + k] = axes[3 + k] - along * axes[k];
  if (!vec_normalize(r + 3)) return false;
  vec_cross(r, r + 3, r + 6);
  return true;
}

/* The least rotation from z to a direction. */
static bool from_z(double z[3], double r[9]) {
  static const double up[3] = {0, 0, 1};
  double axis[3];
  if (!vec_normalize(z)) return false;
  vec_cross(up, z, axis);
  double s = vec_length(axis), angle = atan2(s, z[2]);
  if (!vec_normalize(axis)) axis[0] = 1, axis[1] = axis[2] = 0;
  mat_from_axis(axis, angle, r);
  return true;
}

static bool from_quat(double q[4], double r[9]) {
  double l = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
  if (!(l > 1e-100)) return false;
  for (int k = 0; k < 4; k++) q[k] /= l;
  mat_from_quat(q, r);
  return true;
}

bool mjcf_pose(Mjcf *m, Xml *node, const char *inherited, Pose *pose) {
  static const char *const key[] = {"quat", "axisangle", "euler", "xyaxes", "zaxis"};
  static const size_t count[] = {4, 4, 3, 6, 3};
  *pose = pose_identity();
  if (!mjcf_numbers(m, node, inherited, "pos", 3, 3, pose->p, NULL)) return false;
  for (int k = 0; k < 5; k++) {
    double x[6];
    size_t given;
    if (!mjcf_numbers(m, node, inherited, key[k], count[k], count[k], x, &given)) return false;
    if (!given) continue;
    bool ok = k == 0   ? from_quat(x, pose->r)
              : k == 1 ? vec_normalize(x) && (mat_from_axis(x, x[3] * m->angle, pose->r), true)
              : k == 2 ? from_euler(m, x, pose->r)
              : k == 3 ? from_axes(x, pose->r)
                       : from_z(x, pose->r);
    return ok || xml_fail(node, m->robot->error, "%s: expected axes that are not 0", key[k]);
  }
  return true;
}
