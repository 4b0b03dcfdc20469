/* Bodies nearer to each other than contact keeps them: neither the start of a world nor a change of it may have any.
 * Tested in tests/test_thickness.c, tests/test_change.c. */
#ifndef ABD_CONTACT_NEAR_H
#define ABD_CONTACT_NEAR_H

#include "contact/pair.h"

typedef struct NearPair {
  int a, b;               /* bodies, a < 0 if there are none */
  double distance, least; /* [m] of the stencil; what contact keeps */
  int kind, prim_a, prim_b;
} NearPair;

/* Can bodies be too near without crossing? */
bool near_matters(const Model *model);
/* A body's box, inflated so that it overlaps those of all bodies that may be too near. */
Box near_box(const ContactScene *scene, int body, const Affine *q);
/* Tests two bodies at poses q, soft ones at the scene's surfaces; found->a stays if they are far enough. The scene's
 * store has room for one pair. False if memory is out. */
bool near_test(const ContactScene *scene, const Affine *q, int a, int b, NearPair *found);

#endif
