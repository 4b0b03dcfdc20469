/* See watch.h. */
#define _GNU_SOURCE
#include "view/watch.h"

#include <sys/socket.h>
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void watch_init(Watch *watch) {
  pthread_mutex_init(&watch->lock, NULL);
  for (int k = 0; k < WATCH_MOST; k++) watch->slot[k].socket = -1;
}

void watch_destroy(Watch *watch) { pthread_mutex_destroy(&watch->lock); }

WatchSlot *watch_add(Watch *watch, int socket) {
  WatchSlot *free_slot = NULL;
  pthread_mutex_lock(&watch->lock);
  for (int k = 0; k < WATCH_MOST && !free_slot; k++)
    if (watch->slot[k].socket < 0) free_slot = &watch->slot[k];
  if (free_slot) *free_slot = (WatchSlot){socket, now(), 0};
  pthread_mutex_unlock(&watch->lock);
  return free_slot;
}

void watch_remove(Watch *watch, WatchSlot *slot) {
  if (!slot) return;
  pthread_mutex_lock(&watch->lock);
  slot->socket = -1;
  pthread_mutex_unlock(&watch->lock);
}

void watch_turn(Watch *watch, WatchSlot *slot, int answering) {
  if (!slot) return;
  pthread_mutex_lock(&watch->lock);
  slot->since = now(), slot->answering = answering;
  pthread_mutex_unlock(&watch->lock);
}

void watch_end_slow(Watch *watch) {
  pthread_mutex_lock(&watch->lock);
  for (int k = 0; k < WATCH_MOST; k++) {
    const WatchSlot *slot = &watch->slot[k];
    double limit = slot->answering ? WATCH_ANSWER_SECONDS : WATCH_ASK_SECONDS;
    if (slot->socket >= 0 && now() - slot->since > limit) shutdown(slot->socket, SHUT_RDWR);
  }
  pthread_mutex_unlock(&watch->lock);
}
