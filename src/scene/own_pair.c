/* Pairs of bodies in abd's own format: "exclude" and "pair_friction". A body is named, or numbered from 0 in its
 * file; the name of a body with copies selects all of them. Tests: tests/test_scene.c. */
#include <stdlib.h>
#include <string.h>

#include "scene/own.h"

typedef struct BodyList {
  size_t *index;
  size_t count;
} BodyList;

bool own_is_copy(const SceneBody *body, const char *name) {
  size_t length = strlen(name);
  return body->copy && strncmp(body->name, name, length) == 0 && body->name[length] == '-' &&
         strspn(body->name + length + 1, "0123456789") == strlen(body->name + length + 1);
}

static bool is_named(const SceneBody *body, const char *name) {
  return strcmp(body->name, name) == 0 || own_is_copy(body, name);
}

static bool find_bodies(OwnFile *file, const Node *node, BodyList *list) {
  const Scene *scene = file->loader->scene;
  const char *name = json_string_value(node->value);
  int64_t number = 0, in_file = (int64_t)(scene->body_count - file->first_body);
  if (!name && !json_is_integer(node->value)) return node_expected(node, "a body's name or number");
  if (!name && !in_file) return node_fail(node, "the scene has no bodies");
  if (!name && !node_integer(node, 0, in_file - 1, &number)) return false;
  size_t first = 0, end = scene->body_count;
  for (size_t i = file->first_body; name && i < file->body_end; i++) { /* a body of this file hides those of others */
    if (is_named(&scene->body[i], name)) first = file->first_body, end = file->body_end;
  }
  for (size_t i = first; i < end; i++) {
    if (name ? !is_named(&scene->body[i], name) : i != file->first_body + (size_t)number) continue;
    size_t *slot = array_add(&list->index, &list->count, sizeof *slot);
    if (!slot) return loader_out_of_memory(file->loader);
    *slot = i;
  }
  return list->count || node_fail(node, "no body is called \"%.100s\"", name ? name : "");
}

static bool add_pairs(OwnFile *file, const Node *at, const BodyList *a, const BodyList *b, const double value[2],
                      ScenePair **pairs, size_t *count) {
  for (size_t i = 0; i < a->count; i++) {
    for (size_t j = 0; j < b->count; j++) {
      if (a->index[i] == b->index[j]) {
        if (a->count == 1 && b->count == 1) return node_fail(at, "a pair needs two different bodies");
        continue;
      }
      if (*count >= SCENE_PAIR_LIMIT) return node_fail(at, "more than %d pairs", SCENE_PAIR_LIMIT);
      ScenePair *pair = array_add(pairs, count, sizeof *pair);
      if (!pair) return loader_out_of_memory(file->loader);
      *pair = (ScenePair){a->index[i], b->index[j], value[0], value[1]};
    }
  }
  return true;
}

static bool read_pair(OwnFile *file, const Node *node, const double value[2], ScenePair **pairs, size_t *count) {
  BodyList a = {0}, b = {0};
  if (!json_is_array(node->value) || node_size(node) != 2) return node_expected(node, "a list of 2 bodies");
  Node first = node_item(node, 0), second = node_item(node, 1);
  bool ok = find_bodies(file, &first, &a) && find_bodies(file, &second, &b) &&
            add_pairs(file, node, &a, &b, value, pairs, count);
  free(a.index);
  free(b.index);
  return ok;
}

static bool read_exclude(OwnFile *file) {
  const double none[2] = {-1, -1};
  Node list;
  if (!node_get(file->top, "exclude", &list)) return true;
  if (!node_is_array(&list)) return false;
  for (size_t i = 0; i < node_size(&list); i++) {
    Node pair = node_item(&list, i);
    if (!read_pair(file, &pair, none, &file->loader->scene->exclude, &file->loader->scene->exclude_count)) return false;
  }
  return true;
}

static bool read_pair_friction(OwnFile *file) {
  static const char *const known[] = {"bodies", "friction", "restitution", NULL};
  Node list;
  if (!node_get(file->top, "pair_friction", &list)) return true;
  if (!node_is_array(&list)) return false;
  for (size_t i = 0; i < node_size(&list); i++) {
    Node item = node_item(&list, i), bodies, restitution;
    double value[2] = {-1, -1};
    Scene *scene = file->loader->scene;
    if (!node_check_keys(&item, known) || !read_number(&item, "friction", NUMBER_NOT_NEGATIVE, &value[0]) ||
        !read_number(&item, "restitution", NUMBER_NOT_NEGATIVE, &value[1]))
      return false;
    if (value[1] > 1 && node_get(&item, "restitution", &restitution))
      return node_expected(&restitution, "a number from 0 to 1");
    if (!node_get(&item, "bodies", &bodies) || (value[0] < 0 && value[1] < 0))
      return node_fail(&item, "expected \"bodies\" and \"friction\" or \"restitution\"");
    if (!read_pair(file, &bodies, value, &scene->pair_friction, &scene->pair_friction_count)) return false;
  }
  return true;
}

/* ---- Coefficients without effect ---- */

static double coefficient(const Scene *scene, const SceneBody *body, bool friction) {
  double own = friction ? body->def.friction : body->def.restitution;
  if (!friction && body->soft) return 0; /* soft bodies do not bounce */
  if (own >= 0) return own;
  return friction ? scene->world.contact.friction : scene->world.contact.restitution;
}

/* The first body whose own coefficient is above 0 if no pair has one above 0, else NULL. A pair has the geometric mean
 * of its bodies' or its own. Bodies that are not dynamic do not collide with each other; soft ones with themselves. */
static const SceneBody *find_idle_coefficient(const Scene *scene, bool friction) {
  const SceneBody *first = NULL;
  size_t count = 0, moving = 0;
  for (size_t i = 0; i < scene->pair_friction_count; i++)
    if ((friction ? scene->pair_friction[i].friction : scene->pair_friction[i].restitution) > 0) return NULL;
  for (size_t i = 0; i < scene->body_count; i++) {
    const SceneBody *body = &scene->body[i];
    if (!(coefficient(scene, body, friction) > 0)) continue;
    bool own = (friction ? body->def.friction : body->def.restitution) > 0;
    if (own && !first) first = body;
    if (body->soft) return NULL;
    count++;
    moving += body->def.motion == ABD_MOTION_DYNAMIC;
  }
  return scene->body_count > 1 && !(count > 1 && moving) ? first : NULL;
}

void own_note_coefficients(Scene *scene) {
  for (int k = 0; k < 2; k++) {
    const char *key = k ? "restitution" : "friction", *sign = k ? "e" : "mu";
    const SceneBody *body = find_idle_coefficient(scene, k == 0);
    if (body)
      scene_add_note(
          scene,
          "no pair has %s: body \"%.200s\" has a coefficient, but a pair uses sqrt(%s_a %s_b) and that of the "
          "other bodies is 0; contact.%s is for bodies without one",
          key, body->name, sign, sign, key);
  }
}

bool own_read_pairs(OwnFile *file) { return read_exclude(file) && read_pair_friction(file); }
