/* PETSc's solvers for the linear systems of islands that several ranks share, in builds with -DABD_PETSC=ON: an
 * alternative to the conjugate gradients of solve.c, chosen by solver.ranks_linear. See docs/scale.md. */
#ifndef ABD_MPI_PETSC_H
#define ABD_MPI_PETSC_H

#include "mpi/part.h"

/* Starts PETSc. Rank 0 tries the options in its environment variable ABD_PETSC_OPTIONS on a small system, alone; all
 * ranks get them with the first solve. NULL, or a sentence that says what is wrong. */
const char *petsc_begin(void);
void petsc_end(void);
/* The solution of the unknowns of shared islands, b, then x, in place; other unknowns are not changed. False if the
 * matrix or the preconditioner is not positive definite: b is not changed then. gradients: those of the part. */
bool petsc_solve(Part *part, double *right, int *iterations);

#endif
