/* How a matrix is factored: the order of its blocks, chosen by predicted cost, and the pattern that follows.
 *
 * An order is a function of the pattern it is made for. Until block_plan_refresh it also serves other patterns of the same
 * blocks, as contacts come and go, while it predicts not much more work than it did at first. After that the next pattern
 * gets the order that it would get from a new plan: a solve depends on nothing that happened before the refresh.
 * Tested in tests/test_block_cholesky.c. */
#ifndef ABD_LINEAR_BLOCK_PLAN_H
#define ABD_LINEAR_BLOCK_PLAN_H

#include "linear/block_order.h"

typedef struct BlockPlan {
  BlockOrder order;
  BlockPattern pattern;
  OrderMethod method;
  double flops;   /* that the order had for the pattern it was made for */
  bool own;       /* the pattern is the one that the order was made for */
  bool refresh;   /* the next pattern must have an order of its own */
} BlockPlan;

/* Sets *changed when the pattern is another one now. False when memory is out: the plan is then empty. */
bool block_plan_update(BlockPlan *plan, const BlockShape *shape, bool *changed);
void block_plan_refresh(BlockPlan *plan);
void block_plan_free(BlockPlan *plan);

#endif
