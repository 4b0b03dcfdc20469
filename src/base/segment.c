/* Counting sort, then chunks, see base/segment.h. */
#include "base/segment.h"

#include <string.h>

void segments_destroy(Segments *s) {
  mem_free(s->first);
  mem_free(s->item);
  mem_free(s->chunk);
  memset(s, 0, sizeof *s);
}

static void cut_chunks(Segments *s) {
  s->chunk_count = 0;
  for (int k = 0; k < s->count; k++)
    for (int first = s->first[k]; first < s->first[k + 1]; first += SEGMENT_CHUNK) {
      int end = first + SEGMENT_CHUNK < s->first[k + 1] ? first + SEGMENT_CHUNK : s->first[k + 1];
      s->chunk[s->chunk_count++] = (Chunk){k, first, end};
    }
}

bool segments_build(Segments *s, int count, int item_count, const int *of) {
  if (!mem_reserve((void **)&s->first, &s->first_capacity, count + 2, sizeof(int)) ||
      !mem_reserve((void **)&s->item, &s->item_capacity, item_count, sizeof(int)) ||
      !mem_reserve((void **)&s->chunk, &s->chunk_capacity, count + item_count / SEGMENT_CHUNK, sizeof(Chunk)))
    return false;
  s->count = count;
  memset(s->first, 0, (size_t)(count + 2) * sizeof(int));
  for (int i = 0; i < item_count; i++)
    if (of[i] >= 0) s->first[of[i] + 2]++;
  for (int k = 2; k < count + 2; k++) s->first[k] += s->first[k - 1];
  for (int i = 0; i < item_count; i++)
    if (of[i] >= 0) s->item[s->first[of[i] + 1]++] = i;
  cut_chunks(s);
  return true;
}
