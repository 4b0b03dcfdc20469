/* The backend on this machine's processors: loops over pairs and bodies with parallel_for, sums in index order, so that
 * the bits do not depend on the number of threads. */
#ifndef ABD_CPU_H
#define ABD_CPU_H

#include "contact/broad.h"
#include "contact/pair.h"
#include "cpu/system.h"
#include "step/step.h"

typedef struct Cpu {
  Backend base;
  const Model *model;
  int threads;
  ContactScene scene;
  Travel *travel; /* per body: how far it went; soft ones do not count */
  Broad broad;
  Pair *pair; /* sorted by pair_key */
  int pair_count;
  int *todo; /* indices of pairs to work on */
  int todo_count, todo_capacity;
  System system;  /* Newton's */
  System closing; /* of linked bodies by themselves */
  Affine *move;   /* per body: a correction that closes joints */
  int *active;    /* bodies of Newton's system */
  int active_count;
  double *diagonal; /* 12x12 per moving body */
  int *parent;      /* union-find over bodies */
  Island *merged;   /* the islands being built */
  Step *step;       /* the one at work */
} Cpu;

Cpu *cpu_create(const Model *model); /* NULL when memory is out */
void cpu_destroy(Cpu *cpu);
const Pair *cpu_pairs(const Cpu *cpu, int *count);

/* islands.c: connected components of the pairs. keep: the islands so far go on in the new ones. */
void islands_build(Cpu *cpu, Step *step, bool keep);
int pair_island(const Step *step, const Pair *pair);
/* assemble.c */
bool cpu_direction(Backend *base, Step *step);
/* soft.c: surfaces of soft bodies at given poses, at the start of the step, along a direction. */
void soft_load(const Cpu *cpu, const Affine *q);
void soft_load_start(const Cpu *cpu, const Affine *q);
void soft_load_motion(const Cpu *cpu, const Affine *direction);
Box soft_box(const Model *model, const Soft *soft, const Affine *from, const Affine *to);
Island *soft_island(const Step *step, const Soft *soft); /* NULL when none of its vertices moves */
double soft_total(const Cpu *cpu, const Step *step, const Soft *soft, const Affine *q);
/* What elements and contacts with a soft side couple; their gradients and blocks. */
bool soft_couple(Cpu *cpu);
bool soft_add(Cpu *cpu);
/* Islands with soft bodies go on with positive semidefinite elements; false when all do already. */
bool soft_make_convex(Step *step);
bool soft_couple_pair(Cpu *cpu, const Pair *pair);
void soft_add_pair(Cpu *cpu, const Pair *pair);
/* start.c: a pair nearer at poses q than contact keeps it: its bodies, a < 0 where there is none, and its nearest stencil. False when
 * memory is out. */
bool cpu_find_near(Cpu *cpu, const Affine *q, Pair *found);
/* close.c */
bool cpu_close(Backend *base, Step *step);
/* reaction.c: generalised force [N] of each joint's linear rows on its body a, after a step. False when memory is out. */
bool cpu_reactions(Cpu *cpu, Affine *force);
/* pairs.c: makes cpu->pair follow broad->pair; both are sorted. Pairs that stay keep their lists. */
bool pairs_sync(Cpu *cpu);
/* Readies a pair for the step: what its list shall cover, nothing yet of stiffness and friction. */
void pair_begin(const Cpu *cpu, const Step *step, Pair *pair);
/* Stiffness and lagged friction of all pairs, from their contacts at the start of the step. */
bool pairs_set_forces(Cpu *cpu, Step *step);
/* Readies a pair that comes within reach later, contacts and stiffness too; its friction begins when it is renewed. False when
 * it failed. */
bool pair_join(const Cpu *cpu, const Step *step, Pair *pair);
void cpu_stiffen(Backend *base, Step *step, int island, double gap);
/* Renews the lagged forces of an island; changed when some pair's total moved by more than 2 % of the island's. */
bool cpu_renew_friction(Backend *base, Step *step, int island, bool *changed);
/* finish.c */
bool cpu_finish(Backend *base, Step *step, State *after);
/* cpu.c: puts the pairs of islands that pass the test into cpu->todo. */
bool cpu_collect(Cpu *cpu, const Step *step, bool (*wanted)(const Island *));

#endif
