/* More keys for random worlds (random_world.h, RandomOptions.wide), drawn from a random stream of their own: a seed has
 * the same bodies, joints and motions with and without them.
 *
 * Settings of contact; restitution, rolling and torsional friction, drag, sensors, groups, held coordinates; boxes of
 * two parts; joints that break, sums of two joints; friction of single pairs. In half of the worlds also what does
 * work: drives, scripts and forces, moving surfaces, bodies that come and go, gravity of single bodies. */
#ifndef TESTS_RANDOM_WIDE_H
#define TESTS_RANDOM_WIDE_H

#include <stdio.h>

#include "draw.h"
#include "random_world.h"

typedef struct Wide {
  Draw draw;
  bool on;      /* if not, nothing is drawn or written */
  bool powered; /* keys that do work are allowed */
  bool bounces; /* the integrator has restitution */
  double dt;
  int steps;
} Wide;

typedef struct WideBody {
  bool soft, still, kinematic, tied; /* tied: it has joints or attachments */
  double radius, mass;
} WideBody;

void wide_settings(Wide *w); /* draws what is decided for the whole world */
/* When a body comes: 0 = at the start. The text of its other keys follows with wide_body. */
double wide_arrival(Wide *w, const WideBody *body, RandomFacts *facts);
void wide_contact(Wide *w, FILE *out, RandomFacts *facts);
void wide_body(Wide *w, FILE *out, const WideBody *body, bool arrives, RandomFacts *facts);
bool wide_is_cross(Wide *w); /* whether a box becomes a cross of two */
void wide_joint(Wide *w, FILE *out, double mass, double radius, RandomFacts *facts);
void wide_pairs(Wide *w, FILE *out, int bodies);

#endif
