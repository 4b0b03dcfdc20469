/* Loops on the GPU, and the same loops on this machine's cores in tests: an item's function is written once.
 *
 * LAUNCH(NAME, ARGUMENT, ITEM) defines bool NAME_launch(int count, const ARGUMENT *argument), which calls
 *     ITEM(argument, i)                 for i < count, one thread each.
 * LAUNCH_CHUNKS: the argument has an array `chunk` of TaskChunk; calls
 *     ITEM(argument, task, i)           for the items i of every chunk, one thread each, CHUNK_ITEMS at most.
 * LAUNCH_LANES calls
 *     ITEM(argument, i, lane, scratch)  for i < count and lane < LANES: a warp each, which works on one item together.
 * Functions with lanes use those of math/lane.h. On this machine's cores there is one lane. */
#ifndef ABD_CUDA_LAUNCH_H
#define ABD_CUDA_LAUNCH_H

#include "math/lane.h"

enum { CHUNK_ITEMS = 32, LANE_SCRATCH = 32 * 21 };

/* Items first .. first + count - 1 of a task. */
typedef struct TaskChunk {
  int task, first, count;
} TaskChunk;

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
extern bool launch_backwards; /* tests set it: no loop depends on the order of its items */
static inline int launch_item(int i, int count) { return launch_backwards ? count - 1 - i : i; }
#define LAUNCH(NAME, ARGUMENT, ITEM)                                                                                   \
  bool NAME##_launch(int count, const ARGUMENT *argument) {                                                            \
    for (int i = 0; i < count; i++) ITEM(argument, launch_item(i, count));                                             \
    return true;                                                                                                       \
  }
#define LAUNCH_CHUNKS(NAME, ARGUMENT, ITEM)                                                                            \
  bool NAME##_launch(int chunks, const ARGUMENT *argument) {                                                           \
    for (int c = 0; c < chunks; c++) {                                                                                 \
      TaskChunk own = argument->chunk[launch_item(c, chunks)];                                                         \
      for (int i = 0; i < own.count; i++) ITEM(argument, own.task, own.first + launch_item(i, own.count));             \
    }                                                                                                                  \
    return true;                                                                                                       \
  }
#define LAUNCH_LANES(NAME, ARGUMENT, ITEM)                                                                             \
  bool NAME##_launch(int count, const ARGUMENT *argument) {                                                            \
    double scratch[LANE_SCRATCH];                                                                                      \
    for (int i = 0; i < count; i++) ITEM(argument, launch_item(i, count), 0, scratch);                                 \
    return true;                                                                                                       \
  }
#endif

#endif
