/* The kernels of the search for candidates, see cuda/search_item.h. */
#include "cuda/search_item.h"

#include <cooperative_groups.h>
#include <cub/device/device_radix_sort.cuh>
#include <cuda_runtime.h>

namespace cg = cooperative_groups;

enum { THREADS = 128, BLOCKS_EACH = 4 }; /* of a multiprocessor */

LAUNCH(search_order, OrderArrays, search_order)

__device__ static int count_of(const SearchArrays &s, int which, int room) {
  int count = __ldcg(&s.count[which]);
  return count < room ? count : room;
}

/* Tests what was found on the path, puts lists of candidates in order if all are short and were found. */
__device__ static void order_lists(cg::grid_group grid, const SearchArrays &s, int tasks, int first, int step) {
  int found = count_of(s, SEARCH_FOUND, s.found_room);
  if (found == 0 || __ldcg(&s.count[SEARCH_FOUND]) > found) return;
  for (int i = first; i < tasks; i += step) search_place(&s, i);
  for (int i = first; i < found; i += step) search_passes(&s, i);
  grid.sync();
  if (__ldcg(&s.count[SEARCH_LONG])) return;
  for (int i = first; i < found; i += step) search_gather(&s, i);
  grid.sync();
  for (int i = first; i < found; i += step) search_rank(&s, i);
}

/* One level after the other, until one is empty, then the leaves, then the stencils. */
__global__ static void __launch_bounds__(THREADS) descend_kernel(int tasks, SearchArrays s) {
  cg::grid_group grid = cg::this_grid();
  int first = (int)(blockIdx.x * blockDim.x + threadIdx.x), step = (int)(gridDim.x * blockDim.x);
  for (int i = first; i < tasks; i += step) search_root(&s, i);
  for (int i = first; i < SEARCH_COUNTS; i += step) search_clear(&s, i, tasks);
  grid.sync();
  for (s.level = 0; s.level < SEARCH_LEVELS; s.level++) {
    int items = count_of(s, s.level, s.queue_room);
    if (items == 0) break;
    for (int i = first; i < items * FAN_WIDTH; i += step) search_expand(&s, i);
    grid.sync();
  }
  int leaves = count_of(s, SEARCH_LEAVES, s.leaf_room);
  for (int i = first; i < leaves * LEAF_MAX * LEAF_MAX; i += step) search_meet(&s, i);
  grid.sync();
  int meetings = count_of(s, SEARCH_MEETINGS, s.meeting_room);
  for (int i = first; i < meetings * ELEMENT_STENCILS; i += step) search_stencil(&s, i);
  grid.sync();
  order_lists(grid, s, tasks, first, step);
}

/* As many thread blocks as run at the same time; the results do not depend on it. */
static int grid_size(void) {
  static int most = 0;
  if (most) return most;
  int device = 0, processors = 0, each = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, descend_kernel, THREADS, 0);
  most = processors * (each < BLOCKS_EACH ? each : BLOCKS_EACH);
  return most;
}

extern "C" bool search_descend_launch(int tasks, const SearchArrays *arrays) {
  SearchArrays s = *arrays;
  void *argument[] = {&tasks, &s};
  return cudaLaunchCooperativeKernel((const void *)descend_kernel, dim3((unsigned)grid_size()), dim3(THREADS), argument,
                                     0, 0) == cudaSuccess;
}

__global__ static void count_kernel(int count, int *order) {
  int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) order[i] = i;
}

__global__ static void owner_kernel(int count, const int *owner, const int *order, int *out) {
  int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) out[i] = owner[order[i]];
}

/* Two stable sorts: by key, then by owner. */
extern "C" bool search_sort(int count, const uint64_t *key, const int *owner, int *order, DeviceArray *scratch) {
  if (count <= 0) return true;
  size_t need[2] = {0, 0}, n = ((size_t)count + 63) & ~(size_t)63;
  cub::DeviceRadixSort::SortPairs(NULL, need[0], (uint64_t *)NULL, (uint64_t *)NULL, (int *)NULL, (int *)NULL, count);
  cub::DeviceRadixSort::SortPairs(NULL, need[1], (int *)NULL, (int *)NULL, (int *)NULL, (int *)NULL, count);
  size_t most = need[0] > need[1] ? need[0] : need[1];
  if (!device_reserve(scratch, n * (sizeof(uint64_t) + 4 * sizeof(int)) + most + 256)) return false;
  uint64_t *sorted_key = (uint64_t *)scratch->at;
  int *first = (int *)(sorted_key + n), *by_key = first + n, *its = by_key + n, *sorted = its + n;
  void *rest = sorted + n;
  int blocks = (count + THREADS - 1) / THREADS;
  count_kernel<<<blocks, THREADS>>>(count, first);
  if (cub::DeviceRadixSort::SortPairs(rest, need[0], key, sorted_key, first, by_key, count) != cudaSuccess)
    return false;
  owner_kernel<<<blocks, THREADS>>>(count, owner, by_key, its);
  if (cub::DeviceRadixSort::SortPairs(rest, need[1], its, sorted, by_key, order, count) != cudaSuccess) return false;
  return cudaGetLastError() == cudaSuccess;
}
