/* Items grouped by segment, in ascending order inside each, and cut into chunks.
 *
 * One thread sums a chunk; the partial sums of a segment are added in the order of its chunks. The chunks depend only
 * on the items, so the sum has the same bits for any number of threads. Tested in tests/test_segment.c. */
#ifndef ABD_BASE_SEGMENT_H
#define ABD_BASE_SEGMENT_H

#include "base/base.h"

enum { SEGMENT_CHUNK = 256 }; /* most items in a chunk */

typedef struct Chunk {
  int segment;
  int first, end; /* items: item[first .. end - 1] */
} Chunk;

typedef struct Segments {
  int count;
  int *first; /* [count + 1] first item of each segment */
  int *item;  /* segment by segment, ascending inside each */
  Chunk *chunk;
  int chunk_count;
  int first_capacity, item_capacity, chunk_capacity;
} Segments;

/* One task of a parallel loop takes chunks of about SEGMENT_GRAIN items. */
enum { SEGMENT_GRAIN = 64 };
static inline int segments_grain(const Segments *segments) {
  int items = segments->count ? segments->first[segments->count] : 0;
  return items ? 1 + (int)((int64_t)SEGMENT_GRAIN * segments->chunk_count / items) : 1;
}

/* of[i]: the segment of item i, negative if it has none. False if memory is out. */
bool segments_build(Segments *segments, int count, int item_count, const int *of);
void segments_destroy(Segments *segments);

#endif
