/* Islands by union-find. A root is always the smallest body of its set, so the numbering depends on the pairs alone,
 * not on the order in which threads unite them. */
#include "step/island.h"

#include <string.h>

#include "step/joint.h"
#include "step/soft.h"

bool islands_init(Islands *s, const Model *model) {
  size_t n = (size_t)model->block_count;
  *s = (Islands){.model = model};
  size_t most_islands = (size_t)model->body_count; /* a soft body's vertices are in one */
  s->island = mem_zeroed(most_islands, sizeof(Island));
  s->merged = mem_zeroed(most_islands, sizeof(Island));
  s->of = mem_zeroed(n, sizeof(int));
  s->parent = mem_alloc(n, sizeof(int));
  s->first_body = mem_alloc(n, sizeof(int));
  s->listed = mem_alloc(most_islands, sizeof(int));
  return s->island && s->merged && s->of && s->parent && s->first_body && s->listed;
}

void islands_destroy(Islands *s) {
  void *array[] = {s->island, s->merged, s->of, s->parent, s->first_body, s->listed};
  for (int k = 0; k < ARRAY_COUNT(array); k++) mem_free(array[k]);
  segments_destroy(&s->member);
  memset(s, 0, sizeof *s);
}

Island *island_of_body(const Islands *s, int body) {
  return body < 0 || s->of[body] < 0 ? NULL : &s->island[s->of[body]];
}

Island *island_of_joint(const Islands *s, int joint) { return island_of_body(s, joint_body(s->model, joint)); }

Island *island_of_soft(const Islands *s, int soft) {
  return island_of_body(s, soft_representative(s->model, &s->model->soft[soft]));
}

void islands_list_all(Islands *s) {
  s->listed_count = s->count;
  for (int k = 0; k < s->count; k++) s->listed[k] = k;
}

void islands_list_active(Islands *s) {
  s->listed_count = 0;
  for (int k = 0; k < s->count; k++)
    if (s->island[k].progress == ISLAND_ACTIVE) s->listed[s->listed_count++] = k;
}

void islands_keep_active(Islands *s) {
  int count = 0;
  for (int e = 0; e < s->listed_count; e++)
    if (island_listed(s, e)->progress == ISLAND_ACTIVE) s->listed[count++] = s->listed[e];
  s->listed_count = count;
}

/* ---- union-find ---- */

static int parent_of(int *parent, int i) { return __atomic_load_n(&parent[i], __ATOMIC_RELAXED); }

/* Halves the path on the way; a lost race only leaves a longer path. */
static int find_root(int *parent, int i) {
  for (int p = parent_of(parent, i); p != i;) {
    int above = parent_of(parent, p);
    if (above != p) __atomic_store_n(&parent[i], above, __ATOMIC_RELAXED);
    i = p;
    p = above;
  }
  return i;
}

/* Links the larger root under the smaller one. */
static void unite_bodies(const Islands *s, int a, int b) {
  if (a < 0 || b < 0 || parent_of(s->parent, a) < 0 || parent_of(s->parent, b) < 0) return;
  for (;;) {
    int ra = find_root(s->parent, a), rb = find_root(s->parent, b);
    if (ra == rb) return;
    int upper = ra < rb ? ra : rb, lower = ra < rb ? rb : ra;
    if (__atomic_compare_exchange_n(&s->parent[lower], &(int){lower}, upper, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
      return;
  }
}

/* A soft body has one block per vertex; one vertex represents it here. */
static int representative(const Model *m, int body) {
  return m->soft_count && m->body[body].soft ? soft_representative(m, &m->soft[m->body[body].soft - 1]) : body;
}

typedef struct PairTask {
  const Islands *islands;
  const int (*pair)[2];
} PairTask;

static void unite_pair(void *context, int k) {
  const PairTask *task = context;
  const Model *m = task->islands->model;
  unite_bodies(task->islands, representative(m, task->pair[k][0]), representative(m, task->pair[k][1]));
}

static void unite_soft(const Islands *s) {
  const Model *m = s->model;
  for (int k = 0; k < m->soft_count; k++)
    for (int v = 0, first = soft_representative(m, &m->soft[k]); v < m->soft[k].vertex_count; v++)
      unite_bodies(s, first, m->soft[k].first + v);
  for (int k = 0; k < m->attachment_count; k++)
    unite_bodies(s, m->attachment[k].body, m->soft[m->attachment[k].soft].first + m->attachment[k].vertex);
}

static void unite_joints(const Islands *s) {
  const Model *m = s->model;
  for (int j = 0; j < m->joint_count; j++) {
    const Joint *joint = &m->joint[j];
    unite_bodies(s, joint->end[0].body, joint->end[1].body);
    if (joint->partner[0] >= 0) unite_bodies(s, joint_body(m, joint->partner[0]), joint_body(m, joint->partner[1]));
  }
}

/* ---- islands that go on ---- */

/* Two islands become one. It is active, since meeting is work, and its next iteration has all of its bodies. */
static void merge_island(Island *to, const Island *from) {
  bool to_active = to->progress == ISLAND_ACTIVE, from_active = from->progress == ISLAND_ACTIVE;
  to->slope = (to_active ? to->slope : 0) + (from_active ? from->slope : 0);
  to->newton_slope = (to_active ? to->newton_slope : 0) + (from_active ? from->newton_slope : 0);
  to->progress = ISLAND_ACTIVE;
  to->joined = to->whole = true;
  to->active_count += from->active_count;
  to->last = to->last && from->last && to_active && from_active;
  to->fraction = least(to_active ? to->fraction : 1, from_active ? from->fraction : 1);
  to->scale = least(to->scale, from->scale);
  to->searching |= from->searching;
  to->selected |= from->selected;
  to->touching |= from->touching;
  to->strained |= from->strained;
  if (from->damping > to->damping) to->uneven = from->uneven;
  to->damping = most(to->damping, from->damping);
  if (from->convex > to->convex) to->convex = from->convex;
  to->taut |= from->taut;
  if (from->lags < to->lags) to->lags = from->lags;
  if (from->disagreed < to->disagreed) to->disagreed = from->disagreed;
  to->disagreed_at = to->iterations > from->iterations ? to->iterations : from->iterations;
  to->smallest = to->smallest_before = INFINITY;
  to->steady = 0;
  to->plain = false;
  to->longer = 1;
  if (from->followed < to->followed) to->followed = from->followed;
  to->settled &= from->settled;
  if (from->iterations > to->iterations) to->iterations = from->iterations;
  if (from->residual > to->residual) {
    to->residual = from->residual;
    to->residual_body = from->residual_body;
  }
}

/* A body of an old island leads to its successor. The numbers of new islands ascend with their smallest bodies, and
 * so do those of the old ones: an island's first predecessor is met first. */
static void carry_over(Islands *s, int old_count) {
  for (int k = 0; k < old_count; k++) island_carry(&s->merged[s->of[s->first_body[k]]], &s->island[k]);
}

void island_carry(Island *to, const Island *from) {
  if (to->body_count++ == 0) {
    *to = *from;
    to->body_count = 1;
    to->limit[0] = to->limit[1] = -1;
  } else {
    merge_island(to, from);
  }
}

static void root_task(void *context, int i) {
  Islands *s = context;
  s->of[i] = parent_of(s->parent, i) < 0 ? -1 : find_root(s->parent, i);
}

/* A root precedes the other bodies of its set. */
static void number_islands(Islands *s, int threads) {
  s->count = 0;
  parallel_for(threads, s->model->block_count, 512, root_task, s);
  for (int i = 0; i < s->model->block_count; i++)
    if (s->of[i] >= 0) s->of[i] = s->of[i] == i ? s->count++ : s->of[s->of[i]];
}

static void set_members(Islands *s) {
  const Model *m = s->model;
  for (int k = 0; k < s->count; k++) s->island[k].body_count = s->member.first[k + 1] - s->member.first[k];
  for (int j = 0; (m->joint_count || m->soft_count) && j < m->moving_count; j++) {
    Island *g = &s->island[s->of[m->moving[j]]];
    bool vertex = block_is_vertex(m, m->moving[j]);
    g->jointed |= vertex || m->body[m->moving[j]].jointed;
    g->soft |= vertex;
  }
}

/* ---- islands of several processes ---- */

/* Islands ascend with their smallest body here; the root may be a body of another process. */
static void number_linked(Islands *s) {
  const Model *m = s->model;
  int *label = s->link->label;
  s->count = 0;
  for (int i = 0; i < m->block_count; i++) label[i] = s->of[i] = -1;
  for (int j = 0; j < m->moving_count; j++) {
    int i = m->moving[j], root = find_root(s->parent, i);
    if (label[root] < 0) label[root] = s->count++;
    s->of[i] = label[root];
  }
}

/* The members of an island are this process's own bodies. */
static bool group_own(Islands *s) {
  const Model *m = s->model;
  int *of = mem_alloc((size_t)m->moving_count, sizeof(int));
  if (!of) return false;
  for (int j = 0; j < m->moving_count; j++) of[j] = s->link->own[m->moving[j]] ? s->of[m->moving[j]] : -1;
  bool good = segments_build(&s->member, s->count, m->moving_count, of);
  for (int e = 0; good && s->count && e < s->member.first[s->count]; e++)
    s->member.item[e] = m->moving[s->member.item[e]];
  mem_free(of);
  return good;
}

static void set_roots(Islands *s) {
  const Model *m = s->model;
  for (int j = 0; j < m->moving_count; j++) {
    int i = m->moving[j];
    Island *g = &s->merged[s->of[i]];
    g->root = find_root(s->parent, i);
    g->shared |= !s->link->own[i];
    g->counted_elsewhere = !s->link->own[g->root];
  }
}

static void swap_arrays(Islands *s) {
  Island *t = s->island;
  s->island = s->merged;
  s->merged = t;
}

static bool build_linked(Islands *s, bool keep, int old_count) {
  if (!s->link->unite(s->link->self, s->parent)) return false;
  number_linked(s);
  if (!group_own(s)) return false;
  for (int k = 0; k < s->count; k++) s->merged[k] = (Island){.whole = true, .scale = 1, .limit = {-1, -1}};
  set_roots(s);
  if (keep && !s->link->carry(s->link->self, s, old_count)) return false;
  for (int k = 0; keep && k < s->count; k++) s->merged[k].shared = false;
  if (keep) set_roots(s);
  swap_arrays(s);
  for (int k = 0; k < s->count; k++) s->island[k].body_count = s->member.first[k + 1] - s->member.first[k];
  return s->link->count(s->link->self, s);
}

static void list(Islands *s, bool keep) {
  if (keep) islands_list_active(s);
  else islands_list_all(s);
}

bool islands_build(Islands *s, int threads, int pair_count, const int (*pair)[2], bool keep) {
  const Model *m = s->model;
  int old_count = keep ? s->count : 0;
  if (!keep) swap_arrays(s); /* new islands take the place of the old: pages of the other array stay untouched */
  for (int k = 0; k < old_count; k++) s->first_body[k] = s->member.item[s->member.first[k]];
  for (int i = 0; i < m->block_count; i++) s->parent[i] = -1; /* has no unknowns */
  for (int j = 0; j < m->moving_count; j++) s->parent[m->moving[j]] = m->moving[j];
  parallel_for(threads, pair_count, 256, unite_pair, &(PairTask){s, pair});
  if (s->link) {
    bool built = build_linked(s, keep, old_count);
    list(s, keep);
    return built;
  }
  unite_soft(s);
  unite_joints(s);
  number_islands(s, threads);
  bool built = segments_build(&s->member, s->count, m->block_count, s->of);
  for (int k = 0; k < s->count; k++) s->merged[k] = (Island){.whole = true, .scale = 1, .limit = {-1, -1}};
  if (keep && built) {
    for (int k = 0; k < s->count; k++) s->merged[k].body_count = 0;
    carry_over(s, old_count);
  }
  swap_arrays(s);
  if (built) set_members(s);
  list(s, keep);
  for (int k = 0; k < m->soft_count; k++) { /* pairs name the soft body, not its vertices */
    int body = soft_representative(m, &m->soft[k]);
    s->of[m->soft[k].body] = body < 0 ? -1 : s->of[body];
  }
  return built;
}
