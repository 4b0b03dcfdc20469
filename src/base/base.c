#include "base/base.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define XXH_INLINE_ALL /* compiled here, for the processor of this build; nothing to link */
#define XXH_FORCE_MEMORY_ACCESS                                                                                        \
  0 /* reads by memcpy: the default reads 64-bit stores as 32-bit loads, which may be moved */
#include <xxhash.h>

static atomic_long fail_countdown;

void mem_fail_after(long n) { atomic_store(&fail_countdown, n); }

static bool allocation_fails(void) {
  long left = atomic_load(&fail_countdown);
  if (left == 0) return false;
  if (left == 1) return true;
  atomic_fetch_sub(&fail_countdown, 1);
  return false;
}

void *mem_alloc(size_t count, size_t size) { return mem_resize(NULL, count, size); }

void *mem_zeroed(size_t count, size_t size) {
  if (allocation_fails()) return NULL;
  return calloc(count ? count : 1, size ? size : 1);
}

void *mem_resize(void *old, size_t count, size_t size) {
  size_t bytes;
  if (allocation_fails() || __builtin_mul_overflow(count, size, &bytes)) return NULL;
  return realloc(old, bytes ? bytes : 1);
}

void mem_free(void *p) { free(p); }

char *mem_string(const char *s) {
  size_t n = s ? strlen(s) : 0;
  char *copy = mem_alloc(n + 1, 1);
  if (copy) {
    if (n) memcpy(copy, s, n);
    copy[n] = 0;
  }
  return copy;
}

bool mem_reserve(void **array, int *capacity, int count, size_t item_size) {
  if (count <= *capacity) return true;
  int wanted = *capacity > 0x3fffffff ? count : *capacity * 2;
  if (wanted < count) wanted = count;
  if (wanted < 8) wanted = 8;
  void *grown = mem_resize(*array, (size_t)wanted, item_size);
  if (!grown) return false;
  *array = grown;
  *capacity = wanted;
  return true;
}

AbdStatus fault(AbdError *error, AbdStatus status, const char *format, ...) {
  if (error && error->status == ABD_OK) {
    error->status = status;
    va_list args;
    va_start(args, format);
    vsnprintf(error->text, sizeof error->text, format, args);
    va_end(args);
  }
  return status;
}

double clock_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t size) { return XXH3_64bits_withSeed(bytes, size, seed); }

/* Many bytes are split into chunks, which depend on their number alone: of 128 kB, or as large as MOST_CHUNKS need to be. */
enum { CHUNK_BYTES = 1 << 17, MOST_CHUNKS = 1024 };

typedef struct Chunks {
  const unsigned char *from;
  unsigned char *to;
  uint64_t seed, *hash;
  size_t size, chunk;
} Chunks;

static int split_chunks(Chunks *c) {
  c->chunk = (c->size + MOST_CHUNKS - 1) / MOST_CHUNKS;
  if (c->chunk < CHUNK_BYTES) c->chunk = CHUNK_BYTES;
  return (int)((c->size + c->chunk - 1) / c->chunk);
}

static size_t chunk_size(const Chunks *c, int k) {
  size_t left = c->size - (size_t)k * c->chunk;
  return left < c->chunk ? left : c->chunk;
}

static void hash_chunk(void *context, int k) {
  Chunks *c = context;
  c->hash[k] = hash_bytes(c->seed, c->from + (size_t)k * c->chunk, chunk_size(c, k));
}

static void copy_chunk(void *context, int k) {
  Chunks *c = context;
  memcpy(c->to + (size_t)k * c->chunk, c->from + (size_t)k * c->chunk, chunk_size(c, k));
}

uint64_t hash_many(int threads, uint64_t seed, const void *bytes, size_t size) {
  uint64_t hash[MOST_CHUNKS];
  Chunks c = {.from = bytes, .seed = seed, .hash = hash, .size = size};
  int count = split_chunks(&c);
  hash[0] = 0; /* without bytes there is no chunk */
  parallel_for(threads, count, 1, hash_chunk, &c);
  return hash_bytes(seed, hash, (size_t)count * sizeof *hash);
}

void copy_many(int threads, void *to, const void *from, size_t size) {
  Chunks c = {.from = from, .to = to, .size = size};
  int count = split_chunks(&c);
  parallel_for(threads, count, 1, copy_chunk, &c);
}
