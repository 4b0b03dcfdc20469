/* How far bodies have moved. It is measured once per body and proves for most pairs, without a relative pose, that the
 * bodies stay apart.
 *
 * If body a moves from A to A' and b from B to B', a's rest point y, at z = B^-1 A y in b's rest frame, moves there by
 *     B'^-1 (A' y - A y) + B'^-1 (B z - B' z),
 * at most (|mid_a - origin_b| + spread_a + turn_b |z|) / sigma(B'). mid is the motion of the centre of a's box, origin
 * that of b's origin, spread the largest motion of a corner of a's box against its centre, turn the norm of the change
 * of b's linear part. What both share, such as a fall side by side, cancels. Centres and origins are known at any two
 * poses. Sums of spread and turn over all poses of a body bound them between any two; they are rounded up, so that a
 * difference of two sums is never below the true motion. Tested in tests/test_bound.c. */
#ifndef ABD_CONTACT_PATH_LENGTH_H
#define ABD_CONTACT_PATH_LENGTH_H

#include "model/model.h"

typedef struct Motion {
  Vec3 mid, origin;
  double spread, turn;
} Motion; /* [m], [m], [m], 1 */

typedef struct PathLength {
  Motion length;   /* where centre and origin are; sums over all poses so far */
  Motion ahead;    /* along the search direction */
  double stretch;  /* a lower bound of the singular values of the pose's linear part */
  double rounding; /* [m] of differences of centres and origins */
  uint64_t serial; /* pose serial: changes whenever the pose changes; 0 = no pose yet */
  Affine at;       /* the current pose */
} PathLength;

/* Moves length[body] to the body's current pose. The serial stays if the pose is the same. */
void path_length_move(PathLength *length, const Model *model, int body, const Affine *q);
/* Sets `ahead` from the body's search direction. */
void path_length_aim(PathLength *length, const Model *model, int body, const Affine *d);

#endif
