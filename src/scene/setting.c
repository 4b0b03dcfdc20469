/* Settings as JSON (setting.h). The code has no case per setting: types, ranges and names come from the tables.
 * Tests: tests/test_scene.c, tests/test_vocabulary.c. */
#include "scene/setting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP_SIZE = sizeof((KeyList *)0)->own[0] };

/* "contact" of "contact.range"; "" of "dt". */
static void group_of(const AbdSetting *setting, char group[GROUP_SIZE]) {
  const char *dot = strchr(setting->name, '.');
  snprintf(group, GROUP_SIZE, "%.*s", dot ? (int)(dot - setting->name) : 0, setting->name);
}

/* "range" of "contact.range". */
static const char *key_of(const AbdSetting *setting) {
  const char *dot = strchr(setting->name, '.');
  return dot ? dot + 1 : setting->name;
}

/* Whether the row is the first of its group. Rows of a group follow each other. */
static bool begins_group(const AbdSetting *row, size_t i) {
  char group[GROUP_SIZE], before[GROUP_SIZE];
  group_of(&row[i], group);
  if (i) group_of(&row[i - 1], before);
  return i == 0 || strcmp(group, before) != 0;
}

/* ---- Reading ---- */

static bool read_choice_value(const Node *node, const AbdSetting *setting, double *value) {
  const char *const *names = abd_enum_names(setting->choice), *word = json_string_value(node->value);
  int k = 0;
  while (word && names[k] && strcmp(word, names[k]) != 0) k++;
  *value = k;
  return word != NULL;
}

/* "1/240": such a time step is no decimal number. */
static bool read_ratio(const Node *node, double *value) {
  const char *text = json_string_value(node->value);
  char *slash = NULL, *end = NULL;
  double above = text ? strtod(text, &slash) : 0;
  if (!text || slash == text || *slash != '/') return false;
  *value = above / strtod(slash + 1, &end);
  return end != slash + 1 && !*end;
}

static bool read_setting(const Node *node, const AbdSetting *setting, void *def) {
  double value[3] = {0};
  char expected[256];
  bool typed = false;
  switch (setting->type) {
    case ABD_SETTING_NUMBER:
    case ABD_SETTING_INTEGER:
      typed = json_is_number(node->value), value[0] = json_number_value(node->value);
      if (!strcmp(setting->name, "dt") && read_ratio(node, value)) typed = true;
      break;
    case ABD_SETTING_BOOLEAN: typed = json_is_boolean(node->value), value[0] = json_is_true(node->value); break;
    case ABD_SETTING_CHOICE: typed = read_choice_value(node, setting, value); break;
    case ABD_SETTING_VECTOR:
      if (!node_vector(node, value, 3)) return false;
      typed = true;
  }
  if (!typed || !abd_setting_valid(setting, value))
    return node_expected(node, abd_setting_expected(setting, expected, sizeof expected));
  abd_setting_set(setting, def, value);
  return true;
}

/* The keys of one group, which begins at a row; returns the row behind it. */
static size_t group_keys(const AbdSetting *row, size_t begin, size_t count, KeyList *keys) {
  size_t i = begin;
  do keys_add(keys, key_of(&row[i++]));
  while (i < count && !begins_group(row, i));
  return i;
}

bool settings_read(const Node *object, AbdDef which, void *def) {
  size_t count, end;
  const AbdSetting *row = abd_settings(which, &count);
  for (size_t i = 0; i < count; i = end) {
    KeyList keys = {0};
    char group[GROUP_SIZE];
    Node node = *object, child;
    end = group_keys(row, i, count, &keys);
    group_of(&row[i], group);
    if (group[0] && !node_get(object, group, &node)) continue;
    if (group[0] && !node_check_keys(&node, keys.name)) return false;
    for (size_t k = i; k < end; k++)
      if (node_get(&node, key_of(&row[k]), &child) && !read_setting(&child, &row[k], def)) return false;
  }
  return true;
}

void settings_add_keys(KeyList *list, AbdDef which) {
  size_t count;
  const AbdSetting *row = abd_settings(which, &count);
  for (size_t i = 0; i < count; i++) {
    char group[GROUP_SIZE];
    group_of(&row[i], group);
    if (!group[0]) keys_add(list, row[i].name);
    else if (begins_group(row, i)) keys_add_copy(list, group);
  }
}

/* ---- Writing ---- */

static json_t *setting_value(const AbdSetting *setting, const double value[3]) {
  switch (setting->type) {
    case ABD_SETTING_INTEGER: return json_integer((json_int_t)value[0]);
    case ABD_SETTING_BOOLEAN: return json_boolean(value[0] != 0);
    case ABD_SETTING_CHOICE: return json_string(abd_enum_names(setting->choice)[(int)value[0]]);
    case ABD_SETTING_VECTOR: return json_pack("[f, f, f]", value[0], value[1], value[2]);
    default: return json_real(value[0]);
  }
}

bool settings_write(json_t *object, AbdDef which, const void *def) {
  size_t count;
  const AbdSetting *row = abd_settings(which, &count);
  json_t *inside = object;
  for (size_t i = 0; i < count; i++) {
    double value[3];
    char group[GROUP_SIZE];
    group_of(&row[i], group);
    if (group[0] && begins_group(row, i)) {
      inside = json_object();
      if (json_object_set_new(object, group, inside) != 0) return false;
    }
    abd_setting_get(&row[i], def, value);
    if (!abd_setting_valid(&row[i], value)) continue;
    if (json_object_set_new(inside, key_of(&row[i]), setting_value(&row[i], value)) != 0) return false;
  }
  return true;
}
