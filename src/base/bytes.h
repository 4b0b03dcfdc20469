/* Hashes and copies of bytes. The hash is the 64-bit XXH3. Its values are part of snapshots and run files and are the
 * same on every processor. Tested in tests/test_record.c, tests/test_record_thread.c. */
#ifndef ABD_BASE_BYTES_H
#define ABD_BASE_BYTES_H

#include <stddef.h>
#include <stdint.h>

#define HASH_SEED 0ull
uint64_t hash_bytes(uint64_t seed, const void *bytes, size_t size);
/* Hash of many bytes by several threads. It differs from hash_bytes, but is the same for any number of threads. */
uint64_t hash_many(int threads, uint64_t seed, const void *bytes, size_t size);
void copy_many(int threads, void *to, const void *from, size_t size);

#endif
