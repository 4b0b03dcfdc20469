/* Items of many owners in one flat array: each owner has a Range of it, and ranges grow inside parallel loops.
 *
 * An owner appends to its range in place up to the range's capacity. Beyond it the range moves to the spill, a growing
 * array of the thread at work, because the shared array must not move while other threads read it. After the loop,
 * pool_settle moves the spilled ranges into the shared array, in the order of their addresses. If the ranges are
 * members of one array of owners, the contents and the layout do not depend on the number of threads. Between the loop
 * and pool_settle only the thread that wrote a spilled range may read it, and no range may change its address.
 *
 * Room that ranges left behind is wasted until all ranges are packed: pool_pack_begin, pool_pack for each range,
 * pool_pack_end. Tested in tests/test_pool.c. */
#ifndef ABD_CONTACT_POOL_H
#define ABD_CONTACT_POOL_H

#include "base/base.h"

typedef struct Range {
  int first, count, capacity;
  int spill; /* 0 = in the shared array; else 1 + the thread whose spill contains it */
} Range;

typedef struct Spill {
  char *item;
  int count, capacity;
  Range **owner; /* the ranges that were moved here */
  int owner_count, owner_capacity;
  int wasted;     /* items of the shared array that ranges of this spill left behind */
  char apart[24]; /* keeps two threads' spills on different cache lines */
} Spill;

typedef struct Pool {
  size_t item_size;
  char *item;
  int count, capacity;
  int wasted;   /* items of the count that belong to no range */
  bool spilled; /* there are spilled ranges */
  Spill *spill; /* by thread */
  int thread_count;
} Pool;

/* threads: the most that a loop uses at a time. False if memory runs out. */
bool pool_init(Pool *pool, size_t item_size, int threads);
void pool_destroy(Pool *pool); /* accepts a zeroed one */

static inline void *pool_items(const Pool *pool, const Range *range) {
  const char *base = range->spill ? pool->spill[range->spill - 1].item : pool->item;
  return (void *)(base + (size_t)range->first * pool->item_size);
}
/* Appends room for `count` items to the range. Returns the first of them, NULL if memory runs out. Pointers to the
 * range's items become invalid. */
void *pool_extend(Pool *pool, Range *range, int count);
/* Scratch for `count` items of the calling thread, valid until its next call with this pool. NULL if memory is
 * out. */
void *pool_scratch(Pool *pool, int count);
/* Releases the range's room. */
void pool_release(Pool *pool, Range *range);

/* Moves all spilled ranges into the shared array, with room to grow, and empties the spills. False if memory runs out;
 * the ranges stay valid. */
bool pool_settle(Pool *pool);

/* Is more than half of the shared array wasted? */
bool pool_sparse(const Pool *pool);
/* Packs all ranges, none of them spilled, into a new array. False if memory runs out; nothing is changed then. */
bool pool_pack_begin(Pool *pool, Pool *packed);
void pool_pack(const Pool *pool, Pool *packed, Range *range);
void pool_pack_end(Pool *pool, Pool *packed);

#endif
