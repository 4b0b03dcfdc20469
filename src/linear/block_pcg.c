/* Preconditioned conjugate gradients of Hestenes and Stiefel. */
#include "linear/block_pcg.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 4096, ROWS_AT_ONCE = 16 };

/* Only the lower triangle of a diagonal block is stored. */
static void multiply_diagonal(const double *a, int s, const double *x, double *y) {
  for (int c = 0; c < s; c++) {
    y[c] += a[s * c + c] * x[c];
    for (int r = c + 1; r < s; r++) {
      y[r] += a[s * c + r] * x[c];
      y[c] += a[s * c + r] * x[r];
    }
  }
}

/* y += a x */
static void add_times(const double *a, int rows, int columns, const double *x, double *y) {
  for (int c = 0; c < columns; c++)
    for (int r = 0; r < rows; r++) y[r] += a[rows * c + r] * x[c];
}

/* y += a^T x */
static void add_transpose_times(const double *a, int rows, int columns, const double *x, double *y) {
  for (int c = 0; c < columns; c++) {
    double sum = 0;
    for (int r = 0; r < rows; r++) sum += a[rows * c + r] * x[r];
    y[c] += sum;
  }
}

typedef struct Product {
  const BlockPattern *pattern;
  const double *values, *x;
  double *y;
} Product;

/* One block row of the whole matrix: blocks left of the diagonal, the diagonal block, and the transposed blocks of the
 * column. */
static void multiply_row(void *context, int j) {
  const Product *m = context;
  const BlockPattern *p = m->pattern;
  int at = p->unknown_at[j], s = p->size[j];
  double *y = m->y + at;
  for (int r = 0; r < s; r++) y[r] = 0;
  for (int e = p->row_at[j]; e < p->row_at[j + 1]; e++) {
    int k = p->row_column[e];
    add_times(m->values + p->block_at[p->row_block[e]], s, p->size[k], m->x + p->unknown_at[k], y);
  }
  multiply_diagonal(m->values + p->block_at[p->column_at[j]], s, m->x + at, y);
  for (int b = p->column_at[j] + 1; b < p->column_at[j + 1]; b++) {
    int row = p->block_row[b];
    add_transpose_times(m->values + p->block_at[b], p->size[row], s, m->x + p->unknown_at[row], y);
  }
}

static void multiply(const BlockPcg *pcg, const double *x, double *y) {
  Product product = {pcg->pattern, pcg->values, x, y};
  parallel_for(pcg->threads, pcg->pattern->n, ROWS_AT_ONCE, multiply_row, &product);
}

/* The vectors of an iteration. */
typedef struct Vectors {
  double *x, *r, *z, *d, *ad;
  double factor;
} Vectors;

static double product_of(const double *x, const double *y, int first, int last) {
  double sum = 0;
  for (int i = first; i < last; i++) sum += x[i] * y[i];
  return sum;
}

static double curvature_term(void *context, int first, int last) {
  const Vectors *v = context;
  return product_of(v->d, v->ad, first, last);
}

static double residual_term(void *context, int first, int last) {
  const Vectors *v = context;
  return product_of(v->r, v->z, first, last);
}

/* x += factor d, r -= factor A d, z = r */
static void advance(void *context, int first, int last, int index) {
  const Vectors *v = context;
  (void)index;
  for (int i = first; i < last; i++) {
    v->x[i] += v->factor * v->d[i];
    v->r[i] += -v->factor * v->ad[i];
    v->z[i] = v->r[i];
  }
}

/* d = z + factor d */
static void turn(void *context, int first, int last, int index) {
  const Vectors *v = context;
  (void)index;
  for (int i = first; i < last; i++) v->d[i] = v->z[i] + v->factor * v->d[i];
}

static double begin(const BlockPcg *pcg, Vectors *v) {
  int n = pcg->pattern->unknown_count;
  size_t bytes = (size_t)n * sizeof(double);
  memcpy(v->r, v->x, bytes);
  memset(v->x, 0, bytes);
  memcpy(v->z, v->r, bytes);
  pcg->precondition(pcg->context, v->z);
  memcpy(v->d, v->z, bytes);
  return parallel_sum(pcg->threads, n, CHUNK, residual_term, v);
}

PcgResult block_pcg_solve(const BlockPcg *pcg, double *x) {
  PcgResult result = {0};
  int n = pcg->pattern->unknown_count, threads = pcg->threads;
  double *w = pcg->work;
  Vectors v = {x, w, w + n, w + 2 * (size_t)n, w + 3 * (size_t)n, 0};
  double rz = begin(pcg, &v), enough = pcg->tolerance * pcg->tolerance * rz;
  while (rz > enough && result.iterations < pcg->max_iterations && !interrupted(pcg->interrupt)) {
    multiply(pcg, v.d, v.ad);
    double curvature = parallel_sum(threads, n, CHUNK, curvature_term, &v);
    if (!(curvature > 0)) {
      result.indefinite = true;
      if (result.iterations == 0) memcpy(x, v.z, (size_t)n * sizeof(double));
      return result;
    }
    v.factor = rz / curvature;
    parallel_chunks(threads, n, CHUNK, advance, &v);
    pcg->precondition(pcg->context, v.z);
    double before = rz;
    rz = parallel_sum(threads, n, CHUNK, residual_term, &v);
    v.factor = rz / before;
    parallel_chunks(threads, n, CHUNK, turn, &v);
    result.iterations++;
  }
  result.converged = rz <= enough;
  for (int i = 0; isnan(rz) && i < n; i++) x[i] = NAN;
  return result;
}
