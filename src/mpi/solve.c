/* Newton's step of islands that several ranks share: conjugate gradients, preconditioned by the Cholesky factor of each
 * rank's own unknowns.
 *
 * The matrix is A = M + C. M has the blocks inside each rank, C those between ranks. With z = M^-1 r, A z = r + C z
 * needs no product with M. In the form of Chronopoulos and Gear an iteration is one solve with the factor, one exchange
 * with the neighbours, one product with C and one sum over all ranks. Islands of one rank alone need no iteration: the
 * factor solves them. Sums run in the order of the ranks. Tested by tests/cli/ranks.sh. */
#include <string.h>

#include "cpu/assembly.h"
#include "kernel/constant.h"
#include "mpi/part.h"

enum { ITERATIONS = 1000, VECTORS = 6 };

void gradients_destroy(Gradients *g) {
  mem_free(g->coupling);
  mem_free(g->vector);
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

static bool add_coupling(Part *s, int k) {
  const Cpu *cpu = s->cpu;
  Gradients *g = &s->gradients;
  const Pair *p = pairs_at(&cpu->pairs, k);
  bool turned = !s->own[p->a], shared;
  int near = turned ? p->b : p->a, far = turned ? p->a : p->b;
  if (!s->own[near] || s->own[far] || s->owner[far] < 0 || !contact_adds_block(cpu, k, &shared)) return true;
  if (!mem_reserve((void **)&g->coupling, &g->coupling_capacity, g->coupling_count + 1, sizeof *g->coupling))
    return false;
  Coupling *c = &g->coupling[g->coupling_count++];
  c->column = cpu->system.column[near];
  c->halo = s->place[far];
  contact_block(cpu, p, c->block);
  if (turned) turn(c->block);
  return true;
}

static bool prepare(Part *s) {
  Gradients *g = &s->gradients;
  g->coupling_count = 0;
  for (int k = 0; k < s->cpu->pairs.count; k++)
    if (!add_coupling(s, k)) return false;
  return mem_reserve((void **)&g->vector, &g->vector_capacity, VECTORS * s->cpu->system.unknown_count,
                     sizeof(double)) &&
         part_reserve_swap(s, sizeof(Affine));
}

/* ---- vectors ---- */

static double dot_own(const double *a, const double *b, int n) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

/* Zeroes the unknowns of islands that this rank has alone. */
static void keep_shared(const Part *s, double *v) {
  const Cpu *cpu = s->cpu;
  for (int k = 0; k < cpu->active_count; k++)
    if (!cpu->islands->island[cpu->islands->of[cpu->active[k]]].shared)
      memset(v + cpu->system.column_at[cpu->system.column[cpu->active[k]]], 0, 12 * sizeof(double));
}

static void send_vector(Part *s, const double *v) {
  const System *system = &s->cpu->system;
  for (int k = 0; k < s->sent_count; k++) {
    int body = s->sent[k], column = takes_part(s->cpu, body) ? system->column[body] : -1;
    double *to = (double *)(s->out_bytes + sizeof(Affine) * (size_t)k);
    if (column >= 0) memcpy(to, v + system->column_at[column], sizeof(Affine));
    else memset(to, 0, sizeof(Affine));
  }
  for (int r = 0; r <= s->count; r++)
    s->byte_out[r] = sizeof(Affine) * s->sent_first[r], s->byte_in[r] = sizeof(Affine) * s->halo_first[r];
  ranks_swap(s->out_bytes, s->byte_out, s->in_bytes, s->byte_in);
}

/* y += C v of the halo's v. */
static void add_couplings(const Part *s, double *y) {
  const Gradients *g = &s->gradients;
  for (int k = 0; k < g->coupling_count; k++) {
    const Coupling *c = &g->coupling[k];
    const double *v = (const double *)(s->in_bytes + sizeof(Affine) * (size_t)c->halo);
    double *to = y + s->cpu->system.column_at[c->column];
    for (int j = 0; j < 12; j++)
      for (int i = 0; i < 12; i++) to[i] += c->block[12 * j + i] * v[j];
  }
}

/* ---- iterations ---- */

typedef struct Iteration {
  Part *part;
  int n;
  double *x, *r, *z, *az, *p, *ap;
  double rho, alpha; /* r . z; length of the last step, 0 before the first */
} Iteration;

/* z = M^-1 r, A z = r + C z, and both products of z. */
static void precondition(Iteration *it, double sum[2]) {
  size_t size = (size_t)it->n * sizeof(double);
  block_cholesky_solve(it->part->cpu->system.solver, it->r, it->z);
  send_vector(it->part, it->z);
  if (it->n) memcpy(it->az, it->r, size);
  add_couplings(it->part, it->az);
  sum[0] = dot_own(it->r, it->z, it->n);
  sum[1] = dot_own(it->z, it->az, it->n);
  ranks_sum(sum, 2);
}

/* One step along p. sum: r . z and z . A z. False if A is not positive along p. */
static bool advance(Iteration *it, const double sum[2]) {
  double beta = it->alpha > 0 ? sum[0] / it->rho : 0;
  double curvature = it->alpha > 0 ? sum[1] - beta * sum[0] / it->alpha : sum[1];
  if (!(curvature > 0)) return false;
  it->rho = sum[0];
  it->alpha = sum[0] / curvature;
  for (int i = 0; i < it->n; i++) {
    it->p[i] = it->z[i] + beta * it->p[i];
    it->ap[i] = it->az[i] + beta * it->ap[i];
    it->x[i] += it->alpha * it->p[i];
    it->r[i] -= it->alpha * it->ap[i];
  }
  return true;
}

static void take_shared(const Part *s, const double *x, double *right) {
  const Cpu *cpu = s->cpu;
  for (int k = 0; k < cpu->active_count; k++) {
    int at = cpu->system.column_at[cpu->system.column[cpu->active[k]]];
    if (cpu->islands->island[cpu->islands->of[cpu->active[k]]].shared) memcpy(right + at, x + at, 12 * sizeof(double));
  }
}

/* right: b, then the solution. False if A is not positive definite; the solution is a descent direction even then. */
static bool iterate(Part *s, double *right, int *iterations) {
  int n = s->cpu->system.unknown_count;
  double *v = s->gradients.vector, sum[2];
  Iteration it = {s, n, v, v + n, v + 2 * n, v + 3 * n, v + 4 * n, v + 5 * n, 0, 0};
  if (n) memset(v, 0, (size_t)n * VECTORS * sizeof(double));
  if (n) memcpy(it.r, right, (size_t)n * sizeof(double));
  keep_shared(s, it.r);
  block_cholesky_solve(s->cpu->system.solver, right, right);
  precondition(&it, sum);
  double end = sum[0] * RANKS_TOLERANCE * RANKS_TOLERANCE;
  bool good = true;
  for (*iterations = 0; good && *iterations < ITERATIONS && sum[0] > end; ++*iterations) {
    good = advance(&it, sum);
    if (good) precondition(&it, sum);
  }
  if (*iterations > 1 || good) take_shared(s, it.x, right);
  return good;
}

Outcome part_solve(void *self, Cpu *cpu, int pivots, bool *raised) {
  Part *s = self;
  Outcome own = pivots < 0 ? stage_not_finite(-1) : stage_from(prepare(s));
  Outcome outcome = ranks_meet(MEET_SOLVE, own);
  if (stage_failed(outcome)) return outcome;
  int iterations;
  if (!iterate(s, cpu->system.right, &iterations)) *raised = true;
  cpu->report->linear_iterations += iterations;
  *raised = ranks_any(*raised);
  return outcome;
}
