/* The velocities at the end of a step are made to keep the balance of energy: the clusters of a world (step/cluster.h),
 * what acts on them, and the rates of their blocks. A backend gives the memory and runs the loops over pairs and over
 * chunks of blocks. One thread sums a chunk; the chunks of a cluster are joined in their order, so the bits do not
 * depend on the number of threads. Tested in tests/test_cluster.c and tests/test_determinism.c. */
#ifndef ABD_STEP_SETTLE_H
#define ABD_STEP_SETTLE_H

#include "base/segment.h"
#include "contact/pairs.h"
#include "step/bounce.h"
#include "step/cluster.h"

/* A chunk of the blocks of a cluster. */
typedef struct SettleChunk {
  int part;        /* index of their sums if the cluster has several chunks */
  GivenWork given; /* [J] on them, and by their scripts */
  double script;
  double rest;   /* [J] of the cluster, in its first chunk */
  bool acted_on; /* the cluster was touched, driven or scripted */
  bool counts;   /* this process counts the cluster in sums */
} SettleChunk;

typedef struct Settle {
  const Work *work;
  const Pairs *pairs;
  const ContactScene *scene;
  const Blows *blows;
  const unsigned char *own; /* per body: it is stepped here; NULL = all are */
  const bool *acts;         /* per pair: settle_acts */
  AbdStepReport *report;
  State *after;
  int *root;  /* per block: its cluster's first block */
  int *label; /* per block: index of the cluster with this root, -1 if no block of it moves */
  int *of;    /* per block: the cluster that it is summed in, -1: none */
  Cluster *cluster;
  int count;         /* of clusters */
  Segments *members; /* the own moving blocks by cluster */
  SettleChunk *chunk;
  Cluster *part; /* sums of chunks, see settle_number_parts */
} Settle;

/* The energy that the barriers bring into the step, to the bodies: work->stored. */
void settle_store(Work *work, const Pairs *pairs, const ContactScene *scene);
/* Did the pair act in the step? */
bool settle_acts(const Pair *pair);
/* Finds the clusters: root. */
void settle_unite(Settle *settle);
/* Numbers the clusters that have a moving block here: label, count, of. */
void settle_number(Settle *settle);
/* [J] the work of friction of pair k that acts, of surfaces that move against their bodies, and what blows change of
 * the work of scripts. */
enum { SETTLE_FRICTION, SETTLE_BELT, SETTLE_SCRIPT, SETTLE_WORKS };
void settle_pair_work(const Settle *settle, int k, double work[SETTLE_WORKS]);
/* Adds joints, pair k that acts with its work, and soft elements to the zeroed clusters, and works to the report.
 * counts: whether the work of the pair is added here. */
void settle_add_joints(Settle *settle);
void settle_add_pair(Settle *settle, int k, const double work[SETTLE_WORKS], bool counts);
void settle_add_soft(Settle *settle); /* without their energies */
/* Where the change of a soft body's elastic energy is to be added [J]; NULL if no block of it moves here. */
double *settle_soft_gain(Settle *settle, int soft);
/* Numbers the chunks of clusters with several ones, and counts them: most clusters are one body in flight. */
int settle_number_parts(Settle *settle);
/* Adds the blocks: of a chunk, in any order of the chunks; then of all chunks to clusters and report. */
void settle_add_chunk(Settle *settle, int chunk);
void settle_join_chunks(Settle *settle);
/* Decides on the velocities of the clusters with several chunks. */
void settle_close_large(Settle *settle);
/* Decides on those of another cluster, and changes the rates of a chunk's blocks in `after`. */
void settle_close_chunk(Settle *settle, int chunk);
/* What later steps have to correct, to the joints in `after`. */
void settle_share_owed(Settle *settle);
/* What is left of the clusters' energies, to the report. */
void settle_add_rests(Settle *settle);

#endif
