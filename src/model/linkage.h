/* Linear joints by elimination: the poses of joined bodies as affine functions of fewer unknowns,
 *     q_b = offset_b + sum over its columns of g y_unknown,
 * so that every linear joint holds to rounding for any unknowns, and the system stays positive definite.
 *
 * A body's four nodes p, c1, c2, c3 are first replaced by four others: the points and directions of its joints (as far
 * as they are independent), which neighbours share. A ball joint then merges two nodes, a hinge two pairs of nodes, and
 * the unknowns of a chain couple only to their neighbours. Other equations (a fifth anchor of a body, a point on a line
 * of the world) are removed by Gaussian elimination with pivots that are in the fewest equations. Tested in
 * tests/test_linkage.c. */
#ifndef ABD_MODEL_LINKAGE_H
#define ABD_MODEL_LINKAGE_H

#include "math/vec.h"

struct Model;

typedef struct LinkColumn {
  int owner, index; /* unknown `index` of linked body `owner` */
  double g[12];     /* derivative of the pose */
  int count;        /* entries of g that are not zero, and their indices */
  unsigned char at[12];
} LinkColumn;

typedef struct LinkedBody {
  int body;
  int first, count;          /* its columns, sorted by owner and index */
  int size;                  /* number of its own unknowns, 0 to 12 */
  double node[4][4];         /* own node i = sum of node[i][k] times node k of the pose */
  unsigned char unknown[12]; /* index of each among the own nodes' 12 numbers (3 node + axis) */
  Affine offset;
} LinkedBody;

typedef struct Linkage {
  LinkedBody *linked;
  int linked_count;
  int *of_body; /* index of a body among the linked ones; -1 = not linked */
  LinkColumn *column;
  int column_count, column_capacity;
  int rows, redundant;
  int *redundant_of; /* by joint: number of its redundant rows */
} Linkage;

bool linkage_build(Linkage *linkage, const struct Model *model); /* false if memory is out */
void linkage_destroy(Linkage *linkage);

static inline const LinkedBody *linkage_of(const Linkage *l, int body) {
  int k = l->of_body ? l->of_body[body] : -1;
  return k < 0 ? 0 : &l->linked[k];
}
/* Reads a body's own unknowns from its pose. */
void linkage_read(const LinkedBody *linked, const Affine *q, double y[12]);
/* The pose for given unknowns; y has 12 entries for each linked body. */
Affine linkage_pose(const Linkage *linkage, const LinkedBody *linked, const double *y);

#endif
