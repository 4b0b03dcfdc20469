/* A hand on a soft body of a world that is simulated live: the vertices nearest to where it was taken hold of, a fifth of all, are
 * drawn towards a target by a spring and a damper as stiff as the step bears. Tested in tests/test_grip.c. */
#ifndef ABD_VIEW_GRIP_H
#define ABD_VIEW_GRIP_H

#include "abd/abd.h"

typedef struct Grip {
  uint32_t body;    /* 0: none */
  double point[3];  /* where, from the mean of the body's vertices, as the hand gave it */
  double offset[3]; /* from the mean of the held vertices to the point */
  size_t *vertex;
  size_t count;
} Grip;

/* Takes hold; what was held before is let go. False when memory is out, or where the body is not soft. */
bool grip_take(Grip *grip, AbdWorld *world, AbdBodyId body, const double point[3]);
/* Sets the held vertices' forces for the next step. */
void grip_pull(const Grip *grip, AbdWorld *world, const double target[3]);
/* Lets go: the forces are zero again. */
void grip_release(Grip *grip, AbdWorld *world);

#endif
