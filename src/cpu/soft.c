/* Soft bodies on the CPU: moves their surfaces with the vertices, adds their elements to energies and matrix. Tested in
 * tests/test_soft.c. */
#include "cpu/cpu.h"

#include "kernel/constant.h"
#include "linear/block_edge.h"
#include "step/soft.h"

typedef struct Load {
  Cpu *cpu;
  Nodes q;
} Load;

static void move_task(void *context, int k) {
  const Load *l = context;
  soft_side_move(&l->cpu->surface[k], &l->cpu->model->soft[k], l->q);
}

static void start_task(void *context, int k) {
  const Load *l = context;
  soft_side_start(&l->cpu->surface[k], &l->cpu->model->soft[k], l->q);
}

static void aim_task(void *context, int k) {
  const Load *l = context;
  soft_side_aim(&l->cpu->surface[k], l->cpu->model, &l->cpu->model->soft[k], l->q);
}

void soft_load(Cpu *cpu, Nodes q) { parallel_for(cpu->threads, cpu->model->soft_count, 1, move_task, &(Load){cpu, q}); }

void soft_load_start(Cpu *cpu, Nodes q) {
  parallel_for(cpu->threads, cpu->model->soft_count, 1, start_task, &(Load){cpu, q});
}

void soft_load_motion(Cpu *cpu, Nodes direction) {
  parallel_for(cpu->threads, cpu->model->soft_count, 1, aim_task, &(Load){cpu, direction});
}

Box soft_box(const Model *m, const Soft *s, Nodes from, Nodes to) {
  Box box = box_empty();
  const Mesh *mesh = &m->mesh[m->body[s->body].mesh];
  for (int v = 0; v < mesh->vertex_count; v++) {
    int k = s->vertex + s->surface_vertex[v];
    box = box_add(box_add(box, from.vertex[k]), to.vertex[k]);
  }
  return box;
}

enum { CHUNK = 512 };

typedef struct Batch {
  const Work *work;
  const Soft *soft;
  int first;
  Nodes q;
  double *energy;
  SoftTerm *term;
  bool project;
} Batch;

static void energy_task(void *context, int k) {
  Batch *w = context;
  w->energy[k] = soft_energy(w->work, w->soft, w->first + k, w->q);
}

static void term_task(void *context, int k) {
  Batch *w = context;
  soft_term(w->work, w->soft, w->first + k, w->q, w->project, &w->term[k]);
}

/* Sums in the order of elements, in fixed chunks, so that the result is the same for any number of threads. */
double soft_total(const Cpu *cpu, const Soft *s, Nodes q) {
  double energy[CHUNK], sum = 0;
  int count = soft_element_count(s);
  for (int first = 0; first < count; first += CHUNK) {
    int n = count - first < CHUNK ? count - first : CHUNK;
    Batch w = {&cpu->work, s, first, q, energy, NULL, false};
    parallel_for(cpu->threads, n, 64, energy_task, &w);
    for (int k = 0; k < n; k++) sum += energy[k];
  }
  return sum;
}

static bool selected(const Cpu *cpu, int soft) {
  const Island *g = island_of_soft(cpu->islands, soft);
  return g && g->selected;
}

bool soft_coupling_init(SoftCoupling *c, const Model *m, const Soft *s) {
  int capacity = 0;
  for (int e = 0; e < soft_element_count(s); e++) {
    int v[4], n;
    soft_element_vertices(s, e, v, &n);
    if (!mem_reserve((void **)&c->edge, &capacity, c->count + 6, sizeof *c->edge)) return false;
    for (int i = 0; i < n; i++)
      for (int j = 0; j < i; j++) {
        if (!block_moves(m, v[i]) || !block_moves(m, v[j])) continue;
        c->edge[c->count][0] = v[i] < v[j] ? v[i] : v[j];
        c->edge[c->count++][1] = v[i] < v[j] ? v[j] : v[i];
      }
  }
  c->count = block_edges_sort(c->edge, c->count);
  int(*fitting)[2] = mem_resize(c->edge, (size_t)c->count, sizeof *c->edge);
  if (fitting) c->edge = fitting;
  return fitting != NULL;
}

bool soft_couple(Cpu *cpu) {
  for (int k = 0; k < cpu->model->soft_count; k++) {
    const SoftCoupling *c = &cpu->coupling[k];
    for (int e = 0, count = selected(cpu, k) ? c->count : 0; e < count; e++)
      if (!system_couple(&cpu->system, c->edge[e][0], c->edge[e][1])) return false;
  }
  return true;
}

static void add_term(Cpu *cpu, const SoftTerm *t) {
  const Model *m = cpu->model;
  for (int j = 0; j < t->count; j++) {
    if (!block_moves(m, t->body[j])) continue;
    Vec3 *g = &cpu->work.gradient.vertex[t->body[j] - m->body_count];
    *g = add(*g, t->gradient[j]);
    for (int i = 0; i <= j; i++) {
      double k[9];
      if (!block_moves(m, t->body[i])) continue;
      for (int c = 0; c < 3; c++)
        for (int r = 0; r < 3; r++) k[3 * c + r] = t->hessian[3 * t->count * (3 * j + c) + 3 * i + r];
      system_add_nodes(&cpu->system, t->body[i], t->body[j], k);
    }
  }
}

bool soft_add(Cpu *cpu) {
  const Model *m = cpu->model;
  SoftTerm *term = m->soft_count ? mem_alloc(CHUNK, sizeof *term) : NULL;
  if (m->soft_count && !term) return false;
  for (int k = 0; k < m->soft_count; k++) {
    const Soft *s = &m->soft[k];
    int count = selected(cpu, k) ? soft_element_count(s) : 0;
    for (int first = 0; first < count && !interrupted(m->interrupt); first += CHUNK) {
      int n = count - first < CHUNK ? count - first : CHUNK;
      Batch w = {&cpu->work, s, first, cpu->work.q, NULL, term, island_of_soft(cpu->islands, k)->convex > 0};
      parallel_for(cpu->threads, n, 16, term_task, &w);
      for (int i = 0; i < n; i++) add_term(cpu, &term[i]);
    }
  }
  mem_free(term);
  return true;
}

bool soft_make_convex(Cpu *cpu) {
  bool any = false;
  for (int k = 0; k < cpu->model->soft_count; k++) {
    Island *g = island_of_soft(cpu->islands, k);
    if (!g || !g->selected || g->convex > 0) continue;
    g->convex = CONVEX_ITERATIONS;
    any = true;
  }
  return any;
}
