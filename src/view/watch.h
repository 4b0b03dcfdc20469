/* Time limits of connections: libmicrohttpd closes idle ones, this closes those that send or receive too slowly. A
 * socket is used only while it is open. Internal to src/view. */
#ifndef ABD_VIEW_WATCH_H
#define ABD_VIEW_WATCH_H

#include <pthread.h>

enum { WATCH_MOST = 128, WATCH_ASK_SECONDS = 5, WATCH_ANSWER_SECONDS = 120 };

typedef struct WatchSlot {
  int socket;   /* -1: free */
  double since; /* start of the request, or of the answer */
  int answering;
} WatchSlot;

typedef struct Watch {
  pthread_mutex_t lock;
  WatchSlot slot[WATCH_MOST];
} Watch;

void watch_init(Watch *watch);
void watch_destroy(Watch *watch);
WatchSlot *watch_add(Watch *watch, int socket); /* NULL if all are used */
void watch_remove(Watch *watch, WatchSlot *slot);
/* The head of a request is complete (answering) or its answer is sent: restarts the clock. */
void watch_turn(Watch *watch, WatchSlot *slot, int answering);
void watch_end_slow(Watch *watch);

#endif
