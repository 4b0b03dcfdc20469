/* See stop.h. */
#define _GNU_SOURCE
#include "stop.h"

#include "args.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct Stop {
  sem_t signalled;
  pthread_mutex_t lock;
  volatile sig_atomic_t cause;
  AbdWorld *world;
  double limit;
  int (*late)(void *user);
  void *user;
  char words[96];
} stop = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void on_signal(int number) {
  int error = errno;
  (void)number;
  stop.cause = STOP_SIGNAL;
  sem_post(&stop.signalled);
  errno = error;
}

static struct timespec after(double seconds) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  double whole = floor(seconds);
  t.tv_sec += (time_t)whole;
  t.tv_nsec += (long)(1e9 * (seconds - whole));
  if (t.tv_nsec >= 1000000000L) t.tv_sec++, t.tv_nsec -= 1000000000L;
  return t;
}

static bool wait_for_signal(double limit) {
  struct timespec end = after(limit);
  int result;
  do result = limit > 0 ? sem_clockwait(&stop.signalled, CLOCK_MONOTONIC, &end) : sem_wait(&stop.signalled);
  while (result != 0 && errno == EINTR);
  return result == 0;
}

static void *guard(void *unused) {
  (void)unused;
  if (!wait_for_signal(stop.limit)) stop.cause = STOP_TIME;
  pthread_mutex_lock(&stop.lock);
  if (stop.world) abd_world_interrupt(stop.world);
  pthread_mutex_unlock(&stop.lock);
  struct timespec end = after(STOP_GRACE);
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR) {}
  _exit(stop.late(stop.user));
}

StopCause stop_cause(void) { return (StopCause)stop.cause; }

/* Another rank of a job may reach the time limit before this one does. */
const char *stop_words(void) {
  if (stop.cause == STOP_SIGNAL || !(stop.limit > 0)) return "Interrupted";
  snprintf(stop.words, sizeof stop.words, "The time limit of %g s is reached", stop.limit);
  return stop.words;
}

void stop_watch(AbdWorld *world) {
  pthread_mutex_lock(&stop.lock);
  stop.world = world;
  if (world && stop.cause) abd_world_interrupt(world);
  pthread_mutex_unlock(&stop.lock);
}

/* All signals are delivered to other threads. */
static bool start_guard(void) {
  sigset_t all, before;
  pthread_t thread;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool started = pthread_create(&thread, NULL, guard, NULL) == 0 && pthread_detach(thread) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return started;
}

void stop_catch(double limit, int (*late)(void *user), void *user) {
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESETHAND};
  stop.limit = limit, stop.late = late, stop.user = user;
  sem_init(&stop.signalled, 0, 0);
  if (!start_guard()) return; /* signals then end the process at once */
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
}
