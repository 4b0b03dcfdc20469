#define _GNU_SOURCE /* madvise */
#include "base/base.h"

#include <locale.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __linux__
#include <sys/mman.h>
#include <unistd.h>
#endif

static atomic_long fail_countdown;

void mem_fail_after(long n) { atomic_store(&fail_countdown, n); }

static bool allocation_fails(void) {
  long left = atomic_load(&fail_countdown);
  if (left == 0) return false;
  if (left == 1) return true;
  atomic_fetch_sub(&fail_countdown, 1);
  return false;
}

void *mem_alloc(size_t count, size_t size) { return mem_resize(NULL, count, size); }

/* From so many bytes on, pages of zeroed memory are given back instead of written. */
enum { ZERO_BY_PAGES = 1 << 20 };

/* calloc writes to memory that was freed before, and so touches all pages of an array of which a process may use
 * little. */
static bool zero_pages(char *p, size_t bytes) {
#ifdef __linux__
  size_t page = (size_t)sysconf(_SC_PAGESIZE), before = (page - (uintptr_t)p % page) % page;
  size_t whole = (bytes - before) / page * page, after = bytes - before - whole;
  if (madvise(p + before, whole, MADV_DONTNEED) != 0) return false;
  memset(p, 0, before);
  memset(p + before + whole, 0, after);
  return true;
#else
  return (void)p, (void)bytes, false;
#endif
}

void *mem_zeroed(size_t count, size_t size) {
  size_t bytes;
  if (allocation_fails() || __builtin_mul_overflow(count, size, &bytes)) return NULL;
  if (bytes < ZERO_BY_PAGES) return calloc(count ? count : 1, size ? size : 1);
  void *p = malloc(bytes);
  if (p && !zero_pages(p, bytes)) memset(p, 0, bytes);
  return p;
}

void *mem_resize(void *old, size_t count, size_t size) {
  size_t bytes;
  if (allocation_fails() || __builtin_mul_overflow(count, size, &bytes)) return NULL;
  return realloc(old, bytes ? bytes : 1);
}

void mem_free(void *p) { free(p); }

char *mem_string(const char *s) {
  size_t n = s ? strlen(s) : 0;
  char *copy = mem_alloc(n + 1, 1);
  if (copy) {
    if (n) memcpy(copy, s, n);
    copy[n] = 0;
  }
  return copy;
}

bool mem_reserve(void **array, int *capacity, int count, size_t item_size) {
  if (count <= *capacity) return true;
  int wanted = *capacity > 0x3fffffff ? count : *capacity * 2;
  if (wanted < count) wanted = count;
  if (wanted < 8) wanted = 8;
  void *grown = mem_resize(*array, (size_t)wanted, item_size);
  if (!grown) return false;
  *array = grown;
  *capacity = wanted;
  return true;
}

/* Numbers have a point, also if the program has chosen a locale with a comma. */
static void print_plainly(char *text, size_t size, const char *format, va_list args) {
  locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0), before = plain ? uselocale(plain) : (locale_t)0;
  vsnprintf(text, size, format, args);
  if (!plain) return; /* memory is out, and the locale stayed */
  uselocale(before);
  freelocale(plain);
}

AbdStatus fault(AbdError *error, AbdStatus status, const char *format, ...) {
  if (error && error->status == ABD_OK) {
    error->status = status;
    va_list args;
    va_start(args, format);
    print_plainly(error->text, sizeof error->text, format, args);
    va_end(args);
  }
  return status;
}

bool interrupt_due(Interrupt *interrupt) {
  int value = __atomic_load_n(&interrupt->value, __ATOMIC_RELAXED);
  while (value > 1 && !__atomic_compare_exchange_n(&interrupt->value, &value, value - 1, false, __ATOMIC_RELAXED,
                                                   __ATOMIC_RELAXED)) {}
  return value == 1;
}

double clock_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
