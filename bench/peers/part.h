/* Connected parts of a mesh and their convex hulls. Tested by tests/cli/peers.sh. */
#ifndef ABD_PEERS_PART_H
#define ABD_PEERS_PART_H

#include "peer.h"

/* Fills mesh->part. A part is recognised by its vertices: a box or a ball of any size, a convex body, a tube whose
 * vertices are stored ring by ring (as in abd's tori), or else concave. */
void parts_find(PeerMesh *mesh);
void parts_free(PeerMesh *mesh);

#endif
