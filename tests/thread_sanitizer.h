/* Whether this build has ThreadSanitizer. */
#ifndef TESTS_THREAD_SANITIZER_H
#define TESTS_THREAD_SANITIZER_H

#if defined(__has_feature)
#define THREAD_SANITIZER __has_feature(thread_sanitizer)
#elif defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZER 1
#else
#define THREAD_SANITIZER 0
#endif

#endif
