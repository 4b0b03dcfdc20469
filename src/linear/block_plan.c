/* AMD first; METIS where a factorisation costs more than looking for a better order. */
#include "linear/block_plan.h"

#include <string.h>

/* METIS takes about 14 us for a block, the kernels do 25 flops in a ns, and a quarter less work in some six iterations of a step. */
static const double worth_metis = 2.5e5; /* [flops a block] */
static const double outgrown = 1.5;    /* times the flops that an order had at first */

void block_plan_free(BlockPlan *plan) {
  block_order_free(&plan->order);
  block_pattern_free(&plan->pattern);
  memset(plan, 0, sizeof *plan);
}

void block_plan_refresh(BlockPlan *plan) { plan->refresh = true; }

/* Order and pattern by one method. */
static bool make(BlockPlan *plan, const BlockShape *shape, OrderMethod method) {
  bool merge = block_order_mergeable(shape);
  plan->method = method;
  if (!block_order_find(&plan->order, shape, method) || !block_pattern_build(&plan->pattern, shape, &plan->order)) return false;
  if (merge && !(block_order_merge(&plan->order, &plan->pattern) && block_pattern_build(&plan->pattern, shape, &plan->order))) return false;
  plan->flops = plan->pattern.flops;
  plan->own = true;
  return true;
}

/* Takes the other plan if it costs less. */
static void take_better(BlockPlan *plan, BlockPlan *other) {
  if (other->flops < plan->flops) {
    BlockPlan worse = *plan;
    *plan = *other;
    *other = worse;
  }
  block_plan_free(other);
}

static bool make_best(BlockPlan *plan, const BlockShape *shape) {
  BlockPlan other = {0};
  block_plan_free(plan);
  if (!make(plan, shape, ORDER_AMD)) {
    block_plan_free(plan);
    return false;
  }
  if (!block_order_has_metis() || plan->flops < worth_metis * shape->count) return true;
  if (make(&other, shape, ORDER_METIS)) take_better(plan, &other);
  else block_plan_free(&other);
  return true;
}

static bool same_blocks(const BlockPlan *plan, const BlockShape *s) {
  const BlockPattern *p = &plan->pattern;
  return p->given_size && p->given_count == s->count && memcmp(p->given_size, s->size, (size_t)s->count * sizeof(int)) == 0;
}

bool block_plan_update(BlockPlan *plan, const BlockShape *shape, bool *changed) {
  bool anew = plan->refresh;
  plan->refresh = false;
  *changed = false;
  if ((plan->own || !anew) && block_pattern_matches(&plan->pattern, shape)) return true;
  *changed = true;
  if (anew || !shape->count || !same_blocks(plan, shape)) return make_best(plan, shape);
  plan->own = false;
  if (block_pattern_build(&plan->pattern, shape, &plan->order) && plan->pattern.flops <= outgrown * plan->flops) return true;
  return make_best(plan, shape);
}
