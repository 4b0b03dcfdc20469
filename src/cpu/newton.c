/* The Newton step: the active set, its matrix of body blocks, pair moments and joint forces, factored by blocks.
 * Tested in tests/test_determinism.c. */
#include <math.h>
#include <string.h>

#include "cpu/assembly.h"
#include "cpu/validate.h"
#include "kernel/body.h"
#include "kernel/condense.h"
#include "kernel/constant.h"
#include "step/active.h"
#include "step/joint.h"

/* ---- the active set ---- */

static void acts_task(void *context, int k) {
  Cpu *cpu = context;
  cpu->pair_acts[k] = pair_has_terms(pairs_at(&cpu->pairs, k));
}

/* Own bodies, island by island. Most islands of a process are done after a few iterations. */
static void list_members(Cpu *cpu) {
  const Islands *s = cpu->islands;
  cpu->active_count = 0;
  for (int e = 0; e < s->listed_count; e++)
    for (int k = s->member.first[s->listed[e]]; k < s->member.first[s->listed[e] + 1]; k++)
      if (takes_part(cpu, s->member.item[k])) cpu->active[cpu->active_count++] = s->member.item[k];
}

/* The list of the active set, written in chunks of the moving bodies. at: where each one's part begins. */
enum { LIST_CHUNKS = 256, LIST_CHUNK = 1024 };
typedef struct Listing {
  Cpu *cpu;
  bool writes; /* else it counts */
  int at[LIST_CHUNKS];
} Listing;

static void list_chunk(void *context, int first, int last, int index) {
  Listing *list = context;
  Cpu *cpu = list->cpu;
  int at = list->at[index];
  for (int s = first; s < last; s++) {
    int body = cpu->model->moving[s];
    if (!takes_part(cpu, body)) continue;
    if (list->writes) cpu->active[at] = body;
    at++;
  }
  list->at[index] = at;
}

static void list_moving(Cpu *cpu) {
  int count = cpu->model->moving_count, chunk = parallel_chunk_count(count, LIST_CHUNKS), total = 0;
  if (chunk < LIST_CHUNK) chunk = LIST_CHUNK;
  if (cpu->threads <= 1) chunk = count;
  int chunks = parallel_chunk_count(count, chunk);
  Listing list = {.cpu = cpu};
  if (chunks > 1) parallel_chunks(cpu->threads, count, chunk, list_chunk, &list);
  for (int c = 0; c < chunks; c++) {
    int own = list.at[c];
    list.at[c] = total;
    total += own;
  }
  list.writes = true;
  parallel_chunks(cpu->threads, count, chunk, list_chunk, &list);
  cpu->active_count = chunks ? list.at[chunks - 1] : 0;
}

/* Couplings of links and of soft bodies: those of all of them, or of selected ones. */
static bool couple_fixed(Cpu *cpu, const int *body, int count, bool all) {
  for (int k = 0; cpu->model->linkage.linked_count && k < count; k++)
    if (is_linked(cpu->model, body[k]) && !system_couple(&cpu->system, body[k], body[k])) return false;
  return soft_couple(cpu, all);
}

/* In worlds with soft bodies all patterns get their order from the couplings that never change, once. */
static void guide_order(Cpu *cpu) {
  const Model *m = cpu->model;
  System *s = &cpu->system;
  if (!m->soft_count || s->guide_column || s->unguided) return;
  system_set_bodies(s, cpu->threads, m->moving, m->moving_count);
  s->unguided = !couple_fixed(cpu, m->moving, m->moving_count, true) || !system_guide(s);
}

static Outcome choose_bodies(Cpu *cpu) {
  const Domain *d = cpu->domain;
  const unsigned char *noted = noted_terms(cpu);
  const Neighbours neighbours = {&cpu->body_pairs, (const int(*)[2])cpu->pairs.body, noted ? noted : cpu->pair_acts,
                                 d ? d->own : NULL};
  if (!noted) segments_for(&cpu->island_pairs, cpu->threads, 128, acts_task, NULL, cpu);
  active_set_mark(cpu->islands, &cpu->work, cpu->threads, &neighbours);
  if (d) {
    Outcome outcome = d->share(d->self, cpu, SHARE_ACTIVE, stage_done());
    if (stage_failed(outcome)) return outcome;
    d->halo_active(d->self, cpu);
  }
  active_set_settle(cpu->islands, &cpu->work, cpu->threads);
  if (!d) validate_islands(cpu);
  if (d) list_members(cpu);
  else list_moving(cpu);
  guide_order(cpu);
  system_set_bodies(&cpu->system, cpu->threads, cpu->active, solved_elsewhere(cpu) ? 0 : cpu->active_count);
  return stage_done();
}

/* ---- the pattern ---- */

static bool any_exact(const Cpu *cpu) {
  for (int e = 0; e < cpu->islands->listed_count; e++) {
    const Island *g = island_listed(cpu->islands, e);
    if (g->selected && is_exact(cpu, g)) return true;
  }
  return false;
}

static bool is_exact_at(const Cpu *cpu, int body) {
  return is_exact(cpu, &cpu->islands->island[cpu->islands->of[body]]);
}

/* A joint that acts, in a selected island. */
static bool joint_takes_part(const Cpu *cpu, int joint) {
  int body = joint_body(cpu->model, joint);
  return cpu->work.joint[joint].active && body >= 0 && takes_part(cpu, body);
}

/* Its forces, and its resistance to turning if the island is taut and its matrix is not exact. */
static int forces_of(Cpu *cpu, int joint, JointForce force[JOINT_TERMS]) {
  if (!joint_takes_part(cpu, joint)) return 0;
  int body = joint_body(cpu->model, joint), count = joint_forces(&cpu->work, joint, cpu->work.q.body, force);
  if (is_exact_at(cpu, body) || !cpu->islands->island[cpu->islands->of[body]].taut) return count;
  return count + joint_tension(&cpu->work, joint, cpu->work.q.body, force + count);
}

static int turns_of(Cpu *cpu, int joint, JointTurn turn[2]) {
  if (!joint_takes_part(cpu, joint) || !is_exact_at(cpu, joint_body(cpu->model, joint))) return 0;
  return joint_turning(&cpu->work, joint, cpu->work.q.body, turn);
}

static bool couple_joints(Cpu *cpu) {
  JointForce force[JOINT_TERMS];
  for (int j = 0; j < cpu->model->joint_count; j++) {
    int count = forces_of(cpu, j, force);
    for (int f = 0; f < count; f++)
      for (int x = 0; x < force[f].jet.count; x++)
        for (int y = 0; y < x; y++)
          if (!system_couple(&cpu->system, force[f].jet.body[x], force[f].jet.body[y])) return false;
  }
  return true;
}

static bool couple(Cpu *cpu) {
  bool soft = cpu->model->soft_count > 0; /* most couplings stay as they are */
  if (!soft || !system_has_couplings(&cpu->system))
    if (!couple_fixed(cpu, cpu->active, cpu->active_count, false) || (soft && !system_keep_couplings(&cpu->system)))
      return false;
  return contact_couple(cpu) && couple_joints(cpu);
}

/* ---- gradients and diagonal blocks ---- */

/* May the matrix be exact? Then diagonal blocks are projected after joints and turning terms are added. */
static bool may_be_exact(const Cpu *cpu) { return cpu->model->joint_count || cpu->model->soft_count; }

/* A body by itself, then its pairs in their order. */
static void body_task(void *context, int k) {
  Cpu *cpu = context;
  Work *w = &cpu->work;
  int body = cpu->active[k];
  Affine q = node_pose(cpu->model, w->q, body);
  if (block_is_vertex(cpu->model, body)) {
    node_put(cpu->model, w->gradient, body, body_gradient(w, body, &q));
    return;
  }
  const BodyTerm term = body_term(w, body);
  w->gradient.body[body] = body_term_gradient(&term, &q);
  body_term_hessian(&term, &q, active_damping(cpu->islands, w, body), !is_exact_at(cpu, body), diagonal_of(cpu, body));
  contact_add_to_body(cpu, body);
  if (!may_be_exact(cpu)) contact_project_body(cpu, body);
}

/* out += f a b^T of two gradients. */
static void add_product(double out[144], double f, const Affine *a, const Affine *b) {
  double x[12], y[12];
  memcpy(x, a, sizeof x);
  memcpy(y, b, sizeof y);
  for (int j = 0; j < 12; j++)
    for (int i = 0; i < 12; i++) out[12 * j + i] += f * x[i] * y[j];
}

/* out += the block of a joint's bodies e and f. */
static void add_turn(double out[144], const JointTurn *turn, int e, int f) {
  const MeasureHessian *h = &turn->hessian;
  for (int k = 0; k < 4; k++)
    for (int i = 0; i < 4; i++)
      for (int c = 0; c < 3; c++) out[12 * (3 * k + c) + 3 * i + c] += h->s[e][f][4 * k + i];
  for (int p = 0; p < h->count; p++)
    add_product(out, h->factor[p], &h->product[p].gradient[e], &h->product[p].gradient[f]);
}

static void add_turn_diagonals(Cpu *cpu, int joint) {
  JointTurn turn[2];
  for (int t = 0, count = turns_of(cpu, joint, turn); t < count; t++)
    for (int e = 0; e < 2; e++)
      if (turn[t].body[e] >= 0) add_turn(diagonal_of(cpu, turn[t].body[e]), &turn[t], e, e);
}

static void add_joint_diagonals(Cpu *cpu) {
  JointForce force[JOINT_TERMS];
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
    add_turn_diagonals(cpu, j);
  }
}

static void project_task(void *context, int k) {
  Cpu *cpu = context;
  contact_project_body(cpu, cpu->active[k]);
}

/* ---- condensed bodies ---- */

/* The system is large and its factor costly, nothing but contacts acts between bodies, this process has all of the
 * matrix, and no other device solves some of the systems with all unknowns. Bodies that spin by another integrator
 * strain by themselves. */
static bool condenses(const Cpu *cpu) {
  const Model *m = cpu->model;
  const Accelerator *other = cpu->accelerator;
  return cpu->active_count >= CONDENSE_BODIES && cpu->system.cost >= CONDENSE_FLOPS && model_is_free(m) &&
         !m->joint_count && m->def.integrator == ABD_INTEGRATOR_RIGID && !cpu->domain && !(other && other->newton);
}

static void condense_task(void *context, int k) {
  Cpu *cpu = context;
  int body = cpu->active[k];
  const BodyTerm term = body_term(&cpu->work, body);
  double most = CONDENSE_BELOW * strain_curvature(term.stiffness, term.factor);
  system_condense_body(&cpu->system, k, !term.turns || contact_strains_body(cpu, body, most), &cpu->work.q.body[body]);
}

/* Bodies much stiffer than their contacts get the six unknowns of a rigid motion. */
static bool condense(Cpu *cpu) {
  if (!condenses(cpu)) return true;
  if (!system_begin_condensed(&cpu->system)) return false;
  parallel_for(cpu->threads, cpu->active_count, 64, condense_task, cpu);
  system_end_condensed(&cpu->system);
  return true;
}

/* Bodies that a thread assembles at once: few if few are left. */
static int bodies_at_once(const Cpu *cpu) { return claim_size(cpu, cpu->active_count, 4, 8); }

static void analyze(Cpu *cpu) { cpu->analyzed = couple(cpu) && system_analyze(&cpu->system); }

/* Item 0 is the pattern: one thread finds it while the others assemble bodies. That of soft bodies is larger, and uses
 * several threads before. */
static void assembly_task(void *context, int k) {
  Cpu *cpu = context;
  if (k == 0 && !cpu->model->soft_count) analyze(cpu);
  int count = bodies_at_once(cpu);
  for (int i = count * (k - 1); k > 0 && i < count * k && i < cpu->active_count; i++) body_task(cpu, i);
}

static Outcome assemble(Cpu *cpu) {
  Outcome outcome = contact_assemble(cpu);
  if (stage_failed(outcome)) return outcome;
  if (!condense(cpu)) return stage_from(false);
  if (cpu->model->soft_count) analyze(cpu);
  parallel_for(cpu->threads, 1 + parallel_chunk_count(cpu->active_count, bodies_at_once(cpu)), 1, assembly_task, cpu);
  if (may_be_exact(cpu)) {
    add_joint_diagonals(cpu);
    contact_add_turning_diagonals(cpu);
    parallel_for(cpu->threads, cpu->active_count, 64, project_task, cpu);
  }
  return stage_from(cpu->analyzed);
}

/* ---- values ---- */

static void add_turn_blocks(Cpu *cpu, int joint) {
  JointTurn turn[2];
  for (int t = 0, count = turns_of(cpu, joint, turn); t < count; t++) {
    double block[144] = {0};
    if (turn[t].body[0] < 0 || turn[t].body[1] < 0) continue;
    add_turn(block, &turn[t], 0, 1);
    system_add(&cpu->system, turn[t].body[0], turn[t].body[1], block);
  }
}

static void add_joint_blocks(Cpu *cpu) {
  JointForce force[JOINT_TERMS];
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
    add_turn_blocks(cpu, j);
  }
}

static void add_vertex_mass(Cpu *cpu, int body) {
  const Work *w = &cpu->work;
  double inertias = 1 + active_damping(cpu->islands, w, body);
  double m = inertias * predict_node_inertia(w, body, 0) * block_pull(cpu->model, body);
  const double block[9] = {m, 0, 0, 0, m, 0, 0, 0, m};
  system_add_nodes(&cpu->system, body, body, block);
}

/* The body's own block and its right-hand side. */
static void add_body(Cpu *cpu, int body) {
  Affine right = affine_neg(node_vector(cpu->model, cpu->work.gradient, body));
  if (block_is_vertex(cpu->model, body)) add_vertex_mass(cpu, body);
  else if (system_is_condensed(&cpu->system, body)) system_add_own(&cpu->system, body, diagonal_of(cpu, body));
  else system_add(&cpu->system, body, body, diagonal_of(cpu, body));
  if (is_linked(cpu->model, body)) system_add_right(&cpu->system, body, &right);
  else system_put_right(&cpu->system, body, &right);
}

/* Blocks of bodies and of pairs in one column of the factor. */
static void fill_column(void *context, const BlockColumn *column) {
  Cpu *cpu = context;
  for (int k = 0; k < column->block_count; k++) {
    int body = cpu->system.body[column->block[k]];
    if (!is_linked(cpu->model, body)) add_body(cpu, body);
  }
  for (int k = 0; k < column->edge_count; k++) contact_add_edge(cpu, column->edge[k]);
}

/* Blocks of linked bodies share unknowns and are added on one thread. */
static void add_blocks(Cpu *cpu) {
  block_cholesky_add_columns(cpu->system.solver, fill_column, cpu);
  if (!cpu->model->linkage.linked_count) return;
  for (int k = 0; k < cpu->active_count; k++)
    if (is_linked(cpu->model, cpu->active[k])) add_body(cpu, cpu->active[k]);
  contact_add_shared(cpu);
}

static void report_solve(const BlockCholesky *solver, AbdStepReport *r) {
  r->linear_iterations += block_cholesky_iterations(solver);
  r->factor_memory = fmax(r->factor_memory, block_cholesky_bytes(solver));
  r->factor_flops = fmax(r->factor_flops, block_cholesky_flops(solver));
}

static double slope_at(const Cpu *cpu, int body) {
  return node_dot(cpu->model, cpu->work.gradient, cpu->work.direction, body);
}

static void slope_task(void *context, int k) {
  Cpu *cpu = context;
  if (cpu->unseen && !block_is_vertex(cpu->model, cpu->active[k])) cpu->end_slope[k] = slope_at(cpu, cpu->active[k]);
}

static void solution_task(void *context, int k) {
  Cpu *cpu = context;
  int body = cpu->active[k];
  Affine step = system_solution(&cpu->system, body);
  node_put(cpu->model, cpu->work.newton, body, step);
  if (!block_is_vertex(cpu->model, body)) cpu->work.speed[body] = body_speed(&cpu->work, body, &step);
  slope_task(cpu, k);
}

/* Adds all blocks, then factors; *pivots: the raised ones. */
static bool add_and_factor(Cpu *cpu, int *pivots) {
  system_clear(&cpu->system);
  if (!soft_add(cpu)) return false;
  contact_add_springs(cpu);
  add_blocks(cpu);
  add_joint_blocks(cpu);
  contact_add_turning(cpu);
  *pivots = system_begin_solve(&cpu->system, cpu->threads, NULL, NULL);
  return true;
}

/* Without joints and soft bodies each column is filled when it is factored. */
static Outcome solve(Cpu *cpu, bool *raised) {
  const Model *m = cpu->model;
  const Domain *d = cpu->domain;
  int pivots;
  Outcome ordered = d ? d->order(d->self, cpu) : stage_done();
  if (stage_failed(ordered)) return ordered;
  if (model_is_free(m) && !m->joint_count) pivots = system_begin_solve(&cpu->system, cpu->threads, fill_column, cpu);
  else if (!add_and_factor(cpu, &pivots)) return stage_from(false);
  *raised = pivots > 0;
  if (!d && pivots >= 0 && !system_finish_solve(&cpu->system, cpu->threads, cpu->active_count, solution_task, cpu))
    *raised = true;
  Outcome outcome = stage_poll(cpu->model);
  if (d && !stage_failed(outcome)) outcome = d->solve(d->self, cpu, pivots, raised);
  if (stage_failed(outcome)) return outcome;
  if (pivots < 0) return stage_not_finite(-1);
  system_note_cost(&cpu->system, cpu->active_count);
  report_solve(cpu->system.solver, cpu->report);
  if (d) parallel_for(cpu->threads, cpu->active_count, claim_size(cpu, cpu->active_count, 64, 192), solution_task, cpu);
  return stage_done();
}

/* All of it on another machine; the active set is chosen here. t0: when that began. */
static Outcome solve_elsewhere(Cpu *cpu, bool *raised, double t0) {
  Outcome outcome = cpu->accelerator->newton(cpu->accelerator_self, cpu, raised);
  if (!stage_failed(outcome)) parallel_for(cpu->threads, cpu->active_count, 512, slope_task, cpu);
  cpu->report->seconds[ABD_STAGE_SOLVE] += stage_clock(cpu) - t0;
  return outcome;
}

static Outcome solve_once(Cpu *cpu, bool *raised) {
  const Accelerator *other = cpu->accelerator;
  double t0 = stage_clock(cpu);
  soft_load(cpu, cpu->work.q);
  Outcome chosen = choose_bodies(cpu);
  if (!stage_failed(chosen) && cpu->follows && other) chosen = loads_list(cpu);
  if (stage_failed(chosen)) return chosen;
  if (solved_elsewhere(cpu)) return solve_elsewhere(cpu, raised, t0);
  Outcome fetched = other && other->moments && !any_exact(cpu) ? stage_done() : fetch_contacts(cpu);
  if (stage_failed(fetched)) return fetched;
  Outcome outcome = assemble(cpu);
  double t1 = stage_clock(cpu);
  if (!stage_failed(outcome)) outcome = solve(cpu, raised);
  cpu->report->seconds[ABD_STAGE_ASSEMBLY] += t1 - t0;
  cpu->report->seconds[ABD_STAGE_SOLVE] += stage_clock(cpu) - t1;
  return outcome;
}

static void note_exact(const Cpu *cpu) {
  for (int e = 0; e < cpu->islands->listed_count; e++) {
    Island *g = island_listed(cpu->islands, e);
    if (g->selected) g->exact = is_exact(cpu, g);
  }
}

/* Whether the last step of an island was unseen: its scale depends on the slope at the end of that step. */
static bool any_unseen(const Islands *s) {
  bool found = false;
  for (int e = 0; e < s->listed_count && !found; e++)
    found = island_listed(s, e)->selected && island_listed(s, e)->unseen;
  return found;
}

/* The slope at the end of each island's last step, if one was unseen. */
static void find_end_slopes(Cpu *cpu) {
  Islands *s = cpu->islands;
  for (int e = 0; e < s->listed_count; e++)
    if (island_listed(s, e)->selected) island_listed(s, e)->end_slope = 0;
  if (!cpu->unseen) return;
  for (int k = 0; k < cpu->active_count; k++) {
    int body = cpu->active[k];
    s->island[s->of[body]].end_slope += block_is_vertex(cpu->model, body) ? slope_at(cpu, body) : cpu->end_slope[k];
  }
}

/* The largest speed of each island's Newton step. */
static Outcome find_residuals(Cpu *cpu) {
  const Work *w = &cpu->work;
  Islands *s = cpu->islands;
  for (int e = 0; e < s->listed_count; e++) {
    Island *g = island_listed(s, e);
    if (g->selected) g->residual = g->turn = 0, g->residual_body = -1;
  }
  for (int k = 0; k < cpu->active_count; k++) {
    int body = cpu->active[k];
    Island *g = &s->island[s->of[body]];
    double speed = block_speed(w, body);
    if (!isfinite(speed)) return stage_not_finite(cpu->domain ? body : model_whole(cpu->model, body));
    if (!block_is_vertex(w->model, body))
      g->turn = most(g->turn, norm(body_turn(&w->q.body[body], &w->newton.body[body])));
    if (speed <= g->residual) continue;
    g->residual = speed;
    g->residual_body = body;
  }
  return stage_done();
}

/* The next matrix is positive definite: soft elements are convex for some iterations, bodies and joints in this one.
 * False if they were in the last one. */
static bool make_convex(Cpu *cpu) {
  Islands *s = cpu->islands;
  bool any = false;
  for (int e = 0; e < s->listed_count; e++) {
    Island *g = island_listed(s, e);
    if (!g->selected) continue;
    any |= is_exact(cpu, g) || (g->soft && g->convex == 0);
    if (g->soft && g->convex == 0) g->convex = CONVEX_ITERATIONS;
  }
  cpu->convex = true;
  return any;
}

/* Whether the step is to be solved for again, because it would reverse pulls of joints. */
static bool foresee_joints(Cpu *cpu) {
  bool any = false;
  for (int e = 0; e < cpu->islands->listed_count; e++) island_listed(cpu->islands, e)->reverses = false;
  for (int j = 0; j < cpu->model->joint_count; j++)
    if (joint_takes_part(cpu, j) && joint_foresee(&cpu->work, j))
      any = island_of_joint(cpu->islands, j)->reverses = true;
  return any;
}

/* First with the elements and joints as they are. If the matrix is not positive definite, it is assembled again with
 * convex ones. In a large matrix raised pivots can grow beyond all numbers, so the first failure may be due to them. */
Outcome cpu_newton(void *backend, Islands *islands, bool *raised) {
  Cpu *cpu = backend;
  cpu->islands = islands;
  *raised = false;
  cpu->convex = false;
  cpu->follows = loads_follow(cpu);
  cpu->unseen = any_unseen(islands);
  Outcome outcome = list_work(cpu) ? solve_once(cpu, raised) : stage_from(false);
  bool again = outcome.kind == STAGE_NOT_FINITE || (outcome.kind == STAGE_DONE && *raised);
  if (again && make_convex(cpu)) outcome = solve_once(cpu, raised);
  if (!stage_failed(outcome) && foresee_joints(cpu)) outcome = solve_once(cpu, raised);
  note_exact(cpu);
  if (!stage_failed(outcome)) find_end_slopes(cpu);
  if (!stage_failed(outcome)) outcome = forces_expect(cpu);
  if (!stage_failed(outcome) && cpu->follows) outcome = loads_predict(cpu);
  if (!stage_failed(outcome)) outcome = find_residuals(cpu);
  outcome = share_islands(cpu, SHARE_RESIDUAL, outcome);
  return stage_failed(outcome) ? outcome : secant_steps(cpu);
}
