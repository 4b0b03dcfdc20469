/* Ranges of shared arrays, see contact/pool.h. */
#include "contact/pool.h"

#include <stdlib.h>
#include <string.h>

bool pool_init(Pool *pool, size_t item_size, int threads) {
  int most_threads = threads > parallel_max_threads() ? threads : parallel_max_threads();
  *pool = (Pool){.item_size = item_size, .thread_count = most_threads};
  pool->spill = mem_zeroed((size_t)most_threads, sizeof(Spill));
  return pool->spill != NULL;
}

void pool_destroy(Pool *pool) {
  for (int t = 0; pool->spill && t < pool->thread_count; t++) {
    mem_free(pool->spill[t].item);
    mem_free(pool->spill[t].owner);
  }
  mem_free(pool->spill);
  mem_free(pool->item);
  memset(pool, 0, sizeof *pool);
}

static void copy_items(const Pool *pool, char *to, const void *from, int count) {
  if (count > 0) memcpy(to, from, (size_t)count * pool->item_size);
}

/* Moves the range to the end of this thread's spill, unless it is there already, with room for `more` items behind
 * it. */
static bool spill_range(Pool *pool, Range *range, int more) {
  int thread = parallel_thread();
  Spill *s = &pool->spill[thread];
  bool at_end = range->spill == thread + 1 && range->first + range->count == s->count;
  int needed = s->count + more + (at_end ? 0 : range->count);
  if (!mem_reserve((void **)&s->item, &s->capacity, needed, pool->item_size) ||
      !mem_reserve((void **)&s->owner, &s->owner_capacity, s->owner_count + 1, sizeof(Range *)))
    return false;
  if (at_end) return true;
  if (!__atomic_load_n(&pool->spilled, __ATOMIC_RELAXED)) __atomic_store_n(&pool->spilled, true, __ATOMIC_RELAXED);
  copy_items(pool, s->item + (size_t)s->count * pool->item_size, pool_items(pool, range), range->count);
  if (!range->spill) s->wasted += range->capacity;
  s->owner[s->owner_count++] = range;
  *range = (Range){.first = s->count, .count = range->count, .spill = thread + 1};
  s->count += range->count;
  return true;
}

void *pool_extend(Pool *pool, Range *range, int count) {
  bool fits = !range->spill && range->count + count <= range->capacity;
  if (!fits && !spill_range(pool, range, count)) return NULL;
  char *item = (char *)pool_items(pool, range) + (size_t)range->count * pool->item_size;
  range->count += count;
  if (!fits) pool->spill[range->spill - 1].count += count;
  return item;
}

void *pool_scratch(Pool *pool, int count) {
  Spill *s = &pool->spill[parallel_thread()];
  if (!mem_reserve((void **)&s->item, &s->capacity, s->count + count, pool->item_size)) return NULL;
  return s->item + (size_t)s->count * pool->item_size;
}

void pool_release(Pool *pool, Range *range) {
  if (!range->spill) pool->wasted += range->capacity;
  memset(range, 0, sizeof *range);
}

static bool settle_range(Pool *pool, Range *range) {
  if (!range->spill) return true; /* released, or settled already */
  int capacity = range->count > 1 ? range->count + range->count / 2 + 2 : range->count;
  if (!mem_reserve((void **)&pool->item, &pool->capacity, pool->count + capacity, pool->item_size)) return false;
  copy_items(pool, pool->item + (size_t)pool->count * pool->item_size, pool_items(pool, range), range->count);
  *range = (Range){.first = pool->count, .count = range->count, .capacity = capacity};
  pool->count += capacity;
  return true;
}

static int compare_owners(const void *x, const void *y) {
  const Range *a = *(Range *const *)x, *b = *(Range *const *)y;
  return (a > b) - (a < b);
}

bool pool_settle(Pool *pool) {
  Spill *s = pool->spill;
  if (!pool->spilled) return true;
  for (int t = 1; t < pool->thread_count; t++) { /* collect all owners in the first list */
    if (!mem_reserve((void **)&s->owner, &s->owner_capacity, s->owner_count + s[t].owner_count, sizeof(Range *)))
      return false;
    if (s[t].owner_count > 0) memcpy(s->owner + s->owner_count, s[t].owner, (size_t)s[t].owner_count * sizeof(Range *));
    s->owner_count += s[t].owner_count;
    s[t].owner_count = 0;
  }
  qsort(s->owner, (size_t)s->owner_count, sizeof(Range *), compare_owners);
  for (int k = 0; k < s->owner_count; k++)
    if (!settle_range(pool, s->owner[k])) return false;
  for (int t = 0; t < pool->thread_count; t++) {
    pool->wasted += s[t].wasted;
    s[t].count = s[t].wasted = s[t].owner_count = 0;
  }
  pool->spilled = false;
  return true;
}

bool pool_sparse(const Pool *pool) { return pool->wasted > pool->count / 2; }

bool pool_pack_begin(Pool *pool, Pool *packed) {
  *packed = (Pool){.item_size = pool->item_size};
  int needed = pool->count - pool->wasted;
  return mem_reserve((void **)&packed->item, &packed->capacity, needed > 0 ? needed : 1, pool->item_size);
}

void pool_pack(const Pool *pool, Pool *packed, Range *range) {
  copy_items(pool, packed->item + (size_t)packed->count * pool->item_size, pool_items(pool, range), range->count);
  range->first = packed->count;
  packed->count += range->capacity;
}

void pool_pack_end(Pool *pool, Pool *packed) {
  mem_free(pool->item);
  pool->item = packed->item;
  pool->count = packed->count;
  pool->capacity = packed->capacity;
  pool->wasted = 0;
}
