/* Conjugate gradients in one cooperative kernel, see cuda/pcg.h. The iteration is the pipelined one of Ghysels and
 * Vanroose: products with the matrix and sums do not wait for each other, so an iteration has one grid-wide wait.
 *     gamma = r . u, delta = w . u; n = A m with m = M^-1 w
 *     beta = gamma / gamma', alpha = gamma / (delta - beta gamma / alpha')
 *     z = n + beta z, q = m + beta q, s = w + beta s, p = u + beta p
 *     x += alpha p, r -= alpha s, u -= alpha q, w -= alpha z
 * u = M^-1 r, w = A u, s = A p, q = M^-1 s and z = A q hold up to rounding errors, which grow; every REPLACE iterations
 * they are computed anew.
 *
 * The rows of a thread block stay in its multiprocessor: vectors, and as many blocks of inverses and entries of the
 * matrix as fit into shared memory. Only m and the sums of chunks go through the GPU's memory. A large matrix is read
 * from there in every iteration, as few bytes as possible: blocks between two bodies are those of their pair, 96
 * numbers for both of its entries.
 *
 * There is no counter of thread blocks that wait. Each number of a chunk's sums has the number of the wait in its two
 * lowest bits, and a thread block polls the sums of the components that it has rows of. They come with the wait, and
 * components do not wait for each other. */
#include "cuda/pcg.h"

#include <cuda_runtime.h>
#include <math.h>

enum { WARP = 32, WARPS = 16, THREADS = WARP * WARPS, BLOCK_ROWS = 8, SINGLE_ROWS = 8, REPLACE = 50 };
enum { VECTOR_R, VECTOR_U, VECTOR_W, VECTOR_P, VECTOR_S, VECTOR_Q, VECTOR_Z, VECTOR_X, VECTOR_N, VECTOR_M, VECTORS };
enum { STATUS_LIVE, STATUS_DONE, STATUS_INDEFINITE };

typedef struct Arrays {
  PcgMatrix m;
  const double *inverse; /* of the clusters, by strips */
  const float *factor;   /* in place of the inverse: W of large matrices, see row_half */
  double *x;             /* right-hand side, in the end the solution */
  double *vector;        /* VECTORS per row, of thread blocks whose rows do not fit into shared memory */
  char *spare;           /* the same of their other arrays, SPARE_ROW bytes per row */
  double *shown[2];      /* what other rows read, of even and odd phases */
  double *also[2];       /* the same, when vectors are replaced */
  ulonglong2 *sum[2];    /* per chunk: gamma and delta with their marks, of even and odd waits */
  double *first;         /* per component: squared norm of the first right-hand side */
  bool again;            /* `first` is that of an earlier solve */
  double enough;         /* square of the tolerance */
  int most;
  size_t shared; /* [bytes] of shared memory */
  PcgStatus *status;
} Arrays;

/* The iteration of a chunk's component. Every thread block that has rows of it computes the same. */
typedef struct Iteration {
  double gamma, first, alpha, beta;
  double over_gamma, over_alpha; /* inverses: divisions are slow */
  int status;
  bool starts;       /* negative curvature in the first iteration */
  bool counts;       /* this chunk is the component's first */
  int row, end;      /* rows of the chunk, from the thread block's first on */
  int chunk, chunks; /* of the component */
} Iteration;

/* The rows of a thread block. Pointers are to shared memory or to the GPU's. */
typedef struct Rows {
  int first, count, chunk, chunks;
  int entry, entries, kept; /* the first so many entries are in shared memory */
  int inverse_kept;         /* the same of the blocks of the inverse */
  double *vector;           /* VECTORS x 12 per row */
  const double *inverse;    /* the kept blocks */
  const PcgStrip *strip;    /* per row */
  const double *value;      /* of the kept entries */
  const int *column;        /* of all entries */
  const int *couple;        /* the same, with a factor; `value` then has diagonal blocks, of the first `kept` rows, */
  const double *pair;       /* and this those of the first `pairs_kept` entries that are not on the diagonal */
  int pairs_kept;
  double2 *term;        /* per row: its part of gamma and delta */
  Iteration *iteration; /* per chunk */
  int *chunk_of;        /* per row: its chunk, from 0 on */
  int *row_entry;       /* [count + 1] entries of a row, from the thread block's first on */
  double *even, *odd;   /* `shown` of Arrays; in shared memory if there is one thread block */
} Rows;

/* ---- blocks of the matrix, by one warp ---- */

/* Sums of products of 12 x 12 blocks and vectors. Lane 6 g + p < 24 has rows 2 p and 2 p + 1, of the columns 3 g to
 * 3 g + 2. */
typedef struct RowSum {
  double2 y;
} RowSum;

typedef struct Columns {
  double2 a[3];
} Columns;

__device__ static Columns block_load(const double *a, int lane) {
  Columns c;
  int group = lane / 6, pair = lane % 6;
#pragma unroll
  for (int k = 0; k < 3; k++)
    c.a[k] = lane < 24 ? *(const double2 *)(a + PCG_SIZE * (3 * group + k) + 2 * pair) : make_double2(0, 0);
  return c;
}

/* Lane i < 12 has x_i. */
__device__ static void block_add(RowSum *s, const Columns &c, double x, int lane) {
#pragma unroll
  for (int k = 0; k < 3; k++) {
    double xk = __shfl_sync(0xffffffffu, x, lane < 24 ? 3 * (lane / 6) + k : 0);
    s->y.x = fma(c.a[k].x, xk, s->y.x);
    s->y.y = fma(c.a[k].y, xk, s->y.y);
  }
}

/* Blocks are added to two sums in turn: one waits for the other's product less often. */
__device__ static RowSum sum_of(const RowSum s[2]) { return {make_double2(s[0].y.x + s[1].y.x, s[0].y.y + s[1].y.y)}; }

/* Lane i < 12 gets row i of the sum, the others zero. */
__device__ static double row_of(RowSum s, int lane) {
  for (int step = 12; step >= 6; step -= 6) {
    double x = __shfl_down_sync(0xffffffffu, s.y.x, step), y = __shfl_down_sync(0xffffffffu, s.y.y, step);
    s.y.x += x; /* of use in the first lanes alone */
    s.y.y += y;
  }
  double x = __shfl_sync(0xffffffffu, s.y.x, lane / 2), y = __shfl_sync(0xffffffffu, s.y.y, lane / 2);
  return lane < PCG_SIZE ? (lane % 2 ? y : x) : 0.0;
}

/* x: 12 numbers in memory. */
__device__ static void block_add_from(RowSum *s, const Columns &c, const double *x, int lane) {
#pragma unroll
  for (int k = 0; k < 3; k++) {
    double xk = x[lane < 24 ? 3 * (lane / 6) + k : 0];
    s->y.x = fma(c.a[k].x, xk, s->y.x);
    s->y.y = fma(c.a[k].y, xk, s->y.y);
  }
}

__device__ static double warp_sum(double x) {
  for (int step = WARP / 2; step; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

/* ---- rows of a thread block ---- */

typedef struct Room {
  char *at;
  size_t left;
} Room;

/* A piece of shared memory; `other` if there is not enough. */
__device__ static void *room_take(Room *room, size_t bytes, void *other) {
  bytes = (bytes + 15) & ~(size_t)15;
  if (bytes > room->left) return other;
  void *at = room->at;
  room->at += bytes;
  room->left -= bytes;
  return at;
}

/* Room for as many blocks of `size` numbers as fit. */
__device__ static double *keep_blocks(Room *room, int count, size_t size, int *kept) {
  size_t fit = room->left / (size * sizeof(double));
  *kept = (size_t)count < fit ? count : (int)fit;
  return (double *)room_take(room, (size_t)*kept * size * sizeof(double), NULL);
}

__device__ static void copy(double *to, const double *from, size_t count) {
  for (size_t i = threadIdx.x; i < count / 2; i += THREADS) ((double2 *)to)[i] = ((const double2 *)from)[i];
}

/* Bytes of the arrays of a row in the GPU's memory, if shared memory is too small. Waits empty the multiprocessor's
 * cache, so what an iteration needs is copied to shared memory first. */
enum { SPARE_ITERATION = 80, SPARE_TERM = 16, SPARE_CHUNK = 16, SPARE_ENTRY = 32, SPARE_ROW = 144 };
static_assert(sizeof(Iteration) <= SPARE_ITERATION, "a row has at most one chunk");

__device__ static const double *pair_at(const PcgMatrix &m, int couple) {
  return m.pair + (size_t)m.pair_step * (couple / 2);
}

/* With a factor: copies diagonal blocks and blocks of pairs to shared memory, a row by a warp. */
__device__ static void keep_rows(const Arrays &s, const Rows &b, double *value, double *pair) {
  int lane = (int)threadIdx.x % WARP;
  for (int k = (int)threadIdx.x / WARP; k < b.count; k += WARPS) {
    int first = b.row_entry[k], end = b.row_entry[k + 1];
    const double *own = s.m.value + (size_t)PCG_BLOCK * (b.entry + first);
    for (int i = lane; i < PCG_BLOCK && k < b.kept; i += WARP) value[(size_t)PCG_BLOCK * k + i] = own[i];
    for (int e = first + 1; e < end && e - k - 1 < b.pairs_kept; e++)
      for (int i = lane; i < PCG_COUPLE; i += WARP)
        pair[(size_t)PCG_COUPLE * (e - k - 1) + i] = pair_at(s.m, b.couple[e])[i];
  }
}

__device__ static Rows rows_open(const Arrays &s, Room room) {
  Rows b;
  const PcgMatrix &m = s.m;
  b.chunk = m.block_chunk[blockIdx.x];
  b.chunks = m.block_chunk[blockIdx.x + 1] - b.chunk;
  b.first = m.chunk_row[b.chunk];
  b.count = m.chunk_row[b.chunk + b.chunks] - b.first;
  b.entry = m.first[b.first];
  b.entries = m.first[b.first + b.count] - b.entry;
  char *spare = s.spare + (size_t)b.first * SPARE_ROW;
  size_t count = (size_t)b.count, vectors = count * VECTORS * PCG_SIZE;
  b.iteration = (Iteration *)room_take(&room, (size_t)b.chunks * sizeof(Iteration), spare);
  b.term = (double2 *)room_take(&room, count * sizeof(double2), spare + count * SPARE_ITERATION);
  b.chunk_of = (int *)room_take(&room, count * sizeof(int), spare + count * (SPARE_ITERATION + SPARE_TERM));
  b.row_entry =
      (int *)room_take(&room, (count + 1) * sizeof(int), spare + count * (SPARE_ITERATION + SPARE_TERM + SPARE_CHUNK));
  size_t shown = gridDim.x > 1 ? ~(size_t)0 / 2 : count * PCG_SIZE * sizeof(double); /* no room for others' rows */
  b.even = (double *)room_take(&room, shown, s.shown[0]);
  b.odd = (double *)room_take(&room, shown, s.shown[1]);
  b.vector = (double *)room_take(&room, vectors * sizeof(double), s.vector + (size_t)b.first * VECTORS * PCG_SIZE);
  int *column = (int *)room_take(&room, (size_t)b.entries * sizeof(int), NULL);
  b.column = column ? column : m.column + b.entry;
  PcgStrip *strip = (PcgStrip *)room_take(&room, count * sizeof(PcgStrip), NULL);
  b.strip = strip ? strip : m.strip + b.first;
  int inverses = 0, at = 0;
  if (b.count > 0 && !s.factor) {
    PcgStrip last = m.strip[b.first + b.count - 1];
    at = m.strip[b.first].first;
    inverses = last.first + last.count - at;
  }
  int *couple = s.factor ? (int *)room_take(&room, (size_t)b.entries * sizeof(int), NULL) : NULL;
  b.couple = couple ? couple : m.couple + b.entry;
  double *inverse = keep_blocks(&room, inverses, PCG_BLOCK, &b.inverse_kept);
  double *value = keep_blocks(&room, s.factor ? b.count : b.entries, PCG_BLOCK, &b.kept);
  double *pair = keep_blocks(&room, s.factor ? b.entries - b.count : 0, PCG_COUPLE, &b.pairs_kept);
  b.inverse = inverse;
  b.value = value;
  b.pair = pair;
  for (int c = (int)threadIdx.x; c < b.chunks; c += THREADS) {
    int component = m.chunk_component[b.chunk + c], first = m.component_chunk[component];
    Iteration start = {0, 0, 0, 0, 0, 0, STATUS_LIVE, false, b.chunk + c == first};
    start.row = m.chunk_row[b.chunk + c] - b.first;
    start.end = m.chunk_row[b.chunk + c + 1] - b.first;
    start.chunk = first;
    start.chunks = m.component_chunk[component + 1] - first;
    start.first = s.again ? s.first[component] : 0;
    b.iteration[c] = start;
    for (int k = start.row; k < start.end; k++) b.chunk_of[k] = c;
  }
  for (int k = (int)threadIdx.x; k <= b.count; k += THREADS) b.row_entry[k] = m.first[b.first + k] - b.entry;
  for (size_t i = threadIdx.x; i < vectors; i += THREADS) b.vector[i] = 0;
  for (int e = (int)threadIdx.x; column && e < b.entries; e += THREADS) column[e] = m.column[b.entry + e];
  for (int k = (int)threadIdx.x; strip && k < b.count; k += THREADS) strip[k] = m.strip[b.first + k];
  for (int e = (int)threadIdx.x; couple && e < b.entries; e += THREADS) couple[e] = m.couple[b.entry + e];
  copy(inverse, s.inverse + (size_t)at * PCG_BLOCK, (size_t)b.inverse_kept * PCG_BLOCK);
  if (!s.factor) copy(value, m.value + (size_t)b.entry * PCG_BLOCK, (size_t)b.kept * PCG_BLOCK);
  __syncthreads();
  if (s.factor) keep_rows(s, b, value, pair);
  __syncthreads();
  return b;
}

__device__ static double *shown_in(const Rows &b, int iteration) { return iteration & 1 ? b.odd : b.even; }

__device__ static double *vector_at(const Rows &b, int k, int which) {
  return b.vector + ((size_t)k * VECTORS + which) * PCG_SIZE;
}

/* What a row of any thread block shows. It is read from the GPU's memory, past the multiprocessor's own cache. */
__device__ static double shown_at(const double *shown, int row, int lane) {
  const double *at = shown + (size_t)PCG_SIZE * row + lane;
  if (lane >= PCG_SIZE) return 0;
  return gridDim.x > 1 ? __ldcg(at) : *at;
}

__device__ static const double *entry_at(const Arrays &s, const Rows &b, int e) {
  return e < b.kept ? b.value + (size_t)PCG_BLOCK * e : s.m.value + (size_t)PCG_BLOCK * (b.entry + e);
}

/* A block between two bodies. Lane 16 h + 4 i + j has of node i of the row and j of the column the numbers xx yy zz, or
 * xy xz yz if h = 1. */
typedef struct Couple {
  double s[3];
} Couple;

__device__ static Couple couple_load(const double *pair, bool of_b, int lane) {
  Couple c;
  int nodes = lane % PCG_NODES, at = of_b ? nodes % 4 * 4 + nodes / 4 : nodes, plane = lane / PCG_NODES * 3;
#pragma unroll
  for (int k = 0; k < 3; k++) c.s[k] = pair[PCG_NODES * (plane + k) + at];
  return c;
}

/* Lane i < 12 has x_i. */
__device__ static void couple_add(double y[3], const Couple &c, double x, int lane) {
  int j = 3 * (lane % 4);
  double x0 = __shfl_sync(0xffffffffu, x, j), x1 = __shfl_sync(0xffffffffu, x, j + 1),
         x2 = __shfl_sync(0xffffffffu, x, j + 2);
  if (lane < PCG_NODES) {
    y[0] = fma(c.s[0], x0, y[0]);
    y[1] = fma(c.s[1], x1, y[1]);
    y[2] = fma(c.s[2], x2, y[2]);
  } else {
    y[0] = fma(c.s[0], x1, fma(c.s[1], x2, y[0]));
    y[1] = fma(c.s[0], x0, fma(c.s[2], x2, y[1]));
    y[2] = fma(c.s[1], x0, fma(c.s[2], x1, y[2]));
  }
}

/* Lane i < 12 gets row i of the sum, the others zero. */
__device__ static double couple_row(const double y[3], int lane) {
  double z[3];
#pragma unroll
  for (int k = 0; k < 3; k++) {
    double sum = y[k];
    sum += __shfl_xor_sync(0xffffffffu, sum, 1);
    sum += __shfl_xor_sync(0xffffffffu, sum, 2);
    sum += __shfl_xor_sync(0xffffffffu, sum, PCG_NODES);
    z[k] = __shfl_sync(0xffffffffu, sum, lane < PCG_SIZE ? 4 * (lane / 3) : 0);
  }
  return lane < PCG_SIZE ? (lane % 3 == 0 ? z[0] : lane % 3 == 1 ? z[1] : z[2]) : 0.0;
}

/* Row k of A v with a factor: most blocks come from the GPU's memory. Those of some entries are loaded together,
 * without branches in between, and the last one again if there are fewer. */
__device__ static double row_times_pairs(const Arrays &s, const Rows &b, int k, const double *v, int lane) {
  enum { AT_ONCE = 3 };
  RowSum own = {make_double2(0, 0)};
  double y[3] = {0, 0, 0};
  int first = b.row_entry[k], end = b.row_entry[k + 1];
  const double *diagonal =
      k < b.kept ? b.value + (size_t)PCG_BLOCK * k : s.m.value + (size_t)PCG_BLOCK * (b.entry + first);
  Columns block = block_load(diagonal, lane);
  double x_own = shown_at(v, b.first + k, lane);
  for (int e = first + 1; e < end; e += AT_ONCE) {
    double x[AT_ONCE];
    Couple couple[AT_ONCE];
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
      int at = e + i < end ? e + i : end - 1, code = b.couple[at], place = at - k - 1;
      const double *pair = place < b.pairs_kept ? b.pair + (size_t)PCG_COUPLE * place : pair_at(s.m, code);
      x[i] = e + i < end ? shown_at(v, b.column[at], lane) : 0;
      couple[i] = couple_load(pair, code & 1, lane);
    }
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++)
      if (e + i < end) couple_add(y, couple[i], x[i], lane);
  }
  block_add(&own, block, x_own, lane);
  return row_of(own, lane) - couple_row(y, lane);
}

/* Row k of A v; lane i < 12 has number i. Four entries at once: all of them wait for memory. */
template <bool FACTORED>
__device__ static double row_times(const Arrays &s, const Rows &b, int k, const double *v, int lane) {
  if constexpr (FACTORED) return row_times_pairs(s, b, k, v, lane);
  enum { AT_ONCE = 4 };
  RowSum sum[2] = {{make_double2(0, 0)}, {make_double2(0, 0)}};
  int end = b.row_entry[k + 1];
  for (int e = b.row_entry[k]; e < end; e += AT_ONCE) {
    double x[AT_ONCE];
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) x[i] = e + i < end ? shown_at(v, b.column[e + i], lane) : 0;
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
      if (e + i >= end) break;
      block_add(&sum[i % 2], block_load(entry_at(s, b, e + i), lane), x[i], lane);
    }
  }
  return row_of(sum_of(sum), lane);
}

/* Row k of M^-1 v, v one of the vectors. All threads have written its rows. */
__device__ static double row_precondition(const Arrays &s, const Rows &b, int k, int which, int lane) {
  enum { AT_ONCE = 4 };
  RowSum sum[2] = {{make_double2(0, 0)}, {make_double2(0, 0)}};
  PcgStrip strip = b.strip[k];
  int from = strip.first - b.strip[0].first, row = strip.row - b.first;
  for (int base = 0; base < strip.count; base += AT_ONCE) {
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
      int e = base + i;
      if (e >= strip.count) break;
      const double *block = from + e < b.inverse_kept ? b.inverse + (size_t)PCG_BLOCK * (from + e)
                                                      : s.inverse + (size_t)PCG_BLOCK * (strip.first + e);
      block_add_from(&sum[i % 2], block_load(block, lane), vector_at(b, row + e, which), lane);
    }
  }
  return row_of(sum_of(sum), lane);
}

/* Inverses of many clusters do not fit into shared memory, and are what an iteration reads most of. Then M^-1 = W^T W
 * with a triangular W in single precision, a quarter of the bytes. M^-1 is positive definite for any errors of W; those
 * of an inverse in single precision would be as large as what the inverse does to stiff directions. Blocks (k, e) with
 * e <= k of a cluster lie where those of an inverse would. */
enum { HALF_AT_ONCE = GPU_CLUSTER };

typedef struct HalfColumns {
  float2 a[3];
} HalfColumns;

__device__ static HalfColumns half_load(const float *a, bool transposed, int lane) {
  HalfColumns c;
  int group = lane < 24 ? lane / 6 : 0, pair = lane % 6;
#pragma unroll
  for (int k = 0; k < 3; k++) {
    int row = 2 * pair, column = 3 * group + k;
    c.a[k] = transposed ? make_float2(a[PCG_SIZE * row + column], a[PCG_SIZE * (row + 1) + column])
                        : *(const float2 *)(a + PCG_SIZE * column + row);
  }
  return c;
}

__device__ static void half_add(RowSum *s, const HalfColumns &c, const double *x, int lane) {
#pragma unroll
  for (int k = 0; k < 3; k++) {
    double xk = lane < 24 ? x[3 * (lane / 6) + k] : 0;
    s->y.x = fma((double)c.a[k].x, xk, s->y.x);
    s->y.y = fma((double)c.a[k].y, xk, s->y.y);
  }
}

/* Row k of W v, or of W^T v. */
__device__ static double row_half(const Arrays &s, const Rows &b, int k, int which, bool transposed, int lane) {
  RowSum sum[2] = {{make_double2(0, 0)}, {make_double2(0, 0)}};
  PcgStrip strip = b.strip[k];
  int row = strip.row - b.first, place = k - row, from = transposed ? place : 0;
  int last = transposed ? strip.count - 1 : place;
  HalfColumns block[HALF_AT_ONCE];
#pragma unroll
  for (int i = 0; i < HALF_AT_ONCE; i++) {
    int e = from + i < last ? from + i : last;
    int at = transposed ? strip.first + (e - place) * strip.count + place : strip.first + e;
    block[i] = half_load(s.factor + (size_t)PCG_BLOCK * at, transposed, lane);
  }
#pragma unroll
  for (int i = 0; i < HALF_AT_ONCE; i++)
    if (from + i <= last) half_add(&sum[i % 2], block[i], vector_at(b, row + from + i, which), lane);
  return row_of(sum_of(sum), lane);
}

__device__ static void show(double *shown, const Rows &b, int k, double x, int lane) {
  if (lane < PCG_SIZE) shown[(size_t)PCG_SIZE * (b.first + k) + lane] = x;
}

__device__ static double own(const Rows &b, int k, int which, int lane) {
  return lane < PCG_SIZE ? vector_at(b, k, which)[lane] : 0.0;
}

__device__ static void put_own(const Rows &b, int k, int which, int lane, double x) {
  if (lane < PCG_SIZE) vector_at(b, k, which)[lane] = x;
}

/* Row k of M^-1 v. With a factor, half has W v. */
template <bool FACTORED>
__device__ static double row_preconditioned(const Arrays &s, const Rows &b, int k, int which, int half, int lane) {
  return FACTORED ? row_half(s, b, k, half, true, lane) : row_precondition(s, b, k, which, lane);
}

/* m = M^-1 w, for this row and for the others. */
template <bool FACTORED> __device__ static void show_m(const Arrays &s, double *shown, const Rows &b, int k, int lane) {
  double m = row_preconditioned<FACTORED>(s, b, k, VECTOR_W, VECTOR_N, lane);
  put_own(b, k, VECTOR_M, lane, m);
  show(shown, b, k, m, lane);
}

/* ---- waits and sums ---- */

/* Waits are counted from FIRST_WAIT on. Sums lie in two places, for even and odd waits; the mark of a place changes
 * with every other wait. It is not 0 in the first ones, as it is before anything is written. */
enum { FIRST_WAIT = 2, MARKS = 3, POLLED = 4 };

__device__ static unsigned long long mark_of(unsigned wait) { return wait >> 1 & MARKS; }

__device__ static unsigned long long marked(double x, unsigned wait) {
  return ((unsigned long long)__double_as_longlong(x) & ~(unsigned long long)MARKS) | mark_of(wait);
}

__device__ static double unmarked(unsigned long long x) {
  return __longlong_as_double((long long)(x & ~(unsigned long long)MARKS));
}

/* Shows that the chunk's rows have come to the wait. What the thread block wrote before is visible to those that wait
 * for it. All threads have come here. */
__device__ static void show_sum(const Arrays &s, int chunk, double2 sum, unsigned wait) {
  ulonglong2 *at = s.sum[wait & 1] + chunk;
  __threadfence();
  asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(at), "l"(marked(sum.x, wait)),
               "l"(marked(sum.y, wait))
               : "memory");
}

/* gamma and delta of all chunks from the terms of their rows. */
__device__ static void show_sums(const Arrays &s, const Rows &b, unsigned wait) {
  __syncthreads();
  for (int c = (int)threadIdx.x; c < b.chunks; c += THREADS) {
    double2 sum = make_double2(0, 0);
    int end = b.iteration[c].end;
#pragma unroll 8
    for (int k = b.iteration[c].row; k < end; k++) {
      sum.x += b.term[k].x;
      sum.y += b.term[k].y;
    }
    show_sum(s, b.chunk + c, sum, wait);
  }
}

/* Waits for all chunks of a component, by one warp. Returns the lane's part of their sums. */
__device__ static double2 await_component(const Arrays &s, const Iteration *g, unsigned wait, int lane) {
  const ulonglong2 *part = s.sum[wait & 1] + g->chunk;
  double2 sum = make_double2(0, 0);
  for (int base = lane; base < g->chunks; base += POLLED * WARP) {
    unsigned long long x[POLLED], y[POLLED], wrong;
    do {
      wrong = 0;
#pragma unroll
      for (int i = 0; i < POLLED; i++) {
        int c = base + i * WARP;
        x[i] = y[i] = mark_of(wait);
        if (c < g->chunks)
          asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                       : "=l"(x[i]), "=l"(y[i])
                       : "l"(part + c)
                       : "memory");
        wrong |= ((x[i] ^ mark_of(wait)) | (y[i] ^ mark_of(wait))) & MARKS;
      }
    } while (wrong);
#pragma unroll
    for (int i = 0; i < POLLED; i++) {
      sum.x += unmarked(x[i]);
      sum.y += unmarked(y[i]);
    }
  }
  __threadfence();
  return sum;
}

/* Waits for the components that still iterate; no sums. */
__device__ static void wait_for_rows(const Arrays &s, const Rows &b, unsigned *wait, int warp, int lane) {
  __syncthreads();
  for (int c = (int)threadIdx.x; c < b.chunks; c += THREADS) show_sum(s, b.chunk + c, make_double2(0, 0), *wait);
  for (int c = WARPS - 1 - warp; c < b.chunks; c += WARPS)
    if (b.iteration[c].status == STATUS_LIVE) await_component(s, &b.iteration[c], *wait, lane);
  ++*wait;
  __syncthreads();
}

/* ---- the iteration ---- */

__device__ static void iteration_next(Iteration *g, double2 sum, int iteration, double enough) {
  double gamma = sum.x;
  if (iteration == 0 && gamma > g->first) g->first = gamma;
  g->gamma = gamma;
  g->starts = false;
  if (!(gamma > enough * g->first)) {
    g->status = STATUS_DONE;
    return;
  }
  g->beta = gamma * g->over_gamma; /* 0 at first */
  double curvature = sum.y - g->beta * gamma * g->over_alpha;
  if (!(curvature > 0)) {
    g->status = STATUS_INDEFINITE;
    g->starts = iteration == 0;
    return;
  }
  g->alpha = gamma / curvature;
  g->over_alpha = curvature;
}

/* What the next iteration divides by, while rows advance. over_alpha: the curvature. */
__device__ static void iteration_invert(Iteration *g) {
  g->over_gamma = 1 / g->gamma;
  g->over_alpha *= g->over_gamma;
}

/* Waits for the others' m and sums. A warp keeps its part of the sums of its first chunk; the sums are added while
 * other warps multiply. Few thread blocks have more chunks than warps. */
__device__ static double2 await_sums(const Arrays &s, const Rows &b, unsigned wait, int iteration, int warp, int lane) {
  double2 kept = make_double2(0, 0);
  for (int c = WARPS - 1 - warp; c < b.chunks; c += WARPS) {
    Iteration *g = &b.iteration[c];
    if (g->status != STATUS_LIVE) continue;
    double2 sum = await_component(s, g, wait, lane);
    if (c < WARPS) {
      kept = sum;
      continue;
    }
    sum = make_double2(warp_sum(sum.x), warp_sum(sum.y));
    __syncwarp(); /* all lanes have read the status */
    if (lane == 0) iteration_next(g, sum, iteration, s.enough);
  }
  __syncthreads();
  return kept;
}

/* The last warps do it while the first ones multiply. Returns whether a component of the warp's chunks iterates. */
__device__ static bool next_iterations(const Arrays &s, const Rows &b, double2 kept, int iteration, int warp,
                                       int lane) {
  int own = WARPS - 1 - warp;
  if (own < b.chunks && b.iteration[own].status == STATUS_LIVE) {
    double2 sum = make_double2(warp_sum(kept.x), warp_sum(kept.y));
    __syncwarp(); /* all lanes have read the status */
    if (lane == 0) iteration_next(&b.iteration[own], sum, iteration, s.enough);
    __syncwarp();
  }
  bool live = false;
  for (int c = own; c < b.chunks; c += WARPS) live = live || b.iteration[c].status == STATUS_LIVE;
  return live;
}

__device__ static void invert_iterations(const Rows &b, int warp, int lane) {
  for (int c = WARPS - 1 - warp; c < b.chunks && lane == 0; c += WARPS)
    if (b.iteration[c].status == STATUS_LIVE) iteration_invert(&b.iteration[c]);
}

__device__ static bool row_lives(const Rows &b, int k) { return b.iteration[b.chunk_of[k]].status == STATUS_LIVE; }

__device__ static void put_term(const Rows &b, int k, double r, double u, double w, int lane) {
  double gamma = warp_sum(r * u), delta = warp_sum(w * u);
  if (lane == 0) b.term[k] = make_double2(gamma, delta);
}

/* Negative curvature at once: the preconditioned right-hand side is a descent direction. */
__device__ static void row_start(const Rows &b, int k, int lane) {
  if (lane < PCG_SIZE && b.iteration[b.chunk_of[k]].starts)
    vector_at(b, k, VECTOR_X)[lane] = vector_at(b, k, VECTOR_U)[lane];
}

__device__ static void row_advance(const Rows &b, int k, int lane) {
  const Iteration *g = &b.iteration[b.chunk_of[k]];
  bool mine = lane < PCG_SIZE;
  double *v = vector_at(b, k, 0) + (mine ? lane : 0), alpha = g->alpha, beta = g->beta, r = 0, u = 0, w = 0;
  if (mine) {
    double z = v[VECTOR_Z * PCG_SIZE] = fma(beta, v[VECTOR_Z * PCG_SIZE], v[VECTOR_N * PCG_SIZE]);
    double q = v[VECTOR_Q * PCG_SIZE] = fma(beta, v[VECTOR_Q * PCG_SIZE], v[VECTOR_M * PCG_SIZE]);
    double t = v[VECTOR_S * PCG_SIZE] = fma(beta, v[VECTOR_S * PCG_SIZE], v[VECTOR_W * PCG_SIZE]);
    double p = v[VECTOR_P * PCG_SIZE] = fma(beta, v[VECTOR_P * PCG_SIZE], v[VECTOR_U * PCG_SIZE]);
    v[VECTOR_X * PCG_SIZE] = fma(alpha, p, v[VECTOR_X * PCG_SIZE]);
    r = v[VECTOR_R * PCG_SIZE] = fma(-alpha, t, v[VECTOR_R * PCG_SIZE]);
    u = v[VECTOR_U * PCG_SIZE] = fma(-alpha, q, v[VECTOR_U * PCG_SIZE]);
    w = v[VECTOR_W * PCG_SIZE] = fma(-alpha, z, v[VECTOR_W * PCG_SIZE]);
  }
  put_term(b, k, r, u, w, lane);
}

/* Every warp calls BODY for its rows k of live components. */
#define FOR_ROWS(b, k)                                                                                                 \
  for (int k = (int)threadIdx.x / WARP; k < (b).count; k += WARPS)                                                     \
    if (row_lives(b, k))

/* The same from the last to the first: what was read last may still be in the L2 cache. */
#define FOR_ROWS_BACK(b, k)                                                                                            \
  for (int k = ((b).count - 1 - (int)threadIdx.x / WARP) / WARPS * WARPS + (int)threadIdx.x / WARP; k >= 0;            \
       k -= WARPS)                                                                                                     \
    if (k < (b).count && row_lives(b, k))

/* Of a vector that all threads have written: with a factor, W v in `half`. */
template <bool FACTORED>
__device__ static void begin_precondition(const Arrays &s, const Rows &b, int which, int half, int lane) {
  if constexpr (FACTORED) {
    FOR_ROWS(b, k) put_own(b, k, half, lane, row_half(s, b, k, which, false, lane));
    __syncthreads();
  }
}

/* m and the sums of all chunks, when rows have advanced. */
template <bool FACTORED>
__device__ static void show_all(const Arrays &s, const Rows &b, double *shown, unsigned wait, int lane) {
  __syncthreads();
  begin_precondition<FACTORED>(s, b, VECTOR_W, VECTOR_N, lane);
  FOR_ROWS_BACK(b, k) show_m<FACTORED>(s, shown, b, k, lane);
  show_sums(s, b, wait);
}

/* Computes the vectors that follow from x and p anew. */
template <bool FACTORED>
__device__ static void replace(const Arrays &s, const Rows &b, int iteration, unsigned *wait, int warp, int lane) {
  double *even = shown_in(b, iteration), *odd = shown_in(b, iteration + 1);
  FOR_ROWS(b, k) {
    show(even, b, k, own(b, k, VECTOR_X, lane), lane);
    show(s.also[0], b, k, own(b, k, VECTOR_P, lane), lane);
  }
  wait_for_rows(s, b, wait, warp, lane);
  FOR_ROWS(b, k) {
    double right = lane < PCG_SIZE ? s.x[(size_t)PCG_SIZE * (b.first + k) + lane] : 0;
    put_own(b, k, VECTOR_R, lane, right - row_times<FACTORED>(s, b, k, even, lane));
    put_own(b, k, VECTOR_S, lane, row_times<FACTORED>(s, b, k, s.also[0], lane));
  }
  __syncthreads();
  begin_precondition<FACTORED>(s, b, VECTOR_R, VECTOR_N, lane);
  begin_precondition<FACTORED>(s, b, VECTOR_S, VECTOR_M, lane);
  FOR_ROWS(b, k) {
    double u = row_preconditioned<FACTORED>(s, b, k, VECTOR_R, VECTOR_N, lane);
    double q = row_preconditioned<FACTORED>(s, b, k, VECTOR_S, VECTOR_M, lane);
    put_own(b, k, VECTOR_U, lane, u);
    put_own(b, k, VECTOR_Q, lane, q);
    show(odd, b, k, u, lane);
    show(s.also[1], b, k, q, lane);
  }
  wait_for_rows(s, b, wait, warp, lane);
  FOR_ROWS(b, k) {
    double w = row_times<FACTORED>(s, b, k, odd, lane);
    put_own(b, k, VECTOR_W, lane, w);
    put_own(b, k, VECTOR_Z, lane, row_times<FACTORED>(s, b, k, s.also[1], lane));
    put_term(b, k, own(b, k, VECTOR_R, lane), own(b, k, VECTOR_U, lane), w, lane);
  }
}

/* r, u, w and the first m. */
template <bool FACTORED>
__device__ static void start(const Arrays &s, const Rows &b, unsigned *wait, int warp, int lane) {
  FOR_ROWS(b, k) {
    double r = lane < PCG_SIZE ? s.x[(size_t)PCG_SIZE * (b.first + k) + lane] : 0;
    put_own(b, k, VECTOR_R, lane, r);
  }
  __syncthreads();
  begin_precondition<FACTORED>(s, b, VECTOR_R, VECTOR_N, lane);
  FOR_ROWS(b, k) {
    double u = row_preconditioned<FACTORED>(s, b, k, VECTOR_R, VECTOR_N, lane);
    put_own(b, k, VECTOR_U, lane, u);
    show(b.even, b, k, u, lane);
  }
  wait_for_rows(s, b, wait, warp, lane);
  FOR_ROWS(b, k) {
    double w = row_times<FACTORED>(s, b, k, b.even, lane);
    put_own(b, k, VECTOR_W, lane, w);
    put_term(b, k, own(b, k, VECTOR_R, lane), own(b, k, VECTOR_U, lane), w, lane);
  }
  show_all<FACTORED>(s, b, b.odd, *wait, lane);
}

/* Writes the solution; how each component ended. */
__device__ static void finish(const Arrays &s, const Rows &b, int iteration) {
  for (int i = (int)threadIdx.x; i < b.count * PCG_SIZE; i += THREADS)
    s.x[(size_t)PCG_SIZE * b.first + i] = vector_at(b, i / PCG_SIZE, VECTOR_X)[i % PCG_SIZE];
  for (int c = (int)threadIdx.x; c < b.chunks; c += THREADS) {
    const Iteration *g = &b.iteration[c];
    if (!g->counts) continue;
    if (!s.again) s.first[s.m.chunk_component[b.chunk + c]] = g->first;
    if (!isfinite(g->gamma)) atomicAdd(&s.status->not_finite, 1);
    else if (g->status == STATUS_INDEFINITE) atomicAdd(&s.status->indefinite, 1);
    else if (g->status == STATUS_LIVE) atomicAdd(&s.status->unfinished, 1);
  }
  if (threadIdx.x == 0) atomicMax(&s.status->iterations, iteration);
}

template <bool FACTORED> __global__ static void __launch_bounds__(THREADS, 1) solve_kernel(Arrays s) {
  extern __shared__ double2 memory[];
  Room room = {(char *)memory, s.shared};
  Rows b = rows_open(s, room);
  int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP, iteration = 0;
  unsigned wait = FIRST_WAIT;
  start<FACTORED>(s, b, &wait, warp, lane);
  for (; iteration < s.most; iteration++) {
    const double *shown = shown_in(b, iteration + 1);
    double2 kept = await_sums(s, b, wait++, iteration, warp, lane);
    bool live = next_iterations(s, b, kept, iteration, warp, lane);
    for (int k = warp; k < b.count; k += WARPS) {
      double n = row_times<FACTORED>(s, b, k, shown, lane);
      put_own(b, k, VECTOR_N, lane, n);
    }
    live = __syncthreads_or(live);
    for (int k = warp; k < b.count; k += WARPS) row_start(b, k, lane);
    if (!live) break;
    invert_iterations(b, warp, lane);
    FOR_ROWS(b, k) row_advance(b, k, lane);
    if (iteration % REPLACE == REPLACE - 1) replace<FACTORED>(s, b, iteration, &wait, warp, lane);
    show_all<FACTORED>(s, b, shown_in(b, iteration), wait, lane);
  }
  __syncthreads();
  finish(s, b, iteration);
}

/* ---- the preconditioner ---- */

/* A thread has every TILES-th row and column of its cluster's matrix, SIDE x SIDE numbers. */
enum { TILES = 16, CLUSTER_SIZE = PCG_SIZE * GPU_CLUSTER, SIDE = CLUSTER_SIZE / TILES, INVERT_THREADS = TILES * TILES };
static_assert(CLUSTER_SIZE % TILES == 0, "all threads have the same number of rows");

typedef struct Tile {
  double a[SIDE][SIDE];
} Tile;

typedef struct InvertRoom {
  int entry[GPU_CLUSTER][GPU_CLUSTER]; /* of the cluster's blocks; -1 = none */
  double scale[CLUSTER_SIZE];          /* to a unit diagonal */
  double column[2][CLUSTER_SIZE], row[2][CLUSTER_SIZE];
} InvertRoom;

/* Number (i, j) of the cluster's matrix, from the lower triangle. diagonal: of the rows' own blocks alone. */
__device__ static double cluster_number(const PcgMatrix &m, const InvertRoom &room, int i, int j, bool diagonal) {
  int high = i > j ? i : j, low = i > j ? j : i, row = high / PCG_SIZE, column = low / PCG_SIZE;
  int entry = diagonal && row != column ? -1 : room.entry[row][column];
  return entry < 0 ? 0 : m.value[(size_t)PCG_BLOCK * entry + PCG_SIZE * (low % PCG_SIZE) + high % PCG_SIZE];
}

__device__ static void find_entries(const PcgMatrix &m, PcgStrip strip, InvertRoom *room) {
  int k = (int)threadIdx.x;
  if (k < GPU_CLUSTER * GPU_CLUSTER) room->entry[k / GPU_CLUSTER][k % GPU_CLUSTER] = -1;
  __syncthreads();
  if (k < strip.count)
    for (int e = m.first[strip.row + k]; e < m.first[strip.row + k + 1]; e++) {
      int column = m.column[e] - strip.row;
      if (column >= 0 && column < strip.count) room->entry[k][column] = e;
    }
  __syncthreads();
  for (int i = k; i < PCG_SIZE * strip.count; i += INVERT_THREADS) {
    double own = cluster_number(m, *room, i, i, true);
    room->scale[i] = own > 0 ? 1 / sqrt(own) : 1;
  }
  __syncthreads();
}

/* Whether number (x, y) of a tile is needed: a factor has the lower triangle alone, and registers are scarce. */
template <bool FACTORED> __device__ static constexpr bool tile_has(int x, int y) { return !FACTORED || y <= x; }

/* The scaled matrix, filled up with ones on the diagonal. */
template <bool FACTORED>
__device__ static void tile_load(const PcgMatrix &m, const InvertRoom &room, int size, bool diagonal, Tile *t) {
  int down = (int)threadIdx.x % TILES, right = (int)threadIdx.x / TILES;
#pragma unroll
  for (int x = 0; x < SIDE; x++)
#pragma unroll
    for (int y = 0; y < SIDE; y++) {
      if (!tile_has<FACTORED>(x, y)) continue;
      int i = down + TILES * x, j = right + TILES * y;
      bool inside = i < size && j < size;
      t->a[x][y] =
          inside ? cluster_number(m, room, i, j, diagonal) * room.scale[i] * room.scale[j] : (i == j ? 1.0 : 0.0);
    }
}

/* The pivot, and whether rounding or negative curvature has made it too small; then it is replaced by one. */
__device__ static double pivot_of(double x, bool *good) {
  if (x > 1e-14) return x;
  *good = false;
  return 1;
}

/* The pivot's column below it and its row. With a factor, numbers right of the pivot are those below it. */
template <bool FACTORED>
__device__ static void tile_show(const Tile &t, int x0, int lane, double *column, double *row) {
  int down = (int)threadIdx.x % TILES, right = (int)threadIdx.x / TILES;
#pragma unroll
  for (int x = 0; x < SIDE; x++) {
    if (right == lane && (!FACTORED || x >= x0)) column[down + TILES * x] = t.a[x][x0];
    if (down == lane && (!FACTORED || x <= x0)) row[right + TILES * x] = t.a[x0][x];
  }
}

/* Inverts in place by elimination without exchange of rows. Rows and columns of pivots alternate between two places,
 * so one wait per pivot is enough. FACTORED: rows are eliminated below the pivot alone, in the lower triangle. That
 * leaves the pivots, and below them the inverse of the lower triangle of the factor L D L^T. False if a pivot was too
 * small. */
template <bool FACTORED> __device__ static bool tile_invert(InvertRoom *room, int size, Tile *t) {
  int down = (int)threadIdx.x % TILES, right = (int)threadIdx.x / TILES;
  bool good = true;
#pragma unroll
  for (int x0 = 0; x0 < SIDE; x0++)
    for (int lane = 0; lane < TILES && TILES * x0 + lane < size; lane++) {
      double *column = room->column[lane & 1], *row = room->row[lane & 1];
      tile_show<FACTORED>(*t, x0, lane, column, row);
      __syncthreads();
      double over = 1 / pivot_of(row[TILES * x0 + lane], &good), c[SIDE], r[SIDE];
#pragma unroll
      for (int x = 0; x < SIDE; x++) {
        bool eliminated = !FACTORED || down + TILES * x > TILES * x0 + lane;
        bool below = FACTORED && right + TILES * x > TILES * x0 + lane;
        c[x] = eliminated ? column[down + TILES * x] : 0;
        r[x] = (below ? column : row)[right + TILES * x] * over;
      }
#pragma unroll
      for (int x = 0; x < SIDE; x++)
#pragma unroll
        for (int y = 0; y < SIDE; y++)
          if (tile_has<FACTORED>(x, y) && (!FACTORED || x >= x0)) t->a[x][y] = fma(-c[x], r[y], t->a[x][y]);
#pragma unroll
      for (int x = 0; x < SIDE; x++) {
        if (!FACTORED && down == lane) t->a[x0][x] = r[x];
        if (right == lane && (!FACTORED || x >= x0) && (!FACTORED || down + TILES * x > TILES * x0 + lane))
          t->a[x][x0] = -c[x] * over;
      }
      if (!FACTORED && down == lane && right == lane) t->a[x0][x0] = over;
    }
  return good;
}

/* Writes both triangles from the lower one. */
__device__ static void tile_store(const InvertRoom &room, PcgStrip strip, const Tile &t, double *inverse) {
  int down = (int)threadIdx.x % TILES, right = (int)threadIdx.x / TILES, size = PCG_SIZE * strip.count;
#pragma unroll
  for (int x = 0; x < SIDE; x++)
#pragma unroll
    for (int y = 0; y < SIDE; y++) {
      int i = down + TILES * x, j = right + TILES * y;
      if (i >= size || j > i) continue;
      double value = t.a[x][y] * room.scale[i] * room.scale[j];
      int place[2] = {strip.first + i / PCG_SIZE * strip.count + j / PCG_SIZE,
                      strip.first + j / PCG_SIZE * strip.count + i / PCG_SIZE};
      inverse[(size_t)PCG_BLOCK * place[0] + PCG_SIZE * (j % PCG_SIZE) + i % PCG_SIZE] = value;
      inverse[(size_t)PCG_BLOCK * place[1] + PCG_SIZE * (i % PCG_SIZE) + j % PCG_SIZE] = value;
    }
}

/* Writes W = D^-1/2 L^-1, scaled back; zeros above the diagonal of a row's own block. */
__device__ static void factor_store(InvertRoom *room, PcgStrip strip, const Tile &t, float *factor) {
  int down = (int)threadIdx.x % TILES, right = (int)threadIdx.x / TILES, size = PCG_SIZE * strip.count;
  double *root = room->column[0];
  bool good;
  __syncthreads();
#pragma unroll
  for (int x = 0; x < SIDE; x++)
    if (down == right) root[down + TILES * x] = 1 / sqrt(pivot_of(t.a[x][x], &good));
  __syncthreads();
#pragma unroll
  for (int x = 0; x < SIDE; x++)
#pragma unroll
    for (int y = 0; y < SIDE; y++) {
      int i = down + TILES * x, j = right + TILES * y;
      if (i >= size || j / PCG_SIZE > i / PCG_SIZE) continue;
      double own = j > i ? 0 : j == i ? 1 : tile_has<true>(x, y) ? t.a[x][y] : 0;
      int place = strip.first + i / PCG_SIZE * strip.count + j / PCG_SIZE;
      factor[(size_t)PCG_BLOCK * place + PCG_SIZE * (j % PCG_SIZE) + i % PCG_SIZE] =
          (float)(own * root[i] * room->scale[j]);
    }
}

/* Inverts the cluster that begins with a thread block's row. If it is not positive definite, the rows' own blocks are
 * inverted alone. */
template <bool FACTORED>
__global__ static void __launch_bounds__(INVERT_THREADS, FACTORED ? 2 : 1) invert_kernel(PcgMatrix m, void *inverse) {
  __shared__ InvertRoom room;
  PcgStrip strip = m.strip[blockIdx.x];
  Tile tile;
  if (strip.row != (int)blockIdx.x) return;
  find_entries(m, strip, &room);
  for (int diagonal = 0; diagonal < 2; diagonal++) {
    tile_load<FACTORED>(m, room, PCG_SIZE * strip.count, diagonal, &tile);
    if (tile_invert<FACTORED>(&room, PCG_SIZE * strip.count, &tile)) break;
    __syncthreads();
  }
  if (FACTORED) factor_store(&room, strip, tile, (float *)inverse);
  else tile_store(room, strip, tile, (double *)inverse);
}

/* ---- host ---- */

typedef struct Card {
  int processors;
  size_t shared; /* [bytes] of shared memory that one thread block can have */
} Card;

static Card find_card(void) {
  static Card card = {0, 0};
  if (card.processors) return card;
  int device = 0, bytes = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&card.processors, cudaDevAttrMultiProcessorCount, device);
  cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device);
  card.shared = (size_t)bytes;
  cudaFuncSetAttribute(solve_kernel<false>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  cudaFuncSetAttribute(solve_kernel<true>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  return card;
}

extern "C" int pcg_blocks(int rows) {
  int blocks = (rows + BLOCK_ROWS - 1) / BLOCK_ROWS, most = find_card().processors;
  if (rows <= SINGLE_ROWS) return 1;
  return blocks < most ? blocks : most;
}

extern "C" void pcg_destroy(Pcg *pcg) {
  DeviceArray *array[] = {&pcg->inverse, &pcg->vector, &pcg->spare, &pcg->partial, &pcg->first};
  for (int k = 0; k < 5; k++) device_free(array[k]);
}

bool pcg_always_factors;

/* Whether the inverses take more than all of the shared memory. */
static bool factors(const PcgMatrix *m) {
  size_t bytes = (size_t)m->inverse * PCG_BLOCK * sizeof(double);
  return pcg_always_factors || bytes > (size_t)m->blocks * find_card().shared;
}

static bool reserve(Pcg *pcg, const PcgMatrix *m) {
  size_t rows = (size_t)m->rows, number = sizeof(double), inverse = factors(m) ? sizeof(float) : sizeof(double);
  return device_reserve(&pcg->inverse, (size_t)m->inverse * PCG_BLOCK * inverse) &&
         device_reserve(&pcg->vector, (VECTORS + 4) * rows * PCG_SIZE * number) &&
         device_reserve(&pcg->spare, rows * SPARE_ROW) && device_reserve(&pcg->first, (size_t)m->components * number) &&
         device_reserve(&pcg->partial, 2 * (size_t)m->chunks * sizeof(ulonglong2));
}

static bool solve(Pcg *pcg, const PcgMatrix *m, double *x, double tolerance, int most, bool again, PcgStatus *status) {
  size_t n = (size_t)m->rows * PCG_SIZE;
  double *vector = (double *)pcg->vector.at;
  bool factored = factors(m);
  const float *factor = factored ? (const float *)pcg->inverse.at : NULL;
  Arrays s = {*m, (const double *)pcg->inverse.at, factor, x, vector, (char *)pcg->spare.at};
  for (int k = 0; k < 2; k++) {
    s.shown[k] = vector + (VECTORS + k) * n;
    s.also[k] = vector + (VECTORS + 2 + k) * n;
    s.sum[k] = (ulonglong2 *)pcg->partial.at + (size_t)k * m->chunks;
  }
  s.first = (double *)pcg->first.at, s.again = again;
  s.enough = tolerance * tolerance, s.most = most, s.status = status, s.shared = find_card().shared;
  if (!device_clear(status, sizeof *status) || !device_clear(s.sum[0], 2 * (size_t)m->chunks * sizeof(ulonglong2)))
    return false;
  void *argument[] = {&s};
  const void *kernel = factored ? (const void *)solve_kernel<true> : (const void *)solve_kernel<false>;
  return cudaLaunchCooperativeKernel(kernel, dim3((unsigned)m->blocks), dim3(THREADS), argument, s.shared, 0) ==
         cudaSuccess;
}

extern "C" bool pcg_solve(Pcg *pcg, const PcgMatrix *m, double *x, double tolerance, int most, PcgStatus *status) {
  if (m->rows == 0) return device_clear(status, sizeof *status);
  if (!reserve(pcg, m)) return false;
  (factors(m) ? invert_kernel<true> : invert_kernel<false>)<<<m->rows, INVERT_THREADS>>>(*m, pcg->inverse.at);
  return solve(pcg, m, x, tolerance, most, false, status);
}

extern "C" bool pcg_solve_again(Pcg *pcg, const PcgMatrix *m, double *x, double tolerance, int most,
                                PcgStatus *status) {
  if (m->rows == 0) return device_clear(status, sizeof *status);
  return solve(pcg, m, x, tolerance, most, true, status);
}
