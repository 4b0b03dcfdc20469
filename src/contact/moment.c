/* Sums of springs in the machine's own vector width, see contact/moment.h. */
#include "contact/moment.h"

#define INLINE static inline __attribute__((always_inline))
#if defined __AVX512F__
#define LANE_BYTES 64
#elif defined __AVX__
#define LANE_BYTES 32
#else
#define LANE_BYTES 16
#endif
typedef double Lanes __attribute__((vector_size(LANE_BYTES), aligned(8), may_alias)); /* one register */
typedef double Half
    __attribute__((vector_size(LANE_BYTES < 32 ? LANE_BYTES : 32), aligned(8), may_alias)); /* and not more than four */
enum { LANE_COUNT = LANE_BYTES / 8, HALF_COUNT = sizeof(Half) / 8 };

/* Adds row i of K (x) (a, -b)(a, -b)^T, lanes of K from `first` on. i is a constant after inlining, so the sums fit in
 * 6, 8, 10 or 12 registers. fresh: the sums are zero so far. */
INLINE void add_row(const MomentBatch *s, int i, int first, bool fresh) {
  Entry *row_aa = s->sum->aa + i * (i + 1) / 2, *row_bb = s->sum->bb + i * (i + 1) / 2, *row_ab = s->sum->ab + 4 * i;
  Lanes aa[4] = {{0}}, bb[4] = {{0}}, ab[4] = {{0}};
#pragma GCC unroll 4
  for (int j = 0; j < 4 && !fresh; j++) {
    if (j <= i) aa[j] = *(Lanes *)(row_aa[j] + first), bb[j] = *(Lanes *)(row_bb[j] + first);
    ab[j] = *(Lanes *)(row_ab[j] + first);
  }
  for (int k = 0; k < s->count; k++) {
    const double *a = s->a[k], *b = s->b[k];
    const Lanes stiffness = *(const Lanes *)(s->stiffness[k] + first), ka = stiffness * a[i], kb = stiffness * b[i];
#pragma GCC unroll 4
    for (int j = 0; j < 4; j++) {
      if (j <= i) aa[j] += ka * a[j], bb[j] += kb * b[j];
      ab[j] += ka * b[j];
    }
  }
#pragma GCC unroll 4
  for (int j = 0; j < 4; j++) {
    if (j <= i) *(Lanes *)(row_aa[j] + first) = aa[j], *(Lanes *)(row_bb[j] + first) = bb[j];
    *(Lanes *)(row_ab[j] + first) = ab[j];
  }
}

/* Adds the components of the forces from `first` on. */
static void add_forces(const MomentBatch *s, int first) {
  Half ga[4] = {{0}}, gb[4] = {{0}};
  for (int k = 0; k < s->count; k++) {
    const Half force = *(const Half *)(s->force[k] + first);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
      ga[i] += force * s->a[k][i];
      gb[i] -= force * s->b[k][i];
    }
  }
  for (int i = 0; i < 4; i++)
    for (int c = 0; c < HALF_COUNT && first + c < 3; c++) {
      (&s->sum->ga[i].x)[first + c] += ga[i][c];
      (&s->sum->gb[i].x)[first + c] += gb[i][c];
    }
}

INLINE void add_rows(const MomentBatch *s, bool fresh) {
  for (int first = 0; first < 6; first += LANE_COUNT) {
    add_row(s, 0, first, fresh);
    add_row(s, 1, first, fresh);
    add_row(s, 2, first, fresh);
    add_row(s, 3, first, fresh);
  }
}

void moments_flush(MomentBatch *s) {
  if (s->fresh) add_rows(s, true);
  else add_rows(s, false);
  s->fresh = false;
  for (int first = 0; first < 3; first += HALF_COUNT) add_forces(s, first);
  s->count = 0;
}
