/* Flat storage of a pair's items of varying number: contacts, friction points, moments, springs and the
 * candidate cache. Each is one Pool; a pair has ranges of them. Functions that fill ranges may run in parallel loops
 * over pairs. pairs_settle (contact/pairs.h) must run between such a loop and the next one that reads. Tested in
 * tests/test_pool.c. */
#ifndef ABD_CONTACT_STORE_H
#define ABD_CONTACT_STORE_H

#include "contact/pool.h"

struct Pair;

typedef struct PairStore {
  Pool contact, friction, moments, spring;
  struct CacheStore *cache; /* private to src/contact */
} PairStore;

/* threads: the most that a loop over pairs uses. False if memory runs out. */
bool store_init(PairStore *store, int threads);
void store_destroy(PairStore *store); /* accepts a zeroed one */
/* Makes room for the caches of the slots 0 .. slots - 1. False if memory runs out. */
bool store_reserve(PairStore *store, int slots);
/* Moves the items that did not fit into pairs' ranges into the shared arrays. False if memory runs out. */
bool store_settle(PairStore *store);
/* Packs the pools of which more than half is wasted, for the pairs pair[slot[0 .. count - 1]]. False if memory runs
 * out; all ranges stay valid. */
bool store_pack(PairStore *store, struct Pair *pair, const int *slot, int count);

#endif
