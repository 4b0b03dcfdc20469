/* The division of the bodies by their loads: rank 0 partitions the graph of pairs if the loads of the ranks differ too
 * much. Loads are estimates by meshes, contacts and iterations, not times, so that a run has the same bits run after
 * run; and not counts of work that caches save, so that a resumed run has them too. See mpi/part.h. */
#include <stdlib.h>
#include <string.h>

#include "kernel/constant.h"
#include "mpi/part.h"

/* ---- loads ---- */

/* [us] on a core of a Xeon, measured on nets. Of each of Newton's iterations: by pairs that act, by the triangles of
 * their bodies (tests of boxes), by their contacts (one distance, a tenth to one continuous test), and by bodies. Of
 * each iteration of conjugate gradients: by bodies. Other pairs cost as much as one iteration. */
static const double acting_pair = 0.8, triangle = 0.002, contact = 3, body_newton = 2, body_solve = 0.05;

static double pair_load_of(const Model *m, const Pair *p, int iterations) {
  const Mesh *a = &m->mesh[m->body[p->a].mesh], *b = &m->mesh[m->body[p->b].mesh];
  double once = acting_pair + triangle * (a->triangle_count + b->triangle_count) + contact * p->contact.count;
  return once * (p->contact.count > 0 || p->friction.count > 0 ? 1 + iterations : 1);
}

static void add_load(Part *s, int body, double load) {
  if (s->own[body]) s->load[body] += (float)(0.5 * load);
}

/* The mean over steps, each with half of the weight of the next. A pair's load is that of its bodies in halves, also if
 * two ranks evaluate it. */
void part_update_loads(Part *s) {
  const Pairs *pairs = &s->cpu->pairs;
  const AbdStepReport *r = s->cpu->report;
  double own = 1 + body_newton * r->iterations + body_solve * r->linear_iterations;
  for (int k = 0; k < s->own_count; k++) {
    int i = s->own_body[k];
    s->load[i] *= 0.5F;
    add_load(s, i, own);
  }
  for (int k = 0; k < pairs->count; k++) {
    const int *body = pairs->body[k];
    double load = pair_load_of(s->model, pairs_at(pairs, k), r->iterations);
    bool both = s->owner[body[0]] >= 0 && s->owner[body[1]] >= 0;
    for (int side = 0; side < 2; side++) add_load(s, body[side], both ? 0.5 * load : load);
  }
}

/* ---- the graph ---- */

/* A pair that acts, cut between two ranks, couples them in the linear system; others are evaluated twice alone. */
static const float acting_strength = 10;

typedef struct GraphRecord {
  int a, b; /* a pair with its strength; b = -1: a body with its load and its contacts */
  float load, contacts;
} GraphRecord;

/* The stages that contacts take and those that bodies and pairs take each end with an exchange. So both are divided
 * evenly: contacts are a second weight. */
enum { WEIGHTS = 2, LEAST_CONTACTS = 20 };

/* Of each body, those of pairs of two own or other bodies in halves. */
static void count_contacts(const Part *s, float *contacts) {
  const Pairs *pairs = &s->cpu->pairs;
  for (int k = 0; k < pairs->count; k++) {
    const int *body = pairs->body[k];
    bool both = s->owner[body[0]] >= 0 && s->owner[body[1]] >= 0;
    float count = (float)pairs_at(pairs, k)->contact.count * (both ? 0.5F : 1);
    for (int side = 0; side < 2; side++)
      if (s->own[body[side]]) contacts[body[side]] += count;
  }
}

static bool put_bodies(Part *s) {
  float *contacts = mem_zeroed((size_t)s->model->body_count, sizeof *contacts);
  bool good = contacts && part_open(s);
  if (good) count_contacts(s, contacts);
  for (int k = 0; good && k < s->own_count; k++) {
    int i = s->own_body[k];
    good = part_put(s, &(GraphRecord){i, -1, s->load[i], contacts[i]}, sizeof(GraphRecord));
  }
  mem_free(contacts);
  return good;
}

static bool put_graph(Part *s) {
  const Pairs *pairs = &s->cpu->pairs;
  if (!put_bodies(s)) return false;
  for (int k = 0; k < pairs->count; k++) {
    const int *body = pairs->body[k];
    if (s->owner[body[0]] < 0 || s->owner[body[1]] < 0 || !counts_pair(s->cpu, k)) continue;
    const Pair *p = pairs_at(pairs, k);
    float strength = p->contact.count > 0 || p->friction.count > 0 ? acting_strength : 1;
    if (!part_put(s, &(GraphRecord){body[0], body[1], strength, 0}, sizeof(GraphRecord))) return false;
  }
  return true;
}

typedef struct Division {
  BodyGraph graph;
  int *before, *owner; /* per moving body */
  int *slot;           /* per body: index among the moving ones */
} Division;

static void division_free(Division *d) {
  void *array[] = {d->graph.first, d->graph.neighbour, d->graph.strength, d->graph.weight, d->before, d->owner,
                   d->slot};
  for (int k = 0; k < ARRAY_COUNT(array); k++) mem_free(array[k]);
}

/* The number of neighbours of each body, then their lists. */
static void read_graph(const Part *s, Division *d, bool lists) {
  double mean = s->mean_load * s->count / d->graph.count;
  for (PartReader in = {.rank = -1}; part_next(s, &in);) {
    GraphRecord r;
    part_take(&in, &r, sizeof r);
    int a = d->slot[r.a], b = r.b < 0 ? -1 : d->slot[r.b];
    if (b < 0) {
      d->graph.weight[WEIGHTS * a] = 1 + (int)(10 * r.load / mean);
      d->graph.weight[WEIGHTS * a + 1] = (int)r.contacts;
    } else if (lists) {
      d->graph.strength[d->graph.first[a]] = d->graph.strength[d->graph.first[b]] = (int)r.load;
      d->graph.neighbour[d->graph.first[a]++] = b;
      d->graph.neighbour[d->graph.first[b]++] = a;
    } else {
      d->graph.first[a + 1]++, d->graph.first[b + 1]++;
    }
  }
}

/* Without the second weight if there are hardly any contacts. */
static void drop_contacts(BodyGraph *g, int parts) {
  int64_t total = 0;
  for (int i = 0; i < g->count; i++) total += g->weight[WEIGHTS * i + 1];
  if (total >= (int64_t)LEAST_CONTACTS * parts) return;
  for (int i = 0; i < g->count; i++) g->weight[i] = g->weight[WEIGHTS * i];
  g->constraints = 1;
}

static bool build_graph(const Part *s, Division *d) {
  const Model *m = s->model;
  size_t n = (size_t)m->moving_count;
  d->graph.count = m->moving_count;
  d->graph.first = mem_zeroed(n + 2, sizeof(int));
  d->graph.weight = mem_zeroed(WEIGHTS * n, sizeof(int));
  d->graph.constraints = WEIGHTS;
  d->before = mem_alloc(n, sizeof(int));
  d->owner = mem_alloc(n, sizeof(int));
  d->slot = mem_alloc((size_t)m->body_count, sizeof(int));
  if (!d->graph.first || !d->graph.weight || !d->before || !d->owner || !d->slot) return false;
  for (int k = 0; k < m->moving_count; k++) d->slot[m->moving[k]] = k, d->before[k] = s->owner[m->moving[k]];
  read_graph(s, d, false);
  for (int k = 0; k < m->moving_count; k++) d->graph.first[k + 1] += d->graph.first[k];
  d->graph.neighbour = mem_alloc((size_t)d->graph.first[n] + 1, sizeof(int));
  d->graph.strength = mem_alloc((size_t)d->graph.first[n] + 1, sizeof(int));
  if (!d->graph.neighbour || !d->graph.strength) return false;
  read_graph(s, d, true);
  memmove(d->graph.first + 1, d->graph.first, n * sizeof(int)); /* the lists have moved them by one */
  d->graph.first[0] = 0;
  drop_contacts(&d->graph, s->count);
  return true;
}

/* Bodies that fly have no pairs, and parts of a graph without edges are scattered in space. */
static bool is_connected(const BodyGraph *g) { return g->first[g->count] >= g->count; }

/* On rank 0. Without METIS, or if most bodies fly, space is cut again, with the loads as weights. */
static bool divide(Part *s, Division *d) {
  const Model *m = s->model;
  if (!build_graph(s, d)) return false;
  if (is_connected(&d->graph) && partition_graph(&d->graph, s->count, d->before, d->owner)) return true;
  Vec3 *point = mem_alloc((size_t)d->graph.count, sizeof *point);
  double *weight = mem_alloc((size_t)d->graph.count, sizeof *weight);
  bool good = point && weight;
  for (int k = 0; good && k < d->graph.count; k++)
    point[k] = s->cpu->work.state->q.body[m->moving[k]].n[0], weight[k] = d->graph.weight[d->graph.constraints * k];
  good = good && partition_space(d->graph.count, point, weight, s->count, d->owner);
  mem_free(point), mem_free(weight);
  return good;
}

bool part_set_owners(Part *s, int *owner) {
  const Model *m = s->model;
  void *bytes = owner;
  size_t size = (size_t)m->moving_count * sizeof *owner;
  if (!ranks_spread(&bytes, &size)) return false;
  for (int k = 0; k < m->moving_count; k++) s->owner[m->moving[k]] = ((int *)bytes)[k];
  if (s->rank) free(bytes);
  return true;
}

static bool divide_anew(Part *s) {
  Division d = {0};
  bool good = ranks_agree(put_graph(s)) && part_collect(s);
  if (good && s->rank == 0) good = divide(s, &d);
  good = ranks_agree(good) && part_set_owners(s, d.owner);
  division_free(&d);
  s->since_division = 0;
  s->divisions++;
  return good;
}

void part_measure(Part *s) {
  double total = 0;
  for (int k = 0; k < s->own_count; k++) total += s->load[s->own_body[k]];
  double largest = total;
  int rank = s->rank;
  ranks_sum(&total, 1);
  ranks_most(&largest, &rank);
  s->mean_load = total / s->count;
  s->imbalance = s->mean_load > 0 ? largest / s->mean_load : 1;
}

/* The first division is by space and may be changed after the first step. */
bool part_divides(const Part *s) {
  bool soon = s->divisions > 0 && s->since_division + 1 < RANKS_PATIENCE;
  return !soon && s->imbalance >= RANKS_UNEVEN;
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
  if (s->divisions > 0) s->since_division++;
  if (!divides) return true;
  if (!divide_anew(s)) return false;
  if (s->common) take_loads(s, after);
  return true;
}
