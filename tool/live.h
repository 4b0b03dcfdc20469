/* A live simulation: a separate thread steps the world and records every step in the session's run file, which the
 * viewer follows; the viewer sends commands. Tested in tests/view. */
#ifndef ABD_TOOL_LIVE_H
#define ABD_TOOL_LIVE_H

#include <abd/export.h>

#include "session.h"

typedef struct Live Live;

/* Uses the session exclusively until live_stop; NULL if memory runs out. */
Live *live_start(Session *session, bool paused);
AbdViewerControl live_control(Live *live);
void live_stop(Live *live); /* NULL is allowed */

#endif
