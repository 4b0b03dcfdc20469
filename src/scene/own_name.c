/* Finds one body or joint by its name or number in abd's own format (own.h). Names of the file itself are searched
 * first, then names of files that include it or are included. If several bodies have the name, the error explains how
 * to name one of them. Tests: tests/test_scene_joint.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene/own.h"

enum { AMBIGUOUS = -1, NEAREST_LIMIT = 20000 };

/* A set of named things: bodies or joints of the scene. */
typedef struct Cast {
  const char *what, *whats; /* "body", "bodies" */
  size_t first, own_end;    /* of the file itself, in the scene */
  size_t count;             /* in the scene; numbers are valid from `first` on, names for all */
  const char *(*name)(const Scene *scene, size_t index);
} Cast;

static const char *body_name(const Scene *scene, size_t index) { return scene->body[index].name; }
static const char *joint_name(const Scene *scene, size_t index) { return scene->joint[index].name; }

static bool index_name(json_t *index, const char *name, size_t i) {
  bool twice = json_object_get(index, name) != NULL;
  return json_object_set_new_nocheck(index, name, json_integer(twice ? AMBIGUOUS : (json_int_t)i)) == 0;
}

bool own_index_joint(OwnFile *file, size_t joint) {
  if (!file->joint_index) file->joint_index = json_object();
  return index_name(file->joint_index, file->loader->scene->joint[joint].name, joint) ||
         loader_out_of_memory(file->loader);
}

static bool index_bodies(OwnFile *file) {
  const Scene *scene = file->loader->scene;
  bool ok = (file->body_index = json_object()) != NULL;
  for (size_t i = file->first_body; ok && i < file->body_end; i++)
    ok = index_name(file->body_index, scene->body[i].name, i);
  return ok || loader_out_of_memory(file->loader);
}

static bool fail_unknown(OwnFile *file, const Node *node, const Cast *cast, const char *name) {
  size_t count = cast->count < NEAREST_LIMIT ? cast->count : NEAREST_LIMIT;
  const char **names = calloc(count + 1, sizeof *names);
  if (!names) return loader_out_of_memory(file->loader);
  for (size_t i = 0; i < count; i++) names[i] = cast->name(file->loader->scene, i);
  const char *nearest = nearest_name(name, names);
  if (nearest) node_fail(node, "no %s is called \"%.100s\"; did you mean \"%.100s\"?", cast->what, name, nearest);
  else node_fail(node, "no %s is called \"%.100s\"", cast->what, name);
  free(names);
  return false;
}

static bool fail_ambiguous(const Node *node, const Cast *cast, const char *name, size_t count, const char *copy,
                           int64_t number) {
  char advice[300] = "";
  if (copy) snprintf(advice, sizeof advice, "name one of the copies, such as \"%.100s\", or ", copy);
  return node_fail(node, "%zu %s are called \"%.100s\": %sgive a number in this file from 0, such as %lld", count,
                   cast->whats, name, advice, (long long)number);
}

static bool find_number(const Node *node, const Cast *cast, size_t *index) {
  int64_t number;
  if (cast->count == cast->first) return node_fail(node, "there is no %s to be numbered here", cast->what);
  if (!node_integer(node, 0, (int64_t)(cast->count - cast->first) - 1, &number)) return false;
  *index = cast->first + (size_t)number;
  return true;
}

/* A name of the file's own is found at once; only others are searched for. */
static bool find_name(OwnFile *file, const Node *node, const Cast *cast, const json_t *own, size_t *index) {
  const Scene *scene = file->loader->scene;
  const char *name = json_string_value(node->value), *copy = NULL;
  json_t *known = json_object_get(own, name);
  size_t matches = 0, first = 0;
  if (known && json_integer_value(known) != AMBIGUOUS) {
    *index = (size_t)json_integer_value(known);
    return true;
  }
  for (size_t i = known ? cast->first : 0; i < (known ? cast->own_end : cast->count); i++) {
    bool exact = strcmp(cast->name(scene, i), name) == 0;
    if (!exact && !(cast->name == body_name && own_is_copy(&scene->body[i], name))) continue;
    if (!exact && !copy) copy = cast->name(scene, i);
    if (!matches++) first = i;
  }
  *index = first;
  if (!matches) return fail_unknown(file, node, cast, name);
  return matches == 1 ||
         fail_ambiguous(node, cast, name, matches, copy, first >= cast->first ? (int64_t)(first - cast->first) : 0);
}

static bool find_one(OwnFile *file, const Node *node, const Cast *cast, const json_t *own, size_t *index) {
  char what[64];
  if (json_is_string(node->value)) return find_name(file, node, cast, own, index);
  snprintf(what, sizeof what, "a %s's name or number", cast->what);
  return json_is_integer(node->value) ? find_number(node, cast, index) : node_expected(node, what);
}

bool own_find_body(OwnFile *file, const Node *node, size_t *index) {
  const Scene *scene = file->loader->scene;
  if (!file->body_index && !index_bodies(file)) return false;
  Cast cast = {"body", "bodies", file->first_body, file->body_end, scene->body_count, body_name};
  return find_one(file, node, &cast, file->body_index, index);
}

bool own_find_joint(OwnFile *file, const Node *node, size_t before, size_t *index) {
  Cast cast = {"joint", "joints", file->first_joint, before, before, joint_name};
  return find_one(file, node, &cast, file->joint_index, index);
}
