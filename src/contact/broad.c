/* Sweep and prune: bodies sorted by the lower ends of their boxes along one axis. Each body is tested against the later
 * ones that begin before its end. The first pass counts its pairs, the second writes their keys.
 *
 * In a heap of n bodies a body has about n^(2/3) others beside it, so that the sweep is divided into columns along the
 * axis. A body is in all columns that its box meets, and two bodies are tested in the first column that both are in.
 * A body in many columns is tested against all others. Tested in tests/test_contact.c. */
#include "contact/broad.h"

#include <string.h>

#include "kernel/constant.h"

#define NO_CELL UINT32_MAX
enum { CELL_BITS = 12, CELL_MOST = 1 << CELL_BITS };

static bool reserve_items(Broad *b, int count) {
  return mem_reserve((void **)&b->found, &b->found_capacity, count, sizeof(int)) &&
         mem_reserve((void **)&b->tested, &b->tested_capacity, count, sizeof(int));
}

bool broad_init(Broad *broad, const Model *model) {
  memset(broad, 0, sizeof *broad);
  broad->axis = -1;
  broad->threads = model->def.solver.threads;
  broad->box = mem_zeroed((size_t)model->body_count, sizeof(Box));
  broad->order = mem_alloc((size_t)model->body_count, sizeof(int));
  broad->sorted = mem_alloc((size_t)model->body_count, sizeof(Box));
  broad->is_late = mem_zeroed((size_t)model->body_count, sizeof(bool));
  bool items = reserve_items(broad, model->body_count);
  return broad->box && broad->order && broad->sorted && broad->is_late && items;
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
  mem_free(broad->cell);
  mem_free(broad->last_cell);
  mem_free(broad->column);
  mem_free(broad->item);
  mem_free(broad->late);
  mem_free(broad->is_late);
  region_destroy(&broad->region);
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

/* The own bodies and those that may meet them. */
static bool list_near_own(Broad *broad, int body_count) {
  if (!region_build(&broad->region, broad->box, broad->own_body, broad->own_count)) return false;
  broad->count = 0;
  for (int i = 0; i < body_count; i++)
    if (broad->own[i] || region_meets(&broad->region, &broad->box[i])) broad->order[broad->count++] = i;
  broad->axis = -1;
  return true;
}

static bool list_bodies(Broad *broad, int body_count) {
  if (broad->own) return list_near_own(broad, body_count);
  if (broad->count == body_count) return true;
  for (int i = 0; i < body_count; i++) broad->order[i] = i;
  broad->count = body_count;
  broad->axis = -1;
  return true;
}

static bool comes_before(const Broad *broad, int axis, int a, int b) {
  double x = component(broad->box[a].lo, axis), y = component(broad->box[b].lo, axis);
  return x < y || (x == y && a < b);
}

/* Keys that ascend nearly as the lower ends do: those as floats in the order of their bits, then the body. */
static void sort_roughly(Broad *b, int count, int axis) {
  for (int k = 0; k < count; k++) {
    float x = (float)component(b->box[b->order[k]].lo, axis);
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits ^= bits >> 31 ? 0xffffffffu : 0x80000000u;
    b->pair[k] = (uint64_t)bits << 32 | (uint32_t)b->order[k];
  }
  parallel_sort(b->threads, count, b->pair, b->scratch);
  for (int k = 0; k < count; k++) b->order[k] = (int)(b->pair[k] & 0xffffffffu);
}

/* Insertion sort, after a sort of rounded keys unless the order of the last call along this axis is nearly right. */
static bool sort_order(Broad *broad, int count, int axis) {
  if (broad->axis != axis) {
    if (!mem_reserve((void **)&broad->pair, &broad->pair_capacity, count, sizeof(uint64_t)) ||
        !mem_reserve((void **)&broad->scratch, &broad->scratch_capacity, count, sizeof(uint64_t)))
      return false;
    sort_roughly(broad, count, axis);
  }
  for (int i = 1; i < count; i++) {
    int body = broad->order[i], j = i;
    for (; j >= 1 && comes_before(broad, axis, body, broad->order[j - 1]); j--) broad->order[j] = broad->order[j - 1];
    broad->order[j] = body;
  }
  broad->axis = axis;
  return true;
}

typedef struct Sweep {
  Broad *broad;
  const Model *model;
} Sweep;

static void sort_box(void *context, int i) {
  Broad *broad = ((Sweep *)context)->broad;
  broad->sorted[i] = broad->box[broad->order[i]];
}

static bool meets(const Sweep *s, int i, int j) {
  const Broad *b = s->broad;
  int body = b->order[i], other = b->order[j];
  if (b->own && !b->own[body] && !b->own[other]) return false;
  return box_overlap(b->sorted[i], b->sorted[j]) && model_collides(s->model, body, other);
}

/* The pairs of the body at position i with later bodies, and with itself if it is a soft body that may touch itself.
 * key: NULL to count. *tests: of boxes. */
static int sweep_from(const Sweep *s, int i, uint64_t *key, int *tests) {
  const Broad *b = s->broad;
  int n = b->count, count = 0, j = i;
  double end = component(b->sorted[i].hi, b->axis);
  for (; j < n && component(b->sorted[j].lo, b->axis) <= end; j++) {
    if (!meets(s, i, j)) continue;
    if (key) key[count] = pair_key(b->order[i], b->order[j]);
    count++;
  }
  *tests = j - i;
  return count;
}

/* ---- columns ---- */

static int other_axis(const Broad *b, int k) { return (b->axis + 1 + k) % 3; }

static int cell_at(const Broad *b, int k, double x) {
  double at = (x - b->low[k]) / b->width;
  int last = b->across[k] - 1;
  return !(at > 0) ? 0 : at < last ? (int)at : last;
}

/* The columns of a box: from[k] to to[k] along the two other axes. */
static void cells_of(const Broad *b, const Box *box, int from[2], int to[2]) {
  for (int k = 0; k < 2; k++) {
    from[k] = cell_at(b, k, component(box->lo, other_axis(b, k)));
    to[k] = cell_at(b, k, component(box->hi, other_axis(b, k)));
  }
}

/* Columns are twice as wide as the mean box of finite size; at most CELL_MOST along an axis, and about as many as there
 * are bodies. */
static void size_columns(Broad *b) {
  double size = 0, high[2], n = 0;
  for (int k = 0; k < 2; k++) b->low[k] = INFINITY, high[k] = -INFINITY;
  for (int i = 0; i < b->count; i++) {
    const Box *box = &b->sorted[i];
    if (!(norm_sq(box->lo) < 1e30 && norm_sq(box->hi) < 1e30)) continue;
    for (int k = 0; k < 2; k++) {
      double lo = component(box->lo, other_axis(b, k)), hi = component(box->hi, other_axis(b, k));
      size += hi - lo, n++;
      b->low[k] = least(b->low[k], lo), high[k] = most(high[k], hi);
    }
  }
  if (n == 0) b->low[0] = b->low[1] = high[0] = high[1] = 0;
  double room[2] = {high[0] - b->low[0], high[1] - b->low[1]};
  b->width = most(n > 0 ? 2 * size / n : 0, most(room[0], room[1]) / CELL_MOST);
  b->width = most(b->width, sqrt(room[0] * room[1] / b->count));
  for (int k = 0; k < 2; k++) b->across[k] = b->width > 0 ? (int)least(1 + room[k] / b->width, CELL_MOST) : 1;
}

/* Visits the columns of each position in their order: counts their items, or lists them. */
static void fill_columns(Broad *b, bool lists) {
  for (int i = 0; i < b->count; i++) {
    uint32_t from = b->cell[i], to = b->last_cell[i], low = CELL_MOST - 1;
    if (from == NO_CELL) continue;
    for (uint32_t x = from >> CELL_BITS; x <= to >> CELL_BITS; x++)
      for (uint32_t y = from & low; y <= (to & low); y++) {
        int *at = &b->column[x * (uint32_t)b->across[1] + y];
        if (lists) b->item[*at] = i;
        ++*at;
      }
  }
}

static void find_cell(void *context, int i) {
  Broad *b = context;
  int from[2], to[2];
  cells_of(b, &b->sorted[i], from, to);
  bool large = (int64_t)(to[0] - from[0] + 1) * (to[1] - from[1] + 1) > COLUMNS_MOST;
  b->cell[i] = large ? NO_CELL : (uint32_t)from[0] << CELL_BITS | (uint32_t)from[1];
  b->last_cell[i] = (uint32_t)to[0] << CELL_BITS | (uint32_t)to[1];
}

static bool build_columns(Broad *b) {
  size_columns(b);
  int columns = b->across[0] * b->across[1];
  if (!mem_reserve((void **)&b->cell, &b->cell_capacity, b->count, sizeof *b->cell) ||
      !mem_reserve((void **)&b->last_cell, &b->last_cell_capacity, b->count, sizeof *b->last_cell) ||
      !mem_reserve((void **)&b->column, &b->column_capacity, columns + 1, sizeof(int)))
    return false;
  parallel_for(b->threads, b->count, 256, find_cell, b);
  b->large_count = 0;
  for (int i = 0; i < b->count; i++) b->large_count += b->cell[i] == NO_CELL;
  memset(b->column, 0, (size_t)(columns + 1) * sizeof(int));
  fill_columns(b, false);
  b->item_count = (int)parallel_scan(1, columns + 1, b->column);
  int items = b->item_count + b->large_count;
  if (!mem_reserve((void **)&b->item, &b->item_capacity, items, sizeof(int)) || !reserve_items(b, items)) return false;
  fill_columns(b, true); /* column[c] is the end of its items now, and the first item of the next column */
  for (int i = 0, at = b->item_count; i < b->count; i++)
    if (b->cell[i] == NO_CELL) b->item[at++] = i;
  return true;
}

/* Is the column of item e the first that both positions are in? */
static bool first_common(const Broad *b, uint32_t column, int i, int j) {
  uint32_t p = b->cell[i], q = b->cell[j], low = CELL_MOST - 1;
  uint32_t x = (p >> CELL_BITS) > (q >> CELL_BITS) ? p >> CELL_BITS : q >> CELL_BITS;
  uint32_t y = (p & low) > (q & low) ? p & low : q & low;
  return x * (uint32_t)b->across[1] + y == column;
}

/* The column of an item, by its end. */
static int column_of(const Broad *b, int e) {
  int low = 0, high = b->across[0] * b->across[1] - 1;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (b->column[middle] > e) high = middle;
    else low = middle + 1;
  }
  return low;
}

static int sweep_column(const Sweep *s, int e, uint64_t *key, int *tests) {
  const Broad *b = s->broad;
  int i = b->item[e], column = column_of(b, e), last = b->column[column], count = 0, f = e;
  double end = component(b->sorted[i].hi, b->axis);
  for (; f < last && component(b->sorted[b->item[f]].lo, b->axis) <= end; f++) {
    int j = b->item[f];
    if (!first_common(b, (uint32_t)column, i, j) || !meets(s, i, j)) continue;
    if (key) key[count] = pair_key(b->order[i], b->order[j]);
    count++;
  }
  *tests = f - e;
  return count;
}

/* A body in too many columns, against all; against others of its kind once. */
static int sweep_large(const Sweep *s, int i, uint64_t *key, int *tests) {
  const Broad *b = s->broad;
  int count = 0;
  for (int j = 0; j < b->count; j++) {
    if ((b->cell[j] == NO_CELL && j < i) || !meets(s, i, j)) continue;
    if (key) key[count] = pair_key(b->order[i], b->order[j]);
    count++;
  }
  *tests = b->count;
  return count;
}

static int sweep_item(const Sweep *s, int e, uint64_t *key, int *tests) {
  const Broad *b = s->broad;
  if (!b->columns) return sweep_from(s, e, key, tests);
  return e < b->item_count ? sweep_column(s, e, key, tests) : sweep_large(s, b->item[e], key, tests);
}

/* About how many tests a sweep of all bodies needs for each. */
static double expected_tests(const Broad *b) {
  enum { SAMPLES = 64 };
  double sum = 0;
  for (int k = 0; k < SAMPLES; k++) {
    int i = (int)((int64_t)b->count * k / SAMPLES), low = i, high = b->count;
    double end = component(b->sorted[i].hi, b->axis);
    while (low < high) {
      int middle = low + (high - low) / 2;
      if (component(b->sorted[middle].lo, b->axis) <= end) low = middle + 1;
      else high = middle;
    }
    sum += low - i;
  }
  return sum / SAMPLES;
}

/* ---- pairs ---- */

static void count_pairs(void *context, int e) {
  Sweep *s = context;
  s->broad->found[e] = sweep_item(s, e, NULL, &s->broad->tested[e]);
}

static void write_pairs(void *context, int e) {
  Sweep *s = context;
  sweep_item(s, e, s->broad->pair + s->broad->found[e], &s->broad->tested[e]);
}

bool broad_find(Broad *broad, const Model *model) {
  Sweep s = {broad, model};
  for (int k = 0; k < broad->late_count; k++) broad->is_late[broad->late[k]] = false;
  broad->late_count = 0;
  broad->strays = false;
  if (!list_bodies(broad, model->body_count)) return false;
  int n = broad->count, items = n;
  if (!sort_order(broad, n, spread_axis(broad, model))) return false;
  parallel_for(broad->threads, n, 256, sort_box, &s);
  broad->columns = n > 0 && expected_tests(broad) > COLUMNS_TESTS;
  if (broad->columns) {
    if (!build_columns(broad)) return false;
    items = broad->item_count + broad->large_count;
  }
  parallel_for(broad->threads, items, 16, count_pairs, &s);
  broad->pair_count = (int)parallel_scan(broad->threads, items, broad->found);
  broad->tests = 0;
  for (int e = 0; e < items; e++) broad->tests += broad->tested[e];
  if (!mem_reserve((void **)&broad->pair, &broad->pair_capacity, broad->pair_count, sizeof(uint64_t)) ||
      !mem_reserve((void **)&broad->scratch, &broad->scratch_capacity, broad->pair_count, sizeof(uint64_t)))
    return false;
  parallel_for(broad->threads, items, 16, write_pairs, &s);
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

/* Of two grown boxes that of the own body is tested, or of the first. */
static bool other_tests(const Broad *b, int body, int other) {
  if (!b->grown[other]) return false;
  return b->own && b->own[body] != b->own[other] ? b->own[other] : other < body;
}

/* A soft body's pair with itself is known. */
static void test_grown(const Sweep *s, int body, int other, const Box *box) {
  Broad *b = s->broad;
  if (!box_overlap(b->box[body], *box) || other == body || other_tests(b, body, other)) return;
  if (b->own && !b->own[body] && !b->own[other]) return;
  uint64_t key = pair_key(body, other);
  if (!model_collides(s->model, body, other) || is_known(b, key)) return;
  int at = atomic_fetch_add_explicit(&b->new_count, 1, memory_order_relaxed);
  if (at < GROWN_MOST) b->scratch[at] = key;
}

/* The columns have all bodies that the grown box may meet, but for those whose boxes have grown too. */
static bool in_columns(const Broad *b, int body, int from[2], int to[2]) {
  if (!b->columns || (b->own && b->own[body] && !region_covers(&b->region, &b->box[body]))) return false;
  cells_of(b, &b->box[body], from, to);
  return (int64_t)(to[0] - from[0] + 1) * (to[1] - from[1] + 1) <= b->count;
}

static int column_first(const Broad *b, int column) { return column ? b->column[column - 1] : 0; }

static void grow_in_column(const Sweep *s, int body, const int from[2], int x, int y) {
  const Broad *b = s->broad;
  int column = x * b->across[1] + y;
  for (int e = column_first(b, column); e < b->column[column]; e++) {
    int i = b->item[e], other = b->order[i];
    int first_x = (int)(b->cell[i] >> CELL_BITS), first_y = (int)(b->cell[i] & (CELL_MOST - 1));
    bool first = x == (first_x > from[0] ? first_x : from[0]) && y == (first_y > from[1] ? first_y : from[1]);
    if (first && !b->is_late[other]) test_grown(s, body, other, &b->sorted[i]);
  }
}

static void test_late(const Sweep *s, int body) {
  const Broad *b = s->broad;
  for (int k = 0; k < b->late_count; k++) test_grown(s, body, b->late[k], &b->box[b->late[k]]);
}

static void grow_in_columns(const Sweep *s, int body, const int from[2], const int to[2]) {
  const Broad *b = s->broad;
  for (int x = from[0]; x <= to[0]; x++)
    for (int y = from[1]; y <= to[1]; y++) grow_in_column(s, body, from, x, y);
  for (int k = 0; k < b->large_count; k++) {
    int i = b->item[b->item_count + k];
    if (!b->is_late[b->order[i]]) test_grown(s, body, b->order[i], &b->sorted[i]);
  }
  test_late(s, body);
}

/* A body of another process that meets no own body, but for those that have left the region. */
static bool is_far(const Broad *b, int body) {
  return b->own && !b->own[body] && !region_meets(&b->region, &b->box[body]);
}

/* Tests a grown box against those of its columns; or against all others, or those of own bodies. */
static void grow_task(void *context, int g) {
  const Sweep *s = context;
  const Broad *b = s->broad;
  int body = b->found[g], from[2], to[2];
  bool all = !b->own || b->own[body];
  if (is_far(b, body)) {
    if (b->strays) test_late(s, body);
    return;
  }
  if (in_columns(b, body, from, to)) {
    grow_in_columns(s, body, from, to);
    return;
  }
  for (int k = 0, count = all ? s->model->body_count : b->own_count; k < count; k++) {
    int other = all ? k : b->own_body[k];
    test_grown(s, body, other, &b->box[other]);
  }
}

/* How many tests of boxes grow_task needs. */
static int64_t grow_tests(const Broad *b, const Model *model, int body) {
  int from[2], to[2];
  if (is_far(b, body)) return b->strays ? b->late_count : 0;
  if (!in_columns(b, body, from, to)) return !b->own || b->own[body] ? model->body_count : b->own_count;
  int64_t tests = b->large_count + b->late_count;
  for (int x = from[0]; x <= to[0]; x++) {
    int first = x * b->across[1] + from[1], last = x * b->across[1] + to[1];
    tests += b->column[last] - column_first(b, first);
  }
  return tests;
}

/* A body that has grown; one of another process that is far is in no list. */
static void add_late(Broad *b, int body) {
  if (is_far(b, body)) return;
  if (!b->is_late[body]) b->late[b->late_count++] = body;
  b->is_late[body] = true;
  b->strays |= b->own && b->own[body] && !region_covers(&b->region, &b->box[body]);
}

/* found: the bodies whose boxes have grown now. Returns their number, -1 if memory is out. */
static int list_grown(Broad *b, int n, const bool *grown) {
  int count = 0;
  for (int i = 0; i < n; i++)
    if (grown[i]) b->found[count++] = i;
  if (!mem_reserve((void **)&b->late, &b->late_capacity, b->late_count + count, sizeof(int))) return -1;
  for (int k = 0; k < count; k++) add_late(b, b->found[k]);
  return count;
}

/* Merges sorted new keys into the sorted keys, from the end. */
static void merge_keys(Broad *b, int added) {
  int old = b->pair_count - 1, fresh = added - 1;
  for (int at = b->pair_count + added - 1; fresh >= 0; at--)
    b->pair[at] = old >= 0 && b->pair[old] > b->scratch[fresh] ? b->pair[old--] : b->scratch[fresh--];
  b->pair_count += added;
}

/* A new search. Pairs that have parted since the last one stay, as they do if only boxes that grew are tested: islands
 * and loops over pairs refer to them. */
static bool find_again(Broad *b, const Model *model) {
  int before = b->pair_count, lost = 0;
  uint64_t *old = mem_alloc((size_t)before + 1, sizeof *old);
  if (old && before) memcpy(old, b->pair, (size_t)before * sizeof *old);
  bool good = old && broad_find(b, model) &&
              mem_reserve((void **)&b->scratch, &b->scratch_capacity, before, sizeof(uint64_t)) &&
              mem_reserve((void **)&b->pair, &b->pair_capacity, b->pair_count + before, sizeof(uint64_t));
  for (int i = 0, k = 0; good && i < before; i++) {
    while (k < b->pair_count && b->pair[k] < old[i]) k++;
    if (k == b->pair_count || b->pair[k] != old[i]) b->scratch[lost++] = old[i];
  }
  mem_free(old);
  if (good) merge_keys(b, lost);
  return good;
}

bool broad_grow(Broad *b, const Model *model, const bool *grown, int *added) {
  int n = model->body_count, count = list_grown(b, n, grown), before = b->pair_count;
  int64_t tests = 0;
  if (count < 0) return false;
  for (int k = 0; k < count; k++) tests += grow_tests(b, model, b->found[k]);
  bool sweep = tests > b->tests;
  if (!sweep) {
    if (!mem_reserve((void **)&b->scratch, &b->scratch_capacity, 2 * GROWN_MOST, sizeof(uint64_t)) ||
        !mem_reserve((void **)&b->pair, &b->pair_capacity, before + GROWN_MOST, sizeof(uint64_t)))
      return false;
    b->grown = grown;
    atomic_init(&b->new_count, 0);
    parallel_for(b->threads, count, 1 + (int)(2000 * (int64_t)count / (tests + 1)), grow_task, &(Sweep){b, model});
    *added = atomic_load(&b->new_count);
    sweep = *added > GROWN_MOST;
  }
  if (sweep) {
    if (!find_again(b, model)) return false;
    *added = b->pair_count - before;
    return true;
  }
  parallel_sort(1, *added, b->scratch, b->scratch + GROWN_MOST);
  merge_keys(b, *added);
  return true;
}
