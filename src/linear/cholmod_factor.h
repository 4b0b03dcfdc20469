/* CHOLMOD in the place of the own factorisation, for matrices of the same patterns; only in builds with ABD_CHOLMOD, since
 * CHOLMOD's supernodal part is under the GPL. Tested in tests/test_cholmod.c. */
#ifndef ABD_LINEAR_CHOLMOD_FACTOR_H
#define ABD_LINEAR_CHOLMOD_FACTOR_H

#include "linear/block_pattern.h"

typedef struct CholmodFactor CholmodFactor;

bool cholmod_factor_built(void);
CholmodFactor *cholmod_factor_create(void); /* NULL when memory is out or CHOLMOD was not built in */
void cholmod_factor_destroy(CholmodFactor *factor);
void cholmod_factor_forget(CholmodFactor *factor); /* the pattern has changed */
/* Factors the matrix whose blocks lie in values as the pattern says. False when it is not positive definite or memory is
 * out: there is then no factor. */
bool cholmod_factor_compute(CholmodFactor *factor, const BlockPattern *pattern, const double *values);
bool cholmod_factor_ready(const CholmodFactor *factor);
/* x = A^-1 b in the caller's order; all of x is NaN when memory is out. x may be b. */
void cholmod_factor_solve(CholmodFactor *factor, int count, const double *b, double *x);

#endif
