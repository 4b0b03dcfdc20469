/* Lanes: threads of a GPU's warp that work on one item together, and numbers that threads share. Compiles as C and as
 * CUDA. On this machine's cores there is one lane, and an item is done by one thread. All lanes call a lane_ function
 * together. Tested in tests/test_cuda_serial.c and tests/cuda/. */
#ifndef ABD_MATH_LANE_H
#define ABD_MATH_LANE_H

#include "math/vec.h"

#ifdef __CUDA_ARCH__
enum { LANES = 32 };
#else
enum { LANES = 1 };
#endif

/* What a lane wrote before is read by the others after it. */
KERNEL void lane_sync(void) {
#ifdef __CUDA_ARCH__
  __syncwarp();
#endif
}

KERNEL double lane_sum(double x) {
#ifdef __CUDA_ARCH__
  for (int step = LANES / 2; step; step /= 2) x += __shfl_xor_sync(0xffffffffu, x, step);
#endif
  return x;
}

/* The least x of all lanes and its index; of equal ones the least index. */
KERNEL double lane_least(double x, int *index) {
#ifdef __CUDA_ARCH__
  for (int step = LANES / 2; step; step /= 2) {
    double other = __shfl_xor_sync(0xffffffffu, x, step);
    int its = __shfl_xor_sync(0xffffffffu, *index, step);
    if (other < x || (other == x && its < *index)) {
      x = other;
      *index = its;
    }
  }
#else
  (void)index;
#endif
  return x;
}

/* How many lanes before this one have set their flag; *total: how many of all. */
KERNEL int lane_rank(bool flag, int lane, int *total) {
#ifdef __CUDA_ARCH__
  unsigned all = __ballot_sync(0xffffffffu, flag);
  *total = __popc(all);
  return __popc(all & ((1u << lane) - 1u));
#else
  *total = flag;
  return (void)lane, 0;
#endif
}

/* The sum over the lanes before this one; *total: over all. */
KERNEL int lane_before(int own, int lane, int *total) {
  int sum = own;
#ifdef __CUDA_ARCH__
  for (int step = 1; step < LANES; step *= 2) {
    int other = __shfl_up_sync(0xffffffffu, sum, step);
    if (lane >= step) sum += other;
  }
  *total = __shfl_sync(0xffffffffu, sum, LANES - 1);
#else
  *total = sum;
  (void)lane;
#endif
  return sum - own;
}

#ifdef __CUDA_ARCH__
/* Adds x[k] to at[k], k < COUNT, if `at` is not NULL. */
template <int COUNT> __device__ static void lane_add_all(double *at, const double *x, double *room) {
  if (!__any_sync(0xffffffffu, at != NULL)) return;
  unsigned same = __match_any_sync(0xffffffffu, (unsigned long long)at);
  int lane = (int)threadIdx.x % LANES;
  double sum[COUNT];
  for (int k = 0; k < COUNT; k++) room[k * LANES + lane] = x[k];
  __syncwarp();
  if (at && lane == __ffs((int)same) - 1) {
    for (int k = 0; k < COUNT; k++) sum[k] = at[k];
    for (unsigned left = same; left; left &= left - 1)
      for (int k = 0; k < COUNT; k++) sum[k] += room[k * LANES + __ffs((int)left) - 1];
    for (int k = 0; k < COUNT; k++) at[k] = sum[k];
  }
  __syncwarp();
}
#endif

/* Adds x y to *at if `at` is not NULL. Lanes with the same `at` add in their order, so sums do not depend on which lane
 * has which item. room: LANES numbers that the lanes share. */
KERNEL void lane_add(double *at, double x, double y, double *room) {
#ifdef __CUDA_ARCH__
  double product = x * y;
  lane_add_all<1>(at, &product, room);
#else
  (void)room;
  if (at) *at += x * y;
#endif
}

/* Adds x to at[0] and its square to at[1] in the same way. room: twice as many numbers. */
KERNEL void lane_add_square(double *at, double x, double *room) {
#ifdef __CUDA_ARCH__
  double both[2] = {x, x * x};
  lane_add_all<2>(at, both, room);
#else
  (void)room;
  if (at) at[0] += x;
  if (at) at[1] += x * x;
#endif
}

/* ---- numbers that threads share; the order in which they come does not matter ---- */

/* Adds `number` and returns what was there before. */
KERNEL int count_up_by(int *at, int number) {
#ifdef __CUDA_ARCH__
  return atomicAdd(at, number);
#else
  return (*at += number) - number;
#endif
}

KERNEL int count_up(int *at) { return count_up_by(at, 1); }

KERNEL void keep_least(int *at, int x) {
#ifdef __CUDA_ARCH__
  atomicMin(at, x);
#else
  if (x < *at) *at = x;
#endif
}

/* What another thread may have written meanwhile. */
KERNEL int read_shared(const int *at) {
#ifdef __CUDA_ARCH__
  return __ldcg(at);
#else
  return *at;
#endif
}

/* Stores x if *at is 0, after all that this thread has written before. Returns what was there. */
KERNEL int claim(int *at, int x) {
#ifdef __CUDA_ARCH__
  __threadfence();
  return atomicCAS(at, 0, x);
#else
  int before = *at;
  if (before == 0) *at = x;
  return before;
#endif
}

#endif
