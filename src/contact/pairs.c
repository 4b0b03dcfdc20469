/* Slots and order of the pairs, see contact/pairs.h. */
#include "contact/pairs.h"

#include <string.h>

bool pairs_init(Pairs *pairs, int threads) {
  memset(pairs, 0, sizeof *pairs);
  return store_init(&pairs->store, threads);
}

void pairs_destroy(Pairs *pairs) {
  store_destroy(&pairs->store);
  void *array[] = {pairs->slot,   pairs->body,       pairs->key,       pairs->pair,
                   pairs->vacant, pairs->spare_slot, pairs->spare_body};
  for (int k = 0; k < ARRAY_COUNT(array); k++) mem_free(array[k]);
  memset(pairs, 0, sizeof *pairs);
}

/* Counts the keys of pairs that have no slot yet. */
static int count_new(const Pairs *pairs, const uint64_t *key, int count) {
  int fresh = 0;
  for (int k = 0, old = 0; k < count; k++) {
    while (old < pairs->count && pairs->key[old] < key[k]) old++;
    fresh += old == pairs->count || pairs->key[old] != key[k];
  }
  return fresh;
}

static bool reserve(Pairs *pairs, int count, int added) {
  int slots = pairs->slot_count + (added > pairs->vacant_count ? added - pairs->vacant_count : 0);
  return mem_reserve((void **)&pairs->pair, &pairs->slot_capacity, slots, sizeof(Pair)) &&
         mem_reserve((void **)&pairs->vacant, &pairs->vacant_capacity, slots, sizeof(int)) &&
         mem_reserve((void **)&pairs->slot, &pairs->order_capacity, count, sizeof(int)) &&
         mem_reserve((void **)&pairs->spare_slot, &pairs->spare_capacity, count, sizeof(int)) &&
         mem_reserve((void **)&pairs->body, &pairs->body_capacity, count, sizeof *pairs->body) &&
         mem_reserve((void **)&pairs->spare_body, &pairs->spare_body_capacity, count, sizeof *pairs->body) &&
         mem_reserve((void **)&pairs->key, &pairs->key_capacity, count, sizeof(uint64_t)) &&
         store_reserve(&pairs->store, slots);
}

static void drop(Pairs *pairs, int k) {
  pair_destroy(pairs_at(pairs, k), &pairs->store);
  pairs->vacant[pairs->vacant_count++] = pairs->slot[k];
}

static int add_slot(Pairs *pairs, const Model *model, uint64_t key) {
  int slot = pairs->vacant_count > 0 ? pairs->vacant[--pairs->vacant_count] : pairs->slot_count++;
  Pair *p = &pairs->pair[slot];
  *p = (Pair){.a = (int)(key >> 32), .b = (int)(key & 0xffffffffu), .slot = slot};
  pair_order(model, &p->a, &p->b);
  p->soft = model->body[p->a].soft || model->body[p->b].soft;
  return slot;
}

static void swap_order(Pairs *pairs) {
  int *slot = pairs->slot, (*body)[2] = pairs->body;
  int capacity = pairs->order_capacity, bodies = pairs->body_capacity;
  pairs->slot = pairs->spare_slot;
  pairs->order_capacity = pairs->spare_capacity;
  pairs->spare_slot = slot;
  pairs->spare_capacity = capacity;
  pairs->body = pairs->spare_body;
  pairs->body_capacity = pairs->spare_body_capacity;
  pairs->spare_body = body;
  pairs->spare_body_capacity = bodies;
}

static bool is_same(const Pairs *pairs, const uint64_t *key, int count) {
  return count == pairs->count && (count == 0 || memcmp(pairs->key, key, (size_t)count * sizeof *key) == 0);
}

/* Pairs that leave reach are dropped first, so that new ones reuse their slots. */
static void drop_and_keep(Pairs *pairs, const uint64_t *key, int count) {
  int old = 0;
  for (int k = 0; k < count; k++) {
    while (old < pairs->count && pairs->key[old] < key[k]) drop(pairs, old++);
    bool stays = old < pairs->count && pairs->key[old] == key[k];
    if (stays) memcpy(pairs->spare_body[k], pairs->body[old], sizeof *pairs->body);
    pairs->spare_slot[k] = stays ? pairs->slot[old++] : -1;
  }
  while (old < pairs->count) drop(pairs, old++);
}

bool pairs_sync(Pairs *pairs, const Model *model, const uint64_t *key, int count, int *added) {
  *added = 0;
  if (is_same(pairs, key, count)) return pairs_settle(pairs);
  *added = count_new(pairs, key, count);
  if (!pairs_settle(pairs) || !reserve(pairs, count, *added)) return false; /* ranges change their addresses */
  drop_and_keep(pairs, key, count);
  for (int k = 0; k < count; k++) {
    if (pairs->spare_slot[k] >= 0) continue;
    pairs->spare_slot[k] = add_slot(pairs, model, key[k]);
    const Pair *p = &pairs->pair[pairs->spare_slot[k]];
    pairs->spare_body[k][0] = p->a;
    pairs->spare_body[k][1] = p->b;
  }
  swap_order(pairs);
  if (count) memcpy(pairs->key, key, (size_t)count * sizeof *key);
  pairs->count = count;
  return true;
}

bool pairs_settle(Pairs *pairs) { return store_settle(&pairs->store); }

bool pairs_pack(Pairs *pairs) { return store_pack(&pairs->store, pairs->pair, pairs->slot, pairs->count); }

void pairs_drop_cache(Pairs *pairs) {
  for (int k = 0; k < pairs->count; k++) pair_drop_cache(pairs_at(pairs, k), &pairs->store);
}
