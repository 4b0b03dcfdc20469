/* Path lengths of bodies. They are measured once per body and prove for most pairs, without a relative pose, that the
 * bodies stay apart.
 *
 * If body a moves from A to A' and b from B to B', a's rest point y, at z = B^-1 A y in b's rest frame, moves there by
 *     B'^-1 (A' y - A y) + B'^-1 (B z - B' z),
 * at most (corner_a + shift_b + turn_b |z|) / sigma(B'). corner is the largest motion of a corner of a's box, shift the
 * motion of b's origin, turn the norm of the change of b's linear part. The sums of these over all poses of a body
 * bound the motion between any two of them. They are rounded up, so that a difference of two sums is never below the
 * true motion. Tested in tests/test_bound.c. */
#ifndef ABD_CONTACT_PATH_LENGTH_H
#define ABD_CONTACT_PATH_LENGTH_H

#include "model/model.h"

typedef struct Motion {
  double corner, shift, turn;
} Motion; /* [m], [m], 1 */

typedef struct PathLength {
  Affine at;       /* the current pose */
  Motion length;   /* sums over all poses so far */
  Motion ahead;    /* along the search direction */
  double stretch;  /* a lower bound of the singular values of the pose's linear part */
  uint64_t serial; /* pose serial: changes whenever the pose changes; 0 = no pose yet */
} PathLength;

/* Moves length[body] to the body's current pose. The serial stays if the pose is the same. */
void path_length_move(PathLength *length, const Model *model, int body, const Affine *q);
/* Sets `ahead` from the body's search direction. */
void path_length_aim(PathLength *length, const Model *model, int body, const Affine *d);

#endif
