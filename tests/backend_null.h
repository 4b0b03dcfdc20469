/* A backend that does nothing: one island per moving body, every step is free, every trial gains. Tests of Newton's
 * control replace single stages of it. */
#ifndef ABD_TESTS_BACKEND_NULL_H
#define ABD_TESTS_BACKEND_NULL_H

#include "step/stage.h"

typedef struct NullBackend {
  const State *state;
  Work work; /* zero */
} NullBackend;

static inline void null_destroy(void *b) { (void)b; }
static inline Outcome null_begin(void *b, const State *state, Islands *islands, AbdStepReport *report) {
  ((NullBackend *)b)->state = state;
  (void)report;
  return stage_from(islands_build(islands, 1, 0, NULL, false));
}
static inline Outcome null_newton(void *b, Islands *islands, bool *raised) {
  (void)b;
  *raised = false;
  for (int k = 0; k < islands->count; k++) {
    Island *g = &islands->island[k];
    if (g->selected) g->residual = 0, g->residual_body = -1, g->active_count = g->body_count;
  }
  return stage_done();
}
static inline Outcome null_aim(void *b, Islands *islands, Aim aim) {
  return (void)b, (void)islands, (void)aim, stage_done();
}
static inline Outcome null_bound(void *b, Islands *islands) {
  (void)b;
  for (int k = 0; k < islands->count; k++) islands->island[k].bound = 1;
  return stage_done();
}
static inline Outcome null_trial(void *b, Islands *islands, AbdStage stage) {
  return (void)b, (void)islands, (void)stage, stage_done();
}
static inline Outcome null_stage(void *b, Islands *islands) { return (void)b, (void)islands, stage_done(); }
static inline Outcome null_finish(void *b, const Islands *islands, State *after) {
  return (void)b, (void)islands, (void)after, stage_done();
}
static inline const Work *null_view(const void *b) { return &((const NullBackend *)b)->work; }
static inline size_t null_contacts(const void *b, AbdContact *contact, size_t capacity) {
  return (void)b, (void)contact, (void)capacity, 0;
}
static inline Outcome null_reactions(void *b, Affine *force) { return (void)b, (void)force, stage_done(); }
static inline Outcome null_find_near(void *b, Nodes q, NearPair *found) {
  return (void)b, (void)q, found->a = -1, stage_done();
}

static const Stages null_stages = {"null",     null_destroy,  null_begin,     null_newton,    null_aim,
                                   null_bound, null_trial,    null_stage,     null_stage,     null_finish,
                                   null_view,  null_contacts, null_reactions, null_find_near, NULL};

#endif
