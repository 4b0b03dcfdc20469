/* Diagnosis of a run that stops, does not converge or crawls: event, place, reason, a mesh of the place, and commands
 * that show it. */
#ifndef ABD_TOOL_TROUBLE_H
#define ABD_TOOL_TROUBLE_H

#include "session.h"

/* Name of a body for messages, "?" if it has none. */
const char *trouble_body_name(const AbdWorld *world, AbdBodyId body);

/* The world's surfaces cross at its start: names the pairs, writes a mesh of the first place and a run of the start. */
void trouble_at_start(Session *session);
/* A step that did not converge, or in which kinematic bodies were blocked. The first one of a process with its
 * place. */
/* Prints the joints that broke in a step. */
void trouble_broken_joints(Session *session, const AbdStepReport *report);
void trouble_in_step(Session *session, const AbdStepReport *report);
/* Call it after each good step: warns of the first stiff body that is visibly strained. */
void trouble_if_strained(Session *session, const AbdStepReport *report);
/* Call it after each good step: reports when many in a row take very many iterations. */
void trouble_if_crawling(Session *session, const AbdStepReport *report);
/* A step that failed, by this body if it is not null: where and how the world was before it. */
void trouble_failed_step(Session *session, AbdBodyId body);

#endif
