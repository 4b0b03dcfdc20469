/* The Newton system: body blocks plus the pairs' moments and the joints' forces, factored by blocks. Tested in
 * tests/test_determinism.c. */
#include "cpu/cpu.h"

#include <math.h>
#include <string.h>

#include "step/joint.h"

static bool is_active(const Island *g) { return g->progress == ISLAND_ACTIVE; }
static bool has_terms(const Pair *p) { return p->contact_count > 0 || p->friction_count > 0; }

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
static bool takes_part(const Cpu *cpu, int body) {
  int island = cpu->step->island[body];
  return island >= 0 && is_active(&cpu->step->islands[island]) && !cpu->step->dozes[body];
}

static void body_task(void *context, int k) {
  Cpu *cpu = context;
  int body = cpu->active[k];
  double damping = cpu->step->islands[cpu->step->island[body]].damping;
  cpu->step->gradient[body] = body_gradient(cpu->step, body, &cpu->step->q[body]);
  if (cpu->model->body[body].vertex_of) return;
  body_hessian(cpu->step, body, &cpu->step->q[body], damping, diagonal_of(cpu, body));
}

static void pair_task(void *context, int k) {
  Cpu *cpu = context;
  Pair *p = &cpu->pair[cpu->todo[k]];
  if (p->soft) return;
  pair_moments(p, &cpu->scene, &cpu->step->q[p->a], &cpu->step->q[p->b]);
}

static void choose_bodies(Cpu *cpu) {
  cpu->active_count = 0;
  system_reset(&cpu->system);
  for (int s = 0; s < cpu->model->moving_count; s++) {
    int body = cpu->model->moving[s];
    if (!takes_part(cpu, body)) continue;
    cpu->active[cpu->active_count++] = body;
    system_add_body(&cpu->system, body);
  }
}

/* A body whose held coordinates are projected out here; a linked one has them eliminated. */
static bool projected(const Model *m, int body) {
  return m->body[body].fixed && !m->body[body].vertex_of && !linkage_of(&m->linkage, body);
}

static bool couple_joints(Cpu *cpu) {
  const Model *m = cpu->model;
  JointForce force[JOINT_FORCES];
  for (int j = 0; j < m->joint_count; j++) {
    int body = joint_body(m, j);
    if (!cpu->step->joint[j].active || body < 0 || !takes_part(cpu, body)) continue;
    int count = joint_forces(cpu->step, j, cpu->step->q, force);
    for (int f = 0; f < count; f++)
      for (int x = 0; x < force[f].jet.count; x++)
        for (int y = 0; y < x; y++)
          if (!system_couple(&cpu->system, force[f].jet.body[x], force[f].jet.body[y])) return false;
  }
  return true;
}

/* Pairs that touched at any time in this step stay in the pattern, so that it seldom changes. */
static bool couple(Cpu *cpu) {
  for (int k = 0; k < cpu->todo_count; k++) {
    Pair *p = &cpu->pair[cpu->todo[k]];
    if (p->soft && !soft_couple_pair(cpu, p)) return false;
    if (p->soft) continue;
    if (has_terms(p)) p->coupled = true;
    if (!p->coupled || !takes_part(cpu, p->a) || !takes_part(cpu, p->b)) continue;
    if (!system_couple(&cpu->system, p->a, p->b)) return false;
  }
  for (int k = 0; k < cpu->active_count; k++)
    if (linkage_of(&cpu->model->linkage, cpu->active[k]) &&
        !system_couple(&cpu->system, cpu->active[k], cpu->active[k]))
      return false;
  return soft_couple(cpu) && couple_joints(cpu);
}

static void add_side(Cpu *cpu, int body, const Vec3 gradient[4], const Entry moment[10]) {
  if (!takes_part(cpu, body)) return;
  for (int i = 0; i < 4; i++) cpu->step->gradient[body].n[i] = add(cpu->step->gradient[body].n[i], gradient[i]);
  add_diagonal_moments(diagonal_of(cpu, body), moment);
}

/* out += f a b^T of two gradients. */
static void add_product(double out[144], double f, const Affine *a, const Affine *b) {
  double x[12], y[12];
  memcpy(x, a, sizeof x);
  memcpy(y, b, sizeof y);
  for (int j = 0; j < 12; j++)
    for (int i = 0; i < 12; i++) out[12 * j + i] += f * x[i] * y[j];
}

/* The joints' gradients and their share of the bodies' own blocks; or else what couples two bodies. */
static void add_joints(Cpu *cpu, bool coupling) {
  const Model *m = cpu->model;
  JointForce force[JOINT_FORCES];
  for (int j = 0; j < m->joint_count; j++) {
    int body = joint_body(m, j);
    if (!cpu->step->joint[j].active || body < 0 || !takes_part(cpu, body)) continue;
    int count = joint_forces(cpu->step, j, cpu->step->q, force);
    for (int f = 0; f < count; f++) {
      const Jet *jet = &force[f].jet;
      for (int x = 0; x < jet->count; x++) {
        Affine *g = &cpu->step->gradient[jet->body[x]];
        if (!coupling) {
          *g = affine_add_scaled(*g, force[f].slope, jet->gradient[x]);
          add_product(diagonal_of(cpu, jet->body[x]), force[f].curvature, &jet->gradient[x], &jet->gradient[x]);
        }
        for (int y = 0; coupling && y < x; y++) {
          double block[144] = {0};
          add_product(block, force[f].curvature, &jet->gradient[x], &jet->gradient[y]);
          system_add(&cpu->system, jet->body[x], jet->body[y], block);
        }
      }
    }
  }
}

static void add_pairs(Cpu *cpu) {
  const Model *m = cpu->model;
  for (int k = 0; k < cpu->todo_count; k++) {
    const Pair *p = &cpu->pair[cpu->todo[k]];
    if (!has_terms(p) || p->soft || !takes_part(cpu, p->a) || !takes_part(cpu, p->b)) continue;
    double block[144] = {0};
    for (int i = 0; i < 4; i++)
      for (int j = 0; j < 4; j++) add_block(block, i, j, -1, &p->moments->ab[4 * i + j]);
    if (projected(m, p->a)) project_columns(&m->body[p->a], block);
    if (projected(m, p->b)) {
      transpose(block);
      project_columns(&m->body[p->b], block);
      transpose(block);
    }
    system_add(&cpu->system, p->a, p->b, block);
  }
}

static bool assemble(Cpu *cpu, Step *step) {
  const Model *m = cpu->model;
  soft_load(cpu, step->q);
  choose_bodies(cpu);
  if (!cpu_collect(cpu, step, is_active)) return false;
  parallel_for(cpu->threads, cpu->active_count, 64, body_task, cpu);
  parallel_for(cpu->threads, cpu->todo_count, 8, pair_task, cpu);
  for (int k = 0; k < cpu->todo_count; k++) {
    const Pair *p = &cpu->pair[cpu->todo[k]];
    if (p->failed) return false;
    if (!has_terms(p) || p->soft) continue;
    add_side(cpu, p->a, p->moments->ga, p->moments->aa);
    add_side(cpu, p->b, p->moments->gb, p->moments->bb);
  }
  add_joints(cpu, false);
  for (int k = 0; k < cpu->active_count; k++) {
    int body = cpu->active[k];
    if (!projected(m, body)) continue;
    step->gradient[body] = freedom_project(&m->body[body], step->gradient[body]);
    project_diagonal(&m->body[body], diagonal_of(cpu, body));
  }
  return couple(cpu);
}

static void add_vertex_mass(Cpu *cpu, int body) {
  const Step *step = cpu->step;
  double m = (1 + step->islands[step->island[body]].damping) * step->inertia[body] * cpu->model->body[body].pull;
  const double block[9] = {m, 0, 0, 0, m, 0, 0, 0, m};
  system_add_nodes(&cpu->system, body, body, block);
}

static void report_solve(const BlockCholesky *solver, AbdStepReport *r) {
  r->linear_iterations += block_cholesky_iterations(solver);
  r->factor_memory = fmax(r->factor_memory, block_cholesky_bytes(solver));
  r->factor_flops = fmax(r->factor_flops, block_cholesky_flops(solver));
}

static bool solve(Cpu *cpu, Step *step) {
  if (!system_analyze(&cpu->system) || !soft_add(cpu)) return false;
  for (int k = 0; k < cpu->todo_count; k++)
    if (cpu->pair[cpu->todo[k]].soft) soft_add_pair(cpu, &cpu->pair[cpu->todo[k]]);
  for (int k = 0; k < cpu->active_count; k++) {
    int body = cpu->active[k];
    Affine minus = affine_sub(affine_sub(step->gradient[body], step->gradient[body]), step->gradient[body]);
    if (cpu->model->body[body].vertex_of) add_vertex_mass(cpu, body);
    else system_add(&cpu->system, body, body, diagonal_of(cpu, body));
    system_add_right(&cpu->system, body, &minus);
  }
  add_pairs(cpu);
  add_joints(cpu, true);
  int raised = system_factor(&cpu->system, cpu->threads);
  cpu->base.raised = raised > 0;
  if (raised < 0) {
    cpu->base.numeric = true;
    return false;
  }
  if (!system_solve(&cpu->system)) cpu->base.raised = true;
  report_solve(cpu->system.solver, step->report);
  for (int k = 0; k < cpu->active_count; k++)
    step->newton[cpu->active[k]] = system_solution(&cpu->system, cpu->active[k]);
  return true;
}

static bool direction_once(Cpu *cpu, Step *step) {
  double t0 = clock_now();
  bool ok = assemble(cpu, step);
  double t1 = clock_now();
  ok = ok && solve(cpu, step);
  step->report->seconds[ABD_STAGE_ASSEMBLY] += t1 - t0;
  step->report->seconds[ABD_STAGE_SOLVE] += clock_now() - t1;
  return ok;
}

/* First with the elements as they are; a matrix that is not positive definite is made anew. In a large one raised pivots can grow
 * beyond all numbers, so that is no fault of a value yet. */
bool cpu_direction(Backend *base, Step *step) {
  Cpu *cpu = (Cpu *)base;
  cpu->step = step;
  bool numeric = base->numeric, fine = direction_once(cpu, step);
  if (!fine && !base->numeric) return false;
  if (fine && !base->raised) return true;
  if (!soft_make_convex(step)) return fine;
  base->numeric = numeric;
  return direction_once(cpu, step);
}
