/* In which order blocks are eliminated, and which of them together: blocks that follow each other and have nearly the same
 * rows below them become one column of L of up to BLOCK_MAX unknowns, so that the kernels for bodies do the work of nodes too.
 *
 * A node of a soft body has three unknowns; four neighbours of one separator make a block of twelve. Columns of one chain of
 * the elimination tree are joined while few zeros come in, sorted inside the chain so that the rows a column of a subtree
 * has lie next to each other, and cut into pieces. Tested in tests/test_block_cholesky.c. */
#ifndef ABD_LINEAR_BLOCK_ORDER_H
#define ABD_LINEAR_BLOCK_ORDER_H

#include "linear/block_pattern.h"

/* By levels (Cuthill and McKee): for incomplete factors, which like neighbours to follow each other. */
typedef enum OrderMethod { ORDER_AMD = 0, ORDER_METIS, ORDER_LEVELS } OrderMethod;

bool block_order_has_metis(void);
/* Every block a column of its own; by levels, coupled blocks that follow each other are joined already. False when memory is out
 * or the method has failed. */
bool block_order_find(BlockOrder *order, const BlockShape *shape, OrderMethod method);
/* Is there anything to join in blocks of these sizes? */
bool block_order_mergeable(const BlockShape *shape);
/* From the pattern that the order in question gives: an order that joins blocks. False when memory is out. */
bool block_order_merge(BlockOrder *order, const BlockPattern *plain);
void block_order_free(BlockOrder *order);

#endif
