/* See study.h. */
#define _GNU_SOURCE
#include "sweep/study.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scene/c_locale.h"
#include "scene/file_bytes.h"

enum { MOST_MEMBERS = 10000000, MOST_COLUMNS = 1500 }; /* SQLite has at most 2000 columns in a table */

static const char *const standard_record[] = {
    "report.time",           "report.iterations.max", "report.contacts.max", "report.min_distance.min",
    "report.max_strain.max", "report.kinetic",        "report.gravity"};

static bool out_of_memory(const Node *node) { return scene_fail(node->file->error, "out of memory for the study"); }

/* ---- The scene ---- */

/* A path relative to the folder of the study. */
static char *beside(const AbdStudy *study, const char *path) {
  const char *slash = strrchr(study->file, '/');
  char *full = NULL;
  if (path[0] == '/' || !slash) return strdup(path);
  return asprintf(&full, "%.*s%s", (int)(slash + 1 - study->file), study->file, path) < 0 ? NULL : full;
}

static bool read_gallery(AbdStudy *study, const Node *node) {
  static const char *const known[] = {"gallery", "keys", NULL};
  Node keys;
  if (!node_check_keys(node, known) || !read_string(node, "gallery", &study->gallery)) return false;
  if (!study->gallery) return node_fail(node, "expected {\"gallery\": NAME}");
  if (!node_get(node, "keys", &keys)) return true;
  study->keys = keys.value;
  return node_is_object(&keys);
}

static bool read_scene(AbdStudy *study, const Node *top) {
  Node node;
  if (!node_get(top, "scene", &node)) return node_fail(top, "expected \"scene\": a file, or {\"gallery\": NAME}");
  if (json_is_object(node.value)) return read_gallery(study, &node);
  if (!json_is_string(node.value)) return node_expected(&node, "the name of a file, or {\"gallery\": NAME}");
  study->scene = beside(study, json_string_value(node.value));
  if (!study->scene) return out_of_memory(top);
  return file_exists(study->scene) || node_fail(&node, "cannot read '%.300s': no such file", study->scene);
}

/* ---- Members ---- */

static bool check_name(const AbdStudy *study, const Node *node) {
  if (strchr(node->key, '=')) return node_fail(node, "a setting's name has no '='");
  if (!node->key[0]) return node_fail(node, "expected the name of a setting");
  return study->gallery || strncmp(node->key, "gallery.", 8) ||
         node_fail(node, "gallery.KEY is for a scene of the gallery, and this study's is a file");
}

typedef bool EntryCheck(const AbdStudy *study, const Node *entry);

static bool each_entry(const AbdStudy *study, const Node *object, EntryCheck *check) {
  const char *key;
  json_t *value;
  if (!node_is_object(object)) return false;
  json_object_foreach(object->value, key, value) {
    Node entry = {.file = object->file, .value = value, .parent = object, .key = key};
    if (key[0] != '#' && !(check_name(study, &entry) && check(study, &entry))) return false;
  }
  return true;
}

static bool check_value(const AbdStudy *study, const Node *entry) {
  (void)study;
  return !json_is_object(entry->value) || node_expected(entry, "a value, not an object");
}

static bool check_axis(const AbdStudy *study, const Node *entry) {
  (void)study;
  return json_array_size(entry->value) || node_expected(entry, "a list of at least one value");
}

static bool check_random(const AbdStudy *study, const Node *entry) {
  if (!study->seed) return node_fail(entry, "random settings need \"seeds\": their number, or a list of them");
  return draw_check(entry);
}

static bool read_settings(AbdStudy *study, const Node *top, const char *key, EntryCheck *check, json_t **settings) {
  Node node;
  if (!node_get(top, key, &node)) return true;
  *settings = node.value;
  return each_entry(study, &node, check);
}

static bool read_list(AbdStudy *study, const Node *top) {
  Node node;
  if (!node_get(top, "list", &node)) return true;
  if (!node_is_array(&node)) return false;
  for (size_t k = 0; k < node_size(&node); k++) {
    Node item = node_item(&node, k);
    if (!each_entry(study, &item, check_value)) return false;
  }
  study->list = node.value, study->list_count = node_size(&node);
  return study->list_count || node_fail(&node, "expected at least one entry");
}

static bool read_seeds(AbdStudy *study, const Node *top) {
  Node node;
  int64_t count;
  if (!node_get(top, "seeds", &node)) return true;
  bool listed = json_is_array(node.value);
  if (!listed && !json_is_integer(node.value)) return node_expected(&node, "a number of seeds, or a list of them");
  if (listed) count = (int64_t)node_size(&node);
  else if (!node_integer(&node, 1, MOST_MEMBERS, &count)) return false;
  if (!count) return node_fail(&node, "expected at least one seed");
  study->seed_count = (size_t)count;
  study->seed = malloc(study->seed_count * sizeof *study->seed);
  for (size_t k = 0; study->seed && k < study->seed_count; k++) {
    Node item = listed ? node_item(&node, k) : node;
    study->seed[k] = (int64_t)k + 1;
    if (listed && !node_integer(&item, INT64_MIN, INT64_MAX, &study->seed[k])) return false;
  }
  return study->seed || out_of_memory(top);
}

static bool count_members(AbdStudy *study, const Node *top) {
  const char *key;
  json_t *value;
  double count = (double)study->list_count * (double)study->seed_count;
  json_object_foreach(study->grid, key, value) {
    if (key[0] == '#') continue;
    count *= (double)json_array_size(value);
    if (count <= MOST_MEMBERS) study->grid_count *= json_array_size(value);
  }
  return count <= MOST_MEMBERS || node_fail(top, "the study has %g members, expected at most %d", count, MOST_MEMBERS);
}

static bool read_members(AbdStudy *study, const Node *top) {
  return read_seeds(study, top) && read_settings(study, top, "set", check_value, &study->set) &&
         read_settings(study, top, "grid", check_axis, &study->grid) && read_list(study, top) &&
         read_settings(study, top, "random", check_random, &study->random) && count_members(study, top);
}

static void take_all(json_t *settings, const json_t *from) {
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)from, key, value) {
    if (key[0] != '#') json_object_set_new(settings, key, json_deep_copy(value));
  }
}

/* The axis that was given last changes fastest: the rest of its stride is the point of the axes before it. */
static void take_grid(const AbdStudy *study, size_t point, json_t *settings) {
  const char *key;
  json_t *value;
  size_t stride = study->grid_count;
  json_object_foreach(study->grid, key, value) {
    if (key[0] == '#') continue;
    stride /= json_array_size(value);
    json_object_set_new(settings, key, json_deep_copy(json_array_get(value, point / stride % json_array_size(value))));
  }
}

static void take_random(const AbdStudy *study, int64_t seed, json_t *settings) {
  const char *key;
  json_t *value;
  json_object_foreach(study->random, key, value) {
    if (key[0] != '#') json_object_set_new(settings, key, draw_value(value, key, seed));
  }
}

json_t *study_settings(const AbdStudy *study, size_t member) {
  json_t *settings = json_object();
  size_t seed = member % study->seed_count, point = member / study->seed_count % study->grid_count;
  size_t entry = member / study->seed_count / study->grid_count;
  if (!settings) return NULL;
  if (study->seed) json_object_set_new(settings, "seed", json_integer(study->seed[seed]));
  take_all(settings, study->set);
  take_all(settings, json_array_get(study->list, entry));
  take_grid(study, point, settings);
  if (study->seed) take_random(study, study->seed[seed], settings);
  return settings;
}

/* ---- What is recorded ---- */

static bool add_figure(AbdStudy *study, const Node *node) {
  Figure *figure = &study->figure[study->figure_count];
  if (!figure_read(node, study->column_count, figure)) return figure_destroy(figure), false;
  study->figure_count++;
  if (study->column_count + figure->column_count > MOST_COLUMNS)
    return node_fail(node, "expected at most %d figures in all", MOST_COLUMNS);
  for (size_t k = 0; k < figure->column_count; k++) {
    char *name = study->column[study->column_count] = figure_column(figure, k);
    if (!name) return out_of_memory(node);
    for (size_t other = 0; other < study->column_count; other++)
      if (!strcasecmp(study->column[other], name)) return node_fail(node, "the figure '%.200s' is there twice", name);
    study->column_count++;
  }
  return true;
}

static bool read_record(AbdStudy *study, const Node *top) {
  Node node = {.file = top->file, .parent = top, .key = "record"};
  size_t standard = sizeof standard_record / sizeof *standard_record;
  bool given = node_get(top, "record", &node), good = true;
  json_t *own = given ? NULL : json_array();
  if (given && !node_is_array(&node)) return false;
  for (size_t k = 0; !given && k < standard; k++) json_array_append_new(own, json_string(standard_record[k]));
  if (!given) node.value = own;
  study->figure = calloc(node_size(&node) + 1, sizeof *study->figure);
  study->column = calloc(MOST_COLUMNS + 8, sizeof *study->column);
  if (!study->figure || !study->column) good = out_of_memory(top);
  for (size_t k = 0; good && k < node_size(&node); k++) {
    Node item = node_item(&node, k);
    good = add_figure(study, &item);
  }
  json_decref(own);
  return good;
}

/* ---- The file ---- */

/* The file's name without folder and ending. */
static char *plain_name(const char *path) {
  const char *slash = strrchr(path, '/'), *start = slash ? slash + 1 : path, *dot = strrchr(start, '.');
  return strndup(start, dot && dot > start ? (size_t)(dot - start) : strlen(start));
}

static bool read_study(AbdStudy *study, const Node *top) {
  static const char *const known[] = {"study", "name",   "scene", "steps",  "time", "set", "grid",
                                      "list",  "random", "seeds", "record", "runs", NULL};
  const char *name = NULL, *runs = NULL;
  int64_t version = 0;
  if (!node_check_keys(top, known) || !read_integer(top, "study", 1, 1000, &version)) return false;
  if (version != 1) return node_fail(top, "expected \"study\": 1, the version of the format");
  if (!read_string(top, "name", &name) || !read_string(top, "runs", &runs)) return false;
  study->name = name ? strdup(name) : plain_name(study->file);
  study->runs = runs ? beside(study, runs) : NULL;
  if (!study->name || (runs && !study->runs)) return out_of_memory(top);
  if (!read_integer(top, "steps", 0, INT64_MAX / 2, &study->steps) ||
      !read_number(top, "time", NUMBER_POSITIVE, &study->time))
    return false;
  if (study->steps >= 0 && study->time > 0) return node_fail(top, "\"steps\" and \"time\" exclude each other");
  return read_scene(study, top) && read_members(study, top) && read_record(study, top);
}

static bool parse_study(AbdStudy *study, size_t length, SceneError *why) {
  JsonFile file = {.name = study->file, .text = study->text, .length = length, .error = why};
  study->top = json_file_parse(&file, JSON_REJECT_DUPLICATES);
  if (!study->top) return false;
  Node top = node_top(&file, study->top);
  return read_study(study, &top);
}

AbdStudy *abd_study_parse(const char *text, size_t length, const char *name, AbdError *error) {
  IN_C_LOCALE;
  SceneError why = {.text = "out of memory for the study"};
  AbdStudy *study = calloc(1, sizeof *study);
  bool good = study != NULL;
  if (good) {
    study->steps = -1, study->seed_count = study->grid_count = study->list_count = 1;
    study->file = strdup(name ? name : "study"), study->text = strndup(text, length);
    good = study->file && study->text && parse_study(study, length, &why);
  }
  if (good) return study;
  abd_study_destroy(study);
  return fail_with(error, ABD_ERROR_SCENE, "%s", why.text), NULL;
}

AbdStudy *abd_study_load(const char *path, AbdError *error) {
  IN_C_LOCALE;
  SceneError why;
  FileBytes file;
  if (!file_read(path, &file, &why)) return fail_with(error, ABD_ERROR_SCENE, "%s", why.text), NULL;
  AbdStudy *study = abd_study_parse(file.bytes, file.length, path, error);
  free(file.bytes);
  return study;
}

void abd_study_destroy(AbdStudy *study) {
  if (!study) return;
  for (size_t k = 0; k < study->figure_count; k++) figure_destroy(&study->figure[k]);
  for (size_t k = 0; study->column && study->column[k]; k++) free(study->column[k]);
  free(study->figure), free(study->column), free(study->seed), free(study->runs), free(study->scene);
  free(study->text), free(study->file), free(study->name);
  json_decref(study->top);
  free(study);
}

const char *abd_study_name(const AbdStudy *study) { return study->name; }
size_t abd_study_member_count(const AbdStudy *study) {
  return study->list_count * study->grid_count * study->seed_count;
}
size_t abd_study_column_count(const AbdStudy *study) { return study->column_count; }
const char *abd_study_column(const AbdStudy *study, size_t column) { return study->column[column]; }

char *abd_study_settings(const AbdStudy *study, size_t member) {
  json_t *settings = study_settings(study, member);
  char *text = settings ? json_dumps(settings, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
  json_decref(settings);
  return text;
}
