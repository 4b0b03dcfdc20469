/* Newton's step of islands that several ranks share: conjugate gradients, preconditioned by the Cholesky factor of each
 * rank's own unknowns.
 *
 * The matrix is A = M + C. M has the blocks inside each rank, C those between ranks, which couple bodies at the borders
 * alone. The first guess M^-1 b leaves the residual -C M^-1 b, which is zero away from the borders. With z = M^-1 r,
 * A z = r + C z is zero there too, and needs z at the borders alone. So all vectors have the unknowns of the borders,
 * and a solve visits the columns of the factor between them and the roots. The solution is M^-1 (b + g), with the sum g
 * of the steps in terms of residuals. Iterations are pipelined (Ghysels and Vanroose): M^-1 r and A M^-1 r are updated
 * like the residual r, so the products of an iteration need nothing of other ranks. One exchange has both these sums
 * and the vector for the neighbours. An iteration is one solve, one exchange and one product with C.
 *
 * Islands of one rank alone need no iteration: the factor solves them. Each other island has its own step lengths and
 * its own end, because islands near their minima have small steps beside those of others; only the exchanges are
 * common. Sums run in the order of the ranks. Tested by tests/cli/ranks.sh. */
#include <stdlib.h>
#include <string.h>

#include "cpu/assembly.h"
#include "kernel/constant.h"
#include "mpi/part.h"
#include "mpi/petsc.h"

enum { ITERATIONS = 1000, VECTORS = 10, SUMS = 3 };

void gradients_destroy(Gradients *g) {
  mem_free(g->coupling), mem_free(g->border), mem_free(g->place), mem_free(g->vector);
  mem_free(g->sent), mem_free(g->index), mem_free(g->byte_out), mem_free(g->byte_in);
  mem_free(g->part), mem_free(g->part_of), mem_free(g->sum), mem_free(g->energy);
  block_subset_free(&g->subset);
  memset(g, 0, sizeof *g);
}

/* ---- blocks between ranks ---- */

static void turn(double block[144]) {
  for (int j = 0; j < 12; j++)
    for (int i = 0; i < j; i++) {
      double t = block[12 * j + i];
      block[12 * j + i] = block[12 * i + j];
      block[12 * i + j] = t;
    }
}

/* The coupling's border is a column first. */
static bool add_coupling(Part *s, int k) {
  const Cpu *cpu = s->cpu;
  Gradients *g = &s->gradients;
  const int *body = cpu->pairs.body[k];
  bool turned = !s->own[body[0]], shared;
  int near = body[turned], far = body[!turned];
  if (!contact_adds_block(cpu, k, &shared)) return true;
  if (!mem_reserve((void **)&g->coupling, &g->coupling_capacity, g->coupling_count + 1, sizeof *g->coupling))
    return false;
  Coupling *c = &g->coupling[g->coupling_count++];
  c->border = cpu->system.column[near];
  c->halo = s->place[far];
  contact_block(cpu, pairs_at(&cpu->pairs, k), c->block);
  if (turned) turn(c->block);
  return true;
}

static bool list_border(Gradients *g, int columns) {
  if (!mem_reserve((void **)&g->place, &g->place_capacity, columns, sizeof(int)) ||
      !mem_reserve((void **)&g->border, &g->border_capacity, columns, sizeof(int)))
    return false;
  for (int c = 0; c < columns; c++) g->place[c] = -1;
  for (int k = 0; k < g->coupling_count; k++) g->place[g->coupling[k].border] = 0;
  g->border_count = 0;
  for (int c = 0; c < columns; c++)
    if (g->place[c] == 0) g->place[c] = g->border_count, g->border[g->border_count++] = c;
  for (int k = 0; k < g->coupling_count; k++) g->coupling[k].border = g->place[g->coupling[k].border];
  return true;
}

/* ---- what is exchanged ---- */

static bool reserve_exchange(const Part *s, Gradients *g) {
  size_t ranks = (size_t)s->count + 1;
  if (!g->byte_out) g->byte_out = mem_zeroed(ranks, sizeof(size_t));
  if (!g->byte_in) g->byte_in = mem_zeroed(ranks, sizeof(size_t));
  int most_bodies = s->sent_count > s->halo_count ? s->sent_count : s->halo_count;
  return g->byte_out && g->byte_in && mem_reserve((void **)&g->sent, &g->sent_capacity, s->sent_count, sizeof(int)) &&
         mem_reserve((void **)&g->index, &g->index_capacity, most_bodies, sizeof(int));
}

/* Where Part.sent has the body for the rank. */
static int find_sent(const Part *s, int rank, int body) {
  size_t low = s->sent_first[rank], high = s->sent_first[rank + 1];
  while (low + 1 < high) {
    size_t middle = (low + high) / 2;
    if (s->sent[middle] <= body) low = middle;
    else high = middle;
  }
  return (int)low;
}

/* Numbers the entries that are not -1, rank after rank; the number of bytes before each rank. */
static int number_entries(const Part *s, int *index, const size_t *first, size_t *byte) {
  int count = 0;
  for (int r = 0; r < s->count; r++) {
    byte[r] = sizeof(Affine) * (size_t)count;
    for (size_t k = first[r]; k < first[r + 1]; k++)
      if (index[k] >= 0) index[k] = count++;
  }
  byte[s->count] = sizeof(Affine) * (size_t)count;
  return count;
}

static void clear_index(int *index, int count) {
  for (int k = 0; k < count; k++) index[k] = -1;
}

/* Both ranks of a coupling have it. So the one sends what the other expects, in the order of the bodies. */
static void list_exchange(const Part *s, Gradients *g) {
  const System *system = &s->cpu->system;
  clear_index(g->index, s->halo_count);
  for (int k = 0; k < g->coupling_count; k++) g->index[g->coupling[k].halo] = 0;
  number_entries(s, g->index, s->halo_first, g->byte_in);
  for (int k = 0; k < g->coupling_count; k++) g->coupling[k].from = g->index[g->coupling[k].halo];
  clear_index(g->index, s->sent_count);
  for (int k = 0; k < g->coupling_count; k++) {
    const Coupling *c = &g->coupling[k];
    int rank = s->owner[s->halo_by_rank[c->halo]], body = system->body[g->border[c->border]];
    g->index[find_sent(s, rank, body)] = 0;
  }
  g->sent_count = number_entries(s, g->index, s->sent_first, g->byte_out);
  for (int k = 0; k < s->sent_count; k++)
    if (g->index[k] >= 0) g->sent[g->index[k]] = g->place[system->column[s->sent[k]]];
}

static bool prepare(Part *s) {
  Gradients *g = &s->gradients;
  const System *system = &s->cpu->system;
  g->coupling_count = 0;
  for (int k = 0; k < s->border_count; k++)
    if (!add_coupling(s, s->border_pair[k])) return false;
  if (!list_border(g, system->column_count) || !reserve_exchange(s, g)) return false;
  list_exchange(s, g);
  return block_cholesky_select(system->solver, &g->subset, g->border, g->border_count) &&
         mem_reserve((void **)&g->energy, &g->energy_capacity, system->column_count, sizeof(double)) &&
         mem_reserve((void **)&g->vector, &g->vector_capacity, VECTORS * 12 * g->border_count + system->unknown_count,
                     sizeof(double)) &&
         part_reserve_swap(s, sizeof(Affine));
}

/* ---- islands ---- */

static int root_of(const Part *s, int column) {
  const Islands *islands = s->cpu->islands;
  return islands->island[islands->of[s->cpu->system.body[column]]].root;
}

/* Those of own bodies with couplings. */
static bool put_roots(Part *s) {
  const Gradients *g = &s->gradients;
  if (!part_open(s)) return false;
  for (int k = 0; k < g->border_count; k++) {
    int root = root_of(s, g->border[k]);
    if (k && root == root_of(s, g->border[k - 1])) continue;
    if (!part_put(s, &root, sizeof root)) return false;
  }
  return true;
}

static int compare_parts(const void *x, const void *y) {
  const GradientPart *a = x, *b = y;
  return a->root - b->root;
}

/* The islands that ranks couple, of all ranks; each one once. */
static bool list_parts(Part *s) {
  Gradients *g = &s->gradients;
  int count = 0;
  if (!mem_reserve((void **)&g->part, &g->part_capacity, (int)(s->first[s->count] / sizeof(int)), sizeof *g->part))
    return false;
  for (PartReader in = {.rank = -1}; part_next(s, &in);) {
    g->part[count] = (GradientPart){0};
    part_take(&in, &g->part[count++].root, sizeof(int));
  }
  if (count > 1) qsort(g->part, (size_t)count, sizeof *g->part, compare_parts);
  g->part_count = 0;
  for (int k = 0; k < count; k++)
    if (!k || g->part[k].root != g->part[k - 1].root) g->part[g->part_count++] = g->part[k];
  return mem_reserve((void **)&g->sum, &g->sum_capacity, 2 * SUMS * g->part_count, sizeof(double));
}

static int find_part(const Gradients *g, int root) {
  const GradientPart *p =
      g->part_count ? bsearch(&(GradientPart){.root = root}, g->part, (size_t)g->part_count, sizeof *p, compare_parts)
                    : NULL;
  return p ? (int)(p - g->part) : -1;
}

static bool set_parts(Part *s) {
  Gradients *g = &s->gradients;
  const Cpu *cpu = s->cpu;
  int columns = cpu->system.column_count;
  if (!list_parts(s) || !mem_reserve((void **)&g->part_of, &g->part_of_capacity, columns, sizeof(int))) return false;
  for (int c = 0; c < columns; c++) {
    bool shared = cpu->islands->island[cpu->islands->of[cpu->system.body[c]]].shared;
    g->part_of[c] = shared ? find_part(g, root_of(s, c)) : -1;
  }
  return true;
}

/* ---- vectors ---- */

static double dot_own(const double *a, const double *b, int n) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

/* Sends a vector of the border to the neighbours, and adds values over all ranks. */
static void send_vector(Part *s, const double *v, double *value, int count) {
  const Gradients *g = &s->gradients;
  for (int k = 0; k < g->sent_count; k++)
    memcpy(s->out_bytes + sizeof(Affine) * (size_t)k, v + 12 * (size_t)g->sent[k], sizeof(Affine));
  if (count) ranks_swap_and_sum(s->out_bytes, g->byte_out, s->in_bytes, g->byte_in, value, count, g->joined);
  else ranks_swap(s->out_bytes, g->byte_out, s->in_bytes, g->byte_in);
}

/* y += factor C v of the halo's v. */
static void add_couplings(const Part *s, double factor, double *y) {
  const Gradients *g = &s->gradients;
  for (int k = 0; k < g->coupling_count; k++) {
    const Coupling *c = &g->coupling[k];
    const double *v = (const double *)(s->in_bytes + sizeof(Affine) * (size_t)c->from);
    double *to = y + 12 * (size_t)c->border;
    for (int j = 0; j < 12; j++)
      for (int i = 0; i < 12; i++) to[i] += c->block[12 * j + i] * (factor * v[j]);
  }
}

/* ---- iterations ---- */

typedef struct Iteration {
  Part *part;
  int n;                        /* unknowns of the border */
  double *r, *u, *w, *m, *am;   /* residual, u = M^-1 r, w = A u, m = M^-1 w, A m */
  double *ap, *q, *aq, *gp, *g; /* A p, q = M^-1 A p, A q; p = M^-1 gp; the solution is M^-1 (b + g) */
} Iteration;

/* What is summed for each part: r . u, u . w, b . M^-1 b. */
enum { SUM_RU, SUM_UW, SUM_ENERGY };

/* Adds b . M^-1 b of this rank. */
static void add_energies(const Part *s, double *sum) {
  const Gradients *g = &s->gradients;
  for (int c = 0; c < s->cpu->system.column_count; c++)
    if (g->part_of[c] >= 0) sum[SUMS * g->part_of[c] + SUM_ENERGY] += g->energy[c];
}

/* Sums of parts that go on, from their places to consecutive ones or back; after the first time without the energy. How
 * many they are. */
static int move_sums(const Gradients *g, bool first, double *packed, bool back) {
  int sums = first ? SUMS : SUM_ENERGY, count = 0;
  for (int p = 0; p < g->part_count; p++)
    for (int k = 0; k < sums && (first || g->part[p].goes_on); k++, count++) {
      if (back) g->sum[SUMS * p + k] = packed[count];
      else packed[count] = g->sum[SUMS * p + k];
    }
  return count;
}

/* y = v + C x of the x that the halo has sent. */
static void add_halo(const Iteration *it, const double *v, double *y) {
  if (it->n) memcpy(y, v, (size_t)it->n * sizeof(double));
  add_couplings(it->part, 1, y);
}

/* Products by part over all ranks; m and A m. */
static void precondition(Iteration *it, bool first) {
  Part *s = it->part;
  const Gradients *g = &s->gradients;
  double *packed = g->sum + SUMS * g->part_count;
  memset(g->sum, 0, (size_t)(SUMS * g->part_count) * sizeof(double));
  for (int k = 0; k < g->border_count; k++) {
    double *sum = g->sum + SUMS * g->part_of[g->border[k]];
    sum[SUM_RU] += dot_own(it->r + 12 * k, it->u + 12 * k, 12);
    sum[SUM_UW] += dot_own(it->u + 12 * k, it->w + 12 * k, 12);
  }
  if (first) add_energies(s, g->sum);
  block_cholesky_solve_subset(s->cpu->system.solver, &g->subset, it->w, it->m);
  send_vector(s, it->m, packed, move_sums(g, first, packed, false));
  move_sums(g, first, packed, true);
  add_halo(it, it->w, it->am);
}

/* The length of a step of one part. False if A is not positive along p. */
static bool choose_length(GradientPart *p, const double *sum) {
  double ru = sum[SUM_RU], uw = sum[SUM_UW];
  p->beta = p->alpha > 0 ? ru / p->rho : 0;
  double curvature = p->alpha > 0 ? uw - p->beta * ru / p->alpha : uw;
  if (!(curvature > 0)) return false;
  p->rho = ru;
  p->alpha = ru / curvature;
  return true;
}

/* The solution of a part is M^-1 b. */
static void drop_part(Iteration *it, int part) {
  const Gradients *g = &it->part->gradients;
  for (int k = 0; k < g->border_count; k++)
    if (g->part_of[g->border[k]] == part) memset(it->g + 12 * k, 0, 12 * sizeof(double));
}

/* Chooses the lengths of the parts that go on. False if one of them is not positive definite. */
static bool choose_lengths(Iteration *it) {
  Gradients *g = &it->part->gradients;
  bool good = true;
  for (int p = 0; p < g->part_count; p++) {
    if (!g->part[p].goes_on || choose_length(&g->part[p], g->sum + SUMS * p)) continue;
    good = g->part[p].goes_on = false;
    drop_part(it, p);
  }
  return good;
}

/* One step along p of the parts that go on. */
static void advance(Iteration *it) {
  const Gradients *g = &it->part->gradients;
  for (int i = 0; i < it->n; i++) {
    const GradientPart *p = &g->part[g->part_of[g->border[i / 12]]];
    if (!p->goes_on) continue;
    it->gp[i] = it->r[i] + p->beta * it->gp[i];
    it->ap[i] = it->w[i] + p->beta * it->ap[i];
    it->q[i] = it->m[i] + p->beta * it->q[i];
    it->aq[i] = it->am[i] + p->beta * it->aq[i];
    it->g[i] += p->alpha * it->gp[i];
    it->r[i] -= p->alpha * it->ap[i];
    it->u[i] -= p->alpha * it->q[i];
    it->w[i] -= p->alpha * it->aq[i];
  }
}

/* The residual is -C M^-1 b. */
static Iteration first_guess(Part *s, const double *right) {
  const Gradients *g = &s->gradients;
  Iteration it = {.part = s, .n = 12 * g->border_count};
  double **vector[VECTORS] = {&it.r, &it.u, &it.w, &it.m, &it.am, &it.ap, &it.q, &it.aq, &it.gp, &it.g};
  for (int k = 0; k < VECTORS; k++) *vector[k] = g->vector + k * it.n;
  if (it.n) memset(g->vector, 0, (size_t)it.n * VECTORS * sizeof(double));
  block_cholesky_solve_first(s->cpu->system.solver, &g->subset, right, it.u, g->energy);
  send_vector(s, it.u, NULL, 0);
  add_couplings(s, -1, it.r);
  block_cholesky_solve_subset(s->cpu->system.solver, &g->subset, it.r, it.u);
  send_vector(s, it.u, NULL, 0);
  add_halo(&it, it.r, it.w);
  return it;
}

/* A correction of Newton's step needs no smaller error than the step has. */
static void begin_parts(const Part *s) {
  const Gradients *g = &s->gradients;
  for (int p = 0; p < g->part_count; p++) {
    double energy = g->sum[SUMS * p + SUM_ENERGY], before = s->cpu->corrects ? g->part[p].energy : 0;
    g->part[p] = (GradientPart){.root = g->part[p].root, .goes_on = true, .energy = most(before, energy)};
  }
}

/* Whether any part goes on. */
static bool judge_parts(const Gradients *g) {
  bool any = false;
  for (int p = 0; p < g->part_count; p++) {
    double end = g->part[p].energy * RANKS_TOLERANCE * RANKS_TOLERANCE;
    any |= g->part[p].goes_on &= g->sum[SUMS * p + SUM_RU] > end;
  }
  return any;
}

/* right: b, then the solution. False if A is not positive definite in an island: it is M^-1 b there, a descent
 * direction. */
static bool iterate(Part *s, double *right, int *iterations) {
  const Gradients *g = &s->gradients;
  bool good = true;
  *iterations = 0;
  if (!g->part_count) return block_cholesky_finish(s->cpu->system.solver, right, right);
  Iteration it = first_guess(s, right);
  precondition(&it, true);
  begin_parts(s);
  for (; *iterations < ITERATIONS && judge_parts(g); ++*iterations) {
    good &= choose_lengths(&it);
    advance(&it);
    precondition(&it, false);
  }
  block_cholesky_solve_last(s->cpu->system.solver, &g->subset, right, it.g, right);
  return good;
}

/* Exchanges the unknowns of a column of a shared island between two vectors. */
static void swap_shared(const Part *s, int column, double *a, double *b) {
  const Cpu *cpu = s->cpu;
  double kept[12];
  int at = cpu->system.column_at[column];
  if (!cpu->islands->island[cpu->islands->of[cpu->system.body[column]]].shared) return;
  memcpy(kept, a + at, sizeof kept);
  memcpy(a + at, b + at, sizeof kept);
  memcpy(b + at, kept, sizeof kept);
}

/* The same by PETSc; the factor solves the islands of one rank. */
static bool iterate_by_petsc(Part *s, double *right, int *iterations) {
  double *b = s->gradients.vector + VECTORS * 12 * s->gradients.border_count;
  int all = s->cpu->system.unknown_count;
  if (all) memcpy(b, right, (size_t)all * sizeof(double));
  block_cholesky_solve(s->cpu->system.solver, right, right);
  for (int c = 0; c < s->cpu->system.column_count; c++) swap_shared(s, c, b, right);
  if (petsc_solve(s, right, iterations)) return true;
  for (int c = 0; c < s->cpu->system.column_count; c++) swap_shared(s, c, b, right);
  return false;
}

/* Whether one exchange has room for a vector and the sums of all parts, on each rank. */
static Outcome agree_on_parts(Part *s) {
  Gradients *g = &s->gradients;
  Outcome own = stage_from(set_parts(s));
  g->joined = ranks_join(g->byte_out[s->count], SUMS * g->part_count);
  return ranks_meet_all(MEET_SOLVE, own, &g->joined);
}

/* ---- orders ---- */

static double sum_of(BlockCost cost) { return cost.factor + cost.solves; }

static const double flop_time = 3e-5; /* [us], see block_plan.c */

/* All ranks eliminate bodies at their borders last, or none does: factors take as long as on the slowest rank, and so
 * do solves for the borders. If each chose for itself, some would be slow in the one and others in the other. Once a
 * step, by its first systems. */
Outcome part_order(void *self, Cpu *cpu) {
  Part *s = self;
  BlockCost cost[2], slowest[2] = {{0, 0}, {0, 0}};
  double mean_factor[2] = {0, 0};
  if (s->ordered) return stage_done();
  block_cholesky_costs(cpu->system.solver, cost);
  Outcome outcome = part_share(s, MEET_ORDER, stage_from(part_open(s) && part_put(s, cost, sizeof cost)));
  if (stage_failed(outcome)) return outcome;
  for (PartReader in = {.rank = -1}; part_next(s, &in);) {
    part_take(&in, cost, sizeof cost);
    for (int k = 0; k < 2; k++) {
      slowest[k].factor = most(slowest[k].factor, cost[k].factor);
      slowest[k].solves = most(slowest[k].solves, cost[k].solves);
      mean_factor[k] += cost[k].factor / s->count;
    }
  }
  bool at_end = sum_of(slowest[1]) < sum_of(slowest[0]);
  LastPlace place = at_end ? LAST_AT_END : LAST_AMONG;
  s->solve_lost = flop_time * (sum_of(slowest[at_end]) - mean_factor[at_end]);
  s->ordered = true;
  return stage_from(block_cholesky_place_last(cpu->system.solver, place) || system_analyze(&cpu->system));
}

/* ---- the solve ---- */

Outcome part_solve(void *self, Cpu *cpu, int pivots, bool *raised) {
  Part *s = self;
  Outcome own = pivots < 0 ? stage_not_finite(-1) : stage_from(cpu->corrects || (prepare(s) && put_roots(s)));
  Outcome outcome = cpu->corrects ? ranks_meet(MEET_SOLVE, own) : part_share(s, MEET_SOLVE, own);
  if (!stage_failed(outcome) && !cpu->corrects) outcome = agree_on_parts(s);
  if (stage_failed(outcome)) return outcome;
  for (int k = 0; !cpu->corrects && k < cpu->active_count; k++) s->acts[cpu->active[k]] = true;
  int iterations;
  bool by_petsc = cpu->model->def.solver.ranks_linear == ABD_RANKS_LINEAR_PETSC;
  if (!(by_petsc ? iterate_by_petsc : iterate)(s, cpu->system.right, &iterations)) *raised = true;
  cpu->report->linear_iterations += iterations;
  *raised = ranks_any(*raised);
  return outcome;
}
