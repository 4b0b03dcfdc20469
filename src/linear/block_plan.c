/* AMD first; METIS if a factorisation costs more than the search for a better order. */
#include "linear/block_plan.h"

#include <math.h>
#include <string.h>

/* [flops per block] METIS takes about 14 us per block; the kernels do 25 flops per ns. In each of a step's iterations
 * METIS saves a quarter of the work for meshes, nothing for nets of bodies and half for large piles. */
static const double worth_metis_meshes = 1.2e5, worth_metis_bodies = 1e6;
static const double outgrown = 1.5; /* times the flops of the order when it was made */
/* Last blocks are solved for so many times with each factor: iterations of conjugate gradients of a net or a pile on
 * many ranks. Each visits their columns and the ancestors of these. Such a column, each of its blocks, and a block in
 * the factorisation take as long as so many flops. */
static const double last_solves = 40, visit_column = 3000, visit_block = 2000, factor_block = 12000;

/* Keeps the settings. */
void block_plan_free(BlockPlan *plan) {
  block_order_free(&plan->order);
  block_pattern_free(&plan->pattern);
  mem_free(plan->guided);
  *plan = block_plan_empty(plan);
}

void block_plan_refresh(BlockPlan *plan) { plan->refresh = true, plan->place = LAST_JUDGED; }

static int count_last(const BlockShape *shape) {
  int count = 0;
  for (int i = 0; shape->last && i < shape->count; i++) count += shape->last[i];
  return count;
}

/* Makes an order and its complete pattern by one method. last: with the last blocks at its end. */
static bool make(BlockPlan *plan, const BlockShape *shape, OrderMethod method, bool last) {
  bool merge = block_order_mergeable(shape);
  BlockShape ordered = *shape;
  if (!last) ordered.last = NULL;
  plan->method = method;
  if (!block_order_find(&plan->order, &ordered, method) ||
      !block_pattern_build(&plan->pattern, shape, &plan->order, true, plan->threads))
    return false;
  bool again = merge;
  if (merge && !block_order_merge(&plan->order, &plan->pattern)) return false;
  if (!merge && !shape->last && !block_order_center(&plan->order, &plan->pattern, &again)) return false;
  if (again && !block_pattern_build(&plan->pattern, shape, &plan->order, true, plan->threads)) return false;
  plan->lasts = count_last(shape);
  plan->ends = !merge && plan->place != LAST_AMONG && (last || !plan->lasts);
  plan->at_end = last ? plan->lasts : 0;
  plan->placed = plan->place;
  plan->flops = plan->pattern.flops;
  plan->bytes = (double)plan->pattern.value_count * sizeof(double);
  plan->own = true;
  return true;
}

/* Replaces the plan by the other, which is for the same shape. */
static void take(BlockPlan *plan, BlockPlan *other) {
  BlockPlan worse = *plan;
  *plan = *other;
  *other = worse;
  other->guided = plan->guided;
  plan->guided = worse.guided;
}

/* Makes another plan and takes it if it is better. */
static void try_metis(BlockPlan *plan, const BlockShape *shape) {
  BlockPlan other = block_plan_empty(plan);
  if (make(&other, shape, ORDER_METIS, false) && other.flops < plan->flops) take(plan, &other);
  block_plan_free(&other);
}

/* The last blocks are dense in the end: their flops alone. */
static double dense_flops(const BlockShape *shape) {
  double unknowns = 0;
  for (int i = 0; i < shape->count; i++) unknowns += shape->last[i] ? shape->size[i] : 0;
  return unknowns * unknowns * unknowns / 3;
}

static double sum_of(BlockCost cost) { return cost.factor + cost.solves; }

/* Of the solves: infinite if memory is out. */
static BlockCost cost_of(const BlockPlan *plan, const BlockShape *shape) {
  const BlockPattern *p = &plan->pattern;
  BlockCost cost = {plan->flops + factor_block * p->block_count, 0};
  bool *seen = mem_zeroed((size_t)p->n, sizeof *seen);
  double solve = 0;
  for (int i = 0; seen && i < shape->count; i++)
    for (int c = shape->last[i] ? p->column_of[i] : -1; c >= 0 && !seen[c]; c = p->parent[c]) {
      seen[c] = true;
      solve += visit_column + visit_block * (p->column_at[c + 1] - p->column_at[c]);
    }
  cost.solves = seen ? last_solves * solve : INFINITY;
  mem_free(seen);
  return cost;
}

/* The same with the last blocks at the end, if they belong there, or if that makes their solves cheaper than it makes
 * the factor dearer. */
static void try_last(BlockPlan *plan, const BlockShape *shape) {
  BlockCost cost[2] = {cost_of(plan, shape), {INFINITY, INFINITY}};
  BlockPlan other = block_plan_empty(plan);
  if (dense_flops(shape) < sum_of(cost[0]) && make(&other, shape, plan->method, true)) {
    cost[1] = cost_of(&other, shape);
    if (plan->place == LAST_AT_END || sum_of(cost[1]) < sum_of(cost[0])) take(plan, &other);
  }
  block_plan_free(&other);
  memcpy(plan->cost, cost, sizeof cost);
}

/* ---- guides ---- */

/* The order of the guide's columns that the shape has, and their flops without other couplings. False if memory is
 * out. */
static bool order_by_guide(BlockOrder *order, const BlockShape *shape, double *flops) {
  const BlockGuide *guide = shape->guide;
  int *place = mem_zeroed((size_t)guide->column_count, sizeof(int)), columns = 0;
  int *column_of = mem_alloc((size_t)shape->count, sizeof(int));
  *flops = 0;
  if (!place || !column_of) {
    mem_free(place);
    mem_free(column_of);
    return false;
  }
  for (int i = 0; i < shape->count; i++) place[guide->column_of[shape->guided[i]]] = 1;
  for (int c = 0; c < guide->column_count; c++) {
    *flops += place[c] ? guide->work[c] : 0;
    columns += place[c];
    place[c] = columns - 1;
  }
  for (int i = 0; i < shape->count; i++) column_of[i] = place[guide->column_of[shape->guided[i]]];
  mem_free(place);
  block_order_free(order);
  *order = (BlockOrder){shape->count, columns, column_of};
  return true;
}

/* False if memory is out or the other couplings make the factor much dearer. */
static bool make_guided(BlockPlan *plan, const BlockShape *shape) {
  double flops;
  if (!shape->guide || shape->last || !order_by_guide(&plan->order, shape, &flops) ||
      !block_pattern_build(&plan->pattern, shape, &plan->order, true, plan->threads))
    return false;
  plan->flops = plan->pattern.flops;
  plan->bytes = (double)plan->pattern.value_count * sizeof(double);
  plan->own = true;
  plan->placed = plan->place;
  return plan->flops <= outgrown * flops;
}

static bool remember_names(BlockPlan *plan, const BlockShape *shape) {
  if (!shape->guide) return true;
  plan->guided = mem_alloc((size_t)shape->count, sizeof(int));
  if (plan->guided) memcpy(plan->guided, shape->guided, (size_t)shape->count * sizeof(int));
  return plan->guided != NULL;
}

bool block_plan_named_alike(const BlockPlan *plan, const BlockShape *shape) {
  if (!shape->guide || !plan->guided) return !shape->guide && !plan->guided;
  return memcmp(plan->guided, shape->guided, (size_t)shape->count * sizeof(int)) == 0;
}

static bool has_nodes(const BlockShape *shape) {
  int small = 0;
  for (int i = 0; i < shape->count && small < 2; i++) small += !block_is_wide(shape->size[i]);
  return small == 2;
}

static bool make_best(BlockPlan *plan, const BlockShape *shape) {
  block_plan_free(plan);
  if (!remember_names(plan, shape)) return false;
  if (make_guided(plan, shape)) return true;
  if (!make(plan, shape, ORDER_AMD, false)) return false;
  double worth = has_nodes(shape) ? worth_metis_meshes : worth_metis_bodies;
  if (block_order_has_metis() && plan->flops >= worth * shape->count) try_metis(plan, shape);
  plan->cost[0] = plan->cost[1] = (BlockCost){plan->flops + factor_block * plan->pattern.block_count, 0};
  if (plan->lasts && plan->place != LAST_AMONG) try_last(plan, shape);
  return true;
}

bool block_plan_place(BlockPlan *plan, LastPlace place) {
  bool at_end = place == LAST_AT_END;
  plan->place = place;
  if (plan->lasts && plan->ends != at_end) return false;
  if (!at_end) plan->ends = false;
  plan->placed = place;
  return true;
}

void block_guide_free(BlockGuide *guide) {
  mem_free(guide->column_of);
  mem_free(guide->work);
  *guide = (BlockGuide){0};
}

bool block_plan_guide(BlockGuide *guide, const BlockShape *shape, int threads) {
  BlockPlan plan = {.threads = threads};
  BlockShape alone = *shape;
  alone.guide = NULL;
  alone.last = NULL;
  block_guide_free(guide);
  bool made = make_best(&plan, &alone);
  if (made) {
    const BlockPattern *p = &plan.pattern;
    *guide = (BlockGuide){shape->count, p->n, mem_alloc((size_t)shape->count, sizeof(int)),
                          mem_alloc((size_t)p->n, sizeof(double))};
    made = guide->column_of && guide->work;
    if (made && p->n) {
      memcpy(guide->column_of, p->column_of, (size_t)shape->count * sizeof(int));
      memcpy(guide->work, p->work, (size_t)p->n * sizeof(double));
    }
  }
  block_plan_free(&plan);
  if (!made) block_guide_free(guide);
  return made;
}

static bool make_incomplete(BlockPlan *plan, const BlockShape *shape) {
  plan->method = ORDER_LEVELS;
  plan->ends = false;
  plan->placed = plan->place;
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
  return p->given_size && p->given_count == s->count && block_plan_named_alike(plan, s) &&
         memcmp(p->given_size, s->size, (size_t)s->count * sizeof(int)) == 0;
}

/* Whether a last block is not at the end of the order: bodies come into contact with those of other ranks. */
static bool moves_last(const BlockPlan *plan, const BlockShape *shape) {
  int end = shape->count - plan->at_end;
  bool found = false;
  for (int i = 0; plan->ends && shape->last && i < shape->count && !found; i++)
    found = shape->last[i] && plan->order.column_of[i] < end;
  return found;
}

BlockReuse block_plan_reuse(BlockPlan *plan, const BlockShape *shape) {
  bool anew = plan->refresh || plan->placed != plan->place, fill = !block_plan_iterative(plan);
  plan->refresh = false;
  if ((plan->own || !anew) && plan->placed == plan->place && block_pattern_matches(&plan->pattern, shape) &&
      block_plan_named_alike(plan, shape)) {
    plan->own = plan->own && block_pattern_ends_alike(&plan->pattern, shape);
    if (plan->own || (!anew && !moves_last(plan, shape))) return PLAN_SAME;
  }
  if (anew || !shape->count || !same_blocks(plan, shape)) return PLAN_OUTDATED;
  plan->own = false;
  if (moves_last(plan, shape)) plan->at_end = block_order_move_last(&plan->order, shape, plan->at_end);
  if (plan->at_end < 0) return PLAN_OUTDATED;
  bool built = block_pattern_build(&plan->pattern, shape, &plan->order, fill, plan->threads);
  return built && (!fill || plan->pattern.flops <= outgrown * plan->flops) ? PLAN_REBUILT : PLAN_OUTDATED;
}
