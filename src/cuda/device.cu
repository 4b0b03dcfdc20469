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
