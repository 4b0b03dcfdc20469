/* The pool of threads and its loops.
 *
 * The caller of a loop is thread 0, the pool's threads are 1, 2, ... Each thread has a share of the items, a range in
 * their order, and claims from the shares of others when its own is empty. So most items of successive loops over the
 * same array run on the same core, whose cache has their data.
 *
 * `state` stores the number of the current job, whether it is open, and its most helpers. Each helper has a seat with
 * the number of a job. A helper joins by a compare-and-swap of its own seat and leaves by a store to it. The caller
 * closes the seats of helpers that have not joined and waits for the others.
 *
 * A cache line that another core wrote takes a tenth of a microsecond or more to read, so few lines change hands in a
 * loop. The job has the line of its state. A thread's claims have the line of its seat and store the number of their
 * job, so that the first claim of a job resets them and the caller writes no share. No counter is common to all
 * threads. Tested in tests/test_parallel.c. */
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

static const double spin_hard = 3e-5; /* [s] without yielding the processor */
static atomic_int spin_gently = 300;  /* [us] with a yield to other programs each time; then the thread sleeps */

enum { CLAIM_PART = 8, HARD_PAUSES = 1000, ALL_PAUSES = 1100 };
enum { OPEN = 1, LIMIT_AT = 1, NUMBER_AT = 16, LIMIT_MASK = (1 << (NUMBER_AT - LIMIT_AT)) - 1 };
enum { TAG_AT = 32 };
static const uint64_t no_item = 0xffffffffu; /* in claims: the whole share is claimed */

enum { LINES = 128 }; /* [bytes] two cache lines: a processor may fetch the neighbour of a line with it */

typedef struct Job {
  ParallelBody *body;
  void *context;
  int count, grain, threads;
  bool at_once;     /* a claim takes a whole share, and that is short */
  const int *bound; /* of the shares; NULL = equal ones */
  uint64_t tag;     /* of its claims: the low half of its number, never 0, in front of an item */
} Job;

/* value: 4 times the number of a job, plus what the helper does in it. */
enum { SEAT_CLOSED = 0, SEAT_IN = 1, SEAT_OUT = 2 };
typedef struct Seat {
  _Alignas(LINES) atomic_uint_fast64_t value;
  atomic_uint_fast64_t claims; /* tag of a job, plus the first item of the share that is not claimed in it */
} Seat;

static struct {
  _Alignas(LINES) atomic_uint_fast64_t state;
  Job job;
  _Alignas(LINES) atomic_bool busy; /* a loop owns the pool */
  int workers;                      /* started workers; only the owner reads and writes it */
  atomic_int sleepers;
  pthread_mutex_t mutex;
  pthread_cond_t wake;
  Seat seat[PARALLEL_MAX];
} pool = {.mutex = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

static _Thread_local int thread_index;

int parallel_thread(void) { return thread_index; }

void parallel_spin(int microseconds) { atomic_store(&spin_gently, microseconds); }

int parallel_max_threads(void) {
  cpu_set_t set;
  int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)sysconf(_SC_NPROCESSORS_ONLN);
  return count < 1 ? 1 : count > PARALLEL_MAX ? PARALLEL_MAX : count;
}

static uint64_t number_of(uint64_t state) { return state >> NUMBER_AT; }
static int limit(uint64_t state) { return (int)(state >> LIMIT_AT & LIMIT_MASK); }
static uint64_t seat_at(uint64_t number, int action) { return 4 * number + (uint64_t)action; }

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

static int share_bound(const Job *job, int t) {
  return job->bound ? job->bound[t] : (int)((int64_t)job->count * t / job->threads);
}

/* Claims items of share t: a part of those that are left, so that the last claims are short and threads end at the same
 * time. A tag of another job means that nothing is claimed yet. */
static bool claim(const Job *job, int t, int *first, int *last) {
  atomic_uint_fast64_t *claims = &pool.seat[t].claims;
  uint64_t before = atomic_load_explicit(claims, memory_order_relaxed), after;
  do {
    if (before == (job->tag | no_item)) return false;
    int end = share_bound(job, t + 1);
    *first = before >> TAG_AT == job->tag >> TAG_AT ? (int)(before & no_item) : share_bound(job, t);
    if (*first >= end) return false;
    int part = (end - *first) / CLAIM_PART, count = part > job->grain ? part : job->grain;
    *last = count < end - *first ? *first + count : end;
    after = job->tag | (*last < end ? (uint64_t)*last : no_item);
  } while (!atomic_compare_exchange_weak_explicit(claims, &before, after, memory_order_relaxed, memory_order_relaxed));
  return true;
}

static void work_share(const Job *job, int t) {
  int first, last;
  while (claim(job, t, &first, &last))
    for (int i = first; i < last; i++) job->body(job->context, i);
}

/* First the thread's own share, then those of the threads after it. A share that is claimed at once is unclaimed only
 * if its thread is late: the caller takes it, and the others do not read each other's claims. */
static void work(void) {
  const Job job = pool.job;
  work_share(&job, thread_index);
  if (job.at_once && thread_index > 0) return;
  for (int t = thread_index + 1; t < job.threads; t++) work_share(&job, t);
  for (int t = 0; t < thread_index; t++) work_share(&job, t);
}

/* Joins the current job unless it is closed or needs fewer helpers. */
static bool join(uint64_t *seen) {
  atomic_uint_fast64_t *seat = &pool.seat[thread_index].value;
  uint64_t state = atomic_load_explicit(&pool.state, memory_order_acquire), number = number_of(state);
  uint64_t before = atomic_load_explicit(seat, memory_order_relaxed);
  *seen = number;
  if (!(state & OPEN) || thread_index > limit(state) || before >= seat_at(number, SEAT_CLOSED)) return false;
  return atomic_compare_exchange_strong_explicit(seat, &before, seat_at(number, SEAT_IN), memory_order_acquire,
                                                 memory_order_relaxed);
}

static void leave(uint64_t number) {
  atomic_store_explicit(&pool.seat[thread_index].value, seat_at(number, SEAT_OUT), memory_order_release);
}

/* Each woken thread wakes two more while the job is open, because waking one takes microseconds. */
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
  if (left && (atomic_load(&pool.state) & OPEN)) wake_two();
}

/* Waits for another job than `seen`. */
static void wait_for_another(uint64_t seen) {
  double start = 0;
  for (int spins = 0; number_of(atomic_load_explicit(&pool.state, memory_order_relaxed)) == seen; spins++) {
    pause_briefly();
    if (spins % 64) continue;
    double now = clock_now();
    if (spins == 0) start = now;
    if (now - start > 1e-6 * atomic_load_explicit(&spin_gently, memory_order_relaxed)) {
      sleep_until_another(seen);
      return;
    }
    if (now - start > spin_hard) sched_yield();
  }
}

static void *run_worker(void *index) {
  uint64_t seen;
  thread_index = (int)(intptr_t)index;
  for (;;) {
    if (join(&seen)) {
      work();
      leave(seen);
    }
    wait_for_another(seen);
  }
  return NULL;
}

static void forget_claims(void) {
  for (int t = 0; t < PARALLEL_MAX; t++) atomic_store_explicit(&pool.seat[t].claims, 0, memory_order_relaxed);
}

/* A forked process has one thread. */
static void forget_workers(void) {
  pool.workers = 0;
  atomic_store(&pool.state, 0);
  atomic_store(&pool.sleepers, 0);
  atomic_store(&pool.busy, false);
  for (int t = 0; t < PARALLEL_MAX; t++) atomic_store(&pool.seat[t].value, 0);
  forget_claims();
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
  while (pool.workers < count &&
         pthread_create(&thread, &detached, run_worker, (void *)(intptr_t)(pool.workers + 1)) == 0)
    pool.workers++;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&detached);
}

static void open_job(const Job *job) {
  uint64_t number = number_of(atomic_load_explicit(&pool.state, memory_order_relaxed)) + 1;
  if ((number & no_item) == 0) forget_claims(), number++; /* tags start over */
  uint64_t helpers = (uint64_t)job->threads - 1;
  pool.job = *job;
  pool.job.tag = number << TAG_AT;
  atomic_store(&pool.state, number << NUMBER_AT | helpers << LIMIT_AT | OPEN);
  if (atomic_load(&pool.sleepers)) wake_two(); /* those awake may have no seat in this job */
}

/* Closes the seat of a helper that has not joined, or waits until it has left. */
static void close_seat(Seat *seat, uint64_t number) {
  uint64_t value = atomic_load_explicit(&seat->value, memory_order_acquire);
  for (int spins = 0; value != seat_at(number, SEAT_OUT); spins++) {
    if (value == seat_at(number, SEAT_IN)) parallel_pause(spins);
    else if (atomic_compare_exchange_strong(&seat->value, &value, seat_at(number, SEAT_CLOSED))) return;
    value = atomic_load_explicit(&seat->value, memory_order_acquire);
  }
}

static void close_job(int threads) {
  uint64_t state = atomic_load_explicit(&pool.state, memory_order_relaxed);
  atomic_store_explicit(&pool.state, state & ~(uint64_t)OPEN, memory_order_relaxed);
  for (int t = 1; t < threads; t++) close_seat(&pool.seat[t], number_of(state));
}

/* The number of threads that a loop can use. */
static int usable_threads(int threads, int count, int grain) {
  int64_t grains = ((int64_t)count + grain - 1) / grain;
  if (threads > PARALLEL_MAX) threads = PARALLEL_MAX;
  return threads < grains ? threads : (int)grains;
}

static void run_job(Job job) {
  if (job.count > (int64_t)job.grain * job.threads) job.at_once = false;
  bool idle = false;
  if (job.threads > 1 && atomic_compare_exchange_strong(&pool.busy, &idle, true)) {
    start_workers(job.threads - 1);
    open_job(&job);
    work();
    close_job(job.threads);
    atomic_store(&pool.busy, false);
    return;
  }
  for (int i = 0; i < job.count; i++) job.body(job.context, i);
}

static void run_equal(int threads, int count, int grain, bool at_once, ParallelBody *body, void *context) {
  if (grain < 1) grain = 1;
  if (threads <= 1 || count <= grain) {
    for (int i = 0; i < count; i++) body(context, i);
    return;
  }
  threads = usable_threads(threads, count, grain);
  run_job((Job){body, context, count, grain, threads, .at_once = at_once});
}

void parallel_for(int threads, int count, int grain, ParallelBody *body, void *context) {
  run_equal(threads, count, grain, true, body, context);
}

void parallel_shares(int threads, const int *bound, int grain, ParallelBody *body, void *context) {
  if (grain < 1) grain = 1;
  if (threads > 1 && usable_threads(threads, bound[threads], grain) == threads)
    run_job((Job){body, context, bound[threads], grain, threads, .bound = bound});
  else parallel_for(threads, bound[threads], grain, body, context);
}

typedef struct Separate {
  ParallelBody *body;
  void *context;
} Separate;

static void run_separate(void *context, int item) {
  const Separate *separate = context;
  int index = thread_index;
  thread_index = 0;
  separate->body(separate->context, item);
  thread_index = index;
}

void parallel_separate(int threads, int count, ParallelBody *body, void *context) {
  Separate separate = {body, context};
  run_equal(threads, count, 1, false, run_separate, &separate);
}
