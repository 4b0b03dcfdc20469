/* Motion that two surfaces share brings nothing nearer. With a field u(x) = shift + spin x (x - center) taken off,
 * |d + spin x d| >= |d|, so two points whose motions differ from it by at most r and s come nearer by at most r + s.
 * The field is fitted to the vertices, as a rigid body's velocity is to its momentum. Tested in tests/test_bound.c. */
#ifndef ABD_CONTACT_DRIFT_H
#define ABD_CONTACT_DRIFT_H

#include "math/vec.h"

/* Moving points: from x by motion, or to end where motion is NULL; the i-th of each stands at i stride. */
typedef struct Moving { int count, stride; const Vec3 *x, *motion, *end; } Moving;

/* How much nearer points of two sets can come at most, which may be the same one. */
double drift_approach(const Moving *a, const Moving *b);

#endif
