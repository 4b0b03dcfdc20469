/* AMD first; METIS if a factorisation costs more than the search for a better order. */
#include "linear/block_plan.h"

#include <string.h>

/* [flops per block] METIS takes about 14 us per block; the kernels do 25 flops per ns. In each of a step's iterations
 * METIS saves a quarter of the work for meshes, nothing for nets of bodies and half for large piles. */
static const double worth_metis_meshes = 1.2e5, worth_metis_bodies = 1e6;
static const double outgrown = 1.5; /* times the flops of the order when it was made */
/* [flops of the usual order] Blocks are eliminated last for at most this. Thirty solves for a border of a net cost as
 * much as its factor, and few of them are left then. Many last blocks would make a dense factor. */
static const double worth_last = 2;

/* Keeps the settings. */
void block_plan_free(BlockPlan *plan) {
  block_order_free(&plan->order);
  block_pattern_free(&plan->pattern);
  *plan = (BlockPlan){.wanted = plan->wanted, .memory = plan->memory, .threads = plan->threads};
}

void block_plan_refresh(BlockPlan *plan) { plan->refresh = true; }

/* Makes an order and its complete pattern by one method. last: with the last blocks at its end. */
static bool make(BlockPlan *plan, const BlockShape *shape, OrderMethod method, bool last) {
  bool merge = block_order_mergeable(shape);
  BlockShape ordered = *shape;
  if (!last) ordered.last = NULL;
  plan->method = method;
  if (!block_order_find(&plan->order, &ordered, method) ||
      !block_pattern_build(&plan->pattern, shape, &plan->order, true, plan->threads))
    return false;
  if (merge && !(block_order_merge(&plan->order, &plan->pattern) &&
                 block_pattern_build(&plan->pattern, shape, &plan->order, true, plan->threads)))
    return false;
  plan->flops = plan->pattern.flops;
  plan->bytes = (double)plan->pattern.value_count * sizeof(double);
  plan->own = true;
  return true;
}

/* Replaces the plan by the other if that costs less than this many times as much. */
static void take_better(BlockPlan *plan, BlockPlan *other, double times) {
  if (other->flops < times * plan->flops) {
    BlockPlan worse = *plan;
    *plan = *other;
    *other = worse;
  }
  block_plan_free(other);
}

/* Makes another plan and takes it if it is better. */
static void try_other(BlockPlan *plan, const BlockShape *shape, OrderMethod method, bool last, double times) {
  BlockPlan other = {.wanted = plan->wanted, .memory = plan->memory, .threads = plan->threads};
  if (make(&other, shape, method, last)) take_better(plan, &other, times);
  else block_plan_free(&other);
}

/* The last blocks are dense in the end: their flops alone. */
static double dense_flops(const BlockShape *shape) {
  double unknowns = 0;
  for (int i = 0; i < shape->count; i++) unknowns += shape->last[i] ? shape->size[i] : 0;
  return unknowns * unknowns * unknowns / 3;
}

static bool make_best(BlockPlan *plan, const BlockShape *shape) {
  block_plan_free(plan);
  if (!make(plan, shape, ORDER_AMD, false)) return false;
  double worth = block_order_mergeable(shape) ? worth_metis_meshes : worth_metis_bodies;
  if (block_order_has_metis() && plan->flops >= worth * shape->count) try_other(plan, shape, ORDER_METIS, false, 1);
  if (shape->last && dense_flops(shape) < worth_last * plan->flops)
    try_other(plan, shape, plan->method, true, worth_last);
  return true;
}

static bool make_incomplete(BlockPlan *plan, const BlockShape *shape) {
  plan->method = ORDER_LEVELS;
  plan->own = true;
  return block_order_find(&plan->order, shape, ORDER_LEVELS) &&
         block_pattern_build(&plan->pattern, shape, &plan->order, false, plan->threads);
}

/* Chooses a complete factor if it is required or fits in memory. One that is too large to index does not fit either. */
bool block_plan_make(BlockPlan *plan, const BlockShape *shape) {
  bool made = make_best(plan, shape), fits = made && (plan->memory == 0 || plan->bytes <= plan->memory);
  if (fits && plan->wanted != BLOCK_ITERATIVE) return true;
  bool done = plan->wanted == BLOCK_DIRECT ? made : make_incomplete(plan, shape);
  if (!done) block_plan_free(plan);
  return done;
}

static bool same_blocks(const BlockPlan *plan, const BlockShape *s) {
  const BlockPattern *p = &plan->pattern;
  return p->given_size && p->given_count == s->count &&
         memcmp(p->given_size, s->size, (size_t)s->count * sizeof(int)) == 0;
}

BlockReuse block_plan_reuse(BlockPlan *plan, const BlockShape *shape) {
  bool anew = plan->refresh, fill = !block_plan_iterative(plan);
  plan->refresh = false;
  if ((plan->own || !anew) && block_pattern_matches(&plan->pattern, shape)) {
    plan->own = plan->own && block_pattern_ends_alike(&plan->pattern, shape);
    if (plan->own || !anew) return PLAN_SAME;
  }
  if (anew || !shape->count || !same_blocks(plan, shape)) return PLAN_OUTDATED;
  plan->own = false;
  bool built = block_pattern_build(&plan->pattern, shape, &plan->order, fill, plan->threads);
  return built && (!fill || plan->pattern.flops <= outgrown * plan->flops) ? PLAN_REBUILT : PLAN_OUTDATED;
}
