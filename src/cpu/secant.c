/* Newton's steps that shrink slowly, extrapolated by a secant (Anderson's acceleration with one difference).
 *
 * The matrix has no term for contacts that turn under load, so whole steps d may shrink by nearly the same
 * factor in each iteration. With the last one, d0 at x0, and the present one, d at x,
 *
 *     p = d - c (x - x0 + d - d0),     c = <d - d0, d> / <d - d0, d - d0>
 *
 * is the step to where the two predict the shortest Newton step, in the norm of the inertias. If they differ along one
 * direction alone, it ends at the solution. The residual is that of d. Tested in tests/test_secant.c. */
#include "cpu/cpu.h"

#include "kernel/constant.h"

static Island *island_at(const Cpu *cpu, int i) { return &cpu->islands->island[cpu->islands->of[i]]; }

static bool stores(const Island *g) { return g->selected && g->steady >= SECANT_AFTER - 1 && !g->shared; }

static bool extrapolates(const Cpu *cpu, int i) {
  const Island *g = island_at(cpu, i);
  return g->selected && g->extrapolates;
}

/* d - d0. */
static Affine change_of(const Cpu *cpu, int i) {
  const Model *m = cpu->model;
  return affine_sub(node_vector(m, cpu->work.newton, i), node_vector(m, cpu->newton_before, i));
}

/* What a block adds to both products of c. */
static void find_products(const Cpu *cpu, int i, double part[2]) {
  Affine change = change_of(cpu, i), newton = node_vector(cpu->model, cpu->work.newton, i);
  part[0] = body_product(&cpu->work, i, &change, &newton);
  part[1] = body_product(&cpu->work, i, &change, &change);
}

/* Puts p into the direction, which is not aimed yet; its slope. */
static void extrapolate(const Cpu *cpu, int i, double part[2]) {
  const Model *m = cpu->model;
  const Work *w = &cpu->work;
  Affine way = affine_sub(node_pose(m, w->q, i), node_pose(m, cpu->q_before, i));
  way = affine_add_scaled(way, 1, change_of(cpu, i));
  node_put(m, w->direction, i, affine_add_scaled(node_vector(m, w->newton, i), -island_at(cpu, i)->secant, way));
  part[0] = node_dot(m, w->gradient, w->direction, i);
  part[1] = 0;
}

/* Adds the parts of the blocks of a chunk, in order. */
static void add_parts(Cpu *cpu, int c, void (*find)(const Cpu *, int, double[2])) {
  Chunk chunk = cpu->islands->member.chunk[c];
  Partial *sum = &cpu->partial[c];
  *sum = (Partial){0};
  for (int e = chunk.first; e < chunk.end && extrapolates(cpu, cpu->islands->member.item[e]); e++) {
    double part[2];
    find(cpu, cpu->islands->member.item[e], part);
    for (int k = 0; k < 2; k++) sum->sum[k] += part[k];
  }
}

static void product_chunk(void *context, int c) { add_parts(context, c, find_products); }
static void slope_chunk(void *context, int c) { add_parts(context, c, extrapolate); }
static void no_item(void *context, int i) { (void)context, (void)i; }

/* The sums of each island, in the order of its chunks. */
static void add_chunks(Cpu *cpu, ParallelBody *chunk) {
  Islands *s = cpu->islands;
  segments_for(&s->member, cpu->threads, 64, no_item, chunk, cpu);
  for (int e = 0; e < s->listed_count; e++) island_listed(s, e)->products[0] = island_listed(s, e)->products[1] = 0;
  for (int e = 0; e < s->member.listed_count; e++) {
    int c = s->member.listed[e];
    for (int k = 0; k < 2; k++) s->island[s->member.chunk[c].segment].products[k] += cpu->partial[c].sum[k];
  }
}

/* Selects the islands whose loads are fixed and whose steps shrink, but have not reached the tolerance. *stored: some
 * store their steps. */
static bool choose(Cpu *cpu, bool *stored) {
  Islands *s = cpu->islands;
  bool found = *stored = false;
  for (int e = 0; e < s->listed_count; e++) {
    Island *g = island_listed(s, e);
    bool shrinks = g->residual < g->residual_before;
    bool last = g->residual < cpu->model->def.solver.tolerance; /* the line search accepts it unseen */
    g->extrapolates = stores(g) && g->steady >= SECANT_AFTER && shrinks && !last && !g->follows;
    *stored |= stores(g);
    found |= g->extrapolates;
  }
  return found;
}

/* A step that is not downhill stays Newton's. */
static void find_secants(Cpu *cpu) {
  Islands *s = cpu->islands;
  add_chunks(cpu, product_chunk);
  for (int e = 0; e < s->listed_count; e++) {
    Island *g = island_listed(s, e);
    g->secant = g->products[1] > 0 ? g->products[0] / g->products[1] : 0;
  }
  add_chunks(cpu, slope_chunk);
  for (int e = 0; e < s->listed_count; e++) {
    Island *g = island_listed(s, e);
    g->extrapolates = g->extrapolates && g->products[0] < 0;
  }
}

static void store_task(void *context, int i) {
  Cpu *cpu = context;
  const Model *m = cpu->model;
  const Work *w = &cpu->work;
  if (!stores(island_at(cpu, i))) return;
  node_put(m, cpu->q_before, i, node_pose(m, w->q, i));
  node_put(m, cpu->newton_before, i, node_vector(m, w->newton, i));
  if (extrapolates(cpu, i)) node_put(m, w->newton, i, node_vector(m, w->direction, i));
}

/* Memory for the first steps that are stored. */
static bool reserve(Cpu *cpu) {
  if (!reserve_partials(cpu, cpu->islands->member.chunk_count)) return false;
  if (cpu->secants) return true;
  cpu->secants = nodes_init(&cpu->q_before, cpu->model) && nodes_init(&cpu->newton_before, cpu->model);
  if (cpu->secants) return true;
  nodes_destroy(&cpu->q_before);
  nodes_destroy(&cpu->newton_before);
  return false;
}

Outcome secant_steps(Cpu *cpu) {
  bool stored, found = choose(cpu, &stored);
  if (!stored) return stage_done();
  if (!reserve(cpu)) return stage_from(false);
  if (found) find_secants(cpu);
  segments_for(&cpu->islands->member, cpu->threads, 256, store_task, NULL, cpu);
  return stage_done();
}
