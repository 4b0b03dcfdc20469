/* A backend that passes every stage on to another one and counts the calls. */
#ifndef ABD_TESTS_BACKEND_COUNTING_H
#define ABD_TESTS_BACKEND_COUNTING_H

#include "step/stage.h"

typedef struct CountingBackend {
  Backend inner;
  int begin, newton, aim, bound, trial, accept, adjust, finish;
  int merges; /* calls of bound that ended with merged islands */
} CountingBackend;

#define INNER(b) ((CountingBackend *)(b))->inner
#define PASS(b, stage, ...) (((CountingBackend *)(b))->stage++, INNER(b).stages->stage(INNER(b).self, __VA_ARGS__))

static inline Outcome counting_begin(void *b, const State *state, Islands *islands, AbdStepReport *report) {
  return PASS(b, begin, state, islands, report);
}
static inline Outcome counting_newton(void *b, Islands *islands, bool *raised) {
  return PASS(b, newton, islands, raised);
}
static inline Outcome counting_aim(void *b, Islands *islands, Aim aim) { return PASS(b, aim, islands, aim); }
static inline Outcome counting_bound(void *b, Islands *islands) {
  Outcome outcome = PASS(b, bound, islands);
  bool joined = false;
  for (int k = 0; k < islands->count; k++) joined |= islands->island[k].joined;
  ((CountingBackend *)b)->merges += joined;
  return outcome;
}
static inline Outcome counting_trial(void *b, Islands *islands, AbdStage stage) {
  return PASS(b, trial, islands, stage);
}
static inline Outcome counting_accept(void *b, Islands *islands) { return PASS(b, accept, islands); }
static inline Outcome counting_adjust(void *b, Islands *islands) { return PASS(b, adjust, islands); }
static inline Outcome counting_finish(void *b, const Islands *islands, State *after) {
  return PASS(b, finish, islands, after);
}

static const Stages counting_stages = {.name = "counting",
                                       .begin = counting_begin,
                                       .newton = counting_newton,
                                       .aim = counting_aim,
                                       .bound = counting_bound,
                                       .trial = counting_trial,
                                       .accept = counting_accept,
                                       .adjust = counting_adjust,
                                       .finish = counting_finish};

#endif
