/* Bodies of a robot's scene: geometry, mass, colour, planes (emit.h). Tested in tests/test_robot.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "robot/emit.h"

bool emit_body_has(const Emit *e, int body, bool visual) {
  for (size_t i = 0; i < e->robot->link_count; i++)
    for (size_t k = 0; e->body[i] == body && k < e->robot->link[i].geom_count; k++)
      if (e->robot->link[i].geom[k].visual == visual && e->robot->link[i].geom[k].kind != GEOM_PLANE) return true;
  return false;
}

static json_t *part_json(const Geom *g) {
  static const char *const name[] = {"box", "sphere", "cylinder", "capsule", "ellipsoid"};
  json_t *part = json_object();
  if (g->kind == GEOM_MESH) {
    emit_put(part, "mesh", json_string(g->file));
    bool scaled = g->size[0] != 1 || g->size[1] != 1 || g->size[2] != 1;
    if (scaled) emit_put(part, "scale", emit_numbers(g->size, 3));
    return part;
  }
  emit_put(part, "shape", json_string(name[g->kind]));
  if (g->kind == GEOM_BOX || g->kind == GEOM_ELLIPSOID) emit_put(part, "size", emit_numbers(g->size, 3));
  else emit_put_number(part, "radius", g->size[0]);
  if (g->kind == GEOM_CYLINDER || g->kind == GEOM_CAPSULE) emit_put_number(part, "height", g->size[1]);
  return part;
}

static void put_parts(const Emit *e, int body, bool visual, json_t *parts) {
  const Robot *robot = e->robot;
  Pose back = pose_inverse(&robot->link[body].start);
  for (size_t i = 0; i < robot->link_count; i++) {
    Pose from = pose_times(&back, &robot->link[i].start);
    if ((int)i == body) from = pose_identity();
    for (size_t k = 0; e->body[i] == body && k < robot->link[i].geom_count; k++) {
      const Geom *g = &robot->link[i].geom[k];
      if (g->visual != visual || g->kind == GEOM_PLANE) continue;
      json_t *part = part_json(g);
      Pose at = pose_times(&from, &g->at);
      emit_put_pose(part, &at);
      json_array_append_new(parts, part);
    }
  }
}

/* One part at the link's own place is written without a list. */
static void put_geometry(const Emit *e, int body, bool visual, json_t *object) {
  json_t *parts = json_array(), *only = NULL;
  put_parts(e, body, visual, parts);
  if (json_array_size(parts) == 1) only = json_array_get(parts, 0);
  if (only && (json_object_get(only, "position") || json_object_get(only, "quaternion"))) only = NULL;
  if (only) json_object_update(object, only);
  else emit_put(object, "parts", json_incref(parts));
  json_decref(parts);
}

/* A link without geometry is a small box at its centre of mass, which touches nothing. */
static void put_marker(Emit *e, int body, json_t *object) {
  const Link *l = &e->robot->link[body];
  double edge = fmax(1e-3, l->mass > 0 ? sqrt(2 * (l->inertia[0] + l->inertia[1] + l->inertia[2]) / l->mass) : 0);
  double size[3] = {edge, edge, edge};
  json_t *part = json_pack("{s:s, s:o, s:o}", "shape", "box", "size", emit_numbers(size, 3), "position",
                           emit_numbers(l->center, 3));
  emit_put(object, "parts", json_pack("[o]", part));
  emit_put(object, "collide", json_false());
  robot_note(e->robot, "links without geometry are boxes that touch nothing, the first is \"%.80s\"", l->name);
}

/* The geometry that a mass is made of, each with its density or mass. The scene's reader computes the mass from it. */
static json_t *mass_parts(const Link *l) {
  json_t *parts = json_array();
  for (size_t k = 0; k < l->geom_count; k++) {
    const Geom *g = &l->geom[k];
    if (g->kind == GEOM_PLANE || g->mass == 0 || (g->mass < 0 && g->density == 0)) continue;
    json_t *part = part_json(g);
    emit_put_pose(part, &g->at);
    emit_put_number(part, g->mass > 0 ? "mass" : "density", g->mass > 0 ? g->mass : g->density);
    json_array_append_new(parts, part);
  }
  return parts;
}

static void put_mass(Emit *e, Link *l, json_t *object) {
  if (l->has_inertia && robot_mend_inertia(l->inertia))
    robot_note(e->robot, "%.200s:%d: no mass has the inertia of \"%.80s\": the nearest possible one is used",
               l->xml->file, l->xml->line, l->name);
  if (l->density > 0) emit_put_number(object, "density", l->density), emit_put(object, "#mass", mass_parts(l));
  if (!l->has_mass) return;
  emit_put_number(object, "mass", l->mass);
  emit_put(object, "center_of_mass", emit_numbers(l->center, 3));
  if (l->has_inertia) emit_put(object, "inertia", emit_numbers(l->inertia, 6));
}

static const char *color_of(const Emit *e, int body) {
  const char *color = NULL;
  for (int visual = 1; visual >= 0; visual--)
    for (size_t i = 0; i < e->robot->link_count; i++)
      for (size_t k = 0; e->body[i] == body && !color && k < e->robot->link[i].geom_count; k++) {
        const Geom *g = &e->robot->link[i].geom[k];
        if (g->visual == (visual == 1) && g->color[0]) color = g->color;
      }
  return color;
}

/* The largest coefficient of the collision or visual geometry, negative if there is none; differs: whether there are
 * several. */
static double friction_of(const Emit *e, int body, bool visual, bool *differs) {
  double friction = -1;
  for (size_t i = 0; i < e->robot->link_count; i++)
    for (size_t k = 0; e->body[i] == body && k < e->robot->link[i].geom_count; k++) {
      const Geom *g = &e->robot->link[i].geom[k];
      if (g->visual != visual || g->friction < 0) continue;
      *differs |= friction >= 0 && g->friction != friction;
      friction = fmax(friction, g->friction);
    }
  return friction;
}

static void put_surface(Emit *e, int body, json_t *object) {
  bool differs = false;
  const char *color = color_of(e, body);
  double friction = friction_of(e, body, false, &differs);
  if (friction < 0 && e->robot->options->geometry == ROBOT_VISUAL) friction = friction_of(e, body, true, &differs);
  if (color) emit_put(object, "color", json_string(color));
  if (friction >= 0) emit_put_number(object, "friction", friction);
  if (differs && !e->friction_noted)
    robot_note(e->robot,
               "\"%.80s\": a body has one friction coefficient: if its geometry has several, the largest is used",
               e->robot->link[body].name);
  e->friction_noted |= differs;
}

static bool put_body(Emit *e, int body) {
  Link *l = &e->robot->link[body];
  bool still = e->still[e->group[body]], seen = emit_body_has(e, body, true), touched = emit_body_has(e, body, false);
  bool visual = e->robot->options->geometry == ROBOT_VISUAL ? seen : !touched;
  json_t *object = json_object();
  if (!seen && !touched && still) return json_decref(object), true; /* a plane alone */
  emit_put(object, "name", emit_link_name(e->robot, body));
  if (still) emit_put(object, "motion", json_string("static"));
  emit_put_pose(object, &l->start);
  if (seen || touched) put_geometry(e, body, visual, object);
  e->collides[body] = touched || (seen && e->robot->options->geometry == ROBOT_VISUAL);
  if ((seen || touched) && !e->collides[body]) emit_put(object, "collide", json_false());
  if (!still && !seen && !touched) put_marker(e, body, object);
  if (!still) put_mass(e, l, object);
  put_surface(e, body, object);
  json_array_append_new(e->bodies, object);
  return true;
}

/* Planes are half-spaces of their own. */
static bool put_planes(Emit *e, int link) {
  const Link *l = &e->robot->link[link];
  for (size_t k = 0; k < l->geom_count; k++) {
    const Geom *g = &l->geom[k];
    if (g->kind != GEOM_PLANE || g->visual) continue;
    if (!e->still[e->group[link]])
      return xml_fail(g->xml, e->robot->error, "a plane can only be part of a body that does not move");
    const char *name = xml_text(g->xml, "name");
    json_t *object = json_pack("{s:o, s:s}", "name", emit_name(e->robot, name ? name : "plane"), "shape", "ground");
    Pose at = pose_times(&l->start, &g->at);
    emit_put_pose(object, &at);
    if (g->color[0]) emit_put(object, "color", json_string(g->color));
    if (g->friction >= 0) emit_put_number(object, "friction", g->friction);
    json_array_append_new(e->bodies, object);
  }
  return true;
}

bool emit_bodies(Emit *e) {
  for (int i = 0; i < (int)e->robot->link_count; i++) {
    if (e->body[i] == i && !put_body(e, i)) return false;
    if (!put_planes(e, i)) return false;
  }
  return true;
}
