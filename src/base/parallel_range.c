/* Loops over fixed chunks, and sums, scans and radix sort on top of them. Tested in tests/test_parallel.c. */
#include <string.h>

#include "base/parallel.h"

enum { BOTH_PARTS = 1 << 16 };
enum { SUM_CHUNKS = 1024, SCAN_CHUNKS = 256, SCAN_CHUNK = 8192, SORT_CHUNKS = 64, SORT_CHUNK = 4096, SORT_SMALL = 64 };

typedef struct Chunks {
  ParallelChunk *body;
  void *context;
  int count, chunk;
} Chunks;

static void run_chunk(void *context, int index) {
  const Chunks *c = context;
  int first = index * c->chunk, left = c->count - first;
  c->body(c->context, first, first + (left < c->chunk ? left : c->chunk), index);
}

int parallel_chunk_count(int count, int chunk) {
  if (chunk < 1) chunk = 1;
  return count < 1 ? 0 : (count - 1) / chunk + 1;
}

void parallel_chunks(int threads, int count, int chunk, ParallelChunk *body, void *context) {
  Chunks c = {body, context, count, chunk < 1 ? 1 : chunk};
  parallel_for(threads, parallel_chunk_count(count, chunk), 1, run_chunk, &c);
}

typedef struct Both {
  ParallelBody *a, *b;
  void *context;
  int count_a, count_b, parts;
} Both;

static int part_start(int count, int part, int parts) { return (int)((int64_t)count * part / parts); }

static void run_part(void *context, int part) {
  const Both *w = context;
  int a = part_start(w->count_a, part, w->parts), end_a = part_start(w->count_a, part + 1, w->parts);
  int b = part_start(w->count_b, part, w->parts), end_b = part_start(w->count_b, part + 1, w->parts);
  for (; a < end_a; a++) w->a(w->context, a);
  for (; b < end_b; b++) w->b(w->context, b);
}

void parallel_both(int threads, int count_a, int count_b, int grain, ParallelBody *a, ParallelBody *b, void *context) {
  int64_t parts = ((int64_t)count_a + count_b) / (grain < 1 ? 1 : grain);
  Both both = {a, b, context, count_a, count_b, parts < 1 ? 1 : parts > BOTH_PARTS ? BOTH_PARTS : (int)parts};
  parallel_for(threads, both.parts, 1, run_part, &both);
}

/* The smallest chunk size >= chunk that gives at most `most` chunks. */
static int widen(int count, int chunk, int most) {
  int least = parallel_chunk_count(count, most);
  return chunk > least ? chunk : least;
}

typedef struct Sum {
  ParallelTerm *body;
  void *context;
  double part[SUM_CHUNKS];
} Sum;

static void sum_chunk(void *context, int first, int last, int index) {
  Sum *sum = context;
  sum->part[index] = sum->body(sum->context, first, last);
}

double parallel_sum(int threads, int count, int chunk, ParallelTerm *body, void *context) {
  Sum sum;
  sum.body = body;
  sum.context = context;
  chunk = widen(count, chunk, SUM_CHUNKS);
  parallel_chunks(threads, count, chunk, sum_chunk, &sum);
  double total = 0;
  for (int i = 0, n = parallel_chunk_count(count, chunk); i < n; i++) total += sum.part[i];
  return total;
}

typedef struct Scan {
  int *value;
  int64_t before[SCAN_CHUNKS];
} Scan;

static void total_chunk(void *context, int first, int last, int index) {
  Scan *s = context;
  int64_t total = 0;
  for (int i = first; i < last; i++) total += s->value[i];
  s->before[index] = total;
}

static void scan_chunk(void *context, int first, int last, int index) {
  Scan *s = context;
  int64_t total = s->before[index];
  for (int i = first; i < last; i++) {
    int value = s->value[i];
    s->value[i] = (int)total;
    total += value;
  }
  s->before[index] = total;
}

int64_t parallel_scan(int threads, int count, int *value) {
  Scan s = {.value = value};
  int chunk = threads > 1 ? widen(count, SCAN_CHUNK, SCAN_CHUNKS) : count, n = parallel_chunk_count(count, chunk);
  if (n > 1) parallel_chunks(threads, count, chunk, total_chunk, &s);
  int64_t total = 0;
  for (int i = 0; i < n; i++) {
    int64_t part = s.before[i];
    s.before[i] = total;
    total += part;
  }
  parallel_chunks(threads, count, chunk, scan_chunk, &s);
  return n ? s.before[n - 1] : 0;
}

/* One pass of a radix sort with digits of eight bits, lowest first. place[chunk][digit]: the number of the chunk's keys
 * with the digit, then the position of the next of them. */
typedef struct Sort {
  const uint64_t *from;
  uint64_t *to;
  int shift;
  int place[SORT_CHUNKS][256];
} Sort;

static int digit(const Sort *s, uint64_t key) { return (int)(key >> s->shift & 255); }

static void count_digits(void *context, int first, int last, int index) {
  Sort *s = context;
  memset(s->place[index], 0, sizeof s->place[index]);
  for (int i = first; i < last; i++) s->place[index][digit(s, s->from[i])]++;
}

static void place_keys(void *context, int first, int last, int index) {
  Sort *s = context;
  for (int i = first; i < last; i++) s->to[s->place[index][digit(s, s->from[i])]++] = s->from[i];
}

static void find_places(Sort *s, int chunks) {
  int total = 0;
  for (int d = 0; d < 256; d++)
    for (int c = 0; c < chunks; c++) {
      int count = s->place[c][d];
      s->place[c][d] = total;
      total += count;
    }
}

static void insert_keys(int count, uint64_t *key) {
  for (int i = 1, k; i < count; i++) {
    uint64_t moving = key[i];
    for (k = i; k && key[k - 1] > moving; k--) key[k] = key[k - 1];
    key[k] = moving;
  }
}

typedef struct Bits {
  const uint64_t *key;
  uint64_t differing[SORT_CHUNKS];
} Bits;

static void find_bits(void *context, int first, int last, int index) {
  Bits *b = context;
  uint64_t differing = 0;
  for (int i = first; i < last; i++) differing |= b->key[i] ^ b->key[0];
  b->differing[index] = differing;
}

/* The bits in which keys differ. Passes of other digits are skipped. */
static uint64_t differing_bits(int threads, int count, int chunk, const uint64_t *key) {
  Bits b = {.key = key};
  uint64_t all = 0;
  parallel_chunks(threads, count, chunk, find_bits, &b);
  for (int c = 0, n = parallel_chunk_count(count, chunk); c < n; c++) all |= b.differing[c];
  return all;
}

void parallel_sort(int threads, int count, uint64_t *key, uint64_t *scratch) {
  if (count <= SORT_SMALL) {
    insert_keys(count, key);
    return;
  }
  Sort s;
  s.from = key;
  s.to = scratch;
  int chunk = threads > 1 ? widen(count, SORT_CHUNK, SORT_CHUNKS) : count, chunks = parallel_chunk_count(count, chunk);
  uint64_t differing = differing_bits(threads, count, chunk, key);
  for (s.shift = 0; s.shift < 64; s.shift += 8) {
    if (!(differing >> s.shift & 255)) continue;
    parallel_chunks(threads, count, chunk, count_digits, &s);
    find_places(&s, chunks);
    parallel_chunks(threads, count, chunk, place_keys, &s);
    uint64_t *sorted = s.to;
    s.to = s.from == key ? key : scratch;
    s.from = sorted;
  }
  if (s.from != key) memcpy(key, s.from, (size_t)count * sizeof *key);
}
