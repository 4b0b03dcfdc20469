/* Waits of the solver's thread blocks for each other, and sums over the rows of a component.
 *
 * There is no counter of thread blocks that wait. Each number of a chunk's sums has the number of the wait in its two
 * lowest bits, and a thread block polls the sums of the components that it has rows of. They come with the wait, and
 * components do not wait for each other. */
#ifndef ABD_CUDA_PCG_WAIT_CUH
#define ABD_CUDA_PCG_WAIT_CUH

#include "cuda/pcg_rows.cuh"

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

#endif
