/* The backend over the ranks of an MPI job: the CPU backend, whose loops over pairs of bodies are divided among the
 * ranks. See docs/scale.md. */
#ifndef ABD_MPI_H
#define ABD_MPI_H

#include "step/stage.h"

extern const Stages mpi_stages;
/* NULL if memory is out. All ranks create, step and destroy the same worlds in the same order. */
void *mpi_create(const Model *model);
/* Whether the bodies of this world are divided among the ranks, and not its pairs alone. */
bool mpi_divides_bodies(const Model *model);
/* What keeps its bodies from being divided; NULL if nothing does. */
const char *mpi_cannot_divide(const Model *model);

/* Whether contacts are sent to rank 0 after each step; true at first. */
void mpi_want_contacts(void *backend, bool contacts);
/* What keeps solver.ranks_linear from being used; NULL if nothing does. */
const char *mpi_cannot_solve(const Model *model);
/* Before the end of MPI. */
void mpi_end_solvers(void);

/* The rank whose memory was out, and the bodies that it steps: their number, the first and the last; 0 if bodies are
 * not divided. */
int mpi_failed_bodies(const void *backend, int *rank, int *first, int *last);

#endif
