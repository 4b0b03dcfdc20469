/* The pairs of bodies within reach: storage with stable slots, and an order by pair_key.
 *
 * A pair keeps its slot from the broad phase that first finds it until it leaves reach. So data stored by slot survives
 * a new broad phase without being moved. Loops that sum run in the order of the keys, which depends only on the bodies.
 * Tested in tests/test_contact.c. */
#ifndef ABD_CONTACT_PAIRS_H
#define ABD_CONTACT_PAIRS_H

#include "contact/pair.h"

typedef struct Pairs {
  int count;      /* pairs within reach */
  int *slot;      /* [count] slots, by ascending pair_key */
  int (*body)[2]; /* [count] the bodies of each, a and b as in Pair */
  uint64_t *key;  /* [count] pair_key of each */
  Pair *pair;     /* by slot */
  int slot_count; /* slots in use or vacant */
  int *vacant;    /* slots to reuse */
  int vacant_count;
  int slot_capacity, order_capacity, body_capacity, key_capacity, vacant_capacity;
  int *spare_slot; /* the order under construction */
  int (*spare_body)[2];
  int spare_capacity, spare_body_capacity;
  PairStore store; /* contacts, friction points, moments, springs and caches of the pairs */
} Pairs;

/* threads: the most that a loop over pairs uses. False if memory is out. */
bool pairs_init(Pairs *pairs, int threads);
void pairs_destroy(Pairs *pairs);
static inline Pair *pairs_at(const Pairs *pairs, int k) { return &pairs->pair[pairs->slot[k]]; }
/* Updates the pairs to the keys of the broad phase, key[0 .. count - 1] ascending. Remaining pairs keep their slots and
 * all they store; the others are destroyed. New pairs are zero except for their bodies; *added is their number. False
 * if memory is out. */
bool pairs_sync(Pairs *pairs, const Model *model, const uint64_t *key, int count, int *added);
/* Moves the items that did not fit into a pair's ranges into the shared arrays. Call it after every loop of pair_eval,
 * pair_bound, pair_bound_cover, pair_lag or pair_assemble. False if memory is out. */
bool pairs_settle(Pairs *pairs);
/* Packs the shared arrays if more than half of one is wasted. Call it at the start of a step. False if memory is
 * out. */
bool pairs_pack(Pairs *pairs);
/* Drops all candidate caches. It changes no bit of any later result. */
void pairs_drop_cache(Pairs *pairs);

#endif
