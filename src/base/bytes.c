/* See bytes.h. */
#include "base/bytes.h"

#include "base/parallel.h"

#include <string.h>

/* Compiled here, for the processor of this build, so nothing has to be linked. XXH reads memory by memcpy: its default
 * reads 64-bit numbers as 32-bit ones, which the compiler may move before the stores. */
#define XXH_INLINE_ALL
#define XXH_FORCE_MEMORY_ACCESS 0
#include <xxhash.h>

uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t size) { return XXH3_64bits_withSeed(bytes, size, seed); }

/* Many bytes are split into at most MOST_CHUNKS chunks of 128 kB or more. The chunks depend only on the number of
 * bytes. */
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
  hash[0] = 0; /* the value if there are no bytes */
  parallel_for(threads, count, 1, hash_chunk, &c);
  return hash_bytes(seed, hash, (size_t)count * sizeof *hash);
}

void copy_many(int threads, void *to, const void *from, size_t size) {
  Chunks c = {.from = from, .to = to, .size = size};
  int count = split_chunks(&c);
  parallel_for(threads, count, 1, copy_chunk, &c);
}
