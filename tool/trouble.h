/* When a run stops, does not converge or crawls: what happened, where, why, a mesh of the place and how to look at it. */
#ifndef ABD_TOOL_TROUBLE_H
#define ABD_TOOL_TROUBLE_H

#include "session.h"

/* Name of a body for messages, "?" where there is none. */
const char *trouble_body_name(const AbdWorld *world, AbdBodyId body);

/* The world's surfaces cross at its start: names the pairs, writes the mesh of the first place and a run to look at it in. */
void trouble_at_start(Session *session);
/* A step that did not converge, or whose kinematic bodies were held back. The first of a process with its place. */
void trouble_in_step(Session *session, const AbdStepReport *report);
/* After each good step: says so when many in a row take very many iterations. */
void trouble_if_crawling(Session *session, const AbdStepReport *report);
/* A step that failed, by this body if it is not null: where and how the world was before it. kept: whether the session has the
 * states before. */
void trouble_failed_step(Session *session, bool kept, AbdBodyId body);

#endif
