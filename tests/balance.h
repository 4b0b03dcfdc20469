/* Energy and momentum of a world, from the public header alone.
 *
 * A world that nothing drives may not gain mechanical energy: kinetic, of gravity, of strain, soft elements and
 * springs. Contacts, stops of joints and anchors of friction store energy and return it. Their stiffness changes from
 * step to step, so the energy that the report has for them may jump without an effect. balance_stored therefore counts
 * what the world put into them: it grows by losses of mechanical energy, up to what the report has, and a gain of
 * mechanical energy beyond it comes from nowhere.
 *
 * A soft spring acts on bodies in flight at the ends of a step. Its energy U and that of the motion is kept less
 * h^2 k / (4 m) U, m the inertia that it moves: a gain while it is strained, which it takes back later. Springs act so
 * if h^2 k / m < 1/4, so that this is at most a sixteenth of what they store in a step.
 *
 * The report has most terms after a step. Kinetic energy, energy of gravity and momenta are computed here too, so that
 * they are known before the first step, and so that the report's are compared with others. */
#ifndef TESTS_BALANCE_H
#define TESTS_BALANCE_H

#include "abd/abd.h"
#include "math/vec.h"

typedef struct Balance {
  double kinetic, gravity, elastic, soft, spring; /* [J] */
  double mechanical;                              /* [J] their sum */
  double contact, stop; /* [J] of the barriers of contacts and of limits and ropes, as reported */
  double anchor;        /* [J] the most that anchors of friction can store: two thirds of force times tolerance */
  double swing;         /* [J] the most that springs in flight may add in the step: a sixteenth of what they stored */
  double friction;      /* [J] the report's friction term: anchors, and what sliding takes */
  double damper;        /* [J] the term of dampers in the report's joint term */
  double own_kinetic;   /* [J] from the velocities of bodies, without their rates of strain */
  double mass;          /* [kg] of all that moves */
  Vec3 momentum, spin;  /* about the origin */
  double momentum_size, spin_size; /* sums of the sizes of their parts */
} Balance;

/* report NULL: before the first step, when nothing is strained or touches. dry: stops cannot be told from friction in
 * joints and count 0. position: [joint count] coordinates of joints at the last call, updated; for dampers. */
Balance balance_of(const AbdWorld *world, const AbdStepReport *report, bool dry, double *position);
/* [J] stored in contacts, stops and anchors after a step that ended at `after`, if `stored` was before it; infinite if
 * that is not known. */
double balance_stored(double stored, const Balance *before, const Balance *after);

/* Whether the barrier of a stop or rope may act at the present coordinates, so that energy is stored in it. Arms of
 * angles are not known here: their barriers count as long as they may be. */
bool balance_has_stop(const AbdWorld *world);

#endif
