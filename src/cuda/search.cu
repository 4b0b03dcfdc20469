/* The kernels of the search for candidates, see cuda/search_item.h. */
#include "cuda/search_item.h"

#include <cub/device/device_radix_sort.cuh>
#include <cuda_runtime.h>

enum { THREADS = 128, BLOCKS = 132 * 8 };

LAUNCH(search_root, SearchArrays, search_root)
LAUNCH(search_order, OrderArrays, search_order)

__global__ static void expand_kernel(SearchArrays s) {
  int items = s.count[s.level] < s.queue_room ? s.count[s.level] : s.queue_room;
  for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < items * FAN_WIDTH; i += (int)(gridDim.x * blockDim.x))
    search_expand(&s, i);
}

__global__ static void __launch_bounds__(THREADS) meet_kernel(SearchArrays s) {
  int leaves = s.count[SEARCH_LEAVES] < s.leaf_room ? s.count[SEARCH_LEAVES] : s.leaf_room;
  for (int i = (int)(blockIdx.x * blockDim.x + threadIdx.x); i < leaves * LEAF_MAX * LEAF_MAX;
       i += (int)(gridDim.x * blockDim.x))
    search_meet(&s, i);
}

extern "C" bool search_expand_launch(const SearchArrays *arrays) {
  expand_kernel<<<BLOCKS, THREADS>>>(*arrays);
  return cudaGetLastError() == cudaSuccess;
}

extern "C" bool search_meet_launch(const SearchArrays *arrays) {
  meet_kernel<<<BLOCKS, THREADS>>>(*arrays);
  return cudaGetLastError() == cudaSuccess;
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
