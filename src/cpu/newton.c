/* The Newton step: the active set, its matrix of body blocks, pair moments and joint forces, factored by blocks.
 * Tested in tests/test_determinism.c. */
#include "cpu/cpu.h"

#include <math.h>
#include <string.h>

#include "cpu/validate.h"
#include "step/active.h"
#include "step/joint.h"

static bool has_terms(const Pair *p) { return p->contact.count > 0 || p->friction.count > 0; }

/* out[12 x 12] += sign * sum over i, j of entry(i, j) (x) block; entry of the 4x4 moments. */
static void add_block(double *out, int i, int j, double sign, const Entry *entry) {
  double *c = out + 12 * (3 * j) + 3 * i;
  const double *k = *entry; /* xx yy zz xy xz yz */
  c[0] += sign * k[0];
  c[1] += sign * k[3];
  c[2] += sign * k[4];
  c[12] += sign * k[3];
  c[13] += sign * k[1];
  c[14] += sign * k[5];
  c[24] += sign * k[4];
  c[25] += sign * k[5];
  c[26] += sign * k[2];
}

static void add_diagonal_moments(double *out, const Entry moment[10]) {
  for (int i = 0, e = 0; i < 4; i++)
    for (int j = 0; j <= i; j++, e++) {
      add_block(out, i, j, 1, &moment[e]);
      if (j < i) add_block(out, j, i, 1, &moment[e]);
    }
}

/* Columns of a 12x12 block projected to a body's free directions. */
static void project_columns(const Body *b, double *block) {
  for (int j = 0; j < 12; j++) {
    Affine c;
    memcpy(&c, block + 12 * j, sizeof c);
    c = freedom_project(b, c);
    memcpy(block + 12 * j, &c, sizeof c);
  }
}

static void transpose(double *block) {
  for (int j = 0; j < 12; j++)
    for (int i = 0; i < j; i++) {
      double t = block[12 * j + i];
      block[12 * j + i] = block[12 * i + j];
      block[12 * i + j] = t;
    }
}

/* P H P + s (I - P): held directions keep a harmless pivot. */
static void project_diagonal(const Body *b, double *block) {
  double s = 0, unit[144] = {0};
  for (int i = 0; i < 12; i++) {
    if (block[13 * i] > s) s = block[13 * i];
    unit[13 * i] = 1;
  }
  project_columns(b, block);
  transpose(block);
  project_columns(b, block);
  project_columns(b, unit);
  for (int k = 0; k < 144; k++) block[k] -= s * unit[k];
  for (int i = 0; i < 12; i++) block[13 * i] += s;
}

static double *diagonal_of(const Cpu *cpu, int body) {
  return cpu->diagonal + 144 * (size_t)cpu->model->body[body].slot;
}
static bool takes_part(const Cpu *cpu, int body) { return body_selected(cpu->islands, body) && cpu->work.active[body]; }
static bool is_linked(const Model *m, int body) { return linkage_of(&m->linkage, body) != NULL; }

/* A body whose held coordinates are projected out here; those of a linked body are eliminated. */
static bool projected(const Model *m, int body) {
  return !block_is_vertex(m, body) && m->body[body].fixed && !is_linked(m, body);
}

/* ---- the active set ---- */

static void acts_task(void *context, int k) {
  Cpu *cpu = context;
  cpu->pair_acts[k] = has_terms(pairs_at(&cpu->pairs, k));
}

static void choose_bodies(Cpu *cpu) {
  const Neighbours neighbours = {&cpu->body_pairs, (const int(*)[2])cpu->pairs.body, cpu->pair_acts};
  parallel_for(cpu->threads, cpu->pairs.count, 256, acts_task, cpu);
  active_set_select(cpu->islands, &cpu->work, cpu->threads, &neighbours);
  validate_islands(cpu);
  cpu->active_count = 0;
  system_reset(&cpu->system);
  for (int s = 0; s < cpu->model->moving_count; s++) {
    int body = cpu->model->moving[s];
    if (!takes_part(cpu, body)) continue;
    cpu->active[cpu->active_count++] = body;
    system_add_body(&cpu->system, body);
  }
}

/* ---- the pattern ---- */

/* A joint that acts, in a selected island; its forces. */
static int forces_of(Cpu *cpu, int joint, JointForce force[JOINT_FORCES]) {
  int body = joint_body(cpu->model, joint);
  if (!cpu->work.joint[joint].active || body < 0 || !takes_part(cpu, body)) return 0;
  return joint_forces(&cpu->work, joint, cpu->work.q.body, force);
}

static bool couple_joints(Cpu *cpu) {
  JointForce force[JOINT_FORCES];
  for (int j = 0; j < cpu->model->joint_count; j++) {
    int count = forces_of(cpu, j, force);
    for (int f = 0; f < count; f++)
      for (int x = 0; x < force[f].jet.count; x++)
        for (int y = 0; y < x; y++)
          if (!system_couple(&cpu->system, force[f].jet.body[x], force[f].jet.body[y])) return false;
  }
  return true;
}

/* Whether the pair couples its bodies. Pairs that touched at any time in this step stay in the pattern, so that it
 * seldom changes. */
static void couple_task(void *context, int k) {
  Cpu *cpu = context;
  const int *body = cpu->pairs.body[k];
  cpu->pair_couples[k] = false;
  if (!takes_part(cpu, body[0]) && !takes_part(cpu, body[1])) return;
  Pair *p = pairs_at(&cpu->pairs, k);
  if (cpu->pair_acts[k]) p->coupled = true;
  cpu->pair_couples[k] = p->soft || (p->coupled && takes_part(cpu, body[0]) && takes_part(cpu, body[1]));
}

static bool couple(Cpu *cpu) {
  parallel_for(cpu->threads, cpu->pairs.count, 128, couple_task, cpu);
  for (int k = 0; k < cpu->pairs.count; k++) {
    const int *body = cpu->pairs.body[k];
    if (!cpu->pair_couples[k]) continue;
    bool soft = cpu->model->soft_count && pairs_at(&cpu->pairs, k)->soft;
    if (soft ? !soft_couple_pair(cpu, pairs_at(&cpu->pairs, k)) : !system_couple(&cpu->system, body[0], body[1]))
      return false;
  }
  for (int k = 0; k < cpu->active_count; k++)
    if (cpu->model->linkage.linked_count && is_linked(cpu->model, cpu->active[k]) &&
        !system_couple(&cpu->system, cpu->active[k], cpu->active[k]))
      return false;
  return soft_couple(cpu) && couple_joints(cpu);
}

/* ---- gradients and diagonal blocks ---- */

static void moment_task(Cpu *cpu, int k, Pair *p) {
  (void)k;
  if (!p->soft) pair_moments(p, &cpu->scene, &cpu->work.q.body[p->a], &cpu->work.q.body[p->b]);
}

/* A body by itself, then its pairs in their order. */
static void body_task(void *context, int k) {
  Cpu *cpu = context;
  Work *w = &cpu->work;
  int body = cpu->active[k];
  Affine q = node_pose(cpu->model, w->q, body);
  node_put(cpu->model, w->gradient, body, body_gradient(w, body, &q));
  if (block_is_vertex(cpu->model, body)) return;
  Affine *gradient = &w->gradient.body[body];
  double *diagonal = diagonal_of(cpu, body);
  body_hessian(w, body, &q, cpu->islands->island[cpu->islands->of[body]].damping, diagonal);
  for (int e = cpu->body_pairs.first[body]; e < cpu->body_pairs.first[body + 1]; e++) {
    int pair = cpu->body_pairs.item[e] / 2, side = cpu->body_pairs.item[e] % 2;
    const Pair *p = pairs_at(&cpu->pairs, pair);
    if (!cpu->pair_acts[pair] || p->soft) continue;
    const Vec3 *g = side ? pair_moment_sums(p, &cpu->scene)->gb : pair_moment_sums(p, &cpu->scene)->ga;
    for (int i = 0; i < 4; i++) gradient->n[i] = add(gradient->n[i], g[i]);
    add_diagonal_moments(diagonal, side ? pair_moment_sums(p, &cpu->scene)->bb : pair_moment_sums(p, &cpu->scene)->aa);
  }
}

/* out += f a b^T of two gradients. */
static void add_product(double out[144], double f, const Affine *a, const Affine *b) {
  double x[12], y[12];
  memcpy(x, a, sizeof x);
  memcpy(y, b, sizeof y);
  for (int j = 0; j < 12; j++)
    for (int i = 0; i < 12; i++) out[12 * j + i] += f * x[i] * y[j];
}

static void add_joint_diagonals(Cpu *cpu) {
  JointForce force[JOINT_FORCES];
  for (int j = 0; j < cpu->model->joint_count; j++) {
    int count = forces_of(cpu, j, force);
    for (int f = 0; f < count; f++) {
      const Jet *jet = &force[f].jet;
      for (int x = 0; x < jet->count; x++) {
        Affine *g = &cpu->work.gradient.body[jet->body[x]];
        *g = affine_add_scaled(*g, force[f].slope, jet->gradient[x]);
        add_product(diagonal_of(cpu, jet->body[x]), force[f].curvature, &jet->gradient[x], &jet->gradient[x]);
      }
    }
  }
}

static void project_task(void *context, int k) {
  Cpu *cpu = context;
  int body = cpu->active[k];
  if (!projected(cpu->model, body)) return;
  const Body *b = &cpu->model->body[body];
  cpu->work.gradient.body[body] = freedom_project(b, cpu->work.gradient.body[body]);
  project_diagonal(b, diagonal_of(cpu, body));
}

static Outcome assemble(Cpu *cpu) {
  soft_load(cpu, cpu->work.q);
  choose_bodies(cpu);
  Outcome outcome = for_pairs(cpu, moment_task);
  if (stage_failed(outcome)) return outcome;
  parallel_for(cpu->threads, cpu->active_count, 16, body_task, cpu);
  add_joint_diagonals(cpu);
  parallel_for(cpu->threads, cpu->active_count, 64, project_task, cpu);
  return stage_from(couple(cpu));
}

/* ---- values ---- */

static void add_pair(Cpu *cpu, const Pair *p) {
  const Model *m = cpu->model;
  double block[144] = {0};
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) add_block(block, i, j, -1, &pair_moment_sums(p, &cpu->scene)->ab[4 * i + j]);
  if (projected(m, p->a)) project_columns(&m->body[p->a], block);
  if (projected(m, p->b)) {
    transpose(block);
    project_columns(&m->body[p->b], block);
    transpose(block);
  }
  system_add(&cpu->system, p->a, p->b, block);
}

/* Whether pair k adds a block, and whether other pairs may add to the same one: unknowns of linked bodies are
 * shared. */
static bool adds_block(const Cpu *cpu, int k, bool *shared) {
  const int *body = cpu->pairs.body[k];
  *shared = is_linked(cpu->model, body[0]) || is_linked(cpu->model, body[1]);
  return pair_selected(cpu, k) && cpu->pair_acts[k] && takes_part(cpu, body[0]) && takes_part(cpu, body[1]) &&
         !pairs_at(&cpu->pairs, k)->soft;
}

static void block_task(void *context, int k) {
  Cpu *cpu = context;
  bool shared;
  if (adds_block(cpu, k, &shared) && !shared) add_pair(cpu, pairs_at(&cpu->pairs, k));
}

static void add_pairs(Cpu *cpu) {
  bool shared;
  parallel_for(cpu->threads, cpu->pairs.count, 16, block_task, cpu);
  for (int k = 0; cpu->model->linkage.linked_count && k < cpu->pairs.count; k++)
    if (adds_block(cpu, k, &shared) && shared) add_pair(cpu, pairs_at(&cpu->pairs, k));
}

static void add_joint_blocks(Cpu *cpu) {
  JointForce force[JOINT_FORCES];
  for (int j = 0; j < cpu->model->joint_count; j++) {
    int count = forces_of(cpu, j, force);
    for (int f = 0; f < count; f++) {
      const Jet *jet = &force[f].jet;
      for (int x = 0; x < jet->count; x++)
        for (int y = 0; y < x; y++) {
          double block[144] = {0};
          add_product(block, force[f].curvature, &jet->gradient[x], &jet->gradient[y]);
          system_add(&cpu->system, jet->body[x], jet->body[y], block);
        }
    }
  }
}

static void add_vertex_mass(Cpu *cpu, int body) {
  const Work *w = &cpu->work;
  double damping = cpu->islands->island[cpu->islands->of[body]].damping;
  double m = (1 + damping) * predict_inertia(w, body) * block_pull(cpu->model, body);
  const double block[9] = {m, 0, 0, 0, m, 0, 0, 0, m};
  system_add_nodes(&cpu->system, body, body, block);
}

/* The body's own block and its right-hand side. */
static void add_body(Cpu *cpu, int body) {
  Affine g = node_vector(cpu->model, cpu->work.gradient, body), zero = affine_sub(g, g), minus = affine_sub(zero, g);
  if (block_is_vertex(cpu->model, body)) add_vertex_mass(cpu, body);
  else system_add(&cpu->system, body, body, diagonal_of(cpu, body));
  system_add_right(&cpu->system, body, &minus);
}

static void own_task(void *context, int k) {
  Cpu *cpu = context;
  if (!is_linked(cpu->model, cpu->active[k])) add_body(cpu, cpu->active[k]);
}

static void add_bodies(Cpu *cpu) {
  parallel_for(cpu->threads, cpu->active_count, 64, own_task, cpu);
  for (int k = 0; cpu->model->linkage.linked_count && k < cpu->active_count; k++)
    if (is_linked(cpu->model, cpu->active[k])) add_body(cpu, cpu->active[k]);
}

static void report_solve(const BlockCholesky *solver, AbdStepReport *r) {
  r->linear_iterations += block_cholesky_iterations(solver);
  r->factor_memory = fmax(r->factor_memory, block_cholesky_bytes(solver));
  r->factor_flops = fmax(r->factor_flops, block_cholesky_flops(solver));
}

static void solution_task(void *context, int k) {
  Cpu *cpu = context;
  int body = cpu->active[k];
  Affine step = system_solution(&cpu->system, body);
  node_put(cpu->model, cpu->work.newton, body, step);
  if (!block_is_vertex(cpu->model, body)) cpu->work.speed[body] = body_speed(&cpu->work, body, &step);
}

static Outcome solve(Cpu *cpu, bool *raised) {
  if (!system_analyze(&cpu->system) || !soft_add(cpu)) return stage_from(false);
  for (int k = 0; cpu->model->soft_count && k < cpu->pairs.count; k++)
    if (pairs_at(&cpu->pairs, k)->soft && pair_selected(cpu, k)) soft_add_pair(cpu, pairs_at(&cpu->pairs, k));
  add_bodies(cpu);
  add_pairs(cpu);
  add_joint_blocks(cpu);
  int pivots = system_factor(&cpu->system, cpu->threads);
  *raised = pivots > 0;
  if (pivots < 0) return stage_not_finite(-1);
  if (!system_solve(&cpu->system)) *raised = true;
  report_solve(cpu->system.solver, cpu->report);
  parallel_for(cpu->threads, cpu->active_count, 64, solution_task, cpu);
  return stage_done();
}

static Outcome solve_once(Cpu *cpu, bool *raised) {
  double t0 = clock_now();
  Outcome outcome = assemble(cpu);
  double t1 = clock_now();
  if (!stage_failed(outcome)) outcome = solve(cpu, raised);
  cpu->report->seconds[ABD_STAGE_ASSEMBLY] += t1 - t0;
  cpu->report->seconds[ABD_STAGE_SOLVE] += clock_now() - t1;
  return outcome;
}

/* The largest speed of each island's Newton step. A speed that is not a number is the largest. */
static void find_residuals(Cpu *cpu) {
  Islands *s = cpu->islands;
  for (int k = 0; k < s->count; k++)
    if (s->island[k].selected) s->island[k].residual = 0, s->island[k].residual_body = -1;
  for (int k = 0; k < cpu->active_count; k++) {
    int body = cpu->active[k];
    Island *g = &s->island[s->of[body]];
    double speed = block_speed(&cpu->work, body);
    if (speed <= g->residual) continue;
    g->residual = speed;
    g->residual_body = body;
  }
}

/* First with the elements as they are. If the matrix is not positive definite, it is assembled again with convex
 * elements. In a large matrix raised pivots can grow beyond all numbers, so the first failure may be due to them. */
Outcome cpu_newton(void *backend, Islands *islands, bool *raised) {
  Cpu *cpu = backend;
  cpu->islands = islands;
  *raised = false;
  Outcome outcome = solve_once(cpu, raised);
  bool again = outcome.kind == STAGE_NOT_FINITE || (outcome.kind == STAGE_DONE && *raised);
  if (again && soft_make_convex(cpu)) outcome = solve_once(cpu, raised);
  if (!stage_failed(outcome)) find_residuals(cpu);
  return outcome;
}
