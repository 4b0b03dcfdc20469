/* A part of a world's bodies, which this process steps; other processes step the others (docs/scale.md).
 *
 * The own bodies are stepped here. The halo are bodies of other processes in pairs with own ones: their poses and
 * directions are copied. The backend's model has the own bodies and the halo as its moving bodies. Every process
 * evaluates all pairs of its own bodies; a pair of two processes is evaluated by both, with the same bits, and counted
 * in sums by one. Its diagonal blocks and gradients are thus complete without an exchange. Scalars of islands are
 * joined by `share`. Only the processes together know an island, so every function here is called by all of them.
 *
 * mpi/part.c is such. Worlds with joints, soft bodies or restitution have no domain. */
#ifndef ABD_CPU_DOMAIN_H
#define ABD_CPU_DOMAIN_H

#include "step/stage.h"

struct Cpu;
struct Cluster;

/* Which results of the selected islands are joined. */
typedef enum Sharing {
  SHARE_EXCESS = 0,
  SHARE_ACTIVE,
  SHARE_RESIDUAL,
  SHARE_SLOPE,
  SHARE_BOUND,
  SHARE_TRIAL,
  SHARE_FOLLOW,
  SHARE_LOAD,
  SHARE_COUNT
} Sharing;

typedef struct Domain {
  void *self;
  const unsigned char *own; /* per body */
  const int *known;         /* the own bodies and those that do not move, ascending */
  int known_count;
  const int *halo; /* ascending */
  int halo_count;
  void (*destroy)(void *self);
  /* A step begins: sets the own bodies. */
  Outcome (*begin)(void *self, struct Cpu *cpu);
  const bool *grown; /* per body of any process: its box has grown in the last call of `boxes` that was not for all */
  /* The boxes of all own bodies, or of those that left theirs, go to all processes. any: there are such. */
  Outcome (*boxes)(void *self, struct Cpu *cpu, bool all, bool *any);
  /* The pairs have changed: sets the halo and the moving bodies. *added: new pairs, in any process. */
  Outcome (*reach)(void *self, struct Cpu *cpu, Outcome own, int *added);
  /* Copies poses, directions, speeds and the active set of the halo. */
  Outcome (*halo_state)(void *self, struct Cpu *cpu, Outcome own);
  /* Copies directions and speeds, or the active set. */
  void (*halo_directions)(void *self, struct Cpu *cpu);
  void (*halo_active)(void *self, struct Cpu *cpu);
  bool (*any)(void *self, bool here);
  double (*waited)(const void *self); /* [s] in exchanges so far */
  Outcome (*share)(void *self, struct Cpu *cpu, Sharing what, Outcome own);
  /* Before the own unknowns are factored: their order, about which the processes agree. */
  Outcome (*order)(void *self, struct Cpu *cpu);
  /* Solves with the factor of the own unknowns. pivots: raised in it, -1 if it failed. */
  Outcome (*solve)(void *self, struct Cpu *cpu, int pivots, bool *raised);
  /* Joins sets of bodies: root[i] is a body of the same set. */
  bool (*unite)(void *self, int *root);
  /* Joins the sums of clusters that processes share. root, label: per body; label[root]: index in `cluster`. */
  bool (*clusters)(void *self, const int *root, const int *label, struct Cluster *cluster);
  /* The state and the report of all processes. */
  Outcome (*finish)(void *self, struct Cpu *cpu, State *after, Outcome own);
} Domain;

#endif
