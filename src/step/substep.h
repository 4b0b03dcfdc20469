/* A step of the world's dt, taken in sub-steps if it proves too long.
 *
 * Newton's method on a step in which bodies move farther than they are thick, or turn far, may need hundreds of
 * iterations, or not end. Two halves of such a step take fewer than the whole. So a step that stalls (newton.c) or does
 * not end within SUBSTEP_ITERATIONS is given up and taken in halves, and the halves likewise, down to dt /
 * 2^SUBSTEP_LEVELS. So is a step that ends with a body driven out from between others. Sub-steps that end within
 * SUBSTEP_EASY iterations double in length again, at times that are multiples of the doubled length. The length with
 * which a step ends is the first one that the next step tries; it is part of the state. A try that is given up leaves
 * nothing behind, so the result does not depend on what was tried before.
 *
 * All bodies take the same sub-steps. Kinematic bodies with targets move to them at a constant velocity. Forces and
 * drives are the same in all sub-steps of a step. Tested in tests/test_substep.c. */
#ifndef ABD_STEP_SUBSTEP_H
#define ABD_STEP_SUBSTEP_H

#include "step/step.h"

/* Called after each sub-step but the last. part: its share of the step. The state is that at its end. False if memory
 * is out. */
typedef bool SubstepTaken(void *context, double part);

typedef struct Substeps {
  State start; /* the state at the start of the step, if `split` */
  bool split;
  int level;           /* with which the next step begins */
  double last;         /* part of the step that the last sub-step takes */
  SubstepTaken *taken; /* NULL: not called */
  void *taken_context;
} Substeps;

/* Takes a step of dt. next: the state after it, see state_next_init; substeps_finish makes it the state. If sub-steps
 * were needed, state is the one before the last of them; if the outcome is not STAGE_DONE, it is unchanged. substeps:
 * zero before the first step. */
Outcome substeps_run(Step *step, Backend backend, State *state, State *next, Substeps *substeps, AbdStepReport *report);
/* The state at the start of the step. */
static inline const State *substeps_start(const Substeps *substeps, const State *state) {
  return substeps->split ? &substeps->start : state;
}
/* After substeps_run: the state as it was before, or after the step. */
void substeps_undo(Substeps *substeps, State *state);
void substeps_finish(Substeps *substeps, State *state, State *next, const Model *model);

#endif
