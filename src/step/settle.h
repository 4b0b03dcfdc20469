/* The velocities at the end of a step are made to keep the balance of energy: the clusters of a world (step/cluster.h),
 * what acts on them, and the rates of their blocks. A backend gives the memory and runs the loop over pairs. Tested in
 * tests/test_cluster.c. */
#ifndef ABD_STEP_SETTLE_H
#define ABD_STEP_SETTLE_H

#include "contact/pairs.h"
#include "step/cluster.h"

typedef struct Settle {
  const Work *work;
  const Pairs *pairs;
  const ContactScene *scene;
  const unsigned char *own; /* per body: it is stepped here; NULL = all are */
  const bool *acts;         /* per pair: settle_acts */
  AbdStepReport *report;
  State *after;
  int *root;  /* per block: its cluster's first block */
  int *label; /* per block: index of the cluster with this root; NULL: the root itself */
  Cluster *cluster;
  int count; /* of clusters */
} Settle;

/* Did the pair act in the step? */
bool settle_acts(const Pair *pair);
/* Finds the clusters: root. */
void settle_unite(Settle *settle);
/* Numbers the clusters that have a body here: label, count. */
void settle_number(Settle *settle);
/* [J] the work of friction of pair k that acts, and of surfaces that move against their bodies. */
void settle_pair_work(const Settle *settle, int k, double work[2]);
/* Adds joints, pair k that acts with its work, soft elements and blocks to the zeroed clusters, and works to the
 * report. counts: whether the work of the pair is added here. */
void settle_add_joints(Settle *settle);
void settle_add_pair(Settle *settle, int k, const double work[2], bool counts);
void settle_add_soft(Settle *settle);
void settle_add_blocks(Settle *settle);
/* Decides on the velocities of all clusters, and changes the rates in `after`. */
void settle_close(Settle *settle);

#endif
