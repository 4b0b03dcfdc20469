/* Arrays on this machine and their copies on the GPU, see cuda/accelerator.h. Tested in tests/test_cuda_serial.c. */
#include <string.h>

#include "cuda/accelerator.h"

void *twin_extend(Twin *t, int count) {
  size_t bytes = ((size_t)t->count + (size_t)count) * t->size;
  if (bytes > t->here.capacity || !t->here.at) {
    DeviceArray larger = {0};
    if (!host_reserve(&larger, bytes + bytes / 2 + t->size)) return NULL;
    if (t->count) memcpy(larger.at, t->here.at, (size_t)t->count * t->size);
    host_free(&t->here);
    t->here = larger;
  }
  void *at = (char *)t->here.at + (size_t)t->count * t->size;
  t->count += count;
  return at;
}

bool twin_send(Twin *t) {
  size_t bytes = (size_t)t->count * t->size;
  return device_reserve(&t->there, bytes) && device_send(t->there.at, t->here.at, bytes);
}

static DeviceCopy copy_back(const Twin *t) {
  return t ? (DeviceCopy){t->here.at, t->there.at, (size_t)t->count * t->size} : (DeviceCopy){0};
}

bool twin_receive(const Twin *t, const Twin *also, Arrival *arrival) {
  return device_receive(arrival, copy_back(t), copy_back(also));
}

void twin_free(Twin *t) {
  host_free(&t->here);
  device_free(&t->there);
}

void packet_begin(Packet *p) { p->used = 0; }

size_t packet_add(Packet *p, size_t bytes) {
  size_t at = p->used;
  p->used += (bytes + 15) & ~(size_t)15;
  return at;
}

bool packet_open(Packet *p) { return host_reserve(&p->here, p->used + 16) && device_reserve(&p->there, p->used + 16); }
bool packet_send(Packet *p) { return device_send(p->there.at, p->here.at, p->used); }

bool packet_receive(Packet *p, Arrival *arrival) {
  return device_receive(arrival, (DeviceCopy){p->here.at, p->there.at, p->used}, (DeviceCopy){0});
}

void packet_free(Packet *p) {
  host_free(&p->here);
  device_free(&p->there);
}

bool device_grow(DeviceArray *array, size_t used, size_t bytes) {
  DeviceArray fresh = {0};
  if (bytes <= array->capacity) return true;
  if (!device_reserve(&fresh, bytes) || !device_move(fresh.at, array->at, used) || !device_wait()) {
    device_free(&fresh);
    return false;
  }
  device_free(array);
  *array = fresh;
  return true;
}
