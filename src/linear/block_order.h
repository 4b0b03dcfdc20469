/* The elimination order of blocks, and the joining of blocks to columns: consecutive blocks with nearly the same rows
 * below them become one column of L of up to BLOCK_MAX unknowns, so that soft nodes use the kernels for bodies too.
 *
 * A node of a soft body has three unknowns; four neighbours of one separator form a block of twelve. Columns of one
 * chain of the elimination tree are joined while few zeros are added. They are sorted inside the chain so that the rows
 * of a column of a subtree are neighbours, and cut into pieces. Tested in tests/test_block_plan.c. */
#ifndef ABD_LINEAR_BLOCK_ORDER_H
#define ABD_LINEAR_BLOCK_ORDER_H

#include "linear/block_pattern.h"

/* ORDER_LEVELS: Cuthill-McKee for incomplete factors, which are better if neighbours are consecutive. */
typedef enum OrderMethod { ORDER_AMD = 0, ORDER_METIS, ORDER_LEVELS } OrderMethod;

bool block_order_has_metis(void);
/* Finds an order with one column per block; ORDER_LEVELS joins consecutive coupled blocks. False if memory is out or
 * the method fails. */
bool block_order_find(BlockOrder *order, const BlockShape *shape, OrderMethod method);
/* Moves the last blocks of a shape to the end of an order with one column per block, whose last `at_end` blocks stay
 * behind the others. How many are at the end now; -1 if memory is out. */
int block_order_move_last(BlockOrder *order, const BlockShape *shape, int at_end);
/* Do these sizes allow any blocks to be joined? */
bool block_order_mergeable(const BlockShape *shape);
/* Computes an order that joins blocks from the pattern of the plain order. False if memory is out. */
bool block_order_merge(BlockOrder *order, const BlockPattern *plain);
/* If the longest path of the plain order's elimination tree limits threads, computes an order without further fill
 * whose root is in the middle of that path. *moved: it did. False if memory is out. */
bool block_order_center(BlockOrder *order, const BlockPattern *plain, bool *moved);
void block_order_free(BlockOrder *order);

#endif
