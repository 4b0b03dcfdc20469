/* How a matrix is factored: the order of its blocks, chosen by predicted cost, and the pattern that follows; wholly, or where
 * that would take more memory than allowed, incompletely, as a preconditioner.
 *
 * An order is a function of the pattern it is made for. Until block_plan_refresh it also serves other patterns of the same
 * blocks, as contacts come and go, while it predicts not much more work than it did at first. After that the next pattern
 * gets the order that it would get from a new plan: a solve depends on nothing that happened before the refresh.
 * Tested in tests/test_block_cholesky.c. */
#ifndef ABD_LINEAR_BLOCK_PLAN_H
#define ABD_LINEAR_BLOCK_PLAN_H

#include "linear/block_order.h"

typedef enum BlockMethod { BLOCK_AUTO = 0, BLOCK_DIRECT, BLOCK_ITERATIVE } BlockMethod;

typedef struct BlockPlan {
  BlockMethod wanted;
  double memory; /* [bytes] the most a factor may take by itself; 0: any */
  int threads;   /* that build a pattern; 0 is one */
  BlockOrder order;
  BlockPattern pattern;
  OrderMethod method;
  double flops; /* of a whole factor, as predicted for the pattern that the order was made for */
  double bytes; /* of its values */
  bool own;     /* the pattern is the one that the order was made for */
  bool refresh; /* the next pattern must have an order of its own */
} BlockPlan;

static inline bool block_plan_iterative(const BlockPlan *plan) { return plan->pattern.n > 0 && !plan->pattern.fill; }
/* Sets *changed when the pattern is another one now. False when memory is out: the plan is then empty. */
bool block_plan_update(BlockPlan *plan, const BlockShape *shape, bool *changed);
void block_plan_refresh(BlockPlan *plan);
void block_plan_free(BlockPlan *plan);

#endif
