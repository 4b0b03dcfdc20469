/* Reading JSON with errors that name the place. A Node is a value together with its path from the top of the file.
 *
 * Nodes live on the stack and point to their parents, so a path costs nothing until an error needs it. Only then
 * json_locate walks the text along the path to find line and column. Every reader returns false after filling the
 * file's error. If the key is absent, a reader leaves *value unchanged and returns true, so that readers chain with
 * &&. Tests: tests/test_scene.c. */
#ifndef ABD_SCENE_JSON_NODE_H
#define ABD_SCENE_JSON_NODE_H

#include <jansson.h>

#include "scene/scene.h"

typedef struct JsonFile {
  const char *name; /* as the user gave it */
  const char *text; /* NULL: no positions (--set) */
  size_t length;
  bool null_is_absent; /* rigid-IPC's merge patch: null deletes the key */
  SceneError *error;
} JsonFile;

typedef struct Node {
  const JsonFile *file;
  json_t *value;
  const struct Node *parent; /* NULL at the top */
  const char *key;           /* in an object; NULL in an array */
  size_t index;              /* in an array */
} Node;

/* Keys that an object may have; name ends with NULL. Start with {0}. A full list drops further names; the largest
 * object has half as many keys. */
typedef struct KeyList {
  const char *name[96];
  char own[8][32]; /* names that keys_add_copy copied */
  size_t count, own_count;
} KeyList;
void keys_add(KeyList *list, const char *name); /* name must outlive the list */
void keys_add_copy(KeyList *list, const char *name);
void keys_add_all(KeyList *list, const char *const *names); /* names ends with NULL */

typedef enum NumberRange { NUMBER_ANY, NUMBER_NOT_NEGATIVE, NUMBER_POSITIVE } NumberRange;

/* The value of a text, without the byte order mark that it may begin with; NULL and "NAME:LINE:COL: sentence" if it is
 * no JSON. flags are jansson's. */
json_t *json_file_parse(JsonFile *file, size_t flags);
Node node_top(const JsonFile *file, json_t *value);
bool node_get(const Node *object, const char *key, Node *child); /* false when absent */
Node node_item(const Node *array, size_t index);
size_t node_size(const Node *array);

/* "NAME:LINE:COL: path: sentence"; always false. */
bool node_fail(const Node *node, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "expected WHAT, got VALUE"; always false. */
bool node_expected(const Node *node, const char *what);
bool scene_fail(SceneError *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Checks that every key is in the list (ends with NULL) or begins with '#'; the error suggests the nearest key. */
bool node_check_keys(const Node *object, const char *const *known);
bool node_is_object(const Node *node);
bool node_is_array(const Node *node);

bool node_number(const Node *node, NumberRange range, double *value);
bool node_vector(const Node *node, double *value, size_t count);
bool node_integer(const Node *node, int64_t min, int64_t max, int64_t *value);
bool read_number(const Node *object, const char *key, NumberRange range, double *value);
bool read_vector(const Node *object, const char *key, double *value, size_t count);
bool read_integer(const Node *object, const char *key, int64_t min, int64_t max, int64_t *value);
bool read_int(const Node *object, const char *key, int min, int *value);
bool read_bool(const Node *object, const char *key, bool *value);
bool read_string(const Node *object, const char *key, const char **value);
/* One of the names (ends with NULL): its index. */
bool read_choice(const Node *object, const char *key, const char *const *names, int *value);

/* Of names (ends with NULL) the one with the smallest edit distance; NULL when none is near. */
const char *nearest_name(const char *word, const char *const *names);

#endif
