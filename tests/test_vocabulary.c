/* The tables of settings, names and joint kinds (abd.h): every row is read from a scene, written to one, checked by the
 * world and refused with a sentence that names it. The tests have no list of settings: a new row is tested as it is. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scene/scene_def.h"

/* ---- Values made from a row ---- */

static size_t name_count(AbdEnum which) {
  size_t count = 0;
  while (abd_enum_names(which)[count]) count++;
  return count;
}

/* A valid value that is not the default. */
static void other_value(const AbdSetting *s, double value[3]) {
  value[0] = value[1] = value[2] = 0;
  switch (s->type) {
    case ABD_SETTING_NUMBER:
      value[0] = isfinite(s->most) ? 0.25 * s->least + 0.75 * s->most : isfinite(s->least) ? s->least + 0.375 : 0.375;
      break;
    case ABD_SETTING_INTEGER: value[0] = s->standard[0] == s->least + 3 ? s->least + 4 : s->least + 3; break;
    case ABD_SETTING_BOOLEAN: value[0] = !s->standard[0]; break;
    case ABD_SETTING_VECTOR: value[0] = 1.5, value[1] = -2, value[2] = 0.25; break;
    case ABD_SETTING_CHOICE: value[0] = (double)name_count(s->choice) - 1; break;
  }
  if (s->choice == ABD_ENUM_LINEAR && s->type == ABD_SETTING_CHOICE) value[0] = ABD_LINEAR_PCG;
  assert_true(abd_setting_valid(s, value));
  if (memcmp(value, s->standard, sizeof(double)) == 0) fail_msg("%s: the other value is the default", s->name);
}

static void value_text(const AbdSetting *s, const double value[3], char *text, size_t size) {
  switch (s->type) {
    case ABD_SETTING_BOOLEAN: snprintf(text, size, value[0] != 0 ? "true" : "false"); break;
    case ABD_SETTING_VECTOR: snprintf(text, size, "[%.17g, %.17g, %.17g]", value[0], value[1], value[2]); break;
    case ABD_SETTING_CHOICE: snprintf(text, size, "\"%s\"", abd_enum_names(s->choice)[(int)value[0]]); break;
    default: snprintf(text, size, "%.17g", value[0]);
  }
}

/* A scene with a stiff and a soft body; the world, the one or the other has the text among its keys. */
static Scene *scene_of(AbdDef which, const char *keys, const SceneOptions *options, SceneError *error) {
  char text[600];
  int length = snprintf(text, sizeof text,
                        "{\"version\": 1%s,\n \"bodies\": [{\"shape\": \"box\"%s},\n"
                        "  {\"shape\": \"sheet\", \"position\": [0, 0, 2], \"soft\": {%s}}]}",
                        which == ABD_DEF_WORLD ? keys : "", which == ABD_DEF_BODY ? keys : "",
                        which == ABD_DEF_SOFT ? keys : "");
  return scene_parse(text, (size_t)length, "s.json", options, error);
}

/* A scene that gives a value to a setting. */
static Scene *scene_with(AbdDef which, const AbdSetting *s, const char *value, SceneError *error) {
  char keys[300];
  const char *dot = strchr(s->name, '.'), *comma = which == ABD_DEF_SOFT ? "" : ", ";
  if (dot) snprintf(keys, sizeof keys, ", \"%.*s\": {\"%s\": %s}", (int)(dot - s->name), s->name, dot + 1, value);
  else snprintf(keys, sizeof keys, "%s\"%s\": %s", comma, s->name, value);
  return scene_of(which, keys, NULL, error);
}

static const void *def_in(const Scene *scene, AbdDef which) {
  if (which == ABD_DEF_WORLD) return &scene->world;
  return which == ABD_DEF_BODY ? (const void *)&scene->body[0].def : &scene->body[1].soft->def;
}

/* ---- Settings ---- */

static void each_setting(void (*test)(AbdDef which, const AbdSetting *s)) {
  for (int which = 0; which < ABD_DEF_COUNT; which++) {
    size_t count;
    const AbdSetting *row = abd_settings((AbdDef)which, &count);
    assert_true(count > 3);
    for (size_t i = 0; i < count; i++) test((AbdDef)which, &row[i]);
  }
}

static void check_default(AbdDef which, const AbdSetting *s) {
  AbdWorldDef world = abd_default_world_def();
  AbdBodyDef body = abd_default_body_def();
  AbdSoftDef soft = abd_default_soft_def();
  const void *def[] = {&world, &body, &soft};
  double value[3], other[3], back[3];
  abd_setting_get(s, def[which], value);
  if (memcmp(value, s->standard, sizeof value)) fail_msg("%s: default %g, row %g", s->name, value[0], s->standard[0]);
  other_value(s, other);
  abd_setting_set(s, (void *)def[which], other);
  abd_setting_get(s, def[which], back);
  assert_memory_equal(other, back, sizeof other);
  assert_true(strlen(s->meaning) > 5 && s->meaning[strlen(s->meaning) - 1] != '.');
}

static void test_defaults(void **state) {
  (void)state;
  each_setting(check_default);
  size_t count = 7;
  assert_null(abd_settings(ABD_DEF_COUNT, &count));
  assert_int_equal(count, 0);
}

static void check_read_and_write(AbdDef which, const AbdSetting *s) {
  double value[3], read[3];
  char text[200];
  SceneError error;
  other_value(s, value);
  value_text(s, value, text, sizeof text);
  Scene *scene = scene_with(which, s, text, &error);
  if (!scene) fail_msg("%s = %s: %s", s->name, text, error.text);
  abd_setting_get(s, def_in(scene, which), read);
  if (memcmp(read, value, sizeof read)) fail_msg("%s = %s is read as %g", s->name, text, read[0]);
  size_t length;
  const char *written = scene_text(scene, &length);
  Scene *again = scene_parse(written, length, "again.json", NULL, &error);
  if (!again) fail_msg("%s = %s, written: %s", s->name, text, error.text);
  abd_setting_get(s, def_in(again, which), read);
  if (memcmp(read, value, sizeof read)) fail_msg("%s = %s is written and read as %g", s->name, text, read[0]);
  scene_destroy(again);
  scene_destroy(scene);
}

static void test_scenes_read_and_write_every_setting(void **state) {
  (void)state;
  each_setting(check_read_and_write);
}

/* "--set NAME=VALUE" for the settings of the world and of materials. */
static void check_set_option(AbdDef which, const AbdSetting *s) {
  double value[3], read[3];
  char text[200], option[300];
  const char *set[] = {option};
  SceneError error;
  if (which == ABD_DEF_SOFT) return;
  other_value(s, value);
  value_text(s, value, text, sizeof text);
  snprintf(option, sizeof option, "%s%s=%s", which == ABD_DEF_BODY ? "bodies.box 1." : "", s->name, text);
  Scene *scene = scene_of(which, "", &(SceneOptions){.set = set, .set_count = 1}, &error);
  if (!scene) fail_msg("--set %s: %s", option, error.text);
  abd_setting_get(s, def_in(scene, which), read);
  if (memcmp(read, value, sizeof read)) fail_msg("--set %s gives %g", option, read[0]);
  scene_destroy(scene);
}

static void test_set_option_takes_every_setting(void **state) {
  (void)state;
  each_setting(check_set_option);
}

static void refuse(AbdDef which, const AbdSetting *s, const char *value, const char *expected) {
  SceneError error = {""};
  Scene *scene = scene_with(which, s, value, &error);
  if (scene) fail_msg("%s = %s was accepted", s->name, value);
  if (!strstr(error.text, s->name) || !strstr(error.text, expected) || strncmp(error.text, "s.json:", 7))
    fail_msg("%s = %s: '%s', expected the name and '%s'", s->name, value, error.text, expected);
}

static void check_refusal(AbdDef which, const AbdSetting *s) {
  char words[256], expected[300], text[64];
  snprintf(expected, sizeof expected, "expected %s, got ", abd_setting_expected(s, words, sizeof words));
  refuse(which, s, "{}", expected);
  refuse(which, s, "\"bogus\"", expected);
  if (s->type == ABD_SETTING_INTEGER) refuse(which, s, "7.5", expected);
  if (s->type != ABD_SETTING_NUMBER && s->type != ABD_SETTING_INTEGER) return;
  if (isfinite(s->least)) {
    snprintf(text, sizeof text, "%.17g", s->open ? s->least : s->least - 1);
    refuse(which, s, text, expected);
  }
  if (s->type == ABD_SETTING_INTEGER || !isfinite(s->most)) return;
  snprintf(text, sizeof text, "%.17g", s->open ? s->most : s->most + 1);
  refuse(which, s, text, expected);
}

static void test_scenes_refuse_wrong_values(void **state) {
  (void)state;
  each_setting(check_refusal);
}

static void check_world(AbdDef which, const AbdSetting *s) {
  double value[3] = {NAN, 0, 0};
  AbdError error = {ABD_OK, ""};
  AbdWorldDef def = abd_default_world_def();
  if (which != ABD_DEF_WORLD || s->type == ABD_SETTING_BOOLEAN) return;
  if (s->type == ABD_SETTING_INTEGER) value[0] = s->least - 1;
  if (s->type == ABD_SETTING_CHOICE) value[0] = (double)name_count(s->choice);
  abd_setting_set(s, &def, value);
  AbdWorld *world = abd_world_create(&def, &error);
  if (world) fail_msg("a world with %s = %g was accepted", s->name, value[0]);
  assert_int_equal(error.status, ABD_ERROR_ARGUMENT);
  if (!strstr(error.text, s->name) || !strstr(error.text, "expected"))
    fail_msg("%s = %g: '%s'", s->name, value[0], error.text);
}

static void test_worlds_refuse_wrong_values(void **state) {
  (void)state;
  each_setting(check_world);
}

static void test_expected_in_words(void **state) {
  (void)state;
  const AbdSetting made[] = {
      {.least = 0, .most = INFINITY, .open = true},
      {.least = 0, .most = INFINITY},
      {.least = -INFINITY, .most = 3},
      {.least = -INFINITY, .most = 3, .open = true},
      {.least = 0, .most = 1},
      {.least = -1, .most = 0.5, .open = true},
      {.least = -INFINITY, .most = INFINITY},
      {.type = ABD_SETTING_INTEGER, .least = 1, .most = INT32_MAX},
      {.type = ABD_SETTING_INTEGER, .least = 1, .most = 9},
      {.type = ABD_SETTING_CHOICE, .choice = ABD_ENUM_MOTION},
  };
  const char *const expected[] = {"a number > 0",
                                  "a number >= 0",
                                  "a number <= 3",
                                  "a number < 3",
                                  "a number from 0 to 1",
                                  "a number above -1 and below 0.5",
                                  "a number",
                                  "a whole number >= 1",
                                  "a whole number from 1 to 9",
                                  "one of \"dynamic\", \"static\", \"kinematic\""};
  for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
    char text[100], cut[9];
    assert_string_equal(abd_setting_expected(&made[i], text, sizeof text), expected[i]);
    assert_int_equal(strlen(abd_setting_expected(&made[i], cut, sizeof cut)), 8);
  }
  assert_true(abd_setting_valid(&made[4], (double[3]){1}));
  assert_false(abd_setting_valid(&made[5], (double[3]){0.5}));
  assert_false(abd_setting_valid(&made[6], (double[3]){INFINITY}));
  assert_false(abd_setting_valid(&made[9], (double[3]){3}));
}

/* ---- Names ---- */

#define NAMES(which, function, Type)                                                                                   \
  do {                                                                                                                 \
    size_t count_ = name_count(which);                                                                                 \
    for (size_t k_ = 0; k_ < count_; k_++) assert_string_equal(function((Type)k_), abd_enum_names(which)[k_]);         \
    assert_string_equal(function((Type)count_), "unknown");                                                            \
    assert_string_equal(function((Type)-1), "unknown");                                                                \
  } while (0)

static void test_names(void **state) {
  (void)state;
  NAMES(ABD_ENUM_STATUS, abd_status_name, AbdStatus);
  NAMES(ABD_ENUM_INTEGRATOR, abd_integrator_name, AbdIntegrator);
  NAMES(ABD_ENUM_LINEAR, abd_linear_name, AbdLinear);
  NAMES(ABD_ENUM_DETECTION, abd_detection_name, AbdDetection);
  NAMES(ABD_ENUM_DEVICE, abd_device_name, AbdDevice);
  NAMES(ABD_ENUM_RANKS, abd_ranks_name, AbdRanks);
  NAMES(ABD_ENUM_RANKS_LINEAR, abd_ranks_linear_name, AbdRanksLinear);
  NAMES(ABD_ENUM_MOTION, abd_motion_name, AbdMotion);
  NAMES(ABD_ENUM_ELASTICITY, abd_elasticity_name, AbdElasticity);
  NAMES(ABD_ENUM_SOFT_MODEL, abd_soft_model_name, AbdSoftModel);
  NAMES(ABD_ENUM_JOINT_KIND, abd_joint_kind_name, AbdJointKind);
  NAMES(ABD_ENUM_COORDINATE, abd_coordinate_name, AbdCoordinate);
  NAMES(ABD_ENUM_DRIVE_KIND, abd_drive_kind_name, AbdDriveKind);
  NAMES(ABD_ENUM_STAGE, abd_stage_name, AbdStage);
  NAMES(ABD_ENUM_TERM, abd_term_name, AbdTerm);
  NAMES(ABD_ENUM_OUTCOME, abd_outcome_name, AbdOutcome);
  NAMES(ABD_ENUM_EVENT_KIND, abd_event_kind_name, AbdEventKind);
  assert_int_equal(name_count(ABD_ENUM_STAGE), ABD_STAGE_COUNT);
  assert_int_equal(name_count(ABD_ENUM_TERM), ABD_TERM_COUNT);
  assert_int_equal(name_count(ABD_ENUM_EVENT_KIND), ABD_EVENT_KIND_COUNT);
  assert_int_equal(1 << (name_count(ABD_ENUM_FIX) - 1), ABD_FIX_ROTATION_Z);
  assert_int_equal(name_count(ABD_ENUM_COUNT), 0);
}

static void test_names_differ(void **state) {
  (void)state;
  for (int which = 0; which < ABD_ENUM_COUNT; which++) {
    const char *const *name = abd_enum_names((AbdEnum)which);
    assert_non_null(name[0]);
    for (size_t i = 0; name[i]; i++)
      for (size_t j = 0; j < i; j++) assert_string_not_equal(name[i], name[j]);
  }
}

/* ---- Joint kinds ---- */

static bool takes(const AbdJointKindView *view, uint32_t bits) { return (view->takes & bits) == bits; }

static void test_joint_kinds_are_consistent(void **state) {
  (void)state;
  for (int k = 0; k < ABD_JOINT_KIND_COUNT; k++) {
    const AbdJointKindView *v = abd_joint_kind_view((AbdJointKind)k);
    bool angle = v->coordinate == ABD_COORDINATE_ANGLE, travel = v->coordinate == ABD_COORDINATE_TRAVEL;
    assert_string_equal(v->name, abd_joint_kind_name((AbdJointKind)k));
    assert_true(strlen(v->keeps) > 5);
    assert_true(takes(v, ABD_JOINT_TAKES_BODIES) != takes(v, ABD_JOINT_TAKES_JOINTS));
    if (takes(v, ABD_JOINT_TAKES_BODIES) && ((angle && !v->has_angle) || (travel && !v->has_travel)))
      fail_msg("%s: its coordinate is not read", v->name);
    if ((v->has_angle || v->has_travel) && !takes(v, ABD_JOINT_TAKES_AXIS)) fail_msg("%s: expected an axis", v->name);
    if (takes(v, ABD_JOINT_TAKES_COORDINATE) && !v->coordinate) fail_msg("%s: expected a coordinate", v->name);
    if (takes(v, ABD_JOINT_NEEDS_POINT_B) != (v->coordinate == ABD_COORDINATE_DISTANCE))
      fail_msg("%s: two points and a distance belong together", v->name);
  }
  assert_null(abd_joint_kind_view(ABD_JOINT_KIND_COUNT));
  assert_null(abd_joint_kind_view((AbdJointKind)-1));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_defaults),
      cmocka_unit_test(test_scenes_read_and_write_every_setting),
      cmocka_unit_test(test_set_option_takes_every_setting),
      cmocka_unit_test(test_scenes_refuse_wrong_values),
      cmocka_unit_test(test_worlds_refuse_wrong_values),
      cmocka_unit_test(test_expected_in_words),
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_names_differ),
      cmocka_unit_test(test_joint_kinds_are_consistent),
  };
  return cmocka_run_group_tests_name("vocabulary", tests, NULL, NULL);
}
