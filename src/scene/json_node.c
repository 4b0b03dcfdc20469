/* Typed reading of JSON values with paths in errors (json_node.h). Tests: tests/test_scene.c. */
#include "scene/json_node.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "scene/file_bytes.h"
#include "scene/json_locate.h"

bool scene_fail(SceneError *error, const char *format, ...) {
  if (error) {
    va_list list;
    va_start(list, format);
    vsnprintf(error->text, sizeof error->text, format, list);
    va_end(list);
  }
  return false;
}

static bool is_utf16(const JsonFile *file) {
  const char *c = file->text;
  return file->length >= 2 && (memcmp(c, "\xff\xfe", 2) == 0 || memcmp(c, "\xfe\xff", 2) == 0 || !c[0] || !c[1]);
}

json_t *json_file_parse(JsonFile *file, size_t flags) {
  json_error_t problem;
  size_t mark = byte_order_mark(file->text, file->length);
  file->text += mark, file->length -= mark;
  json_t *value = json_loadb(file->text, file->length, flags, &problem);
  if (value) return value;
  if (is_utf16(file)) scene_fail(file->error, "%.500s: the text is UTF-16; save it as UTF-8", file->name);
  else scene_fail(file->error, "%.500s:%d:%d: %s", file->name, problem.line, problem.column, problem.text);
  return NULL;
}

Node node_top(const JsonFile *file, json_t *value) { return (Node){.file = file, .value = value}; }

bool node_get(const Node *object, const char *key, Node *child) {
  json_t *value = json_object_get(object->value, key);
  if (!value || (object->file->null_is_absent && json_is_null(value))) return false;
  *child = (Node){.file = object->file, .value = value, .parent = object, .key = key};
  return true;
}

Node node_item(const Node *array, size_t index) {
  return (Node){.file = array->file, .value = json_array_get(array->value, index), .parent = array, .index = index};
}

size_t node_size(const Node *array) { return json_array_size(array->value); }

/* Writes "bodies[3].density" for the node; returns the length. */
static size_t write_path(const Node *node, char *out, size_t size) {
  if (!node->parent) return 0;
  size_t used = write_path(node->parent, out, size);
  if (used >= size) return used;
  int n = node->key ? snprintf(out + used, size - used, "%s%.80s", used ? "." : "", node->key)
                    : snprintf(out + used, size - used, "[%zu]", node->index);
  used += n > 0 ? (size_t)n : 0;
  return used < size ? used : size - 1;
}

bool node_fail(const Node *node, const char *format, ...) {
  char path[256] = "", sentence[512], place[64] = "";
  va_list list;
  va_start(list, format);
  vsnprintf(sentence, sizeof sentence, format, list);
  va_end(list);
  write_path(node, path, sizeof path);
  if (node->file->text) {
    JsonPlace at = json_locate(node);
    snprintf(place, sizeof place, ":%d:%d", at.line, at.column);
  }
  return scene_fail(node->file->error, "%.400s%s: %s%s%s", node->file->name, place, path, path[0] ? ": " : "",
                    sentence);
}

/* "[0, 0, 1]" of a few numbers; false of any other list. */
static bool describe_numbers(const json_t *list, char *out, size_t size) {
  size_t count = json_array_size(list), used = 1;
  if (count == 0 || count > 4) return false;
  snprintf(out, size, "[");
  for (size_t i = 0; i < count; i++) {
    const json_t *item = json_array_get(list, i);
    if (!json_is_number(item)) return false;
    used += (size_t)snprintf(out + used, size - used, "%.12g%s", json_number_value(item), i + 1 < count ? ", " : "]");
  }
  return true;
}

/* A short picture of a value: numbers, a few of them and strings as written, other containers by kind. */
static void describe(const json_t *value, char *out, size_t size) {
  switch (json_typeof(value)) {
    case JSON_OBJECT: snprintf(out, size, "an object"); break;
    case JSON_ARRAY:
      if (!describe_numbers(value, out, size)) snprintf(out, size, "a list of %zu", json_array_size(value));
      break;
    case JSON_STRING: snprintf(out, size, "\"%.60s\"", json_string_value(value)); break;
    case JSON_INTEGER: snprintf(out, size, "%lld", (long long)json_integer_value(value)); break;
    case JSON_REAL: snprintf(out, size, "%.12g", json_real_value(value)); break;
    case JSON_TRUE: snprintf(out, size, "true"); break;
    case JSON_FALSE: snprintf(out, size, "false"); break;
    default: snprintf(out, size, "null"); break;
  }
}

bool node_expected(const Node *node, const char *what) {
  char got[96];
  describe(node->value, got, sizeof got);
  return node_fail(node, "expected %s, got %s", what, got);
}

bool node_is_object(const Node *node) { return json_is_object(node->value) || node_expected(node, "an object {...}"); }
bool node_is_array(const Node *node) { return json_is_array(node->value) || node_expected(node, "a list [...]"); }

static int min3(int a, int b, int c) { return a < b ? (a < c ? a : c) : (b < c ? b : c); }

/* Levenshtein distance of the first 40 characters. */
static int edit_distance(const char *a, const char *b) {
  int row[41], na = (int)strnlen(a, 40), nb = (int)strnlen(b, 40);
  for (int j = 0; j <= nb; j++) row[j] = j;
  for (int i = 1; i <= na; i++) {
    int diagonal = row[0];
    row[0] = i;
    for (int j = 1; j <= nb; j++) {
      int above = row[j];
      row[j] = min3(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
      diagonal = above;
    }
  }
  return row[nb];
}

const char *nearest_name(const char *word, const char *const *names) {
  const char *best = NULL;
  int best_distance = 1000;
  for (; *names; names++) {
    int distance = edit_distance(word, *names);
    if (distance < best_distance) best = *names, best_distance = distance;
  }
  int length = (int)strnlen(word, 40);
  return best_distance <= (length < 4 ? 2 : length / 2 + 1) ? best : NULL;
}

static bool is_name(const char *word, const char *const *names) {
  for (; *names; names++) {
    if (strcmp(word, *names) == 0) return true;
  }
  return false;
}

void keys_add(KeyList *list, const char *name) {
  if (list->count + 1 < sizeof list->name / sizeof *list->name) list->name[list->count++] = name;
}

void keys_add_copy(KeyList *list, const char *name) {
  if (list->own_count == sizeof list->own / sizeof *list->own) return;
  char *own = list->own[list->own_count++];
  snprintf(own, sizeof list->own[0], "%s", name);
  keys_add(list, own);
}

void keys_add_all(KeyList *list, const char *const *names) {
  for (; *names; names++) keys_add(list, *names);
}

bool node_check_keys(const Node *object, const char *const *known) {
  const char *key;
  json_t *value;
  if (!node_is_object(object)) return false;
  json_object_foreach(object->value, key, value) {
    if (key[0] == '#' || is_name(key, known)) continue;
    Node child = {.file = object->file, .value = value, .parent = object, .key = key};
    const char *nearest = nearest_name(key, known);
    return nearest ? node_fail(&child, "unknown key; did you mean \"%s\"?", nearest)
                   : node_fail(&child, "unknown key; known here are \"%s\", \"%s\", ...", known[0],
                               known[1] ? known[1] : known[0]);
  }
  return true;
}

bool node_number(const Node *node, NumberRange range, double *value) {
  static const char *const what[] = {"a number", "a number >= 0", "a number > 0"};
  if (!json_is_number(node->value)) return node_expected(node, what[range]);
  double x = json_number_value(node->value);
  if (!isfinite(x) || (range == NUMBER_NOT_NEGATIVE && !(x >= 0)) || (range == NUMBER_POSITIVE && !(x > 0))) {
    return node_expected(node, what[range]);
  }
  *value = x;
  return true;
}

bool node_vector(const Node *node, double *value, size_t count) {
  char what[48];
  snprintf(what, sizeof what, "a list of %zu numbers", count);
  if (!json_is_array(node->value) || node_size(node) != count) return node_expected(node, what);
  double x[16];
  for (size_t i = 0; i < count; i++) {
    Node item = node_item(node, i);
    if (!node_number(&item, NUMBER_ANY, &x[i])) return false;
  }
  memcpy(value, x, count * sizeof *x);
  return true;
}

bool node_integer(const Node *node, int64_t min, int64_t max, int64_t *value) {
  char what[96];
  double real = json_number_value(node->value);
  bool whole = json_is_integer(node->value) || (json_is_real(node->value) && real == floor(real) && fabs(real) < 9e15);
  int64_t x = json_is_integer(node->value) ? (int64_t)json_integer_value(node->value) : whole ? (int64_t)real : 0;
  if (!whole || x < min || x > max) {
    if (max >= INT32_MAX) snprintf(what, sizeof what, "a whole number >= %lld", (long long)min);
    else snprintf(what, sizeof what, "a whole number from %lld to %lld", (long long)min, (long long)max);
    return node_expected(node, what);
  }
  *value = x;
  return true;
}

bool read_number(const Node *object, const char *key, NumberRange range, double *value) {
  Node child;
  return !node_get(object, key, &child) || node_number(&child, range, value);
}

bool read_vector(const Node *object, const char *key, double *value, size_t count) {
  Node child;
  return !node_get(object, key, &child) || node_vector(&child, value, count);
}

bool read_integer(const Node *object, const char *key, int64_t min, int64_t max, int64_t *value) {
  Node child;
  return !node_get(object, key, &child) || node_integer(&child, min, max, value);
}

bool read_int(const Node *object, const char *key, int min, int *value) {
  int64_t wide = *value;
  if (!read_integer(object, key, min, INT32_MAX, &wide)) return false;
  *value = (int)wide;
  return true;
}

bool read_bool(const Node *object, const char *key, bool *value) {
  Node child;
  if (!node_get(object, key, &child)) return true;
  if (!json_is_boolean(child.value)) return node_expected(&child, "true or false");
  *value = json_is_true(child.value);
  return true;
}

bool read_string(const Node *object, const char *key, const char **value) {
  Node child;
  if (!node_get(object, key, &child)) return true;
  if (!json_is_string(child.value)) return node_expected(&child, "a string");
  *value = json_string_value(child.value);
  return true;
}

bool read_choice(const Node *object, const char *key, const char *const *names, int *value) {
  Node child;
  if (!node_get(object, key, &child)) return true;
  const char *word = json_string_value(child.value);
  for (int i = 0; word && names[i]; i++) {
    if (strcmp(word, names[i]) == 0) {
      *value = i;
      return true;
    }
  }
  char what[256] = "one of";
  for (int i = 0; names[i]; i++) {
    size_t used = strlen(what);
    snprintf(what + used, sizeof what - used, "%s \"%s\"", i ? "," : "", names[i]);
  }
  return node_expected(&child, what);
}
