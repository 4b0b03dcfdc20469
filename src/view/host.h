/* Who may ask: the Host and Origin headers of a request. Tested in tests/test_view.c. */
#ifndef ABD_VIEW_HOST_H
#define ABD_VIEW_HOST_H

#include <stdbool.h>

/* Whether a Host header names this server: localhost or a loopback address; where others may reach it (open), any address
 * written in numbers and this machine's own name. A page elsewhere that lets its own name point here is neither. */
bool host_allowed(const char *host, bool open);
/* Whether an Origin header (NULL: none, as from a tool) is a page that this host served. */
bool origin_allowed(const char *origin, const char *host);
/* Whether an address is of the loopback network. */
bool host_is_loopback(const char *address);

#endif
