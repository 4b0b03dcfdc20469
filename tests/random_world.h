/* Random worlds from seeds, as scene text in abd's own format.
 *
 * A world has 2 to 24 bodies: boxes, balls, cylinders, cones, capsules, tori, sheets and wires, some soft, in units of
 * one body or of a tree of jointed bodies. Units are packed around the origin so that no two bounding spheres overlap.
 * Each unit starts with the velocities of a rigid motion plus a relative motion that its joints allow.
 *
 * A wide world (random_wide.h) has the same bodies and more keys.
 *
 * Settings, bodies, joints and motions have random streams of their own: an option that fixes one of them leaves the
 * others of the same seed as they are. Run by tests/random_worlds.c. */
#ifndef TESTS_RANDOM_WORLD_H
#define TESTS_RANDOM_WORLD_H

#include <stdbool.h>
#include <stdint.h>

typedef enum Choice { CHOICE_RANDOM = 0, CHOICE_ALWAYS, CHOICE_NEVER } Choice;

typedef struct RandomOptions {
  Choice joints, soft, gravity, ground, friction;
  int integrator; /* AbdIntegrator; negative = random */
  double dt;      /* [s] 0 = random: 1/1000 to 1/25 */
  int bodies;     /* 0 = random: 2 to 24 */
  int steps;
  bool drives; /* drives on joints, kinematic bodies, scripted vertices, forces */
  bool wide;   /* more keys (random_wide.h), drives in half of the worlds */
} RandomOptions;

typedef struct RandomFacts {
  int bodies, joints, soft; /* dynamic bodies, joints, those of the bodies that are soft */
  bool free;                /* nothing is tied to the world and there is no gravity: momentum is constant */
  bool driven;              /* something does work: energy may grow */
  bool touches;             /* bodies may be within the range of each other at the start */
  bool breaks;              /* joints may break */
  bool dry;                 /* joints have dry friction; if not, they may have limits */
  double friction;          /* of the world */
} RandomFacts;

RandomOptions random_default_options(void);
/* The text of the scene, to be freed; NULL if memory runs out. */
char *random_world_text(uint64_t seed, const RandomOptions *options, RandomFacts *facts);

#endif
