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

/* Adds x y to *at if `at` is not NULL; lanes with the same `at` add in their order. */
KERNEL void lane_add(double *at, double x, double y) {
#ifdef __CUDA_ARCH__
  unsigned same = __match_any_sync(0xffffffffu, (unsigned long long)at);
  int first = __ffs((int)same) - 1, lane = (int)threadIdx.x % LANES;
  double sum = 0;
  for (unsigned left = at ? same : 0; __any_sync(0xffffffffu, left != 0); left &= left - 1) {
    double its = __shfl_sync(0xffffffffu, x * y, left ? __ffs((int)left) - 1 : lane);
    if (left) sum += its;
  }
  if (at && lane == first) *at += sum;
  __syncwarp();
#else
  if (at) *at += x * y;
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
