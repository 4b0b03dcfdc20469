/* Connected parts of a mesh and their convex hulls. Tested by tests/cli/peers.sh. */
#ifndef ABD_PEERS_PART_H
#define ABD_PEERS_PART_H

#include "peer.h"

/* Fills mesh->part. A part is what its vertices say: a box or a ball of any size, a convex body, a tube whose vertices come
 * ring after ring (as abd's tori do), or just concave. */
void parts_find(PeerMesh *mesh);
void parts_free(PeerMesh *mesh);

#endif
