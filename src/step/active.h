/* The active set: the bodies that take part in an iteration. In a whole island these are all. In a partial island
 * these are the fast bodies, whose last Newton step was above the tolerance, and their neighbours, which a pair with
 * contacts or friction connects to a fast one. Tested in tests/test_active_set.c. */
#ifndef ABD_STEP_ACTIVE_H
#define ABD_STEP_ACTIVE_H

#include "step/island.h"
#include "step/work.h"

typedef struct Neighbours {
  const Segments *of_body;   /* per body: 2 k + side for each pair k that it is a side of */
  const int (*body)[2];      /* per pair */
  const unsigned char *acts; /* per pair: it has contacts or friction */
  const unsigned char *own;  /* per body: this process selects it; NULL: all */
} Neighbours;

/* Sets work->active of the bodies of the selected islands and the islands' active_count. Small islands, and those of
 * which more than half would take part, are made whole. Bodies outside the active set keep their poses: their
 * directions are zero, their trial poses are the accepted ones. */
void active_set_select(Islands *islands, Work *work, int threads, const Neighbours *neighbours);
/* Its two parts. Between them, several processes sum the active_count of the islands they share and exchange `active`
 * of their bodies. */
void active_set_mark(Islands *islands, Work *work, int threads, const Neighbours *neighbours);
void active_set_settle(Islands *islands, Work *work, int threads);

/* Inertias added to those of a block in a damped island. If nothing cut the short step that it was damped for, a block
 * whose last Newton step was slower than the fastest one gets fewer. Otherwise a light body whose steps are too long
 * would shorten the steps of all others. */
double active_damping(const Islands *islands, const Work *work, int block);

#endif
