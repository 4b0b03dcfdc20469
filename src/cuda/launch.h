/* Loops on the GPU, and the same loops on this machine's cores in tests: an item's function is written once.
 *
 * LAUNCH(NAME, ARGUMENT, ITEM) defines bool NAME_launch(int count, const ARGUMENT *argument), which calls
 *     ITEM(argument, i)                 for i < count, one thread each.
 * LAUNCH_CHUNKS: the argument has an array `chunk` of TaskChunk; calls
 *     ITEM(argument, task, i)           for the items i of every chunk, one thread each, CHUNK_ITEMS at most.
 * LAUNCH_LANES calls
 *     ITEM(argument, i, lane, scratch)  for i < count and lane < LANES: a warp each, which works on one item together.
 * Functions with lanes use lane_sum, lane_least, lane_rank, lane_before and lane_sync, which all lanes call together.
 * On this machine's cores there is one lane. */
#ifndef ABD_CUDA_LAUNCH_H
#define ABD_CUDA_LAUNCH_H

#include "math/vec.h"

enum { CHUNK_ITEMS = 64, LANE_SCRATCH = 32 * 21 };

/* Items first .. first + count - 1 of a task. */
typedef struct TaskChunk {
  int task, first, count;
} TaskChunk;

#ifdef __CUDA_ARCH__
enum { LANES = 32 };
#else
enum { LANES = 1 };
#endif

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

#ifdef __CUDACC__
enum { LAUNCH_THREADS = 128, LANE_BLOCK = 4 };
#define LAUNCH(NAME, ARGUMENT, ITEM)                                                                                   \
  __global__ static void NAME##_kernel(int count, ARGUMENT argument) {                                                 \
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);                                                              \
    if (i < count) ITEM(&argument, i);                                                                                 \
  }                                                                                                                    \
  extern "C" bool NAME##_launch(int count, const ARGUMENT *argument) {                                                 \
    if (count > 0) NAME##_kernel<<<(count + LAUNCH_THREADS - 1) / LAUNCH_THREADS, LAUNCH_THREADS>>>(count, *argument); \
    return cudaGetLastError() == cudaSuccess;                                                                          \
  }
#define LAUNCH_CHUNKS(NAME, ARGUMENT, ITEM)                                                                            \
  __global__ static void __launch_bounds__(CHUNK_ITEMS) NAME##_kernel(ARGUMENT argument) {                             \
    TaskChunk chunk = argument.chunk[blockIdx.x];                                                                      \
    if ((int)threadIdx.x < chunk.count) ITEM(&argument, chunk.task, chunk.first + (int)threadIdx.x);                   \
  }                                                                                                                    \
  extern "C" bool NAME##_launch(int chunks, const ARGUMENT *argument) {                                                \
    if (chunks > 0) NAME##_kernel<<<chunks, CHUNK_ITEMS>>>(*argument);                                                 \
    return cudaGetLastError() == cudaSuccess;                                                                          \
  }
#define LAUNCH_LANES(NAME, ARGUMENT, ITEM)                                                                             \
  __global__ static void __launch_bounds__(32 * LANE_BLOCK) NAME##_kernel(int count, ARGUMENT argument) {              \
    __shared__ double scratch[LANE_BLOCK][LANE_SCRATCH];                                                               \
    int warp = (int)threadIdx.x / 32, i = (int)blockIdx.x * LANE_BLOCK + warp;                                         \
    if (i < count) ITEM(&argument, i, (int)threadIdx.x % 32, scratch[warp]);                                           \
  }                                                                                                                    \
  extern "C" bool NAME##_launch(int count, const ARGUMENT *argument) {                                                 \
    if (count > 0) NAME##_kernel<<<(count + LANE_BLOCK - 1) / LANE_BLOCK, 32 * LANE_BLOCK>>>(count, *argument);        \
    return cudaGetLastError() == cudaSuccess;                                                                          \
  }
#else
#define LAUNCH(NAME, ARGUMENT, ITEM)                                                                                   \
  bool NAME##_launch(int count, const ARGUMENT *argument) {                                                            \
    for (int i = 0; i < count; i++) ITEM(argument, i);                                                                 \
    return true;                                                                                                       \
  }
#define LAUNCH_CHUNKS(NAME, ARGUMENT, ITEM)                                                                            \
  bool NAME##_launch(int chunks, const ARGUMENT *argument) {                                                           \
    for (int c = 0; c < chunks; c++)                                                                                   \
      for (int i = 0; i < argument->chunk[c].count; i++)                                                               \
        ITEM(argument, argument->chunk[c].task, argument->chunk[c].first + i);                                         \
    return true;                                                                                                       \
  }
#define LAUNCH_LANES(NAME, ARGUMENT, ITEM)                                                                             \
  bool NAME##_launch(int count, const ARGUMENT *argument) {                                                            \
    double scratch[LANE_SCRATCH];                                                                                      \
    for (int i = 0; i < count; i++) ITEM(argument, i, 0, scratch);                                                     \
    return true;                                                                                                       \
  }
#endif

#endif
