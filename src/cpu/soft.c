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

bool soft_selected(const Cpu *cpu, int soft) {
  const Island *g = island_of_soft(cpu->islands, soft);
  return g && g->selected;
}

enum { CHUNK = 4096, BOUND_CHUNKS = 512 };

/* Elements of a soft body from `first` on. */
typedef struct Batch {
  Cpu *cpu;
  const Soft *soft;
  int first;
  Nodes q;
  double *energy;
} Batch;

static void energy_task(void *context, int k) {
  Batch *w = context;
  w->energy[k] = soft_energy(&w->cpu->work, w->soft, w->first + k, w->q);
}

static void gain_task(void *context, int k) {
  Batch *w = context;
  const Work *work = &w->cpu->work;
  int e = w->first + k;
  w->energy[k] = soft_elastic_energy(w->soft, e, work->q) - soft_elastic_energy(w->soft, e, work->state->q);
}

/* Adds in the order of elements, so that the result is the same for any number of threads. */
static void add_energies(Cpu *cpu, const Soft *s, Nodes q, ParallelBody *task, double *sum) {
  double energy[CHUNK];
  int count = soft_element_count(s);
  for (int first = 0; first < count; first += CHUNK) {
    int n = count - first < CHUNK ? count - first : CHUNK;
    parallel_for(cpu->threads, n, 64, task, &(Batch){.cpu = cpu, .soft = s, .first = first, .q = q, .energy = energy});
    for (int k = 0; k < n; k++) *sum += energy[k];
  }
}

bool soft_energies(Cpu *cpu, Nodes q, bool all, double *energy) {
  const Model *m = cpu->model;
  if (cpu->soft_machine) return cpu->soft_machine->energies(cpu->soft_machine_self, cpu, q, all, energy);
  for (int k = 0; k < m->soft_count; k++) {
    if (!all && !soft_selected(cpu, k)) continue;
    energy[k] = 0;
    add_energies(cpu, &m->soft[k], q, energy_task, &energy[k]);
  }
  return true;
}

void soft_add_gain(Cpu *cpu, const Soft *s, double *sum) { add_energies(cpu, s, cpu->work.q, gain_task, sum); }

typedef struct Bounds {
  const Cpu *cpu;
  const Soft *soft;
  double least[BOUND_CHUNKS];
} Bounds;

static void bound_chunk(void *context, int first, int last, int index) {
  Bounds *b = context;
  b->least[index] = 1;
  for (int e = first; e < last; e++) b->least[index] = least(b->least[index], soft_bound(&b->cpu->work, b->soft, e));
}

double soft_least_bound(Cpu *cpu, const Soft *s) {
  Bounds b = {.cpu = cpu, .soft = s};
  int chunk = 256 + s->tet_count / BOUND_CHUNKS, chunks = parallel_chunk_count(s->tet_count, chunk);
  double bound = 1;
  parallel_chunks(cpu->threads, s->tet_count, chunk, bound_chunk, &b);
  for (int c = 0; c < chunks; c++) bound = least(bound, b.least[c]);
  return bound;
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

bool soft_couple(Cpu *cpu, bool all) {
  for (int k = 0; k < cpu->model->soft_count; k++) {
    const SoftCoupling *c = &cpu->coupling[k];
    for (int e = 0, count = all || soft_selected(cpu, k) ? c->count : 0; e < count; e++)
      if (!system_couple(&cpu->system, c->edge[e][0], c->edge[e][1])) return false;
  }
  return true;
}

/* ---- the matrix ---- */

/* Terms are computed in rounds, some elements of each soft body at a time, and added after each round by all threads.
 * Each share has some columns of L, and adds what belongs to them in the order of the terms, so that the sums do not
 * depend on the number of threads. A round has elements of all bodies, since blocks between vertices that are attached
 * to one stiff body all belong to its column, so to one share. */
enum { ROUND = 1024, MOST_SHARES = 64, PARTS = 14, NO_SHARE = 255 };

/* What an element adds: blocks (i, j) with i <= j in the order of j, then gradients. */
typedef struct ElementTerm {
  SoftTerm term;
  int blocks, parts;          /* numbers of blocks; of blocks and gradients */
  unsigned char share[PARTS]; /* of each part; NO_SHARE = not added */
} ElementTerm;

/* Elements of a soft body in a round. */
typedef struct Piece {
  const Soft *soft;
  int first, count;
  bool project;
} Piece;

typedef struct Round {
  Cpu *cpu;
  Piece *piece;
  ElementTerm *element; /* room of each piece */
  uint64_t *shares_of;  /* by element: bit k = share k has a part of it */
  int pieces, room;
  int shares; /* a power of two */
  bool rest;  /* elements have blocks in several columns of L: share number `shares` */
} Round;

/* The share of the block between two vertices, by their columns of L. */
static int share_of(const Round *r, int a, int b) {
  if (a == -1 || b == -1) return NO_SHARE;
  if (a == SYSTEM_SEVERAL || b == SYSTEM_SEVERAL) return r->shares;
  return (a < b ? a : b) & (r->shares - 1);
}

/* Finds the shares of the parts. Gradients belong to shares by vertex. */
static uint64_t find_shares(Round *r, ElementTerm *e) {
  const Cpu *cpu = r->cpu;
  int column[4], count = e->term.count;
  uint64_t all = 0;
  e->parts = 0;
  for (int i = 0; i < count; i++)
    column[i] = block_moves(cpu->model, e->term.body[i]) ? system_column(&cpu->system, e->term.body[i]) : -1;
  for (int j = 0; j < count; j++)
    for (int i = 0; i <= j; i++) e->share[e->parts++] = (unsigned char)share_of(r, column[i], column[j]);
  e->blocks = e->parts;
  for (int i = 0; i < count; i++) {
    bool moves = block_moves(cpu->model, e->term.body[i]);
    e->share[e->parts++] = (unsigned char)(moves ? e->term.body[i] & (r->shares - 1) : NO_SHARE);
  }
  for (int k = 0; k < e->parts; k++) {
    if (e->share[k] < r->shares) all |= (uint64_t)1 << e->share[k];
    if (e->share[k] == r->shares) __atomic_store_n(&r->rest, true, __ATOMIC_RELAXED);
  }
  return all;
}

static void term_task(void *context, int k) {
  Round *r = context;
  const Piece *p = &r->piece[k / r->room];
  const Work *w = &r->cpu->work;
  if (k % r->room >= p->count) return;
  soft_term(w, p->soft, p->first + k % r->room, w->q, p->project, &r->element[k].term);
  r->shares_of[k] = find_shares(r, &r->element[k]);
}

static void add_block(Cpu *cpu, const SoftTerm *t, int i, int j) {
  double k[9];
  for (int c = 0; c < 3; c++)
    for (int r = 0; r < 3; r++) k[3 * c + r] = t->hessian[3 * t->count * (3 * j + c) + 3 * i + r];
  system_add_nodes(&cpu->system, t->body[i], t->body[j], k);
}

static void add_gradient(Cpu *cpu, const SoftTerm *t, int i) {
  Vec3 *g = &cpu->work.gradient.vertex[t->body[i] - cpu->model->body_count];
  *g = add(*g, t->gradient[i]);
}

static void add_parts(Cpu *cpu, const ElementTerm *e, int share) {
  static const unsigned char row[] = {0, 0, 1, 0, 1, 2, 0, 1, 2, 3}, column[] = {0, 1, 1, 2, 2, 2, 3, 3, 3, 3};
  for (int k = 0; k < e->parts; k++) {
    if (e->share[k] != share) continue;
    if (k < e->blocks) add_block(cpu, &e->term, row[k], column[k]);
    else add_gradient(cpu, &e->term, k - e->blocks);
  }
}

static void add_share(void *context, int share) {
  const Round *r = context;
  for (int p = 0; p < r->pieces; p++)
    for (int k = r->room * p; k < r->room * p + r->piece[p].count; k++)
      if (share == r->shares || r->shares_of[k] >> share & 1) add_parts(r->cpu, &r->element[k], share);
}

static void run_round(Round *r) {
  int threads = r->cpu->threads;
  r->rest = false;
  parallel_for(threads, r->room * r->pieces, 16, term_task, r);
  parallel_for(threads, r->shares, 1, add_share, r);
  if (r->rest) add_share(r, r->shares);
}

/* Some shares per thread: one has more to add than another. */
static int share_count(int threads) {
  int shares = 1;
  while (threads > 1 && shares < 2 * threads && shares < MOST_SHARES) shares *= 2;
  return shares;
}

/* The next elements of all bodies that have any left, as many of each. */
static bool next_round(Round *r) {
  int kept = 0;
  for (int p = 0; p < r->pieces; p++) {
    Piece next = r->piece[p];
    next.first += next.count;
    if (next.first < soft_element_count(next.soft)) r->piece[kept++] = next;
  }
  r->pieces = kept;
  r->room = ROUND / (kept ? kept : 1) + 1;
  for (int p = 0; p < kept; p++) {
    int left = soft_element_count(r->piece[p].soft) - r->piece[p].first;
    r->piece[p].count = left < r->room ? left : r->room;
  }
  return kept > 0;
}

bool soft_add(Cpu *cpu) {
  const Model *m = cpu->model;
  if (!m->soft_count) return true;
  if (cpu->soft_machine) return soft_add_sums(cpu);
  size_t most = ROUND + (size_t)m->soft_count; /* elements of a round */
  Round r = {.cpu = cpu, .shares = share_count(cpu->threads)};
  r.piece = mem_alloc((size_t)m->soft_count, sizeof *r.piece);
  r.element = mem_alloc(most, sizeof *r.element);
  r.shares_of = mem_alloc(most, sizeof *r.shares_of);
  bool done = r.piece && r.element && r.shares_of;
  for (int k = 0; done && k < m->soft_count; k++)
    if (soft_selected(cpu, k))
      r.piece[r.pieces++] = (Piece){&m->soft[k], 0, 0, island_of_soft(cpu->islands, k)->convex > 0};
  while (done && next_round(&r) && !interrupted(m->interrupt)) run_round(&r);
  mem_free(r.piece);
  mem_free(r.element);
  mem_free(r.shares_of);
  return done;
}
