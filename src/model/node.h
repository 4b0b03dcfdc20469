/* Arrays over the nodes of a world: four nodes per body, one per soft vertex. A node is a point or vector of three
 * numbers.
 *
 * The solver's blocks are numbered: first the bodies that were added, then the vertices of all soft bodies. A block
 * below model->body_count is a body, the others are vertices. Tested in tests/test_node.c. */
#ifndef ABD_MODEL_NODE_H
#define ABD_MODEL_NODE_H

#include "math/vec.h"

struct Model;

typedef struct Nodes {
  Affine *body; /* per body: p, c1, c2, c3; of a soft body the identity, or zero */
  Vec3 *vertex; /* per soft vertex */
} Nodes;

bool nodes_init(Nodes *nodes, const struct Model *model); /* zero; false if memory is out */
void nodes_destroy(Nodes *nodes);                         /* takes a half-built one */

#endif
