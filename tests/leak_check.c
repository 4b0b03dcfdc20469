/* Decides at the end of a test under AddressSanitizer whether LeakSanitizer must look. A scan of LeakSanitizer takes 3
 * to 6 seconds on 64-bit ARM, however small the program. Every leak raises the allocated bytes from the start to the
 * end, so equal bytes need no scan. glibc keeps the stacks of ended threads with a block for their thread-local
 * variables; whole blocks are not taken for leaks. ASAN_OPTIONS=leak_check_at_exit=0 leaves the decision to this
 * file. */
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

size_t __sanitizer_get_current_allocated_bytes(void);
void __lsan_do_leak_check(void);

static char out_buffer[BUFSIZ]; /* stdio would allocate it */
static size_t at_start, thread_block;

static void *nothing(void *user) { return user; }

__attribute__((constructor)) static void leak_check_start(void) {
  pthread_t thread;
  setvbuf(stdout, out_buffer, _IOFBF, sizeof out_buffer);
  tzset();
  size_t before = __sanitizer_get_current_allocated_bytes();
  if (pthread_create(&thread, NULL, nothing, NULL) == 0) pthread_join(thread, NULL);
  at_start = __sanitizer_get_current_allocated_bytes();
  thread_block = at_start - before;
}

__attribute__((destructor)) static void leak_check_end(void) {
  size_t now = __sanitizer_get_current_allocated_bytes(), more = now - at_start;
  if (now == at_start || (thread_block && now > at_start && more % thread_block == 0)) return;
  __lsan_do_leak_check();
}
