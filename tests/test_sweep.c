/* src/sweep: the order of members, draws of random settings, figures, the table of results. The command is tested by
 * tests/cli/sweep.sh. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include <abd/scene.h>
#include <abd/sweep.h>

#define HEAD "{\"study\": 1, \"steps\": 3, \"scene\": {\"gallery\": \"pile\", \"keys\": {\"count\": 3}}"

static AbdStudy *parse(const char *text) {
  AbdError error;
  AbdStudy *study = abd_study_parse(text, strlen(text), "test", &error);
  if (!study) fail_msg("%s", error.text);
  return study;
}

static double number(const AbdStudy *study, size_t member, const char *name) {
  char *text = abd_study_settings(study, member);
  json_t *settings = json_loads(text, 0, NULL), *value = json_object_get(settings, name);
  double number = value ? json_number_value(value) : NAN;
  json_decref(settings);
  abd_text_free(text);
  return number;
}

/* The seed changes fastest, then the last axis, then the first, then the entry of the list. */
static void test_members_are_ordered(void **state) {
  (void)state;
  AbdStudy *study = parse(HEAD ", \"set\": {\"dt\": 1, \"e\": 5}, \"list\": [{\"a\": 1}, {\"a\": 2, \"dt\": 7}], "
                               "\"grid\": {\"b\": [3, 4], \"c\": [5, 6, 7]}, \"seeds\": [11, 13]}");
  assert_int_equal(abd_study_member_count(study), 24);
  for (size_t m = 0; m < 24; m++) {
    assert_true(number(study, m, "seed") == (m % 2 ? 13 : 11));
    assert_true(number(study, m, "c") == 5 + (double)(m / 2 % 3));
    assert_true(number(study, m, "b") == 3 + (double)(m / 6 % 2));
    assert_true(number(study, m, "a") == 1 + (double)(m / 12));
    assert_true(number(study, m, "dt") == (m < 12 ? 1 : 7));
    assert_true(number(study, m, "e") == 5);
  }
  abd_study_destroy(study);
}

static void moments(const AbdStudy *study, const char *name, double *mean, double *deviation, double range[2]) {
  size_t count = abd_study_member_count(study);
  double sum = 0, square = 0;
  range[0] = INFINITY, range[1] = -INFINITY;
  for (size_t m = 0; m < count; m++) {
    double x = number(study, m, name);
    sum += x, square += x * x;
    range[0] = fmin(range[0], x), range[1] = fmax(range[1], x);
  }
  *mean = sum / (double)count, *deviation = sqrt(square / (double)count - *mean * *mean);
}

static void test_draws_have_their_distributions(void **state) {
  (void)state;
  double mean, deviation, range[2];
  AbdStudy *study =
      parse(HEAD ", \"seeds\": 4000, \"random\": {\"u\": {\"uniform\": [2, 4]}, \"n\": {\"normal\": [1, 3]}, "
                 "\"l\": {\"log_uniform\": [0.01, 100]}, \"i\": {\"integer\": [1, 6]}, "
                 "\"c\": {\"choice\": [1, 8]}, \"s\": \"seed\"}}");
  moments(study, "u", &mean, &deviation, range);
  assert_true(fabs(mean - 3) < 0.04 && fabs(deviation - 1 / sqrt(3)) < 0.02 && range[0] >= 2 && range[1] <= 4);
  moments(study, "n", &mean, &deviation, range);
  assert_true(fabs(mean - 1) < 0.2 && fabs(deviation - 3) < 0.15);
  moments(study, "l", &mean, &deviation, range);
  assert_true(range[0] >= 0.01 && range[0] < 0.011 && range[1] <= 100 && range[1] > 95);
  moments(study, "i", &mean, &deviation, range);
  assert_true(range[0] == 1 && range[1] == 6 && fabs(mean - 3.5) < 0.1);
  moments(study, "c", &mean, &deviation, range);
  assert_true(range[0] == 1 && range[1] == 8 && fabs(mean - 4.5) < 0.25);
  assert_true(number(study, 9, "s") == 10);
  abd_study_destroy(study);
}

/* A draw is of its seed and its name alone: other settings, axes and seeds do not change it. */
static void test_draws_do_not_depend_on_others(void **state) {
  (void)state;
  AbdStudy *one = parse(HEAD ", \"seeds\": [5, 6], \"random\": {\"u\": {\"uniform\": [0, 1]}}}");
  AbdStudy *other = parse(HEAD ", \"seeds\": [6], \"grid\": {\"g\": [1, 2]}, "
                               "\"random\": {\"t\": {\"uniform\": [0, 1]}, \"u\": {\"uniform\": [0, 1]}}}");
  assert_true(number(one, 0, "u") != number(one, 1, "u"));
  for (size_t m = 0; m < 2; m++) {
    assert_true(number(one, 1, "u") == number(other, m, "u"));
    assert_true(number(other, m, "t") != number(other, m, "u"));
  }
  abd_study_destroy(one);
  abd_study_destroy(other);
}

static void run_member(const AbdStudy *study, size_t member, int threads, AbdMemberResult *result, double *value) {
  AbdError error;
  if (abd_study_run(study, member, threads, result, value, &error) != ABD_OK) fail_msg("%s", error.text);
}

static void test_figures(void **state) {
  (void)state;
  static const char text[] =
      HEAD ", \"record\": [\"report.step\", \"report.step.min\", \"report.step.max\", \"report.step.mean\", "
           "\"report.step.sum\", \"report.time\", \"report.min_distance.min\", \"events.joint broke\"]}";
  AbdStudy *study = parse(text);
  AbdMemberResult result, again;
  double value[8], twice[8];
  assert_int_equal(abd_study_column_count(study), 8);
  assert_string_equal(abd_study_column(study, 3), "report.step.mean");
  run_member(study, 0, 1, &result, value);
  assert_true(value[0] == 3 && value[1] == 1 && value[2] == 3 && value[3] == 2 && value[4] == 6 && value[7] == 0);
  assert_true(value[5] > 0 && result.steps == 3 && result.not_converged == 0 && result.seconds > 0);
  run_member(study, 0, 2, &again, twice);
  assert_true(result.hash == again.hash);
  abd_study_destroy(study);
}

static void expect_counts(AbdSweep *sweep, int waiting, int running, int done, int failed) {
  int64_t count[ABD_MEMBER_STATUS_COUNT];
  assert_int_equal(abd_sweep_counts(sweep, count), ABD_OK);
  assert_int_equal(count[ABD_MEMBER_WAITING], waiting);
  assert_int_equal(count[ABD_MEMBER_RUNNING], running);
  assert_int_equal(count[ABD_MEMBER_DONE], done);
  assert_int_equal(count[ABD_MEMBER_FAILED], failed);
}

static void take(AbdSweep *sweep, size_t expected) {
  size_t member;
  assert_int_equal(abd_sweep_take(sweep, &member), ABD_OK);
  assert_true(member == expected);
}

static void visit(void *user, size_t member, int attempts, const char *sentence, const char *settings) {
  assert_true(member == 0 && attempts == 2 && !strcmp(sentence, "no luck") && strstr(settings, "seed"));
  ++*(int *)user;
}

static void test_table(void **state) {
  (void)state;
  char path[] = "/tmp/abd-sweep-XXXXXX";
  AbdError error;
  AbdMemberResult result = {.steps = 3, .hash = 7};
  double value[8] = {NAN, INFINITY, 1};
  int failed = 0;
  close(mkstemp(path));
  AbdStudy *study = parse(HEAD ", \"seeds\": 3}");
  AbdSweep *sweep = abd_sweep_open(path, study, true, &error);
  if (!sweep) fail_msg("%s", error.text);
  assert_null(abd_sweep_open(path, study, false, &error));
  assert_non_null(strstr(error.text, "another abd sweep is writing"));
  take(sweep, 0), take(sweep, 1);
  expect_counts(sweep, 1, 2, 0, 0);
  assert_int_equal(abd_sweep_fail(sweep, 0, "no luck", true), ABD_OK);
  assert_int_equal(abd_sweep_store(sweep, 1, &result, value), ABD_OK);
  abd_sweep_close(sweep);
  sweep = abd_sweep_open(path, study, false, &error);
  take(sweep, 0), take(sweep, 2), take(sweep, SIZE_MAX);
  assert_int_equal(abd_sweep_fail(sweep, 0, "no luck", false), ABD_OK);
  expect_counts(sweep, 0, 1, 1, 1);
  abd_sweep_close(sweep); /* with a member in progress */
  sweep = abd_sweep_open(path, study, false, &error);
  expect_counts(sweep, 1, 0, 1, 1);
  assert_int_equal(abd_sweep_failed(sweep, visit, &failed), ABD_OK);
  assert_int_equal(failed, 1);
  assert_int_equal(abd_sweep_retry_failed(sweep), ABD_OK);
  expect_counts(sweep, 2, 0, 1, 0);
  abd_sweep_close(sweep);
  abd_study_destroy(study);
  unlink(path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_members_are_ordered),
      cmocka_unit_test(test_draws_have_their_distributions),
      cmocka_unit_test(test_draws_do_not_depend_on_others),
      cmocka_unit_test(test_figures),
      cmocka_unit_test(test_table),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
