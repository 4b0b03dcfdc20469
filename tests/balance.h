/* Energy and momentum of a world, from the public header alone.
 *
 * A world that nothing drives may not gain energy: kinetic, of gravity, and stored in strain, soft elements, contacts,
 * springs and stops of joints. The report has most terms after a step. Kinetic energy, energy of gravity and momenta are
 * computed here too, so that they are known before the first step, and so that the report's are compared with others. */
#ifndef TESTS_BALANCE_H
#define TESTS_BALANCE_H

#include "abd/abd.h"
#include "math/vec.h"

typedef struct Balance {
  double kinetic, gravity, elastic, soft, contact, spring, stop; /* [J] stored; they add up to total */
  double total, bare;                                            /* [J] bare: without contact and stop */
  double friction;                                               /* [J] the report's friction term, not in total */
  double own_kinetic;              /* [J] from the velocities of bodies, without their rates of strain */
  Vec3 momentum, spin;             /* about the origin */
  double momentum_size, spin_size; /* sums of the sizes of their parts */
  double damper;                   /* [J] the term of dampers in the report's joint term */
} Balance;

/* report NULL: before the first step, when nothing is strained or touches. dry: stops cannot be told from friction in
 * joints and count 0. position: [joint count] coordinates of joints at the last call, updated; for dampers. */
Balance balance_of(const AbdWorld *world, const AbdStepReport *report, bool dry, double *position);

#endif
