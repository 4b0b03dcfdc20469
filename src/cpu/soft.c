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

/* The coupling of two vertices, -1 if there is none. */
static int find_coupling(const SoftCoupling *c, int a, int b) {
  const int end[2] = {a, b};
  int at = block_edges_before((const int(*)[2])c->edge, c->count, end);
  return at < c->count && c->edge[at][0] == a && c->edge[at][1] == b ? at : -1;
}

/* Where the blocks of the elements belong. */
static bool find_places(SoftCoupling *c, const Soft *s) {
  int elements = soft_element_count(s);
  c->place = mem_alloc((size_t)elements, sizeof *c->place);
  for (int e = 0; c->place && e < elements; e++) {
    int v[4], n, *place = c->place[e];
    soft_element_vertices(s, e, v, &n);
    for (int j = 0; j < 4; j++)
      for (int i = 0; i < j; i++, place++) {
        bool turned = j < n && v[i] > v[j];
        int at = j < n ? find_coupling(c, v[turned ? j : i], v[turned ? i : j]) : -1;
        *place = at < 0 ? -1 : 2 * at + turned;
      }
  }
  return c->place != NULL;
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
  return fitting && find_places(c, s);
}

void soft_coupling_destroy(SoftCoupling *c) {
  mem_free(c->edge);
  mem_free(c->place);
  mem_free(c->vertex_sum);
  mem_free(c->edge_sum);
}

bool soft_couple(Cpu *cpu, bool all) {
  for (int k = 0; k < cpu->model->soft_count; k++) {
    const SoftCoupling *c = &cpu->coupling[k];
    for (int e = 0, count = all || soft_selected(cpu, k) ? c->count : 0; e < count; e++)
      if (!system_couple(&cpu->system, c->edge[e][0], c->edge[e][1])) return false;
  }
  return true;
}

/* ---- sums by vertex and by coupling ---- */

/* Terms are computed in rounds, some elements of each soft body at a time, and added after each round by all threads.
 * Each share has some of the sums, and adds what belongs to them in the order of the elements, so that they do not
 * depend on the number of threads. One thread adds terms while they are in its cache. */
enum { ROUND = 1024, ROUND_ALONE = 16, MOST_SHARES = 64 };

/* Elements of a soft body in a round. */
typedef struct Piece {
  const Soft *soft;
  SoftCoupling *coupling;
  SoftElements all;
  int first, count;
  bool project;
} Piece;

typedef struct ElementTerm {
  int count, vertex[4];
  double number[TERM_NUMBERS];
} ElementTerm;

typedef struct Round {
  Cpu *cpu;
  Piece *piece;
  ElementTerm *element; /* room of each piece */
  int pieces, room;
  int size;   /* elements of a round */
  int shares; /* a power of two */
} Round;

static void term_task(void *context, int k) {
  const Round *r = context;
  const Piece *p = &r->piece[k / r->room];
  ElementTerm *t = &r->element[k];
  if (k % r->room >= p->count) return;
  SoftElement e = soft_element_at(&p->all, p->first + k % r->room, r->cpu->work.q.vertex + p->soft->vertex);
  soft_element_term(&p->all, &e, p->project, t->number);
  t->count = e.count;
  memcpy(t->vertex, e.vertex, sizeof t->vertex);
}

static void add_numbers(double *restrict sum, const double *restrict number, int count) {
  for (int k = 0; k < count; k++) sum[k] += number[k];
}

static void add_turned(double *restrict sum, const double *restrict block) {
  for (int k = 0; k < 9; k++) sum[k] += block[3 * (k % 3) + k / 3];
}

/* mask: sums whose numbers have the share's bits below it are the share's. */
static void add_term(const SoftCoupling *c, const ElementTerm *t, const int place[6], int mask, int share) {
  for (int j = 0; j < t->count; j++) {
    for (int i = 0; i < j; i++, place++) {
      if (*place < 0 || (*place / 2 & mask) != share) continue;
      const double *block = t->number + term_block(i, j);
      if (*place % 2) add_turned(c->edge_sum[*place / 2], block);
      else add_numbers(c->edge_sum[*place / 2], block, 9);
    }
    if ((t->vertex[j] & mask) != share) continue;
    double *sum = c->vertex_sum[t->vertex[j]];
    add_numbers(sum, t->number + term_block(j, j), 9);
    add_numbers(sum + 9, t->number + TERM_GRADIENT + 3 * j, 3);
  }
}

static void add_share(void *context, int share) {
  const Round *r = context;
  for (int n = 0; n < r->pieces; n++) {
    const Piece *p = &r->piece[n];
    for (int k = 0; k < p->count; k++)
      add_term(p->coupling, &r->element[r->room * n + k], p->coupling->place[p->first + k], r->shares - 1, share);
  }
}

static void run_round(Round *r) {
  int threads = r->cpu->threads;
  parallel_for(threads, r->room * r->pieces, 16, term_task, r);
  parallel_for(threads, r->shares, 1, add_share, r);
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
  r->room = r->size / (kept ? kept : 1) + 1;
  for (int p = 0; p < kept; p++) {
    int left = soft_element_count(r->piece[p].soft) - r->piece[p].first;
    r->piece[p].count = left < r->room ? left : r->room;
  }
  return kept > 0;
}

/* Room for the sums, set to zero. */
static bool clear_sums(SoftCoupling *c, const Soft *s) {
  size_t vertices = (size_t)s->vertex_count, edges = (size_t)c->count;
  if (!c->vertex_sum) c->vertex_sum = mem_alloc(vertices, sizeof *c->vertex_sum);
  if (!c->edge_sum) c->edge_sum = mem_alloc(edges, sizeof *c->edge_sum);
  if (!c->vertex_sum || !c->edge_sum) return false;
  memset(c->vertex_sum, 0, vertices * sizeof *c->vertex_sum);
  if (edges) memset(c->edge_sum, 0, edges * sizeof *c->edge_sum);
  return true;
}

bool soft_sum(Cpu *cpu, SoftSum *sum) {
  const Model *m = cpu->model;
  if (cpu->soft_machine) return cpu->soft_machine->terms(cpu->soft_machine_self, cpu, sum);
  Round r = {.cpu = cpu, .size = cpu->threads > 1 ? ROUND : ROUND_ALONE, .shares = share_count(cpu->threads)};
  r.piece = mem_alloc((size_t)m->soft_count, sizeof *r.piece);
  r.element = mem_alloc((size_t)r.size + (size_t)m->soft_count, sizeof *r.element);
  bool done = r.piece && r.element;
  for (int k = 0; done && k < m->soft_count; k++) {
    SoftCoupling *c = &cpu->coupling[k];
    const Soft *s = &m->soft[k];
    if (!soft_selected(cpu, k)) continue;
    r.piece[r.pieces++] =
        (Piece){s, c, soft_elements_in(&cpu->work, s), 0, 0, island_of_soft(cpu->islands, k)->convex > 0};
    done = clear_sums(c, s);
    sum[k] = (SoftSum){(const double(*)[12])c->vertex_sum, (const double(*)[9])c->edge_sum};
  }
  while (done && next_round(&r) && !interrupted(m->interrupt)) run_round(&r);
  mem_free(r.piece);
  mem_free(r.element);
  return done;
}
