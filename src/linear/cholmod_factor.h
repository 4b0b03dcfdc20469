/* CHOLMOD instead of abd's factorisation, for the same patterns. Only builds with ABD_CHOLMOD include it, because
 * CHOLMOD's supernodal part is under the GPL. Tested in tests/test_cholmod.c. */
#ifndef ABD_LINEAR_CHOLMOD_FACTOR_H
#define ABD_LINEAR_CHOLMOD_FACTOR_H

#include "linear/block_pattern.h"

typedef struct CholmodFactor CholmodFactor;

bool cholmod_factor_built(void);
CholmodFactor *cholmod_factor_create(void); /* NULL if memory is out or the build has no CHOLMOD */
void cholmod_factor_destroy(CholmodFactor *factor);
void cholmod_factor_forget(CholmodFactor *factor); /* call it when the pattern changes */
/* Factors the matrix whose values have the pattern's layout. False if it is not positive definite or memory is out;
 * there is no factor then. */
bool cholmod_factor_compute(CholmodFactor *factor, const BlockPattern *pattern, const double *values);
bool cholmod_factor_ready(const CholmodFactor *factor);
/* x = A^-1 b in the caller's order. All of x is NaN if memory is out. x may be b. */
void cholmod_factor_solve(CholmodFactor *factor, int count, const double *b, double *x);

#endif
