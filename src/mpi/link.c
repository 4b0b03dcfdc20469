/* Sets of bodies that several ranks share: islands, their scalars, and clusters. See mpi/part.h. */
#include <stdlib.h>
#include <string.h>

#include "mpi/part.h"
#include "step/cluster.h"

/* ---- union of sets ---- */

static int find(int *parent, int i) {
  if (parent[i] < 0) parent[i] = i;
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

static void unite(int *parent, int a, int b) {
  a = find(parent, a), b = find(parent, b);
  parent[a > b ? a : b] = a > b ? b : a;
}

typedef struct RootRecord {
  int body, root;
} RootRecord;

static bool put_roots(Part *s, int *parent, const int *body, int count) {
  for (int k = 0; k < count; k++)
    if (!part_put(s, &(RootRecord){body[k], find(parent, body[k])}, sizeof(RootRecord))) return false;
  return true;
}

/* A body at a border is in a set of each rank that has it. These sets are one. */
bool part_unite(void *self, int *parent) {
  Part *s = self;
  Outcome own = stage_from(part_open(s) && put_roots(s, parent, s->sent, s->sent_count) &&
                           put_roots(s, parent, s->halo_by_rank, s->halo_count));
  if (stage_failed(part_share(s, MEET_UNITE, own))) return false;
  for (PartReader in = {.rank = -1}; part_next(s, &in);) {
    RootRecord r;
    part_take(&in, &r, sizeof r);
    unite(parent, r.body, r.root);
  }
  return true;
}

/* ---- islands that go on ---- */

typedef struct CarryRecord {
  int root, old; /* of the new island; of the old one */
  Island island;
} CarryRecord;

static int compare_carries(const void *x, const void *y) {
  const CarryRecord *a = x, *b = y;
  return a->old - b->old;
}

static Island *successor(const Islands *islands, int k) {
  return &islands->merged[islands->of[islands->first_body[k]]];
}

static bool put_carries(Part *s, const Islands *islands, int old_count) {
  if (!part_open(s)) return false;
  for (int k = 0; k < old_count; k++) {
    CarryRecord r;
    if (!successor(islands, k)->shared) continue;
    memset(&r, 0, sizeof r);
    r.root = successor(islands, k)->root, r.old = islands->island[k].root, r.island = islands->island[k];
    if (!part_put(s, &r, sizeof r)) return false;
  }
  return true;
}

/* Old islands in the order of their roots. One that several ranks share is carried once. */
bool part_carry(void *self, Islands *islands, int old_count) {
  Part *s = self;
  if (stage_failed(part_share(s, MEET_CARRY, stage_from(put_carries(s, islands, old_count))))) return false;
  int count = 0;
  for (int k = 0; k < old_count; k++)
    if (!successor(islands, k)->shared) island_carry(successor(islands, k), &islands->island[k]);
  CarryRecord *list = mem_alloc((s->first[s->count] + sizeof *list) / sizeof *list, sizeof *list);
  for (PartReader in = {.rank = -1}; list && part_next(s, &in);) {
    part_take(&in, &list[count], sizeof *list);
    if (s->label[list[count].root] >= 0) count++;
  }
  if (list) qsort(list, (size_t)count, sizeof *list, compare_carries);
  for (int k = 0; list && k < count; k++)
    if (k == 0 || list[k].old != list[k - 1].old)
      island_carry(&islands->merged[s->label[list[k].root]], &list[k].island);
  mem_free(list);
  return ranks_agree(list != NULL);
}

/* ---- scalars ---- */

typedef struct IslandRecord {
  int root, count;
  int most_body, least_body[2], any;
  double sum[4], most, least;
} IslandRecord;

/* The record with no effect on a sum. */
static IslandRecord no_record(void) {
  return (IslandRecord){.most_body = -1, .least_body = {-1, -1}, .least = INFINITY, .most = -INFINITY};
}

static void add_record(IslandRecord *r, const IslandRecord *p) {
  r->count += p->count;
  r->any |= p->any;
  for (int i = 0; i < 4; i++) r->sum[i] += p->sum[i];
  if (!(p->most <= r->most)) r->most = p->most, r->most_body = p->most_body;
  if (p->least < r->least) r->least = p->least, memcpy(r->least_body, p->least_body, sizeof r->least_body);
}

/* The fields of an island that a stage sums, to a record or from it. */
static void move_fields(Island *g, IslandRecord *r, int what, bool to) {
#define MOVE(field, entry)                                                                                             \
  do {                                                                                                                 \
    if (to) r->entry = g->field;                                                                                       \
    else g->field = r->entry;                                                                                          \
  } while (0)
  switch (what) {
    case SHARE_EXCESS:
      MOVE(excess, most);
      MOVE(excess_body, most_body);
      MOVE(strained, any);
      break;
    case SHARE_ACTIVE: MOVE(active_count, count); break;
    case SHARE_RESIDUAL:
      MOVE(residual, most);
      MOVE(turn, most);
      MOVE(residual_body, most_body);
      MOVE(end_slope, sum[0]);
      break;
    case SHARE_SLOPE:
      MOVE(slope, sum[0]);
      MOVE(newton_slope, sum[1]);
      break;
    case SHARE_BOUND:
      MOVE(bound, least);
      MOVE(limit[0], least_body[0]);
      MOVE(limit[1], least_body[1]);
      break;
    case SHARE_TRIAL:
      MOVE(change, sum[0]);
      MOVE(noise, sum[1]);
      MOVE(min_gap, least);
      MOVE(touching, any);
      break;
    case SHARE_FOLLOW:
    case SHARE_LOAD:
      MOVE(load, sum[0]);
      MOVE(load_error, sum[1]);
      MOVE(load_product, sum[2]);
      MOVE(load_square, sum[3]);
      break;
    default: MOVE(body_count, count); break;
  }
#undef MOVE
}

static bool takes_part(const Island *g, int what) {
  if (!g->shared || what == SHARE_COUNT) return g->shared;
  return what == SHARE_LOAD ? g->compare : g->selected && (what != SHARE_FOLLOW || g->follows);
}

static bool put_islands(Part *s, Islands *islands, int what) {
  if (!part_open(s)) return false;
  for (int k = 0; k < s->shared_count; k++) {
    Island *g = &islands->island[s->shared[k]];
    IslandRecord r = no_record();
    if (!takes_part(g, what)) continue;
    r.root = g->root;
    move_fields(g, &r, what, true);
    if (!part_put(s, &r, sizeof r)) return false;
  }
  return true;
}

/* Sums in the order of the ranks, so that all have the same bits. */
static Outcome join_islands(Part *s, Islands *islands, MeetingKind kind, int what, Outcome own) {
  if (!stage_failed(own)) own = stage_from(put_islands(s, islands, what));
  Outcome outcome = part_share(s, kind, own);
  if (stage_failed(outcome)) return outcome;
  for (int k = 0; k < s->shared_count; k++) {
    Island *g = &islands->island[s->shared[k]];
    IslandRecord none = no_record();
    if (takes_part(g, what)) move_fields(g, &none, what, false);
  }
  for (PartReader in = {.rank = -1}; part_next(s, &in);) {
    IslandRecord r, sum = no_record();
    part_take(&in, &r, sizeof r);
    if (s->label[r.root] < 0) continue;
    Island *g = &islands->island[s->label[r.root]];
    move_fields(g, &sum, what, true);
    add_record(&sum, &r);
    move_fields(g, &sum, what, false);
  }
  return outcome;
}

Outcome part_share_islands(void *self, Cpu *cpu, Sharing what, Outcome own) {
  return join_islands(self, cpu->islands, (MeetingKind)(MEET_ISLANDS + what), what, own);
}

/* Most islands are of one body in flight. */
static bool list_shared(Part *s, const Islands *islands) {
  s->shared_count = 0;
  for (int k = 0; k < islands->count; k++) {
    if (!islands->island[k].shared) continue;
    if (!mem_reserve((void **)&s->shared, &s->shared_capacity, s->shared_count + 1, sizeof(int))) return false;
    s->shared[s->shared_count++] = k;
  }
  return true;
}

bool part_count(void *self, Islands *islands) {
  Outcome own = stage_from(list_shared(self, islands));
  return !stage_failed(join_islands(self, islands, MEET_MEMBERS, SHARE_COUNT, own));
}

/* ---- clusters ---- */

typedef struct ClusterRecord {
  int64_t root;
  Cluster cluster;
} ClusterRecord;

static int find_const(const int *root, int i) {
  while (root[i] != i) i = root[i];
  return i;
}

/* Marks clusters with a body at a border by a negative label. */
static bool put_clusters(Part *s, const int *root, int *label, const Cluster *cluster, const int *body, int count) {
  for (int k = 0; k < count; k++) {
    int at = find_const(root, body[k]);
    if (label[at] < 0) continue;
    ClusterRecord r;
    memset(&r, 0, sizeof r);
    r.root = at, r.cluster = cluster[label[at]];
    if (!part_put(s, &r, sizeof r)) return false;
    label[at] = -2 - label[at];
  }
  return true;
}

bool part_clusters(void *self, const int *root, const int *labels, Cluster *cluster) {
  Part *s = self;
  int *label = (int *)labels;
  bool good = part_open(s) && put_clusters(s, root, label, cluster, s->sent, s->sent_count) &&
              put_clusters(s, root, label, cluster, s->halo_by_rank, s->halo_count);
  if (stage_failed(part_share(s, MEET_CLUSTERS, stage_from(good)))) return false;
  for (int k = 0; k < s->view.moving_count; k++) {
    int at = find_const(root, s->view.moving[k]);
    if (label[at] > -2) continue;
    label[at] = -2 - label[at];
    memset(&cluster[label[at]], 0, sizeof *cluster);
  }
  for (PartReader in = {.rank = -1}; part_next(s, &in);) {
    ClusterRecord r;
    part_take(&in, &r, sizeof r);
    if (label[r.root] >= 0) cluster_join(&cluster[label[r.root]], &r.cluster);
  }
  return true;
}
