/* The Newton system: body blocks plus the pairs' moments, factored by blocks. Tested in tests/test_determinism.c. */
#include "cpu/cpu.h"

#include <string.h>

static bool is_active(const Island *g) { return g->progress == ISLAND_ACTIVE; }
static bool has_terms(const Pair *p) { return p->contact_count > 0 || p->friction_count > 0; }

/* out[12 x 12] += sign * sum over i, j of entry(i, j) (x) block; entry of the 4x4 moments. */
static void add_block(double *out, int i, int j, double sign, const Entry *entry) {
  double *c = out + 12 * (3 * j) + 3 * i;
  const Entry k = sign * *entry; /* xx yy zz xy xz yz */
  c[0] += k[0]; c[1] += k[3]; c[2] += k[4];
  c[12] += k[3]; c[13] += k[1]; c[14] += k[5];
  c[24] += k[4]; c[25] += k[5]; c[26] += k[2];
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

static void body_task(void *context, int k) {
  Cpu *cpu = context;
  int body = cpu->column_body[k];
  double damping = cpu->step->islands[cpu->step->island[body]].damping;
  body_hessian(cpu->step, body, &cpu->step->q[body], damping, cpu->diagonal + 144 * (size_t)k);
  cpu->step->gradient[body] = body_gradient(cpu->step, body, &cpu->step->q[body]);
}

static void pair_task(void *context, int k) {
  Cpu *cpu = context;
  Pair *p = &cpu->pair[cpu->todo[k]];
  pair_moments(p, &cpu->scene, &cpu->step->q[p->a], &cpu->step->q[p->b]);
}

static void choose_columns(Cpu *cpu, const Step *step) {
  cpu->column_count = 0;
  for (int s = 0; s < cpu->model->moving_count; s++) {
    int body = cpu->model->moving[s];
    cpu->column[body] = -1;
    if (!is_active(&step->islands[step->island[body]])) continue;
    cpu->column[body] = cpu->column_count;
    cpu->column_body[cpu->column_count] = body;
    cpu->column_size[cpu->column_count++] = 12;
  }
}

/* Pairs that touched at any time in this step stay in the pattern, so that it seldom changes. */
static bool choose_edges(Cpu *cpu) {
  cpu->edge_count = 0;
  for (int k = 0; k < cpu->todo_count; k++) {
    Pair *p = &cpu->pair[cpu->todo[k]];
    if (has_terms(p)) p->coupled = true;
    if (!p->coupled || cpu->column[p->a] < 0 || cpu->column[p->b] < 0) continue;
    if (!mem_reserve((void **)&cpu->edge, &cpu->edge_capacity, cpu->edge_count + 1, sizeof *cpu->edge) ||
        !mem_reserve((void **)&cpu->edge_pair, &cpu->edge_pair_capacity, cpu->edge_count + 1, sizeof(int)))
      return false;
    cpu->edge[cpu->edge_count][0] = cpu->column[p->a];
    cpu->edge[cpu->edge_count][1] = cpu->column[p->b];
    cpu->edge_pair[cpu->edge_count++] = cpu->todo[k];
  }
  return true;
}

static void add_side(Cpu *cpu, int body, const Vec3 gradient[4], const Entry moment[10]) {
  if (cpu->column[body] < 0) return;
  for (int i = 0; i < 4; i++) cpu->step->gradient[body].n[i] = add(cpu->step->gradient[body].n[i], gradient[i]);
  add_diagonal_moments(cpu->diagonal + 144 * (size_t)cpu->column[body], moment);
}

static void add_edges(Cpu *cpu) {
  const Model *m = cpu->model;
  for (int e = 0; e < cpu->edge_count; e++) {
    const Pair *p = &cpu->pair[cpu->edge_pair[e]];
    if (!has_terms(p)) continue;
    double block[144] = {0};
    for (int i = 0; i < 4; i++)
      for (int j = 0; j < 4; j++) add_block(block, i, j, -1, &p->moments->ab[4 * i + j]);
    if (m->body[p->a].fixed) project_columns(&m->body[p->a], block);
    if (m->body[p->b].fixed) {
      transpose(block);
      project_columns(&m->body[p->b], block);
      transpose(block);
    }
    block_cholesky_add_edge(cpu->solver, e, block);
  }
}

static bool assemble(Cpu *cpu, Step *step) {
  const Model *m = cpu->model;
  choose_columns(cpu, step);
  if (!cpu_collect(cpu, step, is_active)) return false;
  parallel_for(cpu->threads, cpu->column_count, 64, body_task, cpu);
  parallel_for(cpu->threads, cpu->todo_count, 8, pair_task, cpu);
  if (!choose_edges(cpu)) return false;
  for (int k = 0; k < cpu->todo_count; k++) {
    const Pair *p = &cpu->pair[cpu->todo[k]];
    if (p->failed) return false;
    if (!has_terms(p)) continue;
    add_side(cpu, p->a, p->moments->ga, p->moments->aa);
    add_side(cpu, p->b, p->moments->gb, p->moments->bb);
  }
  for (int k = 0; k < cpu->column_count; k++) {
    int body = cpu->column_body[k];
    const Body *b = &m->body[body];
    if (!b->fixed) continue;
    step->gradient[cpu->column_body[k]] = freedom_project(b, step->gradient[cpu->column_body[k]]);
    project_diagonal(b, cpu->diagonal + 144 * (size_t)k);
  }
  return true;
}

static bool solve(Cpu *cpu, Step *step) {
  if (!block_cholesky_analyze(cpu->solver, cpu->column_count, cpu->column_size, cpu->edge_count, (const int(*)[2])cpu->edge)) return false;
  block_cholesky_clear(cpu->solver);
  for (int k = 0; k < cpu->column_count; k++) {
    Affine minus = affine_sub(affine_sub(step->gradient[0], step->gradient[0]), step->gradient[cpu->column_body[k]]);
    block_cholesky_add_diagonal(cpu->solver, k, cpu->diagonal + 144 * (size_t)k);
    memcpy(cpu->right + 12 * (size_t)k, &minus, sizeof minus);
  }
  add_edges(cpu);
  int raised = block_cholesky_factor(cpu->solver, cpu->threads);
  cpu->base.raised = raised > 0;
  if (raised < 0) {
    cpu->base.numeric = true;
    return false;
  }
  block_cholesky_solve(cpu->solver, cpu->right, cpu->right);
  for (int k = 0; k < cpu->column_count; k++) memcpy(&step->newton[cpu->column_body[k]], cpu->right + 12 * (size_t)k, sizeof(Affine));
  return true;
}

bool cpu_direction(Backend *base, Step *step) {
  Cpu *cpu = (Cpu *)base;
  cpu->step = step;
  double t0 = clock_now();
  bool ok = assemble(cpu, step);
  double t1 = clock_now();
  ok = ok && solve(cpu, step);
  step->report->seconds[ABD_STAGE_ASSEMBLY] += t1 - t0;
  step->report->seconds[ABD_STAGE_SOLVE] += clock_now() - t1;
  return ok;
}
