/* The viewer over HTTP: the page, and the data of one run or of a live simulation.
 *
 * One thread of libmicrohttpd answers all requests. Only the page and the one run can be reached: paths are compared
 * with a short list, never with the file system. A Host header with a name that is not this machine's is refused, so
 * that a foreign page cannot reach the server under its own name. Requests of other pages (Origin) are refused too.
 * Connections are limited in number, size and duration. Tested in tests/view/server.sh. */
#ifndef ABD_VIEW_SERVER_H
#define ABD_VIEW_SERVER_H

#include <abd/export.h>

#include "view/data.h"

/* Control of a live simulation; members are NULL for a run that is only read. */
typedef AbdViewerControl ViewControl;

typedef struct ViewServerDef {
  const char *address; /* to listen at: 127.0.0.1, or one that other machines can reach */
  int port;            /* 0 = any free port */
  ViewControl control;
} ViewServerDef;

typedef struct ViewServer ViewServer;

/* Whether this build can serve. */
bool view_server_present(void);
/* Takes ownership of the data; NULL with a sentence in error on failure (the caller then still owns the data). */
ViewServer *view_server_start(const ViewServerDef *def, ViewData *data, char *error, size_t error_size);
int view_server_port(const ViewServer *server);
/* Closes connections that take too long; call it a few times a second. */
void view_server_watch(ViewServer *server);
void view_server_stop(ViewServer *server); /* NULL is allowed */

#endif
