/* How a command ends early: SIGINT, SIGTERM, a time limit.
 *
 * A thread waits for them. It interrupts the step of the watched world, and the command ends by itself: with the run
 * complete up to the last step. If the command has not ended STOP_GRACE later, because it loads a large scene or
 * orders a large matrix, the thread ends the process. A run file has a state to resume from at any time, so nothing is
 * lost but steps since the last checkpoint. Tested by tests/cli/stop.sh. */
#ifndef ABD_TOOL_STOP_H
#define ABD_TOOL_STOP_H

#include <abd/abd.h>

#define STOP_GRACE 0.6 /* [s] */

typedef enum StopCause { STOP_NONE = 0, STOP_SIGNAL, STOP_TIME } StopCause;

/* Catches the signals; a second one ends the process at once. limit: [s] from now, 0 = none. late: called before the
 * thread ends the process, to print and to remove files; returns the exit code. It may use no data that other threads
 * change. */
void stop_catch(double limit, int (*late)(void *user), void *user);
StopCause stop_cause(void);
/* "Interrupted", "The time limit of 60 s is reached" */
const char *stop_words(void);
/* The world whose steps are interrupted; NULL = none. Call it before the world is destroyed. */
void stop_watch(AbdWorld *world);

#endif
