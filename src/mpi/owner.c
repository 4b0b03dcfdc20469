/* See owner.h. Tested in tests/test_owner.c. */
#include "mpi/owner.h"

#include "model/model.h"

/* The busiest rank may take this much more than the mean: a new division drops the lists of the pairs that move. */
static const double uneven = 1.15;

static uint64_t key_at(const Pairs *pairs, int k) { return pair_key(pairs->body[k][0], pairs->body[k][1]); }

bool owners_init(Owners *o, int rank, int count) {
  *o = (Owners){.rank = rank, .count = count, .cut = mem_zeroed((size_t)count + 1, sizeof(uint64_t)), .imbalance = 1};
  if (!o->cut) return false;
  for (int r = 1; r <= count; r++) o->cut[r] = UINT64_MAX; /* rank 0 owns all until pairs are known */
  return true;
}

void owners_destroy(Owners *o) {
  mem_free(o->cut);
  o->cut = NULL;
}

bool owners_own(const Owners *o, uint64_t key) { return key >= o->cut[o->rank] && key < o->cut[o->rank + 1]; }

/* Measured on piles and nets: a distance is the unit, a pair without any takes about a dozen. */
double owners_load(const Pair *p) {
  if (p->soft) return 0;
  return 12 + (double)p->counts.distances + 0.1 * (double)p->counts.candidates + 0.2 * (double)p->counts.box_tests +
         2 * (double)p->counts.ccd_calls;
}

/* The largest load of a rank over the mean. */
static double measure(const Owners *o, const Pairs *pairs) {
  double total = 0, busiest = 0, load = 0;
  for (int k = 0, rank = 0; k < pairs->count; k++) {
    uint64_t key = key_at(pairs, k);
    while (rank + 1 < o->count && key >= o->cut[rank + 1]) rank++, load = 0;
    double own = owners_load(pairs_at(pairs, k));
    load += own, total += own;
    if (load > busiest) busiest = load;
  }
  return total > 0 ? busiest * o->count / total : 1;
}

static void divide(Owners *o, const Pairs *pairs) {
  double total = 0, sum = 0;
  int rank = 1;
  o->divided = true;
  for (int k = 0; k < pairs->count; k++) total += owners_load(pairs_at(pairs, k));
  for (int k = 0; k < pairs->count && rank < o->count; k++) {
    double own = owners_load(pairs_at(pairs, k));
    /* the pair goes to the side on which more than half of it lies */
    while (rank < o->count && sum + 0.5 * own >= total * rank / o->count) o->cut[rank++] = key_at(pairs, k);
    sum += own;
  }
  while (rank < o->count) o->cut[rank++] = UINT64_MAX;
}

void owners_begin(Owners *o, const Pairs *pairs) {
  if (!o->divided && pairs->count) divide(o, pairs);
}

void owners_balance(Owners *o, Pairs *pairs) {
  o->imbalance = measure(o, pairs);
  if (o->imbalance < uneven) return;
  uint64_t from = o->cut[o->rank], to = o->cut[o->rank + 1];
  divide(o, pairs);
  for (int k = 0; k < pairs->count; k++) {
    uint64_t key = key_at(pairs, k);
    bool before = key >= from && key < to;
    if (!before && owners_own(o, key) && !pairs_at(pairs, k)->soft) pair_drop_cache(pairs_at(pairs, k), &pairs->store);
  }
}
