/* Dense products, Cholesky and triangular solves of blocks up to 12 x 12, column-major, without padding.
 *
 * The size 12 of an affine body has its own code in vectors of the processor's width: a 12 x 4 tile of the result stays
 * in twelve registers of four doubles or 24 of two. A type wider than the processor's would stay on the stack, which
 * takes six times as long. Other sizes run in tiles of up to 12 x 4 too. The width does not change results. Tested in
 * tests/test_block_cholesky.c. */
#ifndef ABD_LINEAR_BLOCK_KERNEL_H
#define ABD_LINEAR_BLOCK_KERNEL_H

#include <math.h>
#include <stdbool.h>

#define BLOCK_MAX 12
#define KERNEL_INLINE static inline __attribute__((always_inline))

#ifdef __AVX__
#define LANE 4 /* doubles in a vector */
#else
#define LANE 2
#endif
#define LANES (12 / LANE)         /* vectors of twelve rows */
#define LANES_PER_FOUR (4 / LANE) /* rows are counted in fours */

typedef double Lane __attribute__((vector_size(8 * LANE), aligned(8), may_alias));

KERNEL_INLINE Lane *lanes(double *p) { return (Lane *)p; }
KERNEL_INLINE const Lane *const_lanes(const double *p) { return (const Lane *)p; }

/* Columns t..t+3 of c -= a b^T, rows from 4 first on. */
KERNEL_INLINE void subtract_tile12(double *c, const double *a, const double *b, int t, int first) {
  Lane sum[4][LANES];
#pragma GCC unroll 4
  for (int q = 0; q < 4; q++)
#pragma GCC unroll 6
    for (int r = LANES_PER_FOUR * first; r < LANES; r++) sum[q][r] = lanes(c + 12 * (t + q))[r];
#pragma GCC unroll 2
  for (int p = 0; p < 12; p++) {
    const Lane *x = const_lanes(a + 12 * p);
#pragma GCC unroll 4
    for (int q = 0; q < 4; q++)
#pragma GCC unroll 6
      for (int r = LANES_PER_FOUR * first; r < LANES; r++) sum[q][r] -= x[r] * b[12 * p + t + q];
  }
#pragma GCC unroll 4
  for (int q = 0; q < 4; q++)
#pragma GCC unroll 6
    for (int r = LANES_PER_FOUR * first; r < LANES; r++) lanes(c + 12 * (t + q))[r] = sum[q][r];
}

static inline void subtract_product12(double *c, const double *a, const double *b) {
  for (int t = 0; t < 12; t += 4) subtract_tile12(c, a, b, t, 0);
}

static inline void subtract_square12(double *c, const double *a) {
  subtract_tile12(c, a, a, 0, 0);
  subtract_tile12(c, a, a, 4, 1);
  subtract_tile12(c, a, a, 8, 2);
}

/* sum += x b^T for one column x of m rows, in `fours` groups of four. */
KERNEL_INLINE void add_column(Lane sum[4][LANES], const double *x, const double *b, int fours, int width) {
#pragma GCC unroll 4
  for (int q = 0; q < width; q++)
#pragma GCC unroll 6
    for (int r = 0; r < LANES_PER_FOUR * fours; r++) sum[q][r] += const_lanes(x)[r] * b[q];
}

/* Columns t..t+width-1 of c -= a b^T for m rows in `fours` groups of four. The vectors of a column extend into the next
 * one, whose products are not written. The last column is copied, because another thread may write the memory after
 * it. */
KERNEL_INLINE void subtract_tile(double *c, const double *a, const double *b, int m, int n, int k, int t, int fours,
                                 int width) {
  Lane sum[4][LANES];
  double last[12] = {0};
#pragma GCC unroll 4
  for (int q = 0; q < width; q++)
#pragma GCC unroll 6
    for (int r = 0; r < LANES_PER_FOUR * fours; r++) sum[q][r] = (Lane){0};
  for (int p = 0; p < k - 1; p++) add_column(sum, a + m * p, b + n * p + t, fours, width);
  for (int r = 0; r < m; r++) last[r] = a[m * (k - 1) + r];
  add_column(sum, last, b + n * (k - 1) + t, fours, width);
#pragma GCC unroll 4
  for (int q = 0; q < width; q++) {
    double *to = c + m * (t + q);
#pragma GCC unroll 6
    for (int r = 0; r < LANES_PER_FOUR * (fours - 1); r++) lanes(to)[r] -= sum[q][r];
#pragma GCC unroll 4
    for (int r = 4 * (fours - 1); r < 4 * fours; r++)
      if (r < m) to[r] -= sum[q][r / LANE][r % LANE];
  }
}

KERNEL_INLINE void subtract_tiles(double *c, const double *a, const double *b, int m, int n, int k, int fours) {
  int t = 0;
  if (n % 4 == 0)
    for (; t < n; t += 4) subtract_tile(c, a, b, m, n, k, t, fours, 4);
  for (; t + 3 <= n; t += 3) subtract_tile(c, a, b, m, n, k, t, fours, 3);
  for (; t < n; t++) subtract_tile(c, a, b, m, n, k, t, fours, 1);
}

/* c (m x n) -= a (m x k) b^T (b is n x k). */
static inline void subtract_product(double *c, const double *a, const double *b, int m, int n, int k) {
  if (m == 12 && n == 12 && k == 12) subtract_product12(c, a, b);
  else if (m == 12) subtract_tiles(c, a, b, 12, n, k, 3);
  else if (m > 8) subtract_tiles(c, a, b, m, n, k, 3);
  else if (m > 4) subtract_tiles(c, a, b, m, n, k, 2);
  else subtract_tiles(c, a, b, m, n, k, 1);
}

/* c (m x m) -= a a^T (a is m x k). Values above the diagonal are undefined. */
static inline void subtract_square(double *c, const double *a, int m, int k) {
  if (m == 12 && k == 12) subtract_square12(c, a);
  else subtract_product(c, a, a, m, m, k);
}

/* The replacement of a pivot that is not positive enough: at least as large as the entries in its column, so that the
 * rest of the matrix does not grow. */
static __attribute__((noinline)) double raised_pivot(const double *l, int s, int p, double scale) {
  double raised = fmax(scale, fabs(l[s * p + p]));
  for (int r = p + 1; r < s; r++) raised = fmax(raised, fabs(l[s * p + r]));
  return raised > 0 ? raised : 1;
}

/* What a pivot is compared with: the initial diagonal entry, and the largest one of the part of the block that contains
 * it. Rounding leaves of a pivot what is small against the former, in any units. */
typedef struct PivotScale {
  double own, largest;
} PivotScale;

/* Computes the pivot to use and counts it if it was raised. False if it is not finite. */
KERNEL_INLINE bool choose_pivot(const double *l, int s, int p, PivotScale scale, double *pivot, int *raised) {
  *pivot = l[s * p + p];
  if (!isfinite(*pivot)) return false;
  if (*pivot > 1e-14 * scale.own && *pivot > 0) return true;
  *pivot = raised_pivot(l, s, p, scale.largest);
  ++*raised;
  return true;
}

/* Factors the lower triangle in place. inverse[p] = 1 / L_pp. Returns the number of raised pivots, -1 if one is not
 * finite. The update uses 1 / pivot instead of the scaled column, so that the square root is not on the path from pivot
 * to pivot. */
KERNEL_INLINE int cholesky_any(double *restrict l, int s, const PivotScale *scale, double *restrict inverse) {
  int raised = 0;
  for (int p = 0; p < s; p++) {
    double *column = l + s * p, pivot;
    if (!choose_pivot(l, s, p, scale[p], &pivot, &raised)) return -1;
    double reciprocal = 1 / pivot;
    for (int q = p + 1; q < s; q++) {
      double factor = column[q] * reciprocal;
      for (int r = q; r < s; r++) l[s * q + r] -= column[r] * factor;
    }
    inverse[p] = sqrt(reciprocal);
    column[p] = pivot;
    for (int r = p; r < s; r++) column[r] *= inverse[p];
  }
  return raised;
}

/* The same for size 12 in vectors, which include some rows above the diagonal. */
static inline int cholesky12(double *l, const PivotScale *scale, double *inverse) {
  int raised = 0;
#pragma GCC unroll 12
  for (int p = 0; p < 12; p++) {
    double *column = l + 12 * p, pivot;
    if (!choose_pivot(l, 12, p, scale[p], &pivot, &raised)) return -1;
    double reciprocal = 1 / pivot;
    Lane x[LANES];
#pragma GCC unroll 6
    for (int r = p / LANE; r < LANES; r++) x[r] = lanes(column)[r];
#pragma GCC unroll 12
    for (int q = p + 1; q < 12; q++) {
      double factor = column[q] * reciprocal;
#pragma GCC unroll 6
      for (int r = q / LANE; r < LANES; r++) lanes(l + 12 * q)[r] -= x[r] * factor;
    }
    inverse[p] = sqrt(reciprocal);
#pragma GCC unroll 6
    for (int r = p / LANE; r < LANES; r++) lanes(column)[r] = x[r] * inverse[p];
    column[p] = pivot * inverse[p];
  }
  return raised;
}

static inline int cholesky(double *l, int s, const PivotScale *scale, double *inverse) {
  if (s == 12) return cholesky12(l, scale, inverse);
  return s == 3 ? cholesky_any(l, 3, scale, inverse) : cholesky_any(l, s, scale, inverse);
}

KERNEL_INLINE void divide12_rows(double *b, const double *l, const double *inverse) {
  Lane x[12];
#pragma GCC unroll 12
  for (int p = 0; p < 12; p++) x[p] = *lanes(b + 12 * p);
#pragma GCC unroll 12
  for (int p = 0; p < 12; p++) {
    x[p] = x[p] * inverse[p];
    *lanes(b + 12 * p) = x[p];
#pragma GCC unroll 12
    for (int q = p + 1; q < 12; q++) x[q] -= x[p] * l[12 * p + q];
  }
}

KERNEL_INLINE void divide_any(double *restrict b, const double *restrict l, const double *restrict inverse, int m,
                              int s) {
  for (int p = 0; p < s; p++) {
    for (int r = 0; r < m; r++) b[m * p + r] *= inverse[p];
    for (int q = p + 1; q < s; q++)
      for (int r = 0; r < m; r++) b[m * q + r] -= b[m * p + r] * l[s * p + q];
  }
}

/* b (m x s) = b L^-T. */
static inline void divide_by_transpose(double *b, const double *l, const double *inverse, int m, int s) {
  if (m == 12 && s == 12)
    for (int r = 0; r < 12; r += LANE) divide12_rows(b + r, l, inverse);
  else if (m == 3 && s == 3) divide_any(b, l, inverse, 3, 3);
  else if (m == 12) divide_any(b, l, inverse, 12, s);
  else divide_any(b, l, inverse, m, s);
}

/* x = L^-1 x. At a fixed size all unknowns stay in registers, and the chain has 2 s operations. */
KERNEL_INLINE void solve_lower_any(double *restrict x, const double *restrict l, const double *restrict inverse,
                                   int s) {
#pragma GCC unroll 12
  for (int p = 0; p < s; p++) {
    x[p] *= inverse[p];
#pragma GCC unroll 12
    for (int r = p + 1; r < s; r++) x[r] -= l[s * p + r] * x[p];
  }
}

/* x = L^-T x */
KERNEL_INLINE void solve_upper_any(double *restrict x, const double *restrict l, const double *restrict inverse,
                                   int s) {
#pragma GCC unroll 12
  for (int p = s - 1; p >= 0; p--) {
    x[p] *= inverse[p];
#pragma GCC unroll 12
    for (int r = p - 1; r >= 0; r--) x[r] -= l[s * r + p] * x[p];
  }
}

/* y (m) -= a x, a is m x s */
KERNEL_INLINE void subtract_times_any(double *restrict y, const double *restrict a, const double *restrict x, int m,
                                      int s) {
  for (int p = 0; p < s; p++)
    for (int r = 0; r < m; r++) y[r] -= a[m * p + r] * x[p];
}

/* x (s) -= a^T y, a is m x s */
KERNEL_INLINE void subtract_transpose_times_any(double *restrict x, const double *restrict a, const double *restrict y,
                                                int m, int s) {
  for (int p = 0; p < s; p++) {
    double sum = 0;
    for (int r = 0; r < m; r++) sum += a[m * p + r] * y[r];
    x[p] -= sum;
  }
}

/* sum += products of the rows of a and y, twelve of each; by column of a and by row modulo four. */
KERNEL_INLINE void add_products12(Lane sum[12][LANES_PER_FOUR], const double *a, const double *y) {
#pragma GCC unroll 12
  for (int p = 0; p < 12; p++)
#pragma GCC unroll 6
    for (int r = 0; r < LANES; r++) sum[p][r % LANES_PER_FOUR] += const_lanes(a + 12 * p)[r] * const_lanes(y)[r];
}

/* x (12) -= the sums over all rows. */
KERNEL_INLINE void subtract_sums12(double *x, const Lane sum[12][LANES_PER_FOUR]) {
#pragma GCC unroll 12
  for (int p = 0; p < 12; p++) {
    double part[4];
#pragma GCC unroll 4
    for (int r = 0; r < 4; r++) part[r] = sum[p][r / LANE][r % LANE];
    x[p] -= (part[0] + part[2]) + (part[1] + part[3]);
  }
}

static inline void solve_lower(double *x, const double *l, const double *inverse, int s) {
  if (s == 12) solve_lower_any(x, l, inverse, 12);
  else if (s == 3) solve_lower_any(x, l, inverse, 3);
  else solve_lower_any(x, l, inverse, s);
}

static inline void solve_upper(double *x, const double *l, const double *inverse, int s) {
  if (s == 12) solve_upper_any(x, l, inverse, 12);
  else if (s == 3) solve_upper_any(x, l, inverse, 3);
  else solve_upper_any(x, l, inverse, s);
}

static inline void subtract_times(double *y, const double *a, const double *x, int m, int s) {
  if (m == 12 && s == 12) subtract_times_any(y, a, x, 12, 12);
  else subtract_times_any(y, a, x, m, s);
}

static inline void subtract_transpose_times(double *x, const double *a, const double *y, int m, int s) {
  if (m == 12 && s == 12) subtract_transpose_times_any(x, a, y, 12, 12);
  else subtract_transpose_times_any(x, a, y, m, s);
}

#endif
