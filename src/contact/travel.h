/* How far bodies go: measured once per body, so that most pairs are told apart without looking at their relative motion.
 *
 * While body a moves from A to A' and b from B to B', its rest point y, at z = B^-1 A y in b's rest frame, moves there by
 *     B'^-1 (A' y - A y) + B'^-1 (B z - B' z),
 * at most (corner_a + shift_b + turn_b |z|) / sigma(B'), corner being the largest motion of a corner of a's box, shift that of b's
 * origin, turn the norm of the change of b's linear part. The sums of these along all poses that a body stood at bound the same
 * between any two of them. They are rounded up: their difference is never less than the way between. Tested in
 * tests/test_bound.c. */
#ifndef ABD_CONTACT_TRAVEL_H
#define ABD_CONTACT_TRAVEL_H

#include "model/model.h"

typedef struct Motion {
  double corner, shift, turn;
} Motion; /* [m], [m], 1 */

typedef struct Travel {
  Affine at;      /* where the body is */
  Motion gone;    /* sums over all of its way */
  Motion ahead;   /* along the direction in question */
  double stretch; /* the least of its linear part, rounded down */
  uint64_t stops; /* how many poses it stood at: 0 where nobody ever said */
} Travel;

/* Of travel[body]. The body stands at another pose now, or still at the same. */
void travel_go(Travel *travel, const Model *model, int body, const Affine *q);
/* It is about to move along d. */
void travel_aim(Travel *travel, const Model *model, int body, const Affine *d);

#endif
