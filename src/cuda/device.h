/* What the C files of this room call of the CUDA files: memory, copies, kernels. Plain C, compiled by both compilers.
 * Functions return false if the GPU reports an error, mostly that its memory is out. All work is done in one stream, in
 * the order of the calls; only functions that say so wait for it. */
#ifndef ABD_CUDA_DEVICE_H
#define ABD_CUDA_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An array on the GPU that grows and is never copied by growing. */
typedef struct DeviceArray {
  void *at;
  size_t capacity; /* [bytes] */
} DeviceArray;

bool device_find(char name[64], char reason[160]); /* false: no GPU can be used, and why */
bool device_reserve(DeviceArray *array, size_t bytes);
void device_free(DeviceArray *array); /* takes a zeroed one */
/* Copies may still run when the function returns: the memory on this machine may be used after device_wait. */
bool device_upload(void *to, const void *from, size_t bytes);
bool device_download(void *to, const void *from, size_t bytes);
bool device_move(void *to, const void *from, size_t bytes); /* on the GPU */
bool device_clear(void *at, size_t bytes);                  /* sets bytes to zero */
bool device_wait(void);                                     /* waits for all work so far; false if any of it failed */

/* Memory of this machine that copies reach at full speed, and the GPU itself. */
bool host_reserve(DeviceArray *array, size_t bytes);
void host_free(DeviceArray *array);

/* Copies from such memory as device_upload does, short ones sooner. */
bool device_send(void *to, const void *from, size_t bytes);

/* The last copy to such memory. Begins zeroed; one thread at a time uses it. */
typedef struct Arrival {
  volatile unsigned *number; /* here: of the last copy that has arrived */
  unsigned *blocks;          /* there */
  unsigned sent;             /* number of the last copy */
  bool polled;               /* it tells when it has arrived; else the driver does */
} Arrival;

typedef struct DeviceCopy {
  void *to;
  const void *from;
  size_t bytes;
} DeviceCopy;

bool device_receive(Arrival *arrival, DeviceCopy first, DeviceCopy second); /* of 0 bytes: none */
bool device_arrive(Arrival *arrival); /* waits for it and all work before it; false if any of that failed */
void arrival_close(Arrival *arrival);

#ifdef __cplusplus
}
#endif

#endif
