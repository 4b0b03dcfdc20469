/* Which rank evaluates a pair of bodies. Pairs of stiff bodies are divided by their keys into one interval for each
 * rank, so that the intervals take about equally long. Pairs with a soft side belong to every rank. The division
 * changes no bit of the result. */
#ifndef ABD_MPI_OWNER_H
#define ABD_MPI_OWNER_H

#include "contact/pairs.h"

typedef struct Owners {
  int rank, count;
  uint64_t *cut; /* [count + 1] rank r owns the keys from cut[r] up to cut[r + 1] */
  bool divided;
  double imbalance; /* load of the busiest rank over the mean, in the last step */
} Owners;

bool owners_init(Owners *owners, int rank, int count); /* false if memory is out */
void owners_destroy(Owners *owners);

/* At the start of a step: divides the pairs if they are not yet divided. */
void owners_begin(Owners *owners, const Pairs *pairs);
/* key: of the bodies a and b of a pair. */
bool owners_own(const Owners *owners, uint64_t key);
/* The load of a pair in the last step, by its counts. */
double owners_load(const Pair *pair);
/* Divides the pairs anew by their counts in the last step, if the present division is uneven. A pair that gets this
 * rank as its owner drops its cache, which is out of date. */
void owners_balance(Owners *owners, Pairs *pairs);

#endif
