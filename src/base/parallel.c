/* The pool of threads and its loops.
 *
 * One 64-bit word stores the state of the current job: its number, whether it is open, the most helpers that may join,
 * how many have joined and how many are inside. A helper joins by compare-and-swap while the job is open. The caller
 * works too, closes the job when no item is left, and waits until the helpers that joined have left. Tested in
 * tests/test_parallel.c. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "base/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"

static const double spin_hard = 3e-5;   /* [s] without yielding the processor */
static const double spin_gently = 3e-4; /* [s] with a yield to other programs each time; then the thread sleeps */

enum { HELPER_BITS = 13, CLAIMS_PER_THREAD = 8, HARD_PAUSES = 1000, ALL_PAUSES = 1100 };
#define HELPERS ((1ull << HELPER_BITS) - 1)
#define JOINED_AT HELPER_BITS
#define LIMIT_AT (2 * HELPER_BITS)
#define OPEN (1ull << (3 * HELPER_BITS))
#define NUMBER_AT (3 * HELPER_BITS + 1)

typedef struct Job {
  ParallelBody *body;
  void *context;
  int count, grain, threads;
} Job;

static struct {
  _Alignas(64) atomic_uint_fast64_t state;
  _Alignas(64) atomic_int next; /* first unclaimed item */
  _Alignas(64) Job job;
  _Alignas(64) atomic_bool busy; /* a loop owns the pool */
  int workers;                   /* started workers; only the owner reads and writes it */
  atomic_int sleepers;
  pthread_mutex_t mutex;
  pthread_cond_t wake;
} pool = {.mutex = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

static _Thread_local int thread_index;

int parallel_thread(void) { return thread_index; }

int parallel_max_threads(void) {
  cpu_set_t set;
  int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)sysconf(_SC_NPROCESSORS_ONLN);
  return count < 1 ? 1 : count > PARALLEL_MAX ? PARALLEL_MAX : count;
}

static uint64_t number_of(uint64_t state) { return state >> NUMBER_AT; }
static uint64_t joined(uint64_t state) { return state >> JOINED_AT & HELPERS; }
static uint64_t limit(uint64_t state) { return state >> LIMIT_AT & HELPERS; }

static void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb" ::: "memory");
#endif
}

void parallel_pause(int times) {
  const struct timespec nap = {0, 20000};
  if (times < HARD_PAUSES) pause_briefly();
  else if (times < ALL_PAUSES) sched_yield();
  else nanosleep(&nap, NULL);
}

/* Claims the next share of the items. */
static bool claim(const Job *job, int *first, int *last) {
  *first = atomic_fetch_add_explicit(&pool.next, job->grain, memory_order_relaxed);
  if (*first >= job->count) return false;
  *last = *first + job->grain < job->count ? *first + job->grain : job->count;
  return true;
}

static void work(void) {
  const Job job = pool.job;
  int first, last;
  while (claim(&job, &first, &last))
    for (int i = first; i < last; i++) job.body(job.context, i);
}

/* Joins the current job unless it is closed or has enough helpers. */
static bool join(uint64_t *seen) {
  uint64_t state = atomic_load_explicit(&pool.state, memory_order_acquire);
  do {
    *seen = number_of(state);
    if (!(state & OPEN) || joined(state) >= limit(state)) return false;
  } while (!atomic_compare_exchange_weak_explicit(&pool.state, &state, state + (1ull << JOINED_AT) + 1,
                                                  memory_order_acquire, memory_order_acquire));
  thread_index = (int)joined(state) + 1;
  return true;
}

/* Each woken thread wakes two more while the job lacks helpers, because waking one takes microseconds. */
static void wake_two(void) {
  pthread_mutex_lock(&pool.mutex);
  pthread_cond_signal(&pool.wake);
  pthread_cond_signal(&pool.wake);
  pthread_mutex_unlock(&pool.mutex);
}

static void sleep_until_another(uint64_t seen) {
  pthread_mutex_lock(&pool.mutex);
  atomic_fetch_add(&pool.sleepers, 1);
  while (number_of(atomic_load(&pool.state)) == seen) pthread_cond_wait(&pool.wake, &pool.mutex);
  int left = atomic_fetch_sub(&pool.sleepers, 1) - 1;
  pthread_mutex_unlock(&pool.mutex);
  uint64_t state = atomic_load(&pool.state);
  if (left && (state & OPEN) && joined(state) + 1 < limit(state)) wake_two();
}

/* Waits for another job than `seen`. */
static void wait_for_another(uint64_t seen) {
  double start = 0;
  for (int spins = 0; number_of(atomic_load_explicit(&pool.state, memory_order_relaxed)) == seen; spins++) {
    pause_briefly();
    if (spins % 64) continue;
    double now = clock_now();
    if (spins == 0) start = now;
    if (now - start > spin_gently) {
      sleep_until_another(seen);
      return;
    }
    if (now - start > spin_hard) sched_yield();
  }
}

static void *run_worker(void *none) {
  uint64_t seen;
  (void)none;
  for (;;) {
    if (join(&seen)) {
      work();
      atomic_fetch_sub_explicit(&pool.state, 1, memory_order_release);
    }
    wait_for_another(seen);
  }
  return NULL;
}

/* A forked process has one thread. */
static void forget_workers(void) {
  pool.workers = 0;
  atomic_store(&pool.state, 0);
  atomic_store(&pool.sleepers, 0);
  atomic_store(&pool.busy, false);
  pthread_mutex_init(&pool.mutex, NULL);
  pthread_cond_init(&pool.wake, NULL);
}

static void watch_forks(void) { pthread_atfork(NULL, NULL, forget_workers); }

/* Starts threads until there are `count` workers or the system refuses. Signals are delivered to the program's
 * threads. */
static void start_workers(int count) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  sigset_t all, before;
  pthread_attr_t detached;
  if (pool.workers >= count) return;
  pthread_once(&once, watch_forks);
  if (pthread_attr_init(&detached) != 0) return;
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  while (pool.workers < count && pthread_create(&thread, &detached, run_worker, NULL) == 0) pool.workers++;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&detached);
}

static void open_job(const Job *job) {
  uint64_t number = number_of(atomic_load_explicit(&pool.state, memory_order_relaxed)) + 1;
  uint64_t helpers = (uint64_t)job->threads - 1;
  pool.job = *job;
  atomic_store_explicit(&pool.next, 0, memory_order_relaxed);
  atomic_store(&pool.state, number << NUMBER_AT | OPEN | helpers << LIMIT_AT);
  int sleepers = atomic_load(&pool.sleepers);
  if (sleepers && pool.workers - sleepers < job->threads - 1) wake_two();
}

static void close_job(void) {
  uint64_t state = atomic_fetch_and(&pool.state, ~OPEN);
  for (int spins = 0; state & HELPERS; spins++) {
    parallel_pause(spins);
    state = atomic_load_explicit(&pool.state, memory_order_acquire);
  }
}

/* The number of threads that a loop can use. */
static int usable_threads(int threads, int count, int grain) {
  int64_t grains = ((int64_t)count + grain - 1) / grain;
  if (threads > PARALLEL_MAX) threads = PARALLEL_MAX;
  return threads < grains ? threads : (int)grains;
}

void parallel_for(int threads, int count, int grain, ParallelBody *body, void *context) {
  if (grain < 1) grain = 1;
  if (threads <= 1 || count <= grain) {
    for (int i = 0; i < count; i++) body(context, i);
    return;
  }
  Job job = {body, context, count, grain, usable_threads(threads, count, grain)};
  int share = count / (CLAIMS_PER_THREAD * job.threads);
  if (share > job.grain) job.grain = share;
  bool idle = false;
  if (job.threads > 1 && atomic_compare_exchange_strong(&pool.busy, &idle, true)) {
    start_workers(job.threads - 1);
    open_job(&job);
    work();
    close_job();
    atomic_store(&pool.busy, false);
    return;
  }
  for (int i = 0; i < count; i++) body(context, i);
}
