/* A request to stop, written by a signal handler or another thread and polled by the loops of a step. A poll reads one
 * number that seldom changes, so it costs less than any item of a loop. Tested in tests/test_interrupt.c. */
#ifndef ABD_BASE_INTERRUPT_H
#define ABD_BASE_INTERRUPT_H

#include <stdbool.h>

/* 0 = none; 1 = stop; n > 1: n - 1 more polls pass before it says stop, for tests. */
typedef struct Interrupt {
  int value;
} Interrupt;

/* Counts one poll down. */
bool interrupt_due(Interrupt *interrupt);

static inline void interrupt_set(Interrupt *interrupt, int value) {
  __atomic_store_n(&interrupt->value, value, __ATOMIC_RELAXED);
}

/* NULL is never interrupted. */
static inline bool interrupted(Interrupt *interrupt) {
  return interrupt && __atomic_load_n(&interrupt->value, __ATOMIC_RELAXED) && interrupt_due(interrupt);
}

#endif
