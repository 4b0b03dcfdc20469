/* Slots and order of the pairs, see contact/pairs.h. */
#include "contact/pairs.h"

#include <string.h>

bool pairs_init(Pairs *pairs, int threads) {
  memset(pairs, 0, sizeof *pairs);
  return store_init(&pairs->store, threads);
}

void pairs_destroy(Pairs *pairs) {
  store_destroy(&pairs->store);
  void *array[] = {pairs->slot, pairs->body, pairs->pair, pairs->vacant, pairs->spare_slot};
  for (int k = 0; k < ARRAY_COUNT(array); k++) mem_free(array[k]);
  memset(pairs, 0, sizeof *pairs);
}

static uint64_t key_at(const Pairs *pairs, int k) { return pair_key(pairs->body[k][0], pairs->body[k][1]); }

/* Counts the keys of pairs that have no slot yet. */
static int count_new(const Pairs *pairs, const uint64_t *key, int count) {
  int fresh = 0;
  for (int k = 0, old = 0; k < count; k++) {
    while (old < pairs->count && key_at(pairs, old) < key[k]) old++;
    fresh += old == pairs->count || key_at(pairs, old) != key[k];
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

/* Pairs that leave reach are dropped first, so that new ones reuse their slots. */
bool pairs_sync(Pairs *pairs, const Model *model, const uint64_t *key, int count, int *added) {
  *added = count_new(pairs, key, count);
  if (!pairs_settle(pairs) || !reserve(pairs, count, *added)) return false; /* ranges change their addresses */
  int old = 0;
  for (int k = 0; k < count; k++) {
    while (old < pairs->count && key_at(pairs, old) < key[k]) drop(pairs, old++);
    bool stays = old < pairs->count && key_at(pairs, old) == key[k];
    pairs->spare_slot[k] = stays ? pairs->slot[old++] : -1;
  }
  while (old < pairs->count) drop(pairs, old++);
  for (int k = 0; k < count; k++) {
    if (pairs->spare_slot[k] < 0) pairs->spare_slot[k] = add_slot(pairs, model, key[k]);
    const Pair *p = &pairs->pair[pairs->spare_slot[k]];
    pairs->body[k][0] = p->a;
    pairs->body[k][1] = p->b;
  }
  int *slot = pairs->slot, capacity = pairs->order_capacity;
  pairs->slot = pairs->spare_slot;
  pairs->order_capacity = pairs->spare_capacity;
  pairs->spare_slot = slot;
  pairs->spare_capacity = capacity;
  pairs->count = count;
  return true;
}

bool pairs_settle(Pairs *pairs) { return store_settle(&pairs->store); }

bool pairs_pack(Pairs *pairs) { return store_pack(&pairs->store, pairs->pair, pairs->slot, pairs->count); }

void pairs_drop_cache(Pairs *pairs) {
  for (int k = 0; k < pairs->count; k++) pair_drop_cache(pairs_at(pairs, k), &pairs->store);
}
