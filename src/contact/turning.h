/* The part of a contact's Hessian that its Gauss-Newton term lacks: normals turn with the features of the surfaces and
 * closest points slide along them, so a force has a stiffness against turning. It may be negative. Tested in
 * tests/test_contact.c. */
#ifndef ABD_CONTACT_TURNING_H
#define ABD_CONTACT_TURNING_H

#include "contact/pair.h"

enum { TURNING_NODES = 8, TURNING_SIZE = 3 * TURNING_NODES };

/* Sum over k of slide_k turn_k^T + turn_k slide_k^T. Nodes 0 to 3 are those of a stiff body a, or the vertices of a
 * primitive of a soft one; 4 to 7 those of b. Of a node that is not used both vectors are zero. */
typedef struct Turning {
  int count; /* 0, 1 or 2 */
  Vec3 slide[2][TURNING_NODES], turn[2][TURNING_NODES];
} Turning;

/* Of a contact at the poses of the last pair_eval. */
Turning contact_turning(const Pair *pair, const ContactScene *scene, const Contact *contact, const Affine *qa,
                        const Affine *qb);
/* Adds its block of two nodes to a matrix of `rows` rows, by columns. */
void turning_add(const Turning *turning, int row_node, int column_node, double *out, int rows);

#endif
