/* Parts that fit tighter than the contact range: contact squeezes them from opposite sides although nothing presses
 * them, and friction holds them. Tested by tests/cli/trouble.sh. */
#ifndef ABD_TOOL_FIT_H
#define ABD_TOOL_FIT_H

#include <abd/abd.h>

enum { FIT_TEXT = 640 };

/* The pair that is squeezed most after the first step, if by more than the weight of its lighter body, as a sentence.
 * Returns the number of such pairs. */
size_t fit_text(const AbdWorld *world, char text[FIT_TEXT]);

#endif
