/* A scene that is simulated while one looks: a thread of its own steps the world and records every step into the
 * session's run file, which the viewer follows; commands come from the viewer. Tested in tests/view. */
#ifndef ABD_TOOL_LIVE_H
#define ABD_TOOL_LIVE_H

#include "session.h"
#include "view/server.h"

typedef struct Live Live;

/* Takes the session over for stepping until live_stop; NULL when out of memory. */
Live *live_start(Session *session, bool paused);
ViewControl live_control(Live *live);
void live_stop(Live *live); /* NULL is fine */

#endif
