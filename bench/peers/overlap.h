/* How far bodies are in each other, in poses that any engine gave. Tested by tests/cli/peers.sh.
 *
 * Which pairs cross is found by abd's exact test. How deep: the vertex of one body that lies deepest below the other's
 * surface. That is a lower bound: where only edges have gone through each other, no vertex tells of it. */
#ifndef ABD_PEERS_OVERLAP_H
#define ABD_PEERS_OVERLAP_H

#include "peer.h"

#include <abd/abd.h>

typedef struct Overlap {
  size_t pairs;     /* of bodies that cross */
  double depth;     /* [m] of the deepest vertex of any of them */
  uint32_t deep[2]; /* ids of the two; 0 where no vertex is below a surface */
} Overlap;

/* nodes: 12 numbers for each body in id order. */
Overlap overlap_find(const PeerScene *scene, const double *nodes);

#endif
