/* The solver's preconditioner: inverses of clusters, or factors of them in single precision. One thread block inverts a
 * cluster in its registers. See cuda/pcg.h. */
#include <cuda_runtime.h>
#include <math.h>

#include "cuda/pcg.h"

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

__device__ static void clear_all(unsigned long long *clear, int count, PcgStatus *status) {
  int first = (int)(blockIdx.x * INVERT_THREADS + threadIdx.x);
  for (int i = first; i < count; i += (int)gridDim.x * INVERT_THREADS) clear[i] = 0;
  if (first < 2) status[first] = PcgStatus();
}

/* Inverts the cluster of a thread block. If it is not positive definite, the rows' own blocks are
 * inverted alone. */
template <bool FACTORED>
__global__ static void __launch_bounds__(INVERT_THREADS, FACTORED ? 2 : 1)
    invert_kernel(PcgMatrix m, void *inverse, unsigned long long *clear, int count, PcgStatus *status) {
  __shared__ InvertRoom room;
  PcgStrip strip = m.cluster[blockIdx.x];
  Tile tile;
  clear_all(clear, count, status);
  find_entries(m, strip, &room);
  for (int diagonal = 0; diagonal < 2; diagonal++) {
    tile_load<FACTORED>(m, room, PCG_SIZE * strip.count, diagonal, &tile);
    if (tile_invert<FACTORED>(&room, PCG_SIZE * strip.count, &tile)) break;
    __syncthreads();
  }
  if (FACTORED) factor_store(&room, strip, tile, (float *)inverse);
  else tile_store(room, strip, tile, (double *)inverse);
}

extern "C" bool pcg_invert(const PcgMatrix *m, bool factored, void *inverse, unsigned long long *clear, int count,
                           PcgStatus status[2]) {
  (factored ? invert_kernel<true> : invert_kernel<false>)<<<m->clusters, INVERT_THREADS>>>(*m, inverse, clear, count,
                                                                                           status);
  return cudaGetLastError() == cudaSuccess;
}
