/* The progress of a run: the time of a step is the mean over time, so that few slow steps among many fast ones do not
 * decide the time that is left. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "../tool/progress.h"

static void sleep_for(double seconds) { nanosleep(&(struct timespec){.tv_nsec = (long)(1e9 * seconds)}, NULL); }

static void mean_of_steps(void **state) {
  (void)state;
  enum { COUNT = 300 };
  Progress progress;
  double start = clock_seconds();
  progress_start(&progress, 0, 2 * COUNT, 0.01, true);
  for (int step = 1; step <= COUNT; step++) {
    sleep_for(step % 100 ? 1e-4 : 0.05);
    progress_step(&progress, &(AbdStepReport){.step = step});
  }
  double mean = (clock_seconds() - start) / COUNT;
  printf("mean of all steps %g s, shown %g s\n", mean, progress.step_seconds);
  assert_true(progress.step_seconds > 0.5 * mean && progress.step_seconds < 2 * mean);
}

static void durations(void **state) {
  (void)state;
  char text[32];
  assert_string_equal(duration_text(0.25, text), "0.2 s");
  assert_string_equal(duration_text(100, text), "100 s");
  assert_string_equal(duration_text(3000, text), "50 min 0 s");
  assert_string_equal(duration_text(4 * 3600 + 60, text), "4 h 1 min");
  assert_string_equal(duration_text(3e6, text), "34.7 days");
  assert_string_equal(duration_text(INFINITY, text), "?");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(mean_of_steps), cmocka_unit_test(durations)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
