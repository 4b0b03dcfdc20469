/* Access control: checks the Host and Origin headers of a request. Tested in tests/test_view.c. */
#ifndef ABD_VIEW_HOST_H
#define ABD_VIEW_HOST_H

#include <stdbool.h>

/* Whether a Host header names this server: localhost or a loopback address; if the server is open to other machines
 * also any numeric address and this machine's own name. A foreign name that resolves to this machine is refused. */
bool host_allowed(const char *host, bool open);
/* Whether an Origin header (NULL: none, as from a tool) names a page of this host. */
bool origin_allowed(const char *origin, const char *host);
/* Whether an address is in the loopback network. */
bool host_is_loopback(const char *address);

#endif
