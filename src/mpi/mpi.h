/* The backend over the ranks of an MPI job: the CPU backend, whose loops over pairs of bodies are divided among the
 * ranks. See docs/scale.md. */
#ifndef ABD_MPI_H
#define ABD_MPI_H

#include "step/stage.h"

extern const Stages mpi_stages;
/* NULL if memory is out. All ranks create, step and destroy the same worlds in the same order. */
void *mpi_create(const Model *model);

#endif
