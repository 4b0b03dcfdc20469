/* Overlap of bodies in the poses of any engine. Tested by tests/cli/peers.sh.
 *
 * abd's exact test finds the crossing pairs. Their depth is that of the deepest vertex of one body below the surface of
 * the other. This is a lower bound: if only edges have passed through each other, no vertex is inside. */
#ifndef ABD_PEERS_OVERLAP_H
#define ABD_PEERS_OVERLAP_H

#include "peer.h"

#include <abd/abd.h>

typedef struct Overlap {
  size_t pairs;     /* of bodies that cross */
  double depth;     /* [m] of the deepest vertex of any of them */
  uint32_t deep[2]; /* ids of the two; 0 if no vertex is below a surface */
} Overlap;

/* nodes: 12 numbers for each body in id order. */
Overlap overlap_find(const PeerScene *scene, const double *nodes);

#endif
