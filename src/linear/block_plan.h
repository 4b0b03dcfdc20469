/* Plan of a factorisation: the order of blocks, chosen by predicted cost, and its pattern. The factor is complete, or
 * an incomplete preconditioner if a complete one would take more memory than allowed.
 *
 * An order is a function of the pattern it was made for. Until block_plan_refresh it is reused for other patterns of
 * the same blocks, as contacts change, while its predicted work does not grow much. After a refresh the next pattern
 * gets the order that a new plan would give it, so a solve depends on nothing before the refresh.
 *
 * Of soft bodies most couplings never change. A guide has their order; a new plan takes the order of its blocks from
 * there, as long as the other couplings do not make the factor much dearer. Tested in tests/test_block_plan.c. */
#ifndef ABD_LINEAR_BLOCK_PLAN_H
#define ABD_LINEAR_BLOCK_PLAN_H

#include "linear/block_order.h"

typedef enum BlockMethod { BLOCK_AUTO = 0, BLOCK_DIRECT, BLOCK_ITERATIVE } BlockMethod;

/* Where the last blocks of a shape are put: where it costs less, at the end of the order, or among the others. */
typedef enum LastPlace { LAST_JUDGED = 0, LAST_AT_END, LAST_AMONG } LastPlace;
/* [flops, or what takes as long] of a factorisation; of the solves for the last blocks with it. */
typedef struct BlockCost {
  double factor, solves;
} BlockCost;

typedef struct BlockPlan {
  BlockMethod wanted;
  double memory;   /* [bytes] largest complete factor; 0 = no limit */
  int threads;     /* of building a pattern; 0 = 1 */
  LastPlace place; /* LAST_JUDGED after a refresh */
  BlockOrder order;
  BlockPattern pattern;
  OrderMethod method;
  double flops;      /* of a complete factor, predicted for the pattern that the order was made for */
  double bytes;      /* of its values */
  bool own;          /* the order was made for this pattern */
  bool ends;         /* last blocks are at the end of the order; false if that costs too much */
  int at_end;        /* so many blocks are */
  int lasts;         /* last blocks of the pattern that the order was made for */
  LastPlace placed;  /* the order was made for this choice */
  int *guided;       /* of the shape that the order was made for; NULL if it had no guide */
  BlockCost cost[2]; /* with last blocks among the others, at the end; if that was judged */
  bool refresh;      /* the next pattern must get its own order */
} BlockPlan;

static inline bool block_plan_iterative(const BlockPlan *plan) { return plan->pattern.n > 0 && !plan->pattern.fill; }
/* The settings of a plan, with nothing in it. */
static inline BlockPlan block_plan_empty(const BlockPlan *plan) {
  return (BlockPlan){.wanted = plan->wanted, .memory = plan->memory, .threads = plan->threads, .place = plan->place};
}

typedef enum BlockReuse { PLAN_SAME = 0, PLAN_REBUILT, PLAN_OUTDATED } BlockReuse;
/* Adapts the plan to a shape. PLAN_SAME: the pattern is unchanged. PLAN_REBUILT: the pattern was built anew in the old
 * order. PLAN_OUTDATED: the shape needs a new order, call block_plan_make. */
BlockReuse block_plan_reuse(BlockPlan *plan, const BlockShape *shape);
/* Makes a new order and its pattern. False if memory is out; the plan is then empty. */
bool block_plan_make(BlockPlan *plan, const BlockShape *shape);
/* Makes a guide for shapes whose blocks are among those of this one, with at least its couplings between them. False if
 * memory is out; the guide is then empty. */
bool block_plan_guide(BlockGuide *guide, const BlockShape *shape, int threads);
void block_guide_free(BlockGuide *guide);
/* Are the blocks of the shape, as the guide names them, those of the plan? */
bool block_plan_named_alike(const BlockPlan *plan, const BlockShape *shape);
void block_plan_refresh(BlockPlan *plan);
/* Chooses a place for last blocks up to the next refresh, after it was judged. False if the order was made for the
 * other place: the shape has to be planned again. */
bool block_plan_place(BlockPlan *plan, LastPlace place);
void block_plan_free(BlockPlan *plan);

#endif
