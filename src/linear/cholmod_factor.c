/* Converts blocks to CHOLMOD's scalar columns and back. The symbolic factorisation is kept while the pattern is the
 * same. Tested in tests/test_cholmod.c. */
#include "linear/cholmod_factor.h"

#ifdef ABD_CHOLMOD

#include <cholmod.h>
#include <math.h>
#include <string.h>

struct CholmodFactor {
  cholmod_common common;
  cholmod_factor *factor;
  bool ready;
};

bool cholmod_factor_built(void) { return true; }

CholmodFactor *cholmod_factor_create(void) {
  CholmodFactor *f = mem_zeroed(1, sizeof *f);
  if (!f) return NULL;
  cholmod_start(&f->common);
  f->common.print = 0;
  return f;
}

void cholmod_factor_destroy(CholmodFactor *f) {
  if (!f) return;
  cholmod_factor_forget(f);
  cholmod_finish(&f->common);
  mem_free(f);
}

void cholmod_factor_forget(CholmodFactor *f) {
  if (f->factor) cholmod_free_factor(&f->factor, &f->common);
  f->ready = false;
}

bool cholmod_factor_ready(const CholmodFactor *f) { return f->ready; }

/* Adds a block's entries below the matrix's diagonal. row, column: its first ones in the caller's order. */
static void add_block(cholmod_triplet *t, const double *block, int stride, int rows, int columns, int row, int column) {
  int *i = t->i, *j = t->j;
  double *x = t->x;
  for (int c = 0; c < columns; c++)
    for (int r = 0; r < rows; r++) {
      int at = row + r, across = column + c;
      if (row == column && r < c) continue;
      i[t->nnz] = at > across ? at : across;
      j[t->nnz] = at > across ? across : at;
      x[t->nnz++] = block[stride * c + r];
    }
}

static cholmod_sparse *sparse_of(CholmodFactor *f, const BlockPattern *p, const double *values) {
  size_t entries = 0, n = (size_t)p->unknown_count;
  for (int i = 0; i < p->given_count; i++) entries += (size_t)(p->given_size[i] * p->given_size[i]);
  for (int k = 0; k < p->edge_count; k++)
    entries += (size_t)(p->given_size[p->given_edge[k][0]] * p->given_size[p->given_edge[k][1]]);
  cholmod_triplet *t = cholmod_allocate_triplet(n, n, entries, -1, CHOLMOD_REAL, &f->common);
  if (!t) return NULL;
  for (int i = 0; i < p->given_count; i++) {
    BlockPlace place = block_pattern_diagonal(p, i);
    add_block(t, values + place.at, place.stride, p->given_size[i], p->given_size[i], p->caller_at[i], p->caller_at[i]);
  }
  for (int k = 0; k < p->edge_count; k++) {
    bool transposed;
    BlockPlace place = block_pattern_edge(p, k, &transposed);
    int row = p->given_edge[k][transposed], column = p->given_edge[k][!transposed];
    add_block(t, values + place.at, place.stride, p->given_size[row], p->given_size[column], p->caller_at[row],
              p->caller_at[column]);
  }
  cholmod_sparse *sparse = cholmod_triplet_to_sparse(t, entries, &f->common);
  cholmod_free_triplet(&t, &f->common);
  return sparse;
}

bool cholmod_factor_compute(CholmodFactor *f, const BlockPattern *p, const double *values) {
  f->ready = false;
  cholmod_sparse *a = sparse_of(f, p, values);
  if (!a) return false;
  if (!f->factor) f->factor = cholmod_analyze(a, &f->common);
  f->ready = f->factor && cholmod_factorize(a, f->factor, &f->common) && f->common.status == CHOLMOD_OK;
  cholmod_free_sparse(&a, &f->common);
  return f->ready;
}

void cholmod_factor_solve(CholmodFactor *f, int count, const double *b, double *x) {
  size_t n = (size_t)count;
  cholmod_dense right = {.nrow = n,
                         .ncol = 1,
                         .nzmax = n,
                         .d = n,
                         .x = (void *)(uintptr_t)b,
                         .xtype = CHOLMOD_REAL,
                         .dtype = CHOLMOD_DOUBLE};
  cholmod_dense *solution = cholmod_solve(CHOLMOD_A, f->factor, &right, &f->common);
  if (solution) memcpy(x, solution->x, n * sizeof(double));
  else
    for (size_t i = 0; i < n; i++) x[i] = NAN;
  cholmod_free_dense(&solution, &f->common);
}

#else

bool cholmod_factor_built(void) { return false; }
CholmodFactor *cholmod_factor_create(void) { return NULL; }
void cholmod_factor_destroy(CholmodFactor *f) { (void)f; }
void cholmod_factor_forget(CholmodFactor *f) { (void)f; }
bool cholmod_factor_ready(const CholmodFactor *f) { return f != NULL; }
bool cholmod_factor_compute(CholmodFactor *f, const BlockPattern *p, const double *values) { return f && p && values; }
void cholmod_factor_solve(CholmodFactor *f, int count, const double *b, double *x) {
  (void)f, (void)count, (void)b, (void)x;
}

#endif
