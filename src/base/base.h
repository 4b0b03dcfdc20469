/* Memory, errors and clocks; parallel loops are in base/parallel.h.
 *
 * Memory: mem_alloc and friends are malloc with an overflow check and a hook by which tests make the n-th allocation
 * fail. Errors: an AbdError holds the first failure's status and sentence. */
#ifndef ABD_BASE_H
#define ABD_BASE_H

#include "abd/abd.h"
#include "base/parallel.h"

#define ARRAY_COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

/* NULL when count * size overflows or memory is out; count 0 gives a valid pointer. */
void *mem_alloc(size_t count, size_t size);
void *mem_zeroed(size_t count, size_t size);
void *mem_resize(void *old, size_t count, size_t size);
void mem_free(void *p);
char *mem_string(const char *s); /* a copy; NULL gives an empty one */
/* Tests: the n-th allocation from now (1 = the next) and all later ones fail; 0 = never. */
void mem_fail_after(long n);

/* Grows *array so that it holds at least count items; false when memory is out (the array is then as before). */
bool mem_reserve(void **array, int *capacity, int count, size_t item_size);

/* Fills the error if it is the first; returns status. */
AbdStatus fault(AbdError *error, AbdStatus status, const char *format, ...) __attribute__((format(printf, 3, 4)));

double clock_now(void); /* [s] monotonic */

#endif
