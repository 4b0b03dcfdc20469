/* Linear joints by elimination: the poses of joined bodies as affine functions of fewer unknowns,
 *     q_b = offset_b + sum over its columns of g y_unknown,
 * so that whatever the unknowns are, every linear joint holds to rounding, and the system stays positive definite.
 *
 * A body's four nodes p, c1, c2, c3 are first replaced by four others: the points and directions its joints speak of (as far
 * as they are independent), which are what neighbours share. A ball joint then makes two nodes one, a hinge two pairs, and
 * the unknowns of a chain couple only to their neighbours. What cannot be shared so (a fifth anchor of a body, a point on a
 * line of the world) is eliminated by Gauss, pivots where the fewest equations meet. Tested in tests/test_linkage.c. */
#ifndef ABD_MODEL_LINKAGE_H
#define ABD_MODEL_LINKAGE_H

#include "math/vec.h"

struct Model;

typedef struct LinkColumn {
  int owner, index; /* unknown: index among those of linked body owner */
  double g[12];     /* what it adds to the pose */
} LinkColumn;

typedef struct LinkedBody {
  int body;
  int first, count;          /* its columns, sorted by owner and index */
  int size;                  /* how many unknowns are its own, 0 to 12 */
  double node[4][4];         /* own node i = sum of node[i][k] times node k of the pose */
  unsigned char unknown[12]; /* which of the own nodes' 12 numbers (3 node + axis) each is */
  Affine offset;
} LinkedBody;

typedef struct Linkage {
  LinkedBody *linked;
  int linked_count;
  int *of_body; /* index of a body among the linked ones, -1 */
  LinkColumn *column;
  int column_count, column_capacity;
  int rows, redundant;
  int *redundant_of; /* per joint: how many of its rows follow from those before */
} Linkage;

bool linkage_build(Linkage *linkage, const struct Model *model); /* false when memory is out */
void linkage_destroy(Linkage *linkage);

static inline const LinkedBody *linkage_of(const Linkage *l, int body) {
  int k = l->of_body ? l->of_body[body] : -1;
  return k < 0 ? 0 : &l->linked[k];
}
/* A body's own unknowns, read from its pose. */
void linkage_read(const LinkedBody *linked, const Affine *q, double y[12]);
/* The pose that all unknowns give; y has 12 places for each linked body. */
Affine linkage_pose(const Linkage *linkage, const LinkedBody *linked, const double *y);

#endif
