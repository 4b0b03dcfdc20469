/* Makes and steps a world while memory may run out. After the first call that fails memory is available again and the
 * call is repeated; a second failure is an error. */
#ifndef TESTS_TRIAL_H
#define TESTS_TRIAL_H

#include "base/base.h"

enum { TRIAL_HASHES = 4 };

typedef struct Trial {
  AbdWorld *world;
  AbdStatus failure;
  int failures;
  uint64_t hash[TRIAL_HASHES]; /* after each step */
} Trial;

static inline bool trial_again(Trial *t, AbdStatus status) {
  if (status == ABD_OK) return false;
  mem_fail_after(0);
  t->failure = status;
  if (t->failures++)
    fail_msg("a second failure, %s: %s", abd_status_name(status), t->world ? abd_world_error(t->world) : "");
  return true;
}

/* The allocation to fail after n: each one; under a sanitizer, of the many that steps make, every seventh. */
static inline long trial_next(long n) { return n + (getenv("ABD_TEST_SHORT") && n > 150 ? 7 : 1); }

#define TRIAL_CALL(t, call)                                                                                            \
  do {                                                                                                                 \
    if (trial_again(t, call)) trial_again(t, call);                                                                    \
  } while (0)

#endif
