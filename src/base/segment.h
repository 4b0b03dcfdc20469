/* Items grouped by segment, in ascending order inside each, and cut into chunks.
 *
 * One thread sums a chunk; the partial sums of a segment are added in the order of its chunks. The chunks depend only
 * on the items, so the sum has the same bits for any number of threads. Tested in tests/test_segment.c. */
#ifndef ABD_BASE_SEGMENT_H
#define ABD_BASE_SEGMENT_H

#include <stdatomic.h>

#include "base/base.h"

/* Most items in a chunk, in a part of it; a part with that weight is full. */
enum { SEGMENT_CHUNK = 64, SEGMENT_PART = 8, SEGMENT_WEIGHT = 24 };

typedef struct Chunk {
  int segment;
  int first, end; /* items: item[first .. end - 1] */
} Chunk;

/* The unit of work in a loop over items. */
typedef struct ChunkPart {
  int chunk;
  int first, end;
  int weight; /* of its items */
} ChunkPart;

typedef struct Segments {
  int count;
  int *first; /* [count + 1] first item of each segment */
  int *item;  /* segment by segment, ascending inside each */
  Chunk *chunk;
  int chunk_count;
  int first_capacity, item_capacity, chunk_capacity;

  /* The listed segments, see segments_list. */
  int *segment; /* the segments themselves */
  int segment_count;
  int *listed; /* chunks, ascending */
  int listed_count;
  ChunkPart *part;
  int part_count, part_items; /* items: of all parts together */
  atomic_int *left;           /* by chunk: parts that a loop has not finished */
  int *cut;                   /* by chunk: parts */
  int *share;                 /* [share_count + 1] of the parts, by weight; see segments_share */
  int *next;                  /* scratch of segments_build_some, by segment */
  int share_count;
  int segment_capacity, listed_capacity, part_capacity, left_capacity, cut_capacity, share_capacity, next_capacity;
} Segments;

/* Lists the parts of some segments, given in ascending order, for loops over their items. Valid until the next
 * segments_build. weight: by item, above 0; NULL = all alike. If the same segments are listed already, the parts stay
 * as the weights of then cut them. False if memory is out. */
bool segments_list(Segments *segments, int count, const int *segment, const unsigned char *weight);

/* Divides the listed parts into shares of about the same weight, one for each thread, for loops with as many threads.
 * False if memory is out. */
bool segments_share(Segments *segments, int threads);

/* Calls item for each listed item. Calls chunk, if it is not NULL, for each listed chunk after its items, on one of
 * their threads. grain: items that a thread claims at least. One loop over the same segments runs at a time. */
void segments_for(Segments *segments, int threads, int grain, ParallelBody *item, ParallelBody *chunk, void *context);

/* of[i]: the segment of item i, negative if it has none. False if memory is out. */
bool segments_build(Segments *segments, int count, int item_count, const int *of);
/* The same for the listed items alone, given in ascending order. */
bool segments_build_listed(Segments *segments, int count, int item_count, const int *item, const int *of);
/* The same without chunks, if all items are in some segments, given in ascending order. Only `first` of these and of
 * those after them is set. */
bool segments_build_some(Segments *segments, int count, int some_count, const int *some, int item_count, const int *of);
void segments_destroy(Segments *segments);

#endif
