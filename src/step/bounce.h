/* Restitution over all pairs of a world: velocities after impacts, see step/impact.h. Tested in tests/test_impact.c. */
#ifndef ABD_STEP_BOUNCE_H
#define ABD_STEP_BOUNCE_H

#include "contact/pairs.h"
#include "step/mechanism.h"

/* What a contact did to a in an impact, to b the opposite [N s]. */
typedef struct Blow {
  double normal;
  Vec3 friction;
} Blow;

typedef struct Blows {
  bool any;   /* bodies bounced in the last step */
  int *first; /* per pair: the blow of its first acting contact */
  Blow *blow; /* one per acting contact of two stiff bodies */
  int first_capacity, blow_capacity;
} Blows;

/* Changes the rates in `after` of bodies that bounce, and marks in work->bounced those that lost what the solve did to
 * their velocities. The pairs have the contacts at the end of the step. */
Outcome bounce(const Work *work, const Pairs *pairs, const ContactScene *scene, JointedFlight *flight, State *after,
               Blows *blows);
/* Changes the forces of an acting contact of pair k to those that the velocities after the step are due to. */
void blows_describe(const Blows *blows, const Work *work, const Pairs *pairs, int k, int index, AbdContact *contact);
void blows_destroy(Blows *blows);

#endif
