/* Pairs that the threads of a loop pick, each thread into its own list. They are few, so no later loop visits all
 * pairs, and threads share no counter. Tested in tests/test_cuda_serial.c and tests/test_determinism.c. */
#ifndef ABD_CPU_PICK_H
#define ABD_CPU_PICK_H

#include <stdbool.h>

#include "base/parallel.h"

/* A pair that a loop picks; items: what the loop notes with it. */
typedef struct Picked {
  int pair, items;
} Picked;

typedef struct Picks {
  struct Pick *own; /* by thread */
  int threads;
  Picked *list, *scratch; /* all of them, after picks_list or picks_join */
  int count, capacity, scratch_capacity;
  int *share; /* [threads + 1] where the picks of each thread begin, after picks_join */
} Picks;

bool picks_open(Picks *picks, int threads); /* false if memory is out */
void picks_close(Picks *picks);
void picks_clear(Picks *picks);
void picks_add(Picks *picks, int pair, int items); /* any thread of a loop; each pair once */
/* Lists what was added since picks_clear, thread by thread: an order that differs from run to run, for what does not
 * depend on it. False if memory was out. */
bool picks_join(Picks *picks);
/* The same in the order of the pairs, of which there are `pairs`. */
bool picks_list(Picks *picks, int pairs);
bool picks_shared(const Picks *picks, int threads); /* do the shares of so many threads have all of the list? */
/* After picks_join: calls the body for each place in the list. Most of them run on the thread that picked them, whose
 * cache has their pairs. */
void picks_for(const Picks *picks, int threads, int grain, ParallelBody *body, void *context);

#endif
