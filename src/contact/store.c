/* Storage of the pairs, see contact/store.h. */
#include "contact/store.h"

#include <string.h>

#include "contact/cache.h"

enum { POOLS = 7, RANGES = 8, CACHE_RANGES = 4 }; /* ranges from CACHE_RANGES on belong to the cache */

static Pool *pool_of(PairStore *s, int k) {
  Pool *pool[POOLS] = {&s->contact,          &s->friction,    &s->moments,      &s->spring,
                       &s->cache->candidate, &s->cache->path, &s->cache->vertex};
  return pool[k < POOLS ? k : POOLS - 1];
}

/* Range k of a pair: one for each pool, and the second one of the last pool. */
static Range *range_of(PairStore *s, Pair *p, int k) {
  PairCache *c = &s->cache->slot[p->slot];
  Range *range[RANGES] = {&p->contact,   &p->friction, &p->moments,   &p->spring,
                          &c->candidate, &c->path,     &c->vertex[0], &c->vertex[1]};
  return range[k];
}

bool store_init(PairStore *s, int threads) {
  static const size_t size[POOLS] = {sizeof(Contact),   sizeof(FrictionPoint), sizeof(Moments), sizeof(Spring),
                                     sizeof(Candidate), sizeof(PathRecord),    sizeof(Vec3)};
  memset(s, 0, sizeof *s);
  if (!(s->cache = mem_zeroed(1, sizeof *s->cache))) return false;
  for (int k = 0; k < POOLS; k++)
    if (!pool_init(pool_of(s, k), size[k], threads)) {
      store_destroy(s);
      return false;
    }
  return true;
}

void store_destroy(PairStore *s) {
  for (int k = 0; s->cache && k < POOLS; k++) pool_destroy(pool_of(s, k));
  if (s->cache) mem_free(s->cache->slot);
  if (s->cache) mem_free(s->cache->mark);
  if (s->cache) mem_free(s->cache->task);
  mem_free(s->cache);
  memset(s, 0, sizeof *s);
}

/* Grows an array of zeroed items. */
static bool reserve_zeroed(void **array, int *capacity, int count, size_t item_size) {
  int before = *capacity;
  if (!mem_reserve(array, capacity, count, item_size)) return false;
  if (*capacity > before)
    memset((char *)*array + (size_t)before * item_size, 0, (size_t)(*capacity - before) * item_size);
  return true;
}

bool store_reserve(PairStore *s, int slots) {
  CacheStore *c = s->cache;
  return reserve_zeroed((void **)&c->slot, &c->slot_count, slots, sizeof(PairCache)) &&
         reserve_zeroed((void **)&c->mark, &c->mark_count, slots, sizeof(Mark));
}

bool store_settle(PairStore *s) {
  const CacheStore *c = s->cache;
  if (!(s->contact.spilled | s->friction.spilled | s->moments.spilled | s->spring.spilled | c->candidate.spilled |
        c->path.spilled | c->vertex.spilled))
    return true;
  for (int k = 0; k < POOLS; k++)
    if (!pool_settle(pool_of(s, k))) return false;
  return true;
}

bool store_pack(PairStore *s, Pair *pair, const int *slot, int count) {
  for (int k = 0; k < POOLS; k++) {
    Pool *pool = pool_of(s, k), packed;
    if (!pool_sparse(pool)) continue;
    if (pool->spilled || !pool_pack_begin(pool, &packed)) return false;
    for (int i = 0; i < count; i++) {
      pool_pack(pool, &packed, range_of(s, &pair[slot[i]], k));
      if (k == POOLS - 1) pool_pack(pool, &packed, range_of(s, &pair[slot[i]], RANGES - 1));
    }
    pool_pack_end(pool, &packed);
  }
  return true;
}

void pair_drop_cache(Pair *p, PairStore *s) {
  PairCache *c = &s->cache->slot[p->slot];
  for (int k = CACHE_RANGES; k < RANGES; k++) pool_release(pool_of(s, k), range_of(s, p, k));
  memset(c, 0, sizeof *c);
  s->cache->mark[p->slot].size = 0;
}

void pair_destroy(Pair *p, PairStore *s) {
  pair_drop_cache(p, s);
  for (int k = 0; k < CACHE_RANGES; k++) pool_release(pool_of(s, k), range_of(s, p, k));
  memset(p, 0, sizeof *p);
}
