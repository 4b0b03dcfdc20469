/* Memory, names, notes, files and masses of robots (tree.h). Tested in tests/test_robot.c. */
#include "robot/tree.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- memory ---- */

void *robot_add(Robot *robot, void *array_pointer, size_t *count, size_t size) {
  char **array = array_pointer;
  bool full = (*count & (*count - 1)) == 0; /* a power of two, or 0 */
  if (full) {
    char *longer = realloc(*array, (*count ? 2 * *count : 1) * size);
    if (!longer) return robot_fail(robot->error, "out of memory while reading the robot"), NULL;
    *array = longer;
  }
  return memset(*array + (*count)++ * size, 0, size);
}

char *robot_copy(Robot *robot, const char *text) {
  char *copy = strdup(text);
  if (!copy) robot_fail(robot->error, "out of memory while reading the robot");
  return copy;
}

void robot_free(Robot *robot) {
  for (size_t i = 0; i < robot->link_count; i++) {
    for (size_t k = 0; k < robot->link[i].geom_count; k++) free(robot->link[i].geom[k].file);
    free(robot->link[i].geom);
    free(robot->link[i].name);
  }
  for (size_t i = 0; i < robot->joint_count; i++) free(robot->joint[i].name);
  for (size_t i = 0; i < robot->coupling_count; i++) free(robot->coupling[i].name);
  for (size_t i = 0; i < robot->tendon_count; i++) free(robot->tendon[i].name);
  for (size_t i = 0; i < robot->actuator_count; i++) free(robot->actuator[i].name);
  void *array[] = {robot->link,    robot->joint, robot->coupling, robot->tendon, robot->actuator,
                   robot->exclude, robot->name,  robot->path,     robot->folder};
  for (size_t k = 0; k < sizeof array / sizeof *array; k++) free(array[k]);
}

int robot_find_link(const Robot *robot, const char *name) {
  for (size_t i = 0; i < robot->link_count; i++)
    if (strcmp(robot->link[i].name, name) == 0) return (int)i;
  return -1;
}

int robot_find_joint(const Robot *robot, const char *name) {
  for (size_t i = 0; i < robot->joint_count; i++)
    if (strcmp(robot->joint[i].name, name) == 0) return (int)i;
  return -1;
}

/* ---- notes ---- */

void robot_note(Robot *robot, const char *format, ...) {
  char text[900];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  for (size_t i = 0; i < json_array_size(robot->notes); i++)
    if (strcmp(json_string_value(json_array_get(robot->notes, i)), text) == 0) return;
  json_array_append_new(robot->notes, json_string(text));
}

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

/* Counts a kind that nothing read, under the text by which the note names it. */
static void count_kind(json_t *kinds, const char *kind, const Xml *node) {
  char place[200];
  json_t *entry = json_object_get(kinds, kind);
  if (entry) {
    json_object_set_new(entry, "count", json_integer(json_integer_value(json_object_get(entry, "count")) + 1));
    return;
  }
  snprintf(place, sizeof place, "%.150s:%d", base_name(node->file), node->line);
  json_object_set_new(kinds, kind, json_pack("{s:s, s:i}", "place", place, "count", 1));
}

static void find_unused(const Xml *node, json_t *elements, json_t *attributes) {
  char kind[200];
  if (!node->used) {
    snprintf(kind, sizeof kind, "<%.100s>", node->name);
    count_kind(elements, kind, node);
    return;
  }
  for (size_t i = 0; i < node->attribute_count; i++) {
    if (node->attribute[i].used) continue;
    snprintf(kind, sizeof kind, "%.90s of <%.90s>", node->attribute[i].name, node->name);
    count_kind(attributes, kind, node);
  }
  for (const Xml *child = node->first; child; child = child->next) find_unused(child, elements, attributes);
}

/* Several kinds a note, as many as fit. */
static void note_kinds(Robot *robot, const char *what, json_t *kinds) {
  const char *kind;
  json_t *entry;
  char text[440] = "";
  json_object_foreach(kinds, kind, entry) {
    long long count = json_integer_value(json_object_get(entry, "count"));
    char item[430], more[40] = "";
    if (count > 1) snprintf(more, sizeof more, ", %lld times", count);
    snprintf(item, sizeof item, "%s%.200s (%.170s%s)", text[0] ? "; " : "", kind,
             json_string_value(json_object_get(entry, "place")), more);
    if (strlen(text) + strlen(item) >= sizeof text) {
      robot_note(robot, "%s without effect: %s", what, text);
      text[0] = 0;
      memmove(item, item + 2, strlen(item + 2) + 1);
    }
    strcat(text, item);
  }
  if (text[0]) robot_note(robot, "%s without effect: %s", what, text);
}

void robot_note_unused(Robot *robot, Xml *top) {
  json_t *elements = json_object(), *attributes = json_object();
  if (elements && attributes) {
    find_unused(top, elements, attributes);
    note_kinds(robot, "elements", elements);
    note_kinds(robot, "attributes", attributes);
  }
  json_decref(elements);
  json_decref(attributes);
}

/* ---- values ---- */

bool robot_color(Robot *robot, Xml *node, const char *attribute, char color[8]) {
  double value[4] = {0.5, 0.5, 0.5, 1};
  if (!xml_numbers(node, attribute, 3, 4, value, NULL, robot->error)) return false;
  if (!xml_text(node, attribute)) return true;
  int byte[3];
  for (int k = 0; k < 3; k++) byte[k] = (int)lround(255 * fmin(1, fmax(0, value[k])));
  snprintf(color, 8, "#%02x%02x%02x", (unsigned)byte[0] & 255, (unsigned)byte[1] & 255, (unsigned)byte[2] & 255);
  return true;
}

/* ---- files ---- */

static bool is_file(const char *path) {
  struct stat about;
  return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

static char *real_file(const char *folder, const char *name) {
  char path[PATH_MAX];
  int n = name[0] == '/' ? snprintf(path, sizeof path, "%s", name) : snprintf(path, sizeof path, "%s/%s", folder, name);
  return n > 0 && n < PATH_MAX && is_file(path) ? realpath(path, NULL) : NULL;
}

/* name, then name without its first folder, and so on, but with one folder at least. */
static char *suffix_in(const char *folder, const char *name) {
  for (const char *at = name; at && strchr(at, '/'); at = strchr(at, '/') + 1) {
    char *found = real_file(folder, at);
    if (found) return found;
  }
  return NULL;
}

/* In the folder of the robot and all its parents. */
static char *suffix_in_parents(const char *folder, const char *name) {
  char real[PATH_MAX], *found = NULL;
  if (!realpath(folder, real)) return NULL;
  while (!(found = suffix_in(real, name)) && strrchr(real, '/') && real[1]) *strrchr(real, '/') = 0;
  return found;
}

static char *in_package_path(const char *name) {
  const char *list = getenv("ROS_PACKAGE_PATH");
  char *copy = list ? strdup(list) : NULL, *found = NULL, *rest = NULL;
  for (char *folder = copy ? strtok_r(copy, ":", &rest) : NULL; folder && !found; folder = strtok_r(NULL, ":", &rest))
    found = real_file(folder, name);
  free(copy);
  return found;
}

static const char *after(const char *text, const char *start) {
  size_t n = strlen(start);
  return strncmp(text, start, n) == 0 ? text + n : NULL;
}

char *robot_mesh_file(Robot *robot, Xml *node, const char *name, const char *folder) {
  const char *package = after(name, "package://"), *mesh_dir = robot->options->mesh_dir;
  char *found = NULL;
  if (!package) package = after(name, "model://");
  if (strlen(name) > 1000) return xml_fail(node, robot->error, "a file name of %zu characters", strlen(name)), NULL;
  if (package) {
    found = in_package_path(package);
    if (!found) found = suffix_in_parents(robot->folder, package);
  } else {
    if (after(name, "file://")) name = after(name, "file://");
    found = real_file(folder, name);
    if (!found) found = suffix_in_parents(robot->folder, name);
  }
  if (!found && mesh_dir) found = real_file(mesh_dir, package ? package : name);
  if (!found && mesh_dir) found = suffix_in(mesh_dir, package ? package : name);
  if (!found && mesh_dir) found = real_file(mesh_dir, base_name(name));
  if (found) return found;
  xml_fail(node, robot->error, "mesh \"%.200s\" not found%s%.200s%s", name,
           package ? " in ROS_PACKAGE_PATH, beside the robot or in a parent folder" : " in ", package ? "" : folder,
           mesh_dir ? ", nor in --mesh-dir" : "; --mesh-dir names another folder");
  return NULL;
}

/* ---- masses ---- */

/* Volume and moments, per density, about the centre and along the axes of the shape; false for a mesh or plane. */
static bool shape_moments(const Geom *g, double *volume, double moment[3]) {
  const double pi = 3.141592653589793238463, *s = g->size;
  double r2 = s[0] * s[0], v = 0, m[3] = {0};
  if (g->kind == GEOM_BOX) {
    v = s[0] * s[1] * s[2];
    for (int k = 0; k < 3; k++) m[k] = v / 12 * (s[0] * s[0] + s[1] * s[1] + s[2] * s[2] - s[k] * s[k]);
  } else if (g->kind == GEOM_SPHERE) {
    v = 4 * pi / 3 * s[0] * r2;
    for (int k = 0; k < 3; k++) m[k] = 0.4 * v * r2;
  } else if (g->kind == GEOM_ELLIPSOID) {
    v = pi / 6 * s[0] * s[1] * s[2];
    for (int k = 0; k < 3; k++) m[k] = v / 20 * (s[0] * s[0] + s[1] * s[1] + s[2] * s[2] - s[k] * s[k]);
  } else if (g->kind == GEOM_CYLINDER || g->kind == GEOM_CAPSULE) {
    double h = s[1], tube = pi * r2 * h, ball = g->kind == GEOM_CAPSULE ? 4 * pi / 3 * s[0] * r2 : 0;
    v = tube + ball;
    m[0] = m[1] = tube * (3 * r2 + h * h) / 12 + ball * (0.4 * r2 + 0.25 * h * h + 0.375 * h * s[0]);
    m[2] = tube * r2 / 2 + ball * 0.4 * r2;
  } else return false;
  *volume = v;
  memcpy(moment, m, sizeof m);
  return v > 0;
}

static bool has_no_mass(const Geom *g) { return g->mass == 0 || (g->mass < 0 && g->density == 0); }

bool robot_mass_of_geoms(const Link *link, double *mass, double center[3], double inertia[6]) {
  double total = 0, volume, moment[3];
  memset(center, 0, 3 * sizeof *center);
  memset(inertia, 0, 6 * sizeof *inertia);
  for (int pass = 0; pass < 2; pass++) { /* the centre first, then the inertia about it */
    for (size_t i = 0; i < link->geom_count; i++) {
      const Geom *g = &link->geom[i];
      if (has_no_mass(g) || g->kind == GEOM_PLANE) continue;
      if (!shape_moments(g, &volume, moment)) return false;
      double m = g->mass > 0 ? g->mass : g->density * volume, f = m / volume, turned[6], d[3];
      if (pass == 0) total += m;
      double own[6] = {f * moment[0], f * moment[1], f * moment[2], 0, 0, 0};
      for (int k = 0; k < 3; k++) d[k] = g->at.p[k] - center[k];
      tensor_turn(g->at.r, own, turned);
      for (int k = 0; pass == 0 && k < 3; k++) inertia[k] += m * g->at.p[k]; /* the first moments, for now */
      if (pass == 0) continue;
      for (int k = 0; k < 6; k++) inertia[k] += turned[k];
      tensor_add_point(inertia, m, d);
    }
    if (!(total > 0)) return false;
    for (int k = 0; pass == 0 && k < 3; k++) center[k] = inertia[k] / total, inertia[k] = 0;
  }
  *mass = total;
  return true;
}

/* Eigenvalues and axes (columns) of a symmetric matrix, by Jacobi's rotations. */
static void eigen(double a[3][3], double v[3][3]) {
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) v[i][j] = i == j;
  for (int sweep = 0; sweep < 30; sweep++)
    for (int p = 0; p < 2; p++)
      for (int q = p + 1; q < 3; q++) {
        if (a[p][q] == 0) continue;
        double theta = (a[q][q] - a[p][p]) / (2 * a[p][q]);
        double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1)), c = 1 / sqrt(t * t + 1), s = t * c;
        for (int k = 0; k < 3; k++) {
          double x = a[k][p], y = a[k][q];
          a[k][p] = c * x - s * y, a[k][q] = s * x + c * y;
        }
        for (int k = 0; k < 3; k++) {
          double x = a[p][k], y = a[q][k], vx = v[k][p], vy = v[k][q];
          a[p][k] = c * x - s * y, a[q][k] = s * x + c * y;
          v[k][p] = c * vx - s * vy, v[k][q] = s * vx + c * vy;
        }
      }
}

/* The second moments tr(I)/2 - I of a mass have no negative eigenvalue. */
bool robot_mend_inertia(double inertia[6]) {
  double half = (inertia[0] + inertia[1] + inertia[2]) / 2, v[3][3], most = 0;
  double a[3][3] = {{half - inertia[0], -inertia[3], -inertia[4]},
                    {-inertia[3], half - inertia[1], -inertia[5]},
                    {-inertia[4], -inertia[5], half - inertia[2]}};
  eigen(a, v);
  bool possible = true;
  for (int k = 0; k < 3; k++) most = fmax(most, a[k][k]);
  for (int k = 0; k < 3; k++) possible = possible && a[k][k] >= -1e-6 * most;
  if (possible || !(most > 0)) return false;
  double second[3][3] = {{0}}, trace = 0;
  for (int k = 0; k < 3; k++) {
    double value = fmax(a[k][k], 1e-3 * most);
    trace += value;
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) second[i][j] += value * v[i][k] * v[j][k];
  }
  double out[6] = {trace - second[0][0], trace - second[1][1], trace - second[2][2],
                   -second[0][1],        -second[0][2],        -second[1][2]};
  memcpy(inertia, out, sizeof out);
  return true;
}
