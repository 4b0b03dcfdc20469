/* The method of Hestenes and Stiefel. */
#include "linear/block_pcg.h"

#include <math.h>
#include <string.h>

/* The lower triangle stands for the whole diagonal block. */
static void multiply_diagonal(const double *a, int s, const double *x, double *y) {
  for (int c = 0; c < s; c++) {
    y[c] += a[s * c + c] * x[c];
    for (int r = c + 1; r < s; r++) {
      y[r] += a[s * c + r] * x[c];
      y[c] += a[s * c + r] * x[r];
    }
  }
}

/* A block below the diagonal and its transpose above. */
static void multiply_block(const double *a, int rows, int columns, const double *x_row, const double *x_column,
                           double *y_row, double *y_column) {
  for (int c = 0; c < columns; c++) {
    double sum = 0;
    for (int r = 0; r < rows; r++) {
      y_row[r] += a[rows * c + r] * x_column[c];
      sum += a[rows * c + r] * x_row[r];
    }
    y_column[c] += sum;
  }
}

void block_pattern_multiply(const BlockPattern *p, const double *values, const double *x, double *y) {
  memset(y, 0, (size_t)p->unknown_count * sizeof *y);
  for (int c = 0; c < p->n; c++) {
    int at = p->unknown_at[c];
    multiply_diagonal(values + p->block_at[p->column_at[c]], p->size[c], x + at, y + at);
    for (int b = p->column_at[c] + 1; b < p->column_at[c + 1]; b++) {
      int row = p->block_row[b], to = p->unknown_at[row];
      multiply_block(values + p->block_at[b], p->size[row], p->size[c], x + to, x + at, y + to, y + at);
    }
  }
}

static double product(const double *x, const double *y, int n) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += x[i] * y[i];
  return sum;
}

static void add_to(double *x, double factor, const double *y, int n) {
  for (int i = 0; i < n; i++) x[i] += factor * y[i];
}

PcgResult block_pcg_solve(const BlockPcg *pcg, double *x) {
  PcgResult result = {0};
  int n = pcg->pattern->unknown_count;
  size_t bytes = (size_t)n * sizeof(double);
  double *r = pcg->work, *z = r + n, *d = z + n, *ad = d + n;
  memcpy(r, x, bytes);
  memset(x, 0, bytes);
  memcpy(z, r, bytes);
  pcg->precondition(pcg->context, z);
  memcpy(d, z, bytes);
  double rz = product(r, z, n), enough = pcg->tolerance * pcg->tolerance * rz;
  while (rz > enough && result.iterations < pcg->max_iterations) {
    block_pattern_multiply(pcg->pattern, pcg->values, d, ad);
    double curvature = product(d, ad, n);
    if (!(curvature > 0)) {
      result.indefinite = true;
      if (result.iterations == 0) memcpy(x, z, bytes);
      return result;
    }
    add_to(x, rz / curvature, d, n);
    add_to(r, -rz / curvature, ad, n);
    memcpy(z, r, bytes);
    pcg->precondition(pcg->context, z);
    double before = rz;
    rz = product(r, z, n);
    for (int i = 0; i < n; i++) d[i] = z[i] + rz / before * d[i];
    result.iterations++;
  }
  result.converged = rz <= enough;
  for (int i = 0; isnan(rz) && i < n; i++) x[i] = NAN;
  return result;
}
