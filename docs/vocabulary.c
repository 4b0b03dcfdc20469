/* Prints the tables of settings, names and joint kinds (abd.h) as JSON. docs/scene-vocabulary.py makes the schema's and
 * the docs' rows from it; tests/reference.sh checks them. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "abd/abd.h"

static json_t *names_json(AbdEnum which) {
  json_t *list = json_array();
  for (const char *const *name = abd_enum_names(which); *name; name++) json_array_append_new(list, json_string(*name));
  return list;
}

static json_t *value_json(const AbdSetting *s, const double value[3]) {
  if (!abd_setting_valid(s, value)) return json_null(); /* not given */
  switch (s->type) {
    case ABD_SETTING_INTEGER: return json_integer((json_int_t)value[0]);
    case ABD_SETTING_BOOLEAN: return json_boolean(value[0] != 0);
    case ABD_SETTING_CHOICE: return json_string(abd_enum_names(s->choice)[(int)value[0]]);
    case ABD_SETTING_VECTOR: return json_pack("[f, f, f]", value[0], value[1], value[2]);
    default: return json_real(value[0]);
  }
}

static json_t *bound_json(double bound, bool given) { return given ? json_real(bound) : json_null(); }

static json_t *setting_json(const AbdSetting *s) {
  static const char *const type[] = {"number", "integer", "boolean", "vector", "choice"};
  bool whole = s->type == ABD_SETTING_INTEGER, counts = whole || s->type == ABD_SETTING_NUMBER;
  char expected[256];
  return json_pack("{s:s, s:s, s:o, s:o, s:o, s:b, s:o, s:s, s:s, s:s}", "name", s->name, "type", type[s->type],
                   "default", value_json(s, s->standard), "least", bound_json(s->least, counts && isfinite(s->least)),
                   "most", bound_json(s->most, counts && (whole ? s->most < INT32_MAX : isfinite(s->most))), "open",
                   (int)s->open, "names", s->type == ABD_SETTING_CHOICE ? names_json(s->choice) : json_null(), "unit",
                   s->unit, "meaning", s->meaning, "expected", abd_setting_expected(s, expected, sizeof expected));
}

static json_t *settings_json(AbdDef def) {
  size_t count;
  const AbdSetting *row = abd_settings(def, &count);
  json_t *list = json_array();
  for (size_t i = 0; i < count; i++) json_array_append_new(list, setting_json(&row[i]));
  return list;
}

/* The scene's keys of a joint that its kind takes. */
static json_t *joint_keys_json(uint32_t takes) {
  static const struct {
    uint32_t bit;
    const char *key;
  } key[] = {{ABD_JOINT_TAKES_AXIS, "axis"},       {ABD_JOINT_TAKES_AXIS_B, "axis_b"},
             {ABD_JOINT_NEEDS_POINT_B, "point_b"}, {ABD_JOINT_TAKES_ANGLE_LIMIT, "angle_limits"},
             {ABD_JOINT_TAKES_LENGTH, "length"},   {ABD_JOINT_TAKES_PITCH, "pitch"},
             {ABD_JOINT_TAKES_FREE, "free"},       {ABD_JOINT_TAKES_JOINTS, "joints"},
             {ABD_JOINT_TAKES_RATIO, "ratio"}};
  json_t *list = json_array();
  for (size_t k = 0; k < sizeof key / sizeof *key; k++)
    if (takes & key[k].bit) json_array_append_new(list, json_string(key[k].key));
  return list;
}

static json_t *joints_json(void) {
  json_t *list = json_array();
  for (int k = 0; k < ABD_JOINT_KIND_COUNT; k++) {
    const AbdJointKindView *view = abd_joint_kind_view((AbdJointKind)k);
    json_array_append_new(list, json_pack("{s:s, s:s, s:o, s:s}", "name", view->name, "coordinate",
                                          abd_coordinate_name(view->coordinate), "keys", joint_keys_json(view->takes),
                                          "keeps", view->keeps));
  }
  return list;
}

int main(void) {
  json_t *all = json_pack("{s:{s:o, s:o, s:o}, s:o, s:o, s:o}", "settings", "world", settings_json(ABD_DEF_WORLD),
                          "body", settings_json(ABD_DEF_BODY), "soft", settings_json(ABD_DEF_SOFT), "motion",
                          names_json(ABD_ENUM_MOTION), "fixed", names_json(ABD_ENUM_FIX), "joints", joints_json());
  char *text = all ? json_dumps(all, JSON_INDENT(1)) : NULL;
  if (text) puts(text);
  free(text);
  json_decref(all);
  return text ? 0 : 1;
}
