/* The viewer over HTTP: the page, and the data of one run (or of a scene that is simulated here and now).
 *
 * One thread of libmicrohttpd answers everything. Nothing but the page and the one run can be reached: paths are compared
 * with a short list, never with the file system. Names other than those of this machine in the Host header are refused,
 * so that a foreign page cannot reach the server by pointing its own name here; so are requests that came from another
 * page (Origin). Connections are limited in number, in size, and in how long they may take to ask.
 * Tested in tests/view/server.sh. */
#ifndef ABD_VIEW_SERVER_H
#define ABD_VIEW_SERVER_H

#include "view/data.h"

/* What can be told to a live simulation; NULL members for a run that is only read. */
typedef struct ViewControl {
  void *user;
  /* A JSON object such as {"do": "pause"}; false with a sentence in error for what it does not understand. Called by
   * the server's thread. */
  bool (*command)(void *user, const char *text, size_t length, char *error, size_t error_size);
  /* Members added to /api/status, as text without the braces: "\"paused\": true". */
  void (*status)(void *user, char *text, size_t size);
} ViewControl;

typedef struct ViewServerDef {
  const char *address; /* to listen at: 127.0.0.1 unless others shall see it */
  int port;            /* 0 = any that is free */
  ViewControl control;
} ViewServerDef;

typedef struct ViewServer ViewServer;

/* Whether this build can serve. */
bool view_server_present(void);
/* Takes the data over; NULL with a sentence in error on failure (the data is then still the caller's). */
ViewServer *view_server_start(const ViewServerDef *def, ViewData *data, char *error, size_t error_size);
int view_server_port(const ViewServer *server);
/* Ends connections that take too long; call a few times a second. */
void view_server_watch(ViewServer *server);
void view_server_stop(ViewServer *server); /* NULL is fine */

#endif
