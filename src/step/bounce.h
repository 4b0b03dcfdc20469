/* Restitution over all pairs of a world: velocities after impacts, see step/impact.h. Tested in tests/test_impact.c. */
#ifndef ABD_STEP_BOUNCE_H
#define ABD_STEP_BOUNCE_H

#include "contact/pairs.h"
#include "step/mechanism.h"

/* Changes the rates in `after` of bodies that bounce. The pairs have the contacts at the end of the step. */
Outcome bounce(const Work *work, const Pairs *pairs, const ContactScene *scene, JointedFlight *flight, State *after);

#endif
