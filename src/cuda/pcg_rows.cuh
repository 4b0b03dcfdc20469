/* The rows of a thread block of the solver: what of them is in shared memory, what in the GPU's memory. */
#ifndef ABD_CUDA_PCG_ROWS_CUH
#define ABD_CUDA_PCG_ROWS_CUH

#include "cuda/pcg_block.cuh"

enum { WARPS = 16, THREADS = WARP * WARPS };
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
  const float *half;        /* with a factor: W of the first clusters, lower triangles of blocks, */
  int half_kept;            /* so many blocks at most */
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

/* ---- room ---- */

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

/* Blocks of W before the cluster of row k: those of the triangles of s rows, s (s + 1) / 2 each. */
__device__ static int half_first(const Rows &b, int k) {
  PcgStrip strip = b.strip[k];
  int rows = strip.row - b.first, squares = strip.first - (k - rows) * strip.count - b.strip[0].first;
  return (squares + rows) / 2;
}

/* Is W of the row's cluster in shared memory? */
__device__ static bool half_stays(const Rows &b, int k, int first) {
  int count = b.strip[k].count;
  return first + count * (count + 1) / 2 <= b.half_kept;
}

__device__ static int triangle(int place) { return place * (place + 1) / 2; }

/* Copies W to shared memory, a row by a warp. */
__device__ static void keep_halves(const Arrays &s, const Rows &b, float *half) {
  int lane = (int)threadIdx.x % WARP;
  for (int k = (int)threadIdx.x / WARP; k < b.count; k += WARPS) {
    int first = half_first(b, k), place = k - (b.strip[k].row - b.first);
    if (!half_stays(b, k, first)) continue;
    const float *from = s.factor + (size_t)PCG_BLOCK * b.strip[k].first;
    float *to = half + (size_t)PCG_BLOCK * (first + triangle(place));
    for (int i = lane; i < PCG_BLOCK * (place + 1); i += WARP) to[i] = from[i];
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
  if (b.count > 0) {
    PcgStrip last = m.strip[b.first + b.count - 1];
    at = m.strip[b.first].first;
    inverses = last.first + last.count - at;
  }
  int *couple = s.factor ? (int *)room_take(&room, (size_t)b.entries * sizeof(int), NULL) : NULL;
  b.couple = couple ? couple : m.couple + b.entry;
  double *inverse = keep_blocks(&room, s.factor ? 0 : inverses, PCG_BLOCK, &b.inverse_kept);
  double *half = keep_blocks(&room, s.factor ? (inverses + b.count) / 2 : 0, PCG_BLOCK / 2, &b.half_kept);
  double *value = keep_blocks(&room, s.factor ? b.count : b.entries, PCG_BLOCK, &b.kept);
  double *pair = keep_blocks(&room, s.factor ? b.entries - b.count : 0, PCG_COUPLE, &b.pairs_kept);
  b.inverse = inverse;
  b.half = (const float *)half;
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
  if (s.factor) keep_rows(s, b, value, pair), keep_halves(s, b, (float *)half);
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

__device__ static void show(double *shown, const Rows &b, int k, double x, int lane) {
  if (lane < PCG_SIZE) shown[(size_t)PCG_SIZE * (b.first + k) + lane] = x;
}

__device__ static double own(const Rows &b, int k, int which, int lane) {
  return lane < PCG_SIZE ? vector_at(b, k, which)[lane] : 0.0;
}

__device__ static void put_own(const Rows &b, int k, int which, int lane, double x) {
  if (lane < PCG_SIZE) vector_at(b, k, which)[lane] = x;
}

#endif
