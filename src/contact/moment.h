/* Sums of springs between two points of two stiff bodies, as moments. A spring K between points with node weights wa,
 * wb adds H_aa += K (x) wa wa^T, H_bb += K (x) wb wb^T, H_ab -= K (x) wa wb^T. A material point Y has the weights
 * (1, Y), a direction has (0, Y). Tested in tests/test_contact.c. */
#ifndef ABD_CONTACT_MOMENT_H
#define ABD_CONTACT_MOMENT_H

#include <string.h>

#include "contact/pair.h"

/* Springs are summed in batches, so that the sums stay in registers over a whole batch. */
enum { MOMENT_BATCH = 16 };
typedef struct MomentBatch {
  Moments *sum;
  int count;
  bool fresh; /* no spring is in the sums yet: their entries are not set, forces are zero */
  _Alignas(64) Entry stiffness[MOMENT_BATCH];
  double force[MOMENT_BATCH][4];                 /* on a; the force on b is its negative */
  double a[MOMENT_BATCH][4], b[MOMENT_BATCH][4]; /* weights of the bodies' nodes */
} MomentBatch;

/* Begins sums; forces of other terms may be added to them at once. */
static inline void moments_begin(MomentBatch *s, Moments *sum) {
  s->sum = sum;
  s->count = 0;
  s->fresh = true;
  memset(sum->ga, 0, sizeof sum->ga);
  memset(sum->gb, 0, sizeof sum->gb);
}

/* Adds the springs of the batch to the sums and empties it. */
void moments_flush(MomentBatch *batch);

/* Adds a force and a stiffness f K. */
static inline void moments_add(MomentBatch *s, Vec3 force, double f, const Sym3 *k, const double a[4],
                               const double b[4]) {
  if (s->count == MOMENT_BATCH) moments_flush(s);
  int i = s->count++;
  double *e = s->stiffness[i];
  e[0] = f * k->xx;
  e[1] = f * k->yy;
  e[2] = f * k->zz;
  e[3] = f * k->xy;
  e[4] = f * k->xz;
  e[5] = f * k->yz;
  e[6] = e[7] = 0;
  vec3_to(s->force[i], force);
  s->force[i][3] = 0;
  for (int n = 0; n < 4; n++) s->a[i][n] = a[n], s->b[i][n] = b[n];
}

#endif
