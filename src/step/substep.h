/* A step of the world's dt, taken in sub-steps if it proves too long.
 *
 * Newton's method on a step in which bodies move farther than they are thick, or turn far, may need hundreds of
 * iterations, or not end. Two halves of such a step take fewer than the whole. So a step that does not end within
 * SUBSTEP_ITERATIONS is given up and taken in halves, and the halves likewise, down to dt / 2^SUBSTEP_LEVELS. Sub-steps
 * that end within SUBSTEP_EASY iterations double in length again, at times that are multiples of the doubled length. The
 * length with which a step ends is the first one that the next step tries; it is part of the state. A try that is given
 * up leaves nothing behind, so the result does not depend on what was tried before.
 *
 * All bodies take the same sub-steps. Kinematic bodies with targets move to them at a constant velocity. Forces and
 * drives are the same in all sub-steps of a step. Tested in tests/test_substep.c. */
#ifndef ABD_STEP_SUBSTEP_H
#define ABD_STEP_SUBSTEP_H

#include "step/step.h"

/* Advances state by dt. next: written by steps, see state_next_init. start: zero at first; of a step with sub-steps the
 * state at its start. If the outcome is not STAGE_DONE, state is unchanged. */
Outcome substeps_run(Step *step, Backend backend, State *state, State *next, State *start, AbdStepReport *report);

#endif
