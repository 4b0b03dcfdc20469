/* The scene of a robot in abd's own format (docs/scene.md) from its description (tree.h, emit.h). Tested in
 * tests/test_robot.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "robot/emit.h"

/* ---- JSON ---- */

json_t *emit_numbers(const double *value, size_t count) {
  json_t *list = json_array();
  for (size_t k = 0; k < count; k++) json_array_append_new(list, json_real(value[k] == 0 ? 0 : value[k]));
  return list;
}

void emit_put(json_t *object, const char *key, json_t *value) { json_object_set_new(object, key, value); }
void emit_put_number(json_t *object, const char *key, double value) { emit_put(object, key, json_real(value)); }

json_t *emit_name(const Robot *robot, const char *name) {
  char text[400];
  json_t *value;
  snprintf(text, sizeof text, "%.100s%.290s", robot->options->prefix ? robot->options->prefix : "", name);
  size_t length = strlen(text);
  while (!(value = json_string(text)) && length) text[--length] = 0; /* the cut may have divided a character */
  return value;
}

json_t *emit_link_name(const Robot *robot, int link) { return emit_name(robot, robot->link[link].name); }

void emit_put_pose(json_t *object, const Pose *pose) {
  double q[4];
  quat_from_mat(pose->r, q);
  if (pose->p[0] != 0 || pose->p[1] != 0 || pose->p[2] != 0) emit_put(object, "position", emit_numbers(pose->p, 3));
  if (fabs(q[0]) < 1) emit_put(object, "quaternion", emit_numbers(q, 4));
}

/* ---- groups ---- */

static bool allocate(Emit *e) {
  size_t n = e->robot->link_count + 1, m = e->robot->joint_count + 1;
  int **ints[] = {&e->group, &e->host, &e->body};
  for (size_t k = 0; k < 3; k++)
    if (!(*ints[k] = calloc(n, sizeof(int)))) return robot_fail(e->robot->error, "out of memory");
  e->still = calloc(n, sizeof *e->still);
  e->collides = calloc(n, sizeof *e->collides);
  e->type = calloc(n, sizeof *e->type);
  e->affinity = calloc(n, sizeof *e->affinity);
  e->damping = calloc(m, sizeof *e->damping);
  e->driven = calloc(m, 1);
  e->pulled = calloc(e->robot->tendon_count + 1, 1);
  e->bodies = json_array(), e->joints = json_array(), e->drives = json_array(), e->exclude = json_array();
  return (e->still && e->collides && e->type && e->affinity && e->damping && e->driven && e->pulled && e->bodies &&
          e->joints && e->drives && e->exclude) ||
         robot_fail(e->robot->error, "out of memory");
}

static int group_of(const Robot *robot, int link) {
  while (robot->link[link].joint < 0 && robot->link[link].parent >= 0) link = robot->link[link].parent;
  return link;
}

static bool has_mass(const Link *l) { return l->has_mass || l->density > 0; }

/* The link's body: itself if it has geometry and the world carries it, or if it has mass; else its host. */
static int body_of(const Emit *e, int link) {
  const Link *l = &e->robot->link[link];
  int top = e->group[link];
  if (e->still[top]) return l->geom_count ? link : NO_BODY;
  return has_mass(l) ? link : e->host[top];
}

static bool find_groups(Emit *e) {
  Robot *robot = e->robot;
  int count = (int)robot->link_count;
  for (int i = 0; i < count; i++) e->host[i] = NO_BODY;
  for (int i = 0; i < count; i++) e->group[i] = group_of(robot, i);
  for (int i = 0; i < count; i++) e->still[e->group[i]] = robot->link[e->group[i]].joint < 0;
  for (int i = 0; i < count; i++) { /* the top link if it has mass, else the first link with mass */
    int top = e->group[i];
    if (has_mass(&robot->link[i]) && (e->host[top] == NO_BODY || i == top)) e->host[top] = i;
  }
  for (int i = 0; i < count; i++)
    if (e->group[i] == i && !e->still[i] && e->host[i] == NO_BODY)
      return xml_fail(robot->link[i].xml, robot->error,
                      "the link moves, but neither it nor a link that is fixed to it has a mass");
  for (int i = 0; i < count; i++) e->body[i] = body_of(e, i);
  return true;
}

/* ---- contact ---- */

/* The bits of all geometry of a body together: bits of two of its geometries meet if and only if these do. */
static void find_bits(Emit *e) {
  for (size_t i = 0; i < e->robot->link_count; i++)
    for (size_t k = 0; e->body[i] >= 0 && k < e->robot->link[i].geom_count; k++) {
      const Geom *g = &e->robot->link[i].geom[k];
      if (g->visual) continue;
      e->type[e->body[i]] |= g->type;
      e->affinity[e->body[i]] |= g->affinity;
    }
}

static bool geoms_meet(const Emit *e, int a, int b) {
  return (e->type[a] & e->affinity[b]) || (e->type[b] & e->affinity[a]);
}

/* The group of the body that carries the group's joint; -1: the world. */
static int parent_group(const Emit *e, int top) {
  int parent = e->robot->link[top].parent;
  return parent < 0 || e->still[e->group[parent]] ? -1 : e->group[parent];
}

static bool excluded(const Emit *e, int a, int b) {
  int x = e->group[a], y = e->group[b];
  if (e->still[x] && e->still[y]) return false; /* never collide */
  if (x == y || (!e->still[x] && parent_group(e, x) == y) || (!e->still[y] && parent_group(e, y) == x)) return true;
  return e->robot->options->geometry == ROBOT_COLLISION && !geoms_meet(e, a, b);
}

static bool listed(const Emit *e, int a, int b) {
  for (size_t k = 0; k < e->robot->exclude_count; k++) {
    LinkPair p = e->robot->exclude[k];
    int x = p.a < 0 ? NO_BODY : e->body[p.a], y = p.b < 0 ? NO_BODY : e->body[p.b];
    if ((x == a && y == b) || (x == b && y == a)) return true;
  }
  return false;
}

static void put_exclusions(Emit *e) {
  int count = (int)e->robot->link_count;
  find_bits(e);
  for (int a = 0; a < count; a++)
    for (int b = 0; b < a && e->body[a] == a; b++) {
      if (e->body[b] != b || !e->collides[a] || !e->collides[b]) continue;
      if (!excluded(e, a, b) && !listed(e, a, b)) continue;
      json_t *pair = json_array();
      json_array_append_new(pair, emit_link_name(e->robot, b));
      json_array_append_new(pair, emit_link_name(e->robot, a));
      json_array_append_new(e->exclude, pair);
    }
}

/* ---- the scene ---- */

static bool put_all(Emit *e) {
  if (!allocate(e) || !find_groups(e) || !emit_bodies(e)) return false;
  emit_add_damping(e);
  if (!emit_joints(e)) return false;
  emit_tendons(e);
  emit_drives(e);
  put_exclusions(e);
  return true;
}

static json_t *scene_json(Emit *e) {
  const Robot *robot = e->robot;
  json_t *scene = json_pack("{s:i}", "version", 1);
  if (robot->name) emit_put(scene, "name", json_string(robot->name));
  if (robot->dt > 0) emit_put_number(scene, "dt", robot->dt);
  if (robot->has_gravity) emit_put(scene, "gravity", emit_numbers(robot->gravity, 3));
  emit_put(scene, "contact", json_pack("{s:f}", "friction", 0.5));
  emit_put(scene, "bodies", json_incref(e->bodies));
  if (json_array_size(e->exclude)) emit_put(scene, "exclude", json_incref(e->exclude));
  emit_put(scene, "joints", json_incref(e->joints));
  if (json_array_size(e->drives)) emit_put(scene, "drives", json_incref(e->drives));
  return scene;
}

json_t *emit_scene(Robot *robot) {
  Emit e = {.robot = robot};
  json_t *scene = put_all(&e) ? scene_json(&e) : NULL;
  json_t *list[] = {e.bodies, e.joints, e.drives, e.exclude};
  void *array[] = {e.group, e.host, e.body, e.still, e.collides, e.type, e.affinity, e.damping, e.driven, e.pulled};
  for (size_t k = 0; k < sizeof list / sizeof *list; k++) json_decref(list[k]);
  for (size_t k = 0; k < sizeof array / sizeof *array; k++) free(array[k]);
  return scene;
}
