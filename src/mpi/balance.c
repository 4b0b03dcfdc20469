/* The division of the bodies by their loads: the graph of pairs is partitioned if the loads of the ranks differ too
 * much, or their solves. Each rank makes a division of its own, and the best of them is taken. Loads are estimates by
 * meshes, contacts and iterations, not times, so that a run has the same bits run after run; and not counts of work
 * that caches save, so that a resumed run has them too. See mpi/part.h. */
#include <stdlib.h>
#include <string.h>

#include "kernel/constant.h"
#include "mpi/part.h"

/* ---- loads ---- */

/* [us] on a core of a Xeon, fitted to the processor times of ranks of a pile and a net. Of each of Newton's iterations:
 * by bodies that its systems have, by pairs with contact or friction, by the triangles of their smaller mesh and their
 * contacts. Of each iteration of conjugate gradients: by bodies of islands that ranks share. Of a step: by other pairs,
 * and by bodies.
 *
 * All bodies count as if they took part in all iterations. Islands end at different ones, but those of one step say
 * nothing about those of the next: in a pile the correlation was -0.6 to 0.5. */
static const double acting_pair = 1.6, triangle = 0.02, contact = 0.8, body_newton = 4, body_solve = 0.05,
                    body_step = 8;

static bool acts(const Pair *p) { return p->contact.count > 0 || p->friction.count > 0; }

static double pair_load_of(const Part *s, const Pair *p) {
  const Model *m = s->model;
  int a = m->mesh[m->body[p->a].mesh].triangle_count, b = m->mesh[m->body[p->b].mesh].triangle_count;
  if (!acts(p)) return acting_pair;
  return (acting_pair + triangle * (a < b ? a : b) + contact * p->contact.count) * (1 + s->cpu->report->iterations);
}

/* Of a body that acts, besides its pairs. */
static double acting_body_load(const Part *s, int body) {
  const AbdStepReport *r = s->cpu->report;
  const Island *island = island_of_body(s->cpu->islands, body);
  return body_newton * r->iterations + (island->shared ? body_solve * r->linear_iterations : 0);
}

static void add_load(Part *s, int body, double load, bool acting) {
  if (!s->own[body]) return;
  s->load[body] += (float)(0.5 * load);
  *(acting ? &s->now.acting : &s->now.idle) += load;
}

/* A pair's load is that of its bodies in halves, also if two ranks evaluate it. */
static void add_pair(Part *s, int k) {
  const int *body = s->cpu->pairs.body[k];
  const Pair *p = pairs_at(&s->cpu->pairs, k);
  double half = s->owner[body[0]] >= 0 && s->owner[body[1]] >= 0 ? 0.5 : 1, load = half * pair_load_of(s, p);
  for (int side = 0; side < 2; side++) {
    add_load(s, body[side], load, acts(p));
    if (s->own[body[side]]) s->now.contacts += half * p->contact.count;
  }
}

/* The mean over steps, each with half of the weight of the next. */
void part_update_loads(Part *s) {
  s->now = (PartLoad){0};
  for (int k = 0; k < s->own_count; k++) {
    int i = s->own_body[k];
    s->load[i] *= 0.5F;
    s->now.bodies += s->acts[i];
    add_load(s, i, body_step, false);
    if (s->acts[i]) add_load(s, i, acting_body_load(s, i), true);
  }
  for (int k = 0; k < s->cpu->pairs.count; k++) add_pair(s, k);
}

/* ---- the graph ---- */

/* A pair that acts, cut between two ranks, couples them in the linear system; others are evaluated twice alone. */
enum { ACTING_STRENGTH = 10 };

typedef struct GraphRecord {
  int a, b; /* a pair with its strength; b = -1: a body with its load and that of what acts */
  float load, acting;
} GraphRecord;

/* The stages that contacts take and those that bodies take each end with an exchange. So both are divided evenly: the
 * number of bodies, and the load of what acts. */
enum { WEIGHTS = 2, LEAST_CONTACTS = 20, WEIGHT_SCALE = 20 };

static bool put_bodies(Part *s) {
  bool good = part_open(s);
  for (int k = 0; good && k < s->own_count; k++) {
    int i = s->own_body[k];
    good = part_put(s, &(GraphRecord){i, -1, s->load[i], s->acts[i] ? s->load[i] : 0}, sizeof(GraphRecord));
  }
  return good;
}

static bool put_graph(Part *s) {
  const Pairs *pairs = &s->cpu->pairs;
  if (!put_bodies(s)) return false;
  for (int k = 0; k < pairs->count; k++) {
    const int *body = pairs->body[k];
    if (s->owner[body[0]] < 0 || s->owner[body[1]] < 0 || !counts_pair(s->cpu, k)) continue;
    const Pair *p = pairs_at(pairs, k);
    float strength = acts(p) ? ACTING_STRENGTH : 1;
    if (!part_put(s, &(GraphRecord){body[0], body[1], strength, 0}, sizeof(GraphRecord))) return false;
  }
  return true;
}

/* The graph's vertices are groups of bodies. A body that acts is one by itself. */
typedef struct Division {
  int count;   /* of moving bodies */
  int pairs;   /* of two of them */
  int *weight; /* per moving body and constraint */
  bool *acts;  /* per moving body */
  Vec3 *point; /* the same */
  int *owner;  /* the same: the result */
  int *group;  /* the same: its vertex */
  int *slot;   /* per body: index among the moving ones */
  BodyGraph graph;
  int *before, *after; /* owner, per vertex */
  Vec3 *middle;        /* per vertex */
  bool *loose;         /* per vertex: it is connected to its neighbours in space */
  int (*row)[2];       /* edges between groups in flight and their neighbours in space */
  int row_count;
} Division;

static void division_free(Division *d) {
  void *array[] = {
      d->weight,         d->acts,         d->point,  d->owner, d->group,  d->slot, d->graph.first, d->graph.neighbour,
      d->graph.strength, d->graph.weight, d->before, d->after, d->middle, d->row,  d->loose};
  for (int k = 0; k < ARRAY_COUNT(array); k++) mem_free(array[k]);
}

/* ---- bodies ---- */

static bool reserve_bodies(const Model *m, Division *d) {
  size_t n = (size_t)m->moving_count;
  d->count = m->moving_count;
  d->graph.constraints = WEIGHTS;
  d->weight = mem_zeroed(WEIGHTS * n, sizeof(int));
  d->acts = mem_zeroed(n, sizeof *d->acts);
  d->point = mem_alloc(n, sizeof *d->point);
  d->owner = mem_alloc(n, sizeof(int));
  d->group = mem_alloc(n, sizeof(int));
  d->slot = mem_alloc((size_t)m->body_count, sizeof(int));
  return d->weight && d->acts && d->point && d->owner && d->group && d->slot;
}

static void read_bodies(const Part *s, Division *d) {
  double mean = s->mean_load * s->count / d->count, mean_acting = (s->all.acting + 1) / d->count;
  for (PartReader in = {.rank = -1}; part_next(s, &in);) {
    GraphRecord r;
    part_take(&in, &r, sizeof r);
    int k = d->slot[r.a];
    d->pairs += r.b >= 0;
    if (r.b >= 0) continue;
    d->weight[WEIGHTS * k] = 1 + (int)(10 * r.load / mean);
    d->weight[WEIGHTS * k + 1] = (int)(WEIGHT_SCALE * r.acting / mean_acting + 0.5);
    d->acts[k] = r.acting > 0;
  }
}

static bool has_contacts(const Part *s) { return s->all.contacts >= LEAST_CONTACTS * s->count; }

/* Loads alone if there are hardly any contacts, else bodies and what acts. */
static void choose_weights(const Part *s, Division *d) {
  bool contacts = has_contacts(s);
  for (int i = 0; i < d->count; i++) {
    if (contacts) d->weight[WEIGHTS * i] = 1;
    else d->weight[i] = d->weight[WEIGHTS * i];
  }
  if (!contacts) d->graph.constraints = 1;
}

/* ---- groups ---- */

/* So many groups a rank divide bodies evenly; groups of more bodies would save little. */
enum { GROUPS_A_RANK = 200, GROUP_MOST = 32 };

static bool reserve_groups(Division *d) {
  size_t n = (size_t)d->graph.count;
  d->graph.first = mem_zeroed(n + 2, sizeof(int));
  d->graph.weight = mem_zeroed((size_t)d->graph.constraints * n, sizeof(int));
  d->before = mem_alloc(n, sizeof(int));
  d->after = mem_alloc(n, sizeof(int));
  d->middle = mem_alloc(n, sizeof *d->middle);
  d->loose = mem_alloc(n, sizeof *d->loose);
  return d->graph.first && d->graph.weight && d->before && d->after && d->middle && d->loose;
}

/* Most bodies of a pile that falls do not act, and METIS takes long for as many vertices. */
static bool find_groups(const Part *s, Division *d) {
  int size = d->count / (GROUPS_A_RANK * s->count), constraints = d->graph.constraints;
  size = size < 1 ? 1 : size < GROUP_MOST ? size : GROUP_MOST;
  d->graph.count = partition_groups(d->count, d->point, d->acts, size, d->group);
  if (d->graph.count < 0 || !reserve_groups(d)) return false;
  for (int k = 0; k < d->count; k++) {
    int g = d->group[k];
    for (int c = 0; c < constraints; c++) d->graph.weight[constraints * g + c] += d->weight[constraints * k + c];
    d->before[g] = s->owner[s->model->moving[k]]; /* of any of its bodies */
    d->middle[g] = d->point[k];
    d->loose[g] = !d->acts[k];
  }
  return true;
}

/* ---- edges ---- */

static void add_edge(BodyGraph *g, int a, int b, int strength, bool lists) {
  if (a == b) return;
  if (!lists) {
    g->first[a + 1]++, g->first[b + 1]++;
    return;
  }
  g->strength[g->first[a]] = g->strength[g->first[b]] = strength;
  g->neighbour[g->first[a]++] = b;
  g->neighbour[g->first[b]++] = a;
}

/* The number of neighbours of each vertex, then their lists. */
static void read_edges(const Part *s, Division *d, bool lists) {
  for (PartReader in = {.rank = -1}; part_next(s, &in);) {
    GraphRecord r;
    part_take(&in, &r, sizeof r);
    if (r.b >= 0) add_edge(&d->graph, d->group[d->slot[r.a]], d->group[d->slot[r.b]], (int)r.load, lists);
  }
}

/* Most bodies have no pairs. */
static bool most_fly(const Division *d) { return 2 * d->pairs < d->count; }

/* Bodies that do not act have few pairs or none, and parts of a graph without edges are scattered in space. */
static bool add_rows(Division *d) {
  BodyGraph *g = &d->graph;
  d->row = mem_alloc(3 * (size_t)g->count, sizeof *d->row);
  int found = d->row ? partition_rows(g->count, d->middle, d->row) : -1;
  for (int k = 0; k < found; k++)
    if (d->loose[d->row[k][0]] || d->loose[d->row[k][1]]) memmove(d->row[d->row_count++], d->row[k], sizeof *d->row);
  for (int k = 0; k < d->row_count; k++) add_edge(g, d->row[k][0], d->row[k][1], 1, false);
  return found >= 0;
}

static bool build_lists(const Part *s, Division *d) {
  BodyGraph *g = &d->graph;
  for (int k = 0; k < g->count; k++) g->first[k + 1] += g->first[k];
  g->neighbour = mem_alloc((size_t)g->first[g->count] + 1, sizeof(int));
  g->strength = mem_alloc((size_t)g->first[g->count] + 1, sizeof(int));
  if (!g->neighbour || !g->strength) return false;
  read_edges(s, d, true);
  for (int k = 0; k < d->row_count; k++) add_edge(g, d->row[k][0], d->row[k][1], 1, true);
  memmove(g->first + 1, g->first, (size_t)g->count * sizeof(int)); /* the lists have moved them by one */
  g->first[0] = 0;
  return true;
}

/* ---- the division ---- */

/* If less of the load acts, the number of bodies is divided evenly instead of the load: most of it falls to contacts,
 * and a rank with fewer of them would get the bodies in flight of several others. */
static const double mostly_acting = 0.9;

static bool divide_space(const Part *s, Division *d) {
  double *weight = mem_alloc((size_t)d->count, sizeof *weight);
  bool by_load = s->all.acting >= mostly_acting * (s->all.acting + s->all.idle);
  int constraints = d->graph.constraints, which = constraints > 1 && by_load;
  for (int k = 0; weight && k < d->count; k++) /* by load: plus 1, so that no body weighs nothing */
    weight[k] = which + d->weight[constraints * k + which];
  bool good = weight && partition_space(d->count, d->point, weight, s->count, d->owner);
  mem_free(weight);
  return good;
}

/* Of rank 0, for all ranks to partition. */
static bool build_graph(const Part *s, Division *d) {
  if (!find_groups(s, d)) return false;
  read_edges(s, d, false);
  return add_rows(d) && build_lists(s, d);
}

/* On rank 0. Space is cut again, with the loads as weights, if most bodies fly and there are hardly any contacts; the
 * graph is empty then. */
static bool prepare(Part *s, Division *d) {
  const Model *m = s->model;
  if (!reserve_bodies(m, d)) return false;
  for (int k = 0; k < m->moving_count; k++) {
    d->slot[m->moving[k]] = k;
    d->point[k] = s->cpu->work.state->q.body[m->moving[k]].n[0];
  }
  read_bodies(s, d);
  choose_weights(s, d);
  return most_fly(d) && d->graph.constraints == 1 ? divide_space(s, d) : build_graph(s, d);
}

/* ---- by all ranks ---- */

/* A graph as one array of numbers: how many vertices, constraints and entries there are, then the lists. */
enum { GRAPH_HEAD = 3, GRAPH_LISTS = 5 };

/* The lists of a graph and the parts so far; their lengths by the numbers at the start of the array. */
static void list_arrays(const int *head, BodyGraph *g, int **before, int ***list, size_t *length) {
  size_t n = (size_t)head[0], lengths[GRAPH_LISTS] = {n + 1, (size_t)head[2], (size_t)head[2], n * (size_t)head[1], n};
  list[0] = &g->first, list[1] = &g->neighbour, list[2] = &g->strength, list[3] = &g->weight, list[4] = before;
  memcpy(length, lengths, sizeof lengths);
}

static int *pack_graph(Division *d, size_t *size) {
  const BodyGraph *g = &d->graph;
  int head[GRAPH_HEAD] = {g->count, g->constraints, g->count ? g->first[g->count] : 0}, **list[GRAPH_LISTS];
  size_t length[GRAPH_LISTS], total = GRAPH_HEAD;
  list_arrays(head, &d->graph, &d->before, list, length);
  for (int k = 0; k < GRAPH_LISTS; k++) total += length[k];
  int *packed = mem_alloc(total, sizeof(int)), *at = packed;
  if (!packed) return NULL;
  memcpy(at, head, sizeof head);
  at += GRAPH_HEAD;
  for (int k = 0; g->count && k < GRAPH_LISTS; at += length[k++]) memcpy(at, *list[k], length[k] * sizeof(int));
  *size = total * sizeof(int);
  return packed;
}

/* The graph then points into the array. */
static void unpack_graph(int *packed, BodyGraph *g, int **before) {
  int **list[GRAPH_LISTS], *at = packed + GRAPH_HEAD;
  size_t length[GRAPH_LISTS];
  *g = (BodyGraph){.count = packed[0], .constraints = packed[1]};
  list_arrays(packed, g, before, list, length);
  for (int k = 0; k < GRAPH_LISTS; at += length[k++]) *list[k] = at;
}

/* [us] that each body at the border of the slowest rank adds to one of Newton's iterations, by solves for the border;
 * and how much less a new division has to take, so that bodies change their ranks. */
static const double border_body = 60, division_gain = 0.98;

/* What a division costs, relative to the mean load; infinite if memory is out. */
static double judge(const Part *s, const BodyGraph *g, const int *owner) {
  PartitionQuality q;
  double all = s->all.acting + s->all.idle, share = g->constraints > 1 && all > 0 ? s->all.acting / all : 0;
  if (!partition_judge(g, s->count, ACTING_STRENGTH, owner, &q)) return INFINITY;
  double solves = s->mean_load > 0 ? border_body * q.border * s->cpu->report->iterations / s->mean_load : 0;
  return (1 - share) * q.uneven[0] + share * q.uneven[1] + solves;
}

/* The division of the rank that found the best one goes to all. after: this rank's, then the best. *cost: of it,
 * infinite if no rank has one. False if memory is out. */
static bool take_best(Part *s, int count, int *after, double *cost) {
  double value = *cost < INFINITY ? 1 / (1 + *cost) : 0;
  int best = s->rank;
  ranks_most(&value, &best);
  *cost = value > 0 ? 1 / value - 1 : INFINITY;
  size_t size = (size_t)count * sizeof(int);
  bool good = part_open(s) && (best != s->rank || value <= 0 || part_put(s, after, size));
  if (stage_failed(part_share(s, MEET_GRAPH, stage_from(good)))) return false;
  PartReader in = {.rank = -1};
  if (value > 0 && part_next(s, &in)) part_take(&in, after, size);
  return true;
}

/* Each rank partitions the graph with another seed. */
static bool divide_by_all(Part *s, int *packed, int *after, double *cost, double *cost_before) {
  BodyGraph g;
  int *before;
  unpack_graph(packed, &g, &before);
  *cost_before = judge(s, &g, before);
  *cost = partition_graph(&g, s->count, 1 + s->rank, before, after) ? judge(s, &g, after) : INFINITY;
  return take_best(s, g.count, after, cost);
}

/* On rank 0: the owners of bodies by those of the graph's vertices. Without METIS space is cut. */
static bool set_division(const Part *s, Division *d, const int *after, double cost, double cost_before) {
  if (!(cost < INFINITY)) return divide_space(s, d);
  bool better = cost < division_gain * cost_before;
  for (int k = 0; k < d->count; k++) d->owner[k] = better ? after[d->group[k]] : s->owner[s->model->moving[k]];
  return true;
}

static bool divide_graph(Part *s, Division *d) {
  double cost, cost_before;
  size_t size = 0;
  void *packed = s->rank ? NULL : pack_graph(d, &size);
  bool good = ranks_agree(s->rank || packed) && ranks_spread(&packed, &size);
  int count = good ? ((int *)packed)[0] : 0, *after = mem_alloc((size_t)count + 1, sizeof(int));
  good = good && ranks_agree(after != NULL) && (!count || divide_by_all(s, packed, after, &cost, &cost_before));
  if (good && count && !s->rank) good = set_division(s, d, after, cost, cost_before);
  mem_free(after);
  if (s->rank) free(packed);
  else mem_free(packed);
  return good;
}

bool part_set_owners(Part *s, int *owner) {
  const Model *m = s->model;
  void *bytes = owner;
  size_t size = (size_t)m->moving_count * sizeof *owner;
  if (!ranks_spread(&bytes, &size)) return false;
  for (int k = 0; k < m->moving_count; k++) s->owner[m->moving[k]] = ((int *)bytes)[k];
  if (s->rank) free(bytes);
  s->listed = false;
  return true;
}

static bool divide_anew(Part *s) {
  Division d = {0};
  bool good = ranks_agree(put_graph(s)) && part_collect(s);
  if (good && s->rank == 0) good = prepare(s, &d);
  good = ranks_agree(good) && divide_graph(s, &d);
  good = ranks_agree(good) && part_set_owners(s, d.owner);
  division_free(&d);
  s->since_division = 0;
  s->divisions++;
  return good;
}

static double most_of_ranks(const Part *s, double value) {
  int rank = s->rank;
  ranks_most(&value, &rank);
  return value;
}

/* Stages end with an exchange each. Those that work on contacts last as long as on the rank with most of what acts,
 * the others as long as on the rank with most of the rest. */
void part_measure(Part *s) {
  double total = 0, now = s->now.acting + s->now.idle, share = now > 0 ? s->now.acting / now : 0;
  for (int k = 0; k < s->own_count; k++) total += s->load[s->own_body[k]];
  double sum[] = {total, s->now.acting, s->now.idle, s->now.contacts, s->now.bodies};
  double acting = most_of_ranks(s, share * total), idle = most_of_ranks(s, (1 - share) * total);
  double both = most_of_ranks(s, total);
  ranks_sum(sum, ARRAY_COUNT(sum));
  s->mean_load = sum[0] / s->count;
  s->all = (PartLoad){sum[1], sum[2], sum[3], sum[4]};
  s->solve_lost *= s->cpu->report->iterations;
  s->imbalance = s->mean_load > 0 ? (has_contacts(s) ? acting + idle : both) / s->mean_load : 1;
}

/* [us] to divide the graph, on rank 0 while the others wait: for a body that acts, and for one in a group. */
static const double body_division = 4, group_division = 0.6;

static double division_cost(const Part *s) {
  return body_division * s->all.bodies + group_division * (s->model->moving_count - s->all.bodies);
}

/* The first division is by space and may be changed after the first step. A division has to save what it costs: the
 * imbalance lasts as long again as since the last one. */
bool part_divides(const Part *s) {
  int steps = s->since_division + (s->divisions > 0 ? 1 : RANKS_PATIENCE);
  double lost = (s->imbalance - 1) * s->mean_load + s->solve_lost;
  return steps >= RANKS_PATIENCE && lost >= (RANKS_UNEVEN - 1) * s->mean_load && lost * steps >= division_cost(s);
}

/* The new owners of bodies take over their loads. */
static void take_loads(Part *s, State *after) {
  for (int i = 0; i < s->model->body_count; i++) {
    BodyShare *share = &after->shares.body[i];
    if (s->owner[i] == s->rank) s->load[i] = share->load, share->rank = s->rank;
    else if (s->owner[i] >= 0 && ranks_machine_of(s->owner[i]) != ranks_machine_of(s->rank) &&
             ranks_machine_rank() == 0)
      share->rank = s->owner[i];
  }
}

bool part_balance(Part *s, State *after) {
  bool divides = part_divides(s);
  s->since_division++;
  if (!divides) return true;
  if (!divide_anew(s)) return false;
  if (s->common) take_loads(s, after);
  return true;
}
