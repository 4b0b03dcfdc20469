/* Warnings of slow scenes before the first step: bodies that nearly touch, a contact range larger than edges, very
 * unequal masses; each with advice. Tested by tests/cli/trouble.sh. */
#ifndef ABD_TOOL_SLOW_H
#define ABD_TOOL_SLOW_H

#include <abd/abd.h>

/* For a world that has started. Calls say for each sentence; false if memory runs out. */
bool slow_warn(const AbdWorld *world, void (*say)(void *user, const char *sentence), void *user);

#endif
