/* The Hessian of an element of up to four nodes whose energy no translation changes: blocks (i, j) of the nodes after
 * the first have all of it, since rows and columns sum to zero. Tested in tests/test_tet.c and tests/test_viscous.c. */
#ifndef ABD_KERNEL_NODE_BLOCKS_H
#define ABD_KERNEL_NODE_BLOCKS_H

#include "math/vec.h"

typedef struct NodeBlocks {
  Mat3 of[6]; /* (i, j), 1 <= i <= j, in the order of j: rows of node i, columns of node j */
} NodeBlocks;

KERNEL int node_block(int i, int j) { return j * (j - 1) / 2 + i - 1; }

/* All blocks (i, j), i <= j < count, in the order of j, nine numbers each by columns; factor: multiplies them. */
KERNEL void node_blocks_pack(const NodeBlocks *b, int count, double factor, double *out) {
  Mat3 corner = mat3_zero(); /* the sum of the blocks (0, j), j > 0 */
  for (int j = 1; j < count; j++) {
    Mat3 first = mat3_zero(); /* less block (0, j) */
    for (int i = 1; i < count; i++)
      first = mat3_add(first, i <= j ? b->of[node_block(i, j)] : mat3_transpose(b->of[node_block(j, i)]));
    corner = mat3_add(corner, first);
    double *to = out + 9 * (j * (j + 1) / 2);
    for (int c = 0; c < 3; c++) vec3_to(to + 3 * c, scale(-factor, first.c[c]));
    for (int i = 1; i <= j; i++)
      for (int c = 0; c < 3; c++) vec3_to(to + 9 * i + 3 * c, scale(factor, b->of[node_block(i, j)].c[c]));
  }
  for (int c = 0; c < 3; c++) vec3_to(out + 3 * c, scale(factor, corner.c[c]));
}

/* The column-major matrix of 3 count rows from its packed blocks. */
KERNEL void node_blocks_unpack(const double *packed, int count, double *h) {
  int rows = 3 * count;
  for (int j = 0; j < count; j++)
    for (int i = 0; i <= j; i++, packed += 9)
      for (int c = 0; c < 3; c++)
        for (int r = 0; r < 3; r++)
          h[rows * (3 * j + c) + 3 * i + r] = h[rows * (3 * i + r) + 3 * j + c] = packed[3 * c + r];
}

#endif
