/* Other machines that do the heaviest loops over pairs: a GPU in worlds without soft bodies, or the ranks of an MPI
 * job. The CPU backend decides which pairs take part, makes their lists of candidates and reads the results; contacts
 * and friction points live on the other machine until they are fetched. Each function replaces one loop of the CPU
 * backend, so each can be compared with it. cuda/accelerator.c and mpi/accelerator.c are such. */
#ifndef ABD_CPU_ACCELERATOR_H
#define ABD_CPU_ACCELERATOR_H

#include "step/stage.h"

struct Cpu;

typedef struct Accelerator {
  void (*destroy)(void *self);
  /* A step begins; the pairs have no friction points. */
  void (*begin)(void *self, struct Cpu *cpu);
  /* Contacts and energies of the selected pairs at the trial poses: pair_eval of each. */
  Outcome (*eval)(void *self, struct Cpu *cpu);
  /* Bounds of the selected pairs along the directions: pair_bound of each that pair_clear does not settle. */
  Outcome (*bound)(void *self, struct Cpu *cpu);
  /* Bounds of the selected pairs whose lists did not reach far enough: pair_bound_cover of each. */
  Outcome (*cover)(void *self, struct Cpu *cpu);
  /* Friction forces of the selected pairs after a step: pair_friction_advance of each. */
  Outcome (*advance)(void *self, struct Cpu *cpu);
  /* Moments of the selected pairs: assemble_task of each. NULL: the CPU does it, after a fetch. */
  Outcome (*moments)(void *self, struct Cpu *cpu);
  /* Whether the contacts of pair k are here after its moments. NULL: those of all pairs are. */
  bool (*has_contacts)(const struct Cpu *cpu, int k);
  /* Gradient, matrix and Newton's step of the active set. If loads follow, it renews their friction points first, moves
   * the loads and corrects the step. Sets what the pairs expect (pair_expect). NULL, or too few bodies: the CPU does
   * it, after a fetch. */
  bool (*solves)(int bodies);
  Outcome (*newton)(void *self, struct Cpu *cpu, bool *raised);
  /* After newton, if loads follow: energies of the pairs, gradients; the changes of loads and their sums are the sums
   * of pair_part. */
  Outcome (*follow)(void *self, struct Cpu *cpu);
  /* pair_load_error of the pairs of islands that compare, into the sums of pair_part. NULL: the CPU does it, after a
   * fetch. */
  Outcome (*compare)(void *self, struct Cpu *cpu);
  /* Copies contacts and friction points to the pairs. */
  Outcome (*fetch)(void *self, struct Cpu *cpu);
  /* A step ends: the counts of all pairs are in the pairs when it returns. May be NULL. */
  Outcome (*finish)(void *self, struct Cpu *cpu);
  /* The friction points of the pairs have changed: those of the other machine are out of date. */
  void (*friction_changed)(void *self);
} Accelerator;

/* Sums over the elements of a soft body. */
typedef struct SoftSum {
  const double (*vertex)[12]; /* by vertex: a 3 x 3 block of the Hessian, then the gradient */
  const double (*edge)[9];    /* by coupling of Cpu.coupling: the block with the rows of its first vertex */
} SoftSum;

/* A machine that computes the elements of soft bodies. */
typedef struct SoftMachine {
  void (*destroy)(void *self);
  /* Gradients and Hessians at the accepted poses, into sum[k] of each selected soft body k. They are valid until the
   * next call. False if memory is out. */
  bool (*terms)(void *self, struct Cpu *cpu, SoftSum *sum);
  /* Energies at poses q, into energy[k] of each selected soft body k, or of all. False if memory is out. */
  bool (*energies)(void *self, struct Cpu *cpu, Nodes q, bool all, double *energy);
} SoftMachine;

#endif
