/* Anderson's acceleration, see linear/anderson.h. */
#include "linear/anderson.h"

#include <math.h>
#include <string.h>

#include "base/base.h"

static const double dependent = 1e-8; /* a difference whose part that is new is smaller is left out */
static const double faint = 1e-3;     /* [|r|] a shorter difference is left out: it may be rounding errors alone */

bool anderson_init(Anderson *a, int size) {
  size_t n = (size_t)size;
  memset(a, 0, sizeof *a);
  a->size = size;
  a->weight = mem_alloc(n, sizeof(double));
  a->x = mem_alloc(n, sizeof(double));
  a->r = mem_alloc(n, sizeof(double));
  a->dx = mem_alloc(n * ANDERSON_DEPTH, sizeof(double));
  a->dr = mem_alloc(n * ANDERSON_DEPTH, sizeof(double));
  if (!a->weight || !a->x || !a->r || !a->dx || !a->dr) return false;
  for (int i = 0; i < size; i++) a->weight[i] = 1;
  return true;
}

void anderson_destroy(Anderson *a) {
  void *array[] = {a->weight, a->x, a->r, a->dx, a->dr};
  for (int k = 0; k < ARRAY_COUNT(array); k++) mem_free(array[k]);
  memset(a, 0, sizeof *a);
}

void anderson_begin(Anderson *a) {
  a->count = a->next = 0;
  a->started = false;
}

static double product(const Anderson *a, const double *x, const double *y) {
  double sum = 0;
  for (int i = 0; i < a->size; i++) sum += a->weight[i] * x[i] * y[i];
  return sum;
}

static void subtract(double *x, double f, const double *y, int n) {
  for (int i = 0; i < n; i++) x[i] -= f * y[i];
}

static void store(Anderson *a, const double *x, const double *r) {
  double *dx = a->dx + (size_t)a->next * (size_t)a->size, *dr = a->dr + (size_t)a->next * (size_t)a->size;
  if (a->started) {
    for (int i = 0; i < a->size; i++) {
      dx[i] = x[i] - a->x[i];
      dr[i] = r[i] - a->r[i];
    }
    a->next = (a->next + 1) % ANDERSON_DEPTH;
    if (a->count < ANDERSON_DEPTH) a->count++;
  }
  memcpy(a->x, x, (size_t)a->size * sizeof *x);
  memcpy(a->r, r, (size_t)a->size * sizeof *r);
  a->started = true;
}

/* Solves the least squares problem min |r - sum g_j dr_j| by its normal equations, scaled to a unit diagonal, with
 * faint and dependent columns left out. Returns the number of differences. */
static int solve(const Anderson *a, const double *r, double g[ANDERSON_DEPTH]) {
  double m[ANDERSON_DEPTH][ANDERSON_DEPTH], b[ANDERSON_DEPTH], size[ANDERSON_DEPTH];
  bool used[ANDERSON_DEPTH];
  int n = a->count;
  size_t length = (size_t)a->size;
  double shortest = faint * sqrt(product(a, r, r));
  for (int i = 0; i < n; i++) {
    size[i] = sqrt(product(a, a->dr + (size_t)i * length, a->dr + (size_t)i * length));
    if (size[i] < shortest) size[i] = 0;
  }
  for (int i = 0; i < n; i++) {
    b[i] = size[i] > 0 ? product(a, a->dr + (size_t)i * length, r) / size[i] : 0;
    for (int j = 0; j <= i; j++)
      m[i][j] = m[j][i] = size[i] > 0 && size[j] > 0
                              ? product(a, a->dr + (size_t)i * length, a->dr + (size_t)j * length) / (size[i] * size[j])
                              : 0;
  }
  for (int k = 0; k < n; k++) { /* L D L^T in place, newest columns have no precedence */
    used[k] = m[k][k] > dependent;
    for (int i = k + 1; i < n && used[k]; i++) {
      double f = m[i][k] / m[k][k];
      for (int j = k + 1; j < n; j++) m[i][j] -= f * m[k][j];
      b[i] -= f * b[k];
    }
  }
  for (int k = n - 1; k >= 0; k--) {
    g[k] = 0;
    if (!used[k]) continue;
    for (int j = k + 1; j < n; j++) b[k] -= used[j] ? m[k][j] * g[j] : 0;
    g[k] = b[k] / m[k][k];
  }
  for (int k = 0; k < n; k++) g[k] = used[k] ? g[k] / size[k] : 0;
  return n;
}

void anderson_step(Anderson *a, double *x, const double *r) {
  double g[ANDERSON_DEPTH];
  store(a, x, r);
  int n = solve(a, r, g);
  for (int i = 0; i < a->size; i++) x[i] += r[i];
  for (int j = 0; j < n; j++) {
    subtract(x, g[j], a->dx + (size_t)j * (size_t)a->size, a->size);
    subtract(x, g[j], a->dr + (size_t)j * (size_t)a->size, a->size);
  }
}
