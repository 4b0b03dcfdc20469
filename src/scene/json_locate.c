/* Finds the line and column of a JSON value by walking the text along its path (json_locate.h). Without recursion over
 * values: skipping one only counts brackets. Tests: tests/test_scene.c. */
#include "scene/json_locate.h"

#include <string.h>

typedef struct Walk {
  const char *at, *end;
} Walk;

static void skip_space(Walk *w) {
  while (w->at < w->end && strchr(" \t\r\n", *w->at) && *w->at) w->at++;
}

static void skip_string(Walk *w) {
  for (w->at++; w->at < w->end && *w->at != '"'; w->at++) {
    if (*w->at == '\\' && w->at + 1 < w->end) w->at++;
  }
  if (w->at < w->end) w->at++;
}

static void skip_value(Walk *w) {
  int depth = 0;
  for (skip_space(w); w->at < w->end;) {
    char c = *w->at;
    if (c == '"') {
      skip_string(w);
      if (!depth) return;
    } else if (c == '{' || c == '[') {
      depth++, w->at++;
    } else if (c == '}' || c == ']') {
      if (!depth) return;
      w->at++;
      if (!--depth) return;
    } else if (!depth && strchr(", \t\r\n", c) && c) {
      return;
    } else {
      w->at++;
    }
  }
}

/* Moves from '{' to the key's value. Keys with escapes are compared as written; no key of the format has any. */
static bool enter_key(Walk *w, const char *key) {
  size_t length = strlen(key);
  skip_space(w);
  if (w->at >= w->end || *w->at != '{') return false;
  for (w->at++;;) {
    skip_space(w);
    if (w->at >= w->end || *w->at != '"') return false;
    Walk name = *w;
    skip_string(w);
    bool found = (size_t)(w->at - name.at) == length + 2 && memcmp(name.at + 1, key, length) == 0;
    skip_space(w);
    if (w->at < w->end && *w->at == ':') w->at++;
    skip_space(w);
    if (found) return true;
    skip_value(w);
    skip_space(w);
    if (w->at < w->end && *w->at == ',') w->at++;
  }
}

static bool enter_item(Walk *w, size_t index) {
  skip_space(w);
  if (w->at >= w->end || *w->at != '[') return false;
  w->at++;
  for (size_t i = 0; i < index; i++) {
    skip_value(w);
    skip_space(w);
    if (w->at >= w->end || *w->at != ',') return false;
    w->at++;
  }
  skip_space(w);
  return true;
}

/* The walk at the node's value; false when the path leaves the text. Recursion is as deep as the readers' path. */
static bool walk_to(const Node *node, Walk *w) {
  if (!node->parent) {
    skip_space(w);
    return true;
  }
  if (!walk_to(node->parent, w)) return false;
  Walk start = *w;
  if (node->key ? enter_key(w, node->key) : enter_item(w, node->index)) return true;
  *w = start;
  return false;
}

JsonPlace json_locate(const Node *node) {
  Walk w = {node->file->text, node->file->text + node->file->length};
  walk_to(node, &w);
  JsonPlace place = {1, 1};
  for (const char *c = node->file->text; c < w.at; c++) {
    if (*c == '\n') place.line++, place.column = 1;
    else place.column++;
  }
  return place;
}
