/* Elastic slip of a friction contact, carried from step to step so that static friction does not creep. Compiles as C
 * and as CUDA. */
#ifndef ABD_MODEL_ANCHOR_H
#define ABD_MODEL_ANCHOR_H

#include <stdint.h>

#include "math/vec.h"

typedef struct Anchor {
  uint64_t key; /* kind and primitives */
  Vec3 at;      /* where on body a, rest coordinates */
  Vec3 slip;    /* in b's rest frame [m] */
} Anchor;

#endif
