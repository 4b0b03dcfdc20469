/* One time step: Newton's method on the incremental potential
 *     E(q) = sum_b 1/2 |q_b - target_b|^2_M + h2 vol psi(A_b)  +  sum_pairs (barrier + friction)
 * from the poses at the start, with steps cut so that no two surfaces cross. Here is the control alone: it decides on
 * scalars per island (step/island.h); a backend does the work (step/stage.h).
 *
 * An island is whole or partial. In a partial island only the active set moves: the bodies whose last Newton step
 * was fast and their neighbours. An island ends only with an iteration of all of its bodies. */
#ifndef ABD_STEP_H
#define ABD_STEP_H

#include "step/stage.h"

typedef struct Step {
  const Model *model;
  Islands islands;
  AbdStepReport *report;
  Backend backend; /* of the step in progress */
  bool raised;     /* the last matrix was not positive definite */
  double excess;   /* of the last step, as in Island: the largest of all islands */
  int excess_body;
  double ahead; /* the excess at its start, by the velocities there */
} Step;

bool step_init(Step *step, const Model *model); /* false if memory is out */
void step_destroy(Step *step);
/* Takes one step of state->duration: reads state, writes after, which may be state's copy, not state itself. limit: of
 * iterations. final: a step that does not end within the limit is finished as it is; else only the report is written.
 */
Outcome step_run(Step *step, Backend backend, const State *state, State *after, int limit, bool final,
                 AbdStepReport *report);

#endif
