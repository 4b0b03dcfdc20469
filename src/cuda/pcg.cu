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
 * Waits are in cuda/pcg_wait.cuh, the preconditioner in cuda/pcg_invert.cu. */
#include "cuda/pcg.h"

#include <cuda_runtime.h>
#include <math.h>

#include "cuda/pcg_product.cuh"
#include "cuda/pcg_wait.cuh"

enum { BLOCK_ROWS = 8, SINGLE_ROWS = 8, REPLACE = 50 };
enum { SUMS = 4 }; /* of a chunk, two numbers each: of even and odd waits, of both solves */

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
         device_reserve(&pcg->partial, SUMS * (size_t)m->chunks * sizeof(ulonglong2));
}

extern "C" bool pcg_prepare(Pcg *pcg, const PcgMatrix *m, PcgStatus status[2]) {
  if (m->rows == 0) return device_clear(status, 2 * sizeof *status);
  return reserve(pcg, m) && pcg_invert(m, factors(m), pcg->inverse.at, (unsigned long long *)pcg->partial.at,
                                       2 * SUMS * m->chunks, status);
}

extern "C" bool pcg_solve(Pcg *pcg, const PcgMatrix *m, double *x, double tolerance, int most, bool again,
                          PcgStatus status[2]) {
  if (m->rows == 0) return true;
  size_t n = (size_t)m->rows * PCG_SIZE;
  double *vector = (double *)pcg->vector.at;
  bool factored = factors(m);
  const float *factor = factored ? (const float *)pcg->inverse.at : NULL;
  Arrays s = {*m, (const double *)pcg->inverse.at, factor, x, vector, (char *)pcg->spare.at};
  for (int k = 0; k < 2; k++) {
    s.shown[k] = vector + (VECTORS + k) * n;
    s.also[k] = vector + (VECTORS + 2 + k) * n;
    s.sum[k] = (ulonglong2 *)pcg->partial.at + (size_t)(2 * again + k) * m->chunks;
  }
  s.first = (double *)pcg->first.at, s.again = again;
  s.enough = tolerance * tolerance, s.most = most, s.status = &status[again], s.shared = find_card().shared;
  void *argument[] = {&s};
  const void *kernel = factored ? (const void *)solve_kernel<true> : (const void *)solve_kernel<false>;
  return cudaLaunchCooperativeKernel(kernel, dim3((unsigned)m->blocks), dim3(THREADS), argument, s.shared, 0) ==
         cudaSuccess;
}
