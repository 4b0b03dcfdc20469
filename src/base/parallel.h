/* Parallel loops, sums, scans and sorts on one pool of threads. Results do not depend on the number of threads.
 *
 * The pool's threads spin for a fraction of a millisecond after a loop, so that the next loop of a step starts within a
 * microsecond. Then they sleep. A loop never waits for a thread that has not joined it: on a busy machine the caller
 * does the work alone. One loop uses the pool at a time. A loop started inside a loop, or by another thread of the
 * program at the same time, runs on its caller alone. No function here allocates memory. Tested in
 * tests/test_parallel.c. */
#ifndef ABD_BASE_PARALLEL_H
#define ABD_BASE_PARALLEL_H

#include <stdint.h>

enum { PARALLEL_MAX = 1024 }; /* most threads of a loop */

int parallel_max_threads(void); /* processors that this process may use */
/* How long the pool's threads spin before they sleep, 300 at the start. A caller that waits for another machine between
 * its loops wants them awake longer. */
void parallel_spin(int microseconds);
/* Index of the calling thread inside a loop, below the loop's number of threads; 0 outside. A loop inside a loop keeps
 * the index. */
int parallel_thread(void);

/* Calls the body for items 0 to count - 1, in any order. Threads claim at least grain items at once, or an eighth of
 * what is left of a share if that is more. A grain should take about 5 us; a loop of one grain runs on the caller.
 * Each item writes only its own data. */
typedef void ParallelBody(void *context, int item);
void parallel_for(int threads, int count, int grain, ParallelBody *body, void *context);

/* The same with given shares: thread t first takes items bound[t] to bound[t + 1] - 1. For items of unequal cost in
 * several loops: most items stay with their thread, whose cache has their data. bound[threads] is the number of
 * items. */
void parallel_shares(int threads, const int *bound, int grain, ParallelBody *body, void *context);

/* The same for items that each run loops of their own, as steps of several worlds do: parallel_thread() is 0 in a body,
 * as outside of loops. The loops inside run on the body's thread. */
void parallel_separate(int threads, int count, ParallelBody *body, void *context);

/* Two loops in one. Each thread gets the same part of both arrays as it gets in loops over one of them. grain: items of
 * both together. The bodies of an item of the one and an item of the other may run at the same time. */
void parallel_both(int threads, int count_a, int count_b, int grain, ParallelBody *a, ParallelBody *b, void *context);

/* The same by ranges: chunk i is the items first = i * chunk to last - 1. The bounds depend only on count and chunk. */
typedef void ParallelChunk(void *context, int first, int last, int index);
void parallel_chunks(int threads, int count, int chunk, ParallelChunk *body, void *context);
int parallel_chunk_count(int count, int chunk);

/* Sum of the body's results over chunks, added in the order of chunks. A chunk has `chunk` items, or more if there
 * would be more than 1024 chunks. */
typedef double ParallelTerm(void *context, int first, int last);
double parallel_sum(int threads, int count, int chunk, ParallelTerm *body, void *context);

/* For a body that waits for another thread of its loop. Called with 0, 1, 2, ... it spins, then yields the processor,
 * then sleeps for some microseconds, as the other thread may have no processor. */
void parallel_pause(int times);

/* Replaces each value by the sum of the values before it. Returns the total. */
int64_t parallel_scan(int threads, int count, int *value);

/* Sorts ascending. scratch: count keys. */
void parallel_sort(int threads, int count, uint64_t *key, uint64_t *scratch);

#endif
