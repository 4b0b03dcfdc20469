/* The comparison's scenes. Each engine runs each scene in a separate process, so that one that crashes or does not end
 * costs its own row only. Tested by tests/cli/peers.sh. */
#ifndef ABD_PEERS_SUITE_H
#define ABD_PEERS_SUITE_H

#include "trial.h"

/* What is reported of a scene besides times and crossings. */
typedef enum Story { STORY_IMPACT, STORY_STAND, STORY_HANG, STORY_TURN } Story;

typedef struct Case {
  const char *name;                        /* of the row */
  const char *gallery, *key[2], *value[2]; /* the gallery's scene and its keys that are not defaults */
  const char *set;                         /* a setting; NULL: none */
  int rate;                                /* dt = 1 / rate */
  double time, quick_time;                 /* [s] simulated; with --quick */
  Story story;
} Case;

/* Ends with a NULL name. */
const Case *suite_cases(void);

/* The result of one engine, with "story" added, or an object with "trouble" alone; NULL if memory runs out. With
 * timing, frames are not tested. */
json_t *suite_run(const Case *one, const Engine *engine, bool quick, bool timing);

#endif
