/* Memory, errors and clocks; parallel loops are in base/parallel.h.
 *
 * Memory: mem_alloc and its variants are malloc with an overflow check and a hook by which tests make the n-th
 * allocation fail. Errors: an AbdError stores the status and the sentence of the first failure. */
#ifndef ABD_BASE_H
#define ABD_BASE_H

#include "abd/abd.h"
#include "base/interrupt.h"
#include "base/parallel.h"

#define ARRAY_COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

/* NULL if count * size overflows or memory is out. count 0 gives a valid pointer. */
void *mem_alloc(size_t count, size_t size);
void *mem_zeroed(size_t count, size_t size);
void *mem_resize(void *old, size_t count, size_t size);
void mem_free(void *p);
char *mem_string(const char *s); /* a copy; of NULL an empty string */
/* Tests: the n-th allocation from now (1 = the next) and all later ones fail; 0 = never. */
void mem_fail_after(long n);

/* Grows *array to a capacity of at least count items. False if memory is out; the array is unchanged then. */
bool mem_reserve(void **array, int *capacity, int count, size_t item_size);

/* Stores the failure if it is the first one. Returns status. */
AbdStatus fault(AbdError *error, AbdStatus status, const char *format, ...) __attribute__((format(printf, 3, 4)));

double clock_now(void); /* [s] monotonic */

#endif
