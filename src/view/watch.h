/* Connections and how long they have taken: libmicrohttpd ends those that say nothing, this ends those that speak too
 * slowly. A socket is only ever touched while it is known to be open. Internal to src/view. */
#ifndef ABD_VIEW_WATCH_H
#define ABD_VIEW_WATCH_H

#include <pthread.h>

enum { WATCH_MOST = 128, WATCH_ASK_SECONDS = 5, WATCH_ANSWER_SECONDS = 120 };

typedef struct WatchSlot {
  int socket;   /* -1: free */
  double since; /* when it began to ask, or to be answered */
  int answering;
} WatchSlot;

typedef struct Watch {
  pthread_mutex_t lock;
  WatchSlot slot[WATCH_MOST];
} Watch;

void watch_init(Watch *watch);
void watch_destroy(Watch *watch);
WatchSlot *watch_add(Watch *watch, int socket); /* NULL when all are taken */
void watch_remove(Watch *watch, WatchSlot *slot);
/* The head of a request has come (answering) or its answer is sent: the clock begins anew. */
void watch_turn(Watch *watch, WatchSlot *slot, int answering);
void watch_end_slow(Watch *watch);

#endif
