/* Conjugate gradients in one cooperative kernel, see cuda/pcg.h. Two grid-wide waits per iteration:
 *   A  d = z + beta d, for every neighbour anew; A d; partial sums of d . A d
 *   B  x += alpha d, r -= alpha A d, z = M^-1 r; partial sums of r . z */
#include "cuda/pcg.h"

#include <cooperative_groups.h>
#include <cuda_runtime.h>
#include <math.h>

namespace cg = cooperative_groups;

enum { WARP = 32, WARPS = 8, THREADS = WARP * WARPS };

typedef struct Arrays {
  PcgMatrix m;
  const double *inverse; /* of the diagonal blocks */
  double *x, *r, *z, *d[2], *ad;
  double *residual, *curvature; /* partial sums per chunk: r . z, d . A d */
  double *rz[2], *rz_first;     /* per component: r . z of even and odd iterations, of the first */
  int *flag;                    /* per component: 1 + the iteration that found negative curvature; 0 = none */
  int *live;                    /* [3] components that still iterate, by iteration */
  double enough;                /* square of the tolerance */
  int most;
  PcgStatus *status;
} Arrays;

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

__device__ static double block_times(const double *a, double x, int lane) {
  RowSum sum = {make_double2(0, 0)};
  block_add(&sum, block_load(a, lane), x, lane);
  return row_of(sum, lane);
}

__device__ static double warp_sum(double x) {
  for (int step = WARP / 2; step; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
  return x;
}

/* ---- sums ---- */

/* The sum of a component's chunks, the same on all threads. */
__device__ static double component_sum(const Arrays &s, const double *partial, int component, double *scratch) {
  double sum = 0;
  for (int c = s.m.component_chunk[component] + (int)threadIdx.x; c < s.m.component_chunk[component + 1]; c += THREADS)
    sum += partial[c];
  sum = warp_sum(sum);
  __syncthreads(); /* scratch may still be read */
  if (threadIdx.x % WARP == 0) scratch[threadIdx.x / WARP] = sum;
  __syncthreads();
  sum = 0;
  for (int w = 0; w < WARPS; w++) sum += scratch[w];
  return sum;
}

/* Rows of a chunk: several warps for a row of a small chunk, several rows for a warp of a large one. */
typedef struct Share {
  int per_row, part, row, step;
} Share;

__device__ static Share share_of(const PcgMatrix &m) {
  int warp = (int)threadIdx.x / WARP;
  Share s = {1, 0, warp, WARPS};
  if (m.chunk_rows >= WARPS) return s;
  s.per_row = WARPS / m.chunk_rows;
  s.part = warp % s.per_row;
  s.row = warp / s.per_row;
  return s;
}

/* Writes the sum of the rows' terms as the chunk's partial sum. */
__device__ static void chunk_sum(const double *term, int rows, double *partial) {
  __syncthreads();
  if (threadIdx.x == 0) {
    double sum = 0;
    for (int k = 0; k < rows; k++) sum += term[k];
    *partial = sum;
  }
  __syncthreads(); /* the terms may be written again */
}

/* ---- phases of a chunk ---- */

typedef struct Scratch {
  double part[WARPS][PCG_SIZE];
  double term[PCG_CHUNK_MOST];
  double sum[WARPS];
} Scratch;

__device__ static void start_chunk(const Arrays &s, int chunk, Scratch *scratch) {
  Share share = share_of(s.m);
  int lane = (int)threadIdx.x % WARP, first = s.m.chunk_row[chunk], rows = s.m.chunk_row[chunk + 1] - first;
  for (int k = share.row; k < rows; k += share.step) {
    if (share.part) continue;
    int row = first + k, at = PCG_SIZE * row + lane;
    double b = lane < PCG_SIZE ? s.x[at] : 0, z = block_times(s.inverse + (size_t)PCG_BLOCK * row, b, lane);
    if (lane < PCG_SIZE) {
      s.x[at] = 0;
      s.r[at] = b;
      s.z[at] = z;
      s.d[0][at] = s.d[1][at] = 0;
    }
    double sum = warp_sum(b * z);
    if (lane == 0) scratch->term[k] = sum;
  }
  chunk_sum(scratch->term, rows, &s.residual[chunk]);
}

__device__ static void multiply_chunk(const Arrays &s, int chunk, int iteration, double beta, Scratch *scratch) {
  Share share = share_of(s.m);
  const double *before = s.d[iteration & 1];
  double *after = s.d[(iteration + 1) & 1];
  int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP;
  int first = s.m.chunk_row[chunk], rows = s.m.chunk_row[chunk + 1] - first;
  for (int k = share.row; k < PCG_CHUNK_MOST; k += share.step) {
    if (k >= s.m.chunk_rows) break; /* the same for all warps of a thread block that share rows */
    int row = first + k;
    double y = 0, own = 0;
    if (k < rows) {
      RowSum sum = {make_double2(0, 0)};
      int diagonal = s.m.first[row], end = s.m.first[row + 1];
      for (int e = diagonal + share.part; e < end; e += 2 * share.per_row) { /* two at once: both wait for memory */
        int next = e + share.per_row;
        bool two = next < end;
        int at = PCG_SIZE * s.m.column[e] + lane, then = two ? PCG_SIZE * s.m.column[next] + lane : lane;
        bool loads = lane < PCG_SIZE;
        double d = loads ? fma(beta, before[at], s.z[at]) : 0,
               d2 = loads && two ? fma(beta, before[then], s.z[then]) : 0;
        Columns block = block_load(s.m.value + (size_t)PCG_BLOCK * e, lane),
                block2 = block_load(s.m.value + (size_t)PCG_BLOCK * (two ? next : e), lane);
        block_add(&sum, block, d, lane);
        block_add(&sum, block2, d2, lane);
        if (e == diagonal) own = d; /* its first entry is the diagonal */
      }
      y = row_of(sum, lane);
      if (share.per_row > 1 && lane < PCG_SIZE) scratch->part[warp][lane] = y;
    }
    if (share.per_row > 1) __syncthreads();
    if (k < rows && share.part == 0) {
      for (int p = 1; p < share.per_row && lane < PCG_SIZE; p++) y += scratch->part[warp + p][lane];
      if (lane < PCG_SIZE) {
        s.ad[PCG_SIZE * row + lane] = y;
        after[PCG_SIZE * row + lane] = own;
      }
      double sum = warp_sum(own * y);
      if (lane == 0) scratch->term[k] = sum;
    }
    if (share.per_row > 1) break; /* all rows at once */
  }
  chunk_sum(scratch->term, rows, &s.curvature[chunk]);
}

__device__ static void advance_chunk(const Arrays &s, int chunk, int iteration, double alpha, Scratch *scratch) {
  Share share = share_of(s.m);
  const double *d = s.d[(iteration + 1) & 1];
  int lane = (int)threadIdx.x % WARP, first = s.m.chunk_row[chunk], rows = s.m.chunk_row[chunk + 1] - first;
  for (int k = share.row; k < rows; k += share.step) {
    if (share.part) continue;
    int row = first + k, at = PCG_SIZE * row + lane;
    double r = 0;
    if (lane < PCG_SIZE) {
      s.x[at] = fma(alpha, d[at], s.x[at]);
      r = s.r[at] = fma(-alpha, s.ad[at], s.r[at]);
    }
    double z = block_times(s.inverse + (size_t)PCG_BLOCK * row, r, lane);
    if (lane < PCG_SIZE) s.z[at] = z;
    double sum = warp_sum(r * z);
    if (lane == 0) scratch->term[k] = sum;
  }
  chunk_sum(scratch->term, rows, &s.residual[chunk]);
}

/* Negative curvature in the first iteration: the preconditioned right-hand side is a descent direction. */
__device__ static void take_gradient(const Arrays &s, int chunk) {
  for (int k = PCG_SIZE * s.m.chunk_row[chunk] + (int)threadIdx.x; k < PCG_SIZE * s.m.chunk_row[chunk + 1];
       k += THREADS)
    s.x[k] = s.z[k];
}

/* ---- the solve ---- */

__device__ static void phase_a(const Arrays &s, int iteration, Scratch *scratch) {
  if (blockIdx.x == 0 && threadIdx.x == 0) s.live[(iteration + 1) % 3] = 0;
  int known = -1;
  double rz = 0, rz_first = 0;
  for (int chunk = (int)blockIdx.x; chunk < s.m.chunks; chunk += (int)gridDim.x) {
    int c = s.m.chunk_component[chunk];
    if (c != known) {
      rz = component_sum(s, s.residual, c, scratch->sum);
      rz_first = iteration ? s.rz_first[c] : rz;
      known = c;
    }
    bool live = rz > s.enough * rz_first && s.flag[c] == 0;
    if (threadIdx.x == 0 && chunk == s.m.component_chunk[c]) {
      s.rz[iteration & 1][c] = rz;
      if (iteration == 0) s.rz_first[c] = rz;
      if (live) atomicAdd(&s.live[iteration % 3], 1);
    }
    if (live) multiply_chunk(s, chunk, iteration, iteration ? rz / s.rz[(iteration + 1) & 1][c] : 0.0, scratch);
  }
}

__device__ static void phase_b(const Arrays &s, int iteration, Scratch *scratch) {
  int known = -1;
  double curvature = 0;
  for (int chunk = (int)blockIdx.x; chunk < s.m.chunks; chunk += (int)gridDim.x) {
    int c = s.m.chunk_component[chunk];
    double rz = s.rz[iteration & 1][c];
    if (!(rz > s.enough * s.rz_first[c]) || (s.flag[c] != 0 && s.flag[c] != iteration + 1)) continue;
    if (c != known) curvature = component_sum(s, s.curvature, c, scratch->sum);
    known = c;
    if (curvature > 0) advance_chunk(s, chunk, iteration, rz / curvature, scratch);
    else if (iteration == 0) take_gradient(s, chunk);
    if (!(curvature > 0) && threadIdx.x == 0 && chunk == s.m.component_chunk[c]) s.flag[c] = iteration + 1;
  }
}

/* How each component ended. */
__device__ static void report(const Arrays &s, int iteration) {
  for (int c = (int)(blockIdx.x * THREADS + threadIdx.x); c < s.m.components; c += (int)(gridDim.x * THREADS)) {
    double rz = s.rz[(iteration + (iteration < s.most ? 0 : 1)) & 1][c];
    if (!isfinite(rz)) atomicAdd(&s.status->not_finite, 1);
    else if (s.flag[c]) atomicAdd(&s.status->indefinite, 1);
    else if (rz > s.enough * s.rz_first[c]) atomicAdd(&s.status->unfinished, 1);
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) s.status->iterations = iteration;
}

__global__ static void __launch_bounds__(THREADS) solve_kernel(Arrays s) {
  __shared__ Scratch scratch;
  cg::grid_group grid = cg::this_grid();
  int iteration = 0;
  for (int chunk = (int)blockIdx.x; chunk < s.m.chunks; chunk += (int)gridDim.x) start_chunk(s, chunk, &scratch);
  grid.sync();
  for (; iteration < s.most; iteration++) {
    phase_a(s, iteration, &scratch);
    grid.sync();
    if (s.live[iteration % 3] == 0) break;
    phase_b(s, iteration, &scratch);
    grid.sync();
  }
  report(s, iteration);
}

/* ---- the preconditioner ---- */

/* Inverts the diagonal block of one row, scaled to a unit diagonal: elimination without exchange of rows, lane j has
 * column j. A pivot that rounding has made too small is replaced by one. */
__global__ static void invert_kernel(PcgMatrix m, double *inverse) {
  __shared__ double out[THREADS / WARP][PCG_SIZE][PCG_SIZE + 1];
  int lane = (int)threadIdx.x % WARP, warp = (int)threadIdx.x / WARP, j = lane < PCG_SIZE ? lane : 0;
  int row = (int)blockIdx.x * (THREADS / WARP) + warp;
  if (row >= m.rows) return;
  const double *a = m.value + (size_t)PCG_BLOCK * m.first[row];
  double column[PCG_SIZE], own = a[13 * j], scale = own > 0 ? 1 / sqrt(own) : 1;
#pragma unroll
  for (int i = 0; i < PCG_SIZE; i++) {
    double value = i >= j ? a[PCG_SIZE * j + i] : a[PCG_SIZE * i + j]; /* of the lower triangle */
    column[i] = value * scale * __shfl_sync(0xffffffffu, scale, i);
  }
#pragma unroll
  for (int p = 0; p < PCG_SIZE; p++) {
    double pivot = __shfl_sync(0xffffffffu, column[p], p), factor[PCG_SIZE];
#pragma unroll
    for (int i = 0; i < PCG_SIZE; i++) factor[i] = __shfl_sync(0xffffffffu, column[i], p);
    double over = 1 / (pivot > 1e-14 ? pivot : 1.0);
    column[p] = j == p ? over : column[p] * over;
#pragma unroll
    for (int i = 0; i < PCG_SIZE; i++)
      if (i != p) column[i] = j == p ? -factor[i] * over : fma(-factor[i], column[p], column[i]);
  }
#pragma unroll
  for (int i = 0; i < PCG_SIZE; i++) {
    double value = column[i] * scale * __shfl_sync(0xffffffffu, scale, i);
    if (lane < PCG_SIZE) out[warp][i][j] = value;
  }
  __syncwarp();
  for (int k = lane; k < PCG_BLOCK; k += WARP) {
    int i = k % PCG_SIZE, c = k / PCG_SIZE;
    inverse[(size_t)PCG_BLOCK * row + k] = 0.5 * (out[warp][i][c] + out[warp][c][i]);
  }
}

/* ---- host ---- */

extern "C" int pcg_chunk_rows(int rows) {
  int most = 1;
  while (most < WARPS && rows > 512 * most) most *= 2;
  return most;
}

extern "C" void pcg_destroy(Pcg *pcg) {
  DeviceArray *array[] = {&pcg->inverse, &pcg->vector, &pcg->partial, &pcg->scalar, &pcg->counter};
  for (int k = 0; k < 5; k++) device_free(array[k]);
}

static bool reserve(Pcg *pcg, const PcgMatrix *m) {
  size_t rows = (size_t)m->rows, number = sizeof(double);
  return device_reserve(&pcg->inverse, rows * PCG_BLOCK * number) &&
         device_reserve(&pcg->vector, 5 * rows * PCG_SIZE * number) &&
         device_reserve(&pcg->partial, 2 * (size_t)m->chunks * number) &&
         device_reserve(&pcg->scalar, 3 * (size_t)m->components * number) &&
         device_reserve(&pcg->counter, ((size_t)m->components + 3) * sizeof(int));
}

/* As many thread blocks as run at the same time; the results do not depend on it. */
static int grid_size(int chunks) {
  static int most = 0;
  if (!most) {
    int device = 0, processors = 0, each = 0;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, solve_kernel, THREADS, 0);
    most = processors * (each < 4 ? each : 4);
  }
  return chunks < most ? chunks : most;
}

extern "C" bool pcg_solve(Pcg *pcg, const PcgMatrix *m, double *x, double tolerance, int most, PcgStatus *status) {
  if (m->rows == 0) return device_clear(status, sizeof *status);
  if (!reserve(pcg, m)) return false;
  size_t n = (size_t)m->rows * PCG_SIZE;
  double *vector = (double *)pcg->vector.at, *partial = (double *)pcg->partial.at, *scalar = (double *)pcg->scalar.at;
  int *counter = (int *)pcg->counter.at;
  Arrays s = {*m, (double *)pcg->inverse.at, x};
  s.r = vector, s.z = vector + n, s.d[0] = vector + 2 * n, s.d[1] = vector + 3 * n, s.ad = vector + 4 * n;
  s.residual = partial, s.curvature = partial + m->chunks;
  s.rz[0] = scalar, s.rz[1] = scalar + m->components, s.rz_first = scalar + 2 * m->components;
  s.live = counter, s.flag = counter + 3;
  s.enough = tolerance * tolerance, s.most = most, s.status = status;
  if (!device_clear(status, sizeof *status) || !device_clear(counter, ((size_t)m->components + 3) * sizeof(int)))
    return false;
  invert_kernel<<<(m->rows + WARPS - 1) / WARPS, THREADS>>>(*m, (double *)pcg->inverse.at);
  void *argument[] = {&s};
  return cudaLaunchCooperativeKernel((const void *)solve_kernel, dim3((unsigned)grid_size(m->chunks)), dim3(THREADS),
                                     argument, 0, 0) == cudaSuccess;
}
