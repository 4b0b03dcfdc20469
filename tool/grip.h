/* Pulls a soft body of a live world: a spring and a damper, as stiff as the time step permits, pull the fifth of its
 * vertices nearest to the gripped point towards a target. Tested in tests/test_grip.c. */
#ifndef ABD_TOOL_GRIP_H
#define ABD_TOOL_GRIP_H

#include "abd/abd.h"

typedef struct Grip {
  uint32_t body;    /* 0: none */
  double point[3];  /* the gripped point, relative to the mean of the body's vertices */
  double offset[3]; /* from the mean of the held vertices to the point */
  size_t *vertex;
  size_t count;
} Grip;

/* Grips a point; an earlier grip is released. False if memory runs out or the body is not soft. */
bool grip_take(Grip *grip, AbdWorld *world, AbdBodyId body, const double point[3]);
/* Sets the held vertices' forces for the next step. */
void grip_pull(const Grip *grip, AbdWorld *world, const double target[3]);
/* Releases the grip: the forces are zero again. */
void grip_release(Grip *grip, AbdWorld *world);

#endif
