/* Sweep and prune: bodies sorted by the lower ends of their boxes along one axis. Each body is tested against the later
 * ones that begin before its end. The first pass counts its pairs, the second writes their keys. Tested in
 * tests/test_contact.c. */
#include "contact/broad.h"

#include <string.h>

bool broad_init(Broad *broad, const Model *model) {
  memset(broad, 0, sizeof *broad);
  broad->axis = -1;
  broad->threads = model->def.solver.threads;
  broad->box = mem_zeroed((size_t)model->body_count, sizeof(Box));
  broad->order = mem_alloc((size_t)model->body_count, sizeof(int));
  broad->sorted = mem_alloc((size_t)model->body_count, sizeof(Box));
  broad->found = mem_alloc((size_t)model->body_count, sizeof(int));
  broad->tested = mem_alloc((size_t)model->body_count, sizeof(int));
  return broad->box && broad->order && broad->sorted && broad->found && broad->tested;
}

bool broad_share(Broad *broad, Box *box) {
  if (!box) return false;
  mem_free(broad->box);
  broad->box = box;
  return broad->shared = true;
}

void broad_destroy(Broad *broad) {
  if (!broad->shared) mem_free(broad->box);
  mem_free(broad->order);
  mem_free(broad->sorted);
  mem_free(broad->found);
  mem_free(broad->tested);
  mem_free(broad->pair);
  mem_free(broad->scratch);
  memset(broad, 0, sizeof *broad);
}

Box posed_box(const Side *side, const Affine *q) {
  const double far = 1e150;
  if (side->mesh->half_space) return (Box){vec3(-far, -far, -far), vec3(far, far, far)};
  return box_transform(q, *side_box(side));
}

Box body_box(const Model *model, int body, const Affine *q) {
  Side side = side_stiff(&model->mesh[model->body[body].mesh]);
  return posed_box(&side, q);
}

Box swept_box(const Model *model, int body, const Affine *from, const Affine *to) {
  return box_union(body_box(model, body, from), body_box(model, body, to));
}

static int spread_axis(const Broad *broad, const Model *model) {
  Vec3 sum = vec3(0, 0, 0), sum_sq = vec3(0, 0, 0);
  double n = 0;
  for (int k = 0; k < broad->count; k++) {
    int i = broad->own ? broad->order[k] : k;
    if (model->body[i].motion == ABD_MOTION_STATIC && !model->body[i].soft) continue;
    Vec3 c = box_center(broad->box[i]);
    if (!vec3_finite(c)) continue;
    n++;
    sum = add(sum, c);
    sum_sq = add(sum_sq, vec3(c.x * c.x, c.y * c.y, c.z * c.z));
  }
  Vec3 var = sub(sum_sq, scale(n > 0 ? 1 / n : 0, vec3(sum.x * sum.x, sum.y * sum.y, sum.z * sum.z)));
  return var.x >= var.y && var.x >= var.z ? 0 : var.y >= var.z ? 1 : 2;
}

/* The own bodies and those whose boxes meet the box around all of them. */
static void list_near_own(Broad *broad, int body_count) {
  Box around = {vec3(INFINITY, INFINITY, INFINITY), vec3(-INFINITY, -INFINITY, -INFINITY)};
  for (int i = 0; i < body_count; i++)
    if (broad->own[i]) around = box_union(around, broad->box[i]);
  broad->count = 0;
  for (int i = 0; i < body_count; i++)
    if (broad->own[i] || box_overlap(around, broad->box[i])) broad->order[broad->count++] = i;
  broad->axis = -1;
}

static void list_bodies(Broad *broad, int body_count) {
  if (broad->own) {
    list_near_own(broad, body_count);
  } else if (broad->count != body_count) {
    for (int i = 0; i < body_count; i++) broad->order[i] = i;
    broad->count = body_count;
    broad->axis = -1;
  }
}

static bool comes_before(const Broad *broad, int axis, int a, int b) {
  double x = component(broad->box[a].lo, axis), y = component(broad->box[b].lo, axis);
  return x < y || (x == y && a < b);
}

/* Shell sort with Ciura's gaps. If the order of the last call along this axis is nearly right, its last round, an
 * insertion sort, does all the work. */
static void sort_order(Broad *broad, int count, int axis) {
  static const int gap[] = {2305843, 1048101, 476409, 216549, 98431, 44741, 20336, 9243, 4201,
                            1750,    701,     301,    132,    57,    23,    10,    4,    1};
  for (int k = broad->axis == axis ? ARRAY_COUNT(gap) - 1 : 0; k < ARRAY_COUNT(gap); k++)
    for (int i = gap[k]; i < count; i++) {
      int body = broad->order[i], j = i;
      for (; j >= gap[k] && comes_before(broad, axis, body, broad->order[j - gap[k]]); j -= gap[k])
        broad->order[j] = broad->order[j - gap[k]];
      broad->order[j] = body;
    }
  broad->axis = axis;
}

typedef struct Sweep {
  Broad *broad;
  const Model *model;
} Sweep;

static void sort_box(void *context, int i) {
  Broad *broad = ((Sweep *)context)->broad;
  broad->sorted[i] = broad->box[broad->order[i]];
}

/* The pairs of the body at position i with later bodies, and with itself if it is a soft body that may touch itself.
 * key: NULL to count. *tests: of boxes. */
static int sweep_from(const Sweep *s, int i, uint64_t *key, int *tests) {
  const Broad *b = s->broad;
  const Box box = b->sorted[i];
  int body = b->order[i], n = b->count, count = 0;
  double end = component(box.hi, b->axis);
  int j = i;
  for (; j < n && component(b->sorted[j].lo, b->axis) <= end; j++) {
    int other = b->order[j];
    if (b->own && !b->own[body] && !b->own[other]) continue;
    if (!box_overlap(box, b->sorted[j]) || !model_collides(s->model, body, other)) continue;
    if (key) key[count] = pair_key(body, other);
    count++;
  }
  *tests = j - i;
  return count;
}

static void count_pairs(void *context, int i) {
  Sweep *s = context;
  s->broad->found[i] = sweep_from(s, i, NULL, &s->broad->tested[i]);
}

static void write_pairs(void *context, int i) {
  Sweep *s = context;
  sweep_from(s, i, s->broad->pair + s->broad->found[i], &s->broad->tested[i]);
}

bool broad_find(Broad *broad, const Model *model) {
  Sweep s = {broad, model};
  list_bodies(broad, model->body_count);
  int n = broad->count;
  sort_order(broad, n, spread_axis(broad, model));
  parallel_for(broad->threads, n, 256, sort_box, &s);
  parallel_for(broad->threads, n, 16, count_pairs, &s);
  broad->pair_count = (int)parallel_scan(broad->threads, n, broad->found);
  broad->tests = 0;
  for (int i = 0; i < n; i++) broad->tests += broad->tested[i];
  if (!mem_reserve((void **)&broad->pair, &broad->pair_capacity, broad->pair_count, sizeof(uint64_t)) ||
      !mem_reserve((void **)&broad->scratch, &broad->scratch_capacity, broad->pair_count, sizeof(uint64_t)))
    return false;
  parallel_for(broad->threads, n, 16, write_pairs, &s);
  parallel_sort(broad->threads, broad->pair_count, broad->pair, broad->scratch);
  return true;
}

/* ---- boxes that have grown ---- */

enum { GROWN_MOST = 1024 }; /* new pairs; a sweep finds more */

static bool is_known(const Broad *b, uint64_t key) {
  int low = 0, high = b->pair_count;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (b->pair[middle] < key) low = middle + 1;
    else high = middle;
  }
  return low < b->pair_count && b->pair[low] == key;
}

/* Tests a grown box against all others; of two grown ones the first body's. A soft body's pair with itself is known. */
static void grow_task(void *context, int g) {
  const Sweep *s = context;
  Broad *b = s->broad;
  int body = b->found[g];
  const Box box = b->box[body];
  for (int other = 0; other < s->model->body_count; other++) {
    if (!box_overlap(box, b->box[other]) || other == body || (b->grown[other] && other < body)) continue;
    uint64_t key = pair_key(body, other);
    if (!model_collides(s->model, body, other) || is_known(b, key)) continue;
    int at = atomic_fetch_add_explicit(&b->new_count, 1, memory_order_relaxed);
    if (at < GROWN_MOST) b->scratch[at] = key;
  }
}

/* Merges sorted new keys into the sorted keys, from the end. */
static void merge_keys(Broad *b, int added) {
  int old = b->pair_count - 1, fresh = added - 1;
  for (int at = b->pair_count + added - 1; fresh >= 0; at--)
    b->pair[at] = old >= 0 && b->pair[old] > b->scratch[fresh] ? b->pair[old--] : b->scratch[fresh--];
  b->pair_count += added;
}

bool broad_grow(Broad *b, const Model *model, const bool *grown, int *added) {
  int n = model->body_count, count = 0, before = b->pair_count;
  for (int i = 0; i < n; i++)
    if (grown[i]) b->found[count++] = i;
  bool sweep = (int64_t)count * n > b->tests;
  if (!sweep) {
    if (!mem_reserve((void **)&b->scratch, &b->scratch_capacity, 2 * GROWN_MOST, sizeof(uint64_t)) ||
        !mem_reserve((void **)&b->pair, &b->pair_capacity, before + GROWN_MOST, sizeof(uint64_t)))
      return false;
    b->grown = grown;
    atomic_init(&b->new_count, 0);
    parallel_for(b->threads, count, 1 + 2000 / n, grow_task, &(Sweep){b, model});
    *added = atomic_load(&b->new_count);
    sweep = *added > GROWN_MOST;
  }
  if (sweep) {
    if (!broad_find(b, model)) return false;
    *added = b->pair_count - before;
    return true;
  }
  parallel_sort(1, *added, b->scratch, b->scratch + GROWN_MOST);
  merge_keys(b, *added);
  return true;
}
