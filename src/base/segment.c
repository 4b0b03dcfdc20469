/* Counting sort, then chunks, see base/segment.h. */
#include "base/segment.h"

#include <string.h>

void segments_destroy(Segments *s) {
  mem_free(s->first);
  mem_free(s->item);
  mem_free(s->chunk);
  mem_free(s->listed);
  mem_free(s->segment);
  mem_free(s->part);
  mem_free(s->left);
  mem_free(s->cut);
  mem_free(s->share);
  mem_free(s->next);
  memset(s, 0, sizeof *s);
}

static void cut_chunks(Segments *s) {
  s->chunk_count = s->listed_count = s->part_count = s->part_items = s->share_count = 0;
  s->segment_count = -1;
  for (int k = 0; k < s->count; k++)
    for (int first = s->first[k]; first < s->first[k + 1]; first += SEGMENT_CHUNK) {
      int end = first + SEGMENT_CHUNK < s->first[k + 1] ? first + SEGMENT_CHUNK : s->first[k + 1];
      s->chunk[s->chunk_count++] = (Chunk){k, first, end};
    }
}

static bool reserve(Segments *s, int count, int item_count) {
  return mem_reserve((void **)&s->first, &s->first_capacity, count + 2, sizeof(int)) &&
         mem_reserve((void **)&s->item, &s->item_capacity, item_count, sizeof(int)) &&
         mem_reserve((void **)&s->chunk, &s->chunk_capacity, count + item_count / SEGMENT_CHUNK, sizeof(Chunk));
}

/* first[k + 2]: the number of items of segment k; then first[k + 1] is where its next item is placed. */
static void sum_counts(Segments *s) {
  for (int k = 2; k < s->count + 2; k++) s->first[k] += s->first[k - 1];
}

/* item: NULL = all. */
static bool build(Segments *s, int count, int item_count, const int *item, const int *of) {
  if (!reserve(s, count, item_count)) return false;
  s->count = count;
  memset(s->first, 0, (size_t)(count + 2) * sizeof(int));
  for (int j = 0; j < item_count; j++) {
    int segment = of[item ? item[j] : j];
    if (segment >= 0) s->first[segment + 2]++;
  }
  sum_counts(s);
  for (int j = 0; j < item_count; j++) {
    int i = item ? item[j] : j;
    if (of[i] >= 0) s->item[s->first[of[i] + 1]++] = i;
  }
  cut_chunks(s);
  return true;
}

bool segments_build(Segments *s, int count, int item_count, const int *of) {
  return build(s, count, item_count, NULL, of);
}

bool segments_build_listed(Segments *s, int count, int item_count, const int *item, const int *of) {
  return build(s, count, item_count, item, of);
}

bool segments_build_some(Segments *s, int count, int some_count, const int *some, int item_count, const int *of) {
  int items = 0;
  if (!mem_reserve((void **)&s->first, &s->first_capacity, count + 2, sizeof(int)) ||
      !mem_reserve((void **)&s->next, &s->next_capacity, count, sizeof(int)) ||
      !mem_reserve((void **)&s->item, &s->item_capacity, item_count, sizeof(int)))
    return false;
  s->count = count;
  s->chunk_count = s->listed_count = s->part_count = s->part_items = s->share_count = 0;
  s->segment_count = -1;
  for (int k = 0; k < some_count; k++) s->next[some[k]] = 0;
  for (int i = 0; i < item_count; i++)
    if (of[i] >= 0) s->next[of[i]]++;
  for (int k = 0; k < some_count; k++) {
    int own = s->next[some[k]];
    s->first[some[k]] = s->next[some[k]] = items;
    s->first[some[k] + 1] = items += own;
  }
  for (int i = 0; i < item_count; i++)
    if (of[i] >= 0) s->item[s->next[of[i]]++] = i;
  return true;
}

/* A thread claims a part as a whole, so that a few heavy items make one. */
static ChunkPart next_part(const Segments *s, int chunk, int first, const unsigned char *weight) {
  ChunkPart part = {chunk, first, first, 0};
  int last = s->chunk[chunk].end;
  while (part.end < last && part.end - first < SEGMENT_PART && part.weight < SEGMENT_WEIGHT)
    part.weight += weight ? weight[s->item[part.end++]] : (part.end++, 1);
  return part;
}

static void cut_parts(Segments *s, int chunk, const unsigned char *weight) {
  Chunk c = s->chunk[chunk];
  int before = s->part_count;
  for (int first = c.first; first < c.end; first = s->part[s->part_count - 1].end)
    s->part[s->part_count++] = next_part(s, chunk, first, weight);
  s->cut[chunk] = s->part_count - before;
  atomic_init(&s->left[chunk], s->cut[chunk]);
  s->listed[s->listed_count++] = chunk;
  s->part_items += c.end - c.first;
}

/* The first chunk of a segment or of those after it. */
static int first_chunk(const Segments *s, int segment) {
  int low = 0, high = s->chunk_count;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (s->chunk[middle].segment < segment) low = middle + 1;
    else high = middle;
  }
  return low;
}

static bool is_listed(const Segments *s, int count, const int *segment) {
  return s->segment_count == count && (!count || !memcmp(s->segment, segment, (size_t)count * sizeof(int)));
}

bool segments_list(Segments *s, int count, const int *segment, const unsigned char *weight) {
  if (is_listed(s, count, segment)) return true;
  int items = s->count ? s->first[s->count] : 0, most = weight ? items : s->chunk_count + items / SEGMENT_PART;
  if (!mem_reserve((void **)&s->listed, &s->listed_capacity, s->chunk_count, sizeof(int)) ||
      !mem_reserve((void **)&s->left, &s->left_capacity, s->chunk_count, sizeof *s->left) ||
      !mem_reserve((void **)&s->cut, &s->cut_capacity, s->chunk_count, sizeof(int)) ||
      !mem_reserve((void **)&s->part, &s->part_capacity, most, sizeof(ChunkPart)) ||
      !mem_reserve((void **)&s->segment, &s->segment_capacity, count, sizeof(int)))
    return false;
  if (count) memcpy(s->segment, segment, (size_t)count * sizeof(int));
  s->segment_count = count;
  s->listed_count = s->part_count = s->part_items = s->share_count = 0;
  for (int k = 0; k < count; k++)
    for (int c = first_chunk(s, segment[k]); c < s->chunk_count && s->chunk[c].segment == segment[k]; c++)
      cut_parts(s, c, weight);
  return true;
}

bool segments_share(Segments *s, int threads) {
  if (s->share_count == threads) return true;
  s->share_count = 0;
  if (threads <= 1 || s->part_count < threads) return true;
  if (!mem_reserve((void **)&s->share, &s->share_capacity, threads + 1, sizeof(int))) return false;
  int64_t total = 0, sum = 0;
  for (int k = 0; k < s->part_count; k++) total += s->part[k].weight;
  int t = 0;
  for (int k = 0; k < s->part_count; k++) {
    while (t < threads && sum * threads >= total * t) s->share[t++] = k;
    sum += s->part[k].weight;
  }
  while (t <= threads) s->share[t++] = s->part_count;
  s->share_count = threads;
  return true;
}

typedef struct Loop {
  Segments *segments;
  ParallelBody *item, *chunk;
  void *context;
} Loop;

/* The thread that finishes the last part of a chunk ends the chunk. */
static void run_part(void *context, int k) {
  const Loop *loop = context;
  Segments *s = loop->segments;
  ChunkPart part = s->part[k];
  for (int e = part.first; e < part.end; e++) loop->item(loop->context, s->item[e]);
  if (!loop->chunk) return;
  int parts = s->cut[part.chunk];
  if (parts > 1) {
    if (atomic_fetch_sub_explicit(&s->left[part.chunk], 1, memory_order_acq_rel) > 1) return;
    atomic_store_explicit(&s->left[part.chunk], parts, memory_order_relaxed);
  }
  loop->chunk(loop->context, part.chunk);
}

void segments_for(Segments *s, int threads, int grain, ParallelBody *item, ParallelBody *chunk, void *context) {
  Loop loop = {s, item, chunk, context};
  /* rounded up: a share of the items is one claim if a claim is as large */
  int parts = s->part_items ? (int)(((int64_t)grain * s->part_count + s->part_items - 1) / s->part_items) : 1;
  if (threads > 1 && s->share_count == threads) parallel_shares(threads, s->share, parts, run_part, &loop);
  else parallel_for(threads, s->part_count, parts, run_part, &loop);
}
