/* From abd's world to a PeerScene. Tested by tests/cli/peers.sh. */
#ifndef ABD_PEERS_PEER_SCENE_H
#define ABD_PEERS_PEER_SCENE_H

#include "peer.h"
#include "scene/scene.h"

/* Copies poses and velocities of a started world. False and a sentence if the scene has more than contact between rigid
 * bodies: joints, soft or kinematic bodies, forces, held coordinates, excluded pairs. */
bool peer_scene_read(AbdWorld *world, const Scene *scene, PeerScene *out, char error[PEER_ERROR_SIZE]);
void peer_scene_free(PeerScene *scene);
/* The first mesh without hulls, which an engine without meshes cannot use; NULL if all have hulls. */
const PeerMesh *peer_scene_concave(const PeerScene *scene);

#endif
