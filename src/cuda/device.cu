/* Memory and copies, see cuda/device.h. */
#include "cuda/device.h"

#include <cuda_runtime.h>
#include <stdio.h>
#include <string.h>

enum { LEAST_MAJOR = 8 }; /* compute capability of the oldest card that the kernels are compiled for */

extern "C" bool device_find(char name[64], char reason[160]) {
  int count = 0;
  cudaDeviceProp card;
  cudaError_t error = cudaGetDeviceCount(&count);
  name[0] = reason[0] = 0;
  if (error != cudaSuccess || count == 0) {
    snprintf(reason, 160, "no GPU can be used: %s",
             error == cudaSuccess ? "none was found" : cudaGetErrorString(error));
    return false;
  }
  error = cudaGetDeviceProperties(&card, 0);
  if (error != cudaSuccess) {
    snprintf(reason, 160, "the GPU cannot be used: %s", cudaGetErrorString(error));
    return false;
  }
  snprintf(name, 64, "%.60s", card.name);
  if (card.major < LEAST_MAJOR) {
    snprintf(reason, 160, "the GPU %.40s has compute capability %d.%d, expected %d.0 or later", name, card.major,
             card.minor, (int)LEAST_MAJOR);
    return false;
  }
  return true;
}

static bool good(cudaError_t error) {
  if (error != cudaSuccess) cudaGetLastError(); /* the next call starts without it */
  return error == cudaSuccess;
}

extern "C" bool device_reserve(DeviceArray *array, size_t bytes) {
  if (bytes <= array->capacity) return true;
  size_t larger = bytes + bytes / 4;
  if (array->at) {
    cudaStreamSynchronize(0);
    cudaFree(array->at);
  }
  array->at = NULL;
  array->capacity = 0;
  if (!good(cudaMalloc(&array->at, larger))) return false;
  array->capacity = larger;
  return true;
}

extern "C" void device_free(DeviceArray *array) {
  if (array->at) cudaFree(array->at);
  array->at = NULL;
  array->capacity = 0;
}

extern "C" bool host_reserve(DeviceArray *array, size_t bytes) {
  if (bytes <= array->capacity) return true;
  size_t larger = bytes + bytes / 4;
  if (array->at) {
    cudaStreamSynchronize(0);
    cudaFreeHost(array->at);
  }
  array->at = NULL;
  array->capacity = 0;
  if (!good(cudaMallocHost(&array->at, larger))) return false;
  array->capacity = larger;
  return true;
}

extern "C" void host_free(DeviceArray *array) {
  if (array->at) cudaFreeHost(array->at);
  array->at = NULL;
  array->capacity = 0;
}

extern "C" bool device_upload(void *to, const void *from, size_t bytes) {
  return !bytes || good(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, 0));
}

extern "C" bool device_download(void *to, const void *from, size_t bytes) {
  return !bytes || good(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, 0));
}

extern "C" bool device_move(void *to, const void *from, size_t bytes) {
  return !bytes || good(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, 0));
}

extern "C" bool device_clear(void *at, size_t bytes) { return !bytes || good(cudaMemsetAsync(at, 0, bytes, 0)); }

extern "C" bool device_wait(void) { return good(cudaStreamSynchronize(0)); }

/* ---- short copies between the machines ---- */

/* A kernel reads and writes memory of this machine over the bus: the driver's copies begin later, and so does what
 * follows them. */
enum { COPY_BYTES = 1 << 20, COPY_THREADS = 256, COPY_BLOCKS = 128, POLLS = 4096 };

static bool is_short(DeviceCopy copy) {
  return copy.bytes <= COPY_BYTES && ((size_t)copy.to | (size_t)copy.from) % sizeof(uint4) == 0;
}

static int copy_blocks(size_t bytes) {
  size_t blocks = 1 + bytes / (COPY_THREADS * sizeof(uint4));
  return blocks < COPY_BLOCKS ? (int)blocks : COPY_BLOCKS;
}

/* Sixteen bytes by each thread, then the rest. */
__device__ static void copy_all(DeviceCopy copy) {
  size_t pieces = copy.bytes / sizeof(uint4), at = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  for (size_t i = at; i < pieces; i += (size_t)gridDim.x * blockDim.x)
    ((uint4 *)copy.to)[i] = ((const uint4 *)copy.from)[i];
  if (at >= copy.bytes % sizeof(uint4)) return;
  size_t i = pieces * sizeof(uint4) + at;
  ((char *)copy.to)[i] = ((const char *)copy.from)[i];
}

__global__ static void send_kernel(DeviceCopy copy) { copy_all(copy); }

extern "C" bool device_send(void *to, const void *from, size_t bytes) {
  DeviceCopy copy = {to, from, bytes};
  if (!bytes || !is_short(copy)) return device_upload(to, from, bytes);
  send_kernel<<<copy_blocks(bytes), COPY_THREADS>>>(copy);
  return good(cudaGetLastError());
}

/* Writes a number behind what it copies, which this machine polls: the driver's wait ends later. blocks: thread blocks
 * that have ended; the last one sets it to 0. */
__global__ static void receive_kernel(DeviceCopy first, DeviceCopy second, unsigned *blocks, volatile unsigned *arrived,
                                      unsigned number) {
  copy_all(first);
  copy_all(second);
  __threadfence_system();
  __syncthreads();
  if (threadIdx.x != 0 || atomicAdd(blocks, 1) + 1 < gridDim.x) return;
  *blocks = 0;
  __threadfence_system();
  *arrived = number;
}

/* Both counters begin with 0. */
static bool open_arrival(Arrival *arrival) {
  if (arrival->number) return true;
  void *here = NULL, *there = NULL;
  bool opened = good(cudaMallocHost(&here, sizeof(unsigned))) && good(cudaMalloc(&there, sizeof(unsigned))) &&
                good(cudaMemset(there, 0, sizeof(unsigned)));
  arrival->number = (volatile unsigned *)here;
  arrival->blocks = (unsigned *)there;
  if (opened) *arrival->number = arrival->sent = 0;
  else arrival_close(arrival);
  return opened;
}

extern "C" void arrival_close(Arrival *arrival) {
  if (arrival->number) cudaFreeHost((void *)arrival->number);
  if (arrival->blocks) cudaFree(arrival->blocks);
  *arrival = Arrival();
}

extern "C" bool device_receive(Arrival *arrival, DeviceCopy first, DeviceCopy second) {
  size_t bytes = first.bytes + second.bytes;
  arrival->polled = bytes && is_short(first) && is_short(second) && open_arrival(arrival);
  if (!arrival->polled)
    return device_download(first.to, first.from, first.bytes) && device_download(second.to, second.from, second.bytes);
  receive_kernel<<<copy_blocks(bytes), COPY_THREADS>>>(first, second, arrival->blocks, arrival->number,
                                                       ++arrival->sent);
  return good(cudaGetLastError());
}

/* If work before the copy fails, the number never comes; the stream then is not busy any more. */
extern "C" bool device_arrive(Arrival *arrival) {
  if (!arrival->polled) return device_wait();
  for (int poll = 1; *arrival->number != arrival->sent; poll++) {
    if (poll % POLLS) continue;
    cudaError_t state = cudaStreamQuery(0);
    if (state == cudaErrorNotReady) continue;
    if (*arrival->number != arrival->sent) return good(state) && device_wait();
  }
  __sync_synchronize(); /* what came before the number is read after it */
  return true;
}
