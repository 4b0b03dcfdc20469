/* Anderson's acceleration of a fixed-point iteration x -> x + r(x): the next x is the combination of the last ones
 * whose residuals cancel best, in a weighted norm. On linear problems it is equivalent to GMRES. Tested in
 * tests/test_anderson.c. */
#ifndef ABD_LINEAR_ANDERSON_H
#define ABD_LINEAR_ANDERSON_H

#include <stdbool.h>

enum { ANDERSON_DEPTH = 6 }; /* differences that it stores */

typedef struct Anderson {
  int size, count, next; /* entries of x; stored differences; place of the next one */
  double *weight;        /* per entry: in the norm; entries of weight 0 follow the others */
  double *x, *r;         /* of the last call */
  double *dx, *dr;       /* differences of x and r, one after the other */
  bool started;
} Anderson;

bool anderson_init(Anderson *a, int size); /* weights are 1; false if memory is out */
void anderson_destroy(Anderson *a);        /* takes a half-built one */
void anderson_begin(Anderson *a);          /* forgets earlier iterations */
/* Replaces x, which had the residual r, by the next one. */
void anderson_step(Anderson *a, double *x, const double *r);

#endif
